//! Snapshots as bytes: one record for each part of a world.
//!
//! A part that is added to the world gets a [`Part`] beside its state, a line in [`SNAPSHOT_PARTS`], one in [`encode`] and one in [`decode`]; the
//! others do not change. `docs/internals/formats.md` has the rules for a part that changes.

use super::{FramesState, MovementState, OwnedBody, SnapshotBody, WorldIdentity, version6};
use crate::{
    bodies::StoredBodies,
    game::STATE_PART,
    land::Land,
    local_ids::IdsUsed,
    npc::Npcs,
    objects::{AnsweredOrders, Edits, ObjectStore},
    presence::{AvatarSeat, Presence},
    roster::Roster,
    solids::{StoredAssetSolids, StoredSolids},
};
use link::StoredObjects;
use record::{Format, Part, RecordBuffer, RecordError, Records, Unreadable};
use serde::Serialize;
use std::{borrow::Cow, sync::Arc};

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

impl AvatarSeat {
    /// Seats by the slots of their avatars.
    pub(super) const PART: Part = Part::new(*b"SEAT", "seats");
}

impl MovementState {
    pub(super) const PART: Part = Part::new(*b"MOVE", "movement");
}

/// The parts of a snapshot that this build knows, in the order of their records.
pub const SNAPSHOT_PARTS: [&Part; 15] = [
    &WorldIdentity::PART,
    &IdsUsed::PART,
    &FramesState::PART,
    &MovementState::PART,
    &Roster::PART,
    &Npcs::PART,
    &STATE_PART,
    &ObjectStore::PART,
    &Edits::PART,
    &AnsweredOrders::PART,
    &Land::PART,
    &AvatarSeat::PART,
    &StoredSolids::PART,
    &StoredAssetSolids::PART,
    &StoredBodies::PART,
];

pub(super) fn encode<S: Serialize + AsRef<[Option<Presence>]>, N: Serialize>(
    body: &SnapshotBody<S, N>,
) -> Vec<u8> {
    let SnapshotBody {
        place,
        ids,
        frames,
        movement,
        slots,
        npcs,
        game,
        objects,
        edits,
        solids,
        asset_solids,
        bodies,
        land,
    } = body;
    let mut buffer = RecordBuffer::new(&SNAPSHOT_FORMAT);
    buffer.push(&WorldIdentity::PART, place);
    buffer.push(&IdsUsed::PART, ids);
    buffer.push(&FramesState::PART, frames);
    buffer.push(&MovementState::PART, movement);
    buffer.push(&Roster::PART, slots);
    buffer.push(&Npcs::PART, npcs);
    buffer.push_bytes(&STATE_PART, game);
    if let Some(objects) = objects {
        buffer.push(&ObjectStore::PART, objects);
        buffer.push(&Edits::PART, edits);
        if !objects.orders.is_empty() {
            buffer.push(&AnsweredOrders::PART, &objects.orders);
        }
    }
    if let Some(land) = land {
        buffer.push(&Land::PART, land);
    }
    let seats = seats_in(slots.as_ref());
    if !seats.is_empty() {
        buffer.push(&AvatarSeat::PART, &seats);
    }
    if *solids != StoredSolids::default() {
        buffer.push(&StoredSolids::PART, solids);
    }
    if *asset_solids != StoredAssetSolids::default() {
        buffer.push(&StoredAssetSolids::PART, asset_solids);
    }
    if let Some(bodies) = bodies {
        buffer.push(&StoredBodies::PART, bodies);
    }
    buffer.finish()
}

/// Seats of avatars on linksets, by slot.
fn seats_in(slots: &[Option<Presence>]) -> Vec<(u32, AvatarSeat)> {
    let seated = |(slot, presence): (u32, &Option<Presence>)| {
        let seat = presence.as_ref()?.seat.as_deref()?;
        Some((slot, *seat))
    };
    (0..).zip(slots).filter_map(seated).collect()
}

/// Gives avatars their seats; `None` for a seat without an avatar or at an impossible place.
fn put_seats(slots: &mut [Option<Presence>], seats: Vec<(u32, AvatarSeat)>) -> Option<()> {
    for (slot, seat) in seats {
        let presence = slots.get_mut(slot as usize)?.as_mut()?;
        if !seat.is_sound() {
            return None;
        }
        presence.seat = Some(Arc::new(seat));
    }
    Some(())
}

pub(super) fn decode(bytes: &[u8]) -> Result<OwnedBody, RecordError> {
    let bytes = as_records(bytes)?;
    let records = Records::parse(&SNAPSHOT_FORMAT, &bytes, &SNAPSHOT_PARTS)?;
    let mut slots: Vec<Option<Presence>> = records.decode(&Roster::PART)?;
    if let Some(record) = records.find(&AvatarSeat::PART) {
        let seats = record.decode(&AvatarSeat::PART)?;
        let why = Unreadable("a seat that no avatar has");
        let nowhere = RecordError::Undecodable { part: AvatarSeat::PART.name, offset: 0, why };
        put_seats(&mut slots, seats).ok_or(nowhere)?;
    }
    let objects = records.find(&ObjectStore::PART).map(|record| record.decode(&ObjectStore::PART));
    let mut objects: Option<StoredObjects> = objects.transpose()?;
    if let Some(record) = records.find(&AnsweredOrders::PART) {
        let (part, offset) = (AnsweredOrders::PART.name, record.offset());
        let why = Unreadable("orders in a world without objects");
        let unbuilt = RecordError::Undecodable { part, offset, why };
        objects.as_mut().ok_or(unbuilt)?.orders = record.decode(&AnsweredOrders::PART)?;
    }
    Ok(SnapshotBody {
        place: records.decode(&WorldIdentity::PART)?,
        ids: records.decode(&IdsUsed::PART)?,
        frames: records.decode(&FramesState::PART)?,
        movement: records.decode(&MovementState::PART)?,
        slots,
        npcs: records.decode(&Npcs::PART)?,
        game: records.need(&STATE_PART)?.read(&STATE_PART)?.into_owned(),
        objects,
        edits: records
            .find(&Edits::PART)
            .map(|record| record.decode(&Edits::PART))
            .transpose()?
            .unwrap_or_default(),
        solids: records
            .find(&StoredSolids::PART)
            .map(|record| record.decode(&StoredSolids::PART))
            .transpose()?
            .unwrap_or_default(),
        asset_solids: records
            .find(&StoredAssetSolids::PART)
            .map(|record| record.decode(&StoredAssetSolids::PART))
            .transpose()?
            .unwrap_or_default(),
        bodies: records
            .find(&StoredBodies::PART)
            .map(|record| record.decode(&StoredBodies::PART))
            .transpose()?,
        land: records.find(&Land::PART).map(|record| record.decode(&Land::PART)).transpose()?,
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
