//! Display of walkers to each other, phase by phase.

use super::stage::{FinishedPhase, PHASES};
use crate::findings::Findings;
use crate::freshness::{Freshness, LinearHistogram, WRONG_M, WrongFrom};
use report::{Cell, Column, Section, Table};

/// Figures of each phase.
pub(super) const OF_PHASE: [&str; 7] =
    ["error_mm", "error_mm_p95", "age_ms", "age_ms_p99", "missing_percent", "gap_ms_p99", "server_cores"];

/// Figures of the other phases relative to the quiet phases around them. Ages are mostly 0 and have no meaningful ratio, so their difference
/// is taken.
const BESIDE: [&str; 3] = ["error_ratio", "error_p95_ratio", "age_more_ms"];

/// Errors below this count as this in ratios: an avatar is displayed wrongly from here on. A smaller error is that of an update under way, some 3 mm for
/// each millisecond, and the ratio of two of them is one of two latencies on a machine that has the clients, too.
const ERROR_FLOOR_MM: f64 = WRONG_M as f64 * 1_000.0;

/// Display of walkers in a phase.
struct WalkerDisplay {
    error_mm: f64,
    error_mm_p95: f64,
    age_ms: f64,
    age_ms_p99: f64,
    missing_percent: f64,
    gap_ms_p99: f64,
}

impl WalkerDisplay {
    fn of(fresh: &Freshness) -> Self {
        let gaps = fresh.bands.iter().map(|band| band.gap_ms.clone());
        let gap_ms = gaps.reduce(|mut all: LinearHistogram, band| {
            all.add_all(&band);
            all
        });
        Self {
            error_mm: fresh.moving_error_mm.mean(),
            error_mm_p95: fresh.moving_error_mm.percentile(0.95),
            age_ms: fresh.near_age_ms.mean(),
            age_ms_p99: fresh.near_age_ms.percentile(0.99),
            missing_percent: fresh.n_missing as f64 / fresh.near_age_ms.len() as f64 * 100.0,
            gap_ms_p99: gap_ms.expect("there are bands").percentile(0.99),
        }
    }
}

/// Sets the phases against the quiet ones around them.
pub(super) fn compare(phases: &[FinishedPhase], fresh: &[Freshness], findings: &mut Findings) {
    let shown: Vec<WalkerDisplay> = fresh.iter().map(WalkerDisplay::of).collect();
    let all = |of: fn(&WalkerDisplay) -> f64| shown.iter().map(of).collect::<Vec<f64>>();
    let (errors, errors_p95, ages) =
        (all(|shown| shown.error_mm), all(|shown| shown.error_mm_p95), all(|shown| shown.age_ms));
    let mut table = Table::new(vec![
        Column::text("phase"),
        Column::number("error of moving avatars among the nearest 20", "mm"),
        Column::number("÷ alone", ""),
        Column::number("p95", "mm"),
        Column::number("÷ alone", ""),
        Column::number("age of the nearest 20", "ms"),
        Column::number("− alone", "ms"),
        Column::number("p99", "ms"),
        Column::number("not shown", "%"),
        Column::number("update gap p99", "ms"),
        Column::number("server", "cores"),
        Column::number("scenes", ""),
    ])
    .caption(&format!(
        "Walkers as displayed by other walkers. Attackers, slow readers and newcomers are not compared. {}",
        WrongFrom::describe()
    ));
    for (n, (name, shown)) in PHASES.iter().zip(&shown).enumerate() {
        let cores = phases[n].server.cpu_s_per_s() - phases[n].server.cpu_s_per_s_of("recording");
        let rest = [shown.age_ms_p99, shown.missing_percent, shown.gap_ms_p99, cores];
        let values = [shown.error_mm, shown.error_mm_p95, shown.age_ms].into_iter().chain(rest);
        for (figure, value) in OF_PHASE.iter().zip(values) {
            findings.figure(format!("{name}_{figure}"), value);
        }
        let mut beside = [f64::NAN; 3];
        if !is_quiet(n) {
            beside = [
                ratio(errors[n], around(&errors, n)),
                ratio(errors_p95[n], around(&errors_p95, n)),
                ages[n] - around(&ages, n),
            ];
            for (figure, value) in BESIDE.iter().zip(beside) {
                findings.figure(format!("{name}_{figure}"), value);
            }
        }
        let mut row: Vec<Cell> = vec![(*name).into()];
        row.extend([shown.error_mm, beside[0], shown.error_mm_p95, beside[1]].map(Cell::from));
        row.extend([shown.age_ms, beside[2]].into_iter().chain(rest).map(Cell::from));
        row.push((fresh[n].n_scenes as f64).into());
        table.row(row);
    }
    let quiet = || (0..errors.len()).filter(|&n| is_quiet(n)).map(|n| errors[n]);
    let (least, most) = (quiet().fold(f64::INFINITY, f64::min), quiet().fold(0.0, f64::max));
    findings.figure("alone_error_spread", most / least);
    findings.figure("missing_percent", shown.iter().map(|shown| shown.missing_percent).fold(0.0, f64::max));
    findings.sections.push(Section::new("Freshness").table(table));
}

/// Of an error to the one alone, each at least [`ERROR_FLOOR_MM`].
fn ratio(error_mm: f64, alone_mm: f64) -> f64 {
    error_mm.max(ERROR_FLOOR_MM) / alone_mm.max(ERROR_FLOOR_MM)
}

/// Phases alternate, and begin with a quiet one.
const fn is_quiet(n: usize) -> bool {
    n.is_multiple_of(2)
}

/// The mean of the phases before and after the `n`th; the last one has none after it.
fn around(values: &[f64], n: usize) -> f64 {
    let around = [n.checked_sub(1), Some(n + 1)].into_iter().flatten();
    let values: Vec<f64> = around.filter_map(|n| values.get(n).copied()).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_set_against_the_quiet_ones_around_it() {
        let values = [10.0, 99.0, 20.0, 99.0, 40.0, 99.0];
        let loud: Vec<usize> = (0..values.len()).filter(|&n| !is_quiet(n)).collect();
        assert_eq!(loud, [1, 3, 5]);
        assert_eq!([1, 3, 5].map(|n| around(&values, n)), [15.0, 30.0, 40.0]);
    }

    #[test]
    fn errors_within_the_threshold_are_equal() {
        let [within, above] = [17.0, 75.0].map(|error| ratio(error, 9.0));
        assert!((within - 1.0).abs() < 1e-6 && (above - 1.5).abs() < 1e-6, "{within} {above}");
        assert!((ratio(138.0, 120.0) - 1.15).abs() < 1e-6);
    }
}
