//! State of the saves of each region, and orders to save one now: the operator's side of the keepers.

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use ids::{Epoch, Instant, WorldId};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Orders that wait for the `replica` thread; further ones are refused.
const ORDERS_MAX: usize = 64;

/// Age of an unsaved edit from which the operator is told.
const LATE: Duration = Duration::from_secs(5);

/// A frame that is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedFrame {
    /// Its epoch.
    pub epoch: Epoch,
    /// Its number in the epoch.
    pub sequence: u64,
    /// Time at which it was durable.
    pub at: Instant,
}

/// Saves of one region, as of the last frame or save.
#[derive(Clone, Debug, Default)]
pub struct RegionSaves {
    /// The last save since the start of the server.
    pub saved: Option<SavedFrame>,
    /// Time of the first change that is not on the disk, without movements.
    pub unsaved_since: Option<Instant>,
    /// Objects with unsaved changes.
    pub n_unsaved: usize,
    /// Objects in motion.
    pub n_moving: usize,
    /// Time by which the save of an object in motion is overdue at most.
    pub moving_lag: Duration,
    /// Saves that failed in a row.
    pub failures: u32,
    /// Time of the first of them, and the reason of the last.
    pub failing: Option<(Instant, String)>,
    /// Saves are held back on purpose, which is no trouble until then.
    pub excused_until: Option<Instant>,
}

/// State of the saves of all regions, for the API, metrics and `/healthz`.
#[derive(Debug, Default)]
pub struct KeeperStatus {
    regions: BTreeMap<WorldId, Mutex<RegionSaves>>,
}

impl KeeperStatus {
    /// Of these regions, before their first frame.
    pub(super) fn new(worlds: impl Iterator<Item = WorldId>) -> Self {
        Self { regions: worlds.map(|world| (world, Mutex::default())).collect() }
    }

    /// Saves of a region; none for a world without a keeper.
    pub fn of(&self, world: WorldId) -> Option<RegionSaves> {
        self.regions.get(&world).map(|region| lock(region).clone())
    }

    /// A sentence for the operator, while changes are not saved.
    pub fn trouble(&self, now: Instant) -> Option<String> {
        let late = self.regions.values().filter_map(|region| {
            let region = lock(region);
            if region.excused_until.is_some_and(|until| now < until) {
                return None;
            }
            let age = now.since(region.unsaved_since?);
            (age >= LATE).then(|| (age, region.failing.as_ref().map(|(_, why)| why.clone())))
        });
        let (age, why) = late.max()?;
        let why = why.map(|why| format!(" {why}")).unwrap_or_default();
        let age_s = age.as_secs();
        Some(format!("Changes of objects have not been saved for {age_s} s and stay in memory.{why}"))
    }

    /// Changes the state of a region.
    pub(super) fn update(&self, world: WorldId, change: impl FnOnce(&mut RegionSaves)) {
        change(&mut lock(self.regions.get(&world).expect("a region with a keeper")));
    }
}

fn lock(region: &Mutex<RegionSaves>) -> MutexGuard<'_, RegionSaves> {
    region.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Result of an order: the frame that is on the disk, or a sentence.
pub type SaveReply = Result<SavedFrame, String>;

/// An order to save a region now.
pub(crate) struct SaveOrder {
    pub(super) world: WorldId,
    pub(super) reply: oneshot::Sender<SaveReply>,
}

/// Way of orders to the `replica` thread.
#[derive(Clone, Debug)]
pub struct SaveOrders(Sender<SaveOrder>);

impl SaveOrders {
    /// The two ends.
    pub(super) fn new() -> (Self, Receiver<SaveOrder>) {
        let (sender, receiver) = bounded(ORDERS_MAX);
        (Self(sender), receiver)
    }

    /// Orders a save of everything that the world's frames have shown so far. The reply comes when that is durable, or when the save fails.
    ///
    /// # Errors
    /// A sentence, if too many orders wait or the thread has ended.
    pub fn order(&self, world: WorldId) -> Result<oneshot::Receiver<SaveReply>, String> {
        let (reply, receiver) = oneshot::channel();
        match self.0.try_send(SaveOrder { world, reply }) {
            Ok(()) => Ok(receiver),
            Err(TrySendError::Full(_)) => Err("Too many saves are ordered already.".into()),
            Err(TrySendError::Disconnected(_)) => Err("The server no longer saves regions.".into()),
        }
    }
}

/// Orders for one region that are not carried out.
#[derive(Default)]
pub(super) struct WaitingOrders {
    /// No batch was handed out since they came.
    new: Vec<oneshot::Sender<SaveReply>>,
    /// Those of the batch under way, with its frame.
    under_way: Vec<oneshot::Sender<SaveReply>>,
}

impl WaitingOrders {
    /// True if a batch is to be handed out for them.
    pub(super) const fn are_waiting(&self) -> bool {
        !self.new.is_empty()
    }

    /// Adds an order.
    pub(super) fn add(&mut self, reply: oneshot::Sender<SaveReply>) {
        if self.new.len() < ORDERS_MAX {
            self.new.push(reply);
        } else {
            // The receiver may have given up.
            let _ = reply.send(Err("Too many saves of the region are ordered already.".into()));
        }
    }

    /// A batch with everything that they are about is handed out.
    pub(super) fn begin_batch(&mut self) {
        self.under_way.append(&mut self.new);
    }

    /// The batch has ended so.
    pub(super) fn end_batch(&mut self, reply: &SaveReply) {
        for waiting in self.under_way.drain(..) {
            // The receiver may have given up.
            let _ = waiting.send(reply.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORLD: WorldId = WorldId(3);

    #[test]
    fn the_operator_hears_of_changes_that_are_not_saved_for_five_seconds() {
        let status = KeeperStatus::new([WORLD, WorldId(4)].into_iter());
        let at = |s: u64| Instant::from_millis(1_000 * s);
        assert_eq!(status.trouble(at(90)), None);
        status.update(WORLD, |saves| {
            saves.unsaved_since = Some(at(10));
            saves.failing = Some((at(11), "The disk is full.".into()));
        });
        status.update(WorldId(4), |saves| saves.unsaved_since = Some(at(14)));
        assert_eq!(status.trouble(at(14)), None, "a retry may help");
        let trouble = status.trouble(at(17)).expect("it is late");
        assert!(trouble.contains("7 s") && trouble.ends_with("The disk is full."), "{trouble}");
        assert!(status.of(WorldId(5)).is_none());
        status.update(WORLD, |saves| saves.excused_until = Some(at(300)));
        let trouble = status.trouble(at(20)).expect("that of the other region");
        assert!(trouble.contains("6 s") && !trouble.contains("disk"), "{trouble}");
        assert!(
            status.trouble(at(300)).is_some_and(|trouble| trouble.contains("290 s")),
            "it takes too long"
        );
    }

    #[test]
    fn an_order_is_answered_by_the_first_batch_that_was_handed_out_after_it() {
        let saved = |sequence| SavedFrame { epoch: Epoch(0), sequence, at: Instant::ZERO };
        let (orders, receiver) = SaveOrders::new();
        let mut waiting = WaitingOrders::default();
        let mut first = orders.order(WORLD).expect("room");
        waiting.add(receiver.recv().expect("the order").reply);
        waiting.begin_batch();
        let mut second = orders.order(WORLD).expect("room");
        waiting.add(receiver.recv().expect("the order").reply);
        waiting.end_batch(&Ok(saved(7)));
        assert_eq!(first.try_recv(), Ok(Ok(saved(7))));
        assert!(second.try_recv().is_err() && waiting.are_waiting(), "its batch is not handed out yet");
        waiting.begin_batch();
        waiting.end_batch(&Err("The disk is full.".into()));
        assert_eq!(second.try_recv(), Ok(Err("The disk is full.".into())));
        assert!(!waiting.are_waiting());
    }

    #[test]
    fn orders_beyond_the_bound_are_refused() {
        let (orders, receiver) = SaveOrders::new();
        let kept: Vec<_> = (0..ORDERS_MAX).map(|_| orders.order(WORLD).expect("room")).collect();
        assert!(orders.order(WORLD).expect_err("no room").contains("Too many"));
        drop(receiver);
        assert!(orders.order(WORLD).is_err());
        drop(kept);
    }
}
