//! Requests to the operator's address: one a connection, and nothing that a library would be needed for.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A running server answers much sooner, however loaded.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes of an answer at most; metrics are a few hundred kilobytes.
const ANSWER_MAX: u64 = 16 << 20;

pub(crate) fn get(addr: SocketAddr, path: &str) -> io::Result<String> {
    exchange(addr, &format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n"))
}

pub(crate) fn post(
    addr: SocketAddr,
    path: &str,
    token: &str,
    body: &serde_json::Value,
) -> io::Result<String> {
    let body = body.to_string();
    exchange(
        addr,
        &format!(
            "POST {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ),
    )
}

fn exchange(addr: SocketAddr, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&addr, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    if head.split_ascii_whitespace().nth(1) == Some("200") {
        return Ok(body.to_owned());
    }
    Err(io::Error::other(format!("{}: {}", head.lines().next().unwrap_or_default(), body.trim())))
}
