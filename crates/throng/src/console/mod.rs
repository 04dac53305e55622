//! `throng console`: a prompt over all subcommands, which accepts the established commands of OpenSimulator's console as well.
//!
//! ```text
//! line ─► words ─► established: the table's translation ─┐
//!                ─► tree: a subcommand as it is typed    ─┴► interpreter: connection, region ─► session ─► the subcommand, as a process of its own
//! ```
//!
//! Subcommands run as processes: they have standard input, exit statuses and Ctrl-C as from a shell, and none of them can end the console. Everything up to
//! `session` has no input and output of its own; `editor` is the terminal's side.

mod complete;
mod editor;
mod established;
mod help;
mod interpreter;
mod options;
mod session;
mod table;
mod tree;
mod words;

use crate::cli::{ConsoleArgs, StoreArgs};
use crate::config::{self, ConfigError};
use crate::operator;
use interpreter::{Interpreter, Run};
use serde_json::Value;
use session::{Outside, Session};
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tree::Connection;

/// This program, also after its file was replaced.
const PROGRAM: &str = "/proc/self/exe";
/// Bytes of a script at most.
const SCRIPT_BYTES_MAX: u64 = 1024 * 1024;

/// Reasons for which a console ends by itself.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The script.
    #[error("cannot read the script {path}")]
    Script {
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The region that was named.
    #[error("{0}")]
    Region(String),
    /// The terminal.
    #[error("cannot use the terminal")]
    Terminal(#[source] io::Error),
    /// Input, output, or a subcommand.
    #[error("cannot read, write, or start a subcommand")]
    Io(#[from] io::Error),
}

impl ConsoleError {
    /// Exit status of the command: 2 for a wrong use.
    #[must_use]
    pub const fn exit_status(&self) -> u8 {
        match self {
            Self::Config(_) => 2,
            Self::Script { .. } | Self::Region(_) | Self::Terminal(_) | Self::Io(_) => 1,
        }
    }
}

/// Runs the console; its exit status.
///
/// # Errors
/// [`ConsoleError`].
pub fn run(args: &ConsoleArgs) -> Result<u8, ConsoleError> {
    let script = args.exec.as_deref().map(read_script).transpose()?;
    let data = config::load(&args.store.sources())?.config.server.data;
    let is_terminal = script.is_none() && io::stdin().is_terminal();
    let mut outside = Processes { data: data.clone(), is_terminal };
    let (mut out, mut complaints) = (io::stdout(), io::stderr());
    let interpreter = Interpreter::new(connection(&args.store, &data));
    let mut session = Session::new(interpreter, &mut outside, &mut out, &mut complaints);
    session.begin(args.region.as_deref()).map_err(ConsoleError::Region)?;
    match (&args.exec, script) {
        (Some(path), Some(script)) => Ok(session.run_script(&path.display().to_string(), &script)?),
        _ if is_terminal => editor::run(&mut session, &data),
        _ => Ok(session.run_lines(&mut io::stdin().lock())?),
    }
}

/// The connection as subcommands are given it.
fn connection(store: &StoreArgs, data: &Path) -> Connection {
    Connection {
        data: data.display().to_string(),
        config: store.config.as_ref().map(|path| path.display().to_string()),
        store: store.store.clone(),
    }
}

fn read_script(path: &Path) -> Result<String, ConsoleError> {
    let read = || {
        let mut text = String::new();
        File::open(path)?.take(SCRIPT_BYTES_MAX + 1).read_to_string(&mut text)?;
        if text.len() as u64 > SCRIPT_BYTES_MAX {
            let why = format!("it has more than {SCRIPT_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(text)
    };
    read().map_err(|source| ConsoleError::Script { path: path.to_owned(), source })
}

/// Subcommands as processes.
struct Processes {
    data: PathBuf,
    /// True if subcommands may read what the operator types.
    is_terminal: bool,
}

impl Outside for Processes {
    fn run(&mut self, run: &Run) -> io::Result<u8> {
        let mut command = Command::new(PROGRAM);
        command.args(&run.args);
        // Lines that a pipe still holds are commands, and no input of this one.
        command.stdin(match (&run.input, self.is_terminal) {
            (Some(_), _) => Stdio::piped(),
            (None, true) => Stdio::inherit(),
            (None, false) => Stdio::null(),
        });
        let mut child = command.spawn()?;
        if let Some((input, mut stdin)) = run.input.as_ref().zip(child.stdin.take()) {
            // A subcommand that fails before reads nothing.
            let _ = stdin.write_all(input.as_bytes());
        }
        let status = child.wait()?;
        // A signal has ended it otherwise.
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }

    fn regions(&mut self) -> Result<Vec<String>, String> {
        let answer = operator::get(&self.data, "/v1/regions").map_err(|error| error.to_string())?;
        let rows: Vec<Value> = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        Ok(rows.iter().filter_map(|row| row["name"].as_str()).map(ToOwned::to_owned).collect())
    }
}
