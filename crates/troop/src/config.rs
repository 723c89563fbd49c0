//! What surrounds a command: the environment and the configuration files, read once.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::Result;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use troop_store::{StoreError, StoreUrl};

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
    /// Reads everything; what is wrong with a file is an error.
    pub(crate) fn read(global: &Global) -> Result<Self> {
        Self::read_with(global, |_, error| Err(error))
    }

    /// Reads everything; what is wrong with a file is only told.
    pub(crate) fn read_what_is_there(global: &Global) -> Result<Self> {
        Self::read_with(global, |warnings, error| {
            warnings.push(error.to_string());
            Ok(Config::default())
        })
    }

    fn read_with(
        global: &Global,
        broken: impl Fn(&mut Vec<String>, anyhow::Error) -> Result<Config>,
    ) -> Result<Self> {
        let home = match global.home.as_ref().filter(|home| !home.as_os_str().is_empty()) {
            Some(home) => home.clone(),
            None => home().ok_or_else(|| {
                Usage::new(
                    "there is no home folder to keep teams in",
                    "say where: `TROOP_HOME=/path troop …`",
                )
            })?,
        };
        let project = find_project(&env::current_dir().unwrap_or_default(), &home);
        let mut warnings = Vec::new();
        let mut read = |path: PathBuf| {
            read_file(&path, &mut warnings).or_else(|error| broken(&mut warnings, error))
        };
        let personal = read(home.join("config.json"))?;
        let shared = read(project.join(".troop/config.json"))?;
        let config = Config {
            schema: None,
            store: shared.store.map(|store| from_folder(&store, &project)).or(personal.store),
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
        said(global).or_else(|| self.config.store.clone()).unwrap_or_else(embedded)
    }

    /// Whether nobody said where teams are kept.
    pub(crate) fn is_default_store(&self, global: &Global) -> bool {
        said(global).is_none() && self.config.store.is_none()
    }
}

/// Reads a store's URL. One that makes no sense is wrong use, wherever it was written.
pub(crate) fn parse_store(url: &str) -> Result<StoreUrl> {
    StoreUrl::parse(url).map_err(|error| {
        if let StoreError::Refused { what, hint } = error {
            Usage::new(what, hint).into()
        } else {
            error.into()
        }
    })
}

/// The store as typed; an empty variable says nothing.
fn said(global: &Global) -> Option<String> {
    global.store.clone().filter(|store| !store.is_empty())
}

/// The folder that a project's `.troop` is in: this one, or the nearest above it. The person's own does not count.
fn find_project(folder: &Path, home: &Path) -> PathBuf {
    let is_project = |folder: &&Path| {
        let mark = folder.join(".troop");
        mark.is_dir() && mark != home
    };
    folder.ancestors().find(is_project).unwrap_or(folder).to_owned()
}

/// A store in a project's file is meant from the project's folder on, wherever a command is typed.
fn from_folder(store: &str, folder: &Path) -> String {
    match store.split_once(':') {
        Some((scheme @ ("sqlite" | "files"), path)) if !path.is_empty() => {
            format!("{scheme}:{}", folder.join(path.trim_start_matches("//")).display())
        }
        _ => store.to_owned(),
    }
}

/// The JSON Schema of a configuration file.
#[cfg(test)]
pub(crate) fn schema() -> String {
    let schema = schemars::schema_for!(Config);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

/// The person's own folder, as the environment has it.
pub(crate) fn home() -> Option<PathBuf> {
    let chosen = variable("TROOP_HOME").map(PathBuf::from);
    chosen.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".troop")))
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
            format!("its keys are: {}", KEYS.join(", ")),
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
