//! Bodies in motion among prims: the step of their world, their places on clients' screens, and allocations without an edit.
//!
//! Bots throw bodies a little above their plots again and again, so that they are awake; then so high that they fall for half a minute without an
//! edit.

use super::mover_errors;
use super::recorded::RecordingWindow;
use super::scene::read_scenes;
use super::stage::BuildStage;
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::{REGION, Server};
use std::time::Duration;

/// Bodies that physics moves now, by world.
const AWAKE: &str = "throng_physics_awake";
/// Bodies of each bot.
const BODIES_EACH: u32 = 20;
/// Throws of each bot per second: each body every three seconds.
const RATE_HZ: &str = "7";
const RATE_HZ_QUICK: &str = "100";
const PLOT_M: &str = "8";
/// Threads that have their part in every tick, by how their names begin.
const TICK_THREADS: [&str; 3] = ["world-", "replica", "shard-"];

const WINDOW: Duration = Duration::from_secs(30);
const WINDOW_QUICK: Duration = Duration::from_millis(500);
/// Time until all bodies are made and dropped, and until all are thrown high.
const BEGIN: Duration = Duration::from_secs(10);
const BEGIN_QUICK: Duration = Duration::from_secs(1);
const RISE: Duration = Duration::from_secs(4);
const RISE_QUICK: Duration = Duration::from_secs(1);
/// Window in which clients' screens are compared with a recording of the world.
const RECORDED: Duration = Duration::from_secs(20);
const RECORDED_QUICK: Duration = Duration::from_secs(1);
/// A window within the fall.
const FALL: Duration = Duration::from_secs(10);

/// Measures them.
pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let run = stage.run;
    let content = BuildStage::generate(stage.size.prims_of_crowd);
    let data = stage.prepare("movers", "", Some(&content))?;
    let server = Server::start_in(run, "movers", &data)?;
    let throwers = stage.size.throwers;
    let rate_hz = run.pick(RATE_HZ, RATE_HZ_QUICK);
    let options = ["--behavior", "tumble", "--last-name", "Thrower", "--rate", rate_hz, "--plot", PLOT_M];
    let mut bots = Bots::start(run, &server, "throwers", throwers, &options)?;
    bots.command(&format!("enter {throwers}"))?;
    clock::wait(run.pick(BEGIN, BEGIN_QUICK));
    let window = run.window(&server, run.pick(WINDOW, WINDOW_QUICK))?;
    let (begin, end) = (&window.begin.metrics, &window.end.metrics);
    let step_s = end.only("world", REGION).percentile_since(
        &begin.only("world", REGION),
        "throng_world_tick_seconds",
        0.99,
    );
    findings.figure("physics_500_ms_p99", step_s * 1e3);
    let n_bodies = f64::from(throwers * BODIES_EACH);
    let n_awake = begin.sum(AWAKE).min(end.sum(AWAKE));
    findings.figure("movers_awake_ratio", n_awake / n_bodies);

    // Some of the clients observe, which costs them more than the server.
    let (clients, observers) = (stage.size.idle_clients, stage.size.idle_clients.div_ceil(5));
    let (views, scenes) = (run.out.join("movers.views"), run.out.join("movers.scenes"));
    let (views_path, scenes_path) = (views.display().to_string(), scenes.display().to_string());
    let n_observers = observers.to_string();
    let options = ["--last-name", "Watcher", "--observers", &n_observers, "--views", &views_path];
    let options = [&options[..], &["--scenes", &scenes_path]].concat();
    let mut watchers = Bots::start(run, &server, "watchers", clients, &options)?;
    watchers.command(&format!("enter {clients}"))?;
    // Slow throws until clients have their scenes: a scene takes bytes from movers, and each of its prims memory, which movers do not.
    bots.command("rate 1")?;
    stage.settle_scenes(&server, clients + throwers)?;
    bots.command(&format!("rate {rate_hz}"))?;
    clock::wait(run.pick(BEGIN, BEGIN_QUICK));
    let duration = run.pick(RECORDED, RECORDED_QUICK);
    let recording = RecordingWindow::begin(run, &server, "movers", duration)?;
    clock::wait(duration);
    let recorded = recording.end()?;

    bots.command("behavior soar")?;
    clock::wait(run.pick(RISE, RISE_QUICK));
    bots.command("behavior stand")?;
    let fall = run.window(&server, run.pick(FALL, WINDOW_QUICK))?;
    let of_threads = |prefix: &&str| fall.rate_of_threads("throng_thread_allocations_total", prefix);
    let allocations: f64 = TICK_THREADS.iter().map(of_threads).sum();
    let ticks = fall.rate_with("throng_world_tick_seconds_count", "world", REGION);
    findings.figure("allocs_per_mover_tick", allocations / ticks);
    stage.dismiss(bots)?;
    stage.dismiss(watchers)?;
    server.stop()?;
    let eyes = read_scenes(&scenes)?.map(|scene| (scene.observer, scene.eye)).collect();
    match mover_errors::measure(&recorded.world, &views, &eyes, &recorded.window_ns) {
        Ok(found) => {
            findings.figure("mover_error_m_p95", found.p95_m());
            findings.figure("movers_missing_ratio", found.missing_ratio());
        }
        // The other figures are worth reporting without these.
        Err(ExperimentError::Freshness { reason }) => findings.failures.push(format!("movers: {reason}")),
        Err(error) => return Err(error),
    }
    recorded.remove_with(&views);
    Ok(())
}
