//! ISO 8601 dates in the few forms that LLSD and XML-RPC use, always UTC.

/// Seconds of the first and last instant that has a four-digit year.
const SECONDS: std::ops::RangeInclusive<f64> = -62_167_219_200.0..=253_402_300_799.0;
const DAY_S: i64 = 86_400;

/// Seconds since 1970 of `2026-01-31T23:59:59.25Z`, with or without fraction and `Z`, of the date alone, or
/// of XML-RPC's `20260131T23:59:59`; empty is 1970. `None` for anything else, also for 30 February.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0.0);
    }
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, time.strip_suffix('Z').unwrap_or(time)),
        None => (text, "00:00:00"),
    };
    let (year, month, day) = match date.len() {
        10 if date.is_ascii() && &date[4..5] == "-" && &date[7..8] == "-" => {
            (number(&date[..4])?, number(&date[5..7])?, number(&date[8..])?)
        }
        8 if date.is_ascii() => (number(&date[..4])?, number(&date[4..6])?, number(&date[6..])?),
        _ => return None,
    };
    let days = days_from_civil(year, month, day);
    if civil_from_days(days) != (year, month, day) {
        return None;
    }
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = clock.split(':');
    let (hour, minute, second) = (number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?);
    // 60 is a leap second: the same instant as the next minute's start in this count.
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    Some((days * DAY_S + hour * 3_600 + minute * 60 + second) as f64 + fraction)
}

/// `2026-01-31T23:59:59Z`, with six digits of fraction if there is one; cut to the years 0–9999, not-a-number
/// to 1970.
pub(crate) fn format(seconds: f64) -> String {
    let (date, clock, micros) = split(seconds);
    let (year, month, day) = date;
    let (hour, minute, second) = clock;
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// XML-RPC's form, `20260131T23:59:59`, which has no fraction.
pub(crate) fn format_compact(seconds: f64) -> String {
    let ((year, month, day), (hour, minute, second), _) = split(seconds);
    format!("{year:04}{month:02}{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// `01/31/2026`, as profiles have the day on which an account was made. `unix_s` counts seconds since 1970; cut to the years
/// 0–9999.
#[must_use]
pub fn profile_date(unix_s: i64) -> String {
    let ((year, month, day), ..) = split(unix_s as f64);
    format!("{month:02}/{day:02}/{year:04}")
}

type Triple = (i64, i64, i64);

/// (year, month, day), (hour, minute, second) and microseconds.
fn split(seconds: f64) -> (Triple, Triple, i64) {
    let seconds = if seconds.is_nan() { 0.0 } else { seconds.clamp(*SECONDS.start(), *SECONDS.end()) };
    // A double holds microseconds of these years exactly enough, and i64 holds them all.
    let micros = (seconds * 1e6).round() as i64;
    let whole = micros.div_euclid(1_000_000);
    let of_day = whole.rem_euclid(DAY_S);
    let clock = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    (civil_from_days(whole.div_euclid(DAY_S)), clock, micros.rem_euclid(1_000_000))
}

fn number(digits: &str) -> Option<i64> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar. Years begin in March here, so that
/// the leap day comes last and month lengths follow one formula; 400 years are 146,097 days.
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year.div_euclid(400) * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse of [`days_from_civil`].
const fn civil_from_days(days: i64) -> Triple {
    let days = days + 719_468;
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + days.div_euclid(146_097) * 400;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_instants_read_and_print() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2000-02-29T12:00:00Z", 951_825_600.0),
            ("2026-01-31T23:59:59.250000Z", 1_769_903_999.25),
            ("1969-12-31T23:59:59Z", -1.0),
            ("9999-12-31T23:59:59Z", 253_402_300_799.0),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
            assert_eq!(format(seconds), text);
        }
        assert_eq!(parse("19980717T14:08:55"), Some(900_684_535.0));
        assert_eq!(format_compact(900_684_535.0), "19980717T14:08:55");
        assert_eq!(parse("2000-02-29"), Some(951_782_400.0));
        assert_eq!(parse(""), Some(0.0));
    }

    #[test]
    fn a_profile_has_month_day_and_year() {
        assert_eq!(profile_date(0), "01/01/1970");
        assert_eq!(profile_date(1_769_817_599), "01/30/2026");
        assert_eq!(profile_date(i64::MAX), "12/31/9999");
    }

    #[test]
    fn nonsense_is_no_date() {
        for text in [
            "yesterday",
            "2001-02-29",
            "2001-13-01",
            "2001-00-10",
            "2001-01-01T24:00:00Z",
            "2001-01-01T1:2",
            "2001-01-01T00:00:00.Z",
            "2001-01-01T00:00:00.-1Z",
            "2001-01-0é",
            "+001-01-01",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn extremes_are_cut_to_four_digit_years() {
        assert_eq!(format(f64::INFINITY), "9999-12-31T23:59:59Z");
        assert_eq!(format(-1e300), "0000-01-01T00:00:00Z");
        assert_eq!(format(f64::NAN), "1970-01-01T00:00:00Z");
    }

    proptest! {
        #[test]
        fn whole_seconds_survive(seconds in -62_167_219_200_i64..=253_402_300_799) {
            prop_assert_eq!(parse(&format(seconds as f64)), Some(seconds as f64));
        }

        #[test]
        fn any_text_is_read_without_panic(text in ".{0,30}") {
            parse(&text);
        }
    }
}
