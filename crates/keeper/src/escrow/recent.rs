//! Transfers of the last 60 s, for a world that is reset to a checkpoint and undoes them. They are not stored: the world of a new process starts from the database.

use super::Former;
use crate::worn::WornObject;
use ids::{Instant, Ticket, Uuid};
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::time::Duration;
use store::{Item, ItemEffect, ItemOrigin};

/// Time for which a world may undo a transfer: a checkpoint is at most 34 s old.
const UNDO_TIME: Duration = Duration::from_secs(60);
/// Maximum number of objects of answered orders that are kept for that time. The oldest beyond it are discarded, and an undo does not restore them.
const RESTORED_MAX: usize = 4_096;
/// Maximum number of kept objects that left the region: 100 bytes each. An undo does not delete the items of discarded ones.
const MADE_MAX: usize = 1 << 16;
/// Maximum number of kept attachments, detachments and drops of worn objects.
const WORN_MAX: usize = 4_096;

/// Maximum number of kept items of objects that left by an undone ticket: 24 bytes each.
const UNDONE_MAX: usize = 1 << 16;

/// Transfers of the last 60 s, for an undo.
#[derive(Debug, Default)]
pub(super) struct RecentTransfers {
    made: BTreeMap<Ticket, Made>,
    /// Objects and items that entered the region, the oldest first.
    restored: VecDeque<Restored>,
    /// Changes of worn objects, the oldest first.
    worn: VecDeque<RecentWorn>,
    /// Items whose objects an undo has returned to the region, the oldest first.
    undone: VecDeque<(Instant, Uuid)>,
}

/// An object, or an item of a prim, that left the region.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    seen_at: Instant,
    /// Origin of the object or item.
    pub(super) origin: ItemOrigin,
    /// Item of the object, once it is on the disk.
    pub(super) item: Option<Uuid>,
}

#[derive(Debug)]
struct Restored {
    seen_at: Instant,
    ticket: Ticket,
    former: Former,
}

/// A worn object that was attached, detached or dropped.
#[derive(Debug)]
pub(super) struct RecentWorn {
    seen_at: Instant,
    ticket: Ticket,
    /// The object in its last or first worn state.
    pub(super) worn: WornObject,
    /// Kind of the change.
    pub(super) change: RecentWornChange,
}

/// A change that an undo reverts.
#[derive(Debug)]
pub(super) enum RecentWornChange {
    /// Attached from the ground.
    PutOn,
    /// Detached: the object is an item only.
    TakenOff,
    /// Dropped: the object lies on the ground. Contains its former item, or an item made from the object until the former one is known.
    PutDown(Box<Item>),
}

/// Transfers that an undo reverts.
#[derive(Debug)]
pub(super) struct Undone {
    /// Objects and items that left the region.
    pub(super) made: Vec<Made>,
    /// Objects and items that entered the region.
    pub(super) restored: Vec<Former>,
    /// Worn objects.
    pub(super) worn: Vec<RecentWorn>,
}

impl RecentTransfers {
    /// Records an object that leaves. Tickets rise.
    pub(super) fn note_made(&mut self, now: Instant, origin: ItemOrigin) {
        self.made.insert(origin.key.ticket, Made { seen_at: now, origin, item: None });
        if self.made.len() > MADE_MAX {
            self.made.pop_first();
        }
    }

    /// Records the item that was created or removed by a ticket.
    pub(super) fn note_item(&mut self, effect: &ItemEffect) {
        if effect.is_there {
            if let Some(made) = self.made.get_mut(&effect.ticket) {
                made.item = Some(effect.item.id);
            }
            return;
        }
        // A repeated save reports the id only.
        if effect.item.folder.is_nil() {
            return;
        }
        let mut of_ticket = self.worn.iter_mut().filter(|recent| recent.ticket == effect.ticket);
        if let Some(RecentWorn { change: RecentWornChange::PutDown(item), .. }) = of_ticket.next() {
            **item = effect.item.clone();
        }
    }

    /// Records a change of a worn object.
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

    /// Records an object that has entered the region.
    pub(super) fn note_restored(&mut self, now: Instant, ticket: Ticket, former: Former) {
        self.restored.push_back(Restored { seen_at: now, ticket, former });
        if self.restored.len() > RESTORED_MAX {
            self.restored.pop_front();
        }
    }

    /// Records an item whose object is in the region again. The item stays on the disk until the undo is saved.
    pub(super) fn note_undone(&mut self, now: Instant, item: Uuid) {
        self.undone.push_back((now, item));
        if self.undone.len() > UNDONE_MAX {
            self.undone.pop_front();
        }
    }

    /// True for an item recorded by [`Self::note_undone`].
    pub(super) fn is_undone(&self, item: Uuid) -> bool {
        self.undone.iter().any(|(_, undone)| *undone == item)
    }

    /// Discards transfers that no world can undo any more.
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

    /// Removes and returns all transfers with some tickets.
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
