//! Scripted avatars, and one observer.

use crate::selection::{Allowance, FULL_BLOCK_BYTES, Selection};
use crate::{Encoder, Intake, Lister, Place, Replica, Viewer};
use glam::Vec3;
use ids::{AgentId, Epoch, LocalId, SessionKey, Tick, Uuid};
use link::{Appearance, Audience, Avatar, Change, Entity, Frame, Motion, Seat};
use std::sync::Arc;
use wire::terse::AVATAR_BLOCK_LEN;

/// The session that looks.
pub(super) const ME: SessionKey = SessionKey(1_000_000);

#[derive(Debug)]
pub(super) struct Scene {
    encoder: Encoder,
    pub(super) replica: Replica,
    changes: Vec<Change>,
    frames: u64,
}

impl Scene {
    pub(super) fn new() -> Self {
        Self {
            encoder: Encoder::new(super::source::TICK),
            replica: super::source::empty(),
            changes: Vec::new(),
            frames: 0,
        }
    }

    /// `n` avatars in a row along x, a metre apart, at rest, with local ids from 1.
    pub(super) fn row(n: u32) -> Self {
        let mut scene = Self::new();
        for id in 1..=n {
            scene.enter(id, SessionKey(u64::from(id)), Audience::All, along(id as f32));
        }
        scene.tick();
        scene
    }

    pub(super) fn enter(&mut self, id: u32, session: SessionKey, audience: Audience, position: Vec3) {
        self.changes.push(Change::Created(Arc::new(Entity {
            id: LocalId(id),
            audience,
            motion: Motion { position, ..Motion::default() },
            seat: None,
            avatar: Avatar {
                session,
                agent: AgentId(Uuid::from_u128(u128::from(id))),
                first_name: format!("Visitor{id}"),
                last_name: "Resident".into(),
                size: Appearance::DEFAULT_SIZE,
                appearance: None,
                animations: link::Animations::new(),
            },
        })));
    }

    pub(super) fn appear(&mut self, id: u32, appearance: Option<Appearance>) {
        self.changes.push(Change::Appeared(LocalId(id), appearance.map(Arc::new)));
    }

    pub(super) fn leave(&mut self, id: u32) {
        self.changes.push(Change::Removed(LocalId(id)));
    }

    pub(super) fn walk(&mut self, id: u32, position: Vec3) {
        let velocity = Vec3::new(3.2, 0.0, 0.0);
        self.changes.push(Change::Moved(LocalId(id), Motion { position, velocity, ..Motion::default() }));
    }

    pub(super) fn rest(&mut self, id: u32, position: Vec3) {
        self.changes.push(Change::Moved(LocalId(id), Motion { position, ..Motion::default() }));
    }

    pub(super) fn seat(&mut self, id: u32, seat: Option<Seat>) {
        self.changes.push(Change::Seated(LocalId(id), seat));
    }

    pub(super) fn tick(&mut self) {
        let frame = Frame {
            epoch: Epoch(0),
            sequence: self.frames,
            tick: Tick(self.frames + 1),
            changes: std::mem::take(&mut self.changes),
            ..Frame::empty()
        };
        self.frames += 1;
        let mut encoded = crate::EncodedFrame::default();
        assert_eq!(self.encoder.encode(&frame, &mut encoded), Intake::Ready);
        self.replica.apply(&encoded);
        self.replica.rebuild_cells();
    }

    /// Time passes in which nothing happens.
    pub(super) fn ticks(&mut self, n: u32) {
        (0..n).for_each(|_| self.tick());
    }
}

pub(super) fn along(x: f32) -> Vec3 {
    Vec3::new(x, 0.0, 22.0)
}

/// Contents of one send, as local ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) killed: Vec<u32>,
    pub(super) full: Vec<u32>,
    pub(super) terse: Vec<u32>,
}

impl Sent {
    pub(super) fn bytes(&self) -> usize {
        self.full.len() * FULL_BLOCK_BYTES + self.terse.len() * AVATAR_BLOCK_LEN
    }
}

/// One client's turn, as a shard does it.
pub(super) fn send(viewer: &mut Viewer, scene: &Scene, allowance: Allowance) -> Sent {
    let killed =
        viewer.update_visible_set(&scene.replica, &mut Lister::default()).iter().map(|id| id.0).collect();
    let mut selection = Selection::default();
    selection.choose(viewer, &scene.replica, allowance);
    let ids = |places: &[Place]| {
        let mut ids: Vec<u32> = places.iter().map(|&at| viewer.histories()[at as usize].id).collect();
        ids.sort_unstable();
        ids
    };
    let sent = Sent { killed, full: ids(&selection.full), terse: ids(&selection.terse) };
    let (hot, tick) = (scene.replica.hot(), scene.replica.tick.0 as u32);
    for &at in &selection.full {
        viewer.mark_shown(at, &hot[viewer.shown()[at as usize].slot as usize], tick);
    }
    for &at in &selection.terse {
        viewer.updated(at, &hot[viewer.shown()[at as usize].slot as usize], tick);
    }
    sent
}

/// As much as there is.
pub(super) const PLENTY: Allowance = Allowance {
    bytes: 1_000_000,
    full: 10_000,
    blocks_per_datagram: 1,
    pressure: 1.0,
    far_every: 1,
    near_only: false,
};

/// Room for `blocks` terse blocks.
pub(super) const fn room_for(blocks: usize) -> Allowance {
    Allowance {
        bytes: blocks * AVATAR_BLOCK_LEN,
        full: 0,
        blocks_per_datagram: 1,
        pressure: 1.0,
        far_every: 1,
        near_only: false,
    }
}
