//! Profiles of real folders.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use troop_testkit::git;

use super::{
    MAX_LOCATIONS, MAX_SCANNED, Profile, Severity,
    recognise::{languages, manifests, severity},
    scan::n_words,
};

async fn profile_of(path: &Path) -> Profile {
    let environment: Vec<_> = std::env::vars_os().collect();
    super::profile(path, &environment).await
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    folder
}

fn write(folder: &Path, path: &str, text: &str) {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A folder with these files, all tracked by git.
async fn repository(files: &[(&str, &str)]) -> TempDir {
    let folder = folder(files);
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "--all"]);
    folder
}

fn kinds(profile: &Profile) -> Vec<&str> {
    profile.signals.iter().map(|signal| signal.kind).collect()
}

fn names(profile: &Profile) -> Vec<&str> {
    profile.team.iter().map(|member| member.name.as_str()).collect()
}

#[test]
fn each_language_is_recognised_by_its_manifests_and_listed_once() {
    let check = |files: &[&str], expected: &[&str]| {
        let paths: Vec<_> = files.iter().map(PathBuf::from).collect();
        let found: Vec<_> =
            languages(&manifests(&paths), &paths).iter().map(|it| it.name).collect();
        assert_eq!(found, expected, "{files:?}");
    };
    for (manifest, name) in [
        ("package.json", "TypeScript"),
        ("tsconfig.json", "TypeScript"),
        ("Cargo.toml", "Rust"),
        ("go.mod", "Go"),
        ("pyproject.toml", "Python"),
        ("requirements.txt", "Python"),
        ("Gemfile", "Ruby"),
        ("pom.xml", "Java"),
        ("build.gradle", "Java"),
    ] {
        check(&[manifest], &[name]);
    }
    check(&["tsconfig.json", "package.json", "a/package.json"], &["TypeScript"]);
    check(&["crates/a/Cargo.toml", "Gemfile"], &["Rust", "Ruby"]);
    check(&["a.py", "src/b.py"], &["Python"]);
    check(&["Cargo.toml", "a.py"], &["Rust"]);
    check(&["vendor/x/a.py", "a/b/c/d.py"], &[]);
    check(&["vendor/x/go.mod", "a/b/c/Cargo.toml", "my-Gemfile", "src/main.rs"], &[]);
}

#[tokio::test]
async fn frameworks_are_what_packages_depend_on() {
    let package = r#"{"dependencies": {"react": "^19", "express": "5", "left-pad": "1"},
                      "devDependencies": {"vitest": "3", "@angular/core": "20"}}"#;
    let folder = repository(&[
        ("package.json", package),
        ("web/package.json", r#"{"dependencies": {"next": "16", "react": "19"}}"#),
    ])
    .await;
    let profile = profile_of(folder.path()).await;
    assert_eq!(profile.frameworks, ["react", "angular", "express", "next", "vitest"]);
    let all = r#"{"dependencies": {"react":"","vue":"","angular":"","express":"","fastify":"","next":""},
                  "devDependencies": {"ink":"","commander":"","vitest":"","jest":""}}"#;
    write(folder.path(), "package.json", all);
    let profile = profile_of(folder.path()).await;
    let named = "react vue angular express fastify next ink commander vitest jest";
    assert_eq!(profile.frameworks.join(" "), named);
}

#[tokio::test]
async fn a_malformed_package_is_noted() {
    for broken in ["{", "", "[1]", "\u{0}", r#"{"dependencies": 7}"#] {
        let folder = repository(&[("package.json", broken), ("Cargo.toml", "")]).await;
        let profile = profile_of(folder.path()).await;
        assert_eq!(profile.languages.len(), 2);
        assert!(profile.frameworks.is_empty());
        let is_told =
            profile.notes.iter().any(|it| it.starts_with("`package.json` cannot be read"));
        assert_eq!(is_told, !matches!(broken, "[1]" | r#"{"dependencies": 7}"#), "{broken}");
    }
}

#[tokio::test]
async fn structure_is_read_from_the_root() {
    let check = async |files: &[(&str, &str)], expected: (bool, bool, bool)| {
        let found = profile_of(folder(files).path()).await.structure;
        assert_eq!((found.docs, found.tests, found.ci), expected, "{files:?}");
    };
    check(&[], (false, false, false)).await;
    check(
        &[("docs/a.md", ""), ("tests/a.rs", ""), (".github/workflows/ci.yml", "")],
        (true, true, true),
    )
    .await;
    check(&[("test/a.py", ""), (".circleci/config.yml", "")], (false, true, true)).await;
    check(&[("__tests__/a.js", ""), (".gitlab-ci.yml", "")], (false, true, true)).await;
    check(&[("crates/a/Cargo.toml", ""), ("crates/a/tests/it.rs", "")], (false, true, false)).await;
    check(&[("crates/a/tests/it.rs", ""), (".ci/build.yml", "")], (false, false, true)).await;
    check(
        &[("docs", "a file"), ("src/tests/a.rs", ""), (".github/CODEOWNERS", "")],
        (false, false, false),
    )
    .await;
}

#[test]
fn words_count_and_parts_of_words_do_not() {
    for (line, n) in [
        ("// TODO: this", 1),
        ("TODO(ann) FIXME HACK XXX", 4),
        ("TODOS, TODO_LIST, myTODO, todo, Fixme, XXXX", 0),
        ("\"TODO\"/TODO", 2),
        ("größe TODO", 1),
        ("", 0),
    ] {
        assert_eq!(n_words(line.as_bytes()), n, "{line}");
    }
}

#[test]
fn severity_depends_on_the_count() {
    for (count, expected) in [
        (1, Severity::Low),
        (5, Severity::Low),
        (6, Severity::Medium),
        (20, Severity::Medium),
        (21, Severity::High),
    ] {
        assert_eq!(severity(count), expected, "{count}");
    }
}

#[tokio::test]
async fn the_todo_signal_counts_words_in_sources_and_says_where() {
    let folder = repository(&[
        ("a.rs", "// TODO one\nfine\n// FIXME two XXX three\n"),
        ("b.md", "TODO not counted"),
        ("c.tsx", "/* HACK */"),
        ("docs/x", ""),
        ("tests/x", ""),
    ])
    .await;
    let profile = profile_of(folder.path()).await;
    assert_eq!(kinds(&profile), ["todo"]);
    let todo = &profile.signals[0];
    let places: Vec<_> = todo.locations.iter().map(|it| (it.file.as_str(), it.line)).collect();
    assert_eq!((todo.count, todo.severity), (4, Severity::Low));
    assert_eq!(places, [("a.rs", 1), ("a.rs", 3), ("c.tsx", 1)]);
    assert_eq!((profile.files, profile.scanned, profile.git), (5, 2, true));
}

#[tokio::test]
async fn every_kind_of_source_is_searched_and_nothing_else() {
    let sources = ["ts", "tsx", "js", "jsx", "py", "rs", "go"].map(|kind| format!("a.{kind}"));
    let others = ["md", "txt", "java", "rsx", "json"].map(|kind| format!("b.{kind}"));
    let all = sources.iter().chain(&others).map(|name| (name.as_str(), "TODO"));
    let folder = repository(&all.collect::<Vec<_>>()).await;
    let profile = profile_of(folder.path()).await;
    let todo = profile.signals.iter().find(|signal| signal.kind == "todo").unwrap();
    let mut files: Vec<_> = todo.locations.iter().map(|it| it.file.clone()).collect();
    let mut expected = sources.to_vec();
    files.sort();
    expected.sort();
    assert_eq!((todo.count, files), (7, expected));
}

#[tokio::test]
async fn missing_folders_are_signals_exactly_when_they_are_missing() {
    for (files, expected) in [
        (&[("a", "")][..], &["missing-docs", "missing-tests"][..]),
        (&[("docs/a", "")], &["missing-tests"]),
        (&[("test/a", "")], &["missing-docs"]),
        (&[("docs/a", ""), ("tests/a", "")], &[]),
    ] {
        let profile = profile_of(repository(files).await.path()).await;
        assert_eq!(kinds(&profile), expected);
        assert!(profile.signals.iter().all(|it| it.severity == Severity::Medium));
    }
}

#[tokio::test]
async fn reading_and_listing_stay_within_the_limits() {
    let files: Vec<_> = (0..300).map(|n| (format!("{n:03}.py"), "# TODO\n".to_owned())).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let profile = profile_of(repository(&files).await.path()).await;
    let todo = &profile.signals[0];
    assert_eq!((profile.files, profile.scanned, todo.count), (300, MAX_SCANNED, MAX_SCANNED));
    assert_eq!((MAX_SCANNED, todo.locations.len(), MAX_LOCATIONS), (200, 10, 10));
    assert_eq!(todo.severity, Severity::High);
}

#[tokio::test]
async fn without_git_the_folder_is_walked() {
    let folder = folder(&[
        ("b.rs", "// TODO"),
        ("a.rs", "// XXX"),
        ("skipped/c.rs", "// TODO"),
        (".gitignore", "skipped\n"),
    ]);
    let profile = profile_of(folder.path()).await;
    assert!(!profile.git);
    assert!(profile.notes[0].contains("not a git repository"), "{:?}", profile.notes);
    let places: Vec<_> = profile.signals[0].locations.iter().map(|it| it.file.as_str()).collect();
    assert_eq!(places, ["a.rs", "b.rs"]);
    let empty = profile_of(TempDir::new().unwrap().path()).await;
    assert_eq!((empty.files, empty.languages.len()), (0, 0));
    assert_eq!(names(&empty), ["dev", "tester", "writer", "reviewer"]);
}

#[tokio::test]
async fn any_folder_has_a_profile() {
    let outside = folder(&[("secret.rs", "// TODO secret")]);
    let folder = folder(&[("Cargo.toml", ""), ("huge.rs", &"// TODO\n".repeat(200_000))]);
    let root = folder.path();
    fs::write(root.join("binary.rs"), b"\0\x01TODO TODO").unwrap();
    fs::write(root.join("latin.rs"), b"// \xff TODO\n").unwrap();
    fs::write(root.join(OsStr::from_bytes(b"n\xffme.rs")), "// TODO\n").unwrap();
    fs::write(root.join("new\nline.rs"), "// TODO\n").unwrap();
    symlink(outside.path().join("secret.rs"), root.join("link.rs")).unwrap();
    symlink(outside.path(), root.join("out")).unwrap();
    git(root, &["init", "--quiet"]);
    git(root, &["add", "--all"]);
    // Tracked, and gone.
    write(root, "gone.rs", "// TODO");
    git(root, &["add", "gone.rs"]);
    fs::remove_file(root.join("gone.rs")).unwrap();
    let profile = profile_of(root).await;
    let todo = &profile.signals[0];
    // A megabyte of the huge file, and one word of each of three others; the link and the binary file do not count.
    assert_eq!(todo.count, 1024 * 1024 / 8 + 3);
    assert_eq!((profile.files, profile.scanned), (9, 5));
    assert!(serde_json::to_string(&profile).is_ok());
}

#[tokio::test]
async fn profiling_a_repository_runs_nothing_of_it() {
    let folder = repository(&[("a.rs", "")]).await;
    let config = folder.path().join(".git/config");
    let mut text = fs::read_to_string(&config).unwrap();
    text += "[core]\n\tfsmonitor = touch ran; false\n";
    fs::write(config, text).unwrap();
    assert!(profile_of(folder.path()).await.git);
    assert!(!folder.path().join("ran").exists());
}

#[tokio::test]
async fn the_suggested_team_follows_the_findings_and_is_stable() {
    let todos = "// TODO\n".repeat(30);
    let files = [
        ("Cargo.toml", ""),
        ("go.mod", ""),
        ("Gemfile", ""),
        ("a.rs", todos.as_str()),
        ("package.json", r#"{"dependencies":{"vue":"3"}}"#),
    ];
    let folder = repository(&files).await;
    let profile = profile_of(folder.path()).await;
    assert_eq!(names(&profile), ["typescript", "rust", "frontend", "tester", "reviewer"]);
    assert!(profile.team.iter().all(|it| !it.reason.is_empty() && !it.expertise.is_empty()));
    assert_eq!(profile.team[1].reason, "Cargo.toml is there");
    assert_eq!(profile_of(folder.path()).await, profile);
}
