//! A small world with land to edit, and a reader of its frames.

use super::super::part::Land;
use crate::world::{World, WorldConfig};
use glam::{Vec2, Vec3};
use ids::{AgentId, Epoch, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, Brush, Command, Enter, Estate, EstateEdit, EstateList, Event, Frame, GroundEdit, GroundPatch,
    LandChange, LandCommand, LandEdit, LandEvent, LandRect, LandRefusal, LandState, Parcel, ParcelEdit,
    ParcelNumber, ParcelSettings, SnapshotChunk, StoredLand, Stroke, StrokeArea, Terrain,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub(super) const TICK: Duration = Duration::from_millis(50);
/// Height of the flat ground.
pub(super) const GROUND_M: f32 = 21.0;
/// Time at the beginning, seconds since 1970.
pub(super) const NOW_S: u64 = 1_800_000_000;

/// The estate's owner, who owns the first parcel as well.
pub(super) const OWNER: u64 = 1;
/// A manager of the estate.
pub(super) const MANAGER: u64 = 2;
/// Users without rights.
pub(super) const ADA: u64 = 3;
pub(super) const EVE: u64 = 4;

/// The account of a session.
pub(super) fn agent(session: u64) -> AgentId {
    AgentId(Uuid::from_u128(session.into()))
}

pub(super) fn config_of(terrain: Terrain) -> WorldConfig {
    WorldConfig {
        id: WorldId(1),
        epoch: Epoch(0),
        size_m: terrain.size_m(),
        local_ids: 1..100_000,
        terrain: Arc::new(terrain),
        scenery: Arc::default(),
        objects: Some(link::StoredObjects::default()),
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 100,
        seed: 5,
    }
}

/// Land of one parcel, with an estate's owner and manager.
pub(super) fn new_land(size_m: u32) -> StoredLand {
    let estate = Estate { managers: vec![agent(MANAGER)], ..Estate::new("Hills", Some(agent(OWNER)), 20.0) };
    StoredLand::new(LandState::of_one_parcel(size_m, Uuid::from_u128(0xA), estate, NOW_S), NOW_S)
}

/// The state that follows from frames.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mirror {
    pub(super) ground: Terrain,
    parcels: BTreeMap<ParcelNumber, Arc<Parcel>>,
    squares: Vec<ParcelNumber>,
    estate: Option<Arc<Estate>>,
    baked: Vec<GroundPatch>,
}

impl Mirror {
    pub(super) fn new(ground: &Terrain) -> Self {
        Self {
            ground: ground.clone(),
            parcels: BTreeMap::new(),
            squares: Vec::new(),
            estate: None,
            baked: Vec::new(),
        }
    }

    pub(super) fn follow(&mut self, frame: &Frame) {
        frame.ground.iter().for_each(|patch| self.ground.set_patch(patch));
        for change in &frame.land {
            match change {
                LandChange::Whole(state) => self.take(state),
                LandChange::Parcel(parcel) => {
                    self.parcels.insert(parcel.number, Arc::clone(parcel));
                }
                LandChange::Squares(number, set) => {
                    let side = self.squares.len().isqrt();
                    for (column, row) in set.iter() {
                        self.squares[usize::from(row) * side + usize::from(column)] = *number;
                    }
                }
                LandChange::Removed(number) => {
                    self.parcels.remove(number);
                }
                LandChange::Estate(estate) => self.estate = Some(Arc::clone(estate)),
                LandChange::Baked(patches) => self.baked.clone_from(patches),
            }
        }
    }

    /// As a replica that begins with a part of a snapshot.
    pub(super) fn begin(&mut self, described: &Terrain, chunk: &SnapshotChunk) {
        self.ground = described.clone();
        chunk.ground.iter().for_each(|patch| self.ground.set_patch(patch));
        self.baked.clone_from(&chunk.baked);
        self.take(chunk.land.as_ref().expect("a world with land"));
    }

    fn take(&mut self, state: &LandState) {
        self.parcels = state.parcels.iter().map(|parcel| (parcel.number, Arc::clone(parcel))).collect();
        self.squares = state.squares.to_vec();
        self.estate = Some(Arc::clone(&state.estate));
    }

    /// Checks that it has the state of the world.
    pub(super) fn check(&self, world: &World) {
        let state = world.land().expect("with land").state();
        assert!(
            self.ground.heights() == world.setting.ground.terrain.heights(),
            "the reader's ground is another"
        );
        assert_eq!(self.parcels.values().cloned().collect::<Vec<_>>(), state.parcels);
        assert!(*self.squares == *state.squares, "the reader's squares are others");
        assert_eq!(self.estate.as_ref(), Some(&state.estate));
        assert_eq!(self.baked, world.land().expect("with land").baked_patches());
    }
}

/// A world with four visitors: the estate's owner and manager, and two users without rights.
pub(super) struct Scene {
    pub(super) config: WorldConfig,
    pub(super) world: World,
    pub(super) frame: Frame,
    pub(super) mirror: Mirror,
    pending: Vec<Command>,
    tick: u64,
    sequence: u64,
}

impl Scene {
    pub(super) fn flat() -> Self {
        Self::of(Terrain::flat(256, GROUND_M))
    }

    pub(super) fn of(terrain: Terrain) -> Self {
        let land = new_land(terrain.size_m());
        Self::with_land(config_of(terrain), land)
    }

    pub(super) fn with_land(config: WorldConfig, land: StoredLand) -> Self {
        let world = World::new(config.clone()).with_land(land).expect("land of this ground");
        let mut scene = Self {
            mirror: Mirror::new(&config.terrain),
            config,
            world,
            frame: Frame::empty(),
            pending: Vec::new(),
            tick: 0,
            sequence: 0,
        };
        for session in [OWNER, MANAGER, ADA, EVE] {
            scene.send(session, enter_at(session, Vec3::new(20.0 * session as f32, 128.0, 22.0)));
        }
        scene.step();
        scene
    }

    /// A scene that continues as this one does, with another world of the same state.
    pub(super) fn continued_with(&self, world: World) -> Self {
        Self {
            config: self.config.clone(),
            world,
            frame: Frame::empty(),
            mirror: self.mirror.clone(),
            pending: self.pending.clone(),
            tick: self.tick,
            sequence: self.sequence,
        }
    }

    pub(super) fn land(&self) -> &Land {
        self.world.land().expect("with land")
    }

    /// The present ground.
    pub(super) fn ground(&self) -> &Terrain {
        &self.world.setting.ground.terrain
    }

    pub(super) fn send(&mut self, session: u64, action: Action) {
        self.sequence += 1;
        self.pending.push(Command::by_session(SessionKey(session), self.sequence, action));
    }

    /// A command of the node in a session's name, with an operator's rights.
    pub(super) fn send_as_operator(&mut self, session: u64, edit: LandEdit) {
        self.sequence += 1;
        let action = Action::Land(Box::new(LandCommand { at_s: 0, edit }));
        self.pending.push(Command::by_node(SessionKey(session), self.sequence, action));
    }

    pub(super) fn edit_by(&mut self, session: u64, edit: LandEdit) {
        self.send(session, Action::Land(Box::new(LandCommand { at_s: 0, edit })));
    }

    /// Steps once, also a world that has lost its land.
    pub(super) fn step_without_land(&mut self) {
        self.world.step(Tick(self.tick), TICK, 1.0, &mut self.pending, &mut self.frame);
        self.tick += 1;
    }

    /// Steps once, and compares a reader of the frames with the world.
    pub(super) fn step(&mut self) {
        self.step_without_land();
        self.mirror.follow(&self.frame);
        self.mirror.check(&self.world);
        check_land(self.land());
    }

    pub(super) fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.step();
        }
    }

    /// Refusals in the last frame.
    pub(super) fn refusals(&self) -> Vec<(u64, LandRefusal)> {
        let refusal = |event: &Event| match event {
            Event::Land(session, LandEvent::Refused { reason, .. }) => Some((session.0, *reason)),
            _ => None,
        };
        self.frame.events.iter().filter_map(refusal).collect()
    }

    /// Edits the land in one step.
    pub(super) fn edit(&mut self, session: u64, edit: LandEdit) -> Result<(), LandRefusal> {
        self.edit_by(session, edit);
        self.step();
        self.outcome()
    }

    pub(super) fn edit_as_operator(&mut self, edit: LandEdit) -> Result<(), LandRefusal> {
        self.send_as_operator(OWNER, edit);
        self.step();
        self.outcome()
    }

    fn outcome(&self) -> Result<(), LandRefusal> {
        self.refusals().first().map_or(Ok(()), |&(_, reason)| Err(reason))
    }

    pub(super) fn parcel(&self, number: u16) -> &Parcel {
        self.land().parcel(ParcelNumber(number)).expect("a parcel")
    }

    /// Divides a rectangle off for the estate's owner, and gives it to a user; its number.
    pub(super) fn divide_for(&mut self, session: u64, area: LandRect) -> ParcelNumber {
        let id = Uuid::from_u128(0xB000 + u128::from(self.sequence));
        self.edit(OWNER, LandEdit::Divide { area, id }).expect("a part of a parcel");
        let number = self.number_at(area.west + 1.0, area.south + 1.0);
        let owner = ParcelEdit::ForceOwner(Some(agent(session)));
        self.edit_as_operator(LandEdit::Parcel(number, owner)).expect("an operator");
        number
    }

    pub(super) fn number_at(&self, x: f32, y: f32) -> ParcelNumber {
        self.land().parcel_at(Vec2::new(x, y)).expect("inside").number
    }

    /// Changes the settings of a parcel by its owner.
    pub(super) fn set(
        &mut self,
        session: u64,
        number: ParcelNumber,
        change: impl FnOnce(&mut ParcelSettings),
    ) {
        let mut settings = self.parcel(number.0).settings.clone();
        change(&mut settings);
        let edit = LandEdit::Parcel(number, ParcelEdit::Settings(Box::new(settings)));
        assert_eq!(self.edit(session, edit), Ok(()));
    }

    /// Position of a session's avatar, if it is in the world.
    pub(super) fn position(&self, session: u64) -> Option<Vec3> {
        let of_session = |entity: &Arc<link::Entity>| entity.avatar.session == SessionKey(session);
        self.world.avatars().find(of_session).map(|entity| entity.motion.position)
    }

    /// Puts a session's avatar elsewhere.
    pub(super) fn teleport(&mut self, session: u64, position: Vec3) {
        self.send(session, Action::Teleport { position, look_at: Vec3::X });
        self.step();
    }
}

pub(super) fn enter_at(session: u64, position: Vec3) -> Action {
    Action::Enter(Box::new(Enter {
        agent: agent(session),
        first_name: "Ada".into(),
        last_name: "Resident".into(),
        position,
        look_at: Vec3::X,
        flying: false,
        appearance: None,
    }))
}

pub(super) const fn rect(west: f32, south: f32, east: f32, north: f32) -> LandRect {
    LandRect { west, south, east, north }
}

pub(super) fn stroke(brush: Brush, area: StrokeArea, seconds: f32) -> LandEdit {
    stroke_to(brush, area, seconds, 0.0)
}

pub(super) fn stroke_to(brush: Brush, area: StrokeArea, seconds: f32, height_m: f32) -> LandEdit {
    LandEdit::Ground(GroundEdit::Stroke(Stroke { brush, area, seconds, height_m }))
}

pub(super) fn disc(x: f32, y: f32, radius_m: f32) -> StrokeArea {
    StrokeArea::Disc { at: Vec2::new(x, y), radius_m }
}

pub(super) const fn of_parcel(number: u16, edit: ParcelEdit) -> LandEdit {
    LandEdit::Parcel(ParcelNumber(number), edit)
}

pub(super) fn listed(list: EstateList, session: u64, is_added: bool) -> LandEdit {
    LandEdit::Estate(EstateEdit::List { list, id: agent(session).0, is_added })
}

/// Checks the invariants of a land: each square is of one parcel, areas sum to the region's, and the running hash is that of the state.
pub(super) fn check_land(land: &Land) {
    let state = land.state();
    let mut n_squares: BTreeMap<ParcelNumber, u32> = BTreeMap::new();
    for number in &*state.squares {
        *n_squares.entry(*number).or_default() += 1;
    }
    let of_parcels = state.parcels.iter().map(|parcel| (parcel.number, parcel.n_squares)).collect();
    assert_eq!(n_squares, of_parcels, "squares and parcels differ");
    let area_m2: u32 = state.parcels.iter().map(|parcel| parcel.area_m2()).sum();
    assert_eq!(area_m2, land.size_m() * land.size_m());
}
