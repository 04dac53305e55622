//! Linksets that the store held and that come into the world again.

use super::creating::derived_id;
use super::editor::{OFFSET_MAX_M, ObjectEditor, finite, unit_rotation};
use ids::Uuid;
use link::{DerezKind, EditRefusal, Motion, PrimFlags, PrimMotion, Restoration, VersionedBody};
use prim::PCode;
use std::sync::Arc;

impl ObjectEditor<'_> {
    /// Puts a linkset into the world and answers with a ticket. An order that was answered before gets no second answer.
    pub(super) fn restore(&mut self, order: &Restoration) {
        if self.store.escrow().is_answered(order.key) {
            return;
        }
        let result = self.prims_of(order).and_then(|prims| self.add(prims, false));
        self.transfer(|escrow| escrow.answer(order.key, result.err()));
        self.settle(None, result);
    }

    /// Prims as they are added.
    fn prims_of(&self, order: &Restoration) -> Result<Vec<(PrimMotion, VersionedBody)>, EditRefusal> {
        let mut prims = order.linkset.prims.clone();
        let (root, root_body) = prims.first().ok_or(EditRefusal::BadValue)?;
        let (root_flags, owner) = (root.flags, root_body.body.ownership.owner);
        for ((place, versioned), number) in prims.iter_mut().zip(0..) {
            if versioned.body.ownership.owner != owner {
                return Err(EditRefusal::OtherOwner);
            }
            let Motion { position, rotation, .. } = place.motion;
            let position = match number {
                0 => self.nearest_in_region(order.position.unwrap_or(position))?,
                _ => offset(position)?,
            };
            place.motion = Motion { position, rotation: unit_rotation(rotation)?, ..Motion::default() };
            // A held linkset is neither temporary nor worn.
            let flags = place.flags.with(PrimFlags::OF_LINKSET, root_flags);
            place.flags = flags.with(PrimFlags::TEMPORARY, PrimFlags::default());
            if versioned.body.p_code == PCode::Prim && versioned.body.state != 0 {
                Arc::make_mut(&mut versioned.body).state = 0;
            }
            match order.linkset.kind {
                DerezKind::TakeCopy => become_another(versioned, derived_id(order.ids, number)),
                // Clients may have it in their caches as it was.
                DerezKind::Delete | DerezKind::Trash | DerezKind::Return | DerezKind::Take => {
                    versioned.version = versioned.version.wrapping_add(1).max(1);
                }
            }
        }
        Ok(prims)
    }
}

/// The place of a part, if it is near enough to its root.
fn offset(position: glam::Vec3) -> Result<glam::Vec3, EditRefusal> {
    let position = finite(position)?;
    if position.abs().max_element() <= OFFSET_MAX_M { Ok(position) } else { Err(EditRefusal::TooFar) }
}

/// Makes a prim of a copy one of its own.
fn become_another(versioned: &mut VersionedBody, id: Uuid) {
    Arc::make_mut(&mut versioned.body).id = id;
    versioned.version = 1;
}
