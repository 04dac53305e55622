//! Requests of users to change objects: judged, bounded, and carried out object by object.
//!
//! [`Edits`] is the part of a world that they need beside its objects: rights and histories of sessions, lives of temporary objects, limits. A
//! request becomes an [`ObjectEditor`] for as long as it is carried out; each family of requests is a file with its methods. Refusals are counted by
//! their reasons, object by object, and reported to the session in one event.

mod appearance;
mod clearing;
mod contents;
mod creating;
mod editor;
mod flags;
mod history;
mod inserting;
mod linking;
mod materials;
mod media;
mod on_land;
mod ownership;
mod permissions;
mod placing;
mod pull;
mod pulling;
mod recent;
mod removing;
mod restoring;
mod rezzing;
mod schedule;
mod session;
#[cfg(test)]
mod tests;
mod used_rate;
mod wearing;

pub use contents::{REGION_CARRIED_MAX, REGION_ITEMS_MAX};
pub use recent::{RecentEdit, RecentEdits};

pub(crate) use pull::Pull;

use super::{LINK_MAX, ObjectStore};
use crate::counters::EditCounters;
use crate::land::{ChangedRoot, Land, LandUse, ObjectReturn};
use editor::ObjectEditor;
use glam::Vec3;
use ids::{AgentId, LocalId, SessionKey, Uuid};
use link::{
    ContentReplacement, ContentRezzing, ContentsEvent, ContentsOutcome, DerezKind, EditRefusal, EditRights,
    Event, HeldObject, ItemRestoration, ObjectCommand, ObjectLimits, Restoration, TakeOffOrder, WearOrder,
};
use record::Part;
use schedule::ObjectSchedule;
use serde::{Deserialize, Serialize};
use session::SessionEdits;
use state_hash::StateHasher;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use telemetry::recorder::{Arg, Scope};

/// A request, by the first prim that it names.
static EDIT: Scope = Scope::new("world.edit").arg(Arg::Object);
/// Temporary linksets that vanish in one tick; others wait for the next.
const EXPIRED_PER_TICK_MAX: usize = 64;
/// Linksets that are returned in one tick; others wait for the next.
const RETURNED_PER_TICK_MAX: usize = 64;
/// World time until the next attempt to return a linkset, if the store had no room for its owner, nanoseconds.
const FULL_RETRY_NS: u64 = 60_000_000_000;
/// Orders to return objects that wait. Further ones are refused: each of those names all objects of its kinds, and the author may repeat it.
const RETURN_ORDERS_MAX: usize = 64;

/// The acting user of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActingUser {
    /// [`SessionKey::NODE`] for the node.
    pub(crate) session: SessionKey,
    /// Account of the session's avatar; none for the node.
    pub(crate) agent: Option<AgentId>,
    /// The session's avatar; none for the node.
    pub(crate) avatar: Option<ActingAvatar>,
    /// The node is the author: it may do everything, in any number.
    pub(crate) is_node: bool,
    /// Number of the command.
    pub(crate) sequence: u64,
}

/// The avatar of an acting user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActingAvatar {
    pub(crate) id: LocalId,
    /// A point in front of it, metres from the region's corner.
    pub(crate) in_front: Vec3,
}

/// Author of an order to put an object that the store holds into a region.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RestoreAuthor {
    /// The node: within the limits, and at no session's rate.
    Node,
    /// A user, and the place of the object's first root; none for an item, and for an object that goes back where it was.
    User(ActingUser, Option<Vec3>),
    /// A user that is not in the world.
    Absent,
}

/// The node, by its own decision.
const NODE: ActingUser =
    ActingUser { session: SessionKey::NODE, agent: None, avatar: None, is_node: true, sequence: 0 };

/// Land of a world, as edits of its objects need it.
#[derive(Debug)]
pub(crate) struct EditedLand<'a> {
    pub(crate) land: &'a Land,
    pub(crate) uses: &'a mut LandUse,
}

/// State of a world that its editors need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Edits {
    limits: ObjectLimits,
    /// Sessions that have rights or a history. Shared with the last checkpoint until one of them changes.
    sessions: Arc<BTreeMap<SessionKey, SessionEdits>>,
    temporaries: ObjectSchedule,
    /// Linksets that their parcel's rule returns.
    auto_returns: ObjectSchedule,
    /// Orders that are not carried out yet.
    return_orders: VecDeque<ObjectReturn>,
    #[serde(skip)]
    recent: RecentEdits,
    /// Pulls of this step by session, `None` for one that ends; empty between steps.
    #[serde(skip)]
    pulls: BTreeMap<SessionKey, Option<Pull>>,
    /// Sum of the sessions' hashes.
    #[serde(skip)]
    hash: u64,
}

impl Edits {
    /// The record in snapshots.
    pub(crate) const PART: Part = Part::new(*b"EDIT", "edits");

    /// Carries out a request.
    pub(crate) fn carry_out(
        &mut self,
        request: ObjectCommand,
        actor: ActingUser,
        on: EditedWorld<'_>,
        counters: &mut EditCounters,
        events: &mut Vec<Event>,
    ) {
        let EditedWorld { store, land, size_m } = on;
        let _scope = request.first_object().map(|LocalId(id)| EDIT.enter(id.into()));
        let (session, what) = (actor.session, request.label());
        let (object, name) = named_object(&request, store.as_deref());
        let holder = request.first_object().filter(|_| request.is_of_contents());
        // The node may act for a user, by whose rights the request is judged then.
        let is_node = actor.is_node && (holder.is_none() || session == SessionKey::NODE);
        let actor = ActingUser { is_node, ..actor };
        let mut outcome = Outcome::default();
        match store {
            None => outcome.refuse(EditRefusal::NotBuiltOn),
            Some(_) if self.limits.is_closed && !actor.is_node => outcome.refuse(EditRefusal::NotSaved),
            Some(_) if request.n_objects() > request.n_objects_max() => {
                outcome.refuse(EditRefusal::TooManyObjects);
            }
            Some(store) => {
                let mut own = self.take_session(session);
                let mut editor = ObjectEditor {
                    store,
                    land,
                    limits: &self.limits,
                    temporaries: &mut self.temporaries,
                    pulls: &mut self.pulls,
                    own: &mut own,
                    events,
                    actor,
                    size_m,
                    outcome,
                    judged: None,
                };
                editor.carry_out(request);
                outcome = editor.outcome;
                self.put_session(session, own);
            }
        }
        outcome.count(counters);
        let n_refused: u64 = outcome.refused.iter().sum();
        let Outcome { done, reason, ids, contents, .. } = outcome;
        let agent = actor.agent;
        self.recent.note(RecentEdit { session, agent, what, object, name, done, refused: n_refused, reason });
        if let Some((id, outcome)) = holder.zip(contents.or_else(|| reason.map(ContentsOutcome::Refused))) {
            let (sequence, object) = (actor.sequence, object.unwrap_or_default());
            events.push(Event::Contents(Arc::new(ContentsEvent { session, sequence, id, object, outcome })));
        }
        if session == SessionKey::NODE {
            let [done, refused] = [done, n_refused].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            events.push(Event::ObjectsChanged { sequence: actor.sequence, done, refused, reason });
        } else if let Some(reason) = reason {
            events.push(Event::ObjectsRefused { session, reason, ids });
        }
    }

    /// Carries out an order of the node to put an object that the store holds into a region, as its author may. The node notifies the user of a refused order.
    pub(crate) fn restore(
        &mut self,
        order: &Restoration,
        author: RestoreAuthor,
        on: EditedWorld<'_>,
        counters: &mut EditCounters,
        events: &mut Vec<Event>,
    ) {
        self.answer(author, on, counters, events, |editor, at, verdict| editor.restore(order, at, verdict));
    }

    /// The same for an item that is put into a prim.
    pub(crate) fn restore_item(
        &mut self,
        order: &ItemRestoration,
        author: RestoreAuthor,
        on: EditedWorld<'_>,
        counters: &mut EditCounters,
        events: &mut Vec<Event>,
    ) {
        self.answer(author, on, counters, events, |editor, _, verdict| editor.restore_item(order, verdict));
    }

    /// The same for the content of an item of a prim.
    pub(crate) fn replace_content(
        &mut self,
        order: &ContentReplacement,
        author: RestoreAuthor,
        on: EditedWorld<'_>,
        counters: &mut EditCounters,
        events: &mut Vec<Event>,
    ) {
        self.answer(author, on, counters, events, |editor, _, verdict| {
            editor.replace_content(order, verdict)
        });
    }

    /// The same for the object of an item in a prim.
    pub(crate) fn rez_content(
        &mut self,
        order: &ContentRezzing,
        author: RestoreAuthor,
        on: EditedWorld<'_>,
        counters: &mut EditCounters,
        events: &mut Vec<Event>,
    ) {
        self.answer(author, on, counters, events, |editor, at, verdict| {
            editor.rez_content(order, at, verdict)
        });
    }

    /// The same for an item that the author's avatar is to wear.
    pub(crate) fn wear(
        &mut self,
        order: &WearOrder,
        author: RestoreAuthor,
        on: EditedWorld<'_>,
        counters: &mut EditCounters,
        events: &mut Vec<Event>,
    ) {
        self.answer(author, on, counters, events, |editor, _, verdict| editor.wear(order, verdict));
    }

    /// Takes items off the avatars of a user, by order of the node.
    pub(crate) fn take_items_off(
        &mut self,
        order: &TakeOffOrder,
        on: EditedWorld<'_>,
        counters: &mut EditCounters,
        events: &mut Vec<Event>,
    ) {
        self.answer(RestoreAuthor::Node, on, counters, events, |editor, _, _| editor.take_items_off(order));
    }

    fn answer(
        &mut self,
        author: RestoreAuthor,
        on: EditedWorld<'_>,
        counters: &mut EditCounters,
        events: &mut Vec<Event>,
        carry_out: impl FnOnce(&mut ObjectEditor<'_>, Option<Vec3>, Result<(), EditRefusal>),
    ) {
        let EditedWorld { store: Some(store), land, size_m } = on else { return };
        let (actor, at, verdict) = match author {
            RestoreAuthor::Node => (NODE, None, Ok(())),
            RestoreAuthor::User(actor, at) if self.limits.is_closed => {
                (actor, at, Err(EditRefusal::NotSaved))
            }
            RestoreAuthor::User(actor, at) => (actor, at, Ok(())),
            RestoreAuthor::Absent => (NODE, None, Err(EditRefusal::NoOwner)),
        };
        let mut own = self.take_session(actor.session);
        let mut editor = ObjectEditor {
            store,
            land,
            limits: &self.limits,
            temporaries: &mut self.temporaries,
            pulls: &mut self.pulls,
            own: &mut own,
            events,
            actor,
            size_m,
            outcome: Outcome::default(),
            judged: None,
        };
        carry_out(&mut editor, at, verdict);
        editor.outcome.count(counters);
        self.put_session(actor.session, own);
    }

    /// Returns linksets to their owners: by orders on land, and by the rules of parcels, as many as a tick allows.
    pub(crate) fn return_objects(
        &mut self,
        store: &mut ObjectStore,
        EditedLand { land, uses }: EditedLand<'_>,
        size_m: f32,
        counters: &mut EditCounters,
        events: &mut Vec<Event>,
    ) {
        let mut outcome = Outcome::default();
        // The land has refused those for which there is no room.
        self.return_orders.extend(land.object_returns().iter().cloned());
        uses.settle(store, land);
        self.schedule_returns(store, land, uses);
        let roots = self.due_returns(store, land, uses);
        if !roots.is_empty() {
            let mut editor = ObjectEditor {
                store,
                land: Some(EditedLand { land, uses }),
                limits: &self.limits,
                temporaries: &mut self.temporaries,
                pulls: &mut self.pulls,
                own: &mut SessionEdits::default(),
                events,
                actor: NODE,
                size_m,
                outcome,
                judged: None,
            };
            roots.into_iter().for_each(|root| editor.return_to_owner(root));
            outcome = editor.outcome;
        }
        outcome.count(counters);
    }

    /// Further orders to return objects that may wait.
    pub(crate) fn room_for_returns(&self) -> usize {
        RETURN_ORDERS_MAX.saturating_sub(self.return_orders.len())
    }

    /// Brings the times of return up to date with places, owners and parcels.
    fn schedule_returns(&mut self, store: &ObjectStore, land: &Land, uses: &mut LandUse) {
        while let Some(ChangedRoot { object, is_under_new_rule }) = uses.pop_changed() {
            // It may have another local id now, or none.
            let place = root_of(object, store).and_then(|root| uses.place_of(root, land));
            match place.and_then(|place| Land::return_ns(place, store.now_ns())) {
                Some(due_ns) if is_under_new_rule => self.auto_returns.schedule(object, due_ns),
                Some(due_ns) => self.auto_returns.schedule_earlier(object, due_ns),
                None => self.auto_returns.cancel(object),
            }
        }
    }

    /// Roots to be returned in this tick. All wait while the disk takes no more, and linksets of a full owner until there is room for them.
    fn due_returns(&mut self, store: &ObjectStore, land: &Land, uses: &LandUse) -> Vec<LocalId> {
        let mut roots = Vec::new();
        if !store.escrow().has_room(RETURNED_PER_TICK_MAX * LINK_MAX) {
            return roots;
        }
        for _ in 0..RETURNED_PER_TICK_MAX {
            let Some(object) = self.auto_returns.pop_due(store.now_ns()) else { break };
            // Its time may come from an earlier epoch, with other places and rules.
            let is_under_rule = |root: &LocalId| {
                let place = uses.place_of(*root, land);
                place.is_some_and(|place| Land::return_ns(place, store.now_ns()).is_some())
            };
            let Some(root) = root_of(object, store).filter(is_under_rule) else { continue };
            let owner = store.body(root).map(|versioned| versioned.body.ownership.owner);
            if owner.is_some_and(|owner| store.escrow().is_full(owner)) {
                self.auto_returns.schedule(object, store.now_ns() + FULL_RETRY_NS);
            } else {
                roots.push(root);
            }
        }
        while roots.len() < RETURNED_PER_TICK_MAX {
            let Some(order) = self.return_orders.front() else { break };
            let mut found = uses.returnable(order, store, land, RETURNED_PER_TICK_MAX);
            let are_all = found.len() < RETURNED_PER_TICK_MAX;
            // Two orders may name the same objects.
            found.retain(|root| !roots.contains(root));
            let room = RETURNED_PER_TICK_MAX - roots.len();
            if are_all && found.len() <= room {
                self.return_orders.pop_front();
            }
            roots.extend(found.into_iter().take(room));
        }
        roots.sort_unstable();
        roots
    }

    /// Takes everything off avatars that are no longer in the world: one that has left, or those that a restarted world lacks.
    pub(crate) fn take_off(
        &mut self,
        store: &mut ObjectStore,
        wearers: impl Iterator<Item = LocalId>,
        counters: &mut EditCounters,
        events: &mut Vec<Event>,
    ) {
        let mut editor = ObjectEditor {
            store,
            land: None,
            limits: &self.limits,
            temporaries: &mut self.temporaries,
            pulls: &mut self.pulls,
            own: &mut SessionEdits::default(),
            events,
            actor: NODE,
            size_m: 0.0,
            outcome: Outcome::default(),
            judged: None,
        };
        wearers.for_each(|wearer| editor.take_all_off(wearer));
        editor.outcome.count(counters);
    }

    /// Gives a session these rights instead of its former ones.
    pub(crate) fn grant(&mut self, session: SessionKey, rights: EditRights) {
        let mut own = self.take_session(session);
        own.set_rights(rights);
        self.put_session(session, own);
    }

    /// The newest edits.
    pub(crate) const fn recent(&self) -> &RecentEdits {
        &self.recent
    }

    /// Changes the limits. Objects above them stay.
    pub(crate) const fn set_limits(&mut self, limits: ObjectLimits) {
        self.limits = limits;
    }

    /// Drops the rights and the history of a session that left.
    pub(crate) fn forget(&mut self, session: SessionKey) {
        drop(self.take_session(session));
    }

    /// Drops those of sessions that are not present.
    pub(crate) fn retain(&mut self, is_present: impl Fn(SessionKey) -> bool) {
        Arc::make_mut(&mut self.sessions).retain(|session, _| is_present(*session));
        self.hash = self.sum();
    }

    /// Removes the temporary linksets whose time is over.
    pub(crate) fn expire(&mut self, store: &mut ObjectStore) {
        for _ in 0..EXPIRED_PER_TICK_MAX {
            let Some(object) = self.temporaries.pop_due(store.now_ns()) else { return };
            // It may have gone otherwise, or have become a part.
            let root = root_of(object, store).filter(|&id| editor::is_temporary(store, id));
            if let Some(root) = root {
                store.remove(root).expect("a root that is there");
            }
        }
    }

    /// The pulls of this step.
    pub(crate) fn take_pulls(&mut self) -> BTreeMap<SessionKey, Option<Pull>> {
        std::mem::take(&mut self.pulls)
    }

    /// Takes out a linkset that physics has moved beyond the border, and returns its last state within the region to the owner; a temporary one is dropped.
    ///
    /// # Errors
    /// [`EditRefusal::HeldFull`] if the store takes no more for its owner; nothing has changed then.
    pub(crate) fn give_back(
        &mut self,
        root: LocalId,
        store: &mut ObjectStore,
        events: &mut Vec<Event>,
    ) -> Result<(), EditRefusal> {
        let Some(versioned) = store.body(root) else { return Ok(()) };
        let (object, owner) = (versioned.body.id, versioned.body.ownership.owner);
        let is_temporary = editor::is_temporary(store, root);
        if !is_temporary {
            store.escrow().check_room(owner, store.linkset_len(root))?;
        }
        self.temporaries.cancel(object);
        if !is_temporary {
            let prims = store.linkset(root).filter_map(|id| store.prim(id)).collect();
            let (by, kind) = (SessionKey::NODE, DerezKind::Return);
            let (folder, transaction) = (Uuid::nil(), Uuid::nil());
            let linksets = vec![prims];
            let held = HeldObject { owner, by, kind, folder, transaction, is_worn: false, linksets };
            let (ticket, transfer) = store.escrow_mut().hold(held);
            events.push(Event::Transfer(ticket, transfer));
        }
        store.remove(root).expect("a linkset that is there");
        Ok(())
    }

    /// True if time alone changes nothing.
    pub(crate) fn is_quiet(&self) -> bool {
        self.temporaries.is_empty() && self.auto_returns.is_empty() && self.return_orders.is_empty()
    }

    /// True while edits of users are refused, since none can be saved.
    pub(crate) const fn is_closed(&self) -> bool {
        self.limits.is_closed
    }

    /// Its share of the state hash.
    pub(crate) fn hash(&self) -> u64 {
        let ObjectLimits {
            objects_max,
            physical_max,
            rez_per_s,
            edits_per_s,
            link_max,
            temporary_ms,
            is_closed,
        } = self.limits;
        let mut hasher = StateHasher::new();
        let closed = u32::from(is_closed);
        for limit in [objects_max, physical_max, rez_per_s, edits_per_s, link_max, temporary_ms, closed] {
            hasher.u32(limit);
        }
        hasher.u64(self.hash);
        hasher.u64(self.temporaries.hash());
        hasher.u64(self.auto_returns.hash());
        if !self.return_orders.is_empty() {
            hasher.bytes(&postcard::to_allocvec(&self.return_orders).expect("plain data always encodes"));
        }
        hasher.finish()
    }

    /// The state of a snapshot, for use beside its objects. Temporary objects without a time to vanish get one. `None` for a state that
    /// no run leads to.
    pub(crate) fn restored(mut self, store: &ObjectStore) -> Option<Self> {
        let is_sound = Arc::make_mut(&mut self.sessions).values_mut().all(SessionEdits::revive);
        let are_schedules_sound = self.temporaries.is_sound() && self.auto_returns.is_sound();
        if !is_sound || !are_schedules_sound || self.return_orders.len() > RETURN_ORDERS_MAX {
            return None;
        }
        self.hash = self.sum();
        let due_ns = store.now_ns() + schedule::life_ns(&self.limits);
        for object in store.temporary_roots() {
            self.temporaries.schedule_new(object, due_ns);
        }
        Some(self)
    }

    fn sum(&self) -> u64 {
        let hashes = self.sessions.iter().map(|(session, own)| own.hash(*session));
        hashes.fold(0, u64::wrapping_add)
    }

    fn take_session(&mut self, session: SessionKey) -> SessionEdits {
        if !self.sessions.contains_key(&session) {
            return SessionEdits::default();
        }
        let own = Arc::make_mut(&mut self.sessions).remove(&session).expect("it is there");
        self.hash = self.hash.wrapping_sub(own.hash(session));
        own
    }

    /// Keeps the state of a session if it has any. The node has none.
    fn put_session(&mut self, session: SessionKey, own: SessionEdits) {
        if session != SessionKey::NODE && own != SessionEdits::default() {
            self.hash = self.hash.wrapping_add(own.hash(session));
            Arc::make_mut(&mut self.sessions).insert(session, own);
        }
    }
}

/// Parts of a world that requests change and need.
#[derive(Debug)]
pub(crate) struct EditedWorld<'a> {
    /// None in a world that is not built on.
    pub(crate) store: Option<&'a mut ObjectStore>,
    /// None in a world without land.
    pub(crate) land: Option<EditedLand<'a>>,
    /// Width of the region, metres.
    pub(crate) size_m: f32,
}

/// Local id of the linkset whose root is this object.
fn root_of(object: Uuid, store: &ObjectStore) -> Option<LocalId> {
    store.local_id(object).filter(|&id| store.root_of(id) == Some(id))
}

/// Id and name of the first object that a request names, or makes.
fn named_object(request: &ObjectCommand, store: Option<&ObjectStore>) -> (Option<Uuid>, Arc<str>) {
    if let ObjectCommand::Create(new) = request {
        return (Some(new.id), Arc::default());
    }
    let named = request.first_object().zip(store).and_then(|(id, store)| store.body(id));
    named.map_or_else(Default::default, |named| (Some(named.body.id), Arc::clone(&named.body.names.name)))
}

/// Result of one request.
#[derive(Debug, Default)]
struct Outcome {
    /// Objects that it changed.
    done: u64,
    /// Refusals by reason.
    refused: [u64; EditRefusal::ALL.len()],
    /// The first reason.
    reason: Option<EditRefusal>,
    /// Refused objects, as the client named them.
    ids: Vec<LocalId>,
    /// Of a request for an item of a prim, if it was carried out.
    contents: Option<ContentsOutcome>,
}

impl Outcome {
    fn count(&self, counters: &mut EditCounters) {
        counters.done += self.done;
        for (total, refused) in counters.refused.iter_mut().zip(self.refused) {
            *total += refused;
        }
    }

    /// Counts a refusal that concerns no object.
    fn refuse(&mut self, reason: EditRefusal) {
        self.refused[reason as usize] += 1;
        self.reason.get_or_insert(reason);
    }
}
