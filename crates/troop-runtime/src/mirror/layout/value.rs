//! Reading JSON that anybody may have written.

use serde_json::{Map, Value};

use super::Unreadable;

/// A file's one object.
pub(crate) fn read_object(bytes: &[u8]) -> Result<Map<String, Value>, Unreadable> {
    let value = parse(bytes)?;
    let what = kind(&value);
    let Value::Object(object) = value else {
        return Err(Unreadable::Shape(format!("it holds {what}, not an object")));
    };
    Ok(object)
}

/// A file's one array. An empty file is an empty array.
pub(crate) fn read_array(bytes: &[u8]) -> Result<Vec<Value>, Unreadable> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let value = parse(bytes)?;
    let what = kind(&value);
    let Value::Array(array) = value else {
        return Err(Unreadable::Shape(format!("it holds {what}, not an array")));
    };
    Ok(array)
}

fn parse(bytes: &[u8]) -> Result<Value, Unreadable> {
    // Some programs write a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // `serde_json` limits the nesting.
    serde_json::from_slice(bytes).map_err(|error| Unreadable::NotJson(error.to_string()))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The fields of a literal object.
pub(super) fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(object) = value { object } else { Map::new() }
}

/// A text, or a number as text; null and the empty text are none.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Reads a text, and refuses anything else.
pub(super) fn read_text(key: &str, value: &Value) -> Result<Option<String>, Unreadable> {
    match value {
        Value::Null | Value::String(_) | Value::Number(_) => Ok(text(value)),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            Err(wrong_kind(key, value, "a text"))
        }
    }
}

/// Reads a list of texts, and refuses anything else. One text is a list of one.
pub(super) fn read_texts(key: &str, value: &Value) -> Result<Vec<String>, Unreadable> {
    let Value::Array(all) = value else {
        let one = read_text(key, value).map_err(|_| wrong_kind(key, value, "a list of texts"))?;
        return Ok(one.into_iter().collect());
    };
    let texts = all.iter().map(|it| text(it).ok_or_else(|| wrong_kind(key, it, "a text")));
    texts.collect()
}

/// Reads metadata, and refuses anything else.
pub(super) fn read_data(
    file: &Map<String, Value>,
    key: &str,
) -> Result<Option<Map<String, Value>>, Unreadable> {
    match file.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(data)) => Ok(Some(data.clone())),
        Some(other) => Err(wrong_kind(key, other, "an object")),
    }
}

/// Reads a text at a key, and refuses anything else. The empty text counts.
pub(super) fn read_words(
    file: &Map<String, Value>,
    key: &str,
) -> Result<Option<String>, Unreadable> {
    match file.get(key) {
        Some(Value::String(words)) => Ok(Some(words.clone())),
        other => other.map_or(Ok(None), |it| read_text(key, it)),
    }
}

fn wrong_kind(key: &str, value: &Value, wanted: &str) -> Unreadable {
    Unreadable::Shape(format!("`{key}` has {}, and should have {wanted}", kind(value)))
}

/// The result of a task, whatever its form.
pub(super) fn result(value: &Value) -> Option<String> {
    match value {
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
        Value::Null | Value::Number(_) | Value::String(_) => text(value),
    }
}

/// A text at a key.
pub(super) fn at(file: &Map<String, Value>, key: &str) -> Option<String> {
    file.get(key).and_then(text)
}

/// The first of several keys whose value differs from before; if none does, the first that exists. An empty text counts only if
/// no other key does: it may be older than what it is compared with.
pub(super) fn newest<'a>(
    file: &'a Map<String, Value>,
    before: Option<&Map<String, Value>>,
    keys: &[&'static str],
) -> Option<(&'static str, &'a Value)> {
    let said = || keys.iter().filter_map(|key| Some((*key, file.get(*key)?)));
    let is_new = |(key, value): &(&str, &Value)| {
        before.is_some_and(|before| before.get(*key) != Some(*value))
    };
    let fresh = || said().filter(|it| is_new(it));
    let full = fresh().find(|(_, value)| value.as_str() != Some(""));
    full.or_else(|| fresh().next()).or_else(|| said().next())
}
