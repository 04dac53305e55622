//! Links across the borders of tiles.
//!
//! Tiles are built one by one, but both sides of a border see the same cells, so that their edges end at the same places: an edge has
//! one counterpart or none. Storeys are distinguished by height.

use super::{
    NavMesh, Tile,
    poly::{EdgeLink, Poly, Side},
};
use std::sync::Arc;

/// Storeys are at least the height of a walker apart; heights at a counterpart differ by a step or a drop at most.
const SAME_FLOOR_M: f32 = 0.95;

impl NavMesh {
    /// Links a tile with its neighbours, both ways. Shared tiles are copied before a change.
    pub(crate) fn stitch(&mut self, tile: u32) {
        for side in Side::BORDERS {
            let Some(beyond) = side.neighbour(tile, self.side) else { continue };
            let pairs = pairs(&self.tiles[tile as usize], &self.tiles[beyond as usize], side);
            self.link(tile, side, &pairs);
            let back: Vec<Pair> = pairs.iter().map(|&(here, there)| (there, here)).collect();
            self.link(beyond, side.opposite(), &back);
        }
    }

    /// Sets the links of a tile across one side to those of the pairs.
    fn link(&mut self, tile: u32, side: Side, pairs: &[Pair]) {
        let tile = &mut self.tiles[tile as usize];
        let mut links: Vec<EdgeLink> = vec![EdgeLink::WALL; tile.parts.borders.len()];
        for &(here, there) in pairs {
            let border = tile.parts.borders[here.border];
            if border.leads_out {
                links[here.border] = EdgeLink::new(side, there.poly);
            }
        }
        let of_side = || tile.parts.borders.iter().zip(&links).filter(|(border, _)| border.side == side);
        let is_new = of_side().any(|(border, &link)| {
            tile.polys[usize::from(border.poly)].links[usize::from(border.edge)] != link
        });
        if is_new {
            let mut polys: Vec<Poly> = tile.polys.to_vec();
            for (border, &link) in of_side() {
                polys[usize::from(border.poly)].links[usize::from(border.edge)] = link;
            }
            tile.polys = Arc::from(polys);
        }
    }
}

/// An edge of one tile and its counterpart in the other.
type Pair = (BorderEnd, BorderEnd);

#[derive(Clone, Copy)]
struct BorderEnd {
    /// Place in the tile's borders.
    border: usize,
    poly: u16,
}

fn pairs(here: &Tile, there: &Tile, side: Side) -> Vec<Pair> {
    let (ours, theirs) = (ends(here, side), ends(there, side.opposite()));
    let mut pairs = Vec::new();
    let mut begin = 0;
    for (key, z, end) in &ours {
        while begin < theirs.len() && theirs[begin].0 < *key {
            begin += 1;
        }
        let same = theirs[begin..].iter().take_while(|(other, ..)| other == key);
        let nearest = same.min_by(|a, b| (a.1 - z).abs().total_cmp(&(b.1 - z).abs()));
        if let Some((_, other_z, other)) = nearest
            && (other_z - z).abs() < SAME_FLOOR_M
        {
            pairs.push((*end, *other));
        }
    }
    pairs
}

/// The edges of a side by where they lie along it.
fn ends(tile: &Tile, side: Side) -> Vec<((u16, u16), f32, BorderEnd)> {
    let along = |[x, y]: [u16; 2]| if matches!(side, Side::East | Side::West) { y } else { x };
    let mut ends: Vec<_> = tile
        .parts
        .borders
        .iter()
        .enumerate()
        .filter(|(_, border)| border.side == side)
        .map(|(place, border)| {
            let poly = &tile.polys[usize::from(border.poly)];
            let edge = usize::from(border.edge);
            let next = if edge + 1 == poly.len() { 0 } else { edge + 1 };
            let (a, b) = (along(poly.grid_corner(edge)), along(poly.grid_corner(next)));
            ((a.min(b), a.max(b)), border.z, BorderEnd { border: place, poly: border.poly })
        })
        .collect();
    ends.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    ends
}
