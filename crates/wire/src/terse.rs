//! ImprovedTerseObjectUpdate: where an object is and how it moves, in 63 bytes for an avatar and 47 for a prim. This is most of what a busy server sends, so blocks are written into arrays of their own
//! size, without allocation, once per tick and object, and copied from there into datagrams.
//!
//! One block on the wire, numbers little-endian:
//!
//! ```text
//! avatar  prim
//!      0     0  U8   length of the data: 60 or 44
//!      1     1  U32  local id
//!      5     5  U8   state: attachment point, else 0
//!      6     6  U8   1 if a collision plane follows
//!      7     -  4 × F32  collision plane
//!     23     7  3 × F32  position
//!     35    19  3 × U16  velocity over ±128 m/s
//!     41    25  3 × U16  acceleration over ±64 m/s²
//!     47    31  4 × U16  rotation x, y, z, w over ±1
//!     55    39  3 × U16  angular velocity over ±64 rad/s
//!     61    45  U16  length of a texture entry: 0, textures are unchanged
//! ```
//!
//! Start with [`encode_avatar`] and [`write_prefix`]; [`decode`] is for observers.

use crate::Malformed;
use crate::messages::{BodyReader, ImprovedTerseObjectUpdate};
use crate::object_update::{RegionData, read_region_data, write_region_data};
use glam::{Quat, Vec3, Vec4};
use ids::{LocalId, RegionHandle};

/// Bytes of an avatar's block on the wire.
pub const AVATAR_BLOCK_LEN: usize = 63;

/// Bytes of a prim's block on the wire.
pub const PRIM_BLOCK_LEN: usize = 47;

/// Bytes of [`write_prefix`]: message number, region data, count.
pub const PREFIX_LEN: usize = 12;

/// Components of a velocity lie within ± this many metres per second.
pub const VELOCITY_RANGE: f32 = 128.0;

/// Components of an acceleration lie within ± this many metres per second squared.
pub const ACCELERATION_RANGE: f32 = 64.0;

/// Components of an angular velocity lie within ± this many radians per second.
pub const ANGULAR_VELOCITY_RANGE: f32 = 64.0;

/// Offsets in an avatar's block, see the layout above.
const POSITION_AT: usize = 23;
const VELOCITY_AT: usize = 35;

/// Offset in a prim's block of the part that avatars and prims share, and its bytes: position to angular velocity.
const PRIM_MOTION_AT: usize = 7;
const MOTION_LEN: usize = 38;

/// Offsets in that part.
const MOTION_VELOCITY_AT: usize = 12;
const MOTION_ACCELERATION_AT: usize = 18;
const MOTION_ROTATION_AT: usize = 24;
const MOTION_SPIN_AT: usize = 32;

/// An avatar's fields in a terse block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerseAvatar {
    /// Its number in the region.
    pub local_id: LocalId,
    /// Metres from the region's corner, or from the seat.
    pub position: Vec3,
    /// Metres per second.
    pub velocity: Vec3,
    /// Metres per second squared.
    pub acceleration: Vec3,
    /// Unit quaternion.
    pub rotation: Quat,
    /// Radians per second about each axis.
    pub angular_velocity: Vec3,
    /// Plane on which the feet stand (normal and distance); `(0, 0, 0, 1)` for none.
    pub collision_plane: Vec4,
}

/// A prim's fields in a terse block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TersePrim {
    /// Its number in the region.
    pub local_id: LocalId,
    /// Attachment point with its nibbles swapped; 0 if not attached.
    pub state: u8,
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

/// Writes an avatar's block. All numbers must be finite; what lies outside its range is clamped.
pub fn encode_avatar(avatar: &TerseAvatar, out: &mut [u8; AVATAR_BLOCK_LEN]) {
    out[0] = 60;
    out[1..5].copy_from_slice(&avatar.local_id.0.to_le_bytes());
    out[5] = 0;
    out[6] = 1;
    put_floats(&mut out[7..23], avatar.collision_plane.to_array());
    put_motion(
        &mut out[23..61],
        avatar.position,
        avatar.velocity,
        avatar.acceleration,
        avatar.rotation,
        avatar.angular_velocity,
    );
    out[61..63].fill(0);
}

/// Moves the position in an avatar's block along its velocity, by `seconds` of it. The velocity is that of the wire; a component that
/// receivers snap to zero counts as up to one step of 4 mm/s.
#[inline]
pub fn advance_avatar(block: &mut [u8; AVATAR_BLOCK_LEN], seconds: f32) {
    let (per_step, offset) = (2.0 * VELOCITY_RANGE / 65_535.0 * seconds, VELOCITY_RANGE * seconds);
    // Four lanes, of which the last is no position, so that the compiler uses vector instructions.
    let positions: [f32; 4] = std::array::from_fn(|n| {
        let at = POSITION_AT + 4 * n;
        f32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
    });
    let steps: [u16; 4] = std::array::from_fn(|n| {
        let at = VELOCITY_AT + 2 * n;
        u16::from_le_bytes([block[at], block[at + 1]])
    });
    let moved: [f32; 4] = std::array::from_fn(|n| positions[n] + f32::from(steps[n]) * per_step - offset);
    let fields = block[POSITION_AT..POSITION_AT + 12].as_chunks_mut::<4>().0;
    for (field, position) in fields.iter_mut().zip(moved) {
        *field = position.to_le_bytes();
    }
}

/// Writes a prim's block. All numbers must be finite; what lies outside its range is clamped.
pub fn encode_prim(prim: &TersePrim, out: &mut [u8; PRIM_BLOCK_LEN]) {
    out[0] = 44;
    out[1..5].copy_from_slice(&prim.local_id.0.to_le_bytes());
    out[5] = prim.state;
    out[6] = 0;
    put_motion(
        &mut out[7..45],
        prim.position,
        prim.velocity,
        prim.acceleration,
        prim.rotation,
        prim.angular_velocity,
    );
    out[45..47].fill(0);
}

/// Moves a prim's block on by `seconds`, as clients that have it extrapolate it: the position by velocity and acceleration, the velocity by the acceleration,
/// the rotation by the angular velocity. All of these are those of the wire; a component that receivers snap to zero counts as zero.
pub fn advance_prim(block: &mut [u8; PRIM_BLOCK_LEN], seconds: f32) {
    let motion = &mut block[PRIM_MOTION_AT..PRIM_MOTION_AT + MOTION_LEN];
    let position = position_in(motion);
    let velocity = Vec3::from_array(quantised_at(motion, MOTION_VELOCITY_AT, VELOCITY_RANGE));
    let acceleration = Vec3::from_array(quantised_at(motion, MOTION_ACCELERATION_AT, ACCELERATION_RANGE));
    let spin = Vec3::from_array(quantised_at(motion, MOTION_SPIN_AT, ANGULAR_VELOCITY_RANGE));
    let moved = position + velocity * seconds + acceleration * (seconds * seconds / 2.0);
    put_floats(&mut motion[..MOTION_VELOCITY_AT], moved.to_array());
    if acceleration != Vec3::ZERO {
        let faster = velocity + acceleration * seconds;
        let place = MOTION_VELOCITY_AT..MOTION_ACCELERATION_AT;
        put_quantised(&mut motion[place], faster.to_array(), VELOCITY_RANGE);
    }
    if spin != Vec3::ZERO {
        let rotation = Quat::from_array(quantised_at(motion, MOTION_ROTATION_AT, 1.0));
        let turned = (Quat::from_scaled_axis(spin * seconds) * rotation).normalize();
        put_quantised(&mut motion[MOTION_ROTATION_AT..MOTION_SPIN_AT], turned.to_array(), 1.0);
    }
}

/// Motion in a prim's block: position to angular velocity, as it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SentMotion([u8; MOTION_LEN]);

impl SentMotion {
    /// The motion in a block.
    #[must_use]
    pub fn of(block: &[u8; PRIM_BLOCK_LEN]) -> Self {
        let mut motion = [0; MOTION_LEN];
        motion.copy_from_slice(&block[PRIM_MOTION_AT..PRIM_MOTION_AT + MOTION_LEN]);
        Self(motion)
    }

    /// Position and rotation to which clients extrapolate it after so many seconds.
    #[must_use]
    pub fn after(&self, seconds: f32) -> (Vec3, Quat) {
        let bytes = &self.0;
        let velocity = Vec3::from_array(quantised_at(bytes, MOTION_VELOCITY_AT, VELOCITY_RANGE));
        let acceleration = Vec3::from_array(quantised_at(bytes, MOTION_ACCELERATION_AT, ACCELERATION_RANGE));
        let rotation = Quat::from_array(quantised_at(bytes, MOTION_ROTATION_AT, 1.0));
        let spin = Vec3::from_array(quantised_at(bytes, MOTION_SPIN_AT, ANGULAR_VELOCITY_RANGE));
        let position = position_in(bytes) + velocity * seconds + acceleration * (seconds * seconds / 2.0);
        let is_turned = spin != Vec3::ZERO && seconds != 0.0;
        let turned = if is_turned { Quat::from_scaled_axis(spin * seconds) * rotation } else { rotation };
        (position, turned.normalize())
    }
}

fn position_in(motion: &[u8]) -> Vec3 {
    Vec3::from_array(std::array::from_fn(|n| {
        let at = 4 * n;
        f32::from_le_bytes([motion[at], motion[at + 1], motion[at + 2], motion[at + 3]])
    }))
}

#[inline]
fn quantised_at<const N: usize>(bytes: &[u8], at: usize, range: f32) -> [f32; N] {
    std::array::from_fn(|n| dequantise(u16::from_le_bytes([bytes[at + 2 * n], bytes[at + 2 * n + 1]]), range))
}

/// Appends what stands before the first block: message number, region, dilation (0–1) and the count of blocks.
pub fn write_prefix(out: &mut Vec<u8>, region_handle: RegionHandle, time_dilation: f32, count: u8) {
    ImprovedTerseObjectUpdate::NUMBER.write(out);
    write_region_data(out, region_handle, time_dilation);
    out.push(count);
}

/// The velocity that a client has after a terse update with this one. The client extrapolates with it, so dead reckoning
/// has to predict from it.
#[must_use]
pub fn velocity_as_received(velocity: Vec3) -> Vec3 {
    as_received(velocity, VELOCITY_RANGE)
}

/// The same of an acceleration.
#[must_use]
pub fn acceleration_as_received(acceleration: Vec3) -> Vec3 {
    as_received(acceleration, ACCELERATION_RANGE)
}

/// The same of an angular velocity.
#[must_use]
pub fn angular_velocity_as_received(angular_velocity: Vec3) -> Vec3 {
    as_received(angular_velocity, ANGULAR_VELOCITY_RANGE)
}

fn as_received(vector: Vec3, range: f32) -> Vec3 {
    Vec3::from_array(vector.to_array().map(|part| dequantise(quantise(part, range), range)))
}

#[inline]
fn put_motion(
    out: &mut [u8],
    position: Vec3,
    velocity: Vec3,
    acceleration: Vec3,
    rotation: Quat,
    angular_velocity: Vec3,
) {
    let out: &mut [u8; MOTION_LEN] = out.try_into().expect("callers pass the range of the layout above");
    put_floats(&mut out[..MOTION_VELOCITY_AT], position.to_array());
    put_quantised(&mut out[MOTION_VELOCITY_AT..MOTION_ACCELERATION_AT], velocity.to_array(), VELOCITY_RANGE);
    put_quantised(
        &mut out[MOTION_ACCELERATION_AT..MOTION_ROTATION_AT],
        acceleration.to_array(),
        ACCELERATION_RANGE,
    );
    put_quantised(&mut out[MOTION_ROTATION_AT..MOTION_SPIN_AT], rotation.to_array(), 1.0);
    put_quantised(&mut out[MOTION_SPIN_AT..], angular_velocity.to_array(), ANGULAR_VELOCITY_RANGE);
}

#[inline]
fn put_floats<const N: usize>(out: &mut [u8], parts: [f32; N]) {
    for (bytes, part) in out.as_chunks_mut::<4>().0.iter_mut().zip(parts) {
        *bytes = part.to_le_bytes();
    }
}

#[inline]
fn put_quantised<const N: usize>(out: &mut [u8], parts: [f32; N], range: f32) {
    for (bytes, part) in out.as_chunks_mut::<2>().0.iter_mut().zip(parts) {
        *bytes = quantise(part, range).to_le_bytes();
    }
}

/// `value` in ±`range` as 0–65,535, to the nearest step. There is no step for zero: it lies between 0x7FFF and
/// 0x8000 and becomes 0x7FFF, as OpenSimulator writes it; receivers snap both to zero.
#[inline]
fn quantise(value: f32, range: f32) -> u16 {
    // Counted from the upper end, so that adding a half and cutting off rounds the middle down. The cast
    // saturates, which is the clamp.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturation is the clamp")]
    let from_top = ((range - value) * (65_535.0 / (2.0 * range)) + 0.5) as u16;
    65_535 - from_top
}

/// The value of a step, with what lies within a step of zero snapped to it as viewers do.
#[inline]
fn dequantise(step: u16, range: f32) -> f32 {
    let step_size = 2.0 * range / 65_535.0;
    let value = f32::from(step) * step_size - range;
    if value.abs() < step_size { 0.0 } else { value }
}

/// An observer's view of one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terse {
    /// Its number in the region.
    pub local_id: LocalId,
    /// Attachment point with its nibbles swapped, or 0.
    pub state: u8,
    /// There for avatars only.
    pub collision_plane: Option<Vec4>,
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

/// The blocks of a message, read one by one without allocation. Ends after the first error.
#[derive(Debug)]
pub struct Blocks<'a> {
    /// Region and dilation.
    pub region_data: RegionData,
    left: u8,
    reader: BodyReader<'a>,
}

/// Reads the body behind the message number; the blocks themselves are read while iterating.
///
/// # Errors
/// [`Malformed::Truncated`] when it ends before the first block. The iterator yields `Truncated` for a block cut
/// short and [`Malformed::Value`] for one whose length, numbers or rotation make no sense.
pub fn decode(body: &[u8]) -> Result<Blocks<'_>, Malformed> {
    let mut reader = BodyReader::new(body);
    let region_data = read_region_data(&mut reader)?;
    let left = reader.take_u8()?;
    Ok(Blocks { region_data, left, reader })
}

impl Iterator for Blocks<'_> {
    type Item = Result<Terse, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let block = read_block(&mut self.reader);
        if block.is_err() {
            self.left = 0;
        }
        Some(block)
    }
}

fn read_block(reader: &mut BodyReader<'_>) -> Result<Terse, Malformed> {
    let len = reader.take_u8()?;
    let mut data = BodyReader::new(reader.take_slice(usize::from(len))?);
    let texture_entry_len = reader.take_u16()?;
    reader.take_slice(usize::from(texture_entry_len))?;

    let local_id = LocalId(data.take_u32()?);
    let state = data.take_u8()?;
    let collision_plane = match data.take_u8()? {
        0 => None,
        _ => Some(Vec4::from_array(data.take_f32s()?)),
    };
    let terse = Terse {
        local_id,
        state,
        collision_plane,
        position: Vec3::from_array(data.take_f32s()?),
        velocity: Vec3::from_array(take_quantised(&mut data, VELOCITY_RANGE)?),
        acceleration: Vec3::from_array(take_quantised(&mut data, ACCELERATION_RANGE)?),
        // A rotation of no length is no rotation; any other is a unit quaternion but for rounding.
        rotation: Vec4::from_array(take_quantised(&mut data, 1.0)?)
            .try_normalize()
            .map(Quat::from_vec4)
            .ok_or(Malformed::Value)?,
        angular_velocity: Vec3::from_array(take_quantised(&mut data, ANGULAR_VELOCITY_RANGE)?),
    };
    if data.len() == 0 { Ok(terse) } else { Err(Malformed::Value) }
}

fn take_quantised<const N: usize>(reader: &mut BodyReader<'_>, range: f32) -> Result<[f32; N], Malformed> {
    let mut parts = [0.0; N];
    for part in &mut parts {
        *part = dequantise(reader.take_u16()?, range);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AVATAR: TerseAvatar = TerseAvatar {
        local_id: LocalId(0x0403_0201),
        position: Vec3::new(1.0, 2.0, 25.5),
        velocity: Vec3::new(3.2, 0.0, -0.5),
        acceleration: Vec3::ZERO,
        rotation: Quat::IDENTITY,
        angular_velocity: Vec3::ZERO,
        collision_plane: Vec4::W,
    };

    fn sent(block: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        write_prefix(&mut message, RegionHandle::from_grid(1000, 1001), 1.0, 1);
        assert_eq!(message.len(), PREFIX_LEN);
        message.extend_from_slice(block);
        message
    }

    fn observe(block: &[u8]) -> Result<Terse, Malformed> {
        decode(&sent(block)[1..])?.next().expect("the prefix says one block")
    }

    #[test]
    fn an_advanced_block_differs_in_its_position_only() {
        let mut block = [0; AVATAR_BLOCK_LEN];
        encode_avatar(&AVATAR, &mut block);
        let before = observe(&block).expect("it is whole");
        advance_avatar(&mut block, 0.05);
        let after = observe(&block).expect("it is whole");
        let error = after.position - (before.position + 0.05 * before.velocity);
        assert!(error.abs().max_element() < 0.05 * 0.004, "{error}");
        assert_eq!(Terse { position: before.position, ..after }, before);
    }

    #[test]
    fn an_advanced_prim_moves_and_turns_as_clients_extrapolate_it() {
        let prim = TersePrim {
            local_id: LocalId(9),
            state: 0,
            position: Vec3::new(1.0, 2.0, 25.5),
            velocity: Vec3::new(3.2, 0.0, -8.5),
            acceleration: Vec3::new(0.0, 0.0, -9.8),
            rotation: Quat::from_rotation_z(1.0),
            angular_velocity: Vec3::X,
        };
        let mut block = [0; PRIM_BLOCK_LEN];
        encode_prim(&prim, &mut block);
        let (before, unadvanced) = (observe(&block).expect("it is whole"), block);
        advance_prim(&mut block, 0.05);
        let after = observe(&block).expect("it is whole");
        let error =
            after.position - (before.position + 0.05 * before.velocity + 0.00125 * before.acceleration);
        assert!(error.length() < 1e-5, "{error}");
        let error = after.velocity - (before.velocity + 0.05 * before.acceleration);
        assert!(error.abs().max_element() < 0.004, "{error}");
        let turned = Quat::from_rotation_x(0.05 * before.angular_velocity.x) * before.rotation;
        assert!(after.rotation.angle_between(turned) < 1e-3, "{after:?}");
        let extrapolated = SentMotion::of(&unadvanced).after(0.05);
        assert!(
            extrapolated.0.distance(after.position) < 1e-5 && extrapolated.1.angle_between(turned) < 1e-3
        );
        let Terse { position, velocity, rotation, .. } = before;
        assert_eq!(Terse { position, velocity, rotation, ..after }, before);
    }

    #[test]
    fn avatar_block_has_the_layout_of_the_protocol() {
        let mut block = [0xAA; AVATAR_BLOCK_LEN];
        encode_avatar(&AVATAR, &mut block);
        assert_eq!(block[..7], [60, 1, 2, 3, 4, 0, 1]);
        assert_eq!(block[7..19], [0; 12], "the plane's normal");
        assert_eq!(block[19..23], 1.0_f32.to_le_bytes(), "the plane's distance");
        assert_eq!(block[23..27], 1.0_f32.to_le_bytes(), "x of the position");
        assert_eq!(block[35..37], 33_587_u16.to_le_bytes(), "3.2 m/s: (3.2 + 128) / 256 × 65,535 = 33,586.7");
        assert_eq!(block[37..39], [0xFF, 0x7F], "zero");
        assert_eq!(block[53..55], [0xFF, 0xFF], "w of the rotation");
        assert_eq!(block[61..], [0, 0], "no texture entry");
    }

    #[test]
    fn the_generic_decoder_reads_the_same_message() {
        let mut block = [0; AVATAR_BLOCK_LEN];
        encode_avatar(&AVATAR, &mut block);
        let message = ImprovedTerseObjectUpdate::decode(&sent(&block)[1..]).expect("a whole message");
        assert_eq!(message.region_data.region_handle, RegionHandle::from_grid(1000, 1001).0);
        assert_eq!(message.region_data.time_dilation, 65_535);
        assert_eq!(message.object_data.len(), 1);
        assert_eq!(message.object_data[0].data, block[1..61]);
        assert!(message.object_data[0].texture_entry.is_empty());
    }

    #[test]
    fn zero_is_exact_and_values_out_of_range_are_clamped() {
        assert_eq!(quantise(0.0, VELOCITY_RANGE), 0x7FFF);
        assert_eq!(velocity_as_received(Vec3::ZERO), Vec3::ZERO);
        assert_eq!(velocity_as_received(Vec3::new(128.0, -128.0, 4_000.0)), Vec3::new(128.0, -128.0, 128.0));
        assert_eq!(velocity_as_received(Vec3::NEG_Z * 4_000.0), Vec3::NEG_Z * 128.0);
    }

    #[test]
    fn a_texture_entry_is_skipped() {
        let mut first = [0; AVATAR_BLOCK_LEN];
        encode_avatar(&AVATAR, &mut first);
        let mut message = sent(&first[..61]);
        message.extend_from_slice(&[7, 0, 3, 0, 0, 0, 1, 2, 3]);
        message.extend_from_slice(&first);
        message[PREFIX_LEN - 1] = 2;
        let seen: Vec<_> =
            decode(&message[1..]).expect("a prefix").map(|block| block.map(|b| b.local_id)).collect();
        assert_eq!(seen, [Ok(AVATAR.local_id), Ok(AVATAR.local_id)]);
    }

    #[test]
    fn a_block_of_another_length_is_refused() {
        let mut block = [0; AVATAR_BLOCK_LEN];
        encode_avatar(&AVATAR, &mut block);
        // Without the plane flag the same 60 bytes are 16 too many.
        block[6] = 0;
        assert_eq!(observe(&block), Err(Malformed::Value));
        let mut prim = [0; PRIM_BLOCK_LEN];
        prim[0] = 44;
        prim[6] = 1;
        assert_eq!(observe(&prim), Err(Malformed::Truncated));
    }

    fn within(range: f32) -> impl Strategy<Value = Vec3> {
        prop::array::uniform3(-range..=range).prop_map(Vec3::from_array)
    }

    fn rotation() -> impl Strategy<Value = Quat> {
        prop::array::uniform4(-1.0_f32..=1.0)
            .prop_filter_map("a rotation has a length", |parts| Vec4::from_array(parts).try_normalize())
            .prop_map(Quat::from_vec4)
    }

    fn close(seen: Vec3, true_value: Vec3, range: f32) -> bool {
        // Half a step from rounding, a whole one where zero snaps, and the rounding of f32 itself.
        (seen - true_value).abs().max_element() <= 2.0 * range / 65_535.0 * 1.01
    }

    proptest! {
        #[test]
        fn avatars_are_seen_within_a_step(
            id: u32, position in within(4_096.0), velocity in within(VELOCITY_RANGE),
            acceleration in within(ACCELERATION_RANGE), rotation in rotation(),
            angular_velocity in within(ANGULAR_VELOCITY_RANGE), plane in prop::array::uniform4(-1.0_f32..1.0),
        ) {
            let avatar = TerseAvatar {
                local_id: LocalId(id), position, velocity, acceleration, rotation, angular_velocity,
                collision_plane: Vec4::from_array(plane),
            };
            let mut block = [0; AVATAR_BLOCK_LEN];
            encode_avatar(&avatar, &mut block);
            let seen = observe(&block).expect("a whole block");
            prop_assert_eq!(seen.local_id, avatar.local_id);
            prop_assert_eq!(seen.collision_plane, Some(avatar.collision_plane));
            prop_assert_eq!(seen.position, position);
            prop_assert_eq!(seen.velocity, velocity_as_received(velocity));
            prop_assert!(close(seen.velocity, velocity, VELOCITY_RANGE));
            prop_assert!(close(seen.acceleration, acceleration, ACCELERATION_RANGE));
            prop_assert!(close(seen.angular_velocity, angular_velocity, ANGULAR_VELOCITY_RANGE));
            prop_assert!(seen.rotation.dot(rotation).abs() > 0.999_999);
        }

        #[test]
        fn prims_are_seen_as_they_are(id: u32, state: u8, position in within(4_096.0), rotation in rotation()) {
            let prim = TersePrim {
                local_id: LocalId(id), state, position, velocity: Vec3::X, acceleration: Vec3::ZERO, rotation,
                angular_velocity: Vec3::ZERO,
            };
            let mut block = [0; PRIM_BLOCK_LEN];
            encode_prim(&prim, &mut block);
            let seen = observe(&block).expect("a whole block");
            prop_assert_eq!((seen.local_id, seen.state, seen.position), (prim.local_id, state, position));
            prop_assert_eq!(seen.collision_plane, None);
            prop_assert_eq!(seen.velocity, velocity_as_received(Vec3::X));
            prop_assert!(seen.rotation.dot(rotation).abs() > 0.999_999);
        }

        #[test]
        fn any_bytes_end(body in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(blocks) = decode(&body) {
                prop_assert!(blocks.count() <= 255);
            }
        }

        #[test]
        fn dequantised_values_quantise_to_where_they_came_from(step: u16) {
            let again = quantise(dequantise(step, VELOCITY_RANGE), VELOCITY_RANGE);
            prop_assert!(again == step || (step == 0x8000 && again == 0x7FFF), "{} became {}", step, again);
        }
    }
}
