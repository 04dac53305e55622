//! The land of a world: state, hash, changes of a tick.

use super::ground::EditedGround;
use super::orders::LandAuthor;
use super::parcels::{ParcelMap, hash_of};
use super::restrictions::Restrictions;
use super::rules::{LandDeed, LandRole, land_allows};
use super::undo::UndoHistory;
use crate::ground::SolidGround;
use ids::AgentId;
use link::{
    Estate, Frame, GroundPatch, LandChange, LandState, Parcel, ParcelNumber, ReturnKinds, StoredLand, Terrain,
};
use record::Part;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::sync::Arc;

/// Latest time, nanoseconds since 1970: the year 2262. Sums with it do not overflow.
const NOW_MAX_NS: u64 = u64::MAX / 2;

/// Land of a world that is built on: edits of its ground, parcels, estate.
#[derive(Debug)]
pub struct Land {
    size_m: u32,
    pub(super) parcels: ParcelMap,
    pub(super) ground: EditedGround,
    estate: Arc<Estate>,
    estate_hash: u64,
    /// The estate is other than in the last frame.
    is_estate_new: bool,
    /// Follows from parcels and estate.
    pub(super) restrictions: Restrictions,
    /// Not brought up to date since the last change of parcels or estate.
    pub(super) has_new_restrictions: bool,
    /// Lists have changed in this tick: all avatars are checked.
    pub(super) has_new_lists: bool,
    /// A second has begun in this tick, with which entries of lists may have expired.
    pub(super) has_new_second: bool,
    /// Orders of this tick for the objects phase; empty between steps.
    pub(super) returns: Vec<ObjectReturn>,
    /// Most of them, for as many as the objects phase has room. Further ones are refused.
    pub(super) returns_max: usize,
    /// Time, nanoseconds since 1970.
    now_ns: u64,
    /// Its state as of the last frame, once orders of the step under way may have changed it. A world that panics begins again with it.
    former: Option<Box<StoredLand>>,
}

/// An order to return objects, judged: its author may give it for this parcel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectReturn {
    /// Account of the author; `None` for the node.
    pub by: Option<AgentId>,
    /// Objects whose root is on this parcel.
    pub parcel: ParcelNumber,
    /// Of these kinds.
    pub kinds: ReturnKinds,
    /// Of these owners, with [`ReturnKinds::LISTED`].
    pub owners: Vec<AgentId>,
}

impl Land {
    /// Record of the land in snapshots.
    pub(crate) const PART: Part = Part::new(*b"LAND", "land");

    /// Stored land of a world with this ground, which gets its heights and its water. The next frame has all of it.
    ///
    /// `None` if it contradicts itself or the ground; `ground` is of no use then.
    pub(crate) fn restored(ground: &mut SolidGround, stored: StoredLand) -> Option<Self> {
        let StoredLand { state, last_number, ground: patches, baked, strokes, n_noises, now_ns } = stored;
        let size_m = ground.terrain.size_m();
        if now_ns > NOW_MAX_NS || !state.estate.is_sound() {
            return None;
        }
        let parcels = ParcelMap::restored(size_m, &state, last_number)?;
        let undo = UndoHistory::restored(size_m, strokes, now_ns)?;
        let edited = EditedGround::restored(&mut ground.terrain, patches, baked, undo, n_noises)?;
        ground.water_m = state.estate.levels.water_m;
        Some(Self {
            size_m,
            restrictions: Restrictions::of(&parcels, &state.estate),
            parcels,
            ground: edited,
            estate_hash: hash_of(&*state.estate),
            estate: state.estate,
            is_estate_new: false,
            has_new_restrictions: false,
            has_new_lists: false,
            has_new_second: false,
            returns: Vec::new(),
            returns_max: 0,
            now_ns,
            former: None,
        })
    }

    /// Its state between two steps. Clones a pointer for each parcel and each edited patch.
    pub(crate) fn stored(&self) -> StoredLand {
        StoredLand {
            state: self.state(),
            last_number: self.parcels.last_number(),
            ground: self.ground.patches(),
            baked: self.ground.baked_patches(),
            strokes: self.ground.undo.stored(),
            n_noises: self.ground.n_noises,
            now_ns: self.now_ns,
        }
    }

    /// Parcels and estate, for a snapshot of a replica.
    pub(crate) fn state(&self) -> LandState {
        LandState {
            parcels: self.parcels.iter().cloned().collect(),
            squares: Arc::clone(self.parcels.squares()),
            estate: Arc::clone(&self.estate),
        }
    }

    /// Patches that differ from the ground of the world's description, for the same.
    pub(crate) fn patches(&self) -> Vec<GroundPatch> {
        self.ground.patches()
    }

    /// Patches of the baked ground that differ from it, for the same.
    pub(crate) fn baked_patches(&self) -> Vec<GroundPatch> {
        self.ground.baked_patches()
    }

    /// The ground of the world's description.
    pub(crate) const fn described_ground(&self) -> &Arc<Terrain> {
        self.ground.original()
    }

    /// Begins a step: the frame of the one before was sent.
    pub(crate) fn begin_step(&mut self) {
        self.former = None;
    }

    /// Learns for how many orders to return objects the objects phase of this step has room.
    pub(crate) const fn set_returns_max(&mut self, most: usize) {
        self.returns_max = most;
    }

    /// Keeps the state of the last frame, before orders change it. Costs a pointer for each parcel and each edited patch, in such steps only.
    pub(super) fn keep_former(&mut self) {
        self.former = Some(Box::new(self.stored()));
    }

    /// Its state as of the last frame, after a step that panicked, whatever the panic has left. It must not be stepped again.
    pub(crate) fn roll_back(&mut self) -> StoredLand {
        self.former.take().map_or_else(|| self.stored(), |former| *former)
    }

    /// Checks all avatars in the next step, as after a change of lists.
    pub(crate) const fn check_all(&mut self) {
        self.has_new_lists = true;
    }

    /// Columns and rows of the patches of ground that changed since the last frame.
    pub(crate) fn changed_patches(&self) -> impl Iterator<Item = (u8, u8)> {
        self.ground.changed_places()
    }

    /// Counts the time of a step.
    pub(crate) fn pass(&mut self, dt_ns: u64) {
        self.has_new_second = false;
        self.set_time((self.now_ns + dt_ns).min(NOW_MAX_NS));
    }

    /// Learns the time from a command: never back, since other gateways may be ahead.
    pub(super) fn learn_time(&mut self, at_s: u64) {
        self.set_time(self.now_ns.max(at_s.saturating_mul(1_000_000_000).min(NOW_MAX_NS)));
    }

    fn set_time(&mut self, now_ns: u64) {
        let before_s = self.now_s();
        self.now_ns = now_ns;
        self.has_new_second |= self.now_s() != before_s;
    }

    /// Time, nanoseconds since 1970.
    pub(super) const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Time, seconds since 1970: that of the last command and of the steps since.
    #[must_use]
    pub const fn now_s(&self) -> u64 {
        self.now_ns / 1_000_000_000
    }

    /// Edge length of the region in metres.
    pub(super) const fn size_m(&self) -> u32 {
        self.size_m
    }

    /// The estate.
    #[must_use]
    pub fn estate(&self) -> &Estate {
        &self.estate
    }

    /// Changes the estate.
    pub(super) fn edit_estate(&mut self, estate: Estate) {
        self.estate = Arc::new(estate);
        self.estate_hash = hash_of(&*self.estate);
        (self.is_estate_new, self.has_new_restrictions) = (true, true);
    }

    /// Puts other parcels in place of all present ones. The next frame has the whole.
    pub(super) fn put_parcels(&mut self, parcels: ParcelMap) {
        self.parcels = parcels;
        self.has_new_restrictions = true;
    }

    /// Changes a parcel.
    pub(super) fn edit_parcel(&mut self, number: ParcelNumber, edit: impl FnOnce(&mut Parcel)) {
        self.parcels.edit(number, edit);
        self.has_new_restrictions = true;
    }

    /// True if the author may do it on a parcel, by any of its roles there.
    pub(crate) fn permits(&self, author: LandAuthor, deed: LandDeed, parcel: &Parcel) -> bool {
        let is = |owner: Option<AgentId>| owner.is_some() && owner == author.agent;
        let of_estate = match author.agent {
            _ if author.is_operator => Some(LandRole::Operator),
            _ if is(self.estate.owner) => Some(LandRole::EstateOwner),
            Some(agent) if self.estate.is_managed_by(agent) => Some(LandRole::EstateManager),
            _ => None,
        };
        let of_parcel = if is(parcel.owner) { LandRole::ParcelOwner } else { LandRole::Visitor };
        let mut roles = of_estate.into_iter().chain([of_parcel]);
        roles.any(|role| land_allows(deed, role, parcel, &self.estate))
    }

    /// Brings up to date what follows from parcels and estate.
    pub(super) fn settle(&mut self) {
        if std::mem::take(&mut self.has_new_restrictions) {
            self.restrictions = Restrictions::of(&self.parcels, &self.estate);
            self.has_new_lists = true;
        }
    }

    /// Fills in the changes since the last frame.
    pub(crate) fn write_changes(&mut self, ground: &SolidGround, out: &mut Frame) {
        self.returns.clear();
        self.ground.write_changes(&ground.terrain, &mut out.ground);
        let is_estate_new = std::mem::take(&mut self.is_estate_new);
        if !self.parcels.write_changes(&mut out.land) {
            out.land.push(LandChange::Whole(self.state()));
        } else if is_estate_new {
            out.land.push(LandChange::Estate(Arc::clone(&self.estate)));
        }
        if self.ground.take_new_baked() {
            out.land.push(LandChange::Baked(self.ground.baked_patches()));
        }
    }

    /// True if the next frame has something to report of it.
    pub(crate) fn has_changes(&self) -> bool {
        self.is_estate_new || self.parcels.has_changes() || self.ground.has_changes()
    }

    /// Leaves the restored land out of the next frame: its readers have it.
    pub(crate) fn forget_restored(&mut self) {
        self.parcels.forget_whole();
        self.ground.forget_changes();
    }

    /// Hash of all of it. Steps keep the greater part up to date.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(self.parcels.hash());
        hasher.u64(u64::from(self.parcels.last_number().0));
        hasher.u64(self.estate_hash);
        self.ground.hash(&mut hasher);
        hasher.u64(self.now_ns);
        hasher.finish()
    }
}
