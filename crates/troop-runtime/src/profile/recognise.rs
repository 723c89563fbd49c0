//! Interprets names of files and findings. Reads no file.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{Language, Severity, Signal, Structure, scan::Todos};

/// Manifests and their languages, in the order in which languages are listed.
const MANIFESTS: [(&str, &str); 9] = [
    ("package.json", "TypeScript"),
    ("tsconfig.json", "TypeScript"),
    ("Cargo.toml", "Rust"),
    ("go.mod", "Go"),
    ("pyproject.toml", "Python"),
    ("requirements.txt", "Python"),
    ("Gemfile", "Ruby"),
    ("pom.xml", "Java"),
    ("build.gradle", "Java"),
];

/// Packages and their frameworks.
pub(super) const FRAMEWORKS: [(&str, &str); 11] = [
    ("react", "react"),
    ("vue", "vue"),
    ("@angular/core", "angular"),
    ("angular", "angular"),
    ("express", "express"),
    ("fastify", "fastify"),
    ("next", "next"),
    ("ink", "ink"),
    ("commander", "commander"),
    ("vitest", "vitest"),
    ("jest", "jest"),
];

/// The extensions of files that are searched for signals.
const SOURCES: [&str; 7] = ["ts", "tsx", "js", "jsx", "py", "rs", "go"];
/// Folders with foreign code.
const FOREIGN: [&str; 4] = ["node_modules", "vendor", "third_party", "target"];
/// Folders with tests.
const TESTS: [&str; 3] = ["tests", "test", "__tests__"];
/// How deep a manifest may be: in the root, or in one of its packages.
const MANIFEST_DEPTH: usize = 3;
/// How many `package.json` are read.
const MAX_PACKAGES: usize = 10;

/// Up to this many words have low and medium severity.
const FEW: usize = 5;
const SOME: usize = 20;

/// The manifests of a repository: files near its root, outside foreign code.
pub(super) fn manifests(paths: &[PathBuf]) -> Vec<PathBuf> {
    let is_manifest = |path: &&PathBuf| {
        let name = path.file_name();
        MANIFESTS.iter().any(|(manifest, _)| name.is_some_and(|name| name == *manifest))
    };
    paths.iter().filter(is_manifest).filter(is_own).cloned().collect()
}

/// Whether a file is near the root, and not foreign code.
fn is_own(path: &&PathBuf) -> bool {
    let is_foreign = |part: &OsStr| FOREIGN.iter().any(|foreign| part == *foreign);
    path.components().count() <= MANIFEST_DEPTH && !path.iter().any(is_foreign)
}

/// The languages of manifests, each once, with the manifest nearest to the root. Python programs often have none, so without any
/// manifest a source file counts.
pub(super) fn languages(manifests: &[PathBuf], paths: &[PathBuf]) -> Vec<Language> {
    let mut languages: Vec<Language> = Vec::new();
    for (manifest, name) in MANIFESTS {
        if languages.iter().any(|it| it.name == name) {
            continue;
        }
        let nearest = named(manifests, manifest).min_by_key(|path| path.components().count());
        languages.extend(nearest.map(|it| Language { name, manifest: it.display().to_string() }));
    }
    if languages.is_empty() {
        let is_python = |path: &&PathBuf| path.extension().is_some_and(|it| it == "py");
        let sources = paths.iter().filter(is_own).filter(is_python);
        let nearest = sources.min_by_key(|path| path.components().count());
        let python = |it: &PathBuf| Language { name: "Python", manifest: it.display().to_string() };
        languages.extend(nearest.map(python));
    }
    languages
}

/// The manifests that name frameworks.
pub(super) fn packages(manifests: &[PathBuf]) -> Vec<PathBuf> {
    named(manifests, "package.json").take(MAX_PACKAGES).cloned().collect()
}

fn named<'a>(paths: &'a [PathBuf], name: &'a str) -> impl Iterator<Item = &'a PathBuf> {
    paths.iter().filter(move |path| path.file_name().is_some_and(|it| it == name))
}

pub(super) fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_some_and(|extension| SOURCES.contains(&extension))
}

/// The parts of a repository besides its code, judged by the folders in its root. Tests may also be beside a manifest, as in a
/// workspace of several packages.
pub(super) fn structure(root: &Path, manifests: &[PathBuf]) -> Structure {
    let has = |name: &str| root.join(name).is_dir();
    let has_tests = |package: &Path| TESTS.iter().any(|it| root.join(package).join(it).is_dir());
    let mut packages = manifests.iter().filter_map(|it| it.parent());
    Structure {
        docs: has("docs"),
        tests: has_tests(Path::new("")) || packages.any(has_tests),
        ci: has(".github/workflows")
            || has(".circleci")
            || has(".ci")
            || root.join(".gitlab-ci.yml").is_file(),
    }
}

pub(super) fn signals(todos: &Todos, structure: Structure) -> Vec<Signal> {
    let mut signals = Vec::new();
    if todos.count > 0 {
        let files = if todos.n_with == 1 { "file" } else { "files" };
        signals.push(Signal {
            kind: "todo",
            severity: severity(todos.count),
            count: todos.count,
            message: format!(
                "{} × TODO, FIXME, HACK or XXX in {} {files}",
                todos.count, todos.n_with
            ),
            locations: todos.locations.clone(),
        });
    }
    let missing = |kind, message: &str| Signal {
        kind,
        severity: Severity::Medium,
        count: 1,
        message: message.to_owned(),
        locations: Vec::new(),
    };
    if !structure.docs {
        signals.push(missing("missing-docs", "there is no folder docs/"));
    }
    if !structure.tests {
        signals.push(missing("missing-tests", "there is no folder tests/, test/ or __tests__/"));
    }
    signals
}

pub(super) fn severity(count: usize) -> Severity {
    match count {
        0..=FEW => Severity::Low,
        6..=SOME => Severity::Medium,
        _ => Severity::High,
    }
}
