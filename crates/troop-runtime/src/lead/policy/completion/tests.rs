//! Which commands pass which stages, and the consequences of objections.

use troop_model::{Actor, Command, DelegationOutcome, NewTask, TaskCommand};

use super::{
    Departure, DoneClaim, DoneWay, ORDER, Objection, PassageStage, Sentence, after_objection,
    attempt_at, departure, done_claim, is_late, name_attempt, stages_after,
};
use crate::{
    Aim, CommandRequest,
    lead::policy::table::{
        SmallTeam, by_agent, by_person, complete, name, request, task, task_ref,
    },
};

/// A team in which `ann` works on task 1.
fn at_work() -> SmallTeam {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    scene.claims("ann", 1);
    scene
}

/// A team in which `ann` has submitted task 1.
fn handed_in() -> SmallTeam {
    let mut scene = at_work();
    scene.member("ann", review());
    scene
}

fn review() -> TaskCommand {
    TaskCommand::Review { task: task_ref(1), result: None }
}

fn approve() -> TaskCommand {
    TaskCommand::Approve { task: task_ref(1), comment: None }
}

fn fail() -> TaskCommand {
    TaskCommand::Fail { task: task_ref(1), reason: "no".to_owned(), attempt: None, for_good: false }
}

fn release() -> TaskCommand {
    TaskCommand::Release { task: task_ref(1), reason: "later".to_owned() }
}

#[test]
fn files_are_recorded_before_hooks_judge_and_work_is_proved_before_the_board_decides() {
    use PassageStage::{Agent, Board, Files, Hooks, Proof};
    assert_eq!(ORDER, [Agent, Files, Hooks, Proof, Board]);
    let after = |over| stages_after(over).collect::<Vec<_>>();
    assert_eq!(after(None), ORDER);
    assert_eq!(after(Some(Files)), [Hooks, Proof, Board]);
    assert_eq!(after(Some(Hooks)), [Proof, Board]);
    assert_eq!(after(Some(Proof)), [Board]);
    assert_eq!(after(Some(Board)), []);
}

fn anns(way: DoneWay) -> Option<DoneClaim> {
    let attempt = (way != DoneWay::Approve).then_some(1);
    Some(DoneClaim { task: task(1), member: name("ann"), attempt, way })
}

#[test]
fn completing_and_submitting_are_done_claims_of_the_holder() {
    let scene = at_work();
    let claim = |command| done_claim(&scene.state, &by_agent("ann", command));
    assert_eq!(claim(complete(1)), anns(DoneWay::Finish(Aim::Merge)));
    assert_eq!(claim(review()), anns(DoneWay::Finish(Aim::HandIn)));
    assert_eq!(claim(fail()), None);
    assert_eq!(claim(release()), None);
    assert_eq!(claim(complete(9)), None, "there is no such task");
    assert_eq!(claim(TaskCommand::Create(NewTask::default())), None);
}

#[test]
fn a_holders_completion_gets_the_number_of_its_attempt() {
    let scene = at_work();
    let named = |mut request: CommandRequest| {
        name_attempt(&scene.state, &mut request);
        let Command::Task(TaskCommand::Complete { attempt, .. }) = request.command else {
            panic!("{request:?}")
        };
        attempt
    };
    assert_eq!(named(by_agent("ann", complete(1))), Some(1));
    assert_eq!(named(by_agent("bob", complete(1))), None, "it would claim the task first");
    assert_eq!(named(by_person(complete(1))), None, "a person holds no task");
    assert_eq!(named(by_agent("ann", complete(9))), None, "there is no such task");
    let mut late = complete(1);
    let TaskCommand::Complete { attempt, .. } = &mut late else { panic!("{late:?}") };
    *attempt = Some(7);
    assert_eq!(named(by_agent("ann", late)), Some(7), "it said which one it means");
}

#[test]
fn a_completion_is_only_submitted_where_results_are_reviewed() {
    let mut scene = SmallTeam::with(|settings| settings.require_review = true);
    scene.adds(|_| {});
    scene.claims("ann", 1);
    let claim = done_claim(&scene.state, &by_agent("ann", complete(1)));
    assert_eq!(claim, anns(DoneWay::Finish(Aim::HandIn)));
}

#[test]
fn a_completion_by_a_person_needs_no_proof_but_an_approval_does() {
    let scene = at_work();
    assert_eq!(done_claim(&scene.state, &by_person(complete(1))), None);
    assert_eq!(done_claim(&scene.state, &by_person(review())), None);
    let scene = handed_in();
    let approved = done_claim(&scene.state, &by_person(approve()));
    assert_eq!(approved, anns(DoneWay::Approve), "the work is ann's");
}

#[test]
fn an_approval_of_work_that_was_not_submitted_is_no_done_claim() {
    let scene = at_work();
    assert_eq!(done_claim(&scene.state, &by_person(approve())), None);
    let mut scene = SmallTeam::new();
    scene.adds(|new| new.approve_start = Some(true));
    assert_eq!(done_claim(&scene.state, &by_person(approve())), None, "it may only start");
}

#[test]
fn work_belongs_to_the_holder_and_without_one_to_the_reporter() {
    let scene = at_work();
    let by_bob = done_claim(&scene.state, &by_agent("bob", complete(1)));
    assert_eq!(by_bob, anns(DoneWay::Finish(Aim::Merge)), "ann holds it");
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    let free = done_claim(&scene.state, &by_agent("bob", complete(1))).unwrap();
    assert_eq!((free.member, free.attempt), (name("bob"), None), "bob holds no attempt");
    assert_eq!(done_claim(&scene.state, &by_agent("zoe", complete(1))), None, "a stranger");
}

#[test]
fn a_completed_delegation_is_a_done_claim() {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    let command = Command::Delegate {
        to: name("ann"),
        task: Some(task_ref(1)),
        subject: None,
        note: None,
        trace_id: None,
    };
    scene.give(Actor::agent(&name("lead")), command);
    let delegation = scene.state.delegation_of(task(1)).unwrap().id;
    let claim = |outcome| {
        let command = Command::FinishDelegation { delegation, outcome };
        done_claim(&scene.state, &request(Actor::system(), command))
    };
    let done = DelegationOutcome::Completed("it".to_owned());
    assert_eq!(claim(done), anns(DoneWay::Finish(Aim::Merge)));
    assert_eq!(claim(DelegationOutcome::Failed("no".to_owned())), None);
    let idle = |actor: &str, last: Option<u32>| {
        let command = Command::ReportIdle { member: name("ann"), last_task: last.map(task_ref) };
        done_claim(&scene.state, &request(Actor::agent(&name(actor)), command))
    };
    assert_eq!(idle("ann", Some(1)), anns(DoneWay::Finish(Aim::Merge)), "so does its last word");
    assert_eq!(idle("ann", None), None);
    assert_eq!(idle("bob", Some(1)), None, "it is not bob's");
}

#[test]
fn a_holder_that_lets_its_task_go_leaves_files() {
    let scene = at_work();
    let folder = scene.state.folder_of(scene.state.tasks().get(task(1)).unwrap());
    let left = Some(Departure { task: task(1), owner: name("ann"), folder });
    let of = |member: &str, command| departure(&scene.state, &by_agent(member, command));
    assert_eq!(of("ann", complete(1)), left);
    assert_eq!(of("ann", review()), left);
    assert_eq!(of("ann", fail()), left);
    assert_eq!(of("ann", release()), None, "the next holder writes there, too");
    assert_eq!(of("ann", approve()), None);
    assert_eq!(of("bob", complete(1)), None, "it is not bob's");
    assert_eq!(departure(&scene.state, &by_person(complete(1))), None, "nor a person's");
    assert_eq!(of("ann", complete(9)), None, "there is no such task");
}

/// The kind of a done claim, the objection, and whether the board would accept it.
type Case = (DoneWay, Objection, bool);

fn check(rows: &[(&str, Case, Sentence)]) {
    for (title, (way, objection, would_be_taken), expected) in rows {
        assert_eq!(after_objection(*way, *objection, *would_be_taken), *expected, "{title}");
    }
}

const FINISH: DoneWay = DoneWay::Finish(Aim::Merge);
const HAND_IN: DoneWay = DoneWay::Finish(Aim::HandIn);

#[test]
fn an_objection_to_the_work_is_a_refusal() {
    use Objection::{Fault, Work};
    check(&[
        ("its checks fail", (FINISH, Work, true), Sentence::Refuse),
        ("the checks of a submission fail", (HAND_IN, Work, true), Sentence::Refuse),
        ("git fails", (FINISH, Fault, true), Sentence::Refuse),
        ("git fails at an approval", (DoneWay::Approve, Fault, true), Sentence::Refuse),
    ]);
}

#[test]
fn the_board_answers_for_a_task_that_is_no_longer_wanted() {
    use Objection::Unwanted;
    check(&[
        ("it was taken away", (FINISH, Unwanted, false), Sentence::LetTheBoardSay),
        ("it was given back meanwhile", (FINISH, Unwanted, true), Sentence::Again),
        (
            "an approval came too late",
            (DoneWay::Approve, Unwanted, false),
            Sentence::LetTheBoardSay,
        ),
    ]);
}

#[test]
fn an_approved_result_that_conflicts_goes_back_to_its_member() {
    check(&[("it conflicts", (DoneWay::Approve, Objection::Work, true), Sentence::SendBack)]);
}

#[test]
fn a_report_on_an_earlier_attempt_is_late() {
    let mut scene = at_work();
    let late = |scene: &SmallTeam, attempt| is_late(&scene.state, &task_ref(1), attempt);
    assert_eq!(attempt_at(&scene.state, task(1)), 1);
    assert!(!late(&scene, Some(1)));
    assert!(!late(&scene, None), "it names no attempt");
    scene.member("ann", release());
    scene.claims("bob", 1);
    assert_eq!(attempt_at(&scene.state, task(1)), 2);
    assert!(late(&scene, Some(1)));
    assert!(!late(&scene, Some(2)));
    assert!(!is_late(&scene.state, &task_ref(9), Some(1)), "the board says that there is none");
}
