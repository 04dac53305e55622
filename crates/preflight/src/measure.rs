//! Runs a workload in a build, natively and under callgrind, always in the same surroundings.
//!
//! Instruction counts repeat exactly if everything visible to the process does: it gets a fixed environment, a working
//! directory of its own, arguments of equal length, addresses without randomisation, and one running thread at a time. Hash
//! keys and other randomness are arguments of the workload, which runs on a thread with a fresh stack and heap.

use crate::callgrind::{self, ProfileError};
use crate::costs::{self, ALLOCATOR, SystemCharge};
use crate::symbols::linker_names;
use sim::workload::{FORMAT, SystemInfo, WorkloadResult};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, io};
use systems::System;
use thiserror::Error;

/// Search path of the measured process; part of its fixed environment.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Depth of call chains that callgrind separates: more than lie between `main` and any allocation.
const CALLERS: u32 = 100;
/// File names in the directory of a measurement.
const BINARY: &str = "throng";
const INPUTS: &str = "inputs";
const OUTCOME: &str = "outcome";
const PROFILE: &str = "profile";

/// Exit status of `throng workload` for a file that the build cannot run, and of `throng preflight` for builds that cannot
/// be compared.
pub const EXIT_INCOMPATIBLE: i32 = 4;

/// The work that both builds do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadTask {
    /// Origin of the workload.
    pub workload: WorkloadSource,
    /// Number of measured ticks.
    pub ticks: u64,
}

/// Origin of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadSource {
    /// A workload's name; each build prepares its inputs itself.
    Named(String),
    /// A recording, or inputs that a build prepared before.
    File(PathBuf),
}

/// Results of one build.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Hashes and amounts of work.
    pub outcome: WorkloadResult,
    /// Cost by system.
    pub costs: BTreeMap<String, SystemCharge>,
    /// Instructions that burdens added, by system.
    pub burdens: BTreeMap<String, u64>,
}

/// A build was not measured.
#[derive(Debug, Error)]
pub enum MeasurementError {
    /// Valgrind is not installed.
    #[error("valgrind is missing: on Debian and Ubuntu, apt-get install valgrind")]
    NoValgrind,
    /// `setarch`, which turns off address randomisation, is not installed.
    #[error("setarch is missing: on Debian and Ubuntu, apt-get install util-linux")]
    NoSetarch,
    /// The build has no workloads, or other ones.
    #[error("{binary} cannot be compared: {why}")]
    Incompatible {
        /// Path of the build.
        binary: PathBuf,
        /// The difference.
        why: String,
    },
    /// The workload's process failed.
    #[error("the workload failed in {binary} ({status}): {message}")]
    Failed {
        /// Path of the build.
        binary: PathBuf,
        /// Exit status.
        status: String,
        /// Its error output.
        message: String,
    },
    /// Two runs of the same build and workload had different outcomes.
    #[error("two runs of {0} had different outcomes: something in it is not deterministic")]
    NotDeterministic(PathBuf),
    /// A function of a system is missing from the binary or the profile.
    #[error(
        "{binary} does not show {what}: it was stripped, or a function renamed that a system begins with"
    )]
    NotInProfile {
        /// Path of the build.
        binary: PathBuf,
        /// Name of the function or system.
        what: String,
    },
    /// Callgrind's output cannot be parsed.
    #[error("callgrind's output is not as expected")]
    Profile(#[from] ProfileError),
    /// The operating system refused an operation.
    #[error("cannot {step} {path}")]
    Io {
        /// Operation, as a verb.
        step: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// Measures one build in `directory`, which is created and used for nothing else.
///
/// `burdens` make systems dearer on purpose: (system, iterations of a busy loop per 1,000 entries) ([`systems::burden`]).
///
/// # Errors
/// When a tool is missing, the build cannot run the task, or its runs differ.
pub fn measure(
    binary: &Path,
    task: &WorkloadTask,
    burdens: &[(System, u64)],
    directory: &Path,
) -> Result<Measurement, MeasurementError> {
    let measuring = Measuring { binary, directory };
    measuring.put_in_place(task)?;
    if let WorkloadSource::Named(name) = &task.workload {
        measuring.prepare(name, task.ticks)?;
    }
    let outcome = measuring.run(&[], task.ticks, burdens)?;
    let functions = measuring.functions(&outcome.systems)?;
    let callgrind = callgrind_command(functions.iter().map(String::as_str));
    let words: Vec<&str> = callgrind.iter().map(String::as_str).collect();
    if measuring.run(&words, task.ticks, burdens)? != outcome {
        return Err(MeasurementError::NotDeterministic(binary.into()));
    }

    let profile = measuring.read(PROFILE)?;
    let functions = callgrind::decode(&profile)?;
    let costs = costs::charge(&functions, &outcome.systems, &outcome.measured);
    // Without this check a function that is no longer called by its name would count as a system that became cheaper.
    if let Some((system, _)) = costs.iter().find(|(_, cost)| cost.entries == 0) {
        return Err(MeasurementError::NotInProfile { binary: binary.into(), what: system.clone() });
    }
    let burdens = costs::burdens(&functions, &outcome.systems, &outcome.measured);
    // The profile is kept for inspection; the copy of the binary is not.
    let _ = fs::remove_file(directory.join(BINARY));
    Ok(Measurement { outcome, costs, burdens })
}

struct Measuring<'a> {
    binary: &'a Path,
    directory: &'a Path,
}

impl Measuring<'_> {
    /// Places the binary under a fixed name, since a process sees its arguments.
    fn put_in_place(&self, task: &WorkloadTask) -> Result<(), MeasurementError> {
        let failed = |step, path: &Path| {
            let path = path.to_owned();
            move |source| MeasurementError::Io { step, path, source }
        };
        fs::create_dir_all(self.directory).map_err(failed("create", self.directory))?;
        let binary = self.directory.join(BINARY);
        let _ = fs::remove_file(&binary);
        fs::hard_link(self.binary, &binary)
            .or_else(|_| fs::copy(self.binary, &binary).map(|_| ()))
            .map_err(failed("copy", self.binary))?;
        if let WorkloadSource::File(path) = &task.workload {
            fs::copy(path, self.directory.join(INPUTS)).map_err(failed("copy", path))?;
        }
        Ok(())
    }

    fn prepare(&self, name: &str, ticks: u64) -> Result<(), MeasurementError> {
        let output =
            self.throng(&[], &["workload", name, "--ticks", &ticks.to_string(), "--prepare", INPUTS])?;
        self.check_status(&output)
    }

    /// Runs the inputs in place, under a tool if one is given.
    fn run(
        &self,
        tool: &[&str],
        ticks: u64,
        burdens: &[(System, u64)],
    ) -> Result<WorkloadResult, MeasurementError> {
        let ticks = ticks.to_string();
        let burdens: Vec<String> =
            burdens.iter().map(|(system, spins)| format!("--burden={}={spins}", system.name())).collect();
        let mut words = vec!["workload", INPUTS, "--ticks", &ticks, "--out", OUTCOME];
        words.extend(burdens.iter().map(String::as_str));
        let output = self.throng(tool, &words)?;
        self.check_status(&output)?;
        let text = self.read(OUTCOME)?;
        let format = serde_json::from_str(&text).ok().map(|OutcomeFormat { format }| format);
        if format != Some(FORMAT) {
            let found = format.map_or_else(|| "none".to_owned(), |format| format.to_string());
            return Err(self.incompatible(&format!(
                "its workloads are of format {found}, those of this build of {FORMAT}"
            )));
        }
        serde_json::from_str(&text).map_err(|error| self.incompatible(&error.to_string()))
    }

    fn throng(&self, tool: &[&str], words: &[&str]) -> Result<Output, MeasurementError> {
        let mut command = Command::new("setarch");
        command.args([env::consts::ARCH, "-R"]).args(tool).arg(format!("./{BINARY}")).args(words);
        command.current_dir(self.directory).env_clear().env("PATH", PATH).env("LC_ALL", "C");
        let output = command.output().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => MeasurementError::NoSetarch,
            _ => MeasurementError::Io { step: "run", path: self.directory.join(BINARY), source },
        })?;
        // 127 is the status of setarch, as of a shell, for a program that does not exist.
        if !tool.is_empty() && output.status.code() == Some(127) {
            return Err(MeasurementError::NoValgrind);
        }
        Ok(output)
    }

    fn read(&self, name: &str) -> Result<String, MeasurementError> {
        let path = self.directory.join(name);
        fs::read_to_string(&path).map_err(|source| MeasurementError::Io { step: "read", path, source })
    }

    /// The linker's names of all functions whose callers must be separated.
    fn functions(&self, systems: &[SystemInfo]) -> Result<Vec<String>, MeasurementError> {
        let not_there =
            |what: &str| MeasurementError::NotInProfile { binary: self.binary.into(), what: what.to_owned() };
        let bytes = fs::read(self.binary).map_err(|source| MeasurementError::Io {
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
        // Functions of the C library are not in this binary's table; their names are not mangled.
        Ok(names.into_values().flatten().chain(ALLOCATOR.map(str::to_owned)).collect())
    }

    fn check_status(&self, output: &Output) -> Result<(), MeasurementError> {
        let message = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match output.status.code() {
            Some(0) => Ok(()),
            // Status 2: a command line that the build does not know.
            Some(2) => Err(self.incompatible("it has no workloads, or has them under other names")),
            Some(EXIT_INCOMPATIBLE) => Err(self.incompatible(&message())),
            _ => Err(MeasurementError::Failed {
                binary: self.binary.into(),
                status: output.status.to_string(),
                message: message(),
            }),
        }
    }

    fn incompatible(&self, why: &str) -> MeasurementError {
        MeasurementError::Incompatible { binary: self.binary.into(), why: why.to_owned() }
    }
}

/// The fields that every format has.
#[derive(serde::Deserialize)]
struct OutcomeFormat {
    format: u32,
}

/// Callgrind's command line, which separates the callers of these functions.
fn callgrind_command<'a>(functions: impl Iterator<Item = &'a str>) -> Vec<String> {
    let fixed = ["valgrind", "-q", "--tool=callgrind", "--demangle=no", "--dump-line=no"];
    fixed
        .into_iter()
        .map(str::to_owned)
        .chain([format!("--callgrind-out-file={PROFILE}")])
        .chain(functions.map(|name| format!("--separate-callers{CALLERS}={name}")))
        .collect()
}
