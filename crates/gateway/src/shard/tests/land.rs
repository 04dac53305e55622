//! Clients in a region that is built on: its ground, its parcels, its estate.

mod estate;
mod ground;
mod parcels;

use crate::hub::tests::events;
use crate::testing::{Client, HARBOUR, Node, Setup};
use ids::Uuid;
use link::LandRefusal;
use std::collections::BTreeMap;
use wire::llsd::Llsd;
use wire::messages::*;
use wire::terrain::{PATCH_SAMPLES, decode_patches};
use wire::text::from_wire;

/// Ada owns the harbour; Bea visits it. Both have arrived and got all of its land.
fn node_of_two() -> (Node, usize, usize) {
    let mut node = Node::with(Setup { landlord: Some("Ada"), ..Setup::default() });
    let (ada, bea) = (node.enter("Ada"), node.enter("Bea"));
    node.run_ms(3_000);
    assert!([ada, bea].iter().all(|&client| ground_of(&node.clients[client]).len() == 256));
    (node, ada, bea)
}

type Ground = BTreeMap<(u16, u16), [f32; PATCH_SAMPLES]>;

/// The ground that a client shows.
fn ground_of(client: &Client) -> Ground {
    let mut ground = Ground::new();
    for message in &client.inbox {
        let Message::LayerData(layer) = message else { continue };
        let (_, patches) = decode_patches(&layer.layer_data.data).expect("a whole field");
        ground.extend(patches.into_iter().map(|patch| ((patch.x, patch.y), patch.heights)));
    }
    ground
}

/// The overlay that a client shows, row by row.
fn overlay_of(client: &Client) -> Vec<u8> {
    let mut parts = BTreeMap::new();
    for message in &client.inbox {
        let Message::ParcelOverlay(overlay) = message else { continue };
        parts.insert(overlay.parcel_data.sequence_id, overlay.parcel_data.data.clone());
    }
    parts.into_values().flatten().collect()
}

/// Texts that a client was shown.
fn alerts(client: &Client) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::AlertMessage(alert) => Some(from_wire(&alert.alert_data.message)),
        _ => None,
    };
    client.inbox.iter().filter_map(text).collect()
}

/// Ids that most messages begin with.
fn ids(client: &Client) -> (Uuid, Uuid) {
    (client.agent.0, client.session_id.0)
}

/// Parcels in the newest events of a client, but for those of arrivals and crossings.
fn parcels_of(node: &mut Node, client: usize) -> Vec<Llsd> {
    let named = events(node, client).into_iter().filter(|(name, _)| name == "ParcelProperties");
    named.map(|(_, body)| body.get("ParcelData").at(0).clone()).collect()
}

/// Sends the same stroke with the brush as a viewer does.
pub(super) fn stroke(client: &mut Client, action: u8, (x, y): (f32, f32), radius_m: f32, seconds: f32) {
    let (agent_id, session_id) = ids(client);
    let parcel_data = ModifyLandParcelData { local_id: -1, west: x, south: y, east: x, north: y };
    let message = ModifyLand {
        agent_data: ModifyLandAgentData { agent_id, session_id },
        modify_block: ModifyLandModifyBlock { action, brush_size: 1, seconds, height: 25.0 },
        parcel_data: vec![parcel_data],
        modify_block_extended: vec![ModifyLandModifyBlockExtended { brush_size: radius_m }],
    };
    client.send(&message.into());
}

fn is_refused(client: &Client, reason: LandRefusal) -> bool {
    alerts(client).iter().any(|alert| alert.starts_with(&reason.to_string()))
}

/// Asserts that clients show the ground of the world, as far as compression keeps it.
fn assert_same_ground(node: &Node, clients: &[usize]) {
    let place = node.places.get(HARBOUR);
    let replica = place.scene.feed.current();
    let land = replica.land().expect("the harbour has land");
    for &client in clients {
        let shown = ground_of(&node.clients[client]);
        for number in 0..land.n_patches() {
            let (x, y) = (number % 16, number / 16);
            let expected = match land.patch(number) {
                Some(edited) => *edited.patch.heights(),
                None => place.ground().terrain.patch(x as u8, y as u8),
            };
            let heights = shown.get(&(x, y)).expect("a patch of the region");
            let worst =
                heights.iter().zip(&expected).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
            assert!(worst < 0.3, "client {client}, patch {x}, {y}: {worst} m");
        }
    }
}
