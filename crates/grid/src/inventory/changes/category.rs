//! CreateInventoryCategory, the capability that makes a folder.

use super::{ChangeInventoryError, ChangeRefusal, folders, text};
use ids::AgentId;
use store::Store;
use uuid::Uuid;
use wire::llsd::Llsd;

/// Makes a folder of the agent: `{folder_id, parent_id, type, name}`. The reply is the same map, as the folder has become.
///
/// # Errors
/// [`ChangeInventoryError`]; within the result, the reason for which no folder was made.
pub fn create_category(
    store: &Store,
    agent: AgentId,
    request: &Llsd,
) -> Result<Result<Llsd, ChangeRefusal>, ChangeInventoryError> {
    let id_of = |key| request.get(key).as_uuid().unwrap_or(Uuid::nil());
    let (id, parent) = (id_of("folder_id"), id_of("parent_id"));
    let folder_type = request.get("type").as_i32().unwrap_or(-1);
    let name = request.get("name").as_str().and_then(text::name_of);
    let change = match folders::new_folder(id, parent, folder_type, name) {
        Ok(change) => change,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let outcomes = store.change_inventory(agent, &[change], &store.inventory_limits())?;
    let outcome = outcomes.into_iter().next().expect("the store has an outcome for each change");
    if let Err(refusal) = outcome {
        return Ok(Err(refusal.into()));
    }
    let name = store.folder(agent, id)?.map(|folder| folder.name).unwrap_or_default();
    Ok(Ok(Llsd::map([
        ("folder_id", Llsd::from(id)),
        ("parent_id", parent.into()),
        ("type", folder_type.into()),
        ("name", name.into()),
    ])))
}
