//! The `restarts` thread: restarts worlds under their visitors: panicked ones, and those of which an operator orders it ([`RestartOrders`]).
//!
//! The pool hands back what is left of it. From its newest checkpoint the next epoch is made, avatars whose logins have ended since
//! then are dismissed, and the pool steps it again in the same slot, so that existing wakers stay valid. Replicas follow the new epoch,
//! and shards bring their visitors back. A long task drops the former life. The next one begins on this thread, not on theirs: visitors
//! must not wait for other long tasks, or hanging ones.
//!
//! `host::restart` decides on the time of a restart and of its aftercare; this thread carries them out, and asks the gateway for the sessions
//! of the world. The inbox of a world that is down is emptied: shards keep the commands that do not fit an inbox, and beyond a number they
//! refuse agent updates for all worlds.

use crate::inboxes::{Inbox, Inboxes};
use crate::serving::{ShownWorld, WorldGateway};
use crate::worlds::{INSTANCES, Stepper, Workplace, Worlds};
use crate::{Clock, ThreadError};
use crossbeam_channel::{Receiver, Sender, bounded, select};
use host::restart::{Restart, RestartTask};
use ids::{Epoch, Instant, Tick, WorldId};
use link::{WorldCensus, WorldSpec};
use schedule::Panicked;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use telemetry::{Counter, Metrics, Timing};
use world::Beginning;

/// A world's next life, from its checkpoint until it is stepped.
static BEGIN: Scope = Scope::new("restarts.begin").arg(Arg::World).limit_us(500_000);

/// Without anything to do, the thread waits for a panic.
const IDLE: Duration = Duration::from_secs(3_600);

/// Orders that wait for the thread; more are refused.
const ORDERS_MAX: usize = 8;

/// The thread.
pub struct Restarts {
    thread: JoinHandle<Vec<Down>>,
    stop: Sender<()>,
    standings: Standings,
    orders: RestartOrders,
}

/// Orders of the operator to restart shared worlds.
#[derive(Clone)]
pub struct RestartOrders(Sender<RestartOrder>);

/// Receiver of an order's outcome: the epoch of the next life.
type RestartReply = Box<dyn FnOnce(Result<Epoch, RestartRefusal>) + Send>;

struct RestartOrder {
    world: WorldId,
    reply: RestartReply,
}

/// Reasons for which a world is not restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestartRefusal {
    /// It is no shared world.
    #[error("the world is none of a region")]
    Unknown,
    /// It has panicked, and begins again by itself.
    #[error("the world is down, and begins again by itself")]
    Down,
    /// As many orders wait as may.
    #[error("too many restarts are waiting")]
    Busy,
    /// The server stops.
    #[error("the server stops")]
    Ended,
}

impl RestartOrders {
    /// Orders the next life of a shared world, from its present state: visitors, objects, land and NPCs stay. `reply` gets the outcome on the thread of restarts.
    ///
    /// # Errors
    /// [`RestartRefusal::Busy`], [`RestartRefusal::Ended`]; then `reply` is dropped.
    pub fn order(
        &self,
        world: WorldId,
        reply: impl FnOnce(Result<Epoch, RestartRefusal>) + Send + 'static,
    ) -> Result<(), RestartRefusal> {
        let sent = self.0.try_send(RestartOrder { world, reply: Box::new(reply) });
        sent.map_err(|error| if error.is_full() { RestartRefusal::Busy } else { RestartRefusal::Ended })
    }
}

/// State of a world across restarts.
#[derive(Clone, Debug, Default)]
pub struct RestartState {
    /// Its epoch.
    pub epoch: u32,
    /// Times that it began again.
    pub restarts: u64,
    /// Reason for which it is down, if it is.
    pub trouble: Option<String>,
}

/// States of the shared worlds, each by its name.
pub type Standings = Vec<(String, Arc<Mutex<RestartState>>)>;

/// A world with the parts for its restart.
struct RestartableWorld {
    spec: Arc<WorldSpec>,
    inbox: Inbox,
    restart: Restart,
    down: Option<Down>,
    standing: Arc<Mutex<RestartState>>,
    figures: RestartMetrics,
}

#[derive(Clone)]
struct RestartMetrics {
    restart: Timing,
    back: Timing,
    reverts: Counter,
}

/// A world that waits to begin again.
pub struct Down {
    pub(crate) stepper: Box<Stepper>,
    /// Panics without a good while between them.
    pub(crate) in_a_row: u32,
    first_tick: Tick,
}

#[cfg(test)]
impl Down {
    /// As if it had panicked just now.
    pub(crate) const fn of(stepper: Box<Stepper>, in_a_row: u32) -> Self {
        Self { stepper, in_a_row, first_tick: Tick(0) }
    }
}

struct RestartThread {
    /// Worlds that lie at a place, and instances that have panicked.
    worlds: BTreeMap<WorldId, RestartableWorld>,
    inboxes: Arc<Inboxes>,
    /// Totals of all instances.
    instances: RestartMetrics,
    workplace: Workplace,
    gateway: Arc<dyn WorldGateway>,
    panicked: Receiver<Panicked>,
    ordered: Receiver<RestartOrder>,
    stopped: Receiver<()>,
    clock: Clock,
}

/// Starts the thread.
///
/// # Errors
/// [`ThreadError`].
pub fn start(
    worlds: &Worlds,
    gateway: Arc<dyn WorldGateway>,
    clock: &Clock,
    metrics: &Metrics,
    recorder: Recorder,
) -> Result<Restarts, ThreadError> {
    let figures = |world: &str| {
        RestartMetrics {
        restart: metrics.timing(
            "throng_world_restart_seconds",
            "Time from a panic of the world, or an ordered restart, until its next life is stepped.",
            &[("world", world)],
        ),
        back: metrics.timing(
            "throng_world_back_seconds",
            "Time from a panic of the world until clients are shown its next life with all who were there.",
            &[("world", world)],
        ),
        reverts: metrics.counter(
            "throng_world_reverts_total",
            "Times that the world went back to what its template's files said before, since it panicked with what they say now.",
            &[("world", world)],
        ),
    }
    };
    let restartable = |spec: &Arc<WorldSpec>| {
        let inbox = worlds.inboxes.of(spec.world).expect("a shared world has an inbox");
        (spec.world, RestartableWorld::new(spec, inbox, clock(), figures(&spec.name)))
    };
    let restartable: BTreeMap<WorldId, RestartableWorld> = worlds.specs().map(restartable).collect();
    let standings =
        restartable.values().map(|world| (world.spec.name.clone(), Arc::clone(&world.standing))).collect();
    let (stop, stopped) = bounded(0);
    let (orders, ordered) = bounded(ORDERS_MAX);
    let thread = RestartThread {
        worlds: restartable,
        inboxes: Arc::clone(&worlds.inboxes),
        instances: figures(INSTANCES),
        workplace: worlds.workplace(),
        gateway,
        panicked: worlds.panicked(),
        ordered,
        stopped,
        clock: Arc::clone(clock),
    };
    let thread = std::thread::Builder::new()
        .name("restarts".into())
        .spawn(move || {
            recorder.thread("restarts").install();
            thread.run()
        })
        .map_err(|source| ThreadError { name: "restarts", source })?;
    Ok(Restarts { thread, stop, standings, orders: RestartOrders(orders) })
}

impl Restarts {
    /// States of the worlds, for the `watch` thread.
    pub fn watch(&self) -> Standings {
        self.standings.clone()
    }

    /// Sender of the operator's orders.
    pub fn orders(&self) -> RestartOrders {
        self.orders.clone()
    }

    /// Ends the thread; worlds that are down stay so. Returns the remains of instances among them.
    pub fn stop(self) -> Vec<Down> {
        drop(self.stop);
        self.thread.join().unwrap_or_else(|_| {
            tracing::error!("the restarts thread has panicked");
            Vec::new()
        })
    }
}

impl RestartThread {
    fn run(mut self) -> Vec<Down> {
        while self.turn() {
            frame_end();
        }
        // Panics of which it may not have been notified yet.
        while let Ok(panicked) = self.panicked.try_recv() {
            self.on_panicked(panicked);
        }
        let instances = self.worlds.into_values().filter(|world| !world.spec.is_shared);
        instances.filter_map(|world| world.down).collect()
    }

    /// Waits for the next event and handles it; false at the end of the thread.
    fn turn(&mut self) -> bool {
        let until_next = self.next_at().map_or(IDLE, |next_at| next_at - (self.clock)());
        select! {
            recv(self.panicked) -> panicked => match panicked {
                Ok(panicked) => self.on_panicked(panicked),
                Err(_) => return false,
            },
            recv(self.ordered) -> order => match order {
                Ok(RestartOrder { world, reply }) => reply(self.restart(world)),
                Err(_) => return false,
            },
            recv(self.stopped) -> _ => return false,
            default(until_next) => {}
        }
        let now = (self.clock)();
        for world in self.worlds.values_mut() {
            world.run_due(now, &self.workplace, &*self.gateway, &self.clock);
        }
        // Nothing is kept of an ended or suspended instance; it may have ended while its restart was due.
        let (inboxes, workplace) = (&self.inboxes, &self.workplace);
        self.worlds.retain(|&id, world| {
            let is_kept = world.spec.is_shared || inboxes.of(id).is_some_and(|inbox| inbox.is(&world.inbox));
            if !is_kept {
                if let Some(stepper) = workplace.take_out(&world.inbox) {
                    workplace.dispose(stepper);
                }
                if let Some(down) = world.down.take() {
                    workplace.dispose(down.stepper);
                }
            }
            is_kept
        });
        true
    }

    fn next_at(&self) -> Option<Instant> {
        let now = (self.clock)();
        self.worlds.values().filter_map(|world| world.restart.next_at(now)).min()
    }

    /// Begins the next life of a world that an operator has ordered. Waits for its current step.
    fn restart(&mut self, id: WorldId) -> Result<Epoch, RestartRefusal> {
        let now = (self.clock)();
        let found = self.worlds.get_mut(&id).filter(|world| world.spec.is_shared);
        let world = found.ok_or(RestartRefusal::Unknown)?;
        if world.restart.is_down() {
            return Err(RestartRefusal::Down);
        }
        // None also behind a panic of which this thread has not been notified yet.
        let mut stepper = self.workplace.take_out(&world.inbox).ok_or(RestartRefusal::Down)?;
        stepper.prepare_restart();
        let first_tick = stepper.next_tick();
        tracing::info!(world = world.spec.name, "a restart is ordered");
        world.restart.note_order(now);
        world.down = Some(Down { stepper, in_a_row: 1, first_tick });
        world.run_due(now, &self.workplace, &*self.gateway, &self.clock);
        Ok(Epoch(world.standing.lock().unwrap_or_else(PoisonError::into_inner).epoch))
    }

    fn on_panicked(&mut self, panicked: Panicked) {
        let (panicked_at, first_tick) = (panicked.at, Tick(panicked.tick.0 + 1));
        let (message, tick) = (panicked.message.clone(), panicked.tick.0);
        let mut stepper = Stepper::of(panicked);
        stepper.end_recording();
        let spec = Arc::clone(stepper.spec());
        // It may have been an instance that has ended meanwhile.
        let Some(inbox) = self.inboxes.of(spec.world) else { return self.workplace.dispose(stepper) };
        // An instance suspended since its last panic is another world.
        self.worlds.retain(|&id, world| id != spec.world || world.inbox.is(&inbox));
        let world = self
            .worlds
            .entry(spec.world)
            .or_insert_with(|| RestartableWorld::new(&spec, inbox, (self.clock)(), self.instances.clone()));
        let begins_at = world.restart.note_panic(panicked_at);
        let (name, in_a_row) = (&world.spec.name, world.restart.in_a_row());
        let pause = begins_at - panicked_at;
        tracing::error!(world = name, tick, in_a_row, ?pause, message, "a world has panicked");
        world.standing.lock().unwrap_or_else(PoisonError::into_inner).trouble = Some(format!(
            "{name} is down: panicked {in_a_row} times in a row, begins again {:.1} s after that. {message}",
            pause.as_secs_f32()
        ));
        world.down = Some(Down { stepper, in_a_row, first_tick });
    }
}

impl RestartableWorld {
    fn new(spec: &Arc<WorldSpec>, inbox: Inbox, now: Instant, figures: RestartMetrics) -> Self {
        Self {
            spec: Arc::clone(spec),
            inbox,
            restart: Restart::new(now),
            down: None,
            standing: Arc::default(),
            figures,
        }
    }

    /// Runs due tasks; keeps the inboxes of worlds that are down empty.
    fn run_due(&mut self, now: Instant, workplace: &Workplace, gateway: &dyn WorldGateway, clock: &Clock) {
        while let Some(task) = self.restart.poll(now) {
            match task {
                RestartTask::Begin => {
                    let census = gateway.census(self.spec.world);
                    self.begin_again(now, &census, workplace, clock);
                }
                RestartTask::Sweep => self.sweep(gateway),
                RestartTask::CheckReturn => self.check_return(now, gateway),
            }
        }
        if let Some(down) = &mut self.down {
            down.stepper.drain();
        }
    }

    /// Begins the next life.
    fn begin_again(&mut self, now: Instant, census: &WorldCensus, workplace: &Workplace, clock: &Clock) {
        let _scope = BEGIN.enter(self.spec.world.0.into());
        let down = self.down.take().expect("the remains of a world that is down");
        let Down { mut stepper, in_a_row, first_tick } = down;
        let mut n_dismissed = 0;
        let (beginning, remains) = stepper.begin_again(in_a_row, |present| {
            let commands = census.dismissals(present);
            n_dismissed = commands.len();
            commands
        });
        let epoch = stepper.epoch();
        workplace.take_back(&self.inbox, stepper, first_tick);
        let begun_at = clock();
        self.figures.restart.record(self.restart.note_begun(begun_at, epoch));
        self.figures.reverts.increment(u64::from(beginning == Beginning::Former));
        tracing::warn!(
            world = self.spec.name,
            epoch = epoch.0,
            from = ?beginning,
            n_dismissed,
            took = ?(begun_at - now),
            "a world began again"
        );
        let restarts = self.restart.n_restarts();
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) =
            RestartState { epoch: epoch.0, restarts, trouble: None };
        workplace.dispose(remains);
    }

    /// Dismisses avatars whose departure the new life has missed.
    fn sweep(&self, gateway: &dyn WorldGateway) {
        for command in gateway.dismissals(self.spec.world) {
            // If the inbox is full, the next sweep finds them again.
            let _ = self.inbox.push_command(command);
        }
    }

    /// Notes the time when clients are shown the avatars of all sessions again.
    fn check_return(&mut self, now: Instant, gateway: &dyn WorldGateway) {
        let Some(ShownWorld { epoch, n_missing }) = gateway.shown(self.spec.world) else { return };
        if let Some(took) = self.restart.note_return(now, epoch, n_missing) {
            self.figures.back.record(took);
        }
    }
}

opaque_debug!(Restarts, RestartOrders, Down);
