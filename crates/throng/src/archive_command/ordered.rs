//! Orders to a running server to load and save archives, and the outcomes of their jobs.

use super::ArchiveCommandError;
use super::transit::{Transit, title_of};
use crate::cli::{IarLoadArgs, IarSaveArgs, OarLoadArgs, OarSaveArgs};
use crate::jobs_command::follow;
use crate::operator;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Time for a server to take an order: its database has to keep it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lines of each list that the text shows; JSON has all that the server lists.
const SHOWN_MAX: usize = 20;

/// Lists of an outcome: each with the count beside it, and the word for one of its entries.
const LISTS: [(&str, &str, &str); 9] = [
    ("unreadable_parts", "unreadable", "unreadable"),
    ("damaged_assets", "damaged", "damaged"),
    ("damaged_parts", "damaged", "damaged"),
    ("missing_assets", "missing", "missing"),
    ("changed_parts", "changed", "changed"),
    ("kept_assets", "assets_kept", "there with other content, and kept"),
    ("unknown_owners", "owners_unknown", "owner without an account"),
    ("unknown_creators", "creators_unknown", "creator without an account"),
    ("remarked_parts", "remarks", "remark"),
];

type Outcome = Result<(String, bool), ArchiveCommandError>;

pub(super) fn load_oar(args: &OarLoadArgs) -> Outcome {
    let transit = Transit::to_server(&args.data.data, &args.file)?;
    let body = json!({
        "file": transit.name().to_string_lossy(),
        "title": title_of(&args.file),
        "region": args.region,
        "source": args.source,
        "merge": args.merge,
        "replace": args.replace,
        "skip_assets": args.skip_assets,
        "force_terrain": args.force_terrain,
        "force_parcels": args.force_parcels,
        "no_objects": args.no_objects,
        "keep_ids": args.keep_ids,
        "default_user": args.default_user,
        "displacement": args.displacement,
        "rotation": args.rotation,
        "bounding_origin": args.bounding_origin,
        "bounding_size": args.bounding_size,
    });
    let job = carry_out(&args.data.data, "/v1/archives/oar/load", &body)?;
    outcome_of(&job, args.json)
}

pub(super) fn save_oar(args: &OarSaveArgs) -> Outcome {
    let transit = Transit::from_server(&args.data.data, &args.file)?;
    let body = json!({
        "file": transit.name().to_string_lossy(),
        "title": title_of(&args.file),
        "region": args.region,
        "home": args.home,
        "no_assets": args.noassets,
        "publish": args.publish,
        "perm": args.perm,
    });
    let job = carry_out(&args.data.data, "/v1/archives/oar/save", &body)?;
    bring(&job, transit, &args.file)?;
    outcome_of(&job, args.json)
}

pub(super) fn load_iar(args: &IarLoadArgs) -> Outcome {
    let transit = Transit::to_server(&args.data.data, &args.file)?;
    let body = json!({
        "file": transit.name().to_string_lossy(),
        "title": title_of(&args.file),
        "user": args.user,
        "folder": args.folder,
        "merge": args.merge,
        "skip_assets": args.skip_assets,
    });
    let job = carry_out(&args.data.data, "/v1/archives/iar/load", &body)?;
    outcome_of(&job, args.json)
}

pub(super) fn save_iar(args: &IarSaveArgs) -> Outcome {
    let transit = Transit::from_server(&args.data.data, &args.file)?;
    let body = json!({
        "file": transit.name().to_string_lossy(),
        "title": title_of(&args.file),
        "user": args.user,
        "folder": args.folder,
        "home": args.home,
        "no_assets": args.noassets,
        "perm": args.perm,
    });
    let job = carry_out(&args.data.data, "/v1/archives/iar/save", &body)?;
    bring(&job, transit, &args.file)?;
    outcome_of(&job, args.json)
}

/// Orders a job, and waits for its end.
fn carry_out(data: &Path, route: &str, body: &Value) -> Result<Value, ArchiveCommandError> {
    let job: Value = serde_json::from_str(&operator::command_within(PATIENCE, data, route, body)?)?;
    Ok(follow(data, job["id"].as_u64().unwrap_or_default())?)
}

fn bring(job: &Value, transit: Transit, file: &Path) -> Result<(), ArchiveCommandError> {
    if is_done(job) { transit.bring(file) } else { Ok(()) }
}

fn is_done(job: &Value) -> bool {
    job["state"] == "done"
}

/// The outcome, and true if nothing was unreadable or damaged.
fn outcome_of(job: &Value, json: bool) -> Outcome {
    let result = &job["result"];
    let n = |key: &str| result[key].as_u64().unwrap_or_default();
    let is_whole = is_done(job) && n("unreadable") == 0 && n("damaged") == 0;
    if json {
        return Ok((format!("{}\n", job_json(job)), is_whole));
    }
    if !is_done(job) {
        let text = |key: &str| job[key].as_str().unwrap_or_default().to_owned();
        let id = job["id"].as_u64().unwrap_or_default();
        return Err(ArchiveCommandError::Job { id, state: text("state"), outcome: text("outcome") });
    }
    Ok((job_text(job), is_whole))
}

/// The figures, with number, state and outcome of the job.
fn job_json(job: &Value) -> Value {
    let mut answer = json!({ "job": job["id"], "state": job["state"], "outcome": job["outcome"] });
    if let (Value::Object(fields), Value::Object(result)) = (&mut answer, &job["result"]) {
        fields.extend(result.clone());
    }
    answer
}

fn job_text(job: &Value) -> String {
    let result = &job["result"];
    let mut text = format!("{}.\n", job["outcome"].as_str().unwrap_or("done"));
    for (list, count, word) in LISTS {
        let entries = result[list].as_array().map_or(&[][..], Vec::as_slice);
        for entry in entries.iter().take(SHOWN_MAX) {
            let _ = writeln!(text, "{word}: {}", line(entry));
        }
        let n_shown = entries.len().min(SHOWN_MAX) as u64;
        let n_more = result[count].as_u64().unwrap_or_default().saturating_sub(n_shown);
        if !entries.is_empty() && n_more > 0 {
            let _ = writeln!(text, "{word}: {n_more} more");
        }
    }
    text
}

/// An entry of a list. Texts of archives may have control characters.
fn line(entry: &Value) -> String {
    let plain = |text: &str| text.escape_debug().to_string();
    let Value::Object(fields) = entry else {
        return entry.as_str().map_or_else(|| entry.to_string(), plain);
    };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(plain);
    let mut parts: Vec<String> = ["path", "id", "kind", "name"].into_iter().filter_map(text).collect();
    if let Some(reason) = text("reason") {
        parts.push(reason);
    }
    let first = fields.get("referrers").and_then(|referrers| referrers.get(0)).and_then(Value::as_str);
    if let Some(by) = text("named_by").or_else(|| first.map(plain)) {
        parts.push(format!("named by {by}"));
    }
    if let Some(uses) = fields.get("uses").and_then(Value::as_u64) {
        parts.push(format!("{uses} uses"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(state: &str, result: Value) -> Value {
        json!({ "id": 7, "state": state, "outcome": "3 objects of 4 prims are in Harbour", "result": result })
    }

    #[test]
    fn an_outcome_names_unreadable_and_missing_parts() {
        let result = json!({
            "unreadable": 25, "damaged": 0, "missing": 1,
            "unreadable_parts": [{ "path": "objects/a\n", "reason": "it is no object" }],
            "missing_assets": [{ "id": "i", "kind": "sound", "reason": null, "referrers": ["objects/b"] }],
            "unknown_owners": [{ "id": "o", "name": null, "uses": 3 }],
        });
        let (text, is_whole) = outcome_of(&job("done", result), false).expect("it is done");
        assert_eq!(
            text,
            "3 objects of 4 prims are in Harbour.\nunreadable: objects/a\\n, it is no object\n\
             unreadable: 24 more\nmissing: i, sound, named by objects/b\nowner without an account: o, 3 uses\n"
        );
        assert!(!is_whole, "something is unreadable");
        let missing = json!({ "missing": 9, "unreadable": 0, "damaged": 0, "objects": 3 });
        let (text, is_whole) = outcome_of(&job("done", missing), true).expect("it is done");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&answer["job"], &answer["objects"], is_whole), (&json!(7), &json!(3), true));
    }

    #[test]
    fn a_job_that_has_failed_is_an_error_or_an_answer_in_json() {
        let error = outcome_of(&job("failed", Value::Null), false).expect_err("it has failed");
        assert_eq!(error.exit_status(), 1);
        assert!(error.to_string().starts_with("job 7 is failed"), "{error}");
        let (text, is_whole) = outcome_of(&job("cancelled", Value::Null), true).expect("an answer");
        assert!(text.contains("\"state\":\"cancelled\"") && !is_whole, "{text}");
    }
}
