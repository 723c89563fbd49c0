//! External members: notices of their tasks to them, and of their results to the lead.

use super::{
    bench::{Bench, name, newcomer, party},
    commands::*,
};
use crate::{Command, EXTERNAL, MemberState, MessageKind, NewMember, NewTask, Spawn, TaskUpdate};

fn pat() -> NewMember {
    NewMember { agent: EXTERNAL.into(), ..newcomer("pat") }
}

/// A team with an external member.
fn shared() -> Bench {
    let mut team = Bench::new();
    team.lead().ok(Command::AddMember(pat()));
    team
}

fn reserve(number: u32, to: Option<&str>) -> crate::TaskCommand {
    update(number, TaskUpdate { assignee: Some(to.map(name)), ..TaskUpdate::default() })
}

#[test]
fn an_external_member_is_notified_when_its_reserved_task_can_start() {
    let mut team = shared();
    team.lead().ok(create_for("write", "pat"));
    team.lead().ok(NewTask { assignee: Some(name("pat")), ..create_after("check", &[1]) });
    team.lead().ok(create_for("other", "ann"));
    assert_eq!(team.unread("pat"), ["task-1 is for you: write"]);
    let told = team.mailbox().unread_of(&party("pat")).next().unwrap();
    assert_eq!((told.kind, told.task.unwrap().0), (MessageKind::TaskAssignment, 1));
    team.member("pat").ok(claim(1));
    team.member("pat").ok(complete(1));
    assert_eq!(team.unread("pat")[1..], ["task-2 is for you: check"]);
    assert!(team.unread("ann").is_empty(), "members that troop runs get their work without mail");
}

#[test]
fn an_external_member_is_notified_again_only_after_losing_its_reserved_task() {
    let mut team = shared();
    team.lead().ok(create("write"));
    team.lead().ok(reserve(1, Some("pat")));
    team.lead().ok(prioritise(1, 3));
    assert_eq!(team.unread("pat"), ["task-1 is for you: write"]);
    team.member("pat").ok(claim(1));
    team.member("pat").ok(release(1));
    assert_eq!(team.unread("pat").len(), 1, "a member that releases its task needs no notice");
    team.member("pat").ok(claim(1));
    team.lead().ok(release(1));
    assert_eq!(team.unread("pat").len(), 2);
    team.lead().ok(reserve(1, None));
    team.lead().ok(reserve(1, Some("pat")));
    assert_eq!(team.unread("pat").len(), 3);
}

#[test]
fn an_external_member_gets_its_prompt_by_mail_and_is_not_started() {
    let mut team = Bench::new();
    let spawn = |prompt: Option<&str>| {
        Command::SpawnMember(Spawn { member: pat(), prompt: prompt.map(str::to_owned) })
    };
    team.lead().ok(spawn(Some("look at the board")));
    assert_eq!(team.state.member(&name("pat")).unwrap().state, MemberState::Stopped);
    team.lead().ok(spawn(Some("and again")));
    assert!(team.lead().ok(spawn(None)).is_empty(), "it is there");
    assert_eq!(team.unread("pat"), ["look at the board", "and again"]);
}

#[test]
fn the_lead_gets_one_notice_when_an_external_member_ends_a_task() {
    let mut team = shared();
    for subject in ["write", "check", "send"] {
        team.lead().ok(create(subject));
    }
    team.member("pat").ok(complete_with(1, "written"));
    team.member("pat").ok(claim(2));
    team.member("pat").ok(review(2));
    team.member("pat").ok(claim(3));
    team.member("pat").ok(fail(3));
    team.tick();
    let told = [
        "pat has finished task-1; it is completed: written",
        "pat has finished task-2; it is in_review: a draft",
        "pat has finished task-3; it is failed: it broke",
    ];
    assert_eq!(team.unread("lead"), told);
}

#[test]
fn the_end_of_an_external_delegation_is_only_announced() {
    let mut team = shared();
    team.lead().ok(create("write"));
    team.lead().ok(delegate(1, "pat"));
    team.member("pat").ok(complete(1));
    let told = team.unread("lead");
    assert!(told.len() == 1 && !told[0].contains("has finished"), "{told:?}");
}

#[test]
fn no_notice_is_sent_for_members_that_troop_runs() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(complete(1));
    assert!(team.unread("lead").is_empty());
}
