//! The end of backups: which ones are kept, and which contents no kept one names.

use crate::content_list::{ContentList, ContentListError, ListedContent};
use crate::copier::{SET_ASIDE, UNFINISHED};
use crate::directory::{BackupDir, BackupEntry, CONTENTS};
use crate::driver::WorkDriver;
use crate::error::BackupError;
use crate::files::{FileFailure, names_in, remove_file};
use jobs::JobProgress;
use std::collections::BTreeSet;
use std::fs;
use std::iter::Peekable;

/// State of a backup, as far as its end depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// It was whole when it was made, and is not known to have become otherwise.
    Sound,
    /// It names damaged or lost things, or was found damaged.
    Flawed,
    /// Its manifest cannot be read.
    Unreadable,
}

impl Worth {
    pub(crate) fn of(entry: &BackupEntry) -> Self {
        match (entry.sound(), &entry.manifest) {
            (Some(_), _) => Self::Sound,
            (None, Ok(_)) => Self::Flawed,
            (None, Err(_)) => Self::Unreadable,
        }
    }
}

/// True for each backup that goes, of those that there are, the oldest first. The newest `keep` readable ones stay, at least one, and the newest sound one in any
/// case. An unreadable one goes when it is older than all that stay.
pub(crate) fn superfluous(backups: &[Worth], keep: u32) -> Vec<bool> {
    let readable = |worth: &Worth| *worth != Worth::Unreadable;
    let newest_sound = backups.iter().rposition(|worth| *worth == Worth::Sound);
    let n_readable = backups.iter().filter(|worth| readable(worth)).count();
    let mut n_surplus = n_readable.saturating_sub(keep.max(1) as usize);
    let mut oldest_kept = None;
    let mut goes: Vec<bool> = Vec::with_capacity(backups.len());
    for (at, worth) in backups.iter().enumerate() {
        let is_surplus = readable(worth) && n_surplus > 0;
        n_surplus -= usize::from(is_surplus);
        let is_kept = readable(worth) && (!is_surplus || newest_sound == Some(at));
        if is_kept && oldest_kept.is_none() {
            oldest_kept = Some(at);
        }
        goes.push(readable(worth) && !is_kept);
    }
    for (at, worth) in backups.iter().enumerate() {
        goes[at] |= !readable(worth) && oldest_kept.is_some_and(|oldest| at < oldest);
    }
    goes
}

/// Files that were removed, or the reason for which all were left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sweep {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) left: Option<String>,
}

/// Removes contents that no backup names. All are left if the names of one backup are not known.
pub(crate) fn sweep(dir: &BackupDir, driver: &mut dyn WorkDriver) -> Result<Sweep, BackupError> {
    let mut lists = Vec::new();
    for BackupEntry { name, manifest, .. } in dir.list()? {
        let opened = match manifest {
            Ok(manifest) => ContentList::open(&dir.folder(&name).join(CONTENTS), &manifest.contents),
            Err(why) => return Ok(Sweep { left: Some(format!("backup {name}: {why}")), ..Sweep::default() }),
        };
        match opened {
            Ok(list) => lists.push(list),
            Err(why @ ContentListError::Damaged(_)) => {
                return Ok(Sweep { left: Some(format!("backup {name}: {why}")), ..Sweep::default() });
            }
            Err(ContentListError::File(why)) => return Err(why.into()),
        }
    }
    let mut sweep = Sweep::default();
    for first in 0..=u8::MAX {
        let mut named = BTreeSet::new();
        for list in &mut lists {
            names_of(list, first, &mut named)?;
        }
        let folder = dir.assets().join(format!("{first:02x}"));
        for name in names_in(&folder)? {
            let (digits, ending) = name.split_once('.').unwrap_or((name.as_str(), ""));
            let is_unfinished = ending == UNFINISHED;
            let is_content = is_unfinished || ending.is_empty() || ending == SET_ASIDE;
            if is_content && (is_unfinished || !named.contains(digits)) {
                let path = folder.join(&name);
                sweep.bytes += fs::symlink_metadata(&path).map_or(0, |file| file.len());
                sweep.files += 1;
                remove_file(&path)?;
            }
        }
        driver.advance(JobProgress { part: "pruning", done: u64::from(first) + 1, total: 256 }, 0)?;
    }
    Ok(sweep)
}

/// Adds the hashes of a list that begin with a byte, in digits. The list stands before them.
fn names_of(
    list: &mut Peekable<ContentList>,
    first: u8,
    named: &mut BTreeSet<String>,
) -> Result<(), BackupError> {
    let is_next = |next: &Result<ListedContent, FileFailure>| !matches!(next, Ok(content) if content.hash.0[0] != first);
    while let Some(content) = list.next_if(is_next) {
        named.insert(content?.hash.to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use Worth::{Flawed as F, Sound as S, Unreadable as U};

    fn left(backups: &[Worth], keep: u32) -> Vec<usize> {
        let goes = superfluous(backups, keep);
        (0..backups.len()).filter(|at| !goes[*at]).collect()
    }

    #[test]
    fn the_newest_stay_and_the_newest_sound_one() {
        assert_eq!(left(&[], 3), Vec::<usize>::new());
        assert_eq!(left(&[S, S, S, S], 2), [2, 3]);
        assert_eq!(left(&[S, S, S], 0), [2], "one at least");
        assert_eq!(left(&[S, S, F, F, F], 2), [1, 3, 4], "damage does not push the last good one out");
        assert_eq!(left(&[F, F, F], 2), [1, 2]);
        assert_eq!(left(&[U, S, U, S, S], 2), [3, 4]);
        assert_eq!(left(&[S, S, U], 1), [1, 2], "one that may be newer than all that can be read");
        assert_eq!(left(&[U, U], 1), [0, 1], "nothing replaces them");
    }

    proptest! {
        /// A run of backups, each followed by a pruning: the newest sound one is always there, and no more than one above the number.
        #[test]
        fn the_newest_sound_backup_survives_every_run(
            made in prop::collection::vec((0_u8..3, prop::bool::weighted(0.1)), 1..60),
            keep in 0_u32..6,
        ) {
            let mut there: Vec<(usize, Worth)> = Vec::new();
            let mut newest_sound = None;
            for (n, (worth, is_found_flawed)) in made.into_iter().enumerate() {
                let worth = [S, F, U][usize::from(worth)];
                there.push((n, worth));
                if is_found_flawed {
                    // A rehearsal of the newest one fails.
                    let last = there.last_mut().expect("just pushed");
                    last.1 = if last.1 == S { F } else { last.1 };
                }
                let (_, worth) = *there.last().expect("just pushed");
                newest_sound = if worth == S { Some(n) } else { newest_sound };
                let worths: Vec<Worth> = there.iter().map(|(_, worth)| *worth).collect();
                let goes = superfluous(&worths, keep);
                let newest_readable = worths.iter().rposition(|worth| *worth != U);
                prop_assert!(newest_readable.is_none_or(|at| !goes[at]), "the newest stays");
                let mut all = goes.iter();
                there.retain(|_| !*all.next().expect("one for each"));
                let is_there = |n: usize| there.iter().any(|(other, _)| *other == n);
                prop_assert!(newest_sound.is_none_or(is_there));
                let n_readable = there.iter().filter(|(_, worth)| *worth != U).count();
                prop_assert!(n_readable <= keep.max(1) as usize + 1, "{there:?}");
            }
        }
    }
}
