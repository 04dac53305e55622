//! Description of a world: the source from which a host creates it and a gateway shows it.
//!
//! Plain and complete, apart from the NPCs, which only the host knows. Everything else that describes a world is made from it: the
//! configuration of its simulation, a gateway's encoded ground and scene, the head of a recording.

use crate::numbers::avatar_ids;
use crate::scenery::{Scenery, is_arch};
use crate::terrain::Terrain;
use glam::Vec3;
use ids::{Epoch, Uuid, WorldId};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Name of the boxes of a ground that is given none.
pub const BOX_NAME: &str = "Box";
/// Name of the parts of a portal's arch.
const ARCH_NAME: &str = "Portal";
/// Height of a portal, metres: no avatar falls into one from above.
const PORTAL_HEIGHT_M: f32 = 4.0;
/// Highest position that a client may ask for, metres.
const HEIGHT_MAX_M: f32 = 4_000.0;

/// Description of a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldSpec {
    /// Number, unique on the grid.
    pub world: WorldId,
    /// Life with which it begins. A host that restarts or resumes it begins a later one.
    pub epoch: Epoch,
    /// True for a region, which all users see at its place; false for an instance, which its visitors alone see.
    pub is_shared: bool,
    /// Displayed name; of a region also the one that is typed into `uri:Name&x&y&z`.
    pub name: String,
    /// Avatars of sessions in it at once.
    pub max_avatars: u32,
    /// Prims in it at once, static objects apart; 0 for an instance, where nothing is built.
    pub max_objects: u32,
    /// Steps per second.
    pub hz: u32,
    /// Local ids for its entities, which no other world of the grid has. See [`Self::avatar_ids`].
    pub local_ids: Range<u32>,
    /// Ground, static objects and the rules that hold there.
    pub ground: Arc<GroundSpec>,
    /// Ways into other worlds.
    pub portals: Arc<[Portal]>,
    /// Source of all that is left to chance.
    pub seed: u64,
    /// Id of the clients' caches of a shared world's objects: another one voids them. Null for an instance, of which nothing is cached.
    pub cache_id: Uuid,
}

impl WorldSpec {
    /// World time of a step.
    ///
    /// # Panics
    /// If `hz` is 0.
    #[must_use]
    pub fn dt(&self) -> Duration {
        Duration::from_secs(1) / self.hz
    }

    /// Local ids of static objects, which are the first of them, and avatars. The others are those of a shared world's objects.
    #[must_use]
    pub fn avatar_ids(&self) -> Range<u32> {
        if self.is_shared { avatar_ids(&self.local_ids) } else { self.local_ids.clone() }
    }

    /// Object capacity with static objects, as reported to clients in EconomyData, RegionInfo, SimStats and ParcelProperties.
    #[must_use]
    pub fn object_capacity(&self) -> u32 {
        self.ground.n_objects().saturating_add(self.max_objects)
    }
}

/// Ground, static objects and rules of worlds that look alike, such as the instances of a template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroundSpec {
    /// Edge length in metres, a multiple of 256.
    pub size_m: u32,
    /// Height of the water in metres.
    pub water_m: f32,
    /// Ground.
    pub terrain: Arc<Terrain>,
    /// Static objects.
    pub scenery: Arc<Scenery>,
    /// Name of the boxes among the static objects.
    pub box_name: Arc<str>,
    /// Visitors can be hurt.
    pub damage: bool,
    /// Point of arrival of visitors who name no position, metres from the corner.
    pub landing: Vec3,
}

impl GroundSpec {
    /// Ground with static objects, without damage. Visitors arrive in its middle, above ground and water.
    #[must_use]
    pub fn new(terrain: Arc<Terrain>, scenery: Arc<Scenery>, water_m: f32) -> Self {
        let size_m = terrain.size_m();
        let centre = size_m as f32 / 2.0;
        let ground = terrain.height(centre, centre).max(water_m);
        Self {
            size_m,
            water_m,
            damage: false,
            landing: Vec3::new(centre, centre, ground + 1.0),
            terrain,
            scenery,
            box_name: BOX_NAME.into(),
        }
    }

    /// Number of static objects.
    #[must_use]
    pub fn n_objects(&self) -> u32 {
        u32::try_from(self.scenery.len()).unwrap_or(u32::MAX)
    }

    /// Name of a static object.
    #[must_use]
    pub fn object_name(&self, object: Uuid) -> &str {
        if is_arch(object) { ARCH_NAME } else { &self.box_name }
    }

    /// The nearest position that is inside and not below the ground; the landing point for one that is not a number.
    #[must_use]
    pub fn clamp(&self, position: Vec3) -> Vec3 {
        if !position.is_finite() {
            return self.landing;
        }
        let most = self.size_m as f32 - 1.0;
        let (x, y) = (position.x.clamp(1.0, most), position.y.clamp(1.0, most));
        Vec3::new(x, y, position.z.clamp(self.terrain.height(x, y), HEIGHT_MAX_M))
    }
}

/// A part of a world that leads into another one: an upright cylinder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Portal {
    /// Middle of its floor, metres from the world's corner.
    pub at: Vec3,
    /// Radius in metres.
    pub radius_m: f32,
    /// Destination.
    pub to: PortalTo,
}

/// Destination of a portal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PortalTo {
    /// The visitor's own instance of a template.
    Own(Arc<str>),
    /// The place that the visitor came from.
    Back,
}

impl Portal {
    /// True if the middle of an avatar at this position is inside.
    #[must_use]
    pub fn holds(&self, at: Vec3) -> bool {
        let height = at.z - self.at.z;
        self.at.truncate().distance_squared(at.truncate()) <= self.radius_m * self.radius_m
            && (-1.0..PORTAL_HEIGHT_M).contains(&height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> WorldSpec {
        let terrain = Terrain::hills(256, 3);
        let scenery = Scenery::boxes(5, &terrain, 1);
        WorldSpec {
            world: WorldId(7),
            epoch: Epoch(2),
            is_shared: false,
            name: "Cave".into(),
            max_avatars: 20,
            max_objects: 300,
            hz: 30,
            local_ids: 1_000..2_000,
            ground: Arc::new(GroundSpec::new(Arc::new(terrain), Arc::new(scenery), 20.0)),
            portals: Arc::new([
                Portal { at: Vec3::ONE, radius_m: 2.0, to: PortalTo::Own("Hall".into()) },
                Portal { at: Vec3::X, radius_m: 1.0, to: PortalTo::Back },
            ]),
            seed: u64::MAX,
            cache_id: Uuid::from_u128(9),
        }
    }

    #[test]
    fn a_description_survives_its_encoding_with_ground_and_objects() {
        let spec = spec();
        let bytes = postcard::to_stdvec(&spec).unwrap();
        let read: WorldSpec = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(read, spec);
        assert_eq!(read.ground.terrain.fingerprint(), spec.ground.terrain.fingerprint());
        assert_eq!(read.ground.scenery.fingerprint(), spec.ground.scenery.fingerprint());
    }

    #[test]
    fn a_description_with_an_impossible_ground_is_refused() {
        let ground = &spec().ground;
        let bytes = postcard::to_stdvec(&(300_u32, ground.terrain.heights())).unwrap();
        assert!(postcard::from_bytes::<Terrain>(&bytes).is_err(), "no region is 300 m wide");
        let mut prims = ground.scenery.prims().to_vec();
        prims[1].position.x = f32::NAN;
        let without_content = (prims, 0_u32, Vec::<Arc<prim::Body>>::new());
        assert!(postcard::from_bytes::<Scenery>(&postcard::to_stdvec(&without_content).unwrap()).is_err());
    }

    #[test]
    fn a_portal_is_a_cylinder_of_four_metres() {
        let portal = Portal { at: Vec3::new(10.0, 10.0, 20.0), radius_m: 2.0, to: PortalTo::Back };
        assert!(portal.holds(Vec3::new(11.9, 10.0, 21.0)));
        assert!(
            ![Vec3::new(12.1, 10.0, 21.0), Vec3::new(10.0, 10.0, 24.0)]
                .map(|at| portal.holds(at))
                .contains(&true)
        );
    }
}
