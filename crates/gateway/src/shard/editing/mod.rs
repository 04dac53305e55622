//! Changes of objects that clients ask for: decoded here, judged by the world.
//!
//! ```text
//! message ─► rows of prims ─► Action::Object ─► world ─► ObjectChange to every replica
//!               │                                 └────► Event::ObjectsRefused, Event::ObjectCreated to the client
//!               └─ static objects, avatars, unknown ids: refused at once
//! ```
//!
//! A client displays a change before it is granted. Hence a refused one makes the shard send the object and its properties again.

mod appearance;
mod making;
mod ownership;
mod placement;
mod rezzing;
mod taking;

use super::counters::Refused;
use super::incoming::{Drop, Handled, Incoming};
use super::notices::NoticeKind;
use super::objects::Found;
use super::outbox::Outbox;
use super::{COMMANDS_MAX, ClientIndex, Shard};
use crate::coverage::{Feature, MessageOutcome};
use ids::{Instant, LocalId, SessionKey, Uuid, WorldId};
use link::{Action, CircuitKey, EditRefusal, ObjectCommand};

/// Objects whose maker's client selects them that are remembered; a client makes a few at once.
const CREATED_MAX: usize = 255;

/// Outcome of a request for so many prims, none of which is there. One for none at all asks for nothing.
pub(super) const fn without_prims(n_asked: usize) -> MessageOutcome {
    if n_asked == 0 { MessageOutcome::Ignored } else { MessageOutcome::Refused }
}

impl Shard {
    /// Passes a request on to the client's world.
    pub(super) fn edit(&mut self, at: &mut Incoming<'_>, command: ObjectCommand) -> Handled {
        if self.commands.len() >= COMMANDS_MAX {
            return Err(Refused::WorldBusy.into());
        }
        if !self.client(at.index).has_avatar() {
            return Ok(self.refuse_without_avatar(at));
        }
        self.command(at.index, Action::Object(Box::new(command)));
        Ok(MessageOutcome::Done)
    }

    /// A client has requested a change over HTTP, and was answered. One that cannot be passed on brings a notice.
    pub(super) fn on_object_request(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        command: ObjectCommand,
        out: &mut Outbox,
    ) {
        let Some(&index) = self.by_circuit.get(&circuit) else { return };
        let at = &mut Incoming { now, index, name: None, out };
        if self.edit(at, command).is_err() {
            self.counters.refuse(Refused::WorldBusy);
            self.notify(now, index, NoticeKind::Flood, at.out);
        }
    }

    /// The rows of a request that concern prims. The others are refused: static objects, avatars, objects of instances, and unknown ones.
    fn editable<R>(
        &mut self,
        at: &mut Incoming<'_>,
        rows: Vec<R>,
        id_of: impl Fn(&R) -> u32,
    ) -> Result<Vec<(LocalId, R)>, Drop> {
        let (mut editable, mut others) = (Vec::new(), Vec::new());
        for row in rows {
            let id = id_of(&row);
            match self.find(at, id) {
                Found::Prim(_) => editable.push((LocalId(id), row)),
                Found::Static(..) | Found::Avatar | Found::Nothing => others.push(id),
            }
        }
        if !others.is_empty() {
            self.refuse_edit(at, Feature::Building, others.into_iter())?;
        }
        Ok(editable)
    }

    /// Passes a request on that has a row for each prim; refused if none of them is a prim.
    pub(super) fn edit_rows<R, T>(
        &mut self,
        at: &mut Incoming<'_>,
        rows: Vec<R>,
        id_of: impl Fn(&R) -> u32,
        read: impl Fn(R) -> T,
        command: impl FnOnce(Vec<(LocalId, T)>) -> ObjectCommand,
    ) -> Handled {
        let n_asked = rows.len();
        let rows = self.editable(at, rows, id_of)?;
        if rows.is_empty() {
            return Ok(without_prims(n_asked));
        }
        let rows = rows.into_iter().map(|(id, row)| (id, read(row))).collect();
        self.edit(at, command(rows))
    }

    /// The same for a request that names prims only.
    pub(super) fn edit_ids<R>(
        &mut self,
        at: &mut Incoming<'_>,
        rows: Vec<R>,
        id_of: impl Fn(&R) -> u32,
        command: impl FnOnce(Vec<LocalId>) -> ObjectCommand,
    ) -> Handled {
        let command = |rows: Vec<(LocalId, ())>| command(rows.into_iter().map(|(id, ())| id).collect());
        self.edit_rows(at, rows, id_of, |_| (), command)
    }

    /// An id for a new object. It stands for one object on the whole grid: a session and the number of its command are never the same twice,
    /// and the keys keep clients from guessing it.
    fn new_object_id(&mut self, index: ClientIndex) -> Uuid {
        let client = self.client(index);
        let (SessionKey(session), number) = (client.session(), client.next_command_sequence());
        let [key, other_key] = self.config.hash_keys;
        let high = state_hash::mix(session ^ key);
        Uuid::from_u64_pair(high, state_hash::mix(number ^ state_hash::mix(high ^ other_key)))
    }

    /// The same for what no command of the client makes: an object that comes out of an item, an item that goes into a prim.
    pub(super) fn transferred_id(&mut self, index: ClientIndex) -> Uuid {
        let client = self.client(index);
        let CircuitKey { session: SessionKey(session), ticket } = client.key();
        let number = u64::from(ticket) << 32 | u64::from(client.transfers.next_number());
        let [key, other_key] = self.config.hash_keys;
        let high = state_hash::mix(session ^ key);
        // Other keys than those of objects that commands make.
        Uuid::from_u64_pair(high, state_hash::mix(number ^ state_hash::mix(!high ^ other_key)))
    }

    /// Time of day, microseconds since 1970.
    pub(super) fn unix_us(&self, now: Instant) -> u64 {
        self.config.unix_start_s * 1_000_000 + now.0 / 1_000
    }

    /// A world has refused changes.
    pub(super) fn on_objects_refused(
        &mut self,
        now: Instant,
        world: WorldId,
        session: SessionKey,
        reason: EditRefusal,
        ids: &[LocalId],
        out: &mut Outbox,
    ) {
        let Some(index) = self.in_world(session, world) else { return };
        self.notify(now, index, NoticeKind::Edit(reason), out);
        let at = &mut Incoming { now, index, name: None, out };
        let ids = ids.iter().map(|&LocalId(id)| id);
        self.show_again(at, ids.clone());
        self.pin_asked(at, ids.clone());
        // Without room for them the client shows its own properties until it selects the object anew.
        if self.send_properties(at, ids).is_err() {
            self.counters.refuse(Refused::Flood);
        }
    }

    /// A session has made an object. Its client selects it at the next update, and reads its properties.
    pub(super) fn on_object_created(
        &mut self,
        now: Instant,
        world: WorldId,
        session: SessionKey,
        id: LocalId,
        is_selected: bool,
        out: &mut Outbox,
    ) {
        let Some(index) = self.in_world(session, world) else { return };
        let client = self.client(index);
        if is_selected {
            if client.created.len() == CREATED_MAX {
                client.created.remove(0);
            }
            client.created.push(id);
            // It may have been sent in a turn between the frame and this event.
            if client.objects.sent.knows(id) {
                client.objects.sent.mark_doubtful(id);
            }
        }
        let at = &mut Incoming { now, index, name: None, out };
        if self.send_properties(at, std::iter::once(id.0)).is_err() {
            self.counters.refuse(Refused::Flood);
        }
    }
}
