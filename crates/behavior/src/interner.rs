//! Lines of speech of a set, each text once.

use std::collections::BTreeMap;

/// Lines being collected.
#[derive(Debug, Default)]
pub(super) struct Interner {
    lines: Vec<Box<str>>,
    known: BTreeMap<Vec<Box<str>>, u16>,
}

impl Interner {
    /// Lines of a set.
    pub(super) const LINES_MAX: usize = 4_096;

    /// The number of the first of these lines; the others follow it. None when there are too many.
    pub(super) fn intern(&mut self, said: &[&str]) -> Option<u16> {
        let key: Vec<Box<str>> = said.iter().map(|&line| line.into()).collect();
        if let Some(&first) = self.known.get(&key) {
            return Some(first);
        }
        if self.lines.len() + said.len() > Self::LINES_MAX {
            return None;
        }
        let first = self.lines.len() as u16;
        self.lines.extend(key.iter().cloned());
        self.known.insert(key, first);
        Some(first)
    }

    /// All lines, by number.
    pub(super) fn into_lines(self) -> Box<[Box<str>]> {
        self.lines.into()
    }
}
