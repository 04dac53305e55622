//! Contents of a prim: the list `TaskInventory` and its items.

use super::error::{Flaw, Mode, ObjectError, ObjectLossReason, ReadContext};
use super::fields::Fields;
use super::kept::{KeptData, KeptScope, KeptScopeKind};
use super::scope::{FoundElements, UsualElements, kept_attributes, write_list};
use super::table::{ITEM, SALE_KIND, SALE_PRICE};
use super::values;
use crate::xml::{XmlElement, XmlWriter};
use ids::{AgentId, Uuid};
use prim::body::{DESCRIPTION_MAX, NAME_MAX};
use prim::{
    CARRIED_MAX, CONTENT_ITEMS_MAX, CONTENTS_CARRIED_MAX, Carried, ContentItem, Contents, Mask, Ownership,
    Permissions, Sale, SaleKind,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Home and name of a creator without such data in an archive, for `CreatorData`; none to leave it out.
pub(super) type Creators<'a> = Option<&'a dyn Fn(AgentId) -> Option<String>>;

/// The element `CreatorData` of a creator.
pub(super) fn creator_data(creators: Creators<'_>, creator: AgentId) -> Option<String> {
    let text = creators?(creator)?;
    let mut writer = XmlWriter::new();
    writer.leaf("CreatorData", &text);
    Some(writer.into_text())
}

/// Writes the list of items.
pub(super) fn write_contents(
    contents: Option<&Contents>,
    part: Uuid,
    kept: Option<&KeptScope>,
    creators: Creators<'_>,
    out: &mut XmlWriter,
) {
    let items = contents.map_or(&[][..], |contents| contents.items.as_slice());
    write_list("TaskInventory", kept, items, out, |_, item, out| write_item(item, part, creators, out));
}

fn write_item(item: &ContentItem, part: Uuid, creators: Creators<'_>, out: &mut XmlWriter) {
    let kept = KeptData::of(item.carried.as_bytes());
    let scope = kept.scope(KeptScopeKind::Item);
    let attributes = scope.and_then(|scope| scope.attributes.as_deref()).unwrap_or_default();
    let creator_data = creator_data(creators, item.ownership.creator);
    let filled = creator_data.as_deref().map(|markup| ("CreatorData", markup));
    let usual = usual_item(item, part);
    out.element("TaskInventoryItem", attributes, |out| usual.merge(scope, None, filled, out));
}

/// The elements of an item.
fn usual_item(item: &ContentItem, part: Uuid) -> UsualElements {
    let ownership = &item.ownership;
    let masks = &ownership.permissions;
    let mut usual = UsualElements::new(&ITEM);
    usual.id("AssetID", item.asset);
    usual.value("BasePermissions", masks.base.bits());
    usual.value("CreationDate", item.created_s);
    usual.id("CreatorID", ownership.creator.0);
    usual.leaf("Description", &item.description);
    usual.value("EveryonePermissions", masks.everyone.bits());
    usual.value("Flags", item.flags);
    usual.id("GroupID", ownership.group);
    usual.value("GroupPermissions", masks.group.bits());
    usual.value("InvType", item.inventory_type);
    usual.id("ItemID", item.id);
    usual.id("OldItemID", Uuid::nil());
    usual.id("LastOwnerID", ownership.last_owner.0);
    usual.leaf("Name", &item.name);
    usual.value("NextPermissions", masks.next_owner.bits());
    usual.id("OwnerID", ownership.owner.0);
    usual.value("CurrentPermissions", masks.owner.bits());
    usual.id("ParentID", part);
    usual.id("ParentPartID", part);
    usual.id("PermsGranter", Uuid::nil());
    usual.value("PermsMask", 0);
    usual.value("Type", item.asset_type);
    usual.value("OwnerChanged", false);
    if item.sale.kind != SaleKind::No {
        usual.value(SALE_KIND, item.sale.kind as u8);
    }
    if item.sale.price != 0 {
        usual.value(SALE_PRICE, item.sale.price);
    }
    usual
}

/// An item and the data kept with it, which is complete once the state of its script is known.
pub(super) type ReadItem = (ContentItem, KeptData);

/// Items with the data kept with them. If that is more than all items of a prim may have together, each item gets an equal share of the room. `lose` gets
/// the number of an item, from 1, and the name and bytes of a piece that is left out.
pub(super) fn finish_items(
    items: Vec<ReadItem>,
    mut lose: impl FnMut(usize, &str, usize),
) -> Vec<Arc<ContentItem>> {
    let may_exceed = items.len() > CONTENTS_CARRIED_MAX / CARRIED_MAX;
    let total = || items.iter().map(|(_, kept)| kept.encode().len()).sum::<usize>();
    let exceeds = may_exceed && total() > CONTENTS_CARRIED_MAX;
    let max = if exceeds { CONTENTS_CARRIED_MAX / items.len() } else { CARRIED_MAX };
    let finish = |(n, (item, kept)): (usize, ReadItem)| {
        let carried = kept.into_carried(max, |_, name, bytes| lose(n + 1, name, bytes));
        Arc::new(ContentItem { carried, ..item })
    };
    items.into_iter().enumerate().map(finish).collect()
}

/// Reads the list of items. Those beyond [`CONTENT_ITEMS_MAX`] are kept as markup.
pub(super) fn read_contents(
    list: &XmlElement<'_>,
    part: Uuid,
    context: &mut ReadContext,
) -> Result<(Vec<ReadItem>, KeptScope), ObjectError> {
    let mut items: Vec<ReadItem> = Vec::new();
    let mut scope = KeptScope { attributes: kept_attributes(list.attributes(), ""), ..KeptScope::default() };
    if list.has_text() {
        context.loss("", list.inner().len(), ObjectLossReason::NoPlace);
    }
    let mut taken = TakenNames::default();
    for child in list.children() {
        let is_item = child.name() == "TaskInventoryItem";
        if is_item && items.len() < CONTENT_ITEMS_MAX && context.count_item() {
            let item = context.within("TaskInventoryItem", Some(items.len() + 1), |context| {
                read_item(&child, part, &mut taken, context)
            })?;
            items.push(item);
            continue;
        }
        if is_item {
            context.problem("TaskInventoryItem", Flaw::Items);
        }
        scope.unknown.push((items.len() as u16, child.outer().into()));
    }
    Ok((items, scope))
}

/// Names and ids of the items that were read.
#[derive(Debug, Default)]
struct TakenNames {
    ids: HashSet<Uuid>,
    names: HashSet<Arc<str>>,
    /// The number that was put behind a name last.
    numbers: HashMap<Arc<str>, u32>,
}

impl TakenNames {
    /// The name itself, or with a number behind it if an item has that name.
    fn name(&mut self, wanted: Arc<str>, context: &mut ReadContext) -> Arc<str> {
        if self.names.insert(Arc::clone(&wanted)) {
            return wanted;
        }
        let number = self.numbers.entry(Arc::clone(&wanted)).or_default();
        loop {
            *number += 1;
            let end = format!(" {number}");
            let start = &wanted[..wanted.floor_char_boundary(NAME_MAX - end.len())];
            let name: Arc<str> = format!("{start}{end}").into();
            if self.names.insert(Arc::clone(&name)) {
                context.problem("Name", Flaw::SameName(name.to_string()));
                return name;
            }
        }
    }

    /// The id itself, or another one if it is none or that of another item.
    fn id(&mut self, id: Uuid, part: Uuid, context: &mut ReadContext) -> Uuid {
        if !id.is_nil() && self.ids.insert(id) {
            return id;
        }
        context.problem("ItemID", if id.is_nil() { Flaw::Id } else { Flaw::SameId(id) });
        let mut derived = (self.ids.len() as u64..).map(|n| {
            let hash = blake3::hash(&[&part.as_bytes()[..], &n.to_le_bytes()].concat());
            random_id(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
        });
        let free = derived.find(|id| !self.ids.contains(id)).expect("more ids than items");
        self.ids.insert(free);
        free
    }
}

/// An id of the random kind with these bits.
fn random_id(mut bytes: [u8; 16]) -> Uuid {
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Uuid::from_bytes(bytes)
}

fn read_item(
    element: &XmlElement<'_>,
    part: Uuid,
    taken: &mut TakenNames,
    context: &mut ReadContext,
) -> Result<ReadItem, ObjectError> {
    let found = FoundElements::of(element, &ITEM, context);
    let fields = Fields { found: &found, mode: Mode::Lenient };
    let mut read_id = |name: &str| fields.read(context, name, Uuid::nil(), values::id);
    let (asset, id) = (read_id("AssetID")?, read_id("ItemID")?);
    let (creator, group) = (AgentId(read_id("CreatorID")?), read_id("GroupID")?);
    let (owner, last_owner) = (AgentId(read_id("OwnerID")?), AgentId(read_id("LastOwnerID")?));
    let mut read_mask = |name: &str, absent: Mask| {
        let mask = fields.read(context, name, absent.bits(), values::bits)?;
        Ok::<Mask, ObjectError>(Mask::of_bits(mask))
    };
    let permissions = Permissions {
        base: read_mask("BasePermissions", Mask::ALL)?,
        owner: read_mask("CurrentPermissions", Mask::ALL)?,
        group: read_mask("GroupPermissions", Mask::NONE)?,
        everyone: read_mask("EveryonePermissions", Mask::NONE)?,
        next_owner: read_mask("NextPermissions", Mask::ALL)?,
    };
    let name = fields.text(context, "Name", NAME_MAX)?;
    let sale = Sale {
        kind: fields.code(context, SALE_KIND, SaleKind::of_code)?,
        price: fields.read(context, SALE_PRICE, 0, values::whole::<i32>)?.max(0),
    };
    let item = ContentItem {
        id: taken.id(id, part, context),
        asset,
        asset_type: fields.read(context, "Type", 0, values::whole)?,
        inventory_type: fields.read(context, "InvType", 0, values::whole)?,
        name: taken.name(name, context),
        description: fields.text(context, "Description", DESCRIPTION_MAX)?,
        flags: fields.read(context, "Flags", 0, values::bits)?,
        ownership: Ownership { creator, owner, last_owner, group, permissions },
        sale,
        created_s: fields.read(context, "CreationDate", 0, values::int)?,
        carried: Carried::default(),
    };
    let mut kept = KeptData::default();
    kept.insert(KeptScopeKind::Item, found.differences(&usual_item(&item, part), ""));
    Ok((item, kept))
}
