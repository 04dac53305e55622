//! Model of the store: rows and states of instances, durable when a write returns. It survives a kill, and knows the truth: the states that
//! were acknowledged, as worlds that stay have them.

use super::InstanceSabotage;
use host::registry::InstanceRow;
use ids::{Instant, Uuid};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{InstanceState, State};
use workplace::Clock;
use workplace::instances::{InstancePersistence, InstanceStoreError, WritePause};
use world::{Life, World, saved};

/// A state on its way from a world to the store.
pub(super) struct Capture {
    /// Visits of the world until then.
    pub(super) visits: u64,
    /// Snapshot of the world that stays.
    pub(super) truth: Vec<u8>,
    /// Snapshot before the last step, in its place if a test wants that.
    pub(super) stale: Option<Vec<u8>>,
}

/// States of one instance that were acknowledged.
#[derive(Default)]
struct Acknowledged {
    image: Option<State>,
    journal: Option<State>,
}

#[derive(Default)]
struct Stored {
    rows: BTreeMap<Uuid, InstanceRow>,
    images: BTreeMap<Uuid, State>,
    journals: BTreeMap<Uuid, State>,
    /// Visits that the saved image contains.
    visits: BTreeMap<Uuid, u64>,
    truth: BTreeMap<Uuid, Acknowledged>,
    /// By instance and sequence number.
    captures: BTreeMap<(Uuid, u64), Capture>,
    refuses: bool,
    pause: WritePause,
    n_journalled: u64,
}

/// See the module.
pub(super) struct StoreModel {
    stored: Mutex<Stored>,
    sequences: Arc<AtomicU64>,
    clock: Clock,
    sabotage: Option<InstanceSabotage>,
}

impl StoreModel {
    pub(super) fn new(clock: Clock, sabotage: Option<InstanceSabotage>) -> Self {
        Self { stored: Mutex::default(), sequences: Arc::default(), clock, sabotage }
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes it refuse writes, as with a full disk, or accept them again.
    pub(super) fn refuse(&self, refuses: bool) {
        self.stored().refuses = refuses;
    }

    /// True if the next write succeeds and no pause delays it.
    pub(super) fn is_writable(&self) -> bool {
        let stored = self.stored();
        !stored.refuses && stored.pause.until().is_none()
    }

    pub(super) fn rows(&self) -> BTreeMap<Uuid, InstanceRow> {
        self.stored().rows.clone()
    }

    pub(super) fn has_row(&self, id: Uuid) -> bool {
        self.stored().rows.contains_key(&id)
    }

    /// Visits that the saved states contain.
    pub(super) fn visits(&self) -> BTreeMap<Uuid, u64> {
        self.stored().visits.clone()
    }

    /// Changes of progress that were acknowledged.
    pub(super) fn n_journalled(&self) -> u64 {
        self.stored().n_journalled
    }

    /// A state with this number was copied out of a world.
    pub(super) fn note_capture(&self, id: Uuid, sequence: u64, capture: Capture) {
        self.stored().captures.insert((id, sequence), capture);
    }

    /// Checks that a world begins as the acknowledged image and journal have it. Returns the world of those.
    pub(super) fn assert_begins_as_saved(&self, id: Uuid, life: &Life) -> World {
        let stored = self.stored();
        let truth = stored.truth.get(&id);
        let image = truth.and_then(|truth| truth.image.as_ref());
        let journal = truth.and_then(|truth| truth.journal.as_ref());
        let expected = saved::restore(life.config().clone(), image.map(|image| &*image.bytes));
        let mut expected = expected.expect("a host reads what a host has saved");
        if let Some(journal) = journal {
            let is_applied = saved::apply_journal(&mut expected, &journal.bytes);
            assert!(is_applied.expect("a host reads what a host has journalled"), "missions do not change");
        }
        let is_equal = expected.snapshot() == life.world().snapshot();
        assert!(is_equal, "{id} begins without progress that was acknowledged");
        expected
    }

    fn is_sabotaged(&self, sabotage: InstanceSabotage) -> bool {
        self.sabotage == Some(sabotage)
    }

    /// A write of rows begins. Success ends the pause of all writes.
    fn begin(stored: &mut Stored) -> Result<(), InstanceStoreError> {
        if stored.refuses {
            return Err(InstanceStoreError::Ordered);
        }
        stored.pause.note_success();
        Ok(())
    }

    /// As [`Self::begin`], of a write of states, which pauses after a failure.
    fn begin_states(&self, stored: &mut Stored) -> Result<(), InstanceStoreError> {
        Self::begin(stored).inspect_err(|why| stored.pause.note_failure((self.clock)(), &why.to_string()))
    }
}

/// True if a state is later than a kept one.
fn is_later(state: &State, kept: Option<&State>) -> bool {
    kept.is_none_or(|kept| kept.sequence < state.sequence)
}

impl InstancePersistence for StoreModel {
    fn sequences(&self) -> &Arc<AtomicU64> {
        &self.sequences
    }

    fn create(&self, row: InstanceRow) -> Result<(), InstanceStoreError> {
        let stored = &mut *self.stored();
        Self::begin(stored)?;
        if !self.is_sabotaged(InstanceSabotage::LostRow) {
            let owner = row.owner.filter(|_| !self.is_sabotaged(InstanceSabotage::LostOwner));
            stored.rows.insert(row.id, InstanceRow { owner, ..row });
        }
        Ok(())
    }

    fn remove(&self, id: Uuid) -> Result<(), InstanceStoreError> {
        let stored = &mut *self.stored();
        Self::begin(stored)?;
        stored.rows.remove(&id);
        stored.images.remove(&id);
        stored.journals.remove(&id);
        stored.visits.remove(&id);
        stored.truth.remove(&id);
        Ok(())
    }

    fn note_visits(&self, visits: &[(Uuid, i64)]) -> Result<(), InstanceStoreError> {
        let stored = &mut *self.stored();
        Self::begin(stored)?;
        for (id, visited_s) in visits {
            if let Some(row) = stored.rows.get_mut(id) {
                row.visited_s = row.visited_s.max(Some(*visited_s));
            }
        }
        Ok(())
    }

    fn read(&self, id: Uuid) -> Result<InstanceState, InstanceStoreError> {
        let stored = self.stored();
        if stored.refuses {
            return Err(InstanceStoreError::Ordered);
        }
        let image = stored.images.get(&id).cloned();
        let truth = stored.truth.get(&id).and_then(|truth| truth.image.as_ref());
        let is_true = image.as_ref().map(|image| &image.bytes) == truth.map(|truth| &truth.bytes);
        assert!(is_true, "the saved state of {id} is not that of a world that stays");
        let journal = stored.journals.get(&id).cloned();
        Ok(InstanceState { image, journal, damages: Vec::new() })
    }

    fn save(&self, images: &[State]) -> Result<(), InstanceStoreError> {
        let stored = &mut *self.stored();
        self.begin_states(stored)?;
        for image in images {
            let State { id, sequence, .. } = *image;
            let capture = stored.captures.remove(&(id, sequence)).expect("a saved state comes from a world");
            let truth = stored.truth.entry(id).or_default();
            if !stored.rows.contains_key(&id) || !is_later(image, truth.image.as_ref()) {
                continue;
            }
            truth.image = Some(State { id, sequence, bytes: saved::encode_image(&capture.truth) });
            truth.journal.take_if(|journal| journal.sequence <= sequence);
            if self.is_sabotaged(InstanceSabotage::LostState) {
                continue;
            }
            let bytes =
                capture.stale.map_or_else(|| image.bytes.clone(), |stale| saved::encode_image(&stale));
            stored.images.insert(id, State { id, sequence, bytes });
            stored.visits.insert(id, capture.visits);
            stored.captures.retain(|&(known, number), _| known != id || number > sequence);
            if stored.journals.get(&id).is_some_and(|journal| journal.sequence <= sequence) {
                stored.journals.remove(&id);
            }
        }
        Ok(())
    }

    fn journal(&self, journals: &[State], _: Instant) -> Result<(), InstanceStoreError> {
        let stored = &mut *self.stored();
        self.begin_states(stored)?;
        for journal in journals.iter().filter(|journal| stored.rows.contains_key(&journal.id)) {
            let truth = stored.truth.entry(journal.id).or_default();
            if !is_later(journal, truth.journal.as_ref()) || !is_later(journal, truth.image.as_ref()) {
                continue;
            }
            truth.journal = Some(journal.clone());
            stored.n_journalled += 1;
            if !self.is_sabotaged(InstanceSabotage::LostJournal) {
                stored.journals.insert(journal.id, journal.clone());
            }
        }
        Ok(())
    }

    fn note_damage(&self) {
        panic!("a state that was written makes no world");
    }

    fn rests_until(&self) -> Option<Instant> {
        self.stored().pause.until()
    }
}
