//! A server for trial: this program on a scratch data directory, without clients, for a second.
//!
//! It is a child process, so that data that stop it stop nothing else. It listens on ports of this machine alone that the system picks, has the
//! regions and templates of the configuration, and neither backups nor dumps.

use crate::config::{BackupSection, Config, DiagnoseSection, ENV_PREFIX, PublicAddress, StoreAddress};
use crate::operator;
use backup::{WorkDriver, WorkEnded};
use jobs::JobProgress;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Period at which a request to end is noticed.
const LOOK: Duration = Duration::from_millis(200);
/// Looks until the server has to be ready: ten minutes, since large regions take their time on a busy machine.
const START_LOOKS: u32 = 3_000;
/// Looks of its run: a second and a bit.
const RUN_LOOKS: u32 = 6;
/// Looks until it has to have ended: two minutes.
const STOP_LOOKS: u32 = 600;
/// Bytes of its log that a failure shows.
const LOG_TAIL: u64 = 2_048;

/// Starts a server on a data directory and ends it; the names of its regions, or the reason for which that went wrong.
///
/// # Errors
/// [`WorkEnded`] if the driver has ended the work; the server has ended then, too.
pub(crate) fn start_worlds(
    config: &Config,
    data: &Path,
    driver: &mut dyn WorkDriver,
) -> Result<Result<Vec<String>, String>, WorkEnded> {
    let mut trial = match TrialServer::start(config, data) {
        Ok(trial) => trial,
        Err(why) => return Ok(Err(format!("a server for trial cannot be started: {why}"))),
    };
    let outcome = trial.run(driver)?;
    Ok(outcome.map_err(|why| match trial.log_tail() {
        tail if tail.is_empty() => why,
        tail => format!("{why}; its log ends with: {tail}"),
    }))
}

/// The configuration of a server for trial.
fn trial_config(config: &Config) -> io::Result<Config> {
    let mut trial = config.clone();
    trial.server.advertise = PublicAddress::default();
    trial.server.log_format = "text".into();
    trial.server.log_filter = "warn".into();
    trial.server.drain_s = 0;
    trial.store.url = StoreAddress::default();
    trial.assets.directory = "assets".into();
    trial.backup = BackupSection { directory: PathBuf::new(), ..BackupSection::default() };
    trial.login.open_registration = false;
    trial.gateway.shards = 1;
    trial.gateway.memory_max_mib = crate::config::Gateway::default().memory_max_mib;
    trial.world.threads = 1;
    trial.recorder.enabled = false;
    trial.diagnose = DiagnoseSection { crash_dumps_max: 0, ..DiagnoseSection::default() };
    // The file of this configuration lies elsewhere than that of the configuration.
    let of_templates =
        trial.template.iter_mut().flat_map(|template| [&mut template.npcs, &mut template.content]);
    let of_regions = trial.region.iter_mut().map(|region| &mut region.content);
    for path in of_templates.chain(of_regions).filter(|path| !path.as_os_str().is_empty()) {
        *path = std::path::absolute(&path)?;
    }
    Ok(trial)
}

/// A server that is killed when this is dropped.
struct TrialServer {
    child: Child,
    /// Its lines, and the end of its output.
    lines: Receiver<Option<String>>,
    data: PathBuf,
    log: PathBuf,
}

impl TrialServer {
    fn start(config: &Config, data: &Path) -> io::Result<Self> {
        let text = toml::to_string(&trial_config(config)?).map_err(io::Error::other)?;
        let (file, log) = (data.join("trial.toml"), data.join("trial.log"));
        fs::write(&file, text)?;
        let mut command = Command::new(crash::symbols::OWN_EXECUTABLE);
        command.arg0("throng").arg("serve").arg("--config").arg(&file).arg("--data").arg(data);
        for address in ["--http", "--udp", "--admin"] {
            command.args([address, "127.0.0.1:0"]);
        }
        command.args(["--store", "sqlite:", "--supervised-by", &std::process::id().to_string()]);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with(ENV_PREFIX) {
                command.env_remove(name);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let mut child = command.spawn()?;
        let output = child.stdout.take().expect("it was asked for");
        let (sender, lines) = sync_channel(16);
        let trial = Self { child, lines, data: data.to_owned(), log };
        std::thread::Builder::new().name("trial".into()).spawn(move || {
            read_lines(output, |line| sender.send(line).is_ok());
        })?;
        Ok(trial)
    }

    fn run(&mut self, driver: &mut dyn WorkDriver) -> Result<Result<Vec<String>, String>, WorkEnded> {
        let is_ready = |line: &str| line.contains("is ready");
        match self.wait_for(START_LOOKS, driver, |line| line.is_none_or(is_ready))? {
            Some(Some(_)) => {}
            Some(None) => return Ok(Err("it ended before it was ready".into())),
            None => return Ok(Err("it was not ready within ten minutes".into())),
        }
        if self.wait_for(RUN_LOOKS, driver, |line| line.is_none())?.is_some() {
            return Ok(Err("it ended within a second".into()));
        }
        let looked = self.look();
        if let Err(why) = kill_process(Pid::from_child(&self.child), Signal::TERM) {
            return Ok(Err(format!("it takes no signal: {why}")));
        }
        if self.wait_for(STOP_LOOKS, driver, |line| line.is_none())?.is_none() {
            return Ok(Err("it did not end within two minutes".into()));
        }
        Ok(match self.child.wait() {
            Ok(status) if status.success() => looked,
            Ok(status) => Err(format!("it ended with {}", shown(status))),
            Err(why) => Err(format!("its end is not known: {why}")),
        })
    }

    /// Waits for a line, or the end of its output, that fits; none if there was none in time.
    fn wait_for(
        &self,
        n_looks: u32,
        driver: &mut dyn WorkDriver,
        fits: impl Fn(Option<&str>) -> bool,
    ) -> Result<Option<Option<String>>, WorkEnded> {
        for look in 0..n_looks {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) if fits(line.as_deref()) => return Ok(Some(line)),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    let progress = JobProgress { part: "worlds", done: look.into(), total: 0 };
                    driver.advance(progress, 0)?;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(Some(None)),
            }
        }
        Ok(None)
    }

    /// Names of its regions, if it is well.
    fn look(&self) -> Result<Vec<String>, String> {
        let ask = |path| operator::get(&self.data, path).map_err(|why| why.to_string());
        let health = ask("/healthz/live")?;
        if health.trim() != "ok" {
            return Err(format!("it is not well: {}", health.trim()));
        }
        let restarts = ask("/metrics")?;
        let mut restarts = restarts.lines().filter(|line| line.starts_with("throng_world_restarts_total"));
        if restarts.any(|line| !line.ends_with(" 0")) {
            return Err("a world has panicked".into());
        }
        let regions: Value =
            serde_json::from_str(&ask("/v1/regions")?).map_err(|why| format!("its answer is none: {why}"))?;
        let names = regions.as_array().into_iter().flatten().filter_map(|region| region["name"].as_str());
        Ok(names.map(str::to_owned).collect())
    }

    /// The end of its log, on one line.
    fn log_tail(&self) -> String {
        let read = || -> io::Result<String> {
            let mut log = File::open(&self.log)?;
            let from = log.metadata()?.len().saturating_sub(LOG_TAIL);
            log.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            log.take(LOG_TAIL).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" "))
        };
        read().unwrap_or_default()
    }
}

impl Drop for TrialServer {
    fn drop(&mut self) {
        // It has ended already, unless something went wrong.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines until the end, which is `None`, or until the receiver is gone.
fn read_lines(output: ChildStdout, mut take: impl FnMut(Option<String>) -> bool) {
    for line in BufReader::new(output).lines() {
        let Ok(line) = line else { break };
        if !take(Some(line)) {
            return;
        }
    }
    take(None);
}

fn shown(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("status {code}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Sources, TemplateSection};

    #[test]
    fn a_server_for_trial_has_the_regions_and_templates_and_nothing_that_reaches_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.server.name = "Ünal's \"grid\"".into();
        config.server.http = "0.0.0.0:9000".parse().unwrap();
        config.login.force_open_registration = true;
        config.login.open_registration = true;
        config.backup.directory = "/backups".into();
        config.region[0].content = "content/harbour.region".into();
        config.template.push(TemplateSection { name: "Cave".into(), ..TemplateSection::default() });
        let trial = trial_config(&config).unwrap();
        assert!(trial.region[0].content.is_absolute() && trial.template[0].npcs.as_os_str().is_empty());
        let file = folder.path().join("trial.toml");
        fs::write(&file, toml::to_string(&trial).unwrap()).unwrap();
        let loaded = config::load(&Sources { file: Some(file), ..Sources::default() }).unwrap().config;
        assert_eq!(loaded, trial, "it is read as it is written");
        assert_eq!((&loaded.server.name, loaded.region.len()), (&config.server.name, config.region.len()));
        assert!(loaded.backup.directory.as_os_str().is_empty() && !loaded.login.open_registration);
    }
}
