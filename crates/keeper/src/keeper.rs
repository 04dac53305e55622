//! Core of the crate: frames in, batches out.

use crate::batch_rows::{SPARE_PRIMS_MAX, recycle};
use crate::content_orders::ReplacementOrders;
use crate::escrow::{Escrow, ItemOrder, Order, RestoreError, RestoreOrder, RestoreOutcome};
use crate::land::{FlownLand, TakenLand, TrackedLand, WholeLand};
use crate::load::{LoadError, LoadedObjects, LoadedRegion, Loading, RegionIds, load, rows_aside};
use crate::load_land::{LoadedLand, NewLand, load_land};
use crate::rows::push_region;
use crate::tracked::{FlownObjects, Required, SeenPrim, TrackedObjects};
use crate::worn::{FlownWorn, TrackedWorn, WearTask, WornNews, WornObject, has_end_of};
use ids::{AgentId, Epoch, Instant, Ticket, Uuid, WorldId};
use link::{Action, Event, Frame, ObjectChange, ObjectPage, SnapshotChunk};
use std::sync::Arc;
use std::time::Duration;
use store::{DocumentChanges, ItemEffect, RegionChanges, RowAside, StoredRegion};

/// Pauses after failed saves: the first pause, which doubles with each further failure, and the maximum.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Settings of a keeper.
#[derive(Clone, Debug)]
pub struct KeeperConfig {
    /// The region.
    pub region: WorldId,
    /// Name of the region.
    pub name: String,
    /// Name under which the region was saved before, if it has been renamed.
    pub former_name: Option<String>,
    /// Initial land of a region without stored land.
    pub land: NewLand,
    /// Local ids of the region's objects.
    pub ids: RegionIds,
    /// Time between the first unsaved change and its batch: all changes within it share a transaction.
    pub save: Duration,
    /// Bytes per second for rows of moving objects; 0: moving objects are written when they come to rest or a save is ordered.
    pub moving_bytes_per_s: u64,
    /// Seconds since 1970 at [`Instant::ZERO`].
    pub unix_start_s: i64,
}

/// Position of the keeper in its world's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Following {
    /// All frames have been applied.
    Current,
    /// Frames are missing, or a new epoch has begun: send [`link::Action::Resync`] to the world.
    NeedsSnapshot,
    /// The requested snapshot has not arrived yet.
    Waiting,
    /// The first state of a later epoch has none of the known objects, probably because the epoch was started without them. The keeper ignores this state:
    /// the disk keeps the region of the former epoch, and all frames of this epoch and later ones count as missing. The state ends with a snapshot that has
    /// all known objects, or with the next start from the disk.
    Emptied,
}

/// Rows for one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Number of the batch, for [`Keeper::handle_saved`].
    pub id: u64,
    /// The region.
    pub region: WorldId,
    /// Rows for [`store::Store::save_region`].
    pub changes: RegionChanges,
    /// Time of the first change other than a movement; `None` if the batch has movements only.
    pub since: Option<Instant>,
    /// Time of the frame of each transfer in [`RegionChanges::held`].
    pub held_at: Vec<Instant>,
}

/// Follows one region's frames and saves the region's objects and land.
///
/// Call [`handle_frame`](Self::handle_frame) with each frame in order and [`poll_batch`](Self::poll_batch) after each, and at
/// [`poll_timeout`](Self::poll_timeout). Save the batch and pass its outcome to [`handle_saved`](Self::handle_saved); until then no further batch is
/// returned. A batch contains all changes up to its frame: once it is saved, the stored region is the state of that frame, except for the positions
/// of objects in motion.
#[derive(Debug)]
pub struct Keeper {
    region: WorldId,
    name: String,
    save: Duration,
    objects: TrackedObjects,
    worn: TrackedWorn,
    escrow: Escrow,
    contents: ReplacementOrders,
    land: TrackedLand,
    flight: Option<Flight>,
    /// Buffers reused for the next batch.
    spare: RegionChanges,
    spare_flown: FlownObjects,
    /// Damaged rows, until a saved batch has moved them aside.
    aside: Vec<RowAside>,
    /// Documents that are in no batch yet.
    documents: DocumentChanges,
    cache_id: Uuid,
    /// Time of the last frame.
    last_at: Option<Instant>,
    /// The next frame expected; `None` before the first.
    expected: Option<(Epoch, u64)>,
    /// The last applied frame: a batch saves the region as of this frame.
    cut: Option<(Epoch, u64)>,
    /// Time since which frames are missing.
    lost_at: Option<Instant>,
    frames_waited: u32,
    /// The world was started without the region's objects: [`Following::Emptied`].
    is_emptied: bool,
    /// An immediate and complete save has been ordered.
    is_ordered: bool,
    next_batch: u64,
    failures: u32,
    /// Earliest time of the next batch.
    rests_until: Instant,
    /// Earliest time of the next batch that has movements only.
    next_moving_at: Instant,
}

/// A batch that is being saved.
#[derive(Debug)]
struct Flight {
    id: u64,
    objects: FlownObjects,
    worn: FlownWorn,
    land: FlownLand,
    documents: DocumentChanges,
    since: Option<Instant>,
    is_ordered: bool,
    ticket: Ticket,
}

impl Keeper {
    /// Number of frames without the requested snapshot after which it is requested again.
    pub const RESYNC_FRAMES_MAX: u32 = 100;

    /// Creates a keeper from the stored rows of a region, and the region for its world. `fresh` becomes the id of the clients' caches if the stored
    /// region has none.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn load(
        config: &KeeperConfig,
        stored: &StoredRegion,
        fresh: Uuid,
    ) -> Result<(Self, LoadedRegion), LoadError> {
        let KeeperConfig {
            region: number,
            name,
            former_name,
            land: new_land,
            ids,
            save,
            moving_bytes_per_s,
            unix_start_s,
        } = config;
        let saved_as = stored.row.as_ref().map(|row| &row.name[..]);
        if let Some(found) = saved_as.filter(|found| !is_saved_as(found, name, former_name.as_deref())) {
            return Err(LoadError::OtherName { number: number.0, found: found.to_owned() });
        }
        let Loading { region, rows, state } = load(ids, stored, fresh)?;
        let LoadedObjects { objects, cache_id, damaged, n_mended } = region;
        let LoadedLand { land, damaged: damaged_land, disk } =
            load_land(new_land, &stored.land, &stored.damages, fresh)
                .map_err(|(key, why)| LoadError::OtherLand { key, why })?;
        let aside = rows_aside(*number, stored, &damaged, &damaged_land);
        let is_damaged = !aside.is_empty() || !stored.rebuilt.is_empty();
        let keeper = Self {
            region: *number,
            name: name.clone(),
            save: *save,
            objects: TrackedObjects::new(ids, rows, &state, *moving_bytes_per_s),
            worn: TrackedWorn::new(ids, *unix_start_s),
            escrow: Escrow::new(*number, *unix_start_s, objects.transfers.last),
            contents: ReplacementOrders::default(),
            land: TrackedLand::new(Arc::clone(&new_land.terrain), land.last_number, disk),
            flight: None,
            spare: RegionChanges::default(),
            spare_flown: Vec::new(),
            aside,
            documents: DocumentChanges::default(),
            cache_id,
            last_at: None,
            expected: None,
            cut: None,
            lost_at: None,
            frames_waited: 0,
            is_emptied: false,
            // The stored row has another name, or the loaded region differs from the rows because of damage.
            is_ordered: is_damaged || saved_as.is_some_and(|found| found != name),
            next_batch: 1,
            failures: 0,
            rests_until: Instant::ZERO,
            next_moving_at: Instant::ZERO,
        };
        Ok((keeper, LoadedRegion { objects, land, cache_id, damaged, n_mended, damaged_land }))
    }

    /// Applies a frame.
    pub fn handle_frame(&mut self, now: Instant, frame: &Frame) -> Following {
        let is_first = self.expected.is_none() && (frame.epoch, frame.sequence) == (Epoch(0), 0);
        let is_next = is_first || self.expected == Some((frame.epoch, frame.sequence));
        self.expected = Some((frame.epoch, frame.sequence + 1));
        self.objects.pass(self.last_at.map_or(Duration::ZERO, |last_at| frame.at.since(last_at)));
        self.last_at = Some(frame.at);
        if is_first {
            // The first frame of a world contains all objects and all land.
            return self.take_whole(now, frame, &prims_of_changes(&frame.objects), None);
        }
        if is_next && self.lost_at.is_none() {
            for change in &frame.objects {
                self.objects.take_change(now, change);
                self.worn.take_change(change);
            }
            self.land.take_frame(now, frame);
            self.take_events(now, &frame.events);
            self.cut = Some((frame.epoch, frame.sequence));
            return Following::Current;
        }
        if !is_next {
            self.lost_at.get_or_insert(now);
            self.frames_waited = 0;
        }
        // The first part of a snapshot contains all objects and the land in their state after this frame.
        if let Some(part) = frame.snapshot.as_ref().filter(|part| part.index == 0) {
            let whole: Vec<SeenPrim<'_>> = part.objects.iter().flat_map(ObjectPage::prims).collect();
            return self.take_whole(now, frame, &whole, Some(part));
        }
        self.frames_waited += 1;
        if !is_next || self.frames_waited > Self::RESYNC_FRAMES_MAX {
            self.frames_waited = 0;
            return Following::NeedsSnapshot;
        }
        Following::Waiting
    }

    /// Returns the next batch, if one is due and no batch is being saved.
    pub fn poll_batch(&mut self, now: Instant) -> Option<Batch> {
        let (epoch, sequence) = self.cut?;
        if self.poll_timeout().is_none_or(|due_at| due_at > now) {
            return None;
        }
        let is_ordered = std::mem::take(&mut self.is_ordered);
        let mut changes = std::mem::take(&mut self.spare);
        let mut objects = std::mem::take(&mut self.spare_flown);
        let since = self.objects.take_batch(now, is_ordered, &mut changes, &mut objects);
        let TakenLand { changes: land, flown, since: land_since } = self.land.take_batch();
        self.next_moving_at = now + self.save;
        let (ticket, held, held_at) = self.escrow.batch();
        let worn_since = self.worn.since();
        let (worn, flown_worn) = self.worn.take_batch(now);
        let is_empty = objects.is_empty() && flown.is_empty() && held.is_empty() && worn.is_empty();
        // An order for content that the rows already have also ends with a batch.
        let contents_since = self.contents.since();
        if is_empty && !is_ordered && contents_since.is_none() {
            self.recycle(changes);
            self.spare_flown = objects;
            return None;
        }
        let id = self.next_batch;
        self.next_batch += 1;
        // Rows equal to those on the disk do not count.
        let land_since = land_since.filter(|_| !flown.is_empty());
        let worn_since = worn_since.filter(|_| !worn.is_empty());
        let since = [since, land_since, worn_since, contents_since, self.escrow.since()];
        let since = since.into_iter().flatten().min();
        self.contents.begin_batch();
        let documents = std::mem::take(&mut self.documents);
        changes.documents.clone_from(&documents);
        self.flight =
            Some(Flight { id, objects, worn: flown_worn, land: flown, documents, since, is_ordered, ticket });
        let row = &mut changes.row;
        (row.epoch, row.sequence, row.cache_id, row.ticket) = (epoch, sequence, self.cache_id, ticket);
        push_region(&mut row.state, &self.objects.region_state());
        row.name.clone_from(&self.name);
        (changes.land, changes.held, changes.worn) = (land, held, worn);
        changes.aside.clone_from(&self.aside);
        Some(Batch { id, region: self.region, changes, since, held_at })
    }

    /// Takes back the memory of a finished batch for reuse.
    pub fn recycle(&mut self, changes: RegionChanges) {
        self.spare = recycle(changes);
    }

    /// Handles the outcome of a batch. A failed batch may or may not be on the disk: the next batch repeats its changes, except those that newer
    /// changes have replaced.
    ///
    /// # Panics
    /// If this batch is not being saved.
    pub fn handle_saved(&mut self, now: Instant, id: u64, is_saved: bool) {
        let flight = self.flight.take().filter(|flight| flight.id == id);
        let mut flight = flight.expect("an outcome is that of the batch under way");
        self.contents.end_batch(is_saved);
        if is_saved {
            self.failures = 0;
            self.rests_until = now;
            self.aside.clear();
            flight.objects.drain(..).for_each(|(id, flown)| self.objects.note_saved(id, &flown));
            self.escrow.note_saved(flight.ticket);
            self.land.note_saved(flight.land);
        } else {
            let (first, most) = PAUSES;
            self.rests_until = now + first.saturating_mul(1 << self.failures.min(16)).min(most);
            self.failures += 1;
            self.is_ordered |= flight.is_ordered;
            let since = flight.since.unwrap_or(now);
            flight.objects.drain(..).for_each(|(id, flown)| self.objects.put_back(id, flown, since));
            self.worn.put_back(flight.worn);
            self.land.put_back(flight.land, since);
            let later = std::mem::replace(&mut self.documents, flight.documents);
            self.documents.append(later);
        }
        if flight.objects.capacity() <= SPARE_PRIMS_MAX {
            self.spare_flown = flight.objects;
        }
    }

    /// The region.
    #[must_use]
    pub const fn region(&self) -> WorldId {
        self.region
    }

    /// Time of the next batch; `None` without unsaved changes or while a batch is being saved.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.flight.is_some() || self.cut.is_none() {
            return None;
        }
        let ordered_at = self.is_ordered.then_some(Instant::ZERO);
        let edits_at = self.edited_since().map(|since| since + self.save);
        let moving_at = self.objects.movers().next_at().map(|at| at.max(self.next_moving_at));
        let next_at = [ordered_at, edits_at, moving_at].into_iter().flatten().min()?;
        Some(next_at.max(self.rests_until))
    }

    /// Orders an immediate batch, even without changes, which includes all objects in motion. A pause after a failure still applies.
    pub const fn order_save(&mut self) {
        self.is_ordered = true;
    }

    /// Orders an immediate batch with these documents of an archive and all changes.
    pub fn order_documents(&mut self, documents: DocumentChanges) {
        self.documents.append(documents);
        self.is_ordered = true;
    }

    /// Changes [`KeeperConfig::save`] and [`KeeperConfig::moving_bytes_per_s`].
    pub const fn set_pace(&mut self, save: Duration, moving_bytes_per_s: u64) {
        self.save = save;
        self.objects.set_moving_rate(moving_bytes_per_s);
    }

    /// Invalidates the clients' caches and orders a save, because local ids now refer to other objects.
    pub const fn replace_cache_id(&mut self, fresh: Uuid) {
        self.cache_id = fresh;
        self.is_ordered = true;
    }

    /// Marks all rows as unknown, so that the whole region is written again: the store has rebuilt damaged tables, and rows may be missing. The
    /// caller requests a snapshot of the world ([`link::Action::Resync`]); frames count as missing until it arrives. The region's own row is written
    /// at once. Call this function after [`Self::handle_saved`] of every earlier batch.
    pub fn forget_disk(&mut self, now: Instant) {
        self.objects.forget_disk();
        self.land.forget_disk();
        self.lost_at.get_or_insert(now);
        self.frames_waited = 0;
        self.is_ordered = true;
    }

    /// Orders the world to insert an object: an object that the store has marked for this region, a copy of an inventory item's object, or the object
    /// of an item in a prim. [`Self::send_orders`] sends the order, again after lost frames, and [`Self::poll_outcome`] returns its outcome.
    ///
    /// # Errors
    /// [`RestoreError`]; then the order is not accepted, and the caller removes the object's mark, except after [`RestoreError::Twice`].
    pub fn order_restore(&mut self, order: RestoreOrder) -> Result<(), RestoreError> {
        self.escrow.order(order)
    }

    /// Orders the world to put an item into a prim; sending and outcome as for [`Self::order_restore`].
    ///
    /// # Errors
    /// [`RestoreError::Busy`], [`RestoreError::Twice`], [`RestoreError::Undone`]; as for [`Self::order_restore`].
    pub fn order_item(&mut self, order: ItemOrder) -> Result<(), RestoreError> {
        self.escrow.order_item(order)
    }

    /// Accepts an order of any kind. The outcome of an order to replace the content of an item in a prim follows when the new content is on the disk.
    ///
    /// # Errors
    /// Those of the function for the kind of order.
    pub fn order(&mut self, order: Order) -> Result<(), RestoreError> {
        match order {
            Order::Object(order) => self.order_restore(order),
            Order::Item(order) => self.order_item(order),
            Order::Content(order) => self.contents.add(order),
        }
    }

    /// Sends the node's commands to the world until `send` refuses one; the next call sends the remaining ones. Call this function after each frame,
    /// each saved batch and each order.
    ///
    /// A world that was reset to a checkpoint receives orders again once the reset is on the disk, including all unanswered ones.
    pub fn send_orders(&mut self, mut send: impl FnMut(Action) -> bool) {
        if !self.escrow.send_settlement(&mut send) {
            return;
        }
        self.escrow.send_orders(&mut send);
        self.contents.send(&mut send);
        self.worn.send_orders(send);
    }

    /// Orders the world to attach an item to an avatar. [`Self::send_orders`] sends the order, again after lost frames, and [`Self::poll_worn`] returns its
    /// outcome. The keeper follows the item until [`WornNews`] reports that it has left, ended, or was refused or lost. Returns false without effect if too
    /// many orders are unanswered, or if the world's state would not be saved.
    pub fn wear(&mut self, task: WearTask) -> bool {
        !self.is_emptied && self.worn.order(task)
    }

    /// Detaches items of a user that are worn in the region.
    pub fn take_off(&mut self, owner: AgentId, items: &[Uuid]) {
        self.worn.take_off(owner, items);
    }

    /// Detaches an item that is worn in no region: the next batch deletes its row, and the item gets the state as its asset.
    pub fn end_worn(&mut self, now: Instant, worn: &WornObject) {
        self.worn.end(now, worn);
    }

    /// Stops following a worn item, because it is worn in another region.
    pub fn disown_worn(&mut self, owner: AgentId, item: Uuid) {
        self.worn.disown(owner, item);
    }

    /// Returns the next news of a worn object.
    pub fn poll_worn(&mut self) -> Option<WornNews> {
        self.worn.poll_news()
    }

    /// True if a state of a worn object of the user is not on the disk.
    #[must_use]
    pub fn has_unsaved_worn(&self, owner: AgentId) -> bool {
        let is_flown = self.flight.as_ref().is_some_and(|flight| {
            let (changed, ended) = &flight.worn;
            changed.iter().any(|((other, _), _)| *other == owner)
                || ended.iter().any(|(_, save)| save.row.owner == owner)
        });
        is_flown || self.worn.is_unsaved(owner) || self.escrow.has_worn_of(owner)
    }

    /// True if the world has an order to detach an item of a user, and the object has not left the world yet.
    #[must_use]
    pub fn takes_off(&self, owner: AgentId, item: Uuid) -> bool {
        self.worn.takes_off(owner, item)
    }

    /// True if a worn object of a user has left the world for its item or for the ground, or was detached in no region, and its row is still on the disk.
    #[must_use]
    pub fn has_unsaved_worn_end(&self, owner: AgentId, item: Uuid) -> bool {
        let key = (owner, item);
        let is_flown = self.flight.as_ref().is_some_and(|flight| has_end_of(&flight.worn.1, key));
        is_flown || self.worn.has_ended(key) || self.escrow.has_worn_end(owner, item)
    }

    /// Records the effects of a saved batch on inventories, for the case that the world is reset to a checkpoint.
    pub fn note_items(&mut self, effects: &[ItemEffect]) {
        self.escrow.note_items(effects);
    }

    /// Returns the next outcome of an order. Outcomes of marked objects and of content follow once they are on the disk.
    pub fn poll_outcome(&mut self) -> Option<RestoreOutcome> {
        self.escrow.poll_outcome().or_else(|| self.contents.poll_outcome())
    }

    /// Time of the first change other than a movement that is not on the disk, or time since which frames are missing.
    #[must_use]
    pub fn unsaved_since(&self) -> Option<Instant> {
        let flight = self.flight.as_ref().and_then(|flight| flight.since);
        [self.edited_since(), flight, self.lost_at].into_iter().flatten().min()
    }

    /// Time of the first change outside of the present batch. Transfers count until they are saved, including those in the batch.
    fn edited_since(&self) -> Option<Instant> {
        let objects = self.objects.unsaved().since();
        let others = [self.worn.since(), self.land.since(), self.escrow.since(), self.contents.since()];
        let since = std::iter::once(objects).chain(others);
        since.flatten().min()
    }

    /// The last applied frame, as of which a batch saves the region; `None` before the first frame.
    #[must_use]
    pub const fn cut(&self) -> Option<(Epoch, u64)> {
        self.cut
    }

    /// True while frames are missing: batches contain the region as of the frame before the gap.
    #[must_use]
    pub const fn is_behind(&self) -> bool {
        self.lost_at.is_some()
    }

    /// True after [`Following::Emptied`], until a snapshot has all objects of the region.
    #[must_use]
    pub const fn is_emptied(&self) -> bool {
        self.is_emptied
    }

    /// Number of the batch that is being saved.
    #[must_use]
    pub fn under_way(&self) -> Option<u64> {
        self.flight.as_ref().map(|flight| flight.id)
    }

    /// Number of consecutive failed saves.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Maximum delay of the saves of objects in motion.
    #[must_use]
    pub fn moving_lag(&self, now: Instant) -> Duration {
        self.objects.movers().lag(now)
    }

    /// Number of objects with unsaved changes outside of the present batch, and number of objects in motion.
    #[must_use]
    pub fn n_unsaved(&self) -> (usize, usize) {
        (self.objects.unsaved().len(), self.objects.movers().len())
    }

    /// Handles the events of a frame, after its changes.
    fn take_events(&mut self, now: Instant, events: &[Event]) {
        self.escrow.take_events(now, events, &mut self.worn);
        self.contents.take_events(now, events);
        self.worn.take_events(events);
        self.worn.end_frame(now);
    }

    /// Replaces all objects and the land with the state of a world after its first frame, or after a frame with this part of a snapshot.
    fn take_whole(
        &mut self,
        now: Instant,
        frame: &Frame,
        whole: &[SeenPrim<'_>],
        part: Option<&SnapshotChunk>,
    ) -> Following {
        let is_same_epoch = self.cut.is_some_and(|(epoch, _)| epoch == frame.epoch);
        let required = if self.is_emptied {
            // While the world is emptied, users may create objects, also with local ids of lost objects, and later epochs continue from that state: a single
            // known object is no proof.
            Required::All
        } else if is_same_epoch {
            // Within an epoch, objects are removed by edits only.
            Required::Nothing
        } else {
            Required::One
        };
        self.is_emptied = !self.objects.take_whole(now, whole, required);
        if self.is_emptied {
            self.lost_at.get_or_insert(now);
            self.worn.lose_all(now);
            return Following::Emptied;
        }
        self.worn.take_whole(whole);
        if let Some(land) = part.map_or_else(|| WholeLand::of_first_frame(frame), WholeLand::of_snapshot) {
            self.land.take_whole(now, land);
        }
        match part {
            Some(part) => {
                self.escrow.take_snapshot(now, &part.transfers, &mut self.worn);
                self.contents.take_snapshot();
                self.worn.end_frame(now);
            }
            None => self.take_events(now, &frame.events),
        }
        self.lost_at = None;
        self.frames_waited = 0;
        self.cut = Some((frame.epoch, frame.sequence));
        Following::Current
    }
}

/// True for a name under which a region may have been saved: its present name, its former name, or the empty name of rows that precede stored names.
/// Names of regions are compared without regard to case.
#[must_use]
pub fn is_saved_as(found: &str, name: &str, former: Option<&str>) -> bool {
    found.is_empty()
        || found.eq_ignore_ascii_case(name)
        || former.is_some_and(|former| found.eq_ignore_ascii_case(former))
}

/// Prims that a frame introduces. A prim that the frame also changes occurs twice, with its newest state last.
fn prims_of_changes(changes: &[ObjectChange]) -> Vec<SeenPrim<'_>> {
    let mut prims = Vec::new();
    for change in changes {
        match change {
            ObjectChange::Pages(pages) => prims.extend(pages.iter().flat_map(ObjectPage::prims)),
            ObjectChange::Set { id, motion, body, .. } => prims.push((*id, motion, body)),
            ObjectChange::Moved(..) | ObjectChange::Removed(_) => {}
        }
    }
    prims
}

#[cfg(test)]
mod tests;
