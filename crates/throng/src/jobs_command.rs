//! `throng jobs`: lists, shows and cancels the jobs of a running server; and the wait for one.

use crate::cli::JobsCommand;
use crate::operator::{self, OperatorError};
use backup::date;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// Time after which the server answers although the job has not ended, seconds: also the period of progress lines.
const WAIT_S: u64 = 20;
/// Time for an answer of the server beyond that.
const PATIENCE: Duration = Duration::from_secs(WAIT_S + 40);

/// Runs a command; returns its output.
///
/// # Errors
/// When no server runs there, or it refuses.
pub fn run(command: JobsCommand) -> Result<String, OperatorError> {
    match command {
        JobsCommand::List { json, data } => {
            let jobs: Value = serde_json::from_str(&operator::get(&data.data, "/v1/jobs")?)?;
            Ok(if json { format!("{}\n", json!({ "jobs": jobs })) } else { list_text(&jobs) })
        }
        JobsCommand::Show { id, json, data } => {
            let job: Value = serde_json::from_str(&operator::get(&data.data, &format!("/v1/jobs/{id}"))?)?;
            Ok(if json { format!("{job}\n") } else { details_text(&job) })
        }
        JobsCommand::Cancel { id, json, data } => {
            let job: Value = serde_json::from_str(&operator::delete(&data.data, &format!("/v1/jobs/{id}"))?)?;
            Ok(if json { format!("{job}\n") } else { cancel_text(&job) })
        }
    }
}

/// Waits for the end of a job, with a line on standard error now and then. The job does not need this wait: it continues without the command.
///
/// # Errors
/// When the server ends first, or does not know the job.
pub(crate) fn follow(data: &Path, id: u64) -> Result<Value, OperatorError> {
    let path = format!("/v1/jobs/{id}?wait_s={WAIT_S}");
    loop {
        let job: Value = serde_json::from_str(&operator::get_within(PATIENCE, data, &path)?)?;
        if !matches!(job["state"].as_str(), Some("queued" | "running")) {
            return Ok(job);
        }
        // Progress is for a watching operator; without one, it is lost.
        let _ = writeln!(std::io::stderr(), "job {id}: {}", standing(&job));
    }
}

/// State of a job, with its progress.
fn standing(job: &Value) -> String {
    let state = job["state"].as_str().unwrap_or_default();
    let state = if job["cancelled"] == true { "ending" } else { state };
    let progress = &job["progress"];
    match (progress["part"].as_str(), &progress["done"], progress["total"].as_u64()) {
        (Some(part), done, Some(total)) if !part.is_empty() && total > 0 => {
            format!("{state}, {part}: {done} of {total}")
        }
        (Some(part), _, _) if !part.is_empty() => format!("{state}, {part}"),
        _ => state.to_owned(),
    }
}

/// A line for each job: number, time of the order, kind, subject, state or outcome.
fn list_text(jobs: &Value) -> String {
    let mut out = String::new();
    for job in jobs.as_array().into_iter().flatten() {
        let text = |key: &str| job[key].as_str().unwrap_or_default();
        let outcome = job["outcome"].as_str().map(|outcome| format!(": {outcome}")).unwrap_or_default();
        let _ = writeln!(
            out,
            "{:>6}  {}  {}  {}  {}{outcome}",
            job["id"].as_u64().unwrap_or_default(),
            date(job["created_s"].as_i64().unwrap_or_default()),
            text("kind"),
            text("subject"),
            standing(job)
        );
    }
    let _ = writeln!(out, "{} jobs", jobs.as_array().map_or(0, Vec::len));
    out
}

fn details_text(job: &Value) -> String {
    let text = |key: &str| job[key].as_str().unwrap_or_default();
    let time = |key: &str| job[key].as_i64().map_or_else(|| "-".to_owned(), date);
    let mut out = String::new();
    for (name, value) in [
        ("job", job["id"].to_string()),
        ("kind", text("kind").to_owned()),
        ("subject", text("subject").to_owned()),
        ("ordered by", text("author").to_owned()),
        ("ordered", time("created_s")),
        ("begun", time("started_s")),
        ("ended", time("ended_s")),
        ("state", standing(job)),
    ] {
        let _ = writeln!(out, "{name:<12}{value}");
    }
    if let Some(outcome) = job["outcome"].as_str() {
        let _ = writeln!(out, "{:<12}{outcome}", "outcome");
    }
    for (key, value) in job["result"].as_object().into_iter().flatten() {
        match value {
            Value::Array(parts) => {
                for part in parts {
                    let _ = writeln!(out, "{key:<12}{}", shown(part));
                }
            }
            value => {
                let _ = writeln!(out, "{key:<12}{}", shown(value));
            }
        }
    }
    out
}

fn cancel_text(job: &Value) -> String {
    match job["state"].as_str() {
        Some("running") => format!("Job {} has been asked to end.\n", job["id"]),
        _ => format!("Job {} is cancelled.\n", job["id"]),
    }
}

/// A part of a result: a text, a number, or a fault as [`fault_text`] has it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) if value["fault"].is_string() => fault_text(value),
        value => value.to_string(),
    }
}

/// A fault as a line: `missing item 3b3f… "Blue hat" of Ada Lovelace: its asset … does not exist`. Backups have such lines themselves.
pub(crate) fn fault_text(fault: &Value) -> String {
    if let Some(line) = fault.as_str() {
        return line.to_owned();
    }
    let text = |key: &str| fault[key].as_str().unwrap_or_default();
    let mut line = format!("{} {}", text("fault"), text("part"));
    if !text("id").is_empty() {
        let _ = write!(line, " {}", text("id"));
    }
    if !text("name").is_empty() {
        let _ = write!(line, " {:?}", text("name"));
    }
    if let Some(owner) = fault["owner_name"].as_str().or_else(|| fault["owner"].as_str()) {
        let _ = write!(line, " of {owner}");
    }
    let _ = write!(line, ": {}", text("why"));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_shown_with_progress_and_outcome() {
        let running = json!({
            "id": 7, "kind": "backup", "subject": "/mnt/backups", "author": "schedule", "state": "running", "created_s": 0,
            "started_s": 1, "ended_s": null, "progress": { "part": "assets", "done": 3, "total": 9 }, "cancelled": false,
            "outcome": null,
        });
        assert_eq!(standing(&running), "running, assets: 3 of 9");
        let line = "     7  1970-01-01T00:00:00Z  backup  /mnt/backups  running, assets: 3 of 9\n";
        assert_eq!(list_text(&json!([running])), format!("{line}1 jobs\n"));
        let mut done = running.clone();
        done["state"] = "done".into();
        done["progress"] = Value::Null;
        done["outcome"] = "well".into();
        done["result"] = json!({ "objects": 4, "faults": ["lost", "damaged"] });
        let text = details_text(&done);
        for line in
            ["state       done", "outcome     well", "objects     4", "faults      damaged", "ended       -"]
        {
            assert!(text.lines().any(|shown| shown == line), "{line:?} in {text}");
        }
        assert_eq!(list_text(&json!([])), "0 jobs\n");
        assert_eq!(cancel_text(&running), "Job 7 has been asked to end.\n");
    }

    #[test]
    fn faults_are_lines() {
        let fault = json!({
            "fault": "missing", "part": "item", "id": "3", "name": "Blue hat", "owner": "x", "owner_name": "Ada Lovelace",
            "why": "it has no asset",
        });
        assert_eq!(fault_text(&fault), "missing item 3 \"Blue hat\" of Ada Lovelace: it has no asset");
        let plain =
            json!({ "fault": "damaged", "part": "database", "id": "", "name": "", "why": "page 7 is torn" });
        assert_eq!(fault_text(&plain), "damaged database: page 7 is torn");
        assert_eq!(fault_text(&json!("as a line")), "as a line");
    }
}
