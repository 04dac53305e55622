//! People, regions, parcels and the map.

use super::{furnished, last};
use crate::hub::tests::events;
use crate::places::Place;
use crate::testing::{HARBOUR, MEADOW, Node, OFFLINE_AGENT, Setup, agent};
use glam::Vec3;
use ids::Uuid;
use wire::llsd::Llsd;
use wire::messages::*;
use wire::text::from_wire;

#[test]
fn people_are_found_by_the_beginnings_of_their_names() {
    let (mut node, ada) = furnished();
    let ids = (node.clients[ada].agent.0, node.clients[ada].session_id.0);
    let mut find = DirFindQuery::default();
    (find.agent_data.agent_id, find.agent_data.session_id) = ids;
    find.query_data.query_flags = 1;
    find.query_data.query_text = b"grace\0".to_vec();
    node.clients[ada].send(&find.into());
    let mut pick = AvatarPickerRequest::default();
    (pick.agent_data.agent_id, pick.agent_data.session_id) = ids;
    pick.data.name = b"ada res\0".to_vec();
    node.clients[ada].send(&pick.into());
    node.run_ms(500);
    let found = last(&node.clients[ada], |message| match message {
        Message::DirPeopleReply(m) => Some(m.query_replies.clone()),
        _ => None,
    });
    assert_eq!((found.len(), found[0].agent_id, found[0].online), (1, OFFLINE_AGENT.0, false));
    let picked = last(&node.clients[ada], |message| match message {
        Message::AvatarPickerReply(m) => Some(m.data.clone()),
        _ => None,
    });
    assert_eq!((picked.len(), picked[0].avatar_id), (1, agent("Ada").0));
}

#[test]
fn a_profile_says_when_its_account_was_made() {
    let (mut node, ada) = furnished();
    for (avatar_id, born_on) in [(OFFLINE_AGENT.0, "11/14/2023"), (Uuid::from_u128(0xBAD), "")] {
        let mut request = AvatarPropertiesRequest::default();
        request.agent_data.agent_id = node.clients[ada].agent.0;
        request.agent_data.session_id = node.clients[ada].session_id.0;
        request.agent_data.avatar_id = avatar_id;
        node.clients[ada].send(&request.into());
        node.run_ms(500);
        let born = last(&node.clients[ada], |message| match message {
            Message::AvatarPropertiesReply(m) if m.agent_data.avatar_id == avatar_id => {
                Some(from_wire(&m.properties_data.born_on))
            }
            _ => None,
        });
        assert_eq!(born, born_on);
        assert!(node.clients[ada].got(AvatarGroupsReply::NUMBER));
        assert!(node.clients[ada].got(AvatarInterestsReply::NUMBER));
    }
}

#[test]
fn the_map_has_a_row_for_an_empty_square_and_for_a_region_without_avatars() {
    let (mut node, ada) = furnished();
    let ids = (node.clients[ada].agent.0, node.clients[ada].session_id.0);
    let mut blocks = MapBlockRequest::default();
    (blocks.agent_data.agent_id, blocks.agent_data.session_id) = ids;
    blocks.agent_data.flags = 0x1_0000;
    let p = &mut blocks.position_data;
    (p.min_x, p.max_x, p.min_y, p.max_y) = (7, 7, 9, 9);
    node.clients[ada].send(&blocks.into());
    let meadow = node.places.get(MEADOW).handle;
    let mut items = MapItemRequest::default();
    (items.agent_data.agent_id, items.agent_data.session_id) = ids;
    items.request_data = MapItemRequestRequestData { item_type: 6, region_handle: meadow.0 };
    node.clients[ada].send(&items.into());
    node.run_ms(500);
    let block = last(&node.clients[ada], |message| match message {
        Message::MapBlockReply(m) => Some(m.data.clone()),
        _ => None,
    });
    assert_eq!((block.len(), block[0].x, block[0].y, block[0].access), (1, 7, 9, 255));
    let rows = last(&node.clients[ada], |message| match message {
        Message::MapItemReply(m) => Some(m.data.clone()),
        _ => None,
    });
    assert_eq!((rows.len(), rows[0].extra), (1, 0));
    assert_eq!((rows[0].x, rows[0].y), (meadow.x_m() + 1, meadow.y_m() + 1));
}

#[test]
fn a_layer_of_the_map_is_the_rectangle_of_a_region_with_its_picture() {
    let mut node = Node::with(Setup { maps: true, ..Setup::default() });
    let ada = node.enter("Ada");
    let mut request = MapLayerRequest::default();
    request.agent_data.agent_id = node.clients[ada].agent.0;
    request.agent_data.session_id = node.clients[ada].session_id.0;
    request.agent_data.flags = 2;
    node.clients[ada].send(&request.into());
    node.run_ms(500);
    let reply = last(&node.clients[ada], |message| match message {
        Message::MapLayerReply(m) => Some(m.clone()),
        _ => None,
    });
    assert_eq!((reply.agent_data.agent_id, reply.agent_data.flags), (agent("Ada").0, 2));
    let image = |place| node.places.get(place).scene.map_image();
    let layer = |left, squares, image_id| MapLayerReplyLayerData {
        left,
        right: left + squares,
        top: 1_000 + squares,
        bottom: 1_000,
        image_id,
    };
    assert_eq!(reply.layer_data, [layer(1_000, 1, image(HARBOUR)), layer(1_004, 2, image(MEADOW))]);
    assert!(reply.layer_data.iter().all(|layer| !layer.image_id.is_nil()), "pictures of {reply:?}");
}

#[test]
fn regions_and_parcels_are_found_by_their_ids() {
    let (mut node, ada) = furnished();
    let harbour = node.places.get(HARBOUR);
    let (region_id, handle) = (harbour.region_id, harbour.handle);
    let parcel_id = parcel_of(harbour);
    let request_block = RegionHandleRequestRequestBlock { region_id };
    node.clients[ada].send(&RegionHandleRequest { request_block }.into());
    let mut parcel = ParcelInfoRequest::default();
    parcel.agent_data.session_id = node.clients[ada].session_id.0;
    parcel.agent_data.agent_id = node.clients[ada].agent.0;
    parcel.data.parcel_id = parcel_id;
    node.clients[ada].send(&parcel.into());
    node.run_ms(500);
    let found = last(&node.clients[ada], |message| match message {
        Message::RegionIDAndHandleReply(m) => Some(m.reply_block.clone()),
        _ => None,
    });
    assert_eq!((found.region_id, found.region_handle), (region_id, handle.0));
    let parcel = last(&node.clients[ada], |message| match message {
        Message::ParcelInfoReply(m) => Some(m.data.clone()),
        _ => None,
    });
    assert_eq!((parcel.parcel_id, parcel.actual_area), (parcel_id, 256 * 256));
    assert_eq!(from_wire(&parcel.sim_name), "Harbour");
}

/// Id of the one parcel of a place, with or without land.
fn parcel_of(place: &Place) -> Uuid {
    let replica = place.scene.feed.current();
    let first = replica.land().and_then(|land| land.parcels().next());
    first.map_or(place.parcel_id, |known| known.parcel.id)
}

#[test]
fn a_teleport_by_a_landmark_that_does_not_exist_fails_and_says_so() {
    let (mut node, ada) = furnished();
    let client = &mut node.clients[ada];
    let info = TeleportLandmarkRequestInfo {
        agent_id: client.agent.0,
        session_id: client.session_id.0,
        landmark_id: Uuid::from_u128(99),
    };
    client.send(&TeleportLandmarkRequest { info }.into());
    node.run_ms(500);
    let told = events(&mut node, ada).iter().any(|(name, _)| name == "TeleportFailed");
    assert!(told || node.clients[ada].got(TeleportFailed::NUMBER));
}

#[test]
fn a_land_report_has_the_form_that_clients_parse() {
    let (mut node, ada) = furnished();
    events(&mut node, ada);
    let mut request = LandStatRequest::default();
    request.agent_data.agent_id = node.clients[ada].agent.0;
    request.agent_data.session_id = node.clients[ada].session_id.0;
    request.request_data.report_type = 1;
    node.clients[ada].send(&request.into());
    node.run_ms(500);
    let (_, body) =
        events(&mut node, ada).into_iter().find(|(name, _)| name == "LandStatReply").expect("a reply");
    let asked = body.get("RequestData").at(0).clone();
    assert_eq!(asked.get("ReportType"), &Llsd::Binary(vec![0, 0, 0, 1]));
    assert_eq!(asked.get("TotalObjectCount"), &Llsd::Binary(vec![0; 4]));
    assert!(body.get("ReportData").as_array().is_empty());
}

#[test]
fn a_region_named_by_its_id_is_a_destination() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let region_id = node.places.get(MEADOW).region_id;
    let client = &mut node.clients[ada];
    let message = TeleportRequest {
        agent_data: TeleportRequestAgentData { agent_id: client.agent.0, session_id: client.session_id.0 },
        info: TeleportRequestInfo { region_id, position: Vec3::new(100.0, 100.0, 30.0), look_at: Vec3::X },
    };
    client.send(&message.into());
    node.run_ms(300);
    assert!(events(&mut node, ada).iter().any(|(name, _)| name == "TeleportFinish"));
}
