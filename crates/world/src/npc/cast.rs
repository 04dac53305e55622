//! What the NPCs of a template share: where they can walk and see, what they are, how they behave, where they begin.
//!
//! Immutable, and behind an `Arc` in every world of the template. A world's own is what it takes for each of them.

use crate::{command::Appearance, presence::SPEED_MAX_M_PER_S, scenery::Scenery, terrain::Terrain};
use glam::{Vec2, Vec3};
use ids::Uuid;
use nav::{
    BuildError, Ground, NavMesh, PolyRef, Solid, Solids, SolidsError, Spot, Walker,
    behavior::{BehaviorId, BehaviorSet, Problems, Source, Vocabulary},
    senses::{DetailPolicy, KindId, Sight},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// NPCs of one world at most. Whoever looks considers everybody, so that this is what a look costs.
pub const NPCS_MAX: usize = 256;

/// How far a spawn may lie from where one can walk, metres.
const SPAWN_REACH_M: f32 = 3.0;

/// A kind of NPC, beside what behaviours need to know of it ([`nav::behavior::Kind`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Actor {
    /// Blows that it takes, in points of damage.
    pub health: u16,
    /// Metres a second.
    pub walk_m_per_s: f32,
    /// Metres a second.
    pub run_m_per_s: f32,
    /// How well it sees and hears.
    pub sight: Sight,
    /// Seconds that it lies where it fell.
    pub lies_s: u16,
    /// Seconds from then until it is back where it began; 0 is never.
    pub respawn_s: u16,
    /// How it looks. Clients show who looks like nothing as a cloud.
    #[serde(skip)]
    pub appearance: Option<Arc<Appearance>>,
}

impl Default for Actor {
    fn default() -> Self {
        Self {
            health: 100,
            walk_m_per_s: crate::WALK_M_PER_S,
            run_m_per_s: crate::RUN_M_PER_S,
            sight: Sight::default(),
            lies_s: 5,
            respawn_s: 20,
            appearance: None,
        }
    }
}

/// One NPC as it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Spawn {
    /// Its kind, by name.
    pub kind: String,
    /// Its behaviour, by name.
    pub behavior: String,
    /// First name as shown.
    pub first_name: String,
    /// Last name as shown.
    pub last_name: String,
    /// Where it stands, metres from the corner; the height is that of its feet, and where there are several storeys the nearest counts.
    pub position: Vec3,
    /// Direction that it faces; only x and y count.
    pub look_at: Vec3,
}

/// What a cast is made from.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Names that behaviours use.
    pub vocabulary: Vocabulary,
    /// In the order of the vocabulary's kinds.
    pub actors: Vec<Actor>,
    /// In the order of the vocabulary's animations.
    pub animations: Vec<Uuid>,
    /// Files of behaviours: name and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// In the order of their numbers.
    pub spawns: Vec<Spawn>,
    /// Length of a day, seconds of world time; 0 counts as the default, four hours.
    pub day_s: u32,
}

/// A day of the field's worlds.
const DAY_S: u32 = 4 * 3_600;

/// Why there is no cast.
#[derive(Debug, Error)]
pub enum CastError {
    /// Behaviours that cannot be followed, or names that are not there.
    #[error("{0}")]
    Behaviors(Problems),
    /// Things that stand nowhere.
    #[error(transparent)]
    Solids(#[from] SolidsError),
    /// Ground on which nobody can walk.
    #[error(transparent)]
    Mesh(#[from] BuildError),
    /// Lists that belong together and do not.
    #[error("there are {found} {what}, and {expected} are named")]
    Count {
        /// Of what.
        what: &'static str,
        /// In the vocabulary.
        expected: usize,
        /// In the script.
        found: usize,
    },
    /// More than a world takes.
    #[error("{0} NPCs are more than {NPCS_MAX}")]
    TooMany(usize),
    /// A number of a kind that nobody can have.
    #[error("kind {kind:?}: {what} is {value}, and has to be {has_to_be}")]
    Number {
        /// The kind's name.
        kind: String,
        /// Of what.
        what: &'static str,
        /// In the script.
        value: f32,
        /// What it may be.
        has_to_be: &'static str,
    },
    /// A spawn names what is not there.
    #[error("NPC {number} ({name}): there is no {what} {wanted:?}")]
    Unknown {
        /// Which spawn.
        number: usize,
        /// Its name.
        name: String,
        /// Kind or behaviour.
        what: &'static str,
        /// What it names.
        wanted: String,
    },
    /// A spawn from which there is no way to anywhere.
    #[error("NPC {number} ({name}) stands at {position}, where nobody can walk")]
    Nowhere {
        /// Which spawn.
        number: usize,
        /// Its name.
        name: String,
        /// Where.
        position: Vec3,
    },
}

/// What all worlds of a template have in common of their NPCs.
#[derive(Debug)]
pub struct Cast {
    pub(super) mesh: NavMesh,
    pub(super) view: nav::Sight,
    pub(super) behaviors: BehaviorSet,
    pub(super) policy: DetailPolicy,
    pub(super) actors: Vec<Actor>,
    pub(super) animations: Vec<Uuid>,
    pub(super) roles: Vec<Role>,
    pub(super) day_s: u32,
    fingerprint: u64,
}

/// A spawn with all names looked up.
#[derive(Clone, Debug)]
pub(super) struct Role {
    pub(super) kind: KindId,
    pub(super) behavior: BehaviorId,
    pub(super) first_name: String,
    pub(super) last_name: String,
    pub(super) spot: Spot,
    pub(super) facing: Vec2,
}

impl Cast {
    /// Builds the mesh, loads the behaviours, finds everybody a place. Takes seconds: it is a long task's work. `go_on` is asked now and then
    /// whether to.
    ///
    /// # Errors
    /// [`CastError`].
    pub fn new(
        script: Script,
        terrain: &Terrain,
        scenery: &Scenery,
        water_m: f32,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Self, CastError> {
        let Script { vocabulary, actors, animations, files, spawns, day_s } = script;
        let counts = [
            ("actors", vocabulary.kinds.len(), actors.len()),
            ("animations", vocabulary.animations.len(), animations.len()),
        ];
        for (what, expected, found) in counts {
            if expected != found {
                return Err(CastError::Count { what, expected, found });
            }
        }
        if spawns.len() > NPCS_MAX {
            return Err(CastError::TooMany(spawns.len()));
        }
        for (kind, actor) in vocabulary.kinds.iter().zip(&actors) {
            check(&kind.name, actor)?;
        }
        let sources: Vec<Source<'_>> = files.iter().map(|(file, bytes)| Source { file, bytes }).collect();
        let behaviors = BehaviorSet::load(&sources, &vocabulary).map_err(CastError::Behaviors)?.set;

        let ground = ground_of(terrain);
        let solid = |standing: &crate::scenery::Standing| Solid {
            centre: standing.position,
            rotation: standing.rotation,
            size: standing.prim.scale,
        };
        let solids: Vec<Solid> = scenery.prims().iter().map(solid).collect();
        let solids = Arc::new(Solids::new(terrain.size_m(), &solids)?);
        let mesh = NavMesh::build(ground, &solids, &Walker { water_m, ..Walker::default() }, go_on)?;

        let mut roles = Vec::with_capacity(spawns.len());
        for (number, spawn) in spawns.into_iter().enumerate() {
            roles.push(role(number, spawn, &vocabulary, &behaviors, &mesh, ground)?);
        }
        let day_s = if day_s == 0 { DAY_S } else { day_s };
        let mut hasher = crate::hash::StateHasher::new();
        hasher.u32(day_s);
        animations.iter().for_each(|id| hasher.bytes(id.as_bytes()));
        hash_people(&mut hasher, &actors, &roles);
        hasher.u64(mesh.fingerprint());
        hasher.u64(behaviors.fingerprint());
        Ok(Self {
            view: nav::Sight::new(ground, solids),
            mesh,
            behaviors,
            policy: DetailPolicy::default(),
            actors,
            animations,
            roles,
            day_s,
            fingerprint: hasher.finish(),
        })
    }

    /// How many NPCs it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.roles.len()
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    /// A number that differs when anything does that NPCs go by; a snapshot names its cast by it.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Where one can walk.
    #[must_use]
    pub const fn mesh(&self) -> &NavMesh {
        &self.mesh
    }

    pub(super) fn actor(&self, kind: KindId) -> &Actor {
        &self.actors[usize::from(kind.0) - 1]
    }
}

/// A world's ground as meshes and rays know it.
pub(super) fn ground_of(terrain: &Terrain) -> Ground<'_> {
    Ground::new(terrain.size_m(), terrain.heights()).expect("a terrain has as many samples as its size says")
}

fn role(
    number: usize,
    spawn: Spawn,
    vocabulary: &Vocabulary,
    behaviors: &BehaviorSet,
    mesh: &NavMesh,
    ground: Ground<'_>,
) -> Result<Role, CastError> {
    let Spawn { kind, behavior, first_name, last_name, position, look_at } = spawn;
    let name = || format!("{first_name} {last_name}");
    let unknown =
        |what, wanted: &str| CastError::Unknown { number, name: name(), what, wanted: wanted.to_owned() };
    let index = vocabulary.kinds.iter().position(|known| known.name == kind);
    // Kinds count from 1: 0 are players.
    let kind = KindId(index.ok_or_else(|| unknown("kind", &kind))? as u8 + 1);
    let behavior = behaviors.behavior(&behavior).ok_or_else(|| unknown("behaviour", &behavior))?;
    let spot = mesh.locate(ground, position, SPAWN_REACH_M, PolyRef::NONE);
    let spot = spot.ok_or_else(|| CastError::Nowhere { number, name: name(), position })?;
    let facing = look_at.truncate().normalize_or(Vec2::X);
    Ok(Role { kind, behavior, first_name, last_name, spot, facing })
}

/// Numbers that would make somebody walk backwards, for ever or nowhere are errors.
fn check(kind: &str, actor: &Actor) -> Result<(), CastError> {
    let wrong =
        |what, value, has_to_be| Err(CastError::Number { kind: kind.to_owned(), what, value, has_to_be });
    for (what, speed) in [("walk_m_per_s", actor.walk_m_per_s), ("run_m_per_s", actor.run_m_per_s)] {
        if !(0.1..=SPEED_MAX_M_PER_S).contains(&speed) {
            return wrong(what, speed, "between 0.1 and 128");
        }
    }
    let Sight { radius_m, half_view_cos, close_m, eyes_m, memory_ms: _, hearing } = actor.sight;
    for (what, length) in [
        ("sight.radius_m", radius_m),
        ("sight.close_m", close_m),
        ("sight.eyes_m", eyes_m),
        ("sight.hearing", hearing),
    ] {
        if !(0.0..=1_000.0).contains(&length) {
            return wrong(what, length, "between 0 and 1000");
        }
    }
    if !(-1.0..=1.0).contains(&half_view_cos) {
        return wrong("sight.half_view_cos", half_view_cos, "between -1 and 1");
    }
    Ok(())
}

fn hash_people(hasher: &mut crate::hash::StateHasher, actors: &[Actor], roles: &[Role]) {
    for actor in actors {
        hasher
            .u64(u64::from(actor.health) << 32 | u64::from(actor.lies_s) << 16 | u64::from(actor.respawn_s));
        hasher.f32(actor.walk_m_per_s);
        hasher.f32(actor.run_m_per_s);
        let Sight { radius_m, half_view_cos, close_m, eyes_m, memory_ms, hearing } = actor.sight;
        [radius_m, half_view_cos, close_m, eyes_m, hearing].into_iter().for_each(|value| hasher.f32(value));
        hasher.u32(memory_ms);
    }
    for role in roles {
        hasher.u64(u64::from(role.kind.0) << 32 | u64::from(role.behavior.0));
        hasher.bytes(role.first_name.as_bytes());
        hasher.bytes(role.last_name.as_bytes());
        hasher.vec3(role.spot.at.extend(role.facing.x));
        hasher.u64(u64::from(role.spot.poly.0) << 32 | u64::from(role.facing.y.to_bits()));
    }
}
