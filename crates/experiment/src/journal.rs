//! Lag of the journal: the time from a change that must not be lost until it is on the disk. The promise is one second.

use crate::budget::{FigureLimit, Limit, budget};
use crate::findings::Findings;
use crate::meter::Window;

/// Histogram of the server: the oldest change of each transaction.
const LAG: &str = "throng_instance_journal_lag_seconds";

/// The promise, for every transaction of a window.
pub(crate) const LAG_LIMIT: FigureLimit =
    budget("journal_lag_s_max", "oldest change of a journal's transaction", "s", Limit::AtMost(1.0));

/// The figure without a limit.
pub(crate) const LAG_P99: &str = "journal_lag_s_p99";

/// Adds the lag of all transactions of the window. The gauge `…_max` covers the last 30 s, also those before the window; the histogram covers
/// exactly the window, and has the promised second among its edges, so that rounding up to an edge changes no verdict. Without
/// transactions the figures are not a number, which no limit accepts.
pub(crate) fn report_lag(window: &Window, findings: &mut Findings) {
    let (begin, end) = (&window.begin.metrics, &window.end.metrics);
    findings.figure(LAG_LIMIT.figure, end.most_since(begin, LAG));
    findings.figure(LAG_P99, end.percentile_since(begin, LAG, 0.99));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::meter::Reading;
    use crate::metrics::MetricScrape;
    use crate::usage::ProcessUsage;

    /// Edges of the server's histograms of durations around the promise, seconds.
    const EDGES_S: [f64; 6] = [0.25, 0.5, 1.0, 2.5, 10.0, f64::INFINITY];

    /// A reading of a server with these lags so far.
    fn reading(lags_s: &[f64]) -> Reading {
        let lines = EDGES_S.map(|edge_s| {
            let n = lags_s.iter().filter(|&&lag_s| lag_s <= edge_s).count();
            let edge = if edge_s.is_finite() { edge_s.to_string() } else { "+Inf".to_owned() };
            format!("{LAG}_bucket{{le=\"{edge}\"}} {n}\n")
        });
        Reading::at(clock::now(), ProcessUsage::default(), MetricScrape::parse(&lines.concat()))
    }

    /// The figures of a window, and whether the limit holds.
    fn judge(before_s: &[f64], within_s: &[f64]) -> (f64, f64, bool) {
        let end = reading(&[before_s, within_s].concat());
        let mut findings = Findings::default();
        report_lag(&Window { begin: reading(before_s), end }, &mut findings);
        let longest_s = findings.figures[LAG_LIMIT.figure];
        (longest_s, findings.figures[LAG_P99], LAG_LIMIT.limit.holds(longest_s))
    }

    #[test]
    fn a_single_transaction_of_the_window_above_a_second_breaks_the_promise() {
        let on_time = [0.72; 999];
        let (longest_s, p99_s, holds) = judge(&[], &on_time);
        assert!(longest_s == 1.0 && (0.5..=1.0).contains(&p99_s) && holds, "{longest_s}, {p99_s}");
        let (longest_s, p99_s, holds) = judge(&[], &[on_time.as_slice(), &[1.01]].concat());
        assert!(longest_s == 2.5 && p99_s <= 1.0 && !holds, "{longest_s}, {p99_s}");
        assert_eq!(judge(&[], &[11.0]), (f64::INFINITY, 10.0, false));
    }

    #[test]
    fn a_late_transaction_before_the_window_is_no_part_of_it() {
        assert!(judge(&[3.0], &[0.4; 20]).2);
    }

    #[test]
    fn a_window_without_transactions_keeps_no_promise() {
        let (longest_s, p99_s, holds) = judge(&[0.5], &[]);
        assert!(longest_s.is_nan() && p99_s.is_nan() && !holds);
    }
}
