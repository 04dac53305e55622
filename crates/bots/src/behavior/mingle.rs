//! Walks, rests and words in rounds, as visitors of an event do. `tests/clients/fidelity.mjs` has node-metaverse do the same.

use super::{AT_POS, AvatarControls};
use crate::rng::Rng;
use ids::Instant;
use std::time::Duration;

/// One round: a walk, a rest, some words in the middle of the rest.
pub const MINGLE_ROUND: Duration = Duration::from_secs(20);

/// Walking time of a round. At [`WALK_M_PER_S`](super::WALK_M_PER_S) that is 26 m, out in one round and back in the next.
pub const MINGLE_WALK: Duration = Duration::from_secs(8);

/// Time of the line within the round.
pub const MINGLE_WORDS_AT: Duration = Duration::from_secs(14);

/// State of a mingling bot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mingler {
    round: Option<MingleRound>,
}

#[derive(Clone, Copy, Debug)]
struct MingleRound {
    began_at: Instant,
    has_spoken: bool,
    is_out: bool,
}

impl Mingler {
    /// The keys held from now on.
    pub(super) fn act(&mut self, now: Instant, body: &mut AvatarControls, rng: &mut Rng) -> u32 {
        let Some(round) = &mut self.round else {
            // Random offset in a round, so that bots that arrive together do not walk and talk together.
            let into_round = MINGLE_ROUND.mul_f64(rng.unit());
            let began_at = now + (MINGLE_ROUND - into_round);
            self.round = Some(MingleRound { began_at, has_spoken: false, is_out: true });
            return 0;
        };
        if now < round.began_at {
            return 0;
        }
        if now - round.began_at >= MINGLE_ROUND {
            // A fixed direction would make runs differ by the neighbours in earshot.
            body.face(if round.is_out { -body.direction } else { rng.direction() });
            *round = MingleRound { began_at: now, has_spoken: false, is_out: !round.is_out };
        }
        let into_round = now - round.began_at;
        if into_round >= MINGLE_WORDS_AT && !round.has_spoken {
            round.has_spoken = true;
            body.speaks = true;
        }
        if into_round < MINGLE_WALK { AT_POS } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::behavior::{AT_POS, Behavior, BotPosition, RunningBehavior, WALK_M_PER_S};
    use crate::rng::Rng;
    use glam::Vec2;
    use ids::Instant;

    #[test]
    fn a_mingling_bot_walks_out_and_back_and_speaks_once_a_round() {
        let mut rng = Rng::new(3, 0);
        let mut actor = RunningBehavior::new(Behavior::Mingle, 0, &mut rng);
        let spot = BotPosition { position: Vec2::splat(128.0), region_size_m: 256.0 };
        let (mut walked, mut words, mut position, mut furthest) = (0, 0, Vec2::ZERO, 0.0_f32);
        for second in 0..420 {
            let pose = actor.act(Instant::from_millis(second * 1000), spot, &mut rng);
            assert_eq!(pose.walking, pose.control_flags == AT_POS);
            if pose.walking {
                walked += 1;
                position += (pose.rotation * glam::Vec3::X).truncate() * WALK_M_PER_S;
            }
            words += u32::from(actor.take_words());
            furthest = furthest.max(position.length());
        }
        assert!((19..=21).contains(&words), "{words} times in 21 rounds, of which one only begins or ends");
        assert!((19 * 8..=21 * 8).contains(&walked), "{walked} seconds");
        assert!(furthest < 30.0, "{furthest} m");
    }
}
