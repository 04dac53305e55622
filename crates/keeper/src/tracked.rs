//! Tracked objects of a region: the newest state of each object in the frames, and the set of unsaved changes.

use crate::batch_rows::{OnDisk, SPARE_PRIMS_MAX, Values};
use crate::load::{RegionIds, RowContents};
use crate::movers::{Mover, Movers};
use crate::rows::{RegionState, state_len};
use crate::unsaved::Unsaved;
use crate::used_ids::UsedIds;
use ids::{Instant, LocalId, Uuid};
use link::{ObjectChange, ObjectPage, PAGE_PRIMS, PrimFlags, PrimMotion, RestingIds, VersionedBody};
use std::collections::{BTreeMap, BTreeSet};
use store::RegionChanges;

/// An object with its position, as in frames.
pub(crate) type SeenPrim<'a> = (LocalId, &'a PrimMotion, &'a VersionedBody);

/// Known objects that a complete state must contain, with equal local ids and ids; otherwise the state is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Required {
    /// No object: the world may have lost all of them.
    Nothing,
    /// At least one known object.
    One,
    /// All known objects.
    All,
}

/// The objects of a region, and removed objects whose rows may still exist.
#[derive(Debug)]
pub(crate) struct TrackedObjects {
    ids: RegionIds,
    objects: BTreeMap<LocalId, Tracked>,
    unsaved: Unsaved,
    movers: Movers,
    /// Local ids of objects that are not stored.
    unkept: BTreeSet<LocalId>,
    kept_ids: UsedIds,
    temporary_ids: UsedIds,
    /// World time, nanoseconds.
    now_ns: u64,
    /// Buffer for an object's encoded values.
    values: Values,
    /// Buffer for the objects of a batch.
    changed: Vec<ChangedPrim>,
    /// Buffer for the moving objects of a batch.
    due: Vec<(LocalId, Mover)>,
}

/// An unsaved object: its position, or `None` if it is removed, and the due time of its save if it is in motion.
type ChangedPrim = (LocalId, Option<PrimMotion>, Option<Instant>);

#[derive(Debug)]
struct Tracked {
    /// The newest body; `None` if the object is removed.
    body: Option<VersionedBody>,
    disk: OnDisk,
}

/// An object of a batch.
#[derive(Debug)]
pub(crate) struct Flown {
    /// `None` if the object is removed.
    place: Option<PrimMotion>,
    /// Rows of the object after the batch.
    disk: OnDisk,
    /// Due time of the save of an object in motion.
    due_at: Option<Instant>,
}

/// Objects of a batch, in the order of their local ids.
pub(crate) type FlownObjects = Vec<(LocalId, Flown)>;

impl TrackedObjects {
    /// Creates the table from stored objects, each with its body and the contents of its rows, or `None` for unreadable rows.
    pub(crate) fn new(
        ids: &RegionIds,
        rows: Vec<(LocalId, Option<(VersionedBody, RowContents)>)>,
        state: &RegionState,
        moving_bytes_per_s: u64,
    ) -> Self {
        let objects = rows.into_iter().map(|(id, object)| {
            let object = match object {
                Some((body, contents)) => Tracked { body: Some(body), disk: OnDisk::Rows(contents) },
                None => Tracked { body: None, disk: OnDisk::Unknown },
            };
            (id, object)
        });
        Self {
            objects: objects.collect(),
            unsaved: Unsaved::default(),
            movers: Movers::new(moving_bytes_per_s),
            unkept: BTreeSet::new(),
            kept_ids: UsedIds::new(ids.kept.clone(), &state.kept),
            temporary_ids: UsedIds::new(ids.temporary.clone(), &state.temporary),
            now_ns: state.now_ns,
            values: Values::default(),
            changed: Vec::new(),
            due: Vec::new(),
            ids: ids.clone(),
        }
    }

    /// Adds the time of a frame to the world time.
    pub(crate) fn pass(&mut self, passed: std::time::Duration) {
        self.now_ns = self.now_ns.saturating_add(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) const fn unsaved(&self) -> &Unsaved {
        &self.unsaved
    }

    pub(crate) const fn movers(&self) -> &Movers {
        &self.movers
    }

    /// Changes the bytes per second for rows of moving objects.
    pub(crate) const fn set_moving_rate(&mut self, bytes_per_s: u64) {
        self.movers.set_rate(bytes_per_s);
    }

    /// Number of objects that exist or may have rows.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Applies a change of a frame.
    pub(crate) fn take_change(&mut self, now: Instant, change: &ObjectChange) {
        match change {
            ObjectChange::Removed(id) => self.take_out(now, *id),
            ObjectChange::Pages(pages) => pages.iter().for_each(|page| self.take_page(now, page)),
            ObjectChange::Set { id, motion, body, .. } => self.set(now, *id, motion, body),
            ObjectChange::Moved(id, motion) => self.set_place(now, *id, motion),
        }
    }

    /// Replaces all objects by those of a world. Returns false without effect if the required objects are missing.
    pub(crate) fn take_whole(&mut self, now: Instant, whole: &[SeenPrim<'_>], required: Required) -> bool {
        if required != Required::Nothing && !self.has_required(whole, required) {
            return false;
        }
        let present: BTreeSet<LocalId> = whole.iter().map(|(id, ..)| *id).collect();
        let known = self.objects.iter().filter(|(_, object)| object.body.is_some()).map(|(id, _)| *id);
        let known = known.chain(self.unkept.iter().copied());
        let gone: Vec<LocalId> = known.filter(|id| !present.contains(id)).collect();
        gone.into_iter().for_each(|id| self.take_out(now, id));
        whole.iter().for_each(|(id, place, body)| self.compare(now, *id, place, body));
        true
    }

    /// Moves all unsaved changes into a batch, including the objects in motion whose saves are due, or `all` objects in motion. Rows are added to
    /// `changes` and objects to `flown`, which are both empty before. Returns the time of the first change other than a movement.
    pub(crate) fn take_batch(
        &mut self,
        now: Instant,
        all: bool,
        changes: &mut RegionChanges,
        flown: &mut FlownObjects,
    ) -> Option<Instant> {
        let (places, since) = self.unsaved.take();
        if all {
            self.movers.take_all(&mut self.due);
        } else {
            self.take_due_movers(now);
        }
        let Self { ids, objects, values, changed, due, .. } = self;
        changed.extend(places.into_iter().map(|(id, place)| (id, place, None)));
        // An object is never in both collections: a movement after an edit becomes part of the edit.
        changed.extend(due.drain(..).map(|(id, Mover { motion, due_at })| (id, Some(motion), Some(due_at))));
        changed.sort_unstable_by_key(|&(id, ..)| id);
        for (id, place, due_at) in changed.drain(..) {
            let object = objects.get_mut(&id).expect("an unsaved object is a tracked one");
            let disk = match place.as_ref().zip(object.body.as_ref()) {
                Some((place, body)) => {
                    let contents = values.encode(ids, place, body);
                    values.push_changed(id, contents, object.disk, changes);
                    OnDisk::Rows(contents)
                }
                None => {
                    changes.gone.push(id);
                    OnDisk::Nothing
                }
            };
            if disk != object.disk {
                object.disk = OnDisk::Unknown;
                flown.push((id, Flown { place, disk, due_at }));
            }
        }
        if changed.capacity() > SPARE_PRIMS_MAX {
            (*changed, *due) = (Vec::new(), Vec::new());
        }
        since
    }

    /// Records the rows of an object after its batch is saved.
    pub(crate) fn note_saved(&mut self, id: LocalId, flown: &Flown) {
        let object = self.objects.get_mut(&id).expect("rows are those of a tracked object");
        object.disk = flown.disk;
        if object.body.is_none() && flown.disk == OnDisk::Nothing {
            self.objects.remove(&id);
            self.unsaved.remove(id);
        }
    }

    /// Marks the rows of all objects as unknown.
    pub(crate) fn forget_disk(&mut self) {
        self.objects.values_mut().for_each(|object| object.disk = OnDisk::Unknown);
    }

    /// Marks an object of a failed batch as unsaved again; newer changes take precedence. `since` is the time of the first change of the batch.
    pub(crate) fn put_back(&mut self, id: LocalId, flown: Flown, since: Instant) {
        match (flown.place, flown.due_at) {
            (Some(motion), Some(due_at)) if !self.unsaved.contains(id) => {
                self.movers.put_back(id, Mover { motion, due_at });
            }
            (_, Some(_)) => {}
            (place, None) => {
                // A later movement becomes part of the edit's state.
                let newer = self.movers.remove(id).map(|mover| mover.motion);
                self.unsaved.put_back(id, newer.or(place), since);
            }
        }
    }

    /// True if the objects of a world include the required ones.
    fn has_required(&self, whole: &[SeenPrim<'_>], required: Required) -> bool {
        // An object is identified by local id and id: another world may have assigned the local id to another object.
        let theirs: BTreeMap<LocalId, Uuid> =
            whole.iter().map(|(id, _, versioned)| (*id, versioned.body.id)).collect();
        let ours = self.objects.iter().filter_map(|(id, object)| Some((id, object.body.as_ref()?.body.id)));
        let mut is_there = ours.map(|(id, own)| theirs.get(id) == Some(&own)).peekable();
        match required {
            Required::One if is_there.peek().is_some() => is_there.any(|is_there| is_there),
            Required::Nothing | Required::One => true,
            Required::All => is_there.all(|is_there| is_there),
        }
    }

    /// State of the region apart from its objects.
    pub(crate) fn region_state(&mut self) -> RegionState {
        let Self { unkept, kept_ids, temporary_ids, now_ns, .. } = self;
        let now_ns = *now_ns;
        // Objects that are not stored are missing after the next start, while clients may still show them: their ids must rest.
        let resting = |ids: &mut UsedIds| -> RestingIds {
            let others: Vec<LocalId> = unkept.iter().copied().filter(|id| ids.contains(*id)).collect();
            ids.resting(now_ns, others.into_iter())
        };
        RegionState { now_ns, kept: resting(kept_ids), temporary: resting(temporary_ids) }
    }

    /// Records a new or changed object.
    fn set(&mut self, now: Instant, id: LocalId, place: &PrimMotion, body: &VersionedBody) {
        if !is_kept(&self.ids, id, place) {
            self.forget(now, id);
            self.note_use(id, false);
            return;
        }
        self.note_use(id, true);
        let object = self.objects.entry(id).or_insert(Tracked { body: None, disk: OnDisk::Nothing });
        object.body = Some(body.clone());
        self.movers.remove(id);
        self.unsaved.put(id, Some(*place), now);
    }

    fn set_place(&mut self, now: Instant, id: LocalId, place: &PrimMotion) {
        if self.objects.get(&id).is_none_or(|object| object.body.is_none()) {
            return;
        }
        if !is_kept(&self.ids, id, place) {
            self.forget(now, id);
            self.note_use(id, false);
        } else if place.motion.at_rest() || self.unsaved.contains(id) {
            self.movers.remove(id);
            self.unsaved.put(id, Some(*place), now);
        } else {
            self.movers.put(id, *place, now);
        }
    }

    /// Compares an object with its rows, since its last change is unknown. An object equal to its rows needs no save.
    fn compare(&mut self, now: Instant, id: LocalId, place: &PrimMotion, body: &VersionedBody) {
        let is_pending = self.unsaved.contains(id) || self.movers.contains(id);
        let tracked = self.objects.get_mut(&id).filter(|_| !is_pending && is_kept(&self.ids, id, place));
        if let Some(object) = tracked
            && object.disk == OnDisk::Rows(self.values.encode(&self.ids, place, body))
        {
            object.body = Some(body.clone());
            self.note_use(id, true);
            return;
        }
        self.set(now, id, place, body);
    }

    fn take_page(&mut self, now: Instant, page: &ObjectPage) {
        let ids = page.first..LocalId(page.first.0.saturating_add(PAGE_PRIMS as u32));
        let known = self.objects.range(ids.clone()).filter(|(_, object)| object.body.is_some());
        let known: Vec<LocalId> = known.map(|(id, _)| *id).chain(self.unkept.range(ids).copied()).collect();
        let present: BTreeSet<LocalId> = page.prims().map(|(id, ..)| id).collect();
        known.iter().filter(|id| !present.contains(id)).for_each(|id| self.take_out(now, *id));
        page.prims().for_each(|(id, place, body)| self.compare(now, id, place, body));
    }

    /// Records the removal of an object, and frees its local id.
    fn take_out(&mut self, now: Instant, id: LocalId) {
        self.forget(now, id);
        self.unkept.remove(&id);
        let now_ns = self.now_ns;
        for ids in [&mut self.kept_ids, &mut self.temporary_ids] {
            if ids.contains(id) {
                ids.free(id, now_ns);
            }
        }
    }

    /// Removes an object from the stored ones.
    fn forget(&mut self, now: Instant, id: LocalId) {
        let Some(object) = self.objects.get_mut(&id) else { return };
        if object.body.take().is_none() {
            return;
        }
        self.movers.remove(id);
        if object.disk == OnDisk::Nothing {
            self.objects.remove(&id);
            self.unsaved.remove(id);
        } else {
            self.unsaved.put(id, None, now);
        }
    }

    fn note_use(&mut self, id: LocalId, is_kept: bool) {
        for ids in [&mut self.kept_ids, &mut self.temporary_ids] {
            if ids.contains(id) {
                ids.take(id);
            }
        }
        if is_kept {
            self.unkept.remove(&id);
        } else {
            self.unkept.insert(id);
        }
    }

    fn take_due_movers(&mut self, now: Instant) {
        let Self { objects, movers, due, .. } = self;
        let body_of = |id: LocalId| objects.get(&id).and_then(|object| object.body.as_ref());
        movers.take_due(now, |id| body_of(id).map_or(0, state_len), due);
    }
}

/// True for an object that is stored: it is neither temporary nor worn.
pub(crate) fn is_kept(ids: &RegionIds, id: LocalId, place: &PrimMotion) -> bool {
    let is_worn = place.parent != LocalId(0) && !ids.kept.contains(&place.parent.0);
    ids.kept.contains(&id.0) && !is_worn && !place.flags.any(PrimFlags::TEMPORARY)
}
