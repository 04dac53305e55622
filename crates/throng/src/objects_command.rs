//! `throng objects`: lists, shows, returns and deletes objects of a running server's regions, and those that are held outside of them.

mod held;

use crate::cli::{ObjectFilterArgs, ObjectsCommand, RemovalArgs};
use crate::operator::{self, OperatorError, path_part};
use ids::Uuid;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// Objects of one answer: a third of a megabyte at most.
const PAGE: u32 = 500;
/// A request takes ten ticks and more.
const PATIENCE: Duration = Duration::from_secs(120);

/// A region, as far as it is needed here.
#[derive(Deserialize)]
struct Region {
    name: String,
}

/// A part of a list.
#[derive(Deserialize)]
struct ObjectList {
    objects: Vec<Value>,
    next: Option<u32>,
}

/// Result of a return or a deletion.
#[derive(Deserialize)]
struct Removed {
    matching: u64,
    chosen: u64,
    done: u64,
    refused: u64,
    reason: Option<String>,
    next: Option<u32>,
}

/// Runs a command; returns its output, and true if nothing was refused.
///
/// # Errors
/// When no server runs there, or it refuses.
pub fn run(command: ObjectsCommand) -> Result<(String, bool), OperatorError> {
    match command {
        ObjectsCommand::List { filter, json, data } => Ok((list(&data.data, &filter, json)?, true)),
        ObjectsCommand::Show { id, region, json, data } => Ok((show(&data.data, id, region, json)?, true)),
        ObjectsCommand::Return(args) => remove(&args, "return"),
        ObjectsCommand::Delete(args) => remove(&args, "delete"),
        ObjectsCommand::Held { owner, region, json, data } => {
            Ok((held::list(&data.data, owner.as_deref(), region.as_deref(), json)?, true))
        }
        ObjectsCommand::Restore { held, region, at, json, data } => {
            Ok((held::restore(&data.data, held, region.as_deref(), at, json)?, true))
        }
        ObjectsCommand::Discard { held, json, data } => Ok((held::discard(&data.data, held, json)?, true)),
    }
}

/// The named region, or all.
fn regions(data: &Path, named: Option<&str>) -> Result<Vec<String>, OperatorError> {
    if let Some(name) = named {
        return Ok(vec![name.to_owned()]);
    }
    let regions: Vec<Region> = serde_json::from_str(&operator::get(data, "/v1/regions")?)?;
    Ok(regions.into_iter().map(|region| region.name).collect())
}

fn list(data: &Path, filter: &ObjectFilterArgs, json: bool) -> Result<String, OperatorError> {
    let mut rows = Vec::new();
    for region in regions(data, filter.region.as_deref())? {
        let mut after = None;
        loop {
            let path = format!("/v1/regions/{}/objects?{}", path_part(&region), query(filter, after));
            let part: ObjectList = serde_json::from_str(&operator::get(data, &path)?)?;
            rows.extend(part.objects.into_iter().map(|mut object| {
                object["region"] = region.as_str().into();
                object
            }));
            after = part.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(if json { format!("{}\n", json!({ "objects": rows })) } else { table(&rows) })
}

fn query(filter: &ObjectFilterArgs, after: Option<u32>) -> String {
    let ObjectFilterArgs { region: _, owner, parcel, within } = filter;
    let mut query = format!("limit={PAGE}");
    if let Some(owner) = owner {
        let _ = write!(query, "&owner={}", path_part(owner));
    }
    if let Some(parcel) = parcel {
        let _ = write!(query, "&parcel={parcel}");
    }
    if let Some([x, y, z, r]) = within {
        let _ = write!(query, "&within={x},{y},{z},{r}");
    }
    if let Some(after) = after {
        let _ = write!(query, "&after={after}");
    }
    query
}

/// A line for each object: id, prims, place, flags, owner, name.
fn table(rows: &[Value]) -> String {
    let mut out = String::new();
    for row in rows {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let place: Vec<String> = row["position"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|metres| format!("{:.1}", metres.as_f64().unwrap_or_default()))
            .collect();
        let flags: String = [("physical", 'P'), ("temporary", 'T'), ("phantom", 'I')]
            .into_iter()
            .map(|(key, letter)| if row[key] == true { letter } else { '-' })
            .collect();
        let owner = row["owner_name"].as_str().unwrap_or_else(|| text("owner"));
        let _ = writeln!(
            out,
            "{}  {:>5} prims  {flags}  {} <{}>  {owner}  {}",
            text("id"),
            row["prims"].as_u64().unwrap_or_default(),
            text("region"),
            place.join(", "),
            text("name")
        );
    }
    let _ = writeln!(out, "{} objects", rows.len());
    out
}

fn show(data: &Path, id: Uuid, region: Option<String>, json: bool) -> Result<String, OperatorError> {
    let mut refusal = None;
    for region in regions(data, region.as_deref())? {
        match operator::get(data, &format!("/v1/regions/{}/objects/{id}", path_part(&region))) {
            Ok(text) => {
                let mut details: Value = serde_json::from_str(&text)?;
                details["object"]["region"] = region.into();
                return Ok(if json { format!("{details}\n") } else { details_text(&details) });
            }
            // It may be in the next one.
            Err(error @ OperatorError::Refused(_)) => refusal = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refusal.unwrap_or_else(|| OperatorError::Refused(format!("There is no object {id}."))))
}

fn details_text(details: &Value) -> String {
    let object = &details["object"];
    let mut out = table(std::slice::from_ref(object));
    out.truncate(out.trim_end().rfind('\n').map_or(0, |end| end + 1));
    let owner_of = |row: &Value, key: &str| {
        let name = row[format!("{key}_name")].as_str().or_else(|| row[key].as_str());
        name.unwrap_or_default().to_owned()
    };
    let _ = writeln!(out, "creator      {}", owner_of(object, "creator"));
    let _ = writeln!(out, "description  {}", details["description"].as_str().unwrap_or_default());
    let _ = writeln!(out, "size         {} m", details["size_m"]);
    let _ = writeln!(out, "masks        {}", details["masks"]);
    for part in details["parts"].as_array().into_iter().flatten() {
        let text = |key: &str| part[key].as_str().unwrap_or_default();
        let _ = writeln!(out, "part         {}  {}", text("id"), text("name"));
    }
    out
}

fn remove(args: &RemovalArgs, deed: &str) -> Result<(String, bool), OperatorError> {
    let RemovalArgs { filter, dry_run, json, data } = args;
    let mut rows = Vec::new();
    let mut text = String::new();
    let mut n_refused = 0;
    for region in regions(&data.data, filter.region.as_deref())? {
        let all = remove_from(&data.data, &region, filter, deed, *dry_run)?;
        n_refused += all.refused;
        let Removed { matching, chosen, done, refused, reason, .. } = all;
        let why = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        let _ = match dry_run {
            true => writeln!(text, "{region}: {matching} objects meet the conditions; nothing is changed."),
            false => {
                writeln!(text, "{region}: {deed} of {chosen} objects: {done} done, {refused} refused{why}.")
            }
        };
        rows.push(json!({
            "region": region,
            "matching": matching,
            "chosen": chosen,
            "done": done,
            "refused": refused,
            "reason": reason,
        }));
    }
    let text = if *json { format!("{}\n", json!({ "dry_run": dry_run, "regions": rows })) } else { text };
    Ok((text, n_refused == 0))
}

/// Orders part after part, with a line on standard error after each but the last.
fn remove_from(
    data: &Path,
    region: &str,
    filter: &ObjectFilterArgs,
    deed: &str,
    dry_run: bool,
) -> Result<Removed, OperatorError> {
    let path = format!("/v1/regions/{}/objects/{deed}", path_part(region));
    let ObjectFilterArgs { owner, parcel, within, .. } = filter;
    let mut all: Option<Removed> = None;
    loop {
        let after = all.as_ref().and_then(|all| all.next);
        let body =
            json!({ "owner": owner, "parcel": parcel, "within": within, "after": after, "dry_run": dry_run });
        let part: Removed = serde_json::from_str(&operator::command_within(PATIENCE, data, &path, &body)?)?;
        let total = match all.take() {
            None => part,
            Some(all) => Removed {
                matching: all.matching,
                chosen: all.chosen + part.chosen,
                done: all.done + part.done,
                refused: all.refused + part.refused,
                reason: all.reason.or(part.reason),
                next: part.next,
            },
        };
        // One answer counts all that meet the conditions.
        if total.next.is_none() || dry_run {
            return Ok(total);
        }
        // Progress is for a watching operator; without one, it is lost.
        let _ = writeln!(std::io::stderr(), "{region}: {} of {} objects", total.chosen, total.matching);
        all = Some(total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_become_a_query() {
        let filter = ObjectFilterArgs {
            region: Some("Harbour".into()),
            owner: Some("Ada Lovelace".into()),
            parcel: Some(3),
            within: Some([1.0, 2.5, -3.0, 4.0]),
        };
        let expected = "limit=500&owner=Ada%20Lovelace&parcel=3&within=1,2.5,-3,4&after=9";
        assert_eq!(query(&filter, Some(9)), expected);
        assert_eq!(query(&ObjectFilterArgs::default(), None), "limit=500");
    }

    #[test]
    fn a_list_names_owner_place_and_flags() {
        let row = json!({
            "id": "00000000-0000-0000-0000-000000000001",
            "region": "Harbour",
            "name": "Gate",
            "owner": "00000000-0000-0000-0000-000000000002",
            "owner_name": "Ada Lovelace",
            "prims": 3,
            "position": [1.0, 2.5, 30.0],
            "physical": false,
            "temporary": false,
            "phantom": true,
        });
        let text = table(&[row]);
        let line = "00000000-0000-0000-0000-000000000001      3 prims  --I  Harbour <1.0, 2.5, 30.0>  Ada Lovelace  Gate\n";
        assert_eq!(text, format!("{line}1 objects\n"));
    }
}
