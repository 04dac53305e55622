//! Reading the record of another process, which hangs with scopes open.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use telemetry::recorder::{Arg, Recorder, RecorderConfig, Scope, read_memory};

static WORK: Scope = Scope::new("other.work").arg(Arg::World).limit_us(3_600_000_000);
static HANG: Scope = Scope::new("other.hang").arg(Arg::Client);

const ROLE: &str = "RECORDER_TEST_ROLE";

#[test]
fn the_last_seconds_of_another_process_are_read_from_outside() {
    if std::env::var_os(ROLE).is_some() {
        return record_and_hang();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_last_seconds_of_another_process_are_read_from_outside", "--nocapture"])
        .env(ROLE, "child")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let path: PathBuf = lines
        .by_ref()
        .map(Result::unwrap)
        .find_map(|line| Some(line.split_once("memory: ")?.1.into()))
        .expect("the child tells where its memory is");
    let capture = read_memory(&path);
    // It hangs until its standard input ends.
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());

    let capture = capture.unwrap();
    let [thread] = &capture.threads[..] else { panic!("{:?}", capture.threads) };
    assert_eq!(thread.name, "other");
    let name = |scope: u16| &*capture.scopes[scope as usize].name;
    let slices: Vec<_> = thread.slices.iter().map(|slice| (name(slice.scope), slice.arg)).collect();
    assert_eq!(slices, [("other.work", 1), ("other.work", 2)]);
    let open: Vec<_> = thread.open.iter().map(|open| (name(open.scope), open.arg)).collect();
    assert_eq!(open, [("other.hang", 3)]);
    assert_eq!(capture.end_ns, thread.open[0].begin_ns, "the last thing that it did");
    let work = &capture.scopes[thread.slices[0].scope as usize];
    assert_eq!((work.arg, work.limit_ns), (Arg::World, Some(3_600_000_000_000)));
}

fn record_and_hang() {
    let recorder = Recorder::start(RecorderConfig::default()).unwrap();
    recorder.thread("other").install();
    drop(WORK.enter(1));
    drop(WORK.enter(2));
    let _hang = HANG.enter(3);
    let path = recorder.memory_path().unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "\nmemory: {}", path.display()).unwrap();
    out.flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
}
