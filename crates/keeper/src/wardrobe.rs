//! Wardrobe of a node: the worn objects of its users, and the orders that keep each object in the region of its avatar.
//!
//! | state of an object | ends with |
//! |---|---|
//! | loose: in no region | the avatar's arrival in a region: [`Keeper::wear`]; or the object is detached |
//! | in a region, or ordered into it | [`WornNews`] of the region: the object left, ended, was refused or lost |
//!
//! Worlds without user objects, such as instances, do not count as regions: worn objects stay loose until the avatar is back in a region. The rows are always on
//! the disk; the states in memory are newer by the duration of a save, so that inventories ask here about items with rows (`questions`). A user without a session is
//! forgotten after a minute, once everything is saved.

mod questions;

pub use questions::{WornQuestion, WornState};

use crate::keeper::Keeper;
use crate::worn::{WearTask, WornNews, WornObject};
use ids::{AgentId, Instant, SessionKey, Uuid, WorldId};
use link::{EditRefusal, Event, WornItems};
use state_hash::mix;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Pauses before the next attempt to attach an object, if the world lacked the avatar or lost the object: the first pause, which doubles each time,
/// and the maximum.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Time for which a user without a session, or an item that has ended, is remembered at least; both are remembered until everything about them is saved.
const MEMORY: Duration = Duration::from_secs(60);

/// Maximum number of queued answers; further ones are dropped. An order has at most 255 items, and its answers are polled right after it.
const ANSWERS_MAX: usize = 1_024;

/// An order to the wardrobe. Orders for a user arrive in the order of their causes.
#[derive(Clone, Debug, PartialEq)]
pub enum WardrobeOrder {
    /// The user's avatar has arrived in a world.
    Arrived {
        /// The user.
        agent: AgentId,
        /// Session of the user.
        session: SessionKey,
        /// The region; `None` for a world without user objects.
        world: Option<WorldId>,
        /// The user's rows.
        worn: Vec<WornObject>,
    },
    /// A session has ended.
    Gone {
        /// The user.
        agent: AgentId,
        /// The session.
        session: SessionKey,
    },
    /// The user attaches items, whose rows the store has written.
    Wear {
        /// The user.
        agent: AgentId,
        /// The items, each with true if it replaces the objects at its attachment point.
        items: Vec<(WornObject, bool)>,
    },
    /// The user attaches items that are worn already according to the store. Items in no region are retried at once, at their attachment points; other items do not
    /// change. Items that are being detached are refused: [`Wardrobe::poll_answer`].
    WearAgain {
        /// The user.
        agent: AgentId,
        /// The items.
        items: Vec<Uuid>,
    },
    /// The user detaches items.
    TakeOff {
        /// The user.
        agent: AgentId,
        /// The items; those that are not worn are ignored.
        items: WornItems,
    },
    /// An inventory asks about items: [`Wardrobe::poll_state`].
    Ask(WornQuestion),
}

/// The regions of a node.
pub trait WornRegions {
    /// Calls on the keepers of all regions.
    fn keepers(&mut self) -> impl Iterator<Item = &mut Keeper>;
}

/// Worn objects of users.
#[derive(Debug)]
pub struct Wardrobe {
    seed: Uuid,
    n_tasks: u64,
    users: BTreeMap<AgentId, User>,
    /// Users with a due action, and its time.
    due: BTreeMap<AgentId, Instant>,
    answers: VecDeque<(WorldId, Event)>,
    /// Questions that wait for a save. The inventories bound their number.
    questions: Vec<WornQuestion>,
    /// Answers to questions.
    states: VecDeque<(u64, WornState)>,
    /// True if something has changed since the last look at the questions.
    is_look_due: bool,
}

#[derive(Debug)]
struct User {
    session: Option<SessionKey>,
    world: Option<WorldId>,
    /// Time of the last order or news.
    changed_at: Instant,
    pieces: BTreeMap<Uuid, Piece>,
    /// Items that are no longer worn; their rows may still exist.
    ended: BTreeMap<Uuid, Instant>,
}

#[derive(Debug)]
struct Piece {
    worn: WornObject,
    place: Place,
    replaces: bool,
    /// Number of attempts since the avatar's arrival.
    n_failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In this region, or ordered into it.
    In(WorldId),
    /// In no region. Attached from this time on; `None`: attached at the avatar's next arrival.
    Loose(Option<Instant>),
}

impl Wardrobe {
    /// Creates an empty wardrobe. `seed` is random: ids of objects are derived from it.
    #[must_use]
    pub fn new(seed: Uuid) -> Self {
        Self {
            seed,
            n_tasks: 0,
            users: BTreeMap::new(),
            due: BTreeMap::new(),
            answers: VecDeque::new(),
            questions: Vec::new(),
            states: VecDeque::new(),
            is_look_due: false,
        }
    }

    /// Handles an order. Call [`Self::drive`] and [`Self::answer_questions`] afterwards.
    pub fn take_order(&mut self, now: Instant, order: WardrobeOrder, regions: &mut impl WornRegions) {
        self.is_look_due |= !matches!(order, WardrobeOrder::Ask(_));
        match order {
            WardrobeOrder::Arrived { agent, session, world, worn } => {
                let user = self.user(agent, now);
                (user.session, user.world) = (Some(session), world);
                for worn in worn {
                    if !user.ended.contains_key(&worn.item) {
                        user.pieces.entry(worn.item).or_insert_with(|| Piece::loose(now, worn, false));
                    }
                }
                for piece in user.pieces.values_mut().filter(|piece| piece.is_loose()) {
                    (piece.place, piece.n_failures) = (Place::Loose(Some(now)), 0);
                }
                self.due.insert(agent, now);
            }
            WardrobeOrder::Gone { agent, session } => {
                let left = self.users.get_mut(&agent).filter(|user| user.session == Some(session));
                if let Some(user) = left {
                    (user.session, user.world, user.changed_at) = (None, None, now);
                    self.due.insert(agent, now + MEMORY);
                }
            }
            WardrobeOrder::Wear { agent, items } => {
                let user = self.user(agent, now);
                for (worn, replaces) in items {
                    user.ended.remove(&worn.item);
                    if replaces {
                        user.end_loose(now, regions, |other| {
                            other.worn.point == worn.point && other.worn.item != worn.item
                        });
                    }
                    user.pieces.entry(worn.item).or_insert_with(|| Piece::loose(now, worn, replaces));
                }
                self.due.insert(agent, now);
            }
            WardrobeOrder::WearAgain { agent, items } => {
                let Some(user) = self.users.get_mut(&agent) else { return };
                for item in items {
                    match user.pieces.get_mut(&item) {
                        Some(piece) if piece.is_loose() => {
                            (piece.place, piece.n_failures) = (Place::Loose(Some(now)), 0);
                            self.due.insert(agent, now);
                        }
                        Some(_) => {}
                        None => {
                            // The row exists until the detachment is saved.
                            let world = user.world.filter(|_| user.ended.contains_key(&item));
                            if let Some(world) = world.filter(|_| self.answers.len() < ANSWERS_MAX) {
                                let (owner, reason) = (agent, EditRefusal::TooFast);
                                self.answers.push_back((world, Event::WearRefused { owner, item, reason }));
                            }
                        }
                    }
                }
            }
            WardrobeOrder::TakeOff { agent, items } => {
                let Some(user) = self.users.get_mut(&agent) else { return };
                user.end_loose(now, regions, |piece| items.contains(piece.worn.item));
                for (&item, piece) in user.pieces.iter().filter(|(item, _)| items.contains(**item)) {
                    if let Place::In(world) = piece.place
                        && let Some(keeper) = keeper_of(regions, world)
                    {
                        keeper.take_off(agent, &[item]);
                    }
                }
            }
            WardrobeOrder::Ask(question) => self.ask(now, question, regions),
        }
    }

    /// Returns the next answer to an order, in the form of an answer of the region's world to its clients.
    pub fn poll_answer(&mut self) -> Option<(WorldId, Event)> {
        self.answers.pop_front()
    }

    /// Handles news of a region. Call [`Self::drive`] and [`Self::answer_questions`] afterwards.
    pub fn take_news(
        &mut self,
        now: Instant,
        world: WorldId,
        news: WornNews,
        regions: &mut impl WornRegions,
    ) {
        self.is_look_due = true;
        let place = Place::In(world);
        match news {
            WornNews::Shown(worn) => {
                let (agent, item) = (worn.owner, worn.item);
                let user = self.user(agent, now);
                let piece = user.pieces.entry(item).or_insert_with(|| Piece::loose(now, worn.clone(), false));
                match piece.place {
                    Place::In(other) if other != world => {
                        if let Some(keeper) = keeper_of(regions, world) {
                            keeper.disown_worn(agent, item);
                        }
                    }
                    Place::In(_) | Place::Loose(_) => {
                        *piece = Piece { worn, place, replaces: false, n_failures: 0 };
                        user.ended.remove(&item);
                    }
                }
                self.due.entry(agent).or_insert(now);
            }
            WornNews::Left(worn) => self.loosen(now, place, worn.owner, worn.item, |piece| {
                piece.worn = worn;
                Some(now)
            }),
            WornNews::Lost(worn) => {
                let (agent, item) = (worn.owner, worn.item);
                let user = self.user(agent, now);
                // An object that is worn again after an undo may be unknown here.
                let lost = || Piece { worn: worn.clone(), place, replaces: false, n_failures: 0 };
                user.pieces.entry(item).or_insert_with(lost);
                user.ended.remove(&item);
                self.loosen(now, place, agent, item, |piece| {
                    piece.worn = worn;
                    Some(piece.next_attempt(now))
                });
            }
            WornNews::Refused(owner, item, why) => self.loosen(now, place, owner, item, |piece| {
                // A missing avatar may arrive later; other refusals last as long as the avatar stays.
                (why == EditRefusal::NoOwner).then(|| piece.next_attempt(now))
            }),
            WornNews::Ended(owner, item) => {
                let user = self.user(owner, now);
                user.pieces.remove(&item);
                user.ended.insert(item, now);
                self.due.entry(owner).or_insert(now);
            }
        }
    }

    /// Time of the next [`Self::drive`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.values().min().copied()
    }

    /// Attaches the objects that are due.
    pub fn drive(&mut self, now: Instant, regions: &mut impl WornRegions) {
        let due: Vec<AgentId> = self.due.extract_if(.., |_, at| *at <= now).map(|(agent, _)| agent).collect();
        for agent in due {
            let Some(user) = self.users.get_mut(&agent) else { continue };
            // An arrival brings the row of an end that is not saved yet.
            user.ended.retain(|item, ended_at| {
                let is_unsaved = |keeper: &mut Keeper| keeper.has_unsaved_worn_end(agent, *item);
                now.since(*ended_at) < MEMORY || regions.keepers().any(is_unsaved)
            });
            let next_at = if user.session.is_some() {
                Self::dress(&mut self.n_tasks, self.seed, now, user, regions)
            } else if now.since(user.changed_at) < MEMORY {
                Some(user.changed_at + MEMORY)
            } else if user.is_at_rest(agent, regions) {
                self.users.remove(&agent);
                None
            } else {
                Some(now + MEMORY)
            };
            if let Some(next_at) = next_at {
                self.due.insert(agent, next_at);
            }
        }
    }

    /// The user of an order or of news, created if unknown.
    fn user(&mut self, agent: AgentId, now: Instant) -> &mut User {
        let user = self.users.entry(agent).or_insert_with(|| User {
            session: None,
            world: None,
            changed_at: now,
            pieces: BTreeMap::new(),
            ended: BTreeMap::new(),
        });
        user.changed_at = now;
        user
    }

    /// Attaches the loose objects of a user. Returns the time of the next attempt.
    fn dress(
        n_tasks: &mut u64,
        seed: Uuid,
        now: Instant,
        user: &mut User,
        regions: &mut impl WornRegions,
    ) -> Option<Instant> {
        let (session, world) = user.session.zip(user.world)?;
        let mut keeper = keeper_of(regions, world);
        let mut next_at: Option<Instant> = None;
        for piece in user.pieces.values_mut() {
            let Place::Loose(Some(at)) = piece.place else { continue };
            if at <= now {
                let (worn, replaces) = (piece.worn.clone(), piece.replaces);
                *n_tasks += 1;
                let task = WearTask { session, worn, replaces, ids: id_of_task(seed, *n_tasks) };
                if keeper.as_mut().is_some_and(|keeper| keeper.wear(task)) {
                    piece.place = Place::In(world);
                    continue;
                }
                piece.place = Place::Loose(Some(piece.next_attempt(now)));
            }
            if let Place::Loose(Some(at)) = piece.place {
                next_at = Some(next_at.map_or(at, |earlier| earlier.min(at)));
            }
        }
        next_at
    }

    /// Makes an object of a region loose; `edit` returns the time of the next attempt.
    fn loosen(
        &mut self,
        now: Instant,
        was: Place,
        agent: AgentId,
        item: Uuid,
        edit: impl FnOnce(&mut Piece) -> Option<Instant>,
    ) {
        let Some(user) = self.users.get_mut(&agent) else { return };
        let Some(piece) = user.pieces.get_mut(&item).filter(|piece| piece.place == was) else { return };
        let at = edit(piece);
        (piece.place, piece.replaces) = (Place::Loose(at), false);
        user.changed_at = now;
        let due = self.due.entry(agent).or_insert(now);
        *due = (*due).min(now);
    }
}

impl User {
    /// Detaches loose objects.
    fn end_loose(&mut self, now: Instant, regions: &mut impl WornRegions, is_meant: impl Fn(&Piece) -> bool) {
        let loose = self.pieces.extract_if(.., |_, piece| piece.is_loose() && is_meant(piece));
        for (item, piece) in loose {
            // Any keeper will do: the row belongs to no region.
            if let Some(keeper) = regions.keepers().find(|keeper| !keeper.is_emptied()) {
                keeper.end_worn(now, &piece.worn);
            }
            self.ended.insert(item, now);
        }
    }

    /// True if no object of the user is in a region, and everything is saved.
    fn is_at_rest(&self, agent: AgentId, regions: &mut impl WornRegions) -> bool {
        self.pieces.values().all(Piece::is_loose)
            && !regions.keepers().any(|keeper| keeper.has_unsaved_worn(agent))
    }
}

impl Piece {
    const fn loose(now: Instant, worn: WornObject, replaces: bool) -> Self {
        Self { worn, place: Place::Loose(Some(now)), replaces, n_failures: 0 }
    }

    const fn is_loose(&self) -> bool {
        matches!(self.place, Place::Loose(_))
    }

    fn next_attempt(&mut self, now: Instant) -> Instant {
        let (first, most) = PAUSES;
        let pause = first.saturating_mul(1 << self.n_failures.min(16)).min(most);
        self.n_failures += 1;
        now + pause
    }
}

fn keeper_of(regions: &mut impl WornRegions, world: WorldId) -> Option<&mut Keeper> {
    regions.keepers().find(|keeper| keeper.region() == world)
}

/// Id in the form of random ids.
fn id_of_task(seed: Uuid, number: u64) -> Uuid {
    let (high, low) = seed.as_u64_pair();
    let (a, b) = (mix(high ^ number), mix(mix(low) ^ number));
    Uuid::from_u64_pair(a & !0xF000 | 0x4000, b & !(0b11 << 62) | 0b10 << 62)
}

#[cfg(test)]
mod tests;
