//! Inputs of tools: their schemas as models see them, and errors from which a model's next call can be right.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::TeamTool;
use crate::{
    code::{Failure, FailureKind},
    method::without_position,
};

/// How alike two names must be for one to be offered for the other.
const ALIKE: f64 = 0.8;

/// The schema of an input: one object without references, without what only programs need.
pub(super) fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    if let Some(schema) = schema.as_object_mut() {
        // The tool has a description; the type's own is for who reads the code.
        schema.remove("description");
        schema.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Leaves out titles, number formats and null: a field that is not required can be left out.
fn plain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for key in ["title", "format", "minimum", "maximum"] {
                fields.retain(|name, value| name != key || value.is_object());
            }
            fields.retain(|name, value| name != "default" || !value.is_null());
            without_null(fields);
            as_words(fields);
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            fields.values_mut().for_each(plain);
        }
        Value::Array(values) => values.iter_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A choice of words is a list of words.
fn as_words(fields: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = fields.get("oneOf") else { return };
    let words: Option<Vec<Value>> = choices.iter().map(|it| it.get("const").cloned()).collect();
    if let Some(words) = words {
        fields.remove("oneOf");
        fields.insert("type".to_owned(), json!("string"));
        fields.insert("enum".to_owned(), Value::Array(words));
    }
}

/// A schema that says that a field is needed, which the tool itself misses in its own words.
pub(super) fn requiring(field: &str, mut schema: Value) -> Value {
    if let Some(fields) = schema.as_object_mut() {
        let required = fields.entry("required").or_insert_with(|| json!([]));
        required.as_array_mut().into_iter().for_each(|required| required.push(json!(field)));
    }
    schema
}

fn without_null(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|it| it != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
        choices.retain(|it| it != &json!({"type": "null"}));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            fields.remove("anyOf");
            for (name, value) in only {
                fields.entry(name).or_insert(value);
            }
        }
    }
}

/// Reads an input.
pub(super) fn read<T: TeamTool>(input: Value) -> Result<T, Failure> {
    let input = object(input);
    serde_path_to_error::deserialize(&input).map_err(|error| {
        let path = Some(error.path().to_string()).filter(|path| path != ".");
        let reason = without_position(&error.into_inner().to_string());
        bad_input(T::NAME, path.as_deref(), &reason, T::EXAMPLE)
    })
}

/// Reads the example that a tool shows to who gave something else.
#[cfg(test)]
pub(super) fn read_example<T: TeamTool>() -> Result<(), Failure> {
    read::<T>(Value::String(T::EXAMPLE.to_owned())).map(drop)
}

/// Some models write an object as text, and nothing for an empty one.
fn object(input: Value) -> Value {
    match input {
        Value::Null => json!({}),
        Value::String(text) if text.trim().is_empty() => json!({}),
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other,
    }
}

/// Says what is wrong with an input: where, what it is, what was probably meant, and an example that works.
fn bad_input(tool: &str, path: Option<&str>, reason: &str, example: &str) -> Failure {
    let names: Vec<&str> = reason.split('`').skip(1).step_by(2).collect();
    let message = match (reason.starts_with("unknown field"), names.split_first()) {
        (true, Some((name, known))) => {
            let meant = nearest(name, known.iter().copied());
            let meant = meant.map_or_else(
                || format!("; the fields are {}", listed(known)),
                |meant| format!("; did you mean `{meant}`?"),
            );
            format!("`{tool}` has no field `{name}`{meant}")
        }
        (false, Some((name, []))) if reason.starts_with("missing field") => {
            format!("`{tool}` needs `{}`", within(path, name))
        }
        _ => match path {
            Some(path) => format!("`{tool}`, `{path}`: {reason}"),
            None => format!("`{tool}`: {reason}"),
        },
    };
    Failure {
        hint: Some(for_example(tool, example)),
        ..Failure::new(FailureKind::BadParams, &message)
    }
}

/// A field that an input lacks, given what else it says.
pub(super) fn missing(tool: &str, field: &str, example: &str) -> Failure {
    let message = format!("{tool} needs `{field}`");
    let name = tool.trim_start_matches('`').split(['`', ' ']).next().unwrap_or_default();
    Failure {
        hint: Some(for_example(name, example)),
        ..Failure::new(FailureKind::BadParams, &message)
    }
}

/// An action that a tool does not have.
pub(super) fn unknown_action(word: &str, known: &[&str]) -> Failure {
    let shown = troop_model::preview(word, 40);
    let message =
        format!("unknown action `{}`; valid actions: {}", shown.escape_debug(), known.join(", "));
    let meant = nearest(word, known.iter().copied());
    let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
    Failure { hint, ..Failure::new(FailureKind::BadParams, &message) }
}

fn for_example(tool: &str, example: &str) -> String {
    format!("for example: {tool} {example}")
}

fn within(path: Option<&str>, name: &str) -> String {
    path.map_or_else(|| name.to_owned(), |path| format!("{path}.{name}"))
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The name that is most like another, if one is like it at all.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
    let scored = known.into_iter().map(|it| (strsim::jaro_winkler(&plain(name), &plain(it)), it));
    // Of names that are equally alike the first is the one that is shown.
    let best = scored.reduce(|best, it| if it.0 > best.0 { it } else { best });
    best.filter(|(score, _)| *score >= ALIKE).map(|(_, it)| it)
}

/// A field that a model may fill with an empty text when it has nothing to say.
pub(super) fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}
