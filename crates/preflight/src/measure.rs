//! Runs a workload in a build, natively and under callgrind, always in the same surroundings.
//!
//! Instruction counts repeat exactly if everything does that a process can see: so it gets a fixed environment, a
//! working directory of its own, arguments of equal length, addresses that are not randomised, and one thread at a time.
//! Hash keys and all other chance are arguments of the workload, which runs on a thread whose stack and heap are fresh.

use crate::callgrind::{self, ProfileError};
use crate::costs::{self, ALLOCATOR, Cost};
use crate::symbols::linker_names;
use sim::workload::{FORMAT, Outcome, SystemInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, io};
use systems::System;
use thiserror::Error;

/// Where programs are looked for; part of what a measured process sees.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Callers that callgrind tells apart: more than there are between `main` and any allocation.
const CALLERS: u32 = 100;
/// Names in the directory of a measurement.
const BINARY: &str = "throng";
const INPUTS: &str = "inputs";
const OUTCOME: &str = "outcome";
const PROFILE: &str = "profile";

/// Exit status of `throng workload` for a file that the build cannot run, and of `throng preflight` for builds that cannot
/// be compared.
pub const EXIT_INCOMPATIBLE: i32 = 4;

/// What both builds are given to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Which workload.
    pub workload: Source,
    /// How many ticks of it are measured.
    pub ticks: u64,
}

/// Where a workload comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Its name; each build prepares it for itself.
    Named(String),
    /// A recording, or what a build prepared before.
    File(PathBuf),
}

/// What a build made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Hashes and work.
    pub outcome: Outcome,
    /// By system.
    pub costs: BTreeMap<String, Cost>,
    /// Instructions that burdens added, by system.
    pub burdens: BTreeMap<String, u64>,
}

/// Why a build was not measured.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// The profiler is not there.
    #[error("valgrind is missing: on Debian and Ubuntu, apt-get install valgrind")]
    NoValgrind,
    /// Addresses cannot be kept from being randomised.
    #[error("setarch is missing: on Debian and Ubuntu, apt-get install util-linux")]
    NoSetarch,
    /// The build has no workloads, or others.
    #[error("{binary} cannot be compared: {why}")]
    Incompatible {
        /// Which build.
        binary: PathBuf,
        /// What is different.
        why: String,
    },
    /// It ended otherwise than with success.
    #[error("the workload failed in {binary} ({status}): {message}")]
    Failed {
        /// Which build.
        binary: PathBuf,
        /// How it ended.
        status: String,
        /// What it said.
        message: String,
    },
    /// Two runs of the same build and workload had different outcomes.
    #[error("two runs of {0} had different outcomes: something in it is not deterministic")]
    NotDeterministic(PathBuf),
    /// A system that had something to do cannot be seen.
    #[error(
        "{binary} does not show {what}: it was stripped, or a function renamed that a system begins with"
    )]
    NotInProfile {
        /// Which build.
        binary: PathBuf,
        /// The function, or the system.
        what: String,
    },
    /// Callgrind wrote something else than expected.
    #[error("callgrind's output is not as expected")]
    Profile(#[from] ProfileError),
    /// The system does not give or take a file.
    #[error("cannot {step} {path}")]
    Io {
        /// What was to be done.
        step: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Measures one build in `directory`, which is made and holds nothing else.
///
/// `burdens` make systems dearer on purpose, by so many laps for each 1,000 of their entries ([`systems::burden`]).
///
/// # Errors
/// When a tool is missing, the build cannot run the task, or its runs differ.
pub fn measure(
    binary: &Path,
    task: &Task,
    burdens: &[(System, u64)],
    directory: &Path,
) -> Result<Measurement, MeasureError> {
    let measuring = Measuring { binary, directory };
    measuring.put_in_place(task)?;
    if let Source::Named(name) = &task.workload {
        measuring.prepare(name, task.ticks)?;
    }
    let outcome = measuring.run(&[], task.ticks, burdens)?;
    let functions = measuring.functions(&outcome.systems)?;
    let callgrind = callgrind_command(functions.iter().map(String::as_str));
    let words: Vec<&str> = callgrind.iter().map(String::as_str).collect();
    if measuring.run(&words, task.ticks, burdens)? != outcome {
        return Err(MeasureError::NotDeterministic(binary.into()));
    }

    let profile = measuring.read(PROFILE)?;
    let functions = callgrind::decode(&profile)?;
    let costs = costs::charge(&functions, &outcome.systems, &outcome.measured);
    // Or a function that is not called under its name any more would pass as a system that became cheaper.
    if let Some((system, _)) = costs.iter().find(|(_, cost)| cost.entries == 0) {
        return Err(MeasureError::NotInProfile { binary: binary.into(), what: system.clone() });
    }
    let burdens = costs::burdens(&functions, &outcome.systems, &outcome.measured);
    // The profile stays, for whoever wants to look into it; a second name of the binary is of no use to anybody.
    let _ = fs::remove_file(directory.join(BINARY));
    Ok(Measurement { outcome, costs, burdens })
}

struct Measuring<'a> {
    binary: &'a Path,
    directory: &'a Path,
}

impl Measuring<'_> {
    /// Under the same name whichever build it is: a process sees its arguments.
    fn put_in_place(&self, task: &Task) -> Result<(), MeasureError> {
        let failed = |step, path: &Path| {
            let path = path.to_owned();
            move |source| MeasureError::Io { step, path, source }
        };
        fs::create_dir_all(self.directory).map_err(failed("create", self.directory))?;
        let binary = self.directory.join(BINARY);
        let _ = fs::remove_file(&binary);
        fs::hard_link(self.binary, &binary)
            .or_else(|_| fs::copy(self.binary, &binary).map(|_| ()))
            .map_err(failed("copy", self.binary))?;
        if let Source::File(path) = &task.workload {
            fs::copy(path, self.directory.join(INPUTS)).map_err(failed("copy", path))?;
        }
        Ok(())
    }

    fn prepare(&self, name: &str, ticks: u64) -> Result<(), MeasureError> {
        let output =
            self.throng(&[], &["workload", name, "--ticks", &ticks.to_string(), "--prepare", INPUTS])?;
        self.check_status(&output)
    }

    /// Runs what stands ready, under a tool if one is given.
    fn run(&self, tool: &[&str], ticks: u64, burdens: &[(System, u64)]) -> Result<Outcome, MeasureError> {
        let ticks = ticks.to_string();
        let burdens: Vec<String> =
            burdens.iter().map(|(system, laps)| format!("--burden={}={laps}", system.name())).collect();
        let mut words = vec!["workload", INPUTS, "--ticks", &ticks, "--out", OUTCOME];
        words.extend(burdens.iter().map(String::as_str));
        let output = self.throng(tool, &words)?;
        self.check_status(&output)?;
        let text = self.read(OUTCOME)?;
        let format = serde_json::from_str(&text).ok().map(|Format { format }| format);
        if format != Some(FORMAT) {
            let found = format.map_or_else(|| "none".to_owned(), |format| format.to_string());
            return Err(self.incompatible(&format!(
                "its workloads are of format {found}, those of this build of {FORMAT}"
            )));
        }
        serde_json::from_str(&text).map_err(|error| self.incompatible(&error.to_string()))
    }

    fn throng(&self, tool: &[&str], words: &[&str]) -> Result<Output, MeasureError> {
        let mut command = Command::new("setarch");
        command.args([env::consts::ARCH, "-R"]).args(tool).arg(format!("./{BINARY}")).args(words);
        command.current_dir(self.directory).env_clear().env("PATH", PATH).env("LC_ALL", "C");
        let output = command.output().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => MeasureError::NoSetarch,
            _ => MeasureError::Io { step: "run", path: self.directory.join(BINARY), source },
        })?;
        // The status with which setarch, like a shell, says that there is no such program.
        if !tool.is_empty() && output.status.code() == Some(127) {
            return Err(MeasureError::NoValgrind);
        }
        Ok(output)
    }

    fn read(&self, name: &str) -> Result<String, MeasureError> {
        let path = self.directory.join(name);
        fs::read_to_string(&path).map_err(|source| MeasureError::Io { step: "read", path, source })
    }

    /// The linker's names of all functions whose callers have to be told apart.
    fn functions(&self, systems: &[SystemInfo]) -> Result<Vec<String>, MeasureError> {
        let not_there =
            |what: &str| MeasureError::NotInProfile { binary: self.binary.into(), what: what.to_owned() };
        let bytes = fs::read(self.binary).map_err(|source| MeasureError::Io {
            step: "read",
            path: self.binary.into(),
            source,
        })?;
        let of_systems = systems.iter().flat_map(|system| &system.functions).map(String::as_str);
        let wanted: BTreeSet<&str> = of_systems.chain([systems::burden::SPIN]).collect();
        let names = linker_names(&bytes, &wanted).ok_or_else(|| not_there("any function"))?;
        if let Some(missing) = wanted.iter().find(|&&name| !names.contains_key(name)) {
            return Err(not_there(missing));
        }
        // Those of the C library are in no table of this binary, and have one name.
        Ok(names.into_values().flatten().chain(ALLOCATOR.map(str::to_owned)).collect())
    }

    fn check_status(&self, output: &Output) -> Result<(), MeasureError> {
        let message = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match output.status.code() {
            Some(0) => Ok(()),
            // A command line that the build does not know.
            Some(2) => Err(self.incompatible("it has no workloads, or has them under other names")),
            Some(EXIT_INCOMPATIBLE) => Err(self.incompatible(&message())),
            _ => Err(MeasureError::Failed {
                binary: self.binary.into(),
                status: output.status.to_string(),
                message: message(),
            }),
        }
    }

    fn incompatible(&self, why: &str) -> MeasureError {
        MeasureError::Incompatible { binary: self.binary.into(), why: why.to_owned() }
    }
}

/// Only what every format has.
#[derive(serde::Deserialize)]
struct Format {
    format: u32,
}

/// Callgrind, so that it tells the callers of these functions apart.
fn callgrind_command<'a>(functions: impl Iterator<Item = &'a str>) -> Vec<String> {
    let fixed = ["valgrind", "-q", "--tool=callgrind", "--demangle=no", "--dump-line=no"];
    fixed
        .into_iter()
        .map(str::to_owned)
        .chain([format!("--callgrind-out-file={PROFILE}")])
        .chain(functions.map(|name| format!("--separate-callers{CALLERS}={name}")))
        .collect()
}
