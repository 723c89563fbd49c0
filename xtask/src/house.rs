//! The house rules, as tests.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::measure::{self, MAX_FIELDS, MAX_METHODS, Measurements, is_test};

/// A longer file should be two; tests may be longer.
const MAX_LINES: usize = 800;

/// Documents are wrapped at 120 columns; an unbroken path or command may be longer.
const MAX_COLUMNS: usize = 130;

/// Which crates each crate may use. Everything else is forbidden.
const MAY_USE: [(&str, &[&str]); 14] = [
    ("troop-model", &[]),
    ("troop-process", &[]),
    ("troop-store", &["troop-model"]),
    ("troop-protocol", &["troop-model"]),
    ("troop-agent", &["troop-model", "troop-process", "troop-protocol"]),
    ("troop-observe", &["troop-model"]),
    ("troop-runtime", &["troop-model", "troop-process", "troop-protocol", "troop-store"]),
    (
        "troop-app",
        &[
            "troop-agent",
            "troop-model",
            "troop-observe",
            "troop-process",
            "troop-protocol",
            "troop-runtime",
            "troop-store",
        ],
    ),
    (
        "troop",
        &[
            "troop-agent",
            "troop-app",
            "troop-model",
            "troop-observe",
            "troop-process",
            "troop-protocol",
            "troop-runtime",
            "troop-store",
        ],
    ),
    (
        "troop-bench",
        &[
            "troop-agent",
            "troop-model",
            "troop-observe",
            "troop-process",
            "troop-protocol",
            "troop-runtime",
            "troop-store",
        ],
    ),
    ("troop-testkit", &["troop-model", "troop-store"]),
    (
        "troop-campaign",
        &[
            "troop-model",
            "troop-process",
            "troop-protocol",
            "troop-runtime",
            "troop-store",
            "troop-testkit",
        ],
    ),
    ("troop-simulator", &["troop-model", "troop-runtime"]),
    ("xtask", &[]),
];

/// Libraries that only these crates may use directly. `troop-bench` measures its baselines with them.
const ONLY_IN: [(&str, &[&str]); 17] = [
    ("rusqlite", &["troop-store", "troop-bench"]),
    ("tokio-postgres", &["troop-store", "troop-bench", "troop-testkit"]),
    ("clap", &["troop", "troop-bench"]),
    ("cap-std", &["troop-agent", "troop-runtime"]),
    ("cap-fs-ext", &["troop-runtime"]),
    ("ignore", &["troop-agent", "troop-runtime"]),
    ("hyper", &["troop-agent", "troop"]),
    ("hyper-util", &["troop-agent", "troop"]),
    ("tokio-rustls", &["troop-agent"]),
    ("base64", &["troop-protocol"]),
    ("memmap2", &["troop-store"]),
    ("notify", &["troop-runtime", "troop-store", "troop-app", "troop-bench"]),
    ("rmcp", &["troop", "troop-bench"]),
    ("toml_edit", &["troop-app"]),
    ("schemars", &["troop-model", "troop-protocol", "troop-app"]),
    ("tokio-tungstenite", &["troop"]),
    (
        "tokio",
        &[
            "troop-process",
            "troop-store",
            "troop-protocol",
            "troop-agent",
            "troop-runtime",
            "troop-app",
            "troop",
            "troop-bench",
            "troop-testkit",
            "troop-campaign",
        ],
    ),
];

/// Libraries of surfaces and stores, which `troop-app` must not use.
const SURFACE_LIBRARIES: [&str; 11] = [
    "anstream",
    "anstyle",
    "clap",
    "clap_complete",
    "hyper",
    "hyper-util",
    "rmcp",
    "rusqlite",
    "terminal_size",
    "tokio-postgres",
    "tokio-tungstenite",
];

/// Types with more than [`MAX_FIELDS`] fields, because they are flat in logs or on the wire.
const MAY_BE_LARGE: [&str; 4] = ["SettingsRecord", "TaskRecord", "TaskView", "TeamTasks"];

/// Names that swallow projects.
const BANNED: [&str; 8] =
    ["core", "common", "utils", "util", "helpers", "services", "manager", "misc"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources() -> Vec<PathBuf> {
    measure::sources(&root()).unwrap()
}

fn measured() -> Measurements {
    Measurements::read(&root()).unwrap()
}

#[test]
fn every_file_says_in_its_first_line_what_it_is_for() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|path| !fs::read_to_string(path).unwrap().starts_with("//! "))
        .collect();
    assert!(silent.is_empty(), "these files do not open with a `//! ` line: {silent:#?}");
}

#[test]
fn no_file_of_the_product_is_too_long() {
    let n_lines = |path: &PathBuf| fs::read_to_string(path).unwrap().lines().count();
    let long: Vec<_> = sources()
        .into_iter()
        .filter(|path| !is_test(path))
        .filter(|path| n_lines(path) > MAX_LINES)
        .collect();
    assert!(
        long.is_empty(),
        "these files have more than {MAX_LINES} lines; split them where the seam is: {long:#?}"
    );
}

#[test]
fn no_module_has_a_name_that_swallows_projects() {
    let banned = |path: &&PathBuf| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        BANNED.contains(&stem) || stem == "mod"
    };
    let named: Vec<_> = sources();
    let named: Vec<_> = named.iter().filter(banned).collect();
    assert!(named.is_empty(), "name these for what they do: {named:#?}");
}

#[test]
fn crates_use_only_what_the_design_allows() {
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let allowed = MAY_USE.iter().find(|(of, _)| *of == name);
        let (_, allowed) =
            allowed.unwrap_or_else(|| panic!("`{name}` has no entry in MAY_USE of {}", file!()));
        for dependency in dependencies(&package) {
            let is_ours = MAY_USE.iter().any(|(ours, _)| *ours == dependency);
            assert!(
                !is_ours || allowed.contains(&dependency.as_str()),
                "`{name}` must not use `{dependency}`"
            );
            for (library, users) in ONLY_IN {
                assert!(
                    dependency != library || users.contains(&name),
                    "`{name}` must not use `{library}`"
                );
            }
        }
    }
}

#[test]
fn types_have_few_fields_and_methods() {
    let found = measured();
    let large = found.fields_over(MAX_FIELDS);
    let large: Vec<_> =
        large.iter().filter(|it| !MAY_BE_LARGE.contains(&it.name.as_str())).collect();
    assert!(large.is_empty(), "group the fields of these types: {large:#?}");
    let large = found.methods_over(MAX_METHODS);
    assert!(large.is_empty(), "these types should be several: {large:#?}");
}

#[test]
fn a_type_name_stands_for_one_type() {
    let found = measured();
    let repeated = found.repeated_names();
    assert!(repeated.is_empty(), "give each of these types its own name: {repeated:#?}");
}

#[test]
fn predicates_change_nothing_and_answer() {
    let wrong = measured().predicates;
    assert!(wrong.is_empty(), "these take `&mut` or return no `bool`: {wrong:#?}");
}

#[test]
fn each_value_has_a_let_of_its_own() {
    let lets = measured().multi_lets;
    assert!(lets.is_empty(), "write `let (a, b) = (x, y)` as two lets: {lets:#?}");
}

#[test]
fn functions_take_no_tuples() {
    let functions = measured().tuple_parameters;
    assert!(functions.is_empty(), "give these functions one parameter per value: {functions:#?}");
}

#[test]
fn troop_app_has_no_screen_and_no_command_line() {
    let found = measured().surface_in_app;
    assert!(found.is_empty(), "these belong to a surface, not to `troop-app`: {found:#?}");
    let packages = packages();
    let app = packages.iter().find(|it| it["name"] == "troop-app").unwrap();
    let used = dependencies(app);
    let forbidden: Vec<_> =
        SURFACE_LIBRARIES.iter().filter(|it| used.iter().any(|us| us == *it)).collect();
    assert!(forbidden.is_empty(), "`troop-app` must not use {forbidden:?}");
}

#[test]
fn every_crate_has_the_lints_of_the_house() {
    for package in packages() {
        let manifest = fs::read_to_string(package["manifest_path"].as_str().unwrap()).unwrap();
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{}: add `[lints] workspace = true`",
            package["name"]
        );
    }
}

#[test]
fn the_tests_that_the_coverage_names_exist() {
    let coverage = fs::read_to_string(root().join("docs/coverage.md")).unwrap();
    let tests = tests();
    let mut ids = Vec::new();
    for row in coverage.lines().filter(|line| line.starts_with("| 0")) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let id = cells[1];
        let folder = cells[2];
        let test = cells[3];
        ids.push(id.to_owned());
        let is_there =
            tests.iter().any(|it| it.file.starts_with(root().join(folder)) && it.is(test));
        assert!(is_there, "{id}: there is no test `{test}` in {folder}");
    }
    assert!(!ids.is_empty(), "docs/coverage.md has no rows");
    assert!(ids.is_sorted(), "the rows of docs/coverage.md are not in the order of their ids");
}

#[test]
fn the_invariants_of_the_architecture_name_tests_that_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let tests = tests();
    let named: Vec<_> =
        text.split("(test: `").skip(1).filter_map(|rest| rest.split_once('`')).collect();
    assert!(!named.is_empty(), "ARCHITECTURE.md names no tests");
    for (test, _) in named {
        assert!(
            tests.iter().any(|it| it.is(test)),
            "ARCHITECTURE.md names `{test}`, which does not exist"
        );
    }
}

#[test]
fn the_paragraphs_of_the_documents_are_wrapped() {
    let is_generated = |path: &PathBuf| path.ends_with("cli.md") || path.ends_with("coverage.md");
    for document in documents(&["", "docs"]).into_iter().filter(|path| !is_generated(path)) {
        let text = fs::read_to_string(&document).unwrap();
        let prose = text.split("```").step_by(2).flat_map(str::lines);
        // Rows of tables and invariants are one line each.
        let is_wrapped = |line: &str| !line.starts_with('|') && !line.contains("(test: `");
        let long: Vec<_> =
            prose.filter(|line| is_wrapped(line) && line.chars().count() > MAX_COLUMNS).collect();
        assert!(long.is_empty(), "wrap these lines of {} at 120: {long:#?}", document.display());
    }
}

#[test]
fn the_links_of_the_documents_lead_somewhere() {
    for document in documents(&["", "docs", "docs/decisions"]) {
        let text = fs::read_to_string(&document).unwrap();
        let links =
            text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => document.clone(),
                path => document.parent().unwrap().join(path),
            };
            let leads_somewhere = match anchor {
                "" => target.exists(),
                anchor => anchors(&target).iter().any(|it| it == anchor),
            };
            assert!(leads_somewhere, "{} links to {link}, which is not there", document.display());
        }
    }
}

/// What a link can name in a document: its headings, in lower case and with dashes.
fn anchors(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).unwrap_or_default();
    let headings = text.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    headings
        .map(|it| it.to_lowercase().chars().filter(is_kept).collect::<String>().replace(' ', "-"))
        .collect()
}

/// The Markdown files of these folders.
fn documents(folders: &[&str]) -> Vec<PathBuf> {
    let entries = folders.iter().flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// A function that the test runner runs.
struct Test {
    file: PathBuf,
    name: String,
}

impl Test {
    /// Whether a path, as the test runner prints it, names this test: its modules are part of the file's path.
    fn is(&self, path: &str) -> bool {
        let mut parts: Vec<_> = path.split("::").collect();
        let name = parts.pop().unwrap();
        let file = self.file.with_extension("");
        let is_part = |part: &&str| file.components().any(|it| it.as_os_str() == *part);
        name == self.name && parts.iter().all(is_part)
    }
}

/// All tests: functions with a test attribute, and cases that a macro stamps.
fn tests() -> Vec<Test> {
    let mut tests = Vec::new();
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        let mut is_marked = false;
        for line in text.lines().map(str::trim) {
            let name =
                line.split_once("fn ").map(|(_, rest)| rest.split(['(', '<']).next().unwrap());
            if let Some(name) = name.filter(|_| is_marked || is_stamped(line)) {
                tests.push(Test { file: file.clone(), name: name.to_owned() });
            }
            let goes_on = line.starts_with("#[") || line.starts_with("///");
            is_marked = line.starts_with("#[test]")
                || line.starts_with("#[tokio::test")
                || is_marked && goes_on;
        }
    }
    tests
}

/// Cases of stores and boards take the store that they are stamped for. One that is not listed is dead code, which
/// the compiler refuses.
fn is_stamped(line: &str) -> bool {
    line.contains("async fn ") && line.contains("TestStore) {")
}

fn packages() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// The dependencies of a crate without those of its tests, which may be anything.
fn dependencies(package: &serde_json::Value) -> Vec<String> {
    let all = package["dependencies"].as_array().unwrap().iter();
    all.filter(|it| it["kind"].is_null())
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}
