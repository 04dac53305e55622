//! SimulatorFeatures: abilities and ranges of this region's server.
//!
//! A feature that is not built yet is not claimed: viewers hide the controls of missing ones.

use crate::login::AGENT_GROUPS_MAX;
use prim::body::{PHYSICAL_SIZE_RANGE_M, SIZE_RANGE_M};
use wire::llsd::Llsd;

/// Properties of the host's grid.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatorFeatures {
    /// Name of the grid as shown.
    pub grid_name: String,
    /// Login URI, by which viewers distinguish grids.
    pub grid_url: String,
    /// Range of a whisper, in metres.
    pub whisper_m: i32,
    /// Range of a normal voice, in metres.
    pub say_m: i32,
    /// Range of a shout, in metres.
    pub shout_m: i32,
    /// Tiles of the world map, if there are any.
    pub map_server_url: Option<String>,
    /// Objects that an avatar wears at most.
    pub attachments_max: u32,
}

/// Answers SimulatorFeatures.
#[must_use]
pub fn simulator_features(features: &SimulatorFeatures) -> Llsd {
    let mut extras = vec![
        ("GridName", Llsd::from(features.grid_name.as_str())),
        ("GridURL", features.grid_url.as_str().into()),
        ("whisper-range", features.whisper_m.into()),
        ("say-range", features.say_m.into()),
        ("shout-range", features.shout_m.into()),
        ("ExportSupported", false.into()),
        ("MinPrimScale", f64::from(SIZE_RANGE_M.0).into()),
        ("MaxPrimScale", f64::from(SIZE_RANGE_M.1).into()),
        ("MinPhysPrimScale", f64::from(PHYSICAL_SIZE_RANGE_M.0).into()),
        ("MaxPhysPrimScale", f64::from(PHYSICAL_SIZE_RANGE_M.1).into()),
    ];
    extras.extend(features.map_server_url.as_deref().map(|url| ("map-server-url", url.into())));
    Llsd::map([
        ("MeshRezEnabled", Llsd::from(true)),
        ("MeshUploadEnabled", true.into()),
        ("MeshXferEnabled", true.into()),
        ("PhysicsMaterialsEnabled", true.into()),
        // Appearances with the texture slots of bakes on mesh are passed on as they come.
        ("BakesOnMeshEnabled", true.into()),
        ("PhysicsShapeTypes", Llsd::map(["convex", "none", "prim"].map(|shape| (shape, true.into())))),
        ("MaxAgentAttachments", features.attachments_max.cast_signed().into()),
        ("MaxAgentGroups", AGENT_GROUPS_MAX.into()),
        ("MaxAgentGroupsBasic", AGENT_GROUPS_MAX.into()),
        ("MaxAgentGroupsPremium", AGENT_GROUPS_MAX.into()),
        ("MaxTextureResolution", 2048.into()),
        (
            "AnimatedObjects",
            Llsd::map([
                ("AnimatedObjectMaxTris", Llsd::from(150_000)),
                ("MaxAgentAnimatedObjectAttachments", 1.into()),
            ]),
        ),
        ("OpenSimExtras", Llsd::map(extras)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viewers_learn_the_grid_and_its_ranges() {
        let mut features = SimulatorFeatures {
            grid_name: "Throng".into(),
            grid_url: "http://127.0.0.1:9000/".into(),
            whisper_m: 10,
            say_m: 20,
            shout_m: 100,
            map_server_url: None,
            attachments_max: 20,
        };
        let extras = simulator_features(&features).get("OpenSimExtras").clone();
        assert_eq!(extras.get("GridName").as_str(), Some("Throng"));
        assert_eq!(extras.get("shout-range").as_i32(), Some(100));
        assert!(extras.get("map-server-url").is_undef());
        // Viewers compute with 32 bits, and offer these sizes in their build tools.
        let sizes = ["MinPrimScale", "MaxPrimScale", "MinPhysPrimScale", "MaxPhysPrimScale"];
        let sizes = sizes.map(|key| extras.get(key).as_f64().map(|size| size as f32));
        assert_eq!(sizes, [Some(0.001), Some(256.0), Some(0.01), Some(64.0)]);
        assert_eq!(simulator_features(&features).get("MaxAgentAttachments").as_i32(), Some(20));
        features.map_server_url = Some("http://127.0.0.1:9000/map/".into());
        assert!(simulator_features(&features).get("OpenSimExtras").get("map-server-url").as_str().is_some());
    }
}
