//! Health of visitors, where damage is on: NPCs' blows take it, time gives it back, and an avatar without any begins again.

use super::{
    stage::{STANDING, Stage, enter_at},
    village::{GROUND_M, script, setting_of, spawn},
};
use game::{Game, HEALTH_MAX, MissionScript};
use glam::{Vec2, Vec3};
use ids::{AgentId, SessionKey, Uuid};
use link::{Action, Audience, Enter, Event, GameEvent};
use std::sync::{Arc, LazyLock};
use world::{GameSource, World, WorldConfig};

/// Of all visitors of a stage.
const AGENT: AgentId = AgentId(Uuid::from_u128(7));

static HARMFUL: LazyLock<WorldConfig> = LazyLock::new(|| lair(true));

fn hurting(damage: bool) -> Option<Arc<dyn GameSource>> {
    MissionScript { damage, ..MissionScript::default() }.into_source()
}

fn health(world: &World, agent: AgentId) -> u8 {
    Game::of(world).expect("a game").health_of(agent)
}

fn health_event(session: u64, points: u8) -> Event {
    Event::Game(Audience::Session(SessionKey(session)), GameEvent::Health { points })
}

/// A world with a wolf that bites.
fn lair(damage: bool) -> WorldConfig {
    let mut script = script(vec![spawn("wolf", "wolf", 70.0, 60.0)]);
    script.vocabulary.kinds[2].enemies = vec!["player".into()];
    script.game = hurting(damage);
    setting_of(script)
}

fn at(x: f32, y: f32) -> Vec3 {
    Vec3::new(x, y, GROUND_M + STANDING)
}

fn visited(config: WorldConfig) -> Stage {
    let mut stage = Stage::new(config);
    // Before it: it looks east.
    stage.send(1, enter_at(at(76.0, 60.0)));
    stage.step();
    stage
}

/// Values of the visitor's health in the events of `ticks` ticks.
fn told(stage: &mut Stage, ticks: u32) -> Vec<u8> {
    let mut told = Vec::new();
    for _ in 0..ticks {
        stage.step();
        told.extend(told_of(stage, 1));
    }
    told
}

/// Values of a session's health in the events of the last tick.
fn told_of(stage: &Stage, session: u64) -> Vec<u8> {
    let points = |event: &Event| match event {
        Event::Game(Audience::Session(SessionKey(known)), GameEvent::Health { points }) => {
            (*known == session).then_some(*points)
        }
        _ => None,
    };
    stage.events().iter().filter_map(points).collect()
}

/// Steps until an avatar falls.
fn fall(stage: &mut Stage) {
    for _ in 0..600 {
        stage.step();
        if stage.events().iter().any(|event| matches!(event, Event::Game(_, GameEvent::Fell(_)))) {
            return;
        }
    }
    panic!("no avatar falls");
}

#[test]
fn blows_hurt_and_a_fallen_avatar_stands_at_the_arrival_again_in_full_health() {
    let mut stage = visited(HARMFUL.clone());
    assert!(stage.events().contains(&health_event(1, HEALTH_MAX)));
    let who = stage.entity(1).id;
    let (mut points, mut struck, mut fell) = (Vec::new(), 0, false);
    for _ in 0..600 {
        if fell {
            break;
        }
        points.extend(told(&mut stage, 1));
        struck += stage
            .events()
            .iter()
            .filter(|event| matches!(event, Event::Game(_, GameEvent::Struck { .. })))
            .count();
        fell = stage.events().contains(&Event::Game(Audience::All, GameEvent::Fell(who)));
    }
    assert_eq!(points, [90, 80, 70, 60, 50, 40, 30, 20, 10, 0]);
    assert_eq!(struck, 10);
    stage.step();
    assert!(stage.events().contains(&Event::Teleported(SessionKey(1))), "{:?}", stage.events());
    assert_eq!(stage.at(1), Vec2::splat(128.0));
    assert_eq!(stage.entity(1).id, who);
    assert_eq!(health(&stage.world, AGENT), HEALTH_MAX);
    assert_eq!(told(&mut stage, 200), [0; 0], "an absent avatar is not struck");
}

#[test]
fn a_world_without_damage_hurts_no_avatar() {
    let mut stage = visited(lair(false));
    assert_eq!(told(&mut stage, 400), [0; 0]);
    assert_eq!((health(&stage.world, AGENT), stage.at(1)), (HEALTH_MAX, Vec2::new(76.0, 60.0)));
}

#[test]
fn wounds_heal_with_time_and_outlast_a_departure() {
    let mut stage = visited(HARMFUL.clone());
    for _ in 0..600 {
        if health(&stage.world, AGENT) > 60 {
            stage.step();
        }
    }
    // Far from the wolf, which sees 25 m.
    stage.send(1, Action::Leave);
    stage.run(40);
    stage.send(1, enter_at(at(200.0, 200.0)));
    assert_eq!(told(&mut stage, 1), [60], "who comes in is told");
    assert_eq!(told(&mut stage, 55), [0; 0]);
    assert_eq!(told(&mut stage, 100), [61, 62, 63, 64, 65]);
    assert_eq!(health(&stage.world, AGENT), 65);
    let mut record = Vec::new();
    stage.world.progress(&mut record);
    let mut world = World::new(HARMFUL.clone());
    world.take_up_progress(&record).unwrap();
    assert_eq!(health(&world, AGENT), 65);
    let all = told(&mut stage, 40 * 20);
    assert_eq!((all.len(), all.last()), (35, Some(&HEALTH_MAX)));
}

#[test]
fn an_avatar_that_leaves_before_its_return_is_well_and_no_other_is_moved() {
    let mut stage = visited(HARMFUL.clone());
    fall(&mut stage);
    // This is the first that the world takes after the fall.
    stage.send(1, Action::Leave);
    stage.step();
    let is_of_them = |event: &&Event| {
        matches!(event, Event::Teleported(SessionKey(1)) | Event::Game(Audience::Session(SessionKey(1)), _))
    };
    assert_eq!(stage.events().iter().find(is_of_them), None);
    assert_eq!((stage.world.n_avatars(), health(&stage.world, AGENT)), (0, HEALTH_MAX));
    stage.send(1, enter_at(at(200.0, 200.0)));
    stage.step();
    assert_eq!(told_of(&stage, 1), [HEALTH_MAX]);
    assert_eq!(stage.at(1), Vec2::splat(200.0), "where they came in");
}

#[test]
fn an_avatar_that_leaves_in_the_tick_of_the_last_blow_is_not_hurt_by_it() {
    let mut stage = visited(HARMFUL.clone());
    let mut ticks = 0;
    while health(&stage.world, AGENT) > 0 {
        stage.step();
        ticks += 1;
        assert!(ticks < 600, "no avatar falls");
    }
    // Once more, and gone by then: commands come first in a tick.
    let mut stage = visited(HARMFUL.clone());
    stage.run(ticks - 1);
    let left = health(&stage.world, AGENT);
    stage.send(1, Action::Leave);
    stage.step();
    assert_eq!(stage.events(), []);
    assert_eq!(health(&stage.world, AGENT), left);
}

#[test]
fn two_avatars_struck_at_once_have_each_their_own_health() {
    // A pack for each, so that there are blows in most ticks.
    let pack = |y: f32| (0..6).map(move |n| spawn("wolf", "wolf", 68.0 + n as f32 / 2.0, y - 2.0 + n as f32));
    let mut script = script(pack(60.0).chain(pack(160.0)).collect());
    script.vocabulary.kinds[2].enemies = vec!["player".into()];
    script.game = hurting(true);
    let mut stage = visited(setting_of(script));
    let other = AgentId(Uuid::from_u128(8));
    let Action::Enter(enter) = enter_at(at(76.0, 160.0)) else { panic!("it is an arrival") };
    stage.send(2, Action::Enter(Box::new(Enter { agent: other, ..*enter })));
    let (mut were_hurt_at_once, mut falls) = (false, [0, 0]);
    for _ in 0..800 {
        let was = [AGENT, other].map(|agent| health(&stage.world, agent));
        stage.step();
        let is = [AGENT, other].map(|agent| health(&stage.world, agent));
        were_hurt_at_once |= is[0] < was[0] && is[1] < was[1];
        for (session, (falls, (was, is))) in (1..).zip(falls.iter_mut().zip(was.into_iter().zip(is))) {
            let told = told_of(&stage, session);
            if was != is {
                assert_eq!(told.last(), Some(&is), "session {session}");
            } else {
                assert!(told.iter().all(|points| *points == is), "{told:?} of session {session}");
            }
            *falls += u32::from(is == 0 && was > 0);
        }
    }
    assert!(were_hurt_at_once, "both in one tick");
    assert_eq!(falls, [1, 1], "each falls once, and is out of sight then");
    for (session, agent) in [(1, AGENT), (2, other)] {
        assert_eq!(health(&stage.world, agent), HEALTH_MAX);
        assert!(stage.at(session).distance(Vec2::splat(128.0)) < 2.0, "{}", stage.at(session));
    }
}
