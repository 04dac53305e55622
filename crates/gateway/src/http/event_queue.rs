//! EventQueueGet: a long poll. Each secret has at most one waiting poll, the newest ([`crate::hub::EventQueue`]).

use super::HttpState;
use super::holder::unknown;
use super::reply::{llsd, read_map};
use crate::hub::{EventQueueAnswer, Poll};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ids::Uuid;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use wire::llsd::Llsd;

/// Duration of a poll without events: node-metaverse takes less than 30 s for an error, viewers give up at 60.
const HOLD: Duration = Duration::from_secs(40);

/// `POST /cap/{secret}/EventQueueGet`.
pub(super) async fn poll(
    State(state): State<Arc<HttpState>>,
    Path(secret): Path<String>,
    body: Bytes,
) -> Response {
    let secret = Uuid::parse_str(&secret).unwrap_or(Uuid::nil());
    let request = match read_map(&body) {
        Ok(request) => request,
        Err(response) => return *response,
    };
    let ack = request.get("ack").as_i32();
    let done = request.get("done").as_bool().unwrap_or(false);
    let until = Instant::now() + HOLD;
    let mut answer = state.sessions.with(|hub| hub.poll_events(secret, ack));
    loop {
        let is_over = matches!(answer, EventQueueAnswer::Farewell(_));
        let poll = match answer {
            // The client is about to leave: it reads no more, but wants to be answered.
            EventQueueAnswer::Poll(_) | EventQueueAnswer::Farewell(_) if done => return nothing(ack),
            EventQueueAnswer::Poll(Poll::Ready(events)) => return llsd(&events.to_llsd()),
            // After a session's end the client may not know of it yet (its LogoutReply got lost): a failed poll would alarm it. It hangs up,
            // or learns in the end that there is nothing here any more.
            EventQueueAnswer::Poll(Poll::Wait(poll)) | EventQueueAnswer::Farewell(poll) => poll,
            EventQueueAnswer::Unknown => return unknown(),
        };
        if timeout_at(until, poll.notified()).await.is_err() {
            return if is_over { unknown() } else { nothing_new() };
        }
        match state.sessions.with(|hub| hub.resume_poll(secret, ack, &poll)) {
            Some(next) => answer = next,
            None => return nothing_new(),
        }
    }
}

/// The protocol's status for a poll that ends without an event.
fn nothing_new() -> Response {
    StatusCode::BAD_GATEWAY.into_response()
}

fn nothing(ack: Option<i32>) -> Response {
    llsd(&Llsd::map([("id", Llsd::from(ack.unwrap_or(0))), ("events", Llsd::Array(Vec::new()))]))
}
