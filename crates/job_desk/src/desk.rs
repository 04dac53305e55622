//! The side of the handlers: orders to the `jobs` thread, and the list that it publishes.

use super::orders::JobOrder;
use super::status::BackupStatus;
use crossbeam_channel::Sender;
use jobs::{CancelReply, JobEnd, JobEntry, JobNumber, JobRefusal};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Orders that wait; another one is refused.
pub(super) const MAIL_MAX: usize = 64;

/// Time for the `jobs` thread to answer: it waits for the database.
const PATIENCE: Duration = Duration::from_secs(20);

/// Jobs as they were published last, the newest first.
pub type PublishedJobs = Arc<[JobEntry]>;

/// Refusal of an order over the API.
#[derive(Debug)]
pub enum DeskRefusal {
    /// By the state machine.
    Refused(JobRefusal),
    /// The database does not keep it, the queue is full, or the server ends.
    Unavailable(String),
}

/// Mail for the `jobs` thread.
pub(super) enum DeskMail {
    Submit { order: JobOrder, author: String, reply: oneshot::Sender<Result<JobNumber, DeskRefusal>> },
    Cancel { number: JobNumber, reply: oneshot::Sender<CancelReply> },
    Ended { number: JobNumber, end: JobEnd },
    Stop,
}

/// Takes orders of handlers.
#[derive(Clone, Debug)]
pub struct JobDesk {
    pub(super) mail: Sender<DeskMail>,
    pub(super) list: watch::Receiver<PublishedJobs>,
    pub(super) status: Arc<BackupStatus>,
}

impl JobDesk {
    /// Orders a job.
    ///
    /// # Errors
    /// [`DeskRefusal`].
    pub async fn submit(&self, order: JobOrder, author: &str) -> Result<JobEntry, DeskRefusal> {
        let (reply, answer) = oneshot::channel();
        let mail = DeskMail::Submit { order, author: author.to_owned(), reply };
        let number = self.ask(mail, answer).await??;
        self.job(number).ok_or_else(|| DeskRefusal::Unavailable("The job is not known any more.".into()))
    }

    /// Cancels a job.
    ///
    /// # Errors
    /// [`DeskRefusal::Unavailable`].
    pub async fn cancel(&self, number: JobNumber) -> Result<CancelReply, DeskRefusal> {
        let (reply, answer) = oneshot::channel();
        self.ask(DeskMail::Cancel { number, reply }, answer).await
    }

    async fn ask<T>(&self, mail: DeskMail, answer: oneshot::Receiver<T>) -> Result<T, DeskRefusal> {
        let unavailable = |why: &str| DeskRefusal::Unavailable(why.to_owned());
        self.mail.try_send(mail).map_err(|_| unavailable("Too many orders wait, or the server ends."))?;
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(unavailable("The server is about to stop.")),
            Err(_) => Err(unavailable("The database has not answered in time; the job may have begun.")),
        }
    }

    /// All jobs, the newest first.
    #[must_use]
    pub fn jobs(&self) -> PublishedJobs {
        Arc::clone(&self.list.borrow())
    }

    /// A job as it was published last.
    #[must_use]
    pub fn job(&self, number: JobNumber) -> Option<JobEntry> {
        self.list.borrow().iter().find(|job| job.number == number).cloned()
    }

    /// A job once it has ended, or as it is after this time.
    pub async fn wait(&self, number: JobNumber, time: Duration) -> Option<JobEntry> {
        let mut list = self.list.clone();
        let has_ended = |jobs: &PublishedJobs| {
            jobs.iter().find(|job| job.number == number).is_none_or(|job| job.state.is_end())
        };
        // Ends early with the server.
        let _ = tokio::time::timeout(time, list.wait_for(has_ended)).await;
        self.job(number)
    }
}
