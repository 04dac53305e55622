//! Landmarks: made where the avatar stands, and followed to that place.

use super::passages::go_in;
use super::teleport::{failure, finish};
use crate::hub::travel::VIA_LANDMARK;
use crate::testing::{FOLDER, HARBOUR, MEADOW, Node, Setup, agent};
use assets::{AssetKind, NewAsset, landmark_text};
use bytes::Bytes;
use glam::{Vec2, Vec3};
use grid::inventory::library_items;
use ids::{AgentId, Uuid};
use wire::messages::*;

const LANDMARK: Uuid = Uuid::from_u128(0x1A);

fn node() -> Node {
    Node::with(Setup { keeps_assets: true, ..Setup::default() })
}

/// Makes a landmark as viewers do; the row that answers it.
fn make_landmark(node: &mut Node, client: usize) -> UpdateCreateInventoryItemInventoryData {
    let mut message = CreateInventoryItem::default();
    message.agent_data.agent_id = node.clients[client].agent.0;
    message.agent_data.session_id = node.clients[client].session_id.0;
    message.inventory_block.folder_id = FOLDER;
    message.inventory_block.r#type = AssetKind::Landmark.number();
    message.inventory_block.callback_id = 9;
    message.inventory_block.name = b"A place\0".to_vec();
    node.clients[client].send(&message.into());
    node.run_ms(200);
    let made = node.clients[client].inbox.iter().rev().find_map(|message| match message {
        Message::UpdateCreateInventoryItem(m) => m.inventory_data.first().cloned(),
        _ => None,
    });
    made.expect("an answer")
}

/// Asks for a teleport.
fn follow_landmark(node: &mut Node, client: usize, landmark_id: Uuid) {
    let info = TeleportLandmarkRequestInfo {
        agent_id: node.clients[client].agent.0,
        session_id: node.clients[client].session_id.0,
        landmark_id,
    };
    node.clients[client].send(&TeleportLandmarkRequest { info }.into());
    node.run_ms(200);
}

fn add_asset(node: &Node, kind: AssetKind, text: String) {
    let new = NewAsset {
        id: LANDMARK,
        kind,
        bytes: Bytes::from(text),
        creator: AgentId(Uuid::nil()),
        origin: "test".into(),
        is_temporary: false,
    };
    node.assets.stored().add(new, Box::new(|outcome| assert!(outcome.is_ok())));
}

/// Ada's place in the meadow, after the teleport that her client was sent.
fn arrive(node: &mut Node, ada: usize) -> Vec2 {
    let body = finish(node, ada);
    assert_eq!(body.get("Info").at(0).get("TeleportFlags").as_u32(), Some(VIA_LANDMARK));
    let arrived = node.follow_teleport(ada, &body);
    node.run_until(|node| node.clients[arrived].sees_itself());
    node.position_in(MEADOW, "Ada").expect("there").truncate()
}

#[test]
fn a_landmark_leads_back_to_the_place_where_it_was_made() {
    let mut node = node();
    let spot = node.spot(MEADOW, 300.0, 200.0);
    let ada = node.enter_at("Ada", spot);
    let made = make_landmark(&mut node, ada);
    assert_eq!((made.callback_id, made.owner_id), (9, agent("Ada").0));
    assert!(node.store().item(agent("Ada"), made.item_id).expect("a database in memory").is_some());
    // Another login, elsewhere.
    let ada = node.enter("Ada");
    follow_landmark(&mut node, ada, made.asset_id);
    assert!(arrive(&mut node, ada).distance(Vec2::new(300.0, 200.0)) < 1.0);
}

#[test]
fn a_landmark_of_the_old_form_leads_to_a_place_on_the_grid() {
    let mut node = node();
    let ada = node.enter("Ada");
    // Within the second grid square of the meadow.
    let text = format!("Landmark version 1\nposition {} {} 22\n", 1_004 * 256 + 266, 1_000 * 256 + 276);
    add_asset(&node, AssetKind::Landmark, text);
    follow_landmark(&mut node, ada, LANDMARK);
    assert!(arrive(&mut node, ada).distance(Vec2::new(266.0, 276.0)) < 1.0);
}

#[test]
fn the_landmark_of_the_library_leads_to_the_landing_point_of_the_first_region() {
    let mut node = node();
    let spot = node.spot(MEADOW, 300.0, 200.0);
    let ada = node.enter_at("Ada", spot);
    let landmark = library_items().iter().find(|item| item.asset_type == AssetKind::Landmark.number());
    follow_landmark(&mut node, ada, landmark.expect("the library has one").asset);
    let body = finish(&mut node, ada);
    let arrived = node.follow_teleport(ada, &body);
    node.run_until(|node| node.clients[arrived].sees_itself());
    let at = node.position_in(HARBOUR, "Ada").expect("there");
    let landing = node.places.get(HARBOUR).ground().landing;
    assert!(at.truncate().distance(landing.truncate()) < 1.0, "{at}");
}

#[test]
fn a_landmark_that_leads_nowhere_ends_the_wait_for_its_teleport() {
    let no_region = "The landmark's region is not on this grid.";
    let no_landmark = "There is no such landmark.";
    let nowhere = landmark_text(Uuid::from_u128(0xBAD), [1.0; 3], 0);
    for (kind, text, reason) in [
        (AssetKind::Landmark, &*nowhere, no_region),
        (AssetKind::Landmark, "Landmark version 1\nposition -5 0 0\n", no_region),
        (AssetKind::Landmark, "Landmark version 1\nposition 3e38 0 0\n", no_region),
        (AssetKind::Landmark, "a place", no_landmark),
        (AssetKind::Notecard, &*nowhere, no_landmark),
    ] {
        let mut node = node();
        let ada = node.enter("Ada");
        add_asset(&node, kind, text.to_owned());
        follow_landmark(&mut node, ada, LANDMARK);
        assert_eq!(failure(&mut node, ada), reason);
        assert_eq!(node.avatars_in(HARBOUR), 1);
    }
}

#[test]
fn no_landmark_is_made_in_an_instance_and_one_of_a_region_leads_out_of_it() {
    let mut node = node();
    let ada = node.enter("Ada");
    let harbour = make_landmark(&mut node, ada);
    let session = node.hub.session_of(agent("Ada")).expect("she is here");
    let cave = node.instance("Cave", 256, 10, 10);
    node.run_ms(1_000);
    go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
    assert!(make_landmark(&mut node, ada).item_id.is_nil());
    follow_landmark(&mut node, ada, harbour.asset_id);
    node.run_until(|node| node.avatars_in(HARBOUR) == 1);
    let at = node.position_in(HARBOUR, "Ada").expect("there");
    assert!(at.truncate().distance(Vec2::new(128.0, 128.0)) < 2.0, "{at}");
}
