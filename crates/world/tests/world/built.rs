//! A world that is built on, and its builder.

use crate::stage::{STANDING, Stage, config, enter_at};
use glam::{Quat, Vec3};
use ids::{LocalId, Uuid};
use link::{
    Action, NewObject, ObjectChange, ObjectCommand, ObjectLimits, Placement, PrimFlags, StoredObjects,
    Terrain,
};
use prim::Shape;
use std::ops::Range;
use world::WorldConfig;

/// Height of the level ground.
pub(crate) const GROUND_M: f32 = 21.0;
const IDS: Range<u32> = 1 << 20..2 << 20;

/// Local ids of prims in the order in which they are made.
pub(crate) const fn nth(n: u32) -> LocalId {
    LocalId(IDS.start + n)
}

pub(crate) fn built_config() -> WorldConfig {
    config_on(Terrain::flat(256, GROUND_M))
}

fn config_on(terrain: Terrain) -> WorldConfig {
    WorldConfig { local_ids: IDS, objects: Some(StoredObjects::default()), ..config(terrain) }
}

/// A place on the ground.
pub(crate) fn ground(x: f32, y: f32) -> Vec3 {
    Vec3::new(x, y, GROUND_M)
}

/// A plain box.
pub(crate) fn block(centre: Vec3, scale: Vec3) -> NewObject {
    NewObject {
        id: Uuid::nil(),
        created_us: 0,
        p_code: 9,
        state: 0,
        material: 3,
        shape: Shape::BOX,
        scale,
        position: centre,
        ray: None,
        rotation: Quat::IDENTITY,
        group: Uuid::nil(),
        flags: PrimFlags::default(),
        is_selected: false,
    }
}

/// A stage whose visitor 1, at rest on the ground at 128, 128, builds.
pub(crate) struct Site {
    pub(crate) stage: Stage,
    n_made: u128,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::on(Terrain::flat(256, GROUND_M))
    }

    /// The same on other ground.
    pub(crate) fn on(terrain: Terrain) -> Self {
        let mut stage = Stage::new(config_on(terrain));
        stage.send(1, enter_at(ground(128.0, 128.0) + Vec3::Z * STANDING));
        stage.node(Action::ObjectLimits(ObjectLimits { rez_per_s: 100_000, ..ObjectLimits::default() }));
        stage.step();
        Self { stage, n_made: 0 }
    }

    /// Orders a prim for the next step. Its local id is the next one.
    pub(crate) fn make(&mut self, new: NewObject) -> LocalId {
        let id = nth(self.n_made as u32);
        self.n_made += 1;
        let new = NewObject { id: Uuid::from_u128(self.n_made), ..new };
        self.edit(ObjectCommand::Create(Box::new(new)));
        id
    }

    /// A prim that is there.
    pub(crate) fn build(&mut self, new: NewObject) -> LocalId {
        let id = self.make(new);
        self.stage.step();
        let is_it = |change: &ObjectChange| matches!(change, ObjectChange::Set { id: set, .. } if *set == id);
        assert!(self.stage.frame.objects.iter().any(is_it), "{:?}", self.stage.frame.events);
        id
    }

    pub(crate) fn edit(&mut self, command: ObjectCommand) {
        self.stage.send(1, Action::Object(Box::new(command)));
    }

    /// Moves a linkset in the next step.
    pub(crate) fn move_to(&mut self, id: LocalId, position: Vec3) {
        let place = Placement { position: Some(position), is_linked_set: true, ..Placement::default() };
        self.edit(ObjectCommand::Place(vec![(id, place)]));
    }

    /// Height of an avatar's soles.
    pub(crate) fn soles(&self, session: u64) -> f32 {
        self.stage.motion(session).position.z - STANDING
    }
}
