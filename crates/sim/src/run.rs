//! Runs of a scenario, each to its report or to the first check that failed.

use crate::report::{Failed, Report};
use crate::scenario::Scenario;
use crate::simulation::{Record, Simulation};
use ids::{Tick, WorldId};

impl Scenario {
    /// Runs it to its end.
    ///
    /// # Errors
    /// The first check that failed, with the command that repeats the run.
    pub fn run(&self) -> Result<Report, Box<Failed>> {
        self.end(Simulation::new(self.clone()))
    }

    /// Runs it to its end and records one of its two worlds from a tick on, up to its first panic. The recording, in the
    /// report, is a file of crate `recording`.
    ///
    /// # Errors
    /// As [`Scenario::run`].
    pub fn record(&self, world: WorldId, from: Tick) -> Result<Report, Box<Failed>> {
        self.end(Simulation::new(self.clone()).record(Record { world, from }))
    }

    fn end(&self, simulation: Simulation) -> Result<Report, Box<Failed>> {
        simulation.run().map_err(|failure| Box::new(Failed { failure, scenario: self.clone() }))
    }
}
