//! The seed capability and those that it names. The secret in the path identifies the caller, never an id in the
//! request.

use super::reply::{error, failed, llsd, read_llsd, read_map};
use super::{HttpState, blocking, land, object_capabilities};
use crate::coverage::is_granted;
use crate::hub::Holder;
use crate::map_layers::map_layers_llsd;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use grid::capability::{self, AssetReply, SimulatorFeatures};
use grid::inventory::{self, InventoryTree};
use ids::Uuid;
use std::sync::Arc;
use store::StoreError;
use wire::llsd::Llsd;

/// Name of the address to which UploadBakedTexture sends clients.
const BAKE_UPLOADER: &str = "BakedTexture";

/// `POST /cap/{secret}`: an array of names comes in, a map of those granted goes out. Unknown names are left out.
pub(super) async fn seed(
    State(state): State<Arc<HttpState>>,
    Path(secret): Path<String>,
    body: Bytes,
) -> Response {
    let Some((secret, holder)) = holder(&state, &secret) else { return unknown() };
    let wanted = match read_llsd(&body) {
        Ok(wanted) => wanted,
        Err(response) => return *response,
    };
    if !matches!(wanted, Llsd::Array(_)) {
        return error(StatusCode::BAD_REQUEST, "The seed takes an array of names.");
    }
    let base = base_url(&state, &holder, secret);
    let granted = wanted.as_array().iter().filter_map(|name| {
        let name = name.as_str().filter(|name| is_granted(name))?;
        Some((name, Llsd::from(format!("{base}/{name}"))))
    });
    llsd(&Llsd::map(granted))
}

/// Base URL of a client's capabilities.
fn base_url(state: &HttpState, holder: &Holder, secret: Uuid) -> String {
    format!("http://{}:{}/cap/{secret}", holder.server_ip, state.settings.http_port)
}

/// `/cap/{secret}/{name}`.
pub(super) async fn call(
    State(state): State<Arc<HttpState>>,
    Path((secret, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some((secret, holder)) = holder(&state, &secret) else { return unknown() };
    let query = query.unwrap_or_default();
    let base = base_url(&state, &holder, secret);
    if let Some(response) = land::call(&state, &holder, &name, &method, &query, &body, &base) {
        return response;
    }
    match name.as_str() {
        "FetchInventoryDescendents2" | "FetchInventory2" | "FetchLibDescendents2" | "FetchLib2" => {
            inventory(&state, &holder, name, &body).await
        }
        "GetDisplayNames" => from_store(&state, move |store| capability::display_names(store, &query)).await,
        "AvatarPickerSearch" => {
            from_store(&state, move |store| capability::avatar_search(store, &query)).await
        }
        "SimulatorFeatures" => llsd(&capability::simulator_features(&SimulatorFeatures {
            map_server_url: Some(state.map_url(holder.server_ip)),
            ..state.settings.features.clone()
        })),
        "MapLayer" if method == Method::POST => match read_map(&body) {
            Ok(request) => {
                llsd(&map_layers_llsd(&state.places, request.get("Flags").as_i32().unwrap_or_default()))
            }
            Err(response) => *response,
        },
        "RenderMaterials" if [Method::GET, Method::POST, Method::PUT].contains(&method) => {
            object_capabilities::render_materials(&state, &holder, &method, &body).await
        }
        "ObjectMedia"
        | "ObjectMediaNavigate"
        | "ModifyMaterialParams"
        | "GetObjectCost"
        | "GetObjectPhysicsData"
        | "ResourceCostSelected"
            if method == Method::POST =>
        {
            object_capabilities::post(&state, &holder, &name, &body)
        }
        "AttachmentResources" if method == Method::GET => object_capabilities::attachment_resources(&holder),
        "ViewerAsset" | "GetTexture" if method == Method::GET => {
            let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
            asset(capability::viewer_asset(&state.textures, &query, range))
        }
        "UploadBakedTexture" if method == Method::POST => llsd(&Llsd::map([
            ("state", Llsd::from("upload")),
            ("uploader", format!("{base}/{BAKE_UPLOADER}").into()),
        ])),
        BAKE_UPLOADER if method == Method::POST => match state.textures.keep_texture(holder.agent, &body) {
            Ok(id) => llsd(&Llsd::map([
                ("state", Llsd::from("complete")),
                ("new_asset", id.into()),
                ("new_inventory_item", Uuid::nil().into()),
            ])),
            Err(why) => error(StatusCode::BAD_REQUEST, &format!("{why}.")),
        },
        name if is_granted(name) => {
            error(StatusCode::METHOD_NOT_ALLOWED, "This capability does not take that method.")
        }
        _ => unknown(),
    }
}

async fn inventory(state: &Arc<HttpState>, holder: &Holder, name: String, body: &Bytes) -> Response {
    let request = match read_map(body) {
        Ok(request) => request,
        Err(response) => return *response,
    };
    let agent = holder.agent;
    from_store(state, move |store| {
        let tree = if name.starts_with("FetchLib") {
            InventoryTree::Library
        } else {
            InventoryTree::Agent(store, agent)
        };
        if name.contains("Descendents") {
            inventory::descendents(tree, &request)
        } else {
            inventory::items(tree, &request)
        }
    })
    .await
}

async fn from_store(
    state: &Arc<HttpState>,
    read: impl FnOnce(&store::Store) -> Result<Llsd, StoreError> + Send + 'static,
) -> Response {
    let store = Arc::clone(&state.store);
    match blocking(move || read(&store)).await {
        Ok(value) => llsd(&value),
        Err(why) => failed("a capability's look-up", &why),
    }
}

fn asset(reply: AssetReply) -> Response {
    let status = StatusCode::from_u16(reply.status).expect("the grid's services know HTTP");
    let mut response = (status, [(header::CONTENT_TYPE, reply.content_type)], reply.body).into_response();
    if let Some(range) = reply.content_range.and_then(|range| range.parse().ok()) {
        response.headers_mut().insert(header::CONTENT_RANGE, range);
    }
    response
}

/// Holder of the secret in a path. Altered, guessed and ended secrets have none, and the hub counts them.
pub(super) fn holder(state: &HttpState, secret: &str) -> Option<(Uuid, Holder)> {
    let secret = Uuid::parse_str(secret).unwrap_or(Uuid::nil());
    state.sessions.with(|hub| hub.holder(secret)).map(|holder| (secret, holder))
}

pub(super) fn unknown() -> Response {
    error(StatusCode::NOT_FOUND, "There is no such capability.")
}
