//! Requests that a shard answers by itself, and those passed to the hub.

use crate::testing::{Client, HARBOUR, MEADOW, Node, OFFLINE_AGENT, Setup, agent};
use ids::Uuid;
use wire::messages::*;
use wire::text::from_wire;

fn last<T>(client: &Client, pick: impl Fn(&Message) -> Option<T>) -> T {
    client.inbox.iter().rev().find_map(pick).expect("an answer")
}

#[test]
fn objects_asked_for_are_shown_again_and_unknown_ones_are_killed() {
    let mut node = Node::new();
    let (ada, _) = (node.enter("Ada"), node.enter("Bob"));
    node.run_until(|node| node.clients[ada].sees("Bob").is_some());
    let client = &mut node.clients[ada];
    let bob = agent("Bob").0;
    let (&bobs_id, _) = client.avatars.iter().find(|(_, seen)| seen.agent == bob).expect("seen");
    client.avatars.remove(&bobs_id);
    // As if it had been shown something that never was.
    client.avatars.insert(4_242, client.sees("Ada").expect("seen"));
    let row = |id| RequestMultipleObjectsObjectData { id, ..RequestMultipleObjectsObjectData::default() };
    let request = RequestMultipleObjects {
        agent_data: RequestMultipleObjectsAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        object_data: vec![row(bobs_id), row(4_242)],
    };
    client.send(&request.into());
    node.run_ms(500);
    let client = &node.clients[ada];
    assert_eq!(client.avatars.get(&bobs_id).map(|seen| seen.agent), Some(bob));
    assert!(!client.avatars.contains_key(&4_242));
}

#[test]
fn the_map_is_found_by_name_with_or_without_its_nul_and_in_any_case() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    for (name, expected) in [
        (&b"Meadow\0"[..], Some((1_004, 1_000))),
        (b"Meadow", Some((1_004, 1_000))),
        (b"mEAD", Some((1_004, 1_000))),
        (b"harbour\0", Some((1_000, 1_000))),
        (b"Atlantis\0", None),
    ] {
        let request = MapNameRequest {
            agent_data: MapNameRequestAgentData {
                agent_id: node.clients[ada].agent.0,
                session_id: node.clients[ada].session_id.0,
                flags: 2,
                ..MapNameRequestAgentData::default()
            },
            name_data: MapNameRequestNameData { name: name.to_vec() },
        };
        node.clients[ada].send(&request.into());
        node.run_ms(200);
        let rows = last(&node.clients[ada], |message| match message {
            Message::MapBlockReply(reply) => Some(reply.data.clone()),
            _ => None,
        });
        let found = (rows[0].access != 255).then_some((rows[0].x, rows[0].y));
        assert_eq!((rows.len(), found), (1, expected), "{name:?}");
    }
}

#[test]
fn more_rows_than_a_datagram_holds_come_in_several_replies() {
    let mut node = Node::with(Setup { isles: 13, ..Setup::default() });
    let ada = node.enter("Ada");
    let client = &mut node.clients[ada];
    let (agent_id, session_id) = (client.agent.0, client.session_id.0);
    let group = |n| UUIDGroupNameRequestUUIDNameBlock { id: Uuid::from_u128(n) };
    client.send(&UUIDGroupNameRequest { uuid_name_block: (0..70).map(group).collect() }.into());
    let texture = |n| AgentCachedTextureWearableData { id: Uuid::from_u128(n), texture_index: n as u8 };
    let agent_data = AgentCachedTextureAgentData { agent_id, session_id, serial_num: 3 };
    client.send(&AgentCachedTexture { agent_data, wearable_data: (0..66).map(texture).collect() }.into());
    node.run_ms(500);
    let (mut groups, mut textures) = (Vec::new(), Vec::new());
    for message in &node.clients[ada].inbox {
        match message {
            Message::UUIDGroupNameReply(m) => {
                groups.extend(m.uuid_name_block.iter().map(|row| row.id.as_u128()))
            }
            Message::AgentCachedTextureResponse(m) => {
                textures.extend(m.wearable_data.iter().map(|row| row.texture_index));
            }
            _ => {}
        }
    }
    assert!(groups.into_iter().eq(0..70) && textures.into_iter().eq(0..66));

    for (name, n_found) in [(None, 15), (Some("Isle"), 13)] {
        let client = &mut node.clients[ada];
        client.inbox.clear();
        match name {
            None => {
                let agent_data = MapBlockRequestAgentData { agent_id, session_id, ..Default::default() };
                let position_data =
                    MapBlockRequestPositionData { min_x: 0, max_x: 9_999, min_y: 0, max_y: 9_999 };
                client.send(&MapBlockRequest { agent_data, position_data }.into());
            }
            Some(name) => {
                let agent_data = MapNameRequestAgentData { agent_id, session_id, ..Default::default() };
                let name_data = MapNameRequestNameData { name: name.into() };
                client.send(&MapNameRequest { agent_data, name_data }.into());
            }
        }
        node.run_ms(500);
        let rows = |message: &Message| match message {
            Message::MapBlockReply(m) => m.data.len(),
            _ => 0,
        };
        assert_eq!(node.clients[ada].inbox.iter().map(rows).sum::<usize>(), n_found, "{name:?}");
    }
}

#[test]
fn the_region_describes_itself_before_any_avatar_moved() {
    let mut node = Node::new();
    let spot = node.spot(MEADOW, 300.0, 300.0);
    let ada = node.login("Ada", spot);
    node.clients[ada].open();
    node.run_ms(20);
    let ids = (agent("Ada").0, node.clients[ada].session_id.0);
    let request =
        RequestRegionInfo { agent_data: RequestRegionInfoAgentData { agent_id: ids.0, session_id: ids.1 } };
    node.clients[ada].send(&request.into());
    let request = AgentWearablesRequest {
        agent_data: AgentWearablesRequestAgentData { agent_id: ids.0, session_id: ids.1 },
    };
    node.clients[ada].send(&request.into());
    node.run_ms(15);
    let client = &node.clients[ada];
    assert!(client.got(AgentWearablesUpdate::NUMBER));
    let name = last(client, |message| match message {
        Message::RegionInfo(info) => Some(from_wire(&info.region_info.sim_name)),
        _ => None,
    });
    assert_eq!(name, "Meadow");
    assert!(client.arrivals.iter().filter(|a| a.number == RegionInfo::NUMBER).all(|a| a.reliable));
}

#[test]
fn every_requested_name_is_answered_even_an_unknown_one() {
    let mut node = Node::new();
    let (ada, _) = (node.enter("Ada"), node.enter("Bob"));
    let unknown = Uuid::from_u128(5);
    let mut ids = vec![agent("Bob").0, OFFLINE_AGENT.0, unknown];
    ids.extend((100..130).map(Uuid::from_u128));
    let row = |&id: &Uuid| UUIDNameRequestUUIDNameBlock { id };
    let request = UUIDNameRequest { uuid_name_block: ids.iter().map(row).collect() };
    node.clients[ada].send(&request.into());
    node.run_ms(200);
    let mut names = Vec::new();
    for message in &node.clients[ada].inbox {
        if let Message::UUIDNameReply(reply) = message {
            let name = |row: &UUIDNameReplyUUIDNameBlock| {
                (row.id, format!("{} {}", from_wire(&row.first_name), from_wire(&row.last_name)))
            };
            names.extend(reply.uuid_name_block.iter().map(name));
        }
    }
    // Present accounts come first, the others from the hub; each once.
    assert_eq!(names.iter().map(|(id, _)| *id).collect::<Vec<Uuid>>(), ids);
    let texts: Vec<&str> = names[..3].iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(texts, ["Bob Resident", "Grace Hopper", "Unknown User"]);
}

#[test]
fn the_parcel_is_described_in_the_event_queue() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let client = &mut node.clients[ada];
    let request = ParcelPropertiesRequest {
        agent_data: ParcelPropertiesRequestAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        parcel_data: ParcelPropertiesRequestParcelData {
            sequence_id: -50_000,
            ..ParcelPropertiesRequestParcelData::default()
        },
    };
    client.send(&request.into());
    node.run_ms(200);
    let events = crate::hub::tests::events(&mut node, ada);
    assert_eq!(events.len(), 1);
    let (name, body) = &events[0];
    assert_eq!(name, "ParcelProperties");
    let parcel = body.get("ParcelData").at(0);
    assert_eq!(parcel.get("SequenceID").as_i32(), Some(-50_000));
    assert_eq!(parcel.get("Area").as_i32(), Some(256 * 256));
}

#[test]
fn messages_that_only_servers_send_are_refused() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.clients[ada].send(&KickUser::default().into());
    node.clients[ada].send(&KillObject { object_data: Vec::new() }.into());
    node.run_ms(200);
    assert_eq!(node.drops("not_for_clients"), 2);
    assert_eq!(node.avatars_in(HARBOUR), 1);
}
