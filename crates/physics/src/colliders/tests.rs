use super::*;
use crate::shape::ShapeCache;
use prim::{Shape, ShapeKind};
use proptest::prelude::*;

fn block(position: Vec3, scale: Vec3) -> Placement {
    Placement { position, rotation: Quat::IDENTITY, scale }
}

fn insert(colliders: &mut Colliders, id: u32, geometry: &Geometry, placement: &Placement) {
    colliders.insert(LocalId(id), ColliderKind::Solid, geometry, placement).unwrap();
}

#[test]
fn a_collider_is_found_where_it_is_and_no_longer_where_it_was() {
    let mut colliders = Colliders::new(256);
    insert(&mut colliders, 5, &Geometry::BOX, &block(Vec3::new(10.0, 10.0, 1.0), Vec3::splat(6.0)));
    insert(&mut colliders, 3, &Geometry::BOX, &block(Vec3::new(12.0, 10.0, 1.0), Vec3::splat(1.0)));
    insert(&mut colliders, 4, &Geometry::BOX, &block(Vec3::new(40.0, 40.0, 1.0), Vec3::new(40.0, 1.0, 1.0)));
    let there = Aabb { low: Vec3::new(8.0, 8.0, 0.0), high: Vec3::new(14.0, 14.0, 2.0) };
    let elsewhere = Aabb { low: Vec3::new(25.0, 39.0, 0.0), high: Vec3::new(26.0, 41.0, 2.0) };
    assert_eq!(colliders.ids_in(&there), [LocalId(3), LocalId(5)]);
    assert_eq!(colliders.ids_in(&elsewhere), [LocalId(4)]);
    assert_eq!(colliders.relocate(LocalId(5), Vec3::new(25.0, 40.0, 1.0), Quat::IDENTITY), Ok(true));
    assert_eq!(colliders.ids_in(&there), [LocalId(3)]);
    assert_eq!(colliders.ids_in(&elsewhere), [LocalId(4), LocalId(5)]);
    assert!(colliders.remove(LocalId(4)) && !colliders.remove(LocalId(4)));
    assert_eq!(colliders.relocate(LocalId(4), Vec3::ZERO, Quat::IDENTITY), Ok(false));
    assert_eq!(colliders.ids_in(&elsewhere), [LocalId(5)]);
    insert(&mut colliders, 5, &Geometry::Empty, &block(Vec3::ZERO, Vec3::ONE));
    assert_eq!((colliders.ids_in(&elsewhere), colliders.len()), (vec![], 1));
}

#[test]
fn placements_that_are_none_are_refused_and_change_nothing() {
    let mut colliders = Colliders::new(256);
    insert(&mut colliders, 1, &Geometry::BOX, &block(Vec3::splat(10.0), Vec3::ONE));
    let good = block(Vec3::splat(50.0), Vec3::ONE);
    let bad = [
        Placement { position: Vec3::new(f32::NAN, 0.0, 0.0), ..good },
        Placement { position: Vec3::new(0.0, 1e30, 0.0), ..good },
        Placement { scale: Vec3::new(1.0, f32::INFINITY, 1.0), ..good },
        Placement { scale: Vec3::new(1.0, 0.0, 1.0), ..good },
        Placement { scale: Vec3::new(1.0, -1.0, 1.0), ..good },
        Placement { rotation: Quat::from_xyzw(0.0, 0.0, 0.0, 0.0), ..good },
        Placement { rotation: Quat::from_xyzw(f32::NAN, 0.0, 0.0, 1.0), ..good },
    ];
    for placement in bad {
        let refused = colliders.insert(LocalId(1), ColliderKind::Solid, &Geometry::BOX, &placement);
        assert_eq!(refused, Err(ColliderError), "{placement:?}");
    }
    assert_eq!(colliders.relocate(LocalId(1), Vec3::NAN, Quat::IDENTITY), Err(ColliderError));
    let around = Aabb { low: Vec3::splat(9.0), high: Vec3::splat(11.0) };
    assert_eq!(colliders.ids_in(&around), [LocalId(1)]);
}

#[test]
fn a_ray_hits_the_nearest_face() {
    let mut cache = ShapeCache::default();
    let mut colliders = Colliders::new(256);
    insert(
        &mut colliders,
        1,
        &Geometry::BOX,
        &block(Vec3::new(100.0, 100.0, 20.0), Vec3::new(2.0, 4.0, 6.0)),
    );
    let sphere = cache.of_shape(&Shape::plain(ShapeKind::Sphere), Vec3::splat(4.0));
    insert(&mut colliders, 2, &sphere, &block(Vec3::new(120.0, 100.0, 20.0), Vec3::splat(4.0)));
    // Under everything, in the coarse grid.
    insert(
        &mut colliders,
        3,
        &Geometry::BOX,
        &block(Vec3::new(128.0, 128.0, 10.0), Vec3::new(250.0, 250.0, 1.0)),
    );
    let cast = |from: Vec3, to: Vec3| colliders.cast_ray(from, to, |_, _| true);
    let east = cast(Vec3::new(50.0, 100.5, 20.0), Vec3::new(200.0, 100.5, 20.0)).unwrap();
    assert_eq!((east.id, east.normal, east.face), (LocalId(1), Vec3::NEG_X, 4));
    assert!(east.point.distance(Vec3::new(99.0, 100.5, 20.0)) < 1e-3 && (east.distance - 49.0).abs() < 1e-3);
    let west = cast(Vec3::new(200.0, 100.3, 20.2), Vec3::new(50.0, 100.3, 20.2)).unwrap();
    assert_eq!(west.id, LocalId(2));
    assert!((west.point.x - 122.0).abs() < 0.1 && west.normal.x > 0.9, "{west:?}");
    let down = cast(Vec3::new(100.0, 101.0, 90.0), Vec3::new(100.0, 101.0, 0.0)).unwrap();
    assert_eq!((down.id, down.normal, down.face), (LocalId(1), Vec3::Z, 0));
    let beside = cast(Vec3::new(110.0, 101.0, 90.0), Vec3::new(110.0, 101.0, 0.0)).unwrap();
    assert_eq!((beside.id, beside.point.z), (LocalId(3), 10.5));
    assert_eq!(cast(Vec3::new(110.0, 101.0, 90.0), Vec3::new(110.0, 101.0, 11.0)), None, "too short");
    assert_eq!(cast(Vec3::NAN, Vec3::ZERO), None);
    let through = colliders
        .cast_ray(Vec3::new(50.0, 100.5, 20.0), Vec3::new(200.0, 100.5, 20.0), |id, _| id != LocalId(1));
    assert_eq!(through.map(|hit| hit.id), Some(LocalId(2)));
    let inside = cast(Vec3::new(100.0, 100.0, 20.0), Vec3::new(130.0, 100.0, 20.0)).unwrap();
    assert_eq!(inside.id, LocalId(2), "a ray leaves the box that it begins in");
}

#[test]
fn rays_reach_prims_that_stand_over_the_border() {
    let mut colliders = Colliders::new(256);
    insert(
        &mut colliders,
        1,
        &Geometry::BOX,
        &block(Vec3::new(255.0, 100.0, 20.0), Vec3::new(12.0, 2.0, 2.0)),
    );
    let hit = colliders.cast_ray(Vec3::new(260.0, 90.0, 20.0), Vec3::new(260.0, 190.0, 20.0), |_, _| true);
    assert_eq!(hit.map(|hit| hit.id), Some(LocalId(1)));
    let far = colliders.cast_ray(Vec3::new(1e9, 100.0, 20.0), Vec3::new(0.0, 100.0, 20.0), |_, _| true);
    assert_eq!(far.map(|hit| hit.id), Some(LocalId(1)));
}

#[test]
fn phantoms_are_hit_by_rays_that_ask_for_them() {
    let mut colliders = Colliders::new(256);
    let placement = block(Vec3::splat(20.0), Vec3::ONE);
    colliders.insert(LocalId(1), ColliderKind::Phantom, &Geometry::BOX, &placement).unwrap();
    let ray = (Vec3::new(10.0, 20.0, 20.0), Vec3::new(30.0, 20.0, 20.0));
    assert!(colliders.cast_ray(ray.0, ray.1, |_, _| true).is_some());
    assert!(colliders.cast_ray(ray.0, ray.1, |_, kind| kind == ColliderKind::Solid).is_none());
}

#[test]
fn a_change_is_noticed_in_the_cells_that_it_touches() {
    let mut colliders = Colliders::new(256);
    let window = |x: f32| Aabb { low: Vec3::new(x, 100.0, 0.0), high: Vec3::new(x + 6.0, 106.0, 9.0) };
    insert(&mut colliders, 1, &Geometry::BOX, &block(Vec3::new(103.0, 103.0, 1.0), Vec3::ONE));
    let version = colliders.version();
    let turned = Quat::from_rotation_z(0.1);
    assert_eq!(colliders.relocate(LocalId(1), Vec3::new(103.0, 103.0, 1.0), turned), Ok(true));
    assert!(
        colliders.has_changed(&window(100.0), version) && !colliders.has_changed(&window(120.0), version)
    );
    let version = colliders.version();
    colliders.remove(LocalId(1));
    assert!(
        colliders.has_changed(&window(100.0), version) && !colliders.has_changed(&window(120.0), version)
    );
}

#[test]
fn memory_of_a_prim_is_as_stated() {
    let mut colliders = Colliders::new(256);
    let empty = colliders.bytes();
    for id in 0..16_384 {
        let position = Vec3::new((id % 128) as f32 * 2.0, (id / 128) as f32 * 2.0, 1.0);
        insert(&mut colliders, id, &Geometry::BOX, &block(position, Vec3::splat(1.2)));
    }
    let each = (colliders.bytes() - empty) / 16_384;
    assert!((120..=190).contains(&each), "{each} bytes");
    assert_eq!(empty, 32 * (64 * 64 + 4 * 4), "32 bytes a cell");
}

/// A prim of a sphere or a box, anywhere in a corner of the region.
fn placed() -> impl Strategy<Value = (bool, Placement)> {
    let position = [-5.0_f32..40.0, -5.0..40.0, 0.0..20.0].prop_map(Vec3::from);
    let scale = [0.1_f32..8.0, 0.1..8.0, 0.1..30.0].prop_map(Vec3::from);
    let rotation = [-1.0_f32..1.0, -1.0..1.0, -1.0..1.0, 0.1..1.0]
        .prop_map(|[x, y, z, w]| Quat::from_xyzw(x, y, z, w).normalize());
    (any::<bool>(), position, rotation, scale)
        .prop_map(|(is_box, position, rotation, scale)| (is_box, Placement { position, rotation, scale }))
}

/// Sizes of prims, the least and the greatest ones among them.
fn sizes() -> impl Strategy<Value = Vec3> {
    let size = || prop::sample::select(vec![0.001_f32, 0.01, 0.5, 20.0, 256.0]);
    [size(), size(), size()].prop_map(Vec3::from)
}

proptest! {
    #[test]
    fn a_ray_hits_a_thin_or_huge_solid_whose_middle_it_aims_at(
        (is_box, placement) in placed(), scale in sizes(), away in placed(),
    ) {
        let mut cache = ShapeCache::default();
        let geometry = if is_box { Geometry::BOX } else { cache.of_shape(&Shape::plain(ShapeKind::Sphere), Vec3::splat(4.0)) };
        let mut colliders = Colliders::new(1_024);
        let placement = Placement { position: Vec3::new(512.0, 512.0, 300.0), scale, ..placement };
        insert(&mut colliders, 1, &geometry, &placement);
        let from = placement.position + away.1.rotation * Vec3::X * 300.0;
        let hit = colliders.cast_ray(from, placement.position, |_, _| true).expect("it aims at the middle");
        prop_assert!(hit.normal.is_normalized());
        let own = placement.rotation.inverse() * (hit.point - placement.position);
        let beyond = (own.abs() - placement.scale / 2.0).max_element();
        prop_assert!(beyond < 1e-3, "{} m beyond it", beyond);
        prop_assert_eq!(colliders.ids_in(&Aabb { low: placement.position, high: placement.position }), [LocalId(1)]);
        prop_assert!(colliders.remove(LocalId(1)) && colliders.is_empty());
    }

    #[test]
    fn queries_find_what_a_search_of_all_finds(
        prims in prop::collection::vec(placed(), 1..30), moves in prop::collection::vec((0_usize..30, placed()), 0..30),
        from in [-20.0_f32..60.0, -20.0..60.0, -5.0..30.0].prop_map(Vec3::from),
        to in [-20.0_f32..60.0, -20.0..60.0, -5.0..30.0].prop_map(Vec3::from),
    ) {
        let mut cache = ShapeCache::default();
        let sphere = cache.of_shape(&Shape::plain(ShapeKind::Sphere), Vec3::splat(4.0));
        let geometry = |is_box: bool| if is_box { Geometry::BOX } else { sphere.clone() };
        let mut colliders = Colliders::new(256);
        let mut prims = prims;
        for (id, (is_box, placement)) in (0_u32..).zip(&prims) {
            insert(&mut colliders, id, &geometry(*is_box), placement);
        }
        for (index, (_, placement)) in moves {
            let index = index % prims.len();
            let place = Placement { scale: prims[index].1.scale, ..placement };
            prop_assert_eq!(colliders.relocate(LocalId(index as u32), place.position, place.rotation), Ok(true));
            prims[index].1 = place;
        }
        let area = Aabb { low: from.min(to), high: from.max(to) };
        let mut expected = (Vec::new(), None::<RayHit>);
        for (id, (is_box, placement)) in (0_u32..).zip(&prims) {
            let mut alone = Colliders::new(256);
            insert(&mut alone, id, &geometry(*is_box), placement);
            expected.0.extend(alone.ids_in(&area));
            let hit = alone.cast_ray(from, to, |_, _| true);
            if hit.is_some_and(|hit| expected.1.is_none_or(|nearest| hit.distance < nearest.distance)) {
                expected.1 = hit;
            }
        }
        prop_assert_eq!(colliders.ids_in(&area), expected.0);
        let found = colliders.cast_ray(from, to, |_, _| true);
        prop_assert_eq!(found.map(|hit| hit.distance), expected.1.map(|hit| hit.distance));
    }

    #[test]
    fn a_ray_from_outside_hits_a_solid_whose_middle_it_aims_at((is_box, placement) in placed(), away in placed()) {
        let mut cache = ShapeCache::default();
        let geometry = if is_box { Geometry::BOX } else { cache.of_shape(&Shape::plain(ShapeKind::Sphere), Vec3::splat(4.0)) };
        let mut colliders = Colliders::new(256);
        insert(&mut colliders, 1, &geometry, &placement);
        let from = placement.position + away.1.rotation * Vec3::X * 50.0;
        let hit = colliders.cast_ray(from, placement.position, |_, _| true).expect("it aims at the middle");
        prop_assert!(hit.normal.is_normalized() && hit.normal.dot(placement.position - from) < 0.0);
        let own = placement.rotation.inverse() * (hit.point - placement.position) / placement.scale;
        if is_box {
            prop_assert!((own.abs().max_element() - 0.5).abs() < 1e-3, "{}", own);
        } else {
            prop_assert!((0.46..0.5005).contains(&own.length()), "{}", own.length());
        }
    }
}

#[test]
fn changes_are_remembered_with_their_places_before_and_after_them() {
    let mut colliders = Colliders::new(256);
    insert(&mut colliders, 1, &Geometry::BOX, &block(Vec3::splat(10.0), Vec3::ONE));
    insert(&mut colliders, 2, &Geometry::BOX, &block(Vec3::splat(20.0), Vec3::ONE));
    let seen = colliders.version();
    let since = |colliders: &Colliders, version| {
        colliders.changed_since(version).map(|changes| changes.collect::<Vec<(LocalId, Aabb)>>())
    };
    assert_eq!(since(&colliders, seen), Some(Vec::new()));
    colliders.relocate(LocalId(2), Vec3::splat(30.0), Quat::IDENTITY).unwrap();
    assert!(colliders.set_kind(LocalId(1), ColliderKind::Phantom) && colliders.remove(LocalId(1)));
    let [moved, phantom, gone] = since(&colliders, seen).expect("lately")[..] else {
        panic!("three changes")
    };
    assert_eq!((moved.0, moved.1.low, moved.1.high), (LocalId(2), Vec3::splat(19.5), Vec3::splat(30.5)));
    for (id, area) in [phantom, gone] {
        assert_eq!((id, area.low, area.high), (LocalId(1), Vec3::splat(9.5), Vec3::splat(10.5)));
    }
    for n in 0..CHANGES_MAX {
        colliders.relocate(LocalId(2), Vec3::splat(30.0 + n as f32 * 0.01), Quat::IDENTITY).unwrap();
    }
    assert_eq!(since(&colliders, seen), None, "too long ago");
    assert_eq!(since(&colliders, seen + 3).map(|changes| changes.len()), Some(CHANGES_MAX));
}

#[test]
fn a_box_that_is_nearly_upright_is_upright_while_its_corners_show_no_difference() {
    let upright_axis = |size: f32, tilt: f32| {
        let placement = block(Vec3::splat(128.0), Vec3::splat(size));
        let placement = Placement { rotation: Quat::from_rotation_x(tilt), ..placement };
        Collider::new(&Geometry::BOX, &placement).expect("a place").expect("a solid").upright_axis()
    };
    for (size, tilt, expected) in [
        (1.0, 3e-4, Some(2)),
        (64.0, 3e-4, Some(2)),
        (256.0, 3e-4, None),
        (256.0, 1e-4, Some(2)),
        (256.0, 0.0, Some(2)),
        (0.001, 2e-3, None),
    ] {
        assert_eq!(upright_axis(size, tilt), expected, "{size} m, {tilt} rad");
    }
}
