//! Shapes in any numbers: the nearest possible one is possible, and its solid form consists of numbers.
#![no_main]

use glam::Vec3;
use ids::{AgentId, Uuid};
use libfuzzer_sys::fuzz_target;
use physics::ShapeCache;
use prim::{Body, Shape};

fuzz_target!(|bytes: &[u8]| {
    let Some((fields, _)) = bytes.split_first_chunk::<23>() else { return };
    let number = |at: usize| u16::from_le_bytes([fields[at], fields[at + 1]]);
    let signed = |at: usize| fields[at].cast_signed();
    let shape = Shape {
        path_curve: fields[0],
        profile_curve: fields[1],
        path_begin: number(2),
        path_end: number(4),
        path_scale_x: fields[6],
        path_scale_y: fields[7],
        path_shear_x: signed(8),
        path_shear_y: signed(9),
        path_twist: signed(10),
        path_twist_begin: signed(11),
        path_radius_offset: signed(12),
        path_taper_x: signed(13),
        path_taper_y: signed(14),
        path_revolutions: fields[15],
        path_skew: signed(16),
        profile_begin: number(17),
        profile_end: number(19),
        profile_hollow: number(21),
    };
    let Ok(shape) = shape.clamped() else { return };
    assert_eq!(shape.clamped(), Ok(shape));
    let mut body = Body::new(Uuid::from_u128(1), shape, [].into(), AgentId(Uuid::from_u128(2)), 0);
    body.scale = Vec3::new(0.001, 1.0, 256.0);
    let mut cache = ShapeCache::new(1 << 20);
    let form = cache.of_body(&body);
    assert_eq!(cache.of_body(&body), form, "the cache gives what it was given");
});
