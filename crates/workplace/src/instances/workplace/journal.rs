//! The `journal` thread: persists changes of instances every second, and whole states on the registry's order.
//!
//! Worlds write their state into their [`JournalBuffer`]s after their steps; neither side waits for the other. Failed writes stay in memory
//! and are retried, ever less often.

use super::InstanceWorkplace;
use crate::ThreadError;
use crate::instances::report::JobReport;
use crate::journal_buffer::{Image, JournalBuffer, JournalProgress};
use host::registry::{JobOutcome, SUSPEND_BATCH_MAX};
use ids::{Instant, Uuid};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use store::State;
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use world::saved;

/// Period of the journal: with the step that noted a change, and the transaction, within a second of it.
pub const JOURNAL_PERIOD: Duration = Duration::from_millis(700);

/// Changes, by the number of instances.
static JOURNAL: Scope = Scope::new("instances.journal").arg(Arg::Count).limit_us(300_000);
/// Whole states, by their number.
static SAVE: Scope = Scope::new("instances.save").arg(Arg::Count).limit_us(1_000_000);

/// The thread.
pub(in crate::instances) struct Journal {
    thread: JoinHandle<()>,
    stop: SyncSender<()>,
}

/// Starts the thread.
pub(in crate::instances) fn write_journal(
    workplace: &Arc<InstanceWorkplace>,
    recorder: Recorder,
) -> Result<Journal, ThreadError> {
    let workplace = Arc::clone(workplace);
    let (stop, stopped) = sync_channel(0);
    let run = move || {
        recorder.thread("journal").install();
        workplace.write_until(&stopped);
        workplace.survives("journal", || workplace.write_changes());
    };
    let thread = std::thread::Builder::new().name("journal".into()).spawn(run);
    let thread = thread.map_err(|source| ThreadError { name: "journal", source })?;
    Ok(Journal { thread, stop })
}

impl Journal {
    /// Writes the changes, and ends the thread.
    pub(in crate::instances) fn stop(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the journal thread has panicked");
        }
    }
}

/// Work that one look has found.
#[derive(Debug, Default)]
struct Due {
    journals: Vec<JournalWrite>,
    images: Vec<DueImage>,
    /// Saves of worlds of which nothing more is kept.
    idle: Vec<JobReport>,
}

/// A whole state, and the report on its save: dropped before it is saved, by an error or a panic, it says that the save failed.
#[derive(Debug)]
struct DueImage {
    id: Uuid,
    image: Image,
    report: JobReport,
}

/// Change of an instance, taken out of its journal buffer. Dropped before it is persisted, by an error or a panic, it goes back.
#[derive(Debug)]
struct JournalWrite {
    id: Uuid,
    journal_buffer: Arc<JournalBuffer>,
    progress: JournalProgress,
    is_written: bool,
}

impl JournalWrite {
    fn take(id: Uuid, journal_buffer: &Arc<JournalBuffer>) -> Option<Self> {
        let progress = journal_buffer.take_progress()?;
        Some(Self { id, journal_buffer: Arc::clone(journal_buffer), progress, is_written: false })
    }
}

impl Drop for JournalWrite {
    fn drop(&mut self) {
        if self.is_written {
            self.journal_buffer.note_persisted();
        } else {
            self.journal_buffer.give_back(&self.progress);
        }
    }
}

impl InstanceWorkplace {
    fn write_until(&self, stopped: &Receiver<()>) {
        let mut next_at = (self.clock)() + JOURNAL_PERIOD;
        loop {
            match stopped.recv_timeout(next_at - (self.clock)()) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            next_at = (self.clock)() + JOURNAL_PERIOD;
            // After a panic it is tried again: without this thread nothing would be kept of anything.
            self.survives("journal", || self.write_once(next_at));
            frame_end();
        }
    }

    /// The journal first. Whole states wait for the next time when it is late.
    pub fn write_once(&self, until: Instant) {
        let Due { journals, images, idle } = self.look();
        idle.into_iter().for_each(|report| report.end(JobOutcome::StateSaved(Ok(()))));
        self.journal(journals);
        let mut images = images.into_iter().peekable();
        while images.peek().is_some() {
            let some: Vec<DueImage> = images.by_ref().take(SUSPEND_BATCH_MAX).collect();
            if (self.clock)() < until {
                self.save(some);
            }
        }
    }

    /// Persists the changes of all instances, also during a pause of writes: the journal's last act. Even an instance that cannot be suspended
    /// keeps this much.
    pub fn write_changes(&self) {
        self.journal(self.changes());
    }

    /// Changes of all instances.
    fn changes(&self) -> Vec<JournalWrite> {
        let catalog = self.catalog();
        catalog
            .stepped
            .values()
            .filter_map(|stepped| JournalWrite::take(stepped.id, &stepped.journal_buffer))
            .collect()
    }

    /// Data to be written. Empty while writes are pointless.
    fn look(&self) -> Due {
        let mut due = Due::default();
        if self.persistence.rests_until().is_some_and(|until| (self.clock)() < until) {
            return due;
        }
        for stepped in self.catalog().stepped.values_mut() {
            due.journals.extend(JournalWrite::take(stepped.id, &stepped.journal_buffer));
            if stepped.journal_buffer.is_closed() {
                due.idle.extend(stepped.saving.take());
            } else if let Some(image) = stepped.journal_buffer.take_image()
                && let Some(report) = stepped.saving.take()
            {
                due.images.push(DueImage { id: stepped.id, image, report });
            }
        }
        due
    }

    /// Persists the changes, in one transaction.
    fn journal(&self, mut changes: Vec<JournalWrite>) {
        let Some(changed_at) = changes.iter().map(|change| change.progress.changed_at).min() else {
            return;
        };
        let _scope = JOURNAL.enter(changes.len() as u64);
        let state = |JournalWrite { id, progress, .. }: &JournalWrite| State {
            id: *id,
            sequence: progress.sequence,
            bytes: saved::encode_journal(&progress.bytes),
        };
        let states: Vec<State> = changes.iter().map(state).collect();
        if self.persistence.journal(&states, changed_at).is_ok() {
            changes.iter_mut().for_each(|change| change.is_written = true);
        }
    }

    /// Writes down whole states, in one transaction, and reports it.
    fn save(&self, mut images: Vec<DueImage>) {
        let _scope = SAVE.enter(images.len() as u64);
        let state = |DueImage { id, image, .. }: &DueImage| State {
            id: *id,
            sequence: image.sequence,
            bytes: saved::encode_image(&image.checkpoint.encode()),
        };
        let states: Vec<State> = images.iter().map(state).collect();
        let outcome = match self.persistence.save(&states) {
            Ok(()) => JobOutcome::StateSaved(Ok(())),
            Err(_) => JobOutcome::StateSaved(Err(self.rests_until())),
        };
        images.iter_mut().for_each(|image| image.report.outcome = outcome.clone());
    }
}
