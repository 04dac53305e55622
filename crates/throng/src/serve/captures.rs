//! The `recorder` thread: reads the flight recorder and writes captures, at the lowest priority, so that a capture does not delay a
//! late thread further.
//!
//! [`telemetry::captures::Saver`] decides on what is kept; this module has the thread, the clocks and the names of worlds, clients and objects,
//! which the recorder does not know.

mod objects;

use super::instances::Owners;
use super::{Clock, ServeError};
use crate::config::tunables::Tunables;
use crossbeam_channel::{Receiver, Sender, bounded};
use gateway::places::Places;
use gateway::sessions::Sessions;
use ids::SessionKey;
use operator_api::{CaptureRequest, SystemsView};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use telemetry::Metrics;
use telemetry::captures::perfetto::Origin;
use telemetry::captures::{
    CaptureCause, CaptureEntry, CaptureMetrics, CaptureStore, CaptureSummary, MissedTicks, Saver, Trigger,
};
use telemetry::recorder::{Arg, Capture, Recorder, Scope, ScopeKind, frame_end};

/// Period at which the thread checks for requests and for its end.
const PERIOD: Duration = Duration::from_millis(100);
/// Captures that operators wait for; a further one is refused.
const REQUESTS_MAX: usize = 4;
/// Without a limit: a slow disk is no reason to write more.
static SAVE: Scope = Scope::new("recorder.save");
/// The lowest priority: the thread gets a seventieth of another's share when a core is contended.
const NICE: i32 = 19;
/// Maximum number of names per visit to the hub: a thread preempted while it holds the hub's lock delays every login.
const NAMES_AT_ONCE: usize = 32;

/// First and last name of a client.
type Name = (Arc<str>, Arc<str>);

pub(super) struct CaptureThreadConfig<'a> {
    pub(super) eye: ServerSystemsView,
    pub(super) store: CaptureStore,
    pub(super) tunables: &'a Arc<Tunables>,
    pub(super) missed: &'a Arc<MissedTicks>,
    pub(super) metrics: &'a Metrics,
    pub(super) clock: &'a Clock,
}

pub(super) struct Captures {
    thread: JoinHandle<()>,
    stopping: Arc<AtomicBool>,
    requests: Sender<CaptureRequest>,
}

/// Reads the recorder and gives names to numbers.
#[derive(Clone)]
pub(super) struct ServerSystemsView {
    pub(super) recorder: Recorder,
    pub(super) sessions: Arc<Sessions>,
    /// The shared worlds, and what clients are shown of them.
    pub(super) places: Arc<Places>,
    /// Names of owners of objects.
    pub(super) owners: Arc<Owners>,
    /// Time budget of a frame.
    pub(super) tick: Duration,
}

impl SystemsView for ServerSystemsView {
    /// With names.
    fn capture(&self, horizon: Duration) -> Capture {
        let mut capture = self.recorder.capture(horizon);
        let worlds = self.places.iter().map(|place| (place.world(), place.name().to_owned()));
        capture.labels.extend(worlds.map(|(world, name)| ((Arg::World, world.0.into()), name)));
        let objects = objects::described(&self.places, &self.owners, &objects::longest(&capture));
        capture.labels.extend(objects.into_iter().map(|(id, words)| ((Arg::Object, id.0.into()), words)));
        let names = names(&clients(&capture), |clients, found| {
            self.sessions.with(|hub| {
                let name_of = |&client: &u64| Some((client, hub.session_name(SessionKey(client))?));
                found.extend(clients.iter().filter_map(name_of));
            });
        });
        capture.labels.extend(names.into_iter().map(|(client, name)| ((Arg::Client, client), name)));
        let tick_ns = u64::try_from(self.tick.as_nanos()).unwrap_or(u64::MAX);
        for scope in capture.scopes.iter_mut().filter(|scope| scope.kind == ScopeKind::Frame) {
            scope.limit_ns.get_or_insert(tick_ns);
        }
        capture
    }
}

/// The names of clients, as they are looked up a few at a time.
fn names(
    clients: &BTreeSet<u64>,
    mut look_up: impl FnMut(&[u64], &mut Vec<(u64, Name)>),
) -> BTreeMap<u64, String> {
    let clients: Vec<u64> = clients.iter().copied().collect();
    let mut found = Vec::with_capacity(clients.len());
    for some in clients.chunks(NAMES_AT_ONCE) {
        look_up(some, &mut found);
    }
    found.into_iter().map(|(client, (first, last))| (client, format!("{first} {last}"))).collect()
}

/// The sessions that a capture speaks of.
fn clients(capture: &Capture) -> BTreeSet<u64> {
    let is_client = |scope: u16| {
        let scope = capture.scopes.get(usize::from(scope));
        scope.is_some_and(|scope| matches!(scope.arg, Arg::Client | Arg::Session))
    };
    let threads = capture.threads.iter();
    threads
        .flat_map(|thread| thread.slices.iter())
        .filter(|slice| is_client(slice.scope))
        .map(|slice| slice.arg)
        .collect()
}

pub(super) fn start(start: CaptureThreadConfig<'_>) -> Result<Captures, ServeError> {
    let (requests, requested) = bounded(REQUESTS_MAX);
    let stopping = Arc::new(AtomicBool::new(false));
    let thread = CaptureThread {
        saver: Saver::new(start.store, CaptureMetrics::new(start.metrics)),
        eye: start.eye,
        tunables: Arc::clone(start.tunables),
        missed: Arc::clone(start.missed),
        clock: Arc::clone(start.clock),
        requested,
        stopping: Arc::clone(&stopping),
        lost: [0; ScopeKind::ALL.len()],
    };
    let thread = std::thread::Builder::new()
        .name("recorder".into())
        .spawn(move || thread.run())
        .map_err(|source| ServeError::Thread { name: "recorder", source })?;
    Ok(Captures { thread, stopping, requests })
}

impl Captures {
    /// Sender of operators' requests for captures.
    pub(super) fn requests(&self) -> Sender<CaptureRequest> {
        self.requests.clone()
    }

    pub(super) fn stop(self) {
        self.stopping.store(true, Ordering::Release);
        if self.thread.join().is_err() {
            tracing::error!("the recorder thread has panicked");
        }
    }
}

struct CaptureThread {
    eye: ServerSystemsView,
    saver: Saver,
    tunables: Arc<Tunables>,
    missed: Arc<MissedTicks>,
    clock: Clock,
    requested: Receiver<CaptureRequest>,
    stopping: Arc<AtomicBool>,
    /// Overruns that found the recorder's queue full, as of the last look.
    lost: [u64; ScopeKind::ALL.len()],
}

impl CaptureThread {
    fn run(mut self) {
        let this = Some(rustix::thread::gettid());
        if let Err(error) = rustix::process::setpriority_process(this, NICE) {
            tracing::warn!(%error, "captures are written at normal priority");
        }
        self.eye.recorder.thread("recorder").install();
        while !self.stopping.load(Ordering::Acquire) {
            let until_due = self.saver.poll_timeout().map(|due| due.saturating_sub(self.now()));
            let timeout = until_due.map_or(PERIOD, |until| until.min(PERIOD));
            let mut overrun = self.eye.recorder.next_overrun(timeout);
            self.tunables.refresh(&mut self.saver);
            let now = self.now();
            while let Some(late) = overrun {
                self.saver.handle_overrun(now, late);
                overrun = self.eye.recorder.next_overrun(Duration::ZERO);
            }
            while let Some(cause) = self.saver.poll(self.now()) {
                // A failure has been logged and counted.
                let _ = self.save(&cause);
            }
            while let Ok(request) = self.requested.try_recv() {
                // The operator may have gone meanwhile; the capture is kept all the same.
                let _ = request.send(self.save(&CaptureCause::Operator).map_err(|error| sentence(&error)));
            }
            while let Some((overrun, fate)) = self.saver.poll_decided() {
                self.missed.note_fate(&overrun, fate);
            }
            self.count();
            frame_end();
        }
    }

    fn save(
        &mut self,
        cause: &CaptureCause,
    ) -> Result<(CaptureEntry, CaptureSummary), telemetry::captures::CaptureStoreError> {
        let _scope = SAVE.enter(0);
        let began = thread_time();
        let capture = self.eye.capture(self.eye.recorder.horizon());
        let origin = Origin { pid: std::process::id(), process: "throng".into(), unix_ns: unix_ns() };
        let saved = self.saver.save(&capture, cause, &origin);
        // Freeing its memory is part of its cost.
        drop(capture);
        self.saver.note_cost(thread_time().saturating_sub(began));
        saved
    }

    fn count(&mut self) {
        let counted = self.eye.recorder.counters();
        for (kind, (now, before)) in
            ScopeKind::ALL.into_iter().zip(counted.overruns_lost.into_iter().zip(self.lost))
        {
            self.saver.count_lost(Trigger::from(kind), now - before);
            if kind == ScopeKind::Frame && now > before {
                self.missed.note_lost(now - before);
            }
        }
        self.lost = counted.overruns_lost;
    }

    fn now(&self) -> Duration {
        Duration::from_nanos((self.clock)().0)
    }
}

/// CPU time of this thread.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// An error with its cause, for the requester.
fn sentence(error: &dyn std::error::Error) -> String {
    let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}

#[expect(clippy::disallowed_methods, reason = "a capture says when it was taken as the calendar has it then")]
fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_is_asked_for_a_few_names_at_a_time() {
        let mut asked = Vec::new();
        let names = names(&(0..100).collect(), |clients, found| {
            asked.push(clients.len());
            // One has left meanwhile.
            let there = clients.iter().filter(|&&client| client != 50);
            found.extend(there.map(|&client| (client, ("Ada".into(), client.to_string().into()))));
        });
        assert_eq!(asked, [32, 32, 32, 4]);
        assert_eq!(names.len(), 99);
        assert_eq!(names[&99], "Ada 99");
    }
}
