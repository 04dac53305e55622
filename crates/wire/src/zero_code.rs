//! Zero-coding: a run of zero bytes travels as `00` and its length, 1–255; longer runs are split.
//!
//! It covers message number and body, never the header or appended acks. A single zero grows to two bytes, so the coded form may be the
//! longer one: the sender compares and leaves the flag off. Receivers obey the flag, not the template's hint, so both are always right.

use crate::Malformed;
use crate::header::EXPANDED_MAX;

/// Appends the expansion of `src` to `out`: at most [`EXPANDED_MAX`] bytes, whatever the input claims.
///
/// # Errors
/// [`Malformed::ZeroCode`] when a run has no length or length zero, or when the expansion would pass the
/// bound. `out` then holds the part before the fault.
pub fn expand(src: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let end_max = out.len() + EXPANDED_MAX;
    let mut rest = src;
    loop {
        let literal_len = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        let (literal, tail) = rest.split_at(literal_len);
        if out.len() + literal_len > end_max {
            return Err(Malformed::ZeroCode);
        }
        out.extend_from_slice(literal);
        rest = match *tail {
            [] => return Ok(()),
            [_] | [_, 0, ..] => return Err(Malformed::ZeroCode),
            [_, run_len, ref after @ ..] => {
                let end = out.len() + usize::from(run_len);
                if end > end_max {
                    return Err(Malformed::ZeroCode);
                }
                out.resize(end, 0);
                after
            }
        };
    }
}

/// Appends the zero-coded form of `src` to `out`: at most twice as long as `src`.
pub fn compress(src: &[u8], out: &mut Vec<u8>) {
    let mut rest = src;
    while !rest.is_empty() {
        let literal_len = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        let (literal, tail) = rest.split_at(literal_len);
        out.extend_from_slice(literal);
        let zeros_len = tail.iter().position(|&byte| byte != 0).unwrap_or(tail.len());
        let (zeros, after) = tail.split_at(zeros_len);
        for run in zeros.chunks(usize::from(u8::MAX)) {
            let run_len = u8::try_from(run.len()).expect("chunks of at most 255");
            out.extend_from_slice(&[0, run_len]);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expanded(src: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut out = Vec::new();
        expand(src, &mut out).map(|()| out)
    }

    fn compressed(src: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        compress(src, &mut out);
        out
    }

    #[test]
    fn runs_become_zero_and_length() {
        let check = |plain: &[u8], coded: &[u8]| {
            assert_eq!(compressed(plain), coded);
            assert_eq!(expanded(coded).as_deref(), Ok(plain));
        };
        check(&[], &[]);
        check(&[1, 2, 3], &[1, 2, 3]);
        check(&[0xFF, 0xFF, 0, 0x51], &[0xFF, 0xFF, 0, 1, 0x51]);
        check(&[7, 0, 0, 0, 7, 0], &[7, 0, 3, 7, 0, 1]);
        check(&[0; 255], &[0, 255]);
        check(&[0; 256], &[0, 255, 0, 1]);
    }

    #[test]
    fn a_run_without_a_length_is_malformed() {
        for src in [&[0][..], &[5, 0], &[0, 0, 5], &[0, 1, 0, 0]] {
            assert_eq!(expanded(src), Err(Malformed::ZeroCode), "{src:?}");
        }
    }

    #[test]
    fn a_bomb_stops_at_the_bound() {
        let full: Vec<u8> = [0, 128].repeat(EXPANDED_MAX / 128);
        assert_eq!(expanded(&full).map(|out| out.len()), Ok(EXPANDED_MAX));
        for overflow in [&[0, 1][..], &[9]] {
            let bomb = [&full, overflow].concat();
            let mut out = Vec::new();
            assert_eq!(expand(&bomb, &mut out), Err(Malformed::ZeroCode));
            assert_eq!(out.len(), EXPANDED_MAX);
        }
    }

    #[test]
    fn the_bound_counts_this_call_only() {
        let mut out = vec![1; 100];
        assert_eq!(expand(&[0, 128].repeat(EXPANDED_MAX / 128), &mut out), Ok(()));
        assert_eq!(out.len(), 100 + EXPANDED_MAX);
    }

    /// Zeros are as likely as everything else together, as in real messages.
    fn body() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..2000)
    }

    proptest! {
        #[test]
        fn expand_undoes_compress(plain in body()) {
            let coded = compressed(&plain);
            prop_assert!(coded.len() <= 2 * plain.len());
            prop_assert_eq!(expanded(&coded), Ok(plain));
        }

        #[test]
        fn any_bytes_expand_within_the_bound_or_are_refused(src in body()) {
            let mut out = Vec::new();
            let result = expand(&src, &mut out);
            prop_assert!(out.len() <= EXPANDED_MAX);
            if result.is_ok() {
                // Every accepted form is equivalent to the canonical one.
                prop_assert_eq!(expanded(&compressed(&out)), Ok(out));
            }
        }
    }
}
