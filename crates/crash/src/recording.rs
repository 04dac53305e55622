//! The flight recorder of a crashed server: open scopes of each thread for the note, and beside the dump the last seconds
//! as a Perfetto trace and their costs.
//!
//! The recorder's memory belongs to the server. While the server is stopped, the monitor opens it by path and copies it
//! without any help of the server's threads.

use crate::directory::create_file;
pub(crate) use crate::directory::{COSTS, TRACE};
use crate::note::CrashNote;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::time::Duration;
use telemetry::captures::perfetto::{self, Origin};
use telemetry::captures::{CaptureCause, CaptureSummary};
use telemetry::recorder::{Arg, Capture, OpenScope, read_memory};

/// Reads the recorder's memory and names the worlds in it.
pub(crate) fn read_capture(memory: &Path, worlds: &[(u64, String)]) -> io::Result<Capture> {
    let mut capture = read_memory(memory)?;
    capture.labels = worlds.iter().map(|(world, name)| ((Arg::World, *world), name.clone())).collect();
    Ok(capture)
}

/// Open scopes by thread id: `world.frame (Harbour) for 3 ms > world.movement for 2 ms`. Threads without an open scope are
/// left out.
pub(crate) fn doing(capture: &Capture) -> BTreeMap<u32, String> {
    let busy = capture.threads.iter().filter(|thread| !thread.open.is_empty());
    busy.map(|thread| {
        let scopes: Vec<String> = thread.open.iter().map(|open| scope(capture, open)).collect();
        (thread.tid, scopes.join(" > "))
    })
    .collect()
}

fn scope(capture: &Capture, open: &OpenScope) -> String {
    let (name, arg) = capture
        .scopes
        .get(usize::from(open.scope))
        .map_or(("unknown", Arg::None), |scope| (scope.name.as_str(), scope.arg));
    let about = match (capture.labels.get(&(arg, open.arg)), arg) {
        (Some(label), _) => format!(" ({label})"),
        (None, Arg::None) => String::new(),
        (None, _) => format!(" ({arg} {})", open.arg),
    };
    let took = Duration::from_nanos(capture.end_ns.saturating_sub(open.begin_ns));
    format!("{name}{about} for {} ms", took.as_millis())
}

/// Writes the last seconds as a Perfetto trace.
pub(crate) fn write_trace(capture: &Capture, crashed: u32, note: &CrashNote, path: &Path) -> io::Result<()> {
    let origin = Origin {
        pid: note.pid,
        process: "throng".to_owned(),
        unix_ns: u64::try_from(note.unix_s).unwrap_or_default().saturating_mul(1_000_000_000),
    };
    write(path, |out| perfetto::write(capture, &CaptureCause::Crash(Some(crashed)), &origin, out))
}

/// Writes the costs of the last seconds as JSON.
pub(crate) fn write_costs(capture: &Capture, crashed: u32, note: &CrashNote, path: &Path) -> io::Result<()> {
    let at = Timestamp::from_second(note.unix_s).unwrap_or(Timestamp::UNIX_EPOCH);
    let summary = CaptureSummary::of(capture, &CaptureCause::Crash(Some(crashed)), at.to_string());
    write(path, |out| Ok(serde_json::to_writer_pretty(out, &summary)?))
}

/// Costs of the last seconds before a dump; `None` without a readable file of them beside the dump.
pub(crate) fn read_costs(dump: &Path) -> Option<CaptureSummary> {
    serde_json::from_slice(&fs::read(dump.with_extension(COSTS)).ok()?).ok()
}

fn write(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let write = || {
        let mut out = BufWriter::new(create_file(path)?);
        fill(&mut out)?;
        out.flush()
    };
    write().inspect_err(|_| {
        // An incomplete file would occupy the space that is missing.
        let _ = fs::remove_file(path);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use telemetry::captures::perfetto::Timeline;
    use telemetry::recorder::{Recorder, RecorderConfig, Scope};

    static FRAME: Scope = Scope::new("world.frame").arg(Arg::World);
    static MOVEMENT: Scope = Scope::new("world.movement");

    #[test]
    fn a_capture_names_the_open_scope_of_a_thread_and_keeps_its_last_seconds() {
        let recorder = Recorder::start(RecorderConfig::default()).unwrap();
        let thread = recorder.thread("world-0");
        let memory = recorder.memory_path().unwrap();
        let capture = std::thread::spawn(move || {
            thread.install();
            let _frame = FRAME.enter(1);
            let _movement = MOVEMENT.enter(0);
            read_capture(&memory, &[(7, "Harbour".to_owned()), (1, "Meadows".to_owned())]).unwrap()
        });
        let capture = capture.join().unwrap();
        let tid = capture.threads[0].tid;
        let doing = doing(&capture);
        let text = &doing[&tid];
        assert!(text.starts_with("world.frame (Meadows) for "), "{text}");
        assert!(text.contains(" ms > world.movement for "), "{text}");

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.perfetto-trace");
        write_trace(&capture, tid, &CrashNote { pid: 1, ..CrashNote::default() }, &path).unwrap();
        assert!(!Timeline::read(&fs::read(&path).unwrap()).unwrap().threads.is_empty());
        let nowhere = dir.path().join("nowhere/a.perfetto-trace");
        assert!(write_trace(&capture, tid, &CrashNote::default(), &nowhere).is_err());

        let dump = dir.path().join("a.dmp");
        assert_eq!(read_costs(&dump), None);
        write_costs(&capture, tid, &CrashNote::default(), &dump.with_extension(COSTS)).unwrap();
        let costs = read_costs(&dump).unwrap().costs;
        assert_eq!(costs.worlds[0].name, "Meadows");
        assert_eq!(costs.threads[0].name, "world-0");
    }

    #[test]
    fn memory_of_no_recorder_is_refused() {
        assert!(read_capture(Path::new("/dev/null"), &[]).is_err());
    }
}
