//! The first step: the request of a capability, and the item that the upload is for.

use super::model::Model;
use super::task::{FindTaskItem, TaskItem};
use super::{BeginUploadError, UploadPurpose, UploadRefusal};
use crate::inventory::{FolderType, InventoryType, StatedItem, may_modify, uploaded_item};
use assets::{AssetKind, SizeLimits};
use ids::AgentId;
use link::ContentReplacement;
use store::{Store, StoreError};
use uuid::Uuid;
use wire::llsd::Llsd;

/// A capability by which clients upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadCall {
    /// A texture of the own avatar, composed by the client.
    Bake,
    /// A new item with its asset, or a model.
    NewFile,
    /// New content of an item of this kind, in the inventory or in an object.
    Content(AssetKind),
}

/// An upload that may begin.
#[derive(Clone, Debug, PartialEq)]
pub struct BegunUpload {
    /// Purpose of the bytes.
    pub purpose: UploadPurpose,
    /// Entries of the answer beside state and address.
    pub answer: Vec<(&'static str, Llsd)>,
}

impl UploadCall {
    /// The call of a capability, by the name that clients have for it. Older viewers have other names for those of scripts. As on OpenSimulator, a request with the id of
    /// an object is for an item in it.
    #[must_use]
    pub fn of_capability(name: &str) -> Option<Self> {
        Some(match name {
            "UploadBakedTexture" => Self::Bake,
            "NewFileAgentInventory" => Self::NewFile,
            "UpdateGestureAgentInventory" | "UpdateGestureTaskInventory" => Self::Content(AssetKind::Gesture),
            "UpdateMaterialAgentInventory" | "UpdateMaterialTaskInventory" => {
                Self::Content(AssetKind::Material)
            }
            "UpdateNotecardAgentInventory" | "UpdateNotecardTaskInventory" => {
                Self::Content(AssetKind::Notecard)
            }
            "UpdateScriptAgent"
            | "UpdateScriptAgentInventory"
            | "UpdateScriptTask"
            | "UpdateScriptTaskInventory" => Self::Content(AssetKind::Script),
            "UpdateSettingsAgentInventory" | "UpdateSettingsTaskInventory" => {
                Self::Content(AssetKind::Settings)
            }
            _ => return None,
        })
    }

    /// Judges a request of the agent. Nothing is stored yet. Reads the store, and takes time with a model's files. `find` knows items in objects of the user's world.
    ///
    /// # Errors
    /// [`BeginUploadError`].
    pub fn begin(
        self,
        store: &Store,
        agent: AgentId,
        find: FindTaskItem<'_>,
        request: Llsd,
        limits: &SizeLimits,
        unix_s: i64,
    ) -> Result<BegunUpload, BeginUploadError> {
        let object = request.get("task_id").as_uuid().filter(|object| !object.is_nil());
        match (self, object) {
            (Self::Content(kind), Some(object)) => begin_task_content(find, object, &request, kind),
            (Self::Bake | Self::NewFile, Some(_)) => Err(UploadRefusal::TaskInventory.into()),
            (Self::Bake, None) => Ok(BegunUpload { purpose: UploadPurpose::Bake, answer: Vec::new() }),
            (Self::NewFile, None) => begin_new_file(store, agent, request, limits, unix_s),
            (Self::Content(kind), None) => begin_content(store, agent, &request, kind),
        }
    }
}

fn begin_new_file(
    store: &Store,
    agent: AgentId,
    request: Llsd,
    limits: &SizeLimits,
    unix_s: i64,
) -> Result<BegunUpload, BeginUploadError> {
    let text = |key| request.get(key).as_str().unwrap_or_default();
    let kind = kind_of(text("asset_type"))?;
    let is_model = kind == AssetKind::Mesh;
    let kind = if is_model { AssetKind::Object } else { kind };
    let is_snapshot = kind == AssetKind::Texture && text("inventory_type") == "snapshot";
    let inventory_type = if is_snapshot { InventoryType::SNAPSHOT } else { InventoryType::of(kind) };
    let folder_type = if is_snapshot { FolderType::PHOTO_ALBUM } else { kind.number() };
    let mask = |key| request.get(key).as_u32().unwrap_or(0);
    let stated = StatedItem {
        folder: folder_of(store, agent, request.get("folder_id").as_uuid(), folder_type)?,
        name: text("name"),
        description: text("description"),
        flags: mask("flags"),
        group: mask("group_mask"),
        everyone: mask("everyone_mask"),
        next_owner: mask("next_owner_mask"),
    };
    let item = Box::new(uploaded_item(agent, kind, inventory_type, &stated, unix_s)?);
    // Viewers show the price, and let their user confirm it.
    let mut answer = vec![("upload_price", Llsd::from(0))];
    if !is_model {
        return Ok(BegunUpload { purpose: UploadPurpose::NewItem { kind, item }, answer });
    }
    if let Some(resources) = take(request, "asset_resources") {
        let model = Model::read(resources, limits).map_err(UploadRefusal::from)?;
        answer.push(("data", weights(model.parts.len())));
    }
    Ok(BegunUpload { purpose: UploadPurpose::Model(item), answer })
}

fn kind_of(type_name: &str) -> Result<AssetKind, UploadRefusal> {
    // OpenSimulator takes this name, too.
    let type_name = if type_name == "animation" { "animatn" } else { type_name };
    match AssetKind::from_type_name(type_name) {
        None => Err(UploadRefusal::UnknownType),
        Some(AssetKind::Object) => Err(UploadRefusal::Object),
        Some(kind) => Ok(kind),
    }
}

/// The folder that a request names; without one that for new items of a kind.
fn folder_of(
    store: &Store,
    agent: AgentId,
    named: Option<Uuid>,
    folder_type: i8,
) -> Result<Uuid, BeginUploadError> {
    let of_type = |folder_type| -> Result<Option<Uuid>, StoreError> {
        Ok(store.folder_of_type(agent, folder_type)?.map(|folder| folder.id))
    };
    let named = named.filter(|named| !named.is_nil());
    let found = match named {
        Some(named) => store.folder(agent, named)?.map(|folder| folder.id),
        None => match of_type(folder_type)? {
            Some(folder) => Some(folder),
            None => of_type(FolderType::ROOT)?,
        },
    };
    found.ok_or_else(|| UploadRefusal::UnknownFolder(named.unwrap_or_default()).into())
}

fn begin_content(
    store: &Store,
    agent: AgentId,
    request: &Llsd,
    kind: AssetKind,
) -> Result<BegunUpload, BeginUploadError> {
    let id = request.get("item_id").as_uuid().unwrap_or_default();
    let item = store.item(agent, id)?.ok_or(UploadRefusal::UnknownItem(id))?;
    if item.asset_type != kind.number() {
        return Err(UploadRefusal::OtherKind(kind).into());
    }
    if !may_modify(&item.permissions) {
        return Err(UploadRefusal::NoModify.into());
    }
    let asset = crate::random_id()?;
    Ok(BegunUpload { purpose: UploadPurpose::Content { item: id, kind, asset }, answer: Vec::new() })
}

/// New content of an item in an object.
fn begin_task_content(
    find: FindTaskItem<'_>,
    object: Uuid,
    request: &Llsd,
    kind: AssetKind,
) -> Result<BegunUpload, BeginUploadError> {
    let item = request.get("item_id").as_uuid().unwrap_or_default();
    let found = find(object, item).ok_or(UploadRefusal::UnknownTaskItem { object, item })?;
    let TaskItem { region, session, asset_type, may_modify } = found;
    if asset_type != kind.number() {
        return Err(UploadRefusal::OtherKind(kind).into());
    }
    if !may_modify {
        return Err(UploadRefusal::NoModify.into());
    }
    let replacement = ContentReplacement { session, object, item, asset_type, asset: crate::random_id()? };
    let purpose = UploadPurpose::TaskContent { region, replacement, kind };
    Ok(BegunUpload { purpose, answer: Vec::new() })
}

/// A value of a map, by itself.
fn take(request: Llsd, key: &str) -> Option<Llsd> {
    match request {
        Llsd::Map(mut entries) => entries.remove(key),
        _ => None,
    }
}

/// Weights of a model, as the window of viewers for models shows them: here each part is a prim. Nothing has a price.
fn weights(n_parts: usize) -> Llsd {
    let prims = || Llsd::from(n_parts as f64);
    let free = ["mesh_streaming", "mesh_physics", "mesh_instance", "texture", "model"];
    Llsd::map([
        ("resource_cost", prims()),
        ("model_streaming_cost", prims()),
        ("simulation_cost", prims()),
        ("physics_cost", prims()),
        ("upload_price_breakdown", Llsd::map(free.map(|part| (part, Llsd::from(0))))),
    ])
}
