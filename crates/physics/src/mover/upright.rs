//! Boxes with an upright axis: most walls and floors.

use super::section::{Contact, Slab};
use crate::bounds::Aabb;
use glam::Vec2;
use ids::LocalId;

/// A box with an upright axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct UprightBox {
    pub(super) centre: Vec2,
    /// The other axes, unit vectors.
    pub(super) axes: [Vec2; 2],
    /// Half its width along them.
    pub(super) half: Vec2,
    pub(super) slab: Slab,
    pub(super) id: LocalId,
}

impl UprightBox {
    /// The contact with a disc of this radius. An axis within the box has none: an avatar in a solid can leave it.
    pub(super) fn contact(&self, axis: Vec2, slab: Slab, radius: f32) -> Option<Contact> {
        if self.slab.high <= slab.low || self.slab.low >= slab.high {
            return None;
        }
        let outside = self.outside(axis);
        let square = outside.length_squared();
        if square >= radius * radius || square == 0.0 {
            return None;
        }
        let distance = libm::sqrtf(square);
        let away = (self.axes[0] * outside.x + self.axes[1] * outside.y) / distance;
        Some(Contact { distance, away, id: self.id })
    }

    /// True if it may have a part in an area.
    pub(super) fn reaches_into(&self, area: &Aabb) -> bool {
        let reach = self.axes[0].abs() * self.half.x + self.axes[1].abs() * self.half.y;
        let bounds = Aabb {
            low: (self.centre - reach).extend(self.slab.low),
            high: (self.centre + reach).extend(self.slab.high),
        };
        bounds.overlaps(area)
    }

    /// True if its outline reaches into a disc.
    pub(super) fn is_under(&self, centre: Vec2, radius: f32) -> bool {
        self.outside(centre).length_squared() <= radius * radius
    }

    /// From the nearest point of the box to a point, along the axes of the box.
    fn outside(&self, point: Vec2) -> Vec2 {
        let rel = point - self.centre;
        let own = Vec2::new(rel.dot(self.axes[0]), rel.dot(self.axes[1]));
        own - own.clamp(-self.half, self.half)
    }
}
