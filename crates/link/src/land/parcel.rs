//! A parcel: its owner, its access lists, and the settings that the owner gives it.

use super::settings::{ParcelFlags, ParcelSettings};
use ids::{AgentId, Uuid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Entries of an access or ban list at most: those of a viewer's list.
pub const ACCESS_MAX: usize = 300;
/// Bytes of an environment at most.
pub const ENVIRONMENT_MAX: usize = 64 << 10;

/// Number of a parcel in its region, from 1; `LocalID` in messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ParcelNumber(pub u16);

impl ParcelNumber {
    /// Parcels of a region at most: as many as a region of 256 m has squares.
    pub const COUNT_MAX: usize = 4_096;
}

/// A parcel but for its squares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    /// Its number, which no other parcel of the region has.
    pub number: ParcelNumber,
    /// Its id on the grid.
    pub id: Uuid,
    /// Its owner; `None` for public land.
    pub owner: Option<AgentId>,
    /// Time of the last change of its owner, seconds since 1970.
    pub claimed_s: u64,
    /// Squares that belong to it, at least one.
    pub n_squares: u32,
    /// Users who may enter when [`ParcelFlags::USE_ACCESS_LIST`](super::ParcelFlags::USE_ACCESS_LIST) is set, by ascending id; at most [`ACCESS_MAX`].
    pub allowed: Arc<[AccessEntry]>,
    /// Users who may not enter when [`ParcelFlags::USE_BAN_LIST`](super::ParcelFlags::USE_BAN_LIST) is set, by ascending id; at most [`ACCESS_MAX`].
    pub banned: Arc<[AccessEntry]>,
    /// Minutes after which objects of other owners are returned; 0 for never.
    pub auto_return_min: u32,
    /// Its own sky and water, if any.
    pub environment: Option<Environment>,
    /// Everything that its owner sets in one form.
    pub settings: ParcelSettings,
}

/// An entry of an access or ban list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessEntry {
    /// The user.
    pub agent: AgentId,
    /// End of its validity, seconds since 1970; 0 for none.
    pub expires_s: u64,
}

impl AccessEntry {
    /// True if it still holds at this time, in seconds since 1970.
    #[must_use]
    pub const fn holds_at(&self, now_s: u64) -> bool {
        self.expires_s == 0 || self.expires_s > now_s
    }
}

/// Sky and water as a viewer describes them, opaque to worlds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Number of its changes, which viewers compare.
    pub version: i32,
    /// LLSD, at most [`ENVIRONMENT_MAX`] bytes.
    pub bytes: Arc<[u8]>,
}

impl Parcel {
    /// Longest time after which it returns objects, minutes: a year.
    pub const AUTO_RETURN_MAX_MIN: u32 = 365 * 24 * 60;

    /// True if a sound on this parcel is heard on another one: those of a parcel with local sounds are heard on it only, and no others there.
    #[must_use]
    pub fn carries_sound_to(&self, other: &Self) -> bool {
        let is_local = |parcel: &Self| parcel.settings.flags.any(ParcelFlags::SOUND_LOCAL);
        self.number == other.number || !is_local(self) && !is_local(other)
    }

    /// A parcel without restrictions.
    #[must_use]
    pub fn new(number: ParcelNumber, id: Uuid, owner: Option<AgentId>, claimed_s: u64) -> Self {
        Self {
            number,
            id,
            owner,
            claimed_s,
            n_squares: 0,
            allowed: Arc::default(),
            banned: Arc::default(),
            auto_return_min: 0,
            environment: None,
            settings: ParcelSettings::new("Your Parcel"),
        }
    }

    /// True if a world can have it: all fields are within their bounds.
    #[must_use]
    pub fn is_sound(&self, size_m: u32) -> bool {
        let is_list = |list: &[AccessEntry]| {
            list.len() <= ACCESS_MAX && list.is_sorted_by(|one, next| one.agent < next.agent)
        };
        self.number.0 > 0
            && !self.id.is_nil()
            && self.owner != Some(AgentId(Uuid::nil()))
            && self.n_squares > 0
            && is_list(&self.allowed)
            && is_list(&self.banned)
            && self.auto_return_min <= Self::AUTO_RETURN_MAX_MIN
            && self.environment.as_ref().is_none_or(|environment| environment.bytes.len() <= ENVIRONMENT_MAX)
            && self.settings.clone().bounded(size_m).as_ref() == Some(&self.settings)
    }

    /// Area in square metres.
    #[must_use]
    pub const fn area_m2(&self) -> u32 {
        self.n_squares * super::squares::SQUARE_M * super::squares::SQUARE_M
    }

    /// True if it has this owner; public land has none.
    #[must_use]
    pub fn is_of(&self, agent: AgentId) -> bool {
        self.owner == Some(agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(n: u128) -> AgentId {
        AgentId(Uuid::from_u128(n))
    }

    fn parcel() -> Parcel {
        Parcel { n_squares: 1, ..Parcel::new(ParcelNumber(1), Uuid::from_u128(9), Some(agent(3)), 7) }
    }

    #[test]
    fn a_parcel_with_a_field_out_of_bounds_is_unsound() {
        assert!(parcel().is_sound(256));
        let entry = |n| AccessEntry { agent: agent(n), expires_s: 0 };
        let spoilt: [&dyn Fn(&mut Parcel); 10] = [
            &|parcel| parcel.number = ParcelNumber(0),
            &|parcel| parcel.id = Uuid::nil(),
            &|parcel| parcel.owner = Some(agent(0)),
            &|parcel| parcel.n_squares = 0,
            &|parcel| parcel.banned = [entry(2), entry(1)].into(),
            &|parcel| parcel.allowed = [entry(2), entry(2)].into(),
            &|parcel| parcel.allowed = (0..301).map(entry).collect(),
            &|parcel| parcel.settings.name = "n".repeat(64).into(),
            &|parcel| parcel.auto_return_min = Parcel::AUTO_RETURN_MAX_MIN + 1,
            &|parcel| {
                parcel.environment =
                    Some(Environment { version: 1, bytes: vec![0; ENVIRONMENT_MAX + 1].into() });
            },
        ];
        for (index, spoil) in spoilt.iter().enumerate() {
            let mut parcel = parcel();
            spoil(&mut parcel);
            assert!(!parcel.is_sound(256), "case {index}");
        }
    }

    #[test]
    fn an_entry_holds_until_its_end() {
        let until = |expires_s| AccessEntry { agent: agent(1), expires_s };
        assert!(until(0).holds_at(u64::MAX) && until(11).holds_at(10));
        assert!(!until(10).holds_at(10));
    }
}
