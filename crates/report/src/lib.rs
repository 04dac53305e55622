//! Reports as one self-contained HTML file: no network, no script, no second file. It can be archived with its subject, mailed, and
//! opened ten years later.
//!
//! A [`Report`] is a title, a table of facts (command, commit, machine), and sections of text, [`Table`]s and plots. Plots are SVG
//! inside the page; both follow the reader's light or dark scheme. Pointing at a mark shows its exact value.
//!
//! This crate measures nothing, imports none of the others and judges nothing: a verdict in a table is the caller's. Equal input gives
//! equal bytes, so reports can be compared.
//!
//! ```
//! use report::{Axis, Column, Report, LinePlot, Section, Series, Table};
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
pub use plot::{Axis, BarPlot, LinePlot, SERIES_MAX, Scale, Series, TimelinePlot, TimelineSlice};
pub use section::Section;
pub use table::{Cell, Column, Table, Verdict};
