//! The server under test.

use crate::Run;
use crate::child::{self, Running};
use crate::error::ExperimentError;
use crate::http::{HttpConnection, HttpRequest, PersistentConnection};
use crate::metrics::MetricScrape;
use crate::sink::Sink;
use crate::tracer::Tracer;
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

/// Name of the one region.
pub(crate) const REGION: &str = "Field";

/// One flat region, so that no hill affects distances, and no limit of login attempts: only the experiment itself can reach the sink.
const CONFIG_LOGIN: &str = "[login]\naddress_failures_per_min = 100000\naccount_failures_per_min = 100000\n";
const CONFIG_REGION: &str = "\n[[region]]\nname = \"Field\"\nterrain = \"flat\"\n";

/// Its standard error, in its data directory.
pub(crate) const LOG_FILE: &str = "server.log";

/// Output file of [`Server::keep_metrics`].
pub(crate) const METRICS_FILE: &str = "metrics.txt";

/// For a server that is to be damaged: its regions' names are known, and it takes orders for damage.
const CONFIG_TO_CRASH: &str = "[diagnose]\nallow_faults = true\n";

/// The used part of `run.json`.
#[derive(Debug, Deserialize)]
struct RunFileExtract {
    pid: u32,
    admin: SocketAddr,
    login_uri: String,
}

const RUN_FILE: &str = "run.json";
/// Its configuration, in its data directory.
pub(crate) const CONFIG_FILE: &str = "throng.toml";

/// An error about a file.
fn failed(path: &Path) -> impl FnOnce(io::Error) -> ExperimentError {
    let path = path.to_owned();
    move |source| ExperimentError::File { path, source }
}

/// Makes an empty data directory with a configuration and other files.
fn make_data(data: &Path, settings: &str, files: &[(String, String)]) -> Result<(), ExperimentError> {
    match fs::remove_dir_all(data) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(data)(error)),
        _ => {}
    }
    fs::create_dir_all(data).map_err(failed(data))?;
    let config = (CONFIG_FILE.to_owned(), settings.to_owned());
    for (name, text) in files.iter().chain([&config]) {
        let path = data.join(name);
        fs::write(&path, text).map_err(failed(&path))?;
    }
    Ok(())
}

fn run_file(data: &Path) -> io::Result<RunFileExtract> {
    serde_json::from_str(&fs::read_to_string(data.join(RUN_FILE))?).map_err(io::Error::other)
}

/// Addresses that are free now for HTTP, UDP and operators: a server that starts again needs the same ones.
fn free_addresses(run: &Run) -> Result<[SocketAddr; 3], ExperimentError> {
    let any = SocketAddr::from((run.sink.server.ip, 0));
    let find = move || {
        // Open at the same time, so that they differ.
        let tcp = [TcpListener::bind(any)?, TcpListener::bind(any)?];
        let udp = UdpSocket::bind(any)?;
        Ok([tcp[0].local_addr()?, udp.local_addr()?, tcp[1].local_addr()?])
    };
    let found = run.sink.server.run(find);
    found.map_err(|source: io::Error| ExperimentError::Start { what: "the server".to_owned(), source })
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    process: Running,
    operator: Operator,
    /// Login address for clients.
    pub(crate) login_uri: String,
    /// Its data directory, which stays behind: captures and crashes are in it.
    pub(crate) data: PathBuf,
}

/// The receiver of an operator's commands.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    sink: Arc<Sink>,
    admin: SocketAddr,
    token: String,
    connection: Arc<PersistentConnection>,
}

impl Operator {
    /// A server without requests.
    #[cfg(test)]
    pub(crate) fn nobody(sink: Arc<Sink>) -> Self {
        Self {
            sink,
            admin: SocketAddr::from(([127, 0, 0, 1], 9)),
            token: String::new(),
            connection: Arc::default(),
        }
    }

    /// Sends a command and returns the reply. Several threads may do so concurrently.
    pub(crate) fn order(
        &self,
        method: &str,
        path: &str,
        body: Option<&serde_json::Value>,
    ) -> Result<String, ExperimentError> {
        self.exchange(path, &HttpRequest::order(self.admin, method, path, &self.token, body))
    }

    /// Requests a path without a token.
    fn get(&self, path: &str) -> Result<String, ExperimentError> {
        self.exchange(path, &HttpRequest::get(self.admin, path))
    }

    fn exchange(&self, path: &str, request: &HttpRequest) -> Result<String, ExperimentError> {
        let admin = self.admin;
        let connect = || self.sink.server.run(move || HttpConnection::new(admin));
        self.connection
            .ask(request, connect)
            .map_err(|source| ExperimentError::Operator { path: path.to_owned(), source })
    }
}

impl Server {
    /// Starts one with an empty data directory and waits until it is ready. `name` distinguishes several servers of a run.
    pub(crate) fn start(run: &Run, name: &str) -> Result<Self, ExperimentError> {
        let any = SocketAddr::from((run.sink.server.ip, 0));
        Self::start_at(run, name, [any; 3], &format!("{CONFIG_LOGIN}{CONFIG_REGION}"), &[], &[])
    }

    /// As [`Self::start`], with more settings: keys of logins, and keys of the region with other sections behind them.
    pub(crate) fn start_with(
        run: &Run,
        name: &str,
        login: &str,
        region: &str,
    ) -> Result<Self, ExperimentError> {
        let any = SocketAddr::from((run.sink.server.ip, 0));
        Self::start_at(
            run,
            name,
            [any; 3],
            &format!("{CONFIG_LOGIN}{login}{CONFIG_REGION}{region}"),
            &[],
            &[],
        )
    }

    /// As [`Self::start_with`], with files beside the configuration.
    pub(crate) fn start_with_files(
        run: &Run,
        name: &str,
        region: &str,
        files: &[(String, String)],
    ) -> Result<Self, ExperimentError> {
        let any = SocketAddr::from((run.sink.server.ip, 0));
        Self::start_at(run, name, [any; 3], &format!("{CONFIG_LOGIN}{CONFIG_REGION}{region}"), files, &[])
    }

    /// Adds the objects of a file to its region, by the operator's command.
    pub(crate) fn import(&self, run: &Run, file: &Path) -> Result<(), ExperimentError> {
        let log = self.data.join("import.log");
        let mut command = child::command(&run.executable, run.executable.as_os_str(), &log)?;
        command.args(["region", "import", REGION]).arg(file).arg("--data").arg(&self.data);
        command.arg("--config").arg(self.data.join(CONFIG_FILE)).arg("--json");
        let child = run
            .sink
            .server
            .run(move || command.spawn())
            .map_err(|source| ExperimentError::Start { what: "the import".to_owned(), source })?;
        let mut import = Running { what: "the import".to_owned(), child, log };
        let status = import.wait()?;
        if status.success() { Ok(()) } else { Err(import.error(format!("ended with {status}"))) }
    }

    /// Verifies the stored data of a directory whose server has ended: `throng verify --deep`. Gives its output if it has found a fault.
    pub(crate) fn verify(run: &Run, data: &Path) -> Result<Option<String>, ExperimentError> {
        let log = data.join("verify.log");
        let mut command = child::command(&run.executable, run.executable.as_os_str(), &log)?;
        command.args(["verify", "--deep", "--json", "--data"]).arg(data);
        command.arg("--config").arg(data.join(CONFIG_FILE));
        command.stdout(Stdio::piped());
        let child = run
            .sink
            .server
            .run(move || command.spawn())
            .map_err(|source| ExperimentError::Start { what: "the verification".to_owned(), source })?;
        let mut verification = Running { what: "the verification".to_owned(), child, log };
        let mut text = String::new();
        let output = verification.child.stdout.take().expect("it is piped");
        // Text that cannot be read leaves the exit status.
        let _ = BufReader::new(output).read_to_string(&mut text);
        let status = verification.wait()?;
        Ok((!status.success()).then(|| format!("{status}: {}", text.trim())))
    }

    /// Begins to record its world; the child ends when the recording does.
    pub(crate) fn record(&self, run: &Run, seconds: u64, out: &Path) -> Result<Running, ExperimentError> {
        let log = self.data.join("record.log");
        let mut command = child::command(&run.executable, run.executable.as_os_str(), &log)?;
        command.arg("record").arg("--data").arg(&self.data).args(["--world", REGION]);
        command.args(["--seconds", &seconds.to_string()]).arg("--out").arg(out);
        let child = run
            .sink
            .server
            .run(move || command.spawn())
            .map_err(|source| ExperimentError::Start { what: "the recording".to_owned(), source })?;
        Ok(Running { what: "the recording".to_owned(), child, log })
    }

    /// Starts one under a supervisor, at addresses that it comes back to. It takes orders for damage.
    pub(crate) fn start_supervised(run: &Run, name: &str) -> Result<Self, ExperimentError> {
        let addresses = free_addresses(run)?;
        let config = format!("{CONFIG_LOGIN}{CONFIG_REGION}\n{CONFIG_TO_CRASH}");
        Self::start_at(run, name, addresses, &config, &[], &["--supervise"])
    }

    /// Makes an empty data directory, for [`Self::start_in`]. `region` has keys of the region with other sections behind them.
    pub(crate) fn prepare(data: &Path, region: &str) -> Result<(), ExperimentError> {
        make_data(data, &format!("{CONFIG_LOGIN}{CONFIG_REGION}{region}"), &[])
    }

    /// Gives a data directory of [`Self::prepare`] other settings, for the next start.
    pub(crate) fn configure(data: &Path, region: &str) -> Result<(), ExperimentError> {
        let path = data.join(CONFIG_FILE);
        fs::write(&path, format!("{CONFIG_LOGIN}{CONFIG_REGION}{region}")).map_err(failed(&path))
    }

    /// Starts one with a data directory that exists, perhaps after another one that had it. `what` names it in messages.
    pub(crate) fn start_in(run: &Run, what: &str, data: &Path) -> Result<Self, ExperimentError> {
        let any = SocketAddr::from((run.sink.server.ip, 0));
        Self::launch(run, what, data.to_owned(), [any; 3], &[], None)
    }

    /// As [`Self::start_in`], under a tracer of its synchronisations.
    pub(crate) fn start_traced(
        run: &Run,
        what: &str,
        data: &Path,
        tracer: &Tracer,
    ) -> Result<Self, ExperimentError> {
        let any = SocketAddr::from((run.sink.server.ip, 0));
        Self::launch(run, what, data.to_owned(), [any; 3], &[], Some(tracer))
    }

    fn start_at(
        run: &Run,
        name: &str,
        addresses: [SocketAddr; 3],
        settings: &str,
        files: &[(String, String)],
        flags: &[&str],
    ) -> Result<Self, ExperimentError> {
        let data = run.out.join(name);
        make_data(&data, settings, files)?;
        Self::launch(run, name, data, addresses, flags, None)
    }

    fn launch(
        run: &Run,
        name: &str,
        data: PathBuf,
        [http, udp, admin]: [SocketAddr; 3],
        flags: &[&str],
        tracer: Option<&Tracer>,
    ) -> Result<Self, ExperimentError> {
        let config = data.join(CONFIG_FILE);
        let log = data.join(LOG_FILE);
        let program = tracer.map_or(run.executable.as_os_str(), |_| OsStr::new(Tracer::PROGRAM));
        let mut command = child::command(&run.executable, program, &log)?;
        if let Some(tracer) = tracer {
            command.args(tracer.arguments()).arg(&run.executable);
        }
        command.args(["serve", "--open-registration", "--force-open-registration"]).args(flags);
        command.arg("--config").arg(&config).arg("--data").arg(&data);
        command.args(["--http", &http.to_string(), "--udp", &udp.to_string(), "--admin", &admin.to_string()]);
        command.stdout(Stdio::piped());
        let child = run
            .sink
            .server
            .run(move || command.spawn())
            .map_err(|source| ExperimentError::Start { what: "the server".to_owned(), source })?;
        let mut process = Running { what: format!("the server {name}"), child, log };

        // It announces itself when it is ready, and then has written run.json.
        let output = process.child.stdout.take().expect("it is piped");
        let mut line = String::new();
        if BufReader::new(output).read_line(&mut line).unwrap_or(0) == 0 {
            return Err(process.error("ended before it was ready"));
        }
        let RunFileExtract { admin, login_uri, .. } =
            run_file(&data).map_err(|source| ExperimentError::File { path: data.join(RUN_FILE), source })?;
        let path = data.join("admin.token");
        let token = fs::read_to_string(&path).map_err(failed(&path))?.trim().to_owned();
        let operator = Operator { sink: Arc::clone(&run.sink), admin, token, connection: Arc::default() };
        Ok(Self { process, operator, login_uri, data })
    }

    /// The process that was started: the server, or its supervisor.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// An error about it.
    pub(crate) fn error(&self, how: impl Into<String>) -> ExperimentError {
        self.process.error(how)
    }

    /// The process that serves; none while there is none.
    pub(crate) fn serving_pid(&self) -> Option<u32> {
        run_file(&self.data).ok().map(|run| run.pid)
    }

    /// Has a thread of it do itself damage, by the operator's command.
    pub(crate) fn fault(&self, kind: &str, place: &str) -> Result<(), ExperimentError> {
        self.order("/v1/fault", serde_json::json!({ "kind": kind, "where": place })).map(drop)
    }

    /// Its counters.
    pub(crate) fn metrics(&self) -> Result<MetricScrape, ExperimentError> {
        Ok(MetricScrape::parse(&self.scrape()?))
    }

    /// True if it reports that all its threads and worlds run.
    pub(crate) fn is_live(&self) -> bool {
        self.operator.get("/healthz/live").is_ok()
    }

    /// Keeps its counters, as exported, in its data directory.
    pub(crate) fn keep_metrics(&self) -> Result<(), ExperimentError> {
        let path = self.data.join(METRICS_FILE);
        fs::write(&path, self.scrape()?).map_err(|source| ExperimentError::File { path, source })
    }

    fn scrape(&self) -> Result<String, ExperimentError> {
        self.operator.get("/metrics")
    }

    /// Sets a key of its configuration.
    pub(crate) fn tune(&self, key: &str, value: impl Into<serde_json::Value>) -> Result<(), ExperimentError> {
        self.order("/v1/tune", serde_json::json!({ "key": key, "value": value.into() })).map(drop)
    }

    /// Sends an operator's command. The reply is text, or JSON, by command.
    pub(crate) fn order(&self, path: &str, body: serde_json::Value) -> Result<String, ExperimentError> {
        self.operator.order("POST", path, Some(&body))
    }

    /// Its operator's address, also for threads that give commands beside each other.
    pub(crate) fn operator(&self) -> Operator {
        self.operator.clone()
    }

    /// Kills it, as a crash of the machine's memory would: it saves nothing any more.
    pub(crate) fn kill(mut self) -> Result<(), ExperimentError> {
        let killed = self.process.child.kill();
        killed.map_err(|error| self.process.error(format!("cannot be killed: {error}")))?;
        self.process.wait().map(drop)
    }

    /// Has it drain, which it must do without a complaint.
    pub(crate) fn stop(mut self) -> Result<(), ExperimentError> {
        let status = self.process.terminate()?;
        if status.success() { Ok(()) } else { Err(self.process.error(format!("ended with {status}"))) }
    }
}
