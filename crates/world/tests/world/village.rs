//! A place with a wall and people in it, to play scenes with NPCs in.

use super::stage::{STANDING, Stage, config, enter_at};
use behavior::{Kind, Route, Vocabulary};
use game::{Mission, MissionScript, Waypoint};
use glam::{Quat, Vec2, Vec3};
use ids::{Epoch, SessionKey, Uuid};
use link::{Entity, Prim, Scenery, StaticObject, Terrain};
use std::sync::Arc;
use world::{Actor, NpcCast, Script, Spawn, WorldConfig};

pub(crate) const GROUND_M: f32 = 21.0;

pub(crate) const BEHAVIORS: &str = "\
behaviour patrol: patrol round pause 1 s
behaviour stroll: wander within 25 m pause 0.1 s to 1 s
behaviour stand: wait 10 s
behaviour hound:
    select:
        when sees enemy within 25 m in last 4 s: chase target within 2 m
        wait 2 s
behaviour wolf:
    select:
        when sees enemy within 25 m in last 4 s:
            chase target
            attack target every 0.5 s damage 10
        wait 2 s
behaviour dog:
    select:
        when sees player within 40 m in last 9 s: follow target
        wait 2 s
behaviour gossip:
    when hears chat within 20 m: cooldown 5 s: say \"I heard that.\"
";

pub(crate) fn flat() -> Terrain {
    Terrain::flat(256, GROUND_M)
}

/// A wall from south to north with a gap in the middle.
pub(crate) fn wall() -> Scenery {
    let part = |n: u64, y: f32| StaticObject {
        position: Vec3::new(128.0, y, GROUND_M + 2.0),
        rotation: Quat::IDENTITY,
        prim: Prim {
            id: Uuid::from_u64_pair(9, n),
            scale: Vec3::new(1.0, 60.0, 4.0),
            texture_entry: Arc::new([0; 47]),
        },
    };
    Scenery::new(vec![part(1, 96.0), part(2, 160.0)]).expect("two walls")
}

pub(crate) fn script(spawns: Vec<Spawn>) -> Script {
    let kind = |name: &str, enemies: &[&str]| Kind {
        name: name.into(),
        enemies: enemies.iter().map(|&name| name.into()).collect(),
        ..Kind::default()
    };
    let point = |x, y| Vec3::new(x, y, GROUND_M);
    Script {
        vocabulary: Vocabulary {
            kinds: vec![kind("folk", &[]), kind("hound", &["player"]), kind("wolf", &["folk"])],
            routes: vec![Route {
                name: "round".into(),
                points: vec![point(100.0, 128.0), point(156.0, 100.0)],
            }],
            ..Vocabulary::default()
        },
        actors: vec![Actor { health: 30, lies_s: 2, respawn_s: 3, ..Actor::default() }; 3],
        files: vec![("test.behaviour".into(), BEHAVIORS.into())],
        spawns,
        ..Script::default()
    }
}

pub(crate) fn spawn(kind: &str, behavior: &str, x: f32, y: f32) -> Spawn {
    Spawn {
        kind: kind.into(),
        behavior: behavior.into(),
        first_name: format!("{kind} at {x}"),
        last_name: "Npc".into(),
        position: Vec3::new(x, y, GROUND_M),
        look_at: Vec3::X,
    }
}

/// A world with these NPCs, behind a wall and before it, and a visitor in the south-west.
pub(crate) fn stage(spawns: Vec<Spawn>) -> Stage {
    let mut stage = Stage::new(setting(spawns));
    stage.send(1, enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING)));
    stage.step();
    stage
}

pub(crate) fn setting(spawns: Vec<Spawn>) -> WorldConfig {
    setting_of(script(spawns))
}

pub(crate) fn setting_of(script: Script) -> WorldConfig {
    let scenery = Arc::new(wall());
    let cast = NpcCast::new(script, &flat(), &scenery, 20.0, &mut || true).expect("a cast");
    WorldConfig { epoch: Epoch(0), scenery, cast: Some(Arc::new(cast)), ..config(flat()) }
}

pub(crate) fn npcs(stage: &Stage) -> Vec<&Entity> {
    let is_npc = |entity: &&Entity| entity.avatar.session == SessionKey::NODE;
    stage.mirror.0.values().filter(is_npc).collect()
}

pub(crate) fn npc(stage: &Stage) -> &Entity {
    let all = npcs(stage);
    assert_eq!(all.len(), 1);
    all[0]
}

pub(crate) fn at(entity: &Entity) -> Vec2 {
    entity.motion.position.truncate()
}

/// Many of them, so that they meet.
pub(crate) fn crowd() -> Vec<Spawn> {
    (0..24)
        .map(|n| {
            let (kind, behavior) = [("folk", "stroll"), ("folk", "patrol"), ("hound", "hound")][n % 3];
            spawn(kind, behavior, 90.0 + 3.0 * (n % 6) as f32, 110.0 + 3.0 * (n / 6) as f32)
        })
        .collect()
}

/// NPCs that fight each other and visitors, NPCs that walk about, and a mission.
pub(crate) fn fighters() -> Script {
    let roles =
        [("wolf", "wolf"), ("folk", "stroll"), ("hound", "hound"), ("folk", "gossip"), ("folk", "patrol")];
    let spawns = (0..10).map(|n| {
        let (kind, behavior) = roles[n % 5];
        spawn(kind, behavior, 90.0 + 4.0 * (n % 5) as f32, 100.0 + 6.0 * (n / 5) as f32)
    });
    let mut script = script(spawns.collect());
    script.vocabulary.kinds[2].enemies.push("player".into());
    let waypoint = |x, clear: Option<&str>| Waypoint {
        position: Vec3::new(x, 105.0, GROUND_M),
        radius_m: 30.0,
        clear: clear.map(Into::into),
        text: String::new(),
    };
    let hunt = Mission {
        name: "Hunt".into(),
        again_s: 1,
        waypoints: vec![waypoint(95.0, None), waypoint(105.0, Some("folk"))],
        ..Mission::default()
    };
    script.game = MissionScript { missions: vec![hunt], damage: true }.into_source();
    script
}
