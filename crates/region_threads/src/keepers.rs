//! Objects and land of the shared worlds on the disk: read at the start, and saved by the `keeper` thread.
//!
//! The `replica` thread owns a [`Keeper`] for each region, which follows the frames that come by and hands out one batch at a time. The
//! `keeper` thread writes the batches in their order, so that no frame waits for a disk. At the end the regions are saved once more, after the last frame.

mod bounds;
mod holds;
mod items;
mod restores;
mod saves;
mod upgrades;
mod wardrobe;

pub use bounds::{ObjectTunables, RegionRoom};
pub use holds::{SaveHold, SaveHolds};
pub use items::{KeepContents, TellOwners, keep_in, tell_in};
pub use restores::{RestoreOrders, RestoreReply, RestoreRequest, TakeAnswer};
pub use saves::{KeeperStatus, RegionSaves, SaveOrders, SaveReply, SavedFrame};
pub use upgrades::give_worn_back;
pub use wardrobe::WardrobeOrders;

use super::full_users::{FullNotice, FullUsers, NOTICES_MAX};
use super::grounds::Grounds;
use super::transfer_figures::TransferFigures;
use super::transfers::TransferOrders;
use assets::ReadAssetError;
use bounds::RegionBounds;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use holds::{ABANDONED, HoldOrder, HoldRequest, HoldState};
use ids::{AgentId, Epoch, Instant, Uuid, WorldId};
use items::keep_items;
use keeper::{Batch, Following, Keeper, Wardrobe, WardrobeOrder};
use link::Frame;
use restores::WaitingRestores;
use saves::{SaveOrder, WaitingOrders};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use store::{ItemEffect, RebuiltTable, RegionChanges, Store, StoreError};
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use telemetry::{Metrics, Timing};
use workplace::faults::Fuse;
use workplace::inboxes::Inbox;
use workplace::serving::SnapshotRequest;
use workplace::world_map::WorldMap;
use workplace::{Clock, ThreadError, opaque_debug};

/// One transaction. An operator should know of a disk that takes longer than an edit may be lost.
static SAVE: Scope = Scope::new("keeper.save").arg(Arg::World).limit_us(1_000_000);

/// Without a batch and without users to count, the thread waits for a batch.
const IDLE: Duration = Duration::from_secs(3_600);
/// Answer to orders to save a region while rows of it are lost.
const ROWS_LOST: &str = "Damaged pages of the database have taken rows away. All regions are written again.";
/// The reason for which nothing is saved of a world that was begun without the region's objects.
const EMPTIED: &str = "The world has begun without the region's objects, and nothing of it is saved. A start of the server takes them from the disk.";
/// Attempts to save a region at the end of the server.
const LAST_ATTEMPTS: u32 = 3;

/// Reads the present values of tunables.
pub type ReadTunables = Box<dyn Fn() -> ObjectTunables + Send>;

/// Keepers of all regions, within the `replica` thread.
pub struct Keepers {
    worlds: WorldMap<FollowedRegion>,
    batches: Sender<Batch>,
    outcomes: Receiver<SaveOutcome>,
    notices: Receiver<FullNotice>,
    orders: Receiver<SaveOrder>,
    holds: Receiver<HoldOrder>,
    restores: Receiver<RestoreRequest>,
    wardrobe: Wardrobe,
    /// Orders to it. This thread has a way for them, too, so that the receiver is connected to its end.
    dressing: (WardrobeOrders, Receiver<WardrobeOrder>),
    status: Arc<KeeperStatus>,
    tunables: ReadTunables,
    grounds: Arc<Grounds>,
}

/// A region's keeper with its way to the region's world.
struct FollowedRegion {
    keeper: Keeper,
    request_snapshot: SnapshotRequest,
    /// The world has had no room for the request.
    is_request_due: bool,
    inbox: Inbox,
    bounds: RegionBounds,
    transfers: TransferOrders,
    restores: WaitingRestores,
    /// Of the last frame.
    epoch: Epoch,
    orders: WaitingOrders,
    /// Frame of the batch under way.
    saving: Option<(Epoch, u64)>,
    hold: HoldState,
}

impl FollowedRegion {
    fn send_transfers(&mut self) {
        let Self { keeper, inbox, transfers, .. } = self;
        transfers.send(keeper, |command| inbox.push_command(command));
    }
}

/// Outcome of a batch.
pub(super) struct SaveOutcome {
    world: WorldId,
    id: u64,
    /// The reason for which it is not saved.
    why: Option<String>,
    /// Tables were built anew without rows on damaged pages. The rows of other regions may be among these.
    is_row_lost: bool,
    /// Effects on inventories of a batch that is saved.
    items: Vec<ItemEffect>,
    /// Changes of the batch, for their memory.
    spent: RegionChanges,
}

/// The `keeper` thread.
pub struct KeeperThread {
    thread: JoinHandle<()>,
    status: Arc<KeeperStatus>,
    orders: SaveOrders,
    holds: SaveHolds,
    restores: RestoreOrders,
    disk: KeeperDisk,
}

/// Destinations of saved batches.
#[derive(Clone)]
struct KeeperDisk {
    store: Arc<Store>,
    keep_contents: KeepContents,
}

/// Arguments of the thread.
pub struct KeeperThreadConfig<'a> {
    /// Linksets of a user that the store holds at most.
    pub held_per_user_max: u32,
    /// The keepers that it saves for.
    pub kept: Vec<(WorldId, Keeper, RegionRoom)>,
    /// Users for whom the store takes no more held linksets, as the worlds know them.
    pub full: BTreeSet<AgentId>,
    /// They get the frames, too.
    pub grounds: Arc<Grounds>,
    /// Inbox of each region's world.
    pub inbox: &'a dyn Fn(WorldId) -> Inbox,
    /// Destination of the batches.
    pub store: &'a Arc<Store>,
    /// Way of assets of objects that become items.
    pub keep_contents: KeepContents,
    /// Way of news about inventories.
    pub tell_owners: TellOwners,
    /// Orders to put objects and items into regions, with the way of more of them.
    pub restores: (RestoreOrders, Receiver<RestoreRequest>),
    /// Orders to the wardrobe, likewise.
    pub dressing: (WardrobeOrders, Receiver<WardrobeOrder>),
    /// A random id of which ids of objects are made.
    pub seed: Uuid,
    /// Counts of transfers.
    pub figures: Arc<TransferFigures>,
    /// The present values of tunables.
    pub tunables: ReadTunables,
    /// The clock of the process.
    pub clock: &'a Clock,
    /// Of the times of saves.
    pub metrics: &'a Metrics,
    /// The flight recorder.
    pub recorder: Recorder,
    /// Of faults that are ordered.
    pub fuse: Arc<Fuse>,
}

opaque_debug!(Keepers, KeeperThread, KeeperThreadConfig<'_>);

/// Figures of saves.
struct SaveTimings {
    /// A transaction.
    save: Timing,
    /// From a change until it is on the disk.
    lag: Timing,
}

impl SaveTimings {
    fn new(metrics: &Metrics) -> Self {
        Self {
            save: metrics.timing(
                "throng_save_seconds",
                "Time of a transaction with changes of a region's objects and land.",
                &[],
            ),
            lag: metrics.timing(
                "throng_save_lag_seconds",
                "Age of the oldest change in a transaction when it was on the disk, without movements.",
                &[],
            ),
        }
    }
}

/// Starts the thread.
///
/// # Errors
/// The system gives no thread.
pub fn start(start: KeeperThreadConfig<'_>) -> Result<(Keepers, KeeperThread), ThreadError> {
    let KeeperThreadConfig {
        held_per_user_max,
        kept,
        full,
        grounds,
        inbox,
        store,
        keep_contents,
        tell_owners,
        restores: (restores, to_restore),
        dressing,
        seed,
        figures,
        tunables,
        clock,
        metrics,
        recorder,
        fuse,
    } = start;
    // One batch of each region is under way at most.
    let (batches, to_save) = bounded(kept.len().max(1));
    let (saved, outcomes) = bounded(kept.len().max(1));
    let (tell, notices) = bounded(NOTICES_MAX);
    let full = FullUsers::new(held_per_user_max, full, tell);
    let reports = Reports { outcomes: saved, full, tell_owners, figures };
    let status = Arc::new(KeeperStatus::new(kept.iter().map(|(world, ..)| *world)));
    let timings = SaveTimings::new(metrics);
    let disk = KeeperDisk { store: Arc::clone(store), keep_contents };
    let thread = {
        let (disk, clock) = (disk.clone(), Arc::clone(clock));
        std::thread::Builder::new()
            .name("keeper".into())
            .spawn(move || {
                recorder.thread("keeper").install();
                save_all(&disk, &to_save, reports, &timings, &clock, &fuse);
            })
            .map_err(|source| ThreadError { name: "keeper", source })?
    };
    let (orders, ordered) = SaveOrders::new();
    let (holds, to_hold) = SaveHolds::new();
    let values = tunables();
    let followed = kept.into_iter().map(|(world, keeper, room)| {
        let inbox = inbox(world);
        let request_snapshot = inbox.snapshot_request();
        let mut bounds = RegionBounds::new(room, inbox.clone());
        // Before the first visitor.
        bounds.refresh(Epoch(0), &values, Duration::ZERO);
        let (transfers, orders) = (TransferOrders::new(), WaitingOrders::default());
        let followed = FollowedRegion {
            keeper,
            request_snapshot,
            is_request_due: false,
            inbox,
            bounds,
            transfers,
            restores: WaitingRestores::default(),
            epoch: Epoch(0),
            orders,
            saving: None,
            hold: HoldState::default(),
        };
        (world, followed)
    });
    let keepers = Keepers {
        worlds: followed.collect(),
        batches,
        outcomes,
        notices,
        orders: ordered,
        holds: to_hold,
        restores: to_restore,
        wardrobe: Wardrobe::new(seed),
        dressing,
        status: Arc::clone(&status),
        tunables,
        grounds,
    };
    Ok((keepers, KeeperThread { thread, status, orders, holds, restores, disk }))
}

/// Reports of the thread.
struct Reports {
    outcomes: Sender<SaveOutcome>,
    full: FullUsers,
    tell_owners: TellOwners,
    figures: Arc<TransferFigures>,
}

fn save_all(
    disk: &KeeperDisk,
    batches: &Receiver<Batch>,
    Reports { outcomes, mut full, tell_owners, figures }: Reports,
    timings: &SaveTimings,
    clock: &Clock,
    fuse: &Fuse,
) {
    loop {
        let mut batch = match batches.recv_timeout(full.wait().unwrap_or(IDLE)) {
            Ok(batch) => batch,
            Err(RecvTimeoutError::Timeout) => {
                full.recount(clock(), &disk.store);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        fuse.strike();
        let began_at = clock();
        let mut is_row_lost = false;
        let result = {
            let _scope = SAVE.enter(batch.region.0.into());
            save(disk, &mut batch, fuse, &mut is_row_lost)
        };
        let why = result.as_ref().err().map(with_causes);
        if let Some(why) = &why {
            tracing::warn!(region = batch.region.0, why, "changes could not be saved and stay in memory");
        }
        let ended_at = clock();
        timings.save.record(ended_at - began_at);
        if let Some(since) = batch.since.filter(|_| why.is_none()) {
            timings.lag.record(ended_at.since(since));
        }
        let is_saved = why.is_none();
        let items = result.unwrap_or_default();
        if !items.is_empty() {
            tell_owners(&items);
        }
        let Batch { region: world, id, changes: mut spent, held_at, .. } = batch;
        let held = std::mem::take(&mut spent.held);
        if is_saved {
            for ((_, change), shown_at) in held.iter().zip(held_at) {
                figures.note_saved(change, shown_at, ended_at);
            }
        }
        // The other end is gone when the server ends; it reads the last state again then.
        if outcomes.send(SaveOutcome { world, id, why, is_row_lost, items, spent }).is_err() {
            return;
        }
        if is_saved {
            full.note_saved(ended_at, &disk.store, &held);
        }
        frame_end();
    }
}

/// Reasons for which a batch was not saved.
#[derive(Debug, thiserror::Error)]
enum SaveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Assets(#[from] ReadAssetError),
    #[error("a fault that was ordered at keeper")]
    Ordered,
}

/// An error as one sentence, with its causes.
fn with_causes(error: &SaveError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text + "."
}

/// One transaction, unless a fault was ordered. Returns its effects on inventories.
fn save(
    disk: &KeeperDisk,
    batch: &mut Batch,
    fuse: &Fuse,
    is_row_lost: &mut bool,
) -> Result<Vec<ItemEffect>, SaveError> {
    if fuse.fails() { Err(SaveError::Ordered) } else { save_mending(disk, batch, is_row_lost) }
}

/// One transaction behind the assets that it names, and another one if the first came upon damaged pages. Then tables are built anew, of which rows may be lost.
fn save_mending(
    disk: &KeeperDisk,
    batch: &mut Batch,
    is_row_lost: &mut bool,
) -> Result<Vec<ItemEffect>, SaveError> {
    let KeeperDisk { store, keep_contents } = disk;
    keep_items(batch, &**keep_contents)?;
    let report = |table: RebuiltTable| {
        tracing::error!(region = batch.region.0, %table, "pages of the database were damaged");
        *is_row_lost |= !table.is_whole;
    };
    Ok(store.with_rebuild(|| store.save_region(batch.region, &batch.changes), report)?)
}

impl Keepers {
    /// Takes a frame of a shared world.
    pub(super) fn take(&mut self, now: Instant, frame: &Frame) {
        self.grounds.note(frame);
        let Some(followed) = self.worlds.get_mut(frame.world) else { return };
        followed.epoch = frame.epoch;
        let was_emptied = followed.keeper.is_emptied();
        match followed.keeper.handle_frame(now, frame) {
            Following::Current | Following::Emptied => followed.is_request_due = false,
            Following::Waiting => {}
            Following::NeedsSnapshot => followed.is_request_due = true,
        }
        if followed.keeper.is_emptied() && !was_emptied {
            let (region, Epoch(epoch)) = (frame.world.0, frame.epoch);
            tracing::error!(region, epoch, why = EMPTIED, "a world has lost its region");
        }
        if followed.is_request_due {
            followed.is_request_due = !(followed.request_snapshot)();
        }
        followed.transfers.note_epoch(frame.epoch);
        // Copies of items that stay have their outcomes in frames.
        followed.restores.answer(&mut followed.keeper);
        followed.send_transfers();
        self.take_worn(now, frame.world);
        self.save_due(now);
    }

    /// Outcomes of batches: each is a reason to call [`Self::save_due`].
    pub(super) const fn outcomes(&self) -> &Receiver<SaveOutcome> {
        &self.outcomes
    }

    /// Changes of users: each is to be told to the worlds with [`Self::tell`].
    pub(super) const fn notices(&self) -> &Receiver<FullNotice> {
        &self.notices
    }

    /// Tells all worlds whether the store takes more linksets of a user.
    pub(super) fn tell(&mut self, notice: FullNotice) {
        for followed in self.worlds.values_mut() {
            followed.transfers.note(notice);
            followed.send_transfers();
        }
    }

    /// Orders of operators, for [`Self::take_order`].
    pub(super) const fn orders(&self) -> &Receiver<SaveOrder> {
        &self.orders
    }

    /// Orders to hold saves back, for [`Self::take_hold`].
    pub(super) const fn holds(&self) -> &Receiver<HoldOrder> {
        &self.holds
    }

    /// Takes an order to hold saves back, or to end that. The frames that were sent before it have been taken.
    pub(super) fn take_hold(&mut self, now: Instant, HoldOrder { world, request }: HoldOrder) {
        let followed = self.worlds.get_mut(world);
        match request {
            HoldRequest::Begin(reply) => {
                let begun = match followed {
                    Some(followed) if followed.keeper.is_emptied() => Err(EMPTIED.into()),
                    Some(followed) => followed.hold.begin(now),
                    None => Err("The world has no keeper.".into()),
                };
                // The receiver may have given up, and ends the hold by that.
                let _ = reply.send(begun);
            }
            HoldRequest::End(reply, documents) => {
                match followed.and_then(|followed| followed.hold.end().then_some(followed)) {
                    Some(followed) => {
                        followed.keeper.order_documents(documents);
                        followed.orders.add(reply);
                    }
                    None => {
                        // The receiver may have given up.
                        let _ = reply.send(Err("The saves of the world are not held back.".into()));
                    }
                }
            }
            HoldRequest::Abandon => {
                if let Some(followed) = followed {
                    followed.hold.abandon();
                    tracing::error!(region = world.0, why = ABANDONED, "a load was given up");
                }
            }
        }
        self.save_due(now);
    }

    /// Orders of operators and clients, for [`Self::take_restore`].
    pub(super) const fn restores(&self) -> &Receiver<RestoreRequest> {
        &self.restores
    }

    /// Takes an order to put an object or item into a region.
    pub(super) fn take_restore(&mut self, request: RestoreRequest) {
        let RestoreRequest { world, order, answer } = request;
        match self.worlds.get_mut(world) {
            Some(followed) if followed.keeper.is_emptied() => answer(RestoreReply::NotSent(EMPTIED.into())),
            Some(followed) => {
                followed.restores.add(&mut followed.keeper, order, answer);
                followed.send_transfers();
            }
            None => answer(RestoreReply::NotSent("The world has no keeper.".into())),
        }
    }

    /// Time until the next batch.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let free = self.worlds.values().filter(|followed| !followed.hold.lasts());
        let batches = free.filter_map(|followed| followed.keeper.poll_timeout());
        batches.chain(self.wardrobe.poll_timeout()).min()
    }

    /// Takes an order. The frames that were sent before it have been taken.
    pub(super) fn take_order(&mut self, now: Instant, order: SaveOrder) {
        let SaveOrder { world, reply } = order;
        let Some(followed) = self.worlds.get_mut(world) else {
            // The receiver may have given up.
            let _ = reply.send(Err("The world has no keeper.".into()));
            return;
        };
        followed.orders.add(reply);
        if followed.keeper.cut().is_none() {
            // A world without visitors and objects has made no step.
            followed.is_request_due = !(followed.request_snapshot)();
        }
        self.save_due(now);
    }

    /// Takes the outcome of a batch.
    pub(super) fn take_outcome(&mut self, now: Instant, outcome: SaveOutcome) {
        let SaveOutcome { world, id, why, is_row_lost, items, spent } = outcome;
        let followed = self.worlds.get_mut(world).expect("an outcome is that of a followed region");
        followed.keeper.handle_saved(now, id, why.is_none());
        followed.keeper.note_items(&items);
        followed.keeper.recycle(spent);
        if is_row_lost {
            self.forget_disk(now);
        }
        let followed = self.worlds.get_mut(world).expect("it was there");
        followed.restores.answer(&mut followed.keeper);
        followed.send_transfers();
        let (epoch, sequence) = followed.saving.take().expect("an outcome is that of the batch under way");
        let reply: SaveReply = match &why {
            None => Ok(SavedFrame { epoch, sequence, at: now }),
            Some(why) => Err(format!("It is not saved, stays in memory, and will be tried again. {why}")),
        };
        let failures = followed.keeper.failures();
        self.status.update(world, |saves| {
            saves.failures = failures;
            match (&reply, why) {
                (Ok(frame), _) => (saves.saved, saves.failing) = (Some(*frame), None),
                (Err(_), why) => {
                    let since = saves.failing.as_ref().map_or(now, |(since, _)| *since);
                    saves.failing = Some((since, why.unwrap_or_default()));
                }
            }
        });
        // After the state of the saves: an operator that got the reply may ask for it at once.
        followed.orders.end_batch(&reply);
        self.save_due(now);
    }

    /// Lets all worlds be written again: rows of each may be lost.
    fn forget_disk(&mut self, now: Instant) {
        for followed in self.worlds.values_mut() {
            followed.keeper.forget_disk(now);
            followed.is_request_due = !(followed.request_snapshot)();
            // Their batch has not everything that they are about.
            followed.orders.end_batch(&Err(ROWS_LOST.into()));
        }
    }

    /// Hands out the batches that are due, sends worlds their bounds and avatars what they wear, and publishes the state of the saves.
    pub(super) fn save_due(&mut self, now: Instant) {
        self.dress(now);
        let values = (self.tunables)();
        for (world, followed) in self.worlds.iter_mut() {
            let FollowedRegion { keeper, bounds, epoch, orders, saving, hold, .. } = followed;
            keeper.set_pace(values.save, values.moving_bytes_per_s);
            hold.settle(keeper.is_behind());
            let is_ordered = !hold.lasts() && orders.are_waiting() && !keeper.is_behind();
            if is_ordered {
                keeper.order_save();
            }
            let batch = if hold.lasts() { None } else { keeper.poll_batch(now) };
            if let Some(batch) = batch {
                *saving = keeper.cut();
                if is_ordered {
                    orders.begin_batch();
                }
                self.batches
                    .send(batch)
                    .expect("a panic of the keeper thread aborts the process (crashes.rs)");
            }
            if keeper.is_emptied() && saving.is_none() && orders.are_waiting() {
                orders.begin_batch();
                orders.end_batch(&Err(EMPTIED.into()));
            }
            let unsaved_since = keeper.unsaved_since();
            let unsaved_for = unsaved_since.map_or(Duration::ZERO, |since| now.since(since));
            bounds.refresh(*epoch, &values, unsaved_for);
            self.status.update(world, |saves| {
                saves.unsaved_since = unsaved_since;
                (saves.n_unsaved, saves.n_moving) = keeper.n_unsaved();
                saves.moving_lag = keeper.moving_lag(now);
                saves.failures = keeper.failures();
                saves.excused_until = hold.excused_until();
                if let Some(since) = hold.abandoned_since() {
                    saves.failing = Some((since, ABANDONED.into()));
                } else if keeper.is_emptied() {
                    saves.failing = Some((unsaved_since.unwrap_or(now), EMPTIED.into()));
                } else if saves.failing.as_ref().is_some_and(|(_, why)| why == EMPTIED) {
                    saves.failing = None;
                }
            });
        }
    }

    /// The keepers after the last frame, each with whether its saves are held back, and the outcomes that were not taken.
    fn into_worlds(self) -> (Vec<(Keeper, bool)>, Receiver<SaveOutcome>) {
        let Self { worlds, outcomes, .. } = self;
        let keeper = |followed: FollowedRegion| {
            let is_behind = followed.keeper.is_behind();
            let mut hold = followed.hold;
            hold.settle(is_behind);
            (followed.keeper, hold.lasts())
        };
        (worlds.into_values().map(keeper).collect(), outcomes)
    }
}

impl KeeperThread {
    /// State of the saves.
    pub fn status(&self) -> Arc<KeeperStatus> {
        Arc::clone(&self.status)
    }

    /// Way of orders to save a region.
    pub fn orders(&self) -> SaveOrders {
        self.orders.clone()
    }

    /// Way of orders to hold the saves of a region back.
    pub fn holds(&self) -> SaveHolds {
        self.holds.clone()
    }

    /// Way of orders to put objects and items into a region.
    pub fn restores(&self) -> RestoreOrders {
        self.restores.clone()
    }

    /// Saves all regions as of their last frames. The number of those of which something could not be saved.
    pub fn finish(self, keepers: Keepers, clock: &Clock) -> usize {
        let (mut keepers, outcomes) = keepers.into_worlds();
        // The thread has ended with its last batch, since nothing is left that could send another.
        if self.thread.join().is_err() {
            tracing::error!("the keeper thread has panicked");
        }
        let outcomes: Vec<SaveOutcome> = outcomes.try_iter().collect();
        let mut n_unsaved = 0;
        let mut is_row_lost = outcomes.iter().any(|outcome| outcome.is_row_lost);
        for (keeper, is_held) in &mut keepers {
            let now = clock();
            if let Some(id) = keeper.under_way() {
                let region = keeper.region();
                let outcome = outcomes.iter().find(|outcome| (outcome.world, outcome.id) == (region, id));
                if outcome.is_none() {
                    tracing::error!(
                        region = region.0,
                        "a save has ended without an outcome, and is repeated"
                    );
                }
                keeper.handle_saved(now, id, outcome.is_some_and(|outcome| outcome.why.is_none()));
                if let Some(outcome) = outcome {
                    keeper.note_items(&outcome.items);
                }
            }
            if *is_held {
                let region = keeper.region().0;
                tracing::error!(
                    region,
                    "a load has not ended: the region stays on the disk as it was before"
                );
                n_unsaved += 1;
            } else {
                n_unsaved += usize::from(!save_last(&self.disk, keeper, now, &mut is_row_lost));
            }
        }
        // The worlds have ended, and show no objects any more that could be written again.
        if is_row_lost { keepers.len() } else { n_unsaved }
    }
}

/// Saves a region's last state, as far as its keeper has it; false if something could not be saved.
fn save_last(disk: &KeeperDisk, keeper: &mut Keeper, now: Instant, is_row_lost: &mut bool) -> bool {
    let is_saved = (0..LAST_ATTEMPTS).any(|_| {
        keeper.order_save();
        // Pauses after failures are over by then. Without a batch, no frame has ever come.
        let Some(mut batch) = keeper.poll_batch(now + Duration::from_secs(3_600)) else { return true };
        let saved = save_mending(disk, &mut batch, is_row_lost);
        keeper.handle_saved(now, batch.id, saved.is_ok());
        match &saved {
            Ok(items) => keeper.note_items(items),
            Err(error) => {
                tracing::error!(region = batch.region.0, %error, "changes could not be saved at the end");
            }
        }
        saved.is_ok()
    });
    if keeper.is_behind() {
        let region = keeper.region().0;
        let why = if keeper.is_emptied() { EMPTIED } else { "Frames of its world are missing." };
        tracing::error!(region, why, "a region is saved in part only");
    }
    is_saved && !keeper.is_behind()
}

#[cfg(test)]
mod tests;
