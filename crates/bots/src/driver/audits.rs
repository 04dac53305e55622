//! Audit of a run: all bots read what they have, and the record is compared with it.

use super::BotsError;
use super::circuits::{Buffers, Circuits};
use crate::carry::{ANSWER_MAX, AuditFindings, Belongings, CargoTag, CarryCensus};
use ids::{Instant, Uuid};
use std::collections::BTreeSet;
use std::time::Duration;

/// Deadline of requests under way, beyond that of the bots.
const ANSWERS_MAX: Duration = ANSWER_MAX.saturating_add(Duration::from_secs(2));
/// Deadline of a reading.
const READING_MAX: Duration = Duration::from_secs(120);
/// Readings until a difference counts: a scene takes its time, and so do notices of gifts.
const READINGS_MAX: usize = 5;
const READING_PAUSE: Duration = Duration::from_secs(3);

/// Everything that the bots have, by their numbers.
type AllBelongings = Vec<(u32, Belongings)>;

impl Circuits {
    /// Lets the bots come to rest, reads what they have, and compares the record with it. The findings are kept for the report; requests without an answer are
    /// settled, and the bots continue with what they have. An `Err` within says why no comparison was possible.
    pub(super) fn audit(
        &mut self,
        buffers: &mut Buffers,
    ) -> Result<Result<AuditFindings, String>, BotsError> {
        self.set_resting(true);
        self.run_until(buffers, ANSWERS_MAX, |circuits, _| circuits.are_idle())?;
        let mut n_readings = 0;
        let outcome = loop {
            n_readings += 1;
            let all = match self.read_belongings(buffers)? {
                Ok(all) => all,
                Err(why) => break Err(why),
            };
            let census = CarryCensus::of(all.iter().map(|(bot, belongings)| (*bot, belongings)));
            let findings = self.carry.ledger().audit(&census);
            if findings.is_clean() || n_readings >= READINGS_MAX {
                self.settle(all, &census)?;
                break Ok(findings);
            }
            self.run_until(buffers, READING_PAUSE, |_, _| false)?;
        };
        self.carry.set_audit(outcome.clone());
        self.carry.flush()?;
        self.set_resting(false);
        Ok(outcome)
    }

    /// Ends requests without an answer in the record, and has the bots continue with what they have.
    fn settle(&mut self, all: AllBelongings, census: &CarryCensus) -> Result<(), BotsError> {
        let now = self.now();
        for event in self.carry.ledger().settlement(census) {
            self.carry.add(now, 0, event)?;
        }
        let uniques: BTreeSet<CargoTag> =
            census.finds.keys().filter(|key| key.is_unique).map(|key| key.tag).collect();
        for (bot, belongings) in all {
            if let Some(agent) = self.agent_mut(bot) {
                agent.take_up_belongings(belongings, uniques.clone());
            }
        }
        Ok(())
    }

    fn set_resting(&mut self, is_resting: bool) {
        for (_, agent) in self.agents() {
            if let Some(carrier) = agent.carrier_mut() {
                carrier.set_resting(is_resting);
            }
        }
    }

    /// True if no bot has a request under way. One whose circuit is lost gets no answer any more.
    fn are_idle(&mut self) -> bool {
        self.agents()
            .all(|(_, agent)| agent.is_gone() || agent.carrier().is_none_or(crate::carry::Carrier::is_idle))
    }

    /// Has all bots read what they have.
    fn read_belongings(&mut self, buffers: &mut Buffers) -> Result<Result<AllBelongings, String>, BotsError> {
        let n_bots = self.n_bots();
        let present: Vec<u32> =
            self.agents().filter(|(_, agent)| !agent.is_gone()).map(|(bot, _)| bot).collect();
        if present.len() < n_bots {
            return Ok(Err(format!("{} of {n_bots} bots are logged in", present.len())));
        }
        let assets: Vec<(Uuid, i8)> = self.carry.ledger().new_assets().collect();
        let now = self.now();
        for &bot in &present {
            let share = assets.iter().skip(bot as usize).step_by(n_bots.max(1)).copied();
            if let Some(agent) = self.agent_mut(bot) {
                agent.begin_inspection(now, share);
            }
            self.advance_bot(now, bot);
        }
        let is_read = |circuits: &mut Self, now: Instant| {
            circuits.agents().all(|(_, agent)| agent.is_gone() || agent.is_inspected(now))
        };
        let in_time = self.run_until(buffers, READING_MAX, is_read)?;
        let mut all = Vec::with_capacity(present.len());
        for bot in present {
            let read = self.agent_mut(bot).filter(|agent| !agent.is_gone());
            let Some(belongings) = read.and_then(|agent| agent.take_inspection()) else {
                return Ok(Err(format!("bot {bot} has lost its circuit")));
            };
            if let Some(trouble) = belongings.troubles.first() {
                return Ok(Err(format!("bot {bot} cannot read all that it has: {trouble}")));
            }
            all.push((bot, belongings));
        }
        let late = || format!("the bots were still reading after {} s", READING_MAX.as_secs());
        Ok(if in_time { Ok(all) } else { Err(late()) })
    }

    /// Runs turns until a condition holds. False if that takes too long.
    fn run_until(
        &mut self,
        buffers: &mut Buffers,
        longest: Duration,
        mut is_over: impl FnMut(&mut Self, Instant) -> bool,
    ) -> Result<bool, BotsError> {
        let ends_at = self.now() + longest;
        loop {
            let now = self.now();
            if is_over(self, now) {
                return Ok(true);
            }
            if now >= ends_at {
                return Ok(false);
            }
            self.run_turn(buffers)?;
        }
    }
}
