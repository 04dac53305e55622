//! Summary of a capture: the overrun, the culprit and the costs.

use super::cost::{CaptureCosts, busy_ns};
use super::culprit::{self, Culprit, LocatedCulprit};
use super::kernel::{KernelFigures, ThreadActivity};
use super::nest::{ScopeSpan, spans};
use super::{CaptureCause, CostRow, Trigger, about, scope_name};
use crate::recorder::{Arg, Capture, Overrun};
use serde::{Deserialize, Serialize};

/// Summary of a capture, as JSON for programs and as text ([`Display`](std::fmt::Display)) for people. Times are
/// nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureSummary {
    /// Trigger of the capture.
    pub trigger: Trigger,
    /// Calendar time of the capture: `2026-11-21T21:45:12.345Z`.
    pub at: String,
    /// Length of the capture.
    pub window_ns: u64,
    /// The slice that exceeded its limit. `None` for a request of the operator.
    pub overrun: Option<OverrunReport>,
    /// The reason of the overrun, if its slice is in the capture.
    pub culprit: Option<Culprit>,
    /// Costs inside of the slow slice by scope, in descending order.
    pub inside: Vec<CostRow>,
    /// Costs of the whole capture.
    pub costs: CaptureCosts,
    /// Blocks reused before the horizon: threads' records may not reach back to the capture's begin.
    pub blocks_recycled: u64,
    /// Events overwritten while they were read.
    pub events_lost: u64,
}

/// A slice that exceeded its limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverrunReport {
    /// The scope's name.
    pub scope: String,
    /// Its argument in words: `world Harbour`.
    pub about: Option<String>,
    /// Name of its thread.
    pub thread: String,
    /// Its end, on the trace's clock.
    pub at_ns: u64,
    /// Its duration.
    pub took_ns: u64,
    /// Its limit.
    pub limit_ns: u64,
    /// Its duration beyond the limit.
    pub over_ns: u64,
    /// Median duration of other slices of the scope, if the capture has enough of those.
    pub usual_ns: Option<u64>,
    /// The kernel's figures of its thread around it.
    pub kernel: Option<KernelFigures>,
}

impl CaptureSummary {
    /// Summary of a capture that was taken at `at` because of `cause`.
    #[must_use]
    pub fn of(capture: &Capture, cause: &CaptureCause, at: String) -> Self {
        let mut summary = Self {
            trigger: cause.trigger(),
            at,
            window_ns: capture.end_ns.saturating_sub(capture.begin_ns),
            overrun: None,
            culprit: None,
            inside: Vec::new(),
            costs: CaptureCosts::of(capture),
            blocks_recycled: capture.threads.iter().map(|thread| thread.blocks_recycled).sum(),
            events_lost: capture.events_lost,
        };
        if let CaptureCause::Overrun(overrun) = cause {
            summary.explain(capture, overrun);
        }
        summary
    }

    fn explain(&mut self, capture: &Capture, overrun: &Overrun) {
        let arg = capture.scopes.get(usize::from(overrun.scope)).map_or(Arg::None, |scope| scope.arg);
        let index = capture.threads.iter().position(|thread| thread.tid == overrun.thread);
        let thread = index.map(|index| &capture.threads[index]);
        let begin_ns = overrun.at_ns.saturating_sub(overrun.took_ns);
        let report = self.overrun.insert(OverrunReport {
            scope: scope_name(capture, overrun.scope).to_owned(),
            about: about(capture, arg, overrun.arg),
            thread: thread.map_or_else(|| format!("thread {}", overrun.thread), |thread| thread.name.clone()),
            at_ns: overrun.at_ns,
            took_ns: overrun.took_ns,
            limit_ns: overrun.limit_ns,
            over_ns: overrun.took_ns.saturating_sub(overrun.limit_ns),
            usual_ns: None,
            kernel: thread.and_then(|thread| KernelFigures::around(thread, begin_ns, overrun.at_ns)),
        });
        let Some(index) = index else { return };
        let all: Vec<Vec<ScopeSpan>> =
            capture.threads.iter().map(|thread| spans(thread, capture.end_ns)).collect();
        let Some(LocatedCulprit { culprit, thread, root, root_usual_ns }) =
            culprit::find(capture, &all, index, overrun)
        else {
            return;
        };
        report.usual_ns = root_usual_ns;
        let kernel = KernelFigures::around(&capture.threads[thread], begin_ns, overrun.at_ns);
        let doing = kernel.map_or(ThreadActivity::Unknown, |kernel| {
            let busy_ns = busy_ns(&all[thread], kernel.begin_ns, kernel.end_ns);
            kernel.doing(begin_ns, overrun.at_ns, busy_ns)
        });
        self.culprit = Some(Culprit { doing, ..culprit });
        self.inside = CaptureCosts::inside(capture, &all[thread], root).systems;
    }

    /// The culprit in a few words, for lists: `world.movement in world Harbour`.
    #[must_use]
    pub fn headline(&self) -> String {
        match (&self.culprit, &self.overrun) {
            (Some(culprit), _) => culprit.to_string(),
            (None, Some(OverrunReport { scope, about: Some(about), .. })) => format!("{scope} for {about}"),
            (None, Some(overrun)) => overrun.scope.clone(),
            (None, None) => "–".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captures::testing::{self, CLIENT, MS, SEND, TURN, ThreadBuilder};
    use crate::recorder::{SampleKind, ScopeInfo, ScopeKind};

    const AT: &str = "2026-11-21T21:45:12.345Z";

    #[test]
    fn a_slow_system_is_the_culprit_by_name_time_and_world() {
        let cause = testing::overrun_of_slow_movement();
        let summary = CaptureSummary::of(&testing::slow_movement(), &cause, AT.into());
        let overrun = summary.overrun.as_ref().unwrap();
        assert_eq!((summary.trigger, overrun.scope.as_str()), (Trigger::System, "world.movement"));
        assert_eq!((overrun.took_ns, overrun.over_ns, overrun.usual_ns), (40 * MS, 20 * MS, Some(2 * MS)));
        assert_eq!(overrun.thread, "world-0");
        let culprit = summary.culprit.as_ref().unwrap();
        assert_eq!(
            (culprit.scope.as_str(), culprit.world.as_deref()),
            ("world.movement", Some("world Harbour"))
        );
        assert_eq!(summary.headline(), "world.movement in world Harbour");
        assert_eq!(summary.inside[0].name, "world.movement");
        assert_eq!(summary.costs.worlds[0].name, "Harbour");
    }

    #[test]
    fn the_summary_states_work_and_waiting_of_the_thread() {
        let mut capture = testing::empty();
        let mut thread = ThreadBuilder::new("shard-0", 1);
        thread.sample(0, &[(SampleKind::RunNs, 0), (SampleKind::WaitNs, 0)]);
        let slow = thread.slice(TURN, 1_000, 60_000, 0, 0);
        thread.sample(62_000, &[(SampleKind::RunNs, 2 * MS), (SampleKind::WaitNs, 58 * MS)]);
        capture.threads = vec![thread.done()];
        let summary = CaptureSummary::of(&capture, &testing::overrun(&capture, 1, slow, 50), AT.into());
        assert_eq!(summary.culprit.unwrap().doing, ThreadActivity::WaitingForACore);
        assert_eq!(summary.overrun.unwrap().kernel.unwrap().wait_ns, 58 * MS);
    }

    #[test]
    fn a_slow_scope_inside_of_others_is_named_with_its_client() {
        let mut capture = testing::empty();
        let mut thread = ThreadBuilder::new("shard-0", 1);
        thread.slice(TURN, 0, 9_000, 0, 0);
        let slow = thread.slice(CLIENT, 100, 8_000, 17, 1);
        thread.slice(SEND, 200, 7_500, 1, 2);
        capture.threads = vec![thread.done()];
        let summary = CaptureSummary::of(&capture, &testing::overrun(&capture, 1, slow, 5), AT.into());
        assert_eq!(summary.overrun.as_ref().unwrap().about.as_deref(), Some("client 17 (Ada Resident)"));
        let culprit = summary.culprit.unwrap();
        assert_eq!((culprit.scope.as_str(), culprit.within), ("shard.send", vec!["shard.client".to_owned()]));
    }

    #[test]
    fn the_culprit_of_a_late_frame_is_the_one_it_waited_for() {
        let mut capture = testing::empty();
        let scope = capture.scopes.len() as u16;
        let frame = capture.scopes[usize::from(testing::FRAME)].clone();
        capture.scopes.push(ScopeInfo { name: "world.late".into(), ..frame });
        let mut others = ThreadBuilder::new("world-0", 1);
        others.slice(testing::FRAME, 0, 3_000, 0, 0);
        others.slice(testing::FRAME, 5_000, 75_000, 1, 0);
        let mut own = ThreadBuilder::new("world-1", 2);
        own.slice(testing::FRAME, 81_000, 1_000, 2, 0);
        capture.threads = vec![others.done(), own.done()];
        let late = Overrun {
            kind: ScopeKind::Frame,
            scope,
            arg: 2,
            took_ns: 70 * MS,
            limit_ns: 50 * MS,
            thread: 2,
            at_ns: capture.begin_ns + 81 * MS,
        };
        let summary = CaptureSummary::of(&capture, &CaptureCause::Overrun(late), AT.into());
        assert_eq!(summary.overrun.as_ref().unwrap().scope, "world.late");
        assert_eq!(summary.culprit.as_ref().unwrap().took_ns, 75 * MS);
        assert_eq!(summary.headline(), "world.frame for world 1");
    }

    #[test]
    fn an_overrun_that_has_left_the_capture_is_still_reported() {
        let cause = testing::overrun_of_slow_movement();
        let summary = CaptureSummary::of(&testing::empty(), &cause, AT.into());
        assert_eq!(summary.overrun.unwrap().thread, "thread 11");
        assert_eq!(summary.culprit, None);
    }

    #[test]
    fn a_summary_written_as_json_reads_back() {
        let cause = testing::overrun_of_slow_movement();
        let summary = CaptureSummary::of(&testing::slow_movement(), &cause, AT.into());
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<CaptureSummary>(&text).unwrap(), summary);
    }
}
