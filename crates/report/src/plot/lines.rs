//! Lines: values over a number, such as time or the count of bots.

use super::axis::{Axis, AxisRange};
use super::{SERIES_MAX, WIDTH, at, colour, dash, write_head};
use crate::escape::text;
use crate::number::number;

/// Height of the plot in its own units.
const HEIGHT: f64 = 330.0;

/// Room for labels around the plot: left, right, top, bottom.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;

/// Points of a series that still get marks with their values. A longer one is a curve: its marks would hide it and swell
/// the file.
const MARKS_MAX: usize = 60;

/// A named line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Series {
    /// A line through points, from the first to the last. At a point that has no place (no number, or not above zero on
    /// a logarithmic axis) the line is interrupted.
    #[must_use]
    pub fn new(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.to_owned(), points }
    }
}

/// Lines over a common axis.
#[derive(Clone, Debug, PartialEq)]
pub struct LinePlot {
    title: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
}

impl LinePlot {
    /// A plot without lines.
    #[must_use]
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self { title: title.to_owned(), x, y, series: Vec::new() }
    }

    /// Adds a line.
    ///
    /// # Panics
    /// If there are [`SERIES_MAX`] already: more could not be distinguished.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        assert!(self.series.len() < SERIES_MAX, "a plot shows at most {SERIES_MAX} lines");
        self.series.push(series);
        self
    }

    pub(crate) fn write(&self, out: &mut String) {
        let names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        write_head(out, &self.title, &names, |index| {
            let (colour, dash) = (colour(index), dash(index));
            format!("<path d=\"M1 5H23\" class=\"ln\" stroke=\"{colour}\"{dash}/>")
        });
        let points = || self.series.iter().flat_map(|series| &series.points);
        let frame = AxisFrame {
            x: self.x.range(points().map(|point| point.0)),
            y: self.y.range(points().map(|point| point.1)),
        };
        out.push_str(&format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
            at(WIDTH),
            at(HEIGHT),
            text(&self.title)
        ));
        self.write_grid(out, &frame);
        for (index, series) in self.series.iter().enumerate() {
            self.write_series(out, &frame, index, series);
        }
        out.push_str("</svg>\n</figure>\n");
    }

    fn write_grid(&self, out: &mut String, frame: &AxisFrame) {
        let (right, bottom) = (at(WIDTH - RIGHT), HEIGHT - BOTTOM);
        for (index, &tick) in frame.y.ticks.iter().enumerate() {
            let (y, class) = (frame.y(tick), if index == 0 { "base" } else { "grid" });
            out.push_str(&format!(
                "<path class=\"{class}\" d=\"M{} {}H{right}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                at(LEFT),
                at(y),
                at(LEFT - 8.0),
                at(y + 4.0),
                number(tick)
            ));
        }
        for &tick in &frame.x.ticks {
            let x = at(frame.x(tick));
            out.push_str(&format!(
                "<path class=\"base\" d=\"M{x} {}v4\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                at(bottom),
                at(bottom + 18.0),
                number(tick)
            ));
        }
        out.push_str(&format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            at((LEFT + WIDTH - RIGHT) / 2.0),
            at(HEIGHT - 6.0),
            text(&self.x.title())
        ));
        let middle = at((TOP + bottom) / 2.0);
        out.push_str(&format!(
            "<text transform=\"translate(13 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            text(&self.y.title())
        ));
    }

    fn write_series(&self, out: &mut String, frame: &AxisFrame, index: usize, series: &Series) {
        let mut path = String::new();
        let mut pen_is_down = false;
        let mut marks = String::new();
        for &(x, y) in &series.points {
            if !self.x.shows(x) || !self.y.shows(y) {
                pen_is_down = false;
                continue;
            }
            let place = (at(frame.x(x)), at(frame.y(y)));
            path.push_str(&format!("{}{} {}", if pen_is_down { "L" } else { "M" }, place.0, place.1));
            pen_is_down = true;
            marks.push_str(&format!(
                "<circle class=\"pt\" cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{}\"><title>{}: {} at {}</title></circle>\n",
                place.0,
                place.1,
                colour(index),
                text(&series.name),
                text(&with_unit(y, self.y.unit())),
                text(&with_unit(x, self.x.unit())),
            ));
        }
        if path.is_empty() {
            return;
        }
        out.push_str(&format!(
            "<path class=\"ln\" stroke=\"{}\"{} d=\"{path}\"><title>{}</title></path>\n",
            colour(index),
            dash(index),
            text(&series.name)
        ));
        if series.points.len() <= MARKS_MAX {
            out.push_str(&marks);
        }
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() { number(value) } else { format!("{} {unit}", number(value)) }
}

/// Both axes, fitted.
struct AxisFrame {
    x: AxisRange,
    y: AxisRange,
}

impl AxisFrame {
    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.place(value) * (HEIGHT - TOP - BOTTOM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(plot: &LinePlot) -> String {
        let mut out = String::new();
        plot.write(&mut out);
        out
    }

    #[test]
    fn a_point_without_a_place_interrupts_the_line() {
        let axes = || (Axis::linear("t", "s"), Axis::log("rate", ""));
        let plot = LinePlot::new("p", axes().0, axes().1)
            .series(Series::new("a", vec![(0.0, 1.0), (1.0, 2.0), (2.0, 0.0), (3.0, 4.0), (4.0, 5.0)]));
        let html = html(&plot);
        let path = html.split(" d=\"").find(|part| part.contains("<title>a</title>")).unwrap();
        let drawn = path.split('"').next().unwrap();
        assert_eq!((drawn.matches('M').count(), drawn.matches('L').count()), (2, 2), "{drawn}");
        assert_eq!(html.matches("<circle").count(), 4);
    }

    #[test]
    fn a_long_series_is_a_curve_without_marks() {
        let points = (0..1000).map(|second| (f64::from(second), 1.0)).collect();
        let plot = LinePlot::new("p", Axis::linear("t", "s"), Axis::linear("x", ""))
            .series(Series::new("a", points));
        assert!(!html(&plot).contains("<circle"));
    }

    #[test]
    fn marks_show_their_values_with_units() {
        let plot = LinePlot::new("p", Axis::log("bots", ""), Axis::log("CPU", "µs"))
            .series(Series::new("<walk>", vec![(1000.0, 60.5)]));
        assert!(html(&plot).contains("<title>&lt;walk&gt;: 60.5 µs at 1,000</title>"));
    }

    #[test]
    fn a_plot_without_points_is_still_a_plot() {
        let plot =
            LinePlot::new("p", Axis::log("x", ""), Axis::log("y", "")).series(Series::new("a", vec![]));
        assert!(html(&plot).contains("<svg"));
    }

    #[test]
    #[should_panic(expected = "at most")]
    fn more_lines_than_there_are_colours_are_refused() {
        let mut plot = LinePlot::new("p", Axis::linear("x", ""), Axis::linear("y", ""));
        for index in 0..=SERIES_MAX {
            plot = plot.series(Series::new(&index.to_string(), vec![]));
        }
    }
}
