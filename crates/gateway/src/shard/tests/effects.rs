//! Touches and effects: those of others are shown, those of nothing are not.

use super::editing::{PLACE, make, node_of_two};
use crate::coverage::MessageOutcome;
use crate::testing::{Client, HARBOUR, Node, agent};
use glam::Vec3;
use ids::Uuid;
use wire::messages::*;

/// Messages of a client that ended so.
fn count(node: &Node, name: &str, outcome: MessageOutcome) -> u64 {
    let counts = node.shards.iter().flat_map(|shard| shard.outcomes().nonzero_counts());
    counts.filter(|&(one, ended, _)| one == name && ended == outcome).map(|(.., n)| n).sum()
}

pub(super) fn look(client: &Client, agent_id: Uuid) -> ViewerEffect {
    ViewerEffect {
        agent_data: ViewerEffectAgentData { agent_id: client.agent.0, session_id: client.session_id.0 },
        effect: vec![ViewerEffectEffect {
            id: Uuid::from_u128(9),
            agent_id,
            r#type: 14,
            duration: 2.0,
            color: [255; 4],
            type_data: vec![7; 57],
        }],
    }
}

/// Effects of Ada that a client was sent.
pub(super) fn looks(client: &Client) -> Vec<ViewerEffectEffect> {
    let effects = client.inbox.iter().filter_map(|message| match message {
        Message::ViewerEffect(message) => Some(message.effect.clone()),
        _ => None,
    });
    effects.flatten().filter(|effect| effect.agent_id == agent("Ada").0).collect()
}

pub(super) fn sounds(client: &Client) -> Vec<SoundTriggerSoundData> {
    let sound = |message: &Message| match message {
        Message::SoundTrigger(message) => Some(message.sound_data.clone()),
        _ => None,
    };
    client.inbox.iter().filter_map(sound).collect()
}

#[test]
fn effects_are_shown_to_clients_near_by_and_not_to_their_sender() {
    let (mut node, ada, bea) = node_of_two();
    let spot = node.spot(HARBOUR, 20.0, 20.0);
    let far = node.enter_at("Far", spot);
    node.run_ms(1_000);
    let message = look(&node.clients[ada], agent("Ada").0);
    node.clients[ada].send(&message.clone().into());
    let sound_data = SoundTriggerSoundData {
        sound_id: Uuid::from_u128(5),
        position: Vec3::splat(1e9),
        gain: 7.0,
        ..SoundTriggerSoundData::default()
    };
    node.clients[ada].send(&SoundTrigger { sound_data }.into());
    node.run_ms(500);
    assert_eq!(looks(&node.clients[bea]), message.effect);
    let [sound] = &sounds(&node.clients[bea])[..] else { panic!("one sound") };
    let stands = node.position_in(HARBOUR, "Ada").expect("Ada is there");
    assert_eq!((sound.sound_id, sound.gain, sound.position), (Uuid::from_u128(5), 1.0, stands));
    for other in [ada, far] {
        assert!(looks(&node.clients[other]).is_empty() && sounds(&node.clients[other]).is_empty());
    }
}

#[test]
fn effects_in_the_name_of_others_and_above_the_share_are_left_out() {
    let (mut node, ada, bea) = node_of_two();
    let forged = look(&node.clients[ada], agent("Bea").0);
    node.clients[ada].send(&forged.into());
    node.run_ms(500);
    assert_eq!(count(&node, "ViewerEffect", MessageOutcome::Ignored), 1);
    for _ in 0..100 {
        let message = look(&node.clients[ada], agent("Ada").0);
        node.clients[ada].send(&message.into());
        node.run_ms(5);
    }
    node.run_ms(500);
    let n = looks(&node.clients[bea]).len();
    assert!((10..40).contains(&n), "{n} of 100");
    assert!(!node.clients[ada].got(AlertMessage::NUMBER), "nothing depends on them");
}

#[test]
fn touches_of_a_prim_reach_the_world_and_those_of_nothing_are_answered_by_a_kill() {
    let (mut node, ada, _) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    let client = &mut node.clients[ada];
    let (agent_id, session_id) = (client.agent.0, client.session_id.0);
    for local_id in [id, 77] {
        let grab = ObjectGrab {
            agent_data: ObjectGrabAgentData { agent_id, session_id },
            object_data: ObjectGrabObjectData { local_id, grab_offset: Vec3::ZERO },
            surface_info: Vec::new(),
        };
        client.send(&grab.into());
        let end = ObjectDeGrab {
            agent_data: ObjectDeGrabAgentData { agent_id, session_id },
            object_data: ObjectDeGrabObjectData { local_id },
            surface_info: Vec::new(),
        };
        client.send(&end.into());
    }
    let held = ObjectGrabUpdate {
        agent_data: ObjectGrabUpdateAgentData { agent_id, session_id },
        object_data: ObjectGrabUpdateObjectData { object_id: object, ..Default::default() },
        surface_info: Vec::new(),
    };
    client.send(&held.into());
    node.run_ms(500);
    for name in ["ObjectGrab", "ObjectDeGrab"] {
        assert_eq!(count(&node, name, MessageOutcome::Done), 1);
        assert_eq!(count(&node, name, MessageOutcome::Refused), 1);
    }
    assert_eq!(count(&node, "ObjectGrabUpdate", MessageOutcome::Done), 1);
    let is_killed = |message: &Message| match message {
        Message::KillObject(kill) => kill.object_data.iter().any(|row| row.id == 77),
        _ => false,
    };
    assert!(node.clients[ada].count(is_killed) > 0);
}
