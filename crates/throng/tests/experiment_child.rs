//! Processes of an experiment end with it, however it ends.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

#[test]
fn a_child_of_an_experiment_is_killed_when_the_thread_that_started_it_ends() {
    let start = || {
        let mut child = Command::new(env!("CARGO_BIN_EXE_throng"))
            .args(["experiment-child", "--", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("our own executable");
        // It echoes, so it is cat by now and not on its way there.
        let input = child.stdin.as_mut().expect("piped");
        input.write_all(b"here\n").expect("it reads");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("it answers");
        assert_eq!(line, "here\n");
        child
    };
    // Its input stays open beyond the thread, so nothing else would end it.
    let mut child = std::thread::spawn(start).join().expect("it started");
    let _input = child.stdin.take();
    let status = child.wait().expect("it is ours");
    assert_eq!(status.signal(), Some(9), "{status}");
}

#[test]
fn a_program_that_does_not_exist_is_an_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_throng"))
        .args(["experiment-child", "--", "/nonexistent"])
        .output()
        .expect("our own executable");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No such file"), "{output:?}");
}
