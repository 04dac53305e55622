//! `throng assets`: content of users on a running server.

use crate::cli::AssetsCommand;
use crate::jobs_command::follow;
use crate::operator::{self, OperatorError};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// The bytes of an asset are read from the disk; a database may have many assets.
const PATIENCE: Duration = Duration::from_secs(60);
/// Assets of the report that are printed as lines.
const LARGEST_MAX: usize = 20;

/// Runs a command; returns its output, and false if an asset is damaged, or a report has no outcome.
///
/// # Errors
/// If no server runs there, or it refuses.
pub fn run(command: AssetsCommand) -> Result<(String, bool), OperatorError> {
    match command {
        AssetsCommand::List { json, data } => {
            let assets = get(&data.data, "/v1/assets")?;
            Ok((if json { format!("{assets}\n") } else { list_text(&assets) }, true))
        }
        AssetsCommand::Show { id, json, data } => {
            let asset = get(&data.data, &format!("/v1/assets/{id}"))?;
            Ok((if json { format!("{asset}\n") } else { asset_text(&asset) }, true))
        }
        AssetsCommand::Verify { id, json, data } => {
            let path = format!("/v1/assets/{id}/verify");
            let answer = operator::command_within(PATIENCE, &data.data, &path, &json!({}))?;
            let verified: Value = serde_json::from_str(&answer)?;
            let text = match verified["damage"].as_str() {
                None => "Its bytes match their hash.\n".to_owned(),
                Some(why) => format!("It is damaged: {why}.\n"),
            };
            Ok((if json { format!("{verified}\n") } else { text }, verified["sound"] == true))
        }
        AssetsCommand::Report { json, data } => report(&data.data, json),
    }
}

fn get(data: &Path, path: &str) -> Result<Value, OperatorError> {
    Ok(serde_json::from_str(&operator::get_within(PATIENCE, data, path)?)?)
}

fn report(data: &Path, json: bool) -> Result<(String, bool), OperatorError> {
    let answer = operator::command_within(PATIENCE, data, "/v1/asset-reports", &json!({}))?;
    let job: Value = serde_json::from_str(&answer)?;
    let job = follow(data, job["id"].as_u64().unwrap_or_default())?;
    if job["state"] != "done" {
        let text = |key: &str| job[key].as_str().unwrap_or("unknown");
        return Ok((format!("Job {} is {}: {}.\n", job["id"], text("state"), text("outcome")), false));
    }
    let figures = &job["result"];
    Ok((if json { format!("{figures}\n") } else { report_text(figures) }, true))
}

fn entries<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// A line for each kind, one for the scrubber, and one for each content in quarantine.
fn list_text(assets: &Value) -> String {
    let mut out = String::new();
    for kind in entries(assets, "kinds") {
        let number = |key: &str| kind[key].as_u64().unwrap_or_default();
        let name = kind["kind"].as_str().unwrap_or_default();
        let _ = write!(out, "{name:<14}{:>10}{:>16} bytes", number("assets"), number("bytes"));
        for (key, noun) in [("temporary", "temporary"), ("damaged", "damaged")] {
            if number(key) > 0 {
                let _ = write!(out, ", {} {noun}", number(key));
            }
        }
        out.push('\n');
    }
    let percent = assets["scrub_position"].as_f64().unwrap_or_default() * 100.0;
    let _ = writeln!(
        out,
        "scrubber: {percent:.1} % of a pass of {} days; {} contents verified and {} found damaged since the start",
        assets["scrub_days"], assets["scrub_verified"], assets["scrub_damaged"]
    );
    let mut n_listed = 0;
    for content in entries(assets, "quarantine") {
        n_listed += 1;
        let ids: Vec<&str> = entries(content, "assets").filter_map(Value::as_str).collect();
        let text = |key: &str| content[key].as_str().unwrap_or_default();
        let _ = writeln!(out, "quarantine {}: {} ({})", ids.join(" "), text("damage"), text("hash"));
    }
    let n_all = assets["quarantined"].as_u64().unwrap_or_default();
    if n_all > n_listed {
        let _ = writeln!(out, "{} more contents in quarantine are not listed", n_all - n_listed);
    }
    let _ = writeln!(out, "{n_all} contents in quarantine");
    out
}

fn asset_text(asset: &Value) -> String {
    let mut out = String::new();
    let text = |key: &str| asset[key].as_str().unwrap_or_default();
    let kept = if asset["used_s"].is_null() { "lasting" } else { "temporary" };
    let creator = format!("{} {}", text("creator"), text("creator_name"));
    for (name, value) in [
        ("asset", text("id")),
        ("kind", text("kind")),
        ("kept", kept),
        ("bytes", &*asset["bytes"].to_string()),
        ("hash", text("hash")),
        ("creator", creator.trim_end()),
        ("source", text("origin")),
        ("damage", asset["damage"].as_str().unwrap_or("-")),
    ] {
        let _ = writeln!(out, "{name:<10}{value}");
    }
    out
}

/// A line for each creator and kind, then for the largest assets.
fn report_text(report: &Value) -> String {
    let mut out = String::new();
    let owner = |entry: &Value| {
        let name = entry["owner_name"].as_str().or_else(|| entry["owner"].as_str());
        name.unwrap_or_default().to_owned()
    };
    let mut n_listed = 0;
    for group in entries(report, "groups") {
        n_listed += 1;
        let kind = group["kind"].as_str().unwrap_or_default();
        let _ = writeln!(out, "{}  {kind}  {}, {} bytes", owner(group), group["assets"], group["bytes"]);
    }
    let n_groups = report["n_groups"].as_u64().unwrap_or_default();
    if n_groups > n_listed {
        let _ = writeln!(out, "{} more creators and kinds are not listed", n_groups - n_listed);
    }
    for asset in entries(report, "largest").take(LARGEST_MAX) {
        let text = |key: &str| asset[key].as_str().unwrap_or_default();
        let _ =
            writeln!(out, "{}  {}  {} bytes, of {}", text("id"), text("kind"), asset["bytes"], owner(asset));
    }
    let _ = writeln!(
        out,
        "Nothing names {} of {} lasting assets, {} bytes. Nothing was deleted.",
        report["unreferenced"], report["assets"], report["bytes"]
    );
    if report["unread"].as_u64().is_some_and(|n| n > 0) {
        let _ = writeln!(
            out,
            "{} damaged or foreign things could not be read: what they name may be among these assets.",
            report["unread"]
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_scrubber_and_quarantine_are_listed() {
        let assets = json!({
            "kinds": [
                { "kind": "texture", "assets": 12, "temporary": 2, "damaged": 1, "bytes": 3_400 },
                { "kind": "body part", "assets": 1, "temporary": 0, "damaged": 0, "bytes": 9 },
            ],
            "scrub_position": 0.25, "scrub_verified": 3, "scrub_damaged": 1, "scrub_days": 14, "quarantined": 2,
            "quarantine": [{ "hash": "ab01", "bytes": 9, "damage": "its bytes are missing", "assets": ["id-1", "id-2"] }],
        });
        assert_eq!(
            list_text(&assets),
            "texture               12            3400 bytes, 2 temporary, 1 damaged\n\
             body part              1               9 bytes\n\
             scrubber: 25.0 % of a pass of 14 days; 3 contents verified and 1 found damaged since the start\n\
             quarantine id-1 id-2: its bytes are missing (ab01)\n\
             1 more contents in quarantine are not listed\n2 contents in quarantine\n"
        );
    }

    #[test]
    fn an_asset_is_shown_with_its_damage() {
        let asset = json!({
            "id": "id-1", "kind": "sound", "bytes": 9, "hash": "ab01", "creator": "id-5", "creator_name": null,
            "created_s": 7, "origin": "upload", "used_s": null, "damage": "its bytes are missing",
        });
        let text = asset_text(&asset);
        for line in [
            "kept      lasting\n",
            "creator   id-5\n",
            "source    upload\n",
            "damage    its bytes are missing\n",
        ] {
            assert!(text.contains(line), "{line:?} in {text}");
        }
    }

    #[test]
    fn a_report_has_its_groups_and_says_what_it_could_not_read() {
        let report = json!({
            "assets": 5, "unreferenced": 4, "bytes": 150, "unread": 2, "n_groups": 2,
            "groups": [{ "owner": "id-5", "owner_name": "Ada Lovelace", "kind": "notecard", "assets": 4, "bytes": 150 }],
            "largest": [{ "id": "id-9", "kind": "notecard", "bytes": 99, "owner": "id-7", "owner_name": null }],
        });
        assert_eq!(
            report_text(&report),
            "Ada Lovelace  notecard  4, 150 bytes\n1 more creators and kinds are not listed\n\
             id-9  notecard  99 bytes, of id-7\n\
             Nothing names 4 of 5 lasting assets, 150 bytes. Nothing was deleted.\n\
             2 damaged or foreign things could not be read: what they name may be among these assets.\n"
        );
    }
}
