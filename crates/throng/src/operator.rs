//! Commands to a running server over its operator's address.

use data_dir::{RunFile, read_token};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

/// A running server answers much sooner.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer at most.
const ANSWER_MAX: u64 = 1024 * 1024;

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
    /// It does not answer.
    #[error("the server at {addr} does not answer")]
    Unreachable {
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
    let exchange = || -> io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&addr, PATIENCE)?;
        stream.set_read_timeout(Some(patience))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.take(ANSWER_MAX).read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer =
        exchange().map_err(|source| OperatorError::Unreachable { addr: addr.to_string(), source })?;
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
