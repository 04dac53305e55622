//! Content of items in objects: transfers without the id of an asset, and items that are embedded in notecards there.

use super::last;
use super::transfers::{ask, node_of_two};
use crate::shard::tests::editing::{PLACE, alerts, make};
use crate::testing::{Client, HARBOUR, Node, agent};
use assets::{AssetKind, NewAsset};
use bytes::Bytes;
use ids::{LocalId, Uuid};
use link::{Action, ObjectCommand};
use prim::{Carried, ContentItem, Mask, Ownership, Permissions, Sale};
use wire::messages::*;

/// The item that is embedded in notecards of this test.
const EMBEDDED: Uuid = Uuid::from_u128(0xE1);
/// Status of a transfer.
const BEGUN: i32 = 0;
const UNKNOWN: i32 = -2;
const FORBIDDEN: i32 = -3;

/// A notecard with a texture of the server in it, which all users may have.
fn notecard() -> String {
    let masks = "\t\tbase_mask\t0008e000\n\t\towner_mask\t0008e000\n\t\tnext_owner_mask\t0008e000\n";
    let rights = format!("{masks}\t\tcreator_id\t{}\n", agent("Bea").0);
    let item = format!(
        "\t\titem_id\t{EMBEDDED}\n\tpermissions 0\n\t{{\n{rights}\t}}\n\t\tasset_id\t{}\n\t\ttype\ttexture\n\
         \t\tinv_type\ttexture\n\t\tflags\t00000000\n\t\tname\tOak|\n\t\tdesc\tof the notecard|\n",
        ids::PLYWOOD_TEXTURE
    );
    format!(
        "Linden text version 2\n{{\nLLEmbeddedItems version 1\n{{\ncount 1\n\
         {{\next char index 0\n\tinv_item\t0\n\t{{\n{item}\t}}\n}}\n}}\nText length 0\n}}\n"
    )
}

/// An item in a prim of a user, whose asset is stored.
struct Put {
    object: Uuid,
    item: Uuid,
    asset: Uuid,
    kind: AssetKind,
}

/// Puts an item with this content into a prim, with masks for its owner and everyone.
fn put(
    node: &mut Node,
    user: &str,
    (id, object): (u32, Uuid),
    kind: AssetKind,
    [owner, everyone]: [Mask; 2],
) -> Put {
    let number = node.commands.len() as u128;
    let (item, asset) = (Uuid::from_u128(1 << 90 | number), Uuid::from_u128(1 << 91 | number));
    let user = agent(user);
    let new = NewAsset {
        id: asset,
        kind,
        bytes: Bytes::from(notecard()),
        creator: user,
        origin: "test".into(),
        is_temporary: false,
    };
    node.assets.stored().add(new, Box::new(|outcome| assert!(outcome.is_ok())));
    let permissions = Permissions { owner, everyone, ..Permissions::NEW };
    let content = ContentItem {
        id: item,
        asset,
        asset_type: kind.number(),
        inventory_type: kind.number(),
        name: format!("Item {number}").into(),
        description: "".into(),
        flags: 0,
        ownership: Ownership {
            creator: user,
            owner: user,
            last_owner: user,
            group: Uuid::nil(),
            permissions,
        },
        sale: Sale::default(),
        created_s: 0,
        carried: Carried::default(),
    };
    let request = ObjectCommand::PutItem(LocalId(id), Box::new(content));
    node.order(HARBOUR, Action::Object(Box::new(request)));
    node.run_ms(500);
    Put { object, item, asset, kind }
}

/// Asks for the content of an item as viewers do that do not know its asset: the status, the asset that the answer names, and the content.
fn transfer(node: &mut Node, client: usize, put: &Put) -> (i32, Uuid, Vec<u8>) {
    let one = &mut node.clients[client];
    one.inbox.clear();
    let ids = [one.agent.0, one.session_id.0, agent("Ada").0, put.object, put.item, Uuid::nil()];
    let mut params: Vec<u8> = ids.iter().flat_map(|id| *id.as_bytes()).collect();
    params.extend_from_slice(&i32::from(put.kind.number()).to_le_bytes());
    let transfer_info = TransferRequestTransferInfo {
        transfer_id: Uuid::from_u128(7),
        channel_type: 2,
        source_type: 3,
        priority: 1.0,
        params,
    };
    one.send(&TransferRequest { transfer_info }.into());
    node.run_ms(500);
    let info = last(&node.clients[client], |message| match message {
        Message::TransferInfo(m) => Some(m.transfer_info.clone()),
        _ => None,
    });
    let parts = node.clients[client].inbox.iter().filter_map(|message| match message {
        Message::TransferPacket(m) => Some(&m.transfer_data.data),
        _ => None,
    });
    let content = parts.flatten().copied().collect();
    (info.status, Uuid::from_slice(&info.params[80..96]).expect("an id"), content)
}

#[test]
fn the_content_of_an_item_in_an_object_comes_without_the_id_of_its_asset() {
    let (mut node, ada, _) = node_of_two();
    let prim = make(&mut node, ada, PLACE);
    for kind in [AssetKind::Notecard, AssetKind::Script, AssetKind::Gesture, AssetKind::Settings] {
        let put = put(&mut node, "Ada", prim, kind, [Mask::ALL, Mask::NONE]);
        let expected = (BEGUN, put.asset, notecard().into_bytes());
        assert_eq!(transfer(&mut node, ada, &put), expected, "{kind}");
    }
}

#[test]
fn content_that_a_user_may_not_read_is_refused() {
    let (mut node, ada, bea) = node_of_two();
    let prim = make(&mut node, ada, PLACE);
    let bound = Mask::MOVE | Mask::COPY | Mask::TRANSFER;
    let (notecard, script, object) = (AssetKind::Notecard, AssetKind::Script, AssetKind::Object);
    for (kind, masks, statuses) in [
        (notecard, [Mask::ALL, Mask::NONE], [BEGUN, FORBIDDEN]),
        (notecard, [Mask::ALL, Mask::COPY], [BEGUN, BEGUN]),
        (notecard, [bound, Mask::NONE], [BEGUN, FORBIDDEN]),
        (script, [Mask::ALL, Mask::COPY], [BEGUN, FORBIDDEN]),
        (script, [bound, Mask::NONE], [FORBIDDEN, FORBIDDEN]),
        (object, [Mask::ALL, Mask::COPY], [FORBIDDEN, FORBIDDEN]),
    ] {
        let put = put(&mut node, "Ada", prim, kind, masks);
        for (client, status) in [ada, bea].into_iter().zip(statuses) {
            let (found, _, content) = transfer(&mut node, client, &put);
            assert_eq!((found, content.is_empty()), (status, status != BEGUN), "{kind}, {masks:?}, {client}");
        }
    }
}

#[test]
fn items_that_are_not_there_have_no_content() {
    let (mut node, ada, _) = node_of_two();
    let prim = make(&mut node, ada, PLACE);
    let there = put(&mut node, "Ada", prim, AssetKind::Notecard, [Mask::ALL, Mask::NONE]);
    let Put { object, item, asset, kind } = there;
    let nowhere = Uuid::from_u128(7);
    for other in [
        Put { object: nowhere, item, asset, kind },
        Put { object, item: nowhere, asset, kind },
        Put { object, item, asset, kind: AssetKind::Script },
    ] {
        assert_eq!(transfer(&mut node, ada, &other).0, UNKNOWN);
    }
    let request = ObjectCommand::RemoveItem(LocalId(prim.0), item);
    node.order(HARBOUR, Action::Object(Box::new(request)));
    node.run_ms(500);
    assert_eq!(transfer(&mut node, ada, &there).0, UNKNOWN, "it was removed");
}

/// A request for the embedded item of a notecard in an object.
fn copy(client: &Client, put: &Put) -> Message {
    CopyInventoryFromNotecard {
        agent_data: CopyInventoryFromNotecardAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        notecard_data: CopyInventoryFromNotecardNotecardData {
            notecard_item_id: put.item,
            object_id: put.object,
        },
        inventory_data: vec![CopyInventoryFromNotecardInventoryData {
            item_id: EMBEDDED,
            folder_id: crate::testing::FOLDER,
        }],
    }
    .into()
}

/// Assets of the items that a client was sent.
fn copies(client: &Client) -> Vec<Uuid> {
    let rows = client.inbox.iter().filter_map(|message| match message {
        Message::BulkUpdateInventory(m) => Some(&m.item_data),
        _ => None,
    });
    rows.flatten().map(|row| row.asset_id).collect()
}

#[test]
fn an_item_comes_out_of_a_notecard_in_an_object_that_its_reader_may_read() {
    let (mut node, ada, bea) = node_of_two();
    let prim = make(&mut node, bea, PLACE);
    for (kind, everyone, is_copied) in [
        (AssetKind::Notecard, Mask::COPY, true),
        (AssetKind::Notecard, Mask::NONE, false),
        (AssetKind::Gesture, Mask::COPY, false),
    ] {
        let put = put(&mut node, "Bea", prim, kind, [Mask::ALL, everyone]);
        node.clients[ada].inbox.clear();
        ask(&mut node, ada, |client| copy(client, &put));
        let expected = if is_copied { vec![ids::PLYWOOD_TEXTURE] } else { vec![] };
        assert_eq!(copies(&node.clients[ada]), expected, "{kind}, {everyone:?}");
        let alerts = alerts(&node.clients[ada]);
        let is_refused = alerts.iter().any(|alert| alert.contains("not in that object"));
        assert_eq!(is_refused, !is_copied, "{alerts:?}");
    }
}
