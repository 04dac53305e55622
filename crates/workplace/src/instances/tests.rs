//! Instances with a pool and a database of their own. Their gateway is a model: it admits every visitor, and a visitor stays until the
//! test moves it. Its worlds have no viewer.
//!
//! The driver and the workplace run on their threads; the journal is written when a test says so. Tests with the real gateway are in the
//! executable.

mod casts;
mod portals;
mod room;
mod showing;
mod suspending;

use super::mail::Answer;
use super::*;
use crate::faults::{FaultEffect, Fuses, InjectedFault};
use crate::inboxes::Inbox;
use crate::serving::{FrameOutlet, SentFrame, ShownWorld, SnapshotRequest, WorldGateway};
use crate::worlds::{self, Stepper, Worlds};
use host::capacity::Shortage;
use host::coordinator::{Admitted, Granted};
use host::local_ids::LocalIdSpace;
use host::script::load_cast;
use ids::{Instant, WorldId};
use link::{
    AdmissionNumber, Command, Frame, GroundSpec, HostNumber, OccupantCount, Scenery, Terrain, TravelOrder,
    WorldCensus, WorldSpec,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use store::Store;
use tempfile::TempDir;

/// Worlds that are shown, sessions of each world, and what became of orders.
#[derive(Default)]
struct GatewayLog {
    open: BTreeSet<WorldId>,
    occupants: BTreeMap<WorldId, usize>,
    admissions: AdmissionNumber,
    ended: Vec<TravelOrder>,
    turned_down: Vec<String>,
    /// The next passages panic.
    panics: bool,
}

/// The model of the gateway.
#[derive(Clone, Default)]
struct GatewayModel(Arc<Mutex<GatewayLog>>);

impl GatewayModel {
    fn sent(&self) -> MutexGuard<'_, GatewayLog> {
        self.0.lock().expect("the model does not panic with its lock")
    }
}

impl InstanceGateway for GatewayModel {
    fn check(&self, _: &Visitor) -> Result<(), PassageRefusal> {
        Ok(())
    }

    fn admit(
        &self,
        _: Instant,
        _: &Visitor,
        world: WorldId,
        _: Option<Vec3>,
    ) -> Result<Admitted, PassageRefusal> {
        let panics = self.sent().panics;
        assert!(!panics, "as ordered");
        let mut sent = self.sent();
        sent.admissions.0 += 1;
        let as_of = sent.admissions;
        let occupants = sent.occupants.entry(world).or_default();
        *occupants += 1;
        let occupants = OccupantCount { n: *occupants as u32, as_of };
        Ok(Admitted { passage: Passage::Switched, occupants })
    }

    fn dismiss(&self, _: Instant, _: &Visitor) -> Result<Passage, PassageRefusal> {
        Err(PassageRefusal::Outside)
    }

    fn occupants(&self) -> (AdmissionNumber, BTreeMap<WorldId, usize>) {
        let sent = self.sent();
        (sent.admissions, sent.occupants.clone())
    }

    fn occupants_of(&self, world: WorldId) -> OccupantCount {
        let sent = self.sent();
        let n = sent.occupants.get(&world).copied().unwrap_or(0) as u32;
        OccupantCount { n, as_of: sent.admissions }
    }

    fn empty(&self, _: Instant, world: WorldId, _: &str) {
        self.sent().occupants.remove(&world);
    }

    fn end_order(&self, order: &TravelOrder) {
        self.sent().ended.push(order.clone());
    }

    fn turn_down(&self, _: &TravelOrder, why: &str) {
        self.sent().turned_down.push(why.to_owned());
    }

    fn find(&self, _: &Who) -> Option<SessionKey> {
        None
    }
}

/// Frames without a reader.
#[derive(Default)]
struct UnreadFrames(Option<Box<Frame>>);

impl FrameOutlet for UnreadFrames {
    fn spare_frame(&mut self) -> Box<Frame> {
        self.0.take().unwrap_or_else(|| Box::new(Frame::empty()))
    }

    fn send(&mut self, frame: Box<Frame>) -> SentFrame {
        self.0 = Some(frame);
        SentFrame::default()
    }
}

impl WorldGateway for GatewayModel {
    fn open_world(&self, spec: &Arc<WorldSpec>, _: SnapshotRequest) -> Box<dyn FrameOutlet> {
        let is_new = self.sent().open.insert(spec.world);
        assert!(is_new, "{:?} is open once", spec.world);
        Box::new(UnreadFrames::default())
    }

    fn close_world(&self, world: WorldId) {
        let was_open = self.sent().open.remove(&world);
        assert!(was_open, "{world:?} is closed once");
    }

    fn census(&self, _: WorldId) -> WorldCensus {
        WorldCensus::default()
    }

    fn dismissals(&self, _: WorldId) -> Vec<Command> {
        Vec::new()
    }

    fn shown(&self, _: WorldId) -> Option<ShownWorld> {
        None
    }
}

/// A node as far as instances need it. The directory outlives it.
struct Node {
    instances: Arc<Instances>,
    admission: Arc<Admission>,
    threads: Option<InstanceThreads>,
    crowd: GatewayModel,
    instance_store: Arc<InstanceStore>,
    fuses: Fuses,
    metrics: Arc<Metrics>,
    worlds: Worlds,
}

/// Seconds since 1970 at the start of every node.
const UNIX_START_S: u64 = 1_700_000_000;

/// A template to be built.
#[derive(Clone)]
struct TestTemplate {
    name: &'static str,
    npcs: Option<PathBuf>,
    max_avatars: u32,
    keep: Option<Duration>,
}

impl TestTemplate {
    fn new(name: &'static str) -> Self {
        Self { name, npcs: None, max_avatars: 20, keep: None }
    }

    fn build(&self) -> Template {
        let (terrain, scenery) = (Arc::new(Terrain::flat(256, 22.0)), Arc::<Scenery>::default());
        let load = |path: &PathBuf| load_cast(&ScriptDisk, path, &terrain, &scenery, 20.0, &mut || true);
        let cast = self.npcs.as_ref().map(|path| Arc::new(load(path).expect("the files are right")));
        Template {
            name: self.name.into(),
            portals: Arc::default(),
            cast,
            script: self.npcs.clone(),
            max_avatars: self.max_avatars,
            hz: 20,
            keep: self.keep,
            ground: Arc::new(GroundSpec::new(terrain, scenery, 20.0)),
        }
    }
}

/// Settings of a node under test.
#[derive(Clone)]
struct TestConfig {
    templates: Vec<TestTemplate>,
    limits: RegistryConfig,
}

fn config(templates: &[&'static str], active_max: usize) -> TestConfig {
    let limits = RegistryConfig {
        instances_max: 5,
        portal_max: 5,
        per_user_max: 0,
        active_max,
        suspend_after: Duration::from_secs(3_600),
        host: HostNumber(0),
        local_ids: LocalIdSpace::INSTANCES,
        unix_start_s: UNIX_START_S.cast_signed(),
    };
    TestConfig { templates: templates.iter().copied().map(TestTemplate::new).collect(), limits }
}

#[expect(clippy::disallowed_methods, reason = "the pool's time is real")]
fn start_clock() -> Clock {
    let started = std::time::Instant::now();
    Arc::new(move || Instant(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)))
}

impl Node {
    fn start(data: &TempDir, config: &TestConfig) -> Self {
        let (crowd, clock) = (GatewayModel::default(), start_clock());
        let metrics = Arc::new(Metrics::new());
        let mut fuses = Fuses::default();
        let worlds = worlds::start(2, Vec::new(), &clock, &metrics, Recorder::off(), &mut fuses).unwrap();
        let (instance_store, known) =
            InstanceStore::open(Store::open(&url(data)).unwrap(), fuses.at("instances"), &clock, &metrics)
                .unwrap();
        let start = InstancesConfig {
            limits: config.limits,
            known,
            mailbox: InstanceMailbox::new(),
            gateway: Arc::new(crowd.clone()),
            parts: WorkplaceParts {
                templates: config.templates.iter().map(TestTemplate::build).collect(),
                instance_store: &instance_store,
                inboxes: &worlds.inboxes,
                pool: worlds.workplace(),
                long: worlds.long(),
                gateway: Arc::new(crowd.clone()),
                clock: &clock,
                metrics: &metrics,
            },
            metrics: &metrics,
            unix_start_s: UNIX_START_S,
            recorder: Recorder::off(),
        };
        let (instances, admission, threads) = start_without_journal(start).unwrap();
        Self { instances, admission, threads: Some(threads), crowd, instance_store, fuses, metrics, worlds }
    }

    /// The server stops; the number of instances that could not be saved. `down` are worlds that have panicked.
    fn stop(mut self, down: Vec<Down>) -> usize {
        let threads = self.threads.take().expect("it is stopped once");
        let (rest, n_unsaved) = threads.save_all(down);
        self.worlds.stop();
        rest.stop();
        n_unsaved
    }

    fn order(id: u128) -> InstanceOrder {
        InstanceOrder { id: Some(Uuid::from_u128(id)), template: "cave".into(), ..InstanceOrder::default() }
    }

    fn try_to_create(&self, id: u128) -> Result<Uuid, Refusal> {
        self.instances.create(Self::order(id)).map(|(id, _)| id)
    }

    fn create(&self, id: u128) -> Uuid {
        self.try_to_create(id).unwrap()
    }

    fn try_to_enter(&self, id: Uuid) -> Answer {
        let visitor = Visitor { session: SessionKey(1), ticket: None, from: None };
        self.instances.request(InstanceRequest::Enter { instance: id, visitor, position: None })
    }

    /// A visitor comes and stays.
    fn occupy(&self, id: Uuid) {
        let Granted { reply, passage } = self.try_to_enter(id).unwrap();
        assert_eq!((reply, passage), (InstanceReply::Admitted(id), Some(Passage::Switched)));
    }

    /// The visitors of an instance leave, and the registry knows it.
    fn leave(&self, id: Uuid) {
        let world = self.world(id);
        self.crowd.sent().occupants.remove(&world);
        // Before a suspension the sessions are counted anew.
        self.instances.suspend(Uuid::nil()).unwrap_err();
    }

    /// A visitor comes and goes.
    fn visit(&self, id: Uuid) {
        self.occupy(id);
        self.leave(id);
    }

    fn get(&self, id: Uuid) -> InstanceDetails {
        self.instances.get(id).unwrap()
    }

    fn world(&self, id: Uuid) -> WorldId {
        self.get(id).summary.world
    }

    fn state(&self, id: Uuid) -> &'static str {
        self.get(id).summary.phase
    }

    fn states<const N: usize>(&self, ids: [Uuid; N]) -> [&'static str; N] {
        ids.map(|id| self.state(id))
    }

    fn list(&self) -> Vec<Uuid> {
        self.instances.list().unwrap().into_iter().map(|one| one.summary.row.id).collect()
    }

    /// Instances, and those of them in memory.
    fn counts(&self) -> (usize, usize) {
        self.instances.query(Registry::counts).unwrap()
    }

    fn workplace(&self) -> &InstanceWorkplace {
        &self.instances.workplace
    }

    fn refusal(&self, id: Uuid) -> Refusal {
        self.instances.resume(id).unwrap_err()
    }

    fn fail(&self, times: u32) {
        self.strike(FaultEffect::Fail, 0, times);
    }

    /// Injects faults into the next transactions.
    fn strike(&self, effect: FaultEffect, ms: u32, repeat: u32) {
        let fault = InjectedFault { effect, place: "instances".into(), ms, repeat };
        self.fuses.order(fault, &|| {}).unwrap();
    }

    fn inbox(&self, id: Uuid) -> Inbox {
        self.worlds.inboxes.of(self.world(id)).expect("it is in the pool")
    }

    /// A world as it is after a panic: out of the pool.
    fn take_down(&self, id: Uuid) -> (Inbox, Box<Stepper>) {
        let inbox = self.inbox(id);
        let stepper = self.worlds.workplace().take_out(&inbox).expect("it is in the pool");
        (inbox, stepper)
    }

    /// Changes the stepper of an instance, which then continues.
    fn with_stepper<R>(&self, id: Uuid, act: impl FnOnce(&mut Stepper) -> R) -> R {
        let (inbox, mut stepper) = self.take_down(id);
        let result = act(&mut stepper);
        let next_tick = stepper.next_tick();
        self.worlds.workplace().take_back(&inbox, stepper, next_tick);
        result
    }

    /// The work of the journal's thread in one second.
    fn write(&self) {
        self.workplace().write_once(Instant(u64::MAX));
    }

    fn metric(&self, name: &str) -> f64 {
        let text = self.metrics.render();
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0.0)
    }

    /// Waits until something is so, which must come to be so by itself.
    #[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
    fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = std::time::Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::yield_now();
        }
    }
}

/// As the process ends when it is killed: nothing more is saved.
impl Drop for Node {
    fn drop(&mut self) {
        let Some(InstanceThreads { mail, driver, workers, .. }) = self.threads.take() else { return };
        self.worlds.stop();
        SavedInstances { mail, driver, workers }.stop();
    }
}

fn path(data: &TempDir) -> PathBuf {
    data.path().join("throng.sqlite")
}

fn url(data: &TempDir) -> store::StoreUrl {
    store::StoreUrl::of_directory(data.path())
}

fn has_image(data: &TempDir, id: Uuid) -> bool {
    image(data, id).is_some()
}

fn image(data: &TempDir, id: Uuid) -> Option<store::State> {
    Store::open(&url(data)).unwrap().instance_state(id).unwrap().image
}

/// Changes the bytes of a row without the store.
fn damage(path: &Path, what: &[u8]) {
    let mut file = std::fs::read(path).unwrap();
    let at = file.windows(what.len()).position(|window| window == what).expect("it is in the file");
    file[at] ^= 0xFF;
    std::fs::write(path, file).unwrap();
}

fn is_unsaved(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Instance(InstanceRefusal::Failed(_)))
}

fn is_for_lack_of<T>(lacking: Shortage, done: Result<T, Refusal>) -> bool {
    matches!(done, Err(Refusal::Instance(InstanceRefusal::Shortage(why))) if why == lacking)
}
