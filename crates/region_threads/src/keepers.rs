//! Objects and land of the shared worlds on the disk: read at the start, and saved by the `keeper` thread.
//!
//! The `replica` thread owns a [`Keeper`] for each region, which follows the frames that come by and hands out one batch at a time. The
//! `keeper` thread (`thread`) writes the batches in their order, so that no frame waits for a disk. At the end the regions are saved once more, after the last frame.

mod bounds;
mod holds;
mod items;
mod restores;
mod saves;
mod thread;
mod upgrades;
mod wardrobe;

pub use bounds::{ObjectTunables, RegionRoom};
pub use holds::{SaveHold, SaveHolds};
pub use items::{KeepContents, TellOwners, keep_in, tell_in};
pub use restores::{RestoreOrders, RestoreReply, RestoreRequest, TakeAnswer};
pub use saves::{KeeperStatus, RegionSaves, SaveOrders, SaveReply, SavedFrame};
pub use thread::KeeperThread;
pub(crate) use thread::SaveOutcome;
pub use upgrades::give_worn_back;
pub use wardrobe::{WardrobeOrders, WornAnswer};

use super::full_users::{FullNotice, FullUsers, NOTICES_MAX};
use super::grounds::Grounds;
use super::transfer_figures::TransferFigures;
use super::transfers::TransferOrders;
use bounds::RegionBounds;
use crossbeam_channel::{Receiver, Sender, bounded};
use holds::{ABANDONED, HoldOrder, HoldRequest, HoldState};
use ids::{AgentId, Epoch, Instant, Uuid, WorldId};
use keeper::{Batch, Following, Keeper, Wardrobe, WardrobeOrder};
use link::Frame;
use restores::WaitingRestores;
use saves::{SaveOrder, WaitingOrders};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use telemetry::Metrics;
use telemetry::recorder::Recorder;
use thread::{KeeperDisk, Reports, SaveTimings, save_all};
use workplace::faults::Fuse;
use workplace::inboxes::Inbox;
use workplace::serving::SnapshotRequest;
use workplace::world_map::WorldMap;
use workplace::{Clock, ThreadError, opaque_debug};

/// Answer to orders to save a region while rows of it are lost.
const ROWS_LOST: &str = "Damaged pages of the database have taken rows away. All regions are written again.";
/// The reason for which nothing is saved of a world that was begun without the region's objects.
const EMPTIED: &str = "The world has begun without the region's objects, and nothing of it is saved. A start of the server takes them from the disk.";

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
    /// Orders to it, and the way of its answers. This thread has a way for orders, too, so that the receiver is connected to its end.
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
        self.note_worn_save(world, why.is_none());
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

    /// Hands out the batches that are due, sends worlds their bounds and avatars what they wear, answers inventories, and publishes the state of the saves.
    pub(super) fn save_due(&mut self, now: Instant) {
        self.dress(now);
        self.answer_inventories(now);
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

#[cfg(test)]
mod tests;
