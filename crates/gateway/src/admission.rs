//! Admission of logins and instances by memory, since the kernel kills a process above its limit, and by load.
//!
//! No visitor is put out for it. Logins are refused while resident memory ≥ `CLOSE_PERCENT` of the limit; caches are given back from
//! `SHED_PERCENT` on. They are also refused while [`WAITING_MAX`] clients wait for CPU time on every shard ([`crate::shard`], arrivals);
//! fewer wait in order. Instances share this memory (`workplace::instances::Admission`).
//!
//! Memory of suspended and ended instances returns to the system too if it is much: other processes may need it (ADR 0017).

use crate::http::door::{NoRoom, Room};
use crate::shard::WAITING_MAX;
use ids::Instant;
use std::time::Duration;

/// Shares of the memory limit, percent: from the first on caches are given back, from the second on logins are refused.
const SHED_PERCENT: u64 = 80;
const CLOSE_PERCENT: u64 = 90;
/// Reserve for one login: some 60 KiB permanently (`crowd`), and the data under way to an arriving client.
const SESSION_BYTES: u64 = 256 * 1024;
/// Minimum time between two returns of memory to the system, each of which delays concurrent allocations.
const GIVE_BACK_PERIOD: Duration = Duration::from_secs(10);
/// Freed memory is returned at once if it is ≥ max(`IDLE_MIN_BYTES`, resident / `IDLE_PART`).
const IDLE_MIN_BYTES: u64 = 32 * 1024 * 1024;
const IDLE_PART: u64 = 8;
/// Less than that is returned if its amount was constant for `REST`, which means that no instance came or went, and if it is ≥
/// `REST_MIN_BYTES`.
const REST_MIN_BYTES: u64 = 2 * 1024 * 1024;
const REST: Duration = Duration::from_secs(5);
/// Time for which all shards have [`WAITING_MAX`] waiting clients before logins are refused.
const LOAD_PATIENCE: Duration = Duration::from_secs(5);

/// Sample of once a second.
#[derive(Clone, Copy, Debug)]
pub struct LoadSample {
    /// Memory of the process in RAM, if that is known.
    pub resident_bytes: Option<u64>,
    /// And how much it may be, if there is a limit.
    pub limit_bytes: Option<u64>,
    /// Part of it promised to instances under way.
    pub promised_bytes: u64,
    /// Memory that the allocator may keep of former instances, while no new ones come.
    pub idle_bytes: u64,
    /// Clients that wait for their arrival on the shard that has the fewest.
    pub arrivals_waiting_min: usize,
    /// True if HTTP connections are left for more clients.
    pub has_connections: bool,
}

/// Decision on a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionVerdict {
    /// Room for logins until the next sample.
    pub room: Room,
    /// True if the allocator's free memory is to be returned.
    pub gives_back: bool,
    /// True if caches are to be dropped with it.
    pub sheds: bool,
}

/// History of the samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Admission {
    /// Since when every shard has [`WAITING_MAX`] waiting clients.
    crowded_since: Option<Instant>,
    gave_back_at: Option<Instant>,
    shed_at: Option<Instant>,
    /// The latest [`LoadSample::idle_bytes`], and the time since which it is this much.
    idle: (u64, Instant),
}

/// Usable part of the limit.
#[must_use]
pub const fn allowed_bytes(limit_bytes: u64) -> u64 {
    limit_bytes / 100 * CLOSE_PERCENT
}

impl Admission {
    /// Judges a sample; call it once a second.
    pub fn judge(&mut self, now: Instant, seen: LoadSample) -> AdmissionVerdict {
        let (mut room, mut is_tight, mut is_idle) = (i64::MAX, false, false);
        if let Some((resident, limit)) = seen.resident_bytes.zip(seen.limit_bytes) {
            let free = allowed_bytes(limit).saturating_sub(resident + seen.promised_bytes);
            room = i64::try_from(free / SESSION_BYTES).unwrap_or(i64::MAX);
            is_tight = resident >= limit / 100 * SHED_PERCENT;
        }
        if seen.idle_bytes != self.idle.0 {
            self.idle = (seen.idle_bytes, now);
        }
        if let Some(resident) = seen.resident_bytes {
            let is_at_rest = now.since(self.idle.1) >= REST;
            let min = if is_at_rest { REST_MIN_BYTES } else { IDLE_MIN_BYTES.max(resident / IDLE_PART) };
            is_idle = seen.idle_bytes >= min;
        }
        let is_due = |at: Option<Instant>| at.is_none_or(|at| now.since(at) >= GIVE_BACK_PERIOD);
        // Independent of earlier returns: a shortage now cannot wait for them.
        let sheds = is_tight && is_due(self.shed_at);
        let gives_back = sheds || is_idle && is_due(self.gave_back_at);
        if sheds {
            self.shed_at = Some(now);
        }
        if gives_back {
            self.gave_back_at = Some(now);
        }
        let is_crowded = seen.arrivals_waiting_min >= WAITING_MAX;
        self.crowded_since = is_crowded.then(|| self.crowded_since.unwrap_or(now));
        let is_overloaded = self.crowded_since.is_some_and(|since| now.since(since) >= LOAD_PATIENCE);
        let room = if room == 0 {
            Room::None(NoRoom::Memory)
        } else if is_overloaded {
            Room::None(NoRoom::Load)
        } else if !seen.has_connections {
            Room::None(NoRoom::Connections)
        } else {
            Room::For(room)
        };
        AdmissionVerdict { room, gives_back, sheds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn seen(resident_mib: u64, limit_mib: u64) -> LoadSample {
        LoadSample {
            resident_bytes: Some(resident_mib * MIB),
            limit_bytes: Some(limit_mib * MIB),
            promised_bytes: 0,
            idle_bytes: 0,
            arrivals_waiting_min: 0,
            has_connections: true,
        }
    }

    const fn quiet(room: Room) -> AdmissionVerdict {
        AdmissionVerdict { room, gives_back: false, sheds: false }
    }

    const fn sheds(room: Room) -> AdmissionVerdict {
        AdmissionVerdict { room, gives_back: true, sheds: true }
    }

    #[test]
    fn without_a_limit_there_is_room_for_all() {
        let mut admission = Admission::default();
        let verdict = admission.judge(Instant::ZERO, LoadSample { limit_bytes: None, ..seen(900_000, 1) });
        assert_eq!(verdict, quiet(Room::For(i64::MAX)));
    }

    #[test]
    fn as_many_come_in_as_nine_tenths_of_the_memory_hold() {
        let mut admission = Admission::default();
        let mut at = |s: u64, resident_mib| {
            admission.judge(Instant::from_millis(s * 1_000), seen(resident_mib, 1_000))
        };
        assert_eq!(at(0, 100), quiet(Room::For(3_200)));
        assert_eq!(at(1, 800), sheds(Room::For(400)));
        assert_eq!(at(2, 899), quiet(Room::For(4)));
        assert_eq!(at(3, 900), quiet(Room::None(NoRoom::Memory)));
        assert_eq!(at(11, 1_200), sheds(Room::None(NoRoom::Memory)));
        assert_eq!(at(12, 700), quiet(Room::For(800)));
    }

    #[test]
    fn memory_that_instances_left_goes_back_when_it_is_much_and_no_instance_is_forgotten_for_it() {
        let mut admission = Admission::default();
        let mut at = |s: u64, resident_mib, idle_mib| {
            let seen = LoadSample { idle_bytes: idle_mib * MIB, limit_bytes: None, ..seen(resident_mib, 0) };
            let verdict = admission.judge(Instant::from_millis(s * 1_000), seen);
            assert!(!verdict.sheds);
            verdict.gives_back
        };
        assert!(!at(0, 100, 31), "too little to be worth it");
        assert!(!at(1, 800, 99), "too small a part");
        assert!(at(2, 800, 100));
        assert!(!at(3, 800, 400) && !at(11, 800, 400), "a moment ago");
        assert!(at(12, 800, 400));
        assert!(!at(30, 100, 0));
    }

    #[test]
    fn the_rest_of_what_instances_left_goes_back_once_none_comes_or_goes_for_a_while() {
        let mut admission = Admission::default();
        let mut at = |s: u64, idle_kib: u64| {
            let seen = LoadSample { idle_bytes: idle_kib << 10, limit_bytes: None, ..seen(800, 0) };
            admission.judge(Instant::from_millis(s * 1_000), seen).gives_back
        };
        assert!(!at(1, 20 << 10) && !at(3, 30 << 10) && !at(7, 30 << 10), "instances leave");
        assert!(at(8, 30 << 10));
        assert!(!at(9, 1_023) && !at(60, 1_023), "too little to be worth it");
        assert!(!at(61, 2_048) && at(66, 2_048));
    }

    #[test]
    fn a_shortage_does_not_wait_for_memory_returned_before() {
        let mut admission = Admission::default();
        let idle = LoadSample { idle_bytes: 500 * MIB, ..seen(700, 1_000) };
        let verdict = admission.judge(Instant::from_millis(2_000), idle);
        assert!(verdict.gives_back && !verdict.sheds);
        assert!(admission.judge(Instant::from_millis(3_000), seen(850, 1_000)).sheds);
    }

    #[test]
    fn memory_promised_to_instances_is_not_available_to_clients() {
        let room = |promised_mib| {
            let seen = LoadSample { promised_bytes: promised_mib * MIB, ..seen(890, 1_000) };
            Admission::default().judge(Instant::ZERO, seen).room
        };
        assert_eq!([room(0), room(9), room(10)], [Room::For(40), Room::For(4), Room::None(NoRoom::Memory)]);
    }

    #[test]
    fn without_connections_for_their_event_queues_no_more_clients_come() {
        let room = |has_connections| {
            Admission::default().judge(Instant::ZERO, LoadSample { has_connections, ..seen(1, 1_000) }).room
        };
        assert_eq!(room(false), Room::None(NoRoom::Connections));
        assert!(matches!(room(true), Room::For(_)));
    }

    #[test]
    fn logins_are_refused_while_all_shards_have_the_most_waiting_clients() {
        const MOST: usize = WAITING_MAX;
        let mut admission = Admission::default();
        let mut at = |s: u64, arrivals_waiting_min| {
            let seen = LoadSample { arrivals_waiting_min, ..seen(1, 1_000) };
            admission.judge(Instant::from_millis(s * 1_000), seen).room
        };
        let open = |room| matches!(room, Room::For(_));
        assert!(open(at(0, MOST)) && open(at(4, MOST)));
        assert_eq!(at(5, MOST), Room::None(NoRoom::Load));
        assert!(open(at(6, MOST - 1)) && open(at(7, MOST)) && open(at(11, MOST)), "it begins anew");
        assert_eq!(at(12, MOST), Room::None(NoRoom::Load));
    }
}
