//! Transfers of the last minute, for a world that goes back to a checkpoint and takes them back. A process that ends needs none of it: its world begins with what the
//! database has.

use super::Former;
use crate::worn::WornObject;
use ids::{Instant, Ticket, Uuid};
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::time::Duration;
use store::{Item, ItemEffect, ItemOrigin};

/// Time for which a world may take a transfer back: it goes back to a checkpoint of at most 34 s ago.
const UNDO_TIME: Duration = Duration::from_secs(60);
/// Objects of answered orders that are remembered for that time, at most. Beyond it the oldest are forgotten, and an undo does not restore them.
const RESTORED_MAX: usize = 4_096;
/// Objects that left, likewise: 100 bytes each. An undo leaves the items of those that are forgotten.
const MADE_MAX: usize = 1 << 16;
/// Worn objects that were put on, taken off or put down, likewise.
const WORN_MAX: usize = 4_096;

/// Items of objects that left by a ticket which was undone, likewise: 24 bytes each.
const UNDONE_MAX: usize = 1 << 16;

/// Transfers of the last 60 s, for an undo.
#[derive(Debug, Default)]
pub(super) struct RecentTransfers {
    made: BTreeMap<Ticket, Made>,
    /// Objects and items of answered orders, the oldest first.
    restored: VecDeque<Restored>,
    /// Changes of hands of worn objects, the oldest first.
    worn: VecDeque<RecentWorn>,
    /// Items of undone tickets, the oldest first.
    undone: VecDeque<(Instant, Uuid)>,
}

/// An object, or an item of a prim, that left the region.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    seen_at: Instant,
    /// Its origin.
    pub(super) origin: ItemOrigin,
    /// Its item, once it is on the disk.
    pub(super) item: Option<Uuid>,
}

#[derive(Debug)]
struct Restored {
    seen_at: Instant,
    ticket: Ticket,
    former: Former,
}

/// A worn object that has changed hands.
#[derive(Debug)]
pub(super) struct RecentWorn {
    seen_at: Instant,
    ticket: Ticket,
    /// The object as it was worn last or first.
    pub(super) worn: WornObject,
    /// The kind of its change.
    pub(super) change: RecentWornChange,
}

/// A change of hands that an undo takes back.
#[derive(Debug)]
pub(super) enum RecentWornChange {
    /// The object came from the ground.
    PutOn,
    /// The object is an item only.
    TakenOff,
    /// The object lies on the ground. Its item as it was, or an item made of the object until that is known.
    PutDown(Box<Item>),
}

/// Transfers that an undo takes back.
#[derive(Debug)]
pub(super) struct Undone {
    /// Objects and items that left the region.
    pub(super) made: Vec<Made>,
    /// Objects and items that came into it.
    pub(super) restored: Vec<Former>,
    /// Worn objects.
    pub(super) worn: Vec<RecentWorn>,
}

impl RecentTransfers {
    /// Notes an object that leaves. Tickets rise.
    pub(super) fn note_made(&mut self, now: Instant, origin: ItemOrigin) {
        self.made.insert(origin.key.ticket, Made { seen_at: now, origin, item: None });
        if self.made.len() > MADE_MAX {
            self.made.pop_first();
        }
    }

    /// Notes the item that came or went with a ticket.
    pub(super) fn note_item(&mut self, effect: &ItemEffect) {
        if effect.is_there {
            if let Some(made) = self.made.get_mut(&effect.ticket) {
                made.item = Some(effect.item.id);
            }
            return;
        }
        // Of a repeated save only the id is known.
        if effect.item.folder.is_nil() {
            return;
        }
        let mut of_ticket = self.worn.iter_mut().filter(|recent| recent.ticket == effect.ticket);
        if let Some(RecentWorn { change: RecentWornChange::PutDown(item), .. }) = of_ticket.next() {
            **item = effect.item.clone();
        }
    }

    /// Notes a worn object that changes hands.
    pub(super) fn note_worn(
        &mut self,
        now: Instant,
        ticket: Ticket,
        worn: WornObject,
        change: RecentWornChange,
    ) {
        self.worn.push_back(RecentWorn { seen_at: now, ticket, worn, change });
        if self.worn.len() > WORN_MAX {
            self.worn.pop_front();
        }
    }

    /// Notes an object that has come into the region.
    pub(super) fn note_restored(&mut self, now: Instant, ticket: Ticket, former: Former) {
        self.restored.push_back(Restored { seen_at: now, ticket, former });
        if self.restored.len() > RESTORED_MAX {
            self.restored.pop_front();
        }
    }

    /// Notes an item whose object the region has again. The disk has the item until the undo is saved.
    pub(super) fn note_undone(&mut self, now: Instant, item: Uuid) {
        self.undone.push_back((now, item));
        if self.undone.len() > UNDONE_MAX {
            self.undone.pop_front();
        }
    }

    /// True for an item that [`Self::note_undone`] has noted.
    pub(super) fn is_undone(&self, item: Uuid) -> bool {
        self.undone.iter().any(|(_, undone)| *undone == item)
    }

    /// Forgets the transfers that no world takes back any more.
    pub(super) fn forget_old(&mut self, now: Instant) {
        let is_final = |seen_at: Instant| now.since(seen_at) > UNDO_TIME;
        while self.made.first_key_value().is_some_and(|(_, made)| is_final(made.seen_at)) {
            self.made.pop_first();
        }
        while self.restored.front().is_some_and(|restored| is_final(restored.seen_at)) {
            self.restored.pop_front();
        }
        while self.worn.front().is_some_and(|recent| is_final(recent.seen_at)) {
            self.worn.pop_front();
        }
        while self.undone.front().is_some_and(|(seen_at, _)| is_final(*seen_at)) {
            self.undone.pop_front();
        }
    }

    /// Takes out the objects and items that left the region, came into it or changed hands with some tickets.
    pub(super) fn take(&mut self, undone: &RangeInclusive<Ticket>) -> Undone {
        let made = self.made.extract_if(.., |ticket, _| undone.contains(ticket));
        let made = made.map(|(_, made)| made).collect();
        let restored = std::mem::take(&mut self.restored).into_iter();
        let (taken, kept): (VecDeque<Restored>, VecDeque<Restored>) =
            restored.partition(|restored| undone.contains(&restored.ticket));
        self.restored = kept;
        let worn = std::mem::take(&mut self.worn).into_iter();
        let (worn, kept): (VecDeque<RecentWorn>, VecDeque<RecentWorn>) =
            worn.partition(|recent| undone.contains(&recent.ticket));
        self.worn = kept;
        let restored = taken.into_iter().map(|restored| restored.former).collect();
        Undone { made, restored, worn: worn.into() }
    }
}
