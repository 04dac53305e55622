//! Random frames, failures and crashes: the stored region is always the one of the frame of its last save.

use super::*;
use crate::tracked::is_kept;
use proptest::prelude::*;

type Prims = BTreeMap<LocalId, (PrimMotion, VersionedBody)>;

#[derive(Clone, Debug)]
enum Deed {
    Build {
        is_temporary: bool,
        reuses_id: bool,
    },
    Remove(usize),
    Edit(usize, u8),
    Move(usize, i8, bool),
    Link(usize, usize),
    SetTemporary(usize),
    /// The changes since the last frame go out: one by one, or as whole pages.
    Frame {
        as_pages: bool,
    },
    /// A frame does not arrive.
    Lose,
    /// The world restarts from an earlier state.
    Epoch(usize),
    Pass(u64),
    Save,
    /// The store saves a batch under way, or does not; and answers or does not.
    Outcome {
        is_saved: bool,
        is_answered: bool,
    },
    /// Server and world begin again from the store.
    Crash,
    Order,
}

fn deed() -> impl Strategy<Value = Deed> {
    let which = 0..30_usize;
    prop_oneof![
        8 => (prop::bool::weighted(0.2), any::<bool>()).prop_map(|(is_temporary, reuses_id)| Deed::Build { is_temporary, reuses_id }),
        3 => which.clone().prop_map(Deed::Remove),
        6 => (which.clone(), 0..4_u8).prop_map(|(n, field)| Deed::Edit(n, field)),
        8 => (which.clone(), any::<i8>(), any::<bool>()).prop_map(|(n, x, is_moving)| Deed::Move(n, x, is_moving)),
        4 => (which.clone(), which.clone()).prop_map(|(a, b)| Deed::Link(a, b)),
        1 => which.clone().prop_map(Deed::SetTemporary),
        12 => prop::bool::weighted(0.2).prop_map(|as_pages| Deed::Frame { as_pages }),
        1 => Just(Deed::Lose),
        1 => (0..6_usize).prop_map(Deed::Epoch),
        8 => (0..3_000_u64).prop_map(Deed::Pass),
        8 => Just(Deed::Save),
        8 => (prop::bool::weighted(0.7), prop::bool::weighted(0.8))
            .prop_map(|(is_saved, is_answered)| Deed::Outcome { is_saved, is_answered }),
        2 => Just(Deed::Crash),
        1 => Just(Deed::Order),
    ]
}

/// A world, its server and its store.
struct Model {
    store: Store,
    keeper: Keeper,
    /// The objects that the store must have.
    stored: Prims,
    under_way: Option<Batch>,
    now: Instant,
    prims: Prims,
    changes: Vec<ObjectChange>,
    epoch: u32,
    sequence: u64,
    asks_for_snapshot: bool,
    /// State after each frame of this life.
    history: BTreeMap<(Epoch, u64), Prims>,
    next: u32,
    n_made: u128,
}

impl Model {
    fn new() -> Self {
        let store = Store::open_in_memory().expect("memory");
        Self {
            keeper: empty(),
            store,
            stored: Prims::new(),
            under_way: None,
            now: ms(1_000),
            prims: Prims::new(),
            changes: Vec::new(),
            epoch: 0,
            sequence: 0,
            asks_for_snapshot: false,
            history: BTreeMap::new(),
            next: 0,
            n_made: 0,
        }
    }

    fn do_deed(&mut self, deed: Deed) {
        match deed {
            Deed::Build { is_temporary, reuses_id } => self.build(is_temporary, reuses_id),
            Deed::Remove(n) => {
                if let Some(id) = self.nth(n) {
                    let whole: Vec<LocalId> = self.parts(id).chain([id]).collect();
                    self.renumber_without(id);
                    whole.into_iter().for_each(|id| self.take_out(id));
                }
            }
            Deed::Edit(n, field) => {
                if let Some(id) = self.nth(n) {
                    self.edit(id, field);
                }
            }
            Deed::Move(n, x, is_moving) => {
                if let Some(id) = self.nth(n) {
                    let place = self.prims.get_mut(&id).expect("there");
                    let to = if is_moving { moving(x.into()) } else { at(x.into()) };
                    place.0.motion = to.motion;
                    self.changes.push(ObjectChange::Moved(id, place.0));
                }
            }
            Deed::Link(root, part) => self.link(root, part),
            Deed::SetTemporary(n) => {
                if let Some(id) = self.nth(n).filter(|id| self.is_alone(*id)) {
                    self.prims.get_mut(&id).expect("there").0.flags.0 ^= PrimFlags::TEMPORARY.0;
                    self.note(id);
                }
            }
            Deed::Frame { as_pages } => self.frame(as_pages),
            Deed::Lose => {
                self.changes.clear();
                self.history.insert((Epoch(self.epoch), self.sequence), self.prims.clone());
                self.sequence += 1;
            }
            Deed::Epoch(back) => {
                let former = self.history.values().rev().nth(back).cloned().unwrap_or_default();
                // A world without any object would not be followed.
                if kept_of(&former).next().is_some() {
                    self.prims = former;
                    self.changes.clear();
                    (self.epoch, self.sequence, self.asks_for_snapshot) = (self.epoch + 1, 0, true);
                }
            }
            Deed::Pass(passed) => self.now += Duration::from_millis(passed),
            Deed::Save => self.save(),
            Deed::Outcome { is_saved, is_answered } => self.end_batch(is_saved, is_answered),
            Deed::Crash => self.crash(),
            Deed::Order => self.keeper.order_save(),
        }
    }

    fn nth(&self, n: usize) -> Option<LocalId> {
        self.prims.keys().nth(n % self.prims.len().max(1)).copied()
    }

    fn parts(&self, root: LocalId) -> impl Iterator<Item = LocalId> {
        self.prims.iter().filter(move |(_, (place, _))| place.parent == root).map(|(id, _)| *id)
    }

    fn is_alone(&self, id: LocalId) -> bool {
        let place = self.prims[&id].0;
        IDS.kept.contains(&id.0) && place.parent == LocalId(0) && self.parts(id).next().is_none()
    }

    /// Reports a prim as it is.
    fn note(&mut self, id: LocalId) {
        let (place, versioned) = self.prims.get_mut(&id).expect("there");
        versioned.version += 1;
        self.changes.push(set(id, *place, versioned.clone()));
    }

    fn build(&mut self, is_temporary: bool, reuses_id: bool) {
        let id = if is_temporary { temporary } else { kept };
        let lowest = (0..).map(id).find(|id| !self.prims.contains_key(id)).expect("endless");
        self.next += 1;
        let id = if reuses_id { lowest } else { id(100 + self.next) };
        self.n_made += 1;
        let flags = if is_temporary { PrimFlags::TEMPORARY } else { PrimFlags::default() };
        self.prims.insert(id, (PrimMotion { flags, ..at(1.0) }, body(self.n_made)));
        self.note(id);
    }

    fn take_out(&mut self, id: LocalId) {
        self.prims.remove(&id);
        self.changes.push(ObjectChange::Removed(id));
    }

    /// Closes the gap that a part leaves.
    fn renumber_without(&mut self, id: LocalId) {
        let place = self.prims[&id].0;
        let behind: Vec<LocalId> = self
            .prims
            .iter()
            .filter(|(_, (other, _))| {
                place.parent != LocalId(0)
                    && other.parent == place.parent
                    && other.link_number > place.link_number
            })
            .map(|(id, _)| *id)
            .collect();
        for id in behind {
            self.prims.get_mut(&id).expect("there").0.link_number -= 1;
            self.note(id);
        }
    }

    fn edit(&mut self, id: LocalId, field: u8) {
        let body = Arc::make_mut(&mut self.prims.get_mut(&id).expect("there").1.body);
        match field {
            0 => body.click_action ^= 1,
            1 => {
                body.texture_entry =
                    if body.texture_entry.is_empty() { vec![1_u8; 40].into() } else { Arc::default() }
            }
            2 => {
                body.hover_text.text =
                    if body.hover_text.text.is_empty() { "text".into() } else { Arc::default() }
            }
            _ => {}
        }
        self.note(id);
    }

    fn link(&mut self, root: usize, part: usize) {
        let Some((root, part)) = self.nth(root).zip(self.nth(part)) else { return };
        let is_root = |id: LocalId| {
            self.prims[&id].0.parent == LocalId(0)
                && IDS.kept.contains(&id.0)
                && is_kept(&IDS, id, &self.prims[&id].0)
        };
        if root == part || !is_root(root) || !is_root(part) || !self.is_alone(part) {
            return;
        }
        let number = self.parts(root).count() as u8 + 1;
        let place = &mut self.prims.get_mut(&part).expect("there").0;
        *place = PrimMotion { parent: root, link_number: number, ..*place };
        self.note(part);
    }

    /// Gives the keeper a frame.
    fn frame(&mut self, as_pages: bool) {
        let (epoch, sequence) = (Epoch(self.epoch), self.sequence);
        let mut changes = std::mem::take(&mut self.changes);
        if as_pages {
            changes.retain(|change| matches!(change, ObjectChange::Removed(_)));
            changes.push(ObjectChange::Pages(pages_of(&self.prims)));
        }
        let mut frame = Frame { epoch, ..frame(sequence, changes) };
        if std::mem::take(&mut self.asks_for_snapshot) {
            let objects = pages_of(&self.prims);
            frame.snapshot = Some(SnapshotChunk { index: 0, count: 1, objects, ..SnapshotChunk::default() });
        }
        self.history.insert((epoch, sequence), self.prims.clone());
        self.sequence += 1;
        self.asks_for_snapshot = self.keeper.handle_frame(self.now, &frame) == Following::NeedsSnapshot;
        let (n_edited, n_moving) = self.keeper.n_unsaved();
        assert!(
            n_edited + n_moving <= self.prims.len() + self.keeper.objects.len(),
            "bounded by the objects"
        );
    }

    /// Takes a batch, if one is due.
    fn save(&mut self) {
        let due_at = self.keeper.poll_timeout();
        let batch = self.keeper.poll_batch(self.now);
        assert!(
            batch.is_none() || due_at.is_some_and(|due_at| due_at <= self.now),
            "no earlier than it said"
        );
        if batch.is_some() {
            assert!(self.under_way.is_none(), "one at a time");
            self.under_way = batch;
        }
    }

    fn end_batch(&mut self, is_saved: bool, is_answered: bool) {
        let Some(batch) = self.under_way.take() else { return };
        if is_saved {
            self.store.save_region(REGION, &batch.changes).expect("memory");
            let RegionRow { epoch, sequence, .. } = batch.changes.row;
            self.stored = self.history[&(epoch, sequence)].clone();
            self.check();
        }
        self.keeper.handle_saved(self.now, batch.id, is_saved && is_answered);
        self.keeper.recycle(batch.changes);
    }

    /// Compares the store with the frame of its last save.
    fn check(&self) -> LoadedRegion {
        let region = of(&self.store.region_objects(REGION).expect("memory")).1;
        assert_eq!((&region.damaged, region.n_mended), (&Vec::new(), 0));
        let found: Prims = prims_of(&region.objects);
        let expected: Vec<LocalId> = kept_of(&self.stored).map(|(id, _)| *id).collect();
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), expected);
        for (id, (place, body)) in kept_of(&self.stored) {
            let (found_place, found_body) = &found[id];
            assert_eq!(found_body, body);
            if place.motion.at_rest() {
                assert_eq!(found_place, place);
            } else {
                assert_eq!(PrimMotion { motion: place.motion, ..*found_place }, *place);
            }
        }
        region
    }

    fn crash(&mut self) {
        let region = self.check();
        let objects = region.objects;
        assert!(world_of(objects.clone()).is_some());
        self.prims = prims_of(&objects);
        self.stored = self.prims.clone();
        self.keeper = of(&self.store.region_objects(REGION).expect("memory")).0;
        self.under_way = None;
        self.history.clear();
        (self.epoch, self.sequence, self.asks_for_snapshot) = (0, 0, false);
        self.changes = vec![ObjectChange::Pages(objects.pages)];
        self.frame(false);
    }

    /// Everything is saved in the end, if nothing fails any more.
    fn settle(&mut self) {
        self.end_batch(true, true);
        self.frame(false);
        if self.keeper.lost_at.is_some() {
            self.asks_for_snapshot = true;
            self.frame(false);
        }
        if self.keeper.lost_at.is_some() {
            // Nothing is left in the world, and something on the disk.
            return;
        }
        self.now += Duration::from_secs(60);
        self.keeper.order_save();
        self.save();
        self.end_batch(true, true);
        let region = self.check();
        let kept: Prims = kept_of(&self.prims).map(|(id, prim)| (*id, prim.clone())).collect();
        assert_eq!(prims_of(&region.objects), kept);
        assert_eq!((self.keeper.unsaved_since(), self.keeper.n_unsaved()), (None, (0, 0)));
    }
}

fn kept_of(prims: &Prims) -> impl Iterator<Item = (&LocalId, &(PrimMotion, VersionedBody))> {
    prims.iter().filter(|(id, (place, _))| is_kept(&IDS, **id, place))
}

fn prims_of(objects: &StoredObjects) -> Prims {
    objects
        .pages
        .iter()
        .flat_map(ObjectPage::prims)
        .map(|(id, place, body)| (id, (*place, body.clone())))
        .collect()
}

fn pages_of(prims: &Prims) -> Vec<ObjectPage> {
    let prims = prims.iter().map(|(id, (motion, body))| crate::rows::PlacedPrim {
        id: *id,
        motion: *motion,
        body: body.clone(),
    });
    crate::load::pages_of(prims.collect())
}

proptest! {
    #[test]
    fn the_stored_region_is_the_one_of_a_frame_whatever_fails(deeds in prop::collection::vec(deed(), 1..150)) {
        let mut model = Model::new();
        model.frame(false);
        deeds.into_iter().for_each(|deed| model.do_deed(deed));
        model.settle();
    }
}
