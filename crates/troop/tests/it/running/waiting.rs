//! A run prints what it waits for, and the commands that answer. They can be pasted.

use super::{GREET, project, start, write};
use crate::troop::{Printing, Troop};

/// A lead with one task that does not answer plans.
const ONE: &str = r#"
when mail * from user
    call task/create {"subject": "say hello", "description": "echo hello"}
    wait until all tasks are done
"#;

/// The first command in backticks after some words.
fn command_after(words: &str, text: &str) -> String {
    let rest = text.split_once(words).unwrap_or_else(|| panic!("no `{words}` in: {text}")).1;
    let command = rest.split('`').nth(1).unwrap();
    command.strip_prefix("troop ").unwrap().replace('"', "'")
}

/// Runs the command that the team's output shows after some words.
fn types(troop: &Troop, team: &mut Printing, words: &str) -> String {
    let line = team.wait_for(words);
    troop.ok(&command_after(words, &line))
}

#[test]
fn a_run_prints_how_to_approve_a_result_or_send_it_back() {
    let troop = project(GREET);
    let mut team = start(&troop, "-m ann=command --set require_review=true");
    team.wait_for("ann submits task-1");
    types(&troop, &mut team, "or send it back: ");
    team.wait_for("sent back task-1");
    team.wait_for("ann submits task-1");
    types(&troop, &mut team, "approve it: ");
    team.wait_for("ann submits task-2");
    types(&troop, &mut team, "approve it: ");
    assert_eq!(team.end().code, 0);
}

#[test]
fn a_run_prints_how_to_answer_a_plan_that_the_lead_does_not() {
    let troop = project(ONE);
    write(&troop, "ann.script", "when task *\n    plan I say it\n    complete said\n");
    let mut team = start(&troop, "-m ann=script:ann.script");
    let line = team.wait_for("ann plans: I say it");
    assert!(!line.contains("troop"), "what to type has its own line: {line}");
    let list = troop.ok("--team crew member list");
    assert!(list.contains("waits for approval of"), "{list}");
    let status = troop.ok("team status crew");
    assert!(status.contains("waits    ann for lead: I say it\n"), "{status}");
    let typed = command_after("waits    ann for lead: ", &status);
    assert_eq!(typed, "--team crew message answer ann yes", "{status}");
    types(&troop, &mut team, "answer, if the lead does not: ");
    assert_eq!(team.end().code, 0);
    let list = troop.ok("--team crew member list");
    assert!(!list.contains("waits"), "{list}");
}

#[test]
fn a_lead_that_may_only_plan_is_not_expected_to_answer_plans() {
    let troop = project(&format!("{ONE}\nwhen plan *\n    approve fine\n"));
    let mut team = start(&troop, "-m ann=command --permissions plan");
    team.wait_for("ann plans: ");
    // The hint to the lead works for a person.
    let (_, err) = troop.refused("--team crew --as lead message answer ann yes");
    assert!(err.contains("the lead cannot allow `ann` more than its own mode"), "{err}");
    let pasted = command_after("hint: a person can answer: ", &err);
    assert_eq!(pasted, "--team crew message answer ann yes");
    types(&troop, &mut team, "answer, since the lead may not: ");
    assert_eq!(team.end().code, 0);
}

#[test]
fn a_run_prints_questions_and_tasks_that_need_approval_to_start() {
    let troop = project("when mail * from user\n    wait until all tasks are done\n");
    write(&troop, "ann.script", "when task *\n    wait for mail *\n    complete said\n");
    let mut team = start(&troop, "-m ann=script:ann.script --keep");
    team.wait_for("ann is ready");
    troop.ok("--team crew task create hello --approve-start");
    let status = troop.ok("--team crew team status");
    assert!(status.contains("waits    task-1 for approval to start: hello\n"), "{status}");
    types(&troop, &mut team, "let it start: ");
    team.wait_for("task-1 goes to ann");
    troop.ok("--team crew --as ann task ask-user 1 'in which language?'");
    let status = troop.ok("--team crew team status");
    assert!(status.contains("waits    ann for user: in which language? (task-1)\n"), "{status}");
    team.wait_for("ann asks user: in which language?");
    types(&troop, &mut team, "answer: ");
    team.wait_for("ann completed task-1");
    troop.ok("stop crew");
    assert_eq!(team.end().code, 0);
}

#[test]
fn a_team_whose_members_claim_nothing_ends_and_explains_how_to_assign() {
    let troop = project(GREET);
    let run = start(&troop, "-m ann=command --set assignment=claim").end();
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.starts_with("error: nobody can do task-1\n"), "{}", run.err);
    assert_eq!(troop.json("task get 1")["status"], "pending");
    for (words, n_left) in [("assign it: ", 1), ("task assign 2 ann`, or: ", 0)] {
        let err = match n_left {
            1 => run.err.clone(),
            _ => troop.run("resume crew").err,
        };
        troop.ok(&command_after(words, &err));
    }
    troop.succeed_silently("resume crew");
}
