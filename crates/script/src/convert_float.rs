//! Floats as text.

use crate::dialect::Dialect;

/// Significant digits of a float in `sl`.
const DIGITS: i32 = 7;

/// `(string)` of a float with a number of decimals.
///
/// `sl` stores it, rounds it to 7 significant digits (half to even) and then to the decimals (half away from zero); a value that becomes zero loses its
/// sign. `opensim` rounds the double to the decimals (half away from zero).
#[must_use]
pub fn float_to_string(value: f64, decimals: usize, dialect: Dialect) -> String {
    let value = dialect.float(value);
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    match dialect {
        Dialect::Sl if value != 0.0 => rounded_twice(value, decimals),
        Dialect::OpenSim => half_away_from_zero(value, decimals),
        Dialect::Sl => format!("{value:.decimals$}"),
    }
}

/// A float with 6 decimals as C prints it: half to even, all digits, `inf`, `nan`.
#[must_use]
pub fn decimals_of_c(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    format!("{value:.6}")
}

fn rounded_twice(value: f64, decimals: usize) -> String {
    // For example 1.677722e7. The standard library's digits are exact, and half goes to even.
    let scientific = format!("{:.*e}", DIGITS as usize - 1, value.abs());
    let (mantissa, exponent) = scientific.split_once('e').expect("an exponent in scientific notation");
    let mut number: u64 = mantissa.replace('.', "").parse().expect("digits of a mantissa");
    let exponent: i32 = exponent.parse().expect("an exponent of a double");
    // value ≈ number / 10^scale
    let mut scale = DIGITS - 1 - exponent;
    let excess = scale - decimals as i32;
    if excess > DIGITS {
        number = 0;
    } else if excess > 0 {
        let unit = 10_u64.pow(excess as u32);
        number = (number + unit / 2) / unit;
    }
    scale -= excess.max(0);
    let sign = if value < 0.0 && number != 0 { "-" } else { "" };
    let digits = number.to_string();
    if scale <= 0 {
        let zeros = "0".repeat(scale.unsigned_abs() as usize);
        return format!("{sign}{digits}{zeros}.{:0<decimals$}", "");
    }
    let scale = scale as usize;
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction:0<decimals$}")
}

fn half_away_from_zero(value: f64, decimals: usize) -> String {
    // A double ends with exactly a half behind its last decimal only if it has at most one binary digit more than it shows decimals. The decimal
    // expansion then has that many digits, and the next one is a 5.
    let halves = value * f64::from(1_u32 << (decimals + 1));
    if halves == libm::trunc(halves) && halves.abs() < 9_007_199_254_740_992.0 {
        let exact = format!("{value:.*}", decimals + 1);
        if let Some(cut) = exact.strip_suffix('5') {
            return away_from_zero(cut);
        }
    }
    format!("{value:.decimals$}")
}

/// Adds one to the last digit of a decimal number.
fn away_from_zero(number: &str) -> String {
    let mut bytes = number.as_bytes().to_vec();
    let mut at = bytes.len();
    while at > 0 {
        at -= 1;
        match bytes[at] {
            b'9' => bytes[at] = b'0',
            b'0'..=b'8' => {
                bytes[at] += 1;
                return String::from_utf8(bytes).expect("digits are ASCII");
            }
            b'.' => {}
            _ => {
                at += 1;
                break;
            }
        }
    }
    bytes.insert(at, b'1');
    String::from_utf8(bytes).expect("digits are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dialect::{OpenSim, Sl};

    #[test]
    fn floats_are_printed_by_the_rules_of_their_dialect() {
        for (value, sl, opensim) in [
            (0.0, "0.000000", "0.000000"),
            (-0.0, "-0.000000", "-0.000000"),
            (1.0, "1.000000", "1.000000"),
            (-1.5, "-1.500000", "-1.500000"),
            (0.1, "0.100000", "0.100000"),
            (1.0 / 3.0, "0.333333", "0.333333"),
            (2.0 / 3.0, "0.666667", "0.666667"),
            (999_999.9, "999999.900000", "999999.900000"),
            (9_999_999.5, "10000000.000000", "9999999.500000"),
            (16_777_216.0, "16777220.000000", "16777216.000000"),
            (-16_777_216.0, "-16777220.000000", "-16777216.000000"),
            // Half to even at the seventh digit.
            (10_000_005.0, "10000000.000000", "10000005.000000"),
            (10_000_015.0, "10000020.000000", "10000015.000000"),
            (123_456.789, "123456.800000", "123456.789000"),
            (0.000_001, "0.000001", "0.000001"),
            (0.000_001_499_999_6, "0.000002", "0.000001"),
            (0.000_001_499_999_4, "0.000001", "0.000001"),
            (0.000_000_5, "0.000001", "0.000000"),
            (0.000_000_4, "0.000000", "0.000000"),
            (-0.000_000_4, "0.000000", "-0.000000"),
            (1e-40, "0.000000", "0.000000"),
            // Half away from zero at the sixth decimal.
            (0.007_812_5, "0.007813", "0.007813"),
            (-0.007_812_5, "-0.007813", "-0.007813"),
            (1e10, "10000000000.000000", "10000000000.000000"),
            (
                3.4e38,
                "340000000000000000000000000000000000000.000000",
                "339999999999999996123846586046231871488.000000",
            ),
            (1e300, "Infinity", &format!("{:.6}", 1e300)),
            (f64::INFINITY, "Infinity", "Infinity"),
            (f64::NEG_INFINITY, "-Infinity", "-Infinity"),
            (f64::NAN, "NaN", "NaN"),
        ] {
            assert_eq!(float_to_string(value, 6, Sl), sl, "{value:e} in sl");
            assert_eq!(float_to_string(value, 6, OpenSim), opensim, "{value:e} in opensim");
        }
    }

    #[test]
    fn components_have_five_decimals() {
        for (value, expected) in [
            (1.0, "1.00000"),
            (0.000_005, "0.00001"),
            (0.000_004, "0.00000"),
            (9.999_996, "10.00000"),
            (0.999_995, "1.00000"),
            (128.123_456, "128.12350"),
        ] {
            assert_eq!(float_to_string(value, 5, Sl), expected, "{value:e}");
        }
    }

    #[test]
    fn halves_carry() {
        for (number, expected) in [("0.0", "0.1"), ("0.9", "1.0"), ("-9.9", "-10.0"), ("99.9", "100.0")] {
            assert_eq!(away_from_zero(number), expected, "{number}");
        }
    }

    #[test]
    fn c_prints_all_digits_half_to_even() {
        for (value, expected) in [
            (16_777_216.0, "16777216.000000"),
            (0.007_812_5, "0.007812"),
            (-0.0, "-0.000000"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (-f64::NAN, "nan"),
        ] {
            assert_eq!(decimals_of_c(value), expected, "{value:e}");
        }
    }
}
