//! Shared data of a template's NPCs: walkable mesh, line of sight, kinds, behaviours, spawns.
//!
//! Immutable, and behind an `Arc` in every world of the template. A world owns only the state of each NPC.

use crate::{
    game::{GameFaults, GameRules, GameSite, GameSource, NoGame},
    outcome::{NPCS_MAX, NpcSet},
    presence::SPEED_MAX_M_PER_S,
};
use behavior::{
    BehaviorId, BehaviorSet, Names, Problems, Source, Vocabulary,
    senses::{Acuity, DetailPolicy, KindId},
};
use glam::{Vec2, Vec3};
use ids::Uuid;
use link::{Appearance, Looks, Scenery, Terrain};
use nav::{BuildError, GroundHeights, MeshPoint, NavMesh, PolyRef, Solid, Solids, SolidsError, WalkerSize};
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};
use thiserror::Error;

/// Maximum distance between a spawn and the walkable mesh, metres.
const SPAWN_REACH_M: f32 = 3.0;

/// A kind of NPC, without its part in behaviours ([`behavior::Kind`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Actor {
    /// Blows that it takes, in points of damage.
    pub health: u16,
    /// Metres a second.
    pub walk_m_per_s: f32,
    /// Metres a second.
    pub run_m_per_s: f32,
    /// Vision and hearing.
    pub sight: Acuity,
    /// Seconds that it lies where it fell.
    pub lies_s: u16,
    /// Seconds from then until it is back where it began; 0 is never.
    pub respawn_s: u16,
    /// Visible outfit.
    pub looks: Looks,
}

impl Default for Actor {
    fn default() -> Self {
        Self {
            health: 100,
            walk_m_per_s: crate::WALK_M_PER_S,
            run_m_per_s: crate::RUN_M_PER_S,
            sight: Acuity::default(),
            lies_s: 5,
            respawn_s: 20,
            looks: Looks::Person,
        }
    }
}

/// One NPC as it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spawn {
    /// Its kind, by name.
    pub kind: String,
    /// Its behaviour, by name.
    pub behavior: String,
    /// First name as shown.
    pub first_name: String,
    /// Last name as shown.
    pub last_name: String,
    /// Spawn position, metres from the corner; z is the height of the feet and selects the storey.
    pub position: Vec3,
    /// Direction that it faces; only x and y count.
    pub look_at: Vec3,
}

/// Source of a cast.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// The visitors' game, if any. It is stored beside the script's own encoding, since only the game's crate can write it.
    #[serde(skip)]
    pub game: Option<Arc<dyn GameSource>>,
}

/// A day of the field's worlds.
const DAY_S: u32 = 4 * 3_600;

/// All that is wrong with a script.
#[derive(Debug)]
pub struct CastErrors(pub Vec<CastError>);

impl fmt::Display for CastErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for error in &self.0 {
            write!(f, "{separator}{error}")?;
            separator = "\n";
        }
        Ok(())
    }
}

impl std::error::Error for CastErrors {}

impl<E: Into<CastError>> From<E> for CastErrors {
    fn from(error: E) -> Self {
        Self(vec![error.into()])
    }
}

/// Something that is wrong with it.
#[derive(Debug, Error)]
pub enum CastError {
    /// Behaviours that cannot be followed, or names that are not there.
    #[error(transparent)]
    Behaviors(#[from] Problems),
    /// Solids with an impossible place or size.
    #[error(transparent)]
    Solids(#[from] SolidsError),
    /// No part of the ground is walkable.
    #[error(transparent)]
    Mesh(#[from] BuildError),
    /// Lists that belong together and do not.
    #[error("{found} {what} for {expected} names")]
    Count {
        /// The counted items.
        what: &'static str,
        /// In the vocabulary.
        expected: usize,
        /// In the script.
        found: usize,
    },
    /// More than a world takes.
    #[error("{0} NPCs are more than {NPCS_MAX}")]
    TooMany(usize),
    /// A number of a kind is out of range.
    #[error("kind {kind:?}: {what} is {value}; it must be {has_to_be}")]
    Number {
        /// The kind's name.
        kind: String,
        /// The kind of name.
        what: &'static str,
        /// In the script.
        value: f32,
        /// Allowed range.
        has_to_be: &'static str,
    },
    /// A spawn names something unknown.
    #[error("NPC {number} ({name}): there is no {what} {wanted:?}")]
    Unknown {
        /// Index of the spawn.
        number: usize,
        /// Its name.
        name: String,
        /// Kind or behaviour.
        what: &'static str,
        /// The unknown name.
        wanted: String,
    },
    /// The game has faults.
    #[error("{0}")]
    Game(GameFaults),
    /// A spawn from which there is no way to anywhere.
    #[error("NPC {number} ({name}) stands at {position}, which is not walkable")]
    Nowhere {
        /// Index of the spawn.
        number: usize,
        /// Its name.
        name: String,
        /// Its position, metres.
        position: Vec3,
    },
}

/// Identity of a cast, with the data that another cast needs to take over a world's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CastMark {
    /// [`NpcCast::fingerprint`].
    pub(crate) fingerprint: u64,
    /// [`NavMesh::fingerprint`] of the mesh.
    pub(crate) ground: u64,
    /// Hash of the NPCs, without their behaviours.
    pub(crate) people: u64,
    /// Hash of the missions and the damage setting.
    pub(crate) plan: u64,
    /// Names behind the numbers in minds.
    pub(crate) names: Arc<Names>,
}

impl CastMark {
    /// True if a state with this mark can continue with that cast, by the rules of a [`CastReload`](crate::CastReload).
    pub(crate) fn fits(&self, cast: Option<&NpcCast>) -> bool {
        let Some(cast) = cast else { return *self == Self::default() };
        self.fingerprint == cast.mark.fingerprint || self.has_plan_of(cast) && self.fits_but_for_plan(cast)
    }

    /// The same if missions may restart.
    pub(crate) fn fits_but_for_plan(&self, cast: &NpcCast) -> bool {
        self.ground == cast.mark.ground && cast.forebears.contains(&self.people)
    }

    /// True if the plan of missions and damage equals that cast's.
    pub(crate) const fn has_plan_of(&self, cast: &NpcCast) -> bool {
        self.plan == cast.mark.plan
    }
}

/// Immutable NPC data of a template, shared by all its worlds.
#[derive(Debug)]
pub struct NpcCast {
    pub(crate) mesh: NavMesh,
    pub(crate) view: nav::SightObstacles,
    pub(crate) behaviors: BehaviorSet,
    pub(crate) policy: DetailPolicy,
    pub(crate) actors: Vec<Actor>,
    pub(crate) animations: Vec<Uuid>,
    pub(crate) roles: Vec<SpawnRole>,
    pub(crate) day_s: u32,
    pub(crate) rules: Arc<dyn GameRules>,
    /// Source of this cast, for building it elsewhere.
    script: Script,
    mark: CastMark,
    /// [`CastMark::people`] of all casts with the same NPCs and with these kinds, or only the first of them: states hold numbers of kinds, and
    /// those that were added behind the others change none.
    forebears: Vec<u64>,
}

/// A spawn with all names looked up.
#[derive(Clone, Debug)]
pub(crate) struct SpawnRole {
    pub(crate) kind: KindId,
    pub(crate) behavior: BehaviorId,
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) spot: MeshPoint,
    pub(crate) facing: Vec2,
    /// Appearance, in all worlds of the cast.
    pub(crate) appearance: Option<Arc<Appearance>>,
}

impl NpcCast {
    /// Builds the mesh, loads the behaviours, places the NPCs. Takes seconds: it belongs in a long task. `go_on` is polled; false
    /// cancels.
    ///
    /// # Errors
    /// [`CastErrors`]: all that is wrong with the script.
    pub fn new(
        script: Script,
        terrain: &Terrain,
        scenery: &Scenery,
        water_m: f32,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Self, CastErrors> {
        let ground = ground_of(terrain);
        let solid = |standing: &link::StaticObject| Solid {
            centre: standing.position,
            rotation: standing.rotation,
            size: standing.prim.scale,
        };
        let solids: Vec<Solid> = scenery.prims().iter().map(solid).collect();
        let solids = Arc::new(Solids::new(terrain.size_m(), &solids)?);
        let mesh = NavMesh::build(ground, &solids, &WalkerSize { water_m, ..WalkerSize::default() }, go_on)?;
        Self::put_together(script, terrain, mesh, nav::SightObstacles::new(ground, solids))
    }

    /// A cast of another script on the same ground. The mesh, which is the expensive part, is reused; `terrain` must be the one that it
    /// was built from.
    ///
    /// # Errors
    /// [`CastErrors`]: all that is wrong with the script.
    pub fn with_script(&self, script: Script, terrain: &Terrain) -> Result<Self, CastErrors> {
        let mut cast = Self::put_together(script, terrain, self.mesh.clone(), self.view.clone())?;
        // States of the game hold their rules: those of worlds that go over to this cast need no second copy.
        if cast.rules.fingerprint() == self.rules.fingerprint() {
            cast.rules = Arc::clone(&self.rules);
        }
        Ok(cast)
    }

    fn put_together(
        script: Script,
        terrain: &Terrain,
        mesh: NavMesh,
        view: nav::SightObstacles,
    ) -> Result<Self, CastErrors> {
        let mut errors = check(&script);
        let Script { vocabulary, actors, animations, files, spawns, day_s, game } = &script;
        let sources: Vec<Source<'_>> = files.iter().map(|(file, bytes)| Source { file, bytes }).collect();
        let behaviors = match BehaviorSet::load(&sources, vocabulary) {
            Ok(loaded) => Some(loaded.set),
            Err(problems) => {
                errors.push(problems.into());
                None
            }
        };
        let mut roles = Vec::new();
        let casting = SpawnResolver {
            vocabulary,
            behaviors: behaviors.as_ref(),
            mesh: &mesh,
            ground: ground_of(terrain),
            actors,
        };
        for (number, spawn) in spawns.iter().take(NPCS_MAX).enumerate() {
            roles.extend(casting.role(number, spawn, &mut errors));
        }
        let site = GameSite {
            members: &|name| members(name, &script),
            floor: &|at| {
                let spot = mesh.locate(casting.ground, at, SPAWN_REACH_M, PolyRef::NONE)?;
                Some(spot.at.extend(mesh.height(casting.ground, spot)))
            },
        };
        let rules = match game {
            Some(game) => game.compile(&site).map_err(|faults| errors.push(CastError::Game(faults))).ok(),
            None => Some(Arc::new(NoGame::default()) as Arc<dyn GameRules>),
        };
        let (Some(behaviors), Some(rules), true) = (behaviors, rules, errors.is_empty()) else {
            return Err(CastErrors(errors));
        };
        let day_s = if *day_s == 0 { DAY_S } else { *day_s };
        let mut hasher = state_hash::StateHasher::new();
        hasher.u32(day_s);
        animations.iter().for_each(|id| hasher.bytes(id.as_bytes()));
        hash_people(&mut hasher, actors, &roles);
        let ground = mesh.fingerprint();
        let n_kinds = vocabulary.kinds.len();
        let n_lived = roles.iter().map(|role| usize::from(role.kind.0)).max().unwrap_or(0);
        hasher.u64(ground);
        hasher.u64(behaviors.fingerprint());
        hasher.u64(rules.fingerprint());
        Ok(Self {
            view,
            mesh,
            policy: DetailPolicy::default(),
            actors: actors.clone(),
            animations: animations.clone(),
            roles,
            day_s,
            mark: CastMark {
                fingerprint: hasher.finish(),
                ground,
                people: hash_names(&script, n_kinds),
                plan: rules.fingerprint(),
                names: Arc::new(behaviors.names().clone()),
            },
            forebears: (n_lived..=n_kinds).map(|n| hash_names(&script, n)).collect(),
            rules,
            script,
            behaviors,
        })
    }

    /// Number of NPCs.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.roles.len()
    }

    /// True without NPCs.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    /// A number that differs when anything does that NPCs go by, or look like; a snapshot names its cast by it.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        self.mark.fingerprint
    }

    /// Identity stored in snapshots.
    pub(crate) const fn mark(&self) -> &CastMark {
        &self.mark
    }

    /// Names of the behaviours, in the order in which the files have them.
    #[must_use]
    pub fn behaviors(&self) -> &[String] {
        &self.behaviors.names().behaviors
    }

    /// Source of this cast.
    #[must_use]
    pub const fn script(&self) -> &Script {
        &self.script
    }

    /// True if NPCs' blows hurt visitors.
    #[must_use]
    pub fn has_damage(&self) -> bool {
        self.rules.has_damage()
    }

    /// Walkable mesh.
    #[must_use]
    pub const fn mesh(&self) -> &NavMesh {
        &self.mesh
    }

    pub(crate) fn actor(&self, kind: KindId) -> &Actor {
        &self.actors[usize::from(kind.0) - 1]
    }
}

/// A world's ground as meshes and rays know it.
pub(crate) fn ground_of(terrain: &Terrain) -> GroundHeights<'_> {
    GroundHeights::new(terrain.size_m(), terrain.heights())
        .expect("a terrain has as many samples as its size says")
}

/// Faults of a script's numbers.
fn check(script: &Script) -> Vec<CastError> {
    let Script { vocabulary, actors, animations, spawns, .. } = script;
    let mut errors = Vec::new();
    let counts = [
        ("actors", vocabulary.kinds.len(), actors.len()),
        ("animations", vocabulary.animations.len(), animations.len()),
    ];
    for (what, expected, found) in counts {
        if expected != found {
            errors.push(CastError::Count { what, expected, found });
        }
    }
    if spawns.len() > NPCS_MAX {
        errors.push(CastError::TooMany(spawns.len()));
    }
    for (kind, actor) in vocabulary.kinds.iter().zip(actors) {
        check_numbers(&kind.name, actor, &mut errors);
    }
    errors
}

/// Resolves the names and positions of spawns.
struct SpawnResolver<'a> {
    vocabulary: &'a Vocabulary,
    /// None if the behaviours have faults: their names are unknown then.
    behaviors: Option<&'a BehaviorSet>,
    mesh: &'a NavMesh,
    ground: GroundHeights<'a>,
    actors: &'a [Actor],
}

impl SpawnResolver<'_> {
    fn role(&self, number: usize, spawn: &Spawn, errors: &mut Vec<CastError>) -> Option<SpawnRole> {
        let Spawn { kind, behavior, first_name, last_name, position, look_at } = spawn;
        let name = || format!("{first_name} {last_name}");
        let unknown = |what, wanted: &str| {
            let wanted = wanted.to_owned();
            CastError::Unknown { number, name: name(), what, wanted }
        };
        let index = self.vocabulary.kinds.iter().position(|known| known.name == *kind);
        if index.is_none() {
            errors.push(unknown("kind", kind));
        }
        let known = self.behaviors.and_then(|set| set.behavior(behavior));
        if self.behaviors.is_some() && known.is_none() {
            errors.push(unknown("behaviour", behavior));
        }
        let spot = self.mesh.locate(self.ground, *position, SPAWN_REACH_M, PolyRef::NONE);
        if spot.is_none() {
            errors.push(CastError::Nowhere { number, name: name(), position: *position });
        }
        let facing = look_at.truncate().normalize_or(Vec2::X);
        // Kinds count from 1: 0 are players.
        let kind = KindId(u8::try_from(index? + 1).ok()?);
        let looks = &self.actors.get(index?)?.looks;
        Some(SpawnRole {
            kind,
            behavior: known?,
            spot: spot?,
            facing,
            appearance: looks.of(first_name, last_name),
            first_name: first_name.clone(),
            last_name: last_name.clone(),
        })
    }
}

/// Hash of the first `n_kinds` kinds and of all NPCs by name, in order.
fn hash_names(script: &Script, n_kinds: usize) -> u64 {
    let mut hasher = state_hash::StateHasher::new();
    hasher.u64(script.spawns.len() as u64);
    script.vocabulary.kinds.iter().take(n_kinds).for_each(|kind| hasher.bytes(kind.name.as_bytes()));
    for Spawn { kind, first_name, last_name, .. } in &script.spawns {
        [kind, first_name, last_name].into_iter().for_each(|name| hasher.bytes(name.as_bytes()));
    }
    hasher.finish()
}

/// NPCs of a kind, or of the kinds of a group.
fn members(name: &str, Script { vocabulary, spawns, .. }: &Script) -> Option<NpcSet> {
    let group = vocabulary.groups.iter().find(|group| group.name == name);
    let is_meant =
        |kind: &str| group.map_or(kind == name, |group| group.members.iter().any(|member| member == kind));
    let is_known = group.is_some() || vocabulary.kinds.iter().any(|kind| kind.name == name);
    let spawns = spawns.iter().take(NPCS_MAX).enumerate();
    is_known.then(|| spawns.filter(|(_, spawn)| is_meant(&spawn.kind)).map(|(number, _)| number).collect())
}

/// Checks an actor's ranges: out of them an NPC would walk backwards, without end or nowhere.
fn check_numbers(kind: &str, actor: &Actor, errors: &mut Vec<CastError>) {
    let Acuity { radius_m, half_view_cos, close_m, eyes_m, memory_ms: _, hearing } = actor.sight;
    let (speeds, lengths) = (0.1..=SPEED_MAX_M_PER_S, 0.0..=1_000.0);
    let ranges = [
        ("walk_m_per_s", actor.walk_m_per_s, &speeds, "between 0.1 and 128"),
        ("run_m_per_s", actor.run_m_per_s, &speeds, "between 0.1 and 128"),
        ("sight.radius_m", radius_m, &lengths, "between 0 and 1000"),
        ("sight.close_m", close_m, &lengths, "between 0 and 1000"),
        ("sight.eyes_m", eyes_m, &lengths, "between 0 and 1000"),
        ("sight.hearing", hearing, &lengths, "between 0 and 1000"),
        ("sight.half_view_cos", half_view_cos, &(-1.0..=1.0), "between -1 and 1"),
    ];
    for (what, value, range, has_to_be) in ranges {
        if !range.contains(&value) {
            errors.push(CastError::Number { kind: kind.to_owned(), what, value, has_to_be });
        }
    }
}

fn hash_people(hasher: &mut state_hash::StateHasher, actors: &[Actor], roles: &[SpawnRole]) {
    for actor in actors {
        hasher
            .u64(u64::from(actor.health) << 32 | u64::from(actor.lies_s) << 16 | u64::from(actor.respawn_s));
        hasher.f32(actor.walk_m_per_s);
        hasher.f32(actor.run_m_per_s);
        actor.looks.fold_into(hasher);
        let Acuity { radius_m, half_view_cos, close_m, eyes_m, memory_ms, hearing } = actor.sight;
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
