//! Render materials of faces, with their overrides, and legacy materials.

use super::editor::ObjectEditor;
use ids::LocalId;
use link::{EditRefusal, FaceMaterial, ObjectMask, RenderMaterialEdit};
use prim::{
    Body, Edit, ExtraParams, FACES_MAX, MaterialOverrides, OVERRIDE_FACES, OverrideError, with_material_id,
};
use std::ops::RangeInclusive;
use std::sync::Arc;

impl ObjectEditor<'_> {
    pub(super) fn set_render_material(
        &mut self,
        id: LocalId,
        edit: RenderMaterialEdit,
    ) -> Result<(), EditRefusal> {
        let RenderMaterialEdit { face, material, changes } = edit;
        let faces = checked_face(face)?.map_or(0..=OVERRIDE_FACES - 1, |face| face..=face);
        self.need(id, Edit::Modify)?;
        let body = &self.store.body(id).ok_or(EditRefusal::Unknown)?.body;
        let params = material.map_or_else(
            || Ok(body.extra_params.clone()),
            |material| body.extra_params.with_render_material(faces.clone(), material),
        );
        let params = params.map_err(|_| EditRefusal::BadValue)?;
        let mut overrides = kept_overrides(body, &params);
        if let Some(changes) = changes {
            let n_changed = with_materials(&params, faces).try_fold(0, |n_changed, face| {
                overrides.set(face, *changes).map_err(refusal)?;
                Ok::<usize, EditRefusal>(n_changed + 1)
            })?;
            // A face without a material has nothing that could be overridden.
            if n_changed == 0 && !changes.is_empty() {
                return Err(EditRefusal::BadValue);
            }
        }
        self.edit_body(id, ObjectMask::EXTRA, |body| {
            body.extra_params = params;
            put_overrides(body, overrides);
        });
        Ok(())
    }

    pub(super) fn set_face_material(&mut self, id: LocalId, edit: FaceMaterial) -> Result<(), EditRefusal> {
        let face = checked_face(edit.face)?;
        self.need(id, Edit::Modify)?;
        let body = &self.store.body(id).ok_or(EditRefusal::Unknown)?.body;
        let entry = with_material_id(&body.texture_entry, face, edit.material);
        let entry = entry.map_err(|_| EditRefusal::BadValue)?;
        self.edit_body(id, ObjectMask::TEXTURES, |body| body.texture_entry = entry.into());
        Ok(())
    }
}

/// Sets extra parameters. Overrides of faces that have no render material then are dropped.
pub(super) fn put_extra_params(body: &mut Body, params: ExtraParams) {
    let overrides = kept_overrides(body, &params);
    body.extra_params = params;
    put_overrides(body, overrides);
}

fn checked_face(face: Option<u8>) -> Result<Option<u8>, EditRefusal> {
    if face.is_none_or(|face| u32::from(face) < FACES_MAX) { Ok(face) } else { Err(EditRefusal::BadValue) }
}

/// Those of the faces that have a render material.
fn with_materials(params: &ExtraParams, faces: RangeInclusive<u8>) -> impl Iterator<Item = u8> {
    faces.filter(move |&face| params.render_materials().any(|(other, _)| other == face))
}

fn kept_overrides(body: &Body, params: &ExtraParams) -> MaterialOverrides {
    let mut overrides = body.overrides.as_deref().cloned().unwrap_or_default();
    overrides.retain(|face| params.render_materials().any(|(other, _)| other == face));
    overrides
}

/// A prim that has had overrides keeps an empty list of them, so that viewers learn of the end.
fn put_overrides(body: &mut Body, overrides: MaterialOverrides) {
    let is_new = match body.overrides.as_deref() {
        Some(former) => *former != overrides,
        None => overrides.faces().len() > 0,
    };
    if is_new {
        body.overrides = Some(Arc::new(overrides));
    }
}

const fn refusal(why: OverrideError) -> EditRefusal {
    match why {
        OverrideError::NotANumber => EditRefusal::BadNumber,
        OverrideError::Range | OverrideError::Faces => EditRefusal::BadValue,
    }
}
