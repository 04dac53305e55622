//! Clients of other people: node-metaverse, through the scripts of `tests/clients`.

use crate::Run;
use crate::child::{self, Running};
use crate::error::ExperimentError;
use crate::server::Server;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

/// The scenario with the behaviour of our bots' `--behavior mingle`.
const SCRIPT: &str = "fidelity.mjs";

/// A process of node-metaverse clients.
#[derive(Debug)]
pub(crate) struct Foreign {
    process: Running,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Foreign {
    /// Starts `count` clients and waits until all are in.
    pub(crate) fn start(run: &Run, server: &Server, count: u32) -> Result<Self, ExperimentError> {
        let scripts = scripts(&run.executable)?;
        install(&scripts)?;
        let log = run.out.join("node-metaverse.log");
        let mut command = child::command(&run.executable, OsStr::new("node"), &log)?;
        command.arg(scripts.join(SCRIPT)).args(["--login", &server.login_uri]);
        command.arg("--clients").arg(count.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = run
            .sink
            .clients
            .run(move || command.spawn())
            .map_err(|source| ExperimentError::Start { what: "node-metaverse".to_owned(), source })?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let process = Running { what: "node-metaverse".to_owned(), child, log };
        let mut clients = Self { process, input, output };
        clients.expect("in")?;
        Ok(clients)
    }

    /// Lets all log out.
    pub(crate) fn leave(mut self) -> Result<(), ExperimentError> {
        self.input = None;
        self.expect("out")?;
        let status = self.process.wait()?;
        if status.success() { Ok(()) } else { Err(self.process.error(format!("ended with {status}"))) }
    }

    fn expect(&mut self, word: &str) -> Result<(), ExperimentError> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(read) if read > 0 && line.trim() == word => Ok(()),
            Ok(read) if read > 0 => Err(self.process.error(format!("said {line:?} instead of {word:?}"))),
            _ => Err(self.process.error(format!("ended without {word:?}"))),
        }
    }
}

/// `tests/clients` of the checkout that the executable was built in, else of the working directory.
fn scripts(executable: &Path) -> Result<PathBuf, ExperimentError> {
    let above = executable.ancestors().chain([Path::new(".")]);
    let mut found = above
        .map(|directory| directory.join("tests/clients"))
        .filter(|scripts| scripts.join(SCRIPT).is_file());
    found.next().ok_or_else(|| ExperimentError::Missing {
        what: format!("there is no tests/clients/{SCRIPT} here: run this in a checkout"),
    })
}

/// node_modules exactly as locked; nothing to do when they are.
fn install(scripts: &Path) -> Result<(), ExperimentError> {
    let missing = |what: String| ExperimentError::Missing { what };
    if Command::new("node").arg("--version").stdout(Stdio::null()).status().is_err() {
        return Err(missing("node is missing: install Node.js 20.19 or newer with npm".to_owned()));
    }
    let modified = |path: &str| std::fs::metadata(scripts.join(path)).and_then(|data| data.modified()).ok();
    if modified("node_modules/.package-lock.json") > modified("package-lock.json") {
        return Ok(());
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    match Command::new("npm").args(arguments).current_dir(scripts).stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(missing(format!("npm ci in {} ended with {status}", scripts.display()))),
        Err(error) => Err(missing(format!("npm cannot be run: {error}"))),
    }
}
