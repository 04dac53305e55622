//! `throng replay`: repeats a recording at full speed and compares every tick; optionally under the flight recorder, so that a step
//! that was slow on another server can be examined here.

use crate::cli::ReplayArgs;
use data_dir::captures_path;
use recording::{Ending, Recording, RecordingError, Replay, Step};
use std::fmt::Write as _;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use telemetry::captures::perfetto::Origin;
use telemetry::captures::{CaptureCause, CaptureStore, CaptureStoreError};
use telemetry::recorder::{Arg, Recorder, RecorderConfig, Scope, ScopeKind, frame_end};

/// A step; a world alone has no mail to wait for.
static STEP: Scope = Scope::new("world.step").arg(Arg::World).kind(ScopeKind::Frame);
/// As much as the recorder's memory holds.
const HORIZON: Duration = Duration::from_secs(3_600);
/// A capture of all that memory is a third as large.
const QUOTA_BYTES: u64 = 1 << 30;

/// Reasons for which nothing was replayed, or no capture was kept.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file is no recording that this build can replay.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The system gives no memory to the recorder.
    #[error("cannot start the flight recorder")]
    Recorder(#[source] io::Error),
    /// The capture cannot be written.
    #[error(transparent)]
    Capture(#[from] CaptureStoreError),
}

/// Replays a file; returns the report, and true if every run reached the recorded states.
///
/// # Errors
/// If this build cannot replay the file, or a requested capture failed.
pub fn run(args: &ReplayArgs) -> Result<(String, bool), ReplayError> {
    let mut recording = Recording::open(&args.file)?;
    let (about, end) = (recording.about(), recording.end());
    let mut text = format!(
        "{}, recorded by {}: {} ticks, {} commands, {}\n",
        about.name, about.build, end.steps, end.commands, end.ending
    );
    let name = about.name.clone();
    let recorder = args.capture.as_ref().map(|_| record()).transpose()?;
    let mut all_equal = true;
    for number in 1..=args.repeat {
        let run = ReplayRun::make(&mut recording)?;
        all_equal &= run.first_difference.is_none();
        let _ = writeln!(text, "run {number}: {}", run.describe());
    }
    if let Some((recorder, data)) = recorder.zip(args.capture.as_ref()) {
        let _ = writeln!(text, "{}", capture(recorder, &name, captures_path(data))?.display());
    }
    Ok((text, all_equal || !args.verify))
}

/// Has this thread record from now on.
fn record() -> Result<Recorder, ReplayError> {
    let config = RecorderConfig { horizon: HORIZON, ..RecorderConfig::default() };
    let recorder = Recorder::start(config).map_err(ReplayError::Recorder)?;
    recorder.thread("replay").install();
    Ok(recorder)
}

/// Saves the flight recorder's contents; returns the capture's timeline.
#[expect(clippy::disallowed_methods, reason = "a capture says when it was taken")]
fn capture(recorder: Recorder, world: &str, directory: PathBuf) -> Result<PathBuf, ReplayError> {
    let mut capture = recorder.capture(HORIZON);
    capture.labels.insert((Arg::World, 0), world.to_owned());
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let unix_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    let origin = Origin { pid: std::process::id(), process: "throng replay".into(), unix_ns };
    let mut store = CaptureStore::new(directory);
    let (entry, _) = store.save(&capture, &CaptureCause::Operator, &origin, QUOTA_BYTES)?;
    Ok(store.dir().join(entry.name() + ".perfetto-trace"))
}

/// One replay from beginning to end.
struct ReplayRun {
    /// Durations of the ticks, sorted.
    took: Vec<Duration>,
    first_difference: Option<String>,
    n_different: u64,
}

impl ReplayRun {
    fn make(recording: &mut Recording) -> Result<Self, RecordingError> {
        let mut replay = Replay::new(recording)?;
        let ended_in_panic = recording.end().ending == Ending::Panicked;
        let mut run = Self { took: Vec::new(), first_difference: None, n_different: 0 };
        for step in recording.steps()? {
            let step = step?;
            let (tick, recorded) = (step.tick.0, step.state_hash);
            let Some(replayed) = run.time(&mut replay, step) else {
                if recorded.is_some() || !ended_in_panic {
                    run.differs(format!("tick {tick} panicked, and did not when it was recorded"));
                }
                break;
            };
            match recorded {
                Some(recorded) if recorded != replayed => {
                    run.differs(format!("tick {tick}: recorded {recorded:016x}, replayed {replayed:016x}"));
                }
                Some(_) => {}
                None => run.differs(format!("tick {tick} panicked when it was recorded, and does not now")),
            }
        }
        run.took.sort_unstable();
        Ok(run)
    }

    /// Makes one step; its state hash, or `None` when the world panicked.
    #[expect(clippy::disallowed_methods, reason = "the duration of a tick was requested")]
    fn time(&mut self, replay: &mut Replay, step: Step) -> Option<u64> {
        let began = std::time::Instant::now();
        let scope = STEP.enter(0);
        let state_hash = catch_unwind(AssertUnwindSafe(|| replay.step(step).state_hash)).ok();
        drop(scope);
        frame_end();
        self.took.push(began.elapsed());
        state_hash
    }

    fn differs(&mut self, how: String) {
        self.n_different += 1;
        self.first_difference.get_or_insert(how);
    }

    fn describe(&self) -> String {
        let total: Duration = self.took.iter().sum();
        let ms = |share: f64| {
            let at = (self.took.len().saturating_sub(1) as f64 * share) as usize;
            self.took.get(at).copied().unwrap_or_default().as_secs_f64() * 1e3
        };
        let speed = format!(
            "{} ticks in {:.3} s, per tick median {:.3} ms, p99 {:.3} ms, max {:.3} ms",
            self.took.len(),
            total.as_secs_f64(),
            ms(0.5),
            ms(0.99),
            ms(1.0)
        );
        match &self.first_difference {
            None => format!("{speed}; all states equal"),
            Some(first) => format!("{speed}; {} ticks differ, the first: {first}", self.n_different),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{Epoch, Instant, Tick, WorldId};
    use link::{Frame, Terrain};
    use recording::{About, Writer};
    use std::path::Path;
    use std::sync::Arc;
    use world::{World, WorldConfig};

    /// A file of ten ticks of an empty world; `alter` changes the record of each.
    fn file(directory: &Path, ending: Ending, alter: impl Fn(&mut Step)) -> ReplayArgs {
        let config = WorldConfig {
            id: WorldId(0),
            epoch: Epoch(0),
            size_m: 256,
            local_ids: 1..1_000,
            terrain: Arc::new(Terrain::flat(256, 21.0)),
            scenery: Arc::default(),
            objects: None,
            land: None,
            cast: None,
            water_m: 20.0,
            max_avatars: 10,
            seed: 1,
        };
        let about = About::new("Harbour", "test", 0, &config);
        let mut world = World::new(config.clone());
        let mut writer =
            Writer::begin(Vec::new(), &about, &config.terrain, &config.scenery, &world.snapshot()).unwrap();
        for tick in 0..10 {
            let (dt, mut frame) = (Duration::from_millis(50), Frame::empty());
            world.step(Tick(tick), dt, 1.0, &mut Vec::new(), &mut frame);
            let state_hash = Some(frame.state_hash);
            let mut step = Step {
                tick: Tick(tick),
                at: Instant::ZERO,
                dt,
                dilation: 1.0,
                commands: Vec::new(),
                state_hash,
            };
            alter(&mut step);
            writer.step(&step).unwrap();
        }
        let path = directory.join("recording");
        std::fs::write(&path, writer.finish(ending).unwrap().0).unwrap();
        ReplayArgs { file: path, verify: true, repeat: 2, capture: None }
    }

    #[test]
    fn a_replay_that_comes_to_the_same_states_says_so_for_every_run() {
        let directory = tempfile::tempdir().unwrap();
        let (text, is_well) = run(&file(directory.path(), Ending::Complete, |_| {})).unwrap();
        assert!(is_well);
        assert_eq!(text.matches("all states equal").count(), 2, "{text}");
        assert!(text.starts_with("Harbour, recorded by test: 10 ticks, 0 commands, complete\n"), "{text}");
    }

    #[test]
    fn under_the_recorder_every_step_is_in_the_capture() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let args = file(directory.path(), Ending::Complete, |_| {});
        let (text, is_well) = run(&ReplayArgs { capture: Some(data.clone()), ..args }).unwrap();
        let path = PathBuf::from(text.lines().last().unwrap());
        assert!(is_well && path.starts_with(&data) && path.is_file(), "{text}");
        let summary = std::fs::read_to_string(path.with_extension("json")).unwrap();
        let summary: telemetry::captures::CaptureSummary = serde_json::from_str(&summary).unwrap();
        let count = |name: &str| {
            summary.costs.systems.iter().find(|system| system.name == name).map(|system| system.count)
        };
        // Two runs of ten ticks, with their inner scopes.
        assert_eq!((count("world.step"), count("world.movement")), (Some(20), Some(20)), "{summary}");
    }

    #[test]
    fn the_first_tick_that_differs_is_named_and_fails_a_verification() {
        let directory = tempfile::tempdir().unwrap();
        let spoil = |step: &mut Step| {
            if step.tick.0 >= 7 {
                step.state_hash = Some(1);
            }
        };
        let args = file(directory.path(), Ending::Complete, spoil);
        let (text, is_well) = run(&args).unwrap();
        assert!(!is_well);
        assert!(text.contains("3 ticks differ, the first: tick 7: recorded 0000000000000001"), "{text}");
        assert!(run(&ReplayArgs { verify: false, ..args }).unwrap().1, "it was only asked how fast it is");
    }

    #[test]
    fn a_panic_that_does_not_come_again_is_a_difference() {
        let directory = tempfile::tempdir().unwrap();
        let last = |step: &mut Step| {
            if step.tick.0 == 9 {
                step.state_hash = None;
            }
        };
        let (text, is_well) = run(&file(directory.path(), Ending::Panicked, last)).unwrap();
        assert!(
            !is_well && text.contains("tick 9 panicked when it was recorded, and does not now"),
            "{text}"
        );
    }
}
