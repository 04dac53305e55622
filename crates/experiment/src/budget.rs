//! Limits of figures, and the verdict on the figures of a run.

use crate::Run;
use crate::findings::{Findings, Judged};
use crate::references::Reference;
use report::{Cell, Column, Section, Table, Verdict};
use std::collections::BTreeMap;

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

/// Figures of an experiment: those with a limit, in groups, and the others.
pub(crate) struct FigureList {
    pub(crate) limited: &'static [&'static [FigureLimit]],
    /// Figures without a limit.
    pub(crate) others: &'static [&'static str],
}

impl FigureList {
    fn limits(&self) -> impl Iterator<Item = &'static FigureLimit> {
        self.limited.iter().copied().flatten()
    }

    /// Names of all figures.
    pub(crate) fn names(&self) -> Vec<String> {
        let limited = self.limits().map(|limit| limit.figure);
        limited.chain(self.others.iter().copied()).map(str::to_owned).collect()
    }

    /// Judges a run; of parts alone, the figures that they have yielded.
    pub(crate) fn judge(&self, run: &Run, findings: &mut Findings) {
        let limits = self.judged(run.is_partial(), &findings.figures);
        judge(run, limits, findings);
    }

    fn judged(&self, is_partial: bool, figures: &BTreeMap<String, f64>) -> Vec<&'static FigureLimit> {
        self.limits().filter(|limit| !is_partial || figures.contains_key(limit.figure)).collect()
    }
}

/// Puts a table of the budgets before all other sections. A figure over its budget is a failure, except in quick runs, whose figures
/// are no measurements.
pub(crate) fn judge<'a>(
    run: &Run,
    budgets: impl IntoIterator<Item = &'a FigureLimit>,
    findings: &mut Findings,
) {
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
    fn a_list_names_all_figures_and_judges_those_that_a_part_has_yielded() {
        const CRASHES: [FigureLimit; 1] = [budget("lost", "things lost", "", Limit::AtMost(0.0))];
        const COSTS: [FigureLimit; 2] = [
            budget("cores", "server", "cores", Limit::AtMost(1.0)),
            budget("per_s", "things", "1/s", Limit::AtLeast(9.0)),
        ];
        let list = FigureList { limited: &[&CRASHES, &COSTS], others: &["kills"] };
        assert_eq!(list.names(), ["lost", "cores", "per_s", "kills"]);
        let yielded = BTreeMap::from([("per_s".to_owned(), 7.0), ("kills".to_owned(), 1.0)]);
        let judged = |is_part| {
            let limits = list.judged(is_part, &yielded).into_iter();
            limits.map(|limit| limit.figure).collect::<Vec<_>>()
        };
        assert_eq!(judged(true), ["per_s"]);
        assert_eq!(judged(false), ["lost", "cores", "per_s"], "an absent one fails");
    }

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
