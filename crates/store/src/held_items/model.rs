//! Random transfers of one region: objects are taken and rezzed, orders are answered and refused, saves are repeated, the region goes back to a checkpoint, and the
//! server is killed. At any time the database has each object once: in the region, or as an item, and the owner's client knows of every item as of the last save
//! with an answer.

use super::tests::{origin, transfer, with};
use super::*;
use crate::account::tests::create;
use crate::inventory::edit::tests::{change, make, new_folder};
use crate::region_objects::tests::ONE;
use crate::testing::{TestDatabase, on_both_engines};
use crate::{
    HeldChange, InventoryChange, InventoryOutcome, InventoryRefusal, MarkItem, RegionChanges, Store,
};
use ids::LocalId;

on_both_engines! {
    transfers_of_a_few_seeds_leave_each_object_in_one_place,
}

/// Objects at the begin. Items of the second half may be copied.
const OBJECTS: u32 = 8;
const STEPS: u32 = 150;
const ROOT: Uuid = Uuid::from_u128(0x101);
const FOLDER: Uuid = Uuid::from_u128(7);

fn transfers_of_a_few_seeds_leave_each_object_in_one_place(database: &TestDatabase) {
    let store = database.open();
    let mut model = Model::begin(&store, 3);
    (0..STEPS).for_each(|_| model.step());
    model.settle();
}

#[test]
fn transfers_of_many_seeds_leave_each_object_in_one_place() {
    let mut counts = [0; 10];
    for seed in 0..60 {
        let store = Store::open_in_memory().unwrap();
        let mut model = Model::begin(&store, seed);
        (0..STEPS).for_each(|_| model.step());
        model.settle();
        counts.iter_mut().zip(model.counts).for_each(|(sum, n)| *sum += n);
    }
    assert!(counts.iter().all(|n| *n > 20), "everything happens: {counts:?}");
}

/// A world's objects by their local ids, each with its number.
type Objects = BTreeMap<u32, u32>;

/// An order for a marked item that the world has not answered.
#[derive(Clone)]
struct Order {
    key: HeldKey,
    item: Item,
}

struct Model<'a> {
    store: &'a Store,
    owner: AgentId,
    seed: u64,
    /// In the world's memory.
    world: Objects,
    checkpoint: (Objects, Ticket),
    ticket: Ticket,
    next_id: u32,
    /// Transfers that are not acknowledged.
    log: Vec<(Ticket, HeldChange)>,
    orders: Vec<Order>,
    /// Items that came, and items that went, by the tickets of this life.
    made: Vec<(Ticket, ItemOrigin)>,
    restored: Vec<(Ticket, Item)>,
    /// Items whose objects the world has got back in this life.
    undone: BTreeSet<Uuid>,
    /// Items that the owner's client shows.
    shown: BTreeSet<Uuid>,
    /// Keys of marked items, in the database.
    marks: BTreeMap<Uuid, HeldKey>,
    /// Taken, marked, copied, restored, refused, saved, saved without an answer, undone, changes refused as busy, killed.
    counts: [u32; 10],
}

impl<'a> Model<'a> {
    fn begin(store: &'a Store, seed: u64) -> Self {
        let owner = create(store, 1, "Ada", "Lovelace");
        let first = InventoryChange::RemoveItem { item: Uuid::from_u128(0x201) };
        make(store, owner, &[new_folder(7, ROOT), first]);
        let world: Objects = (0..OBJECTS).map(|n| (n + 1, n)).collect();
        let mut model = Self {
            store,
            owner,
            seed,
            checkpoint: (world.clone(), Ticket(0)),
            world,
            ticket: Ticket(0),
            next_id: OBJECTS + 1,
            log: Vec::new(),
            orders: Vec::new(),
            made: Vec::new(),
            restored: Vec::new(),
            undone: BTreeSet::new(),
            shown: BTreeSet::new(),
            marks: BTreeMap::new(),
            counts: [0; 10],
        };
        model.save(2);
        model
    }

    fn step(&mut self) {
        match self.below(24) {
            0..5 => self.take(),
            5..9 => self.rez(),
            9..14 => self.answer(),
            14..19 => {
                let outcome = self.below(4);
                self.save(outcome);
            }
            19 => self.checkpoint = (self.world.clone(), self.ticket),
            20 => self.undo(),
            21..23 => self.change(),
            _ => self.crash(),
        }
        self.check();
    }

    /// Ends with everything on the disk.
    fn settle(&mut self) {
        while !self.orders.is_empty() {
            self.answer();
        }
        self.save(3);
        self.check();
        assert!(self.marks.is_empty() && self.stored() == self.world);
        assert_eq!(self.store.release_all_marks().unwrap(), 0);
    }

    fn take(&mut self) {
        let ids: Vec<u32> = self.world.keys().copied().collect();
        let Some(id) = self.pick(&ids) else { return };
        let number = self.world.remove(&id).expect("it is there");
        let ticket = self.next_ticket();
        let wanted = self.pick(&[ROOT, FOLDER, Uuid::from_u128(99)]).expect("some");
        let (_, mut change) = transfer(self.owner, ticket.0, &format!("{number}"), wanted);
        if let HeldChange::InsertItem(transfer) = &mut change
            && number < OBJECTS / 2
        {
            transfer.item.permissions.owner = 0;
        }
        self.log.push((ticket, change));
        self.made.push((ticket, origin(self.owner, ticket.0)));
        self.counts[0] += 1;
    }

    fn rez(&mut self) {
        let Some(item) = self.pick(&self.items()) else { return };
        match self.store.mark_item(self.owner, item.id, ONE).unwrap() {
            // The keeper refuses the order, and the mark is taken back.
            MarkItem::Marked { item, .. } if self.undone.contains(&item.id) => {
                assert!(self.store.release_item(self.owner, item.id).unwrap());
            }
            MarkItem::Marked { key, item } => {
                assert!(self.marks.insert(item.id, key).is_none(), "one mark");
                self.orders.push(Order { key, item });
                self.counts[1] += 1;
            }
            MarkItem::Copyable(item) => {
                assert!(number_of(&item) >= OBJECTS / 2);
                // A copy, which is no object of the begin.
                let id = self.next_id();
                self.world.insert(id, OBJECTS + id);
                self.counts[2] += 1;
            }
            MarkItem::Busy(region) => assert!(region == ONE && self.marks.contains_key(&item.id)),
            MarkItem::Unknown | MarkItem::Worn => panic!("{item:?}"),
        }
    }

    fn answer(&mut self) {
        let orders = self.orders.clone();
        let Some(order) = self.pick(&orders) else { return };
        self.orders.retain(|other| other.key != order.key);
        let ticket = self.next_ticket();
        if self.below(3) == 0 {
            self.log.push((ticket, HeldChange::Release(order.key)));
            self.counts[4] += 1;
        } else {
            let id = self.next_id();
            self.world.insert(id, number_of(&order.item));
            let (key, owner, item) = (order.key, self.owner, order.item.id);
            self.log.push((ticket, HeldChange::RemoveItem { key, owner, item }));
            self.restored.push((ticket, order.item));
            self.counts[3] += 1;
        }
    }

    /// A save that is not carried out (0), or whose answer is lost (1), or that is acknowledged.
    fn save(&mut self, outcome: u64) {
        if outcome == 0 {
            return;
        }
        let effects = self.store.save_region(ONE, &self.changes()).unwrap();
        assert!(effects.iter().all(|effect| effect.owner == self.owner));
        for (_, change) in &self.log {
            match change {
                HeldChange::RemoveItem { key, .. } | HeldChange::Release(key) => {
                    self.marks.retain(|_, mark| mark != key);
                }
                _ => {}
            }
        }
        let items: BTreeSet<Uuid> = self.items().into_iter().map(|item| item.id).collect();
        // That of an item that was undone went with it.
        self.marks.retain(|item, _| items.contains(item));
        if outcome == 1 {
            self.counts[6] += 1;
        } else {
            for effect in effects {
                if effect.is_there {
                    self.shown.insert(effect.item.id);
                } else {
                    self.shown.remove(&effect.item.id);
                }
            }
            assert_eq!(self.shown, items, "effects of saves without an answer are reported again");
            self.log.clear();
            self.counts[5] += 1;
        }
    }

    fn changes(&self) -> RegionChanges {
        let mut changes = with(self.log.clone());
        changes.row.ticket = self.ticket;
        for (id, number) in &self.world {
            changes.bodies.push(LocalId(*id), number.to_string().as_bytes());
        }
        // All that there may be: an earlier save may have been carried out.
        let gone = (1..self.next_id).filter(|id| !self.world.contains_key(id));
        changes.gone = gone.map(LocalId).collect();
        changes
    }

    /// The world goes back to its checkpoint.
    fn undo(&mut self) {
        let (objects, Ticket(kept)) = self.checkpoint.clone();
        self.world = objects;
        let (first, last) = (Ticket(kept + 1), self.ticket);
        if last < first {
            return;
        }
        let ticket = self.next_ticket();
        self.checkpoint.1 = ticket;
        self.log.push((ticket, HeldChange::Undo { first, last }));
        let is_undone = |ticket: &Ticket| (first..=last).contains(ticket);
        let ids: Vec<Uuid> = self.ids_of(|ticket| is_undone(&ticket));
        // The world would get these twice.
        self.orders.retain(|order| !ids.contains(&order.item.id));
        self.undone.extend(ids);
        for (_, origin) in self.made.extract_if(.., |(ticket, _)| is_undone(&*ticket)) {
            self.log.push((ticket, HeldChange::UndoItem(origin)));
        }
        for (_, item) in self.restored.extract_if(.., |(ticket, _)| is_undone(&*ticket)) {
            self.log.push((ticket, HeldChange::ReturnItem { owner: self.owner, item: Box::new(item) }));
        }
        self.counts[7] += 1;
    }

    /// Ids of the items that came by some tickets of this life.
    fn ids_of(&self, is_meant: impl Fn(Ticket) -> bool) -> Vec<Uuid> {
        let identity = self.store.identity().unwrap();
        let made = self.made.iter().filter(|(ticket, _)| is_meant(*ticket));
        made.map(|(_, origin)| item_id(identity, origin)).collect()
    }

    /// The owner moves an item.
    fn change(&mut self) {
        let Some(item) = self.pick(&self.items()) else { return };
        let folder = self.pick(&[ROOT, FOLDER]).expect("some");
        let moved =
            change(self.store, self.owner, InventoryChange::MoveItem { item: item.id, folder, name: None });
        if self.marks.contains_key(&item.id) {
            assert_eq!(moved, Err(InventoryRefusal::Busy(item.id)));
            self.counts[8] += 1;
        } else {
            assert!(matches!(moved, Ok(InventoryOutcome { .. })), "{moved:?}");
        }
    }

    /// The server is killed, and begins again with what the database has.
    fn crash(&mut self) {
        assert_eq!(self.store.release_all_marks().unwrap(), self.marks.len());
        self.marks.clear();
        self.world = self.stored();
        self.ticket = self.store.region_row(ONE).unwrap().map_or(Ticket(0), |row| row.ticket);
        self.checkpoint = (self.world.clone(), self.ticket);
        self.log.clear();
        self.orders.clear();
        self.made.clear();
        self.restored.clear();
        self.undone.clear();
        // The client logs in again.
        self.shown = self.items().into_iter().map(|item| item.id).collect();
        self.counts[9] += 1;
    }

    /// Each object of the begin is in one place, in the database.
    fn check(&self) {
        let mut places: BTreeMap<u32, u32> = BTreeMap::new();
        let items = self.items();
        let numbers = self.stored().into_values().chain(items.iter().map(number_of));
        numbers.for_each(|number| *places.entry(number).or_default() += 1);
        let all = (0..OBJECTS).map(|number| (number, places.get(&number)));
        let wrong: Vec<(u32, Option<&u32>)> = all.filter(|(_, n)| *n != Some(&1)).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    /// The objects of the region in the database.
    fn stored(&self) -> Objects {
        let stored = self.store.region_objects(ONE).unwrap();
        let number = |value: &[u8]| std::str::from_utf8(value).unwrap().parse().unwrap();
        stored.bodies.iter().map(|(LocalId(id), value)| (id, number(value))).collect()
    }

    fn items(&self) -> Vec<Item> {
        let items = |folder| self.store.items_in(self.owner, folder, 100).unwrap();
        [ROOT, FOLDER].into_iter().flat_map(items).collect()
    }

    fn next_ticket(&mut self) -> Ticket {
        self.ticket.0 += 1;
        self.ticket
    }

    fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let n = self.below(from.len().max(1) as u64) as usize;
        from.get(n).cloned()
    }

    /// SplitMix64.
    fn below(&mut self, end: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }
}

/// The number of the object that an item describes.
fn number_of(item: &Item) -> u32 {
    item.name.parse().unwrap()
}
