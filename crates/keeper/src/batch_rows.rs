//! Rows of a batch under construction.

use crate::load::{RegionIds, RowContents};
use crate::rows::{content_of, push_body, push_state};
use ids::LocalId;
use link::{PrimMotion, VersionedBody};
use store::ObjectRows;

/// Knowledge of an object's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnDisk {
    /// There are none.
    Nothing,
    /// A save is under way or has failed, or they are damaged.
    Unknown,
    /// They have these contents.
    Rows(RowContents),
}

/// Rows that the disk does not have yet.
#[derive(Debug, Default)]
pub(crate) struct BatchRows {
    pub(crate) bodies: ObjectRows,
    pub(crate) states: ObjectRows,
    pub(crate) gone: Vec<LocalId>,
    values: Values,
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
}

impl BatchRows {
    /// Adds an object's rows as far as the disk has others. Its rows after that.
    pub(crate) fn push(
        &mut self,
        ids: &RegionIds,
        id: LocalId,
        place: &PrimMotion,
        body: &VersionedBody,
        before: OnDisk,
    ) -> OnDisk {
        let contents = self.values.encode(ids, place, body);
        let before = match before {
            OnDisk::Rows(before) => Some(before),
            OnDisk::Nothing | OnDisk::Unknown => None,
        };
        if before.is_none_or(|before| before.body != contents.body) {
            self.bodies.push(id, &self.values.body);
        }
        if before.is_none_or(|before| before.state != contents.state) {
            self.states.push(id, &self.values.state);
        }
        OnDisk::Rows(contents)
    }

    /// Adds the removal of an object. Its rows after that.
    pub(crate) fn remove(&mut self, id: LocalId) -> OnDisk {
        self.gone.push(id);
        OnDisk::Nothing
    }
}
