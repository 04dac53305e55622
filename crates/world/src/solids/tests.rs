//! Colliders against the objects that they follow.

mod assets;

use super::*;
use glam::{Quat, Vec2, Vec3};
use ids::{AgentId, Uuid};
use link::{Motion, ObjectMask, PrimFlags, PrimMotion, StoredObjects, Terrain};
use physics::RayHit;
use prim::{Body, ExtraParam, Material, PhysicsShape, Shape, ShapeKind};
use std::ops::Range;
use std::sync::Arc;

const IDS: Range<u32> = 1 << 20..2 << 20;
const SIZE_M: u32 = 256;
const TICK: Duration = Duration::from_millis(50);

fn body(n: u128) -> Body {
    let creator = AgentId(Uuid::from_u128(1));
    Body { scale: Vec3::ONE, ..Body::new(Uuid::from_u128(n + 1), Shape::BOX, Arc::default(), creator, 0) }
}

fn at(x: f32, y: f32) -> PrimMotion {
    let motion = Motion { position: Vec3::new(x, y, 30.0), ..Motion::default() };
    PrimMotion { motion, ..PrimMotion::NONE }
}

/// Objects with their colliders, in a world without avatars.
struct Region {
    objects: ObjectStore,
    solids: Option<Box<Solids>>,
    roster: Roster,
    ground: SolidGround,
}

impl Region {
    fn new() -> Self {
        let objects = ObjectStore::restored(&IDS, StoredObjects::default()).expect("no objects");
        let ground = SolidGround { terrain: Arc::new(Terrain::flat(SIZE_M, 21.0)), water_m: 20.0 };
        Self { objects, solids: None, roster: Roster::default(), ground }
    }

    fn insert(&mut self, motion: PrimMotion, body: Body) -> LocalId {
        self.objects.insert(motion, Arc::new(body)).expect("room")
    }

    fn step(&mut self) {
        Solids::follow(&mut self.solids, &self.objects, &mut self.roster, &self.ground, TICK);
        self.objects.write_changes(&mut Vec::new());
    }

    fn solids(&self) -> &Solids {
        self.solids.as_deref().expect("objects")
    }

    /// The collider that a ray from above meets.
    fn below(&self, x: f32, y: f32) -> Option<RayHit> {
        let (from, to) = (Vec3::new(x, y, 90.0), Vec3::new(x, y, 0.0));
        self.solids().colliders.cast_ray(from, to, |_, _| true)
    }

    /// Colliders follow from the objects alone.
    #[track_caller]
    fn check(&self) {
        let (stored, assets) = (self.solids().stored(), self.solids().stored_assets());
        let anew = Solids::restored(&self.objects, SIZE_M, stored, assets.clone()).expect("its own state");
        assert_eq!(anew.colliders.len(), self.solids().colliders.len());
        assert_eq!(anew.stored_assets(), assets);
        for (id, ..) in self.objects.prims() {
            assert_eq!(anew.oriented_box(id), self.solids().oriented_box(id), "{id:?}");
        }
    }
}

#[test]
fn colliders_come_move_and_go_with_their_prims() {
    let mut region = Region::new();
    let id = region.insert(at(50.0, 50.0), body(1));
    region.step();
    assert_eq!(region.below(50.0, 50.0).map(|hit| hit.id), Some(id));
    region.objects.set_motion(id, at(60.0, 50.0).motion).unwrap();
    region.step();
    assert!(region.below(50.0, 50.0).is_none() && region.below(60.0, 50.0).is_some());
    region.objects.edit_body(id, ObjectMask::SHAPE, |body| body.scale = Vec3::splat(6.0)).unwrap();
    region.step();
    let top = region.below(62.5, 50.0).expect("its upper side").point.z;
    assert!((top - 33.0).abs() < 1e-3, "{top}");
    region.check();
    region.objects.remove(id).unwrap();
    region.step();
    assert!(region.solids.is_none(), "nothing is kept without objects");
}

#[test]
fn parts_follow_their_root_and_stay_where_they_are_without_it() {
    let mut region = Region::new();
    let prims: Vec<LocalId> =
        (0..20_u8).map(|n| region.insert(at(50.0 + 2.0 * f32::from(n), 50.0), body(n.into()))).collect();
    for &part in &prims[1..] {
        region.objects.link(prims[0], part).unwrap();
    }
    region.step();
    region.check();
    let turned = Motion { rotation: Quat::from_rotation_z(1.0), ..at(100.0, 100.0).motion };
    region.objects.set_motion(prims[0], turned).unwrap();
    region.step();
    region.check();
    let last = region.solids().oriented_box(prims[19]).expect("a collider").centre;
    assert!(last.distance(turned.position + turned.rotation * Vec3::X * 38.0) < 1e-3, "{last}");
    region.objects.unlink(prims[0]).unwrap();
    region.objects.set_motion(prims[0], at(20.0, 20.0).motion).unwrap();
    region.step();
    region.check();
    let stays = region.solids().oriented_box(prims[19]).expect("a collider").centre;
    assert!(stays.distance(last) < 1e-3, "{stays}");
}

#[test]
fn phantoms_and_prims_without_a_form_stop_nothing() {
    let mut region = Region::new();
    let phantom = PrimMotion { flags: PrimFlags::PHANTOM, ..at(50.0, 50.0) };
    let detector = PrimMotion { flags: PrimFlags::VOLUME_DETECT, ..at(60.0, 50.0) };
    let mut formless = body(3);
    formless.physics.shape = PhysicsShape::None;
    let mut flexible = body(4);
    flexible.extra_params = flexible.extra_params.with(ExtraParam::Flexible, Some(&[0; 16])).unwrap();
    region.insert(phantom, body(1));
    region.insert(detector, body(2));
    region.insert(at(70.0, 50.0), formless);
    region.insert(at(80.0, 50.0), flexible);
    region.step();
    for x in [50.0, 60.0, 70.0] {
        assert!(region.below(x, 50.0).is_some(), "a pointer meets it");
        assert!(region.solids().is_free(Vec3::new(x, 50.0, 90.0), Vec3::new(x, 50.0, 0.0)));
    }
    assert!(region.below(80.0, 50.0).is_none(), "its form moves at clients alone");
    let id = region.insert(at(100.0, 50.0), body(6));
    region.step();
    region.objects.set_flags(id, PrimFlags::PHANTOM).unwrap();
    region.step();
    assert!(region.solids().is_free(Vec3::new(100.0, 50.0, 90.0), Vec3::new(100.0, 50.0, 0.0)));
    region.objects.set_flags(id, PrimFlags::default()).unwrap();
    region.step();
    assert!(!region.solids().is_free(Vec3::new(100.0, 50.0, 90.0), Vec3::new(100.0, 50.0, 0.0)));
}

#[test]
fn forms_are_built_in_portions_in_the_order_of_their_changes() {
    // A step has 2,048 units of work; a plain torus of 192 triangles takes 20.
    const PORTION: usize = 103;
    let mut region = Region::new();
    let torus = |n: u128| Body { shape: Shape::plain(ShapeKind::Torus), ..body(n) };
    let prims: Vec<LocalId> =
        (0..300_u16).map(|n| region.insert(at(f32::from(n % 200) + 20.0, 50.0), torus(n.into()))).collect();
    region.step();
    assert_eq!(region.solids().colliders.len(), PORTION);
    region.check();
    let has_form = |n: usize| region.solids().oriented_box(prims[n]).is_some();
    assert!(has_form(PORTION - 1) && !has_form(PORTION));
    // A moved one stays without, and a removed one does not come.
    region.objects.set_motion(prims[299], at(30.0, 30.0).motion).unwrap();
    region.objects.remove(prims[250]).unwrap();
    region.step();
    region.check();
    assert_eq!(region.solids().colliders.len(), 2 * PORTION);
    region.step();
    assert!(!region.solids().is_waiting());
    assert_eq!(region.solids().colliders.len(), 299);
    let moved = region.solids().oriented_box(prims[299]).expect("a collider").centre;
    assert!(moved.truncate().distance(Vec2::splat(30.0)) < 0.5, "{moved}");
    region.check();
}

#[test]
fn a_prim_that_is_worn_or_too_far_away_has_no_collider_until_it_is_back() {
    let mut region = Region::new();
    let id = region.insert(at(50.0, 50.0), body(1));
    region.step();
    let worn = region.objects.wear(id, LocalId(IDS.end - 1), at(0.5, 0.0).motion).unwrap();
    region.step();
    region.check();
    assert!(region.solids().oriented_box(worn).is_none() && region.solids().oriented_box(id).is_none());
    let id = region.objects.put_down(worn, at(60.0, 50.0).motion).unwrap();
    region.step();
    assert_eq!(region.below(60.0, 50.0).map(|hit| hit.id), Some(id));
    for (x, is_there) in [(1e9, false), (70.0, true)] {
        region.objects.set_motion(id, at(x, 50.0).motion).unwrap();
        region.step();
        region.check();
        assert_eq!(region.solids().oriented_box(id).is_some(), is_there);
    }
}

#[test]
fn a_list_of_waiting_prims_that_no_run_leads_to_is_refused() {
    let mut region = Region::new();
    let id = region.insert(at(50.0, 50.0), body(1));
    region.step();
    let restored = |waiting: Vec<LocalId>| {
        Solids::restored(&region.objects, SIZE_M, StoredSolids { waiting }, StoredAssetSolids::default())
    };
    assert!(restored(vec![id, id]).is_none());
    assert!(restored(vec![id]).expect("possible").oriented_box(id).is_none());
}

#[test]
fn prims_with_other_owners_flags_or_materials_keep_their_colliders() {
    let mut region = Region::new();
    let cut = |n: u128| Body { shape: Shape::plain(ShapeKind::Torus), ..body(n) };
    let prims: Vec<LocalId> =
        (0..200_u8).map(|n| region.insert(at(f32::from(n) + 20.0, 50.0), cut(n.into()))).collect();
    region.step();
    region.step();
    assert_eq!((region.solids().colliders.len(), region.solids().is_waiting()), (200, false));
    for &id in &prims {
        region.objects.edit_body(id, ObjectMask::FLAGS, |body| body.material = Material::Plastic).unwrap();
        region.objects.set_flags(id, PrimFlags::PHANTOM).unwrap();
    }
    region.step();
    assert_eq!((region.solids().colliders.len(), region.solids().is_waiting()), (200, false));
    assert!(region.solids().is_free(Vec3::new(20.0, 50.0, 90.0), Vec3::new(20.0, 50.0, 0.0)));
    region.check();
}
