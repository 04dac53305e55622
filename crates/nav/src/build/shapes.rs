//! A tile's convex polygons on the way to the mesh: linked where they share an edge.

use super::{regions::Behind, samples::Floors};
use crate::mesh::{
    Border,
    poly::{EdgeLink, Poly, Side},
};
use glam::Vec2;
use smallvec::SmallVec;

/// A convex polygon in cells from the tile's corner.
#[derive(Clone, Debug)]
pub(super) struct PolyShape {
    pub(super) region: u32,
    pub(super) floor: u32,
    pub(super) corners: SmallVec<[[u16; 2]; Poly::CORNERS_MAX]>,
    /// By edge; `None` within the region.
    pub(super) behind: SmallVec<[Option<Behind>; Poly::CORNERS_MAX]>,
}

/// Links polygons of the tile that share an edge.
pub(super) fn link(shapes: &[PolyShape], polys: &mut [Poly]) {
    let mut edges = Vec::new();
    for (index, shape) in shapes.iter().enumerate() {
        for (edge, behind) in shape.behind.iter().enumerate() {
            let (other, leads_out) = match behind {
                None => (shape.region, true),
                Some(Behind::Region { region, passage }) => (*region, passage.out),
                Some(Behind::Wall | Behind::Border { .. }) => continue,
            };
            let (a, b) = (shape.corners[edge], shape.corners[(edge + 1) % shape.corners.len()]);
            let key = (a.min(b), a.max(b), shape.region.min(other), shape.region.max(other));
            edges.push((key, index, edge, leads_out));
        }
    }
    edges.sort_unstable();
    for pair in edges.windows(2) {
        if let [(key, a, edge_a, a_leads), (other, b, edge_b, b_leads)] = *pair
            && key == other
        {
            if a_leads {
                polys[a].links[edge_a] = EdgeLink::new(Side::Inside, b as u16);
            }
            if b_leads {
                polys[b].links[edge_b] = EdgeLink::new(Side::Inside, a as u16);
            }
        }
    }
}

/// The edges across which the tile may be left or entered. `height` is that of a floor at a point.
pub(super) fn borders(shapes: &[PolyShape], height: impl Fn(u32, Vec2) -> f32) -> Box<[Border]> {
    let mut borders = Vec::new();
    for (poly, shape) in (0u16..).zip(shapes) {
        for (edge, behind) in shape.behind.iter().enumerate() {
            if let Some(Behind::Border { side, passage, .. }) = *behind {
                let end = |place: usize| {
                    let [x, y] = shape.corners[place % shape.corners.len()];
                    Vec2::new(f32::from(x), f32::from(y))
                };
                let z = height(shape.floor, (end(edge) + end(edge + 1)) / 2.0);
                borders.push(Border { side, leads_out: passage.out, edge: edge as u8, poly, z });
            }
        }
    }
    borders.into()
}

impl PolyShape {
    pub(super) fn poly(&self, origin: [u32; 2], floors: &Floors) -> Poly {
        let corner = |[x, y]: &[u16; 2]| [x + origin[0] as u16, y + origin[1] as u16];
        let corners: SmallVec<[[u16; 2]; Poly::CORNERS_MAX]> = self.corners.iter().map(corner).collect();
        Poly::new(&corners, floors.place(self.floor))
    }
}
