//! Judging work: review, approval, rejection, cancelling, retrying, the gate before the start.

use super::{
    bench::{Bench, kinds},
    commands::*,
};
use crate::{MemberState, NewTask, StartGate, Status, TaskCommand};

/// A task whose result waits for approval.
fn in_review() -> Bench {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(review(1));
    team
}

#[test]
fn the_holder_submits_its_result() {
    let team = in_review();
    assert_eq!((team.status(1), team.owner(1)), (Status::InReview, Some("ann")));
    assert_eq!(team.task(1).result.as_deref(), Some("a draft"));
    assert_eq!(team.task(1).hold.lease_until, None, "a result in review does not expire");
}

#[test]
fn only_the_holder_submits_its_result() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    assert_eq!(team.member("ann").refused(review(1)), "task-1 is pending, so nobody holds it");
    team.member("ann").ok(claim(1));
    assert_eq!(team.lead().refused(review(1)), "task-1 is not held by `lead` but by `ann`");
    assert_eq!(team.person().refused(review(1)), "only a member can hold a task");
}

#[test]
fn approval_completes() {
    let mut team = in_review();
    let comment = Some("well done".to_owned());
    team.person().ok(TaskCommand::Approve { task: task(1), comment });
    assert_eq!((team.status(1), team.owner(1)), (Status::Completed, Some("ann")));
    assert_eq!(team.task(1).talk.comments[0].text, "well done");
    assert_eq!(team.task(1).metadata.0["snapshot"]["ai_summary"], "a draft");
}

#[test]
fn the_lead_approves_but_members_do_not() {
    let mut team = in_review();
    for who in ["ann", "bob"] {
        assert_eq!(
            team.member(who).refused(approve(1)),
            format!("`{who}` may not approve tasks; the lead or a person may")
        );
    }
    team.lead().ok(approve(1));
    assert_eq!(team.status(1), Status::Completed);
}

#[test]
fn rejection_cancels_and_tells_the_lead() {
    let mut team = in_review();
    team.person().ok(reject(1));
    assert_eq!(
        (team.status(1), team.task(1).result.as_deref()),
        (Status::Cancelled, Some("too short"))
    );
    for told in ["lead", "ann"] {
        assert_eq!(team.unread(told), ["task-1 was rejected by pat: too short"], "{told}");
    }
    assert!(team.member("ann").refused(complete(1)).contains("is cancelled"));
}

#[test]
fn a_task_that_failed_for_any_reason_can_be_retried() {
    type Deed = fn(&mut Bench);
    let ways: [(&str, Deed); 5] = [
        ("by its holder", |it| drop(it.member("ann").ok(fail(1)))),
        ("by a person", |it| drop(it.person().ok(fail(1)))),
        ("it crashes", |it| drop(it.system().ok(set_state("ann", MemberState::Crashed)))),
        ("its lease ends", |it| drop(it.at(16).tick())),
        ("it says nothing of it", |it| {
            for _ in 0..=it.state.limits.report_requests {
                it.system().ok(silent("ann", 1, 1));
            }
        }),
    ];
    for (how, deed) in ways {
        let mut team = Bench::with(|settings| settings.max_attempts = 1);
        team.lead().ok(create("write"));
        team.member("ann").ok(claim(1));
        team.system().ok(ready("ann"));
        deed(&mut team);
        assert_eq!(team.status(1), Status::Failed, "{how}");
        team.lead().ok(retry(1));
        assert_eq!(team.status(1), Status::Pending, "{how}");
    }
}

#[test]
fn rejection_can_ask_for_more_work() {
    let mut team = in_review();
    team.at(7).person().ok(revise(1));
    assert_eq!((team.status(1), team.owner(1)), (Status::InProgress, Some("ann")));
    assert_eq!(team.task(1).talk.comments[0].text, "too short");
    assert_eq!(team.unread("ann"), ["task-1 was rejected by pat: too short"]);
    assert!(team.task(1).hold.lease_until > Some(team.now), "the holder has a new lease");
    team.member("ann").ok(complete_with(1, "longer"));
}

#[test]
fn only_the_lead_cancels_and_says_why() {
    let mut team = Bench::new();
    team.lead().ok(create("one"));
    team.lead().ok(create("two"));
    team.member("ann").ok(claim(2));
    assert_eq!(
        team.member("ann").refused(cancel(2)),
        "`ann` may not cancel tasks; the lead or a person may"
    );
    let silent = TaskCommand::Cancel { task: task(1), reason: "  ".into() };
    assert_eq!(team.lead().refused(silent), "the reason is empty");
    team.lead().ok(cancel(1));
    team.lead().ok(cancel(2));
    assert_eq!([1, 2].map(|n| team.status(n)), [Status::Cancelled; 2]);
    assert_eq!(team.task(1).result.as_deref(), Some("not needed"));
    assert_eq!(team.task(1).provenance.completed_at, None);
    assert_eq!(team.unread("ann"), ["task-2 was cancelled by lead: not needed"]);
}

#[test]
fn completing_submits_if_results_are_reviewed() {
    let mut team = Bench::with(|settings| settings.require_review = true);
    team.lead().ok(create("one"));
    team.lead().ok(create_after("two", &[1]));
    let events = team.member("ann").ok(complete_with(1, "all of it"));
    assert_eq!(kinds(&events), ["task.claimed", "task.submitted"]);
    assert_eq!((team.status(1), team.status(2)), (Status::InReview, Status::Blocked));
    team.person().ok(approve(1));
    assert_eq!((team.status(1), team.status(2)), (Status::Completed, Status::Pending));
    team.person().ok(complete(2));
    assert_eq!(team.status(2), Status::Completed, "people need no review");
}

#[test]
fn a_gated_task_starts_only_after_approval() {
    let mut team = Bench::with(|settings| settings.approve_start = true);
    team.lead().ok(create("write"));
    assert_eq!(team.status(1), Status::Pending);
    let waits = "task-1 is not available: its start needs approval";
    assert_eq!(team.member("ann").refused(claim(1)), waits);
    assert_eq!(team.lead().refused(assign(1, "ann")), waits);
    assert_eq!(team.member("ann").refused(complete(1)), waits);
    assert!(
        team.member("ann").refused(claim_next()).contains("1 reserved, paused or not approved")
    );
    assert!(team.member("ann").refused(approve(1)).contains("may not approve"));
    let comment = Some("go".to_owned());
    team.person().ok(TaskCommand::Approve { task: task(1), comment });
    assert_eq!((team.task(1).start.gate, team.status(1)), (StartGate::Approved, Status::Pending));
    assert_eq!(team.task(1).talk.comments[0].text, "go");
    team.member("ann").ok(claim_next());
    team.member("ann").ok(review(1));
    team.person().ok(approve(1));
    assert_eq!(team.status(1), Status::Completed, "the result has its own gate");
}

#[test]
fn a_task_that_may_not_start_is_cancelled() {
    let mut team = Bench::new();
    team.lead().ok(NewTask { approve_start: Some(true), ..create("one") });
    team.lead().ok(create_after("two", &[1]));
    team.person().ok(reject(1));
    assert_eq!(team.status(1), Status::Cancelled);
    assert_eq!(
        team.unread("lead"),
        [
            "task-2 is blocked: dependency task-1 was cancelled; replace it",
            "task-1 was rejected by pat: too short"
        ]
    );
}

#[test]
fn a_start_rejected_for_revision_keeps_waiting() {
    let mut team = Bench::new();
    team.lead().ok(NewTask { approve_start: Some(true), ..create("one") });
    team.person().ok(revise(1));
    assert_eq!((team.status(1), team.task(1).start.gate), (Status::Pending, StartGate::Waiting));
    assert_eq!(team.task(1).talk.comments[0].text, "too short");
    assert_eq!(team.unread("lead"), ["task-1 was rejected by pat: too short"]);
}

#[test]
fn approval_gates_need_a_team_version_that_can_approve() {
    for gate in ["approve_start", "require_review"] {
        let mut team = Bench::with(|settings| settings.version = 1);
        let refused = team.lead().refused(set(gate, true));
        assert!(refused.ends_with("needs version 2, because nobody can approve in version 1"));
    }
    let mut team = Bench::with(|settings| settings.version = 1);
    assert_eq!(
        team.lead().refused(NewTask { approve_start: Some(true), ..create("one") }),
        "action 'approve' requires team version 2 — upgrade in team settings"
    );
}

#[test]
fn only_failed_and_stale_tasks_are_retried() {
    let mut team = in_review();
    assert_eq!(team.lead().refused(retry(1)), "task-1 is in_review, so it cannot be retried");
    team.lead().ok(create("two"));
    assert_eq!(team.lead().refused(retry(2)), "task-2 is pending, so it cannot be retried");
    team.system().ok(fail(2));
    team.lead().ok(retry(2));
    assert_eq!(team.status(2), Status::Pending);
}
