//! Serving HTTP: connections for as long as clients keep them, thousands of which wait for an event at any time.
//!
//! `axum::serve` sets no limits. Here every wait for a client has a deadline (`socket`), connections are capped in total and per
//! address (`table`, which has the policy), and a handler runs only when its request is complete (`body`). The routers of [`super`]
//! interpret paths.

mod body;
mod connections;
mod socket;
mod table;

pub use body::{BodyAccount, BodyCut, LongBodies, OpenAccount};
pub use connections::{ConnectionLimiter, EndCounters, Occupancy};
pub use table::Caps;

use super::Proxies;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use connections::ConnectionSlot;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket::{Deadlines, Socket, SocketProgress, SocketStage};
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use table::{ConnectionOrigin, ShareTaken};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

/// Bytes of a request's head at most: the least that hyper takes.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// Viewers keep connections for their next request, and send requests within milliseconds. A body of the largest size takes 20 s over a line of
/// 200 kbit/s, an upload of 16 MiB 280 s over one of 500 kbit/s.
const DEADLINES: Deadlines = Deadlines {
    idle: Duration::from_secs(120),
    head: Duration::from_secs(10),
    body: Duration::from_secs(30),
    long_body: Duration::from_secs(300),
    unread: Duration::from_secs(30),
};

/// Pause after a connection could not be taken: the process is out of descriptors, and others have to end first.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// The answer to a request beyond its client's share of connections.
const OVER_SHARE: &str = "Your address has too many requests under way.\n";

/// Service at an address.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its routes.
    pub app: Router,
    /// Its connections, with their caps.
    pub connections: Arc<ConnectionLimiter>,
    /// Bytes of a request's body at most.
    pub body_bytes_max: usize,
    /// Bodies that may be longer; none without such.
    pub long_bodies: Option<LongBodies>,
    /// The proxies that may stand in front of it.
    pub proxies: Arc<Proxies>,
}

impl Site {
    fn address(&self, peer: IpAddr) -> ConnectionOrigin {
        if self.proxies.trusts(peer) { ConnectionOrigin::Proxy } else { ConnectionOrigin::of(peer) }
    }
}

/// Serves the site until this is dropped; connections go on after that.
pub async fn serve(listener: TcpListener, site: Site) {
    loop {
        match listener.accept().await {
            Ok((stream, remote)) => {
                // Closed at once when there is no place for it.
                if let Some(slot) = site.connections.admit(site.address(remote.ip())).await {
                    tokio::spawn(converse(stream, remote, slot, site.clone(), DEADLINES));
                }
            }
            Err(error) if is_of_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot take a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// True if the error concerns only the connection to be accepted (accept(2)).
fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn converse(
    stream: TcpStream,
    remote: SocketAddr,
    slot: ConnectionSlot,
    site: Site,
    deadlines: Deadlines,
) {
    let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let local = stream.local_addr().unwrap_or(nowhere);
    let eviction = slot.eviction();
    let progress = SocketProgress::new(slot);
    let socket = Socket::new(stream, Arc::clone(&progress), deadlines);
    let answer =
        service_fn(move |request| answer(request, remote, local, site.clone(), Arc::clone(&progress)));
    let connection = http1::Builder::new()
        // The socket has deadlines of its own.
        .header_read_timeout(None)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(socket), answer)
        .with_upgrades();
    tokio::select! {
        ended = connection => if let Err(error) = ended {
            // Clients hang up as they like.
            tracing::trace!(%error, %remote, "a connection ended");
        },
        () = eviction.notified() => tracing::debug!(%remote, "a waiting connection was closed for another"),
    }
}

async fn answer(
    request: Request<Incoming>,
    remote: SocketAddr,
    local: SocketAddr,
    mut site: Site,
    progress: Arc<SocketProgress>,
) -> Result<Response, hyper::Error> {
    let (mut head, body) = request.into_parts();
    // Held until the answer is made: so long the body is in memory.
    let account = site.long_bodies.as_ref().and_then(|bodies| (bodies.0)(&mut head));
    let body = match &account {
        Some(account) => body::receive_long(body, &progress, &**account).await?,
        None => body::receive(body, &progress, site.body_bytes_max).await?,
    };
    let peer = site.proxies.peer(remote, local, &head.headers);
    head.extensions.insert(ConnectInfo(peer));
    let response = match progress.begin_service(site.address(peer.remote.ip())) {
        Ok(()) => {
            let Ok(response) = site.app.call(Request::from_parts(head, body)).await;
            response
        }
        Err(ShareTaken) => (StatusCode::TOO_MANY_REQUESTS, OVER_SHARE).into_response(),
    };
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        progress.begin_wait(SocketStage::Idle);
        // hyper has found nothing to read while the request was served and would not look again: the socket has to learn that it is to keep a
        // deadline now.
        poll_fn(|context| {
            context.waker().wake_by_ref();
            Poll::Ready(())
        })
        .await;
    }
    Ok(response)
}

#[cfg(test)]
mod tests;
