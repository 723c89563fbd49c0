//! What passes which stages, and what becomes of it.

use troop_model::{Actor, Command, DelegationOutcome, NewTask, RejectMode, TaskCommand};

use super::{
    Departure, DoneClaim, DoneWay, MAX_REFUSALS, ORDER, Objection, PassageStage, Repairer,
    Sentence, after_objection, after_refusal, attempt_at, can_repair, departure, done_claim,
    is_late, is_retried, stages_after,
};
use crate::{
    Aim,
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

/// A team in which `ann` has handed in task 1.
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
    use PassageStage::{Board, Files, Hooks, Proof};
    assert_eq!(ORDER, [Files, Hooks, Proof, Board]);
    let after = |over| stages_after(over).collect::<Vec<_>>();
    assert_eq!(after(None), ORDER);
    assert_eq!(after(Some(Files)), [Hooks, Proof, Board]);
    assert_eq!(after(Some(Hooks)), [Proof, Board]);
    assert_eq!(after(Some(Proof)), [Board]);
    assert_eq!(after(Some(Board)), []);
}

fn anns(way: DoneWay) -> Option<DoneClaim> {
    Some(DoneClaim { task: task(1), member: name("ann"), way })
}

#[test]
fn a_holder_that_completes_or_hands_in_says_that_its_task_is_done() {
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
fn where_results_are_reviewed_a_completion_is_only_handed_in() {
    let mut scene = SmallTeam::with(|settings| settings.require_review = true);
    scene.adds(|_| {});
    scene.claims("ann", 1);
    let claim = done_claim(&scene.state, &by_agent("ann", complete(1)));
    assert_eq!(claim, anns(DoneWay::Finish(Aim::HandIn)));
}

#[test]
fn a_persons_word_counts_at_once_but_its_approval_is_proved() {
    let scene = at_work();
    assert_eq!(done_claim(&scene.state, &by_person(complete(1))), None);
    assert_eq!(done_claim(&scene.state, &by_person(review())), None);
    let scene = handed_in();
    let approved = done_claim(&scene.state, &by_person(approve()));
    assert_eq!(approved, anns(DoneWay::Approve), "the work is ann's");
}

#[test]
fn an_approval_of_what_nobody_handed_in_proves_nothing() {
    let scene = at_work();
    assert_eq!(done_claim(&scene.state, &by_person(approve())), None);
    let mut scene = SmallTeam::new();
    scene.adds(|new| new.approve_start = Some(true));
    assert_eq!(done_claim(&scene.state, &by_person(approve())), None, "it may only start");
}

#[test]
fn work_belongs_to_the_holder_and_without_one_to_whoever_says_so() {
    let scene = at_work();
    let by_bob = done_claim(&scene.state, &by_agent("bob", complete(1)));
    assert_eq!(by_bob, anns(DoneWay::Finish(Aim::Merge)), "ann holds it");
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    let free = done_claim(&scene.state, &by_agent("bob", complete(1))).unwrap();
    assert_eq!(free.member, name("bob"));
    assert_eq!(done_claim(&scene.state, &by_agent("zoe", complete(1))), None, "a stranger");
}

#[test]
fn a_delegation_that_ends_well_says_that_its_task_is_done() {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    let command = Command::Delegate {
        to: name("ann"),
        task: Some(task_ref(1)),
        subject: None,
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
    assert_eq!(of("ann", release()), None, "whoever takes it next writes there, too");
    assert_eq!(of("ann", approve()), None);
    assert_eq!(of("bob", complete(1)), None, "it is not bob's");
    assert_eq!(departure(&scene.state, &by_person(complete(1))), None, "nor a person's");
    assert_eq!(of("ann", complete(9)), None, "there is no such task");
}

fn repairer(can_repair: bool, n_refusals: u32) -> Repairer {
    Repairer { can_repair, n_refusals }
}

#[test]
fn five_refusals_fail_an_attempt() {
    for n_refusals in 0..MAX_REFUSALS + 2 {
        let expected = match n_refusals {
            0..=3 => Sentence::Repair,
            _ => Sentence::FailAttempt,
        };
        assert_eq!(after_refusal(repairer(true, n_refusals)), expected, "{n_refusals} before");
    }
}

#[test]
fn a_holder_that_cannot_repair_anything_fails_at_once() {
    assert_eq!(after_refusal(repairer(false, 0)), Sentence::FailAttempt);
}

/// What somebody says to be done, what is against it, whoever would have to repair it, and whether the board would take it.
type Case = (DoneWay, Objection, Repairer, bool);

fn check(rows: &[(&str, Case, Sentence)]) {
    for (title, (way, objection, repairer, would_be_taken), expected) in rows {
        let sentence = after_objection(*way, *objection, *repairer, *would_be_taken);
        assert_eq!(sentence, *expected, "{title}");
    }
}

const FINISH: DoneWay = DoneWay::Finish(Aim::Merge);
const HAND_IN: DoneWay = DoneWay::Finish(Aim::HandIn);
const ABLE: Repairer = Repairer { can_repair: true, n_refusals: 0 };
const UNABLE: Repairer = Repairer { can_repair: false, n_refusals: 0 };
/// It was refused four times.
const TIRED: Repairer = Repairer { can_repair: true, n_refusals: MAX_REFUSALS - 1 };

#[test]
fn a_holder_repairs_its_work_in_the_same_attempt_or_has_failed() {
    use Objection::{Fault, Work};
    check(&[
        ("its checks fail", (FINISH, Work, ABLE, true), Sentence::Repair),
        ("so do those of what it hands in", (HAND_IN, Work, ABLE, true), Sentence::Repair),
        ("they fail for the fifth time", (FINISH, Work, TIRED, true), Sentence::FailAttempt),
        ("nobody can repair it", (FINISH, Work, UNABLE, true), Sentence::FailAttempt),
        ("git fails", (FINISH, Fault, ABLE, true), Sentence::Repair),
        ("git fails again and again", (FINISH, Fault, TIRED, true), Sentence::FailAttempt),
    ]);
}

#[test]
fn the_board_says_what_became_of_a_task_that_nobody_wants_any_more() {
    use Objection::Unwanted;
    check(&[
        ("it was taken away", (FINISH, Unwanted, ABLE, false), Sentence::LetTheBoardSay),
        ("it was given back meanwhile", (FINISH, Unwanted, ABLE, true), Sentence::Repair),
        ("that counts as no refusal", (FINISH, Unwanted, TIRED, true), Sentence::Repair),
        (
            "an approval came too late",
            (DoneWay::Approve, Unwanted, ABLE, false),
            Sentence::LetTheBoardSay,
        ),
    ]);
}

#[test]
fn what_was_approved_and_does_not_fit_goes_back_to_whoever_made_it() {
    use DoneWay::Approve;
    use Objection::{Fault, Work};
    check(&[
        ("it does not fit", (Approve, Work, ABLE, true), Sentence::SendBack),
        ("refusals before do not count", (Approve, Work, TIRED, true), Sentence::SendBack),
        ("nobody can repair it", (Approve, Work, UNABLE, true), Sentence::SendBackAndFail),
        ("git fails", (Approve, Fault, ABLE, true), Sentence::StillInReview),
        ("whoever made it", (Approve, Fault, UNABLE, true), Sentence::StillInReview),
    ]);
}

#[test]
fn a_command_cannot_repair_what_it_made() {
    let mut scene = at_work();
    assert!(can_repair(&scene.state, task(1)), "a script can");
    let member = troop_model::NewMember::new(name("make"), "command");
    scene.person(Command::SpawnMember(troop_model::Spawn { member, prompt: None }));
    scene.adds(|_| {});
    assert!(can_repair(&scene.state, task(2)), "nobody has it");
    scene.claims("make", 2);
    assert!(!can_repair(&scene.state, task(2)));
}

#[test]
fn a_word_about_an_earlier_attempt_is_late() {
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

#[test]
fn a_task_is_retried_until_its_attempts_are_used() {
    let mut scene = SmallTeam::with(|settings| settings.max_attempts = 1);
    scene.adds(|_| {});
    assert!(is_retried(&scene.state, task(1)));
    scene.claims("ann", 1);
    assert!(!is_retried(&scene.state, task(1)), "this is the last");
    let mut scene = at_work();
    assert!(is_retried(&scene.state, task(1)));
    scene.member("ann", review());
    let reason = "not yet".to_owned();
    let mode = RejectMode::Revise;
    scene.person(Command::Task(TaskCommand::Reject { task: task_ref(1), reason, mode }));
    assert!(is_retried(&scene.state, task(1)), "a result that is sent back uses no attempt");
}
