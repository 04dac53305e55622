//! Encoding of the rows of a batch.

use crate::load::{RegionIds, RowContents};
use crate::rows::{content_of, push_body, push_state};
use ids::LocalId;
use link::{PrimMotion, VersionedBody};
use store::{DocumentChanges, LandChanges, RegionChanges};

/// Maximum number of prims of a batch whose memory is reused; the memory of larger batches, such as imports, is freed.
pub(crate) const SPARE_PRIMS_MAX: usize = 4_096;
/// Maximum size of the rows of such a batch, in bytes.
const SPARE_BYTES_MAX: usize = 1 << 20;

/// Known state of an object's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnDisk {
    /// The object has no rows.
    Nothing,
    /// A save is unfinished or has failed, or the rows are damaged.
    Unknown,
    /// The rows have these contents.
    Rows(RowContents),
}

/// Buffers for the encoded values of an object.
#[derive(Debug, Default)]
pub(crate) struct Values {
    body: Vec<u8>,
    state: Vec<u8>,
}

impl Values {
    /// Encodes an object.
    pub(crate) fn encode(
        &mut self,
        ids: &RegionIds,
        place: &PrimMotion,
        body: &VersionedBody,
    ) -> RowContents {
        self.body.clear();
        self.state.clear();
        push_body(&mut self.body, &body.body);
        push_state(&mut self.state, &ids.kept, place, body);
        RowContents { body: content_of(&self.body), state: content_of(&self.state) }
    }

    /// Adds the rows of the last encoded object that differ from those on the disk.
    pub(crate) fn push_changed(
        &self,
        id: LocalId,
        contents: RowContents,
        before: OnDisk,
        changes: &mut RegionChanges,
    ) {
        let before = match before {
            OnDisk::Rows(before) => Some(before),
            OnDisk::Nothing | OnDisk::Unknown => None,
        };
        if before.is_none_or(|before| before.body != contents.body) {
            changes.bodies.push(id, &self.body);
        }
        if before.is_none_or(|before| before.state != contents.state) {
            changes.states.push(id, &self.state);
        }
    }
}

/// Clears the changes of a batch. The memory is kept unless the batch was larger than usual.
pub(crate) fn recycle(mut changes: RegionChanges) -> RegionChanges {
    let RegionChanges { row, bodies, states, gone, land, documents, held, worn, aside } = &mut changes;
    let n_bytes = bodies.n_bytes() + states.n_bytes();
    if n_bytes > SPARE_BYTES_MAX || bodies.len().max(states.len()).max(gone.len()) > SPARE_PRIMS_MAX {
        return RegionChanges::default();
    }
    row.state.clear();
    bodies.clear();
    states.clear();
    gone.clear();
    *land = LandChanges::default();
    *documents = DocumentChanges::default();
    held.clear();
    worn.clear();
    aside.clear();
    changes
}
