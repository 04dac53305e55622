//! A section of a report: a heading and its content, in order of addition.

use crate::escape::{push_text, text};
use crate::plot::{BarPlot, LinePlot, TimelinePlot};
use crate::table::Table;

#[derive(Clone, Debug, PartialEq)]
enum SectionBlock {
    Text(String),
    Verbatim(String),
    Table(Table),
    LinePlot(LinePlot),
    BarPlot(BarPlot),
    Timeline(TimelinePlot),
}

/// A heading and its blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    heading: String,
    blocks: Vec<SectionBlock>,
}

impl Section {
    /// A section without content.
    #[must_use]
    pub fn new(heading: &str) -> Self {
        Self { heading: heading.to_owned(), blocks: Vec::new() }
    }

    /// Adds a paragraph of plain text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.block(SectionBlock::Text(text.to_owned()))
    }

    /// Adds preformatted text, such as another program's output.
    #[must_use]
    pub fn verbatim(self, text: &str) -> Self {
        self.block(SectionBlock::Verbatim(text.to_owned()))
    }

    /// Adds a table.
    #[must_use]
    pub fn table(self, table: Table) -> Self {
        self.block(SectionBlock::Table(table))
    }

    /// Adds a plot of lines.
    #[must_use]
    pub fn line_plot(self, plot: LinePlot) -> Self {
        self.block(SectionBlock::LinePlot(plot))
    }

    /// Adds a plot of bars.
    #[must_use]
    pub fn bar_plot(self, plot: BarPlot) -> Self {
        self.block(SectionBlock::BarPlot(plot))
    }

    /// Adds a timeline.
    #[must_use]
    pub fn timeline(self, plot: TimelinePlot) -> Self {
        self.block(SectionBlock::Timeline(plot))
    }

    fn block(mut self, block: SectionBlock) -> Self {
        self.blocks.push(block);
        self
    }

    pub(crate) fn write(&self, out: &mut String) {
        out.push_str(&format!("<section>\n<h2>{}</h2>\n", text(&self.heading)));
        for block in &self.blocks {
            match block {
                SectionBlock::Text(text) => wrapped(out, "p", text),
                SectionBlock::Verbatim(text) => wrapped(out, "pre", text),
                SectionBlock::Table(table) => table.write(out),
                SectionBlock::LinePlot(plot) => plot.write(out),
                SectionBlock::BarPlot(plot) => plot.write(out),
                SectionBlock::Timeline(plot) => plot.write(out),
            }
        }
        out.push_str("</section>\n");
    }
}

fn wrapped(out: &mut String, tag: &str, text: &str) {
    out.push_str(&format!("<{tag}>"));
    push_text(out, text);
    out.push_str(&format!("</{tag}>\n"));
}
