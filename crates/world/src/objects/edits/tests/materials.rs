//! Render materials and legacy materials of faces.

use super::stage::{ADA, Stage};
use ids::{LocalId, Uuid};
use link::{EditRefusal, ExtraParamEdit, FaceMaterial, ObjectCommand, RenderMaterialEdit};
use prim::{MaterialOverride, with_material_id};

const GOLD: Uuid = Uuid::from_u128(0x601d);

fn edit(face: Option<u8>, material: Option<Uuid>, metallic: Option<f32>) -> RenderMaterialEdit {
    let changes =
        metallic.map(|metallic| MaterialOverride { metallic: Some(metallic), ..MaterialOverride::default() });
    RenderMaterialEdit { face, material, changes: changes.map(Box::new) }
}

fn ask(id: LocalId, edit: RenderMaterialEdit) -> ObjectCommand {
    ObjectCommand::RenderMaterial(vec![(id, edit)])
}

fn overridden(stage: &Stage, id: LocalId) -> Option<Vec<u8>> {
    Some(stage.body(id).overrides.as_ref()?.faces().map(|(face, _)| face).collect())
}

#[test]
fn a_face_with_a_render_material_takes_an_override() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, ask(id, edit(Some(1), None, Some(0.5)))).refused(EditRefusal::BadValue, &[id]);
    stage.ask(ADA, ask(id, edit(Some(1), Some(GOLD), Some(0.5)))).done();
    assert_eq!(stage.body(id).extra_params.render_materials().collect::<Vec<_>>(), [(1, GOLD)]);
    assert_eq!(overridden(&stage, id), Some(vec![1]));
    stage.ask(ADA, ask(id, edit(Some(1), None, Some(f32::NAN)))).refused(EditRefusal::BadNumber, &[id]);
    stage.ask(ADA, ask(id, edit(Some(45), Some(GOLD), None))).refused(EditRefusal::BadValue, &[id]);
    // Of all faces only the one with a material has something to override.
    stage.ask(ADA, ask(id, edit(None, None, Some(0.25)))).done();
    let overrides = stage.body(id).overrides.clone().unwrap();
    assert_eq!(overrides.get(1).unwrap().metallic, Some(0.25));
    assert_eq!(overrides.faces().len(), 1);
}

#[test]
fn an_override_goes_with_its_material_and_leaves_an_empty_list() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    assert_eq!(overridden(&stage, id), None);
    stage.ask(ADA, ask(id, edit(None, Some(GOLD), Some(0.5)))).done();
    assert_eq!(overridden(&stage, id), Some((0..=8).collect()));
    stage.ask(ADA, ask(id, edit(Some(3), Some(Uuid::nil()), None))).done();
    assert_eq!(overridden(&stage, id).unwrap().len(), 8);
    let removal = ExtraParamEdit { kind: 0x80, data: None };
    stage.ask(ADA, ObjectCommand::ExtraParam(vec![(id, removal)])).done();
    assert_eq!(overridden(&stage, id), Some(Vec::new()));
}

#[test]
fn a_legacy_material_is_in_the_texture_entry() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let before = stage.body(id).texture_entry.clone();
    let material = FaceMaterial { face: Some(2), material: GOLD };
    stage.ask(ADA, ObjectCommand::FaceMaterial(vec![(id, material)])).done();
    let expected = with_material_id(&before, Some(2), GOLD).unwrap();
    assert_eq!(stage.body(id).texture_entry[..], expected[..]);
    let unknown = FaceMaterial { face: Some(45), material: GOLD };
    stage.ask(ADA, ObjectCommand::FaceMaterial(vec![(id, unknown)])).refused(EditRefusal::BadValue, &[id]);
}
