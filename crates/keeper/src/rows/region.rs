//! The value of a region's row: world time, and the local ids that must not be reused yet.

use super::{RowError, Versions, record_of};
use link::RestingIds;
use record::{Part, push_value};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Maximum world time of a region: 146 years.
const TIME_MAX_NS: u64 = 1 << 62;

/// Record of a region's row.
pub(super) const REGION: Part = Part::new(*b"REGN", "region");

/// State of a region apart from its objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegionState {
    /// World time, nanoseconds.
    pub(crate) now_ns: u64,
    /// Local ids of kept objects.
    pub(crate) kept: RestingIds,
    /// Local ids of temporary objects.
    pub(crate) temporary: RestingIds,
}

/// Fields in the order of the encoding.
#[derive(Serialize, Deserialize)]
struct RegionRow {
    now_ns: u64,
    kept: IdsRow,
    temporary: IdsRow,
}

#[derive(Serialize, Deserialize)]
struct IdsRow {
    n_used: u32,
    /// Freed ids in the order of their removal.
    resting: Vec<Run>,
}

/// Run of adjacent ids that were freed at the same time, in ascending order, which is typical for the prims of a removed object.
#[derive(Serialize, Deserialize)]
struct Run {
    first: u32,
    n: u32,
    /// Nanoseconds since the previous run; since 0 for the first run.
    later_ns: u64,
}

/// Appends the value of a region's row. Times of removals are in ascending order.
pub(crate) fn push_region(out: &mut Vec<u8>, state: &RegionState) {
    let RegionState { now_ns, kept, temporary } = state;
    push_value(
        out,
        &REGION,
        &RegionRow { now_ns: *now_ns, kept: runs_of(kept), temporary: runs_of(temporary) },
    );
}

/// Reads the value of a region's row. `kept` and `temporary` are the ranges of the local ids.
pub(crate) fn read_region(
    value: &[u8],
    kept: &Range<u32>,
    temporary: &Range<u32>,
) -> Result<RegionState, RowError> {
    let record = record_of(&REGION, value, Versions::Recent)?;
    let row: RegionRow = REGION.decode(&record, 0)?;
    if row.now_ns > TIME_MAX_NS {
        return Err(RowError::Time);
    }
    Ok(RegionState {
        now_ns: row.now_ns,
        kept: ids_of(row.kept, kept)?,
        temporary: ids_of(row.temporary, temporary)?,
    })
}

fn runs_of(ids: &RestingIds) -> IdsRow {
    let mut resting: Vec<Run> = Vec::new();
    let mut before_ns = 0;
    for &(id, freed_ns) in &ids.resting {
        match resting.last_mut() {
            Some(run) if freed_ns == before_ns && run.first + run.n == id => run.n += 1,
            _ => resting.push(Run { first: id, n: 1, later_ns: freed_ns - before_ns }),
        }
        before_ns = freed_ns;
    }
    IdsRow { n_used: ids.n_used, resting }
}

/// The total number of ids is limited to the size of the range, regardless of the lengths of the runs.
fn ids_of(row: IdsRow, range: &Range<u32>) -> Result<RestingIds, RowError> {
    let len = range.end - range.start;
    let (mut resting, mut freed_ns, mut n_resting) = (Vec::new(), 0_u64, 0_u64);
    for Run { first, n, later_ns } in row.resting {
        freed_ns = freed_ns.saturating_add(later_ns);
        n_resting += u64::from(n);
        let end = first.checked_add(n).filter(|end| *end <= len).ok_or(RowError::Ids)?;
        if n_resting > u64::from(len) {
            return Err(RowError::Ids);
        }
        resting.extend((first..end).map(|id| (id, freed_ns)));
    }
    if row.n_used > len { Err(RowError::Ids) } else { Ok(RestingIds { n_used: row.n_used, resting }) }
}
