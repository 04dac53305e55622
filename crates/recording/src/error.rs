//! Errors of reading a recording.

use link::{SceneryError, TerrainError};
use record::RecordError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;
use world::{CastErrors, RestoreError};

/// Reasons for which bytes are not a recording, or not one that this build can replay.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The file cannot be opened.
    #[error("cannot open {path}: {source}")]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read the recording: {0}")]
    Io(#[from] io::Error),
    /// The bytes are not read: of another format or build, cut off or damaged.
    #[error(transparent)]
    Bytes(#[from] RecordError),
    /// The checksums match and the content does not: we wrote nonsense.
    #[error("the recording cannot be decoded: {0}")]
    Undecodable(&'static str),
    /// Its ground is none.
    #[error("the recording has no ground: {0}")]
    Terrain(#[from] TerrainError),
    /// Its ground is another than the world's.
    #[error("the recording carries terrain {found:016x}, and its world stood on {expected:016x}")]
    OtherTerrain {
        /// Fingerprint of the recorded ground.
        expected: u64,
        /// Fingerprint of the ground found here.
        found: u64,
    },
    /// Its static objects are invalid.
    #[error("the recording's objects are none: {0}")]
    Scenery(#[from] SceneryError),
    /// Other objects than the world's.
    #[error("the recording carries scenery {found:016x}, and its world had {expected:016x}")]
    OtherScenery {
        /// Fingerprint of the recorded static objects.
        expected: u64,
        /// Fingerprint of the static objects found here.
        found: u64,
    },
    /// Its cast of NPCs is invalid.
    #[error("the recording's NPCs are invalid: {0}")]
    Cast(#[from] CastErrors),
    /// Others than the world's: their behaviours or their ways are made otherwise by this build.
    #[error(
        "the recording makes cast {found:016x}, and its world had {expected:016x}: another build recorded it"
    )]
    OtherCast {
        /// Fingerprint of the recorded cast.
        expected: u64,
        /// Fingerprint of the cast made from the same script here.
        found: u64,
    },
    /// The world that it begins with cannot be restored.
    #[error("the world of the recording cannot be restored: {0}")]
    Restore(#[from] RestoreError),
}
