//! The NPC phase: avatars without a client.
//!
//! A tick in this order: due NPCs look and think (`think`), and their intents begin (`act`); waiting NPCs get paths within the tick's
//! budget; all walk (`walk`); fallen NPCs lie, vanish and respawn (`fall`). Then `changes` writes the frame. Between two ticks all may
//! get other behaviours (`cast_reload`). Their appearance is a [`link::Looks`].
//!
//! Data of every tick ([`Legs`]) are apart from those of thoughts ([`NpcHead`]): of 20,000 NPCs most only walk in a given tick, and
//! cache misses dominate. `state` hashes, checks and renames both.
//!
//! Work is counted in looks, thoughts, paths and polygons, never in milliseconds, so that runs are deterministic. The scratch memory
//! belongs to the thread: 1,000 worlds use it in turn.

mod act;
mod cast_reload;
mod changes;
mod fall;
mod state;
mod think;
mod walk;

pub use cast_reload::{CastReload, CastReloadRefusal};
pub(crate) use fall::is_punch;

use crate::{
    animations::Animator,
    cast::{NpcCast, SpawnRole, ground_of},
    game::GameState,
    local_ids::LocalIds,
    outcome::{NPCS_MAX, NpcDeeds},
    periods::Span,
    roster::Roster,
    setting::WorldSetting,
};
use behavior::{
    Mind,
    senses::{Attention, Candidate, EntityId, Journey, Perception, Sound, Sounds, Stamp, WorldTime},
};
use glam::{Vec2, Vec3};
use ids::{LocalId, Uuid};
use link::Frame;
use nav::{
    MeshPoint, PathFinder, PathFollower,
    crowd::{CrowdBody, Nearby, Neighbours},
};
use record::Part;
use serde::{Deserialize, Serialize};
use std::{cell::RefCell, time::Duration};
use systems::System;

/// From the soles of an NPC to its middle, metres: half of the default size, the size displayed by clients.
const HALF_HEIGHT_M: f32 = 0.95;
/// Half of its width, metres.
const RADIUS_M: f32 = crate::contacts::RADIUS_M;
/// Path searches per second of world time, four per tick of 20 Hz; further requests wait for the next ticks.
const PATHS_PER_S: u64 = 80;
/// Maximum of these in one tick of any length.
const PATHS_PER_TICK_MAX: u64 = 8;
/// Polygons that one search looks at; farther goals are reached by several.
const PATH_NODES_MAX: u32 = 768;
/// Maximum number of visitors with a running cooldown of their strike; the blows of further ones do not count.
const STRUCK_MAX: usize = 1_024;
/// Milliseconds for which a gesture plays.
const GESTURE_MS: u32 = 4_000;
/// Period of an NPC's distance to the nearest visitor, milliseconds, spread over `OBSERVE_SHARES` groups: NPC `i` is in group `i mod
/// OBSERVE_SHARES`.
const OBSERVE_MS: u64 = 800;
const OBSERVE_SHARES: u64 = 16;

/// All NPCs of one world.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Npcs {
    pub(crate) legs: Vec<Legs>,
    pub(crate) heads: Vec<NpcHead>,
    sounds: Sounds,
    /// Visitors that struck a moment ago, with the times.
    struck: Vec<(LocalId, Stamp)>,
    /// World time since the beginning, nanoseconds.
    elapsed_ns: u64,
    /// Ticks since then; they select the NPCs that have their turn.
    turns: u64,
    /// Results of the tick, for the game.
    #[serde(skip)]
    pub(crate) outcome: NpcDeeds,
    /// Sum of the hashes of all.
    #[serde(skip)]
    hash: u64,
    #[serde(skip)]
    sounds_hash: u64,
    /// Something sounded in this tick.
    #[serde(skip)]
    has_sounded: bool,
    #[serde(skip)]
    pub(crate) counts: NpcCounts,
}

/// The other parts of a world, as far as its NPCs read or change them.
#[derive(Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) setting: &'a WorldSetting,
    pub(crate) roster: &'a Roster,
    /// Knows which visitors have fallen.
    pub(crate) game: &'a dyn GameState,
    /// Visitors that strike in this tick: drained.
    pub(crate) punches: &'a mut Vec<LocalId>,
    pub(crate) local_ids: &'a mut LocalIds,
    pub(crate) departures: &'a mut Vec<LocalId>,
}

impl Npcs {
    /// Their record in snapshots.
    pub(crate) const PART: Part = Part::new(*b"NPCS", "NPCs");
}

/// Totals of NPCs since the world was made or restored.
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
    /// Of these, those that were late by more than the limit.
    pub late_looks: u64,
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
    /// Ways that an NPC gave up because others were in it for long.
    pub given_up: u64,
    /// NPCs that fell.
    pub falls: u64,
    /// NPCs that came back.
    pub respawns: u64,
}

impl NpcCounts {
    /// Each with the label that metrics have for it.
    #[must_use]
    pub const fn all(&self) -> [(&'static str, u64); 13] {
        [
            ("ticks", self.ticks),
            ("moving", self.moving),
            ("thoughts", self.thoughts),
            ("looks", self.looks),
            ("late_looks", self.late_looks),
            ("rays", self.rays),
            ("paths", self.paths),
            ("path_nodes", self.path_nodes),
            ("path_waits", self.path_waits),
            ("given_up", self.given_up),
            ("blows", self.blows),
            ("falls", self.falls),
            ("respawns", self.respawns),
        ]
    }
}

impl std::ops::AddAssign for NpcCounts {
    fn add_assign(&mut self, more: Self) {
        self.ticks += more.ticks;
        self.moving += more.moving;
        self.thoughts += more.thoughts;
        self.looks += more.looks;
        self.late_looks += more.late_looks;
        self.rays += more.rays;
        self.paths += more.paths;
        self.path_nodes += more.path_nodes;
        self.path_waits += more.path_waits;
        self.given_up += more.given_up;
        self.blows += more.blows;
        self.falls += more.falls;
        self.respawns += more.respawns;
    }
}

/// Position and movement of an NPC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Legs {
    pub(crate) spot: MeshPoint,
    /// Height of the soles, metres.
    pub(crate) feet_m: f32,
    pub(crate) velocity: Vec2,
    /// Preferred velocity: the one without obstacles.
    preferred: Vec2,
    /// Metres to the next corner of its way.
    left_m: f32,
    /// Metres a second upward, as clients go on to show it.
    pub(crate) climb: f32,
    /// Unit vector.
    pub(crate) facing: Vec2,
    pub(crate) follower: PathFollower,
    pub(crate) attention: Attention,
    pub(crate) condition: NpcCondition,
    /// Its number in messages; none while it is not in the world.
    pub(crate) id: Option<LocalId>,
    /// A wall was in the way in the last step.
    hindered: bool,
    /// It waits for a path.
    wants_path: bool,
    sits: bool,
    /// Between steps, of a world before its first one only.
    pub(crate) dirty: NpcDirtyFlags,
    /// The animation of movement that the head's animator shows; nil when that has to be asked. Most ticks need nothing else of a head,
    /// which would have to come out of memory.
    #[serde(skip)]
    movement: Uuid,
    /// The head's and that of the way that it chose, as of when one of them changed last.
    #[serde(skip)]
    head_hash: u64,
    #[serde(skip)]
    head_changed: bool,
    #[serde(skip)]
    hash: u64,
}

/// Condition of an NPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NpcCondition {
    Up,
    /// It lies where it fell, until then.
    Fallen(Stamp),
    /// It is not in the world until then; for good without a time.
    Gone(Option<Stamp>),
}

/// Changes of an NPC for the next frame.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct NpcDirtyFlags {
    pub(crate) created: bool,
    pub(crate) moved: bool,
    pub(crate) animated: bool,
    /// Its appearance changed with the cast. In no snapshot: a restored world sends all NPCs in full.
    #[serde(skip)]
    pub(crate) appeared: bool,
}

/// Mind of an NPC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NpcHead {
    mind: Mind,
    perception: Perception,
    health: u16,
    journey: Journey,
    /// Current errand toward its goal.
    errand: Errand,
    /// The animation that an intent asked for.
    plays: Option<u16>,
    /// The last gesture with its end: no event marks that end.
    gesture: Option<(u16, Stamp)>,
    pub(crate) animator: Animator,
}

/// Orders of the last thought to the legs.
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
    /// Another avatar, up to this distance, metres; with its position when the path was chosen.
    Entity {
        who: EntityId,
        within_m: f32,
        at: Vec2,
    },
    Away(Vec3),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Toward {
    Ahead,
    Entity(EntityId),
    Point(Vec3),
    Heading(f32),
}

/// Memory of a thread, which no result depends on. It is taken for the largest world at once: which worlds a thread steps changes at any
/// time, and steady ticks take none.
struct Scratch {
    finder: PathFinder,
    neighbours: Neighbours,
    nearby: Nearby,
    /// All noticeable avatars: NPCs first, by number, then visitors.
    candidates: Vec<Candidate>,
    /// By NPC: its index among the bodies.
    bodies: Vec<u32>,
}

/// Visitors of a world with NPCs for which a thread has memory at once.
const SCRATCH_VISITORS: usize = 64;

impl Scratch {
    fn new() -> Self {
        let n = NPCS_MAX + SCRATCH_VISITORS;
        Self {
            finder: PathFinder::default(),
            neighbours: Neighbours::with_capacity(n),
            nearby: Nearby::default(),
            candidates: Vec::with_capacity(n),
            bodies: Vec::with_capacity(NPCS_MAX),
        }
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

impl Npcs {
    /// All at the places where they begin, with local ids from `first_id` on.
    pub(crate) fn of(cast: &NpcCast, terrain: &link::Terrain, first_id: u32) -> Self {
        let now = WorldTime(0);
        let mut npcs = Self::default();
        for (number, role) in (0u32..).zip(&cast.roles) {
            npcs.legs.push(Legs::at_home(cast, role, terrain, LocalId(first_id + number), number, now));
            npcs.heads.push(NpcHead::new(cast, role, home_of(cast, role, terrain), now));
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

    /// Lets NPCs hear something.
    fn sound(&mut self, sound: Sound) {
        self.sounds.add(sound, self.now());
        self.has_sounded = true;
    }

    /// Local id of an NPC, if it is in the world.
    pub(crate) fn id_of(&self, number: usize) -> Option<LocalId> {
        self.legs.get(number)?.id
    }

    /// A local id for a newcomer, visitor or NPC: none that either of them has.
    pub(crate) fn next_local_id(&self, local_ids: &mut LocalIds, roster: &Roster) -> LocalId {
        local_ids.next_free(|id| {
            roster.iter().any(|(_, presence)| presence.id == id) || self.ids().any(|taken| taken == id)
        })
    }

    /// Local ids of NPCs in the world.
    pub(crate) fn ids(&self) -> impl Iterator<Item = LocalId> {
        self.legs.iter().filter_map(|legs| legs.id)
    }
}

impl Npcs {
    /// Reserves room for one strike by each of `n_visitors` and one blow by each NPC: memory is taken in the tick of an arrival, and not in
    /// that of the first strike.
    fn make_room(&mut self, n_visitors: usize) {
        let n_npcs = self.len();
        // All three are empty or hold at most one entry of each, so that nothing is reserved twice.
        self.struck.reserve(n_visitors.min(STRUCK_MAX).saturating_sub(self.struck.len()));
        self.outcome.hits.reserve(n_visitors);
        self.outcome.blows.reserve(n_npcs);
    }

    /// One tick of all NPCs.
    #[inline(never)]
    pub(crate) fn step(&mut self, dt: Duration, around: &mut Surroundings<'_>, out: &mut Frame) {
        System::WorldNpcs.enter();
        let &mut Surroundings { setting, roster, game, .. } = around;
        let Some(cast) = setting.cast.as_deref() else { return };
        let span = Span::new(self.elapsed_ns, dt);
        self.outcome.clear();
        self.make_room(roster.len());
        SCRATCH.with_borrow_mut(|scratch| {
            self.list_candidates(cast, roster, game, scratch);
            self.overhear(span, roster, out);
            self.take_punches(cast, roster, around.punches, scratch);
            self.observe(cast, scratch, span);
            self.think(cast, setting, scratch, out);
            self.find_paths(cast, scratch, span);
            self.walk(cast, setting, scratch, dt);
            self.fall_and_rise(cast, around);
        });
        self.elapsed_ns += u64::try_from(dt.as_nanos()).expect("a step is shorter than centuries");
        self.turns += 1;
        if std::mem::take(&mut self.has_sounded) {
            self.sounds_hash = self.sounds.state_hash();
        }
    }
}

impl Legs {
    fn at_home(
        cast: &NpcCast,
        role: &SpawnRole,
        terrain: &link::Terrain,
        id: LocalId,
        number: u32,
        now: WorldTime,
    ) -> Self {
        Self {
            spot: role.spot,
            feet_m: cast.mesh.height(ground_of(terrain), role.spot),
            velocity: Vec2::ZERO,
            preferred: Vec2::ZERO,
            left_m: f32::MAX,
            climb: 0.0,
            facing: role.facing,
            follower: PathFollower::default(),
            attention: Attention::new(number, &cast.policy, now),
            condition: NpcCondition::Up,
            id: Some(id),
            hindered: false,
            wants_path: false,
            sits: false,
            dirty: NpcDirtyFlags { created: true, ..NpcDirtyFlags::default() },
            movement: Uuid::nil(),
            head_hash: 0,
            head_changed: true,
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

    fn body(&self) -> CrowdBody {
        CrowdBody {
            at: self.spot.at,
            velocity: self.velocity,
            preferred: self.preferred,
            z: self.feet_m,
            radius: RADIUS_M,
            left_m: self.left_m,
        }
    }
}

impl NpcHead {
    fn new(cast: &NpcCast, role: &SpawnRole, home: Vec3, now: WorldTime) -> Self {
        Self {
            mind: Mind::new(role.behavior, home),
            perception: Perception::new(now),
            health: cast.actor(role.kind).health,
            journey: Journey::default(),
            errand: Errand { leg: 0, target: Target::None, face: Toward::Ahead },
            plays: None,
            gesture: None,
            animator: Animator::new(),
        }
    }
}

/// Centre of an NPC at its spawn.
fn home_of(cast: &NpcCast, role: &SpawnRole, terrain: &link::Terrain) -> Vec3 {
    role.spot.at.extend(cast.mesh.height(ground_of(terrain), role.spot) + HALF_HEIGHT_M)
}
