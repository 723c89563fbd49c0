//! What surrounds a command: the environment and the configuration files, read once.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::Result;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    cli::Global,
    report::{Usage, nearest},
};

/// The configuration file, in `$TROOP_HOME/config.json` and in a project's `.troop/config.json`. Comments are allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Config {
    /// Where this file's schema is; for editors.
    #[serde(rename = "$schema")]
    schema: Option<String>,
    /// Where teams are kept: `sqlite:PATH`, `files:FOLDER` or `postgres://…`.
    pub(crate) store: Option<String>,
    /// The team, where there are several.
    pub(crate) team: Option<String>,
    /// The name of the person at the keyboard, as it stands in the log.
    pub(crate) user: Option<String>,
}

/// The keys of a configuration file.
const KEYS: [&str; 4] = ["$schema", "store", "team", "user"];

/// All that a command depends on besides its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) config: Config,
    pub(crate) user: String,
    /// What a person should know about the files that were read.
    pub(crate) warnings: Vec<String>,
}

impl Surroundings {
    pub(crate) fn read(global: &Global) -> Result<Self> {
        let home = match &global.home {
            Some(home) => home.clone(),
            None => variable("HOME").map(|home| PathBuf::from(home).join(".troop")).ok_or_else(
                || {
                    Usage::new(
                        "there is no home folder to keep teams in",
                        "say where: `TROOP_HOME=/path troop …`",
                    )
                },
            )?,
        };
        let project = env::current_dir().unwrap_or_default();
        let mut warnings = Vec::new();
        let personal = read_file(&home.join("config.json"), &mut warnings)?;
        let shared = read_file(&project.join(".troop/config.json"), &mut warnings)?;
        let config = Config {
            schema: None,
            store: shared.store.or(personal.store),
            team: shared.team.or(personal.team),
            user: personal.user.or(shared.user),
        };
        let user =
            config.user.clone().or_else(|| variable("USER")).unwrap_or_else(|| "user".to_owned());
        Ok(Self { home, project, config, user, warnings })
    }

    /// The store that is meant: as said, as configured, or the embedded one.
    pub(crate) fn store_url(&self, global: &Global) -> String {
        let embedded = || format!("sqlite:{}", self.home.join("troop.db").display());
        global.store.clone().or_else(|| self.config.store.clone()).unwrap_or_else(embedded)
    }
}

/// The JSON Schema of a configuration file.
#[cfg(test)]
pub(crate) fn schema() -> String {
    let schema = schemars::schema_for!(Config);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

fn variable(name: &str) -> Option<String> {
    env::var_os(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
}

fn read_file(path: &Path, warnings: &mut Vec<String>) -> Result<Config> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Ok(Config::default());
        }
        Err(error) => {
            let hint = format!("make it readable: `chmod u+r {}`", path.display());
            return Err(
                Usage::new(format!("`{}` cannot be read: {error}", path.display()), hint).into()
            );
        }
    };
    parse(&text, path, warnings)
}

fn parse(text: &str, path: &Path, warnings: &mut Vec<String>) -> Result<Config> {
    let wrong = |what: String| {
        Usage::new(
            format!("`{}` is not a configuration: {what}", path.display()),
            "see docs/config.schema.json",
        )
    };
    let value: Option<Value> =
        jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default())
            .map_err(|error| wrong(error.to_string()))?;
    let Some(value) = value else { return Ok(Config::default()) };
    if !value.is_object() {
        return Err(wrong("it is not an object".to_owned()).into());
    }
    for key in value.as_object().into_iter().flat_map(|fields| fields.keys()) {
        if !KEYS.contains(&key.as_str()) {
            let near =
                nearest(key, KEYS.into_iter()).map(|near| format!("; did you mean `{near}`?"));
            warnings.push(format!(
                "`{}`: unknown key `{key}`{}",
                path.display(),
                near.unwrap_or_default()
            ));
        }
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let at = error.path().to_string();
        wrong(format!("`{at}`: {}", error.into_inner())).into()
    })
}

#[cfg(test)]
mod tests;
