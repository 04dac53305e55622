//! Objects that the client's avatar wears, as items of its user's inventory.
//!
//! ```text
//! by an item ─► WearRequest ─► inventory thread ─► wardrobe ─► world       by a local id ─► ObjectCommand ─► world
//! ```
//!
//! The world shows an object that is put on, with the item in its name value. Of an item that a client names, id and point are read and nothing else. An item
//! that is worn already is shown again: the client may have lost it.

use super::counters::Refused;
use super::editing::without_prims;
use super::hearing::circuits_of;
use super::incoming::{Handled, Incoming};
use super::notices::NoticeKind;
use super::outbox::Outbox;
use super::{ClientIndex, Shard};
use crate::coverage::{Feature, MessageOutcome};
use crate::mail::Request;
use grid::inventory::{PutOnRequest, WearItem, WearRequest};
use ids::{AgentId, Instant, LocalId, Uuid, WorldId};
use link::{ATTACHMENT_POINT_ADDS, ATTACHMENT_POINT_DEFAULT, EditRefusal, ObjectCommand, WornItems};
use std::collections::{BTreeMap, BTreeSet};
use wire::messages::*;

impl Shard {
    pub(super) fn on_wear_item(&mut self, at: &mut Incoming<'_>, m: RezSingleAttachmentFromInv) -> Handled {
        let row = m.object_data;
        self.put_on(at, vec![WearItem { item: row.item_id, point: row.attachment_pt }], None)
    }

    pub(super) fn on_wear_items(
        &mut self,
        at: &mut Incoming<'_>,
        m: RezMultipleAttachmentsFromInv,
    ) -> Handled {
        let rows = m.object_data.iter();
        let items: Vec<WearItem> =
            rows.map(|row| WearItem { item: row.item_id, point: row.attachment_pt }).collect();
        if items.is_empty() && !m.header_data.first_detach_all {
            return Ok(MessageOutcome::Ignored);
        }
        // Items of earlier messages of the same outfit stay.
        let outfit = &mut self.client(at.index).outfit;
        let all = outfit.add(m.header_data.compound_msg_id, items.iter().map(|item| item.item));
        self.put_on(at, items, m.header_data.first_detach_all.then_some(all))
    }

    pub(super) fn on_take_off_item(&mut self, at: &mut Incoming<'_>, m: DetachAttachmentIntoInv) -> Handled {
        let row = m.object_data;
        if row.agent_id != self.client(at.index).ticket.agent.0 {
            return Err(Refused::WrongSession.into());
        }
        self.take_item_off(at, row.item_id)
    }

    pub(super) fn on_remove_attachment(&mut self, at: &mut Incoming<'_>, m: RemoveAttachment) -> Handled {
        self.take_item_off(at, m.attachment_block.item_id)
    }

    pub(super) fn on_object_detach(&mut self, at: &mut Incoming<'_>, m: ObjectDetach) -> Handled {
        self.edit_ids(at, m.object_data, |row| row.object_local_id, ObjectCommand::TakeOff)
    }

    pub(super) fn on_object_drop(&mut self, at: &mut Incoming<'_>, m: ObjectDrop) -> Handled {
        self.edit_ids(at, m.object_data, |row| row.object_local_id, ObjectCommand::PutDown)
    }

    /// Wears objects that lie in the region, as many as the avatar may wear. Those that they replace at their point do not count.
    pub(super) fn on_object_attach(&mut self, at: &mut Incoming<'_>, m: ObjectAttach) -> Handled {
        let (point, max) = (m.agent_data.attachment_point, self.config.attachments_max);
        let replaced_at = match point & !ATTACHMENT_POINT_ADDS {
            0 => ATTACHMENT_POINT_DEFAULT,
            point => point,
        };
        let replaces = point & ATTACHMENT_POINT_ADDS == 0;
        let worn = self.worn_roots(at.index);
        let n_left = worn.values().filter(|worn| !replaces || worn.point != replaced_at).count();
        if !m.object_data.is_empty() && n_left + m.object_data.len() > max as usize {
            self.notify(at.now, at.index, NoticeKind::WornFull(max), at.out);
            return Ok(without_prims(m.object_data.len()));
        }
        self.edit_rows(at, m.object_data, |row| row.object_local_id, |_| point, ObjectCommand::Attach)
    }

    /// A world has not let an avatar wear an item. It stays worn elsewhere, but for the user to see.
    pub(super) fn on_wear_refused(
        &mut self,
        now: Instant,
        world: WorldId,
        owner: AgentId,
        reason: EditRefusal,
        out: &mut Outbox,
    ) {
        // Of an avatar that has left.
        if reason == EditRefusal::NoOwner {
            return;
        }
        let here: Vec<ClientIndex> =
            self.by_world.range(circuits_of(world)).map(|(_, &index)| index).collect();
        for index in here {
            if self.client(index).ticket.agent == owner && self.client(index).has_avatar() {
                self.notify(now, index, NoticeKind::Edit(reason), out);
            }
        }
    }

    fn put_on(
        &mut self,
        at: &mut Incoming<'_>,
        items: Vec<WearItem>,
        takes_off_but: Option<Vec<Uuid>>,
    ) -> Handled {
        let client = self.client(at.index);
        if !client.has_avatar() {
            return Ok(self.refuse_without_avatar(at));
        }
        if !client.place.scene.is_shared {
            return Ok(self.refuse_feature(at, Feature::InventoryObjects));
        }
        let session = client.session();
        let shown = self.prims_worn_as(at.index, &items);
        self.show_again(at, shown.into_iter());
        let (max, at_us) = (self.config.attachments_max, self.unix_us(at.now).cast_signed());
        let request = PutOnRequest { session, items, takes_off_but, max, at_us };
        self.request(at, Request::Inventory(Box::new(WearRequest::PutOn(request).into())))
    }

    fn take_item_off(&mut self, at: &mut Incoming<'_>, item: Uuid) -> Handled {
        if item.is_nil() {
            return Ok(MessageOutcome::Ignored);
        }
        let request = WearRequest::TakeOff(WornItems::These(vec![item]));
        self.request(at, Request::Inventory(Box::new(request.into())))
    }

    /// Roots of the linksets that the client's avatar wears.
    fn worn_roots(&mut self, index: ClientIndex) -> BTreeMap<LocalId, WornRoot> {
        let client = self.client(index);
        let replica = client.place.scene.feed.current();
        let Some(slot) = replica.of_session(client.session()) else { return BTreeMap::new() };
        let own = LocalId(replica.hot()[slot as usize].id);
        let objects = replica.objects();
        let roots = objects.worn_by(own).filter_map(|id| {
            let entry = objects.get(id).filter(|entry| entry.prim.parent == own)?;
            Some((id, WornRoot { item: entry.body.worn_item, point: entry.body.attachment_point() }))
        });
        roots.collect()
    }

    /// Prims of the linksets that the client's avatar wears as one of these items.
    fn prims_worn_as(&mut self, index: ClientIndex, items: &[WearItem]) -> Vec<u32> {
        let items: BTreeSet<Uuid> = items.iter().map(|wanted| wanted.item).collect();
        let mut roots = self.worn_roots(index);
        roots.retain(|_, root| root.item.is_some_and(|item| items.contains(&item)));
        if roots.is_empty() {
            return Vec::new();
        }
        let client = self.client(index);
        let replica = client.place.scene.feed.current();
        let Some(slot) = replica.of_session(client.session()) else { return Vec::new() };
        let objects = replica.objects();
        let is_meant = |id: &LocalId| {
            let is_part = |parent| roots.contains_key(&parent);
            roots.contains_key(id) || objects.get(*id).is_some_and(|entry| is_part(entry.prim.parent))
        };
        let worn = objects.worn_by(LocalId(replica.hot()[slot as usize].id));
        worn.filter(is_meant).map(|id| id.0).collect()
    }
}

/// A linkset that an avatar wears.
struct WornRoot {
    item: Option<Uuid>,
    point: u8,
}
