//! Reports by which jobs end.

use host::registry::{JobId, JobOutcome};
use std::fmt;
use std::sync::Arc;

/// Takes the outcomes of jobs, without waiting.
pub type JobReports = Arc<dyn Fn(JobId, JobOutcome) + Send + Sync>;

/// Report on the end of a job, sent when it is dropped. Until [`Self::end`] its outcome is that of a failure, so that an error or a panic
/// reports one.
pub(super) struct JobReport {
    job: JobId,
    pub(super) outcome: JobOutcome,
    reports: JobReports,
}

impl JobReport {
    pub(super) fn new(job: JobId, outcome: JobOutcome, reports: &JobReports) -> Self {
        Self { job, outcome, reports: Arc::clone(reports) }
    }

    /// Ends the job.
    pub(super) fn end(mut self, outcome: JobOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for JobReport {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, JobOutcome::VisitsNoted(false));
        (self.reports)(self.job, outcome);
    }
}

impl fmt::Debug for JobReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobReport")
            .field("job", &self.job)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}
