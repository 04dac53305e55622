//! Numbers, vectors and rotations in text, as C reads them.

use crate::dialect::Dialect;
use crate::value::{Rotation, Vector};

/// The largest magnitude of an integer in text that wraps instead of being −1.
const WRAPS_MAX: u64 = u32::MAX as u64;

/// `(integer)` of a string: decimal with a sign, or hexadecimal behind `0x`; white space before it is skipped, text behind it ignored. Values up to
/// ±(2³² − 1) wrap, values beyond are −1.
#[must_use]
pub fn string_to_integer(text: &str) -> i32 {
    let text = skip_space(text);
    if let Some(digits) =
        hexadecimal(text).filter(|digits| digits.starts_with(|c: char| c.is_ascii_hexdigit()))
    {
        return wrapped(digits, 16, false);
    }
    let (is_negative, digits) = sign(text);
    wrapped(digits, 10, is_negative)
}

/// `(float)` of a string: the longest beginning that C reads as a number, with hexadecimal floats, `inf` and `nan`; otherwise 0. The result is stored.
#[must_use]
pub fn string_to_float(text: &str, dialect: Dialect) -> f64 {
    dialect.float(leading_float(text, Infinity::Prefix).map_or(0.0, |(value, _)| value))
}

/// `(vector)` of a string: `<a, b, c>` from the first character, otherwise zero. Text behind the third number is ignored.
#[must_use]
pub fn string_to_vector(text: &str, dialect: Dialect) -> Vector {
    components(text).map_or(Vector::ZERO, |[x, y, z]| dialect.vector(Vector::new(x, y, z)))
}

/// `(rotation)` of a string: `<a, b, c, d>` from the first character, otherwise no rotation. Text behind the fourth number is ignored.
#[must_use]
pub fn string_to_rotation(text: &str, dialect: Dialect) -> Rotation {
    components(text).map_or(Rotation::ZERO, |[x, y, z, s]| dialect.rotation(Rotation::new(x, y, z, s)))
}

/// Forms of `inf` in text.
#[derive(Clone, Copy, PartialEq)]
enum Infinity {
    /// `inf`, no matter what follows.
    Prefix,
    /// `infinity`, or `inf` without an `i` behind it, as in vectors.
    Whole,
}

fn components<const N: usize>(text: &str) -> Option<[f64; N]> {
    let mut rest = text.strip_prefix('<')?;
    let mut values = [0.0; N];
    for (n, value) in values.iter_mut().enumerate() {
        if n > 0 {
            rest = rest.strip_prefix(',')?;
        }
        (*value, rest) = leading_float(rest, Infinity::Whole)?;
    }
    Some(values)
}

/// The number at the beginning, behind white space, and the text behind it.
fn leading_float(text: &str, infinity: Infinity) -> Option<(f64, &str)> {
    let (is_negative, text) = sign(skip_space(text));
    let signed = |value: f64| if is_negative { -value } else { value };
    if let Some((value, rest)) = hexadecimal(text).and_then(hexadecimal_float) {
        return Some((signed(value), rest));
    }
    let length = decimal_length(text);
    if length > 0 {
        let (digits, rest) = text.split_at(length);
        return digits.parse().ok().map(|value| (signed(value), rest));
    }
    if let Some(rest) = strip_word(text, "nan") {
        return Some((f64::NAN, rest));
    }
    let rest = match infinity {
        Infinity::Prefix => strip_word(text, "inf"),
        Infinity::Whole => strip_word(text, "infinity")
            .or_else(|| strip_word(text, "inf").filter(|rest| !rest.starts_with(['i', 'I']))),
    };
    rest.map(|rest| (signed(f64::INFINITY), rest))
}

/// Bytes of a decimal number at the beginning: digits, a point among them, an exponent with digits. 0 if there is none.
fn decimal_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits_from = |at: usize| bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits_from(0);
    let mut length = whole;
    if bytes.get(length) == Some(&b'.') {
        let fraction = digits_from(length + 1);
        if whole + fraction == 0 {
            return 0;
        }
        length += 1 + fraction;
    }
    if length > 0 && matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let at = length + 1 + sign;
        let digits = if at <= bytes.len() { digits_from(at) } else { 0 };
        if digits > 0 {
            length = at + digits;
        }
    }
    length
}

/// The number behind `0x`: digits, a point among them, an exponent of two behind `p`; and the text behind it.
fn hexadecimal_float(text: &str) -> Option<(f64, &str)> {
    let bytes = text.as_bytes();
    let mut mantissa = 0_u64;
    let mut exponent = 0_i64;
    let (mut n_digits, mut has_point, mut at) = (0, false, 0);
    while let Some(&byte) = bytes.get(at) {
        if byte == b'.' && !has_point {
            has_point = true;
        } else if let Some(digit) = char::from(byte).to_digit(16) {
            n_digits += 1;
            if mantissa >> 60 == 0 {
                mantissa = mantissa << 4 | u64::from(digit);
                exponent -= if has_point { 4 } else { 0 };
            } else {
                // Digits beyond 60 bits decide nothing but halves.
                mantissa |= u64::from(digit != 0);
                exponent += if has_point { 0 } else { 4 };
            }
        } else {
            break;
        }
        at += 1;
    }
    if n_digits == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'p' | b'P')) {
        let (is_negative, digits) = sign(&text[at + 1..]);
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        if length > 0 {
            // Capped far beyond all doubles, but not beyond the digits of a mantissa that it may outweigh.
            let power: i64 = digits[..length].parse().unwrap_or(i64::MAX).min(1 << 40);
            exponent += if is_negative { -power } else { power };
            at = text.len() - digits.len() + length;
        }
    }
    let exponent = exponent.clamp(-10_000, 10_000) as i32;
    Some((libm::scalbn(mantissa as f64, exponent), &text[at..]))
}

fn wrapped(text: &str, radix: u32, is_negative: bool) -> i32 {
    let mut value = 0_u64;
    for digit in text.chars().map_while(|c| c.to_digit(radix)) {
        value = value * u64::from(radix) + u64::from(digit);
        if value > WRAPS_MAX {
            return -1;
        }
    }
    let value = value as u32 as i32;
    if is_negative { value.wrapping_neg() } else { value }
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r'])
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

fn hexadecimal(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))
}

/// The text behind a word, in lower or upper case.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let start = text.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

#[cfg(test)]
#[path = "convert_text/tests.rs"]
mod tests;
