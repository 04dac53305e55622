//! Uploads in messages.
//!
//! Clients send a small asset within AssetUploadRequest, and a larger one as a file that the server asks for, part by part. The whole goes to the store by way of the
//! hub; AssetUploadComplete follows when it is on the disk, or is refused. Requests for items that name its transaction wait until its bytes are on that way, which
//! they then take behind it. Bounds are in [`super::client_uploads`]; what becomes of the bytes is in [`crate::hub`].

use super::client_uploads::{ClientUploads, FileHead, FileTrouble};
use super::counters::Refused;
use super::file_upload::PartTaken;
use super::incoming::{Handled, Incoming};
use super::notices::NoticeKind;
use super::{ClientIndex, Outbox, Shard};
use crate::coverage::MessageOutcome;
use crate::mail::{FromShard, Request};
use assets::AssetKind;
use bytes::Bytes;
use grid::inventory::{InventoryTask, UploadedFile, uploaded_asset_id};
use grid::uploads::UploadRoom;
use ids::{Instant, Uuid};
use link::CircuitKey;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};

/// Bytes of files of all clients of a shard that are under way, or wait for the store. One client takes as many as are left ([`UploadRoom`]).
pub(super) const FILE_ROOM_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of a file in messages, if its kind may have as many. Larger ones come over HTTP.
pub(super) const FILE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes in AssetUploadRequest that are no asset: clients state with them that a file follows.
const NO_CONTENT_BYTES: usize = 2;
/// The bit that marks the last part of a file.
const LAST_PART: u32 = 1 << 31;
/// Result of a file transfer that cannot begin or go on.
pub(super) const XFER_FAILED: i32 = -1;

/// Outcomes of files, as counted.
#[derive(Clone, Copy, Debug)]
enum FileEnd {
    Stored,
    Refused,
    BrokenOff,
}

impl Shard {
    pub(super) fn on_asset_upload(&mut self, at: &mut Incoming<'_>, m: AssetUploadRequest) -> Handled {
        let client = self.client(at.index);
        if !client.asks.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        let AssetUploadRequestAssetBlock { transaction_id, r#type, tempfile, store_local, asset_data } =
            m.asset_block;
        let asset = uploaded_asset_id(transaction_id, client.ticket.secure_session_id);
        let kind = match AssetKind::from_number(r#type) {
            None => return self.refuse_file(at, (asset, r#type), FileTrouble::UnknownType),
            Some(AssetKind::Object) => return self.refuse_file(at, (asset, r#type), FileTrouble::Object),
            Some(kind) => kind,
        };
        // As in OpenSimulator, an asset is kept for itself if the client asks for that, and otherwise by the item that names it.
        let head = FileHead { asset, kind, is_temporary: tempfile || !store_local };
        let bytes_max = self.file_bytes_max(kind);
        let (uploads, room) = self.uploads(at.index);
        if uploads.is_known(asset) {
            return Ok(MessageOutcome::Ignored);
        }
        if uploads.is_busy() {
            return self.refuse_file(at, (asset, r#type), FileTrouble::NoRoom);
        }
        if asset_data.len() <= NO_CONTENT_BYTES {
            let oldest = uploads.begin(at.now, head, bytes_max, room);
            if let Some(oldest) = oldest {
                self.give_up(at, oldest);
            }
            return self.ask_for_file(at, head);
        }
        if asset_data.len() > bytes_max {
            return self.refuse_file(at, (asset, r#type), FileTrouble::TooLong);
        }
        if !uploads.take_whole(head, asset_data.len(), room) {
            return self.refuse_file(at, (asset, r#type), FileTrouble::NoRoom);
        }
        self.store_file(at, head, asset_data);
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_xfer_packet(&mut self, at: &mut Incoming<'_>, m: SendXferPacket) -> Handled {
        let SendXferPacketXferID { id, packet } = m.xfer_id;
        let (uploads, room) = self.uploads(at.index);
        let taken = uploads.take_part(at.now, id, packet, &m.data_packet.data, room);
        let has_come = uploads.has_come(id);
        let xfer_id = ConfirmXferPacketXferID { id, packet: packet & !LAST_PART };
        let confirmation = ConfirmXferPacket { xfer_id };
        match taken {
            None if has_come => self.answer(at, confirmation),
            None => self.abort_xfer(at, id),
            Some((_, PartTaken::Early)) => Ok(MessageOutcome::Ignored),
            Some((_, PartTaken::More)) => self.answer(at, confirmation),
            Some((head, PartTaken::Whole(bytes))) => {
                self.reply(at, confirmation);
                self.store_file(at, head, bytes);
                Ok(MessageOutcome::Done)
            }
            Some((head, PartTaken::TooLong)) => self.end_file(at, head, FileTrouble::TooLong),
            Some((head, PartTaken::NoRoom)) => self.end_file(at, head, FileTrouble::NoRoom),
            Some((head, PartTaken::Unfit)) => self.end_file(at, head, FileTrouble::Unfit),
        }
    }

    /// The client ends the transfer of a file that it sends.
    pub(super) fn abort_upload(&mut self, at: &mut Incoming<'_>, xfer_id: u64) -> Handled {
        let (uploads, room) = self.uploads(at.index);
        let Some(head) = uploads.abort(xfer_id, room) else { return Ok(MessageOutcome::Ignored) };
        self.count_file(FileEnd::BrokenOff);
        self.pass_on_held(at.now, at.index);
        self.answer(at, upload_complete(head.asset, head.kind.number(), false))
    }

    /// A new item, which may have an upload as its content.
    pub(super) fn on_create_item(&mut self, at: &mut Incoming<'_>, m: CreateInventoryItem) -> Handled {
        let transactions = [m.inventory_block.transaction_id];
        self.change_items(at, m.into(), &transactions)
    }

    /// Properties of items, which may get uploads as their content.
    pub(super) fn on_update_items(&mut self, at: &mut Incoming<'_>, m: UpdateInventoryItem) -> Handled {
        let transactions: Vec<Uuid> = m.inventory_data.iter().map(|row| row.transaction_id).collect();
        self.change_items(at, m.into(), &transactions)
    }

    /// Passes a change of items on once the files of its transactions are whole.
    fn change_items(&mut self, at: &Incoming<'_>, request: InventoryTask, transactions: &[Uuid]) -> Handled {
        let client = self.client(at.index);
        if !client.asks.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        let key = client.key();
        let secure_session_id = client.ticket.secure_session_id;
        let named = transactions.iter().filter(|transaction| !transaction.is_nil());
        let awaited = named.map(|&transaction| uploaded_asset_id(transaction, secure_session_id)).collect();
        if let Some(request) = client.uploads.hold(at.now, Box::new(request), awaited) {
            self.mail.push(FromShard::Request(key, Request::Inventory(request)));
        }
        Ok(MessageOutcome::Done)
    }

    /// The store has taken the file of a client, or has refused it.
    pub(super) fn on_uploaded(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        asset: Uuid,
        is_stored: bool,
        out: &mut Outbox,
    ) {
        let Some(&index) = self.by_circuit.get(&circuit) else { return };
        let (uploads, room) = self.uploads(index);
        let Some(head) = uploads.finish(asset, room) else { return };
        self.count_file(if is_stored { FileEnd::Stored } else { FileEnd::Refused });
        let at = &mut Incoming { now, index, name: None, out };
        self.reply(at, upload_complete(asset, head.kind.number(), is_stored));
    }

    /// Ends files that do not come, and passes requests on that have waited for long enough.
    pub(super) fn visit_uploads(&mut self, now: Instant, index: ClientIndex, out: &mut Outbox) {
        if self.client(index).uploads.is_idle() {
            return;
        }
        let at = &mut Incoming { now, index, name: None, out };
        loop {
            let (uploads, room) = self.uploads(index);
            let Some(late) = uploads.expire(now, room) else { break };
            self.give_up(at, late);
        }
        self.pass_on_held(now, index);
    }

    /// The client goes: its requests are passed on as they are.
    pub(super) fn pass_on_all_held(&mut self, index: ClientIndex) {
        let client = self.client(index);
        let key = client.key();
        while let Some(request) = self.client(index).uploads.take_held() {
            self.mail.push(FromShard::Request(key, Request::Inventory(request)));
        }
    }

    /// Gives the memory of a client back that is gone.
    pub(super) fn drop_uploads(&mut self, uploads: &mut ClientUploads) {
        self.counters.files_broken_off += uploads.clear(&mut self.upload_room);
    }

    /// Passes requests on that need not wait any longer.
    fn pass_on_held(&mut self, now: Instant, index: ClientIndex) {
        let client = self.client(index);
        let key = client.key();
        while let Some(request) = self.client(index).uploads.poll_held(now) {
            self.mail.push(FromShard::Request(key, Request::Inventory(request)));
        }
    }

    /// A client's uploads, and the memory of those of all.
    fn uploads(&mut self, index: ClientIndex) -> (&mut ClientUploads, &mut UploadRoom) {
        let client = self.clients[index as usize].as_deref_mut();
        let client = client.expect("indexes in use point at clients");
        (&mut client.uploads, &mut self.upload_room)
    }

    fn file_bytes_max(&self, kind: AssetKind) -> usize {
        self.config.asset_limits.bytes_max(kind).min(FILE_BYTES_MAX)
    }

    fn ask_for_file(&mut self, at: &mut Incoming<'_>, head: FileHead) -> Handled {
        let xfer_id = RequestXferXferID {
            id: head.xfer_id(),
            filename: to_wire("", VARIABLE1_MAX),
            v_file_id: head.asset,
            v_file_type: head.kind.number().into(),
            ..RequestXferXferID::default()
        };
        self.answer(at, RequestXfer { xfer_id })
    }

    /// Sends a whole file to the store. Requests that waited for it follow.
    fn store_file(&mut self, at: &Incoming<'_>, head: FileHead, bytes: Vec<u8>) {
        let key = self.client(at.index).key();
        let FileHead { asset, kind, is_temporary } = head;
        let file = UploadedFile { asset, kind, bytes: Bytes::from(bytes), is_temporary };
        let order = Box::new(InventoryTask::Upload(file));
        self.mail.push(FromShard::Request(key, Request::Inventory(order)));
        self.pass_on_held(at.now, at.index);
    }

    /// Ends a file that did not come as a whole.
    fn give_up(&mut self, at: &mut Incoming<'_>, head: FileHead) {
        self.count_file(FileEnd::BrokenOff);
        self.reply(at, failed_xfer(head.xfer_id()));
        self.reply(at, upload_complete(head.asset, head.kind.number(), false));
        self.notify(at.now, at.index, NoticeKind::Upload(FileTrouble::GivenUp), at.out);
    }

    /// Ends a file of which no more is taken.
    fn end_file(&mut self, at: &mut Incoming<'_>, head: FileHead, why: FileTrouble) -> Handled {
        self.reply(at, failed_xfer(head.xfer_id()));
        self.pass_on_held(at.now, at.index);
        self.refuse_file(at, (head.asset, head.kind.number()), why)
    }

    fn refuse_file(
        &mut self,
        at: &mut Incoming<'_>,
        (asset, asset_type): (Uuid, i8),
        why: FileTrouble,
    ) -> Handled {
        self.count_file(FileEnd::Refused);
        self.notify(at.now, at.index, NoticeKind::Upload(why), at.out);
        self.refuse(at, upload_complete(asset, asset_type, false))
    }

    fn abort_xfer(&mut self, at: &mut Incoming<'_>, id: u64) -> Handled {
        self.refuse(at, failed_xfer(id))
    }

    const fn count_file(&mut self, end: FileEnd) {
        match end {
            FileEnd::Stored => self.counters.files_stored += 1,
            FileEnd::Refused => self.counters.files_refused += 1,
            FileEnd::BrokenOff => self.counters.files_broken_off += 1,
        }
    }
}

fn failed_xfer(id: u64) -> AbortXfer {
    AbortXfer { xfer_id: AbortXferXferID { id, result: XFER_FAILED } }
}

fn upload_complete(uuid: Uuid, r#type: i8, success: bool) -> AssetUploadComplete {
    AssetUploadComplete { asset_block: AssetUploadCompleteAssetBlock { uuid, r#type, success } }
}
