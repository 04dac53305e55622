//! `docs/internals/invariants.md` against the source: documents and files exist, messages stand in assertions, and tests expect them.

use std::{fs, path::Path};

/// A link of a cell, and the name or message in backticks behind it.
struct Cited<'a> {
    path: &'a str,
    quoted: Option<&'a str>,
}

fn cited(cell: &str) -> Option<Cited<'_>> {
    let (_, rest) = cell.split_once("](")?;
    let (path, rest) = rest.split_once(')')?;
    let quoted = rest.split_once('`').and_then(|(_, rest)| rest.split_once('`')).map(|(quoted, _)| quoted);
    Some(Cited { path, quoted })
}

/// True if a message stands in an assertion, in the proof of an `expect`, or in a `panic`: between its macro's name and the message no statement ends.
fn is_asserted(code: &str, message: &str) -> bool {
    code.match_indices(message).any(|(at, _)| {
        let before = &code[..at];
        let statement = before.rfind(";\n").map_or(before, |end| &before[end..]);
        ["assert!(", "assert_eq!(", "assert_ne!(", ".expect(", "panic!("]
            .iter()
            .any(|call| statement.contains(call))
    })
}

/// The attributes of a function, if the code has it as a test.
pub(super) fn attributes_of_test(code: &str, name: &str) -> Option<String> {
    let (before, _) = code.split_once(&format!("fn {name}("))?;
    let lines = before.trim_end().lines().rev().map(str::trim);
    let attributes: Vec<&str> = lines.take_while(|line| line.starts_with("#[")).collect();
    attributes.contains(&"#[test]").then(|| attributes.join("\n"))
}

/// The longest part of a message without variables.
fn fixed_part(message: &str) -> &str {
    let parts = message.split('{').map(|part| part.split_once('}').map_or(part, |(_, fixed)| fixed));
    parts.max_by_key(|part| part.len()).unwrap_or_default()
}

/// True if a test with these attributes fails without the panic of this message.
fn expects(attributes: &str, message: &str) -> bool {
    let expected =
        attributes.split_once("#[should_panic(expected = \"").and_then(|(_, rest)| rest.split_once("\")]"));
    expected.is_some_and(|(expected, _)| expected.contains(fixed_part(message).trim()))
}

#[test]
fn every_invariant_names_its_document_its_assertion_and_its_test() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals"));
    let text = fs::read_to_string(folder.join("invariants.md")).expect("invariants.md");
    let mut faults = Vec::new();
    let mut n_rows = 0;
    for line in text.lines().filter(|line| line.starts_with("| ") && line.contains("](")) {
        n_rows += 1;
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (invariant, links) = cells.split_first().expect("a row has cells");
        let links: Vec<_> = links.iter().map(|cell| cited(cell)).collect();
        let (asserted, document, test) = match &links[..] {
            [Some(document), Some(asserted), Some(test)] => (Some(asserted), document, test),
            [Some(document), Some(test)] => (None, document, test),
            _ => {
                faults.push(format!("{invariant}: a cell without a link"));
                continue;
            }
        };
        let source = |path: &str| fs::read_to_string(folder.join(path)).unwrap_or_default();
        if source(document.path).is_empty() {
            faults.push(format!("{invariant}: there is no {}", document.path));
        }
        if let Some(Cited { path, quoted }) = asserted
            && !quoted.is_some_and(|message| is_asserted(&source(path), message))
        {
            faults.push(format!("{invariant}: {path} does not assert {quoted:?}"));
        }
        let attributes = test.quoted.and_then(|name| attributes_of_test(&source(test.path), name));
        match (attributes, asserted.and_then(|asserted| asserted.quoted)) {
            (None, _) => faults.push(format!("{invariant}: {} has no test {:?}", test.path, test.quoted)),
            (Some(attributes), Some(message)) if !expects(&attributes, message) => {
                faults.push(format!("{invariant}: {:?} does not expect the panic {message:?}", test.quoted));
            }
            (Some(_), _) => {}
        }
    }
    assert!(n_rows > 20, "only {n_rows} invariants are read");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_message_is_asserted_in_its_own_statement_only() {
    assert!(is_asserted("let a = 1;\n    assert!(a > 0, \"{a} is too small\");\n", "is too small"));
    assert!(is_asserted("assert!(\n    a > 0,\n    \"{a} is too small\"\n);\n", "is too small"));
    assert!(!is_asserted("assert!(a > 0);\n// is too small\n", "is too small"));
    assert!(!is_asserted("assert!(a > 0);\n", "is too small"));
}

#[test]
fn a_test_of_an_invariant_expects_its_message() {
    let code = r#"
mod tests {
    #[test]
    #[should_panic(expected = "7 is too large")]
    fn d() {}
}

#[test]
#[should_panic(expected = "7 is too small")]
fn a() {}

#[test]
fn b() {}

fn c() {}
"#;
    let expects_in =
        |name, message| attributes_of_test(code, name).map(|attributes| expects(&attributes, message));
    assert_eq!(expects_in("a", "{a} is too small"), Some(true));
    assert_eq!(expects_in("a", "{a} is too large"), Some(false));
    assert_eq!(expects_in("d", "{a} is too large"), Some(true));
    assert_eq!(expects_in("b", "{a} is too small"), Some(false));
    assert_eq!(expects_in("c", "{a} is too small"), None);
    assert_eq!(fixed_part("a {kind:?} datagram of {len} bytes"), " datagram of ");
}
