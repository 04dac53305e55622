//! The second step: the bytes have come, and become assets and an item.

use super::model::linkset::{self, FileIds};
use super::model::{BadModel, MODEL_BODY_BYTES_MAX, MODEL_LIMITS, Model, object};
use super::{ContentOrder, UploadRefusal};
use crate::random_id;
use assets::{AssetHash, AssetKind, ItemChange, NewAsset, NewAssets, SizeLimits, check_asset};
use bytes::Bytes;
use ids::{AgentId, Uuid, WorldId};
use keeper::Order;
use link::ContentReplacement;
use store::{InventoryChange, Item, ItemUpdate};
use wire::llsd::{Llsd, xml};

/// Origin of uploaded assets.
pub(crate) const UPLOAD_ORIGIN: &str = "upload";

/// Purpose of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UploadPurpose {
    /// A texture of an avatar, composed by its client: a temporary asset.
    Bake,
    /// The asset of a new item.
    NewItem {
        /// Kind of the asset.
        kind: AssetKind,
        /// The item, which names the asset by its id to be.
        item: Box<Item>,
    },
    /// A model, of which an object is made: meshes and textures, and the object's item.
    Model(Box<Item>),
    /// New content of an item.
    Content {
        /// The item.
        item: Uuid,
        /// Its kind.
        kind: AssetKind,
        /// Id of the asset to be.
        asset: Uuid,
    },
    /// New content of an item in an object.
    TaskContent {
        /// The region with the object.
        region: WorldId,
        /// The order for its world, with the id of the asset to be.
        replacement: ContentReplacement,
        /// Kind of the item.
        kind: AssetKind,
    },
}

/// An upload that is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedUpload {
    /// Assets, with the item that names them.
    pub assets: NewAssets,
    /// Order for a region, to be given once they are stored.
    pub order: Option<ContentOrder>,
    /// Answer for the client, at the end of both.
    pub answer: Llsd,
}

impl UploadPurpose {
    /// Bytes that are taken for it.
    #[must_use]
    pub fn bytes_max(&self, limits: &SizeLimits) -> usize {
        match self {
            Self::Bake => limits.bytes_max(AssetKind::Texture),
            Self::NewItem { kind, .. } | Self::Content { kind, .. } | Self::TaskContent { kind, .. } => {
                limits.bytes_max(*kind)
            }
            Self::Model(_) => MODEL_BODY_BYTES_MAX,
        }
    }

    /// In words, for a message to the user: "texture".
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bake => "baked texture",
            Self::NewItem { kind, .. } | Self::Content { kind, .. } | Self::TaskContent { kind, .. } => {
                kind.name()
            }
            Self::Model(_) => "model",
        }
    }

    /// Makes assets of the bytes. Takes time with a model.
    ///
    /// # Errors
    /// [`UploadRefusal`].
    pub fn finish(
        self,
        agent: AgentId,
        bytes: Bytes,
        limits: &SizeLimits,
    ) -> Result<FinishedUpload, UploadRefusal> {
        match self {
            Self::Bake => finish_bake(agent, bytes, limits),
            Self::NewItem { kind, item } => {
                check_asset(kind, &bytes, limits)?;
                let asset = new_asset(item.asset, kind, bytes, agent);
                Ok(with_item(agent, vec![asset], *item))
            }
            Self::Model(item) => finish_model(agent, &bytes, *item, limits),
            Self::Content { item, kind, asset } => finish_content(agent, (item, kind, asset), bytes, limits),
            Self::TaskContent { region, replacement, kind } => {
                check_asset(kind, &bytes, limits)?;
                let ContentReplacement { item, asset, .. } = replacement;
                let assets = NewAssets { assets: vec![new_asset(asset, kind, bytes, agent)], item: None };
                let order = Some(ContentOrder { region, order: Order::Content(replacement) });
                Ok(FinishedUpload { assets, order, answer: content_complete(asset, item, kind) })
            }
        }
    }
}

fn finish_bake(agent: AgentId, bytes: Bytes, limits: &SizeLimits) -> Result<FinishedUpload, UploadRefusal> {
    let kind = AssetKind::Texture;
    check_asset(kind, &bytes, limits)?;
    let id = bake_id(agent, &bytes);
    let asset = NewAsset { is_temporary: true, ..new_asset(id, kind, bytes, agent) };
    let answer = complete(id, Uuid::nil(), Vec::new());
    Ok(FinishedUpload { assets: NewAssets { assets: vec![asset], item: None }, order: None, answer })
}

/// Id of a bake: the same texture of the same account has the same one, so that a client which bakes anew adds nothing.
fn bake_id(agent: AgentId, bytes: &[u8]) -> Uuid {
    let of_both = [agent.0.as_bytes(), &AssetHash::of(bytes).0[..]].concat();
    let hash = AssetHash::of(&of_both).0;
    let first = hash.first_chunk::<16>().expect("a hash has 32 bytes");
    Uuid::from_u128(u128::from_be_bytes(*first))
}

fn finish_content(
    agent: AgentId,
    (item, kind, asset): (Uuid, AssetKind, Uuid),
    bytes: Bytes,
    limits: &SizeLimits,
) -> Result<FinishedUpload, UploadRefusal> {
    check_asset(kind, &bytes, limits)?;
    let update = ItemUpdate { item, asset: Some(asset), ..ItemUpdate::default() };
    let assets = NewAssets {
        assets: vec![new_asset(asset, kind, bytes, agent)],
        item: Some(change_of(agent, InventoryChange::UpdateItem(update))),
    };
    Ok(FinishedUpload { assets, order: None, answer: content_complete(asset, item, kind) })
}

fn content_complete(asset: Uuid, item: Uuid, kind: AssetKind) -> Llsd {
    // Scripts do not run, so that each is as good as compiled: a viewer's editor ends its wait without errors to show.
    let of_scripts = vec![("compiled", Llsd::from(true)), ("errors", Llsd::Array(Vec::new()))];
    complete(asset, item, if kind == AssetKind::Script { of_scripts } else { Vec::new() })
}

fn finish_model(
    agent: AgentId,
    body: &[u8],
    item: Item,
    limits: &SizeLimits,
) -> Result<FinishedUpload, UploadRefusal> {
    let resources = xml::decode(body, MODEL_LIMITS).map_err(UploadRefusal::Markup)?;
    let model = Model::read(resources, limits)?;
    let meshes = model.meshes.iter().map(|_| random_id()).collect::<Result<Vec<_>, _>>()?;
    let id_of = |texture: &Bytes| (!texture.is_empty()).then(random_id).transpose();
    let textures = model.textures.iter().map(id_of).collect::<Result<Vec<_>, _>>()?;
    let files = FileIds { meshes: &meshes, textures: &textures };
    let prims = linkset::prims(&model, files, &item, agent, random_id)??;
    let document = Bytes::from(object::document(prims).ok_or(BadModel::Missing("parts"))?);
    check_asset(AssetKind::Object, &document, limits)?;
    let mut assets = vec![new_asset(item.asset, AssetKind::Object, document, agent)];
    for (id, bytes) in meshes.into_iter().zip(model.meshes) {
        assets.push(new_asset(id, AssetKind::Mesh, bytes, agent));
    }
    for (id, bytes) in textures.into_iter().zip(model.textures) {
        assets.extend(id.map(|id| new_asset(id, AssetKind::Texture, bytes, agent)));
    }
    Ok(with_item(agent, assets, item))
}

fn new_asset(id: Uuid, kind: AssetKind, bytes: Bytes, creator: AgentId) -> NewAsset {
    NewAsset { id, kind, bytes, creator, origin: UPLOAD_ORIGIN.into(), is_temporary: false }
}

fn change_of(owner: AgentId, change: InventoryChange) -> ItemChange {
    ItemChange { owner, change }
}

/// Assets with a new item. Viewers make the item of the answer, without asking for it again.
fn with_item(agent: AgentId, assets: Vec<NewAsset>, item: Item) -> FinishedUpload {
    let permissions = &item.permissions;
    let further = [
        ("new_next_owner_mask", permissions.next_owner),
        ("new_group_mask", permissions.group_mask),
        ("new_everyone_mask", permissions.everyone),
        ("inventory_flags", item.flags),
    ];
    let further = further.map(|(key, bits)| (key, Llsd::Integer(bits.cast_signed())));
    let answer = complete(item.asset, item.id, further.into());
    let change = change_of(agent, InventoryChange::CreateItem(item));
    FinishedUpload { assets: NewAssets { assets, item: Some(change) }, order: None, answer }
}

fn complete(asset: Uuid, item: Uuid, further: Vec<(&'static str, Llsd)>) -> Llsd {
    let own =
        [("state", Llsd::from("complete")), ("new_asset", asset.into()), ("new_inventory_item", item.into())];
    Llsd::map(own.into_iter().chain(further))
}
