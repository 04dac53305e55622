//! The value of a held object, which is in the store and in no region.
//!
//! Each prim has the values of its two rows, in a separate range of local ids. The root of each linkset has the first local id and the number 0, which separates it
//! from the child prims of the linkset before it.

use super::{Interned, RowError, Versions, join, push_body, push_state, read_body, read_state, record_of};
use ids::{AgentId, LocalId, SessionKey, Uuid};
use link::{DerezKind, HeldObject, PlacedLinkset, PrimFlags, PrimMotion, VersionedBody};
use record::{Part, push_value};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Record of an object. Version 2 adds bodies of version 2, several linksets, and a flag for worn objects. A single linkset without contents that was not worn has
/// the encoding of version 1.
pub(super) const HELD: Part = Part { upgrades: &[record::unchanged], ..Part::new(*b"HELD", "held object") };

/// Local ids of the prims: a linkset has at most 256 prims.
const IDS: Range<u32> = 1..257;
const ROOT: LocalId = LocalId(IDS.start);

/// Bit of the destination for an object that was worn.
const WORN: u8 = 0x80;

/// Fields in the order of the encoding.
#[derive(Serialize, Deserialize)]
struct HeldRow<'a> {
    owner: Uuid,
    by: u64,
    /// Code of the destination, and [`WORN`].
    kind: u8,
    folder: Uuid,
    transaction: Uuid,
    /// Values of body and state of each prim, linkset by linkset, the root first.
    #[serde(borrow)]
    prims: Vec<(&'a [u8], &'a [u8])>,
}

/// Appends the value of an object. Temporary prims lose the flag and become permanent.
pub(crate) fn push_held(out: &mut Vec<u8>, object: &HeldObject) {
    let HeldObject { owner, by, kind, folder, transaction, is_worn, linksets } = object;
    let prims = linksets.iter().flat_map(|prims| prims.iter().zip(0..=u8::MAX));
    let values: Vec<(Vec<u8>, Vec<u8>)> = prims.map(values_of).collect();
    let row = HeldRow {
        owner: owner.0,
        by: by.0,
        kind: kind.code() | if *is_worn { WORN } else { 0 },
        folder: *folder,
        transaction: *transaction,
        prims: values.iter().map(|(body, state)| (&body[..], &state[..])).collect(),
    };
    push_value(out, &HELD, &row);
}

fn values_of(((place, versioned), number): (&(PrimMotion, VersionedBody), u8)) -> (Vec<u8>, Vec<u8>) {
    let place = PrimMotion {
        parent: if number == 0 { LocalId(0) } else { ROOT },
        link_number: number,
        flags: place.flags.with(PrimFlags::TEMPORARY, PrimFlags::default()),
        ..*place
    };
    let (mut body, mut state) = (Vec::new(), Vec::new());
    push_body(&mut body, &versioned.body);
    push_state(&mut state, &IDS, &place, versioned);
    (body, state)
}

/// Decodes the object of a row.
///
/// # Errors
/// [`RowError`].
pub fn held_object(row: &store::HeldRow) -> Result<HeldObject, RowError> {
    read_held(&row.value, Versions::Recent)
}

/// Reads the value of an object.
pub(crate) fn read_held(value: &[u8], versions: Versions) -> Result<HeldObject, RowError> {
    let record = record_of(&HELD, value, versions)?;
    let row: HeldRow<'_> = HELD.decode(&record, 0)?;
    let unknown = RowError::Code { field: "destination", code: row.kind };
    let interned = &mut Interned::default();
    let mut linksets: Vec<PlacedLinkset> = Vec::new();
    for (body, state) in row.prims {
        let (place, body) =
            join(read_body(body, versions, interned)?, read_state(state, &IDS, versions, interned)?)?;
        if place.link_number == 0 {
            linksets.push(Vec::new());
        }
        let linkset = linksets.last_mut().ok_or(RowError::Linkset)?;
        let parent = if linkset.is_empty() { LocalId(0) } else { ROOT };
        if (place.parent, usize::from(place.link_number)) != (parent, linkset.len()) {
            return Err(RowError::Linkset);
        }
        linkset.push((place, body));
    }
    if linksets.is_empty() {
        return Err(RowError::Linkset);
    }
    Ok(HeldObject {
        owner: AgentId(row.owner),
        by: SessionKey(row.by),
        kind: DerezKind::of_code(row.kind & !WORN).ok_or(unknown)?,
        folder: row.folder,
        transaction: row.transaction,
        is_worn: row.kind & WORN != 0,
        linksets,
    })
}
