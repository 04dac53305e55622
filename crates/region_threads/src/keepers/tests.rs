//! Keepers of one region beside a store: orders, failures, damage, and the end.

use super::*;
use ids::{LocalId, SessionKey, Tick, Uuid};
use keeper::{KeeperConfig, NewLand, RegionIds, WornObject, WornQuestion, WornState};
use link::{
    Action, Command, DerezKind, Estate, HeldObject, ObjectChange, ObjectPage, PrimMotion, SnapshotChunk,
    Terrain, VersionedBody, WornItems, index_in_page, kept_object_ids, page_of, shared_local_ids,
    temporary_object_ids,
};
use schedule::{Pool, StepStart, Task};
use store::{DocumentChanges, StoreUrl, StoredRegion};
use tokio::sync::oneshot;
use workplace::faults::{FaultEffect, Fuses, InjectedFault};
use workplace::inboxes::Waiting;

const WORLD: WorldId = WorldId(1);

/// As configured by default.
const TUNABLES: ObjectTunables = ObjectTunables {
    rez_per_s: 200,
    temporary_s: 60,
    link_max: 256,
    cache_after: Duration::from_secs(60),
    refuse_edits_after: Some(Duration::from_secs(60)),
    save: Duration::from_millis(250),
    moving_bytes_per_s: 4 << 20,
};

fn settings() -> KeeperConfig {
    let all = shared_local_ids(WORLD);
    let terrain = Arc::new(Terrain::flat(256, 21.0));
    KeeperConfig {
        region: WORLD,
        name: "Harbour".into(),
        former_name: None,
        land: NewLand { terrain, estate: Estate::new("My Estate", None, 20.0), now_s: 0 },
        ids: RegionIds { kept: kept_object_ids(&all), temporary: temporary_object_ids(&all) },
        save: TUNABLES.save,
        moving_bytes_per_s: TUNABLES.moving_bytes_per_s,
        unix_start_s: 0,
    }
}

struct Idle;

impl Task for Idle {
    fn is_quiet(&mut self) -> bool {
        true
    }

    fn step(&mut self, _: &StepStart) {}
}

/// Keepers of one region, which has begun as it is stored.
struct Rig {
    world: WorldId,
    keepers: Keepers,
    thread: KeeperThread,
    inbox: Inbox,
    fuses: Fuses,
    clock: Clock,
    _pool: Pool,
}

impl Rig {
    fn begin(store: &Arc<Store>) -> Self {
        let stored = store.region_objects(WORLD).expect("a region");
        Self::begin_with(store, &stored)
    }

    fn begin_with(store: &Arc<Store>, stored: &StoredRegion) -> Self {
        let loaded = Keeper::load(&settings(), stored, Uuid::from_u128(1));
        let (keeper, _) = loaded.expect("of this build");
        let pool = Pool::start(1, || Instant::ZERO).expect("a thread");
        let waker = pool.add(Box::new(Idle), Duration::from_millis(50), Tick(0));
        let inbox = Inbox { waiting: Waiting::new(8), waker };
        let clock: Clock = Arc::new(|| Instant::ZERO);
        let mut fuses = Fuses::default();
        let room = RegionRoom { name: "Harbour".into(), objects_max: 45_000, physical_max: 1_000 };
        let (keepers, thread) = start(KeeperThreadConfig {
            held_per_user_max: 10_000,
            kept: vec![(WORLD, keeper, room)],
            full: BTreeSet::new(),
            grounds: Arc::new(Grounds::new(Vec::new())),
            inbox: &|_| inbox.clone(),
            store,
            keep_contents: Arc::new(|_| Ok(())),
            tell_owners: Box::new(|_| ()),
            restores: RestoreOrders::new(),
            dressing: WardrobeOrders::new(),
            seed: Uuid::nil(),
            figures: Arc::new(TransferFigures::new(&Metrics::new())),
            tunables: Box::new(|| TUNABLES),
            clock: &clock,
            metrics: &Metrics::new(),
            recorder: Recorder::off(),
            fuse: fuses.at("keeper"),
        })
        .expect("a thread");
        Self { world: WORLD, keepers, thread, inbox, fuses, clock, _pool: pool }
    }

    fn order(&mut self) -> oneshot::Receiver<SaveReply> {
        let reply = self.thread.orders().order(self.world).expect("room");
        let order = self.keepers.orders().recv().expect("the order");
        self.keepers.take_order(Instant::ZERO, order);
        reply
    }

    /// Takes the next order to hold saves back, or to end that.
    fn take_hold(&mut self) {
        let order = self.keepers.holds().recv().expect("an order");
        self.keepers.take_hold(Instant::ZERO, order);
    }

    fn end_batch(&mut self) {
        let outcome = self.keepers.outcomes().recv().expect("an outcome");
        self.keepers.take_outcome(Instant::ZERO, outcome);
    }

    fn take(&mut self, frame: Frame) {
        self.keepers.take(Instant::ZERO, &Frame { world: self.world, ..frame });
    }

    /// Requests for a snapshot that wait in the world's inbox.
    fn resyncs(&self) -> usize {
        let mut commands = Vec::new();
        self.inbox.waiting.drain_commands(&mut commands);
        commands.iter().filter(|command| command.action == Action::Resync).count()
    }

    fn finish(self) -> usize {
        self.thread.finish(self.keepers, &self.clock)
    }
}

#[test]
fn an_ordered_save_is_durable_when_it_is_answered_and_a_failed_one_says_why() {
    let store = Arc::new(Store::open_in_memory().expect("a store"));
    let mut rig = Rig::begin(&store);
    let world = rig.world;

    let mut first = rig.order();
    assert_eq!(rig.resyncs(), 1, "the world has made no step yet, and is asked for one");
    rig.take(Frame::empty());
    rig.end_batch();
    let saved = SavedFrame { epoch: Epoch(0), sequence: 0, at: Instant::ZERO };
    assert_eq!(first.try_recv(), Ok(Ok(saved)));
    let row = store.region_row(world).expect("a store").expect("a row");
    assert_eq!((row.epoch, row.sequence), (saved.epoch, saved.sequence));
    let saves = rig.thread.status().of(world).expect("a region");
    assert_eq!((saves.saved, saves.failures, saves.failing), (Some(saved), 0, None));

    // A gap, while the inbox has no room: the request goes out at the next frame.
    rig.resyncs();
    let leave = |n| Command::by_session(SessionKey(1), n, Action::Leave);
    assert!((0..8).all(|n| rig.inbox.waiting.push_command(leave(n))));
    rig.take(Frame { sequence: 2, ..Frame::empty() });
    assert_eq!(rig.resyncs(), 0, "there is no room");
    rig.take(Frame { sequence: 3, ..Frame::empty() });
    assert_eq!(rig.resyncs(), 1);
    rig.take(Frame { sequence: 4, ..Frame::empty() });
    assert_eq!(rig.resyncs(), 0, "it is under way");
    let whole = SnapshotChunk { index: 0, count: 1, ..SnapshotChunk::default() };
    rig.take(Frame { sequence: 5, snapshot: Some(whole), ..Frame::empty() });

    let fault = InjectedFault { effect: FaultEffect::Fail, place: "keeper".into(), ms: 0, repeat: 2 };
    rig.fuses.order(fault, &|| {}).expect("a place");
    let mut second = rig.order();
    rig.end_batch();
    let why = second.try_recv().expect("an answer").expect_err("a fault");
    assert!(why.contains("a fault that was ordered"), "{why}");
    let saves = rig.thread.status().of(world).expect("a region");
    assert_eq!((saves.saved, saves.failures, saves.failing.is_some()), (Some(saved), 1, true));
    assert_eq!(rig.finish(), 0, "it is saved at the end");
}

#[test]
fn a_region_whose_frames_are_missing_at_the_end_is_saved_in_part_and_reported() {
    let store = Arc::new(Store::open_in_memory().expect("a store"));
    let mut rig = Rig::begin(&store);
    let world = rig.world;
    rig.take(Frame::empty());
    rig.take(Frame { sequence: 1, ..Frame::empty() });
    rig.take(Frame { sequence: 3, ..Frame::empty() });
    assert_eq!(rig.finish(), 1);
    let row = store.region_row(world).expect("a store").expect("a row");
    assert_eq!(row.sequence, 1, "the last frame before the gap");

    // Without any frame before the gap.
    let store = Arc::new(Store::open_in_memory().expect("a store"));
    let mut rig = Rig::begin(&store);
    rig.take(Frame { sequence: 3, ..Frame::empty() });
    assert_eq!(rig.finish(), 1);
    let rig = Rig::begin(&store);
    assert_eq!(rig.finish(), 0, "a world that has made no step");
}

#[test]
fn a_batch_without_an_outcome_is_saved_at_the_end() {
    let store = Arc::new(Store::open_in_memory().expect("a store"));
    let mut rig = Rig::begin(&store);
    let world = rig.world;
    let first = kept_object_ids(&shared_local_ids(world)).start;
    let objects = vec![ObjectChange::Pages(pages(first, 3, None))];
    rig.take(Frame { objects, ..Frame::empty() });
    let followed = rig.keepers.worlds.get_mut(world).expect("the region");
    followed.keeper.order_save();
    followed.keeper.poll_batch(Instant::ZERO).expect("it is due");
    assert_eq!(rig.finish(), 0);
    assert_eq!(store.read_region(world).expect("a region").states.len(), 3);
}

#[test]
fn a_world_that_begins_without_its_objects_is_told_of_and_takes_no_orders() {
    let store = Arc::new(Store::open_in_memory().expect("a store"));
    let mut rig = Rig::begin(&store);
    let world = rig.world;
    let first = kept_object_ids(&shared_local_ids(world)).start;
    let objects = vec![ObjectChange::Pages(pages(first, 3, None))];
    rig.take(Frame { objects, ..Frame::empty() });
    drop(rig.order());
    rig.end_batch();
    let snapshot = |epoch, n| {
        let objects = pages(first, n, None);
        let part = SnapshotChunk { index: 0, count: 1, objects, ..SnapshotChunk::default() };
        Frame { epoch: Epoch(epoch), snapshot: Some(part), ..Frame::empty() }
    };
    rig.take(snapshot(1, 0));
    let mut saved = rig.order();
    assert_eq!(saved.try_recv(), Ok(Err(EMPTIED.into())));
    let status = rig.thread.status();
    let trouble = status.trouble(Instant::from_millis(5_000)).expect("users' edits are not saved");
    assert!(trouble.ends_with(EMPTIED), "{trouble}");
    assert!(status.of(world).expect("a region").unsaved_since.is_some(), "edits will be refused");
    rig.take(snapshot(2, 3));
    let saves = status.of(world).expect("a region");
    assert_eq!((saves.unsaved_since, saves.failing), (None, None));
    rig.take(snapshot(3, 0));
    assert_eq!(rig.finish(), 1);
    assert_eq!(store.read_region(world).expect("a region").states.len(), 3);
}

/// A region with two objects on the disk, a hold on its saves, and two more objects in its world.
fn held(store: &Arc<Store>) -> (Rig, SaveHold) {
    let mut rig = Rig::begin(store);
    let first = kept_object_ids(&shared_local_ids(rig.world)).start;
    let objects = |n| vec![ObjectChange::Pages(pages(first, n, None))];
    rig.take(Frame { objects: objects(2), ..Frame::empty() });
    let mut saved = rig.order();
    rig.end_batch();
    assert!(saved.try_recv().expect("an answer").is_ok());
    let (holds, world) = (rig.thread.holds(), rig.world);
    let asking = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(holds.begin(world)).expect("none lasts")
    });
    rig.take_hold();
    let hold = asking.join().expect("it is granted");
    rig.take(Frame { sequence: 1, objects: objects(3), ..Frame::empty() });
    rig.keepers.save_due(Instant::from_millis(60_000));
    assert_eq!(rig.keepers.poll_timeout(), None);
    rig.take(Frame { sequence: 2, objects: objects(4), ..Frame::empty() });
    rig.keepers.save_due(Instant::from_millis(60_000));
    assert_eq!(n_saved(store, rig.world), 2, "nothing is handed out");
    let trouble = rig.thread.status().trouble(Instant::from_millis(60_000));
    assert_eq!(trouble, None, "it is on purpose");
    (rig, hold)
}

fn n_saved(store: &Store, world: WorldId) -> usize {
    store.read_region(world).expect("a region").states.len()
}

#[test]
fn a_held_region_comes_to_the_disk_in_one_batch_with_the_end_of_its_hold() {
    let store = Arc::new(Store::open_in_memory().expect("a store"));
    let (mut rig, hold) = held(&store);
    let mut ordered = rig.order();
    assert!(ordered.try_recv().is_err(), "an order of an operator waits, too");
    let documents =
        DocumentChanges { rows: vec![(Uuid::nil(), b"<RegionSettings/>".to_vec())], replaces: true };
    let mut saved = hold.end(documents.clone()).expect("the keepers");
    assert_eq!(store.region_documents(rig.world).expect("a store"), []);
    rig.take_hold();
    rig.end_batch();
    assert_eq!(saved.try_recv().expect("an answer").map(|frame| frame.sequence), Ok(2));
    assert_eq!(store.region_documents(rig.world).expect("a store"), documents.rows);
    assert!(ordered.try_recv().expect("an answer").is_ok());
    assert_eq!((n_saved(&store, rig.world), rig.finish()), (4, 0));
}

#[test]
fn a_hold_ends_behind_missing_frames_only() {
    let store = Arc::new(Store::open_in_memory().expect("a store"));
    let (mut rig, hold) = held(&store);
    let first = kept_object_ids(&shared_local_ids(rig.world)).start;
    rig.take(Frame { sequence: 4, ..Frame::empty() });
    let mut saved = hold.end(DocumentChanges::default()).expect("the keepers");
    rig.take_hold();
    rig.keepers.save_due(Instant::from_millis(60_000));
    assert_eq!(n_saved(&store, rig.world), 2, "the frame before the gap has a part of the load");
    let part =
        SnapshotChunk { index: 0, count: 1, objects: pages(first, 6, None), ..SnapshotChunk::default() };
    rig.take(Frame { sequence: 5, snapshot: Some(part), ..Frame::empty() });
    rig.end_batch();
    assert_eq!(saved.try_recv().expect("an answer").map(|frame| frame.sequence), Ok(5));
    assert_eq!((n_saved(&store, rig.world), rig.finish()), (6, 0));
}

#[test]
fn a_region_whose_hold_has_not_ended_stays_on_the_disk_as_it_was() {
    let store = Arc::new(Store::open_in_memory().expect("a store"));
    let (rig, hold) = held(&store);
    let world = rig.world;
    assert_eq!((rig.finish(), n_saved(&store, world)), (1, 2));
    drop(hold);

    let store = Arc::new(Store::open_in_memory().expect("a store"));
    let (mut rig, hold) = held(&store);
    drop(hold);
    rig.take_hold();
    rig.keepers.save_due(Instant::from_millis(60_000));
    let trouble = rig.thread.status().trouble(Instant::from_millis(60_000)).expect("it is not saved");
    assert!(trouble.ends_with(ABANDONED), "{trouble}");
    assert_eq!((rig.finish(), n_saved(&store, world)), (1, 2));
}

/// Pages of prims at rest, each with a name; one of them is elsewhere.
fn pages(first: u32, n: u32, moved: Option<u32>) -> Vec<ObjectPage> {
    let mut pages: Vec<ObjectPage> = Vec::new();
    for at in 0..n {
        let id = LocalId(first + at);
        if pages.last().is_none_or(|page| page.first != page_of(id)) {
            pages.push(ObjectPage::empty(id));
        }
        let page = pages.last_mut().expect("just pushed");
        let number = Uuid::from_u128(u128::from(at) + 1);
        let owner = AgentId(Uuid::from_u128(1));
        let mut body = prim::Body::new(number, prim::Shape::BOX, Arc::default(), owner, 0);
        body.names.name = format!("Lamp {at:>5}").into();
        let mut motion = PrimMotion::NONE;
        motion.motion.position.x = if moved == Some(at) { 9.0 } else { 1.0 };
        Arc::make_mut(&mut page.motions)[index_in_page(id)] = motion;
        Arc::make_mut(&mut page.bodies)[index_in_page(id)] =
            Some(VersionedBody { version: 1, body: Arc::new(body) });
    }
    pages
}

/// An object that a user wears.
fn worn(owner: AgentId, item: Uuid) -> WornObject {
    let body = prim::Body::new(Uuid::from_u128(2), prim::Shape::BOX, Arc::default(), owner, 0);
    let root = (PrimMotion::NONE, VersionedBody { version: 1, body: Arc::new(body) });
    let (folder, transaction, linksets) = (Uuid::nil(), Uuid::nil(), vec![vec![root]]);
    let (by, kind, is_worn) = (SessionKey::NODE, DerezKind::Take, true);
    let object = Arc::new(HeldObject { owner, by, kind, folder, transaction, is_worn, linksets });
    WornObject { owner, item, point: 2, revision: 1, is_ahead: false, object }
}

#[test]
fn an_inventory_learns_that_a_take_off_is_saved_or_that_its_save_has_failed() {
    let store = Arc::new(Store::open_in_memory().expect("a store"));
    let mut rig = Rig::begin(&store);
    rig.take(Frame::empty());
    let (agent, item) = (AgentId(Uuid::from_u128(1)), Uuid::from_u128(0x17E));
    let answers = rig.keepers.dressing.0.answers().clone();
    let ask = |rig: &mut Rig, number| {
        let until = Instant::from_millis(5_000);
        let question = WornQuestion { number, agent, items: vec![item], until };
        rig.keepers.take_dressing(Instant::ZERO, WardrobeOrder::Ask(question));
    };
    // The avatar is in an instance.
    let (session, worn) = (SessionKey(1), vec![worn(agent, item)]);
    let arrived = WardrobeOrder::Arrived { agent, session, world: None, worn };
    rig.keepers.take_dressing(Instant::ZERO, arrived);
    ask(&mut rig, 1);
    assert_eq!(answers.try_recv(), Ok((1, WornState::Worn)));

    let items = WornItems::These(vec![item]);
    rig.keepers.take_dressing(Instant::ZERO, WardrobeOrder::TakeOff { agent, items });
    ask(&mut rig, 2);
    let fault = InjectedFault { effect: FaultEffect::Fail, place: "keeper".into(), ms: 0, repeat: 2 };
    rig.fuses.order(fault, &|| {}).expect("a place");
    let mut saved = rig.order();
    assert!(answers.is_empty(), "nothing is on the disk yet");
    rig.end_batch();
    assert!(saved.try_recv().expect("an answer").is_err());
    assert_eq!(answers.try_recv(), Ok((2, WornState::NotSaved)));

    ask(&mut rig, 3);
    rig.keepers.save_due(Instant::from_millis(1_000));
    assert!(answers.is_empty(), "the next batch is under way");
    rig.end_batch();
    assert_eq!(answers.try_recv(), Ok((3, WornState::Free)));
    assert_eq!((rig.finish(), answers.len()), (0, 0));
}

#[test]
fn rows_that_a_page_damaged_meanwhile_has_lost_are_written_again() {
    const N: u32 = 600;
    const PAGE: usize = 4_096;
    let folder = tempfile::tempdir().expect("a directory");
    let open = || Arc::new(Store::open(&StoreUrl::of_directory(folder.path())).expect("a store"));
    let world = WORLD;
    let first = kept_object_ids(&shared_local_ids(world)).start;
    let all = || vec![ObjectChange::Pages(pages(first, N, None))];
    let mut rig = Rig::begin(&open());
    rig.take(Frame { objects: all(), ..Frame::empty() });
    let mut saved = rig.order();
    rig.end_batch();
    assert!(saved.try_recv().expect("an answer").is_ok());
    assert_eq!(rig.finish(), 0);
    let stored = open().read_region(world).expect("a region");
    assert_eq!((stored.bodies.len(), stored.states.len()), (N as usize, N as usize));

    // Since that start, the page of a prim that is moved now.
    let path = folder.path().join("throng.sqlite");
    let mut bytes = std::fs::read(&path).expect("the file");
    let at = bytes.windows(10).position(|some| some == b"Lamp   300").expect("its name");
    bytes[at / PAGE * PAGE..][..PAGE].fill(0);
    std::fs::write(&path, bytes).expect("the file");
    let store = open();
    let mut rig = Rig::begin_with(&store, &stored);
    rig.take(Frame { objects: all(), ..Frame::empty() });
    let moved = pages(first, N, Some(300));
    let (_, motion, _) = moved[1].prims().find(|(id, ..)| id.0 == first + 300).expect("on the second page");
    let objects = vec![ObjectChange::Moved(LocalId(first + 300), *motion)];
    rig.take(Frame { sequence: 1, objects, ..Frame::empty() });
    let mut saved = rig.order();
    rig.end_batch();
    let why = saved.try_recv().expect("an answer").expect_err("rows are lost");
    assert_eq!((&*why, rig.resyncs()), (ROWS_LOST, 1));
    // The region's own row, at once.
    rig.end_batch();
    let lost = store.read_region(world).expect("it can be read again");
    assert!(lost.row.is_some() && lost.states.len() < N as usize, "{}", lost.states.len());
    let part = SnapshotChunk { index: 0, count: 1, objects: moved, ..SnapshotChunk::default() };
    rig.take(Frame { sequence: 2, snapshot: Some(part), ..Frame::empty() });
    let mut saved = rig.order();
    rig.end_batch();
    assert!(saved.try_recv().expect("an answer").is_ok());
    let again = store.read_region(world).expect("a region");
    assert_eq!((again.bodies, again.states.len()), (stored.bodies, N as usize));
    let differ = again.states.iter().zip(stored.states.iter()).filter(|(new, old)| new != old);
    assert_eq!(differ.map(|((id, _), _)| id.0 - first).collect::<Vec<_>>(), [300]);
    assert_eq!(rig.finish(), 0);
}
