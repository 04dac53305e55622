//! Orders of the node that were answered without a ticket, so that one that comes again gets the same answer and has no second effect.
//!
//! The node sends an order again when frames with its answer may be lost, though the world may have it in its inbox still. What the first one has done may have been
//! changed by then: an object was taken off again, replaced at its point or deleted. So the objects do not tell whether the order was carried out, and a record does. It
//! belongs to the objects: it is stored with them, and goes back with them after a panic. An order that transfers answer needs none: the answer itself is kept until it
//! is settled (`escrow`).

use ids::Uuid;
use link::{AnsweredOrder, EditRefusal};
use record::Part;
use state_hash::StateHasher;
use std::collections::{BTreeMap, VecDeque};

/// Orders that are remembered; beyond it the oldest is forgotten. A keeper has 1,536 orders without an answer at most, in three lists, and between an order and its repetition
/// the world gets no others than these.
const ORDERS_MAX: usize = 2_048;

/// Answered orders of a world.
#[derive(Debug, Default)]
pub(crate) struct AnsweredOrders {
    /// The oldest first.
    orders: VecDeque<AnsweredOrder>,
    /// The same by their ids.
    refusals: BTreeMap<Uuid, Option<EditRefusal>>,
    /// Sum of their hashes.
    hash: u64,
    /// Answers of the step under way.
    n_new: usize,
    /// Those that they have displaced, the oldest first.
    displaced: Vec<AnsweredOrder>,
}

impl AnsweredOrders {
    /// The record in snapshots. Worlds without answered orders have none.
    pub(crate) const PART: Part = Part::new(*b"ORDR", "answered orders");

    /// Orders as they were stored; `None` if no run leads to them.
    pub(crate) fn of(stored: Vec<AnsweredOrder>) -> Option<Self> {
        if stored.len() > ORDERS_MAX {
            return None;
        }
        let mut answered = Self::default();
        for order in stored {
            if answered.refusals.contains_key(&order.id) {
                return None;
            }
            answered.push_back(order);
        }
        Some(answered)
    }

    pub(crate) fn stored(&self) -> Vec<AnsweredOrder> {
        self.orders.iter().copied().collect()
    }

    /// Its share of the state hash; 0 without orders, as in builds without this record.
    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// The answer that an order had; `None` for one that is new.
    pub(crate) fn answer_to(&self, id: Uuid) -> Option<Result<(), EditRefusal>> {
        self.refusals.get(&id).map(|refusal| refusal.map_or(Ok(()), Err))
    }

    /// Notes the answer to a new order.
    ///
    /// # Panics
    /// If it has one.
    pub(crate) fn note(&mut self, id: Uuid, answer: Result<(), EditRefusal>) {
        assert!(!self.refusals.contains_key(&id), "order {id} is answered once");
        if self.orders.len() == ORDERS_MAX
            && let Some(oldest) = self.orders.pop_front()
        {
            self.forget(&oldest);
            self.displaced.push(oldest);
        }
        self.push_back(AnsweredOrder { id, refusal: answer.err() });
        self.n_new += 1;
    }

    /// Begins a step: the last frame is out.
    pub(crate) fn begin_step(&mut self) {
        self.n_new = 0;
        self.displaced.clear();
    }

    /// Goes back to the last frame, after a step that panicked.
    pub(crate) fn roll_back(&mut self) {
        // Answers of the step may have displaced each other.
        for oldest in std::mem::take(&mut self.displaced).into_iter().rev() {
            self.hash = self.hash.wrapping_add(order_hash(&oldest));
            self.refusals.insert(oldest.id, oldest.refusal);
            self.orders.push_front(oldest);
        }
        for _ in 0..std::mem::take(&mut self.n_new) {
            if let Some(newest) = self.orders.pop_back() {
                self.forget(&newest);
            }
        }
    }

    fn push_back(&mut self, order: AnsweredOrder) {
        self.hash = self.hash.wrapping_add(order_hash(&order));
        self.refusals.insert(order.id, order.refusal);
        self.orders.push_back(order);
    }

    fn forget(&mut self, order: &AnsweredOrder) {
        self.hash = self.hash.wrapping_sub(order_hash(order));
        self.refusals.remove(&order.id);
    }
}

fn order_hash(AnsweredOrder { id, refusal }: &AnsweredOrder) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.bytes(id.as_bytes());
    hasher.u32(refusal.map_or(0, |reason| reason as u32 + 1));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(n: usize) -> Uuid {
        Uuid::from_u128(n as u128)
    }

    /// As it would be after a snapshot.
    fn again(answered: &AnsweredOrders) -> AnsweredOrders {
        AnsweredOrders::of(answered.stored()).expect("a run led to it")
    }

    #[test]
    fn an_order_has_its_answer_until_as_many_others_have_come_as_are_remembered() {
        let mut answered = AnsweredOrders::default();
        assert_eq!((answered.hash(), answered.answer_to(id(0))), (0, None));
        answered.note(id(0), Err(EditRefusal::Full));
        (1..ORDERS_MAX).for_each(|n| answered.note(id(n), Ok(())));
        for answered in [&answered, &again(&answered)] {
            assert_eq!(answered.answer_to(id(0)), Some(Err(EditRefusal::Full)));
            assert_eq!(answered.answer_to(id(ORDERS_MAX - 1)), Some(Ok(())));
        }
        answered.note(id(ORDERS_MAX), Ok(()));
        assert_eq!((answered.answer_to(id(0)), answered.answer_to(id(1))), (None, Some(Ok(()))));
        assert_eq!((answered.stored().len(), again(&answered).hash()), (ORDERS_MAX, answered.hash()));
    }

    #[test]
    #[should_panic(expected = "is answered once")]
    fn an_order_that_was_answered_gets_no_other_answer() {
        let mut answered = AnsweredOrders::default();
        answered.note(id(1), Err(EditRefusal::Full));
        answered.note(id(1), Ok(()));
    }

    #[test]
    fn states_that_no_run_leads_to_are_refused() {
        let order = |n| AnsweredOrder { id: id(n), refusal: None };
        assert!(AnsweredOrders::of((0..ORDERS_MAX).map(order).collect()).is_some());
        assert!(AnsweredOrders::of((0..=ORDERS_MAX).map(order).collect()).is_none(), "too many");
        assert!(AnsweredOrders::of(vec![order(1), order(2), order(1)]).is_none(), "one twice");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// A step is undone whatever it did, and the hash is that of the state.
        #[test]
        fn any_step_is_undone_and_hashed(
            n_before in prop::sample::select(vec![0, 5, ORDERS_MAX - 3, ORDERS_MAX]),
            n_new in prop::sample::select(vec![0, 1, 7, ORDERS_MAX + 2]),
        ) {
            let mut answered = AnsweredOrders::default();
            let answer = |n: usize| if n.is_multiple_of(3) { Err(EditRefusal::Rights) } else { Ok(()) };
            (0..n_before).for_each(|n| answered.note(id(n), answer(n)));
            answered.begin_step();
            let published = (answered.stored(), answered.hash());
            (n_before..n_before + n_new).for_each(|n| answered.note(id(n), answer(n)));
            prop_assert_eq!(again(&answered).hash(), answered.hash());
            answered.roll_back();
            prop_assert_eq!((answered.stored(), answered.hash()), published);
            (0..n_before).for_each(|n| assert_eq!(answered.answer_to(id(n)), Some(answer(n))));
            prop_assert_eq!(answered.answer_to(id(n_before)), None);
        }
    }
}
