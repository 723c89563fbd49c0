//! Merges of a killed lead that the board has to record.

use troop_model::{
    Actor, Command, MergeRecord, OperationId, Proof, Status, TaskCommand, TaskNumber,
};
use uuid::Uuid;

use super::{completion, is_recorded, is_unheard, last_resort, open_attempts};
use crate::{
    Aim, AttemptName, CommandRequest, UnheardMerge,
    lead::policy::{
        completion::{DoneClaim, DoneWay},
        table::{SmallTeam, by_agent, complete, name, request, task_ref},
    },
};

fn merge(attempt: u32, report: Option<CommandRequest>) -> UnheardMerge {
    UnheardMerge {
        task: TaskNumber(1),
        attempt,
        into: "troop/alpha".to_owned(),
        commit: "c1".to_owned(),
        evidence: Vec::new(),
        report,
    }
}

/// A team in which `ann` works on task 1.
fn at_work() -> SmallTeam {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    scene.claims("ann", 1);
    scene
}

fn status(scene: &SmallTeam) -> Status {
    scene.state.tasks().get(TaskNumber(1)).unwrap().status
}

#[test]
fn only_the_current_attempt_at_an_open_task_is_searched_for() {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    assert_eq!(open_attempts(&scene.state), [], "nobody has worked on it");
    scene.claims("ann", 1);
    let first = AttemptName { task: TaskNumber(1), attempt: 1 };
    assert_eq!(open_attempts(&scene.state), [first]);
    assert!(is_unheard(&scene.state, &merge(1, None)));
    assert!(!is_unheard(&scene.state, &merge(2, None)), "it has not begun");
    scene.person(Command::Task(TaskCommand::Release {
        task: task_ref(1),
        reason: "its lead was killed".to_owned(),
    }));
    assert_eq!(open_attempts(&scene.state), [first], "nobody has begun it again");
    scene.claims("bob", 1);
    assert!(!is_unheard(&scene.state, &merge(1, None)), "another attempt has begun");
    scene.completes("bob", 1);
    assert_eq!(open_attempts(&scene.state), []);
}

#[test]
fn a_merged_task_is_completed_with_its_result_whether_or_not_it_is_held() {
    for is_held in [true, false] {
        let mut scene = at_work();
        if !is_held {
            let reason = "its lead was killed".to_owned();
            scene.person(Command::Task(TaskCommand::Release { task: task_ref(1), reason }));
        }
        let report = by_agent("ann", complete(1));
        let command = last_resort(&scene.state, &merge(1, Some(report))).unwrap();
        let Command::Task(TaskCommand::Complete { result, .. }) = &command else {
            panic!("{command:?}")
        };
        assert_eq!(result, "done");
        scene.system(command);
        assert_eq!(status(&scene), Status::Completed, "held: {is_held}");
        assert_eq!(last_resort(&scene.state, &merge(1, None)), None, "it is over");
    }
}

#[test]
fn submitted_work_is_approved_only_if_its_approval_was_merged() {
    let mut scene = at_work();
    let submit = TaskCommand::Review { task: task_ref(1), result: Some("look".to_owned()) };
    scene.member("ann", submit.clone());
    let report = Some(by_agent("ann", submit));
    assert_eq!(last_resort(&scene.state, &merge(1, report)), None, "nobody has approved it");
    let approve = TaskCommand::Approve { task: task_ref(1), comment: None };
    let report = request(Actor::human("pat"), Command::Task(approve));
    let command = last_resort(&scene.state, &merge(1, Some(report))).unwrap();
    scene.system(command);
    assert_eq!(status(&scene), Status::Completed);
}

#[test]
fn a_merge_is_recorded_once() {
    let mut scene = at_work();
    assert!(!is_recorded(&scene.state, &merge(1, None)));
    let merged = MergeRecord { into: "troop/alpha".to_owned(), commit: "c1".to_owned() };
    let task = task_ref(1);
    let proof = Proof::new(task, Vec::new(), Some(merged));
    scene.system(Command::Task(TaskCommand::Prove(proof)));
    assert!(is_recorded(&scene.state, &merge(1, None)));
}

#[test]
fn a_task_that_its_holder_lost_during_the_merge_is_completed_by_troop() {
    let claim = |attempt| DoneClaim {
        task: TaskNumber(1),
        member: name("ann"),
        attempt: Some(attempt),
        way: DoneWay::Finish(Aim::Merge),
    };
    let mut scene = at_work();
    let report = by_agent("ann", complete(1));
    assert_eq!(completion(&scene.state, &report, &claim(1)), None, "its holder still has it");
    let reason = "silent".to_owned();
    scene.person(Command::Task(TaskCommand::Release { task: task_ref(1), reason }));
    let approval = DoneClaim { way: DoneWay::Approve, ..claim(1) };
    assert_eq!(completion(&scene.state, &report, &approval), None);
    let command = completion(&scene.state, &report, &claim(1)).unwrap();
    scene.system(command);
    assert_eq!(status(&scene), Status::Completed);
    let operation = OperationId(Uuid::nil());
    let again = CommandRequest { operation, ..report };
    assert_eq!(completion(&scene.state, &again, &claim(1)), None, "it is over");
}
