//! The configuration commands as a user runs them.

use std::process::{Command, Output};

fn throng(args: &[&str], env: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_throng")).args(args).envs(env.iter().copied()).output().unwrap()
}

#[test]
fn show_prints_value_and_origin() {
    let output = throng(&["config", "show", "--http", "127.0.0.1:9100"], &[("THRONG__WORLD__HZ", "30")]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("http = \"127.0.0.1:9100\" # flag --http"), "{text}");
    assert!(text.contains("hz = 30 # environment variable THRONG__WORLD__HZ"), "{text}");
}

#[test]
fn a_configuration_that_is_not_valid_exits_with_2_and_says_why() {
    let output = throng(&["config", "show"], &[("THRONG__WORLD__HZZ", "30")]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("the nearest is `world.hz`"), "{message}");
}

#[test]
fn docs_print_the_reference() {
    let output = throng(&["config", "docs"], &[]);
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("### `gateway.client_bytes_per_s`"));
}
