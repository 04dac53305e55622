//! The wardrobe of the node: what users wear goes to the regions where their avatars are, by way of the keepers.

use super::{FollowedRegion, Keepers};
use crossbeam_channel::{Receiver, Sender, bounded};
use grid::inventory::WORN_WAITS_MAX;
use ids::{Instant, WorldId};
use keeper::{Keeper, WardrobeOrder, WornRegions, WornState};
use link::Event;
use workplace::world_map::WorldMap;

/// Orders that wait for the `replica` thread; the sender of a further one waits.
const ORDERS_MAX: usize = 256;

/// Answer to a question, with the number of the question ([`WardrobeOrder::Ask`]).
pub type WornAnswer = (u64, WornState);

/// Way of orders to the wardrobe, and of answers to the questions among them.
#[derive(Clone, Debug)]
pub struct WardrobeOrders {
    orders: Sender<WardrobeOrder>,
    /// Both ends, so that the receiver never loses the other one.
    answers: (Sender<WornAnswer>, Receiver<WornAnswer>),
}

impl WardrobeOrders {
    /// The way, and the end of the orders.
    pub fn new() -> (Self, Receiver<WardrobeOrder>) {
        let (orders, receiver) = bounded(ORDERS_MAX);
        (Self { orders, answers: bounded(WORN_WAITS_MAX) }, receiver)
    }

    /// Gives an order, behind those before it.
    pub fn order(&self, order: WardrobeOrder) {
        // Without a receiver the server ends, and the store has all that is worn.
        drop(self.orders.send(order));
    }

    /// Answers to questions, for the one thread that asks.
    pub const fn answers(&self) -> &Receiver<WornAnswer> {
        &self.answers.1
    }

    fn answer(&self, answer: WornAnswer) {
        // Never without room: as many orders wait for an answer at most. The time of one without an answer would end.
        let _ = self.answers.0.try_send(answer);
    }
}

/// The regions as the wardrobe knows them.
struct Followed<'a>(&'a mut WorldMap<FollowedRegion>);

impl WornRegions for Followed<'_> {
    fn keepers(&mut self) -> impl Iterator<Item = &mut Keeper> {
        self.0.values_mut().map(|followed| &mut followed.keeper)
    }
}

impl Keepers {
    /// Orders to the wardrobe, for [`Self::take_dressing`].
    pub(crate) const fn dressing(&self) -> &Receiver<WardrobeOrder> {
        &self.dressing.1
    }

    /// Takes an order to the wardrobe. [`Self::poll_worn_answer`] follows.
    pub(crate) fn take_dressing(&mut self, now: Instant, order: WardrobeOrder) {
        self.wardrobe.take_order(now, order, &mut Followed(&mut self.worlds));
        self.save_due(now);
    }

    /// The next answer of the wardrobe, for the clients of a region.
    pub(crate) fn poll_worn_answer(&mut self) -> Option<(WorldId, Event)> {
        self.wardrobe.poll_answer()
    }

    /// Takes note of a region's save, for orders of inventories that wait for it.
    pub(super) fn note_worn_save(&mut self, world: WorldId, is_saved: bool) {
        self.wardrobe.note_save(world, is_saved, &mut Followed(&mut self.worlds));
    }

    /// Answers the questions of inventories that no longer wait.
    pub(super) fn answer_inventories(&mut self, now: Instant) {
        self.wardrobe.answer_questions(now, &mut Followed(&mut self.worlds));
        while let Some(answer) = self.wardrobe.poll_state() {
            self.dressing.0.answer(answer);
        }
    }

    /// Takes the news of a region about worn objects.
    pub(super) fn take_worn(&mut self, now: Instant, world: WorldId) {
        while let Some(news) = self.worlds.get_mut(world).and_then(|followed| followed.keeper.poll_worn()) {
            self.wardrobe.take_news(now, world, news, &mut Followed(&mut self.worlds));
        }
    }

    /// Has avatars put objects on that are due.
    pub(super) fn dress(&mut self, now: Instant) {
        if self.wardrobe.poll_timeout().is_none_or(|due_at| due_at > now) {
            return;
        }
        self.wardrobe.drive(now, &mut Followed(&mut self.worlds));
        self.worlds.values_mut().for_each(FollowedRegion::send_transfers);
    }
}
