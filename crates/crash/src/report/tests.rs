//! Text of reports. Whole dumps are read in `crates/throng/tests/crashes/main.rs`.

use super::*;
use telemetry::captures::CaptureCause;
use telemetry::recorder::Capture;

fn frame(function: &str) -> StackFrame {
    StackFrame {
        address: 0x1000,
        function: Some(function.into()),
        place: Some("crates/world/src/lib.rs:7".into()),
        module: "throng".into(),
    }
}

fn report(thread: ReportedThread) -> CrashReport {
    CrashReport {
        note: None,
        signal: "SIGSEGV / SEGV_MAPERR".into(),
        address: Some(0xBAD),
        stack_overflow: false,
        build_id: Some("c0ffee".into()),
        symbols: None,
        threads: vec![thread],
        costs: None,
    }
}

fn thread(frames: Vec<StackFrame>) -> ReportedThread {
    ReportedThread { tid: 7, name: "world-0".into(), crashed: true, doing: None, frames, left_out: None }
}

#[test]
fn it_says_why_where_and_in_which_function() {
    let text = report(thread(vec![frame("world::step"), frame("schedule::run")])).to_string();
    assert_eq!(
        text,
        "world-0 crashed: SIGSEGV / SEGV_MAPERR at 0xbad\n\n\
         signal    SIGSEGV / SEGV_MAPERR\n\
         build id  c0ffee\n\
         symbols   none: no executable of this build id is here or in DATA/symbols\n\n\
         thread world-0 (7), crashed\n\
         \x20   0 world::step  crates/world/src/lib.rs:7\n\
         \x20   1 schedule::run  crates/world/src/lib.rs:7\n"
    );
}

#[test]
fn a_signal_from_outside_names_its_sender() {
    let note = CrashNote { sent_by: Some(4), ..CrashNote::default() };
    let report =
        CrashReport { address: None, note: Some(note), signal: "SIGSEGV".into(), ..report(thread(vec![])) };
    assert_eq!(report.headline(), "process 4 sent SIGSEGV, which world-0 received");
}

#[test]
fn recursion_takes_two_lines_and_omitted_frames_are_counted() {
    let mut frames = vec![frame("leaf")];
    frames.extend(std::iter::repeat_n(frame("deep"), 20));
    frames.extend([frame("deep"), frame("main")]);
    let text = ReportedThread { left_out: Some((21, 900)), ..thread(frames) }.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    assert_eq!(
        lines,
        [
            "thread world-0 (7), crashed",
            "0 leaf  crates/world/src/lib.rs:7",
            "1 deep  crates/world/src/lib.rs:7",
            "… and 19 times more",
            "… 900 more between frames 20 and 21",
            "21 deep  crates/world/src/lib.rs:7",
            "22 main  crates/world/src/lib.rs:7",
        ]
    );
}

#[test]
fn the_recorders_scopes_stand_above_the_functions() {
    let thread =
        ReportedThread { doing: Some("world.frame (Harbour) for 3 ms".into()), ..thread(vec![frame("f")]) };
    let text = thread.to_string();
    assert_eq!(text.lines().nth(1), Some("  was in world.frame (Harbour) for 3 ms"), "{text}");
}

#[test]
fn the_costs_of_the_last_seconds_stand_at_the_end() {
    let costs = CaptureSummary::of(
        &Capture { end_ns: 5_000_000_000, ..Capture::default() },
        &CaptureCause::Crash(None),
        "now".into(),
    );
    let text = CrashReport { costs: Some(costs), ..report(thread(vec![])) }.to_string();
    assert!(text.ends_with("thread world-0 (7), crashed\n\ncrash capture, now, the last 5.0 s\n"), "{text}");
}

#[test]
fn a_panic_begins_where_it_was_called() {
    let names =
        ["telemetry::crash::signals::with_registers", "std::panicking::begin", "core::panicking::panic_fmt"];
    let mut thread = thread(names.map(frame).into_iter().chain([frame("world::step")]).collect());
    thread.leave_panicking_out();
    assert_eq!(thread.frames, [frame("world::step")]);
}

#[test]
fn places_are_shortened_to_the_part_that_differs() {
    for (path, told) in [
        ("/home/a/throng/crates/world/src/lib.rs", "crates/world/src/lib.rs"),
        ("/root/.cargo/registry/src/index.crates.io-1949/tokio-1.2.3/src/lib.rs", "tokio-1.2.3/src/lib.rs"),
        ("/rustc/59807616e/library/std/src/thread/mod.rs", "library/std/src/thread/mod.rs"),
        ("./nptl/pthread_kill.c", "./nptl/pthread_kill.c"),
    ] {
        assert_eq!(short(path), told);
    }
}

#[test]
fn a_file_that_is_no_dump_is_refused_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.dmp");
    std::fs::write(&path, "no dump").unwrap();
    let error = read_report(&path, &Symbols::of(dir.path())).unwrap_err();
    assert!(error.to_string().contains("a.dmp"), "{error}");
}
