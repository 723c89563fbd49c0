//! Every way to end the work on a task, and what follows from it: files, hooks and proof know the same ways.

use troop_model::{Actor, Command, DelegationOutcome, NewTask, TaskCommand};

use super::{AttemptEnd, AttemptEnding, attempt_end};
use crate::lead::policy::{
    asking::{event_of, occasion},
    completion::{departure, done_claim},
    table::{SmallTeam, complete, name, request, task, task_ref},
};

/// A team in which `ann` works on task 1, which was delegated to her.
fn delegated() -> SmallTeam {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    scene.give(Actor::agent(&name("lead")), delegate(Some(1), None));
    scene
}

fn delegate(number: Option<u32>, subject: Option<&str>) -> Command {
    Command::Delegate {
        to: name("ann"),
        task: number.map(task_ref),
        subject: subject.map(str::to_owned),
        note: None,
        trace_id: None,
    }
}

/// All commands of `ann` that end the work on her task, and how.
fn endings(scene: &SmallTeam) -> Vec<(Command, AttemptEnding)> {
    let delegation = scene.state.delegation_of(task(1)).unwrap().id;
    let finish = |outcome| Command::FinishDelegation { delegation, outcome };
    let text = || "said".to_owned();
    let review = TaskCommand::Review { task: task_ref(1), result: Some(text()) };
    let fail =
        TaskCommand::Fail { task: task_ref(1), reason: text(), attempt: None, for_good: false };
    let release = TaskCommand::Release { task: task_ref(1), reason: text() };
    let idle = Command::ReportIdle { member: name("ann"), last_task: Some(task_ref(1)) };
    vec![
        (Command::Task(complete(1)), AttemptEnding::Done("done".to_owned())),
        (finish(DelegationOutcome::Completed(text())), AttemptEnding::Done(text())),
        (idle, AttemptEnding::Done("done".to_owned())),
        (Command::Task(review), AttemptEnding::Submitted),
        (Command::Task(fail), AttemptEnding::Failed),
        (finish(DelegationOutcome::Failed(text())), AttemptEnding::Failed),
        (Command::Task(release), AttemptEnding::GivenBack),
        (finish(DelegationOutcome::Cancelled(text())), AttemptEnding::GivenBack),
    ]
}

#[test]
fn every_way_to_end_a_task_attaches_its_files_asks_hooks_and_is_proved() {
    let scene = delegated();
    let ann = Actor::agent(&name("ann"));
    for (command, ending) in endings(&scene) {
        let found = attempt_end(&scene.state, &ann, &command);
        assert_eq!(
            found,
            Some(AttemptEnd { task: task(1), ending: ending.clone() }),
            "{command:?}"
        );
        let asked = request(ann.clone(), command.clone());
        let is_done = matches!(ending, AttemptEnding::Done(_));
        let leaves = ending != AttemptEnding::GivenBack;
        assert_eq!(departure(&scene.state, &asked).is_some(), leaves, "files: {command:?}");
        let judged = occasion(&scene.state, &asked, scene.time).is_some();
        assert_eq!(judged, is_done, "hooks: {command:?}");
        assert_eq!(event_of(&command).is_some(), is_done, "hooks: {command:?}");
        let is_claim = is_done || ending == AttemptEnding::Submitted;
        assert_eq!(done_claim(&scene.state, &asked).is_some(), is_claim, "proof: {command:?}");
    }
}

#[test]
fn commands_that_end_nothing_are_not_mistaken_for_an_end() {
    let scene = delegated();
    let end = |who: &str, command: &Command| {
        attempt_end(&scene.state, &Actor::agent(&name(who)), command)
    };
    let idle = |member: &str, last: Option<u32>| Command::ReportIdle {
        member: name(member),
        last_task: last.map(task_ref),
    };
    assert_eq!(end("ann", &idle("ann", None)), None);
    assert_eq!(end("bob", &idle("ann", Some(1))), None, "bob cannot end the work of ann");
    assert_eq!(end("bob", &idle("bob", Some(1))), None, "it is not delegated to bob");
    assert_eq!(end("ann", &Command::Task(complete(9))), None, "there is no such task");
    assert_eq!(end("ann", &Command::Task(TaskCommand::Create(NewTask::default()))), None);
}

#[test]
fn hooks_judge_every_new_task() {
    let mut scene = SmallTeam::with(|it| it.delegation.require_task = false);
    scene.adds(|_| {});
    let lead = || Actor::agent(&name("lead"));
    let new = NewTask { subject: "more".to_owned(), ..NewTask::default() };
    for command in [Command::Task(TaskCommand::Create(new)), delegate(None, Some("more"))] {
        let asked = request(lead(), command.clone());
        assert!(event_of(&command).is_some(), "{command:?}");
        assert!(occasion(&scene.state, &asked, scene.time).is_some(), "{command:?}");
    }
    let known = delegate(Some(1), None);
    assert_eq!(event_of(&known), None, "its task was made before");
}
