//! Settings of an archive's region and the estate of a world.
//!
//! The estate's owner, managers, lists and name stay: they are of the grid, not of the archive. Rules that no world follows are in the document that is kept
//! beside the region, and are written again.

use super::linksets::FoundTelehub;
use archive::oar::{ArchivedSettings, ArchivedTelehub, CornerHeights, RegionRules, SpawnPoint};
use glam::Vec3;
use ids::Uuid;
use link::{
    ENVIRONMENT_MAX, Environment, Estate, GroundTextures, Maturity, RegionFlags, RegionOptions,
    SPAWN_POINTS_MAX, Sun, Telehub, WaterAndLimits,
};
use std::sync::Arc;
use wire::llsd::{Limits, notation, xml};

/// Values of an environment. A day cycle with all its frames has some 5,000.
const ENVIRONMENT_VALUES_MAX: usize = 16_384;

/// Flags that an archive has a value for, each with that value.
fn flags_of(settings: &ArchivedSettings, former: RegionFlags) -> RegionFlags {
    let rules = &settings.rules;
    let direct = settings.allows_direct_teleport;
    let flags = [
        (RegionFlags::ALLOW_DAMAGE, Some(rules.allows_damage)),
        (RegionFlags::BLOCK_LAND_RESELL, Some(!rules.allows_resale)),
        (RegionFlags::ALLOW_PARCEL_CHANGES, Some(rules.allows_join_divide)),
        (RegionFlags::BLOCK_FLY, Some(rules.blocks_fly)),
        (RegionFlags::BLOCK_TERRAFORM, Some(rules.blocks_terraform)),
        (RegionFlags::RESTRICT_PUSH, Some(rules.restricts_pushing)),
        (RegionFlags::ALLOW_DIRECT_TELEPORT, direct),
    ];
    flags.into_iter().fold(former, |flags, (flag, value)| match value {
        Some(true) => flags.union(flag),
        Some(false) => flags.without(flag),
        None => flags,
    })
}

/// The estate with the settings of an archive, within its bounds. `telehub` is the object of that name, if it is in the region.
#[must_use]
pub fn estate_of(settings: &ArchivedSettings, former: &Estate, telehub: Option<&FoundTelehub>) -> Estate {
    let RegionRules { maturity, agents_max, object_bonus, .. } = settings.rules;
    let corners = |CornerHeights { sw, nw, se, ne }| [sw, nw, se, ne].map(narrow);
    let estate = Estate {
        region: RegionOptions {
            flags: flags_of(settings, former.region.flags),
            agent_limit: u32::try_from(agents_max).map_or(former.region.agent_limit, |limit| limit.max(1)),
            object_bonus: narrow(object_bonus),
            maturity: match maturity {
                ..=0 => Maturity::General,
                1 => Maturity::Moderate,
                2.. => Maturity::Adult,
            },
        },
        levels: WaterAndLimits {
            water_m: narrow(settings.water_m),
            raise_m: narrow(settings.raise_max_m),
            lower_m: narrow(-settings.lower_max_m),
        },
        sun: Sun {
            is_fixed: settings.has_fixed_sun,
            is_estates: settings.uses_estate_sun,
            hour: narrow(settings.sun_position_h),
        },
        textures: GroundTextures {
            textures: settings.ground_textures,
            materials: settings.ground_materials,
            low_m: corners(settings.ground_low_m),
            high_m: corners(settings.ground_high_m),
        },
        environment: environment_of(settings.environment.as_deref(), former.environment.as_ref()),
        telehub: settings.telehub.as_ref().zip(telehub).map(|(archived, found)| telehub_of(archived, found)),
        ..former.clone()
    };
    estate.bounded().filter(Estate::is_sound).unwrap_or_else(|| former.clone())
}

/// The settings of a region, in the form of those that it was loaded from.
#[must_use]
pub fn settings_of(estate: &Estate, source: Option<ArchivedSettings>) -> ArchivedSettings {
    let mut settings = source.unwrap_or_default();
    // Values that a load of the source would give are left as they stand there.
    let telehub = estate.telehub.as_ref().map(|telehub| FoundTelehub {
        object: telehub.object,
        name: Arc::clone(&telehub.name),
        position: telehub.position,
        rotation: telehub.rotation,
    });
    let loaded = estate_of(&settings, estate, telehub.as_ref());
    let (now, then) = (&estate.region, &loaded.region);
    let rules = &mut settings.rules;
    let has = |flag| now.flags.any(flag);
    rules.allows_damage = has(RegionFlags::ALLOW_DAMAGE);
    rules.allows_resale = !has(RegionFlags::BLOCK_LAND_RESELL);
    rules.allows_join_divide = has(RegionFlags::ALLOW_PARCEL_CHANGES);
    rules.blocks_fly = has(RegionFlags::BLOCK_FLY);
    rules.blocks_terraform = has(RegionFlags::BLOCK_TERRAFORM);
    rules.restricts_pushing = has(RegionFlags::RESTRICT_PUSH);
    settings.allows_direct_teleport = Some(has(RegionFlags::ALLOW_DIRECT_TELEPORT))
        .filter(|_| settings.source.is_empty() || settings.allows_direct_teleport.is_some());
    if now.maturity != then.maturity {
        rules.maturity = match now.maturity {
            Maturity::General => 0,
            Maturity::Moderate => 1,
            Maturity::Adult => 2,
        };
    }
    if now.agent_limit != then.agent_limit || settings.source.is_empty() {
        rules.agents_max = i32::try_from(now.agent_limit).unwrap_or(i32::MAX);
    }
    if now.object_bonus != then.object_bonus {
        rules.object_bonus = wide(now.object_bonus);
    }
    let (now, then) = (&estate.levels, &loaded.levels);
    if now.water_m != then.water_m {
        settings.water_m = wide(now.water_m);
    }
    if now.raise_m != then.raise_m {
        settings.raise_max_m = wide(now.raise_m);
    }
    if now.lower_m != then.lower_m {
        settings.lower_max_m = -wide(now.lower_m);
    }
    (settings.has_fixed_sun, settings.uses_estate_sun) = (estate.sun.is_fixed, estate.sun.is_estates);
    if estate.sun.hour != loaded.sun.hour {
        settings.sun_position_h = wide(estate.sun.hour);
    }
    (settings.ground_textures, settings.ground_materials) =
        (estate.textures.textures, estate.textures.materials);
    let corners =
        |[sw, nw, se, ne]: [f32; 4]| CornerHeights { sw: wide(sw), nw: wide(nw), se: wide(se), ne: wide(ne) };
    if estate.textures.low_m != loaded.textures.low_m {
        settings.ground_low_m = corners(estate.textures.low_m);
    }
    if estate.textures.high_m != loaded.textures.high_m {
        settings.ground_high_m = corners(estate.textures.high_m);
    }
    settings.environment = written_environment(
        estate.environment.as_ref(),
        loaded.environment.as_ref(),
        settings.environment.take(),
    );
    if estate.telehub != loaded.telehub || estate.telehub.is_none() {
        settings.telehub = estate.telehub.as_ref().map(archived_telehub);
    } else if let (Some(archived), Some(telehub)) = (&mut settings.telehub, &estate.telehub) {
        archived.object = telehub.object;
    }
    settings
}

/// An environment of an archive: text in notation, kept as it stands there. `None` for none, or for text that is no environment.
pub(super) fn environment_of(archived: Option<&str>, former: Option<&Environment>) -> Option<Environment> {
    let text = archived.filter(|text| is_environment(text))?;
    if let Some(former) = former.filter(|former| *former.bytes == *text.as_bytes()) {
        return Some(former.clone());
    }
    let version = former.map_or(1, |former| former.version.wrapping_add(1));
    Some(Environment { version, bytes: text.as_bytes().into() })
}

/// The text of an environment for an archive: `source` while it is the `loaded` one.
pub(super) fn written_environment(
    now: Option<&Environment>,
    loaded: Option<&Environment>,
    source: Option<String>,
) -> Option<String> {
    if now.map(|environment| &environment.bytes) == loaded.map(|environment| &environment.bytes) {
        // Also if it cannot be read here.
        return source;
    }
    now.and_then(environment_text)
}

/// An environment in notation. Clients send LLSD in XML, archives have notation.
#[must_use]
pub fn environment_text(environment: &Environment) -> Option<String> {
    let text = std::str::from_utf8(&environment.bytes).ok()?;
    if is_environment(text) {
        return Some(text.to_owned());
    }
    let limits = Limits { bytes_max: ENVIRONMENT_MAX, values_max: ENVIRONMENT_VALUES_MAX };
    let value = xml::decode(&environment.bytes, limits).ok()?;
    Some(notation::encode(&value))
}

fn is_environment(text: &str) -> bool {
    let limits = Limits { bytes_max: ENVIRONMENT_MAX, values_max: ENVIRONMENT_VALUES_MAX };
    text.len() <= ENVIRONMENT_MAX
        && notation::decode(text.as_bytes(), limits).is_ok_and(|value| value.as_map().is_some())
}

fn telehub_of(archived: &ArchivedTelehub, found: &FoundTelehub) -> Telehub {
    let points = archived.spawn_points.iter().take(SPAWN_POINTS_MAX);
    let name = &found.name;
    Telehub {
        object: found.object,
        name: name[..name.floor_char_boundary(63)].into(),
        position: found.position,
        rotation: found.rotation,
        spawn_points: points.map(offset_of).filter(|point| point.is_finite()).collect(),
    }
}

fn archived_telehub(telehub: &Telehub) -> ArchivedTelehub {
    let points = telehub.spawn_points.iter().map(|point| spawn_point(*point));
    ArchivedTelehub { object: telehub.object, spawn_points: points.collect() }
}

/// Metres from the hub along its axes: yaw around the vertical, pitch downwards.
fn offset_of(point: &SpawnPoint) -> Vec3 {
    let SpawnPoint { yaw_rad, pitch_rad, distance_m } = *point;
    let (across, down) = (distance_m * pitch_rad.cos(), distance_m * pitch_rad.sin());
    Vec3::new(across * yaw_rad.cos(), across * yaw_rad.sin(), -down)
}

fn spawn_point(offset: Vec3) -> SpawnPoint {
    SpawnPoint {
        yaw_rad: offset.y.atan2(offset.x),
        pitch_rad: -offset.z.atan2(offset.truncate().length()),
        distance_m: offset.length(),
    }
}

/// Far beyond all bounds, and finite.
const NUMBER_MAX: f64 = 1e30;

const fn narrow(number: f64) -> f32 {
    number.clamp(-NUMBER_MAX, NUMBER_MAX) as f32
}

/// The shortest decimal that is read as the same number.
fn wide(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}

/// Ids of assets that settings name: textures and materials of the ground.
pub(super) fn ground_assets(textures: &GroundTextures) -> impl Iterator<Item = Uuid> {
    textures.textures.into_iter().chain(textures.materials).filter(|id| !id.is_nil())
}

#[cfg(test)]
mod tests;
