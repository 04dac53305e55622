//! Contents of objects: lists of their items, and changes that clients ask for.
//!
//! ```text
//! RequestTaskInventory ─► ReplyTaskInventory: serial number, name of a file ─► RequestXfer ─► the list (`files.rs`)
//! UpdateTaskInventory, RemoveTaskInventory, MoveTaskInventory ─► world ─► Event::Contents ─► ReplyTaskInventory, ObjectProperties
//! UpdateTaskInventory, RezScript: an item of the inventory ─► hub ─► order for the region ─► world ─► the same
//! RezObject: the object of an item ─► likewise; an item that leaves with it is an Event::Contents
//! ```
//!
//! A client shows a change before it is granted. Hence a refused one raises the serial number that it is shown of all objects: it reads contents again.

use super::client_files::OfferedContents;
use super::client_transfers::RequestMark;
use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use super::objects::Found;
use super::outbox::Outbox;
use super::{ClientIndex, Shard};
use crate::coverage::{Feature, MessageOutcome};
use grid::contents::shown_serial;
use grid::inventory::{NewScript, PutRequest, WorldDeed};
use ids::{Instant, LocalId, SessionKey, Uuid, WorldId};
use link::{CircuitKey, ContentsEvent, ContentsOutcome, ItemEdit, ObjectCommand, Offer};
use prim::{Mask, Permissions, receiver_flags};
use std::sync::Arc;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, from_wire, to_wire};

/// `Key` of UpdateTaskInventory: the item is named by its id, not by its asset's.
const KEY_ITEM: u8 = 0;

impl Shard {
    pub(super) fn on_task_inventory(&mut self, at: &mut Incoming<'_>, m: RequestTaskInventory) -> Handled {
        let id = m.inventory_data.local_id;
        if self.send_contents(at, id) {
            return Ok(MessageOutcome::Done);
        }
        self.show_again(at, [id].into_iter());
        Ok(self.refuse_feature(at, Feature::UnknownObject))
    }

    /// Sends the serial number of an object's contents, and the name of the file with them; none for an empty object. False, and nothing is sent, without
    /// such an object.
    fn send_contents(&mut self, at: &mut Incoming<'_>, id: u32) -> bool {
        let (task_id, contents) = match self.find(at, id) {
            Found::Static(_, object) => (object, None),
            Found::Prim(object) => (object, self.contents_of(at, LocalId(id))),
            Found::Avatar | Found::Nothing => return false,
        };
        let serial = contents.as_ref().map_or(0, |offered| shown_serial(offered.contents.serial));
        // An empty field, without a NUL, is the sign that there is no file.
        let filename = match contents.filter(|offered| offered.n_items() > 0) {
            Some(offered) => to_wire(&self.offer_contents(at.index, offered), VARIABLE1_MAX),
            None => Vec::new(),
        };
        let inventory_data = ReplyTaskInventoryInventoryData { task_id, serial, filename };
        self.reply(at, ReplyTaskInventory { inventory_data });
        true
    }

    /// Contents of a prim, if it has or had any, as the client may read them.
    fn contents_of(&mut self, at: &Incoming<'_>, id: LocalId) -> Option<OfferedContents> {
        let client = self.client(at.index);
        let agent = client.ticket.agent;
        let replica = client.place.scene.feed.current();
        let entry = replica.objects().get(id)?;
        let contents = Arc::clone(entry.body.contents.as_ref()?);
        let may_modify = entry.flags_for(agent) & receiver_flags::MODIFY != 0;
        Some(OfferedContents { object: entry.body.id, contents, may_modify })
    }

    /// Lets a client read contents under a name that is not to be guessed.
    fn offer_contents(&mut self, index: ClientIndex, offered: OfferedContents) -> String {
        let [key, other_key] = self.config.hash_keys;
        let client = self.client(index);
        let SessionKey(session) = client.session();
        let files = &mut client.files;
        let (high, low) = offered.object.as_u64_pair();
        // Other names in each session, of equal numbers too.
        let number = state_hash::mix(files.n_offered() ^ state_hash::mix(session ^ key));
        let id = [high ^ number, low ^ number ^ other_key].map(state_hash::mix);
        let id = Uuid::from_u64_pair(id[0], id[1]);
        let name = format!("inventory_{id}.tmp");
        files.offer(name.clone(), offered);
        name
    }

    /// Changes name, description, masks and offer of an item that is in a prim. Any other item is to come out of the inventory.
    pub(super) fn on_update_task_inventory(
        &mut self,
        at: &mut Incoming<'_>,
        m: UpdateTaskInventory,
    ) -> Handled {
        let UpdateTaskInventoryUpdateData { local_id: id, key } = m.update_data;
        let row = m.inventory_data;
        let Found::Prim(object) = self.find(at, id) else {
            return self.refuse_contents_of(at, Feature::Building, id);
        };
        if key != KEY_ITEM {
            self.raise_contents_serial(at.index);
            let outcome = self.refuse_feature(at, Feature::Method);
            self.send_contents(at, id);
            return Ok(outcome);
        }
        let held = self.contents_of(at, LocalId(id));
        let is_inside = held.is_some_and(|held| held.contents.item(row.item_id).is_some());
        if !is_inside {
            return self.put_item(at, row.transaction_id, (object, row.item_id), false);
        }
        let edit = ItemEdit {
            item: row.item_id,
            name: from_wire(&row.name),
            description: from_wire(&row.description),
            masks: Permissions {
                base: Mask::of_bits(row.base_mask),
                owner: Mask::of_bits(row.owner_mask),
                group: Mask::of_bits(row.group_mask),
                everyone: Mask::of_bits(row.everyone_mask),
                next_owner: Mask::of_bits(row.next_owner_mask),
            },
            offer: Offer { kind: row.sale_type, price: row.sale_price },
        };
        self.edit(at, ObjectCommand::EditItem(LocalId(id), Box::new(edit)))
    }

    /// Puts an item of the inventory into a prim, which only a script may be for some requests.
    fn put_item(
        &mut self,
        at: &mut Incoming<'_>,
        transaction: Uuid,
        (object, item): (Uuid, Uuid),
        is_script: bool,
    ) -> Handled {
        let content = [object, item].map(|id| <[u64; 2]>::from(id.as_u64_pair()));
        let request = RequestMark::of(transaction, content.into_iter().flatten());
        if self.client(at.index).transfers.is_repeated(at.now, request) {
            return Ok(MessageOutcome::Ignored);
        }
        let id = self.transferred_id(at.index);
        let outcome = self.order_in_world(at, WorldDeed::Put(PutRequest { object, item, id, is_script }))?;
        // A request that is refused here is refused again.
        if outcome == MessageOutcome::Done {
            self.client(at.index).transfers.note_request(at.now, request);
        }
        Ok(outcome)
    }

    /// Puts a script of the inventory into a prim, or a new one.
    pub(super) fn on_rez_script(&mut self, at: &mut Incoming<'_>, m: RezScript) -> Handled {
        let row = m.inventory_block;
        let id = m.update_block.object_local_id;
        let Found::Prim(object) = self.find(at, id) else {
            return self.refuse_contents_of(at, Feature::Building, id);
        };
        if !row.item_id.is_nil() {
            return self.put_item(at, row.transaction_id, (object, row.item_id), true);
        }
        let new = NewScript {
            object,
            id: self.transferred_id(at.index),
            name: from_wire(&row.name),
            description: from_wire(&row.description),
            masks: [row.group_mask, row.everyone_mask, row.next_owner_mask],
        };
        self.order_in_world(at, WorldDeed::NewScript(new))
    }

    /// Takes an item out of a prim into the inventory. It comes once it is on the disk.
    pub(super) fn on_move_task_inventory(&mut self, at: &mut Incoming<'_>, m: MoveTaskInventory) -> Handled {
        let MoveTaskInventoryInventoryData { local_id: id, item_id: item } = m.inventory_data;
        if !matches!(self.find(at, id), Found::Prim(_)) {
            return self.refuse_contents_of(at, Feature::Building, id);
        }
        let folder = m.agent_data.folder_id;
        self.edit(at, ObjectCommand::TakeItem { object: LocalId(id), item, folder })
    }

    pub(super) fn on_remove_task_inventory(
        &mut self,
        at: &mut Incoming<'_>,
        m: RemoveTaskInventory,
    ) -> Handled {
        let RemoveTaskInventoryInventoryData { local_id: id, item_id } = m.inventory_data;
        if !matches!(self.find(at, id), Found::Prim(_)) {
            return self.refuse_contents_of(at, Feature::Building, id);
        }
        self.edit(at, ObjectCommand::RemoveItem(LocalId(id), item_id))
    }

    /// A world has carried out or refused a change of contents. The notice on a refusal has an event of its own.
    pub(super) fn on_contents(
        &mut self,
        now: Instant,
        world: WorldId,
        event: &ContentsEvent,
        out: &mut Outbox,
    ) {
        let Some(index) = self.in_world(event.session, world) else { return };
        match event.outcome {
            // The item goes elsewhere, by other messages.
            ContentsOutcome::Read(_) => return,
            ContentsOutcome::Refused(_) => self.raise_contents_serial(index),
            ContentsOutcome::Put(_)
            | ContentsOutcome::Edited(_)
            | ContentsOutcome::Removed(_)
            | ContentsOutcome::Taken(_) => {}
        }
        self.show_contents(&mut Incoming { now, index, name: None, out }, event.id.0);
    }

    /// An item has not come into a prim, or its object not out of it.
    pub(super) fn on_not_put(&mut self, now: Instant, circuit: CircuitKey, object: Uuid, out: &mut Outbox) {
        let Some(&index) = self.by_circuit.get(&circuit) else { return };
        self.show_contents_of(&mut Incoming { now, index, name: None, out }, object);
    }

    /// Has a client read the contents of an object again, of which it shows a change that is not made. The object may be gone.
    pub(super) fn show_contents_of(&mut self, at: &mut Incoming<'_>, object: Uuid) {
        self.raise_contents_serial(at.index);
        let id = self.client(at.index).place.scene.feed.current().objects().of_id(object);
        if let Some(LocalId(id)) = id {
            self.show_contents(at, id);
        }
    }

    /// Sends the serial number of an object's contents, in both ways that clients read. The object may be gone.
    fn show_contents(&mut self, at: &mut Incoming<'_>, id: u32) {
        if self.send_contents(at, id) && self.send_properties(at, std::iter::once(id)).is_err() {
            self.counters.refuse(Refused::Flood);
        }
    }

    /// Refuses a change of the contents of an object that is none of prims. The client gets a notice and the object as it is, and reads contents again.
    fn refuse_contents_of(&mut self, at: &mut Incoming<'_>, feature: Feature, id: u32) -> Handled {
        self.raise_contents_serial(at.index);
        self.refuse_edit(at, feature, std::iter::once(id))
    }

    fn raise_contents_serial(&mut self, index: ClientIndex) {
        let serial = &mut self.client(index).contents_serial;
        *serial = serial.wrapping_add(1).max(0);
    }
}
