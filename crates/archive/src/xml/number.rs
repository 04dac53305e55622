//! Decimals in the form of .NET.

use std::fmt::{self, Write};

/// Digits from which on a number is written with an exponent, unless its shortest form has more.
const PLAIN_DIGITS: i32 = 7;

/// Digits and exponent of the shortest form of a number: at most 9 digits, a point and an exponent of two digits with its sign.
#[derive(Default)]
struct Shortest {
    bytes: [u8; 24],
    len: usize,
}

impl Write for Shortest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// Appends the shortest decimal that is read as the same number, in the form of .NET: `128.5`, `1E+07`, `-1.5E-05`. Infinite numbers and values that
/// are no number, which no part of an object has, become 0.
pub fn push_f32(value: f32, out: &mut String) {
    if value.is_sign_negative() && value.is_finite() {
        out.push('-');
    }
    if value == 0.0 || !value.is_finite() {
        out.push('0');
        return;
    }
    let mut shortest = Shortest::default();
    write!(shortest, "{:e}", value.abs()).expect("a number has at most 9 digits");
    let text = std::str::from_utf8(&shortest.bytes[..shortest.len]).expect("digits are ASCII");
    let (mantissa, exponent) = text.split_once('e').expect("the form has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    let (first, rest) = mantissa.split_at(1);
    let rest = rest.strip_prefix('.').unwrap_or_default();
    let n_digits = 1 + rest.len() as i32;
    // Number of digits before the point.
    let scale = exponent + 1;
    if scale > n_digits.max(PLAIN_DIGITS) || scale < -3 {
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "E{sign}{:02}", exponent.unsigned_abs()).expect("a text takes all characters");
    } else if scale <= 0 {
        out.push_str("0.");
        out.extend((scale..0).map(|_| '0'));
        out.push_str(first);
        out.push_str(rest);
    } else {
        out.push_str(first);
        let whole = rest.len().min(scale as usize - 1);
        out.push_str(&rest[..whole]);
        out.extend((n_digits..scale).map(|_| '0'));
        if whole < rest.len() {
            out.push('.');
            out.push_str(&rest[whole..]);
        }
    }
}
