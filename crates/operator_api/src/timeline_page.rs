//! A capture as a page: its summary, and the threads around the moment that it was taken for as a timeline.

use report::{Report, Section, TimelinePlot, TimelineSlice};
use telemetry::captures::perfetto::Timeline;
use telemetry::captures::{CaptureSummary, OverrunReport};

/// Time shown on both sides of the slow part, as a share of it.
const MARGIN: f64 = 0.35;
/// Time shown of a capture without a slow part: its end.
const LAST_MS: f64 = 200.0;

/// The page.
#[must_use]
pub fn page(name: &str, summary: &CaptureSummary, timeline: &Timeline) -> String {
    let mut page = Report::new(&format!("Capture {name}"), &summary.headline());
    page.section(Section::new("Timeline").timeline(plot(summary.overrun.as_ref(), timeline)));
    page.section(Section::new("Summary").verbatim(&summary.to_string()));
    page.to_html()
}

/// The threads around an overrun, whose own comes first; without one, at the capture's end.
#[must_use]
pub fn plot(overrun: Option<&OverrunReport>, timeline: &Timeline) -> TimelinePlot {
    let (zero_ns, length_ms) = match overrun {
        Some(overrun) => (overrun.at_ns.saturating_sub(overrun.took_ns), overrun.took_ns as f64 / 1e6),
        None => (timeline.end_ns().saturating_sub((LAST_MS * 1e6) as u64), LAST_MS),
    };
    let margin = if overrun.is_some() { MARGIN * length_ms } else { 0.0 };
    let (begin, end) = (-margin, length_ms + margin);
    let ms = |ns: u64| (i128::from(ns) - i128::from(zero_ns)) as f64 / 1e6;
    let mut threads: Vec<_> = timeline.threads.iter().collect();
    threads.sort_by_key(|thread| overrun.is_none_or(|overrun| overrun.thread != thread.name));

    let title = overrun.map_or_else(
        || "The capture's end".to_owned(),
        |overrun| format!("Around {}, between the dashed lines", overrun.scope),
    );
    let mut plot = TimelinePlot::new(&title, "ms", begin, end);
    for thread in threads {
        let rows = thread.rows.iter().filter(|row| ms(row.begin_ns) < end && ms(row.end_ns) > begin);
        let slices: Vec<TimelineSlice> = rows
            .map(|row| TimelineSlice {
                name: row.name.clone(),
                about: row.about.trim().to_owned(),
                depth: row.depth,
                begin: ms(row.begin_ns),
                end: ms(row.end_ns),
            })
            .collect();
        if !slices.is_empty() {
            plot = plot.track(&thread.name, slices);
        }
    }
    if overrun.is_some() { plot.mark(0.0).mark(length_ms) } else { plot }
}
