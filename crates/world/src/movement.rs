//! The movement phase: from owners' controls to positions at the end of the tick.
//!
//! Four passes: steer (flags to stance, rotation and a preferred velocity), arrive, physics in sub-steps, animate. An avatar without
//! motion and preferred velocity takes part only in the first, so that a resting crowd is cheap.

use crate::{
    arrivals::{settle_arrivals, stand_up},
    contacts::Contacts,
    gait::{
        self, CROUCH_M_PER_S, FLY_M_PER_S, FLY_VERTICAL_M_PER_S, OpenGround, PRE_JUMP, RUN_M_PER_S,
        SUB_STEPS_PER_S, Space, WALK_M_PER_S,
    },
    gestures,
    ground::SolidGround,
    land::{Land, LandDeed},
    local_ids::LocalIds,
    presence::{Controls, Posture, Presence, Pressed, Stance, upright},
    roster::Roster,
    seats::stand_beside,
    setting::WorldSetting,
    solids::{AmongPrims, Solids},
};
use glam::{Quat, Vec2, Vec3};
use link::ControlFlags;
use state_hash::StateHasher;
use std::time::Duration;
use systems::System;

/// Most world time that one step can bring; a longer one is a mistake of the scheduler, which dilates time instead.
const STEP_MAX: Duration = Duration::from_secs(1);

/// Carried-over time, in nanoseconds × sub-steps a second, at which a sub-step is due. In this unit 50 ms are three sub-steps exactly,
/// which nanoseconds cannot say.
const SUB_STEP_DUE: u64 = 1_000_000_000;

/// An avatar with something to do in this tick.
#[derive(Clone, Copy, Debug)]
struct Mover {
    slot: u32,
    /// Preferred velocity: the one that its flags ask for.
    preferred: Vec3,
    /// Held and pressed controls.
    flags: ControlFlags,
}

/// The movement phase: its time carried over, and lists that live as long as a tick.
#[derive(Debug, Default)]
pub(crate) struct Movement {
    /// World time that has not made a sub-step yet; one is due at [`SUB_STEP_DUE`].
    sub_step_carry: u64,
    movers: Vec<Mover>,
    contacts: Contacts,
}

impl Movement {
    /// Continues with the sub-step time of a snapshot; `None` if it is more than is ever carried over.
    pub(crate) fn restored(sub_step_carry: u64) -> Option<Self> {
        (sub_step_carry < SUB_STEP_DUE).then(|| Self { sub_step_carry, ..Self::default() })
    }

    /// An impossible carry, for tests.
    #[cfg(test)]
    pub(crate) fn with_carry(sub_step_carry: u64) -> Self {
        Self { sub_step_carry, ..Self::default() }
    }

    /// Its only state between two steps, as it stands in snapshots.
    pub(crate) const fn sub_step_carry(&self) -> u64 {
        self.sub_step_carry
    }

    pub(crate) const fn hash(&self, hasher: &mut StateHasher) {
        hasher.u64(self.sub_step_carry);
    }

    /// Moves all visitors by one tick.
    #[inline(never)]
    pub(crate) fn move_avatars(
        &mut self,
        dt: Duration,
        roster: &mut Roster,
        setting: &WorldSetting,
        land: Option<&Land>,
        local_ids: &LocalIds,
        solids: Option<&mut Solids>,
    ) {
        System::WorldMovement.enter();
        assert!(dt <= STEP_MAX, "a step of {dt:?}: schedulers dilate time, they do not lengthen steps");
        self.steer(roster, &setting.ground, land);
        if let Some(solids) = solids.as_deref() {
            self.leave_seats(roster, setting, solids);
        }
        let sub_steps = self.sub_steps_due(dt);
        let arrivals = roster.iter().any(|(_, presence)| presence.dirty.arriving);
        if arrivals || (sub_steps > 0 && !self.movers.is_empty()) {
            self.locate(roster);
            settle_arrivals(roster, &mut self.contacts, setting, local_ids, solids.as_deref());
        }
        let Self { movers, contacts, .. } = self;
        let ground = &setting.ground;
        match solids {
            None => move_all(movers, roster, sub_steps, &mut OpenGround { ground, contacts }),
            Some(solids) => {
                solids.keep_slots(roster.slots().len());
                move_all(movers, roster, sub_steps, &mut AmongPrims { ground, contacts, solids });
            }
        }
        self.animate(roster);
    }

    /// Puts avatars that have got up beside the prims that they sat on.
    fn leave_seats(&self, roster: &mut Roster, setting: &WorldSetting, solids: &Solids) {
        for &Mover { slot, .. } in &self.movers {
            let presence = roster.get_mut(slot).expect("movers were listed in this tick");
            if presence.seat.is_some() && presence.stance != Stance::Sitting {
                stand_beside(presence, &setting.ground, Some(solids));
            }
        }
    }

    /// Turns flags into stances and preferred velocities, and lists the movers.
    fn steer(&mut self, roster: &mut Roster, ground: &SolidGround, land: Option<&Land>) {
        self.movers.clear();
        for (slot, presence) in roster.iter_mut() {
            let busy = !matches!(presence.stance, Stance::Standing | Stance::Sitting);
            if !busy
                && !presence.dirty.touched
                && !intends_to_move(presence)
                && presence.motion.velocity == Vec3::ZERO
            {
                continue;
            }
            let flags = presence.controls.flags();
            take_stance(presence, ground, land);
            presence.controls.pressed = Pressed::default();
            if presence.stance != Stance::Sitting {
                turn_to_controls(presence);
                if flags.any(ControlFlags::STOP) {
                    halt(presence);
                }
            }
            let preferred = preferred_velocity(presence, flags);
            self.movers.push(Mover { slot, preferred, flags });
            presence.dirty.touched = true;
        }
    }

    /// Chooses the animations of all avatars after the physics.
    fn animate(&self, roster: &mut Roster) {
        for &Mover { slot, preferred, flags } in &self.movers {
            let presence = roster.get_mut(slot).expect("movers were listed in this tick");
            let travels = preferred.truncate() != Vec2::ZERO;
            presence.dirty.animated |= gestures::show_state(presence, flags, travels);
        }
    }

    /// Whole sub-steps that have come due; the rest of `dt` is carried over.
    fn sub_steps_due(&mut self, dt: Duration) -> u64 {
        let ns = u64::try_from(dt.as_nanos()).expect("a step is shorter than centuries");
        self.sub_step_carry += ns * u64::from(SUB_STEPS_PER_S);
        let due = self.sub_step_carry / SUB_STEP_DUE;
        self.sub_step_carry %= SUB_STEP_DUE;
        due
    }

    /// Fills the contact grid with all avatars, except arrivals without a spot yet.
    fn locate(&mut self, roster: &Roster) {
        self.contacts.clear(roster.slots().len());
        for (slot, presence) in roster.iter().filter(|(_, presence)| !presence.dirty.arriving) {
            self.contacts.insert(slot, presence.motion.position, presence.half_height());
        }
    }
}

/// The sub-steps of all movers.
///
/// All sub-steps of an avatar in a row, so that its surroundings are loaded once: with thousands of avatars cache misses dominate. Others appear
/// where they were or already are, at most one tick apart.
fn move_all<S: Space>(movers: &[Mover], roster: &mut Roster, sub_steps: u64, space: &mut S) {
    for &Mover { slot, preferred, .. } in movers {
        let presence = roster.get_mut(slot).expect("movers were listed in this tick");
        let (from, was_grounded) = (presence.motion.position, presence.stance.is_grounded());
        let mut left = sub_steps;
        while left > 0 {
            left -= gait::step(presence, slot, preferred, left, space);
        }
        if was_grounded && sub_steps > 0 {
            gait::even_out(presence, from, sub_steps);
        }
    }
}

/// True if the land lets an avatar fly where it is. Beyond the region's squares nothing forbids it.
fn may_fly(presence: &Presence, land: Option<&Land>) -> bool {
    let (agent, at) = (presence.identity.agent, presence.motion.position.truncate());
    land.is_none_or(|land| land.parcel_at(at).is_none() || land.may(LandDeed::Fly, agent, at))
}

/// Applies presses and FLY to the stance. Over land without flights an avatar that holds FLY walks or falls.
fn take_stance(presence: &mut Presence, ground: &SolidGround, land: Option<&Land>) {
    let Pressed { flags, jump, posture } = presence.controls.pressed;
    let grounded = presence.stance.is_grounded();
    match posture {
        Some(Posture::Stand) if presence.stance == Stance::Sitting => stand_up(presence, ground),
        Some(Posture::Sit) if grounded => {
            presence.stance = Stance::Sitting;
            presence.motion.velocity = Vec3::ZERO;
        }
        _ => {}
    }
    if presence.stance == Stance::Sitting {
        return;
    }

    let flies = presence.controls.held.any(ControlFlags::FLY) && may_fly(presence, land);
    let finishes = flags.any(ControlFlags::FINISH_ANIM);
    presence.stance = match presence.stance {
        Stance::Flying if flies => Stance::Flying,
        Stance::Flying => Stance::Airborne { jumped: false, sub_steps: 0 },
        _ if flies => Stance::Flying,
        Stance::Standing | Stance::Landing { .. } if jump => Stance::PreJump { left: PRE_JUMP },
        Stance::PreJump { .. } if finishes => Stance::PreJump { left: 0 },
        // Walking ends a landing.
        Stance::Landing { .. } if finishes || intends_to_move(presence) => Stance::Standing,
        stance => stance,
    };
}

/// Turns the avatar as its owner wants it.
fn turn_to_controls(presence: &mut Presence) {
    let wanted = presence.controls.body_rotation;
    presence.motion.rotation = if presence.stance == Stance::Flying { wanted } else { upright(wanted) };
}

/// Stops a flight in mid-air; a fall continues.
fn halt(presence: &mut Presence) {
    let fall = if presence.stance == Stance::Flying { 0.0 } else { presence.motion.velocity.z };
    presence.motion.velocity = Vec3::new(0.0, 0.0, fall);
}

const WAYS: ControlFlags = ControlFlags::AT_POS
    .union(ControlFlags::AT_NEG)
    .union(ControlFlags::LEFT_POS)
    .union(ControlFlags::LEFT_NEG)
    .union(Controls::NUDGES);

fn intends_to_move(presence: &Presence) -> bool {
    presence.stance != Stance::Sitting && presence.controls.flags().any(WAYS)
}

/// The velocity that flags ask for, metres a second; zero while STOP is held.
///
/// FAST_AT and its kin change nothing: viewers send them with every held key, and ask for a run by SetAlwaysRun.
fn preferred_velocity(presence: &Presence, flags: ControlFlags) -> Vec3 {
    if presence.stance == Stance::Sitting || flags.any(ControlFlags::STOP) {
        return Vec3::ZERO;
    }
    let axis = |positive, negative| f32::from(flags.any(positive)) - f32::from(flags.any(negative));
    let held = Vec3::new(
        axis(ControlFlags::AT_POS, ControlFlags::AT_NEG),
        axis(ControlFlags::LEFT_POS, ControlFlags::LEFT_NEG),
        axis(ControlFlags::UP_POS, ControlFlags::UP_NEG),
    );
    let nudged = Vec3::new(
        axis(ControlFlags::NUDGE_AT_POS, ControlFlags::NUDGE_AT_NEG),
        axis(ControlFlags::NUDGE_LEFT_POS, ControlFlags::NUDGE_LEFT_NEG),
        axis(ControlFlags::NUDGE_UP_POS, ControlFlags::NUDGE_UP_NEG),
    );
    let direction = |way: Vec3, rotation: Quat| rotation * way.with_z(0.0).normalize_or_zero();
    let body = presence.controls.body_rotation;

    if presence.stance == Stance::Flying {
        let way = if held == Vec3::ZERO { nudged } else { held };
        return direction(way, body) * FLY_M_PER_S + Vec3::Z * (way.z * FLY_VERTICAL_M_PER_S);
    }
    let (way, speed) = match held.truncate() {
        Vec2::ZERO => (nudged, CROUCH_M_PER_S),
        _ if flags.any(ControlFlags::UP_NEG) => (held, CROUCH_M_PER_S),
        _ if presence.controls.always_run => (held, RUN_M_PER_S),
        _ => (held, WALK_M_PER_S),
    };
    direction(way, upright(body)) * speed
}
