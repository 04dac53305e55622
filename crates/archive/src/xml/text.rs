//! Characters of documents: references, forbidden characters, escapes.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Place of the first character that a document must not have as it is: control characters but tab and line ends, U+FFFE, U+FFFF.
pub(super) fn forbidden_at(text: &str) -> Option<usize> {
    let control = text.bytes().position(|byte| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r'));
    let others = ['\u{FFFE}', '\u{FFFF}'].into_iter().filter_map(|character| text.find(character));
    others.chain(control).min()
}

/// A character that no text has. OpenSimulator writes references to it: its texts are those of messages, some of which end with it.
const NUL: char = '\0';

/// The character of a reference, without `&` and `;`. `None` for other entities and for numbers that are no character.
pub(super) fn resolve(reference: &str) -> Option<char> {
    let Some(number) = reference.strip_prefix('#') else {
        return match reference {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => None,
        };
    };
    let (digits, radix) = match number.strip_prefix('x') {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    // A sign would be taken, too.
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    u32::from_str_radix(digits, radix).ok().and_then(char::from_u32)
}

/// True if all references in the value of an attribute have a character.
pub(super) fn has_known_references(value: &str) -> bool {
    let mut rest = value;
    while let Some((_, behind)) = rest.split_once('&') {
        let Some((reference, tail)) = behind.split_once(';') else { return false };
        if resolve(reference).is_none() {
            return false;
        }
        rest = tail;
    }
    true
}

/// The text of a checked source without elements: references and CDATA are resolved; comments, processing instructions and NUL are left out.
pub(super) fn content(source: &str) -> Cow<'_, str> {
    if !source.contains(['&', '<']) {
        return Cow::Borrowed(source);
    }
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find(['&', '<']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let sections = [("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?", "?>"), ("&", ";")];
        let section = sections.into_iter().find_map(|(open, close)| {
            let (inside, behind) = rest.strip_prefix(open)?.split_once(close)?;
            Some((open, inside, behind))
        });
        // The source was checked before, so that there is one.
        let Some((open, inside, behind)) = section else { break };
        match open {
            "<![CDATA[" => text.push_str(inside),
            "&" => text.extend(resolve(inside).filter(|&character| character != NUL)),
            _ => {}
        }
        rest = behind;
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Appends text as the content of an element. A character that XML forbids becomes a reference, as in the files of OpenSimulator; NUL is left out.
pub fn push_escaped(text: &str, out: &mut String) {
    push(text, false, out);
}

/// Appends text as the value of an attribute between double quotes.
pub fn push_escaped_value(text: &str, out: &mut String) {
    push(text, true, out);
}

fn push(text: &str, is_value: bool, out: &mut String) {
    let is_special = |c: char| matches!(c, '&' | '<' | '>' | '"' | '\0'..='\x1F' | '\u{FFFE}' | '\u{FFFF}');
    let mut rest = text;
    while let Some(at) = rest.find(is_special) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = special.chars();
        let character = characters.next().expect("one was found");
        rest = characters.as_str();
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if is_value => out.push_str("&quot;"),
            '"' | '\t' => out.push(character),
            '\n' | '\r' if !is_value => out.push(character),
            NUL => {}
            _ => write!(out, "&#x{:X};", u32::from(character)).expect("a text takes all characters"),
        }
    }
    out.push_str(rest);
}
