//! The processes of bots that make a crowd.

use super::CrowdSize;
use crate::bots::{Bots, BotsReport};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use crate::{Run, clock};
use std::path::PathBuf;
use std::time::Duration;

/// Bits per second that a client without own limit requests.
const THROTTLE_BITS_PER_S: &str = "1536000";
/// Logins under way at once. A server that has thousands of walkers to serve beside them takes some ten logins a second on two cores, and
/// a bot waits 300 s for its answer: of 9,840 logins at once 3,352 were given up.
const LOGINS_AT_ONCE: u32 = 2_000;
/// Deadline for all clients to receive the objects around them.
const SCENERY_MAX: Duration = Duration::from_secs(120);

/// A crowd's processes: most bots only walk, some also observe.
pub(super) struct CrowdProcesses {
    fillers: Bots,
    observers: Bots,
    lossy: Bots,
    /// Suffix of the names of files and accounts.
    tag: String,
}

impl CrowdProcesses {
    /// Starts them; none is in yet. `tag` distinguishes the crowds of a run.
    pub(super) fn start(
        run: &Run,
        server: &Server,
        size: &CrowdSize,
        tag: &str,
    ) -> Result<Self, ExperimentError> {
        let start = |name: &str, count: u32, options: &[&str]| {
            let name = &format!("{name}{tag}");
            let mut all = vec!["--behavior", "walk", "--last-name", name, "--throttle", THROTTLE_BITS_PER_S];
            all.extend(options);
            Bots::start(run, server, name, count, &all)
        };
        let (clear, lossy) = (views(run, "observers", tag), views(run, "lossy", tag));
        let (clear, lossy) = (clear.display().to_string(), lossy.display().to_string());
        let (n_clear, n_lossy) = (size.observers.to_string(), size.lossy.to_string());
        Ok(Self {
            fillers: start("fillers", size.many - size.observers - size.lossy - size.arriving, &[])?,
            observers: start("observers", size.observers, &["--observers", &n_clear, "--views", &clear])?,
            lossy: start(
                "lossy",
                size.lossy,
                &["--observers", &n_lossy, "--views", &lossy, "--loss", "0.05"],
            )?,
            tag: tag.to_owned(),
        })
    }

    pub(super) fn tag(&self) -> &str {
        &self.tag
    }

    /// Observers first, then others up to `count`.
    pub(super) fn enter(&mut self, size: &CrowdSize, count: u32) -> Result<(), ExperimentError> {
        self.observers.command(&format!("enter {}", size.observers))?;
        self.lossy.command(&format!("enter {}", size.lossy))?;
        let fillers = count - size.observers - size.lossy;
        for inside in (LOGINS_AT_ONCE..fillers).step_by(LOGINS_AT_ONCE as usize).chain([fillers]) {
            self.fillers.command(&format!("enter {inside}"))?;
        }
        Ok(())
    }

    /// As [`enter`](Self::enter), of a crowd that may be too large for the machine: none begins to log in after `at_most`. The number of those that are in.
    pub(super) fn enter_within(
        &mut self,
        size: &CrowdSize,
        count: u32,
        at_most: Duration,
    ) -> Result<u32, ExperimentError> {
        let ends_at = clock::now() + at_most;
        let mut inside = count.min(size.observers + size.lossy + LOGINS_AT_ONCE);
        self.enter(size, inside)?;
        while inside < count && clock::now() < ends_at {
            inside = count.min(inside + LOGINS_AT_ONCE / 4);
            self.fillers.command(&format!("enter {}", inside - size.observers - size.lossy))?;
        }
        Ok(inside)
    }

    /// Sends all of them a command.
    pub(super) fn command(&mut self, text: &str) -> Result<(), ExperimentError> {
        for bots in [&mut self.fillers, &mut self.observers, &mut self.lossy] {
            bots.command(text)?;
        }
        Ok(())
    }

    /// Lets them log out; their reports.
    pub(super) fn leave(self) -> Result<Vec<BotsReport>, ExperimentError> {
        [self.fillers, self.observers, self.lossy].into_iter().map(Bots::leave).collect()
    }
}

/// Records of the observers of this name.
pub(super) fn views(run: &Run, name: &str, tag: &str) -> PathBuf {
    run.out.join(format!("{name}{tag}.views"))
}

/// Starts the bots that log in during a window and record their views; none is in yet.
pub(super) fn arriving(
    run: &Run,
    server: &Server,
    size: &CrowdSize,
    tag: &str,
) -> Result<Bots, ExperimentError> {
    let name = format!("arriving{tag}");
    let (path, count) = (views(run, "arriving", tag).display().to_string(), size.arriving.to_string());
    let options = ["--behavior", "walk", "--last-name", &name, "--observers", &count, "--views", &path];
    Bots::start(run, server, &name, size.arriving, &options)
}

/// Waits until every client has its surrounding static objects: sending them is no part of a steady crowd. Fails if that takes too long.
pub(crate) fn await_scenery(
    server: &Server,
    clients: u32,
    findings: &mut Findings,
) -> Result<(), ExperimentError> {
    if filled_sceneries(server, clients)? < 1.0 {
        findings.failures.push(format!(
            "a window of {clients} began before all of them had what stands around them: {} s were not enough",
            SCENERY_MAX.as_secs()
        ));
    }
    Ok(())
}

/// Waits as [`await_scenery`]; the share of the clients that have their surrounding static objects then.
pub(super) fn filled_sceneries(server: &Server, clients: u32) -> Result<f64, ExperimentError> {
    let ends_at = clock::now() + SCENERY_MAX;
    loop {
        let share = server.metrics()?.sum("throng_sceneries_filled_total") / f64::from(clients);
        if share >= 1.0 || clock::now() >= ends_at {
            return Ok(share.min(1.0));
        }
        clock::wait(Duration::from_millis(500));
    }
}
