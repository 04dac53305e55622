//! Random gifts between two users and their answers, beside the same rules over maps in memory: outcomes, items and offers agree after each of them.

use super::*;
use crate::account::tests::new_account;
use crate::inventory::offers::OfferAnswered;
use crate::inventory::tests::item;
use crate::testing::{TestDatabase, on_both_engines};
use std::collections::BTreeMap;

on_both_engines! {
    gifts_of_a_seed_agree_with_the_model,
}

/// Small, so that random gifts come upon it.
const LIMITS: InventoryLimits = InventoryLimits { items_max: 8, folders_max: 20, depth_max: 8 };
const STEPS: u32 = 120;

fn gifts_of_a_seed_agree_with_the_model(database: &TestDatabase) {
    let store = database.open();
    let mut model = Model::create(&store, 7);
    (0..STEPS).for_each(|step| model.step(&store, step));
    model.assert_stored(&database.open(), STEPS);
}

#[test]
fn gifts_of_many_seeds_agree_with_the_model() {
    let mut outcomes = [0; 5];
    for seed in 0..40 {
        let store = Store::open_in_memory().unwrap();
        let mut model = Model::create(&store, seed);
        (0..STEPS).for_each(|step| model.step(&store, step));
        outcomes.iter_mut().zip(model.outcomes).for_each(|(sum, n)| *sum += n);
    }
    assert!(outcomes.iter().all(|n| *n > 5), "each outcome of a gift occurs: {outcomes:?}");
}

/// State of an offer as the model has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waits,
    IsOpen,
    IsAnswered,
}

struct Model {
    seed: u64,
    owners: [AgentId; 2],
    roots: [Uuid; 2],
    items: [BTreeMap<Uuid, Item>; 2],
    /// By receiver and id.
    offers: BTreeMap<(usize, Uuid), (Offer, State)>,
    /// Given, repeated, changed, refused by the giver's inventory, refused by the receiver's, or with an unknown account.
    outcomes: [u32; 5],
}

impl Model {
    fn create(store: &Store, seed: u64) -> Self {
        let accounts = [1, 2].map(|n| new_account(n, "Ada", &format!("Lovelace{n}")));
        accounts.iter().for_each(|new| store.create_account(new).unwrap());
        Self {
            seed,
            owners: accounts.each_ref().map(|new| new.agent),
            roots: accounts.each_ref().map(|new| new.folders[0].id),
            items: accounts.map(|new| new.items.into_iter().map(|item| (item.id, item)).collect()),
            offers: BTreeMap::new(),
            outcomes: [0; 5],
        }
    }

    /// SplitMix64.
    fn below(&mut self, end: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }

    /// One of a few ids, so that it is often known.
    fn id(&mut self) -> Uuid {
        Uuid::from_u128(0x500 + u128::from(self.below(12)))
    }

    fn step(&mut self, store: &Store, step: u32) {
        let side = self.below(2) as usize;
        match self.below(8) {
            0..2 => self.create_item(store, side),
            2..6 => self.give(store, side, i64::from(step)),
            6 => self.answer(store, side),
            _ => self.open(store, side),
        }
        self.assert_stored(store, step);
    }

    fn create_item(&mut self, store: &Store, side: usize) {
        let new = Item { id: self.id(), ..item(1, self.roots[side]) };
        let change = InventoryChange::CreateItem(new.clone());
        let outcome = store.change_inventory(self.owners[side], &[change], &LIMITS).unwrap().remove(0);
        let is_full = self.items[side].len() >= LIMITS.items_max as usize;
        let is_possible = !is_full && !self.items[side].contains_key(&new.id);
        assert_eq!(outcome.is_ok(), is_possible, "{outcome:?}");
        if is_possible {
            self.items[side].insert(new.id, new);
        }
    }

    /// A gift of an item, or of an id that the giver does not have.
    fn give(&mut self, store: &Store, from: usize, made_s: i64) {
        let to = 1 - from;
        let wanted = self.id();
        let mut given = match self.items[from].get(&wanted) {
            Some(item) => item.clone(),
            None => Item { id: wanted, ..item(1, self.roots[from]) },
        };
        if self.below(8) == 0 {
            given.name = "as it was before".into();
        }
        let (id, leaves) = (self.id(), self.below(2) == 0);
        let folder = if self.below(8) == 0 { Uuid::from_u128(0xBAD) } else { self.roots[to] };
        let made = Item { id, folder, ..given.clone() };
        let (giver, receiver) = (self.owners[from], self.owners[to]);
        let offer = Offer { receiver, id, giver, transaction: wanted, kind: OfferKind::Item, made_s };
        let gift = InventoryGift {
            offer,
            items: vec![GivenItem { item: given.clone(), leaves }],
            made: vec![InventoryChange::CreateItem(made.clone())],
            limits: LIMITS,
        };
        let expected = if self.items[to].contains_key(&id) || self.offers.contains_key(&(to, id)) {
            GiftOutcome::Repeated
        } else if self.items[from].get(&wanted) != Some(&given) {
            GiftOutcome::Changed(wanted)
        } else if folder != self.roots[to] {
            GiftOutcome::OfReceiver(InventoryRefusal::UnknownFolder(folder))
        } else if self.items[to].len() >= LIMITS.items_max as usize {
            GiftOutcome::OfReceiver(InventoryRefusal::TooManyItems { max: LIMITS.items_max })
        } else {
            GiftOutcome::Given
        };
        assert_eq!(store.give(&gift).unwrap(), expected, "{gift:?}");
        self.outcomes[match expected {
            GiftOutcome::Given => 0,
            GiftOutcome::Repeated => 1,
            GiftOutcome::Changed(_) => 2,
            GiftOutcome::OfReceiver(InventoryRefusal::UnknownFolder(_)) => 3,
            _ => 4,
        }] += 1;
        if expected == GiftOutcome::Given {
            if leaves {
                self.items[from].remove(&wanted);
            }
            self.items[to].insert(id, made);
            self.offers.insert((to, id), (offer, State::Waits));
        }
    }

    fn answer(&mut self, store: &Store, side: usize) {
        let id = self.id();
        let folder = (self.below(2) == 0).then_some(self.roots[side]);
        let answered = store.answer_offer(self.owners[side], id, folder, &LIMITS).unwrap();
        let expected = match self.offers.get_mut(&(side, id)) {
            None => OfferAnswered::Unknown,
            Some((offer, State::IsAnswered)) => OfferAnswered::Before(*offer),
            Some((offer, state)) => {
                *state = State::IsAnswered;
                let is_lost = folder.is_some() && !self.items[side].contains_key(&id);
                let moved = if is_lost { Err(InventoryRefusal::UnknownItem(id)) } else { Ok(()) };
                OfferAnswered::Now { offer: *offer, moved }
            }
        };
        assert_eq!(answered, expected);
    }

    fn open(&mut self, store: &Store, side: usize) {
        let id = self.id();
        store.open_offers(self.owners[side], &[id]).unwrap();
        if let Some((_, state @ State::Waits)) = self.offers.get_mut(&(side, id)) {
            *state = State::IsOpen;
        }
    }

    fn assert_stored(&self, store: &Store, step: u32) {
        for side in 0..2 {
            let mut stored = store.items_in(self.owners[side], self.roots[side], 1_000).unwrap();
            stored.sort_unstable_by_key(|item| item.id);
            let expected: Vec<Item> = self.items[side].values().cloned().collect();
            assert_eq!(stored, expected, "step {step}");
            let waits = |((to, _), (offer, state)): (&(usize, Uuid), &(Offer, State))| {
                (*to == side && *state == State::Waits).then_some(*offer)
            };
            let mut waiting: Vec<Offer> = self.offers.iter().filter_map(waits).collect();
            waiting.sort_by_key(|offer| (offer.made_s, offer.id));
            assert_eq!(store.waiting_offers(self.owners[side]).unwrap(), waiting, "step {step}");
        }
    }
}
