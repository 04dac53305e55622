//! The page: head, title, facts, sections.

use crate::escape::text;
use crate::section::Section;
use crate::table::Cell;

/// Colours, type and spacing; part of every page, since a page needs nothing else.
const STYLE: &str = include_str!("style.css");

/// A report that is being put together. Write the result of [`Report::to_html`] to a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    title: String,
    lead: String,
    facts: Vec<(String, Cell)>,
    sections: Vec<Section>,
}

impl Report {
    /// A report with a title and a one-sentence summary of its subject.
    #[must_use]
    pub fn new(title: &str, lead: &str) -> Self {
        Self { title: title.to_owned(), lead: lead.to_owned(), facts: Vec::new(), sections: Vec::new() }
    }

    /// Adds a line to the table of facts at the top: a figure is only meaningful with its command, commit and machine.
    pub fn fact(&mut self, name: &str, value: impl Into<Cell>) {
        self.facts.push((name.to_owned(), value.into()));
    }

    /// Adds a section at the end.
    pub fn section(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// The page.
    #[must_use]
    pub fn to_html(&self) -> String {
        let title = text(&self.title);
        let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        // A report may be opened beside foreign files. This policy forbids it to fetch or run anything.
        out.push_str(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
        );
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        out.push_str(&format!("<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"));
        out.push_str(&format!("<h1>{title}</h1>\n"));
        if !self.lead.is_empty() {
            out.push_str(&format!("<p class=\"lead\">{}</p>\n", text(&self.lead)));
        }
        if !self.facts.is_empty() {
            out.push_str("<dl>\n");
            for (name, value) in &self.facts {
                out.push_str(&format!("<dt>{}</dt><dd>", text(name)));
                value.write(&mut out);
                out.push_str("</dd>\n");
            }
            out.push_str("</dl>\n");
        }
        for section in &self.sections {
            section.write(&mut out);
        }
        out.push_str("</body>\n</html>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, BarPlot, Column, LinePlot, Series, Table, Verdict};

    fn sample() -> Report {
        let mut report = Report::new("Costs & <effects>", "One of each.");
        report.fact("commit", "0123abc");
        report.fact("runs", 3);
        report.fact("figures", Cell::link("report.json", "report.json"));
        let mut table =
            Table::new(vec![Column::text("system"), Column::number("cost", "µs"), Column::text("outcome")])
                .caption("Per tick");
        table.row(vec!["movement".into(), 41.257.into(), Cell::verdict(Verdict::Good, "cheaper")]);
        let lines = LinePlot::new("CPU of a bot", Axis::log("bots", ""), Axis::log("CPU", "µs/s"))
            .series(Series::new("stable", vec![(10.0, 90.0), (100.0, 41.0), (1000.0, 60.5)]))
            .series(Series::new("unstable", vec![(10.0, 91.0), (100.0, f64::NAN), (1000.0, 700.0)]));
        let bars = BarPlot::new("Change", "%", &["base", "head"])
            .bar("movement", &[1.5, -2.0])
            .bar("chat", &[0.0, 12.0]);
        report.section(
            Section::new("CPU")
                .text("As measured.")
                .table(table)
                .line_plot(lines)
                .bar_plot(bars)
                .verbatim("a  b\n"),
        );
        report
    }

    #[test]
    fn a_page_has_its_parts_in_their_order() {
        let html = sample().to_html();
        let body = &html[html.find("<body>").unwrap()..];
        insta::assert_snapshot!(body);
    }

    #[test]
    fn a_page_needs_no_network_and_runs_nothing() {
        let html = sample().to_html();
        for banned in ["<script", "src=", "url(", "@import", "http://", "https://"] {
            assert!(!html.contains(banned), "{banned}");
        }
    }

    #[test]
    fn equal_input_gives_equal_bytes() {
        assert_eq!(sample().to_html(), sample().to_html());
    }
}
