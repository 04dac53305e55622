//! Edits of the ground: strokes, undo, whole patches, baking.

use super::orders::LandAuthor;
use super::parcels::ParcelMap;
use super::part::Land;
use super::patches::{Edited, place_of};
use super::rules::LandDeed;
use super::strokes::{BoundedStroke, StrokeGround};
use ids::SessionKey;
use link::{
    Brush, GroundEdit, GroundPatch, LandRefusal, PATCH_M, PATCH_SAMPLES, ParcelNumber, SQUARE_M, Stroke,
    StrokeArea, Terrain,
};
use state_hash::mix;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Samples of the ground that may be edited in one tick, unless the first edit has more: those of a region of 256 m, up to 5 ms of noise.
pub(super) const SAMPLES_PER_TICK: u64 = 1 << 16;

/// Samples that the edits of a tick may still have.
#[derive(Debug)]
pub(super) struct GroundBudget(u64);

impl Default for GroundBudget {
    fn default() -> Self {
        Self(SAMPLES_PER_TICK)
    }
}

impl GroundBudget {
    /// Checks that something is left, before any work on an edit.
    ///
    /// # Errors
    /// [`LandRefusal::Busy`] once the edits before have taken all.
    pub(super) const fn need(&self) -> Result<(), LandRefusal> {
        if self.0 == 0 { Err(LandRefusal::Busy) } else { Ok(()) }
    }

    /// Takes samples. A look at the parcel of one square counts as a sample.
    pub(super) const fn charge(&mut self, n_samples: u64) {
        self.0 = self.0.saturating_sub(n_samples);
    }
}

/// An edit of the ground and its circumstances.
#[derive(Debug)]
pub(super) struct GroundWork<'a> {
    pub(super) terrain: &'a mut Arc<Terrain>,
    pub(super) budget: &'a mut GroundBudget,
    pub(super) author: LandAuthor,
    pub(super) session: SessionKey,
    /// The world's source of chance.
    pub(super) seed: u64,
}

impl Land {
    /// Edits the ground.
    ///
    /// # Errors
    /// [`LandRefusal`]; nothing has changed then, but that an edit which cannot be undone is forgotten.
    pub(super) fn edit_ground(&mut self, edit: GroundEdit, work: GroundWork<'_>) -> Result<(), LandRefusal> {
        match edit {
            GroundEdit::Stroke(stroke) => self.stroke(&stroke, work),
            GroundEdit::Undo => self.undo_stroke(work),
            GroundEdit::Load(patches) => self.load(&patches, work),
            GroundEdit::Bake => {
                self.need_estate_right(work.author, LandDeed::SetEstate)?;
                self.ground.bake(work.terrain);
                Ok(())
            }
        }
    }

    fn stroke(&mut self, stroke: &Stroke, work: GroundWork<'_>) -> Result<(), LandRefusal> {
        let GroundWork { terrain, budget, author, session, seed } = work;
        let only = match stroke.area {
            StrokeArea::Parcel(number) => Some(number),
            StrokeArea::Disc { .. } | StrokeArea::Rect(_) => None,
        };
        budget.need()?;
        if only.is_some() {
            budget.charge(u64::from(self.parcels.side()) * u64::from(self.parcels.side()));
        }
        let bounded = BoundedStroke::new(stroke, self.size_m(), || bounds_of(&self.parcels, only?))?;
        // Refused strokes cost the looks at their squares, too.
        let n_looks = bounded.n_samples() / u64::from(SQUARE_M * SQUARE_M);
        budget.charge(n_looks);
        let permitted = self.parcels_to_edit(author, &bounded, only);
        if !permitted.values().any(|&is_permitted| is_permitted) {
            return Err(LandRefusal::NotPermitted);
        }
        budget.charge(bounded.n_samples() - n_looks);
        let around = StrokeGround {
            ground: terrain,
            baked: self.ground.baked(),
            limits: (!author.is_operator).then(|| self.estate().levels),
            seed: mix(seed ^ mix(self.ground.n_noises)),
        };
        let parcels = &self.parcels;
        let painted = bounded.paint(&around, |column, row| {
            permitted.get(&parcels.number_at(column, row)).is_some_and(|&is_permitted| is_permitted)
        });
        if bounded.brush() == Brush::Noise {
            self.ground.n_noises = self.ground.n_noises.wrapping_add(1);
        }
        let edited = self.ground.write(terrain, &painted);
        let now_ns = self.now_ns();
        self.ground.undo.record(session, now_ns, edited);
        Ok(())
    }

    /// Parcels under a stroke, and whether the author may edit their ground. Of a whole parcel only that one.
    fn parcels_to_edit(
        &self,
        author: LandAuthor,
        stroke: &BoundedStroke,
        only: Option<ParcelNumber>,
    ) -> BTreeMap<ParcelNumber, bool> {
        let mut permitted = BTreeMap::new();
        for (column, row) in stroke.squares() {
            let number = self.parcels.number_at(column, row);
            if only.is_none_or(|only| only == number) {
                permitted.entry(number).or_insert_with(|| {
                    self.permits(author, LandDeed::EditGround, self.parcels.at(column, row))
                });
            }
        }
        permitted
    }

    fn undo_stroke(&mut self, work: GroundWork<'_>) -> Result<(), LandRefusal> {
        let GroundWork { terrain, budget, author, session, .. } = work;
        budget.need()?;
        let edited: Vec<Edited> = self.ground.undo.pop(session).ok_or(LandRefusal::NothingToUndo)?.collect();
        let mut n_edited = 0;
        for edit in &edited {
            budget.charge(PATCH_SAMPLES as u64);
            let heights = self.without(edit, terrain, author);
            let (column, row) = place_of(self.size_m(), edit.number);
            let patch = GroundPatch::new(column, row, heights).expect("heights of a ground");
            n_edited += usize::from(self.ground.write_patch(terrain, &patch).is_some());
        }
        if n_edited == 0 { Err(LandRefusal::NothingToUndo) } else { Ok(()) }
    }

    /// Heights of a patch without an edit: those before it where the ground is still as the edit left it, and the author may edit it.
    fn without(&self, edit: &Edited, terrain: &Terrain, author: LandAuthor) -> [f32; PATCH_SAMPLES] {
        let before = self.ground.heights_of(edit.number, edit.before.as_ref());
        let after = self.ground.heights_of(edit.number, edit.after.as_ref());
        let (column, row) = place_of(self.size_m(), edit.number);
        let mut heights = terrain.patch(column, row);
        let corner = (u32::from(column) * PATCH_M, u32::from(row) * PATCH_M);
        for square in 0..(PATCH_M / SQUARE_M) * (PATCH_M / SQUARE_M) {
            let (x, y) = (square % (PATCH_M / SQUARE_M) * SQUARE_M, square / (PATCH_M / SQUARE_M) * SQUARE_M);
            let parcel =
                self.parcels.at(((corner.0 + x) / SQUARE_M) as u16, ((corner.1 + y) / SQUARE_M) as u16);
            if !self.permits(author, LandDeed::EditGround, parcel) {
                continue;
            }
            for sample in 0..SQUARE_M * SQUARE_M {
                let n = ((y + sample / SQUARE_M) * PATCH_M + x + sample % SQUARE_M) as usize;
                if heights[n].to_bits() == after[n].to_bits() {
                    heights[n] = before[n];
                }
            }
        }
        heights
    }

    /// Gives the ground whole patches. It cannot be undone.
    fn load(&mut self, patches: &[GroundPatch], work: GroundWork<'_>) -> Result<(), LandRefusal> {
        self.need_estate_right(work.author, LandDeed::SetEstate)?;
        if !patches.iter().all(|patch| patch.is_within(self.size_m())) {
            return Err(LandRefusal::NoArea);
        }
        work.budget.need()?;
        work.budget.charge((patches.len() * PATCH_SAMPLES) as u64);
        for patch in patches {
            self.ground.write_patch(work.terrain, patch);
        }
        Ok(())
    }
}

/// The rectangle of a parcel's squares: west, south, east, north, the last ones inside.
fn bounds_of(parcels: &ParcelMap, number: ParcelNumber) -> Option<[u16; 4]> {
    let [(west, south), (east, north)] = parcels.squares_of(number)?.bounds();
    Some([west, south, east, north])
}
