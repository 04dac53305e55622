//! One job: its number, its kind, its state.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Number of a job, from 1. None is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobNumber(pub u64);

impl fmt::Display for JobNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobKind {
    /// Database and assets into a directory of backups.
    Backup,
    /// The restore of a backup for trial.
    Rehearsal,
    /// A look through all that is stored.
    Verification,
    /// A report on assets that nothing names.
    AssetReport,
    /// An archive into a region.
    OarLoad,
    /// A region, or all of them, into an archive.
    OarSave,
    /// An archive into an inventory.
    IarLoad,
    /// A folder of an inventory into an archive.
    IarSave,
}

/// Kinds of which one job runs at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobGroup {
    /// Work that reads all that is stored, at the pace of one budget.
    Safety,
    /// Archives.
    Archives,
}

impl JobKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Backup,
        Self::Rehearsal,
        Self::Verification,
        Self::AssetReport,
        Self::OarLoad,
        Self::OarSave,
        Self::IarLoad,
        Self::IarSave,
    ];

    /// As it is written in rows and answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Rehearsal => "rehearsal",
            Self::Verification => "verification",
            Self::AssetReport => "asset_report",
            Self::OarLoad => "oar_load",
            Self::OarSave => "oar_save",
            Self::IarLoad => "iar_load",
            Self::IarSave => "iar_save",
        }
    }

    /// Its group.
    #[must_use]
    pub const fn group(self) -> JobGroup {
        match self {
            Self::Backup | Self::Rehearsal | Self::Verification | Self::AssetReport => JobGroup::Safety,
            Self::OarLoad | Self::OarSave | Self::IarLoad | Self::IarSave => JobGroup::Archives,
        }
    }
}

impl JobGroup {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Safety, Self::Archives];
}

impl fmt::Display for JobKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for JobKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or(UnknownWord)
    }
}

/// Progress of a job through its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobState {
    /// It waits.
    Queued,
    /// It runs.
    Running,
    /// It has done its work.
    Done,
    /// It has not.
    Failed,
    /// An operator has ended it.
    Cancelled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Running, Self::Done, Self::Failed, Self::Cancelled];

    /// As it is written in rows and answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// True once nothing more happens to it.
    #[must_use]
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for JobState {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL.into_iter().find(|state| state.name() == text).ok_or(UnknownWord)
    }
}

/// A word that no kind and no state has, such as one of a later build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an unknown word")]
pub struct UnknownWord;

/// Progress of the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobProgress {
    /// Present part of the work, such as "assets"; empty before the first one.
    pub part: &'static str,
    /// Pieces of that part that are done.
    pub done: u64,
    /// Its pieces; 0 while they are not known.
    pub total: u64,
}

/// A job as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEntry {
    /// Its number.
    pub number: JobNumber,
    /// Its kind.
    pub kind: JobKind,
    /// Object of the work: a directory, the name of a backup, of a region or of a user.
    pub subject: String,
    /// Name of the token that has ordered it; "schedule" for the server itself.
    pub author: String,
    /// Its state.
    pub state: JobState,
    /// Time of the order, seconds since 1970.
    pub created_s: i64,
    /// Time of its begin.
    pub started_s: Option<i64>,
    /// Time of its end.
    pub ended_s: Option<i64>,
    /// Its progress, which is not kept.
    pub progress: JobProgress,
    /// True if a job that runs has been asked to end.
    pub is_cancelled: bool,
    /// Outcome in a sentence, of a job that has ended.
    pub outcome: Option<String>,
    /// Figures of the outcome, as JSON.
    pub result: Option<Arc<str>>,
}
