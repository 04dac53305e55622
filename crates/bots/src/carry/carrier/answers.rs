//! Answers of the server in messages, and what the scene shows.

use super::holding::{HeldAt, Holding, Lookup, LookupPurpose, Wait};
use super::{Carrier, ROWS_MAX, SAVED_AFTER};
use crate::carry::cargo::{CargoKey, CargoPlace, CargoTag, ContentHash};
use crate::carry::item_row::{COPY, ItemRow, MODIFY, MOVE, TRANSFER};
use crate::carry::record::{CarryEvent, DeedKind};
use crate::carry::requests::{
    GIFT_ACCEPTED, GIFT_DECLINED, GIFT_OFFERED, confirmed_part, file_part, item_of_bucket,
};
use crate::prims::SeenPrim;
use glam::Vec3;
use ids::{Instant, LocalId, Uuid};
use std::time::Duration;
use wire::Malformed;
use wire::messages::*;
use wire::text::from_wire;

/// Update flag: the client's user owns the object.
const YOU_OWNER: u32 = 1 << 5;
/// Metres by which an object may be displayed beside its place.
const TOLERANCE_M: f32 = 0.005;
/// Time between two requests for the name of a new prim.
const SELECT_PERIOD: Duration = Duration::from_millis(500);
/// Share of offers that are declined.
const DECLINED: f64 = 0.2;

impl Carrier {
    /// Takes in a message; others are left alone.
    ///
    /// # Errors
    /// Those of its decoder.
    pub fn on_message(&mut self, now: Instant, number: MessageNumber, body: &[u8]) -> Result<(), Malformed> {
        match number {
            UpdateCreateInventoryItem::NUMBER => {
                for row in UpdateCreateInventoryItem::decode(body)?.inventory_data {
                    self.on_made(now, ItemRow::of_made(&row), row.callback_id);
                }
            }
            BulkUpdateInventory::NUMBER => {
                for row in BulkUpdateInventory::decode(body)?.item_data {
                    self.on_bulk(now, ItemRow::of_bulk(&row), row.callback_id);
                }
            }
            RemoveInventoryItem::NUMBER => {
                for row in RemoveInventoryItem::decode(body)?.inventory_data {
                    self.on_removed(now, row.item_id);
                }
            }
            ImprovedInstantMessage::NUMBER => {
                self.on_instant_message(now, ImprovedInstantMessage::decode(body)?)
            }
            DeRezAck::NUMBER => {
                let DeRezAckTransactionData { transaction_id, success } =
                    DeRezAck::decode(body)?.transaction_data;
                if !success {
                    let is_it = |wait: &Wait| matches!(wait, Wait::Taken(id) if *id == transaction_id);
                    self.find(is_it).into_iter().for_each(|number| self.refuse(number));
                }
            }
            RequestXfer::NUMBER => self.on_file_wanted(&RequestXfer::decode(body)?.xfer_id),
            ConfirmXferPacket::NUMBER => self.on_part_taken(&ConfirmXferPacket::decode(body)?.xfer_id),
            AssetUploadComplete::NUMBER => {
                let block = AssetUploadComplete::decode(body)?.asset_block;
                self.on_asset_taken(block.uuid, block.success);
            }
            ObjectProperties::NUMBER => {
                for row in ObjectProperties::decode(body)?.object_data {
                    self.on_name(now, row.object_id, &from_wire(&row.name));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The request with such a wait.
    pub(super) fn find(&self, is_it: impl Fn(&Wait) -> bool) -> Option<u64> {
        self.errands.iter().find(|(_, errand)| is_it(&errand.wait)).map(|(number, _)| *number)
    }

    /// Takes in a row of UpdateCreateInventoryItem: the answer to a callback, an item that a transfer has brought, or other properties of a known one.
    fn on_made(&mut self, now: Instant, row: ItemRow, callback: u32) {
        if callback != 0 {
            return self.on_callback(now, row, callback);
        }
        let Some(row) = self.update_known(row) else { return };
        let Some(tag) = CargoTag::of_name(&row.name) else { return };
        let key = CargoKey { tag, is_unique: row.masks.is_unique() };
        let is_taken = |wait: &Wait| matches!(wait, Wait::Taken(_));
        let taken = self.errands.iter().find(|(_, errand)| errand.key == key && is_taken(&errand.wait));
        if let Some(number) = taken.map(|(number, _)| *number) {
            self.on_taken(now, number, row);
        }
    }

    /// Takes in a row of BulkUpdateInventory: a copy, a gift whose offer follows, or other properties of a known item.
    fn on_bulk(&mut self, now: Instant, row: ItemRow, callback: u32) {
        if callback != 0 {
            return self.on_callback(now, row, callback);
        }
        if let Some(row) = self.update_known(row) {
            self.keep_row(row);
        }
    }

    /// Takes other properties of a known item; gives the row of another one back.
    fn update_known(&mut self, row: ItemRow) -> Option<ItemRow> {
        let mut items = self.holdings.values_mut();
        match items.find(|held| held.item().is_some_and(|own| own.id == row.id)) {
            Some(held) => {
                held.at = HeldAt::Item(row);
                None
            }
            None => Some(row),
        }
    }

    /// Keeps a row for the offer that names it.
    fn keep_row(&mut self, row: ItemRow) {
        if self.rows.len() >= ROWS_MAX {
            self.rows.pop_first();
        }
        self.rows.insert(row.id, row);
    }

    fn on_callback(&mut self, now: Instant, row: ItemRow, callback: u32) {
        let is_it = |wait: &Wait| match wait {
            Wait::Row(awaited) => *awaited == callback,
            Wait::Legacy(upload) => upload.callback == callback,
            _ => false,
        };
        let Some(number) = self.find(is_it) else { return };
        if row.id.is_nil() {
            return self.refuse(number);
        }
        let errand = &self.errands[&number];
        let asset = match &errand.wait {
            Wait::Legacy(upload) => Some((upload.asset, upload.content.asset_type)),
            _ => None,
        };
        let (key, content, holding) = (errand.key, errand.expected.content, errand.holding);
        self.finish(now, number, Some(self.item_place(row.id)), asset);
        self.set_item(holding, key, row, content);
    }

    pub(super) const fn item_place(&self, item: Uuid) -> CargoPlace {
        CargoPlace::Item { owner: self.setup.bot, item }
    }

    /// The bot has an item now: a known thing, or another one.
    pub(super) fn set_item(
        &mut self,
        holding: Option<u64>,
        key: CargoKey,
        row: ItemRow,
        content: Option<ContentHash>,
    ) {
        match holding.and_then(|id| self.holdings.get_mut(&id)) {
            Some(held) => held.at = HeldAt::Item(row),
            None => {
                self.hold(Holding::new(key, HeldAt::Item(row), content));
            }
        }
    }

    /// An object has come out of the world, or an item out of a prim, in which a copy stays.
    fn on_taken(&mut self, now: Instant, number: u64, row: ItemRow) {
        let errand = &self.errands[&number];
        let (key, kind, holding, content) =
            (errand.key, errand.kind, errand.holding, errand.expected.content);
        self.finish(now, number, Some(self.item_place(row.id)), None);
        let stays = kind == DeedKind::TakeOut && !key.is_unique;
        self.set_item(holding.filter(|_| !stays), key, row, content);
    }

    /// An item has left the inventory.
    fn on_removed(&mut self, now: Instant, item: Uuid) {
        let is_gift =
            |wait: &Wait| matches!(wait, Wait::Gift { item: given, leaves: true, .. } if *given == item);
        if let Some(number) = self.find(is_gift) {
            return self.end_gift(now, number);
        }
        let holding = self.holdings.iter().find(|(_, held)| held.item().is_some_and(|row| row.id == item));
        let Some(holding) = holding.map(|(id, _)| *id) else { return };
        let errand = self.errands.iter_mut().find(|(_, errand)| errand.holding == Some(holding));
        let Some((&number, errand)) = errand else { return };
        match &mut errand.wait {
            Wait::Shown { is_removed, .. } => {
                *is_removed = true;
                self.end_rez(now, number);
            }
            Wait::Put { read_at, .. } => *read_at = Some(now),
            _ => {}
        }
    }

    /// Ends a gift on its giver's side; the receiver records it.
    fn end_gift(&mut self, now: Instant, number: u64) {
        let Some(errand) = self.errands.remove(&number) else { return };
        self.count_done(now, &errand);
        if matches!(errand.wait, Wait::Gift { leaves: true, .. }) {
            if let Some(id) = errand.holding {
                self.holdings.remove(&id);
            }
        } else {
            self.release(errand.holding);
        }
    }

    fn on_instant_message(&mut self, now: Instant, message: ImprovedInstantMessage) {
        let block = message.message_block;
        match block.dialog {
            GIFT_OFFERED => {
                let (from, name) = (message.agent_data.agent_id, from_wire(&block.message));
                let Some(item) = item_of_bucket(&block.binary_bucket) else { return };
                if CargoTag::of_name(&name).is_some() {
                    self.on_offer(from, block.id, item);
                }
            }
            GIFT_ACCEPTED | GIFT_DECLINED => {
                let is_it = |wait: &Wait| matches!(wait, Wait::Gift { transaction, leaves: false, .. } if *transaction == block.id);
                if let Some(number) = self.find(is_it) {
                    self.end_gift(now, number);
                }
            }
            _ => {}
        }
    }

    /// A gift is in the inventory since it was offered. The answer moves it to a folder, or into the trash.
    fn on_offer(&mut self, from: Uuid, offer: Uuid, item: Uuid) {
        let is_declined = self.rng.unit() < DECLINED;
        let (dialog, folder) =
            if is_declined { (GIFT_DECLINED, self.setup.trash) } else { (GIFT_ACCEPTED, self.setup.root) };
        let bucket = folder.as_bytes().to_vec();
        self.messages.push_back(self.setup.ids.gift(dialog, from, offer, "", bucket));
        match self.rows.remove(&item) {
            Some(row) => self.receive(row, is_declined),
            None => self.look_up(Lookup { item, purpose: LookupPurpose::Gift { is_declined } }),
        }
    }

    /// A gift whose row is known. Its folder is that of the bot's answer, as soon as the server has it.
    pub(super) fn receive(&mut self, row: ItemRow, is_declined: bool) {
        let Some(tag) = CargoTag::of_name(&row.name) else { return };
        let key = CargoKey { tag, is_unique: row.masks.is_unique() };
        self.events.push_back(CarryEvent::Received { key, item: row.id });
        let folder = if is_declined { self.setup.trash } else { Uuid::nil() };
        self.hold(Holding::new(key, HeldAt::Item(ItemRow { folder, ..row }), None));
    }

    fn on_file_wanted(&mut self, wanted: &RequestXferXferID) {
        let is_it = |wait: &Wait| matches!(wait, Wait::Legacy(upload) if upload.asset == wanted.v_file_id);
        let Some(errand) = self.find(is_it).and_then(|number| self.errands.get_mut(&number)) else { return };
        let Wait::Legacy(upload) = &mut errand.wait else { return };
        upload.xfer = Some(wanted.id);
        self.messages.extend(file_part(wanted.id, 0, &upload.content.bytes));
    }

    fn on_part_taken(&mut self, confirmed: &ConfirmXferPacketXferID) {
        let is_it = |wait: &Wait| matches!(wait, Wait::Legacy(upload) if upload.xfer == Some(confirmed.id));
        let Some(Wait::Legacy(upload)) = self.find(is_it).map(|number| &self.errands[&number].wait) else {
            return;
        };
        let next = confirmed_part(confirmed.packet) + 1;
        self.messages.extend(file_part(confirmed.id, next, &upload.content.bytes));
    }

    /// The server has a legacy asset, or refuses it.
    fn on_asset_taken(&mut self, asset: Uuid, is_taken: bool) {
        let is_it = |wait: &Wait| matches!(wait, Wait::Legacy(upload) if upload.asset == asset);
        let Some(number) = self.find(is_it) else { return };
        if !is_taken {
            return self.refuse(number);
        }
        let Some(Wait::Legacy(upload)) = self.errands.get_mut(&number).map(|errand| &mut errand.wait) else {
            return;
        };
        if !std::mem::replace(&mut upload.is_created, true) {
            let upload = upload.clone();
            self.create_uploaded(&upload);
        }
    }

    /// Takes in a prim as it is displayed. `avatar` is the bot's own.
    pub fn on_prim(&mut self, now: Instant, id: LocalId, prim: &SeenPrim, avatar: Option<LocalId>) {
        if prim.update_flags & YOU_OWNER == 0 {
            return;
        }
        if prim.parent != LocalId(0) {
            if Some(prim.parent) == avatar && self.attached.insert(id) {
                self.on_worn(now, id);
            }
            return;
        }
        let is_here = |wait: &Wait| match wait {
            Wait::Built { position, scale, .. } => {
                prim.position.abs_diff_eq(*position, TOLERANCE_M)
                    && prim.scale.abs_diff_eq(*scale, TOLERANCE_M)
            }
            Wait::Shown { position, shown: None, .. } => is_above(prim.position, *position),
            _ => false,
        };
        let Some(number) = self.find(is_here) else { return };
        let Some(errand) = self.errands.get_mut(&number) else { return };
        match &mut errand.wait {
            Wait::Built { becomes_unique, .. } => {
                let (becomes_unique, name) = (*becomes_unique, errand.key.tag.name(0));
                let select_at = now + SELECT_PERIOD;
                errand.wait = Wait::Named { id: prim.id, local: id, saved_at: None, select_at };
                let rights = MOVE | MODIFY | TRANSFER;
                self.messages.push_back(self.setup.ids.name_object(id, &name));
                self.messages.push_back(self.setup.ids.set_next_owner(id, rights, true));
                self.messages.push_back(self.setup.ids.set_next_owner(id, COPY, !becomes_unique));
                self.messages.push_back(self.setup.ids.select(&[id]));
            }
            Wait::Shown { shown, saved_at, .. } => {
                *shown = Some((prim.id, id));
                // The removal of its item says that an object is saved of which there is no other one.
                *saved_at = (!errand.key.is_unique).then_some(now + SAVED_AFTER);
                self.end_rez(now, number);
            }
            _ => {}
        }
    }

    /// Takes in a removal from the scene.
    pub fn on_kill(&mut self, now: Instant, id: LocalId) {
        if !self.attached.remove(&id) {
            return;
        }
        if let Some(number) = self.find(|wait| matches!(wait, Wait::Gone(worn) if *worn == id)) {
            self.worn = None;
            self.finish(now, number, None, None);
        }
    }

    fn on_worn(&mut self, now: Instant, id: LocalId) {
        let Some(number) = self.find(|wait| matches!(wait, Wait::Worn)) else { return };
        let holding = self.errands[&number].holding;
        self.finish(now, number, None, None);
        // It stays busy until it is taken off.
        if let Some(held) = holding.and_then(|id| self.holdings.get_mut(&id)) {
            held.is_busy = true;
        }
        self.worn = holding.map(|holding| (holding, id));
    }

    /// The name of an object is known.
    fn on_name(&mut self, now: Instant, object: Uuid, name: &str) {
        let is_it = |wait: &Wait| matches!(wait, Wait::Named { id, .. } if *id == object);
        let Some(errand) = self.find(is_it).and_then(|number| self.errands.get_mut(&number)) else { return };
        let is_named = CargoTag::of_name(name) == Some(errand.key.tag);
        if let Wait::Named { saved_at, .. } = &mut errand.wait
            && is_named
        {
            saved_at.get_or_insert(now + SAVED_AFTER);
        }
    }

    /// Ends a rez, if the object is displayed and the item is gone: of an item that may be copied when the object is saved, of another one at once.
    pub(super) fn end_rez(&mut self, now: Instant, number: u64) {
        let Some(errand) = self.errands.get(&number) else { return };
        let Wait::Shown { shown: Some((id, local)), is_removed: true, saved_at, .. } = errand.wait else {
            return;
        };
        let (key, holding) = (errand.key, errand.holding);
        let is_saved = saved_at.is_some_and(|at| at <= now);
        if !key.is_unique && !is_saved {
            return;
        }
        self.finish(now, number, Some(CargoPlace::Object(id)), None);
        let Some(held) = holding.and_then(|id| self.holdings.get_mut(&id)) else { return };
        let at = HeldAt::Object { id, local };
        if key.is_unique {
            held.at = at;
        } else {
            self.hold(Holding::new(key, at, None));
        }
    }

    /// Ends a new prim that is saved.
    pub(super) fn end_build(&mut self, now: Instant, number: u64) {
        let Some(errand) = self.errands.get(&number) else { return };
        let Wait::Named { id, local, .. } = errand.wait else { return };
        let key = errand.key;
        self.finish(now, number, Some(CargoPlace::Object(id)), None);
        if key.tag.is_chest() {
            self.chest = Some((id, local));
        } else {
            self.hold(Holding::new(key, HeldAt::Object { id, local }, None));
        }
    }
}

/// True for two places above each other: an object may be put higher than was asked for.
fn is_above(shown: Vec3, asked: Vec3) -> bool {
    (shown - asked).truncate().abs().max_element() <= TOLERANCE_M
}
