//! The phases of a run: the storm, and the healing that demands progress, each step before a deadline.

use super::Simulation;
use crate::checks::{Attendance, Census, Failure, Rule, unlike_the_world};
use crate::client::Mood;
use crate::faults::Faults;
use crate::node::VISIBLE_MAX;
use ids::Instant;
use std::time::Duration;

/// Maximum time of the healing phases. All clients are back after the longest timeout of a cut-off client or a lost teleport: the idle
/// timeout of 60 s, the lingering of the circuit, and a login.
const GATHER_MAX: Duration = Duration::from_secs(80);
/// One teleport and one word, on a calm network.
const PROVE_MAX: Duration = Duration::from_secs(20);
/// The longest fall, and a round over all avatars to be sent.
const REST_MAX: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Storm { until: Instant },
    Gather { deadline: Instant },
    Prove { deadline: Instant },
    Rest { deadline: Instant },
    Over,
}

impl Simulation {
    pub(super) fn change_phase(&mut self, now: Instant) -> Result<(), Failure> {
        let next = match self.phase {
            Phase::Storm { until } if now >= until => {
                self.check_rates(now)?;
                self.carrier.faults = Faults::NONE;
                self.set_mood(now, Mood::Gather);
                Phase::Gather { deadline: now + GATHER_MAX }
            }
            Phase::Gather { deadline } => match self.clients.iter().find(|client| !client.is_settled()) {
                // Chat to a world with missing visitors may be lost.
                None if self.node.is_recovering(now) => {
                    self.wait(now, deadline, Rule::EverybodyReturns, || "a world is down".to_owned())?
                }
                None => {
                    self.set_mood(now, Mood::Prove);
                    Phase::Prove { deadline: now + PROVE_MAX }
                }
                Some(client) => self.wait(now, deadline, Rule::EverybodyReturns, || client.describe())?,
            },
            Phase::Prove { deadline } => match self.clients.iter().find(|client| !client.has_proved()) {
                None => Phase::Rest { deadline: now + REST_MAX },
                Some(client) => self.wait(now, deadline, Rule::EverythingWorks, || client.describe())?,
            },
            Phase::Rest { deadline } => match self.unsettled(now) {
                Some(found) => self.wait(now, deadline, Rule::ViewsConverge, || found)?,
                None => match self.check_chat(now) {
                    Err(failure) if now >= deadline => return Err(failure),
                    Err(_) => self.phase,
                    Ok(()) => Phase::Over,
                },
            },
            phase => phase,
        };
        self.phase = next;
        Ok(())
    }

    /// Stays in the phase until its deadline.
    fn wait(
        &self,
        now: Instant,
        deadline: Instant,
        rule: Rule,
        found: impl FnOnce() -> String,
    ) -> Result<Phase, Failure> {
        if now < deadline { Ok(self.phase) } else { Err(Failure::new(now, rule, found())) }
    }

    /// A visitor that moves, or a client that shows something else than is there.
    fn unsettled(&self, now: Instant) -> Option<String> {
        if !self.censuses.iter().all(Census::is_at_rest) {
            return Some("an avatar still moves".to_owned());
        }
        self.clients.iter().find_map(|client| {
            let shown = client.present().and_then(|(bot, visit)| Some((bot.observer()?, visit)));
            let Some((observer, visit)) = shown else { return Some(client.describe()) };
            let difference =
                unlike_the_world(now, observer, self.census_of(visit), client.agent, VISIBLE_MAX)?;
            Some(format!("{} and shows: {difference}", client.describe()))
        })
    }

    /// True if all chat has been heard by now.
    fn check_chat(&self, now: Instant) -> Result<(), Failure> {
        let attendances = self.clients.iter().map(|client| Attendance {
            agent: client.agent,
            visits: &client.visits,
            pauses: [&client.cuts, &self.freezes],
        });
        let left_out = self.node.counters().map(|counters| counters.chat_dropped).sum();
        self.chat_audit.check(now, &attendances.collect::<Vec<_>>(), left_out)
    }

    fn set_mood(&mut self, now: Instant, mood: Mood) {
        for index in 0..self.scenario.clients {
            self.clients[index as usize].set_mood(now, mood);
            self.follow_up(now, index);
        }
    }
}
