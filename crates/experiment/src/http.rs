//! Requests to the operator's address: one a connection, and nothing that a library would be needed for.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A running server answers much sooner, however loaded.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes of an answer at most; metrics are a few hundred kilobytes.
const ANSWER_MAX: u64 = 16 << 20;

/// What is asked for, as it goes over the wire.
pub(crate) struct Request {
    text: String,
}

impl Request {
    /// Without a token: what everybody at that address may see.
    pub(crate) fn get(addr: SocketAddr, path: &str) -> Self {
        Self { text: format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n") }
    }

    /// An operator's command; without a body for methods that have none.
    pub(crate) fn order(
        addr: SocketAddr,
        method: &str,
        path: &str,
        token: &str,
        body: Option<&serde_json::Value>,
    ) -> Self {
        let body = body.map_or_else(String::new, serde_json::Value::to_string);
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\n{kind}\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        Self { text }
    }

    /// Asks over a connection; the body that comes back, unless the status says that something is wrong.
    pub(crate) fn exchange(&self, mut stream: TcpStream) -> io::Result<String> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(self.text.as_bytes())?;
        let mut answer = String::new();
        stream.take(ANSWER_MAX).read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        if head.split_ascii_whitespace().nth(1).is_some_and(|status| status.starts_with('2')) {
            return Ok(body.to_owned());
        }
        Err(io::Error::other(format!("{}: {}", head.lines().next().unwrap_or_default(), body.trim())))
    }
}

/// A connection, which belongs to the network of the thread that makes it and may then be used by any.
pub(crate) fn connect(addr: SocketAddr) -> io::Result<TcpStream> {
    TcpStream::connect_timeout(&addr, PATIENCE)
}
