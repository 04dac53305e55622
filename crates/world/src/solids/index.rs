//! Colliders in step with prims: built in portions, moved at once.
//!
//! A moved prim keeps its form and costs a search in a grid. A new form may have thousands of triangles: a step builds [`WORK_PER_STEP`] units of forms,
//! two milliseconds at most, and the others wait in the order in which they came. A prim that waits has no collider. The list is part of the state, so
//! that a restored world continues with the same colliders; it does not depend on the cache of forms. A prim that is a box until the solid of its asset comes keeps the box until
//! its turn: it does not vanish under an avatar.

use super::Solids;
use crate::objects::ObjectStore;
use ids::LocalId;
use link::{ObjectMask, PrimFlags, PrimMotion};
use physics::{ColliderKind, Geometry, Placement};
use prim::{Body, PhysicsShape, SolidKey};
use telemetry::recorder::{Arg, Scope};

/// The form of a prim.
static FORM: Scope = Scope::new("world.form").arg(Arg::Object);
/// Units of work on new forms in one step: 2,048 boxes, or two hundred prims of a usual region. A unit takes a microsecond at most.
pub(super) const WORK_PER_STEP: u32 = 2_048;
/// Units of a mesh: `MESH_WORK + triangles ÷ TRIANGLES_PER_WORK`. A sphere of 24 sides has 44, a hollow torus of 2,000 triangles 133, which take 120 µs.
const MESH_WORK: u32 = 8;
const TRIANGLES_PER_WORK: usize = 16;

/// Changes that need another collider.
const OF_FORM: ObjectMask = ObjectMask(ObjectMask::SHAPE.0 | ObjectMask::EXTRA.0);
/// Changes that move it.
const OF_PLACE: ObjectMask = ObjectMask(ObjectMask::MOTION.0 | ObjectMask::LINK.0);
/// Prims that stop nothing.
const PASSABLE: PrimFlags = PrimFlags(PrimFlags::PHANTOM.0 | PrimFlags::VOLUME_DETECT.0);

/// A change of a prim that its collider follows.
#[derive(Clone, Copy, Debug)]
pub(super) enum PrimChange {
    Gone(LocalId),
    Form(LocalId),
    /// What the collider stops may be another.
    Kind(LocalId),
    Place(LocalId),
}

impl PrimChange {
    pub(super) const fn id(self) -> LocalId {
        match self {
            Self::Gone(id) | Self::Form(id) | Self::Kind(id) | Self::Place(id) => id,
        }
    }
}

impl Solids {
    /// Lists the changes of objects in this step. Parts move with their root.
    pub(super) fn list_changes(&mut self, objects: &ObjectStore) {
        self.changed.clear();
        self.changes.clear();
        self.changes.extend(objects.removed().iter().map(|&id| PrimChange::Gone(id)));
        for (id, mask) in objects.changed() {
            let has_new_form =
                mask.any(OF_FORM) || mask.any(ObjectMask::FLAGS) && self.has_other_asset(objects, id);
            if has_new_form {
                self.changes.push(PrimChange::Form(id));
            } else if mask.any(ObjectMask::FLAGS) {
                self.changes.push(PrimChange::Kind(id));
            }
            if mask.any(OF_PLACE) {
                let moved = objects.linkset(id).filter(|&part| part != id || !has_new_form);
                self.changes.extend(moved.map(PrimChange::Place));
            }
        }
    }

    /// Carries out the listed changes, and a portion of the waiting forms.
    pub(super) fn apply_changes(&mut self, objects: &ObjectStore) {
        let changes = std::mem::take(&mut self.changes);
        self.forget_gone(&changes);
        for change in &changes {
            match *change {
                PrimChange::Gone(_) => {}
                PrimChange::Kind(id) => self.put_kind(objects, id),
                PrimChange::Form(id) => self.wait(id),
                PrimChange::Place(id) => {
                    if self.relocate(objects, id) {
                        self.wait(id);
                    }
                }
            }
        }
        let mut work = 0;
        while work < WORK_PER_STEP
            && let Some(id) = self.waiting.pop_front()
        {
            self.waiting_ids.remove(&id);
            let _scope = FORM.enter(id.0.into());
            work += self.put(objects, id, false);
        }
        self.refined.clear();
        while work < WORK_PER_STEP
            && let Some(id) = self.refining.pop_first()
        {
            let _scope = FORM.enter(id.0.into());
            work += self.put(objects, id, false);
            self.refined.push(id);
        }
        for change in &changes {
            if let PrimChange::Form(id) = *change
                && self.waiting_ids.contains(&id)
            {
                self.colliders.remove(id);
            }
        }
        self.forms.assets.drop_unused();
        self.changes = changes;
    }

    /// Lets a prim wait for its form. Until its turn it has no collider, and needs no asset.
    fn wait(&mut self, id: LocalId) {
        if self.waiting_ids.insert(id) {
            self.waiting.push_back(id);
        }
        self.forget_asset(id);
    }

    /// A prim collides as no solid of an asset.
    fn forget_asset(&mut self, id: LocalId) {
        self.forms.assets.release(id);
        self.refining.remove(&id);
    }

    /// True if a prim collides as another solid of an asset than before, or as none: its physics shape has changed.
    fn has_other_asset(&self, objects: &ObjectStore, id: LocalId) -> bool {
        let known = self.forms.assets.key_of(id);
        let is_present = !self.waiting_ids.contains(&id) && !is_attached(objects, id);
        is_present && objects.body(id).is_some_and(|versioned| SolidKey::of_body(&versioned.body) != known)
    }

    /// Drops the prims that are gone, which are first in the list: an id may stand for another prim behind.
    fn forget_gone(&mut self, changes: &[PrimChange]) {
        let mut has_waited = false;
        for change in changes {
            if let PrimChange::Gone(id) = *change {
                self.colliders.remove(id);
                has_waited |= self.waiting_ids.remove(&id);
                self.forget_asset(id);
            }
        }
        if has_waited {
            let waiting_ids = &self.waiting_ids;
            self.waiting.retain(|id| waiting_ids.contains(id));
        }
    }

    /// Gives the collider of a prim its present kind, in place. One that waits gets it with its form.
    fn put_kind(&mut self, objects: &ObjectStore, id: LocalId) {
        let Some((prim, versioned)) = objects.motion(id).zip(objects.body(id)) else { return };
        if self.colliders.set_kind(id, kind_of(prim, &versioned.body)) {
            self.mark(id);
        }
    }

    /// Gives a prim the collider of its present form and place. Returns the work that it took. A coarse one is a box, where the form is an asset.
    pub(super) fn put(&mut self, objects: &ObjectStore, id: LocalId, is_coarse: bool) -> u32 {
        self.refining.remove(&id);
        let prim = objects.motion(id).zip(objects.body(id)).zip(objects.motion_in_region(id));
        let Some(((prim, versioned), motion)) = prim.filter(|_| !is_attached(objects, id)) else {
            self.colliders.remove(id);
            self.forms.assets.release(id);
            return 1;
        };
        let body = &*versioned.body;
        let key = SolidKey::of_body(body);
        match key {
            Some(key) => self.forms.assets.hold(id, key),
            None => self.forms.assets.release(id),
        }
        let geometry = if is_coarse && key.is_some() { Geometry::BOX } else { self.forms.of_body(body) };
        let placement = Placement { position: motion.position, rotation: motion.rotation, scale: body.scale };
        if self.colliders.insert(id, kind_of(prim, body), &geometry, &placement).is_err() {
            // No prim of a region is so far away; its former collider would be at the wrong place.
            self.colliders.remove(id);
        }
        self.mark(id);
        match geometry {
            // Known meshes count as new ones: what a step does does not depend on the cache.
            Geometry::Mesh(mesh) => MESH_WORK + (mesh.triangles().len() / TRIANGLES_PER_WORK) as u32,
            Geometry::Empty | Geometry::Box(_) => 1,
        }
    }

    /// Moves a prim's collider. True if the prim has none, but should: it was too far away, or worn.
    fn relocate(&mut self, objects: &ObjectStore, id: LocalId) -> bool {
        let place = objects.motion_in_region(id).filter(|_| !is_attached(objects, id));
        let moved = place.map(|motion| self.colliders.relocate(id, motion.position, motion.rotation));
        if !matches!(moved, Some(Ok(_))) {
            self.colliders.remove(id);
        }
        if place.is_none() {
            self.forget_asset(id);
        }
        self.mark(id);
        matches!(moved, Some(Ok(false)))
    }

    /// Notes that something changes where a prim is now.
    pub(super) fn mark(&mut self, id: LocalId) {
        if let Some(around) = self.colliders.oriented_box(id) {
            self.changed.mark(&around.aabb());
        }
    }
}

/// True if a prim is worn, or a part of a worn linkset.
fn is_attached(objects: &ObjectStore, id: LocalId) -> bool {
    let root = objects.root_of(id).and_then(|root| objects.motion(root));
    root.is_some_and(|root| root.parent != LocalId(0))
}

fn kind_of(prim: &PrimMotion, body: &Body) -> ColliderKind {
    if prim.flags.any(PASSABLE) || body.physics.shape == PhysicsShape::None {
        ColliderKind::Phantom
    } else {
        ColliderKind::Solid
    }
}
