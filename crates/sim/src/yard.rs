//! A world of prims that moves between hosts: avatars sit on prims, bodies fall, prims wait for their colliders, and meshes for their solids.
//!
//! There are no clients and no gateway: chance gives the commands that these would pass on, and answers what the world asks of its node. The world is
//! compared in every tick with one that stays. So the parts of its snapshot that no run with clients fills (seats, waiting prims, solids of assets, bodies in
//! motion, answered orders) are enforced, too. [Sabotaged](Sabotage) moves show that a run notices.

use crate::checks::{Failure, Rule};
use crate::host::{CastLibrary, Host};
use crate::reference::WorldReference;
use crate::sabotage::Sabotage;
use crate::scenario::{HZ, TICK};
use crate::setting::REGION_M;
use crate::streams::{Purpose, stream};
use bots::rng::Rng;
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, Command, ContentReplacement, Control, ControlFlags, Derez, DerezKind, Enter, Event,
    ExtraParamEdit, Frame, GroundSpec, KnownSolid, LOCAL_ID_BLOCK, NewObject, ObjectChange, ObjectCommand,
    ObjectLimits, ObjectPage, Placement, PrimFlags, Terrain, WATER_M, WorldCensus, WorldSpec,
};
use prim::{AssetSolid, ExtraParam, Shape, ShapeKind, SolidKey};
use record::Records;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use world::{SNAPSHOT_FORMAT, SNAPSHOT_PARTS};

const WORLD: WorldId = WorldId(0);
const GROUND_M: f32 = 21.0;
/// Length of a run: 40 s.
const TICKS: u64 = 800;
/// Users, who stay where they arrive. The first one makes and owns all prims.
const USERS: u64 = 5;
const OWNER: SessionKey = SessionKey(1);
/// Middle of the yard, metres from the corner of the region. Every prim but those of a heap is within an avatar's reach.
const MIDDLE: Vec3 = Vec3::new(128.0, 128.0, GROUND_M);
/// Prims of the yard at once.
const PRIMS_MAX: usize = 30;
/// Prims of a heap: hollow tori, of which a step builds about 15. No user may make more at once.
const HEAP: u64 = 200;
/// A form of some 2,000 triangles.
const HOLLOW_TORUS: Shape = Shape { profile_hollow: 25_000, ..Shape::plain(ShapeKind::Torus) };
/// Ticks after which a heap is removed.
const HEAP_TICKS: u64 = 60;
/// Orders of the node. Each comes several times in a run.
const ORDERS: u64 = 20;
const ORDER_ID: u64 = 8;
/// Assets of meshes.
const ASSETS: u64 = 3;
/// Moves of the world per tick, on average.
const MOVES_PER_TICK: f64 = 0.06;
/// A mesh in the protocol's encoding of an extra parameter.
const SCULPT_IS_MESH: u8 = 5;

/// A run of a world of prims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YardScenario {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// Hosts between which the world moves, 1 or more.
    pub hosts: u16,
    /// A defect of the moves, for tests of the checks.
    pub sabotage: Option<Sabotage>,
}

/// Figures of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct YardReport {
    /// Moves of the world between hosts.
    pub moves: u64,
    /// Moves whose snapshot had a record of a part, by the part's tag.
    pub moved_parts: BTreeMap<[u8; 4], u64>,
    /// Steps that were compared with the world that stays.
    pub compared: u64,
    /// Hash of the states in all frames. Moves do not change it.
    pub frames_hash: u64,
}

impl YardReport {
    /// Moves whose snapshot had a record of this part.
    #[must_use]
    pub fn moves_with(&self, tag: [u8; 4]) -> u64 {
        self.moved_parts.get(&tag).copied().unwrap_or(0)
    }
}

impl fmt::Display for YardReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |tag| self.moves_with(tag);
        write!(
            f,
            "{} steps compared, {} moves: {} with seats, {} with waiting prims, {} with solids of assets",
            self.compared,
            self.moves,
            of(*b"SEAT"),
            of(*b"SOLI"),
            of(*b"ASOL")
        )
    }
}

/// Use of a prim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrimUse {
    Bench = 1,
    /// Physics moves it.
    Body,
    /// It collides as the solid of an asset.
    Mesh,
    /// One of a heap.
    Torus,
}

impl PrimUse {
    /// Of the prim with this id, which [`Yard::make`] has chosen.
    fn of_id(id: Uuid) -> Self {
        match id.as_u64_pair().0 {
            1 => Self::Bench,
            2 => Self::Body,
            3 => Self::Mesh,
            _ => Self::Torus,
        }
    }
}

/// News in a frame.
#[derive(Debug, Default)]
struct News {
    made: Vec<(LocalId, Uuid)>,
    gone: Vec<LocalId>,
    wanted: Vec<SolidKey>,
}

impl News {
    fn of(frame: &Frame) -> Self {
        let mut news = Self::default();
        for change in &frame.objects {
            match change {
                ObjectChange::Pages(pages) => {
                    let prims = pages.iter().flat_map(ObjectPage::prims);
                    news.made.extend(prims.map(|(id, _, body)| (id, body.body.id)));
                }
                ObjectChange::Set { id, body, .. } => news.made.push((*id, body.body.id)),
                ObjectChange::Moved(..) => {}
                ObjectChange::Removed(id) => news.gone.push(*id),
            }
        }
        for event in &frame.events {
            if let Event::SolidsWanted(keys) = event {
                news.wanted.extend_from_slice(keys);
            }
        }
        news
    }
}

/// The run.
struct Yard {
    scenario: YardScenario,
    hosts: Vec<Host>,
    /// Index of the world's host.
    host: usize,
    reference: WorldReference,
    acts: Rng,
    moves: Rng,
    /// Prims as the frames have shown them.
    prims: BTreeMap<LocalId, PrimUse>,
    /// Solids that the node has not found yet.
    wanted: Vec<SolidKey>,
    /// Tick in which the newest heap was made.
    heap_at: Option<u64>,
    n_commands: u64,
    n_made: u64,
    report: YardReport,
}

impl YardScenario {
    /// Runs it to its end.
    ///
    /// # Errors
    /// The first difference from the world that stays.
    ///
    /// # Panics
    /// If the world itself finds a defect.
    pub fn run(self) -> Result<YardReport, Failure> {
        let mut yard = Yard::new(self);
        for tick in 0..TICKS {
            yard.tick(tick)?;
        }
        Ok(yard.report)
    }
}

impl fmt::Display for YardScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, hosts, .. } = self;
        write!(f, "cargo run -p sim -- --seed {seed} --hosts {hosts} --moves")
    }
}

impl Yard {
    fn new(scenario: YardScenario) -> Self {
        let casts = Arc::new(CastLibrary::default());
        let mut hosts: Vec<Host> = (0..scenario.hosts).map(|_| Host::new(Arc::clone(&casts))).collect();
        hosts[0].open(spec(scenario.seed), None, 0.0);
        let reference = WorldReference::beside(hosts[0].get(WORLD), &casts);
        Self {
            scenario,
            hosts,
            host: 0,
            reference,
            acts: stream(scenario.seed, Purpose::Yard, 0),
            moves: stream(scenario.seed, Purpose::Yard, 1),
            prims: BTreeMap::new(),
            wanted: Vec::new(),
            heap_at: None,
            n_commands: 0,
            n_made: 0,
            report: YardReport::default(),
        }
    }

    /// Commands, a move now and then, and a step.
    fn tick(&mut self, tick: u64) -> Result<(), Failure> {
        let now = Instant::ZERO + TICK * u32::try_from(tick).expect("a run is short");
        self.act(tick);
        // Prims of the new heap wait over some more steps.
        let is_heap_new = self.heap_at.is_some_and(|at| at + 1 == tick);
        if tick > 0 && (self.moves.unit() < MOVES_PER_TICK || is_heap_new) {
            self.move_world(now)?;
        }
        let Self { hosts, reference, .. } = self;
        let mut dismissals = Vec::new();
        let resident = hosts[self.host].get_mut(WORLD);
        let frame = resident.tick(now, Tick(tick), || false, |_| WorldCensus::default(), &mut dismissals);
        let frame = frame.expect("the world runs");
        assert!(dismissals.is_empty(), "no world begins again");
        if let Some(difference) = reference.step(Tick(tick), frame) {
            return Err(Failure::new(now, Rule::MovesChangeNothing, format!("the yard: {difference}")));
        }
        self.report.compared += 1;
        self.report.frames_hash = self.report.frames_hash.rotate_left(5) ^ frame.state_hash;
        let news = News::of(frame);
        self.read(news);
        Ok(())
    }

    fn move_world(&mut self, now: Instant) -> Result<(), Failure> {
        let snapshot = self.hosts[self.host].get(WORLD).life.world().snapshot();
        let records = Records::parse(&SNAPSHOT_FORMAT, &snapshot, &SNAPSHOT_PARTS);
        let records = records.expect("a snapshot of this build");
        for part in SNAPSHOT_PARTS.into_iter().filter(|part| records.find(part).is_some()) {
            *self.report.moved_parts.entry(part.tag.0).or_default() += 1;
        }
        let departed = self.hosts[self.host].release(WORLD, self.scenario.sabotage).expect("the world runs");
        self.host = (self.host + 1) % self.hosts.len();
        self.hosts[self.host].take_in(departed).map_err(|error| {
            let found = format!("the yard is not taken in: {error}");
            Failure::new(now, Rule::MovesChangeNothing, found)
        })?;
        self.report.moves += 1;
        Ok(())
    }

    /// Takes in what a frame has shown. A mesh gets its asset once its local id is known.
    fn read(&mut self, News { made, gone, wanted }: News) {
        for id in gone {
            self.prims.remove(&id);
        }
        for (id, object) in made {
            let own_use = PrimUse::of_id(object);
            if self.prims.insert(id, own_use).is_none() && own_use == PrimUse::Mesh {
                self.name_asset(id);
            }
        }
        self.wanted.extend(wanted);
    }

    fn act(&mut self, tick: u64) {
        if tick == 0 {
            (1..=USERS).for_each(|user| self.enter(user));
            return;
        }
        if self.acts.unit() < 0.25
            && let Some(key) = self.wanted.pop()
        {
            let known = KnownSolid { key, solid: AssetSolid::FULL };
            self.command(SessionKey::NODE, Action::PutSolid(Box::new(known)));
        }
        if self.heap_at.is_some_and(|at| at + HEAP_TICKS <= tick) {
            self.remove_heap();
        }
        match self.acts.next() % 12 {
            0 => self.make(PrimUse::Bench),
            1 | 2 => self.make(PrimUse::Body),
            3 => self.make(PrimUse::Mesh),
            4 | 5 => self.sit(),
            6 => self.stand_up(),
            7 => self.throw(),
            8 => self.delete(),
            9 if self.heap_at.is_none() => {
                self.heap_at = Some(tick);
                (0..HEAP).for_each(|_| self.make(PrimUse::Torus));
            }
            10 => self.order(),
            _ => {}
        }
    }

    /// An order of the node, a new one or one that comes again. Its prim has no such item, so that it is refused.
    fn order(&mut self) {
        let asset = Uuid::from_u64_pair(ORDER_ID, self.acts.next() % ORDERS);
        let (object, item) = (Uuid::from_u64_pair(PrimUse::Bench as u64, 1), Uuid::nil());
        let order = ContentReplacement { session: OWNER, object, item, asset_type: 7, asset };
        self.command(SessionKey::NODE, Action::ReplaceContent(Box::new(order)));
    }

    fn enter(&mut self, user: u64) {
        let enter = Enter {
            agent: AgentId(Uuid::from_u128(u128::from(user))),
            first_name: format!("Guest{user}"),
            last_name: "Resident".into(),
            position: MIDDLE + Vec3::new(2.0 * user as f32 - 6.0, 0.0, 1.0),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        };
        self.command(SessionKey(user), Action::Enter(Box::new(enter)));
    }

    /// A new prim, unless there are enough.
    fn make(&mut self, own_use: PrimUse) {
        let is_torus = own_use == PrimUse::Torus;
        if !is_torus && self.in_yard().len() >= PRIMS_MAX {
            return;
        }
        self.n_made += 1;
        let rng = &mut self.acts;
        let place = Vec3::new(rng.within(4.0), rng.within(4.0), 0.25);
        let position = match own_use {
            PrimUse::Bench | PrimUse::Mesh => MIDDLE + place,
            PrimUse::Body => MIDDLE + place + Vec3::Z * 4.0,
            PrimUse::Torus => MIDDLE + place * 8.0 + Vec3::X * 80.0,
        };
        let flags = if own_use == PrimUse::Body { PrimFlags::PHYSICS } else { PrimFlags::default() };
        let new = NewObject {
            id: Uuid::from_u64_pair(own_use as u64, self.n_made),
            created_us: self.n_made,
            p_code: 9,
            state: 0,
            material: 3,
            shape: if is_torus { HOLLOW_TORUS } else { Shape::BOX },
            scale: Vec3::splat(0.5),
            position,
            ray: None,
            rotation: Quat::IDENTITY,
            group: Uuid::nil(),
            flags,
            is_selected: false,
        };
        self.edit(ObjectCommand::Create(Box::new(new)));
    }

    fn name_asset(&mut self, mesh: LocalId) {
        let asset = Uuid::from_u64_pair(9, self.acts.next() % ASSETS + 1);
        let data = [&asset.as_bytes()[..], &[SCULPT_IS_MESH]].concat();
        let edit = ExtraParamEdit { kind: ExtraParam::Sculpt as u16, data: Some(data) };
        self.edit(ObjectCommand::ExtraParam(vec![(mesh, edit)]));
    }

    fn sit(&mut self) {
        let user = SessionKey(1 + self.acts.next() % USERS);
        if let Some(object) = self.any(|own_use| own_use != PrimUse::Torus) {
            self.command(user, Action::SitOn { object, offset: Vec3::ZERO });
        }
    }

    fn stand_up(&mut self) {
        let user = SessionKey(1 + self.acts.next() % USERS);
        for flags in [ControlFlags::STAND_UP, ControlFlags::default()] {
            self.command(user, Action::Control(Control { flags, body_rotation: Quat::IDENTITY }));
        }
    }

    fn throw(&mut self) {
        let Some(body) = self.any(|own_use| own_use == PrimUse::Body) else { return };
        let rng = &mut self.acts;
        let position = MIDDLE + Vec3::new(rng.within(4.0), rng.within(4.0), rng.between(2.0, 6.0));
        let placement = Placement { position: Some(position), is_linked_set: true, ..Placement::default() };
        self.edit(ObjectCommand::Place(vec![(body, placement)]));
    }

    fn delete(&mut self) {
        if let Some(object) = self.any(|own_use| own_use != PrimUse::Torus) {
            self.remove(vec![object]);
        }
    }

    fn remove_heap(&mut self) {
        self.heap_at = None;
        let tori = self.prims.iter().filter(|(_, own_use)| **own_use == PrimUse::Torus);
        let tori = tori.map(|(id, _)| *id).collect();
        self.remove(tori);
    }

    fn remove(&mut self, objects: Vec<LocalId>) {
        let (kind, nil) = (DerezKind::Delete, Uuid::nil());
        self.edit(ObjectCommand::Derez(Derez { objects, kind, folder: nil, transaction: nil }));
    }

    /// The prims that are in no heap.
    fn in_yard(&self) -> Vec<LocalId> {
        let own = self.prims.iter().filter(|(_, own_use)| **own_use != PrimUse::Torus);
        own.map(|(id, _)| *id).collect()
    }

    /// Any prim of these uses.
    fn any(&mut self, is_meant: impl Fn(PrimUse) -> bool) -> Option<LocalId> {
        let meant = self.prims.iter().filter(|(_, own_use)| is_meant(**own_use));
        let meant: Vec<LocalId> = meant.map(|(id, _)| *id).collect();
        let n = self.acts.next() as usize;
        n.checked_rem(meant.len()).map(|at| meant[at])
    }

    fn edit(&mut self, request: ObjectCommand) {
        self.command(OWNER, Action::Object(Box::new(request)));
    }

    /// Gives both worlds a command. Between gateway and host it is bytes.
    fn command(&mut self, session: SessionKey, action: Action) {
        self.n_commands += 1;
        let command = if session == SessionKey::NODE {
            Command::by_node(session, self.n_commands, action)
        } else {
            Command::by_session(session, self.n_commands, action)
        };
        self.reference.send(std::slice::from_ref(&command));
        let bytes = postcard::to_allocvec(&command).expect("commands are plain data");
        let command = postcard::from_bytes(&bytes).expect("commands are plain data");
        self.hosts[self.host].get_mut(WORLD).inbox.push(command);
    }
}

fn spec(seed: u64) -> WorldSpec {
    let terrain = Arc::new(Terrain::flat(REGION_M, GROUND_M));
    WorldSpec {
        world: WORLD,
        epoch: Epoch(0),
        is_shared: true,
        name: "Yard".into(),
        max_avatars: 100,
        max_objects: ObjectLimits::default().objects_max,
        hz: HZ,
        local_ids: LOCAL_ID_BLOCK..2 * LOCAL_ID_BLOCK,
        ground: Arc::new(GroundSpec::new(terrain, Arc::default(), WATER_M)),
        portals: Arc::default(),
        seed,
        cache_id: Uuid::from_u128(1),
    }
}
