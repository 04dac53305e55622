//! A real world that gives frames, and what a replica of it must look like.

use crate::scenery::SceneryReplica;
use crate::{EncodedFrame, Encoder, Intake, Replica};
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Appearance, Command, Control, ControlFlags, Enter, Frame, Motion, Terrain};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use wire::terse::AVATAR_BLOCK_LEN;
use world::{Checkpoint, World, WorldConfig};

pub(super) const WORLD: WorldId = WorldId(0);
pub(super) const TICK: Duration = Duration::from_millis(50);

/// A flat world of 256 m, stepped at 20 Hz.
#[derive(Debug)]
pub(super) struct Source {
    world: World,
    tick: u64,
    commands: Vec<Command>,
    sequence: u64,
}

impl Source {
    pub(super) fn new() -> Self {
        Self { world: World::new(config()), tick: 0, commands: Vec::new(), sequence: 0 }
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        self.world.checkpoint()
    }

    /// Begins the next epoch after a step that failed, as a supervisor does.
    pub(super) fn begin_again(&mut self, checkpoint: &Checkpoint) {
        let ids = self.world.ids_used();
        let next = WorldConfig { epoch: Epoch(self.world.epoch().0 + 1), ..config() };
        self.world = World::resume(next, checkpoint).expect("its own checkpoint");
        self.world.skip_ids(ids);
        self.tick += 1;
    }

    pub(super) fn command(&mut self, session: u64, action: Action) {
        self.sequence += 1;
        self.commands.push(Command::by_session(SessionKey(session), self.sequence, action));
    }

    pub(super) fn enter(&mut self, session: u64) {
        let enter = Enter {
            agent: AgentId(Uuid::from_u128(u128::from(session))),
            first_name: format!("Visitor{session}"),
            last_name: "Resident".into(),
            position: Vec3::new(
                20.0 + (session % 20) as f32 * 10.0,
                20.0 + (session / 20) as f32 * 7.0,
                22.0,
            ),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        };
        self.command(session, Action::Enter(Box::new(enter)));
    }

    pub(super) fn control(&mut self, session: u64, flags: ControlFlags, yaw: f32) {
        let control = Control { flags, body_rotation: Quat::from_rotation_z(yaw) };
        self.command(session, Action::Control(control));
    }

    pub(super) fn appear(&mut self, session: u64, height_m: f32) {
        let appearance = Appearance {
            texture_entry: vec![1, 2, 3],
            visual_params: vec![session as u8; 218],
            cof_version: 0,
            height_m,
        };
        self.command(session, Action::Appear(Arc::new(appearance)));
    }

    pub(super) fn resync(&mut self) {
        self.sequence += 1;
        self.commands.push(Command::by_node(SessionKey::NODE, self.sequence, Action::Resync));
    }

    pub(super) fn step(&mut self) -> Frame {
        let mut frame = Frame::empty();
        let dt = Duration::from_millis(50);
        self.world.step(Tick(self.tick), dt, 1.0, &mut self.commands, &mut frame);
        self.tick += 1;
        frame
    }
}

fn config() -> WorldConfig {
    WorldConfig {
        id: WORLD,
        epoch: Epoch(0),
        size_m: 256,
        local_ids: 1..100_000,
        terrain: Arc::new(Terrain::flat(256, 21.0)),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: WorldConfig::MAX_AVATARS,
        seed: 7,
    }
}

/// A replica that is fed frames directly.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) encoder: Encoder,
    pub(super) replica: Replica,
}

impl Follower {
    pub(super) fn new() -> Self {
        Self { encoder: Encoder::new(TICK), replica: empty() }
    }

    pub(super) fn follow(&mut self, frame: &Frame) -> Intake {
        let mut encoded = EncodedFrame::default();
        let intake = self.encoder.encode(frame, &mut encoded);
        if intake == Intake::Ready {
            self.replica.apply(&encoded);
            self.replica.rebuild_cells();
        }
        intake
    }
}

pub(super) fn empty() -> Replica {
    Replica::new(WORLD, 256.0, SceneryReplica::default())
}

/// Everything that viewers can be sent of an entity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Portrait {
    session: SessionKey,
    motion: Motion,
    at_rest: bool,
    terse: [u8; AVATAR_BLOCK_LEN],
    full: Vec<u8>,
    animation: Vec<u8>,
    appearance: Option<Arc<Appearance>>,
}

/// Contents of a replica, by local id.
pub(super) fn portraits(replica: &Replica) -> BTreeMap<u32, Portrait> {
    replica
        .entities()
        .map(|(index, hot, slot)| {
            assert_eq!(replica.of_session(slot.session), Some(index), "sessions are found by their key");
            assert_eq!(hot.position, slot.motion.position);
            let mut full = Vec::new();
            slot.write_full(0.0, &mut full);
            let portrait = Portrait {
                session: slot.session,
                motion: slot.motion,
                at_rest: hot.at_rest,
                terse: *replica.terse(index),
                full,
                animation: slot.animation.to_vec(),
                appearance: slot.appearance.clone(),
            };
            (hot.id, portrait)
        })
        .collect()
}
