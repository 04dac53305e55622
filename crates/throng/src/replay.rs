//! `throng replay`: makes what was recorded happen again, at full speed, and compares every tick.

use crate::cli::ReplayArgs;
use recording::{Ending, Recording, RecordingError, Replay, Step};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Replays a file; the report, and whether every run came to the recorded states.
///
/// # Errors
/// When the file is no recording that this build can replay.
pub fn run(args: &ReplayArgs) -> Result<(String, bool), RecordingError> {
    let mut recording = Recording::open(&args.file)?;
    let (about, end) = (recording.about(), recording.end());
    let mut text = format!(
        "{}, recorded by {}: {} ticks, {} commands, {}\n",
        about.name, about.build, end.steps, end.commands, end.ending
    );
    let mut all_equal = true;
    for number in 1..=args.repeat {
        let run = Run::make(&mut recording)?;
        all_equal &= run.first_difference.is_none();
        let _ = writeln!(text, "run {number}: {}", run.describe());
    }
    Ok((text, all_equal || !args.verify))
}

/// One replay from beginning to end.
struct Run {
    /// Of each tick, in order of length.
    took: Vec<Duration>,
    first_difference: Option<String>,
    n_different: u64,
}

impl Run {
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
    #[expect(clippy::disallowed_methods, reason = "how long a tick takes is asked for")]
    fn time(&mut self, replay: &mut Replay, step: Step) -> Option<u64> {
        let began = std::time::Instant::now();
        let state_hash = catch_unwind(AssertUnwindSafe(|| replay.step(step).state_hash)).ok();
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
    use ids::{Epoch, Tick, WorldId};
    use recording::{About, Writer};
    use std::path::Path;
    use std::sync::Arc;
    use world::{Frame, Terrain, World, WorldConfig};

    /// A file of ten ticks of an empty world; `alter` changes what is written of each.
    fn file(directory: &Path, ending: Ending, alter: impl Fn(&mut Step)) -> ReplayArgs {
        let config = WorldConfig {
            id: WorldId(0),
            epoch: Epoch(0),
            size_m: 256,
            local_ids: 1..1_000,
            terrain: Arc::new(Terrain::flat(256, 21.0)),
            water_m: 20.0,
            max_avatars: 10,
            seed: 1,
        };
        let about = About::new("Harbour", "test", 0, &config);
        let mut world = World::new(config.clone());
        let mut writer = Writer::begin(Vec::new(), &about, &config.terrain, &world.snapshot()).unwrap();
        for tick in 0..10 {
            let (dt, mut frame) = (Duration::from_millis(50), Frame::empty());
            world.step(Tick(tick), dt, 1.0, &mut Vec::new(), &mut frame);
            let state_hash = Some(frame.state_hash);
            let mut step = Step { tick: Tick(tick), dt, dilation: 1.0, commands: Vec::new(), state_hash };
            alter(&mut step);
            writer.step(&step).unwrap();
        }
        let path = directory.join("recording");
        std::fs::write(&path, writer.finish(ending).unwrap().0).unwrap();
        ReplayArgs { file: path, verify: true, repeat: 2 }
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
