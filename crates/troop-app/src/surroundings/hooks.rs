//! The key `hooks` and the mistakes in it. `troop-runtime` defines what a hook is.

use std::path::Path;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use troop_model::{did_you_mean, nearest};
use troop_runtime::{HookEvent, HooksConfig, Mistake, MistakeKind};

use crate::{Error, Result, text::one_line};

/// Reads the hooks of one of troop's own files. A mistake is an error, an unknown key a warning.
pub(super) fn read(
    hooks: Option<&Value>,
    path: &Path,
    warnings: &mut Vec<String>,
) -> Result<HooksConfig> {
    let Some(hooks) = hooks else { return Ok(HooksConfig::none()) };
    let (config, mistakes) = HooksConfig::read(hooks);
    for mistake in mistakes {
        match &mistake.kind {
            MistakeKind::UnknownKey { key, known } => {
                let near = nearest(key, known.iter().copied()).map(suggestion);
                let near = near.unwrap_or_default();
                let what = one_line(&mistake.to_string());
                warnings.push(format!("`{}`: {what}{near}", path.display()));
            }
            MistakeKind::UnknownEvent(_) | MistakeKind::Wrong(_) => {
                return Err(error(&mistake, path));
            }
        }
    }
    Ok(config)
}

/// Reads the hooks of a file that was written for Claude Code. Events and keys that troop does not know are meant for others.
pub(super) fn read_foreign(
    hooks: Option<&Value>,
    path: &Path,
    warnings: &mut Vec<String>,
) -> HooksConfig {
    let Some(hooks) = hooks else { return HooksConfig::none() };
    let (config, mistakes) = HooksConfig::read(hooks);
    for mistake in mistakes {
        if let MistakeKind::Wrong(_) = mistake.kind {
            let what = one_line(&mistake.to_string());
            warnings.push(format!("`{}`: {what}; troop does not run it", path.display()));
        }
    }
    config
}

fn error(mistake: &Mistake, path: &Path) -> Error {
    let message = format!("`{}` is not a configuration: {mistake}", path.display());
    let names = HookEvent::ALL.map(HookEvent::name);
    let hint = match &mistake.kind {
        MistakeKind::UnknownEvent(name) => {
            // A hyphen shows which of the two spellings was meant.
            let names =
                if name.contains('-') { HookEvent::ALL.map(HookEvent::kebab) } else { names };
            match nearest(name, names) {
                Some(near) => did_you_mean(near),
                None => format!("the events are: {}", names.join(", ")),
            }
        }
        MistakeKind::UnknownKey { .. } | MistakeKind::Wrong(_) => {
            r#"a hook is: {"event": "task-completed", "command": "make test"}"#.to_owned()
        }
    };
    Error::misuse(message, hint)
}

pub(super) fn suggestion(near: &str) -> String {
    format!("; {}", did_you_mean(near))
}

/// The schema of the key `hooks`: both styles in one object.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let common = json!({
        "type": {"const": "command"},
        "command": {"type": "string", "minLength": 1, "description": "What the shell runs, in the project's folder."},
        "description": {"type": "string", "description": "What it is good for."},
        "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 86_400, "default": 60, "description": "After how many seconds it is killed."},
        "async": {"type": "boolean", "default": false, "description": "Whether nobody waits for it. It cannot veto then."},
    });
    let mut flat = common.as_object().cloned().unwrap_or_default();
    let names = HookEvent::ALL.map(|event| [event.name(), event.kebab()]).concat();
    flat.insert("event".to_owned(), json!({"enum": names}));
    let filter = json!({
        "type": ["string", "object"],
        "additionalProperties": {"type": ["string", "number"]},
        "description": "A glob on the teammate, or globs on values by their names. Several with `|` between them.",
    });
    flat.insert("filter".to_owned(), filter);
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let hook = object(common, &["command"]);
    let matcher = json!({"type": "string", "description": "A glob on the teammate. Several with `|` between them."});
    let group = json!({"matcher": matcher, "hooks": {"type": "array", "items": hook}});
    let group = json!({"type": "array", "items": object(group, &["hooks"])});
    let mut properties: Map<String, Value> = Map::new();
    properties.insert("enabled".to_owned(), json!({"type": "boolean", "default": true}));
    let flat = object(Value::Object(flat), &["event", "command"]);
    properties.insert("hooks".to_owned(), json!({"type": "array", "items": flat}));
    generator.definitions_mut().insert("HookGroups".to_owned(), group);
    let group = |name: &&str| ((*name).to_owned(), json!({"$ref": "#/$defs/HookGroups"}));
    properties.extend(names.iter().map(group));
    json_schema!({"type": "object", "properties": properties, "additionalProperties": false})
}
