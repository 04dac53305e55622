//! The console through a pipe and by scripts, as `docs/operating/console.md` has it.

use crate::server::{Server, throng};
use std::fs;
use std::io::Write as _;
use std::process::{Output, Stdio};

const CONFIG: &str = "[[region]]\nname = \"Harbour\"\n";

/// Runs the console with these lines as its standard input.
fn console(server: &Server, words: &[&str], input: &str) -> Output {
    let mut command = throng();
    command.arg("console").args(words).arg("--data").arg(server.data.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may end before it has read all.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn established_commands_run_as_subcommands_and_are_shown() {
    let server = Server::start_with(CONFIG);
    let input = "create user Ada Lovelace secret\nshow regions\nterrain fill 25\nstauts\nuser list\nshow users\nquit\nkick user Ada Lovelace\n";
    let output = console(&server, &[], input);
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    for told in ["Ada Lovelace can log in now.\n", "Harbour  256 m", "25 m to 25 m high", "0 users\n"] {
        assert!(stdout.contains(told), "{told:?} is not in {stdout}");
    }
    assert!(stdout.contains("  Ada Lovelace\n"), "{stdout}");
    for told in [
        "throng user add Ada Lovelace\n",
        "throng region list\n",
        "throng terrain fill --region=Harbour 25\n",
        "throng user online --region=Harbour\n",
        "there is no command \"stauts\"; perhaps: status",
    ] {
        assert!(stderr.contains(told), "{told:?} is not in {stderr}");
    }
    assert!(!stderr.contains("secret") && !stderr.contains("throng kick"), "{stderr}");
    assert!(!server.data.path().join("console.history").exists(), "only a terminal has a history");
    // The account has the password of the line.
    assert!(console(&server, &[], "create user Ada Lovelace other\n").status.code() == Some(1));
}

#[test]
fn a_script_stops_at_the_first_error() {
    let server = Server::start_with(CONFIG);
    let script = server.data.path().join("nightly.txt");
    fs::write(&script, "# nightly\nbackup\n\nkick user Eve Byron\nstatus\n").unwrap();
    let path = script.to_str().unwrap();
    let output = console(&server, &["--exec", path], "");
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stdout.contains("is on the disk.\n") && !stdout.contains("regions 1"), "{stdout}");
    assert!(stderr.contains("\"Eve Byron\" is not here."), "{stderr}");
    assert!(stderr.ends_with(&format!("throng: {path}, line 4: ended with exit status 1\n")), "{stderr}");

    fs::write(&script, "status\nparcel lsit\n").unwrap();
    let output = console(&server, &["--exec", path], "");
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stdout.contains("regions 1") && stderr.contains("parcel needs one of: "), "{stderr}");

    fs::write(&script, "status\nquit\nkick user Eve Byron\n").unwrap();
    assert_eq!(console(&server, &["--exec", path], "").status.code(), Some(0));
    let missing = console(&server, &["--exec", "/nowhere/nightly.txt"], "");
    assert_eq!(missing.status.code(), Some(1));
    assert!(texts(&missing).1.contains("cannot read the script /nowhere/nightly.txt"));
}

#[test]
fn a_region_is_chosen_by_its_name() {
    let server = Server::start();
    let output = console(&server, &[], "backup\nchange region Atlantis\nchange region meadows\nbackup\n");
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stdout.contains("Commands are for Meadows now.\n"), "{stdout}");
    assert!(stderr.contains("choose one with `change region NAME`"), "{stderr}");
    assert!(stderr.contains("there is no region \"Atlantis\"; there are: Harbour, Meadows"), "{stderr}");
    assert!(stderr.contains("throng region save Meadows\n"), "{stderr}");
    let named = console(&server, &["--region", "harbour"], "backup\n");
    assert!(texts(&named).1.contains("throng region save Harbour\n"), "{:?}", texts(&named));
    let unknown = console(&server, &["--region", "Atlantis"], "backup\n");
    assert_eq!(unknown.status.code(), Some(1));
    assert!(texts(&unknown).1.contains("there is no region \"Atlantis\""), "{:?}", texts(&unknown));
}

#[test]
fn without_a_server_commands_on_the_database_work() {
    let mut server = Server::start_with(CONFIG);
    assert_eq!(server.terminate(), Some(0));
    let output =
        console(&server, &[], "create user Ada Lovelace secret\nuser show Ada Lovelace --json\nstatus\n");
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "the last one failed");
    assert!(stdout.contains("\"name\":\"Ada Lovelace\""), "{stdout}");
    assert!(stderr.contains("no server seems to run"), "{stderr}");
}
