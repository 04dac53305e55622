//! Regions of a running server: the list, one in full, and a restart.

use super::configured::changes_text;
use crate::operator::{self, OperatorError, path_part};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// A restart waits for the current step of its world.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lists the regions.
pub(super) fn list(data: &Path, json: bool) -> Result<String, OperatorError> {
    let regions: Value = serde_json::from_str(&operator::get(data, "/v1/regions")?)?;
    let mut told: Value = serde_json::from_str(&operator::get(data, "/v1/region-changes")?)?;
    if json {
        told["regions"] = regions;
        return Ok(format!("{told}\n"));
    }
    Ok(list_text(&regions) + &changes_text(&told))
}

/// Shows a region.
pub(super) fn show(data: &Path, name: &str, json: bool) -> Result<String, OperatorError> {
    let path = format!("/v1/regions/{}", path_part(name));
    let details: Value = serde_json::from_str(&operator::get(data, &path)?)?;
    Ok(if json { format!("{details}\n") } else { details_text(&details) })
}

/// Begins a region again.
pub(super) fn restart(
    data: &Path,
    name: &str,
    message: Option<&str>,
    json: bool,
) -> Result<String, OperatorError> {
    let path = format!("/v1/regions/{}/restart", path_part(name));
    let order = json!({ "message": message });
    let restarted: Value = serde_json::from_str(&operator::command_within(PATIENCE, data, &path, &order)?)?;
    if json {
        return Ok(format!("{restarted}\n"));
    }
    let region = restarted["region"].as_str().unwrap_or(name);
    Ok(format!("{region} has begun again, for the time number {}.\n", restarted["epoch"]))
}

/// A line for each region: name, size, avatars, prims, and failures of its saves.
fn list_text(regions: &Value) -> String {
    let regions = regions.as_array().map_or(&[][..], Vec::as_slice);
    let mut out = String::new();
    for region in regions {
        let number = |key: &str| region[key].as_u64().unwrap_or_default();
        let failure = region["failure"].as_str().map(|why| format!("  not saved: {why}")).unwrap_or_default();
        let _ = writeln!(
            out,
            "{}  {} m  {} avatars  {} of {} prims{failure}",
            region["name"].as_str().unwrap_or_default(),
            number("size_m"),
            number("avatars"),
            number("prims"),
            number("prims_max")
        );
    }
    let _ = writeln!(out, "{} regions", regions.len());
    out
}

fn details_text(details: &Value) -> String {
    let region = &details["region"];
    let mut out = String::new();
    let _ = writeln!(out, "region    {} ({})", region["name"].as_str().unwrap_or_default(), details["id"]);
    let _ = writeln!(
        out,
        "place     {}, {} on the grid; {} m wide, water at {} m",
        details["x"], details["y"], region["size_m"], details["water_m"]
    );
    let _ = writeln!(out, "avatars   {} of {}", region["avatars"], details["avatars_max"]);
    let _ = writeln!(
        out,
        "prims     {} of {}: {} physical ({} objects moving), {} temporary",
        region["prims"], region["prims_max"], region["physical"], region["moving"], region["temporary"]
    );
    let _ = writeln!(
        out,
        "estate    {}, {} parcels",
        details["estate"].as_str().unwrap_or("none"),
        details["parcels"]
    );
    let saves = &details["saves"];
    let _ = match saves["saved"].as_object() {
        Some(saved) => writeln!(
            out,
            "saved     frame {} of epoch {}, {:.1} s ago; {} objects unsaved",
            saved["sequence"],
            saved["epoch"],
            saved["age_s"].as_f64().unwrap_or_default(),
            saves["unsaved"]
        ),
        None => writeln!(out, "saved     not since the start; {} objects unsaved", saves["unsaved"]),
    };
    if let Some(why) = saves["failure"].as_str() {
        let _ = writeln!(out, "failing   {} times in a row: {why}", saves["failures"]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_told_in_lines() {
        let region = json!({
            "name": "Harbour", "size_m": 256, "avatars": 3, "prims": 7, "prims_max": 100, "physical": 0, "moving": 0,
            "temporary": 0, "failure": null,
        });
        assert_eq!(list_text(&json!([region])), "Harbour  256 m  3 avatars  7 of 100 prims\n1 regions\n");
        let details = json!({
            "region": region, "id": "id-1", "x": 1000, "y": 1000, "avatars_max": 40, "water_m": 20.0, "estate": null,
            "parcels": 0, "saves": { "saved": null, "unsaved": 2, "failure": "disk full", "failures": 4 },
        });
        let text = details_text(&details);
        assert!(
            text.contains("avatars   3 of 40\n") && text.contains("estate    none, 0 parcels\n"),
            "{text}"
        );
        assert!(text.ends_with("2 objects unsaved\nfailing   4 times in a row: disk full\n"), "{text}");
    }
}
