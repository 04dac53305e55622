//! The value of a linkset that the store holds.
//!
//! Its prims have the values of their two rows, in a range of local ids of their own: the root has the first one.

use super::{Interned, RowError, Versions, join, push_body, push_state, read_body, read_state, record_of};
use ids::{AgentId, LocalId, SessionKey, Uuid};
use link::{DerezKind, HeldLinkset, PrimFlags, PrimMotion, VersionedBody};
use record::{Part, push_value};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Record of a linkset.
pub(super) const HELD: Part = Part::new(*b"HELD", "held linkset");

/// Local ids of the prims: a linkset has 256 at most.
const IDS: Range<u32> = 1..257;
const ROOT: LocalId = LocalId(IDS.start);

/// Fields in the order of the encoding.
#[derive(Serialize, Deserialize)]
struct HeldRow<'a> {
    owner: Uuid,
    by: u64,
    kind: u8,
    folder: Uuid,
    transaction: Uuid,
    /// Values of body and state of each prim, the root first.
    #[serde(borrow)]
    prims: Vec<(&'a [u8], &'a [u8])>,
}

/// Appends the value of a linkset. Temporary prims are kept ones from now on.
pub(crate) fn push_held(out: &mut Vec<u8>, linkset: &HeldLinkset) {
    let HeldLinkset { owner, by, kind, folder, transaction, prims } = linkset;
    let values: Vec<(Vec<u8>, Vec<u8>)> = prims.iter().zip(0..=u8::MAX).map(values_of).collect();
    let row = HeldRow {
        owner: owner.0,
        by: by.0,
        kind: kind.code(),
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

/// Reads the value of a linkset.
pub(crate) fn read_held(value: &[u8], versions: Versions) -> Result<HeldLinkset, RowError> {
    let record = record_of(&HELD, value, versions)?;
    let row: HeldRow<'_> = HELD.decode(&record, 0)?;
    let unknown = RowError::Code { field: "destination", code: row.kind };
    let interned = &mut Interned::default();
    let mut prims = Vec::new();
    for ((body, state), number) in row.prims.into_iter().zip(0_u32..) {
        let (place, body) =
            join(read_body(body, versions, interned)?, read_state(state, &IDS, versions, interned)?)?;
        let parent = if number == 0 { LocalId(0) } else { ROOT };
        if (place.parent, u32::from(place.link_number)) != (parent, number) {
            return Err(RowError::Linkset);
        }
        prims.push((place, body));
    }
    if prims.is_empty() {
        return Err(RowError::Linkset);
    }
    Ok(HeldLinkset {
        owner: AgentId(row.owner),
        by: SessionKey(row.by),
        kind: DerezKind::of_code(row.kind).ok_or(unknown)?,
        folder: row.folder,
        transaction: row.transaction,
        prims,
    })
}
