//! Places and sizes of prims and linksets, and the way back to former ones.
//!
//! The kinds are those of OpenSimulator's handler of MultipleObjectUpdate:
//!
//! | linked set | uniform | change |
//! |---|---|---|
//! | yes | – | the root's place; all parts follow |
//! | yes, with a size | yes | also sizes and offsets of all prims, by the factors of the root's size |
//! | yes, with a size | no | as without linked set |
//! | no | – | the named prim alone; the parts of a root stay where they are |

use super::editor::{
    Judgement, OFFSET_MAX_M, ObjectEditor, bounded_size, finite, is_temporary, size_range_m, unit_rotation,
};
use super::history::{Direction, KnownPlace};
use crate::objects::relative_to;
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, Uuid};
use link::{EditRefusal, Motion, ObjectMask, Placement};
use prim::Edit;

/// Place of a prim, relative to its root for a part, and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PrimPlace {
    id: LocalId,
    position: Vec3,
    rotation: Quat,
    scale: Vec3,
}

impl ObjectEditor<'_> {
    pub(super) fn place(&mut self, id: LocalId, request: Placement) -> Result<(), EditRefusal> {
        let position = request.position.map(finite).transpose()?;
        let rotation = request.rotation.map(unit_rotation).transpose()?;
        let scale = request.scale.map(finite).transpose()?;
        let judged = self.judge(id)?;
        let range = self.size_range_of(&judged)?;
        let scale = scale.map(|scale| bounded_size(scale, range)).transpose()?;
        let is_of_linkset = request.is_linked_set && (scale.is_none() || request.is_uniform);
        let is_moved = position.is_some() || rotation.is_some();
        // To move one prim of a linkset takes the right to modify.
        let is_changed = scale.is_some() || !is_of_linkset;
        if is_moved && !judged.allows(Edit::Move) || is_changed && !judged.allows(Edit::Modify) {
            return Err(EditRefusal::Rights);
        }
        let target = if is_of_linkset { judged.root } else { id };
        let touches_parts = target == judged.root && if is_of_linkset { scale.is_some() } else { is_moved };
        let prims = if touches_parts { self.linkset(target)? } else { vec![target] };
        let former = self.places_of(&prims)?;
        let mut places = former.clone();
        let first = &mut places[0];
        first.position = position.unwrap_or(first.position);
        first.rotation = rotation.unwrap_or(first.rotation);
        match scale {
            Some(scale) if is_of_linkset => scale_all(&mut places, scale, range),
            _ => places[0].scale = scale.unwrap_or(former[0].scale),
        }
        if touches_parts && !is_of_linkset {
            hold_parts(&former[0], &mut places);
        }
        let is_free = target == judged.root && !judged.is_attached;
        if is_free {
            places[0].position = self.in_region(places[0].position)?;
            self.need_entry(self.counted(&judged), former[0].position, places[0].position)?;
        }
        let is_near = |place: &PrimPlace| place.position.abs().max_element() <= OFFSET_MAX_M;
        if !places[usize::from(is_free)..].iter().all(is_near) {
            return Err(EditRefusal::TooFar);
        }
        let changed: Vec<usize> = (0..places.len()).filter(|&n| places[n] != former[n]).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let before = changed.iter().map(|&n| self.known(&former[n])).collect();
        let object = self.id_of(target);
        self.own.history_mut().record(object, before);
        changed.into_iter().for_each(|n| self.put(&places[n]));
        Ok(())
    }

    /// Takes back the newest change of place of each object.
    pub(super) fn undo(&mut self, objects: Vec<Uuid>) {
        self.go_all(Direction::Undo, objects);
    }

    /// Repeats the change of each object that was taken back last.
    pub(super) fn redo(&mut self, objects: Vec<Uuid>) {
        self.go_all(Direction::Redo, objects);
    }

    fn go_all(&mut self, direction: Direction, objects: Vec<Uuid>) {
        for object in objects {
            let result = self.charge(1).and_then(|()| self.go(direction, object));
            self.settle(self.store.local_id(object), result);
        }
    }

    /// One change in one direction, as a whole or not at all. A change that became impossible is dropped.
    fn go(&mut self, direction: Direction, object: Uuid) -> Result<(), EditRefusal> {
        let id = self.store.local_id(object).ok_or(EditRefusal::Unknown)?;
        let judged = self.judge(id)?;
        // Before it is taken out: a change that comes too fast stays.
        let n_places = self.own.history_mut().n_places(direction, object).ok_or(EditRefusal::NoHistory)?;
        self.charge(n_places)?;
        let change = self.own.history_mut().take(direction, object).ok_or(EditRefusal::NoHistory)?;
        let wanted: Option<Vec<PrimPlace>> = change.places.iter().map(|place| self.found(place)).collect();
        let wanted = wanted.ok_or(EditRefusal::NoHistory)?;
        let ids: Vec<LocalId> = wanted.iter().map(|place| place.id).collect();
        let former = self.places_of(&ids)?;
        let is_resized = wanted.iter().zip(&former).any(|(wanted, former)| wanted.scale != former.scale);
        let is_changed = is_resized || ids != [judged.root];
        if !judged.allows(Edit::Move) || is_changed && !judged.allows(Edit::Modify) {
            return Err(EditRefusal::Rights);
        }
        let range = self.size_range_of(&judged)?;
        for (wanted, former) in wanted.iter().zip(&former) {
            // It may have become physical since.
            if wanted.scale != former.scale && bounded_size(wanted.scale, range)? != wanted.scale {
                return Err(EditRefusal::PhysicalSize);
            }
            if wanted.id == judged.root && !judged.is_attached {
                if self.in_region(wanted.position)? != wanted.position {
                    return Err(EditRefusal::Outside);
                }
                self.need_entry(self.counted(&judged), former.position, wanted.position)?;
            }
        }
        let before = former.iter().map(|place| self.known(place)).collect();
        self.own.history_mut().record_reverse(direction, object, before);
        wanted.iter().for_each(|place| self.put(place));
        Ok(())
    }

    /// Least and most metres along an axis of the prims of a linkset.
    fn size_range_of(&self, judged: &Judgement) -> Result<(f32, f32), EditRefusal> {
        Ok(size_range_m(self.store.motion(judged.root).ok_or(EditRefusal::Unknown)?.flags))
    }

    /// Owner and prims of a linkset, as they count on land.
    fn counted(&self, judged: &Judgement) -> (AgentId, usize) {
        let is_counted = !is_temporary(self.store, judged.root);
        (judged.owner, if is_counted { self.store.linkset_len(judged.root) } else { 0 })
    }

    fn places_of(&self, prims: &[LocalId]) -> Result<Vec<PrimPlace>, EditRefusal> {
        let place_of = |&id: &LocalId| {
            let (motion, body) = self.store.motion(id).zip(self.store.body(id))?;
            let Motion { position, rotation, .. } = motion.motion;
            Some(PrimPlace { id, position, rotation, scale: body.body.scale })
        };
        prims.iter().map(place_of).collect::<Option<_>>().ok_or(EditRefusal::Unknown)
    }

    fn put(&mut self, place: &PrimPlace) {
        let PrimPlace { id, position, rotation, scale } = *place;
        let former = self.store.motion(id).expect("a prim that was judged is there").motion;
        if (former.position, former.rotation) != (position, rotation) {
            let motion = Motion { position, rotation, ..former };
            self.store.set_motion(id, motion).expect("it is there");
        }
        if self.store.body(id).is_some_and(|versioned| versioned.body.scale != scale) {
            self.edit_body(id, ObjectMask::SHAPE, |body| body.scale = scale);
        }
    }

    /// A place by ids that last.
    fn known(&self, place: &PrimPlace) -> KnownPlace {
        let PrimPlace { id, position, rotation, scale } = *place;
        KnownPlace { object: self.id_of(id), root: self.root_id(id), position, rotation, scale }
    }

    /// The same in local ids, if the prim is there and has the root that it had.
    fn found(&self, place: &KnownPlace) -> Option<PrimPlace> {
        let KnownPlace { object, root, position, rotation, scale } = *place;
        let id = self.store.local_id(object).filter(|&id| self.root_id(id) == root)?;
        Some(PrimPlace { id, position, rotation, scale })
    }

    /// Id of a part's root, null for a root on the ground. A worn root's own: its place is relative to its wearer.
    fn root_id(&self, id: LocalId) -> Uuid {
        let is_relative = |root: &LocalId| *root != id || self.store.wearer_of(id).is_some();
        let root = self.store.root_of(id).filter(is_relative);
        root.map_or(Uuid::nil(), |root| self.id_of(root))
    }
}

/// Scales a linkset so that its root has this size, or as near to it as all prims can have one.
fn scale_all(places: &mut [PrimPlace], size: Vec3, (least, most): (f32, f32)) {
    let factors = size / places[0].scale;
    let wanted: Vec<Vec3> = places.iter().map(|place| place.scale * factors).collect();
    let shrink = wanted.iter().map(|size| most / size.max_element()).fold(1.0, f32::min);
    let grow = wanted.iter().map(|size| least / size.min_element()).fold(1.0, f32::max);
    // A linkset that is too large in one direction and too small in another keeps to the larger bound.
    let factors = factors * if shrink < 1.0 { shrink } else { grow };
    for (number, place) in places.iter_mut().enumerate() {
        place.scale = (place.scale * factors).clamp(Vec3::splat(least), Vec3::splat(most));
        if number > 0 {
            place.position *= factors;
        }
    }
}

/// Places the parts so that they are where they were before their root moved.
fn hold_parts(former_root: &PrimPlace, places: &mut [PrimPlace]) {
    let motion = |position, rotation| Motion { position, rotation, ..Motion::default() };
    let Some((root, parts)) = places.split_first_mut() else { return };
    let root = motion(root.position, root.rotation);
    for part in parts {
        let position = former_root.position + former_root.rotation * part.position;
        let rotation = former_root.rotation * part.rotation;
        let held = relative_to(&root, motion(position, rotation));
        (part.position, part.rotation) = (held.position, held.rotation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prim::body::{PHYSICAL_SIZE_RANGE_M, SIZE_RANGE_M};

    fn place(position: Vec3, scale: Vec3) -> PrimPlace {
        PrimPlace { id: LocalId(1), position, rotation: Quat::IDENTITY, scale }
    }

    #[test]
    fn a_linkset_grows_until_its_largest_prim_has_the_largest_size() {
        for (range, largest) in [(SIZE_RANGE_M, 256.0), (PHYSICAL_SIZE_RANGE_M, 64.0)] {
            let mut places = [place(Vec3::ZERO, Vec3::ONE), place(Vec3::X, Vec3::splat(16.0))];
            scale_all(&mut places, Vec3::splat(2.0), range);
            assert_eq!(places[1], place(2.0 * Vec3::X, Vec3::splat(32.0)));
            scale_all(&mut places, Vec3::splat(32.0), range);
            let root = largest / 16.0;
            let expected =
                [place(Vec3::ZERO, Vec3::splat(root)), place(root * Vec3::X, Vec3::splat(largest))];
            assert_eq!(places, expected);
        }
    }

    #[test]
    fn a_linkset_shrinks_until_its_smallest_prim_has_the_smallest_size() {
        for (range, least) in [(SIZE_RANGE_M, 0.001), (PHYSICAL_SIZE_RANGE_M, 0.01)] {
            let mut places = [place(Vec3::ZERO, Vec3::ONE), place(Vec3::X, Vec3::splat(2.0 * least))];
            scale_all(&mut places, Vec3::splat(0.25), range);
            assert!((places[0].scale - Vec3::splat(0.5)).length() < 1e-5, "{places:?}");
            assert_eq!(places[1].scale, Vec3::splat(least));
        }
    }
}
