//! Ids that are unique on a grid: each host derives or counts its own, without a request to other hosts.
//!
//! | range | of | assigned by |
//! |---|---|---|
//! | worlds 1 to 2,047 | shared worlds | the configuration (`region.id`) |
//! | worlds from 2^31 | instances: host number in 11 bits, sequence in 20 | the host of the instance ([`instance_world`]) |
//! | local ids from world × 2^20, 2^20 of them | shared worlds | the number of the world ([`shared_local_ids`]) |
//! | their first half | objects that are kept, whose ids are stored with them | the world ([`kept_object_ids`]) |
//! | the next eighth | temporary objects | the world ([`temporary_object_ids`]) |
//! | the rest | static objects, avatars | the world ([`avatar_ids`]) |
//! | local ids from 2^31 | instances | blocks of 2^20 that are dealt to hosts |
//! | numbers of a node's commands, from series × 2^56 | one part of the node | that part ([`CommandSeries`]) |
//!
//! Local ids have 32 bits in the protocol, and one circuit may display two worlds of the grid, one after the other. Hence the local ids of
//! two worlds are disjoint.

use ids::WorldId;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Highest id of a shared world: the lower half of the local ids holds 2,047 blocks beside the block 0.
pub const SHARED_WORLDS_MAX: u32 = (INSTANCE_LOCAL_IDS.start >> LOCAL_ID_BLOCK_BITS) - 1;

/// Number of local ids of a shared world, and of a block. At 20 arrivals a second they last 14 hours; then the oldest are reused.
pub const LOCAL_ID_BLOCK: u32 = 1 << LOCAL_ID_BLOCK_BITS;
const LOCAL_ID_BLOCK_BITS: u32 = 20;

/// Local ids of instances. The last block is left out: its end does not fit 32 bits.
pub const INSTANCE_LOCAL_IDS: Range<u32> = 1 << 31..0xFFF << LOCAL_ID_BLOCK_BITS;

/// Number of a host of a grid, 0 to [`HostNumber::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostNumber(pub u16);

impl HostNumber {
    /// Highest host number. 2,047 is left out: the last id of its worlds, `u32::MAX`, stands for no world.
    pub const MAX: Self = Self((1 << 11) - 2);
}

/// Local ids of a shared world.
///
/// # Panics
/// If the id is outside 1 to [`SHARED_WORLDS_MAX`].
#[must_use]
pub const fn shared_local_ids(world: WorldId) -> Range<u32> {
    assert!(world.0 >= 1 && world.0 <= SHARED_WORLDS_MAX, "shared worlds have numbers from 1 to 2,047");
    let first = world.0 << LOCAL_ID_BLOCK_BITS;
    first..first + LOCAL_ID_BLOCK
}

/// Local ids of objects that are kept, of those of a shared world.
#[must_use]
pub const fn kept_object_ids(of_world: &Range<u32>) -> Range<u32> {
    of_world.start..of_world.start + (of_world.end - of_world.start) / 2
}

/// Local ids of temporary objects, of those of a shared world.
#[must_use]
pub const fn temporary_object_ids(of_world: &Range<u32>) -> Range<u32> {
    let start = kept_object_ids(of_world).end;
    start..start + (of_world.end - of_world.start) / 8
}

/// Local ids of static objects and avatars, of those of a shared world.
#[must_use]
pub const fn avatar_ids(of_world: &Range<u32>) -> Range<u32> {
    temporary_object_ids(of_world).end..of_world.end
}

/// Number of world ids of a host's instances; `instances.max` is lower.
pub const INSTANCE_WORLDS_PER_HOST: u32 = 1 << INSTANCE_WORLD_BITS;
const INSTANCE_WORLD_BITS: u32 = 20;

/// World id of instance number `n` of a host.
///
/// # Panics
/// If the host number is above [`HostNumber::MAX`], or `n` is not below [`INSTANCE_WORLDS_PER_HOST`].
#[must_use]
pub const fn instance_world(host: HostNumber, n: u32) -> WorldId {
    assert!(host.0 <= HostNumber::MAX.0, "hosts are numbered in 11 bits");
    assert!(n < INSTANCE_WORLDS_PER_HOST, "worlds of a host's instances are numbered in 20 bits");
    WorldId(1 << 31 | (host.0 as u32) << INSTANCE_WORLD_BITS | n)
}

/// Parts of a node that give commands to worlds as a whole.
///
/// Each part numbers its own commands, from [`CommandSeries::first`]. A world sorts the commands of a tick by their numbers, hence no two parts use the
/// same ones: the order of two commands with one number would depend on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandSeries {
    /// Replicas, for snapshots. Two of them may use one number: their commands are equal.
    Snapshots,
    /// Bounds of a region's objects.
    Bounds,
    /// Edits of objects by operators.
    Edits,
    /// Settled tickets, and held objects that come back.
    Transfers,
    /// Orders to the ground and to the estate.
    Terrain,
    /// Solids of assets.
    Solids,
}

impl CommandSeries {
    /// Number of the first command.
    #[must_use]
    pub const fn first(self) -> u64 {
        (self as u64) << 56
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_local_id_of_a_shared_world_is_one_of_another_or_of_instances() {
        let all: Vec<Range<u32>> = (1..=SHARED_WORLDS_MAX).map(|n| shared_local_ids(WorldId(n))).collect();
        assert!(all.windows(2).all(|two| two[0].end == two[1].start));
        assert!(all[0].start > 0, "0 is no id");
        assert_eq!(all.last().map(|last| last.end), Some(INSTANCE_LOCAL_IDS.start));
        assert_eq!(INSTANCE_LOCAL_IDS.len() as u32 % LOCAL_ID_BLOCK, 0);
    }

    #[test]
    fn local_ids_of_a_shared_world_are_divided_without_gap_or_overlap() {
        let all = shared_local_ids(WorldId(1));
        let (kept, temporary, avatars) =
            (kept_object_ids(&all), temporary_object_ids(&all), avatar_ids(&all));
        assert_eq!((kept.clone(), temporary.clone()), (0x10_0000..0x18_0000, 0x18_0000..0x1A_0000));
        assert_eq!((kept.end, temporary.end, avatars.end), (temporary.start, avatars.start, all.end));
    }

    #[test]
    fn series_of_commands_are_far_apart() {
        use CommandSeries::{Bounds, Edits, Snapshots, Solids, Terrain, Transfers};
        let first = [Snapshots, Bounds, Edits, Transfers, Terrain, Solids].map(CommandSeries::first);
        assert!(first[0] == 0 && first.windows(2).all(|two| two[1] - two[0] == 1 << 56), "{first:?}");
    }

    #[test]
    #[should_panic(expected = "from 1 to 2,047")]
    fn a_shared_world_beyond_the_lower_half_of_local_ids_is_none() {
        let _ = shared_local_ids(WorldId(SHARED_WORLDS_MAX + 1));
    }

    #[test]
    fn worlds_of_two_hosts_and_shared_worlds_have_different_numbers() {
        let hosts = [0, 1, HostNumber::MAX.0].map(HostNumber);
        let worlds: Vec<WorldId> = hosts
            .into_iter()
            .flat_map(|host| [0, 1, INSTANCE_WORLDS_PER_HOST - 1].map(|n| instance_world(host, n)))
            .collect();
        assert!(worlds.is_sorted_by(|a, b| a < b), "{worlds:?}");
        assert!(worlds.iter().all(|world| world.0 > SHARED_WORLDS_MAX && world.0 < u32::MAX));
    }
}
