//! Borders of regions as closed lines: from cell to cell at first, then with few corners.
//!
//! A stretch of border between two regions is simplified independently of the side, so that both get the same corners. So is a stretch
//! on a tile's border, which is straight: it has corners only where the region behind it changes, and the neighbouring tile, which sees
//! the same cells, has them at the same places.

use super::{
    regions::{Behind, Regions, SIDES, each_cell},
    samples::{NONE, Samples, column_of},
};
use crate::mesh::TILE_CELLS;

/// Distance, in cells, between a line and the corners that it omits. Above 1, as the steps of a slanted line need; a walker thereby
/// comes up to 16 cm closer to a wall, about half its radius.
const ERROR_CELLS: f64 = 1.25;

/// Corners of cells along a tile.
const CORNERS: usize = TILE_CELLS as usize + 1;

/// Corner of a closed line, in cells from the tile's corner, and the region behind the edge that begins there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Corner {
    pub(super) at: [u16; 2],
    pub(super) behind: Behind,
}

/// The border of one region: an outer line counter-clockwise, lines around holes clockwise, the region always to the left.
#[derive(Debug)]
pub(super) struct RegionOutline {
    pub(super) region: u32,
    /// Cell by cell.
    pub(super) lines: Vec<Vec<Corner>>,
}

/// Corners that every line keeps.
#[derive(Clone, Debug)]
pub(super) struct Fixed(Vec<bool>);

/// Follows the borders of all regions.
pub(super) fn trace(samples: &Samples, regions: &Regions) -> Vec<RegionOutline> {
    let mut outlines: Vec<RegionOutline> =
        (0..regions.count()).map(|region| RegionOutline { region, lines: Vec::new() }).collect();
    let mut seen = vec![0u8; samples.list.len()];
    each_cell(|x, y| {
        for sample in samples.column_range(column_of(x, y)) {
            let region = regions.of(sample as u32);
            for side in 0..SIDES {
                let is_edge = region != NONE && regions.same(sample as u32, side).is_none();
                if is_edge && seen[sample] & 1 << side == 0 {
                    let line = trace_outline(
                        samples,
                        regions,
                        Edge { sample: sample as u32, x, y, side },
                        &mut seen,
                    );
                    outlines[region as usize].lines.push(line);
                }
            }
        }
    });
    outlines.retain(|outline| !outline.lines.is_empty());
    outlines
}

/// One side of one cell.
#[derive(Clone, Copy, PartialEq)]
struct Edge {
    sample: u32,
    x: u32,
    y: u32,
    side: u32,
}

fn trace_outline(samples: &Samples, regions: &Regions, first: Edge, seen: &mut [u8]) -> Vec<Corner> {
    let mut line = Vec::new();
    let mut edge = first;
    loop {
        seen[edge.sample as usize] |= 1 << edge.side;
        let behind = regions.behind(samples, edge.sample, edge.x, edge.y, edge.side);
        line.push(Corner { at: edge.begin(), behind });
        edge = edge.next(regions);
        if edge == first {
            return line;
        }
    }
}

impl Edge {
    const fn begin(self) -> [u16; 2] {
        let (east, north) = match self.side {
            0 => (0, 0),
            1 => (1, 0),
            2 => (1, 1),
            _ => (0, 1),
        };
        [(self.x + east) as u16, (self.y + north) as u16]
    }

    /// The edge that begins where this one ends: around the same cell, straight on, or around the cell diagonally ahead. Cells that
    /// only touch at a corner are not joined.
    fn next(self, regions: &Regions) -> Self {
        let ahead = (self.side + 1) % SIDES;
        let Some(sample) = regions.same(self.sample, ahead) else { return Self { side: ahead, ..self } };
        let [x, y] = step(self.x, self.y, ahead);
        match regions.same(sample, self.side) {
            None => Self { sample, x, y, side: self.side },
            Some(sample) => {
                let [x, y] = step(x, y, self.side);
                Self { sample, x, y, side: (self.side + SIDES - 1) % SIDES }
            }
        }
    }
}

/// The cell on a side of a cell, which is in the tile.
const fn step(x: u32, y: u32, side: u32) -> [u32; 2] {
    match side {
        0 => [x, y - 1],
        1 => [x + 1, y],
        2 => [x, y + 1],
        _ => [x - 1, y],
    }
}

impl Fixed {
    /// Corners at which a region meets itself: two lines lead on from there, and may touch only there.
    pub(super) fn pinches(outlines: &[RegionOutline]) -> Self {
        let mut fixed = Self(vec![false; CORNERS * CORNERS]);
        let mut visits: Vec<usize> = Vec::new();
        for outline in outlines {
            visits.clear();
            visits.extend(outline.lines.iter().flatten().map(|corner| place(corner.at)));
            visits.sort_unstable();
            for pair in visits.windows(2).filter(|pair| pair[0] == pair[1]) {
                fixed.0[pair[0]] = true;
            }
        }
        fixed
    }

    pub(super) fn holds(&self, at: [u16; 2]) -> bool {
        self.0[place(at)]
    }

    /// True when it was not yet.
    pub(super) fn fix(&mut self, at: [u16; 2]) -> bool {
        !std::mem::replace(&mut self.0[place(at)], true)
    }
}

fn place([x, y]: [u16; 2]) -> usize {
    usize::from(y) * CORNERS + usize::from(x)
}

/// Places in a line of the corners that it keeps, ascending.
pub(super) fn straighten(line: &[Corner], fixed: &Fixed) -> Vec<usize> {
    let count = line.len();
    let changes = |place: usize| line[place].behind != line[(place + count - 1) % count].behind;
    let mut kept: Vec<usize> =
        (0..count).filter(|&place| changes(place) || fixed.holds(line[place].at)).collect();
    if kept.is_empty() {
        // Independent of direction and start of the traversal.
        let first = (0..count).min_by_key(|&place| line[place].at).expect("a line has corners");
        kept.push(first);
    }
    if let [only] = kept[..] {
        kept.push(farthest_from(line, only));
        kept.sort_unstable();
    }
    let ends: Vec<(usize, usize)> = (0..kept.len()).map(|n| (kept[n], kept[(n + 1) % kept.len()])).collect();
    for (begin, end) in ends {
        refine(line, begin, end, &mut kept);
    }
    kept.sort_unstable();
    kept
}

/// The corner farthest from the straight line between two others of the same line that come after each other, if any lies between.
pub(super) fn bulge(line: &[Corner], begin: usize, end: usize) -> Option<(usize, f64)> {
    let count = line.len();
    let inner = (1..(end + count - begin) % count).map(|n| (begin + n) % count);
    let measured = inner.map(|place| (place, deviation(line[begin].at, line[end].at, line[place].at)));
    // A tie has the same result in both directions.
    measured.max_by(|a, b| a.1.total_cmp(&b.1).then(line[b.0].at.cmp(&line[a.0].at)))
}

fn refine(line: &[Corner], begin: usize, end: usize, kept: &mut Vec<usize>) {
    let mut open = vec![(begin, end)];
    while let Some((begin, end)) = open.pop() {
        let Some((place, square)) = bulge(line, begin, end) else { continue };
        if square > ERROR_CELLS * ERROR_CELLS {
            kept.push(place);
            open.push((begin, place));
            open.push((place, end));
        }
    }
}

fn farthest_from(line: &[Corner], from: usize) -> usize {
    let square = |place: usize| {
        let [x, y] = difference(line[from].at, line[place].at);
        x * x + y * y
    };
    (0..line.len())
        .filter(|&place| place != from)
        .max_by(|&a, &b| square(a).cmp(&square(b)).then(line[b].at.cmp(&line[a].at)))
        .expect("a line has four corners")
}

/// Square of the distance, in cells, of a corner from the segment between two others.
fn deviation(begin: [u16; 2], end: [u16; 2], at: [u16; 2]) -> f64 {
    // From the lesser end, so that both directions compute alike.
    let (begin, end) = if begin <= end { (begin, end) } else { (end, begin) };
    let ([wx, wy], [x, y]) = (difference(begin, end), difference(begin, at));
    let (length, along) = (wx * wx + wy * wy, wx * x + wy * y);
    if along <= 0 {
        (x * x + y * y) as f64
    } else if along >= length {
        let [x, y] = difference(end, at);
        (x * x + y * y) as f64
    } else {
        let across = wx * y - wy * x;
        (across * across) as f64 / length as f64
    }
}

fn difference(from: [u16; 2], to: [u16; 2]) -> [i64; 2] {
    [i64::from(to[0]) - i64::from(from[0]), i64::from(to[1]) - i64::from(from[1])]
}
