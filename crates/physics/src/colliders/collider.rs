//! A prim in its place.

use crate::bounds::{Aabb, OrientedBox};
use crate::shape::{Geometry, Segment, SolidMesh};
use glam::{Mat3, Quat, Vec3};
use state_hash::StateHasher;
use std::sync::Arc;
use thiserror::Error;

/// Coordinates and sizes are within ± this, metres: far beyond any region.
const COORDINATE_MAX_M: f32 = 16_384.0;
/// Difference of a quaternion's length from 1 that is rounding.
const LENGTH_TOLERANCE: f32 = 1e-2;
/// Cosine above which an axis of a box is upright, if the box is not too large for it.
const UPRIGHT: f32 = 0.999_999_8;
/// Distance in units of a mesh's scale from which a ray is far away.
const FAR_UNITS: f32 = 64.0;
/// Metres by which a corner of such a box may lie beside the place that it has with its axis upright: those of a box of 64 m at this cosine.
const UPRIGHT_ERROR_M: f32 = 0.04;

/// Place of a prim in a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Its position, metres from the region's south-west corner.
    pub position: Vec3,
    /// A quaternion of length 1.
    pub rotation: Quat,
    /// Its size along each of its axes, metres.
    pub scale: Vec3,
}

/// A placement with a number that is not finite, or a rotation without length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no place, turn or size of a collider: it has to be a number of metres within ±{max}", max = COORDINATE_MAX_M)]
pub struct ColliderError;

/// A prim's solid in its place.
#[derive(Clone, Debug)]
pub(crate) struct Collider {
    /// Centre of a box, position of a mesh.
    pub(crate) origin: Vec3,
    pub(crate) axes: Mat3,
    pub(crate) solid: PlacedSolid,
}

#[derive(Clone, Debug)]
pub(crate) enum PlacedSolid {
    Box {
        half: Vec3,
        /// From the prim's position to the centre, in its own axes.
        offset: Vec3,
    },
    Mesh {
        mesh: Arc<SolidMesh>,
        scale: Vec3,
    },
}

/// A hit of a segment on a collider.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColliderHit {
    /// Share of the segment before it.
    pub(crate) share: f32,
    /// Unit vector out of the solid.
    pub(crate) normal: Vec3,
    pub(crate) face: u8,
}

impl Placement {
    /// True for a place, a turn and a size that are possible.
    pub(crate) fn is_sound(&self) -> bool {
        self.checked_axes().is_ok()
    }

    /// Its axes, if it is one.
    fn checked_axes(&self) -> Result<Mat3, ColliderError> {
        let is_usual = |v: Vec3| v.is_finite() && v.abs().max_element() <= COORDINATE_MAX_M;
        let length = self.rotation.length();
        let is_rotation = (length - 1.0).abs() <= LENGTH_TOLERANCE;
        if !is_usual(self.position)
            || !is_usual(self.scale)
            || !is_rotation
            || self.scale.min_element() <= 0.0
        {
            return Err(ColliderError);
        }
        Ok(Mat3::from_quat(self.rotation / length))
    }
}

impl Collider {
    /// A solid in its place; `None` for one that collides with nothing.
    pub(crate) fn new(geometry: &Geometry, placement: &Placement) -> Result<Option<Self>, ColliderError> {
        let axes = placement.checked_axes()?;
        let solid = match geometry {
            Geometry::Empty => return Ok(None),
            Geometry::Box(unit) => PlacedSolid::Box {
                half: unit.half() * placement.scale,
                offset: unit.centre() * placement.scale,
            },
            Geometry::Mesh(mesh) => PlacedSolid::Mesh { mesh: Arc::clone(mesh), scale: placement.scale },
        };
        let mut collider = Self { origin: placement.position, axes, solid };
        collider.set_position(placement.position);
        Ok(Some(collider))
    }

    /// Moves it; size and form stay.
    pub(crate) fn relocate(&mut self, position: Vec3, rotation: Quat) -> Result<(), ColliderError> {
        self.axes = Placement { position, rotation, scale: Vec3::ONE }.checked_axes()?;
        self.set_position(position);
        Ok(())
    }

    fn set_position(&mut self, position: Vec3) {
        self.origin = match self.solid {
            PlacedSolid::Box { offset, .. } => position + self.axes * offset,
            PlacedSolid::Mesh { .. } => position,
        };
    }

    /// Folds form, size and place into a hash: it tells whether a collider is still what it was, also after a restart.
    pub(crate) fn fold_into(&self, hasher: &mut StateHasher) {
        hasher.vec3(self.origin);
        [self.axes.x_axis, self.axes.y_axis, self.axes.z_axis].into_iter().for_each(|axis| hasher.vec3(axis));
        match &self.solid {
            PlacedSolid::Box { half, offset } => {
                hasher.vec3(*half);
                hasher.vec3(*offset);
            }
            PlacedSolid::Mesh { mesh, scale } => {
                hasher.u64(mesh.hash());
                hasher.vec3(*scale);
            }
        }
    }

    /// The box around it, along its own axes.
    pub(crate) fn oriented_box(&self) -> OrientedBox {
        let (centre, half) = match &self.solid {
            PlacedSolid::Box { half, .. } => (self.origin, *half),
            PlacedSolid::Mesh { mesh, scale } => {
                let unit = mesh.bounds();
                (self.origin + self.axes * (unit.centre() * *scale), unit.half() * *scale)
            }
        };
        OrientedBox { centre, axes: self.axes, half }
    }

    /// Visits the triangles of a mesh that may overlap a box, or all without one, with their corners in the region. A box has none.
    pub(crate) fn each_triangle_in(&self, area: Option<&Aabb>, mut visit: impl FnMut([Vec3; 3])) {
        let PlacedSolid::Mesh { mesh, scale } = &self.solid else { return };
        let scaled = self.axes * Mat3::from_diagonal(*scale);
        let place = |corner: Vec3| self.origin + scaled * corner;
        let placed = |[a, b, c]: [Vec3; 3]| [place(a), place(b), place(c)];
        let Some(area) = area else {
            mesh.each(|corners| visit(placed(corners)));
            return;
        };
        let inverse = self.axes.transpose();
        let centre = inverse * (area.centre() - self.origin);
        let half = area.half();
        let reach =
            inverse.x_axis.abs() * half.x + inverse.y_axis.abs() * half.y + inverse.z_axis.abs() * half.z;
        let local = Aabb { low: (centre - reach) / *scale, high: (centre + reach) / *scale };
        mesh.each_in(&local, |corners| visit(placed(corners)));
    }

    /// Index of the axis of a box that is upright, if one is. A mesh has none.
    pub(crate) fn upright_axis(&self) -> Option<usize> {
        let PlacedSolid::Box { half, .. } = &self.solid else { return None };
        let is_upright = |axis: Vec3| {
            axis.z.abs() >= UPRIGHT && axis.truncate().length() * half.length() <= UPRIGHT_ERROR_M
        };
        (0..3).rev().find(|&axis| is_upright(self.axes.col(axis)))
    }

    /// Where a segment enters it, before a share of the segment. A segment that begins inside does not enter.
    pub(crate) fn cast(&self, segment: &Segment, most: f32) -> Option<ColliderHit> {
        let inverse = self.axes.transpose();
        let local = Segment { from: inverse * (segment.from - self.origin), way: inverse * segment.way };
        match &self.solid {
            PlacedSolid::Box { half, .. } => {
                let (share, axis) = enter_box(&local, *half, most)?;
                let sign = if local.way[axis] < 0.0 { 1.0 } else { -1.0 };
                Some(ColliderHit {
                    share,
                    normal: self.axes.col(axis) * sign,
                    face: box_face(axis, sign > 0.0),
                })
            }
            PlacedSolid::Mesh { mesh, scale } => {
                let unit = Segment { from: local.from / *scale, way: local.way / *scale };
                // Rounding grows with the distance: a ray from far away would slip through between two triangles of a thin prim, so that it begins beside it.
                let is_far = unit.from.abs().max_element() > FAR_UNITS;
                let skipped = if is_far { unit.entry(&mesh.bounds().grown(Vec3::ONE), most)? } else { 0.0 };
                let near = Segment { from: unit.from + unit.way * skipped, way: unit.way };
                let hit = mesh.cast(&near, most - skipped)?;
                let [a, b, c] = mesh.corners(hit.triangle).map(|corner| self.axes * (corner * *scale));
                let normal = (b - a).cross(c - a).normalize_or_zero();
                let share = skipped + hit.share;
                Some(ColliderHit { share, normal, face: mesh.faces()[hit.triangle] })
            }
        }
    }
}

/// Share of a segment at which it enters a box around the origin, and the axis across which it does.
fn enter_box(segment: &Segment, half: Vec3, most: f32) -> Option<(f32, usize)> {
    let (mut enter, mut leave, mut across) = (f32::NEG_INFINITY, most, None);
    for axis in 0..3 {
        let (from, way) = (segment.from[axis], segment.way[axis]);
        if way == 0.0 {
            if from.abs() > half[axis] {
                return None;
            }
            continue;
        }
        let (a, b) = ((-half[axis] - from) / way, (half[axis] - from) / way);
        let (first, last) = (a.min(b), a.max(b));
        if first > enter {
            (enter, across) = (first, Some(axis));
        }
        leave = leave.min(last);
    }
    (enter >= 0.0 && enter <= leave).then_some((enter, across?))
}

/// Number of a box's face, as viewers count.
const fn box_face(axis: usize, is_high: bool) -> u8 {
    match (axis, is_high) {
        (0, true) => 2,
        (0, false) => 4,
        (1, true) => 3,
        (1, false) => 1,
        (_, true) => 0,
        (_, false) => 5,
    }
}
