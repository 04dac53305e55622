//! Messages that clients send before their avatars have arrived, and in the middle of a teleport: each is carried out or answered.

use super::messages::{got, send};
use super::{events, follow};
use crate::coverage::Feature;
use crate::mail::Spot;
use crate::testing::{Client, HARBOUR, MEADOW, Node, Setup, agent};
use glam::Vec3;
use ids::Uuid;
use link::{Action, ChatKind, StaticObject};
use wire::messages::*;
use wire::text::from_wire;

/// Ticks between an avatar's entry and its arrival.
const DELAYS: [u64; 3] = [0, 1, 40];

fn teleport(client: &Client, region_handle: u64, position: Vec3) -> Message {
    TeleportLocationRequest {
        agent_data: TeleportLocationRequestAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        info: TeleportLocationRequestInfo { region_handle, position, look_at: Vec3::X },
    }
    .into()
}

fn instant_message(client: &Client, to: &str, text: &str) -> Message {
    ImprovedInstantMessage {
        agent_data: ImprovedInstantMessageAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        message_block: ImprovedInstantMessageMessageBlock {
            to_agent_id: agent(to).0,
            id: Uuid::from_u128(7),
            message: wire::text::to_wire(text, 1_024),
            ..ImprovedInstantMessageMessageBlock::default()
        },
        ..ImprovedInstantMessage::default()
    }
    .into()
}

fn set_home(client: &Client, position: Vec3) -> Message {
    SetStartLocationRequest {
        agent_data: SetStartLocationRequestAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        start_location_data: SetStartLocationRequestStartLocationData {
            location_pos: position,
            location_look_at: Vec3::X,
            ..SetStartLocationRequestStartLocationData::default()
        },
    }
    .into()
}

fn animation(client: &Client, id: Uuid) -> Message {
    AgentAnimation {
        agent_data: AgentAnimationAgentData { agent_id: client.agent.0, session_id: client.session_id.0 },
        animation_list: vec![AgentAnimationAnimationList { anim_id: id, start_anim: true }],
        ..AgentAnimation::default()
    }
    .into()
}

fn texts_heard(client: &Client) -> Vec<String> {
    client.heard().into_iter().map(|(_, text)| text).collect()
}

fn alerts(client: &Client) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::AlertMessage(alert) => Some(from_wire(&alert.alert_data.message)),
        _ => None,
    };
    client.inbox.iter().filter_map(text).collect()
}

/// Ada, who has just been sent RegionHandshake and whose avatar arrives `delay` ticks later; and Bob, who stands beside.
fn handshaken(delay: u64) -> (Node, usize, usize) {
    let mut node = Node::new();
    let bob = node.enter("Bob");
    node.lag_ticks = delay;
    let spot = node.spot(HARBOUR, 130.0, 128.0);
    let ada = node.login("Ada", spot);
    node.clients[ada].open();
    node.run_until(|node| node.clients[ada].got(RegionHandshake::NUMBER));
    assert!(!node.clients[ada].got(AgentMovementComplete::NUMBER), "the avatar is still to come");
    (node, ada, bob)
}

#[test]
fn chat_messages_and_a_teleport_sent_at_the_handshake_are_carried_out_on_arrival_in_order() {
    for delay in DELAYS {
        let (mut node, ada, bob) = handshaken(delay);
        let client = &mut node.clients[ada];
        client.send_chat(ChatKind::Say, "first");
        let dance = Uuid::from_u128(0xDA9CE);
        let messages = [
            instant_message(client, "Bob", "hello Bob"),
            animation(client, dance),
            set_home(client, Vec3::new(77.0, 88.0, 22.0)),
        ];
        messages.iter().for_each(|message| client.send(message));
        client.send_chat(ChatKind::Say, "second");
        let message = instant_message(&node.clients[bob], "Ada", "hello Ada");
        node.clients[bob].send(&message);
        let handle = node.places.get(HARBOUR).handle.0;
        let message = teleport(&node.clients[ada], handle, Vec3::new(200.0, 60.0, 22.0));
        node.clients[ada].send(&message);

        node.run_until(|node| node.clients[ada].got(TeleportLocal::NUMBER));
        node.run_ms(4_000);
        assert_eq!(texts_heard(&node.clients[bob]), ["first", "second"], "delay {delay}");
        assert_eq!(texts_heard(&node.clients[ada]), ["first", "second"], "delay {delay}");
        let texts = |client| got(&node, client).into_iter().map(|(.., text)| text).collect::<Vec<String>>();
        assert_eq!((texts(bob), texts(ada)), (vec!["hello Bob".into()], vec!["hello Ada".into()]));
        let animated = |message: &Message| match message {
            Message::AvatarAnimation(all) => {
                all.sender.id == agent("Ada").0 && all.animation_list.iter().any(|row| row.anim_id == dance)
            }
            _ => false,
        };
        assert!(node.clients[bob].count(animated) > 0, "delay {delay}");
        let homes: Vec<f32> = node.records.iter().filter_map(home_x).collect();
        assert_eq!(homes, [77.0], "delay {delay}");
        assert!(alerts(&node.clients[ada]).contains(&"Home position set.".to_owned()), "delay {delay}");
        let at = node.position_in(HARBOUR, "Ada").expect("here");
        assert!(at.truncate().distance(glam::Vec2::new(200.0, 60.0)) < 1.0, "delay {delay}: {at}");
        assert!(node.clients[ada].got(TeleportStart::NUMBER));
    }
}

fn home_x(record: &crate::hub::Record) -> Option<f32> {
    match record {
        crate::hub::Record::Home(_, Spot { position, .. }) => Some(position.x),
        crate::hub::Record::LastLocation(..) | crate::hub::Record::Appearance(..) => None,
    }
}

#[test]
fn a_teleport_to_another_region_sent_at_the_handshake_begins_on_arrival() {
    for delay in DELAYS {
        let (mut node, ada, _) = handshaken(delay);
        let handle = node.places.get(MEADOW).handle.0;
        let message = teleport(&node.clients[ada], handle, Vec3::new(300.0, 200.0, 22.0));
        node.clients[ada].send(&message);
        node.run_until(|node| node.clients[ada].got(TeleportStart::NUMBER));
        assert!(node.clients[ada].got(AgentMovementComplete::NUMBER));
        follow(&mut node, ada);
        assert_eq!(node.avatars_in(MEADOW), 1, "delay {delay}");
    }
}

#[test]
fn a_request_to_sit_sent_at_the_handshake_seats_the_avatar_on_its_arrival() {
    for delay in DELAYS {
        let mut node = Node::with(Setup { boxes: 60, ..Setup::default() });
        let inside = |standing: &&StaticObject| (10.0..246.0).contains(&standing.position.x);
        let object = node.scenery(HARBOUR).prims().iter().find(inside).expect("a box").clone();
        node.lag_ticks = delay;
        let spot = node.spot(HARBOUR, object.position.x + 3.0, object.position.y);
        let ada = node.login("Ada", spot);
        node.clients[ada].open();
        node.run_until(|node| node.clients[ada].got(RegionHandshake::NUMBER));
        assert!(!node.clients[ada].got(AgentMovementComplete::NUMBER), "the avatar is still to come");
        let client = &mut node.clients[ada];
        let request = AgentRequestSit {
            agent_data: AgentRequestSitAgentData {
                agent_id: client.agent.0,
                session_id: client.session_id.0,
            },
            target_object: AgentRequestSitTargetObject { target_id: object.prim.id, offset: Vec3::ZERO },
        };
        client.send(&request.into());
        node.run_until(|node| node.clients[ada].got(AvatarSitResponse::NUMBER));
        assert!(node.clients[ada].got(AgentMovementComplete::NUMBER), "delay {delay}");
        assert_eq!(alerts(&node.clients[ada]), [""; 0], "delay {delay}");
        node.run_ms(4_000);
        let at = node.position_in(HARBOUR, "Ada").expect("here");
        assert!(at.truncate().distance(object.position.truncate()) < 0.1, "delay {delay}: {at}");
    }
}

#[test]
fn messages_before_the_movement_into_the_region_are_carried_out() {
    let mut node = Node::new();
    let bob = node.enter("Bob");
    let spot = node.spot(HARBOUR, 130.0, 128.0);
    let ada = node.login("Ada", spot);
    node.clients[ada].manners.moves_in = false;
    node.clients[ada].open();
    node.clients[ada].send_chat(ChatKind::Say, "early");
    node.run_ms(300);
    assert_eq!(texts_heard(&node.clients[bob]), [""; 0]);
    node.clients[ada].complete_movement();
    node.run_until(|node| !texts_heard(&node.clients[bob]).is_empty());
    assert_eq!(texts_heard(&node.clients[bob]), ["early"]);
}

#[test]
fn a_message_to_a_session_that_has_not_opened_its_circuit_is_delivered_on_arrival() {
    let mut node = Node::new();
    let bob = node.enter("Bob");
    let spot = node.spot(HARBOUR, 130.0, 128.0);
    let ada = node.login("Ada", spot);
    send(&mut node, bob, agent("Ada"), 0, "welcome");
    assert_eq!((got(&node, ada).len(), got(&node, bob).len()), (0, 0));
    node.clients[ada].open();
    node.run_until(|node| !got(node, ada).is_empty());
    let arrived = node.clients[ada].arrivals.iter().position(|a| a.number == AgentMovementComplete::NUMBER);
    let delivered =
        node.clients[ada].arrivals.iter().position(|a| a.number == ImprovedInstantMessage::NUMBER);
    assert!(arrived.expect("arrived") < delivered.expect("delivered"));
}

/// Messages that notices to a client say were not carried out.
fn n_refused(client: &Client) -> usize {
    let number = |text: String| -> Option<usize> {
        let (_, number) = text.rsplit_once("Messages not carried out: ")?;
        number.trim_end_matches('.').parse().ok()
    };
    alerts(client).into_iter().filter_map(number).sum()
}

#[test]
fn of_more_messages_than_are_held_at_the_handshake_each_is_carried_out_or_in_a_notice() {
    for delay in DELAYS {
        let (mut node, ada, bob) = handshaken(delay);
        for n in 0..100 {
            let message = instant_message(&node.clients[ada], "Bob", &n.to_string());
            node.clients[ada].send(&message);
        }
        node.run_ms(6_000);
        let arrived: Vec<String> = got(&node, bob).into_iter().map(|(.., text)| text).collect();
        let n_lost = 100 - arrived.len();
        // As many as a client may say at once, and what the following ticks allow.
        assert!(arrived.len() >= 20, "delay {delay}: {arrived:?}");
        assert_eq!(n_refused(&node.clients[ada]), n_lost, "delay {delay}: {:?}", alerts(&node.clients[ada]));
        assert_eq!(node.drops("flood"), n_lost as u64, "delay {delay}");
    }
}

#[test]
fn a_flood_of_chat_or_of_teleports_is_answered() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    (0..30).for_each(|n| node.clients[ada].send_chat(ChatKind::Say, &n.to_string()));
    node.run_ms(300);
    assert_eq!((alerts(&node.clients[ada]).len(), node.drops("flood")), (1, 10));
    node.run_ms(1_000);
    assert_eq!((alerts(&node.clients[ada]).len(), n_refused(&node.clients[ada])), (2, 10));

    node.run_ms(2_000);
    events(&mut node, ada);
    for _ in 0..300 {
        let message = teleport(&node.clients[ada], 0, Vec3::ZERO);
        node.clients[ada].send(&message);
        // The limit of unacked messages of a circuit.
        node.run_ms(1);
    }
    node.run_ms(1_000);
    let failed = events(&mut node, ada);
    let too_many = |(name, body): &(String, wire::llsd::Llsd)| {
        let reason = body.get("Info").at(0).get("Reason").as_str().unwrap_or_default().to_owned();
        name == "TeleportFailed" && reason.contains("too much")
    };
    assert!(failed.iter().any(too_many), "{failed:?}");
}

#[test]
fn messages_on_the_circuit_that_a_teleport_left_act_where_the_avatar_is_now() {
    let mut node = Node::new();
    let spot = node.spot(MEADOW, 302.0, 200.0);
    let bob = node.enter_at("Bob", spot);
    let ada = node.enter("Ada");
    let handle = node.places.get(MEADOW).handle.0;
    let message = teleport(&node.clients[ada], handle, Vec3::new(300.0, 200.0, 22.0));
    node.clients[ada].send(&message);
    node.run_until(|node| node.clients[ada].got(TeleportStart::NUMBER));
    let there = follow(&mut node, ada);
    // The client learns only now that it has arrived; these were on their way.
    let old = &mut node.clients[ada];
    old.send_chat(ChatKind::Say, "over the old circuit");
    let messages = [instant_message(old, "Bob", "and this"), set_home(old, Vec3::new(55.0, 66.0, 22.0))];
    messages.iter().for_each(|message| old.send(message));
    node.run_ms(500);
    assert_eq!(texts_heard(&node.clients[bob]), ["over the old circuit"]);
    assert_eq!(texts_heard(&node.clients[there]), ["over the old circuit"]);
    assert_eq!(got(&node, bob).len(), 1);
    let home = node.records.iter().rev().find_map(|record| match record {
        crate::hub::Record::Home(_, spot) => Some(*spot),
        crate::hub::Record::LastLocation(..) | crate::hub::Record::Appearance(..) => None,
    });
    assert_eq!(home.map(|spot| (spot.place, spot.position.x)), Some((HARBOUR, 55.0)));
}

#[test]
fn requests_on_the_circuit_that_a_teleport_left_are_answered_on_the_new_one() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let handle = node.places.get(MEADOW).handle.0;
    let message = teleport(&node.clients[ada], handle, Vec3::new(300.0, 200.0, 22.0));
    node.clients[ada].send(&message);
    node.run_until(|node| node.clients[ada].got(TeleportStart::NUMBER));
    let there = follow(&mut node, ada);
    let alerts_before = alerts(&node.clients[there]).len();
    let old = &mut node.clients[ada];
    for name in
        [MessageName::AvatarPropertiesRequest, MessageName::MoneyBalanceRequest, MessageName::ActivateGroup]
    {
        old.send_bare(name);
    }
    old.send(&CloseCircuit {}.into());
    node.run_ms(1_000);
    let client = &node.clients[there];
    assert!(client.got(AvatarPropertiesReply::NUMBER) && client.got(MoneyBalanceReply::NUMBER));
    assert_eq!(alerts(client)[alerts_before..], [Feature::Groups.to_string()]);
    assert!(!node.clients[ada].got(MoneyBalanceReply::NUMBER), "the old circuit has ended");
    assert_eq!(node.avatars_in(MEADOW), 1, "the new one has not");
}

#[test]
fn changes_on_the_circuit_that_a_teleport_left_are_refused_and_change_no_other_region() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let handle = node.places.get(MEADOW).handle.0;
    let message = teleport(&node.clients[ada], handle, Vec3::new(300.0, 200.0, 22.0));
    node.clients[ada].send(&message);
    node.run_until(|node| node.clients[ada].got(TeleportStart::NUMBER));
    let there = follow(&mut node, ada);
    let old = &mut node.clients[ada];
    let agent_id = old.agent.0;
    let mut prim = ObjectAdd::default();
    (prim.agent_data.agent_id, prim.agent_data.session_id) = (agent_id, old.session_id.0);
    let divide = ParcelDivide {
        agent_data: ParcelDivideAgentData { agent_id, session_id: old.session_id.0 },
        ..ParcelDivide::default()
    };
    let effect = ViewerEffect {
        agent_data: ViewerEffectAgentData { agent_id, session_id: old.session_id.0 },
        effect: vec![ViewerEffectEffect { agent_id, ..ViewerEffectEffect::default() }],
    };
    let messages: [Message; 3] = [prim.into(), divide.into(), effect.into()];
    messages.iter().for_each(|message| old.send(message));
    node.run_ms(2_000);
    let refused = alerts(&node.clients[there]);
    let n = refused.iter().filter(|text| text.starts_with("You are in another place")).count();
    assert_eq!(n, 2, "{refused:?}");
    let is_late = |action: &Action| matches!(action, Action::Object(_) | Action::Land(_) | Action::Effect(_));
    assert!(!node.commands.iter().any(|(_, command)| is_late(&command.action)));
}

#[test]
fn messages_on_the_circuit_that_a_teleport_leads_to_wait_for_the_avatar() {
    for delay in DELAYS {
        let mut node = Node::new();
        let spot = node.spot(MEADOW, 302.0, 200.0);
        let bob = node.enter_at("Bob", spot);
        let ada = node.enter("Ada");
        let handle = node.places.get(MEADOW).handle.0;
        let message = teleport(&node.clients[ada], handle, Vec3::new(300.0, 200.0, 22.0));
        node.clients[ada].send(&message);
        node.run_until(|node| node.clients[ada].got(TeleportStart::NUMBER));
        node.lag_ticks = delay;
        let events = events(&mut node, ada);
        let (_, finish) = events.iter().rfind(|(name, _)| name == "TeleportFinish").expect("a teleport");
        let there = node.follow_teleport(ada, finish);
        node.run_until(|node| node.clients[there].got(RegionHandshake::NUMBER));
        node.clients[there].send_chat(ChatKind::Say, "on the new one");
        let message = instant_message(&node.clients[there], "Bob", "hello");
        node.clients[there].send(&message);
        node.run_until(|node| !texts_heard(&node.clients[bob]).is_empty());
        assert_eq!(texts_heard(&node.clients[bob]), ["on the new one"], "delay {delay}");
        assert_eq!(got(&node, bob).len(), 1, "delay {delay}");
    }
}
