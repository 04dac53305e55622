//! The command line: arguments of each command, without its work.

mod accounts;
mod archive;
mod assets;
mod backup;
mod bots;
mod console;
mod diagnose;
mod estate;
mod inventory;
mod jobs;
mod measure;
mod objects;
mod parcel;
mod parse;
mod region;
mod script;
mod serve;
mod server;
mod store;
mod terrain;
mod token;

pub use accounts::{AlertArgs, KickArgs, UserCommand};
pub use archive::{
    ArchiveCheckArgs, ArchiveDiffArgs, IarCommand, IarLoadArgs, IarSaveArgs, OarCommand, OarLoadArgs,
    OarSaveArgs,
};
pub use assets::AssetsCommand;
pub use backup::{BackupArgs, RestoreArgs, VerifyArgs};
pub use bots::{BehaviorName, BotsArgs, ProfileName, SenderName};
pub use console::ConsoleArgs;
pub use diagnose::{CrashCommand, CrashMonitorArgs, RecordArgs, ReplayArgs, TraceCommand, TuneArgs};
pub use estate::{EstateCommand, EstateListArgs, EstateTarget};
pub use inventory::{GiveArgs, InventoryCommand};
pub use jobs::JobsCommand;
pub use measure::{
    ExperimentArgs, ExperimentCommand, MeasureRecorderArgs, PreflightArgs, SinkName, SummaryArgs,
    WorkloadArgs,
};
pub use objects::{ObjectFilterArgs, ObjectsCommand, RemovalArgs};
pub use parcel::{ParcelCommand, ParcelTarget};
pub use region::{RegionCommand, RegionCreateArgs};
pub use script::{DialectName, ScriptCheckArgs, ScriptCommand};
pub use serve::{ConfigCommand, ServeArgs};
pub use server::{LoginCommand, LoginTarget, SayArgs, ShutdownArgs, StatusArgs};
pub use store::{CopyArgs, StoreCommand};
pub use terrain::{RangeArgs, TerrainArgs, TerrainCommand};
pub use token::{TokenArgs, TokenCommand};

use crate::config::{Flag, Sources};
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// A virtual-world server for crowds.
#[derive(Debug, Parser)]
#[command(name = "throng", version, propagate_version = true)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve worlds until SIGTERM.
    Serve(ServeArgs),
    /// A prompt over these commands, which knows those of OpenSimulator's console as well.
    Console(ConsoleArgs),
    /// Show a running server's version, uptime, and numbers of regions and users.
    Status(StatusArgs),
    /// End a running server.
    Shutdown(ShutdownArgs),
    /// Create, change and list accounts; list the present users.
    #[command(subcommand, alias = "users")]
    User(UserCommand),
    /// Open and close the logins of a running server, and set the text that users are shown.
    #[command(subcommand)]
    Login(LoginCommand),
    /// Show an account's inventory on a running server.
    #[command(subcommand)]
    Inventory(InventoryCommand),
    /// Give an asset, or a copy of an item, to an account of a running server.
    Give(GiveArgs),
    /// List, show and verify assets of a running server, and report those that nothing names.
    #[command(subcommand)]
    Assets(AssetsCommand),
    /// Make, list and revoke tokens of the operator's API.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Migrate, check or copy the database.
    #[command(subcommand)]
    Store(StoreCommand),
    /// List, show, return, delete and put back the objects of a running server's regions.
    #[command(subcommand)]
    Objects(ObjectsCommand),
    /// List, show, restart, save, export and import regions.
    #[command(subcommand)]
    Region(RegionCommand),
    /// Show and change the estate of a running server's region: owner, managers, access.
    #[command(subcommand)]
    Estate(EstateCommand),
    /// List and show the parcels of a running server's region.
    #[command(subcommand)]
    Parcel(ParcelCommand),
    /// End a user's session on a running server.
    Kick(KickArgs),
    /// Show a message to all users of a running server, to those in a region, or to one.
    Alert(AlertArgs),
    /// Say something in a region of a running server.
    Say(SayArgs),
    /// Load, save, level or bake the ground of a region of a running server.
    #[command(subcommand)]
    Terrain(TerrainCommand),
    /// Check and compare archives of regions (OAR), without a server; load and save them on a running one.
    #[command(subcommand)]
    Oar(OarCommand),
    /// Check archives of inventories (IAR), without a server; load and save them on a running one.
    #[command(subcommand)]
    Iar(IarCommand),
    /// Check scripts of the Linden Scripting Language, without a server. They do not run yet.
    #[command(subcommand)]
    Script(ScriptCommand),
    /// Look through all that is stored: rows, assets and their files. Exit status 1: something is damaged or missing.
    Verify(VerifyArgs),
    /// Write a backup of database and assets, of a running server or a stopped one. Exit status 1: there is none, or something in it was damaged or lost before.
    Backup(BackupArgs),
    /// Make a data directory of a backup, or rehearse that. Exit status 1: it failed, or something is damaged or missing.
    Restore(RestoreArgs),
    /// List, show and cancel the jobs of a running server: backups, rehearsals, looks through the stored data, reports on assets, loads and saves of archives.
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Show the crashes of a server.
    #[command(subcommand)]
    Crash(CrashCommand),
    /// Write the dumps of a server; it starts this itself.
    #[command(hide = true)]
    CrashMonitor(CrashMonitorArgs),
    /// Show why the server was slow: its captures, and the current costs of systems.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Change a setting of a running server, or list those that can be changed.
    Tune(TuneArgs),
    /// Log many bots in and report their observations.
    Bots(BotsArgs),
    /// Record a world of a running server into a file.
    Record(RecordArgs),
    /// Repeat a recording, and compare every tick.
    Replay(ReplayArgs),
    /// Show the configuration or its reference.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Measure the cost of a change: compare two builds instruction by instruction. Exit status 1: more expensive, or different.
    Preflight(PreflightArgs),
    /// Prepare or run a workload, as preflight has both builds do.
    #[command(hide = true)]
    Workload(WorkloadArgs),
    /// Measure server and clients against each other and write a report.
    #[command(subcommand)]
    Experiment(ExperimentCommand),
    /// Part of an experiment: turns into a program that dies with its parent.
    #[command(hide = true)]
    ExperimentChild {
        /// The program and its arguments.
        #[arg(required = true, last = true)]
        program: Vec<OsString>,
    },
    /// Part of an experiment: carries packets between the TUN devices that are its standard input and output.
    #[command(hide = true)]
    ExperimentRelay,
    /// Part of an experiment: takes a share of a core until it is killed.
    #[command(hide = true)]
    ExperimentBurn {
        /// Percent of a core.
        #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
        percent: u32,
    },
    /// Part of an experiment: measure the cost of recording in this build, and print it as JSON.
    #[command(hide = true)]
    MeasureRecorder(MeasureRecorderArgs),
}

/// The server that a command addresses.
#[derive(Args, Clone, Debug)]
pub struct DataArg {
    /// The server's data directory.
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub data: PathBuf,
}

/// The database of a command: that of the configuration, as for `throng serve`.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreArgs {
    /// The server's data directory [default: data].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// TOML file with the server's configuration.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address of the database [default: sqlite:, which is the data directory's].
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
}

impl StoreArgs {
    /// The sources of the configuration: the file that was named, the process's environment, these flags.
    #[must_use]
    pub fn sources(&self) -> Sources {
        let flag = |name, key, value: Option<String>| value.map(|value| Flag { name, key, value });
        let data = self.data.as_ref().map(|path| path.display().to_string());
        let flags = [flag("--data", "server.data", data), flag("--store", "store.url", self.store.clone())];
        Sources::with_process_env(self.config.clone(), flags.into_iter().flatten().collect())
    }
}

/// An account's name: one word, or first and last name.
#[derive(Args, Clone, Debug)]
pub struct NameArg {
    /// The user's name; first and last name may be given as one word or two.
    #[arg(value_name = "NAME", num_args = 1..=2, required = true)]
    words: Vec<String>,
}

impl NameArg {
    /// The name as typed, its words separated by one space.
    #[must_use]
    pub fn name(&self) -> String {
        self.words.iter().flat_map(|word| word.split_whitespace()).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, FromArgMatches};

    /// Parses words as the arguments of one command.
    pub(super) fn parse<T: Args>(words: &str) -> Result<T, clap::Error> {
        let command = T::augment_args(clap::Command::new("throng").no_binary_name(true));
        T::from_arg_matches(&command.try_get_matches_from(words.split_whitespace())?)
    }

    fn parse_user(words: &[&str]) -> Result<UserCommand, clap::Error> {
        let command = UserCommand::augment_subcommands(clap::Command::new("throng").no_binary_name(true));
        UserCommand::from_arg_matches(&command.try_get_matches_from(words)?)
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn names_are_one_word_or_two() {
        for words in [&["ban", "Jane", "Doe"][..], &["ban", " Jane  Doe "]] {
            let UserCommand::Ban { name, store, .. } = parse_user(words).unwrap() else { panic!("ban") };
            assert_eq!((name.name(), store.data), ("Jane Doe".to_owned(), None));
        }
        assert!(parse_user(&["ban"]).is_err());
        assert!(parse_user(&["ban", "a", "b", "c"]).is_err());
        assert!(matches!(parse_user(&["list", "--data", "x"]).unwrap(), UserCommand::List { .. }));
        let kick: KickArgs = parse("Jane --data x").unwrap();
        assert_eq!((kick.name.name(), kick.data.data), ("Jane".to_owned(), PathBuf::from("x")));
    }
}
