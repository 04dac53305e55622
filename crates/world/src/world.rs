//! A world: its parts, and its step.
//!
//! A step is a list of phases. Each is a part with its own state, and its call in [`World::step`] names what it reads and changes:
//! [`InboxPhase`] (commands) → [`Movement`] (steering and physics of visitors) → [`Npcs`] → [`GameState`] (a game of another crate) → [`Delta`] (the
//! frame's changes) → [`Resync`] (a part of a snapshot, when one was asked for). Two more parts belong to no phase: the [`Roster`] of
//! visitors and the [`LocalIds`]; [`WorldSetting`] is what never changes in a step. Each part has its share of the state hash, and of a
//! snapshot (`snapshot`).

use crate::{
    cast::NpcCast,
    counters::WorldCounters,
    delta::Delta,
    game::{GameState, GameTick},
    ground::SolidGround,
    inbox::{InboxPhase, Receivers},
    local_ids::LocalIds,
    movement::Movement,
    npc::{CastReload, NpcCounts, Npcs, Surroundings},
    periods::Span,
    resync::Resync,
    roster::Roster,
    setting::WorldSetting,
};
use ids::{Epoch, SessionKey, Tick, WorldId};
use link::{Command, Entity, Frame, Scenery, Terrain, WorldSpec};
use state_hash::StateHasher;
use std::{ops::Range, sync::Arc, time::Duration};
use telemetry::recorder::{Arg, Scope, ScopeKind};

/// A phase of the step, with its time limit. The limits below sum to 50 ms, a tick at 20 Hz, so that a step over its budget has a phase
/// over its own.
pub(crate) const fn system(name: &'static str, limit_ms: u64) -> Scope {
    Scope::new(name).arg(Arg::World).kind(ScopeKind::System).limit_us(limit_ms * 1_000)
}

static INBOX: Scope = system("world.inbox", 10);
static MOVEMENT: Scope = system("world.movement", 15);
static NPCS: Scope = system("world.npcs", 10);
static TELL: Scope = system("world.tell", 10);
static RESYNC: Scope = system("world.resync", 5);

/// Configuration of a world, constant for its life.
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
    /// Static objects.
    pub scenery: Arc<Scenery>,
    /// NPCs, if any.
    pub cast: Option<Arc<NpcCast>>,
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

    /// Configuration of a world by its description, with these NPCs.
    #[must_use]
    pub fn new(spec: &WorldSpec, cast: Option<Arc<NpcCast>>) -> Self {
        let WorldSpec { world, epoch, local_ids, ground, max_avatars, seed, .. } = spec;
        Self {
            id: *world,
            epoch: *epoch,
            size_m: ground.size_m,
            local_ids: local_ids.clone(),
            terrain: Arc::clone(&ground.terrain),
            scenery: Arc::clone(&ground.scenery),
            cast,
            water_m: ground.water_m,
            max_avatars: *max_avatars as usize,
            seed: *seed,
        }
    }
}

/// One region or instance: authoritative, single-threaded, deterministic.
///
/// The caller collects commands, calls [`World::step`] once a tick and hands the frame on:
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use ids::{Epoch, Tick, WorldId};
/// use link::{Frame, Terrain};
/// use world::{World, WorldConfig};
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
    pub(crate) setting: WorldSetting,
    pub(crate) local_ids: LocalIds,
    pub(crate) roster: Roster,
    pub(crate) inbox: InboxPhase,
    pub(crate) movement: Movement,
    pub(crate) npcs: Npcs,
    /// None in a world without a cast.
    pub(crate) game: Option<Box<dyn GameState>>,
    pub(crate) delta: Delta,
    pub(crate) resync: Resync,
    pub(crate) counters: WorldCounters,
    /// Prepared for a command that names its cast, and no state: without the command nothing comes of it.
    offered: Option<Arc<CastReload>>,
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
        // The first ones are those of the scenery.
        let local_ids = local_ids.start + scenery.len() as u32..local_ids.end;
        Self {
            npcs: cast.as_ref().map(|cast| Npcs::of(cast, &terrain, local_ids.start)).unwrap_or_default(),
            game: cast.as_ref().map(|cast| Arc::clone(&cast.rules).begin()),
            setting: WorldSetting {
                id,
                epoch,
                seed,
                max_avatars,
                ground: SolidGround { terrain, water_m },
                scenery,
                cast,
            },
            local_ids: LocalIds::new(local_ids, n_npcs as u32),
            roster: Roster::default(),
            inbox: InboxPhase::default(),
            movement: Movement::default(),
            delta: Delta::default(),
            resync: Resync::default(),
            counters: WorldCounters::default(),
            offered: None,
        }
    }

    /// One tick. Takes all `commands` (the buffer comes back empty), advances the world by `dt` and overwrites `out` with the changes.
    ///
    /// `commands` may come in any order: they are sorted by (session, sequence), which is unique. `dilation` is the scheduler's figure and
    /// passed on. `dt` is at most 1 s, and physics runs at 60 Hz for any `dt`.
    pub fn step(
        &mut self,
        tick: Tick,
        dt: Duration,
        dilation: f32,
        commands: &mut Vec<Command>,
        out: &mut Frame,
    ) {
        if let Some(reload) = self.take_ordered_reload(commands) {
            self.carry_out(&reload);
        }
        let Self { setting, local_ids, roster, inbox, movement, npcs, game, delta, resync, counters, .. } =
            self;
        let world = u64::from(setting.id.0);
        delta.begin(setting, tick, dilation, out);
        recorded(&INBOX, world, || {
            let departures = &mut delta.departures;
            let receivers = Receivers {
                setting,
                roster,
                local_ids,
                npcs,
                game: game.as_deref_mut(),
                departures,
                resync,
                counters,
            };
            inbox.receive(commands, receivers, out);
        });
        recorded(&MOVEMENT, world, || movement.move_avatars(dt, roster, setting, local_ids));
        if let Some(game) = game {
            recorded(&NPCS, world, || {
                let began = npcs.now();
                let (punches, departures) = (&mut inbox.punches, &mut delta.departures);
                npcs.step(
                    dt,
                    &mut Surroundings { setting, roster, game: &**game, punches, local_ids, departures },
                    out,
                );
                let (now, span) = (npcs.now(), Span::new(npcs.elapsed_ns(), dt));
                game.play(
                    &GameTick {
                        began,
                        now,
                        span,
                        outcome: &npcs.outcome,
                        npcs_down: &|| npcs.down(),
                        npc_id: &|number| npcs.id_of(number),
                        roster,
                    },
                    &mut out.events,
                );
            });
        }
        recorded(&TELL, world, || delta.write_changes(roster, npcs, setting, counters, out));
        recorded(&RESYNC, world, || resync.write_part(roster, npcs, setting, out));

        out.state_hash = self.state_hash();
    }

    /// Offers a reload to a command that names its cast ([`CastReload::command`]). An offer that waits is replaced.
    ///
    /// The former cast and the reload may be freed in that step if nothing else refers to them: the caller keeps them.
    pub fn offer_reload(&mut self, reload: Arc<CastReload>) {
        self.offered = Some(reload);
    }

    /// The offered reload, if a command orders it.
    pub(crate) fn take_ordered_reload(&mut self, commands: &mut Vec<Command>) -> Option<Arc<CastReload>> {
        CastReload::take_ordered(&mut self.offered, commands)
    }

    /// The cast that its NPCs have.
    #[must_use]
    pub const fn cast(&self) -> Option<&Arc<NpcCast>> {
        self.setting.cast.as_ref()
    }

    /// Goes over to another cast; false, and nothing changes, when its own is not the one to go over from.
    pub(crate) fn carry_out(&mut self, reload: &CastReload) -> bool {
        let is_meant = self.setting.cast.as_ref().is_some_and(|cast| Arc::ptr_eq(cast, reload.from()));
        if is_meant {
            self.npcs.reload(reload, &self.setting.ground.terrain);
            self.setting.cast = Some(Arc::clone(reload.to()));
            self.counters.reload_behaviors += 1;
        } else {
            self.counters.ignored += 1;
        }
        is_meant
    }

    /// Puts a snapshot into the frames that follow, as [`link::Action::Resync`] does.
    pub(crate) const fn ask_for_snapshot(&mut self) {
        self.resync.request();
    }

    /// True without visitors and changes to send: a scheduler may skip the step until a command arrives.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.roster.is_empty() && self.resync.is_done()
    }

    /// Its life.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.setting.epoch
    }

    /// All visitors as the next frame would describe them.
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

    /// Totals since it was made or restored.
    #[must_use]
    pub const fn counters(&self) -> &WorldCounters {
        &self.counters
    }

    /// NPCs that live in it, those included that have fallen.
    #[must_use]
    pub fn n_npcs(&self) -> usize {
        self.npcs.len()
    }

    /// Totals of its NPCs since the world was made or restored.
    #[must_use]
    pub const fn npc_counts(&self) -> &NpcCounts {
        &self.npcs.counts
    }

    /// Its game, if it has a cast. The game's crate knows the type.
    #[must_use]
    pub fn game(&self) -> Option<&dyn GameState> {
        self.game.as_deref()
    }

    /// Counts the game's changes on from an earlier life of this world.
    pub(crate) fn outlive(&mut self, former: u64) {
        if let Some(game) = &mut self.game {
            game.outlive(former);
        }
    }

    /// Hash of everything that decides the world's future: avatars, NPCs with all that they remember, local ids, time carried over, the
    /// scenery. Which frames were sent, and whether a replica is being resynchronised, does not count. Costs nothing: steps keep it up
    /// to date.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(self.roster.hash());
        self.local_ids.hash(&mut hasher);
        self.movement.hash(&mut hasher);
        hasher.u64(self.setting.scenery.fingerprint());
        hasher.u64(self.setting.cast_fingerprint());
        hasher.u64(self.npcs.state_hash());
        hasher.u64(self.game.as_ref().map_or(0, |game| game.hash()));
        hasher.finish()
    }
}

/// Runs a phase within its scope.
fn recorded(scope: &'static Scope, world: u64, phase: impl FnOnce()) {
    let _scope = scope.enter(world);
    phase();
}
