//! Requests to the operator's address and to clients' capabilities, over a connection that is kept for the next one as programs do, and nothing that
//! a library would be needed for.

use crate::clock;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A running server answers much sooner, however loaded.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes of an answer at most; metrics are a few hundred kilobytes.
const ANSWER_MAX: u64 = 16 << 20;

/// Idle time after which a connection is not used again: the server may be about to close it.
const REST_MAX: Duration = Duration::from_secs(1);

/// Bytes of a line of an answer's head at most.
const LINE_MAX: u64 = 8 << 10;

/// Code of an answer without a length.
const NO_CONTENT: u16 = 204;

/// A request in its wire form.
pub(crate) struct HttpRequest {
    bytes: Vec<u8>,
}

impl HttpRequest {
    /// A request without a token, for public resources of that address.
    pub(crate) fn get(addr: SocketAddr, path: &str) -> Self {
        Self::call(addr, path, None)
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
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Self { bytes: text.into_bytes() }
    }

    /// A client's call: POST with the kind of its body, or GET without one.
    pub(crate) fn call(addr: SocketAddr, path: &str, body: Option<(&str, &[u8])>) -> Self {
        let (method, about, body): (_, _, &[u8]) = match body {
            None => ("GET", String::new(), &[]),
            Some((kind, body)) => {
                ("POST", format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len()), body)
            }
        };
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {addr}\r\n{about}\r\n");
        Self { bytes: [head.as_bytes(), body].concat() }
    }
}

/// An answer of any status.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    /// Its first line.
    status: String,
    /// Code of the status; 0 if there is none.
    pub(crate) code: u16,
    pub(crate) body: Vec<u8>,
}

impl HttpAnswer {
    /// The body, unless the status says that something is wrong.
    fn into_text(self) -> io::Result<String> {
        let Self { status, code, body } = self;
        let body = String::from_utf8(body).map_err(io::Error::other)?;
        if (200..300).contains(&code) {
            Ok(body)
        } else {
            Err(io::Error::other(format!("{status}: {}", body.trim())))
        }
    }
}

/// A connection to the server.
#[derive(Debug)]
pub(crate) struct HttpConnection {
    stream: BufReader<TcpStream>,
    answered_at: Instant,
}

impl HttpConnection {
    /// A new one, which belongs to the network of the thread that makes it and may then be used by any.
    pub(crate) fn new(addr: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&addr, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), answered_at: clock::now() })
    }

    /// Sends a request, and waits for its answer.
    pub(crate) fn exchange(&mut self, request: &HttpRequest) -> io::Result<HttpAnswer> {
        self.stream.get_mut().write_all(&request.bytes)?;
        let answer = answer(&mut self.stream);
        self.answered_at = clock::now();
        answer
    }
}

/// Reads an answer, of the length that it says itself.
fn answer(stream: &mut impl BufRead) -> io::Result<HttpAnswer> {
    let mut line = String::new();
    let mut next = |stream: &mut dyn BufRead| {
        line.clear();
        let n = stream.take(LINE_MAX).read_line(&mut line)?;
        match line.strip_suffix('\n') {
            Some(line) => Ok(line.trim_end().to_owned()),
            None if n as u64 == LINE_MAX => Err(io::Error::other("a line of an answer's head is too long")),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    };
    let status: io::Result<String> = next(stream);
    let (status, mut length) = (status?, None);
    loop {
        let field = next(stream)?;
        if field.is_empty() {
            break;
        }
        if let Some((name, value)) = field.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse().map_err(io::Error::other)?);
        }
    }
    let code = status.split_ascii_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let length: u64 = match length {
        Some(length) if length <= ANSWER_MAX => length,
        None if code == NO_CONTENT => 0,
        _ => return Err(io::Error::other(format!("{status}: of no length that can be read"))),
    };
    let mut body = Vec::with_capacity(length as usize);
    if stream.take(length).read_to_end(&mut body)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(HttpAnswer { status, code, body })
}

/// The connection that is kept.
#[derive(Debug)]
pub(crate) struct PersistentConnection {
    connection: Mutex<Option<HttpConnection>>,
    rest_max: Duration,
}

impl Default for PersistentConnection {
    fn default() -> Self {
        Self { connection: Mutex::default(), rest_max: REST_MAX }
    }
}

impl PersistentConnection {
    /// Sends a request over it, or over a connection that `connect` makes, and keeps that. Several threads may ask at once.
    pub(crate) fn ask(
        &self,
        request: &HttpRequest,
        connect: impl FnOnce() -> io::Result<HttpConnection>,
    ) -> io::Result<String> {
        let kept = || self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = kept().take().filter(|connection| connection.answered_at.elapsed() < self.rest_max);
        let mut connection = fresh.map_or_else(connect, Ok)?;
        let body = connection.exchange(request)?.into_text();
        *kept() = Some(connection);
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn text(stream: &mut impl BufRead) -> io::Result<String> {
        answer(stream)?.into_text()
    }

    #[test]
    fn a_call_with_a_body_says_its_kind_and_length() {
        let addr = SocketAddr::from(([127, 0, 0, 1], 80));
        let get = HttpRequest::call(addr, "/a?b=c", None);
        assert_eq!(get.bytes, b"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n");
        let post = HttpRequest::call(addr, "/a", Some(("x/y", &[1, 255])));
        let head =
            b"POST /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Type: x/y\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(post.bytes, [&head[..], &[1, 255]].concat());
    }

    #[test]
    fn bytes_of_any_status_are_an_answer() {
        let mut refused = &b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\n\x01\xff"[..];
        let answer = answer(&mut refused).unwrap();
        assert_eq!((answer.code, answer.body), (503, vec![1, 255]));
    }

    #[test]
    fn an_answer_ends_where_it_says() {
        let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyesHTTP/1.1";
        let mut two = &ok[..];
        assert_eq!(text(&mut two).unwrap(), "yes");
        assert_eq!(two, b"HTTP/1.1");
        assert_eq!(text(&mut &b"HTTP/1.1 204 No Content\r\n\r\n"[..]).unwrap(), "");
        for (bad, why) in [
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnone\n", "HTTP/1.1 404 Not Found: none"),
            ("HTTP/1.1 200 OK\r\n\r\nyes", "HTTP/1.1 200 OK: of no length that can be read"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nyes", "unexpected end of file"),
            ("HTTP/1.1 200 OK\r\nContent-Le", "unexpected end of file"),
            ("", "unexpected end of file"),
        ] {
            assert_eq!(text(&mut bad.as_bytes()).unwrap_err().to_string(), why, "{bad:?}");
        }
    }

    /// Number of connections that two requests take when an idle one may be reused for `rest_max`.
    fn connections_of_two_requests(rest_max: Duration) -> usize {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let serve = |stream: TcpStream| {
            let mut out = stream.try_clone().unwrap();
            let ends_of_heads = BufReader::new(stream).lines().map_while(Result::ok).filter(String::is_empty);
            ends_of_heads
                .for_each(|_| out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes").unwrap());
        };
        std::thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(serve));
        let kept = PersistentConnection { rest_max, ..PersistentConnection::default() };
        let mut connections = 0;
        for _ in 0..2 {
            let connect = || {
                connections += 1;
                HttpConnection::new(addr)
            };
            assert_eq!(kept.ask(&HttpRequest::get(addr, "/"), connect).unwrap(), "yes");
        }
        connections
    }

    #[test]
    fn a_second_request_goes_over_the_same_connection_unless_that_has_rested_for_long() {
        assert_eq!(connections_of_two_requests(Duration::MAX), 1);
        assert_eq!(connections_of_two_requests(Duration::ZERO), 2);
    }
}
