//! Teammates that wait for a word about their plan, or for leave, and what else ends that.

use rustix::process::Signal;

use super::{all_end, members, processes, project, start, write};
use crate::troop::{Printing, Troop};

/// A lead that has one thing done.
const ONE: &str = r#"
when mail * from user
    call task/create {"subject": "say hello", "description": "echo hello"}
"#;

/// A team in which `ann` waits for a word about its plan.
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
fn what_to_type_names_the_team_and_which_team_names_those_that_run_first() {
    let troop = project(ONE);
    let plans = "--keep --permissions plan -m ann=command";
    // It gets a name that nobody typed.
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
fn a_mode_that_allows_more_lets_who_waits_with_its_plan_begin() {
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
fn what_an_interrupted_teammate_asked_is_not_answered() {
    let troop = project(ONE);
    let mut team = planning(&troop);
    troop.ok("member interrupt ann");
    asks_nothing(&troop);
    // It asks again when it goes on.
    troop.ok("message send ann 'go on'");
    team.wait_for("ann plans: run `echo hello`");
    troop.ok("message answer ann yes");
    team.wait_for("ann completed task-1: hello");
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
}

#[tokio::test]
async fn what_a_teammate_asked_that_went_with_its_lead_is_not_answered() {
    let troop = project(ONE);
    let team = planning(&troop);
    let mark = processes(&troop);
    team.signal(Signal::KILL);
    all_end(mark).await;
    drop(team);
    asks_nothing(&troop);
}

#[test]
fn who_hangs_over_its_mail_is_seen_to() {
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
