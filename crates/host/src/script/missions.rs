//! Missions as the script says them.

use super::entry::{Placed, Point};
use game::{Mission, Waypoint};
use glam::Vec3;
use serde::Deserialize;

/// A mission without its waypoints, each of which is an entry of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MissionEntry {
    name: String,
    /// The mission behind which it begins.
    after: Option<String>,
    /// Until it begins again; 0 is never.
    #[serde(default)]
    again_s: u16,
    /// Said when it is completed.
    #[serde(default)]
    done: String,
    #[serde(skip)]
    pub(super) waypoints: Vec<Placed<WaypointEntry>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaypointEntry {
    position: Point,
    #[serde(default = "usual_radius_m")]
    radius_m: f32,
    /// Kind or group of NPCs that must fall.
    clear: Option<String>,
    /// Said when it is next.
    #[serde(default)]
    text: String,
}

const fn usual_radius_m() -> f32 {
    3.0
}

pub(super) fn mission(entry: MissionEntry, at: &impl Fn(Point) -> Vec3) -> Mission {
    let MissionEntry { name, after, again_s, done, waypoints } = entry;
    let waypoint = |entry: Placed<WaypointEntry>| {
        let WaypointEntry { position, radius_m, clear, text } = entry.it;
        Waypoint { position: at(position), radius_m, clear, text }
    };
    Mission { name, after, again_s, done, waypoints: waypoints.into_iter().map(waypoint).collect() }
}
