//! Islands of polygons: each polygon of an island is reachable from every other, and back.

use super::{NavMesh, PolyRef};

/// The island of every polygon.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Islands {
    /// First index of each tile's polygons in `of`.
    bases: Box<[u32]>,
    of: Box<[u32]>,
    one_way: bool,
}

impl Islands {
    pub(crate) fn new(mesh: &NavMesh) -> Self {
        let mut count = 0;
        let mut bases = Vec::with_capacity(mesh.tiles.len());
        for tile in &mesh.tiles {
            bases.push(count);
            count += tile.polys.len() as u32;
        }
        let place = |of: PolyRef| bases[of.tile()] as usize + of.index();
        let mut islands = vec![u32::MAX; count as usize];
        let mut one_way = false;
        let mut open = Vec::new();
        let mut next = 0;
        for first in mesh.polys() {
            if islands[place(first)] != u32::MAX {
                continue;
            }
            islands[place(first)] = next;
            open.push(first);
            while let Some(from) = open.pop() {
                for to in links(mesh, from) {
                    // Only links in both directions connect. Detours back from a one-way link are not considered.
                    if !links(mesh, to).any(|back| back == from) {
                        one_way = true;
                    } else if islands[place(to)] == u32::MAX {
                        islands[place(to)] = next;
                        open.push(to);
                    }
                }
            }
            next += 1;
        }
        Self { bases: bases.into(), of: islands.into(), one_way }
    }

    /// The island of a polygon of the mesh this was made for.
    pub(crate) fn of(&self, poly: PolyRef) -> u32 {
        self.of[self.bases[poly.tile()] as usize + poly.index()]
    }

    /// True if there are one-way links.
    pub(crate) const fn has_one_way(&self) -> bool {
        self.one_way
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val::<[u32]>(&self.bases) + size_of_val::<[u32]>(&self.of)
    }
}

fn links(mesh: &NavMesh, from: PolyRef) -> impl Iterator<Item = PolyRef> {
    let poly = mesh.poly(from).copied();
    let edges = poly.map_or(0, |poly| poly.len());
    (0..edges).filter_map(move |edge| mesh.across(from, poly?.links[edge]))
}
