//! What a repository is made of: languages, frameworks, structure, signals; and which team would suit it.
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
/// How many places of one signal are told.
const MAX_LOCATIONS: usize = 10;

/// What a repository is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// Where it is.
    pub path: String,
    /// Whether git knows it.
    pub git: bool,
    /// How many files it has.
    pub files: usize,
    /// How many of them were read.
    pub scanned: usize,
    /// Languages, by their manifests.
    pub languages: Vec<Language>,
    /// Frameworks, by what `package.json` depends on.
    pub frameworks: Vec<String>,
    /// What else there is.
    pub structure: Structure,
    /// What somebody might look after.
    pub signals: Vec<Signal>,
    /// Who would suit it.
    pub team: Vec<Suggestion>,
    /// What could not be found out, and why.
    pub notes: Vec<String>,
}

/// A language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Language {
    /// Its name.
    pub name: &'static str,
    /// The file that it is known by.
    pub manifest: String,
}

/// What a repository has besides code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Structure {
    /// `docs/`.
    pub docs: bool,
    /// `tests/`, `test/` or `__tests__/`.
    pub tests: bool,
    /// `.github/workflows/`, `.circleci/` or `.gitlab-ci.yml`.
    pub ci: bool,
}

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// Something that somebody might look after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signal {
    /// What: `todo`, `missing-docs`, `missing-tests`.
    pub kind: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// How often it was found.
    pub count: usize,
    /// The same in words.
    pub message: String,
    /// Where, the first few.
    pub locations: Vec<Location>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// Which file.
    pub file: String,
    /// Which line, from 1.
    pub line: usize,
}

/// A member that would suit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// Its name.
    pub name: String,
    /// What it should be good at.
    pub expertise: String,
    pub reason: String,
}

/// Looks at the repository in a folder, with what git finds in its environment. What cannot be read is told in the notes;
/// there is always a profile.
pub async fn profile(path: &Path, environment: &[(OsString, OsString)]) -> Profile {
    let files = list::files(path, environment).await;
    let root = path.to_owned();
    let made = tokio::task::spawn_blocking(move || make(&root, files)).await;
    made.expect("looking at files does not panic, whatever they hold")
}

fn make(root: &Path, files: list::RepositoryFiles) -> Profile {
    let mut notes = files.notes;
    let manifests = recognise::manifests(&files.paths);
    let languages = recognise::languages(&manifests);
    let structure = recognise::structure(root);
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
