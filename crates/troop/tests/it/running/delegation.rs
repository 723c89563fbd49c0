//! Delegations from end to end: real processes, up to what the user sees.

use std::io::{BufRead as _, BufReader};

use rustix::process::Signal;

use super::{Printing, Troop, project, start, statuses, wait, write};

/// A lead that delegates two tasks at once, and makes one answer of their results.
const LEAD: &str = r#"
when mail * from user
    call task/create {"subject": "dig", "description": "until [ -e filling ]; do sleep 0.01; done; echo dug for {mail}"} as dig
    call task/create {"subject": "fill", "description": "touch filling; echo filled in $TROOP_SESSION"} as fill
    delegate {dig.task.number} to ann as first
    delegate {fill.task.number} to bob
    message user ann digs, bob fills

when mail *that you delegated* from system
    message user The garden is ready.
        {mail}
"#;

/// Makes a team with the settings that a lead which delegates has by itself, and gives it a goal.
fn board_team(troop: &Troop, name: &str, more: &str) {
    let lead = "--dialect board --lead lead=script:lead.script";
    troop.ok(&format!("team create {name} {lead} {more}"));
    troop.ok(&format!("--team {name} message send lead 'a garden'"));
}

/// Runs such a team until it is stopped.
fn keep_board_team(troop: &Troop, more: &str) -> Printing {
    board_team(troop, "crew", more);
    let mut team = Printing::new(troop.start("resume crew --keep"));
    team.wait_for(" leads");
    team
}

#[test]
fn the_user_sees_the_leads_answer_to_its_members_results() {
    let troop = project(LEAD);
    board_team(&troop, "crew", "--member ann=command --member bob=command");
    let run = troop.succeed_silently("resume crew");
    assert_eq!(statuses(&troop), ["completed", "completed"]);
    let (_, end) = run.out.split_once("2 of 2 tasks done in ").unwrap();
    let (_, answer) = end.split_once("\nThe garden is ready.\n").unwrap();
    assert!(answer.contains("All 2 tasks that you delegated have ended"), "{}", run.out);
    assert!(answer.contains("\ndug for a garden\n"), "{}", run.out);
    // The answer comes in the conversation of the question.
    let said = troop.json("message read");
    let told: Vec<_> = said["messages"].as_array().unwrap().iter().collect();
    assert_eq!(told.len(), 2, "who does what, and the answer: {said}");
    assert!(told.iter().all(|it| it["origin"]["channel"] == "cli"), "{said}");
    let all = troop.json("team delegations");
    let all = all["delegations"].as_array().unwrap();
    assert_eq!(all.len(), 2);
    for delegation in all {
        assert_eq!(
            (&delegation["status"], &delegation["announced"]),
            (&"completed".into(), &true.into())
        );
        assert_eq!(delegation["origin"]["channel"], "cli");
        assert!(delegation["trace_id"].is_string() && delegation["parent_trace_id"].is_string());
        assert_eq!(delegation["team"], troop.json("team show")["id"]);
    }
    let id = all[1]["id"].as_str().unwrap();
    assert_eq!(all[1]["result"], format!("filled in delegate:{id}"));
    let table = troop.ok("team delegations");
    assert!(table.contains("task-1") && table.contains("completed"), "{table}");
    let log = troop.ok(&format!("log bob --delegation {id}"));
    assert!(log.contains(&format!("filled in delegate:{id}")), "{log}");
    assert!(!log.contains("started in process"), "{log}");
    board_team(&troop, "again", "--member ann=command --member bob=command");
    let run = troop.succeed("resume again --json");
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert!(report["answer"].as_str().unwrap().starts_with("The garden is ready."), "{report}");
}

#[test]
fn a_delegation_starts_a_stopped_member() {
    let script = LEAD.replace(
        "when mail * from user\n",
        "when mail * from user\n    call member/add {\"name\": \"ann\", \"agent\": \"command\"}\n    call member/add {\"name\": \"bob\", \"agent\": \"command\"}\n",
    );
    let troop = project(&script);
    board_team(&troop, "crew", "");
    troop.succeed_silently("resume crew");
    assert_eq!(statuses(&troop), ["completed", "completed"]);
}

#[test]
fn every_delegation_has_a_separate_session_and_knows_its_team() {
    let troop = project(
        r#"
when mail * from user
    call task/create {"subject": "one"} as one
    call task/create {"subject": "two"} as two
    delegate {one.task.number} to eve
    delegate {two.task.number} to eve
    log {team_md}

when mail *that you delegated* from system
    message user {mail}
"#,
    );
    write(
        &troop,
        "eve.script",
        r#"
when task one
    call task/get {"task": "{task}"} as seen
    log I am {name} in {run.session}
    only once
        log for the first time
    complete saw {seen.number}

when task two
    only once
        log for the first time
    log {team_md}
    complete saw {seen.number}
"#,
    );
    board_team(&troop, "crew", "--member eve=script:eve.script");
    troop.succeed_silently("resume crew");
    let all = troop.json("team delegations");
    assert_eq!(all["delegations"][0]["result"], "saw 1");
    assert_eq!(
        all["delegations"][1]["result"], "saw {seen.number}",
        "it knows nothing of the first"
    );
    let log = troop.ok("log eve");
    assert_eq!(log.matches("for the first time").count(), 2, "{log}");
    assert!(log.contains("You are `eve`, a member of this team."), "{log}");
    assert!(
        log.contains(&format!("in delegate:{}", all["delegations"][0]["id"].as_str().unwrap())),
        "{log}"
    );
    let log = troop.ok("log lead");
    assert!(log.contains("- `eve` (member): follows a script"), "{log}");
}

#[test]
fn a_person_delegates_and_waits_for_the_result() {
    let troop = project("when mail * from user\n    log hello\n");
    let team = keep_board_team(&troop, "--set max_attempts=1 --member ann=command");
    troop.ok("task create dig -d 'echo dug'");
    let said = troop.ok("task delegate 1 --to ann --wait 40");
    assert!(
        said.starts_with("ann completed task-1: dig after ") && said.ends_with("\ndug\n"),
        "{said}"
    );
    troop.ok("task create fail -d 'echo no; exit 3'");
    let failed = troop.run("task delegate 2 --to ann --wait 40");
    assert_eq!(failed.code, 1);
    assert!(failed.out.starts_with("ann failed at task-2: fail after "), "{}", failed.out);
    assert_eq!(
        failed.err,
        "error: ann did not complete task-2\nhint: see the task: `troop task get 2`\n"
    );
    troop.ok("stop");
    team.end();
}

#[test]
fn waiting_for_a_delegation_reports_a_dead_lead() {
    let troop = project("when mail * from user\n    log hello\n");
    let mut team = keep_board_team(&troop, "--member ann=command");
    troop.ok("task create dig -d 'until [ -e go ]; do sleep 0.01; done'");
    let mut waits = troop.start("task delegate 1 --to ann --wait 40");
    team.wait_for("task-1 goes to ann");
    team.signal(Signal::KILL);
    drop(team.end());
    let mut said = String::new();
    BufReader::new(waits.stderr.take().unwrap()).read_line(&mut said).unwrap();
    // It may have looked for the lead only after that had gone.
    let is_told = said.contains("the team's lead has ended, so")
        || said.contains("nobody leads the team; it starts");
    assert!(is_told && said.contains("`troop resume crew`"), "{said}");
    waits.kill().unwrap();
    waits.wait().unwrap();
    let all = troop.ok("team delegations");
    assert!(all.contains("  cut short  "), "{all}");
}

#[test]
fn a_delegation_continues_after_its_lead_was_killed_or_stopped() {
    let troop = project("when mail * from user\n    log hello\n");
    let mut team = keep_board_team(&troop, "--member ann=command");
    troop.ok("task create dig -d 'until [ -e go ]; do sleep 0.01; done; echo dug'");
    troop.ok("task delegate 1 --to ann");
    team.wait_for("task-1 goes to ann");
    team.signal(Signal::KILL);
    drop(team.end());
    let mut team = Printing::new(troop.start("resume crew --keep --grace 0"));
    team.wait_for("task-1 goes to ann");
    troop.ok("stop crew");
    team.end();
    write(&troop, "go", "");
    troop.succeed_silently("resume crew");
    assert_eq!(statuses(&troop), ["completed"]);
    let all = troop.json("team delegations");
    assert_eq!(all["delegations"].as_array().unwrap().len(), 1, "it is the same one: {all}");
    assert_eq!(all["delegations"][0]["status"], "completed");
}

#[test]
fn a_delegation_without_a_lead_starts_with_the_next_lead() {
    let troop = project("when mail * from user\n    log hello\n");
    board_team(&troop, "crew", "--member ann=command");
    troop.ok("task create dig -d 'echo dug'");
    troop.ok("task delegate 1 --to ann");
    troop.succeed_silently("resume crew");
    assert_eq!(statuses(&troop), ["completed"]);
}

#[test]
fn a_delegation_whose_member_crashes_is_retried_and_announced() {
    let troop = project(LEAD);
    let careless = "when task *\n    on attempt 1\n        run kill -9 $PPID\n    complete dug in {run.session}\n";
    write(&troop, "ann.script", careless);
    let more = "--set retry_backoff_seconds=0 --member ann=script:ann.script --member bob=command";
    board_team(&troop, "crew", more);
    let run = troop.succeed_silently("resume crew");
    let (_, end) = run.out.split_once("2 of 2 tasks done in ").unwrap();
    assert!(end.contains("have ended, after ") && end.contains(": 2 done."), "{end}");
    assert!(end.contains("\ndug in delegate:") && !end.contains("did not work out"), "{end}");
    assert!(end.contains("\ntried before by ann: ann crashed\n"), "{end}");
}

#[test]
fn delegations_to_an_external_member_never_wait() {
    let troop = project("when started\n    log here\n");
    let mut team = start(&troop, "-m pat=external --keep");
    team.wait_for(" leads");
    for nth in [1, 2] {
        troop.ok(&format!("--team crew task create t{nth}"));
        troop.ok(&format!("--team crew task delegate {nth} --to pat"));
    }
    let table = troop.ok("team delegations crew");
    assert_eq!(
        (table.matches(" running ").count(), table.matches("waiting").count()),
        (2, 0),
        "{table}"
    );
    troop.ok("stop crew");
    team.end();
}

#[test]
fn one_of_several_delegations_to_a_member_runs_and_the_rest_wait() {
    let troop = project("when started\n    log here\n");
    let mut team = keep_board_team(&troop, "--member ann=command");
    for nth in [1, 2] {
        let wait = "until [ -e go ]; do sleep 0.01; done; echo ok";
        troop.ok(&format!("--team crew task create t{nth} --description '{wait}'"));
        troop.ok(&format!("--team crew task delegate {nth} --to ann"));
    }
    let table = troop.ok("team delegations crew");
    let status = |task: &str| {
        let line = table.lines().find(|line| line.contains(task)).unwrap().to_owned();
        line.split_whitespace()
            .find(|word| ["running", "waiting"].contains(word))
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (status("task-1").as_str(), status("task-2").as_str()),
        ("running", "waiting"),
        "{table}"
    );
    write(&troop, "go", "");
    team.wait_for("completed task-2");
    troop.ok("stop crew");
    assert_eq!(team.end().code, 0);
}

#[test]
fn members_that_do_not_run_are_started_for_given_work() {
    let troop = project("when mail * from user\n    log hello\n");
    let members = "--member ann=command --member bob=command";
    let lead = "--lead lead=external";
    troop.ok(&format!("team create crew --dialect board {lead} {members}"));
    let mut team = Printing::new(troop.start("resume crew --keep"));
    team.wait_for(" leads");
    let state = |name: &str| {
        let all = troop.json("member list");
        let all = all["members"].as_array().unwrap().clone();
        let found = all.into_iter().find(|it| it["name"] == name).unwrap();
        (found["state"].as_str().unwrap().to_owned(), found["pid"].is_number())
    };
    for (nth, member) in [(1, "ann"), (2, "bob")] {
        assert_eq!(state(member), ("stopped".to_owned(), false));
        let waits = format!("until [ -e go{nth} ]; do sleep 0.01; done; echo dug");
        troop.ok(&format!("task create dig -d '{waits}'"));
        troop.ok(&format!("task assign {nth} {member}"));
        team.wait_for(&format!("task-{nth} goes to {member}"));
        wait("it works", || state(member) == ("working".to_owned(), true));
        write(&troop, &format!("go{nth}"), "");
        team.wait_for(&format!("completed task-{nth}"));
        wait("it is idle", || state(member) == ("idle".to_owned(), true));
    }
    troop.ok("stop crew");
    team.end();
}

#[test]
fn the_last_file_of_a_task_is_never_given_to_the_task_beside_it() {
    let troop = project("when mail * from user\n    log hello\n");
    let members = "--member ann=command --member bob=command";
    troop.ok(&format!("team create crew --dialect board --lead lead=external {members}"));
    let mut team = Printing::new(troop.start("resume crew --keep"));
    team.wait_for(" leads");
    for nth in 1..=4 {
        let one = 2 * nth - 1;
        let other = 2 * nth;
        let both = format!("until [ -e both{nth} ]; do sleep 0.01; done");
        troop.ok(&format!("task create A -d '{both}; echo a > $TROOP_WORKSPACE/a{nth}.txt'"));
        troop.ok(&format!(
            "task create B -d 'touch both{nth}; until [ -e b{nth} ]; do sleep 0.01; done'"
        ));
        troop.ok(&format!("task delegate {one} --to ann"));
        troop.ok(&format!("task delegate {other} --to bob"));
        team.wait_for(&format!("completed task-{one}"));
        write(&troop, &format!("b{nth}"), "");
        team.wait_for(&format!("completed task-{other}"));
    }
    let list = troop.json("workspace list");
    let files = list["files"].as_array().unwrap();
    assert_eq!(files.len(), 4, "{list}");
    for file in files {
        let is_nobodys = file["by"].is_null() && file["task"].is_null();
        assert!(is_nobodys, "both tasks may have written it: {file}");
    }
    let log = troop.ok("log ann");
    assert!(log.contains("`a1.txt` may be of task-1 or task-2: it belongs to no task"), "{log}");
    troop.ok("stop crew");
    team.end();
}
