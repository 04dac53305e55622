//! Questions of other parts to the land.

use super::orders::LandAuthor;
use super::parcels::square_of;
use super::part::{Land, ObjectReturn};
use super::rules::LandDeed;
use glam::{Vec2, Vec3};
use ids::AgentId;
use link::{LandingKind, Parcel, ParcelFlags, ParcelNumber, RegionFlags};
use std::time::Duration;

/// Metres above the ground up to which a parcel is closed to avatars that may not be on it: OpenSimulator's. Higher ones fly across.
pub const CLOSED_HEIGHT_M: f32 = 100.0;

/// Place of an arrival by teleport.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LandArrival {
    /// The requested one.
    AsRequested,
    /// The landing point of the parcel or a point of the telehub, with the direction to face; it points nowhere if none is set.
    At(Vec3, Vec3),
    /// None: the parcel allows no teleports, or keeps this user out.
    Refused,
}

impl Land {
    /// The parcel with a number.
    #[must_use]
    pub fn parcel(&self, number: ParcelNumber) -> Option<&Parcel> {
        self.parcels.get(number)
    }

    /// The parcel at a point, metres from the corner; `None` outside the region.
    #[must_use]
    pub fn parcel_at(&self, at: Vec2) -> Option<&Parcel> {
        let (column, row) = square_of(self.parcels.side(), at.x, at.y)?;
        Some(self.parcels.at(column, row))
    }

    /// True if a user may do it at a point of the region. Operators are not known to the world, and have the rights of their accounts.
    #[must_use]
    pub fn may(&self, deed: LandDeed, agent: AgentId, at: Vec2) -> bool {
        self.parcel_at(at).is_some_and(|parcel| self.permits(author(agent), deed, parcel))
    }

    /// True if an object of this owner may move to a point: within its parcel always, to another one by its rule. `from` is `None` for an object from outside
    /// the region.
    #[must_use]
    pub fn may_move_object(&self, owner: AgentId, from: Option<Vec2>, to: Vec2) -> bool {
        let Some(parcel) = self.parcel_at(to) else { return false };
        let former = from.and_then(|from| self.parcel_at(from));
        former.is_some_and(|former| former.number == parcel.number)
            || self.permits(author(owner), LandDeed::EnterObjects, parcel)
    }

    /// True if a parcel with an access or ban list in force is at this point; only then [`Self::may_be_at`] can be false. One load from memory.
    #[must_use]
    pub fn is_restricted_at(&self, at: Vec2) -> bool {
        !self.restrictions.is_empty()
            && square_of(self.parcels.side(), at.x, at.y)
                .is_some_and(|(column, row)| self.restrictions.has(column, row))
    }

    /// True if an avatar of this user may be at a point, with its soles so far above the ground.
    #[must_use]
    pub fn may_be_at(&self, agent: AgentId, at: Vec2, above_m: f32) -> bool {
        !self.is_restricted_at(at)
            || above_m > CLOSED_HEIGHT_M
            || self.parcel_at(at).is_none_or(|parcel| self.may_be_on(agent, parcel))
    }

    /// True if a parcel's lists let this user in.
    #[must_use]
    pub fn may_be_on(&self, agent: AgentId, parcel: &Parcel) -> bool {
        let (flags, now_s) = (parcel.settings.flags, self.now_s());
        let is_listed = |list: &[link::AccessEntry]| {
            let found = list.binary_search_by_key(&agent, |entry| entry.agent);
            found.is_ok_and(|index| list[index].holds_at(now_s))
        };
        !self.estate().region.flags.any(RegionFlags::ALLOW_PARCEL_ACCESS)
            || parcel.is_of(agent)
            || self.estate().is_managed_by(agent)
            || !(flags.any(ParcelFlags::USE_BAN_LIST) && is_listed(&parcel.banned))
                && (!flags.any(ParcelFlags::USE_ACCESS_LIST) || is_listed(&parcel.allowed))
    }

    /// Place where a user arrives who teleports to a point. Owners of parcel and estate, and its managers, arrive as they request; others at the telehub of a region
    /// without direct teleports.
    #[must_use]
    pub fn arrival(&self, agent: AgentId, requested: Vec3) -> LandArrival {
        let Some(parcel) = self.parcel_at(requested.truncate()) else { return LandArrival::AsRequested };
        if parcel.is_of(agent) || self.estate().is_managed_by(agent) {
            return LandArrival::AsRequested;
        }
        let hub = self.estate().telehub.as_ref();
        let hub = hub.filter(|_| !self.estate().region.flags.any(RegionFlags::ALLOW_DIRECT_TELEPORT));
        if let Some(at) = hub.map(|hub| hub.arrival_of(agent)) {
            let is_open = self.parcel_at(at.truncate()).is_some_and(|parcel| self.may_be_on(agent, parcel));
            return if is_open { LandArrival::At(at, Vec3::ZERO) } else { LandArrival::Refused };
        }
        let landing = parcel.settings.landing;
        match landing.kind {
            _ if !self.may_be_on(agent, parcel) => LandArrival::Refused,
            LandingKind::Blocked => LandArrival::Refused,
            LandingKind::Point if landing.at != Vec3::ZERO => LandArrival::At(landing.at, landing.look_at),
            LandingKind::Point | LandingKind::Anywhere => LandArrival::AsRequested,
        }
    }

    /// Prims that a parcel has room for: its share of the region's by area, times the region's factor.
    #[must_use]
    pub fn capacity(&self, parcel: &Parcel, region_max: u32) -> u32 {
        let share =
            f64::from(parcel.n_squares) / (f64::from(self.parcels.side()) * f64::from(self.parcels.side()));
        let prims = f64::from(region_max) * share * f64::from(self.estate().region.object_bonus);
        (prims.round() as u32).min(region_max)
    }

    /// Time after which an object of this owner is returned from a point; `None` for never. The parcel's owner keeps its own.
    #[must_use]
    pub fn return_after(&self, owner: AgentId, at: Vec2) -> Option<Duration> {
        let parcel = self.parcel_at(at)?;
        let minutes = u64::from(parcel.auto_return_min);
        (minutes > 0 && !parcel.is_of(owner)).then(|| Duration::from_secs(minutes * 60))
    }

    /// Orders of this tick to return objects. They are gone after the step.
    #[must_use]
    pub fn object_returns(&self) -> &[ObjectReturn] {
        &self.returns
    }
}

const fn author(agent: AgentId) -> LandAuthor {
    LandAuthor { agent: Some(agent), is_operator: false }
}
