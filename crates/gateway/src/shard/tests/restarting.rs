//! A world panics under its visitors, and continues from a checkpoint.

use crate::hub::tests::follow;
use crate::mail::Spot;
use crate::testing::{HARBOUR, MEADOW, Node, Setup, agent};
use glam::Vec3;
use link::{Action, ChatKind, ControlFlags, StaticObject};
use wire::messages::*;

/// A visitor present at the checkpoint, and a later one; they display each other.
fn early_and_late(shards: usize) -> (Node, usize, usize) {
    let mut node = Node::with(Setup { shards, ..Setup::default() });
    let early = node.enter("Ada");
    node.await_checkpoint();
    let late = node.enter_at("Bob", node.spot(HARBOUR, 140.0, 120.0));
    node.run_until(|node| see_each_other(node, early, late));
    (node, early, late)
}

/// True if both are displayed to both at their true positions.
fn see_each_other(node: &Node, ada: usize, bob: usize) -> bool {
    [ada, bob].into_iter().all(|who| {
        let client = &node.clients[who];
        client.avatars.len() == 2
            && ["Ada", "Bob"].into_iter().all(|name| {
                let here = node.position_in(HARBOUR, name);
                client.sees(name).map(|seen| seen.position) == here
            })
    })
}

#[test]
fn an_avatar_that_came_after_the_checkpoint_enters_again_at_its_place() {
    for shards in [1, 2] {
        let (mut node, early, late) = early_and_late(shards);
        node.clients[late].control(ControlFlags::AT_POS);
        node.run_ms(1_000);
        node.clients[late].control(ControlFlags::default());
        node.run_ms(500);
        let stood = node.position_in(HARBOUR, "Bob").expect("is here");
        let arrivals = node.clients[late].count(|m| matches!(m, Message::AgentMovementComplete(_)));

        node.panic(HARBOUR);
        assert_eq!(node.avatars_in(HARBOUR), 1);
        node.run_ms(1_000);
        assert!(see_each_other(&node, early, late), "{shards} shards");
        let stands = node.position_in(HARBOUR, "Bob").expect("is here");
        assert!(stands.distance(stood) < 0.1, "{stood} and {stands}");
        let again = node.clients[late].count(|m| matches!(m, Message::AgentMovementComplete(_)));
        assert_eq!(again, arrivals, "it has not moved, for all that its viewer knows");
        assert_eq!(node.hub.n_sessions(), 2);
    }
}

#[test]
fn a_returning_avatar_is_missing_until_it_is_shown() {
    let (mut node, _, _) = early_and_late(1);
    let n_missing = |node: &Node| node.n_missing(HARBOUR);
    assert_eq!(n_missing(&node), 0);
    node.panic(HARBOUR);
    node.run_until(|node| n_missing(node) == 1);
    assert_eq!(node.avatars_in(HARBOUR), 1, "only the one of the checkpoint");
    node.run_until(|node| n_missing(node) == 0);
    assert_eq!(node.avatars_in(HARBOUR), 2);
}

/// A teleport offer, a request to sit and a line of chat, between the start of the new life and the avatar's return into it.
#[test]
fn requests_to_a_restarted_world_wait_for_the_avatar() {
    for wait_ms in [0, 500] {
        let mut node = Node::with(Setup { boxes: 60, ..Setup::default() });
        let inside = |object: &&StaticObject| (10.0..246.0).contains(&object.position.x);
        let object = node.scenery(HARBOUR).prims().iter().find(inside).expect("a box").clone();
        let spot = node.spot(HARBOUR, object.position.x + 3.0, object.position.y);
        let ada = node.enter_at("Ada", spot);
        node.await_checkpoint();
        let bob = node.enter_at("Bob", spot);
        node.run_ms(500);
        let stood = node.position_in(HARBOUR, "Bob").expect("is here");
        node.lag_ticks = 20;
        node.panic(HARBOUR);
        node.run_until(|node| node.n_missing(HARBOUR) == 1);
        node.run_ms(wait_ms);

        let client = &mut node.clients[bob];
        let (agent_id, session_id) = (client.agent.0, client.session_id.0);
        client.send_chat(ChatKind::Say, "still here");
        let offer = StartLure {
            agent_data: StartLureAgentData { agent_id, session_id },
            target_data: vec![StartLureTargetData { target_id: agent("Ada").0 }],
            ..StartLure::default()
        };
        client.send(&offer.into());
        let target_object = AgentRequestSitTargetObject { target_id: object.prim.id, offset: Vec3::ZERO };
        let agent_data = AgentRequestSitAgentData { agent_id, session_id };
        client.send(&AgentRequestSit { agent_data, target_object }.into());
        node.run_ms(100);
        assert_eq!(node.n_missing(HARBOUR), 1, "sent before the avatar is back");

        node.run_ms(4_000);
        let offered = node.clients[ada].inbox.iter().find_map(|message| match message {
            Message::ImprovedInstantMessage(m) if m.message_block.dialog == 22 => {
                Some(m.message_block.position)
            }
            _ => None,
        });
        let from = offered.unwrap_or_else(|| panic!("no offer {wait_ms} ms after the restart"));
        assert!(from.distance(stood) < 0.1, "{stood} and {from}");
        assert!(node.clients[bob].got(AvatarSitResponse::NUMBER), "{wait_ms} ms");
        assert!(!node.clients[bob].got(AlertMessage::NUMBER), "{wait_ms} ms");
        let heard: Vec<String> = node.clients[ada].heard().into_iter().map(|(_, text)| text).collect();
        assert_eq!(heard, ["still here"], "{wait_ms} ms");
        let sits = node.position_in(HARBOUR, "Bob").expect("is here");
        assert!(sits.truncate().distance(object.position.truncate()) < 0.1, "{sits}");
    }
}

#[test]
fn an_avatar_that_left_since_the_checkpoint_is_never_shown_again() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    node.await_checkpoint();
    node.clients[bob].log_out();
    node.run_ms(500);
    assert_eq!(node.clients[ada].sees("Bob"), None);
    let shown = node.shards[0].counters().full_sent;
    node.panic(HARBOUR);
    node.run_ms(1_000);
    assert_eq!((node.avatars_in(HARBOUR), node.clients[ada].avatars.len()), (1, 1));
    assert_eq!(node.shards[0].counters().full_sent, shown, "no avatar had to be shown anew");
}

/// Its leave was in the inbox when the world died, so only the hub knows.
#[test]
fn an_avatar_that_left_in_the_tick_of_the_panic_does_not_remain() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    node.await_checkpoint();
    node.run_until(|node| node.clients[ada].sees("Bob").is_some());
    node.poison(1, |action| matches!(action, Action::Leave));
    node.clients[bob].log_out();
    node.run_ms(1_000);
    node.dismiss(HARBOUR);
    node.run_ms(200);
    assert_eq!((node.panics, node.avatars_in(HARBOUR), node.clients[ada].avatars.len()), (1, 1, 1));
}

#[test]
fn requests_since_the_checkpoint_are_repeated() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter_at("Bob", node.spot(HARBOUR, 140.0, 120.0)));
    node.clients[ada].control(ControlFlags::AT_POS);
    node.await_checkpoint();
    // The checkpoint has Ada walking and Bob standing.
    node.clients[ada].control(ControlFlags::default());
    node.clients[bob].control(ControlFlags::SIT_ON_GROUND);
    node.clients[bob].control(ControlFlags::default());
    node.run_ms(500);
    node.panic(HARBOUR);
    node.run_ms(1_500);
    let place = node.position_in(HARBOUR, "Ada");
    node.run_ms(1_000);
    assert_eq!(node.position_in(HARBOUR, "Ada"), place, "she has let go of the key");
    node.clients[bob].control(ControlFlags::AT_POS);
    let seat = node.position_in(HARBOUR, "Bob");
    node.run_ms(1_000);
    assert_eq!(node.position_in(HARBOUR, "Bob"), seat, "who sits goes nowhere");
}

#[test]
fn an_arriving_avatar_arrives_although_the_world_panics() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.await_checkpoint();
    let bob = node.login("Bob", node.spot(HARBOUR, 140.0, 120.0));
    // The command that lets Bob in dies with the world.
    node.poison(1, |action| matches!(action, Action::Enter(_)));
    node.clients[bob].open();
    node.run_ms(2_000);
    assert_eq!(node.panics, 1);
    assert!(see_each_other(&node, ada, bob));
}

#[test]
fn an_avatar_without_room_is_sent_to_another_region() {
    let mut node = Node::with(Setup { world_max_avatars: 2, ..Setup::default() });
    node.enter("Ada");
    node.await_checkpoint();
    let bob = node.enter("Bob");
    node.panic(HARBOUR);
    node.crowd(1);
    node.run_ms(1_000);
    assert!(node.clients[bob].got(AlertMessage::NUMBER), "he is told so");
    follow(&mut node, bob);
    assert!(node.position_in(MEADOW, "Bob").is_some());
    assert_eq!(node.hub.n_sessions(), 2);
}

#[test]
fn the_other_world_notices_nothing() {
    let mut node = Node::new();
    node.enter("Ada");
    let meadow = Spot { place: MEADOW, position: Vec3::new(50.0, 50.0, 22.0), look_at: Vec3::X };
    let bob = node.enter_at("Bob", meadow);
    node.run_ms(1_000);
    let commands = node.commands.len();
    node.panic(HARBOUR);
    node.run_ms(1_000);
    let to_meadow = node.commands[commands..].iter().filter(|(world, _)| world.0 == 1).count();
    assert_eq!((to_meadow, node.clients[bob].avatars.len()), (0, 1));
}

/// A wish to be elsewhere in the harbour.
fn teleport(node: &Node, client: usize) -> Message {
    let client = &node.clients[client];
    TeleportLocationRequest {
        agent_data: TeleportLocationRequestAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        info: TeleportLocationRequestInfo {
            region_handle: node.places.get(HARBOUR).handle.0,
            position: Vec3::new(50.0, 60.0, 22.0),
            look_at: Vec3::X,
        },
    }
    .into()
}

#[test]
fn a_command_that_makes_the_world_panic_is_not_given_to_it_for_ever() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.await_checkpoint();
    let message = teleport(&node, ada);
    node.poison(usize::MAX, |action| matches!(action, Action::Teleport { .. }));
    node.clients[ada].send(&message);
    node.run_ms(3_000);
    assert_eq!(node.panics, 2, "it may be what the world died of");
    assert!(!node.clients[ada].got(TeleportLocal::NUMBER));
    node.poison(0, |_| false);
    node.clients[ada].send(&message);
    node.run_until(|node| node.clients[ada].got(TeleportLocal::NUMBER));
}

#[test]
fn a_teleport_that_a_panic_swallowed_is_carried_out_by_the_next_life() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.await_checkpoint();
    let message = teleport(&node, ada);
    node.poison(1, |action| matches!(action, Action::Teleport { .. }));
    node.clients[ada].send(&message);
    node.run_until(|node| node.clients[ada].got(TeleportLocal::NUMBER));
}
