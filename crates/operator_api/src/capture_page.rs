//! The page behind a spike in a dashboard: the captures around a moment, with their contents.

use crate::timeline_page;
use report::{Cell, Column, Report, Section, Table};
use std::time::Duration;
use telemetry::captures::perfetto::Timeline;
use telemetry::captures::{CaptureEntry, CaptureSummary};

/// Captures so far from the moment belong to it. Maxima stay in the metrics for 30 s, and in the graph of a day a point stands for a
/// minute and a half, so a spike is drawn up to both together later than it was.
pub(super) const AROUND: Duration = Duration::from_secs(150);
/// Captures with details on the page, the nearest first.
pub(super) const DETAILED_MAX: usize = 2;

/// The captures around `unix_ms`, the nearest first, the first of them as timelines and with their summaries.
pub(super) fn page(unix_ms: u64, near: &[CaptureEntry], detailed: &[(CaptureSummary, Timeline)]) -> String {
    let moment = jiff::Timestamp::from_millisecond(i64::try_from(unix_ms).unwrap_or(i64::MAX));
    let moment = moment.map_or_else(|_| unix_ms.to_string(), |moment| format!("{moment:.3}"));
    let mut page = Report::new("Captures", &format!("Around {moment}, the nearest first."));
    if near.is_empty() {
        let around = AROUND.as_secs();
        page.section(Section::new("None").text(&format!(
            "Nothing was captured within {around} s of it. What is too soon after another capture of its trigger is only counted \
             (throng_captures_suppressed_total), and old captures go when their quota is full."
        )));
        return page.to_html();
    }
    let mut table = Table::new(vec![
        Column::text("taken"),
        Column::text("trigger"),
        Column::number("size", "kB"),
        Column::text("summary"),
        Column::text("timeline"),
    ])
    .caption("A timeline opens at https://ui.perfetto.dev.");
    for entry in near {
        let name = entry.name();
        let link = |text: &str, ending: &str| Cell::link(text, &format!("/v1/captures/{name}.{ending}"));
        table.row(vec![
            entry.utc.as_str().into(),
            entry.trigger.name().into(),
            (entry.bytes as f64 / 1e3).into(),
            link(&name, "txt"),
            link("download", "perfetto-trace"),
        ]);
    }
    page.section(Section::new("Captures").table(table));
    for (entry, (summary, timeline)) in near.iter().zip(detailed) {
        let plot = timeline_page::plot(summary.overrun.as_ref(), timeline);
        page.section(Section::new(&entry.name()).timeline(plot).verbatim(&summary.to_string()));
    }
    page.to_html()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_linked() {
        let names = ["20261121T214512Z-frame-7", "20261121T214500Z-scope-6"];
        let page = page(1_795_297_513_000, &names.map(|name| CaptureEntry::parse(name).unwrap()), &[]);
        assert!(page.contains("href=\"/v1/captures/20261121T214512Z-frame-7.perfetto-trace\""), "{page}");
        assert!(page.contains("href=\"/v1/captures/20261121T214500Z-scope-6.txt\""), "{page}");
        assert!(page.contains("2026-11-21T21:45:13.000Z"), "{page}");
    }

    #[test]
    fn a_moment_without_captures_says_why_that_may_be() {
        assert!(page(0, &[], &[]).contains("throng_captures_suppressed_total"));
        assert!(page(u64::MAX, &[], &[]).contains("None"));
    }
}
