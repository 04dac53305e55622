//! Arrival of the scene at a client: how soon it has the foremost prims, in which order they come and what each takes; new, and from the cache of a
//! viewer that was there before a restart.

use super::region::{self, SavedRegion};
use super::stage::BuildStage;
use crate::bots::{Bots, BotsReport};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use bots::record_file::Records;
use bots::scenes::{SCENES_FILE, SceneRecord, ShownForm};
use glam::Vec3;
use ids::LocalId;
use report::{Column, Section, Table};
use std::collections::BTreeSet;
use std::path::Path;

/// Bits per second that the client requests: 64 KiB/s.
const THROTTLE_BITS_PER_S: &str = "524288";

/// A visit of one client.
struct Visit {
    scene: SceneRecord,
    report: BotsReport,
}

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let data = stage.prepare("scene", "", Some(&stage.content))?;
    let cache = stage.run.out.join("scene.cache");
    // One of an earlier run belongs to another region.
    let _ = std::fs::remove_file(&cache);

    let server = Server::start_in(stage.run, "scene", &data)?;
    let new = visit(stage, &server, "scene-new", None)?;
    // A viewer with an empty cache fills it.
    visit(stage, &server, "scene-filling", Some(&cache))?;
    server.stop()?;
    region::change_some(&data)?;
    let server = Server::start_in(stage.run, "scene", &data)?;
    let again = visit(stage, &server, "scene-cached", Some(&cache))?;
    server.stop()?;
    report_visits(stage, &new, &again, &region::read(&data)?, findings);
    Ok(())
}

/// Lets a client log in and stay until nothing more is shown to it.
fn visit(
    stage: &BuildStage<'_>,
    server: &Server,
    name: &str,
    cache: Option<&Path>,
) -> Result<Visit, ExperimentError> {
    let file = stage.run.out.join(format!("{name}.scenes"));
    let path = file.display().to_string();
    let mut options = vec!["--last-name", "Visitor", "--observers", "1", "--scenes", &path];
    options.extend(["--throttle", THROTTLE_BITS_PER_S]);
    let cache = cache.map(|cache| cache.display().to_string());
    if let Some(cache) = &cache {
        options.extend(["--cache", cache]);
    }
    let mut bots = Bots::start(stage.run, server, name, 1, &options)?;
    bots.command("enter 1")?;
    stage.await_prims(&mut bots)?;
    let report = stage.dismiss(bots)?;
    let scene = read_scenes(&file)?.next().ok_or_else(|| server.error("did not place the observer"))?;
    Ok(Visit { scene, report })
}

/// Reads a file of `throng bots --scenes`.
pub(super) fn read_scenes(path: &Path) -> Result<Records<SceneRecord>, ExperimentError> {
    Records::open(path, SCENES_FILE)
        .map_err(|error| ExperimentError::File { path: error.path, source: error.source })
}

fn report_visits(
    stage: &BuildStage<'_>,
    new: &Visit,
    again: &Visit,
    saved: &SavedRegion,
    findings: &mut Findings,
) {
    let size = stage.size;
    // Removed ones are none of the foremost of the later visit.
    let foremost = |eye: Vec3| {
        let all = stage.content.foremost(eye, size.prims as usize);
        let there = all.into_iter().filter(|id| saved.prims.contains_key(id));
        there.take(size.foremost).collect::<BTreeSet<LocalId>>()
    };
    let (new_foremost, again_foremost) = (foremost(new.scene.eye), foremost(again.scene.eye));
    let [full, compressed, _] = new.scene.blocks;
    let bytes_of = |message: &str| new.report.messages.get(message).map_or(0, |tally| tally.bytes_in);
    let bytes = bytes_of("ObjectUpdate") + bytes_of("ObjectUpdateCompressed");
    let found = compare(&again.scene, saved);
    findings.figure("prim_wire_bytes", bytes as f64 / (full + compressed) as f64);
    findings.figure("scene_1000_s", time_s(&new.scene, &new_foremost));
    findings.figure("scene_order", order(&new.scene, &new_foremost, size.first_sent));
    findings.figure("scene_1000_cached_s", time_s(&again.scene, &again_foremost));
    findings.figure("scene_prims", new.scene.shown.len() as f64);
    findings.figure("cached_share", found.cached as f64 / again.scene.shown.len() as f64);
    findings.figure("cached_stale", found.stale as f64);
    findings.figure("cached_removed", found.removed as f64);

    let mut table = Table::new(vec![
        Column::text("client"),
        Column::number("prims displayed", ""),
        Column::number("ObjectUpdate", "blocks"),
        Column::number("ObjectUpdateCompressed", "blocks"),
        Column::number("ObjectUpdateCached", "blocks"),
        Column::number("asked for", "prims"),
        Column::number("kept at the end", "prims"),
    ]);
    for (name, Visit { scene, .. }) in [("new", new), ("with the cache from before the restart", again)] {
        let counts = [scene.shown.len() as u64, scene.blocks[0], scene.blocks[1], scene.blocks[2]];
        let counts = counts.into_iter().chain([scene.misses, scene.kept]);
        let cells = std::iter::once(name.into()).chain(counts.map(|count| (count as f64).into()));
        table.row(cells.collect());
    }
    let text = "Some prims are moved and removed while the viewer is away. A stale prim is displayed in another version than that of the region, a \
                removed one is not in it.";
    findings.sections.push(Section::new("Arrival of the scene").text(text).table(table));
}

/// Seconds from the avatar's arrival until all of these prims are displayed; not a number if one is not.
fn time_s(scene: &SceneRecord, prims: &BTreeSet<LocalId>) -> f64 {
    let arrivals = scene.arrivals.iter().filter(|arrival| prims.contains(&arrival.id));
    let (n_arrived, last_at) =
        arrivals.fold((0, scene.placed_at), |(n, last_at), arrival| (n + 1, last_at.max(arrival.at)));
    if n_arrived == prims.len() { (last_at - scene.placed_at).as_secs_f64() } else { f64::NAN }
}

/// Share of these prims that are among the first ones displayed.
fn order(scene: &SceneRecord, prims: &BTreeSet<LocalId>, n_first: usize) -> f64 {
    let first = scene.arrivals.iter().take(n_first);
    first.filter(|arrival| prims.contains(&arrival.id)).count() as f64 / prims.len() as f64
}

/// Prims on a screen against those of the region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ScreenFindings {
    /// Displayed from the viewer's cache.
    cached: usize,
    /// Displayed in another version than the region's.
    stale: usize,
    /// Displayed and not in the region.
    removed: usize,
}

fn compare(scene: &SceneRecord, saved: &SavedRegion) -> ScreenFindings {
    let mut found = ScreenFindings::default();
    for shown in &scene.shown {
        found.cached += usize::from(shown.form == ShownForm::Cached);
        match saved.prims.get(&shown.id) {
            Some(saved) => found.stale += usize::from(saved.crc != shown.crc),
            None => found.removed += 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::region::SavedPrim;
    use super::*;
    use bots::builder::PrimState;
    use bots::prims::PrimArrival;
    use bots::scenes::ShownPrim;
    use ids::Instant;

    fn scene(arrivals: &[(u32, u64)]) -> SceneRecord {
        let shown = |&(id, _): &(u32, u64)| ShownPrim {
            id: LocalId(id),
            crc: 7,
            position: Vec3::ZERO,
            form: ShownForm::Cached,
        };
        let arrival = |&(id, ms): &(u32, u64)| PrimArrival { id: LocalId(id), at: Instant::from_millis(ms) };
        SceneRecord {
            observer: 0,
            placed_at: Instant::from_millis(1_000),
            eye: Vec3::ZERO,
            arrivals: arrivals.iter().map(arrival).collect(),
            shown: arrivals.iter().map(shown).collect(),
            blocks: [0; 3],
            misses: 0,
            kept: 0,
        }
    }

    fn ids(ids: &[u32]) -> BTreeSet<LocalId> {
        ids.iter().copied().map(LocalId).collect()
    }

    #[test]
    fn the_scene_is_there_with_the_last_of_the_foremost_prims() {
        // One arrives before the avatar does.
        let scene = scene(&[(1, 900), (2, 1_500), (3, 4_000), (4, 3_000)]);
        assert_eq!(time_s(&scene, &ids(&[1, 2, 4])), 2.0);
        assert_eq!(time_s(&scene, &ids(&[1])), 0.0);
        assert!(time_s(&scene, &ids(&[1, 9])).is_nan(), "one never came");
        assert_eq!(order(&scene, &ids(&[1, 3]), 2), 0.5);
    }

    #[test]
    fn a_screen_is_compared_with_the_region_prim_by_prim() {
        let state = PrimState { position: Vec3::ZERO, scale: Vec3::ONE, parent: LocalId(0), textures: 0 };
        let prims = [(1, 7), (2, 8)].map(|(id, crc)| (LocalId(id), SavedPrim { state, crc }));
        let saved = SavedRegion { prims: prims.into(), ..SavedRegion::default() };
        let found = compare(&scene(&[(1, 0), (2, 0), (3, 0)]), &saved);
        assert_eq!(found, ScreenFindings { cached: 3, stale: 1, removed: 1 });
    }
}
