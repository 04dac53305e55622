//! The estate of a world: its owner and managers, its access lists, and settings of the region.

use super::parcel::{ENVIRONMENT_MAX, Environment};
use super::settings::cut;
use super::telehub::Telehub;
use crate::terrain::Terrain;
use ids::{AgentId, Uuid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Metres by which edits may raise or lower the ground at most, if an estate sets no lower limit: OpenSimulator's default, and a viewer's most.
pub const HEIGHT_LIMIT_M: f32 = 100.0;

/// Bytes of the estate's name at most.
const NAME_MAX: usize = 63;
/// Visitors at most, whatever the estate asks for.
const AGENT_LIMIT_MAX: u32 = 100_000;
/// Factors of object capacity.
const OBJECT_BONUS_RANGE: (f32, f32) = (0.1, 10.0);
/// Latest hour of the sun; viewers count from 6 to 30.
const SUN_HOUR_MAX: f32 = 30.0;

/// Owner, managers, access and settings of a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estate {
    /// At most 63 bytes.
    pub name: Arc<str>,
    /// Its owner; `None` without one. Operators have all rights in any estate.
    pub owner: Option<AgentId>,
    /// Users with nearly all rights of the owner, by ascending id.
    pub managers: Vec<AgentId>,
    /// Users who may enter an estate that is not public, by ascending id.
    pub allowed: Vec<AgentId>,
    /// Groups whose members may enter an estate that is not public, by ascending id. Groups have no members yet.
    pub groups: Vec<Uuid>,
    /// Users who may not enter, by ascending id.
    pub banned: Vec<AgentId>,
    /// Rules text as an asset; null for none.
    pub covenant: Uuid,
    /// Time of the covenant's last change, seconds since 1970.
    pub covenant_s: u64,
    /// Settings of the region.
    pub region: RegionOptions,
    /// Height of the water, and limits of edits.
    pub levels: WaterAndLimits,
    /// Position of the sun.
    pub sun: Sun,
    /// Textures of the ground.
    pub textures: GroundTextures,
    /// Sky and water of the region, if not the viewer's own.
    pub environment: Option<Environment>,
    /// Where teleports arrive without [`RegionFlags::ALLOW_DIRECT_TELEPORT`].
    pub telehub: Option<Telehub>,
}

/// Settings of a region.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionOptions {
    /// Rules for its visitors and owners.
    pub flags: RegionFlags,
    /// Visitors at once, from 1.
    pub agent_limit: u32,
    /// Factor of the object capacity of its parcels, 0.1 to 10.
    pub object_bonus: f32,
    /// Rating of its content.
    pub maturity: Maturity,
}

/// Rating of a region's content, with its code in messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Maturity {
    /// For all.
    #[default]
    General = 13,
    /// For most.
    Moderate = 21,
    /// For adults.
    Adult = 42,
}

impl Maturity {
    /// The lowest rating that is not below a code.
    #[must_use]
    pub const fn of_code(code: u8) -> Self {
        match code {
            ..=13 => Self::General,
            14..=21 => Self::Moderate,
            22.. => Self::Adult,
        }
    }
}

/// Height of the water, and limits of edits of the ground.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaterAndLimits {
    /// Height of the water in metres, 0 to [`Terrain::HEIGHT_MAX_M`].
    pub water_m: f32,
    /// Metres by which users may raise the baked ground, 0 to [`HEIGHT_LIMIT_M`].
    pub raise_m: f32,
    /// Metres by which users may lower it, 0 to [`HEIGHT_LIMIT_M`].
    pub lower_m: f32,
}

/// Position of a region's sun, without a meaning to worlds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sun {
    /// It stands still.
    pub is_fixed: bool,
    /// That of the estate and not the region's own.
    pub is_estates: bool,
    /// Hour at which it stands still, as in messages.
    pub hour: f32,
}

/// Textures of the ground, without a meaning to worlds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroundTextures {
    /// From the lowest ground to the highest; null for the server's own.
    pub textures: [Uuid; 4],
    /// PBR materials in their place; null for none.
    pub materials: [Uuid; 4],
    /// Metres up to which the lowest texture reaches, at the corners south-west, north-west, south-east, north-east.
    pub low_m: [f32; 4],
    /// Metres across which the others follow, at the same corners.
    pub high_m: [f32; 4],
}

impl Default for GroundTextures {
    fn default() -> Self {
        // Heights of OpenSimulator's regions.
        Self { textures: [Uuid::nil(); 4], materials: [Uuid::nil(); 4], low_m: [10.0; 4], high_m: [60.0; 4] }
    }
}

/// A list of an estate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EstateList {
    /// [`Estate::managers`]: at most 20.
    Managers,
    /// [`Estate::allowed`]: at most 500.
    Allowed,
    /// [`Estate::groups`]: at most 63.
    Groups,
    /// [`Estate::banned`]: at most 500.
    Banned,
}

impl EstateList {
    /// Entries at most: those of OpenSimulator, which viewers show.
    #[must_use]
    pub const fn len_max(self) -> usize {
        match self {
            Self::Managers => 20,
            Self::Allowed | Self::Banned => 500,
            Self::Groups => 63,
        }
    }
}

/// Rules of a region as a set of bits, those of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RegionFlags(pub u32);

impl RegionFlags {
    /// Visitors can be hurt.
    pub const ALLOW_DAMAGE: Self = Self(1);
    /// Landmarks can be made.
    pub const ALLOW_LANDMARK: Self = Self(1 << 1);
    /// It can be a home.
    pub const ALLOW_SET_HOME: Self = Self(1 << 2);
    /// Parcels have access lists of their own.
    pub const ALLOW_PARCEL_ACCESS: Self = Self(1 << 5);
    /// Only the estate edits the ground.
    pub const BLOCK_TERRAFORM: Self = Self(1 << 6);
    /// Only the estate sells land.
    pub const BLOCK_LAND_RESELL: Self = Self(1 << 7);
    /// All users may enter.
    pub const PUBLIC: Self = Self(1 << 15);
    /// Only the estate flies.
    pub const BLOCK_FLY: Self = Self(1 << 19);
    /// Teleports to any point.
    pub const ALLOW_DIRECT_TELEPORT: Self = Self(1 << 20);
    /// Objects of other owners do not push avatars.
    pub const RESTRICT_PUSH: Self = Self(1 << 22);
    /// Owners divide and join parcels.
    pub const ALLOW_PARCEL_CHANGES: Self = Self(1 << 26);
    /// Voice.
    pub const ALLOW_VOICE: Self = Self(1 << 28);

    /// Those of a new region.
    pub const NEW: Self = Self(
        Self::ALLOW_LANDMARK.0
            | Self::ALLOW_SET_HOME.0
            | Self::ALLOW_PARCEL_ACCESS.0
            | Self::PUBLIC.0
            | Self::ALLOW_DIRECT_TELEPORT.0
            | Self::ALLOW_PARCEL_CHANGES.0
            | Self::ALLOW_VOICE.0,
    );

    /// True if any bit of `other` is set.
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Without the bits of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl Estate {
    /// An estate without restrictions.
    #[must_use]
    pub fn new(name: &str, owner: Option<AgentId>, water_m: f32) -> Self {
        Self {
            name: name.into(),
            owner,
            managers: Vec::new(),
            allowed: Vec::new(),
            groups: Vec::new(),
            banned: Vec::new(),
            covenant: Uuid::nil(),
            covenant_s: 0,
            region: RegionOptions {
                flags: RegionFlags::NEW,
                agent_limit: AGENT_LIMIT_MAX,
                object_bonus: 1.0,
                maturity: Maturity::General,
            },
            levels: WaterAndLimits { water_m, raise_m: HEIGHT_LIMIT_M, lower_m: HEIGHT_LIMIT_M },
            sun: Sun::default(),
            textures: GroundTextures::default(),
            environment: None,
            telehub: None,
        }
    }

    /// The nearest estate within all bounds: texts are cut, numbers clamped. `None` with a number that is none.
    ///
    /// Lists are not changed ([`Self::is_sound`]).
    #[must_use]
    pub fn bounded(mut self) -> Option<Self> {
        let Self { name, region, levels, sun, textures, .. } = &mut self;
        let numbers = [levels.water_m, levels.raise_m, levels.lower_m, region.object_bonus, sun.hour];
        let is_finite = |numbers: &[f32]| numbers.iter().all(|number| number.is_finite());
        if !is_finite(&numbers) || !is_finite(&textures.low_m) || !is_finite(&textures.high_m) {
            return None;
        }
        cut(name, NAME_MAX);
        region.agent_limit = region.agent_limit.clamp(1, AGENT_LIMIT_MAX);
        let (least, most) = OBJECT_BONUS_RANGE;
        region.object_bonus = region.object_bonus.clamp(least, most);
        levels.water_m = levels.water_m.clamp(0.0, Terrain::HEIGHT_MAX_M);
        for limit in [&mut levels.raise_m, &mut levels.lower_m] {
            *limit = limit.clamp(0.0, HEIGHT_LIMIT_M);
        }
        sun.hour = sun.hour.clamp(0.0, SUN_HOUR_MAX);
        for height in textures.low_m.iter_mut().chain(&mut textures.high_m) {
            *height = height.clamp(-Terrain::HEIGHT_MAX_M, Terrain::HEIGHT_MAX_M);
        }
        Some(self)
    }

    /// True if a world can have it: all fields are within their bounds.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let is_list = |list: &[AgentId], kind: EstateList| {
            list.len() <= kind.len_max() && list.is_sorted_by(|one, next| one < next)
        };
        is_list(&self.managers, EstateList::Managers)
            && is_list(&self.allowed, EstateList::Allowed)
            && is_list(&self.banned, EstateList::Banned)
            && self.groups.len() <= EstateList::Groups.len_max()
            && self.groups.is_sorted_by(|one, next| one < next)
            && self.owner != Some(AgentId(Uuid::nil()))
            && self.environment.as_ref().is_none_or(|environment| environment.bytes.len() <= ENVIRONMENT_MAX)
            && self.telehub.as_ref().is_none_or(Telehub::is_sound)
            && self.clone().bounded().as_ref() == Some(self)
    }

    /// True for its owner and its managers.
    #[must_use]
    pub fn is_managed_by(&self, agent: AgentId) -> bool {
        self.owner == Some(agent) || self.managers.binary_search(&agent).is_ok()
    }

    /// True if this user may be in the region. A parcel may be closed to it all the same.
    #[must_use]
    pub fn admits(&self, agent: AgentId) -> bool {
        self.is_managed_by(agent)
            || self.banned.binary_search(&agent).is_err()
                && (self.region.flags.any(RegionFlags::PUBLIC) || self.allowed.binary_search(&agent).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(n: u128) -> AgentId {
        AgentId(Uuid::from_u128(n))
    }

    fn estate() -> Estate {
        Estate {
            managers: vec![agent(2)],
            banned: vec![agent(4)],
            ..Estate::new("Hills", Some(agent(1)), 20.0)
        }
    }

    #[test]
    fn an_estate_admits_by_its_lists() {
        let open = estate();
        assert_eq!([1, 2, 3, 4].map(|n| open.admits(agent(n))), [true, true, true, false]);
        let mut closed = Estate { allowed: vec![agent(5)], ..estate() };
        closed.region.flags = closed.region.flags.without(RegionFlags::PUBLIC);
        assert_eq!([1, 2, 3, 4, 5].map(|n| closed.admits(agent(n))), [true, true, false, false, true]);
        let without_owner = Estate { owner: None, ..estate() };
        assert!(!without_owner.is_managed_by(agent(0)));
    }

    #[test]
    fn numbers_are_clamped_and_no_numbers_refused() {
        let mut wide = estate();
        wide.levels = WaterAndLimits { water_m: 9e9, raise_m: 101.0, lower_m: -1.0 };
        wide.region.agent_limit = 0;
        wide.textures.low_m[3] = -1e9;
        let bounded = wide.bounded().unwrap();
        let WaterAndLimits { water_m, raise_m, lower_m } = bounded.levels;
        assert_eq!((water_m, raise_m, lower_m), (2_048.0, 100.0, 0.0));
        assert_eq!((bounded.region.agent_limit, bounded.textures.low_m[3]), (1, -2_048.0));
        assert!(bounded.is_sound());
        let mut broken = estate();
        broken.textures.high_m[0] = f32::INFINITY;
        assert!(!broken.is_sound());
        assert_eq!(broken.bounded(), None);
    }

    #[test]
    fn lists_are_sorted_and_bounded() {
        assert!(estate().is_sound());
        let twice = Estate { allowed: vec![agent(5), agent(5)], ..estate() };
        let many = Estate { managers: (1..=21).map(agent).collect(), ..estate() };
        let groups = Estate { groups: vec![Uuid::from_u128(2), Uuid::from_u128(1)], ..estate() };
        assert!(![twice, many, groups].iter().any(Estate::is_sound));
    }
}
