//! Pieces of surface near an avatar, and their distances from it.
//!
//! Along x and y, coordinates are relative to an origin near the begin of a step (`Surroundings::origin`), for precision; along z they are absolute. An avatar is a disc around a point, over a
//! range of heights; a box with an upright axis is tested as a rectangle, each other piece as a flat polygon.

use super::section::{CORNERS_MAX, Contact, FacetSection, Slab};
use crate::bounds::Aabb;
use glam::{Vec2, Vec3};
use ids::LocalId;

/// A facet whose normal has a smaller part along x and y is level and stops nothing sideways.
const LEVEL: f32 = 1e-3;
/// A facet whose normal has a smaller part along z is upright: it carries nothing, and is no ceiling.
const UPRIGHT: f32 = 1e-3;

/// Square of the length from which an edge is long, m²: on shorter ones the rounding of squares moves the border of a foot by 1 cm at most.
const LONG_EDGE_M2: f32 = 16_384.0;

/// Slack of the test of a plane against an area: rounding.
const PLANE_SLACK_M: f32 = 1e-3;

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

impl Facet {
    /// A polygon of three or four corners, counter-clockwise from outside; `None` if it is degenerate, or if its bounds or its plane miss the given box.
    pub(super) fn new(corners: &[Vec3], id: LocalId, area: Option<&Aabb>) -> Option<Self> {
        if area.is_some_and(|area| !Aabb::around(corners.iter().copied()).overlaps(area)) {
            return None;
        }
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
        // With the slack of the test below, for a normal of any length.
        let is_beside = |area: &Aabb| {
            let distance = normal.dot(area.centre() - corners[0]);
            distance.abs() > normal.abs().dot(area.half() + 2.0 * PLANE_SLACK_M)
        };
        if area.is_some_and(is_beside) {
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

    /// The box around it.
    pub(super) const fn bounds(&self) -> Aabb {
        let (low, high) = (self.low, self.high);
        Aabb { low: Vec3::new(low.x, low.y, self.slab.low), high: Vec3::new(high.x, high.y, self.slab.high) }
    }

    /// True if its plane passes through an area.
    pub(super) fn is_cut_by(&self, area: &Aabb) -> bool {
        let distance = self.height_above(area.centre());
        distance.abs() <= self.normal.abs().dot(area.half() + PLANE_SLACK_M)
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

    /// The contact of a disc of this radius with the facet's part in a range of heights; none if the disc is behind the facet, or if its axis pierces the
    /// polygon.
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

    /// True if its part in a range of heights may stop a disc of this radius somewhere within `way` of a place: its plane comes near enough, and the disc
    /// is not always behind it.
    pub(super) fn may_stop(&self, from: Vec2, way: f32, slab: Slab, radius: f32) -> bool {
        let (above, most) = self.distances_from_plane(from, slab);
        above < radius + way + PLANE_SLACK_M && most > -way - PLANE_SLACK_M
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
        let planes = self.distances_from_plane(Vec2::ZERO, slab);
        FacetSection::new(
            &self.corners[..usize::from(self.len)],
            self.normal.truncate(),
            planes,
            slab,
            self.id,
        )
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

/// Shares of a segment between which it is in a disc around the origin.
fn share_in_disc(from: Vec2, way: Vec2, radius: f32) -> Option<(f32, f32)> {
    let (a, b, c) = (way.length_squared(), from.dot(way), from.length_squared() - radius * radius);
    if a == 0.0 {
        return (c <= 0.0).then_some((0.0, 0.0));
    }
    if a > LONG_EDGE_M2 {
        // From the nearest point on, whose distance loses nothing to squares of the length.
        let nearest = -b / a;
        let rest = radius * radius - (from + way * nearest).length_squared();
        if rest < 0.0 {
            return None;
        }
        let half = libm::sqrtf(rest / a);
        let (first, last) = ((nearest - half).max(0.0), (nearest + half).min(1.0));
        return (first <= last).then_some((first, last));
    }
    let discriminant = b * b - a * c;
    if discriminant < 0.0 {
        return None;
    }
    let root = libm::sqrtf(discriminant);
    let (first, last) = (((-b - root) / a).max(0.0), ((-b + root) / a).min(1.0));
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests;
