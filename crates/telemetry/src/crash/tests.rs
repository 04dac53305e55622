//! The link with a thread of the test as its monitor, and whole crashes in child processes: this test binary again, with a
//! variable that makes [`child`] crash.

use super::link::ReportOutcome;
use super::*;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

const CHILD: &str = "THRONG_TEST_CRASH";

/// Runs the child with this task. Returns the signal that ended it, and its error output.
fn crash(task: &str) -> (Option<i32>, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::tests::child", "--nocapture", "--test-threads=1"])
        .env(CHILD, task)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.signal(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn say(text: &str) {
    let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
}

fn overflow(depth: u64) -> u64 {
    let ballast = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { overflow(depth + 1) + ballast[(depth % 64) as usize] }
}

/// No test by itself: the body of child processes.
#[test]
fn child() {
    let Ok(task) = std::env::var(CHILD) else { return };
    let _signals = match task.as_str() {
        "fault in the handler" => signals::attach(|_| {
            say("in the handler");
            segfault();
        }),
        _ => signals::attach(|context| {
            say(&["signal ", if context.siginfo.ssi_signo == 11 { "11" } else { "other" }].concat());
        }),
    };
    match task.as_str() {
        "overflow" => {
            // The server's threads have at least std's 2 MiB; a small stack saves time here.
            let small = std::thread::Builder::new().stack_size(64 * 1024);
            let _ = small.spawn(|| overflow(0)).unwrap().join();
        }
        _ => segfault(),
    }
}

#[test]
fn a_stack_overflow_on_a_thread_reaches_the_handler_and_ends_the_process() {
    let (signal, said) = crash("overflow");
    assert!(said.contains("signal 11"), "{said}");
    assert_eq!(signal, Some(libc::SIGSEGV));
}

#[test]
fn a_fault_inside_the_handler_ends_the_process_instead_of_hanging() {
    let (signal, said) = crash("fault in the handler");
    assert_eq!(said.matches("in the handler").count(), 1, "{said}");
    assert_eq!(signal, Some(libc::SIGSEGV));
}

#[test]
fn a_panic_is_reported_with_registers_and_text_and_continues_after_the_monitor() {
    let (ours, mut monitor) = UnixStream::pair().unwrap();
    let link = MonitorLink::new(ours).unwrap();
    let (pid, tid) = (std::process::id() as i32, rustix::thread::gettid().as_raw_nonzero().get());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            signals::with_registers(tid, |context| link.report_panic(context, "world-0 panicked", true))
        });
        let message = read_message(&mut monitor).unwrap().unwrap();
        let CrashMessage::Crash { kind: CrashKind::Panic, number: 1, context, text } = message else {
            panic!("{message:?}")
        };
        assert_eq!((context.pid, context.tid, text.as_str()), (pid, tid, "world-0 panicked"));
        write_done(&mut monitor, CrashKind::Panic, 1).unwrap();
    });
}

/// Reports a panic and returns the outcome.
fn report(link: &MonitorLink, kind: CrashKind) -> ReportOutcome {
    let mut outcome = None;
    signals::with_registers(1, |context| outcome = Some(link.report(kind, context, "hub panicked")));
    outcome.expect("it was called")
}

fn next_crash(monitor: &mut UnixStream) -> (CrashKind, u32) {
    match read_message(monitor).unwrap().unwrap() {
        CrashMessage::Crash { kind, number, .. } => (kind, number),
        other @ CrashMessage::Recorder(_) => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_that_ends_the_process_says_so_and_is_counted_with_the_others() {
    let (ours, mut monitor) = UnixStream::pair().unwrap();
    let link = MonitorLink::new(ours).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            signals::with_registers(1, |context| link.report_panic(context, "world-0 panicked", true));
            signals::with_registers(1, |context| link.report_panic(context, "hub panicked", false));
        });
        for expected in [(CrashKind::Panic, 1), (CrashKind::FatalPanic, 2)] {
            let (kind, number) = next_crash(&mut monitor);
            assert_eq!((kind, number), expected);
            write_done(&mut monitor, kind, number).unwrap();
        }
        waiting.join().unwrap();
        assert_eq!(link.answered(), (0, 2));
    });
}

#[test]
fn the_next_monitor_gets_the_same_crash_after_the_first_has_ended() {
    let (ours, mut monitor) = UnixStream::pair().unwrap();
    monitor.set_read_timeout(Some(SLICE * PATIENCE_SLICES)).unwrap();
    let link = MonitorLink::new(ours).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| report(&link, CrashKind::Signal));
        assert_eq!(next_crash(&mut monitor), (CrashKind::Signal, 1));
        link.monitor_ended();
        assert_eq!(next_crash(&mut monitor), (CrashKind::Signal, 1), "the first one took it with it");
        write_done(&mut monitor, CrashKind::Signal, 1).unwrap();
        assert_eq!(waiting.join().unwrap(), ReportOutcome::Answered);
    });
}

#[test]
fn no_thread_waits_for_a_third_monitor() {
    let (ours, mut monitor) = UnixStream::pair().unwrap();
    monitor.set_read_timeout(Some(SLICE * PATIENCE_SLICES)).unwrap();
    let link = MonitorLink::new(ours).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| report(&link, CrashKind::FatalPanic));
        for _ in 0..2 {
            next_crash(&mut monitor);
            link.monitor_ended();
        }
        assert_eq!(waiting.join().unwrap(), ReportOutcome::Gone, "and not only when patience ended");
    });
}

#[test]
fn an_answer_to_a_panic_does_not_release_a_thread_that_waits_for_its_signal() {
    let (ours, mut monitor) = UnixStream::pair().unwrap();
    let link = MonitorLink::new(ours).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| signals::with_registers(1, |context| link.report_signal(context)));
        read_message(&mut monitor).unwrap().unwrap();
        write_done(&mut monitor, CrashKind::Panic, 1).unwrap();
        write_done(&mut monitor, CrashKind::Signal, 1).unwrap();
        waiting.join().unwrap();
        assert_eq!(link.answered(), (1, 1), "it read both answers, so it went on after the second");
    });
}

#[test]
fn without_a_monitor_no_thread_waits() {
    let (ours, monitor) = UnixStream::pair().unwrap();
    let link = MonitorLink::new(ours).unwrap();
    drop(monitor);
    signals::with_registers(1, |context| link.report_signal(context));
    assert_eq!(link.answered(), (0, 0));
}

#[test]
fn the_thread_that_is_about_to_abort_gets_no_second_dump() {
    let (ours, mut monitor) = UnixStream::pair().unwrap();
    let link = MonitorLink::new(ours).unwrap();
    link.expect_abort();
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    signals::with_registers(tid, |context| link.report_signal(context));
    drop(link);
    let mut rest = Vec::new();
    monitor.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
}

#[test]
fn bytes_that_are_no_message_are_refused() {
    let long = message::header(1, 1, 1 << 30);
    assert_eq!(read_message(&mut long.as_slice()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    let short = [message::header(2, 1, 3).as_slice(), b"abc"].concat();
    assert_eq!(read_message(&mut short.as_slice()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    assert!(read_message(&mut [].as_slice()).unwrap().is_none());
}

#[test]
fn a_process_that_ends_with_an_answer_unread_has_ended() {
    let (ours, mut monitor) = UnixStream::pair().unwrap();
    write_done(&mut monitor, CrashKind::Signal, 1).unwrap();
    drop(ours);
    assert!(read_message(&mut monitor).unwrap().is_none(), "the system calls it a connection that was reset");
}
