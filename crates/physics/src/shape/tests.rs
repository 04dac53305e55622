use super::build;
use super::detail::Detail;
use super::mesh::MeshKind;
use super::*;
use core::f64::consts::PI;
use glam::Vec3;
use prim::{Hole, Profile, Shape, ShapeKind};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn build(shape: &Shape) -> Geometry {
    build::build(shape, Detail::of_scale(Vec3::splat(9.0)))
}

fn mesh(shape: Shape) -> Arc<SolidMesh> {
    match build(&shape) {
        Geometry::Mesh(mesh) => mesh,
        other => panic!("{shape:?} is {other:?}"),
    }
}

fn plain(kind: ShapeKind) -> Shape {
    Shape::plain(kind)
}

/// Each edge belongs to two triangles, in opposite directions.
fn is_closed(mesh: &SolidMesh) -> bool {
    let mut edges: BTreeMap<(u16, u16), u32> = BTreeMap::new();
    for &[a, b, c] in mesh.triangles() {
        for edge in [(a, b), (b, c), (c, a)] {
            *edges.entry(edge).or_default() += 1;
        }
    }
    edges.iter().all(|(&(a, b), &count)| count == 1 && edges.get(&(b, a)) == Some(&1))
}

#[track_caller]
fn assert_volume(shape: Shape, expected: f64, tolerance: f64) {
    let mesh = mesh(shape);
    assert!(is_closed(&mesh), "{shape:?}");
    let error = (mesh.volume() / expected - 1.0).abs();
    assert!(error < tolerance, "{} of {expected}: {shape:?}", mesh.volume());
}

#[test]
fn plain_shapes_have_the_volumes_of_their_solids() {
    assert_volume(plain(ShapeKind::Cylinder), PI / 4.0, 0.02);
    assert_volume(plain(ShapeKind::Prism), 0.75_f64.sqrt() * 0.375, 1e-4);
    assert_volume(plain(ShapeKind::Sphere), PI / 6.0, 0.03);
    // Area of the profile times the way of its centre.
    let way = 2.0 * PI * 0.375;
    assert_volume(plain(ShapeKind::Torus), way * PI / 4.0 * 0.25, 0.07);
    assert_volume(plain(ShapeKind::Tube), way * 0.25, 0.02);
    assert_volume(plain(ShapeKind::Ring), way * 0.75_f64.sqrt() * 0.375 * 0.25, 0.02);
}

#[test]
fn parameters_change_volumes_as_in_viewers() {
    assert_volume(Shape { profile_hollow: 25_000, ..Shape::BOX }, 0.75, 1e-4);
    let round_hole = Hole::Circle as u8;
    let holed =
        Shape { profile_curve: Profile::Square as u8 | round_hole, profile_hollow: 25_000, ..Shape::BOX };
    assert_volume(holed, 1.0 - PI / 16.0, 0.01);
    assert_volume(Shape { profile_end: 25_000, ..Shape::BOX }, 0.5, 1e-4);
    assert_volume(Shape { path_scale_x: 200, path_scale_y: 200, ..Shape::BOX }, 1.0 / 3.0, 1e-4);
    assert_volume(Shape { path_scale_x: 200, ..Shape::BOX }, 0.5, 1e-4);
    assert_volume(Shape { path_shear_x: 50, path_shear_y: -50, ..Shape::BOX }, 1.0, 1e-4);
    assert_volume(Shape { path_scale_x: 0, path_begin: 25_000, ..Shape::BOX }, 0.375, 1e-4);
    // Twisted sides are cut into triangles along diagonals that lie inside the solid, or outside.
    assert_volume(Shape { path_twist: 50, ..Shape::BOX }, 1.0, 0.1);
    assert_volume(Shape { path_twist: -50, ..Shape::BOX }, 1.0, 0.1);
    let cone = Shape { path_scale_x: 200, path_scale_y: 200, ..plain(ShapeKind::Cylinder) };
    assert_volume(cone, PI / 12.0, 0.02);
    let sphere = plain(ShapeKind::Sphere);
    assert_volume(Shape { path_end: 25_000, ..sphere }, PI / 12.0, 0.03);
    assert_volume(Shape { profile_hollow: 25_000, ..sphere }, PI / 6.0 * 0.875, 0.03);
    // A dimple of half the profile leaves the half on one side of the equator.
    assert_volume(Shape { profile_begin: 25_000, ..sphere }, PI / 12.0, 0.03);
    let torus = plain(ShapeKind::Torus);
    let way = 2.0 * PI * 0.375;
    assert_volume(Shape { path_skew: 50, ..torus }, way * PI / 4.0 * 0.25 * 0.5, 0.07);
    assert_volume(Shape { path_begin: 12_500, ..torus }, way * PI / 4.0 * 0.25 * 0.75, 0.07);
    assert_volume(Shape { profile_hollow: 25_000, ..torus }, way * PI / 4.0 * 0.25 * 0.75, 0.07);
}

#[test]
fn a_plain_box_has_no_mesh_and_a_slice_shortens_it() {
    assert_eq!(build(&Shape::BOX), Geometry::BOX);
    let sliced = build(&Shape { path_begin: 12_500, path_end: 5_000, ..Shape::BOX });
    let bounds = Aabb { low: Vec3::new(-0.5, -0.5, -0.25), high: Vec3::new(0.5, 0.5, 0.4) };
    let Geometry::Box(found) = sliced else { panic!("a box") };
    assert!(found.low.distance(bounds.low) < 1e-6 && found.high.distance(bounds.high) < 1e-6);
}

#[test]
fn flexible_prims_are_empty_and_curves_of_old_content_are_boxes() {
    assert_eq!(build(&Shape { path_curve: prim::Path::Flexible as u8, ..Shape::BOX }), Geometry::Empty);
    for path in [prim::Path::Circle2 as u8, prim::Path::Test as u8, 0x99] {
        assert_eq!(build(&Shape { path_curve: path, ..plain(ShapeKind::Torus) }), Geometry::BOX);
    }
}

#[test]
fn solids_that_are_primitives_are_recognised() {
    let form = |kind, scale| build(&plain(kind)).form(scale).unwrap();
    let even = Vec3::splat(2.0);
    assert_eq!(form(ShapeKind::Box, even), SolidForm::Box { centre: Vec3::ZERO, half: Vec3::ONE });
    assert_eq!(form(ShapeKind::Sphere, even), SolidForm::Sphere { radius: 1.0 });
    let SolidForm::Cylinder { radius, low_z, high_z } = form(ShapeKind::Cylinder, even.with_z(6.0)) else {
        panic!("a cylinder");
    };
    assert_eq!((radius, low_z, high_z), (1.0, -3.0, 3.0));
    let SolidForm::Prism { corners } = form(ShapeKind::Prism, even) else { panic!("a prism") };
    assert_eq!((corners[0], corners[3]), (Vec3::new(1.0, 0.0, -1.0), Vec3::new(1.0, 0.0, 1.0)));
    assert!(matches!(form(ShapeKind::Sphere, even.with_x(3.0)), SolidForm::Hull { .. }));
    assert!(matches!(form(ShapeKind::Torus, even), SolidForm::Triangles { .. }));
    let pyramid = Shape { path_scale_x: 200, path_scale_y: 200, ..Shape::BOX };
    assert!(matches!(build(&pyramid).form(even), Some(SolidForm::Hull { .. })));
    assert_eq!(Geometry::Empty.form(even), None);
}

/// Faces that segments from the middle meet, east, north, west, south, up and down.
fn faces_around(shape: Shape) -> [Option<u8>; 6] {
    let mesh = mesh(shape);
    [Vec3::X, Vec3::Y, Vec3::NEG_X, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z].map(|way| {
        let hit = mesh.cast(&Segment { from: Vec3::ZERO, way }, 1.0)?;
        Some(mesh.faces()[hit.triangle])
    })
}

#[test]
fn a_hollow_box_is_a_room_with_four_walls_that_is_open_at_both_ends() {
    let room = Shape { profile_hollow: 47_500, ..Shape::BOX };
    assert_eq!(faces_around(room), [Some(5), Some(5), Some(5), Some(5), None, None]);
    // Without its southern side, from corner to corner.
    let open = Shape { profile_begin: 12_500, ..room };
    assert_eq!(faces_around(open), [Some(4), Some(4), Some(4), None, None, None]);
}

#[test]
fn faces_are_numbered_as_by_viewers() {
    let inwards = |shape: Shape, from: Vec3| {
        let mesh = mesh(shape);
        let hit = mesh.cast(&Segment { from, way: -from * 0.98 }, 1.0).unwrap();
        mesh.faces()[hit.triangle]
    };
    let tapered = Shape { path_scale_x: 101, ..Shape::BOX };
    let sides = [Vec3::Z, Vec3::NEG_Y, Vec3::X, Vec3::Y, Vec3::NEG_X, Vec3::NEG_Z];
    assert_eq!(sides.map(|side| inwards(tapered, side)), [0, 1, 2, 3, 4, 5]);
    let cylinder = plain(ShapeKind::Cylinder);
    assert_eq!([Vec3::Z, Vec3::X, Vec3::NEG_Z].map(|side| inwards(cylinder, side)), [0, 1, 2]);
    // Closed paths have no ends.
    assert_eq!(inwards(plain(ShapeKind::Sphere), Vec3::new(0.3, 1.0, 0.2)), 0);
}

#[test]
fn smaller_prims_have_fewer_triangles() {
    let triangles = |scale| {
        let torus = build::build(&plain(ShapeKind::Torus), Detail::of_scale(scale));
        let Geometry::Mesh(mesh) = torus else { panic!("a mesh") };
        mesh.triangles().len()
    };
    assert_eq!(triangles(Vec3::new(0.5, 0.2, 0.1)), 2 * 8 * 8);
    assert_eq!(triangles(Vec3::new(0.5, 1.0, 0.1)), 2 * 12 * 8);
    assert_eq!(triangles(Vec3::new(0.5, 2.0, 0.1)), 2 * 16 * 8);
    assert_eq!(triangles(Vec3::new(0.5, 2.1, 0.1)), 2 * 24 * 12);
}

#[test]
fn a_sphere_touches_its_bounds() {
    let bounds = mesh(plain(ShapeKind::Sphere)).bounds();
    assert!(bounds.low.distance(Aabb::UNIT.low) < 1e-5 && bounds.high.distance(Aabb::UNIT.high) < 1e-5);
}

prop_compose! {
    fn any_shape()(
        path_curve in prop::sample::select(vec![0x10_u8, 0x20, 0x20]),
        (profile, hole) in (0_u8..6, 0_u8..4),
        (path_begin, path_end, profile_begin, profile_end) in any::<(u16, u16, u16, u16)>(),
        (cuts_path, cuts_profile, profile_hollow) in (any::<bool>(), any::<bool>(), prop_oneof![Just(0), any::<u16>()]),
        (path_scale_x, path_scale_y, path_shear_x, path_shear_y) in any::<(u8, u8, i8, i8)>(),
        (path_twist, path_twist_begin, path_radius_offset) in any::<(i8, i8, i8)>(),
        (path_taper_x, path_taper_y, path_revolutions, path_skew) in any::<(i8, i8, u8, i8)>(),
        is_bent in any::<bool>(),
    ) -> Shape {
        let cut = |cuts: bool, share: u16| if cuts { share } else { 0 };
        let bend = |code: i8| if is_bent { code } else { 0 };
        Shape {
            path_curve, profile_curve: profile | hole << 4, path_begin: cut(cuts_path, path_begin),
            path_end: cut(cuts_path, path_end), profile_begin: cut(cuts_profile, profile_begin),
            profile_end: cut(cuts_profile, profile_end), profile_hollow, path_scale_x, path_scale_y,
            path_shear_x, path_shear_y, path_twist: bend(path_twist), path_twist_begin: bend(path_twist_begin),
            path_radius_offset: bend(path_radius_offset), path_taper_x: bend(path_taper_x),
            path_taper_y: bend(path_taper_y), path_revolutions: if is_bent { path_revolutions } else { 0 },
            path_skew: bend(path_skew),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_shape_is_a_finite_closed_surface_of_bounded_size(shape in any_shape(), size in 0.1_f32..4.0) {
        let Geometry::Mesh(mesh) = build::build(&shape, Detail::of_scale(Vec3::splat(size))) else { return Ok(()) };
        prop_assert!(mesh.triangles().len() <= TRIANGLES_MAX);
        let bounds = mesh.bounds();
        prop_assert!(bounds.low.is_finite() && bounds.high.is_finite());
        prop_assert!(Aabb::UNIT.grown(Vec3::splat(1.5)).contains(&bounds), "{:?}", bounds);
        for &vertex in mesh.vertices() {
            prop_assert!(bounds.low.cmple(vertex).all() && bounds.high.cmpge(vertex).all());
        }
        prop_assert!(is_closed(&mesh));
        // A thin slice or wall may turn inside out where it is twisted.
        let is_thin = shape.profile_hollow > 0 || shape.profile_begin > 0 || shape.profile_end > 0;
        if shape.path_curve == 0x10 && !is_thin {
            prop_assert!(mesh.volume() > 0.0, "{}", mesh.volume());
        }
    }

    #[test]
    fn convex_solids_lie_behind_each_of_their_triangles(shape in any_shape()) {
        let Geometry::Mesh(mesh) = build(&shape) else { return Ok(()) };
        if mesh.kind() == MeshKind::Concave {
            return Ok(());
        }
        for triangle in 0..mesh.triangles().len() {
            let [a, b, c] = mesh.corners(triangle);
            let Some(normal) = (b - a).cross(c - a).try_normalize() else { continue };
            if (b - a).cross(c - a).length() < 1e-4 {
                continue;
            }
            for &vertex in mesh.vertices() {
                prop_assert!(normal.dot(vertex - a) < 1e-3, "{} before {:?}", vertex, [a, b, c]);
            }
        }
    }
}
