//! The form of messages: a file with all sorts of mistakes, and the messages about it.

use crate::village;
use behavior::{BehaviorSet, Source};

#[test]
fn every_mistake_in_a_file_is_reported_at_once() {
    let sources = [
        Source { file: "wrong.behaviour", bytes: include_bytes!("wrong.behaviour") },
        Source { file: "more.behaviour", bytes: include_bytes!("more.behaviour") },
    ];
    let mut vocabulary = village::vocabulary();
    vocabulary.entries = vec!["gaurd".into()];
    let problems = BehaviorSet::load(&sources, &vocabulary).expect_err("there are mistakes").to_string();
    let expected = include_str!("wrong.expected").trim_end();
    // To write it anew: NAV_WRITE=1 cargo test -p nav --test behaviours; then read the difference.
    if std::env::var_os("NAV_WRITE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/behaviours/wrong.expected");
        std::fs::write(path, format!("{problems}\n")).expect("the source can be written");
    }
    assert_eq!(problems, expected);
}
