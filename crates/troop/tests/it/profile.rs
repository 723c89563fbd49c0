//! `troop profile`

use std::fs;

use troop_testkit::git;

use crate::troop::Troop;

#[test]
fn a_profile_describes_the_repository_and_suggests_a_team() {
    let troop = Troop::new();
    let folder = troop.folder().join("my project");
    fs::create_dir_all(folder.join("docs")).unwrap();
    fs::write(folder.join("Cargo.toml"), "[package]").unwrap();
    fs::write(folder.join("main.rs"), "fn main() {} // TODO: all of it").unwrap();
    git(&folder, &["init", "--quiet"]);
    git(&folder, &["add", "--all"]);
    let profile = troop.json("profile 'my project'");
    assert_eq!(profile["languages"][0]["name"], "Rust");
    assert_eq!(
        profile["structure"],
        serde_json::json!({"docs": true, "tests": false, "ci": false})
    );
    assert_eq!(profile["signals"][0]["kind"], "todo");
    assert_eq!(profile["signals"][0]["locations"][0]["file"], "main.rs");
    assert_eq!(profile["signals"][1]["kind"], "missing-tests");
    let text = troop.ok("profile 'my project'");
    for said in [
        "languages   Rust",
        "tests       no",
        "todo (low): 1 × TODO",
        "    main.rs:1",
        "  tester    tests",
    ] {
        assert!(text.contains(said), "`{said}` is not in:\n{text}");
    }
    // The suggested command works as printed.
    let command = profile["command"].as_str().unwrap();
    let made = troop.ok(command.strip_prefix("troop ").unwrap());
    assert_eq!(made, "created team my-project: a lead and 3 members\n");
    // The next suggestion avoids the name that is taken now.
    let again = troop.json("profile 'my project'");
    let members = "--member rust=builtin --member tester=builtin --member reviewer=builtin";
    assert_eq!(again["command"], format!("troop team create my-project-2 {members}"));
    let note =
        "note: `builtin` has no model yet: `export ANTHROPIC_API_KEY=…` (or `OPENAI_API_KEY`, ";
    assert!(text.contains(note), "{text}");
    let mut command = troop.command(&["profile", "my project"]);
    let output = command.env("ANTHROPIC_API_KEY", "x").output().unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains("note: `builtin`"));
}

#[test]
fn only_a_folder_has_a_profile() {
    let troop = Troop::new();
    fs::write(troop.folder().join("file"), "").unwrap();
    for path in ["file", "nowhere"] {
        let (code, err) = troop.refused(&format!("profile {path}"));
        assert!(code == 2 && err.contains("is not a folder\nhint: name the"), "{err}");
    }
}

#[test]
fn git_dir_in_the_environment_is_ignored() {
    let troop = Troop::new();
    for (folder, file) in [("own", "Cargo.toml"), ("foreign", "pyproject.toml")] {
        let folder = troop.folder().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(file), "").unwrap();
        git(&folder, &["init", "--quiet"]);
        git(&folder, &["add", "--all"]);
    }
    let mut command = troop.command(&["profile", "own", "--json"]);
    let output = command.env("GIT_DIR", troop.folder().join("foreign/.git")).output().unwrap();
    let profile: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(profile["languages"][0]["name"], "Rust", "{profile}");
}
