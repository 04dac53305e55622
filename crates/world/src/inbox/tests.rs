//! Rights of sessions in the inbox, and its buffers.

use super::*;
use crate::{World, WorldConfig, animations::PUNCH_LEFT};
use glam::Vec3;
use ids::{AgentId, Epoch, Tick, Ticket, Uuid, WorldId};
use link::{EditRights, Enter, ObjectCommand, ObjectLimits, Terrain};
use std::{sync::Arc, time::Duration};

const TICK: Duration = Duration::from_millis(50);

fn world() -> World {
    World::new(WorldConfig {
        id: WorldId(0),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: 1..1_000,
        terrain: Arc::new(Terrain::flat(256, 21.0)),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 10,
        seed: 1,
    })
}

fn enter_as(agent: u128) -> Action {
    Action::Enter(Box::new(Enter {
        agent: AgentId(Uuid::from_u128(agent)),
        first_name: "Ada".into(),
        last_name: "Resident".into(),
        position: Vec3::splat(50.0),
        look_at: Vec3::X,
        flying: false,
        appearance: None,
    }))
}

#[test]
fn a_world_without_npcs_remembers_no_punches() {
    let mut world = world();
    let punch = || Action::Animate(vec![(PUNCH_LEFT, true)]);
    for (sequence, action) in (0..).zip([enter_as(1)].into_iter().chain((0..100).map(|_| punch()))) {
        let mut commands = vec![Command::by_session(SessionKey(1), sequence, action)];
        world.step(Tick(sequence), TICK, 1.0, &mut commands, &mut Frame::empty());
    }
    assert!(world.inbox.punches.is_empty());
}

#[test]
fn a_session_acts_for_its_own_avatar_only() {
    let (ada, eve) = (SessionKey(1), SessionKey(2));
    let (mut world, mut honest) = (world(), world());
    let mut frame = Frame::empty();
    for world in [&mut world, &mut honest] {
        let mut arrivals =
            vec![Command::by_session(ada, 0, enter_as(1)), Command::by_session(eve, 0, enter_as(2))];
        world.step(Tick(0), TICK, 1.0, &mut arrivals, &mut frame);
    }
    let forged = |session, sequence, action| Command {
        author: Author::Session(eve),
        ..Command::by_node(session, sequence, action)
    };
    let elsewhere = || Action::Teleport { position: Vec3::splat(99.0), look_at: Vec3::X };
    let mut commands = vec![
        forged(ada, 1, Action::Leave),
        forged(ada, 2, elsewhere()),
        forged(SessionKey(3), 1, enter_as(3)),
        forged(SessionKey::NODE, 1, Action::Resync),
        forged(eve, 2, Action::ReloadBehaviors { cast: 0 }),
        forged(eve, 3, Action::EditRights(Box::new(EditRights { is_operator: true, owners: Vec::new() }))),
        forged(SessionKey::NODE, 2, Action::ObjectLimits(ObjectLimits::default())),
        forged(SessionKey::NODE, 3, Action::Settle(Ticket(9))),
        forged(SessionKey::NODE, 4, Action::HeldFull { owner: AgentId(Uuid::from_u128(1)), is_full: true }),
        forged(ada, 3, Action::Object(Box::new(ObjectCommand::Link(Vec::new())))),
        // As another account than the session's.
        forged(eve, 1, enter_as(1)),
    ];
    world.step(Tick(1), TICK, 1.0, &mut commands, &mut frame);
    assert!(frame.events.is_empty() && frame.snapshot.is_none(), "{frame:?}");
    let told = frame.state_hash;
    honest.step(Tick(1), TICK, 1.0, &mut Vec::new(), &mut frame);
    assert_eq!(told, frame.state_hash);
    let counters = world.counters();
    assert_eq!((counters.foreign, counters.leave, counters.teleport, counters.resync), (11, 0, 0, 0));

    // The node may ask the same.
    let mut commands = vec![Command::by_node(ada, 0, Action::Leave)];
    world.step(Tick(2), TICK, 1.0, &mut commands, &mut frame);
    assert_eq!(world.sessions().collect::<Vec<_>>(), [eve]);
    assert_eq!(world.counters().foreign, 11);
}

#[test]
#[should_panic(expected = "a session commands its own avatar only")]
fn a_command_for_an_avatar_of_another_session_is_not_carried_out() {
    let World { setting, roster, local_ids, npcs, edits, delta, resync, counters, inbox, .. } = &mut world();
    let departures = &mut delta.departures;
    let mut to = Receivers {
        setting,
        roster,
        local_ids,
        npcs,
        game: None,
        objects: None,
        edits,
        land: None,
        solids: None,
        departures,
        resync,
        counters,
    };
    let leave = Command::by_node(SessionKey(1), 1, Action::Leave);
    let forged = Command { author: Author::Session(SessionKey(2)), ..leave };
    inbox.carry_out(forged, &mut to, &mut Frame::empty());
}
