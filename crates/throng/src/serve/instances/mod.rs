//! Instances: worlds that are made from a template while the server runs, for whoever is sent into them.
//!
//! [`Table`] says which there are and may be; here they get their place in the pool, and lose it. What takes long (a world made, a world
//! dropped) happens on the caller's thread, which is never one that a frame waits for.

mod api;
mod keeper;
mod script;
mod table;

pub(super) use api::router;
pub(super) use keeper::{ORDERS_MAX, keep};
pub(super) use script::load;
pub(super) use table::{Entry, Table, TableRefusal, Template};

use super::Clock;
use super::inboxes::Inboxes;
use super::worlds::{Founding, INSTANCES, Stepper, Workplace};
use gateway::hub::{Passage, PassageRefusal};
use gateway::sessions::Sessions;
use glam::Vec3;
use ids::{AgentId, Epoch, SessionKey, Uuid};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use telemetry::{Metrics, Timing};
use thiserror::Error;
use world::WorldConfig;

/// What instances are run with.
pub(super) struct Instances {
    table: Mutex<Table>,
    inboxes: Arc<Inboxes>,
    workplace: Workplace,
    sessions: Arc<Sessions>,
    clock: Clock,
    dt: Duration,
    dead_reckoning: bool,
    timing: Timing,
    lateness: Timing,
}

/// What they are made of.
pub(super) struct Start<'a> {
    pub(super) table: Table,
    pub(super) inboxes: &'a Arc<Inboxes>,
    pub(super) workplace: Workplace,
    pub(super) sessions: &'a Arc<Sessions>,
    pub(super) clock: &'a Clock,
    pub(super) dt: Duration,
    pub(super) dead_reckoning: bool,
    pub(super) metrics: &'a Metrics,
}

/// Why something was not done.
#[derive(Debug, Error)]
pub(super) enum Refusal {
    /// The table does not have it.
    #[error(transparent)]
    Table(#[from] TableRefusal),
    /// The hub does not do it.
    #[error(transparent)]
    Passage(#[from] PassageRefusal),
    /// No such user.
    #[error("{0} is not here.")]
    NotHere(String),
    /// The system gives no random numbers.
    #[error("The system gives no random numbers: {0}.")]
    Random(getrandom::Error),
    /// The pool has ended.
    #[error("The server is about to stop.")]
    Stopping,
}

/// Whom a request means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// "First Last".
    Name(String),
    /// An account.
    Agent(Uuid),
}

impl Instances {
    pub(super) fn new(start: Start<'_>) -> Self {
        let Start { table, inboxes, workplace, sessions, clock, dt, dead_reckoning, metrics } = start;
        let timing = |name, help| metrics.timing(name, help, &[("world", INSTANCES)]);
        Self {
            table: Mutex::new(table),
            inboxes: Arc::clone(inboxes),
            workplace,
            sessions: Arc::clone(sessions),
            clock: Arc::clone(clock),
            dt,
            dead_reckoning,
            timing: timing("throng_world_tick_seconds", "Duration of a step of the world."),
            lateness: timing(
                "throng_world_late_seconds",
                "Time from when a step of the world was due until it began.",
            ),
        }
    }

    /// Makes an instance. It sleeps until somebody comes.
    pub(super) fn create(
        &self,
        template: &str,
        name: Option<String>,
        owner: Option<AgentId>,
    ) -> Result<Entry, Refusal> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(Refusal::Random)?;
        let id = uuid::Builder::from_random_bytes(id).into_uuid();
        let entry = self.table().add(id, template, name, owner, (self.clock)())?;
        let config = WorldConfig {
            id: entry.scene.world,
            epoch: Epoch(0),
            size_m: entry.scene.land.size_m,
            local_ids: entry.local_ids.clone(),
            terrain: Arc::clone(&entry.scene.land.terrain),
            scenery: Arc::clone(&entry.scene.land.scenery),
            cast: entry.cast.clone(),
            water_m: entry.scene.land.water_m,
            max_avatars: entry.scene.max_avatars as usize,
            seed: id.as_u64_pair().0,
        };
        let (stepper, waiting) = Stepper::found(Founding {
            scene: Arc::clone(&entry.scene),
            config,
            sessions: Arc::clone(&self.sessions),
            dead_reckoning: self.dead_reckoning,
            timing: self.timing.clone(),
            lateness: self.lateness.clone(),
            clock: Arc::clone(&self.clock),
            dt: self.dt,
        });
        let Some(inbox) = self.workplace.take_in(stepper, waiting) else {
            self.table().forget(&entry);
            return Err(Refusal::Stopping);
        };
        self.inboxes.add(entry.scene.world, inbox);
        self.table().open(&entry);
        tracing::info!(%id, template, world = entry.scene.world.0, "an instance begins");
        Ok(entry)
    }

    /// Sends a session into its user's own instance of a template, which is made if there is none.
    fn enter_own(&self, session: SessionKey, agent: AgentId, template: &str) -> Result<Passage, Refusal> {
        let known = self.table().of_owner(agent, template).cloned();
        let entry = match known {
            Some(entry) => entry,
            None => self.create(template, None, Some(agent))?,
        };
        let now = (self.clock)();
        // As in `enter`.
        let table = self.table();
        let scene = &table.get(entry.id)?.scene;
        Ok(self.sessions.with(|hub| hub.enter(now, session, scene, None))?)
    }

    /// Ends an instance: everybody in it goes back to where they came from.
    pub(super) fn end(&self, id: Uuid) -> Result<(), Refusal> {
        // Nobody enters from here on.
        let entry = self.table().remove(id).ok_or(TableRefusal::NoInstance(id))?;
        let world = entry.scene.world;
        let now = (self.clock)();
        self.sessions.with(|hub| hub.empty(now, world, "That world has ended."));
        if let Some(inbox) = self.inboxes.remove(world) {
            drop(self.workplace.let_go(world, &inbox));
        }
        tracing::info!(%id, world = world.0, "an instance has ended");
        Ok(())
    }

    /// Sends a user into an instance, to a position or to where visitors arrive.
    pub(super) fn enter(&self, id: Uuid, who: &Who, position: Option<Vec3>) -> Result<Passage, Refusal> {
        let now = (self.clock)();
        // The table stays locked, so that the instance does not end meanwhile.
        let table = self.table();
        let entry = table.get(id)?;
        self.sessions.with(|hub| {
            let session = find(hub, who)?;
            Ok(hub.enter(now, session, &entry.scene, position)?)
        })
    }

    /// Sends a user back to where they were last in a shared world.
    pub(super) fn leave(&self, who: &Who) -> Result<Passage, Refusal> {
        let now = (self.clock)();
        self.sessions.with(|hub| {
            let session = find(hub, who)?;
            Ok(hub.leave(now, session)?)
        })
    }

    /// All of them, in order of their making, each with how many sessions are in it.
    pub(super) fn list(&self) -> Vec<(Entry, usize)> {
        let entries: Vec<Entry> = self.table().iter().cloned().collect();
        self.sessions.with(|hub| {
            let count = |entry: Entry| {
                let n = hub.n_in(entry.scene.world);
                (entry, n)
            };
            entries.into_iter().map(count).collect()
        })
    }

    /// One of them, likewise.
    pub(super) fn get(&self, id: Uuid) -> Result<(Entry, usize), Refusal> {
        let entry = self.table().get(id)?.clone();
        let n = self.sessions.with(|hub| hub.n_in(entry.scene.world));
        Ok((entry, n))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find(hub: &gateway::hub::Hub, who: &Who) -> Result<SessionKey, Refusal> {
    let (found, name) = match who {
        Who::Name(name) => (hub.session_named(name), format!("{name:?}")),
        Who::Agent(id) => (hub.session_of(AgentId(*id)), id.to_string()),
    };
    found.ok_or(Refusal::NotHere(name))
}
