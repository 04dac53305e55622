//! EventQueueGet: a long poll (PROTOCOL §7.3).

use super::Portal;
use super::capabilities::unknown;
use super::reply::{llsd, read_map};
use crate::hub::{EventQueueAnswer, Poll};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ids::Uuid;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};
use wire::llsd::Llsd;

/// How long a poll waits with nothing to say: node-metaverse takes less than 30 s for an error, viewers give up at 60.
const HOLD: Duration = Duration::from_secs(40);

/// `POST /cap/{secret}/EventQueueGet`.
pub(super) async fn poll(
    State(portal): State<Arc<Portal>>,
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
    loop {
        match portal.sessions.with(|hub| hub.poll_events(secret, ack)) {
            // The client is about to leave: it reads no more, but wants to be answered.
            EventQueueAnswer::Poll(_) | EventQueueAnswer::Farewell if done => return nothing(ack),
            EventQueueAnswer::Poll(Poll::Ready(events)) => return llsd(&events),
            EventQueueAnswer::Poll(Poll::Wait(notify)) => {
                if timeout_at(until, notify.notified()).await.is_err() {
                    // What clients take for "nothing new".
                    return StatusCode::BAD_GATEWAY.into_response();
                }
            }
            // The client may not know yet that its session is over (its LogoutReply got lost): a failed poll would
            // alarm it. It hangs up, or learns that there is nothing here any more.
            EventQueueAnswer::Farewell => {
                sleep_until(until).await;
                return unknown();
            }
            EventQueueAnswer::Unknown => return unknown(),
        }
    }
}

fn nothing(ack: Option<i32>) -> Response {
    llsd(&Llsd::map([("id", Llsd::from(ack.unwrap_or(0))), ("events", Llsd::Array(Vec::new()))]))
}
