//! The `journal` thread: what has changed in instances is written down every second, whole states when the last visitor has left, and who
//! has been empty for long enough is parked.
//!
//! Worlds put what there is to write into their [`Ledger`]s behind their steps; nothing here waits for one, and none
//! waits for this. What cannot be written stays in memory and is tried again, ever less often.

use super::ledger::{Image, Ledger, Progress};
use super::park::{LastStates, PARKED_AT_ONCE, Patience};
use super::{Entry, Instances};
use crate::serve::ServeError;
use crate::serve::restarts::Down;
use ids::{Instant, Uuid, WorldId};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use store::State;
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use world::saved;

/// How often the journal is written: with the step that noted a change, and the transaction, within a second of it.
const PERIOD: Duration = Duration::from_millis(700);
/// Times that everything is saved again when the server stops and that fails.
const LAST_TRIES: u32 = 5;

/// What has changed, by the number of instances.
static JOURNAL: Scope = Scope::new("instances.journal").arg(Arg::Count).limit_us(300_000);
/// Whole states, likewise.
static SAVE: Scope = Scope::new("instances.save").arg(Arg::Count).limit_us(1_000_000);

pub(in crate::serve) struct Journal {
    /// How many instances could not be saved in the end.
    thread: JoinHandle<usize>,
    stop: SyncSender<Vec<Down>>,
}

/// Starts the thread.
pub(in crate::serve) fn write_journal(
    instances: &Arc<Instances>,
    recorder: Recorder,
) -> Result<Journal, ServeError> {
    let instances = Arc::clone(instances);
    let (stop, stopped) = sync_channel(1);
    let run = move || {
        recorder.thread("journal").install();
        let down = instances.write_until(&stopped);
        let saved = catch_unwind(AssertUnwindSafe(|| instances.save_at_last(down)));
        saved.unwrap_or_else(|_| instances.n_unsaved().max(1))
    };
    let thread = std::thread::Builder::new().name("journal".into()).spawn(run);
    let thread = thread.map_err(|source| ServeError::Thread { name: "journal", source })?;
    Ok(Journal { thread, stop })
}

impl Journal {
    /// Saves everything and ends the thread. Nobody is in any instance any more. `down` is what is left of worlds that have panicked.
    ///
    /// # Errors
    /// [`ServeError::NotSaved`].
    pub(in crate::serve) fn stop(self, down: Vec<Down>) -> Result<(), ServeError> {
        // Only fails when the thread is gone.
        let _ = self.stop.send(down);
        match self.thread.join().unwrap_or(1) {
            0 => Ok(()),
            n => Err(ServeError::NotSaved { n }),
        }
    }
}

/// What one look has found to be done.
#[derive(Debug, Default)]
struct Due {
    journals: Vec<Change>,
    images: Vec<(WorldId, Uuid, Image)>,
    parks: Vec<WorldId>,
}

/// What has changed in an instance, taken out of its ledger. Dropped before it is written down, by an error or a panic, it goes back.
#[derive(Debug)]
struct Change {
    id: Uuid,
    ledger: Arc<Ledger>,
    progress: Progress,
    is_written: bool,
}

impl Change {
    fn take(id: Uuid, ledger: &Arc<Ledger>) -> Option<Self> {
        let progress = ledger.take_progress()?;
        Some(Self { id, ledger: Arc::clone(ledger), progress, is_written: false })
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        if self.is_written {
            self.ledger.settle();
        } else {
            self.ledger.give_back(&self.progress);
        }
    }
}

impl Instances {
    fn write_until(&self, stopped: &Receiver<Vec<Down>>) -> Vec<Down> {
        let mut next_at = (self.clock)() + PERIOD;
        loop {
            match stopped.recv_timeout(next_at - (self.clock)()) {
                Ok(down) => return down,
                Err(RecvTimeoutError::Disconnected) => return Vec::new(),
                Err(RecvTimeoutError::Timeout) => {}
            }
            next_at = (self.clock)() + PERIOD;
            self.write_whatever_happens(next_at);
            frame_end();
        }
    }

    /// After a panic it is tried again: without this thread nothing would be kept of anything.
    pub(super) fn write_whatever_happens(&self, until: Instant) {
        if !self.survives("journal", || self.write_once(until)) {
            // What was asked for may have been lost on the way.
            self.table().for_each_active(|_, _, active| active.visits_asked = None);
        }
    }

    /// The journal first. Who can wait is left for the next time when it is late.
    pub(super) fn write_once(&self, until: Instant) {
        let Due { journals, images, parks } = self.look();
        self.journal(journals);
        let is_time = || (self.clock)() < until;
        for some in images.chunks(PARKED_AT_ONCE) {
            let is_saved = is_time() && self.save(some);
            self.settle(some, is_saved);
        }
        for some in parks.chunks(PARKED_AT_ONCE).take_while(|_| is_time()) {
            // What failed was told of, and rests.
            let _ = self.park_some(some, Patience::None);
        }
    }

    /// How many could not be saved.
    pub(super) fn save_at_last(&self, down: Vec<Down>) -> usize {
        // First, and in any case: who is down or cannot be taken out keeps this much.
        self.journal(self.changes());
        let mut last = LastStates::default();
        // One of which nothing can be made keeps none of those in the pool from being saved.
        self.survives("journal", || self.begin_again_at_last(down, &mut last));
        for _ in 0..LAST_TRIES {
            self.journal(self.changes());
            let (parked, kept) = (self.park_all(), self.save_last(&mut last));
            match parked.and(kept) {
                Ok(()) if self.n_unsaved() == 0 => return 0,
                Ok(()) => {}
                Err(why) => tracing::error!(%why, "instances are not saved yet"),
            }
            std::thread::park_timeout(PERIOD);
        }
        let n = self.n_unsaved();
        tracing::error!(
            n,
            "the server stops, and of some instances all that happened since they were last saved is lost"
        );
        n
    }

    /// Of those in memory, how many are not on the disk as they are. What has begun empty need not be.
    fn n_unsaved(&self) -> usize {
        let mut n = 0;
        self.table().for_each_active(|_, _, active| {
            let is_changed = active.is_changed() && !active.ledger.is_closed();
            n += usize::from(is_changed || active.ledger.has_news());
        });
        n
    }

    /// What has changed in all of them.
    fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        self.table().for_each_active(|_, id, active| changes.extend(Change::take(id, &active.ledger)));
        changes
    }

    /// What is to be written. Nothing while that is of no use.
    fn look(&self) -> Due {
        let now = (self.clock)();
        let mut due = Due::default();
        let is_resting = self.depot.rests_until().is_some_and(|until| now < until);
        let census = self.census();
        let mut table = self.table();
        table.for_each_active(|world, id, active| {
            let is_empty = !census.is_occupied(world, active);
            if !is_empty {
                active.empty_since = None;
            }
            if is_resting {
                return;
            }
            due.journals.extend(Change::take(id, &active.ledger));
            if let Some(image) = active.ledger.take_image() {
                due.images.push((world, id, image));
            }
            if !is_empty || now < active.rests_until {
                return;
            }
            let since = *active.empty_since.get_or_insert(now);
            if now - since >= self.park_after {
                due.parks.push(world);
            } else if active.is_changed() && active.visits_asked.is_none() {
                active.visits_asked = Some(active.visits);
                active.ledger.ask_for_image();
                // It may be asleep.
                if let Some(inbox) = self.inboxes.of(world) {
                    inbox.waker.wake();
                }
            }
        });
        let (n, n_in_memory) = table.counts();
        self.depot.tell_parked(n - n_in_memory);
        due
    }

    /// Writes down what has changed, in one transaction.
    fn journal(&self, mut changes: Vec<Change>) {
        let Some(changed_at) = changes.iter().map(|change| change.progress.changed_at).min() else {
            return;
        };
        let _scope = JOURNAL.enter(changes.len() as u64);
        let state = |Change { id, progress, .. }: &Change| State {
            id: *id,
            sequence: progress.sequence,
            bytes: saved::encode_journal(&progress.bytes),
        };
        let states: Vec<State> = changes.iter().map(state).collect();
        if self.depot.journal(&states, changed_at).is_ok() {
            changes.iter_mut().for_each(|change| change.is_written = true);
        }
    }

    /// Writes down whole states that were asked for, in one transaction; false when that fails.
    fn save(&self, images: &[(WorldId, Uuid, Image)]) -> bool {
        let _scope = SAVE.enter(images.len() as u64);
        let state = |(_, id, image): &(WorldId, Uuid, Image)| State {
            id: *id,
            sequence: image.sequence,
            bytes: saved::encode_image(&image.checkpoint.encode()),
        };
        let states: Vec<State> = images.iter().map(state).collect();
        self.depot.save(&states).is_ok()
    }

    /// What was asked for has come, and is saved now, or has to be asked for again.
    fn settle(&self, images: &[(WorldId, Uuid, Image)], is_saved: bool) {
        let mut table = self.table();
        for (world, ..) in images {
            let Some(active) = table.entry_mut(*world).and_then(Entry::active_mut) else { continue };
            let asked = active.visits_asked.take();
            if is_saved {
                active.visits_saved = asked.unwrap_or(active.visits_saved);
            }
        }
    }
}
