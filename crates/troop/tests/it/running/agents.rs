//! Agents that lead and work: troop's own, and programs that a project or a person describes.

use std::fs;

use super::{GREET, project, start, write};
use crate::troop::Troop;

/// The teammate in thirty lines that the documentation shows, and its description.
fn documented() -> (String, String) {
    let text = fs::read_to_string(troop_testkit::repository().join("docs/teammates.md")).unwrap();
    let text = text.split_once("## A program of your own").unwrap().1;
    let block = |kind: &str| {
        let rest = text.split_once(&format!("```{kind}\n")).unwrap().1;
        rest.split_once("```").unwrap().0.to_owned()
    };
    (block("python"), block("text"))
}

fn with_program() -> Troop {
    let troop = project(GREET);
    let (program, description) = documented();
    assert!(program.lines().count() <= 30, "the documentation says that it is that short");
    write(&troop, "mate.py", &program);
    write(&troop, ".troop/agents/snake.md", &description);
    troop
}

#[test]
fn the_documented_program_works_as_a_teammate() {
    let troop = with_program();
    troop.ok("trust --yes");
    let run = troop.succeed_silently("run hi --agent script:lead.script -m eve=snake");
    assert!(run.out.contains("eve completed task-2: in python: echo bye"), "{}", run.out);
    let log = troop.ok("log eve");
    assert!(log.contains("python works on task-1"), "{log}");
}

#[test]
fn an_agent_of_a_project_does_not_run_before_the_project_is_trusted() {
    let troop = with_program();
    let (code, err) = troop.refused("run hi --agent script:lead.script -m eve=snake");
    assert_eq!(code, 1);
    assert!(
        err.starts_with(
            "warning: this project is not trusted yet: 1 thing in its files will not run"
        ),
        "{err}"
    );
    assert!(err.contains("error: the agent `snake` is this project's own, and the project is not trusted\nhint: review it: `troop trust`\n"), "{err}");
    assert_eq!(troop.ok("team list"), "no teams\n", "nothing was made");
    let shown = troop.ok("trust --show");
    assert!(
        shown.contains("agent on a member with the agent `snake`, from .troop/agents/snake.md"),
        "{shown}"
    );
    assert!(shown.contains("    python3 mate.py\n"), "{shown}");
    // A running team refuses it too.
    let mut team = start(&troop, "--keep");
    team.wait_for("leads");
    let (code, err) = troop.refused("member spawn eve=snake");
    assert_eq!(code, 1);
    assert!(
        err.contains(
            "eve did not start: it cannot be started: the agent `snake` is this project's own"
        ),
        "{err}"
    );
    troop.ok("stop");
    team.end();
}

#[test]
fn a_changed_script_of_a_project_needs_new_trust() {
    let troop = project(GREET);
    write(&troop, ".troop/agents/coder.md", "---\nagent: script\nscript: coder.script\n---\n");
    write(&troop, "coder.script", "when task *\n    complete as planned\n");
    troop.ok("trust --yes");
    troop.succeed("run hi --agent script:lead.script -m eve=coder");
    write(&troop, "coder.script", "when task *\n    run rm -rf all\n");
    let (_, err) = troop.refused("run hi --agent script:lead.script -m eve=coder");
    assert!(err.starts_with("warning: this project changed since you trusted it"), "{err}");
}

#[test]
fn the_leads_agent_can_be_configured_by_a_person_or_a_trusted_project() {
    let troop = project(GREET);
    write(&troop, "home/config.json", r#"{"agent": "script:lead.script"}"#);
    troop.succeed_silently("run hi -m ann=command");
    fs::remove_file(troop.folder().join("home/config.json")).unwrap();
    write(&troop, ".troop/config.json", r#"{"agent": "script:lead.script"}"#);
    let (code, err) = troop.refused("run hi -m ann=command");
    assert_eq!(code, 1);
    assert!(err.contains("hint: review it: `troop trust`"), "{err}");
    troop.ok("trust --yes");
    troop.succeed_silently("run hi -m ann=command");
}

#[test]
fn hooks_of_a_project_run_once_it_is_trusted() {
    let troop = project(GREET);
    write(
        &troop,
        ".troop/config.json",
        r#"{"hooks": {"hooks": [{"event": "task-completed", "command": "echo $HOOK_TEAM_TASK_ID >> seen"}]}}"#,
    );
    let run = troop.succeed("run hi --agent script:lead.script -m ann=command");
    assert!(run.err.starts_with("warning: this project is not trusted yet"), "{}", run.err);
    assert!(!troop.folder().join("seen").exists());
    troop.ok("trust --yes");
    troop.succeed_silently("run hi --agent script:lead.script -m ann=command");
    assert_eq!(fs::read_to_string(troop.folder().join("seen")).unwrap(), "task-1\ntask-2\n");
}

#[test]
fn commands_of_members_find_the_same_store() {
    let script = GREET
        .replace("echo hello: {mail}", "$TROOP --as ann message send user found")
        .replace("echo bye", "true");
    let troop = project(&script.replace("$TROOP", env!("CARGO_BIN_EXE_troop")));
    let run = troop
        .succeed_silently("--store files:kept run hi --agent script:lead.script -m ann=command");
    assert!(run.out.contains("ann → user: found"), "{}", run.out);
}

#[test]
fn a_leads_messages_are_from_the_lead() {
    let troop = project("when mail * from user\n    message eve read: {mail}\n");
    write(&troop, "ear.script", "when mail * from lead\n    message user {from} says: {mail}\n");
    let run = troop.succeed("run 'the manual' --agent script:lead.script -m eve=script:ear.script");
    assert!(run.out.contains("eve → user: lead says: read: the manual"), "{}", run.out);
}
