//! Strokes with the brush, and their undoing.

use super::number_of;
use crate::shard::Shard;
use crate::shard::counters::Refused;
use crate::shard::incoming::{Handled, Incoming};
use glam::Vec2;
use link::{Brush, GroundEdit, LandEdit, LandRect, Stroke, StrokeArea};
use wire::messages::{ModifyLand, ModifyLandParcelData, UndoLand};

/// Radii of the brushes of viewers that send no other, metres.
const RADII_M: [f32; 3] = [2.0, 4.0, 8.0];
/// Areas of one message: viewers send one, or the corners of one.
const AREAS_MAX: usize = 16;

impl Shard {
    pub(in crate::shard) fn on_modify_land(&mut self, at: &mut Incoming<'_>, m: ModifyLand) -> Handled {
        let asked = &m.modify_block;
        let brush = Brush::of_code(asked.action).ok_or(Refused::BadValue)?;
        if m.parcel_data.len() > AREAS_MAX {
            return Err(Refused::BadValue.into());
        }
        let mut strokes = Vec::new();
        for (n, row) in m.parcel_data.iter().enumerate() {
            let size_m = match m.modify_block_extended.get(n).or_else(|| m.modify_block_extended.first()) {
                Some(extended) => extended.brush_size,
                None => *RADII_M.get(usize::from(asked.brush_size)).ok_or(Refused::BadValue)?,
            };
            let area = area(row, size_m).ok_or(Refused::BadValue)?;
            let stroke = Stroke { brush, area, seconds: asked.seconds, height_m: asked.height };
            strokes.push(LandEdit::Ground(GroundEdit::Stroke(stroke)));
        }
        self.edit_land_all(at, strokes)
    }

    pub(in crate::shard) fn on_undo_land(&mut self, at: &mut Incoming<'_>, _: UndoLand) -> Handled {
        self.edit_land(at, LandEdit::Ground(GroundEdit::Undo))
    }
}

/// A row without an extent is the middle of a brush; one with an extent is a rectangle, or the parcel that it names. `None` for a parcel number that no parcel
/// has.
fn area(row: &ModifyLandParcelData, radius_m: f32) -> Option<StrokeArea> {
    let ModifyLandParcelData { local_id, west, south, east, north } = *row;
    if (west, south) == (east, north) {
        return Some(StrokeArea::Disc { at: Vec2::new(west, south), radius_m });
    }
    if local_id < 0 {
        return Some(StrokeArea::Rect(LandRect { west, south, east, north }));
    }
    number_of(local_id).map(StrokeArea::Parcel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::ParcelNumber;

    #[test]
    fn the_extent_and_the_number_of_a_row_decide_on_its_area() {
        let row = |local_id, east| ModifyLandParcelData { local_id, west: 8.0, south: 9.0, east, north: 9.0 };
        let disc = StrokeArea::Disc { at: Vec2::new(8.0, 9.0), radius_m: 2.0 };
        assert_eq!((area(&row(-1, 8.0), 2.0), area(&row(5, 8.0), 2.0)), (Some(disc), Some(disc)));
        let rect = LandRect { west: 8.0, south: 9.0, east: 12.0, north: 9.0 };
        assert_eq!(area(&row(-1, 12.0), 2.0), Some(StrokeArea::Rect(rect)));
        assert_eq!(area(&row(5, 12.0), 2.0), Some(StrokeArea::Parcel(ParcelNumber(5))));
        assert_eq!(area(&row(70_000, 12.0), 2.0), None);
    }
}
