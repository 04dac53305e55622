//! Notecards: text with the items of the inventory that are embedded in it.
//!
//! ```text
//! Linden text version 2
//! {
//! LLEmbeddedItems version 1
//! {
//! count <items>
//! {                          for each item: its number in the text, and the item with its permissions,
//! …                          which this check skips by its braces
//! }
//! }
//! Text length <bytes>
//! <text>}
//! ```
//!
//! Version 1 differs in the text: a byte above 127 stands for an item there, and the text is ASCII otherwise.

use super::Unfit;
use super::lines::Lines;
use crate::kind::AssetKind;

/// Items in a notecard, at most. The bytes bound them too; an item takes some 800.
const ITEMS_MAX: u32 = 1_024;

const VERSION: &str = "Linden text version";
pub(super) const ITEMS: &str = "embedded items";
const TEXT: &str = "text";

/// Checks a notecard.
pub(super) fn check(bytes: &[u8]) -> Result<(), Unfit> {
    let kind = AssetKind::Notecard;
    let mut lines = Lines::new(kind, bytes);
    let Head { version, .. } = read_head(&mut lines)?;
    lines.skip_block(ITEMS)?;
    let length = lines.number("Text length")?;
    let rest = lines.rest();
    let after_text = usize::try_from(length).ok().and_then(|length| rest.get(length..));
    let Some(after_text) = after_text else { return Err(Unfit::Truncated { kind, part: TEXT }) };
    // Old libopenmetaverse counts characters instead of bytes, so that the end of a text with others than ASCII lies behind its length. Viewers read such a
    // notecard without its end.
    if after_text.trim_ascii_end().last() != Some(&b'}') {
        return Err(Unfit::Missing { kind, part: "closing brace" });
    }
    if version == 2 && std::str::from_utf8(rest).is_err() {
        return Err(lines.invalid(TEXT));
    }
    Ok(())
}

/// The lines in front of the embedded items.
pub(super) struct Head {
    version: u32,
    /// Number of embedded items.
    pub(super) n_items: u32,
}

/// Reads up to the block of embedded items, which is open then.
pub(super) fn read_head(lines: &mut Lines<'_>) -> Result<Head, Unfit> {
    let version = lines.number(VERSION)?;
    if !(1..=2).contains(&version) {
        return Err(lines.invalid(VERSION));
    }
    lines.open_block(TEXT)?;
    let items_version = "LLEmbeddedItems version";
    if lines.number(items_version)? != 1 {
        return Err(lines.invalid(items_version));
    }
    lines.open_block(ITEMS)?;
    let n_items = lines.number("count")?;
    if n_items > ITEMS_MAX {
        let kind = AssetKind::Notecard;
        return Err(Unfit::TooMany { kind, items: ITEMS, count: n_items, count_max: ITEMS_MAX });
    }
    Ok(Head { version, n_items })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_whole_only;
    use proptest::prelude::*;

    const KIND: AssetKind = AssetKind::Notecard;

    fn notecard(version: u32, length: usize, text: &[u8]) -> Vec<u8> {
        let head = format!(
            "Linden text version {version}\n{{\nLLEmbeddedItems version 1\n{{\ncount 0\n}}\nText length {length}\n"
        );
        [head.as_bytes(), text, b"}"].concat()
    }

    const WITH_ITEM: &str = "Linden text version 2
{
LLEmbeddedItems version 1
{
count 1
{
ext char index 0
\tinv_item\t0
\t{
\t\titem_id\t00000000-0000-0000-0000-000000000001
\tpermissions 0
\t{
\t\tbase_mask\t7fffffff
\t}
\t\tname\tA } name|
\t}
}
}
Text length 9
See \u{100000}.
}
";

    #[test]
    fn notecards_with_and_without_items_are_taken() {
        assert_whole_only(&notecard(2, 5, b"Hello"), check);
        assert_eq!(check(&notecard(2, 0, b"")), Ok(()));
        assert_eq!(check(WITH_ITEM.as_bytes()), Ok(()));
        assert_eq!(
            check(WITH_ITEM.replace('\n', "\r\n").replace("length 9", "length 10").as_bytes()),
            Ok(())
        );
        assert_eq!(check(&[notecard(2, 5, b"Hello"), b"\n\0".to_vec()].concat()), Ok(()));
        assert_eq!(check(&notecard(1, 2, b"a\x80")), Ok(()), "an item in a text of version 1");
    }

    #[test]
    fn a_length_in_characters_is_taken_as_old_bots_write_it() {
        let text = "\u{e4}\u{f6}\u{fc}";
        assert_eq!(check(&notecard(2, 3, text.as_bytes())), Ok(()));
    }

    #[test]
    fn texts_lie_within_the_asset() {
        for length in [7, 1_000, u32::MAX as usize] {
            let refused = Err(Unfit::Truncated { kind: KIND, part: "text" });
            assert_eq!(check(&notecard(2, length, b"Hello")), refused, "{length}");
        }
        let refused = Err(Unfit::Missing { kind: KIND, part: "closing brace" });
        assert_eq!(check(&notecard(2, 6, b"Hello")), refused);
        let endless = WITH_ITEM.replace("length 9", "length 99999999999");
        assert_eq!(check(endless.as_bytes()), Err(Unfit::Invalid { kind: KIND, field: "Text length" }));
    }

    #[test]
    fn other_texts_are_refused() {
        let missing = Err(Unfit::Missing { kind: KIND, part: "Linden text version" });
        assert_eq!(check(b"Hello"), missing);
        let invalid = |field| Err(Unfit::Invalid { kind: KIND, field });
        assert_eq!(check(&notecard(3, 0, b"")), invalid("Linden text version"));
        assert_eq!(check(&notecard(2, 2, b"a\x80")), invalid("text"));
        let many = WITH_ITEM.replace("count 1", "count 1025");
        let refused = Unfit::TooMany { kind: KIND, items: ITEMS, count: 1_025, count_max: ITEMS_MAX };
        assert_eq!(check(many.as_bytes()), Err(refused));
    }

    proptest! {
        #[test]
        fn a_damaged_notecard_never_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = WITH_ITEM.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = check(&bytes);
        }

        #[test]
        fn any_length_and_text_never_panic(
            length in any::<usize>(), text in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let _ = check(&notecard(2, length, &text));
            let _ = check(&notecard(1, length % 24, &text));
        }
    }
}
