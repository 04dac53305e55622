//! Settings of a region: rules, textures of the ground, water, telehub, environment, and two rules of its estate.

use crate::fields::{
    DocumentError, DocumentField, DocumentLayout, DocumentSource, FieldContent, Plain, ReadDocument,
    document_methods, field,
};
use crate::xml::{XmlElement, push_f32};
use ids::Uuid;

/// Spawn points that are read.
const SPAWN_POINTS_MAX: usize = 64;

const ROOT: &str = "RegionSettings";

/// Settings of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct ArchivedSettings {
    /// Rules of the region.
    pub rules: RegionRules,
    /// Textures of the ground, from the water upwards; null for the default.
    pub ground_textures: [Uuid; 4],
    /// Materials of the ground, which newer viewers show in place of the textures; null for the default.
    pub ground_materials: [Uuid; 4],
    /// Heights at which the lowest texture ends, metres, by corner.
    pub ground_low_m: CornerHeights,
    /// Heights at which the highest texture begins, metres, by corner.
    pub ground_high_m: CornerHeights,
    /// Height of the water, metres.
    pub water_m: f64,
    /// Metres by which the ground may be raised above its baked form.
    pub raise_max_m: f64,
    /// Metres by which the ground may be lowered below its baked form, as a negative number.
    pub lower_max_m: f64,
    /// The sun is that of the estate.
    pub uses_estate_sun: bool,
    /// The sun stands still.
    pub has_fixed_sun: bool,
    /// Hour at which it stands still; 6 is noon in some versions.
    pub sun_position_h: f64,
    /// Telehub; none without one.
    pub telehub: Option<ArchivedTelehub>,
    /// The environment as LLSD in notation; none for the default.
    pub environment: Option<String>,
    /// The estate allows teleports to any place. None in archives before 2021.
    pub allows_direct_teleport: Option<bool>,
    /// The estate allows parcels an environment of their own. None in archives before 2021.
    pub allows_parcel_environments: Option<bool>,
    /// The document that it was read from.
    pub source: DocumentSource,
}

/// Rules of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionRules {
    /// Avatars can be damaged.
    pub allows_damage: bool,
    /// Parcels may be sold.
    pub allows_resale: bool,
    /// Parcels may be joined and divided by their owners.
    pub allows_join_divide: bool,
    /// Avatars must not fly.
    pub blocks_fly: bool,
    /// Parcels are not shown in the search.
    pub blocks_search: bool,
    /// The ground must not be changed.
    pub blocks_terraform: bool,
    /// Objects do not collide.
    pub disables_collisions: bool,
    /// Objects do not move by physics.
    pub disables_physics: bool,
    /// Scripts do not run.
    pub disables_scripts: bool,
    /// General 0, moderate 1, adult 2.
    pub maturity: i32,
    /// Avatars must not be pushed.
    pub restricts_pushing: bool,
    /// Avatars, at most.
    pub agents_max: i32,
    /// Factor of the number of prims that parcels may have.
    pub object_bonus: f64,
}

/// Heights at the corners of a region, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CornerHeights {
    /// South-west.
    pub sw: f64,
    /// North-west.
    pub nw: f64,
    /// South-east.
    pub se: f64,
    /// North-east.
    pub ne: f64,
}

/// A telehub: the object, and the places around it at which avatars arrive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArchivedTelehub {
    /// Id of the object's root.
    pub object: Uuid,
    /// Places of arrival.
    pub spawn_points: Vec<SpawnPoint>,
}

/// A place relative to a telehub.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpawnPoint {
    /// Direction around the vertical axis, radians.
    pub yaw_rad: f32,
    /// Direction downwards, radians.
    pub pitch_rad: f32,
    /// Distance, metres.
    pub distance_m: f32,
}

/// Of a region without elements, as OpenSimulator makes it.
impl Default for ArchivedSettings {
    fn default() -> Self {
        let corners = |height: f64| CornerHeights { sw: height, nw: height, se: height, ne: height };
        Self {
            rules: RegionRules::default(),
            ground_textures: [Uuid::nil(); 4],
            ground_materials: [Uuid::nil(); 4],
            ground_low_m: corners(10.0),
            ground_high_m: corners(60.0),
            water_m: 20.0,
            raise_max_m: 100.0,
            lower_max_m: -100.0,
            uses_estate_sun: true,
            has_fixed_sun: false,
            sun_position_h: 0.0,
            telehub: None,
            environment: None,
            allows_direct_teleport: None,
            allows_parcel_environments: None,
            source: DocumentSource::default(),
        }
    }
}

impl Default for RegionRules {
    fn default() -> Self {
        Self {
            allows_damage: false,
            allows_resale: true,
            allows_join_divide: true,
            blocks_fly: false,
            blocks_search: false,
            blocks_terraform: false,
            disables_collisions: false,
            disables_physics: false,
            disables_scripts: false,
            maturity: 0,
            restricts_pushing: false,
            agents_max: 40,
            object_bonus: 1.0,
        }
    }
}

/// A value of a list.
macro_rules! listed {
    ($group:literal, $name:literal, $place:ident, $index:literal) => {
        DocumentField {
            group: $group,
            name: $name,
            read: |it, element| {
                it.$place[$index] = Plain::read(&element.text()?)?;
                Some(())
            },
            write: |it| Plain::write(&it.$place[$index]),
        }
    };
}

/// In the order of OpenSimulator, whose reader needs the first three groups in this order.
const FIELDS: [DocumentField<ArchivedSettings>; 39] = [
    field!("General", "AllowDamage", rules.allows_damage),
    field!("General", "AllowLandResell", rules.allows_resale),
    field!("General", "AllowLandJoinDivide", rules.allows_join_divide),
    field!("General", "BlockFly", rules.blocks_fly),
    field!("General", "BlockLandShowInSearch", rules.blocks_search),
    field!("General", "BlockTerraform", rules.blocks_terraform),
    field!("General", "DisableCollisions", rules.disables_collisions),
    field!("General", "DisablePhysics", rules.disables_physics),
    field!("General", "DisableScripts", rules.disables_scripts),
    field!("General", "MaturityRating", rules.maturity),
    field!("General", "RestrictPushing", rules.restricts_pushing),
    field!("General", "AgentLimit", rules.agents_max),
    field!("General", "ObjectBonus", rules.object_bonus),
    listed!("GroundTextures", "Texture1", ground_textures, 0),
    listed!("GroundTextures", "Texture2", ground_textures, 1),
    listed!("GroundTextures", "Texture3", ground_textures, 2),
    listed!("GroundTextures", "Texture4", ground_textures, 3),
    listed!("GroundTextures", "PBR1", ground_materials, 0),
    listed!("GroundTextures", "PBR2", ground_materials, 1),
    listed!("GroundTextures", "PBR3", ground_materials, 2),
    listed!("GroundTextures", "PBR4", ground_materials, 3),
    field!("GroundTextures", "ElevationLowSW", ground_low_m.sw),
    field!("GroundTextures", "ElevationLowNW", ground_low_m.nw),
    field!("GroundTextures", "ElevationLowSE", ground_low_m.se),
    field!("GroundTextures", "ElevationLowNE", ground_low_m.ne),
    field!("GroundTextures", "ElevationHighSW", ground_high_m.sw),
    field!("GroundTextures", "ElevationHighNW", ground_high_m.nw),
    field!("GroundTextures", "ElevationHighSE", ground_high_m.se),
    field!("GroundTextures", "ElevationHighNE", ground_high_m.ne),
    field!("Terrain", "WaterHeight", water_m),
    field!("Terrain", "TerrainRaiseLimit", raise_max_m),
    field!("Terrain", "TerrainLowerLimit", lower_max_m),
    field!("Terrain", "UseEstateSun", uses_estate_sun),
    field!("Terrain", "FixedSun", has_fixed_sun),
    field!("Terrain", "SunPosition", sun_position_h),
    DocumentField { group: "", name: "Telehub", read: read_telehub, write: write_telehub },
    field!("Environment", "data", environment),
    field!("Estate", "AllowDirectTeleport", allows_direct_teleport),
    field!("Estate", "AllowEnvironmentOverride", allows_parcel_environments),
];

impl ArchivedSettings {
    document_methods!(ROOT, FIELDS, DocumentLayout::Lines);
}

fn read_telehub(settings: &mut ArchivedSettings, element: &XmlElement<'_>) -> Option<()> {
    let mut telehub = ArchivedTelehub::default();
    for child in element.children() {
        match child.name() {
            "TelehubObject" => telehub.object = Plain::read(&child.text()?)?,
            "SpawnPoint" if telehub.spawn_points.len() < SPAWN_POINTS_MAX => {
                telehub.spawn_points.push(read_spawn_point(&child.text()?)?);
            }
            _ => return None,
        }
    }
    settings.telehub = (!telehub.object.is_nil()).then_some(telehub);
    Some(())
}

fn read_spawn_point(text: &str) -> Option<SpawnPoint> {
    let mut numbers = text.split(',').map(f32::read);
    let mut next = || numbers.next().flatten();
    let point = SpawnPoint { yaw_rad: next()?, pitch_rad: next()?, distance_m: next()? };
    numbers.next().is_none().then_some(point)
}

/// On lines of their own, which OpenSimulator's reader needs.
fn write_telehub(settings: &ArchivedSettings) -> FieldContent {
    let mut markup = String::new();
    if let Some(ArchivedTelehub { object, spawn_points }) = &settings.telehub {
        markup = format!("\n    <TelehubObject>{object}</TelehubObject>");
        for SpawnPoint { yaw_rad, pitch_rad, distance_m } in spawn_points {
            markup.push_str("\n    <SpawnPoint>");
            for (n, number) in [*yaw_rad, *pitch_rad, *distance_m].into_iter().enumerate() {
                markup.push_str(if n == 0 { "" } else { "," });
                push_f32(number, &mut markup);
            }
            markup.push_str("</SpawnPoint>");
        }
        markup.push_str("\n  ");
    }
    FieldContent::Markup(markup)
}

#[cfg(test)]
mod tests;
