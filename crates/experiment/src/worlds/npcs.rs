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

    /// The share of all steps that NPCs had to make since an earlier look in which they moved. Who lies on the ground does not, and
    /// neither does who was not stepped at all.
    fn moving_since(&self, earlier: &Self) -> f64 {
        (self.moving - earlier.moving) / ((self.at_s - earlier.at_s) * RATE_HZ * self.npcs)
    }
}

/// Reports their actions in the window; `looks` are those in it.
pub(super) fn report_npcs(
    window: &Window,
    looks: &[NpcActivity],
    n_worlds: u32,
    findings: &mut Findings,
) -> Table {
    let npcs = window.end.metrics.sum("throng_npcs");
    let work = |what| window.rate_with("throng_npc_work_total", "what", what);
    findings.figure("npcs", npcs);
    findings.figure("npcs_per_world", npcs / f64::from(n_worlds));
    findings.figure("npc_moving_ratio", least_moving(looks));
    findings.figure("npc_looks_per_s", work("looks") / npcs);
    let late = window.rise_told("throng_npc_work_total", Some(("what", "late_looks")));
    findings.figure("npc_late_looks", late);
    findings.figure("npc_paths_per_10_s", work("paths") / npcs * 10.0);
    findings.figure("npc_ticks_per_s", work("ticks"));
    let mut did = Table::new(vec![Column::text("NPCs"), Column::number("each", "1/s")])
        .caption("What the NPCs did in the steady window.");
    for what in ["ticks", "moving", "thoughts", "looks", "rays", "paths", "path_nodes", "blows", "falls"] {
        did.row(vec![what.into(), (work(what) / npcs).into()]);
    }
    did
}

/// The smallest share that moved between two looks.
fn least_moving(looks: &[NpcActivity]) -> f64 {
    let shares = looks.windows(2).map(|pair| pair[1].moving_since(&pair[0]));
    shares.reduce(least).unwrap_or(f64::NAN)
}

/// The share that moves, over time.
pub(super) fn chart(looks: &[NpcActivity]) -> Chart {
    let from_s = looks.first().map_or(0.0, |look| look.at_s);
    let share = |pair: &[NpcActivity]| (pair[1].at_s - from_s, pair[1].moving_since(&pair[0]) * 100.0);
    Chart {
        title: "NPCs that move".to_owned(),
        x: ("time".to_owned(), "s".to_owned()),
        y: ("of all NPCs".to_owned(), "%".to_owned()),
        is_log: false,
        lines: vec![ChartLine { name: "moving".to_owned(), points: looks.windows(2).map(share).collect() }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_look_counts_and_a_missing_one_is_not_passed_over() {
        // 10 NPCs make 200 steps a second.
        let look = |at_s, moving| NpcActivity { at_s, npcs: 10.0, moving };
        let looks = [look(5.0, 900.0), look(7.0, 1_200.0), look(8.0, 1_280.0), look(9.0, 1_480.0)];
        assert_eq!(least_moving(&looks), 0.4);
        assert!(least_moving(&looks[..1]).is_nan());
        assert!(least(f64::NAN, 1.0).is_nan() && least(1.0, f64::NAN).is_nan());
    }
}
