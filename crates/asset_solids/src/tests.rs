//! Solids of hand-built assets, and of any bytes.

mod codestream;

use super::*;
use SolidPart::{MeshHull, MeshSurface};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use glam::Vec3;
use prim::{ASSET_REACH, ASSET_TRIANGLES_MAX};
use proptest::prelude::*;
use std::io::Write as _;
use wire::llsd::{Llsd, binary};

/// A mesh with these sections, in this order.
fn mesh(sections: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut header, mut data) = (Vec::new(), Vec::new());
    for (name, bytes) in sections {
        let number = |value: usize| Llsd::Integer(i32::try_from(value).unwrap());
        let section = Llsd::map([("offset", number(data.len())), ("size", number(bytes.len()))]);
        header.push(((*name).to_owned(), section));
        data.extend(bytes);
    }
    [binary::encode(&Llsd::map(header)), data].concat()
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn section(value: &Llsd) -> Vec<u8> {
    deflated(&binary::encode(value))
}

fn vector(at: Vec3) -> Llsd {
    Llsd::Array(at.to_array().map(|number| Llsd::Real(number.into())).to_vec())
}

fn binary_of(numbers: impl IntoIterator<Item = u16>) -> Llsd {
    Llsd::Binary(numbers.into_iter().flat_map(u16::to_le_bytes).collect())
}

/// Points in steps of the whole domain.
fn positions(points: &[[u16; 3]]) -> Llsd {
    binary_of(points.as_flattened().iter().copied())
}

fn face(points: &[[u16; 3]], triangles: &[[u16; 3]]) -> Llsd {
    let domain = Llsd::map([("Min", vector(Vec3::splat(-0.5))), ("Max", vector(Vec3::splat(0.5)))]);
    let corners = binary_of(triangles.as_flattened().iter().copied());
    Llsd::map([("PositionDomain", domain), ("Position", positions(points)), ("TriangleList", corners)])
}

const FULL: u16 = u16::MAX;
const TETRAHEDRON: [[u16; 3]; 4] = [[0, 0, 0], [FULL, 0, 0], [0, FULL, 0], [0, 0, FULL]];
const SIDES: [[u16; 3]; 4] = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];

fn cube(low: [u16; 3], high: [u16; 3]) -> Vec<[u16; 3]> {
    let corner = |n: u8| std::array::from_fn(|axis| if n >> axis & 1 == 0 { low[axis] } else { high[axis] });
    (0..8).map(corner).collect()
}

fn triangles_section() -> (&'static str, Vec<u8>) {
    ("physics_mesh", section(&Llsd::Array(vec![face(&TETRAHEDRON, &SIDES)])))
}

/// A list of hulls, and the one around all.
fn convex(hulls: &[Vec<[u16; 3]>], base: &[[u16; 3]]) -> (&'static str, Vec<u8>) {
    let lengths = hulls.iter().map(|hull| hull.len() as u8).collect();
    let mut entries = vec![
        ("Min", vector(Vec3::splat(-0.5))),
        ("Max", vector(Vec3::splat(0.5))),
        ("BoundingVerts", positions(base)),
    ];
    if !hulls.is_empty() {
        entries.extend([("HullList", Llsd::Binary(lengths)), ("Positions", positions(&hulls.concat()))]);
    }
    ("physics_convex", section(&Llsd::map(entries)))
}

fn level(name: &'static str, low: Vec3, high: Vec3) -> (&'static str, Vec<u8>) {
    let domain = Llsd::map([("Min", vector(low)), ("Max", vector(high))]);
    let face = Llsd::map([
        ("PositionDomain", domain),
        ("Position", positions(&TETRAHEDRON)),
        ("TriangleList", binary_of([0, 1, 2])),
    ]);
    let empty = Llsd::map([("NoGeometry", Llsd::Boolean(true))]);
    (name, section(&Llsd::Array(vec![empty, face])))
}

#[track_caller]
fn decoded(part: SolidPart, bytes: &[u8]) -> (SolidSource, AssetSolid) {
    let DecodedSolid { solid, source } = decode(part, bytes).unwrap();
    (source, solid)
}

fn n_triangles(part: SolidPart, bytes: &[u8]) -> (SolidSource, usize) {
    let (source, solid) = decoded(part, bytes);
    (source, solid.n_triangles())
}

#[test]
fn triangles_come_before_hulls_and_hulls_before_the_one_hull() {
    let halves = [cube([0; 3], [FULL, FULL, FULL / 2]), cube([0, 0, FULL / 2], [FULL; 3])];
    let level = level("high_lod", Vec3::ZERO, Vec3::ONE);
    let parts = [triangles_section(), convex(&halves, &TETRAHEDRON), level];
    assert_eq!(n_triangles(MeshSurface, &mesh(&parts)), (SolidSource::Triangles, 4));
    assert_eq!(n_triangles(MeshSurface, &mesh(&parts[1..])), (SolidSource::Hulls, 24));
    let plain = [convex(&[], &TETRAHEDRON), parts[2].clone()];
    assert_eq!(n_triangles(MeshSurface, &mesh(&plain)), (SolidSource::Hull, 4));
    assert_eq!(n_triangles(MeshSurface, &mesh(&parts[2..])), (SolidSource::Bounds, 0));
    for parts in [&parts[..], &parts[1..], &plain] {
        assert_eq!(n_triangles(MeshHull, &mesh(parts)), (SolidSource::Hull, 4));
    }
}

#[test]
fn points_are_where_their_domain_puts_them() {
    let (_, solid) = decoded(MeshSurface, &mesh(&[triangles_section()]));
    let AssetSolid::Surface(surface) = solid else { panic!("a surface") };
    assert!(!surface.is_convex());
    let mut vertices = surface.vertices().to_vec();
    vertices.sort_by(|a, b| a.to_array().partial_cmp(&b.to_array()).unwrap());
    let low = Vec3::splat(-0.5);
    assert_eq!(vertices, [low, low + Vec3::Z, low + Vec3::Y, low + Vec3::X]);
    let moved = level("physics_shape", Vec3::new(0.0, 0.1, -0.4), Vec3::new(0.5, 0.2, -0.1));
    let (source, solid) = decoded(MeshSurface, &mesh(&[triangles_section(), moved]));
    let AssetSolid::Surface(surface) = solid else { panic!("a surface") };
    assert_eq!((source, surface.triangles().len()), (SolidSource::Triangles, 2), "both sides");
    assert!(surface.vertices().contains(&Vec3::new(0.5, 0.1, -0.4)));
}

#[test]
fn the_hull_of_a_box_is_a_box() {
    let base = cube([0; 3], [FULL, FULL, FULL / 2]);
    let (source, solid) = decoded(MeshHull, &mesh(&[convex(&[], &base)]));
    let AssetSolid::Box(bounds) = solid else { panic!("a box") };
    assert_eq!((source, bounds.low()), (SolidSource::Hull, Vec3::splat(-0.5)));
    assert!(bounds.high().distance(Vec3::new(0.5, 0.5, 0.0)) < 1e-4);
    // Points in a plane have none, and are a thin box.
    let flat = cube([0; 3], [FULL, FULL, 0]);
    let (_, solid) = decoded(MeshHull, &mesh(&[convex(&[], &flat)]));
    assert!(matches!(solid, AssetSolid::Box(thin) if thin.high().z - thin.low().z > 0.001));
}

#[test]
fn a_hull_without_one_of_its_own_is_around_the_other_parts() {
    let halves = [cube([0; 3], [FULL / 2; 3]), cube([FULL / 2; 3], [FULL; 3])];
    let (source, solid) = decoded(MeshHull, &mesh(&[convex(&halves, &[])]));
    assert_eq!((source, solid.n_triangles() > 12), (SolidSource::Hull, true), "around both");
    assert_eq!(n_triangles(MeshHull, &mesh(&[triangles_section()])), (SolidSource::Hull, 4));
    let low = level("low_lod", Vec3::splat(-0.2), Vec3::splat(0.2));
    let lowest = level("lowest_lod", Vec3::splat(-0.4), Vec3::splat(0.3));
    let (source, solid) = decoded(MeshHull, &mesh(&[low, lowest]));
    let expected = AssetSolid::box_between(Vec3::splat(-0.4), Vec3::splat(0.3)).unwrap();
    assert_eq!((source, solid), (SolidSource::Bounds, expected));
}

#[test]
fn large_parts_give_way_to_smaller_ones() {
    // A strip of more triangles than a solid may have.
    let n = ASSET_TRIANGLES_MAX as u16 + 1;
    let points: Vec<[u16; 3]> = (0..n + 2).map(|at| [at, at % 2 * 100, at / 7]).collect();
    let strip: Vec<[u16; 3]> = (0..n).map(|at| [at, at + 1, at + 2]).collect();
    let large = ("physics_mesh", section(&Llsd::Array(vec![face(&points, &strip)])));
    let (source, solid) = decoded(MeshSurface, &mesh(&[large.clone(), convex(&[], &TETRAHEDRON)]));
    assert_eq!((source, solid.n_triangles()), (SolidSource::Hull, 4));
    let (source, solid) = decoded(MeshSurface, &mesh(&[large]));
    assert!(source == SolidSource::Hull && solid.n_triangles() < 300, "around the strip");
    // Forty hulls of a hundred points each: with fewer points they are as many triangles as a solid may have.
    let ball = |n: u16| -> Vec<[u16; 3]> {
        let point = |at: u16| {
            let turn = f32::from(at) * 2.4;
            let height = f32::from(at) / 50.0 - 1.0;
            let radius = (1.0 - height * height).max(0.0).sqrt();
            let middle = i32::from(n) * 1_600 + 800;
            [turn.cos() * radius, turn.sin() * radius, height]
                .map(|share| (middle + (share * 700.0) as i32) as u16)
        };
        (0..100).map(point).collect()
    };
    let hulls = |n: u16| (0..n).map(ball).collect::<Vec<_>>();
    let (source, triangles) = n_triangles(MeshSurface, &mesh(&[convex(&hulls(10), &TETRAHEDRON)]));
    assert!(source == SolidSource::Hulls && triangles > 1_500, "{triangles}");
    let (source, triangles) = n_triangles(MeshSurface, &mesh(&[convex(&hulls(40), &TETRAHEDRON)]));
    assert!(source == SolidSource::Hulls && triangles <= ASSET_TRIANGLES_MAX, "{triangles}");
    let (source, triangles) = n_triangles(MeshSurface, &mesh(&[convex(&vec![ball(3); 200], &TETRAHEDRON)]));
    assert_eq!((source, triangles), (SolidSource::Hull, 4), "too many in any case");
}

#[test]
fn damaged_parts_give_way_to_others() {
    let good = level("lowest_lod", Vec3::splat(-0.5), Vec3::splat(0.5));
    let bad_index = face(&TETRAHEDRON, &[[0, 1, 4]]);
    let bad_domain = |low: f64, high: f64| {
        let corner = |number: f64| Llsd::Array(vec![Llsd::Real(number); 3]);
        let domain = Llsd::map([("Min", corner(low)), ("Max", corner(high))]);
        Llsd::map([
            ("PositionDomain", domain),
            ("Position", positions(&TETRAHEDRON)),
            ("TriangleList", binary_of([0, 1, 2])),
        ])
    };
    let array = |face: Llsd| section(&Llsd::Array(vec![face]));
    let bomb = deflated(&vec![0; 20 << 20]);
    let list = |lengths: Vec<u8>| {
        section(&Llsd::map([("HullList", Llsd::Binary(lengths)), ("Positions", positions(&TETRAHEDRON))]))
    };
    for (name, bytes) in [
        ("physics_mesh", array(bad_domain(f64::NAN, 0.5))),
        ("physics_mesh", array(bad_domain(-0.5, f64::INFINITY))),
        ("physics_mesh", array(bad_domain(-1e30, 0.5))),
        ("physics_mesh", array(bad_domain(0.5, -0.5))),
        ("physics_mesh", section(&Llsd::Integer(7))),
        ("physics_mesh", b"\x78\xDA".to_vec()),
        ("physics_mesh", b"no stream".to_vec()),
        ("physics_mesh", Vec::new()),
        ("physics_mesh", bomb.clone()),
        ("physics_convex", list(vec![4; 257])),
        ("physics_convex", list(vec![5])),
        ("physics_convex", section(&Llsd::Array(Vec::new()))),
        ("physics_convex", bomb),
    ] {
        let damaged = mesh(&[(name, bytes), good.clone()]);
        for part in [MeshSurface, MeshHull] {
            assert_eq!(n_triangles(part, &damaged), (SolidSource::Bounds, 0), "{name}");
        }
    }
    // Its points are sound.
    let damaged = mesh(&[("physics_mesh", array(bad_index)), good.clone()]);
    assert_eq!(n_triangles(MeshSurface, &damaged), (SolidSource::Hull, 4));
    // Sections at impossible places.
    for (offset, size) in [(-1, 5), (0, i32::MAX), (i32::MAX, 1), (0, -5)] {
        let section = Llsd::map([("offset", Llsd::Integer(offset)), ("size", Llsd::Integer(size))]);
        let bytes = binary::encode(&Llsd::map([("physics_mesh", section)]));
        assert_eq!(decode(MeshSurface, &bytes), Err(SolidError::NoParts));
    }
}

#[test]
fn bytes_that_are_no_mesh_are_refused_with_their_reason() {
    assert_eq!(decode(MeshHull, b"[\0\0\0\0]"), Err(SolidError::NoSections));
    assert_eq!(decode(MeshHull, &mesh(&[])), Err(SolidError::NoParts));
    for bytes in [&b""[..], b"glTF", b"{\xFF\xFF\xFF\xFF"] {
        let refused = decode(MeshSurface, bytes).unwrap_err();
        assert!(matches!(refused, SolidError::Header(_)) && !refused.to_string().is_empty(), "{bytes:?}");
    }
}

/// A map as viewers upload it: without losses, a pixel for each point.
fn sculpt_map(side: u32, place: impl Fn(f32, f32) -> Vec3) -> Vec<u8> {
    codestream::encode(side, |column, row| {
        let share = |at: u32| at as f32 / (side - 1) as f32;
        let colour = (place(share(column), share(row)) + 0.5) * 255.0;
        colour.to_array().map(|part| part.round() as u8)
    })
}

#[test]
fn a_sculpt_collides_as_the_hull_of_its_map() {
    // A ball that fills the scale.
    let ball = sculpt_map(32, |u, v| {
        let (turn, height) = (u * 6.2, v - 0.5);
        let radius = (0.25 - height * height).max(0.0).sqrt();
        Vec3::new(turn.cos() * radius, turn.sin() * radius, height)
    });
    let part = |is_sphere, is_mirrored| SolidPart::SculptHull { is_sphere, is_mirrored };
    for part in [part(true, false), part(false, true)] {
        let (source, solid) = decoded(part, &ball);
        let AssetSolid::Surface(surface) = solid else { panic!("a hull") };
        assert!(source == SolidSource::Hull && surface.is_convex());
        assert!((60..250).contains(&surface.triangles().len()), "{}", surface.triangles().len());
        assert!(surface.vertices().iter().all(|vertex| (0.4..0.53).contains(&vertex.length())));
    }
    // A wedge whose upper edge is in the west.
    let wedge = sculpt_map(8, |u, v| Vec3::new(u - 0.5, v - 0.5, if u < 0.5 { 0.5 } else { -0.5 }));
    let highest = |is_mirrored| {
        let (_, solid) = decoded(part(false, is_mirrored), &wedge);
        let AssetSolid::Surface(surface) = solid else { panic!("a hull") };
        let top = surface.vertices().iter().filter(|vertex| vertex.z > 0.4);
        top.map(|vertex| vertex.x).fold(f32::NEG_INFINITY, f32::max)
    };
    assert!(highest(false) < 0.0 && highest(true) > 0.4);
    let flat = sculpt_map(8, |u, v| Vec3::new(u - 0.5, v - 0.5, 0.0));
    assert!(matches!(decoded(part(false, false), &flat).1, AssetSolid::Box(_)));
    let wide = sculpt_map(512, |u, v| Vec3::new(u, v, 0.0) - 0.5);
    let refused = decode(part(false, false), &wide);
    assert_eq!(refused, Err(SolidError::Pixels { width: 512, height: 512 }));
}

fn is_sound(solid: &AssetSolid) -> bool {
    let is_near = |at: Vec3| at.abs().max_element() <= ASSET_REACH;
    match solid {
        AssetSolid::Box(one) => is_near(one.low()) && is_near(one.high()),
        AssetSolid::Surface(surface) => {
            let are_near = surface.vertices().iter().all(|&at| is_near(at));
            are_near && surface.triangles().len() <= ASSET_TRIANGLES_MAX
        }
    }
}

proptest! {
    #[test]
    fn a_damaged_mesh_gives_a_sound_solid_or_none(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let halves = [cube([0; 3], [FULL, FULL, FULL / 2]), cube([0, 0, FULL / 2], [FULL; 3])];
        let level = level("high_lod", Vec3::splat(-0.5), Vec3::splat(0.5));
        let mut bytes = mesh(&[triangles_section(), convex(&halves, &TETRAHEDRON), level]);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        for part in [MeshSurface, MeshHull] {
            if let Ok(decoded) = decode(part, &bytes) {
                prop_assert!(is_sound(&decoded.solid));
            }
        }
    }

    /// Any faces and hulls.
    #[test]
    fn any_points_and_triangles_give_a_sound_solid(
        points in prop::collection::vec(any::<[u16; 3]>(), 1..60),
        triangles in prop::collection::vec(any::<[u16; 3]>(), 0..40),
        is_modulo in any::<bool>(),
        lengths in prop::collection::vec(0_u8..12, 0..8),
        domain in [-2.5_f32..2.5, -2.5..2.5],
    ) {
        let n = points.len() as u16;
        let corners = |corner: u16| if is_modulo { corner % n } else { corner };
        let triangles: Vec<[u16; 3]> = triangles.iter().map(|triangle| triangle.map(corners)).collect();
        let convex = Llsd::map([
            ("Min", vector(Vec3::splat(domain[0]))),
            ("Max", vector(Vec3::splat(domain[1]))),
            ("HullList", Llsd::Binary(lengths)),
            ("Positions", positions(&points)),
        ]);
        let face = Llsd::Array(vec![face(&points, &triangles)]);
        let bytes = mesh(&[("physics_mesh", section(&face)), ("physics_convex", section(&convex))]);
        for part in [MeshSurface, MeshHull] {
            if let Ok(decoded) = decode(part, &bytes) {
                prop_assert!(is_sound(&decoded.solid));
            }
        }
    }

    #[test]
    fn any_bytes_give_a_sound_solid_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for part in [MeshSurface, MeshHull] {
            if let Ok(decoded) = decode(part, &bytes) {
                prop_assert!(is_sound(&decoded.solid));
            }
        }
    }
}
