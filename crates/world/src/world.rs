//! A world: its parts, and its step.
//!
//! A step is a list of phases. Each is a part with its own state, and its call in [`World::step`] names what it reads and changes:
//! [`InboxPhase`] (commands, edits of objects among them) → [`Land`] (edits of the land, in a world that is built on) → [`Movement`] (steering and
//! physics of visitors) → [`Bodies`] (linksets that physics moves) → [`Npcs`] → [`GameState`] (a game of another crate) → [`Solids`] (prims as obstacles, and avatars that they carry or seat) →
//! [`Delta`] (the frame's changes) → [`Resync`] (a part of a snapshot, when one was asked for). Two more parts belong to no phase: the [`Roster`] of
//! visitors and the [`LocalIds`]; [`WorldSetting`] is what no phase but that of the land changes. Each part has its share of the state hash, and of a
//! snapshot (`snapshot`).

use crate::{
    bodies::{Bodies, BodiesPhase},
    cast::NpcCast,
    counters::WorldCounters,
    delta::Delta,
    game::{GameState, GameTick},
    ground::SolidGround,
    inbox::{InboxPhase, Receivers},
    land::{Land, LandSurroundings, LandUse, carry_out_orders},
    local_ids::LocalIds,
    movement::Movement,
    npc::{CastReload, NpcCounts, Npcs, Surroundings},
    objects::{EditedLand, Edits, ObjectCounts, ObjectStore, RecentEdits},
    periods::Span,
    resync::Resync,
    roster::Roster,
    seats::SeatSurroundings,
    setting::WorldSetting,
    solids::Solids,
};
use ids::{Epoch, LocalId, SessionKey, Tick, Ticket, Uuid, WorldId};
use link::{
    Command, Entity, Estate, Frame, LandState, Scenery, StoredLand, StoredObjects, Terrain, WorldSpec,
};
use state_hash::{StateHasher, mix};
use std::{ops::Range, sync::Arc, time::Duration};
use telemetry::recorder::{Arg, Scope, ScopeKind};

/// A phase of the step, with its time limit. The limits below sum to 50 ms, a tick at 20 Hz, so that a step over its budget has a phase
/// over its own.
pub(crate) const fn system(name: &'static str, limit_ms: u64) -> Scope {
    Scope::new(name).arg(Arg::World).kind(ScopeKind::System).limit_us(limit_ms * 1_000)
}

static INBOX: Scope = system("world.inbox", 7);
static LAND: Scope = system("world.land", 4);
static MOVEMENT: Scope = system("world.movement", 12);
static BODIES: Scope = system("world.bodies", 6);
static NPCS: Scope = system("world.npcs", 7);
static SOLIDS: Scope = system("world.solids", 5);
static TELL: Scope = system("world.tell", 6);
static RESYNC: Scope = system("world.resync", 3);

/// Configuration of a world, constant for its life.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Names it on its node.
    pub id: WorldId,
    /// Its life: a restart gets the next one.
    pub epoch: Epoch,
    /// Width and depth in metres: 256, 512, 768 or 1,024.
    pub size_m: u32,
    /// Local ids it may hand out; no other world of the node has any of them. In a world with `objects`, these have their shares of them
    /// ([`link::avatar_ids`]). The first of the others are those of `scenery`. More than `scenery`, `cast` and `max_avatars` need, and the
    /// more the longer until one comes again.
    pub local_ids: Range<u32>,
    /// The ground, `size_m` wide.
    pub terrain: Arc<Terrain>,
    /// Static objects.
    pub scenery: Arc<Scenery>,
    /// Objects that a new world begins with. None for a world that has none, as an instance.
    pub objects: Option<StoredObjects>,
    /// Land that a new world begins with. Without it a world with `objects` has one parcel, of no owner.
    pub land: Option<StoredLand>,
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

    /// Configuration of a world by its description, with these NPCs. A shared world can have objects, and begins without one.
    #[must_use]
    pub fn new(spec: &WorldSpec, cast: Option<Arc<NpcCast>>) -> Self {
        let WorldSpec { world, epoch, is_shared, local_ids, ground, max_avatars, seed, .. } = spec;
        Self {
            id: *world,
            epoch: *epoch,
            size_m: ground.size_m,
            local_ids: local_ids.clone(),
            terrain: Arc::clone(&ground.terrain),
            scenery: Arc::clone(&ground.scenery),
            objects: is_shared.then(StoredObjects::default),
            land: None,
            cast,
            water_m: ground.water_m,
            max_avatars: *max_avatars as usize,
            seed: *seed,
        }
    }
}

/// The part of a world that users have made: it outlives every panic.
#[derive(Clone, Debug, Default)]
pub(crate) struct BuiltState {
    pub(crate) objects: Option<StoredObjects>,
    pub(crate) land: Option<StoredLand>,
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
///     objects: None,
///     land: None,
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
    /// None in a world that is not built on.
    pub(crate) objects: Option<Box<ObjectStore>>,
    pub(crate) edits: Edits,
    /// None in a world that is not built on.
    pub(crate) bodies: Option<Box<Bodies>>,
    /// None without objects.
    pub(crate) solids: Option<Box<Solids>>,
    /// None in a world that is not built on.
    pub(crate) land: Option<Box<Land>>,
    /// None without objects or land, from which it follows.
    pub(crate) land_use: Option<Box<LandUse>>,
    pub(crate) delta: Delta,
    pub(crate) resync: Resync,
    pub(crate) counters: WorldCounters,
    /// Prepared for a command that names its cast, and no state: without the command nothing comes of it.
    offered: Option<Arc<CastReload>>,
}

impl World {
    /// A world without avatars.
    ///
    /// # Panics
    /// As [`World::try_new`], and with objects or land that it refuses.
    #[must_use]
    pub fn new(config: WorldConfig) -> Self {
        Self::try_new(config).expect("objects and land that do not contradict each other")
    }

    /// As [`World::new`]; `None` if objects or land contradict themselves: a part without its root, an id twice, a square without a parcel.
    ///
    /// # Panics
    /// When the configuration contradicts itself otherwise: another terrain's size, fewer local ids than avatars and things.
    #[must_use]
    pub fn try_new(mut config: WorldConfig) -> Option<Self> {
        let land = config.land.take();
        let world = match config.objects.take() {
            Some(stored) => Self::with_objects(config, stored)?,
            None => Self::without_objects(config),
        };
        world.with_stored_land(land)
    }

    pub(crate) fn without_objects(config: WorldConfig) -> Self {
        let WorldConfig {
            id,
            epoch,
            size_m,
            local_ids,
            terrain,
            scenery,
            objects: _,
            land: _,
            cast,
            water_m,
            max_avatars,
            seed,
        } = config;
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
            objects: None,
            edits: Edits::default(),
            bodies: None,
            solids: None,
            land: None,
            land_use: None,
            delta: Delta::default(),
            resync: Resync::default(),
            counters: WorldCounters::default(),
            offered: None,
        }
    }

    /// A world with these objects instead of those of the configuration, and without land; `None` if they contradict each other.
    pub(crate) fn with_objects(config: WorldConfig, stored: StoredObjects) -> Option<Self> {
        Self::with_edited_objects(config, stored, Edits::default())
    }

    /// As [`Self::with_objects`], with the state that belongs to them in a snapshot.
    pub(crate) fn with_edited_objects(
        config: WorldConfig,
        stored: StoredObjects,
        edits: Edits,
    ) -> Option<Self> {
        let objects = ObjectStore::restored(&config.local_ids, stored)?;
        let edits = edits.restored(&objects)?;
        let solids = Solids::of(&objects, config.size_m);
        let bodies = Bodies::restored(config.size_m, &objects, None).map(Box::new);
        let local_ids = link::avatar_ids(&config.local_ids);
        let bare = Self::without_objects(WorldConfig { local_ids, ..config });
        Some(Self { objects: Some(Box::new(objects)), edits, bodies, solids, ..bare })
    }

    /// The same world with this land, as [`Self::with_land`]. Without it a world with objects gets one parcel without an owner.
    fn with_stored_land(self, stored: Option<StoredLand>) -> Option<Self> {
        match stored {
            Some(stored) => self.with_land(stored),
            None if self.objects.is_some() => {
                let WorldSetting { id, ground, .. } = &self.setting;
                let estate = Estate::new("Estate", None, ground.water_m.max(0.0));
                let parcel = Uuid::from_u128(u128::from(mix(id.0.into())) << 64 | 1);
                let state = LandState::of_one_parcel(ground.terrain.size_m(), parcel, estate, 0);
                self.with_land(StoredLand::new(state, 0))
            }
            None => Some(self),
        }
    }

    /// The same world with other land, before its first step. Its ground has the edits of the stored one, and its water that one's height.
    ///
    /// `None` if the land contradicts itself or the world's ground: squares without a parcel, patches outside, edits below NPCs.
    #[must_use]
    pub fn with_land(mut self, stored: StoredLand) -> Option<Self> {
        if !self.npcs.is_empty() && !stored.ground.is_empty() {
            return None;
        }
        if let Some(former) = self.land.take() {
            self.setting.ground.terrain = Arc::clone(former.described_ground());
        }
        let land = Land::restored(&mut self.setting.ground, stored)?;
        self.land_use = self.objects.as_mut().map(|objects| Box::new(LandUse::of(objects, &land)));
        self.land = Some(Box::new(land));
        Some(self)
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
        let Self {
            setting,
            local_ids,
            roster,
            inbox,
            movement,
            npcs,
            game,
            objects,
            edits,
            bodies,
            solids,
            land,
            land_use,
            delta,
            resync,
            counters,
            ..
        } = self;
        let world = u64::from(setting.id.0);
        delta.begin(setting, tick, dilation, out);
        if let Some(objects) = objects {
            objects.begin_step();
        }
        if let Some(land) = land {
            land.begin_step();
        }
        recorded(&INBOX, world, || {
            let departures = &mut delta.departures;
            let receivers = Receivers {
                setting,
                roster,
                local_ids,
                npcs,
                game: game.as_deref_mut(),
                objects: objects.as_deref_mut(),
                edits,
                land: edited_land(land.as_deref(), land_use.as_deref_mut()),
                solids: solids.as_deref(),
                departures,
                resync,
                counters,
            };
            inbox.receive(commands, receivers, out);
            if let Some(objects) = objects.as_deref_mut()
                && objects.take_unchecked_wearers()
            {
                let is_absent = |wearer: &LocalId| !roster.iter().any(|(_, presence)| presence.id == *wearer);
                let absent: Vec<LocalId> = objects.wearers().filter(is_absent).collect();
                edits.take_off(objects, absent.into_iter(), &mut counters.edits, &mut out.events);
            }
            if let Some(objects) = objects {
                edits.expire(objects);
            }
        });
        if let Some(solids) = solids.as_deref_mut() {
            solids.take_assets(&mut inbox.arrived_solids, counters);
        }
        if let Some(land) = land {
            land.pass(dt.as_nanos() as u64);
            land.set_returns_max(edits.room_for_returns());
        }
        if !inbox.land_orders.is_empty() {
            recorded(&LAND, world, || {
                let (seed, has_npcs, ground) = (setting.seed, !npcs.is_empty(), &mut setting.ground);
                let is_closed = edits.is_closed();
                let around = LandSurroundings { ground, roster, counters, seed, has_npcs, is_closed };
                carry_out_orders(land.as_deref_mut(), &mut inbox.land_orders, around, &mut out.events);
            });
        }
        if let Some((objects, on)) =
            objects.as_deref_mut().zip(edited_land(land.as_deref(), land_use.as_deref_mut()))
        {
            let size_m = setting.ground.terrain.size_m() as f32;
            edits.return_objects(objects, on, size_m, &mut counters.edits, &mut out.events);
        }
        recorded(&MOVEMENT, world, || {
            movement.move_avatars(dt, roster, setting, land.as_deref(), local_ids, solids.as_deref_mut());
        });
        if let Some(land) = land {
            recorded(&LAND, world, || {
                let gone = land.put_out(roster, &setting.ground, &mut delta.departures, &mut out.events);
                for (session, id) in gone {
                    edits.forget(session);
                    if let Some(objects) = objects.as_deref_mut() {
                        let wearer = std::iter::once(id);
                        edits.take_off(objects, wearer, &mut counters.edits, &mut out.events);
                    }
                }
            });
        }
        if let Some((objects, bodies)) = objects.as_deref_mut().zip(bodies.as_deref_mut()) {
            recorded(&BODIES, world, || {
                let phase = BodiesPhase {
                    objects,
                    edits,
                    solids: solids.as_deref_mut().map(Solids::for_bodies),
                    terrain: &setting.ground.terrain,
                    land: land.as_deref(),
                    roster,
                    counters,
                    events: &mut out.events,
                };
                bodies.step(dt, phase);
            });
        }
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
        if let Some(objects) =
            objects.as_deref().filter(|objects| objects.has_changes() || is_waiting(solids))
        {
            recorded(&SOLIDS, world, || {
                Solids::follow(solids, objects, roster, &setting.ground, dt);
                let around = SeatSurroundings { objects, solids: solids.as_deref(), ground: &setting.ground };
                around.follow(roster);
            });
        }
        recorded(&TELL, world, || {
            delta.write_changes(roster, npcs, setting, counters, out);
            if let Some(objects) = objects {
                objects.pass(dt.as_nanos() as u64);
                objects.write_changes(&mut out.objects);
            }
            if let Some(land) = land {
                land.write_changes(&setting.ground, out);
            }
        });
        recorded(&RESYNC, world, || {
            resync.write_part(roster, npcs, objects.as_deref(), land.as_deref(), setting, out);
        });
        if let Some(solids) = solids {
            // A node that needs a snapshot may have missed what was announced before.
            let is_snapshot_begun = out.snapshot.as_ref().is_some_and(|part| part.index == 0);
            solids.announce(is_snapshot_begun, &mut out.events);
        }

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

    /// True with content that users have made: it must not begin again without.
    pub(crate) const fn is_built_on(&self) -> bool {
        self.objects.is_some() || self.land.is_some()
    }

    /// Objects and land as of the last frame, after a step that panicked: [`ObjectStore::roll_back`], [`Land::roll_back`]. The world must not be
    /// stepped again.
    pub(crate) fn roll_back(&mut self) -> BuiltState {
        BuiltState {
            objects: self.objects.as_mut().and_then(|objects| objects.roll_back()),
            land: self.land.as_mut().map(|land| land.roll_back()),
        }
    }

    /// The ticket that was given last; 0 in a world that is not built on.
    pub(crate) fn last_ticket(&self) -> Ticket {
        self.objects.as_ref().map_or(Ticket(0), |objects| objects.escrow().last())
    }

    /// Continues after the tickets of an earlier life of this world, which began behind the ticket `began`. With `has_gone_back` the objects are of an earlier time
    /// than the last frame of that life.
    pub(crate) fn continue_tickets(&mut self, began: Ticket, last: Ticket, has_gone_back: bool) {
        if let Some(objects) = &mut self.objects {
            objects.escrow_mut().continue_after(began, last, has_gone_back);
        }
    }

    /// Makes a rollback of the objects to the last frame fail: [`ObjectStore::spoil_journal`].
    pub(crate) fn spoil_journal(&mut self) {
        if let Some(objects) = &mut self.objects {
            objects.spoil_journal();
        }
    }

    /// Numbers of its prims that can be changed; none in a world that is not built on.
    #[must_use]
    pub fn object_counts(&self) -> ObjectCounts {
        self.objects.as_ref().map_or_else(ObjectCounts::default, |objects| objects.counts())
    }

    /// The newest edits of objects, those since it was made or restored.
    #[must_use]
    pub const fn recent_edits(&self) -> &RecentEdits {
        self.edits.recent()
    }

    /// True without visitors, changes to send, objects that will vanish and objects that move: a scheduler may skip the step until a command arrives.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.roster.is_empty()
            && self.resync.is_done()
            && self.objects.as_ref().is_none_or(|objects| !objects.has_changes() && self.edits.is_quiet())
            && self.bodies.as_ref().is_none_or(|bodies| bodies.is_idle())
            && !is_waiting(&self.solids)
            && self.land.as_ref().is_none_or(|land| !land.has_changes())
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

    /// Linksets that physics moves just now.
    #[must_use]
    pub fn n_awake_bodies(&self) -> usize {
        self.bodies.as_ref().map_or(0, |bodies| bodies.n_awake())
    }

    /// Prims of linksets that physics may move.
    #[must_use]
    pub fn n_physical_prims(&self) -> usize {
        self.objects.as_ref().map_or(0, |objects| objects.counts().physical)
    }

    /// Its land, in a world that is built on.
    #[must_use]
    pub fn land(&self) -> Option<&Land> {
        self.land.as_deref()
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
        if let Some(objects) = &self.objects {
            hasher.u64(objects.hash());
            hasher.u32(objects.version_floor());
            // In one number, so that a world without answered orders has the hash of builds without their record.
            hasher.u64(objects.escrow().hash().wrapping_add(objects.orders().hash()));
            hasher.u64(self.edits.hash());
        }
        if let Some(bodies) = &self.bodies {
            bodies.hash(&mut hasher);
        }
        if let Some(solids) = &self.solids {
            solids.hash(&mut hasher);
        }
        if let Some(land) = &self.land {
            hasher.u64(land.hash());
        }
        hasher.finish()
    }
}

/// Land as edits of objects need it.
const fn edited_land<'a>(land: Option<&'a Land>, uses: Option<&'a mut LandUse>) -> Option<EditedLand<'a>> {
    match (land, uses) {
        (Some(land), Some(uses)) => Some(EditedLand { land, uses }),
        (None, _) | (_, None) => None,
    }
}

/// True if prims wait for their colliders.
fn is_waiting(solids: &Option<Box<Solids>>) -> bool {
    solids.as_ref().is_some_and(|solids| solids.is_waiting())
}

/// Runs a phase within its scope.
fn recorded(scope: &'static Scope, world: u64, phase: impl FnOnce()) {
    let _scope = scope.enter(world);
    phase();
}
