//! A world that is put away and comes back as another one: another number, another epoch, other local ids.

use super::{
    stage::{TICK, control, enter_at},
    village::{fighters, setting_of},
};
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Avatar, Change, ChatKind, Command, ControlFlags, Entity, Event, Frame, GameEvent};
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};
use world::{RestoreError, World, WorldConfig};

static HERE: LazyLock<WorldConfig> = LazyLock::new(|| setting_of(fighters()));

fn elsewhere() -> WorldConfig {
    WorldConfig { id: WorldId(77), epoch: Epoch(4), local_ids: 5_000_000..9_000_000, ..HERE.clone() }
}

/// Possible actions of a visitor in a tick.
fn any_deed() -> impl Strategy<Value = Action> {
    let position = (60.0f32..160.0, 60.0f32..160.0).prop_map(|(x, y)| Vec3::new(x, y, 22.0));
    let flags = prop::sample::select(vec![0, ControlFlags::AT_POS.0, ControlFlags::FLY.0]);
    prop_oneof![
        2 => position.clone().prop_map(enter_at),
        1 => Just(Action::Leave),
        4 => (flags, 0.0f32..6.0).prop_map(|(flags, turn)| control(ControlFlags(flags), Quat::from_rotation_z(turn))),
        2 => position.prop_map(|position| Action::Teleport { position, look_at: Vec3::X }),
        2 => Just(Action::Chat { kind: ChatKind::Say, channel: 0, text: "Hello.".into() }),
        6 => Just(Action::Animate(vec![(world::animations::PUNCH_RIGHT, true)])),
    ]
}

/// For every tick what two visitors do.
fn any_deeds(ticks: usize) -> impl Strategy<Value = Vec<Vec<Command>>> {
    let tick = prop::collection::vec((1u64..3, any_deed()), 0..2);
    prop::collection::vec(tick, ticks).prop_map(|ticks| {
        let command = |tick: usize, n: usize, (session, action)| {
            Command::by_session(SessionKey(session), (tick * 10 + n) as u64, action)
        };
        let commands = |(tick, deeds): (usize, Vec<_>)| {
            deeds.into_iter().enumerate().map(|(n, deed)| command(tick, n, deed)).collect()
        };
        ticks.into_iter().enumerate().map(commands).collect()
    })
}

fn step(world: &mut World, tick: usize, commands: &[Command]) -> Frame {
    let mut frame = Frame::empty();
    world.step(Tick(tick as u64), TICK, 1.0, &mut commands.to_vec(), &mut frame);
    frame
}

/// A frame's changes and events without what names the world that they are of.
fn anonymous(frame: &Frame, first: u32) -> (Vec<Change>, Vec<Event>) {
    let id = |id: LocalId| LocalId(id.0 - first);
    let agent = |session: SessionKey, agent: Uuid| match session {
        SessionKey::NODE => Uuid::from_u128(agent.as_u128() & 0xFFFF_FFFF),
        _ => agent,
    };
    let changes = frame.changes.iter().map(|change| match change {
        Change::Created(entity) => {
            let avatar = &entity.avatar;
            let agent = AgentId(agent(avatar.session, avatar.agent.0));
            Change::Created(Arc::new(Entity {
                id: id(entity.id),
                avatar: Avatar { agent, ..avatar.clone() },
                ..Entity::clone(entity)
            }))
        }
        Change::Moved(who, motion) => Change::Moved(id(*who), *motion),
        Change::Appeared(who, appearance) => Change::Appeared(id(*who), appearance.clone()),
        Change::Animated(who, list) => Change::Animated(id(*who), list.clone()),
        Change::Seated(who, seat) => Change::Seated(id(*who), *seat),
        Change::Removed(who) => Change::Removed(id(*who)),
    });
    let events = frame.events.iter().map(|event| match event {
        Event::Chat(chat) => {
            let mut chat = link::Chat::clone(chat);
            chat.source = agent(chat.session, chat.source);
            Event::Chat(Arc::new(chat))
        }
        Event::Game(audience, event) => {
            let event = match event {
                GameEvent::Struck { who, by, points } => {
                    GameEvent::Struck { who: id(*who), by: by.map(id), points: *points }
                }
                GameEvent::Fell(who) => GameEvent::Fell(id(*who)),
                GameEvent::Rose(who) => GameEvent::Rose(id(*who)),
                other => other.clone(),
            };
            Event::Game(*audience, event)
        }
        other => other.clone(),
    });
    (changes.collect(), events.collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn it_goes_on_as_it_would_have_but_for_the_ids(deeds in any_deeds(400), at in 0usize..250) {
        let (here, there) = (HERE.local_ids.start, elsewhere().local_ids.start);
        let mut world = World::new(HERE.clone());
        for (tick, commands) in deeds[..at].iter().enumerate() {
            step(&mut world, tick, commands);
        }
        let mut moved = World::restore(elsewhere(), &world.snapshot()).unwrap();
        for (tick, commands) in deeds.iter().enumerate().skip(at) {
            let expected = step(&mut world, tick, commands);
            let found = step(&mut moved, tick, commands);
            prop_assert_eq!(found.sequence, (tick - at) as u64);
            if at > 0 || tick > 0 {
                prop_assert_eq!(anonymous(&found, there), anonymous(&expected, here), "tick {}", tick);
            }
        }
        // And back, where nothing is left of the way.
        let back = World::restore(HERE.clone(), &moved.snapshot()).unwrap();
        prop_assert_eq!(back.state_hash(), world.state_hash());
    }

    #[test]
    fn without_visitors_it_is_as_if_all_had_left(deeds in any_deeds(200)) {
        let mut world = World::new(HERE.clone());
        for (tick, commands) in deeds.iter().enumerate() {
            step(&mut world, tick, commands);
        }
        let mut moved = World::restore_without_visitors(elsewhere(), &world.snapshot()).unwrap();
        prop_assert_eq!(moved.n_avatars(), 0);
        let leave = |session| Command::by_session(SessionKey(session), 1 << 32, Action::Leave);
        let mut leave = vec![leave(1), leave(2)];
        for tick in deeds.len()..deeds.len() + 100 {
            let expected = step(&mut world, tick, &std::mem::take(&mut leave));
            let found = step(&mut moved, tick, &[]);
            // Only one of them sends a departure.
            let stays = |change: &Change| tick > deeds.len() || !matches!(change, Change::Removed(_));
            let changes = |frame: &Frame, first: u32| -> Vec<Change> {
                anonymous(frame, first).0.into_iter().filter(stays).collect()
            };
            let expected = changes(&expected, HERE.local_ids.start);
            prop_assert_eq!(changes(&found, elsewhere().local_ids.start), expected, "tick {}", tick);
        }
    }

    /// A restored world has hashed everything anew.
    #[test]
    fn the_running_hash_is_the_hash_of_the_state(deeds in any_deeds(150)) {
        let mut world = World::new(HERE.clone());
        for (tick, commands) in deeds.iter().enumerate() {
            let frame = step(&mut world, tick, commands);
            let anew = World::restore(HERE.clone(), &world.snapshot()).unwrap().state_hash();
            prop_assert_eq!(frame.state_hash, anew, "after tick {}", tick);
        }
    }
}

#[test]
fn a_restored_world_sends_a_snapshot_although_it_has_its_number_and_epoch() {
    let mut world = World::new(HERE.clone());
    (0..3).for_each(|tick| drop(step(&mut world, tick, &[])));
    let mut back = World::restore_without_visitors(HERE.clone(), &world.snapshot()).unwrap();
    let frame = step(&mut back, 3, &[]);
    assert_eq!((frame.sequence, frame.snapshot.is_some()), (0, true));
}

#[test]
fn replicas_get_every_change_once() {
    let mut world = World::new(HERE.clone());
    let enter = Command::by_session(SessionKey(1), 1, enter_at(Vec3::new(60.0, 60.0, 22.0)));
    step(&mut world, 0, &[enter]);
    let first_epoch = WorldConfig { epoch: Epoch(0), ..elsewhere() };
    let mut moved = World::restore(first_epoch, &world.snapshot()).unwrap();
    let mut told = 0;
    for tick in 1..5 {
        let frame = step(&mut moved, tick, &[]);
        told += frame.changes.iter().filter(|change| matches!(change, Change::Created(_))).count();
        told += frame.snapshot.map_or(0, |part| part.entities.len());
    }
    assert_eq!(told, moved.n_npcs() + 1);
}

#[test]
fn a_world_that_never_stepped_sends_its_first_frame_after_a_restore() {
    let mut world = World::new(HERE.clone());
    let mut restored = World::restore(HERE.clone(), &world.snapshot()).unwrap();
    assert_eq!(step(&mut restored, 0, &[]), step(&mut world, 0, &[]));
}

#[test]
fn ids_for_which_there_is_no_place_are_refused_with_numbers() {
    let mut world = World::new(HERE.clone());
    let snapshot = world.snapshot();
    let n = (HERE.scenery.len() + world.n_npcs()) as u32;
    let narrow = |n_ids| WorldConfig { local_ids: 100..100 + n_ids, max_avatars: 2, ..HERE.clone() };
    assert!(World::restore(narrow(n + 3), &snapshot).is_ok());
    // An avatar that comes late, and stays, has an id that is far from the first.
    for sequence in 0..20 {
        let action = if sequence % 2 == 0 { enter_at(Vec3::new(60.0, 60.0, 22.0)) } else { Action::Leave };
        step(&mut world, sequence as usize, &[Command::by_session(SessionKey(1), sequence, action)]);
    }
    let restored = World::restore(narrow(n + 3), &world.snapshot()).unwrap();
    assert_eq!(restored.n_avatars(), 0, "ids begin again where the next one has no place");
    let enter = Command::by_session(SessionKey(1), 99, enter_at(Vec3::new(60.0, 60.0, 22.0)));
    step(&mut world, 20, &[enter]);
    let refused = World::restore(narrow(n + 3), &world.snapshot()).unwrap_err();
    assert!(matches!(refused, RestoreError::TooFewIds { .. }), "{refused}");
    assert!(World::restore_without_visitors(narrow(n + 3), &world.snapshot()).is_ok());
}
