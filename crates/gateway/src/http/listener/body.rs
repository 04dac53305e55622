//! Reads a request's body before its handler runs, so that a handler never waits for a client and what has arrived can be counted.

use super::socket::{SocketProgress, SocketStage};
use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use std::fmt;
use std::sync::Arc;

/// The account of a body that may be longer than those of other requests. Its bytes do not count among theirs.
pub trait BodyAccount: Send + Sync {
    /// Bytes that the body may have.
    fn bytes_max(&self) -> usize;

    /// Takes room for further bytes; false if there is none.
    fn take(&self, bytes: usize) -> bool;

    /// The body is not read to its end. Its handler gets none, and states the reason in its own dialect.
    fn cut(&self, why: BodyCut);
}

/// Reasons for which a body is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyCut {
    /// It has more bytes than it may have.
    TooLong,
    /// There is no room for its next bytes.
    NoRoom,
}

/// Opens the account of a body by the head of its request, and leaves in the head what its handler needs. None for bodies of the usual length.
pub type OpenAccount = dyn Fn(&mut Parts) -> Option<Arc<dyn BodyAccount>> + Send + Sync;

/// Long bodies of a site.
#[derive(Clone)]
pub struct LongBodies(pub Arc<OpenAccount>);

impl fmt::Debug for LongBodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LongBodies").finish_non_exhaustive()
    }
}

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

/// The same for a body with an account; none once it is cut.
///
/// # Errors
/// As for [`receive`].
pub(super) async fn receive_long(
    mut body: Incoming,
    progress: &SocketProgress,
    account: &dyn BodyAccount,
) -> Result<Body, hyper::Error> {
    if body.is_end_stream() {
        return Ok(Body::empty());
    }
    progress.begin_wait(SocketStage::LongBody);
    let bytes_max = account.bytes_max();
    let stated = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if stated > bytes_max {
        account.cut(BodyCut::TooLong);
        return Ok(Body::empty());
    }
    // Memory that nothing is written to costs addresses only.
    let mut received = Vec::with_capacity(stated);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let cut = if received.len() + data.len() > bytes_max {
            Some(BodyCut::TooLong)
        } else if !account.take(data.len()) {
            Some(BodyCut::NoRoom)
        } else {
            None
        };
        if let Some(why) = cut {
            account.cut(why);
            return Ok(Body::empty());
        }
        received.extend_from_slice(&data);
    }
    Ok(Body::from(received))
}

/// Stands for a body that was not read to its end.
fn oversized(bytes_max: usize) -> Body {
    Body::from(Bytes::from(vec![0; bytes_max + 1]))
}
