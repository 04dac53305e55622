//! Where a run took place and of what: without it a figure means nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

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

/// The load average of the last minute: above some tenths, somebody else was at work.
pub(crate) fn load() -> f64 {
    let loadavg = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    loadavg.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN)
}

/// The commit of the checkout that the executable was built in, with `-dirty` when files were changed; `unknown` for an
/// executable that lies elsewhere.
pub(crate) fn commit(executable: &Path) -> String {
    let git = |arguments: &[&str]| {
        let directory = executable.parent().unwrap_or_else(|| Path::new("."));
        let output = Command::new("git").arg("-C").arg(directory).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => commit + "-dirty",
    }
}
