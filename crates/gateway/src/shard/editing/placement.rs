//! Position, rotation and size, and their undo.

use crate::shard::Shard;
use crate::shard::counters::Refused;
use crate::shard::incoming::{Handled, Incoming};
use glam::{Quat, Vec3};
use link::{ObjectCommand, Placement};
use wire::messages::*;

/// Bits of the type of a block of MultipleObjectUpdate. Each of the first three stands for 12 bytes of data, in this order.
mod change {
    pub(super) const POSITION: u8 = 1;
    pub(super) const ROTATION: u8 = 2;
    pub(super) const SCALE: u8 = 4;
    pub(super) const LINKED_SET: u8 = 8;
    pub(super) const UNIFORM: u8 = 16;
    pub(super) const ALL: u8 = 31;
}

impl Shard {
    pub(in crate::shard) fn on_multiple_object_update(
        &mut self,
        at: &mut Incoming<'_>,
        m: MultipleObjectUpdate,
    ) -> Handled {
        let rows: Option<Vec<(u32, Placement)>> = m
            .object_data
            .iter()
            .map(|row| Some((row.object_local_id, placement(row.r#type, &row.data)?)))
            .collect();
        let rows = rows.ok_or(Refused::BadValue)?;
        self.edit_rows(at, rows, |&(id, _)| id, |(_, placement)| placement, ObjectCommand::Place)
    }

    pub(in crate::shard) fn on_object_position(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectPosition,
    ) -> Handled {
        let read = |row: ObjectPositionObjectData| Placement {
            position: Some(row.position),
            is_linked_set: true,
            ..Placement::default()
        };
        self.edit_rows(at, m.object_data, |row| row.object_local_id, read, ObjectCommand::Place)
    }

    pub(in crate::shard) fn on_object_rotation(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectRotation,
    ) -> Handled {
        let read = |row: ObjectRotationObjectData| Placement {
            rotation: Some(row.rotation),
            is_linked_set: true,
            ..Placement::default()
        };
        self.edit_rows(at, m.object_data, |row| row.object_local_id, read, ObjectCommand::Place)
    }

    pub(in crate::shard) fn on_object_scale(&mut self, at: &mut Incoming<'_>, m: ObjectScale) -> Handled {
        let read = |row: ObjectScaleObjectData| Placement { scale: Some(row.scale), ..Placement::default() };
        self.edit_rows(at, m.object_data, |row| row.object_local_id, read, ObjectCommand::Place)
    }

    pub(in crate::shard) fn on_undo(&mut self, at: &mut Incoming<'_>, m: Undo) -> Handled {
        self.edit(at, ObjectCommand::Undo(m.object_data.into_iter().map(|row| row.object_id).collect()))
    }

    pub(in crate::shard) fn on_redo(&mut self, at: &mut Incoming<'_>, m: Redo) -> Handled {
        self.edit(at, ObjectCommand::Redo(m.object_data.into_iter().map(|row| row.object_id).collect()))
    }
}

/// Change of a place; `None` for unknown bits, another length than they say, and numbers that are none.
fn placement(bits: u8, data: &[u8]) -> Option<Placement> {
    if bits & !change::ALL != 0 {
        return None;
    }
    let mut rest = data;
    let mut next = |bit: u8| -> Option<Option<Vec3>> {
        if bits & bit == 0 {
            return Some(None);
        }
        let (part, behind) = rest.split_first_chunk::<12>()?;
        rest = behind;
        let (parts, _) = part.as_chunks::<4>();
        let vector = Vec3::from_array([0, 1, 2].map(|axis| f32::from_le_bytes(parts[axis])));
        vector.is_finite().then_some(Some(vector))
    };
    let position = next(change::POSITION)?;
    let rotation = next(change::ROTATION)?;
    let scale = next(change::SCALE)?;
    let placement = Placement {
        position,
        rotation: rotation.map(rotation_of_xyz),
        scale,
        is_linked_set: bits & change::LINKED_SET != 0,
        is_uniform: bits & change::UNIFORM != 0,
    };
    rest.is_empty().then_some(placement)
}

/// A unit quaternion from its x, y and z. A longer vector than a unit quaternion has is scaled.
fn rotation_of_xyz(xyz: Vec3) -> Quat {
    let wide = xyz.as_dvec3();
    let w = (1.0 - wide.length_squared()).max(0.0).sqrt();
    glam::DQuat::from_vec4(wide.extend(w)).normalize().as_quat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(vectors: &[Vec3]) -> Vec<u8> {
        vectors.iter().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes).collect()
    }

    #[test]
    fn a_block_has_the_parts_that_its_type_names_in_their_order() {
        let [position, rotation, scale] =
            [Vec3::new(1.0, 2.0, 3.0), Vec3::new(0.0, 0.0, 0.6), Vec3::splat(2.0)];
        let all = placement(7 | change::LINKED_SET, &bytes(&[position, rotation, scale])).unwrap();
        assert_eq!((all.position, all.scale), (Some(position), Some(scale)));
        let turned = all.rotation.unwrap();
        assert!(turned.is_normalized() && (turned.w - 0.8).abs() < 1e-6, "{turned}");
        assert!(all.is_linked_set && !all.is_uniform);
        let scaled = placement(change::SCALE | change::UNIFORM, &bytes(&[scale])).unwrap();
        assert_eq!(scaled, Placement { scale: Some(scale), is_uniform: true, ..Placement::default() });
        assert_eq!(placement(0, &[]), Some(Placement::default()));
    }

    #[test]
    fn another_length_unknown_bits_and_numbers_that_are_none_are_refused() {
        let one = bytes(&[Vec3::ONE]);
        assert_eq!(placement(change::POSITION, &one[..11]), None);
        assert_eq!(placement(change::POSITION | change::SCALE, &one), None);
        assert_eq!(placement(0, &one), None);
        assert_eq!(placement(32, &[]), None);
        assert_eq!(placement(change::POSITION, &bytes(&[Vec3::new(f32::NAN, 0.0, 0.0)])), None);
    }

    #[test]
    fn a_vector_that_is_longer_than_one_is_half_a_turn() {
        let turned = rotation_of_xyz(Vec3::new(0.0, 1e20, 0.0));
        assert!(turned.is_normalized() && turned.w.abs() < 1e-6, "{turned}");
    }
}
