//! Tiles that are built anew after a change make the mesh that building everything makes.

mod site;

use glam::{EulerRot, Quat, Vec2, Vec3};
use nav::{NavMesh, Solid};
use proptest::prelude::*;
use site::{Random, Site};

/// What an owner of land does to it.
#[derive(Clone, Debug)]
enum Change {
    Put(Solid),
    /// The box with this number, counted round.
    Take(usize),
    Move(usize, Vec3),
    /// Raises the ground in a square: corner, width, by how much.
    Raise(Vec2, f32, f32),
}

fn change(size_m: f32) -> impl Strategy<Value = Change> {
    let point = || (-4.0..size_m + 4.0, -4.0..size_m + 4.0, 17.0f32..26.0).prop_map(Vec3::from);
    let width = || prop_oneof![0.02f32..3.0, 0.02f32..40.0];
    let turn = prop_oneof![
        Just(Quat::IDENTITY),
        (0.0f32..6.3).prop_map(Quat::from_rotation_z),
        (0.0f32..6.3, -1.6f32..1.6, -1.6f32..1.6).prop_map(|(yaw, pitch, roll)| Quat::from_euler(
            EulerRot::ZYX,
            yaw,
            pitch,
            roll
        )
        .normalize()),
    ];
    prop_oneof![
        4 => (point(), turn, width(), width(), 0.02f32..6.0).prop_map(|(centre, rotation, x, y, z)| {
            Change::Put(Solid { centre, rotation, size: Vec3::new(x, y, z) })
        }),
        2 => any::<usize>().prop_map(Change::Take),
        2 => (any::<usize>(), point()).prop_map(|(which, to)| Change::Move(which, to)),
        1 => (0.0..size_m, 0.0..size_m, 0.0f32..20.0, -3.0f32..3.0)
            .prop_map(|(x, y, width, by)| Change::Raise(Vec2::new(x, y), width, by)),
    ]
}

/// Does it; the tiles that it concerns.
fn apply(site: &mut Site, mesh: &NavMesh, change: &Change) -> Vec<u32> {
    let around = |solid: &Solid| {
        let half = solid.size / 2.0;
        let axes = [Vec3::X * half.x, Vec3::Y * half.y, Vec3::Z * half.z].map(|axis| solid.rotation * axis);
        let reach = axes.iter().map(|axis| axis.truncate().abs()).sum::<Vec2>();
        (solid.centre.truncate() - reach, solid.centre.truncate() + reach)
    };
    let mut changed = Vec::new();
    match change {
        Change::Put(solid) => {
            site.solids.push(*solid);
            changed.push(around(solid));
        }
        Change::Take(which) if !site.solids.is_empty() => {
            let gone = site.solids.remove(which % site.solids.len());
            changed.push(around(&gone));
        }
        Change::Move(which, to) if !site.solids.is_empty() => {
            let place = which % site.solids.len();
            let solid = &mut site.solids[place];
            changed.push(around(solid));
            solid.centre = *to;
            changed.push(around(solid));
        }
        Change::Take(_) | Change::Move(..) => {}
        Change::Raise(corner, width, by) => {
            let size_m = site.size_m;
            for (place, height) in (0..).zip(&mut site.heights) {
                let at = Vec2::new((place % size_m) as f32, (place / size_m) as f32);
                if (at - *corner).min_element() >= 0.0 && (at - *corner).max_element() <= *width {
                    *height += by;
                }
            }
            // Between samples the ground is a slope from the one to the next.
            changed.push((*corner - 1.0, *corner + *width + 1.0));
        }
    }
    let mut tiles: Vec<u32> = changed.iter().flat_map(|(low, high)| mesh.tiles_near(*low, *high)).collect();
    tiles.sort_unstable();
    tiles.dedup();
    tiles
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn some_tiles_anew_are_as_good_as_all(
        hilly: bool, n_boxes in 0u32..300, seed: u64, changes in prop::collection::vec(change(96.0), 1..5),
    ) {
        let ground = if hilly { Site::hills(96, seed) } else { Site::flat(96) };
        let mut site = ground.with_boxes(n_boxes, seed);
        // Those who wade to an island and those who cannot: what hangs together counts as well.
        site.walker.isle_min_m2 = Random(seed).share() * 20.0;
        let mut mesh = site.mesh();
        for change in &changes {
            let tiles = apply(&mut site, &mesh, change);
            mesh = mesh.rebuild(site.ground(), &site.solids(), &site.walker, &tiles, &mut || true).unwrap();
            let whole = site.mesh();
            prop_assert_eq!(mesh.fingerprint(), whole.fingerprint(), "after {:?}, tiles {:?}", change, tiles);
            prop_assert!(mesh == whole, "links or islands differ after {change:?}, tiles {tiles:?}");
        }
    }
}
