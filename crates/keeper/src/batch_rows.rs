//! Rows of a batch under construction.

use crate::load::{RegionIds, RowContents};
use crate::rows::{content_of, push_body, push_state};
use ids::LocalId;
use link::{PrimMotion, VersionedBody};
use store::{DocumentChanges, LandChanges, RegionChanges};

/// Prims up to which the memory of a batch is reused; the memory of an import is freed.
pub(crate) const SPARE_PRIMS_MAX: usize = 4_096;
/// Bytes of rows up to which the memory of a batch is reused.
const SPARE_BYTES_MAX: usize = 1 << 20;

/// Knowledge of an object's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnDisk {
    /// No rows.
    Nothing,
    /// Rows of unknown content: a save is under way or has failed, or they are damaged.
    Unknown,
    /// Rows with these contents.
    Rows(RowContents),
}

/// Memory for the values of an object.
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

    /// Adds the rows of the object that was encoded last, as far as the disk has others.
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

/// Empties the changes of a batch, and keeps their memory up to the size of an ordinary one.
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
