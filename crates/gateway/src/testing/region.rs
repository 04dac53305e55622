//! Worlds of tests: their descriptions, and the way of their frames to the shards.

use super::disk::RegionDisk;
use super::{GROUND_M, HZ, MAX_OBJECTS, PARCEL, START_S};
use crate::follower::FrameFollower;
use crate::places::{EncodedGround, Scene};
use glam::Vec3;
use ids::{AgentId, Epoch, Instant, Tick, Uuid, WorldId};
use keeper::LoadedRegion;
use link::{
    Command, Estate, Event, Frame, GroundSpec, LandState, ObjectChange, Portal, PortalTo, Scenery,
    StoredLand, Terrain, WorldSpec,
};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use world::{Life, WorldConfig};

/// A world and the way of its frames to the shards.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) life: Life,
    follower: FrameFollower,
    pub(super) scene: Arc<Scene>,
    pub(super) commands: Vec<Command>,
    /// Changes of objects for the next frame, which its world does not know of.
    pub(super) object_changes: Vec<ObjectChange>,
    /// Of a region whose objects are saved.
    pub(super) disk: Option<RegionDisk>,
}

impl Region {
    pub(super) fn new(
        scene: &Arc<Scene>,
        max_avatars: usize,
        landlord: Option<AgentId>,
        kept: Option<(RegionDisk, LoadedRegion)>,
    ) -> Self {
        let land = landlord.map(|landlord| land_of(scene, landlord));
        let mut config = WorldConfig { max_avatars, land, ..WorldConfig::new(scene.spec(), None) };
        let disk = kept.map(|(disk, loaded)| {
            config.objects = Some(loaded.objects);
            disk
        });
        Self {
            life: Life::new(config, 0.0),
            follower: FrameFollower::new(scene, true, Box::new(|| panic!("a frame was left out"))),
            scene: Arc::clone(scene),
            commands: Vec::new(),
            object_changes: Vec::new(),
            disk,
        }
    }

    pub(super) fn step(&mut self, now: Instant, tick: Tick) -> Vec<Event> {
        let mut frame = Frame::empty();
        self.life.step(now, tick, Duration::from_millis(50), 1.0, &mut self.commands, &mut frame);
        frame.objects.append(&mut self.object_changes);
        self.follower.follow(&frame);
        if let Some(disk) = &mut self.disk {
            disk.follow(now, &frame, &mut self.commands);
        }
        frame.events
    }
}

/// Land that is one parcel.
fn land_of(scene: &Scene, owner: AgentId) -> StoredLand {
    let estate = Estate::new("Harbour estate", Some(owner), scene.ground.water_m);
    let state = LandState::of_one_parcel(scene.ground.size_m, PARCEL, estate, START_S);
    StoredLand::new(state, START_S)
}

/// Position of portals in all worlds of tests, far from the arrival place.
pub(crate) const GATE: Vec3 = Vec3::new(220.0, 30.0, GROUND_M);

pub(super) fn gate(to: PortalTo) -> Arc<[Portal]> {
    Arc::new([Portal { at: GATE, radius_m: 2.0, to }])
}

/// Id of the n-th world. Ids count down, so that a lookup by position in a list fails.
pub(super) const fn world_of(n: u32) -> WorldId {
    WorldId(1_000 - 7 * n)
}

/// Local ids of a world of tests.
pub(super) const fn local_ids(n: u32) -> Range<u32> {
    (n + 1) << 20..(n + 2) << 20
}

/// Flat ground with boxes on it.
pub(super) fn ground(size_m: u32, boxes: u32) -> Arc<EncodedGround> {
    let terrain = Terrain::flat(size_m, GROUND_M);
    let scenery = Scenery::boxes(boxes, &terrain, 1);
    Arc::new(EncodedGround::new(GroundSpec::new(Arc::new(terrain), Arc::new(scenery), 20.0)))
}

/// World number `n`: an instance without portals.
pub(super) fn spec(n: u32, name: &str, ground: &EncodedGround) -> WorldSpec {
    WorldSpec {
        world: world_of(n),
        epoch: Epoch(0),
        is_shared: false,
        name: name.into(),
        max_avatars: 0,
        max_objects: MAX_OBJECTS,
        hz: HZ,
        local_ids: local_ids(n),
        ground: Arc::clone(ground.spec()),
        portals: Arc::default(),
        seed: 11,
        cache_id: Uuid::nil(),
    }
}
