//! Replies in the dialects that clients read.

use axum::Json;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use wire::llsd::{Limits, Llsd, xml};

/// LLSD in XML, without a prolog.
pub(super) fn llsd(value: &Llsd) -> Response {
    ([(header::CONTENT_TYPE, "application/llsd+xml")], xml::encode(value)).into_response()
}

/// XML that is complete as it is.
pub(super) fn xml_text(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], text).into_response()
}

/// An error with a sentence.
pub(super) fn error(status: StatusCode, sentence: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{sentence}\n")).into_response()
}

/// A refusal of the operator's API.
pub(super) fn refused(status: StatusCode, sentence: &str) -> Response {
    (status, Json(json!({ "error": sentence }))).into_response()
}

/// Reads a request's LLSD; the response states the error.
pub(super) fn read_llsd(body: &Bytes) -> Result<Llsd, Box<Response>> {
    xml::decode(body, Limits::REQUEST)
        .map_err(|why| Box::new(error(StatusCode::BAD_REQUEST, &format!("This is not LLSD: {why}."))))
}

/// Reads a request that is a map; the response states the error.
pub(super) fn read_map(body: &Bytes) -> Result<Llsd, Box<Response>> {
    let request = read_llsd(body)?;
    if request.as_map().is_none() {
        return Err(Box::new(error(StatusCode::BAD_REQUEST, "This capability takes a map.")));
    }
    Ok(request)
}

/// An internal failure; its cause is in the log and not for strangers.
pub(super) fn failed(what: &str, why: &(dyn std::error::Error + 'static)) -> Response {
    tracing::error!(error = why, "{what} failed");
    error(StatusCode::INTERNAL_SERVER_ERROR, "The server could not do this. Please try again later.")
}
