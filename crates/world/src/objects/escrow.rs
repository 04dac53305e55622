//! Transfers between the world and the store that may not be on the disk yet.
//!
//! A transfer takes effect in a tick and stays in the [`Escrow`] until the node has settled its ticket, so that a reader of frames that has missed it finds
//! it in a snapshot. The escrow belongs to the objects: it is stored with them, and goes back with them after a panic. Tickets never go back: a
//! world that has lost ticks says so in a transfer of its own.

use ids::{AgentId, HeldKey, Ticket};
use link::{EditRefusal, HeldItem, HeldObject, StoredTransfers, Transfer, WornTransfer};
use state_hash::StateHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Prims of held objects that wait for the disk at most: about 20 MB. No more linksets leave the world then.
const WAITING_PRIMS_MAX: usize = 1 << 17;
/// The last ticket of an object that leaves. Those behind it are for answers to the node.
const LEAVING_MAX: Ticket = Ticket(u32::MAX - (1 << 24));

/// Transfers of a world.
#[derive(Debug, Default)]
pub(crate) struct Escrow {
    last: Ticket,
    unsettled: BTreeMap<Ticket, Transfer>,
    /// Orders of the node that have an answer in `unsettled`.
    answered: BTreeSet<HeldKey>,
    /// Users for whom the store takes no more.
    full: BTreeSet<AgentId>,
    /// Prims in `unsettled`.
    n_prims: usize,
    /// Undos in `unsettled`.
    n_undos: usize,
    /// Sum of the hashes of `unsettled` and `full`.
    hash: u64,
    step: StepChanges,
}

/// Changes of the step under way, but for new transfers.
#[derive(Debug, Default)]
struct StepChanges {
    /// The last ticket of the last frame.
    before: Ticket,
    settled: Vec<(Ticket, Transfer)>,
    /// Users who have become full, or are so no more.
    turned: Vec<AgentId>,
}

impl Escrow {
    /// Transfers as they were stored; `None` if no run leads to them.
    pub(crate) fn of(stored: StoredTransfers) -> Option<Self> {
        let StoredTransfers { last, unsettled, full } = stored;
        let mut escrow = Self { last, ..Self::default() };
        let mut before = Ticket(0);
        for (ticket, transfer) in unsettled {
            let is_new = answer_of(&transfer).is_none_or(|key| !escrow.answered.contains(&key));
            if ticket <= before || ticket > last || !is_new || !is_sound(&transfer) {
                return None;
            }
            before = ticket;
            escrow.insert(ticket, transfer);
        }
        full.into_iter().for_each(|owner| escrow.set_full(owner, true));
        escrow.begin_step();
        Some(escrow)
    }

    pub(crate) fn stored(&self) -> StoredTransfers {
        StoredTransfers {
            last: self.last,
            unsettled: self.unsettled(),
            full: self.full.iter().copied().collect(),
        }
    }

    /// Transfers that are not settled, in the order of their tickets.
    pub(crate) fn unsettled(&self) -> Vec<(Ticket, Transfer)> {
        self.unsettled.iter().map(|(ticket, transfer)| (*ticket, transfer.clone())).collect()
    }

    /// The ticket that was given last.
    pub(crate) const fn last(&self) -> Ticket {
        self.last
    }

    /// Its share of the state hash.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u32(self.last.0);
        hasher.u64(self.hash);
        hasher.finish()
    }

    /// Begins a step: the last frame is out.
    pub(crate) fn begin_step(&mut self) {
        let StepChanges { before, settled, turned } = &mut self.step;
        *before = self.last;
        settled.clear();
        turned.clear();
    }

    /// Goes back to the last frame, after a step that panicked.
    pub(crate) fn roll_back(&mut self) {
        let StepChanges { before, settled, turned } = std::mem::take(&mut self.step);
        let lost: Vec<Ticket> = self.unsettled.keys().copied().filter(|ticket| *ticket > before).collect();
        lost.into_iter().for_each(|ticket| drop(self.remove(ticket)));
        settled.into_iter().filter(|(ticket, _)| *ticket <= before).for_each(|(ticket, transfer)| {
            self.insert(ticket, transfer);
        });
        for owner in turned {
            let is_full = self.full.contains(&owner);
            self.set_full(owner, !is_full);
        }
        self.last = before;
        self.begin_step();
    }

    /// Refuses an object of this many prims that would be held for a user beyond the bounds.
    pub(crate) fn check_room(&self, owner: AgentId, n_prims: usize) -> Result<(), EditRefusal> {
        if self.has_room(n_prims) && !self.is_full(owner) { Ok(()) } else { Err(EditRefusal::HeldFull) }
    }

    /// True if so many prims may leave before more is on the disk.
    pub(crate) fn has_room(&self, n_prims: usize) -> bool {
        self.n_prims + n_prims <= WAITING_PRIMS_MAX && self.last < LEAVING_MAX
    }

    /// True if the store takes no more for a user.
    pub(crate) fn is_full(&self, owner: AgentId) -> bool {
        self.full.contains(&owner)
    }

    /// Gives an object to the store.
    pub(crate) fn hold(&mut self, object: HeldObject) -> (Ticket, Transfer) {
        self.give(Transfer::Held(Arc::new(object)))
    }

    /// Gives an item of a prim to the store.
    pub(crate) fn hold_item(&mut self, item: HeldItem) -> (Ticket, Transfer) {
        self.give(Transfer::HeldItem(Arc::new(item)))
    }

    /// Reports what has become of a worn linkset.
    pub(crate) fn change_hands(&mut self, transfer: WornTransfer) -> (Ticket, Transfer) {
        self.give(Transfer::Worn(Arc::new(transfer)))
    }

    /// Answers an order to take an object or an item from the store.
    pub(crate) fn answer(&mut self, key: HeldKey, refusal: Option<EditRefusal>) -> (Ticket, Transfer) {
        self.give(refusal.map_or(Transfer::Restored(key), |why| Transfer::Refused(key, why)))
    }

    /// True if an order for this object has an answer that is not settled.
    pub(crate) fn is_answered(&self, key: HeldKey) -> bool {
        self.answered.contains(&key)
    }

    /// True until the node has settled that the world has gone back. It may have sent orders before it knew that, and they are not carried out: it sends those again
    /// that have no answer, behind the settlement.
    pub(crate) const fn is_undoing(&self) -> bool {
        self.n_undos > 0
    }

    /// Forgets the transfers up to a ticket, which are on the disk.
    pub(crate) fn settle(&mut self, up_to: Ticket) {
        while let Some((&ticket, _)) =
            self.unsettled.first_key_value().filter(|(ticket, _)| **ticket <= up_to)
        {
            let transfer = self.remove(ticket).expect("just seen");
            self.step.settled.push((ticket, transfer));
        }
    }

    /// Notes whether the store takes no more for a user.
    pub(crate) fn set_full(&mut self, owner: AgentId, is_full: bool) {
        let has_changed = if is_full { self.full.insert(owner) } else { self.full.remove(&owner) };
        if has_changed {
            let hash = owner_hash(owner);
            self.hash = if is_full { self.hash.wrapping_add(hash) } else { self.hash.wrapping_sub(hash) };
            self.step.turned.push(owner);
        }
    }

    /// Continues after the last ticket of an earlier epoch, whose effects since its own last one are lost. `began` is the last ticket from before that
    /// epoch: a world without any state has lost no more than the epoch.
    ///
    /// A world that has gone back says so also if it has lost no ticket: it skips one, which the undo names. Orders without a ticket may be lost, and others under way.
    pub(crate) fn continue_after(&mut self, began: Ticket, last: Ticket, has_gone_back: bool) {
        let kept = if self.last == Ticket(0) { began } else { self.last };
        let last = if has_gone_back { last.max(Ticket(kept.0.saturating_add(1))) } else { last };
        if last > kept {
            self.last = last;
            self.give(Transfer::Undone { first: Ticket(kept.0 + 1), last });
        } else {
            self.last = self.last.max(last);
        }
        self.begin_step();
    }

    fn give(&mut self, transfer: Transfer) -> (Ticket, Transfer) {
        let next = self.last.0.checked_add(1).expect("the node has settled 16 million orders at most");
        self.last = Ticket(next);
        self.insert(self.last, transfer.clone());
        (self.last, transfer)
    }

    fn insert(&mut self, ticket: Ticket, transfer: Transfer) {
        self.hash = self.hash.wrapping_add(transfer_hash(ticket, &transfer));
        self.n_prims += n_prims(&transfer);
        self.n_undos += usize::from(is_undo(&transfer));
        self.answered.extend(answer_of(&transfer));
        self.unsettled.insert(ticket, transfer);
    }

    fn remove(&mut self, ticket: Ticket) -> Option<Transfer> {
        let transfer = self.unsettled.remove(&ticket)?;
        self.hash = self.hash.wrapping_sub(transfer_hash(ticket, &transfer));
        self.n_prims -= n_prims(&transfer);
        self.n_undos -= usize::from(is_undo(&transfer));
        if let Some(key) = answer_of(&transfer) {
            self.answered.remove(&key);
        }
        Some(transfer)
    }
}

/// The object that a transfer answers an order for.
const fn answer_of(transfer: &Transfer) -> Option<HeldKey> {
    match transfer {
        Transfer::Restored(key) | Transfer::Refused(key, _) => Some(*key),
        Transfer::Held(_) | Transfer::HeldItem(_) | Transfer::Undone { .. } | Transfer::Worn(_) => None,
    }
}

const fn is_undo(transfer: &Transfer) -> bool {
    matches!(transfer, Transfer::Undone { .. })
}

/// Its size in prims. An item counts like one.
fn n_prims(transfer: &Transfer) -> usize {
    match transfer {
        Transfer::Held(object) => object.n_prims(),
        Transfer::HeldItem(_) => 1,
        Transfer::Worn(worn) => worn.object.n_prims(),
        Transfer::Restored(_) | Transfer::Refused(..) | Transfer::Undone { .. } => 0,
    }
}

fn is_sound(transfer: &Transfer) -> bool {
    match transfer {
        Transfer::Held(object) => object.is_whole(),
        Transfer::Worn(worn) => worn.object.is_whole() && worn.object.linksets.len() == 1,
        Transfer::HeldItem(held) => held.item.ownership.owner == held.owner,
        Transfer::Restored(_) | Transfer::Refused(..) => true,
        Transfer::Undone { first, last } => Ticket(0) < *first && first <= last,
    }
}

fn owner_hash(AgentId(owner): AgentId) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.bytes(owner.as_bytes());
    hasher.finish()
}

fn fold_object(hasher: &mut StateHasher, object: &HeldObject) {
    hasher.u64(owner_hash(object.owner));
    hasher.u64(object.by.0);
    hasher.u32(object.kind.code().into());
    hasher.bytes(object.folder.as_bytes());
    hasher.bytes(object.transaction.as_bytes());
    if object.is_worn {
        hasher.u32(1);
    }
    for (number, linkset) in object.linksets.iter().enumerate() {
        if number > 0 {
            hasher.u32(2);
        }
        for (motion, versioned) in linkset {
            hasher.bytes(versioned.body.id.as_bytes());
            hasher.u32(versioned.version);
            hasher.vec3(motion.motion.position);
        }
    }
}

/// Ids and versions stand for the prims of an object, and its id for an item: they are not changed any more.
fn transfer_hash(Ticket(ticket): Ticket, transfer: &Transfer) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.u32(ticket);
    let mut of_key = |kind: u32, HeldKey { region, ticket }: &HeldKey| {
        hasher.u32(kind);
        hasher.u64(u64::from(region.0) << 32 | u64::from(ticket.0));
    };
    match transfer {
        Transfer::Restored(key) => of_key(1, key),
        Transfer::Refused(key, reason) => of_key(2 | (*reason as u32) << 8, key),
        Transfer::Held(object) => {
            hasher.u32(3);
            fold_object(&mut hasher, object);
        }
        Transfer::Worn(worn) => {
            hasher.u32(6 | (worn.change as u32) << 8);
            hasher.bytes(worn.item.as_bytes());
            fold_object(&mut hasher, &worn.object);
        }
        Transfer::HeldItem(held) => {
            hasher.u32(5);
            hasher.u64(owner_hash(held.owner));
            hasher.u64(held.by.0);
            hasher.bytes(held.folder.as_bytes());
            hasher.bytes(held.item.id.as_bytes());
            hasher.bytes(held.item.asset.as_bytes());
            if let Some(name) = &held.new_folder {
                hasher.bytes(name.as_bytes());
            }
        }
        Transfer::Undone { first, last } => {
            hasher.u32(4);
            hasher.u64(u64::from(first.0) << 32 | u64::from(last.0));
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
