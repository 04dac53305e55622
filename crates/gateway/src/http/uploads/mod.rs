//! Uploads of clients: the addresses that capabilities hand out, and the bytes that come to them.
//!
//! Replies are those that viewers read: a map with `state`, which is "upload", "complete" or "error" with a `message`. The reply to the bytes leaves when they are on the
//! disk, with the item that names them, or with the object that has the item in it. Judgements are in [`grid::uploads`]; [`body`] has the memory of the bytes, and
//! [`in_objects`] the way to regions.

mod body;
mod in_objects;
mod ledger;
#[cfg(test)]
mod tests;

pub use body::long_bodies;
pub use in_objects::{ContentOrders, TakeContentAnswer};
pub use ledger::{UPLOADS_BYTES_MAX, Uploads};

use super::holder::{base_url, holder, unknown};
use super::listener::BodyCut;
use super::reply::{error, failed, llsd};
use super::{HttpState, blocking, object_contents};
use crate::hub::Holder;
use ::assets::AddAssetError;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use body::UploadBody;
use grid::uploads::{
    BeginUploadError, BegunUpload, FinishedUpload, MODEL_BODY_BYTES_MAX, MODEL_LIMITS, UploadCall,
    UploadPurpose, UploadRefusal, new_ticket_id,
};
use ids::AgentId;
use ledger::UploadOutcome;
use std::sync::Arc;
use wire::llsd::{Limits, Llsd, xml};

/// Text for a user whose upload has no room.
const NO_ROOM: &str = "the server has too many uploads under way; try again later";

/// `POST /cap/{secret}/NewFileAgentInventory`: the first step for a new item. The request for a model has its files with it.
pub(super) async fn begin_new_file(
    State(state): State<Arc<HttpState>>,
    Path(secret): Path<String>,
    request: Request,
) -> Response {
    let Some((secret, holder)) = holder(&state, &secret) else { return unknown() };
    let account = request.extensions().get::<Arc<UploadBody>>().cloned();
    if let Some(cut) = account.as_ref().and_then(|account| account.why_cut()) {
        return failed_upload(&refusal(&cut_text(cut, "request", MODEL_BODY_BYTES_MAX)));
    }
    let base = base_url(&state, &holder, secret);
    let body = whole(request.into_body()).await;
    begin(&state, &holder, &base, UploadCall::NewFile, body).await
}

/// The first step: an address for one upload.
pub(super) async fn begin(
    state: &Arc<HttpState>,
    holder: &Holder,
    base: &str,
    call: UploadCall,
    body: Bytes,
) -> Response {
    let agent = holder.agent;
    let begun = match call {
        // It names nothing.
        UploadCall::Bake => BegunUpload { purpose: UploadPurpose::Bake, answer: Vec::new() },
        _ => match judge(state, holder, call, body).await {
            Ok(begun) => begun,
            Err(response) => return *response,
        },
    };
    let Some(id) = new_ticket_id() else {
        return error(StatusCode::INTERNAL_SERVER_ERROR, "The system has no random numbers.");
    };
    let now = (state.clock)();
    if !state.uploads.with_tickets(|tickets| tickets.open(id, agent, begun.purpose, now)) {
        return failed_upload(&refusal(NO_ROOM));
    }
    let own = [("state", Llsd::from("upload")), ("uploader", format!("{base}/upload/{id}").into())];
    llsd(&Llsd::map(own.into_iter().chain(begun.answer)))
}

/// Reads and judges a request; the response states the refusal.
async fn judge(
    state: &Arc<HttpState>,
    holder: &Holder,
    call: UploadCall,
    body: Bytes,
) -> Result<BegunUpload, Box<Response>> {
    let is_long = body.len() > Limits::REQUEST.bytes_max;
    let limits = if is_long { MODEL_LIMITS } else { Limits::REQUEST };
    let unix_s = state.unix_s();
    let (shared, holder) = (Arc::clone(state), holder.clone());
    let work = move || {
        let request = xml::decode(&body, limits).map_err(UploadRefusal::Markup)?;
        drop(body);
        let find = |object, item| object_contents::task_item(&holder, object, item);
        call.begin(&shared.store, holder.agent, &find, request, &shared.asset_limits, unix_s)
    };
    let begun = if is_long { state.uploads.with_model(blocking(work)).await } else { blocking(work).await };
    begun.map_err(|why| {
        Box::new(match why {
            BeginUploadError::Refused(why) => failed_upload(&refusal(&why.to_string())),
            BeginUploadError::Store(why) => failed("beginning an upload", &why),
        })
    })
}

/// The second step: `POST /cap/{secret}/upload/{id}` with the bytes. The head of the request has used the address up ([`long_bodies`]).
pub(super) async fn receive(
    State(state): State<Arc<HttpState>>,
    Path((secret, _)): Path<(String, String)>,
    request: Request,
) -> Response {
    let upload = request.extensions().get::<Arc<UploadBody>>().cloned();
    let Some((upload, purpose)) =
        upload.and_then(|upload| upload.take_purpose().map(|found| (upload, found)))
    else {
        if holder(&state, &secret).is_none() {
            return unknown();
        }
        return error(
            StatusCode::NOT_FOUND,
            "There is no such upload; its address holds once, for five minutes.",
        );
    };
    let name = purpose.name();
    let stored = match upload.why_cut() {
        Some(cut) => Err(refusal(&cut_text(cut, name, purpose.bytes_max(&state.asset_limits)))),
        None => store(&state, upload.agent(), purpose, request.into_body()).await,
    };
    match stored {
        Ok(answer) => {
            state.uploads.count(name, UploadOutcome::Stored);
            llsd(&answer)
        }
        Err(why) => {
            state.uploads.count(name, UploadOutcome::Refused);
            failed_upload(&why)
        }
    }
}

/// Stores the bytes, and waits until they are on the disk, with the item that has them. Returns the answer, or a message for the user.
async fn store(
    state: &Arc<HttpState>,
    agent: AgentId,
    purpose: UploadPurpose,
    body: Body,
) -> Result<Llsd, String> {
    let bytes = whole(body).await;
    let finished = if matches!(purpose, UploadPurpose::Model(_)) {
        let shared = Arc::clone(state);
        let work = blocking(move || purpose.finish(agent, bytes, &shared.asset_limits));
        state.uploads.with_model(work).await
    } else {
        purpose.finish(agent, bytes, &state.asset_limits)
    };
    let FinishedUpload { assets, order, answer } = finished.map_err(|why| refusal(&why.to_string()))?;
    let (outcome, stored) = tokio::sync::oneshot::channel();
    let done = Box::new(move |result| drop(outcome.send(result)));
    state.assets.stored().add_all(assets, done);
    let stored = stored.await.unwrap_or(Err(AddAssetError::Ended));
    stored.map_err(|why| refusal(&why.to_string()))?;
    if let Some(order) = order {
        state.content_orders.carry_out(order).await?;
    }
    Ok(answer)
}

fn refusal(why: &str) -> String {
    format!("The upload is refused: {why}.")
}

/// A body that the listener has received as a whole.
async fn whole(body: Body) -> Bytes {
    // It is in memory, so that nothing of it can fail; no bytes are no upload.
    to_bytes(body, usize::MAX).await.unwrap_or_default()
}

fn cut_text(cut: BodyCut, name: &str, bytes_max: usize) -> String {
    match cut {
        BodyCut::TooLong => format!("the {name} has more than {bytes_max} bytes"),
        BodyCut::NoRoom => NO_ROOM.to_owned(),
    }
}

/// A refusal in the form that viewers show to the user. Windows for models, and clients that are no viewers, read it in `error`.
fn failed_upload(message: &str) -> Response {
    let error = [("message", Llsd::from(message)), ("identifier", "".into())];
    llsd(&Llsd::map([
        ("state", Llsd::from("error")),
        ("message", message.into()),
        ("error", Llsd::map(error)),
    ]))
}
