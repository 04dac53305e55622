//! Jobs of the operator with their outcomes. Their progress is in memory only.

use crate::engine::{Row, Sql, values};
use crate::seals;
use crate::{Store, StoreError};

/// A job as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// Its number, from 1.
    pub number: u64,
    /// Kind of work.
    pub kind: String,
    /// Object of the work.
    pub subject: String,
    /// Name of the token that has ordered it.
    pub author: String,
    /// Its state.
    pub state: String,
    /// Time of the order, seconds since 1970.
    pub created_s: i64,
    /// Time of its begin.
    pub started_s: Option<i64>,
    /// Time of its end.
    pub ended_s: Option<i64>,
    /// Outcome in a sentence.
    pub outcome: Option<String>,
    /// Figures of the outcome, as JSON.
    pub result: Option<String>,
}

/// All jobs that are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobList {
    /// Rows that are not damaged, by their numbers.
    pub rows: Vec<JobRow>,
    /// The highest number, also of a damaged row.
    pub last: u64,
}

const SAVE: Sql = Sql::same(
    "INSERT INTO jobs (job, kind, subject, author, state, created_s, started_s, ended_s, outcome, result, checksum) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
     ON CONFLICT (job) DO UPDATE SET kind = excluded.kind, subject = excluded.subject, author = excluded.author, \
     state = excluded.state, created_s = excluded.created_s, started_s = excluded.started_s, ended_s = excluded.ended_s, \
     outcome = excluded.outcome, result = excluded.result, checksum = excluded.checksum",
);
const REMOVE: Sql = Sql::same("DELETE FROM jobs WHERE job = $1");
const ALL: Sql = Sql::same(
    "SELECT job, kind, subject, author, state, created_s, started_s, ended_s, outcome, result, checksum FROM jobs \
     ORDER BY job",
);

impl Store {
    /// Keeps jobs as they are now, and forgets others, in one transaction.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    pub fn save_jobs(&self, changed: &[JobRow], forgotten: &[u64]) -> Result<(), StoreError> {
        let saved = self.write(|session| {
            for row in changed {
                let JobRow { number, kind, subject, author, state, created_s, .. } = row;
                let JobRow { started_s, ended_s, outcome, result, .. } = row;
                let (number, sum) = (number.cast_signed(), checksum(row));
                let values = values![
                    number, kind, subject, author, state, created_s, started_s, ended_s, outcome, result,
                    sum,
                ];
                session.execute(SAVE, values)?;
            }
            forgotten
                .iter()
                .try_for_each(|number| session.execute(REMOVE, values![number.cast_signed()]).map(drop))
        });
        saved.map_err(StoreError::query("keeping", "jobs"))
    }

    /// All jobs. Damaged rows are left out.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn jobs(&self) -> Result<JobList, StoreError> {
        let numbered = |row: Row<'_>| Ok((row.get::<i64>(0)?, read(&row)));
        let rows = self.read(|session| session.query(ALL, &[], numbered));
        let rows = rows.map_err(StoreError::query("reading", "jobs"))?;
        let last = rows.last().map_or(0, |&(number, _)| number.cast_unsigned());
        Ok(JobList { rows: rows.into_iter().filter_map(|(_, row)| row).collect(), last })
    }
}

/// A job; none if it is damaged.
fn read(row: &Row<'_>) -> Option<JobRow> {
    let job = JobRow {
        number: row.get::<i64>(0).ok()?.cast_unsigned(),
        kind: row.get(1).ok()?,
        subject: row.get(2).ok()?,
        author: row.get(3).ok()?,
        state: row.get(4).ok()?,
        created_s: row.get(5).ok()?,
        started_s: row.get(6).ok()?,
        ended_s: row.get(7).ok()?,
        outcome: row.get(8).ok()?,
        result: row.get(9).ok()?,
    };
    (row.get(10).ok() == Some(checksum(&job))).then_some(job)
}

fn checksum(row: &JobRow) -> i64 {
    let JobRow { number, kind, subject, author, state, created_s, .. } = row;
    let JobRow { started_s, ended_s, outcome, result, .. } = row;
    let number = number.cast_signed();
    seals::JOB
        .of(values![number, kind, subject, author, state, created_s, started_s, ended_s, outcome, result])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestDatabase, on_both_engines};

    on_both_engines! {
        jobs_are_kept_changed_and_forgotten,
    }

    fn row(number: u64, state: &str) -> JobRow {
        JobRow {
            number,
            kind: "backup".into(),
            subject: "/backups".into(),
            author: "admin.token".into(),
            state: state.into(),
            created_s: 1,
            started_s: None,
            ended_s: None,
            outcome: None,
            result: None,
        }
    }

    fn jobs_are_kept_changed_and_forgotten(database: &TestDatabase) {
        let store = database.open();
        assert_eq!(store.jobs().unwrap(), JobList::default());
        store.save_jobs(&[row(2, "queued"), row(1, "running")], &[]).unwrap();
        let done = JobRow {
            started_s: Some(2),
            ended_s: Some(-3),
            outcome: Some("3 files".into()),
            result: Some("{}".into()),
            ..row(1, "done")
        };
        store.save_jobs(std::slice::from_ref(&done), &[]).unwrap();
        let list = database.open().jobs().unwrap();
        assert_eq!(list, JobList { rows: vec![done, row(2, "queued")], last: 2 });
        store.save_jobs(&[], &[1, 7]).unwrap();
        assert_eq!(store.jobs().unwrap().rows, [row(2, "queued")]);
    }
}
