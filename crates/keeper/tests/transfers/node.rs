//! A process with two regions, as far as linksets travel between them and the database: worlds, their keepers, and the queues in between, moved by hand.
//!
//! Everything but the database is lost when the process ends. Its content is compared with the law of transfers: each linkset is whole, and
//! in one place.

use glam::Vec3;
use ids::{AgentId, Epoch, HeldKey, Instant, LocalId, SessionKey, Tick, Uuid, WorldId};
use keeper::{
    Batch, Following, Itemized, Keeper, KeeperConfig, NewLand, OrderKey, RegionIds, RestoreOrder,
    RestoreSource, held_object, itemize,
};
use link::{
    Action, Command, Derez, DerezKind, Estate, Frame, HeldObject, Motion, ObjectChange, ObjectCommand,
    ObjectLimits, ObjectPage, PrimMotion, RestingIds, RestorePlace, StoredLand, StoredObjects, Terrain,
    VersionedBody, index_in_page, kept_object_ids, shared_local_ids, temporary_object_ids,
};
use prim::{Body, Carried, ContentItem, Contents, Mask, Ownership, Permissions, Sale, Shape};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use store::{
    AssetHash, Folder, HeldFilter, Item, ItemEffect, MarkItem, NewAccount, PasswordHash, Store, TakeHeld,
};
use world::{Fault, Life, WorldConfig};

static GROUND: LazyLock<Arc<Terrain>> = LazyLock::new(|| Arc::new(Terrain::flat(256, 21.0)));

/// The owner of all objects, and the root of its inventory, in a database where it has one.
const OWNER: AgentId = AgentId(Uuid::from_u128(1));
const ROOT: Uuid = Uuid::from_u128(0x101);

const TICK: Duration = Duration::from_millis(50);
/// Linksets in the first region at the begin, with 1, 2, 3, 1, … prims.
const LINKSETS: u32 = 6;
/// Further ones, as items that may not be copied, in the anchor of that region.
const PACKED: u32 = 2;
/// Rounds without a fault until nothing is under way.
const ROUNDS_MAX: usize = 60;

/// One movement within the process. Regions are 0 and 1; other numbers choose among what there is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deed {
    /// The operator takes a linkset out of a region, or deletes it.
    Leave(usize, DerezKind, usize),
    /// The operator orders a held linkset into a region, or that of an item.
    Restore(usize, usize),
    /// The operator orders that of an item in the anchor out of it.
    Unpack(usize, usize),
    /// The region may have no more than this number of prims.
    Limit(usize, u32),
    /// The world steps, and sends a frame.
    Step(usize),
    /// The world panics in a step and begins again.
    Panic(usize),
    /// The world panics in the midst of a change of objects, and begins again with those of its checkpoint.
    GoBack(usize),
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

/// A running process with its database.
pub(crate) struct Node<'a> {
    store: &'a Store,
    first: u32,
    regions: Vec<Region>,
    now: Instant,
    /// Prims of each linkset, by its identity.
    linksets: BTreeMap<Uuid, usize>,
    deleted: BTreeSet<Uuid>,
    n_ids: u128,
    /// Files of assets, where objects become items.
    assets: Option<BTreeMap<AssetHash, Vec<u8>>>,
}

/// A place of an object in the database outside of the regions.
#[derive(Clone, Debug)]
enum Kept {
    Row(HeldKey),
    Item(Box<Item>),
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
    /// Identities of roots in the newest frame.
    roots: BTreeMap<LocalId, Uuid>,
    /// Items in the anchor, likewise.
    packed: Vec<Arc<ContentItem>>,
    under_way: Option<Flight>,
}

struct Flight {
    batch: Batch,
    is_written: bool,
    effects: Vec<ItemEffect>,
}

impl<'a> Node<'a> {
    /// A process that begins with a database without the regions `first` and the one behind it. Objects that leave become items, or stay in rows.
    pub(crate) fn new(store: &'a Store, first: u32, are_items: bool) -> Self {
        let linksets = (0..LINKSETS + PACKED).map(|n| (linkset_id(first, n), n_prims(n))).collect();
        let (regions, deleted) = (Vec::new(), BTreeSet::new());
        if are_items && store.account(OWNER).expect("a database").is_none() {
            make_owner(store);
        }
        let assets = are_items.then(BTreeMap::new);
        let now = Instant::ZERO;
        let mut node = Self { store, first, regions, now, linksets, deleted, n_ids: 0, assets };
        node.begin([objects(first, first, LINKSETS), objects(first, first + 1, 0)].map(Some));
        for region in 0..2 {
            node.do_all(&[Deed::Step(region), Deed::Hear(region, false), Deed::Poll(region)]);
            node.do_all(&[Deed::Write(region), Deed::Answer(region, true)]);
        }
        node.check();
        node
    }

    /// Begins the process: regions have these objects, or those of the database.
    fn begin(&mut self, objects: [Option<StoredObjects>; 2]) {
        self.store.release_all_held().expect("a database");
        self.store.release_all_marks().expect("a database");
        let regions =
            (self.first..).zip(objects).map(|(n, objects)| Region::begin(self.store, WorldId(n), objects));
        self.regions = regions.collect();
    }

    pub(crate) fn do_all(&mut self, deeds: &[Deed]) {
        deeds.iter().for_each(|deed| self.do_deed(*deed));
    }

    pub(crate) fn do_deed(&mut self, deed: Deed) {
        self.now += TICK;
        let now = self.now;
        match deed {
            Deed::Leave(n, kind, which) => self.leave(n, kind, which),
            Deed::Restore(n, which) => self.restore(n, which),
            Deed::Unpack(n, which) => self.unpack(n, which),
            Deed::Limit(n, objects_max) => {
                let limits = ObjectLimits { objects_max, ..ObjectLimits::default() };
                self.regions[n].push(Action::ObjectLimits(limits));
            }
            Deed::Step(n) => self.regions[n].step(now),
            Deed::Panic(n) => self.regions[n].panic(now, false),
            Deed::GoBack(n) => self.regions[n].panic(now, true),
            Deed::Hear(n, is_lost) => self.regions[n].hear(now, is_lost),
            Deed::Poll(n) => self.now = self.regions[n].poll(now),
            Deed::Write(n) => self.regions[n].write(self.store, self.assets.as_mut()),
            Deed::Answer(n, is_true) => self.regions[n].answer(now, is_true),
            Deed::Crash => {
                self.check();
                self.begin([None, None]);
            }
        }
    }

    fn leave(&mut self, n: usize, kind: DerezKind, which: usize) {
        let region = &mut self.regions[n];
        let linksets = &self.linksets;
        let roots: Vec<(LocalId, Uuid)> = region
            .roots
            .iter()
            .filter(|(_, id)| linksets.contains_key(*id))
            .map(|(root, id)| (*root, *id))
            .collect();
        let Some(&(root, id)) = roots.get(which % roots.len().max(1)) else { return };
        if kind == DerezKind::Delete {
            self.deleted.insert(id);
        }
        let (folder, transaction) = (Uuid::nil(), Uuid::nil());
        let derez = Derez { objects: vec![root], kind, folder, transaction };
        region.push(Action::Object(Box::new(ObjectCommand::Derez(derez))));
    }

    fn restore(&mut self, n: usize, which: usize) {
        let held = self.held();
        let Some((kept, _)) = held.get(which % held.len().max(1)) else { return };
        let source = match kept {
            Kept::Row(key) => self.take_row(n, *key),
            Kept::Item(item) => self.mark_item(n, item),
        };
        let Some(source) = source else { return };
        self.n_ids += 1;
        let ids = Uuid::from_u128(self.n_ids << 64 | u128::from(self.first));
        let order = RestoreOrder { source, place: RestorePlace::Former, ids };
        let region = &mut self.regions[n];
        if region.keeper.order_restore(order).is_err() {
            let released = match kept {
                Kept::Row(key) => self.store.release_held(*key),
                Kept::Item(item) => self.store.release_item(OWNER, item.id),
            };
            assert!(released.expect("a database"), "it was marked");
        }
        region.send_orders();
    }

    /// Nothing is marked: an order that is not taken leaves the item where it is, and of two orders for one item the second is refused.
    fn unpack(&mut self, n: usize, which: usize) {
        let region = &mut self.regions[n];
        let Some(item) = region.packed.get(which % region.packed.len().max(1)).cloned() else { return };
        self.n_ids += 1;
        let ids = Uuid::from_u128(self.n_ids << 64 | u128::from(self.first));
        let object = Arc::new(packed_object(item.id, self.linksets[&item.id]));
        let source = RestoreSource::Content { holder: anchor_id(region.world), item, object };
        let order = RestoreOrder { source, place: RestorePlace::Former, ids };
        if region.keeper.order_restore(order).is_ok() {
            region.send_orders();
        }
    }

    fn take_row(&self, n: usize, key: HeldKey) -> Option<RestoreSource> {
        match self.store.take_held(key, self.regions[n].world).expect("a database") {
            TakeHeld::Taken(row) => Some(RestoreSource::Held(row)),
            TakeHeld::Busy(_) => None,
            other => panic!("{other:?}"),
        }
    }

    fn mark_item(&self, n: usize, item: &Item) -> Option<RestoreSource> {
        match self.store.mark_item(OWNER, item.id, self.regions[n].world).expect("a database") {
            MarkItem::Marked { key, item } => {
                let object = Arc::new(self.object_of(&item));
                Some(RestoreSource::Item { key, owner: OWNER, item: Box::new(item), object })
            }
            MarkItem::Busy(_) => None,
            other => panic!("{other:?}"),
        }
    }

    /// The object that an item describes.
    fn object_of(&self, item: &Item) -> HeldObject {
        let asset = self.store.asset(item.asset).expect("a database").expect("its asset");
        let bytes = &self.assets.as_ref().expect("assets")[&asset.row.hash];
        postcard::from_bytes(bytes).expect("of this build")
    }

    /// Items of the owner that this process has made.
    fn items(&self) -> Vec<(Item, HeldObject)> {
        if self.assets.is_none() {
            return Vec::new();
        }
        let items = self.store.items_in(OWNER, ROOT, 10_000).expect("a database").into_iter();
        let is_own = |item: &Item| {
            let asset = self.store.asset(item.asset).expect("a database").expect("its asset");
            self.assets.as_ref().is_some_and(|assets| assets.contains_key(&asset.row.hash))
        };
        let own = items.filter(is_own).map(|item| {
            let object = self.object_of(&item);
            (item, object)
        });
        own.filter(|(_, object)| self.linksets.contains_key(&identity(&object.linksets[0][0].1))).collect()
    }

    /// Linksets that are held for the two regions, and those of items: each with its identity and its number of prims.
    fn held(&self) -> Vec<(Kept, (Uuid, usize))> {
        let described = |object: &HeldObject| (identity(&object.linksets[0][0].1), object.n_prims());
        let items = self.items().into_iter();
        let items = items.map(|(item, object)| (Kept::Item(Box::new(item)), described(&object)));
        let mut held: Vec<(Kept, (Uuid, usize))> = items.collect();
        for region in &self.regions {
            let filter = HeldFilter { region: Some(region.world), ..HeldFilter::default() };
            let page = self.store.held_objects(filter, None, 1_000).expect("a database");
            assert_eq!((page.damages, page.next), (Vec::new(), None));
            held.extend(page.entries.iter().map(|entry| {
                let object = held_object(&entry.row).expect("of this build");
                (Kept::Row(entry.row.key), described(&object))
            }));
        }
        held
    }

    /// The law, in the database: each linkset is in one place and whole. A deleted one may be nowhere.
    pub(crate) fn check(&self) {
        let mut found: BTreeMap<Uuid, Vec<usize>> = BTreeMap::new();
        for region in &self.regions {
            let (linksets, packed) = stored_linksets(self.store, region.world);
            let packed = packed.into_iter().map(|id| (id, self.linksets[&id]));
            for (id, n_prims) in linksets.into_iter().chain(packed) {
                found.entry(id).or_default().push(n_prims);
            }
        }
        for (_, (id, n_prims)) in self.held() {
            found.entry(id).or_default().push(n_prims);
        }
        for (id, n_prims) in &self.linksets {
            let places = found.remove(id).unwrap_or_default();
            let is_gone = places.is_empty() && self.deleted.contains(id);
            assert!(is_gone || places == [*n_prims], "{id}, {n_prims} prims: {places:?}");
        }
        assert_eq!(found.len(), 2, "an anchor in each region: {found:?}");
    }

    /// Linksets in the database: those of each region with its anchor, and those that are held.
    pub(crate) fn places(&self) -> (Vec<usize>, usize) {
        let in_region = |region: &Region| stored_linksets(self.store, region.world).0.len();
        (self.regions.iter().map(in_region).collect(), self.held().len())
    }

    /// Lets everything that is under way come to its end, without another fault.
    pub(crate) fn settle(&mut self) {
        for _ in 0..ROUNDS_MAX {
            if self.is_settled() {
                self.check();
                return;
            }
            for n in 0..2 {
                self.do_all(&[Deed::Write(n), Deed::Answer(n, true), Deed::Step(n)]);
                while !self.regions[n].frames.is_empty() {
                    self.do_deed(Deed::Hear(n, false));
                }
                self.do_all(&[Deed::Poll(n), Deed::Write(n), Deed::Answer(n, true)]);
            }
        }
        panic!("it does not come to an end");
    }

    /// True if worlds, keepers and database have forgotten all transfers.
    fn is_settled(&mut self) -> bool {
        let is_quiet = |region: &mut Region| {
            region.keeper.unsaved_since().is_none() && region.under_way.is_none() && region.is_world_settled()
        };
        let are_quiet = self.regions.iter_mut().all(is_quiet);
        let filter = HeldFilter::default();
        let page = self.store.held_objects(filter, None, 10_000).expect("a database");
        are_quiet && page.entries.iter().all(|entry| entry.taken_by.is_none()) && !self.is_any_marked()
    }

    /// True if an item is on its way into a region.
    fn is_any_marked(&self) -> bool {
        self.items().iter().any(|(item, _)| match self.mark_item(0, item) {
            None => true,
            Some(_) => !self.store.release_item(OWNER, item.id).expect("a database"),
        })
    }
}

impl Region {
    fn begin(store: &Store, world: WorldId, objects: Option<StoredObjects>) -> Self {
        let stored = store.region_objects(world).expect("a database");
        assert_eq!(stored.damages, []);
        let (keeper, loaded) =
            Keeper::load(&keeper_config(world), &stored, Uuid::from_u128(9)).expect("of this build");
        assert_eq!((loaded.damaged, loaded.n_mended), (Vec::new(), 0));
        let objects = objects.unwrap_or(loaded.objects);
        Self {
            world,
            life: Life::new(world_config(world, objects, loaded.land), 0.0),
            keeper,
            inbox: Vec::new(),
            n_commands: 0,
            tick: 0,
            panics: 0,
            frames: VecDeque::new(),
            roots: BTreeMap::new(),
            packed: Vec::new(),
            under_way: None,
        }
    }

    fn push(&mut self, action: Action) {
        self.inbox.push(Command::by_node(SessionKey::NODE, self.n_commands, action));
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
        self.show(&frame);
        self.frames.push_back(frame);
    }

    /// The commands of the step are lost.
    fn panic(&mut self, now: Instant, is_amid_change: bool) {
        let fault: Fault = Box::new(|| panic!("a fault of this test"));
        if is_amid_change {
            self.life.arm_amid_change(fault);
        } else {
            self.life.arm(fault);
        }
        let (life, tick, mut commands) = (&mut self.life, Tick(self.tick), std::mem::take(&mut self.inbox));
        let step = || life.step(now, tick, TICK, 1.0, &mut commands, &mut Frame::empty());
        assert!(catch_unwind(AssertUnwindSafe(step)).is_err());
        self.tick += 1;
        self.panics += 1;
        drop(self.life.begin_again(self.panics));
    }

    fn show(&mut self, frame: &Frame) {
        for change in &frame.objects {
            match change {
                ObjectChange::Pages(pages) => self.show_pages(pages),
                ObjectChange::Set { id, motion, body, .. } if motion.link_number == 0 => {
                    self.show_root(*id, body);
                }
                ObjectChange::Set { id, .. } | ObjectChange::Removed(id) => {
                    self.roots.remove(id);
                }
                ObjectChange::Moved(..) => {}
            }
        }
        if let Some(part) = frame.snapshot.as_ref().filter(|part| part.index == 0) {
            self.roots.clear();
            self.show_pages(&part.objects);
        }
    }

    fn show_pages(&mut self, pages: &[ObjectPage]) {
        let prims = pages.iter().flat_map(ObjectPage::prims);
        for (id, _, body) in prims.filter(|(_, place, _)| place.link_number == 0) {
            self.show_root(id, body);
        }
    }

    fn show_root(&mut self, id: LocalId, root: &VersionedBody) {
        self.roots.insert(id, identity(root));
        // Of the anchor alone.
        if let Some(contents) = &root.body.contents {
            self.packed.clone_from(&contents.items);
        }
    }

    fn hear(&mut self, now: Instant, is_lost: bool) {
        let Some(frame) = self.frames.pop_front().filter(|_| !is_lost) else { return };
        match self.keeper.handle_frame(now, &frame) {
            Following::NeedsSnapshot => self.push(Action::Resync),
            Following::Current | Following::Waiting => {}
            Following::Emptied => panic!("the anchor stays"),
        }
        self.send_orders();
    }

    /// The time of the batch, which may have to wait after a failure.
    fn poll(&mut self, now: Instant) -> Instant {
        let due_at = self.keeper.poll_timeout().map_or(now, |due_at| due_at.max(now));
        if let Some(batch) = self.keeper.poll_batch(due_at) {
            assert!(self.under_way.is_none(), "one at a time");
            self.under_way = Some(Flight { batch, is_written: false, effects: Vec::new() });
        }
        due_at
    }

    fn write(&mut self, store: &Store, assets: Option<&mut BTreeMap<AssetHash, Vec<u8>>>) {
        let Some(Flight { batch, is_written, effects }) = &mut self.under_way else { return };
        if let Some(assets) = assets {
            let Itemized { assets: new, failed } =
                itemize(self.world, &mut batch.changes.held, postcard::to_stdvec::<HeldObject>);
            assert_eq!(failed, []);
            assets.extend(new.into_iter().map(|asset| (asset.hash, asset.bytes)));
        }
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
        while let Some(outcome) = self.keeper.poll_outcome() {
            assert!(match outcome.order {
                OrderKey::Marked(key) => key.ticket != ids::Ticket(0),
                OrderKey::Copy(ids) => !ids.is_nil(),
            });
        }
        self.send_orders();
    }

    /// True if the world has no transfer, by its own snapshot, and no command to carry out.
    fn is_world_settled(&mut self) -> bool {
        if !self.inbox.is_empty() {
            return false;
        }
        // A world beside it, which goes again.
        let world = world::World::resume(self.life.config().clone(), &self.life.world().checkpoint());
        let mut world = world.expect("its own checkpoint");
        let mut commands = vec![Command::by_node(SessionKey::NODE, u64::MAX, Action::Resync)];
        let mut frame = Frame::empty();
        world.step(Tick(self.tick), TICK, 1.0, &mut commands, &mut frame);
        frame.snapshot.is_some_and(|part| part.transfers.is_empty())
    }
}

fn make_owner(store: &Store) {
    let (name, parent) = ("My Inventory".into(), Uuid::nil());
    let root = Folder { id: ROOT, parent, name, type_default: 8, version: 1 };
    let owner = NewAccount {
        agent: OWNER,
        first: "Ada".into(),
        last: "Lovelace".into(),
        password_hash: PasswordHash(String::new()),
        created_s: 0,
        folders: vec![root],
        items: Vec::new(),
    };
    store.create_account(&owner).expect("a database");
}

/// Identity of a linkset by its root: its time of making. Its id is another one after it was an item.
fn identity(root: &VersionedBody) -> Uuid {
    Uuid::from_u128(root.body.created_us.into())
}

/// Linksets of a region in the database, each with its identity and its number of prims; and the identities of those that are items in the anchor.
fn stored_linksets(store: &Store, world: WorldId) -> (Vec<(Uuid, usize)>, Vec<Uuid>) {
    let stored = store.region_objects(world).expect("a database");
    let (_, loaded) =
        Keeper::load(&keeper_config(world), &stored, Uuid::from_u128(9)).expect("of this build");
    assert_eq!((loaded.damaged, loaded.n_mended), (Vec::new(), 0));
    let mut linksets: BTreeMap<LocalId, (Uuid, usize)> = BTreeMap::new();
    let mut packed = Vec::new();
    for (id, place, body) in loaded.objects.pages.iter().flat_map(ObjectPage::prims) {
        let root = if place.link_number == 0 { id } else { place.parent };
        let linkset = linksets.entry(root).or_insert((Uuid::nil(), 0));
        linkset.1 += 1;
        if root == id {
            linkset.0 = identity(body);
        }
        packed.extend(body.body.contents.iter().flat_map(|contents| &contents.items).map(|item| item.id));
    }
    (linksets.into_values().collect(), packed)
}

/// Identity and id of a linkset at the begin.
fn linkset_id(first: u32, n: u32) -> Uuid {
    Uuid::from_u128(u128::from(first) << 32 | u128::from(n) << 8)
}

const fn n_prims(n: u32) -> usize {
    n as usize % 3 + 1
}

fn anchor_id(WorldId(world): WorldId) -> Uuid {
    Uuid::from_u128(u128::from(world) << 96)
}

/// Ids of the prims of a linkset at the begin, with their numbers in it.
fn prim_ids(linkset: Uuid, n_prims: usize) -> impl Iterator<Item = (u8, Uuid)> {
    (0..n_prims as u8).map(move |number| (number, Uuid::from_u128(linkset.as_u128() + u128::from(number))))
}

/// A prim at the begin.
fn new_prim(id: Uuid) -> Body {
    // That of an anchor is in the upper half of its id.
    let created_us = id.as_u128() as u64 | (id.as_u128() >> 48) as u64;
    let mut body = Body::new(id, Shape::BOX, Arc::default(), OWNER, created_us);
    // An item of it is none that could be rezzed twice.
    Arc::make_mut(&mut body.ownership).permissions.owner = !Mask::COPY;
    body
}

fn placed() -> Motion {
    Motion { position: Vec3::new(20.0, 20.0, 30.0), ..PrimMotion::NONE.motion }
}

/// The object of an item in an anchor.
fn packed_object(linkset: Uuid, n_prims: usize) -> HeldObject {
    let prims = prim_ids(linkset, n_prims).map(|(link_number, id)| {
        let place = PrimMotion { link_number, motion: placed(), ..PrimMotion::NONE };
        (place, VersionedBody { version: 1, body: Arc::new(new_prim(id)) })
    });
    HeldObject {
        owner: OWNER,
        by: SessionKey::NODE,
        kind: DerezKind::Take,
        folder: Uuid::nil(),
        transaction: Uuid::nil(),
        is_worn: false,
        linksets: vec![prims.collect()],
    }
}

/// The items in the anchor of the first region.
fn packed_contents(first: u32) -> Contents {
    let items = (LINKSETS..LINKSETS + PACKED).map(|n| {
        let permissions = Permissions { owner: !Mask::COPY, ..Permissions::NEW };
        Arc::new(ContentItem {
            id: linkset_id(first, n),
            asset: Uuid::nil(),
            asset_type: 6,
            inventory_type: 6,
            name: format!("Linkset {n}").into(),
            description: "".into(),
            flags: 0,
            ownership: Ownership {
                creator: OWNER,
                owner: OWNER,
                last_owner: OWNER,
                group: Uuid::nil(),
                permissions,
            },
            sale: Sale::default(),
            created_s: 0,
            carried: Carried::default(),
        })
    });
    Contents { serial: 1, items: items.collect() }
}

/// An anchor that stays, and this number of linksets.
fn objects(first: u32, world: u32, n_linksets: u32) -> StoredObjects {
    let start = kept_object_ids(&shared_local_ids(WorldId(world))).start;
    let mut prims: Vec<(PrimMotion, Uuid)> = vec![(PrimMotion::NONE, anchor_id(WorldId(world)))];
    for n in 0..n_linksets {
        let root = LocalId(start + prims.len() as u32);
        for (number, id) in prim_ids(linkset_id(first, n), n_prims(n)) {
            let parent = if number == 0 { LocalId(0) } else { root };
            prims.push((PrimMotion { parent, link_number: number, ..PrimMotion::NONE }, id));
        }
    }
    let mut page = ObjectPage::empty(LocalId(start));
    let n_used = prims.len() as u32;
    for ((place, id), n) in prims.into_iter().zip(start..) {
        let motion = placed();
        let mut body = new_prim(id);
        if n == start && n_linksets > 0 {
            body.contents = Some(Arc::new(packed_contents(first)));
        }
        Arc::make_mut(&mut page.motions)[index_in_page(LocalId(n))] = PrimMotion { motion, ..place };
        Arc::make_mut(&mut page.bodies)[index_in_page(LocalId(n))] =
            Some(VersionedBody { version: 1, body: Arc::new(body) });
    }
    let kept = RestingIds { n_used, resting: Vec::new() };
    StoredObjects { pages: vec![page], kept, ..StoredObjects::default() }
}

fn keeper_config(region: WorldId) -> KeeperConfig {
    let all = shared_local_ids(region);
    let ids = RegionIds { kept: kept_object_ids(&all), temporary: temporary_object_ids(&all) };
    let estate = Estate::new("Estate", None, 20.0);
    KeeperConfig {
        region,
        name: "Harbour".into(),
        former_name: None,
        land: NewLand { terrain: Arc::clone(&GROUND), estate, now_s: 0 },
        ids,
        save: Duration::from_millis(250),
        moving_bytes_per_s: 4 << 20,
        unix_start_s: 0,
    }
}

fn world_config(id: WorldId, objects: StoredObjects, land: StoredLand) -> WorldConfig {
    WorldConfig {
        id,
        epoch: Epoch(0),
        size_m: 256,
        local_ids: shared_local_ids(id),
        terrain: Arc::clone(&GROUND),
        scenery: Arc::default(),
        objects: Some(objects),
        land: Some(land),
        cast: None,
        water_m: 20.0,
        max_avatars: 10,
        seed: 1,
    }
}
