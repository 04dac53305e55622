//! The file of a workload: the calls into a node that make a run, with the lengths of its parts.
//!
//! ```text
//! "THRL" | version u16 | hash u64 | body (postcard of [`Inputs`])          integers little-endian
//! ```

use crate::input::Input;
use crate::trace::fold;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};
use thiserror::Error;

const MAGIC: [u8; 4] = *b"THRL";
/// Rises whenever the body changes its form, or a call its meaning.
const VERSION: u16 = 1;
const HEADER_LEN: usize = MAGIC.len() + 2 + 8;

/// A run of a node, as its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Inputs {
    /// Name of the workload that they were made for.
    pub(crate) workload: String,
    /// Of the node.
    pub(crate) seed: u64,
    /// Ticks until all clients are in.
    pub(crate) warm_up_ticks: u64,
    /// Ticks after them.
    pub(crate) ticks: u64,
    pub(crate) calls: Vec<Input>,
    /// Folded state hashes of all worlds and ticks: a repetition that comes out otherwise is none.
    pub(crate) states: u64,
}

/// Reasons for which a file makes no workload.
#[derive(Debug, Error)]
pub enum InputsError {
    /// The system does not give it, or does not take it.
    #[error("cannot {step} {path}")]
    Io {
        /// Failed step.
        step: &'static str,
        /// With which file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// It is no workload.
    #[error("{path} is not a workload")]
    NotAWorkload {
        /// The file.
        path: PathBuf,
    },
    /// Another build wrote it.
    #[error("{path} is a workload of version {found}, this build reads {VERSION}")]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u16,
    },
    /// Its hash is wrong, or its contents are impossible.
    #[error("{path} is damaged")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

impl Inputs {
    pub(crate) fn write(&self, path: &Path) -> Result<(), InputsError> {
        let mut bytes =
            postcard::to_extend(self, vec![0; HEADER_LEN]).expect("plain data in memory always encodes");
        let hash = fold(0, &bytes[HEADER_LEN..]);
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..HEADER_LEN].copy_from_slice(&hash.to_le_bytes());
        fs::write(path, bytes).map_err(|source| InputsError::Io { step: "write", path: path.into(), source })
    }

    /// Decodes the output of [`Self::write`].
    pub(crate) fn decode(path: &Path, bytes: &[u8]) -> Result<Self, InputsError> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(InputsError::NotAWorkload { path: path.into() });
        };
        let [m0, m1, m2, m3, v0, v1, hash @ ..] = *header;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(InputsError::NotAWorkload { path: path.into() });
        }
        let found = u16::from_le_bytes([v0, v1]);
        if found != VERSION {
            return Err(InputsError::Version { path: path.into(), found });
        }
        let inputs = postcard::from_bytes(body).ok().filter(|_| fold(0, body) == u64::from_le_bytes(hash));
        inputs.ok_or_else(|| InputsError::Damaged { path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Instant;

    fn inputs() -> Inputs {
        Inputs {
            workload: "crowd".into(),
            seed: 7,
            warm_up_ticks: 1,
            ticks: 2,
            calls: vec![Input::Turn { now: Instant(5) }],
            states: 3,
        }
    }

    fn written() -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("inputs");
        inputs().write(&path).unwrap();
        fs::read(path).unwrap()
    }

    #[test]
    fn written_inputs_are_read_again() {
        assert_eq!(Inputs::decode(Path::new("f"), &written()).unwrap(), inputs());
    }

    #[test]
    fn other_files_versions_and_damage_are_distinguished() {
        let refuse = |bytes: &[u8]| Inputs::decode(Path::new("f"), bytes).unwrap_err().to_string();
        assert_eq!(refuse(b"short"), "f is not a workload");
        assert_eq!(refuse(&[0; 40]), "f is not a workload");
        let mut other = written();
        other[4] = 9;
        assert_eq!(refuse(&other), "f is a workload of version 9, this build reads 1");
        let mut damaged = written();
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(refuse(&damaged), "f is damaged");
    }
}
