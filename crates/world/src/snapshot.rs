//! A world's whole state: everything that decides its future, so that a restored world goes on with the same frames.
//!
//! As values it is a [`Checkpoint`], which shares names and looks with the world and is cheap enough to be taken in a step
//! (`cargo bench -p world`). As bytes it is a snapshot:
//!
//! ```text
//! "THRW" | version u16 | checksum u64 | body (postcard)          integers little-endian
//! ```
//!
//! Ground and scenery are not in it, only their fingerprints: they are stored once and shared. Of the cast there are the names that
//! minds hold numbers of, so that the same NPCs go on with other behaviours. Counters are not state.

use crate::{
    game::Game,
    movement::Movement,
    npc::{CastMark, Npcs},
    presence::Presence,
    resync::Resync,
    roster::Roster,
    world::{World, WorldConfig},
};
use ids::{Epoch, LocalId, WorldId};
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::{collections::BTreeSet, ops::Range, sync::LazyLock};
use thiserror::Error;

mod renaming;

pub(crate) use renaming::Renaming;

const MAGIC: [u8; 4] = *b"THRW";

/// Rises whenever the body changes its form.
const VERSION: u16 = 6;

/// Nanoseconds, ticks or frames of a world are fewer, by far: six years.
pub(crate) const TIME_MAX: u64 = u64::MAX / 100;

const HEADER_LEN: usize = MAGIC.len() + 2 + 8;

/// Of a world in which nobody lives. Once for all of them, since checkpoints ask for no memory.
static NOBODY: LazyLock<CastMark> = LazyLock::new(CastMark::default);

/// Why bytes make no world.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// They are something else, or far too short.
    #[error("not a world snapshot")]
    NotASnapshot,
    /// Another build wrote them.
    #[error("snapshot version {found}, this build reads {VERSION}")]
    Version {
        /// What they are.
        found: u16,
    },
    /// The checksum does not match.
    #[error("the snapshot is damaged")]
    Damaged,
    /// The checksum matches and the content does not: we wrote nonsense.
    #[error("the snapshot cannot be decoded: {0}")]
    Undecodable(#[from] postcard::Error),
    /// It decodes to what no world can be: a session or local id twice, somebody underground, time that was never due.
    #[error("the snapshot describes no possible world")]
    Inconsistent,
    /// Somebody in it has a local id for which the configuration's range has no place.
    #[error("the snapshot uses {used} local ids, and there are {found}")]
    TooFewIds {
        /// From the first of its range to the last of somebody who is there.
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
    /// Other things stand in it than the configuration's.
    #[error("the snapshot is of a world with scenery {found:016x}, not {expected:016x}")]
    OtherScenery {
        /// Fingerprint of the configured scenery.
        expected: u64,
        /// Fingerprint in the snapshot.
        found: u64,
    },
}

/// The body; `S` holds the slots, `N` the NPCs and `G` the game, borrowed to write and owned to read.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Body<S, N, G> {
    terrain: u64,
    scenery: u64,
    cast: CastMark,
    id: WorldId,
    epoch: Epoch,
    /// Those of avatars.
    local_ids: Range<u32>,
    next_sequence: u64,
    next_local_id: u32,
    local_ids_wrapped: bool,
    sub_step_carry: u64,
    resync: Resync,
    slots: S,
    npcs: N,
    game: G,
}

/// How replicas follow a world that was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follow {
    /// By its next frame, if it is the same life.
    On,
    /// By a snapshot.
    Anew,
}

/// The whole state of a world between two steps, to begin again from in the same process, or to be encoded elsewhere than on
/// the world's thread.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    body: OwnedBody,
}

type OwnedBody = Body<Vec<Option<Presence>>, Npcs, Game>;

impl Checkpoint {
    /// As bytes, the same that [`World::snapshot`] gives.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode(&self.body)
    }

    /// The world's life that it was taken in.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.body.epoch
    }

    /// Avatars in it.
    #[must_use]
    pub fn n_avatars(&self) -> usize {
        self.body.slots.iter().flatten().count()
    }
}

/// How far a world has come with its local ids. A world that begins again goes on behind it, so that no id that anybody
/// may remember stands for somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdsUsed {
    pub(crate) next: u32,
    pub(crate) wrapped: bool,
}

impl World {
    /// The whole state between two steps, as bytes.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        encode(&self.body(self.roster.slots(), &self.npcs, &self.game))
    }

    /// The whole state between two steps, as values. Takes an allocation for each avatar and one for all: encoding it
    /// costs more by far.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { body: self.body(self.roster.slots().to_vec(), self.npcs.clone(), self.game.clone()) }
    }

    /// As [`Self::checkpoint`], into the memory of a former one: of thousands it is megabytes, which the system would have to make
    /// and clear anew each time.
    pub fn checkpoint_into(&self, checkpoint: &mut Checkpoint) {
        let mut slots = std::mem::take(&mut checkpoint.body.slots);
        let mut npcs = std::mem::take(&mut checkpoint.body.npcs);
        let mut game = std::mem::take(&mut checkpoint.body.game);
        // Element by element, since a whole copy of another length would ask for memory.
        self.roster.slots().clone_into(&mut slots);
        self.npcs.copy_into(&mut npcs);
        self.game.copy_into(&mut game);
        checkpoint.body = self.body(slots, npcs, game);
    }

    fn body<S, N, G>(&self, slots: S, npcs: N, game: G) -> Body<S, N, G> {
        Body {
            terrain: self.setting.ground.terrain.fingerprint(),
            scenery: self.setting.scenery.fingerprint(),
            cast: self.cast_mark(),
            id: self.setting.id,
            epoch: self.setting.epoch,
            local_ids: self.local_ids.range().clone(),
            next_sequence: self.delta.next_sequence,
            next_local_id: self.local_ids.used().next,
            local_ids_wrapped: self.local_ids.used().wrapped,
            sub_step_carry: self.movement.sub_step_carry(),
            resync: self.resync.clone(),
            slots,
            npcs,
            game,
        }
    }

    /// A world that goes on where [`World::snapshot`] was taken.
    ///
    /// With the same number, epoch and local ids its frames are numbered on. Else they begin at 0, and the first ones carry a
    /// snapshot for replicas.
    ///
    /// The configuration may have other local ids: everybody gets the one at the same place in that range, so that nobody is
    /// taken for somebody else. The seed is the configuration's; with another one chance falls differently from here on.
    ///
    /// # Errors
    /// [`RestoreError`]; the bytes are checked before anything is made of them.
    ///
    /// # Panics
    /// As [`World::new`].
    pub fn restore(config: WorldConfig, bytes: &[u8]) -> Result<Self, RestoreError> {
        Self::from_body(config, postcard::from_bytes(verified_body(bytes)?)?, Follow::On)
    }

    /// As [`World::restore`], without the visitors: as if all of them had left. Of a world that was put away their circuits are
    /// gone, and its frames are numbered from 0 whatever its epoch is. Where the cast has other missions by now, or damage is on or off
    /// otherwise, missions and health begin anew.
    ///
    /// # Errors
    /// [`RestoreError`].
    ///
    /// # Panics
    /// As [`World::new`].
    pub fn restore_without_visitors(config: WorldConfig, bytes: &[u8]) -> Result<Self, RestoreError> {
        let mut body: OwnedBody = postcard::from_bytes(verified_body(bytes)?)?;
        body.slots.clear();
        Self::from_body(config, body, Follow::Anew)
    }

    /// As [`World::restore`], from a checkpoint.
    ///
    /// # Errors
    /// [`RestoreError`], but for those of bytes.
    ///
    /// # Panics
    /// As [`World::new`].
    pub fn resume(config: WorldConfig, checkpoint: &Checkpoint) -> Result<Self, RestoreError> {
        Self::from_body(config, checkpoint.body.clone(), Follow::On)
    }

    /// How far it has come with its local ids.
    #[must_use]
    pub const fn ids_used(&self) -> IdsUsed {
        self.local_ids.used()
    }

    /// Goes on behind the local ids that an earlier life of this world has used.
    pub const fn skip_ids(&mut self, used: IdsUsed) {
        self.local_ids.skip(used);
    }

    fn cast_mark(&self) -> CastMark {
        self.setting.cast.as_ref().map_or_else(|| NOBODY.clone(), |cast| cast.mark().clone())
    }

    fn from_body(config: WorldConfig, mut body: OwnedBody, follow: Follow) -> Result<Self, RestoreError> {
        let mut world = Self::new(config);
        world.is_the_place_of(&body)?;
        let keeps_game = world.can_go_on_with(&body.cast, follow)?;
        let is_sound = body.resync.is_sound()
            && body.local_ids.start <= body.next_local_id
            && body.next_local_id <= body.local_ids.end
            && body.next_sequence < TIME_MAX;
        if !is_sound {
            return Err(RestoreError::Inconsistent);
        }
        world.movement = Movement::restored(body.sub_step_carry).ok_or(RestoreError::Inconsistent)?;
        let renaming = Renaming { from: body.local_ids.clone(), to: world.local_ids.range().clone() };
        let visitors = body.slots.iter().flatten().map(|presence| presence.id);
        renaming.check(visitors.clone().chain(body.npcs.ids()))?;
        // Ids are given in order; only once they have begun anew is it looked whether one is taken.
        let is_given = |id: LocalId| body.local_ids_wrapped || id.0 < body.next_local_id;
        if !visitors.chain(body.npcs.ids()).all(is_given) {
            return Err(RestoreError::Inconsistent);
        }
        let is_same_life = follow == Follow::On
            && (body.id, body.epoch) == (world.setting.id, world.setting.epoch)
            && renaming.changes_nothing();
        if is_same_life {
            world.delta.next_sequence = body.next_sequence;
            world.resync = body.resync;
        } else {
            world.ask_for_snapshot();
            body.npcs.forget_news();
        }
        let used = IdsUsed { next: body.next_local_id, wrapped: body.local_ids_wrapped };
        world.local_ids.follow(used, &renaming);
        world.take_visitors(body.slots, &renaming)?;
        world.take_npcs(body.npcs, &body.cast, &renaming)?;
        if keeps_game {
            world.take_game(body.game)?;
        }
        // Else whoever looks for a free local id would look for ever.
        if world.roster.len() + world.npcs.len() >= world.local_ids.range().len() {
            return Err(RestoreError::Inconsistent);
        }
        Ok(world)
    }

    /// Whether what stands here, and who lives here, is what was there.
    fn is_the_place_of(&self, body: &OwnedBody) -> Result<(), RestoreError> {
        let expected = self.setting.ground.terrain.fingerprint();
        if body.terrain != expected {
            return Err(RestoreError::OtherTerrain { expected, found: body.terrain });
        }
        let expected = self.setting.scenery.fingerprint();
        if body.scenery != expected {
            return Err(RestoreError::OtherScenery { expected, found: body.scenery });
        }
        Ok(())
    }

    /// Whether missions and health go on as well. Where a world was put away they begin anew if there are other ones by now, and the rest
    /// goes on all the same.
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
    ) -> Result<(), RestoreError> {
        self.roster = Roster::from_slots(slots).ok_or(RestoreError::Inconsistent)?;
        let mut ids = BTreeSet::new();
        let mut hash = 0_u64;
        for (slot, presence) in self.roster.iter_mut() {
            presence.id = renaming.of(presence.id).ok_or(RestoreError::Inconsistent)?;
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
        // First, since what they have in mind need not be anything to those who follow this cast.
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

    fn take_game(&mut self, game: Game) -> Result<(), RestoreError> {
        let Some(cast) = &self.setting.cast else { return Ok(()) };
        if !game.is_sound(&cast.plan) {
            return Err(RestoreError::Inconsistent);
        }
        self.game = game;
        self.game.settle_hash();
        Ok(())
    }
}

fn encode<S: Serialize, N: Serialize, G: Serialize>(body: &Body<S, N, G>) -> Vec<u8> {
    let header = vec![0; HEADER_LEN];
    let mut bytes = postcard::to_extend(body, header).expect("plain data in memory always encodes");
    let checksum = checksum(&bytes[HEADER_LEN..]);
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
    bytes[6..HEADER_LEN].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn verified_body(bytes: &[u8]) -> Result<&[u8], RestoreError> {
    let (magic, rest) = bytes.split_first_chunk::<4>().ok_or(RestoreError::NotASnapshot)?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or(RestoreError::NotASnapshot)?;
    let (sum, body) = rest.split_first_chunk::<8>().ok_or(RestoreError::NotASnapshot)?;
    if *magic != MAGIC {
        return Err(RestoreError::NotASnapshot);
    }
    match u16::from_le_bytes(*version) {
        VERSION => {}
        found => return Err(RestoreError::Version { found }),
    }
    // A fuzzer never guesses a checksum, and what lies behind it has to hold as well.
    if u64::from_le_bytes(*sum) != checksum(body) && !cfg!(fuzzing) {
        return Err(RestoreError::Damaged);
    }
    Ok(body)
}

fn checksum(body: &[u8]) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.bytes(body);
    hasher.finish()
}

#[cfg(test)]
mod tests;
