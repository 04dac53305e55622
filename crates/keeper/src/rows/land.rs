//! Values of a region's land: estate, parcels, patches of the ground.

use super::{RowError, Versions, record_of};
use link::{Estate, GroundPatch, PATCH_M, Parcel, ParcelNumber, SQUARE_M};
use record::{Part, push_value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Record of an estate.
pub(super) const ESTATE: Part = Part::new(*b"ESTA", "estate");
/// Record of a parcel.
pub(super) const PARCEL: Part = Part::new(*b"PARC", "parcel");
/// Record of a patch, of the ground or of the baked ground.
pub(super) const PATCH: Part = Part::new(*b"GRND", "ground patch");

/// Squares of a parcel, counted row by row from the south-west: ascending runs that do not touch each other.
pub(crate) type SquareRuns = Vec<Range<u32>>;

#[derive(Serialize, Deserialize)]
struct EstateRow<E> {
    /// The last assigned parcel number.
    last_number: u16,
    estate: E,
}

#[derive(Serialize, Deserialize)]
struct ParcelRow<P> {
    parcel: P,
    runs: Vec<Run>,
}

#[derive(Serialize, Deserialize)]
struct Run {
    /// Number of squares of other parcels between the previous run and this one.
    skipped: u32,
    n: u32,
}

#[derive(Serialize, Deserialize)]
struct PatchRow {
    column: u8,
    row: u8,
    heights: Vec<f32>,
}

/// Appends the value of an estate.
pub(crate) fn push_estate(out: &mut Vec<u8>, last: ParcelNumber, estate: &Estate) {
    push_value(out, &ESTATE, &EstateRow { last_number: last.0, estate });
}

/// Reads the value of an estate, with the last assigned parcel number.
pub(crate) fn read_estate(value: &[u8], versions: Versions) -> Result<(ParcelNumber, Estate), RowError> {
    let record = record_of(&ESTATE, value, versions)?;
    let EstateRow { last_number, estate }: EstateRow<Estate> = ESTATE.decode(&record, 0)?;
    if estate.is_sound() { Ok((ParcelNumber(last_number), estate)) } else { Err(RowError::Bounds) }
}

/// Appends the value of a parcel with its squares.
pub(crate) fn push_parcel(out: &mut Vec<u8>, parcel: &Parcel, squares: &[Range<u32>]) {
    let mut end = 0;
    let runs = squares.iter().map(|run| {
        let skipped = run.start - end;
        end = run.end;
        Run { skipped, n: run.end - run.start }
    });
    let runs = runs.collect();
    push_value(out, &PARCEL, &ParcelRow { parcel, runs });
}

/// Reads the value of the parcel with a number in a region of this width.
pub(crate) fn read_parcel(
    value: &[u8],
    versions: Versions,
    number: ParcelNumber,
    size_m: u32,
) -> Result<(Parcel, SquareRuns), RowError> {
    let record = record_of(&PARCEL, value, versions)?;
    let ParcelRow { parcel, runs }: ParcelRow<Parcel> = PARCEL.decode(&record, 0)?;
    if parcel.number != number {
        return Err(RowError::Misplaced);
    }
    if !parcel.is_sound(size_m) {
        return Err(RowError::Bounds);
    }
    let (mut squares, mut end, mut n_squares) = (SquareRuns::new(), 0_u32, 0_u32);
    for (index, Run { skipped, n }) in runs.into_iter().enumerate() {
        let is_apart = index == 0 || skipped > 0;
        let start = end.checked_add(skipped).filter(|_| n > 0 && is_apart).ok_or(RowError::Squares)?;
        end = start.checked_add(n).filter(|end| *end <= n_squares_of(size_m)).ok_or(RowError::Squares)?;
        n_squares += n;
        squares.push(start..end);
    }
    if n_squares == parcel.n_squares { Ok((parcel, squares)) } else { Err(RowError::Squares) }
}

/// Appends the value of a patch.
pub(crate) fn push_patch(out: &mut Vec<u8>, patch: &GroundPatch) {
    let (column, row, heights) = (patch.column(), patch.row(), patch.heights().to_vec());
    push_value(out, &PATCH, &PatchRow { column, row, heights });
}

/// Reads the value of the patch with a number in a region of this width.
pub(crate) fn read_patch(
    value: &[u8],
    versions: Versions,
    number: u16,
    size_m: u32,
) -> Result<GroundPatch, RowError> {
    let record = record_of(&PATCH, value, versions)?;
    let PatchRow { column, row, heights } = PATCH.decode(&record, 0)?;
    let heights = heights.try_into().map_err(|_| RowError::Height)?;
    let patch = GroundPatch::new(column, row, heights).ok_or(RowError::Height)?;
    let is_there = patch.is_within(size_m) && patch_number(size_m, &patch) == number;
    if is_there { Ok(patch) } else { Err(RowError::Misplaced) }
}

/// Squares of a region of this width.
pub(crate) const fn n_squares_of(size_m: u32) -> u32 {
    let side = size_m / SQUARE_M;
    side * side
}

/// Place of a patch of a region of this width, row by row from the south-west.
pub(crate) fn patch_number(size_m: u32, patch: &GroundPatch) -> u16 {
    // 4,096 patches at most.
    u16::from(patch.row()) * (size_m / PATCH_M) as u16 + u16::from(patch.column())
}

/// Squares of several parcels, from one pass over the map of a region.
pub(crate) fn runs_of(
    squares: &[ParcelNumber],
    wanted: &BTreeSet<ParcelNumber>,
) -> BTreeMap<ParcelNumber, SquareRuns> {
    let mut found: BTreeMap<ParcelNumber, SquareRuns> = BTreeMap::new();
    let mut end = 0;
    for run in squares.chunk_by(|one, next| one == next) {
        // 65,536 squares at most.
        let start = end;
        end += run.len() as u32;
        if wanted.contains(&run[0]) {
            found.entry(run[0]).or_default().push(start..end);
        }
    }
    found
}
