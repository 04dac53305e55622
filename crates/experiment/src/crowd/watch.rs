//! A window with observers: their views, and a recording of the world.

use super::clients::{CrowdProcesses, arriving, views};
use super::{CrowdSize, WINDOW, WINDOW_QUICK};
use crate::bots::BotsReport;
use crate::child::Running;
use crate::error::ExperimentError;
use crate::freshness::{self, Freshness, ObserverFile, ObserverKind};
use crate::meter::Window;
use crate::server::Server;
use crate::{Run, clock};
use bots::record_file::monotonic_ns;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// Recording time of the world beyond the window: readings wait for the server's next export.
const RECORD_LONGER: Duration = Duration::from_secs(20);
const RECORD_LONGER_QUICK: Duration = Duration::from_secs(8);
/// Arrival time of an observer, during which its view is not judged.
const SETTLE: Duration = Duration::from_secs(10);

/// Measurements, and the files to compare once the server has stopped.
pub(super) struct CrowdMeasurements {
    pub(super) window: Window,
    /// Report of the bots that arrived during the window.
    pub(super) arrived: BotsReport,
    recording: Running,
    world: PathBuf,
    window_ns: Range<u64>,
    tag: String,
}

impl CrowdMeasurements {
    /// Watches a crowd for a window, in which some more log in.
    pub(super) fn open(
        run: &Run,
        server: &Server,
        crowd: &mut CrowdProcesses,
        size: &CrowdSize,
    ) -> Result<Self, ExperimentError> {
        let tag = crowd.tag().to_owned();
        let world = run.out.join(format!("world{tag}.recording"));
        match fs::remove_file(&world) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(ExperimentError::File { path: world, source: error });
            }
            _ => {}
        }
        run.references.sample();
        let window = run.pick(WINDOW, WINDOW_QUICK);
        let longer = run.pick(RECORD_LONGER, RECORD_LONGER_QUICK);
        let recording = server.record(run, (window + longer).as_secs(), &world)?;
        // Its first step may come a moment later.
        clock::wait(Duration::from_secs(1));
        let mut newcomers = arriving(run, server, size, &tag)?;
        crowd.command("mark")?;
        let begin_ns = monotonic_ns();
        newcomers.command(&format!("enter {}", size.arriving))?;
        if run.quick {
            // In seconds no walker may come to rest by itself, and stops are to be measured.
            crowd.command("behavior stand")?;
        }
        let window = Window::of(server, window)?;
        let end_ns = monotonic_ns();
        let arrived = newcomers.leave()?;
        Ok(Self { window, arrived, recording, world, window_ns: begin_ns..end_ns, tag })
    }

    /// Waits for the end of the recording.
    pub(super) fn close(&mut self) -> Result<(), ExperimentError> {
        let status = self.recording.wait()?;
        if status.success() { Ok(()) } else { Err(self.recording.error(format!("ended with {status}"))) }
    }

    /// Compares the views with the recorded world. It takes a core for a while: not while a server is measured.
    pub(super) fn compare(&self, run: &Run) -> Result<Freshness, ExperimentError> {
        let path = |name| views(run, name, &self.tag);
        let (clear, lossy, arriving) = (path("observers"), path("lossy"), path("arriving"));
        let sources = [
            ObserverFile { views: &clear, kind: ObserverKind::Clear },
            ObserverFile { views: &lossy, kind: ObserverKind::Lossy },
            ObserverFile { views: &arriving, kind: ObserverKind::Arriving },
        ];
        let settle = run.pick(SETTLE, Duration::ZERO);
        let fresh = freshness::measure(&self.world, &sources, self.window_ns.clone(), settle, None)?;
        for path in [&self.world, &clear, &lossy, &arriving] {
            // They are hundreds of megabytes, and everything that is wanted of them is in the report.
            let _ = fs::remove_file(path);
        }
        Ok(fresh)
    }
}
