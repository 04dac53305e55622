//! A world with the checkpoints for its restart after a panic.
//!
//! A host steps its world through a [`Life`], which keeps two checkpoints of it. After a panic inside [`Life::step`],
//! [`Life::begin_again`] makes the next epoch's world from one of them. It neither catches the panic nor decides when the world may
//! begin again: that is the caller's part, as are the visitors that came and went since the checkpoint.
//!
//! Invariants across lives, so that no replica confuses the new life with the old:
//!
//! - *Local ids* handed out after the checkpoint are not handed out again: an id stands for one presence of one session in all epochs,
//!   until the ids of the world are used up and begin again.
//! - *Tickets* of transfers are not given again either. A life that has lost some says so ([`link::Transfer::Undone`]).
//! - *Ticks* continue after the one that failed: the caller never steps a tick twice. So a change in the new epoch has a later tick than
//!   all frames of the former one.
//! - *Commands* of the step that failed are lost. The new epoch never gets them, since they may have caused the panic.
//!
//! A world with a new cast is on trial: its former checkpoint and cast are kept for [`Life::TRIAL`], and a second panic within that
//! time restores both.

use crate::{
    cast::NpcCast,
    local_ids::IdsUsed,
    npc::CastReload,
    progress::ProgressError,
    snapshot::{Checkpoint, RestoreError},
    world::{BuiltState, World, WorldConfig, system},
};
use ids::{Epoch, Instant, Tick, Ticket};
use link::{Command, Frame, StoredObjects};
use std::{fmt, sync::Arc, time::Duration};
use telemetry::recorder::Scope;

mod baggage;

pub use baggage::LifeBaggage;

/// It comes every few seconds, and the visitors should not see it.
static CHECKPOINT: Scope = system("world.checkpoint", 10);

/// Code to run inside a step, as an injected fault.
pub type Fault = Box<dyn FnOnce() + Send>;

/// A world under way.
pub struct Life {
    config: WorldConfig,
    world: World,
    /// As of the last step that ended.
    ids: IdsUsed,
    /// Tickets from before this life, and the last one as of the last step that ended.
    tickets: (Ticket, Ticket),
    /// Time of the next checkpoint, on the grid of this world.
    next_at: Instant,
    newest: Option<Checkpoint>,
    /// The one before: the newest may have been taken of a state that cannot go on.
    older: Option<Checkpoint>,
    /// State before the cast that is on trial.
    former: Option<Former>,
    /// The memory of a checkpoint that is not needed any more. From the first change of the cast on, and as long as it lives, a world keeps
    /// three of them: to free one takes too long for a step, and the next change needs it again.
    spare: Option<Checkpoint>,
    /// Panics in a row, as the caller counted them last.
    panics: u32,
    /// Of these, those before the world changed to another cast, or back: other casts' panics do not count.
    forgiven: u32,
    /// True if a checkpoint may contain visitors.
    keeps_visitors: bool,
    fault: Option<Fault>,
    /// The fault comes in the midst of a change of objects.
    is_amid_change: bool,
}

/// A world before it went over to another cast.
struct Former {
    checkpoint: Checkpoint,
    cast: Arc<NpcCast>,
    /// World time that the other one has still to last.
    left: Duration,
}

/// Origin of a new life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The newest checkpoint.
    Newest,
    /// The one before.
    Older,
    /// One from before it went over to another cast, on which it was given up: it has the one before again.
    Former,
    /// Nothing but objects and land: a new world. Its visitors come in again.
    Empty,
}

impl Life {
    /// Time between two checkpoints: the maximum rollback of a restart. Visitors that arrived since then enter again where they were.
    pub const CHECKPOINT_PERIOD: Duration = Duration::from_secs(4);

    /// World time without a panic after which a new cast, given by a reload ([`Life::offer_reload`]), is trusted. Until then the maximum rollback is
    /// `TRIAL + CHECKPOINT_PERIOD`.
    pub const TRIAL: Duration = Duration::from_secs(30);

    /// The first life of a world. `share`, 0 to 1, is its place in the period: worlds of a node that have different ones take
    /// their checkpoints in different ticks.
    ///
    /// # Panics
    /// As [`World::new`].
    #[must_use]
    pub fn new(config: WorldConfig, share: f32) -> Self {
        Self::of(World::new(config.clone()), config, share)
    }

    /// As [`Life::new`], of a world that was restored into this configuration.
    ///
    /// # Panics
    /// When it is another one's.
    #[must_use]
    pub fn of(world: World, config: WorldConfig, share: f32) -> Self {
        assert_eq!(
            (world.setting.id, world.setting.epoch),
            (config.id, config.epoch),
            "a world of another configuration"
        );
        let offset = Self::CHECKPOINT_PERIOD.mul_f32(share.clamp(0.0, 1.0));
        let ids = world.ids_used();
        let tickets = (world.last_ticket(), world.last_ticket());
        let newest = world.is_built_on().then(|| world.recovery_checkpoint());
        // The world and its checkpoints have objects and land; their former states would stay in memory here.
        let objects = config.objects.map(|_| StoredObjects::default());
        let config = WorldConfig { objects, land: None, ..config };
        Self {
            config,
            world,
            ids,
            tickets,
            next_at: Instant::ZERO + offset,
            newest,
            older: None,
            former: None,
            spare: None,
            panics: 0,
            forgiven: 0,
            keeps_visitors: true,
            fault: None,
            is_amid_change: false,
        }
    }

    /// Takes a checkpoint now, of a world that was restored: should it panic before the next one is due, it is not to begin empty.
    #[must_use]
    pub fn kept(mut self) -> Self {
        self.newest = Some(self.world.recovery_checkpoint());
        self
    }

    /// The world.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// [`World::take_up_progress`].
    ///
    /// # Errors
    /// As that one's.
    pub fn take_up_progress(&mut self, bytes: &[u8]) -> Result<(), ProgressError> {
        self.world.take_up_progress(bytes)
    }

    /// Configuration of this epoch.
    #[must_use]
    pub const fn config(&self) -> &WorldConfig {
        &self.config
    }

    /// [`World::step`], and a checkpoint behind it when one is due.
    pub fn step(
        &mut self,
        now: Instant,
        tick: Tick,
        dt: Duration,
        dilation: f32,
        commands: &mut Vec<Command>,
        out: &mut Frame,
    ) {
        if let Some(reload) = self.world.take_ordered_reload(commands) {
            self.carry_out(&reload);
        }
        self.world.step(tick, dt, dilation, commands, out);
        out.at = now;
        if let Some(fault) = self.fault.take() {
            if std::mem::take(&mut self.is_amid_change) {
                self.world.spoil_journal();
            }
            fault();
        }
        self.ids = self.world.ids_used();
        self.tickets.1 = self.world.last_ticket();
        self.try_cast(dt);
        if now >= self.next_at {
            let _scope = CHECKPOINT.enter(self.config.id.0.into());
            self.next_at = next_on_grid(self.next_at, now);
            self.take_checkpoint();
        }
        self.keeps_visitors |= self.world.n_avatars() > 0;
        if self.keeps_visitors && self.world.n_avatars() == 0 {
            self.forget_visitors();
        }
    }

    /// Takes a checkpoint between two steps, because it is due, or before an ordered restart, which is to roll nothing back.
    pub fn take_checkpoint(&mut self) {
        // The newest stays until there is another one: an interruption leaves one whole.
        let memory = std::mem::replace(&mut self.older, self.newest.take());
        self.newest = Some(self.checkpoint_into(memory));
    }

    /// Drops the visitors of all checkpoints once the last one has left. The world may sleep now, and take no further checkpoint: a few
    /// hundred bytes of each of a crowd that has gone would stay, and with each of them a page of memory.
    fn forget_visitors(&mut self) {
        let former = self.former.as_mut().map(|former| &mut former.checkpoint);
        let kept = [self.newest.as_mut(), self.older.as_mut(), self.spare.as_mut(), former];
        kept.into_iter().flatten().for_each(Checkpoint::forget_visitors);
        self.keeps_visitors = false;
    }

    /// A checkpoint, in the memory of a former one if there is any.
    fn checkpoint_into(&mut self, memory: Option<Checkpoint>) -> Checkpoint {
        match memory.or_else(|| self.spare.take()) {
            Some(mut checkpoint) => {
                self.world.checkpoint_into(&mut checkpoint);
                checkpoint
            }
            None => self.world.recovery_checkpoint(),
        }
    }

    /// Trusts another cast once the world has lived with it for long enough.
    fn try_cast(&mut self, dt: Duration) {
        let Some(former) = &mut self.former else { return };
        former.left = former.left.saturating_sub(dt);
        if former.left.is_zero() {
            self.spare = self.former.take().map(|former| former.checkpoint);
        }
    }

    /// Runs `fault` in the next step at the worst moment: the world has consumed the commands and changed, but sent no frame. For tests
    /// and experiments; a fault that panics panics the world.
    pub fn arm(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// As [`Life::arm`], in the midst of a change of objects: behind a panic the objects are those of a checkpoint.
    pub fn arm_amid_change(&mut self, fault: Fault) {
        self.is_amid_change = true;
        self.arm(fault);
    }

    /// Replaces the world, between two steps, by one restored from its own snapshot, in the same epoch; replicas see no difference.
    ///
    /// # Errors
    /// If the world cannot read its own snapshot.
    pub fn reload(&mut self) -> Result<(), RestoreError> {
        let former = self.world.progress_version();
        self.world = World::restore(self.config.clone(), &self.world.snapshot())?;
        self.world.outlive(former);
        Ok(())
    }

    /// [`World::offer_reload`], for this life and those that follow. The former cast is kept for [`Life::TRIAL`].
    pub fn offer_reload(&mut self, reload: Arc<CastReload>) {
        self.world.offer_reload(reload);
    }

    fn carry_out(&mut self, reload: &CastReload) {
        let Some(cast) = self.config.cast.clone().filter(|cast| Arc::ptr_eq(cast, reload.from())) else {
            self.world.counters.ignored += 1;
            return;
        };
        // A panic in the following lines needs a checkpoint of the state before.
        if self.newest.is_none() {
            self.newest = Some(self.world.recovery_checkpoint());
        }
        let is_done = self.world.carry_out(reload);
        assert!(is_done, "a world has the cast of its configuration");
        self.config.cast = Some(Arc::clone(reload.to()));
        let memory = self.older.take();
        let newest = self.checkpoint_into(memory);
        let before = self.newest.replace(newest);
        match &mut self.former {
            // The cast before this one was still on trial too.
            Some(former) => (former.left, self.spare) = (Self::TRIAL, before),
            None => {
                self.former = before.map(|checkpoint| Former { checkpoint, cast, left: Self::TRIAL });
            }
        }
        self.forgiven = self.panics;
    }

    /// Begins the next epoch, after a step that panicked. The first attempt (`in_a_row` is 1) restores the newest checkpoint, the second one
    /// the older checkpoint; later attempts begin with an empty world. A missing checkpoint, and one that describes no possible world, is
    /// skipped.
    ///
    /// With a cast on trial, the second attempt restores the state before it. Attempts are counted from 0 after that, and after each
    /// change of the cast.
    ///
    /// Objects and land are those of the last frame in any case; after a panic in the midst of a change of objects, these are those of the checkpoint.
    ///
    /// Returns the former world; the caller drops it off the tick's path.
    pub fn begin_again(&mut self, in_a_row: u32) -> (Beginning, World) {
        let Epoch(former) = self.world.epoch();
        let Epoch(configured) = self.config.epoch;
        self.config.epoch = Epoch(configured + 1);
        // A lower count than before means that the row of panics had ended.
        if in_a_row <= self.forgiven {
            self.forgiven = 0;
        }
        self.panics = in_a_row;
        let built = self.world.roll_back();
        let has_gone_back = built.objects.is_none();
        let (beginning, mut world) = self.next_life(in_a_row - self.forgiven, &built);
        assert_eq!(world.epoch(), Epoch(former + 1), "a life has the epoch after the former one");
        world.skip_ids(self.ids);
        let (began, last) = self.tickets;
        world.continue_tickets(began, last, has_gone_back);
        self.tickets.1 = world.last_ticket();
        world.counters = self.world.counters;
        world.outlive(self.world.progress_version());
        world.ask_for_snapshot();
        if beginning == Beginning::Empty && world.is_built_on() {
            // The others have been given up, and it is not to begin without its objects and its land.
            self.newest = Some(world.checkpoint());
        }
        (beginning, std::mem::replace(&mut self.world, world))
    }

    /// The world of the next epoch, with objects and land of the last frame as far as they are known. `attempt` counts the panics in a row, from 1, that the current
    /// cast and checkpoints have had.
    fn next_life(&mut self, attempt: u32, built: &BuiltState) -> (Beginning, World) {
        let is_given_up = self.former.is_some() && attempt > 1;
        if !is_given_up {
            let checkpoints = [(Beginning::Newest, &self.newest), (Beginning::Older, &self.older)];
            let tried_before = attempt.saturating_sub(1) as usize;
            let resumed = checkpoints.into_iter().skip(tried_before).find_map(|(beginning, checkpoint)| {
                let world =
                    World::resume_with(self.config.clone(), checkpoint.as_ref()?, built.clone()).ok()?;
                Some((beginning, world))
            });
            if let Some(resumed) = resumed {
                if let Some(former) = &mut self.former {
                    former.left = Self::TRIAL;
                }
                return resumed;
            }
        }
        let checkpoints = [self.newest.take(), self.older.take()];
        let saved = checkpoints.into_iter().flatten().next().map(Checkpoint::into_built).unwrap_or_default();
        let BuiltState { objects, land } = built.clone();
        let built = BuiltState { objects: objects.or(saved.objects), land: land.or(saved.land) };
        let gone_back = self.former.take().and_then(|former| self.go_back(former, built.clone()));
        gone_back.unwrap_or_else(|| {
            let BuiltState { objects, land } = built;
            let objects = objects.or_else(|| self.config.objects.clone());
            (Beginning::Empty, World::new(WorldConfig { objects, land, ..self.config.clone() }))
        })
    }

    /// Takes up the cast that was before, and the state with it.
    fn go_back(
        &mut self,
        Former { checkpoint, cast, .. }: Former,
        built: BuiltState,
    ) -> Option<(Beginning, World)> {
        self.config.cast = Some(cast);
        self.forgiven = self.panics;
        let world = World::resume_with(self.config.clone(), &checkpoint, built).ok()?;
        self.newest = Some(checkpoint);
        Some((Beginning::Former, world))
    }
}

impl fmt::Debug for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Life").field("world", &self.world).finish_non_exhaustive()
    }
}

/// The next time after `now` on a grid that `due_at` lies on.
fn next_on_grid(due_at: Instant, now: Instant) -> Instant {
    let period = Life::CHECKPOINT_PERIOD.as_nanos() as u64;
    let missed = now.since(due_at).as_nanos() as u64 / period;
    Instant(due_at.0 + (missed + 1) * period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{Quat, Vec3};
    use ids::{AgentId, SessionKey, Uuid, WorldId};
    use link::{
        Action, Derez, DerezKind, Enter, Motion, NewObject, ObjectChange, ObjectCommand, PrimFlags, Terrain,
        Transfer,
    };
    use prim::Shape;

    fn config() -> WorldConfig {
        WorldConfig {
            id: WorldId(0),
            epoch: Epoch(0),
            size_m: 256,
            local_ids: 1..100,
            terrain: Arc::new(Terrain::flat(256, 21.0)),
            scenery: Arc::default(),
            objects: None,
            land: None,
            cast: None,
            water_m: 20.0,
            max_avatars: 10,
            seed: 1,
        }
    }

    #[test]
    #[should_panic(expected = "a life has the epoch after the former one")]
    fn a_life_without_the_next_epoch_does_not_begin() {
        let mut life = Life::new(config(), 0.0);
        life.config.epoch = Epoch(5);
        let _ = life.begin_again(1);
    }

    #[test]
    fn checkpoints_keep_no_visitor_once_all_have_left() {
        let mut life = Life::new(config(), 0.0);
        let mut frame = Frame::empty();
        let visitor = |n: u64| Enter {
            agent: AgentId(Uuid::from_u128(n.into())),
            first_name: "Ada".into(),
            last_name: "Resident".into(),
            position: Vec3::splat(50.0),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        };
        let mut tick = 0;
        let mut step = |life: &mut Life, n: u64, action: Action| {
            let command = Command::by_session(SessionKey(n), tick, action);
            // Each step is beyond the next checkpoint.
            let now = Instant(tick * Life::CHECKPOINT_PERIOD.as_nanos() as u64);
            life.step(now, Tick(tick), Duration::from_millis(50), 1.0, &mut vec![command], &mut frame);
            tick += 1;
            [&life.newest, &life.older].map(|kept| kept.as_ref().map_or(0, Checkpoint::n_avatars))
        };
        step(&mut life, 1, Action::Enter(Box::new(visitor(1))));
        assert_eq!(step(&mut life, 2, Action::Enter(Box::new(visitor(2)))), [2, 1]);
        assert_eq!(step(&mut life, 2, Action::Leave), [1, 2]);
        assert_eq!(step(&mut life, 1, Action::Leave), [0, 0]);
        let (beginning, _) = life.begin_again(2);
        assert_eq!((beginning, life.world().n_avatars()), (Beginning::Older, 0));
    }

    #[test]
    fn a_life_that_goes_back_to_a_checkpoint_takes_its_later_tickets_back() {
        let objects = Some(StoredObjects::default());
        let mut life = Life::new(WorldConfig { local_ids: 1 << 20..2 << 20, objects, ..config() }, 0.0);
        let mut frame = Frame::empty();
        let mut step = |life: &mut Life, tick: u64, now: Instant, action: Action| {
            let mut commands = vec![Command::by_session(SessionKey(1), tick, action)];
            life.step(now, Tick(tick), Duration::from_millis(50), 1.0, &mut commands, &mut frame);
            frame.clone()
        };
        let visitor = Enter {
            agent: AgentId(Uuid::from_u128(1)),
            first_name: "Ada".into(),
            last_name: "Resident".into(),
            position: Vec3::splat(50.0),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        };
        let create = |n| {
            Action::Object(Box::new(ObjectCommand::Create(Box::new(NewObject {
                id: Uuid::from_u128(n),
                created_us: 0,
                p_code: 9,
                state: 0,
                material: 3,
                shape: Shape::BOX,
                scale: Vec3::splat(0.5),
                position: Vec3::splat(50.0),
                ray: None,
                rotation: Quat::IDENTITY,
                group: Uuid::nil(),
                flags: PrimFlags::default(),
                is_selected: false,
            }))))
        };
        step(&mut life, 0, Instant::ZERO, Action::Enter(Box::new(visitor)));
        step(&mut life, 1, Instant::ZERO, create(1));
        let checkpoint_at = Instant::ZERO + Life::CHECKPOINT_PERIOD;
        let made = step(&mut life, 2, checkpoint_at, create(2));
        let [ObjectChange::Set { id, .. }] = made.objects[..] else { panic!("{made:?}") };
        let (folder, transaction) = (Uuid::nil(), Uuid::nil());
        let take = Derez { objects: vec![id], kind: DerezKind::Take, folder, transaction };
        step(&mut life, 3, checkpoint_at, Action::Object(Box::new(ObjectCommand::Derez(take))));
        assert_eq!(life.world.last_ticket(), Ticket(1));
        // A panic in the midst of a change.
        let objects = life.world.objects.as_mut().expect("built on");
        let other = objects.local_id(Uuid::from_u128(1)).expect("it stayed");
        objects.set_motion(other, Motion::default()).expect("it is there");
        objects.begin_step();
        assert_eq!(life.begin_again(1).0, Beginning::Newest);
        let shown = step(&mut life, 5, checkpoint_at, Action::AlwaysRun(true)).snapshot.expect("asked for");
        let undone = Transfer::Undone { first: Ticket(1), last: Ticket(1) };
        assert_eq!(shown.transfers, [(Ticket(2), undone)]);
        assert!(shown.objects[0].prims().any(|(shown, ..)| shown == id), "it is back");
    }
}
