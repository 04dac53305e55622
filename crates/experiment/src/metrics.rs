//! The server's own counters, read from Prometheus' text format.

use std::collections::BTreeMap;

/// Labels of a series and their values.
pub(crate) type Labels = BTreeMap<String, String>;

/// A scrape: by name, the label sets and their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MetricScrape {
    by_name: BTreeMap<String, Vec<(Labels, f64)>>,
}

impl MetricScrape {
    /// Reads a scrape. Lines of another form are passed over: other versions may say more.
    pub(crate) fn parse(text: &str) -> Self {
        let mut metrics = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let Ok(value) = value.parse() else { continue };
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            metrics.by_name.entry(name.to_owned()).or_default().push((parse_labels(labels), value));
        }
        metrics
    }

    /// The sum over all series of a name; 0 when there is none, as of a counter that never rose.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.series(name).map(|(_, value)| value).sum()
    }

    /// The same, and NaN without a value: for figures that should be 0, and would be 0 under a wrong name.
    pub(crate) fn sum_exported(&self, name: &str) -> f64 {
        if self.series(name).next().is_some() { self.sum(name) } else { f64::NAN }
    }

    /// The sum over the series of a name that have this label.
    pub(crate) fn with(&self, name: &str, label: &str, wanted: &str) -> f64 {
        let has = |labels: &Labels| labels.get(label).is_some_and(|value| value == wanted);
        self.series(name).filter(|(labels, _)| has(labels)).map(|(_, value)| value).sum()
    }

    /// The value below which this share (0 to 1) of a histogram's samples since an earlier scrape lies, interpolated within its bucket.
    /// NaN without samples.
    pub(crate) fn percentile_since(&self, earlier: &Self, name: &str, share: f64) -> f64 {
        let buckets = self.buckets_since(earlier, name);
        let total = buckets.iter().map(|(_, count)| *count).fold(0.0, f64::max);
        let mut before = (0.0, 0.0);
        for (limit, count) in buckets {
            if total > 0.0 && count >= total * share {
                let part = (total * share - before.1) / (count - before.1).max(f64::MIN_POSITIVE);
                return if limit.is_finite() { before.0 + (limit - before.0) * part } else { before.0 };
            }
            before = (limit, count);
        }
        f64::NAN
    }

    /// Lower bound of a histogram's samples since an earlier scrape: the lower limit of the first bucket with any. NaN without samples.
    pub(crate) fn least_since(&self, earlier: &Self, name: &str) -> f64 {
        let mut below = 0.0;
        for (limit, count) in self.buckets_since(earlier, name) {
            if count > 0.0 {
                return below;
            }
            below = limit;
        }
        f64::NAN
    }

    /// Upper bound of a histogram's samples since an earlier scrape: the upper limit of the last bucket with any, which may be
    /// infinite. NaN without samples.
    pub(crate) fn most_since(&self, earlier: &Self, name: &str) -> f64 {
        let buckets = self.buckets_since(earlier, name);
        let total = buckets.last().map_or(0.0, |(_, count)| *count);
        let last = buckets.into_iter().find(|(_, count)| *count >= total);
        last.filter(|_| total > 0.0).map_or(f64::NAN, |(limit, _)| limit)
    }

    /// The buckets of a histogram: upper limits, in order, with the cumulative samples since an earlier scrape.
    fn buckets_since(&self, earlier: &Self, name: &str) -> Vec<(f64, f64)> {
        let bucket = format!("{name}_bucket");
        let mut buckets: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for (sign, scrape) in [(1.0, self), (-1.0, earlier)] {
            for (labels, count) in scrape.series(&bucket) {
                let Some(limit) = labels.get("le").and_then(|limit| limit.parse::<f64>().ok()) else {
                    continue;
                };
                // Positive numbers order as their bits do.
                buckets.entry(limit.to_bits()).or_insert((limit, 0.0)).1 += sign * count;
            }
        }
        buckets.into_values().collect()
    }

    /// Only the series that have this label.
    pub(crate) fn only(&self, label: &str, wanted: &str) -> Self {
        let has = |labels: &Labels| labels.get(label).is_some_and(|value| value == wanted);
        let kept =
            |series: &Vec<(Labels, f64)>| series.iter().filter(|(labels, _)| has(labels)).cloned().collect();
        Self { by_name: self.by_name.iter().map(|(name, series)| (name.clone(), kept(series))).collect() }
    }

    /// The largest value of a name; `None` when there is none.
    pub(crate) fn max(&self, name: &str) -> Option<f64> {
        self.series(name).map(|(_, value)| value).reduce(f64::max)
    }

    /// The smallest value of a name; `None` when there is none.
    pub(crate) fn min(&self, name: &str) -> Option<f64> {
        self.series(name).map(|(_, value)| value).reduce(f64::min)
    }

    /// The label sets and values of a name.
    pub(crate) fn series(&self, name: &str) -> impl Iterator<Item = (&Labels, f64)> {
        self.by_name.get(name).into_iter().flatten().map(|(labels, value)| (labels, *value))
    }
}

/// `a="x",b="y"}`: values have `\\`, `\"` and `\n` escaped.
fn parse_labels(mut text: &str) -> Labels {
    let mut labels = Labels::new();
    while let Some((name, rest)) = text.split_once("=\"") {
        let mut value = String::new();
        let mut characters = rest.char_indices();
        let mut end = rest.len();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => match characters.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, escaped)) => value.push(escaped),
                    None => {}
                },
                other => value.push(other),
            }
        }
        labels.insert(name.trim_start_matches(',').to_owned(), value);
        text = &rest[end..];
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRAPE: &str = "# HELP a Things.\n# TYPE a counter\na{world=\"The \\\"Plaza\\\", {1}\",to=\"in\"} 3\n\
                          a{world=\"B\",to=\"out\"} 4.5\n\nb 1e3\nnot a metric\n";

    #[test]
    fn percentiles_of_a_histogram_are_of_the_samples_in_between() {
        let scrape = |low: u32, middle: u32, all: u32| {
            let lines = [("0.001", low), ("0.01", middle), ("+Inf", all)];
            MetricScrape::parse(&lines.map(|(le, n)| format!("t_bucket{{le=\"{le}\"}} {n}\n")).concat())
        };
        let (before, after) = (scrape(100, 100, 100), scrape(190, 200, 200));
        let percentile = |share| after.percentile_since(&before, "t", share);
        assert!((percentile(0.45) - 0.0005).abs() < 1e-9, "{}", percentile(0.45));
        assert!((percentile(0.95) - 0.0055).abs() < 1e-9, "{}", percentile(0.95));
        assert!(after.percentile_since(&after, "t", 0.5).is_nan());
        assert_eq!(
            (after.least_since(&before, "t"), scrape(9, 9, 9).least_since(&scrape(0, 9, 9), "t")),
            (0.0, 0.0)
        );
        assert_eq!(scrape(5, 9, 9).least_since(&scrape(5, 5, 5), "t"), 0.001);
        assert!(after.least_since(&after, "t").is_nan());
        assert_eq!(after.most_since(&before, "t"), 0.01);
        assert_eq!(scrape(5, 5, 6).most_since(&scrape(5, 5, 5), "t"), f64::INFINITY);
        assert!(after.most_since(&after, "t").is_nan());
    }

    #[test]
    fn series_are_summed_filtered_and_compared() {
        let metrics = MetricScrape::parse(SCRAPE);
        assert_eq!(metrics.sum("a"), 7.5);
        assert_eq!(metrics.with("a", "to", "out"), 4.5);
        assert_eq!(metrics.with("a", "world", "The \"Plaza\", {1}"), 3.0);
        let out = metrics.only("to", "out");
        assert_eq!((out.sum("a"), out.sum("b")), (4.5, 0.0));
        assert_eq!((metrics.max("a"), metrics.min("a")), (Some(4.5), Some(3.0)));
        assert_eq!((metrics.sum("b"), metrics.sum("c"), metrics.max("c")), (1000.0, 0.0, None));
        assert!(metrics.sum_exported("c").is_nan() && metrics.only("to", "by").sum_exported("a").is_nan());
        assert_eq!((metrics.sum_exported("b"), out.sum_exported("a")), (1000.0, 4.5));
    }
}
