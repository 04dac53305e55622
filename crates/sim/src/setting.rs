//! Places of a run, and the task of its clients.

use gateway::shard::CACHE_AFTER;
use ids::Instant;
use std::time::Duration;

/// Edge of a region of travellers.
pub(crate) const REGION_M: u32 = 256;
/// Edge of the region of a crowd: 2,000 on it see their nearest 200 within 91 m, so that every band of distance is
/// among them.
const CROWD_REGION_M: u32 = 512;
/// Between two logins. A login server does not get all its users in one millisecond.
const LOGIN_PERIOD: Duration = Duration::from_millis(30);
/// And where thousands come at once.
const CROWD_LOGIN_PERIOD: Duration = Duration::from_millis(2);

/// A kind of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// All clients roam two regions of 256 m, and display all avatars of theirs.
    Travel,
    /// All clients walk over one region of 512 m, and display the nearest avatars. The other region stays empty.
    Crowd,
    /// As [`Self::Travel`]; the first region has a mission and NPCs that fight each other and the visitors.
    Village,
    /// As [`Self::Travel`]; one client in three builds, and all viewers keep objects over their logins.
    Site,
}

impl Setting {
    /// Edge of both regions.
    pub(crate) const fn region_m(self) -> u32 {
        match self {
            Self::Travel | Self::Village | Self::Site => REGION_M,
            Self::Crowd => CROWD_REGION_M,
        }
    }

    /// Time of a client's first login.
    pub(crate) fn comes_at(self, client: u32) -> Instant {
        let period = match self {
            Self::Travel | Self::Village | Self::Site => LOGIN_PERIOD,
            Self::Crowd => CROWD_LOGIN_PERIOD,
        };
        Instant::ZERO + period * client
    }

    /// Region that a client enters first.
    pub(crate) const fn first_region(self, client: u32) -> u16 {
        match self {
            Self::Travel | Self::Village | Self::Site => (client % 2) as u16,
            Self::Crowd => 0,
        }
    }

    /// Time without a change after which viewers may keep an object. A storm is shorter than a server's usual time.
    pub(crate) const fn cache_after(self) -> Duration {
        match self {
            Self::Travel | Self::Village | Self::Crowd => CACHE_AFTER,
            Self::Site => Duration::from_secs(2),
        }
    }

    /// True if a client builds.
    pub(crate) fn builds(self, client: u32) -> bool {
        self == Self::Site && client.is_multiple_of(3)
    }

    /// True if a region has NPCs.
    pub(crate) fn has_npcs(self, region: u32) -> bool {
        self == Self::Village && region == 0
    }

    /// True if avatars start scattered instead of at the landing place.
    pub(crate) fn is_scattered(self) -> bool {
        self == Self::Crowd
    }
}
