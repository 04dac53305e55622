//! Defects of a move, to show that a run notices them.

use record::{RecordBuffer, Records};
use world::{SNAPSHOT_FORMAT, SNAPSHOT_PARTS};

/// Leaves something out of a move, or repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// The state is that of one step before.
    StaleSnapshot,
    /// The state of one part, by the tag of its record, is that of a new world with another number.
    FreshPart([u8; 4]),
    /// Commands that waited are applied by both hosts' steps.
    RepeatedCommands,
    /// Commands that waited stay behind.
    LostCommands,
}

/// A snapshot in which one part is that of another one.
///
/// # Panics
/// If they are no snapshots of this build.
pub(crate) fn with_part_of(snapshot: &[u8], other: &[u8], tag: [u8; 4]) -> Vec<u8> {
    let parse =
        |bytes| Records::parse(&SNAPSHOT_FORMAT, bytes, &SNAPSHOT_PARTS).expect("a snapshot of this build");
    let (records, others) = (parse(snapshot), parse(other));
    let mut buffer = RecordBuffer::new(&SNAPSHOT_FORMAT);
    for part in SNAPSHOT_PARTS {
        let from = if part.tag.0 == tag { &others } else { &records };
        // Seats and waiting prims have a record only where there are some.
        let Some(record) = from.find(part) else { continue };
        buffer.push_version(part, record.version(), &record.body().expect("a whole record"));
    }
    buffer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::world_spec;
    use crate::scenario::HZ;
    use crate::setting::Setting;
    use world::{World, WorldConfig};

    #[test]
    fn a_snapshot_consists_of_these_parts_and_one_is_exchanged() {
        let [one, other] = [1, 2].map(|seed| {
            let (spec, cast) = world_spec(seed, 0, Setting::Travel, HZ);
            World::new(WorldConfig::new(&spec, cast)).snapshot()
        });
        for part in SNAPSHOT_PARTS {
            assert_eq!(with_part_of(&one, &one, part.tag.0), one, "{}", part.name);
        }
        let exchanged = with_part_of(&one, &other, *b"PLAC");
        assert_eq!(with_part_of(&exchanged, &one, *b"PLAC"), one);
        assert_ne!(exchanged, one, "they stand on other ground");
    }
}
