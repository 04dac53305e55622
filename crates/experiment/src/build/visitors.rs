//! Clients that walk through a region in which others build: how fresh they are to each other.

use super::recorded::RecordedWindow;
use super::stage::BuildStage;
use crate::bots::Bots;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::freshness::{self, ObserverFile, ObserverKind};
use crate::server::Server;
use std::path::PathBuf;
use std::time::Duration;

/// Part of the clients that observe, which costs them more than the server.
const OBSERVERS_DIVISOR: u32 = 5;

/// Walking clients.
pub(super) struct Visitors {
    bots: Bots,
    views: PathBuf,
}

impl Visitors {
    /// Lets them in, and waits until they have most of their surroundings.
    pub(super) fn enter(stage: &BuildStage<'_>, server: &Server) -> Result<Self, ExperimentError> {
        let count = stage.size.idle_clients;
        let views = stage.run.out.join("visitors.views");
        let (path, observers) = (views.display().to_string(), count.div_ceil(OBSERVERS_DIVISOR).to_string());
        let options = ["--behavior", "walk", "--observers", &observers, "--views", &path];
        let mut bots = Bots::start(stage.run, server, "visitors", count, &options)?;
        bots.command(&format!("enter {count}"))?;
        stage.settle_scenes(server, count)?;
        Ok(Self { bots, views })
    }

    /// Lets them out; their views for [`VisitorViews::compare`].
    pub(super) fn leave(self, stage: &BuildStage<'_>) -> Result<VisitorViews, ExperimentError> {
        stage.dismiss(self.bots)?;
        Ok(VisitorViews(self.views))
    }
}

/// Views of the observers among them.
pub(super) struct VisitorViews(PathBuf);

impl VisitorViews {
    /// Compares them with a recording, and adds the figures. It takes a core for a while: not while a server is measured.
    pub(super) fn compare(
        self,
        recorded: RecordedWindow,
        findings: &mut Findings,
    ) -> Result<(), ExperimentError> {
        let sources = [ObserverFile { views: &self.0, kind: ObserverKind::Clear }];
        let (world, window_ns) = (&recorded.world, recorded.window_ns.clone());
        match freshness::measure(world, &sources, window_ns, Duration::ZERO, None) {
            Ok(fresh) => {
                let error_mm = fresh.near_error_mm.percentile(0.95);
                findings.figure("building_near20_error_m_p95", error_mm / 1e3);
                findings.figure("building_near20_age_ms_p99", fresh.near_age_ms.percentile(0.99));
            }
            // The other figures are worth reporting without these.
            Err(ExperimentError::Freshness { reason }) => {
                findings.failures.push(format!("visitors: {reason}"))
            }
            Err(error) => return Err(error),
        }
        recorded.remove_with(&self.0);
        Ok(())
    }
}
