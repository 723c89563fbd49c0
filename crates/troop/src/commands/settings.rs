//! Settings as `KEY=VALUE`.

use anyhow::Result;
use serde_json::Value;
use troop_model::{Settings, did_you_mean, nearest};

use crate::report::{Hint, HintCommand, Usage};

/// Changes to settings: each `KEY=VALUE`, where the value is JSON, a word, or words with commas for a list.
pub(super) fn changes(settings: &Settings, texts: &[String]) -> Result<Vec<(String, Value)>> {
    let known = flatten(&serde_json::to_value(settings)?);
    let mut changes = Vec::new();
    for change in texts {
        let Some((key, text)) = change.split_once('=') else {
            let hint = format!("for example: `{change}=…`");
            return Err(Usage::new(format!("`{change}` is not KEY=VALUE"), hint).into());
        };
        let Some((_, before)) = known.iter().find(|(name, _)| name == key) else {
            let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
            let hint = match nearest(key, names.iter().copied()) {
                Some(near) => did_you_mean(&format!("{near}={text}")),
                None => format!("the settings are: {}", names.join(", ")),
            };
            return Err(Usage::new(format!("there is no setting `{key}`"), hint).into());
        };
        changes.push((key.to_owned(), parse(text, before)));
    }
    Ok(changes)
}

/// A team's name and the changes to it: what comes first and is no `KEY=VALUE` is the name.
pub(super) fn named(first: Option<String>, mut rest: Vec<String>) -> (Option<String>, Vec<String>) {
    match first {
        Some(change) if change.contains('=') => {
            rest.insert(0, change);
            (None, rest)
        }
        name => (name, rest),
    }
}

/// Nobody said what to change; what was taken for a team's name may be a setting without its value.
pub(super) fn nothing_to_set(name: Option<&str>) -> anyhow::Error {
    let Some(name) = name else {
        let set = HintCommand::troop("team set").word("lease_seconds=600");
        let hint = Hint::to("for example", set);
        return Usage::new("there is nothing to change", hint).into();
    };
    let known = serde_json::to_value(Settings::default()).map(|value| flatten(&value));
    let hint = match known.unwrap_or_default().iter().any(|(key, _)| key == name) {
        true => format!("for example: `{name}=…`").into(),
        false => {
            let set = HintCommand::troop("team set").team(name).word("lease_seconds=600");
            Hint::to("for example", set)
        }
    };
    Usage::new(format!("`{name}` is not KEY=VALUE"), hint).into()
}

/// What is otherwise in these settings than it was, as `key = value`.
pub(super) fn differences(before: &Settings, after: &Settings) -> Result<Vec<String>> {
    let before = flatten(&serde_json::to_value(before)?);
    let after = flatten(&serde_json::to_value(after)?);
    let changed = after.into_iter().filter(|setting| !before.contains(setting));
    Ok(changed.map(|(key, value)| format!("{key} = {value}")).collect())
}

/// All settings with their full names.
pub(super) fn flatten(value: &Value) -> Vec<(String, Value)> {
    let mut flat = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        if value.is_object() {
            flat.extend(
                flatten(value).into_iter().map(|(inner, value)| (format!("{key}.{inner}"), value)),
            );
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
mod tests {
    //! Settings as people write them.

    use std::{fs, path::Path};

    use troop_model::Settings;

    use super::flatten;

    #[test]
    fn every_setting_is_documented_with_its_default() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
        let text = fs::read_to_string(file).unwrap();
        for (key, value) in flatten(&serde_json::to_value(Settings::default()).unwrap()) {
            let row = format!("| `{key}` | `{value}` |");
            assert!(text.contains(&row), "docs/settings.md has no row `{row}`");
        }
    }
}
