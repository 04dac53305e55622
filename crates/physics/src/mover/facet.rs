//! Pieces of surface near an avatar, and their distances from it.
//!
//! Coordinates are relative to the begin of a step along x and y, for precision, and absolute along z. An avatar is a disc around a point, over a
//! range of heights; a box with an upright axis is tested as a rectangle, each other piece as a flat polygon.

use crate::bounds::Aabb;
use glam::{Vec2, Vec3};
use ids::LocalId;

/// Corners of a facet, at most: a box has quadrilaterals.
const CORNERS_MAX: usize = 4;
/// A polygon of four corners gets two more from a range of heights.
const CLIPPED_MAX: usize = CORNERS_MAX + 2;
/// A facet whose normal has a smaller part along x and y is level and stops nothing sideways.
const LEVEL: f32 = 1e-3;
/// A facet whose normal has a smaller part along z is upright: it carries nothing, and is no ceiling.
const UPRIGHT: f32 = 1e-3;

/// Slack of the test of a plane against an area: rounding.
const PLANE_SLACK_M: f32 = 1e-3;

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

/// A flat convex polygon of a solid's surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facet {
    corners: [Vec3; CORNERS_MAX],
    len: u8,
    /// Unit vector out of the solid.
    normal: Vec3,
    slab: Slab,
    /// Lowest and highest coordinates, seen from above.
    low: Vec2,
    high: Vec2,
    id: LocalId,
}

/// Part of a facet in a range of heights, seen from above.
#[derive(Clone, Copy, Debug)]
pub(super) struct FacetSection {
    corners: [Vec2; CLIPPED_MAX],
    len: u8,
    /// Level part of the facet's unit normal.
    normal: Vec2,
    id: LocalId,
}

impl Facet {
    /// A polygon of three or four corners, counter-clockwise from outside; `None` if it has no area or no part in the area of interest.
    pub(super) fn new(corners: &[Vec3], id: LocalId, area: &Aabb) -> Option<Self> {
        if !Aabb::around(corners.iter().copied()).overlaps(area) {
            return None;
        }
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
        let distance = normal.dot(area.centre() - corners[0]);
        // With the slack of the test below, for a normal of any length.
        if distance.abs() > normal.abs().dot(area.half() + 2.0 * PLANE_SLACK_M) {
            return None;
        }
        let normal = normal.try_normalize()?;
        let mut facet = Self {
            corners: [Vec3::ZERO; CORNERS_MAX],
            len: corners.len() as u8,
            normal,
            slab: Slab { low: f32::INFINITY, high: f32::NEG_INFINITY },
            low: Vec2::INFINITY,
            high: Vec2::NEG_INFINITY,
            id,
        };
        for (place, &corner) in facet.corners.iter_mut().zip(corners) {
            *place = corner;
            facet.slab.low = facet.slab.low.min(corner.z);
            facet.slab.high = facet.slab.high.max(corner.z);
            facet.low = facet.low.min(corner.truncate());
            facet.high = facet.high.max(corner.truncate());
        }
        Some(facet)
    }

    pub(super) const fn id(&self) -> LocalId {
        self.id
    }

    /// True if it may have a part in an area: their bounds overlap, and its plane passes through the area.
    pub(super) fn reaches_into(&self, area: &Aabb) -> bool {
        let bounds = Aabb { low: self.low.extend(self.slab.low), high: self.high.extend(self.slab.high) };
        bounds.overlaps(area) && {
            let distance = self.height_above(area.centre());
            distance.abs() <= self.normal.abs().dot(area.half() + PLANE_SLACK_M)
        }
    }

    /// Distance of a point from its plane, outwards.
    fn height_above(&self, point: Vec3) -> f32 {
        self.normal.dot(point - self.corners[0])
    }

    /// True if a disc may reach it, seen from above.
    fn is_near(&self, centre: Vec2, radius: f32) -> bool {
        self.low.x <= centre.x + radius
            && self.high.x >= centre.x - radius
            && self.low.y <= centre.y + radius
            && self.high.y >= centre.y - radius
    }

    /// Upward part of the unit normal: 1 for a level floor, −1 for a level ceiling.
    pub(super) const fn normal_z(&self) -> f32 {
        self.normal.z
    }

    /// Height of its highest corner.
    pub(super) const fn top(&self) -> f32 {
        self.slab.high
    }

    pub(super) const fn is_floor(&self) -> bool {
        self.normal.z > UPRIGHT
    }

    pub(super) const fn is_ceiling(&self) -> bool {
        self.normal.z < -UPRIGHT
    }

    /// The contact of its part in a range of heights with a disc of this radius, if that comes from outside of the solid. An axis that pierces the
    /// polygon has none.
    pub(super) fn contact(&self, axis: Vec2, slab: Slab, radius: f32) -> Option<Contact> {
        if !self.stops_in(slab) || !self.is_near(axis, radius) {
            return None;
        }
        // The plane is farther than the disc reaches, or the disc is behind it.
        let (above, most) = self.distances_from_plane(axis, slab);
        if most <= 0.0 || above >= radius {
            return None;
        }
        self.section(slab).contact(axis, radius)
    }

    /// True if its part in a range of heights stops avatars sideways.
    pub(super) fn stops_in(&self, slab: Slab) -> bool {
        self.slab.high > slab.low
            && self.slab.low < slab.high
            && self.normal.truncate().length_squared() >= LEVEL * LEVEL
    }

    /// Least and greatest distance from the plane, outwards, of the axis in a range of heights. The least one is along the normal and thus not
    /// more than the distance from any point of the polygon.
    fn distances_from_plane(&self, axis: Vec2, slab: Slab) -> (f32, f32) {
        let at = |z: f32| self.height_above(axis.extend(z));
        let (a, b) = (at(slab.low.max(self.slab.low)), at(slab.high.min(self.slab.high)));
        (a.min(b), a.max(b))
    }

    /// Its part in a range of heights, seen from above.
    pub(super) fn section(&self, slab: Slab) -> FacetSection {
        let mut clipped = [Vec2::ZERO; CLIPPED_MAX];
        let mut len = 0;
        let mut push = |point: Vec2| {
            if len < CLIPPED_MAX {
                clipped[len] = point;
                len += 1;
            }
        };
        let corners = &self.corners[..usize::from(self.len)];
        for (index, &from) in corners.iter().enumerate() {
            let to = corners[(index + 1) % corners.len()];
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
        FacetSection { corners: clipped, len: len as u8, normal: self.normal.truncate(), id: self.id }
    }

    /// Its heights within a disc, if it reaches into it.
    pub(super) fn heights_in(&self, centre: Vec2, radius: f32) -> Option<Slab> {
        if !self.is_near(centre, radius) {
            return None;
        }
        let corners = &self.corners[..usize::from(self.len)];
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        let mut add = |z: f32| {
            low = low.min(z);
            high = high.max(z);
        };
        let mut is_around = true;
        // Seen from above a floor is walked counter-clockwise, a ceiling clockwise.
        let side = self.normal.z.signum();
        for (index, &from) in corners.iter().enumerate() {
            let to = corners[(index + 1) % corners.len()];
            let (way, rel) = ((to - from).truncate(), from.truncate() - centre);
            is_around &= way.perp_dot(-rel) * side >= 0.0;
            let Some((first, last)) = share_in_disc(rel, way, radius) else { continue };
            add(from.z + (to.z - from.z) * first);
            add(from.z + (to.z - from.z) * last);
        }
        let slope = -self.normal.truncate() / self.normal.z;
        let steepness = slope.length();
        let height = |at: Vec2| self.corners[0].z + slope.dot(at - self.corners[0].truncate());
        if is_around {
            add(height(centre));
        }
        if steepness > 0.0 {
            // The extremes of a plane over the disc, where the polygon covers them.
            for direction in [1.0, -1.0] {
                let at = centre + slope * (direction * radius / steepness);
                if self.covers(at, side) {
                    add(height(at));
                }
            }
        }
        (low <= high).then_some(Slab { low, high })
    }

    /// True if a point lies under or above the polygon.
    fn covers(&self, point: Vec2, side: f32) -> bool {
        let corners = &self.corners[..usize::from(self.len)];
        corners.iter().enumerate().all(|(index, &from)| {
            let to = corners[(index + 1) % corners.len()];
            (to - from).truncate().perp_dot(point - from.truncate()) * side >= 0.0
        })
    }
}

impl FacetSection {
    /// As [`Facet::contact`].
    pub(super) fn contact(&self, axis: Vec2, radius: f32) -> Option<Contact> {
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

/// Shares of a segment between which it is in a disc around the origin.
fn share_in_disc(from: Vec2, way: Vec2, radius: f32) -> Option<(f32, f32)> {
    let (a, b, c) = (way.length_squared(), from.dot(way), from.length_squared() - radius * radius);
    if a == 0.0 {
        return (c <= 0.0).then_some((0.0, 0.0));
    }
    let discriminant = b * b - a * c;
    if discriminant < 0.0 {
        return None;
    }
    let root = libm::sqrtf(discriminant);
    let (first, last) = (((-b - root) / a).max(0.0), ((-b + root) / a).min(1.0));
    (first <= last).then_some((first, last))
}

/// The point of a convex polygon that is nearest to a point; the point itself if it lies within.
fn nearest_in_polygon(corners: &[Vec2], point: Vec2) -> Option<Vec2> {
    let mut nearest: Option<(f32, Vec2)> = None;
    let (mut has_left, mut has_right) = (false, false);
    for (index, &from) in corners.iter().enumerate() {
        let to = corners[(index + 1) % corners.len()];
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

#[cfg(test)]
mod tests;
