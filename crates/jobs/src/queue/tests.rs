//! Lives of jobs, restarts, and all of it against a model.

use super::*;
use proptest::prelude::*;

fn submit(jobs: &mut Jobs, kind: JobKind, subject: &str) -> JobNumber {
    jobs.submit(kind, subject, "test", 1).expect("there is room")
}

fn done(outcome: &str) -> JobEnd {
    JobEnd { state: JobState::Done, outcome: outcome.into(), result: None }
}

/// The rows that a driver would have, after all records so far.
fn keep(jobs: &mut Jobs, rows: &mut BTreeMap<JobNumber, JobEntry>) {
    while let Some(record) = jobs.poll_record() {
        match record {
            JobRecord::Keep(entry) => drop(rows.insert(entry.number, entry)),
            JobRecord::Forget(number) => drop(rows.remove(&number)),
        }
    }
}

#[test]
fn words_of_kinds_and_states_are_read_as_written() {
    for kind in JobKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
    }
    for state in JobState::ALL {
        assert_eq!(state.name().parse(), Ok(state));
    }
    assert!("work of a later build".parse::<JobKind>().is_err() && "".parse::<JobState>().is_err());
}

#[test]
fn jobs_run_one_after_the_other_and_keep_their_outcomes() {
    let mut jobs = Jobs::default();
    let first = submit(&mut jobs, JobKind::Backup, "/backups");
    let second = submit(&mut jobs, JobKind::Verification, "deep");
    assert_eq!(jobs.start_next(2).map(|job| job.number), Some(first));
    assert_eq!(jobs.start_next(2), None, "one at a time");
    let progress = JobProgress { part: "assets", done: 3, total: 7 };
    assert!(jobs.record_progress(first, progress));
    assert!(!jobs.record_progress(second, progress), "it waits");
    assert_eq!(jobs.get(first).map(|job| job.progress), Some(progress));
    jobs.finish(first, done("3 files"), 9);
    jobs.finish(first, done("again"), 10);
    let ended = jobs.get(first).expect("it is kept");
    let facts = (ended.state, ended.ended_s, ended.outcome.as_deref());
    assert_eq!(facts, (JobState::Done, Some(9), Some("3 files")));
    assert_eq!(jobs.start_next(11).map(|job| job.number), Some(second));
    assert_eq!(jobs.iter().map(|job| job.number).collect::<Vec<_>>(), [second, first], "the newest first");
}

#[test]
fn jobs_of_two_groups_run_side_by_side() {
    let mut jobs = Jobs::default();
    let backup = submit(&mut jobs, JobKind::Backup, "/backups");
    let look = submit(&mut jobs, JobKind::Verification, "deep");
    let load = submit(&mut jobs, JobKind::OarLoad, "Harbour");
    let save = submit(&mut jobs, JobKind::IarSave, "Ada Lovelace");
    let started = |jobs: &mut Jobs| jobs.start_next(2).map(|job| job.number);
    assert_eq!([(); 3].map(|()| started(&mut jobs)), [Some(backup), Some(load), None]);
    jobs.finish(load, done("well"), 3);
    assert_eq!([(); 2].map(|()| started(&mut jobs)), [Some(save), None]);
    jobs.finish(backup, done("well"), 3);
    assert_eq!(started(&mut jobs), Some(look));
}

#[test]
fn the_same_work_is_not_ordered_twice_and_not_too_much_waits() {
    let mut jobs = Jobs::default();
    let first = submit(&mut jobs, JobKind::Backup, "/backups");
    let twice = jobs.submit(JobKind::Backup, "/backups", "test", 1);
    assert_eq!(twice, Err(JobRefusal::Twice { number: first, state: JobState::Queued }));
    assert!(jobs.start_next(2).is_some());
    let twice = jobs.submit(JobKind::Backup, "/backups", "test", 2);
    assert_eq!(twice, Err(JobRefusal::Twice { number: first, state: JobState::Running }));
    for n in 0..WAITING_MAX {
        submit(&mut jobs, JobKind::Backup, &format!("/backups/{n}"));
    }
    assert_eq!(jobs.submit(JobKind::Verification, "", "test", 3), Err(JobRefusal::Full));
    jobs.finish(first, done(""), 4);
    assert!(jobs.start_next(5).is_some());
    assert!(jobs.submit(JobKind::Backup, "/backups", "test", 6).is_ok(), "the former one has ended");
}

#[test]
fn cancelled_jobs_end_at_once_or_when_they_notice() {
    let mut jobs = Jobs::default();
    let (first, second) = (submit(&mut jobs, JobKind::Backup, "a"), submit(&mut jobs, JobKind::Backup, "b"));
    jobs.start_next(2);
    assert_eq!(jobs.cancel(second, 3), CancelReply::Ended);
    assert_eq!(jobs.cancel(second, 3), CancelReply::Over(JobState::Cancelled));
    assert_eq!(jobs.cancel(first, 3), CancelReply::Asked);
    assert!(!jobs.record_progress(first, JobProgress::default()), "it has to end");
    let end = JobEnd { state: JobState::Cancelled, outcome: "after 3 files".into(), result: None };
    jobs.finish(first, end, 4);
    assert_eq!(jobs.cancel(first, 5), CancelReply::Over(JobState::Cancelled));
    assert_eq!(jobs.cancel(JobNumber(99), 5), CancelReply::Unknown);
    assert_eq!(jobs.start_next(6), None);
}

#[test]
fn jobs_of_a_server_that_ended_have_failed_and_their_numbers_are_not_given_again() {
    let mut rows = BTreeMap::new();
    let mut jobs = Jobs::default();
    let [first, second, third] = ["a", "b", "c"].map(|subject| submit(&mut jobs, JobKind::Backup, subject));
    jobs.start_next(2);
    jobs.finish(first, done("well"), 3);
    jobs.start_next(4);
    keep(&mut jobs, &mut rows);
    let mut jobs = Jobs::resume(rows.values().cloned(), 7, 100);
    keep(&mut jobs, &mut rows);
    assert_eq!(rows[&first].outcome.as_deref(), Some("well"));
    for number in [second, third] {
        let JobEntry { state, ended_s, outcome, .. } = &rows[&number];
        assert_eq!((*state, *ended_s, outcome.as_deref()), (JobState::Failed, Some(100), Some(SERVER_ENDED)));
    }
    assert_eq!(submit(&mut jobs, JobKind::Backup, "b"), JobNumber(8), "behind the highest number");
}

#[test]
fn the_oldest_ended_jobs_are_forgotten() {
    let mut rows = BTreeMap::new();
    let mut jobs = Jobs::default();
    for n in 0..=ENDED_MAX {
        let number = submit(&mut jobs, JobKind::Backup, &n.to_string());
        jobs.start_next(1);
        jobs.finish(number, done(""), 1);
    }
    keep(&mut jobs, &mut rows);
    assert_eq!((rows.len(), jobs.iter().count()), (ENDED_MAX, ENDED_MAX));
    assert!(jobs.get(JobNumber(1)).is_none() && !rows.contains_key(&JobNumber(1)));
    assert!(jobs.get(JobNumber(2)).is_some());
}

/// One call.
#[derive(Clone, Debug)]
enum Call {
    Submit(u8),
    Start,
    Finish(u8),
    Cancel(u8),
    Restart,
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => (0_u8..24).prop_map(Call::Submit),
        2 => Just(Call::Start),
        2 => (0_u8..64).prop_map(Call::Finish),
        1 => (0_u8..64).prop_map(Call::Cancel),
        1 => Just(Call::Restart),
    ]
}

proptest! {
    /// After any calls: rows and memory agree but for progress, one job runs, bounds hold, numbers rise, and no ended job changes.
    #[test]
    fn rows_and_memory_agree_and_ends_are_final(calls in prop::collection::vec(call(), 1..200)) {
        let mut rows = BTreeMap::new();
        let mut jobs = Jobs::default();
        let mut highest = 0;
        for (now_s, call) in (1_i64..).zip(calls) {
            let over: Vec<JobEntry> =
                rows.values().filter(|job: &&JobEntry| job.state.is_end()).cloned().collect();
            match call {
                Call::Submit(subject) => {
                    let submitted = jobs.submit(JobKind::Backup, &subject.to_string(), "test", now_s);
                    if let Ok(JobNumber(number)) = submitted {
                        prop_assert!(number > highest);
                        highest = number;
                    }
                }
                Call::Start => drop(jobs.start_next(now_s)),
                Call::Finish(number) => jobs.finish(JobNumber(number.into()), done("well"), now_s),
                Call::Cancel(number) => {
                    jobs.cancel(JobNumber(number.into()), now_s);
                }
                Call::Restart => {
                    keep(&mut jobs, &mut rows);
                    jobs = Jobs::resume(rows.values().cloned(), highest, now_s);
                    prop_assert!(jobs.iter().all(|job| job.state.is_end()));
                }
            }
            keep(&mut jobs, &mut rows);
            let plain = |job: &JobEntry| JobEntry { is_cancelled: false, ..job.clone() };
            let in_memory: Vec<JobEntry> = jobs.iter().map(plain).collect();
            let kept: Vec<JobEntry> = rows.values().rev().map(plain).collect();
            prop_assert_eq!(in_memory, kept);
            let count = |state| jobs.iter().filter(|job| job.state == state).count();
            prop_assert!(count(JobState::Running) <= 1);
            prop_assert!(count(JobState::Queued) <= WAITING_MAX);
            for job in over {
                prop_assert_eq!(rows.get(&job.number), Some(&job));
            }
        }
    }
}
