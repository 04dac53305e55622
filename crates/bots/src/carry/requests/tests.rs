//! Every request against the codec of messages, and files cut into parts.

use super::super::item_row::{COPY, ItemMasks, MOVE, OBJECT, TRANSFER};
use super::*;
use wire::text::from_wire;

const IDS: RequestIds = RequestIds { agent: Uuid::from_u128(1), session: Uuid::from_u128(2) };

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn row() -> ItemRow {
    ItemRow {
        id: id(10),
        folder: id(11),
        asset: id(12),
        asset_type: OBJECT,
        inventory_type: OBJECT,
        name: "carry-0-1 r2".into(),
        description: "a box".into(),
        flags: 1 << 20,
        creator: id(13),
        masks: ItemMasks {
            base: u32::MAX,
            owner: MOVE | TRANSFER,
            next_owner: TRANSFER,
            ..ItemMasks::default()
        },
        created_s: 1_700_000_000,
    }
}

/// A message behind its way over the wire.
fn sent(message: &Message) -> Message {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    Message::decode(&bytes).expect("its own encoding")
}

#[test]
fn every_request_comes_back_from_the_wire_as_it_was() {
    let (row, place) = (row(), Vec3::new(100.0, 110.0, 31.5));
    let local = LocalId(77);
    let requests = [
        IDS.create_item(id(3), "carry-0-1", 7, id(4), 5, TRANSFER),
        IDS.create_folder(id(3), id(4), "carry-0-2"),
        IDS.copy_item(id(3), id(4), "carry-0-3", 6),
        IDS.update_item(&row, 7),
        IDS.move_item(id(3), id(4)),
        IDS.purge(id(3)),
        IDS.gift(GIFT_OFFERED, id(3), id(4), "carry-0-1", gift_bucket(OBJECT, id(5))),
        IDS.build(place, Vec3::splat(0.5)),
        IDS.name_object(local, "carry-0-4"),
        IDS.set_next_owner(local, COPY, false),
        IDS.select(&[local, LocalId(78)]),
        IDS.derez(local, TO_INVENTORY, id(3), id(4)),
        IDS.rez(&row, place, id(4)),
        IDS.wear(&row),
        IDS.detach(local),
        IDS.put(local, &row),
        IDS.take_out(local, id(3), id(4)),
        IDS.remove_from(local, id(3)),
        begin_upload(id(3), 7, b"text"),
        file_part(9, 0, b"text").expect("there is one"),
    ];
    for request in requests {
        assert_eq!(sent(&request), request);
    }
}

#[test]
fn a_rezzed_item_is_stated_as_the_inventory_has_it() {
    let row = row();
    let Message::RezObject(message) = IDS.rez(&row, Vec3::ONE, id(4)) else { panic!("another message") };
    assert_eq!((message.rez_data.ray_end, message.rez_data.bypass_raycast), (Vec3::ONE, 1));
    assert!(message.rez_data.remove_item, "its owner must not copy it");
    let inventory = &message.inventory_data;
    assert_eq!((inventory.item_id, inventory.transaction_id), (row.id, id(4)));
    assert_eq!((from_wire(&inventory.name), inventory.owner_id), (row.name.clone(), IDS.agent));
    let Message::RezSingleAttachmentFromInv(worn) = IDS.wear(&row) else { panic!("another message") };
    assert_eq!(worn.object_data.attachment_pt, 0x80);
}

#[test]
fn the_item_of_an_offer_is_in_its_bucket() {
    assert_eq!(item_of_bucket(&gift_bucket(OBJECT, id(5))), Some(id(5)));
    assert_eq!(item_of_bucket(&[6; 16]), None);
    assert_eq!(item_of_bucket(&[]), None);
}

#[test]
fn a_file_comes_in_parts_behind_its_length() {
    let bytes: Vec<u8> = (0..2_500_u32).map(|n| n as u8).collect();
    let (mut whole, mut number) = (Vec::new(), 0);
    while let Some(message) = file_part(9, number, &bytes) {
        let Message::SendXferPacket(part) = message else { panic!("another message") };
        let is_last = part.xfer_id.packet & LAST_PART != 0;
        assert_eq!((confirmed_part(part.xfer_id.packet), is_last), (number, number == 2));
        whole.extend(part.data_packet.data);
        number += 1;
    }
    assert_eq!(number, 3);
    assert_eq!(whole[..4], 2_500_u32.to_le_bytes());
    assert_eq!(whole[4..], bytes);
    let Message::AssetUploadRequest(begun) = begin_upload(id(1), 0, &bytes) else {
        panic!("another message")
    };
    assert!(begun.asset_block.asset_data.is_empty(), "a file follows");
    // A length that is a multiple of that of a part needs no empty part.
    let even = vec![1; 2_000];
    let Some(Message::SendXferPacket(last)) = file_part(9, 1, &even) else { panic!("there is one") };
    assert!(last.xfer_id.packet & LAST_PART != 0 && file_part(9, 2, &even).is_none());
}

#[test]
fn the_id_of_a_legacy_upload_is_a_hash_of_both_secrets() {
    let of = |transaction, session| legacy_asset_id(Uuid::from_u128(transaction), Uuid::from_u128(session));
    assert_eq!(of(1, 2), of(1, 2));
    assert!(of(1, 2) != of(2, 1) && of(1, 2) != of(1, 3));
}
