//! Events of missions and health reach their audience.

use crate::testing::{HARBOUR, MEADOW, Node, agent};
use link::{Audience, Event, GameEvent};
use wire::messages::*;
use wire::text::from_wire;

fn notices(node: &Node, client: usize) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::AgentAlertMessage(notice) => Some(from_wire(&notice.alert_data.message)),
        _ => None,
    };
    node.clients[client].inbox.iter().filter_map(text).collect()
}

#[test]
fn missions_are_sent_to_every_visitor_or_to_one_and_health_to_its_owner() {
    let mut node = Node::new();
    let (ada, ben) = (node.enter("Ada"), node.enter("Ben"));
    let eve = node.enter_at("Eve", node.spot(MEADOW, 128.0, 128.0));
    let session = node.hub.session_of(agent("Ada")).expect("she is logged in");
    let mission = |audience, text: &str| {
        let event = GameEvent::Mission { mission: 0, done: 1, waypoints: 3, text: text.into() };
        Event::Game(audience, event)
    };
    let events = vec![
        mission(Audience::All, "Find the camp."),
        mission(Audience::Session(session), "Welcome."),
        Event::Game(Audience::Session(session), GameEvent::Health { points: 70 }),
    ];
    let world = node.places.get(HARBOUR).scene.world;
    node.send_events(world, events);
    node.run_ms(300);
    assert_eq!(notices(&node, ada), ["Find the camp.", "Welcome."]);
    assert_eq!(notices(&node, ben), ["Find the camp."]);
    assert_eq!(notices(&node, eve), [""; 0], "of another world");
    let health = |message: &Message| match message {
        Message::HealthMessage(health) => Some(health.health_data.health),
        _ => None,
    };
    let told: Vec<f32> = node.clients[ada].inbox.iter().filter_map(health).collect();
    assert_eq!(told, [70.0]);
    assert!(node.clients[ben].inbox.iter().all(|message| health(message).is_none()));
}
