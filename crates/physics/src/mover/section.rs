//! The part of a facet in a range of heights: a flat polygon, seen from above, and its contact with a disc.

use glam::{Vec2, Vec3};
use ids::LocalId;

/// Corners of a facet, at most: a box has quadrilaterals.
pub(super) const CORNERS_MAX: usize = 4;
/// A polygon of four corners gets two more from a range of heights.
const CLIPPED_MAX: usize = CORNERS_MAX + 2;

/// A range of heights, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slab {
    pub(super) low: f32,
    pub(super) high: f32,
}

/// The nearest point of a piece, seen from an avatar's axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contact {
    /// Metres from the axis.
    pub(super) distance: f32,
    /// Unit vector to the axis.
    pub(super) away: Vec2,
    pub(super) id: LocalId,
}

/// Part of a facet in a range of heights, seen from above.
#[derive(Clone, Copy, Debug)]
pub(super) struct FacetSection {
    corners: [Vec2; CLIPPED_MAX],
    len: u8,
    /// Level part of the facet's unit normal.
    normal: Vec2,
    /// Least and greatest distance of the origin from the facet's plane, outwards, in the range of heights.
    planes: (f32, f32),
    id: LocalId,
}

impl FacetSection {
    /// The part of a polygon. `planes` are the distances of the origin from its plane.
    pub(super) fn new(corners: &[Vec3], normal: Vec2, planes: (f32, f32), slab: Slab, id: LocalId) -> Self {
        let mut clipped = [Vec2::ZERO; CLIPPED_MAX];
        let mut len = 0;
        let mut push = |point: Vec2| {
            if len < CLIPPED_MAX {
                clipped[len] = point;
                len += 1;
            }
        };
        let mut next = corners.iter().skip(1).chain(corners.first());
        for &from in corners {
            let to = *next.next().unwrap_or(&from);
            let is_in = |z: f32| z >= slab.low && z <= slab.high;
            if is_in(from.z) {
                push(from.truncate());
            }
            let crossing = |z: f32| {
                let crosses = (from.z < z) != (to.z < z) && from.z != z && to.z != z;
                crosses.then(|| (z - from.z) / (to.z - from.z))
            };
            let at = |share: f32| from.truncate().lerp(to.truncate(), share);
            match (crossing(slab.low), crossing(slab.high)) {
                (None, None) => {}
                (Some(share), None) | (None, Some(share)) => push(at(share)),
                (Some(low), Some(high)) => {
                    push(at(low.min(high)));
                    push(at(low.max(high)));
                }
            }
        }
        Self { corners: clipped, len: len as u8, normal, planes, id }
    }

    /// The contact with a disc of this radius that comes from outside of the solid.
    pub(super) fn contact(&self, axis: Vec2, radius: f32) -> Option<Contact> {
        // The plane is farther than the disc reaches, or the disc is behind it.
        let along = self.normal.dot(axis);
        if self.planes.0 + along >= radius || self.planes.1 + along <= 0.0 {
            return None;
        }
        let nearest = nearest_in_polygon(&self.corners[..usize::from(self.len)], axis)?;
        let rel = axis - nearest;
        let square = rel.length_squared();
        if square >= radius * radius || square == 0.0 || self.normal.dot(rel) <= 0.0 {
            return None;
        }
        let distance = libm::sqrtf(square);
        Some(Contact { distance, away: rel / distance, id: self.id })
    }
}

/// The point of a convex polygon that is nearest to a point; the point itself if it lies within.
fn nearest_in_polygon(corners: &[Vec2], point: Vec2) -> Option<Vec2> {
    let mut nearest: Option<(f32, Vec2)> = None;
    let (mut has_left, mut has_right) = (false, false);
    let mut next = corners.iter().skip(1).chain(corners.first());
    for &from in corners {
        let to = *next.next().unwrap_or(&from);
        let (way, rel) = (to - from, point - from);
        let side = way.perp_dot(rel);
        has_left |= side > 0.0;
        has_right |= side < 0.0;
        let square = way.length_squared();
        let share = if square > 0.0 { (rel.dot(way) / square).clamp(0.0, 1.0) } else { 0.0 };
        let at = from + way * share;
        let distance = at.distance_squared(point);
        if nearest.is_none_or(|(least, _)| distance < least) {
            nearest = Some((distance, at));
        }
    }
    let is_within = has_left != has_right && corners.len() > 2;
    if is_within { Some(point) } else { nearest.map(|(_, at)| at) }
}
