//! Jobs of the operator over the operator's address: `/v1/jobs`, `/v1/backups`, `/v1/rehearsals`, `/v1/verify`, with tokens of the scope `backup`; and the schedule
//! of backups.
//!
//! ```text
//! http ─► JobDesk ─► thread jobs: Jobs, rows, schedule ─► threads job, archive: the work of one job ─► its end ─► jobs
//!            ▲            │ published list
//!            └────────────┘
//! ```
//!
//! The `jobs` thread owns the state machine and its rows; it waits for the database only. The threads `job` and `archive` have the niceness of long tasks
//! and are none of theirs: a backup may take an hour at its pace, and worlds are built and archives loaded meanwhile.

mod api;
mod desk;
mod orders;
mod paced_driver;
mod replies;
mod status;
mod stored_data;
mod thread;
mod worker;

pub(super) use api::{JobQuery, router};
pub(super) use desk::JobDesk;
pub(super) use orders::{JobOrder, JobWork};
pub(crate) use paced_driver::{EndRequest, PacedDriver, WorkClock};
pub(super) use replies::{JobApiRefusal, JobReply};
pub(super) use status::BackupStatus;
pub(crate) use stored_data::StoredData;
pub(super) use thread::{JobThreadsConfig, start};
