//! The `Range` header (RFC 9110 §14.2) in the forms that viewers send: `bytes=0-599`, `bytes=600-`, `bytes=-4`.

/// A part of an asset's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteRange {
    /// From the first to the last byte, both included.
    Part { first: usize, last: usize },
    /// It lies behind the end.
    Unsatisfiable,
}

/// The part that a header asks for. `None` for headers to be ignored: several parts, other units, nonsense.
pub(super) fn requested_range(header: &str, length: usize) -> Option<ByteRange> {
    let (first, last) = header.trim().strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = (first.trim(), last.trim());
    let Some(end) = length.checked_sub(1) else { return Some(ByteRange::Unsatisfiable) };
    if first.is_empty() {
        let suffix: usize = last.parse().ok()?;
        return Some(match suffix {
            0 => ByteRange::Unsatisfiable,
            suffix => ByteRange::Part { first: length.saturating_sub(suffix), last: end },
        });
    }
    let first: usize = first.parse().ok()?;
    // Viewers ask for more than there is.
    let last = if last.is_empty() { end } else { last.parse::<usize>().ok()?.min(end) };
    if first > end {
        return Some(ByteRange::Unsatisfiable);
    }
    // A range that ends before it begins is nonsense.
    (first <= last).then_some(ByteRange::Part { first, last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn part(first: usize, last: usize) -> Option<ByteRange> {
        Some(ByteRange::Part { first, last })
    }

    #[test]
    fn parts_are_found_as_viewers_ask_for_them() {
        for (header, expected) in [
            ("bytes=0-9", part(0, 9)),
            ("bytes=5-", part(5, 99)),
            ("bytes=-4", part(96, 99)),
            ("bytes=-400", part(0, 99)),
            ("bytes=0-999999", part(0, 99)),
            (" bytes=1- 2 ", part(1, 2)),
            ("bytes=100-", Some(ByteRange::Unsatisfiable)),
            ("bytes=100-200", Some(ByteRange::Unsatisfiable)),
            ("bytes=-0", Some(ByteRange::Unsatisfiable)),
            ("bytes=0-1,3-4", None),
            ("lines=0-9", None),
            ("bytes=9-3", None),
            ("bytes=x-", None),
            ("bytes=-", None),
        ] {
            assert_eq!(requested_range(header, 100), expected, "{header}");
        }
        assert_eq!(requested_range("bytes=0-", 0), Some(ByteRange::Unsatisfiable));
    }

    proptest! {
        #[test]
        fn no_range_reaches_outside(header in "bytes=[0-9]{0,22}-[0-9]{0,22}", length in 0_usize..1_000) {
            if let Some(ByteRange::Part { first, last }) = requested_range(&header, length) {
                prop_assert!(first <= last && last < length);
            }
        }
    }
}
