//! Bounds of the operator API's input, as its description states them: a request outside is refused before its handler runs.
//!
//! Stated and enforced bounds are one text. Checked are numbers and the lengths of texts and lists, in the query and in bodies of JSON;
//! the handler checks types and patterns. Lengths of texts are counted in characters, as JSON Schema does, and where the protocol or a file
//! system counts bytes also in those of UTF-8 ([`BYTES_MAX`]), for which JSON Schema has no word.

use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of a request's body at the operator's address.
pub const COMMAND_BYTES_MAX: usize = 16 * 1024;

/// Bound of a text in bytes of UTF-8, an extension of OpenAPI.
const BYTES_MAX: &str = "x-max-bytes";

/// Depth of objects in a request that are looked into.
const DEPTH_MAX: usize = 4;

/// Input of one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RequestBounds {
    query: BTreeMap<String, Value>,
    body: Value,
}

impl RequestBounds {
    /// Bounds of an operation; `components` has the targets of references.
    pub(super) fn of(operation: &Value, components: &Value) -> Self {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let in_query = parameters.filter(|parameter| parameter["in"] == "query");
        let query = in_query.filter_map(|parameter| {
            Some((parameter["name"].as_str()?.to_owned(), resolved(&parameter["schema"], components, 0)))
        });
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        Self { query: query.collect(), body: resolved(schema, components, 0) }
    }

    /// True if requests have a body of JSON.
    pub(super) fn has_body(&self) -> bool {
        !self.body.is_null()
    }

    /// Checks the query of an address, as it stands there.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub(super) fn check_query(&self, query: &str) -> Result<(), String> {
        for (name, text) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let Some(schema) = self.query.get(name) else { continue };
            // Numbers and plain words only: the handler reads escaped values, which have no fewer characters before.
            let value = text.parse::<f64>().map_or_else(|_| Value::from(text), Value::from);
            let value = if schema["type"] == "string" { Value::from(text) } else { value };
            check(name, &value, schema)?;
        }
        Ok(())
    }

    /// Checks a body. One that is no JSON passes: its handler refuses it.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub(super) fn check_body(&self, bytes: &[u8]) -> Result<(), String> {
        serde_json::from_slice(bytes).map_or(Ok(()), |value| check("the body", &value, &self.body))
    }
}

/// A schema with its references resolved.
fn resolved(schema: &Value, components: &Value, depth: usize) -> Value {
    if depth > 2 * DEPTH_MAX {
        return Value::Null;
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return resolved(&components["schemas"][name], components, depth + 1);
    }
    match schema {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), resolved(member, components, depth + 1)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(|item| resolved(item, components, depth + 1)).collect(),
        plain => plain.clone(),
    }
}

fn check(name: &str, value: &Value, schema: &Value) -> Result<(), String> {
    let (length, of) = match value {
        Value::String(text) => (Some(text.chars().count()), ["minLength", "maxLength"]),
        Value::Array(items) => (Some(items.len()), ["minItems", "maxItems"]),
        _ => (None, ["minimum", "maximum"]),
    };
    let size = length.map_or_else(|| value.as_f64(), |length| Some(length as f64));
    if let Some(size) = size {
        let [least, most] = of.map(|bound| schema[bound].as_f64());
        let what = match value {
            Value::String(_) => " characters",
            Value::Array(_) => " items",
            _ => "",
        };
        if let Some(least) = least.filter(|least| size < *least) {
            return Err(format!("{name}: at least {least}{what}, not {size}."));
        }
        if let Some(most) = most.filter(|most| size > *most) {
            return Err(format!("{name}: at most {most}{what}, not {size}."));
        }
    }
    if let (Value::String(text), Some(most)) = (value, schema[BYTES_MAX].as_u64())
        && text.len() as u64 > most
    {
        return Err(format!("{name}: at most {most} bytes, not {}.", text.len()));
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                check(name, member, &schema["properties"][name])?;
            }
        }
        Value::Array(items) => {
            for item in items {
                check(name, item, &schema["items"])?;
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bounds() -> RequestBounds {
        let components = json!({ "schemas": { "Spot": {
            "type": "object",
            "properties": { "x": { "type": "array", "minItems": 3, "maxItems": 3, "items": { "maximum": 9 } } },
        } } });
        let operation = json!({
            "parameters": [
                { "in": "query", "name": "frames", "schema": { "type": "integer", "minimum": 1, "maximum": 128 } },
                { "in": "path", "name": "id", "schema": { "type": "integer", "maximum": 1 } },
            ],
            "requestBody": { "content": { "application/json": { "schema": { "properties": {
                "name": { "type": ["string", "null"], "minLength": 1, "maxLength": 4 },
                "title": { "type": "string", "maxLength": 8, "x-max-bytes": 8 },
                "spot": { "$ref": "#/components/schemas/Spot" },
            } } } } },
        });
        RequestBounds::of(&operation, &components)
    }

    #[test]
    fn a_value_outside_of_its_bound_is_named_with_it() {
        let body = |body: &str| bounds().check_body(body.as_bytes());
        assert_eq!(
            body(r#"{"name": "öööö", "spot": {"x": [1, 2, 9]}}"#),
            Ok(()),
            "characters count, not bytes"
        );
        assert_eq!(body(r#"{"name": null, "other": 7}"#), Ok(()));
        assert_eq!(body("no JSON"), Ok(()));
        assert_eq!(body(r#"{"name": ""}"#), Err("name: at least 1 characters, not 0.".into()));
        assert_eq!(body(r#"{"name": "ooooo"}"#), Err("name: at most 4 characters, not 5.".into()));
        assert_eq!(body(r#"{"title": "öööö"}"#), Ok(()));
        assert_eq!(body(r#"{"title": "ööööo"}"#), Err("title: at most 8 bytes, not 9.".into()));
        assert_eq!(body(r#"{"spot": {"x": [1, 2]}}"#), Err("x: at least 3 items, not 2.".into()));
        assert_eq!(body(r#"{"spot": {"x": [1, 2, 10]}}"#), Err("x: at most 9, not 10.".into()));
    }

    #[test]
    fn the_query_has_bounds_too() {
        let query = |query: &str| bounds().check_query(query);
        assert_eq!((query("frames=128&id=7"), query(""), query("frames=some")), (Ok(()), Ok(()), Ok(())));
        assert_eq!(query("frames=0"), Err("frames: at least 1, not 0.".into()));
        assert_eq!(query("other=1&frames=129"), Err("frames: at most 128, not 129.".into()));
    }
}
