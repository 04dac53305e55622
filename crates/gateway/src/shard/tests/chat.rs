//! Hearers of chat, and its limits.

use crate::testing::{HARBOUR, Node, agent};
use link::ChatKind;
use std::time::Duration;
use wire::messages::*;
use wire::text::from_wire;

/// A speaker at 128 m and listeners at these distances in metres.
fn audience(distances: &[f32]) -> (Node, usize, Vec<usize>) {
    let mut node = Node::new();
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    let speaker = node.enter_at("Ada", spot);
    let mut listeners = Vec::new();
    for (n, distance) in distances.iter().enumerate() {
        let spot = node.spot(HARBOUR, 128.0 - distance, 128.0);
        listeners.push(node.enter_at(&format!("Listener{n}"), spot));
    }
    (node, speaker, listeners)
}

fn heard(node: &Node, listeners: &[usize], text: &str) -> Vec<bool> {
    listeners.iter().map(|&at| node.clients[at].heard().iter().any(|(_, said)| said == text)).collect()
}

#[test]
fn text_that_is_too_long_and_chat_of_an_unknown_kind_are_in_a_notice() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    let client = &mut node.clients[ada];
    let (agent_id, session_id) = (client.agent.0, client.session_id.0);
    let chat_data = ChatFromViewerChatData { message: b"hello\0".to_vec(), r#type: 99, channel: 0 };
    let agent_data = ChatFromViewerAgentData { agent_id, session_id };
    client.send(&ChatFromViewer { agent_data, chat_data }.into());
    let mut message = ImprovedInstantMessage::default();
    (message.agent_data.agent_id, message.agent_data.session_id) = (agent_id, session_id);
    message.message_block.to_agent_id = agent("Bob").0;
    message.message_block.message = vec![b'a'; 1_025];
    client.send(&message.into());
    node.run_ms(1_000);
    let refused = "Your viewer has sent a value that is too long or unknown. Messages not carried out: 1.";
    let notices = node.clients[ada].inbox.iter().filter_map(|message| match message {
        Message::AlertMessage(alert) => Some(from_wire(&alert.alert_data.message)),
        _ => None,
    });
    assert!(notices.eq([refused, refused]));
    assert!(!node.clients[bob].got(ImprovedInstantMessage::NUMBER));
}

#[test]
fn chat_is_heard_within_its_reach() {
    let (mut node, ada, others) = audience(&[8.0, 18.0, 90.0, 120.0]);
    for (kind, reach) in [
        (ChatKind::Whisper, [true, false, false, false]),
        (ChatKind::Say, [true, true, false, false]),
        (ChatKind::Shout, [true, true, true, false]),
    ] {
        let text = format!("{kind:?} – grüße");
        node.clients[ada].send_chat(kind, &text);
        node.run_ms(300);
        assert_eq!(heard(&node, &others, &text), reach, "{kind:?}");
        assert_eq!(heard(&node, &[ada], &text), [true], "the own words come back");
    }
}

#[test]
fn chat_names_its_speaker() {
    let (mut node, ada, others) = audience(&[3.0]);
    node.clients[ada].send_chat(ChatKind::Say, "hello");
    node.run_ms(300);
    let chat = node.clients[others[0]].inbox.iter().find_map(|message| match message {
        Message::ChatFromSimulator(chat) => Some(chat.chat_data.clone()),
        _ => None,
    });
    let chat = chat.expect("heard");
    assert_eq!(from_wire(&chat.from_name), "Ada Resident");
    assert_eq!((chat.source_id, chat.chat_type), (agent("Ada").0, 1));
}

#[test]
fn typing_is_shown_as_far_as_a_say_and_needs_no_words() {
    let (mut node, ada, others) = audience(&[18.0, 25.0]);
    node.clients[ada].send_chat(ChatKind::StartTyping, "");
    node.run_ms(200);
    node.clients[ada].send_chat(ChatKind::StopTyping, "");
    node.run_ms(200);
    let kinds = |at: usize| node.clients[at].heard().iter().map(|(kind, _)| *kind).collect::<Vec<u8>>();
    assert_eq!(kinds(others[0]), [4, 5]);
    assert_eq!(kinds(others[1]), [0_u8; 0]);
}

#[test]
fn empty_chat_and_other_channels_have_no_hearer() {
    let (mut node, ada, others) = audience(&[3.0]);
    node.clients[ada].send_chat(ChatKind::Say, "");
    let client = &mut node.clients[ada];
    let on_channel_seven = ChatFromViewer {
        agent_data: ChatFromViewerAgentData { agent_id: client.agent.0, session_id: client.session_id.0 },
        chat_data: ChatFromViewerChatData { message: b"secret\0".to_vec(), r#type: 1, channel: 7 },
    };
    client.send(&on_channel_seven.into());
    node.run_ms(300);
    assert_eq!(node.clients[others[0]].heard(), []);
}

#[test]
fn a_kind_of_chat_that_does_not_exist_is_refused() {
    let (mut node, ada, _) = audience(&[]);
    let client = &mut node.clients[ada];
    let shouting_at_the_debugger = ChatFromViewer {
        agent_data: ChatFromViewerAgentData { agent_id: client.agent.0, session_id: client.session_id.0 },
        chat_data: ChatFromViewerChatData { message: b"x\0".to_vec(), r#type: 6, channel: 0 },
    };
    client.send(&shouting_at_the_debugger.into());
    node.run_ms(300);
    assert_eq!(node.drops("bad_value"), 1);
}

#[test]
fn a_chat_flood_is_cut_to_a_clients_allowance() {
    let (mut node, ada, others) = audience(&[3.0]);
    for n in 0..100 {
        node.clients[ada].send_chat(ChatKind::Say, &format!("{n}"));
    }
    node.run_ms(300);
    assert_eq!(node.clients[others[0]].heard().len(), 20, "a burst");
    assert_eq!(node.drops("flood"), 80);
    for n in 100..140 {
        node.clients[ada].send_chat(ChatKind::Say, &format!("{n}"));
        node.run_ms(250);
    }
    assert_eq!(node.clients[others[0]].heard().len(), 20 + 40, "four a second afterwards");
}

#[test]
fn a_shouting_crowd_does_not_drown_a_listener_nor_the_own_words() {
    let (mut node, ada, others) = audience(&[2.0; 10]);
    node.run_ms(1_000);
    for &other in &others {
        for n in 0..20 {
            node.clients[other].send_chat(ChatKind::Say, &format!("noise {n}"));
        }
    }
    node.run_ms(200);
    node.clients[ada].send_chat(ChatKind::Say, "am I heard?");
    node.run_for(Duration::from_secs(1));
    let heard = node.clients[ada].heard();
    let noise = heard.iter().filter(|(_, text)| text.starts_with("noise")).count();
    assert!((60..=90).contains(&noise), "{noise}");
    assert!(heard.iter().any(|(_, text)| text == "am I heard?"));
    assert!(node.shards[0].counters().chat_dropped > 0);
}

#[test]
fn beside_a_shouting_crowd_every_line_of_a_quiet_speaker_is_heard() {
    let (mut node, hearer, others) = audience(&[2.0; 11]);
    // Of the lines of one tick those of the newest session come last, when the crowd's have taken what there was.
    let (&quiet, crowd) = others.split_last().expect("speakers");
    node.run_ms(1_000);
    let mut said = Vec::new();
    for n in 0..80 {
        for &shouting in crowd {
            node.clients[shouting].send_chat(ChatKind::Say, &format!("noise {n}"));
        }
        if n % 4 == 0 {
            said.push(format!("word {n}"));
            node.clients[quiet].send_chat(ChatKind::Say, &said[said.len() - 1]);
        }
        node.run_ms(250);
    }
    let heard: Vec<String> = node.clients[hearer].heard().into_iter().map(|(_, text)| text).collect();
    let (words, noise): (Vec<String>, Vec<String>) =
        heard.into_iter().partition(|text| text.starts_with("word"));
    assert_eq!(words, said);
    assert!((300..=480).contains(&noise.len()), "{} lines of the crowd in 20 s", noise.len());
}
