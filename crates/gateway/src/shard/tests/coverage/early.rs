//! Changes of objects and land, touches, effects and worn things that a client asks for before its avatar is in the world: all wait, in their order.

use super::transfers::{self, rez, taken};
use super::wearing::{attach, items, wear};
use super::{alerts, outcomes};
use crate::coverage::MessageOutcome;
use crate::shard::tests::editing::{PLACE, add, make, move_to, node_of_two, rename};
use crate::shard::tests::effects::{look, looks, sounds};
use crate::shard::tests::land::stroke;
use crate::testing::{Client, HARBOUR, Node, Setup, agent};
use glam::{Vec2, Vec3};
use ids::{LocalId, Uuid};
use link::{GroundEdit, LandEdit};
use wire::messages::*;

/// Ticks between an avatar's entry and its arrival.
const DELAYS: [u64; 3] = [0, 1, 40];
/// Raises the ground.
const RAISE: u8 = 1;

/// Ada logs in once more: her circuit is open, and her avatar nowhere.
fn come_again(node: &mut Node, former: usize) -> usize {
    node.clients[former].log_out();
    node.run_ms(3_000);
    assert_eq!(node.position_in(HARBOUR, "Ada"), None);
    let spot = node.spot(HARBOUR, 130.0, 128.0);
    let ada = node.login("Ada", spot);
    node.clients[ada].manners.moves_in = false;
    node.clients[ada].open();
    ada
}

/// The client moves into the region, and its avatar arrives `delay` ticks later. Whatever it has sent before is carried out.
fn arrive(node: &mut Node, client: usize, delay: u64) {
    let before = node.commands.len();
    node.run_ms(300);
    assert_eq!(node.commands.len(), before, "nothing is carried out yet");
    node.lag_ticks = delay;
    node.clients[client].complete_movement();
    node.run_until(|node| node.clients[client].got(AgentMovementComplete::NUMBER));
    node.run_ms(6_000);
    assert_eq!(alerts(&node.clients[client]), [""; 0], "delay {delay}: nothing is refused");
}

fn send_all(client: &mut Client, messages: &[Message]) {
    messages.iter().for_each(|message| client.send(message));
}

fn n_done(node: &Node, name: &'static str) -> u64 {
    outcomes(node).get(&(name, MessageOutcome::Done)).copied().unwrap_or(0)
}

#[test]
fn early_changes_of_objects_are_carried_out_in_their_order() {
    for delay in DELAYS {
        let (mut node, former, _) = node_of_two();
        let (id, _) = make(&mut node, former, PLACE);
        let ada = come_again(&mut node, former);
        let client = &mut node.clients[ada];
        let messages = [
            Message::from(add(client, PLACE + Vec3::Y * 3.0, Uuid::nil())),
            move_to(client, id, PLACE + Vec3::X),
            rename(client, id, "first"),
            rename(client, id, "second"),
        ];
        send_all(client, &messages);
        arrive(&mut node, ada, delay);
        let replica = node.places.get(HARBOUR).scene.feed.current();
        let objects = replica.objects();
        let moved = objects.get(LocalId(id)).expect("it stays");
        assert_eq!((moved.position, &*moved.body.names.name), (PLACE + Vec3::X, "second"), "delay {delay}");
        assert_eq!(objects.entries().count(), 2, "delay {delay}: one is new");
    }
}

#[test]
fn early_touches_and_effects_take_place() {
    for delay in DELAYS {
        let (mut node, former, bea) = node_of_two();
        let (local_id, _) = make(&mut node, former, PLACE);
        let ada = come_again(&mut node, former);
        node.clients[bea].inbox.clear();
        let client = &mut node.clients[ada];
        let (agent_id, session_id) = (client.agent.0, client.session_id.0);
        let grab = ObjectGrab {
            agent_data: ObjectGrabAgentData { agent_id, session_id },
            object_data: ObjectGrabObjectData { local_id, grab_offset: Vec3::ZERO },
            surface_info: Vec::new(),
        };
        let release = ObjectDeGrab {
            agent_data: ObjectDeGrabAgentData { agent_id, session_id },
            object_data: ObjectDeGrabObjectData { local_id },
            surface_info: Vec::new(),
        };
        let sound_data = SoundTriggerSoundData {
            sound_id: Uuid::from_u128(5),
            gain: 1.0,
            ..SoundTriggerSoundData::default()
        };
        let messages = [
            Message::from(grab),
            release.into(),
            look(client, agent("Ada").0).into(),
            SoundTrigger { sound_data }.into(),
        ];
        send_all(client, &messages);
        arrive(&mut node, ada, delay);
        for name in ["ObjectGrab", "ObjectDeGrab", "ViewerEffect", "SoundTrigger"] {
            assert_eq!(n_done(&node, name), 1, "delay {delay}: {name}");
        }
        let client = &node.clients[bea];
        assert_eq!((looks(client).len(), sounds(client).len()), (1, 1), "delay {delay}");
    }
}

#[test]
fn early_effects_leave_room_for_requests_and_bring_no_notice() {
    let (mut node, former, _) = node_of_two();
    let ada = come_again(&mut node, former);
    let client = &mut node.clients[ada];
    let effect: Message = look(client, agent("Ada").0).into();
    let prim: Message = add(client, PLACE, Uuid::nil()).into();
    (0..90).for_each(|_| client.send(&effect));
    client.send(&prim);
    arrive(&mut node, ada, 1);
    assert_eq!((n_done(&node, "ViewerEffect"), n_done(&node, "ObjectAdd")), (16, 1));
    assert_eq!(outcomes(&node)[&("ViewerEffect", MessageOutcome::Ignored)], 74);
}

#[test]
fn early_changes_of_land_are_carried_out() {
    for delay in DELAYS {
        let mut node = Node::with(Setup { landlord: Some("Ada"), ..Setup::default() });
        let former = node.enter("Ada");
        let ada = come_again(&mut node, former);
        let client = &mut node.clients[ada];
        let divide = ParcelDivide {
            agent_data: ParcelDivideAgentData { agent_id: client.agent.0, session_id: client.session_id.0 },
            parcel_data: ParcelDivideParcelData { west: 16.0, south: 16.0, east: 48.0, north: 32.0 },
        };
        client.send(&divide.into());
        stroke(client, RAISE, (120.0, 120.0), 5.0, 2.0);
        arrive(&mut node, ada, delay);
        let replica = node.places.get(HARBOUR).scene.feed.current();
        let land = replica.land().expect("the harbour has land");
        let part = land.parcel_at(Vec2::new(20.0, 20.0)).expect("a parcel");
        assert_eq!(part.parcel.area_m2(), 32 * 16, "delay {delay}");
        assert!(land.edited_height(Vec2::new(120.0, 120.0)).is_some(), "delay {delay}");
    }
}

#[test]
fn early_rezzes_and_worn_things_come_with_the_avatar() {
    for delay in DELAYS {
        let (mut node, former, _) = transfers::node_of_two();
        let (chest, hat) = (taken(&mut node, former), taken(&mut node, former));
        let (coat, _) = make(&mut node, former, PLACE);
        let ada = come_again(&mut node, former);
        let client = &mut node.clients[ada];
        let messages = [rez(client, chest), wear(client, hat, 2), attach(client, &[coat])];
        send_all(client, &messages);
        arrive(&mut node, ada, delay);
        assert_eq!(n_done(&node, "RezObject"), 1, "delay {delay}");
        let worn = items(&node);
        assert!(worn.len() == 2 && worn.contains(&Some(hat)), "delay {delay}: {worn:?}");
        let replica = node.places.get(HARBOUR).scene.feed.current();
        let on_the_ground = replica.objects().entries().filter(|(_, entry)| entry.body.worn_item.is_none());
        assert_eq!(on_the_ground.count(), 1, "delay {delay}: the chest");
    }
}

#[test]
fn a_change_over_http_without_an_avatar_is_refused_by_an_alert() {
    let mut node = Node::with(Setup { landlord: Some("Ada"), ..Setup::default() });
    let former = node.enter("Ada");
    let ada = come_again(&mut node, former);
    node.run_ms(300);
    let circuit = node.hub.holder(node.clients[ada].seed).expect("its secret").circuit;
    assert!(node.hub.edit_land(circuit, vec![LandEdit::Ground(GroundEdit::Undo)]));
    node.relay();
    node.run_ms(300);
    let alerts = alerts(&node.clients[ada]);
    assert!(alerts.len() == 1 && alerts[0].contains("not arrived"), "{alerts:?}");
}
