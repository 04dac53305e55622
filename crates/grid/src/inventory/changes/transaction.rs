//! Content of items: none at first, or the content of an upload.
//!
//! Clients upload the content of an asset under a transaction, and name the transaction in the request that makes or changes an item. The asset's id follows
//! from the transaction and a secret of the session, so that the transaction of another user leads to no asset. The asset is in the store before a request that
//! names it comes here: the gateway holds such a request back while the upload is under way.

use super::super::InventoryType;
use super::{ChangeInventoryError, ChangeRefusal, Planner};
use assets::AssetKind;
use md5::{Digest, Md5};
use uuid::Uuid;

/// Id of an asset that a client uploads under a transaction. Clients derive it likewise: MD5 of the transaction and the session's secret.
#[must_use]
pub fn uploaded_asset_id(transaction: Uuid, secure_session: Uuid) -> Uuid {
    let digest = Md5::new().chain_update(transaction.as_bytes()).chain_update(secure_session.as_bytes());
    Uuid::from_bytes(digest.finalize().into())
}

/// The content with which an item begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// Nil as long as there is none.
    pub(super) asset: Uuid,
    /// Display of the item.
    pub(super) inventory_type: i8,
}

impl Planner<'_> {
    /// Content of a new item of a kind. `asked` is the display that the client asks for.
    pub(super) fn new_content(
        &self,
        transaction: Uuid,
        asset_type: i8,
        asked: i8,
    ) -> Result<Result<Content, ChangeRefusal>, ChangeInventoryError> {
        let is_possible = |kind: &AssetKind| !transaction.is_nil() || begins_empty(*kind);
        let Some(kind) = AssetKind::from_number(asset_type).filter(is_possible) else {
            return Ok(Err(ChangeRefusal::NoContent(asset_type)));
        };
        let is_snapshot = kind == AssetKind::Texture && asked == InventoryType::SNAPSHOT;
        let inventory_type = if is_snapshot { asked } else { InventoryType::of(kind) };
        if transaction.is_nil() {
            return Ok(Ok(Content { asset: Uuid::nil(), inventory_type }));
        }
        let asset = self.uploaded(transaction, asset_type)?;
        Ok(asset.map(|asset| Content { asset, inventory_type }))
    }

    /// The asset of a transaction, if the user has uploaded one of this kind under it.
    pub(super) fn uploaded(
        &self,
        transaction: Uuid,
        asset_type: i8,
    ) -> Result<Result<Uuid, ChangeRefusal>, ChangeInventoryError> {
        let id = uploaded_asset_id(transaction, self.secure_session);
        let stored = self.store.asset(id)?.map(|asset| asset.row);
        let is_own = stored.is_some_and(|row| row.creator == self.agent && row.kind == asset_type);
        Ok(if is_own { Ok(id) } else { Err(ChangeRefusal::UnknownUpload) })
    }
}

/// True for kinds that viewers show without content, and make before it is uploaded.
const fn begins_empty(kind: AssetKind) -> bool {
    matches!(
        kind,
        AssetKind::CallingCard
            | AssetKind::Notecard
            | AssetKind::Script
            | AssetKind::Gesture
            | AssetKind::Settings
            | AssetKind::Material
    )
}
