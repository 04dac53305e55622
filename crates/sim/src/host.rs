//! A simulated host: the side of a server that steps worlds, without the gateway that shows them.
//!
//! A host holds [`Resident`]s. What crosses between host and gateway is plain data: with more than one host, commands and frames cross as
//! bytes, and a world moves between hosts as [`Departed`]: its life, its snapshot and its inbox as bytes. Casts alone are known to
//! both hosts from configuration. A world that moves keeps its epoch, its local ids and the numbering of its frames.

use crate::sabotage::{Sabotage, with_part_of};
use host::restart::{Restart, RestartTask, SWEEP_PERIOD};
use ids::{Epoch, Instant, SessionKey, Tick, WorldId};
use link::{Action, Command, Frame, WorldCensus, WorldSpec};
use recording::{About, Ending, Step, Writer};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;
use workplace::JournalBuffer;
use world::{CastReload, Life, LifeBaggage, NpcCast, RestoreError, World, WorldConfig};

/// Worlds of one host, by id.
pub(crate) struct Host {
    residents: BTreeMap<WorldId, Resident>,
    casts: Arc<CastLibrary>,
}

/// The casts of all templates, as every host knows them from configuration.
#[derive(Default)]
pub(crate) struct CastLibrary(Vec<Arc<NpcCast>>);

impl CastLibrary {
    pub(crate) fn of(casts: impl IntoIterator<Item = Arc<NpcCast>>) -> Self {
        Self(casts.into_iter().collect())
    }

    pub(crate) fn get(&self, fingerprint: u64) -> Option<Arc<NpcCast>> {
        self.0.iter().find(|cast| cast.fingerprint() == fingerprint).cloned()
    }

    /// The other of two editions.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn other_than(&self, fingerprint: u64) -> u64 {
        let others = self.0.iter().map(|cast| cast.fingerprint());
        others.into_iter().find(|other| *other != fingerprint).expect("templates have two editions")
    }

    /// The reload that these commands order of a world with this cast.
    ///
    /// # Panics
    /// If the world has none, or cannot go over to it.
    pub(crate) fn ordered_reload(
        &self,
        from: Option<&Arc<NpcCast>>,
        commands: &[Command],
    ) -> Option<Arc<CastReload>> {
        let to = commands.iter().find_map(|command| match command.action {
            Action::ReloadBehaviors { cast } => Some(cast),
            _ => None,
        })?;
        let from = Arc::clone(from.expect("a template with NPCs"));
        let to = self.get(to).expect("an edition of the template");
        let reload = CastReload::new(from, to);
        Some(Arc::new(reload.expect("editions of a template have the same NPCs and missions")))
    }
}

/// A world between two hosts: bytes, and nothing else.
pub(crate) struct Departed {
    /// A [`LifeRecord`].
    life: Vec<u8>,
    snapshot: Vec<u8>,
    /// The inbox.
    commands: Vec<u8>,
}

/// A host's record of a world, without the state.
#[derive(Serialize, Deserialize)]
struct LifeRecord {
    /// With the epoch that the world is in.
    spec: WorldSpec,
    /// Fingerprint of its cast, which both hosts know.
    cast: Option<u64>,
    /// Checkpoints and counts of its life.
    baggage: LifeBaggage,
    /// Counts panics in a row, wherever the world ran.
    restart: Restart,
}

/// One world with its inbox and its outbox.
pub(crate) struct Resident {
    /// With the epoch in which it began.
    spec: WorldSpec,
    pub(crate) life: Life,
    pub(crate) inbox: Vec<Command>,
    casts: Arc<CastLibrary>,
    frame: Frame,
    /// True if `frame` is of the last tick.
    has_frame: bool,
    /// Records its inputs, once a recording has begun.
    writer: Option<Writer<Vec<u8>>>,
    /// A recording that has ended.
    recorded: Option<Vec<u8>>,
    /// The same decisions as those of a server.
    restart: Restart,
    /// Of an instance: its state to be persisted.
    journal_buffer: Option<Arc<JournalBuffer>>,
    /// Snapshot before the last step, kept for [`Sabotage::StaleSnapshot`].
    stale: Option<Vec<u8>>,
}

const IN_MEMORY: &str = "memory takes what it is given";

impl Host {
    pub(crate) const fn new(casts: Arc<CastLibrary>) -> Self {
        Self { residents: BTreeMap::new(), casts }
    }

    pub(crate) fn open(&mut self, spec: WorldSpec, cast: Option<Arc<NpcCast>>, share: f32) {
        let life = Life::new(WorldConfig::new(&spec, cast), share);
        self.open_life(spec, life);
    }

    /// Takes a world that was made from its description.
    pub(crate) fn open_life(&mut self, spec: WorldSpec, life: Life) {
        let (world, resident) = (spec.world, Resident::new(spec, life, &self.casts));
        let former = self.residents.insert(world, resident);
        assert!(former.is_none(), "a world is on one host once");
    }

    /// Takes a world off this host, between two steps.
    pub(crate) fn take(&mut self, world: WorldId) -> Resident {
        self.residents.remove(&world).expect("the world is on the host that the placement names")
    }

    /// Puts a world back that was taken off this host.
    pub(crate) fn put_back(&mut self, resident: Resident) {
        let former = self.residents.insert(resident.id(), resident);
        assert!(former.is_none(), "a world is on one host once");
    }

    /// Removes a world for good.
    pub(crate) fn close(&mut self, world: WorldId) {
        let closed = self.residents.remove(&world);
        assert!(closed.is_some(), "the world is on the host that the placement names");
    }

    pub(crate) fn get(&self, world: WorldId) -> &Resident {
        self.residents.get(&world).expect("the world is on the host that the placement names")
    }

    pub(crate) fn get_mut(&mut self, world: WorldId) -> &mut Resident {
        self.residents.get_mut(&world).expect("the world is on the host that the placement names")
    }

    /// Stops a world between two steps and takes it off this host. `None` while it is down: its state is that of a checkpoint which has
    /// not begun yet.
    pub(crate) fn release(&mut self, world: WorldId, sabotage: Option<Sabotage>) -> Option<Departed> {
        if self.get(world).restart.is_down() {
            return None;
        }
        let mut resident = self.residents.remove(&world).expect("looked up above");
        assert!(resident.writer.is_none(), "a recorded world does not move");
        let config = resident.life.config();
        let mut snapshot = resident.life.world().snapshot();
        match sabotage {
            Some(Sabotage::LostCommands) => resident.inbox.clear(),
            Some(Sabotage::RepeatedCommands) => resident.inbox.extend_from_within(..),
            Some(Sabotage::StaleSnapshot) => snapshot = resident.stale.unwrap_or(snapshot),
            Some(Sabotage::FreshPart(tag)) => {
                // The place of a new world is the same, but for the number.
                let id = WorldId(world.0 + 1);
                let fresh = World::new(WorldConfig { id, ..config.clone() }).snapshot();
                snapshot = with_part_of(&snapshot, &fresh, tag);
            }
            None => {}
        }
        let life = LifeRecord {
            cast: config.cast.as_ref().map(|cast| cast.fingerprint()),
            spec: WorldSpec { epoch: config.epoch, ..resident.spec },
            baggage: resident.life.baggage(),
            restart: resident.restart,
        };
        Some(Departed {
            life: postcard::to_allocvec(&life).expect("a life's record is plain data"),
            snapshot,
            commands: postcard::to_allocvec(&resident.inbox).expect("commands are plain data"),
        })
    }

    /// Takes a world in and continues it: same epoch, same local ids, next frame.
    ///
    /// # Errors
    /// If its snapshot is not read: something is missing from it.
    pub(crate) fn take_in(&mut self, departed: Departed) -> Result<(), RestoreError> {
        let Departed { life, snapshot, commands } = departed;
        let life: LifeRecord = postcard::from_bytes(&life).expect("a life's record is plain data");
        let LifeRecord { spec, cast, baggage, restart } = life;
        let cast = cast.map(|cast| self.casts.get(cast).expect("hosts know the same casts"));
        let (id, config) = (spec.world, WorldConfig::new(&spec, cast));
        let world = World::restore(config.clone(), &snapshot)?;
        let casts = |fingerprint| self.casts.get(fingerprint);
        let resident = Resident {
            inbox: postcard::from_bytes(&commands).expect("commands are plain data"),
            restart,
            ..Resident::new(spec, Life::with_baggage(world, config, &baggage, casts)?, &self.casts)
        };
        let former = self.residents.insert(id, resident);
        assert!(former.is_none(), "a world is on one host once");
        Ok(())
    }
}

impl Resident {
    fn new(spec: WorldSpec, life: Life, casts: &Arc<CastLibrary>) -> Self {
        Self {
            spec,
            life,
            inbox: Vec::new(),
            casts: Arc::clone(casts),
            frame: Frame::empty(),
            has_frame: false,
            writer: None,
            recorded: None,
            restart: Restart::new(Instant::ZERO),
            journal_buffer: None,
            stale: None,
        }
    }

    /// One tick: a restart that is due, the search for orphaned avatars, and the step. The frame, unless the world is down.
    /// `panics` says whether the step fails, and is not asked while the world is down; `census` counts the sessions of a world;
    /// `dismissals` receives what the search adds to the inbox.
    pub(crate) fn tick(
        &mut self,
        now: Instant,
        tick: Tick,
        panics: impl FnOnce() -> bool,
        census: impl Fn(WorldId) -> WorldCensus,
        dismissals: &mut Vec<Command>,
    ) -> Option<&mut Frame> {
        self.has_frame = false;
        self.run_restart(now, &census, dismissals);
        self.inbox.extend_from_slice(dismissals);
        if self.restart.is_down() {
            // Its inbox is not read, and senders to other worlds must not wait for it.
            self.inbox.clear();
            return None;
        }
        self.step(now, tick, panics());
        self.has_frame.then_some(&mut self.frame)
    }

    /// From now on it leaves its state to be persisted there.
    pub(crate) fn set_journal_buffer(&mut self, journal_buffer: Arc<JournalBuffer>) {
        self.journal_buffer = Some(journal_buffer);
    }

    /// Keeps the state before each step from now on.
    pub(crate) fn keep_stale(&mut self) {
        self.stale = Some(self.life.world().snapshot());
    }

    /// The state before the last step, if it is kept.
    pub(crate) fn stale_snapshot(&self) -> Option<&[u8]> {
        self.stale.as_deref()
    }

    fn id(&self) -> WorldId {
        self.life.config().id
    }

    /// World time of a step.
    pub(crate) fn dt(&self) -> Duration {
        self.spec.dt()
    }

    /// The step as a worker of the pool makes it, with the pool's handling of a panic.
    fn step(&mut self, now: Instant, tick: Tick, panics: bool) {
        if panics {
            // Without the message of the panic hook, which says nothing here.
            self.life.arm(Box::new(|| resume_unwind(Box::new("a fault of the scenario"))));
        }
        if self.stale.is_some() {
            self.stale = Some(self.life.world().snapshot());
        }
        let reload = self.casts.ordered_reload(self.life.config().cast.as_ref(), &self.inbox);
        if let Some((writer, reload)) = self.writer.as_mut().zip(reload.as_ref()) {
            writer.cast(reload.to()).expect(IN_MEMORY);
        }
        if let Some(reload) = reload {
            self.life.offer_reload(reload);
        }
        let taken = self.writer.as_ref().map(|_| self.inbox.clone());
        let dt = self.dt();
        let Self { life, inbox, frame, .. } = self;
        let step = || life.step(now, tick, dt, 1.0, inbox, frame);
        match catch_unwind(AssertUnwindSafe(step)) {
            Ok(()) => self.has_frame = true,
            Err(_) if panics => {
                self.restart.note_panic(now);
            }
            Err(bug) => resume_unwind(bug),
        }
        if let Some(commands) = taken {
            self.record_step(now, tick, commands);
        }
    }

    /// Begins a recording, between two ticks.
    pub(crate) fn begin_recording(&mut self) {
        let config = self.life.config();
        let about = About::new(&format!("Region {}", config.id.0), "sim", 0, config);
        let snapshot = self.life.world().snapshot();
        self.writer = Some(
            Writer::begin(Vec::new(), &about, &config.terrain, &config.scenery, &snapshot).expect(IN_MEMORY),
        );
    }

    /// The recording; it ends with the first panic, or now.
    pub(crate) fn take_recording(&mut self) -> Option<Vec<u8>> {
        self.end_recording(Ending::Complete);
        self.recorded.take()
    }

    fn record_step(&mut self, at: Instant, tick: Tick, commands: Vec<Command>) {
        let dt = self.dt();
        let Some(writer) = &mut self.writer else { return };
        let state_hash = self.has_frame.then_some(self.frame.state_hash);
        let step = Step { tick, at, dt, dilation: 1.0, commands, state_hash };
        writer.step(&step).expect(IN_MEMORY);
        if state_hash.is_none() {
            self.end_recording(Ending::Panicked);
        }
    }

    fn end_recording(&mut self, ending: Ending) {
        if let Some(writer) = self.writer.take() {
            self.recorded = Some(writer.finish(ending).expect(IN_MEMORY).0);
        }
    }

    /// Runs the due task of a restart.
    fn run_restart(
        &mut self,
        now: Instant,
        census: &impl Fn(WorldId) -> WorldCensus,
        dismissals: &mut Vec<Command>,
    ) {
        while let Some(task) = self.restart.poll(now) {
            let census = census(self.id());
            match task {
                RestartTask::Begin => {
                    let in_a_row = self.restart.in_a_row();
                    match &self.journal_buffer {
                        Some(journal_buffer) => {
                            drop(journal_buffer.begin_again(&mut self.life, in_a_row, &self.spec.name));
                        }
                        None => drop(self.life.begin_again(in_a_row)),
                    }
                    self.restart.note_begun(now, self.life.config().epoch);
                    dismissals.extend(census.dismissals(self.life.world().sessions()));
                }
                RestartTask::Sweep => dismissals.extend(census.dismissals(self.life.world().sessions())),
                RestartTask::CheckReturn => {
                    let present: BTreeSet<SessionKey> = self.life.world().sessions().collect();
                    let n_missing = census.n_missing(|session| present.contains(&session));
                    self.restart.note_return(now, self.life.config().epoch, n_missing);
                }
            }
        }
    }

    /// True while it waits for its next life.
    pub(crate) fn is_down(&self) -> bool {
        self.restart.is_down()
    }

    /// True while the world is down, or may still hold avatars of sessions that ended meanwhile.
    pub(crate) fn is_recovering(&self, now: Instant) -> bool {
        let begun_at = self.restart.begun_at();
        self.restart.is_down() || begun_at.is_some_and(|at| now.since(at) <= 2 * SWEEP_PERIOD)
    }

    /// Times that the world restarted.
    pub(crate) fn restarts(&self) -> u32 {
        let Epoch(epoch) = self.life.config().epoch;
        epoch
    }
}
