//! Dates for people, and names of backups.

use jiff::Timestamp;

/// `2026-12-24T18:00:00Z`; the number itself if no calendar has it.
#[must_use]
pub fn date(unix_s: i64) -> String {
    Timestamp::from_second(unix_s).map_or_else(|_| unix_s.to_string(), |at| at.to_string())
}

/// Name of a backup that begins now, in the order of time.
pub(crate) fn name_at(unix_s: i64) -> String {
    let at = Timestamp::from_second(unix_s).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// True for names that [`name_at`] gives, with a number behind it if there were several in a second: no other text is part of a path.
pub(crate) fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let Some((at, number)) = bytes.split_at_checked(16) else { return false };
    let has_form = is_digits(&at[..8]) && at[8] == b'T' && is_digits(&at[9..15]) && at[15] == b'Z';
    let is_numbered = number.strip_prefix(b"-").is_some_and(|number| is_digits(number) && number.len() <= 4);
    has_form && (number.is_empty() || is_numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_moments_and_nothing_else() {
        let name = name_at(1_798_135_200);
        assert!(is_name(&name) && is_name(&format!("{name}-2")), "{name}");
        assert!(name_at(1_798_135_200) < name_at(1_798_135_201));
        assert_eq!(name_at(0), "19700101T000000Z");
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(i64::MAX), i64::MAX.to_string());
        for wrong in [
            "",
            "..",
            "20261224T180000",
            "20261224T180000Z-",
            "20261224T180000Z-12345",
            "20261224T180000Z/..",
            "20261224T180000Zx",
            "2026122éT18000Z",
            "éééééééééééé",
        ] {
            assert!(!is_name(wrong), "{wrong}");
        }
    }
}
