//! Around the board: configuration, doctor, completions, colours.

use std::fs;

use crate::troop::Troop;

#[test]
fn a_configuration_names_store_and_team_and_unknown_keys_are_reported() {
    let troop = Troop::new();
    fs::create_dir_all(troop.folder().join(".troop")).unwrap();
    fs::write(
        troop.folder().join(".troop/config.json"),
        "{\n // ours\n \"store\": \"files:kept\", \"taem\": \"x\" }",
    )
    .unwrap();
    let run = troop.succeed("team create blue");
    assert!(
        run.err.starts_with("warning: ")
            && run.err.ends_with("unknown key `taem`; did you mean `team`?\n"),
        "{}",
        run.err
    );
    assert!(troop.folder().join("kept/teams/blue").is_dir());
    let run = troop.run("--store memory: team list");
    assert_eq!(run.out, "no teams\n", "an option beats the configuration");
}

#[test]
fn a_broken_configuration_is_an_error_with_its_place() {
    let troop = Troop::new();
    fs::create_dir_all(troop.folder().join("home")).unwrap();
    fs::write(troop.folder().join("home/config.json"), "{\"store\": 7}").unwrap();
    let (code, err) = troop.refused("team list");
    assert_eq!(code, 2);
    assert!(err.contains("is not a configuration: `store`: invalid type"), "{err}");
}

#[test]
fn doctor_reports_problems_and_their_fixes() {
    let troop = Troop::with_team();
    let text = troop.ok("doctor");
    for part in ["✓ store", "✓ team blue", "✓ agents", "home"] {
        assert!(text.contains(part), "`{part}` is missing from:\n{text}");
    }
    let run = troop.run("doctor --store sqlite:/no/such/folder/troop.db");
    assert_eq!(run.code, 1);
    assert!(run.out.contains("✗ store"), "{}", run.out);
    assert!(run.err.contains("1 thing needs attention"), "{}", run.err);
    let checks = troop.json("doctor");
    assert!(
        checks["checks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|check| check["name"] == "store" && check["state"] == "good")
    );
}

#[test]
fn shells_can_complete_commands() {
    let troop = Troop::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = troop.ok(&format!("completions {shell}"));
        assert!(script.contains("clear-ask-user"), "{shell}: {script}");
    }
}

#[test]
fn colours_are_for_terminals_only() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    assert!(!troop.ok("task list").contains('\u{1b}'));
    assert!(troop.ok("task list --color always").contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let troop = Troop::with_team();
    for nth in 0..3 {
        troop.ok(&format!("task create 't{nth}'"));
    }
    let mut child = troop.start("events --follow");
    let mut first = [0; 1];
    std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut first).unwrap();
    // The pipe is closed now; the next event must end the program quietly.
    troop.ok("task create last");
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()),
        (Some(0), "")
    );
}

#[test]
fn version_and_help_succeed() {
    let troop = Troop::new();
    assert_eq!(troop.ok("--version"), format!("troop {}\n", env!("CARGO_PKG_VERSION")));
    assert!(troop.ok("--help").contains("Usage: troop"));
    assert!(troop.ok("task --help").contains("clear-ask-user"));
}

#[test]
fn a_project_is_found_from_the_folders_below_it() {
    let troop = Troop::new();
    fs::create_dir_all(troop.folder().join(".troop")).unwrap();
    fs::write(troop.folder().join(".troop/config.json"), "{\"store\": \"files:kept\"}").unwrap();
    fs::create_dir_all(troop.folder().join("src/deep")).unwrap();
    let mut command = troop.command(&["team", "create", "blue"]);
    assert!(command.current_dir(troop.folder().join("src/deep")).status().unwrap().success());
    assert!(troop.folder().join("kept/teams/blue").is_dir());
}

#[test]
fn doctor_looks_at_everything_even_if_the_configuration_is_broken() {
    let troop = Troop::with_team();
    fs::write(troop.folder().join("home/config.json"), "{").unwrap();
    let run = troop.run("doctor");
    assert_eq!(run.code, 1);
    assert!(run.out.contains("✗ config") && run.out.contains("✓ team blue"), "{}", run.out);
    assert!(run.out.contains("cannot be read: see `config`"), "{}", run.out);
}

#[test]
fn a_mistyped_command_is_answered_with_a_suggestion() {
    let troop = Troop::with_team();
    for (typed, meant) in [
        ("task crete", "did you mean `create`?"),
        ("task complet", "did you mean `complete`?"),
        ("tsk", "did you mean `task`?"),
        ("task list --stats", "did you mean `--status`?"),
        ("team set lease_second=5", "did you mean `lease_seconds=5`?"),
        ("team set foo=1", "the settings are: version"),
        ("task create", "see `troop task create --help`"),
    ] {
        let (code, err) = troop.refused(typed);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(&format!("hint: {meant}")), "`troop {typed}` said: {err}");
    }
}

#[test]
fn empty_environment_variables_count_as_unset() {
    let troop = Troop::with_team();
    let mut command = troop.command(&["team", "list"]);
    let output =
        command.env("TROOP_STORE", "").env("TROOP_TEAM", "").env("TROOP_AS", "").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_team_made_in_this_folder_is_used_first() {
    let troop = Troop::new();
    troop.ok("team create here --member ann=command");
    let other = troop.folder().join("other");
    fs::create_dir(&other).unwrap();
    let made = troop.command(&["team", "create", "there"]).current_dir(&other).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let run = troop.succeed("task create x");
    assert_eq!(run.err, "team here, made in this folder (of 2)\n");
    assert_eq!(troop.ok("--team there task list --status all"), "no tasks\n");
    troop.ok("team create second");
    let (code, err) = troop.refused("task create y");
    assert!(
        code == 2 && err.starts_with("error: more than one team fits"),
        "two fit, so troop does not guess: {err}"
    );
}

#[test]
fn paths_with_spaces_and_quotes_in_hints_can_be_pasted() {
    let troop = Troop::new();
    let home = troop.folder().join("my home's");
    fs::create_dir_all(home.join("aside/inner")).unwrap();
    let mut command = troop.command(&["doctor"]);
    let output = command.env("TROOP_HOME", &home).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let folder = troop.folder().display().to_string();
    let drop = format!("drop it: `rm -rf '{folder}/my home'\\''s/aside/inner'`");
    assert!(text.contains(&drop), "{text}");
}
