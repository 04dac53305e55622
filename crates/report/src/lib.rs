//! Writes a report as one HTML file that needs nothing else: no network, no script, no second file. It can be kept
//! with what it reports on, mailed, and opened ten years later.
//!
//! A [`Report`] is a title, a table of facts (which command, commit and machine), and sections of text, [`Table`]s and
//! plots. Plots are SVG inside of the page; they and the page follow the reader's light or dark scheme. Who points at a
//! mark is told its exact value.
//!
//! This crate measures nothing, knows none of the others and judges nothing: a verdict in a table was reached by the
//! caller. Equal input gives equal bytes, so a report can be compared.
//!
//! ```
//! use report::{Axis, Column, LinePlot, Report, Section, Series, Table};
//!
//! let mut report = Report::new("agent-updates", "What a second of one bot costs the server.");
//! report.fact("commit", "0123abc");
//! let mut table = Table::new(vec![Column::text("bots"), Column::number("CPU", "µs")]);
//! table.row(vec![100.into(), 41.25.into()]);
//! let plot = LinePlot::new("Walking", Axis::log("bots", ""), Axis::linear("CPU", "µs"))
//!     .series(Series::new("stable", vec![(100.0, 41.25), (1000.0, 60.5)]));
//! report.section(Section::new("CPU").table(table).line_plot(plot));
//! assert!(report.to_html().starts_with("<!doctype html>"));
//! ```

mod escape;
mod number;
mod page;
mod plot;
mod section;
mod table;

pub use number::number;
pub use page::Report;
pub use plot::{Axis, BarPlot, LinePlot, SERIES_MAX, Scale, Series, Slice, TimelinePlot};
pub use section::Section;
pub use table::{Cell, Column, Table, Verdict};
