//! Limits of figures, and the verdict on the figures of a run.

use crate::Run;
use crate::findings::{Findings, Judged};
use crate::references::Reference;
use report::{Cell, Column, Section, Table, Verdict};

/// A figure and its limit.
pub(crate) struct FigureLimit {
    pub(crate) figure: &'static str,
    /// Description for readers.
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) limit: Limit,
}

/// The most or the least that a figure may be.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
    /// At most this at the reference's nominal cost, and in proportion to its cost in the run.
    RelativeTo(Reference, f64),
}

impl Limit {
    /// With the cost of its reference put in.
    fn at(self, cost: impl Fn(Reference) -> f64) -> Self {
        match self {
            Self::RelativeTo(reference, limit) => Self::AtMost(limit * cost(reference) / reference.nominal()),
            other => other,
        }
    }

    /// No number keeps no limit, and neither does one without end: something was divided by nothing.
    pub(crate) fn holds(self, value: f64) -> bool {
        if !value.is_finite() {
            return false;
        }
        match self {
            Self::AtMost(limit) | Self::RelativeTo(_, limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }
}

pub(crate) const fn budget(
    figure: &'static str,
    what: &'static str,
    unit: &'static str,
    limit: Limit,
) -> FigureLimit {
    FigureLimit { figure, what, unit, limit }
}

/// Puts a table of the budgets before all other sections. A figure over its budget is a failure, except in quick runs, whose figures
/// are no measurements.
pub(crate) fn judge(run: &Run, budgets: &[FigureLimit], findings: &mut Findings) {
    let mut table = Table::new(vec![
        Column::text("budget"),
        Column::number("measured", ""),
        Column::text("unit"),
        Column::text("allowed"),
        Column::text("held"),
    ]);
    for FigureLimit { figure, what, unit, limit } in budgets {
        let limit = limit.at(|reference| run.references.median(reference));
        let value = findings.figures.get(*figure).copied().unwrap_or(f64::NAN);
        let holds = limit.holds(value);
        let (is_most, limit) = match limit {
            Limit::AtMost(limit) | Limit::RelativeTo(_, limit) => (true, limit),
            Limit::AtLeast(limit) => (false, limit),
        };
        let allowed = format!("at {} {}", if is_most { "most" } else { "least" }, report::number(limit));
        let failure =
            (!holds && !run.quick).then(|| format!("{what}: {} {unit}, {allowed}", report::number(value)));
        findings.failures.extend(failure.clone());
        let figure = (*figure).to_owned();
        findings.judged.push(Judged { figure, what, unit, is_most, limit, failure });
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
            let of_memory = Limit::RelativeTo(Reference::Memory, 1.0);
            let limits = [Limit::AtMost(1.0), Limit::AtLeast(1.0), of_memory];
            assert!(limits.iter().all(|limit| !limit.holds(value)), "{value}");
        }
    }

    #[test]
    fn a_relative_limit_follows_its_reference_and_no_other() {
        let cost = |reference| match reference {
            Reference::Datagram => 3.0,
            Reference::Cpu => 2.0,
            Reference::Memory => 50.0,
        };
        for (reference, limit) in
            [(Reference::Datagram, 15.0), (Reference::Cpu, 20.0), (Reference::Memory, 5.0)]
        {
            let at = Limit::RelativeTo(reference, 10.0).at(cost);
            assert!(at.holds(limit) && !at.holds(limit + 0.1), "{reference:?}");
        }
        assert!(Limit::AtMost(10.0).at(cost).holds(10.0) && Limit::AtLeast(10.0).at(cost).holds(10.0));
    }
}
