//! Requests for objects: full updates and properties, and changes that are refused.
//!
//! A client that has changed an object on its own screen gets the object and its properties again, so that the screen is right.

use super::Shard;
use super::client::Client;
use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use super::progress::ViewerCache;
use super::properties::{self, rows_per_reply};
use crate::coverage::{Feature, MessageOutcome};
use ids::{LocalId, Uuid};
use std::sync::Arc;
use wire::messages::*;

/// Price that hides a field of the viewer's window.
const PAY_PRICE_HIDDEN: i32 = -1;

/// Sorts ids that a client names into objects that are there and those that are not.
pub(super) enum Found {
    Avatar,
    /// A static object by its number among them.
    Static(u32, Uuid),
    /// A prim that can change.
    Prim(Uuid),
    Nothing,
}

impl Shard {
    /// A client lacks objects that we believe it has: they are sent whole with the next send, from any distance. Those that do not
    /// exist are killed, so that it stops asking.
    ///
    /// Of those above its rate only objects that it was sent go once more, at the pace of the stream: a turn may offer more objects from the
    /// cache than the rate allows, and no viewer asks twice.
    pub(super) fn on_request_objects(&mut self, at: &mut Incoming<'_>, m: RequestMultipleObjects) -> Handled {
        let client = self.client(at.index);
        let n_granted = m.object_data.iter().take_while(|_| client.misses.try_spend(at.now)).count();
        let is_filled = client.greeting.cache == ViewerCache::Filled;
        let (granted, others) = m.object_data.split_at(n_granted);
        let ids = granted.iter().map(|row| row.id);
        self.send_again(at, ids.clone(), |client, id| client.objects.mark_asked(id));
        self.pin_asked(at, ids);
        let n_sent_before = others.iter().filter(|row| self.mark_sent_lacking(at, row.id)).count();
        if is_filled {
            self.counters.cache_misses += (n_granted + n_sent_before) as u64;
        }
        if n_sent_before < others.len() { Err(Refused::Flood.into()) } else { Ok(MessageOutcome::Done) }
    }

    /// Prims that a client asks for are sent from any distance. Those that it has are sent so anyway.
    pub(super) fn pin_asked(&mut self, at: &Incoming<'_>, ids: impl Iterator<Item = u32>) {
        let client = self.client(at.index);
        let replica = client.place.scene.feed.current();
        for id in ids.map(LocalId).filter(|&id| replica.objects().get(id).is_some()) {
            client.objects.sent.pin(id);
        }
    }

    /// Has an object sent again that the client was sent before; false for any other.
    fn mark_sent_lacking(&mut self, at: &Incoming<'_>, id: u32) -> bool {
        let client = self.client(at.index);
        if client.objects.sent.knows(LocalId(id)) {
            client.objects.mark_asked(LocalId(id));
            return true;
        }
        let index = client.place.scene.feed.current().scenery().of_id(LocalId(id));
        let sent = index.filter(|&index| client.scenery.sent().has(index));
        if let Some(index) = sent {
            client.scenery.mark_lacking(index);
        }
        sent.is_some()
    }

    pub(super) fn on_object_select(&mut self, at: &mut Incoming<'_>, m: ObjectSelect) -> Handled {
        let ids = m.object_data.iter().map(|row| row.object_local_id);
        let created = &mut self.client(at.index).created;
        created.retain(|id| !m.object_data.iter().any(|row| row.object_local_id == id.0));
        self.kill_unknown(at, ids.clone());
        self.send_properties(at, ids.clone())?;
        self.select_matter(at, ids)?;
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_properties_family(
        &mut self,
        at: &mut Incoming<'_>,
        m: RequestObjectPropertiesFamily,
    ) -> Handled {
        let RequestObjectPropertiesFamilyObjectData { request_flags, object_id } = m.object_data;
        if !self.client(at.index).asks.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        let place = Arc::clone(&self.client(at.index).place);
        let replica = place.scene.feed.current();
        let row = if let Some(entry) =
            replica.objects().of_id(object_id).and_then(|id| replica.objects().get(id))
        {
            properties::of_prim(&entry.body)
        } else if let Some(index) = place.ground().scenery.index_of(object_id) {
            properties::of_static(place.ground(), index)
        } else {
            return Ok(self.refuse_feature(at, Feature::UnknownObject));
        };
        let object_data = properties::family(row, request_flags);
        self.answer(at, ObjectPropertiesFamily { object_data })
    }

    pub(super) fn on_pay_price(&mut self, at: &mut Incoming<'_>, m: RequestPayPrice) -> Handled {
        let hidden = || PayPriceReplyButtonData { pay_button: PAY_PRICE_HIDDEN };
        let object_data = PayPriceReplyObjectData {
            object_id: m.object_data.object_id,
            default_pay_price: PAY_PRICE_HIDDEN,
        };
        self.refuse(at, PayPriceReply { object_data, button_data: (0..4).map(|_| hidden()).collect() })
    }

    /// The id of an object of the client's world.
    pub(super) fn object_of(&mut self, at: &Incoming<'_>, id: u32) -> Option<Uuid> {
        match self.find(at, id) {
            Found::Static(_, object) | Found::Prim(object) => Some(object),
            Found::Avatar | Found::Nothing => None,
        }
    }

    /// Refuses a change of objects: the client gets a notice, and the objects in their true state.
    pub(super) fn refuse_edit(
        &mut self,
        at: &mut Incoming<'_>,
        feature: Feature,
        ids: impl Iterator<Item = u32> + Clone,
    ) -> Handled {
        let outcome = self.refuse_feature(at, feature);
        self.show_again(at, ids.clone());
        self.send_properties(at, ids)?;
        Ok(outcome)
    }

    /// Sends objects and avatars whole at the client's next turn, in forms that change what it displays, and kills those that do not exist.
    pub(super) fn show_again(&mut self, at: &mut Incoming<'_>, ids: impl Iterator<Item = u32> + Clone) {
        self.send_again(at, ids, |client, id| client.objects.mark_doubtful(id));
    }

    fn send_again(
        &mut self,
        at: &mut Incoming<'_>,
        ids: impl Iterator<Item = u32> + Clone,
        mark_prim: impl Fn(&mut Client, LocalId),
    ) {
        for id in ids.clone() {
            match self.find(at, id) {
                Found::Avatar => self.client(at.index).viewer.lost(LocalId(id)),
                Found::Static(index, _) => self.client(at.index).scenery.mark_lacking(index),
                Found::Prim(_) => mark_prim(self.client(at.index), LocalId(id)),
                Found::Nothing => {}
            }
        }
        self.kill_unknown(at, ids);
    }

    /// Kills unknown objects, so that the client stops asking for them.
    fn kill_unknown(&mut self, at: &mut Incoming<'_>, ids: impl Iterator<Item = u32>) {
        let mut unknown = Vec::new();
        for id in ids {
            if matches!(self.find(at, id), Found::Nothing) {
                unknown.push(KillObjectObjectData { id });
            }
        }
        if !unknown.is_empty() {
            self.reply(at, KillObject { object_data: unknown });
        }
    }

    pub(super) fn send_properties(
        &mut self,
        at: &mut Incoming<'_>,
        ids: impl Iterator<Item = u32>,
    ) -> Result<(), Refused> {
        let place = Arc::clone(&self.client(at.index).place);
        let raised_by = self.client(at.index).contents_serial;
        let mut rows: Vec<ObjectPropertiesObjectData> = Vec::new();
        for id in ids {
            let row = match self.find(at, id) {
                Found::Static(index, _) => properties::of_static(place.ground(), index as usize),
                Found::Prim(_) => {
                    let replica = place.scene.feed.current();
                    let Some(entry) = replica.objects().get(LocalId(id)) else { continue };
                    properties::of_prim(&entry.body)
                }
                Found::Avatar | Found::Nothing => continue,
            };
            // Not negative.
            let inventory_serial = row.inventory_serial.wrapping_add(raised_by) & i16::MAX;
            // The item that it came out of, if the client has rezzed it.
            let rezzed_from = self.client(at.index).transfers.item_of(row.object_id);
            let item_id = rezzed_from.unwrap_or(row.item_id);
            rows.push(ObjectPropertiesObjectData { inventory_serial, item_id, ..row });
        }
        while !rows.is_empty() {
            if !self.client(at.index).asks.try_spend(at.now) {
                return Err(Refused::Flood);
            }
            let rest = rows.split_off(rows_per_reply(&rows));
            self.reply(at, ObjectProperties { object_data: std::mem::replace(&mut rows, rest) });
        }
        Ok(())
    }

    pub(super) fn find(&mut self, at: &Incoming<'_>, id: u32) -> Found {
        let place = Arc::clone(&self.client(at.index).place);
        let replica = place.scene.feed.current();
        if replica.of_id(LocalId(id)).is_some() {
            return Found::Avatar;
        }
        if let Some(entry) = replica.objects().get(LocalId(id)) {
            return Found::Prim(entry.body.id);
        }
        let Some(index) = replica.scenery().of_id(LocalId(id)) else { return Found::Nothing };
        Found::Static(index, place.ground().scenery.prims()[index as usize].prim.id)
    }
}
