//! Characters that names of worlds and other texts on one line may not hold.

/// True if a character changes the display of the text around it: control characters, and Unicode's bidirectional controls, by which a
/// name could look like another one.
#[must_use]
pub fn is_misleading(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_direction_marks_mislead_and_letters_of_any_direction_do_not() {
        for c in ['\0', '\n', '\u{7F}', '\u{85}', '\u{61C}', '\u{200F}', '\u{202E}', '\u{2066}', '\u{2069}'] {
            assert!(is_misleading(c), "{c:?}");
        }
        assert!("Höhle 7 — מערה مغارة 洞穴".chars().all(|c| !is_misleading(c)));
    }
}
