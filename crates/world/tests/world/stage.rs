//! A small world to play scenes in: sends commands, steps, and keeps the state in frames as a replica would.

use glam::{Quat, Vec2, Vec3};
use ids::{AgentId, Epoch, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Change, Command, Control, ControlFlags, Enter, Entity, Event, Frame, Motion, Terrain};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use world::{CastReload, World, WorldConfig};

pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Height of a standing avatar's centre above the ground.
pub(crate) const STANDING: f32 = 0.95;

pub(crate) fn config(terrain: Terrain) -> WorldConfig {
    WorldConfig {
        id: WorldId(3),
        epoch: Epoch(1),
        size_m: terrain.size_m(),
        local_ids: 1_000..2_000_000,
        terrain: Arc::new(terrain),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: WorldConfig::MAX_AVATARS,
        seed: 42,
    }
}

pub(crate) fn enter_at(position: Vec3) -> Action {
    Action::Enter(Box::new(Enter {
        agent: AgentId(Uuid::from_u128(7)),
        first_name: "Ada".into(),
        last_name: "Resident".into(),
        position,
        look_at: Vec3::X,
        flying: false,
        appearance: None,
    }))
}

pub(crate) fn control(flags: ControlFlags, body_rotation: Quat) -> Action {
    Action::Control(Control { flags, body_rotation })
}

/// State of a reader of all frames.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Mirror(pub(crate) BTreeMap<LocalId, Entity>);

impl Mirror {
    pub(crate) fn apply(&mut self, change: &Change) {
        match change {
            Change::Created(entity) => {
                self.0.insert(entity.id, Entity::clone(entity));
            }
            Change::Removed(id) => {
                self.0.remove(id);
            }
            Change::Moved(id, motion) => {
                self.0.entry(*id).and_modify(|entity| entity.motion = *motion);
            }
            Change::Appeared(id, appearance) => {
                self.0.entry(*id).and_modify(|entity| {
                    let avatar = &mut entity.avatar;
                    avatar.size = link::Appearance::avatar_size(appearance.as_deref());
                    avatar.appearance.clone_from(appearance);
                });
            }
            Change::Seated(id, seat) => {
                self.0.entry(*id).and_modify(|entity| entity.seat = *seat);
            }
            Change::Animated(id, animations) => {
                self.0.entry(*id).and_modify(|entity| entity.avatar.animations = animations.clone());
            }
        }
    }
}

pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) mirror: Mirror,
    pub(crate) frame: Frame,
    tick: Tick,
    sequence: u64,
    pending: Vec<Command>,
}

impl Stage {
    pub(crate) fn new(config: WorldConfig) -> Self {
        Self {
            world: World::new(config),
            mirror: Mirror::default(),
            frame: Frame::empty(),
            tick: Tick(0),
            sequence: 0,
            pending: Vec::new(),
        }
    }

    pub(crate) fn flat() -> Self {
        Self::new(config(Terrain::flat(256, 21.0)))
    }

    /// Flat ground, one avatar (session 1) at rest in the middle, facing east.
    pub(crate) fn with_one() -> Self {
        let mut stage = Self::flat();
        stage.send(1, enter_at(Vec3::new(128.0, 128.0, 21.0 + STANDING)));
        stage.step();
        stage
    }

    pub(crate) fn send(&mut self, session: u64, action: Action) {
        self.sequence += 1;
        self.pending.push(Command::by_session(SessionKey(session), self.sequence, action));
    }

    /// Offers a reload, and orders it for the next step.
    pub(crate) fn reload(&mut self, reload: &Arc<CastReload>) {
        self.world.offer_reload(Arc::clone(reload));
        self.order(reload);
    }

    /// Orders a reload without an offer.
    pub(crate) fn order(&mut self, reload: &CastReload) {
        self.sequence += 1;
        self.pending.push(reload.command(self.sequence));
    }

    pub(crate) fn resync(&mut self) {
        self.sequence += 1;
        self.pending.push(Command::by_node(SessionKey::NODE, self.sequence, Action::Resync));
    }

    /// A command of the node for the world as a whole.
    pub(crate) fn node(&mut self, action: Action) {
        self.sequence += 1;
        self.pending.push(Command::by_node(SessionKey::NODE, self.sequence, action));
    }

    /// Replaces the world by the one that its snapshot describes; true if nothing shows.
    pub(crate) fn restore(&mut self, config: WorldConfig) -> bool {
        let (snapshot, hash) = (self.world.snapshot(), self.world.state_hash());
        self.world = World::restore(config, &snapshot).expect("its own snapshot");
        self.world.state_hash() == hash && self.world.snapshot() == snapshot
    }

    pub(crate) fn press(&mut self, session: u64, flags: ControlFlags) {
        self.send(session, control(flags, Quat::IDENTITY));
    }

    pub(crate) fn step(&mut self) -> &Frame {
        self.step_by(TICK)
    }

    pub(crate) fn step_by(&mut self, dt: Duration) -> &Frame {
        self.world.step(self.tick, dt, 1.0, &mut self.pending, &mut self.frame);
        assert!(self.pending.is_empty());
        self.tick.0 += 1;
        self.frame.changes.iter().for_each(|change| self.mirror.apply(change));
        &self.frame
    }

    pub(crate) fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.step();
        }
    }

    pub(crate) fn entity(&self, session: u64) -> &Entity {
        let of_session = |entity: &&Entity| entity.avatar.session == SessionKey(session);
        self.mirror.0.values().find(of_session).expect("the session is in the world")
    }

    pub(crate) fn motion(&self, session: u64) -> Motion {
        self.entity(session).motion
    }

    pub(crate) fn at(&self, session: u64) -> Vec2 {
        self.motion(session).position.truncate()
    }

    pub(crate) fn animations(&self, session: u64) -> Vec<Uuid> {
        self.entity(session).avatar.animations.iter().map(|animation| animation.id).collect()
    }

    /// True if the last frame changed nothing.
    pub(crate) fn is_still(&self) -> bool {
        self.frame.changes.is_empty()
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.frame.events
    }
}
