//! Prims as the generated content of the experiment `build` has them (`crates/experiment/src/build/content`): linksets, most of them on the ground,
//! with parts that overlap. Shapes and sizes are distributed as there; looks are left out.

use super::{Random, Scene};
use glam::{Quat, Vec2, Vec3};
use physics::{ColliderKind, Geometry, Placement};
use prim::{Shape, ShapeKind};

/// Linksets by their numbers of prims: the share of linksets, the least and the most prims.
const LINKSETS: [(f32, u32, u32); 5] =
    [(0.45, 1, 1), (0.25, 2, 5), (0.20, 6, 20), (0.08, 21, 60), (0.02, 61, 200)];
/// The share of prims, and their shape. The rest are sculpts and meshes, which collide as boxes.
const KINDS: [(f32, ShapeKind); 7] = [
    (0.62, ShapeKind::Box),
    (0.15, ShapeKind::Cylinder),
    (0.07, ShapeKind::Sphere),
    (0.05, ShapeKind::Torus),
    (0.04, ShapeKind::Prism),
    (0.02, ShapeKind::Tube),
    (0.01, ShapeKind::Ring),
];

impl Scene {
    /// A region with a number of prims, `size_m` along a side.
    pub(crate) fn built(random: &mut Random, n_prims: u32, size_m: f32) -> Self {
        let mut scene = Self::new();
        while scene.next_id <= n_prims {
            let most = n_prims + 1 - scene.next_id;
            scene.linkset(random, most, size_m);
        }
        scene
    }

    fn linkset(&mut self, random: &mut Random, most: u32, size_m: f32) {
        let &(_, least, greatest) = choose(random, &LINKSETS, |(share, ..)| *share).unwrap_or(&LINKSETS[0]);
        let n_prims = least + (random.share() * (greatest - least + 1) as f32) as u32;
        let size = Vec3::from_array([(); 3].map(|()| 0.2 * libm::powf(50.0, random.share())));
        let at = Vec2::new(random.between(0.0, size_m), random.between(0.0, size_m));
        let above = if random.share() < 0.3 { random.between(0.0, 40.0) } else { 0.0 };
        let root = (at.extend(size.z / 2.0 + above), turn(random));
        self.part(random, root, size);
        for _ in 1..n_prims.min(most) {
            let scale = size * random.between(0.05, 1.0);
            let place = Vec3::from_array([(); 3].map(|()| random.between(-0.5, 0.5))) * size;
            let own = (root.0 + root.1 * place, root.1 * turn(random));
            self.part(random, own, scale);
        }
    }

    fn part(&mut self, random: &mut Random, (position, rotation): (Vec3, Quat), scale: Vec3) {
        let kind = choose(random, &KINDS, |(share, _)| *share);
        let shape = modified(random, Shape::plain(kind.map_or(ShapeKind::Box, |&(_, kind)| kind)));
        let placement = Placement { position, rotation, scale };
        let is_flexible = random.share() < 0.01;
        match kind {
            _ if is_flexible => self.next_id += 1,
            Some(_) => drop(self.prim(&shape, placement)),
            None => drop(self.put(ColliderKind::Solid, &Geometry::BOX, placement)),
        }
    }
}

fn choose<'a, T>(random: &mut Random, from: &'a [T], share_of: impl Fn(&T) -> f32) -> Option<&'a T> {
    let mut share = random.share();
    from.iter().find(|one| {
        share -= share_of(one);
        share < 0.0
    })
}

/// Half of all prims are not turned, a quarter is turned about the vertical, a quarter in any way.
fn turn(random: &mut Random) -> Quat {
    match (random.share() * 4.0) as u32 {
        0 | 1 => Quat::IDENTITY,
        2 => Quat::from_rotation_z(random.between(0.0, std::f32::consts::TAU)),
        _ => random.rotation(),
    }
}

/// Some prims are cut, hollow, twisted or tapered.
fn modified(random: &mut Random, mut shape: Shape) -> Shape {
    let steps = |random: &mut Random| 2_500 * (1 + (random.share() * 8.0) as u16);
    if random.share() < 0.12 {
        shape.profile_begin = steps(random);
    }
    if random.share() < 0.10 {
        shape.profile_hollow = 2 * steps(random);
    }
    if random.share() < 0.05 {
        shape.path_twist = (random.between(-1.0, 1.0) * 50.0) as i8;
    }
    if random.share() < 0.10 {
        shape.path_scale_x = 100 + (random.share() * 100.0) as u8;
    }
    shape.clamped().expect("a kind of the build menu")
}
