//! The one place that reads the environment and the current folder of this process.

use std::{env, path::PathBuf};

use anyhow::{Context as _, Result};
use troop_app::surroundings::Environment;

/// Reads the environment of this process.
pub(crate) fn read() -> Environment {
    Environment::new(env::vars_os().collect(), env::current_dir().unwrap_or_default())
}

/// The path of this program, which leads start for their teammates.
pub(crate) fn program() -> Result<PathBuf> {
    env::current_exe().context("the path of troop itself is unknown")
}
