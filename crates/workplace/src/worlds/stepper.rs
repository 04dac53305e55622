//! One world as a task of the pool: a step from its commands to its frame, its counters, and the frame's destination.

use super::published::PublishedState;
use super::{INSTANCE_INBOX_MAX, Steady};
use crate::Clock;
use crate::faults::Fuse;
use crate::inboxes::Waiting;
use crate::journal_buffer::JournalBuffer;
use crate::serving::{FrameOutlet, SentFrame, WorldGateway};
use crossbeam_channel::Receiver;
use ids::{Epoch, Instant, SessionKey, Tick, WorldId};
use link::{Change, Command, Frame, WorldSpec};
use recording::Tape;
use schedule::{Panicked, StepStart, Task};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use telemetry::captures::MissedTick;
use telemetry::recorder::{Arg, Scope, ScopeKind, frame_end, now_ns, record_systems_from};
use telemetry::{Timing, allocations};
use world::{Beginning, Life, NpcCast, World};

/// First steps in which a world's memory growth is counted. They fill its buffers; later on the traffic would dominate: words that it
/// frees for shards, and events that these free.
const STEPS_WEIGHED: u64 = 512;

/// Approximate window of the mean, steps: a second of them.
const STEPS_OF_MEAN: u32 = 16;

/// Phases of an instance's step that take less count for the step: with a thousand instances, whose steps take some forty microseconds,
/// they would dominate the flight recorder's contents and a capture's cost.
const INSTANCE_SYSTEMS_FROM_NS: u64 = 5_000;

/// Longest time to enter and leave a scope, nanoseconds: the recorder measures a step this much shorter.
const SCOPE_NS: u64 = 1_000;

/// A world's step with its mail. It may take as long as a tick lasts.
static FRAME: Scope = Scope::new("world.frame").arg(Arg::World).kind(ScopeKind::Frame);

/// A step that began late, with its lateness. One that misses a whole tick lags, although no frame took long: others had the threads.
static LATE: Scope = Scope::new("world.late").arg(Arg::World).kind(ScopeKind::Frame);

/// Says that a world is in a step for as long as this lives, and no longer if the step panics.
struct InStep<'a>(&'a PublishedState);

impl<'a> InStep<'a> {
    fn new(seen: &'a PublishedState, now: Instant) -> Self {
        seen.in_step_since.store(now.0.max(1), Ordering::Relaxed);
        Self(seen)
    }
}

impl Drop for InStep<'_> {
    fn drop(&mut self) {
        self.0.in_step_since.store(0, Ordering::Relaxed);
    }
}

/// One world as a task of the pool.
pub(crate) struct Stepper {
    pub(super) spec: Arc<WorldSpec>,
    pub(super) life: Life,
    pub(super) waiting: Arc<Waiting>,
    pub(super) commands: Vec<Command>,
    pub(super) outlet: Box<dyn FrameOutlet>,
    pub(super) seen: Arc<PublishedState>,
    pub(super) timing: Timing,
    pub(super) lateness: Timing,
    pub(super) clock: Clock,
    /// Recordings that were asked for, and the one under way.
    pub(super) tapes: Receiver<Tape>,
    pub(super) tape: Option<Tape>,
    pub(super) fuse: Arc<Fuse>,
    /// Of an instance: its state to be persisted.
    pub(super) journal_buffer: Option<Arc<JournalBuffer>>,
    /// The next tick.
    pub(super) next_tick: Tick,
    /// True if the last frame only moved known avatars.
    pub(super) is_steady: bool,
    /// The last frame found no room. Its edits are shown and saved with the snapshot that the gap in front of the next frame calls for, so that the world
    /// makes another step.
    pub(super) is_frame_lost: bool,
}

impl Task for Stepper {
    fn is_quiet(&mut self) -> bool {
        self.waiting.is_empty()
            && self.life.world().is_quiet()
            && !self.is_frame_lost
            && self.tape.is_none()
            && self.tapes.is_empty()
            && self.journal_buffer.as_ref().is_none_or(|journal_buffer| !journal_buffer.wants_image())
    }

    fn step(&mut self, start: &StepStart) {
        let (world, dt_ns) = (self.spec.world.0.into(), start.dt.as_nanos() as u64);
        let began_ns = now_ns();
        LATE.check_duration(world, start.late_by.as_nanos() as u64, dt_ns);
        self.lateness.record(start.late_by);
        self.next_tick = Tick(start.tick.0 + 1);
        let seen = Arc::clone(&self.seen);
        let in_step = InStep::new(&seen, start.at);
        record_systems_from(if self.journal_buffer.is_some() { INSTANCE_SYSTEMS_FROM_NS } else { 0 });
        let frame = FRAME.enter_within(world, dt_ns);
        self.make_frame(start);
        drop(frame);
        drop(in_step);
        let ended_ns = now_ns();
        if start.late_by > start.dt || ended_ns.saturating_sub(began_ns) > dt_ns + SCOPE_NS {
            let late_ns = start.late_by.as_nanos() as u64;
            seen.miss(MissedTick { world, tick: start.tick.0, began_ns, ended_ns, late_ns });
        }
        frame_end();
    }
}

impl Stepper {
    fn make_frame(&mut self, start: &StepStart) {
        let StepStart { tick, dt, dilation, late_by, .. } = *start;
        let began_at = (self.clock)();
        let held = allocations::held_here();
        let is_turn = is_turn_to_reload(self.spec.world, self.spec.hz, tick);
        let reload = if is_turn { self.waiting.take_reload() } else { None };
        // `HotReload` keeps both casts until no world has the former one, so that nothing large is freed here.
        if let Some(reload) = &reload {
            self.commands.push(reload.command(tick.0));
            self.life.offer_reload(Arc::clone(reload));
        }
        let allocated = allocations::counted_here();
        // Later commands belong to the next tick.
        self.waiting.drain_commands(&mut self.commands);
        self.take_tape();
        if let Some(tape) = &mut self.tape {
            tape.record_step(began_at, tick, dt, dilation, &self.commands);
            if let Some(reload) = &reload {
                tape.record_cast(reload.to());
            }
        }
        let mut frame = self.outlet.spare_frame();
        let completed_before = missions_completed(self.life.world());
        // At the worst moment: the commands are consumed, and no frame was sent.
        self.fuse.strike();
        self.life.step(began_at, tick, dt, dilation, &mut self.commands, &mut frame);
        if let Some((reload, journal_buffer)) = reload.zip(self.journal_buffer.as_ref())
            && self.cast().is_some_and(|cast| Arc::ptr_eq(cast, reload.to()))
        {
            journal_buffer.set_reverted_from(None);
        }
        if self.tape.as_mut().is_some_and(|tape| !tape.came_to(began_at, frame.state_hash)) {
            self.tape = None;
        }
        // The second of two replicas learns a frame with the next one.
        let was_steady = std::mem::replace(&mut self.is_steady, is_steady(&frame));
        let SentFrame { is_lost, n_copies } = self.outlet.send(frame);
        self.is_frame_lost = is_lost;
        let is_steady = self.is_steady && was_steady && n_copies == 0;
        let (noting, held_before) = (allocations::counted_here(), allocations::held_here());
        if let Some(journal_buffer) = &self.journal_buffer {
            journal_buffer.note(began_at, self.life.world());
        }
        let noted = allocations::counted_here() - noting;
        // A whole state is on its way to the journal, and not part of the world's memory.
        let held_noted = allocations::held_here() - held_before;
        let took = (self.clock)() - began_at;
        self.timing.record(took);
        let allocations = allocations::counted_here() - allocated - noted;
        self.seen.note_edits(began_at, self.life.world().recent_edits());
        let mut counted = self.seen.counted();
        counted.step = match counted.step {
            Duration::ZERO => took,
            mean => mean - mean / STEPS_OF_MEAN + took / STEPS_OF_MEAN,
        };
        counted.world = *self.life.world().counters();
        counted.n_avatars = self.life.world().n_avatars();
        counted.n_awake_bodies = self.life.world().n_awake_bodies();
        counted.n_npcs = self.life.world().n_npcs();
        counted.objects = self.life.world().object_counts();
        counted.npcs = *self.life.world().npc_counts();
        counted.dilation = dilation;
        counted.missions_completed += missions_completed(self.life.world()).saturating_sub(completed_before);
        counted.ticks.count(late_by, took, dt, dilation);
        counted.frames_lost += u64::from(is_lost);
        if tick.0 < STEPS_WEIGHED {
            counted.grown_bytes += allocations::held_here() - held - held_noted;
        }
        if is_steady {
            counted.steady += Steady { ticks: 1, allocations };
        }
    }
}

/// Completions of all missions of a world, those before it was suspended included.
fn missions_completed(world: &World) -> u64 {
    let missions = game::Game::of(world).into_iter().flat_map(game::Game::missions);
    missions.map(|mission| u64::from(mission.completed)).sum()
}

/// True if a world reloads its behaviours in this tick: the many of a template do it one after the other, within a second.
fn is_turn_to_reload(WorldId(world): WorldId, hz: u32, tick: Tick) -> bool {
    let hz = u64::from(hz.max(1));
    tick.0 % hz == u64::from(world) % hz
}

/// True if a frame only moves known avatars.
fn is_steady(frame: &Frame) -> bool {
    let is_new = |change: &Change| matches!(change, Change::Created(_) | Change::Removed(_));
    frame.snapshot.is_none() && frame.events.is_empty() && !frame.changes.iter().any(is_new)
}

impl Stepper {
    /// Remains of a task that panicked.
    pub(crate) fn of(panicked: Panicked) -> Box<Self> {
        let task: Box<dyn Any> = panicked.task;
        task.downcast().expect("worlds are the tasks of the pool")
    }

    /// Description of the world that it steps.
    pub(crate) const fn spec(&self) -> &Arc<WorldSpec> {
        &self.spec
    }

    /// Between two steps.
    pub(crate) const fn world(&self) -> &World {
        self.life.world()
    }

    /// Its cast.
    pub(crate) const fn cast(&self) -> Option<&Arc<NpcCast>> {
        self.life.config().cast.as_ref()
    }

    /// The tick of the step that comes next.
    pub(crate) const fn next_tick(&self) -> Tick {
        self.next_tick
    }

    /// Its epoch.
    pub(crate) const fn epoch(&self) -> Epoch {
        self.life.config().epoch
    }

    /// Begins a recording that was asked for, between two steps. There is one at a time; another ends it.
    fn take_tape(&mut self) {
        if let Ok(tape) = self.tapes.try_recv() {
            tape.begin(self.life.world());
            self.tape = Some(tape);
        }
    }

    /// Ends a recording, which cannot continue after a panic.
    pub(crate) fn end_recording(&mut self) {
        if let Some(tape) = self.tape.take() {
            tape.panicked();
        }
    }

    /// Keeps the present state for the next life, which an operator has ordered. A recording ends.
    pub(crate) fn prepare_restart(&mut self) {
        self.tape = None;
        self.life.take_checkpoint();
    }

    /// Empties the inbox while the world is down: nothing reads it, and shards hold commands without room, up to a total bound.
    pub(crate) fn drain(&mut self) {
        self.waiting.drain_commands(&mut self.commands);
        self.commands.clear();
    }

    /// Begins the next life, see [`Life::begin_again`]. `dismiss` makes the commands that its first step begins with, from the
    /// sessions that have avatars in it.
    pub(crate) fn begin_again(
        &mut self,
        in_a_row: u32,
        dismiss: impl FnOnce(&mut dyn Iterator<Item = SessionKey>) -> Vec<Command>,
    ) -> (Beginning, World) {
        let (beginning, remains) = match &self.journal_buffer {
            Some(journal_buffer) => journal_buffer.begin_again(&mut self.life, in_a_row, &self.spec.name),
            None => self.life.begin_again(in_a_row),
        };
        if let Some(cast) = self.cast() {
            self.waiting.begin_again_with(cast);
        }
        self.commands = dismiss(&mut self.life.world().sessions());
        (beginning, remains)
    }
}

/// Parts of a new instance.
pub(crate) struct Founding<'a> {
    pub(crate) spec: Arc<WorldSpec>,
    pub(crate) life: Life,
    pub(crate) journal_buffer: Arc<JournalBuffer>,
    /// Serving side that shows the world.
    pub(crate) gateway: &'a dyn WorldGateway,
    /// Of the steps of all instances.
    pub(crate) timing: Timing,
    pub(crate) lateness: Timing,
    pub(crate) clock: Clock,
}

impl Stepper {
    /// An instance before its first step, open at the gateway, and where its commands wait.
    pub(crate) fn found(founding: Founding<'_>) -> (Box<Self>, Arc<Waiting>) {
        let Founding { spec, life, journal_buffer, gateway, timing, lateness, clock } = founding;
        let waiting = Waiting::new(INSTANCE_INBOX_MAX);
        waiting.set_cast(life.config().cast.clone());
        let stepper = Self {
            life,
            commands: Vec::new(),
            outlet: gateway.open_world(&spec, waiting.snapshot_request()),
            waiting: Arc::clone(&waiting),
            seen: PublishedState::new(),
            timing,
            lateness,
            clock,
            // Instances are never recorded.
            tapes: crossbeam_channel::never(),
            tape: None,
            fuse: Arc::default(),
            journal_buffer: Some(journal_buffer),
            next_tick: Tick(0),
            is_steady: false,
            is_frame_lost: false,
            spec,
        };
        (Box::new(stepper), waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use link::{GroundSpec, Scenery, Terrain};
    use schedule::TaskId;
    use std::sync::atomic::AtomicBool;
    use telemetry::Metrics;
    use world::WorldConfig;

    #[test]
    fn worlds_of_a_template_change_their_casts_one_after_the_other() {
        for hz in [20, 45] {
            let n_in =
                |tick| (2..902).filter(|&world| is_turn_to_reload(WorldId(world), hz, Tick(tick))).count();
            let in_each: Vec<usize> = (7_000..7_000 + u64::from(hz)).map(n_in).collect();
            assert!(in_each.iter().all(|&n| n == 900 / hz as usize), "{in_each:?}");
        }
    }

    /// Loses each frame while it is narrow.
    struct NarrowOutlet(Arc<AtomicBool>);

    impl FrameOutlet for NarrowOutlet {
        fn spare_frame(&mut self) -> Box<Frame> {
            Box::new(Frame::empty())
        }

        fn send(&mut self, _: Box<Frame>) -> SentFrame {
            SentFrame { is_lost: self.0.load(Ordering::Relaxed), n_copies: 0 }
        }
    }

    #[test]
    fn a_world_that_lost_its_last_frame_does_not_sleep_before_the_next_one_is_sent() {
        let ground = GroundSpec::new(Arc::new(Terrain::flat(256, 21.0)), Arc::new(Scenery::default()), 20.0);
        let spec = Arc::new(WorldSpec {
            world: WorldId(1),
            epoch: Epoch(0),
            is_shared: true,
            name: "Harbour".into(),
            max_avatars: 10,
            max_objects: 100,
            hz: 20,
            local_ids: link::shared_local_ids(WorldId(1)),
            ground: Arc::new(ground),
            portals: Arc::new([]),
            seed: 1,
            cache_id: Uuid::nil(),
        });
        let (metrics, is_narrow) = (Metrics::new(), Arc::new(AtomicBool::new(true)));
        let timing = |name| metrics.timing(name, "A step.", &[]);
        let mut stepper = Stepper {
            life: Life::new(WorldConfig::new(&spec, None), 0.0),
            waiting: Waiting::new(8),
            commands: Vec::new(),
            outlet: Box::new(NarrowOutlet(Arc::clone(&is_narrow))),
            seen: PublishedState::new(),
            timing: timing("throng_step_seconds"),
            lateness: timing("throng_late_seconds"),
            clock: Arc::new(|| Instant::ZERO),
            tapes: crossbeam_channel::never(),
            tape: None,
            fuse: Arc::default(),
            journal_buffer: None,
            next_tick: Tick(0),
            is_steady: false,
            is_frame_lost: false,
            spec,
        };
        let mut step_is_quiet = |is_lost, tick| {
            is_narrow.store(is_lost, Ordering::Relaxed);
            let start = StepStart {
                id: TaskId(1),
                tick: Tick(tick),
                dt: stepper.spec.dt(),
                dilation: 1.0,
                at: Instant::ZERO,
                late_by: Duration::ZERO,
            };
            stepper.step(&start);
            stepper.is_quiet()
        };
        assert!(step_is_quiet(false, 0), "nothing is in the world");
        assert!(!step_is_quiet(true, 1));
        assert!(!step_is_quiet(true, 2));
        assert!(step_is_quiet(false, 3), "the gap was seen");
    }
}
