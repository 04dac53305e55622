//! State that an instance's world leaves to be persisted: between two steps, copied out and no more.
//!
//! A [`JournalBuffer`] is shared by the [`Stepper`](crate::worlds::Stepper), which writes, and the `journal` thread, which reads. Each value
//! replaces the former one, so there is at most one of each; and each has a sequence number of the node, by which the store orders
//! them.

use crate::lock_order::JOURNAL_BUFFER;
use ids::Instant;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use telemetry::Held;
use world::{Beginning, Checkpoint, Life, World};

/// One instance's.
#[derive(Debug)]
pub struct JournalBuffer {
    /// Of the node.
    sequences: Arc<AtomicU64>,
    progress: Mutex<JournalProgress>,
    /// [`World::progress_version`] of the last value.
    version: AtomicU64,
    wants_image: AtomicBool,
    image: Mutex<Option<Image>>,
    /// The world has lost its state: its new state must not replace the stored one.
    is_closed: AtomicBool,
    /// [`NpcCast::fingerprint`](world::NpcCast::fingerprint) of the template's cast that the world has given up after panics.
    reverted_from: Mutex<Option<u64>>,
}

/// Progress to be persisted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JournalProgress {
    pub(super) sequence: u64,
    /// Time of its first difference from the stored progress.
    pub(super) changed_at: Instant,
    pub(super) bytes: Vec<u8>,
    is_new: bool,
    /// A reader has taken it, without reporting the outcome yet.
    is_taken: bool,
}

/// The whole state.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) sequence: u64,
    pub(super) checkpoint: Checkpoint,
}

impl JournalBuffer {
    /// For a world that is not stepped yet. It counts sequence numbers up.
    pub(super) fn new(sequences: &Arc<AtomicU64>) -> Self {
        Self {
            sequences: Arc::clone(sequences),
            progress: Mutex::default(),
            version: AtomicU64::new(0),
            wants_image: AtomicBool::new(false),
            image: Mutex::default(),
            is_closed: AtomicBool::new(false),
            reverted_from: Mutex::default(),
        }
    }

    /// Takes the world's progress as written down, or as noted already: of a new world, or of one that was copied into another memory, where
    /// it counts changes from 0.
    pub fn begin(&self, world: &World) {
        let mut progress = lock(&self.progress);
        progress.bytes.clear();
        world.progress(&mut progress.bytes);
        drop(progress);
        self.version.store(world.progress_version(), Ordering::Relaxed);
    }

    /// After a step: copies out changed progress, and the whole state if requested.
    pub fn note(&self, now: Instant, world: &World) {
        if self.is_closed() {
            return;
        }
        let version = world.progress_version();
        if version != self.version.load(Ordering::Relaxed) {
            self.version.store(version, Ordering::Relaxed);
            self.note_progress(now, |bytes| world.progress(bytes));
        }
        if self.wants_image() {
            let sequence = self.next_sequence();
            *lock(&self.image) = Some(Image { sequence, checkpoint: world.checkpoint() });
            self.wants_image.store(false, Ordering::Release);
        }
    }

    fn note_progress(&self, now: Instant, write: impl FnOnce(&mut Vec<u8>)) {
        let mut progress = lock(&self.progress);
        progress.sequence = self.next_sequence();
        if !std::mem::replace(&mut progress.is_new, true) {
            progress.changed_at = now;
        }
        progress.bytes.clear();
        write(&mut progress.bytes);
    }

    /// True if a step is needed to copy out the whole state.
    pub fn wants_image(&self) -> bool {
        self.wants_image.load(Ordering::Acquire) && !self.is_closed()
    }

    /// Begins the next life of its world, and continues with the journalled progress: the checkpoint is some seconds old, and progress must not
    /// get lost. An empty world goes without, since the progress may be the cause of the panics, and is not saved any more. `world` is its name in
    /// the log. Returns the former world as [`Life::begin_again`] does.
    pub fn begin_again(&self, life: &mut Life, in_a_row: u32, world: &str) -> (Beginning, World) {
        let tried = life.config().cast.as_ref().map(|cast| cast.fingerprint());
        let (beginning, remains) = life.begin_again(in_a_row);
        if beginning == Beginning::Empty && !self.is_closed() {
            self.close();
            tracing::error!(world, "a world has begun empty: nothing more of it is saved");
        }
        if beginning == Beginning::Former {
            self.set_reverted_from(tried);
            tracing::error!(
                world,
                "a world panics with what its template's files say now: it has gone back to what they said before"
            );
        }
        if !self.is_closed()
            && let Err(error) = life.take_up_progress(&self.last_progress())
        {
            tracing::error!(world, %error, "a world restarts without its journal");
        }
        (beginning, remains)
    }

    /// Accepts nothing more, since the world has restarted empty. Earlier values can still be taken.
    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// True if it accepts nothing.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Records whether the world has gone back to its former cast, with the fingerprint of the one that it gave up.
    pub(crate) fn set_reverted_from(&self, fingerprint: Option<u64>) {
        *lock(&self.reverted_from) = fingerprint;
    }

    /// The last record of it.
    pub(super) fn reverted_from(&self) -> Option<u64> {
        *lock(&self.reverted_from)
    }

    /// Asks for the whole state behind the next step.
    pub(super) fn ask_for_image(&self) {
        self.wants_image.store(true, Ordering::Release);
    }

    /// The requested state, once.
    pub(super) fn take_image(&self) -> Option<Image> {
        lock(&self.image).take()
    }

    /// The latest progress: a world that restarts from an earlier state continues with it.
    fn last_progress(&self) -> Vec<u8> {
        lock(&self.progress).bytes.clone()
    }

    /// Changes since the last call. [`Self::note_persisted`] or [`Self::give_back`] must follow.
    pub(super) fn take_progress(&self) -> Option<JournalProgress> {
        let mut progress = lock(&self.progress);
        if !std::mem::take(&mut progress.is_new) {
            return None;
        }
        progress.is_taken = true;
        Some(progress.clone())
    }

    /// True if a change is not known to be persisted.
    pub fn has_news(&self) -> bool {
        let progress = lock(&self.progress);
        progress.is_new || progress.is_taken
    }

    /// The taken progress is persisted.
    pub(super) fn note_persisted(&self) {
        lock(&self.progress).is_taken = false;
    }

    /// The taken progress could not be persisted.
    pub(super) fn give_back(&self, taken: &JournalProgress) {
        let mut progress = lock(&self.progress);
        progress.is_new = true;
        progress.is_taken = false;
        progress.changed_at = taken.changed_at;
    }

    /// A number that is higher than all before.
    pub(super) fn next_sequence(&self) -> u64 {
        self.sequences.fetch_add(1, Ordering::Relaxed) + 1
    }
}

fn lock<T>(mutex: &Mutex<T>) -> Held<MutexGuard<'_, T>> {
    JOURNAL_BUFFER.hold(|| mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal_buffer() -> JournalBuffer {
        JournalBuffer::new(&Arc::new(AtomicU64::new(10)))
    }

    fn change(journal_buffer: &JournalBuffer, ms: u64, text: &str) {
        journal_buffer.note_progress(Instant::from_millis(ms), |bytes| bytes.extend(text.bytes()));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "a journal buffer is locked by a thread that holds a journal buffer")]
    fn one_value_of_a_journal_buffer_is_locked_at_a_time() {
        let journal_buffer = journal_buffer();
        let _progress = lock(&journal_buffer.progress);
        let _ = journal_buffer.take_image();
    }

    #[test]
    fn the_last_change_is_taken_once_with_the_time_of_the_first() {
        let journal_buffer = journal_buffer();
        assert_eq!(journal_buffer.take_progress(), None);
        change(&journal_buffer, 5, "one blow");
        change(&journal_buffer, 7, "two");
        let taken = journal_buffer.take_progress().expect("it has changed");
        assert_eq!(
            (taken.sequence, taken.changed_at, &*taken.bytes),
            (12, Instant::from_millis(5), &b"two"[..])
        );
        assert_eq!(journal_buffer.take_progress(), None);
        assert!(journal_buffer.has_news(), "it may still come back");
        journal_buffer.note_persisted();
        assert!(!journal_buffer.has_news());
        change(&journal_buffer, 9, "three");
        assert_eq!(
            journal_buffer.take_progress().map(|taken| taken.changed_at),
            Some(Instant::from_millis(9))
        );
    }

    #[test]
    fn unwritten_progress_is_taken_again_unless_it_is_out_of_date() {
        let journal_buffer = journal_buffer();
        change(&journal_buffer, 5, "one blow");
        let taken = journal_buffer.take_progress().expect("it has changed");
        journal_buffer.give_back(&taken);
        assert_eq!(journal_buffer.take_progress().as_ref().map(|again| &again.bytes), Some(&taken.bytes));
        journal_buffer.give_back(&taken);
        change(&journal_buffer, 8, "two");
        let later = journal_buffer.take_progress().expect("it has changed");
        assert_eq!(
            (later.changed_at, &*later.bytes),
            (taken.changed_at, &b"two"[..]),
            "it still waits since then"
        );
    }
}
