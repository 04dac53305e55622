//! Snapshots as bytes: one record for each part of a world.
//!
//! A part that is added to the world gets a [`Part`] beside its state, a line in [`SNAPSHOT_PARTS`], one in [`encode`] and one in [`decode`]; the
//! others do not change. `docs/internals/formats.md` has the rules for a part that changes.

use super::{FramesState, MovementState, OwnedBody, SnapshotBody, WorldIdentity, version6};
use crate::{game::STATE_PART, local_ids::IdsUsed, npc::Npcs, roster::Roster};
use record::{Format, Part, RecordBuffer, RecordError, Records};
use serde::Serialize;
use std::borrow::Cow;

/// Version of the layout that [`World::snapshot`](crate::World::snapshot) writes; each part has a version of its own beside.
pub const SNAPSHOT_VERSION: u16 = 7;

/// The format of snapshots. Versions up to 6 had one body and no records.
pub const SNAPSHOT_FORMAT: Format = Format {
    magic: *b"THRW",
    number: SNAPSHOT_VERSION,
    reads: "6 and 7",
    name: "world snapshot",
    // 10,000 dressed avatars are 13 MB (`cargo bench -p world --bench snapshot`).
    body_bytes_max: 256 << 20,
};

impl WorldIdentity {
    pub(super) const PART: Part = Part::new(*b"PLAC", "place");
}

impl IdsUsed {
    pub(super) const PART: Part = Part::new(*b"LIDS", "local ids");
}

impl FramesState {
    pub(super) const PART: Part = Part::new(*b"FRAM", "frames");
}

impl MovementState {
    pub(super) const PART: Part = Part::new(*b"MOVE", "movement");
}

/// The parts of a snapshot that this build knows, in the order of their records.
pub const SNAPSHOT_PARTS: [&Part; 7] = [
    &WorldIdentity::PART,
    &IdsUsed::PART,
    &FramesState::PART,
    &MovementState::PART,
    &Roster::PART,
    &Npcs::PART,
    &STATE_PART,
];

pub(super) fn encode<S: Serialize, N: Serialize>(body: &SnapshotBody<S, N>) -> Vec<u8> {
    let SnapshotBody { place, ids, frames, movement, slots, npcs, game } = body;
    let mut buffer = RecordBuffer::new(&SNAPSHOT_FORMAT);
    buffer.push(&WorldIdentity::PART, place);
    buffer.push(&IdsUsed::PART, ids);
    buffer.push(&FramesState::PART, frames);
    buffer.push(&MovementState::PART, movement);
    buffer.push(&Roster::PART, slots);
    buffer.push(&Npcs::PART, npcs);
    buffer.push_bytes(&STATE_PART, game);
    buffer.finish()
}

pub(super) fn decode(bytes: &[u8]) -> Result<OwnedBody, RecordError> {
    let bytes = as_records(bytes)?;
    let records = Records::parse(&SNAPSHOT_FORMAT, &bytes, &SNAPSHOT_PARTS)?;
    Ok(SnapshotBody {
        place: records.decode(&WorldIdentity::PART)?,
        ids: records.decode(&IdsUsed::PART)?,
        frames: records.decode(&FramesState::PART)?,
        movement: records.decode(&MovementState::PART)?,
        slots: records.decode(&Roster::PART)?,
        npcs: records.decode(&Npcs::PART)?,
        game: records.need(&STATE_PART)?.read(&STATE_PART)?.into_owned(),
    })
}

/// See [`World::upgrade_snapshot`](crate::World::upgrade_snapshot).
pub(super) fn upgrade(bytes: &[u8]) -> Result<Option<Vec<u8>>, RecordError> {
    let records = as_records(bytes)?;
    let upgraded = Records::migrate(&SNAPSHOT_FORMAT, &records, &SNAPSHOT_PARTS)?;
    Ok(match (upgraded, records) {
        (Some(upgraded), _) => Some(upgraded),
        (None, Cow::Owned(records)) => Some(records),
        (None, Cow::Borrowed(_)) => None,
    })
}

/// Snapshots of version 6 become records first, each of the version that its part had then.
fn as_records(bytes: &[u8]) -> Result<Cow<'_, [u8]>, RecordError> {
    match SNAPSHOT_FORMAT.number_of(bytes)? {
        version6::NUMBER => Ok(Cow::Owned(version6::to_records(bytes)?)),
        _ => Ok(Cow::Borrowed(bytes)),
    }
}
