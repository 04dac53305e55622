//! The land of a region file: rows as in the database, and every patch of the ground.

use super::{LAND, LandToWrite, PART_BYTES, RegionFileError, push_sized, take_sized, take_u32};
use crate::load_land::{count_patches, read_whole_land};
use crate::rows::{push_estate, push_parcel, push_patch, runs_of};
use link::{GroundPatch, PATCH_M, StoredLand, Terrain, is_region_size};
use record::RecordBuffer;
use std::io::{self, Write};
use store::{LandKey, LandKind, LandRows};

/// Appends records with the rows of the land.
pub(super) fn write_land(
    out: &mut impl Write,
    buffer: &mut RecordBuffer,
    land: LandToWrite<'_>,
) -> io::Result<()> {
    let LandToWrite { land, described } = land;
    let (mut part, mut value) = (Vec::new(), Vec::new());
    let mut push_row = |key: LandKey, push_value: &dyn Fn(&mut Vec<u8>)| {
        value.clear();
        push_value(&mut value);
        part.extend_from_slice(&key.code().to_le_bytes());
        push_sized(&mut part, &value);
        if part.len() >= PART_BYTES {
            buffer.push_deflated(&LAND, &part);
            part.clear();
            out.write_all(&buffer.take_bytes())?;
        }
        io::Result::Ok(())
    };
    let StoredLand { state, last_number, ground, baked, .. } = land;
    push_row(LandKey::new(LandKind::Estate, 0), &|value| push_estate(value, *last_number, &state.estate))?;
    let runs = runs_of(&state.squares, &state.parcels.iter().map(|parcel| parcel.number).collect());
    for parcel in &state.parcels {
        let squares = runs.get(&parcel.number).map_or(&[][..], Vec::as_slice);
        let key = LandKey::new(LandKind::Parcel, parcel.number.0);
        push_row(key, &|value| push_parcel(value, parcel, squares))?;
    }
    let (ground, baked) = (whole_ground(described, ground), whole_ground(described, baked));
    for (number, patch) in (0..).zip(&ground) {
        push_row(LandKey::new(LandKind::Ground, number), &|value| push_patch(value, patch))?;
    }
    for (number, (patch, now)) in (0..).zip(baked.iter().zip(&ground)) {
        if !patch.has_same_heights(now.heights()) {
            push_row(LandKey::new(LandKind::Baked, number), &|value| push_patch(value, patch))?;
        }
    }
    if !part.is_empty() {
        buffer.push_deflated(&LAND, &part);
    }
    Ok(())
}

/// Every patch of a ground: the described one, with some other patches.
fn whole_ground(described: &Terrain, others: &[GroundPatch]) -> Vec<GroundPatch> {
    let mut ground = described.clone();
    others.iter().for_each(|patch| ground.set_patch(patch));
    let side = ground.size_m() / PATCH_M;
    let patch = |number: u16| {
        // 64 patches along an edge at most.
        let (column, row) = ((u32::from(number) % side) as u8, (u32::from(number) / side) as u8);
        GroundPatch::new(column, row, ground.patch(column, row)).expect("heights of a ground")
    };
    (0..count_patches(ground.size_m())).map(patch).collect()
}

/// Appends the rows of a record to those before it.
pub(super) fn read_land_rows(
    mut part: &[u8],
    offset: u64,
    rows: &mut LandRows,
) -> Result<(), RegionFileError> {
    let unfit = || RegionFileError::LandRow(offset);
    let mut last = rows.iter().last().map(|(key, _)| key);
    while !part.is_empty() {
        let key = take_u32(&mut part).and_then(LandKey::of_code).ok_or_else(unfit)?;
        let value = take_sized(&mut part).ok_or_else(unfit)?;
        if last.replace(key).is_some_and(|last| last >= key) {
            return Err(unfit());
        }
        rows.push(key, value);
    }
    Ok(())
}

/// The land from all of its rows.
pub(super) fn read_land(size_m: u32, rows: &LandRows) -> Result<StoredLand, RegionFileError> {
    if !is_region_size(size_m) {
        return Err(RegionFileError::Size(size_m));
    }
    read_whole_land(size_m, rows).map_err(|(key, why)| RegionFileError::Land { key, why })
}
