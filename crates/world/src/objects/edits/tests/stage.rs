//! A world with an owner, a stranger, a friend of the owner and an operator, and checks of its state.

use crate::objects::ObjectStore;
use crate::objects::edits::editor::OFFSET_MAX_M;
use crate::{World, WorldConfig};
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, LocalId, SessionKey, Tick, Ticket, Uuid, WorldId};
use link::{
    Action, CEILING_M, Command, ContentsOutcome, EditRefusal, EditRights, Enter, Estate, Event, Frame,
    HeldObject, LandCommand, LandEdit, LandState, Motion, NewObject, ObjectCommand, ObjectLimits, Parcel,
    PrimFlags, StoredLand, StoredObjects, Terrain, Transfer, WornTransfer,
};
use prim::body::SIZE_RANGE_M;
use prim::{Body, Shape, check_texture_entry};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

pub(super) const ADA: SessionKey = SessionKey(1);
/// Without rights on objects of others.
pub(super) const EVE: SessionKey = SessionKey(2);
/// May edit Ada's objects.
pub(super) const FAY: SessionKey = SessionKey(3);
pub(super) const OPERATOR: SessionKey = SessionKey(4);

pub(super) const IDS: Range<u32> = 1 << 20..2 << 20;
pub(super) const TICK: Duration = Duration::from_millis(50);
const SIZE_M: u32 = 256;

pub(super) const fn agent_of(SessionKey(session): SessionKey) -> AgentId {
    AgentId(Uuid::from_u128(100 + session as u128))
}

pub(super) fn config() -> WorldConfig {
    WorldConfig {
        id: WorldId(1),
        epoch: Epoch(0),
        size_m: SIZE_M,
        local_ids: IDS,
        terrain: Arc::new(Terrain::flat(SIZE_M, 21.0)),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 10,
        seed: 1,
    }
}

/// A prim as a client makes it, half a metre wide.
pub(super) fn new_object(id: u128, position: Vec3) -> NewObject {
    NewObject {
        id: Uuid::from_u128(id),
        created_us: 1 << 50,
        p_code: 9,
        state: 0,
        material: 3,
        shape: Shape::BOX,
        scale: Vec3::splat(0.5),
        position,
        ray: None,
        rotation: Quat::IDENTITY,
        group: Uuid::nil(),
        flags: PrimFlags::default(),
        is_selected: true,
    }
}

/// Answer to one request.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// New linksets.
    pub(super) created: Vec<LocalId>,
    pub(super) refused: Option<(EditRefusal, Vec<LocalId>)>,
    pub(super) transfers: Vec<(Ticket, Transfer)>,
    /// Answer to an order without a key.
    pub(super) rezzed: Option<(Uuid, Option<EditRefusal>)>,
    /// Outcome of a request for an item of a prim.
    pub(super) contents: Option<ContentsOutcome>,
    /// An item that an avatar is not to wear, and the reason.
    pub(super) not_worn: Option<(Uuid, EditRefusal)>,
}

impl Answer {
    /// The request was carried out for all objects.
    #[track_caller]
    pub(super) fn done(self) -> Self {
        assert_eq!(self.refused, None);
        self
    }

    /// Objects that left the world.
    pub(super) fn held(&self) -> Vec<Arc<HeldObject>> {
        let held = self.transfers.iter().map(|(_, transfer)| match transfer {
            Transfer::Held(object) => Arc::clone(object),
            other => panic!("{other:?}"),
        });
        held.collect()
    }

    #[track_caller]
    pub(super) fn refused(&self, reason: EditRefusal, ids: &[LocalId]) {
        assert_eq!(self.refused, Some((reason, ids.to_vec())));
    }
}

pub(super) struct Stage {
    pub(super) world: World,
    pub(super) frame: Frame,
    /// Result of the node's last request: changed, refused, the reason for the first of these.
    pub(super) node_result: Option<(u32, u32, Option<EditRefusal>)>,
    tick: u64,
    n_made: u128,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::of(World::with_objects(config(), StoredObjects::default()).expect("no objects"))
    }

    /// On one parcel with these settings. Unless they name an owner, it has none.
    pub(super) fn on_parcel(edit: impl FnOnce(&mut Parcel)) -> Self {
        let estate = Estate::new("Hills", None, 20.0);
        let mut land = LandState::of_one_parcel(SIZE_M, Uuid::from_u128(0xA), estate, 0);
        edit(Arc::make_mut(&mut land.parcels[0]));
        let world = World::with_objects(config(), StoredObjects::default()).expect("no objects");
        Self::of(world.with_land(StoredLand::new(land, 0)).expect("land of this ground"))
    }

    fn of(world: World) -> Self {
        let mut stage = Self { world, frame: Frame::empty(), node_result: None, tick: 0, n_made: 0 };
        let sessions = [ADA, EVE, FAY, OPERATOR];
        stage.step(sessions.map(|session| Command::by_session(session, 0, enter(session))).into());
        let rights = [
            (FAY, EditRights { owners: vec![agent_of(ADA)], ..EditRights::default() }),
            (OPERATOR, EditRights { is_operator: true, ..EditRights::default() }),
        ];
        let grant = |(session, rights)| Command::by_node(session, 1, Action::EditRights(Box::new(rights)));
        stage.step(rights.map(grant).into());
        stage
    }

    pub(super) fn step(&mut self, mut commands: Vec<Command>) {
        self.world.step(Tick(self.tick), TICK, 1.0, &mut commands, &mut self.frame);
        self.tick += 1;
    }

    /// Lets world time pass, a tick at a time.
    pub(super) fn pass(&mut self, time: Duration) {
        let n_ticks = time.as_nanos().div_ceil(TICK.as_nanos());
        (0..n_ticks).for_each(|_| self.step(Vec::new()));
    }

    /// One request in a tick of its own, after which the state is checked.
    #[track_caller]
    pub(super) fn ask(&mut self, by: SessionKey, request: ObjectCommand) -> Answer {
        let action = Action::Object(Box::new(request));
        let command = match by {
            SessionKey::NODE => Command::by_node(by, self.tick, action),
            session => Command::by_session(session, self.tick, action),
        };
        self.step(vec![command]);
        self.answer(by)
    }

    /// A request of the node for a session, in a tick of its own, after which the state is checked.
    #[track_caller]
    pub(super) fn order_object(&mut self, session: SessionKey, request: ObjectCommand) -> Answer {
        self.step(vec![Command::by_node(session, self.tick, Action::Object(Box::new(request)))]);
        self.answer(session)
    }

    /// An order of the node in a tick of its own, after which the state is checked.
    #[track_caller]
    pub(super) fn order(&mut self, action: Action) -> Answer {
        self.order_for(SessionKey::NODE, action)
    }

    /// The same for a session, which gets the reports.
    #[track_caller]
    pub(super) fn order_for(&mut self, session: SessionKey, action: Action) -> Answer {
        self.step(vec![Command::by_node(SessionKey::NODE, self.tick, action)]);
        self.answer(session)
    }

    /// Answer of the last frame to the author of its request.
    #[track_caller]
    fn answer(&mut self, by: SessionKey) -> Answer {
        check(&self.world);
        let mut answer = Answer::default();
        for event in &self.frame.events {
            match event {
                Event::ObjectCreated { session, id, object, .. } => {
                    assert_eq!((*session, self.store().local_id(*object)), (by, Some(*id)));
                    answer.created.push(*id);
                }
                Event::ObjectsRefused { session, reason, ids } => {
                    assert_eq!(*session, by);
                    let former = answer.refused.replace((*reason, ids.clone()));
                    assert_eq!(former, None, "one event for each request");
                }
                Event::Transfer(ticket, transfer) => answer.transfers.push((*ticket, transfer.clone())),
                Event::Rezzed { order, refusal } => answer.rezzed = Some((*order, *refusal)),
                Event::Contents(event) => {
                    assert_eq!((event.session, event.sequence), (by, self.tick - 1));
                    let object = self.store().body(event.id).map(|versioned| versioned.body.id);
                    assert_eq!(event.object, object.unwrap_or_default());
                    assert_eq!(answer.contents.replace(event.outcome.clone()), None);
                }
                Event::ObjectsChanged { sequence, done, refused, reason } => {
                    assert_eq!((by, *sequence), (SessionKey::NODE, self.tick - 1));
                    self.node_result = Some((*done, *refused, *reason));
                }
                // Of prims that are meshes or sculpts.
                Event::SolidsWanted(_) => {}
                Event::WearRefused { item, reason, .. } => answer.not_worn = Some((*item, *reason)),
                other => panic!("{other:?}"),
            }
        }
        answer
    }

    /// An edit of the land by an operator.
    pub(super) fn edit_land(&mut self, edit: LandEdit) {
        let action = Action::Land(Box::new(LandCommand { at_s: 0, edit }));
        self.step(vec![Command::by_node(OPERATOR, self.tick, action)]);
        assert!(
            !self.frame.events.iter().any(|event| matches!(event, Event::Land(..))),
            "{:?}",
            self.frame.events
        );
    }

    /// Objects that have left the world in the last step.
    pub(super) fn held_in_frame(&self) -> Vec<Arc<HeldObject>> {
        let held = self.frame.events.iter().filter_map(|event| match event {
            Event::Transfer(_, Transfer::Held(held)) => Some(Arc::clone(held)),
            _ => None,
        });
        held.collect()
    }

    /// Worn linksets that have changed hands in the last step.
    pub(super) fn worn_in_frame(&self) -> Vec<Arc<WornTransfer>> {
        let worn = self.frame.events.iter().filter_map(|event| match event {
            Event::Transfer(_, Transfer::Worn(worn)) => Some(Arc::clone(worn)),
            _ => None,
        });
        worn.collect()
    }

    /// Linksets that the last step has sent to their owners, by the ids of their roots.
    pub(super) fn returned(&self) -> Vec<Uuid> {
        self.held_in_frame().iter().map(|held| held.linksets[0][0].1.body.id).collect()
    }

    pub(super) fn limit(&mut self, limits: ObjectLimits) {
        self.step(vec![Command::by_node(SessionKey::NODE, self.tick, Action::ObjectLimits(limits))]);
    }

    /// A new box of a session, each a metre beside the former one.
    #[track_caller]
    pub(super) fn rez(&mut self, by: SessionKey) -> LocalId {
        let position = Vec3::new(50.0 + self.n_made as f32, 60.0, 30.0);
        self.rez_as(by, NewObject { position, ..new_object(0, Vec3::ZERO) })
    }

    /// As [`Self::rez`], of another form; its id is chosen here.
    #[track_caller]
    pub(super) fn rez_as(&mut self, by: SessionKey, object: NewObject) -> LocalId {
        self.n_made += 1;
        let object = NewObject { id: Uuid::from_u128(1_000 + self.n_made), ..object };
        let answer = self.ask(by, ObjectCommand::Create(Box::new(object))).done();
        let [id] = answer.created[..] else { panic!("{answer:?}") };
        id
    }

    /// A linkset of a session, root first.
    #[track_caller]
    pub(super) fn rez_linkset(&mut self, by: SessionKey, n_prims: usize) -> Vec<LocalId> {
        let prims: Vec<LocalId> = (0..n_prims).map(|_| self.rez(by)).collect();
        for parts in prims[1..].chunks(200) {
            self.ask(by, ObjectCommand::Link([&prims[..1], parts].concat())).done();
        }
        prims
    }

    pub(super) fn store(&self) -> &ObjectStore {
        self.world.objects.as_ref().expect("built on")
    }

    #[track_caller]
    pub(super) fn body(&self, id: LocalId) -> &Body {
        &self.store().body(id).expect("it is there").body
    }

    #[track_caller]
    pub(super) fn id_of(&self, id: LocalId) -> Uuid {
        self.body(id).id
    }

    /// Place in the region.
    #[track_caller]
    pub(super) fn position(&self, id: LocalId) -> Vec3 {
        self.store().motion_in_region(id).expect("it is there").position
    }

    /// Places and sizes of all prims.
    pub(super) fn places(&self) -> Vec<(Motion, Vec3)> {
        let pages = self.store().pages();
        let prims = pages.iter().flat_map(|page| page.prims());
        prims.map(|(_, prim, versioned)| (prim.motion, versioned.body.scale)).collect()
    }

    #[track_caller]
    pub(super) fn flags(&self, id: LocalId) -> PrimFlags {
        self.store().motion(id).expect("it is there").flags
    }
}

pub(super) fn enter(session: SessionKey) -> Action {
    Action::Enter(Box::new(Enter {
        agent: agent_of(session),
        first_name: "Ada".into(),
        last_name: "Resident".into(),
        position: Vec3::splat(50.0),
        look_at: Vec3::X,
        flying: false,
        appearance: None,
    }))
}

/// Everything that holds between two steps, after any request.
#[track_caller]
pub(super) fn check(world: &World) {
    let store = world.objects.as_ref().expect("built on");
    let again =
        ObjectStore::restored(&IDS, store.stored()).expect("links and ids do not contradict each other");
    assert_eq!(again.hash(), store.hash(), "the hash is the sum of the prims");
    let mut n_prims = 0;
    let prims = store.pages();
    for (id, motion, versioned) in prims.iter().flat_map(|page| page.prims()) {
        let (body, place) = (&versioned.body, motion.motion);
        n_prims += 1;
        assert_eq!(store.local_id(body.id), Some(id));
        assert!(place.position.is_finite() && place.rotation.is_normalized(), "{id:?}: {place:?}");
        assert!(
            body.scale.min_element() >= SIZE_RANGE_M.0 && body.scale.max_element() <= SIZE_RANGE_M.1,
            "{id:?}: {}",
            body.scale
        );
        assert_eq!(body.shape.clamped(), Ok(body.shape));
        assert_eq!(check_texture_entry(&body.texture_entry), Ok(()));
        assert_eq!(Body::clone(body).checked().as_ref(), Ok(&**body));
        let items = body.contents.iter().flat_map(|contents| &contents.items);
        assert!(items.clone().all(|item| item.ownership.owner == body.ownership.owner), "{id:?}");
        assert!(items.clone().all(|item| item.ownership.group == body.ownership.group), "{id:?}");
        assert_eq!(motion.flags.any(PrimFlags::INVENTORY_EMPTY), body.n_items() == 0, "{id:?}");
        assert_eq!(store.contents_rights(id), body.contents_rights(), "{id:?}");
        let is_temporary = motion.flags.any(PrimFlags::TEMPORARY);
        let root = store.root_of(id).expect("it has a root");
        let is_worn = store.motion(root).is_some_and(|prim| prim.parent != LocalId(0));
        assert!(is_temporary || is_worn || !store.is_temporary_id(id), "{id:?} is kept");
        let root_body = &store.body(root).expect("it is there").body;
        if root == id {
            let size = SIZE_M as f32;
            let Vec3 { x, y, z } = place.position;
            let is_inside = (0.0..=size).contains(&x) && (0.0..=size).contains(&y);
            assert!(is_inside && (-100.0..=CEILING_M).contains(&z), "{id:?}: {place:?}");
            assert!(store.linkset_len(root) <= 256);
            assert_eq!(world.edits.temporaries.due_of(body.id).is_some(), is_temporary, "{id:?}");
        } else {
            assert!(place.position.abs().max_element() <= OFFSET_MAX_M, "{id:?}: {place:?}");
            assert_eq!(root_body.ownership.owner, body.ownership.owner);
            let shared = |flags: PrimFlags| flags.0 & PrimFlags::OF_LINKSET.0;
            assert_eq!(shared(motion.flags), store.motion(root).map_or(0, |root| shared(root.flags)));
        }
    }
    assert_eq!(store.len(), n_prims);
    let restored = World::restore(config(), &world.snapshot()).expect("its own snapshot");
    assert_eq!(restored.state_hash(), world.state_hash());
}
