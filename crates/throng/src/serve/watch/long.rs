//! Figures of long tasks, and the health check's report on those that do not end.

use super::export::{Export, LongKind};
use ids::Instant;
use schedule::long::{LongCounters, LongEnded, LongId, LongInfo, LongState, LongTasks};
use std::collections::BTreeSet;

impl Export {
    pub(super) fn long(&mut self, tasks: &LongTasks, list: &[LongInfo]) {
        let mut ended = std::mem::take(&mut self.long_ended);
        ended.clear();
        tasks.drain_ended(&mut ended);
        for one in &ended {
            self.long_ended(one);
        }
        self.long_ended = ended;
        let LongCounters { refused, cancelled, abandoned, waiting, disposals_waiting, .. } = tasks.counters();
        let counts = [
            ("throng_long_refused_total", "Long tasks that were not taken: too many waited.", refused),
            ("throng_long_cancelled_total", "Long tasks that were cancelled before they began.", cancelled),
            (
                "throng_long_abandoned_total",
                "Long tasks that did not end, and whose threads were abandoned.",
                abandoned,
            ),
        ];
        for (name, help, value) in counts {
            self.count(name, help, "", value);
        }
        let count = |of: fn(&LongInfo) -> bool| list.iter().filter(|info| of(info)).count() as f64;
        let gauges = [
            ("throng_long_waiting", "Long tasks that wait.", waiting as f64),
            ("throng_long_disposals_waiting", "Things that wait to be dropped.", disposals_waiting as f64),
            (
                "throng_long_running",
                "Running long tasks, abandoned ones included.",
                count(|info| info.state != LongState::Waiting),
            ),
            (
                "throng_long_overdue",
                "Long tasks that have run for far longer than expected.",
                count(|info| info.is_overdue),
            ),
        ];
        for (name, help, value) in gauges {
            self.gauge(name, help, ("", ""), value);
        }
    }

    fn long_ended(&mut self, ended: &LongEnded) {
        let kind = ended.kind;
        let metrics = &self.metrics;
        let figures = self.long_kinds.entry(kind).or_insert_with(|| {
            let outcome = |outcome| {
                let help = "Long tasks that have run, by kind and outcome.";
                metrics.counter("throng_long_tasks_total", help, &[("kind", kind), ("outcome", outcome)])
            };
            let timing = |name, help| metrics.timing(name, help, &[("kind", kind)]);
            LongKind {
                done: outcome("done"),
                failed: outcome("failed"),
                ran: timing("throng_long_run_seconds", "Time that long tasks ran."),
                waited: timing("throng_long_wait_seconds", "Time that long tasks waited before they ran."),
            }
        });
        if ended.is_sound { &figures.done } else { &figures.failed }.increment(1);
        figures.ran.record(ended.took);
        figures.waited.record(ended.waited);
    }
}

/// Long tasks that do not end, each with a sentence for the operator. `logged` are those already logged.
pub(super) fn troubles(now: Instant, list: &[LongInfo], logged: &mut BTreeSet<LongId>) -> Vec<String> {
    logged.retain(|id| list.iter().any(|info| info.id == *id));
    let trouble = |info: &LongInfo| {
        let (LongId(id), kind, name) = (info.id, info.kind, &info.name);
        let (since, then) = match info.state {
            LongState::Waiting => return None,
            LongState::Abandoned { since } => {
                (since, "It was given up, and its thread has a successor.".to_owned())
            }
            LongState::Running { since } => (since, format!("DELETE /v1/long-tasks/{id} has it end.")),
        };
        let runs_s = (now - since).as_secs();
        if logged.insert(info.id) {
            tracing::warn!(task = id, kind, name, runs_s, "a long task does not end");
        }
        Some(format!("Long task {id} ({kind} {name:?}) has run for {runs_s} s. {then}"))
    };
    list.iter().filter(|info| info.is_overdue).filter_map(trouble).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_endless_task_is_named_until_it_ends() {
        let since = Instant::from_millis(1_000);
        let info = |id, is_overdue, state| LongInfo {
            id: LongId(id),
            kind: "save",
            name: "Cave".into(),
            submitted_at: since,
            estimated: Duration::ZERO,
            expected: Duration::ZERO,
            is_cancelled: false,
            is_overdue,
            state,
        };
        let mut logged = BTreeSet::new();
        let running = LongState::Running { since };
        let list = [info(1, true, running), info(2, false, running), info(3, false, LongState::Waiting)];
        let said = troubles(Instant::from_millis(62_000), &list, &mut logged);
        assert_eq!(
            said,
            ["Long task 1 (save \"Cave\") has run for 61 s. DELETE /v1/long-tasks/1 has it end."]
        );
        let said = troubles(
            Instant::from_millis(70_000),
            &[info(1, true, LongState::Abandoned { since })],
            &mut logged,
        );
        assert!(said[0].ends_with("its thread has a successor."), "{said:?}");
        assert!(
            troubles(Instant::from_millis(80_000), &list[1..], &mut logged).is_empty() && logged.is_empty()
        );
    }
}
