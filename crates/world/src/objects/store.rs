//! Linksets, their prims, and the changes of a tick.
//!
//! [`ObjectStore`] keeps invariants that no caller can break: an id and a local id stand for one prim each, a part has a root that is there and
//! no part itself, a linkset has at most [`LINK_MAX`] prims, numbered without gaps in the order in which they were linked. Rights and bounds of a
//! region are judged before (`edits`).

use super::counts::ObjectCounts;
use super::escrow::Escrow;
use super::ids::ObjectIds;
use super::orders::AnsweredOrders;
use super::pages::{PagePool, PageTable};
use changes::{TickChanges, mark_of, prim_hash, raise};
use contents::LongData;
use ids::{LocalId, Uuid};
use link::{ObjectMask, PrimFlags, PrimMotion, StoredObjects, VersionedBody};
use prim::Body;
use record::Part;
use rollback::Journal;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

mod changes;
mod contents;
mod linksets;
mod rollback;
mod worn;

pub(crate) use contents::with_emptiness;
pub(crate) use linksets::relative_to;

/// Prims of a linkset, its root included.
pub(crate) const LINK_MAX: usize = 256;

/// Reasons for which the store refuses a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum ObjectError {
    /// No prim has this local id.
    #[error("there is no such object")]
    Unknown,
    /// A prim with this id is there.
    #[error("there is an object with this id")]
    Twice,
    /// All local ids are in use or rest.
    #[error("the region has no local id left")]
    Full,
    /// A linkset would have more than [`LINK_MAX`] prims.
    #[error("a linkset has {LINK_MAX} prims at most")]
    TooManyParts,
    /// A prim would be linked to itself or to a part of its own linkset.
    #[error("an object cannot be linked to itself")]
    Itself,
}

/// Objects of a world.
#[derive(Debug)]
pub(crate) struct ObjectStore {
    pages: PageTable,
    pool: PagePool,
    kept: ObjectIds,
    temporary: ObjectIds,
    by_id: BTreeMap<Uuid, LocalId>,
    /// Parts of each linkset with more than one prim, in the order of their numbers.
    parts: BTreeMap<LocalId, Vec<LocalId>>,
    /// Roots of the linksets that each avatar wears.
    worn: BTreeMap<LocalId, Vec<LocalId>>,
    /// The state was restored: their avatars may be absent.
    are_wearers_unchecked: bool,
    counts: ObjectCounts,
    /// Contents and data of archives.
    long: LongData,
    changes: TickChanges,
    /// Prims that came, went, moved, or were given other owners or roots since [`Self::pop_touched`] has taken them; some more than once. Not recorded
    /// without a reader.
    touched: Vec<LocalId>,
    has_touched_reader: bool,
    journal: Journal,
    escrow: Escrow,
    orders: AnsweredOrders,
    /// Sum of the hashes of all prims as of the last frame.
    hash: u64,
    /// World time, nanoseconds.
    now_ns: u64,
    /// [`StoredObjects::version_floor`].
    version_floor: u32,
}

impl ObjectStore {
    /// Record of the objects in snapshots. Version 2 has contents of prims.
    pub(crate) const PART: Part = Part { upgrades: &[record::unchanged], ..Part::new(*b"OBJS", "objects") };
}

impl ObjectStore {
    /// No objects, for a world with these local ids.
    pub(crate) fn new(local_ids: &Range<u32>) -> Self {
        Self {
            pages: PageTable::new(local_ids),
            pool: PagePool::default(),
            kept: ObjectIds::new(link::kept_object_ids(local_ids)),
            temporary: ObjectIds::new(link::temporary_object_ids(local_ids)),
            by_id: BTreeMap::new(),
            parts: BTreeMap::new(),
            worn: BTreeMap::new(),
            are_wearers_unchecked: false,
            counts: ObjectCounts::default(),
            long: LongData::default(),
            changes: TickChanges::default(),
            touched: Vec::new(),
            has_touched_reader: false,
            journal: Journal::default(),
            escrow: Escrow::default(),
            orders: AnsweredOrders::default(),
            hash: 0,
            now_ns: 0,
            version_floor: 0,
        }
    }

    /// Objects as they were saved. The next frame has them as pages.
    ///
    /// `None` if they contradict each other: an id twice, a part without its root, numbers with gaps, tickets out of order, an order with two answers.
    pub(crate) fn restored(local_ids: &Range<u32>, stored: StoredObjects) -> Option<Self> {
        let StoredObjects { pages, kept, temporary, now_ns, version_floor, transfers, orders } = stored;
        let (escrow, orders) = (Escrow::of(transfers)?, AnsweredOrders::of(orders)?);
        let mut store = Self { now_ns, version_floor, escrow, orders, ..Self::new(local_ids) };
        let mut parts: BTreeMap<LocalId, Vec<(u8, LocalId)>> = BTreeMap::new();
        for page in pages {
            if !store.kept.range().contains(&page.first.0) && !store.temporary.range().contains(&page.first.0)
            {
                return None;
            }
            for (id, motion, body) in page.prims() {
                if store.by_id.insert(body.body.id, id).is_some() {
                    return None;
                }
                if motion.parent != LocalId(0) {
                    parts.entry(motion.parent).or_default().push((motion.link_number, id));
                }
                store.long.note(id, &body.body);
                store.hash = store.hash.wrapping_add(prim_hash(id, motion, body, store.long.hash(id)));
                store.counts.add(motion.flags);
            }
            store.changes.pages.push(page.first);
            store.pages.insert_page(page);
        }
        for (root, mut numbered) in parts {
            numbered.sort_unstable();
            let Some(prim) = store.pages.motion(root) else {
                // The parent is an avatar, which wears temporary objects.
                let is_avatar = !store.kept.range().contains(&root.0) && !store.is_temporary_id(root);
                let are_roots =
                    numbered.iter().all(|(number, id)| *number == 0 && store.is_temporary_id(*id));
                if !is_avatar || !are_roots {
                    return None;
                }
                store.worn.insert(root, numbered.into_iter().map(|(_, id)| id).collect());
                store.are_wearers_unchecked = true;
                continue;
            };
            let is_root = store.pages.motion(prim.parent).is_none();
            let has_gaps = !numbered.iter().map(|(number, _)| usize::from(*number)).eq(1..=numbered.len());
            if !is_root || has_gaps {
                return None;
            }
            store.parts.insert(root, numbered.into_iter().map(|(_, id)| id).collect());
        }
        let ids = || store.pages.pages().flat_map(|page| page.prims().map(|(id, ..)| id));
        let of = |range: &Range<u32>| {
            let range = range.clone();
            ids().filter(move |LocalId(id)| range.contains(id))
        };
        let (kept_range, temporary_range) = (store.kept.range().clone(), store.temporary.range().clone());
        let kept_ids = ObjectIds::restored(kept_range.clone(), kept, of(&kept_range))?;
        let temporary_ids = ObjectIds::restored(temporary_range.clone(), temporary, of(&temporary_range))?;
        (store.kept, store.temporary) = (kept_ids, temporary_ids);
        Some(store)
    }

    /// Its state between two steps. Clones a pointer for each page, nothing for each prim.
    pub(crate) fn stored(&self) -> StoredObjects {
        StoredObjects {
            pages: self.pages.pages().cloned().collect(),
            kept: self.kept.resting(),
            temporary: self.temporary.resting(),
            now_ns: self.now_ns,
            version_floor: self.version_floor,
            transfers: self.escrow.stored(),
            orders: self.orders.stored(),
        }
    }

    /// Least version of a prim that changes.
    pub(crate) const fn version_floor(&self) -> u32 {
        self.version_floor
    }

    /// Transfers between the world and the store.
    pub(crate) const fn escrow(&self) -> &Escrow {
        &self.escrow
    }

    /// As [`Self::escrow`], to add and settle some.
    pub(crate) const fn escrow_mut(&mut self) -> &mut Escrow {
        &mut self.escrow
    }

    /// Orders of the node that were answered without a ticket.
    pub(crate) const fn orders(&self) -> &AnsweredOrders {
        &self.orders
    }

    /// As [`Self::orders`], to note some.
    pub(crate) const fn orders_mut(&mut self) -> &mut AnsweredOrders {
        &mut self.orders
    }

    /// Number of prims.
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Numbers of prims by kind.
    pub(crate) const fn counts(&self) -> ObjectCounts {
        self.counts
    }

    /// Body of a prim.
    pub(crate) fn body(&self, id: LocalId) -> Option<&VersionedBody> {
        self.pages.body(id)
    }

    /// Place and movement of a prim.
    pub(crate) fn motion(&self, id: LocalId) -> Option<&PrimMotion> {
        self.pages.motion(id)
    }

    /// Place, movement and body of a prim.
    pub(crate) fn prim(&self, id: LocalId) -> Option<(PrimMotion, VersionedBody)> {
        Some((*self.pages.motion(id)?, self.pages.body(id)?.clone()))
    }

    /// Local id of the prim with an id.
    pub(crate) fn local_id(&self, id: Uuid) -> Option<LocalId> {
        self.by_id.get(&id).copied()
    }

    /// True for the local ids of temporary objects. An object that became one later has another.
    pub(crate) fn is_temporary_id(&self, LocalId(id): LocalId) -> bool {
        self.temporary.range().contains(&id)
    }

    /// World time, nanoseconds.
    pub(crate) const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Roots of temporary linksets, by their ids. Walks all objects.
    pub(crate) fn temporary_roots(&self) -> impl Iterator<Item = Uuid> {
        let prims = self.pages.pages().flat_map(|page| page.prims());
        let is_meant =
            |motion: &PrimMotion| motion.flags.any(PrimFlags::TEMPORARY) && motion.link_number == 0;
        prims.filter(move |(_, motion, _)| is_meant(motion)).map(|(.., versioned)| versioned.body.id)
    }

    /// Begins a step: the last frame is out.
    pub(crate) fn begin_step(&mut self) {
        self.journal.begin(self.hash);
        self.escrow.begin_step();
        self.orders.begin_step();
    }

    /// Adds a prim that stands alone. Its local id is one of temporary objects with [`PrimFlags::TEMPORARY`].
    ///
    /// # Errors
    /// [`ObjectError::Twice`], [`ObjectError::Full`].
    #[cfg(test)]
    pub(crate) fn insert(&mut self, motion: PrimMotion, body: Arc<Body>) -> Result<LocalId, ObjectError> {
        self.insert_linkset(vec![(motion, VersionedBody { version: 1, body })])
    }

    /// Adds a linkset, its root first, with the others' places relative to it; parents and numbers are set here. The local ids are those of temporary
    /// objects if the root is one. Returns that of the root.
    ///
    /// # Errors
    /// [`ObjectError::Unknown`] without a root, [`ObjectError::TooManyParts`], [`ObjectError::Twice`], [`ObjectError::Full`]; nothing is added then.
    pub(crate) fn insert_linkset(
        &mut self,
        prims: Vec<(PrimMotion, VersionedBody)>,
    ) -> Result<LocalId, ObjectError> {
        let (first, _) = prims.first().ok_or(ObjectError::Unknown)?;
        let is_temporary = first.flags.any(PrimFlags::TEMPORARY);
        self.insert_below(prims, LocalId(0), is_temporary)
    }

    /// The same below this parent: an avatar, or nothing.
    fn insert_below(
        &mut self,
        prims: Vec<(PrimMotion, VersionedBody)>,
        above: LocalId,
        is_temporary: bool,
    ) -> Result<LocalId, ObjectError> {
        if prims.len() > LINK_MAX {
            return Err(ObjectError::TooManyParts);
        }
        let mut new = BTreeSet::new();
        let mut is_new = |id| !self.by_id.contains_key(&id) && new.insert(id);
        if !prims.iter().all(|(_, versioned)| is_new(versioned.body.id)) {
            return Err(ObjectError::Twice);
        }
        let ids = if is_temporary { &mut self.temporary } else { &mut self.kept };
        if !ids.has_room(prims.len(), self.now_ns) {
            return Err(ObjectError::Full);
        }
        let taken: Vec<LocalId> = prims.iter().map_while(|_| ids.take(self.now_ns)).collect();
        let (&root, parts) = taken.split_first().expect("a linkset has a root");
        for ((&id, number), (motion, versioned)) in taken.iter().zip(0_u8..=u8::MAX).zip(prims) {
            let parent = if number == 0 { above } else { root };
            let motion = PrimMotion { parent, link_number: number, ..motion };
            self.by_id.insert(versioned.body.id, id);
            self.touch(id);
            self.journal.note_absent(id);
            self.counts.add(motion.flags);
            self.long.note(id, &versioned.body);
            let former = self.pages.insert(id, motion, versioned, &mut self.pool);
            assert!(former.is_none(), "a local id has one prim");
            self.changes.mark(self.kept.range().start, id, ObjectMask::CREATED);
        }
        if !parts.is_empty() {
            self.parts.insert(root, parts.to_vec());
        }
        if above != LocalId(0) {
            let worn = self.worn.entry(above).or_default();
            worn.insert(worn.partition_point(|&other| other < root), root);
        }
        Ok(root)
    }

    /// Gives a linkset of temporary objects local ids of kept ones, and takes the flag from its prims. Returns the root's new id. Readers of frames
    /// see it go and come.
    ///
    /// # Errors
    /// [`ObjectError::Unknown`] if it is no root, [`ObjectError::Full`]; nothing changes then.
    pub(crate) fn keep(&mut self, root: LocalId) -> Result<LocalId, ObjectError> {
        if self.root_of(root) != Some(root) {
            return Err(ObjectError::Unknown);
        }
        let prims: Vec<_> = self.linkset(root).filter_map(|id| self.prim(id)).collect();
        if !self.kept.has_room(prims.len(), self.now_ns) {
            return Err(ObjectError::Full);
        }
        let is_kept = |flags: PrimFlags| flags.with(PrimFlags::TEMPORARY, PrimFlags::default());
        let prims = prims
            .into_iter()
            .map(|(motion, body)| (PrimMotion { flags: is_kept(motion.flags), ..motion }, body))
            .collect();
        self.remove(root)?;
        self.insert_linkset(prims)
    }

    /// Removes a linkset with all its prims. A part goes alone, and the others are numbered anew.
    ///
    /// # Errors
    /// [`ObjectError::Unknown`].
    pub(crate) fn remove(&mut self, id: LocalId) -> Result<(), ObjectError> {
        let root = self.root_of(id).ok_or(ObjectError::Unknown)?;
        if root == id {
            for part in self.parts.remove(&root).unwrap_or_default() {
                self.take_out(part);
            }
        } else {
            self.part_from(root, id);
        }
        self.take_out(id);
        Ok(())
    }

    /// Gives a prim another place or movement.
    ///
    /// # Errors
    /// [`ObjectError::Unknown`].
    pub(crate) fn set_motion(&mut self, id: LocalId, motion: link::Motion) -> Result<(), ObjectError> {
        self.before_change(id, ObjectMask::MOTION)?;
        self.pages.motion_mut(id, &mut self.pool).ok_or(ObjectError::Unknown)?.motion = motion;
        Ok(())
    }

    /// Gives a prim other flags. Its version rises, since clients' caches have them.
    ///
    /// # Errors
    /// [`ObjectError::Unknown`].
    pub(crate) fn set_flags(&mut self, id: LocalId, flags: PrimFlags) -> Result<(), ObjectError> {
        let former = self.pages.motion(id).ok_or(ObjectError::Unknown)?.flags;
        if former == flags {
            return Ok(());
        }
        self.before_change(id, ObjectMask::FLAGS)?;
        self.pages.motion_mut(id, &mut self.pool).ok_or(ObjectError::Unknown)?.flags = flags;
        self.counts.remove(former);
        self.counts.add(flags);
        self.raise_version(id);
        Ok(())
    }

    /// Changes a prim's body, whose version rises. Only with [`ObjectMask::CONTENTS`] may the change concern its items.
    ///
    /// # Errors
    /// [`ObjectError::Unknown`].
    ///
    /// # Panics
    /// If the change gives it another id.
    pub(crate) fn edit_body(
        &mut self,
        id: LocalId,
        mask: ObjectMask,
        edit: impl FnOnce(&mut Body),
    ) -> Result<(), ObjectError> {
        self.before_change(id, mask)?;
        let versioned = self.pages.body_mut(id).ok_or(ObjectError::Unknown)?;
        let former = versioned.body.id;
        edit(Arc::make_mut(&mut versioned.body));
        assert_eq!(versioned.body.id, former, "a prim keeps its id");
        raise(versioned, self.version_floor);
        if mask.any(ObjectMask::CONTENTS) {
            self.long.note(id, &versioned.body);
        }
        Ok(())
    }

    /// Counts the time of a step.
    pub(crate) const fn pass(&mut self, dt_ns: u64) {
        self.now_ns += dt_ns;
    }

    /// Hash of all objects as of the last frame.
    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// Ends the existence of a prim that no linkset refers to any more.
    fn take_out(&mut self, id: LocalId) {
        self.take_off(id);
        let Some((motion, body)) = self.pages.motion(id).zip(self.pages.body(id)) else { return };
        let former_hash = prim_hash(id, motion, body, self.long.hash(id));
        self.counts.remove(motion.flags);
        let mark = std::mem::take(mark_of(&mut self.changes.marks, self.kept.range().start, id));
        self.journal.note(id, mark, ObjectMask::CREATED, motion, body);
        if mark == ObjectMask::default() {
            self.hash = self.hash.wrapping_sub(former_hash);
        }
        if mark != ObjectMask::CREATED {
            self.changes.removed.push(id);
        }
        if let Some(body) = self.pages.remove(id, &mut self.pool) {
            self.by_id.remove(&body.body.id);
        }
        self.long.forget(id);
        let is_kept = self.kept.range().contains(&id.0);
        let ids = if is_kept { &mut self.kept } else { &mut self.temporary };
        ids.give_back(id, self.now_ns);
        self.touch(id);
    }
}
