//! ObjectUpdate: an object in full, as a client first sees it.
//!
//! A block is encoded once per change and shared by all receivers. Only its update flags differ from one receiver
//! to the next (they say what *this* agent may do with the object), so their offset is a constant:
//! [`AVATAR_FLAGS_OFFSET`], [`PRIM_FLAGS_OFFSET`]. Blocks hold no region handle; it stands once in the message,
//! before the first block ([`write_prefix`]).
//!
//! Start with [`encode_avatar`]; [`decode`] is for observers. Movement afterwards is [`crate::terse`]'s.

use crate::Malformed;
use crate::messages::{
    BlockCodec as _, BodyReader, MessageNumber, ObjectUpdate, ObjectUpdateObjectData, quaternion_from_xyz,
    xyz_of_quaternion,
};
use crate::text;
use glam::{Quat, Vec3, Vec4};
use ids::{AgentId, LocalId, RegionHandle};
use std::fmt::Write as _;
use uuid::Uuid;

/// `PCode` of a prim.
pub const PCODE_PRIM: u8 = 9;

/// `PCode` of an avatar.
pub const PCODE_AVATAR: u8 = 47;

/// Bytes of [`write_prefix`]: message number, region data, count.
pub const PREFIX_LEN: usize = 12;

/// Offset of an avatar's `UpdateFlags` (U32, little-endian) from the start of its block, in bytes.
pub const AVATAR_FLAGS_OFFSET: usize = BEFORE_OBJECT_DATA + 1 + AVATAR_DATA_LEN + PARENT_LEN;

/// Offset of a prim's `UpdateFlags` (U32, little-endian) from the start of its block, in bytes.
pub const PRIM_FLAGS_OFFSET: usize = BEFORE_OBJECT_DATA + 1 + PRIM_DATA_LEN + PARENT_LEN;

/// Offset of a prim's motion ([`prim_motion_field`]) from the start of its block, in bytes.
pub const PRIM_MOTION_OFFSET: usize = BEFORE_OBJECT_DATA;

/// Bytes of a prim's motion in its block.
pub const PRIM_MOTION_LEN: usize = 1 + PRIM_DATA_LEN;

/// A collision plane: four floats.
const PLANE_LEN: usize = 16;

/// The local id, which every block begins with (U32, little-endian).
const LOCAL_ID_LEN: usize = 4;
/// Local id 4, state 1, full id 16, checksum 4, PCode 1, material 1, click action 1, scale 12.
const BEFORE_OBJECT_DATA: usize = 40;
const PARENT_LEN: usize = 4;
/// The `ObjectData` blob of a prim: position, velocity, acceleration, rotation (x, y, z), angular velocity.
const PRIM_DATA_LEN: usize = 60;
/// The same behind a collision plane.
const AVATAR_DATA_LEN: usize = 76;

/// Extra parameters of an object that has none: their count.
const NO_EXTRA_PARAMS: [u8; 1] = [0];

/// Path and profile of a box, which viewers also expect of avatars.
const PATH_LINE: u8 = 16;
const PROFILE_SQUARE: u8 = 1;
/// Path scale 1.0: the protocol counts from 200 downwards, 100 in the middle.
const PATH_SCALE_ONE: u8 = 100;

const MATERIAL_WOOD: u8 = 3;
const MATERIAL_FLESH: u8 = 4;

/// An avatar as others see it for the first time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FullAvatar<'a> {
    /// Its number in the region.
    pub local_id: LocalId,
    /// Account. Clients find their own avatar by it.
    pub agent: AgentId,
    /// First name as shown.
    pub first_name: &'a str,
    /// Last name as shown.
    pub last_name: &'a str,
    /// Group title, or empty.
    pub title: &'a str,
    /// Local id of its sit target, or `LocalId(0)`.
    pub parent: LocalId,
    /// Width, depth and height of its box, in metres.
    pub size: Vec3,
    /// Position and movement.
    pub motion: FullMotion,
    /// Plane on which the feet stand (normal and distance); `(0, 0, 0, 1)` for none.
    pub collision_plane: Vec4,
    /// The receiver's rights on it; patched for each receiver at [`AVATAR_FLAGS_OFFSET`].
    pub update_flags: u32,
    /// Textures, as in [`crate::texture_entry`]; empty while unknown.
    pub texture_entry: &'a [u8],
}

/// A box-shaped prim as others see it for the first time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FullPrim<'a> {
    /// Its number in the region.
    pub local_id: LocalId,
    /// Its id in every region.
    pub id: Uuid,
    /// Local id of its root or of the avatar that wears it, or `LocalId(0)`.
    pub parent: LocalId,
    /// Attachment point with its nibbles swapped; 0 if not attached.
    pub state: u8,
    /// Size along each axis, in metres.
    pub scale: Vec3,
    /// Position and movement.
    pub motion: FullMotion,
    /// The receiver's rights on it; patched for each receiver at [`PRIM_FLAGS_OFFSET`].
    pub update_flags: u32,
    /// Textures, as in [`crate::texture_entry`].
    pub texture_entry: &'a [u8],
}

/// Position and movement, unquantised.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FullMotion {
    /// Metres from the region's corner, or from the parent.
    pub position: Vec3,
    /// Metres per second.
    pub velocity: Vec3,
    /// Metres per second squared.
    pub acceleration: Vec3,
    /// Unit quaternion.
    pub rotation: Quat,
    /// Radians per second about each axis.
    pub angular_velocity: Vec3,
}

/// The block before the objects in every message that updates objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegionData {
    /// The objects' region.
    pub region_handle: RegionHandle,
    /// World time passed ÷ wall time passed, 0–1.
    pub time_dilation: f32,
}

/// Appends what stands before the first block: message number, region, dilation (0–1) and the count of blocks.
pub fn write_prefix(out: &mut Vec<u8>, region_handle: RegionHandle, time_dilation: f32, count: u8) {
    write_prefix_of(ObjectUpdate::NUMBER, out, region_handle, time_dilation, count);
}

/// [`write_prefix`] of ObjectUpdateCompressed or ObjectUpdateCached, with the number of the message.
pub fn write_prefix_of(
    number: MessageNumber,
    out: &mut Vec<u8>,
    region_handle: RegionHandle,
    time_dilation: f32,
    count: u8,
) {
    number.write(out);
    write_region_data(out, region_handle, time_dilation);
    out.push(count);
}

/// Appends an avatar's block.
///
/// # Panics
/// When the texture entry is longer than 65,535 bytes.
pub fn encode_avatar(avatar: &FullAvatar<'_>, out: &mut Vec<u8>) {
    let mut object_data = Vec::with_capacity(AVATAR_DATA_LEN);
    put_floats(&mut object_data, &avatar.collision_plane.to_array());
    put_motion(&mut object_data, &avatar.motion);
    ObjectUpdateObjectData {
        id: avatar.local_id.0,
        full_id: avatar.agent.0,
        p_code: PCODE_AVATAR,
        material: MATERIAL_FLESH,
        scale: avatar.size,
        object_data,
        parent_id: avatar.parent.0,
        update_flags: avatar.update_flags,
        texture_entry: avatar.texture_entry.to_vec(),
        name_value: avatar_name_values(avatar),
        ..boxlike()
    }
    .write(out);
}

/// Appends a prim's block.
///
/// # Panics
/// When the texture entry is longer than 65,535 bytes.
pub fn encode_prim(prim: &FullPrim<'_>, out: &mut Vec<u8>) {
    let mut object_data = Vec::with_capacity(PRIM_DATA_LEN);
    put_motion(&mut object_data, &prim.motion);
    ObjectUpdateObjectData {
        id: prim.local_id.0,
        state: prim.state,
        full_id: prim.id,
        p_code: PCODE_PRIM,
        material: MATERIAL_WOOD,
        scale: prim.scale,
        object_data,
        parent_id: prim.parent.0,
        update_flags: prim.update_flags,
        texture_entry: prim.texture_entry.to_vec(),
        ..boxlike()
    }
    .write(out);
}

/// Appends the block of an object with all its fields.
///
/// # Panics
/// When a field of variable length is longer than its length prefix can say.
pub fn encode_object(object: &ObjectUpdateObjectData, out: &mut Vec<u8>) {
    object.write(out);
}

/// The `ObjectData` blob of a prim.
#[must_use]
pub fn prim_motion(motion: &FullMotion) -> Vec<u8> {
    let mut blob = Vec::with_capacity(PRIM_DATA_LEN);
    put_motion(&mut blob, motion);
    blob
}

/// The motion of a prim as it stands in its block: the length of the blob, then the blob.
#[must_use]
pub fn prim_motion_field(motion: &FullMotion) -> [u8; PRIM_MOTION_LEN] {
    let mut field = [0; PRIM_MOTION_LEN];
    field[0] = PRIM_DATA_LEN as u8;
    let vectors = [
        motion.position,
        motion.velocity,
        motion.acceleration,
        xyz_of_quaternion(motion.rotation),
        motion.angular_velocity,
    ];
    let parts = vectors.map(|vector| vector.to_array());
    let (floats, _) = field[1..].as_chunks_mut::<4>();
    for (float, part) in floats.iter_mut().zip(parts.as_flattened()) {
        *float = part.to_le_bytes();
    }
    field
}

/// The fields that avatars and boxes have in common.
fn boxlike() -> ObjectUpdateObjectData {
    ObjectUpdateObjectData {
        path_curve: PATH_LINE,
        profile_curve: PROFILE_SQUARE,
        path_scale_x: PATH_SCALE_ONE,
        path_scale_y: PATH_SCALE_ONE,
        extra_params: NO_EXTRA_PARAMS.to_vec(),
        ..ObjectUpdateObjectData::default()
    }
}

/// The names over an avatar's head. The list is text with a line for each entry, so a line break in a name would
/// begin an entry of the sender's choice; control characters are left out.
fn avatar_name_values(avatar: &FullAvatar<'_>) -> Vec<u8> {
    let mut list = String::new();
    for (key, value) in
        [("FirstName", avatar.first_name), ("LastName", avatar.last_name), ("Title", avatar.title)]
    {
        let separator = if list.is_empty() { "" } else { "\n" };
        write!(list, "{separator}{key} STRING RW SV ").expect("writing to a string cannot fail");
        list.extend(value.chars().filter(|letter| !letter.is_control()));
    }
    text::to_wire(&list, text::CHAT_MAX)
}

/// Offset of the motion in an avatar's block: position, velocity, acceleration, rotation, angular velocity.
const AVATAR_MOTION_AT: usize = BEFORE_OBJECT_DATA + 1 + PLANE_LEN;

/// Overwrites the motion in an avatar's block, so that a kept block stays current without being made again.
///
/// # Panics
/// When `block` is no avatar's block.
pub fn patch_avatar_motion(block: &mut [u8], motion: &FullMotion) {
    let xyz = xyz_of_quaternion(motion.rotation);
    let vectors = [motion.position, motion.velocity, motion.acceleration, xyz, motion.angular_velocity];
    let parts = vectors.iter().flat_map(Vec3::to_array);
    let fields = block[AVATAR_MOTION_AT..BEFORE_OBJECT_DATA + 1 + AVATAR_DATA_LEN].chunks_exact_mut(4);
    for (field, part) in fields.zip(parts) {
        field.copy_from_slice(&part.to_le_bytes());
    }
}

/// Overwrites the local id in a block, an avatar's or a prim's: what several worlds have in common has an id of its own in each.
///
/// # Panics
/// When `block` is no object's block.
pub fn patch_local_id(block: &mut [u8], id: LocalId) {
    block[..LOCAL_ID_LEN].copy_from_slice(&id.0.to_le_bytes());
}

/// Overwrites `ParentID` in an avatar's block: it sits down and gets up.
///
/// # Panics
/// When `block` is no avatar's block.
pub fn patch_avatar_parent(block: &mut [u8], parent: LocalId) {
    block[AVATAR_FLAGS_OFFSET - PARENT_LEN..AVATAR_FLAGS_OFFSET].copy_from_slice(&parent.0.to_le_bytes());
}

/// Overwrites width, depth and height (metres) in an avatar's block: they change with its appearance.
///
/// # Panics
/// When `block` is no avatar's block.
pub fn patch_avatar_size(block: &mut [u8], size: Vec3) {
    const START: usize = BEFORE_OBJECT_DATA - 12;
    for (field, part) in block[START..BEFORE_OBJECT_DATA].chunks_exact_mut(4).zip(size.to_array()) {
        field.copy_from_slice(&part.to_le_bytes());
    }
}

fn put_motion(out: &mut Vec<u8>, motion: &FullMotion) {
    put_floats(out, &motion.position.to_array());
    put_floats(out, &motion.velocity.to_array());
    put_floats(out, &motion.acceleration.to_array());
    put_floats(out, &xyz_of_quaternion(motion.rotation).to_array());
    put_floats(out, &motion.angular_velocity.to_array());
}

fn put_floats(out: &mut Vec<u8>, parts: &[f32]) {
    parts.iter().for_each(|part| out.extend_from_slice(&part.to_le_bytes()));
}

/// Appends region handle and dilation (clamped to 0–1; on the wire 65,535 is 1).
pub(crate) fn write_region_data(out: &mut Vec<u8>, region_handle: RegionHandle, time_dilation: f32) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturation is the clamp")]
    let dilation = (time_dilation * 65_535.0).round() as u16;
    out.extend_from_slice(&region_handle.0.to_le_bytes());
    out.extend_from_slice(&dilation.to_le_bytes());
}

pub(crate) fn read_region_data(reader: &mut BodyReader<'_>) -> Result<RegionData, Malformed> {
    let region_handle = RegionHandle(u64::from_le_bytes(reader.take()?));
    let time_dilation = f32::from(reader.take_u16()?) / 65_535.0;
    Ok(RegionData { region_handle, time_dilation })
}

/// An observer's view of one block.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenObject {
    /// Its number in the region.
    pub local_id: LocalId,
    /// Account of an avatar, or id of an object.
    pub id: Uuid,
    /// Class of the object: [`PCODE_AVATAR`], [`PCODE_PRIM`] or another of the protocol.
    pub p_code: u8,
    /// Local id of its sit target or root, or `LocalId(0)`.
    pub parent: LocalId,
    /// The observer's rights on it.
    pub update_flags: u32,
    /// Size along each axis, in metres.
    pub scale: Vec3,
    /// There for avatars only.
    pub collision_plane: Option<Vec4>,
    /// Position and movement.
    pub motion: FullMotion,
    /// Name-value list, one entry a line.
    pub name_values: String,
}

impl SeenObject {
    /// The value of an entry of the name-value list: `FirstName`, `LastName`, `Title`.
    #[must_use]
    pub fn name_value(&self, key: &str) -> Option<&str> {
        self.name_values.lines().find_map(|line| {
            // Key, type, class, where it is sent, value.
            let mut parts = line.splitn(5, ' ');
            (parts.next() == Some(key)).then(|| parts.nth(3)).flatten()
        })
    }
}

/// Reads the body behind the message number.
///
/// # Errors
/// Those of [`ObjectUpdate::decode`], and [`Malformed::Value`] for an `ObjectData` blob of another length than 60 or
/// 76 bytes: the quantised forms are not sent by any server we know.
pub fn decode(body: &[u8]) -> Result<(RegionData, Vec<SeenObject>), Malformed> {
    let message = ObjectUpdate::decode(body)?;
    let region_data = read_region_data(&mut BodyReader::new(body))?;
    let objects = message.object_data.iter().map(parse_object).collect::<Result<_, _>>()?;
    Ok((region_data, objects))
}

fn parse_object(block: &ObjectUpdateObjectData) -> Result<SeenObject, Malformed> {
    let mut blob = BodyReader::new(&block.object_data);
    let collision_plane = match blob.len() {
        PRIM_DATA_LEN => None,
        AVATAR_DATA_LEN => Some(Vec4::from_array(blob.take_f32s()?)),
        _ => return Err(Malformed::Value),
    };
    let mut vector = || blob.take_f32s().map(Vec3::from_array);
    let motion = FullMotion {
        position: vector()?,
        velocity: vector()?,
        acceleration: vector()?,
        rotation: quaternion_from_xyz(vector()?),
        angular_velocity: vector()?,
    };
    Ok(SeenObject {
        local_id: LocalId(block.id),
        id: block.full_id,
        p_code: block.p_code,
        parent: LocalId(block.parent_id),
        update_flags: block.update_flags,
        scale: block.scale,
        collision_plane,
        motion,
        name_values: text::from_wire(&block.name_value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOTION: FullMotion = FullMotion {
        position: Vec3::new(128.0, 127.5, 25.0),
        velocity: Vec3::new(3.2, 0.0, 0.0),
        acceleration: Vec3::ZERO,
        rotation: Quat::IDENTITY,
        angular_velocity: Vec3::ZERO,
    };

    const AVATAR: FullAvatar<'static> = FullAvatar {
        local_id: LocalId(77),
        agent: AgentId(Uuid::from_u128(0x1234)),
        first_name: "Ann",
        last_name: "Other",
        title: "Keeper of the Plaza",
        parent: LocalId(0),
        size: Vec3::new(0.45, 0.6, 1.9),
        motion: MOTION,
        collision_plane: Vec4::W,
        update_flags: 0xDEAD_BEEF,
        texture_entry: &[],
    };

    const PRIM: FullPrim<'static> = FullPrim {
        local_id: LocalId(78),
        id: Uuid::from_u128(0x5678),
        parent: LocalId(77),
        state: 0x10,
        scale: Vec3::splat(0.5),
        motion: MOTION,
        update_flags: 0xDEAD_BEEF,
        texture_entry: &[1, 2, 3],
    };

    fn observe(blocks: &[u8], count: u8) -> (RegionData, Vec<SeenObject>) {
        let mut message = Vec::new();
        write_prefix(&mut message, RegionHandle::from_grid(1000, 1001), 0.5, count);
        assert_eq!(message.len(), PREFIX_LEN);
        message.extend_from_slice(blocks);
        decode(&message[1..]).expect("a whole message")
    }

    #[test]
    fn an_observer_sees_avatars_and_prims_of_one_message() {
        let mut blocks = Vec::new();
        encode_avatar(&AVATAR, &mut blocks);
        encode_prim(&PRIM, &mut blocks);
        let (region, objects) = observe(&blocks, 2);
        assert_eq!(region.region_handle, RegionHandle::from_grid(1000, 1001));
        assert!((region.time_dilation - 0.5).abs() < 1e-4);
        let [avatar, prim] = &objects[..] else { panic!("two objects, not {}", objects.len()) };
        assert_eq!((avatar.local_id, avatar.id, avatar.p_code), (LocalId(77), AVATAR.agent.0, PCODE_AVATAR));
        assert_eq!((avatar.motion, avatar.collision_plane), (MOTION, Some(Vec4::W)));
        assert_eq!(avatar.scale, AVATAR.size);
        assert_eq!((prim.local_id, prim.id, prim.p_code), (LocalId(78), PRIM.id, PCODE_PRIM));
        assert_eq!((prim.parent, prim.motion, prim.collision_plane), (LocalId(77), MOTION, None));
        assert_eq!(prim.name_values, "");
    }

    #[test]
    fn a_patched_motion_reads_as_if_encoded() {
        let avatar = FullAvatar { motion: FullMotion::default(), ..AVATAR };
        let mut patched = Vec::new();
        encode_avatar(&avatar, &mut patched);
        let moved = FullMotion {
            position: Vec3::new(1.0, 2.0, 3.0),
            velocity: Vec3::new(4.0, 5.0, 6.0),
            acceleration: Vec3::new(7.0, 8.0, 9.0),
            rotation: Quat::from_rotation_z(1.0),
            angular_velocity: Vec3::new(10.0, 11.0, 12.0),
        };
        patch_avatar_motion(&mut patched, &moved);
        let mut encoded = Vec::new();
        encode_avatar(&FullAvatar { motion: moved, ..AVATAR }, &mut encoded);
        assert_eq!(patched, encoded);
    }

    #[test]
    fn a_patched_size_reads_as_if_encoded() {
        let mut patched = Vec::new();
        encode_avatar(&AVATAR, &mut patched);
        let size = Vec3::new(0.4, 0.5, 1.3);
        patch_avatar_size(&mut patched, size);
        let mut encoded = Vec::new();
        encode_avatar(&FullAvatar { size, ..AVATAR }, &mut encoded);
        assert_eq!(patched, encoded);
    }

    #[test]
    fn a_patched_parent_reads_as_if_encoded() {
        let (mut patched, mut expected) = (Vec::new(), Vec::new());
        encode_avatar(&AVATAR, &mut patched);
        patch_avatar_parent(&mut patched, LocalId(0x0102_0304));
        encode_avatar(&FullAvatar { parent: LocalId(0x0102_0304), ..AVATAR }, &mut expected);
        assert_eq!(patched, expected);
    }

    #[test]
    fn a_patched_local_id_reads_as_if_encoded() {
        let id = LocalId(0x8765_4321);
        let (mut avatar, mut avatar_encoded) = (Vec::new(), Vec::new());
        encode_avatar(&AVATAR, &mut avatar);
        encode_avatar(&FullAvatar { local_id: id, ..AVATAR }, &mut avatar_encoded);
        let (mut prim, mut prim_encoded) = (Vec::new(), Vec::new());
        encode_prim(&PRIM, &mut prim);
        encode_prim(&FullPrim { local_id: id, ..PRIM }, &mut prim_encoded);
        for (mut patched, encoded) in [(avatar, avatar_encoded), (prim, prim_encoded)] {
            assert_ne!(patched, encoded);
            patch_local_id(&mut patched, id);
            assert_eq!(patched, encoded);
        }
    }

    #[test]
    fn flags_are_patched_in_place() {
        for (offset, block) in [
            (AVATAR_FLAGS_OFFSET, {
                let mut block = Vec::new();
                encode_avatar(&AVATAR, &mut block);
                block
            }),
            (PRIM_FLAGS_OFFSET, {
                let mut block = Vec::new();
                encode_prim(&PRIM, &mut block);
                block
            }),
        ] {
            let mut patched = block.clone();
            assert_eq!(patched[offset..offset + 4], 0xDEAD_BEEF_u32.to_le_bytes());
            patched[offset..offset + 4].copy_from_slice(&9_u32.to_le_bytes());
            let (_, mut before) = observe(&block, 1);
            let (_, after) = observe(&patched, 1);
            assert_eq!(after[0].update_flags, 9);
            before[0].update_flags = 9;
            assert_eq!(before, after, "nothing else changes");
        }
    }

    #[test]
    fn names_are_found_by_key() {
        let mut block = Vec::new();
        encode_avatar(&AVATAR, &mut block);
        let (_, objects) = observe(&block, 1);
        assert_eq!(objects[0].name_value("FirstName"), Some("Ann"));
        assert_eq!(objects[0].name_value("LastName"), Some("Other"));
        assert_eq!(objects[0].name_value("Title"), Some("Keeper of the Plaza"));
        assert_eq!(objects[0].name_value("AttachItemID"), None);
    }

    #[test]
    fn a_line_break_in_a_name_adds_no_entry() {
        let mut block = Vec::new();
        let first_name = "Ann\nTitle STRING RW SV Queen";
        encode_avatar(&FullAvatar { first_name, title: "", ..AVATAR }, &mut block);
        let (_, objects) = observe(&block, 1);
        assert_eq!(objects[0].name_values.lines().count(), 3);
        assert_eq!(objects[0].name_value("Title"), Some(""));
    }

    #[test]
    fn an_object_data_blob_of_unknown_length_is_refused() {
        let mut message = Vec::new();
        let block = ObjectUpdateObjectData { object_data: vec![0; 59], ..Default::default() };
        ObjectUpdate { object_data: vec![block], ..Default::default() }.encode(&mut message);
        assert_eq!(decode(&message[1..]), Err(Malformed::Value));
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(body in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = decode(&body);
        }

        #[test]
        fn dilation_is_kept_to_a_step(dilation in 0.0_f32..=1.0) {
            let mut bytes = Vec::new();
            write_region_data(&mut bytes, RegionHandle(1), dilation);
            let read = read_region_data(&mut BodyReader::new(&bytes)).expect("ten bytes");
            prop_assert!((read.time_dilation - dilation).abs() <= 1.0 / 65_535.0);
        }
    }
}
