//! Views of observers over time, as a file ([`crate::record_file`]), to be compared with the truth (a recording of the world).

use crate::record_file::{FileKind, RecordFileError, RecordWriter, Records};
use glam::{Quat, Vec3};
use ids::{AgentId, Instant, LocalId};
use serde::{Deserialize, Serialize};
use std::path::Path;

const KIND: FileKind = FileKind { magic: *b"THRV", version: 2 };

/// Something that an observer was shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Time, on the bots' clock.
    pub at: Instant,
    /// The observer's number among the bots of its process.
    pub observer: u32,
    /// Change.
    pub what: ViewChange,
}

/// Change of an observer's view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ViewChange {
    /// The server placed the observer's own avatar; this is its account.
    Placed(AgentId),
    /// An avatar was shown, by a full or a terse update.
    Avatar {
        /// Its number in the region.
        id: LocalId,
        /// Metres from the region's corner.
        position: Vec3,
        /// Metres per second, for extrapolation.
        velocity: Vec3,
        /// Direction of the body.
        rotation: Quat,
    },
    /// An avatar was taken away, or a prim that has moved.
    Gone(LocalId),
    /// A prim that moves or has moved was shown, by a full or a terse update.
    Mover {
        /// Its number in the region.
        id: LocalId,
        /// Metres from the region's corner.
        position: Vec3,
        /// Metres per second, for extrapolation.
        velocity: Vec3,
        /// Metres per second squared, likewise.
        acceleration: Vec3,
    },
}

/// Writes views to a file.
pub type ViewWriter = RecordWriter<View>;

/// All views of a file, in the order of time.
pub type Views = Records<View>;

/// Begins a file. `now` is the time on the bots' clock.
///
/// # Errors
/// When it cannot be written.
pub fn create(path: &Path, now: Instant) -> Result<ViewWriter, RecordFileError> {
    RecordWriter::create(path, KIND, now)
}

/// Reads a file.
///
/// # Errors
/// When it cannot be read, or is something else.
pub fn open(path: &Path) -> Result<Views, RecordFileError> {
    Records::open(path, KIND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;

    #[test]
    fn views_of_every_kind_come_back_as_they_were_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("views");
        let avatar = ViewChange::Avatar {
            id: LocalId(7),
            position: Vec3::new(1.0, 2.0, 3.0),
            velocity: Vec3::X,
            rotation: Quat::IDENTITY,
        };
        let mover = ViewChange::Mover {
            id: LocalId(8),
            position: Vec3::ONE,
            velocity: Vec3::NEG_Z,
            acceleration: Vec3::NEG_Z * 9.8,
        };
        let changes =
            [ViewChange::Placed(AgentId(Uuid::from_u128(9))), avatar, ViewChange::Gone(LocalId(7)), mover];
        let views: Vec<View> = (0..)
            .zip(changes)
            .map(|(n, what)| View { at: Instant::from_millis(n), observer: 3, what })
            .collect();
        let mut writer = create(&path, Instant::ZERO).expect("a file");
        for view in &views {
            writer.write(view).expect("room");
        }
        writer.flush().expect("room");
        assert_eq!(open(&path).expect("ours").collect::<Vec<View>>(), views);
    }
}
