//! The walk of a check through the entries of an archive.

use super::CheckError;
use super::tally::CheckTally;
use crate::file::{ArchiveEntry, ArchiveReader, FileError, NextEntry};
use std::io::Read;

/// Check of one sort of archive, entry by entry.
pub(super) trait EntryCheck<'a> {
    fn tally(&mut self) -> &mut CheckTally<'a>;

    /// Checks an entry whose content comes next in the reader. `content` is a buffer for it.
    fn entry(
        &mut self,
        entry: &ArchiveEntry,
        entries: &mut ArchiveReader<impl Read>,
        content: &mut Vec<u8>,
    ) -> Result<(), FileError>;
}

/// Checks all entries, or those up to the place from which on the file cannot be read.
///
/// # Errors
/// [`CheckError`] if there is no archive.
pub(super) fn check_entries<'a>(
    mut entries: ArchiveReader<impl Read>,
    check: &mut impl EntryCheck<'a>,
) -> Result<(), CheckError> {
    if let Err(why) = check_each(&mut entries, check) {
        check.tally().cut_short(why, &entries)?;
    }
    check.tally().note_file(&entries);
    Ok(())
}

fn check_each<'a>(
    entries: &mut ArchiveReader<impl Read>,
    check: &mut impl EntryCheck<'a>,
) -> Result<(), FileError> {
    let mut content = Vec::new();
    while let Some(next) = entries.next_entry()? {
        match next {
            NextEntry::Refused(entry) => check.tally().report.add_unreadable(&entry.path, entry.reason),
            NextEntry::Entry(entry) => check.entry(&entry, entries, &mut content)?,
        }
    }
    Ok(())
}
