//! The estate: region settings come to all, lists to those who manage it.

use super::*;
use crate::coverage::Feature;
use crate::shard::tests::editing::{PLACE, make};
use crate::testing::agent;

/// Sends a method of the estate with its parameters.
fn method(client: &mut Client, method: &str, params: &[&str]) {
    let (agent_id, session_id) = ids(client);
    let row = |param: &&str| EstateOwnerMessageParamList { parameter: format!("{param}\0").into_bytes() };
    let message = EstateOwnerMessage {
        agent_data: EstateOwnerMessageAgentData { agent_id, session_id, transaction_id: Uuid::nil() },
        method_data: EstateOwnerMessageMethodData {
            method: format!("{method}\0").into_bytes(),
            invoice: Uuid::from_u128(77),
        },
        param_list: params.iter().map(row).collect(),
    };
    client.send(&message.into());
}

fn last_handshake(client: &Client) -> RegionHandshakeRegionInfo {
    let handshakes = client.inbox.iter().rev().find_map(|message| match message {
        Message::RegionHandshake(handshake) => Some(handshake.region_info.clone()),
        _ => None,
    });
    handshakes.expect("a handshake")
}

/// Ids in the newest message of a list of the estate.
fn last_list(client: &Client, kind: u32) -> Option<Vec<Uuid>> {
    client.inbox.iter().rev().find_map(|message| {
        let Message::EstateOwnerMessage(m) = message else { return None };
        let params: Vec<&[u8]> = m.param_list.iter().map(|row| row.parameter.as_slice()).collect();
        let is_it =
            from_wire(&m.method_data.method) == "setaccess" && from_wire(params[1]) == kind.to_string();
        is_it.then(|| params[6..].iter().map(|id| Uuid::from_slice(id).expect("16 bytes")).collect())
    })
}

fn count_info(client: &Client) -> usize {
    client.count(|message| {
        matches!(message, Message::EstateOwnerMessage(m) if from_wire(&m.method_data.method) == "estateupdateinfo")
    })
}

#[test]
fn settings_of_the_region_come_to_all_clients() {
    let (mut node, ada, bea) = node_of_two();
    let handshake = last_handshake(&node.clients[ada]);
    assert_eq!((handshake.sim_owner, handshake.is_estate_manager), (agent("Ada").0, true));
    assert!(!last_handshake(&node.clients[bea]).is_estate_manager);
    method(&mut node.clients[ada], "setregionterrain", &["12.5", "4", "-4", "N", "N", "0", "N", "N", "0"]);
    method(&mut node.clients[ada], "setregioninfo", &["Y", "Y", "N", "Y", "30", "1", "21", "N", "Y"]);
    node.run_ms(1_500);
    for client in [ada, bea] {
        let handshake = last_handshake(&node.clients[client]);
        assert_eq!((handshake.water_height, handshake.sim_access), (12.5, 21));
        assert_ne!(handshake.region_flags & (1 << 6 | 1 << 19), 0, "no terraforming, no flying");
    }
    let (agent_id, session_id) = ids(&node.clients[bea]);
    let agent_data = RequestRegionInfoAgentData { agent_id, session_id };
    node.clients[bea].send(&RequestRegionInfo { agent_data }.into());
    node.run_ms(300);
    let info = node.clients[bea].inbox.iter().rev().find_map(|message| match message {
        Message::RegionInfo(info) => Some(info.clone()),
        _ => None,
    });
    let info = info.expect("a reply");
    let limits = (info.region_info.terrain_raise_limit, info.region_info.terrain_lower_limit);
    assert_eq!((limits, info.region_info2.max_agents32), ((4.0, -4.0), 30));
}

#[test]
fn textures_are_set_when_they_are_committed() {
    let (mut node, ada, bea) = node_of_two();
    let texture = Uuid::from_u128(0xF00D);
    let before = last_handshake(&node.clients[bea]);
    method(&mut node.clients[ada], "texturedetail", &[&format!("1 {texture}")]);
    method(&mut node.clients[ada], "textureheights", &["0 5 25", "3 6 26"]);
    node.run_ms(1_000);
    assert_eq!(last_handshake(&node.clients[bea]), before);
    method(&mut node.clients[ada], "texturecommit", &[]);
    node.run_ms(1_000);
    let after = last_handshake(&node.clients[bea]);
    assert_eq!((after.terrain_detail0, after.terrain_detail1), (before.terrain_detail0, texture));
    assert_eq!((after.terrain_start_height00, after.terrain_height_range11), (5.0, 26.0));
}

#[test]
fn lists_are_for_those_who_manage_the_estate_and_follow_changes() {
    let (mut node, ada, bea) = node_of_two();
    for client in [ada, bea] {
        method(&mut node.clients[client], "getinfo", &[]);
    }
    node.run_ms(500);
    assert_eq!([ada, bea].map(|client| count_info(&node.clients[client])), [1, 1]);
    assert_eq!(last_list(&node.clients[ada], 4), Some(Vec::new()));
    assert_eq!(last_list(&node.clients[bea], 4), None);
    let cat = agent("Cat").0;
    method(&mut node.clients[ada], "estateaccessdelta", &["1", "64", &cat.to_string()]);
    node.run_ms(1_000);
    assert_eq!(last_list(&node.clients[ada], 4), Some(vec![cat]));
    assert_eq!(last_list(&node.clients[bea], 4), None);
    assert_eq!(count_info(&node.clients[bea]), 2, "her window shows the newest settings");
    method(&mut node.clients[ada], "estateaccessdelta", &["1", "128", &cat.to_string()]);
    node.run_ms(1_000);
    assert_eq!(last_list(&node.clients[ada], 4), Some(Vec::new()));
}

#[test]
fn a_visitor_changes_nothing_and_is_told_so() {
    let (mut node, _, bea) = node_of_two();
    let before = last_handshake(&node.clients[bea]);
    method(&mut node.clients[bea], "setregioninfo", &["Y", "Y", "N", "Y", "30", "1", "21", "N", "Y"]);
    method(&mut node.clients[bea], "simulatormessage", &["-1", "-1", "", "Bea", "Hello"]);
    node.run_ms(1_500);
    assert_eq!(last_handshake(&node.clients[bea]), before);
    let alerts = alerts(&node.clients[bea]);
    assert!(
        alerts.iter().all(|alert| alert.starts_with(&LandRefusal::NotPermitted.to_string())),
        "{alerts:?}"
    );
    assert_eq!(alerts.len(), 2, "one at once, one for the second");
}

#[test]
fn a_text_of_the_estate_is_shown_to_all_visitors() {
    let (mut node, ada, bea) = node_of_two();
    method(&mut node.clients[ada], "simulatormessage", &["-1", "-1", "", "Ada", "Tea is ready"]);
    node.run_ms(500);
    for client in [ada, bea] {
        let shown = node.clients[client].count(|message| {
            matches!(message, Message::AgentAlertMessage(alert)
                if from_wire(&alert.alert_data.message) == "Ada Resident: Tea is ready")
        });
        assert_eq!(shown, 1);
    }
}

#[test]
fn parameters_that_are_none_are_dropped_and_other_methods_refused() {
    let (mut node, ada, _) = node_of_two();
    let wrong: [(&str, &[&str]); 6] = [
        ("setregioninfo", &["Y"]),
        ("setregionterrain", &["deep", "1", "1", "N", "N", "0"]),
        ("texturedetail", &["9 x"]),
        ("estateaccessdelta", &["1", "64"]),
        ("estateaccessdelta", &["1", "0", "00000000-0000-0000-0000-000000000001"]),
        ("estatechangecovenantid", &["x"]),
    ];
    for (name, params) in wrong {
        method(&mut node.clients[ada], name, params);
    }
    node.run_ms(500);
    assert_eq!(node.drops("bad_value"), wrong.len() as u64);
    method(&mut node.clients[ada], "deleteallparcels", &[]);
    node.run_ms(500);
    assert!(alerts(&node.clients[ada]).contains(&Feature::Estate.to_string()));
}

#[test]
fn a_manager_restarts_the_region_and_its_visitors_get_notices() {
    let (mut node, ada, bea) = node_of_two();
    let harbour = node.places.get(HARBOUR).world();
    method(&mut node.clients[bea], "restart", &["0"]);
    node.run_ms(2_500);
    assert!(is_refused(&node.clients[bea], LandRefusal::NotPermitted));
    assert_eq!(node.restarts, []);
    for wrong in ["soon", "NaN", "100000", ""] {
        method(&mut node.clients[ada], "restart", &[wrong]);
    }
    node.run_ms(500);
    assert_eq!((node.drops("bad_value"), &node.restarts[..]), (4, &[][..]));
    [ada, bea].iter().for_each(|&client| node.clients[client].inbox.clear());
    method(&mut node.clients[ada], "restart", &["35"]);
    node.run_ms(33_000);
    let before = ["35 seconds", "30 seconds", "15 seconds", "5 seconds"];
    let before =
        before.map(|time| format!("This region restarts in {time}. You stay, and see a short pause."));
    assert_eq!((alerts(&node.clients[bea]), &node.restarts[..]), (before.to_vec(), &[][..]));
    node.run_ms(4_000);
    assert_eq!((node.restarts.as_slice(), alerts(&node.clients[bea]).len()), (&[harbour][..], 5));
    assert_eq!(alerts(&node.clients[ada]).last().map(String::as_str), Some("This region restarts now."));
    // A later order replaces an earlier one, and is taken back.
    [ada, bea].iter().for_each(|&client| node.clients[client].inbox.clear());
    for delay in ["5", "120", "-1", "-1"] {
        method(&mut node.clients[ada], "restart", &[delay]);
        node.run_ms(300);
    }
    node.run_ms(8_000);
    let shown = alerts(&node.clients[bea]);
    assert_eq!(
        shown[1..],
        [
            "This region restarts in 2 minutes. You stay, and see a short pause.",
            "The restart of this region is cancelled.",
        ]
    );
    assert_eq!(alerts(&node.clients[ada])[3..], ["No restart of this region is ordered."]);
    assert_eq!(node.restarts, [harbour]);
}

/// The newest telehub that a client was told of: object, name, and points of arrival.
fn telehub(client: &Client) -> Option<(Uuid, String, Vec<glam::Vec3>)> {
    client.inbox.iter().rev().find_map(|message| {
        let Message::TelehubInfo(m) = message else { return None };
        let points = m.spawn_point_block.iter().map(|row| row.spawn_point_pos).collect();
        Some((m.telehub_block.object_id, from_wire(&m.telehub_block.object_name), points))
    })
}

#[test]
fn a_telehub_is_an_object_with_points_beside_it_and_shown_to_those_who_change_it() {
    let (mut node, ada, bea) = node_of_two();
    method(&mut node.clients[ada], "telehub", &["info ui"]);
    node.run_ms(300);
    assert_eq!(telehub(&node.clients[ada]), Some((Uuid::nil(), String::new(), Vec::new())));
    let (hub, hub_id) = make(&mut node, ada, PLACE);
    let (point, _) = make(&mut node, ada, PLACE + glam::Vec3::X * 4.0);
    method(&mut node.clients[bea], "telehub", &["connect", &hub.to_string()]);
    node.run_ms(300);
    assert!(alerts(&node.clients[bea]).contains(&LandRefusal::NotPermitted.to_string()));
    method(&mut node.clients[ada], "telehub", &["connect", &hub.to_string()]);
    method(&mut node.clients[ada], "telehub", &["spawnpoint add", &point.to_string()]);
    method(&mut node.clients[ada], "telehub", &["spawnpoint add", "4242"]);
    node.run_ms(1_500);
    let (object, name, points) = telehub(&node.clients[ada]).expect("its window is open");
    assert_eq!((object, &*name, points.len()), (hub_id, "Primitive", 1));
    assert!(points[0].distance(glam::Vec3::X * 4.0) < 1e-3, "{points:?}");
    assert!(alerts(&node.clients[ada]).contains(&Feature::UnknownObject.to_string()));
    method(&mut node.clients[ada], "telehub", &["spawnpoint remove", "0"]);
    node.run_ms(1_500);
    assert_eq!(
        telehub(&node.clients[ada]).map(|(object, _, points)| (object, points.len())),
        Some((hub_id, 0))
    );
    method(&mut node.clients[ada], "telehub", &["delete"]);
    node.run_ms(1_500);
    assert_eq!(telehub(&node.clients[ada]).map(|(object, ..)| object), Some(Uuid::nil()));
}

#[test]
fn a_user_that_the_estate_bans_leaves_the_region_and_is_told_why() {
    let (mut node, ada, bea) = node_of_two();
    let banned = agent("Bea").0;
    method(&mut node.clients[ada], "estateaccessdelta", &["1", "64", &banned.to_string()]);
    node.run_ms(1_500);
    assert_eq!(node.avatars_in(HARBOUR), 1);
    let alerts = alerts(&node.clients[bea]);
    assert!(alerts.iter().any(|alert| alert.contains("does not admit you")), "{alerts:?}");
}

#[test]
fn managers_send_visitors_away_and_visitors_do_not() {
    let (mut node, ada, bea) = node_of_two();
    let bea_id = agent("Bea").0.to_string();
    method(&mut node.clients[bea], "kickestate", &[&agent("Ada").0.to_string()]);
    node.run_ms(500);
    assert!(is_refused(&node.clients[bea], LandRefusal::NotPermitted));
    assert_eq!(node.avatars_in(HARBOUR), 2);
    method(&mut node.clients[ada], "kickestate", &[&bea_id]);
    node.run_ms(1_000);
    assert_eq!(crate::hub::tests::kicked(&node, bea).as_deref(), Some("The estate has put you out."));
    assert_eq!(node.avatars_in(HARBOUR), 1);
    method(&mut node.clients[ada], "teleporthomeallusers", &[]);
    node.run_ms(1_000);
    assert_eq!(node.avatars_in(HARBOUR), 1, "its manager stays");
}
