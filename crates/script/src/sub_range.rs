//! Ranges of characters and elements as scripts name them: inclusive, negative from the end, inverted to exclude.

use std::ops::Range;

/// The range from `start` to `end` in a sequence. Negative numbers count from its end, −1 is the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SubRange {
    /// One piece, possibly empty.
    Inside(Range<usize>),
    /// If `start` lies behind `end`: everything but this piece.
    Outside(Range<usize>),
}

impl SubRange {
    pub(crate) fn new(start: i32, end: i32, length: usize) -> Self {
        let (first, last) = (resolve(start, length), resolve(end, length));
        let (start, behind) = (clamp(first, length), clamp(last + 1, length));
        if first > last {
            Self::Outside(behind..start.max(behind))
        } else {
            Self::Inside(start..behind.max(start))
        }
    }
}

/// The place of an index, negative ones from the end. It may lie outside of the sequence.
pub(crate) fn resolve(index: i32, length: usize) -> i64 {
    let length = i64::try_from(length).expect("a length of a sequence in memory");
    i64::from(index) + if index < 0 { length } else { 0 }
}

/// The nearest place in a sequence or at its end.
pub(crate) fn clamp(place: i64, length: usize) -> usize {
    usize::try_from(place.max(0)).map_or(length, |place| place.min(length))
}

/// The place of an index if it has an element.
pub(crate) fn place(index: i32, length: usize) -> Option<usize> {
    usize::try_from(resolve(index, length)).ok().filter(|&place| place < length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use SubRange::{Inside, Outside};

    #[test]
    fn ranges_are_inclusive_negative_from_the_end_and_inverted() {
        for (start, end, expected) in [
            (0, -1, Inside(0..4)),
            (1, 2, Inside(1..3)),
            (1, 1, Inside(1..2)),
            (-2, -1, Inside(2..4)),
            (2, 100, Inside(2..4)),
            (4, 9, Inside(4..4)),
            (-100, 1, Inside(0..2)),
            (-9, -8, Inside(0..0)),
            (2, 1, Outside(2..2)),
            (3, 0, Outside(1..3)),
            (-1, 0, Outside(1..3)),
            (100, 1, Outside(2..4)),
            (2, -100, Outside(0..2)),
            (-8, -9, Outside(0..0)),
            (9, 5, Outside(4..4)),
            (i32::MAX, i32::MIN, Outside(0..4)),
            (i32::MIN, i32::MAX, Inside(0..4)),
        ] {
            assert_eq!(SubRange::new(start, end, 4), expected, "{start}..={end}");
        }
        assert_eq!(SubRange::new(0, -1, 0), Outside(0..0));
    }

    #[test]
    fn places_are_those_of_elements() {
        for (index, expected) in [
            (0, Some(0)),
            (3, Some(3)),
            (4, None),
            (-1, Some(3)),
            (-4, Some(0)),
            (-5, None),
            (i32::MIN, None),
        ] {
            assert_eq!(place(index, 4), expected, "{index}");
        }
    }
}
