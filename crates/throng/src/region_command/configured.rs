//! Orders that create, remove and rename regions in the configuration of a running server.

use crate::cli::RegionCreateArgs;
use crate::operator::{self, OperatorError, path_part};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Content of a region is read to check it, or deleted.
const PATIENCE: Duration = Duration::from_secs(120);

/// Adds a region.
pub(super) fn create(args: &RegionCreateArgs) -> Result<String, OperatorError> {
    let RegionCreateArgs { name, at, size, terrain, seed, water, owner, json, data } = args;
    let [x, y] = at.map_or([None; 2], |squares| squares.map(Some));
    let stated = [
        ("name", Some(json!(name))),
        ("x", x.map(Value::from)),
        ("y", y.map(Value::from)),
        ("size_m", size.map(Value::from)),
        ("terrain", terrain.as_deref().map(Value::from)),
        ("seed", seed.map(Value::from)),
        ("water_m", water.map(Value::from)),
        ("owner", owner.as_deref().map(Value::from)),
    ];
    let order: Map<String, Value> =
        stated.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    ordered(&data.data, "/v1/regions", &Value::from(order), *json)
}

/// Removes a region, or its content.
pub(super) fn remove(
    data: &Path,
    name: &str,
    delete_content: bool,
    json: bool,
) -> Result<String, OperatorError> {
    let path = format!("/v1/regions/{}/remove", path_part(name));
    ordered(data, &path, &json!({ "delete_content": delete_content }), json)
}

/// Gives a region another name.
pub(super) fn rename(data: &Path, name: &str, to: &str, json: bool) -> Result<String, OperatorError> {
    let path = format!("/v1/regions/{}/rename", path_part(name));
    ordered(data, &path, &json!({ "to": to }), json)
}

fn ordered(data: &Path, path: &str, order: &Value, json: bool) -> Result<String, OperatorError> {
    let changed: Value = serde_json::from_str(&operator::command_within(PATIENCE, data, path, order)?)?;
    Ok(if json { format!("{changed}\n") } else { changed_text(&changed) })
}

fn changed_text(changed: &Value) -> String {
    let region = changed["region"].as_str().unwrap_or("A region without a known name");
    let objects = changed["objects"].as_u64().unwrap_or_default();
    let number = &changed["number"];
    let mut out = match changed["change"].as_str() {
        Some("create") => format!(
            "{region} is in the configuration: number {number}, at {}, {} on the grid, {} m wide.\n",
            changed["x"], changed["y"], changed["size_m"]
        ),
        Some("remove") => format!("{region} is no longer in the configuration.\n"),
        Some("rename") => {
            format!(
                "{} is called {region} in the configuration.\n",
                changed["former_name"].as_str().unwrap_or("It")
            )
        }
        Some("delete_content") => {
            return format!("The content of {region} (number {number}) is deleted: {objects} objects.\n");
        }
        _ => return format!("{changed}\n"),
    };
    if objects > 0 {
        let _ = writeln!(out, "Its {objects} stored objects stay, under the number {number}.");
    }
    out.push_str(match changed["state"].as_str() {
        Some("done") => "This is how the server runs: no restart is needed.\n",
        _ => "A restart of the server applies it: `throng shutdown`, then start it again.\n",
    });
    out
}

/// A line for each pending change, and for each region with content that is not configured.
pub(super) fn changes_text(told: &Value) -> String {
    let mut out = String::new();
    for change in told["changes"].as_array().into_iter().flatten() {
        let name = change["name"].as_str().unwrap_or_default();
        let place = format!("{} m  at {}, {}", change["size_m"], change["x"], change["y"]);
        let state = change["state"].as_str().unwrap_or_default();
        let former = change["former_name"].as_str().unwrap_or_default();
        let _ = match change["change"].as_str() {
            Some("create") => writeln!(out, "{name}  {place}  {state}: begins"),
            Some("remove") => writeln!(out, "{name}  {state}: is removed, and its content stays"),
            Some("rename") => writeln!(out, "{former}  {state}: is called {name}"),
            _ => writeln!(out, "{name}  {place}  {state}: has other settings"),
        };
    }
    for left in told["not_configured"].as_array().into_iter().flatten() {
        let name = left["name"].as_str().unwrap_or("a region without a known name");
        let _ = writeln!(
            out,
            "{name}  not configured: {} stored objects (number {})",
            left["objects"], left["number"]
        );
    }
    if let Some(problem) = told["problem"].as_str() {
        let _ = writeln!(out, "changes are not known: {problem}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_in_sentences() {
        let mut changed = json!({
            "region": "Quay", "former_name": null, "change": "create", "state": "pending restart", "number": 3,
            "x": 1020, "y": 1000, "size_m": 256, "objects": 0,
        });
        let restart = "A restart of the server applies it: `throng shutdown`, then start it again.\n";
        assert_eq!(
            changed_text(&changed),
            format!(
                "Quay is in the configuration: number 3, at 1020, 1000 on the grid, 256 m wide.\n{restart}"
            )
        );
        changed["objects"] = json!(12);
        changed["change"] = json!("remove");
        let stay = "Its 12 stored objects stay, under the number 3.\n";
        assert_eq!(
            changed_text(&changed),
            format!("Quay is no longer in the configuration.\n{stay}{restart}")
        );
        changed["change"] = json!("rename");
        changed["former_name"] = json!("Pier");
        changed["state"] = json!("done");
        let text = changed_text(&changed);
        assert!(text.starts_with("Pier is called Quay in the configuration.\n"), "{text}");
        assert!(text.ends_with("no restart is needed.\n"), "{text}");
        let deleted = json!({ "region": "Quay", "change": "delete_content", "number": 3, "objects": 12 });
        assert_eq!(changed_text(&deleted), "The content of Quay (number 3) is deleted: 12 objects.\n");
    }

    #[test]
    fn pending_changes_and_content_without_a_region_are_told_in_lines() {
        let change = |change: &str, name: &str, former: Option<&str>| {
            json!({
                "name": name, "former_name": former, "change": change, "state": "pending restart", "number": 3,
                "x": 1020, "y": 1000, "size_m": 256,
            })
        };
        let told = json!({
            "file": "/etc/throng.toml",
            "problem": null,
            "changes": [change("create", "Quay", None), change("rename", "Port", Some("Harbour")), change("remove", "Old", None)],
            "not_configured": [{ "name": "Pier", "number": 4, "objects": 12 }],
        });
        let expected = "Quay  256 m  at 1020, 1000  pending restart: begins\n\
                        Harbour  pending restart: is called Port\n\
                        Old  pending restart: is removed, and its content stays\n\
                        Pier  not configured: 12 stored objects (number 4)\n";
        assert_eq!(changes_text(&told), expected);
        assert_eq!(changes_text(&json!({ "changes": [], "not_configured": [] })), "");
        let broken = json!({ "problem": "cannot read it", "changes": [], "not_configured": [] });
        assert_eq!(changes_text(&broken), "changes are not known: cannot read it\n");
    }
}
