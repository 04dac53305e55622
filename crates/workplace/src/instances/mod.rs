//! Instances: worlds created from a template, into which visitors are sent.
//!
//! Two sides exchange messages. The *registry* ([`host::registry`]) decides: which instances exist, their owners, which of them are in
//! memory, and which visitors are admitted. The `driver` thread owns it, inside the coordinator ([`host::coordinator`]) that connects it
//! with programs and the hub. The *workplace* (`workplace`) carries its jobs out: rows in the store (`instance_store`), worlds that come
//! into memory (`starts`) and leave it (`suspends`), and the `journal` of those that are in it. Long tasks do the slow work; no thread that
//! a frame waits for waits for any of this.
//!
//! [`Instances`] is the handle for everything else: it sends requests and waits for their replies, so it belongs on threads that may
//! wait. `hot_reload` reads a template's files again.

mod admissions;
mod catalog;
mod driver;
mod figures;
mod instance_store;
mod mail;
mod persistence;
mod pool;
mod report;
mod script;
mod tasks;
#[cfg(test)]
mod tests;
mod workplace;
mod write_pause;

pub use admissions::{InstanceGateway, TakeOrder};
pub use catalog::Template;
pub use driver::InstanceMailbox;
pub use figures::Admission;
pub use instance_store::InstanceStore;
pub use persistence::{InstancePersistence, InstanceStoreError};
pub use pool::{InstancePool, NewWorld, NodePool, StoppedWorld};
pub use report::JobReports;
pub use script::ScriptDisk;
pub use tasks::{ConstructionTask, Constructions, PollConstruction};
pub use workplace::{
    InstanceWorkplace, JOURNAL_PERIOD, ReloadRefusal, Reloaded, WorkplaceBackend, WorkplaceParts,
};
pub use write_pause::WritePause;

use crate::restarts::Down;
use crate::worlds::WorldTotals;
use crate::{Clock, ThreadError};
use driver::{Driver, DriverParts};
use figures::RegistryFigures;
use glam::Vec3;
use host::coordinator::RequestRefusal;
use host::registry::{
    InstanceRefusal, InstanceReply, InstanceRequest, InstanceRow, InstanceSummary, Maker, NewInstance,
    Registry, RegistryConfig, Visitor,
};
use ids::{AgentId, SessionKey, Uuid};
use link::{Passage, PassageRefusal};
use mail::{Answer, InstanceMail, InstanceSender};
use schedule::long::LongTasks;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;
use store::{Instance, Listed};
use telemetry::Metrics;
use telemetry::recorder::Recorder;
use thiserror::Error;
use workplace::{Journal, WorkplaceThreads, job_queue, write_journal};

/// The handle of instances.
pub struct Instances {
    mail: InstanceSender,
    workplace: Arc<InstanceWorkplace>,
    gateway: Arc<dyn InstanceGateway>,
    long: LongTasks,
    clock: Clock,
    unix_start_s: u64,
}

/// The threads of instances.
pub struct InstanceThreads {
    mail: InstanceSender,
    workplace: Arc<InstanceWorkplace>,
    pool: NodePool,
    driver: JoinHandle<()>,
    /// `None` in tests that write the journal themselves.
    journal: Option<Journal>,
    workers: WorkplaceThreads,
}

/// Parts of instances.
pub struct InstancesConfig<'a> {
    /// Limits of the registry.
    pub limits: RegistryConfig,
    /// Instances that the store knows.
    pub known: Vec<Listed>,
    /// Mailbox of the driver.
    pub mailbox: InstanceMailbox,
    /// Admits visitors.
    pub gateway: Arc<dyn InstanceGateway>,
    /// Parts of the workplace.
    pub parts: WorkplaceParts<'a>,
    /// Registry of metrics.
    pub metrics: &'a Arc<Metrics>,
    /// Seconds since 1970 at [`Instant::ZERO`](ids::Instant::ZERO).
    pub unix_start_s: u64,
    /// Flight recorder of the threads.
    pub recorder: Recorder,
}

/// Reason why something was not done.
#[derive(Debug, Error)]
pub enum Refusal {
    /// The registry refuses.
    #[error(transparent)]
    Instance(#[from] InstanceRefusal),
    /// The hub refuses.
    #[error(transparent)]
    Passage(#[from] PassageRefusal),
    /// No such user is logged in.
    #[error("{0} is not here.")]
    NotHere(String),
    /// The instance is not in memory, so that it has no map.
    #[error("That world is {0}: there is a map of it while it has visitors.")]
    Resting(&'static str),
    /// The system gives no random numbers.
    #[error("The system gives no random numbers: {0}.")]
    Random(getrandom::Error),
}

/// User of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// "First Last".
    Name(String),
    /// An account.
    Agent(Uuid),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name:?}"),
            Self::Agent(id) => write!(f, "{id}"),
        }
    }
}

/// Description of an instance that a program orders.
#[derive(Clone, Debug, Default)]
pub struct InstanceOrder {
    /// Random by default. A repeated order with an id gets the same instance.
    pub id: Option<Uuid>,
    /// Name of the template.
    pub template: String,
    /// The template's name by default.
    pub name: Option<String>,
    /// Owner.
    pub owner: Option<AgentId>,
    /// Token of the program; the operator has none.
    pub maker: Option<Maker>,
}

/// An instance as the API reports it.
#[derive(Clone, Debug)]
pub struct InstanceDetails {
    /// As the registry knows it.
    pub summary: InstanceSummary,
    /// Sentence on its problem.
    pub trouble: Option<String>,
    /// `None` without such a template.
    pub template: Option<Template>,
    /// Users in it, or on their way into it.
    pub users: usize,
    /// World time passed ÷ wall time passed, as of its last step.
    pub dilation: f32,
    /// Mean duration of its steps; zero before the first, and while it is suspended.
    pub step: Duration,
}

/// Starts the threads.
pub fn start(
    start: InstancesConfig<'_>,
) -> Result<(Arc<Instances>, Arc<Admission>, InstanceThreads), ThreadError> {
    let recorder = start.recorder;
    let (instances, admission, mut threads) = start_without_journal(start)?;
    threads.journal = Some(write_journal(&threads.workplace, recorder)?);
    Ok((instances, admission, threads))
}

fn start_without_journal(
    start: InstancesConfig<'_>,
) -> Result<(Arc<Instances>, Arc<Admission>, InstanceThreads), ThreadError> {
    let InstancesConfig { limits, known, mailbox, gateway, parts, metrics, unix_start_s, recorder } = start;
    let (clock, long, pool) = (Arc::clone(parts.clock), parts.long.clone(), parts.node_pool());
    let mut registry = Registry::new(limits, parts.templates.iter().map(Template::facts).collect());
    for listed in known {
        let (row, damage) = row_of(listed);
        registry.load(row, damage);
    }
    let mail = mailbox.sender.clone();
    let admission = Admission::new(mail.clone());
    let backend = parts.backend(&pool);
    let workplace = Arc::new(InstanceWorkplace::new(parts.templates, backend, metrics));
    let (jobs, queue) = job_queue();
    let driver = Driver::new(DriverParts {
        registry,
        gateway: Arc::clone(&gateway),
        workplace: Arc::clone(&workplace),
        jobs,
        mailbox,
        clock: Arc::clone(&clock),
        unix_start_s,
        figures: RegistryFigures::new(metrics, Arc::clone(&admission)),
        metrics,
    });
    let reports: JobReports = {
        let mail = mail.clone();
        // Only fails once the driver has ended, which waits for nothing then.
        Arc::new(move |job, outcome| drop(mail.send(InstanceMail::Outcome(job, outcome))))
    };
    let workers = workplace.start_threads(&queue, &reports, recorder)?;
    let driver = std::thread::Builder::new().name("instances".into()).spawn(move || driver.run(recorder));
    let driver = driver.map_err(|source| ThreadError { name: "instances", source })?;
    let instances = Instances {
        mail: mail.clone(),
        workplace: Arc::clone(&workplace),
        gateway,
        long,
        clock,
        unix_start_s,
    };
    Ok((
        Arc::new(instances),
        admission,
        InstanceThreads { mail, workplace, pool, driver, journal: None, workers },
    ))
}

fn row_of(listed: Listed) -> (InstanceRow, Option<Arc<str>>) {
    let Listed { instance, trouble, maker, visited_s } = listed;
    let Instance { id, template, name, owner, created_s } = instance;
    let row = InstanceRow {
        id,
        template: template.into(),
        name: name.into(),
        owner,
        created_s,
        maker: maker.map(Arc::from),
        visited_s,
    };
    (row, trouble.map(Arc::from))
}

impl InstanceThreads {
    /// Suspends every instance, while the pool still runs: the remaining threads to be ended, and the number of instances that could
    /// not be saved. All shards have ended. `down` are the remains of worlds that have panicked.
    pub fn save_all(self, down: Vec<Down>) -> (SavedInstances, usize) {
        let Self { mail, workplace, pool, driver, journal, workers } = self;
        journal.into_iter().for_each(Journal::stop);
        workplace.set_down(down.into_iter().map(|down| pool.remains(down)));
        let (answer, stopped) = sync_channel(1);
        let _ = mail.send(InstanceMail::BeginStop(answer));
        let rest = SavedInstances { mail, driver, workers };
        // No answer is a thread that has panicked.
        let n = stopped.recv().unwrap_or(1);
        if n > 0 {
            tracing::error!(
                n,
                "the server stops, and of some instances all that happened since they were last saved is lost"
            );
        }
        (rest, n)
    }
}

/// The threads, which have nothing more to save.
pub struct SavedInstances {
    mail: InstanceSender,
    driver: JoinHandle<()>,
    workers: WorkplaceThreads,
}

impl SavedInstances {
    /// Ends the threads, after the pool: a job may wait for one of its tasks.
    pub fn stop(self) {
        let _ = self.mail.send(InstanceMail::End);
        if self.driver.join().is_err() {
            tracing::error!("the instances thread has panicked");
        }
        self.workers.join();
    }
}

impl Instances {
    /// Creates an instance and waits until it is durable. It sleeps until visitors come: in memory if there is room, else suspended; without
    /// memory for it, it is not created. False if there was one with this id, of the same template and owner, already.
    pub fn create(&self, order: InstanceOrder) -> Result<(Uuid, bool), Refusal> {
        let InstanceOrder { id, template, name, owner, maker } = order;
        let id = id.map_or_else(random_id, Ok)?;
        let created_s = (self.unix_start_s + (self.clock)().0 / 1_000_000_000).cast_signed();
        let new = NewInstance { id, template, name, owner, created_s, maker };
        let reply = self.request(InstanceRequest::Open(new))?.reply;
        let is_new = matches!(reply, InstanceReply::Created(_));
        if is_new {
            tracing::info!(%id, "an instance begins");
        }
        Ok((id, is_new))
    }

    /// Ends an instance: visitors go back to where they came from, and nothing of it is kept.
    pub fn end(&self, id: Uuid) -> Result<(), Refusal> {
        self.request(InstanceRequest::End(id))?;
        tracing::info!(%id, "an instance has ended");
        Ok(())
    }

    /// Suspends an instance now. Nothing happens to one that is suspended.
    pub fn suspend(&self, id: Uuid) -> Result<(), Refusal> {
        self.request(InstanceRequest::Suspend(id)).map(drop)
    }

    /// Brings an instance into memory without a user. It is suspended again like any other that has no users.
    pub fn resume(&self, id: Uuid) -> Result<(), Refusal> {
        self.request(InstanceRequest::Resume(id)).map(drop)
    }

    /// Sends a user into an instance, to a position or to where visitors arrive.
    pub fn enter(&self, id: Uuid, who: &Who, position: Option<Vec3>) -> Result<Passage, Refusal> {
        // No world is resumed for an absent user.
        self.query(move |registry| registry.summary(id).map(drop))??;
        let session = self.find(who)?;
        let visitor = Visitor { session, ticket: None, from: None };
        let granted = self.request(InstanceRequest::Enter { instance: id, visitor, position })?;
        Ok(granted.passage.expect("an admitted visitor is on a passage"))
    }

    /// Sends a user back to where they were last in a shared world.
    pub fn leave(&self, who: &Who) -> Result<Passage, Refusal> {
        let session = self.find(who)?;
        let visitor = Visitor { session, ticket: None, from: None };
        let granted = self.request(InstanceRequest::Dismiss(visitor))?;
        Ok(granted.passage.expect("a dismissed visitor is on a passage"))
    }

    /// All of them, in order of their creation.
    pub fn list(&self) -> Result<Vec<InstanceDetails>, Refusal> {
        let summaries: Vec<InstanceSummary> = self.query(|registry| registry.summaries().collect())?;
        let (_, occupants) = self.gateway.occupants();
        let users = |summary: &InstanceSummary| occupants.get(&summary.world).copied().unwrap_or(0);
        Ok(self.accounts(summaries.into_iter().map(|summary| (users(&summary), summary)).collect()))
    }

    /// One of them.
    pub fn get(&self, id: Uuid) -> Result<InstanceDetails, Refusal> {
        let summary = self.summary(id)?;
        let users = self.gateway.occupants_of(summary.world).n as usize;
        Ok(self.accounts(vec![(users, summary)]).remove(0))
    }

    fn accounts(&self, summaries: Vec<(usize, InstanceSummary)>) -> Vec<InstanceDetails> {
        let catalog = self.workplace.catalog();
        let account = |(users, summary): (usize, InstanceSummary)| {
            let of_world = || catalog.trouble(summary.world, summary.row.id);
            let trouble = summary.blocked.as_deref().or_else(of_world).map(str::to_owned);
            let template = catalog.template(&summary.row.template).cloned();
            InstanceDetails { summary, trouble, template, users, dilation: 1.0, step: Duration::ZERO }
        };
        let mut accounts: Vec<InstanceDetails> = summaries.into_iter().map(account).collect();
        drop(catalog);
        for account in &mut accounts {
            if let Some(WorldTotals { dilation, step, .. }) = self.workplace.counted(account.summary.world) {
                (account.dilation, account.step) = (dilation, step);
            }
        }
        accounts
    }

    /// Time that an instance has been in its phase, as far as this life of the server goes.
    pub fn time_in_phase(&self, account: &InstanceDetails) -> Duration {
        (self.clock)().since(account.summary.since)
    }

    /// All templates, each with the number of its instances.
    pub fn templates(&self) -> Result<Vec<(Template, usize)>, Refusal> {
        let names: Vec<Arc<str>> =
            self.query(|registry| registry.summaries().map(|one| one.row.template).collect())?;
        let templates = self.workplace.catalog().templates.clone();
        let count = |template: Template| {
            let n = names.iter().filter(|name| name.eq_ignore_ascii_case(&template.name)).count();
            (template, n)
        };
        Ok(templates.into_iter().map(count).collect())
    }

    /// Number and phase of an instance.
    pub fn summary(&self, id: Uuid) -> Result<InstanceSummary, Refusal> {
        Ok(self.query(move |registry| registry.summary(id))??)
    }

    fn find(&self, who: &Who) -> Result<SessionKey, Refusal> {
        self.gateway.find(who).ok_or_else(|| Refusal::NotHere(who.to_string()))
    }

    fn request(&self, request: InstanceRequest) -> Answer {
        let (answer, answered) = sync_channel(1);
        let sent = self.mail.send(InstanceMail::Request(request, answer));
        sent.ok().and_then(|()| answered.recv().ok()).unwrap_or_else(|| Err(InstanceRefusal::Stopping.into()))
    }

    /// Asks the registry something.
    fn query<R: Send + 'static>(
        &self,
        ask: impl FnOnce(&Registry) -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        let (answer, answered) = sync_channel(1);
        let ask = move |registry: &Registry| drop(answer.send(ask(registry)));
        let sent = self.mail.send(InstanceMail::Query(Box::new(ask)));
        let answer = sent.ok().and_then(|()| answered.recv().ok());
        answer.ok_or(Refusal::Instance(InstanceRefusal::Stopping))
    }
}

impl From<RequestRefusal> for Refusal {
    fn from(why: RequestRefusal) -> Self {
        match why {
            RequestRefusal::Instance(why) => Self::Instance(why),
            RequestRefusal::Passage(why) => Self::Passage(why),
        }
    }
}

fn random_id() -> Result<Uuid, Refusal> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(Refusal::Random)?;
    Ok(uuid::Builder::from_random_bytes(id).into_uuid())
}

opaque_debug!(Instances, InstanceThreads, SavedInstances, InstancesConfig<'_>);
