//! The prompt of a terminal: line editing, history and completion by `rustyline`.

use super::ConsoleError;
use super::complete::{Names, complete};
use super::interpreter::{Interpreter, Step};
use super::session::{LineOutcome, Session};
use super::tree::CommandTree;
use crate::operator::{self, path_part};
use data_dir::console_history_path;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Lines of the history.
const HISTORY_MAX: usize = 1_000;
/// Time for names of a completion: the operator waits.
const PATIENCE: Duration = Duration::from_secs(2);
/// Accounts in one completion.
const ACCOUNTS_MAX: u32 = 50;

/// Reads lines from the terminal until the console is left.
///
/// # Errors
/// The terminal cannot be used.
pub(super) fn run(session: &mut Session<'_>, data: &Path) -> Result<u8, ConsoleError> {
    let _interrupts = Interrupts::to_subcommands().map_err(ConsoleError::Terminal)?;
    let failed = |error: ReadlineError| ConsoleError::Terminal(io::Error::other(error));
    let config = Config::builder().max_history_size(HISTORY_MAX).map_err(failed)?;
    let config = config.history_ignore_space(true).completion_type(CompletionType::List).build();
    let mut editor: Editor<LineHelper, FileHistory> = Editor::with_config(config).map_err(failed)?;
    let names = ServerNames { data: data.to_owned() };
    editor.set_helper(Some(LineHelper { tree: session.interpreter.tree.clone(), names }));
    let history = console_history_path(data);
    // There is none at the first time, and a console without its history works.
    let _ = editor.load_history(&history);
    let mut last = 0;
    loop {
        match editor.readline(session.prompt().as_str()) {
            Ok(line) => {
                if is_kept(&session.interpreter, &line) {
                    let _ = editor.add_history_entry(line.as_str());
                }
                match session.execute(&line)? {
                    LineOutcome::Done(status) => last = status,
                    LineOutcome::Quit => break,
                }
            }
            // Ctrl-C drops the line.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        }
        // After each line: a terminal that is closed leaves no time for it. The file is private; it is not made where there is no data directory.
        if data.is_dir() {
            let _ = editor.append_history(&history);
        }
    }
    Ok(last)
}

/// True if the history keeps a line: one with a password is forgotten.
fn is_kept(interpreter: &Interpreter, line: &str) -> bool {
    !line.trim().is_empty()
        && !matches!(interpreter.interpret(line), Ok(Step::Run(run)) if run.input.is_some())
}

/// Ctrl-C, while a subcommand runs, ends that and not the console.
struct Interrupts {
    _signals: tokio::signal::unix::Signal,
    _runtime: tokio::runtime::Runtime,
}

impl Interrupts {
    fn to_subcommands() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _entered = runtime.enter();
            // From now on the signal has a handler of this process; subcommands begin with the default again.
            signal(SignalKind::interrupt())?
        };
        Ok(Self { _signals: signals, _runtime: runtime })
    }
}

/// Names that the running server knows.
struct ServerNames {
    data: PathBuf,
}

impl ServerNames {
    fn names(&self, path: &str) -> Vec<String> {
        let answer = operator::get_within(PATIENCE, &self.data, path).ok();
        let rows: Option<Vec<Value>> = answer.and_then(|answer| serde_json::from_str(&answer).ok());
        let name = |row: &Value| row["name"].as_str().map(ToOwned::to_owned);
        rows.unwrap_or_default().iter().filter_map(name).collect()
    }
}

impl Names for ServerNames {
    fn regions(&self) -> Vec<String> {
        self.names("/v1/regions")
    }

    fn accounts(&self, begins: &str) -> Vec<String> {
        let begins = begins.trim_start();
        // All of them would be a long list.
        if begins.is_empty() || begins.len() > 63 {
            return Vec::new();
        }
        self.names(&format!("/v1/users?begins={}&limit={ACCOUNTS_MAX}", path_part(begins)))
    }
}

/// Completion for the line editor.
struct LineHelper {
    tree: CommandTree,
    names: ServerNames,
}

impl Completer for LineHelper {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(complete(&self.tree, &self.names, line.get(..pos).unwrap_or(line)))
    }
}

impl Hinter for LineHelper {
    type Hint = String;
}

impl Highlighter for LineHelper {}

impl Validator for LineHelper {}

impl Helper for LineHelper {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tree::Connection;

    #[test]
    fn the_history_forgets_passwords() {
        let interpreter = Interpreter::new(Connection::default());
        for line in ["create user Ada Lovelace secret", "reset user password Ada Lovelace secret", "", "  "] {
            assert!(!is_kept(&interpreter, line), "{line}");
        }
        for line in ["create user Ada Lovelace", "show users", "no command at all"] {
            assert!(is_kept(&interpreter, line), "{line}");
        }
    }
}
