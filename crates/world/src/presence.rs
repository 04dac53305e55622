//! One avatar in a world: identity, movement, and its owner's last input.

use crate::{animations::Animator, ground::SolidGround};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, SessionKey};
use link::{Appearance, Audience, Avatar, Control, ControlFlags, Enter, Entity, Motion, Seat};
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::sync::Arc;

/// An avatar and everything that decides its future.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Presence {
    pub(crate) id: LocalId,
    /// Shared with checkpoints.
    pub(crate) identity: Arc<AvatarIdentity>,
    pub(crate) appearance: Option<Arc<Appearance>>,
    /// Width, depth and height; follows from the appearance.
    #[serde(skip)]
    pub(crate) size: Vec3,
    pub(crate) motion: Motion,
    pub(crate) stance: Stance,
    pub(crate) controls: Controls,
    pub(crate) animator: Animator,
    /// Its seat on a linkset; only while it sits. A record of its own in snapshots.
    #[serde(skip)]
    pub(crate) seat: Option<Arc<AvatarSeat>>,
    /// Changes of this tick: empty between steps.
    #[serde(skip)]
    pub(crate) dirty: AvatarDirtyFlags,
    /// Motion of the last frame; between steps equal to `motion`.
    #[serde(skip)]
    pub(crate) shown: Motion,
    #[serde(skip)]
    pub(crate) hashes: Hashes,
}

/// Constants of a presence from arrival to departure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AvatarIdentity {
    pub(crate) session: SessionKey,
    pub(crate) agent: AgentId,
    pub(crate) first_name: String,
    pub(crate) last_name: String,
}

/// Seat of an avatar on a prim of a linkset. Constant from sitting down to getting up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AvatarSeat {
    /// Place on the linkset.
    pub(crate) seat: Seat,
    /// The prim that it sits on.
    pub(crate) prim: LocalId,
}

/// Support of an avatar. Durations count physics sub-steps, so that they pass in world time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stance {
    /// On the ground, walking or not.
    Standing,
    /// On the ground, about to jump.
    PreJump { left: u16 },
    /// On the ground, catching a fall.
    Landing { left: u16, impact: Impact },
    /// In a jump or a fall.
    Airborne { jumped: bool, sub_steps: u16 },
    /// Held up by its owner's FLY flag.
    Flying,
    /// On the ground or on an object, heedless of controls until it stands up.
    Sitting,
}

/// Hardness of a landing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Impact {
    Light,
    Firm,
    Hard,
}

impl Stance {
    /// True if the feet are on the ground.
    pub(crate) const fn is_grounded(self) -> bool {
        !matches!(self, Self::Airborne { .. } | Self::Flying)
    }
}

/// The owner's input: held controls, and those pressed since the last step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Controls {
    /// Flags of the newest control; they hold until a newer one. Nothing in the world clears them: a gateway drops
    /// repeated updates, so a flag cleared here would never come back.
    pub(crate) held: ControlFlags,
    /// Unit quaternion of the newest control that had one.
    pub(crate) body_rotation: Quat,
    /// SetAlwaysRun.
    pub(crate) always_run: bool,
    #[serde(skip)]
    pub(crate) pressed: Pressed,
}

/// Presses since the last step, which a later control of the same tick must not swallow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pressed {
    /// Nudges, STOP and FINISH_ANIM.
    pub(crate) flags: ControlFlags,
    pub(crate) jump: bool,
    /// The newest command, if any.
    pub(crate) posture: Option<Posture>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Posture {
    Sit,
    Stand,
}

impl Controls {
    /// All directions of a nudge.
    pub(crate) const NUDGES: ControlFlags = ControlFlags::NUDGE_AT_POS
        .union(ControlFlags::NUDGE_AT_NEG)
        .union(ControlFlags::NUDGE_LEFT_POS)
        .union(ControlFlags::NUDGE_LEFT_NEG)
        .union(ControlFlags::NUDGE_UP_POS)
        .union(ControlFlags::NUDGE_UP_NEG);

    const PRESSES: u32 = Self::NUDGES.union(ControlFlags::STOP).union(ControlFlags::FINISH_ANIM).0;

    fn new(flying: bool, body_rotation: Quat) -> Self {
        let held = if flying { ControlFlags::FLY } else { ControlFlags::default() };
        Self { held, body_rotation, always_run: false, pressed: Pressed::default() }
    }

    /// Takes a control in; an invalid rotation leaves the former.
    pub(crate) fn apply_control(&mut self, control: &Control) {
        let flags = control.flags;
        self.pressed.flags = self.pressed.flags.union(ControlFlags(flags.0 & Self::PRESSES));
        self.pressed.jump |= flags.any(ControlFlags::UP_POS) && !self.held.any(ControlFlags::UP_POS);
        if flags.any(ControlFlags::STAND_UP) {
            self.pressed.posture = Some(Posture::Stand);
        } else if flags.any(ControlFlags::SIT_ON_GROUND) {
            self.pressed.posture = Some(Posture::Sit);
        }
        self.held = flags;
        if let Some(rotation) = unit(control.body_rotation) {
            self.body_rotation = rotation;
        }
    }

    /// Controls held or pressed in this tick.
    pub(crate) const fn flags(&self) -> ControlFlags {
        self.held.union(self.pressed.flags)
    }
}

/// Changes of an avatar for the next frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AvatarDirtyFlags {
    /// Came in during this tick.
    pub(crate) created: bool,
    /// Waits for a free spot to stand on.
    pub(crate) arriving: bool,
    pub(crate) appeared: bool,
    pub(crate) animated: bool,
    /// Sat down on a linkset, or got up from one.
    pub(crate) seated: bool,
    /// Anything at all, seen or unseen, may be different: compare and hash.
    pub(crate) touched: bool,
}

/// Cached parts of the state hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hashes {
    /// Names and appearance, which change seldom and are long.
    pub(crate) cold: u64,
    /// Contribution of this avatar to the world's hash.
    pub(crate) whole: u64,
}

impl Presence {
    pub(crate) fn new(session: SessionKey, id: LocalId, enter: Enter) -> Self {
        let size = Appearance::avatar_size(enter.appearance.as_deref());
        let rotation = facing(enter.look_at).unwrap_or(Quat::IDENTITY);
        let mut presence = Self {
            id,
            identity: Arc::new(AvatarIdentity {
                session,
                agent: enter.agent,
                first_name: enter.first_name,
                last_name: enter.last_name,
            }),
            appearance: enter.appearance,
            size,
            motion: Motion {
                position: enter.position,
                velocity: Vec3::ZERO,
                acceleration: Vec3::ZERO,
                rotation,
                angular_velocity: Vec3::ZERO,
            },
            stance: if enter.flying { Stance::Flying } else { Stance::Standing },
            controls: Controls::new(enter.flying, rotation),
            animator: Animator::new(),
            seat: None,
            dirty: AvatarDirtyFlags { created: true, ..AvatarDirtyFlags::default() },
            shown: Motion::default(),
            hashes: Hashes::default(),
        };
        presence.hash_cold();
        presence
    }

    /// Moves it to the nearest possible place: the ground may have changed since.
    pub(crate) fn recover(&mut self, ground: &SolidGround) {
        self.size = Appearance::avatar_size(self.appearance.as_deref());
        self.motion.position = ground.recover(self.motion.position, self.half_height());
    }

    /// Completes a decoded presence; false if no step leaves such a one.
    pub(crate) fn revive(&mut self, slot: u32, ground: &SolidGround) -> bool {
        self.size = Appearance::avatar_size(self.appearance.as_deref());
        self.shown = self.motion;
        self.hash_cold();
        self.hashes.whole = self.state_hash(slot);
        let Motion { position, velocity, acceleration, rotation, angular_velocity } = self.motion;
        self.can_be_at(position, ground)
            && velocity.is_finite()
            && velocity.abs().max_element() <= SPEED_MAX_M_PER_S
            && acceleration == Vec3::ZERO
            && angular_velocity == Vec3::ZERO
            && [rotation, self.controls.body_rotation].into_iter().all(is_unit)
            && self.animator.revive()
    }

    /// True if it can be at a place: on a seat anywhere.
    fn can_be_at(&self, position: Vec3, ground: &SolidGround) -> bool {
        match self.seat {
            Some(_) => position.is_finite() && self.stance == Stance::Sitting,
            None => ground.holds(position, self.half_height()),
        }
    }

    /// Takes it from its seat on a linkset, if it has one, and leaves it where it is.
    pub(crate) fn leave_seat(&mut self) -> Option<Arc<AvatarSeat>> {
        let seat = self.seat.take()?;
        self.dirty.seated = true;
        self.dirty.touched = true;
        Some(seat)
    }

    /// From centre to sole, metres.
    pub(crate) const fn half_height(&self) -> f32 {
        self.size.z / 2.0
    }

    /// Puts on an appearance; the current one is no change. An avatar on the ground keeps its soles there when its height changes.
    pub(crate) fn wear(&mut self, appearance: Arc<Appearance>) {
        if self.appearance.as_ref() == Some(&appearance) {
            return;
        }
        let soles = self.half_height();
        self.size = Appearance::avatar_size(Some(&appearance));
        if self.stance.is_grounded() && self.seat.is_none() {
            self.motion.position.z += self.half_height() - soles;
        }
        self.appearance = Some(appearance);
        self.hash_cold();
        self.dirty.appeared = true;
        self.dirty.touched = true;
    }

    /// Its state as in frames.
    pub(crate) fn entity(&self) -> Arc<Entity> {
        let AvatarIdentity { session, agent, first_name, last_name } = AvatarIdentity::clone(&self.identity);
        Arc::new(Entity {
            id: self.id,
            audience: Audience::All,
            motion: self.motion,
            seat: self.seat.as_ref().map(|seat| seat.seat),
            avatar: Avatar {
                session,
                agent,
                first_name,
                last_name,
                size: self.size,
                appearance: self.appearance.clone(),
                animations: self.animator.list().clone(),
            },
        })
    }

    /// Renews the cached hash of names and appearance.
    pub(crate) fn hash_cold(&mut self) {
        let mut hasher = StateHasher::new();
        hasher.u64(self.identity.session.0);
        hasher.bytes(self.identity.agent.0.as_bytes());
        hasher.bytes(self.identity.first_name.as_bytes());
        hasher.bytes(self.identity.last_name.as_bytes());
        if let Some(appearance) = &self.appearance {
            hasher.bytes(&appearance.texture_entry);
            hasher.bytes(&appearance.visual_params);
            hasher.u32(appearance.cof_version.cast_unsigned());
            hasher.f32(appearance.height_m);
        }
        self.hashes.cold = hasher.finish();
    }

    /// Hash of the whole state of the avatar in this slot; the cold part from the cache.
    pub(crate) fn state_hash(&self, slot: u32) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(u64::from(slot) << 32 | u64::from(self.id.0));
        hasher.u64(self.hashes.cold);
        hasher.vec3(self.motion.position);
        hasher.vec3(self.motion.velocity);
        hasher.quat(self.motion.rotation);
        hasher.u64(match self.stance {
            Stance::Standing => 0,
            Stance::PreJump { left } => 1 | u64::from(left) << 8,
            Stance::Landing { left, impact } => 2 | u64::from(left) << 8 | (impact as u64) << 24,
            Stance::Airborne { jumped, sub_steps } => 3 | u64::from(sub_steps) << 8 | u64::from(jumped) << 24,
            Stance::Flying => 4,
            Stance::Sitting => 5,
        });
        hasher.u64(u64::from(self.controls.held.0) << 1 | u64::from(self.controls.always_run));
        hasher.quat(self.controls.body_rotation);
        if let Some(seat) = &self.seat {
            seat.hash(&mut hasher);
        }
        self.animator.hash(&mut hasher);
        hasher.finish()
    }
}

impl AvatarSeat {
    /// True if a step can lead to it.
    pub(crate) fn is_sound(&self) -> bool {
        let Seat { position, rotation, .. } = self.seat;
        position.is_finite() && position.abs().max_element() <= SEAT_OFFSET_MAX_M && is_unit(rotation)
    }

    fn hash(&self, hasher: &mut StateHasher) {
        hasher.u64(u64::from(self.prim.0) << 32 | u64::from(self.seat.parent.0));
        hasher.vec3(self.seat.position);
        hasher.quat(self.seat.rotation);
    }
}

/// Metres of a seat from the root along each axis: a part is at most 256 from its root along each, a sit target 300 from its prim.
const SEAT_OFFSET_MAX_M: f32 = 1_024.0;

/// Maximum speed along any axis: the range of terse updates.
pub(crate) const SPEED_MAX_M_PER_S: f32 = 128.0;

fn is_unit(rotation: Quat) -> bool {
    (rotation.length_squared() - 1.0).abs() < 1e-3
}

/// Normalises a client's rotation; `None` if it has no length or is not finite. The real part is not negative: messages carry three components of a
/// quaternion, and readers take the fourth as positive.
fn unit(rotation: Quat) -> Option<Quat> {
    let length = rotation.length();
    if !length.is_finite() || length < 0.1 {
        return None;
    }
    let unit = rotation / length;
    Some(if unit.w < 0.0 { -unit } else { unit })
}

/// The part of a rotation about the vertical: avatars stay upright.
pub(crate) fn upright(rotation: Quat) -> Quat {
    unit(Quat::from_xyzw(0.0, 0.0, rotation.z, rotation.w)).unwrap_or(Quat::IDENTITY)
}

/// Upright rotation that faces along a direction; `None` when it points nowhere.
pub(crate) fn facing(look_at: Vec3) -> Option<Quat> {
    let yaw = libm::atan2f(look_at.y, look_at.x);
    let level = look_at.x.is_finite() && look_at.y.is_finite() && (look_at.x != 0.0 || look_at.y != 0.0);
    level.then(|| upright(Quat::from_rotation_z(yaw)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_rotation_is_recognised() {
        for broken in
            [Quat::from_xyzw(f32::NAN, 0.0, 0.0, 1.0), Quat::from_xyzw(0.0, f32::INFINITY, 0.0, 1.0)]
        {
            assert_eq!(unit(broken), None);
        }
        assert_eq!(unit(Quat::from_xyzw(0.0, 0.0, 0.0, 0.0)), None);
    }

    #[test]
    fn the_same_direction_has_the_same_bits() {
        let turned = Quat::from_rotation_z(2.5);
        assert_eq!(unit(turned), unit(-turned));
        assert!(unit(-turned).unwrap().w >= 0.0);
    }

    #[test]
    fn upright_keeps_the_heading_and_drops_the_lean() {
        let leaning = Quat::from_rotation_z(1.0) * Quat::from_rotation_y(0.3);
        assert!(upright(leaning).angle_between(Quat::from_rotation_z(1.0)) < 1e-3);
        assert_eq!(upright(Quat::from_rotation_x(std::f32::consts::PI)), Quat::IDENTITY);
    }

    #[test]
    fn facing_points_along_the_ground() {
        let north = facing(Vec3::new(0.0, 2.0, 9.0)).unwrap() * Vec3::X;
        assert!(north.distance(Vec3::Y) < 1e-6);
        assert_eq!(facing(Vec3::Z), None);
        assert_eq!(facing(Vec3::new(f32::NAN, 1.0, 0.0)), None);
    }

    #[test]
    fn a_press_is_kept_when_a_later_control_lets_go() {
        let mut controls = Controls::new(false, Quat::IDENTITY);
        let press = |flags| Control { flags, body_rotation: Quat::IDENTITY };
        controls.apply_control(&press(ControlFlags::UP_POS.union(ControlFlags::NUDGE_AT_POS)));
        controls.apply_control(&press(ControlFlags::SIT_ON_GROUND));
        controls.apply_control(&press(ControlFlags::AT_POS));
        assert_eq!(controls.held, ControlFlags::AT_POS);
        assert_eq!(controls.flags(), ControlFlags::AT_POS.union(ControlFlags::NUDGE_AT_POS));
        assert!(controls.pressed.jump);
        assert!(matches!(controls.pressed.posture, Some(Posture::Sit)));
    }
}
