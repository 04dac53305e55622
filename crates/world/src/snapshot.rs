//! A world's whole state: everything that decides its future, so that a restored world goes on with the same frames.
//!
//! As values it is a [`Checkpoint`], which shares names and looks with the world and is cheap enough to be taken in a step
//! (`cargo bench -p world`). As bytes it is a snapshot:
//!
//! ```text
//! "THRW" | version u16 | checksum u64 | body (postcard)          integers little-endian
//! ```
//!
//! Ground and scenery are not in it, only their fingerprints: they are stored once and shared. Counters are not state.

use crate::{
    hash::StateHasher,
    movement::SUB_STEP_DUE,
    npc::Npcs,
    presence::Presence,
    resync::Resync,
    roster::Roster,
    world::{World, WorldConfig},
};
use ids::Epoch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use thiserror::Error;

const MAGIC: [u8; 4] = *b"THRW";

/// Rises whenever the body changes its form.
const VERSION: u16 = 3;

const HEADER_LEN: usize = MAGIC.len() + 2 + 8;

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
    /// It stands on other ground than the configuration's.
    #[error("the snapshot stands on terrain {found:016x}, not on {expected:016x}")]
    OtherTerrain {
        /// Fingerprint of the configured terrain.
        expected: u64,
        /// Fingerprint in the snapshot.
        found: u64,
    },
    /// Others live in it than the configuration's.
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

/// The body; `S` holds the slots and `N` the NPCs, borrowed to write and owned to read.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Body<S, N> {
    terrain: u64,
    scenery: u64,
    cast: u64,
    epoch: Epoch,
    next_sequence: u64,
    next_local_id: u32,
    local_ids_wrapped: bool,
    sub_step_carry: u64,
    resync: Resync,
    slots: S,
    npcs: N,
}

/// The whole state of a world between two steps, to begin again from in the same process, or to be encoded elsewhere than on
/// the world's thread.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    body: Body<Vec<Option<Presence>>, Npcs>,
}

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
    next: u32,
    wrapped: bool,
}

impl World {
    /// The whole state between two steps, as bytes.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        encode(&self.body(self.roster.slots(), &self.npcs))
    }

    /// The whole state between two steps, as values. Takes an allocation for each avatar and one for all: encoding it
    /// costs more by far.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { body: self.body(self.roster.slots().to_vec(), self.npcs.clone()) }
    }

    /// As [`Self::checkpoint`], into the memory of a former one: of thousands it is megabytes, which the system would have to make
    /// and clear anew each time.
    pub fn checkpoint_into(&self, checkpoint: &mut Checkpoint) {
        let mut slots = std::mem::take(&mut checkpoint.body.slots);
        let mut npcs = std::mem::take(&mut checkpoint.body.npcs);
        // Element by element, since a whole copy of another length would ask for memory.
        self.roster.slots().clone_into(&mut slots);
        self.npcs.copy_into(&mut npcs);
        checkpoint.body = self.body(slots, npcs);
    }

    fn body<S, N>(&self, slots: S, npcs: N) -> Body<S, N> {
        Body {
            terrain: self.ground.terrain.fingerprint(),
            scenery: self.scenery.fingerprint(),
            cast: self.cast_fingerprint(),
            epoch: self.epoch,
            next_sequence: self.next_sequence,
            next_local_id: self.next_local_id,
            local_ids_wrapped: self.local_ids_wrapped,
            sub_step_carry: self.sub_step_carry,
            resync: self.resync.clone(),
            slots,
            npcs,
        }
    }

    /// A world that goes on where [`World::snapshot`] was taken.
    ///
    /// In the same epoch its frames are numbered on. In another one they begin at 0, and the first ones carry a snapshot
    /// for replicas.
    ///
    /// # Errors
    /// [`RestoreError`]; the bytes are checked before anything is made of them.
    ///
    /// # Panics
    /// As [`World::new`].
    pub fn restore(config: WorldConfig, bytes: &[u8]) -> Result<Self, RestoreError> {
        Self::from_body(config, postcard::from_bytes(verified_body(bytes)?)?)
    }

    /// As [`World::restore`], from a checkpoint.
    ///
    /// # Errors
    /// [`RestoreError::Inconsistent`] when the state that was kept is one that no step leaves,
    /// [`RestoreError::OtherTerrain`] and [`RestoreError::OtherScenery`].
    ///
    /// # Panics
    /// As [`World::new`].
    pub fn resume(config: WorldConfig, checkpoint: &Checkpoint) -> Result<Self, RestoreError> {
        Self::from_body(config, checkpoint.body.clone())
    }

    /// How far it has come with its local ids.
    #[must_use]
    pub const fn ids_used(&self) -> IdsUsed {
        IdsUsed { next: self.next_local_id, wrapped: self.local_ids_wrapped }
    }

    /// Goes on behind the local ids that an earlier life of this world has used.
    pub const fn skip_ids(&mut self, used: IdsUsed) {
        self.next_local_id = used.next;
        self.local_ids_wrapped = used.wrapped;
    }

    fn cast_fingerprint(&self) -> u64 {
        self.cast.as_ref().map_or(0, |cast| cast.fingerprint())
    }

    fn from_body(config: WorldConfig, body: Body<Vec<Option<Presence>>, Npcs>) -> Result<Self, RestoreError> {
        let mut world = Self::new(config);
        let expected = world.ground.terrain.fingerprint();
        if body.terrain != expected {
            return Err(RestoreError::OtherTerrain { expected, found: body.terrain });
        }
        let expected = world.scenery.fingerprint();
        if body.scenery != expected {
            return Err(RestoreError::OtherScenery { expected, found: body.scenery });
        }
        let expected = world.cast_fingerprint();
        if body.cast != expected {
            return Err(RestoreError::OtherCast { expected, found: body.cast });
        }
        let sound = body.resync.is_sound(world.standing.len())
            && body.sub_step_carry < SUB_STEP_DUE
            && body.next_local_id >= world.local_ids.start
            && body.next_sequence < u64::MAX / 2;
        if !sound {
            return Err(RestoreError::Inconsistent);
        }
        if body.epoch == world.epoch {
            world.next_sequence = body.next_sequence;
            world.resync = body.resync;
        } else {
            world.ask_for_snapshot();
        }
        world.next_local_id = body.next_local_id;
        world.local_ids_wrapped = body.local_ids_wrapped;
        world.sub_step_carry = body.sub_step_carry;
        world.roster = Roster::from_slots(body.slots).ok_or(RestoreError::Inconsistent)?;
        let mut ids = BTreeSet::new();
        for (slot, presence) in world.roster.iter_mut() {
            if !presence.revive(slot, &world.ground) || !ids.insert(presence.id) {
                return Err(RestoreError::Inconsistent);
            }
            world.presences_hash = world.presences_hash.wrapping_add(presence.hashes.whole);
        }
        let is_sound = match &world.cast {
            Some(cast) => body.npcs.is_sound(cast),
            None => body.npcs.is_empty(),
        };
        world.npcs = body.npcs;
        if !is_sound || !world.npcs.revive() || !world.npcs.ids().all(|id| ids.insert(id)) {
            return Err(RestoreError::Inconsistent);
        }
        Ok(world)
    }
}

fn encode<S: Serialize, N: Serialize>(body: &Body<S, N>) -> Vec<u8> {
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
mod tests {
    use super::*;
    use crate::{
        command::{Action, Command, Enter},
        frame::Frame,
        presence::Presence,
        terrain::Terrain,
    };
    use glam::{Quat, Vec3};
    use ids::{AgentId, LocalId, SessionKey, Tick, Uuid, WorldId};
    use std::{sync::Arc, time::Duration};

    fn config() -> WorldConfig {
        WorldConfig {
            id: WorldId(0),
            epoch: Epoch(0),
            size_m: 256,
            local_ids: 1..1_000,
            terrain: Arc::new(Terrain::flat(256, 21.0)),
            scenery: Arc::default(),
            cast: None,
            water_m: 20.0,
            max_avatars: 10,
            seed: 1,
        }
    }

    fn world_of_two() -> World {
        let enter = |session| Command {
            session: SessionKey(session),
            sequence: 0,
            action: Action::Enter(Box::new(Enter {
                agent: AgentId(Uuid::from_u128(1)),
                first_name: "Ada".into(),
                last_name: "Resident".into(),
                position: Vec3::splat(50.0),
                look_at: Vec3::X,
                flying: false,
                appearance: None,
            })),
        };
        let mut world = World::new(config());
        let mut commands = vec![enter(1), enter(2)];
        world.step(Tick(0), Duration::from_millis(50), 1.0, &mut commands, &mut Frame::empty());
        world
    }

    #[test]
    fn a_world_without_npcs_remembers_no_blows() {
        let mut world = world_of_two();
        for sequence in 1..100 {
            let action = Action::Animate(vec![(crate::animations::PUNCH_LEFT, true)]);
            let mut commands = vec![Command { session: SessionKey(1), sequence, action }];
            world.step(Tick(sequence), Duration::from_millis(50), 1.0, &mut commands, &mut Frame::empty());
        }
        assert!(world.punches.is_empty());
    }

    /// Bytes that are whole and still describe no world: those of a bug, or of an attacker who can compute checksums.
    #[test]
    fn impossible_worlds_are_refused() {
        let first = |world: &mut World, spoil: fn(&mut Presence)| spoil(world.roster.get_mut(0).unwrap());
        let spoilt: [&dyn Fn(&mut World); 7] = [
            &|world| first(world, |presence| presence.motion.position.x = f32::NAN),
            &|world| first(world, |presence| presence.motion.position.z = 3.0),
            &|world| first(world, |presence| presence.motion.velocity = Vec3::splat(1e30)),
            &|world| {
                first(world, |presence| presence.controls.body_rotation = Quat::from_xyzw(0.0, 0.0, 0.0, 0.0))
            },
            &|world| first(world, |presence| presence.id = LocalId(2)),
            &|world| first(world, |presence| Arc::make_mut(&mut presence.identity).session = SessionKey(2)),
            &|world| world.sub_step_carry = u64::MAX,
        ];
        assert!(World::restore(config(), &world_of_two().snapshot()).is_ok());
        for (index, spoil) in spoilt.iter().enumerate() {
            let mut world = world_of_two();
            spoil(&mut world);
            let result = World::restore(config(), &world.snapshot());
            assert!(matches!(result, Err(RestoreError::Inconsistent)), "case {index}: {result:?}");
        }
    }
}
