//! Times of backups and rehearsals without an operator. Sans-IO: the caller knows the time and the directory.

/// Work that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduledWork {
    /// A backup.
    Backup,
    /// A rehearsal of the newest backup.
    Rehearsal,
}

/// Times of the newest work, seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupTimes {
    /// Cut of the newest backup, whole or not.
    pub made_s: Option<i64>,
    /// Cut of the newest backup that is whole.
    pub backup_s: Option<i64>,
    /// The newest rehearsal that has succeeded.
    pub rehearsal_s: Option<i64>,
}

/// Pause after a failure: a quarter of the period, within these bounds in seconds. A rehearsal costs more than a backup.
const PAUSE_MIN: i64 = 300;
const PAUSE_MAX: i64 = 3_600;
const REHEARSAL_PAUSE_MAX: i64 = 21_600;

/// Grace before work counts as late: a quarter of the period, within these bounds in seconds.
const GRACE_MIN: i64 = 900;
const GRACE_MAX: i64 = 21_600;

/// A schedule, and the state of its attempts.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackupSchedule {
    /// Periods in seconds; none without a schedule.
    backup: Option<i64>,
    rehearsal: Option<i64>,
    /// Begin of the schedule: without any work before, it is due from here on.
    since_s: i64,
    /// Ends of the last failed attempts.
    failed_backup_s: Option<i64>,
    failed_rehearsal_s: Option<i64>,
}

impl BackupSchedule {
    /// Backups every `backup_h` hours and rehearsals every `rehearsal_h`; none for 0. It begins now.
    #[must_use]
    pub fn new(backup_h: u32, rehearsal_h: u32, now_s: i64) -> Self {
        let seconds = |hours: u32| (hours > 0).then_some(i64::from(hours) * 3_600);
        Self { backup: seconds(backup_h), rehearsal: seconds(rehearsal_h), since_s: now_s, ..Self::default() }
    }

    /// Work that is due, a backup before its rehearsal. Its end has to be [recorded](Self::record_end) before the next call.
    #[must_use]
    pub fn poll_due(&self, now_s: i64, times: &BackupTimes) -> Option<ScheduledWork> {
        let is_due = |period: Option<i64>, last: Option<i64>, failed: Option<i64>, pause_max: i64| {
            period.is_some_and(|period| {
                let pause = (period / 4).clamp(PAUSE_MIN, pause_max);
                let is_old = last.is_none_or(|last| age(now_s, last) >= period);
                is_old && failed.is_none_or(|failed| age(now_s, failed) >= pause)
            })
        };
        // Also a damaged one counts: damaged data are damaged in an hour as well.
        if is_due(self.backup, times.made_s, self.failed_backup_s, PAUSE_MAX) {
            return Some(ScheduledWork::Backup);
        }
        let (last, failed) = (times.rehearsal_s, self.failed_rehearsal_s);
        let is_rehearsal_due = is_due(self.rehearsal, last, failed, REHEARSAL_PAUSE_MAX);
        (times.made_s.is_some() && is_rehearsal_due).then_some(ScheduledWork::Rehearsal)
    }

    /// An attempt has ended.
    pub fn record_end(&mut self, work: ScheduledWork, has_succeeded: bool, now_s: i64) {
        let failed = match work {
            ScheduledWork::Backup => &mut self.failed_backup_s,
            ScheduledWork::Rehearsal => &mut self.failed_rehearsal_s,
        };
        *failed = (!has_succeeded).then_some(now_s);
    }

    /// Sentences on work that is late.
    #[must_use]
    pub fn late(&self, now_s: i64, times: &BackupTimes) -> Vec<String> {
        let mut late = Vec::new();
        let late_s = |period: Option<i64>, last: Option<i64>| {
            let period = period?;
            let grace = (period / 4).clamp(GRACE_MIN, GRACE_MAX);
            let since = age(now_s, last.unwrap_or(self.since_s));
            let is_late = if last.is_some() { since > period + grace } else { since > grace };
            is_late.then_some(since)
        };
        if let Some(since) = late_s(self.backup, times.backup_s) {
            late.push(match times.backup_s {
                Some(_) => format!("The newest whole backup is {} h old (`backup.every_h`).", since / 3_600),
                None => "There is no whole backup (`backup.directory`).".to_owned(),
            });
        }
        if let Some(since) = late_s(self.rehearsal, times.rehearsal_s) {
            late.push(match times.rehearsal_s {
                Some(_) => format!(
                    "The last successful rehearsal of a backup was {} h ago (`backup.rehearse_every_h`).",
                    since / 3_600
                ),
                None => "No backup has been rehearsed successfully (`backup.rehearse_every_h`).".to_owned(),
            });
        }
        late
    }
}

/// Seconds since a time; of one in the future, of a clock that was set back, none.
fn age(now_s: i64, at_s: i64) -> i64 {
    now_s.saturating_sub(at_s).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: i64 = 3_600;
    const START: i64 = 1_800_000_000;

    fn times(backup_h_ago: Option<i64>, rehearsal_h_ago: Option<i64>) -> BackupTimes {
        let at = |hours: i64| START - hours * HOUR;
        let backup_s = backup_h_ago.map(at);
        BackupTimes { made_s: backup_s, backup_s, rehearsal_s: rehearsal_h_ago.map(at) }
    }

    #[test]
    fn work_is_due_after_its_period_and_a_backup_comes_first() {
        let schedule = BackupSchedule::new(24, 168, START);
        let due = |times: BackupTimes| schedule.poll_due(START, &times);
        assert_eq!(due(times(None, None)), Some(ScheduledWork::Backup));
        assert_eq!(due(times(Some(24), None)), Some(ScheduledWork::Backup));
        assert_eq!(due(times(Some(23), None)), Some(ScheduledWork::Rehearsal));
        assert_eq!(due(times(Some(23), Some(168))), Some(ScheduledWork::Rehearsal));
        assert_eq!(due(times(Some(23), Some(167))), None, "also right after a restart of the server");
        assert_eq!(due(times(Some(-50), Some(-50))), None, "the clock was set back");
        let none = BackupSchedule::new(0, 0, START);
        assert_eq!(none.poll_due(START, &times(None, None)), None);
        assert!(none.late(START + 1_000 * HOUR, &times(None, None)).is_empty());
        let only_backups = BackupSchedule::new(1, 0, START);
        assert_eq!(only_backups.poll_due(START, &times(Some(0), None)), None);
    }

    #[test]
    fn a_failure_is_repeated_after_a_pause() {
        let mut schedule = BackupSchedule::new(24, 24, START);
        let none = times(None, None);
        schedule.record_end(ScheduledWork::Backup, false, START);
        assert_eq!(schedule.poll_due(START + HOUR - 1, &none), None, "and nothing is there to be rehearsed");
        assert_eq!(schedule.poll_due(START + HOUR, &none), Some(ScheduledWork::Backup));
        schedule.record_end(ScheduledWork::Backup, true, START + HOUR);
        let again = schedule.poll_due(START + HOUR, &none);
        assert_eq!(again, Some(ScheduledWork::Backup), "the directory counts");
        let there = BackupTimes { made_s: Some(START), ..BackupTimes::default() };
        schedule.record_end(ScheduledWork::Rehearsal, false, START + HOUR);
        assert_eq!(schedule.poll_due(START + 7 * HOUR - 1, &there), None);
        assert_eq!(schedule.poll_due(START + 7 * HOUR, &there), Some(ScheduledWork::Rehearsal));
    }

    #[test]
    fn a_backup_that_is_not_whole_is_late_and_not_repeated_at_once() {
        let schedule = BackupSchedule::new(24, 0, START);
        let made_s = Some(START + 40 * HOUR);
        let flawed = BackupTimes { made_s, backup_s: Some(START), rehearsal_s: None };
        let now_s = START + 41 * HOUR;
        assert_eq!(schedule.poll_due(now_s, &flawed), None);
        assert_eq!(schedule.late(now_s, &flawed).len(), 1);
    }

    #[test]
    fn late_work_is_named() {
        let schedule = BackupSchedule::new(24, 168, START);
        let late = |now_h: i64, times: BackupTimes| schedule.late(START + now_h * HOUR, &times);
        assert!(late(1, times(None, None)).is_empty(), "the first one takes its time");
        assert_eq!(late(7, times(None, None)).len(), 2);
        assert!(late(30, times(Some(0), Some(0))).is_empty());
        let [backup] = &late(31, times(Some(0), Some(0)))[..] else { panic!("one is late") };
        assert_eq!(backup, "The newest whole backup is 31 h old (`backup.every_h`).");
        assert_eq!(late(175, times(Some(-170), Some(0))).len(), 1);
        assert!(late(174, times(Some(-170), Some(0))).is_empty());
    }

    proptest! {
        /// Whatever fails: no attempt follows a failed one of its kind at once, and without failures the times stay within the periods.
        #[test]
        fn attempts_are_spread_and_periods_kept(
            every in 1_u32..48,
            rehearse_every in 0_u32..96,
            outcomes in prop::collection::vec(prop::bool::weighted(0.7), 1..200),
        ) {
            let mut schedule = BackupSchedule::new(every, rehearse_every, START);
            let (mut now, mut state) = (START, BackupTimes::default());
            let mut failed: [Option<i64>; 2] = [None; 2];
            for has_succeeded in outcomes {
                let Some(work) = schedule.poll_due(now, &state) else {
                    let age = now - state.made_s.unwrap_or(START);
                    prop_assert!(age < i64::from(every) * HOUR || failed[0].is_some());
                    now += 600;
                    continue;
                };
                let kind = usize::from(work == ScheduledWork::Rehearsal);
                prop_assert!(failed[kind].is_none_or(|at| now - at >= PAUSE_MIN));
                if has_succeeded {
                    match work {
                        ScheduledWork::Backup => state.made_s = Some(now),
                        ScheduledWork::Rehearsal => state.rehearsal_s = Some(now),
                    }
                }
                failed[kind] = (!has_succeeded).then_some(now);
                schedule.record_end(work, has_succeeded, now);
                now += 60;
            }
        }
    }
}
