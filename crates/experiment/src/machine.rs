//! Machine and commit of a run: without them a figure means nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

/// A file that our checkouts have, and those around them do not.
const OURS: &str = "crates/experiment/src/machine.rs";

/// Processor, cores, memory and kernel, in one line.
pub(crate) fn machine() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: u64 = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse().ok())
        .unwrap_or(0);
    let system = rustix::system::uname();
    format!(
        "{cores} × {model}, {} GiB, {} {}",
        (kib + 524_288) / 1_048_576,
        system.sysname().to_string_lossy(),
        system.release().to_string_lossy()
    )
}

/// The load average of the last minute: above some tenths, other processes were at work. -1 if the system does not state it.
pub(crate) fn load() -> f64 {
    let loadavg = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    loadavg.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(-1.0)
}

/// The commit of the checkout that the executable was built in, else of the working directory. With `-dirty` if files were changed,
/// with `-stale` if the commit is newer than the executable: in both cases the measured code differs. `unknown` without a checkout.
pub(crate) fn commit(executable: &Path) -> String {
    let Some(checkout) = checkout(executable) else { return "unknown".to_owned() };
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&checkout).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let Some(mut commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    if git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|changes| !changes.is_empty()) {
        commit += "-dirty";
    }
    let committed_s = git(&["log", "-1", "--format=%ct"]).and_then(|seconds| seconds.parse().ok());
    let built = fs::metadata(executable).and_then(|data| data.modified()).ok();
    let built_s = built.and_then(|built| Some(built.duration_since(UNIX_EPOCH).ok()?.as_secs()));
    if built_s < committed_s {
        commit += "-stale";
    }
    commit
}

/// The checkout that the executable was built in, else the one of the working directory.
pub(crate) fn checkout(executable: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    let mut above = executable.ancestors().chain(here.ancestors());
    let found = above.find(|directory| directory.join(".git").exists() && directory.join(OURS).exists());
    found.map(Path::to_path_buf)
}
