//! Reasons for which bytes are not read.

use crate::tag::Tag;
use std::io;
use thiserror::Error;

/// Reason for which the body of a record cannot be decoded or upgraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unreadable(pub &'static str);

impl From<postcard::Error> for Unreadable {
    fn from(error: postcard::Error) -> Self {
        Self(match error {
            postcard::Error::DeserializeUnexpectedEnd => "it ends too early",
            postcard::Error::DeserializeBadVarint => "a number is too long",
            postcard::Error::DeserializeBadBool | postcard::Error::DeserializeBadOption => {
                "a flag is neither 0 nor 1"
            }
            postcard::Error::DeserializeBadUtf8 | postcard::Error::DeserializeBadChar => {
                "a text is not UTF-8"
            }
            postcard::Error::DeserializeBadEnum => "a variant is unknown",
            _ => "a value is out of range",
        })
    }
}

/// Reasons for which a file, or a value in a database, is not read. Offsets are those of the record's first byte.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The system refused.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// The first bytes are not those of the format.
    #[error("not a {format}")]
    OtherFormat {
        /// The expected format.
        format: &'static str,
    },
    /// The layout is one that this build does not know.
    #[error("{format} version {found}, this build reads {reads}")]
    Layout {
        /// The format.
        format: &'static str,
        /// The number in the preamble.
        found: u16,
        /// The numbers that this build knows.
        reads: &'static str,
    },
    /// It ends before its last record.
    #[error("the {format} was cut off at byte {offset}")]
    CutOff {
        /// The format.
        format: &'static str,
        /// Offset of the incomplete or missing record.
        offset: u64,
    },
    /// A checksum does not match. The damage may be in the tag.
    #[error("record \"{tag}\" at byte {offset} is damaged")]
    Damaged {
        /// As it is in the file.
        tag: Tag,
        /// Of the record.
        offset: u64,
    },
    /// Nothing may follow the last record.
    #[error("the {format} goes on behind its last record, at byte {offset}")]
    TooLong {
        /// The format.
        format: &'static str,
        /// Offset of the expected end.
        offset: u64,
    },
    /// More records than the format permits.
    #[error("the {format} has more than {max} records")]
    TooMany {
        /// The format.
        format: &'static str,
        /// The most that it may have.
        max: usize,
    },
    /// A part that this build does not know, and that must not be left out.
    #[error(
        "record \"{tag}\" at byte {offset} (version {version}) belongs to a part that this build does not have"
    )]
    UnknownPart {
        /// Of the part.
        tag: Tag,
        /// Of the record.
        version: u16,
        /// Of the record.
        offset: u64,
    },
    /// A newer build wrote it.
    #[error(
        "record \"{part}\" at byte {offset} has version {found}, and this build reads versions up to {newest}"
    )]
    Newer {
        /// The part.
        part: &'static str,
        /// Of the record.
        found: u16,
        /// The newest that this build knows.
        newest: u16,
        /// Of the record.
        offset: u64,
    },
    /// A build before the previous one wrote it.
    #[error(
        "record \"{part}\" at byte {offset} has version {found}, and this build reads versions from {oldest} on: \
         `throng store migrate` upgrades it"
    )]
    Older {
        /// The part.
        part: &'static str,
        /// Of the record.
        found: u16,
        /// The oldest that is read without a migration.
        oldest: u16,
        /// Of the record.
        offset: u64,
    },
    /// Records without which the format means nothing.
    #[error("the {format} has no record \"{part}\"")]
    Missing {
        /// The format.
        format: &'static str,
        /// The part.
        part: &'static str,
    },
    /// A part that there is one of has two records.
    #[error("the {format} has record \"{tag}\" twice, the second at byte {offset}")]
    Twice {
        /// The format.
        format: &'static str,
        /// Of the part.
        tag: Tag,
        /// Of the second record.
        offset: u64,
    },
    /// A record where the format has another one.
    #[error("record \"{tag}\" at byte {offset} is out of order")]
    OutOfOrder {
        /// Of the part.
        tag: Tag,
        /// Of the record.
        offset: u64,
    },
    /// The checksum matches and the content does not: a fault of the build that wrote it.
    #[error("record \"{part}\" at byte {offset} cannot be decoded: {why}")]
    Undecodable {
        /// The part.
        part: &'static str,
        /// Of the record.
        offset: u64,
        /// The reason.
        why: Unreadable,
    },
    /// The same before the part of the record is known.
    #[error("record \"{tag}\" at byte {offset} cannot be unpacked: {why}")]
    Unpackable {
        /// Of the part.
        tag: Tag,
        /// Of the record.
        offset: u64,
        /// The reason.
        why: Unreadable,
    },
}

impl RecordError {
    /// True if the bytes are unreadable for every build. Bytes of another build, and bytes that could not be fetched, are not.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        match self {
            Self::Io(_)
            | Self::Layout { .. }
            | Self::UnknownPart { .. }
            | Self::Newer { .. }
            | Self::Older { .. } => false,
            Self::OtherFormat { .. }
            | Self::CutOff { .. }
            | Self::Damaged { .. }
            | Self::TooLong { .. }
            | Self::TooMany { .. }
            | Self::Missing { .. }
            | Self::Twice { .. }
            | Self::OutOfOrder { .. }
            | Self::Undecodable { .. }
            | Self::Unpackable { .. } => true,
        }
    }
}
