//! Questions of the inventories: are these items, which have rows of worn objects in the store, worn or about to be free?
//!
//! | state of an item | answer |
//! |---|---|
//! | loose, or in a region that has no order to detach it | [`WornState::Worn`] |
//! | the region has an order to detach it, or the object has left the world and its row is still on the disk | none yet |
//! | its end is on the disk | [`WornState::Free`] |
//! | a save of the region with its end has failed | [`WornState::NotSaved`] |
//!
//! A question about several items waits while any of them is about to be free. The states are those of the frames that the keepers have handled, so that an object
//! which its world has removed in a later step is still worn. The row in the store remains the truth: an answer is a hint to try again.

use super::{Place, User, Wardrobe, WornRegions, keeper_of};
use ids::{AgentId, Instant, Uuid, WorldId};

/// A question about items of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WornQuestion {
    /// Number of the question, which its answer repeats.
    pub number: u64,
    /// The user.
    pub agent: AgentId,
    /// The items, which are worn according to the store.
    pub items: Vec<Uuid>,
    /// Time from which on no answer is expected; the question is forgotten then.
    pub until: Instant,
}

/// Answer to a question: [`Wardrobe::poll_state`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WornState {
    /// The items are worn, and none is about to be free.
    Worn,
    /// At least one item is no longer worn according to the disk, and no further one is about to be free.
    Free,
    /// The save of the end of at least one item has failed; the region tries again later.
    NotSaved,
}

/// State of one item.
enum ItemState {
    Worn,
    Ending,
    Ended,
}

impl Wardrobe {
    pub(super) fn ask(&mut self, now: Instant, question: WornQuestion, regions: &mut impl WornRegions) {
        self.questions.retain(|other| other.until > now);
        match state_of(self.users.get(&question.agent), &question, regions) {
            Some(state) => self.states.push_back((question.number, state)),
            None => self.questions.push(question),
        }
    }

    /// Handles the outcome of a region's save, after [`Keeper::handle_saved`](crate::Keeper::handle_saved).
    pub fn note_save(&mut self, region: WorldId, is_saved: bool, regions: &mut impl WornRegions) {
        self.is_look_due = true;
        if is_saved {
            return;
        }
        let Some(keeper) = keeper_of(regions, region) else { return };
        let Self { questions, states, .. } = self;
        questions.retain(|question| {
            let is_unsaved = |item: &Uuid| keeper.has_unsaved_worn_end(question.agent, *item);
            let has_failed = question.items.iter().any(is_unsaved);
            if has_failed {
                states.push_back((question.number, WornState::NotSaved));
            }
            !has_failed
        });
    }

    /// Answers the questions that no longer wait. Call this function after news, orders and saves; without any of these it has no effect.
    pub fn answer_questions(&mut self, now: Instant, regions: &mut impl WornRegions) {
        if !std::mem::take(&mut self.is_look_due) {
            return;
        }
        let Self { users, questions, states, .. } = self;
        questions.retain(|question| {
            if question.until <= now {
                return false;
            }
            let state = state_of(users.get(&question.agent), question, regions);
            states.extend(state.map(|state| (question.number, state)));
            state.is_none()
        });
    }

    /// Returns the next answer to a question, with the number of the question.
    pub fn poll_state(&mut self) -> Option<(u64, WornState)> {
        self.states.pop_front()
    }
}

/// The answer to a question; `None` while an item is about to be free.
fn state_of(
    user: Option<&User>,
    question: &WornQuestion,
    regions: &mut impl WornRegions,
) -> Option<WornState> {
    let mut state = WornState::Worn;
    for &item in &question.items {
        match item_state(user, (question.agent, item), regions) {
            ItemState::Worn => {}
            ItemState::Ending => return None,
            ItemState::Ended => state = WornState::Free,
        }
    }
    Some(state)
}

fn item_state(
    user: Option<&User>,
    (owner, item): (AgentId, Uuid),
    regions: &mut impl WornRegions,
) -> ItemState {
    if let Some(piece) = user.and_then(|user| user.pieces.get(&item)) {
        let Place::In(world) = piece.place else { return ItemState::Worn };
        let is_ending = keeper_of(regions, world).is_some_and(|keeper| keeper.takes_off(owner, item));
        return if is_ending { ItemState::Ending } else { ItemState::Worn };
    }
    // The end may be in any region, also in one that the user has left.
    if regions.keepers().any(|keeper| keeper.has_unsaved_worn_end(owner, item)) {
        return ItemState::Ending;
    }
    let has_ended = user.is_some_and(|user| user.ended.contains_key(&item));
    if has_ended { ItemState::Ended } else { ItemState::Worn }
}
