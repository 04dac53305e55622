//! Answers of the handlers.

use super::desk::DeskRefusal;
use super::status::BackupStatus;
use axum::extract::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use backup::BackupEntry;
use jobs::{JobEntry, JobNumber, JobRefusal};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// Progress of a job that runs.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JobProgress)]
pub(super) struct ProgressReply {
    /// Present part of the work, such as `assets`.
    part: &'static str,
    /// Pieces of that part that are done.
    done: u64,
    /// Its pieces; 0 while they are not known.
    total: u64,
}

/// A job.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Job)]
pub struct JobReply {
    /// Its number.
    id: u64,
    /// `backup`, `rehearsal`, `verification`, `asset_report`, `oar_load`, `oar_save`, `iar_load` or `iar_save`.
    kind: &'static str,
    /// Object of the work: a directory, the name of a backup, of a region or of a user.
    subject: String,
    /// Name of the token that has ordered it; `schedule` for the server itself.
    author: String,
    /// `queued`, `running`, `done`, `failed` or `cancelled`.
    state: &'static str,
    /// Time of the order, seconds since 1970.
    created_s: i64,
    /// Time of its begin.
    started_s: Option<i64>,
    /// Time of its end.
    ended_s: Option<i64>,
    /// Progress of a running job.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<ProgressReply>,
    /// It runs, and has been asked to end.
    cancelled: bool,
    /// Outcome of an ended job in a sentence.
    outcome: Option<String>,
    /// Figures of the outcome, in the answer about one job only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    result: Option<Value>,
}

impl JobReply {
    /// As in a list.
    #[must_use]
    pub fn new(job: &JobEntry) -> Self {
        let progress = job.progress;
        let progress = ProgressReply { part: progress.part, done: progress.done, total: progress.total };
        Self {
            id: job.number.0,
            kind: job.kind.name(),
            subject: job.subject.clone(),
            author: job.author.clone(),
            state: job.state.name(),
            created_s: job.created_s,
            started_s: job.started_s,
            ended_s: job.ended_s,
            progress: (job.state == jobs::JobState::Running).then_some(progress),
            cancelled: job.is_cancelled,
            outcome: job.outcome.clone(),
            result: None,
        }
    }

    /// With its figures.
    #[must_use]
    pub fn with_result(job: &JobEntry) -> Self {
        let result = job.result.as_deref().and_then(|result| serde_json::from_str(result).ok());
        Self { result, ..Self::new(job) }
    }
}

/// A backup.
#[derive(Serialize, ToSchema)]
#[schema(as = Backup)]
pub(super) struct BackupRow {
    name: String,
    /// True if nothing was damaged or lost when it was made, and no rehearsal has found otherwise since.
    whole: bool,
    /// Reason for which its manifest cannot be read; then nothing else is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    /// Time of the cut, seconds since 1970: all that was acknowledged before is in it.
    cut_s: Option<i64>,
    /// Time at which all its files had been read back.
    verified_s: Option<i64>,
    assets: Option<u64>,
    items: Option<u64>,
    objects: Option<u64>,
    /// Faults when it was made.
    damaged: Option<u64>,
    missing: Option<u64>,
    /// Bytes of its files, those that it shares with other backups included.
    bytes: Option<u64>,
    /// Time of its last rehearsal.
    rehearsed_s: Option<i64>,
    /// True if that has succeeded.
    rehearsal_succeeded: Option<bool>,
}

impl BackupRow {
    fn new(entry: &BackupEntry) -> Self {
        let manifest = entry.manifest.as_ref().ok();
        let rehearsal = entry.rehearsal.as_ref();
        Self {
            name: entry.name.clone(),
            whole: entry.sound().is_some(),
            trouble: entry.manifest.as_ref().err().map(ToString::to_string),
            cut_s: manifest.map(|manifest| manifest.cut_s),
            verified_s: manifest.map(|manifest| manifest.verified_s),
            assets: manifest.map(|manifest| manifest.assets),
            items: manifest.map(|manifest| manifest.items),
            objects: manifest.map(|manifest| manifest.objects),
            damaged: manifest.map(|manifest| manifest.damaged),
            missing: manifest.map(|manifest| manifest.missing),
            bytes: manifest.map(|manifest| manifest.bytes()),
            rehearsed_s: rehearsal.map(|rehearsal| rehearsal.at_s),
            rehearsal_succeeded: rehearsal.map(|rehearsal| rehearsal.has_succeeded()),
        }
    }
}

/// The configured directory of backups, as it was looked at within the last minute.
#[derive(Serialize, ToSchema)]
#[schema(as = Backups)]
pub(super) struct BackupsReply {
    /// None without a configured directory.
    directory: Option<String>,
    /// Cut of the newest backup that is whole, seconds since 1970.
    newest_whole_s: Option<i64>,
    /// The last rehearsal that has succeeded, seconds since 1970.
    rehearsed_s: Option<i64>,
    /// Sentences on backups and rehearsals that are late.
    late: Vec<String>,
    /// The newest first.
    backups: Vec<BackupRow>,
}

impl BackupsReply {
    pub(super) fn new(status: &BackupStatus) -> Self {
        let times = status.times();
        Self {
            directory: status.directory().map(|path| path.display().to_string()),
            newest_whole_s: times.backup_s,
            rehearsed_s: times.rehearsal_s,
            late: status.late(),
            backups: status.backups().iter().rev().map(BackupRow::new).collect(),
        }
    }
}

/// A refusal with a sentence for the operator.
#[derive(Debug)]
pub struct JobApiRefusal {
    status: StatusCode,
    why: String,
}

impl JobApiRefusal {
    /// The token does not allow it.
    pub fn forbidden(why: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, why: why.into() }
    }

    /// The state of the server does not allow it.
    pub fn conflict(why: impl Into<String>) -> Self {
        Self { status: StatusCode::CONFLICT, why: why.into() }
    }

    /// The request has no meaning.
    pub fn bad(why: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, why: why.into() }
    }

    /// The thing is not there.
    pub fn absent(why: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, why: why.into() }
    }

    /// A part of the server does not answer.
    pub fn unavailable(why: impl Into<String>) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, why: why.into() }
    }

    /// There is no such job.
    #[must_use]
    pub fn unknown(number: JobNumber) -> Self {
        Self { status: StatusCode::NOT_FOUND, why: format!("There is no job {number}.") }
    }
}

impl From<DeskRefusal> for JobApiRefusal {
    fn from(why: DeskRefusal) -> Self {
        match why {
            DeskRefusal::Refused(why @ JobRefusal::Twice { .. }) => {
                Self::conflict(format!("Refused: {why}."))
            }
            DeskRefusal::Refused(why @ JobRefusal::Full) => {
                Self { status: StatusCode::TOO_MANY_REQUESTS, why: format!("Refused: {why}.") }
            }
            DeskRefusal::Unavailable(why) => Self { status: StatusCode::SERVICE_UNAVAILABLE, why },
        }
    }
}

impl IntoResponse for JobApiRefusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.why }))).into_response()
    }
}
