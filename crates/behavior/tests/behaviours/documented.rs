//! The page about behaviours shows what can be loaded.

use crate::village;
use behavior::{BehaviorSet, Source, Vocabulary};

const PAGE: &str = include_str!("../../../../docs/operating/behaviours.md");

#[test]
fn the_examples_of_the_page_can_be_loaded() {
    let vocabulary = Vocabulary { entries: Vec::new(), ..village::vocabulary() };
    let mut n_loaded = 0;
    for block in PAGE.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        // The other blocks are messages.
        let is_file = block.contains("behaviour ") && !block.contains(".behaviour:");
        let is_node = block.starts_with("when ") || block.starts_with("sequence:");
        let nodes: String = block.lines().map(|line| format!("    {line}\n")).collect();
        let text = if is_node { format!("behaviour shown:\n{nodes}") } else { block.to_owned() };
        if is_file || is_node {
            let source = Source { file: "behaviours.md", bytes: text.as_bytes() };
            BehaviorSet::load(&[source], &vocabulary).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
            n_loaded += 1;
        }
    }
    assert_eq!(n_loaded, 3);
}
