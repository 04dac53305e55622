//! Access to the operator's API: everything below `/v1` asks here first.
//!
//! A request shows a token, either that of the server's data directory, which opens everything, or one that the operator has made for a
//! program ([`grid::tokens`]). The scope of a route is in its description ([`super::description`]), and a route without one is not
//! served. Every refusal, here or by a handler, is `{"error": "…"}`.

use super::blocking;
use super::bounds::{COMMAND_BYTES_MAX, RequestBounds};
use super::description::{Description, Needed};
use super::operator::Admin;
use super::reply::refused;
use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use grid::tokens::{Caller, Stranger, Tokens};
use std::sync::Arc;

/// Bytes of a refusal in plain text: a handler's sentence.
const REFUSAL_BYTES_MAX: usize = 16 * 1024;

/// Data for judging requests.
pub(super) struct Gate {
    pub(super) admin: Arc<Admin>,
    pub(super) description: Description,
}

/// Lets a request through to its handler, which finds an `Arc<Caller>` among its extensions.
pub(super) async fn admit(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let Some(token) = shown_token(request.method(), request.headers()) else {
        return unauthorized(
            "This needs a token: that of the server's data directory, or one made with `throng token create`.",
        );
    };
    let caller = match gate.caller(token).await {
        Ok(caller) => Arc::new(caller),
        Err(stranger @ Stranger::Store(_)) => {
            tracing::error!(error = &stranger as &dyn std::error::Error, "a token was not looked up");
            return refused(StatusCode::SERVICE_UNAVAILABLE, &stranger.to_string());
        }
        Err(stranger) => return unauthorized(&stranger.to_string()),
    };
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let scope = match gate.description.needed(&method, route) {
        Needed::Scope(scope) => scope,
        Needed::OtherMethod(allowed) => {
            let why = format!("{path} takes {allowed}.");
            return ([(header::ALLOW, allowed)], refused(StatusCode::METHOD_NOT_ALLOWED, &why))
                .into_response();
        }
        Needed::Nothing if route.is_some() => {
            tracing::error!(%path, "a route that is not described is not served");
            return refused(StatusCode::INTERNAL_SERVER_ERROR, "This is not in the API's description.");
        }
        Needed::Nothing => return refused(StatusCode::NOT_FOUND, "There is nothing here."),
    };
    if !caller.has_scope(scope) {
        tracing::warn!(token = caller.name, %method, path, needed = scope.name(), "refused over the API");
        let why = format!("The token {:?} lacks the scope {scope:?}.", caller.name, scope = scope.name());
        return refused(StatusCode::FORBIDDEN, &why);
    }
    if let Some(bounds) = route.and_then(|route| gate.description.bounds(&method, route)) {
        match within(request, bounds).await {
            Ok(bounded) => request = bounded,
            Err(response) => return *response,
        }
    }
    request.extensions_mut().insert(Arc::clone(&caller));
    let response = in_json(next.run(request).await).await;
    let status = response.status().as_u16();
    if method == Method::GET {
        tracing::debug!(token = caller.name, %method, path, status, "asked over the API");
    } else {
        tracing::info!(token = caller.name, %method, path, status, "ordered over the API");
    }
    response
}

/// The request if it is within the bounds of its operation; otherwise the refusal.
async fn within(request: Request, bounds: &RequestBounds) -> Result<Request, Box<Response>> {
    let refuse = |status, why: &str| Box::new(refused(status, why));
    let checked = bounds.check_query(request.uri().query().unwrap_or_default());
    checked.map_err(|why| refuse(StatusCode::BAD_REQUEST, &why))?;
    if !bounds.has_body() {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    // The listener has all of it, or one byte more than a body may have.
    let Ok(bytes) = to_bytes(body, COMMAND_BYTES_MAX).await else {
        let why = format!("The body is longer than {} KiB.", COMMAND_BYTES_MAX / 1_024);
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &why));
    };
    bounds.check_body(&bytes).map_err(|why| refuse(StatusCode::BAD_REQUEST, &why))?;
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

impl Gate {
    async fn caller(&self, shown: String) -> Result<Caller, Stranger> {
        if is_equal(&shown, &self.admin.token) {
            return Ok(Caller::operator());
        }
        let state = Arc::clone(&self.admin.state);
        // Read from the database each time: a revoked token opens nothing from the next request on.
        blocking(move || Tokens::new(&state.store).caller(&shown, state.unix_s())).await
    }
}

/// Programs show their token as `Bearer`. A browser that follows a link from a dashboard asks its user for it and sends it as the
/// password of `Basic`, from then on with every request that any page triggers; so `Basic` permits reads only.
fn shown_token(method: &Method, headers: &HeaderMap) -> Option<String> {
    let shown = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    match shown.split_once(' ')? {
        ("Bearer", token) => Some(token.to_owned()),
        ("Basic", both) if method == Method::GET => password(both),
        _ => None,
    }
}

/// The password of HTTP's basic scheme, RFC 7617.
fn password(both: &str) -> Option<String> {
    let both = String::from_utf8(STANDARD.decode(both).ok()?).ok()?;
    Some(both.split_once(':')?.1.to_owned())
}

/// Compares all bytes in any case, so that the time taken leaks nothing about the token.
fn is_equal(shown: &str, token: &str) -> bool {
    let differs = shown.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    shown.len() == token.len() && differs == 0
}

fn unauthorized(why: &str) -> Response {
    let how = [(header::WWW_AUTHENTICATE, "Basic realm=\"a token of this server as the password\"")];
    (how, refused(StatusCode::UNAUTHORIZED, why)).into_response()
}

/// Handlers, and axum where it never comes to them, refuse in plain text or say nothing.
async fn in_json(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_refusal = status.is_client_error() || status.is_server_error();
    if !is_refusal || kind.is_some_and(|kind| !kind.starts_with("text/plain")) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, REFUSAL_BYTES_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let why =
        if text.trim().is_empty() { status.canonical_reason().unwrap_or("refused") } else { text.trim() };
    let (mut head, body) = refused(status, why).into_parts();
    for (name, value) in &parts.headers {
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) {
            head.headers.insert(name, value.clone());
        }
    }
    Response::from_parts(head, Body::new(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_what_comes_after_the_first_colon() {
        assert_eq!(password("b3BlcmF0b3I6c2VjOnJldA==").as_deref(), Some("sec:ret"));
        for wrong in ["", "b3BlcmF0b3I=", "//79", "%"] {
            assert_eq!(password(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_the_whole_token_is_equal() {
        assert!(is_equal("token", "token"));
        for wrong in ["", "tok", "tokens", "Token"] {
            assert!(!is_equal(wrong, "token"), "{wrong}");
        }
    }

    #[test]
    fn a_password_opens_nothing_that_changes_anything() {
        let headers = |value: &str| HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
        let basic = headers("Basic YTpzZWNyZXQ=");
        assert_eq!(shown_token(&Method::GET, &basic).as_deref(), Some("secret"));
        assert_eq!(shown_token(&Method::POST, &basic), None);
        assert_eq!(shown_token(&Method::DELETE, &headers("Bearer secret")).as_deref(), Some("secret"));
        for wrong in ["secret", "bearer", "Digest secret", ""] {
            assert_eq!(shown_token(&Method::GET, &headers(wrong)), None, "{wrong}");
        }
    }
}
