//! Meshes say where one can walk: nowhere else, and everywhere there.

use crate::site::{Random, Site};
use glam::{Quat, Vec2, Vec3};
use nav::{BuildError, CELL_M, MeshPoint, NavMesh, PolyRef, Solid, TILE_M, WalkerSize};

/// The spot at a point, or none right there.
fn spot(site: &Site, mesh: &NavMesh, at: Vec3) -> Option<MeshPoint> {
    mesh.locate(site.ground(), at, 0.5, PolyRef::NONE).filter(|spot| spot.at == at.truncate())
}

/// The same on the ground.
fn on_ground(site: &Site, mesh: &NavMesh, x: f32, y: f32) -> Option<MeshPoint> {
    let at = Vec2::new(x, y);
    spot(site, mesh, at.extend(site.ground().height(at)))
}

fn is_inside(solid: &Solid, at: Vec3) -> bool {
    let local = solid.rotation.inverse() * (at - solid.centre);
    (local.abs() - solid.size / 2.0).max_element() < 0.0
}

/// True if a cylinder that stands here is free of boxes, from `above` over the feet on. Its surface is sampled point by point.
fn is_free(site: &Site, feet: Vec3, radius: f32, above: f32) -> bool {
    let near: Vec<&Solid> = site
        .solids
        .iter()
        .filter(|solid| solid.centre.distance(feet) < solid.size.length() + radius + 2.0)
        .collect();
    let rings = [0.0, 0.35, 0.7, 1.0];
    let axes = (0..24).map(|n| Vec2::from_angle(n as f32 * core::f32::consts::TAU / 24.0));
    axes.flat_map(|way| rings.map(|share| way * radius * share)).all(|off| {
        (0..30).map(|n| above + n as f32 * 0.05).take_while(|up| *up < 1.88).all(|up| {
            let at = feet + off.extend(up);
            !near.iter().any(|solid| is_inside(solid, at))
        })
    })
}

/// A spot on the largest island.
fn main_island(mesh: &NavMesh) -> MeshPoint {
    let spots = || mesh.polys().map(|poly| MeshPoint { poly, at: Vec2::ZERO });
    let size = |of: &MeshPoint| spots().step_by(7).filter(|other| mesh.are_connected(*of, *other)).count();
    spots().step_by(97).max_by_key(size).unwrap()
}

fn sites() -> [(&'static str, Site); 3] {
    [
        ("hills", Site::hills(128, 4).with_boxes(2_500, 4)),
        ("plain", Site::flat(96).with_boxes(2_500, 9)),
        ("rooms", Site::rooms(96)),
    ]
}

#[test]
fn a_walker_on_the_mesh_touches_nothing() {
    for (name, site) in sites() {
        let mesh = site.mesh();
        let mut random = Random(1);
        let main = main_island(&mesh);
        for poly in mesh.polys() {
            let corners: Vec<Vec2> = mesh.outline(poly).map(|(at, _)| at).collect();
            // Corners are the worst; somewhere between three of them is anywhere.
            let inner = corners[0].lerp(corners[1], random.share()).lerp(corners[2], random.share());
            for at in [corners[0], inner] {
                let here = MeshPoint { poly, at };
                let feet = at.extend(mesh.height(site.ground(), here));
                // Lines are straightened by up to 1.25 cells, and a cell is known by its middle: that is the error towards a wall and
                // down a slope. A walker that has stepped down from a box may stand at it. There is no way back.
                let above = if mesh.are_connected(main, here) { 0.42 + 0.16 } else { 0.62 + 0.16 };
                assert!(
                    is_free(&site, feet, 0.3 - 1.25 * CELL_M - 0.08, above),
                    "{name}: {here:?}, feet at {feet}"
                );
                if mesh.is_on_ground(here) {
                    let water = site.walker.water_m - site.walker.wade_m;
                    assert!(feet.z > water - 0.4, "{name}: under water at {feet}");
                }
            }
        }
    }
}

#[test]
fn free_ground_is_mesh() {
    for (name, site) in sites() {
        let mesh = site.mesh();
        let mut random = Random(2);
        let (mut missing, mut tried) = (0, 0);
        for _ in 0..4_000 {
            let at = Vec2::new(random.share(), random.share()) * site.size_m as f32;
            let (z, _) = site.ground().facet(at);
            let around = |radius: f32| {
                (0..16).map(move |n| at + Vec2::from_angle(n as f32 * core::f32::consts::TAU / 16.0) * radius)
            };
            let is_gentle =
                around(0.8).chain(around(0.4)).all(|at| site.ground().facet(at).1.length() < 0.95);
            let is_inside = at.min_element() > 1.0 && at.max_element() < site.size_m as f32 - 1.0;
            let is_dry = z > site.walker.water_m - 0.2;
            // A little wider than a walker whose corners are square, and straightened lines.
            if !is_gentle || !is_inside || !is_dry || !is_free(&site, at.extend(z), 0.3 * 1.42 + 0.25, 0.42) {
                continue;
            }
            // Not on top of something, and not under it.
            if !is_free(&site, at.extend(z), 0.3 * 1.42 + 0.25, -0.2) {
                continue;
            }
            tried += 1;
            missing += u32::from(on_ground(&site, &mesh, at.x, at.y).is_none());
        }
        assert!(tried > 300, "{name}: {tried}");
        assert_eq!(missing, 0, "{name}: of {tried} places");
    }
}

#[test]
fn no_way_ends_at_the_border_of_a_tile() {
    for (name, site) in sites() {
        let mesh = site.mesh();
        let main = main_island(&mesh);
        let is_border = |at: f32| at % TILE_M as f32 == 0.0 && at > 0.0 && at < site.size_m as f32;
        for poly in mesh.polys() {
            let outline: Vec<(Vec2, Option<PolyRef>)> = mesh.outline(poly).collect();
            for (edge, &(from, link)) in outline.iter().enumerate() {
                let to = outline[(edge + 1) % outline.len()].0;
                let is_on_border = is_border(from.x) && from.x == to.x || is_border(from.y) && from.y == to.y;
                if !is_on_border || link.is_some() {
                    continue;
                }
                let middle = (from + to) / 2.0;
                let beyond = middle + (to - from).normalize().perp() * -0.01;
                let z = mesh.height(site.ground(), MeshPoint { poly, at: middle });
                let there = mesh.locate(site.ground(), beyond.extend(z), 0.3, PolyRef::NONE);
                // From the foot of something to the foot of another one there need be none.
                let is_main = |poly: PolyRef| mesh.are_connected(main, MeshPoint { poly, at: middle });
                let is_lost = |there: MeshPoint| there.at == beyond && is_main(poly) && is_main(there.poly);
                assert!(!there.is_some_and(is_lost), "{name}: the way ends at {middle}, {z}");
            }
        }
    }
}

#[test]
fn links_lead_to_the_same_edge_and_most_of_them_back() {
    for (name, site) in sites() {
        let mesh = site.mesh();
        let (mut n_links, mut n_one_way) = (0, 0);
        for poly in mesh.polys() {
            for to in mesh.outline(poly).filter_map(|(_, link)| link) {
                n_links += 1;
                n_one_way += u32::from(!mesh.outline(to).any(|(_, back)| back == Some(poly)));
            }
        }
        assert!(n_one_way * 8 < n_links, "{name}: {n_one_way} of {n_links} lead one way");
        // Decoding looks at corners, convexity and shared edges.
        assert_eq!(NavMesh::from_bytes(&mesh.to_bytes()).as_ref(), Ok(&mesh), "{name}");
    }
}

#[test]
fn the_same_input_makes_the_same_bytes() {
    let site = Site::hills(128, 7).with_boxes(2_000, 7);
    let mesh = site.mesh();
    assert_eq!(mesh.to_bytes(), site.mesh().to_bytes());
    let mut other = Site::hills(128, 7).with_boxes(2_000, 7);
    other.block(
        Vec3::new(64.5, 40.0, other.ground().height(Vec2::new(64.5, 40.0)) + 1.0),
        Vec3::new(3.0, 3.0, 2.0),
    );
    assert_ne!(other.mesh().fingerprint(), mesh.fingerprint(), "one more box is another mesh");
}

#[test]
fn thin_walls_are_walls_and_doors_are_doors() {
    let mut site = Site::flat(64);
    // A fence of 2 cm across the region, with a door of 0.9 m.
    site.block(Vec3::new(15.0, 30.0, 21.0), Vec3::new(29.1, 0.02, 2.0));
    site.block(Vec3::new(47.0, 30.0, 21.0), Vec3::new(33.1, 0.02, 2.0));
    let mesh = site.mesh();
    let (south, north) =
        (on_ground(&site, &mesh, 10.0, 28.0).unwrap(), on_ground(&site, &mesh, 10.0, 32.0).unwrap());
    assert!(mesh.are_connected(south, north));
    let ray = mesh.ray(south, north.at);
    assert!(!ray.clear && (ray.spot.at.y - 29.69).abs() < 0.13, "{ray:?}");
    let door = on_ground(&site, &mesh, 30.0, 28.0).unwrap();
    assert!(mesh.ray(door, Vec2::new(30.0, 32.0)).clear);
}

#[test]
fn storeys_lie_above_each_other() {
    let mut site = Site::flat(64);
    // A bridge 3 m up, and a ramp of 22° to it.
    site.block(Vec3::new(40.0, 30.0, 22.9), Vec3::new(20.0, 4.0, 0.2));
    site.solids.push(Solid {
        centre: Vec3::new(26.3, 30.0, 21.4),
        rotation: Quat::from_rotation_y(-0.38),
        size: Vec3::new(8.2, 3.0, 0.2),
    });
    let mesh = site.mesh();
    let below = spot(&site, &mesh, Vec3::new(42.0, 30.0, 20.0)).unwrap();
    let above = spot(&site, &mesh, Vec3::new(42.0, 30.0, 23.0)).unwrap();
    assert!(mesh.is_on_ground(below) && !mesh.is_on_ground(above));
    assert!((mesh.height(site.ground(), above) - 23.0).abs() < 1e-4);
    assert!(mesh.are_connected(below, above), "the ramp leads up");
    let on_ramp = spot(&site, &mesh, Vec3::new(26.3, 30.0, 21.5)).unwrap();
    let (height, slope) = mesh.facet(site.ground(), on_ramp);
    assert!((height - 21.508).abs() < 0.01 && (slope.x - libm::tanf(0.38)).abs() < 1e-3, "{height} {slope}");
    // Off the bridge there is nothing, and its edge is kept away from.
    let edge = mesh.ray(above, Vec2::new(42.0, 40.0));
    assert!(!edge.clear && (31.5..31.85).contains(&edge.spot.at.y), "{edge:?}");
    assert!(mesh.ray(below, Vec2::new(42.0, 40.0)).clear);
    // There is no room to stand under the low end of the ramp.
    assert!(spot(&site, &mesh, Vec3::new(25.0, 30.0, 20.0)).is_none());
}

#[test]
fn steps_are_climbed_and_drops_lead_down_only() {
    let platform = |height: f32| {
        let mut site = Site::flat(64);
        site.block(Vec3::new(32.0, 32.0, 20.0 + height / 2.0), Vec3::new(8.0, 8.0, height));
        let mesh = site.mesh();
        let top = spot(&site, &mesh, Vec3::new(32.0, 32.0, 20.0 + height)).unwrap();
        let ground = on_ground(&site, &mesh, 32.0, 20.0).unwrap();
        (mesh.ray(ground, top.at).clear, mesh.ray(top, ground.at).clear, mesh.are_connected(top, ground))
    };
    assert_eq!(platform(0.35), (true, true, true));
    assert_eq!(platform(0.55), (false, true, false));
    assert_eq!(platform(0.8), (false, false, false));
}

#[test]
fn unreachable_tops_of_boxes_are_no_mesh() {
    let mut site = Site::flat(64);
    for height in [0.5, 0.9, 2.0] {
        let centre = Vec3::new(10.0 + height * 20.0, 30.0, 20.0 + height / 2.0);
        site.block(centre, Vec3::new(1.2, 1.2, height));
    }
    let mesh = site.mesh();
    for poly in mesh.polys() {
        assert!(mesh.is_on_ground(MeshPoint { poly, at: Vec2::ZERO }), "{poly:?}");
    }
    assert!(mesh.poly_count() < 60, "{}", mesh.poly_count());
}

#[test]
fn steep_slopes_and_deep_water_are_no_mesh() {
    let mut site = Site::flat(64);
    site.walker.water_m = 19.0;
    for (place, height) in (0..).zip(&mut site.heights) {
        // Falls by a metre a metre and a half in the south; rises gently in the north.
        let (x, y) = ((place % 64) as f32, (place / 64) as f32);
        *height = if x < 20.0 {
            20.0
        } else if y < 32.0 {
            20.0 - (x - 20.0).min(5.0) * 1.5
        } else {
            20.0 - (x - 20.0) * 0.05
        };
    }
    let mesh = site.mesh();
    assert!(on_ground(&site, &mesh, 18.0, 10.0).is_some());
    assert!(on_ground(&site, &mesh, 22.0, 10.0).is_none(), "steep");
    assert!(on_ground(&site, &mesh, 40.0, 10.0).is_none(), "7 m under water");
    assert!(on_ground(&site, &mesh, 40.0, 50.0).is_some());
    assert!(on_ground(&site, &mesh, 49.0, 50.0).is_some(), "45 cm under water");
    assert!(on_ground(&site, &mesh, 52.0, 50.0).is_none(), "60 cm under water");
    assert!(on_ground(&site, &mesh, 10.0, 0.3).is_none(), "too near to the border of the region");
}

#[test]
fn impossible_meshes_are_refused_with_the_reason() {
    let mut site = Site::flat(64);
    let build = |site: &Site| NavMesh::build(site.ground(), &site.solids(), &site.walker, &mut || true);
    let mut asked = 0;
    let cancelled = NavMesh::build(site.ground(), &site.solids(), &site.walker, &mut || {
        asked += 1;
        asked < 3
    });
    assert_eq!(cancelled, Err(BuildError::Cancelled));
    site.walker = WalkerSize { radius_m: f32::NAN, ..WalkerSize::default() };
    assert!(matches!(build(&site), Err(BuildError::Walker { name: "radius_m", .. })));
    site.walker = WalkerSize::default();
    site.heights[64 * 3 + 2] = f32::NAN;
    assert!(matches!(build(&site), Err(BuildError::Height { x: 2, y: 3, .. })));
}

#[test]
fn a_tile_full_of_boxes_is_refused_rather_than_built_for_ever() {
    let mut site = Site::flat(32);
    for n in 0..400 {
        site.block(Vec3::new(16.0, 16.0, 20.0 + n as f32 * 0.01), Vec3::new(32.0, 32.0, 1.0));
    }
    let refused = NavMesh::build(site.ground(), &site.solids(), &site.walker, &mut || true);
    assert_eq!(refused, Err(BuildError::Crowded { x: 0, y: 0 }));
}
