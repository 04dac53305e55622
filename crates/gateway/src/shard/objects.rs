//! Requests for objects: full updates, properties, and changes, which are all refused.
//!
//! Static objects never change. A client that has changed an object on its own screen gets the object and its properties again, so that
//! the screen is right.

use super::Shard;
use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use crate::coverage::{Feature, MessageOutcome};
use crate::places::EncodedGround;
use grid::inventory::LIBRARY_OWNER;
use ids::{LocalId, Uuid};
use std::sync::Arc;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};

/// Rows of ObjectProperties in one datagram: 179 bytes and the name each.
const PROPERTIES_PER_REPLY: usize = 5;
/// Every permission bit of the protocol: the owner's rights on an object. The owner is the grid's operator.
const ALL_PERMISSIONS: u32 = 0x7FFF_FFFF;
/// Price that hides a field of the viewer's window.
const PAY_PRICE_HIDDEN: i32 = -1;

/// Sorts ids that a client names into objects that are there and those that are not.
enum Found {
    Avatar,
    Object(u32, Uuid),
    Nothing,
}

impl Shard {
    /// A client lacks objects that we believe it has: they are sent whole with the next send. Those that do not
    /// exist are killed, so that it stops asking.
    pub(super) fn on_request_objects(&mut self, at: &mut Incoming<'_>, m: RequestMultipleObjects) -> Handled {
        self.show_again(at, m.object_data.iter().map(|row| row.id));
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_object_select(&mut self, at: &mut Incoming<'_>, m: ObjectSelect) -> Handled {
        let ids = m.object_data.iter().map(|row| row.object_local_id);
        self.kill_unknown(at, ids.clone());
        self.send_properties(at, ids)?;
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
        if !place.ground().scenery.prims().iter().any(|object| object.prim.id == object_id) {
            return Ok(self.refuse_feature(at, Feature::UnknownObject));
        }
        let object_data = ObjectPropertiesFamilyObjectData {
            request_flags,
            object_id,
            base_mask: ALL_PERMISSIONS,
            owner_mask: ALL_PERMISSIONS,
            owner_id: LIBRARY_OWNER,
            last_owner_id: LIBRARY_OWNER,
            name: to_wire(place.ground().object_name(object_id), VARIABLE1_MAX),
            description: to_wire("", VARIABLE1_MAX),
            ..ObjectPropertiesFamilyObjectData::default()
        };
        self.answer(at, ObjectPropertiesFamily { object_data })
    }

    /// Objects have no contents, which the reply says by naming no file.
    pub(super) fn on_task_inventory(&mut self, at: &mut Incoming<'_>, m: RequestTaskInventory) -> Handled {
        match self.find(at, m.inventory_data.local_id) {
            Found::Object(_, task_id) => {
                let filename = to_wire("", VARIABLE1_MAX);
                let serial = self.client(at.index).contents_serial;
                let inventory_data = ReplyTaskInventoryInventoryData { task_id, serial, filename };
                self.answer(at, ReplyTaskInventory { inventory_data })
            }
            Found::Avatar | Found::Nothing => {
                self.show_again(at, [m.inventory_data.local_id].into_iter());
                Ok(self.refuse_feature(at, Feature::UnknownObject))
            }
        }
    }

    pub(super) fn on_pay_price(&mut self, at: &mut Incoming<'_>, m: RequestPayPrice) -> Handled {
        let hidden = || PayPriceReplyButtonData { pay_button: PAY_PRICE_HIDDEN };
        let object_data = PayPriceReplyObjectData {
            object_id: m.object_data.object_id,
            default_pay_price: PAY_PRICE_HIDDEN,
        };
        self.refuse(at, PayPriceReply { object_data, button_data: (0..4).map(|_| hidden()).collect() })
    }

    pub(super) fn on_flag_update(&mut self, at: &mut Incoming<'_>, m: ObjectFlagUpdate) -> Handled {
        self.refuse_edit(at, Feature::Building, [m.agent_data.object_local_id].into_iter())
    }

    /// Viewers wait for the ack before they remove the objects from the screen.
    pub(super) fn on_derez(&mut self, at: &mut Incoming<'_>, m: DeRezObject) -> Handled {
        let transaction_id = m.agent_block.transaction_id;
        let transaction_data = DeRezAckTransactionData { transaction_id, success: false };
        self.reply(at, DeRezAck { transaction_data });
        self.refuse_take(at, &m);
        self.refuse_edit(at, Feature::Building, m.object_data.iter().map(|row| row.object_local_id))
    }

    /// Refuses a change of the contents of an object. The client gets a notice, and the version of the contents rises, so that it reads
    /// them again.
    pub(super) fn refuse_contents(&mut self, at: &mut Incoming<'_>, feature: Feature) -> MessageOutcome {
        let serial = &mut self.client(at.index).contents_serial;
        *serial = serial.wrapping_add(1).max(0);
        self.refuse_feature(at, feature)
    }

    /// The id of an object of the client's world.
    pub(super) fn object_of(&mut self, at: &Incoming<'_>, id: u32) -> Option<Uuid> {
        match self.find(at, id) {
            Found::Object(_, object) => Some(object),
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

    /// Sends objects and avatars whole at the client's next turn, and kills those that do not exist.
    fn show_again(&mut self, at: &mut Incoming<'_>, ids: impl Iterator<Item = u32> + Clone) {
        for id in ids.clone() {
            match self.find(at, id) {
                Found::Avatar => self.client(at.index).viewer.lost(LocalId(id)),
                Found::Object(index, _) => self.client(at.index).scenery.sent.mark_lost(index),
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

    fn send_properties(
        &mut self,
        at: &mut Incoming<'_>,
        ids: impl Iterator<Item = u32>,
    ) -> Result<(), Refused> {
        let place = Arc::clone(&self.client(at.index).place);
        let inventory_serial = self.client(at.index).contents_serial;
        let mut rows = Vec::new();
        for id in ids {
            if let Found::Object(_, object_id) = self.find(at, id) {
                let row = properties(place.ground(), object_id);
                rows.push(ObjectPropertiesObjectData { inventory_serial, ..row });
            }
        }
        while !rows.is_empty() {
            if !self.client(at.index).asks.try_spend(at.now) {
                return Err(Refused::Flood);
            }
            let rest = rows.split_off(rows.len().min(PROPERTIES_PER_REPLY));
            self.reply(at, ObjectProperties { object_data: std::mem::replace(&mut rows, rest) });
        }
        Ok(())
    }

    fn find(&mut self, at: &Incoming<'_>, id: u32) -> Found {
        let place = Arc::clone(&self.client(at.index).place);
        let replica = place.scene.feed.current();
        if replica.of_id(LocalId(id)).is_some() {
            return Found::Avatar;
        }
        let Some(index) = replica.scenery().of_id(LocalId(id)) else { return Found::Nothing };
        let object = &place.ground().scenery.prims()[index as usize];
        Found::Object(index, object.prim.id)
    }
}

fn properties(ground: &EncodedGround, object_id: Uuid) -> ObjectPropertiesObjectData {
    let empty = || to_wire("", VARIABLE1_MAX);
    ObjectPropertiesObjectData {
        object_id,
        creator_id: LIBRARY_OWNER,
        owner_id: LIBRARY_OWNER,
        last_owner_id: LIBRARY_OWNER,
        base_mask: ALL_PERMISSIONS,
        owner_mask: ALL_PERMISSIONS,
        name: to_wire(ground.object_name(object_id), VARIABLE1_MAX),
        description: empty(),
        touch_name: empty(),
        sit_name: empty(),
        ..ObjectPropertiesObjectData::default()
    }
}
