//! A server for tests of carrying bots: inventories, one region and assets in memory, all of it carried out at once.

use super::calls::{CallAnswer, CallBody, CallTarget, HttpCall};
use super::census::{Belongings, ContentRow, FolderRow, ObjectRow};
use super::content::hash_of;
use super::item_row::{ItemMasks, ItemRow, NOTECARD, OBJECT, SCRIPT, TEXTURE};
use super::requests::{
    GIFT_ACCEPTED, GIFT_DECLINED, GIFT_OFFERED, TO_TRASH, gift_bucket, item_of_bucket, legacy_asset_id,
};
use crate::prims::SeenPrim;
use glam::Vec3;
use ids::{Instant, LocalId, Uuid};
use std::collections::BTreeMap;
use wire::llsd::{Llsd, xml};
use wire::messages::*;
use wire::text::{CHAT_MAX, VARIABLE1_MAX, from_wire, to_wire};

const ALL: u32 = 0x7FFF_FFFF;
const YOU_OWNER: u32 = 1 << 5;

/// Number of the avatar of a bot in the region.
pub(super) const fn avatar_of(bot: u32) -> LocalId {
    LocalId(1 + bot)
}

pub(super) const fn agent_of(bot: u32) -> Uuid {
    Uuid::from_u128(0xA0 + bot as u128)
}

pub(super) const fn root_of(bot: u32) -> Uuid {
    Uuid::from_u128(0xB0 + bot as u128)
}

pub(super) const fn trash_of(bot: u32) -> Uuid {
    Uuid::from_u128(0xC0 + bot as u128)
}

pub(super) const SECURE_SESSION: Uuid = Uuid::from_u128(0xD0);

/// An event for a bot.
#[expect(clippy::large_enum_variant, reason = "nearly all events are messages")]
#[derive(Clone, Debug)]
pub(super) enum ToBot {
    Message(Message),
    Prim(LocalId, SeenPrim),
    Kill(LocalId),
}

#[derive(Clone, Debug)]
pub(super) struct ModelObject {
    pub(super) owner: u32,
    pub(super) id: Uuid,
    pub(super) position: Vec3,
    pub(super) row: ItemRow,
    worn_item: Option<Uuid>,
    pub(super) contents: Vec<ItemRow>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ModelServer {
    /// By owner and id.
    pub(super) items: BTreeMap<(u32, Uuid), ItemRow>,
    pub(super) folders: BTreeMap<(u32, Uuid), FolderRow>,
    pub(super) objects: BTreeMap<LocalId, ModelObject>,
    pub(super) assets: BTreeMap<Uuid, Vec<u8>>,
    /// Uploads that have begun, by their address.
    uploads: BTreeMap<String, ItemRow>,
    files: BTreeMap<u64, (Uuid, Vec<u8>)>,
    /// Offers by id: the giver, and the giver's transaction.
    offers: BTreeMap<Uuid, (u32, Uuid)>,
    n_ids: u128,
    pub(super) out: Vec<(u32, ToBot)>,
}

/// An item in a message. Rows of an answer and of an unrequested change differ only in their type.
macro_rules! item_data {
    ($Data:ident, $bot:expr, $row:expr, $callback_id:expr) => {
        $Data {
            item_id: $row.id,
            folder_id: $row.folder,
            callback_id: $callback_id,
            creator_id: $row.creator,
            owner_id: agent_of($bot),
            base_mask: $row.masks.base,
            owner_mask: $row.masks.owner,
            next_owner_mask: $row.masks.next_owner,
            asset_id: $row.asset,
            r#type: $row.asset_type,
            inv_type: $row.inventory_type,
            flags: $row.flags,
            name: to_wire(&$row.name, VARIABLE1_MAX),
            description: to_wire(&$row.description, VARIABLE1_MAX),
            ..$Data::default()
        }
    };
}

impl ModelServer {
    fn new_id(&mut self) -> Uuid {
        self.n_ids += 1;
        Uuid::from_u128(0xF000_0000 + self.n_ids)
    }

    fn send(&mut self, bot: u32, message: impl Into<Message>) {
        self.out.push((bot, ToBot::Message(message.into())));
    }

    fn send_row(&mut self, bot: u32, row: &ItemRow, callback_id: u32) {
        let data = item_data!(UpdateCreateInventoryItemInventoryData, bot, row, callback_id);
        self.send(
            bot,
            UpdateCreateInventoryItem { inventory_data: vec![data], ..UpdateCreateInventoryItem::default() },
        );
    }

    /// A row of BulkUpdateInventory: a copy, or a gift.
    fn send_bulk(&mut self, bot: u32, row: &ItemRow, callback_id: u32) {
        let data = item_data!(BulkUpdateInventoryItemData, bot, row, callback_id);
        self.send(bot, BulkUpdateInventory { item_data: vec![data], ..BulkUpdateInventory::default() });
    }

    fn send_removal(&mut self, bot: u32, item: Uuid) {
        let row = RemoveInventoryItemInventoryData { item_id: item };
        self.send(bot, RemoveInventoryItem { inventory_data: vec![row], ..RemoveInventoryItem::default() });
    }

    fn new_item(&mut self, bot: u32, folder: Uuid, name: String, asset_type: i8, next_owner: u32) -> ItemRow {
        ItemRow {
            id: self.new_id(),
            folder,
            asset: Uuid::nil(),
            asset_type,
            inventory_type: asset_type,
            name,
            creator: agent_of(bot),
            masks: ItemMasks { base: ALL, owner: ALL, next_owner, ..ItemMasks::default() },
            ..ItemRow::default()
        }
    }

    fn add(&mut self, bot: u32, row: ItemRow) {
        self.items.insert((bot, row.id), row);
    }

    fn show(&mut self, local: LocalId, parent: LocalId) {
        let object = &self.objects[&local];
        let prim = SeenPrim {
            id: object.id,
            crc: 1,
            parent,
            position: object.position,
            scale: Vec3::splat(0.5),
            update_flags: YOU_OWNER,
            textures: 0,
            updated_at: Instant::ZERO,
            form: ObjectUpdate::NUMBER,
        };
        let owner = object.owner;
        self.out.push((owner, ToBot::Prim(local, prim)));
    }

    fn put_object(&mut self, owner: u32, position: Vec3, row: ItemRow, worn_item: Option<Uuid>) -> LocalId {
        let id = self.new_id();
        let local = LocalId(1_000 + self.n_ids as u32);
        self.objects.insert(local, ModelObject { owner, id, position, row, worn_item, contents: Vec::new() });
        local
    }

    fn remove_object(&mut self, local: LocalId) -> Option<ModelObject> {
        let object = self.objects.remove(&local)?;
        self.out.push((object.owner, ToBot::Kill(local)));
        Some(object)
    }

    /// Carries out a message of a bot.
    pub(super) fn on_message(&mut self, bot: u32, message: Message) {
        match message {
            Message::CreateInventoryItem(m) => {
                let block = m.inventory_block;
                let name = from_wire(&block.name);
                let mut row = self.new_item(bot, block.folder_id, name, block.r#type, block.next_owner_mask);
                if !block.transaction_id.is_nil() {
                    row.asset = legacy_asset_id(block.transaction_id, SECURE_SESSION);
                    assert!(self.assets.contains_key(&row.asset), "the file comes first here");
                }
                self.add(bot, row.clone());
                self.send_row(bot, &row, block.callback_id);
            }
            Message::CreateInventoryFolder(m) => {
                self.add_folder(bot, m.folder_data.folder_id, m.folder_data.name)
            }
            Message::CopyInventoryItem(m) => {
                for data in m.inventory_data {
                    let original = &self.items[&(bot, data.old_item_id)];
                    assert!(!original.masks.is_unique(), "the bot asks for no copy of it");
                    let (folder, name) = (data.new_folder_id, from_wire(&data.new_name));
                    let copy = ItemRow { folder, name, ..original.clone() };
                    let copy = ItemRow { id: self.new_id(), ..copy };
                    self.add(bot, copy.clone());
                    self.send_bulk(bot, &copy, data.callback_id);
                }
            }
            Message::UpdateInventoryItem(m) => {
                for data in m.inventory_data {
                    let row = self.items.get_mut(&(bot, data.item_id)).expect("its own");
                    row.name = from_wire(&data.name);
                    let row = row.clone();
                    self.send_row(bot, &row, data.callback_id);
                }
            }
            Message::MoveInventoryItem(m) => {
                for data in m.inventory_data {
                    self.items.get_mut(&(bot, data.item_id)).expect("its own").folder = data.folder_id;
                }
            }
            Message::PurgeInventoryDescendents(m) => {
                let folder = m.inventory_data.folder_id;
                self.items.retain(|(owner, _), row| *owner != bot || row.folder != folder);
            }
            Message::ImprovedInstantMessage(m) => self.on_gift(bot, m.message_block),
            Message::AssetUploadRequest(m) => self.on_upload(bot, m.asset_block),
            Message::SendXferPacket(m) => self.on_part(bot, m),
            Message::DeRezObject(m) => {
                let local = LocalId(m.object_data[0].object_local_id);
                let object = self.remove_object(local).expect("its own");
                let is_trash = m.agent_block.destination == TO_TRASH;
                let folder = if is_trash { trash_of(bot) } else { m.agent_block.destination_id };
                let row = ItemRow { id: self.new_id(), folder, ..object.row };
                self.add(bot, row.clone());
                self.send_row(bot, &row, 0);
            }
            other => self.on_object_message(bot, other),
        }
    }

    fn on_object_message(&mut self, bot: u32, message: Message) {
        match message {
            Message::ObjectAdd(m) => {
                let data = m.object_data;
                let row = self.new_item(bot, Uuid::nil(), "Primitive".to_owned(), OBJECT, 0);
                let asset = self.new_id();
                self.assets.insert(asset, b"<object/>".to_vec());
                let position = data.ray_end + Vec3::Z * (data.scale.z / 2.0);
                let local = self.put_object(bot, position, ItemRow { asset, ..row }, None);
                self.show(local, LocalId(0));
            }
            Message::ObjectName(m) => {
                for data in m.object_data {
                    let object = self.objects.get_mut(&LocalId(data.local_id)).expect("its own");
                    object.row.name = from_wire(&data.name);
                }
            }
            Message::ObjectPermissions(m) => {
                for data in m.object_data {
                    let object = self.objects.get_mut(&LocalId(data.object_local_id)).expect("its own");
                    let next = &mut object.row.masks.next_owner;
                    *next = if data.set != 0 { *next | data.mask } else { *next & !data.mask };
                }
            }
            Message::ObjectSelect(m) => {
                let rows = m.object_data.iter().filter_map(|data| {
                    let object = self.objects.get(&LocalId(data.object_local_id))?;
                    Some(ObjectPropertiesObjectData {
                        object_id: object.id,
                        owner_mask: object.row.masks.owner,
                        name: to_wire(&object.row.name, VARIABLE1_MAX),
                        description: to_wire("", VARIABLE1_MAX),
                        ..ObjectPropertiesObjectData::default()
                    })
                });
                let object_data = rows.collect();
                self.send(bot, ObjectProperties { object_data });
            }
            Message::RezObject(m) => {
                let item = m.inventory_data.item_id;
                let row = self.items[&(bot, item)].clone();
                let is_unique = row.masks.is_unique();
                let local = self.put_object(bot, m.rez_data.ray_end, row, None);
                self.show(local, LocalId(0));
                if is_unique {
                    self.items.remove(&(bot, item));
                    self.send_removal(bot, item);
                }
            }
            Message::RezSingleAttachmentFromInv(m) => {
                let item = m.object_data.item_id;
                let row = self.items[&(bot, item)].clone();
                let local = self.put_object(bot, Vec3::ZERO, row, Some(item));
                self.show(local, avatar_of(bot));
            }
            Message::ObjectDetach(m) => {
                self.remove_object(LocalId(m.object_data[0].object_local_id));
            }
            Message::UpdateTaskInventory(m) => {
                let item = m.inventory_data.item_id;
                let row = self.items[&(bot, item)].clone();
                let is_unique = row.masks.is_unique();
                let id = self.new_id();
                let prim = self.objects.get_mut(&LocalId(m.update_data.local_id)).expect("the chest");
                prim.contents.push(ItemRow { id, folder: prim.id, ..row });
                if is_unique {
                    self.items.remove(&(bot, item));
                    self.send_removal(bot, item);
                }
            }
            Message::MoveTaskInventory(m) => {
                let MoveTaskInventoryInventoryData { local_id, item_id } = m.inventory_data;
                let id = self.new_id();
                let prim = self.objects.get_mut(&LocalId(local_id)).expect("the chest");
                let row = prim.contents.iter().find(|row| row.id == item_id).expect("in it").clone();
                if row.masks.is_unique() {
                    prim.contents.retain(|row| row.id != item_id);
                }
                let row = ItemRow { id, folder: m.agent_data.folder_id, ..row };
                self.add(bot, row.clone());
                self.send_row(bot, &row, 0);
            }
            Message::RemoveTaskInventory(m) => {
                let RemoveTaskInventoryInventoryData { local_id, item_id } = m.inventory_data;
                let prim = self.objects.get_mut(&LocalId(local_id)).expect("the chest");
                prim.contents.retain(|row| row.id != item_id);
            }
            other => panic!("a carrying bot sends no {}", other.schema().name),
        }
    }

    fn add_folder(&mut self, bot: u32, id: Uuid, name: Vec<u8>) {
        let row = FolderRow { id, parent: root_of(bot), name: from_wire(&name) };
        self.folders.insert((bot, id), row);
    }

    fn on_gift(&mut self, bot: u32, block: ImprovedInstantMessageMessageBlock) {
        let from_agent =
            |bot| ImprovedInstantMessageAgentData { agent_id: agent_of(bot), session_id: Uuid::nil() };
        match block.dialog {
            GIFT_OFFERED => {
                let item = item_of_bucket(&block.binary_bucket).expect("an item");
                let to = (0..16).find(|to| agent_of(*to) == block.to_agent_id).expect("a bot");
                let original = self.items[&(bot, item)].clone();
                let rights = original.masks.next_owner & original.masks.base;
                let masks =
                    ItemMasks { base: rights, owner: rights, next_owner: rights, ..ItemMasks::default() };
                let id = self.new_id();
                let given = ItemRow { id, folder: root_of(to), masks, ..original.clone() };
                if original.masks.is_unique() {
                    self.items.remove(&(bot, item));
                    self.send_removal(bot, item);
                }
                self.offers.insert(id, (bot, block.id));
                self.add(to, given.clone());
                self.send_bulk(to, &given, 0);
                let message_block = ImprovedInstantMessageMessageBlock {
                    dialog: GIFT_OFFERED,
                    id,
                    message: to_wire(&given.name, CHAT_MAX),
                    binary_bucket: gift_bucket(given.asset_type, id),
                    ..ImprovedInstantMessageMessageBlock::default()
                };
                let agent_data = from_agent(bot);
                self.send(
                    to,
                    ImprovedInstantMessage { agent_data, message_block, ..ImprovedInstantMessage::default() },
                );
            }
            dialog @ (GIFT_ACCEPTED | GIFT_DECLINED) => {
                let (giver, transaction) = self.offers[&block.id];
                if let Some(row) = self.items.get_mut(&(bot, block.id)) {
                    row.folder = Uuid::from_slice(&block.binary_bucket).expect("a folder");
                }
                let message_block = ImprovedInstantMessageMessageBlock {
                    dialog,
                    id: transaction,
                    message: to_wire("", CHAT_MAX),
                    ..ImprovedInstantMessageMessageBlock::default()
                };
                let agent_data = from_agent(bot);
                self.send(
                    giver,
                    ImprovedInstantMessage { agent_data, message_block, ..ImprovedInstantMessage::default() },
                );
            }
            dialog => panic!("a carrying bot sends no dialog {dialog}"),
        }
    }

    fn on_upload(&mut self, bot: u32, block: AssetUploadRequestAssetBlock) {
        let asset = legacy_asset_id(block.transaction_id, SECURE_SESSION);
        if block.asset_data.is_empty() {
            let xfer = asset.as_u64_pair().1;
            self.files.insert(xfer, (asset, Vec::new()));
            let xfer_id = RequestXferXferID { id: xfer, v_file_id: asset, ..RequestXferXferID::default() };
            return self.send(bot, RequestXfer { xfer_id });
        }
        self.store_asset(bot, asset, block.asset_data);
    }

    fn store_asset(&mut self, bot: u32, uuid: Uuid, bytes: Vec<u8>) {
        self.assets.insert(uuid, bytes);
        let asset_block = AssetUploadCompleteAssetBlock { uuid, r#type: 0, success: true };
        self.send(bot, AssetUploadComplete { asset_block });
    }

    fn on_part(&mut self, bot: u32, m: SendXferPacket) {
        let SendXferPacketXferID { id, packet } = m.xfer_id;
        let (asset, bytes) = self.files.get_mut(&id).expect("it was asked for");
        let (asset, skip) = (*asset, if bytes.is_empty() { 4 } else { 0 });
        bytes.extend(&m.data_packet.data[skip..]);
        let xfer_id = ConfirmXferPacketXferID { id, packet };
        self.send(bot, ConfirmXferPacket { xfer_id });
        if packet >> 31 == 1 {
            let (_, bytes) = self.files.remove(&id).expect("just seen");
            self.store_asset(bot, asset, bytes);
        }
    }

    /// Answers a call of a bot.
    pub(super) fn on_call(&mut self, bot: u32, call: HttpCall) -> CallAnswer {
        let ok = |value: Llsd| CallAnswer { status: 200, body: xml::encode(&value).into_bytes() };
        let complete = |asset: Uuid, item: Uuid| {
            Llsd::map([
                ("state", Llsd::from("complete")),
                ("new_asset", asset.into()),
                ("new_inventory_item", item.into()),
            ])
        };
        match (call.target, call.body) {
            (CallTarget::Capability { name, .. }, CallBody::Llsd(body)) => {
                ok(self.on_capability(bot, name, &body))
            }
            (CallTarget::Capability { query, .. }, CallBody::None) => {
                let prim = query.strip_prefix("task_id=").and_then(|id| Uuid::try_parse(id).ok());
                let object = self.objects.values().find(|object| Some(object.id) == prim).expect("the chest");
                ok(Llsd::map([("contents", Llsd::array(object.contents.iter().map(llsd_of)))]))
            }
            (CallTarget::Address(address), CallBody::Bytes(bytes)) => {
                let mut row = self.uploads.remove(&address).expect("it has begun");
                row.asset = self.new_id();
                self.assets.insert(row.asset, bytes);
                let is_known = self.items.contains_key(&(bot, row.id));
                self.add(bot, row.clone());
                ok(complete(row.asset, if is_known { Uuid::nil() } else { row.id }))
            }
            other => panic!("a carrying bot makes no such call: {other:?}"),
        }
    }

    fn on_capability(&mut self, bot: u32, name: &str, body: &Llsd) -> Llsd {
        let id_of = |value: &Llsd, key: &str| value.get(key).as_uuid().unwrap_or_default();
        let text = |key: &str| body.get(key).as_str().unwrap_or_default().to_owned();
        match name {
            "NewFileAgentInventory" => {
                let kind = match body.get("asset_type").as_str() {
                    Some("texture") => TEXTURE,
                    Some("lsltext") => SCRIPT,
                    _ => NOTECARD,
                };
                let next_owner = body.get("next_owner_mask").as_u32().unwrap_or(0);
                let row = self.new_item(bot, id_of(body, "folder_id"), text("name"), kind, next_owner);
                self.begin_upload(row)
            }
            "UpdateNotecardAgentInventory" => {
                let row = self.items[&(bot, id_of(body, "item_id"))].clone();
                self.begin_upload(row)
            }
            "CreateInventoryCategory" => {
                self.add_folder(bot, id_of(body, "folder_id"), text("name").into_bytes());
                body.clone()
            }
            "FetchInventoryDescendents2" => {
                let id = id_of(body.get("folders").at(0), "folder_id");
                let known =
                    self.folders.contains_key(&(bot, id)).then(|| Llsd::map([("folder_id", Llsd::from(id))]));
                Llsd::map([("folders", Llsd::Array(known.into_iter().collect()))])
            }
            "FetchInventory2" => {
                let wanted = body.get("items").as_array().iter().map(|row| id_of(row, "item_id"));
                let rows = wanted.filter_map(|id| self.items.get(&(bot, id))).map(llsd_of);
                Llsd::map([("items", Llsd::array(rows))])
            }
            other => panic!("a carrying bot does not call {other}"),
        }
    }

    fn begin_upload(&mut self, row: ItemRow) -> Llsd {
        let uploader = format!("http://upload/{}", self.new_id());
        self.uploads.insert(uploader.clone(), row);
        Llsd::map([("state", Llsd::from("upload")), ("uploader", uploader.into())])
    }

    /// A complete reading of a bot.
    pub(super) fn belongings(&self, bot: u32) -> Belongings {
        let own = self.objects.iter().filter(|(_, object)| object.owner == bot && object.worn_item.is_none());
        let objects = own.clone().map(|(local, object)| ObjectRow {
            id: object.id,
            local: *local,
            position: object.position,
            name: object.row.name.clone(),
            owner_mask: object.row.masks.owner,
            next_owner_mask: object.row.masks.next_owner,
        });
        let contents = own.flat_map(|(local, object)| {
            object.contents.iter().map(move |item| ContentRow {
                prim: object.id,
                local: *local,
                item: item.clone(),
            })
        });
        Belongings {
            items: self
                .items
                .iter()
                .filter(|((owner, _), _)| *owner == bot)
                .map(|(_, row)| row.clone())
                .collect(),
            folders: self
                .folders
                .iter()
                .filter(|((owner, _), _)| *owner == bot)
                .map(|(_, row)| row.clone())
                .collect(),
            objects: objects.collect(),
            contents: contents.collect(),
            assets: self.assets.iter().map(|(id, bytes)| (*id, Some(hash_of(bytes)))).collect(),
            troubles: Vec::new(),
        }
    }
}

fn llsd_of(row: &ItemRow) -> Llsd {
    let mask = |mask: u32| Llsd::from(mask.cast_signed());
    let permissions = Llsd::map([
        ("base_mask", mask(row.masks.base)),
        ("owner_mask", mask(row.masks.owner)),
        ("next_owner_mask", mask(row.masks.next_owner)),
    ]);
    Llsd::map([
        ("item_id", Llsd::from(row.id)),
        ("parent_id", row.folder.into()),
        ("asset_id", row.asset.into()),
        ("type", Llsd::from(i32::from(row.asset_type))),
        ("inv_type", Llsd::from(i32::from(row.inventory_type))),
        ("name", row.name.as_str().into()),
        ("permissions", permissions),
    ])
}
