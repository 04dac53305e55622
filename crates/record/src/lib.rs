//! The layout that all durable formats share: a preamble, then records, each with the tag and version of its part and a checksum.
//!
//! Integers are little-endian.
//!
//! ```text
//! preamble   magic [u8; 4] | number u16 | 0 u16                                                           8 bytes
//! record     tag [u8; 4] | version u16 | flags u16 | stored u32 | raw u32 | checksum u32 | body   20 + stored bytes
//! last       a record with the tag "END "; nothing follows it
//!
//! flags      bit 0  body is deflated (zlib) from `raw` to `stored` bytes; without it both are equal
//!            bit 1  a reader that does not know the part may leave the record out
//!            others 0
//! checksum   CRC-32 (IEEE) over the checksum before it, the 16 bytes before this one, and the stored body;
//!            before the first record stands the CRC-32 of the preamble
//! ```
//!
//! Because a checksum covers the one before it, a record that is missing, doubled or moved is detected like a damaged one, and a
//! truncated file lacks its last record.
//!
//! A *format* ([`Format`]: snapshot, image, journal, recording) says which parts there are and what they mean. A *part*
//! ([`Part`]) has a tag, a version of its own and the upgrades from each version to the next, so that a part changes or is added
//! without a change to the others. Readers accept a part's newest version N and N−1 ([`Part::read`]); [`Part::migrate`]
//! accepts all. `docs/internals/formats.md` lists formats and parts, and the rules for a new version.
//!
//! Decoders are total: they allocate no more than the input has bytes and, for a deflated body, what the format permits.
//!
//! A row of a database has a record of its own as value ([`RecordValue`]), without lengths and checksum: the row has both.
//!
//! Not here: what a body means, files, and any defence against forgery. Start with [`RecordBuffer`] (writes) and [`Records`] (reads).

mod buffer;
mod error;
mod layout;
mod part;
mod records;
mod stream;
mod tag;
mod value;

pub use buffer::RecordBuffer;
pub use error::{RecordError, Unreadable};
pub use layout::{Format, PREAMBLE_LEN, RECORD_HEAD_LEN};
pub use part::{END, Part, Upgrade, unchanged};
pub use records::{Record, Records};
pub use stream::{Head, RecordCursor};
pub use tag::Tag;
pub use value::{RecordValue, VALUE_HEAD_LEN, push_value};
