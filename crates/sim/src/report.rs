//! Result of a run: figures and hashes, or a failed check.

use crate::checks::Failure;
use crate::scenario::Scenario;
use crate::trace::Trace;
use std::fmt;
use std::time::Duration;

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Hashes of all that happened.
    pub trace: Trace,
    /// Virtual time that it took.
    pub took: Duration,
    /// Logins that were let in.
    pub logins: u64,
    /// Teleports between the regions that began, and those of them that failed.
    pub teleports: (u64, u64),
    /// Chat lines heard, counted by hearer.
    pub chats_heard: u64,
    /// The longest time for which one of a client's nearest 60 was shown moving after its stop; fades of the path do not count.
    pub latest_stop: Duration,
    /// Datagrams handed to the network, and those of them that it lost.
    pub datagrams: (u64, u64),
    /// Snapshots that replicas asked for.
    pub resyncs: u64,
    /// Circuits that the server gave up.
    pub circuits_lost: u64,
    /// Datagrams that found the receive queue of a shard full.
    pub queue_drops: u64,
    /// Share of their rate of updates that avatars kept during a shortage of CPU time, by groups of 20 from the nearest on.
    pub rates_kept: Vec<f64>,
    /// Worlds restored from their snapshots.
    pub restores: u32,
    /// Moves of worlds between hosts.
    pub moves: u32,
    /// Reloads of NPCs' behaviours.
    pub reloads: u32,
    /// The recording requested by [`crate::Scenario::record`].
    pub recording: Option<Vec<u8>>,
    /// Worlds that panicked and began again.
    pub restarts: u32,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, took, logins, teleports, chats_heard, datagrams, .. } = self;
        let Self {
            latest_stop,
            resyncs,
            circuits_lost,
            queue_drops,
            rates_kept,
            restores,
            moves,
            reloads,
            restarts,
            ..
        } = self;
        writeln!(f, "{trace}, {:.1} s of virtual time", took.as_secs_f64())?;
        writeln!(
            f,
            "{logins} logins, {} teleports ({} failed), {chats_heard} lines of chat heard",
            teleports.0, teleports.1
        )?;
        writeln!(f, "{} datagrams ({} lost), {circuits_lost} circuits lost", datagrams.0, datagrams.1)?;
        if !rates_kept.is_empty() {
            writeln!(
                f,
                "short of CPU time: {rates_kept:.2?} of the rates by distance, {queue_drops} datagrams dropped"
            )?;
        }
        writeln!(f, "stops were shown within {:.2} s", latest_stop.as_secs_f64())?;
        write!(
            f,
            "{resyncs} replicas resynchronised, {restores} worlds restored, {moves} moved, {restarts} restarted, \
             {reloads} reloads of behaviours"
        )
    }
}

/// A run that failed.
#[derive(Debug)]
pub struct Failed {
    /// The failed check.
    pub failure: Failure,
    /// The scenario.
    pub scenario: Scenario,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nrepeat it with: {}", self.failure, self.scenario)
    }
}

impl std::error::Error for Failed {}
