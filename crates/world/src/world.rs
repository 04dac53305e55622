//! A world: what it is made of, and its step.
//!
//! A step is six phases, each a file: `inbox` (commands) → `movement` (steering and physics) → `npc` (those without a client) →
//! `game` (missions and health) → `delta` (what the frame tells) → `resync` (a part of a snapshot, when one was asked for).

use crate::{
    command::Command,
    contacts::Contacts,
    counters::WorldCounters,
    frame::{Entity, Frame},
    game::Game,
    ground::Ground,
    movement::Mover,
    npc::{Cast, NpcCounts, Npcs},
    resync::Resync,
    roster::Roster,
    scenery::Scenery,
    terrain::Terrain,
};
use ids::{Epoch, LocalId, SessionKey, Tick, WorldId};
use state_hash::StateHasher;
use std::{ops::Range, sync::Arc, time::Duration};
use telemetry::recorder::{Arg, Scope, ScopeKind};

/// A phase of the step, with what it may take before it is worth a look. Those below make 50 ms together, a tick at
/// 20 Hz, so that a step over its budget has a phase over its own.
pub(crate) const fn system(name: &'static str, limit_ms: u64) -> Scope {
    Scope::new(name).arg(Arg::World).kind(ScopeKind::System).limit_us(limit_ms * 1_000)
}

static INBOX: Scope = system("world.inbox", 10);
static MOVEMENT: Scope = system("world.movement", 15);
static NPCS: Scope = system("world.npcs", 10);
static TELL: Scope = system("world.tell", 10);
static RESYNC: Scope = system("world.resync", 5);

/// What a world is made from. It does not change while the world lives.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Names it on its node.
    pub id: WorldId,
    /// Its life: a restart gets the next one.
    pub epoch: Epoch,
    /// Width and depth in metres: 256, 512, 768 or 1,024.
    pub size_m: u32,
    /// Local ids it may hand out; no other world of the node has any of them. The first ones are those of `scenery`. More than
    /// `scenery`, `cast` and `max_avatars` need, and the more the longer until one comes again.
    pub local_ids: Range<u32>,
    /// The ground, `size_m` wide.
    pub terrain: Arc<Terrain>,
    /// What stands on it.
    pub scenery: Arc<Scenery>,
    /// Those who live in it, if anybody does.
    pub cast: Option<Arc<Cast>>,
    /// Height of the water, metres.
    pub water_m: f32,
    /// Avatars of visitors it lets in, [`WorldConfig::MAX_AVATARS`] by default. Half a kilobyte of memory each, and time in every step.
    pub max_avatars: usize,
    /// Decides everything that is left to chance.
    pub seed: u64,
}

impl WorldConfig {
    /// Default of `max_avatars`.
    pub const MAX_AVATARS: usize = 10_000;
}

/// One region or instance: authoritative, single-threaded, deterministic.
///
/// The caller collects commands, calls [`World::step`] once a tick and hands the frame on:
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use ids::{Epoch, Tick, WorldId};
/// use world::{Frame, Terrain, World, WorldConfig};
///
/// let mut world = World::new(WorldConfig {
///     id: WorldId(0),
///     epoch: Epoch(0),
///     size_m: 256,
///     local_ids: 1..1_000_000,
///     terrain: Arc::new(Terrain::hills(256, 1)),
///     scenery: Arc::default(),
///     cast: None,
///     water_m: 20.0,
///     max_avatars: WorldConfig::MAX_AVATARS,
///     seed: 1,
/// });
/// let mut frame = Frame::empty();
/// world.step(Tick(0), Duration::from_millis(50), 1.0, &mut Vec::new(), &mut frame);
/// assert_eq!(frame.sequence, 0);
/// ```
///
/// The same commands in the same ticks make the same frames, bit by bit, also after [`World::snapshot`] and
/// [`World::restore`].
#[derive(Debug)]
pub struct World {
    pub(crate) id: WorldId,
    pub(crate) epoch: Epoch,
    /// Those of avatars; the ones before them are those of what stands.
    pub(crate) local_ids: Range<u32>,
    pub(crate) max_avatars: usize,
    pub(crate) seed: u64,
    pub(crate) ground: Ground,
    pub(crate) scenery: Arc<Scenery>,

    pub(crate) cast: Option<Arc<Cast>>,
    pub(crate) npcs: Npcs,
    pub(crate) game: Game,
    pub(crate) roster: Roster,
    /// Number of the next frame.
    pub(crate) next_sequence: u64,
    pub(crate) next_local_id: u32,
    /// The ids have begun again, so that the next one may still be taken.
    pub(crate) local_ids_wrapped: bool,
    /// World time that has not made a sub-step yet; one is due at [`crate::movement::SUB_STEP_DUE`].
    pub(crate) sub_step_carry: u64,
    pub(crate) resync: Resync,

    /// Sum of all presences' hashes.
    pub(crate) presences_hash: u64,
    /// Avatars known to readers of frames that left in this tick.
    pub(crate) removed: Vec<LocalId>,
    pub(crate) movers: Vec<Mover>,
    pub(crate) contacts: Contacts,
    /// Who strikes in this tick.
    pub(crate) punches: Vec<LocalId>,
    pub(crate) counters: WorldCounters,
}

impl World {
    /// An empty world.
    ///
    /// # Panics
    /// When the configuration contradicts itself: another terrain's size, or fewer local ids than avatars and things.
    #[must_use]
    pub fn new(config: WorldConfig) -> Self {
        let WorldConfig { id, epoch, size_m, local_ids, terrain, scenery, cast, water_m, max_avatars, seed } =
            config;
        assert_eq!(size_m, terrain.size_m(), "the terrain of {id:?} is another region's");
        let n_npcs = cast.as_ref().map_or(0, |cast| cast.len());
        assert!(
            local_ids.len() > max_avatars + n_npcs + scenery.len(),
            "{id:?} lets in {max_avatars} beside {n_npcs} NPCs and {} objects with {} local ids",
            scenery.len(),
            local_ids.len()
        );
        let local_ids = local_ids.start + scenery.len() as u32..local_ids.end;
        let npcs = cast.as_ref().map(|cast| Npcs::of(cast, &terrain, local_ids.start)).unwrap_or_default();
        Self {
            id,
            epoch,
            max_avatars,
            seed,
            ground: Ground { terrain, water_m },
            scenery,
            game: cast.as_ref().map(|cast| Game::new(&cast.plan)).unwrap_or_default(),
            cast,
            npcs,
            roster: Roster::default(),
            next_sequence: 0,
            next_local_id: local_ids.start + n_npcs as u32,
            local_ids,
            local_ids_wrapped: false,
            sub_step_carry: 0,
            resync: Resync::default(),
            presences_hash: 0,
            removed: Vec::new(),
            movers: Vec::new(),
            contacts: Contacts::default(),
            punches: Vec::new(),
            counters: WorldCounters::default(),
        }
    }

    /// One tick. Takes all `commands` (the buffer comes back empty), moves the world on by `dt` and overwrites `out`
    /// with what is different now.
    ///
    /// `commands` may come in any order: (session, sequence) decides, and no two share one. `dilation` is the
    /// scheduler's figure and passed on. Physics runs at 60 Hz whatever `dt`, at most 1 s.
    pub fn step(
        &mut self,
        tick: Tick,
        dt: Duration,
        dilation: f32,
        commands: &mut Vec<Command>,
        out: &mut Frame,
    ) {
        out.begin(self.id, self.epoch, self.next_sequence, tick, dilation);
        self.next_sequence += 1;

        let world = u64::from(self.id.0);
        recorded(&INBOX, world, || self.receive(commands, out));
        recorded(&MOVEMENT, world, || self.move_avatars(dt));
        if self.cast.is_some() {
            recorded(&NPCS, world, || {
                self.step_npcs(dt, out);
                self.play(dt, out);
            });
        }
        recorded(&TELL, world, || self.tell(out));
        recorded(&RESYNC, world, || self.tell_snapshot(out));

        out.state_hash = self.state_hash();
    }

    /// Puts a snapshot into the frames that follow, as [`crate::Action::Resync`] does.
    pub(crate) const fn ask_for_snapshot(&mut self) {
        self.resync.request();
    }

    /// Whether no visitor is here and a step would tell nothing: a scheduler may leave it out until there is a command.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.roster.is_empty() && self.resync.is_done()
    }

    /// Its life.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// All visitors in it, as a frame would tell them now.
    pub fn avatars(&self) -> impl Iterator<Item = Arc<Entity>> {
        self.roster.iter().map(|(_, presence)| presence.entity())
    }

    /// Sessions whose avatars are in it, in no order that means anything.
    pub fn sessions(&self) -> impl Iterator<Item = SessionKey> {
        self.roster.iter().map(|(_, presence)| presence.identity.session)
    }

    /// Avatars of visitors that are in it.
    #[must_use]
    pub fn n_avatars(&self) -> usize {
        self.roster.len()
    }

    /// What it has done since it was made or restored.
    #[must_use]
    pub const fn counters(&self) -> &WorldCounters {
        &self.counters
    }

    /// Those who live in it.
    #[must_use]
    pub fn n_npcs(&self) -> usize {
        self.npcs.len()
    }

    /// What these have done since the world was made or restored.
    #[must_use]
    pub const fn npc_counts(&self) -> &NpcCounts {
        &self.npcs.counts
    }

    /// Hash of everything that decides the world's future: avatars, NPCs with all that they remember, local ids, time carried over, what
    /// stands. Which frames were sent, and whether somebody is being resynchronised, does not count. Costs nothing: steps keep it up
    /// to date.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(self.presences_hash);
        hasher.u64(u64::from(self.next_local_id) << 1 | u64::from(self.local_ids_wrapped));
        hasher.u64(self.sub_step_carry);
        hasher.u64(self.scenery.fingerprint());
        hasher.u64(self.cast_fingerprint());
        hasher.u64(self.npcs.state_hash());
        hasher.u64(self.game.hash());
        hasher.finish()
    }
}

/// Runs a phase within its scope.
fn recorded(scope: &'static Scope, world: u64, phase: impl FnOnce()) {
    let _scope = scope.enter(world);
    phase();
}
