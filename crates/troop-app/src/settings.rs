//! A team's settings as people write them: `KEY=VALUE`.

use serde_json::Value;
use troop_model::{Dialect, Hint, HintCommand, Refusal, Settings, did_you_mean, nearest};

use crate::{Error, Result};

/// The settings with changes that are written as `KEY=VALUE`.
pub fn changed(settings: &Settings, texts: &[String]) -> Result<Settings> {
    let changed = settings.changed(&changes(settings, texts)?);
    Ok(changed.map_err(Refusal::BadSetting)?)
}

/// The dialect that changes to a new team's settings name. It decides the defaults of the others.
pub fn dialect_among(texts: &[String]) -> Result<Option<Dialect>> {
    Ok(changed(&Settings::default(), texts)?.dialect)
}

/// Parses changes: each `KEY=VALUE`, where the value is JSON, a word, or words with commas for a list.
pub fn changes(settings: &Settings, texts: &[String]) -> Result<Vec<(String, Value)>> {
    let known = named(settings);
    let mut changes = Vec::new();
    for change in texts {
        let Some((key, text)) = change.split_once('=') else {
            let hint = format!("for example: `{change}=…`");
            return Err(Error::misuse(format!("`{change}` is not KEY=VALUE"), hint));
        };
        let Some((_, before)) = known.iter().find(|(name, _)| name == key) else {
            let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
            let hint = match nearest(key, names.iter().copied()) {
                Some(near) => did_you_mean(&format!("{near}={text}")),
                None => format!("the settings are: {}", names.join(", ")),
            };
            return Err(Error::misuse(format!("there is no setting `{key}`"), hint));
        };
        changes.push((key.to_owned(), parse(text, before)));
    }
    Ok(changes)
}

/// Refuses an order without changes. A name may be a setting without its value.
#[must_use]
pub fn nothing_to_set(name: Option<&str>) -> Error {
    let example = |set: HintCommand| Hint::to("for example", set.word("lease_seconds=600"));
    let set = HintCommand::troop("team set");
    let Some(name) = name else {
        return Error::misuse("there is nothing to change", example(set));
    };
    let hint = match named(&Settings::default()).iter().any(|(key, _)| key == name) {
        true => format!("for example: `{name}=…`").into(),
        false => example(set.team(name)),
    };
    Error::misuse(format!("`{name}` is not KEY=VALUE"), hint)
}

/// The settings that differ from what they were, as `key = value`.
#[must_use]
pub fn differences(before: &Settings, after: &Settings) -> Vec<String> {
    let before = named(before);
    let changed = named(after).into_iter().filter(|setting| !before.contains(setting));
    changed.map(|(key, value)| format!("{key} = {value}")).collect()
}

/// All settings with their full names.
#[must_use]
pub fn named(settings: &Settings) -> Vec<(String, Value)> {
    flatten(&serde_json::to_value(settings).unwrap_or_default())
}

fn flatten(value: &Value) -> Vec<(String, Value)> {
    let mut flat = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        if value.is_object() {
            let inner = flatten(value).into_iter();
            flat.extend(inner.map(|(inner, value)| (format!("{key}.{inner}"), value)));
        } else {
            flat.push((key.clone(), value.clone()));
        }
    }
    flat
}

fn parse(text: &str, before: &Value) -> Value {
    let plain = || Value::String(text.to_owned());
    match (before, serde_json::from_str(text)) {
        (Value::Array(_), Ok(Value::Array(list))) => Value::Array(list),
        (Value::Array(_), _) => {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            Value::Array(words.map(|word| Value::String(word.to_owned())).collect())
        }
        (_, Ok(value)) => value,
        (_, Err(_)) => plain(),
    }
}

#[cfg(test)]
mod tests;
