//! `throng estate` and `throng parcel`: land of a running server's regions.

use crate::cli::{EstateCommand, EstateListArgs, EstateTarget, ParcelCommand, ParcelTarget};
use crate::operator::{self, OperatorError, path_part};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Runs a command on an estate; returns its output.
///
/// # Errors
/// If no server runs there, or it refuses.
pub fn run(command: EstateCommand) -> Result<String, OperatorError> {
    match command {
        EstateCommand::Show { target } => {
            let estate: Value = serde_json::from_str(&operator::get(&target.data.data, &path(&target))?)?;
            Ok(if target.json { format!("{estate}\n") } else { estate_text(&estate) })
        }
        EstateCommand::Name { name, target } => change(&target, &json!({ "name": name })),
        EstateCommand::Owner { none: true, target, .. } => change(&target, &json!({ "unowned": true })),
        EstateCommand::Owner { words, target, .. } => change(&target, &json!({ "owner": words.join(" ") })),
        EstateCommand::AddManager(args) => list(&args, "managers", true),
        EstateCommand::RemoveManager(args) => list(&args, "managers", false),
        EstateCommand::Allow(args) => list(&args, "allowed", true),
        EstateCommand::Disallow(args) => list(&args, "allowed", false),
        EstateCommand::Ban(args) => list(&args, "banned", true),
        EstateCommand::Unban(args) => list(&args, "banned", false),
    }
}

fn path(target: &EstateTarget) -> String {
    format!("/v1/regions/{}/estate", path_part(&target.region))
}

fn change(target: &EstateTarget, order: &Value) -> Result<String, OperatorError> {
    changed(target, &operator::command(&target.data.data, &path(target), order)?)
}

fn list(args: &EstateListArgs, list: &str, listed: bool) -> Result<String, OperatorError> {
    let EstateListArgs { name, target } = args;
    let order = json!({ "list": list, "account": name.name(), "listed": listed });
    let path = format!("{}/lists", path(target));
    changed(target, &operator::command(&target.data.data, &path, &order)?)
}

fn changed(target: &EstateTarget, answer: &str) -> Result<String, OperatorError> {
    let answer: Value = serde_json::from_str(answer)?;
    let region = answer["region"].as_str().unwrap_or(&target.region);
    Ok(if target.json { format!("{answer}\n") } else { format!("The estate of {region} is changed.\n") })
}

fn estate_text(estate: &Value) -> String {
    let text = |key: &str| estate[key].as_str();
    let names = |key: &str| {
        let accounts = estate[key].as_array().into_iter().flatten();
        let names: Vec<&str> = accounts.filter_map(account_name).collect();
        if names.is_empty() { "-".to_owned() } else { names.join(", ") }
    };
    let mut out = String::new();
    let owner = text("owner_name").or_else(|| text("owner")).unwrap_or("none");
    let access = if estate["public"] == true { "all but the banned" } else { "the allowed" };
    let _ = writeln!(out, "estate    {} of {}", text("name").unwrap_or("-"), text("region").unwrap_or("-"));
    let _ = writeln!(out, "owner     {owner}");
    let _ = writeln!(out, "managers  {}", names("managers"));
    let _ = writeln!(out, "enters    {access}, {} at once", estate["agent_limit"]);
    let _ = writeln!(out, "allowed   {}", names("allowed"));
    let _ = writeln!(out, "banned    {}", names("banned"));
    let _ = writeln!(out, "maturity  {}", text("maturity").unwrap_or("-"));
    let _ = writeln!(
        out,
        "ground    water at {} m; users raise it by {} m and lower it by {} m at most",
        estate["water_m"], estate["raise_m"], estate["lower_m"]
    );
    out
}

/// The name of a listed account, or its id.
fn account_name(account: &Value) -> Option<&str> {
    account["name"].as_str().or_else(|| account["id"].as_str())
}

/// Runs a command on parcels; returns its output.
///
/// # Errors
/// If no server runs there, or it refuses.
pub fn run_parcel(command: ParcelCommand) -> Result<String, OperatorError> {
    let path = |target: &ParcelTarget| format!("/v1/regions/{}/parcels", path_part(&target.region));
    match command {
        ParcelCommand::List { target } => {
            let parcels: Value = serde_json::from_str(&operator::get(&target.data.data, &path(&target))?)?;
            Ok(if target.json {
                format!("{}\n", json!({ "parcels": parcels }))
            } else {
                parcels_text(&parcels)
            })
        }
        ParcelCommand::Show { number, target } => {
            let path = format!("{}/{number}", path(&target));
            let parcel: Value = serde_json::from_str(&operator::get(&target.data.data, &path)?)?;
            Ok(if target.json { format!("{parcel}\n") } else { parcel_text(&parcel) })
        }
    }
}

fn owner_of(row: &Value) -> &str {
    row["owner_name"].as_str().or_else(|| row["owner"].as_str()).unwrap_or("public")
}

/// A line for each parcel: number, area, prims, owner, name.
fn parcels_text(parcels: &Value) -> String {
    let parcels = parcels.as_array().map_or(&[][..], Vec::as_slice);
    let mut out = String::new();
    for parcel in parcels {
        let _ = writeln!(
            out,
            "{:>5}  {:>8} m²  {:>6} prims  {}  {}",
            parcel["number"].as_u64().unwrap_or_default(),
            parcel["area_m2"].as_u64().unwrap_or_default(),
            parcel["prims"].as_u64().unwrap_or_default(),
            owner_of(parcel),
            parcel["name"].as_str().unwrap_or_default()
        );
    }
    let _ = writeln!(out, "{} parcels", parcels.len());
    out
}

fn parcel_text(parcel: &Value) -> String {
    let text = |key: &str| parcel[key].as_str().unwrap_or_default();
    let mut out = String::new();
    let _ = writeln!(out, "parcel     {} {} ({})", parcel["number"], text("name"), text("id"));
    let _ = writeln!(out, "owner      {}", owner_of(parcel));
    let _ = writeln!(out, "area       {} m²", parcel["area_m2"]);
    let settings: Vec<&str> =
        parcel["settings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let _ = writeln!(out, "allows     {}", settings.join(", "));
    let _ = writeln!(out, "landing    {} {}", text("landing"), parcel["landing_point"]);
    let _ = writeln!(out, "returns    {} min", parcel["auto_return_min"]);
    for (key, label) in
        [("description", "text       "), ("music_url", "music      "), ("media_url", "media      ")]
    {
        if !text(key).is_empty() {
            let _ = writeln!(out, "{label}{}", text(key));
        }
    }
    if let Some(price) = parcel["price"].as_u64() {
        let _ = writeln!(out, "for sale   {price}");
    }
    for (key, label) in [("allowed", "allowed    "), ("banned", "banned     ")] {
        for account in parcel[key].as_array().into_iter().flatten().filter_map(account_name) {
            let _ = writeln!(out, "{label}{account}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estate_is_told_with_the_names_on_its_lists() {
        let estate = json!({
            "region": "Harbour", "name": "Old Harbour", "owner": "id-1", "owner_name": null,
            "managers": [{ "id": "id-2", "name": "Ada Lovelace" }, { "id": "id-3", "name": null }],
            "allowed": [], "banned": [], "public": true, "maturity": "general", "agent_limit": 40,
            "water_m": 20.0, "raise_m": 100.0, "lower_m": 4.0, "flags": 1,
        });
        let text = estate_text(&estate);
        assert!(text.starts_with("estate    Old Harbour of Harbour\nowner     id-1\n"), "{text}");
        assert!(text.contains("managers  Ada Lovelace, id-3\n") && text.contains("banned    -\n"), "{text}");
    }

    #[test]
    fn parcels_are_told_with_their_owners() {
        let row = json!({ "number": 3, "area_m2": 512, "prims": 7, "owner": null, "owner_name": null, "name": "Quay" });
        assert_eq!(
            parcels_text(&json!([row])),
            "    3       512 m²       7 prims  public  Quay\n1 parcels\n"
        );
        let parcel = json!({
            "number": 3, "id": "id-9", "name": "Quay", "owner_name": "Ada Lovelace", "area_m2": 512,
            "settings": ["fly", "build"], "landing": "point", "landing_point": [1.0, 2.0, 3.0],
            "auto_return_min": 0, "description": "", "music_url": "http://example.org/", "media_url": "",
            "price": 5, "allowed": [], "banned": [{ "id": "id-2", "name": "Eve Byron", "expires_s": null }],
        });
        let text = parcel_text(&parcel);
        assert!(
            text.contains("allows     fly, build\n") && text.contains("banned     Eve Byron\n"),
            "{text}"
        );
        assert!(!text.contains("text ") && text.contains("for sale   5\n"), "{text}");
    }
}
