//! The end of the server: the signals that ask for it, and `POST /v1/shutdown`.

use super::ServeError;
use super::faults::Fuse;
use crate::hangup::Hangup;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Message to visitors when a signal ends the server.
const FAREWELL: &str = "The server is about to stop. Please come back later.";

/// An order to end the server.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShutdownOrder {
    /// Text for the users, at most 254 bytes.
    #[schema(min_length = 1, max_length = 254, extensions(("x-max-bytes" = json!(254))))]
    message: String,
    /// Process id of the server, as `GET /v1/status` has it: an order for an earlier server does not end the present one.
    pid: u32,
}

/// The server ends.
#[derive(Serialize, ToSchema)]
#[schema(as = ShutdownBegun)]
struct ShutdownReply {
    /// Its process id.
    pid: u32,
}

/// The route. Orders go to the [`Ending`].
pub(super) fn router(orders: mpsc::Sender<ShutdownOrder>) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(shut_down)).with_state(orders)
}

/// End the server as SIGTERM does: users are put out with a message, everything is saved, and the process ends.
#[utoipa::path(post, path = "/v1/shutdown", request_body = ShutdownOrder, responses(
    (status = 200, description = "It begins.", body = ShutdownReply),
    (status = 409, description = "The order is for another process, or the server is about to end already."),
))]
async fn shut_down(
    State(orders): State<mpsc::Sender<ShutdownOrder>>,
    Json(order): Json<ShutdownOrder>,
) -> Result<Json<ShutdownReply>, (StatusCode, String)> {
    if order.pid != std::process::id() {
        let why = format!("The process id of this server is {}, not {}.", std::process::id(), order.pid);
        return Err((StatusCode::CONFLICT, why));
    }
    let sent = orders.try_send(order);
    sent.map_err(|_| (StatusCode::CONFLICT, "The server is about to end already.".to_owned()))?;
    Ok(Json(ShutdownReply { pid: std::process::id() }))
}

/// Reason of the end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EndCause {
    /// Name in the log.
    pub(super) name: &'static str,
    /// Message to visitors.
    pub(super) farewell: String,
}

impl EndCause {
    fn signal(name: &'static str) -> Self {
        Self { name, farewell: FAREWELL.to_owned() }
    }
}

/// Listens to everything that ends the server. It begins before the server says that it is ready: a signal may follow at once.
pub(super) struct Ending {
    terminate: Signals,
    interrupt: Signals,
    hangup: Hangup,
    orders: mpsc::Receiver<ShutdownOrder>,
}

impl Ending {
    pub(super) fn listen(orders: mpsc::Receiver<ShutdownOrder>) -> Result<Self, ServeError> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(ServeError::Signal)?,
            interrupt: signal(SignalKind::interrupt()).map_err(ServeError::Signal)?,
            hangup: Hangup::listen().map_err(ServeError::Signal)?,
            orders,
        })
    }

    /// Until one comes; meanwhile the main thread has nothing to do but faults.
    pub(super) async fn wait(&mut self, fuse: &Fuse, turn: &Notify) -> EndCause {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return EndCause::signal("SIGTERM"),
                _ = self.interrupt.recv() => return EndCause::signal("SIGINT"),
                () = self.hangup.recv() => return EndCause::signal("SIGHUP"),
                Some(ShutdownOrder { message, .. }) = self.orders.recv() => {
                    return EndCause { name: "the operator", farewell: message };
                }
                () = turn.notified() => fuse.strike(),
            }
        }
    }
}
