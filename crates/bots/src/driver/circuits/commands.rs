//! A run by command: each command is carried out between two turns, and answered.

use super::{Buffers, Circuits};
use crate::agent::Agent;
use crate::driver::BotsError;
use crate::driver::carrying::{CarryNotes, CarrySums, CarryTally};
use crate::driver::control::{
    BotCapabilities, CommandAnswer, CommandFindings, ControlCommand, EditSums, Probes,
};
use crate::driver::control_echo::ControlEcho;
use crate::driver::edits::EditNotes;
use crate::driver::session::HttpThread;
use crate::report::RunReport;
use std::io::Write;
use std::time::Duration;

/// Time for seeds to answer.
const GRANTS_MAX: Duration = Duration::from_secs(10);

impl Circuits {
    /// Run by command, until `leave`.
    pub(in crate::driver) fn run_controlled(
        mut self,
        http: HttpThread,
        output: &mut dyn Write,
    ) -> Result<RunReport, BotsError> {
        let mut buffers = Buffers::new();
        let mut begin = self.begin_window();
        loop {
            let Some((text, command)) = self.commands.pop_front() else {
                self.run_turn(&mut buffers)?;
                continue;
            };
            let n_observers = self.config.observers;
            let mut found = CommandFindings::default();
            let answer = match command {
                Ok(ControlCommand::Leave) => break,
                Ok(ControlCommand::Enter(count)) if count > self.config.count => Err("more than --count"),
                Ok(ControlCommand::Enter(count)) => {
                    http.want(count);
                    while self.findings.logins_resolved() < count {
                        assert!(!http.is_finished(), "the HTTP thread ended before the logins did");
                        self.run_turn(&mut buffers)?;
                    }
                    begin = self.begin_window();
                    Ok(())
                }
                Ok(ControlCommand::Mark) => {
                    begin = self.begin_window();
                    Ok(())
                }
                Ok(ControlCommand::Behave(behavior)) => {
                    self.note_all()?;
                    self.config.agent.behavior = behavior;
                    http.behave(behavior);
                    if CarryNotes::introduces(behavior) {
                        (0..self.config.count).for_each(|bot| self.introduce(bot));
                    }
                    let watches = EditNotes::watches_prims(&self.config);
                    for (bot, agent) in self.agents() {
                        agent.behave(EditNotes::behavior_of(bot < n_observers, behavior));
                        if watches && bot < n_observers {
                            agent.watch_prims();
                        }
                    }
                    Ok(())
                }
                Ok(ControlCommand::Steady(steadiness)) => {
                    self.config.agent.steadiness = steadiness;
                    self.agents().for_each(|(_, agent)| agent.steady(steadiness));
                    Ok(())
                }
                Ok(ControlCommand::Rate(rate_hz)) => {
                    self.config.agent.rate_hz = rate_hz;
                    self.agents().for_each(|(_, agent)| agent.set_rate_hz(rate_hz));
                    Ok(())
                }
                Ok(ControlCommand::Gap) => {
                    let now = self.clock.now();
                    let gaps = self.agents().filter_map(|(_, agent)| agent.take_gap(now));
                    found.gap_s = gaps.max().map(|gap| gap.as_secs_f64());
                    found.gap_s.map(drop).ok_or("there are no observers (--observers)")
                }
                Ok(ControlCommand::Pings) => {
                    found.pings = Some(self.findings.take_pings());
                    Ok(())
                }
                Ok(ControlCommand::Probes) => {
                    found.probes = Some(Box::new(self.probes()));
                    Ok(())
                }
                Ok(ControlCommand::Edits) => {
                    self.note_all()?;
                    self.edits.flush()?;
                    found.edits = Some(Box::new(EditSums::of(&self.sum_edits())));
                    Ok(())
                }
                Ok(ControlCommand::Prims) => {
                    found.prims = self.prims_min();
                    found.prims.map(drop).ok_or("there are no observers (--observers)")
                }
                Ok(ControlCommand::Carry) => {
                    self.note_all()?;
                    self.carry.flush()?;
                    found.carry = Some(Box::new(self.sum_requests()));
                    Ok(())
                }
                Ok(ControlCommand::Audit) if self.config.audit.is_none() => {
                    Err("there is no record (--audit)")
                }
                Ok(ControlCommand::Audit) => {
                    self.note_all()?;
                    match self.audit(&mut buffers)? {
                        Ok(findings) => found.audit = Some(Box::new(findings)),
                        Err(why) => found.trouble = Some(why),
                    }
                    Ok(())
                }
                Ok(ControlCommand::Capabilities) => {
                    found.capabilities = Some(self.capabilities(&mut buffers)?);
                    Ok(())
                }
                Err(reason) => Err(reason),
            };
            let (logins_ok, logins_failed) = self.findings.logins();
            let answer = match answer {
                Ok(()) => CommandAnswer::Done { done: &text, logins_ok, logins_failed, found },
                Err(reason) => CommandAnswer::Refused { refused: &text, reason },
            };
            if answer.write(output).is_err() {
                // The source of commands has ended.
                break;
            }
        }
        let end = self.read_meters();
        self.finish(http, &mut buffers, &begin, &end)
    }

    /// Requests of all carrying bots.
    fn sum_requests(&mut self) -> CarrySums {
        let mut recent = Vec::new();
        for (_, agent) in self.agents() {
            recent.extend(
                agent.carrier_mut().map(|carrier| carrier.take_recent_transfers()).unwrap_or_default(),
            );
        }
        let mut tally = CarryTally::default();
        self.bots.iter().flatten().for_each(|bot| tally.add(&bot.agent));
        CarrySums::of(&tally, self.carry.ledger().n_pending(), recent.into_iter())
    }

    /// Addresses of all bots' capabilities, once their seeds have answered.
    fn capabilities(&mut self, buffers: &mut Buffers) -> Result<Vec<BotCapabilities>, BotsError> {
        let ends_at = self.clock.now() + GRANTS_MAX;
        loop {
            let grants = self.grants.clone();
            let of = |(bot, agent): (u32, &mut Agent)| {
                let addresses = grants.addresses(bot)?;
                Some(BotCapabilities {
                    bot,
                    agent: agent.identity().agent.0,
                    root: agent.inventory_root(),
                    addresses,
                })
            };
            let n_bots = self.bots.iter().flatten().count();
            let known: Vec<BotCapabilities> = self.agents().filter_map(of).collect();
            if known.len() == n_bots || self.clock.now() >= ends_at {
                return Ok(known);
            }
            self.run_turn(buffers)?;
        }
    }

    fn probes(&mut self) -> Probes {
        let mut probes = Probes {
            pings: self.findings.take_pings(),
            echoes: self.findings.take_echoes(),
            control: self.control_echo.as_mut().map(ControlEcho::summary).unwrap_or_default(),
            ..Probes::default()
        };
        for bot in self.bots.iter().flatten() {
            let stats = bot.agent.stats();
            probes.reordered += stats.reordered;
            probes.words_lost += stats.words_lost;
            probes.pings_unanswered += stats.pings_unanswered;
        }
        probes
    }

    /// The fewest prims that any observer displays.
    fn prims_min(&self) -> Option<usize> {
        let observers = self.bots.iter().take(self.config.observers as usize).flatten();
        observers.filter_map(|bot| bot.agent.observer()).map(|observer| observer.prims().len()).min()
    }
}
