//! Parameters of a run. Equal scenarios make equal runs, so a scenario also repeats one.

use crate::faults::Faults;
use crate::sabotage::Sabotage;
use crate::setting::Setting;
use std::fmt;
use std::time::Duration;

/// A run: clients in two worlds, or a crowd in one, through a storm of faults; then everything has to recover.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// Place of the run, and the clients' task.
    pub setting: Setting,
    /// Clients.
    pub clients: u32,
    /// Gateway shards of the node; the run is the same for any number.
    pub shards: u16,
    /// Steps of each world per second. Where a step is no whole number of physics sub-steps, as at 30, worlds carry a rest over.
    pub hz: u32,
    /// Length of the storm.
    pub storm: Duration,
    /// Faults during the storm.
    pub faults: Faults,
    /// Number of times at which a world is replaced by one restored from its snapshot, at random ticks of the storm; the run is the
    /// same for any number.
    pub restores: u32,
    /// Hosts that step the worlds; the run is the same for any number.
    pub hosts: u16,
    /// True if worlds move between the hosts at random ticks of the storm, [`MOVE_PERIOD`] apart on average. Each is compared in every
    /// tick with a reference that stays ([`Rule::MovesChangeNothing`](crate::Rule::MovesChangeNothing)); so the run is the same with
    /// and without, unless a world panics: the checkpoint from which it restarts is then that of the move.
    pub moves: bool,
    /// A defect of the moves, for tests of the checks.
    pub sabotage: Option<Sabotage>,
}

/// Steps of a world per second, unless a scenario says otherwise.
pub(crate) const HZ: u32 = 20;
/// Time between two steps at that rate.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// Mean time between two moves of one world.
pub const MOVE_PERIOD: Duration = Duration::from_secs(3);

impl Scenario {
    /// The default scenario: 200 clients in two worlds under loss, on one shard.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            setting: Setting::Travel,
            clients: 200,
            shards: 1,
            hz: HZ,
            storm: Duration::from_secs(30),
            faults: Faults::LOSSY,
            restores: 0,
            hosts: 1,
            moves: false,
            sabotage: None,
        }
    }

    /// A crowd: 2,000 clients in one region on a rough network, two of five are cut off together for 8 s.
    #[must_use]
    pub const fn crowd(seed: u64) -> Self {
        Self { setting: Setting::Crowd, clients: 2_000, faults: Faults::SPLIT, ..Self::new(seed) }
    }

    /// A building site: one client in three builds, in two regions.
    #[must_use]
    pub const fn site(seed: u64) -> Self {
        Self { setting: Setting::Site, clients: 60, ..Self::new(seed) }
    }

    /// World time of a step.
    pub(crate) fn dt(&self) -> Duration {
        Duration::from_secs(1) / self.hz
    }

    /// Whole steps in a time.
    pub(crate) fn steps_in(&self, time: Duration) -> u64 {
        (time.as_nanos() / self.dt().as_nanos()) as u64
    }
}

/// The command that repeats the run.
impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, setting, clients, shards, hz, storm, faults, restores, hosts, moves, .. } = self;
        let setting = match setting {
            Setting::Travel => "",
            Setting::Crowd => " --crowd",
            Setting::Village => " --village",
            Setting::Site => " --site",
        };
        let hz = if *hz == HZ { String::new() } else { format!(" --hz {hz}") };
        let hosts = if *hosts > 1 { format!(" --hosts {hosts}") } else { String::new() };
        let moves = if *moves { " --moves" } else { "" };
        write!(
            f,
            "cargo run -p sim -- --seed {seed} --clients {clients} --shards {shards} --storm-s {} --faults {} \
             --restores {restores}{hz}{hosts}{moves}{setting}",
            storm.as_secs(),
            faults.name,
        )
    }
}
