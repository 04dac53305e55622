//! The command line: what each command takes, and nothing of what it does.

use crate::config::{Flag, Sources};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;
use systems::System;

/// A virtual-world server for crowds.
#[derive(Debug, Parser)]
#[command(name = "throng", version, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve worlds until SIGTERM.
    Serve(ServeArgs),
    /// Create, change and list accounts.
    #[command(subcommand)]
    User(UserCommand),
    /// End a user's session on a running server.
    Kick(KickArgs),
    /// Show a message to everyone on a running server.
    Alert(AlertArgs),
    /// Show the crashes of a server.
    #[command(subcommand)]
    Crash(CrashCommand),
    /// Write the dumps of a server; it starts this itself.
    #[command(hide = true)]
    CrashMonitor(CrashMonitorArgs),
    /// Show why the server was slow: its captures, and what systems cost just now.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Change a setting of a running server, or list those that can be changed.
    Tune(TuneArgs),
    /// Log many bots in and report what they saw.
    Bots(BotsArgs),
    /// Record a world of a running server into a file.
    Record(RecordArgs),
    /// Make what was recorded happen again, and compare every tick.
    Replay(ReplayArgs),
    /// Show the configuration or its reference.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Tell what a change costs: compare two builds instruction by instruction. Exit status 1: dearer, or different.
    Preflight(PreflightArgs),
    /// Prepare or run a workload: what preflight has both builds do.
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
    /// Part of an experiment: measure what recording costs in this build, and print it as JSON.
    #[command(hide = true)]
    MeasureRecorder(MeasureRecorderArgs),
}

/// `throng experiment …`.
#[derive(Debug, Subcommand)]
pub enum ExperimentCommand {
    /// Print the experiments and what they ask.
    List,
    /// Run one. Exit status 1: it could not be run, or something did not hold; 3: the sink cannot be had.
    Run(ExperimentArgs),
}

/// `throng experiment run …`.
#[derive(Args, Clone, Debug)]
pub struct ExperimentArgs {
    /// Which one; `throng experiment list` prints them.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Less than a minute, to see that every figure comes out; nothing is judged.
    #[arg(long)]
    pub quick: bool,
    /// Print the figures as one JSON object and nothing else.
    #[arg(long)]
    pub json: bool,
    /// Directory of report.json and report.html [default: target/experiments/NAME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Network between server and clients: TUN devices between namespaces, or loopback [default: tun for root].
    #[arg(long, value_enum)]
    pub sink: Option<SinkName>,
    /// How long the window of `daily` is [default: 10m].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
}

/// A network between server and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SinkName {
    /// Two namespaces joined by TUN devices; needs root.
    Tun,
    /// Loopback.
    Lo,
}

/// `throng config …`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the reference of all keys as Markdown.
    Docs,
    /// Print the configuration in effect as TOML, and where each value comes from.
    Show(ServeArgs),
}

/// `throng serve …`. Every flag here wins over the configuration's file and the environment.
#[derive(Args, Clone, Debug, Default)]
pub struct ServeArgs {
    /// Directory of the database, the admin token and run.json; created when missing [default: data].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Where HTTP listens: login, capabilities and the page [default: 127.0.0.1:9000].
    #[arg(long, value_name = "ADDR")]
    pub http: Option<SocketAddr>,
    /// The first of four consecutive UDP ports; port 0 picks free ones [default: 127.0.0.1:9000].
    #[arg(long, value_name = "ADDR")]
    pub udp: Option<SocketAddrV4>,
    /// Where metrics, health checks and the operator's commands listen [default: 127.0.0.1:9009].
    #[arg(long, value_name = "ADDR")]
    pub admin: Option<SocketAddr>,
    /// TOML file with the configuration.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Create accounts at their first login; refused on addresses other than loopback.
    #[arg(long)]
    pub open_registration: bool,
    /// Allow --open-registration on any address.
    #[arg(long)]
    pub force_open_registration: bool,
    /// IPv4 address under which clients reach this server from outside, with a port if HTTP is mapped to another one.
    #[arg(long, value_name = "ADDR")]
    pub advertise: Option<String>,
    /// Start the server as a child, and again after a crash.
    #[arg(long)]
    pub supervise: bool,
    /// Process id of the supervisor, given by itself.
    #[arg(long, value_name = "PID", hide = true)]
    pub supervised_by: Option<u32>,
}

impl ServeArgs {
    /// The sources of the configuration: the file that was named, the process's environment, these flags.
    #[must_use]
    pub fn sources(&self) -> Sources {
        Sources::with_process_env(self.config.clone(), self.flags())
    }

    /// The flags that were given, as keys of the configuration.
    #[must_use]
    pub fn flags(&self) -> Vec<Flag> {
        let flag = |name, key, value: Option<String>| value.map(|value| Flag { name, key, value });
        let switch = |on: bool| on.then(|| "true".to_owned());
        [
            flag("--data", "server.data", self.data.as_ref().map(|path| path.display().to_string())),
            flag("--http", "server.http", self.http.map(|addr| addr.to_string())),
            flag("--udp", "server.udp", self.udp.map(|addr| addr.to_string())),
            flag("--admin", "server.admin", self.admin.map(|addr| addr.to_string())),
            flag("--open-registration", "login.open_registration", switch(self.open_registration)),
            flag(
                "--force-open-registration",
                "login.force_open_registration",
                switch(self.force_open_registration),
            ),
            flag("--advertise", "server.advertise", self.advertise.clone()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Which server a command is for.
#[derive(Args, Clone, Debug)]
pub struct DataArg {
    /// The server's data directory.
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub data: PathBuf,
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

/// `throng user …`. Works on the database, whether a server runs on it or not.
#[derive(Clone, Debug, Subcommand)]
pub enum UserCommand {
    /// Create an account; the password is read from standard input.
    Add {
        /// Whom.
        #[command(flatten)]
        name: NameArg,
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
    /// Replace a password; the new one is read from standard input.
    Passwd {
        /// Whose.
        #[command(flatten)]
        name: NameArg,
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
    /// List the accounts.
    List {
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
    /// Refuse further logins of an account.
    Ban {
        /// Whose.
        #[command(flatten)]
        name: NameArg,
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
    /// Allow the logins of a banned account again.
    Unban {
        /// Whose.
        #[command(flatten)]
        name: NameArg,
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
}

/// `throng kick NAME`: ends a user's session on a running server.
#[derive(Args, Clone, Debug)]
pub struct KickArgs {
    /// Whom.
    #[command(flatten)]
    pub name: NameArg,
    /// Which server.
    #[command(flatten)]
    pub data: DataArg,
}

/// `throng alert TEXT`: shows a message to everyone on a running server.
#[derive(Args, Clone, Debug)]
pub struct AlertArgs {
    /// The message.
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// Which server.
    #[command(flatten)]
    pub data: DataArg,
}

/// `throng preflight …`.
#[derive(Args, Clone, Debug)]
pub struct PreflightArgs {
    /// The build to compare with: a commit of the repository one is in, or a binary.
    #[arg(value_name = "BASE")]
    pub base: String,
    /// The build that is compared.
    #[arg(value_name = "HEAD")]
    pub head: String,
    /// What they do: crowd (worlds, gateway and clients), worlds (worlds only), or a recording of `throng record`.
    #[arg(long, value_name = "NAME|FILE", default_value = "crowd")]
    pub workload: String,
    /// Ticks that are measured; a second has 20.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub ticks: u64,
    /// Directory of report.html, report.json and both profiles.
    #[arg(long, value_name = "DIR", default_value = "target/preflight")]
    pub out: PathBuf,
    /// Directory in which commits are built and kept [default: throng/preflight in the user's cache].
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Print the comparison as one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `throng workload …`. Preflight calls it; by hand it is of use when a difference is looked for.
#[derive(Args, Clone, Debug)]
pub struct WorkloadArgs {
    /// A workload's name, or a file: one that --prepare made, or a recording.
    #[arg(value_name = "NAME|FILE")]
    pub workload: PathBuf,
    /// Measured ticks of a workload to be prepared, or of a recording.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub ticks: u64,
    /// Keep the calls into the server in this file instead of running them.
    #[arg(long, value_name = "FILE", conflicts_with = "out", required_unless_present = "out")]
    pub prepare: Option<PathBuf>,
    /// Run what was prepared, and write what came of it as JSON.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Make a system dearer on purpose, by so many laps of a short loop for each 1,000 of its entries.
    #[arg(long = "burden", value_name = "SYSTEM=LAPS", value_parser = burden, requires = "out")]
    pub burdens: Vec<(System, u64)>,
}

/// `throng measure-recorder`.
#[derive(Args, Clone, Debug)]
pub struct MeasureRecorderArgs {
    /// Batches of scopes and of bare timestamps.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batches: u32,
    /// Times that nothing is saved and then captures are.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// How long each of the two lasts.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub phase: Duration,
    /// Where captures are saved.
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
}

/// `throng record …`: a world's state and, from then on, everything that it is given.
#[derive(Args, Clone, Debug)]
pub struct RecordArgs {
    /// Which server.
    #[command(flatten)]
    pub data: DataArg,
    /// Name of the region.
    #[arg(long, value_name = "NAME")]
    pub world: String,
    /// For how long, in seconds.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub seconds: u32,
    /// The file to make, on the server's machine; there must be none yet.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// `throng replay FILE`: needs no server and no data directory.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// What `throng record` made.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// End with status 1 when any tick comes to another state than the recorded one.
    #[arg(long)]
    pub verify: bool,
    /// How often, each time from the beginning.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,
}

/// `throng crash …`. Reads files, whether a server runs or not.
#[derive(Clone, Debug, Subcommand)]
pub enum CrashCommand {
    /// List the crashes, the oldest first.
    List {
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
    /// Explain a dump: why, where, and what each thread was in.
    Show {
        /// The dump: a path, or its name in the data directory's crashes.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Whose symbols.
        #[command(flatten)]
        data: DataArg,
    },
}

/// `throng crash-monitor`, with the socket to the server as standard input.
#[derive(Args, Clone, Debug)]
pub struct CrashMonitorArgs {
    /// The server's data directory.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// The server's process id.
    #[arg(long, value_name = "PID")]
    pub server: u32,
    /// Name of a world, in order of their numbers.
    #[arg(long = "world", value_name = "NAME")]
    pub worlds: Vec<String>,
    /// Dumps of each kind to keep.
    #[arg(long, value_name = "N")]
    pub dumps_max: u32,
    /// Space for the dumps of each kind.
    #[arg(long, value_name = "MIB")]
    pub mib_max: u32,
    /// Form of log lines.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: String,
    /// Which log lines.
    #[arg(long, value_name = "FILTER")]
    pub log_filter: String,
}

/// `throng trace …`. Captures are read from the data directory, whether a server runs on it or not.
#[derive(Clone, Debug, Subcommand)]
pub enum TraceCommand {
    /// List the captures, the oldest first, each with its culprit.
    List {
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
    /// Print what every thread did around the moment that a capture was taken for.
    Show {
        /// The capture's name, as listed.
        #[arg(value_name = "NAME")]
        name: String,
        /// Leave out what took less than this part of the time shown.
        #[arg(long, value_name = "FRACTION", default_value_t = 0.01, value_parser = fraction)]
        least: f64,
        /// Write a page with the timeline as a picture and the summary to this file instead.
        #[arg(long, value_name = "FILE", conflicts_with = "least")]
        html: Option<PathBuf>,
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
    /// Print who was to blame and what cost most.
    Summary {
        /// The capture's name, as listed; the newest without one.
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
    /// Have a running server write its last seconds, and print the capture's name.
    Save {
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
    /// Watch what systems and threads of a running server cost, against their budgets.
    Live {
        /// Print one table and end.
        #[arg(long)]
        once: bool,
        /// Where.
        #[command(flatten)]
        data: DataArg,
    },
}

/// `throng tune [KEY VALUE]`.
#[derive(Args, Clone, Debug)]
pub struct TuneArgs {
    /// Which key; without one all keys and their values are listed.
    #[arg(value_name = "KEY", requires = "value")]
    pub key: Option<String>,
    /// What to set it to.
    #[arg(value_name = "VALUE")]
    pub value: Option<String>,
    /// Keep it for the next starts too.
    #[arg(long, requires = "value")]
    pub persist: bool,
    /// Which server.
    #[command(flatten)]
    pub data: DataArg,
}

/// What bots do once they are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Behavior {
    /// Stand where they arrived.
    Stand,
    /// Sit on the ground.
    Sit,
    /// Walk legs of 20 to 60 m with pauses.
    Walk,
    /// Walk, rest and talk in rounds of 20 s.
    Mingle,
}

/// How steady a bot's agent updates are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sender {
    /// Repeat the same update until something changes.
    Stable,
    /// Jitter slightly in every update, as some clients do.
    Unstable,
}

/// Which client a bot resembles on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// A viewer with a window.
    Viewer,
    /// The node-metaverse library.
    NodeMetaverse,
}

/// `throng bots …`: logs many bots in and reports what they saw.
#[derive(Args, Clone, Debug)]
pub struct BotsArgs {
    /// Login address of the server, such as http://127.0.0.1:9000/.
    #[arg(long, value_name = "URI")]
    pub login: String,
    /// How many bots.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: u32,
    /// What they do.
    #[arg(long, value_enum, default_value = "stand")]
    pub behavior: Behavior,
    /// Last name of all of them; two runs at once need different ones [default: by what they do].
    #[arg(long, value_name = "NAME")]
    pub last_name: Option<String>,
    /// How steady their agent updates are.
    #[arg(long, value_enum, default_value = "stable")]
    pub sender: Sender,
    /// Agent updates a second of each bot.
    #[arg(long, value_name = "HZ", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=125))]
    pub rate: u32,
    /// How many of them decode and measure everything they receive.
    #[arg(long, value_name = "M", default_value_t = 0)]
    pub observers: u32,
    /// Logins that are begun each second, as in 30/s.
    #[arg(long, value_name = "RATE", default_value = "30/s", value_parser = per_second)]
    pub ramp: f64,
    /// How long to stay after the last login.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub duration: Duration,
    /// Fraction of datagrams to lose, each way.
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = fraction)]
    pub loss: f64,
    /// How much later datagrams arrive, each way.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = duration)]
    pub delay: Duration,
    /// How much the delay varies at random.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = duration)]
    pub jitter: Duration,
    /// Which client they resemble.
    #[arg(long, value_enum, default_value = "viewer")]
    pub profile: Profile,
    /// Process id of the server, to report its CPU time and memory.
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// Print the report as one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Do what the lines of standard input say: enter N, behavior NAME, sender NAME, rate HZ, gap, leave. Each is answered
    /// by a line of JSON when it is done; --count is the most that may enter.
    #[arg(long)]
    pub control: bool,
}

/// Parses `250ms`, `60s`, `1.5s`, `5m` or `2h`.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds_per_unit = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("a time needs a unit: 250ms, 60s, 5m or 2h".into()),
    };
    let number: f64 = number.parse().map_err(|_| format!("{number:?} is not a number"))?;
    Duration::try_from_secs_f64(number * seconds_per_unit).map_err(|error| error.to_string())
}

/// Parses `world.movement=1500`.
fn burden(text: &str) -> Result<(System, u64), String> {
    let (name, laps) = text.split_once('=').ok_or("a burden looks like world.movement=1500")?;
    let system = System::named(name).ok_or_else(|| format!("there is no system {name:?}"))?;
    Ok((system, laps.parse().map_err(|_| format!("{laps:?} is not a number"))?))
}

/// Parses `30/s` or `30`.
fn per_second(text: &str) -> Result<f64, String> {
    let rate: f64 =
        text.strip_suffix("/s").unwrap_or(text).parse().map_err(|_| "a rate looks like 30/s".to_owned())?;
    if rate.is_finite() && rate > 0.0 { Ok(rate) } else { Err("a rate is more than 0/s".into()) }
}

/// Parses a number from 0 to 1.
fn fraction(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err("a fraction lies between 0 and 1".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, FromArgMatches};

    /// Parses words as the arguments of one command.
    fn parse<T: Args>(words: &str) -> Result<T, clap::Error> {
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
    fn serve_flags_become_keys_and_absent_ones_do_not() {
        let args: ServeArgs =
            parse("--data d --http 0.0.0.0:80 --open-registration --advertise 203.0.113.7").unwrap();
        let flags: Vec<_> = args.flags().into_iter().map(|flag| (flag.key, flag.value)).collect();
        assert_eq!(
            flags,
            [
                ("server.data", "d".to_owned()),
                ("server.http", "0.0.0.0:80".to_owned()),
                ("login.open_registration", "true".to_owned()),
                ("server.advertise", "203.0.113.7".to_owned()),
            ]
        );
        assert!(parse::<ServeArgs>("").unwrap().flags().is_empty());
        assert!(parse::<ServeArgs>("--udp [::1]:9000").is_err());
    }

    #[test]
    fn every_flag_names_a_key_that_exists() {
        let all = "--data d --http 127.0.0.1:1 --udp 127.0.0.1:2 --admin 127.0.0.1:3 --open-registration \
                   --force-open-registration --advertise 203.0.113.7";
        let flags = parse::<ServeArgs>(all).unwrap().flags();
        let config = crate::config::load(&Sources { flags, ..Sources::default() }).unwrap().config;
        assert_eq!(config.server.admin.port(), 3);
        assert!(config.login.force_open_registration);
    }

    #[test]
    fn names_are_one_word_or_two() {
        for words in [&["ban", "Jane", "Doe"][..], &["ban", " Jane  Doe "]] {
            let UserCommand::Ban { name, data } = parse_user(words).unwrap() else { panic!("ban") };
            assert_eq!((name.name(), data.data), ("Jane Doe".to_owned(), PathBuf::from("data")));
        }
        assert!(parse_user(&["ban"]).is_err());
        assert!(parse_user(&["ban", "a", "b", "c"]).is_err());
        assert!(matches!(parse_user(&["list", "--data", "x"]).unwrap(), UserCommand::List { .. }));
        let kick: KickArgs = parse("Jane --data x").unwrap();
        assert_eq!((kick.name.name(), kick.data.data), ("Jane".to_owned(), PathBuf::from("x")));
    }

    #[test]
    fn bots_take_the_flags_of_the_reference() {
        let args: BotsArgs = parse(
            "--login http://127.0.0.1:9000/ --count 1000 --behavior walk --sender unstable --rate 125 --observers 20 \
             --ramp 30/s --duration 60s --loss 0.05 --delay 50ms --jitter 20ms --profile node-metaverse \
             --server-pid 7 --json",
        )
        .unwrap();
        assert_eq!((args.count, args.behavior, args.sender), (1000, Behavior::Walk, Sender::Unstable));
        assert_eq!((args.rate, args.observers, args.ramp), (125, 20, 30.0));
        assert_eq!((args.duration, args.delay), (Duration::from_secs(60), Duration::from_millis(50)));
        assert_eq!((args.loss, args.profile, args.server_pid), (0.05, Profile::NodeMetaverse, Some(7)));
        for wrong in
            ["--rate 126", "--loss 1.5", "--duration 60", "--ramp 0/s", "--behavior dance", "--delay -5ms"]
        {
            assert!(parse::<BotsArgs>(&format!("--login x --count 1 {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_have_units() {
        for (text, millis) in [("250ms", 250), ("1.5s", 1500), ("2m", 120_000), ("1h", 3_600_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "s", "5 s", "1.2.3s", "5d"] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }
}
