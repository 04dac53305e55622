//! Commands to a running server over its operator's address.

use data_dir::{RunFile, read_token};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

/// A running server answers much sooner.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer at most: a region's damaged objects, of which an answer may name all.
const ANSWER_MAX: u64 = 16 * 1024 * 1024;

/// Errors of operator commands.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// No server runs on the data directory.
    #[error("no server seems to run on {data}: cannot read its run.json or admin.token")]
    NotRunning {
        /// The data directory.
        data: String,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// It takes no connection: the command was not sent.
    #[error("the server at {addr} takes no connection")]
    Unreachable {
        /// Its address.
        addr: String,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The command was sent, at least in part, and no whole answer has come.
    #[error("the server at {addr} has not answered: it may have carried the command out, or a part of it")]
    NoAnswer {
        /// Its address.
        addr: String,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// It said no.
    #[error("{0}")]
    Refused(String),
    /// It answers as another version would.
    #[error("the server's answer is not understood; is it of another version?")]
    Answer(#[from] serde_json::Error),
}

/// Sends one command, a JSON object, and gives the server's answer.
///
/// # Errors
/// When no server runs there, or it refuses.
pub fn command(data: &Path, path: &str, body: &serde_json::Value) -> Result<String, OperatorError> {
    command_within(PATIENCE, data, path, body)
}

/// As [`command`], for slow requests.
///
/// # Errors
/// If no server runs there, or it refuses.
pub fn command_within(
    patience: Duration,
    data: &Path,
    path: &str,
    body: &serde_json::Value,
) -> Result<String, OperatorError> {
    request(patience, data, "POST", path, &body.to_string())
}

/// Asks for something and gives the server's answer.
///
/// # Errors
/// When no server runs there, or it refuses.
pub fn get(data: &Path, path: &str) -> Result<String, OperatorError> {
    request(PATIENCE, data, "GET", path, "")
}

/// As [`get`], for answers that take their time.
///
/// # Errors
/// When no server runs there, or it refuses.
pub fn get_within(patience: Duration, data: &Path, path: &str) -> Result<String, OperatorError> {
    request(patience, data, "GET", path, "")
}

/// Deletes something, or ends it, and gives the server's answer.
///
/// # Errors
/// When no server runs there, or it refuses.
pub fn delete(data: &Path, path: &str) -> Result<String, OperatorError> {
    request(PATIENCE, data, "DELETE", path, "")
}

/// A text as one part of a path, or as a value of a query.
#[must_use]
pub fn path_part(text: &str) -> String {
    let mut part = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            part.push(char::from(byte));
        } else {
            part.push_str(&format!("%{byte:02X}"));
        }
    }
    part
}

fn request(
    patience: Duration,
    data: &Path,
    method: &str,
    path: &str,
    body: &str,
) -> Result<String, OperatorError> {
    let not_running = |source| OperatorError::NotRunning { data: data.display().to_string(), source };
    let run_file = RunFile::read(data).map_err(not_running)?;
    let token = read_token(data).map_err(not_running)?;
    let addr = run_file.admin;
    let stream = TcpStream::connect_timeout(&addr, PATIENCE);
    let mut stream =
        stream.map_err(|source| OperatorError::Unreachable { addr: addr.to_string(), source })?;
    let mut exchange = || -> io::Result<String> {
        stream.set_read_timeout(Some(patience))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        (&stream).take(ANSWER_MAX).read_to_string(&mut answer)?;
        // A server that dies closes its connections.
        if answer.contains("\r\n\r\n") { Ok(answer) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    };
    let answer = exchange().map_err(|source| OperatorError::NoAnswer { addr: addr.to_string(), source })?;
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    if status == "200" { Ok(text.to_owned()) } else { Err(OperatorError::Refused(refusal(text))) }
}

/// The sentence of a refusal, `{"error": "…"}`.
fn refusal(text: &str) -> String {
    let told: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let sentence = told.as_ref().and_then(|told| told["error"].as_str());
    sentence.unwrap_or(text).trim().to_owned()
}

/// A server of tests that dies within a command.
#[cfg(test)]
pub(crate) mod testing {
    use data_dir::{DataDir, RunFile};
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::path::Path;

    /// Makes a data directory that names this listener as its server's operator's address.
    pub(crate) fn data_dir_of(data: &Path, server: &TcpListener) {
        let addr = server.local_addr().expect("an address");
        let data = DataDir::open(data).expect("a data directory");
        data.admin_token().expect("a token");
        data.write_run_file(&RunFile::new(addr, &[], addr)).expect("a run file");
    }

    /// Reads one command and closes its connection after these bytes of an answer.
    pub(crate) fn answer_once(server: &TcpListener, answer: &str) {
        let (mut stream, _) = server.accept().expect("a connection");
        let (mut command, mut bytes) = (Vec::new(), [0; 4_096]);
        // Unread bytes would reset the connection. All bodies of tests are JSON objects.
        while !command.ends_with(b"}") {
            let n = stream.read(&mut bytes).expect("a command");
            command.extend_from_slice(&bytes[..n]);
        }
        stream.write_all(answer.as_bytes()).expect("an answer");
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{answer_once, data_dir_of};
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_name_in_a_path_has_no_meaning_of_its_own() {
        assert_eq!(path_part("Old Town/é?#%"), "Old%20Town%2F%C3%A9%3F%23%25");
        assert_eq!(path_part("Harbour-1_a.b~"), "Harbour-1_a.b~");
    }

    #[test]
    fn a_command_without_an_answer_counts_as_sent_once_there_was_a_connection() {
        let data = tempfile::tempdir().expect("a directory");
        let server = TcpListener::bind("127.0.0.1:0").expect("an address");
        data_dir_of(data.path(), &server);
        let send = || command(data.path(), "/v1/alert", &serde_json::json!({}));
        for answer in ["", "HTTP/1.1 200 OK\r\nContent-"] {
            let told = std::thread::scope(|scope| {
                scope.spawn(|| answer_once(&server, answer));
                send()
            });
            assert!(matches!(told, Err(OperatorError::NoAnswer { .. })), "{told:?}");
        }
        drop(server);
        assert!(matches!(send(), Err(OperatorError::Unreachable { .. })));
    }
}
