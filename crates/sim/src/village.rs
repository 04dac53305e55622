//! The NPCs of workload `npcs` and of setting `village`: guards on their round, strolling and talking people, and outlaws that attack
//! both.

use behavior::{Kind, NamedPlace, Route, Vocabulary};
use game::{Mission, MissionScript, Waypoint};
use glam::{Vec2, Vec3};
use link::{Scenery, Terrain};
use std::sync::Arc;
use world::{Actor, NpcCast, Script, Spawn};

/// In each world, as in the instances of experiment `worlds`.
pub(crate) const NPCS: u32 = 20;
/// Around the plaza, metres from the corner.
const MIDDLE_M: f32 = 128.0;

const BEHAVIORS: &str = "\
behaviour guard:
    select:
        when sees enemy within 20 m in last 3 s:
            chase target
            attack target every 1 s damage 5
        patrol round pause 0.5 s
behaviour stroller:
    select:
        when sees enemy within 12 m: flee until 25 m
        when hears chat within 20 m: cooldown 5 s: say \"Who is there?\"
        wander within 25 m pause 0.5 s to 2 s
behaviour prowler:
    select:
        when sees enemy within 25 m in last 4 s:
            chase target leash 60 m
            attack target every 1.5 s damage 8
        wander within 15 m around camp pause 1 s to 3 s
";

const OTHER_BEHAVIORS: &str = "\
behaviour guard:
    select:
        when sees enemy within 30 m in last 3 s:
            chase target
            attack target every 1 s damage 10
        patrol round pause 1 s
behaviour stroller:
    select:
        when sees enemy within 8 m: flee until 20 m
        wander within 40 m pause 0.2 s to 1 s
behaviour prowler:
    select:
        when sees enemy within 30 m in last 4 s:
            chase target leash 80 m
            attack target every 1 s damage 8
        wander within 25 m around camp pause 0.5 s to 2 s
";

/// The cast of a world on this ground, in which visitors are hurt and have a mission, and the fallen are soon back.
pub(crate) fn contested_cast(terrain: &Terrain, scenery: &Scenery, water_m: f32) -> Arc<NpcCast> {
    edition(terrain, scenery, water_m, BEHAVIORS)
}

/// Another edition of [`contested_cast`]: the same NPCs behave otherwise. A world may go over from either to the other.
pub(crate) fn other_cast(terrain: &Terrain, scenery: &Scenery, water_m: f32) -> Arc<NpcCast> {
    edition(terrain, scenery, water_m, OTHER_BEHAVIORS)
}

fn edition(terrain: &Terrain, scenery: &Scenery, water_m: f32, behaviors: &str) -> Arc<NpcCast> {
    let waypoint = |x: f32, y: f32, clear: Option<&str>| Waypoint {
        position: Vec3::new(x, y, terrain.height(x, y)),
        radius_m: 30.0,
        clear: clear.map(Into::into),
        ..Waypoint::default()
    };
    let mission = Mission {
        name: "Camp".into(),
        again_s: 2,
        waypoints: vec![waypoint(128.0, 128.0, None), waypoint(150.0, 150.0, Some("bandit"))],
        ..Mission::default()
    };
    let script = Script {
        actors: vec![Actor { health: 30, lies_s: 1, respawn_s: 3, ..Actor::default() }; 3],
        game: MissionScript { missions: vec![mission], damage: true }.into_source(),
        files: vec![("village.behaviour".into(), behaviors.into())],
        ..script(terrain)
    };
    let cast = NpcCast::new(script, terrain, scenery, water_m, &mut || true);
    Arc::new(cast.expect("the script of this file is valid"))
}

/// The cast of a world on this ground.
pub(crate) fn cast(terrain: &Terrain, scenery: &Scenery, water_m: f32) -> Arc<NpcCast> {
    let cast = NpcCast::new(script(terrain), terrain, scenery, water_m, &mut || true);
    Arc::new(cast.expect("the script of this file is valid"))
}

fn script(terrain: &Terrain) -> Script {
    let at = |x: f32, y: f32| Vec3::new(x, y, terrain.height(x, y));
    let kind = |name: &str, enemies: &[&str]| Kind {
        name: name.into(),
        enemies: enemies.iter().map(|&name| name.into()).collect(),
        ..Kind::default()
    };
    let vocabulary = Vocabulary {
        kinds: vec![
            kind("guard", &["bandit"]),
            kind("villager", &["bandit"]),
            kind("bandit", &["guard", "player"]),
        ],
        places: vec![NamedPlace { name: "camp".into(), position: at(150.0, 150.0), radius_m: 10.0 }],
        routes: vec![Route {
            name: "round".into(),
            points: vec![at(110.0, 110.0), at(146.0, 110.0), at(146.0, 146.0), at(110.0, 146.0)],
        }],
        ..Vocabulary::default()
    };
    let spawn = |n: u32| {
        let (kind, behavior) = match n % 4 {
            0 => ("guard", "guard"),
            1 => ("bandit", "prowler"),
            _ => ("villager", "stroller"),
        };
        // Sine and cosine inside come from `libm`: glam is built so.
        let Vec2 { x: cos, y: sin } = Vec2::from_angle(n as f32 * 0.9);
        let far = 6.0 + n as f32;
        Spawn {
            kind: kind.into(),
            behavior: behavior.into(),
            first_name: format!("{kind}{n}"),
            last_name: "Village".into(),
            position: at(MIDDLE_M + far * cos, MIDDLE_M + far * sin),
            look_at: Vec3::X,
        }
    };
    Script {
        vocabulary,
        actors: vec![Actor::default(); 3],
        files: vec![("village.behaviour".into(), BEHAVIORS.into())],
        spawns: (0..NPCS).map(spawn).collect(),
        ..Script::default()
    }
}
