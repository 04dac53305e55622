//! Requests of clients about land: changes are decoded here and judged by the world; questions are answered from the replica.
//!
//! ```text
//! message, capability ─► Action::Land ─► world ─► GroundPatch, LandChange to every replica ─► stream/land.rs
//!                                          └────► Event::Land to the client: refused, or put out
//! ```
//!
//! A client shows the settings of a parcel as its user typed them. Hence a refused change makes the shard send the parcel again; an accepted one does, too,
//! since the world may have clamped a value.

mod answers;
mod estate;
mod ground;
mod parcels;

use super::counters::Refused;
use super::incoming::{Drop, Handled, Incoming};
use super::notices::NoticeKind;
use super::outbox::Outbox;
use super::{COMMANDS_MAX, ClientIndex, Shard};
use crate::coverage::{Feature, MessageOutcome};
use crate::land::{ParcelProperties, Selection, missing_parcel};
use crate::mail::{FromShard, Request};
use crate::places::Place;
use ids::{Instant, SessionKey, Uuid, WorldId};
use link::{Action, CircuitKey, LandCommand, LandEdit, LandEvent, LandRefusal, ParcelEdit, ParcelNumber};
use replicate::land::KnownParcel;
use std::sync::Arc;

/// Sequence number of properties that are those of the viewer's selection.
pub(super) const OF_SELECTION: i32 = -10_000;

impl Shard {
    /// Passes a change on to the client's world.
    fn edit_land(&mut self, at: &mut Incoming<'_>, edit: LandEdit) -> Handled {
        self.edit_land_all(at, vec![edit])
    }

    /// The same for several changes: all of them, or none.
    fn edit_land_all(&mut self, at: &mut Incoming<'_>, edits: Vec<LandEdit>) -> Handled {
        if edits.is_empty() {
            return Ok(MessageOutcome::Ignored);
        }
        if self.commands.len() + edits.len() > COMMANDS_MAX {
            return Err(Refused::WorldBusy.into());
        }
        let client = self.client(at.index);
        if !client.has_avatar() {
            return Ok(self.refuse_without_avatar(at));
        }
        if client.place.scene.feed.current().land().is_none() {
            return Ok(self.refuse_feature(at, Feature::Land));
        }
        for edit in edits {
            self.command_land(at.now, at.index, edit);
        }
        Ok(MessageOutcome::Done)
    }

    /// The same for a change of one parcel, whose properties follow.
    fn edit_parcel(&mut self, at: &mut Incoming<'_>, parcel: ParcelNumber, edit: ParcelEdit) -> Handled {
        self.edit_land(at, LandEdit::Parcel(parcel, edit))
    }

    fn command_land(&mut self, now: Instant, index: ClientIndex, edit: LandEdit) {
        let at_s = self.config.unix_start_s + now.0 / 1_000_000_000;
        let client = self.client(index);
        if let LandEdit::Parcel(number, _) = edit {
            let sequence = client.next_command_sequence();
            let replica = client.place.scene.feed.current();
            let changed = replica.land().and_then(|land| land.parcel(number)).map(|known| known.changed);
            client.land.record_request(sequence, number, changed.unwrap_or_default());
        }
        self.command(index, Action::Land(Box::new(LandCommand { at_s, edit })));
    }

    /// A change that a capability has asked for.
    pub(super) fn on_land_mail(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        edits: Vec<LandEdit>,
        out: &mut Outbox,
    ) {
        let Some(&index) = self.by_circuit.get(&circuit) else { return };
        if !self.client(index).asks.try_spend(now) {
            self.counters.refuse(Refused::Flood);
            self.notify(now, index, NoticeKind::Flood, out);
            return;
        }
        let at = &mut Incoming { now, index, name: None, out };
        match self.edit_land_all(at, edits) {
            Ok(_) | Err(Drop::Malformed(_)) => {}
            Err(Drop::Refused(why)) => {
                self.counters.refuse(why);
                self.notify(now, index, NoticeKind::Land(LandRefusal::Busy), at.out);
            }
        }
    }

    /// An event of a world's land.
    pub(super) fn on_land(
        &mut self,
        now: Instant,
        world: WorldId,
        session: SessionKey,
        event: LandEvent,
        out: &mut Outbox,
    ) {
        let Some(index) = self.in_world(session, world) else { return };
        match event {
            LandEvent::Refused { sequence, reason } => {
                self.notify(now, index, NoticeKind::Land(reason), out);
                if let Some(number) = self.client(index).land.take_request(sequence) {
                    let place = Arc::clone(&self.client(index).place);
                    let properties = properties_of(&place, number, OF_SELECTION);
                    self.push_properties(index, properties);
                }
            }
            // Orders of the node itself, which is no client.
            LandEvent::Done { .. } => {}
            LandEvent::PutOut(_) => self.notify(now, index, NoticeKind::PutOut, out),
        }
    }

    /// Refuses a change that the world need not be asked about.
    fn refuse_land(&mut self, at: &mut Incoming<'_>, reason: LandRefusal) -> Handled {
        self.notify(at.now, at.index, NoticeKind::Land(reason), at.out);
        Ok(MessageOutcome::Refused)
    }

    /// Puts the properties of a parcel into the client's queue, unasked.
    fn push_properties(&mut self, index: ClientIndex, body: wire::llsd::Llsd) {
        let key = self.client(index).key();
        self.mail.push(FromShard::Request(key, Request::Event { name: "ParcelProperties", body }));
    }

    /// A parcel by the number that a client has sent.
    fn parcel_of(&mut self, at: &Incoming<'_>, local_id: i32) -> Option<KnownParcel> {
        let number = number_of(local_id)?;
        let replica = self.client(at.index).place.scene.feed.current();
        replica.land()?.parcel(number).cloned()
    }

    /// True if the client's user may change a parcel, as far as is known here: operators are known to the world only.
    fn seems_to_manage(&mut self, at: &Incoming<'_>, known: Option<&KnownParcel>) -> bool {
        let client = self.client(at.index);
        let agent = client.ticket.agent;
        let replica = client.place.scene.feed.current();
        let estate = replica.land().and_then(|land| land.estate());
        known.is_some_and(|known| known.parcel.is_of(agent))
            || estate.is_some_and(|(estate, _)| estate.is_managed_by(agent))
    }

    /// An id for a new parcel. It stands for one parcel on the whole grid: a session and the number of its command are never the same twice,
    /// and the keys keep clients from guessing it.
    fn new_parcel_id(&mut self, index: ClientIndex) -> Uuid {
        let client = self.client(index);
        let (SessionKey(session), number) = (client.session(), client.next_command_sequence());
        let [key, other_key] = self.config.hash_keys;
        let high = state_hash::mix(session ^ other_key);
        Uuid::from_u64_pair(high, state_hash::mix(number ^ state_hash::mix(high ^ key)))
    }
}

/// The number of a parcel; `None` if no parcel can have it.
fn number_of(local_id: i32) -> Option<ParcelNumber> {
    u16::try_from(local_id).ok().filter(|number| *number > 0).map(ParcelNumber)
}

/// Properties of a parcel as an event.
fn properties_of(place: &Place, number: ParcelNumber, sequence_id: i32) -> wire::llsd::Llsd {
    let replica = place.scene.feed.current();
    match replica.land().and_then(|land| land.parcel(number)) {
        Some(known) => {
            let selection = Selection { sequence_id, ..Selection::default() };
            ParcelProperties::new(place, &replica, &known.parcel, selection).to_llsd()
        }
        None => missing_parcel(place, &replica, sequence_id),
    }
}
