//! Objects that left the regions for their owners.

use super::PATIENCE;
use crate::operator::{self, OperatorError, path_part};
use ids::HeldKey;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// A part of a list.
#[derive(Deserialize)]
struct HeldList {
    objects: Vec<Value>,
    damaged: u64,
    next: Option<u64>,
}

pub(super) fn list(
    data: &Path,
    owner: Option<&str>,
    region: Option<&str>,
    json: bool,
) -> Result<String, OperatorError> {
    let (mut rows, mut n_damaged, mut after) = (Vec::new(), 0, None);
    loop {
        let path = format!("/v1/held{}", query(owner, region, after));
        let part: HeldList = serde_json::from_str(&operator::get(data, &path)?)?;
        rows.extend(part.objects);
        n_damaged += part.damaged;
        after = part.next;
        if after.is_none() {
            break;
        }
    }
    Ok(if json {
        format!("{}\n", json!({ "objects": rows, "damaged": n_damaged }))
    } else {
        table(&rows, n_damaged)
    })
}

fn query(owner: Option<&str>, region: Option<&str>, after: Option<u64>) -> String {
    let after = after.map(|after| after.to_string());
    let parts = [("owner", owner), ("region", region), ("after", after.as_deref())];
    let given = parts.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let mut query = String::new();
    for (key, value) in given {
        let sign = if query.is_empty() { '?' } else { '&' };
        let _ = write!(query, "{sign}{key}={}", path_part(value));
    }
    query
}

/// A line for each object: key, prims, reason, region, place, owner, name.
fn table(rows: &[Value], n_damaged: u64) -> String {
    let mut out = String::new();
    for row in rows {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let place: Vec<String> = row["position"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|metres| format!("{:.1}", metres.as_f64().unwrap_or_default()))
            .collect();
        let owner = row["owner_name"].as_str().unwrap_or_else(|| text("owner"));
        let way = if row["on_its_way_to"].is_null() { "" } else { "  on its way" };
        let _ = writeln!(
            out,
            "{:<12}  {:>5} prims  {:<9}  {} <{}>  {owner}  {}{way}",
            text("held"),
            row["prims"].as_u64().unwrap_or_default(),
            text("kind"),
            text("region"),
            place.join(", "),
            text("name")
        );
    }
    let _ = writeln!(out, "{} objects", rows.len());
    if n_damaged > 0 {
        let _ = writeln!(out, "{n_damaged} objects cannot be read");
    }
    out
}

pub(super) fn restore(
    data: &Path,
    held: HeldKey,
    region: Option<&str>,
    at: Option<[f32; 3]>,
    json: bool,
) -> Result<String, OperatorError> {
    let body = json!({ "region": region, "position": at });
    let answer = operator::command_within(PATIENCE, data, &format!("/v1/held/{held}/restore"), &body)?;
    let told: Value = serde_json::from_str(&answer)?;
    let region = told["region"].as_str().unwrap_or_default();
    Ok(if json { format!("{told}\n") } else { format!("{held} is in {region} again.\n") })
}

pub(super) fn discard(data: &Path, held: HeldKey, json: bool) -> Result<String, OperatorError> {
    let answer = operator::command(data, &format!("/v1/held/{held}/discard"), &json!({}))?;
    let told: Value = serde_json::from_str(&answer)?;
    Ok(if json { format!("{told}\n") } else { format!("{held} is gone.\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_become_a_query() {
        assert_eq!(query(None, None, None), "");
        assert_eq!(query(None, Some("Harbour"), None), "?region=Harbour");
        assert_eq!(query(Some("Ada Lovelace"), None, Some(9)), "?owner=Ada%20Lovelace&after=9");
    }

    #[test]
    fn a_list_names_key_reason_and_owner() {
        let row = json!({
            "held": "1-27",
            "region": "Harbour",
            "name": "Gate",
            "owner": "00000000-0000-0000-0000-000000000002",
            "owner_name": "Ada Lovelace",
            "kind": "return",
            "prims": 3,
            "position": [1.0, 2.5, 30.0],
            "held_s": 1_700_000_000,
            "on_its_way_to": null,
        });
        let line = "1-27              3 prims  return     Harbour <1.0, 2.5, 30.0>  Ada Lovelace  Gate\n";
        assert_eq!(table(&[row], 0), format!("{line}1 objects\n"));
        assert_eq!(table(&[], 2), "0 objects\n2 objects cannot be read\n");
    }
}
