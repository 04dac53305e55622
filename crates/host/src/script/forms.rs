//! Entries of the file and their parsing: one malformed entry does not hide the problems of the others.

use super::ScriptProblems;
use super::entry::{Placed, Point};
use super::missions::{MissionEntry, WaypointEntry};
use behavior::KindGroup;
use behavior::senses::Acuity;
use ids::Uuid;
use outline::{Problem, position};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use toml::{Spanned, Table, Value};

/// Top level of the file; entries as spans only.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TopLevel {
    behaviours: Vec<Spanned<PathBuf>>,
    #[serde(default)]
    day_s: u32,
    #[serde(default)]
    kind: Vec<Spanned<Table>>,
    #[serde(default)]
    group: Vec<Spanned<Table>>,
    #[serde(default)]
    place: Vec<Spanned<Table>>,
    #[serde(default)]
    route: Vec<Spanned<Table>>,
    #[serde(default)]
    resource: Vec<Spanned<Table>>,
    #[serde(default)]
    animation: Vec<Spanned<Table>>,
    #[serde(default)]
    sounds: Vec<String>,
    #[serde(default)]
    npc: Vec<Spanned<Table>>,
    #[serde(default)]
    mission: Vec<Spanned<Table>>,
    #[serde(default)]
    damage: bool,
}

/// Of missions only where their waypoints are, which a [`TopLevel`] has in tables that have forgotten it.
#[derive(Debug, Deserialize)]
struct Waypoints {
    #[serde(default)]
    mission: Vec<WaypointsOfOne>,
}

#[derive(Debug, Deserialize)]
struct WaypointsOfOne {
    #[serde(default)]
    waypoint: Vec<Spanned<Table>>,
}

#[derive(Debug)]
pub(super) struct File {
    /// Files of behaviours, beside this one.
    pub(super) behaviours: Vec<Placed<PathBuf>>,
    pub(super) day_s: u32,
    pub(super) kinds: Vec<Placed<KindEntry>>,
    pub(super) groups: Vec<Placed<KindGroup>>,
    pub(super) places: Vec<Placed<PlaceEntry>>,
    pub(super) routes: Vec<Placed<RouteEntry>>,
    pub(super) resources: Vec<Placed<ResourceEntry>>,
    pub(super) animations: Vec<Placed<AnimationEntry>>,
    /// Names of further kinds of sounds.
    pub(super) sounds: Vec<String>,
    pub(super) npcs: Vec<Placed<NpcEntry>>,
    pub(super) missions: Vec<Placed<MissionEntry>>,
    /// NPCs' blows hurt visitors.
    pub(super) damage: bool,
}

impl File {
    /// Parses a file. Invalid TOML or an unknown top-level key hides the rest; all malformed entries are reported at once.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, ScriptProblems> {
        let mut reader = Reader { name, text, problems: ScriptProblems::default() };
        let Some(top) = reader.all::<TopLevel>() else { return Err(reader.problems) };
        let file = Self {
            behaviours: top.behaviours.into_iter().map(|path| reader.placed(path)).collect(),
            day_s: top.day_s,
            kinds: reader.entries("kind", top.kind),
            groups: reader.entries("group", top.group),
            places: reader.entries("place", top.place),
            routes: reader.entries("route", top.route),
            resources: reader.entries("resource", top.resource),
            animations: reader.entries("animation", top.animation),
            sounds: top.sounds,
            npcs: reader.entries("npc", top.npc),
            missions: reader.missions(top.mission),
            damage: top.damage,
        };
        reader.problems.none_or(file)
    }
}

struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    problems: ScriptProblems,
}

impl Reader<'_> {
    /// The whole file.
    fn all<T: DeserializeOwned>(&mut self) -> Option<T> {
        let report = |error: toml::de::Error| {
            let (line, column) = error.span().map_or((0, 0), |span| position(self.text, span.start));
            self.problems.add(Problem::new(self.name, line, column, error.message()));
        };
        toml::from_str(self.text).map_err(report).ok()
    }

    fn placed<T>(&self, it: Spanned<T>) -> Placed<T> {
        Placed { line: position(self.text, it.span().start).0, it: it.into_inner() }
    }

    fn entries<T: DeserializeOwned>(&mut self, what: &str, tables: Vec<Spanned<Table>>) -> Vec<Placed<T>> {
        tables.into_iter().filter_map(|table| self.entry(what, table)).collect()
    }

    fn entry<T: DeserializeOwned>(&mut self, what: &str, table: Spanned<Table>) -> Option<Placed<T>> {
        let Placed { line, it } = self.placed(table);
        let report = |error: toml::de::Error| {
            let message = error.message().trim_end();
            let fault = format!("invalid [[{what}]]: {message}");
            self.problems.add(Problem::new(self.name, line, 0, fault));
        };
        let it = Value::Table(it).try_into().map_err(report).ok()?;
        Some(Placed { line, it })
    }

    fn missions(&mut self, tables: Vec<Spanned<Table>>) -> Vec<Placed<MissionEntry>> {
        let Some(Waypoints { mission: waypoints }) = self.all() else { return Vec::new() };
        let mut missions = Vec::with_capacity(tables.len());
        for (mut table, WaypointsOfOne { waypoint }) in tables.into_iter().zip(waypoints) {
            table.get_mut().remove("waypoint");
            let mission = self.entry::<MissionEntry>("mission", table);
            let waypoints: Vec<Placed<WaypointEntry>> = self.entries("mission.waypoint", waypoint);
            missions.extend(mission.map(|mut mission| {
                mission.it.waypoints = waypoints;
                mission
            }));
        }
        missions
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KindEntry {
    pub(super) name: String,
    #[serde(default)]
    pub(super) enemies: Vec<String>,
    #[serde(default)]
    pub(super) friends: Vec<String>,
    pub(super) health: Option<u16>,
    pub(super) walk_m_per_s: Option<f32>,
    pub(super) run_m_per_s: Option<f32>,
    pub(super) lies_s: Option<u16>,
    pub(super) respawn_s: Option<u16>,
    #[serde(default)]
    pub(super) sight: Acuity,
    #[serde(default)]
    pub(super) appearance: AppearanceEntry,
}

/// Appearance of a kind.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AppearanceEntry {
    /// Like people, each in its own way.
    #[default]
    Person,
    /// Like nothing.
    Cloud,
    /// As a file beside this one says.
    File(PathBuf),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlaceEntry {
    pub(super) name: String,
    pub(super) position: Point,
    #[serde(default)]
    pub(super) radius_m: f32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteEntry {
    pub(super) name: String,
    pub(super) points: Vec<Point>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResourceEntry {
    pub(super) name: String,
    pub(super) spots: Vec<Point>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnimationEntry {
    pub(super) name: String,
    pub(super) id: Uuid,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NpcEntry {
    pub(super) kind: String,
    pub(super) behaviour: String,
    pub(super) name: String,
    pub(super) position: Point,
    #[serde(default)]
    pub(super) look_at: Option<[f32; 2]>,
    /// Number of NPCs, side by side, with a number after their names.
    #[serde(default = "one")]
    pub(super) count: u16,
}

const fn one() -> u16 {
    1
}
