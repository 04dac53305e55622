//! ObjectUpdateCompressed: an object in full, without the fields that it does not use.
//!
//! A block is the receiver's update flags (U32), a length (U16) and the data. [`encode`] makes the data from the fields of an ObjectUpdate, so that
//! both forms say the same. There is no scratch pad, which no viewer reads.
//! Unlike ObjectUpdate, the form has no bound of 255 bytes for extra parameters and particles.

use crate::Malformed;
use crate::messages::ObjectUpdateObjectData;
use crate::messages::{BodyReader, quaternion_from_xyz, xyz_of_quaternion};
use glam::{Quat, Vec3};
use uuid::Uuid;

/// Bits of the data's own flags: the parts that follow.
mod part {
    pub(super) const SCRATCH_PAD: u32 = 0x01;
    pub(super) const TREE: u32 = 0x02;
    pub(super) const TEXT: u32 = 0x04;
    pub(super) const SOUND: u32 = 0x10;
    pub(super) const PARENT: u32 = 0x20;
    pub(super) const TEXTURE_ANIMATION: u32 = 0x40;
    pub(super) const ANGULAR_VELOCITY: u32 = 0x80;
    pub(super) const NAME_VALUES: u32 = 0x100;
    pub(super) const MEDIA_URL: u32 = 0x200;
    pub(super) const PARTICLES: u32 = 0x400;
    /// Particles of the old form, in another place than those of the new one.
    pub(super) const OLD_PARTICLES: u32 = 0x08;
    pub(super) const READ: u32 = 0x7FF;
}

/// Bytes of particles of the old form. Those of the new form are longer and have their lengths in them.
const OLD_PARTICLES_LEN: usize = 86;

/// Classes of trees and grass, whose state is the species.
const PCODE_GRASS: u8 = 95;
const PCODE_NEW_TREE: u8 = 111;
const PCODE_TREE: u8 = 255;

/// Position and rotation, and the angular velocity, of an object: parts of its `ObjectData`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompressedMotion {
    /// Metres from the region's corner, or from the parent.
    pub position: Vec3,
    /// Unit quaternion.
    pub rotation: Quat,
    /// Radians per second about each axis.
    pub angular_velocity: Vec3,
}

/// Appends the data of a block. `extra_params` and `particles` stand in place of the object's own, which may lack those above 255 bytes.
///
/// # Panics
/// If the texture entry or the texture animation is longer than a U32 says.
pub fn encode(
    object: &ObjectUpdateObjectData,
    motion: &CompressedMotion,
    extra_params: &[u8],
    particles: &[u8],
    out: &mut Vec<u8>,
) {
    let is_tree = matches!(object.p_code, PCODE_GRASS | PCODE_NEW_TREE | PCODE_TREE);
    let has_sound = !object.sound.is_nil();
    let has_old_particles = particles.len() == OLD_PARTICLES_LEN;
    let parts = [
        (part::ANGULAR_VELOCITY, motion.angular_velocity != Vec3::ZERO),
        (part::PARENT, object.parent_id != 0),
        (part::TREE, is_tree),
        (part::TEXT, !object.text.is_empty()),
        (part::MEDIA_URL, !object.media_url.is_empty()),
        (part::SOUND, has_sound),
        (part::NAME_VALUES, !object.name_value.is_empty()),
        (part::TEXTURE_ANIMATION, !object.texture_anim.is_empty()),
        (part::OLD_PARTICLES, has_old_particles),
        (part::PARTICLES, !particles.is_empty() && !has_old_particles),
    ];
    let flags = parts.iter().filter(|(_, is_there)| *is_there).fold(0, |flags, (part, _)| flags | part);
    out.extend_from_slice(object.full_id.as_bytes());
    out.extend_from_slice(&object.id.to_le_bytes());
    out.extend_from_slice(&[object.p_code, object.state]);
    out.extend_from_slice(&object.crc.to_le_bytes());
    out.extend_from_slice(&[object.material, object.click_action]);
    for vector in [object.scale, motion.position, xyz_of_quaternion(motion.rotation)] {
        put_vector(vector, out);
    }
    out.extend_from_slice(&flags.to_le_bytes());
    // Read only with a sound or particles, and there in any case.
    out.extend_from_slice(object.owner_id.as_bytes());
    if flags & part::ANGULAR_VELOCITY != 0 {
        put_vector(motion.angular_velocity, out);
    }
    if flags & part::PARENT != 0 {
        out.extend_from_slice(&object.parent_id.to_le_bytes());
    }
    if is_tree {
        out.push(object.state);
    }
    if flags & part::TEXT != 0 {
        put_text(&object.text, out);
        out.extend_from_slice(&object.text_color);
    }
    if flags & part::MEDIA_URL != 0 {
        put_text(&object.media_url, out);
    }
    if has_old_particles {
        out.extend_from_slice(particles);
    }
    out.extend_from_slice(if extra_params.is_empty() { &[0] } else { extra_params });
    if has_sound {
        out.extend_from_slice(object.sound.as_bytes());
        out.extend_from_slice(&object.gain.to_le_bytes());
        out.push(object.flags);
        out.extend_from_slice(&object.radius.to_le_bytes());
    }
    if flags & part::NAME_VALUES != 0 {
        put_text(&object.name_value, out);
    }
    put_shape(object, out);
    put_counted(&object.texture_entry, out);
    if flags & part::TEXTURE_ANIMATION != 0 {
        put_counted(&object.texture_anim, out);
    }
    if !has_old_particles {
        out.extend_from_slice(particles);
    }
}

/// Reads the data of a block. Extra parameters and particles are in the object's fields, however long. A scratch pad is skipped.
///
/// # Errors
/// [`Malformed::Truncated`], [`Malformed::Value`] for a number that is none and for unknown parts.
pub fn decode(data: &[u8]) -> Result<(ObjectUpdateObjectData, CompressedMotion), Malformed> {
    let mut reader = BodyReader::new(data);
    let r = &mut reader;
    let full_id = Uuid::from_bytes(r.take()?);
    let id = r.take_u32()?;
    let [p_code, state] = r.take()?;
    let crc = r.take_u32()?;
    let [material, click_action] = r.take()?;
    let scale = Vec3::from_array(r.take_f32s()?);
    let position = Vec3::from_array(r.take_f32s()?);
    let rotation = quaternion_from_xyz(Vec3::from_array(r.take_f32s()?));
    let flags = r.take_u32()?;
    if flags & !part::READ != 0 || flags & part::OLD_PARTICLES != 0 && flags & part::PARTICLES != 0 {
        return Err(Malformed::Value);
    }
    let has = |part: u32| flags & part != 0;
    let owner_id = Uuid::from_bytes(r.take()?);
    let angular_velocity =
        if has(part::ANGULAR_VELOCITY) { Vec3::from_array(r.take_f32s()?) } else { Vec3::ZERO };
    let parent_id = if has(part::PARENT) { r.take_u32()? } else { 0 };
    if has(part::TREE) {
        r.take_u8()?;
    } else if has(part::SCRATCH_PAD) {
        let len = r.take_u8()?;
        r.take_slice(len.into())?;
    }
    let mut object = ObjectUpdateObjectData {
        full_id,
        id,
        p_code,
        state,
        crc,
        material,
        click_action,
        scale,
        parent_id,
        owner_id,
        ..ObjectUpdateObjectData::default()
    };
    if has(part::TEXT) {
        object.text = take_text(r)?;
        object.text_color = r.take()?;
    }
    if has(part::MEDIA_URL) {
        object.media_url = take_text(r)?;
    }
    if has(part::OLD_PARTICLES) {
        object.ps_block = r.take_slice(OLD_PARTICLES_LEN)?.to_vec();
    }
    object.extra_params = take_extra_params(r)?;
    if has(part::SOUND) {
        object.sound = Uuid::from_bytes(r.take()?);
        object.gain = r.take_f32()?;
        object.flags = r.take_u8()?;
        object.radius = r.take_f32()?;
    }
    if has(part::NAME_VALUES) {
        object.name_value = take_text(r)?;
    }
    take_shape(r, &mut object)?;
    object.texture_entry = take_counted(r)?;
    if has(part::TEXTURE_ANIMATION) {
        object.texture_anim = take_counted(r)?;
    }
    if has(part::PARTICLES) {
        object.ps_block = r.take_slice(r.len())?.to_vec();
    }
    if r.len() > 0 {
        return Err(Malformed::Value);
    }
    Ok((object, CompressedMotion { position, rotation, angular_velocity }))
}

fn take_text(reader: &mut BodyReader<'_>) -> Result<Vec<u8>, Malformed> {
    let mut text = Vec::new();
    loop {
        let byte = reader.take_u8()?;
        text.push(byte);
        if byte == 0 {
            return Ok(text);
        }
    }
}

fn take_counted(reader: &mut BodyReader<'_>) -> Result<Vec<u8>, Malformed> {
    let len = reader.take_u32()?;
    Ok(reader.take_slice(usize::try_from(len).map_err(|_| Malformed::Oversized)?)?.to_vec())
}

/// A count, and for each entry type, length and data.
fn take_extra_params(reader: &mut BodyReader<'_>) -> Result<Vec<u8>, Malformed> {
    let count = reader.take_u8()?;
    let mut params = vec![count];
    for _ in 0..count {
        let (kind, len) = (reader.take_u16()?, reader.take_u32()?);
        let data = reader.take_slice(usize::try_from(len).map_err(|_| Malformed::Oversized)?)?;
        params.extend_from_slice(&kind.to_le_bytes());
        params.extend_from_slice(&len.to_le_bytes());
        params.extend_from_slice(data);
    }
    Ok(params)
}

fn take_shape(reader: &mut BodyReader<'_>, object: &mut ObjectUpdateObjectData) -> Result<(), Malformed> {
    object.path_curve = reader.take_u8()?;
    (object.path_begin, object.path_end) = (reader.take_u16()?, reader.take_u16()?);
    [object.path_scale_x, object.path_scale_y, object.path_shear_x, object.path_shear_y] = reader.take()?;
    let signed: [u8; 5] = reader.take()?;
    [
        object.path_twist,
        object.path_twist_begin,
        object.path_radius_offset,
        object.path_taper_x,
        object.path_taper_y,
    ] = signed.map(u8::cast_signed);
    object.path_revolutions = reader.take_u8()?;
    object.path_skew = reader.take_u8()?.cast_signed();
    object.profile_curve = reader.take_u8()?;
    object.profile_begin = reader.take_u16()?;
    object.profile_end = reader.take_u16()?;
    object.profile_hollow = reader.take_u16()?;
    Ok(())
}

/// The path, then the profile: the other way round than in ObjectUpdate.
fn put_shape(object: &ObjectUpdateObjectData, out: &mut Vec<u8>) {
    out.push(object.path_curve);
    out.extend_from_slice(&object.path_begin.to_le_bytes());
    out.extend_from_slice(&object.path_end.to_le_bytes());
    out.extend_from_slice(&[
        object.path_scale_x,
        object.path_scale_y,
        object.path_shear_x,
        object.path_shear_y,
    ]);
    let signed = [
        object.path_twist,
        object.path_twist_begin,
        object.path_radius_offset,
        object.path_taper_x,
        object.path_taper_y,
    ];
    out.extend(signed.map(|value| value as u8));
    out.extend_from_slice(&[object.path_revolutions, object.path_skew as u8]);
    out.push(object.profile_curve);
    for value in [object.profile_begin, object.profile_end, object.profile_hollow] {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn put_vector(vector: Vec3, out: &mut Vec<u8>) {
    vector.to_array().iter().for_each(|part| out.extend_from_slice(&part.to_le_bytes()));
}

/// A text with one closing zero, which it may have already.
fn put_text(text: &[u8], out: &mut Vec<u8>) {
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    out.extend_from_slice(&text[..end]);
    out.push(0);
}

fn put_counted(bytes: &[u8], out: &mut Vec<u8>) {
    let len = u32::try_from(bytes.len()).expect("fields of a message are short");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Fields in the values that a server gives them, by random bits.
    fn object(bits: &[u8], texts: [Vec<u8>; 3], long: [Vec<u8>; 3]) -> ObjectUpdateObjectData {
        let [mut text, mut media_url, mut name_value] = texts.map(|mut text| {
            text.retain(|&byte| byte != 0);
            text
        });
        for text in [&mut text, &mut media_url, &mut name_value] {
            if !text.is_empty() {
                text.push(0);
            }
        }
        let [texture_entry, texture_anim, ps_block] = long;
        let sound = if bits[0] & 1 == 0 { Uuid::nil() } else { Uuid::from_bytes([bits[1]; 16]) };
        let has_sound = !sound.is_nil();
        let is_tree = bits[2] & 1 == 1;
        ObjectUpdateObjectData {
            id: u32::from(bits[3]),
            full_id: Uuid::from_bytes([bits[4]; 16]),
            crc: u32::from(bits[5]) + 1,
            p_code: if is_tree { PCODE_TREE } else { 9 },
            state: bits[6],
            material: bits[7],
            click_action: bits[8],
            scale: Vec3::new(bits[9].into(), 1.0, 2.0),
            parent_id: u32::from(bits[10] & 3),
            text_color: if text.is_empty() { [0; 4] } else { [bits[11]; 4] },
            text,
            media_url,
            name_value,
            path_curve: bits[12],
            path_begin: u16::from_le_bytes([bits[13], bits[14]]),
            path_end: u16::from_le_bytes([bits[15], bits[16]]),
            path_scale_x: bits[17],
            path_scale_y: bits[18],
            path_shear_x: bits[19],
            path_shear_y: bits[20],
            path_twist: bits[21].cast_signed(),
            path_twist_begin: bits[22].cast_signed(),
            path_radius_offset: bits[23].cast_signed(),
            path_taper_x: bits[24].cast_signed(),
            path_taper_y: bits[25].cast_signed(),
            path_revolutions: bits[26],
            path_skew: bits[27].cast_signed(),
            profile_curve: bits[28],
            profile_begin: u16::from_le_bytes([bits[29], bits[30]]),
            profile_end: u16::from_le_bytes([bits[31], bits[32]]),
            profile_hollow: u16::from_le_bytes([bits[33], bits[34]]),
            texture_entry,
            texture_anim,
            ps_block,
            extra_params: vec![1, 0x30, 0, 2, 0, 0, 0, bits[35], bits[36]],
            sound,
            owner_id: Uuid::from_bytes([bits[37]; 16]),
            gain: if has_sound { 0.5 } else { 0.0 },
            flags: if has_sound { bits[38] } else { 0 },
            radius: if has_sound { 20.0 } else { 0.0 },
            ..ObjectUpdateObjectData::default()
        }
    }

    fn motion(turn: f32, spin: f32) -> CompressedMotion {
        CompressedMotion {
            position: Vec3::new(1.0, 2.0, turn),
            rotation: Quat::from_rotation_z(turn),
            angular_velocity: Vec3::new(0.0, 0.0, spin),
        }
    }

    fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..most)
    }

    proptest! {
        #[test]
        fn a_block_is_read_as_it_was_written(
            bits in prop::collection::vec(any::<u8>(), 64),
            texts in [bytes(40), bytes(40), bytes(40)],
            long in [bytes(900), bytes(20), bytes(600)],
            turn in 0.0f32..3.0,
            spin in prop_oneof![Just(0.0f32), 0.1f32..3.0],
        ) {
            let (object, motion) = (object(&bits, texts, long), motion(turn, spin));
            let mut data = Vec::new();
            encode(&object, &motion, &object.extra_params, &object.ps_block, &mut data);
            let (read, read_motion) = decode(&data).expect("it was just written");
            prop_assert_eq!(&read, &object);
            prop_assert!((read_motion.rotation.dot(motion.rotation).abs() - 1.0).abs() < 1e-5);
            prop_assert_eq!(
                (read_motion.position, read_motion.angular_velocity),
                (motion.position, motion.angular_velocity)
            );
            // Particles take the rest, however short: a cut is noticed in what comes before them.
            for len in 0..data.len() - object.ps_block.len() {
                prop_assert!(decode(&data[..len]).is_err(), "cut to {len} of {} bytes", data.len());
            }
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(data in bytes(400)) {
            let _ = decode(&data);
        }
    }

    #[test]
    fn particles_of_the_old_form_stand_before_the_extra_parameters() {
        let parameters = [1, 0x30, 0, 2, 0, 0, 0, 8, 9];
        for len in [OLD_PARTICLES_LEN, OLD_PARTICLES_LEN + 12] {
            let mut object = object(&[0; 64], Default::default(), Default::default());
            object.extra_params = parameters.to_vec();
            object.ps_block = vec![7; len];
            let mut data = Vec::new();
            encode(&object, &motion(0.0, 0.0), &object.extra_params, &object.ps_block, &mut data);
            let at = |bytes: &[u8]| data.windows(bytes.len()).position(|window| window == bytes).unwrap();
            let is_before = at(&object.ps_block) < at(&parameters);
            assert_eq!(is_before, len == OLD_PARTICLES_LEN, "{len} bytes");
            assert_eq!(decode(&data).unwrap().0, object);
        }
    }

    #[test]
    fn particles_of_both_forms_are_refused() {
        let object = object(&[0; 64], Default::default(), Default::default());
        let mut data = Vec::new();
        encode(&object, &motion(0.0, 0.0), &object.extra_params, &[7; OLD_PARTICLES_LEN], &mut data);
        let flags_at = 16 + 4 + 2 + 4 + 2 + 36;
        data[flags_at + 1] |= 0x04;
        assert_eq!(decode(&data), Err(Malformed::Value));
    }
}
