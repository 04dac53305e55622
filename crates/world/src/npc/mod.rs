//! The NPC phase: those who have no client, and decide for themselves.
//!
//! A tick in this order: who is due looks and thinks (`think`), and what it intends is begun (`act`); whoever waits for a path is given one, as far
//! as the tick's budget goes; everybody walks (`walk`); who has fallen lies, goes and comes back (`fall`). Then `tell` says what is different.
//!
//! What every tick needs of an NPC ([`Legs`]) stands apart from what only thoughts need ([`Head`]): of twenty thousand NPCs most only walk in a
//! given tick, and what they are made of comes out of memory.
//!
//! Work is counted in looks, thoughts, paths and polygons, never in milliseconds, so that a run can be repeated. The scratch memory
//! belongs to the thread: a thousand worlds need it one after the other.

mod act;
mod cast;
mod fall;
mod tell;
mod think;
mod walk;

pub use cast::{Actor, Cast, CastError, NPCS_MAX, Script, Spawn};
pub(crate) use fall::is_punch;

use crate::{animations::Animator, hash::StateHasher, world::World};
use cast::{Role, ground_of};
use glam::{Vec2, Vec3};
use ids::LocalId;
use nav::{
    Follower, PathFinder, Spot,
    behavior::Mind,
    crowd::{Body, Nearby, Neighbours},
    senses::{Attention, Candidate, EntityId, Journey, Perception, Sounds, Stamp, WorldTime},
};
use serde::{Deserialize, Serialize};
use std::{cell::RefCell, time::Duration};

/// From the soles of an NPC to its middle, metres: half of the default size, since what clients show is as large as that.
const HALF_HEIGHT_M: f32 = 0.95;
/// Half of its width, metres.
const RADIUS_M: f32 = crate::contacts::RADIUS_M;
/// Paths that one tick searches; whoever else waits has its turn in the next ones.
const PATHS_PER_TICK: usize = 4;
/// Polygons that one search looks at; farther goals are reached by several.
const PATH_NODES_MAX: u32 = 768;
/// Every so many ticks an NPC is told how far away the nearest visitor is.
const OBSERVE_TICKS: u64 = 16;

/// All NPCs of one world.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Npcs {
    pub(crate) legs: Vec<Legs>,
    pub(crate) heads: Vec<Head>,
    sounds: Sounds,
    /// Visitors who struck a moment ago, and when.
    struck: Vec<(LocalId, Stamp)>,
    /// World time since the beginning, nanoseconds.
    elapsed_ns: u64,
    /// Ticks since then: who has its turn.
    turns: u64,
    /// Sum of the hashes of all.
    #[serde(skip)]
    pub(crate) hash: u64,
    #[serde(skip)]
    pub(crate) counts: NpcCounts,
}

/// What NPCs have done since the world was made or restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NpcCounts {
    /// NPCs up and about, once a tick each.
    pub ticks: u64,
    /// Of these, those that moved.
    pub moving: u64,
    /// Thoughts.
    pub thoughts: u64,
    /// Looks around.
    pub looks: u64,
    /// Lines of sight asked for.
    pub rays: u64,
    /// Paths searched.
    pub paths: u64,
    /// Polygons looked at for them.
    pub path_nodes: u64,
    /// Times that an NPC waited for its path for another tick.
    pub path_waits: u64,
    /// Blows that hit an NPC.
    pub blows: u64,
    /// NPCs that fell.
    pub falls: u64,
    /// NPCs that came back.
    pub respawns: u64,
}

/// Where an NPC is and how it gets on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Legs {
    pub(crate) spot: Spot,
    /// Height of the soles, metres.
    pub(crate) feet_m: f32,
    pub(crate) velocity: Vec2,
    /// How it would move if nobody was in the way.
    wish: Vec2,
    /// Metres to the next corner of its way.
    left_m: f32,
    /// Metres a second upward, as clients go on to show it.
    pub(crate) climb: f32,
    /// Unit vector.
    pub(crate) facing: Vec2,
    pub(crate) follower: Follower,
    pub(crate) attention: Attention,
    pub(crate) standing: Standing,
    /// Its number in messages; none while it is not in the world.
    pub(crate) id: Option<LocalId>,
    /// A wall was in the way in the last step.
    hindered: bool,
    /// It waits for a path.
    wants_path: bool,
    sits: bool,
    #[serde(skip)]
    pub(crate) news: News,
    #[serde(skip)]
    hash: u64,
}

/// How an NPC is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Standing {
    Up,
    /// It lies where it fell, until then.
    Fallen(Stamp),
    /// It is not in the world until then; for good without a time.
    Gone(Option<Stamp>),
}

/// What the next frame has to tell of an NPC.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct News {
    pub(crate) created: bool,
    pub(crate) moved: bool,
    pub(crate) animated: bool,
}

/// What an NPC thinks with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    mind: Mind,
    perception: Perception,
    health: u16,
    journey: Journey,
    /// What it does about where it wants to be.
    errand: Errand,
    /// The animation that an intent asked for.
    plays: Option<u16>,
    pub(crate) animator: Animator,
}

/// What the last thought wanted of the legs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Errand {
    leg: u8,
    target: Target,
    face: Toward,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Target {
    None,
    Point(Vec3),
    /// Somebody, until so near, metres; and where they were when the way was chosen.
    Somebody {
        who: EntityId,
        within_m: f32,
        at: Vec2,
    },
    Away(Vec3),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Toward {
    Ahead,
    Somebody(EntityId),
    Point(Vec3),
    Heading(f32),
}

/// Memory of a thread, which no result depends on.
#[derive(Default)]
struct Scratch {
    finder: PathFinder,
    neighbours: Neighbours,
    nearby: Nearby,
    /// Everybody who may be noticed: NPCs first, by number, then visitors.
    candidates: Vec<Candidate>,
    /// By NPC: its index among the bodies.
    bodies: Vec<u32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Npcs {
    /// All at the places where they begin, with local ids from `first_id` on.
    pub(crate) fn of(cast: &Cast, terrain: &crate::Terrain, first_id: u32) -> Self {
        let now = WorldTime(0);
        let mut npcs = Self::default();
        for (number, role) in (0u32..).zip(&cast.roles) {
            npcs.legs.push(Legs::at_home(cast, role, terrain, LocalId(first_id + number), number, now));
            npcs.heads.push(Head::new(cast, role, home_of(cast, role, terrain), now));
        }
        npcs.settle_hashes();
        npcs
    }

    pub(crate) fn len(&self) -> usize {
        self.legs.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.legs.is_empty()
    }

    /// Local ids of those who are in the world.
    pub(crate) fn ids(&self) -> impl Iterator<Item = LocalId> {
        self.legs.iter().filter_map(|legs| legs.id)
    }

    fn now(&self) -> WorldTime {
        WorldTime(self.elapsed_ns / 1_000_000)
    }

    /// Makes a copy in the memory of another one, which a checkpoint of every few seconds would have to ask for anew.
    pub(crate) fn copy_into(&self, copy: &mut Self) {
        let Self { legs, heads, sounds, struck, elapsed_ns, turns, hash, counts } = self;
        legs.clone_into(&mut copy.legs);
        heads.clone_into(&mut copy.heads);
        copy.sounds.clone_from(sounds);
        struck.clone_into(&mut copy.struck);
        (copy.elapsed_ns, copy.turns, copy.hash, copy.counts) = (*elapsed_ns, *turns, *hash, *counts);
    }

    /// Completes what came out of a snapshot.
    pub(crate) fn settle_hashes(&mut self) {
        self.hash = 0;
        for (number, (legs, head)) in (0u64..).zip(self.legs.iter_mut().zip(&self.heads)) {
            legs.hash = legs.state_hash(number, head);
            self.hash = self.hash.wrapping_add(legs.hash);
        }
    }

    /// Whether it can have come out of a snapshot of ours, of a world with this cast.
    pub(crate) fn is_sound(&self, cast: &Cast) -> bool {
        let is_there =
            |legs: &Legs| cast.mesh.holds(legs.spot) && legs.velocity.is_finite() && legs.feet_m.is_finite();
        self.legs.len() == cast.roles.len()
            && self.heads.len() == cast.roles.len()
            && self.legs.iter().all(is_there)
    }

    pub(crate) fn revive(&mut self) -> bool {
        let whole = self.heads.iter_mut().all(|head| head.animator.revive());
        self.settle_hashes();
        whole
    }
}

impl World {
    /// One tick of all NPCs.
    #[inline(never)]
    pub(crate) fn step_npcs(&mut self, dt: Duration, out: &mut crate::Frame) {
        let Some(cast) = self.cast.clone() else { return };
        SCRATCH.with_borrow_mut(|scratch| {
            self.list_candidates(&cast, scratch);
            self.overhear(out);
            self.take_punches(&cast, scratch);
            self.observe(&cast, scratch);
            self.think(&cast, scratch, out);
            self.find_paths(&cast, scratch);
            self.walk_npcs(&cast, scratch, dt);
            self.fall_and_rise(&cast);
        });
        self.npcs.elapsed_ns += u64::try_from(dt.as_nanos()).expect("a step is shorter than centuries");
        self.npcs.turns += 1;
    }
}

impl Legs {
    fn at_home(
        cast: &Cast,
        role: &Role,
        terrain: &crate::Terrain,
        id: LocalId,
        number: u32,
        now: WorldTime,
    ) -> Self {
        Self {
            spot: role.spot,
            feet_m: cast.mesh.height(ground_of(terrain), role.spot),
            velocity: Vec2::ZERO,
            wish: Vec2::ZERO,
            left_m: f32::MAX,
            climb: 0.0,
            facing: role.facing,
            follower: Follower::default(),
            attention: Attention::new(number, &cast.policy, now),
            standing: Standing::Up,
            id: Some(id),
            hindered: false,
            wants_path: false,
            sits: false,
            news: News { created: true, ..News::default() },
            hash: 0,
        }
    }

    /// Its middle, metres from the region's corner.
    pub(crate) fn position(&self) -> Vec3 {
        self.spot.at.extend(self.feet_m + HALF_HEIGHT_M)
    }

    fn entity(&self) -> Option<EntityId> {
        EntityId::new(self.id?.0)
    }

    fn body(&self) -> Body {
        Body {
            at: self.spot.at,
            velocity: self.velocity,
            wish: self.wish,
            z: self.feet_m,
            radius: RADIUS_M,
            left_m: self.left_m,
        }
    }

    /// Of all that decides its future, its mind included.
    fn state_hash(&self, number: u64, head: &Head) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(number << 32 | u64::from(self.id.map_or(0, |id| id.0)));
        hasher.vec3(self.spot.at.extend(self.feet_m));
        hasher.vec3(self.velocity.extend(self.climb));
        hasher.vec3(self.wish.extend(self.left_m));
        hasher.u64(u64::from(self.facing.x.to_bits()) << 32 | u64::from(self.facing.y.to_bits()));
        let (kind, until) = match self.standing {
            Standing::Up => (0, 0),
            Standing::Fallen(until) => (1, until.0),
            Standing::Gone(until) => (2 + u64::from(until.is_some()), until.map_or(0, |until| until.0)),
        };
        let flags = u64::from(self.hindered) | u64::from(self.wants_path) << 1 | u64::from(self.sits) << 2;
        hasher.u64(u64::from(until) << 32 | kind << 8 | flags);
        hasher.u64(head.mind.state_hash());
        hasher.u64(u64::from(head.health));
        hasher.finish()
    }
}

impl Head {
    fn new(cast: &Cast, role: &Role, home: Vec3, now: WorldTime) -> Self {
        Self {
            mind: Mind::new(role.behavior, home),
            perception: Perception::new(now),
            health: cast.actor(role.kind).health,
            journey: Journey::default(),
            errand: Errand { leg: 0, target: Target::None, face: Toward::Ahead },
            plays: None,
            animator: Animator::new(),
        }
    }
}

/// Where an NPC's middle is when it stands where it begins.
fn home_of(cast: &Cast, role: &Role, terrain: &crate::Terrain) -> Vec3 {
    role.spot.at.extend(cast.mesh.height(ground_of(terrain), role.spot) + HALF_HEIGHT_M)
}
