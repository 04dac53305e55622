//! Store of colliders: the prims of a region by local id, in a grid.
//!
//! Memory: about 190 bytes a prim beside its shared mesh (box 24, collider 96, id and kind 8, index by id 30, four cells 32), 32 bytes a cell,
//! 128 KiB for a region of 256 m, and 56 KiB for the last changes. Insertion, removal and relocation cost time in proportion to the cells that they touch, at most 25 fine
//! ones, or coarse ones: 9 for a prim of 64 m, 64 for one of 256 m. It grows with the colliders of those cells.

mod collider;
mod grid;
#[cfg(test)]
mod tests;

pub(crate) use collider::{Collider, PlacedSolid};
pub use collider::{ColliderError, Placement};

use crate::bounds::{Aabb, OrientedBox};
use crate::shape::{Geometry, Segment};
use glam::{Quat, Vec3};
use grid::CellGrid;
use ids::LocalId;
use std::collections::{BTreeMap, VecDeque};

/// Changes that are remembered with their places, for bodies. One that is further behind counts all colliders as changed.
const CHANGES_MAX: usize = 2_048;
/// Width of a cell, metres.
const FINE_M: f32 = 4.0;
/// Wider colliders are in the coarse grid, metres.
const FINE_MAX_M: f32 = 16.0;
/// Width of a coarse cell, metres.
const COARSE_M: f32 = 64.0;
/// Rays are cut off so far beyond the region's border, metres.
const RAY_MARGIN_M: f32 = 128.0;

/// Effect of a collider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColliderKind {
    /// It stops avatars, and rays hit it.
    Solid,
    /// Rays hit it, avatars pass through it.
    Phantom,
}

/// A hit of a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// The prim.
    pub id: LocalId,
    /// Metres from the region's corner.
    pub point: Vec3,
    /// Unit vector out of the prim.
    pub normal: Vec3,
    /// Metres from the begin of the ray.
    pub distance: f32,
    /// Number of the face, as viewers count. For sculpts and meshes 0, and while they are boxes that of the box.
    pub face: u8,
}

/// Colliders of a region.
#[derive(Debug)]
pub struct Colliders {
    size_m: u32,
    fine: CellGrid,
    coarse: CellGrid,
    /// Number of changes.
    version: u64,
    slots: BTreeMap<LocalId, u32>,
    free: Vec<u32>,
    /// By slot; apart from the rest, since most queries need no more.
    bounds: Vec<Aabb>,
    labels: Vec<(LocalId, ColliderKind)>,
    colliders: Vec<Option<Collider>>,
    /// The last changes, the newest last: each version is one.
    changes: VecDeque<ColliderChange>,
}

/// A change of a collider.
#[derive(Clone, Copy, Debug)]
struct ColliderChange {
    id: LocalId,
    /// Box around its place, before and after the change.
    area: Aabb,
}

impl Colliders {
    /// A store without colliders for a region of this width.
    #[must_use]
    pub fn new(size_m: u32) -> Self {
        Self {
            size_m,
            fine: CellGrid::new(size_m, FINE_M),
            coarse: CellGrid::new(size_m, COARSE_M),
            version: 0,
            slots: BTreeMap::new(),
            free: Vec::new(),
            bounds: Vec::new(),
            labels: Vec::new(),
            colliders: Vec::new(),
            changes: VecDeque::new(),
        }
    }

    /// Adds a prim, in place of a former one with this id. A geometry that collides with nothing only removes that.
    ///
    /// # Errors
    /// [`ColliderError`]; nothing changes then.
    pub fn insert(
        &mut self,
        id: LocalId,
        kind: ColliderKind,
        geometry: &Geometry,
        placement: &Placement,
    ) -> Result<(), ColliderError> {
        let collider = Collider::new(geometry, placement)?;
        self.remove(id);
        let Some(collider) = collider else { return Ok(()) };
        let bounds = collider.oriented_box().aabb();
        let slot = self.free.pop().unwrap_or(self.bounds.len() as u32);
        let place = slot as usize;
        if place == self.bounds.len() {
            self.bounds.push(bounds);
            self.labels.push((id, kind));
            self.colliders.push(Some(collider));
        } else {
            (self.bounds[place], self.labels[place]) = (bounds, (id, kind));
            self.colliders[place] = Some(collider);
        }
        self.slots.insert(id, slot);
        let version = self.note_change(id, bounds);
        let grid = self.grid_mut(&bounds);
        grid.insert(slot, &grid.range(&bounds), version);
        Ok(())
    }

    /// Removes a prim; false if it is not there.
    pub fn remove(&mut self, id: LocalId) -> bool {
        let Some(slot) = self.slots.remove(&id) else { return false };
        let bounds = self.bounds[slot as usize];
        let version = self.note_change(id, bounds);
        let grid = self.grid_mut(&bounds);
        grid.remove(slot, &grid.range(&bounds), version);
        self.colliders[slot as usize] = None;
        self.free.push(slot);
        true
    }

    /// Moves a prim that keeps its form, size and kind; false if it is not there.
    ///
    /// # Errors
    /// [`ColliderError`]; nothing changes then.
    pub fn relocate(&mut self, id: LocalId, position: Vec3, rotation: Quat) -> Result<bool, ColliderError> {
        let Some(&slot) = self.slots.get(&id) else { return Ok(false) };
        let collider = self.colliders[slot as usize].as_mut().expect("an id stands for a collider");
        let before = self.bounds[slot as usize];
        collider.relocate(position, rotation)?;
        let after = collider.oriented_box().aabb();
        self.bounds[slot as usize] = after;
        let version =
            self.note_change(id, Aabb { low: before.low.min(after.low), high: before.high.max(after.high) });
        let stays = is_fine(&before) == is_fine(&after) && {
            let grid = self.grid_mut(&before);
            grid.range(&before) == grid.range(&after)
        };
        if stays {
            let grid = self.grid_mut(&after);
            grid.touch(&grid.range(&after), version);
        } else {
            let grid = self.grid_mut(&before);
            grid.remove(slot, &grid.range(&before), version);
            let grid = self.grid_mut(&after);
            grid.insert(slot, &grid.range(&after), version);
        }
        Ok(true)
    }

    /// Gives a prim another kind; false if it is not there or has this one.
    pub fn set_kind(&mut self, id: LocalId, kind: ColliderKind) -> bool {
        let Some(&slot) = self.slots.get(&id) else { return false };
        let place = slot as usize;
        if self.labels[place].1 == kind {
            return false;
        }
        self.labels[place].1 = kind;
        let bounds = self.bounds[place];
        let version = self.note_change(id, bounds);
        let grid = self.grid_mut(&bounds);
        grid.touch(&grid.range(&bounds), version);
        true
    }

    /// Number of colliders.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True without colliders.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The box around a prim, along its own axes; `None` if it is not there.
    #[must_use]
    pub fn oriented_box(&self, id: LocalId) -> Option<OrientedBox> {
        self.slots.get(&id).map(|&slot| self.collider(slot).oriented_box())
    }

    /// Ids of the colliders whose boxes overlap a box, ascending.
    #[must_use]
    pub fn ids_in(&self, area: &Aabb) -> Vec<LocalId> {
        let mut found = Vec::new();
        self.each_in(area, |slot, _| found.push(self.label(slot).0));
        found.sort_unstable();
        found
    }

    /// The nearest hit of the ray between two points, among the colliders that `takes` accepts. A ray that begins inside a solid leaves it without a
    /// hit. `None` also for points that are not finite. Parts farther than 128 m beyond the border count for nothing.
    #[must_use]
    pub fn cast_ray(
        &self,
        from: Vec3,
        to: Vec3,
        mut takes: impl FnMut(LocalId, ColliderKind) -> bool,
    ) -> Option<RayHit> {
        if !from.is_finite() || !to.is_finite() {
            return None;
        }
        let whole = Segment { from, way: to - from };
        let (enter, leave) = self.within_reach(&whole)?;
        let segment = Segment { from: from + whole.way * enter, way: whole.way * (leave - enter) };
        let mut nearest: Option<(f32, RayHit)> = None;
        for grid in [&self.fine, &self.coarse] {
            let most = nearest.map_or(1.0, |(share, _)| share);
            grid.walk(segment.from.truncate(), segment.way.truncate(), most, |slot, most| {
                if !segment.meets(&self.bounds[slot as usize], most) {
                    return most;
                }
                let (id, kind) = self.label(slot);
                let Some(hit) = self.collider(slot).cast(&segment, most) else { return most };
                // Of two in one place the one with the lower id, whatever the order in which they came.
                let is_nearer = nearest.is_none_or(|(share, other)| (hit.share, id) < (share, other.id));
                if !is_nearer || !takes(id, kind) {
                    return most;
                }
                let point = segment.from + segment.way * hit.share;
                let hit_there =
                    RayHit { id, point, normal: hit.normal, distance: point.distance(from), face: hit.face };
                nearest = Some((hit.share, hit_there));
                hit.share
            });
        }
        nearest.map(|(_, hit)| hit)
    }

    /// Bytes on the heap, without meshes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // A node of the index has room for eleven entries, of which two thirds are in use.
        let index = self.slots.len() * size_of::<(LocalId, u32)>() * 3 / 2;
        self.fine.bytes()
            + self.coarse.bytes()
            + index
            + self.free.capacity() * size_of::<u32>()
            + self.bounds.capacity() * size_of::<Aabb>()
            + self.labels.capacity() * size_of::<(LocalId, ColliderKind)>()
            + self.changes.capacity() * size_of::<ColliderChange>()
            + self.colliders.capacity() * size_of::<Option<Collider>>()
    }

    /// Number of changes so far.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// True if a collider in a box may have changed after a version.
    pub(crate) fn has_changed(&self, area: &Aabb, version: u64) -> bool {
        self.fine.has_changed(area, version) || self.coarse.has_changed(area, version)
    }

    /// Prims whose colliders have changed after a version, with the places before and after the change; `None` if that is too long ago.
    pub(crate) fn changed_since(&self, version: u64) -> Option<impl Iterator<Item = (LocalId, Aabb)>> {
        let n_new = usize::try_from(self.version.checked_sub(version)?).ok()?;
        let from = self.changes.len().checked_sub(n_new)?;
        Some(self.changes.range(from..).map(|change| (change.id, change.area)))
    }

    /// Remembers a change; its version.
    fn note_change(&mut self, id: LocalId, area: Aabb) -> u64 {
        if self.changes.len() == CHANGES_MAX {
            self.changes.pop_front();
        }
        self.changes.push_back(ColliderChange { id, area });
        self.version += 1;
        self.version
    }

    /// Visits each collider whose box overlaps a box, with its slot.
    pub(crate) fn each_in(&self, area: &Aabb, mut visit: impl FnMut(u32, Aabb)) {
        for grid in [&self.fine, &self.coarse] {
            grid.each_in(area, |slot| self.bounds[slot as usize], &mut visit);
        }
    }

    /// Slot of a prim.
    pub(crate) fn slot_of(&self, id: LocalId) -> Option<u32> {
        self.slots.get(&id).copied()
    }

    /// The box around the collider in a slot.
    pub(crate) fn bounds(&self, slot: u32) -> &Aabb {
        &self.bounds[slot as usize]
    }

    pub(crate) fn label(&self, slot: u32) -> (LocalId, ColliderKind) {
        self.labels[slot as usize]
    }

    pub(crate) fn collider(&self, slot: u32) -> &Collider {
        self.colliders[slot as usize].as_ref().expect("a listed slot has a collider")
    }

    fn grid_mut(&mut self, bounds: &Aabb) -> &mut CellGrid {
        if is_fine(bounds) { &mut self.fine } else { &mut self.coarse }
    }

    /// Shares between which a segment is near the region.
    fn within_reach(&self, segment: &Segment) -> Option<(f32, f32)> {
        let (low, high) = (-RAY_MARGIN_M, self.size_m as f32 + RAY_MARGIN_M);
        let (mut enter, mut leave) = (0.0_f32, 1.0_f32);
        for axis in 0..2 {
            let (from, way) = (segment.from[axis], segment.way[axis]);
            if way == 0.0 {
                if from < low || from > high {
                    return None;
                }
                continue;
            }
            let (a, b) = ((low - from) / way, (high - from) / way);
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        }
        (enter <= leave).then_some((enter, leave))
    }
}

fn is_fine(bounds: &Aabb) -> bool {
    (bounds.high - bounds.low).truncate().max_element() <= FINE_MAX_M
}
