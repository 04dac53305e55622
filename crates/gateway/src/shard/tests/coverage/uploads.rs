//! Uploads in messages, and items that name them.

use super::{alerts, last, outcomes};
use crate::coverage::MessageOutcome;
use crate::testing::{FOLDER, HARBOUR, ITEM, Node, Setup, agent};
use ids::Uuid;
use md5::{Digest, Md5};
use store::AssetRow;
use wire::messages::*;

const TRANSACTION: Uuid = Uuid::from_u128(0x55);
const OTHER_TRANSACTION: Uuid = Uuid::from_u128(0x56);
const NOTECARD: i8 = 7;
/// The bit that marks the last part of a file.
const LAST_PART: u32 = 1 << 31;

/// A server that keeps assets, a client, and the secret of its session.
fn with_ada() -> (Node, usize, Uuid) {
    let mut node = Node::with(Setup { keeps_assets: true, ..Setup::default() });
    let (ada, secret) = enter(&mut node, "Ada");
    (node, ada, secret)
}

fn enter(node: &mut Node, name: &str) -> (usize, Uuid) {
    let admission = node.admit(name, node.spot(HARBOUR, 128.0, 128.0)).expect("there is room");
    node.relay();
    let client = node.add_client(name, &admission);
    node.clients[client].open();
    node.run_until(|node| node.clients[client].sees_itself());
    (client, admission.secure_session_id)
}

/// As clients compute it.
fn asset_of(transaction: Uuid, secret: Uuid) -> Uuid {
    Uuid::from_bytes(Md5::digest([transaction.into_bytes(), secret.into_bytes()].concat()).into())
}

/// A notecard with this number of letters.
fn notecard(letters: usize) -> Vec<u8> {
    let head = "Linden text version 2\n{\nLLEmbeddedItems version 1\n{\ncount 0\n}\nText length";
    format!("{head} {letters}\n{}}}", "x".repeat(letters)).into_bytes()
}

fn upload(node: &mut Node, client: usize, asset_data: &[u8], store_local: bool) {
    upload_under(node, client, TRANSACTION, asset_data, store_local);
}

fn upload_under(node: &mut Node, client: usize, transaction_id: Uuid, asset_data: &[u8], store_local: bool) {
    let asset_block = AssetUploadRequestAssetBlock {
        transaction_id,
        r#type: NOTECARD,
        tempfile: false,
        store_local,
        asset_data: asset_data.to_vec(),
    };
    node.clients[client].send(&AssetUploadRequest { asset_block }.into());
}

/// Begins a file; its id as the server asks for it.
fn begin(node: &mut Node, client: usize, secret: Uuid) -> u64 {
    upload(node, client, &[], false);
    node.run_ms(300);
    let asked = last(&node.clients[client], |message| match message {
        Message::RequestXfer(m) => Some(m.xfer_id.clone()),
        _ => None,
    });
    assert_eq!((asked.v_file_id, asked.v_file_type), (asset_of(TRANSACTION, secret), NOTECARD.into()));
    asked.id
}

fn send_part(node: &mut Node, client: usize, id: u64, packet: u32, data: Vec<u8>) {
    let xfer_id = SendXferPacketXferID { id, packet };
    let data_packet = SendXferPacketDataPacket { data };
    node.clients[client].send(&SendXferPacket { xfer_id, data_packet }.into());
    node.run_ms(100);
}

/// Parts of a file as clients send them.
fn parts(file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let length = (file.len() as u32).to_le_bytes();
    let mut parts: Vec<(u32, Vec<u8>)> =
        (0..).zip(file.chunks(1_000)).map(|(n, part)| (n, part.to_vec())).collect();
    parts[0].1 = [&length[..], &parts[0].1].concat();
    parts.last_mut().expect("a file with bytes").0 |= LAST_PART;
    parts
}

fn create_item(node: &mut Node, client: usize, callback_id: u32) {
    let mut request = CreateInventoryItem::default();
    request.agent_data.agent_id = node.clients[client].agent.0;
    request.agent_data.session_id = node.clients[client].session_id.0;
    request.inventory_block = CreateInventoryItemInventoryBlock {
        callback_id,
        folder_id: FOLDER,
        transaction_id: TRANSACTION,
        next_owner_mask: 0x0008_E000,
        r#type: NOTECARD,
        inv_type: NOTECARD,
        name: b"Notes\0".to_vec(),
        ..CreateInventoryItemInventoryBlock::default()
    };
    node.clients[client].send(&request.into());
}

fn update_item(node: &mut Node, client: usize, item_id: Uuid, transaction_id: Uuid) {
    let mut request = UpdateInventoryItem::default();
    request.agent_data.agent_id = node.clients[client].agent.0;
    request.agent_data.session_id = node.clients[client].session_id.0;
    request.inventory_data = vec![UpdateInventoryItemInventoryData {
        item_id,
        callback_id: 9,
        transaction_id,
        name: b"Notes\0".to_vec(),
        ..UpdateInventoryItemInventoryData::default()
    }];
    node.clients[client].send(&request.into());
}

/// Asset and success of the last AssetUploadComplete.
fn completed(node: &Node, client: usize) -> (Uuid, bool) {
    last(&node.clients[client], |message| match message {
        Message::AssetUploadComplete(m) => Some((m.asset_block.uuid, m.asset_block.success)),
        _ => None,
    })
}

/// Approval, callback and asset of the last UpdateCreateInventoryItem.
fn made(node: &Node, client: usize) -> (bool, u32, Uuid) {
    last(&node.clients[client], |message| match message {
        Message::UpdateCreateInventoryItem(m) => {
            let row = &m.inventory_data[0];
            Some((m.agent_data.sim_approved, row.callback_id, row.asset_id))
        }
        _ => None,
    })
}

fn row_of(node: &mut Node, asset: Uuid) -> Option<AssetRow> {
    node.store().asset(asset).expect("a database in memory").map(|stored| stored.row)
}

fn held(node: &Node) -> usize {
    node.shards[0].upload_room.held()
}

#[test]
fn a_small_asset_is_stored_and_the_item_that_names_it_keeps_it() {
    let (mut node, ada, secret) = with_ada();
    let asset = asset_of(TRANSACTION, secret);
    upload(&mut node, ada, &notecard(5), false);
    node.run_ms(300);
    assert_eq!(completed(&node, ada), (asset, true));
    assert_eq!(node.assets.cached(asset).expect("it is stored").bytes, notecard(5));
    let row = row_of(&mut node, asset).expect("it is stored");
    assert_eq!((row.creator, row.kind, row.used_s.is_some()), (agent("Ada"), NOTECARD, true));
    create_item(&mut node, ada, 77);
    node.run_ms(300);
    assert_eq!(made(&node, ada), (true, 77, asset));
    assert!(row_of(&mut node, asset).is_some_and(|row| row.used_s.is_none()), "it lasts");
    assert_eq!((alerts(&node.clients[ada]), held(&node)), (Vec::new(), 0));
    assert_eq!(outcomes(&node)[&("AssetUploadRequest", MessageOutcome::Done)], 1);
    assert_eq!(node.shards[0].counters().files_stored, 1);
}

#[test]
fn an_asset_that_its_client_keeps_lasts_without_an_item() {
    let (mut node, ada, secret) = with_ada();
    upload(&mut node, ada, &notecard(5), true);
    node.run_ms(300);
    assert!(row_of(&mut node, asset_of(TRANSACTION, secret)).is_some_and(|row| row.used_s.is_none()));
}

#[test]
fn a_file_comes_in_parts_and_its_item_waits_for_it() {
    let (mut node, ada, secret) = with_ada();
    let file = notecard(2_500);
    let id = begin(&mut node, ada, secret);
    create_item(&mut node, ada, 77);
    let parts = parts(&file);
    for (n, (packet, data)) in parts.iter().enumerate() {
        assert!(!node.clients[ada].got(UpdateCreateInventoryItem::NUMBER), "part {n}");
        assert!(!node.clients[ada].got(AssetUploadComplete::NUMBER), "part {n}");
        // A part before its turn is not confirmed, and a repeated part is.
        if let Some((next, data)) = parts.get(n + 1) {
            send_part(&mut node, ada, id, *next, data.clone());
        }
        for _ in 0..2 {
            send_part(&mut node, ada, id, *packet, data.clone());
            let confirmed = last(&node.clients[ada], |message| match message {
                Message::ConfirmXferPacket(m) => Some((m.xfer_id.id, m.xfer_id.packet)),
                _ => None,
            });
            assert_eq!(confirmed, (id, n as u32));
        }
    }
    node.run_ms(300);
    let asset = asset_of(TRANSACTION, secret);
    assert_eq!((completed(&node, ada), made(&node, ada)), ((asset, true), (true, 77, asset)));
    assert_eq!(node.assets.cached(asset).expect("it is stored").bytes, file);
    assert!(!node.clients[ada].got(AbortXfer::NUMBER));
    assert_eq!((alerts(&node.clients[ada]), held(&node)), (Vec::new(), 0));
}

#[test]
fn an_item_may_come_before_its_upload() {
    let (mut node, ada, secret) = with_ada();
    create_item(&mut node, ada, 77);
    node.run_ms(4_000);
    assert!(!node.clients[ada].got(UpdateCreateInventoryItem::NUMBER));
    upload(&mut node, ada, &notecard(5), false);
    node.run_ms(300);
    assert_eq!(made(&node, ada), (true, 77, asset_of(TRANSACTION, secret)));
}

#[test]
fn new_content_of_an_item_waits_for_its_upload_and_has_the_kind_of_the_item() {
    let (mut node, ada, secret) = with_ada();
    upload(&mut node, ada, &notecard(5), false);
    create_item(&mut node, ada, 77);
    node.run_ms(300);
    assert_eq!(made(&node, ada), (true, 77, asset_of(TRANSACTION, secret)));
    let notes = last(&node.clients[ada], |message| match message {
        Message::UpdateCreateInventoryItem(m) => Some(m.inventory_data[0].item_id),
        _ => None,
    });
    update_item(&mut node, ada, notes, OTHER_TRANSACTION);
    node.run_ms(300);
    assert_eq!(made(&node, ada).1, 77, "not yet");
    upload_under(&mut node, ada, OTHER_TRANSACTION, &notecard(6), false);
    node.run_ms(300);
    let asset = asset_of(OTHER_TRANSACTION, secret);
    assert_eq!(made(&node, ada), (true, 9, asset));
    assert!(row_of(&mut node, asset).is_some_and(|row| row.used_s.is_none()), "it lasts");
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
    // A texture.
    update_item(&mut node, ada, ITEM, TRANSACTION);
    node.run_ms(300);
    let item = node.store().item(agent("Ada"), ITEM).expect("a database in memory").expect("an item");
    assert_eq!((item.asset, alerts(&node.clients[ada]).len()), (ids::PLYWOOD_TEXTURE, 1));
}

#[test]
fn an_upload_that_its_client_ends_leaves_nothing() {
    let (mut node, ada, secret) = with_ada();
    let id = begin(&mut node, ada, secret);
    create_item(&mut node, ada, 77);
    send_part(&mut node, ada, id, 0, parts(&notecard(2_500))[0].1.clone());
    assert!(held(&node) > 2_500);
    node.clients[ada].send(&AbortXfer { xfer_id: AbortXferXferID { id, result: 0 } }.into());
    node.run_ms(300);
    let asset = asset_of(TRANSACTION, secret);
    assert_eq!(completed(&node, ada), (asset, false));
    assert_eq!(made(&node, ada), (false, 77, Uuid::nil()));
    assert_eq!((held(&node), row_of(&mut node, asset)), (0, None));
    assert_eq!(node.shards[0].counters().files_broken_off, 1);
}

#[test]
fn a_silent_file_is_given_up() {
    let (mut node, ada, secret) = with_ada();
    let id = begin(&mut node, ada, secret);
    node.run_ms(59_000);
    assert!(!node.clients[ada].got(AbortXfer::NUMBER));
    node.run_ms(2_000);
    let aborted = last(&node.clients[ada], |message| match message {
        Message::AbortXfer(m) => Some(m.xfer_id.id),
        _ => None,
    });
    assert_eq!((aborted, completed(&node, ada)), (id, (asset_of(TRANSACTION, secret), false)));
    assert_eq!(alerts(&node.clients[ada]), ["The upload is refused: the file did not come in time."]);
}

#[test]
fn a_refused_upload_names_the_asset_that_the_client_waits_for() {
    let (mut node, ada, secret) = with_ada();
    let asset = asset_of(TRANSACTION, secret);
    // No notecard.
    upload(&mut node, ada, &[7; 20], false);
    node.run_ms(300);
    assert_eq!(completed(&node, ada), (asset, false));
    let why = "The upload is refused: no Linden text version in the notecard.";
    assert_eq!(alerts(&node.clients[ada]), [why]);
    // Longer than notecards may be, which is noticed before the bytes come.
    let id = begin(&mut node, ada, secret);
    send_part(&mut node, ada, id, 0, 70_000_u32.to_le_bytes().to_vec());
    assert!(node.clients[ada].got(AbortXfer::NUMBER));
    assert_eq!((completed(&node, ada), held(&node)), ((asset, false), 0));
    assert_eq!(alerts(&node.clients[ada])[1..], ["The upload is refused: the file is too long."]);
    assert_eq!((row_of(&mut node, asset), node.shards[0].counters().files_refused), (None, 2));
}

#[test]
fn an_upload_of_another_user_is_no_content_for_an_item() {
    let (mut node, ada, _) = with_ada();
    let (bob, _) = enter(&mut node, "Bob");
    upload(&mut node, bob, &notecard(5), false);
    node.run_ms(300);
    create_item(&mut node, ada, 77);
    node.run_ms(9_000);
    assert_eq!(made(&node, ada), (false, 77, Uuid::nil()));
    assert!(alerts(&node.clients[ada])[0].contains("the content that was uploaded"));
}

#[test]
fn a_client_that_leaves_takes_its_files_with_it() {
    let (mut node, ada, secret) = with_ada();
    let id = begin(&mut node, ada, secret);
    send_part(&mut node, ada, id, 0, parts(&notecard(2_500))[0].1.clone());
    assert!(held(&node) > 2_500);
    let agent_data =
        LogoutRequestAgentData { agent_id: agent("Ada").0, session_id: node.clients[ada].session_id.0 };
    node.clients[ada].send(&LogoutRequest { agent_data }.into());
    node.run_ms(5_000);
    assert_eq!((held(&node), node.shards[0].n_clients()), (0, 0));
}
