//! A world's whole state: everything that decides its future, so that a restored world continues with the same frames.
//!
//! As values it is a [`Checkpoint`], which shares names and looks with the world and is cheap enough to be taken in a step
//! (`cargo bench -p world`). As bytes it is a snapshot: one record for each part of the world (`encoding`, byte layout in
//! `docs/internals/formats.md`).
//!
//! Ground and scenery are not in it, only their fingerprints: they are stored once and shared. Of the cast it has the names behind the
//! numbers that minds hold, so that the same NPCs can continue with other behaviours. Counters are not state.

use crate::{
    bodies::{Bodies, StoredBodies},
    cast::CastMark,
    local_ids::IdsUsed,
    movement::Movement,
    npc::Npcs,
    objects::Edits,
    periods::TIME_MAX,
    presence::Presence,
    renaming::{IdShortage, Renaming},
    resync::Resync,
    roster::Roster,
    seats::SeatSurroundings,
    solids::{Solids, StoredAssetSolids, StoredSolids},
    world::{BuiltState, World, WorldConfig},
};
use ids::{Epoch, LocalId, WorldId};
use link::{StoredLand, StoredObjects};
use record::RecordError;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{Arc, LazyLock},
};
use thiserror::Error;

mod encoding;
mod version6;

pub use encoding::{SNAPSHOT_FORMAT, SNAPSHOT_PARTS, SNAPSHOT_VERSION};

/// Mark of a world without NPCs. Shared, since checkpoints must not allocate.
static NO_CAST: LazyLock<CastMark> = LazyLock::new(CastMark::default);

/// Reasons to refuse bytes as a world.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// They are not read: of another format or build, or damaged.
    #[error(transparent)]
    Bytes(#[from] RecordError),
    /// The decoded state is impossible: a duplicate session or local id, an avatar underground, a carry out of range.
    #[error("the snapshot describes no possible world")]
    Inconsistent,
    /// A present avatar has a local id without a place in the configured range.
    #[error("the snapshot uses {used} local ids, and there are {found}")]
    TooFewIds {
        /// Length of the used range, up to the last present avatar.
        used: u32,
        /// Of the configuration, without those of the scenery.
        found: u32,
    },
    /// It stands on other ground than the configuration's.
    #[error("the snapshot stands on terrain {found:016x}, not on {expected:016x}")]
    OtherTerrain {
        /// Fingerprint of the configured terrain.
        expected: u64,
        /// Fingerprint in the snapshot.
        found: u64,
    },
    /// Others live in it than the configuration's. That the same do something else is no error: they go over to it.
    #[error("the snapshot is of a world with cast {found:016x}, not {expected:016x}")]
    OtherCast {
        /// Fingerprint of the configured cast, 0 without one.
        expected: u64,
        /// Fingerprint in the snapshot.
        found: u64,
    },
    /// Its static objects are not the configuration's.
    #[error("the snapshot is of a world with scenery {found:016x}, not {expected:016x}")]
    OtherScenery {
        /// Fingerprint of the configured scenery.
        expected: u64,
        /// Fingerprint in the snapshot.
        found: u64,
    },
}

/// The state as values; `S` holds the slots and `N` the NPCs, borrowed to write and owned to read. The game is in it as bytes, which only the game's
/// own crate can read.
#[derive(Clone, Debug)]
struct SnapshotBody<S, N> {
    place: WorldIdentity,
    ids: IdsUsed,
    frames: FramesState,
    movement: MovementState,
    slots: S,
    npcs: N,
    game: Vec<u8>,
    /// None in a world that is not built on.
    objects: Option<StoredObjects>,
    /// Without content if `objects` is none.
    edits: Edits,
    /// Without content in most worlds.
    solids: StoredSolids,
    /// Without content in a world without meshes and sculpts.
    asset_solids: StoredAssetSolids,
    /// None in a world that is not built on, and in a checkpoint of values only.
    bodies: Option<StoredBodies>,
    /// None in a world that is not built on.
    land: Option<StoredLand>,
}

/// Identity of a world's place: a restored world has the same terrain, static objects and NPCs.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct WorldIdentity {
    terrain: u64,
    scenery: u64,
    cast: CastMark,
    id: WorldId,
    epoch: Epoch,
    /// Local ids of avatars.
    local_ids: Range<u32>,
}

/// State of the frame sequence.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FramesState {
    next_sequence: u64,
    resync: Resync,
}

/// State of the movement phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct MovementState {
    sub_step_carry: u64,
}

/// Way in which replicas follow a restored world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follow {
    /// By its next frame, if it is the same life.
    On,
    /// By a snapshot.
    Anew,
    /// By a snapshot, in a life whose ground may be another one than that on which its avatars stood.
    Later,
}

/// The whole state of a world between two steps, to begin again from in the same process, or to be encoded elsewhere than on
/// the world's thread.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    body: OwnedBody,
}

type OwnedBody = SnapshotBody<Vec<Option<Presence>>, Npcs>;

impl Checkpoint {
    /// As bytes, the same that [`World::snapshot`] gives.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoding::encode(&self.body)
    }

    /// The checkpoint that [`Self::encode`] made these bytes of, or a snapshot.
    ///
    /// # Errors
    /// [`RestoreError::Bytes`]. Whether it is of a possible world shows when it is resumed.
    pub fn decode(bytes: &[u8]) -> Result<Self, RestoreError> {
        Ok(Self { body: encoding::decode(bytes)? })
    }

    /// The world's life that it was taken in.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.body.place.epoch
    }

    /// Avatars in it.
    #[must_use]
    pub fn n_avatars(&self) -> usize {
        self.body.slots.iter().flatten().count()
    }

    /// Drops the visitors and their memory, as if all had left before it was taken.
    pub(crate) fn forget_visitors(&mut self) {
        self.body.slots = Vec::new();
        self.body.edits.retain(|_| false);
    }

    /// Its objects and its land, in a world that is built on.
    pub(crate) fn into_built(self) -> BuiltState {
        BuiltState { objects: self.body.objects, land: self.body.land }
    }
}

impl World {
    /// The whole state between two steps, as bytes.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let game = self.encoded_game(Vec::new());
        encoding::encode(&self.body(self.roster.slots(), &self.npcs, game, self.stored_bodies()))
    }

    /// The whole state between two steps, as values. Takes an allocation for each avatar and one for all: encoding it
    /// costs more by far.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let game = self.encoded_game(Vec::new());
        Checkpoint {
            body: self.body(self.roster.slots().to_vec(), self.npcs.copied(), game, self.stored_bodies()),
        }
    }

    /// As [`Self::checkpoint`], with values only: linksets that physics moves continue from their motions, and not bit by bit. Encoding the state of 500 of them would
    /// take too long for a step.
    pub(crate) fn recovery_checkpoint(&self) -> Checkpoint {
        let game = self.encoded_game(Vec::new());
        Checkpoint { body: self.body(self.roster.slots().to_vec(), self.npcs.copied(), game, None) }
    }

    /// As `recovery_checkpoint`, into the memory of a former one: with thousands of avatars it is megabytes, which would be allocated
    /// and cleared each time.
    pub fn checkpoint_into(&self, checkpoint: &mut Checkpoint) {
        let mut slots = std::mem::take(&mut checkpoint.body.slots);
        let mut npcs = std::mem::take(&mut checkpoint.body.npcs);
        let game = std::mem::take(&mut checkpoint.body.game);
        // Element by element, since a whole copy of another length would ask for memory.
        self.roster.slots().clone_into(&mut slots);
        self.npcs.copy_into(&mut npcs);
        checkpoint.body = self.body(slots, npcs, self.encoded_game(game), None);
    }

    /// The game's state in this memory.
    fn encoded_game(&self, mut memory: Vec<u8>) -> Vec<u8> {
        memory.clear();
        self.encode_game(&mut memory);
        memory
    }

    fn stored_bodies(&self) -> Option<StoredBodies> {
        self.bodies.as_ref().map(|bodies| bodies.stored())
    }

    fn body<S, N>(
        &self,
        slots: S,
        npcs: N,
        game: Vec<u8>,
        bodies: Option<StoredBodies>,
    ) -> SnapshotBody<S, N> {
        SnapshotBody {
            place: WorldIdentity {
                terrain: self.setting.ground.terrain.fingerprint(),
                scenery: self.setting.scenery.fingerprint(),
                cast: self.cast_mark(),
                id: self.setting.id,
                epoch: self.setting.epoch,
                local_ids: self.local_ids.range().clone(),
            },
            ids: self.local_ids.used(),
            frames: FramesState { next_sequence: self.delta.next_sequence, resync: self.resync.clone() },
            movement: MovementState { sub_step_carry: self.movement.sub_step_carry() },
            slots,
            npcs,
            game,
            objects: self.objects.as_ref().map(|objects| objects.stored()),
            edits: self.edits.clone(),
            solids: self.solids.as_ref().map_or_else(StoredSolids::default, |solids| solids.stored()),
            asset_solids: self
                .solids
                .as_ref()
                .map_or_else(StoredAssetSolids::default, |solids| solids.stored_assets()),
            bodies,
            land: self.land.as_ref().map(|land| land.stored()),
        }
    }

    /// A world that continues from [`World::snapshot`].
    ///
    /// With the same number, epoch and local ids its frame numbers continue. Otherwise they begin at 0, and the first ones carry a
    /// snapshot for replicas.
    ///
    /// The configuration may have other local ids: each avatar gets the one at the same place in that range, so that no two are
    /// confused. The seed is the configuration's.
    ///
    /// # Errors
    /// [`RestoreError`]; the bytes are checked first.
    ///
    /// # Panics
    /// As [`World::new`].
    pub fn restore(config: WorldConfig, bytes: &[u8]) -> Result<Self, RestoreError> {
        Self::from_body(config, encoding::decode(bytes)?, Follow::On)
    }

    /// As [`World::restore`], without the visitors: as if all of them had left. A suspended world's visitors have no circuits any more,
    /// and its frames are numbered from 0 in any epoch. If the cast's missions or damage setting differ, missions and health restart.
    ///
    /// # Errors
    /// [`RestoreError`].
    ///
    /// # Panics
    /// As [`World::new`].
    pub fn restore_without_visitors(config: WorldConfig, bytes: &[u8]) -> Result<Self, RestoreError> {
        let mut body = encoding::decode(bytes)?;
        body.slots.clear();
        if let Some(land) = &mut body.land {
            // Their sessions are gone.
            land.strokes.clear();
        }
        Self::from_body(config, body, Follow::Anew)
    }

    /// A snapshot of the newest version, made from one of any version from 6 on; `None` if it is of the newest already. Needs nothing that the
    /// world stands on.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn upgrade_snapshot(bytes: &[u8]) -> Result<Option<Vec<u8>>, RecordError> {
        encoding::upgrade(bytes)
    }

    /// As [`World::restore`], from a checkpoint.
    ///
    /// # Errors
    /// [`RestoreError`], but for those of bytes.
    ///
    /// # Panics
    /// As [`World::new`].
    pub fn resume(config: WorldConfig, checkpoint: &Checkpoint) -> Result<Self, RestoreError> {
        Self::resume_with(config, checkpoint, BuiltState::default())
    }

    /// As [`World::resume`], with these objects and this land, as far as there are any, instead of those of the checkpoint.
    pub(crate) fn resume_with(
        config: WorldConfig,
        checkpoint: &Checkpoint,
        built: BuiltState,
    ) -> Result<Self, RestoreError> {
        let body = checkpoint.body.clone();
        let BuiltState { objects, land } = built;
        let follow = if land.is_some() { Follow::Later } else { Follow::On };
        // Moving linksets of the checkpoint are not where these objects are.
        let bodies = body.bodies.filter(|_| objects.is_none());
        let body =
            SnapshotBody { objects: objects.or(body.objects), land: land.or(body.land), bodies, ..body };
        let mut world = Self::from_body(config, body, follow)?;
        if let Some(land) = world.land.as_mut().filter(|_| follow == Follow::Later) {
            // The avatars are those of an earlier moment, with other lists.
            land.check_all();
        }
        Ok(world)
    }

    /// Local ids used so far.
    #[must_use]
    pub const fn ids_used(&self) -> IdsUsed {
        self.local_ids.used()
    }

    /// Continues after the local ids used by an earlier life of this world.
    pub const fn skip_ids(&mut self, used: IdsUsed) {
        self.local_ids.skip(used);
    }

    fn cast_mark(&self) -> CastMark {
        self.setting.cast.as_ref().map_or_else(|| NO_CAST.clone(), |cast| cast.mark().clone())
    }

    fn from_body(config: WorldConfig, body: OwnedBody, follow: Follow) -> Result<Self, RestoreError> {
        let SnapshotBody {
            place,
            ids,
            frames,
            movement,
            slots,
            mut npcs,
            game,
            objects,
            edits,
            solids,
            asset_solids,
            bodies,
            land,
        } = body;
        let mut world = match objects {
            Some(objects) => {
                Self::with_edited_objects(config, objects, edits).ok_or(RestoreError::Inconsistent)?
            }
            None => Self::without_objects(config),
        };
        world.restore_solids(solids, asset_solids)?;
        world.restore_bodies(bodies)?;
        if let Some(land) = land {
            world = world.with_land(land).ok_or(RestoreError::Inconsistent)?;
        }
        world.is_the_place_of(&place)?;
        let keeps_game = world.can_go_on_with(&place.cast, follow)?;
        let is_sound = frames.resync.is_sound()
            && place.local_ids.start <= ids.next
            && ids.next <= place.local_ids.end
            && frames.next_sequence < TIME_MAX;
        if !is_sound {
            return Err(RestoreError::Inconsistent);
        }
        world.movement = Movement::restored(movement.sub_step_carry).ok_or(RestoreError::Inconsistent)?;
        let renaming = Renaming { from: place.local_ids.clone(), to: world.local_ids.range().clone() };
        let visitors = slots.iter().flatten().map(|presence| presence.id);
        renaming.check(visitors.clone().chain(npcs.ids()))?;
        // Ids are given in order; only after the range has wrapped is a collision possible.
        let is_given = |id: LocalId| ids.wrapped || id.0 < ids.next;
        if !visitors.chain(npcs.ids()).all(is_given) {
            return Err(RestoreError::Inconsistent);
        }
        let is_same_life = follow == Follow::On
            && (place.id, place.epoch) == (world.setting.id, world.setting.epoch)
            && renaming.changes_nothing();
        if is_same_life {
            world.delta.next_sequence = frames.next_sequence;
            world.resync = frames.resync;
            // The first frame of a world has its objects and its land.
            let is_shown = frames.next_sequence > 0;
            if let Some(objects) = world.objects.as_mut().filter(|_| is_shown) {
                objects.forget_pages();
            }
            if let Some(solids) = world.solids.as_mut().filter(|_| is_shown) {
                solids.forget_announcements();
            }
            if let Some(land) = world.land.as_mut().filter(|_| is_shown) {
                land.forget_restored();
            }
        } else {
            world.ask_for_snapshot();
            npcs.forget_news();
        }
        world.local_ids.continue_after(ids, &renaming);
        world.take_visitors(slots, &renaming, follow)?;
        // Rights and histories end with the visit.
        let roster = &world.roster;
        world.edits.retain(|session| roster.slot_of(session).is_some());
        world.take_npcs(npcs, &place.cast, &renaming)?;
        if keeps_game {
            world.take_game(&game)?;
        }
        // Without a free local id the search for one would not end.
        if world.roster.len() + world.npcs.len() >= world.local_ids.range().len() {
            return Err(RestoreError::Inconsistent);
        }
        Ok(world)
    }

    /// Leaves the prims that waited for their colliders waiting, and gives others the solids of their assets.
    fn restore_solids(
        &mut self,
        stored: StoredSolids,
        assets: StoredAssetSolids,
    ) -> Result<(), RestoreError> {
        if stored == StoredSolids::default() && assets == StoredAssetSolids::default() {
            return Ok(());
        }
        let objects = self.objects.as_deref().ok_or(RestoreError::Inconsistent)?;
        let size_m = self.setting.ground.terrain.size_m();
        let solids = Solids::restored(objects, size_m, stored, assets).ok_or(RestoreError::Inconsistent)?;
        self.solids = Some(solids);
        Ok(())
    }

    /// Lets moving linksets continue as they were.
    fn restore_bodies(&mut self, stored: Option<StoredBodies>) -> Result<(), RestoreError> {
        let Some(stored) = stored else { return Ok(()) };
        let objects = self.objects.as_deref().ok_or(RestoreError::Inconsistent)?;
        let size_m = self.setting.ground.terrain.size_m();
        let bodies = Bodies::restored(size_m, objects, Some(stored)).ok_or(RestoreError::Inconsistent)?;
        self.bodies = Some(Box::new(bodies));
        Ok(())
    }

    /// Checks that terrain, static objects and NPCs are those of the snapshot.
    fn is_the_place_of(&self, place: &WorldIdentity) -> Result<(), RestoreError> {
        let expected = self.setting.ground.terrain.fingerprint();
        if place.terrain != expected {
            return Err(RestoreError::OtherTerrain { expected, found: place.terrain });
        }
        let expected = self.setting.scenery.fingerprint();
        if place.scenery != expected {
            return Err(RestoreError::OtherScenery { expected, found: place.scenery });
        }
        Ok(())
    }

    /// Checks whether missions and health continue as well. A suspended world restarts them if its missions changed meanwhile;
    /// everything else continues.
    fn can_go_on_with(&self, mark: &CastMark, follow: Follow) -> Result<bool, RestoreError> {
        let cast = self.setting.cast.as_deref();
        if mark.fits(cast) {
            return Ok(true);
        }
        match cast {
            Some(cast) if follow == Follow::Anew && mark.fits_but_for_plan(cast) => Ok(false),
            _ => Err(RestoreError::OtherCast {
                expected: self.setting.cast_fingerprint(),
                found: mark.fingerprint,
            }),
        }
    }

    fn take_visitors(
        &mut self,
        slots: Vec<Option<Presence>>,
        renaming: &Renaming,
        follow: Follow,
    ) -> Result<(), RestoreError> {
        self.roster = Roster::from_slots(slots).ok_or(RestoreError::Inconsistent)?;
        let mut ids = BTreeSet::new();
        let mut hash = 0_u64;
        for (slot, presence) in self.roster.iter_mut() {
            presence.id = renaming.of(presence.id).ok_or(RestoreError::Inconsistent)?;
            if follow == Follow::Later {
                presence.recover(&self.setting.ground);
            }
            match self.objects.as_deref() {
                Some(objects) => {
                    let (solids, ground) = (self.solids.as_deref(), &self.setting.ground);
                    SeatSurroundings { objects, solids, ground }.restore(presence);
                }
                None if presence.seat.is_some() => return Err(RestoreError::Inconsistent),
                None => {}
            }
            if !presence.revive(slot, &self.setting.ground) || !ids.insert(presence.id) {
                return Err(RestoreError::Inconsistent);
            }
            hash = hash.wrapping_add(presence.hashes.whole);
        }
        self.roster.rehash(hash);
        Ok(())
    }

    fn take_npcs(
        &mut self,
        mut npcs: Npcs,
        mark: &CastMark,
        renaming: &Renaming,
    ) -> Result<(), RestoreError> {
        let Some(cast) = &self.setting.cast else {
            return if npcs.is_empty() { Ok(()) } else { Err(RestoreError::Inconsistent) };
        };
        // First, since numbers in minds may be unknown to the new cast.
        if mark.fingerprint != cast.fingerprint() {
            npcs.take_over(&mark.names, cast);
        }
        let is_sound = npcs.is_sound(cast, &self.setting.ground);
        let mut ids: BTreeSet<LocalId> = self.roster.iter().map(|(_, presence)| presence.id).collect();
        if !is_sound
            || !renaming.changes_nothing() && !npcs.rename(renaming)
            || !npcs.revive()
            || !npcs.ids().all(|id| self.local_ids.range().contains(&id.0) && ids.insert(id))
        {
            return Err(RestoreError::Inconsistent);
        }
        self.npcs = npcs;
        Ok(())
    }

    fn take_game(&mut self, bytes: &[u8]) -> Result<(), RestoreError> {
        let Some(cast) = &self.setting.cast else { return Ok(()) };
        match Arc::clone(&cast.rules).decode(bytes) {
            Ok((game, [])) => self.game = Some(game),
            Ok(_) | Err(_) => return Err(RestoreError::Inconsistent),
        }
        Ok(())
    }
}

impl From<IdShortage> for RestoreError {
    fn from(IdShortage { used, found }: IdShortage) -> Self {
        Self::TooFewIds { used, found }
    }
}

#[cfg(test)]
mod tests;
