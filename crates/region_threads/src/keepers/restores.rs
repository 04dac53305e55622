//! Orders to put objects and items into a region, of operators and clients, on their way to its keeper, and their answers on the way back.

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use ids::WorldId;
use keeper::{Keeper, Order, OrderKey, RestoreError, RestoreOrder, RestoreOutcome};
use link::EditRefusal;
use std::collections::BTreeMap;
use tokio::sync::oneshot;
use workplace::opaque_debug;

/// Orders that wait for the `replica` thread; further ones are refused.
const ORDERS_MAX: usize = 256;

/// Answer to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreReply {
    /// The object, or the content, is in the region: on the disk, but for the copy of an item that stays, and the object of an item in a prim.
    Done,
    /// The world has refused it. An object is held, or an item, as before, on the disk.
    Refused(EditRefusal),
    /// Another order for the object has no outcome yet. The mark is that of the other order.
    UnderWay,
    /// The order has not reached the world, for this reason, a sentence. The object is marked for the region still.
    NotSent(String),
}

/// Takes the answer to an order, on any thread, without waiting.
pub type TakeAnswer = Box<dyn FnOnce(RestoreReply) + Send>;

/// An order for the `replica` thread.
pub struct RestoreRequest {
    pub(super) world: WorldId,
    pub(super) order: Order,
    pub(super) answer: TakeAnswer,
}

opaque_debug!(RestoreRequest);

/// Way of orders to the `replica` thread.
#[derive(Clone, Debug)]
pub struct RestoreOrders(Sender<RestoreRequest>);

impl RestoreOrders {
    /// The two ends.
    pub fn new() -> (Self, Receiver<RestoreRequest>) {
        let (sender, receiver) = bounded(ORDERS_MAX);
        (Self(sender), receiver)
    }

    /// Orders that an object, which the store has marked for this world, comes into it.
    ///
    /// # Errors
    /// A sentence, if too many orders wait or the thread has ended. The object is marked still.
    pub fn order(
        &self,
        world: WorldId,
        order: RestoreOrder,
    ) -> Result<oneshot::Receiver<RestoreReply>, String> {
        let (reply, receiver) = oneshot::channel();
        // The receiver may have given up.
        let answer: TakeAnswer = Box::new(move |told| drop(reply.send(told)));
        self.send(world, Order::Object(order), answer).map(|()| receiver).map_err(|(why, _)| why)
    }

    /// Orders for a client that an object or item comes into this world. Its answer comes in any case, unless the server ends before.
    pub fn order_for_client(&self, world: WorldId, order: Order, answer: TakeAnswer) {
        if let Err((why, answer)) = self.send(world, order, answer) {
            answer(RestoreReply::NotSent(why));
        }
    }

    fn send(&self, world: WorldId, order: Order, answer: TakeAnswer) -> Result<(), (String, TakeAnswer)> {
        self.0.try_send(RestoreRequest { world, order, answer }).map_err(|error| {
            let why = match error {
                TrySendError::Full(_) => "Too many objects are on their way into regions. Try again soon.",
                TrySendError::Disconnected(_) => "The server no longer changes regions.",
            };
            (why.to_owned(), error.into_inner().answer)
        })
    }
}

/// Orders of one region that its keeper has taken: no more than it takes at once.
#[derive(Default)]
pub(super) struct WaitingRestores(BTreeMap<OrderKey, TakeAnswer>);

impl WaitingRestores {
    /// Hands an order to the keeper of its region.
    pub(super) fn add(&mut self, keeper: &mut Keeper, order: Order, answer: TakeAnswer) {
        let key = order.key();
        let what = if matches!(order, Order::Content(_)) { "The object" } else { "It" };
        match keeper.order(order) {
            Ok(()) => {
                self.0.insert(key, answer);
            }
            Err(RestoreError::Twice) => answer(RestoreReply::UnderWay),
            Err(why @ (RestoreError::Busy | RestoreError::Undone | RestoreError::Row(_))) => {
                answer(RestoreReply::NotSent(format!("{what} stays as it is: {why}.")));
            }
        }
    }

    /// Answers the orders that have an outcome.
    pub(super) fn answer(&mut self, keeper: &mut Keeper) {
        while let Some(RestoreOutcome { order, refusal }) = keeper.poll_outcome() {
            if let Some(answer) = self.0.remove(&order) {
                answer(refusal.map_or(RestoreReply::Done, RestoreReply::Refused));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{AgentId, Instant, SessionKey, Ticket, Uuid};
    use keeper::{KeeperConfig, NewLand, RegionIds, RestoreSource};
    use link::{Action, Estate, Event, Frame, RestorePlace, Terrain, Transfer};
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
        let object = link::HeldObject {
            owner,
            by: SessionKey::NODE,
            kind: link::DerezKind::Return,
            folder: Uuid::nil(),
            transaction: Uuid::nil(),
            is_worn: false,
            linksets: vec![vec![prim]],
        };
        let events = vec![Event::Transfer(Ticket(1), Transfer::Held(Arc::new(object)))];
        keeper.handle_frame(Instant::ZERO, &Frame { world: REGION, events, ..Frame::empty() });
        let mut batch = keeper.poll_batch(Instant::from_millis(250)).expect("due");
        match batch.changes.held.pop() {
            Some((_, store::HeldChange::Insert(row))) => row,
            other => panic!("{other:?}"),
        }
    }

    fn restore_order(row: HeldRow) -> RestoreOrder {
        let source = RestoreSource::Held(row);
        RestoreOrder { source, place: RestorePlace::Former, ids: Uuid::from_u128(3) }
    }

    #[test]
    fn an_order_is_answered_when_its_outcome_is_on_the_disk() {
        let (orders, receiver) = RestoreOrders::new();
        let (mut keeper, mut waiting) = (keeper(), WaitingRestores::default());
        let order = || restore_order(row());
        let mut replies = [(), ()].map(|()| {
            let reply = orders.order(REGION, order()).expect("room");
            let RestoreRequest { order, answer, .. } = receiver.recv().expect("the order");
            waiting.add(&mut keeper, order, answer);
            reply
        });
        assert_eq!(replies[1].try_recv(), Ok(RestoreReply::UnderWay), "the mark is that of the first order");
        let mut sent = Vec::new();
        keeper.send_orders(|action| {
            sent.push(action);
            true
        });
        let is_due = matches!(&sent[..], [Action::Restore(order)] if order.key == Some(row().key));
        assert!(is_due, "{sent:?}");

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
    fn content_of_an_item_is_answered_when_it_is_on_the_disk() {
        let (orders, receiver) = RestoreOrders::new();
        let (mut keeper, mut waiting) = (keeper(), WaitingRestores::default());
        let (session, [object, item, asset]) = (SessionKey(5), [7, 8, 9].map(Uuid::from_u128));
        let replacement = link::ContentReplacement { session, object, item, asset_type: 7, asset };
        let (told, answers) = std::sync::mpsc::channel();
        let answer: TakeAnswer = Box::new(move |reply| told.send(reply).expect("the test waits"));
        orders.order_for_client(REGION, Order::Content(replacement), answer);
        let RestoreRequest { order, answer, .. } = receiver.recv().expect("the order");
        waiting.add(&mut keeper, order, answer);
        let events = vec![Event::Rezzed { order: asset, refusal: None }];
        keeper.handle_frame(Instant::ZERO, &Frame { world: REGION, events, ..Frame::empty() });
        let batch = keeper.poll_batch(Instant::from_millis(250)).expect("due");
        waiting.answer(&mut keeper);
        assert!(answers.try_recv().is_err(), "it is not on the disk");
        keeper.handle_saved(Instant::from_millis(250), batch.id, true);
        waiting.answer(&mut keeper);
        assert_eq!(answers.try_recv(), Ok(RestoreReply::Done));
    }

    #[test]
    fn orders_beyond_the_bound_are_refused() {
        let (orders, receiver) = RestoreOrders::new();
        let order = || orders.order(REGION, restore_order(row()));
        let kept: Vec<_> = (0..ORDERS_MAX).map(|_| order().expect("room")).collect();
        assert!(order().expect_err("no room").contains("Too many"));
        drop(receiver);
        assert!(order().is_err());
        drop(kept);
    }

    #[test]
    fn an_order_of_a_client_is_answered_also_without_room_for_it() {
        let (orders, receiver) = RestoreOrders::new();
        let (told, answers) = std::sync::mpsc::channel();
        let order = || {
            let told = told.clone();
            let answer: TakeAnswer = Box::new(move |reply| told.send(reply).expect("the test waits"));
            orders.order_for_client(REGION, Order::Object(restore_order(row())), answer);
        };
        (0..ORDERS_MAX).for_each(|_| order());
        assert!(answers.try_recv().is_err(), "they wait");
        order();
        assert!(matches!(answers.try_recv(), Ok(RestoreReply::NotSent(why)) if why.contains("Too many")));
        let mut keeper = keeper();
        let mut waiting = WaitingRestores::default();
        let RestoreRequest { order, answer, .. } = receiver.recv().expect("the first");
        waiting.add(&mut keeper, order, answer);
        assert!(answers.try_recv().is_err());
        let RestoreRequest { order, answer, .. } = receiver.recv().expect("the second, for the same object");
        waiting.add(&mut keeper, order, answer);
        assert_eq!(answers.try_recv(), Ok(RestoreReply::UnderWay));
    }
}
