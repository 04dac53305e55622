//! What instances may still take of the node: memory, counted before it shows, and the workers' time.
//!
//! It knows no clock and no kernel: whoever does tells it once a second what there is ([`Budget::look`]). Between two looks it counts by
//! itself, so that a thousand orders in that second do not all find the same room.
//!
//! A world that is promised memory ([`Budget::take`]) is on the way until it is made or comes to nothing. Made, it counts for one whole period
//! more, since what was resident at the look may have been read before. From then on it is in what the kernel tells. What a world that has
//! left gave back the kernel does not tell, since the allocator keeps it for the next one: it is credited until somebody gives it back to
//! the system, which happens where it is much or memory is short (`watch`, ADR 0017).
//!
//! What a world will take is learned from its template's former ones: what the threads that made it and did its first steps asked the allocator for
//! and kept (`telemetry::allocations::held_here`). Resident memory would say what everybody else took in that moment. Until somebody has been
//! in one and it has left again, only its making is known, and what comes in use is allowed for.

use gateway::http::door::NoRoom;
use ids::Instant;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What a world without and with each NPC is expected to take before one of its template has been made.
const GUESS_BYTES: u64 = 128 * 1024;
const GUESS_NPC_BYTES: u64 = 16 * 1024;
/// Of what making a world keeps, in percent, what it is expected to take once it is used: steps fill its buffers, and it keeps a checkpoint.
/// Worlds of 20 NPCs that nobody is in yet made 245 % of it resident.
const MADE_PERCENT: u64 = 300;
/// Of what a world was found to keep in use, likewise: what the allocator adds.
const USED_PERCENT: u64 = 125;
/// One that took less lowers what is expected by this part of the difference. One that took more raises it at once.
const FALL: u64 = 8;
/// Part of the budget that has to be free, beside what one world takes, until memory is said to be no longer short.
const REOPEN_PART: u64 = 50;

/// What worlds left is given back after so long although others come and go all the time.
const IDLE_AT_LAST: Duration = Duration::from_secs(60);

/// How long there has to be too much to do until it counts, and how long it has to be over.
const PATIENCE: Duration = Duration::from_secs(5);
/// The part of its limit at which the load has to be then.
const RELIEF: f32 = 0.9;

/// What was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::serve) struct Seen {
    pub(in crate::serve) resident_bytes: u64,
    /// How much of it there may be; none without a limit.
    pub(in crate::serve) allowed_bytes: Option<u64>,
    /// What the allocator kept was given back just before.
    pub(in crate::serve) is_given_back: bool,
    pub(in crate::serve) demand: Demand,
}

/// What the workers of the pool had to do since the last look.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::serve) struct Demand {
    /// Workers that all awake worlds need.
    pub(in crate::serve) workers: f32,
    /// Workers there are.
    pub(in crate::serve) n_workers: usize,
    /// Frames of all worlds of a rate, and how many of them were not done when the next one was due.
    pub(in crate::serve) beats: u64,
    pub(in crate::serve) over: u64,
    /// Share of the workers' time that the worlds may need; 0 is without limit.
    pub(in crate::serve) max_percent: u32,
}

impl Demand {
    fn percent(&self) -> f32 {
        100.0 * self.workers / self.n_workers.max(1) as f32
    }

    fn is_too_much(&self) -> bool {
        self.percent() >= self.max_percent as f32 || (self.beats > 0 && 4 * self.over >= 3 * self.beats)
    }

    fn is_little_enough(&self) -> bool {
        self.percent() <= RELIEF * self.max_percent as f32 && 4 * self.over <= self.beats
    }
}

/// Whether there is too much to do, with hysteresis.
#[derive(Debug, Default)]
struct Overload {
    is_there: bool,
    /// Since when it has been otherwise.
    otherwise_since: Option<Instant>,
}

impl Overload {
    fn look(&mut self, now: Instant, demand: &Demand) {
        if demand.max_percent == 0 {
            *self = Self::default();
            return;
        }
        let is_otherwise = if self.is_there { demand.is_little_enough() } else { demand.is_too_much() };
        self.otherwise_since = is_otherwise.then(|| self.otherwise_since.unwrap_or(now));
        if self.otherwise_since.is_some_and(|since| now.since(since) >= PATIENCE) {
            *self = Self { is_there: !self.is_there, otherwise_since: None };
        }
    }
}

/// What is expected of a template's next world.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    bytes: u64,
    /// Worlds were found to take so much, and not only their making.
    is_of_use: bool,
}

/// What there is, what is promised and what is expected of each template.
#[derive(Debug, Default)]
pub(in crate::serve) struct Budget {
    resident: u64,
    allowed: Option<u64>,
    /// Promised to worlds that are being made.
    on_the_way: u64,
    /// Of worlds made since the last look, and between that one and the one before.
    fresh: u64,
    recent: u64,
    /// What worlds left to the allocator.
    spare: u64,
    /// What worlds left since it was last given back, whatever new ones made of that; as it was at the last look; since when there is some.
    left: u64,
    left_seen: u64,
    left_since: Option<Instant>,
    /// What of that is to be given back.
    idle: u64,
    /// By template. No more than there are templates.
    expected: BTreeMap<Arc<str>, Expected>,
    is_short: bool,
    /// Since the last look somebody has found nobody more to put out: others need not look for anybody.
    is_exhausted: bool,
    overload: Overload,
}

impl Budget {
    /// Once a second.
    pub(super) fn look(&mut self, now: Instant, seen: &Seen) {
        // What large blocks gave back is in both otherwise.
        let fallen = self.resident.saturating_sub(seen.resident_bytes);
        // Whether those that show now were made of it, nobody knows: it is taken for used up.
        self.spare = self.spare.saturating_sub(fallen + self.recent);
        if seen.is_given_back {
            self.spare = 0;
            // What has left since it was asked for may not have been free by then.
            self.left -= self.idle;
            self.left_since = None;
        }
        self.recent = std::mem::take(&mut self.fresh);
        self.resident = seen.resident_bytes;
        self.allowed = seen.allowed_bytes;
        self.is_exhausted = false;
        self.look_for_idle(now);
        self.overload.look(now, &seen.demand);
        let one = self.expected.values().map(|one| one.bytes).max().unwrap_or(GUESS_BYTES);
        let reopens = |allowed: u64| self.used() + one + allowed / REOPEN_PART <= allowed;
        self.is_short = match self.allowed {
            None => false,
            Some(allowed) if self.is_short => !reopens(allowed),
            Some(allowed) => self.used() >= allowed,
        };
    }

    /// Promises memory to a world that is about to be made.
    ///
    /// # Errors
    /// Why there is none. Load is said first: others can be put out for memory, and are not to be for one that has no time then.
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), NoRoom> {
        if self.is_overloaded() {
            return Err(NoRoom::Load);
        }
        if self.allowed.is_some_and(|allowed| self.used().saturating_add(bytes) > allowed) {
            return Err(NoRoom::Memory);
        }
        self.on_the_way += bytes;
        Ok(())
    }

    /// Nothing has come of it.
    pub(super) fn give_back(&mut self, bytes: u64) {
        self.on_the_way = self.on_the_way.saturating_sub(bytes);
    }

    /// The world is made, and its memory will show.
    pub(super) fn is_made(&mut self, bytes: u64) {
        self.give_back(bytes);
        self.fresh += bytes;
    }

    /// A world has left, of which so much was expected.
    pub(super) fn has_left(&mut self, bytes: u64) {
        self.is_exhausted = false;
        self.left += bytes;
        self.spare = (self.spare + bytes).min(self.resident + self.fresh + self.recent);
    }

    /// Somebody was refused for lack of memory.
    pub(super) const fn note_short(&mut self) {
        self.is_short = true;
    }

    /// Nobody is left who could be put out.
    pub(super) const fn note_exhausted(&mut self) {
        self.is_exhausted = true;
    }

    /// Whether there is too much to do for another world.
    pub(super) const fn is_overloaded(&self) -> bool {
        self.overload.is_there
    }

    /// Whether it is of no use just now to look for somebody to put out.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// What is promised and may not be in RAM yet.
    pub(super) const fn promised(&self) -> u64 {
        self.on_the_way + self.fresh + self.recent
    }

    /// New ones take what others left, and what has just left waits for long tasks to drop it: so it is idle once nobody comes and goes any
    /// more, or when that does not end.
    fn look_for_idle(&mut self, now: Instant) {
        let is_calm = self.promised() == 0 && self.left == self.left_seen;
        self.left_since = (self.left > 0).then(|| self.left_since.unwrap_or(now));
        let is_old = self.left_since.is_some_and(|since| now.since(since) >= IDLE_AT_LAST);
        self.idle = if is_calm || is_old { self.left } else { 0 };
        self.left_seen = self.left;
    }

    /// What the allocator may keep that worlds left, and is to be given back if it is much.
    pub(super) const fn idle(&self) -> u64 {
        self.idle
    }

    const fn used(&self) -> u64 {
        (self.resident + self.promised()).saturating_sub(self.spare)
    }

    /// What a world of this template will take.
    pub(super) fn expected(&self, template: &str, n_npcs: usize) -> u64 {
        let guess = || GUESS_BYTES + GUESS_NPC_BYTES * n_npcs as u64;
        self.expected.get(template).map_or_else(guess, |expected| expected.bytes)
    }

    /// One of this template has been made, and kept so many bytes; what is expected of the next one.
    pub(super) fn learn_from_making(&mut self, template: &Arc<str>, kept_bytes: u64) -> u64 {
        let expected = self.expected.entry(Arc::clone(template)).or_default();
        // What is known of use counts, unless that was of a smaller world.
        let taken = if expected.is_of_use { kept_bytes } else { kept_bytes / 100 * MADE_PERCENT };
        expected.bytes = expected.bytes.max(taken);
        expected.bytes
    }

    /// One of this template that somebody has been in takes so many bytes; likewise.
    pub(super) fn learn_from_use(&mut self, template: &Arc<str>, bytes: u64) -> u64 {
        let taken = bytes / 100 * USED_PERCENT;
        let expected = self.expected.entry(Arc::clone(template)).or_default();
        // What making one says of use is a guess; but the first visit may have been a short one.
        let fallen = expected.bytes - expected.bytes.saturating_sub(taken) / FALL;
        *expected = Expected { bytes: taken.max(fallen), is_of_use: true };
        expected.bytes
    }

    /// What there is none of just now, the worse first.
    pub(super) fn lacking(&self) -> impl Iterator<Item = NoRoom> {
        let lacks = [(self.is_short, NoRoom::Memory), (self.overload.is_there, NoRoom::Load)];
        lacks.into_iter().filter_map(|(is_so, what)| is_so.then_some(what))
    }
}

#[cfg(test)]
mod tests;
