//! Checks during a shortage of CPU time.

use super::Simulation;
use crate::checks::{CpuSupply, Failure, Rule};
use crate::shard_cpu::WINDOW;
use ids::Instant;
use std::time::Duration;

/// Ticks between two looks at rates: 0.8 s.
const LOOK_TICKS: u64 = 16;
/// Age of a shortage from which on rates are counted: shards have to notice it.
const SETTLING: Duration = Duration::from_secs(4);
/// Longest time from login to arrival: the hub's own deadline.
const ARRIVAL_MAX: Duration = crate::node::ARRIVAL_TIMEOUT;

impl Simulation {
    /// Follows rates before and during a shortage, and checks that no client is lost and all arrive.
    pub(super) fn check_shortage(&mut self, now: Instant) -> Result<(), Failure> {
        let Some(shortage) = self.scenario.faults.scarce_cpu else { return Ok(()) };
        let begins_at = Instant::ZERO + shortage.at;
        let ends_at = begins_at + shortage.lasts;
        if self.tick.0.is_multiple_of(LOOK_TICKS) {
            if now < begins_at && now + WINDOW >= begins_at {
                self.look_at_rates(now, CpuSupply::Full);
            } else if now >= begins_at + SETTLING && now < ends_at {
                self.look_at_rates(now, CpuSupply::Scarce);
            } else {
                self.rates.pause();
            }
        }
        if now < begins_at || now >= ends_at {
            return Ok(());
        }
        let lost_by_server: u64 = self.node.counters().map(|counters| counters.circuits_lost).sum();
        if lost_by_server > 0 {
            let found = format!("the server gave up {lost_by_server} circuits");
            return Err(Failure::new(now, Rule::NoCircuitIsLost, found));
        }
        if let Some(client) = self.clients.iter().find(|client| client.n_lost > 0) {
            return Err(Failure::new(
                now,
                Rule::NoCircuitIsLost,
                format!("given up by {}", client.describe()),
            ));
        }
        let turned_away = self.clients.iter().find(|client| {
            let late = client.visits.iter().rev().take(2).find(|visit| {
                visit.arrived_at.is_none() && visit.ended_at.unwrap_or(now) > visit.began_at + ARRIVAL_MAX
            });
            late.is_some_and(|visit| visit.began_at >= begins_at)
        });
        match turned_away {
            Some(client) => Err(Failure::new(now, Rule::ArrivalsGetIn, client.describe())),
            None => Ok(()),
        }
    }

    /// Checks the effect of a shortage on the rates, once it is over.
    pub(super) fn check_rates(&self, now: Instant) -> Result<(), Failure> {
        if self.scenario.faults.scarce_cpu.is_none() {
            return Ok(());
        }
        match self.rates.unevenness() {
            Some(found) => Err(Failure::new(now, Rule::RatesFallEvenly, found)),
            None => Ok(()),
        }
    }

    fn look_at_rates(&mut self, now: Instant, supply: CpuSupply) {
        let mut rates = std::mem::take(&mut self.rates);
        for client in &self.clients {
            let Some((bot, visit)) = client.present() else { continue };
            let Some(observer) = bot.observer() else { continue };
            rates.count_updates(now, supply, client.index, (client.agent, observer), self.census_of(visit));
        }
        self.rates = rates;
    }
}
