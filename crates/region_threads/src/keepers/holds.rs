//! Holds on the saves of regions. While one lasts, the disk keeps the region as it was before, whatever its world shows; with its end, one batch has everything
//! that has changed meanwhile. So the objects of an archive come into a running region in many steps, and to the disk in one.

use super::saves::SaveReply;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use ids::{Instant, WorldId};
use std::time::Duration;
use store::DocumentChanges;
use tokio::sync::oneshot;

/// Orders that wait for the `replica` thread; further ones are refused.
const ORDERS_MAX: usize = 16;

/// Age of a hold from which the operator gets a warning. A load of the largest region takes half a minute.
const LATE: Duration = Duration::from_secs(300);

/// The sentence on a hold that was given up without an end.
pub(super) const ABANDONED: &str = "An archive was loaded in part only, and nothing of the region is saved since. A start of the server takes the region from the disk as it was before.";

/// An order to the keepers.
pub(crate) struct HoldOrder {
    pub(super) world: WorldId,
    pub(super) request: HoldRequest,
}

/// Request for one region.
pub(super) enum HoldRequest {
    /// Nothing is saved from now on.
    Begin(oneshot::Sender<Result<(), String>>),
    /// Everything is saved, at once, and these documents with it.
    End(oneshot::Sender<SaveReply>, DocumentChanges),
    /// Nothing is saved any more.
    Abandon,
}

/// Way of orders to the `replica` thread.
#[derive(Clone, Debug)]
pub struct SaveHolds(Sender<HoldOrder>);

impl SaveHolds {
    /// The two ends.
    pub(super) fn new() -> (Self, Receiver<HoldOrder>) {
        let (sender, receiver) = bounded(ORDERS_MAX);
        (Self(sender), receiver)
    }

    /// Holds the saves of a region. When this returns, no later frame of its world is saved before the end of the hold.
    ///
    /// # Errors
    /// A sentence; then the region is saved as ever.
    pub async fn begin(&self, world: WorldId) -> Result<SaveHold, String> {
        let (reply, answer) = oneshot::channel();
        match self.0.try_send(HoldOrder { world, request: HoldRequest::Begin(reply) }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err("Too many saves are held back already.".into()),
            Err(TrySendError::Disconnected(_)) => return Err(ended()),
        }
        // From now on: a hold that begins must have an end, also if the answer is lost.
        let hold = SaveHold { world, orders: Some(self.0.clone()) };
        match answer.await {
            Ok(Ok(())) => Ok(hold),
            Ok(Err(why)) => {
                hold.forget();
                Err(why)
            }
            Err(_) => {
                hold.forget();
                Err(ended())
            }
        }
    }
}

fn ended() -> String {
    "The server no longer saves regions.".into()
}

/// A hold that lasts. If it is dropped without [`Self::end`] it is abandoned: the region is not saved any more, since that would be a part of an archive.
#[derive(Debug)]
#[must_use = "a hold that is dropped is abandoned"]
pub struct SaveHold {
    world: WorldId,
    /// None once it has ended.
    orders: Option<Sender<HoldOrder>>,
}

impl SaveHold {
    /// Ends it. The reply comes when everything that the world's frames have shown so far is on the disk, and the documents with it in one transaction; a save that
    /// fails is tried again later.
    ///
    /// # Errors
    /// A sentence, if the thread has ended.
    pub fn end(mut self, documents: DocumentChanges) -> Result<oneshot::Receiver<SaveReply>, String> {
        let (reply, answer) = oneshot::channel();
        let orders = self.orders.take().ok_or_else(ended)?;
        let order = HoldOrder { world: self.world, request: HoldRequest::End(reply, documents) };
        orders.send(order).map_err(|_| ended())?;
        Ok(answer)
    }

    fn forget(mut self) {
        self.orders = None;
    }
}

impl Drop for SaveHold {
    fn drop(&mut self) {
        if let Some(orders) = self.orders.take() {
            let order = HoldOrder { world: self.world, request: HoldRequest::Abandon };
            // The thread may have ended, with which nothing is saved any more.
            let _ = orders.send(order);
        }
    }
}

/// State of one region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HoldState {
    /// It is saved as ever.
    #[default]
    Free,
    /// It is not, since this time.
    Held(Instant),
    /// It will be, as soon as no frames are missing: a batch would have the region as it was before these.
    Ending(Instant),
    /// It will not be any more.
    Abandoned(Instant),
}

impl HoldState {
    /// Begins a hold.
    ///
    /// # Errors
    /// A sentence, if one lasts.
    pub(super) fn begin(&mut self, now: Instant) -> Result<(), String> {
        match self {
            Self::Free => {
                *self = Self::Held(now);
                Ok(())
            }
            Self::Held(_) | Self::Ending(_) => Err("Another archive is loaded into the region.".into()),
            Self::Abandoned(_) => Err(ABANDONED.into()),
        }
    }

    /// Asks for its end; false if none lasts.
    pub(super) const fn end(&mut self) -> bool {
        match *self {
            Self::Held(since) => {
                *self = Self::Ending(since);
                true
            }
            Self::Free | Self::Ending(_) | Self::Abandoned(_) => false,
        }
    }

    /// Gives it up.
    pub(super) const fn abandon(&mut self) {
        if let Self::Held(since) = *self {
            *self = Self::Abandoned(since);
        }
    }

    /// Lets it end, unless frames are missing.
    pub(super) const fn settle(&mut self, is_behind: bool) {
        if matches!(self, Self::Ending(_)) && !is_behind {
            *self = Self::Free;
        }
    }

    /// True while no batch may be handed out.
    pub(super) const fn lasts(&self) -> bool {
        !matches!(self, Self::Free)
    }

    /// Time until which unsaved changes are no trouble; `None` without a hold.
    pub(super) fn excused_until(&self) -> Option<Instant> {
        match *self {
            Self::Held(since) | Self::Ending(since) => Some(since + LATE),
            Self::Free | Self::Abandoned(_) => None,
        }
    }

    /// Time since which the region is not saved any more, for a hold that was given up.
    pub(super) const fn abandoned_since(&self) -> Option<Instant> {
        match *self {
            Self::Abandoned(since) => Some(since),
            Self::Free | Self::Held(_) | Self::Ending(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORLD: WorldId = WorldId(3);

    fn at(s: u64) -> Instant {
        Instant::from_millis(1_000 * s)
    }

    #[test]
    fn a_hold_ends_once_no_frames_are_missing() {
        let mut state = HoldState::default();
        assert!(!state.lasts() && !state.end());
        assert_eq!(state.begin(at(5)), Ok(()));
        assert!(state.begin(at(6)).is_err(), "one at a time");
        state.settle(false);
        assert!(state.lasts(), "nothing has asked for its end");
        assert_eq!(state.excused_until(), Some(at(305)));
        assert!(state.end() && !state.end());
        state.settle(true);
        assert!(state.lasts());
        state.settle(false);
        assert_eq!(state, HoldState::Free);
    }

    #[test]
    fn a_hold_that_is_given_up_lasts() {
        let mut state = HoldState::default();
        state.abandon();
        assert_eq!(state, HoldState::Free);
        state.begin(at(5)).expect("none lasts");
        state.abandon();
        state.settle(false);
        assert!(state.lasts() && !state.end());
        assert_eq!((state.excused_until(), state.abandoned_since()), (None, Some(at(5))));
        assert_eq!(state.begin(at(6)), Err(ABANDONED.into()));
    }

    #[test]
    fn a_guard_that_is_dropped_abandons_its_hold() {
        let (holds, orders) = SaveHolds::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let answer = |reply: Result<(), String>| {
            let orders = orders.clone();
            std::thread::spawn(move || match orders.recv().expect("an order").request {
                HoldRequest::Begin(sender) => sender.send(reply).expect("it is waited for"),
                HoldRequest::End(..) | HoldRequest::Abandon => panic!("another order"),
            })
        };
        let answering = answer(Ok(()));
        let hold = runtime.block_on(holds.begin(WORLD)).expect("it is granted");
        answering.join().expect("it has answered");
        drop(hold);
        assert!(matches!(orders.try_recv().expect("an order").request, HoldRequest::Abandon));
        let answering = answer(Err("No.".into()));
        assert_eq!(runtime.block_on(holds.begin(WORLD)).err(), Some("No.".into()));
        answering.join().expect("it has answered");
        assert!(orders.try_recv().is_err(), "there is nothing to end");
    }
}
