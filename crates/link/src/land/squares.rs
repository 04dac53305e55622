//! Squares of 4 m, in which parcels are measured.

use serde::{Deserialize, Serialize};

/// Edge of a square, metres.
pub const SQUARE_M: u32 = 4;

/// Squares along the edge of the largest region.
const SIDE_MAX: u16 = 256;

/// Some squares of a region, at least one: a bitmap over the smallest rectangle that holds them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EncodedSquares", into = "EncodedSquares")]
pub struct SquareSet {
    west: u16,
    south: u16,
    width: u16,
    height: u16,
    /// Row by row from the south-west, lowest bit first, without gaps between rows.
    bits: Vec<u8>,
}

impl SquareSet {
    /// The set of these squares (column, row), counted from the south-west corner, each below 256. `None` without a square or with one outside.
    #[must_use]
    pub fn of(squares: impl Iterator<Item = (u16, u16)> + Clone) -> Option<Self> {
        let (mut west, mut south, mut east, mut north) = (u16::MAX, u16::MAX, 0, 0);
        for (column, row) in squares.clone() {
            (west, east) = (west.min(column), east.max(column));
            (south, north) = (south.min(row), north.max(row));
        }
        if west > east || east >= SIDE_MAX || north >= SIDE_MAX {
            return None;
        }
        let (width, height) = (east - west + 1, north - south + 1);
        let mut bits = vec![0; bytes_of(width, height)];
        for (column, row) in squares {
            let n = usize::from(row - south) * usize::from(width) + usize::from(column - west);
            bits[n / 8] |= 1 << (n % 8);
        }
        Some(Self { west, south, width, height, bits })
    }

    /// True if it has this square.
    #[must_use]
    pub fn has(&self, column: u16, row: u16) -> bool {
        let (Some(x), Some(y)) = (column.checked_sub(self.west), row.checked_sub(self.south)) else {
            return false;
        };
        x < self.width
            && y < self.height
            && self.bit(usize::from(y) * usize::from(self.width) + usize::from(x))
    }

    /// Its squares (column, row), row by row from the south-west.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u16)> + Clone {
        let width = usize::from(self.width);
        let all = 0..width * usize::from(self.height);
        // Both are below 256.
        all.filter(|&n| self.bit(n))
            .map(move |n| (self.west + (n % width) as u16, self.south + (n / width) as u16))
    }

    /// Number of its squares.
    #[must_use]
    pub fn n_squares(&self) -> u32 {
        self.bits.iter().map(|byte| byte.count_ones()).sum()
    }

    /// South-west corner, and the corner opposite, as squares of the set's rectangle: the second one is the last inside.
    #[must_use]
    pub const fn bounds(&self) -> [(u16, u16); 2] {
        [(self.west, self.south), (self.west + self.width - 1, self.south + self.height - 1)]
    }

    fn bit(&self, n: usize) -> bool {
        self.bits[n / 8] >> (n % 8) & 1 == 1
    }
}

impl std::fmt::Debug for SquareSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SquareSet({} in {:?})", self.n_squares(), self.bounds())
    }
}

fn bytes_of(width: u16, height: u16) -> usize {
    (usize::from(width) * usize::from(height)).div_ceil(8)
}

/// A set by its fields.
#[derive(Serialize, Deserialize)]
struct EncodedSquares {
    west: u16,
    south: u16,
    width: u16,
    height: u16,
    bits: Vec<u8>,
}

impl From<SquareSet> for EncodedSquares {
    fn from(SquareSet { west, south, width, height, bits }: SquareSet) -> Self {
        Self { west, south, width, height, bits }
    }
}

impl TryFrom<EncodedSquares> for SquareSet {
    type Error = &'static str;

    fn try_from(encoded: EncodedSquares) -> Result<Self, &'static str> {
        let EncodedSquares { west, south, width, height, bits } = encoded;
        let fits = |first: u16, length: u16| {
            length > 0 && u32::from(first) + u32::from(length) <= u32::from(SIDE_MAX)
        };
        if !fits(west, width) || !fits(south, height) || bits.len() != bytes_of(width, height) {
            return Err("squares outside every region");
        }
        let n_unused = bits.len() * 8 - usize::from(width) * usize::from(height);
        if bits.last().is_some_and(|last| last.leading_zeros() < n_unused as u32) {
            return Err("squares behind the end");
        }
        let set = Self { west, south, width, height, bits };
        // The smallest rectangle, so that equal sets have equal fields.
        if Self::of(set.iter()).as_ref() != Some(&set) {
            return Err("squares in too large a rectangle");
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ell() -> SquareSet {
        SquareSet::of([(5, 9), (3, 9), (3, 8), (3, 10)].into_iter()).unwrap()
    }

    #[test]
    fn a_set_has_its_squares_and_no_others() {
        let set = ell();
        assert_eq!(set.iter().collect::<Vec<_>>(), [(3, 8), (3, 9), (5, 9), (3, 10)]);
        assert_eq!((set.n_squares(), set.bounds()), (4, [(3, 8), (5, 10)]));
        assert!(
            set.has(5, 9)
                && ![(4, 9), (2, 9), (6, 9), (3, 7), (3, 11), (u16::MAX, 9)]
                    .iter()
                    .any(|&(x, y)| set.has(x, y))
        );
        assert_eq!(SquareSet::of(std::iter::empty()), None);
        assert_eq!(SquareSet::of([(256, 0)].into_iter()), None);
    }

    #[test]
    fn a_set_survives_its_encoding_and_damaged_ones_are_refused() {
        let bytes = postcard::to_stdvec(&ell()).unwrap();
        assert_eq!(postcard::from_bytes(&bytes), Ok(ell()));
        let of = |west, width, height, bits: &[u8]| EncodedSquares {
            west,
            south: 8,
            width,
            height,
            bits: bits.to_vec(),
        };
        for (name, damaged) in [
            ("outside", of(254, 3, 3, &[0b11, 1])),
            ("no width", of(3, 0, 3, &[])),
            ("too few bits", of(3, 3, 3, &[1])),
            ("bits behind the end", of(3, 3, 3, &[0b0110_1001, 2])),
            ("no squares", of(3, 3, 3, &[0, 0])),
            ("too large a rectangle", of(3, 3, 3, &[0b0000_1001, 0])),
        ] {
            let bytes = postcard::to_stdvec(&damaged).unwrap();
            assert!(postcard::from_bytes::<SquareSet>(&bytes).is_err(), "{name}");
        }
    }
}
