//! Objects that come out of the inventory, or out of the contents of other objects, into the world: RezObject, RezObjectFromNotecard, RezRestoreToWorld.
//!
//! The place is found here, as for a new object, and the item by the thread that changes inventories: its order goes to the region, and the outcome to the client,
//! by way of the hub (`grid::inventory`). What a message states about an item is not read, but for its id. An item in a prim is found here, too, as clients see it.

use super::making::SentRay;
use crate::coverage::{Feature, MessageOutcome};
use crate::mail::Request;
use crate::object_items::{find_item, find_notecard};
use crate::shard::Shard;
use crate::shard::client_transfers::RequestMark;
use crate::shard::incoming::{Handled, Incoming};
use glam::Vec3;
use grid::inventory::{ContentRez, NotecardPlace, RezRequest, WorldDeed, WorldRequest};
use ids::Uuid;
use link::{RestorePlace, Rezzing};
use wire::messages::*;

impl Shard {
    pub(in crate::shard) fn on_rez_object(&mut self, at: &mut Incoming<'_>, m: RezObject) -> Handled {
        let (row, item) = (m.rez_data, m.inventory_data);
        let ray = SentRay {
            start: row.ray_start,
            end: row.ray_end,
            target: row.ray_target_id,
            bypasses: row.bypass_raycast != 0,
        };
        let place = self.rez_place(at, ray, row.rez_selected);
        let (group, leaves) = (m.agent_data.group_id, row.remove_item);
        if !row.from_task_id.is_nil() {
            let source = (row.from_task_id, item.item_id);
            return self.rez_content(at, item.transaction_id, source, place, group);
        }
        let items = vec![item.item_id];
        self.rez(at, item.transaction_id, Things { items, notecard: None, place, group, leaves })
    }

    pub(in crate::shard) fn on_rez_from_notecard(
        &mut self,
        at: &mut Incoming<'_>,
        m: RezObjectFromNotecard,
    ) -> Handled {
        let (row, card) = (m.rez_data, m.notecard_data);
        let ray = SentRay {
            start: row.ray_start,
            end: row.ray_end,
            target: row.ray_target_id,
            bypasses: row.bypass_raycast != 0,
        };
        let client = self.client(at.index);
        let named = NotecardPlace::named(card.notecard_item_id, card.object_id);
        let notecard = find_notecard(&client.place, client.ticket.agent, named);
        let things = Things {
            items: m.inventory_data.iter().map(|row| row.item_id).collect(),
            notecard: Some(notecard),
            place: self.rez_place(at, ray, row.rez_selected),
            group: m.agent_data.group_id,
            // The notecard keeps them.
            leaves: false,
        };
        self.rez(at, Uuid::nil(), things)
    }

    /// The object comes to where it was when it was taken.
    pub(in crate::shard) fn on_rez_restore(
        &mut self,
        at: &mut Incoming<'_>,
        m: RezRestoreToWorld,
    ) -> Handled {
        let session = self.client(at.index).session();
        let things = Things {
            items: vec![m.inventory_data.item_id],
            notecard: None,
            place: RestorePlace::Back { session, is_selected: false },
            group: Uuid::nil(),
            leaves: false,
        };
        self.rez(at, m.inventory_data.transaction_id, things)
    }

    fn rez_place(&mut self, at: &Incoming<'_>, ray: SentRay, is_selected: bool) -> RestorePlace {
        let session = self.client(at.index).session();
        let hit = self.hit_box(at, ray);
        // The world, which knows the object's size, lifts it above this point.
        let position = ray.place(hit, Vec3::ZERO);
        RestorePlace::Rezzed(Rezzing { session, position, ray: self.met_prim(at, ray), is_selected })
    }

    fn rez(&mut self, at: &mut Incoming<'_>, transaction: Uuid, things: Things) -> Handled {
        let Things { items, notecard, place, group, leaves } = things;
        let halves = |id: &Uuid| <[u64; 2]>::from(id.as_u64_pair());
        let request = RequestMark::of(transaction, items.iter().flat_map(halves));
        if self.client(at.index).transfers.is_repeated(at.now, request) {
            return Ok(MessageOutcome::Ignored);
        }
        let ids = self.transferred_id(at.index);
        let items: Vec<(Uuid, Uuid)> =
            items.into_iter().zip(0..).map(|(item, n)| (item, numbered(ids, n))).collect();
        let made = items.clone();
        let rez = RezRequest { items, notecard, place, group, leaves };
        let outcome = self.order_in_world(at, WorldDeed::Rez(rez))?;
        if outcome == MessageOutcome::Done {
            let transfers = &mut self.client(at.index).transfers;
            made.into_iter().for_each(|(item, object)| transfers.note_rezzed(object, item));
            transfers.note_request(at.now, request);
        }
        Ok(outcome)
    }

    /// Rezzes the object of an item in a prim, by the ids of both. The world judges whether the item may come out of it.
    fn rez_content(
        &mut self,
        at: &mut Incoming<'_>,
        transaction: Uuid,
        (object, item): (Uuid, Uuid),
        place: RestorePlace,
        group: Uuid,
    ) -> Handled {
        let content = [object, item].map(|id| <[u64; 2]>::from(id.as_u64_pair()));
        let request = RequestMark::of(transaction, content.into_iter().flatten());
        if self.client(at.index).transfers.is_repeated(at.now, request) {
            return Ok(MessageOutcome::Ignored);
        }
        let client = self.client(at.index);
        let Some(found) = find_item(&client.place, client.ticket.agent, object, item) else {
            let is_built_on = client.place.scene.is_shared;
            let feature = if is_built_on { Feature::UnknownContent } else { Feature::Building };
            self.show_contents_of(at, object);
            return Ok(self.refuse_feature(at, feature));
        };
        let ids = self.transferred_id(at.index);
        let rez = ContentRez { object, item: found.item, ids, place, group };
        let outcome = self.order_in_world(at, WorldDeed::RezContent(rez))?;
        if outcome == MessageOutcome::Done {
            self.client(at.index).transfers.note_request(at.now, request);
        }
        Ok(outcome)
    }

    /// Passes a request for things in the client's world on to the thread that changes inventories. An instance keeps no objects.
    pub(in crate::shard) fn order_in_world(&mut self, at: &mut Incoming<'_>, deed: WorldDeed) -> Handled {
        let client = self.client(at.index);
        if !client.has_avatar() {
            return Ok(self.refuse_without_avatar(at));
        }
        if !client.place.scene.is_shared {
            return Ok(self.refuse_feature(at, Feature::Building));
        }
        let (region, session) = (client.place.world(), client.session());
        let request = WorldRequest { region, session, at: at.now, deed };
        self.request(at, Request::Inventory(Box::new(request.into())))
    }
}

/// Things of a request.
struct Things {
    items: Vec<Uuid>,
    notecard: Option<NotecardPlace>,
    place: RestorePlace,
    group: Uuid,
    leaves: bool,
}

/// An id for each object of a request, by an id for the first one.
fn numbered(ids: Uuid, number: u64) -> Uuid {
    if number == 0 {
        return ids;
    }
    let (high, low) = ids.as_u64_pair();
    Uuid::from_u64_pair(high, state_hash::mix(low ^ state_hash::mix(number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_objects_of_a_request_have_ids_of_their_own() {
        let first = Uuid::from_u64_pair(7, 9);
        assert_eq!(numbered(first, 0), first);
        let ids: BTreeSet<Uuid> = (0..255).map(|number| numbered(first, number)).collect();
        assert_eq!(ids.len(), 255);
    }
}
