//! Worn objects in a region: the newest state that frames have shown of each, and the part of it that the disk lacks.
//!
//! A region has the objects that were ordered there ([`TrackedWorn::order`]), or put on there. Others that a world shows are of an earlier time, of avatars
//! that are elsewhere by now, and are ignored.

use super::object::{WornObject, is_same};
use super::shown::ShownPrims;
use crate::load::RegionIds;
use crate::tracked::SeenPrim;
use ids::{AgentId, Instant, LocalId, SessionKey, Uuid};
use link::{
    Action, EditRefusal, Event, ObjectChange, TakeOffOrder, WearOrder, WornChange, WornItems, WornTransfer,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use store::WornSave;

/// Orders of one region that the world has not answered, at most.
pub(crate) const ORDERS_MAX: usize = 1_024;
/// Frames after an answer that may be one to an earlier order, within which the world answers the last one, unless it has lost that.
pub(crate) const ANSWER_FRAMES: u32 = 32;

/// An order to let an avatar wear an item: [`Keeper::wear`](crate::Keeper::wear).
#[derive(Clone, Debug, PartialEq)]
pub struct WearTask {
    /// The user's session in the region.
    pub session: SessionKey,
    /// The item in its last state.
    pub worn: WornObject,
    /// The avatar takes everything else off that it wears at the point.
    pub replaces: bool,
    /// Ids, as in [`WearOrder::ids`].
    pub ids: Uuid,
}

/// News of a worn object: [`Keeper::poll_worn`](crate::Keeper::poll_worn).
#[derive(Clone, Debug, PartialEq)]
pub enum WornNews {
    /// An avatar wears it in the region.
    Shown(WornObject),
    /// Its avatar has left the region.
    Left(WornObject),
    /// It is worn no more.
    Ended(AgentId, Uuid),
    /// The world has refused it.
    Refused(AgentId, Uuid, EditRefusal),
    /// The world has lost it, or never got it.
    Lost(WornObject),
}

/// An effect of a transfer that the disk lacks.
#[expect(clippy::large_enum_variant, reason = "nearly all effects are saves")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WornEffect {
    /// The object came from the ground.
    PutOn(WornObject),
    /// Its row gets this state, or goes.
    Saved(WornSave),
    /// The object lies on the ground.
    PutDown(WornObject),
}

/// A worn object, by its owner and its item.
type WornKey = (AgentId, Uuid);

/// Worn objects of a batch, each with the time of its first change in it.
pub(crate) type FlownWorn = (Vec<(WornKey, Instant)>, Vec<(Instant, WornSave)>);

/// The worn objects of a region.
#[derive(Debug)]
pub(crate) struct TrackedWorn {
    unix_start_s: i64,
    shown: ShownPrims,
    items: BTreeMap<WornKey, WornHere>,
    /// Shown objects, by their roots.
    roots: BTreeMap<LocalId, WornKey>,
    /// Objects with a state that is in no batch.
    unsaved: BTreeMap<WornKey, Change>,
    /// Last states of objects that the region no longer has: they were taken off while they were in no region, or the world has lost them.
    ends: Vec<(Instant, WornSave)>,
    /// The frame under way may have taken one away.
    may_lack: bool,
    orders: BTreeMap<WornKey, Ordered>,
    /// Objects to be taken off; true if the world has the order.
    ending: BTreeMap<WornKey, bool>,
    news: VecDeque<WornNews>,
}

#[derive(Debug)]
struct WornHere {
    /// The object as its row has it, or gets it with the next batch.
    worn: WornObject,
    /// Its root in the world.
    root: Option<LocalId>,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    since: Instant,
    /// The object is saved also if it turns out to be as before: an earlier save of it may have failed.
    is_forced: bool,
}

#[derive(Debug)]
struct Ordered {
    order: WearOrder,
    is_sent: bool,
    /// Times that it was sent without an answer. The world may have lost some of them, and carries the others out.
    n_under_way: u32,
    /// The last answer that may be one to an earlier order for the item, and the frames since.
    doubt: Option<(Doubt, u32)>,
}

/// An answer that counts if the world does not show the item soon.
#[derive(Clone, Copy, Debug)]
enum Doubt {
    Refused(EditRefusal),
    TakenOff,
}

impl TrackedWorn {
    pub(crate) fn new(ids: &RegionIds, unix_start_s: i64) -> Self {
        Self {
            unix_start_s,
            shown: ShownPrims::new(ids),
            items: BTreeMap::new(),
            roots: BTreeMap::new(),
            unsaved: BTreeMap::new(),
            ends: Vec::new(),
            may_lack: false,
            orders: BTreeMap::new(),
            ending: BTreeMap::new(),
            news: VecDeque::new(),
        }
    }

    /// Lets an avatar of the region wear an item. False, and nothing, if too many orders are under way.
    pub(crate) fn order(&mut self, task: WearTask) -> bool {
        let WearTask { session, worn, replaces, ids } = task;
        let key = (worn.owner, worn.item);
        if self.orders.len() >= ORDERS_MAX && !self.orders.contains_key(&key) {
            return false;
        }
        let (item, point, object) = (worn.item, worn.point, Arc::clone(&worn.object));
        let order = WearOrder { session, item, point, replaces, object, ids };
        self.orders.insert(key, Ordered { order, is_sent: false, n_under_way: 0, doubt: None });
        self.ending.remove(&key);
        self.items.entry(key).or_insert(WornHere { worn, root: None });
        // The avatar may wear it already: then the order is without effect.
        self.shown.touch_item(item);
        true
    }

    /// Takes items of a user off that are worn here.
    pub(crate) fn take_off(&mut self, owner: AgentId, items: &[Uuid]) {
        for &item in items {
            let key = (owner, item);
            if self.orders.get(&key).is_some_and(|order| !order.is_sent) {
                self.orders.remove(&key);
                self.may_lack = true;
            }
            if self.items.contains_key(&key) {
                self.ending.insert(key, false);
            }
        }
    }

    /// Takes an item off that is worn in no region. Its row goes with the next batch.
    pub(crate) fn end(&mut self, now: Instant, worn: &WornObject) {
        let ended = WornObject { revision: self.next_revision(now, worn.revision), ..worn.clone() };
        let (ends, renews, asset) = (true, true, None);
        self.ends.push((now, WornSave { row: ended.row(), ends, renews, asset }));
    }

    /// Ignores an item from now on: it is worn in another region.
    pub(crate) fn disown(&mut self, owner: AgentId, item: Uuid) {
        self.remove((owner, item));
    }

    /// Hands out the orders that are due, until there is no room for more.
    pub(crate) fn send_orders(&mut self, mut send: impl FnMut(Action) -> bool) {
        for ordered in self.orders.values_mut().filter(|order| !order.is_sent) {
            if !send(Action::Wear(Box::new(ordered.order.clone()))) {
                return;
            }
            ordered.is_sent = true;
            ordered.n_under_way = ordered.n_under_way.saturating_add(1);
        }
        for (&(owner, item), is_sent) in self.ending.iter_mut().filter(|(_, is_sent)| !**is_sent) {
            let items = WornItems::These(vec![item]);
            if !send(Action::TakeOff(Box::new(TakeOffOrder { owner, items }))) {
                return;
            }
            *is_sent = true;
        }
    }

    pub(crate) fn poll_news(&mut self) -> Option<WornNews> {
        self.news.pop_front()
    }

    /// Time of the first change that is in no batch.
    pub(crate) fn since(&self) -> Option<Instant> {
        let changes = self.unsaved.values().map(|change| change.since);
        changes.chain(self.ends.iter().map(|(since, _)| *since)).min()
    }

    /// True if a state of an object of the user is in no batch.
    pub(crate) fn is_unsaved(&self, owner: AgentId) -> bool {
        self.unsaved.keys().any(|(other, _)| *other == owner)
            || self.ends.iter().any(|(_, save)| save.row.owner == owner)
    }

    /// Takes a change of a frame; [`Self::end_frame`] follows behind the last one, and behind the frame's events.
    pub(crate) fn take_change(&mut self, change: &ObjectChange) {
        self.shown.take_change(change);
    }

    /// Takes all objects of a world, in place of all changes of a frame.
    pub(crate) fn take_whole(&mut self, whole: &[SeenPrim<'_>]) {
        let Self { shown, items, unsaved, .. } = self;
        // The last state is known for what the world has lost. The row lacks it, also if it is shown again as it was.
        for (key, change) in unsaved {
            let Some(WornHere { worn, root }) = items.get_mut(key) else { continue };
            let newer = root.and_then(|root| shown.linkset(root, worn));
            if let Some(newer) = newer.filter(|newer| !is_same(newer, &worn.object)) {
                worn.take_state(newer);
                change.is_forced = true;
            }
        }
        items.values_mut().for_each(|here| here.root = None);
        shown.replace(whole);
        self.roots.clear();
        self.may_lack = true;
        // The world may have lost them, and carries each out once.
        self.orders.values_mut().for_each(|order| order.is_sent = false);
        self.ending.values_mut().for_each(|is_sent| *is_sent = false);
    }

    /// Gives all worn objects up: the world has been begun without its region.
    pub(crate) fn lose_all(&mut self, now: Instant) {
        self.take_whole(&[]);
        self.orders.clear();
        self.end_frame(now);
    }

    /// Takes refusals of orders.
    pub(crate) fn take_events(&mut self, events: &[Event]) {
        for event in events {
            let Event::WearRefused { owner, item, reason } = event else { continue };
            let key = (*owner, *item);
            let Some(ordered) = self.orders.get_mut(&key) else { continue };
            ordered.n_under_way = ordered.n_under_way.saturating_sub(1);
            if ordered.n_under_way == 0 && ordered.is_sent {
                self.refuse(key, *reason);
            } else {
                ordered.doubt = Some((Doubt::Refused(*reason), 0));
            }
        }
    }

    /// Ends an order that the world has refused.
    fn refuse(&mut self, key: WornKey, reason: EditRefusal) {
        self.orders.remove(&key);
        // One that is to be taken off is not put on elsewhere: it ends with this frame.
        if self.ending.contains_key(&key) {
            self.may_lack = true;
            return;
        }
        self.remove(key);
        self.news.push_back(WornNews::Refused(key.0, key.1, reason));
    }

    /// Ends orders with an answer in doubt, to which no other one comes.
    fn end_unanswered(&mut self) {
        let mut unanswered = Vec::new();
        for (key, Ordered { doubt, .. }) in &mut self.orders {
            let Some((doubt, n_frames)) = doubt else { continue };
            *n_frames += 1;
            if *n_frames > ANSWER_FRAMES {
                unanswered.push((*key, *doubt));
            }
        }
        for (key, doubt) in unanswered {
            match doubt {
                Doubt::Refused(reason) => self.refuse(key, reason),
                Doubt::TakenOff => {
                    self.orders.remove(&key);
                    self.ending.insert(key, true);
                    self.may_lack = true;
                }
            }
        }
    }

    /// Takes a transfer. Its effect, if the disk lacks any.
    pub(crate) fn take_transfer(&mut self, now: Instant, transfer: &WornTransfer) -> Option<WornEffect> {
        let WornTransfer { item, change, object } = transfer;
        let key = (object.owner, *item);
        let is_ending = self.ending.contains_key(&key);
        if *change == WornChange::TakenOff
            && !is_ending
            && let Some(ordered) = self.orders.get_mut(&key)
        {
            // An order to take it off that was sent twice, before it was put on again; or something else has replaced it in the frame of its arrival.
            ordered.doubt = Some((Doubt::TakenOff, 0));
            return None;
        }
        let former = self.remove(key);
        let was_changed = former.as_ref().is_none_or(|(former, is_unsaved)| {
            *is_unsaved || former.is_ahead || !is_same(object, &former.object)
        });
        let before = former.as_ref().map_or(0, |(former, _)| former.revision);
        let point = object.root().map_or(0, |(_, root)| root.body.attachment_point());
        let mut worn = WornObject {
            owner: object.owner,
            item: *item,
            point,
            revision: self.next_revision(now, before),
            is_ahead: false,
            object: Arc::new(object.clone()),
        };
        let saved = |worn: &WornObject, ends| {
            WornEffect::Saved(WornSave { row: worn.row(), ends, renews: true, asset: None })
        };
        match change {
            WornChange::PutOn => {
                self.items.insert(key, WornHere { worn: worn.clone(), root: None });
                self.may_lack = true;
                Some(WornEffect::PutOn(worn))
            }
            // Of an avatar that is elsewhere, or of an item that was.
            WornChange::Left | WornChange::TakenOff if former.is_none() => None,
            WornChange::Left if !is_ending => {
                if !was_changed {
                    worn.revision = before;
                }
                self.news.push_back(WornNews::Left(worn.clone()));
                was_changed.then(|| saved(&worn, false))
            }
            // The avatar may have left before the world got the order to take it off.
            WornChange::Left | WornChange::TakenOff => {
                self.news.push_back(WornNews::Ended(worn.owner, worn.item));
                Some(saved(&worn, true))
            }
            WornChange::PutDown => {
                self.news.push_back(WornNews::Ended(worn.owner, worn.item));
                Some(WornEffect::PutDown(worn))
            }
        }
    }

    /// Takes an object back that is worn after all, in this state: the state of its row from now on.
    pub(crate) fn take_back(&mut self, now: Instant, worn: WornObject) -> WornObject {
        let revision = self.next_revision(now, worn.revision);
        let worn = WornObject { revision, is_ahead: true, ..worn };
        let key = (worn.owner, worn.item);
        self.items.insert(key, WornHere { worn: worn.clone(), root: None });
        // It may have been put on anew since, with another state.
        self.unsaved.insert(key, Change { since: now, is_forced: true });
        self.may_lack = true;
        worn
    }

    /// Gives an object up that is worn no more after all.
    pub(crate) fn give_up(&mut self, owner: AgentId, item: Uuid) {
        self.remove((owner, item));
        self.news.push_back(WornNews::Ended(owner, item));
    }

    /// Takes note of the objects that the frame shows, and of those that it has taken away.
    pub(crate) fn end_frame(&mut self, now: Instant) {
        for root in self.shown.take_touched() {
            self.look_at(now, root);
        }
        self.end_unanswered();
        if !std::mem::take(&mut self.may_lack) {
            return;
        }
        let Self { items, orders, news, unsaved, ending, .. } = self;
        let is_lost = |key: &WornKey, here: &WornHere| here.root.is_none() && !orders.contains_key(key);
        for (key, WornHere { worn, .. }) in items.extract_if(.., |key, here| is_lost(key, here)) {
            let change = unsaved.remove(&key);
            if ending.remove(&key).is_some() {
                let revision = revision_after(self.unix_start_s, now, worn.revision);
                let worn = WornObject { revision, ..worn };
                let save = WornSave { row: worn.row(), ends: true, renews: true, asset: None };
                self.ends.push((now, save));
                news.push_back(WornNews::Ended(worn.owner, worn.item));
                continue;
            }
            let Some(Change { since, .. }) = change else {
                news.push_back(WornNews::Lost(worn));
                continue;
            };
            // No later frame differs from this state: it is put on again as it is here.
            let revision = revision_after(self.unix_start_s, now, worn.revision);
            let worn = WornObject { revision, is_ahead: true, ..worn };
            self.ends.push((since, WornSave { row: worn.row(), ends: false, renews: false, asset: None }));
            news.push_back(WornNews::Lost(worn));
        }
    }

    /// Takes out everything that the disk lacks.
    pub(crate) fn take_batch(&mut self, now: Instant) -> (Vec<WornSave>, FlownWorn) {
        let Self { shown, items, unsaved, ends, unix_start_s, .. } = self;
        let (mut saves, mut flown) = (Vec::new(), Vec::new());
        for (key, Change { since, is_forced }) in std::mem::take(unsaved) {
            let Some(WornHere { worn, root }) = items.get_mut(&key) else { continue };
            let newer = root.and_then(|root| shown.linkset(root, worn));
            let newer = newer.filter(|newer| !is_same(newer, &worn.object));
            if newer.is_none() && !is_forced {
                continue;
            }
            if let Some(newer) = newer {
                worn.take_state(newer);
            }
            worn.revision = revision_after(*unix_start_s, now, worn.revision);
            saves.push(WornSave { row: worn.row(), ends: false, renews: false, asset: None });
            flown.push((key, since));
        }
        let ended = std::mem::take(ends);
        saves.extend(ended.iter().map(|(_, save)| save.clone()));
        (saves, (flown, ended))
    }

    /// Takes the objects of a failed batch back.
    pub(crate) fn put_back(&mut self, (changed, mut ended): FlownWorn) {
        for (key, since) in changed.into_iter().filter(|(key, _)| self.items.contains_key(key)) {
            let since = self.unsaved.get(&key).map_or(since, |newer| newer.since.min(since));
            self.unsaved.insert(key, Change { since, is_forced: true });
        }
        ended.append(&mut self.ends);
        self.ends = ended;
    }

    /// The revision of a state from now on.
    fn next_revision(&self, now: Instant, before: i64) -> i64 {
        revision_after(self.unix_start_s, now, before)
    }

    /// Takes an item out: with its state, and whether that was unsaved.
    fn remove(&mut self, key: WornKey) -> Option<(WornObject, bool)> {
        self.orders.remove(&key);
        self.ending.remove(&key);
        let is_unsaved = self.unsaved.remove(&key).is_some();
        let WornHere { worn, root } = self.items.remove(&key)?;
        if let Some(root) = root {
            self.roots.remove(&root);
        }
        Some((worn, is_unsaved))
    }

    fn look_at(&mut self, now: Instant, root: LocalId) {
        let Self { shown, items, roots, unsaved, orders, news, .. } = self;
        let Some(versioned) = shown.body(root) else {
            let here = roots.remove(&root).and_then(|key| items.get_mut(&key));
            if let Some(here) = here.filter(|here| here.root == Some(root)) {
                here.root = None;
                self.may_lack = true;
            }
            return;
        };
        let Some(item) = versioned.body.worn_item else { return };
        let key = (versioned.body.ownership.owner, item);
        let Some(here) = items.get_mut(&key) else { return };
        let is_new = here.root != Some(root);
        if is_new {
            let object = shown.linkset(root, &here.worn);
            here.root = Some(root);
            here.worn.point = versioned.body.attachment_point();
            roots.insert(root, key);
            orders.remove(&key);
            news.push_back(WornNews::Shown(here.worn.clone()));
            if object.is_some_and(|object| is_same(&object, &here.worn.object)) {
                return;
            }
        }
        unsaved.entry(key).or_insert(Change { since: now, is_forced: false });
    }
}

/// Microseconds since 1970, or the revision before and 1.
fn revision_after(unix_start_s: i64, now: Instant, before: i64) -> i64 {
    let passed_us = i64::try_from(now.since(Instant::ZERO).as_micros()).unwrap_or(i64::MAX);
    let now_us = unix_start_s.saturating_mul(1_000_000).saturating_add(passed_us);
    now_us.max(before.saturating_add(1))
}

#[cfg(test)]
mod tests;
