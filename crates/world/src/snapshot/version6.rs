//! Snapshots of version 6, the last without records.
//!
//! ```text
//! "THRW" | 6 u16 | checksum u64 | body (postcard)          integers little-endian
//! ```
//!
//! The types below are those of version 1 of each part. A part that advances to version 2 leaves a copy of its former types to its
//! upgrade, and this file names them there.

use super::encoding::SNAPSHOT_FORMAT;
use super::{FramesState, MovementState, WorldIdentity};
use crate::{
    game::STATE_PART, local_ids::IdsUsed, npc::Npcs, presence::Presence, resync::Resync, roster::Roster,
};
use record::{Part, RecordBuffer, RecordError, Tag, Unreadable};
use serde::Deserialize;
use state_hash::StateHasher;

pub(super) const NUMBER: u16 = 6;

const HEADER_LEN: usize = 4 + 2 + 8;

/// Tag and name of the one body in messages.
const BODY: (Tag, &str) = (Tag(*b"BODY"), "body");

#[derive(Deserialize)]
struct Body6 {
    place: WorldIdentity,
    next_sequence: u64,
    ids: IdsUsed,
    movement: MovementState,
    resync: Resync,
    slots: Vec<Option<Presence>>,
    npcs: Npcs,
    // The game follows, which only its own crate can read: the same bytes are its record.
}

/// The same state as records of version 1.
pub(super) fn to_records(bytes: &[u8]) -> Result<Vec<u8>, RecordError> {
    let (part, offset) = (BODY.1, HEADER_LEN as u64);
    let undecodable = |why: Unreadable| RecordError::Undecodable { part, offset, why };
    let body = verified_body(bytes)?;
    let (body, game): (Body6, _) =
        postcard::take_from_bytes(body).map_err(|error| undecodable(error.into()))?;
    let Body6 { place, next_sequence, ids, movement, resync, slots, npcs } = body;
    let mut records = RecordBuffer::new(&SNAPSHOT_FORMAT);
    let mut push = |part: &Part, body: postcard::Result<Vec<u8>>| {
        records.push_version(part, 1, &body.expect("plain data in memory always encodes"));
    };
    push(&WorldIdentity::PART, postcard::to_allocvec(&place));
    push(&IdsUsed::PART, postcard::to_allocvec(&ids));
    push(&FramesState::PART, postcard::to_allocvec(&FramesState { next_sequence, resync }));
    push(&MovementState::PART, postcard::to_allocvec(&movement));
    push(&Roster::PART, postcard::to_allocvec(&slots));
    push(&Npcs::PART, postcard::to_allocvec(&npcs));
    push(&STATE_PART, Ok(game.to_vec()));
    Ok(records.finish())
}

fn verified_body(bytes: &[u8]) -> Result<&[u8], RecordError> {
    let Some((header, body)) = bytes.split_first_chunk::<HEADER_LEN>() else {
        return Err(RecordError::CutOff { format: SNAPSHOT_FORMAT.name, offset: 0 });
    };
    let [.., a, b, c, d, e, f, g, h] = *header;
    let mut hasher = StateHasher::new();
    hasher.bytes(body);
    // A fuzzer never guesses a checksum, and the code behind it has to be total as well.
    if u64::from_le_bytes([a, b, c, d, e, f, g, h]) != hasher.finish() && !cfg!(fuzzing) {
        return Err(RecordError::Damaged { tag: BODY.0, offset: HEADER_LEN as u64 });
    }
    Ok(body)
}
