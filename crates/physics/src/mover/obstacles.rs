//! The pieces of surface around an avatar, and those within reach of one step.

use super::facet::Facet;
use super::lanes::BoundsList;
use super::section::{Contact, FacetSection, Slab};
use super::upright::UprightBox;
use crate::bounds::Aabb;
use crate::colliders::{Collider, PlacedSolid};
use glam::{Vec2, Vec3};
use ids::LocalId;

/// A ceiling so far below the top of an avatar's head still is one: rounding, or an avatar that has grown.
const CEILING_SLACK_M: f32 = 0.05;
/// A ceiling that reaches less far over an avatar than this is a wall beside it.
const CEILING_SKIN_M: f32 = 0.01;

/// Corners of a box's faces, counter-clockwise from outside; see [`crate::OrientedBox::corners`].
const BOX_FACES: [[usize; 4]; 6] =
    [[1, 3, 7, 5], [0, 4, 6, 2], [2, 6, 7, 3], [0, 1, 5, 4], [4, 5, 7, 6], [0, 2, 3, 1]];

/// Upward part of the normal of the steepest slope that is climbed: 60°.
const CLIMB_NORMAL_Z: f32 = 0.5;

/// Surface to stand on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Floor {
    pub(super) z: f32,
    /// Too steep to climb, and higher than a step.
    pub(super) is_steep: bool,
    pub(super) id: LocalId,
}

/// Pieces of surface, in the order of their prims' ids. Vectors keep their memory when they are cleared.
#[derive(Clone, Debug, Default)]
pub(super) struct Obstacles {
    uprights: Vec<UprightBox>,
    facets: Vec<Facet>,
    /// Bounds of the facets, which rule out most of them.
    bounds: BoundsList,
}

/// The pieces within reach of one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached<'a> {
    obstacles: &'a Obstacles,
    lists: &'a ReachLists,
}

/// Lists of the pieces within reach. They keep their memory from step to step: beside a heap of prims they are long.
#[derive(Clone, Debug, Default)]
pub(super) struct ReachLists {
    uprights: Vec<u16>,
    facets: Vec<u16>,
    bounds: BoundsList,
    /// Scratch of [`Section`].
    pub(super) sections: Vec<FacetSection>,
}

/// The pieces that stop a disc within a range of heights, near a place: for more than one test.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    reached: &'a Reached<'a>,
    slab: Slab,
    from: Vec2,
    /// Discs farther than this from `from` are tested against `reached` instead.
    way: f32,
    facets: &'a [FacetSection],
}

impl Obstacles {
    pub(super) fn clear(&mut self) {
        self.uprights.clear();
        self.facets.clear();
        self.bounds.clear();
    }

    pub(super) const fn len(&self) -> usize {
        self.uprights.len() + self.facets.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.uprights.is_empty() && self.facets.is_empty()
    }

    /// Adds the parts of a collider, within `bounds`, that may overlap an area. `origin` is the origin of the step's coordinates.
    pub(super) fn add(&mut self, id: LocalId, collider: &Collider, bounds: &Aabb, area: &Aabb, origin: Vec2) {
        // Small prims lie within it as a whole.
        let area = (!area.contains(bounds)).then_some(area);
        let near = area.map(|area| relative(area, origin));
        let origin = origin.extend(0.0);
        match (&collider.solid, collider.upright_axis()) {
            (&PlacedSolid::Box { half, .. }, Some(up)) => {
                let centre = collider.origin - origin;
                let (a, b) = ((up + 1) % 3, (up + 2) % 3);
                let axis = |index: usize| collider.axes.col(index).truncate();
                self.uprights.push(UprightBox {
                    centre: centre.truncate(),
                    axes: [axis(a), axis(b)],
                    half: Vec2::new(half[a], half[b]),
                    slab: Slab { low: centre.z - half[up], high: centre.z + half[up] },
                    id,
                });
            }
            (PlacedSolid::Box { .. }, None) => {
                let corners = collider.oriented_box().corners();
                for face in BOX_FACES {
                    self.add_facet(&face.map(|corner| corners[corner] - origin), id, near.as_ref());
                }
            }
            (PlacedSolid::Mesh { .. }, _) => {
                collider.each_triangle_in(area, |[a, b, c]| {
                    self.add_facet(&[a - origin, b - origin, c - origin], id, near.as_ref());
                });
            }
        }
    }

    fn add_facet(&mut self, corners: &[Vec3], id: LocalId, area: Option<&Aabb>) {
        if let Some(facet) = Facet::new(corners, id, area) {
            self.bounds.push(&facet.bounds());
            self.facets.push(facet);
        }
    }

    /// Drops the pieces that do not reach into an area.
    pub(super) fn shrink(&mut self, area: &Aabb, origin: Vec2) {
        let area = relative(area, origin);
        self.uprights.retain(|upright| upright.reaches_into(&area));
        self.facets.retain(|facet| facet.bounds().overlaps(&area) && facet.is_cut_by(&area));
        self.bounds.clear();
        self.facets.iter().for_each(|facet| self.bounds.push(&facet.bounds()));
    }

    /// The pieces that reach into an area.
    pub(super) fn within<'a>(&'a self, area: &Aabb, origin: Vec2, lists: &'a mut ReachLists) -> Reached<'a> {
        let area = relative(area, origin);
        lists.uprights.clear();
        lists.facets.clear();
        lists.bounds.clear();
        for (index, upright) in (0..).zip(&self.uprights) {
            if upright.reaches_into(&area) {
                lists.uprights.push(index);
            }
        }
        // By the bounds alone: facets themselves are loaded by the tests that they are near to.
        self.bounds.overlapping(area).for_each(|index| {
            lists.facets.push(index as u16);
            lists.bounds.push(&self.bounds.get(index));
        });
        Reached { obstacles: self, lists }
    }
}

/// An area of the region, with coordinates relative to an origin.
fn relative(area: &Aabb, origin: Vec2) -> Aabb {
    let origin = origin.extend(0.0);
    Aabb { low: area.low - origin, high: area.high - origin }
}

/// The box around a disc over a range of heights.
fn around_disc(axis: Vec2, radius: f32, slab: Slab) -> Aabb {
    Aabb { low: (axis - radius).extend(slab.low), high: (axis + radius).extend(slab.high) }
}

impl Reached<'_> {
    fn uprights(&self) -> impl Iterator<Item = &UprightBox> {
        self.lists.uprights.iter().map(|&index| &self.obstacles.uprights[usize::from(index)])
    }

    /// The facets whose bounds overlap those of a disc over a range of heights.
    fn facets(&self, axis: Vec2, radius: f32, slab: Slab) -> impl Iterator<Item = &Facet> {
        let area = around_disc(axis, radius, slab);
        let lists = self.lists;
        lists.bounds.overlapping(area).map(|place| &self.obstacles.facets[usize::from(lists.facets[place])])
    }

    /// The pieces that stop a disc of this radius in a range of heights, within `way` of a place. They are listed in `memory`.
    pub(super) fn section<'a>(
        &'a self,
        from: Vec2,
        way: f32,
        slab: Slab,
        radius: f32,
        memory: &'a mut Vec<FacetSection>,
    ) -> Section<'a> {
        let facets = self.facets(from, radius + way, slab).filter(|facet| facet.stops_in(slab));
        let facets = facets.filter(|facet| facet.may_stop(from, way, slab, radius));
        memory.clear();
        memory.extend(facets.map(|facet| facet.section(slab)));
        Section { reached: self, slab, from, way, facets: memory }
    }

    /// The contact nearest to the axis of an upright cylinder.
    pub(super) fn deepest(&self, axis: Vec2, slab: Slab, radius: f32) -> Option<Contact> {
        let first =
            nearest(self.uprights(), None, radius, |upright, reach| upright.contact(axis, slab, reach));
        let facets = self.facets(axis, radius, slab);
        nearest(facets, first, radius, |facet, reach| facet.contact(axis, slab, reach))
    }

    /// Distance from the axis to the nearest piece, `radius` at most.
    pub(super) fn clearance(&self, axis: Vec2, slab: Slab, radius: f32) -> f32 {
        self.deepest(axis, slab, radius).map_or(radius, |contact| contact.distance)
    }

    /// The highest surface under a foot of this radius that is not above `slab.high`; one below `slab.low` may be missed. A slope that rises from below
    /// `feet` to above `slab.high` within the foot counts as a floor at `feet`.
    pub(super) fn floor(&self, axis: Vec2, radius: f32, feet: f32, slab: Slab) -> Option<Floor> {
        let highest = slab.high;
        let mut best: Option<Floor> = None;
        let mut offer = |z: f32, is_steep: bool, id: LocalId| {
            if best.is_none_or(|floor| z > floor.z) {
                best = Some(Floor { z, is_steep, id });
            }
        };
        for upright in self.uprights() {
            if upright.slab.high <= highest && upright.is_under(axis, radius) {
                offer(upright.slab.high, false, upright.id);
            }
        }
        self.facets(axis, radius, slab).filter(|facet| facet.is_floor()).for_each(|facet| {
            let Some(heights) = facet.heights_in(axis, radius) else { return };
            // A steep side that ends within a step is the side of a step.
            let is_steep = facet.normal_z() < CLIMB_NORMAL_Z && facet.top() > highest;
            if heights.high <= highest {
                offer(heights.high, is_steep, facet.id());
            } else if heights.low < feet {
                offer(feet, is_steep, facet.id());
            }
        });
        best
    }

    /// Height and prim of the lowest surface above a cylinder of this radius whose top is at `head`; one above `highest` may be missed. The height is at
    /// least `head`.
    pub(super) fn ceiling(&self, axis: Vec2, radius: f32, head: f32, highest: f32) -> Option<(f32, LocalId)> {
        let radius = radius - CEILING_SKIN_M;
        let mut best: Option<(f32, LocalId)> = None;
        let mut offer = |z: f32, id: LocalId| {
            if best.is_none_or(|(least, _)| z < least) {
                best = Some((z, id));
            }
        };
        for upright in self.uprights() {
            if upright.slab.low >= head - CEILING_SLACK_M && upright.is_under(axis, radius) {
                offer(upright.slab.low.max(head), upright.id);
            }
        }
        let slab = Slab { low: head - CEILING_SLACK_M, high: highest };
        self.facets(axis, radius, slab).filter(|facet| facet.is_ceiling()).for_each(|facet| {
            let Some(heights) = facet.heights_in(axis, radius) else { return };
            if heights.low >= head - CEILING_SLACK_M {
                offer(heights.low.max(head), facet.id());
            } else if heights.high > head {
                offer(head, facet.id());
            }
        });
        best
    }
}

impl Section<'_> {
    /// As [`Reached::deepest`] in its range of heights.
    pub(super) fn deepest(&self, axis: Vec2, radius: f32) -> Option<Contact> {
        if axis.distance_squared(self.from) > self.way * self.way {
            return self.reached.deepest(axis, self.slab, radius);
        }
        let uprights = self.reached.uprights();
        let first = nearest(uprights, None, radius, |upright, reach| upright.contact(axis, self.slab, reach));
        nearest(self.facets.iter(), first, radius, |facet, reach| facet.contact(axis, reach))
    }

    /// Distance from the axis to the nearest piece, `radius` at most.
    pub(super) fn clearance(&self, axis: Vec2, radius: f32) -> f32 {
        self.deepest(axis, radius).map_or(radius, |contact| contact.distance)
    }
}

/// The nearest contact among those of some pieces and a first one. A later piece has to be nearer: of equal ones the first decides.
fn nearest<T>(
    pieces: impl Iterator<Item = T>,
    first: Option<Contact>,
    radius: f32,
    contact: impl Fn(T, f32) -> Option<Contact>,
) -> Option<Contact> {
    pieces.fold(first, |best, piece| contact(piece, best.map_or(radius, |best| best.distance)).or(best))
}

#[cfg(test)]
mod tests;
