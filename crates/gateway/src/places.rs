//! The places of the grid that this node serves: what clients are told of a region, and which world is behind it.
//!
//! A place is a handle on the grid, a name and a size; a world is bound to it (DESIGN §2). What every arriving
//! client gets in the same bytes (terrain, overlay) is encoded here once.

use glam::Vec3;
use ids::{RegionHandle, Uuid, WorldId};
use std::sync::Arc;
use wire::messages::{
    LayerData, LayerDataLayerData, LayerDataLayerID, ParcelOverlay, ParcelOverlayParcelData,
};
use wire::terrain::{Layer, PATCH_SAMPLES, PATCH_SIDE};
use world::{Scenery, Terrain};

/// Index into [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceId(pub u16);

/// One region as clients know it.
#[derive(Debug)]
pub struct Place {
    /// Its number on this node.
    pub id: PlaceId,
    /// Where it lies on the grid.
    pub handle: RegionHandle,
    /// Stable id, derived from the handle.
    pub region_id: Uuid,
    /// Id of the one parcel that covers it.
    pub parcel_id: Uuid,
    /// Name as shown and as typed into `uri:Name&x&y&z`.
    pub name: String,
    /// Edge length in metres, a multiple of 256.
    pub size_m: u32,
    /// Height of the water in metres.
    pub water_m: f32,
    /// The world behind it.
    pub world: WorldId,
    /// Avatars that may be in it at once.
    pub max_avatars: u32,
    /// Its ground.
    pub terrain: Arc<Terrain>,
    /// What stands on it.
    pub scenery: Arc<Scenery>,
    /// Where visitors arrive who name no position.
    pub landing: Vec3,
    /// LayerData messages (number and body) of the whole ground.
    pub layers: Vec<Vec<u8>>,
    /// ParcelOverlay messages of its one parcel.
    pub overlay: Vec<Vec<u8>>,
}

/// What makes a place; the rest is derived.
#[derive(Clone, Debug)]
pub struct PlaceSettings {
    /// Name as shown, 1–63 bytes.
    pub name: String,
    /// Grid squares of the corner, both below 65,536.
    pub grid: (u32, u32),
    /// Edge length in metres.
    pub size_m: u32,
    /// Height of the water in metres.
    pub water_m: f32,
    /// Avatars that may be in it at once.
    pub max_avatars: u32,
    /// Its ground.
    pub terrain: Arc<Terrain>,
    /// What stands on it.
    pub scenery: Arc<Scenery>,
}

/// Metres that one byte of the parcel overlay covers.
const OVERLAY_SQUARE_M: u32 = 4;
/// Overlay bytes in one message (PROTOCOL §8c).
const OVERLAY_BYTES: usize = 1024;
const OVERLAY_WEST_EDGE: u8 = 0x40;
const OVERLAY_SOUTH_EDGE: u8 = 0x80;

impl Place {
    fn new(id: PlaceId, world: WorldId, settings: PlaceSettings) -> Self {
        let PlaceSettings { name, grid, size_m, water_m, max_avatars, terrain, scenery } = settings;
        let handle = RegionHandle::from_grid(grid.0, grid.1);
        let centre = size_m as f32 / 2.0;
        let ground = terrain.height(centre, centre).max(water_m);
        Self {
            id,
            handle,
            region_id: Uuid::from_u64_pair(REGION_ID_SPACE, handle.0),
            parcel_id: Uuid::from_u64_pair(PARCEL_ID_SPACE, handle.0),
            name,
            size_m,
            water_m,
            world,
            max_avatars,
            landing: Vec3::new(centre, centre, ground + 1.0),
            layers: layer_messages(&terrain, size_m),
            overlay: overlay_messages(size_m),
            terrain,
            scenery,
        }
    }

    /// Whether a global position lies in it.
    #[must_use]
    pub const fn contains(&self, x_m: u32, y_m: u32) -> bool {
        let (left, bottom) = (self.handle.x_m(), self.handle.y_m());
        x_m >= left && y_m >= bottom && x_m - left < self.size_m && y_m - bottom < self.size_m
    }

    /// A position inside, out of the ground, from whatever a client asked for.
    #[must_use]
    pub fn clamp(&self, position: Vec3) -> Vec3 {
        if !position.is_finite() {
            return self.landing;
        }
        let most = self.size_m as f32 - 1.0;
        let (x, y) = (position.x.clamp(1.0, most), position.y.clamp(1.0, most));
        Vec3::new(x, y, position.z.clamp(self.terrain.height(x, y), 4_000.0))
    }
}

/// High half of every region id: an id space of our own, so that equal grids have equal ids.
const REGION_ID_SPACE: u64 = 0x7468_726f_6e67_4000;

/// The same for parcels.
const PARCEL_ID_SPACE: u64 = 0x7468_726f_6e67_4001;

/// Number of the one parcel within its region.
pub const PARCEL_LOCAL_ID: i32 = 1;

/// All places of the node, fixed while it runs.
#[derive(Debug)]
pub struct Places {
    places: Vec<Arc<Place>>,
}

impl Places {
    /// Builds the places and encodes what they have to send. World `n` is behind place `n`.
    #[must_use]
    pub fn new(settings: Vec<PlaceSettings>) -> Self {
        let places = settings
            .into_iter()
            .enumerate()
            .map(|(n, settings)| Arc::new(Place::new(PlaceId(n as u16), WorldId(n as u32), settings)))
            .collect();
        Self { places }
    }

    /// The place with this number. Numbers come from here, so it exists.
    #[must_use]
    pub fn get(&self, id: PlaceId) -> &Arc<Place> {
        &self.places[id.0 as usize]
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Place>> {
        self.places.iter()
    }

    /// By name, without regard to case.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Arc<Place>> {
        self.places.iter().find(|place| place.name.eq_ignore_ascii_case(name))
    }

    /// By a handle: of the corner, or of any grid square inside a large region.
    #[must_use]
    pub fn by_handle(&self, handle: RegionHandle) -> Option<&Arc<Place>> {
        self.places.iter().find(|place| place.contains(handle.x_m(), handle.y_m()))
    }

    /// By the world behind it.
    #[must_use]
    pub fn by_world(&self, world: WorldId) -> &Arc<Place> {
        &self.places[world.0 as usize]
    }

    /// How many.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the node serves no place at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

fn layer_messages(terrain: &Terrain, size_m: u32) -> Vec<Vec<u8>> {
    let layer = Layer::for_region(size_m);
    let side = size_m as usize / PATCH_SIDE;
    let patches: Vec<[f32; PATCH_SAMPLES]> =
        (0..side * side).map(|n| patch(terrain, n % side, n / side)).collect();
    let numbered =
        patches.iter().enumerate().map(|(n, heights)| ((n % side) as u16, (n / side) as u16, heights));
    wire::terrain::encode_patches(layer, numbered, LAYER_BYTES)
        .into_iter()
        .map(|data| {
            let mut message = Vec::new();
            LayerData {
                layer_id: LayerDataLayerID { r#type: layer.code() },
                layer_data: LayerDataLayerData { data },
            }
            .encode(&mut message);
            message
        })
        .collect()
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

#[cfg(test)]
mod tests;
