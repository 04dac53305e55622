//! Serving HTTP: connections for as long as clients keep them, thousands of which wait for an event at any time.
//!
//! `axum::serve` sets no limits; here a connection has as little memory as hyper can do with, and no time to send its request
//! in drips.

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use gateway::http::Peer;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

/// Bytes of a request's head at most, and of memory for reading: the least that hyper takes.
const BUFFER_BYTES: usize = 8 * 1024;

/// How long a connection may take for the head of a request, the rest between two requests included.
const HEAD_MAX: Duration = Duration::from_secs(120);

/// Pause after a connection could not be taken: the process is out of descriptors, and others have to end first.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Serves `app` to whoever connects, until this is dropped; connections go on after that.
pub(super) async fn serve(listener: TcpListener, app: Router) {
    loop {
        match listener.accept().await {
            Ok((stream, remote)) => {
                tokio::spawn(converse(stream, remote, app.clone()));
            }
            Err(error) if is_of_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot take a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Whether only the connection that was about to be taken is gone (accept(2)).
fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn converse(stream: TcpStream, remote: SocketAddr, app: Router) {
    let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let peer = Peer { remote, local: stream.local_addr().unwrap_or(nowhere) };
    let answer = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        app.clone().call(request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades();
    if let Err(error) = connection.await {
        // Clients hang up as they like.
        tracing::trace!(%error, %remote, "a connection ended");
    }
}
