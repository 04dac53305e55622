//! Bounds of what the API takes, in both directions: what is outside of a described bound is refused, and nothing that is inside of all of
//! them.

use super::{Api, Operation, filled};
use crate::server::Server;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A region and a template, for orders that are carried out.
const CONFIG: &str = "[[region]]\nname = \"Harbour\"\n[[template]]\nname = \"Cave\"\n";

/// True if values of a schema may be of this type.
fn is_of_type(schema: &Value, kind: &str) -> bool {
    schema["type"] == kind || schema["type"].as_array().is_some_and(|kinds| kinds.contains(&kind.into()))
}

/// A body that the server carries out, as far as one is needed to come to the check of a text; otherwise one of the schema's types.
fn valid_body(api: &Api, operation: &Operation<'_>, schema: &Value) -> Value {
    match (operation.method.as_str(), operation.path) {
        ("POST", "/v1/worlds") => json!({ "template": "Cave" }),
        ("POST", "/v1/record") => json!({ "world": "Harbour", "seconds": 1, "out": "x" }),
        // Refused for its region: of two equal jobs, the second one would be refused as long as the first one runs.
        ("POST", "/v1/archives/oar/save") => json!({ "file": "x", "region": "Atlantis" }),
        _ => any_value(api, schema),
    }
}

/// A value of a schema's type, as small as may be.
fn any_value(api: &Api, schema: &Value) -> Value {
    let schema = api.resolved(schema);
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let is = |kind: &str| is_of_type(&schema, kind);
    if is("object") || schema["properties"].is_object() {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        return required.map(|name| (name.to_owned(), any_value(api, &schema["properties"][name]))).collect();
    }
    if is("string") {
        return "x".repeat(schema["minLength"].as_u64().unwrap_or(1) as usize).into();
    }
    if is("integer") || is("number") {
        return schema["minimum"].as_i64().unwrap_or(1).into();
    }
    if is("array") { json!([]) } else { Value::Null }
}

/// Letters of one to four bytes.
const LETTERS: [char; 4] = ['x', 'é', '€', '𐌀'];

/// Texts with characters and forms that a pattern may exclude: control characters, direction marks, parts of paths.
const FORMS: [&str; 14] = [
    "a b",
    "a\0",
    "a\n",
    "a\u{7f}",
    "a\u{85}",
    "a\u{61c}",
    "a\u{200f}",
    "a\u{202e}",
    "a\u{2066}",
    "a/b",
    ".",
    "..",
    "...",
    "..a",
];

/// Forms that a schema's pattern allows, or those that it does not.
fn forms<'a>(api: &'a Api, schema: &'a Value, are_allowed: bool) -> impl Iterator<Item = &'static str> + 'a {
    let validator = api.validator(schema);
    FORMS.into_iter().filter(move |form| validator.is_valid(&Value::from(*form)) == are_allowed)
}

/// Values just outside of a schema's bounds, each with the bound.
fn outside(api: &Api, schema: &Value) -> Vec<(String, Value)> {
    let bound = |name: &str| schema[name].as_i64();
    let text = |n: i64| Value::from("x".repeat(n as usize));
    let items = |n: i64| Value::from(vec![0; n as usize]);
    [
        ("minimum", bound("minimum").map(|n| Value::from(n - 1))),
        ("maximum", bound("maximum").map(|n| Value::from(n + 1))),
        ("minLength", bound("minLength").filter(|n| *n > 0).map(|n| text(n - 1))),
        ("maxLength", bound("maxLength").map(|n| text(n + 1))),
        ("minItems", bound("minItems").filter(|n| *n > 0).map(|n| items(n - 1))),
        ("maxItems", bound("maxItems").map(|n| items(n + 1))),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .chain(outside_in_bytes(schema))
    .chain(outside_of_pattern(api, schema))
    .collect()
}

/// Texts within the bound in letters, and one letter above it in bytes.
fn outside_in_bytes(schema: &Value) -> Vec<(String, Value)> {
    let Some(most) = schema["x-max-bytes"].as_u64() else { return Vec::new() };
    let wide = LETTERS.into_iter().filter(|letter| letter.len_utf8() > 1);
    wide.map(|letter| {
        let n = most as usize / letter.len_utf8() + 1;
        assert!(n <= schema["maxLength"].as_u64().expect("a bound in characters") as usize);
        (format!("x-max-bytes {letter}"), letter.to_string().repeat(n).into())
    })
    .collect()
}

fn outside_of_pattern(api: &Api, schema: &Value) -> Vec<(String, Value)> {
    if schema["pattern"].is_null() {
        return Vec::new();
    }
    forms(api, schema, false).map(|form| (format!("pattern {form:?}"), form.into())).collect()
}

#[test]
fn bounds_that_are_described_are_enforced() {
    let server = Server::start_with(CONFIG);
    let api = server.api();
    let mut tried = BTreeSet::new();
    for operation in api.operations() {
        let path = filled(&operation);
        let mut refuse = |head: &str, body: &str, what: String| {
            let (status, answer) = server.exchange(head, body);
            assert!((400..500).contains(&status), "{what}: {status} {answer}");
            tried.insert(what);
        };
        for parameter in operation.told["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "query" {
                let name = parameter["name"].as_str().unwrap();
                for (bound, value) in outside(api, &api.resolved(&parameter["schema"])) {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    let head = format!("{} {path}?{name}={text}", operation.method);
                    refuse(&head, "", format!("{} {} {name} {bound}", operation.method, operation.path));
                }
            }
        }
        let schema = api.resolved(&operation.told["requestBody"]["content"]["application/json"]["schema"]);
        let Some(properties) = schema["properties"].as_object() else { continue };
        let head = format!("{} {path}", operation.method);
        for (name, property) in properties {
            for (bound, value) in outside(api, &api.resolved(property)) {
                let mut body = valid_body(api, &operation, &schema);
                body[name] = value;
                refuse(&head, &body.to_string(), format!("{head} {name} {bound}"));
            }
        }
        // A body of one byte more than any may have.
        let long = format!("{{{}}}", " ".repeat(16 * 1024 - 1));
        assert_eq!(server.exchange(&head, &long).0, 413, "{head}");
    }
    for known in [
        "POST /v1/worlds name minLength",
        "POST /v1/worlds name maxLength",
        "GET /v1/frames/trace frames minimum",
        "GET /v1/frames/trace frames maximum",
        "POST /v1/kick name maxLength",
        "POST /v1/alert text maxLength",
        "POST /v1/tune key maxLength",
        "POST /v1/fault repeat maximum",
        "POST /v1/long-tasks count minimum",
        "POST /v1/record seconds maximum",
        "GET /v1/appearance name minLength",
        "POST /v1/worlds name x-max-bytes é",
        "POST /v1/worlds name pattern \"a\\u{202e}\"",
        "POST /v1/record out x-max-bytes 𐌀",
        "POST /v1/record out pattern \"..\"",
        "POST /v1/alert text x-max-bytes €",
    ] {
        assert!(tried.contains(known), "{known} is not among {tried:?}");
    }
}

/// The longest texts within a schema's bounds, and those of all forms that it allows.
fn inside(api: &Api, schema: &Value) -> Vec<String> {
    let most = |name: &str| schema[name].as_u64().map_or(usize::MAX, |n| n as usize);
    let (chars, bytes) = (most("maxLength"), most("x-max-bytes"));
    assert!(chars < usize::MAX, "a text without an upper bound: {schema}");
    let longest = LETTERS.map(|letter| letter.to_string().repeat(chars.min(bytes / letter.len_utf8())));
    longest.into_iter().chain(forms(api, schema, true).map(str::to_owned)).collect()
}

#[test]
fn no_bound_of_a_text_is_enforced_that_is_not_described() {
    let server = Server::start_with(CONFIG);
    let api = server.api();
    let mut carried_out = BTreeSet::new();
    for operation in api.operations() {
        let head = format!("{} {}", operation.method, filled(&operation));
        let schema = api.resolved(&operation.told["requestBody"]["content"]["application/json"]["schema"]);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let property = api.resolved(property);
            let is_text = is_of_type(&property, "string");
            if !is_text || !property["format"].is_null() || !property["enum"].is_null() {
                continue;
            }
            let ask = |text: &str| {
                let mut body = valid_body(api, &operation, &schema);
                body[name] = text.into();
                server.exchange(&head, &body.to_string())
            };
            let (plain, _) = ask("plain");
            for text in inside(api, &property) {
                let (status, answer) = ask(&text);
                assert_eq!(status, plain, "{head}: {name} {text:?}: {answer}");
            }
            if plain < 300 {
                carried_out.insert(format!("{head} {name}"));
            }
        }
    }
    for known in ["POST /v1/worlds name", "POST /v1/record out", "POST /v1/alert text"] {
        assert!(carried_out.contains(known), "{known} is not among {carried_out:?}");
    }
}
