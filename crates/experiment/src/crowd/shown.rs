//! The views of a crowd's observers.

use crate::findings::Findings;
use crate::freshness::{BANDS_M, Freshness, WrongFrom};
use report::{Column, Section, Table};

/// Adds the figures of freshness, whose names end so, and gives the section that shows them.
pub(super) fn report_freshness(fresh: &Freshness, suffix: &str, findings: &mut Findings) -> Section {
    // Two figures of the 5,000 have always had their names without the number.
    let bare = if suffix == "_5000" { "" } else { suffix };
    findings.figure(format!("scenes_compared{bare}"), fresh.n_scenes as f64);
    findings.figure(format!("stop_error_m_p999{bare}"), fresh.stop_error_mm.percentile(0.999) / 1e3);
    let mut figure = |name: &str, value: f64| findings.figure(format!("{name}{suffix}"), value);
    figure("visible_count", fresh.visible.percentile(0.1));
    figure("near20_error_m_p95", fresh.near_error_mm.percentile(0.95) / 1e3);
    figure("near20_age_ms_p99", fresh.near_age_ms.percentile(0.99));
    figure("oldest_visible_s", fresh.oldest_ms.percentile(1.0) / 1e3);
    figure("arrival_near50_s", fresh.arrival_ms.percentile(1.0) / 1e3);
    let nearest = WrongFrom::of_band(0);
    findings.figure("near20_wrong_above_m", nearest.error_m.into());
    findings.figure("near20_wrong_above_deg", nearest.turned_rad.to_degrees().into());
    let mut table = Table::new(vec![
        Column::text("avatars"),
        Column::number("update gap p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("error p50", "m"),
        Column::number("p95", "m"),
        Column::number("p99", "m"),
        Column::number("age p95", "ms"),
        Column::number("p99", "ms"),
        Column::number("samples", ""),
    ])
    .caption(&format!(
        "Errors and ages of the avatars that observers in the crowd display, against their true positions at the same moment. {}",
        WrongFrom::describe()
    ));
    let mut from_m = 0.0;
    for (band, reach_m) in fresh.bands.iter().zip(BANDS_M) {
        let name = if reach_m.is_finite() {
            format!("{from_m}–{reach_m} m")
        } else {
            format!("beyond {from_m} m")
        };
        from_m = reach_m;
        table.row(vec![
            name.as_str().into(),
            band.gap_ms.percentile(0.5).into(),
            band.gap_ms.percentile(0.99).into(),
            (band.error_mm.percentile(0.5) / 1e3).into(),
            (band.error_mm.percentile(0.95) / 1e3).into(),
            (band.error_mm.percentile(0.99) / 1e3).into(),
            band.age_ms.percentile(0.95).into(),
            band.age_ms.percentile(0.99).into(),
            (band.error_mm.len() as f64).into(),
        ]);
    }
    table.row(vec![
        "the nearest 20".into(),
        f64::NAN.into(),
        f64::NAN.into(),
        (fresh.near_error_mm.percentile(0.5) / 1e3).into(),
        (fresh.near_error_mm.percentile(0.95) / 1e3).into(),
        (fresh.near_error_mm.percentile(0.99) / 1e3).into(),
        fresh.near_age_ms.percentile(0.95).into(),
        fresh.near_age_ms.percentile(0.99).into(),
        (fresh.near_error_mm.len() as f64).into(),
    ]);
    Section::new(&format!("Freshness{}", suffix.replace('_', ", "))).table(table).table(oldest(fresh))
}

/// Details of the avatars that were displayed wrong for the longest time.
fn oldest(fresh: &Freshness) -> Table {
    let mut table = Table::new(vec![
        Column::number("wrong for", "s"),
        Column::number("distance", "m"),
        Column::number("error", "m"),
        Column::number("turned", "°"),
        Column::number("last update", "s"),
        Column::number("velocity sent", "m/s"),
        Column::number("went", "m/s"),
    ])
    .caption("Avatars displayed wrong for the longest time, as of the last sample in which they were.");
    for old in fresh.oldest.sorted() {
        let row = [
            old.age_ns as f64 / 1e9,
            old.far_m.into(),
            old.error_m.into(),
            old.turned_deg.into(),
            old.untold_ns as f64 / 1e9,
            old.told_m_per_s.into(),
            old.went_m_per_s.into(),
        ];
        table.row(row.map(Into::into).into());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errors_from_which_an_avatar_counts_as_wrong_are_figures_and_in_the_report() {
        let mut findings = Findings::default();
        let section = report_freshness(&Freshness::new(), "_5000", &mut findings);
        let figure = |name: &str| findings.figures[name];
        // The allowance and the threshold of dead reckoning of the nearest.
        let expected_m = f64::from(0.05 + replicate::PLACE_M[0]);
        assert!((figure("near20_wrong_above_m") - expected_m).abs() < 1e-6, "{findings:?}");
        let expected_deg = 2.0 + f64::from(replicate::ROTATION_RAD[0].to_degrees());
        assert!((figure("near20_wrong_above_deg") - expected_deg).abs() < 1e-3, "{findings:?}");
        let printed = format!("the nearest 60 up to 64 m: {expected_m:.2} m or {expected_deg:.1}°");
        assert!(format!("{section:?}").contains(&printed), "{printed} is not in {section:?}");
    }
}
