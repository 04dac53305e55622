//! Orders of operators to put held objects into a region, on their way to its keeper, and their answers on the way back.

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use ids::{HeldKey, WorldId};
use keeper::{Keeper, RestoreError, RestoreOrder, RestoreOutcome};
use link::EditRefusal;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// Orders that wait for the `replica` thread; further ones are refused.
const ORDERS_MAX: usize = 64;

/// Answer to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::serve) enum RestoreReply {
    /// The object is in the region, on the disk.
    Done,
    /// The world has refused it. It is held as before, on the disk.
    Refused(EditRefusal),
    /// Another order for the object has no outcome yet. The mark is that of the other order.
    UnderWay,
    /// The order has not reached the world, for this reason, a sentence. The object is marked for the region still.
    NotSent(String),
}

/// An order for the `replica` thread.
pub(in crate::serve) struct RestoreRequest {
    pub(in crate::serve) world: WorldId,
    pub(in crate::serve) order: RestoreOrder,
    pub(in crate::serve) reply: oneshot::Sender<RestoreReply>,
}

/// Way of orders to the `replica` thread.
#[derive(Clone)]
pub(in crate::serve) struct RestoreOrders(Sender<RestoreRequest>);

impl RestoreOrders {
    /// The two ends.
    pub(super) fn new() -> (Self, Receiver<RestoreRequest>) {
        let (sender, receiver) = bounded(ORDERS_MAX);
        (Self(sender), receiver)
    }

    /// Orders that an object, which the store has marked for this world, comes into it.
    ///
    /// # Errors
    /// A sentence, if too many orders wait or the thread has ended. The object is marked still.
    pub(in crate::serve) fn order(
        &self,
        world: WorldId,
        order: RestoreOrder,
    ) -> Result<oneshot::Receiver<RestoreReply>, String> {
        let (reply, receiver) = oneshot::channel();
        match self.0.try_send(RestoreRequest { world, order, reply }) {
            Ok(()) => Ok(receiver),
            Err(TrySendError::Full(_)) => Err("Too many held objects are asked for already.".into()),
            Err(TrySendError::Disconnected(_)) => Err("The server no longer changes regions.".into()),
        }
    }
}

/// Orders of one region that its keeper has taken: no more than it takes at once.
#[derive(Default)]
pub(super) struct WaitingRestores(BTreeMap<HeldKey, oneshot::Sender<RestoreReply>>);

impl WaitingRestores {
    /// Hands an order to the keeper of its region.
    pub(super) fn add(
        &mut self,
        keeper: &mut Keeper,
        order: RestoreOrder,
        reply: oneshot::Sender<RestoreReply>,
    ) {
        let key = order.row.key;
        match keeper.order_restore(order) {
            Ok(()) => {
                self.0.insert(key, reply);
            }
            Err(why) => {
                let told = match why {
                    RestoreError::Twice => RestoreReply::UnderWay,
                    RestoreError::Busy | RestoreError::Row(_) => {
                        RestoreReply::NotSent(format!("It is not put back: {why}."))
                    }
                };
                // The receiver may have given up.
                let _ = reply.send(told);
            }
        }
    }

    /// Answers the orders whose outcomes are on the disk.
    pub(super) fn answer(&mut self, keeper: &mut Keeper) {
        while let Some(RestoreOutcome { key, refusal }) = keeper.poll_outcome() {
            if let Some(reply) = self.0.remove(&key) {
                // The receiver may have given up.
                let _ = reply.send(refusal.map_or(RestoreReply::Done, RestoreReply::Refused));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{AgentId, Instant, SessionKey, Ticket, Uuid};
    use keeper::{KeeperConfig, NewLand, RegionIds};
    use link::{Action, Estate, Event, Frame, Terrain, Transfer};
    use std::sync::Arc;
    use std::time::Duration;
    use store::{HeldRow, StoredRegion};

    const REGION: WorldId = WorldId(1);

    fn keeper() -> Keeper {
        let terrain = Arc::new(Terrain::flat(256, 21.0));
        let config = KeeperConfig {
            region: REGION,
            name: "Harbour".into(),
            former_name: None,
            land: NewLand { terrain, estate: Estate::new("Estate", None, 20.0), now_s: 0 },
            ids: RegionIds { kept: 1 << 20..3 << 19, temporary: 3 << 19..7 << 18 },
            save: Duration::from_millis(250),
            moving_bytes_per_s: 0,
            unix_start_s: 0,
        };
        let loaded = Keeper::load(&config, &StoredRegion::default(), Uuid::from_u128(9));
        loaded.expect("an empty region").0
    }

    /// A row of a linkset that left the region through a keeper.
    fn row() -> HeldRow {
        let mut keeper = keeper();
        let owner = AgentId(Uuid::from_u128(1));
        let texture = Arc::new(link::plain_texture(7));
        let body = prim::Body::new(Uuid::from_u128(2), prim::Shape::BOX, texture, owner, 0);
        let prim = (link::PrimMotion::NONE, link::VersionedBody { version: 1, body: Arc::new(body) });
        let linkset = link::HeldLinkset {
            owner,
            by: SessionKey::NODE,
            kind: link::DerezKind::Return,
            folder: Uuid::nil(),
            transaction: Uuid::nil(),
            prims: vec![prim],
        };
        let events = vec![Event::Transfer(Ticket(1), Transfer::Held(Arc::new(linkset)))];
        keeper.handle_frame(Instant::ZERO, &Frame { world: REGION, events, ..Frame::empty() });
        let mut batch = keeper.poll_batch(Instant::from_millis(250)).expect("due");
        match batch.changes.held.pop() {
            Some((_, store::HeldChange::Insert(row))) => row,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_order_is_answered_when_its_outcome_is_on_the_disk() {
        let (orders, receiver) = RestoreOrders::new();
        let (mut keeper, mut waiting) = (keeper(), WaitingRestores::default());
        let order = || RestoreOrder { row: row(), position: None, ids: Uuid::from_u128(3) };
        let mut replies = [(), ()].map(|()| {
            let reply = orders.order(REGION, order()).expect("room");
            let RestoreRequest { order, reply: sender, .. } = receiver.recv().expect("the order");
            waiting.add(&mut keeper, order, sender);
            reply
        });
        assert_eq!(replies[1].try_recv(), Ok(RestoreReply::UnderWay), "the mark is that of the first order");
        let mut sent = Vec::new();
        keeper.send_orders(|action| {
            sent.push(action);
            true
        });
        assert!(matches!(&sent[..], [Action::Restore(order)] if order.key == row().key), "{sent:?}");

        let refused = Transfer::Refused(row().key, EditRefusal::Full);
        let events = vec![Event::Transfer(Ticket(1), refused)];
        keeper.handle_frame(Instant::ZERO, &Frame { world: REGION, events, ..Frame::empty() });
        let batch = keeper.poll_batch(Instant::from_millis(250)).expect("due");
        waiting.answer(&mut keeper);
        assert!(replies[0].try_recv().is_err(), "it is not on the disk");
        keeper.handle_saved(Instant::from_millis(250), batch.id, true);
        waiting.answer(&mut keeper);
        assert_eq!(replies[0].try_recv(), Ok(RestoreReply::Refused(EditRefusal::Full)));
    }

    #[test]
    fn orders_beyond_the_bound_are_refused() {
        let (orders, receiver) = RestoreOrders::new();
        let order = || orders.order(REGION, RestoreOrder { row: row(), position: None, ids: Uuid::nil() });
        let kept: Vec<_> = (0..ORDERS_MAX).map(|_| order().expect("room")).collect();
        assert!(order().expect_err("no room").contains("Too many"));
        drop(receiver);
        assert!(order().is_err());
        drop(kept);
    }
}
