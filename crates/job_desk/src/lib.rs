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
//!
//! The executable states what is to be backed up ([`DataSource`]); other drivers hand in work of theirs as a [`JobWork`]. Start with [`start`] and [`router`].

mod api;
mod desk;
mod orders;
mod paced_driver;
mod replies;
mod status;
mod stored_data;
mod thread;
mod worker;

pub use api::{JobQuery, router};
pub use desk::{DeskRefusal, JobDesk, PublishedJobs};
pub use orders::{BackupSettings, JobOrder, JobWork};
pub use paced_driver::{EndRequest, PacedDriver, WorkClock};
pub use replies::{JobApiRefusal, JobReply};
pub use status::BackupStatus;
pub use stored_data::{DataSource, StoredData};
pub use thread::{JobThreads, JobThreadsConfig, JobThreadsError, start};
