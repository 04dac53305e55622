//! Record of carrying bots: their requests and answers, into a ledger and into a file.

use super::BotsConfig;
use crate::agent::Agent;
use crate::behavior::Behavior;
use crate::carry::{AuditFindings, CARRY_FILE, CarryCounters, CarryEvent, CarryLedger, CarryRecord};
use crate::distribution::Distribution;
use crate::record_file::{RecordFileError, RecordWriter, monotonic_ns};
use crate::summary::{Summary, Times};
use ids::Instant;
use serde::Serialize;
use std::time::Duration;

/// Time between two writes of buffered records.
const FLUSH_PERIOD: Duration = Duration::from_secs(1);

/// Record of a run.
pub(super) struct CarryNotes {
    ledger: CarryLedger,
    file: Option<RecordWriter<CarryRecord>>,
    /// The machine's monotonic clock at 0 of the bots' clock.
    zero_ns: u64,
    flush_at: Instant,
    /// The last audit, or the reason for which it was not made.
    audit: Option<Result<AuditFindings, String>>,
}

impl CarryNotes {
    /// Continues the record of the configuration's file.
    pub(super) fn new(config: &BotsConfig, now: Instant) -> Result<Self, RecordFileError> {
        let zero_ns = monotonic_ns().saturating_sub(now.0);
        let (mut file, mut ledger) = (None, CarryLedger::default());
        if let Some(path) = &config.audit {
            let (mut writer, records) = RecordWriter::append(path, CARRY_FILE, now)?;
            ledger = CarryLedger::of(&records);
            let event = CarryEvent::Began { last_name: config.last_name.clone(), bots: config.count };
            writer.write(&CarryRecord { at_ns: zero_ns + now.0, bot: 0, event })?;
            writer.flush()?;
            file = Some(writer);
        }
        Ok(Self { ledger, file, zero_ns, flush_at: now + FLUSH_PERIOD, audit: None })
    }

    /// True if bots have to keep the scene for an audit.
    pub(super) const fn keeps_scene(config: &BotsConfig) -> bool {
        config.audit.is_some()
    }

    /// True if bots have to know each other.
    pub(super) const fn introduces(behavior: Behavior) -> bool {
        behavior.carry_plan().is_some()
    }

    pub(super) const fn ledger(&self) -> &CarryLedger {
        &self.ledger
    }

    pub(super) const fn audit(&self) -> Option<&Result<AuditFindings, String>> {
        self.audit.as_ref()
    }

    pub(super) fn set_audit(&mut self, audit: Result<AuditFindings, String>) {
        self.audit = Some(audit);
    }

    /// Takes in the events of a bot since the last call.
    pub(super) fn note(&mut self, now: Instant, bot: u32, agent: &mut Agent) -> Result<(), RecordFileError> {
        for event in agent.take_carry_events() {
            self.add(now, bot, event)?;
        }
        if now >= self.flush_at {
            self.flush_at = now + FLUSH_PERIOD;
            self.flush()?;
        }
        Ok(())
    }

    /// Adds an event.
    pub(super) fn add(&mut self, now: Instant, bot: u32, event: CarryEvent) -> Result<(), RecordFileError> {
        self.ledger.add(bot, &event);
        match &mut self.file {
            Some(file) => file.write(&CarryRecord { at_ns: self.zero_ns + now.0, bot, event }),
            None => Ok(()),
        }
    }

    /// Writes buffered records.
    pub(super) fn flush(&mut self) -> Result<(), RecordFileError> {
        self.file.as_mut().map_or(Ok(()), RecordWriter::flush)
    }
}

/// Requests of all carrying bots of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct CarryTally {
    pub(super) counters: CarryCounters,
    /// From the request of a transfer to its answer.
    pub(super) transfer_times: Distribution,
    /// Answers of the whole record.
    pub(super) acknowledged: u64,
    pub(super) findings: AuditFindings,
    /// Reason for which an audit was not made.
    pub(super) audit_trouble: Option<String>,
}

impl CarryTally {
    /// Of a record; bots are added.
    pub(super) fn of(notes: &CarryNotes) -> Self {
        let acknowledged = notes.ledger.counters().acknowledged;
        let (findings, audit_trouble) = match notes.audit() {
            Some(Ok(findings)) => (findings.clone(), None),
            Some(Err(why)) => (AuditFindings::default(), Some(why.clone())),
            None => (AuditFindings::default(), None),
        };
        Self { acknowledged, findings, audit_trouble, ..Self::default() }
    }

    /// Adds a bot.
    pub(super) fn add(&mut self, agent: &Agent) {
        let Some(carrier) = agent.carrier() else { return };
        let (sum, one) = (&mut self.counters, carrier.counters());
        sum.asked += one.asked;
        sum.acknowledged += one.acknowledged;
        sum.refused += one.refused;
        sum.unanswered += one.unanswered;
        sum.transfers += one.transfers;
        self.transfer_times.add(carrier.transfer_times());
    }
}

/// Requests of carrying bots for the command `carry`: of this process, but for the pending ones of the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct CarrySums {
    pub(super) asked: u64,
    pub(super) acknowledged: u64,
    pub(super) refused: u64,
    pub(super) unanswered: u64,
    pub(super) pending: u64,
    pub(super) transfers: u64,
    /// Of transfers since the command before.
    pub(super) times: Summary,
}

impl CarrySums {
    pub(super) fn of(tally: &CarryTally, pending: usize, recent: impl Iterator<Item = Duration>) -> Self {
        let mut times = Times::default();
        recent.for_each(|time| times.record(time));
        let CarryCounters { asked, acknowledged, refused, unanswered, transfers } = tally.counters;
        let (pending, times) = (pending as u64, times.summary());
        Self { asked, acknowledged, refused, unanswered, pending, transfers, times }
    }
}
