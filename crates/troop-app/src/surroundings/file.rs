//! Reads one configuration file.

use std::{fs, io, path::Path};

use serde_json::Value;
use troop_model::{Hint, HintCommand, in_plain_words, nearest};

use super::{ConfigFile, hooks::suggestion, teams, teams::TeammateMode};
use crate::{Error, Result, hint::move_away, text::one_line};

/// The keys of a configuration file.
pub(super) const KEYS: [&str; 11] = [
    "$schema",
    "agent",
    "hooks",
    "limits",
    "model",
    "models",
    "permissions",
    "store",
    "team",
    "teams",
    "user",
];

/// Reads a configuration file. A missing file counts as empty.
pub(super) fn read(path: &Path, warnings: &mut Vec<String>) -> Result<ConfigFile> {
    match text(path)? {
        Some(text) => parse(&text, path, warnings),
        None => Ok(ConfigFile::default()),
    }
}

pub(super) fn parse(text: &str, path: &Path, warnings: &mut Vec<String>) -> Result<ConfigFile> {
    let wrong = |what: String| {
        Error::misuse(
            format!("`{}` is not a configuration: {}", path.display(), one_line(&what)),
            format!("its keys are: {}", KEYS.join(", ")),
        )
    };
    let Some(value) = json(text).map_err(wrong)? else { return Ok(ConfigFile::default()) };
    if !value.is_object() {
        return Err(wrong("it is not an object".to_owned()));
    }
    warn_of_unknown(&value, "", &KEYS, path, warnings);
    if let Some(value) = value.get("teams") {
        warn_of_unknown(value, "teams.", &teams::KEYS, path, warnings);
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let at = error.path().to_string();
        wrong(format!("`{at}`: {}", in_plain_words(&error.into_inner().to_string())))
    })
}

/// The deny rules of a file. An unreadable file forbids nothing here; the program that owns the file reports it.
pub(super) fn forbidden(path: &Path) -> Vec<String> {
    let value = text(path).ok().flatten().and_then(|text| json(&text).ok().flatten());
    let deny = value.as_ref().and_then(|value| value.get("permissions")?.get("deny"));
    let rules = deny.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    rules.map(str::to_owned).collect()
}

/// What troop takes from `.claude/settings.json`. It is another program's file, so mistakes in it are only warnings.
#[derive(Debug, Default)]
pub(super) struct ClaudeSettings {
    pub(super) hooks: Option<Value>,
    pub(super) are_hooks_off: bool,
    pub(super) teammate_mode: Option<TeammateMode>,
}

impl ClaudeSettings {
    pub(super) fn read(path: &Path, warnings: &mut Vec<String>) -> Self {
        let read = text(path).map_err(|error| error.to_string());
        let read = read.and_then(|text| text.map(|text| json(&text)).transpose());
        let mut settings = match read.map(Option::flatten) {
            Ok(Some(settings)) => settings,
            Ok(None) => return Self::default(),
            Err(error) => {
                warnings.push(format!("`{}` is not understood: {error}", path.display()));
                return Self::default();
            }
        };
        let mode = settings.get("teammateMode").cloned().map(serde_json::from_value).transpose();
        let teammate_mode = mode.unwrap_or_else(|error| {
            warnings.push(format!("`{}`: `teammateMode`: {error}", path.display()));
            None
        });
        Self {
            hooks: settings.get_mut("hooks").map(Value::take),
            are_hooks_off: settings.get("disableAllHooks") == Some(&Value::Bool(true)),
            teammate_mode,
        }
    }
}

/// The text of a file; none if the file does not exist.
fn text(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            let message = format!("`{}` is a folder, not a file", path.display());
            Err(Error::misuse(message, move_away(path)))
        }
        Err(error) => {
            let readable = HintCommand::other("chmod").word("u+r").word(path.display());
            let message = format!("`{}` cannot be read: {error}", path.display());
            Err(Error::misuse(message, Hint::to("make it readable", readable)))
        }
    }
}

/// Parses JSON with comments; none if there is nothing but comments.
fn json(text: &str) -> Result<Option<Value>, String> {
    jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default())
        .map_err(|error| error.to_string())
}

fn warn_of_unknown(
    value: &Value,
    place: &str,
    known: &[&str],
    path: &Path,
    warnings: &mut Vec<String>,
) {
    for key in value.as_object().into_iter().flat_map(|fields| fields.keys()) {
        if !known.contains(&key.as_str()) {
            let near = nearest(key, known.iter().copied()).map(suggestion).unwrap_or_default();
            let key = one_line(key);
            warnings.push(format!("`{}`: unknown key `{place}{key}`{near}", path.display()));
        }
    }
}
