//! The file that says who lives in a template's instances: TOML, with files of behaviours beside it.
//!
//! [docs/operating/npcs.md](../../../../../docs/operating/npcs.md) is its reference.

use glam::Vec3;
use ids::Uuid;
use nav::behavior::{Group, Kind, Place, Resource, Route, Vocabulary};
use nav::senses::Sight;
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use world::{Actor, Cast, CastError, NPCS_MAX, Scenery, Script, Spawn, Terrain};

/// Bytes of a file: a thousand NPCs fill less.
const BYTES_MAX: u64 = 1 << 20;
/// Metres between those of one entry that come in a number.
const SPREAD_M: f32 = 2.0;

/// Why a template has no NPCs.
#[derive(Debug, Error)]
pub(in crate::serve) enum ScriptError {
    #[error("cannot read {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is longer than {BYTES_MAX} bytes", path = path.display())]
    TooLong { path: PathBuf },
    #[error("{path}: {source}", path = path.display())]
    Parse { path: PathBuf, source: Box<toml::de::Error> },
    #[error("{path}: {source}", path = path.display())]
    Cast { path: PathBuf, source: Box<CastError> },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Files of behaviours, beside this one.
    behaviours: Vec<PathBuf>,
    #[serde(default)]
    day_s: u32,
    #[serde(default)]
    kind: Vec<KindEntry>,
    #[serde(default)]
    group: Vec<Group>,
    #[serde(default)]
    place: Vec<PlaceEntry>,
    #[serde(default)]
    route: Vec<RouteEntry>,
    #[serde(default)]
    resource: Vec<ResourceEntry>,
    #[serde(default)]
    animation: Vec<AnimationEntry>,
    /// Names of further kinds of sounds.
    #[serde(default)]
    sounds: Vec<String>,
    #[serde(default)]
    npc: Vec<NpcEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KindEntry {
    name: String,
    #[serde(default)]
    enemies: Vec<String>,
    #[serde(default)]
    friends: Vec<String>,
    health: Option<u16>,
    walk_m_per_s: Option<f32>,
    run_m_per_s: Option<f32>,
    lies_s: Option<u16>,
    respawn_s: Option<u16>,
    #[serde(default)]
    sight: Sight,
}

/// Metres from the corner: two numbers on the ground, or three.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum Point {
    Ground([f32; 2]),
    At([f32; 3]),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceEntry {
    name: String,
    position: Point,
    #[serde(default)]
    radius_m: f32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteEntry {
    name: String,
    points: Vec<Point>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourceEntry {
    name: String,
    spots: Vec<Point>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnimationEntry {
    name: String,
    id: Uuid,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NpcEntry {
    kind: String,
    behaviour: String,
    name: String,
    position: Point,
    #[serde(default)]
    look_at: Option<[f32; 2]>,
    /// So many, side by side, with a number behind their names.
    #[serde(default = "one")]
    count: u16,
}

const fn one() -> u16 {
    1
}

/// Last name of who is given none.
const LAST_NAME: &str = "Npc";

/// Reads a script and builds what instances share of their NPCs.
pub(in crate::serve) fn load(
    path: &Path,
    terrain: &Terrain,
    scenery: &Scenery,
    water_m: f32,
) -> Result<Cast, ScriptError> {
    let text = String::from_utf8_lossy(&read(path)?).into_owned();
    let parse = |source| ScriptError::Parse { path: path.to_owned(), source: Box::new(source) };
    let file: File = toml::from_str(&text).map_err(parse)?;
    // Before any of them is made: a file of a few bytes could ask for billions.
    let n_npcs: usize = file.npc.iter().map(|npc| usize::from(npc.count)).sum();
    if n_npcs > NPCS_MAX {
        let source = Box::new(CastError::TooMany(n_npcs));
        return Err(ScriptError::Cast { path: path.to_owned(), source });
    }
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let mut files = Vec::new();
    for name in &file.behaviours {
        files.push((name.display().to_string(), read(&directory.join(name))?));
    }
    let script = script(file, files, terrain);
    let failed = |source| ScriptError::Cast { path: path.to_owned(), source: Box::new(source) };
    Cast::new(script, terrain, scenery, water_m, &mut || true).map_err(failed)
}

fn read(path: &Path) -> Result<Vec<u8>, ScriptError> {
    let failed = |source| ScriptError::Read { path: path.to_owned(), source };
    if fs::metadata(path).map_err(failed)?.len() > BYTES_MAX {
        return Err(ScriptError::TooLong { path: path.to_owned() });
    }
    fs::read(path).map_err(failed)
}

fn script(file: File, files: Vec<(String, Vec<u8>)>, terrain: &Terrain) -> Script {
    let at = |point: Point| match point {
        Point::Ground([x, y]) => Vec3::new(x, y, terrain.height(x, y)),
        Point::At(at) => Vec3::from(at),
    };
    let File { day_s, kind, group, place, route, resource, animation, sounds, npc, .. } = file;
    let vocabulary = Vocabulary {
        kinds: kind
            .iter()
            .map(|kind| Kind {
                name: kind.name.clone(),
                enemies: kind.enemies.clone(),
                friends: kind.friends.clone(),
            })
            .collect(),
        groups: group,
        places: place
            .into_iter()
            .map(|place| Place { name: place.name, position: at(place.position), radius_m: place.radius_m })
            .collect(),
        routes: route
            .into_iter()
            .map(|route| Route { name: route.name, points: route.points.into_iter().map(at).collect() })
            .collect(),
        resources: resource
            .into_iter()
            .map(|resource| Resource {
                name: resource.name,
                spots: resource.spots.into_iter().map(at).collect(),
            })
            .collect(),
        animations: animation.iter().map(|animation| animation.name.clone()).collect(),
        sounds,
        entries: npc.iter().map(|npc| npc.behaviour.clone()).collect(),
    };
    Script {
        vocabulary,
        actors: kind.into_iter().map(actor).collect(),
        animations: animation.into_iter().map(|animation| animation.id).collect(),
        files,
        spawns: npc.iter().flat_map(|npc| spawns(npc, &at)).collect(),
        day_s,
    }
}

fn actor(kind: KindEntry) -> Actor {
    let usual = Actor::default();
    Actor {
        health: kind.health.unwrap_or(usual.health),
        walk_m_per_s: kind.walk_m_per_s.unwrap_or(usual.walk_m_per_s),
        run_m_per_s: kind.run_m_per_s.unwrap_or(usual.run_m_per_s),
        sight: kind.sight,
        lies_s: kind.lies_s.unwrap_or(usual.lies_s),
        respawn_s: kind.respawn_s.unwrap_or(usual.respawn_s),
        appearance: usual.appearance,
    }
}

fn spawns(npc: &NpcEntry, at: &impl Fn(Point) -> Vec3) -> impl Iterator<Item = Spawn> {
    let first_at = at(npc.position);
    let side = (1..).find(|side| side * side >= npc.count).unwrap_or(1);
    (0..npc.count).map(move |n| {
        let (east, north) = (f32::from(n % side) * SPREAD_M, f32::from(n / side) * SPREAD_M);
        let position = at(match npc.position {
            Point::Ground([x, y]) => Point::Ground([x + east, y + north]),
            Point::At([x, y, z]) => Point::At([x + east, y + north, z]),
        });
        let (first, last) = npc.name.split_once(' ').unwrap_or((&npc.name, LAST_NAME));
        let look_at = npc.look_at.map_or(Vec3::X, |[x, y]| Vec3::new(x, y, 0.0) - first_at);
        Spawn {
            kind: npc.kind.clone(),
            behavior: npc.behaviour.clone(),
            first_name: if npc.count > 1 { format!("{first}{}", n + 1) } else { first.to_owned() },
            last_name: last.to_owned(),
            position,
            look_at,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn load_text(text: &str, behaviours: &str) -> Result<Cast, String> {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("cave.toml");
        fs::write(&path, text).expect("room");
        fs::write(directory.path().join("cave.behaviour"), behaviours).expect("room");
        let (terrain, scenery) = (Terrain::flat(256, 22.0), Arc::<Scenery>::default());
        load(&path, &terrain, &scenery, 20.0).map_err(|error| error.to_string())
    }

    const SCRIPT: &str = "
        behaviours = [\"cave.behaviour\"]
        [[kind]]
        name = \"bandit\"
        enemies = [\"player\"]
        health = 40
        sight = { radius_m = 25 }
        [[place]]
        name = \"camp\"
        position = [60, 70]
        radius_m = 5
        [[npc]]
        kind = \"bandit\"
        behaviour = \"loiter\"
        name = \"Tom\"
        position = [60, 70]
        count = 5
    ";

    const BEHAVIOURS: &str = "behaviour loiter: wander within 5 m around camp pause 1 s to 2 s\n";

    #[test]
    fn a_script_makes_a_cast() {
        assert_eq!(load_text(SCRIPT, BEHAVIOURS).expect("a cast").len(), 5);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_file() {
        for (text, behaviours, words) in [
            (SCRIPT.replace("health", "helth").as_str(), BEHAVIOURS, ["cave.toml", "helth"]),
            (SCRIPT.replace("count = 5", "count = 65535").as_str(), BEHAVIOURS, ["65535 NPCs", "256"]),
            (
                SCRIPT.replace("health = 40", "walk_m_per_s = nan").as_str(),
                BEHAVIOURS,
                ["bandit", "walk_m_per_s is NaN"],
            ),
            (
                SCRIPT.replace("health = 40", "run_m_per_s = -3.0").as_str(),
                BEHAVIOURS,
                ["run_m_per_s is -3", "between 0.1 and 128"],
            ),
            (
                SCRIPT.replace("cave.behaviour", "none.behaviour").as_str(),
                BEHAVIOURS,
                ["cannot read", "none.behaviour"],
            ),
            (SCRIPT, "behaviour loiter: wander within 5 m around camb\n", ["cave.behaviour", "camp"]),
            (
                SCRIPT.replace("behaviour = \"loiter\"", "behaviour = \"lurk\"").as_str(),
                BEHAVIOURS,
                ["cave.toml", "lurk"],
            ),
            (SCRIPT.replace("count = 5", "count = 500").as_str(), BEHAVIOURS, ["cave.toml", "more than 256"]),
        ] {
            let error = load_text(text, behaviours).expect_err("something is wrong");
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}
