//! Contents of an object as clients read them: a file of lines, LLSD, and the content of items ([`may_read`]).
//!
//! The file has the text form in which viewers import inventories: keys and values between tabs, in braces, an `inv_object` for the contents as a whole and an
//! `inv_item` for each item. A bar ends a text of more than one word.
//!
//! Ids of assets are shown as OpenSimulator does: null for a reader that may not change the object, and for an item whose content its owner may not read.

use ids::{AgentId, Uuid};
use prim::{ContentItem, Contents, Mask, Ownership, Permissions, SaleKind};
use std::fmt::Write as _;
use wire::llsd::Llsd;

/// Kinds of assets whose content shows how they are made, beside notecards: scripts, settings, materials.
const RECIPES: [i8; 3] = [10, 56, 57];
/// Kind of the asset of an object, which no client reads: it is rezzed.
const ASSET_OBJECT: i8 = 6;
/// Kind of the asset of a notecard.
const NOTECARD: i8 = 7;
/// Name of a kind that has none.
const UNNAMED: &str = "-1";

/// Contents of an object for a reader.
#[derive(Clone, Copy, Debug)]
pub struct ShownContents<'a> {
    /// Id of the object.
    pub object: Uuid,
    /// Its items.
    pub contents: &'a Contents,
    /// True if the reader may change the object.
    pub may_modify: bool,
}

impl ShownContents<'_> {
    /// The file: at most 1 KiB for each item, and some more.
    #[must_use]
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = "\tinv_object\t0\n\t{\n".to_owned();
        push(&mut text, "obj_id", self.object);
        push(&mut text, "parent_id", Uuid::nil());
        push(&mut text, "type", "category");
        push(&mut text, "name", "Contents|");
        text.push_str("\t}\n");
        for item in &self.contents.items {
            self.push_item(&mut text, item);
        }
        text.into_bytes()
    }

    fn push_item(&self, text: &mut String, item: &ContentItem) {
        let Ownership { creator, owner, last_owner, group, permissions } = item.ownership;
        let Permissions { base, owner: of_owner, group: of_group, everyone, next_owner } = permissions;
        text.push_str("\tinv_item\t0\n\t{\n");
        push(text, "item_id", item.id);
        push(text, "parent_id", self.object);
        text.push_str("\tpermissions 0\n\t{\n");
        let masks = [
            ("base_mask", base),
            ("owner_mask", of_owner),
            ("group_mask", of_group),
            ("everyone_mask", everyone),
            ("next_owner_mask", next_owner),
        ];
        for (key, mask) in masks {
            push(text, key, format_args!("{:08x}", mask.bits()));
        }
        push(text, "creator_id", creator.0);
        push(text, "owner_id", owner.0);
        push(text, "last_owner_id", last_owner.0);
        push(text, "group_id", group);
        push(text, "group_owned", 0);
        text.push_str("\t}\n");
        push(text, "asset_id", self.asset_of(item));
        push(text, "type", asset_kind(item.asset_type));
        push(text, "inv_type", shown_kind(item.inventory_type));
        push(text, "flags", format_args!("{:08x}", item.flags));
        text.push_str("\tsale_info\t0\n\t{\n");
        push(text, "sale_type", sale_kind(item.sale.kind));
        push(text, "sale_price", item.sale.price);
        text.push_str("\t}\n");
        push(text, "name", format_args!("{}|", line(&item.name)));
        push(text, "desc", format_args!("{}|", line(&item.description)));
        push(text, "creation_date", item.created_s);
        text.push_str("\t}\n");
    }

    /// The same as LLSD.
    #[must_use]
    pub fn to_llsd(&self) -> Llsd {
        let items = self.contents.items.iter().map(|item| self.item_llsd(item));
        Llsd::map([
            ("inventory_serial", Llsd::from(i32::from(shown_serial(self.contents.serial)))),
            ("contents", Llsd::Array(items.collect())),
        ])
    }

    fn item_llsd(&self, item: &ContentItem) -> Llsd {
        let Ownership { creator, owner, last_owner, group, permissions } = item.ownership;
        let mask = |mask: Mask| Llsd::from(mask.bits().cast_signed());
        let permissions = Llsd::map([
            ("base_mask", mask(permissions.base)),
            ("owner_mask", mask(permissions.owner)),
            ("group_mask", mask(permissions.group)),
            ("everyone_mask", mask(permissions.everyone)),
            ("next_owner_mask", mask(permissions.next_owner)),
            ("creator_id", creator.0.into()),
            ("owner_id", owner.0.into()),
            ("last_owner_id", last_owner.0.into()),
            ("group_id", group.into()),
            ("is_owner_group", false.into()),
        ]);
        let sale = Llsd::map([
            ("sale_type", Llsd::from(sale_kind(item.sale.kind))),
            ("sale_price", item.sale.price.into()),
        ]);
        // Clients read seconds as 32 bits.
        let created_s = i32::try_from(item.created_s).unwrap_or_default();
        Llsd::map([
            ("item_id", Llsd::from(item.id)),
            ("parent_id", self.object.into()),
            ("asset_id", self.asset_of(item).into()),
            ("name", line(&item.name).into()),
            ("desc", line(&item.description).into()),
            ("type", asset_kind(item.asset_type).into()),
            ("inv_type", shown_kind(item.inventory_type).into()),
            ("flags", item.flags.cast_signed().into()),
            ("created_at", created_s.into()),
            ("agent_id", owner.0.into()),
            ("permissions", permissions),
            ("sale_info", sale),
        ])
    }

    /// The id of an item's asset, if the reader may know it.
    fn asset_of(&self, item: &ContentItem) -> Uuid {
        if self.may_modify && is_open_to_owner(item) { item.asset } else { Uuid::nil() }
    }
}

/// A user who reads the content of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemReader {
    /// The user.
    pub agent: AgentId,
    /// True if the user may change the object.
    pub may_modify: bool,
}

/// True if a user may read the content of an item in an object, as viewers open it there.
///
/// | item | reader |
/// |---|---|
/// | script, settings, material that its owner may change and copy | may change the object |
/// | notecard that its owner may change or copy | may change the object, or owns it |
/// | texture, sound, … | likewise |
/// | any of the latter two that everyone may copy | all users |
/// | object | none |
#[must_use]
pub fn may_read(item: &ContentItem, reader: ItemReader) -> bool {
    if item.asset_type == ASSET_OBJECT {
        return false;
    }
    let is_recipe = RECIPES.contains(&item.asset_type);
    let Ownership { owner, permissions, .. } = item.ownership;
    let is_free = !is_recipe && (permissions.everyone & permissions.base).has(Mask::COPY);
    let has_access = reader.may_modify || !is_recipe && owner == reader.agent;
    is_free || has_access && is_open_to_owner(item)
}

/// True if the owner's rights to an item let its content be read.
fn is_open_to_owner(item: &ContentItem) -> bool {
    let rights = item.owner_rights();
    match item.asset_type {
        NOTECARD => rights.has(Mask::MODIFY) || rights.has(Mask::COPY),
        kind if RECIPES.contains(&kind) => rights.has(Mask::MODIFY | Mask::COPY),
        _ => true,
    }
}

/// A call of RequestTaskInventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentsCall {
    /// The object.
    pub object: Uuid,
    /// Serial number of the contents that the client has.
    pub known_serial: Option<i16>,
}

impl ContentsCall {
    /// Reads `task_id=…&inventory_serial=…`; `None` without the id of an object.
    #[must_use]
    pub fn read(query: &str) -> Option<Self> {
        let (mut object, mut known_serial) = (None, None);
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "task_id" => object = Uuid::try_parse(&value).ok(),
                "inventory_serial" => known_serial = value.parse().ok(),
                _ => {}
            }
        }
        Some(Self { object: object?, known_serial })
    }
}

/// The serial number of contents in messages: its low bits, not negative.
#[must_use]
pub const fn shown_serial(serial: u32) -> i16 {
    (serial & 0x7FFF) as i16
}

fn push(text: &mut String, key: &str, value: impl std::fmt::Display) {
    writeln!(text, "\t\t{key}\t{value}").expect("a text takes everything");
}

/// A text that ends where it should.
fn line(text: &str) -> String {
    text.chars().map(|c| if c == '|' || c.is_control() { ' ' } else { c }).collect()
}

const fn sale_kind(kind: SaleKind) -> &'static str {
    match kind {
        SaleKind::No => "not",
        SaleKind::Original => "orig",
        SaleKind::Copy => "copy",
        SaleKind::Contents => "cntn",
    }
}

/// Name of a kind of assets.
const fn asset_kind(kind: i8) -> &'static str {
    match kind {
        0 => "texture",
        1 => "sound",
        2 => "callcard",
        3 => "landmark",
        4 => "script",
        5 => "clothing",
        6 => "object",
        7 => "notecard",
        8 => "category",
        10 => "lsltext",
        11 => "lslbyte",
        12 => "txtr_tga",
        13 => "bodypart",
        17 => "snd_wav",
        18 => "img_tga",
        19 => "jpeg",
        20 => "animatn",
        21 => "gesture",
        22 => "simstate",
        24 => "link",
        25 => "link_f",
        49 => "mesh",
        56 => "settings",
        57 => "material",
        _ => UNNAMED,
    }
}

/// Name of a kind for display.
const fn shown_kind(kind: i8) -> &'static str {
    match kind {
        0 => "texture",
        1 => "sound",
        2 => "callcard",
        3 => "landmark",
        6 => "object",
        7 => "notecard",
        8 => "category",
        9 => "root",
        10 => "script",
        15 => "snapshot",
        17 => "attach",
        18 => "wearable",
        19 => "animation",
        20 => "gesture",
        22 => "mesh",
        25 => "settings",
        26 => "material",
        _ => UNNAMED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prim::{Carried, Sale};
    use proptest::prelude::*;
    use std::sync::Arc;

    const OBJECT: Uuid = Uuid::from_u128(0xB0);

    fn item(kind: i8, name: &str) -> ContentItem {
        let user = |n| AgentId(Uuid::from_u128(n));
        let next_owner = Mask::MOVE | Mask::TRANSFER;
        ContentItem {
            id: Uuid::from_u128(1),
            asset: Uuid::from_u128(2),
            asset_type: kind,
            inventory_type: kind,
            name: name.into(),
            description: "of a test".into(),
            flags: 0x10_0000,
            ownership: Ownership {
                creator: user(3),
                owner: user(4),
                last_owner: user(5),
                group: Uuid::from_u128(6),
                permissions: Permissions { next_owner, ..Permissions::NEW },
            },
            sale: Sale { kind: SaleKind::Copy, price: 9 },
            created_s: 1_700_000_000,
            carried: Carried::default(),
        }
    }

    fn contents(items: Vec<ContentItem>) -> Contents {
        Contents { serial: 0x1_8001, items: items.into_iter().map(Arc::new).collect() }
    }

    #[test]
    fn the_file_has_the_lines_that_viewers_import() {
        let contents = contents(vec![item(10, "New|Script\n")]);
        let shown = ShownContents { object: OBJECT, contents: &contents, may_modify: true };
        let expected = "\tinv_object\t0
\t{
\t\tobj_id\t00000000-0000-0000-0000-0000000000b0
\t\tparent_id\t00000000-0000-0000-0000-000000000000
\t\ttype\tcategory
\t\tname\tContents|
\t}
\tinv_item\t0
\t{
\t\titem_id\t00000000-0000-0000-0000-000000000001
\t\tparent_id\t00000000-0000-0000-0000-0000000000b0
\tpermissions 0
\t{
\t\tbase_mask\t0009e000
\t\towner_mask\t0009e000
\t\tgroup_mask\t00000000
\t\teveryone_mask\t00000000
\t\tnext_owner_mask\t00082000
\t\tcreator_id\t00000000-0000-0000-0000-000000000003
\t\towner_id\t00000000-0000-0000-0000-000000000004
\t\tlast_owner_id\t00000000-0000-0000-0000-000000000005
\t\tgroup_id\t00000000-0000-0000-0000-000000000006
\t\tgroup_owned\t0
\t}
\t\tasset_id\t00000000-0000-0000-0000-000000000002
\t\ttype\tlsltext
\t\tinv_type\tscript
\t\tflags\t00100000
\tsale_info\t0
\t{
\t\tsale_type\tcopy
\t\tsale_price\t9
\t}
\t\tname\tNew Script |
\t\tdesc\tof a test|
\t\tcreation_date\t1700000000
\t}
";
        // Mask::ALL has the right to export, too.
        let expected = expected.replace("0009e000", &format!("{:08x}", Mask::ALL.bits()));
        assert_eq!(String::from_utf8(shown.to_text()), Ok(expected));
        let empty = self::contents(Vec::new());
        let text = ShownContents { contents: &empty, ..shown }.to_text();
        assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), 7);
    }

    #[test]
    fn the_llsd_has_the_same_items() {
        let contents = contents(vec![item(7, "Note"), item(99, "Unknown")]);
        let llsd = ShownContents { object: OBJECT, contents: &contents, may_modify: true }.to_llsd();
        assert_eq!(llsd.get("inventory_serial").as_i32(), Some(1));
        let rows = llsd.get("contents").as_array();
        assert_eq!(rows.len(), 2);
        let texts = ["name", "desc", "type", "inv_type"].map(|key| rows[0].get(key).as_str());
        assert_eq!(texts, ["Note", "of a test", "notecard", "notecard"].map(Some));
        assert_eq!(rows[1].get("type").as_str(), Some("-1"));
        assert_eq!(rows[0].get("item_id").as_uuid(), Some(Uuid::from_u128(1)));
        assert_eq!(rows[0].get("created_at").as_i32(), Some(1_700_000_000));
        let masks = rows[0].get("permissions");
        assert_eq!(masks.get("owner_mask").as_i32(), Some(Mask::ALL.bits().cast_signed()));
        assert_eq!(masks.get("creator_id").as_uuid(), Some(Uuid::from_u128(3)));
        assert_eq!(rows[0].get("sale_info").get("sale_type").as_str(), Some("copy"));
    }

    #[test]
    fn assets_are_shown_to_readers_with_the_right_to_change_the_object() {
        let shown = |kind: i8, base: Mask, may_modify: bool| {
            let mut item = item(kind, "a");
            item.ownership.permissions.base = base;
            let contents = contents(Vec::new());
            let asset = ShownContents { object: OBJECT, contents: &contents, may_modify }.asset_of(&item);
            !asset.is_nil()
        };
        let (texture, script) = (0, 10);
        let both = Mask::MODIFY | Mask::COPY;
        for kind in [texture, NOTECARD, script, 56, 57] {
            assert!(shown(kind, both, true) && !shown(kind, Mask::ALL, false), "{kind}");
        }
        assert!(shown(texture, Mask::NONE, true) && shown(NOTECARD, Mask::COPY, true));
        assert!(!shown(NOTECARD, Mask::TRANSFER, true) && !shown(script, Mask::COPY, true));
    }

    /// Base and everyone mask of an item, and for each reader an `x` if it may read a notecard, a texture, a script, an object.
    ///
    /// Readers: the owner with the right to change the object, the owner without it, a friend with that right, a stranger.
    #[rustfmt::skip]
    const READERS: &[(Mask, Mask, [&str; 4])] = &[
        (Mask::ALL, Mask::NONE, ["xxx.", "xx..", "xxx.", "...."]),
        (Mask::ALL, Mask::COPY, ["xxx.", "xx..", "xxx.", "xx.."]),
        (Mask::ALL, Mask::MODIFY, ["xxx.", "xx..", "xxx.", "...."]),
        (Mask::COPY, Mask::NONE, ["xx..", "xx..", "xx..", "...."]),
        (Mask::MODIFY, Mask::NONE, ["xx..", "xx..", "xx..", "...."]),
        // A grant beyond the base has no effect.
        (Mask::MODIFY, Mask::COPY, ["xx..", "xx..", "xx..", "...."]),
        (Mask::TRANSFER, Mask::NONE, [".x..", ".x..", ".x..", "...."]),
    ];

    #[test]
    fn the_table_of_readers_holds() {
        let [owner, other] = [4, 7].map(|n| AgentId(Uuid::from_u128(n)));
        for (base, everyone, rows) in READERS {
            let readers = [(owner, true), (owner, false), (other, true), (other, false)];
            for ((agent, may_modify), expected) in readers.into_iter().zip(rows) {
                let may = |kind| {
                    let mut item = item(kind, "a");
                    (item.ownership.permissions.base, item.ownership.permissions.everyone) =
                        (*base, *everyone);
                    if may_read(&item, ItemReader { agent, may_modify }) { 'x' } else { '.' }
                };
                let row: String = [NOTECARD, 0, 10, ASSET_OBJECT].map(may).iter().collect();
                assert_eq!(row, *expected, "{base:?}, {everyone:?}, {agent:?}, {may_modify}");
            }
        }
    }

    #[test]
    fn a_call_names_an_object_and_what_the_client_knows() {
        let object = Uuid::from_u128(0xB0);
        let call = |query: String| ContentsCall::read(&query);
        assert_eq!(call(format!("task_id={object}")), Some(ContentsCall { object, known_serial: None }));
        let known = call(format!("inventory_serial=7&task_id={object}"));
        assert_eq!(known, Some(ContentsCall { object, known_serial: Some(7) }));
        let odd = call(format!("task_id={object}&inventory_serial=99999&x"));
        assert_eq!(odd, Some(ContentsCall { object, known_serial: None }));
        assert_eq!(["", "task_id=", "task_id=7"].map(ContentsCall::read), [None; 3]);
    }

    #[test]
    fn serial_numbers_are_not_negative() {
        assert_eq!([0, 1, 0x7FFF, 0x8000, u32::MAX].map(shown_serial), [0, 1, 0x7FFF, 0, 0x7FFF]);
    }

    proptest! {
        /// No name adds a line.
        #[test]
        fn every_item_has_as_many_lines_as_any_other(name in any::<String>(), kind in any::<i8>()) {
            let contents = contents(vec![item(kind, &name)]);
            let text = ShownContents { object: OBJECT, contents: &contents, may_modify: true }.to_text();
            let text = String::from_utf8(text).expect("made of texts");
            prop_assert_eq!(text.lines().count(), 7 + 30);
            prop_assert_eq!(text.matches('|').count(), 3);
        }
    }
}
