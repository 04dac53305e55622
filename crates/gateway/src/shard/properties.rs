//! Rows of ObjectProperties and ObjectPropertiesFamily: names, owners, permissions.

use crate::places::EncodedGround;
use grid::contents::shown_serial;
use grid::inventory::LIBRARY_OWNER;
use prim::{Body, ContentItem, Mask, Names};
use wire::header::{DATAGRAM_MAX, HEADER_LEN};
use wire::messages::{ObjectPropertiesFamilyObjectData, ObjectPropertiesObjectData};
use wire::text::{VARIABLE1_MAX, to_wire};

/// Every permission bit of the protocol: the owner's rights on a static object. The owner is the grid's operator.
const ALL_PERMISSIONS: u32 = 0x7FFF_FFFF;
/// Bytes of a row of ObjectProperties with empty texts.
const BARE_ROW: usize = 179;
/// Message number and count of rows.
const PREFIX: usize = 3;
/// Kind of the asset of a texture.
const TEXTURE: i8 = 0;

/// Properties of a static object, by its number among them. Those of content have the names that its makers gave it.
pub(super) fn of_static(ground: &EncodedGround, index: usize) -> ObjectPropertiesObjectData {
    let object_id = ground.scenery.prims()[index].prim.id;
    let names = ground.scenery.body(index).map(|body| &body.names);
    let text = |of: fn(&Names) -> &str| to_wire(names.map_or("", of), VARIABLE1_MAX);
    let name = names.map_or_else(|| ground.object_name(object_id), |names| &*names.name);
    ObjectPropertiesObjectData {
        object_id,
        creator_id: LIBRARY_OWNER,
        owner_id: LIBRARY_OWNER,
        last_owner_id: LIBRARY_OWNER,
        base_mask: ALL_PERMISSIONS,
        owner_mask: ALL_PERMISSIONS,
        name: to_wire(name, VARIABLE1_MAX),
        description: text(|names| &names.description),
        touch_name: text(|names| &names.touch),
        sit_name: text(|names| &names.sit),
        ..ObjectPropertiesObjectData::default()
    }
}

/// Properties of a prim.
pub(super) fn of_prim(body: &Body) -> ObjectPropertiesObjectData {
    let (ownership, names) = (&body.ownership, &body.names);
    let masks = &ownership.permissions;
    let items = body.contents.iter().flat_map(|contents| &contents.items).map(|item| &**item);
    let textures = items.clone().filter(|item| item.asset_type == TEXTURE);
    ObjectPropertiesObjectData {
        inventory_serial: body.contents.as_ref().map_or(0, |contents| shown_serial(contents.serial)),
        aggregate_perms: aggregate(items.map(next_owner_rights)),
        aggregate_perm_textures: aggregate(textures.clone().map(next_owner_rights)),
        aggregate_perm_textures_owner: aggregate(textures.map(ContentItem::owner_rights)),
        object_id: body.id,
        creator_id: ownership.creator.0,
        owner_id: ownership.owner.0,
        last_owner_id: ownership.last_owner.0,
        group_id: ownership.group,
        creation_date: body.created_us,
        base_mask: masks.base.bits(),
        owner_mask: masks.owner.bits(),
        group_mask: masks.group.bits(),
        everyone_mask: masks.everyone.bits(),
        next_owner_mask: masks.next_owner.bits(),
        sale_type: body.sale.kind as u8,
        sale_price: body.sale.price,
        name: to_wire(&names.name, VARIABLE1_MAX),
        description: to_wire(&names.description, VARIABLE1_MAX),
        touch_name: to_wire(&names.touch, VARIABLE1_MAX),
        sit_name: to_wire(&names.sit, VARIABLE1_MAX),
        ..ObjectPropertiesObjectData::default()
    }
}

/// Rights that the next owner of an item has.
fn next_owner_rights(item: &ContentItem) -> Mask {
    let masks = &item.ownership.permissions;
    masks.base & masks.next_owner
}

/// Shares of the items that can be copied, changed and given away: two bits each, from the lowest on, with 0 for no items, 1 for none of them, 2 for some
/// and 3 for all.
fn aggregate(masks: impl Iterator<Item = Mask>) -> u8 {
    let rights = [Mask::COPY, Mask::MODIFY, Mask::TRANSFER];
    let sum = masks.fold([0_u8; 3], |sum, mask| {
        std::array::from_fn(|n| match (sum[n], mask.has(rights[n])) {
            (0 | 3, true) => 3,
            (0 | 1, false) => 1,
            _ => 2,
        })
    });
    sum[0] | sum[1] << 2 | sum[2] << 4
}

/// The short form of a row, in answer to a request with these flags.
pub(super) fn family(
    row: ObjectPropertiesObjectData,
    request_flags: u32,
) -> ObjectPropertiesFamilyObjectData {
    ObjectPropertiesFamilyObjectData {
        request_flags,
        object_id: row.object_id,
        owner_id: row.owner_id,
        group_id: row.group_id,
        base_mask: row.base_mask,
        owner_mask: row.owner_mask,
        group_mask: row.group_mask,
        everyone_mask: row.everyone_mask,
        next_owner_mask: row.next_owner_mask,
        ownership_cost: row.ownership_cost,
        sale_type: row.sale_type,
        sale_price: row.sale_price,
        category: row.category,
        last_owner_id: row.last_owner_id,
        name: row.name,
        description: row.description,
    }
}

/// Number of the first rows that fit a datagram, at least 1 of them.
pub(super) fn rows_per_reply(rows: &[ObjectPropertiesObjectData]) -> usize {
    let mut room = DATAGRAM_MAX - HEADER_LEN - PREFIX;
    let fits = |row: &&ObjectPropertiesObjectData| {
        let texts = [&row.name, &row.description, &row.touch_name, &row.sit_name, &row.texture_id];
        let len = BARE_ROW + texts.iter().map(|text| text.len()).sum::<usize>();
        let fits = len <= room;
        room = room.saturating_sub(len);
        fits
    };
    rows.iter().take_while(fits).count().clamp(1, rows.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::messages::ObjectProperties;

    #[test]
    fn rights_to_items_are_none_some_or_all() {
        let of = |masks: &[Mask]| aggregate(masks.iter().copied());
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[Mask::ALL, Mask::ALL]), 0b11_11_11);
        assert_eq!(of(&[Mask::NONE]), 0b01_01_01);
        let mixed = [Mask::COPY | Mask::MODIFY, Mask::COPY, Mask::COPY | Mask::MODIFY];
        assert_eq!(of(&mixed), 0b01_10_11);
        assert_eq!(of(&[Mask::TRANSFER, Mask::NONE, Mask::NONE]), 0b10_01_01);
    }

    #[test]
    fn replies_fit_datagrams_whatever_the_length_of_names() {
        for len in [0, 1, 63, 127] {
            let text = to_wire(&"n".repeat(len), VARIABLE1_MAX);
            let row = ObjectPropertiesObjectData {
                name: text.clone(),
                description: text.clone(),
                touch_name: text.clone(),
                sit_name: text,
                ..ObjectPropertiesObjectData::default()
            };
            let rows = vec![row; 20];
            let n = rows_per_reply(&rows);
            let encoded = |n: usize| {
                let mut message = Vec::new();
                ObjectProperties { object_data: rows[..n].to_vec() }.encode(&mut message);
                HEADER_LEN + message.len()
            };
            assert!(n >= 1 && encoded(n) <= DATAGRAM_MAX, "{n} rows of {len} bytes");
            assert!(encoded(n + 1) > DATAGRAM_MAX, "one more row of {len} bytes would fit");
        }
    }
}
