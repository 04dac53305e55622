//! Models as clients send them, and such as no client should.

use super::linkset::{FileIds, PlacedPrim, prims};
use super::*;
use crate::inventory::tests::store_with_ada;
use ids::{AgentId, Uuid};
use prim::{Mask, Material, PhysicsShape};
use proptest::prelude::*;
use std::convert::Infallible;
use wire::llsd::binary;
use wire::texture_entry::{BLANK_TEXTURE, TextureEntry};

const TEXTURE: &[u8] = include_bytes!("../../asset_sources/body/plywood.j2c");
const ADA: AgentId = AgentId(Uuid::from_u128(0xA));
const TOLERANCE: f32 = 1e-5;

/// The smallest mesh: a level of detail whose stream begins as one.
pub(in crate::uploads) fn mesh() -> Vec<u8> {
    let section = Llsd::map([("offset", Llsd::from(0)), ("size", 4.into())]);
    [binary::encode(&Llsd::map([("high_lod", section)])), b"\x78\xDAab".to_vec()].concat()
}

/// A part at a place, turned by a quarter about z, with further entries.
fn part(x: f64, further: &[(&str, Llsd)]) -> Llsd {
    let quarter = std::f64::consts::FRAC_1_SQRT_2;
    let own = [
        ("mesh", Llsd::from(0)),
        ("position", Llsd::array([x, 0.0, 0.0])),
        ("rotation", Llsd::array([0.0, 0.0, quarter, quarter])),
        ("scale", Llsd::array([1.0, 2.0, 3.0])),
    ];
    Llsd::map(own.into_iter().chain(further.iter().cloned()))
}

fn resources(parts: Vec<Llsd>) -> Llsd {
    let textures = [TEXTURE.to_vec(), Vec::new()].map(Llsd::Binary);
    Llsd::map([
        ("mesh_list", Llsd::array([Llsd::Binary(mesh())])),
        ("texture_list", Llsd::array(textures)),
        ("instance_list", Llsd::Array(parts)),
    ])
}

fn read(resources: Llsd) -> Result<Model, BadModel> {
    Model::read(resources, &SizeLimits::default())
}

fn linkset_of(model: &Model) -> Vec<PlacedPrim> {
    let (store, ada) = store_with_ada();
    let body_parts = store.folder_of_type(ada, 13).unwrap().unwrap().id;
    let item = store.items_in(ada, body_parts, 1).unwrap().remove(0);
    let item = store::Item { name: "House".into(), ..item };
    let meshes = [Uuid::from_u128(0x3E5)];
    let textures = [Some(Uuid::from_u128(0x7E)), None];
    let mut next = 0;
    let mut new_id = || {
        next += 1;
        Ok::<_, Infallible>(Uuid::from_u128(next))
    };
    let files = FileIds { meshes: &meshes, textures: &textures };
    prims(model, files, &item, ADA, &mut new_id).unwrap().unwrap()
}

#[test]
fn parts_become_a_linkset_whose_prims_lie_against_the_root() {
    let named =
        [("mesh_name", Llsd::from("Roof\n")), ("material", 4.into()), ("physics_shape_type", 1.into())];
    let model = read(resources(vec![part(10.0, &[]), part(12.0, &named)])).unwrap();
    let [root, roof] = &linkset_of(&model)[..] else { panic!("two prims") };
    assert_eq!((root.position, &*root.body.names.name), (Vec3::new(10.0, 0.0, 0.0), "House"));
    assert_eq!((root.body.material, root.body.physics.shape), (Material::Wood, PhysicsShape::Convex));
    assert_eq!(root.body.scale, Vec3::new(1.0, 2.0, 3.0));
    assert_eq!(root.body.extra_params.sculpt(), Some((Uuid::from_u128(0x3E5), 5)));
    assert_eq!(root.body.ownership.owner, ADA);
    assert_eq!(root.body.ownership.permissions.base, Mask::ALL);
    // Turned by a quarter, x is the root's -y.
    assert!(roof.position.distance(Vec3::new(0.0, -2.0, 0.0)) < TOLERANCE, "{}", roof.position);
    assert!(roof.rotation.angle_between(Quat::IDENTITY) < 1e-3, "{}", roof.rotation);
    assert_eq!((&*roof.body.names.name, roof.body.physics.shape), ("Roof", PhysicsShape::None));
    assert_eq!(roof.body.material, Material::Flesh);
    assert_ne!(root.body.id, roof.body.id);
}

#[test]
fn faces_have_their_paint() {
    let painted = Llsd::map([
        ("image", Llsd::from(0)),
        ("diffuse_color", Llsd::array([1.0, 0.5, 0.0, 0.25])),
        ("fullbright", true.into()),
        ("scales", 2.0.into()),
        ("offsett", (-0.5).into()),
        ("imagerot", std::f64::consts::PI.into()),
    ]);
    let empty = Llsd::map([("image", Llsd::from(1)), ("diffuse_color", Llsd::array([0.0, 0.0, 0.0]))]);
    let faces = [("face_list", Llsd::Array(vec![painted, empty, Llsd::Map(BTreeMap::new())]))];
    let model = read(resources(vec![part(0.0, &faces)])).unwrap();
    let entry = TextureEntry::decode(&linkset_of(&model)[0].body.texture_entry).unwrap();
    let face = entry.face(0);
    assert_eq!((face.texture_id, face.color), (Uuid::from_u128(0x7E), [255, 128, 0, 64]));
    assert_eq!((face.repeat_u, face.repeat_v, face.material), (2.0, 1.0, 0x20));
    assert_eq!((face.offset_u, face.offset_v, face.rotation), (0, -16_384, 16_384));
    assert_eq!((entry.face(1).texture_id, entry.face(1).color), (BLANK_TEXTURE, [0, 0, 0, 255]));
    assert_eq!((entry.face(2).texture_id, entry.face(2).color), (BLANK_TEXTURE, [255; 4]));
}

#[test]
fn models_without_meshes_or_parts_and_with_too_many_are_refused() {
    assert_eq!(read(Llsd::Undef), Err(BadModel::Missing("lists of files and parts")));
    assert_eq!(read(Llsd::map([("instance_list", part(0.0, &[]))])), Err(BadModel::Missing("meshes")));
    assert_eq!(read(resources(Vec::new())), Err(BadModel::Missing("parts")));
    let many = read(resources(vec![part(0.0, &[]); 257]));
    assert_eq!(many, Err(BadModel::TooMany { what: "parts", count: 257, max: 256 }));
    let faces = [("face_list", Llsd::Array(vec![Llsd::Undef; 46]))];
    let many = read(resources(vec![part(0.0, &faces)])).unwrap_err();
    assert_eq!(many.to_string(), "it has 46 faces on a part, at most 45 are taken");
    let Llsd::Map(mut lists) = resources(vec![part(0.0, &[])]) else { panic!("a map") };
    lists.insert("texture_list".into(), Llsd::array([Llsd::from("a text")]));
    assert_eq!(read(Llsd::Map(lists)), Err(BadModel::NoFile("textures")));
}

#[test]
fn files_are_checked_as_assets_of_their_kind() {
    let Llsd::Map(lists) = resources(vec![part(0.0, &[])]) else { panic!("a map") };
    for (key, why) in [("mesh_list", "mesh"), ("texture_list", "the texture is not")] {
        let mut lists = lists.clone();
        lists.insert(key.into(), Llsd::array([Llsd::Binary(b"GIF89a".to_vec())]));
        let refused = read(Llsd::Map(lists)).unwrap_err();
        assert!(matches!(refused, BadModel::Unfit(_)) && refused.to_string().contains(why), "{refused}");
    }
}

#[test]
fn fields_that_no_part_can_have_are_named() {
    let face = |key, value: Llsd| Llsd::Array(vec![Llsd::map([(key, value)])]);
    for (field, value, named) in [
        ("mesh", Llsd::from(1), "mesh"),
        ("mesh", Llsd::from(-1), "mesh"),
        ("position", Llsd::array([f64::NAN, 0.0, 0.0]), "position"),
        ("position", Llsd::array([1e300, 0.0, 0.0]), "position"),
        ("position", Llsd::array([0.0, 0.0]), "position"),
        ("position", Llsd::array([0.0, -4_097.0, 0.0]), "position"),
        ("scale", Llsd::array([1.0, 0.0, 1.0]), "scale"),
        ("scale", Llsd::Undef, "scale"),
        ("rotation", Llsd::array([0.0, 0.0, 0.0, 0.0]), "rotation"),
        ("rotation", Llsd::array([1e38, 1e38, 1e38, 1e38]), "rotation"),
        ("rotation", Llsd::array([0.0, 0.0, 1.0]), "rotation"),
        ("face_list", face("image", Llsd::from(2)), "face"),
        ("face_list", face("scales", Llsd::from(f64::INFINITY)), "face"),
        ("face_list", face("diffuse_color", Llsd::array([1.0])), "face"),
        ("face_list", face("diffuse_color", Llsd::array(["red", "green", "blue"])), "face"),
    ] {
        let refused = read(resources(vec![part(0.0, &[]), part(0.0, &[(field, value)])])).unwrap_err();
        assert_eq!(refused, BadModel::Part { part: 2, field: named });
    }
    let large = read(resources(vec![part(0.0, &[("scale", Llsd::array([1.0, 1.0, 256.5]))])]));
    assert_eq!(large.unwrap_err().to_string(), "part 1 is larger than 256 m");
    let flat = read(resources(vec![part(0.0, &[("scale", Llsd::array([1.0, 256.0, 0.0001]))])])).unwrap();
    assert_eq!(flat.parts[0].scale, Vec3::new(1.0, 256.0, 0.001), "as thin as prims can be");
}

fn any_value() -> impl Strategy<Value = Llsd> {
    prop_oneof![
        Just(Llsd::Undef),
        any::<i32>().prop_map(Llsd::Integer),
        any::<f64>().prop_map(Llsd::Real),
        prop::collection::vec(any::<f64>(), 0..5).prop_map(Llsd::array),
        "[a-z]{0,5}".prop_map(Llsd::String),
    ]
}

proptest! {
    #[test]
    fn any_part_is_read_or_refused(
        fields in prop::collection::vec(
            (prop::sample::select(vec!["mesh", "position", "rotation", "scale", "material", "mesh_name"]), any_value()),
            0..4,
        ),
        face in prop::collection::vec(
            (prop::sample::select(vec!["image", "diffuse_color", "imagerot", "offsets", "scalet"]), any_value()),
            0..4,
        ),
    ) {
        let face = ("face_list", Llsd::Array(vec![Llsd::map(face)]));
        let further: Vec<(&str, Llsd)> = fields.into_iter().chain([face]).collect();
        if let Ok(model) = read(resources(vec![part(1.0, &further), part(2.0, &[])])) {
            for prim in linkset_of(&model) {
                prop_assert!(prim.position.is_finite() && prim.rotation.is_normalized());
                prop_assert!(prim::check_texture_entry(&prim.body.texture_entry).is_ok());
            }
        }
    }
}
