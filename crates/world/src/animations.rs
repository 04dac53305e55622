//! Animations of an avatar: one for its movement (`gestures.rs` chooses it), and those chosen by its owner.
//!
//! The ids are the well-known assets of every viewer; the world sends ids and never holds the assets.

use ids::Uuid;
use link::{Action, Animation, Animations, read_few};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use state_hash::StateHasher;

/// Declares constants for built-in animations.
macro_rules! built_in {
    ($($(#[$doc:meta])* $name:ident = $id:literal;)*) => {
        $($(#[$doc])* pub const $name: Uuid = Uuid::from_u128($id);)*
    };
}

built_in! {
    /// Stands.
    STAND = 0x2408fe9e_df1d_1d7d_f4ff_1384fa7b350f;
    /// Walks.
    WALK = 0x6ed24bd8_91aa_4b12_ccc7_c97c857ab4e0;
    /// Runs.
    RUN = 0x05ddbff8_aaa9_92a1_2b74_8fe77a29b445;
    /// Crouches without moving.
    CROUCH = 0x201f3fdf_cb1f_dbec_201f_7333e328ae7c;
    /// Walks crouching.
    CROUCH_WALK = 0x47f5f6fb_22e5_ae44_f871_73aaaf4a6022;
    /// Turns left while standing.
    TURN_LEFT = 0x56e0ba0d_4a9f_7f27_6117_32f2ebbf6135;
    /// Turns right while standing.
    TURN_RIGHT = 0x2d6daa51_3192_6794_8e2e_a15f8338ec30;
    /// Bends its knees before a jump.
    PRE_JUMP = 0x7a4e87fe_de39_6fcb_6223_024b00893244;
    /// Is in a jump.
    JUMP = 0x2305bd75_1ca9_b03b_1faa_b176b8a8c49e;
    /// Falls.
    FALL_DOWN = 0x666307d9_a860_572d_6fd4_c3ab8865c094;
    /// Comes down lightly.
    LAND = 0x7a17b059_12b2_41b1_570a_186368b6aa6f;
    /// Comes down from some height.
    SOFT_LAND = 0xf4f00d6e_b9fe_9292_f4cb_0ae06ea58d57;
    /// Gets up after a hard fall.
    STAND_UP = 0x3da1d753_028a_5446_24f3_9c9b856d9422;
    /// Flies forward or sideways.
    FLY = 0xaec4610c_757f_bc4e_c092_c6e9caf18daf;
    /// Flies on the spot.
    HOVER = 0x4ae8016b_31b9_03bb_c401_b1ea941db41d;
    /// Rises.
    HOVER_UP = 0x62c5de58_cb33_5743_3d07_9e4cd4352864;
    /// Sinks.
    HOVER_DOWN = 0x20f063ea_8306_2562_0b07_5c853b37b31e;
    /// Sits on a seat.
    SIT = 0x1a5fe8ac_a804_8a5d_7cbd_56bd83184568;
    /// Sits on the ground.
    SIT_GROUND = 0x1a2bd58e_87ff_0df8_0b4c_53e047b0bb6e;
    /// Types.
    TYPE = 0xc541c47f_e0c0_058b_ad1a_d6ae3a4584d9;
    /// Lies as if dead.
    DEAD = 0x57abaae6_1d17_7b1b_5f98_6d11a6411276;
    /// Punches with both fists.
    PUNCH_ONE_TWO = 0xeefc79be_daae_a239_8c04_890f5d23654a;
    /// Punches with the left.
    PUNCH_LEFT = 0xf3300ad9_3462_1d07_2044_0fef80062da0;
    /// Punches with the right.
    PUNCH_RIGHT = 0xc8e42d32_7310_6906_c903_cab5d4a34656;
    /// Strikes with a sword.
    SWORD_STRIKE = 0x85428680_6bf9_3e64_b489_6f81087c24bd;
    /// Is away from the keyboard.
    AWAY = 0xfd037134_85d4_f241_72c6_4f42164fedee;
}

/// Reasons for which an animation plays. It may have several (viewers also start `TYPE` and `AWAY` themselves) and ends with the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reason {
    Movement = 1 << 0,
    Typing = 1 << 1,
    Away = 1 << 2,
    Owner = 1 << 3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Playing {
    animation: Animation,
    /// Bits of [`Reason`].
    reasons: u8,
}

/// Playing animations of one avatar, oldest start first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Animator {
    #[serde(deserialize_with = "read_few")]
    playing: SmallVec<[Playing; 3]>,
    last_sequence: i32,
    movement: Uuid,
    /// As frames carry it.
    #[serde(skip)]
    list: Animations,
}

impl Animator {
    /// Animations that an owner can have running; one more ends the oldest of them.
    pub(crate) const OWNED_MAX: usize = Action::ANIMATIONS_MAX;

    /// Stands.
    pub(crate) fn new() -> Self {
        let animation = Animation { id: STAND, sequence: 1 };
        Self {
            playing: SmallVec::from_iter([Playing { animation, reasons: Reason::Movement as u8 }]),
            last_sequence: 1,
            movement: STAND,
            list: Animations::from_slice(&[animation]),
        }
    }

    /// Completes a decoded animator; false if this code never encodes such a one.
    pub(crate) fn revive(&mut self) -> bool {
        self.publish();
        let shows_movement =
            |p: &Playing| p.animation.id == self.movement && p.reasons & Reason::Movement as u8 != 0;
        // The owner's, and one of each other reason.
        self.playing.len() <= Self::OWNED_MAX + 3 && self.playing.iter().any(shows_movement)
    }

    pub(crate) fn list(&self) -> &Animations {
        &self.list
    }

    /// Replaces the animation of movement; true when it is another one.
    pub(crate) fn show_movement(&mut self, id: Uuid) -> bool {
        if id == self.movement {
            return false;
        }
        self.stop(self.movement, Reason::Movement);
        self.start(id, Reason::Movement);
        self.movement = id;
        self.publish()
    }

    /// Starts or stops the animation of an avatar's state; true if the list changed.
    pub(crate) fn set_playing(&mut self, id: Uuid, reason: Reason, on: bool) -> bool {
        let known = self.playing.iter().any(|p| p.animation.id == id && p.reasons & reason as u8 != 0);
        if known == on {
            return false;
        }
        if on {
            self.start(id, reason);
        } else {
            self.stop(id, reason);
        }
        self.publish()
    }

    /// Applies an owner's starts and stops in order; true when the list changed. Starting a running animation restarts it.
    pub(crate) fn choose(&mut self, changes: &[(Uuid, bool)]) -> bool {
        for &(id, on) in changes.iter().take(Action::ANIMATIONS_MAX) {
            if id.is_nil() {
                continue;
            }
            if !on {
                self.stop(id, Reason::Owner);
                continue;
            }
            let owned = |p: &&Playing| p.reasons & Reason::Owner as u8 != 0;
            if self.playing.iter().filter(owned).count() >= Self::OWNED_MAX
                && let Some(oldest) = self.playing.iter().find(owned).map(|p| p.animation.id)
            {
                self.stop(oldest, Reason::Owner);
            }
            self.start(id, Reason::Owner);
        }
        self.publish()
    }

    fn start(&mut self, id: Uuid, reason: Reason) {
        self.last_sequence = self.last_sequence.wrapping_add(1);
        let animation = Animation { id, sequence: self.last_sequence };
        let former =
            self.playing.iter().position(|p| p.animation.id == id).map(|index| self.playing.remove(index));
        let reasons = former.map_or(0, |p| p.reasons) | reason as u8;
        self.playing.push(Playing { animation, reasons });
    }

    fn stop(&mut self, id: Uuid, reason: Reason) {
        for playing in self.playing.iter_mut().filter(|p| p.animation.id == id) {
            playing.reasons &= !(reason as u8);
        }
        self.playing.retain(|p| p.reasons != 0);
    }

    fn publish(&mut self) -> bool {
        let same = self.playing.iter().map(|p| &p.animation).eq(self.list.iter());
        if !same {
            self.list.clear();
            self.list.extend(self.playing.iter().map(|p| p.animation));
        }
        !same
    }

    pub(crate) fn hash(&self, hasher: &mut StateHasher) {
        hasher.u64(self.playing.len() as u64);
        for playing in &self.playing {
            let (high, low) = playing.animation.id.as_u64_pair();
            hasher.u64(high);
            hasher.u64(low);
            hasher.u32(playing.animation.sequence.cast_unsigned());
            hasher.u32(u32::from(playing.reasons));
        }
        hasher.u32(self.last_sequence.cast_unsigned());
        hasher.u64(self.movement.as_u64_pair().0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(animator: &Animator) -> Vec<Uuid> {
        animator.list().iter().map(|animation| animation.id).collect()
    }

    #[test]
    fn a_second_reason_keeps_an_animation_playing() {
        let mut animator = Animator::new();
        animator.set_playing(TYPE, Reason::Typing, true);
        animator.choose(&[(TYPE, true)]);
        assert_eq!(ids(&animator), [STAND, TYPE]);
        animator.set_playing(TYPE, Reason::Typing, false);
        assert_eq!(ids(&animator), [STAND, TYPE]);
        animator.choose(&[(TYPE, false)]);
        assert_eq!(ids(&animator), [STAND]);
    }

    #[test]
    fn sequence_rises_with_every_start_and_nothing_changes_without_one() {
        let mut animator = Animator::new();
        assert!(animator.show_movement(WALK));
        assert!(!animator.show_movement(WALK));
        let first = animator.list()[0];
        let dance = Uuid::from_u128(77);
        assert!(animator.choose(&[(dance, true)]));
        let started = animator.list()[1].sequence;
        assert!(started > first.sequence);
        assert!(animator.choose(&[(dance, true)]), "a restart shows");
        assert!(animator.list()[1].sequence > started);
        assert!(
            !animator.choose(&[(Uuid::from_u128(78), false)]),
            "stopping what does not play is no change"
        );
    }

    #[test]
    fn an_owners_newest_animations_push_out_the_oldest() {
        let mut animator = Animator::new();
        for n in 1..=40 {
            animator.choose(&[(Uuid::from_u128(n), true)]);
        }
        let chosen = ids(&animator);
        assert_eq!(chosen.len(), Animator::OWNED_MAX + 1);
        assert_eq!((chosen[0], chosen[1], chosen[16]), (STAND, Uuid::from_u128(25), Uuid::from_u128(40)));
    }

    #[test]
    fn an_owner_cannot_stop_the_movement_animation() {
        let mut animator = Animator::new();
        animator.choose(&[(STAND, false)]);
        assert_eq!(ids(&animator), [STAND]);
    }
}
