//! Files that clients upload in messages: content of later items. An item that names the file's transaction comes behind it (`transaction`).

use super::{InventoryParts, InventoryReplies};
use crate::uploads::UPLOAD_ORIGIN;
use assets::{AddAssetError, AssetKind, NewAsset, SizeLimits, check_asset};
use bytes::Bytes;
use ids::AgentId;
use std::sync::mpsc::sync_channel;
use uuid::Uuid;

/// A file of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadedFile {
    /// Id of the asset that it becomes.
    pub asset: Uuid,
    /// Its kind.
    pub kind: AssetKind,
    /// Content, of any length that the kind may have; not yet checked.
    pub bytes: Bytes,
    /// The asset is removed after a time, unless an item names it.
    pub is_temporary: bool,
}

/// Checks a file and stores it; it is on the disk when this returns. A refusal has the reason.
pub(super) fn store(parts: InventoryParts<'_>, agent: AgentId, file: &UploadedFile) -> InventoryReplies {
    let refusal = try_to_store(parts, agent, file).err();
    let refusal = refusal.map(|why| format!("The upload is refused: {why}."));
    InventoryReplies { refusal, ..InventoryReplies::default() }
}

fn try_to_store(parts: InventoryParts<'_>, agent: AgentId, file: &UploadedFile) -> Result<(), String> {
    let UploadedFile { asset: id, kind, ref bytes, is_temporary } = *file;
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    check_asset(kind, bytes, &SizeLimits::default().with(kind, length)).map_err(|why| why.to_string())?;
    let (bytes, origin) = (bytes.clone(), UPLOAD_ORIGIN.into());
    let new = NewAsset { id, kind, bytes, creator: agent, origin, is_temporary };
    let (done, stored) = sync_channel(1);
    // The room of one is free: the thread that writes does not wait.
    parts.assets.stored().add(new, Box::new(move |outcome| drop(done.send(outcome))));
    let outcome = stored.recv().unwrap_or(Err(AddAssetError::Ended));
    outcome.map(drop).map_err(|why| why.to_string())
}
