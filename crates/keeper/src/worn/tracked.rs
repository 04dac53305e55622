//! Tracked worn objects of a region: the newest state of each in the frames, and the set of unsaved changes.
//!
//! The table has the objects that were ordered into the region ([`TrackedWorn::order`]) or attached in it. Other worn objects in the frames are outdated,
//! because their avatars have moved to another region, and are ignored.

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

/// Maximum number of unanswered orders of one region.
pub(crate) const ORDERS_MAX: usize = 1_024;
/// Number of frames within which the world answers the last order, after an answer that may belong to an earlier order.
pub(crate) const ANSWER_FRAMES: u32 = 32;

/// An order to attach an item to an avatar: [`Keeper::wear`](crate::Keeper::wear).
#[derive(Clone, Debug, PartialEq)]
pub struct WearTask {
    /// The user's session in the region.
    pub session: SessionKey,
    /// The object in its last state.
    pub worn: WornObject,
    /// True if the avatar detaches all other objects at the attachment point.
    pub replaces: bool,
    /// Ids, as in [`WearOrder::ids`].
    pub ids: Uuid,
}

/// News of a worn object: [`Keeper::poll_worn`](crate::Keeper::poll_worn).
#[derive(Clone, Debug, PartialEq)]
pub enum WornNews {
    /// An avatar wears the object in the region.
    Shown(WornObject),
    /// The avatar has left the region with the object.
    Left(WornObject),
    /// The object is no longer worn.
    Ended(AgentId, Uuid),
    /// The world has refused the order.
    Refused(AgentId, Uuid, EditRefusal),
    /// The world has lost the object, or never received it.
    Lost(WornObject),
}

/// An unsaved effect of a transfer.
#[expect(clippy::large_enum_variant, reason = "nearly all effects are saves")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WornEffect {
    /// Attached from the ground.
    PutOn(WornObject),
    /// The row gets this state or is deleted.
    Saved(WornSave),
    /// Dropped on the ground.
    PutDown(WornObject),
}

/// Key of a worn object: owner and item.
type WornKey = (AgentId, Uuid);

/// Worn objects of a batch, each with the time of its first change in it.
pub(crate) type FlownWorn = (Vec<(WornKey, Instant)>, Vec<(Instant, WornSave)>);

/// The worn objects of a region.
#[derive(Debug)]
pub(crate) struct TrackedWorn {
    unix_start_s: i64,
    shown: ShownPrims,
    items: BTreeMap<WornKey, WornHere>,
    /// Worn objects in the frames, by their roots.
    roots: BTreeMap<LocalId, WornKey>,
    /// Objects with a state that is in no batch yet.
    unsaved: BTreeMap<WornKey, Change>,
    /// Last states of objects that are no longer in the region: they were detached while they were in no region, or the world has lost them.
    ends: Vec<(Instant, WornSave)>,
    /// True if the present frame may have removed a worn object.
    may_lack: bool,
    orders: BTreeMap<WornKey, Ordered>,
    /// Objects to be detached; true if the order has been sent.
    ending: BTreeMap<WornKey, bool>,
    news: VecDeque<WornNews>,
}

#[derive(Debug)]
struct WornHere {
    /// State in the row, or in the row of the next batch.
    worn: WornObject,
    /// Local id of the root in the world.
    root: Option<LocalId>,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    since: Instant,
    /// True if the object is saved even without a difference, because an earlier save may have failed.
    is_forced: bool,
}

#[derive(Debug)]
struct Ordered {
    order: WearOrder,
    is_sent: bool,
    /// Number of unanswered transmissions. The world may have lost some of them, and carries out the others.
    n_under_way: u32,
    /// The last answer that may belong to an earlier order for the item, and the number of frames since.
    doubt: Option<(Doubt, u32)>,
}

/// An answer that takes effect unless the item appears in the frames soon.
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

    /// Orders that an avatar of the region wears an item. Returns false without effect if too many orders are unanswered.
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
        // If the avatar wears the item already, the order has no effect.
        self.shown.touch_item(item);
        true
    }

    /// Detaches items of a user that are worn in the region.
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

    /// Detaches an item that is worn in no region. The next batch deletes its row.
    pub(crate) fn end(&mut self, now: Instant, worn: &WornObject) {
        let ended = WornObject { revision: self.next_revision(now, worn.revision), ..worn.clone() };
        let (ends, renews, asset) = (true, true, None);
        self.ends.push((now, WornSave { row: ended.row(), ends, renews, asset }));
    }

    /// Stops following an item, because it is worn in another region.
    pub(crate) fn disown(&mut self, owner: AgentId, item: Uuid) {
        self.remove((owner, item));
    }

    /// Sends the orders that are due, until there is no room.
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

    /// Time of the first change that is in no batch yet.
    pub(crate) fn since(&self) -> Option<Instant> {
        let changes = self.unsaved.values().map(|change| change.since);
        changes.chain(self.ends.iter().map(|(since, _)| *since)).min()
    }

    /// True if a state of an object of the user is in no batch yet.
    pub(crate) fn is_unsaved(&self, owner: AgentId) -> bool {
        self.unsaved.keys().any(|(other, _)| *other == owner)
            || self.ends.iter().any(|(_, save)| save.row.owner == owner)
    }

    /// True if the item is to be detached.
    pub(crate) fn takes_off(&self, owner: AgentId, item: Uuid) -> bool {
        self.ending.contains_key(&(owner, item))
    }

    /// True if the item was detached without a transfer, and its end is in no batch yet.
    pub(crate) fn has_ended(&self, key: WornKey) -> bool {
        has_end_of(&self.ends, key)
    }

    /// Applies a change of a frame. Call [`Self::end_frame`] after the last change and the events of the frame.
    pub(crate) fn take_change(&mut self, change: &ObjectChange) {
        self.shown.take_change(change);
    }

    /// Applies the complete state of a world instead of the changes of a frame.
    pub(crate) fn take_whole(&mut self, whole: &[SeenPrim<'_>]) {
        let Self { shown, items, unsaved, .. } = self;
        // The last state of an object that the world has lost is known. The row lacks this state, even if the object appears again unchanged.
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
        // The world may have lost these orders, and carries each out once.
        self.orders.values_mut().for_each(|order| order.is_sent = false);
        self.ending.values_mut().for_each(|is_sent| *is_sent = false);
    }

    /// Releases all worn objects, because the world was started without its region.
    pub(crate) fn lose_all(&mut self, now: Instant) {
        self.take_whole(&[]);
        self.orders.clear();
        self.end_frame(now);
    }

    /// Handles refusals of orders.
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
        // An object that is to be detached is not attached elsewhere: it ends with this frame.
        if self.ending.contains_key(&key) {
            self.may_lack = true;
            return;
        }
        self.remove(key);
        self.news.push_back(WornNews::Refused(key.0, key.1, reason));
    }

    /// Ends orders with an uncertain answer that no further answer has followed.
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

    /// Handles a transfer. Returns its effect, if there is an unsaved one.
    pub(crate) fn take_transfer(&mut self, now: Instant, transfer: &WornTransfer) -> Option<WornEffect> {
        let WornTransfer { item, change, object } = transfer;
        let key = (object.owner, *item);
        let is_ending = self.ending.contains_key(&key);
        if *change == WornChange::TakenOff
            && !is_ending
            && let Some(ordered) = self.orders.get_mut(&key)
        {
            // Two cases: a repeated order to detach the object, from before it was attached again; or another object that replaced it in the frame of
            // its arrival.
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
            // The transfer belongs to an avatar that is in another region, or to an outdated item.
            WornChange::Left | WornChange::TakenOff if former.is_none() => None,
            WornChange::Left if !is_ending => {
                if !was_changed {
                    worn.revision = before;
                }
                self.news.push_back(WornNews::Left(worn.clone()));
                was_changed.then(|| saved(&worn, false))
            }
            // The avatar may have left before the world received the order to detach the object.
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

    /// Restores an object that is worn again after an undo. This state becomes the state of its row.
    pub(crate) fn take_back(&mut self, now: Instant, worn: WornObject) -> WornObject {
        let revision = self.next_revision(now, worn.revision);
        let worn = WornObject { revision, is_ahead: true, ..worn };
        let key = (worn.owner, worn.item);
        self.items.insert(key, WornHere { worn: worn.clone(), root: None });
        // The object may have been attached again since, with another state.
        self.unsaved.insert(key, Change { since: now, is_forced: true });
        self.may_lack = true;
        worn
    }

    /// Releases an object that is no longer worn after an undo.
    pub(crate) fn give_up(&mut self, owner: AgentId, item: Uuid) {
        self.remove((owner, item));
        self.news.push_back(WornNews::Ended(owner, item));
    }

    /// Compares the table with the objects that the frame has added, changed and removed.
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
            // No later frame changes this state: the object is attached again in it.
            let revision = revision_after(self.unix_start_s, now, worn.revision);
            let worn = WornObject { revision, is_ahead: true, ..worn };
            self.ends.push((since, WornSave { row: worn.row(), ends: false, renews: false, asset: None }));
            news.push_back(WornNews::Lost(worn));
        }
    }

    /// Moves all unsaved changes into a batch.
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

    /// Marks the objects of a failed batch as unsaved again.
    pub(crate) fn put_back(&mut self, (changed, mut ended): FlownWorn) {
        for (key, since) in changed.into_iter().filter(|(key, _)| self.items.contains_key(key)) {
            let since = self.unsaved.get(&key).map_or(since, |newer| newer.since.min(since));
            self.unsaved.insert(key, Change { since, is_forced: true });
        }
        ended.append(&mut self.ends);
        self.ends = ended;
    }

    /// Revision for a new state.
    fn next_revision(&self, now: Instant, before: i64) -> i64 {
        revision_after(self.unix_start_s, now, before)
    }

    /// Removes an item. Returns its state, and true if the state was unsaved.
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

/// True if one of these saves deletes the row of the item.
pub(crate) fn has_end_of(saves: &[(Instant, WornSave)], (owner, item): WornKey) -> bool {
    saves.iter().any(|(_, save)| save.ends && (save.row.owner, save.row.item) == (owner, item))
}

/// max(microseconds since 1970, former revision + 1).
fn revision_after(unix_start_s: i64, now: Instant, before: i64) -> i64 {
    let passed_us = i64::try_from(now.since(Instant::ZERO).as_micros()).unwrap_or(i64::MAX);
    let now_us = unix_start_s.saturating_mul(1_000_000).saturating_add(passed_us);
    now_us.max(before.saturating_add(1))
}

#[cfg(test)]
mod tests;
