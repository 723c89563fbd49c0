//! The environment variables and the current folder, handed in by the program that uses the library.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// The variable in which a lead tells its teammates which file of MCP servers a person agreed to.
pub const TRUSTED_SERVERS: &str = "TROOP_TRUSTED_SERVERS";

/// Variables and the current folder. Programs that troop starts inherit the variables.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    folder: PathBuf,
}

impl Environment {
    #[must_use]
    pub fn new(variables: Vec<(OsString, OsString)>, folder: PathBuf) -> Self {
        Self { variables, folder }
    }

    /// All variables, for a process to start.
    #[must_use]
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        self.variables.clone()
    }

    /// The current folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The value of a variable. An empty value counts as none.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        self.raw(name)?.to_str().map(str::to_owned).filter(|value| !value.is_empty())
    }

    /// Whether this process is a teammate, or something that a teammate started.
    #[must_use]
    pub fn is_teammate(&self) -> bool {
        self.variable("TROOP_TEAMMATE").is_some_and(|value| value == "1")
    }

    /// Where troop keeps its files: `TROOP_HOME`, or `.troop` in the home folder.
    #[must_use]
    pub fn troop_home(&self) -> Option<PathBuf> {
        let chosen = self.variable("TROOP_HOME").map(PathBuf::from);
        chosen.or_else(|| self.below_home(".troop"))
    }

    /// A folder in the home folder.
    #[must_use]
    pub fn below_home(&self, name: &str) -> Option<PathBuf> {
        Some(PathBuf::from(self.variable("HOME")?).join(name))
    }

    /// The MCP servers that a person agreed to, as the lead of this teammate passed them on.
    #[must_use]
    pub fn trusted_servers(&self) -> Option<String> {
        self.variable(TRUSTED_SERVERS)
    }

    /// The project that a teammate works for, as its lead passed it on.
    #[must_use]
    pub fn project(&self) -> Option<PathBuf> {
        self.variable("TROOP_PROJECT").map(PathBuf::from)
    }

    /// The first file of this name in the folders of `PATH`.
    #[must_use]
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let folders = self.raw("PATH")?;
        env::split_paths(folders).map(|folder| folder.join(name)).find(|file| file.is_file())
    }

    fn raw(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }
}
