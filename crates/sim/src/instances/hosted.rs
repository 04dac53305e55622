//! Model of the pool: worlds of instances on their hosts, in virtual time. Each is compared with one that stays.

use super::stored::{Capture, StoreModel};
use super::{InstanceReport, InstanceSabotage};
use crate::host::{CastLibrary, Host, Resident};
use crate::reference::WorldReference;
use crate::sabotage::Sabotage;
use bots::rng::Rng;
use gateway::hub::Hub;
use gateway::places::{EncodedGround, Places, Scene};
use ids::{Epoch, Instant, Tick, Uuid, WorldId};
use link::Command;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workplace::JournalBuffer;
use workplace::inboxes::Waiting;
use workplace::instances::{InstancePersistence, InstancePool, NewWorld, StoppedWorld};
use workplace::worlds::WorldTotals;
use world::{NpcCast, World};

/// Memory that the first steps of a world keep, bytes.
const GROWN_BYTES: i64 = 2 << 20;

/// A world that is stepped on one of the hosts, or is down after a panic.
pub(super) struct InstanceWorld {
    pub(super) id: Uuid,
    /// Visits of the instance.
    pub(super) visits: u64,
    /// Index of its host.
    pub(super) host: usize,
    /// The world that it is compared with; none while it recovers from a panic.
    pub(super) reference: Option<WorldReference>,
    /// Epoch and number of its last frame.
    last_frame: Option<(Epoch, u64)>,
    /// It panics in its next step.
    pub(super) is_to_panic: bool,
    journal_buffer: Arc<JournalBuffer>,
    /// Time of its first change of progress that is not persisted.
    changed_at: Option<Instant>,
}

/// The worlds in memory of one life of the node.
pub(super) struct Hosted {
    pub(super) hosts: Vec<Host>,
    pub(super) worlds: BTreeMap<WorldId, InstanceWorld>,
    /// Instances under construction, with their visits so far.
    starting: BTreeMap<WorldId, (Uuid, u64)>,
    /// Instances that have begun empty after panics, of which nothing more is saved.
    pub(super) begun_empty: BTreeSet<Uuid>,
    places: Arc<Places>,
    grounds: Vec<Arc<EncodedGround>>,
    store: Arc<StoreModel>,
    casts: Arc<CastLibrary>,
    sabotage: Option<InstanceSabotage>,
    /// Worlds suspended, and resumed from a saved state.
    pub(super) suspended: u64,
    pub(super) resumed: u64,
}

/// See the module.
#[derive(Clone)]
pub(super) struct PoolModel {
    hosted: Arc<Mutex<Hosted>>,
}

impl PoolModel {
    pub(super) fn new(
        n_hosts: u16,
        places: &Arc<Places>,
        grounds: &[Arc<EncodedGround>],
        casts: &Arc<CastLibrary>,
        store: &Arc<StoreModel>,
        sabotage: Option<InstanceSabotage>,
    ) -> Self {
        let hosted = Hosted {
            hosts: (0..n_hosts).map(|_| Host::new(Arc::clone(casts))).collect(),
            worlds: BTreeMap::new(),
            starting: BTreeMap::new(),
            begun_empty: BTreeSet::new(),
            places: Arc::clone(places),
            grounds: grounds.to_vec(),
            store: Arc::clone(store),
            casts: Arc::clone(casts),
            sabotage,
            suspended: 0,
            resumed: 0,
        };
        Self { hosted: Arc::new(Mutex::new(hosted)) }
    }

    pub(super) fn hosted(&self) -> MutexGuard<'_, Hosted> {
        self.hosted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InstancePool for PoolModel {
    fn take_in(&self, new: NewWorld) -> bool {
        self.hosted().take_in(new);
        true
    }

    fn take_out(&self, world: WorldId) -> Option<Box<dyn StoppedWorld>> {
        let mut hosted = self.hosted();
        let (there, resident) = hosted.take_out(world)?;
        Some(Box::new(StoppedResident { pool: self.clone(), world, there, resident }))
    }

    fn end(&self, world: WorldId) {
        let mut hosted = self.hosted();
        let ended = hosted.worlds.remove(&world).expect("a removed world was in memory");
        assert!(!hosted.store.has_row(ended.id), "{} has not ended", ended.id);
        hosted.hosts[ended.host].close(world);
        hosted.places.remove_instance(world);
    }

    /// Every world is stepped in every tick.
    fn wake(&self, _: WorldId) {}

    /// The files of a template do not change.
    fn waiting(&self, _: WorldId) -> Option<Arc<Waiting>> {
        None
    }

    fn counted(&self, world: WorldId) -> Option<WorldTotals> {
        let totals = WorldTotals { grown_bytes: GROWN_BYTES, ..WorldTotals::default() };
        self.hosted().worlds.contains_key(&world).then_some(totals)
    }

    fn dispose(&self, what: Box<dyn Any + Send>) {
        drop(what);
    }
}

/// A world that has been taken off its host.
struct StoppedResident {
    pool: PoolModel,
    world: WorldId,
    there: InstanceWorld,
    resident: Resident,
}

impl StoppedWorld for StoppedResident {
    fn world(&self) -> &World {
        self.resident.life.world()
    }

    fn cast(&self) -> Option<&Arc<NpcCast>> {
        self.resident.life.config().cast.as_ref()
    }

    fn begin_again(&mut self, _: u32) {
        unreachable!("the node stops once no world is down");
    }

    fn go_on(self: Box<Self>) {
        let Self { pool, world, there, resident } = *self;
        let mut hosted = pool.hosted();
        hosted.hosts[there.host].put_back(resident);
        hosted.worlds.insert(world, there);
    }

    fn leave(self: Box<Self>) {
        let mut hosted = self.pool.hosted();
        if self.there.journal_buffer.is_closed() {
            hosted.begun_empty.insert(self.there.id);
        }
        hosted.places.remove_instance(self.world);
        hosted.suspended += 1;
    }
}

impl Hosted {
    /// The next construction of this world is that of this instance.
    pub(super) fn expect_start(&mut self, world: WorldId, instance: Uuid, visits: u64) {
        self.starting.insert(world, (instance, visits));
    }

    fn take_in(&mut self, new: NewWorld) {
        let NewWorld { spec, life, journal_buffer } = new;
        let world = spec.world;
        let (id, visits) = self.starting.remove(&world).expect("a construction was ordered");
        assert_eq!(life.world().sessions().count(), 0, "visitors of a former epoch are in {id}");
        let reference = self.store.assert_begins_as_saved(id, &life);
        self.resumed += u64::from(visits > 0);
        let host = world.0 as usize % self.hosts.len();
        self.hosts[host].open_life((*spec).clone(), life);
        let resident = self.hosts[host].get_mut(world);
        resident.set_journal_buffer(Arc::clone(&journal_buffer));
        if self.sabotage == Some(InstanceSabotage::StaleImage) {
            resident.keep_stale();
        }
        let begun = InstanceWorld {
            id,
            visits,
            host,
            reference: Some(WorldReference::of(reference, resident.dt(), &self.casts)),
            last_frame: None,
            is_to_panic: false,
            journal_buffer,
            changed_at: None,
        };
        let former = self.worlds.insert(world, begun);
        assert!(former.is_none(), "world {} is in memory twice", world.0);
        let ground = self.grounds.iter().find(|ground| Arc::ptr_eq(ground.spec(), &spec.ground));
        let scene = Scene::new(spec, Arc::clone(ground.expect("the ground of a template")));
        self.places.add_instance(Arc::new(scene));
    }

    /// Takes a world off its host, unless it is down.
    fn take_out(&mut self, world: WorldId) -> Option<(InstanceWorld, Resident)> {
        let there = self.worlds.get(&world)?;
        if self.hosts[there.host].get(world).is_down() {
            return None;
        }
        // The state is numbered once this returns.
        let sequence = self.store.sequences().load(Ordering::Relaxed) + 1;
        self.capture(world, sequence);
        let there = self.worlds.remove(&world).expect("looked up above");
        let resident = self.hosts[there.host].take(world);
        Some((there, resident))
    }

    /// Tells the store of the state that is about to be saved under this number.
    fn capture(&self, world: WorldId, sequence: u64) {
        let there = &self.worlds[&world];
        let resident = self.hosts[there.host].get(world);
        let snapshot = || resident.life.world().snapshot();
        let truth = there.reference.as_ref().map_or_else(snapshot, WorldReference::snapshot);
        let stale = resident.stale_snapshot().map(<[u8]>::to_vec);
        self.store.note_capture(there.id, sequence, Capture { visits: there.visits, truth, stale });
    }

    /// One tick of every world, each compared with one that stays.
    pub(super) fn step(&mut self, now: Instant, tick: Tick, hub: &Hub, report: &mut InstanceReport) {
        let worlds: Vec<WorldId> = self.worlds.keys().copied().collect();
        for world in worlds {
            if self.step_world(world, now, tick, hub, report) {
                self.note_state(world, now);
            }
        }
    }

    /// One tick of a world; false if it is down.
    fn step_world(
        &mut self,
        world: WorldId,
        now: Instant,
        tick: Tick,
        hub: &Hub,
        report: &mut InstanceReport,
    ) -> bool {
        let Self { hosts, worlds, casts, .. } = self;
        let there = worlds.get_mut(&world).expect("a world in memory");
        let resident = hosts[there.host].get_mut(world);
        let is_to_panic = std::mem::take(&mut there.is_to_panic) && !resident.is_down();
        report.panics += u64::from(is_to_panic);
        let mut dismissals = Vec::new();
        let frame = resident.tick(now, tick, || is_to_panic, |world| hub.census_of(world), &mut dismissals);
        let Some(frame) = frame else {
            there.reference = None;
            return false;
        };
        if let Some(reference) = &mut there.reference {
            reference.send(&dismissals);
            if let Some(difference) = reference.step(tick, frame) {
                panic!("world {}: {difference}", world.0);
            }
            report.compared += 1;
        }
        let expected = match there.last_frame {
            Some((epoch, sequence)) if epoch == frame.epoch => sequence + 1,
            _ => 0,
        };
        assert_eq!(frame.sequence, expected, "frames of world {} have a gap", world.0);
        there.last_frame = Some((frame.epoch, frame.sequence));
        report.frames_hash = report.frames_hash.rotate_left(5) ^ frame.state_hash;
        if there.reference.is_none() && !hosts[there.host].get(world).is_recovering(now) {
            there.reference = Some(WorldReference::beside(hosts[there.host].get(world), casts));
        }
        true
    }

    /// After a step: the world leaves its state to be persisted.
    fn note_state(&mut self, world: WorldId, now: Instant) {
        let there = &self.worlds[&world];
        let journal_buffer = Arc::clone(&there.journal_buffer);
        let is_asked = journal_buffer.wants_image();
        journal_buffer.note(now, self.hosts[there.host].get(world).life.world());
        if is_asked {
            // The whole state has the last number.
            self.capture(world, self.store.sequences().load(Ordering::Relaxed));
        }
        self.note_progress(world, now);
    }

    fn note_progress(&mut self, world: WorldId, now: Instant) {
        let there = self.worlds.get_mut(&world).expect("a world in memory");
        there.changed_at = there.journal_buffer.has_news().then(|| there.changed_at.unwrap_or(now));
    }

    /// Time of the oldest change of progress that is not persisted.
    pub(super) fn oldest_change(&mut self, now: Instant) -> Option<Instant> {
        let worlds: Vec<WorldId> = self.worlds.keys().copied().collect();
        worlds.into_iter().for_each(|world| self.note_progress(world, now));
        self.worlds.values().filter_map(|there| there.changed_at).min()
    }

    /// Adds a command to the inbox of a world, if it is in memory.
    pub(super) fn push_command(&mut self, world: WorldId, command: &Command) {
        let Some(there) = self.worlds.get_mut(&world) else { return };
        if let Some(reference) = &mut there.reference {
            reference.send(std::slice::from_ref(command));
        }
        // Between gateway and host it is bytes.
        let bytes = postcard::to_allocvec(command).expect("commands are plain data");
        let command = postcard::from_bytes(&bytes).expect("commands are plain data");
        self.hosts[there.host].get_mut(world).inbox.push(command);
    }

    /// Moves one of the worlds to the next host, unless it is down. True if it has moved.
    pub(super) fn move_any(&mut self, rng: &mut Rng) -> bool {
        let n = super::roll(rng, self.worlds.len() as u64 + 1) as usize;
        let sabotage: Option<Sabotage> = match self.sabotage {
            Some(InstanceSabotage::Move(sabotage)) => Some(sabotage),
            _ => None,
        };
        let Self { hosts, worlds, .. } = self;
        let Some((&world, there)) = worlds.iter_mut().nth(n) else { return false };
        // The first frame removes NPCs that the journal has as fallen. They are in no snapshot, and no client has been shown them.
        if there.last_frame.is_none() {
            return false;
        }
        let Some(departed) = hosts[there.host].release(world, sabotage) else { return false };
        there.host = (there.host + 1) % hosts.len();
        if let Err(why) = hosts[there.host].take_in(departed) {
            panic!("world {} is not taken in: {why}", world.0);
        }
        // Its states go to the same store. A restored world counts its changes anew.
        let resident = hosts[there.host].get_mut(world);
        there.journal_buffer.begin(resident.life.world());
        resident.set_journal_buffer(Arc::clone(&there.journal_buffer));
        true
    }

    pub(super) fn is_any_down(&self) -> bool {
        let is_down = |(&world, there): (&WorldId, &InstanceWorld)| {
            there.is_to_panic || self.hosts[there.host].get(world).is_down()
        };
        self.worlds.iter().any(is_down)
    }
}
