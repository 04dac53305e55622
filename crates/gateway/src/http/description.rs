//! The description of the operator's API, OpenAPI 3.1, as `GET /v1/openapi.json` has it.
//!
//! The description of a route stands over its handler (`#[utoipa::path]`) and over its types. This module completes it: every route can
//! refuse, and needs a scope, [`TokenScope::Operate`] unless it names another one: `security(("token" = ["worlds:read"]))`. Requests
//! are judged by that text ([`super::access`]), so it is true, and a route without description is not served. The bounds that it states
//! are enforced ([`super::bounds`]).

use super::bounds::{COMMAND_BYTES_MAX, RequestBounds};
use axum::http::Method;
use grid::tokens::TokenScope;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use utoipa::openapi::OpenApi;

/// Name of the security scheme.
const SCHEME: &str = "token";

/// The API's description, for publication and for judging requests.
pub(super) struct Description {
    /// The document.
    pub(super) json: String,
    /// Requirements of each method, by route.
    needed: BTreeMap<String, Vec<(Method, TokenScope)>>,
    /// Bounds of requests, by route and method.
    bounds: BTreeMap<(String, String), RequestBounds>,
}

/// Requirement of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Needed {
    Scope(TokenScope),
    /// There is such a route, but it takes these methods.
    OtherMethod(String),
    /// There is no such route.
    Nothing,
}

impl Description {
    /// Completes the routes' descriptions.
    ///
    /// # Panics
    /// If a route names an unknown scope.
    pub(super) fn new(routes: OpenApi) -> Self {
        let mut document = serde_json::to_value(routes).expect("a description becomes JSON");
        document["info"] = json!({
            "title": "The operator's API of Throng",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "See docs/operating/worlds.md and docs/operating/tokens.md of the source.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        });
        document["servers"] =
            json!([{ "url": "/", "description": "The operator's address (server.admin)." }]);
        let mut needed: BTreeMap<String, Vec<(Method, TokenScope)>> = BTreeMap::new();
        let components = document["components"].clone();
        let mut bounds = BTreeMap::new();
        for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
            for (name, operation) in item.as_object_mut().into_iter().flatten() {
                let Some(method) = method(name) else { continue };
                let scope = scope(path, operation);
                needed.entry(path.clone()).or_default().push((method, scope));
                complete(operation, scope);
                let key = (path.clone(), method_name(name));
                bounds.insert(key, RequestBounds::of(operation, &components));
            }
        }
        document["paths"]["/v1/openapi.json"] = itself();
        let components = &mut document["components"];
        components["schemas"]["Refusal"] = json!({
            "type": "object",
            "description": "Why something was not done.",
            "required": ["error"],
            "properties": { "error": { "type": "string", "description": "A sentence." } },
        });
        components["securitySchemes"] = json!({ SCHEME: {
            "type": "http",
            "scheme": "bearer",
            "description": "The token of the server's data directory, or one made with `throng token create`. \
                            What a route needs of it is in its list.",
        } });
        Self { json: document.to_string(), needed, bounds }
    }

    /// Bounds of requests to a described route.
    pub(super) fn bounds(&self, method: &Method, route: &str) -> Option<&RequestBounds> {
        self.bounds.get(&(route.to_owned(), method.as_str().to_owned()))
    }

    /// Requirement of a request. `route` as the router has it, `/v1/worlds/{id}`.
    pub(super) fn needed(&self, method: &Method, route: Option<&str>) -> Needed {
        let Some(methods) = route.and_then(|route| self.needed.get(route)) else { return Needed::Nothing };
        match methods.iter().find(|(known, _)| known == method) {
            Some(&(_, scope)) => Needed::Scope(scope),
            None => {
                let known: Vec<&str> = methods.iter().map(|(known, _)| known.as_str()).collect();
                Needed::OtherMethod(known.join(", "))
            }
        }
    }
}

/// The method of an entry of a path, which may also be something else that is said of it.
fn method(name: &str) -> Option<Method> {
    let known = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    known.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(name))
}

/// As in requests: the description has methods in small letters.
fn method_name(name: &str) -> String {
    name.to_ascii_uppercase()
}

fn scope(path: &str, operation: &Value) -> TokenScope {
    let Some(named) = operation["security"][0][SCHEME][0].as_str() else { return TokenScope::Operate };
    named.parse().unwrap_or_else(|why| panic!("the description of {path}: {why}"))
}

/// Adds the parts common to all routes.
fn complete(operation: &mut Value, scope: TokenScope) {
    operation["security"] = json!([{ SCHEME: [scope.name()] }]);
    let has_body = operation.get("requestBody").is_some();
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    if has_body {
        let why = format!("The body is longer than {} KiB.", COMMAND_BYTES_MAX / 1_024);
        responses.entry("413").or_insert_with(|| json!({ "description": why }));
    }
    responses.entry("400").or_insert_with(|| json!({ "description": "Something is outside of its bounds." }));
    for (status, why) in [
        ("401", "No token was shown, or one that is not known, revoked or expired."),
        ("403", "The token lacks the scope, or the server does not allow it."),
        ("default", "It was not done."),
    ] {
        responses.entry(status).or_insert_with(|| json!({ "description": why }));
    }
    for (status, response) in responses {
        let is_refusal = status == "default" || status.starts_with(['4', '5']);
        if is_refusal && response.get("content").is_none() {
            response["content"] = json_of("Refusal");
        }
    }
}

fn json_of(schema: &str) -> Value {
    json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{schema}") } } })
}

/// The description's own route, which needs no token.
fn itself() -> Value {
    let content: Map<String, Value> =
        Map::from_iter([("application/json".to_owned(), json!({ "schema": { "type": "object" } }))]);
    json!({ "get": {
        "operationId": "describe",
        "summary": "This description.",
        "security": [],
        "responses": { "200": { "description": "OpenAPI 3.1.", "content": content } },
    } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use utoipa_axum::router::OpenApiRouter;
    use utoipa_axum::routes;

    #[utoipa::path(get, path = "/v1/things/{id}", params(("id" = u32, Path)), security(("token" = ["worlds:read"])),
        responses((status = 200, body = String), (status = 404, description = "There is no such thing.")))]
    async fn show() {}

    #[utoipa::path(delete, path = "/v1/things/{id}", params(("id" = u32, Path)), responses((status = 204)))]
    async fn end() {}

    fn described() -> Description {
        let (_, api) = OpenApiRouter::<()>::new().routes(routes!(show, end)).split_for_parts();
        Description::new(api)
    }

    #[test]
    fn routes_need_their_stated_scopes_and_all_scopes_without_a_statement() {
        let description = described();
        let thing = Some("/v1/things/{id}");
        assert_eq!(description.needed(&Method::GET, thing), Needed::Scope(TokenScope::WorldsRead));
        assert_eq!(description.needed(&Method::DELETE, thing), Needed::Scope(TokenScope::Operate));
        assert!(matches!(description.needed(&Method::POST, thing), Needed::OtherMethod(_)));
        assert_eq!(description.needed(&Method::GET, Some("/v1/things")), Needed::Nothing);
        assert_eq!(description.needed(&Method::GET, None), Needed::Nothing);
    }

    #[test]
    fn every_route_states_its_scope_and_its_refusals() {
        let document: Value = serde_json::from_str(&described().json).unwrap();
        assert_eq!(document["openapi"], "3.1.0");
        let show = &document["paths"]["/v1/things/{id}"]["get"];
        assert_eq!(show["security"], json!([{ "token": ["worlds:read"] }]));
        let refusal = json_of("Refusal");
        for status in ["401", "403", "404", "default"] {
            assert_eq!(show["responses"][status]["content"], refusal, "{status}");
        }
        assert_eq!(show["responses"]["404"]["description"], "There is no such thing.");
        let end = &document["paths"]["/v1/things/{id}"]["delete"];
        assert!(end["responses"]["204"].get("content").is_none() && end["responses"].get("401").is_some());
        assert_eq!(document["paths"]["/v1/openapi.json"]["get"]["security"], json!([]));
    }

    #[test]
    #[should_panic(expected = "there is no scope \"world:read\"")]
    fn a_scope_that_is_none_is_noticed_at_the_start() {
        #[utoipa::path(get, path = "/v1/x", security(("token" = ["world:read"])), responses((status = 200)))]
        async fn wrong() {}
        let (_, api) = OpenApiRouter::<()>::new().routes(routes!(wrong)).split_for_parts();
        let _ = Description::new(api);
    }
}
