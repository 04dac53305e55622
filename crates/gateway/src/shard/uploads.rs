//! Uploads over UDP, which are refused at their end.
//!
//! Clients send a small asset within AssetUploadRequest, and a larger one as a file that the server asks for. hippolyzer 0.15.6 does not listen
//! to a refusal before the whole file is sent. So the file is asked for, each part is confirmed and dropped, and at its end
//! AssetUploadComplete without success ends the upload. node-metaverse 0.8.16 waits for an AbortXfer instead, and is sent it behind.

use super::Shard;
use super::incoming::{Handled, Incoming};
use crate::coverage::MessageOutcome;
use ids::Uuid;
use md5::{Digest, Md5};
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};

/// Files that a client may upload at once; more end the oldest.
const UPLOADS_MAX: usize = 4;
/// The bit that marks the last part of a file.
const LAST_PART: u32 = 1 << 31;
/// Result of a file transfer that cannot begin or go on.
pub(super) const XFER_FAILED: i32 = -1;

/// A file that a client was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upload {
    xfer_id: u64,
    /// Id and type of the asset that it would become.
    asset: Uuid,
    asset_type: i8,
}

impl Shard {
    pub(super) fn on_asset_upload(&mut self, at: &mut Incoming<'_>, m: AssetUploadRequest) -> Handled {
        let secure_session_id = self.client(at.index).ticket.secure_session_id;
        let asset = uploaded_asset_id(m.asset_block.transaction_id, secure_session_id);
        let asset_type = m.asset_block.r#type;
        let (_, xfer_id) = asset.as_u64_pair();
        let upload = Upload { xfer_id, asset, asset_type };
        if !m.asset_block.asset_data.is_empty() {
            return self.refuse_upload(at, upload);
        }
        let uploads = &mut self.client(at.index).uploads;
        uploads.push_back(upload);
        let oldest = if uploads.len() > UPLOADS_MAX { uploads.pop_front() } else { None };
        if let Some(oldest) = oldest {
            self.abort_upload(at, oldest)?;
        }
        let xfer_id = RequestXferXferID {
            id: upload.xfer_id,
            filename: to_wire("", VARIABLE1_MAX),
            v_file_id: asset,
            v_file_type: asset_type.into(),
            ..RequestXferXferID::default()
        };
        self.refuse(at, RequestXfer { xfer_id })
    }

    pub(super) fn on_xfer_packet(&mut self, at: &mut Incoming<'_>, m: SendXferPacket) -> Handled {
        let SendXferPacketXferID { id, packet } = m.xfer_id;
        let uploads = &mut self.client(at.index).uploads;
        let Some(found) = uploads.iter().position(|upload| upload.xfer_id == id) else {
            return self.abort_xfer(at, id);
        };
        let ended = if packet & LAST_PART == 0 { None } else { uploads.remove(found) };
        let xfer_id = ConfirmXferPacketXferID { id, packet: packet & !LAST_PART };
        self.reply(at, ConfirmXferPacket { xfer_id });
        match ended {
            Some(upload) => self.abort_upload(at, upload),
            None => Ok(MessageOutcome::Refused),
        }
    }

    /// Ends the upload of a file.
    fn abort_upload(&mut self, at: &mut Incoming<'_>, upload: Upload) -> Handled {
        self.refuse_upload(at, upload)?;
        self.abort_xfer(at, upload.xfer_id)
    }

    fn abort_xfer(&mut self, at: &mut Incoming<'_>, id: u64) -> Handled {
        self.refuse(at, AbortXfer { xfer_id: AbortXferXferID { id, result: XFER_FAILED } })
    }

    fn refuse_upload(&mut self, at: &mut Incoming<'_>, upload: Upload) -> Handled {
        let Upload { asset: uuid, asset_type: r#type, .. } = upload;
        let asset_block = AssetUploadCompleteAssetBlock { uuid, r#type, success: false };
        self.refuse(at, AssetUploadComplete { asset_block })
    }
}

/// The id that an uploaded asset would have. Clients compute it likewise, and wait for the reply that names it.
fn uploaded_asset_id(transaction: Uuid, secure_session: Uuid) -> Uuid {
    let digest = Md5::new().chain_update(transaction.as_bytes()).chain_update(secure_session.as_bytes());
    Uuid::from_bytes(digest.finalize().into())
}
