//! Boxes around things: along the axes of the region, and along axes of their own.

use glam::{Mat3, Vec3};
use serde::{Deserialize, Serialize};

/// A box along the axes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aabb {
    /// Lowest coordinates.
    pub low: Vec3,
    /// Highest coordinates.
    pub high: Vec3,
}

impl Aabb {
    /// A box that has no point and overlaps nothing.
    pub const EMPTY: Self = Self { low: Vec3::INFINITY, high: Vec3::NEG_INFINITY };
    /// A prim that fills its scale.
    pub const UNIT: Self = Self { low: Vec3::splat(-0.5), high: Vec3::splat(0.5) };

    /// The smallest box around points.
    #[must_use]
    pub fn around(points: impl IntoIterator<Item = Vec3>) -> Self {
        points
            .into_iter()
            .fold(Self::EMPTY, |all, point| Self { low: all.low.min(point), high: all.high.max(point) })
    }

    /// True if the two have a point in common, a border point included.
    #[must_use]
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low.x <= other.high.x
            && self.high.x >= other.low.x
            && self.low.y <= other.high.y
            && self.high.y >= other.low.y
            && self.low.z <= other.high.z
            && self.high.z >= other.low.z
    }

    /// True if `other` lies within it.
    #[must_use]
    #[inline]
    pub fn contains(&self, other: &Self) -> bool {
        self.low.cmple(other.low).all() && self.high.cmpge(other.high).all()
    }

    /// The same box, wider by `by` on each side, metres.
    #[must_use]
    pub fn grown(&self, by: Vec3) -> Self {
        Self { low: self.low - by, high: self.high + by }
    }

    /// Its centre.
    #[must_use]
    pub fn centre(&self) -> Vec3 {
        (self.low + self.high) * 0.5
    }

    /// Half its width along each axis.
    #[must_use]
    pub fn half(&self) -> Vec3 {
        (self.high - self.low) * 0.5
    }
}

/// A box along axes of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrientedBox {
    /// Its centre, metres from the region's corner.
    pub centre: Vec3,
    /// Its axes in the region, unit vectors.
    pub axes: Mat3,
    /// Half its width along each axis, metres.
    pub half: Vec3,
}

impl OrientedBox {
    /// The box along the axes of the region around it.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        let reach = self.axes.x_axis.abs() * self.half.x
            + self.axes.y_axis.abs() * self.half.y
            + self.axes.z_axis.abs() * self.half.z;
        Aabb { low: self.centre - reach, high: self.centre + reach }
    }

    /// Its corners. Bits 0, 1 and 2 of an index are set on the high sides of x, y and z.
    #[must_use]
    pub fn corners(&self) -> [Vec3; 8] {
        std::array::from_fn(|corner| {
            let side = |axis: u32| if corner >> axis & 1 == 0 { -1.0 } else { 1.0 };
            self.centre + self.axes * (self.half * Vec3::new(side(0), side(1), side(2)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Quat;

    #[test]
    fn a_turned_box_lies_within_its_bounds_and_touches_them() {
        let turned = OrientedBox {
            centre: Vec3::new(10.0, 20.0, 30.0),
            axes: Mat3::from_quat(Quat::from_rotation_z(0.7) * Quat::from_rotation_x(0.4)),
            half: Vec3::new(1.0, 2.0, 3.0),
        };
        let around = Aabb::around(turned.corners());
        let bounds = turned.aabb();
        assert!(around.low.distance(bounds.low) < 1e-5 && around.high.distance(bounds.high) < 1e-5);
    }

    #[test]
    fn boxes_that_touch_overlap_and_an_empty_one_overlaps_nothing() {
        let next = Aabb { low: Vec3::new(0.5, -0.5, -0.5), high: Vec3::splat(1.0) };
        assert!(Aabb::UNIT.overlaps(&next));
        assert!(!Aabb::UNIT.overlaps(&Aabb { low: next.low + Vec3::X * 1e-3, ..next }));
        assert!(!Aabb::UNIT.overlaps(&Aabb::EMPTY) && !Aabb::EMPTY.overlaps(&Aabb::EMPTY));
        assert!(Aabb::UNIT.grown(Vec3::ONE).contains(&next) && !Aabb::UNIT.contains(&next));
    }
}
