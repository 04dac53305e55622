//! `throng region`: lists, shows, restarts and saves regions of a running server, creates, removes and renames them in its configuration, and exports and imports
//! regions, also in the database of a stopped server.

mod configured;
mod offline;
mod online;

use crate::cli::{RegionCommand, StoreArgs};
use crate::config::{self, Config, ConfigError};
use crate::operator::{self, OperatorError, path_part};
use crate::record::take_over;
use content_threads::region_transfer::{MissingPart, TransferError};
use data_dir::{PrivacyError, regions_path};
use keeper::{LoadError, NoRoom};
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::StoreError;

/// A region of 45,000 prims takes a tick for each 256 of them.
const PATIENCE: Duration = Duration::from_secs(600);

/// Reasons for which a command fails.
#[derive(Debug, thiserror::Error)]
pub enum RegionCommandError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory.
    #[error(transparent)]
    Data(#[from] PrivacyError),
    /// The running server.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// Its answer.
    #[error("the server's answer is not understood; is it of another version?")]
    Answer(#[from] serde_json::Error),
    /// The database.
    #[error("cannot use the database")]
    Store(#[from] StoreError),
    /// The region in the database.
    #[error("the region in the database cannot be read")]
    Load(#[from] LoadError),
    /// The file.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// A file of the command.
    #[error("cannot {step} {path}")]
    File {
        /// Failed step.
        step: &'static str,
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// No region has this name.
    #[error("there is no region {name:?}; there are: {known}")]
    NoRegion {
        /// The name.
        name: String,
        /// Names of the others.
        known: String,
    },
    /// Nothing was added.
    #[error("{0} (`region.max_objects`); nothing was added")]
    NoRoom(#[from] NoRoom),
    /// The region begins with content at its first start, which has not been.
    #[error(
        "{0} has never been started and would begin without its `region.content`: start the server once, then import"
    )]
    ContentFirst(String),
    /// No random numbers for ids.
    #[error("the system gives no random numbers")]
    Random(#[source] getrandom::Error),
}

/// Runs a command; returns its output, and true if nothing was refused.
///
/// # Errors
/// With a sentence for the operator.
pub fn run(command: RegionCommand) -> Result<(String, bool), RegionCommandError> {
    match command {
        RegionCommand::List { json, data } => Ok((online::list(&data.data, json)?, true)),
        RegionCommand::Show { name, json, data } => Ok((online::show(&data.data, &name, json)?, true)),
        RegionCommand::Create(args) => Ok((configured::create(&args)?, true)),
        RegionCommand::Remove { name, delete_content, json, data } => {
            Ok((configured::remove(&data.data, &name, delete_content, json)?, true))
        }
        RegionCommand::Rename { name, to, json, data } => {
            Ok((configured::rename(&data.data, &name, &to, json)?, true))
        }
        RegionCommand::Restart { name, message, json, data } => {
            Ok((online::restart(&data.data, &name, message.as_deref(), json)?, true))
        }
        RegionCommand::Export { name, file, partial, json, store } => {
            let exported = export(&name, &file, partial, &store)?;
            // A closed standard error is no failure.
            let _ = io::stderr().write_all(missing_text(&exported).as_bytes());
            Ok((shown(json, &exported, export_text), true))
        }
        RegionCommand::Import { name, file, land, json, store } => {
            let imported = import(&name, &file, land, &store)?;
            Ok((shown(json, &imported, import_text), imported["refused"] == 0))
        }
        RegionCommand::Save { name, json, data } => {
            let path = format!("/v1/regions/{}/save", path_part(&name));
            let saved: Value =
                serde_json::from_str(&operator::command_within(PATIENCE, &data.data, &path, &json!({}))?)?;
            Ok((shown(json, &saved, save_text), true))
        }
    }
}

fn shown(json: bool, answer: &Value, text: fn(&Value) -> String) -> String {
    if json { format!("{answer}\n") } else { text(answer) }
}

fn export_text(answer: &Value) -> String {
    let Value::String(file) = &answer["file"] else { return format!("{answer}\n") };
    format!(
        "{file}: {} prims in {} bytes, as of frame {} of epoch {}.\n",
        answer["prims"], answer["bytes"], answer["sequence"], answer["epoch"]
    )
}

fn import_text(answer: &Value) -> String {
    let why = answer["reason"].as_str().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let land = if answer["land"] == true { " The land is that of the file." } else { "" };
    format!(
        "{} of {} objects are added, {} refused{why}; {} prims.{land}\n",
        answer["added"], answer["linksets"], answer["refused"], answer["prims"]
    )
}

/// Damaged parts that a file lacks, one a line; nothing for a whole one.
fn missing_text(answer: &Value) -> String {
    let parts = MissingPart::list_of(&answer["damaged"]);
    parts.iter().map(|part| format!("throng: damaged and not in the file: {part}\n")).collect()
}

fn save_text(answer: &Value) -> String {
    format!("Frame {} of epoch {} is on the disk.\n", answer["sequence"], answer["epoch"])
}

/// True if the command is to be carried out on the database instead: no server has got it, not even in part. An import would be in the region twice.
const fn is_stopped(error: &OperatorError) -> bool {
    matches!(error, OperatorError::NotRunning { .. } | OperatorError::Unreachable { .. })
}

fn export(name: &str, file: &Path, is_partial: bool, store: &StoreArgs) -> Result<Value, RegionCommandError> {
    let failed = |source| RegionCommandError::File { step: "make", path: file.to_owned(), source };
    // Before anything is written for nothing.
    if file.symlink_metadata().is_ok() {
        return Err(failed(io::ErrorKind::AlreadyExists.into()));
    }
    let config = config::load(&store.sources())?.config;
    let transit = Transit::new(&config);
    let order = json!({ "file": transit.name, "partial": is_partial });
    let mut answer = match ask(&config, name, "export", &order) {
        Ok(answer) => {
            take_over(&transit.path, file).map_err(failed)?;
            answer
        }
        Err(RegionCommandError::Operator(error)) if is_stopped(&error) => {
            offline::export(&config, name, file, is_partial)?
        }
        Err(error) => return Err(error),
    };
    answer["file"] = file.display().to_string().into();
    Ok(answer)
}

fn import(name: &str, file: &Path, takes_land: bool, store: &StoreArgs) -> Result<Value, RegionCommandError> {
    let failed = |source| RegionCommandError::File { step: "read", path: file.to_owned(), source };
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    }
    let config = config::load(&store.sources())?.config;
    let transit = Transit::new(&config);
    if data_dir::RunFile::read(&config.server.data).is_ok() {
        transit.fill(file)?;
        match ask(&config, name, "import", &json!({ "file": transit.name, "land": takes_land })) {
            Err(RegionCommandError::Operator(error)) if is_stopped(&error) => {}
            answer => return answer,
        }
    }
    offline::import(&config, name, file, takes_land)
}

/// Orders an export or import of the file in transit.
fn ask(config: &Config, name: &str, deed: &str, order: &Value) -> Result<Value, RegionCommandError> {
    let path = format!("/v1/regions/{}/{deed}", path_part(name));
    let answer = operator::command_within(PATIENCE, &config.server.data, &path, order)?;
    Ok(serde_json::from_str(&answer)?)
}

/// A file in the server's folder of region files, on its way between server and command. It is removed with this.
struct Transit {
    /// As no other command has it at the time.
    name: String,
    path: PathBuf,
}

impl Transit {
    fn new(config: &Config) -> Self {
        let name = format!("transit-{}.region", std::process::id());
        let path = regions_path(&config.server.data).join(&name);
        // Of a command of the same process id that was killed.
        let _ = fs::remove_file(&path);
        Self { name, path }
    }

    /// Copies a file to it.
    fn fill(&self, file: &Path) -> Result<(), RegionCommandError> {
        let copy = || -> io::Result<()> {
            let folder = self.path.parent().expect("a file in a folder");
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let mut from = fs::File::open(file)?;
            let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path)?;
            io::copy(&mut from, &mut to).map(drop)
        };
        copy().map_err(|source| RegionCommandError::File { step: "make", path: self.path.clone(), source })
    }
}

impl Drop for Transit {
    fn drop(&mut self) {
        // Moved away, or never made, as a rule.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::testing::{answer_once, data_dir_of};
    use std::net::TcpListener;

    #[test]
    fn answers_become_sentences() {
        let export = json!({ "file": "a.region", "prims": 3, "bytes": 99, "epoch": 0, "sequence": 7 });
        assert_eq!(export_text(&export), "a.region: 3 prims in 99 bytes, as of frame 7 of epoch 0.\n");
        let import = json!({ "linksets": 4, "prims": 9, "added": 3, "refused": 1, "reason": "full" });
        assert_eq!(import_text(&import), "3 of 4 objects are added, 1 refused (full); 9 prims.\n");
        let whole =
            json!({ "linksets": 4, "prims": 9, "added": 4, "refused": 0, "reason": null, "land": true });
        assert_eq!(
            import_text(&whole),
            "4 of 4 objects are added, 0 refused; 9 prims. The land is that of the file.\n"
        );
        assert_eq!(missing_text(&export), "");
        let part = json!({ "what": "object", "id": 7, "name": "Lamp", "why": "it means nothing" });
        let partial = json!({ "damaged": [part] });
        assert_eq!(
            missing_text(&partial),
            "throng: damaged and not in the file: object 7 \"Lamp\": it means nothing\n"
        );
        assert_eq!(save_text(&export), "Frame 7 of epoch 0 is on the disk.\n");
    }

    #[test]
    fn an_import_that_a_server_has_got_is_not_repeated_in_the_database() {
        let data = tempfile::tempdir().expect("a directory");
        let server = TcpListener::bind("127.0.0.1:0").expect("an address");
        data_dir_of(data.path(), &server);
        let file = data.path().join("harbour.region");
        // The server would have read it; the command on the database names it as damaged.
        fs::write(&file, b"no region").expect("a file");
        let store = StoreArgs { data: Some(data.path().to_owned()), ..StoreArgs::default() };
        let name = config::load(&store.sources()).expect("a configuration").config.region[0].name.clone();
        let told = std::thread::scope(|scope| {
            scope.spawn(|| answer_once(&server, ""));
            import(&name, &file, false, &store)
        });
        assert!(
            matches!(told, Err(RegionCommandError::Operator(OperatorError::NoAnswer { .. }))),
            "{told:?}"
        );
        drop(server);
        let told = import(&name, &file, false, &store);
        assert!(matches!(told, Err(RegionCommandError::Transfer(_))), "{told:?}");
    }
}
