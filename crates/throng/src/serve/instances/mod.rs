//! Instances: worlds that are made from a template, for whoever is sent into them.
//!
//! [`Table`] says which there are and may be. Each is in the store from its making on (`depot`); in the pool it is only while somebody
//! is in it or was a moment ago (`park`). What must not get lost of those in the pool the `journal` thread writes down every second. What
//! takes long (a world made, woken, dropped) long tasks do; who asked for a world waits on a thread that may, never one that a frame waits
//! for. Saving is the `journal` thread's own: it has a second's promise to keep, and shall not wait behind a long task. `recasting` reads a
//! template's files again, and `admission` says whether there is memory and time for one more.

mod admission;
mod api;
mod depot;
mod entry;
mod journal;
mod keeper;
mod ledger;
mod map;
mod occupancy;
mod owners;
mod park;
mod quotas;
mod recasting;
mod script;
mod table;
mod templates;
#[cfg(test)]
mod tests;
mod turns;
mod wake;

pub(super) use admission::Admission;
pub(super) use api::router;

pub(super) use depot::Depot;
pub(super) use journal::write_journal;
pub(super) use keeper::{ORDERS_MAX, keep};
pub(super) use ledger::Ledger;
pub(super) use owners::Owners;
pub(super) use quotas::{QuotaRefusal, Quotas};
pub(super) use script::ScriptDisk;
pub(super) use table::{Limits, Table, TableRefusal, Template};

use super::Clock;
use super::inboxes::Inboxes;
use super::long::{self, LongFailure};
use super::worlds::{Counted, INSTANCES, Workplace};
use admission::Promise;
use depot::DepotError;
use entry::{Entry, State, Work};
use gateway::hub::{Hub, Passage, PassageRefusal};
use gateway::mail::CircuitKey;
use gateway::places::Scene;
use gateway::sessions::Sessions;
use glam::Vec3;
use host::capacity::Shortage;
use ids::{AgentId, Instant, SessionKey, Uuid, WorldId};
use recasting::Recasting;
use schedule::long::LongTasks;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use table::Wanted;
use telemetry::{Counter, Metrics, Timing};
use thiserror::Error;
use world::World;

/// What instances are run with.
pub(super) struct Instances {
    table: Mutex<Table>,
    recasting: Recasting,
    /// Somebody has done with an instance.
    turns: Condvar,
    depot: Arc<Depot>,
    admission: Arc<Admission>,
    inboxes: Arc<Inboxes>,
    workplace: Workplace,
    long: LongTasks,
    sessions: Arc<Sessions>,
    clock: Clock,
    unix_start_s: u64,
    dead_reckoning: bool,
    /// How long nobody has to have been in one before it is parked.
    park_after: Duration,
    timing: Timing,
    lateness: Timing,
    /// Of what their threads do.
    panics: Counter,
    /// Of instances that have ended or were parked, until nobody else has them: with them goes all that was to be seen there, which no
    /// shard shall have to drop because it was the last to let go. No more than clients that are on their way out of one.
    ended: Mutex<Vec<Arc<Scene>>>,
}

/// What they are made of.
pub(super) struct Start<'a> {
    pub(super) table: Table,
    pub(super) depot: Arc<Depot>,
    pub(super) admission: Arc<Admission>,
    pub(super) inboxes: &'a Arc<Inboxes>,
    pub(super) workplace: Workplace,
    pub(super) long: &'a LongTasks,
    pub(super) sessions: &'a Arc<Sessions>,
    pub(super) clock: &'a Clock,
    pub(super) unix_start_s: u64,
    pub(super) dead_reckoning: bool,
    pub(super) park_after: Duration,
    pub(super) metrics: &'a Metrics,
}

/// Why something was not done.
#[derive(Debug, Error)]
pub(super) enum Refusal {
    /// The table does not have it.
    #[error(transparent)]
    Table(#[from] TableRefusal),
    /// Its maker has as many as it may.
    #[error(transparent)]
    Quota(#[from] QuotaRefusal),
    /// The node has none for another world.
    #[error("{}", in_words(*.0))]
    Shortage(Shortage),
    /// The hub does not do it.
    #[error(transparent)]
    Passage(#[from] PassageRefusal),
    /// No such user.
    #[error("{0} is not here.")]
    NotHere(String),
    /// An instance is parked when nobody is in it.
    #[error("Somebody is in that world, or it is about to begin again.")]
    InUse,
    /// There is nothing to be seen of an instance that is not in memory.
    #[error("That world is {0}: there is a map of it when somebody is in it.")]
    Resting(&'static str),
    /// What is saved of an instance is as it was written, and no world can be made of it with what there is here.
    #[error("{0}")]
    Unfit(Arc<str>),
    /// What has to be kept was not.
    #[error("The server cannot read or save worlds just now. Please try again later.")]
    Unsaved(#[from] DepotError),
    /// The system gives no random numbers.
    #[error("The system gives no random numbers: {0}.")]
    Random(getrandom::Error),
    /// It was not made.
    #[error(transparent)]
    Long(#[from] LongFailure),
    /// The pool has ended.
    #[error("The server is about to stop.")]
    Stopping,
}

const fn in_words(why: Shortage) -> &'static str {
    match why {
        Shortage::Memory => "The server has no memory for another world just now. Please try again later.",
        Shortage::Cpu => {
            "The server is busy with the worlds that people are in, and wakes no other one just now. Please try again later."
        }
    }
}

/// Whom a request means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// "First Last".
    Name(String),
    /// An account.
    Agent(Uuid),
}

/// An instance that is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Without one it gets one. With one, who asks twice gets the same.
    pub(super) id: Option<Uuid>,
    pub(super) template: String,
    /// Without one it is called as its template.
    pub(super) name: Option<String>,
    pub(super) owner: Option<AgentId>,
}

/// An instance as it is told.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) row: store::Instance,
    /// By which number its world goes.
    pub(super) world: WorldId,
    pub(super) state: &'static str,
    /// Since when; [`Instant::ZERO`] if it has been so since the server began, or longer.
    pub(super) since: Instant,
    /// Why its state is not to be had.
    pub(super) trouble: Option<String>,
    /// None when there is no such template any more.
    pub(super) template: Option<Template>,
    /// In it, or on their way into it.
    pub(super) users: usize,
    /// World time passed ÷ wall time passed, as of its last step.
    pub(super) dilation: f32,
    /// What its steps take, on average; zero before the first, and while it is parked.
    pub(super) step: Duration,
}

impl Instances {
    pub(super) fn new(start: Start<'_>) -> Self {
        let Start { table, depot, admission, inboxes, workplace, long, sessions, clock, .. } = start;
        let timing = |name, help| start.metrics.timing(name, help, &[("world", INSTANCES)]);
        Self {
            table: Mutex::new(table),
            recasting: Recasting::default(),
            turns: Condvar::new(),
            depot,
            admission,
            inboxes: Arc::clone(inboxes),
            workplace,
            long: long.clone(),
            sessions: Arc::clone(sessions),
            clock: Arc::clone(clock),
            unix_start_s: start.unix_start_s,
            dead_reckoning: start.dead_reckoning,
            park_after: start.park_after,
            timing: timing("throng_world_tick_seconds", "Duration of a step of the world."),
            lateness: timing(
                "throng_world_late_seconds",
                "Time from when a step of the world was due until it began.",
            ),
            panics: start.metrics.counter(
                "throng_instances_panics_total",
                "Orders and rounds of the threads that look after instances which ended in a panic.",
                &[],
            ),
            ended: Mutex::default(),
        }
    }

    /// Does something on a thread that has to go on although it panics; false when it did, which is counted and logged.
    fn survives(&self, thread: &'static str, work: impl FnOnce()) -> bool {
        let is_sound = catch_unwind(AssertUnwindSafe(work)).is_ok();
        if !is_sound {
            self.panics.increment(1);
            tracing::error!(thread, "a thread that looks after instances has panicked, and goes on");
        }
        is_sound
    }

    /// Makes an instance, and waits until it is. It is in the store when this returns, and sleeps until somebody comes: in the pool if
    /// there is room, else parked; without memory for it, not at all. False when there was one with this id, of the same template and owner, already.
    pub(super) fn create(&self, order: Order) -> Result<(Uuid, bool), Refusal> {
        let Order { id, template, name, owner } = order;
        let id = id.map_or_else(random_id, Ok)?;
        let created_s = (self.unix_start_s + (self.clock)().0 / 1_000_000_000).cast_signed();
        let wanted = Wanted { id, template, name, owner, created_s };
        let (row, mut turn) = loop {
            // One that is there is acknowledged once it is on the disk, whoever made it.
            if let Ok(table) = self.settled(id) {
                let known = table.get(id)?;
                let is_it = known.template.eq_ignore_ascii_case(&wanted.template) && known.owner == owner;
                return if is_it { Ok((id, false)) } else { Err(TableRefusal::Taken(id).into()) };
            }
            match self.make(wanted.clone()) {
                // Somebody else was quicker.
                Err(TableRefusal::Taken(_)) => {}
                made => break made?,
            }
        };
        let world = turn.world;
        // Before anything is on the disk: who is refused leaves nothing behind.
        let room = self.room_for_new(world)?;
        self.depot.create(&row)?;
        turn.leave_it(Some(State::Parked));
        let founded = match room.map_or(Ok(None), |room| self.begin(world, room)) {
            Ok(founded) => founded,
            // Who asked for it is told, and it shall not be there when they ask again.
            Err(why) => {
                self.depot.remove(id)?;
                turn.forget();
                return Err(why);
            }
        };
        turn.end(founded.unwrap_or(State::Parked));
        tracing::info!(%id, template = row.template, world = world.0, "an instance begins");
        Ok((id, true))
    }

    /// Makes the world of a new instance, if there may be one more in memory: others are not put out for one in which nobody is yet.
    fn begin(&self, world: WorldId, room: Promise<'_>) -> Result<Option<State>, Refusal> {
        let seat = self.table().seat(world);
        let Ok(seat) = seat else { return Ok(None) };
        let seated = self.configure(seat);
        let config = seated.config.clone();
        let made = self.make_world(long::MAKE_WORLD, &seated, move || World::new(config))?;
        // Whoever is on the way somewhere needs the room more.
        Ok(self.found(seated, made, room, Instant::ZERO))
    }

    /// Sends a session into its user's own instance of a template, which is made if there is none.
    fn enter_own(
        &self,
        circuit: CircuitKey,
        from: WorldId,
        agent: AgentId,
        template: &str,
    ) -> Result<Passage, Refusal> {
        // No world is made or woken for somebody who has gone elsewhere while the order waited.
        self.sessions.with(|hub| hub.is_in(circuit, from))?;
        let known = self.table().of_owner(agent, template).map(|entry| entry.id);
        let id = match known {
            Some(id) => id,
            None => {
                // One that could not be woken for them is not made either.
                self.has_time()?;
                let order = Order { template: template.to_owned(), owner: Some(agent), ..Order::default() };
                self.create(order)?.0
            }
        };
        self.enter_as(id, None, |hub| {
            hub.is_in(circuit, from)?;
            Ok(circuit.session)
        })
    }

    /// Sends a session to where its user was invited.
    fn follow(&self, circuit: CircuitKey, world: WorldId, position: Vec3) -> Result<Passage, Refusal> {
        let id = self.table().of_world(world).map(|entry| entry.id).ok_or(TableRefusal::Gone)?;
        // No world is woken for somebody who has teleported elsewhere while the order waited.
        self.sessions.with(|hub| hub.is_behind(circuit))?;
        self.enter_as(id, Some(position), |hub| {
            hub.is_behind(circuit)?;
            Ok(circuit.session)
        })
    }

    /// Ends an instance: everybody in it goes back to where they came from, and nothing of it is kept.
    pub(super) fn end(&self, id: Uuid) -> Result<(), Refusal> {
        // Nobody enters from here on.
        let mut turn = self.turn(id, Work::Ending)?;
        self.depot.remove(id)?;
        turn.weigh();
        let world = turn.world;
        let now = (self.clock)();
        self.sessions.with(|hub| hub.empty(now, world, "That world has ended."));
        if let Some(inbox) = self.inboxes.remove(world) {
            self.workplace.end(world, &inbox);
        }
        turn.forget();
        tracing::info!(%id, world = world.0, "an instance has ended");
        Ok(())
    }

    /// Has dropped what is left of instances that everybody has left.
    fn bury(&self) {
        let mut ended = self.ended();
        for scene in ended.extract_if(.., |scene| Arc::strong_count(scene) == 1) {
            self.workplace.dispose(scene);
        }
    }

    /// Sends a user into an instance, to a position or to where visitors arrive.
    pub(super) fn enter(&self, id: Uuid, who: &Who, position: Option<Vec3>) -> Result<Passage, Refusal> {
        // No world is woken for nobody.
        self.table().get(id)?;
        self.sessions.with(|hub| find(hub, who).map(|_| ()))?;
        self.enter_as(id, position, |hub| find(hub, who))
    }

    fn enter_as(
        &self,
        id: Uuid,
        position: Option<Vec3>,
        who: impl FnOnce(&Hub) -> Result<SessionKey, Refusal>,
    ) -> Result<Passage, Refusal> {
        let mut admitting = self.admit(id)?;
        let now = (self.clock)();
        let passage = self.sessions.with(|hub| {
            let session = who(hub)?;
            Ok::<_, Refusal>(hub.enter(now, session, &admitting.scene, position)?)
        })?;
        admitting.is_admitted = true;
        Ok(passage)
    }

    /// Sends a user back to where they were last in a shared world.
    pub(super) fn leave(&self, who: &Who) -> Result<Passage, Refusal> {
        let now = (self.clock)();
        self.sessions.with(|hub| {
            let session = find(hub, who)?;
            Ok(hub.leave(now, session)?)
        })
    }

    /// All of them, in order of their making.
    pub(super) fn list(&self) -> Vec<Account> {
        let visitors = self.sessions.with(|hub| hub.visitors());
        let table = self.table();
        let users = |world: WorldId| visitors.get(&world).copied().unwrap_or(0);
        let mut accounts: Vec<Account> =
            table.iter().map(|entry| account(&table, entry, users(entry.world))).collect();
        drop(table);
        accounts.iter_mut().for_each(|account| self.look_at(account));
        accounts
    }

    /// One of them.
    pub(super) fn get(&self, id: Uuid) -> Result<Account, Refusal> {
        let table = self.table();
        let mut account = account(&table, table.get(id)?, 0);
        drop(table);
        // As in the list.
        account.users = self.sessions.with(|hub| hub.visitors_of(account.world));
        self.look_at(&mut account);
        Ok(account)
    }

    /// Time that an instance has been in its state, as far as this life of the server goes.
    fn time_in_state(&self, account: &Account) -> Duration {
        (self.clock)().since(account.since)
    }

    /// How it fares, if it is stepped.
    fn look_at(&self, account: &mut Account) {
        if let Some(Counted { dilation, step, .. }) = self.workplace.counted(account.world) {
            (account.dilation, account.step) = (dilation, step);
        }
    }

    fn ended(&self) -> MutexGuard<'_, Vec<Arc<Scene>>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All templates, each with how many instances there are of it.
    fn templates(&self) -> Vec<(Template, usize)> {
        let mut table = self.table();
        let templates = table.templates().to_vec();
        let count = |template: Template| {
            let n = table.of_template(&template.name).count();
            (template, n)
        };
        templates.into_iter().map(count).collect()
    }

    /// What is to be seen of an instance that runs.
    fn scene(&self, id: Uuid) -> Result<Arc<Scene>, Refusal> {
        match self.table().get(id)?.state() {
            State::Active(active) => Ok(Arc::clone(&active.scene)),
            other => Err(Refusal::Resting(other.as_str())),
        }
    }

    /// Whether there is such an instance.
    fn is_there(&self, id: Uuid) -> bool {
        self.table().get(id).is_ok()
    }
}

fn account(table: &Table, entry: &Entry, users: usize) -> Account {
    Account {
        row: entry.row(),
        world: entry.world,
        state: entry.state().as_str(),
        since: entry.since,
        trouble: entry.told_trouble().map(str::to_owned),
        template: table.template(&entry.template).ok().cloned(),
        users,
        dilation: 1.0,
        step: Duration::ZERO,
    }
}

fn random_id() -> Result<Uuid, Refusal> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(Refusal::Random)?;
    Ok(uuid::Builder::from_random_bytes(id).into_uuid())
}

fn find(hub: &Hub, who: &Who) -> Result<SessionKey, Refusal> {
    let (found, name) = match who {
        Who::Name(name) => (hub.session_named(name), format!("{name:?}")),
        Who::Agent(id) => (hub.session_of(AgentId(*id)), id.to_string()),
    };
    found.ok_or(Refusal::NotHere(name))
}
