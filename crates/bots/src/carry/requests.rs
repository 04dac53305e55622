//! Requests of carrying bots in messages, as viewers send them.

use super::item_row::ItemRow;
use crate::new_prim::new_prim;
use glam::Vec3;
use ids::{LocalId, Uuid};
use md5::{Digest, Md5};
use wire::messages::*;
use wire::text::{CHAT_MAX, VARIABLE1_MAX, to_wire};

/// Dialogs of an instant message about a gift: offered, accepted, declined.
pub const GIFT_OFFERED: u8 = 4;
/// See [`GIFT_OFFERED`].
pub const GIFT_ACCEPTED: u8 = 5;
/// See [`GIFT_OFFERED`].
pub const GIFT_DECLINED: u8 = 6;
/// Destinations of DeRezObject: the inventory, and the trash.
pub const TO_INVENTORY: u8 = 4;
/// See [`TO_INVENTORY`].
pub const TO_TRASH: u8 = 6;

/// Bytes of an asset within AssetUploadRequest at most; a longer one follows as a file.
pub const INLINE_BYTES_MAX: usize = 1_200;
/// Bytes of a part of a file.
pub const PART_BYTES: usize = 1_000;
/// Bit of the number of a file's last part.
const LAST_PART: u32 = 1 << 31;

/// Field of ObjectPermissions: the next owner's mask.
const FIELD_NEXT_OWNER: u8 = 16;
/// `Key` of UpdateTaskInventory: the item is named by its id.
const KEY_ITEM: u8 = 0;

/// Ids of a session, which all requests repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestIds {
    /// The account.
    pub agent: Uuid,
    /// The session.
    pub session: Uuid,
}

/// Id of an asset that is uploaded in messages: the hash of its transaction and of the session's secret.
#[must_use]
pub fn legacy_asset_id(transaction: Uuid, secure_session: Uuid) -> Uuid {
    let digest = Md5::new().chain_update(transaction.as_bytes()).chain_update(secure_session.as_bytes());
    Uuid::from_bytes(digest.finalize().into())
}

impl RequestIds {
    /// A new item: of an upload, or blank with a nil transaction.
    #[must_use]
    pub fn create_item(
        self,
        folder: Uuid,
        name: &str,
        asset_type: i8,
        transaction: Uuid,
        callback_id: u32,
        next_owner_mask: u32,
    ) -> Message {
        CreateInventoryItem {
            agent_data: CreateInventoryItemAgentData { agent_id: self.agent, session_id: self.session },
            inventory_block: CreateInventoryItemInventoryBlock {
                callback_id,
                folder_id: folder,
                transaction_id: transaction,
                next_owner_mask,
                r#type: asset_type,
                inv_type: asset_type,
                wearable_type: 0,
                name: to_wire(name, VARIABLE1_MAX),
                description: to_wire("", VARIABLE1_MAX),
            },
        }
        .into()
    }

    /// A new folder, whose id the client chooses.
    #[must_use]
    pub fn create_folder(self, folder: Uuid, parent: Uuid, name: &str) -> Message {
        CreateInventoryFolder {
            agent_data: CreateInventoryFolderAgentData { agent_id: self.agent, session_id: self.session },
            folder_data: CreateInventoryFolderFolderData {
                folder_id: folder,
                parent_id: parent,
                r#type: -1,
                name: to_wire(name, VARIABLE1_MAX),
            },
        }
        .into()
    }

    /// A copy of an own item.
    #[must_use]
    pub fn copy_item(self, item: Uuid, folder: Uuid, name: &str, callback_id: u32) -> Message {
        let row = CopyInventoryItemInventoryData {
            callback_id,
            old_agent_id: self.agent,
            old_item_id: item,
            new_folder_id: folder,
            new_name: to_wire(name, VARIABLE1_MAX),
        };
        CopyInventoryItem {
            agent_data: CopyInventoryItemAgentData { agent_id: self.agent, session_id: self.session },
            inventory_data: vec![row],
        }
        .into()
    }

    /// Other properties of an item: all of them are stated.
    #[must_use]
    pub fn update_item(self, row: &ItemRow, callback_id: u32) -> Message {
        UpdateInventoryItem {
            agent_data: UpdateInventoryItemAgentData {
                agent_id: self.agent,
                session_id: self.session,
                transaction_id: Uuid::nil(),
            },
            inventory_data: vec![row.to_update(self.agent, callback_id)],
        }
        .into()
    }

    /// Another folder of an item.
    #[must_use]
    pub fn move_item(self, item: Uuid, folder: Uuid) -> Message {
        let row = MoveInventoryItemInventoryData {
            item_id: item,
            folder_id: folder,
            new_name: to_wire("", VARIABLE1_MAX),
        };
        MoveInventoryItem {
            agent_data: MoveInventoryItemAgentData {
                agent_id: self.agent,
                session_id: self.session,
                stamp: false,
            },
            inventory_data: vec![row],
        }
        .into()
    }

    /// Removal of everything in the trash.
    #[must_use]
    pub fn purge(self, folder: Uuid) -> Message {
        PurgeInventoryDescendents {
            agent_data: PurgeInventoryDescendentsAgentData { agent_id: self.agent, session_id: self.session },
            inventory_data: PurgeInventoryDescendentsInventoryData { folder_id: folder },
        }
        .into()
    }

    /// An instant message about a gift: an offer with a bucket of [`gift_bucket`], or an answer with the folder for the thing.
    #[must_use]
    pub fn gift(self, dialog: u8, to: Uuid, id: Uuid, name: &str, bucket: Vec<u8>) -> Message {
        ImprovedInstantMessage {
            agent_data: ImprovedInstantMessageAgentData { agent_id: self.agent, session_id: self.session },
            message_block: ImprovedInstantMessageMessageBlock {
                to_agent_id: to,
                dialog,
                id,
                from_agent_name: to_wire("", VARIABLE1_MAX),
                message: to_wire(name, CHAT_MAX),
                binary_bucket: bucket,
                ..ImprovedInstantMessageMessageBlock::default()
            },
            ..ImprovedInstantMessage::default()
        }
        .into()
    }

    /// A new prim around a place.
    #[must_use]
    pub fn build(self, position: Vec3, scale: Vec3) -> Message {
        ObjectAdd {
            agent_data: ObjectAddAgentData {
                agent_id: self.agent,
                session_id: self.session,
                group_id: Uuid::nil(),
            },
            object_data: new_prim(position, scale),
        }
        .into()
    }

    /// Name of an object.
    #[must_use]
    pub fn name_object(self, id: LocalId, name: &str) -> Message {
        ObjectName {
            agent_data: ObjectNameAgentData { agent_id: self.agent, session_id: self.session },
            object_data: vec![ObjectNameObjectData { local_id: id.0, name: to_wire(name, VARIABLE1_MAX) }],
        }
        .into()
    }

    /// Rights that the next owner of an object gets, or loses.
    #[must_use]
    pub fn set_next_owner(self, id: LocalId, mask: u32, is_set: bool) -> Message {
        let row = ObjectPermissionsObjectData {
            object_local_id: id.0,
            field: FIELD_NEXT_OWNER,
            set: is_set.into(),
            mask,
        };
        ObjectPermissions {
            agent_data: ObjectPermissionsAgentData { agent_id: self.agent, session_id: self.session },
            header_data: ObjectPermissionsHeaderData { r#override: false },
            object_data: vec![row],
        }
        .into()
    }

    /// Asks for the properties of objects.
    #[must_use]
    pub fn select(self, ids: &[LocalId]) -> Message {
        let row = |id: &LocalId| ObjectSelectObjectData { object_local_id: id.0 };
        ObjectSelect {
            agent_data: ObjectSelectAgentData { agent_id: self.agent, session_id: self.session },
            object_data: ids.iter().map(row).collect(),
        }
        .into()
    }

    /// An object goes out of the world, [`TO_INVENTORY`] or [`TO_TRASH`].
    #[must_use]
    pub fn derez(self, id: LocalId, destination: u8, folder: Uuid, transaction: Uuid) -> Message {
        DeRezObject {
            agent_data: DeRezObjectAgentData { agent_id: self.agent, session_id: self.session },
            agent_block: DeRezObjectAgentBlock {
                group_id: Uuid::nil(),
                destination,
                destination_id: folder,
                transaction_id: transaction,
                packet_count: 1,
                packet_number: 0,
            },
            object_data: vec![DeRezObjectObjectData { object_local_id: id.0 }],
        }
        .into()
    }

    /// An item becomes an object around a place.
    #[must_use]
    pub fn rez(self, row: &ItemRow, position: Vec3, transaction: Uuid) -> Message {
        RezObject {
            agent_data: RezObjectAgentData {
                agent_id: self.agent,
                session_id: self.session,
                group_id: Uuid::nil(),
            },
            rez_data: RezObjectRezData {
                bypass_raycast: 1,
                ray_start: position + Vec3::Z,
                ray_end: position,
                remove_item: row.masks.is_unique(),
                item_flags: row.flags,
                group_mask: row.masks.group,
                everyone_mask: row.masks.everyone,
                next_owner_mask: row.masks.next_owner,
                ..RezObjectRezData::default()
            },
            inventory_data: RezObjectInventoryData { transaction_id: transaction, ..row.to_rez(self.agent) },
        }
        .into()
    }

    /// The item is worn at its usual point, beside objects that are worn there.
    #[must_use]
    pub fn wear(self, row: &ItemRow) -> Message {
        /// Bit of the point of attachment: others stay.
        const ADD: u8 = 0x80;
        RezSingleAttachmentFromInv {
            agent_data: RezSingleAttachmentFromInvAgentData {
                agent_id: self.agent,
                session_id: self.session,
            },
            object_data: RezSingleAttachmentFromInvObjectData {
                item_id: row.id,
                owner_id: self.agent,
                attachment_pt: ADD,
                item_flags: row.flags,
                group_mask: row.masks.group,
                everyone_mask: row.masks.everyone,
                next_owner_mask: row.masks.next_owner,
                name: to_wire(&row.name, VARIABLE1_MAX),
                description: to_wire(&row.description, VARIABLE1_MAX),
            },
        }
        .into()
    }

    /// A worn object is taken off.
    #[must_use]
    pub fn detach(self, id: LocalId) -> Message {
        ObjectDetach {
            agent_data: ObjectDetachAgentData { agent_id: self.agent, session_id: self.session },
            object_data: vec![ObjectDetachObjectData { object_local_id: id.0 }],
        }
        .into()
    }

    /// An item goes into a prim.
    #[must_use]
    pub fn put(self, prim: LocalId, row: &ItemRow) -> Message {
        UpdateTaskInventory {
            agent_data: UpdateTaskInventoryAgentData { agent_id: self.agent, session_id: self.session },
            update_data: UpdateTaskInventoryUpdateData { local_id: prim.0, key: KEY_ITEM },
            inventory_data: row.to_task(self.agent),
        }
        .into()
    }

    /// An item goes out of a prim.
    #[must_use]
    pub fn take_out(self, prim: LocalId, item: Uuid, folder: Uuid) -> Message {
        MoveTaskInventory {
            agent_data: MoveTaskInventoryAgentData {
                agent_id: self.agent,
                session_id: self.session,
                folder_id: folder,
            },
            inventory_data: MoveTaskInventoryInventoryData { local_id: prim.0, item_id: item },
        }
        .into()
    }

    /// An item in a prim is removed.
    #[must_use]
    pub fn remove_from(self, prim: LocalId, item: Uuid) -> Message {
        RemoveTaskInventory {
            agent_data: RemoveTaskInventoryAgentData { agent_id: self.agent, session_id: self.session },
            inventory_data: RemoveTaskInventoryInventoryData { local_id: prim.0, item_id: item },
        }
        .into()
    }
}

/// Bucket of an offer: kind and id of an item.
#[must_use]
pub fn gift_bucket(asset_type: i8, item: Uuid) -> Vec<u8> {
    let mut bucket = vec![asset_type.cast_unsigned()];
    bucket.extend(item.as_bytes());
    bucket
}

/// Id of the item in the bucket of an offer; none in one of another form.
#[must_use]
pub fn item_of_bucket(bucket: &[u8]) -> Option<Uuid> {
    let (_, id) = bucket.split_first()?;
    Some(Uuid::from_bytes(*id.first_chunk()?))
}

/// The beginning of an upload in messages: the asset itself, or the notice that a file follows.
#[must_use]
pub fn begin_upload(transaction: Uuid, asset_type: i8, bytes: &[u8]) -> Message {
    let is_inline = bytes.len() <= INLINE_BYTES_MAX;
    AssetUploadRequest {
        asset_block: AssetUploadRequestAssetBlock {
            transaction_id: transaction,
            r#type: asset_type,
            tempfile: false,
            store_local: false,
            asset_data: if is_inline { bytes.to_vec() } else { Vec::new() },
        },
    }
    .into()
}

/// A part of a file, by its number; none behind the last one. The length of the whole comes in front of the first part.
#[must_use]
pub fn file_part(xfer: u64, number: u32, bytes: &[u8]) -> Option<Message> {
    let begin = number as usize * PART_BYTES;
    let rest = bytes.get(begin..).filter(|rest| !rest.is_empty())?;
    let part = &rest[..rest.len().min(PART_BYTES)];
    let is_last = part.len() == rest.len();
    let mut data = Vec::with_capacity(part.len() + 4);
    if number == 0 {
        // A file of bots is some kilobytes.
        data.extend((bytes.len() as u32).to_le_bytes());
    }
    data.extend(part);
    let packet = if is_last { number | LAST_PART } else { number };
    let message = SendXferPacket {
        xfer_id: SendXferPacketXferID { id: xfer, packet },
        data_packet: SendXferPacketDataPacket { data },
    };
    Some(message.into())
}

/// Number of the part that a confirmation names.
#[must_use]
pub const fn confirmed_part(packet: u32) -> u32 {
    packet & !LAST_PART
}

#[cfg(test)]
mod tests;
