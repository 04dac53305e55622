//! Single fields of prims.

use super::stage::{ADA, Stage};
use ids::LocalId;
use link::{EditRefusal, ExtraParamEdit, ObjectChange, ObjectCommand, ObjectMask, Textures, plain_texture};
use prim::{ExtraParam, Material, Shape, ShapeKind};
use std::sync::Arc;

/// The changed parts of a prim in the last frame.
fn changed_parts(stage: &Stage) -> ObjectMask {
    let [ObjectChange::Set { mask, .. }] = &stage.frame.objects[..] else {
        panic!("{:?}", stage.frame.objects)
    };
    *mask
}

fn textures(entry: &[u8], media_url: &str) -> Textures {
    Textures { entry: entry.into(), media_url: media_url.into() }
}

#[test]
fn a_changed_field_is_in_the_frame() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let entry = plain_texture(7);
    let ball = Shape { path_twist: 127, ..Shape::plain(ShapeKind::Torus) };
    let light: Vec<u8> = [[255, 255, 255, 255], 1_f32.to_le_bytes(), [0; 4], [0; 4]].concat();
    let param = |kind: ExtraParam, data| ExtraParamEdit { kind: kind as u16, data };
    let changes = [
        (ObjectCommand::Shape(vec![(id, ball)]), ObjectMask::SHAPE),
        (ObjectCommand::Textures(vec![(id, textures(&entry, "http://a/"))]), ObjectMask::TEXTURES),
        (ObjectCommand::Material(vec![(id, 5)]), ObjectMask::FLAGS),
        (
            ObjectCommand::ExtraParam(vec![(id, param(ExtraParam::Light, Some(light.clone())))]),
            ObjectMask::EXTRA,
        ),
        (ObjectCommand::Name(vec![(id, "Wall\n".into())]), ObjectMask::TEXT),
        (ObjectCommand::Description(vec![(id, "d".repeat(200))]), ObjectMask::TEXT),
        (ObjectCommand::ClickAction(vec![(id, 9)]), ObjectMask::FLAGS),
    ];
    for (request, mask) in changes {
        let version = stage.store().body(id).unwrap().version;
        stage.ask(ADA, request).done();
        assert_eq!((changed_parts(&stage), stage.store().body(id).unwrap().version), (mask, version + 1));
    }
    let body = stage.body(id);
    assert_eq!(body.shape, ball.clamped().unwrap());
    assert_eq!((&body.texture_entry[..], &*body.media_url), (&entry[..], "http://a/"));
    assert_eq!((body.material, body.click_action), (Material::Plastic, 9));
    assert_eq!(body.extra_params.get(ExtraParam::Light), Some(&light[..]));
    assert_eq!((&*body.names.name, body.names.description.len()), ("Wall", 127));
    stage.ask(ADA, ObjectCommand::ExtraParam(vec![(id, param(ExtraParam::Light, None))])).done();
    assert_eq!(stage.body(id).extra_params.as_bytes(), [0]);
}

#[test]
fn damaged_values_are_refused_and_others_of_the_request_are_not() {
    let mut stage = Stage::new();
    let ids = [stage.rez(ADA), stage.rez(ADA)];
    let good = plain_texture(7);
    let long_url = "a".repeat(255);
    let param = |kind: u16, len: usize| ExtraParamEdit { kind, data: Some(vec![0; len]) };
    let requests = [
        ObjectCommand::Shape(vec![
            (ids[0], Shape { profile_curve: 0x0F, ..Shape::BOX }),
            (ids[1], Shape::BOX),
        ]),
        ObjectCommand::Textures(vec![(ids[0], textures(&[], "")), (ids[1], textures(&good, ""))]),
        ObjectCommand::Textures(vec![(ids[0], textures(&good[..40], "")), (ids[1], textures(&good, ""))]),
        ObjectCommand::Textures(vec![(ids[0], textures(&good, &long_url)), (ids[1], textures(&good, ""))]),
        ObjectCommand::Textures(vec![(ids[0], textures(&good, "a\0b")), (ids[1], textures(&good, ""))]),
        ObjectCommand::Material(vec![(ids[0], 200), (ids[1], 0)]),
        ObjectCommand::ExtraParam(vec![(ids[0], param(0x20, 15)), (ids[1], param(0x20, 16))]),
        ObjectCommand::ExtraParam(vec![(ids[0], param(0x11, 4)), (ids[1], param(0x70, 4))]),
        ObjectCommand::ClickAction(vec![(ids[0], 10), (ids[1], 8)]),
    ];
    for request in requests {
        let (body, done) = (stage.body(ids[0]).clone(), stage.world.counters().edits.done);
        stage.ask(ADA, request).refused(EditRefusal::BadValue, &ids[..1]);
        assert_eq!(*stage.body(ids[0]), body);
        assert_eq!(stage.world.counters().edits.done, done + 1);
    }
}

#[test]
fn prims_that_are_painted_alike_are_changed_each() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let entry: Arc<[u8]> = Arc::new(plain_texture(9));
    let paint = |&id: &LocalId| (id, Textures { entry: Arc::clone(&entry), media_url: String::new() });
    stage.ask(ADA, ObjectCommand::Textures(prims.iter().map(paint).collect())).done();
    assert_eq!(stage.frame.objects.len(), 3);
}
