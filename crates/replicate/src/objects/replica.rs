//! Objects of a replica: entries by local id, grids of their places, and a ring of their last changes.

use super::counts::PrimCounts;
use super::encoder::{EncodedObject, EncodedPage, ObjectEntry};
use super::grid::{PlacedObject, SizeGrids};
use super::movers::{Mover, Movers};
use glam::Vec3;
use ids::{LocalId, Uuid};
use link::{Motion, PAGE_PRIMS, index_in_page, page_of};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Changes that the ring remembers. A client that is further behind compares all objects that it was sent.
const RING_MAX: usize = 4_096;
/// Movers filed under another place that a replica remembers. A client that is further behind searches its surroundings.
const FILED_MAX: usize = 4_096;

/// Objects of one world, encoded.
#[derive(Clone, Debug)]
pub struct ObjectReplica {
    pages: BTreeMap<LocalId, Page>,
    grids: SizeGrids,
    by_id: PrimIds,
    counts: PrimCounts,
    /// Prims that changed, the newest last. A prim is in it once for each change.
    ring: VecDeque<LocalId>,
    /// Changes since the beginning: the number of the next one.
    n_changes: u64,
    /// Movers that were filed under another place, the newest last.
    filed: VecDeque<LocalId>,
    /// Those since the beginning.
    n_filed: u64,
    n_prims: usize,
    movers: Movers,
    /// Prims of the linksets that each avatar wears. They are in no grid.
    worn: BTreeMap<LocalId, BTreeSet<LocalId>>,
}

/// Place under which a prim is found.
#[derive(Clone, Copy, Debug)]
struct FiledAt {
    wearer: Option<LocalId>,
    position: Vec3,
    radius_m: f32,
}

impl FiledAt {
    const fn of(entry: &ObjectEntry) -> Self {
        Self { wearer: entry.wearer, position: entry.position, radius_m: entry.radius_m }
    }

    const fn place(&self) -> (Vec3, f32) {
        (self.position, self.radius_m)
    }
}

#[derive(Clone, Debug)]
struct Page {
    entries: Arc<[Option<ObjectEntry>; PAGE_PRIMS]>,
    /// Number of the last change of each place.
    changed: Arc<[u64; PAGE_PRIMS]>,
}

/// Prims by id, in shards of neighbouring hashes: a copy of the map shares the shards that do not change.
#[derive(Clone, Debug, Default)]
struct PrimIds(BTreeMap<u8, Arc<BTreeMap<Uuid, LocalId>>>);

impl PrimIds {
    fn get(&self, id: Uuid) -> Option<LocalId> {
        self.0.get(&Self::shard(id))?.get(&id).copied()
    }

    fn insert(&mut self, id: Uuid, local: LocalId) {
        Arc::make_mut(self.0.entry(Self::shard(id)).or_default()).insert(id, local);
    }

    /// Removes a prim, unless another place has its id by now.
    fn remove(&mut self, id: Uuid, local: LocalId) {
        if let Some(shard) = self.0.get_mut(&Self::shard(id)).filter(|shard| shard.get(&id) == Some(&local)) {
            Arc::make_mut(shard).remove(&id);
        }
    }

    /// Ids are random, apart from those of scattered content, which count in their lower half.
    const fn shard(id: Uuid) -> u8 {
        let (high, low) = id.as_u64_pair();
        (state_hash::mix(high ^ low) >> 56) as u8
    }
}

impl ObjectReplica {
    /// No objects, in a region of `size_m` along a side.
    #[must_use]
    pub fn new(size_m: f32) -> Self {
        Self {
            pages: BTreeMap::new(),
            grids: SizeGrids::new(size_m),
            by_id: PrimIds::default(),
            counts: PrimCounts::new(size_m),
            ring: VecDeque::new(),
            n_changes: 0,
            filed: VecDeque::new(),
            n_filed: 0,
            n_prims: 0,
            movers: Movers::default(),
            worn: BTreeMap::new(),
        }
    }

    /// A prim.
    #[must_use]
    pub fn get(&self, id: LocalId) -> Option<&ObjectEntry> {
        self.pages.get(&page_of(id))?.entries[index_in_page(id)].as_ref()
    }

    /// Place and rotation of a prim in the region.
    #[must_use]
    pub fn motion_in_region(&self, entry: &ObjectEntry) -> Motion {
        let part = entry.prim.motion;
        let Some(root) = self.get(entry.prim.parent) else { return part };
        let root = root.prim.motion;
        Motion {
            position: root.position + root.rotation * part.position,
            rotation: (root.rotation * part.rotation).normalize(),
            ..root
        }
    }

    /// Local id of a prim.
    #[must_use]
    pub fn of_id(&self, id: Uuid) -> Option<LocalId> {
        self.by_id.get(id)
    }

    /// All prims, in the order of their local ids.
    pub fn entries(&self) -> impl Iterator<Item = (LocalId, &ObjectEntry)> {
        self.pages.iter().flat_map(|(first, page)| {
            let places = (first.0..).zip(&*page.entries);
            places.filter_map(|(id, entry)| Some((LocalId(id), entry.as_ref()?)))
        })
    }

    /// Numbers of prims by place and owner.
    #[must_use]
    pub const fn counts(&self) -> &PrimCounts {
        &self.counts
    }

    /// Number of prims.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.n_prims
    }

    /// True without prims.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n_prims == 0
    }

    /// Changes since the beginning, the steps of a movement apart.
    #[must_use]
    pub const fn n_changes(&self) -> u64 {
        self.n_changes
    }

    /// Prims that changed since there were `n_changes` changes; `None` if the ring does not reach back so far.
    pub(crate) fn changed_since(&self, n_changes: u64) -> Option<impl Iterator<Item = LocalId>> {
        let n_new = usize::try_from(self.n_changes.checked_sub(n_changes)?).ok()?;
        let from = self.ring.len().checked_sub(n_new)?;
        Some(self.ring.range(from..).copied())
    }

    /// Movers filed under another place since the beginning.
    pub(crate) const fn n_filed(&self) -> u64 {
        self.n_filed
    }

    /// Movers filed under another place since there were `n_filed` of them; `None` if that is too long ago.
    pub(crate) fn filed_since(&self, n_filed: u64) -> Option<impl Iterator<Item = LocalId>> {
        let n_new = usize::try_from(self.n_filed.checked_sub(n_filed)?).ok()?;
        let from = self.filed.len().checked_sub(n_new)?;
        Some(self.filed.range(from..).copied())
    }

    /// True if a prim has changed, come or gone since there were `n_changes` changes.
    pub(crate) fn has_changed_since(&self, id: LocalId, n_changes: u64) -> bool {
        self.pages.get(&page_of(id)).is_none_or(|page| page.changed[index_in_page(id)] >= n_changes)
    }

    /// Hands out all prims no further from a place than `beyond_m` more than their reach with `reach_max_m` ([`PlacedObject::reach_m`]), and some more.
    pub(crate) fn around(
        &self,
        eye: Vec3,
        [reach_max_m, beyond_m]: [f32; 2],
        take: impl FnMut(&PlacedObject),
    ) {
        self.grids.around(eye, [reach_max_m, beyond_m], take);
    }

    /// True if an avatar wears something.
    #[must_use]
    pub fn is_any_worn(&self) -> bool {
        !self.worn.is_empty()
    }

    /// Prims that an avatar wears.
    pub fn worn_by(&self, wearer: LocalId) -> impl Iterator<Item = LocalId> {
        self.worn.get(&wearer).into_iter().flatten().copied()
    }

    /// Prims that move, or have until lately, in the order of their ids.
    #[must_use]
    pub fn movers(&self) -> &[Mover] {
        self.movers.list()
    }

    /// A prim that moves, or has until lately.
    #[must_use]
    pub fn mover(&self, id: LocalId) -> Option<&Mover> {
        self.movers.get(id)
    }

    /// Beginnings of movements so far.
    pub(crate) const fn n_arrivals(&self) -> u64 {
        self.movers.n_arrivals()
    }

    /// Prims that began to move since there were `n_arrivals` of them; `None` if that is too long ago.
    pub(crate) fn arrived_since(&self, n_arrivals: u64) -> Option<impl Iterator<Item = LocalId>> {
        self.movers.arrived_since(n_arrivals)
    }

    /// Applies a change of this tick, low 32 bits.
    pub(crate) fn apply(&mut self, tick: u32, change: &EncodedObject) {
        match change {
            EncodedObject::Pages(pages) => pages.iter().for_each(|page| self.put_page(page)),
            EncodedObject::Set(id, entry) => self.put(*id, Some(entry.clone())),
            EncodedObject::Moved(moved) => {
                if let Some(entry) = self.entry_mut(moved.id) {
                    entry.prim = moved.prim;
                    self.movers.put(tick, moved);
                }
            }
            EncodedObject::Filed(id, place) => self.file(*id, *place),
            EncodedObject::Settled(id) => self.movers.remove(*id),
            EncodedObject::Removed(id) => self.put(*id, None),
        }
    }

    fn entry_mut(&mut self, id: LocalId) -> Option<&mut ObjectEntry> {
        let page = self.pages.get_mut(&page_of(id))?;
        Arc::make_mut(&mut page.entries)[index_in_page(id)].as_mut()
    }

    /// Files a prim under another place.
    fn file(&mut self, id: LocalId, place: Vec3) {
        let Some(entry) = self.entry_mut(id) else { return };
        let (former, radius_m) = (std::mem::replace(&mut entry.position, place), entry.radius_m);
        if entry.wearer.is_some() {
            return;
        }
        let ownership = Arc::clone(&entry.body.ownership);
        self.counts.refile(&ownership, former, place);
        self.grids.remove(id, former, radius_m);
        self.grids.insert(id, place, radius_m);
        if self.filed.len() == FILED_MAX {
            self.filed.pop_front();
        }
        self.filed.push_back(id);
        self.n_filed += 1;
    }

    /// Removes prims whose pages are absent from a snapshot. Prims that are in it stay as they are for clients, unless they differ.
    pub(crate) fn remove_absent(&mut self, snapshot: &[EncodedObject]) {
        let pages = snapshot.iter().filter_map(|change| match change {
            EncodedObject::Pages(pages) => Some(pages),
            EncodedObject::Set(..)
            | EncodedObject::Moved(_)
            | EncodedObject::Filed(..)
            | EncodedObject::Settled(_)
            | EncodedObject::Removed(_) => None,
        });
        self.movers.clear();
        let present: BTreeSet<LocalId> = pages.flatten().map(|page| page.first).collect();
        let absent: Vec<LocalId> = self.ids().filter(|&id| !present.contains(&page_of(id))).collect();
        absent.into_iter().for_each(|id| self.put(id, None));
    }

    fn ids(&self) -> impl Iterator<Item = LocalId> {
        self.entries().map(|(id, _)| id)
    }

    /// Takes a page over, whose memory it shares with the other copy of the replica from now on.
    fn put_page(&mut self, page: &EncodedPage) {
        let former = self.pages.get(&page.first).map(|page| Arc::clone(&page.entries));
        let mut changed = self.pages.get(&page.first).map_or([0; PAGE_PRIMS], |page| *page.changed);
        for (index, id) in (0..PAGE_PRIMS).zip(page.first.0..) {
            let before = former.as_ref().and_then(|entries| entries[index].as_ref());
            let after = page.entries[index].as_ref();
            self.counts.replace(before, after);
            let is_same = match (before, after) {
                (Some(before), Some(after)) => before.shows_the_same_as(after),
                (before, after) => before.is_none() && after.is_none(),
            };
            if is_same {
                continue;
            }
            if let Some(before) = before {
                self.unfile(LocalId(id), FiledAt::of(before));
                if after.is_none() {
                    self.movers.remove(LocalId(id));
                }
                self.by_id.remove(before.body.id, LocalId(id));
                self.n_prims -= 1;
            }
            if let Some(after) = after {
                self.refile(LocalId(id), FiledAt::of(after));
                self.by_id.insert(after.body.id, LocalId(id));
                self.n_prims += 1;
            }
            changed[index] = self.note(LocalId(id));
        }
        let page_of_it = Page { entries: Arc::clone(&page.entries), changed: Arc::new(changed) };
        self.pages.insert(page.first, page_of_it);
    }

    fn put(&mut self, id: LocalId, entry: Option<ObjectEntry>) {
        if entry.is_none() {
            self.movers.remove(id);
        }
        // A linkset is encoded as a whole when a prim of it changes: clients are sent those that look otherwise.
        let is_same = |(former, new): (&ObjectEntry, &ObjectEntry)| {
            former.wearer == new.wearer && former.shows_the_same_as(new) && self.movers.get(id).is_none()
        };
        let is_same = self.get(id).zip(entry.as_ref()).is_some_and(is_same);
        let number = (!is_same).then(|| self.note(id));
        let page = self.pages.entry(page_of(id)).or_insert_with(|| Page {
            entries: Arc::new([const { None }; PAGE_PRIMS]),
            changed: Arc::new([0; PAGE_PRIMS]),
        });
        if let Some(number) = number {
            Arc::make_mut(&mut page.changed)[index_in_page(id)] = number;
        }
        let place = &mut Arc::make_mut(&mut page.entries)[index_in_page(id)];
        let former = std::mem::replace(place, entry);
        self.counts.replace(former.as_ref(), place.as_ref());
        let (before, now) = (former.as_ref().map(FiledAt::of), place.as_ref().map(FiledAt::of));
        let ids = (former.map(|entry| entry.body.id), place.as_ref().map(|entry| entry.body.id));
        if ids.0 != ids.1 {
            ids.0.into_iter().for_each(|former| self.by_id.remove(former, id));
            ids.1.into_iter().for_each(|new| self.by_id.insert(new, id));
        }
        if let Some((before, now)) = before.zip(now)
            && before.wearer == now.wearer
            && (now.wearer.is_some() || before.place() == now.place())
        {
            return;
        }
        if let Some(before) = before {
            self.unfile(id, before);
            self.n_prims -= 1;
        }
        if let Some(now) = now {
            self.refile(id, now);
            self.n_prims += 1;
        }
    }

    /// Takes a prim out of the grids, or from its wearer.
    fn unfile(&mut self, id: LocalId, at: FiledAt) {
        let Some(wearer) = at.wearer else {
            self.grids.remove(id, at.position, at.radius_m);
            return;
        };
        if let Some(worn) = self.worn.get_mut(&wearer) {
            worn.remove(&id);
            if worn.is_empty() {
                self.worn.remove(&wearer);
            }
        }
    }

    fn refile(&mut self, id: LocalId, at: FiledAt) {
        match at.wearer {
            Some(wearer) => drop(self.worn.entry(wearer).or_default().insert(id)),
            None => self.grids.insert(id, at.position, at.radius_m),
        }
    }

    /// Puts a change into the ring; its number.
    fn note(&mut self, id: LocalId) -> u64 {
        if self.ring.len() == RING_MAX {
            self.ring.pop_front();
        }
        self.ring.push_back(id);
        self.n_changes += 1;
        self.n_changes - 1
    }
}
