//! DeRezObject: objects that leave the world for an inventory, or whose content replaces that of an item.
//!
//! A client numbers its requests. A request that comes a second time with the same objects is answered and has no second effect: the client may have lost the reply.

use super::without_prims;
use crate::coverage::{Feature, MessageOutcome};
use crate::shard::Shard;
use crate::shard::client_transfers::{RequestMark, TakeHead, TakePart};
use crate::shard::incoming::{Handled, Incoming};
use ids::{LocalId, Uuid};
use link::{Derez, DerezKind, ObjectCommand};
use wire::messages::*;

/// Codes of DeRezObject's destinations: the content of the items that the objects came out of, …
const SAVE: u8 = 0;
/// … a copy for the user, …
const TAKE_COPY: u8 = 1;
/// … the same, by an operator's menu, …
const FORCE_COPY: u8 = 5;
/// … the user, …
const TAKE: u8 = 4;
/// … the owner, as rubbish, …
const TRASH: u8 = 6;
/// … and the owner, by order of another user.
const RETURN: u8 = 9;

impl Shard {
    /// Viewers wait for the ack before they remove the objects from the screen, and a refusal by the world shows them again. The items come when they are on the
    /// disk.
    pub(in crate::shard) fn on_derez(&mut self, at: &mut Incoming<'_>, m: DeRezObject) -> Handled {
        let block = m.agent_block;
        let head = TakeHead {
            transaction: block.transaction_id,
            destination: block.destination,
            folder: block.destination_id,
            n_parts: block.packet_count,
        };
        let objects: Vec<u32> = m.object_data.iter().map(|row| row.object_local_id).collect();
        let kind = match head.destination {
            SAVE => DerezKind::Save,
            TAKE_COPY | FORCE_COPY => DerezKind::TakeCopy,
            TAKE => DerezKind::Take,
            TRASH => DerezKind::Trash,
            RETURN => DerezKind::Return,
            // Attachments have messages of their own; contents of objects get no objects, and no group owns any.
            _ => {
                self.acknowledge(at, head.transaction, false);
                return self.refuse_edit(at, Feature::Method, objects.into_iter());
            }
        };
        let part = TakePart { head, number: block.packet_number, objects };
        let Some(objects) = self.client(at.index).transfers.gather(part) else {
            return Ok(MessageOutcome::Done);
        };
        let content = objects.iter().map(|&id| u64::from(id)).chain([u64::from(head.destination)]);
        let request = RequestMark::of(head.transaction, content);
        if self.client(at.index).transfers.is_repeated(at.now, request) {
            self.acknowledge(at, head.transaction, true);
            return Ok(MessageOutcome::Ignored);
        }
        let asked = objects.clone();
        let objects = self.editable(at, objects, |id| *id)?;
        let objects: Vec<LocalId> = objects.into_iter().map(|(id, _)| id).collect();
        self.acknowledge(at, head.transaction, !objects.is_empty());
        if objects.is_empty() {
            if matches!(kind, DerezKind::Take | DerezKind::TakeCopy) {
                self.refuse_take(at, head.transaction, head.folder, &asked);
            }
            return Ok(without_prims(asked.len()));
        }
        let transaction = head.transaction;
        let outcome = if kind == DerezKind::Save {
            self.save_into_items(at, objects, transaction)?
        } else {
            let folder = head.folder;
            self.edit(at, ObjectCommand::Derez(Derez { objects, kind, folder, transaction }))?
        };
        self.client(at.index).transfers.note_request(at.now, request);
        Ok(outcome)
    }

    fn acknowledge(&mut self, at: &mut Incoming<'_>, transaction_id: Uuid, success: bool) {
        self.reply(at, DeRezAck { transaction_data: DeRezAckTransactionData { transaction_id, success } });
    }

    /// Replaces the content of items by the objects that came out of them. Those of which that is not known are refused.
    fn save_into_items(
        &mut self,
        at: &mut Incoming<'_>,
        objects: Vec<LocalId>,
        transaction: Uuid,
    ) -> Handled {
        let mut outcome = MessageOutcome::Refused;
        for id in objects {
            let object = self.object_of(at, id.0);
            match object.and_then(|object| self.client(at.index).transfers.item_of(object)) {
                Some(folder) => {
                    let derez = Derez { objects: vec![id], kind: DerezKind::Save, folder, transaction };
                    outcome = self.edit(at, ObjectCommand::Derez(derez))?;
                }
                None => {
                    self.refuse_feature(at, Feature::UnknownItem);
                }
            }
        }
        Ok(outcome)
    }
}
