//! Bars: one or more values for each of several named items, such as systems or messages.
//!
//! They are horizontal, so that long names fit, and begin at zero, since their lengths are compared; for that reason a bar has no
//! logarithmic scale. Negative values extend to the left.

use super::axis::{Axis, AxisRange};
use super::{COLOURS, WIDTH, at, colour, write_head};
use crate::escape::text;
use crate::number::number;

/// Thickness of a bar, the gap to the next of its group, and between groups.
const BAR: f64 = 14.0;
const GAP: f64 = 2.0;
const GROUP_GAP: f64 = 10.0;

/// Room for names on the left, and for values behind the longest bars on both sides.
const NAMES: f64 = 230.0;
const VALUES: f64 = 70.0;

/// Room below for the ticks.
const BOTTOM: f64 = 24.0;

/// Bars in groups.
#[derive(Clone, Debug, PartialEq)]
pub struct BarPlot {
    title: String,
    unit: String,
    series: Vec<String>,
    groups: Vec<(String, Vec<f64>)>,
}

impl BarPlot {
    /// A plot without bars. Each name stands for one value of every group.
    ///
    /// # Panics
    /// When there is no name, or more than there are colours.
    #[must_use]
    pub fn new(title: &str, unit: &str, series: &[&str]) -> Self {
        assert!((1..=COLOURS).contains(&series.len()), "a group has 1 to {COLOURS} bars");
        let series = series.iter().map(|&name| name.to_owned()).collect();
        Self { title: title.to_owned(), unit: unit.to_owned(), series, groups: Vec::new() }
    }

    /// Adds a group; a value that is no number leaves its place empty.
    ///
    /// # Panics
    /// When there is not one value for each series.
    #[must_use]
    pub fn bar(mut self, name: &str, values: &[f64]) -> Self {
        assert_eq!(values.len(), self.series.len(), "a group has a value for each series");
        self.groups.push((name.to_owned(), values.to_vec()));
        self
    }

    pub(crate) fn write(&self, out: &mut String) {
        let title =
            if self.unit.is_empty() { self.title.clone() } else { format!("{}, {}", self.title, self.unit) };
        let names: Vec<&str> = self.series.iter().map(String::as_str).collect();
        write_head(out, &title, &names, |index| {
            format!("<rect x=\"7\" width=\"10\" height=\"10\" rx=\"2\" fill=\"{}\"/>", colour(index))
        });
        let values = self.groups.iter().flat_map(|(_, values)| values.iter().copied());
        let range = Axis::linear("", "").range(values);
        let group_height = self.series.len() as f64 * (BAR + GAP) + GROUP_GAP;
        let bottom = self.groups.len() as f64 * group_height;
        out.push_str(&format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
            at(WIDTH),
            at(bottom + BOTTOM),
            text(&title)
        ));
        for &tick in &range.ticks {
            let x = at(x_of(&range, tick));
            let class = if tick == 0.0 { "base" } else { "grid" };
            out.push_str(&format!(
                "<path class=\"{class}\" d=\"M{x} 0V{}\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                at(bottom),
                at(bottom + 16.0),
                number(tick)
            ));
        }
        for (index, (name, values)) in self.groups.iter().enumerate() {
            self.write_group(out, &range, index as f64 * group_height + GROUP_GAP / 2.0, name, values);
        }
        out.push_str("</svg>\n</figure>\n");
    }

    fn write_group(&self, out: &mut String, range: &AxisRange, top: f64, name: &str, values: &[f64]) {
        let middle = top + values.len() as f64 * (BAR + GAP) / 2.0;
        out.push_str(&format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
            at(NAMES - 12.0),
            at(middle + 3.0),
            text(name)
        ));
        let zero = x_of(range, 0.0);
        for (index, &value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let y = top + index as f64 * (BAR + GAP);
            let end = x_of(range, value);
            let (left, width) = (zero.min(end), (end - zero).abs());
            let series =
                if self.series.len() > 1 { format!("{}, ", self.series[index]) } else { String::new() };
            out.push_str(&format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\" fill=\"{}\"><title>{}</title></rect>",
                at(left),
                at(y),
                at(width),
                at(BAR),
                colour(index),
                text(&format!("{series}{name}: {} {}", number(value), self.unit)),
            ));
            let (beside, anchor) = if value < 0.0 { (end - 5.0, "end") } else { (end + 5.0, "start") };
            out.push_str(&format!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>\n",
                at(beside),
                at(y + BAR - 3.0),
                number(value)
            ));
        }
    }
}

fn x_of(range: &AxisRange, value: f64) -> f64 {
    // Labels of negative bars need room on the left.
    let left = if range.ticks[0] < 0.0 { NAMES + VALUES } else { NAMES };
    left + range.place(value) * (WIDTH - VALUES - left)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Left edge and width of each bar.
    fn bars(plot: &BarPlot) -> Vec<(f64, f64)> {
        let mut out = String::new();
        plot.write(&mut out);
        let plot_only = &out[out.find("role=\"img\"").unwrap()..];
        let attribute = |bar: &str, name: &str| -> f64 {
            let from = bar.find(&format!("{name}=\"")).unwrap() + name.len() + 2;
            bar[from..].split('"').next().unwrap().parse().unwrap()
        };
        plot_only.split("<rect ").skip(1).map(|bar| (attribute(bar, "x"), attribute(bar, "width"))).collect()
    }

    #[test]
    fn lengths_are_as_the_values_and_begin_at_zero() {
        let bars = bars(&BarPlot::new("p", "", &["v"]).bar("a", &[50.0]).bar("b", &[100.0]));
        assert_eq!(bars[0].0, bars[1].0);
        assert!((bars[1].1 - 2.0 * bars[0].1).abs() < 0.2, "{bars:?}");
    }

    #[test]
    fn negative_values_go_the_other_way() {
        let bars = bars(&BarPlot::new("p", "%", &["v"]).bar("a", &[-5.0]).bar("b", &[5.0]));
        assert!((bars[0].0 + bars[0].1 - bars[1].0).abs() < 0.2, "they meet at zero: {bars:?}");
    }

    #[test]
    fn a_value_that_is_no_number_leaves_its_place_empty() {
        assert_eq!(bars(&BarPlot::new("p", "", &["x", "y"]).bar("a", &[f64::NAN, 1.0])).len(), 1);
        assert!(bars(&BarPlot::new("p", "", &["x"])).is_empty());
    }

    #[test]
    #[should_panic(expected = "a value for each series")]
    fn a_group_of_another_size_is_our_fault() {
        let _ = BarPlot::new("p", "", &["x", "y"]).bar("a", &[1.0]);
    }
}
