//! `throng script` as the author of a script runs it: output, JSON and exit status.

use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Output};
use tempfile::TempDir;

const VALID: &str = "default\n{\n    state_entry()\n    {\n        llSay(0, \"hello\");\n    }\n}\n";
const WRONG: &str = "default\n{\n\ttimer()\n\t{\n\t\tinteger n = llSey(\"ü\", 1);\n\t}\n}\n";

fn check(directory: &TempDir, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_throng"))
        .args(["script", "check"])
        .args(args)
        .current_dir(directory.path())
        .output()
        .unwrap()
}

fn told(directory: &TempDir, status: i32, args: &[&str]) -> String {
    let output = check(directory, args);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn scripts() -> TempDir {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("valid.lsl"), VALID).unwrap();
    fs::write(directory.path().join("wrong.lsl"), WRONG).unwrap();
    fs::write(directory.path().join("bytes.lsl"), [0xFF, 0xFE]).unwrap();
    directory
}

#[test]
fn problems_have_their_place_their_line_and_a_caret() {
    let directory = scripts();
    assert_eq!(told(&directory, 0, &["valid.lsl"]), "");
    let expected = "wrong.lsl:5:11: warning: variable `n` is never used\n\
                    \t\tinteger n = llSey(\"ü\", 1);\n\
                    \t\t        ^\n\
                    wrong.lsl:5:15: error: `llSey` is not declared; did you mean `llSay`?\n\
                    \t\tinteger n = llSey(\"ü\", 1);\n\
                    \t\t            ^^^^^\n";
    assert_eq!(told(&directory, 1, &["valid.lsl", "wrong.lsl"]), expected);
    let unreadable = told(&directory, 2, &["bytes.lsl", "missing.lsl", "wrong.lsl"]);
    assert!(
        unreadable.starts_with("bytes.lsl: error: this is not UTF-8 text\nmissing.lsl: error: "),
        "{unreadable}"
    );
    assert!(unreadable.ends_with(expected), "{unreadable}");
}

#[test]
fn json_has_the_same_problems() {
    let directory = scripts();
    let files: Value =
        serde_json::from_str(&told(&directory, 1, &["--json", "valid.lsl", "wrong.lsl"])).unwrap();
    assert_eq!(files[0], json!({"file": "valid.lsl", "dialect": "sl", "problems": [], "more": 0}));
    let problem = &files[1]["problems"][1];
    assert_eq!(
        *problem,
        json!({
            "line": 5,
            "column": 15,
            "severity": "error",
            "message": "`llSey` is not declared; did you mean `llSay`?"
        })
    );
}

#[test]
fn the_dialect_is_named_or_found() {
    let directory = TempDir::new().unwrap();
    let source = "default { timer() { llSay(0, (string)osMax(1.0, 2.0)); } }";
    fs::write(directory.path().join("os.lsl"), source).unwrap();
    fs::write(directory.path().join("named.lsl"), format!("//#dialect sl\n{source}")).unwrap();
    told(&directory, 0, &["os.lsl"]);
    told(&directory, 0, &["--dialect", "opensim", "os.lsl"]);
    told(&directory, 1, &["--dialect", "sl", "os.lsl"]);
    told(&directory, 1, &["--dialect", "opensim", "named.lsl"]);
}
