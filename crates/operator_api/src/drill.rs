//! `POST /v1/long-tasks`: artificial long tasks, to test that worlds make room for them and that a hanging task is handled. Only with
//! `diagnose.allow_faults`.

use schedule::long::{Long, LongContext, LongRefusal, LongTasks};
use serde::Deserialize;
use std::hint::black_box;
use std::time::Duration;
use utoipa::ToSchema;

/// Kind of these tasks.
const DRILL: &str = "drill";
/// Rounds between two looks whether to end: about a millisecond.
const ROUNDS: u64 = 1_000_000;
/// Duration of that many rounds on an idle core of today.
const ROUNDS_ESTIMATE: Duration = Duration::from_micros(1_300);
/// Period at which a hanging task checks for cancellation.
const LOOK: Duration = Duration::from_millis(50);

/// Long work on purpose.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Drill {
    /// Number of tasks.
    #[schema(minimum = 1, maximum = 65_535)]
    count: u16,
    /// Million rounds of arithmetic per task; one takes about a millisecond of a core.
    #[serde(default)]
    #[schema(maximum = 3_600_000)]
    million_rounds: u32,
    /// The task runs until it is cancelled.
    #[serde(default)]
    hangs: bool,
}

impl Drill {
    /// Hands the tasks in; how many there was room for.
    pub(super) fn begin(self, tasks: &LongTasks) -> Result<u16, LongRefusal> {
        let Self { count, million_rounds, hangs } = self;
        for n in 0..count {
            let work = Box::new(move |context: &LongContext| run_rounds(context, million_rounds, hangs));
            let estimated = ROUNDS_ESTIMATE * million_rounds;
            let long = Long { kind: DRILL, name: format!("{} of {count}", n + 1), estimated, work };
            match tasks.submit(long) {
                // No caller waits for it.
                Ok(_) => {}
                Err(_) if n > 0 => return Ok(n),
                Err(why) => return Err(why),
            }
        }
        Ok(count)
    }
}

fn run_rounds(context: &LongContext, million_rounds: u32, hangs: bool) {
    let mut mixed = 1_u64;
    for _ in 0..million_rounds {
        for round in 0..ROUNDS {
            mixed = black_box(mixed ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        if context.is_cancelled() {
            return;
        }
    }
    while hangs && !context.is_cancelled() {
        std::thread::park_timeout(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Instant;
    use schedule::Pool;

    #[test]
    fn a_drill_ends_and_a_hanging_one_ends_on_cancellation() {
        let pool = Pool::start(1, || Instant::ZERO).expect("threads");
        let tasks = pool.long();
        let drill = |count, hangs| Drill { count, million_rounds: 0, hangs };
        assert_eq!(drill(3, false).begin(&tasks).expect("there is room"), 3);
        assert_eq!(drill(1, true).begin(&tasks).expect("there is room"), 1);
        let hanging = || tasks.list().into_iter().find(|info| info.name == "1 of 1");
        let id = hanging().expect("it does not end").id;
        assert!(tasks.cancel(id));
        while hanging().is_some() {
            std::thread::yield_now();
        }
        // More than may wait: as many as there is room for.
        let taken = drill(u16::MAX, true).begin(&tasks).expect("there is room for some");
        assert!((1_000..1_100).contains(&taken), "{taken}");
        for info in tasks.list() {
            let _ = tasks.cancel(info.id);
        }
    }
}
