//! Chat: its reach, its bounds, and typing.

use crate::stage::Stage;
use ids::{SessionKey, Uuid};
use link::{Action, CHAT_BYTES_MAX, ChatKind, Event};
use world::animations;

fn say(stage: &mut Stage, kind: ChatKind, text: &str) {
    stage.send(1, Action::Chat { kind, channel: 0, text: text.into() });
    stage.step();
}

#[test]
fn chat_carries_speaker_place_and_reach() {
    let mut stage = Stage::with_one();
    for (kind, radius) in [(ChatKind::Whisper, 10.0), (ChatKind::Say, 20.0), (ChatKind::Shout, 100.0)] {
        say(&mut stage, kind, "hello");
        let [Event::Chat(chat)] = stage.events() else { panic!("{:?}", stage.events()) };
        assert_eq!((chat.kind, chat.radius_m, chat.text.as_str()), (kind, radius, "hello"));
        assert_eq!(
            (chat.source, chat.session, chat.name.as_str()),
            (Uuid::from_u128(7), SessionKey(1), "Ada Resident")
        );
        assert_eq!(chat.position, stage.motion(1).position);
        assert!(stage.is_still(), "chat changes no avatar");
    }
}

#[test]
fn typing_shows_and_is_heard_as_far_as_a_say() {
    let mut stage = Stage::with_one();
    say(&mut stage, ChatKind::StartTyping, "");
    assert!(matches!(stage.events(), [Event::Chat(chat)] if chat.radius_m == 20.0));
    assert_eq!(stage.animations(1), [animations::STAND, animations::TYPE]);
    say(&mut stage, ChatKind::StopTyping, "");
    assert_eq!(stage.animations(1), [animations::STAND]);
}

#[test]
fn texts_are_cut_between_characters_and_empty_ones_dropped() {
    let mut stage = Stage::with_one();
    say(&mut stage, ChatKind::Say, &"é".repeat(600));
    let [Event::Chat(chat)] = stage.events() else { panic!("{:?}", stage.events()) };
    assert_eq!(chat.text.len(), CHAT_BYTES_MAX - 1);
    say(&mut stage, ChatKind::Say, "");
    assert!(stage.events().is_empty());
}
