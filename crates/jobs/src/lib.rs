//! Jobs: orders of the operator that take longer than a request, such as a backup. Each has a number, a progress and an outcome.
//!
//! [`Jobs`] is a sans-IO core: orders, progress and ends go in with the time, records to keep come out. It owns no thread, no clock and no
//! database. Its driver keeps each [`JobRecord`] before it acknowledges the order that caused it, so that numbers and outcomes survive a restart.
//!
//! | call | effect |
//! |---|---|
//! | [`Jobs::resume`] | the jobs of an earlier process; those that had not ended have failed |
//! | [`Jobs::submit`] | a job waits, or is refused |
//! | [`Jobs::start_next`] | the job that has waited longest begins, if none of its group runs |
//! | [`Jobs::record_progress`], [`Jobs::finish`] | progress and end of a job that runs |
//! | [`Jobs::cancel`] | a waiting job ends at once; a running one is asked to |
//! | [`Jobs::poll_record`] | after every call, until `None`: what the driver has to keep |
//!
//! Bounds: [`WAITING_MAX`] jobs wait, another one is refused; [`ENDED_MAX`] ended ones are kept, the oldest are forgotten.

mod entry;
mod queue;

pub use entry::{JobEntry, JobGroup, JobKind, JobNumber, JobProgress, JobState, UnknownWord};
pub use queue::{CancelReply, ENDED_MAX, JobEnd, JobRecord, JobRefusal, Jobs, WAITING_MAX};
