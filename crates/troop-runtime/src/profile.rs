//! The profile of a repository: languages, frameworks, structure, signals, and a suggested team.
//!
//! Fast on a large one: the list of files comes from git, and at most [`MAX_SCANNED`] of them are read.

mod list;
mod recognise;
mod scan;
mod suggest;

use std::{ffi::OsString, path::Path};

use serde::Serialize;

#[cfg(test)]
mod tests;

/// How many files are read.
const MAX_SCANNED: usize = 200;
/// How many places of one signal are listed.
const MAX_LOCATIONS: usize = 10;

/// The profile of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    pub path: String,
    /// Whether it is a git repository.
    pub git: bool,
    /// How many files it has.
    pub files: usize,
    /// How many of them were read.
    pub scanned: usize,
    /// Languages, recognised by their manifests.
    pub languages: Vec<Language>,
    /// Frameworks, recognised by the dependencies in `package.json`.
    pub frameworks: Vec<String>,
    pub structure: Structure,
    pub signals: Vec<Signal>,
    /// The suggested team.
    pub team: Vec<Suggestion>,
    /// Problems that occurred on the way.
    pub notes: Vec<String>,
}

/// A language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Language {
    pub name: &'static str,
    /// The file that it was recognised by.
    pub manifest: String,
}

/// Parts of a repository besides its code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Structure {
    /// `docs/`.
    pub docs: bool,
    /// `tests/`, `test/` or `__tests__/`, also beside a manifest.
    pub tests: bool,
    /// `.github/workflows/`, `.circleci/`, `.ci/` or `.gitlab-ci.yml`.
    pub ci: bool,
}

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Low,
    Medium,
    High,
}

/// Something that may need work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signal {
    /// `todo`, `missing-docs` or `missing-tests`.
    pub kind: &'static str,
    pub severity: Severity,
    /// How often it was found.
    pub count: usize,
    /// The signal in words.
    pub message: String,
    /// The first few places.
    pub locations: Vec<Location>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    pub file: String,
    /// From 1.
    pub line: usize,
}

/// A suggested member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    pub name: String,
    pub expertise: String,
    pub reason: String,
}

/// Profiles the repository in a folder; git gets this environment. There is always a profile: its notes name files that
/// cannot be read.
pub async fn profile(path: &Path, environment: &[(OsString, OsString)]) -> Profile {
    let files = list::files(path, environment).await;
    let root = path.to_owned();
    let made = tokio::task::spawn_blocking(move || make(&root, files)).await;
    made.expect("looking at files does not panic, whatever they hold")
}

fn make(root: &Path, files: list::RepositoryFiles) -> Profile {
    let mut notes = files.notes;
    let manifests = recognise::manifests(&files.paths);
    let languages = recognise::languages(&manifests, &files.paths);
    let structure = recognise::structure(root, &manifests);
    let packages = recognise::packages(&manifests);
    let (frameworks, mut complaints) = scan::frameworks(root, &packages);
    notes.append(&mut complaints);
    let room = MAX_SCANNED.saturating_sub(packages.len());
    let todos =
        scan::todos(root, files.paths.iter().filter(|it| recognise::is_source(it)).take(room));
    let signals = recognise::signals(&todos, structure);
    let team = suggest::team(&languages, &frameworks, structure, &signals);
    Profile {
        path: root.display().to_string(),
        git: files.is_git,
        files: files.paths.len(),
        scanned: todos.n_files + packages.len(),
        languages,
        frameworks,
        structure,
        signals,
        team,
        notes,
    }
}
