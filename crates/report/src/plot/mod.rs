//! Plots as SVG inside the page: [`LinePlot`] for values over a number, [`BarPlot`] for named items, [`TimelinePlot`] for concurrent
//! activities.
//!
//! A series has the colour of its position, equal in all plots of a report that list their series in the same order. From the ninth on
//! lines are dashed, since at most eight colours can be distinguished.

mod axis;
mod bars;
mod lines;
mod timeline;

pub use axis::{Axis, Scale};
pub use bars::BarPlot;
pub use lines::{LinePlot, Series};
pub use timeline::{TimelinePlot, TimelineSlice};

use crate::escape::text;

/// Series of one plot at most: eight colours, each solid and dashed.
pub const SERIES_MAX: usize = 2 * COLOURS;

/// Colours in `style.css`.
const COLOURS: usize = 8;

/// Width of every plot in its own units; it is scaled to the page.
const WIDTH: f64 = 760.0;

/// The CSS colour of a series.
fn colour(index: usize) -> String {
    format!("var(--s{})", index % COLOURS)
}

/// The attribute that dashes a line, for series that share a colour.
const fn dash(index: usize) -> &'static str {
    if index < COLOURS { "" } else { " stroke-dasharray=\"6 4\"" }
}

/// A coordinate with as many digits as a pixel needs.
fn at(coordinate: f64) -> String {
    let text = format!("{coordinate:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// Title and legend above a plot. One series needs no legend: the title names it.
fn write_head(out: &mut String, title: &str, names: &[&str], swatch: impl Fn(usize) -> String) {
    out.push_str(&format!("<figure>\n<figcaption>{}</figcaption>\n", text(title)));
    if names.len() > 1 {
        out.push_str("<ul class=\"legend\">");
        for (index, name) in names.iter().enumerate() {
            let swatch = swatch(index);
            out.push_str(&format!("<li><svg viewBox=\"0 0 24 10\">{swatch}</svg>{}</li>", text(name)));
        }
        out.push_str("</ul>\n");
    }
}
