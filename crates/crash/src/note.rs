//! An own stream in a minidump, JSON, so that a dump explains itself without the files beside it.
//!
//! A minidump is a header, a directory of streams, and the streams, found by offset (`minidump_common::format`). To add a
//! stream, it and a longer copy of the directory are appended, and the header is changed to point to that copy:
//!
//! ```text
//!   0  u32 "MDMP"   4  u32 version   8  u32 number of streams   12  u32 offset of the directory   …
//!   directory entry:  u32 type, u32 bytes, u32 offset
//! ```

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Type of the stream. Types above 0xFFFF are free for applications.
pub const STREAM_TYPE: u32 = 0x5468_0001;

const N_STREAMS_AT: usize = 8;
const DIRECTORY_AT: usize = 12;
const ENTRY_BYTES: usize = 12;

/// Facts about the crash that only the monitor knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashNote {
    /// Version of the server.
    pub version: String,
    /// Time of the crash, seconds since 1970.
    pub unix_s: i64,
    /// The server's process id.
    pub pid: u32,
    /// The GNU build id of its executable, in hexadecimal digits.
    pub build_id: Option<String>,
    /// Thread, place and message of a panic.
    pub panic: Option<String>,
    /// The process that sent the signal, if a process did.
    pub sent_by: Option<u32>,
    /// Open scopes of the flight recorder as text, by thread id.
    #[serde(default)]
    pub doing: BTreeMap<u32, String>,
}

impl CrashNote {
    /// Appends the note to a dump. Bytes without a minidump's header and directory are left unchanged.
    pub fn append_to(&self, dump: &mut Vec<u8>) {
        let (Some(n_streams), Some(directory)) = (word(dump, N_STREAMS_AT), word(dump, DIRECTORY_AT)) else {
            return;
        };
        let entries = directory as usize..directory as usize + n_streams as usize * ENTRY_BYTES;
        let Some(mut entries) = dump.get(entries).map(<[u8]>::to_vec) else { return };
        let text = serde_json::to_vec(self).expect("strings and numbers become JSON");
        for word in [STREAM_TYPE, text.len() as u32, dump.len() as u32] {
            entries.extend(word.to_le_bytes());
        }
        dump.extend(text);
        // Alignment: the directory is an array of 32-bit words.
        dump.resize(dump.len().next_multiple_of(4), 0);
        let directory = dump.len() as u32;
        dump.extend(entries);
        dump[N_STREAMS_AT..][..4].copy_from_slice(&(n_streams + 1).to_le_bytes());
        dump[DIRECTORY_AT..][..4].copy_from_slice(&directory.to_le_bytes());
    }

    /// Reads the note of a dump; `None` if another program wrote the dump.
    #[must_use]
    pub fn of(dump: &minidump::MmapMinidump) -> Option<Self> {
        serde_json::from_slice(dump.get_raw_stream(STREAM_TYPE).ok()?).ok()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use minidump::Minidump;

    /// A dump with one stream, type 7.
    fn dump() -> Vec<u8> {
        let words = [0x504D_444D_u32, 0xA793, 1, 36, 0, 0, 0, 0, 0xABCD_EF01, 7, 4, 32];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_note_is_read_back_and_the_other_streams_stay() {
        let note = CrashNote { panic: Some("shard-0 panicked".into()), ..CrashNote::default() };
        let mut bytes = dump();
        note.append_to(&mut bytes);
        let read = Minidump::read(bytes).unwrap();
        assert_eq!(
            serde_json::from_slice::<CrashNote>(read.get_raw_stream(STREAM_TYPE).unwrap()).unwrap(),
            note
        );
        assert_eq!(read.get_raw_stream(7).unwrap(), 0xABCD_EF01_u32.to_le_bytes());
    }

    #[test]
    fn a_file_that_is_no_dump_stays_unchanged() {
        for bytes in [vec![], vec![1; 15], [vec![255; 16], vec![0; 40]].concat()] {
            let mut changed = bytes.clone();
            CrashNote::default().append_to(&mut changed);
            assert_eq!(changed, bytes);
        }
    }
}
