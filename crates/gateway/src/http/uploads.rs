//! Uploads of clients: the addresses that capabilities hand out, and the bytes that come to them.
//!
//! Replies are those that viewers read: a map with `state`, which is "upload", "complete" or "error" with a `message`. The reply to the bytes leaves when they are on the
//! disk.

use super::HttpState;
use super::holder::{holder, unknown};
use super::reply::{error, llsd};
use crate::hub::Holder;
use assets::{AddAssetError, AssetHash, NewAsset, check_asset};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use grid::uploads::{UploadPurpose, UploadTickets, new_ticket_id};
use ids::{AgentId, Uuid};
use std::sync::{Arc, Mutex, PoisonError};
use wire::llsd::Llsd;

/// Open uploads of all users.
#[derive(Debug, Default)]
pub struct Uploads(Mutex<UploadTickets>);

impl Uploads {
    /// Runs `work` on the open uploads, which must not wait.
    fn with<T>(&self, work: impl FnOnce(&mut UploadTickets) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The first step: an address for one upload.
pub(super) fn begin(state: &HttpState, holder: &Holder, base: &str, purpose: UploadPurpose) -> Response {
    let Some(id) = new_ticket_id() else {
        return error(StatusCode::INTERNAL_SERVER_ERROR, "The system has no random numbers.");
    };
    let now = (state.clock)();
    if !state.uploads.with(|tickets| tickets.open(id, holder.agent, purpose, now)) {
        return failed_upload("the server has too many uploads under way; try again later");
    }
    llsd(&Llsd::map([("state", Llsd::from("upload")), ("uploader", format!("{base}/upload/{id}").into())]))
}

/// The second step: `POST /cap/{secret}/upload/{id}` with the bytes.
pub(super) async fn receive(
    State(state): State<Arc<HttpState>>,
    Path((secret, id)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    let Some((_, holder)) = holder(&state, &secret) else { return unknown() };
    let id = Uuid::parse_str(&id).unwrap_or(Uuid::nil());
    let now = (state.clock)();
    let Some(purpose) = state.uploads.with(|tickets| tickets.redeem(id, holder.agent, now)) else {
        return error(
            StatusCode::NOT_FOUND,
            "There is no such upload; its address holds once, for five minutes.",
        );
    };
    if let Err(why) = check_asset(purpose.kind(), &body, &state.asset_limits) {
        return failed_upload(&why.to_string());
    }
    match store(&state, holder.agent, &purpose, body).await {
        Ok(asset) => llsd(&Llsd::map([
            ("state", Llsd::from("complete")),
            ("new_asset", asset.into()),
            ("new_inventory_item", Uuid::nil().into()),
        ])),
        Err(why) => failed_upload(&why.to_string()),
    }
}

/// Stores the bytes, and waits until they are on the disk.
async fn store(
    state: &HttpState,
    agent: AgentId,
    purpose: &UploadPurpose,
    bytes: Bytes,
) -> Result<Uuid, AddAssetError> {
    let id = match purpose {
        UploadPurpose::Bake => bake_id(agent, &bytes),
    };
    let new = NewAsset {
        id,
        kind: purpose.kind(),
        bytes,
        creator: agent,
        origin: "upload".into(),
        is_temporary: matches!(purpose, UploadPurpose::Bake),
    };
    let (outcome, stored) = tokio::sync::oneshot::channel();
    let done = Box::new(move |result| drop(outcome.send(result)));
    state.assets.stored().add(new, done);
    stored.await.unwrap_or(Err(AddAssetError::Ended))
}

/// Id of a bake: the same texture of the same account has the same one, so that a client which bakes anew adds nothing.
fn bake_id(agent: AgentId, bytes: &[u8]) -> Uuid {
    let of_both = [agent.0.as_bytes(), &AssetHash::of(bytes).0[..]].concat();
    let hash = AssetHash::of(&of_both).0;
    let first = hash.first_chunk::<16>().expect("a hash has 32 bytes");
    Uuid::from_u128(u128::from_be_bytes(*first))
}

/// A refusal in the form that viewers show to the user.
fn failed_upload(why: &str) -> Response {
    llsd(&Llsd::map([
        ("state", Llsd::from("error")),
        ("message", format!("The upload is refused: {why}.").into()),
    ]))
}
