//! Reads a request's body before its handler runs, so that a handler never waits for a client and what has arrived can be counted.

use super::socket::{SocketProgress, SocketStage};
use axum::body::{Body, Bytes};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};

/// The whole body, or as much as shows that it is longer than `bytes_max`: refusing it is the handler's business, in its own dialect.
///
/// # Errors
/// When the client broke off, took too long or sent no proper body.
pub(super) async fn receive(
    mut body: Incoming,
    progress: &SocketProgress,
    bytes_max: usize,
) -> Result<Body, hyper::Error> {
    if body.is_end_stream() {
        return Ok(Body::empty());
    }
    progress.begin_wait(SocketStage::Body);
    let mut received = Vec::new();
    // A length that is given is refused before anything of it is read.
    if body.size_hint().lower() > bytes_max as u64 {
        return Ok(oversized(bytes_max));
    }
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        progress.slot.receive(data.len());
        if received.len() + data.len() > bytes_max {
            return Ok(oversized(bytes_max));
        }
        received.extend_from_slice(&data);
    }
    Ok(Body::from(received))
}

/// Stands for a body that was not read to its end.
fn oversized(bytes_max: usize) -> Body {
    Body::from(Bytes::from(vec![0; bytes_max + 1]))
}
