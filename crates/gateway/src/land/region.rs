//! Facts of a region: RegionHandshake and RegionInfo. Those of a world that is not built on follow from its description.

use crate::places::Place;
use ids::{AgentId, Uuid};
use link::{Estate, GroundSpec, GroundTextures, HEIGHT_LIMIT_M, Maturity, RegionFlags, Sun};
use replicate::Replica;
use wire::messages::{
    RegionHandshake, RegionHandshakeRegionInfo, RegionHandshakeRegionInfo2, RegionHandshakeRegionInfo3,
    RegionHandshakeRegionInfo4, RegionInfo, RegionInfoAgentData, RegionInfoRegionInfo, RegionInfoRegionInfo2,
    RegionInfoRegionInfo3,
};
use wire::text::{VARIABLE1_MAX, to_wire};

/// The one estate.
pub(crate) const ESTATE_ID: u32 = 1;
/// Its name in worlds that are not built on.
pub(crate) const ESTATE_NAME: &str = "Throng";

/// Flag of a region whose sun stands still.
const SUN_FIXED: u32 = 1 << 4;
/// Metres over which the ground goes through its four textures, in worlds that are not built on.
const GROUND_RANGE_M: f32 = 30.0;

/// Facts of a region as one client is told of them.
#[derive(Clone, Debug)]
pub(crate) struct RegionFacts {
    /// Rules, as bits of the protocol.
    pub(crate) flags: u32,
    /// Rating of its content.
    pub(crate) access: u8,
    /// Height of the water in metres.
    pub(crate) water_m: f32,
    /// Owner of the estate; null for none.
    pub(crate) owner: Uuid,
    /// The receiver may change the region.
    pub(crate) is_manager: bool,
    /// Visitors at once.
    pub(crate) agent_limit: u32,
    /// Factor of the object capacity of parcels.
    pub(crate) object_bonus: f32,
    /// Metres by which users may raise the ground, and lower it.
    pub(crate) limits_m: [f32; 2],
    /// Position of the sun.
    pub(crate) sun: Sun,
    /// Textures of the ground, none null, with their heights.
    pub(crate) textures: GroundTextures,
}

/// The viewer's flags of a region. Where damage is on (bit 0) viewers show health.
pub(crate) fn region_flags(place: &Place, replica: &Replica) -> u32 {
    let damage = u32::from(place.ground().damage);
    match estate_of(replica) {
        Some(estate) => damage | estate.region.flags.0 | if estate.sun.is_fixed { SUN_FIXED } else { 0 },
        None => damage | RegionFlags::ALLOW_LANDMARK.union(RegionFlags::ALLOW_SET_HOME).0,
    }
}

/// Texture that the ground has at a height, from the lowest (0) to the highest (3), unless the estate sets another one: sand, grass, earth and
/// rock, which ViewerAsset and GetTexture serve.
const fn ground_texture(number: u64) -> Uuid {
    Uuid::from_u64_pair(ids::GROUND_TEXTURES, number)
}

/// Height of a world's water, metres.
pub(crate) fn water_m(ground: &GroundSpec, replica: &Replica) -> f32 {
    estate_of(replica).map_or(ground.water_m, |estate| estate.levels.water_m)
}

fn estate_of(replica: &Replica) -> Option<&Estate> {
    replica.land()?.estate().map(|(estate, _)| &**estate)
}

impl RegionFacts {
    /// The facts of a place for a receiver.
    pub(crate) fn new(place: &Place, replica: &Replica, receiver: AgentId) -> Self {
        let flags = region_flags(place, replica);
        let (water_m, limit) = (place.ground().water_m, place.scene.max_avatars);
        let bare =
            GroundTextures { low_m: [water_m; 4], high_m: [GROUND_RANGE_M; 4], ..GroundTextures::default() };
        let facts = match estate_of(replica) {
            Some(estate) => Self {
                flags,
                access: estate.region.maturity as u8,
                water_m: estate.levels.water_m,
                owner: estate.owner.map_or(Uuid::nil(), |owner| owner.0),
                is_manager: estate.is_managed_by(receiver),
                agent_limit: estate.region.agent_limit.min(limit),
                object_bonus: estate.region.object_bonus,
                limits_m: [estate.levels.raise_m, estate.levels.lower_m],
                sun: estate.sun,
                textures: estate.textures,
            },
            None => Self {
                flags,
                access: Maturity::General as u8,
                water_m,
                owner: Uuid::nil(),
                is_manager: false,
                agent_limit: limit,
                object_bonus: 1.0,
                limits_m: [HEIGHT_LIMIT_M; 2],
                sun: Sun { is_estates: true, ..Sun::default() },
                textures: bare,
            },
        };
        facts.with_textures()
    }

    /// Fills in the textures that the estate does not set: a material, or the server's own.
    fn with_textures(mut self) -> Self {
        let GroundTextures { textures, materials, .. } = &mut self.textures;
        for (number, (texture, material)) in (0..).zip(textures.iter_mut().zip(materials)) {
            if texture.is_nil() {
                *texture = if material.is_nil() { ground_texture(number) } else { *material };
            }
        }
        self
    }
}

/// The region's name, water and ground textures. Opens the scene, and comes again when they change.
pub(crate) fn region_handshake(place: &Place, facts: &RegionFacts) -> RegionHandshake {
    let GroundTextures { textures, low_m, high_m, .. } = facts.textures;
    RegionHandshake {
        region_info: RegionHandshakeRegionInfo {
            region_flags: facts.flags,
            sim_access: facts.access,
            sim_name: to_wire(place.name(), VARIABLE1_MAX),
            sim_owner: facts.owner,
            is_estate_manager: facts.is_manager,
            water_height: facts.water_m,
            billable_factor: 1.0,
            cache_id: place.cache_id,
            terrain_detail0: textures[0],
            terrain_detail1: textures[1],
            terrain_detail2: textures[2],
            terrain_detail3: textures[3],
            terrain_start_height00: low_m[0],
            terrain_start_height01: low_m[1],
            terrain_start_height10: low_m[2],
            terrain_start_height11: low_m[3],
            terrain_height_range00: high_m[0],
            terrain_height_range01: high_m[1],
            terrain_height_range10: high_m[2],
            terrain_height_range11: high_m[3],
            ..RegionHandshakeRegionInfo::default()
        },
        region_info2: RegionHandshakeRegionInfo2 { region_id: place.region_id },
        region_info3: RegionHandshakeRegionInfo3 {
            cpu_class_id: 1,
            cpu_ratio: 1,
            colo_name: to_wire("", VARIABLE1_MAX),
            product_sku: to_wire("throng", VARIABLE1_MAX),
            product_name: to_wire("Throng", VARIABLE1_MAX),
        },
        // The bit for central baking stays clear: agents bake their own appearance here.
        region_info4: vec![RegionHandshakeRegionInfo4 {
            region_flags_extended: u64::from(facts.flags),
            region_protocols: 0,
        }],
    }
}

/// Settings of the region, as the windows of viewers show them.
pub(crate) fn region_info(place: &Place, facts: &RegionFacts, receiver: RegionInfoAgentData) -> RegionInfo {
    let [raise_m, lower_m] = facts.limits_m;
    RegionInfo {
        agent_data: receiver,
        region_info: RegionInfoRegionInfo {
            sim_name: to_wire(place.name(), VARIABLE1_MAX),
            estate_id: ESTATE_ID,
            parent_estate_id: ESTATE_ID,
            region_flags: facts.flags,
            sim_access: facts.access,
            max_agents: u8::try_from(facts.agent_limit).unwrap_or(u8::MAX),
            billable_factor: 1.0,
            object_bonus_factor: facts.object_bonus,
            water_height: facts.water_m,
            terrain_raise_limit: raise_m,
            terrain_lower_limit: -lower_m,
            use_estate_sun: facts.sun.is_estates,
            sun_hour: facts.sun.hour,
            ..RegionInfoRegionInfo::default()
        },
        region_info2: RegionInfoRegionInfo2 {
            product_sku: to_wire("throng", VARIABLE1_MAX),
            product_name: to_wire("Throng", VARIABLE1_MAX),
            max_agents32: facts.agent_limit,
            hard_max_agents: place.scene.max_avatars,
            hard_max_objects: place.scene.object_capacity(),
        },
        region_info3: vec![RegionInfoRegionInfo3 { region_flags_extended: u64::from(facts.flags) }],
        ..RegionInfo::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HARBOUR, Node};

    #[test]
    fn the_grounds_textures_can_be_fetched() {
        let node = Node::new();
        let place = node.places.get(HARBOUR);
        let facts = RegionFacts::new(place, &place.scene.feed.current(), AgentId(Uuid::from_u128(1)));
        let info = region_handshake(place, &facts).region_info;
        for id in [info.terrain_detail0, info.terrain_detail1, info.terrain_detail2, info.terrain_detail3] {
            assert!(node.assets.cached_of_kind(id, assets::AssetKind::Texture).is_some(), "{id}");
        }
    }
}
