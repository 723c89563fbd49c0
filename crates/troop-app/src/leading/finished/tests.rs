//! Complaints and hints at the end of a team.

use serde_json::json;
use troop_model::{Command, NewTask, TaskCommand};
use troop_runtime::{LeadEnd, LeadWork};

use super::{RunReport, TeamHarvest};
use crate::{Diagnosis, story::Story, tests::TestTeam};

/// A team whose lead did what it was told, and in which nobody has anything left to do.
fn quiet(team: TestTeam) -> RunReport {
    let now = team.state.latest();
    RunReport {
        ended: LeadEnd::Quiet,
        story: Story::new(team.state, now),
        fault: None,
        setback: None,
        follows: false,
        work: LeadWork::Done,
        landing: TeamHarvest::Nothing,
    }
}

fn stopped(team: TestTeam) -> RunReport {
    RunReport { ended: LeadEnd::Stopped { reason: "enough".to_owned() }, ..quiet(team) }
}

/// The complaint, and what to do about it.
fn complaint(finished: &RunReport) -> [String; 2] {
    let error = finished.check().unwrap_err();
    let hint = Diagnosis::of(&error).unwrap().hint.unwrap();
    [error.to_string(), hint.to_string()]
}

/// A team with tasks, each written by the lead.
fn with_tasks(members: &[&str], tasks: Vec<NewTask>) -> TestTeam {
    let mut team = TestTeam::new(members);
    for task in tasks {
        team.by_lead(&Command::Task(TaskCommand::Create(task)));
    }
    team
}

fn task(subject: &str) -> NewTask {
    NewTask { subject: subject.to_owned(), ..NewTask::default() }
}

#[test]
fn a_team_without_open_work_succeeds() {
    assert!(quiet(TestTeam::new(&[])).check().is_ok());
    let mut team = with_tasks(&["ann"], vec![task("write")]);
    let cancel = TaskCommand::Cancel { task: "1".parse().unwrap(), reason: "no".to_owned() };
    team.by_lead(&Command::Task(cancel));
    assert!(quiet(team).check().is_ok());
}

#[test]
fn a_lead_that_did_not_end_in_good_order_fails_the_team() {
    let ended = |ended| complaint(&RunReport { ended, ..quiet(TestTeam::new(&[])) });
    assert_eq!(
        ended(LeadEnd::Superseded),
        [
            "another session leads the team now",
            "see what it is doing: `troop --team crew events --follow`"
        ]
    );
    assert_eq!(
        ended(LeadEnd::Lost { reason: "it hangs".to_owned() }),
        ["contact with the team was lost: it hangs", "continue: `troop resume crew`"]
    );
}

#[test]
fn a_failed_lead_gets_a_hint_to_its_log() {
    let failed = |follows| {
        let fault = Some("no\nanswer".to_owned());
        complaint(&RunReport { fault, follows, ..quiet(TestTeam::new(&[])) })
    };
    let message = "the lead could not continue: no answer";
    assert_eq!(
        failed(false),
        [
            message,
            "see what it did: `troop --team crew log lead`, then continue: `troop resume crew`"
        ]
    );
    assert_eq!(
        failed(true),
        [
            message,
            "see what it did: `troop --team crew log lead`; create what is missing by hand (`troop --team crew task create \"…\"`), \
             or restart the script by sending it the goal again: `troop --team crew message send lead \"…\"`, then continue: \
             `troop resume crew`"
        ]
    );
}

#[test]
fn a_lead_that_ended_before_its_goal_is_to_continue() {
    let finished = RunReport { work: LeadWork::Open, ..stopped(TestTeam::new(&[])) };
    assert_eq!(
        complaint(&finished),
        ["the lead has not yet done what it was asked", "continue: `troop resume crew`"]
    );
    let setback = Some("the connection to the model's API failed:\nrefused".to_owned());
    let finished = RunReport { work: LeadWork::Open, setback, ..stopped(TestTeam::new(&[])) };
    assert_eq!(
        complaint(&finished)[0],
        "the lead has not yet done what it was asked; its last error: the connection to the model's API failed: refused"
    );
}

#[test]
fn a_task_that_nobody_does_needs_a_member() {
    let [message, hint] = complaint(&quiet(with_tasks(&[], vec![task("a"), task("b")])));
    assert_eq!(message, "nobody can do 2 tasks: task-1, task-2");
    assert_eq!(
        hint,
        "add somebody: `--member ann=command`, or now: `troop --team crew member add ann=command`, then continue: `troop resume crew`"
    );
}

#[test]
fn a_task_that_nobody_takes_needs_an_order() {
    let reserved = NewTask { assignee: Some("bob".parse().unwrap()), ..task("a") };
    let cases = [
        (
            reserved,
            "both",
            "it is reserved for bob; free it: `troop --team crew task update 1 --unassign`",
        ),
        (task("a"), "both", "see what became of it: `troop --team crew log ann`"),
        (
            task("a"),
            "claim",
            "nobody gave it out, and members claim their work here (`assignment=claim`); assign it: `troop --team crew task assign 1 ann`, \
             or: `troop --team crew task delegate 1 --to ann`; or let troop assign all work: `troop team set crew assignment=both`",
        ),
    ];
    for (new, assignment, expected) in cases {
        let mut team = with_tasks(&["ann", "bob"], vec![new]);
        let settings = vec![("assignment".to_owned(), json!(assignment))];
        team.by_person(&Command::UpdateTeam { description: None, settings });
        let expected = format!("{expected}, then continue: `troop resume crew`");
        assert_eq!(complaint(&quiet(team)), ["nobody can do task-1", &expected]);
    }
}

#[test]
fn a_task_blocked_by_a_cancelled_one_gets_hints_to_free_or_cancel_it() {
    let blocked = NewTask { blocked_by: vec!["1".parse().unwrap()], ..task("b") };
    let mut team = with_tasks(&["ann"], vec![task("a"), blocked]);
    let cancel = TaskCommand::Cancel { task: "1".parse().unwrap(), reason: "no".to_owned() };
    team.by_lead(&Command::Task(cancel));
    let expected = [
        "1 task is not done",
        "task-2 waits for task-1, which was cancelled; make it wait for nothing: `troop --team crew task update 2 --unblock`, \
         or cancel it too: `troop --team crew task cancel 2 --reason \"…\"`, then continue: `troop resume crew`",
    ];
    assert_eq!(complaint(&quiet(team)), expected);
}

#[test]
fn a_team_that_was_stopped_continues_where_it_was() {
    let finished = stopped(with_tasks(&["ann"], vec![task("a")]));
    assert_eq!(complaint(&finished), ["1 task is not done", "continue: `troop resume crew`"]);
}
