//! Script of a template's NPCs: a TOML file with files of behaviours and appearances beside it.
//!
//! [docs/operating/npcs.md](../../../../docs/operating/npcs.md) is its reference. Start with [`load_cast`]; `forms` has the entries of the file.
//! Files are read through [`ScriptFiles`]. Reading and checking are two passes, and each reports all of its problems at once.

mod entry;
mod forms;
mod looks;
mod missions;

pub use looks::parse_worn_looks;

use behavior::{Kind, NamedPlace, Resource, Route, Vocabulary};
use entry::{Placed, Point};
use forms::{File, KindEntry, NpcEntry};
use game::{MissionFaults, MissionScript};
use glam::Vec3;
use link::{Looks, Scenery, Terrain};
use missions::mission;
use outline::{Problem, Problems};
use std::collections::BTreeSet;
use std::path::Path;
use world::{Actor, CastError, CastErrors, NPCS_MAX, NpcCast, Script, Spawn};

/// Bytes of one file of a script: a thousand NPCs fill less.
pub const SCRIPT_BYTES_MAX: u64 = 1 << 20;
/// Metres between those of one entry that come in a number.
const SPREAD_M: f32 = 2.0;
/// Default last name.
const LAST_NAME: &str = "Npc";

/// All problems of a script's files, in the order of their discovery.
pub type ScriptProblems = Problems<String>;

/// Access to the files of a script.
pub trait ScriptFiles {
    /// Contents of a file, at most [`SCRIPT_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// The reason, as the operator is shown it.
    fn read(&self, path: &Path) -> Result<Vec<u8>, String>;
}

/// Reads a script and builds the part of the NPCs that instances share. Stops when `go_on` returns false.
///
/// # Errors
/// All problems of its files.
pub fn load_cast(
    files: &dyn ScriptFiles,
    path: &Path,
    terrain: &Terrain,
    scenery: &Scenery,
    water_m: f32,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<NpcCast, ScriptProblems> {
    let (script, lines) = Lines::read(files, path, terrain)?;
    NpcCast::new(script, terrain, scenery, water_m, go_on).map_err(|errors| lines.place(errors))
}

/// Reads a changed script for the ground of `cast`, whose navmesh is kept.
///
/// # Errors
/// All problems of its files.
pub fn reload_cast(
    files: &dyn ScriptFiles,
    path: &Path,
    terrain: &Terrain,
    cast: &NpcCast,
) -> Result<NpcCast, ScriptProblems> {
    let (script, lines) = Lines::read(files, path, terrain)?;
    cast.with_script(script, terrain).map_err(|errors| lines.place(errors))
}

/// Line numbers of the script's entries, for problems that are found later.
struct Lines {
    file: String,
    kinds: Vec<(String, u32)>,
    /// By number of the NPC.
    spawns: Vec<u32>,
    /// Lines of each mission, and of its waypoints.
    missions: Vec<(u32, Vec<u32>)>,
}

impl Lines {
    fn read(
        source: &dyn ScriptFiles,
        path: &Path,
        terrain: &Terrain,
    ) -> Result<(Script, Self), ScriptProblems> {
        let name = path.display().to_string();
        let mut problems = ScriptProblems::default();
        let text = source.read(path).map_err(|what| {
            problems.add(Problem::new(&name, 0, 0, what));
            std::mem::take(&mut problems)
        })?;
        let file = File::read(&name, &String::from_utf8_lossy(&text))?;
        // Before any of them is made: a file of a few bytes could ask for billions.
        let n_npcs: usize = file.npcs.iter().map(|npc| usize::from(npc.it.count)).sum();
        if n_npcs > NPCS_MAX {
            problems.add(Problem::new(&name, 0, 0, CastError::TooMany(n_npcs).to_string()));
        }
        let directory = path.parent().unwrap_or_else(|| Path::new("."));
        let mut files = Vec::new();
        for Placed { line, it: beside } in &file.behaviours {
            match source.read(&directory.join(beside)) {
                Ok(bytes) => files.push((beside.display().to_string(), bytes)),
                Err(what) => {
                    problems.add(Problem::new(&name, *line, 0, format!("{}: {what}", beside.display())));
                }
            }
        }
        let appearances = file.kinds.iter().map(|kind| (kind.line, &kind.it.appearance));
        let looks = looks::all(source, appearances, directory, &name, &mut problems);
        problems.none_or(())?;
        let lines = Self {
            file: name,
            kinds: file.kinds.iter().map(|kind| (kind.it.name.clone(), kind.line)).collect(),
            spawns: file
                .npcs
                .iter()
                .flat_map(|npc| std::iter::repeat_n(npc.line, npc.it.count.into()))
                .collect(),
            missions: file
                .missions
                .iter()
                .map(|mission| {
                    (mission.line, mission.it.waypoints.iter().map(|waypoint| waypoint.line).collect())
                })
                .collect(),
        };
        Ok((script(file, files, looks, terrain), lines))
    }

    /// Says of each error where it is.
    fn place(&self, CastErrors(errors): CastErrors) -> ScriptProblems {
        let mut problems = ScriptProblems::default();
        let mut reported = BTreeSet::new();
        for error in errors {
            let line = match &error {
                CastError::Behaviors(wrong) => {
                    for problem in &wrong.list {
                        let what = problem.fault.to_string();
                        let file = if problem.line == 0 { &self.file } else { &problem.file };
                        problems.add(Problem::new(file, problem.line, problem.column, what));
                    }
                    problems.n_more += wrong.n_more;
                    continue;
                }
                CastError::Game(faults) => match faults.0.downcast_ref::<MissionFaults>() {
                    Some(MissionFaults(faults)) => {
                        for fault in faults {
                            let line = self.line_of_mission(fault.mission, fault.waypoint);
                            problems.add(Problem::new(&self.file, line, 0, fault.problem.to_string()));
                        }
                        continue;
                    }
                    None => Some(0),
                },
                CastError::Unknown { number, what, .. } => self.line_of(*number, what, &mut reported),
                CastError::Nowhere { number, .. } => self.line_of(*number, "place", &mut reported),
                CastError::Number { kind, .. } => {
                    self.kinds.iter().find(|(name, _)| name == kind).map(|(_, line)| *line)
                }
                CastError::Solids(_)
                | CastError::Mesh(_)
                | CastError::Count { .. }
                | CastError::TooMany(_) => Some(0),
            };
            // Several NPCs of one entry are reported once.
            if let Some(line) = line {
                problems.add(Problem::new(&self.file, line, 0, error.to_string()));
            }
        }
        problems
    }

    fn line_of_mission(&self, mission: usize, waypoint: Option<usize>) -> u32 {
        let Some((line, waypoints)) = self.missions.get(mission) else { return 0 };
        waypoint.and_then(|number| waypoints.get(number)).copied().unwrap_or(*line)
    }

    /// The line of an NPC, the first time that something is said of its entry.
    fn line_of(
        &self,
        number: usize,
        what: &'static str,
        reported: &mut BTreeSet<(u32, &'static str)>,
    ) -> Option<u32> {
        let line = self.spawns.get(number).copied().unwrap_or(0);
        reported.insert((line, what)).then_some(line)
    }
}

fn script(file: File, files: Vec<(String, Vec<u8>)>, looks: Vec<Looks>, terrain: &Terrain) -> Script {
    let at = |point: Point| match point {
        Point::Ground([x, y]) => Vec3::new(x, y, terrain.height(x, y)),
        Point::At(at) => Vec3::from(at),
    };
    let all = |points: Vec<Point>| points.into_iter().map(at).collect();
    let kind = |KindEntry { name, enemies, friends, .. }: &KindEntry| Kind {
        name: name.clone(),
        enemies: enemies.clone(),
        friends: friends.clone(),
    };
    let vocabulary = Vocabulary {
        kinds: file.kinds.iter().map(|entry| kind(&entry.it)).collect(),
        groups: file.groups.into_iter().map(|entry| entry.it).collect(),
        places: (file.places.into_iter().map(|entry| entry.it))
            .map(|place| NamedPlace {
                name: place.name,
                position: at(place.position),
                radius_m: place.radius_m,
            })
            .collect(),
        routes: (file.routes.into_iter().map(|entry| entry.it))
            .map(|route| Route { name: route.name, points: all(route.points) })
            .collect(),
        resources: (file.resources.into_iter().map(|entry| entry.it))
            .map(|resource| Resource { name: resource.name, spots: all(resource.spots) })
            .collect(),
        animations: file.animations.iter().map(|entry| entry.it.name.clone()).collect(),
        sounds: file.sounds,
        // Unknown entry behaviours are reported at the NPCs, which have lines.
        entries: Vec::new(),
    };
    Script {
        vocabulary,
        actors: file.kinds.into_iter().zip(looks).map(|(entry, looks)| actor(entry.it, looks)).collect(),
        animations: file.animations.into_iter().map(|entry| entry.it.id).collect(),
        files,
        spawns: file.npcs.iter().flat_map(|entry| spawns(&entry.it, &at)).collect(),
        day_s: file.day_s,
        game: MissionScript {
            missions: file.missions.into_iter().map(|entry| mission(entry.it, &at)).collect(),
            damage: file.damage,
        }
        .into_source(),
    }
}

fn actor(kind: KindEntry, looks: Looks) -> Actor {
    let usual = Actor::default();
    Actor {
        health: kind.health.unwrap_or(usual.health),
        walk_m_per_s: kind.walk_m_per_s.unwrap_or(usual.walk_m_per_s),
        run_m_per_s: kind.run_m_per_s.unwrap_or(usual.run_m_per_s),
        sight: kind.sight,
        lies_s: kind.lies_s.unwrap_or(usual.lies_s),
        respawn_s: kind.respawn_s.unwrap_or(usual.respawn_s),
        looks,
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
mod tests;
