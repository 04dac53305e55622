//! New objects and copies, placed where the pointer is.
//!
//! A client sends the ray from its camera through the pointer, and the object that it has hit by its own account. The new object stands on
//! the side of that object where the ray enters it; without one, on the end of the ray. The world, which has the shapes of prims, cuts the ray with the
//! surface. A prim without one, and a static object, is cut as its box, as in OpenSimulator.

use super::without_prims;
use crate::coverage::Feature;
use crate::shard::Shard;
use crate::shard::incoming::{Handled, Incoming};
use glam::{Quat, Vec3};
use ids::Uuid;
use link::{CopyPlace, Duplicates, NewObject, ObjectCommand, PrimFlags, Ray};
use prim::Shape;
use std::sync::Arc;
use wire::messages::*;

/// Bit of `AddFlags` and `DuplicateFlags`: the client selects the new object.
const CREATE_SELECTED: u32 = 1 << 1;
/// Bits of `AddFlags` that a new object keeps.
const KEPT_FLAGS: u32 = PrimFlags::PHYSICS.0 | PrimFlags::PHANTOM.0 | PrimFlags::TEMPORARY.0;

/// A ray as a client sends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentRay {
    pub(super) start: Vec3,
    pub(super) end: Vec3,
    /// The object that it has hit; null for the ground.
    pub(super) target: Uuid,
    /// The client asks for the end, whatever is on the way.
    pub(super) bypasses: bool,
}

/// An upright or turned box.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnedBox {
    centre: Vec3,
    rotation: Quat,
    half: Vec3,
}

impl Shard {
    pub(in crate::shard) fn on_object_add(&mut self, at: &mut Incoming<'_>, m: ObjectAdd) -> Handled {
        if !self.client(at.index).place.scene.is_shared {
            return Ok(self.refuse_feature(at, Feature::Building));
        }
        let row = m.object_data;
        let ray = SentRay {
            start: row.ray_start,
            end: row.ray_end,
            target: row.ray_target_id,
            bypasses: row.bypass_raycast != 0,
        };
        let new = NewObject {
            id: self.new_object_id(at.index),
            created_us: self.unix_us(at.now),
            p_code: row.p_code,
            state: row.state,
            material: row.material,
            shape: shape(&row),
            scale: row.scale,
            position: ray.place(self.hit_box(at, ray), row.scale),
            ray: self.met_prim(at, ray),
            rotation: row.rotation,
            group: m.agent_data.group_id,
            flags: PrimFlags(row.add_flags & KEPT_FLAGS),
            is_selected: row.add_flags & CREATE_SELECTED != 0,
        };
        self.edit(at, ObjectCommand::Create(Box::new(new)))
    }

    pub(in crate::shard) fn on_object_duplicate(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectDuplicate,
    ) -> Handled {
        let offset = CopyPlace::Offset(m.shared_data.offset);
        let flags = m.shared_data.duplicate_flags;
        let n_asked = m.object_data.len();
        let originals = self.editable(at, m.object_data, |row| row.object_local_id)?;
        let copies: Vec<_> = originals.into_iter().map(|(id, _)| (id, offset)).collect();
        if copies.is_empty() {
            return Ok(without_prims(n_asked));
        }
        self.duplicate(at, m.agent_data.group_id, flags, copies)
    }

    /// Each copy stands where the ray ends, as high above it as half its own size.
    pub(in crate::shard) fn on_object_duplicate_on_ray(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectDuplicateOnRay,
    ) -> Handled {
        let asked = m.agent_data;
        let ray = SentRay {
            start: asked.ray_start,
            end: asked.ray_end,
            target: asked.ray_target_id,
            bypasses: asked.bypass_raycast,
        };
        let n_asked = m.object_data.len();
        let originals = self.editable(at, m.object_data, |row| row.object_local_id)?;
        let replica = Arc::clone(&self.client(at.index).place).scene.feed.current();
        let (hit, met) = (self.hit_box(at, ray), self.met_prim(at, ray));
        let mut copies = Vec::new();
        for (id, _) in originals {
            let Some(entry) = replica.objects().get(id) else { continue };
            let rotation = (!asked.copy_rotates).then_some(Quat::IDENTITY);
            let position = ray.place(hit, entry.body.scale);
            copies.push((id, CopyPlace::At { position, ray: met, rotation }));
        }
        if copies.is_empty() {
            return Ok(without_prims(n_asked));
        }
        self.duplicate(at, asked.group_id, asked.duplicate_flags, copies)
    }

    fn duplicate(
        &mut self,
        at: &mut Incoming<'_>,
        group: Uuid,
        flags: u32,
        copies: Vec<(ids::LocalId, CopyPlace)>,
    ) -> Handled {
        let ids = self.new_object_id(at.index);
        let is_selected = flags & CREATE_SELECTED != 0;
        self.edit(at, ObjectCommand::Duplicate(Box::new(Duplicates { ids, group, is_selected, copies })))
    }

    /// The ray, if it meets a prim: the world knows the prim's surface.
    pub(super) fn met_prim(&mut self, at: &Incoming<'_>, ray: SentRay) -> Option<Ray> {
        let SentRay { start, end, target, bypasses } = ray;
        let replica = self.client(at.index).place.scene.feed.current();
        let is_prim = !bypasses && replica.objects().of_id(target).is_some();
        is_prim.then_some(Ray { start, end, target })
    }

    /// Box of the object that a ray has hit.
    pub(super) fn hit_box(&mut self, at: &Incoming<'_>, ray: SentRay) -> Option<TurnedBox> {
        if ray.bypasses || ray.target.is_nil() {
            return None;
        }
        let place = Arc::clone(&self.client(at.index).place);
        let replica = place.scene.feed.current();
        let objects = replica.objects();
        if let Some(entry) = objects.of_id(ray.target).and_then(|id| objects.get(id)) {
            let motion = objects.motion_in_region(entry);
            let half = entry.body.scale / 2.0;
            return Some(TurnedBox { centre: motion.position, rotation: motion.rotation, half });
        }
        let scenery = &place.ground().scenery;
        let object = &scenery.prims()[scenery.index_of(ray.target)?];
        let half = object.prim.scale / 2.0;
        Some(TurnedBox { centre: object.position, rotation: object.rotation, half })
    }
}

impl SentRay {
    /// Centre of a new object of this size on the box that the ray has hit, metres from the region's corner.
    pub(super) fn place(&self, hit: Option<TurnedBox>, scale: Vec3) -> Vec3 {
        let side = hit.and_then(|hit| hit.cut(self.start, self.end));
        let on_end = self.end + Vec3::Z * (scale.z / 2.0);
        side.map_or(on_end, |(hit, normal)| hit + normal * (scale / 2.0).dot(normal.abs()))
    }
}

impl TurnedBox {
    /// The point where a ray enters the box, and the direction out of that side.
    fn cut(&self, start: Vec3, end: Vec3) -> Option<(Vec3, Vec3)> {
        let back = self.rotation.inverse();
        let (start, way) = (back * (start - self.centre), back * (end - start));
        let (mut first, mut last, mut normal) = (f32::NEG_INFINITY, f32::INFINITY, Vec3::ZERO);
        for axis in 0..3 {
            if way[axis].abs() < f32::EPSILON {
                if start[axis].abs() > self.half[axis] {
                    return None;
                }
                continue;
            }
            let sides = [-self.half[axis], self.half[axis]].map(|side| (side - start[axis]) / way[axis]);
            let (enters, leaves) = (sides[0].min(sides[1]), sides[0].max(sides[1]));
            if enters > first {
                first = enters;
                normal = Vec3::ZERO;
                normal[axis] = -way[axis].signum();
            }
            last = last.min(leaves);
        }
        let hits = first.is_finite() && first <= last && first >= 0.0;
        hits.then(|| (self.centre + self.rotation * (start + way * first), self.rotation * normal))
    }
}

fn shape(row: &ObjectAddObjectData) -> Shape {
    Shape {
        path_curve: row.path_curve,
        profile_curve: row.profile_curve,
        path_begin: row.path_begin,
        path_end: row.path_end,
        path_scale_x: row.path_scale_x,
        path_scale_y: row.path_scale_y,
        path_shear_x: row.path_shear_x.cast_signed(),
        path_shear_y: row.path_shear_y.cast_signed(),
        path_twist: row.path_twist,
        path_twist_begin: row.path_twist_begin,
        path_radius_offset: row.path_radius_offset,
        path_taper_x: row.path_taper_x,
        path_taper_y: row.path_taper_y,
        path_revolutions: row.path_revolutions,
        path_skew: row.path_skew,
        profile_begin: row.profile_begin,
        profile_end: row.profile_end,
        profile_hollow: row.profile_hollow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::FRAC_PI_4;

    const UPRIGHT: TurnedBox = TurnedBox {
        centre: Vec3::new(10.0, 10.0, 21.0),
        rotation: Quat::IDENTITY,
        half: Vec3::new(2.0, 1.0, 0.5),
    };

    #[test]
    fn a_ray_meets_the_side_that_it_enters_by() {
        let (hit, normal) = UPRIGHT.cut(Vec3::new(10.5, 10.0, 30.0), Vec3::new(10.5, 10.0, 0.0)).unwrap();
        assert_eq!((hit, normal), (Vec3::new(10.5, 10.0, 21.5), Vec3::Z));
        let (hit, normal) = UPRIGHT.cut(Vec3::new(0.0, 10.0, 21.0), Vec3::new(1.0, 10.0, 21.0)).unwrap();
        assert_eq!((hit, normal), (Vec3::new(8.0, 10.0, 21.0), Vec3::NEG_X));
    }

    #[test]
    fn a_turned_box_is_met_on_its_turned_side() {
        let turned = TurnedBox { rotation: Quat::from_rotation_z(FRAC_PI_4), half: Vec3::ONE, ..UPRIGHT };
        let (hit, normal) = turned.cut(Vec3::new(0.0, 10.0, 21.0), Vec3::new(9.0, 10.0, 21.0)).unwrap();
        assert!((hit.x - (10.0 - 2.0_f32.sqrt())).abs() < 1e-4, "{hit}");
        assert!((normal.length() - 1.0).abs() < 1e-5 && normal.x < -0.7, "{normal}");
    }

    #[test]
    fn a_ray_past_the_box_or_away_from_it_meets_nothing() {
        assert_eq!(UPRIGHT.cut(Vec3::new(0.0, 12.0, 21.0), Vec3::new(9.0, 12.0, 21.0)), None);
        assert_eq!(UPRIGHT.cut(Vec3::new(0.0, 10.0, 21.0), Vec3::new(-9.0, 10.0, 21.0)), None);
        assert_eq!(UPRIGHT.cut(Vec3::ZERO, Vec3::ZERO), None);
    }
}
