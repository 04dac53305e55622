//! Numbers for people: as many digits as are worth reading.

/// Significant digits of a number that is not whole. Measurements repeat to two or three.
const DIGITS: i32 = 4;

/// From here on a number is written with an exponent.
const LARGE: f64 = 1e15;

/// Below this one, too.
const SMALL: f64 = 1e-6;

/// A number with four significant digits, or all integer digits of a larger one; thousands are separated, trailing zeroes omitted. Not
/// a number is `–`.
///
/// ```
/// assert_eq!(report::number(1_234_567.89), "1,234,568");
/// assert_eq!(report::number(0.012_345_6), "0.01235");
/// ```
#[must_use]
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(SMALL..LARGE).contains(&size) {
        return sign(value, &format!("{size:.3e}"));
    }
    // The cast is of a small whole number. A size just below a power of ten may round up to it; then it shows one digit
    // more than the others, which is a zero and cut.
    let whole_digits = size.log10().floor() as i32 + 1;
    let decimals = usize::try_from(DIGITS - whole_digits).unwrap_or(0);
    let text = format!("{size:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut out = grouped(whole);
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    sign(value, &out)
}

/// A minus that is as wide as a digit, so that columns line up.
fn sign(value: f64, size: &str) -> String {
    if value < 0.0 { format!("−{size}") } else { size.to_owned() }
}

fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_show_the_digits_that_matter() {
        for (value, shown) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-2.5, "−2.5"),
            (999.96, "1,000"),
            (12.3456, "12.35"),
            (1000.0, "1,000"),
            (123_456.7, "123,457"),
            (0.000_123_456, "0.0001235"),
            (1e-9, "1.000e-9"),
            (3.5e20, "3.500e20"),
            (100_000.0, "100,000"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ] {
            assert_eq!(number(value), shown, "{value:?}");
        }
    }
}
