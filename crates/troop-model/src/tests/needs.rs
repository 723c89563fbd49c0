//! Needs, and the effects of their answers.

use super::{
    bench::{Bench, name},
    commands::*,
};
use crate::{
    Command, Member, MemberState, MergeRecord, MessageKind, Need, NeedAnswer, NeedKind, NewTask,
    Proof, RefusalRecord, RefusedBy, Status, TaskCommand,
};

fn needs(team: &Bench) -> Vec<Need> {
    team.state.needs(&[])
}

fn only(team: &Bench) -> Need {
    let mut needs = needs(team);
    assert_eq!(needs.len(), 1, "{needs:?}");
    needs.remove(0)
}

/// A person answers the only need, and none is left.
fn settle(team: &mut Bench, answer: NeedAnswer, text: &str) {
    let commands = only(team).commands(answer, text).unwrap();
    for command in commands {
        team.person().ok(command);
    }
    assert_eq!(needs(team), []);
}

fn asking(kind: MessageKind) -> Bench {
    let mut team = Bench::new();
    team.at(1).member("ann").ok(send("lead", kind, "delete `build`?"));
    team
}

/// A team with a task that waits for approval to start.
fn waiting() -> Bench {
    let mut team = Bench::new();
    team.lead().ok(NewTask { approve_start: Some(true), ..create("deploy") });
    team
}

fn in_review() -> Bench {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team.at(5).member("ann").ok(review(1));
    team
}

#[test]
fn requests_of_members_need_a_person() {
    for (kind, need) in [
        (MessageKind::PermissionRequest, NeedKind::Permission),
        (MessageKind::PlanApprovalRequest, NeedKind::Plan),
    ] {
        let team = asking(kind);
        let found = only(&team);
        assert_eq!((found.kind, found.text.as_str()), (need, "delete `build`?"));
        assert_eq!((found.from.as_str(), found.to.as_str()), ("ann", "lead"));
        assert_eq!(found.since, team.now);
        assert_eq!(found.answers, [NeedAnswer::Approve, NeedAnswer::Reject]);
        for answer in [NeedAnswer::Approve, NeedAnswer::Reject] {
            settle(&mut asking(kind), answer, "");
        }
    }
}

#[test]
fn a_request_to_stop_needs_no_person() {
    let mut team = Bench::new();
    team.system().ok(ready("ann"));
    team.lead().ok(send("ann", MessageKind::ShutdownRequest, "enough"));
    assert_eq!(needs(&team), []);
}

#[test]
fn a_member_that_crashed_waits_for_nothing() {
    let team = asking(MessageKind::PermissionRequest);
    let ann = team.state.member(&name("ann")).unwrap().clone();
    let crashed = Member { state: MemberState::Crashed, ..ann };
    assert_eq!(team.state.needs(&[crashed]), []);
}

#[test]
fn a_result_in_review_is_approved_sent_back_or_rejected() {
    let team = in_review();
    let need = only(&team);
    assert_eq!((need.kind, need.from.as_str(), need.since), (NeedKind::Review, "ann", team.now));
    for (answer, status) in [
        (NeedAnswer::Approve, Status::Completed),
        (NeedAnswer::Revise, Status::InProgress),
        (NeedAnswer::Reject, Status::Cancelled),
    ] {
        let mut team = in_review();
        settle(&mut team, answer, "because");
        assert_eq!(team.status(1), status);
    }
}

#[test]
fn a_task_that_may_not_start_waits_for_a_person() {
    assert_eq!(only(&waiting()).kind, NeedKind::Start);
    for (answer, status) in
        [(NeedAnswer::Approve, Status::Pending), (NeedAnswer::Reject, Status::Cancelled)]
    {
        let mut team = waiting();
        settle(&mut team, answer, "");
        assert_eq!(team.status(1), status);
    }
}

#[test]
fn a_blocked_task_needs_nobody_yet() {
    let mut team = Bench::new();
    team.lead().ok(create("first"));
    team.lead().ok(NewTask { approve_start: Some(true), ..create_after("then", &[1]) });
    assert_eq!(needs(&team), []);
}

#[test]
fn a_question_is_answered_and_cleared_by_a_message() {
    let mut team = Bench::new();
    team.lead().ok(create("paint"));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(ask_user(1));
    let need = only(&team);
    assert_eq!((need.kind, need.text.as_str()), (NeedKind::Question, "red or blue?"));
    settle(&mut team, NeedAnswer::Reply, "red");
    assert_eq!(team.unread("ann"), ["red"]);
}

#[test]
fn an_answer_that_a_need_does_not_offer_has_no_commands() {
    assert_eq!(only(&waiting()).commands(NeedAnswer::Reply, "x"), None);
}

#[test]
fn a_conflict_that_a_member_repairs_needs_nobody() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team.system().ok(not_done(1, 1, RefusedBy::Merge));
    assert_eq!(needs(&team), []);
    team.member("ann").ok(release(1));
    assert_eq!(needs(&team), []);
}

#[test]
fn completed_work_that_cannot_be_merged_needs_a_person_until_it_is_merged() {
    let mut team = completed_with_conflict();
    let found = only(&team);
    assert_eq!((found.kind, found.text.as_str()), (NeedKind::Conflict, "both change it"));
    assert_eq!((found.from.as_str(), found.answers.as_slice()), ("bob", [].as_slice()));
    team.system().ok(merged(1));
    assert_eq!(needs(&team), []);
}

#[test]
fn completed_work_that_was_dropped_needs_nobody() {
    let mut team = completed_with_conflict();
    let nothing = Proof::new(task(1), Vec::new(), None);
    team.system().ok(TaskCommand::Prove(nothing));
    assert_eq!(needs(&team), []);
}

fn completed_with_conflict() -> Bench {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("bob").ok(claim(1));
    team.member("bob").ok(complete(1));
    let late = RefusalRecord { by: RefusedBy::Merge, ..refusal_record(Some(1), "both change it") };
    team.system().ok(Command::RecordRefusal(late));
    team
}

fn merged(number: u32) -> TaskCommand {
    let merge = Some(MergeRecord { into: "troop/crew".to_owned(), commit: "abc".to_owned() });
    TaskCommand::Prove(Proof::new(task(number), Vec::new(), merge))
}
