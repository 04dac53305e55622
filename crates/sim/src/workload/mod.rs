//! Workloads: equal inputs for two builds of the server, to compare their costs.
//!
//! A workload is a function of its name and its length, on virtual time and one thread. It is played in two parts. [`prepare`] runs
//! worlds, gateway and clients together and keeps every call into the node as a file; [`run`] repeats those calls without the clients,
//! whose work is no cost of the server and would dominate a profile. Clients answer to what the build under test sends them: each build
//! prepares its own file.
//!
//! One function is measured, [`WorkloadResult::measured`], which plays the ticks after all clients are in. Crate `preflight` reads and
//! compares the costs.

mod crowd;
mod inputs;
mod outcome;
mod worlds;

pub use inputs::InputsError;
pub use outcome::{FORMAT, Mark, SystemInfo, WorkloadResult, WorldMark};

use crate::checks::Failure;
use crowd::Crowd;
use inputs::Inputs;
use link::Frame;
use recording::{Recording, RecordingError};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use systems::System;
use thiserror::Error;
use worlds::Worlds;

/// A workload that this build knows by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Two worlds and 60 clients that walk, talk, travel and come back, on a network that loses a little.
    Crowd,
    /// Four worlds with 250 avatars each, without clients: simulation and encoding only.
    Worlds,
    /// Four worlds with twenty NPCs and four avatars each, by the same rules.
    Npcs,
}

impl Workload {
    /// Every workload.
    pub const ALL: [Self; 3] = [Self::Crowd, Self::Worlds, Self::Npcs];

    /// Name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crowd => "crowd",
            Self::Worlds => "worlds",
            Self::Npcs => "npcs",
        }
    }

    /// The systems that it keeps busy.
    #[must_use]
    pub const fn systems(self) -> &'static [System] {
        match self {
            Self::Crowd => &[
                System::WorldInbox,
                System::WorldMovement,
                System::WorldTell,
                System::WorldResync,
                System::ReplicaEncode,
                System::ReplicaPublish,
                System::ShardReceive,
                System::ShardMail,
                System::ShardClient,
                System::ShardAcks,
                System::Hub,
                System::CircuitReceive,
                System::CircuitTransmit,
            ],
            Self::Npcs => &[
                System::WorldInbox,
                System::WorldMovement,
                System::WorldNpcs,
                System::WorldTell,
                System::WorldResync,
                System::ReplicaEncode,
                System::ReplicaPublish,
            ],
            Self::Worlds => &[
                System::WorldInbox,
                System::WorldMovement,
                System::WorldTell,
                System::WorldResync,
                System::ReplicaEncode,
                System::ReplicaPublish,
            ],
        }
    }

    /// The workload of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }
}

/// Reasons for which a workload was not run.
#[derive(Debug, Error)]
pub enum WorkloadError {
    /// Neither a workload of this name nor a file.
    #[error("there is no workload {0}, and no such file; there are: crowd, worlds, npcs")]
    Unknown(PathBuf),
    /// A file that holds none.
    #[error(transparent)]
    Inputs(#[from] InputsError),
    /// A recording that this build cannot replay.
    #[error("{path} holds neither a workload nor a recording for this build")]
    Recording {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: RecordingError,
    },
    /// A recording of fewer ticks than pass before the measured ones.
    #[error("{path} holds {steps} ticks, and the first {RECORDED_WARM_UP_TICKS} are not measured")]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Ticks in it.
        steps: u64,
    },
    /// Something was not true while it was prepared.
    #[error("the workload does not hold what the simulator checks: {0}")]
    Failed(Failure),
    /// The calls were repeated and did something else.
    #[error("repeating {0} gave other state hashes than preparing it: another build prepared it")]
    Unrepeatable(PathBuf),
}

/// Prepares a workload of `ticks` measured ticks as a file for [`run`].
///
/// # Errors
/// When the simulator's checks fail, or the file cannot be written.
pub fn prepare(workload: Workload, ticks: u64, path: &Path) -> Result<(), WorkloadError> {
    let inputs = match workload {
        Workload::Crowd => crowd::prepare(ticks).map_err(WorkloadError::Failed)?,
        Workload::Worlds | Workload::Npcs => worlds::prepare(workload, ticks),
    };
    Ok(inputs.write(path)?)
}

/// Runs a prepared file, or up to `ticks` measured ticks of a recording of crate `recording`. Systems are slowed down by a number of
/// spins per 1,000 of their entries ([`systems::burden`]); a workload as it is has no burdens.
///
/// It has a thread of its own. There stack and heap begin empty, at addresses that are aligned the same in every process: on the first
/// thread they follow from arguments, environment and the program's history, and the number of instructions of a copy of memory depends
/// on that.
///
/// # Errors
/// If the file cannot be read, or does not repeat.
///
/// # Panics
/// If the system gives no thread, or the run panics.
pub fn run(path: &Path, ticks: u64, burdens: &[(System, u64)]) -> Result<WorkloadResult, WorkloadError> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| play(path, ticks, burdens));
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn play(path: &Path, ticks: u64, burdens: &[(System, u64)]) -> Result<WorkloadResult, WorkloadError> {
    let mut plan = plan(path, ticks)?;
    let Plan { course, warm_up_ticks, ticks, .. } = &mut plan;

    // Room for all before anything is measured.
    let mut marks = Vec::with_capacity((*warm_up_ticks + *ticks) as usize);
    for _ in 0..*warm_up_ticks {
        marks.push(course.tick());
    }
    for &(system, spins_per_1000) in burdens {
        systems::burden::set_burden(system, spins_per_1000);
    }
    let before = course.work_done();
    measured(course, *ticks, &mut marks);
    let after = course.work_done();

    if plan.states.is_some_and(|states| states != fold_states(&marks)) {
        return Err(WorkloadError::Unrepeatable(path.into()));
    }
    marks.drain(..plan.warm_up_ticks as usize);
    let work = after.into_iter().map(|(name, n)| (name.to_owned(), n - before[name])).collect();
    Ok(WorkloadResult {
        format: FORMAT,
        workload: plan.name,
        warm_up_ticks: plan.warm_up_ticks,
        marks,
        work,
        systems: SystemInfo::of(plan.systems),
        measured: MEASURED.to_owned(),
    })
}

/// Contents of a file to be run.
struct Plan {
    name: String,
    course: Course,
    warm_up_ticks: u64,
    ticks: u64,
    systems: &'static [System],
    /// Combined hash of all states, if known.
    states: Option<u64>,
}

fn plan(path: &Path, ticks: u64) -> Result<Plan, WorkloadError> {
    let bytes = std::fs::read(path).map_err(|_| WorkloadError::Unknown(path.into()))?;
    match Inputs::decode(path, &bytes) {
        Ok(inputs) => prepared(path, inputs),
        // It may be a recording.
        Err(InputsError::NotAWorkload { .. }) => recorded(path, &bytes, ticks),
        Err(error) => Err(error.into()),
    }
}

fn prepared(path: &Path, inputs: Inputs) -> Result<Plan, WorkloadError> {
    let (warm_up_ticks, ticks, states) = (inputs.warm_up_ticks, inputs.ticks, Some(inputs.states));
    let workload =
        Workload::named(&inputs.workload).ok_or_else(|| InputsError::Damaged { path: path.into() })?;
    let course = match workload {
        Workload::Crowd => Course::Crowd(Box::new(Crowd::new(inputs))),
        Workload::Worlds | Workload::Npcs => Course::Worlds(Box::new(Worlds::new(workload, &inputs))),
    };
    let (name, systems) = (workload.name().to_owned(), workload.systems());
    Ok(Plan { name, course, warm_up_ticks, ticks, systems, states })
}

/// Ticks of a recording before the measured ones: its replica begins with a snapshot, which has come by then.
const RECORDED_WARM_UP_TICKS: u64 = 40;

fn recorded(path: &Path, bytes: &[u8], ticks: u64) -> Result<Plan, WorkloadError> {
    let failed = |source| WorkloadError::Recording { path: path.into(), source };
    let mut recording = Recording::read(Cursor::new(bytes)).map_err(failed)?;
    let ticks_max = ticks.saturating_add(RECORDED_WARM_UP_TICKS);
    let (worlds, steps) = Worlds::recorded(&mut recording, ticks_max).map_err(failed)?;
    let ticks = steps
        .checked_sub(RECORDED_WARM_UP_TICKS)
        .filter(|&ticks| ticks > 0)
        .ok_or_else(|| WorkloadError::TooShort { path: path.into(), steps })?;
    let workload = if recording.about().inhabitants.is_some() { Workload::Npcs } else { Workload::Worlds };
    Ok(Plan {
        name: format!("recording of {}", recording.about().name),
        course: Course::Worlds(Box::new(worlds)),
        warm_up_ticks: RECORDED_WARM_UP_TICKS,
        ticks,
        systems: workload.systems(),
        // Another build may have recorded it.
        states: None,
    })
}

/// Name of [`measured`] in a profile.
const MEASURED: &str = "sim::workload::measured";

/// Plays the ticks that count. Never inlined, because a profiler collects from its first instruction to its last.
#[inline(never)]
fn measured(course: &mut Course, ticks: u64, marks: &mut Vec<Mark>) {
    for _ in 0..ticks {
        marks.push(course.tick());
    }
}

/// A run under way.
enum Course {
    Crowd(Box<Crowd>),
    Worlds(Box<Worlds>),
}

impl Course {
    fn tick(&mut self) -> Mark {
        match self {
            Self::Crowd(crowd) => crowd.tick(),
            Self::Worlds(worlds) => worlds.tick(),
        }
    }

    /// Work done so far.
    fn work_done(&self) -> BTreeMap<&'static str, u64> {
        match self {
            Self::Crowd(crowd) => crowd.work_done(),
            Self::Worlds(worlds) => worlds.work_done(),
        }
    }
}

/// Reads the hashes off a frame.
fn world_mark(frame: &Frame, scratch: &mut Vec<u8>) -> WorldMark {
    WorldMark { state: frame.state_hash, frame: crate::trace::frame_hash(frame, scratch) }
}

fn fold_states(marks: &[Mark]) -> u64 {
    marks.iter().flat_map(|mark| &mark.worlds).fold(0, |hash, world| state_hash::fold(hash, world.state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use ids::{Tick, WorldId};
    use std::time::Duration;

    fn prepared(workload: Workload, ticks: u64) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("inputs");
        prepare(workload, ticks, &path).unwrap();
        (directory, path)
    }

    #[test]
    fn a_workload_repeats_and_gives_every_system_something_to_do() {
        for workload in Workload::ALL {
            let (_directory, path) = prepared(workload, 40);
            let outcome = run(&path, 1, &[]).unwrap();
            assert_eq!(outcome, run(&path, 1, &[(System::WorldTell, 1_500)]).unwrap());
            assert_eq!(outcome.marks.len(), 40);
            for (name, n) in &outcome.work {
                assert!(*n > 0, "{}: nothing of {name}", workload.name());
            }
        }
    }

    #[test]
    fn a_file_that_another_build_prepared_is_refused() {
        let (_directory, path) = prepared(Workload::Worlds, 5);
        let mut inputs = Inputs::decode(&path, &std::fs::read(&path).unwrap()).unwrap();
        inputs.states ^= 1;
        inputs.write(&path).unwrap();
        assert!(matches!(run(&path, 1, &[]), Err(WorkloadError::Unrepeatable(_))));
    }

    #[test]
    fn a_recording_is_a_workload_of_its_world() {
        let scenario = Scenario { clients: 40, storm: Duration::from_secs(5), ..Scenario::new(3) };
        let report = scenario.record(WorldId(0), Tick(20)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("recording");
        std::fs::write(&path, report.recording.unwrap()).unwrap();
        let outcome = run(&path, 50, &[]).unwrap();
        assert_eq!(outcome.workload, "recording of Region 0");
        let recorded: Vec<u64> = report.trace.ticks()[60..110].iter().map(|mark| mark.states[0]).collect();
        let replayed: Vec<u64> = outcome.marks.iter().map(|mark| mark.worlds[0].state).collect();
        assert_eq!(replayed, recorded);
        assert!(outcome.work["blocks encoded"] > 0);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = run(Path::new("nothing/here"), 1, &[]).unwrap_err().to_string();
        assert!(error.contains("nothing/here") && error.contains("crowd, worlds"), "{error}");
    }
}
