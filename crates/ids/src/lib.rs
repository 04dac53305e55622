//! Newtypes of identities, places and times, shared by every crate instead of bare integers.
//!
//! Nothing here does work. Start with [`RegionHandle`] for places and [`Instant`] for time.

mod time;

pub use time::Instant;
pub use uuid::Uuid;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A user's account and avatar: permanent, known to every client. `FullID` of the avatar's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgentId(pub Uuid);

/// The public id of one login, repeated by the client in most messages. A secret between client and grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub Uuid);

/// One life of a gateway: 1 to 65,535, never used again on a grid, and kept by its store. 0 is for simulators and tests, which keep none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub u16);

/// A login, unique on the grid: the incarnation of its gateway in the high 16 bits, its number there (1, 2, 3 … in order of login) in the low
/// 48. Commands of a tick are ordered by it, so that a run does not depend on random ids. [`SessionKey::NODE`] stands for the node itself.
///
/// Not exact as a number in JSON, which ends at 2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionKey(pub u64);

impl SessionKey {
    /// The node itself as the author of a command (a resync, an announcement).
    pub const NODE: Self = Self(0);

    /// Bits of the number within a gateway's life.
    const NUMBER_BITS: u32 = 48;

    /// The `number`-th login of a gateway's life, from 1.
    ///
    /// # Panics
    /// If the number is 0 or needs more than 48 bits, for which a gateway would have to admit 8,900 logins a second for a thousand years.
    #[must_use]
    pub const fn new(gateway: Incarnation, number: u64) -> Self {
        assert!(number > 0 && number >> Self::NUMBER_BITS == 0, "logins are numbered from 1, in 48 bits");
        Self((gateway.0 as u64) << Self::NUMBER_BITS | number)
    }

    /// The life of the gateway that admitted it.
    #[must_use]
    pub const fn gateway(self) -> Incarnation {
        Incarnation((self.0 >> Self::NUMBER_BITS) as u16)
    }

    /// Its number in that life.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0 & ((1 << Self::NUMBER_BITS) - 1)
    }
}

/// The 32-bit number that a client sends in UseCircuitCode; one per login, the same for every region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CircuitCode(pub u32);

/// An entity's number inside messages, unique on the grid so that two worlds never share one on a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LocalId(pub u32);

/// High half of the ids of textures that NPCs wear. The low half is a number with one meaning for the casts that name it and for the
/// capability that serves it.
pub const COLOUR_TEXTURES: u64 = 0x7468_726f_6e67_4004;

/// High half of the ids of the ground's textures. The low halves are 0 to 3, from the water upwards.
pub const GROUND_TEXTURES: u64 = 0x7468_726f_6e67_4005;

/// The texture of a plain box. Viewers know the id as that of plywood.
pub const PLYWOOD_TEXTURE: Uuid = Uuid::from_u128(0x8955_6747_24cb_43ed_920b_47ca_ed15_465f);

/// Stands for the region in which newcomers arrive, on each grid another one. Servers read it as that region's id, so that one landmark can lead there on all
/// grids. No region has it.
pub const WELCOME_REGION: Uuid = Uuid::from_u128(0x7468_726f_6e67_4000_ffff_ffff_ffff_ffff);

/// Number of a transfer between a world and the store, counted from 1 by the world; 0 stands for none. A world gives no number to two transfers, in
/// whichever of its lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u32);

/// An object that the store holds, unique on the grid: the world that it left, and the ticket with which it did. Or an item of an inventory on its way into
/// a world: [`HeldKey::ITEMS`], and a number that the store counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HeldKey {
    /// The world that it left, a shared one.
    pub region: WorldId,
    /// The ticket.
    pub ticket: Ticket,
}

impl HeldKey {
    /// In the place of the world: an item of an inventory. No world has this number.
    pub const ITEMS: WorldId = WorldId(0);

    /// True for an item of an inventory.
    #[must_use]
    pub const fn is_of_item(self) -> bool {
        self.region.0 == Self::ITEMS.0
    }
}

impl fmt::Display for HeldKey {
    /// `REGION-TICKET`, both as numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region: WorldId(region), ticket: Ticket(ticket) } = self;
        write!(f, "{region}-{ticket}")
    }
}

impl FromStr for HeldKey {
    type Err = HeldKeyError;

    /// Reads `REGION-TICKET`, as it is written.
    fn from_str(text: &str) -> Result<Self, HeldKeyError> {
        let (region, ticket) = text.split_once('-').ok_or(HeldKeyError)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| HeldKeyError);
        let key = Self { region: WorldId(number(region)?), ticket: Ticket(number(ticket)?) };
        let is_of_region = key.region < WorldId::FIRST_INSTANCE;
        if is_of_region && key.to_string() == text { Ok(key) } else { Err(HeldKeyError) }
    }
}

/// A text that is no [`HeldKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldKeyError;

impl fmt::Display for HeldKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a held object is named by the numbers of its region and of its ticket, as in 1-27")
    }
}

impl std::error::Error for HeldKeyError {}

/// Id of a world, unique on the grid. Shared worlds: 1 to 2,047, by configuration; instances: from 2^31, by host and sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorldId(pub u32);

impl WorldId {
    /// The first number that an instance may have.
    pub const FIRST_INSTANCE: Self = Self(1 << 31);
}

/// Counts a world's lives: a restart begins a new epoch, and replicas start again from a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch(pub u32);

/// A world's step number since its first epoch began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tick(pub u64);

/// Position of a place: global metres of its south-west corner, x in the high and y in the low 32 bits. Viewers find regions by it, so
/// two places never share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RegionHandle(pub u64);

impl RegionHandle {
    /// Metres per grid square.
    pub const GRID_M: u32 = 256;

    /// The handle of the place whose corner lies at these grid squares; both below 65,536.
    #[must_use]
    pub const fn from_grid(x: u32, y: u32) -> Self {
        Self((((x * Self::GRID_M) as u64) << 32) | (y * Self::GRID_M) as u64)
    }

    /// Global x of the corner, in metres.
    #[must_use]
    pub const fn x_m(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Global y of the corner, in metres.
    #[must_use]
    pub const fn y_m(self) -> u32 {
        (self.0 & 0xFFFF_FFFF) as u32
    }

    /// Corner in grid squares.
    #[must_use]
    pub const fn grid(self) -> (u32, u32) {
        (self.x_m() / Self::GRID_M, self.y_m() / Self::GRID_M)
    }
}

impl fmt::Debug for RegionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (x, y) = self.grid();
        write!(f, "RegionHandle({x},{y})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_key_is_read_as_it_is_written_and_in_no_other_form() {
        for (region, ticket) in [(1, 1), (2_047, u32::MAX), (0, 0)] {
            let key = HeldKey { region: WorldId(region), ticket: Ticket(ticket) };
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        for wrong in
            ["", "-", "1", "1-", "-1", "1-2-3", "01-2", "1-+2", " 1-2", "1-4294967296", "2147483648-1"]
        {
            assert_eq!(wrong.parse::<HeldKey>(), Err(HeldKeyError), "{wrong:?}");
        }
    }

    #[test]
    fn session_keys_of_two_lives_differ_and_are_ordered_by_life_and_number() {
        let keys = [(0, 1), (0, 2), (1, 1), (1, (1 << 48) - 1), (65_535, 1)]
            .map(|(gateway, number)| SessionKey::new(Incarnation(gateway), number));
        assert_eq!(keys[0], SessionKey(1), "a simulator's keys are plain numbers");
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!((keys[3].gateway(), keys[3].number()), (Incarnation(1), (1 << 48) - 1));
        assert_eq!((keys[4].gateway(), keys[4].number()), (Incarnation(65_535), 1));
    }

    #[test]
    #[should_panic(expected = "in 48 bits")]
    fn a_number_never_reaches_into_the_gateways_part() {
        let _ = SessionKey::new(Incarnation(1), 1 << 48);
    }

    #[test]
    fn handle_splits_into_metres_and_squares() {
        let handle = RegionHandle::from_grid(1000, 1001);
        assert_eq!(handle.0, 256_000 << 32 | 256_256);
        assert_eq!((handle.x_m(), handle.y_m()), (256_000, 256_256));
        assert_eq!(handle.grid(), (1000, 1001));
    }
}
