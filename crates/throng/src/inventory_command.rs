//! `throng inventory` and `throng give`: accounts' belongings, on a running server.

use crate::cli::{GiveArgs, InventoryCommand};
use crate::operator::{self, OperatorError, path_part};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// An inventory of 200,000 items is read from the disk.
const PATIENCE: Duration = Duration::from_secs(120);

/// Reasons for which nothing is given.
#[derive(Debug, thiserror::Error)]
pub enum GiveCommandError {
    /// The last word of the command line.
    #[error("{0}")]
    Usage(String),
    /// The server.
    #[error(transparent)]
    Operator(#[from] OperatorError),
}

/// Runs a command; returns its output.
///
/// # Errors
/// If no server runs there, or it refuses.
pub fn run(command: InventoryCommand) -> Result<String, OperatorError> {
    let InventoryCommand::Show { name, json, data } = command;
    let path = format!("/v1/users/{}/inventory", path_part(&name.name()));
    let inventory: Value = serde_json::from_str(&operator::get_within(PATIENCE, &data.data, &path)?)?;
    Ok(if json { format!("{inventory}\n") } else { tree(&inventory) })
}

/// Gives a thing; returns the command's output.
///
/// # Errors
/// If the last word is no id, no server runs there, or it refuses.
pub fn give(args: &GiveArgs) -> Result<String, GiveCommandError> {
    let (receiver, id) = args.receiver_and_id().map_err(GiveCommandError::Usage)?;
    let path = format!("/v1/users/{}/inventory", path_part(&receiver));
    let key = if args.from.is_some() { "item" } else { "asset" };
    let mut order = json!({ "from": args.from, "name": args.name });
    order[key] = id.to_string().into();
    let answer = operator::command_within(PATIENCE, &args.data.data, &path, &order)?;
    let given: Value = serde_json::from_str(&answer).map_err(OperatorError::from)?;
    if args.json {
        return Ok(format!("{given}\n"));
    }
    let text = |key: &str| given[key].as_str().unwrap_or_default();
    Ok(format!("{} has {:?} now, as the item {}.\n", text("owner_name"), text("name"), text("item")))
}

/// A line for each folder, indented by its depth, and one for each item without content.
fn tree(inventory: &Value) -> String {
    let mut out = String::new();
    for folder in inventory["folders"].as_array().into_iter().flatten() {
        let number = |key: &str| folder[key].as_u64().unwrap_or_default();
        // Damaged rows may be deep.
        let indent = "  ".repeat(number("depth").min(64) as usize);
        let name = folder["name"].as_str().unwrap_or_default();
        let _ = write!(out, "{indent}{name}  {}", number("items"));
        for (key, noun) in [("links", "links"), ("missing", "without content")] {
            if number(key) > 0 {
                let _ = write!(out, ", {} {noun}", number(key));
            }
        }
        out.push_str(if folder["lost"] == true { "  (no folder leads to it)\n" } else { "\n" });
    }
    for item in inventory["missing_items"].as_array().into_iter().flatten() {
        let text = |key: &str| item[key].as_str().unwrap_or_default();
        let why = item["damage"].as_str().unwrap_or("there is no such asset");
        let _ = writeln!(out, "missing {} {:?}: asset {}: {why}", text("id"), text("name"), text("asset"));
    }
    let _ = writeln!(
        out,
        "{}: {} folders, {} items, {} of these links; {} without content",
        inventory["owner_name"].as_str().unwrap_or_default(),
        inventory["folders"].as_array().map_or(0, Vec::len),
        inventory["items"],
        inventory["links"],
        inventory["missing"]
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_is_a_tree_with_its_gaps() {
        let folder = |name: &str, depth, items, links, missing, lost| json!({ "name": name, "depth": depth, "items": items, "links": links, "missing": missing, "lost": lost });
        let inventory = json!({
            "owner_name": "Ada Lovelace", "items": 9, "links": 4, "missing": 1,
            "folders": [
                folder("My Inventory", 0, 0, 0, 0, false),
                folder("Clothing", 1, 5, 4, 1, false),
                folder("Adrift", 0, 4, 0, 0, true),
            ],
            "missing_items": [{ "id": "id-1", "name": "Hat", "asset": "id-2", "damage": null }],
        });
        assert_eq!(
            tree(&inventory),
            "My Inventory  0\n  Clothing  5, 4 links, 1 without content\nAdrift  4  (no folder leads to it)\n\
             missing id-1 \"Hat\": asset id-2: there is no such asset\n\
             Ada Lovelace: 3 folders, 9 items, 4 of these links; 1 without content\n"
        );
    }
}
