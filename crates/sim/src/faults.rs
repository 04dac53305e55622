//! Faults of a run, as data: every knob states its effect and its counterpart in production.

use std::time::Duration;

/// Faults of datagrams in one direction of a client's path.
///
/// Loss follows Gilbert and Elliott: the path is in a good or a bad state, and changes it with each datagram. A radio link that fades,
/// or a queue that overflows, loses in bursts; independent losses would favour protocols that repeat everything three times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkFaults {
    /// Shortest time on the way.
    pub delay: Duration,
    /// Maximum of the added, evenly distributed latency. More than the spacing of datagrams reorders them.
    pub jitter: Duration,
    /// Share lost in the good state, 0–1.
    pub loss_good: f64,
    /// Share lost in the bad state, 0–1.
    pub loss_bad: f64,
    /// Chance with each datagram that a good path turns bad.
    pub good_to_bad: f64,
    /// Chance with each datagram that a bad path turns good: bursts last for its inverse.
    pub bad_to_good: f64,
    /// Share that arrives twice, the second time up to [`Self::straggle`] later.
    pub duplicate: f64,
    /// Share that arrives up to [`Self::straggle`] late, behind later datagrams.
    pub reorder: f64,
    /// Maximum delay of a straggler.
    pub straggle: Duration,
}

impl LinkFaults {
    /// A short cable: 1 ms, nothing lost.
    pub const CALM: Self = Self {
        delay: Duration::from_millis(1),
        jitter: Duration::ZERO,
        loss_good: 0.0,
        loss_bad: 0.0,
        good_to_bad: 0.0,
        bad_to_good: 1.0,
        duplicate: 0.0,
        reorder: 0.0,
        straggle: Duration::ZERO,
    };

    /// One datagram in ten lost each way, as the end-to-end test with iptables has it, 40–60 ms away.
    pub const LOSSY: Self = Self {
        delay: Duration::from_millis(40),
        jitter: Duration::from_millis(20),
        loss_good: 0.1,
        loss_bad: 0.1,
        ..Self::CALM
    };

    /// A fading radio link: 2 % lost, and half of everything in bursts of about ten datagrams; duplicates and stragglers.
    pub const ROUGH: Self = Self {
        delay: Duration::from_millis(30),
        jitter: Duration::from_millis(50),
        loss_good: 0.02,
        loss_bad: 0.5,
        good_to_bad: 0.01,
        bad_to_good: 0.1,
        duplicate: 0.02,
        reorder: 0.02,
        straggle: Duration::from_millis(200),
    };
}

/// Times at which a client's path carries nothing in either direction; HTTP waits, as TCP does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partitions {
    /// Mean time between two of them for each client.
    pub every: Duration,
    /// Shortest.
    pub lasts_min: Duration,
    /// Longest. Beyond the server's idle timeout (60 s) the client is lost and has to log in again.
    pub lasts_max: Duration,
}

/// Many clients whose paths are cut at the same time, as by a provider's outage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Begin, counted from the beginning of the run.
    pub at: Duration,
    /// Duration. Beyond the server's idle timeout (60 s) all cut-off clients have to log in again.
    pub lasts: Duration,
    /// Share of the clients that are cut off, 0–1.
    pub share: f64,
}

/// Worlds that panic in the middle of a step: commands are consumed, the state has changed, and no frame is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Panics {
    /// Mean time between two bouts of each world.
    pub every: Duration,
    /// Steps in a row that panic in each bout. The pauses between them double.
    pub steps: u32,
}

/// A node whose shards get less CPU time than they need: other processes take it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScarceCpu {
    /// Its beginning, counted from that of the run. All clients have to have arrived three seconds before.
    pub at: Duration,
    /// Its length.
    pub lasts: Duration,
    /// Share of the CPU time that each shard needed before, 0–1.
    pub share: f64,
}

/// Everything that goes wrong while the storm lasts. Afterwards only [`LinkFaults::CALM`] is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// Name of the set on the command line.
    pub name: &'static str,
    /// Both directions of every client's path; each direction draws for itself.
    pub link: LinkFaults,
    /// Clients cut off for a time.
    pub partitions: Option<Partitions>,
    /// Many clients cut off at once.
    pub split: Option<Split>,
    /// Longest time that an HTTP request or answer takes.
    pub http_delay: Duration,
    /// Share of HTTP answers lost with their connection: the client asks again.
    pub http_reset: f64,
    /// Share of frames that never reach the replica: a queue was full, or a link of a cluster broke. The replica notices the gap and
    /// asks for a snapshot. No client hears the chat of a lost frame.
    pub frame_loss: f64,
    /// Datagrams per second from addresses without circuit: noise and guessed tickets. None may be answered.
    pub strangers_per_s: u32,
    /// Start and length of a stop of the whole node (SIGSTOP, a paused virtual machine), counted from the beginning. Datagrams of
    /// clients wait in the kernel meanwhile.
    pub freeze: Option<(Duration, Duration)>,
    /// Worlds that panic. Chat from one second before a panic until all visitors are back may be lost: on worse paths than
    /// [`LinkFaults::CALM`] chat is on its way for longer, and the check of chat would complain.
    pub panics: Option<Panics>,
    /// Shards that get less CPU time than they need. Their work then depends on their whole load: such a run is the same only with the
    /// same number of shards.
    pub scarce_cpu: Option<ScarceCpu>,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        name: "none",
        link: LinkFaults::CALM,
        partitions: None,
        split: None,
        http_delay: Duration::from_millis(5),
        http_reset: 0.0,
        frame_loss: 0.0,
        strangers_per_s: 0,
        freeze: None,
        panics: None,
        scarce_cpu: None,
    };

    /// 10 % loss each way.
    pub const LOSSY: Self =
        Self { name: "lossy", link: LinkFaults::LOSSY, http_delay: Duration::from_millis(120), ..Self::NONE };

    /// Bursts, duplicates, stragglers, partitions of up to 5 s, HTTP connections that break, strangers.
    pub const ROUGH: Self = Self {
        name: "rough",
        link: LinkFaults::ROUGH,
        partitions: Some(Partitions {
            every: Duration::from_secs(40),
            lasts_min: Duration::from_millis(500),
            lasts_max: Duration::from_secs(5),
        }),
        http_delay: Duration::from_millis(300),
        http_reset: 0.05,
        strangers_per_s: 50,
        ..Self::NONE
    };

    /// Bursts, duplicates, stragglers, HTTP connections that break, strangers; and two clients of five are cut off together.
    pub const SPLIT: Self = Self {
        name: "split",
        partitions: None,
        split: Some(Split { at: Duration::from_secs(12), lasts: Duration::from_secs(8), share: 0.4 }),
        ..Self::ROUGH
    };

    /// Clients are cut off for longer than the server waits for them.
    pub const EXILE: Self = Self {
        name: "exile",
        partitions: Some(Partitions {
            every: Duration::from_secs(60),
            lasts_min: Duration::from_secs(61),
            lasts_max: Duration::from_secs(80),
        }),
        ..Self::NONE
    };

    /// One frame in twenty never reaches the replica.
    pub const GAPS: Self = Self { name: "gaps", frame_loss: 0.05, ..Self::NONE };

    /// The node stands still for 30 s in the middle of things.
    pub const FROZEN: Self = Self {
        name: "frozen",
        freeze: Some((Duration::from_secs(12), Duration::from_secs(30))),
        ..Self::NONE
    };

    /// Every world panics about every six seconds, and is back in the next tick.
    pub const PANICS: Self = Self {
        name: "panics",
        panics: Some(Panics { every: Duration::from_secs(6), steps: 1 }),
        ..Self::NONE
    };

    /// Worlds panic in every step for a while: they are down for 8 s before they get one done.
    pub const POISONED: Self = Self {
        name: "poisoned",
        panics: Some(Panics { every: Duration::from_secs(40), steps: 5 }),
        ..Self::NONE
    };

    /// Shards get 70 % of the CPU time that they need, for 24 s of a storm of 40 s. The network loses nothing.
    pub const STARVED: Self = Self {
        name: "starved",
        scarce_cpu: Some(ScarceCpu {
            at: Duration::from_secs(12),
            lasts: Duration::from_secs(24),
            share: 0.7,
        }),
        ..Self::NONE
    };

    /// Every set.
    pub const ALL: [Self; 10] = [
        Self::NONE,
        Self::LOSSY,
        Self::ROUGH,
        Self::SPLIT,
        Self::EXILE,
        Self::GAPS,
        Self::FROZEN,
        Self::PANICS,
        Self::POISONED,
        Self::STARVED,
    ];

    /// The set of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|faults| faults.name == name)
    }
}
