//! Items that are embedded in a notecard, as its text has them:
//!
//! ```text
//! {
//! ext char index 0               place in the text; not read
//!     inv_item    0
//!     {
//!         item_id <uuid>
//!         parent_id   <uuid>     not read
//!     permissions 0
//!     {
//!         base_mask   <hex>      likewise owner_mask, group_mask, everyone_mask, next_owner_mask
//!         creator_id  <uuid>     likewise owner_id, last_owner_id, group_id
//!     }
//!         asset_id    <uuid>     or shadow_id: the same, obscured
//!         type    <name>
//!         inv_type    <name>
//!         flags   <hex>
//!     sale_info   0
//!     {
//!     …
//!     }
//!         name    <text>|
//!         desc    <text>|
//!         creation_date   <seconds>
//!     }
//! }
//! ```
//!
//! Any client writes these lines: masks and asset are its claims.

use super::Unfit;
use super::lines::{Lines, value_of};
use super::notecard::{self, ITEMS};
use crate::kind::AssetKind;
use ids::Uuid;

/// An embedded item as the notecard states it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbeddedItem {
    /// Id of the item that it was made from.
    pub id: Uuid,
    /// Its asset.
    pub asset: Uuid,
    /// Kind of the asset; none for one that is not stored here.
    pub kind: Option<AssetKind>,
    /// A texture that is shown as a picture of the world.
    pub is_snapshot: bool,
    /// Name as shown.
    pub name: String,
    /// Description as shown.
    pub description: String,
    /// Flags by kind.
    pub flags: u32,
    /// Its maker.
    pub creator: Uuid,
    /// The owner that has embedded it.
    pub owner: Uuid,
    /// Upper bound of all masks.
    pub base_mask: u32,
    /// The owner's permissions.
    pub owner_mask: u32,
    /// The next owner's permissions.
    pub next_owner_mask: u32,
}

/// Viewers write ids of assets in this way if they are not free to all; it hides them from nothing but the eye.
const SHADOW: u128 = 0x3C11_5E51_04F4_523C_9FA6_98AF_F103_4730;

const KIND: AssetKind = AssetKind::Notecard;

/// Reads the items that are embedded in a notecard, in order.
///
/// # Errors
/// [`Unfit`] if it is no notecard, or its items are not of the form above.
pub fn read_embedded_items(bytes: &[u8]) -> Result<Vec<EmbeddedItem>, Unfit> {
    let mut lines = Lines::new(KIND, bytes);
    let count = notecard::read_head(&mut lines)?.n_items;
    // As many as the bytes have room for.
    let mut items = Vec::new();
    for _ in 0..count {
        lines.open_block(ITEMS)?;
        lines.field("ext char index")?;
        lines.field("inv_item")?;
        lines.open_block(ITEMS)?;
        items.push(read_item(&mut lines)?);
        close_block(&mut lines)?;
    }
    Ok(items)
}

/// Reads up to the end of an item's block.
fn read_item(lines: &mut Lines<'_>) -> Result<EmbeddedItem, Unfit> {
    let mut item = EmbeddedItem::default();
    loop {
        let line = lines.populated(ITEMS)?;
        if line == "}" {
            return Ok(item);
        }
        if line == "{" {
            lines.skip_block(ITEMS)?;
            continue;
        }
        let (key, value) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let value = value.trim();
        match key {
            "permissions" => {
                lines.open_block("permissions")?;
                read_permissions(lines, &mut item)?;
            }
            "item_id" => item.id = id(lines, value, "item_id")?,
            "asset_id" => item.asset = id(lines, value, "asset_id")?,
            "shadow_id" => {
                let shadow = id(lines, value, "shadow_id")?;
                item.asset = Uuid::from_u128(shadow.as_u128() ^ SHADOW);
            }
            "type" => item.kind = AssetKind::from_type_name(value),
            "inv_type" => item.is_snapshot = value == "snapshot",
            "flags" => item.flags = hexadecimal(lines, value, "flags")?,
            "name" => item.name = text(value),
            "desc" => item.description = text(value),
            _ => {}
        }
    }
}

/// Reads up to the end of the block of permissions.
fn read_permissions(lines: &mut Lines<'_>, item: &mut EmbeddedItem) -> Result<(), Unfit> {
    loop {
        let line = lines.populated("permissions")?;
        if line == "}" {
            return Ok(());
        }
        let value_of = |key| value_of(line, key);
        if let Some(mask) = value_of("base_mask") {
            item.base_mask = hexadecimal(lines, mask, "base_mask")?;
        } else if let Some(mask) = value_of("owner_mask") {
            item.owner_mask = hexadecimal(lines, mask, "owner_mask")?;
        } else if let Some(mask) = value_of("next_owner_mask") {
            item.next_owner_mask = hexadecimal(lines, mask, "next_owner_mask")?;
        } else if let Some(creator) = value_of("creator_id") {
            item.creator = id(lines, creator, "creator_id")?;
        } else if let Some(owner) = value_of("owner_id") {
            item.owner = id(lines, owner, "owner_id")?;
        }
    }
}

/// Reads `}`, alone in the next line that is not blank.
fn close_block(lines: &mut Lines<'_>) -> Result<(), Unfit> {
    if lines.populated(ITEMS)? == "}" { Ok(()) } else { Err(lines.invalid(ITEMS)) }
}

fn id(lines: &Lines<'_>, value: &str, field: &'static str) -> Result<Uuid, Unfit> {
    Uuid::try_parse(value).map_err(|_| lines.invalid(field))
}

fn hexadecimal(lines: &Lines<'_>, value: &str, field: &'static str) -> Result<u32, Unfit> {
    u32::from_str_radix(value, 16).map_err(|_| lines.invalid(field))
}

/// A text in front of its bar.
fn text(value: &str) -> String {
    value.rsplit_once('|').map_or(value, |(text, _)| text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: &str = "Linden text version 2
{
LLEmbeddedItems version 1
{
count 2
{
ext char index 0
\tinv_item\t0
\t{
\t\titem_id\t00000000-0000-0000-0000-000000000001
\t\tparent_id\t00000000-0000-0000-0000-000000000000
\tpermissions 0
\t{
\t\tbase_mask\t7fffffff
\t\towner_mask\t0008e000
\t\tgroup_mask\t00000000
\t\teveryone_mask\t00000000
\t\tnext_owner_mask\t0000a000
\t\tcreator_id\t00000000-0000-0000-0000-00000000000a
\t\towner_id\t00000000-0000-0000-0000-00000000000b
\t\tlast_owner_id\t00000000-0000-0000-0000-00000000000c
\t\tgroup_id\t00000000-0000-0000-0000-000000000000
\t}
\t\tasset_id\t00000000-0000-0000-0000-000000000002
\t\ttype\tlandmark
\t\tinv_type\tlandmark
\t\tflags\t000000ff
\tsale_info\t0
\t{
\t\tsale_type\tnot
\t\tsale_price\t10
\t}
\t\tname\tA | place } |
\t\tdesc\t|
\t\tcreation_date\t1700000000
\t}
}
{
ext char index 1
\tinv_item\t0
\t{
\t\titem_id\t00000000-0000-0000-0000-000000000003
\tpermissions 0
\t{
\t}
\t\tshadow_id\t3c115e51-04f4-523c-9fa6-98aff1034731
\t\ttype\ttexture
\t\tinv_type\tsnapshot
\t\tunknown\t1
\t}
}
}
Text length 9
See \u{100000}.
}
";

    #[test]
    fn items_are_read_as_the_notecard_states_them() {
        let [place, picture] = &read_embedded_items(SAMPLE.as_bytes()).unwrap()[..] else {
            panic!("two items")
        };
        let expected = EmbeddedItem {
            id: Uuid::from_u128(1),
            asset: Uuid::from_u128(2),
            kind: Some(AssetKind::Landmark),
            is_snapshot: false,
            name: "A | place } ".into(),
            description: String::new(),
            flags: 0xFF,
            creator: Uuid::from_u128(0xA),
            owner: Uuid::from_u128(0xB),
            base_mask: 0x7FFF_FFFF,
            owner_mask: 0x8_E000,
            next_owner_mask: 0xA000,
        };
        assert_eq!(place, &expected);
        let expected = EmbeddedItem {
            id: Uuid::from_u128(3),
            asset: Uuid::from_u128(1),
            kind: Some(AssetKind::Texture),
            is_snapshot: true,
            ..EmbeddedItem::default()
        };
        assert_eq!(picture, &expected);
    }

    #[test]
    fn a_notecard_without_items_has_none_and_other_texts_are_refused() {
        let empty = "Linden text version 2\n{\nLLEmbeddedItems version 1\n{\ncount 0\n}\nText length 0\n}";
        assert_eq!(read_embedded_items(empty.as_bytes()), Ok(Vec::new()));
        let invalid = |field| Err(Unfit::Invalid { kind: KIND, field });
        for (found, replaced, field) in [
            ("0008e000", "x", "owner_mask"),
            ("\tflags\t000000ff", "\tflags\t1000000ff", "flags"),
            ("-000000000002", "-00000000000x", "asset_id"),
        ] {
            let bad = SAMPLE.replacen(found, replaced, 1);
            assert_eq!(read_embedded_items(bad.as_bytes()), invalid(field), "{replaced}");
        }
        let more = SAMPLE.replace("count 2", "count 3");
        assert!(read_embedded_items(more.as_bytes()).is_err());
        let many = SAMPLE.replace("count 2", "count 4294967295");
        assert!(matches!(read_embedded_items(many.as_bytes()), Err(Unfit::TooMany { .. })));
    }

    proptest! {
        #[test]
        fn a_damaged_notecard_never_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = SAMPLE.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = read_embedded_items(&bytes);
        }

        #[test]
        fn any_lines_never_panic(text in "[{}a-z0-9\\-|\t \n]{0,200}") {
            let head = "Linden text version 2\n{\nLLEmbeddedItems version 1\n{\ncount 2\n{\n";
            let _ = read_embedded_items(format!("{head}{text}").as_bytes());
            let item = format!("{head}ext char index 0\ninv_item 0\n{{\n{text}");
            let _ = read_embedded_items(item.as_bytes());
        }
    }
}
