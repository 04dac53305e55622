//! Real crashes of a real server: every kind of thread, every kind of end, and the reports of it.

mod server;

use rustix::process::{Pid, Signal, kill_process};
use server::Server;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;

const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

/// Places of faults, and the names of their threads.
const THREADS: [(&str, &str); 4] =
    [("world:Harbour", "world-0"), ("shard:0", "shard-0"), ("passwords", "passwords"), ("main", "main")];

/// Crashes this kind of thread and returns the summary, after the server and its monitor have ended.
fn crash(kind: &str, place: &str, signal: i32) -> String {
    let server = Server::start();
    server.fault(kind, place);
    if place == "passwords" {
        // The answer is not waited for.
        server.log_in();
    }
    let ended = server.wait();
    assert_eq!(ended.status.signal(), Some(signal), "{}", ended.log);
    let summaries = ended.summaries();
    assert_eq!(summaries.len(), 1, "{}", ended.log);
    summaries.into_iter().next().expect("there is one")
}

/// The part of a summary that is about the thread that crashed.
fn crashed_thread(summary: &str) -> &str {
    let begin = summary.find("\nthread ").expect("threads are told") + 1;
    summary[begin..].split("\n\n").next().expect("there is a first part")
}

#[test]
fn a_segmentation_fault_on_any_thread_is_explained() {
    for (place, name) in THREADS {
        let summary = crash("segfault", place, SIGSEGV);
        assert!(
            summary.starts_with(&format!("{name} crashed: SIGSEGV / SEGV_MAPERR at 0xbad\n")),
            "{summary}"
        );
        let thread = crashed_thread(&summary);
        assert!(thread.starts_with(&format!("thread {name} (")), "{thread}");
        assert!(
            thread.contains("telemetry::crash::signals::segfault  crates/telemetry/src/crash/signals.rs:")
        );
        assert!(thread.contains("workplace::faults::Fuse::burn  crates/workplace/src/faults.rs:"));
    }
}

#[test]
fn an_abort_on_any_thread_is_explained() {
    for (place, name) in THREADS {
        let summary = crash("abort", place, SIGABRT);
        assert!(summary.starts_with(&format!("{name} crashed: SIGABRT")), "{summary}");
        let thread = crashed_thread(&summary);
        assert!(thread.contains("std::process::abort"), "{thread}");
        assert!(thread.contains("workplace::faults::Fuse::burn"), "{thread}");
    }
}

#[test]
fn a_stack_overflow_on_any_thread_is_explained() {
    for (place, name) in THREADS.into_iter().chain([("http", "http")]) {
        let summary = crash("stack_overflow", place, SIGSEGV);
        assert!(summary.starts_with(&format!("{name} overflowed its stack: SIGSEGV")), "{summary}");
        let thread = crashed_thread(&summary);
        assert!(thread.contains("workplace::faults::overflow"), "{thread}");
        assert!(thread.contains("workplace::faults::Fuse::burn"), "the whole stack is unwound: {thread}");
    }
}

#[test]
fn a_crash_report_names_the_threads_open_scopes_and_keeps_the_last_seconds() {
    let server = Server::start();
    server.fault("segfault", "world:Harbour");
    let ended = server.wait();
    let summary = &ended.summaries()[0];
    let doing = crashed_thread(summary).lines().nth(1).unwrap();
    assert!(doing.starts_with("  was in world.frame (Harbour) for "), "{summary}");
    assert_eq!(ended.traces(), 1, "{}", ended.log);
    let (_, costs) = summary.split_once("\ncrash capture, ").expect(summary);
    assert!(costs.contains("\n  world.frame "), "what cost most is told: {costs}");
    assert!(costs.contains("\n  Harbour "), "{costs}");
}

#[test]
fn an_uncaught_panic_ends_the_server_with_one_dump() {
    for (place, name) in [("replica", "replica"), ("hub", "hub")] {
        let summary = crash("panic", place, SIGABRT);
        let headline = summary.lines().next().unwrap();
        assert!(headline.starts_with(&format!("{name} panicked at crates/workplace/src/faults.rs:")));
        assert!(headline.ends_with(&format!("a fault that was ordered at {place}")));
        let thread = crashed_thread(&summary);
        let first = thread.lines().find(|line| line.trim_start().starts_with("0 ")).expect(thread);
        assert!(first.contains("workplace::faults::Fuse::burn"), "it begins where it panicked: {first}");
    }
}

#[test]
fn a_panic_that_is_caught_leaves_a_dump_and_the_server_goes_on_and_again_soon_leaves_none() {
    let server = Server::start();
    server.fault("panic", "http");
    server.fault("panic", "http");
    assert_eq!(server.get("/healthz/live"), "ok\n");
    server.signal(Signal::TERM);
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(ended.summaries().len(), 1, "{}", ended.log);
    assert!(ended.dumps()[0].ends_with("-panic.dmp"));
    assert!(ended.log.contains("this place had one within the last minute"), "{}", ended.log);
}

#[test]
fn a_panic_that_ends_the_server_is_dumped_though_one_at_the_same_place_was_survived_just_before() {
    let server = Server::start();
    server.fault("panic", "http");
    assert_eq!(server.get("/healthz/live"), "ok\n");
    server.fault("panic", "hub");
    let ended = server.wait();
    assert_eq!(ended.status.signal(), Some(SIGABRT));
    let dumps = ended.dumps();
    let survived = dumps.iter().filter(|dump| dump.ends_with("-panic.dmp")).count();
    assert_eq!((dumps.len(), survived), (2, 1), "{}", ended.log);
    assert!(ended.summaries().iter().any(|summary| summary.starts_with("hub panicked at ")), "{}", ended.log);
}

#[test]
fn a_server_whose_terminal_is_closed_drains() {
    let mut server = Server::start();
    server.close_log();
    server.signal(Signal::HUP);
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(0), "it neither dies of the signal nor of its log");
    assert_eq!(ended.dumps(), Vec::<String>::new());
}

#[test]
fn a_supervisor_whose_terminal_is_closed_ends_with_its_server() {
    let server = Server::supervised();
    server.signal(Signal::HUP);
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    assert!(ended.log.contains("draining cause=\"SIGHUP\""), "{}", ended.log);
    assert!(!ended.log.contains("has crashed"), "{}", ended.log);
}

#[test]
fn a_server_that_was_started_to_outlive_its_terminal_does() {
    let server = Server::start_by(&["sh", "-c", "trap '' HUP; exec \"$@\""]).expect("the server starts");
    server.signal(Signal::HUP);
    assert_eq!(server.get("/healthz/ready"), "ok\n");
    server.signal(Signal::TERM);
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    assert!(!ended.log.contains("SIGHUP"), "{}", ended.log);
}

#[test]
fn after_a_signal_from_outside_the_supervisor_brings_the_server_back() {
    let mut server = Server::supervised();
    let first = server.pid();
    kill_process(first, Signal::SEGV).unwrap();
    server.wait_until_ready();
    assert_ne!(server.pid(), first);
    assert_eq!(server.get("/healthz/ready"), "ok\n");
    server.signal(Signal::TERM);
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(0), "the server's status is the supervisor's: {}", ended.log);
    let me = std::process::id();
    let summary = &ended.summaries()[0];
    assert!(
        summary.starts_with(&format!("process {me} sent SIGSEGV, which ")),
        "any thread may get it: {summary}"
    );
    assert!(ended.list().contains("sent SIGSEGV"), "{}", ended.list());
}

#[test]
fn a_server_whose_supervisor_is_killed_ends_too() {
    let server = Server::supervised();
    server.signal(Signal::KILL);
    let ended = server.wait();
    // The log ends when no process holds it any more: server and monitor are gone.
    assert!(ended.log.contains("draining cause=\"SIGTERM\""), "{}", ended.log);
    assert!(ended.log.contains("stopped"), "{}", ended.log);
}

#[test]
fn a_monitor_that_hangs_does_not_keep_the_server_from_dying() {
    let server = Server::start();
    let monitor = server.monitor();
    kill_process(monitor, Signal::STOP).unwrap();
    server.fault("segfault", "shard:0");
    let status = server.wait_for_end();
    assert_eq!(status.signal(), Some(SIGSEGV));
    kill_process(monitor, Signal::KILL).unwrap();
}

#[test]
fn a_monitor_that_dies_is_replaced_and_the_next_crash_is_written() {
    let mut server = Server::start();
    let first = server.monitor();
    kill_process(first, Signal::KILL).unwrap();
    server.wait_until_logged("the crash monitor is started again");
    assert_ne!(server.monitor(), first);
    server.fault("abort", "shard:0");
    let ended = server.wait();
    assert_eq!((ended.status.signal(), ended.summaries().len()), (Some(SIGABRT), 1), "{}", ended.log);
}

#[test]
fn without_a_place_for_dumps_the_server_dies_of_its_signal_all_the_same() {
    let server = Server::start_in(|data| fs::write(data.join("crashes"), "in the way").unwrap());
    server.fault("segfault", "main");
    let ended = server.wait();
    assert_eq!(ended.status.signal(), Some(SIGSEGV));
    assert!(ended.log.contains("no crash dump"), "{}", ended.log);
}

#[test]
fn a_full_disk_leaves_no_half_dump() {
    // A file system of its own for the dumps, in a mount namespace that ends with the server.
    let script = "mount -t tmpfs -o size=64k tmpfs \"$0\"/crashes || exit 77; exec \"$@\"";
    let Some(server) = Server::start_by(&["unshare", "--map-root-user", "--mount", "sh", "-c", script])
    else {
        // This machine gives no namespaces; the directory's own tests cover a disk that refuses.
        return;
    };
    server.fault("segfault", "main");
    let ended = server.wait();
    assert_eq!(ended.status.signal(), Some(SIGSEGV));
    assert!(ended.log.contains("no crash dump"), "{}", ended.log);
    assert!(ended.log.contains("No space left on device"), "{}", ended.log);
    assert!(!ended.log.contains("crash dump written"), "{}", ended.log);
}

#[test]
fn faults_have_to_be_allowed() {
    let server = Server::start_with(&[("THRONG__DIAGNOSE__ALLOW_FAULTS", "false")]);
    let answer = server.fault("abort", "main");
    assert!(answer.contains("diagnose.allow_faults"), "{answer}");
    assert_eq!(server.get("/healthz/live"), "ok\n");
    server.signal(Signal::TERM);
    assert_eq!(server.wait().status.code(), Some(0));
}

#[test]
fn without_dumps_there_is_no_monitor() {
    let server = Server::start_with(&[("THRONG__DIAGNOSE__CRASH_DUMPS_MAX", "0")]);
    assert_eq!(server.children(), Vec::<Pid>::new());
    server.signal(Signal::TERM);
    assert_eq!(server.wait().status.code(), Some(0));
}

#[test]
fn without_dumps_an_uncaught_panic_ends_the_server_all_the_same() {
    let mut server = Server::start_with(&[("THRONG__DIAGNOSE__CRASH_DUMPS_MAX", "0")]);
    server.fault("panic", "replica");
    server.wait_until_logged("a fault that was ordered at replica");
    // A server that goes on without the thread is asked to end, and would do so with a status.
    server.signal(Signal::TERM);
    let ended = server.wait();
    assert_eq!(ended.status.signal(), Some(SIGABRT), "{}", ended.log);
}
