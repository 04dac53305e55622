//! Expected state of all carried things, from the record of requests and answers.
//!
//! A thing is at the places that answers have named. A request without an answer leaves two possibilities, and the audit accepts both.

use super::cargo::{CargoKey, CargoPlace, ContentHash};
use super::record::{CarryEvent, CarryRecord, Deed, DeedKind, Expectation};
use ids::Uuid;
use std::collections::{BTreeMap, BTreeSet};

/// Requests of a bot, by bot and number.
pub(super) type DeedId = (u32, u64);

/// Expected state of a thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CargoState {
    /// Places that answers have named, with its properties there.
    pub(super) places: BTreeMap<CargoPlace, Expectation>,
    /// Places that it has left, by an answer.
    pub(super) left: BTreeSet<CargoPlace>,
    /// Requests without an answer.
    pub(super) pending: BTreeMap<DeedId, Deed>,
    /// True once an answer has named a place.
    pub(super) is_made: bool,
    /// True once an answer has confirmed its removal.
    pub(super) is_ended: bool,
}

impl CargoState {
    /// Requests without an answer that name this place.
    pub(super) fn pending_at(&self, place: CargoPlace) -> impl Iterator<Item = &Deed> {
        self.pending.values().filter(move |deed| deed.from == Some(place))
    }
}

/// Counters of a record; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerCounters {
    /// Requests.
    pub asked: u64,
    /// Requests that the server has carried out.
    pub acknowledged: u64,
    /// Requests that it has refused.
    pub refused: u64,
}

/// Expected state of all things and assets.
#[derive(Clone, Debug, Default)]
pub struct CarryLedger {
    pub(super) things: BTreeMap<CargoKey, CargoState>,
    /// Things of requests without an answer.
    pending: BTreeMap<DeedId, CargoKey>,
    /// Assets that answers have named, since the last audit, with their kinds.
    pub(super) assets: BTreeMap<Uuid, (ContentHash, i8)>,
    /// Highest number of a request of each bot, and highest serial number of its things.
    numbers: BTreeMap<u32, (u64, u32)>,
    counters: LedgerCounters,
}

impl CarryLedger {
    /// The state behind these records.
    #[must_use]
    pub fn of(records: &[CarryRecord]) -> Self {
        let mut ledger = Self::default();
        records.iter().for_each(|record| ledger.add(record.bot, &record.event));
        ledger
    }

    /// Counters.
    #[must_use]
    pub const fn counters(&self) -> &LedgerCounters {
        &self.counters
    }

    /// Requests without an answer.
    #[must_use]
    pub fn n_pending(&self) -> usize {
        self.pending.len()
    }

    /// Highest number of a request of a bot, and highest serial number of its things.
    #[must_use]
    pub fn numbers_of(&self, bot: u32) -> (u64, u32) {
        self.numbers.get(&bot).copied().unwrap_or_default()
    }

    /// Content of a thing at a place, if an answer has named it.
    #[must_use]
    pub fn content_at(&self, key: CargoKey, place: CargoPlace) -> Option<ContentHash> {
        self.things.get(&key)?.places.get(&place)?.content
    }

    /// Assets that no audit has compared, with their kinds.
    pub fn new_assets(&self) -> impl Iterator<Item = (Uuid, i8)> {
        self.assets.iter().map(|(id, (_, asset_type))| (*id, *asset_type))
    }

    /// Adds an event of a bot.
    pub fn add(&mut self, bot: u32, event: &CarryEvent) {
        match event {
            CarryEvent::Began { .. } => {}
            CarryEvent::Asked { number, deed } => self.add_deed(bot, *number, deed),
            CarryEvent::Done { number, place, asset } => self.end_deed((bot, *number), *place, *asset),
            CarryEvent::Refused { number } => {
                self.counters.refused += u64::from(self.take_pending((bot, *number)).is_some());
            }
            CarryEvent::Received { key, item } => {
                if let Some(id) = self.gift_of(*key) {
                    self.end_deed(id, Some(CargoPlace::Item { owner: bot, item: *item }), None);
                }
            }
            CarryEvent::Found { key, places } => self.set_found(*key, places),
            CarryEvent::Audited => {
                self.assets.clear();
                // Of a thing that is nowhere nothing is expected any more.
                self.things.retain(|_, state| !state.places.is_empty() || !state.pending.is_empty());
            }
        }
    }

    fn add_deed(&mut self, bot: u32, number: u64, deed: &Deed) {
        let (last, _) = self.numbers.entry(bot).or_default();
        *last = (*last).max(number);
        let (_, serial) = self.numbers.entry(deed.key.tag.maker).or_default();
        *serial = (*serial).max(deed.key.tag.serial);
        self.counters.asked += 1;
        self.pending.insert((bot, number), deed.key);
        self.things.entry(deed.key).or_default().pending.insert((bot, number), *deed);
    }

    fn take_pending(&mut self, id: DeedId) -> Option<(CargoKey, Deed)> {
        let key = self.pending.remove(&id)?;
        let deed = self.things.get_mut(&key)?.pending.remove(&id)?;
        Some((key, deed))
    }

    fn end_deed(&mut self, id: DeedId, place: Option<CargoPlace>, asset: Option<(Uuid, i8)>) {
        // An answer that comes twice has been counted.
        let Some((key, deed)) = self.take_pending(id) else { return };
        self.counters.acknowledged += 1;
        if let Some(((asset, asset_type), content)) = asset.zip(deed.expected.content) {
            self.assets.insert(asset, (content, asset_type));
        }
        let state = self.things.entry(key).or_default();
        if let Some(from) = deed.from.filter(|_| deed.leaves) {
            state.places.remove(&from);
            state.left.insert(from);
        }
        if let Some(place) = place {
            state.places.insert(place, deed.expected);
            state.left.remove(&place);
            (state.is_made, state.is_ended) = (true, false);
        }
        state.is_ended |= deed.kind.ends_it() && state.places.is_empty();
    }

    /// The gift under way that brings this thing.
    fn gift_of(&self, key: CargoKey) -> Option<DeedId> {
        let pending = &self.things.get(&key)?.pending;
        pending.iter().find(|(_, deed)| deed.kind == DeedKind::Give).map(|(id, _)| *id)
    }

    fn set_found(&mut self, key: CargoKey, places: &[CargoPlace]) {
        let state = self.things.entry(key).or_default();
        let pending = std::mem::take(&mut state.pending);
        for id in pending.keys() {
            self.pending.remove(id);
        }
        // Of properties that a request may have changed nothing is expected.
        let is_unclear = |place: &CargoPlace| pending.values().any(|deed| deed.from == Some(*place));
        let known = |place: &CargoPlace| state.places.get(place).filter(|_| !is_unclear(place));
        let expected = |place: &CargoPlace| known(place).copied().unwrap_or_default();
        let found: BTreeMap<CargoPlace, Expectation> =
            places.iter().map(|place| (*place, expected(place))).collect();
        (state.is_made, state.is_ended) = (!found.is_empty(), found.is_empty());
        state.places = found;
        state.left.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::cargo::CargoTag;
    use super::*;

    const TAG: CargoTag = CargoTag { maker: 1, serial: 4 };

    fn item(owner: u32, id: u128) -> CargoPlace {
        CargoPlace::Item { owner, item: Uuid::from_u128(id) }
    }

    fn asked(
        number: u64,
        kind: DeedKind,
        key: CargoKey,
        from: Option<CargoPlace>,
        leaves: bool,
    ) -> CarryEvent {
        let expected = Expectation { content: Some([number as u8; 32]), ..Expectation::default() };
        CarryEvent::Asked { number, deed: Deed { kind, key, from, leaves, expected } }
    }

    fn done(number: u64, place: Option<CargoPlace>) -> CarryEvent {
        CarryEvent::Done { number, place, asset: None }
    }

    #[test]
    fn a_thing_is_where_the_last_answer_has_named_it() {
        let (common, unique) = (CargoKey::common(TAG), CargoKey::unique(TAG));
        let mut ledger = CarryLedger::default();
        ledger.add(1, &asked(1, DeedKind::Upload, common, None, false));
        assert_eq!((ledger.n_pending(), ledger.things[&common].is_made), (1, false));
        let asset = (Uuid::from_u128(70), 7);
        ledger.add(1, &CarryEvent::Done { number: 1, place: Some(item(1, 10)), asset: Some(asset) });
        assert_eq!(ledger.content_at(common, item(1, 10)), Some([1; 32]));
        assert_eq!(ledger.new_assets().collect::<Vec<_>>(), [asset]);

        // Its receiver must not copy it: another instance, whose answer is the receiver's.
        ledger.add(1, &asked(2, DeedKind::Give, unique, None, false));
        ledger.add(2, &CarryEvent::Received { key: unique, item: Uuid::from_u128(20) });
        assert_eq!((ledger.n_pending(), ledger.things.len()), (0, 2));
        ledger.add(2, &asked(1, DeedKind::Rez, unique, Some(item(2, 20)), true));
        let object = CargoPlace::Object(Uuid::from_u128(30));
        ledger.add(2, &done(1, Some(object)));
        let state = &ledger.things[&unique];
        assert_eq!(state.places.keys().collect::<Vec<_>>(), [&object]);
        assert!(state.left.contains(&item(2, 20)));
        ledger.add(2, &done(1, Some(item(2, 99))));
        assert_eq!(ledger.counters().acknowledged, 3, "an answer counts once");
        assert_eq!((ledger.numbers_of(1), ledger.numbers_of(2)), ((2, 4), (1, 0)));
    }

    #[test]
    fn a_removal_ends_a_thing_and_a_refusal_changes_nothing() {
        let key = CargoKey::common(TAG);
        let mut ledger = CarryLedger::default();
        ledger.add(1, &asked(1, DeedKind::Create, key, None, false));
        ledger.add(1, &done(1, Some(item(1, 10))));
        ledger.add(1, &asked(2, DeedKind::Trash, key, Some(item(1, 10)), false));
        ledger.add(1, &CarryEvent::Refused { number: 2 });
        assert_eq!(ledger.counters(), &LedgerCounters { asked: 2, acknowledged: 1, refused: 1 });
        ledger.add(1, &asked(3, DeedKind::Purge, key, Some(item(1, 10)), true));
        ledger.add(1, &done(3, None));
        assert!(ledger.things[&key].is_ended && ledger.things[&key].places.is_empty());
        ledger.add(0, &CarryEvent::Audited);
        assert!(ledger.things.is_empty());
    }

    #[test]
    fn an_audit_settles_requests_without_an_answer() {
        let key = CargoKey::unique(TAG);
        let mut ledger = CarryLedger::default();
        ledger.add(1, &asked(1, DeedKind::Give, key, None, false));
        ledger.add(0, &CarryEvent::Found { key, places: vec![item(2, 20)] });
        assert_eq!(ledger.n_pending(), 0);
        assert!(ledger.things[&key].is_made);
        ledger.add(2, &asked(7, DeedKind::Rez, key, Some(item(2, 20)), true));
        ledger.add(0, &CarryEvent::Found { key, places: Vec::new() });
        assert!(ledger.things[&key].is_ended && ledger.n_pending() == 0);
    }

    #[test]
    fn of_a_place_that_a_request_without_an_answer_names_an_audit_leaves_no_expected_properties() {
        let key = CargoKey::common(TAG);
        let mut ledger = CarryLedger::default();
        for (number, id) in [(1, 10), (2, 11)] {
            ledger.add(1, &asked(number, DeedKind::Upload, key, None, false));
            ledger.add(1, &done(number, Some(item(1, id))));
        }
        ledger.add(1, &asked(3, DeedKind::Rewrite, key, Some(item(1, 10)), false));
        ledger.add(0, &CarryEvent::Found { key, places: vec![item(1, 10), item(1, 11)] });
        assert_eq!(ledger.content_at(key, item(1, 10)), None, "either of two");
        assert_eq!(ledger.content_at(key, item(1, 11)), Some([2; 32]));
    }
}
