//! Programs as bytes, for the disk: one record with a version and a checksum.
//!
//! Bytes are not trusted. A program that was read has been checked like one that was built.

use crate::library::Library;
use crate::program::{Program, ProgramSource};
use crate::verify::{ProgramError, verify};
use record::{Format, Part, RecordBuffer, Records};

const FORMAT: Format = Format {
    magic: *b"THSP",
    number: 1,
    reads: "1",
    name: "script program",
    // A source of 1 MiB has less code.
    body_bytes_max: 64 << 20,
};

const PART: Part = Part::new(*b"PROG", "program");

impl Program {
    /// The program as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut buffer = RecordBuffer::new(&FORMAT);
        buffer.push(&PART, &self.source);
        buffer.finish()
    }

    /// The program of bytes, with the functions of a library.
    ///
    /// # Errors
    ///
    /// If the bytes are no program, are damaged, are of another version, do not fit together, or call functions that the library does not have.
    pub fn from_bytes(bytes: &[u8], library: &Library) -> Result<Self, ProgramError> {
        let records = Records::parse(&FORMAT, bytes, &[&PART])?;
        verify(records.decode::<ProgramSource>(&PART)?, library)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Instance, Scratch};
    use crate::testing::{generator, host, sample};
    use proptest::prelude::*;
    use std::sync::Arc;

    #[test]
    fn programs_survive_bytes() {
        let library = Library::new(&[]);
        let program = sample::counter();
        let bytes = program.to_bytes();
        let back = Program::from_bytes(&bytes, &library).expect("the same program");
        assert_eq!(back.source, program.source);
        assert_eq!(back.to_bytes(), bytes);
        assert_eq!(back.bytes(), program.bytes());
    }

    #[test]
    fn changed_bytes_are_refused() {
        let library = Library::new(&[]);
        let bytes = sample::counter().to_bytes();
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xFF] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                assert!(Program::from_bytes(&changed, &library).is_err(), "byte {at}");
            }
            assert!(Program::from_bytes(&bytes[..at], &library).is_err(), "{at} bytes");
        }
    }

    #[test]
    fn a_later_version_is_refused() {
        let mut later = RecordBuffer::new(&FORMAT);
        later.push_version(&PART, PART.version() + 1, &[]);
        let error = Program::from_bytes(&later.finish(), &Library::new(&[])).expect_err("a later version");
        assert!(matches!(error, ProgramError::Bytes(record::RecordError::Newer { .. })), "{error}");
    }

    #[test]
    fn a_function_that_the_library_lacks_is_named() {
        let bytes = sample::entry(crate::Dialect::Sl, |code| {
            let row = code.row(&[crate::Kind::Text]);
            code.call_library("llOwnerSay", &row, None);
        })
        .to_bytes();
        assert!(Program::from_bytes(&bytes, &host::library()).is_ok());
        let error = Program::from_bytes(&bytes, &Library::new(&[])).expect_err("no host");
        assert_eq!(error.to_string(), "program: function `llOwnerSay` with these types is unknown");
    }

    proptest! {
        /// Bytes with a right checksum and a wrong body: an error, or a program that runs.
        #[test]
        fn wrong_bodies_do_no_harm(
            seed in 0_u64..200,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let bytes = generator::program(seed).to_bytes();
            let records = Records::parse(&FORMAT, &bytes, &[&PART]).expect("a record");
            let mut body = records.need(&PART).and_then(|record| record.body()).expect("a body").into_owned();
            for (index, value) in &changes {
                let at = index.index(body.len());
                body[at] = *value;
            }
            let mut buffer = RecordBuffer::new(&FORMAT);
            buffer.push_bytes(&PART, &body);
            if let Ok(program) = Program::from_bytes(&buffer.finish(), &host::library()) {
                let mut script = Instance::new(Arc::new(program), 64 << 10, seed);
                let (mut notes, mut scratch) = (host::Notes::default(), Scratch::default());
                for tick in 0..60 {
                    script.run(&mut scratch, &mut notes, tick, 3_000);
                }
                let program = Arc::clone(script.program());
                prop_assert!(Instance::from_bytes(&script.to_bytes(), program).is_ok());
            }
        }
    }
}
