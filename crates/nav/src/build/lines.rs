//! Upright lines through a box: intervals inside it, and inside the box widened by a walker's radius.

use super::{WalkerSize, samples::SAME_M};
use crate::solids::Shape;
use glam::{Vec2, Vec3};

/// A column's line through a box.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineHit {
    pub(super) column: u32,
    pub(super) solid: u16,
    /// True if a walker could stand at the line's upper exit.
    pub(super) is_floor: bool,
    /// Interval inside the box; empty if the line only meets the widened box.
    pub(super) low: f32,
    pub(super) high: f32,
    /// Interval inside the widened box.
    pub(super) wide_low: f32,
    pub(super) wide_high: f32,
}

/// Plane of a box's uppermost face: height at the region's corner, and slope. `None` for a face on edge.
pub(super) fn top_plane(shape: &Shape) -> Option<(f32, Vec2)> {
    let (axis, half) = top_face(shape);
    if axis.z < 1e-3 {
        return None;
    }
    let slope = -axis.truncate() / axis.z;
    let face = shape.centre + axis * half;
    Some((face.z - slope.dot(face.truncate()), slope))
}

/// Upward normal of the uppermost face, and its distance from the centre.
fn top_face(shape: &Shape) -> (Vec3, f32) {
    let faces = shape.axes.into_iter().zip(shape.half.to_array());
    let (axis, half) =
        faces.fold(
            (Vec3::ZERO, 0.0),
            |best: (Vec3, f32), face| {
                if face.0.z.abs() > best.0.z.abs() { face } else { best }
            },
        );
    (if axis.z < 0.0 { -axis } else { axis }, half)
}

/// Upright lines through one box.
pub(super) struct BoxLines<'a> {
    shape: &'a Shape,
    /// Addition of the radius to each half width.
    wider: Vec3,
    is_floor: bool,
    top: Option<(f32, Vec2)>,
}

impl<'a> BoxLines<'a> {
    pub(super) fn new(shape: &'a Shape, walker: &WalkerSize) -> Self {
        // Reach of a level circle of the walker's radius along an axis.
        let reach = |axis: Vec3| walker.radius_m * axis.truncate().length();
        let [x, y, z] = shape.axes.map(reach);
        let top = top_plane(shape);
        let is_floor = top.is_some_and(|(_, slope)| slope.length() <= walker.slope_max + 1e-3);
        Self { shape, wider: Vec3::new(x, y, z), is_floor, top }
    }

    pub(super) fn intersect(&self, at: Vec2, column: u32, solid: u16) -> Option<LineHit> {
        let (wide_low, wide_high) = self.inside(at, self.shape.half + self.wider)?;
        let (low, high) = self.inside(at, self.shape.half).unwrap_or((f32::MAX, f32::MIN));
        // The line may leave a tilted box by a side.
        let leaves_by_top = self.top.is_some_and(|(z, slope)| (z + slope.dot(at) - high).abs() < SAME_M);
        Some(LineHit {
            column,
            solid,
            is_floor: self.is_floor && leaves_by_top,
            low,
            high,
            wide_low,
            wide_high,
        })
    }

    /// Interval of the upright line at a point inside a box of these half widths around the same centre.
    fn inside(&self, at: Vec2, half: Vec3) -> Option<(f32, f32)> {
        let level = (at - self.shape.centre.truncate()).extend(0.0);
        let (mut low, mut high) = (f32::MIN, f32::MAX);
        for (axis, half) in self.shape.axes.into_iter().zip(half.to_array()) {
            let offset = axis.dot(level);
            if axis.z.abs() < 1e-6 {
                if offset.abs() > half {
                    return None;
                }
                continue;
            }
            let (a, b) = ((-half - offset) / axis.z, (half - offset) / axis.z);
            low = low.max(a.min(b));
            high = high.min(a.max(b));
        }
        (low <= high).then_some((self.shape.centre.z + low, self.shape.centre.z + high))
    }
}
