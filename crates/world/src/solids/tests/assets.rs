//! Prims that are meshes: boxes until their solid comes, and its form from then on.

use super::*;
use prim::{AssetSolid, ExtraParams, SolidKey, SolidPart};

/// A mesh of this asset, 4 m wide.
fn mesh(n: u128, asset: u128) -> Body {
    let data = [&Uuid::from_u128(asset).as_bytes()[..], &[5]].concat();
    let extra_params = ExtraParams::default().with(ExtraParam::Sculpt, Some(&data)).unwrap();
    Body { scale: Vec3::splat(4.0), extra_params, ..body(n) }
}

fn key(asset: u128) -> SolidKey {
    SolidKey { asset: Uuid::from_u128(asset), part: SolidPart::MeshSurface }
}

/// The lower half of a prim as triangles, seen from outside: a floor 1 m below the top of the whole one.
fn lower_half(asset: u128) -> KnownSolid {
    let corner = |n: u8| {
        let side = |bit: u8| if n >> bit & 1 == 0 { -0.5 } else { 0.5 };
        Vec3::new(side(0), side(1), if n & 4 == 0 { -0.5 } else { 0.0 })
    };
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    let solid = AssetSolid::surface((0..8).map(corner).collect(), triangles, true).unwrap();
    KnownSolid { key: key(asset), solid }
}

impl Region {
    fn bring(&mut self, known: KnownSolid) -> WorldCounters {
        let mut counters = WorldCounters::default();
        self.solids.as_mut().expect("objects").take_assets(&mut vec![known], &mut counters);
        counters
    }

    fn announced(&mut self, all: bool) -> Vec<SolidKey> {
        let mut events = Vec::new();
        self.solids.as_mut().expect("objects").announce(all, &mut events);
        match &events[..] {
            [] => Vec::new(),
            [Event::SolidsWanted(keys)] => keys.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    fn set_physics_shape(&mut self, id: LocalId, shape: PhysicsShape) {
        self.objects.edit_body(id, ObjectMask::FLAGS, |body| body.physics.shape = shape).unwrap();
    }

    /// Height of the surface at a place, in centimetres; none without one.
    fn top_cm(&self, x: f32) -> Option<i32> {
        self.below(x, 50.0).map(|hit| (hit.point.z * 100.0).round() as i32)
    }
}

#[test]
fn a_mesh_is_a_box_until_its_solid_comes() {
    let mut region = Region::new();
    region.insert(at(50.0, 50.0), mesh(1, 7));
    region.step();
    region.check();
    assert_eq!((region.top_cm(50.0), region.announced(false)), (Some(3_200), vec![key(7)]));
    assert_eq!((region.announced(false), region.announced(true)), (vec![], vec![key(7)]));
    assert_eq!(region.bring(lower_half(8)).ignored, 1);
    region.bring(lower_half(7));
    region.check();
    assert_eq!(region.top_cm(50.0), Some(3_200), "colliders change at the end of a step");
    assert!(region.solids().is_waiting());
    region.step();
    region.check();
    assert_eq!((region.top_cm(50.0), region.solids().is_waiting()), (Some(3_000), false));
    assert!(region.announced(true).is_empty());
    // A later prim has it at once.
    region.insert(at(60.0, 50.0), mesh(2, 7));
    region.step();
    assert_eq!((region.top_cm(60.0), region.announced(false)), (Some(3_000), vec![]));
    assert_eq!(region.bring(lower_half(7)).ignored, 1, "it has come before");
}

#[test]
fn a_solid_is_kept_while_its_prims_change_and_forgotten_with_the_last_one() {
    let mut region = Region::new();
    let id = region.insert(at(50.0, 50.0), mesh(1, 7));
    let other = region.insert(at(60.0, 50.0), mesh(2, 7));
    region.step();
    region.bring(lower_half(7));
    region.step();
    region.objects.edit_body(id, ObjectMask::SHAPE, |body| body.scale = Vec3::splat(8.0)).unwrap();
    region.step();
    region.check();
    assert_eq!((region.top_cm(50.0), region.announced(true)), (Some(3_000), vec![]));
    region.objects.remove(other).unwrap();
    region.step();
    assert_eq!(region.solids().stored_assets().known.len(), 1);
    // Its hull is another solid.
    region.set_physics_shape(id, PhysicsShape::Convex);
    region.step();
    region.check();
    let hull = SolidKey { part: SolidPart::MeshHull, ..key(7) };
    assert_eq!((region.top_cm(50.0), region.announced(false)), (Some(3_400), vec![hull]));
    assert_eq!(region.solids().stored_assets(), StoredAssetSolids::default());
    region.set_physics_shape(id, PhysicsShape::None);
    region.step();
    assert!(region.announced(true).is_empty());
    assert!(region.solids().is_free(Vec3::new(50.0, 50.0, 90.0), Vec3::new(50.0, 50.0, 0.0)));
}

#[test]
fn many_prims_of_one_solid_get_it_in_portions_in_the_order_of_their_ids() {
    // A step has 2,048 units of work; a mesh of 12 triangles takes 8.
    const PORTION: usize = 256;
    let mut region = Region::new();
    let place = |n: u16| at(f32::from(n % 100) * 2.0 + 20.0, f32::from(n / 100) * 9.0 + 50.0);
    let prims: Vec<LocalId> = (0..600).map(|n| region.insert(place(n), mesh(n.into(), 7))).collect();
    region.step();
    let n_boxes = |region: &Region| {
        let half_height = |id| region.solids().oriented_box(id).expect("a collider").half.z;
        prims.iter().filter(|&&id| half_height(id) == 2.0).count()
    };
    assert_eq!(n_boxes(&region), 600, "boxes take one unit each");
    region.bring(lower_half(7));
    for expected in [600 - PORTION, 600 - 2 * PORTION, 0] {
        region.step();
        region.check();
        assert_eq!(n_boxes(&region), expected);
    }
}

#[test]
fn prims_that_change_before_their_turn_are_not_refined_twice() {
    let mut region = Region::new();
    let [gone, worn, resized, moved] =
        [1, 2, 3, 4].map(|n: u8| region.insert(at(50.0 + 10.0 * f32::from(n), 50.0), mesh(n.into(), 7)));
    region.step();
    region.bring(lower_half(7));
    region.objects.remove(gone).unwrap();
    let worn = region.objects.wear(worn, LocalId(IDS.end - 1), at(0.5, 0.0).motion).unwrap();
    region.objects.edit_body(resized, ObjectMask::SHAPE, |body| body.scale = Vec3::splat(2.0)).unwrap();
    region.objects.set_motion(moved, at(100.0, 50.0).motion).unwrap();
    region.step();
    region.check();
    assert!(region.solids().oriented_box(gone).is_none() && region.solids().oriented_box(worn).is_none());
    assert_eq!((region.top_cm(80.0), region.top_cm(100.0)), (Some(3_000), Some(3_000)));
    assert!(!region.solids().is_waiting());
}

#[test]
fn a_restored_list_names_each_solid_once_and_only_prims_that_can_be_refined() {
    let mut region = Region::new();
    let id = region.insert(at(50.0, 50.0), mesh(1, 7));
    let plain = region.insert(at(60.0, 50.0), body(2));
    region.step();
    let restored = |known: Vec<KnownSolid>, refining: Vec<LocalId>| {
        let assets = StoredAssetSolids { known, refining };
        Solids::restored(&region.objects, SIZE_M, StoredSolids::default(), assets)
    };
    assert!(restored(vec![lower_half(7), lower_half(7)], vec![]).is_none());
    let sound = restored(vec![lower_half(7), lower_half(8)], vec![LocalId(3), plain, id]).expect("possible");
    let stored = StoredAssetSolids { known: vec![lower_half(7)], refining: vec![id] };
    assert_eq!(sound.stored_assets(), stored, "without a solid that no prim has");
    let unknown = restored(vec![], vec![id]).expect("possible");
    assert_eq!(unknown.stored_assets(), StoredAssetSolids::default());
}
