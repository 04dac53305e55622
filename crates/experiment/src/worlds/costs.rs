//! Costs of single worlds, as exported by the server: their distribution and their changes.

use super::frames::ask;
use crate::error::ExperimentError;
use crate::findings::{Chart, ChartLine, Findings};
use crate::server::Operator;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Number of the most expensive worlds that characterise the distribution's tail.
const TAIL: usize = 3;

#[derive(Deserialize)]
struct WorldRow {
    id: String,
    cost_us: f64,
}

/// Step duration of each world, a mean over its latest steps, microseconds; by its id.
pub(super) struct StepDurations {
    by_id: BTreeMap<String, f64>,
}

impl StepDurations {
    pub(super) fn ask(operator: &Operator) -> Result<Self, ExperimentError> {
        let worlds: Vec<WorldRow> = ask(operator, "/v1/worlds")?;
        Ok(Self { by_id: worlds.into_iter().map(|world| (world.id, world.cost_us)).collect() })
    }

    /// The cheapest first.
    fn in_order(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.by_id.values().copied().filter(|us| *us > 0.0).collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    /// Relative change of a world's cost since an earlier reading; the median over all worlds.
    fn drift_since(&self, earlier: &Self) -> f64 {
        let change = |(id, us): (&String, &f64)| {
            let before = earlier.by_id.get(id).filter(|before| **before > 0.0)?;
            Some((us - before).abs() / before)
        };
        let mut changes: Vec<f64> = self.by_id.iter().filter_map(change).collect();
        changes.sort_unstable_by(f64::total_cmp);
        changes.get(changes.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// Hill's estimate of a Pareto distribution's α, of the dearest.
fn alpha(in_order: &[f64]) -> f64 {
    let tail = &in_order[in_order.len() - in_order.len() / TAIL..];
    let Some(least) = tail.first() else { return f64::NAN };
    tail.len() as f64 / tail.iter().map(|us| (us / least).ln()).sum::<f64>()
}

/// Reports both ends of a window.
pub(super) fn report_costs(costs: &StepDurations, later: &StepDurations, findings: &mut Findings) {
    let in_order = costs.in_order();
    let at = |share: f64| {
        let last = in_order.len().saturating_sub(1) as f64;
        in_order.get((last * share) as usize).copied().unwrap_or(f64::NAN)
    };
    for (figure, share) in [("world_us_p50", 0.5), ("world_us_p99", 0.99), ("world_us_max", 1.0)] {
        findings.figure(figure, at(share));
    }
    findings.figure("world_cost_alpha", alpha(&in_order));
    findings.figure("world_cost_drift_percent", later.drift_since(costs) * 100.0);
}

/// Number of worlds at or above a cost: a straight line if costs follow a Pareto distribution, cut off at its end.
pub(super) fn chart(costs: &StepDurations, later: &StepDurations) -> Chart {
    let line = |name: &str, costs: &StepDurations| {
        let in_order = costs.in_order();
        let n = in_order.len();
        let points = in_order.into_iter().enumerate().map(|(rank, us)| (us, (n - rank) as f64)).collect();
        ChartLine { name: name.to_owned(), points }
    };
    Chart {
        title: "Step durations of worlds".to_owned(),
        x: ("mean of its latest steps".to_owned(), "µs".to_owned()),
        y: ("worlds with this duration or a longer one".to_owned(), String::new()),
        is_log: true,
        lines: vec![line("before the steady window", costs), line("behind it", later)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pareto_distribution_is_known_by_its_alpha_and_changes_by_their_share() {
        let all =
            (0..3_000).map(|n| (1.0 - (f64::from(n) + 0.5) / 3_000.0).powf(-1.0 / 1.5)).collect::<Vec<_>>();
        assert!((alpha(&all) - 1.5).abs() < 0.05, "{}", alpha(&all));
        assert!(alpha(&[]).is_nan());
        let costs = |factor: f64| {
            let each = all.iter().enumerate().map(|(n, us)| (n.to_string(), us * factor));
            StepDurations { by_id: each.collect() }
        };
        assert!((costs(1.2).drift_since(&costs(1.0)) - 0.2).abs() < 1e-9);
    }
}
