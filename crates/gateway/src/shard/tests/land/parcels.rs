//! Parcels: their properties, settings, lists and borders.

use super::*;
use crate::testing::{MAX_OBJECTS, PARCEL, agent};
use link::{LandEdit, ParcelEdit, ParcelFlags, ParcelNumber, ParcelSettings};
use wire::text::{VARIABLE1_MAX, to_wire};

const OF_SELECTION: i32 = -10_000;

fn divide(client: &mut Client, [west, south, east, north]: [f32; 4]) {
    let (agent_id, session_id) = ids(client);
    let agent_data = ParcelDivideAgentData { agent_id, session_id };
    client.send(
        &ParcelDivide { agent_data, parcel_data: ParcelDivideParcelData { west, south, east, north } }.into(),
    );
}

fn join(client: &mut Client, [west, south, east, north]: [f32; 4]) {
    let (agent_id, session_id) = ids(client);
    let agent_data = ParcelJoinAgentData { agent_id, session_id };
    client.send(
        &ParcelJoin { agent_data, parcel_data: ParcelJoinParcelData { west, south, east, north } }.into(),
    );
}

/// Asks for the parcel at a point.
fn ask(client: &mut Client, x: f32, y: f32) {
    let (agent_id, session_id) = ids(client);
    let message = ParcelPropertiesRequest {
        agent_data: ParcelPropertiesRequestAgentData { agent_id, session_id },
        parcel_data: ParcelPropertiesRequestParcelData {
            sequence_id: 7,
            west: x,
            south: y,
            east: x + 4.0,
            north: y + 4.0,
            snap_selection: true,
        },
    };
    client.send(&message.into());
}

fn update(client: &mut Client, local_id: i32, name: &str, flags: u32) {
    let (agent_id, session_id) = ids(client);
    let message = ParcelPropertiesUpdate {
        agent_data: ParcelPropertiesUpdateAgentData { agent_id, session_id },
        parcel_data: ParcelPropertiesUpdateParcelData {
            local_id,
            flags: 1,
            parcel_flags: flags,
            name: to_wire(name, VARIABLE1_MAX),
            landing_type: 2,
            ..ParcelPropertiesUpdateParcelData::default()
        },
    };
    client.send(&message.into());
}

fn allow(client: &mut Client, list: u32, users: &[&str]) {
    let (agent_id, session_id) = ids(client);
    let row = |name: &&str| ParcelAccessListUpdateList { id: agent(name).0, time: 0, flags: list };
    let message = ParcelAccessListUpdate {
        agent_data: ParcelAccessListUpdateAgentData { agent_id, session_id },
        data: ParcelAccessListUpdateData {
            flags: list,
            local_id: 1,
            sequence_id: 1,
            sections: 1,
            ..Default::default()
        },
        list: users.iter().map(row).collect(),
    };
    client.send(&message.into());
}

fn listed(client: &mut Client, list: u32) {
    let (agent_id, session_id) = ids(client);
    let message = ParcelAccessListRequest {
        agent_data: ParcelAccessListRequestAgentData { agent_id, session_id },
        data: ParcelAccessListRequestData { sequence_id: 3, flags: list, local_id: 1 },
    };
    client.send(&message.into());
}

/// Users in the newest list that a client got.
fn last_list(client: &Client) -> Vec<Uuid> {
    let mut lists = client.inbox.iter().filter_map(|message| match message {
        Message::ParcelAccessListReply(reply) => Some(reply.list.iter().map(|row| row.id).collect()),
        _ => None,
    });
    lists.next_back().expect("a reply")
}

/// Makes a box at a point of the region.
fn add_box(client: &mut Client, x: f32) {
    let (agent_id, session_id) = ids(client);
    let add = ObjectAdd {
        agent_data: ObjectAddAgentData { agent_id, session_id, group_id: Uuid::nil() },
        object_data: ObjectAddObjectData {
            p_code: 9,
            path_curve: 0x10,
            profile_curve: 1,
            path_scale_x: 100,
            path_scale_y: 100,
            scale: glam::Vec3::splat(0.5),
            rotation: glam::Quat::IDENTITY,
            ray_start: glam::Vec3::new(x, 30.0, 31.0),
            ray_end: glam::Vec3::new(x, 30.0, 21.0),
            bypass_raycast: 1,
            ..ObjectAddObjectData::default()
        },
    };
    client.send(&add.into());
}

fn text(parcel: &Llsd, key: &str) -> String {
    parcel.get(key).as_str().expect("a text").to_owned()
}

fn number(parcel: &Llsd, key: &str) -> i32 {
    parcel.get(key).as_i32().expect("a number")
}

#[test]
fn the_overlay_marks_the_land_of_the_receiver() {
    let (node, ada, bea) = node_of_two();
    let (own, others) = (overlay_of(&node.clients[ada]), overlay_of(&node.clients[bea]));
    assert_eq!((own.len(), others.len()), (4_096, 4_096));
    assert_eq!((own[0], own[64], own[65]), (0xC3, 0x43, 3), "edges in the west and south");
    assert_eq!((others[0], others[65]), (0xC1, 1));
}

#[test]
fn a_parcel_is_described_by_place_and_by_number() {
    let (mut node, ada, bea) = node_of_two();
    for client in [ada, bea] {
        parcels_of(&mut node, client);
        ask(&mut node.clients[client], 30.0, 30.0);
        node.run_ms(300);
        let parcels = parcels_of(&mut node, client);
        assert_eq!(parcels.len(), 1);
        let parcel = &parcels[0];
        assert_eq!((number(parcel, "LocalID"), number(parcel, "Area")), (1, 256 * 256));
        assert_eq!((number(parcel, "SequenceID"), number(parcel, "RequestResult")), (7, 0));
        assert_eq!(parcel.get("OwnerID").as_uuid(), Some(agent("Ada").0));
        assert_eq!(parcel.get("SnapSelection").as_bool(), Some(true));
        assert_eq!(
            parcel.get("Bitmap").as_binary().map(|bits| bits.iter().all(|&byte| byte == 0xFF)),
            Some(true)
        );
    }
    for (local_id, result) in [(1, 0), (2, -1), (-5, -1), (70_000, -1)] {
        let (agent_id, session_id) = ids(&node.clients[ada]);
        let agent_data = ParcelPropertiesRequestByIDAgentData { agent_id, session_id };
        let parcel_data = ParcelPropertiesRequestByIDParcelData { sequence_id: 9, local_id };
        node.clients[ada].send(&ParcelPropertiesRequestByID { agent_data, parcel_data }.into());
        node.run_ms(300);
        let parcels = parcels_of(&mut node, ada);
        assert_eq!((parcels.len(), number(&parcels[0], "RequestResult")), (1, result), "{local_id}");
    }
    ask(&mut node.clients[ada], 300.0, 30.0);
    node.run_ms(300);
    assert_eq!(number(&parcels_of(&mut node, ada)[0], "RequestResult"), -1, "outside the region");
}

#[test]
fn a_divided_parcel_has_its_own_properties_and_borders() {
    let (mut node, ada, bea) = node_of_two();
    divide(&mut node.clients[ada], [16.0, 16.0, 48.0, 32.0]);
    node.run_ms(1_500);
    let overlay = overlay_of(&node.clients[bea]);
    let at = |x: usize, y: usize| overlay[y * 64 + x];
    assert_eq!(
        (at(4, 4), at(5, 5), at(12, 4), at(4, 8)),
        (0xC1, 1, 0x41, 0x81),
        "lines in the west and south"
    );
    parcels_of(&mut node, bea);
    ask(&mut node.clients[bea], 20.0, 20.0);
    node.run_ms(300);
    let part = parcels_of(&mut node, bea).remove(0);
    assert_eq!((number(&part, "LocalID"), number(&part, "Area")), (2, 32 * 16));
    assert_eq!(part.get("AABBMin").as_vec3(), Some(glam::Vec3::new(16.0, 16.0, 0.0)));
    assert_eq!(number(&part, "MaxPrims"), MAX_OBJECTS as i32 / 128);
    // The former parcel is that of both avatars, and has another area.
    join(&mut node.clients[ada], [0.0, 0.0, 64.0, 64.0]);
    node.run_ms(1_500);
    let joined = overlay_of(&node.clients[bea]);
    assert_eq!((joined[4 * 64 + 4], joined.len()), (1, 4_096));
    divide(&mut node.clients[bea], [16.0, 16.0, 48.0, 32.0]);
    join(&mut node.clients[ada], [0.0, 0.0, 64.0, 64.0]);
    node.run_ms(1_000);
    assert!(is_refused(&node.clients[bea], LandRefusal::NotPermitted));
    assert!(is_refused(&node.clients[ada], LandRefusal::OneParcel));
}

#[test]
fn an_avatar_that_crosses_into_another_parcel_is_told_of_it() {
    let (mut node, ada, bea) = node_of_two();
    divide(&mut node.clients[ada], [144.0, 96.0, 160.0, 160.0]);
    node.run_ms(1_500);
    let crossed = |node: &mut Node| {
        let (seed, acked) = (node.clients[bea].seed, node.clients[bea].acked);
        let crate::hub::EventQueueAnswer::Poll(crate::hub::Poll::Ready(batch)) =
            node.hub.poll_events(seed, acked)
        else {
            return Vec::new();
        };
        let reply = batch.to_llsd();
        node.clients[bea].acked = reply.get("id").as_i32();
        let parcels =
            reply.get("events").as_array().iter().map(|event| event.get("body").get("ParcelData").at(0));
        parcels.map(|parcel| (number(parcel, "SequenceID"), number(parcel, "LocalID"))).collect::<Vec<_>>()
    };
    crossed(&mut node);
    node.clients[bea].control(link::ControlFlags::AT_POS);
    node.run_until(|node| node.position_in(HARBOUR, "Bea").is_some_and(|at| at.x > 165.0));
    node.run_ms(700);
    assert_eq!(crossed(&mut node), [(0, 2), (0, 1)], "in, and out again");
}

#[test]
fn an_owner_sets_a_parcel_and_gets_its_properties() {
    let (mut node, ada, bea) = node_of_two();
    parcels_of(&mut node, ada);
    update(&mut node.clients[ada], 1, "Meadow", ParcelFlags::NEW.0 | ParcelFlags::SOUND_LOCAL.0);
    node.run_ms(1_500);
    let parcels = parcels_of(&mut node, ada);
    assert_eq!(parcels.len(), 1, "that of the selection");
    assert_eq!(
        (text(&parcels[0], "Name").as_str(), number(&parcels[0], "SequenceID")),
        ("Meadow", OF_SELECTION)
    );
    assert_eq!(overlay_of(&node.clients[bea])[65], 0x21, "sounds stay inside");
}

#[test]
fn a_visitor_who_sets_a_parcel_gets_it_as_it_is() {
    let (mut node, _, bea) = node_of_two();
    parcels_of(&mut node, bea);
    update(&mut node.clients[bea], 1, "Mine", 0);
    node.run_ms(1_500);
    let parcels = parcels_of(&mut node, bea);
    assert_eq!((parcels.len(), text(&parcels[0], "Name").as_str()), (1, "Your Parcel"));
    assert_eq!(alerts(&node.clients[bea]), [LandRefusal::NotPermitted.to_string()]);
    update(&mut node.clients[bea], 9, "None", 0);
    node.run_ms(1_500);
    assert!(is_refused(&node.clients[bea], LandRefusal::UnknownParcel));
}

#[test]
fn lists_are_set_and_read_by_their_owner_only() {
    let (mut node, ada, bea) = node_of_two();
    allow(&mut node.clients[ada], 2, &["Cat", "Dan"]);
    node.run_ms(500);
    for (client, expected) in [(ada, vec![agent("Cat").0, agent("Dan").0]), (bea, Vec::new())] {
        listed(&mut node.clients[client], 2);
        node.run_ms(300);
        let mut found = last_list(&node.clients[client]);
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    allow(&mut node.clients[bea], 2, &["Ada"]);
    node.run_ms(500);
    assert!(is_refused(&node.clients[bea], LandRefusal::NotPermitted));
}

#[test]
fn a_banned_avatar_is_put_out_and_told_so() {
    let (mut node, ada, bea) = node_of_two();
    divide(&mut node.clients[ada], [144.0, 0.0, 256.0, 256.0]);
    node.run_ms(500);
    allow(&mut node.clients[ada], 2, &["Bea"]);
    node.run_ms(1_500);
    let at = node.position_in(HARBOUR, "Bea").expect("still in the region");
    assert!(at.x >= 144.0, "moved to the parcel that she may be on: {at}");
    assert!(alerts(&node.clients[bea]).iter().any(|alert| alert.contains("moved out")));
}

#[test]
fn a_capability_changes_a_parcel_by_the_clients_shard() {
    let (mut node, ada, bea) = node_of_two();
    parcels_of(&mut node, ada);
    let settings = ParcelSettings { name: "Quay".into(), ..ParcelSettings::new("") };
    let edit = || LandEdit::Parcel(ParcelNumber(1), ParcelEdit::Settings(Box::new(settings.clone())));
    for client in [ada, bea] {
        let circuit = node.hub.holder(node.clients[client].seed).expect("its secret").circuit;
        assert!(node.hub.edit_land(circuit, vec![edit()]));
        node.relay();
    }
    node.run_ms(1_500);
    assert_eq!(text(&parcels_of(&mut node, ada)[0], "Name"), "Quay");
    assert!(is_refused(&node.clients[bea], LandRefusal::NotPermitted));
}

#[test]
fn a_parcel_is_found_by_its_id() {
    let (mut node, _, bea) = node_of_two();
    let (agent_id, session_id) = ids(&node.clients[bea]);
    let dwell = ParcelDwellRequest {
        agent_data: ParcelDwellRequestAgentData { agent_id, session_id },
        data: ParcelDwellRequestData { local_id: 1, parcel_id: Uuid::nil() },
    };
    node.clients[bea].send(&dwell.into());
    let info = ParcelInfoRequest {
        agent_data: ParcelInfoRequestAgentData { agent_id, session_id },
        data: ParcelInfoRequestData { parcel_id: PARCEL },
    };
    node.clients[bea].send(&info.into());
    node.run_ms(300);
    let inbox = &node.clients[bea].inbox;
    let dwell = inbox.iter().find_map(|message| match message {
        Message::ParcelDwellReply(reply) => Some(reply.data.parcel_id),
        _ => None,
    });
    assert_eq!(dwell, Some(PARCEL));
    let info = inbox.iter().find_map(|message| match message {
        Message::ParcelInfoReply(reply) => Some(reply.data.clone()),
        _ => None,
    });
    let info = info.expect("a reply");
    assert_eq!(
        (info.owner_id, info.actual_area, from_wire(&info.name).as_str()),
        (agent("Ada").0, 65_536, "Your Parcel")
    );
}

#[test]
fn owners_of_objects_are_counted_by_parcel() {
    let (mut node, ada, _) = node_of_two();
    let (agent_id, session_id) = ids(&node.clients[ada]);
    for x in [30.0, 60.0, 90.0] {
        add_box(&mut node.clients[ada], x);
    }
    divide(&mut node.clients[ada], [0.0, 0.0, 48.0, 48.0]);
    node.run_ms(1_000);
    for (local_id, expected) in
        [(1, vec![(agent("Ada").0, 2)]), (2, vec![(agent("Ada").0, 1)]), (3, Vec::new())]
    {
        let agent_data = ParcelObjectOwnersRequestAgentData { agent_id, session_id };
        let parcel_data = ParcelObjectOwnersRequestParcelData { local_id };
        node.clients[ada].send(&ParcelObjectOwnersRequest { agent_data, parcel_data }.into());
        let agent_data = ParcelSelectObjectsAgentData { agent_id, session_id };
        let parcel_data = ParcelSelectObjectsParcelData { local_id, return_type: 2 };
        node.clients[ada]
            .send(&ParcelSelectObjects { agent_data, parcel_data, return_ids: Vec::new() }.into());
        node.run_ms(300);
        let rows = node.clients[ada].inbox.iter().rev().find_map(|message| match message {
            Message::ParcelObjectOwnersReply(reply) => {
                Some(reply.data.iter().map(|row| (row.owner_id, row.count)).collect::<Vec<_>>())
            }
            _ => None,
        });
        assert_eq!(rows, Some(expected.clone()), "parcel {local_id}");
        if local_id < 3 {
            let marked = node.clients[ada].inbox.iter().rev().find_map(|message| match message {
                Message::ForceObjectSelect(select) => Some(select.data.len() as i32),
                _ => None,
            });
            assert_eq!(marked, Some(expected[0].1), "parcel {local_id}");
        }
    }
}

#[test]
fn static_objects_count_on_the_parcel_where_they_stand() {
    let mut node = Node::with(Setup { landlord: Some("Ada"), boxes: 60, ..Setup::default() });
    let ada = node.enter("Ada");
    node.run_ms(1_000);
    divide(&mut node.clients[ada], [0.0, 0.0, 128.0, 256.0]);
    node.run_ms(1_000);
    parcels_of(&mut node, ada);
    let mut counts = Vec::new();
    for x in [30.0, 200.0] {
        ask(&mut node.clients[ada], x, 30.0);
        node.run_ms(300);
        let parcel = parcels_of(&mut node, ada).remove(0);
        counts.push((number(&parcel, "OtherPrims"), number(&parcel, "TotalPrims")));
    }
    let boxes = node.places.get(HARBOUR).ground().scenery.prims();
    let in_west = boxes.iter().filter(|object| object.position.x < 128.0).count() as i32;
    assert_eq!(counts, [(in_west, in_west), (60 - in_west, 60 - in_west)]);
}

#[test]
fn objects_are_returned_by_their_ids_if_the_sender_may() {
    let (mut node, ada, bea) = node_of_two();
    add_box(&mut node.clients[ada], 30.0);
    node.run_ms(500);
    let prims = |node: &Node| -> Vec<Uuid> {
        let replica = node.places.get(HARBOUR).scene.feed.current();
        replica.objects().entries().map(|(_, entry)| entry.body.id).collect()
    };
    let ids_of_prims = prims(&node);
    assert_eq!(ids_of_prims.len(), 1);
    for (client, n_left) in [(bea, 1), (ada, 0)] {
        let (agent_id, session_id) = ids(&node.clients[client]);
        let message = ParcelReturnObjects {
            agent_data: ParcelReturnObjectsAgentData { agent_id, session_id },
            parcel_data: ParcelReturnObjectsParcelData { local_id: -1, return_type: 1 },
            task_ids: ids_of_prims.iter().map(|&task_id| ParcelReturnObjectsTaskIDs { task_id }).collect(),
            owner_ids: Vec::new(),
        };
        node.clients[client].send(&message.into());
        node.run_ms(500);
        assert_eq!(prims(&node).len(), n_left);
    }
    assert_eq!(alerts(&node.clients[bea]).len(), 1, "she may not");
    assert_eq!(alerts(&node.clients[ada]).len(), 0);
}
