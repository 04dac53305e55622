//! The pool as the workplace of instances uses it. [`NodePool`] has threads and a gateway; the simulator has a model.

use crate::Clock;
use crate::inboxes::{Inbox, Inboxes, Waiting};
use crate::journal_buffer::JournalBuffer;
use crate::restarts::Down;
use crate::serving::WorldGateway;
use crate::worlds::{Founding, INSTANCES, Stepper, Workplace, WorldTotals};
use ids::WorldId;
use link::WorldSpec;
use std::any::Any;
use std::sync::Arc;
use telemetry::{Metrics, Timing};
use world::{Life, NpcCast, World};

/// An instance's world before its first step.
pub struct NewWorld {
    /// Its description.
    pub spec: Arc<WorldSpec>,
    /// The world.
    pub life: Life,
    /// Takes its state after each step ([`JournalBuffer::note`]), and is asked at each restart ([`JournalBuffer::begin_again`]).
    pub journal_buffer: Arc<JournalBuffer>,
}

/// Worlds of instances that are stepped and shown to clients, by number.
pub trait InstancePool: Send + Sync {
    /// Steps a world and shows it to clients from now on. False once the server stops; then it is dropped.
    fn take_in(&self, new: NewWorld) -> bool;

    /// Stops a world between two steps; waits for the current one. `None` if it is not stepped: unknown, down, or the server stops.
    fn take_out(&self, world: WorldId) -> Option<Box<dyn StoppedWorld>>;

    /// Stops a world and drops it off the caller's thread. Nothing of it is kept.
    fn end(&self, world: WorldId);

    /// Has a world stepped although it is asleep.
    fn wake(&self, world: WorldId);

    /// Inbox of a world, for changes of its cast.
    fn waiting(&self, world: WorldId) -> Option<Arc<Waiting>>;

    /// Counters of a world while it is stepped.
    fn counted(&self, world: WorldId) -> Option<WorldTotals>;

    /// Drops something large off the threads of frames.
    fn dispose(&self, what: Box<dyn Any + Send>);
}

/// A world that is in memory and not stepped. It must go on or leave: dropped on a thread with waiters, it delays them.
pub trait StoppedWorld: Send {
    /// The world.
    fn world(&self) -> &World;

    /// Its cast.
    fn cast(&self) -> Option<&Arc<NpcCast>>;

    /// Begins the next life of a world that is down, without a visitor.
    fn begin_again(&mut self, in_a_row: u32);

    /// The world is stepped again from its next tick on, under its former inbox.
    fn go_on(self: Box<Self>);

    /// The world leaves memory: clients are not shown it any more.
    fn leave(self: Box<Self>);
}

/// The pool of a server.
#[derive(Clone)]
pub struct NodePool {
    pool: Workplace,
    inboxes: Arc<Inboxes>,
    gateway: Arc<dyn WorldGateway>,
    /// Of the steps of all instances.
    timing: Timing,
    lateness: Timing,
    clock: Clock,
}

impl NodePool {
    /// These worlds, shown by this gateway.
    pub(super) fn new(
        pool: Workplace,
        inboxes: &Arc<Inboxes>,
        gateway: Arc<dyn WorldGateway>,
        clock: &Clock,
        metrics: &Metrics,
    ) -> Self {
        let timing = |name, help| metrics.timing(name, help, &[("world", INSTANCES)]);
        Self {
            pool,
            inboxes: Arc::clone(inboxes),
            gateway,
            timing: timing("throng_world_tick_seconds", "Duration of a step of the world."),
            lateness: timing(
                "throng_world_late_seconds",
                "Time from when a step of the world was due until it began.",
            ),
            clock: Arc::clone(clock),
        }
    }

    /// The remains of a world that has panicked, with the panics in a row.
    pub(super) fn remains(&self, down: Down) -> (WorldId, Box<dyn StoppedWorld>, u32) {
        let Down { stepper, in_a_row, .. } = down;
        let world = stepper.spec().world;
        (world, Box::new(PooledWorld { pool: self.clone(), inbox: None, stepper }), in_a_row)
    }

    fn forget(&self, world: WorldId) {
        self.inboxes.remove(world);
        self.pool.forget(world);
        self.gateway.close_world(world);
    }
}

impl InstancePool for NodePool {
    fn take_in(&self, new: NewWorld) -> bool {
        let NewWorld { spec, life, journal_buffer } = new;
        let world = spec.world;
        let (stepper, waiting) = Stepper::found(Founding {
            spec,
            life,
            journal_buffer,
            gateway: &*self.gateway,
            timing: self.timing.clone(),
            lateness: self.lateness.clone(),
            clock: Arc::clone(&self.clock),
        });
        let Some(inbox) = self.pool.take_in(stepper, waiting) else {
            self.gateway.close_world(world);
            return false;
        };
        self.inboxes.add(world, inbox);
        true
    }

    fn take_out(&self, world: WorldId) -> Option<Box<dyn StoppedWorld>> {
        let inbox = self.inboxes.of(world)?;
        let stepper = self.pool.take_out(&inbox)?;
        Some(Box::new(PooledWorld { pool: self.clone(), inbox: Some(inbox), stepper }))
    }

    fn end(&self, world: WorldId) {
        if let Some(inbox) = self.inboxes.remove(world) {
            self.pool.end(world, &inbox);
            self.gateway.close_world(world);
        }
    }

    fn wake(&self, world: WorldId) {
        if let Some(inbox) = self.inboxes.of(world) {
            inbox.waker.wake();
        }
    }

    fn waiting(&self, world: WorldId) -> Option<Arc<Waiting>> {
        self.inboxes.of(world).map(|inbox| inbox.waiting)
    }

    fn counted(&self, world: WorldId) -> Option<WorldTotals> {
        self.pool.counted(world)
    }

    fn dispose(&self, what: Box<dyn Any + Send>) {
        self.pool.dispose(what);
    }
}

/// A world out of the pool of a server.
struct PooledWorld {
    pool: NodePool,
    /// None of a world that was down.
    inbox: Option<Inbox>,
    stepper: Box<Stepper>,
}

impl StoppedWorld for PooledWorld {
    fn world(&self) -> &World {
        self.stepper.world()
    }

    fn cast(&self) -> Option<&Arc<NpcCast>> {
        self.stepper.cast()
    }

    fn begin_again(&mut self, in_a_row: u32) {
        let (_, remains) = self.stepper.begin_again(in_a_row, |_| Vec::new());
        self.pool.pool.dispose(remains);
    }

    fn go_on(self: Box<Self>) {
        let Self { pool, inbox, stepper } = *self;
        let next_tick = stepper.next_tick();
        pool.pool.take_back(&inbox.expect("a world that is down does not go on"), stepper, next_tick);
    }

    fn leave(self: Box<Self>) {
        let Self { pool, stepper, .. } = *self;
        pool.forget(stepper.spec().world);
        pool.pool.dispose(stepper);
    }
}

opaque_debug!(NodePool, NewWorld);
