//! `throng trace` and `throng tune` against a real server.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const PROGRAM: &str = env!("CARGO_BIN_EXE_throng");

/// A server on a directory of its own, until it is dropped.
struct Server {
    process: Child,
    data: PathBuf,
}

impl Server {
    fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    fn start_with(data: &Path, environment: &[(&str, &str)]) -> Self {
        let any = "127.0.0.1:0";
        let mut process = Command::new(PROGRAM)
            .args(["serve", "--http", any, "--udp", any, "--admin", any, "--data"])
            .arg(data)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "Throng is ready.\n");
        Self { process, data: data.into() }
    }

    /// Answer to a browser that sends the token as a password: status line, headers and page.
    fn browse(&self, method: &str, path: &str, password: &str) -> String {
        let password = if password == "TOKEN" { self.token() } else { password.to_owned() };
        let both = BASE64_STANDARD.encode(format!("operator:{password}"));
        self.exchange(method, path, &format!("Basic {both}"), "")
    }

    /// Has a world's next step take so long.
    fn slow(&self, world: &str, ms: u32) {
        let order = serde_json::json!({ "kind": "slow", "where": format!("world:{world}"), "ms": ms });
        let authorization = format!("Bearer {}", self.token());
        let answer = self.exchange("POST", "/v1/fault", &authorization, &order.to_string());
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }

    fn token(&self) -> String {
        std::fs::read_to_string(self.data.join("admin.token")).unwrap().trim().to_owned()
    }

    fn exchange(&self, method: &str, path: &str, authorization: &str, body: &str) -> String {
        let run = std::fs::read_to_string(self.data.join("run.json")).unwrap();
        let run: serde_json::Value = serde_json::from_str(&run).unwrap();
        let mut stream = TcpStream::connect(run["admin"].as_str().unwrap()).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Output of a command, or its error.
    fn run(&self, words: &str) -> Result<String, String> {
        throng(&self.data, words)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let _ = self.process.wait();
    }
}

fn throng(data: &Path, words: &str) -> Result<String, String> {
    let output =
        Command::new(PROGRAM).args(words.split_whitespace()).arg("--data").arg(data).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn an_operators_capture_is_listed_and_shown_even_after_the_end_of_the_server() {
    let data = tempfile::tempdir().unwrap();
    let name = {
        let server = Server::start(data.path());
        assert!(server.run("trace live --once").unwrap().contains("in scopes"));
        server.run("trace save").unwrap().trim_end().to_owned()
    };
    assert!(name.ends_with("-operator-1"), "{name}");
    assert!(throng(data.path(), "trace list").unwrap().starts_with(&name));
    let newest = throng(data.path(), "trace summary").unwrap();
    assert!(newest.starts_with("operator capture, "), "{newest}");
    assert_eq!(throng(data.path(), &format!("trace summary {name}")).unwrap(), newest);
    let shown = throng(data.path(), &format!("trace show {name}")).unwrap();
    assert!(shown.contains(&format!("{name}.perfetto-trace\n")), "{shown}");
    assert!(throng(data.path(), "trace show ../admin.token").unwrap_err().contains("there is no capture"));
    assert!(throng(data.path(), "trace save").unwrap_err().contains("no server seems to run"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the moment is the one that the server's calendar has")]
fn a_spike_s_link_leads_a_browser_to_the_captures_around_it() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let name = server.run("trace save").unwrap().trim_end().to_owned();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let path = format!("/v1/captures/at/{now}");
    let page = server.browse("GET", &path, "TOKEN");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("content-type: text/html"), "{page}");
    assert!(page.contains(&format!("href=\"/v1/captures/{name}.perfetto-trace\"")), "{page}");
    assert!(page.contains("operator capture, "), "its summary is there: {page}");
    assert!(server.browse("GET", "/v1/captures/at/1000", "TOKEN").contains("Nothing was captured"));

    let refused = server.browse("GET", &path, "guessed");
    assert!(refused.starts_with("HTTP/1.1 401") && refused.contains("www-authenticate: Basic"), "{refused}");
    // Any page could make a browser send that.
    assert!(server.browse("POST", "/v1/captures", "TOKEN").starts_with("HTTP/1.1 401"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a limit for what should not take long")]
fn a_step_that_does_not_end_is_captured_while_it_lasts() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_with(data.path(), &[("THRONG__DIAGNOSE__ALLOW_FAULTS", "true")]);
    server.slow("Harbour", 6_000);
    let began = Instant::now();
    let told = loop {
        let list = server.run("trace list").unwrap();
        if let Some(line) = list.lines().next() {
            break line.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{list}");
    };
    assert!(told.contains("-frame-") && told.contains("Harbour"), "{told}");
    let name = told.split_whitespace().next().unwrap();
    let summary = server.run(&format!("trace summary {name}")).unwrap();
    assert!(summary.contains("world.unended for world Harbour took"), "{summary}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a limit for what should not take long")]
fn a_step_longer_than_a_tick_is_listed_as_missed_with_its_fate() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_with(data.path(), &[("THRONG__DIAGNOSE__ALLOW_FAULTS", "true")]);
    server.slow("Harbour", 300);
    let began = Instant::now();
    let miss = loop {
        let authorization = format!("Bearer {}", server.token());
        let answer = server.exchange("GET", "/v1/frames/missed", &authorization, "");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let list: serde_json::Value = serde_json::from_str(body).unwrap();
        let misses = list["misses"].as_array().unwrap();
        // Others may be of a machine that is busy.
        let slow = misses.iter().find(|miss| miss["took_us"].as_u64() >= Some(300_000));
        if let Some(miss) = slow.filter(|miss| !miss["fate"].is_null()) {
            break miss.clone();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{list}");
    };
    assert_eq!(miss["world"], 1, "Harbour: {miss}");
    assert!(miss["fate"] == "captured" || miss["fate"] == "suppressed", "{miss}");
}

#[test]
fn captures_that_cannot_be_written_stop_no_client() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("captures"), "a file where the directory should be").unwrap();
    let server = Server::start(data.path());
    for _ in 0..2 {
        let why = server.run("trace save").unwrap_err();
        assert!(why.contains("cannot create"), "{why}");
    }
    std::fs::remove_file(data.path().join("captures")).unwrap();
    assert!(server.run("trace save").is_ok());
}

#[test]
fn tuned_values_are_listed_and_persist_on_request() {
    let data = tempfile::tempdir().unwrap();
    let line = |server: &Server, key: &str| {
        let list = server.run("tune").unwrap();
        let found = list.lines().find(|line| line.starts_with(key));
        found
            .unwrap_or_else(|| panic!("no {key} in\n{list}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    {
        let server = Server::start(data.path());
        server.run("tune gateway.agent_update_filter off --persist").unwrap();
        server.run("tune recorder.horizon_s 9").unwrap();
        server.run("tune recorder.limit.shard.nothing_us 700 --persist").unwrap();
        assert_eq!(line(&server, "gateway.agent_update_filter"), "gateway.agent_update_filter off (kept)");
        assert_eq!(line(&server, "recorder.horizon_s"), "recorder.horizon_s 9");
        let why = server.run("tune gateway.agent_update_filter loud").unwrap_err();
        assert!(why.contains("must be \"off\", \"equality\" or \"significance\""), "{why}");
        assert!(server.run("tune gateway.shards 3").unwrap_err().contains("cannot be set"));
    }
    let server = Server::start(data.path());
    assert_eq!(line(&server, "gateway.agent_update_filter"), "gateway.agent_update_filter off (kept)");
    assert_eq!(line(&server, "recorder.horizon_s"), "recorder.horizon_s 5");
    let limit = "recorder.limit.shard.nothing_us";
    assert_eq!(line(&server, limit), format!("{limit} 700 (kept)"));
}
