//! The edited ground: patches that differ from the ground of the world's description, and the baked one.
//!
//! Movement reads the heights from [`Terrain`], row by row as ever. A world without edits shares it with all others; the first edit makes a copy,
//! which later ones change in place. Beside it, each edited patch is kept behind `Arc` for frames, checkpoints and undo, with its hash.

use super::patches::{Edited, HashedPatch, hash_of, number_of, place_of};
use super::undo::UndoHistory;
use link::{GroundPatch, PATCH_M, PatchHeights, Terrain};
use state_hash::StateHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Samples of a rectangle, and new heights for them, row by row from its south-west corner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PaintedSamples {
    pub(super) columns: RangeInclusive<u32>,
    pub(super) rows: RangeInclusive<u32>,
    pub(super) heights: Vec<f32>,
}

impl PaintedSamples {
    pub(super) fn width(&self) -> usize {
        (self.columns.end() - self.columns.start() + 1) as usize
    }

    /// Heights of a row, from a column to another one.
    fn part_of(&self, row: u32, columns: &RangeInclusive<u32>) -> &[f32] {
        let first = (row - self.rows.start()) as usize * self.width();
        let (begin, end) = (columns.start() - self.columns.start(), columns.end() - self.columns.start());
        &self.heights[first + begin as usize..=first + end as usize]
    }
}

/// Patches of a ground by number, as far as they differ from the described one.
type Patches = BTreeMap<u16, HashedPatch>;

/// A ground that may take the place of the present one.
#[derive(Debug)]
pub(super) struct OtherGround {
    patches: Patches,
    baked: Patches,
}

impl OtherGround {
    /// Patches that are to be compared and written.
    pub(super) fn n_patches(&self) -> usize {
        self.patches.len() + self.baked.len()
    }
}

/// The ground as edits have left it.
#[derive(Debug)]
pub(super) struct EditedGround {
    /// The ground of the world's description.
    original: Arc<Terrain>,
    /// Limits are relative to it.
    baked: Arc<Terrain>,
    patches: Patches,
    baked_patches: Patches,
    pub(super) undo: UndoHistory,
    /// Strokes of noise so far.
    pub(super) n_noises: u64,
    /// Patches that changed since the last frame.
    changed: BTreeSet<u16>,
    /// The baked ground is other than in the last frame.
    is_baked_new: bool,
    /// Sums of the hashes of patches.
    hash: u64,
    baked_hash: u64,
}

impl EditedGround {
    /// A ground with these patches; `terrain` is the described one and gets them. The next frame has them all. `None` if they contradict the ground: outside,
    /// twice, or no different from it.
    pub(super) fn restored(
        terrain: &mut Arc<Terrain>,
        patches: Vec<GroundPatch>,
        baked: Vec<GroundPatch>,
        undo: UndoHistory,
        n_noises: u64,
    ) -> Option<Self> {
        let original = Arc::clone(terrain);
        let (patches, baked) = (differing(&original, patches)?, differing(&original, baked)?);
        *terrain = with_patches(&original, &patches);
        Some(Self {
            baked: with_patches(&original, &baked),
            changed: patches.keys().copied().collect(),
            hash: hash_sum(&patches),
            baked_hash: hash_sum(&baked),
            is_baked_new: !baked.is_empty(),
            original,
            patches,
            baked_patches: baked,
            undo,
            n_noises,
        })
    }

    /// The ground of the world's description.
    pub(super) const fn original(&self) -> &Arc<Terrain> {
        &self.original
    }

    /// The ground that limits are relative to.
    pub(super) const fn baked(&self) -> &Arc<Terrain> {
        &self.baked
    }

    /// Patches that differ from the described ground, row by row.
    pub(super) fn patches(&self) -> Vec<GroundPatch> {
        self.patches.values().map(|known| known.patch.clone()).collect()
    }

    /// Patches of the baked ground that differ from it, row by row.
    pub(super) fn baked_patches(&self) -> Vec<GroundPatch> {
        self.baked_patches.values().map(|known| known.patch.clone()).collect()
    }

    /// Gives the ground new heights, and returns the patches that differ now.
    pub(super) fn write(&mut self, terrain: &mut Arc<Terrain>, new: &PaintedSamples) -> Vec<Edited> {
        let mut edited = Vec::new();
        let patches_of = |range: &RangeInclusive<u32>| range.start() / PATCH_M..=range.end() / PATCH_M;
        for row in patches_of(&new.rows) {
            for column in patches_of(&new.columns) {
                let rows = overlap(&new.rows, row);
                let columns = overlap(&new.columns, column);
                let is_new = rows
                    .clone()
                    .any(|y| !has_same_bits(row_of(terrain, y, &columns), new.part_of(y, &columns)));
                if is_new {
                    let ground = Arc::make_mut(terrain);
                    for y in rows {
                        ground.set_heights(*columns.start(), y, new.part_of(y, &columns));
                    }
                    edited.push(self.renew(ground, column as u8, row as u8));
                }
            }
        }
        edited
    }

    /// Gives the ground whole patches, and returns those that differ now.
    pub(super) fn write_patch(&mut self, terrain: &mut Arc<Terrain>, patch: &GroundPatch) -> Option<Edited> {
        let (column, row) = (patch.column(), patch.row());
        if patch.has_same_heights(&terrain.patch(column, row)) {
            return None;
        }
        let ground = Arc::make_mut(terrain);
        ground.set_patch(patch);
        Some(self.renew(ground, column, row))
    }

    /// Brings the record of a patch up to date with the ground.
    fn renew(&mut self, ground: &Terrain, column: u8, row: u8) -> Edited {
        let number = number_of(self.original.size_m(), column, row);
        let heights = ground.patch(column, row);
        let patch = GroundPatch::new(column, row, heights).expect("heights of a ground");
        let is_original = patch.has_same_heights(&self.original.patch(column, row));
        let after = (!is_original).then(|| HashedPatch::new(patch));
        let before = match &after {
            Some(known) => self.patches.insert(number, known.clone()),
            None => self.patches.remove(&number),
        };
        self.hash = self.hash.wrapping_sub(hash_of(before.as_ref())).wrapping_add(hash_of(after.as_ref()));
        self.changed.insert(number);
        Edited { number, before, after }
    }

    /// Heights of a patch as an edit has them.
    pub(super) fn heights_of(&self, number: u16, known: Option<&HashedPatch>) -> PatchHeights {
        let (column, row) = place_of(self.original.size_m(), number);
        known.map_or_else(|| self.original.patch(column, row), |known| *known.patch.heights())
    }

    /// Patches of another ground and of its baked one; `None` if they contradict the described ground, as for [`Self::restored`].
    pub(super) fn other(&self, patches: Vec<GroundPatch>, baked: Vec<GroundPatch>) -> Option<OtherGround> {
        Some(OtherGround {
            patches: differing(&self.original, patches)?,
            baked: differing(&self.original, baked)?,
        })
    }

    /// Makes another ground the present one. Edits before it can be undone where they still show.
    pub(super) fn replace(&mut self, terrain: &mut Arc<Terrain>, other: OtherGround) {
        let OtherGround { patches, baked } = other;
        let former: Vec<u16> = self.patches.keys().copied().filter(|n| !patches.contains_key(n)).collect();
        for number in former {
            let (column, row) = place_of(self.original.size_m(), number);
            let heights = self.original.patch(column, row);
            let patch = GroundPatch::new(column, row, heights).expect("heights of a ground");
            self.write_patch(terrain, &patch);
        }
        for known in patches.values() {
            self.write_patch(terrain, &known.patch);
        }
        self.baked = with_patches(&self.original, &baked);
        self.baked_hash = hash_sum(&baked);
        self.baked_patches = baked;
        self.is_baked_new = true;
    }

    /// Makes the present ground the baked one.
    pub(super) fn bake(&mut self, terrain: &Arc<Terrain>) {
        self.baked = Arc::clone(terrain);
        self.baked_patches.clone_from(&self.patches);
        self.baked_hash = self.hash;
        self.is_baked_new = true;
    }

    /// True, once, if the baked ground is other than in the last frame.
    pub(super) const fn take_new_baked(&mut self) -> bool {
        std::mem::replace(&mut self.is_baked_new, false)
    }

    /// Fills in the patches that changed since the last frame.
    pub(super) fn write_changes(&mut self, terrain: &Terrain, out: &mut Vec<GroundPatch>) {
        for number in std::mem::take(&mut self.changed) {
            out.push(match self.patches.get(&number) {
                Some(known) => known.patch.clone(),
                None => {
                    let (column, row) = place_of(terrain.size_m(), number);
                    GroundPatch::new(column, row, terrain.patch(column, row)).expect("heights of a ground")
                }
            });
        }
    }

    /// Columns and rows of the patches that changed since the last frame.
    pub(super) fn changed_places(&self) -> impl Iterator<Item = (u8, u8)> {
        let size_m = self.original.size_m();
        self.changed.iter().map(move |&number| place_of(size_m, number))
    }

    pub(super) fn has_changes(&self) -> bool {
        !self.changed.is_empty() || self.is_baked_new
    }

    /// Leaves the restored patches out of the next frame: its readers have them.
    pub(super) fn forget_changes(&mut self) {
        self.changed.clear();
        self.is_baked_new = false;
    }

    /// Contributes all of it to a hash.
    pub(super) fn hash(&self, hasher: &mut StateHasher) {
        hasher.u64(self.hash);
        hasher.u64(self.baked_hash);
        hasher.u64(self.undo.hash());
        hasher.u64(self.n_noises);
    }
}

/// Patches by number; `None` if one is outside, there twice, or no different from the ground.
fn differing(original: &Terrain, patches: Vec<GroundPatch>) -> Option<Patches> {
    let mut known = Patches::new();
    for patch in patches {
        let size_m = original.size_m();
        if !patch.is_within(size_m) || patch.has_same_heights(&original.patch(patch.column(), patch.row())) {
            return None;
        }
        let number = number_of(size_m, patch.column(), patch.row());
        if known.insert(number, HashedPatch::new(patch)).is_some() {
            return None;
        }
    }
    Some(known)
}

/// The ground with patches of other heights; the same one without any.
fn with_patches(original: &Arc<Terrain>, patches: &Patches) -> Arc<Terrain> {
    if patches.is_empty() {
        return Arc::clone(original);
    }
    let mut ground = Terrain::clone(original);
    patches.values().for_each(|known| ground.set_patch(&known.patch));
    Arc::new(ground)
}

fn hash_sum(patches: &Patches) -> u64 {
    patches.values().fold(0, |sum, known| sum.wrapping_add(known.hash))
}

/// The part of a range of samples that lies in the patches of one column or row.
fn overlap(range: &RangeInclusive<u32>, patch: u32) -> RangeInclusive<u32> {
    let (first, last) = (patch * PATCH_M, patch * PATCH_M + PATCH_M - 1);
    first.max(*range.start())..=last.min(*range.end())
}

fn row_of<'a>(terrain: &'a Terrain, row: u32, columns: &RangeInclusive<u32>) -> &'a [f32] {
    let first = (row * terrain.size_m()) as usize;
    &terrain.heights()[first + *columns.start() as usize..=first + *columns.end() as usize]
}

fn has_same_bits(one: &[f32], other: &[f32]) -> bool {
    one.iter().zip(other).all(|(one, other)| one.to_bits() == other.to_bits())
}
