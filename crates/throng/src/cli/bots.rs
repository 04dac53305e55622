//! `throng bots`.

use super::parse::{duration, fraction, network, per_second};
use clap::{Args, ValueEnum};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;

/// Behaviours of bots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BehaviorName {
    /// Stand where they arrived.
    Stand,
    /// Sit on the ground.
    Sit,
    /// Walk legs of 20 to 60 m with pauses.
    Walk,
    /// Walk legs of 20 to 60 m without a pause.
    Roam,
    /// Mill about on a plaza of 128 m in the middle of the region: short legs, short pauses.
    Plaza,
    /// Sit facing the middle of the region; one in twenty walks.
    Stadium,
    /// Walk, rest and talk in rounds of 20 s.
    Mingle,
    /// Stand, and say something twice a second to hear it.
    Probe,
    /// Go about the region in groups of 20.
    Flock,
    /// Walk to and fro between two places on opposite sides of the region, through its middle.
    Commuter,
    /// Go through a portal at (251, 128) into an instance of their own, follow waypoints and strike about themselves, and come back by the one
    /// there.
    Play,
    /// Follow the waypoints of `play` and strike about themselves, in the world that they are in.
    Quest,
    /// Stand, and make, move, paint, scale, link, name and delete prims on a plot of their own; observers stand and watch.
    Build,
    /// Stand, and make 800 prims on a plot of their own, many at a time; observers stand and watch.
    Rez,
    /// Stand, and move, scale and paint a few prims each without waiting for the effect of each edit.
    Rush,
    /// Stand, and throw 20 prims each that physics moves a little above their plots, again and again.
    Tumble,
    /// Stand, and throw 20 prims each that physics moves so high that they fall for half a minute.
    Soar,
    /// Stand, and upload, create, copy, give, take, rez, wear, drop into prims and remove things; see --audit.
    Carry,
    /// Stand, and take, rez and give objects that must not be copied.
    Ferry,
    /// Stand behind a line of 64 kbit/s, ask for more, ack late, and take answers of the event queue late.
    SlowReader,
    /// Stand and attack: one in three each with garbage, with floods of agent updates and with floods of chat.
    Hostile,
}

/// Steadiness of a bot's agent updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SenderName {
    /// Repeat the same update until something changes.
    Stable,
    /// Jitter slightly in every update, as some clients do.
    Unstable,
}

/// Clients that a bot can resemble on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileName {
    /// A viewer with a window.
    Viewer,
    /// The node-metaverse library.
    NodeMetaverse,
}

/// `throng bots …`: logs many bots in and reports their observations.
#[derive(Args, Clone, Debug)]
pub struct BotsArgs {
    /// Login address of the server, such as http://127.0.0.1:9000/.
    #[arg(long, value_name = "URI")]
    pub login: String,
    /// Number of bots [default: with --audit FILE those of the file].
    #[arg(long, value_name = "N", required_unless_present = "audit", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: Option<u32>,
    /// Their behaviour [default: stand].
    #[arg(long, value_enum)]
    pub behavior: Option<BehaviorName>,
    /// Last name of all of them; two runs at once need different ones [default: by behaviour].
    #[arg(long, value_name = "NAME")]
    pub last_name: Option<String>,
    /// Steadiness of their agent updates.
    #[arg(long, value_enum, default_value = "stable")]
    pub sender: SenderName,
    /// Agent updates a second of each bot; of bots that build its edits a second, of bots that carry its requests.
    #[arg(long, value_name = "HZ", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=125))]
    pub rate: u32,
    /// Edge of the plot of each bot that builds or carries, metres.
    #[arg(long, value_name = "METRES", default_value_t = 16, value_parser = clap::value_parser!(u32).range(4..=256))]
    pub plot: u32,
    /// Bandwidth that each of them requests, bits per second.
    #[arg(long, value_name = "BITS", default_value_t = 1_536_000, value_parser = clap::value_parser!(u32).range(64_000..=1_000_000_000))]
    pub throttle: u32,
    /// Number of bots that decode and measure everything they receive.
    #[arg(long, value_name = "M", default_value_t = 0)]
    pub observers: u32,
    /// Logins that are begun each second, as in 30/s.
    #[arg(long, value_name = "RATE", default_value = "30/s", value_parser = per_second)]
    pub ramp: f64,
    /// Time to stay after the last login.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub duration: Duration,
    /// Fraction of datagrams to lose, each way.
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = fraction)]
    pub loss: f64,
    /// Added latency of datagrams, each way.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = duration)]
    pub delay: Duration,
    /// Random variation of the latency.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = duration)]
    pub jitter: Duration,
    /// Client that they resemble.
    #[arg(long, value_enum, default_value = "viewer")]
    pub profile: ProfileName,
    /// Process id of the server, to report its CPU time and memory.
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// Be a network of hosts behind a TUN device in the server's network namespace instead of having a socket for each bot:
    /// costs less and needs root. The network has 16 bits, as in 10.1.0.0.
    #[arg(long, value_name = "NETWORK", requires = "server_pid", value_parser = network)]
    pub device: Option<Ipv4Addr>,
    /// File for the observers' views over time, to be compared with a recording.
    #[arg(long, value_name = "FILE")]
    pub views: Option<PathBuf>,
    /// File for the observers' scenes at the end: the prims that each displays, and when it displayed them first.
    #[arg(long, value_name = "FILE")]
    pub scenes: Option<PathBuf>,
    /// File for the edits of bots that build: when each was sent, and when its effect was seen.
    #[arg(long, value_name = "FILE")]
    pub edits: Option<PathBuf>,
    /// File for the record of bots that carry: their requests, and the server's answers. An existing one is continued. At the end the server's state is compared with
    /// it, also behind a crash of the server; without a behaviour its bots log in for that alone. Exit status 1: things are lost, doubled or vanished.
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// File of the observers' caches of objects, which they keep as viewers do: read at the beginning if it exists, written at the end.
    #[arg(long, value_name = "FILE")]
    pub cache: Option<PathBuf>,
    /// Time between their pings, when not as usual for the client.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub ping_every: Option<Duration>,
    /// Address that echoes datagrams beside the server, for the command `probes`.
    #[arg(long, value_name = "ADDRESS")]
    pub control_echo: Option<SocketAddrV4>,
    /// Print the report as one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Execute the lines of standard input: enter N, behavior NAME, sender NAME, rate HZ, mark, gap, pings, probes, edits, prims, carry, audit, capabilities,
    /// leave. Each is answered by a line of JSON at its end; --count is the most that may enter.
    #[arg(long)]
    pub control: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::parse;

    #[test]
    fn bots_take_the_flags_of_the_reference() {
        let args: BotsArgs = parse(
            "--login http://127.0.0.1:9000/ --count 1000 --behavior walk --sender unstable --rate 125 --observers 20 \
             --ramp 30/s --duration 60s --loss 0.05 --delay 50ms --jitter 20ms --profile node-metaverse \
             --server-pid 7 --device 10.1.0.0 --plot 64 --scenes a --edits b --cache c --json",
        )
        .unwrap();
        assert_eq!((args.plot, args.scenes, args.edits), (64, Some("a".into()), Some("b".into())));
        assert_eq!(args.cache, Some("c".into()));
        assert_eq!(
            (args.count, args.behavior, args.sender),
            (Some(1000), Some(BehaviorName::Walk), SenderName::Unstable)
        );
        assert_eq!((args.rate, args.observers, args.ramp), (125, 20, 30.0));
        assert_eq!((args.duration, args.delay), (Duration::from_secs(60), Duration::from_millis(50)));
        assert_eq!((args.loss, args.profile, args.server_pid), (0.05, ProfileName::NodeMetaverse, Some(7)));
        let args: BotsArgs = parse("--login x --audit record").unwrap();
        assert_eq!((args.count, args.behavior, args.audit), (None, None, Some("record".into())));
        assert!(parse::<BotsArgs>("--login x").is_err(), "of no number");
        for (name, _) in bots::behavior::Behavior::NAMES {
            assert!(parse::<BotsArgs>(&format!("--login x --count 1 --behavior {name}")).is_ok(), "{name}");
        }
        for wrong in [
            "--rate 126",
            "--plot 3",
            "--plot 257",
            "--loss 1.5",
            "--duration 60",
            "--ramp 0/s",
            "--behavior dance",
            "--delay -5ms",
            "--device 10.1.0.0",
            "--device 10.1.0.1 --server-pid 7",
        ] {
            assert!(parse::<BotsArgs>(&format!("--login x --count 1 {wrong}")).is_err(), "{wrong}");
        }
    }
}
