//! Masks and groups of linksets.

use super::editor::ObjectEditor;
use ids::{LocalId, Uuid};
use link::{EditRefusal, MaskEdit, ObjectMask};
use prim::{Edit, Mask, MaskField};
use std::sync::Arc;

impl ObjectEditor<'_> {
    /// All prims of a linkset share its masks, each within its own base.
    pub(super) fn set_permissions(&mut self, id: LocalId, edit: MaskEdit) -> Result<(), EditRefusal> {
        let field = MaskField::of_code(edit.field).ok_or(EditRefusal::BadValue)?;
        let deed = if field == MaskField::Base { Edit::SetOwner } else { Edit::SetPermissions };
        let judged = self.need(id, deed)?;
        let bits = Mask::of_bits(edit.bits);
        for prim in self.linkset(judged.root)? {
            self.edit_body(prim, ObjectMask::FLAGS, |body| {
                let ownership = Arc::make_mut(&mut body.ownership);
                ownership.permissions = ownership.permissions.with(field, bits, edit.is_set);
            });
        }
        self.judged = None;
        Ok(())
    }

    /// No group has members, so that the id is only kept.
    pub(super) fn set_group(&mut self, id: LocalId, group: Uuid) -> Result<(), EditRefusal> {
        let judged = self.need(id, Edit::SetPermissions)?;
        let prims = self.linkset(judged.root)?;
        self.charge_items(&prims)?;
        for prim in prims {
            self.edit_body(prim, ObjectMask::FLAGS.union(ObjectMask::CONTENTS), |body| {
                Arc::make_mut(&mut body.ownership).group = group;
                if let Some(contents) = &mut body.contents {
                    *contents = Arc::new(contents.with_group(group));
                }
            });
        }
        Ok(())
    }
}
