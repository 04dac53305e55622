//! Handles of metrics for cores that count in plain numbers: found by name and labels, made when a value is first exported.

use crate::Metrics;
use ::metrics::{Counter, Gauge};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A label of a metric: its name, and a value from a small fixed set.
pub type MetricLabel<'a> = (&'static str, &'a str);

/// Counters and gauges of one registry, kept so that each is looked up in the registry once.
///
/// For a thread that exports what others have counted, about once a second: a look-up here costs less than one in the registry, and more
/// than holding the handle. A label with an empty value is left out.
#[derive(Debug)]
pub struct MetricTable {
    metrics: Arc<Metrics>,
    counters: BTreeMap<(&'static str, String), Counter>,
    gauges: BTreeMap<(&'static str, String), Gauge>,
}

impl MetricTable {
    /// An empty table over this registry.
    #[must_use]
    pub const fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, counters: BTreeMap::new(), gauges: BTreeMap::new() }
    }

    /// The registry.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Exports a counter, with a label `outcome` unless that is empty.
    pub fn count(&mut self, name: &'static str, help: &'static str, outcome: &str, value: u64) {
        self.count_by(name, help, &[("outcome", outcome)], value);
    }

    /// Exports a counter with labels.
    pub fn count_by(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &[MetricLabel<'_>],
        value: u64,
    ) {
        let metrics = &self.metrics;
        let counter = self.counters.entry((name, key(labels)));
        counter.or_insert_with(|| metrics.counter(name, help, &present(labels))).absolute(value);
    }

    /// Exports a gauge, with a label unless its value is empty.
    pub fn gauge(&mut self, name: &'static str, help: &'static str, label: MetricLabel<'_>, value: f64) {
        self.gauge_by(name, help, &[label], value);
    }

    /// Exports a gauge with labels.
    pub fn gauge_by(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &[MetricLabel<'_>],
        value: f64,
    ) {
        let metrics = &self.metrics;
        let gauge = self.gauges.entry((name, key(labels)));
        gauge.or_insert_with(|| metrics.gauge(name, help, &present(labels))).set(value);
    }
}

/// The values of labels. Their names belong to the metric.
fn key(labels: &[MetricLabel<'_>]) -> String {
    let values: Vec<&str> = labels.iter().map(|(_, value)| *value).collect();
    values.join("\0")
}

fn present<'a>(labels: &[MetricLabel<'a>]) -> Vec<MetricLabel<'a>> {
    labels.iter().filter(|(_, value)| !value.is_empty()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_exported_under_their_labels_and_the_latest_counts() {
        let mut table = MetricTable::new(Arc::new(Metrics::new()));
        for value in [1, 5] {
            table.count("throng_rooms_total", "Rooms.", "opened", value);
            table.count("throng_doors_total", "Doors.", "", 2 * value);
            table.count_by("throng_keys_total", "Keys.", &[("kind", "brass"), ("state", "lost")], value);
            table.gauge("throng_guests", "Guests.", ("room", "7"), value as f64);
            table.gauge_by("throng_beds", "Beds.", &[("kind", "wide"), ("room", "7")], value as f64);
        }
        let text = table.metrics().render();
        for line in [
            "throng_rooms_total{outcome=\"opened\"} 5",
            "throng_doors_total 10",
            "throng_keys_total{kind=\"brass\",state=\"lost\"} 5",
            "throng_guests{room=\"7\"} 5",
            "throng_beds{kind=\"wide\",room=\"7\"} 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
