//! Physics parts of meshes: any bytes give a solid or none, which any avatar can walk against. The first byte chooses between bytes as they are, and contents of the sections of a
//! mesh, which are deflated here: a fuzzer does not find a checksum.
#![no_main]

use asset_solids::decode;
use flate2::{Compression, write::ZlibEncoder};
use glam::{Quat, Vec2, Vec3};
use ids::LocalId;
use libfuzzer_sys::fuzz_target;
use physics::{
    AvatarStep, ColliderKind, Colliders, Cylinder, Gait, Geometry, Placement, Surroundings, step_avatar,
};
use prim::SolidPart;
use std::io::Write as _;
use wire::llsd::{Llsd, binary};

const SECTIONS: [&str; 4] = ["physics_shape", "physics_mesh", "physics_convex", "lowest_lod"];

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes everything");
    encoder.finish().expect("a vector takes everything")
}

/// A mesh with two sections of these contents.
fn mesh(first: (&'static str, &[u8]), second: (&'static str, &[u8])) -> Vec<u8> {
    let (mut header, mut data) = (Vec::new(), Vec::new());
    for (name, content) in [first, second] {
        let stored = deflated(content);
        let number = |value: usize| Llsd::Integer(value as i32);
        header.push((name, Llsd::map([("offset", number(data.len())), ("size", number(stored.len()))])));
        data.extend(stored);
    }
    [binary::encode(&Llsd::map(header)), data].concat()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&[mode, at], content)) = bytes.split_first_chunk::<2>() else { return };
    let asset = if mode & 1 == 0 {
        content.to_vec()
    } else {
        let (first, second) = content.split_at(content.len() * usize::from(at) / 256);
        let name = |bits: u8| SECTIONS[usize::from(bits & 3)];
        mesh((name(mode >> 1), first), (name(mode >> 3), second))
    };
    for part in [SolidPart::MeshSurface, SolidPart::MeshHull] {
        let Ok(decoded) = decode(part, &asset) else { continue };
        let placement = Placement {
            position: Vec3::new(50.0, 50.0, 25.0),
            rotation: Quat::from_rotation_z(0.3),
            scale: Vec3::new(4.0, 3.0, 8.0),
        };
        let geometry = Geometry::of_asset(&decoded.solid);
        let mut colliders = Colliders::new(256);
        colliders.insert(LocalId(1), ColliderKind::Solid, &geometry, &placement).expect("a sound place");
        let step = AvatarStep {
            from: Vec3::new(48.5, 50.0, 24.0),
            wish: Vec3::new(0.3, 0.1, -0.2),
            carried: Vec3::ZERO,
            cylinder: Cylinder { radius: 0.3, half_height: 0.95 },
            gait: Gait::Airborne,
        };
        let ground = |_: Vec2| 20.0;
        let moved = step_avatar(&colliders, &mut Surroundings::default(), ground, &step);
        assert!(moved.position.is_finite(), "{moved:?}");
        let _ = colliders.cast_ray(Vec3::new(50.0, 50.0, 90.0), Vec3::new(50.0, 50.0, 0.0), |_, _| true);
    }
});
