//! Timelines: concurrent activities on several tracks, as nested slices, such as the scopes of threads.

use super::axis::{Axis, AxisRange};
use super::{COLOURS, WIDTH, at, colour, write_head};
use crate::escape::text;
use crate::number::number;

/// Height of a slice, and the gap between tracks.
const ROW: f64 = 15.0;
const TRACK_GAP: f64 = 9.0;

/// Room for names on the left, something on the right, and room below for the ticks.
const LEFT: f64 = 110.0;
const RIGHT: f64 = 16.0;
const BOTTOM: f64 = 40.0;

/// Width of a letter in a slice. A name that does not fit is cut, and left out when too little would be left.
const LETTER: f64 = 6.2;
const LETTERS_MIN: usize = 4;

/// Slices of a timeline at most; the narrowest are omitted. A page with more becomes slow.
const SLICES_MAX: usize = 4_000;

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineSlice {
    /// Activity; slices of one name share a colour.
    pub name: String,
    /// Tooltip.
    pub about: String,
    /// Number of enclosing slices.
    pub depth: usize,
    /// Start, on the timeline's axis.
    pub begin: f64,
    /// End.
    pub end: f64,
}

/// Tracks over a common time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelinePlot {
    title: String,
    unit: String,
    begin: f64,
    end: f64,
    tracks: Vec<(String, Vec<TimelineSlice>)>,
    marks: Vec<f64>,
}

impl TimelinePlot {
    /// A timeline without tracks, from `begin` to `end`, between which 0 should lie.
    #[must_use]
    pub fn new(title: &str, unit: &str, begin: f64, end: f64) -> Self {
        let (tracks, marks) = (Vec::new(), Vec::new());
        Self { title: title.to_owned(), unit: unit.to_owned(), begin, end, tracks, marks }
    }

    /// Adds a track below the others. Slices outside of the time shown are cut or left out.
    #[must_use]
    pub fn track(mut self, name: &str, slices: Vec<TimelineSlice>) -> Self {
        self.tracks.push((name.to_owned(), slices));
        self
    }

    /// Draws a line through all tracks.
    #[must_use]
    pub fn mark(mut self, time: f64) -> Self {
        self.marks.push(time);
        self
    }

    pub(crate) fn write(&self, out: &mut String) {
        write_head(out, &self.title, &[], |_| String::new());
        let range = Axis::linear("", "").range([self.begin, self.end].into_iter());
        let least = self.least();
        let heights: Vec<f64> = self.tracks.iter().map(|(_, slices)| height(slices)).collect();
        let bottom = heights.iter().sum::<f64>();
        out.push_str(&format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
            at(WIDTH),
            at(bottom + BOTTOM),
            text(&self.title)
        ));
        for &tick in &range.ticks {
            let x = at(x_of(&range, tick));
            out.push_str(&format!(
                "<path class=\"grid\" d=\"M{x} 0V{}\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                at(bottom),
                at(bottom + 16.0),
                number(tick)
            ));
        }
        out.push_str(&format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            at((LEFT + WIDTH - RIGHT) / 2.0),
            at(bottom + 34.0),
            text(&self.unit)
        ));
        let mut top = 0.0;
        for ((name, slices), height) in self.tracks.iter().zip(heights) {
            out.push_str(&format!(
                "<path class=\"base\" d=\"M0 {y}H{right}\"/><text x=\"0\" y=\"{}\">{}</text>\n",
                at(top + TRACK_GAP / 2.0 + 12.0),
                text(name),
                y = at(top),
                right = at(WIDTH),
            ));
            for slice in slices.iter().filter(|slice| self.shows(slice) && slice.end - slice.begin >= least) {
                self.write_slice(out, &range, top + TRACK_GAP / 2.0, slice);
            }
            top += height;
        }
        for &mark in self.marks.iter().filter(|mark| (self.begin..=self.end).contains(*mark)) {
            let x = at(x_of(&range, mark));
            out.push_str(&format!("<path class=\"mark\" d=\"M{x} 0V{}\"/>\n", at(bottom)));
        }
        out.push_str("</svg>\n</figure>\n");
    }

    fn write_slice(&self, out: &mut String, range: &AxisRange, top: f64, slice: &TimelineSlice) {
        let (left, right) = (x_of(range, slice.begin.max(self.begin)), x_of(range, slice.end.min(self.end)));
        let y = top + slice.depth as f64 * ROW;
        // Minimum visible width.
        let width = (right - left).max(0.4);
        let told =
            format!("{} {}: {} {}", slice.name, slice.about, number(slice.end - slice.begin), self.unit);
        out.push_str(&format!(
            "<rect class=\"slice\" x=\"{:.2}\" y=\"{}\" width=\"{width:.2}\" height=\"{}\" fill=\"{}\"><title>{}</title></rect>\n",
            left,
            at(y),
            at(ROW - 1.0),
            colour(hue(&slice.name)),
            text(&told)
        ));
        let letters = ((width - 6.0) / LETTER) as usize;
        if letters >= LETTERS_MIN.min(slice.name.len()) && width > LETTER {
            let name: String = slice.name.chars().take(letters).collect();
            out.push_str(&format!(
                "<text class=\"in\" x=\"{}\" y=\"{}\">{}</text>\n",
                at(left + 3.0),
                at(y + ROW - 4.0),
                text(&name)
            ));
        }
    }

    fn shows(&self, slice: &TimelineSlice) -> bool {
        slice.begin < self.end && slice.end > self.begin && slice.end >= slice.begin
    }

    /// Least length of a displayed slice.
    fn least(&self) -> f64 {
        let shown = self.tracks.iter().flat_map(|(_, slices)| slices).filter(|slice| self.shows(slice));
        let mut lengths: Vec<f64> = shown.map(|slice| slice.end - slice.begin).collect();
        lengths.sort_by(|a, b| b.total_cmp(a));
        lengths.get(SLICES_MAX).copied().unwrap_or(0.0)
    }
}

fn height(slices: &[TimelineSlice]) -> f64 {
    let rows = slices.iter().map(|slice| slice.depth + 1).max().unwrap_or(1);
    rows as f64 * ROW + TRACK_GAP
}

fn x_of(range: &AxisRange, time: f64) -> f64 {
    LEFT + range.place(time) * (WIDTH - RIGHT - LEFT)
}

/// The same for a name in every plot.
fn hue(name: &str) -> usize {
    name.bytes().fold(0_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())) % COLOURS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(name: &str, depth: usize, begin: f64, end: f64) -> TimelineSlice {
        TimelineSlice { name: name.into(), about: "world=\"<Harbour>\"".into(), depth, begin, end }
    }

    fn drawn(plot: &TimelinePlot) -> String {
        let mut out = String::new();
        plot.write(&mut out);
        out
    }

    fn attribute(svg: &str, slice: &str, name: &str) -> f64 {
        let end = svg.find(&format!("<title>{slice} ")).unwrap();
        let begin = svg[..end].rfind("<rect").unwrap();
        let from = svg[begin..].find(&format!(" {name}=\"")).unwrap() + begin + name.len() + 3;
        svg[from..].split('"').next().unwrap().parse().unwrap()
    }

    #[test]
    fn slices_are_drawn_in_place_and_below_their_parents() {
        let slices = vec![slice("frame", 0, 0.0, 80.0), slice("movement", 1, 40.0, 80.0)];
        let svg = drawn(&TimelinePlot::new("t", "ms", 0.0, 100.0).track("world-0", slices));
        let right = |name| attribute(&svg, name, "x") + attribute(&svg, name, "width");
        assert!((right("frame") - right("movement")).abs() < 0.1, "{svg}");
        assert!((attribute(&svg, "frame", "width") - 2.0 * attribute(&svg, "movement", "width")).abs() < 0.1);
        assert!(attribute(&svg, "movement", "y") > attribute(&svg, "frame", "y"));
        assert!(svg.contains(">frame</text>") && svg.contains("&lt;Harbour&gt;"));
    }

    #[test]
    fn slices_outside_are_cut_or_left_out() {
        let slices =
            vec![slice("before", 0, -9.0, -5.0), slice("across", 0, -9.0, 3.0), slice("never", 0, 2.0, 1.0)];
        let svg = drawn(&TimelinePlot::new("t", "ms", 0.0, 10.0).track("one", slices).mark(3.0).mark(11.0));
        assert!(!svg.contains("before") && !svg.contains("never"), "{svg}");
        assert!((attribute(&svg, "across", "x") - LEFT).abs() < 0.1);
        assert_eq!(svg.matches("class=\"mark\"").count(), 1);
    }

    #[test]
    fn of_too_many_slices_the_longest_are_drawn() {
        let slices = (0..2 * SLICES_MAX).map(|n| slice("s", 0, 0.0, n as f64)).collect();
        let drawn =
            drawn(&TimelinePlot::new("t", "ms", 0.0, 1e6).track("one", slices)).matches("<rect").count();
        assert!((SLICES_MAX..=SLICES_MAX + 1).contains(&drawn), "{drawn}");
    }
}
