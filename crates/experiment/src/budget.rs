//! What figures may be, and the verdict on those of a run.

use crate::Run;
use crate::findings::Findings;
use report::{Cell, Column, Section, Table, Verdict};

/// The L, in microseconds, that limits of CPU time are given for.
const L_US: f64 = 2.0;

/// A figure and its limit.
pub(crate) struct Budget {
    pub(crate) figure: &'static str,
    /// What it is, for people.
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) limit: Limit,
}

/// The most or the least that a figure may be.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
    /// At L = 2 µs, and in proportion at the L of the run.
    AtMostOfL(f64),
}

impl Limit {
    /// With the L of the run put in, microseconds.
    fn at(self, l_us: f64) -> Self {
        match self {
            Self::AtMostOfL(limit) => Self::AtMost(limit * l_us / L_US),
            other => other,
        }
    }

    /// No number keeps no limit, and neither does one without end: something was divided by nothing.
    fn holds(self, value: f64) -> bool {
        if !value.is_finite() {
            return false;
        }
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
            Self::AtMostOfL(limit) => value <= limit,
        }
    }
}

pub(crate) const fn budget(
    figure: &'static str,
    what: &'static str,
    unit: &'static str,
    limit: Limit,
) -> Budget {
    Budget { figure, what, unit, limit }
}

/// Puts a table of the budgets before everything else. What is over its budget is a failure, but for quick runs, whose
/// figures are no measurements.
pub(crate) fn judge(run: &Run, budgets: &[Budget], findings: &mut Findings) {
    let mut table = Table::new(vec![
        Column::text("budget"),
        Column::number("measured", ""),
        Column::text("unit"),
        Column::text("allowed"),
        Column::text("held"),
    ]);
    for Budget { figure, what, unit, limit } in budgets {
        let limit = &limit.at(run.l_us);
        let value = findings.figures.get(*figure).copied().unwrap_or(f64::NAN);
        let holds = limit.holds(value);
        let allowed = match limit {
            Limit::AtMost(limit) | Limit::AtMostOfL(limit) => format!("at most {}", report::number(*limit)),
            Limit::AtLeast(limit) => format!("at least {}", report::number(*limit)),
        };
        if !holds && !run.quick {
            findings.failures.push(format!("{what}: {} {unit}, {allowed}", report::number(value)));
        }
        let verdict = if holds { (Verdict::Good, "yes") } else { (Verdict::Bad, "no") };
        table.row(vec![
            (*what).into(),
            value.into(),
            (*unit).into(),
            allowed.into(),
            Cell::verdict(verdict.0, verdict.1),
        ]);
    }
    findings.sections.insert(0, Section::new("Budgets").table(table));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_kept_on_its_own_side_and_only_by_numbers() {
        assert!(Limit::AtMost(1.0).holds(1.0) && !Limit::AtMost(1.0).holds(1.1));
        assert!(Limit::AtLeast(1.0).holds(1.0) && !Limit::AtLeast(1.0).holds(0.9));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let limits = [Limit::AtMost(1.0), Limit::AtLeast(1.0), Limit::AtMostOfL(1.0)];
            assert!(limits.iter().all(|limit| !limit.holds(value)), "{value}");
        }
    }
}
