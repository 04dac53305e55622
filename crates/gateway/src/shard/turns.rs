//! Schedule of the clients' turns: each client has the configured number of turns a second, evenly spread.
//!
//! A round is cut into slots, and a client stays in one of them, chosen by its login alone: the contents and times of its updates
//! depend neither on the other clients of its shard nor on the number of shards. While there are few clients in all, neighbouring slots
//! are visited in one turn: a thread that wakes up for five clients, two hundred times a second, spends more on waking up, and on code
//! and memory that are no longer in any cache, than on clients. CPU time of the server with 100 clients that display each
//! other, relative to one slot a turn (`gateway.send_hz` 10, 24 pairs of 1.5 s, 2-core VM): five slots 0.83, ten 0.82, all twenty 0.80
//! (0.77 to 0.83 in other series). A ping waits a little longer for such a turn: p99.9 of 0.9 instead of
//! 0.5 ms among 100 (`latency`).

use super::ClientIndex;
use ids::Instant;
use std::time::Duration;

/// Slots of a round.
pub(super) const SLOTS: u64 = 20;
/// Mean number of avatars of a turn at most, unless it is one slot: a millisecond of work and half a megabyte.
const TURN_AVATARS_MAX: usize = 64;

/// A turn that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BegunTurn {
    /// True if any client has its turn.
    pub(super) has_clients: bool,
    /// Slots that it covers.
    pub(super) slots: u64,
    /// Slots of whole rounds that were left out before it, for all clients alike.
    pub(super) left_out: u64,
    /// Delay: time since the last turn of these clients, less one round; 0 at least.
    pub(super) late: Duration,
}

/// The clients by slot, and the position of the clock.
#[derive(Debug)]
pub(super) struct Turns {
    slots: Vec<Vec<ClientIndex>>,
    /// Clients still to be visited in the turn under way, the next one last.
    under_way: Vec<ClientIndex>,
    /// Begin of the next turn: slots since the clock's beginning, a multiple of `group`.
    next: u64,
    /// Slots visited together, a divisor of [`SLOTS`].
    group: u64,
    slot_ns: u64,
    /// Rounds that were begun.
    rounds: u64,
    /// Clients in all slots.
    n_clients: usize,
    /// There was a time without clients since the last turn: slots that have passed do not count as left out.
    was_empty: bool,
    /// By slot, the last turn that covered it: its round since the clock's beginning, and its delay.
    last: [Option<(u64, Duration)>; SLOTS as usize],
}

impl Turns {
    /// No clients, for `hz` turns of each client a second.
    pub(super) fn new(hz: u32) -> Self {
        Self {
            slots: vec![Vec::new(); SLOTS as usize],
            under_way: Vec::new(),
            next: 0,
            group: 1,
            slot_ns: slot_ns(hz),
            rounds: 0,
            n_clients: 0,
            was_empty: true,
            last: [None; SLOTS as usize],
        }
    }

    /// From now on each client has `hz` turns a second.
    pub(super) fn set_hz(&mut self, now: Instant, hz: u32) {
        self.slot_ns = slot_ns(hz);
        self.next = (now.0 / self.slot_ns + 1).next_multiple_of(self.group);
        self.last = [None; SLOTS as usize];
    }

    /// The slot of a login.
    pub(super) const fn slot_of(session: u64) -> u8 {
        (session % SLOTS) as u8
    }

    pub(super) fn add(&mut self, slot: u8, client: ClientIndex) {
        self.slots[usize::from(slot)].push(client);
        self.n_clients += 1;
    }

    pub(super) fn remove(&mut self, slot: u8, client: ClientIndex) {
        let members = &mut self.slots[usize::from(slot)];
        let before = members.len();
        members.retain(|&member| member != client);
        self.n_clients -= before - members.len();
        self.was_empty |= self.n_clients == 0;
        self.under_way.retain(|&member| member != client);
    }

    /// Begins the next turn if it is due and none is under way; late turns begin in order, one a call. `n_avatars` is the number of avatars in
    /// all worlds, so that all shards compute the same `group`; it is read once a round.
    pub(super) fn begin_turn(
        &mut self,
        now: Instant,
        n_avatars: impl FnOnce() -> usize,
    ) -> Option<BegunTurn> {
        if !self.under_way.is_empty() {
            return None;
        }
        let due = now.0 / self.slot_ns;
        let behind = due.checked_sub(self.next)?;
        // A shard that is late by a round or more skips whole rounds. Skipping single turns could starve the same clients: with half the
        // CPU time needed, every second slot would never be visited.
        let mut left_out = behind / SLOTS * SLOTS;
        let first = self.next + left_out;
        let lag = now.since(Instant(first * self.slot_ns));
        if std::mem::take(&mut self.was_empty) {
            left_out = 0;
            self.last = [None; SLOTS as usize];
        }
        let round = first / SLOTS;
        let late =
            self.last[(first % SLOTS) as usize].map_or(Duration::ZERO, |(round_before, lag_before)| {
                let rounds_left_out = round.saturating_sub(round_before + 1);
                let delay = Duration::from_nanos(rounds_left_out * SLOTS * self.slot_ns) + lag;
                delay.saturating_sub(lag_before)
            });
        if first.is_multiple_of(SLOTS) {
            self.rounds += 1;
            self.group = group_for(n_avatars());
        }
        self.next = first + self.group;
        for slot in (first..self.next).rev() {
            self.last[(slot % SLOTS) as usize] = Some((round, lag));
            self.under_way.extend(self.slots[(slot % SLOTS) as usize].iter().rev());
        }
        Some(BegunTurn { has_clients: !self.under_way.is_empty(), slots: self.group, left_out, late })
    }

    /// Takes the next client to visit in the turn under way.
    pub(super) fn pop(&mut self) -> Option<ClientIndex> {
        self.under_way.pop()
    }

    pub(super) const fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Time of the next call of [`Self::begin_turn`] or [`Self::pop`]; never while there are no clients. The first turn of a round
    /// is due even with empty slots, because it reads `n_avatars`.
    pub(super) fn due_at(&self) -> Option<Instant> {
        let turn = if self.is_under_way() {
            Some(self.next - self.group)
        } else {
            let mut turns = (self.next..self.next + SLOTS).step_by(self.group as usize);
            let begins =
                |turn: u64| turn.is_multiple_of(SLOTS) && self.slots.iter().any(|slot| !slot.is_empty());
            turns.find(|&turn| self.has_clients(turn) || begins(turn))
        };
        turn.map(|turn| Instant(turn * self.slot_ns))
    }

    /// Number of the round under way. Skipped rounds are not numbered: work that is due every n-th round would otherwise never run
    /// if n − 1 rounds were skipped each time.
    pub(super) const fn round(&self) -> u64 {
        self.rounds
    }

    /// True if the turn that begins with this slot has a client.
    fn has_clients(&self, turn: u64) -> bool {
        (turn..turn + self.group).any(|slot| !self.slots[(slot % SLOTS) as usize].is_empty())
    }
}

/// Nanoseconds of a slot, at `hz` turns of each client a second.
fn slot_ns(hz: u32) -> u64 {
    assert!(hz > 0, "clients have their turn now and then");
    let round = Duration::from_secs(1) / hz;
    round.as_nanos() as u64 / SLOTS
}

/// Number of slots of a turn: the largest g of 10, 5, 4, 2 with `n_avatars` × g ÷ [`SLOTS`] ≤ [`TURN_AVATARS_MAX`], else 1. At most half of the
/// slots: at ten turns a second, a turn is then no longer than a tick of 50 ms, and a round has at least two.
fn group_for(n_avatars: usize) -> u64 {
    let fits = |group: &u64| n_avatars * *group as usize <= TURN_AVATARS_MAX * SLOTS as usize;
    [10, 5, 4, 2].into_iter().find(fits).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT_NS: u64 = 5_000_000;

    fn turns(n_clients: u32) -> Turns {
        let mut turns = Turns::new(10);
        for client in 0..n_clients {
            turns.add(Turns::slot_of(client.into()), client);
        }
        turns
    }

    /// Clients of the next turn, and its due time in slots. The clock never runs ahead of it.
    fn visit(turns: &mut Turns, n_avatars: usize) -> (u64, Vec<ClientIndex>) {
        visit_among(turns, |_| n_avatars)
    }

    /// As [`visit`], with a number of avatars per slot.
    fn visit_among(turns: &mut Turns, n_avatars: impl Fn(u64) -> usize) -> (u64, Vec<ClientIndex>) {
        loop {
            let due_at = turns.due_at().expect("there are clients");
            assert_eq!(due_at.0 % SLOT_NS, 0);
            let slot = due_at.0 / SLOT_NS;
            // Turns without clients come in between.
            while let Some(begun) = turns.begin_turn(due_at, || n_avatars(slot)) {
                if begun.has_clients {
                    return (slot, std::iter::from_fn(|| turns.pop()).collect());
                }
            }
        }
    }

    #[test]
    fn many_have_a_turn_each_slot_and_few_each_tick() {
        let mut many = turns(2_000);
        for slot in 0..40 {
            let (due, visited) = visit(&mut many, 2_000);
            assert_eq!((due, visited.len()), (slot, 100));
            assert!(visited.iter().all(|&client| u64::from(client) % SLOTS == slot % SLOTS));
        }
        let mut few = turns(100);
        let sizes: Vec<_> = (0..5).map(|_| visit(&mut few, 100)).map(|(due, who)| (due, who.len())).collect();
        assert_eq!(sizes, [(0, 50), (10, 50), (20, 50), (30, 50), (40, 50)]);
    }

    #[test]
    fn no_turn_is_for_more_than_there_is_time_for() {
        for n in 0..5_000 {
            let group = group_for(n);
            assert!(SLOTS.is_multiple_of(group));
            assert!(group == 1 || n * group as usize / SLOTS as usize <= TURN_AVATARS_MAX, "{n}: {group}");
        }
        assert_eq!([1, 128, 129, 256, 320, 640, 641, 5_000].map(group_for), [10, 10, 5, 5, 4, 2, 1, 1]);
    }

    #[test]
    fn every_client_has_one_turn_a_round_while_clients_come_and_go() {
        let mut turns = turns(200);
        let mut last = vec![None; 200];
        for n_avatars in [1, 5_000, 90, 130, 300, 600, 2, 100_000] {
            for _ in 0..100 {
                let (due, visited) = visit(&mut turns, n_avatars);
                for client in visited {
                    let round = due / SLOTS;
                    let before = last[client as usize].replace(round);
                    assert!(before.is_none_or(|before| before + 1 == round), "{client}: {before:?}, {round}");
                }
            }
        }
    }

    #[test]
    fn turn_times_do_not_depend_on_the_other_clients_of_a_shard() {
        let (mut whole, mut half) = (turns(100), Turns::new(10));
        for client in (0..100).step_by(2) {
            half.add(Turns::slot_of(client.into()), client);
        }
        let odd = |client: &ClientIndex| !client.is_multiple_of(2);
        for _ in 0..50 {
            let (due, mut visited) = visit(&mut whole, 100);
            visited.retain(|client| !odd(client));
            assert_eq!((due, visited), visit(&mut half, 100));
        }
    }

    #[test]
    fn turn_times_do_not_depend_on_other_clients_when_the_number_of_avatars_changes_within_a_round() {
        let n_avatars = |slot: u64| if slot / 10 % 4 < 2 { 100 } else { 641 };
        let (mut both, mut second) = (Turns::new(10), Turns::new(10));
        both.add(0, 0);
        for turns in [&mut both, &mut second] {
            turns.add(13, 13);
        }
        let mut of_both = Vec::new();
        for _ in 0..200 {
            let (slot, visited) = visit_among(&mut both, n_avatars);
            of_both.extend(visited.contains(&13).then_some(slot));
        }
        let alone = of_both.iter().map(|_| visit_among(&mut second, n_avatars).0);
        assert!(alone.eq(of_both.iter().copied()), "{of_both:?}");
        assert!(
            of_both.iter().any(|slot| slot % SLOTS == 10) && of_both.iter().any(|slot| slot % SLOTS == 13)
        );
    }

    #[test]
    fn after_a_pause_every_client_has_one_turn_and_whole_rounds_are_left_out() {
        for n_clients in [2_000, 100] {
            let mut turns = turns(n_clients);
            for _ in 0..24 {
                visit(&mut turns, n_clients as usize);
            }
            let before = turns.next;
            let pause_ends_at = Instant(1_000 * SLOT_NS + 7);
            let paused = pause_ends_at.since(Instant(before * SLOT_NS));
            // At the end of the pause, and then until the last slots of a round have had their turn.
            let first = before + (1_000 - before) / SLOTS * SLOTS;
            let round_ends_at = Instant((first + SLOTS - turns.group) * SLOT_NS);
            let (mut visited, mut left_out, mut slots) = (Vec::new(), 0, 0);
            for now in [pause_ends_at, round_ends_at] {
                while let Some(begun) = turns.begin_turn(now, || n_clients as usize) {
                    left_out += begun.left_out;
                    slots += begun.slots;
                    let late = begun.late;
                    assert!(late <= paused && late + Duration::from_millis(100) >= paused, "{late:?}");
                    visited.extend(std::iter::from_fn(|| turns.pop()));
                }
            }
            visited.sort_unstable();
            assert_eq!(visited, (0..n_clients).collect::<Vec<_>>());
            assert_eq!(left_out % SLOTS, 0);
            assert_eq!(before + left_out + slots, turns.next);
        }
    }

    #[test]
    fn with_too_little_time_all_clients_have_equally_many_turns() {
        // A turn of one slot takes as long as two, three halves, or nearly one and a half of them.
        for turn_ns in [2 * SLOT_NS, SLOT_NS * 3 / 2, SLOT_NS * 143 / 100] {
            let mut turns = turns(2_000);
            let (mut now, mut n_visits, mut latest) = (Instant::ZERO, [0_u32; 20], Duration::ZERO);
            for _ in 0..4_000 {
                let begun = turns.begin_turn(now, || 2_000).expect("it is always late");
                latest = latest.max(begun.late);
                let client = turns.pop().expect("each slot has clients");
                n_visits[client as usize % 20] += 1;
                while turns.pop().is_some() {}
                now += Duration::from_nanos(turn_ns);
                now = now.max(turns.due_at().expect("there are clients"));
            }
            assert!(n_visits.iter().all(|&n| n == 200), "{turn_ns}: {n_visits:?}");
            let excess = Duration::from_nanos((turn_ns - SLOT_NS) * SLOTS);
            assert!(latest >= excess && latest <= excess + Duration::from_nanos(SLOT_NS), "{latest:?}");
        }
    }

    #[test]
    fn a_client_that_comes_after_a_pause_without_any_is_not_late() {
        let mut turns = turns(1);
        visit(&mut turns, 1);
        turns.remove(0, 0);
        turns.add(7, 3);
        let begun = turns.begin_turn(Instant::from_millis(60_000), || 1).expect("due");
        assert_eq!((begun.left_out, begun.late), (0, Duration::ZERO));
    }

    #[test]
    fn an_unfinished_turn_continues_first_and_departed_clients_are_not_visited() {
        let mut turns = turns(100);
        assert!(
            turns
                .begin_turn(Instant::ZERO, || 100)
                .is_some_and(|begun| begun.has_clients && begun.left_out == 0)
        );
        assert_eq!(turns.pop(), Some(0));
        turns.remove(0, 20);
        assert_eq!(turns.begin_turn(Instant::from_millis(900), || 100), None);
        assert_eq!(turns.due_at(), Some(Instant::ZERO), "at once");
        assert!(std::iter::from_fn(|| turns.pop()).all(|client| client != 20));
        assert!(!turns.is_under_way());
    }

    #[test]
    fn another_rate_begins_with_the_next_turn() {
        let mut turns = turns(100);
        visit(&mut turns, 100);
        let now = Instant::from_millis(1_001);
        turns.set_hz(now, 5);
        let (due_at, slot_ns) = (turns.due_at().unwrap(), 2 * SLOT_NS);
        assert!(due_at > now && due_at - now <= Duration::from_nanos(10 * slot_ns));
    }

    #[test]
    fn without_clients_no_turn_is_due() {
        assert_eq!(turns(0).due_at(), None);
    }
}
