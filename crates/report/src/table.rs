//! Tables: columns of text or numbers, the latter flush right with their unit in the head.

use crate::escape::{may_link, push_text, text};
use crate::number::number;

/// The head of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    name: String,
    /// `None` in a column of text.
    unit: Option<String>,
}

impl Column {
    /// A column of text.
    #[must_use]
    pub fn text(name: &str) -> Self {
        Self { name: name.to_owned(), unit: None }
    }

    /// A column of numbers in a unit; `""` for plain numbers.
    #[must_use]
    pub fn number(name: &str, unit: &str) -> Self {
        Self { name: name.to_owned(), unit: Some(unit.to_owned()) }
    }

    const fn is_number(&self) -> bool {
        self.unit.is_some()
    }
}

/// Result of a check. Shown by colour and by its own word, for readers who do not see the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// Neither: not judged, or no difference.
    Neutral,
}

impl Verdict {
    const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Neutral => "neutral",
        }
    }
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text as it is.
    Text(String),
    /// A number, written by [`number`].
    Number(f64),
    /// A word with a verdict.
    Verdict(Verdict, String),
    /// Text that leads somewhere: a path relative to the report, or a page. An address of another scheme than `http`,
    /// `https` and `file` is shown and not linked.
    Link {
        /// Displayed text.
        text: String,
        /// Target.
        href: String,
    },
    /// There is no value.
    Missing,
}

impl Cell {
    /// A link.
    #[must_use]
    pub fn link(text: &str, href: &str) -> Self {
        Self::Link { text: text.to_owned(), href: href.to_owned() }
    }

    /// A verdict in a word.
    #[must_use]
    pub fn verdict(verdict: Verdict, word: &str) -> Self {
        Self::Verdict(verdict, word.to_owned())
    }

    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Self::Text(text) => push_text(out, text),
            Self::Number(value) => out.push_str(&number(*value)),
            Self::Verdict(verdict, word) => {
                out.push_str(&format!("<span class=\"{}\">{}</span>", verdict.class(), text(word)));
            }
            Self::Link { text: shown, href } if may_link(href) => {
                out.push_str(&format!("<a href=\"{}\">{}</a>", text(href), text(shown)));
            }
            Self::Link { text: shown, href } => push_text(out, &format!("{shown} ({href})")),
            Self::Missing => out.push('–'),
        }
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Number(f64::from(value))
    }
}

impl From<i32> for Cell {
    fn from(value: i32) -> Self {
        Self::Number(f64::from(value))
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Missing, Self::Number)
    }
}

/// Columns and rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    caption: Option<String>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub const fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new(), caption: None }
    }

    /// Sets the caption above the table.
    #[must_use]
    pub fn caption(mut self, caption: &str) -> Self {
        self.caption = Some(caption.to_owned());
        self
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When it has not one cell for each column.
    pub fn row(&mut self, cells: Vec<Cell>) {
        assert_eq!(cells.len(), self.columns.len(), "a row has a cell for each column");
        self.rows.push(cells);
    }

    /// True without rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn write(&self, out: &mut String) {
        // Wide tables scroll by themselves, not the page.
        out.push_str("<div class=\"wide\"><table>\n");
        if let Some(caption) = &self.caption {
            out.push_str(&format!("<caption>{}</caption>\n", text(caption)));
        }
        out.push_str("<thead><tr>");
        for column in &self.columns {
            out.push_str(if column.is_number() { "<th class=\"n\">" } else { "<th>" });
            push_text(out, &column.name);
            if let Some(unit) = column.unit.as_deref().filter(|unit| !unit.is_empty()) {
                out.push_str(&format!(" <small>{}</small>", text(unit)));
            }
            out.push_str("</th>");
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (cell, column) in row.iter().zip(&self.columns) {
                let right = column.is_number() || cell.is_number();
                out.push_str(if right { "<td class=\"n\">" } else { "<td>" });
                cell.write(out);
                out.push_str("</td>");
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(cell: Cell) -> String {
        let mut out = String::new();
        cell.write(&mut out);
        out
    }

    #[test]
    fn numbers_stand_flush_right_with_their_unit_in_the_head() {
        let mut table = Table::new(vec![Column::text("system"), Column::number("cost", "µs")]);
        table.row(vec!["move<ment>".into(), 1234.6.into()]);
        table.row(vec!["chat".into(), Cell::Missing]);
        let mut out = String::new();
        table.write(&mut out);
        assert!(out.contains("<th class=\"n\">cost <small>µs</small></th>"), "{out}");
        assert!(out.contains("<td>move&lt;ment&gt;</td><td class=\"n\">1,235</td>"), "{out}");
        assert!(out.contains("<td>chat</td><td class=\"n\">–</td>"), "{out}");
    }

    #[test]
    #[should_panic(expected = "a cell for each column")]
    fn a_row_of_another_length_is_our_fault() {
        Table::new(vec![Column::text("one")]).row(vec![1.into(), 2.into()]);
    }

    #[test]
    fn verdicts_are_words_and_hostile_links_are_not_linked() {
        assert_eq!(html(Cell::verdict(Verdict::Bad, "dearer")), "<span class=\"bad\">dearer</span>");
        assert_eq!(html(Cell::link("a&b", "x?y=\"1\"")), "<a href=\"x?y=&quot;1&quot;\">a&amp;b</a>");
        assert_eq!(html(Cell::link("x", "javascript:y()")), "x (javascript:y())");
        assert_eq!(html(None.into()), "–");
    }
}
