//! A process with two regions and one user, as far as worn objects travel: worlds, their keepers, the wardrobe, the queues in between, and the database, moved
//! by hand.
//!
//! Everything but the database is lost when the process ends. The law: what the store has as worn is worn by the avatar, once, with the same look, and by no other.

use glam::Vec3;
use ids::{AgentId, Epoch, Instant, LocalId, SessionKey, Tick, Uuid, WorldId};
use keeper::{
    AssetBytes, Batch, Following, Keeper, KeeperConfig, NewLand, RegionIds, RenewedWorn, Wardrobe,
    WardrobeOrder, WornObject, WornRegions, encode_object, renew_worn, worn_of_item,
};
use link::{
    Action, Command, DerezKind, Enter, Estate, Frame, HeldObject, ObjectCommand, ObjectPage, PrimMotion,
    RestingIds, StoredObjects, Terrain, VersionedBody, WornItems, index_in_page, kept_object_ids,
    shared_local_ids, temporary_object_ids,
};
use prim::{Body, Shape};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use store::{
    AssetHash, AssetRow, Folder, Item, ItemEffect, NewAccount, NewWorn, PasswordHash, Permissions, Sale,
    Store, WearOutcome,
};
use world::{Life, WorldConfig};

static GROUND: LazyLock<Arc<Terrain>> = LazyLock::new(|| Arc::new(Terrain::flat(256, 21.0)));

const OWNER: AgentId = AgentId(Uuid::from_u128(1));
const ROOT: Uuid = Uuid::from_u128(0x101);
/// Items of the user.
pub(crate) const ITEMS: usize = 3;
const TICK: Duration = Duration::from_millis(50);
/// Rounds without a fault until nothing is under way.
const ROUNDS_MAX: usize = 120;
/// Rounds within which keepers end orders that worlds have lost.
const ROUNDS_MIN: usize = 34;

/// One movement within the process. Regions are 0 and 1, items 0 to [`ITEMS`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deed {
    /// The user's avatar goes into a region: by a login, or from the other one.
    Go(usize),
    /// The wardrobe gets the report of the arrival. A gateway gives it when the region shows the avatar; here it may come at any time.
    Arrive,
    /// The user logs out.
    LogOut,
    /// The user puts an item on.
    PutOn(usize),
    /// The user takes an item off.
    TakeOff(usize),
    /// The user's client takes a worn object off, in the world.
    Detach(usize),
    /// The user gives a worn object another name.
    Rename(usize),
    /// The world steps, and sends a frame.
    Step(usize),
    /// The world panics in a step and begins again.
    Panic(usize),
    /// The keeper hears a frame, or the frame is lost.
    Hear(usize, bool),
    /// The keeper gives a batch out.
    Poll(usize),
    /// The database carries the batch out.
    Write(usize),
    /// The keeper gets an answer: the true one, or that the outcome is unknown.
    Answer(usize, bool),
    /// The process is killed, and another one begins.
    Crash,
}

impl Deed {
    /// True for a fault, by which the newest changes may be lost.
    const fn is_fault(self) -> bool {
        matches!(self, Self::Panic(_) | Self::Crash)
    }
}

/// A worn object, by what users see of it.
type Look = (Uuid, u8, String);

/// A running process with its database.
pub(crate) struct Node<'a> {
    store: &'a Store,
    regions: Regions,
    wardrobe: Wardrobe,
    now: Instant,
    n_sessions: u64,
    /// Session of the user, and its region.
    user: Option<(SessionKey, usize)>,
    assets: BTreeMap<AssetHash, Vec<u8>>,
    /// Items that the user has put on and not taken off since.
    worn: BTreeSet<Uuid>,
    /// Those that may be worn or not: a fault may have lost that they were taken off.
    doubtful: BTreeSet<Uuid>,
    names: BTreeMap<Uuid, String>,
    n_names: u32,
    has_faults: bool,
}

struct Regions(Vec<Region>);

impl WornRegions for Regions {
    fn keepers(&mut self) -> impl Iterator<Item = &mut Keeper> {
        self.0.iter_mut().map(|region| &mut region.keeper)
    }
}

struct Region {
    world: WorldId,
    life: Life,
    keeper: Keeper,
    inbox: Vec<Command>,
    n_commands: u64,
    tick: u64,
    panics: u32,
    frames: VecDeque<Frame>,
    under_way: Option<Flight>,
}

struct Flight {
    batch: Batch,
    is_written: bool,
    effects: Vec<ItemEffect>,
}

impl<'a> Node<'a> {
    /// A process with an empty database.
    pub(crate) fn new(store: &'a Store) -> Self {
        let mut node = Self {
            store,
            regions: Regions(Vec::new()),
            wardrobe: Wardrobe::new(Uuid::from_u128(7)),
            now: Instant::ZERO,
            n_sessions: 0,
            user: None,
            assets: BTreeMap::new(),
            worn: BTreeSet::new(),
            doubtful: BTreeSet::new(),
            names: BTreeMap::new(),
            n_names: 0,
            has_faults: false,
        };
        node.make_account();
        node.begin([1, 2].map(|world| Some(anchor(world))));
        for region in 0..2 {
            node.do_all(&[Deed::Step(region), Deed::Hear(region, false), Deed::Poll(region)]);
            node.do_all(&[Deed::Write(region), Deed::Answer(region, true)]);
        }
        node
    }

    fn make_account(&mut self) {
        let (name, parent) = ("My Inventory".into(), Uuid::nil());
        let root = Folder { id: ROOT, parent, name, type_default: 8, version: 1 };
        let mut items = Vec::new();
        for n in 0..ITEMS {
            let object = object(n);
            let bytes = encode_object(&object).expect("a short one");
            let hash = AssetHash::of(&bytes);
            let row = AssetRow {
                id: Uuid::from_u128(0x300 + n as u128),
                hash,
                kind: 6,
                length: bytes.len() as u32,
                creator: OWNER,
                created_s: 0,
                origin: "test".into(),
                used_s: None,
            };
            self.assets.insert(hash, bytes);
            items.push(item(n, row.id));
            self.store.add_assets(&[row]).expect("a database");
        }
        let owner = NewAccount {
            agent: OWNER,
            first: "Ada".into(),
            last: "Lovelace".into(),
            password_hash: PasswordHash(String::new()),
            created_s: 0,
            folders: vec![root],
            items,
        };
        self.store.create_account(&owner).expect("a database");
    }

    /// Begins the process: regions have these objects, or those of the database.
    fn begin(&mut self, objects: [Option<StoredObjects>; 2]) {
        self.store.release_all_held().expect("a database");
        self.store.release_all_marks().expect("a database");
        let regions = (1..).zip(objects).map(|(n, objects)| Region::begin(self.store, WorldId(n), objects));
        self.regions = Regions(regions.collect());
        self.wardrobe = Wardrobe::new(Uuid::from_u128(7));
        self.user = None;
    }

    pub(crate) fn do_all(&mut self, deeds: &[Deed]) {
        deeds.iter().for_each(|deed| self.do_deed(*deed));
    }

    pub(crate) fn do_deed(&mut self, deed: Deed) {
        self.now += TICK;
        let now = self.now;
        self.has_faults |= deed.is_fault();
        match deed {
            Deed::Go(n) => self.go(n),
            Deed::Arrive => self.arrive(),
            Deed::LogOut => self.log_out(),
            Deed::PutOn(n) => self.put_on(n),
            Deed::TakeOff(n) => self.take_off(n),
            Deed::Detach(n) => self.detach(n),
            Deed::Rename(n) => self.rename(n),
            Deed::Step(n) => self.regions.0[n].step(now),
            Deed::Panic(n) => self.panic(n),
            Deed::Hear(n, is_lost) => {
                self.regions.0[n].hear(now, is_lost);
                let world = self.regions.0[n].world;
                while let Some(news) = self.regions.0[n].keeper.poll_worn() {
                    self.wardrobe.take_news(now, world, news, &mut self.regions);
                }
            }
            Deed::Poll(n) => self.now = self.regions.0[n].poll(now),
            Deed::Write(n) => self.regions.0[n].write(self.store, &mut self.assets),
            Deed::Answer(n, is_true) => self.regions.0[n].answer(now, is_true),
            Deed::Crash => self.begin([None, None]),
        }
        self.wardrobe.drive(self.now, &mut self.regions);
        self.regions.0.iter_mut().for_each(Region::send_orders);
    }

    fn go(&mut self, n: usize) {
        let session = match self.user {
            Some((session, from)) => {
                if from != n {
                    self.regions.0[from].act(session, Action::Leave);
                }
                session
            }
            None => {
                self.n_sessions += 1;
                SessionKey(self.n_sessions)
            }
        };
        if self.user != Some((session, n)) {
            self.regions.0[n].act(session, enter());
        }
        self.user = Some((session, n));
    }

    fn arrive(&mut self) {
        let Some((session, n)) = self.user else { return };
        let list = self.store.worn_objects(OWNER).expect("a database");
        assert_eq!(list.damages, []);
        let worn = list.rows.iter().map(|row| WornObject::of_row(row).expect("of this build")).collect();
        let world = Some(self.regions.0[n].world);
        let order = WardrobeOrder::Arrived { agent: OWNER, session, world, worn };
        self.wardrobe.take_order(self.now, order, &mut self.regions);
    }

    fn log_out(&mut self) {
        let Some((session, n)) = self.user.take() else { return };
        self.regions.0[n].act(session, Action::Leave);
        let order = WardrobeOrder::Gone { agent: OWNER, session };
        self.wardrobe.take_order(self.now, order, &mut self.regions);
    }

    fn put_on(&mut self, n: usize) {
        let Some((session, _)) = self.user else { return };
        let item = self.store.item(OWNER, item_id(n)).expect("a database").expect("it stays");
        let asset = self.store.asset(item.asset).expect("a database").expect("its asset");
        let bytes = &self.assets[&asset.row.hash];
        let point = Some(n as u8 + 1);
        let (point, object) = worn_of_item(OWNER, &item, bytes, session, point).expect("an object");
        let revision = i64::try_from(self.now.0 / 1_000).expect("early");
        let (owner, item_id, object) = (OWNER, item.id, Arc::new(object));
        let worn = WornObject { owner, item: item_id, point, revision, is_ahead: false, object };
        let value = worn.row().value;
        let new = NewWorn { item, point, revision, value };
        match self.store.wear(OWNER, &[new], 38).expect("a database")[..] {
            [WearOutcome::Worn] => {
                let name = worn.object.linksets[0][0].1.body.names.name.to_string();
                self.names.insert(item_id, name);
                self.worn.insert(item_id);
                self.doubtful.remove(&item_id);
                let order = WardrobeOrder::Wear { agent: OWNER, items: vec![(worn, false)] };
                self.wardrobe.take_order(self.now, order, &mut self.regions);
            }
            // It is worn, or the store does not know yet that it is off.
            [WearOutcome::Already] => {
                let order = WardrobeOrder::WearAgain { agent: OWNER, items: vec![item_id] };
                self.wardrobe.take_order(self.now, order, &mut self.regions);
            }
            ref other => panic!("{other:?}"),
        }
    }

    fn take_off(&mut self, n: usize) {
        if self.user.is_none() {
            return;
        }
        if self.worn.remove(&item_id(n)) {
            self.doubtful.insert(item_id(n));
        }
        let items = WornItems::These(vec![item_id(n)]);
        let order = WardrobeOrder::TakeOff { agent: OWNER, items };
        self.wardrobe.take_order(self.now, order, &mut self.regions);
    }

    fn detach(&mut self, n: usize) {
        let Some((session, region, root)) = self.find_worn(n) else { return };
        if self.worn.remove(&item_id(n)) {
            self.doubtful.insert(item_id(n));
        }
        let command = ObjectCommand::TakeOff(vec![root]);
        self.regions.0[region].act(session, Action::Object(Box::new(command)));
    }

    /// The user's session and region, and the root of an item that the avatar wears there.
    fn find_worn(&self, n: usize) -> Option<(SessionKey, usize, LocalId)> {
        let (session, region) = self.user?;
        let here = &self.regions.0[region];
        // The objects go before one of them is changed.
        if here.inbox.iter().any(|command| command.action == Action::Leave) {
            return None;
        }
        let (root, _) = here.worn().into_iter().find(|(_, (item, ..))| *item == item_id(n))?;
        Some((session, region, root))
    }

    fn rename(&mut self, n: usize) {
        let Some((session, region, root)) = self.find_worn(n) else { return };
        self.n_names += 1;
        let name = format!("Name {}", self.n_names);
        self.names.insert(item_id(n), name.clone());
        let command = ObjectCommand::Name(vec![(root, name)]);
        self.regions.0[region].act(session, Action::Object(Box::new(command)));
    }

    /// The commands of the step are lost, and the node sends the world what it knows of its user.
    fn panic(&mut self, n: usize) {
        let now = self.now;
        self.regions.0[n].panic(now);
        for number in 1..=self.n_sessions {
            let session = SessionKey(number);
            let is_here = self.user == Some((session, n));
            self.regions.0[n].act(session, if is_here { enter() } else { Action::Leave });
        }
    }

    /// Lets everything that is under way come to its end without another fault, with the user in a region, and checks the law.
    pub(crate) fn settle(&mut self) {
        let had_faults = self.has_faults;
        if self.user.is_none() {
            self.do_deed(Deed::Go(0));
        }
        self.do_deed(Deed::Arrive);
        for round in 0..ROUNDS_MAX {
            for n in 0..2 {
                self.do_all(&[Deed::Write(n), Deed::Answer(n, true), Deed::Step(n)]);
                while !self.regions.0[n].frames.is_empty() {
                    self.do_deed(Deed::Hear(n, false));
                }
                self.do_all(&[Deed::Poll(n), Deed::Write(n), Deed::Answer(n, true)]);
            }
            if round >= ROUNDS_MIN && self.is_settled() {
                self.check(had_faults);
                return;
            }
        }
        panic!("it does not come to an end");
    }

    fn is_settled(&mut self) -> bool {
        let are_quiet = self.regions.0.iter_mut().all(|region| {
            region.keeper.unsaved_since().is_none() && region.under_way.is_none() && region.inbox.is_empty()
        });
        are_quiet && self.wardrobe.poll_timeout().is_none()
    }

    fn check(&self, had_faults: bool) {
        let (_, here) = self.user.expect("the user is in a region");
        let rows = self.store.worn_objects(OWNER).expect("a database").rows;
        let stored: BTreeSet<Look> =
            rows.iter().map(|row| look_of(&WornObject::of_row(row).unwrap())).collect();
        for (n, region) in self.regions.0.iter().enumerate() {
            let worn: Vec<Look> = region.worn().into_iter().map(|(_, look)| look).collect();
            let expected = if n == here { stored.iter().cloned().collect() } else { Vec::new() };
            let mut sorted = worn.clone();
            sorted.sort();
            assert_eq!(sorted, expected, "region {n}, the user is in {here}");
        }
        let items: BTreeSet<Uuid> = stored.iter().map(|(item, ..)| *item).collect();
        assert!(self.worn.is_subset(&items), "{:?} are worn, and these should be: {:?}", items, self.worn);
        let possible: BTreeSet<Uuid> = self.worn.union(&self.doubtful).copied().collect();
        assert!(items.is_subset(&possible), "{items:?} are worn, and only these may be: {possible:?}");
        if !had_faults {
            assert_eq!(items, self.worn);
            for (item, _, name) in &stored {
                assert_eq!(Some(name), self.names.get(item), "the last edit");
            }
        }
        let mut all: Vec<Uuid> =
            self.store.items_in(OWNER, ROOT, 100).expect("a database").iter().map(|item| item.id).collect();
        all.sort();
        assert_eq!(all, (0..ITEMS).map(item_id).collect::<Vec<_>>(), "every item is there once");
    }

    /// Looks of the worn objects in the store.
    pub(crate) fn stored(&self) -> Vec<Look> {
        let rows = self.store.worn_objects(OWNER).expect("a database").rows;
        rows.iter().map(|row| look_of(&WornObject::of_row(row).expect("of this build"))).collect()
    }

    /// Assets of the items.
    pub(crate) fn assets(&self) -> Vec<Uuid> {
        let item = |n| self.store.item(OWNER, item_id(n)).expect("a database").expect("it stays");
        (0..ITEMS).map(|n| item(n).asset).collect()
    }
}

impl Region {
    fn begin(store: &Store, world: WorldId, objects: Option<StoredObjects>) -> Self {
        let stored = store.region_objects(world).expect("a database");
        assert_eq!(stored.damages, []);
        let (keeper, loaded) =
            Keeper::load(&keeper_config(world), &stored, Uuid::from_u128(9)).expect("of this build");
        let objects = objects.unwrap_or(loaded.objects);
        let config = WorldConfig {
            id: world,
            epoch: Epoch(0),
            size_m: 256,
            local_ids: shared_local_ids(world),
            terrain: Arc::clone(&GROUND),
            scenery: Arc::default(),
            objects: Some(objects),
            land: Some(loaded.land),
            cast: None,
            water_m: 20.0,
            max_avatars: 10,
            seed: 1,
        };
        Self {
            world,
            life: Life::new(config, 0.0),
            keeper,
            inbox: Vec::new(),
            n_commands: 0,
            tick: 0,
            panics: 0,
            frames: VecDeque::new(),
            under_way: None,
        }
    }

    /// A command of the user's.
    fn act(&mut self, session: SessionKey, action: Action) {
        self.inbox.push(Command::by_session(session, self.n_commands, action));
        self.n_commands += 1;
    }

    fn send_orders(&mut self) {
        let Self { keeper, inbox, n_commands, .. } = self;
        keeper.send_orders(|action| {
            inbox.push(Command::by_node(SessionKey::NODE, *n_commands, action));
            *n_commands += 1;
            true
        });
    }

    fn step(&mut self, now: Instant) {
        let mut frame = Frame::empty();
        self.life.step(now, Tick(self.tick), TICK, 1.0, &mut std::mem::take(&mut self.inbox), &mut frame);
        self.tick += 1;
        self.panics = 0;
        self.frames.push_back(frame);
    }

    fn panic(&mut self, now: Instant) {
        self.life.arm(Box::new(|| panic!("a fault of this test")));
        let (life, tick, mut commands) = (&mut self.life, Tick(self.tick), std::mem::take(&mut self.inbox));
        let step = || life.step(now, tick, TICK, 1.0, &mut commands, &mut Frame::empty());
        assert!(catch_unwind(AssertUnwindSafe(step)).is_err());
        self.tick += 1;
        self.panics += 1;
        drop(self.life.begin_again(self.panics));
    }

    fn hear(&mut self, now: Instant, is_lost: bool) {
        let Some(frame) = self.frames.pop_front().filter(|_| !is_lost) else { return };
        match self.keeper.handle_frame(now, &frame) {
            Following::NeedsSnapshot => {
                self.inbox.push(Command::by_node(SessionKey::NODE, self.n_commands, Action::Resync));
                self.n_commands += 1;
            }
            Following::Current | Following::Waiting => {}
            Following::Emptied => panic!("the anchor stays"),
        }
    }

    /// The time of the batch, which may have to wait after a failure.
    fn poll(&mut self, now: Instant) -> Instant {
        let due_at = self.keeper.poll_timeout().map_or(now, |due_at| due_at.max(now));
        if let Some(batch) = self.keeper.poll_batch(due_at) {
            self.under_way = Some(Flight { batch, is_written: false, effects: Vec::new() });
        }
        due_at
    }

    fn write(&mut self, store: &Store, assets: &mut BTreeMap<AssetHash, Vec<u8>>) {
        let Some(Flight { batch, is_written, effects }) = &mut self.under_way else { return };
        let RenewedWorn { assets: new, failed } = renew_worn(&mut batch.changes, encode_object);
        assert_eq!(failed, []);
        assets.extend(new.into_iter().map(|AssetBytes { hash, bytes }| (hash, bytes)));
        *effects = store.save_region(self.world, &batch.changes).expect("a database");
        *is_written = true;
    }

    fn answer(&mut self, now: Instant, is_true: bool) {
        let Some(Flight { batch, is_written, effects }) = self.under_way.take() else { return };
        let is_saved = is_written && is_true;
        self.keeper.handle_saved(now, batch.id, is_saved);
        if is_saved {
            self.keeper.note_items(&effects);
        }
    }

    /// Objects that avatars wear in the world, by its own snapshot.
    fn worn(&self) -> Vec<(LocalId, Look)> {
        // A world beside it, which goes again.
        let world = world::World::resume(self.life.config().clone(), &self.life.world().checkpoint());
        let mut world = world.expect("its own checkpoint");
        let mut commands = vec![Command::by_node(SessionKey::NODE, u64::MAX, Action::Resync)];
        let mut frame = Frame::empty();
        world.step(Tick(self.tick), TICK, 1.0, &mut commands, &mut frame);
        let part = frame.snapshot.expect("it was asked for");
        let prims = part.objects.iter().flat_map(ObjectPage::prims);
        let worn = prims.filter_map(|(id, _, VersionedBody { body, .. })| {
            let item = body.worn_item?;
            Some((id, (item, body.attachment_point(), body.names.name.to_string())))
        });
        worn.collect()
    }
}

fn enter() -> Action {
    Action::Enter(Box::new(Enter {
        agent: OWNER,
        first_name: "Ada".into(),
        last_name: "Lovelace".into(),
        position: Vec3::new(128.0, 128.0, 22.0),
        look_at: Vec3::X,
        flying: false,
        appearance: None,
    }))
}

fn look_of(worn: &WornObject) -> Look {
    let root = &worn.object.linksets[0][0].1.body;
    (worn.item, worn.point, root.names.name.to_string())
}

fn item_id(n: usize) -> Uuid {
    Uuid::from_u128(0x200 + n as u128)
}

fn item(n: usize, asset: Uuid) -> Item {
    let all = prim::Mask::ALL.bits();
    Item {
        id: item_id(n),
        folder: ROOT,
        asset,
        asset_type: 6,
        inventory_type: 6,
        name: format!("Item {n}"),
        description: String::new(),
        flags: 0,
        created_s: 0,
        permissions: Permissions {
            creator: OWNER.0,
            last_owner: OWNER.0,
            group: Uuid::nil(),
            group_owned: false,
            base: all,
            owner: all,
            group_mask: 0,
            everyone: 0,
            next_owner: 0,
        },
        sale: Sale::default(),
    }
}

/// An object of one prim more than this number.
fn object(n: usize) -> HeldObject {
    let prim = |number: usize| {
        let body = Body::new(
            Uuid::from_u128((n as u128 + 1) << 64 | number as u128),
            Shape::BOX,
            Arc::default(),
            OWNER,
            1,
        );
        let place = PrimMotion { link_number: number as u8, ..PrimMotion::NONE };
        (place, VersionedBody { version: 1, body: Arc::new(body) })
    };
    HeldObject {
        owner: OWNER,
        by: SessionKey::NODE,
        kind: DerezKind::Take,
        folder: Uuid::nil(),
        transaction: Uuid::nil(),
        is_worn: false,
        linksets: vec![(0..=n).map(prim).collect()],
    }
}

/// A prim that stays, by which a region knows itself again.
fn anchor(world: u32) -> StoredObjects {
    let start = kept_object_ids(&shared_local_ids(WorldId(world))).start;
    let mut page = ObjectPage::empty(LocalId(start));
    let body = Body::new(Uuid::from_u128(u128::from(world) << 96), Shape::BOX, Arc::default(), OWNER, 1);
    Arc::make_mut(&mut page.bodies)[index_in_page(LocalId(start))] =
        Some(VersionedBody { version: 1, body: Arc::new(body) });
    let motion = link::Motion { position: Vec3::new(20.0, 20.0, 30.0), ..PrimMotion::NONE.motion };
    Arc::make_mut(&mut page.motions)[index_in_page(LocalId(start))] =
        PrimMotion { motion, ..PrimMotion::NONE };
    let kept = RestingIds { n_used: 1, resting: Vec::new() };
    StoredObjects { pages: vec![page], kept, ..StoredObjects::default() }
}

fn keeper_config(region: WorldId) -> KeeperConfig {
    let all = shared_local_ids(region);
    let ids = RegionIds { kept: kept_object_ids(&all), temporary: temporary_object_ids(&all) };
    KeeperConfig {
        region,
        name: "Harbour".into(),
        former_name: None,
        land: NewLand { terrain: Arc::clone(&GROUND), estate: Estate::new("Estate", None, 20.0), now_s: 0 },
        ids,
        save: Duration::from_millis(250),
        moving_bytes_per_s: 4 << 20,
        unix_start_s: 0,
    }
}
