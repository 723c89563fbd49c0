//! Input schemas of tools, as servers send them. One invalid schema makes an API refuse the whole request.

use serde_json::{Map, Value};

const MAX_DEPTH: usize = 32;
/// The longest field name that APIs accept.
const MAX_FIELD: usize = 64;
const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
/// Keywords that APIs do not accept at the top level.
const NOT_ON_TOP: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// An object schema that every API accepts. An invalid one is replaced.
pub(super) fn object(schema: Value) -> Map<String, Value> {
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    let is_field = |name: &String| {
        let is_good = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        (1..=MAX_FIELD).contains(&name.len()) && name.chars().all(is_good)
    };
    let fields = schema.get("properties").and_then(Value::as_object);
    let is_named = fields.is_none_or(|fields| fields.keys().all(is_field));
    if let Value::Object(mut schema) = schema
        && is_object
        && is_named
        && are_sound(&schema, 0)
    {
        schema.retain(|name, _| !NOT_ON_TOP.contains(&name.as_str()));
        return schema;
    }
    Map::from_iter([("type".to_owned(), "object".into())])
}

fn is_sound(schema: &Value, depth: usize) -> bool {
    let is_deep = || {
        let inner = schema.as_object();
        depth < MAX_DEPTH && inner.is_some_and(|inner| are_sound(inner, depth + 1))
    };
    schema.is_boolean() || is_deep()
}

/// Whether all keywords of a schema are valid. Unknown keywords are fine.
fn are_sound(schema: &Map<String, Value>, depth: usize) -> bool {
    let list = |value: &Value, is: &dyn Fn(&Value) -> bool| {
        value.as_array().is_some_and(|list| list.iter().all(is))
    };
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    schema.iter().all(|(name, value)| match name.as_str() {
        "type" => is_type(value) || list(value, &is_type),
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            value.as_object().is_some_and(|all| all.values().all(|it| is_sound(it, depth)))
        }
        "items"
        | "additionalProperties"
        | "not"
        | "contains"
        | "propertyNames"
        | "if"
        | "then"
        | "else" => is_sound(value, depth),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
            list(value, &|it| is_sound(it, depth)) && value != &Value::Array(Vec::new())
        }
        "required" => list(value, &Value::is_string),
        "enum" | "examples" => value.is_array(),
        "description" | "title" | "format" | "pattern" | "$ref" => value.is_string(),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    //! Valid and invalid schemas.

    use serde_json::{Value, json};

    use super::object;

    #[test]
    fn an_invalid_schema_is_not_passed_on() {
        let good = json!({
            "type": "object", "required": ["a"], "additionalProperties": false, "x-own": [1],
            "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/c"}]}}},
            "$defs": {"c": true},
        });
        assert_eq!(Value::Object(object(good.clone())), good);
        let mut deep = json!({"type": "object"});
        for _ in 0..100 {
            deep = json!({"type": "object", "properties": {"a": deep}});
        }
        for bad in [
            json!("nonsense"),
            json!([1]),
            json!({"type": "string"}),
            json!({"type": "object", "properties": [1, 2]}),
            json!({"type": "object", "properties": {"a": 1}}),
            json!({"type": "object", "properties": {"a": {"type": "text"}}}),
            json!({"type": "object", "properties": {"a": {"items": [{}]}}}),
            json!({"type": "object", "properties": {"no name": {}}}),
            json!({"type": "object", "required": "a"}),
            json!({"type": "object", "properties": {"a": {"enum": "x"}}}),
            deep,
        ] {
            assert_eq!(Value::Object(object(bad.clone())), json!({"type": "object"}), "{bad}");
        }
        let top = json!({"type": "object", "anyOf": [{"required": ["a"]}]});
        assert_eq!(Value::Object(object(top)), json!({"type": "object"}));
    }
}
