//! Nesting: lines and the words behind their colons, as a tree by indentation.
//!
//! Two notations mean the same: a block under `when …:`, and one node behind the colon on the same line.

use crate::{
    FileLimits,
    fault::TextFault,
    problem::FileReport,
    text::{Lexeme, TextLine, Token},
    words::Words,
};

/// A node as it is written: the words up to a colon or to the line's end.
#[derive(Debug)]
pub struct NodeText<'a> {
    /// From 1.
    pub line: u32,
    /// Position of its first token, in characters from 1.
    pub column: u32,
    /// Words of the line, without reported ones.
    pub tokens: Vec<Token<'a>>,
    /// A colon follows the words.
    pub has_colon: bool,
    /// Indexes of the items directly under it.
    pub children: Vec<usize>,
}

/// All items of a file.
#[derive(Debug, Default)]
pub struct Outline<'a> {
    /// In the order of the file.
    pub items: Vec<NodeText<'a>>,
    /// Indexes of the items under no other.
    pub roots: Vec<usize>,
}

/// A line whose block may continue.
struct Open {
    indent: u32,
    /// The last item of the line, which has the block.
    item: usize,
    /// Indentation of the block's first line.
    block: Option<u32>,
    depth: usize,
}

impl<'a> NodeText<'a> {
    /// A cursor at its first word.
    #[must_use]
    pub fn words(&self) -> Words<'_, 'a> {
        Words { tokens: &self.tokens, line: self.line, last_column: self.column }
    }
}

impl<'a> Outline<'a> {
    /// Nests a file's lines. Each misplaced line is reported and put at the place it most likely belongs.
    #[must_use]
    pub fn of<F: From<TextFault>>(
        lines: Vec<TextLine<'a>>,
        limits: &FileLimits,
        report: &mut FileReport<'_, F>,
    ) -> Self {
        let mut outline = Self::default();
        let mut open: Vec<Open> = Vec::new();
        for line in lines {
            if outline.items.len() >= limits.items {
                report.add(line.number, 1, TextFault::TooMany { what: "nodes in a file", max: limits.items });
                break;
            }
            while open.last().is_some_and(|above| above.indent >= line.indent) {
                open.pop();
            }
            let mut depth = 0;
            let mut parent = None;
            if let Some(above) = open.last_mut() {
                let column = line.tokens[0].column;
                if !outline.takes_block(above.item) && above.block.is_none() {
                    report.add(line.number, column, TextFault::NoBlock);
                }
                let block = *above.block.get_or_insert(line.indent);
                if block != line.indent {
                    report.add(line.number, column, TextFault::Indent { found: line.indent, block });
                }
                (depth, parent) = (above.depth, Some(above.item));
            } else if line.indent > 0 {
                let fault =
                    if outline.roots.is_empty() { TextFault::FirstIndented } else { TextFault::NoBlock };
                report.add(line.number, line.tokens[0].column, fault);
            }
            let (number, indent) = (line.number, line.indent);
            if let Some((item, depth)) = outline.add_line(line, parent, depth, limits, report) {
                open.push(Open { indent, item, block: None, depth });
            } else {
                report.add(number, 1, TextFault::TooDeep { max: limits.depth });
            }
        }
        outline
    }

    /// A block may stand under an item that has a colon and nothing behind it.
    fn takes_block(&self, item: usize) -> bool {
        self.items[item].has_colon && self.items[item].children.is_empty()
    }

    /// Adds a line's items, each under the one before. The last one and its depth; `None` when that is too deep.
    fn add_line<F: From<TextFault>>(
        &mut self,
        line: TextLine<'a>,
        mut parent: Option<usize>,
        mut depth: usize,
        limits: &FileLimits,
        report: &mut FileReport<'_, F>,
    ) -> Option<(usize, usize)> {
        let mut tokens = line.tokens.into_iter().peekable();
        loop {
            let mut item = NodeText {
                line: line.number,
                column: 1,
                tokens: Vec::new(),
                has_colon: false,
                children: Vec::new(),
            };
            for token in tokens.by_ref() {
                if item.tokens.is_empty() {
                    item.column = token.column;
                }
                if token.lexeme == Lexeme::Colon {
                    item.has_colon = true;
                    break;
                }
                item.tokens.push(token);
            }
            if item.tokens.is_empty() {
                let wanted = "a node before the `:`".to_owned();
                let found = Lexeme::Colon.to_string();
                report.add(item.line, item.column, TextFault::Expected { wanted, found });
            }
            if depth >= limits.depth {
                return None;
            }
            depth += 1;
            let index = self.items.len();
            self.items.push(item);
            match parent {
                Some(parent) => self.items[parent].children.push(index),
                None => self.roots.push(index),
            }
            if tokens.peek().is_none() {
                return Some((index, depth));
            }
            parent = Some(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{problem::ProblemReport, text};

    const LIMITS: FileLimits =
        FileLimits { file_bytes: 1 << 20, quotation_bytes: 100, items: 2_000, depth: 24 };

    /// The tree with each item's first word, children in brackets; then the problems.
    fn outline(source: &str) -> (String, Vec<String>) {
        let mut report: ProblemReport<TextFault> = ProblemReport::default();
        let mut file = FileReport { file: "f", index: 1, report: &mut report };
        let lines = text::lines(source.as_bytes(), &LIMITS, &mut file).unwrap();
        let outline = Outline::of(lines, &LIMITS, &mut file);
        let tree = outline.roots.iter().map(|&root| shape(&outline, root)).collect::<Vec<_>>().join(" ");
        (tree, report.into_problems().list.iter().map(ToString::to_string).collect())
    }

    fn shape(outline: &Outline<'_>, index: usize) -> String {
        let item = &outline.items[index];
        let word =
            item.tokens.first().map_or(String::new(), |token| token.lexeme.to_string().replace('`', ""));
        let under: Vec<String> = item.children.iter().map(|&child| shape(outline, child)).collect();
        if under.is_empty() { word } else { format!("{word}({})", under.join(" ")) }
    }

    #[test]
    fn blocks_and_colons_mean_the_same() {
        let block = "a:\n    b:\n        c:\n            d\n    e\nf:\n    g\n";
        let inline = "a:\n  b: c: d\n  e\nf: g\n";
        let half = "a:\n  b: c:\n      d\n  e\nf:\n g\n";
        for source in [block, inline, half] {
            assert_eq!(outline(source), ("a(b(c(d)) e) f(g)".to_owned(), vec![]));
        }
    }

    #[test]
    fn lines_that_stand_wrong_are_reported_and_read_all_the_same() {
        let (tree, problems) = outline("a:\n    b\n      c\n     d\n   e: : f\n");
        assert_eq!(tree, "a(b(c d) e((f)))");
        assert_eq!(
            problems,
            [
                "f:3:7: indented more than the line above, which has no block under it",
                "f:4:6: indented by 5, where the other lines of this block are by 6",
                "f:5:4: indented by 3, where the other lines of this block are by 4",
                "f:5:7: expected a node before the `:`, found `:`",
            ]
        );
        let (_, problems) = outline("  a:\n");
        assert_eq!(problems, ["f:1:3: indented, with no line above it"]);
    }

    #[test]
    fn no_file_is_nested_without_end() {
        let (_, problems) = outline(&"a: ".repeat(1_000));
        assert_eq!(problems, ["f:1:1: nested more than 24 deep"]);
        let stairs: String = (0..300).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        let (_, problems) = outline(&stairs);
        assert_eq!(problems.len(), 100);
    }
    #[test]
    fn a_file_has_a_bounded_number_of_nodes() {
        let (_, problems) = outline(&"a: b: c\n".repeat(700));
        assert_eq!(problems, ["f:668:1: more than 2000 nodes in a file"]);
    }
}
