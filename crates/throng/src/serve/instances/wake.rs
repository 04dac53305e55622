//! Making and waking: an instance comes into the pool when somebody is about to go in. Its world is made by a long task.

use super::admission::Promise;
use super::entry::{Active, State, Work};
use super::ledger::Ledger;
use super::occupancy::TableGuard;
use super::table::Seat;
use super::{Instances, Refusal, TableRefusal};
use crate::serve::long::{self, LongFailure};
use crate::serve::worlds::{Founding, Stepper};
use gateway::places::Scene;
use ids::{Epoch, Instant, Uuid, WorldId};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use store::Part;
use telemetry::allocations;
use telemetry::recorder::{Arg, Scope};
use world::saved::{self, SavedError};
use world::{Life, World, WorldConfig};

/// One instance, from the store into the pool.
static WAKE: Scope = Scope::new("instances.wake").arg(Arg::World).limit_us(500_000);

/// Who was woken for somebody is left alone until they are there.
const EXPECTED: Duration = Duration::from_secs(10);
/// What a world without and with each NPC takes to be made or woken, about.
const MAKE_ESTIMATE: Duration = Duration::from_millis(1);
const MAKE_NPC_ESTIMATE: Duration = Duration::from_micros(50);
/// Instances that are tried when there is room for one less.
const ROOM_TRIES: u32 = 4;

/// A world, and how many bytes its making kept.
pub(super) struct Made {
    pub(super) world: World,
    pub(super) kept_bytes: i64,
}

/// What a world is made of.
pub(super) struct Seated {
    scene: Arc<Scene>,
    pub(super) config: WorldConfig,
    reverted_from: Option<u64>,
}

impl Instances {
    /// The table, with the instance in the pool: it stays there as long as the table is locked.
    pub(super) fn awake(&self, id: Uuid) -> Result<TableGuard<'_>, Refusal> {
        loop {
            let table = self.table();
            if matches!(table.get(id)?.state(), State::Active(_)) {
                return Ok(table);
            }
            drop(table);
            self.wake(id)?;
        }
    }

    /// Brings an instance into memory without a user. It is parked again like any other that has no users.
    pub(super) fn resume(&self, id: Uuid) -> Result<(), Refusal> {
        self.awake(id).map(drop)
    }

    /// Brings an instance into the pool.
    fn wake(&self, id: Uuid) -> Result<(), Refusal> {
        let wanted_at = (self.clock)();
        let turn = self.turn(id, Work::Waking)?;
        if matches!(turn.former, Some(State::Active(_))) {
            return Ok(());
        }
        let _scope = WAKE.enter(turn.world.0.into());
        let (trouble, misfit) = {
            let table = self.table();
            let entry = table.get(id)?;
            (entry.trouble.clone(), entry.misfit.clone())
        };
        if let Some(trouble) = trouble {
            return Err(TableRefusal::Trouble(trouble).into());
        }
        // It would not fit again.
        if let Some(misfit) = misfit {
            return Err(Refusal::Unfit(misfit));
        }
        // Nobody makes room for who is refused after that. The seat is given back with the turn.
        self.has_time()?;
        let seat = self.seat(turn.world)?;
        let room = self.room_for(turn.world)?;
        let made = self.restore(id, &seat)?;
        let active = self.found(seat, made, room, (self.clock)() + EXPECTED).ok_or(Refusal::Stopping)?;
        tracing::debug!(%id, world = turn.world.0, "an instance is woken");
        turn.end(active);
        self.depot.note_woken(wanted_at);
        Ok(())
    }

    /// What is kept of an instance, as a world.
    fn restore(&self, id: Uuid, seated: &Seated) -> Result<Made, Refusal> {
        let state = self.depot.read(id)?;
        let config = seated.config.clone();
        let number = config.id;
        // Nothing of it is left, which is not the same as that there never was anything.
        if state.image.is_none() && !state.damages.is_empty() {
            return Err(self.give_up(number, "is damaged and was set aside: it does not match its checksum"));
        }
        let restore = move || {
            let world = saved::restore(config, state.image.as_ref().map(|image| &*image.bytes));
            let mut world = world.map_err(|why| (Part::Image, why))?;
            let journal = state.journal.as_ref();
            let is_taken_up =
                journal.map_or(Ok(true), |journal| saved::apply_journal(&mut world, &journal.bytes));
            if !is_taken_up.map_err(|why| (Part::Journal, why))? {
                tracing::info!(world = number.0, "missions have changed since, and begin anew");
            }
            Ok(world)
        };
        match self.try_to_make(long::WAKE, seated, restore) {
            Ok(made) => made.map_err(|(part, why)| self.refuse(id, seated, part, &why)),
            // It would again, in a thread that others wait for.
            Err(Refusal::Long(LongFailure::Panicked(why))) => {
                tracing::error!(%id, why, "nothing can be made of what is saved of an instance");
                Err(self.set_misfit(seated, &format!("nothing can be made of it: {why}")))
            }
            Err(why) => Err(why),
        }
    }

    /// Has a world made by a long task of this kind, and waits for it.
    pub(super) fn make_world(
        &self,
        kind: &'static str,
        seated: &Seated,
        make: impl FnOnce() -> World + Send + 'static,
    ) -> Result<Made, Refusal> {
        let made = self.try_to_make(kind, seated, || Ok::<_, Infallible>(make()))?;
        Ok(made.unwrap_or_else(|never| match never {}))
    }

    /// Likewise, where it may turn out that none can be made.
    fn try_to_make<E: Send + 'static>(
        &self,
        kind: &'static str,
        seated: &Seated,
        make: impl FnOnce() -> Result<World, E> + Send + 'static,
    ) -> Result<Result<Made, E>, Refusal> {
        let n_npcs = seated.config.cast.as_ref().map_or(0, |cast| cast.len());
        let estimated = MAKE_ESTIMATE + MAKE_NPC_ESTIMATE * n_npcs as u32;
        let spec = (kind, seated.scene.name.clone(), estimated);
        let counted = move || {
            let before = allocations::held_here();
            make().map(|world| Made { world, kept_bytes: allocations::held_here() - before })
        };
        Ok(long::run(&self.long, spec, move |_| counted())?)
    }

    /// Nothing can be made of a state. Its checksum is right, so that it is what some build of ours wrote: it stays where it is, for one that
    /// can read it.
    fn refuse(&self, id: Uuid, seated: &Seated, part: Part, why: &SavedError) -> Refusal {
        if !why.is_damage() {
            tracing::warn!(%id, %part, %why, "a state of an instance fits nothing that there is here");
            return self.set_misfit(seated, &format!("it does not fit: {why}"));
        }
        self.depot.note_damage();
        tracing::error!(%id, %part, %why, "nothing can be made of what is saved of an instance");
        self.give_up(seated.config.id, &format!("is left as it is, since nothing can be made of it: {why}"))
    }

    /// Lets nobody in until the template's files say something else, or the server starts again.
    fn set_misfit(&self, seated: &Seated, why: &str) -> Refusal {
        let why = Arc::from(format!("Its saved state is left as it is: {why}."));
        self.table().set_misfit(seated.config.id, seated.config.cast.as_ref(), &why);
        Refusal::Unfit(why)
    }

    /// Lets nobody in any more. What the store does not say by itself is tried again after the next start.
    fn give_up(&self, world: WorldId, why: &str) -> Refusal {
        let trouble = format!("Its saved state {why}.");
        self.table().set_trouble(world, &trouble);
        TableRefusal::Trouble(trouble.into()).into()
    }

    /// Puts a world into the pool; none once the server stops.
    pub(super) fn found(
        &self,
        seat: Seated,
        made: Made,
        room: Promise<'_>,
        rests_until: Instant,
    ) -> Option<State> {
        let Seated { scene, config, reverted_from } = seat;
        let Made { world, kept_bytes } = made;
        let held_before = allocations::held_here();
        let id = config.id;
        let ledger = Arc::new(Ledger::new(self.depot.sequences()));
        ledger.begin(&world);
        ledger.set_reverted_from(reverted_from);
        // One after the other takes its checkpoints.
        let share = (id.0 % 64) as f32 / 64.0;
        let (stepper, waiting) = Stepper::found(Founding {
            scene: Arc::clone(&scene),
            life: Life::of(world, config, share).kept(),
            ledger: Arc::clone(&ledger),
            sessions: Arc::clone(&self.sessions),
            dead_reckoning: self.dead_reckoning,
            timing: self.timing.clone(),
            lateness: self.lateness.clone(),
            clock: Arc::clone(&self.clock),
        });
        let inbox = self.workplace.take_in(stepper, waiting)?;
        self.inboxes.add(id, inbox);
        // Its template's files may have been read again while it was made.
        self.catch_up(id);
        let mut active = Active::new(scene, ledger, (self.clock)(), rests_until);
        active.kept_bytes = kept_bytes + allocations::held_here() - held_before;
        active.bytes = room.keep(active.kept_bytes);
        Some(State::Active(Box::new(active)))
    }

    /// What a world is made of; if need be, another instance in which nobody is makes room for it.
    pub(super) fn seat(&self, world: WorldId) -> Result<Seated, Refusal> {
        for _ in 0..ROOM_TRIES {
            let seat = self.table().seat(world);
            match seat {
                Err(TableRefusal::ActiveFull(_)) => {}
                seat => return Ok(self.configure(seat?)),
            }
            let Ok(idle) = self.longest_empty() else { break };
            self.park_these(vec![idle])?;
        }
        let seat = self.table().seat(world)?;
        Ok(self.configure(seat))
    }

    pub(super) fn configure(&self, seat: Seat) -> Seated {
        let Seat { id, scene, cast, reverted_from } = seat;
        let land = &scene.land;
        let config = WorldConfig {
            id: scene.world,
            // Another one than that of the state that it may go on from: its frames are numbered from 0, and replicas begin with them.
            epoch: Epoch(self.depot.next_sequence() as u32),
            size_m: land.size_m,
            local_ids: scene.local_ids.clone(),
            terrain: Arc::clone(&land.terrain),
            scenery: Arc::clone(&land.scenery),
            cast,
            water_m: land.water_m,
            max_avatars: scene.max_avatars as usize,
            seed: id.as_u64_pair().0,
        };
        Seated { scene, config, reverted_from }
    }
}
