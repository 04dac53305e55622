//! Numbers of prims by place, owner and group, so that counts of a parcel need no look at its prims.

use super::encoder::ObjectEntry;
use glam::Vec3;
use ids::{AgentId, Uuid};
use link::SQUARE_M;
use prim::Ownership;
use std::collections::HashMap;

/// Prims of one owner and group whose linksets stand on one square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRow {
    /// The square of 4 m, counted row by row from the south-west.
    pub square: u32,
    /// Owner of the prims.
    pub owner: AgentId,
    /// Their group; null for none.
    pub group: Uuid,
    /// Number of them, parts included.
    pub n_prims: u32,
}

type Place = (u32, AgentId, Uuid);

/// Prims of a region by square, owner and group. Worn ones are nowhere.
#[derive(Clone, Debug)]
pub struct PrimCounts {
    /// Squares along an edge of the region.
    side: u32,
    /// Hashed: bodies in motion change squares all the time, without new memory.
    rows: HashMap<Place, u32>,
}

impl PrimCounts {
    pub(super) fn new(size_m: f32) -> Self {
        Self { side: (size_m as u32 / SQUARE_M).max(1), rows: HashMap::new() }
    }

    /// All rows, in no order.
    pub fn rows(&self) -> impl Iterator<Item = CountRow> {
        let row =
            |(&(square, owner, group), &n_prims): (&Place, &u32)| CountRow { square, owner, group, n_prims };
        self.rows.iter().map(row)
    }

    /// A prim came, went, or is another one.
    pub(super) fn replace(&mut self, former: Option<&ObjectEntry>, new: Option<&ObjectEntry>) {
        let (former, new) = (self.place_of(former), self.place_of(new));
        self.shift(former, new);
    }

    /// A prim was filed under another place.
    pub(super) fn refile(&mut self, ownership: &Ownership, former: Vec3, new: Vec3) {
        let (former, new) = (self.place(former, ownership), self.place(new, ownership));
        self.shift(Some(former), Some(new));
    }

    fn shift(&mut self, former: Option<Place>, new: Option<Place>) {
        if former == new {
            return;
        }
        if let Some(former) = former
            && let Some(n) = self.rows.get_mut(&former)
        {
            *n -= 1;
            if *n == 0 {
                self.rows.remove(&former);
            }
        }
        if let Some(new) = new {
            *self.rows.entry(new).or_default() += 1;
        }
    }

    fn place_of(&self, entry: Option<&ObjectEntry>) -> Option<Place> {
        let entry = entry.filter(|entry| entry.wearer.is_none())?;
        Some(self.place(entry.position, &entry.body.ownership))
    }

    fn place(&self, at: Vec3, ownership: &Ownership) -> Place {
        // A NaN becomes 0, and places outside count as the nearest border.
        let square = |metres: f32| ((metres / SQUARE_M as f32) as u32).min(self.side - 1);
        (square(at.y) * self.side + square(at.x), ownership.owner, ownership.group)
    }
}
