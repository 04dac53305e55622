//! Who stands under whom: lines and what follows their colons, as a tree by indentation.
//!
//! Two notations mean the same: a block under `when …:`, and one node behind the colon on the same line.

use super::{
    DEPTH_MAX, ITEMS_MAX,
    problem::Fault,
    text::{FileReport, Lexeme, Line, Token},
};

/// A node as it is written: the words up to a colon or to the line's end.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) tokens: Vec<Token<'a>>,
    pub(crate) has_colon: bool,
    /// Indexes of those directly under it.
    pub(crate) children: Vec<usize>,
}

/// All items of a file.
#[derive(Debug, Default)]
pub(crate) struct Outline<'a> {
    pub(crate) items: Vec<Item<'a>>,
    /// Those at the beginning of a line.
    pub(crate) roots: Vec<usize>,
}

/// A line whose block may go on.
struct Open {
    indent: u32,
    /// The last item of the line, which has the block.
    item: usize,
    /// Of the block's first line.
    block: Option<u32>,
    depth: usize,
}

impl<'a> Outline<'a> {
    /// Orders a file's lines. Of those that stand wrong it reports each and takes the nearest sense.
    pub(crate) fn of(lines: Vec<Line<'a>>, report: &mut FileReport<'_>) -> Self {
        let mut outline = Self::default();
        let mut open: Vec<Open> = Vec::new();
        for line in lines {
            if outline.items.len() >= ITEMS_MAX {
                report.add(line.number, 1, Fault::TooMany { what: "nodes in a file", max: ITEMS_MAX });
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
                    report.add(line.number, column, Fault::NoBlock);
                }
                let block = *above.block.get_or_insert(line.indent);
                if block != line.indent {
                    report.add(line.number, column, Fault::Indent { found: line.indent, block });
                }
                (depth, parent) = (above.depth, Some(above.item));
            } else if line.indent > 0 {
                let fault = if outline.roots.is_empty() { Fault::NotInBehavior } else { Fault::NoBlock };
                report.add(line.number, line.tokens[0].column, fault);
            }
            let (number, indent) = (line.number, line.indent);
            if let Some((item, depth)) = outline.add_line(line, parent, depth, report) {
                open.push(Open { indent, item, block: None, depth });
            } else {
                report.add(number, 1, Fault::TooDeep { max: DEPTH_MAX });
            }
        }
        outline
    }

    /// Whether a block may stand under an item: it has a colon and nothing behind that.
    fn takes_block(&self, item: usize) -> bool {
        self.items[item].has_colon && self.items[item].children.is_empty()
    }

    /// Adds a line's items, each under the one before. The last, and how deep it is; none when that is too deep.
    fn add_line(
        &mut self,
        line: Line<'a>,
        mut parent: Option<usize>,
        mut depth: usize,
        report: &mut FileReport<'_>,
    ) -> Option<(usize, usize)> {
        let mut tokens = line.tokens.into_iter().peekable();
        loop {
            let mut item = Item {
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
                report.add(item.line, item.column, Fault::Expected { wanted, found });
            }
            if depth >= DEPTH_MAX {
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
    use super::{super::problem::Report, super::text, *};

    /// The tree with each item's first word, children in brackets; then the problems.
    fn outline(source: &str) -> (String, Vec<String>) {
        let mut report = Report::default();
        let mut file = FileReport { file: "f", index: 1, report: &mut report };
        let lines = text::lines(source.as_bytes(), &mut file).unwrap();
        let outline = Outline::of(lines, &mut file);
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
        assert_eq!(problems.len(), 1, "{problems:?}");
    }

    #[test]
    fn no_file_is_nested_without_end() {
        let (_, problems) = outline(&"a: ".repeat(1_000));
        assert_eq!(problems, ["f:1:1: nested more than 24 deep"]);
        let stairs: String = (0..300).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        let (_, problems) = outline(&stairs);
        assert_eq!(problems.len(), 100);
    }
}
