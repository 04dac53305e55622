//! The description of the API, and whether the server keeps to it. Every exchange of every test here is held against it.

mod bounds;

use crate::server::Server;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The server's description of its API.
pub(crate) struct Api {
    document: Value,
}

/// One thing that it can be asked for.
struct Operation<'a> {
    /// `POST`
    method: String,
    /// `/v1/worlds/{id}/enter`
    path: &'a str,
    told: &'a Value,
}

impl Api {
    pub(crate) fn read(text: &str) -> Self {
        Self { document: serde_json::from_str(text).expect("the description is JSON") }
    }

    fn operations(&self) -> Vec<Operation<'_>> {
        let paths = self.document["paths"].as_object().expect("paths");
        let operations = paths.iter().flat_map(|(path, item)| {
            let of_path = item.as_object().expect("operations").iter();
            of_path.map(move |(method, told)| Operation { method: method.to_uppercase(), path, told })
        });
        operations.collect()
    }

    /// Fails when an answer differs from the description. `head` is as in `GET /v1/worlds`; other paths are not looked
    /// at.
    pub(crate) fn check(&self, head: &str, status: u16, answer: &str) {
        let (method, path) = head.split_once(' ').expect("method and path");
        let path = path.split('?').next().unwrap_or(path);
        let operations = self.operations();
        // A literal path comes before a path with a parameter.
        let of_path =
            operations.iter().filter(|operation| operation.method == method && fits(operation.path, path));
        let Some(operation) = of_path.min_by_key(|operation| operation.path.matches('{').count()) else {
            return;
        };
        let responses = &operation.told["responses"];
        let told =
            responses.get(status.to_string()).or_else(|| (status >= 400).then(|| &responses["default"]));
        let told = told.unwrap_or_else(|| panic!("{head}: {status} is not described: {answer}"));
        let Some(schema) = told.pointer("/content/application~1json/schema") else {
            assert!(
                told.get("content").is_some() || answer.is_empty(),
                "{head}: {status} has a body: {answer}"
            );
            return;
        };
        let value = serde_json::from_str(answer).unwrap_or_else(|_| panic!("{head}: {answer:?} is no JSON"));
        let wrong: Vec<String> =
            self.validator(schema).iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{head}: {status} {answer} is not as described: {wrong:?}");
    }

    /// A schema, or what it refers to.
    fn resolved(&self, schema: &Value) -> Value {
        match schema["$ref"].as_str() {
            Some(reference) => self.resolved(
                self.document.pointer(reference.trim_start_matches('#')).expect("what a reference leads to"),
            ),
            None => schema.clone(),
        }
    }

    fn validator(&self, schema: &Value) -> jsonschema::Validator {
        let mut schema = schema.clone();
        // Targets of its references.
        schema["components"] = self.document["components"].clone();
        jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
    }
}

/// True if a path matches the template.
fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    let is_part =
        |(told, asked): (&&str, &&str)| told == asked || (told.starts_with('{') && !asked.is_empty());
    template.len() == path.len() && template.iter().zip(&path).all(is_part)
}

/// A path with something in it for every part that is named.
fn filled(operation: &Operation<'_>) -> String {
    let mut path = operation.path.to_owned();
    for parameter in operation.told["parameters"].as_array().into_iter().flatten() {
        let (name, schema) = (parameter["name"].as_str().expect("a name"), &parameter["schema"]);
        let value = match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("string"), Some("uuid")) => "00000000-0000-0000-0000-000000000001",
            (Some("integer"), _) => "1000000",
            _ => "nothing",
        };
        path = path.replace(&format!("{{{name}}}"), value);
    }
    assert!(!path.contains('{'), "{path}: what stands in braces is a parameter");
    path
}

#[test]
fn the_description_is_whole() {
    let server = Server::start();
    let api = server.api();
    assert_eq!(api.document["openapi"], "3.1.0");
    let operations = api.operations();
    let paths: BTreeSet<&str> = operations.iter().map(|operation| operation.path).collect();
    for known in ["/v1/worlds/{id}/enter", "/v1/tune", "/v1/kick", "/v1/openapi.json"] {
        assert!(paths.contains(known), "{known}: {paths:?}");
    }
    let mut ids = BTreeSet::new();
    for Operation { method, path, told } in &operations {
        let id = told["operationId"].as_str().unwrap_or_default();
        assert!(!id.is_empty() && ids.insert(id), "{method} {path}: {id:?} is another's, too");
        assert!(told["summary"].is_string(), "{method} {path} says what it does");
        let schemas = told["responses"].as_object().expect("responses").values();
        let asked = &told["requestBody"]["content"]["application/json"]["schema"];
        for schema in
            schemas.filter_map(|told| told.pointer("/content/application~1json/schema")).chain([asked])
        {
            if !schema.is_null() {
                let _ = api.validator(schema);
            }
        }
    }
}

#[test]
fn described_routes_answer_to_their_scope_and_to_no_other() {
    let server = Server::start();
    let scopes = [
        "worlds:read",
        "worlds:write",
        "templates:write",
        "regions.read",
        "regions.write",
        "assets.read",
        "assets.write",
        "inventory.read",
        "inventory.write",
        "archives",
        "backup",
        "operate",
    ];
    let tokens = scopes.map(|scope| {
        let name = scope.replace([':', '.'], "-");
        let token = server.run(&format!("token create --name {name} --scope {scope}")).unwrap();
        (scope, token.trim().to_owned())
    });
    for operation in server.api().operations() {
        let Operation { method, path, told } = &operation;
        let head = format!("{method} {}", filled(&operation));
        let Some(needed) = told["security"][0]["token"][0].as_str() else {
            assert_eq!((head.as_str(), &told["security"]), ("GET /v1/openapi.json", &json!([])));
            continue;
        };
        assert_eq!(server.exchange_as(None, &head, "{}").0, 401, "{head}");
        for (scope, token) in &tokens {
            let includes = [
                ("worlds:write", "worlds:read"),
                ("regions.write", "regions.read"),
                ("assets.write", "assets.read"),
                ("inventory.write", "inventory.read"),
            ];
            let may = *scope == needed || includes.contains(&(*scope, needed));
            // Once is enough for permitted callers: some of it takes its time.
            if !may {
                let (status, answer) = server.exchange_as(Some(token), &head, "{}");
                assert!(status == 403 && answer.contains(needed), "{head} with {scope}: {status} {answer}");
            } else if *scope == needed {
                let (status, answer) = server.exchange_as(Some(token), &head, "{}");
                let answers =
                    (200..500).contains(&status) && ![401, 403, 405].contains(&status) || status == 503;
                let is_fault = *path == "/v1/fault";
                assert!(answers || is_fault, "{head} with {scope}: {status} {answer}");
                // A build without the pages has none.
                let is_page = told.pointer("/responses/200/content/text~1html").is_some();
                assert!(is_page || !answer.contains("There is nothing here"), "{head}: no route");
            }
        }
    }
}

#[test]
fn undescribed_routes_are_not_served() {
    let server = Server::start();
    let refused = |head: &str| {
        let (status, answer) = server.exchange(head, "{}");
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{head}: {answer:?}"));
        (status, answer["error"].as_str().unwrap_or_default().to_owned())
    };
    let (status, why) = refused("PUT /v1/worlds");
    assert!(status == 405 && why.contains("takes GET, POST"), "{status} {why}");
    assert_eq!(refused("DELETE /v1/tune").0, 405);
    // Rejected before it comes to a handler, and all the same in JSON.
    assert_eq!(refused("POST /v1/kick").0, 422);
}
