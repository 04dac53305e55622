//! ViewerAsset, GetTexture, GetMesh and GetMesh2: bytes of assets by id, whole or in parts.
//!
//! An asset in memory is answered on the thread of the request, with its bytes shared. Otherwise a blocking thread reads it. An asset never changes: its hash is the
//! entity tag, and clients may keep it for ever. An unknown asset is answered at once. [`share`] keeps one client from taking all.

mod range;
mod share;

pub use share::{AssetShares, REQUESTS_MAX};

use super::reply::{error, failed};
use super::{HttpState, blocking};
use crate::hub::Holder;
use assets::{Asset, AssetHash, AssetKind, ReadAssetError};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use ids::Uuid;
use range::{ByteRange, requested_range};
use share::Turn;
use std::sync::Arc;

/// An asset never changes, and its address has the secret of a session.
const FOR_EVER: &str = "private, max-age=31536000, immutable";

/// Answers GET and HEAD of a capability that serves assets.
pub(super) async fn get(
    state: &Arc<HttpState>,
    holder: &Holder,
    name: &str,
    query: &str,
    method: &Method,
    headers: &HeaderMap,
) -> Response {
    let Some((kind, id)) = requested_asset(name, query) else { return not_found() };
    let begun_at = (state.clock)();
    let Some(turn) = state.asset_shares.begin(holder.agent, begun_at) else {
        let mut response =
            error(StatusCode::SERVICE_UNAVAILABLE, "Too many of your requests for assets are under way.");
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        return response;
    };
    let found = match state.assets.cached(id) {
        Some(asset) => Ok(Some(asset)),
        None => read(state, id).await,
    };
    state.asset_times.record((state.clock)() - begun_at);
    let asset = match found {
        Ok(Some(asset)) if asset.kind == kind => asset,
        Ok(_) => return not_found(),
        Err(why) => return failed("reading an asset", &why),
    };
    let response = answer(&asset, headers, *method == Method::HEAD);
    wait_for_turn(state, turn, length_of(&response)).await;
    response
}

async fn read(state: &Arc<HttpState>, id: Uuid) -> Result<Option<Asset>, ReadAssetError> {
    let state = Arc::clone(state);
    blocking(move || state.assets.read(id)).await
}

/// Holds an answer back while its client is over its rate.
async fn wait_for_turn(state: &HttpState, turn: Turn<'_>, bytes: u64) {
    if let Some(wait) = turn.spend(bytes, (state.clock)()) {
        tokio::time::sleep(wait).await;
    }
}

/// The asset that a query names, and the kind that its key stands for. node-metaverse sends its key behind a slash.
fn requested_asset(name: &str, query: &str) -> Option<(AssetKind, Uuid)> {
    let is_served = |kind| match name {
        "GetTexture" => kind == AssetKind::Texture,
        "GetMesh" | "GetMesh2" => kind == AssetKind::Mesh,
        _ => true,
    };
    let (kind, id) = form_urlencoded::parse(query.as_bytes())
        .find_map(|(key, id)| Some((AssetKind::from_query(&key)?, id)))
        .filter(|(kind, _)| is_served(*kind))?;
    Some((kind, Uuid::try_parse(&id).ok()?))
}

/// The answer to a request for an asset that is there.
fn answer(asset: &Asset, headers: &HeaderMap, is_head: bool) -> Response {
    let tag = entity_tag(asset.hash);
    let mut response = if names_tag(headers, &header::IF_NONE_MATCH, &tag) {
        status(StatusCode::NOT_MODIFIED)
    } else {
        content(asset, headers, &tag, is_head)
    };
    let all = response.headers_mut();
    all.insert(header::ETAG, tag);
    all.insert(header::CACHE_CONTROL, HeaderValue::from_static(FOR_EVER));
    all.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    response
}

fn content(asset: &Asset, headers: &HeaderMap, tag: &HeaderValue, is_head: bool) -> Response {
    let length = asset.bytes.len();
    let is_same = !headers.contains_key(header::IF_RANGE) || names_tag(headers, &header::IF_RANGE, tag);
    let range = headers.get(header::RANGE).filter(|_| is_same).and_then(|range| range.to_str().ok());
    let (mut response, bytes) = match range.and_then(|range| requested_range(range, length)) {
        None => (status(StatusCode::OK), asset.bytes.clone()),
        Some(ByteRange::Part { first, last }) => {
            let mut response = status(StatusCode::PARTIAL_CONTENT);
            set(&mut response, header::CONTENT_RANGE, &format!("bytes {first}-{last}/{length}"));
            (response, asset.bytes.slice(first..=last))
        }
        Some(ByteRange::Unsatisfiable) => {
            let mut response = status(StatusCode::RANGE_NOT_SATISFIABLE);
            set(&mut response, header::CONTENT_RANGE, &format!("bytes */{length}"));
            return response;
        }
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind.content_type()));
    set(&mut response, header::CONTENT_LENGTH, &bytes.len().to_string());
    if !is_head {
        *response.body_mut() = Body::from(bytes);
    }
    response
}

/// The tag of bytes with this hash: half of it, in which two contents do not agree by accident.
fn entity_tag(hash: AssetHash) -> HeaderValue {
    let digits = hash.to_string();
    HeaderValue::try_from(format!("\"{}\"", &digits[..32])).expect("digits are allowed in a header")
}

/// True if a header names this tag, or any.
fn names_tag(headers: &HeaderMap, name: &HeaderName, tag: &HeaderValue) -> bool {
    let tag = tag.to_str().unwrap_or_default();
    headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).any(|value| {
        value
            .split(',')
            .map(|named| named.trim().trim_start_matches("W/"))
            .any(|named| named == tag || named == "*")
    })
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

fn length_of(response: &Response) -> u64 {
    axum::body::HttpBody::size_hint(response.body()).exact().unwrap_or(0)
}

fn not_found() -> Response {
    error(StatusCode::NOT_FOUND, "There is no such asset.")
}

#[cfg(test)]
mod tests;
