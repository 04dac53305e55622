//! Properties, edits and contents of objects.

use super::{alerts, furnished, last, seen_object};
use crate::coverage::Feature;
use crate::hub::tests::events;
use crate::testing::{HARBOUR, MAX_OBJECTS, Node};
use glam::Vec3;
use grid::inventory::LIBRARY_OWNER;
use std::collections::BTreeSet;
use wire::messages::*;
use wire::text::from_wire;

#[test]
fn an_edited_object_is_sent_again_as_it_is_with_its_properties() {
    let (mut node, ada) = furnished();
    let client = &mut node.clients[ada];
    let (id, unknown) = (seen_object(client), 4_242_424);
    let (position, times) = client.objects[&id];
    let row =
        |object_local_id| MultipleObjectUpdateObjectData { object_local_id, r#type: 1, data: vec![0; 12] };
    let message = MultipleObjectUpdate {
        agent_data: MultipleObjectUpdateAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        object_data: vec![row(id), row(unknown)],
    };
    client.objects.insert(id, (Vec3::ZERO, times));
    client.objects.insert(unknown, (Vec3::ZERO, 1));
    client.send(&message.into());
    node.run_ms(1_000);
    let client = &node.clients[ada];
    assert_eq!(client.objects[&id], (position, times + 1));
    assert!(!client.objects.contains_key(&unknown), "an object that does not exist is killed");
    let properties = last(client, |message| match message {
        Message::ObjectProperties(m) => Some(m.object_data.clone()),
        _ => None,
    });
    assert_eq!(properties.len(), 1);
    let row = &properties[0];
    let owners = (row.owner_id, row.creator_id, row.last_owner_id);
    assert_eq!(
        (from_wire(&row.name).as_str(), owners),
        ("Box", (LIBRARY_OWNER, LIBRARY_OWNER, LIBRARY_OWNER))
    );
    assert_eq!(alerts(client), [Feature::Building.to_string()]);
}

#[test]
fn properties_come_for_many_objects_in_datagrams_that_fit() {
    let (mut node, ada) = furnished();
    let client = &mut node.clients[ada];
    let ids: Vec<u32> = client.objects.keys().copied().collect();
    let object_data = ids.iter().map(|&object_local_id| ObjectSelectObjectData { object_local_id }).collect();
    let agent_data = ObjectSelectAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    client.send(&ObjectSelect { agent_data, object_data }.into());
    node.run_ms(2_000);
    let mut objects = BTreeSet::new();
    for message in &node.clients[ada].inbox {
        if let Message::ObjectProperties(m) = message {
            objects.extend(m.object_data.iter().map(|row| row.object_id));
        }
    }
    assert_eq!(objects.len(), ids.len());
}

#[test]
fn one_object_capacity_is_stated_everywhere() {
    let (mut node, ada) = furnished();
    events(&mut node, ada);
    let ids = (node.clients[ada].agent.0, node.clients[ada].session_id.0);
    node.clients[ada].send(&EconomyDataRequest {}.into());
    let agent_data = RequestRegionInfoAgentData { agent_id: ids.0, session_id: ids.1 };
    node.clients[ada].send(&RequestRegionInfo { agent_data }.into());
    let mut parcel = ParcelPropertiesRequest::default();
    (parcel.agent_data.agent_id, parcel.agent_data.session_id) = ids;
    parcel.parcel_data.sequence_id = 7;
    node.clients[ada].send(&parcel.into());
    node.run_until(|node| node.clients[ada].got(SimStats::NUMBER));
    node.run_ms(500);
    let client = &node.clients[ada];
    let economy = last(client, |message| match message {
        Message::EconomyData(m) => Some((m.info.object_capacity, m.info.object_count)),
        _ => None,
    });
    let region = last(client, |message| match message {
        Message::RegionInfo(m) => Some(m.region_info2.hard_max_objects),
        _ => None,
    });
    let stats = last(client, |message| match message {
        Message::SimStats(m) => Some(m.region.object_capacity),
        _ => None,
    });
    let told = events(&mut node, ada);
    let (_, parcel) = told.iter().find(|(name, _)| name == "ParcelProperties").expect("a parcel");
    let parcel = parcel.get("ParcelData").at(0);
    let stated = |key| parcel.get(key).as_i32();
    let capacity = node.places.get(HARBOUR).scene.object_capacity();
    assert_eq!(economy, (capacity as i32, 60));
    assert_eq!((region, stats, capacity), (capacity, capacity, 60 + MAX_OBJECTS));
    assert_eq!((stated("MaxPrims"), stated("SimWideMaxPrims")), (Some(economy.0), Some(economy.0)));
    assert_eq!((stated("TotalPrims"), stated("SimWideTotalPrims")), (Some(60), Some(60)));
}

#[test]
fn an_edit_of_one_client_is_shown_to_no_other() {
    let (mut node, ada) = furnished();
    let bob = node.enter("Bob");
    node.run_until(|node| !node.clients[bob].objects.is_empty());
    node.run_ms(2_000);
    let before = node.clients[bob].objects.clone();
    let id = *before.keys().find(|id| node.clients[ada].objects.contains_key(id)).expect("both see it");
    let client = &mut node.clients[ada];
    let position = client.objects[&id];
    client.objects.insert(id, (Vec3::ZERO, position.1));
    let message = MultipleObjectUpdate {
        agent_data: MultipleObjectUpdateAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        object_data: vec![MultipleObjectUpdateObjectData {
            object_local_id: id,
            r#type: 1,
            data: vec![0; 12],
        }],
    };
    client.send(&message.into());
    node.run_ms(1_000);
    assert_eq!(node.clients[ada].objects[&id].0, position.0, "its author sees it as it is again");
    assert_eq!(node.clients[bob].objects, before, "no other client was sent anything of it");
}

#[test]
fn a_refused_change_of_contents_raises_their_version() {
    let (mut node, ada) = furnished();
    let version = |node: &mut Node| {
        let client = &mut node.clients[ada];
        let object_data = vec![ObjectSelectObjectData { object_local_id: seen_object(client) }];
        let agent_data = ObjectSelectAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
        client.send(&ObjectSelect { agent_data, object_data }.into());
        node.run_ms(300);
        last(&node.clients[ada], |message| match message {
            Message::ObjectProperties(m) => Some(m.object_data[0].inventory_serial),
            _ => None,
        })
    };
    let before = version(&mut node);
    let client = &mut node.clients[ada];
    let mut message = MoveTaskInventory::default();
    message.agent_data.agent_id = client.agent.0;
    message.agent_data.session_id = client.session_id.0;
    message.inventory_data.local_id = seen_object(client);
    client.send(&message.into());
    assert_eq!((before, version(&mut node)), (0, 1));
    assert_eq!(alerts(&node.clients[ada]), [Feature::Building.to_string()]);
}
