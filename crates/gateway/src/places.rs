//! The places of the grid that this node serves: the data of regions for clients, and the world behind each.
//!
//! Hub and shards name places and worlds by number, and find them here: [`Places`] is also the directory of the instances that are in memory.
//!
//! A place is a handle on the grid, and a world is bound to it: the shared one, or an instance that a session enters from there, see
//! [`Place::showing`]. Messages with the same bytes for every arriving client (terrain, overlay) are in [`EncodedGround`], encoded once for all
//! worlds with the same ground ([`EncodedGrounds`]).

mod grounds;

pub use grounds::EncodedGrounds;

use crate::feed::Feed;
use crate::lock_order::PLACES;
use crate::region_map::{MapScene, RegionMap};
use arc_swap::ArcSwapOption;
use glam::Vec3;
use ids::{Epoch, RegionHandle, Uuid, WELCOME_REGION, WorldId};
use link::{GroundSpec, Scenery, Terrain, WorldSpec};
use replicate::Replica;
use replicate::scenery::{self, StaticObjects};
use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use telemetry::Held;
use wire::messages::{
    LayerData, LayerDataLayerData, LayerDataLayerID, ParcelOverlay, ParcelOverlayParcelData,
};
use wire::terrain::{EncodedPatch, FieldWriter, Layer, PATCH_SAMPLES, PATCH_SIDE};

/// Index into [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceId(pub u16);

/// One region as clients know it.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its number on this node.
    pub id: PlaceId,
    /// Position on the grid.
    pub handle: RegionHandle,
    /// Stable id, derived from the handle.
    pub region_id: Uuid,
    /// Id of the one parcel that covers it.
    pub parcel_id: Uuid,
    /// Id of the clients' caches, which belong to the place: an instance behind it leaves them valid.
    pub cache_id: Uuid,
    /// The world behind it.
    pub scene: Arc<Scene>,
}

/// A world as clients are shown it: its description, its ground as messages, and its newest state.
#[derive(Debug)]
pub struct Scene {
    spec: Arc<WorldSpec>,
    /// The ground of the description, encoded.
    pub ground: Arc<EncodedGround>,
    /// Its newest state.
    pub feed: Feed,
    /// Its pictures since it was changed.
    redrawn: ArcSwapOption<RegionMap>,
}

/// A ground with the messages that describe it to clients.
#[derive(Clone, Debug)]
pub struct EncodedGround {
    spec: Arc<GroundSpec>,
    /// The static objects as clients are sent them, but for the local ids of each world.
    pub objects: Arc<StaticObjects>,
    /// Its patches, compressed, row by row from the south-west.
    pub patches: Arc<[EncodedPatch]>,
    /// LayerData messages (number and body) of the whole ground, for worlds that are not built on.
    pub layers: Arc<[Vec<u8>]>,
    /// ParcelOverlay messages of its one parcel.
    pub overlay: Arc<[Vec<u8>]>,
    /// Squares of 4 m on which static objects stand, counted row by row from the south-west and ascending, with their numbers.
    pub objects_by_square: Arc<[(u32, u32)]>,
    /// Pictures of the description, once they are drawn.
    pub map: Option<Arc<RegionMap>>,
}

/// Settings of a place, from which the rest is derived.
#[derive(Clone, Debug)]
pub struct PlaceSettings {
    /// Grid squares of the corner, both below 65,536.
    pub grid: (u32, u32),
    /// The shared world that lies there; its name has 1–63 bytes.
    pub spec: WorldSpec,
    /// Its ground, encoded.
    pub ground: Arc<EncodedGround>,
}

/// Metres that one byte of the parcel overlay covers.
const OVERLAY_SQUARE_M: u32 = 4;
/// Overlay bytes in one message.
const OVERLAY_BYTES: usize = 1024;
const OVERLAY_WEST_EDGE: u8 = 0x40;
const OVERLAY_SOUTH_EDGE: u8 = 0x80;

impl EncodedGround {
    /// Encodes a ground.
    #[must_use]
    pub fn new(spec: impl Into<Arc<GroundSpec>>) -> Self {
        let spec = spec.into();
        let patches = encoded_patches(&spec.terrain, spec.size_m);
        Self {
            layers: layer_messages(spec.size_m, &patches).into(),
            patches: patches.into(),
            overlay: overlay_messages(spec.size_m).into(),
            objects_by_square: objects_by_square(&spec.scenery, spec.size_m),
            map: None,
            objects: Arc::new(StaticObjects::new(&spec.scenery, spec.size_m as f32)),
            spec,
        }
    }

    /// The description.
    #[must_use]
    pub const fn spec(&self) -> &Arc<GroundSpec> {
        &self.spec
    }

    /// Draws its pictures, which takes some ten milliseconds for each grid square.
    ///
    /// # Errors
    ///
    /// Those of [`RegionMap::draw`]; the map has no picture of the region then.
    pub fn draw_map(&mut self) -> io::Result<()> {
        self.map = Some(Arc::new(RegionMap::draw(&MapScene::described(&self.spec))?));
        Ok(())
    }
}

impl Deref for EncodedGround {
    type Target = GroundSpec;

    fn deref(&self) -> &GroundSpec {
        &self.spec
    }
}

impl Scene {
    /// A world of which no frame has come yet.
    ///
    /// # Panics
    /// If the ground is not that of the description.
    #[must_use]
    pub fn new(spec: impl Into<Arc<WorldSpec>>, ground: Arc<EncodedGround>) -> Self {
        let spec = spec.into();
        assert!(
            Arc::ptr_eq(&spec.ground, ground.spec()) || grounds::are_equal(&spec.ground, &ground),
            "world {} is shown with another ground than its own",
            spec.world.0
        );
        let feed = Feed::new(replica_of(&spec, &ground));
        Self { spec, ground, feed, redrawn: ArcSwapOption::empty() }
    }

    /// The description.
    #[must_use]
    pub const fn spec(&self) -> &Arc<WorldSpec> {
        &self.spec
    }

    /// Its newest pictures: those that were shown last, or those of the ground.
    #[must_use]
    pub fn map(&self) -> Option<Arc<RegionMap>> {
        self.redrawn().or_else(|| self.ground.map.clone())
    }

    /// Its pictures since it was changed.
    pub(crate) fn redrawn(&self) -> Option<Arc<RegionMap>> {
        self.redrawn.load_full()
    }

    /// Id of its picture on the map, or null.
    #[must_use]
    pub fn map_image(&self) -> Uuid {
        self.map().map_or(Uuid::nil(), |map| map.id)
    }

    /// Replaces its pictures.
    pub fn show_map(&self, map: Arc<RegionMap>) {
        self.redrawn.store(Some(map));
    }

    /// Initial replica, before the first frame.
    #[must_use]
    pub fn replica(&self) -> Replica {
        replica_of(&self.spec, &self.ground)
    }
}

impl Deref for Scene {
    type Target = WorldSpec;

    fn deref(&self) -> &WorldSpec {
        &self.spec
    }
}

fn replica_of(spec: &WorldSpec, ground: &EncodedGround) -> Replica {
    let scenery = scenery::SceneryReplica::new(Arc::clone(&ground.objects), spec.avatar_ids().start);
    Replica::new(spec.world, ground.size_m as f32, scenery)
}

/// Sizes that worlds may have.
const REGION_SIZES_M: [u32; 4] = [256, 512, 768, 1_024];
/// Numbers of the places where only instances are seen.
const FIRST_APART: u16 = 0xFFF0;
/// Grid position of instances: at the grid's end, and at a distance from each other. The configuration keeps regions away from there.
pub const APART_GRID: u32 = 65_000;
const APART_STEP: u32 = 64;

impl Place {
    /// A place where only instances of one size are seen; this one has nothing on it.
    fn apart(n: u16, size_m: u32) -> Self {
        let grid = (APART_GRID, APART_GRID + u32::from(n) * APART_STEP);
        let ground = GroundSpec {
            landing: Vec3::ZERO,
            ..GroundSpec::new(Arc::new(Terrain::flat(size_m, 0.0)), Arc::default(), 0.0)
        };
        let bare = EncodedGround {
            spec: Arc::new(ground),
            patches: Arc::default(),
            layers: Arc::default(),
            overlay: Arc::default(),
            objects_by_square: Arc::default(),
            map: None,
            objects: Arc::default(),
        };
        let spec = WorldSpec {
            world: WorldId(u32::MAX),
            epoch: Epoch(0),
            is_shared: true,
            name: String::new(),
            max_avatars: 0,
            max_objects: 0,
            hz: 0,
            local_ids: 0..0,
            ground: Arc::clone(&bare.spec),
            portals: Arc::default(),
            seed: 0,
            cache_id: Uuid::nil(),
        };
        Self::new(PlaceId(FIRST_APART + n), PlaceSettings { grid, spec, ground: Arc::new(bare) })
    }

    fn new(id: PlaceId, settings: PlaceSettings) -> Self {
        let PlaceSettings { grid, spec, ground } = settings;
        assert!(spec.is_shared, "world {} is an instance, and lies at no place", spec.world.0);
        let handle = RegionHandle::from_grid(grid.0, grid.1);
        Self {
            id,
            handle,
            region_id: Uuid::from_u64_pair(REGION_ID_SPACE, handle.0),
            parcel_id: Uuid::from_u64_pair(PARCEL_ID_SPACE, handle.0),
            cache_id: spec.cache_id,
            scene: Arc::new(Scene::new(spec, ground)),
        }
    }

    /// The same place with another world behind it. Clients take that for a change of the region and cannot learn another size, so the
    /// sizes must be equal.
    ///
    /// # Panics
    /// If they differ.
    #[must_use]
    pub fn showing(&self, scene: &Arc<Scene>) -> Self {
        assert_eq!(scene.ground.size_m, self.ground().size_m, "a place keeps its size");
        Self { scene: Arc::clone(scene), ..*self }
    }

    /// The world behind it.
    #[must_use]
    pub fn world(&self) -> WorldId {
        self.scene.world
    }

    /// Its name as shown.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.scene.name
    }

    /// Ground and static objects.
    #[must_use]
    pub fn ground(&self) -> &EncodedGround {
        &self.scene.ground
    }

    /// True if a global position lies in it.
    #[must_use]
    pub fn contains(&self, x_m: u32, y_m: u32) -> bool {
        let (left, bottom, size_m) = (self.handle.x_m(), self.handle.y_m(), self.ground().size_m);
        x_m >= left && y_m >= bottom && x_m - left < size_m && y_m - bottom < size_m
    }
}

/// High half of every region id: an id space of our own, so that equal grids have equal ids.
const REGION_ID_SPACE: u64 = 0x7468_726f_6e67_4000;

/// The same for parcels.
const PARCEL_ID_SPACE: u64 = 0x7468_726f_6e67_4001;

/// All places of the node, fixed while it runs, and the instances that are in memory, which come and go.
#[derive(Debug)]
pub struct Places {
    places: Vec<Arc<Place>>,
    /// Place of each shared world.
    by_world: BTreeMap<WorldId, PlaceId>,
    /// One for each size of worlds.
    apart: Vec<Place>,
    /// Those that are in memory. Locked for a lookup, when a circuit opens or another world comes behind it; never in a client's turn.
    instances: RwLock<BTreeMap<WorldId, Arc<Scene>>>,
    /// Sessions in instances.
    visitors: AtomicUsize,
}

impl Places {
    /// Builds the places, numbered from 0 in the order of `settings`.
    ///
    /// # Panics
    /// If two places have the same world, or a world is an instance.
    #[must_use]
    pub fn new(settings: Vec<PlaceSettings>) -> Self {
        assert!(settings.len() < FIRST_APART.into(), "{} places", settings.len());
        let place = |(n, settings): (u16, PlaceSettings)| Arc::new(Place::new(PlaceId(n), settings));
        let places: Vec<Arc<Place>> = (0..).zip(settings).map(place).collect();
        let mut by_world = BTreeMap::new();
        for place in &places {
            let former = by_world.insert(place.world(), place.id);
            assert!(former.is_none(), "world {} has two places", place.world().0);
        }
        let apart = (0..).zip(REGION_SIZES_M).map(|(n, size_m)| Place::apart(n, size_m)).collect();
        Self { places, by_world, apart, instances: RwLock::default(), visitors: AtomicUsize::new(0) }
    }

    /// The place with this number. Numbers come from here, so it exists.
    #[must_use]
    pub fn get(&self, id: PlaceId) -> &Arc<Place> {
        &self.places[id.0 as usize]
    }

    /// The place of a shared world; none for an instance.
    #[must_use]
    pub fn of_world(&self, world: WorldId) -> Option<&Arc<Place>> {
        self.by_world.get(&world).map(|&place| self.get(place))
    }

    /// Adds an instance that has come into memory.
    ///
    /// # Panics
    /// If a world of this number is there.
    pub fn add_instance(&self, scene: Arc<Scene>) {
        let world = scene.world;
        let former = self.instances_mut().insert(world, scene);
        assert!(former.is_none() && !self.by_world.contains_key(&world), "world {} is there once", world.0);
    }

    /// Removes an instance that has left memory. Its clients keep their last replica until they are elsewhere.
    pub fn remove_instance(&self, world: WorldId) -> Option<Arc<Scene>> {
        self.instances_mut().remove(&world)
    }

    pub(crate) fn instances_mut(&self) -> Held<RwLockWriteGuard<'_, BTreeMap<WorldId, Arc<Scene>>>> {
        PLACES.hold(|| self.instances.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// A world, while it is in memory.
    #[must_use]
    pub fn scene(&self, world: WorldId) -> Option<Arc<Scene>> {
        if let Some(place) = self.of_world(world) {
            return Some(Arc::clone(&place.scene));
        }
        let instances = PLACES.hold(|| self.instances.read().unwrap_or_else(PoisonError::into_inner));
        instances.get(&world).cloned()
    }

    /// A place with this world behind it, while that is in memory.
    ///
    /// # Panics
    /// If there is no such place, or the world has another size.
    #[must_use]
    pub fn showing(&self, id: PlaceId, world: WorldId) -> Option<Arc<Place>> {
        let place = match id.0.checked_sub(FIRST_APART) {
            Some(n) => &self.apart[usize::from(n)],
            None if self.get(id).world() == world => return Some(Arc::clone(self.get(id))),
            None => &**self.get(id),
        };
        Some(Arc::new(place.showing(&self.scene(world)?)))
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Place>> {
        self.places.iter()
    }

    /// The place where a session sees instances of a size that no shared world near it has. It lies far from everything, and may
    /// be the same for all sessions, since none sees another's.
    ///
    /// # Panics
    /// When no world can have this size.
    #[must_use]
    pub fn apart(&self, size_m: u32) -> &Place {
        self.apart
            .iter()
            .find(|place| place.ground().size_m == size_m)
            .expect("worlds have one of four sizes")
    }

    /// By name, without regard to case.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Arc<Place>> {
        self.places.iter().find(|place| place.name().eq_ignore_ascii_case(name))
    }

    /// By a handle: of the corner, or of any grid square inside a large region.
    #[must_use]
    pub fn by_handle(&self, handle: RegionHandle) -> Option<&Arc<Place>> {
        self.places.iter().find(|place| place.contains(handle.x_m(), handle.y_m()))
    }

    /// By the id of its region; the first place for [`WELCOME_REGION`].
    #[must_use]
    pub fn by_region_id(&self, id: Uuid) -> Option<&Arc<Place>> {
        if id == WELCOME_REGION {
            return self.places.first();
        }
        self.places.iter().find(|place| place.region_id == id)
    }

    /// Avatars behind circuits: all in the shared worlds, and the sessions in instances. All shards count the same.
    #[must_use]
    pub fn n_avatars(&self) -> usize {
        let shared: usize = self.iter().map(|place| place.scene.feed.current().n_entities()).sum();
        shared + self.visitors.load(Ordering::Relaxed)
    }

    /// The hub has counted the sessions in instances.
    pub(crate) fn set_visitors(&self, n: usize) {
        self.visitors.store(n, Ordering::Relaxed);
    }

    /// Number of places.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// True if the node serves no place.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

fn encoded_patches(terrain: &Terrain, size_m: u32) -> Vec<EncodedPatch> {
    let layer = Layer::for_region(size_m);
    let side = size_m as usize / PATCH_SIDE;
    let encode = |n: usize| {
        let (x, y) = (n % side, n / side);
        EncodedPatch::new(layer, x as u16, y as u16, &patch(terrain, x, y))
    };
    (0..side * side).map(encode).collect()
}

fn layer_messages(size_m: u32, patches: &[EncodedPatch]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    let mut rest = patches;
    while !rest.is_empty() {
        let (message, n) = layer_message(size_m, rest.iter());
        messages.push(message);
        rest = &rest[n..];
    }
    messages
}

/// A LayerData message (number and body) of a region of this width with the first of these patches, as many as it holds, and their number.
pub(crate) fn layer_message<'a>(
    size_m: u32,
    patches: impl Iterator<Item = &'a EncodedPatch>,
) -> (Vec<u8>, usize) {
    let layer = Layer::for_region(size_m);
    let mut field = FieldWriter::new(layer, LAYER_BYTES);
    let n = patches.take_while(|patch| field.push(patch)).count();
    let mut message = Vec::new();
    LayerData {
        layer_id: LayerDataLayerID { r#type: layer.code() },
        layer_data: LayerDataLayerData { data: field.finish() },
    }
    .encode(&mut message);
    (message, n)
}

/// The samples of one patch, row by row from the south.
fn patch(terrain: &Terrain, x: usize, y: usize) -> [f32; PATCH_SAMPLES] {
    let width = terrain.size_m() as usize;
    let corner = y * PATCH_SIDE * width + x * PATCH_SIDE;
    std::array::from_fn(|n| terrain.heights()[corner + n / PATCH_SIDE * width + n % PATCH_SIDE])
}

/// Terrain in one LayerData: with header and message number a datagram of under 1,200 bytes.
const LAYER_BYTES: usize = 1_150;

/// One public parcel: every square has owner class 0, and only the region's own west and south edges are drawn.
fn overlay_messages(size_m: u32) -> Vec<Vec<u8>> {
    let side = size_m / OVERLAY_SQUARE_M;
    let squares: Vec<u8> = (0..side * side)
        .map(|n| {
            let west = if n % side == 0 { OVERLAY_WEST_EDGE } else { 0 };
            let south = if n / side == 0 { OVERLAY_SOUTH_EDGE } else { 0 };
            west | south
        })
        .collect();
    squares
        .chunks(OVERLAY_BYTES)
        .zip(0..)
        .map(|(chunk, sequence_id)| {
            let mut message = Vec::new();
            ParcelOverlay { parcel_data: ParcelOverlayParcelData { sequence_id, data: chunk.to_vec() } }
                .encode(&mut message);
            message
        })
        .collect()
}

fn objects_by_square(scenery: &Scenery, size_m: u32) -> Arc<[(u32, u32)]> {
    let side = size_m / OVERLAY_SQUARE_M;
    // A NaN becomes 0, and places outside count as the nearest border.
    let square = |metres: f32| ((metres / OVERLAY_SQUARE_M as f32) as u32).min(side - 1);
    let mut numbers = BTreeMap::new();
    for object in scenery.prims() {
        let at = square(object.position.y) * side + square(object.position.x);
        *numbers.entry(at).or_insert(0) += 1;
    }
    numbers.into_iter().collect()
}

#[cfg(test)]
mod tests;
