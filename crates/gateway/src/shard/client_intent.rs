//! The newest intents of an avatar's owner, for repetition to a restarted world.
//!
//! The world keeps this itself; but a panicked one continues from a checkpoint some seconds old, and clients send most things once: a
//! viewer does not repeat the release of a key, and the filter would drop it if it did.

use ids::Uuid;
use link::{Action, Appearance, Control, ControlFlags};
use std::sync::Arc;

/// Posture of an avatar, as its client last asked for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum IntendedPosture {
    /// It has not sat down, or has got up since.
    #[default]
    Up,
    /// It sits where it was.
    OnGround,
    /// It sits on an object; the action that seats it.
    OnObject(Action),
}

/// The newest intent of each kind.
#[derive(Debug, Default)]
pub(super) struct ClientIntent {
    control: Option<Control>,
    posture: IntendedPosture,
    always_run: bool,
    pub(super) appearance: Option<Arc<Appearance>>,
    /// A teleport inside the world that has not been carried out yet.
    teleport: Option<Action>,
    /// The newest request about each animation, oldest first; at most [`Action::ANIMATIONS_MAX`].
    animations: Vec<(Uuid, bool)>,
}

impl ClientIntent {
    /// Records an action on its way to the world.
    pub(super) fn record_action(&mut self, action: &Action) {
        match action {
            Action::Control(control) => {
                if control.flags.any(ControlFlags::STAND_UP) {
                    self.posture = IntendedPosture::Up;
                } else if control.flags.any(ControlFlags::SIT_ON_GROUND)
                    && self.posture == IntendedPosture::Up
                {
                    self.posture = IntendedPosture::OnGround;
                }
                self.control = Some(*control);
            }
            // A moved avatar stands at its new position.
            Action::Enter(_) => self.posture = IntendedPosture::Up,
            Action::Sit { .. } | Action::SitOn { .. } => {
                self.posture = IntendedPosture::OnObject(action.clone())
            }
            Action::Teleport { .. } => {
                self.posture = IntendedPosture::Up;
                self.teleport = Some(action.clone());
            }
            Action::Appear(appearance) => self.appearance = Some(Arc::clone(appearance)),
            Action::AlwaysRun(on) => self.always_run = *on,
            Action::Animate(animations) => {
                for &(id, on) in animations {
                    self.animations.retain(|&(known, _)| known != id);
                    self.animations.push((id, on));
                }
                let too_many = self.animations.len().saturating_sub(Action::ANIMATIONS_MAX);
                self.animations.drain(..too_many);
            }
            Action::Leave
            | Action::Chat { .. }
            | Action::Resync
            | Action::ReloadBehaviors { .. }
            | Action::Object(_)
            | Action::EditRights(_)
            | Action::ObjectLimits(_)
            | Action::Restore(_)
            | Action::RestoreItem(_)
            | Action::ReplaceContent(_)
            | Action::RezContent(_)
            | Action::Settle(_)
            | Action::HeldFull { .. }
            | Action::Land(_)
            | Action::Touch(_)
            | Action::Effect(_)
            | Action::PutSolid(_)
            | Action::Wear(_)
            | Action::TakeOff(_) => {}
        }
    }

    /// Direction of its body, if it ever sent one.
    pub(super) fn faces(&self) -> Option<glam::Vec3> {
        self.control.map(|control| control.body_rotation * glam::Vec3::X)
    }

    pub(super) fn flies(&self) -> bool {
        self.control.is_some_and(|control| control.flags.any(ControlFlags::FLY))
    }

    pub(super) fn posture(&self) -> IntendedPosture {
        self.posture.clone()
    }

    /// The keys held and the way the body faces are not to be said again.
    pub(super) const fn forget_control(&mut self) {
        self.control = None;
    }

    /// The teleport was carried out, or is not to be asked for again.
    pub(super) fn forget_teleport(&mut self) {
        self.teleport = None;
    }

    /// The teleport before which a world may have panicked. It is repeated once: it may be the cause of the panic.
    pub(super) const fn take_teleport(&mut self) -> Option<Action> {
        self.teleport.take()
    }

    /// Everything that lasts once more, for an avatar that is in the world and shall have this posture.
    pub(super) fn again(&self, posture: IntendedPosture) -> Vec<Action> {
        let mut actions = vec![Action::AlwaysRun(self.always_run)];
        actions.extend(self.appearance.clone().map(Action::Appear));
        if !self.animations.is_empty() {
            actions.push(Action::Animate(self.animations.clone()));
        }
        let posture_flag = match posture {
            IntendedPosture::Up => ControlFlags::STAND_UP,
            IntendedPosture::OnGround | IntendedPosture::OnObject(_) => ControlFlags::SIT_ON_GROUND,
        };
        if let IntendedPosture::OnObject(seat) = posture {
            actions.push(seat);
        }
        actions.extend(self.control.map(|Control { flags, body_rotation }| {
            Action::Control(Control { flags: flags.union(posture_flag), body_rotation })
        }));
        actions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Quat;

    fn control(flags: ControlFlags) -> Action {
        Action::Control(Control { flags, body_rotation: Quat::IDENTITY })
    }

    fn after(actions: &[Action]) -> ClientIntent {
        let mut intent = ClientIntent::default();
        actions.iter().for_each(|action| intent.record_action(action));
        intent
    }

    #[test]
    fn a_sitting_avatar_sits_until_it_gets_up_or_is_moved() {
        let sit = control(ControlFlags::SIT_ON_GROUND);
        let walk = control(ControlFlags::AT_POS);
        let teleport = Action::Teleport { position: glam::Vec3::ZERO, look_at: glam::Vec3::X };
        assert_eq!(after(&[sit.clone(), walk]).posture(), IntendedPosture::OnGround);
        assert_eq!(after(&[sit.clone(), control(ControlFlags::STAND_UP)]).posture(), IntendedPosture::Up);
        assert_eq!(after(&[sit, teleport]).posture(), IntendedPosture::Up);
    }

    #[test]
    fn sitting_is_repeated_before_the_held_keys() {
        let seat = Action::Sit { seat: glam::Vec3::splat(30.0), look_at: glam::Vec3::X };
        let sit = ControlFlags::SIT_ON_GROUND;
        let intent = after(&[control(ControlFlags::AT_POS), seat.clone(), control(sit)]);
        assert_eq!(intent.posture(), IntendedPosture::OnObject(seat.clone()), "the ground is no other seat");
        assert_eq!(intent.again(intent.posture())[1..], [seat.clone(), control(sit)]);
        assert_eq!(after(&[seat, control(ControlFlags::STAND_UP)]).posture(), IntendedPosture::Up);
    }

    #[test]
    fn the_newest_wish_of_each_kind_is_said_again() {
        let animation = Uuid::from_u128;
        let intent = after(&[
            Action::AlwaysRun(true),
            Action::Animate(vec![(animation(1), true), (animation(2), true)]),
            control(ControlFlags::AT_POS),
            Action::Animate(vec![(animation(1), false)]),
            control(ControlFlags::FLY),
        ]);
        let flags = ControlFlags::FLY.union(ControlFlags::STAND_UP);
        assert_eq!(
            intent.again(IntendedPosture::Up),
            [
                Action::AlwaysRun(true),
                Action::Animate(vec![(animation(2), true), (animation(1), false)]),
                control(flags)
            ]
        );
        assert!(intent.flies());
    }

    #[test]
    fn intended_animations_are_bounded() {
        let all: Vec<Action> =
            (0..100).map(|id| Action::Animate(vec![(Uuid::from_u128(id), true)])).collect();
        assert_eq!(after(&all).animations.len(), Action::ANIMATIONS_MAX);
    }
}
