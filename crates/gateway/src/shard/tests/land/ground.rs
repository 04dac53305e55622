//! The ground: it arrives patch by patch, and changed patches come to all.

use super::*;
use crate::coverage::Feature;
use crate::testing::agent;

const RAISE: u8 = 1;

/// Patches in LayerData that came since the inbox had this length.
fn patches_since(client: &Client, inbox: usize) -> Vec<(u16, u16)> {
    let mut patches = Vec::new();
    for message in &client.inbox[inbox..] {
        let Message::LayerData(layer) = message else { continue };
        let decoded = decode_patches(&layer.layer_data.data).expect("a whole field").1;
        patches.extend(decoded.into_iter().map(|patch| (patch.x, patch.y)));
    }
    patches.sort_unstable();
    patches
}

fn undo(client: &mut Client) {
    let (agent_id, session_id) = ids(client);
    client.send(&UndoLand { agent_data: UndoLandAgentData { agent_id, session_id } }.into());
}

#[test]
fn a_newcomer_gets_the_whole_ground_once_and_reliably() {
    let (mut node, ada, bea) = node_of_two();
    node.run_ms(5_000);
    for client in [ada, bea] {
        assert_eq!(patches_since(&node.clients[client], 0).len(), 256);
    }
    let arrivals = node.clients[ada].arrivals.iter();
    assert!(arrivals.filter(|arrival| arrival.number == LayerData::NUMBER).all(|arrival| arrival.reliable));
    assert_same_ground(&node, &[ada, bea]);
}

#[test]
fn a_stroke_reaches_all_clients_as_the_patches_that_it_changed() {
    let (mut node, ada, bea) = node_of_two();
    let before = [ada, bea].map(|client| node.clients[client].inbox.len());
    stroke(&mut node.clients[ada], RAISE, (120.0, 120.0), 5.0, 2.0);
    node.run_ms(1_000);
    for (client, inbox) in [ada, bea].into_iter().zip(before) {
        assert_eq!(patches_since(&node.clients[client], inbox), [(7, 7)]);
        let heights = ground_of(&node.clients[client])[&(7, 7)];
        assert!((heights[8 * 16 + 8] - 23.0).abs() < 0.2, "raised by two metres: {}", heights[8 * 16 + 8]);
    }
    assert_same_ground(&node, &[ada, bea]);
    assert_eq!(alerts(&node.clients[ada]), [""; 0]);
}

#[test]
fn a_newcomer_gets_the_ground_as_it_was_edited() {
    let (mut node, ada, _) = node_of_two();
    stroke(&mut node.clients[ada], RAISE, (40.0, 200.0), 9.0, 3.0);
    node.run_ms(500);
    let cat = node.enter("Cat");
    node.run_ms(3_000);
    assert_same_ground(&node, &[cat]);
    assert_eq!(patches_since(&node.clients[cat], 0).len(), 256, "no patch twice");
}

#[test]
fn a_visitor_edits_no_ground_and_is_told_so_once() {
    let (mut node, _, bea) = node_of_two();
    let inbox = node.clients[bea].inbox.len();
    stroke(&mut node.clients[bea], RAISE, (120.0, 120.0), 5.0, 2.0);
    node.run_ms(1_500);
    assert_eq!(alerts(&node.clients[bea]), [LandRefusal::NotPermitted.to_string()]);
    assert_eq!(patches_since(&node.clients[bea], inbox), []);
}

#[test]
fn the_last_stroke_is_taken_back_and_the_one_before_it_is_not() {
    let (mut node, ada, bea) = node_of_two();
    undo(&mut node.clients[ada]);
    node.run_ms(300);
    assert!(is_refused(&node.clients[ada], LandRefusal::NothingToUndo));
    stroke(&mut node.clients[ada], RAISE, (120.0, 120.0), 5.0, 2.0);
    node.run_ms(1_500);
    stroke(&mut node.clients[ada], RAISE, (40.0, 40.0), 5.0, 2.0);
    node.run_ms(500);
    undo(&mut node.clients[ada]);
    node.run_ms(1_000);
    let shown = ground_of(&node.clients[bea]);
    assert!(
        (shown[&(2, 2)][8 * 16 + 8] - 21.0).abs() < 0.2 && (shown[&(7, 7)][8 * 16 + 8] - 23.0).abs() < 0.2
    );
    assert_same_ground(&node, &[ada, bea]);
}

#[test]
fn every_client_ends_with_the_ground_of_the_world_under_loss() {
    let (mut node, ada, bea) = node_of_two();
    node.loss.percent = 25;
    for n in 0..40 {
        let at = (60.0 + (n % 5) as f32 * 11.0, 60.0 + (n / 5) as f32 * 9.0);
        stroke(&mut node.clients[ada], [RAISE, 2, 4][n % 3], at, 6.0, 0.7);
        node.run_ms(70);
    }
    node.loss.percent = 0;
    node.run_ms(10_000);
    assert_same_ground(&node, &[ada, bea]);
}

#[test]
fn clients_show_the_ground_of_a_world_that_panicked_as_it_is_after_its_restart() {
    let (mut node, ada, bea) = node_of_two();
    stroke(&mut node.clients[ada], RAISE, (120.0, 120.0), 5.0, 2.0);
    node.await_checkpoint();
    stroke(&mut node.clients[ada], RAISE, (40.0, 40.0), 5.0, 2.0);
    node.run_ms(500);
    node.panic(HARBOUR);
    node.run_ms(5_000);
    assert_same_ground(&node, &[ada, bea]);
    let shown = ground_of(&node.clients[bea]);
    assert!((shown[&(7, 7)][8 * 16 + 8] - 23.0).abs() < 0.2, "it was edited before the checkpoint");
}

#[test]
fn an_instance_behind_the_circuit_has_its_own_ground() {
    let (mut node, ada, _) = node_of_two();
    stroke(&mut node.clients[ada], RAISE, (120.0, 120.0), 5.0, 2.0);
    node.run_ms(1_000);
    let cave = node.instance("Cave", 256, 0, 10);
    let session = node.hub.session_of(agent("Ada")).expect("she is here");
    let inbox = node.clients[ada].inbox.len();
    assert!(node.hub.enter(node.now, session, cave.world, None).is_ok());
    node.relay();
    node.run_ms(5_000);
    assert_eq!(patches_since(&node.clients[ada], inbox).len(), 256);
    let shown = ground_of(&node.clients[ada]);
    assert!((shown[&(7, 7)][8 * 16 + 8] - 21.0).abs() < 0.2, "the ground of the instance");
    stroke(&mut node.clients[ada], RAISE, (120.0, 120.0), 5.0, 2.0);
    node.run_ms(1_000);
    assert_eq!(alerts(&node.clients[ada]), [Feature::Land.to_string()]);
}

#[test]
fn a_stroke_that_no_viewer_makes_is_dropped() {
    let (mut node, ada, _) = node_of_two();
    stroke(&mut node.clients[ada], 6, (120.0, 120.0), 5.0, 2.0);
    node.run_ms(500);
    assert_eq!(node.drops("bad_value"), 1);
    let (agent_id, session_id) = ids(&node.clients[ada]);
    let many = ModifyLand {
        agent_data: ModifyLandAgentData { agent_id, session_id },
        modify_block: ModifyLandModifyBlock { action: RAISE, brush_size: 1, seconds: 1.0, height: 0.0 },
        parcel_data: vec![ModifyLandParcelData::default(); 30],
        modify_block_extended: Vec::new(),
    };
    node.clients[ada].send(&many.into());
    node.run_ms(500);
    assert_eq!(node.drops("bad_value"), 2);
    // The second area is bad, and the first one stays as it is, too.
    let parcel_data =
        [-1, 70_000].map(|local_id| ModifyLandParcelData { local_id, east: 8.0, ..Default::default() });
    let half = ModifyLand {
        agent_data: ModifyLandAgentData { agent_id, session_id },
        modify_block: ModifyLandModifyBlock { action: RAISE, brush_size: 1, seconds: 1.0, height: 0.0 },
        parcel_data: parcel_data.to_vec(),
        modify_block_extended: Vec::new(),
    };
    node.clients[ada].send(&half.into());
    node.run_ms(500);
    assert_eq!(node.drops("bad_value"), 3);
    assert!(node.commands.iter().all(|(_, command)| !matches!(command.action, link::Action::Land(_))));
}
