//! A client's transfers between inventory and world as its shard remembers them: items of objects that it has rezzed, takes that come in several datagrams, and
//! requests that may come a second time.
//!
//! Items are remembered for the session alone: in the region and in inventories an object does not know the item that it came out of, as on OpenSimulator.

use ids::{Instant, Uuid};
use link::DEREZ_OBJECTS_MAX;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Rezzed objects whose items are remembered; beyond it the oldest are forgotten.
const REZZED_MAX: usize = 512;
/// Requests that are remembered, likewise, …
const RECENT_MAX: usize = 64;
/// … and for how long: a client repeats one within seconds.
const RECENT_TIME: Duration = Duration::from_secs(60);
/// Takes of which parts are missing; the oldest is given up for another one.
const GATHERED_MAX: usize = 4;

/// Transfers of one client.
#[derive(Debug, Default)]
pub(super) struct ClientTransfers {
    /// Objects with the items that they came out of, the oldest first.
    rezzed: VecDeque<(Uuid, Uuid)>,
    recent: VecDeque<(Instant, RequestMark)>,
    gathered: VecDeque<Gathered>,
    n_things: u32,
}

/// A request, as its repetition has it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestMark {
    transaction: Uuid,
    sum: u64,
}

/// One datagram of a request to take objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TakePart {
    pub(super) head: TakeHead,
    /// Its number among those of the request.
    pub(super) number: u8,
    /// Local ids of the objects.
    pub(super) objects: Vec<u32>,
}

/// Fields that all datagrams of a request to take objects share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TakeHead {
    /// The client's number of the request; null without one.
    pub(super) transaction: Uuid,
    /// As in the message.
    pub(super) destination: u8,
    /// As in the message.
    pub(super) folder: Uuid,
    /// Number of the datagrams.
    pub(super) n_parts: u8,
}

#[derive(Debug)]
struct Gathered {
    head: TakeHead,
    parts: BTreeMap<u8, Vec<u32>>,
}

impl RequestMark {
    /// Of a request with this number and content; none without a number.
    pub(super) fn of(transaction: Uuid, content: impl IntoIterator<Item = u64>) -> Option<Self> {
        let sum = content.into_iter().fold(0, |sum, part| state_hash::mix(sum ^ part));
        Some(Self { transaction, sum }).filter(|_| !transaction.is_nil())
    }
}

impl ClientTransfers {
    /// Number of the next thing that the client brings into a world. A circuit brings fewer than 2³² of them.
    pub(super) fn next_number(&mut self) -> u32 {
        self.n_things = self.n_things.wrapping_add(1);
        self.n_things
    }

    /// Notes that an object with this id is to come out of an item.
    pub(super) fn note_rezzed(&mut self, object: Uuid, item: Uuid) {
        if self.rezzed.len() >= REZZED_MAX {
            self.rezzed.pop_front();
        }
        self.rezzed.push_back((object, item));
    }

    /// The item that an object came out of.
    pub(super) fn item_of(&self, object: Uuid) -> Option<Uuid> {
        self.rezzed.iter().rev().find(|(rezzed, _)| *rezzed == object).map(|(_, item)| *item)
    }

    /// True if the client repeats a request.
    pub(super) fn is_repeated(&self, now: Instant, request: Option<RequestMark>) -> bool {
        let is_same =
            |(at, known): &(Instant, RequestMark)| Some(*known) == request && now.since(*at) <= RECENT_TIME;
        self.recent.iter().any(is_same)
    }

    /// Notes a request that is carried out.
    pub(super) fn note_request(&mut self, now: Instant, request: Option<RequestMark>) {
        let Some(request) = request else { return };
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((now, request));
    }

    /// Adds a datagram of a take. The objects of all of them once the last one has come, in the order of their numbers.
    pub(super) fn gather(&mut self, part: TakePart) -> Option<Vec<u32>> {
        let TakePart { head, number, objects } = part;
        if head.n_parts <= 1 {
            return Some(objects);
        }
        let place = match self.gathered.iter().position(|gathered| gathered.head == head) {
            Some(place) => place,
            None => {
                if self.gathered.len() >= GATHERED_MAX {
                    self.gathered.pop_front();
                }
                self.gathered.push_back(Gathered { head, parts: BTreeMap::new() });
                self.gathered.len() - 1
            }
        };
        let gathered = &mut self.gathered[place];
        let n_before: usize = gathered.parts.values().map(Vec::len).sum();
        // One more than a world takes: it refuses them.
        let room = (DEREZ_OBJECTS_MAX + 1).saturating_sub(n_before);
        gathered.parts.entry(number).or_insert_with(|| objects.into_iter().take(room).collect());
        if gathered.parts.len() < usize::from(head.n_parts) {
            return None;
        }
        let whole = self.gathered.remove(place)?;
        Some(whole.parts.into_values().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    fn part(transaction: u128, number: u8, n_parts: u8, objects: &[u32]) -> TakePart {
        let head = TakeHead { transaction: id(transaction), destination: 4, folder: Uuid::nil(), n_parts };
        TakePart { head, number, objects: objects.to_vec() }
    }

    #[test]
    fn a_take_is_whole_with_its_last_datagram_in_any_order() {
        let mut transfers = ClientTransfers::default();
        // Clients count a single one from 0 or from 1.
        for number in [0, 1] {
            assert_eq!(transfers.gather(part(1, number, 1, &[5])), Some(vec![5]));
        }
        assert_eq!(transfers.gather(part(2, 1, 2, &[3, 4])), None);
        assert_eq!(transfers.gather(part(3, 0, 2, &[9])), None, "another one");
        assert_eq!(transfers.gather(part(2, 1, 2, &[3, 4])), None, "a repetition");
        assert_eq!(transfers.gather(part(2, 0, 2, &[1, 2])), Some(vec![1, 2, 3, 4]));
        assert_eq!(transfers.gather(part(3, 1, 2, &[])), Some(vec![9]));
        assert!(transfers.gathered.is_empty());
    }

    #[test]
    fn takes_that_never_become_whole_are_given_up_and_bounded() {
        let mut transfers = ClientTransfers::default();
        for transaction in 0..10 {
            assert_eq!(transfers.gather(part(transaction, 0, 255, &[1; 255])), None);
        }
        assert_eq!(transfers.gathered.len(), GATHERED_MAX);
        for number in 1..254 {
            transfers.gather(part(9, number, 255, &[1; 255]));
        }
        let newest = transfers.gathered.back().expect("the newest");
        assert_eq!(newest.parts.values().map(Vec::len).sum::<usize>(), DEREZ_OBJECTS_MAX + 1);
    }

    #[test]
    fn a_request_is_repeated_with_its_number_and_its_content_within_a_minute() {
        let mut transfers = ClientTransfers::default();
        let at = |s: u64| Instant::from_millis(1_000 * s);
        let mark = |transaction, content: &[u64]| RequestMark::of(id(transaction), content.iter().copied());
        let first = mark(1, &[4, 7]);
        assert!(!transfers.is_repeated(at(0), first));
        transfers.note_request(at(0), first);
        assert!(transfers.is_repeated(at(60), first) && !transfers.is_repeated(at(61), first));
        for other in [mark(2, &[4, 7]), mark(1, &[4, 8]), mark(1, &[7, 4])] {
            assert!(!transfers.is_repeated(at(1), other));
        }
        assert_eq!(mark(0, &[4]), None);
        transfers.note_request(at(1), None);
        assert!(!transfers.is_repeated(at(1), None));
        for n in 10..10 + RECENT_MAX as u128 {
            transfers.note_request(at(2), mark(n, &[]));
        }
        assert!(!transfers.is_repeated(at(2), first), "it was the oldest");
        assert_eq!(transfers.recent.len(), RECENT_MAX);
    }

    #[test]
    fn objects_have_the_items_that_they_came_out_of() {
        let mut transfers = ClientTransfers::default();
        for n in 0..RECENT_MAX as u128 {
            transfers.note_rezzed(id(n), id(n + 1_000));
        }
        assert_eq!((transfers.item_of(id(3)), transfers.item_of(id(999))), (Some(id(1_003)), None));
        for n in 0..REZZED_MAX as u128 {
            transfers.note_rezzed(id(n + 2_000), id(1));
        }
        assert_eq!((transfers.rezzed.len(), transfers.item_of(id(3))), (REZZED_MAX, None));
    }
}
