//! Findings of the circuits' thread, until they become a report.

use super::carrying::CarryTally;
use super::usage::{self, Usage};
use crate::agent::{AgentEvent, AgentStats, LossReason};
use crate::builder::{BuildCounters, Builder};
use crate::distribution::Distribution;
use crate::edit_watch::{EditWatch, WatchCounters};
use crate::report::RunReport;
use crate::summary::{Summary, Times};
use circuit::Tally;
use ids::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Distinct reasons of failures; further ones are merged. They hold text of the server.
const FAILURES_MAX: usize = 100;

/// Stage of a bot's life, as far as the report counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BotStage {
    /// On the way in, since this moment.
    Entering(Instant),
    /// In.
    Staying,
    /// Logging out.
    Leaving,
    /// Its session is over.
    Over,
}

/// Counts, times and reasons of a run.
#[derive(Debug, Default)]
pub(super) struct RunTally {
    logins_ok: u32,
    logins_failed: u32,
    circuits_lost: u32,
    logouts_ok: u32,
    http_errors: u64,
    login_first_at: Option<Instant>,
    logins: Distribution,
    pings: Distribution,
    /// Since they were asked for last.
    recent_pings: Times,
    /// Round trips of bots' own words since the last report.
    recent_echoes: Times,
    failures: BTreeMap<String, u32>,
}

impl RunTally {
    /// Bots with a successful or failed login.
    pub(super) const fn logins_resolved(&self) -> u32 {
        self.logins_ok + self.logins_failed
    }

    /// Logins that succeeded and that failed.
    pub(super) const fn logins(&self) -> (u32, u32) {
        (self.logins_ok, self.logins_failed)
    }

    /// The words since this was called last.
    pub(super) fn take_echoes(&mut self) -> Summary {
        std::mem::take(&mut self.recent_echoes).summary()
    }

    /// The pings since this was called last.
    pub(super) fn take_pings(&mut self) -> Summary {
        std::mem::take(&mut self.recent_pings).summary()
    }

    /// Handles a bot's event.
    pub(super) fn on_event(&mut self, now: Instant, life: &mut BotStage, event: AgentEvent) {
        match event {
            AgentEvent::Arrived(_) => {
                if let BotStage::Entering(began_at) = *life {
                    self.logins_ok += 1;
                    self.logins.record(now - began_at);
                    self.login_first_at.get_or_insert(now);
                    *life = BotStage::Staying;
                }
            }
            AgentEvent::Ping(round_trip) => {
                self.pings.record(round_trip);
                self.recent_pings.record(round_trip);
            }
            AgentEvent::Echo(after) => self.recent_echoes.record(after),
            AgentEvent::TeleportFailed(reason) => self.fail(format!("teleport: {reason}")),
            AgentEvent::LoggedOut { answered } => {
                self.logouts_ok += u32::from(answered);
                *life = BotStage::Over;
            }
            AgentEvent::Lost(reason) => {
                self.on_lost(*life, reason);
                *life = BotStage::Over;
            }
        }
    }

    fn on_lost(&mut self, life: BotStage, reason: LossReason) {
        match life {
            BotStage::Entering(_) => self.on_login_failed(format!("circuit {}", reason.as_str())),
            BotStage::Staying => {
                self.circuits_lost += 1;
                self.fail(format!("circuit: {}", reason.as_str()));
            }
            // The session ends either way.
            BotStage::Leaving | BotStage::Over => {}
        }
    }

    /// A bot got no session, or no avatar.
    pub(super) fn on_login_failed(&mut self, reason: String) {
        self.logins_failed += 1;
        self.fail(format!("login: {reason}"));
    }

    /// A request to a capability failed.
    pub(super) fn on_trouble(&mut self, reason: String) {
        self.http_errors += 1;
        self.fail(reason);
    }

    fn fail(&mut self, reason: String) {
        let is_new = !self.failures.contains_key(&reason);
        let reason = if is_new && self.failures.len() >= FAILURES_MAX { "other".to_owned() } else { reason };
        *self.failures.entry(reason).or_default() += 1;
    }
}

/// The meters at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeterReading {
    at: Instant,
    own_cpu: Duration,
    server: Option<Usage>,
    traffic: Tally,
}

impl MeterReading {
    /// A server that has ended reads as none.
    pub(super) fn sample(now: Instant, server_pid: Option<u32>, traffic: &Tally) -> Self {
        Self {
            at: now,
            own_cpu: usage::own_cpu(),
            server: server_pid.and_then(|pid| usage::of_process(pid).ok()),
            traffic: *traffic,
        }
    }
}

/// Figures available at the end of the window only, while the bots are still in.
#[derive(Clone, Debug, Default)]
pub(super) struct Harvest {
    pub(super) messages: BTreeMap<String, Tally>,
    pub(super) avatars_seen_min: Option<usize>,
    pub(super) updates_received: u64,
    pub(super) stats: AgentStats,
    pub(super) datagrams_lost_locally: u64,
    pub(super) second_bytes_p99: Option<f64>,
    pub(super) edits: EditTally,
    pub(super) carry: CarryTally,
}

impl Harvest {
    /// Adds the counters of one bot.
    pub(super) const fn add(&mut self, stats: &AgentStats) {
        self.stats.pings_unanswered += stats.pings_unanswered;
        self.stats.pings_forgiven += stats.pings_forgiven;
        self.stats.updates_sent += stats.updates_sent;
        self.stats.dropped += stats.dropped;
        self.stats.overflowed += stats.overflowed;
    }
}

/// Edits of all bots that build.
#[derive(Clone, Debug, Default)]
pub(super) struct EditTally {
    pub(super) builds: BuildCounters,
    /// On their own screens.
    pub(super) seen_after: Distribution,
    pub(super) watched: WatchCounters,
    /// On screens of observers.
    pub(super) watched_after: Distribution,
}

impl EditTally {
    /// Edits on screens of observers.
    pub(super) fn of(watch: &EditWatch) -> Self {
        Self { watched: *watch.counters(), watched_after: watch.seen_after().clone(), ..Self::default() }
    }

    /// Adds the findings of a bot.
    pub(super) fn add(&mut self, builder: &Builder) {
        let (sum, one) = (&mut self.builds, builder.counters());
        sum.objects_made += one.objects_made;
        sum.objects_failed += one.objects_failed;
        sum.edits_sent += one.edits_sent;
        sum.edits_seen += one.edits_seen;
        sum.edits_wrong += one.edits_wrong;
        self.seen_after.add(builder.seen_after());
    }
}

/// Puts everything together.
pub(super) fn report(
    mut findings: RunTally,
    harvest: Harvest,
    begin: &MeterReading,
    end: &MeterReading,
) -> RunReport {
    let seconds = |time: Duration| time.as_secs_f64();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let CarryTally { acknowledged, transfer_times, findings: audit, audit_trouble, .. } = harvest.carry;
    let audit_failed = audit_trouble.is_some();
    if let Some(why) = audit_trouble {
        findings.fail(format!("audit: {why}"));
    }
    let server_cpu = end.server.zip(begin.server).map(|(end, begin)| end.cpu.saturating_sub(begin.cpu));
    RunReport {
        logins_ok: findings.logins_ok,
        logins_failed: findings.logins_failed,
        circuits_lost: findings.circuits_lost,
        pings_unanswered: harvest.stats.pings_unanswered,
        avatars_seen_min: harvest.avatars_seen_min,
        updates_received: harvest.updates_received,
        ping_ms_p50: findings.pings.percentile(0.50).map(milliseconds),
        ping_ms_p99: findings.pings.percentile(0.99).map(milliseconds),
        login_first_s: findings.login_first_at.map(|at| seconds(at - Instant::ZERO)),
        bots_cpu_s: seconds(end.own_cpu.saturating_sub(begin.own_cpu)),
        server_cpu_s: server_cpu.map(seconds),
        server_rss_bytes: end.server.map(|usage| usage.rss_bytes),
        messages: harvest.messages,
        window_s: seconds(end.at - begin.at),
        window: end.traffic.since(&begin.traffic),
        login_s_p50: findings.logins.percentile(0.50).map(seconds),
        login_s_p99: findings.logins.percentile(0.99).map(seconds),
        logins_took_s: seconds(begin.at - Instant::ZERO),
        pings_answered: findings.pings.count(),
        pings_dropped: harvest.stats.pings_forgiven,
        agent_updates_sent: harvest.stats.updates_sent,
        datagrams_dropped: harvest.stats.dropped,
        datagrams_lost_locally: harvest.datagrams_lost_locally,
        datagrams_overflowed: harvest.stats.overflowed,
        logouts_ok: findings.logouts_ok,
        http_errors: findings.http_errors,
        second_bytes_p99: harvest.second_bytes_p99,
        objects_made: harvest.edits.builds.objects_made,
        objects_failed: harvest.edits.builds.objects_failed,
        edits_sent: harvest.edits.builds.edits_sent,
        edits_seen: harvest.edits.builds.edits_seen,
        edits_wrong: harvest.edits.builds.edits_wrong,
        edit_seen_ms_p50: harvest.edits.seen_after.percentile(0.50).map(milliseconds),
        edit_seen_ms_p99: harvest.edits.seen_after.percentile(0.99).map(milliseconds),
        objects_observed: harvest.edits.watched.made,
        edits_observed: harvest.edits.watched.seen,
        edits_unobserved: harvest.edits.watched.unseen,
        edit_observed_ms_p50: harvest.edits.watched_after.percentile(0.50).map(milliseconds),
        edit_observed_ms_p99: harvest.edits.watched_after.percentile(0.99).map(milliseconds),
        acknowledged,
        audited: audit.audited,
        lost: audit.lost,
        doubled: audit.doubled,
        vanished: audit.vanished,
        transfer_ms_p50: transfer_times.percentile(0.50).map(milliseconds),
        transfer_ms_p99: transfer_times.percentile(0.99).map(milliseconds),
        audit_failed,
        audit_findings: audit.texts,
        failures: findings.failures,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::RegionHandle;

    const HERE: RegionHandle = RegionHandle(1);

    #[test]
    fn a_life_is_counted_once_however_it_ends() {
        let mut findings = RunTally::default();
        let mut life = BotStage::Entering(Instant::from_millis(500));
        findings.on_event(Instant::from_millis(1500), &mut life, AgentEvent::Arrived(HERE));
        findings.on_event(Instant::from_millis(9000), &mut life, AgentEvent::Arrived(HERE));
        assert_eq!((findings.logins_ok, life), (1, BotStage::Staying));
        findings.on_event(Instant::from_millis(9500), &mut life, AgentEvent::Lost(LossReason::Kicked));
        assert_eq!((findings.circuits_lost, life), (1, BotStage::Over));

        let mut life = BotStage::Entering(Instant::ZERO);
        findings.on_event(Instant::ZERO, &mut life, AgentEvent::Lost(LossReason::NeverArrived));
        assert_eq!((findings.logins_failed, findings.circuits_lost), (1, 1));
        assert_eq!(findings.logins_resolved(), 2);

        let mut life = BotStage::Leaving;
        findings.on_event(Instant::ZERO, &mut life, AgentEvent::Lost(LossReason::ServerClosed));
        assert_eq!((findings.circuits_lost, life), (1, BotStage::Over));
        assert_eq!(findings.login_first_at, Some(Instant::from_millis(1500)));
    }

    #[test]
    fn reasons_are_distinguished_up_to_a_bound() {
        let mut findings = RunTally::default();
        for number in 0..2 * FAILURES_MAX {
            findings.on_login_failed(number.to_string());
        }
        assert_eq!(findings.failures.len(), FAILURES_MAX + 1);
        assert_eq!(findings.failures["other"] as usize, FAILURES_MAX);
        assert_eq!(findings.logins_failed as usize, 2 * FAILURES_MAX);
    }
}
