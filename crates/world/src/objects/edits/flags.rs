//! Physical properties and visibility in searches, of whole linksets.

use super::editor::{ObjectEditor, is_temporary};
use super::schedule;
use ids::LocalId;
use link::{EditRefusal, FlagsEdit, ObjectMask, PhysicsEdit, PrimFlags};
use prim::{Edit, PhysicsShape, PrimPhysics};

/// Flags that a request sets or clears.
const SETTABLE: PrimFlags = PrimFlags(PrimFlags::PHYSICS.0 | PrimFlags::TEMPORARY.0 | PrimFlags::PHANTOM.0);

impl ObjectEditor<'_> {
    pub(super) fn set_flags(&mut self, id: LocalId, edit: FlagsEdit) -> Result<(), EditRefusal> {
        let physics = edit.physics.map(checked).transpose()?;
        let judged = self.need(id, Edit::Modify)?;
        if judged.is_attached {
            return Err(EditRefusal::Attached);
        }
        let prims = self.linkset(judged.root)?;
        let number = prims.iter().position(|&prim| prim == id).ok_or(EditRefusal::Unknown)?;
        if edit.is_physical {
            self.check_physical_prims(&prims)?;
        }
        if is_temporary(self.store, prims[0]) && !edit.is_temporary {
            let position = self.store.motion(prims[0]).ok_or(EditRefusal::Unknown)?.motion.position;
            self.need_building_land(position, prims.len())?;
        }
        // First, since it alone can fail from here on.
        let prims = if edit.is_temporary { prims } else { self.keep(prims)? };
        if edit.is_temporary && !is_temporary(self.store, prims[0]) {
            let due_ns = self.store.now_ns() + schedule::life_ns(self.limits);
            let object = self.id_of(prims[0]);
            self.temporaries.schedule(object, due_ns);
        }
        let bit = |is_set: bool, flag: PrimFlags| if is_set { flag.0 } else { 0 };
        let wanted = PrimFlags(
            bit(edit.is_physical, PrimFlags::PHYSICS)
                | bit(edit.is_temporary, PrimFlags::TEMPORARY)
                | bit(edit.is_phantom, PrimFlags::PHANTOM),
        );
        for &prim in &prims {
            let flags = self.store.motion(prim).ok_or(EditRefusal::Unknown)?.flags.with(SETTABLE, wanted);
            // Volume detect (a phantom that reports collisions) ends with phantom: clients do not show it, and clear it with phantom.
            let no_volume = if edit.is_phantom { PrimFlags::default() } else { PrimFlags::VOLUME_DETECT };
            self.store.set_flags(prim, flags.with(no_volume, PrimFlags::default()))?;
        }
        if let Some(physics) = physics {
            self.edit_body(prims[number], ObjectMask::FLAGS, |body| body.physics = physics);
        }
        Ok(())
    }

    /// Lets a linkset stay. If it has local ids of temporary objects, it gets others, and its new ids are returned.
    pub(super) fn keep(&mut self, prims: Vec<LocalId>) -> Result<Vec<LocalId>, EditRefusal> {
        let root = prims[0];
        let object = self.id_of(root);
        let has_temporary_ids = prims.iter().any(|&id| self.store.is_temporary_id(id));
        let prims = if has_temporary_ids {
            let kept = self.store.keep(root)?;
            self.judged = None;
            self.report_created(kept, true);
            self.store.linkset(kept).collect()
        } else {
            prims
        };
        self.temporaries.cancel(object);
        Ok(prims)
    }

    /// A user who may move a linkset may take it out of searches, as on OpenSimulator.
    pub(super) fn set_in_search(&mut self, id: LocalId, is_shown: bool) -> Result<(), EditRefusal> {
        let judged = self.need(id, if is_shown { Edit::Modify } else { Edit::Move })?;
        let flags = self.store.motion(judged.root).ok_or(EditRefusal::Unknown)?.flags;
        let wanted = if is_shown { PrimFlags::IN_SEARCH } else { PrimFlags::default() };
        self.store.set_flags(judged.root, flags.with(PrimFlags::IN_SEARCH, wanted))?;
        Ok(())
    }
}

fn checked(edit: PhysicsEdit) -> Result<PrimPhysics, EditRefusal> {
    let PhysicsEdit { shape, density, friction, restitution, gravity } = edit;
    let shape = PhysicsShape::of_code(shape).ok_or(EditRefusal::BadValue)?;
    PrimPhysics { shape, density, friction, restitution, gravity }.clamped().ok_or(EditRefusal::BadNumber)
}
