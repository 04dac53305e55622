//! Level of detail: the periods of an NPC's looks and thoughts, by the distance of the nearest player.
//!
//! There are [`LEVELS`] levels, each with a distance to the nearest player and two periods. A player that comes near gives an NPC the
//! finer level at once. Coarser levels follow step by step with hysteresis: the player is [`MARGIN`] farther than the level reaches,
//! and the last change is [`DWELL_MS`] ago. The coarsest level still looks and thinks every [`PERIOD_MAX_MS`].
//!
//! The NPCs of a level take turns: the offset within the period follows from an NPC's number alone. So the load is even in any order of
//! arrival, and equal runs are equal.

use super::{Stamp, WorldTime};
use serde::{Deserialize, Serialize};
use state_hash::{StateHasher, mix};

/// Levels of detail, the finest first.
pub const LEVELS: usize = 5;

/// The level of NPCs without a player in their world.
const ALONE: usize = LEVELS - 1;

/// No period is shorter: a tick of the default rate.
pub const PERIOD_MIN_MS: u32 = 50;

/// Longest period: with a tick of delay every NPC looks and thinks more often than every two seconds.
pub const PERIOD_MAX_MS: u32 = 1_800;

/// Hysteresis: an NPC leaves a level when the nearest player is farther than reach × MARGIN.
pub const MARGIN: f32 = 1.15;

/// Milliseconds between two changes to a coarser level.
pub const DWELL_MS: u32 = 2_000;

/// One level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// Metres to the nearest player within which an NPC is on this level. Not used of the last level, which is for
    /// worlds without players, and the one before it, which has all others.
    pub within_m: f32,
    /// Milliseconds between two thoughts.
    pub think_ms: u32,
    /// Milliseconds between two looks.
    pub look_ms: u32,
}

/// All levels. Periods are clamped to [`PERIOD_MIN_MS`] and [`PERIOD_MAX_MS`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetailPolicy {
    /// The finest first.
    pub levels: [Detail; LEVELS],
}

impl Default for DetailPolicy {
    /// | level | nearest player | thoughts | looks |
    /// |---|---|---|---|
    /// | 0 | within 16 m: face to face, blows and talk | 8 Hz | 8 Hz |
    /// | 1 | within 40 m: the range of sight of most NPCs | 5 Hz | 4 Hz |
    /// | 2 | within 100 m: seen to move, not to decide | 2.5 Hz | 2 Hz |
    /// | 3 | farther | 1 Hz | 1 Hz |
    /// | 4 | none in this world | 0.6 Hz | 0.6 Hz |
    fn default() -> Self {
        let level = |within_m, think_ms, look_ms| Detail { within_m, think_ms, look_ms };
        Self {
            levels: [
                level(16.0, 125, 125),
                level(40.0, 200, 250),
                level(100.0, 400, 500),
                level(f32::INFINITY, 1_000, 1_000),
                level(f32::INFINITY, 1_600, 1_600),
            ],
        }
    }
}

impl DetailPolicy {
    /// The level for a distance. An NPC that no player can see counts one level less.
    fn level_for(&self, nearest_player_m: Option<f32>, is_seen: bool) -> usize {
        let Some(distance_m) = nearest_player_m else { return ALONE };
        let reached = self.levels[..ALONE].iter().position(|level| distance_m <= level.within_m);
        let level = reached.unwrap_or(ALONE - 1);
        if is_seen { level } else { (level + 1).min(ALONE - 1) }
    }
}

/// Times of an NPC's next look and thought.
///
/// Each tick: query [`Attention::is_look_due`] and [`Attention::is_think_due`], and report with [`Attention::looked`] and
/// [`Attention::thought`]. Once a second, and when players come and go: [`Attention::observe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    look_at: Stamp,
    think_at: Stamp,
    changed_at: Stamp,
    /// The place in the period.
    phase: u32,
    level: u8,
}

impl Attention {
    /// A newcomer with its number, on the coarsest level until the first observation.
    #[must_use]
    pub fn new(number: u32, policy: &DetailPolicy, now: WorldTime) -> Self {
        let mut attention = Self {
            look_at: now.stamp(),
            think_at: now.stamp(),
            changed_at: now.stamp(),
            // Far more than any period, so that all places in it are about as likely.
            phase: (mix(u64::from(number)) >> 40) as u32,
            level: ALONE as u8,
        };
        attention.looked(policy, now);
        attention.thought(policy, now);
        attention
    }

    /// The present level: 0 is the finest.
    #[must_use]
    pub fn level(&self) -> usize {
        // A damaged snapshot may hold any number.
        usize::from(self.level).min(ALONE)
    }

    /// Chooses the level by the distance of the nearest player (`None`: no player in this world) and by whether any client shows this
    /// NPC.
    pub fn observe(
        &mut self,
        policy: &DetailPolicy,
        nearest_player_m: Option<f32>,
        is_seen: bool,
        now: WorldTime,
    ) {
        let level = self.level();
        if policy.level_for(nearest_player_m, is_seen) < level {
            self.level = policy.level_for(nearest_player_m, is_seen) as u8;
            self.changed_at = now.stamp();
            let Detail { look_ms, think_ms, .. } = self.period(policy);
            self.look_at = earlier(self.look_at, self.next(look_ms, now));
            self.think_at = earlier(self.think_at, self.next(think_ms, now));
        } else if policy.level_for(nearest_player_m.map(|m| m / MARGIN), is_seen) > level
            && now.stamp().since(self.changed_at) >= DWELL_MS
        {
            self.level = level as u8 + 1;
            self.changed_at = now.stamp();
        }
    }

    /// True once the next look is due.
    #[must_use]
    pub const fn is_look_due(&self, now: WorldTime) -> bool {
        now.stamp().has_reached(self.look_at)
    }

    /// Time of the next look.
    #[must_use]
    pub const fn look_due_at(&self) -> Stamp {
        self.look_at
    }

    /// True once the next thought is due.
    #[must_use]
    pub const fn is_think_due(&self, now: WorldTime) -> bool {
        now.stamp().has_reached(self.think_at)
    }

    /// It has looked.
    pub fn looked(&mut self, policy: &DetailPolicy, now: WorldTime) {
        self.look_at = self.next(self.period(policy).look_ms, now);
    }

    /// It has thought.
    pub fn thought(&mut self, policy: &DetailPolicy, now: WorldTime) {
        self.think_at = self.next(self.period(policy).think_ms, now);
    }

    /// An event that cannot wait: a blow, an arrival, the loss of the target. The NPC thinks at the next opportunity.
    pub const fn request_thought(&mut self, now: WorldTime) {
        self.think_at = now.stamp();
    }

    /// All of its state as one number, for comparing runs.
    #[must_use]
    pub const fn state_hash(&self) -> u64 {
        let Self { look_at, think_at, changed_at, phase, level } = *self;
        let mut hasher = StateHasher::new();
        hasher.u64((look_at.0 as u64) << 32 | think_at.0 as u64);
        hasher.u64((changed_at.0 as u64) << 32 | phase as u64);
        hasher.u32(level as u32);
        hasher.finish()
    }

    fn period(&self, policy: &DetailPolicy) -> Detail {
        policy.levels[self.level()]
    }

    /// The next of the moments that are this NPC's in a period.
    fn next(&self, period_ms: u32, now: WorldTime) -> Stamp {
        let period_ms = period_ms.clamp(PERIOD_MIN_MS, PERIOD_MAX_MS);
        let passed_ms = (now.0.wrapping_add(u64::from(self.phase)) % u64::from(period_ms)) as u32;
        now.stamp().after(period_ms - passed_ms)
    }
}

const fn earlier(a: Stamp, b: Stamp) -> Stamp {
    if a.has_reached(b) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICK_MS: u64 = 50;

    fn policy() -> DetailPolicy {
        DetailPolicy::default()
    }

    /// Ticks until `to`; returns the times of thoughts.
    fn thoughts(attention: &mut Attention, from: u64, to: u64) -> Vec<u64> {
        let mut times = Vec::new();
        for now in (from..to).step_by(TICK_MS as usize) {
            if attention.is_think_due(WorldTime(now)) {
                attention.thought(&policy(), WorldTime(now));
                times.push(now);
            }
        }
        times
    }

    #[test]
    fn the_nearer_a_player_the_more_thoughts() {
        let far = [Some(5.0), Some(30.0), Some(90.0), Some(500.0), None];
        let counts = far.map(|far| {
            let mut attention = Attention::new(7, &policy(), WorldTime(0));
            attention.observe(&policy(), far, true, WorldTime(0));
            thoughts(&mut attention, 0, 60_000).len()
        });
        for (count, wanted) in counts.into_iter().zip([480, 300, 150, 60, 37]) {
            assert!(count.abs_diff(wanted) <= 1, "{counts:?}");
        }
    }

    #[test]
    fn npcs_of_a_level_take_turns() {
        let mut by_tick = [0usize; 20];
        for number in 0..2_000 {
            let mut attention = Attention::new(number, &policy(), WorldTime(0));
            attention.observe(&policy(), Some(500.0), true, WorldTime(0));
            for now in thoughts(&mut attention, 0, 11_000).into_iter().filter(|now| *now >= 10_000) {
                by_tick[((now - 10_000) / TICK_MS) as usize] += 1;
            }
        }
        // A hundred each, spread as chance spreads them.
        assert_eq!(by_tick.iter().sum::<usize>(), 2_000);
        assert!(by_tick.iter().all(|count| (60..=140).contains(count)), "{by_tick:?}");
    }

    #[test]
    fn an_approaching_avatar_is_noticed_at_once_and_leaves_step_by_step() {
        let mut attention = Attention::new(3, &policy(), WorldTime(0));
        attention.observe(&policy(), Some(10.0), true, WorldTime(5_000));
        assert_eq!(attention.level(), 0);
        assert!(!thoughts(&mut attention, 5_000, 5_200).is_empty());
        // No flapping at the border.
        for now in (5_000..20_000).step_by(50) {
            attention.observe(
                &policy(),
                Some(if now % 100 == 0 { 15.5 } else { 18.0 }),
                true,
                WorldTime(now),
            );
            assert_eq!(attention.level(), 0);
        }
        let levels: Vec<usize> = (20_000..30_000)
            .step_by(1_000)
            .map(|now| {
                attention.observe(&policy(), None, false, WorldTime(now));
                attention.level()
            })
            .collect();
        assert_eq!(levels, [1, 1, 2, 2, 3, 3, 4, 4, 4, 4]);
    }

    #[test]
    fn an_unseen_npc_needs_no_detail() {
        let mut attention = Attention::new(3, &policy(), WorldTime(0));
        attention.observe(&policy(), Some(10.0), false, WorldTime(0));
        assert_eq!(attention.level(), 1);
    }

    #[test]
    fn an_urgent_request_does_not_wait() {
        let mut attention = Attention::new(3, &policy(), WorldTime(0));
        attention.thought(&policy(), WorldTime(1_000));
        assert!(!attention.is_think_due(WorldTime(1_000)));
        attention.request_thought(WorldTime(1_000));
        assert!(attention.is_think_due(WorldTime(1_000)));
    }

    proptest! {
        #[test]
        fn no_npc_freezes_and_none_is_served_twice(
            number in any::<u32>(),
            start in any::<u32>(),
            changes in prop::collection::vec((prop::option::of(0.0f32..300.0), any::<bool>()), 1..40),
            odd in prop::array::uniform5(any::<u32>()),
        ) {
            let mut policy = policy();
            for (level, odd) in policy.levels.iter_mut().zip(odd) {
                (level.think_ms, level.look_ms) = (odd, odd);
            }
            let start = u64::from(start) << 3;
            let mut attention = Attention::new(number, &policy, WorldTime(start));
            let mut last = start;
            for (step, (far, is_seen)) in (0u64..).zip(changes) {
                for tick in 0..20 {
                    let now = WorldTime(start + (step * 20 + tick) * TICK_MS);
                    attention.observe(&policy, far, is_seen, now);
                    if attention.is_think_due(now) {
                        attention.thought(&policy, now);
                        last = now.0;
                        prop_assert!(!attention.is_think_due(now));
                    }
                    prop_assert!(now.0 - last <= u64::from(PERIOD_MAX_MS) + TICK_MS);
                }
            }
        }
    }
}
