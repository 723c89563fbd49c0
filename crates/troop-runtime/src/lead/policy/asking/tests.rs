//! Hooks are asked about nothing that the rules refuse.

use std::time::Duration;

use troop_model::{Actor, Command, NewTask, TaskCommand, TaskCreation, Time};

use super::occasion;
use crate::{
    CommandRequest,
    hooks::Occasion,
    lead::policy::table::{
        SmallTeam, by_agent, by_person, check, complete, name, request, task, task_ref,
    },
};

/// A team in which `ann` works on task 1 and nobody on task 2.
fn team(reviews: bool) -> SmallTeam {
    let mut scene = SmallTeam::with(|it| {
        it.require_review = reviews;
        it.task_creation = TaskCreation::Lead;
    });
    scene.adds(|_| {});
    scene.claims("ann", 1);
    scene.adds(|_| {});
    scene
}

fn create() -> TaskCommand {
    TaskCommand::Create(NewTask { subject: "more".to_owned(), ..NewTask::default() })
}

fn approve() -> TaskCommand {
    TaskCommand::Approve { task: task_ref(1), comment: None }
}

fn submit() -> TaskCommand {
    TaskCommand::Review { task: task_ref(1), result: Some("mine".to_owned()) }
}

/// What hooks are asked: the event, the task, its owner, and the member that causes it.
type HookQuestion = Option<(&'static str, u32, Option<&'static str>)>;

#[expect(clippy::wildcard_enum_match_arm, reason = "the tables ask about two kinds")]
fn question(scene: &SmallTeam, request: &CommandRequest) -> Option<(String, u32, Option<String>)> {
    let (event, task) = match occasion(&scene.state, request, scene.time)? {
        Occasion::TaskCreated { task, .. } => ("created", task),
        Occasion::TaskCompleted { task, .. } => ("completed", task),
        other => panic!("{other:?}"),
    };
    Some((event.to_owned(), task.number.0, task.owner.map(|it| it.to_string())))
}

fn owned(question: HookQuestion) -> Option<(String, u32, Option<String>)> {
    question.map(|(event, task, owner)| (event.to_owned(), task, owner.map(str::to_owned)))
}

#[test]
fn hooks_are_asked_only_about_commands_that_the_rules_accept() {
    let mut done = team(false);
    done.completes("ann", 1);
    let mut in_review = team(true);
    in_review.member("ann", submit());
    let late = TaskCommand::Complete {
        task: task_ref(1),
        result: "late".to_owned(),
        summary: None,
        attempt: Some(7),
    };
    let rows = vec![
        (
            "the holder completes",
            (team(false), by_agent("ann", complete(1))),
            owned(Some(("completed", 1, Some("ann")))),
        ),
        ("another member completes", (team(false), by_agent("bob", complete(1))), None),
        ("the holder reports on another attempt", (team(false), by_agent("ann", late)), None),
        ("it is completed again", (done, by_agent("ann", complete(1))), None),
        (
            "a member completes what nobody holds",
            (team(false), by_agent("bob", complete(2))),
            owned(Some(("completed", 2, Some("bob")))),
        ),
        (
            "a person completes for the holder",
            (team(false), by_person(complete(1))),
            owned(Some(("completed", 1, Some("ann")))),
        ),
        (
            "the lead creates",
            (team(false), by_agent("lead", create())),
            owned(Some(("created", 3, None))),
        ),
        ("a member creates that may not", (team(false), by_agent("ann", create())), None),
        ("a result is only submitted", (team(true), by_agent("ann", complete(1))), None),
        (
            "a submitted result is approved",
            (in_review, by_agent("lead", approve())),
            owned(Some(("completed", 1, Some("ann")))),
        ),
        ("nothing is submitted", (team(true), by_agent("lead", approve())), None),
    ];
    check(rows, |(scene, request)| question(&scene, &request));
}

#[test]
fn hooks_are_asked_once_about_an_operation() {
    let mut scene = team(false);
    let command = Command::Task(complete(1));
    let events = scene.decide(Actor::agent(&name("ann")), &command);
    let again = CommandRequest {
        operation: events.first().unwrap().operation,
        ..request(Actor::agent(&name("lead")), Command::Task(create()))
    };
    assert!(question(&scene, &again).is_some());
    events.iter().for_each(|event| scene.state.apply(event));
    assert_eq!(question(&scene, &again), None);
    assert_eq!(scene.state.tasks().get(task(1)).unwrap().owner, Some(name("ann")));
}

#[test]
fn a_task_that_still_needs_proof_is_judged_before_its_proof() {
    let mut scene = SmallTeam::with(|it| it.checks = vec!["make test".to_owned()]);
    scene.adds(|_| {});
    scene.claims("ann", 1);
    let asked = question(&scene, &by_agent("ann", complete(1)));
    assert_eq!(asked, owned(Some(("completed", 1, Some("ann")))));
    assert_eq!(question(&scene, &by_agent("bob", complete(1))), None);
}

#[test]
fn a_clock_that_is_behind_the_log_judges_by_the_time_of_the_log() {
    let mut scene = team(false);
    scene.passes(Duration::from_secs(3_600));
    scene.adds(|_| {});
    let latest = scene.state.latest();
    let behind = Time::from_micros(latest.as_micros() - 3_600_000_000);
    for (clock, then) in [(behind, latest), (latest, latest)] {
        let events = by_agent("bob", complete(2)).judged(&scene.state, clock).unwrap();
        assert!(events.iter().all(|event| event.at == then), "{events:?}");
    }
}
