//! Text forms of scalars that LLSD's XML and notation and XML-RPC share. Parsing is lenient where clients
//! differ and trims XML white space; `None` means that the text is no such value.

use crate::markup::is_blank;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Standard base64; padding may be missing, as some JavaScript clients leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// `1`, `true`, `0`, `false` in any case; empty is false.
pub(crate) fn parse_boolean(text: &str) -> Option<bool> {
    match text.trim_matches(is_blank) {
        "1" => Some(true),
        "0" | "" => Some(false),
        word if word.eq_ignore_ascii_case("true") => Some(true),
        word if word.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// A decimal; empty is zero. Unsigned 32-bit numbers are taken by their bit pattern, since some senders print
/// them so.
pub(crate) fn parse_integer(text: &str) -> Option<i32> {
    let text = text.trim_matches(is_blank);
    if text.is_empty() {
        return Some(0);
    }
    let wide: i64 = text.parse().ok()?;
    i32::try_from(wide).ok().or_else(|| u32::try_from(wide).ok().map(u32::cast_signed))
}

/// A decimal with or without exponent, `nan`, `inf` or `-inf` in any case; empty is zero.
pub(crate) fn parse_real(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_blank);
    if text.is_empty() { Some(0.0) } else { text.parse().ok() }
}

/// Appends the shortest decimal that reads back as the same number; whole numbers without a point, as clients
/// that take apart `[r256000, r256000]` by hand expect (`home`).
pub(crate) fn push_real(value: f64, out: &mut String) {
    use std::fmt::Write as _;
    let magnitude = value.abs();
    // Without an exponent the extremes would print hundreds of digits.
    let plain = magnitude == 0.0 || (1e-7..1e16).contains(&magnitude);
    let written = match value {
        _ if value.is_nan() => write!(out, "nan"),
        _ if plain || value.is_infinite() => write!(out, "{value}"),
        _ => write!(out, "{value:e}"),
    };
    written.expect("writing to a String cannot fail");
}

/// Bytes of base64 text with white space anywhere.
pub(crate) fn base64_decode(text: &str) -> Option<Vec<u8>> {
    let dense: String = text.chars().filter(|&character| !is_blank(character)).collect();
    BASE64.decode(dense).ok()
}

/// Appends bytes as padded base64.
pub(crate) fn base64_encode(bytes: &[u8], out: &mut String) {
    BASE64.encode_string(bytes, out);
}

/// Bytes of hexadecimal text with white space anywhere.
pub(crate) fn base16_decode(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|&character| !is_blank(character))
        .map(|character| character.to_digit(16).map(|digit| digit as u8))
        .collect();
    let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_unsigned_text_and_refuse_more() {
        assert_eq!(parse_integer(" -12\n"), Some(-12));
        assert_eq!(parse_integer("4294967295"), Some(-1));
        assert_eq!(parse_integer("4294967296"), None);
        assert_eq!(parse_integer("-2147483649"), None);
        assert_eq!(parse_integer("1.0"), None);
    }

    #[test]
    fn reals_print_short_and_read_back() {
        for (value, expected) in [
            (0.0, "0"),
            (256_000.0, "256000"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (1e300, "1e300"),
            (1e-9, "1e-9"),
        ] {
            let mut text = String::new();
            push_real(value, &mut text);
            assert_eq!(text, expected);
            assert_eq!(parse_real(&text), Some(value));
        }
        assert_eq!(parse_real("-Inf"), Some(f64::NEG_INFINITY));
        assert!(parse_real("NaN").is_some_and(f64::is_nan));
        assert_eq!(parse_real("one"), None);
    }

    #[test]
    fn base_codings_ignore_white_space_and_refuse_odd_input() {
        assert_eq!(base64_decode("AQ\n ID\t"), Some(vec![1, 2, 3]));
        assert_eq!(base64_decode("AQI="), Some(vec![1, 2]));
        assert_eq!(base64_decode("AQI"), Some(vec![1, 2]));
        assert_eq!(base64_decode("A*I="), None);
        assert_eq!(base16_decode("0a F\nf"), Some(vec![10, 255]));
        assert_eq!(base16_decode("0aF"), None);
        assert_eq!(base16_decode("xy"), None);
    }
}
