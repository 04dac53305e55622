//! The stages of a ping's way through the server, out of the histograms that it keeps.

use crate::error::ExperimentError;
use crate::metrics::MetricScrape;
use crate::server::Server;

/// The stages, in their order, by their labels.
pub(crate) const STAGES: [&str; 4] = ["kernel", "dispatch", "handler", "send"];

const METRIC: &str = "throng_packet_stage_seconds";
const LONGEST: &str = "throng_packet_stage_seconds_max";
const SQUARES: &str = "throng_packet_stage_seconds_squared_total";

const MICROS: f64 = 1e6;

/// Times of one stage, in microseconds; not a number where there were none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StageTimes {
    /// Pings that were measured.
    pub(crate) count: f64,
    /// The lower limit of the first bucket that took any.
    pub(crate) min_us: f64,
    pub(crate) mean_us: f64,
    pub(crate) max_us: f64,
    pub(crate) sd_us: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
}

/// Pings of a window, read from time to time.
#[derive(Debug)]
pub(crate) struct StageWindow {
    begin: MetricScrape,
    /// By stage, in seconds.
    longest_s: [f64; STAGES.len()],
}

impl StageWindow {
    pub(crate) fn begin(server: &Server) -> Result<Self, ExperimentError> {
        Ok(Self { begin: pings(&server.metrics()?), longest_s: [0.0; STAGES.len()] })
    }

    /// Reads the longest times. The server keeps each for 30 s, so a reading is due at least so often.
    pub(crate) fn read(&mut self, server: &Server) -> Result<(), ExperimentError> {
        self.note_longest(&pings(&server.metrics()?));
        Ok(())
    }

    /// The times since the beginning, by stage.
    pub(crate) fn end(mut self, server: &Server) -> Result<[StageTimes; STAGES.len()], ExperimentError> {
        let end = pings(&server.metrics()?);
        self.note_longest(&end);
        Ok(self.times(&end))
    }

    fn note_longest(&mut self, now: &MetricScrape) {
        for (longest_s, stage) in self.longest_s.iter_mut().zip(STAGES) {
            *longest_s = longest_s.max(now.with(LONGEST, "stage", stage));
        }
    }

    fn times(&self, end: &MetricScrape) -> [StageTimes; STAGES.len()] {
        std::array::from_fn(|n| {
            let [begin, end] = [&self.begin, end].map(|scrape| scrape.only("stage", STAGES[n]));
            let rise = |name: &str| end.sum(name) - begin.sum(name);
            let count = rise(&format!("{METRIC}_count"));
            let mean_s = rise(&format!("{METRIC}_sum")) / count;
            // Rounding may leave less than nothing.
            let variance = (rise(SQUARES) / count - mean_s * mean_s).max(0.0);
            // The longest that the server has kept may be older than the window; then its buckets know better.
            let max_s = end.most_since(&begin, METRIC).min(self.longest_s[n]);
            let max_s = if count > 0.0 { max_s } else { f64::NAN };
            let percentile_us = |share| end.percentile_since(&begin, METRIC, share).min(max_s) * MICROS;
            StageTimes {
                count,
                min_us: end.least_since(&begin, METRIC) * MICROS,
                mean_us: mean_s * MICROS,
                max_us: max_s * MICROS,
                sd_us: if count > 0.0 { variance.sqrt() * MICROS } else { f64::NAN },
                p50_us: percentile_us(0.5),
                p99_us: percentile_us(0.99),
                p999_us: percentile_us(0.999),
            }
        })
    }
}

/// The pings in a scrape.
fn pings(scrape: &MetricScrape) -> MetricScrape {
    scrape.only("datagram", "ping")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scrape after so many pings of 2 µs and of 5 µs in the kernel, and others that are no pings.
    fn scrape(short: u32, long: u32) -> MetricScrape {
        let (sum, squares) = (2e-6 * f64::from(short) + 5e-6 * f64::from(long), [4e-12, 25e-12]);
        let squares = squares[0] * f64::from(short) + squares[1] * f64::from(long);
        let ping = r#"datagram="ping",stage="kernel""#;
        let buckets = [("0.000001", 0), ("0.0000025", short), ("0.0000063", short + long)];
        let mut text: String =
            buckets.iter().map(|(le, n)| format!("{METRIC}_bucket{{{ping},le=\"{le}\"}} {n}\n")).collect();
        for (name, value) in [("_sum", sum), ("_count", f64::from(short + long)), ("_max", 5e-6)] {
            text += &format!("{METRIC}{name}{{{ping}}} {value}\n");
            text += &format!("{METRIC}{name}{{datagram=\"other\",stage=\"kernel\"}} 7\n");
        }
        MetricScrape::parse(&(text + &format!("{SQUARES}{{{ping}}} {squares}\n")))
    }

    #[test]
    fn the_times_of_a_window_are_those_of_its_pings() {
        let mut window = StageWindow { begin: pings(&scrape(1_000, 0)), longest_s: [0.0; STAGES.len()] };
        let end = pings(&scrape(1_500, 500));
        window.note_longest(&end);
        let [kernel, dispatch, ..] = window.times(&end);
        let close = |found: f64, expected: f64| (found - expected).abs() < 1e-6;
        assert!(close(kernel.count, 1_000.0) && close(kernel.mean_us, 3.5), "{kernel:?}");
        assert!(close(kernel.sd_us, 1.5) && close(kernel.max_us, 5.0), "{kernel:?}");
        assert!(close(kernel.min_us, 1.0) && close(kernel.p50_us, 2.5), "{kernel:?}");
        // In its bucket it would be 6.2.
        assert!(close(kernel.p99_us, 5.0), "{kernel:?}");
        window.longest_s[0] = 9e-6;
        assert!(close(window.times(&end)[0].max_us, 6.3), "what was longer was before");
        assert!(close(window.times(&end)[0].p99_us, 6.3 - 3.8 * 0.02));
        assert!(dispatch.count == 0.0, "{dispatch:?}");
        for figure in [dispatch.mean_us, dispatch.max_us, dispatch.sd_us, dispatch.min_us, dispatch.p99_us] {
            assert!(figure.is_nan(), "{dispatch:?}");
        }
    }
}
