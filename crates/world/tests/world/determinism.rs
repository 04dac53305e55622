//! Same commands, same frames: in any order of arrival, and after snapshot and restore at any tick.

use crate::stage::{TICK, config, control, enter_at};
use glam::{Quat, Vec3};
use ids::{Epoch, SessionKey, Tick, Uuid};
use link::{Action, Appearance, ChatKind, Command, ControlFlags, Frame, Scenery, Terrain};
use proptest::prelude::*;
use record::RecordError;
use std::sync::{Arc, LazyLock};
use world::{RestoreError, World, WorldConfig};

const SESSIONS: u64 = 12;

fn hills() -> WorldConfig {
    static HILLS: LazyLock<WorldConfig> = LazyLock::new(|| config(Terrain::hills(256, 9)));
    HILLS.clone()
}

fn any_action() -> impl Strategy<Value = Action> {
    let place =
        || (120.0..136.0_f32, 120.0..136.0_f32, 20.0..26.0_f32).prop_map(|(x, y, z)| Vec3::new(x, y, z));
    let flags = prop::collection::vec(
        prop::sample::select(vec![0, 1, 2, 3, 4, 5, 13, 14, 15, 16, 17, 19, 23, 25, 27]),
        0..4,
    )
    .prop_map(|bits| ControlFlags(bits.into_iter().map(|bit| 1 << bit).sum()));
    prop_oneof![
        3 => place().prop_map(enter_at),
        1 => Just(Action::Leave),
        10 => (flags, -4.0..4.0_f32).prop_map(|(flags, yaw)| control(flags, Quat::from_rotation_z(yaw))),
        2 => place().prop_map(|position| Action::Teleport { position, look_at: position }),
        1 => (0_u128..40, any::<bool>()).prop_map(|(id, on)| Action::Animate(vec![(Uuid::from_u128(id), on)])),
        1 => any::<bool>().prop_map(|on| Action::Chat {
            kind: if on { ChatKind::StartTyping } else { ChatKind::StopTyping },
            channel: 0,
            text: String::new(),
        }),
        1 => any::<bool>().prop_map(Action::AlwaysRun),
        1 => place().prop_map(|seat| Action::Sit { seat, look_at: seat }),
        1 => place().prop_map(|offset| Action::SitOn { object: ids::LocalId(7), offset }),
        1 => (1.0..2.4_f32).prop_map(|height_m| Action::Appear(Arc::new(Appearance {
            texture_entry: vec![7; 30],
            visual_params: vec![9; 218],
            cof_version: 1,
            height_m,
        }))),
        1 => Just(Action::Resync),
    ]
}

/// Commands of some ticks, numbered as they come.
fn any_run() -> impl Strategy<Value = Vec<Vec<Command>>> {
    let tick = prop::collection::vec((1..=SESSIONS, any_action()), 0..8);
    prop::collection::vec(tick, 1..60).prop_map(|ticks| {
        let mut sequence = 0;
        let mut stamp = |(session, action)| {
            sequence += 1;
            match action {
                Action::Resync => Command::by_node(SessionKey::NODE, sequence, action),
                action => Command::by_session(SessionKey(session), sequence, action),
            }
        };
        ticks.into_iter().map(|tick| tick.into_iter().map(&mut stamp).collect()).collect()
    })
}

fn step(world: &mut World, tick: usize, mut commands: Vec<Command>) -> Frame {
    let mut frame = Frame::empty();
    world.step(Tick(tick as u64), TICK, 1.0, &mut commands, &mut frame);
    frame
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn arrival_order_does_not_matter(run in any_run(), salt in any::<u64>()) {
        let (mut straight, mut shuffled) = (World::new(hills()), World::new(hills()));
        for (tick, commands) in run.into_iter().enumerate() {
            let mut other = commands.clone();
            other.sort_by_key(|c| c.sequence.wrapping_mul(salt | 1).rotate_left(23));
            prop_assert_eq!(step(&mut straight, tick, commands), step(&mut shuffled, tick, other));
        }
    }

    #[test]
    fn a_restored_world_goes_on_with_the_same_frames(run in any_run(), at in any::<prop::sample::Index>()) {
        let at = at.index(run.len());
        let mut original = World::new(hills());
        let mut restored = None;
        for (tick, commands) in run.into_iter().enumerate() {
            if tick == at {
                let snapshot = original.snapshot();
                let copy = World::restore(hills(), &snapshot).unwrap();
                prop_assert_eq!(copy.state_hash(), original.state_hash());
                prop_assert_eq!(copy.snapshot(), snapshot);
                restored = Some(copy);
            }
            let expected = step(&mut original, tick, commands.clone());
            if let Some(restored) = &mut restored {
                prop_assert_eq!(step(restored, tick, commands), expected);
            }
        }
    }

    /// A restored world has hashed everything anew.
    #[test]
    fn the_running_hash_is_the_hash_of_the_state(run in any_run()) {
        let mut world = World::new(hills());
        for (tick, commands) in run.into_iter().enumerate() {
            let frame = step(&mut world, tick, commands);
            let anew = World::restore(hills(), &world.snapshot()).unwrap().state_hash();
            prop_assert_eq!(frame.state_hash, anew, "after tick {}", tick);
        }
    }

    /// Under any commands every avatar stays on the ground or above, inside the borders, with finite numbers.
    #[test]
    fn every_position_stays_possible(run in any_run()) {
        let terrain = hills().terrain;
        let mut stage = crate::stage::Stage::new(hills());
        for commands in run {
            for Command { session, action, .. } in commands {
                match action {
                    Action::Resync => stage.resync(),
                    action => stage.send(session.0, action),
                }
            }
            stage.run(4);
            for entity in stage.mirror.0.values() {
                let motion = entity.motion;
                prop_assert!(motion.position.is_finite() && motion.velocity.is_finite());
                let soles = motion.position.z - entity.avatar.size.z / 2.0;
                prop_assert!(soles > terrain.height(motion.position.x, motion.position.y) - 1e-2, "{:?}", motion);
                prop_assert!((0.5..=255.5).contains(&motion.position.x) && (0.5..=255.5).contains(&motion.position.y));
                prop_assert!((motion.rotation.length() - 1.0).abs() < 1e-4);
            }
        }
    }
}

#[test]
fn a_new_epoch_numbers_its_frames_from_zero() {
    let mut world = World::new(hills());
    let enter = Command::by_session(SessionKey(1), 1, enter_at(Vec3::new(128.0, 128.0, 23.0)));
    step(&mut world, 0, vec![enter]);
    let snapshot = world.snapshot();
    let frame =
        step(&mut World::restore(WorldConfig { epoch: Epoch(2), ..hills() }, &snapshot).unwrap(), 1, vec![]);
    assert_eq!((frame.epoch, frame.sequence), (Epoch(2), 0));
    assert_eq!(step(&mut World::restore(hills(), &snapshot).unwrap(), 1, vec![]).sequence, 1);
}

#[test]
fn wrong_bytes_are_refused_with_the_reason() {
    let snapshot = World::new(hills()).snapshot();
    let restore = |bytes: &[u8]| World::restore(hills(), bytes).unwrap_err();
    let bytes = |error: RestoreError| match error {
        RestoreError::Bytes(error) => error,
        error => panic!("{error}"),
    };
    for len in 0..6 {
        assert!(matches!(bytes(restore(&snapshot[..len])), RecordError::OtherFormat { .. }), "{len} bytes");
    }
    for len in 8..snapshot.len() {
        assert!(matches!(bytes(restore(&snapshot[..len])), RecordError::CutOff { .. }), "{len} bytes");
    }
    let changed = |index: usize| {
        let mut bytes = snapshot.clone();
        bytes[index] ^= 2;
        bytes
    };
    assert!(matches!(bytes(restore(&changed(0))), RecordError::OtherFormat { .. }));
    assert_eq!(restore(&changed(4)).to_string(), "world snapshot version 5, this build reads 6 and 7");
    for index in 6..snapshot.len() {
        assert!(bytes(restore(&changed(index))).is_damage(), "byte {index}");
    }
    let elsewhere = World::restore(config(Terrain::hills(256, 10)), &snapshot).unwrap_err();
    assert!(matches!(elsewhere, RestoreError::OtherTerrain { .. }));
    let scenery = Arc::new(Scenery::boxes(1, &hills().terrain, 1));
    let among_others = World::restore(WorldConfig { scenery, ..hills() }, &snapshot).unwrap_err();
    assert!(matches!(among_others, RestoreError::OtherScenery { .. }));
}

#[test]
fn one_bit_of_difference_shows_in_the_hash() {
    let hash_after = |yaw: f32| {
        let mut world = World::new(hills());
        let command = |sequence, action| Command::by_session(SessionKey(1), sequence, action);
        let enter = command(1, enter_at(Vec3::new(128.0, 128.0, 23.0)));
        let turn = command(2, control(ControlFlags::default(), Quat::from_rotation_z(yaw)));
        step(&mut world, 0, vec![enter, turn]).state_hash
    };
    assert_eq!(hash_after(0.5), hash_after(0.5));
    assert_ne!(hash_after(0.5), hash_after(0.500_001));
}
