//! The value of a state: the fields of a prim that scripts, physics and texturing change.

use super::{Interned, RowError, Versions, record_of};
use glam::{Quat, Vec3};
use ids::LocalId;
use link::{Motion, PrimFlags, PrimMotion, VersionedBody};
use prim::HoverText;
use record::{Part, push_value};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Record of a state.
pub(super) const STATE: Part = Part::new(*b"STAT", "object state");

/// Bytes of a value without the contents of texts and textures: head, 16 floats, and lengths and numbers of up to five bytes each.
const STATE_LEN_MAX: usize = 8 + 16 * 4 + 5 + 1 + 5 + 1 + 5 + 6 * 3 + 4;

/// Fields in the order of the encoding.
#[derive(Serialize, Deserialize)]
struct StateRow<'a> {
    version: u32,
    position: Vec3,
    rotation: Quat,
    /// None for a prim at rest.
    movement: Option<Movement>,
    /// Offset of the root in the region's range of local ids, plus 1; 0 for a root.
    root: u32,
    link_number: u8,
    flags: u32,
    texture_entry: &'a [u8],
    texture_animation: &'a [u8],
    media_url: &'a str,
    name: &'a str,
    description: &'a str,
    hover_text: &'a str,
    hover_color: [u8; 4],
}

#[derive(Serialize, Deserialize)]
struct Movement {
    velocity: Vec3,
    acceleration: Vec3,
    angular_velocity: Vec3,
}

/// The fields of a state, decoded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PrimState {
    pub(crate) motion: PrimMotion,
    pub(crate) version: u32,
    pub(crate) texture_entry: Arc<[u8]>,
    pub(crate) texture_animation: Arc<[u8]>,
    pub(crate) media_url: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) description: Arc<str>,
    pub(crate) hover_text: HoverText,
}

/// Appends the value of a prim's state. `ids` are the local ids of the region's kept objects, and the root is one of them.
pub(crate) fn push_state(
    out: &mut Vec<u8>,
    ids: &Range<u32>,
    motion: &PrimMotion,
    versioned: &VersionedBody,
) {
    let PrimMotion { motion, parent, link_number, flags } = motion;
    let Motion { position, velocity, acceleration, rotation, angular_velocity } = *motion;
    let is_still = [velocity, acceleration, angular_velocity]
        .iter()
        .all(|vector| vector.to_array().map(f32::to_bits) == [0; 3]);
    let body = &versioned.body;
    let row = StateRow {
        version: versioned.version,
        position,
        rotation,
        movement: (!is_still).then_some(Movement { velocity, acceleration, angular_velocity }),
        root: if *parent == LocalId(0) { 0 } else { parent.0 - ids.start + 1 },
        link_number: *link_number,
        flags: flags.0,
        texture_entry: &body.texture_entry,
        texture_animation: &body.texture_animation,
        media_url: &body.media_url,
        name: &body.names.name,
        description: &body.names.description,
        hover_text: &body.hover_text.text,
        hover_color: body.hover_text.color,
    };
    push_value(out, &STATE, &row);
}

/// Maximum size of the value of a moving prim's state, in bytes.
pub(crate) fn state_len(versioned: &VersionedBody) -> usize {
    let body = &versioned.body;
    let texts = [&body.media_url, &body.names.name, &body.names.description, &body.hover_text.text];
    let bytes = [&body.texture_entry, &body.texture_animation];
    STATE_LEN_MAX
        + texts.map(|text| text.len()).iter().sum::<usize>()
        + bytes.map(|bytes| bytes.len()).iter().sum::<usize>()
}

/// Reads the value of a state in a region whose kept objects have the local ids `ids`.
pub(crate) fn read_state(
    value: &[u8],
    ids: &Range<u32>,
    versions: Versions,
    interned: &mut Interned,
) -> Result<PrimState, RowError> {
    let record = record_of(&STATE, value, versions)?;
    let row: StateRow<'_> = STATE.decode(&record, 0)?;
    let Movement { velocity, acceleration, angular_velocity } = row.movement.unwrap_or(Movement {
        velocity: Vec3::ZERO,
        acceleration: Vec3::ZERO,
        angular_velocity: Vec3::ZERO,
    });
    let motion =
        Motion { position: row.position, velocity, acceleration, rotation: row.rotation, angular_velocity };
    let are_numbers =
        [motion.position, velocity, acceleration, angular_velocity].iter().all(|vector| vector.is_finite());
    if !are_numbers || !motion.rotation.is_finite() {
        return Err(RowError::Place);
    }
    let parent = match row.root.checked_sub(1) {
        None => LocalId(0),
        Some(place) if place < ids.end - ids.start => LocalId(ids.start + place),
        Some(_) => return Err(RowError::Foreign),
    };
    if PrimFlags(row.flags).any(PrimFlags::TEMPORARY) {
        return Err(RowError::Temporary);
    }
    if row.version == 0 {
        return Err(RowError::Version);
    }
    Ok(PrimState {
        motion: PrimMotion { motion, parent, link_number: row.link_number, flags: PrimFlags(row.flags) },
        version: row.version,
        texture_entry: interned.bytes(row.texture_entry),
        texture_animation: interned.bytes(row.texture_animation),
        media_url: interned.text(row.media_url),
        name: interned.text(row.name),
        description: interned.text(row.description),
        hover_text: HoverText { text: interned.text(row.hover_text), color: row.hover_color },
    })
}
