//! The block of an ObjectUpdate for a prim, zero-coded.
//!
//! Zero-coded pieces can be concatenated: a run of zeros that continues in the next piece becomes two runs. Hence a block is zero-coded once
//! for all receivers, in three pieces around the prim's motion and the receiver's update flags. A prim that moves keeps its block.

use crate::motion::full_motion;
use ids::{LocalId, Uuid};
use link::{Motion, PrimMotion};
use prim::Body;
use std::sync::{Arc, OnceLock};
use wire::messages::ObjectUpdateObjectData;
use wire::object_compressed::{self, CompressedMotion};
use wire::object_update::{
    PRIM_FLAGS_OFFSET, PRIM_MOTION_LEN, PRIM_MOTION_OFFSET, encode_object, prim_motion, prim_motion_field,
};
use wire::text::{VARIABLE1_MAX, to_wire};
use wire::zero_code;

/// Bytes of the receiver's flags, zero-coded: `x 0 y 0` takes the most.
const FLAGS_CODED_MAX: usize = 6;

/// The same of a motion whose every other byte is zero.
const MOTION_CODED_MAX: usize = (PRIM_MOTION_LEN * 3).div_ceil(2);

/// A block of an ObjectUpdate, zero-coded but for motion and the receiver's flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectBlock {
    bytes: Arc<[u8]>,
    /// Bytes of the block when it is expanded.
    expanded_len: u16,
    /// Begin of the piece behind the motion.
    behind_motion: u16,
    /// Begin of the piece behind the flags.
    behind_flags: u16,
}

impl ObjectBlock {
    /// The block of a prim.
    ///
    /// # Panics
    /// If a field is longer than its bound ([`prim::Body`]).
    #[must_use]
    pub fn new(id: LocalId, prim: &PrimMotion, crc: u32, body: &Body) -> Self {
        let mut plain = Vec::with_capacity(320);
        encode_object(&object_data(id, prim, crc, body), &mut plain);
        let mut bytes = Vec::with_capacity(plain.len());
        zero_code::compress(&plain[..PRIM_MOTION_OFFSET], &mut bytes);
        let behind_motion = u16::try_from(bytes.len()).expect("fields of fixed lengths");
        zero_code::compress(&plain[PRIM_MOTION_OFFSET + PRIM_MOTION_LEN..PRIM_FLAGS_OFFSET], &mut bytes);
        let behind_flags = u16::try_from(bytes.len()).expect("fields of fixed lengths");
        zero_code::compress(&plain[PRIM_FLAGS_OFFSET + 4..], &mut bytes);
        let expanded_len = u16::try_from(plain.len()).expect("fields within their bounds");
        Self { bytes: bytes.into(), expanded_len, behind_motion, behind_flags }
    }

    /// Bytes of the block in an expanded datagram.
    #[must_use]
    pub fn expanded_len(&self) -> usize {
        self.expanded_len.into()
    }

    /// Most bytes that [`Self::write`] appends.
    #[must_use]
    pub fn len_max(&self) -> usize {
        self.bytes.len() + MOTION_CODED_MAX + FLAGS_CODED_MAX
    }

    /// Appends the block with the prim's motion and a receiver's update flags.
    pub fn write(&self, motion: &Motion, update_flags: u32, out: &mut Vec<u8>) {
        let (front, behind_flags) = self.bytes.split_at(usize::from(self.behind_flags));
        let (front, parent) = front.split_at(usize::from(self.behind_motion));
        out.extend_from_slice(front);
        zero_code::compress(&prim_motion_field(&full_motion(motion)), out);
        out.extend_from_slice(parent);
        zero_code::compress(&update_flags.to_le_bytes(), out);
        out.extend_from_slice(behind_flags);
    }
}

/// The block of an entry, made when the first client is sent it: most prims of a region that was loaded go in forms that have no block of their own.
/// Entries with equal other fields have equal blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct LazyBlock(OnceLock<Box<ObjectBlock>>);

impl LazyBlock {
    /// A block that is made at once, for a prim that many clients are sent next.
    pub(super) fn made(block: ObjectBlock) -> Self {
        Self(OnceLock::from(Box::new(block)))
    }

    /// The block, which `make` makes if it is the first call.
    pub(super) fn get(&self, make: impl FnOnce() -> ObjectBlock) -> &ObjectBlock {
        self.0.get_or_init(|| Box::new(make()))
    }
}

impl PartialEq for LazyBlock {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The block of a prim that never changes, not zero-coded, with the update flags of a client without rights. A checksum of 0 keeps it out of all caches.
/// Extra parameters and particles above 255 bytes are left out: the form that holds them is one for caches.
pub(crate) fn static_block(motion: &Motion, body: &Body) -> Vec<u8> {
    let prim = PrimMotion { motion: *motion, ..PrimMotion::NONE };
    let mut plain = Vec::with_capacity(320);
    encode_object(&object_data(LocalId(0), &prim, 0, body), &mut plain);
    plain
}

/// Appends the block of an ObjectUpdateCompressed. It is made anew for each receiver: most objects are sent in this form once, to
/// a client that comes for the first time.
///
/// # Panics
/// If the block is longer than 65,535 bytes.
pub(super) fn write_compressed(
    id: LocalId,
    prim: &PrimMotion,
    crc: u32,
    body: &Body,
    update_flags: u32,
    out: &mut Vec<u8>,
) {
    let motion = CompressedMotion {
        position: prim.motion.position,
        rotation: prim.motion.rotation,
        angular_velocity: prim.motion.angular_velocity,
    };
    let mut data = Vec::with_capacity(320);
    let object = object_data(id, prim, crc, body);
    object_compressed::encode(&object, &motion, body.extra_params.as_bytes(), &body.particles, &mut data);
    let len = u16::try_from(data.len()).expect("fields within their bounds");
    out.extend_from_slice(&update_flags.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&data);
}

/// All fields but the update flags.
fn object_data(id: LocalId, prim: &PrimMotion, crc: u32, body: &Body) -> ObjectUpdateObjectData {
    let shape = &body.shape;
    // Longer ones do not fit the message; such objects are sent compressed.
    let fits = |bytes: &[u8]| if bytes.len() <= VARIABLE1_MAX { bytes.to_vec() } else { Vec::new() };
    let text_or_none = |text: &str| if text.is_empty() { Vec::new() } else { to_wire(text, VARIABLE1_MAX) };
    let sound = body.sound.as_ref();
    // Viewers mute sounds and particles by their owner, and read it for these only.
    let has_owner = sound.is_some() || !body.particles.is_empty();
    ObjectUpdateObjectData {
        id: id.0,
        state: body.state,
        full_id: body.id,
        crc,
        p_code: body.p_code as u8,
        material: body.material as u8,
        click_action: body.click_action,
        scale: body.scale,
        object_data: prim_motion(&full_motion(&prim.motion)),
        parent_id: prim.parent.0,
        update_flags: 0,
        path_curve: shape.path_curve,
        profile_curve: shape.profile_curve,
        path_begin: shape.path_begin,
        path_end: shape.path_end,
        path_scale_x: shape.path_scale_x,
        path_scale_y: shape.path_scale_y,
        path_shear_x: shape.path_shear_x as u8,
        path_shear_y: shape.path_shear_y as u8,
        path_twist: shape.path_twist,
        path_twist_begin: shape.path_twist_begin,
        path_radius_offset: shape.path_radius_offset,
        path_taper_x: shape.path_taper_x,
        path_taper_y: shape.path_taper_y,
        path_revolutions: shape.path_revolutions,
        path_skew: shape.path_skew,
        profile_begin: shape.profile_begin,
        profile_end: shape.profile_end,
        profile_hollow: shape.profile_hollow,
        texture_entry: body.texture_entry.to_vec(),
        texture_anim: body.texture_animation.to_vec(),
        text: text_or_none(&body.hover_text.text),
        text_color: body.hover_text.color,
        media_url: text_or_none(&body.media_url),
        ps_block: fits(&body.particles),
        extra_params: fits(body.extra_params.as_bytes()),
        name_value: body.worn_item.map(name_values).unwrap_or_default(),
        sound: sound.map(|sound| sound.id).unwrap_or_default(),
        owner_id: if has_owner { body.ownership.owner.0 } else { Uuid::nil() },
        gain: sound.map_or(0.0, |sound| sound.gain),
        flags: sound.map_or(0, |sound| sound.flags),
        radius: sound.map_or(0.0, |sound| sound.radius_m),
        ..ObjectUpdateObjectData::default()
    }
}

/// Name values of a worn linkset's root: viewers find the item in the inventory by them.
fn name_values(item: Uuid) -> Vec<u8> {
    to_wire(&format!("AttachItemID STRING RW SV {item}"), VARIABLE1_MAX)
}
