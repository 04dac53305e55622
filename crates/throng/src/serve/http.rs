//! Serving HTTP: connections for as long as clients keep them, thousands of which wait for an event at any time.
//!
//! `axum::serve` sets no limits; here the head of a request has a length, and no time to come in drips.

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

/// Bytes of a request's head at most: the least that hyper takes.
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
                tokio::spawn(converse(stream, remote, app.clone(), HEAD_MAX));
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

async fn converse(stream: TcpStream, remote: SocketAddr, app: Router, head_max: Duration) {
    let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let peer = Peer { remote, local: stream.local_addr().unwrap_or(nowhere) };
    let answer = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        app.clone().call(request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_max)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades();
    if let Err(error) = connection.await {
        // Clients hang up as they like.
        tracing::trace!(%error, %remote, "a connection ended");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    /// Sends this to a connection and reads until the server closes it.
    fn answered(request: &str) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.expect("it listens");
            let (stream, remote) = listener.accept().await.expect("somebody connects");
            let who = |ConnectInfo(peer): ConnectInfo<Peer>| async move { peer.remote.port().to_string() };
            let app = Router::new().route("/who", get(who));
            tokio::spawn(converse(stream, remote, app, Duration::from_millis(50)));
            client.write_all(request.as_bytes()).await.expect("it reads");
            let mut answer = String::new();
            // One that is not closed is waited for until the test's own time is over.
            client.read_to_string(&mut answer).await.expect("text");
            answer.replace(&remote.port().to_string(), "PORT")
        })
    }

    #[test]
    fn a_request_is_answered_to_whom_it_came_from_and_a_connection_at_rest_is_closed() {
        let answer = answered("GET /who HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("PORT"), "{answer}");
    }

    #[test]
    fn a_head_that_comes_in_drips_or_has_no_end_is_not_waited_for() {
        let drip = answered("GET /who HTTP/1.1\r\nHost:");
        assert!(!drip.contains("200 OK"), "{drip}");
        let endless = format!("GET /who HTTP/1.1\r\nHost: here\r\nX: {}\r\n\r\n", "x".repeat(BUFFER_BYTES));
        let endless = answered(&endless);
        assert!(endless.starts_with("HTTP/1.1 431"), "{endless}");
    }
}
