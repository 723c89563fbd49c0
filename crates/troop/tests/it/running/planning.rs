//! Teammates that wait for approval of a plan, and what else ends the wait.

use super::{kill, members, project, start, write};
use crate::troop::{Printing, Troop};

/// A lead with one task.
const ONE: &str = r#"
when mail * from user
    call task/create {"subject": "say hello", "description": "echo hello"}
"#;

/// A team in which `ann` waits for approval of its plan.
fn planning(troop: &Troop) -> Printing {
    let mut team = start(troop, "--keep --permissions plan -m ann=command");
    team.wait_for("ann plans: run `echo hello`");
    let status = troop.ok("team status");
    assert!(status.contains("waits    ann for lead"), "{status}");
    team
}

fn asks_nothing(troop: &Troop) {
    assert!(!troop.ok("team status").contains("waits"));
    let (code, err) = troop.refused("message answer ann yes");
    assert_eq!(code, 1);
    assert!(err.starts_with("error: `ann` is asking nothing\n"), "{err}");
}

#[test]
fn hints_name_the_team_and_running_teams_are_listed_first() {
    let troop = project(ONE);
    let plans = "--keep --permissions plan -m ann=command";
    // This team gets its name from troop.
    let line = format!("run 'the goal' --agent script:lead.script {plans}");
    let mut unnamed = Printing::new(troop.start(&line));
    unnamed.wait_for("answer, since the lead may not:");
    let name = troop.json("team list")["teams"][0]["name"].as_str().unwrap().to_owned();
    let hint = format!("`troop --team {name} message answer ann yes`");
    let status = troop.ok("team status");
    assert!(status.contains(&hint), "{status}");
    let mut named = start(&troop, plans);
    named.wait_for("ann plans: run `echo hello`");
    troop.ok("team create resting");
    let (code, err) = troop.refused("message answer ann yes");
    let wanted = format!(
        "error: more than one team fits; these run: crew, {name}; others are: resting\nhint: for example: `--team crew`\n"
    );
    assert_eq!((code, err), (2, wanted));
    troop.ok(&format!("--team {name} stop"));
    troop.ok("--team crew stop");
    let run = unnamed.end();
    assert!(run.out.contains(&hint), "{run:?}");
    named.end();
}

#[test]
fn a_wider_mode_starts_a_member_that_waits_with_its_plan() {
    let troop = project(ONE);
    let mut team = planning(&troop);
    troop.ok("member mode ann default");
    team.wait_for("ann completed task-1: hello");
    asks_nothing(&troop);
    troop.ok("task create again --description 'echo again'");
    team.wait_for("ann completed task-2: again");
    assert!(members(&troop).contains(&("ann".to_owned(), "idle".to_owned())));
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
}

#[test]
fn an_interrupted_teammates_question_is_withdrawn() {
    let troop = project(ONE);
    let mut team = planning(&troop);
    troop.ok("member interrupt ann");
    asks_nothing(&troop);
    // It asks again when it continues.
    troop.ok("message send ann 'go on'");
    team.wait_for("ann plans: run `echo hello`");
    troop.ok("message answer ann yes");
    team.wait_for("ann completed task-1: hello");
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
}

#[tokio::test]
async fn questions_end_with_a_killed_lead() {
    let troop = project(ONE);
    let team = planning(&troop);
    kill(team, &troop).await;
    asks_nothing(&troop);
}

#[test]
fn a_member_that_hangs_over_its_mail_is_restarted() {
    let troop = project("when started\n    log here\n");
    write(&troop, "bob.script", "when mail *\n    run kill -STOP $PPID\n");
    let mut team = start(&troop, "--keep --set lease_seconds=1 -m bob=script:bob.script");
    team.wait_for("bob is ready");
    troop.ok("message send bob hello");
    team.wait_for("bob crashed: it was silent for longer than its lease");
    team.wait_for("bob is started again");
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
}
