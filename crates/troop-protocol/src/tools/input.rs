//! Inputs of tools: their schemas, and errors that help the model to make a valid call next.

use std::{fmt, marker::PhantomData};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{
    Deserialize, Deserializer,
    de::{
        self, DeserializeOwned, IntoDeserializer as _, SeqAccess, Visitor,
        value::SeqAccessDeserializer,
    },
};
use serde_json::{Map, Value, json};

use troop_model::{MessageKind, did_you_mean, in_plain_words, nearest};
use uuid::Uuid;

use super::TeamTool;
use crate::{
    code::{Failure, FailureKind},
    method::without_position,
};

/// The kinds of messages that members send; troop itself sends the others.
const KINDS: [MessageKind; 7] = [
    MessageKind::Message,
    MessageKind::Broadcast,
    MessageKind::ShutdownRequest,
    MessageKind::ShutdownResponse,
    MessageKind::PlanApprovalRequest,
    MessageKind::PlanApprovalResponse,
    MessageKind::PermissionResponse,
];

/// The schema of an input: one object without references and without details for programs.
pub(super) fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    if let Some(schema) = schema.as_object_mut() {
        // The tool has a description; the one of the type is for developers.
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

/// Writes a choice of constants as `enum`.
fn as_words(fields: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = fields.get("oneOf") else { return };
    let words: Option<Vec<Value>> = choices.iter().map(|it| it.get("const").cloned()).collect();
    if let Some(words) = words {
        fields.remove("oneOf");
        fields.insert("type".to_owned(), json!("string"));
        fields.insert("enum".to_owned(), Value::Array(words));
    }
}

/// Marks a field as required; the tool reports it itself if it is missing.
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
        let reason = in_plain_words(&without_position(&error.into_inner().to_string()));
        let reason = reason.strip_prefix("invalid type: ").unwrap_or(&reason);
        let message = bad_input::<T>(path.as_deref(), reason);
        let hint = for_example(T::NAME, &T::example(&input));
        Failure::new(FailureKind::BadParams, &message).with_hint(hint)
    })
}

/// Reads the example of a tool.
#[cfg(test)]
pub(super) fn read_example<T: TeamTool>() -> Result<(), Failure> {
    read::<T>(Value::String(T::EXAMPLE.to_owned())).map(drop)
}

/// Some models write an object as text, or nothing for an empty one.
fn object(input: Value) -> Value {
    match input {
        Value::Null => json!({}),
        Value::String(text) if text.trim().is_empty() => json!({}),
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other,
    }
}

/// Says what is wrong with an input: where, what it is, and what was probably meant.
fn bad_input<T: TeamTool>(path: Option<&str>, reason: &str) -> String {
    let tool = T::NAME;
    let names: Vec<&str> = reason.split('`').skip(1).step_by(2).collect();
    match (reason.starts_with("unknown field"), names.split_first()) {
        (true, Some((name, known))) => {
            let meant = nearest(name, known.iter().copied());
            let meant = meant.map_or_else(
                || format!("; the fields are {}", listed(&shown_of::<T>(known))),
                |meant| format!("; {}", did_you_mean(meant)),
            );
            format!("`{tool}` has no field `{name}`{meant}")
        }
        (false, Some((name, []))) if reason.starts_with("missing field") => {
            format!("`{tool}` needs `{}`", within(path, name))
        }
        (false, Some((name, []))) if reason.starts_with("duplicate field") => {
            let name = within(path, name);
            format!("`{tool}`, `{name}`: it was given twice, once under another name; give it once")
        }
        _ => match path {
            Some(path) => format!("`{tool}`, `{path}`: {reason}"),
            None => format!("`{tool}`: {reason}"),
        },
    }
}

/// The fields that models see, without aliases.
fn shown_of<'a, T: TeamTool>(known: &[&'a str]) -> Vec<&'a str> {
    let schema = schema::<T>();
    let fields = schema.get("properties").and_then(Value::as_object);
    let is_shown = |name: &&str| fields.is_none_or(|fields| fields.contains_key(*name));
    let shown: Vec<_> = known.iter().copied().filter(is_shown).collect();
    // Nested objects have other fields.
    if shown.is_empty() { known.to_vec() } else { shown }
}

/// The id of a request, as it came with the request.
pub(super) fn request_id(text: &str) -> Result<Uuid, Failure> {
    text.trim().parse().map_err(|_| {
        let shown = troop_model::preview(text, 80);
        let message = format!("`request_id`: `{}` is not the id of a request", shown.escape_debug());
        let hint = "copy it from the message that asks; it looks like 019a8f00-0000-7000-8000-000000000000";
        Failure::new(FailureKind::BadParams, &message).with_hint(hint)
    })
}

/// The kind of a message from a member.
pub(super) fn message_kind(tool: &str, field: &str, word: &str) -> Result<MessageKind, Failure> {
    let kind = MessageKind::parse(word).ok().filter(|kind| KINDS.contains(kind));
    kind.ok_or_else(|| {
        let known: Vec<_> = KINDS.iter().map(ToString::to_string).collect();
        let shown = troop_model::preview(word, 40);
        let message = format!(
            "`{tool}`, `{field}`: `{}` is none of: {}",
            shown.escape_debug(),
            known.join(", ")
        );
        let meant = nearest(word, known.iter().map(String::as_str));
        let hint = meant.map(|meant| did_you_mean(meant).into());
        Failure { hint, ..Failure::new(FailureKind::BadParams, &message) }
    })
}

/// The error for a field that is missing.
pub(super) fn missing(tool: &str, field: &str, example: &str) -> Failure {
    let message = format!("{tool} needs `{field}`");
    let name = tool.trim_start_matches('`').split(['`', ' ']).next().unwrap_or_default();
    Failure::new(FailureKind::BadParams, &message).with_hint(for_example(name, example))
}

/// The error for an unknown action.
pub(super) fn unknown_action(word: &str, known: &[&str]) -> Failure {
    let shown = troop_model::preview(word, 40);
    let message =
        format!("unknown action `{}`; valid actions: {}", shown.escape_debug(), known.join(", "));
    let meant = nearest(word, known.iter().copied());
    let hint = meant.map(|meant| did_you_mean(meant).into());
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

/// A list; a single value is a list of one.
pub(super) fn several<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    several_if_given(deserializer).map(Option::unwrap_or_default)
}

/// A list or a single value, where a missing list differs from an empty one.
pub(super) fn several_if_given<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_any(ListOrOne(PhantomData))
}

/// Reads a list without buffering it, so that errors have the path of the element.
struct ListOrOne<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListOrOne<T> {
    type Value = Option<Vec<T>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(text.into_deserializer()).map(|one| Some(vec![one]))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(|one| Some(vec![one]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Some)
    }
}

/// A number, which some models write as text.
pub(super) fn number<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + std::str::FromStr,
{
    match Option::<Value>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => {
            text.trim().parse().map(Some).map_err(|_| match text.trim().parse::<i128>() {
                Ok(_) => de::Error::custom(format!("{text} is too large or too small")),
                Err(_) => de::Error::custom(format!("{text:?}, expected a whole number")),
            })
        }
        Some(other) => T::deserialize(&other).map(Some).map_err(|error| {
            match other.is_i64() || other.is_u64() {
                true => de::Error::custom(format!("{other} is too large or too small")),
                false => de::Error::custom(error),
            }
        }),
    }
}

/// A text; some models write an empty one for a missing field.
pub(super) fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}
