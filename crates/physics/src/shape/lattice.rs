//! Rounding to a millionth: corners that belong together get equal bits, and halves are halves.

use glam::{Vec2, Vec3};

const STEPS: f32 = (1 << 20) as f32;

fn snap(value: f32) -> f32 {
    // The sum turns −0 into 0.
    libm::roundf(value * STEPS) / STEPS + 0.0
}

pub(super) fn snap2(point: Vec2) -> Vec2 {
    Vec2::new(snap(point.x), snap(point.y))
}

pub(super) fn snap3(point: Vec3) -> Vec3 {
    Vec3::new(snap(point.x), snap(point.y), snap(point.z))
}
