//! The seed capability and those that it names. The secret in the path identifies the caller, never an id in the
//! request.

use super::holder::{base_url, holder, unknown};
use super::reply::{error, failed, llsd, read_llsd, read_map};
use super::{HttpState, assets, blocking, land, notecards, object_capabilities, object_contents, uploads};
use crate::coverage::is_granted;
use crate::hub::Holder;
use crate::map_layers::map_layers_llsd;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use grid::capability::{self, SimulatorFeatures};
use grid::inventory::{self, InventoryTree};
use grid::uploads::UploadCall;
use std::sync::Arc;
use store::StoreError;
use wire::llsd::Llsd;

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
    if let Some(call) = UploadCall::of_capability(&name).filter(|_| method == Method::POST) {
        return uploads::begin(&state, &holder, &base, call, body).await;
    }
    match name.as_str() {
        "FetchInventoryDescendents2" | "FetchInventory2" | "FetchLibDescendents2" | "FetchLib2" => {
            inventory(&state, &holder, name, &body).await
        }
        "GetDisplayNames" => from_store(&state, move |store| capability::display_names(store, &query)).await,
        "AvatarPickerSearch" => {
            from_store(&state, move |store| capability::avatar_search(store, &query)).await
        }
        "MeshUploadFlag" if method == Method::GET => {
            from_store(&state, move |store| capability::mesh_upload_flag(store, holder.agent)).await
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
        "RequestTaskInventory" if method == Method::GET => object_contents::get(&holder, &query),
        "AttachmentResources" if method == Method::GET => object_capabilities::attachment_resources(&holder),
        "ViewerAsset" | "GetTexture" | "GetMesh" | "GetMesh2"
            if method == Method::GET || method == Method::HEAD =>
        {
            assets::get(&state, &holder, &name, &query, &method, &headers).await
        }
        "CreateInventoryCategory" if method == Method::POST => create_category(&state, &holder, &body).await,
        "CopyInventoryFromNotecard" if method == Method::POST => {
            notecards::copy(&state, &holder, &body).await
        }
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

/// Makes a folder. Order and budget of UDP requests do not hold for it: a client has as many connections as the listener lets it have, and waits for the reply.
async fn create_category(state: &Arc<HttpState>, holder: &Holder, body: &Bytes) -> Response {
    let request = match read_map(body) {
        Ok(request) => request,
        Err(response) => return *response,
    };
    let (store, agent) = (Arc::clone(&state.store), holder.agent);
    match blocking(move || inventory::create_category(&store, agent, &request)).await {
        Ok(Ok(folder)) => llsd(&folder),
        Ok(Err(why)) => error(StatusCode::FORBIDDEN, &format!("Your inventory refuses the change: {why}.")),
        Err(why) => failed("making a folder", &why),
    }
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
