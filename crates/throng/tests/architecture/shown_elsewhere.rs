//! Messages of clients whose effect is shown by a test of its own (`SHOWN_ELSEWHERE` in `gateway/src/shard/tests/coverage/conversations.rs`): the tests
//! exist and send them.

use super::invariants::attributes_of_test;
use std::collections::{BTreeMap, BTreeSet};
use std::{fs, path::Path};

/// A row of the list.
#[derive(Debug, PartialEq)]
struct Row<'a> {
    file: &'a str,
    test: &'a str,
    messages: Vec<&'a str>,
}

/// The rows of the list in a source; none if it has no such list.
fn rows_of(code: &str) -> Vec<Row<'_>> {
    let list = code.split_once("const SHOWN_ELSEWHERE:").and_then(|(_, rest)| rest.split_once("\n];\n"));
    let Some((list, _)) = list else { return Vec::new() };
    // From the first quote on: a file, a comma, a test, and the messages up to the next row's file.
    let quoted: Vec<&str> = list.split('"').skip(1).collect();
    let (rows, _) = quoted.as_chunks::<4>();
    rows.iter().map(|&[file, _, test, rest]| Row { file, test, messages: messages_in(rest) }).collect()
}

/// The names behind `MessageName::`.
fn messages_in(text: &str) -> Vec<&str> {
    text.split("MessageName::").skip(1).map(first_name).collect()
}

/// The name that a text begins with.
fn first_name(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// The functions of a source by name, each with its text up to the next one, without comments.
fn functions_of(code: &str) -> BTreeMap<&str, String> {
    let mut functions = BTreeMap::<&str, String>::new();
    let mut current = "";
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let head = line.split_once("fn ").filter(|(before, _)| {
            let before = before.trim();
            before.is_empty() || before == "const" || before.starts_with("pub")
        });
        if let Some((_, rest)) = head {
            current = first_name(rest);
        }
        let text = functions.entry(current).or_default();
        text.push_str(line);
        text.push('\n');
    }
    functions
}

/// True if a word stands in a text by itself, with this behind it.
fn has_word(text: &str, word: &str, behind: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let rest = &text[at + word.len()..];
        !text[..at].ends_with(is_part) && !rest.starts_with(is_part) && rest.starts_with(behind)
    })
}

/// True if a function names a message, or calls one that does.
fn names_message(functions: &BTreeMap<&str, String>, function: &str, message: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::from([function]), vec![function]);
    while let Some(text) = open.pop().and_then(|name| functions.get(name)) {
        if has_word(text, message, "") {
            return true;
        }
        let called = functions.keys().copied().filter(|name| !name.is_empty() && has_word(text, name, "("));
        open.extend(called.filter(|name| seen.insert(*name)));
    }
    false
}

#[test]
fn every_message_that_is_shown_elsewhere_has_a_test_that_sends_it() {
    let gateway = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../gateway/src"));
    let source = |file: &str| fs::read_to_string(gateway.join(file)).unwrap_or_default();
    let list = source("shard/tests/coverage/conversations.rs");
    // Tests send many messages by methods of their client.
    let client = source("testing/client.rs");
    let mut faults = Vec::new();
    let mut n_messages = 0;
    for Row { file, test, messages } in rows_of(&list) {
        let code = source(file);
        if attributes_of_test(&code, test).is_none() {
            faults.push(format!("{file} has no test {test}"));
            continue;
        }
        n_messages += messages.len();
        let mut functions = functions_of(&client);
        functions.extend(functions_of(&code));
        let unsent = messages.iter().filter(|message| !names_message(&functions, test, message));
        faults.extend(unsent.map(|message| format!("{test} of {file} does not send {message}")));
    }
    assert!(n_messages > 50, "only {n_messages} messages are read");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_test_that_sends_a_message_itself_or_by_a_helper_is_found_and_no_other() {
    let code = "\
const SHOWN_ELSEWHERE: &[(&str, &str, &[MessageName])] = &[
    (\"a.rs\", \"walks\", &[MessageName::AgentUpdate, MessageName::AgentPause]),
    (
        \"b.rs\",
        \"sits\",
        &[MessageName::AgentSit],
    ),
];

fn helper() {
    send(AgentPause {});
}

// AgentSit
#[test]
fn walks() {
    helper();
    send(AgentUpdate {});
}
";
    let rows = rows_of(code);
    let expected = [("a.rs", "walks", vec!["AgentUpdate", "AgentPause"]), ("b.rs", "sits", vec!["AgentSit"])];
    assert_eq!(rows, expected.map(|(file, test, messages)| Row { file, test, messages }));
    let functions = functions_of(code);
    let sends = |message| names_message(&functions, "walks", message);
    assert!(sends("AgentUpdate") && sends("AgentPause"));
    assert!(!sends("AgentSit") && !sends("Agent"));
    assert!(!names_message(&functions, "absent", "AgentUpdate"));
}
