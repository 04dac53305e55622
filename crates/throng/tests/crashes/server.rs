//! `throng serve` as a child process, on ports and in a directory of its own.
//!
//! Nothing here sleeps: readiness is a line on standard output, and the end of server, monitor and summaries is the end of
//! standard error, which all of them hold.

use data_dir::RunFile;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const THRONG: &str = env!("CARGO_BIN_EXE_throng");
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// Until its reader is dropped.
    stderr: Option<BufReader<ChildStderr>>,
    log: String,
    /// Until it has ended.
    data: Option<TempDir>,
}

/// A server that has ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Standard error of server, supervisor and monitor.
    pub(crate) log: String,
    data: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// After the data directory has been prepared.
    pub(crate) fn start_in(prepare: impl FnOnce(&Path)) -> Self {
        let data = tempfile::tempdir().unwrap();
        prepare(data.path());
        let command = Self::command(&[THRONG], data.path());
        Self::spawn(command, data).expect("the server starts")
    }

    pub(crate) fn start_with(env: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut command = Self::command(&[THRONG], data.path());
        command.envs(env.iter().copied());
        Self::spawn(command, data).expect("the server starts")
    }

    pub(crate) fn supervised() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut command = Self::command(&[THRONG], data.path());
        command.arg("--supervise");
        Self::spawn(command, data).expect("the server starts")
    }

    /// By a program that runs the rest of its command line, the data directory first; `None` when that does not work.
    pub(crate) fn start_by(wrapper: &[&str]) -> Option<Self> {
        let data = tempfile::tempdir().unwrap();
        fs::create_dir(data.path().join("crashes")).unwrap();
        let path = data.path().to_str().unwrap().to_owned();
        let words: Vec<&str> = wrapper.iter().copied().chain([path.as_str(), THRONG]).collect();
        Self::spawn(Self::command(&words, data.path()), data)
    }

    fn command(words: &[&str], data: &Path) -> Command {
        // A test run under nohup has all of its processes ignore SIGHUP.
        let mut command = Command::new("env");
        let any = "127.0.0.1:0";
        command
            .arg("--default-signal=HUP")
            .args(words)
            .args(["serve", "--open-registration", "--http", any, "--udp", any, "--admin", any, "--data"])
            .arg(data)
            .env("THRONG__DIAGNOSE__ALLOW_FAULTS", "true")
            // So that it is known which thread steps a world.
            .env("THRONG__WORLD__THREADS", "1")
            .env("THRONG__SERVER__DRAIN_S", "0");
        command
    }

    fn spawn(mut command: Command, data: TempDir) -> Option<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = child.stderr.take().map(BufReader::new);
        let mut server = Self { child, stdout, stderr, log: String::new(), data: Some(data) };
        server.is_ready().then_some(server)
    }

    /// Reads until the announcement; false when the server has ended instead.
    fn is_ready(&mut self) -> bool {
        let mut line = String::new();
        while self.stdout.read_line(&mut line).unwrap() > 0 {
            if line.starts_with("Throng is ready.") {
                return true;
            }
            line.clear();
        }
        false
    }

    pub(crate) fn wait_until_ready(&mut self) {
        assert!(self.is_ready(), "the server does not come back");
    }

    pub(crate) fn wait_until_logged(&mut self, text: &str) {
        while !self.log.contains(text) {
            let stderr = self.stderr.as_mut().expect("it is read");
            assert!(stderr.read_line(&mut self.log).unwrap() > 0, "{text:?} is not in {}", self.log);
        }
    }

    fn data(&self) -> &Path {
        self.data.as_ref().expect("it has not ended").path()
    }

    fn run_file(&self) -> RunFile {
        RunFile::read(self.data()).unwrap()
    }

    /// The server's, also below a supervisor.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.run_file().pid as i32).unwrap()
    }

    pub(crate) fn children(&self) -> Vec<Pid> {
        let pid = self.pid();
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        threads
            .flat_map(|thread| {
                let children = fs::read_to_string(thread.unwrap().path().join("children")).unwrap();
                let pids: Vec<i32> = children.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
                pids
            })
            .filter_map(Pid::from_raw)
            .collect()
    }

    pub(crate) fn monitor(&self) -> Pid {
        let children = self.children();
        assert_eq!(children.len(), 1);
        children[0]
    }

    /// As when a terminal is closed: writes to it fail.
    pub(crate) fn close_log(&mut self) {
        self.stderr = None;
    }

    /// To the process that we have started.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn fault(&self, kind: &str, place: &str) -> String {
        let token = fs::read_to_string(self.data().join("admin.token")).unwrap();
        let body = serde_json::json!({ "kind": kind, "where": place }).to_string();
        let head = format!("Authorization: Bearer {}\r\nContent-Type: application/json\r\n", token.trim());
        exchange(self.run_file().admin, "POST /v1/fault", &head, &body)
    }

    pub(crate) fn get(&self, path: &str) -> String {
        exchange(self.run_file().admin, &format!("GET {path}"), "", "")
    }

    /// Makes the passwords thread work. The answer does not matter.
    pub(crate) fn log_in(&self) {
        let member = |name: &str, value: &str| {
            format!("<member><name>{name}</name><value><string>{value}</string></value></member>")
        };
        let members = member("first", "Ada")
            + &member("last", "Resident")
            + &member("passwd", "$1$5ebe2294ecd0e0f08eab7690d2a6ee69")
            + &member("start", "last");
        let body = format!(
            "<?xml version=\"1.0\"?><methodCall><methodName>login_to_simulator</methodName><params><param><value>\
             <struct>{members}</struct></value></param></params></methodCall>"
        );
        exchange(self.run_file().http, "POST /", "Content-Type: text/xml\r\n", &body);
    }

    /// Until the process that we have started has ended; its monitor may live on.
    pub(crate) fn wait_for_end(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Until all have ended: server, supervisor, monitor, summaries.
    pub(crate) fn wait(mut self) -> Ended {
        let status = self.child.wait().unwrap();
        if let Some(mut stderr) = self.stderr.take() {
            stderr.read_to_string(&mut self.log).unwrap();
        }
        let log = std::mem::take(&mut self.log);
        Ended { status, log, data: self.data.take().expect("it is taken once, here") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Of a test that has failed. Below a supervisor, the server follows it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    fn files(&self, extension: &str) -> Vec<std::path::PathBuf> {
        let Ok(files) = fs::read_dir(self.data.path().join("crashes")) else { return Vec::new() };
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|found| found == extension));
        paths.sort();
        paths
    }

    /// Text of the `.txt` beside each dump.
    pub(crate) fn summaries(&self) -> Vec<String> {
        self.files("txt").iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    /// Names of the dumps.
    pub(crate) fn dumps(&self) -> Vec<String> {
        self.files("dmp").iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    /// Number of traces beside the dumps, none of them empty.
    pub(crate) fn traces(&self) -> usize {
        let traces = self.files("perfetto-trace");
        traces.iter().filter(|path| fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)).count()
    }

    /// Output of `throng crash list`.
    pub(crate) fn list(&self) -> String {
        let output =
            Command::new(THRONG).args(["crash", "list", "--data"]).arg(self.data.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The body of the answer; empty when the server crashed instead of answering.
fn exchange(addr: std::net::SocketAddr, what: &str, head: &str, body: &str) -> String {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(addr)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "{what} HTTP/1.1\r\nHost: {addr}\r\n{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().unwrap_or_default();
    answer.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.to_owned())
}
