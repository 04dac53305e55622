//! Missions: from waypoint to waypoint, past the NPCs in the way, and the progress that is kept.

use super::{
    stage::{STANDING, Stage, enter_at},
    village::{GROUND_M, flat, script, setting_of, spawn, wall},
};
use behavior::KindGroup;
use game::{
    Game, Mission, MissionFault, MissionFaults, MissionProblem, MissionScript, MissionStatus, Waypoint,
};
use glam::Vec3;
use ids::{Epoch, Instant, LocalId, SessionKey, Tick};
use link::{Action, Audience, Event, Frame, GameEvent};
use proptest::prelude::*;
use std::{collections::BTreeSet, sync::LazyLock, time::Duration};
use world::{CastError, Life, NpcCast, ProgressError, RestoreError, Script, World, WorldConfig};

fn point(x: f32, y: f32) -> Vec3 {
    Vec3::new(x, y, GROUND_M)
}

fn waypoint(x: f32, y: f32, clear: Option<&str>, text: &str) -> Waypoint {
    Waypoint { position: point(x, y), radius_m: 3.0, clear: clear.map(Into::into), text: text.into() }
}

/// Two outlaws that stand at 80, 60, a third that strolls elsewhere; a mission to clear them, and its successor.
fn adventure() -> Script {
    let mut script = script(vec![
        spawn("wolf", "stand", 80.0, 60.0),
        spawn("hound", "stand", 82.0, 60.0),
        spawn("folk", "stroll", 150.0, 150.0),
    ]);
    script.vocabulary.groups =
        vec![KindGroup { name: "outlaws".into(), members: vec!["wolf".into(), "hound".into()] }];
    let missions = vec![
        Mission {
            name: "Camp".into(),
            again_s: 5,
            waypoints: vec![
                waypoint(70.0, 60.0, None, "Find the camp."),
                waypoint(81.0, 60.0, Some("outlaws"), "Clear it."),
                waypoint(60.0, 60.0, None, ""),
            ],
            done: "The camp is cleared.".into(),
            ..Mission::default()
        },
        Mission {
            name: "Home".into(),
            after: Some("Camp".into()),
            waypoints: vec![waypoint(100.0, 60.0, None, "")],
            ..Mission::default()
        },
    ];
    script.game = MissionScript { missions, damage: false }.into_source();
    script
}

/// The missions of [`adventure`].
fn camp_and_home() -> Vec<Mission> {
    let cast = SETTING.cast.as_ref().expect("a cast");
    MissionScript::of(cast).expect("missions").missions.clone()
}

fn missions_of(world: &World) -> impl Iterator<Item = MissionStatus<'_>> {
    Game::of(world).expect("a game").missions()
}

fn with_missions(script: Script, missions: Vec<Mission>) -> Script {
    Script { game: MissionScript { missions, damage: false }.into_source(), ..script }
}

static SETTING: LazyLock<WorldConfig> = LazyLock::new(|| setting_of(adventure()));

fn said(stage: &Stage) -> Vec<(u8, u8, String)> {
    let mission = |event: &Event| match event {
        Event::Game(_, GameEvent::Mission { mission, done, text, .. }) => {
            Some((*mission, *done, text.to_string()))
        }
        _ => None,
    };
    stage.events().iter().filter_map(mission).collect()
}

/// Steps until missions say something.
fn wait(stage: &mut Stage, ticks: u32) -> Vec<(u8, u8, String)> {
    (0..ticks)
        .map(|_| {
            stage.step();
            said(stage)
        })
        .find(|said| !said.is_empty())
        .unwrap_or_default()
}

fn go(stage: &mut Stage, x: f32, y: f32) {
    stage.send(1, Action::Teleport { position: point(x, y) + Vec3::Z * STANDING, look_at: Vec3::X });
}

/// Strikes the avatars ahead until `falls` have fallen.
fn fell(stage: &mut Stage, falls: u64) {
    for _ in 0..200 {
        if stage.world.npc_counts().falls >= falls {
            return;
        }
        stage.send(1, Action::Animate(vec![(world::animations::PUNCH_LEFT, true)]));
        stage.step();
    }
    panic!("no avatar falls");
}

fn begun() -> Stage {
    let mut stage = Stage::new(SETTING.clone());
    stage.send(1, enter_at(point(60.0, 60.0) + Vec3::Z * STANDING));
    stage.step();
    stage
}

fn one(mission: u8, done: u8, text: &str) -> Vec<(u8, u8, String)> {
    vec![(mission, done, text.into())]
}

#[test]
fn from_waypoint_to_waypoint_past_the_npcs_that_have_to_fall() {
    let mut stage = begun();
    assert_eq!(said(&stage), one(0, 0, "Find the camp."), "who comes in is told");
    assert!(matches!(
        stage.events(),
        [Event::Game(Audience::Session(SessionKey(1)), GameEvent::Mission { .. })]
    ));
    assert_eq!(wait(&mut stage, 40), [], "she is not there yet");
    go(&mut stage, 70.0, 60.0);
    assert_eq!(wait(&mut stage, 10), one(0, 1, "Clear it."));
    assert!(matches!(stage.events(), [Event::Game(Audience::All, GameEvent::Mission { waypoints: 3, .. })]));
    go(&mut stage, 78.5, 60.0);
    assert_eq!(wait(&mut stage, 40), [], "its NPCs stand");
    fell(&mut stage, 1);
    assert!(stage.events().iter().any(|event| matches!(event, Event::Game(_, GameEvent::Fell(_)))));
    assert!(
        stage
            .events()
            .iter()
            .any(|event| matches!(event, Event::Game(_, GameEvent::Struck { points: 10, .. })))
    );
    // The first is back on its feet before the second falls.
    let mut is_back = false;
    for _ in 0..120 {
        stage.step();
        assert_eq!(said(&stage), [], "one of them stands");
        is_back |= stage.events().iter().any(|event| matches!(event, Event::Game(_, GameEvent::Rose(_))));
    }
    assert!(is_back);
    go(&mut stage, 84.0, 60.0);
    stage.send(
        1,
        super::stage::control(Default::default(), glam::Quat::from_rotation_z(std::f32::consts::PI)),
    );
    stage.step();
    fell(&mut stage, 2);
    assert_eq!(wait(&mut stage, 10), one(0, 2, "Camp: waypoint 3 of 3."));
    go(&mut stage, 60.0, 60.0);
    let end = [(0, 3, "The camp is cleared.".into()), (1, 0, "Home: waypoint 1 of 1.".into())];
    assert_eq!(wait(&mut stage, 10), end);
    let status: Vec<_> = missions_of(&stage.world).map(|m| (m.name, m.done, m.completed)).collect();
    assert_eq!(status, [("Camp", None, 1), ("Home", Some(0), 0)]);
    go(&mut stage, 100.0, 60.0);
    assert_eq!(wait(&mut stage, 10), one(1, 1, "Home: done."));
    assert_eq!(wait(&mut stage, 120), one(0, 0, "Find the camp."), "again after five seconds");
}

#[test]
fn a_fall_without_lying_time_is_sent_before_the_departure() {
    let mut script = adventure();
    script.actors.iter_mut().for_each(|actor| actor.lies_s = 0);
    let mut stage = Stage::new(setting_of(script));
    stage.send(1, enter_at(point(78.5, 60.0) + Vec3::Z * STANDING));
    stage.step();
    let there: BTreeSet<LocalId> = stage.mirror.0.keys().copied().collect();
    fell(&mut stage, 1);
    let fallen = stage.events().iter().find_map(|event| match event {
        Event::Game(_, GameEvent::Fell(who)) => Some(*who),
        _ => None,
    });
    let fallen = fallen.expect("its fall is told");
    assert!(
        there.contains(&fallen) && stage.mirror.0.contains_key(&fallen),
        "by the number that clients know"
    );
    stage.step();
    assert!(!stage.mirror.0.contains_key(&fallen), "it is gone");
}

#[test]
fn progress_is_what_changed_and_can_be_taken_up() {
    let mut stage = begun();
    let (mut version, mut record) = (stage.world.progress_version(), Vec::new());
    stage.world.progress(&mut record);
    let mut changes = 0;
    let mut look = |stage: &Stage| {
        let mut now = Vec::new();
        stage.world.progress(&mut now);
        let is_other = stage.world.progress_version() != version;
        assert!(is_other || now == record, "a change without another version");
        changes += u32::from(is_other && now != record);
        (version, record) = (stage.world.progress_version(), now);
    };
    go(&mut stage, 70.0, 60.0);
    for tick in 0..200 {
        if tick == 20 {
            go(&mut stage, 78.5, 60.0);
        }
        if tick >= 30 {
            stage.send(1, Action::Animate(vec![(world::animations::PUNCH_LEFT, true)]));
        }
        stage.step();
        look(&stage);
    }
    assert!(changes >= 3, "a waypoint, an NPC that falls, and comes back: {changes}");
    let counts = *stage.world.npc_counts();
    if counts.respawns == counts.falls {
        fell(&mut stage, counts.falls + 1);
    }
    let mut record = Vec::new();
    stage.world.progress(&mut record);
    assert!(record.len() < 120, "{} bytes", record.len());

    // Another life, from nothing but that.
    let mut world = World::new(SETTING.clone());
    world.take_up_progress(&record).unwrap();
    let mut again = Vec::new();
    world.progress(&mut again);
    assert_eq!(again, record);
    let status = |world: &World| missions_of(world).map(|m| (m.done, m.completed)).collect::<Vec<_>>();
    assert_eq!(status(&world), status(&stage.world));
    let mut frame = Frame::empty();
    let mut rose = 0;
    for tick in 0..80 {
        world.step(Tick(tick), super::stage::TICK, 1.0, &mut Vec::new(), &mut frame);
        rose +=
            frame.events.iter().filter(|event| matches!(event, Event::Game(_, GameEvent::Rose(_)))).count();
        let anew = World::restore(SETTING.clone(), &world.snapshot()).unwrap();
        assert_eq!(frame.state_hash, anew.state_hash());
    }
    assert_eq!(rose, 1, "who lay comes back after its three seconds");
}

#[test]
fn a_world_that_begins_again_has_another_version() {
    let config = SETTING.clone();
    let mut life = Life::new(config, 0.0);
    let version = life.world().progress_version();
    life.step(Instant(1), Tick(0), Duration::from_millis(50), 1.0, &mut Vec::new(), &mut Frame::empty());
    life.begin_again(1);
    assert_ne!(life.world().progress_version(), version);
    let version = life.world().progress_version();
    life.reload().unwrap();
    assert_ne!(life.world().progress_version(), version);
}

#[test]
fn progress_of_other_missions_is_refused() {
    let mut record = Vec::new();
    World::new(SETTING.clone()).progress(&mut record);
    let mut missions = camp_and_home();
    missions[0].waypoints.pop();
    let script = with_missions(adventure(), missions);
    let mut other = World::new(setting_of(script));
    let refused = other.take_up_progress(&record).unwrap_err();
    assert!(matches!(refused, ProgressError::OtherMissions { .. }), "{refused}");
    let mut without_npcs = World::new(WorldConfig { cast: None, ..SETTING.clone() });
    assert!(matches!(
        without_npcs.take_up_progress(&record),
        Err(ProgressError::OtherMissions { expected: 0, .. })
    ));
    record.clear();
    without_npcs.progress(&mut record);
    without_npcs.take_up_progress(&record).unwrap();
    assert!(matches!(without_npcs.take_up_progress(&record[..3]), Err(ProgressError::Undecodable(_))));
}

proptest! {
    #[test]
    fn damaged_progress_is_refused_or_harmless(
        patches in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        longer in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        static RECORD: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let mut stage = begun();
            go(&mut stage, 78.5, 60.0);
            fell(&mut stage, 1);
            let mut record = Vec::new();
            stage.world.progress(&mut record);
            record
        });
        let mut bytes = RECORD.clone();
        bytes.extend(longer);
        patches.iter().for_each(|(index, byte)| { let at = index.index(bytes.len()); bytes[at] = *byte; });
        let mut world = World::new(SETTING.clone());
        let before = world.snapshot();
        if world.take_up_progress(&bytes).is_err() {
            prop_assert_eq!(world.snapshot(), before);
        }
        for tick in 0..100 {
            let mut commands = if tick == 0 {
                vec![link::Command::by_session(SessionKey(1), 0, enter_at(point(60.0, 60.0)))]
            } else {
                Vec::new()
            };
            world.step(Tick(tick), super::stage::TICK, 1.0, &mut commands, &mut Frame::empty());
        }
        prop_assert!(World::restore(SETTING.clone(), &world.snapshot()).is_ok());
    }
}

#[test]
fn missions_that_cannot_be_are_refused_with_all_that_is_wrong() {
    let fault = |mission, waypoint, problem| MissionFault { mission, waypoint, problem };
    let named = |name: &str, after: Option<&str>, waypoints| Mission {
        name: name.into(),
        after: after.map(Into::into),
        waypoints,
        ..Mission::default()
    };
    let there = || waypoint(70.0, 60.0, None, "");
    let missions = vec![
        named("a", Some("b"), vec![there()]),
        named("b", Some("a"), vec![there()]),
        named("c", Some("c"), vec![there()]),
        named("d", Some("nowhere"), vec![]),
        named(
            "d",
            None,
            vec![Waypoint { radius_m: 0.0, ..there() }, Waypoint { radius_m: f32::NAN, ..there() }],
        ),
        named(
            "e",
            Some("a"),
            vec![
                Waypoint { clear: Some("dragons".into()), ..there() },
                Waypoint { position: Vec3::new(70.0, 60.0, 90.0), ..there() },
                Waypoint { position: Vec3::splat(f32::NAN), ..there() },
                Waypoint { text: "x".repeat(300), ..there() },
            ],
        ),
    ];
    let script = with_missions(adventure(), missions);
    let refused = NpcCast::new(script, &flat(), &wall(), 20.0, &mut || true).unwrap_err();
    let [CastError::Game(faults)] = &refused.0[..] else { panic!("{refused}") };
    let faults = faults.0.downcast_ref::<MissionFaults>().expect("the faults of missions");
    let unknown = |what, wanted: &str| MissionProblem::Unknown { what, wanted: wanted.into() };
    assert!(faults.0.is_sorted_by_key(|fault| fault.mission));
    assert_eq!(faults.0.len(), 12, "{refused}");
    for expected in [
        fault(0, None, MissionProblem::Cycle("a".into())),
        fault(1, None, MissionProblem::Cycle("b".into())),
        fault(2, None, MissionProblem::Cycle("c".into())),
        fault(3, None, unknown("mission", "nowhere")),
        fault(3, None, MissionProblem::NoWaypoints),
        fault(4, None, MissionProblem::SameName("d".into())),
        fault(4, Some(0), MissionProblem::Radius(0.0)),
        fault(5, Some(0), unknown("kind or group", "dragons")),
        fault(5, Some(1), MissionProblem::Nowhere(Vec3::new(70.0, 60.0, 90.0))),
        fault(5, Some(3), MissionProblem::TooLong(300)),
    ] {
        assert!(faults.0.contains(&expected), "{expected:?} is not among\n{refused}");
    }
    assert!(refused.to_string().contains("mission 6, waypoint 1: there is no kind or group \"dragons\""));
    let mut ghosts = adventure();
    ghosts.vocabulary.groups.push(KindGroup { name: "ghosts".into(), members: vec!["player".into()] });
    let mut missions = camp_and_home();
    missions[0].waypoints[0].clear = Some("ghosts".into());
    let ghosts = with_missions(ghosts, missions);
    let refused = NpcCast::new(ghosts, &flat(), &wall(), 20.0, &mut || true).unwrap_err().to_string();
    assert_eq!(refused, "mission 1, waypoint 1: \"ghosts\" has no NPCs");
    let many = with_missions(adventure(), vec![camp_and_home()[0].clone(); 17]);
    let refused = NpcCast::new(many, &flat(), &wall(), 20.0, &mut || true).unwrap_err().to_string();
    assert!(refused.contains("17 missions are more than 16"), "{refused}");
}

#[test]
fn an_empty_cast_may_have_missions() {
    let walk = Mission {
        name: "Walk".into(),
        waypoints: vec![waypoint(70.0, 60.0, None, "")],
        ..Mission::default()
    };
    let script = with_missions(script(Vec::new()), vec![walk]);
    let mut stage = Stage::new(WorldConfig { epoch: Epoch(0), ..setting_of(script) });
    stage.send(1, enter_at(point(70.0, 60.0) + Vec3::Z * STANDING));
    stage.step();
    assert_eq!(wait(&mut stage, 10), one(0, 1, "Walk: done."));
}

#[test]
fn a_world_that_was_put_away_goes_on_under_other_missions_which_begin_anew() {
    let told = |world: &World| {
        let mut record = Vec::new();
        world.progress(&mut record);
        record
    };
    let mut stage = Stage::new(SETTING.clone());
    stage.send(1, enter_at(point(70.0, 60.0) + Vec3::Z * STANDING));
    stage.run(20);
    assert_ne!(told(&stage.world), told(&World::new(SETTING.clone())), "a visitor has come to the camp");
    let kept = stage.world.snapshot();
    let mut missions = camp_and_home();
    missions[0].waypoints.pop();
    let script = with_missions(adventure(), missions);
    let other = setting_of(script);
    assert!(matches!(World::restore(other.clone(), &kept), Err(RestoreError::OtherCast { .. })));
    let back = World::restore_without_visitors(other.clone(), &kept).unwrap();
    assert_eq!((back.n_npcs(), told(&back)), (3, told(&World::new(other))));
    let same = World::restore_without_visitors(SETTING.clone(), &kept).unwrap();
    assert_eq!(told(&same), told(&stage.world));
}
