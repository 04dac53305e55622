//! CopyInventoryFromNotecard: an item that is embedded in a notecard, of the user or in an object of the region, becomes one of the user's.
//!
//! As with folders, order and budget of UDP requests do not hold for it. Clients wait for BulkUpdateInventory with their callback, which has a null item if the copy is
//! refused. node-metaverse 0.8.16 does not listen to the reply, and an error status ends its process: a refusal is no error.

use super::reply::{failed, llsd, read_map};
use super::{HttpState, blocking};
use crate::hub::Holder;
use crate::object_items::find_notecard;
use axum::body::Bytes;
use axum::response::Response;
use grid::inventory::{InventoryParts, NotecardCopy, copy_from_notecard};
use std::sync::Arc;
use wire::llsd::Llsd;

/// `POST` of `{notecard-id, object-id, item-id, folder-id, callback-id}`.
pub(super) async fn copy(state: &Arc<HttpState>, holder: &Holder, body: &Bytes) -> Response {
    let mut request = match read_map(body) {
        Ok(request) => NotecardCopy::of_llsd(&request),
        Err(response) => return *response,
    };
    request.notecard = find_notecard(&holder.place, holder.agent, request.notecard);
    let (shared, agent, unix_s) = (Arc::clone(state), holder.agent, state.unix_s());
    let copied = blocking(move || {
        let parts = InventoryParts { store: &shared.store, assets: &shared.assets };
        copy_from_notecard(parts, agent, &request, unix_s)
    });
    match copied.await {
        Ok(replies) => {
            state.sessions.with(|hub| hub.send_inventory_replies(holder.circuit, replies));
            llsd(&Llsd::map::<&str>([]))
        }
        Err(why) => failed("copying out of a notecard", &why),
    }
}
