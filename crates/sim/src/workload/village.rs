//! Who lives in the worlds of workload `npcs`: guards on their round, people who stroll and talk, and some who are after both.

use behavior::{Kind, Place, Route, Vocabulary};
use glam::{Vec2, Vec3};
use link::{Scenery, Terrain};
use std::sync::Arc;
use world::{Actor, Cast, Script, Spawn};

/// In each world, as in the instances of experiment `worlds`.
pub(super) const NPCS: u32 = 20;
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

/// The cast of a world on this ground.
pub(super) fn cast(terrain: &Terrain, scenery: &Scenery, water_m: f32) -> Arc<Cast> {
    let cast = Cast::new(script(terrain), terrain, scenery, water_m, &mut || true);
    Arc::new(cast.expect("what is written here can be"))
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
        places: vec![Place { name: "camp".into(), position: at(150.0, 150.0), radius_m: 10.0 }],
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
