//! The answer of `GET /v1/frames/missed`: missed ticks of worlds, each with its fate.

use serde::Serialize;
use telemetry::captures::{MISSES_MAX, MissedTicks, NumberedMiss, OverrunFate};
use utoipa::ToSchema;

/// The bound in the description is a literal.
const _: () = assert!(MISSES_MAX == 4_096);

/// Missed ticks.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = MissedTicks)]
pub(crate) struct MissedTickList {
    /// Number of the next one, to go on from.
    next: u64,
    #[schema(max_items = 4_096)]
    misses: Vec<MissRow>,
}

impl MissedTickList {
    /// The misses from this number on, as far as they are kept.
    pub(crate) fn from_number(missed: &MissedTicks, from: u64) -> Self {
        let (misses, next) = missed.list(from);
        Self { next, misses: misses.iter().map(MissRow::new).collect() }
    }
}

/// A step that began a whole tick late, or lasted longer than a tick.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = MissedTick)]
struct MissRow {
    number: u64,
    /// The world's number.
    world: u64,
    tick: u64,
    /// From when it was due until it began.
    late_us: u64,
    /// Its duration.
    took_us: u64,
    /// `captured`; `suppressed` and counted; `lost` in the recorder's queue, and counted; none while there is no account of it.
    fate: Option<&'static str>,
}

impl MissRow {
    fn new(&NumberedMiss { number, miss, fate }: &NumberedMiss) -> Self {
        Self {
            number,
            world: miss.world,
            tick: miss.tick,
            late_us: miss.late_ns / 1_000,
            took_us: miss.ended_ns.saturating_sub(miss.began_ns) / 1_000,
            fate: fate.map(OverrunFate::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use telemetry::captures::MissedTick;

    #[test]
    fn rows_have_microseconds_and_the_fate_or_null() {
        let missed = MissedTicks::default();
        let miss =
            |tick| MissedTick { world: 7, tick, began_ns: 1_000_000, ended_ns: 61_000_999, late_ns: 2_500 };
        missed.add([miss(4), miss(5)].into_iter());
        missed.note_lost(1);
        let row = |number: u64, tick: u64, fate: Option<&str>| json!({"number": number, "world": 7, "tick": tick, "late_us": 2, "took_us": 60_000, "fate": fate});
        let list = serde_json::to_value(MissedTickList::from_number(&missed, 0)).expect("JSON");
        assert_eq!(list, json!({"next": 2, "misses": [row(0, 4, Some("lost")), row(1, 5, None)]}));
        let list = serde_json::to_value(MissedTickList::from_number(&missed, 1)).expect("JSON");
        assert_eq!(list, json!({"next": 2, "misses": [row(1, 5, None)]}));
    }
}
