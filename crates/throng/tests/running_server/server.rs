//! A server on free ports, and bots for it.

use crate::api::Api;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than any test machine takes: a longer wait is in vain.
const PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const BOTS: usize = 20;

pub(crate) fn throng() -> Command {
    Command::new(env!("CARGO_BIN_EXE_throng"))
}

/// A server on free ports, which is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    /// Kept open: the server has something to say.
    _stdout: BufReader<ChildStdout>,
    pub(crate) data: TempDir,
    admin: String,
    login: String,
    token: String,
    api: OnceLock<Api>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with("")
    }

    /// With a configuration file.
    pub(crate) fn start_with(config: &str) -> Self {
        Self::start_by(throng(), config)
    }

    /// Likewise, by a command that becomes the program with the arguments that follow.
    pub(crate) fn start_by(program: Command, config: &str) -> Self {
        let data = tempfile::tempdir().unwrap();
        std::fs::write(data.path().join("throng.toml"), config).unwrap();
        Self::launch(program, data)
    }

    /// Starts it on its data directory again, after its end.
    pub(crate) fn start_again(&mut self) {
        let data = std::mem::replace(&mut self.data, tempfile::tempdir().unwrap());
        *self = Self::launch(throng(), data);
    }

    /// On this data directory, which has its configuration file.
    pub(crate) fn start_on(data: TempDir) -> Self {
        Self::launch(throng(), data)
    }

    fn launch(mut program: Command, data: TempDir) -> Self {
        let log = File::create(data.path().join("server.log")).unwrap();
        let mut child = program
            .args(["serve", "--http", "127.0.0.1:0", "--udp", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .arg("--open-registration")
            .arg("--config")
            .arg(data.path().join("throng.toml"))
            .arg("--data")
            .arg(data.path())
            .env("THRONG__DIAGNOSE__ALLOW_FAULTS", "true")
            .env("THRONG__SERVER__LOG_FILTER", "info")
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("ready"), "{line}");
        let run: serde_json::Value = serde_json::from_str(&read(data.path(), "run.json")).unwrap();
        let text = |key: &str| run[key].as_str().unwrap().to_owned();
        let token = read(data.path(), "admin.token").trim().to_owned();
        let (admin, login) = (text("admin"), text("login_uri"));
        Self { child, _stdout: stdout, admin, login, token, data, api: OnceLock::new() }
    }

    /// Address of the HTTP listener.
    pub(crate) fn login_addr(&self) -> SocketAddr {
        self.login.trim_start_matches("http://").trim_end_matches('/').parse().unwrap()
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it with SIGTERM; its exit status.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }

    /// Ends it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Bots that stand around for so long and report what they saw.
    pub(crate) fn bots(&self, stay: &str) -> Child {
        let count = BOTS.to_string();
        throng()
            .args(["bots", "--login", &self.login, "--count", &count, "--observers", &count])
            .args(["--behavior", "walk", "--ramp", "50/s", "--duration", stay, "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// A user that stays until the end, "Bot0001 Guest".
    pub(crate) fn guest(&self) -> Guest {
        let bots = throng()
            .args(["bots", "--login", &self.login, "--count", "1", "--last-name", "Guest"])
            .args(["--behavior", "stand", "--duration", "600s", "--json"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Guest(bots)
    }

    /// One exchange with the operator's address; the body of the answer.
    pub(crate) fn ask(&self, head: &str, body: &str) -> String {
        self.exchange(head, body).1
    }

    /// Likewise, and its status.
    pub(crate) fn exchange(&self, head: &str, body: &str) -> (u16, String) {
        self.exchange_as(Some(&self.token), head, body)
    }

    /// Likewise, with this token. The answer has to be as the API's description says.
    pub(crate) fn exchange_as(&self, token: Option<&str>, head: &str, body: &str) -> (u16, String) {
        let (status, answer) = self.exchange_unchecked(token, head, body);
        self.api().check(head, status, &answer);
        (status, answer)
    }

    /// The description of the API.
    pub(crate) fn api(&self) -> &Api {
        self.api.get_or_init(|| Api::read(&self.exchange_unchecked(None, "GET /v1/openapi.json", "").1))
    }

    /// Its log so far.
    pub(crate) fn log(&self) -> String {
        read(self.data.path(), "server.log")
    }

    /// A command on its data directory: what it prints, or why it fails.
    pub(crate) fn run(&self, words: &str) -> Result<String, String> {
        let output =
            throng().args(words.split_whitespace()).arg("--data").arg(self.data.path()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// The head of the answer to the operator: status line and headers.
    pub(crate) fn head(&self, head: &str, body: &str) -> String {
        self.talk(Some(&self.token), head, body).0
    }

    /// `GET` of a path at the public address: status and body.
    pub(crate) fn get_public(&self, path: &str) -> (u16, String) {
        let address = self.login.trim_start_matches("http://").trim_end_matches('/');
        let (head, body) = exchange_with(address, "", &format!("GET {path}"), "");
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
    }

    /// Likewise, with the body as bytes.
    pub(crate) fn get_public_bytes(&self, path: &str) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(self.login_addr()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|at| at == b"\r\n\r\n").expect("the end of the head");
        let body = answer.split_off(end + 4);
        let head = String::from_utf8(answer).expect("a head of text");
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
    }

    /// The address of the public page.
    pub(crate) fn login_uri(&self) -> &str {
        &self.login
    }

    /// The operator's address.
    pub(crate) fn admin(&self) -> &str {
        &self.admin
    }

    fn exchange_unchecked(&self, token: Option<&str>, head: &str, body: &str) -> (u16, String) {
        let (head, body) = self.talk(token, head, body);
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
    }

    /// Answer of the HTTP address for clients: the status, and all bytes until it closes the connection or has upgraded it.
    pub(crate) fn request(&self, text: &str) -> (u16, String) {
        status_of(self.login_addr().to_string(), text)
    }

    /// Likewise, with the connection: it is open until that is dropped.
    pub(crate) fn watch(&self, text: &str) -> (u16, TcpStream) {
        let (status, _, stream) = answer_of(self.login_addr().to_string(), text);
        (status, stream)
    }

    /// Likewise the operator's.
    pub(crate) fn request_operator(&self, text: &str) -> (u16, String) {
        status_of(self.admin.clone(), text)
    }

    fn talk(&self, token: Option<&str>, head: &str, body: &str) -> (String, String) {
        let authorization = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
        exchange_with(&self.admin, &authorization, head, body)
    }

    /// A metric's value; `None` while it is not exported.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let metrics = self.ask("GET /metrics", "");
        metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }

    /// Asks until something is so.
    #[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        }
    }

    pub(crate) fn wait_for_bots(&self) {
        let avatars = |server: &Self| server.metric(r#"throng_world_avatars{world="Harbour"}"#);
        self.wait_until("everybody is in", |server| avatars(server) == Some(BOTS as f64));
    }

    pub(crate) fn tune(&self, key: &str, value: u32) {
        self.ask("POST /v1/tune", &serde_json::json!({ "key": key, "value": value }).to_string());
    }

    /// Runs a bot that comes for a moment. Returns its report.
    pub(crate) fn visit(&self) -> serde_json::Value {
        let bot = throng()
            .args(["bots", "--login", &self.login, "--count", "1", "--last-name", "Late"])
            .args(["--duration", "1s", "--json"])
            .output()
            .unwrap();
        serde_json::from_slice(&bot.stdout).unwrap()
    }

    pub(crate) fn fault(&self, fault: &str) {
        assert_eq!(self.ask("POST /v1/fault", fault), "done\n");
    }
}

/// One request over a connection of its own: head and body of the answer.
fn exchange_with(address: &str, headers: &str, head: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "{head} HTTP/1.1\r\nHost: x\r\n{headers}Content-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already, then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Bots that are killed when this is dropped.
pub(crate) struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        // Ended already, then.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn status_of(addr: String, text: &str) -> (u16, String) {
    let (status, line, _) = answer_of(addr, text);
    (status, line)
}

fn answer_of(addr: String, text: &str) -> (u16, String, TcpStream) {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("{text}: {line:?}")).parse().unwrap();
    // A WebSocket continues.
    if status != 101 {
        let mut rest = Vec::new();
        answer.read_to_end(&mut rest).unwrap();
        line.push_str(&String::from_utf8_lossy(&rest));
    }
    (status, line, answer.into_inner())
}

fn read(data: &Path, name: &str) -> String {
    std::fs::read_to_string(data.join(name)).unwrap()
}
