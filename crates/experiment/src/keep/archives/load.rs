//! Loads of a large archive into a running region, with its assets and without, and the memory that they take beyond that of the region.

use super::super::command::{self, Finished, text};
use super::super::memory::{PeakWatch, least_bytes};
use super::super::site::KeepStage;
use super::{LargeArchive, MB, ROOM};
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::{Operator, REGION, Server};
use serde::Deserialize;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Last name of the client that watches a load, and its name, which gets everything.
const LAST_NAME: &str = "Watcher";
const WATCHER: &str = "Bot0001 Watcher";

/// Deadline for objects to be shown once a load has ended, and the period of looking for them.
const SHOWN_MAX: Duration = Duration::from_secs(60);
const LOOK_PERIOD: Duration = Duration::from_millis(20);
/// Rest of a server that has started again: its start's memory returns to the system, and the least of the time is that of the region.
const REST: Duration = Duration::from_secs(15);
const REST_QUICK: Duration = Duration::from_millis(500);

/// A load that was measured.
struct Loaded {
    /// Until it was durable and shown.
    seconds: f64,
    /// The most memory beyond that of the region, of the command and the server, MB.
    memory_mb: f64,
}

/// Loads it in both ways; the most memory of the load with assets, MB.
pub(super) fn measure(
    stage: &KeepStage<'_>,
    archive: &LargeArchive,
    findings: &mut Findings,
) -> Result<f64, ExperimentError> {
    let whole = load(stage, "archive-load", &archive.whole, archive, findings)?;
    findings.figure("oar_load_45000_s", whole.seconds);
    findings.figure("oar_load_memory_mb", whole.memory_mb);
    let bare = load(stage, "archive-objects", &archive.bare, archive, findings)?;
    findings.figure("oar_objects_45000_s", bare.seconds);
    Ok(whole.memory_mb)
}

/// Loads a file into a server of its own.
fn load(
    stage: &KeepStage<'_>,
    name: &str,
    file: &Path,
    archive: &LargeArchive,
    findings: &mut Findings,
) -> Result<Loaded, ExperimentError> {
    let (run, n_objects) = (stage.run, archive.written.n_objects);
    let data = stage.prepare(name, ROOM)?;
    let server = Server::start_in(run, name, &data)?;
    let options = ["--behavior", "stand", "--last-name", LAST_NAME, "--observers", "1"];
    let mut watcher = Bots::start(run, &server, &format!("{name}-watcher"), 1, &options)?;
    watcher.command("enter 1")?;
    run.references.sample();

    let (peak, began) = (PeakWatch::start(server.pid())?, clock::now());
    let loaded = order(stage, name, file, &data, WATCHER)?;
    let figures = loaded.expect(&[0])?;
    await_shown(&server, &mut watcher, n_objects, began)?;
    let seconds = began.elapsed().as_secs_f64();
    let peak_bytes = peak.finish();
    server.kill()?;
    drop(watcher);
    for (key, expected) in [("objects", n_objects), ("prims", archive.n_prims.into())] {
        if figures[key].as_u64() != Some(expected) {
            findings.failures.push(format!("{name}: of {expected} {key} {} were loaded", figures[key]));
        }
    }

    let again = Server::start_in(run, &format!("{name}-again"), &data)?;
    let n_durable = await_objects(&again.operator(), n_objects)?;
    if n_durable != n_objects {
        findings.failures.push(format!("{name}: of {n_objects} objects {n_durable} were durable"));
    }
    let own_bytes = least_bytes(again.pid(), run.pick(REST, REST_QUICK))?;
    again.stop()?;
    let memory_bytes = peak_bytes.saturating_sub(own_bytes) + loaded.peak_bytes;
    Ok(Loaded { seconds, memory_mb: memory_bytes as f64 / MB })
}

/// Orders a load by an operator's command and waits for its end. Everything goes to a user.
fn order(
    stage: &KeepStage<'_>,
    name: &str,
    file: &Path,
    data: &Path,
    user: &str,
) -> Result<Finished, ExperimentError> {
    let (file, data) = (text(file), text(data));
    let words = ["oar", "load", &file, "--region", REGION, "--default-user", user, "--json", "--data", &data];
    command::run(stage.run, name, &words)
}

/// Waits until the region's list, which is that of its replica for clients, has all objects, and a client displays one.
fn await_shown(
    server: &Server,
    watcher: &mut Bots,
    n_objects: u64,
    began: Instant,
) -> Result<(), ExperimentError> {
    let ends_at = clock::now() + SHOWN_MAX;
    let n_listed = await_objects(&server.operator(), n_objects)?;
    while n_listed == n_objects && clock::now() < ends_at {
        if watcher.command("prims")?.prims.unwrap_or(0) > 0 {
            return Ok(());
        }
        clock::wait(LOOK_PERIOD);
    }
    let after_s = began.elapsed().as_secs();
    Err(server.error(format!("has shown {n_listed} of {n_objects} objects {after_s} s after the load began")))
}

/// Waits until the region's list has this number of objects; the number it has, another one if that takes too long.
fn await_objects(operator: &Operator, wanted: u64) -> Result<u64, ExperimentError> {
    let ends_at = clock::now() + SHOWN_MAX;
    loop {
        let n_objects = count_objects(operator)?;
        if n_objects == wanted || clock::now() >= ends_at {
            return Ok(n_objects);
        }
        clock::wait(LOOK_PERIOD);
    }
}

/// The used part of a list of objects.
#[derive(Deserialize)]
struct ObjectCount {
    matching: u64,
}

/// Objects of the region.
fn count_objects(operator: &Operator) -> Result<u64, ExperimentError> {
    let path = format!("/v1/regions/{REGION}/objects?limit=1");
    let answer = operator.order("GET", &path, None)?;
    let count: ObjectCount = serde_json::from_str(&answer)
        .map_err(|source| ExperimentError::Operator { path, source: io::Error::other(source) })?;
    Ok(count.matching)
}
