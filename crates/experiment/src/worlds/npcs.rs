//! The activity of NPCs, at each reading and over the whole window, as evidence of an honest load.

use super::steady::RATE_HZ;
use crate::findings::{Chart, ChartLine, Findings};
use crate::meter::{Window, least};
use crate::metrics::MetricScrape;
use report::{Column, Table};

/// Their activity since the server began, as of one of its exports.
#[derive(Clone, Copy, Debug)]
pub(super) struct NpcActivity {
    /// Seconds since the server began.
    at_s: f64,
    npcs: f64,
    moving: f64,
}

impl NpcActivity {
    pub(super) fn of(metrics: &MetricScrape) -> Self {
        Self {
            at_s: metrics.sum("throng_uptime_seconds"),
            npcs: metrics.sum("throng_npcs"),
            moving: metrics.with("throng_npc_work_total", "what", "moving"),
        }
    }

    /// Steps with movement since an earlier reading, as a share of RATE_HZ × NPCs × seconds. A fallen NPC does not move, and neither does
    /// one in a world that was not stepped.
    fn moving_since(&self, earlier: &Self) -> f64 {
        (self.moving - earlier.moving) / ((self.at_s - earlier.at_s) * RATE_HZ * self.npcs)
    }
}

/// Reports their activity in the window, of which `readings` were taken.
pub(super) fn report_npcs(
    window: &Window,
    readings: &[NpcActivity],
    n_worlds: u32,
    findings: &mut Findings,
) -> Table {
    let npcs = window.end.metrics.sum("throng_npcs");
    let work = |what| window.rate_with("throng_npc_work_total", "what", what);
    findings.figure("npcs", npcs);
    findings.figure("npcs_per_world", npcs / f64::from(n_worlds));
    findings.figure("npc_moving_ratio", least_moving(readings));
    findings.figure("npc_looks_per_s", work("looks") / npcs);
    let late = window.rise_exported("throng_npc_work_total", Some(("what", "late_looks")));
    findings.figure("npc_late_looks", late);
    findings.figure("npc_paths_per_10_s", work("paths") / npcs * 10.0);
    findings.figure("npc_ticks_per_s", work("ticks"));
    let mut table = Table::new(vec![Column::text("NPCs"), Column::number("each", "1/s")])
        .caption("Activity of the NPCs in the steady window.");
    for what in ["ticks", "moving", "thoughts", "looks", "rays", "paths", "path_nodes", "blows", "falls"] {
        table.row(vec![what.into(), (work(what) / npcs).into()]);
    }
    table
}

/// The smallest share that moved between two readings.
fn least_moving(readings: &[NpcActivity]) -> f64 {
    let shares = readings.windows(2).map(|pair| pair[1].moving_since(&pair[0]));
    shares.reduce(least).unwrap_or(f64::NAN)
}

/// The share that moves, over time.
pub(super) fn chart(readings: &[NpcActivity]) -> Chart {
    let from_s = readings.first().map_or(0.0, |first| first.at_s);
    let share = |pair: &[NpcActivity]| (pair[1].at_s - from_s, pair[1].moving_since(&pair[0]) * 100.0);
    Chart {
        title: "Moving NPCs".to_owned(),
        x: ("time".to_owned(), "s".to_owned()),
        y: ("of all NPCs".to_owned(), "%".to_owned()),
        is_log: false,
        lines: vec![ChartLine {
            name: "moving".to_owned(),
            points: readings.windows(2).map(share).collect(),
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_reading_counts_and_a_missing_one_leaves_no_number() {
        // 10 NPCs make 200 steps a second.
        let reading = |at_s, moving| NpcActivity { at_s, npcs: 10.0, moving };
        let readings =
            [reading(5.0, 900.0), reading(7.0, 1_200.0), reading(8.0, 1_280.0), reading(9.0, 1_480.0)];
        assert_eq!(least_moving(&readings), 0.4);
        assert!(least_moving(&readings[..1]).is_nan());
        assert!(least(f64::NAN, 1.0).is_nan() && least(1.0, f64::NAN).is_nan());
    }
}
