//! External members: notices of their tasks to them, and of their results to the lead.

use super::{
    bench::{Bench, kinds, name, newcomer, party},
    commands::*,
};
use crate::{
    Command, Dialect, EXTERNAL, MemberState, MessageKind, NewMember, NewTask, Settings, Spawn,
    TaskUpdate, work_to_give,
};

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
    team.lead().ok(reserve(1, None));
    team.lead().ok(reserve(1, Some("pat")));
    let told = [
        "task-1 is for you: write",
        "task-1 was taken back by lead: not mine",
        "task-1 is no longer for you",
        "task-1 is for you: write",
    ];
    assert_eq!(team.unread("pat"), told);
}

/// A team of the board dialect that somebody leads, with an external member.
fn board_team() -> Bench {
    let mut team = Bench::with(|settings| *settings = Settings::for_dialect(Dialect::Board));
    team.system().ok(take_lead(1, None));
    team.lead().ok(Command::AddMember(pat()));
    team
}

#[test]
fn in_a_board_team_the_lead_invites_nobody_before_it_delegates() {
    let mut team = board_team();
    team.lead().ok(create_for("write", "pat"));
    team.lead().ok(NewTask { assignee: Some(name("pat")), ..create_after("check", &[1]) });
    team.lead().ok(create("other"));
    team.lead().ok(reserve(3, Some("pat")));
    assert!(team.unread("pat").is_empty(), "{:?}", team.unread("pat"));
    team.lead().ok(delegate(1, "pat"));
    assert_eq!(team.unread("pat"), ["task-1 is yours: write"]);
    team.member("pat").ok(complete(1));
    assert_eq!(team.unread("pat").len(), 1, "task-2 can begin, but the lead has not delegated it");
    team.person().ok(create_for("by a person", "pat"));
    assert_eq!(team.unread("pat")[1..], ["task-4 is for you: by a person"]);
}

#[test]
fn an_external_member_is_told_when_its_task_is_taken_back() {
    for by_lead in [true, false] {
        let mut team = board_team();
        team.person().ok(create_for("write", "pat"));
        team.member("pat").ok(claim(1));
        let (by, events) = match by_lead {
            true => ("lead", team.lead().ok(release(1))),
            false => ("pat", team.person().ok(release(1))),
        };
        assert_eq!(kinds(&events), ["task.released", "message.sent"]);
        let told = format!("task-1 was taken back by {by}: not mine");
        assert_eq!(team.unread("pat"), ["task-1 is for you: write", &told]);
        team.member("pat").ok(claim(1));
    }
}

#[test]
fn a_member_hears_that_a_task_that_was_for_it_goes_to_another() {
    type Deed = fn(&mut Bench);
    let ways: [(Deed, &str); 4] = [
        (|it| drop(it.lead().ok(delegate(1, "ann"))), "task-1 is no longer for you: it is for ann"),
        (|it| drop(it.person().ok(assign(1, "bob"))), "task-1 is no longer for you: it is for bob"),
        (
            |it| drop(it.person().ok(reserve(1, Some("ann")))),
            "task-1 is no longer for you: it is for ann",
        ),
        (|it| drop(it.person().ok(reserve(1, None))), "task-1 is no longer for you"),
    ];
    for (deed, told) in ways {
        let mut team = board_team();
        team.person().ok(create_for("write", "pat"));
        deed(&mut team);
        assert_eq!(team.unread("pat"), ["task-1 is for you: write", told]);
    }
    let mut team = board_team();
    team.lead().ok(create_for("write", "pat"));
    team.lead().ok(delegate(1, "ann"));
    assert!(team.unread("pat").is_empty(), "it was never told of the task");
}

/// The tasks that troop gives ann by itself.
fn given(team: &Bench) -> Vec<u32> {
    work_to_give(&team.state, &name("ann")).map(|it| it.0).collect()
}

#[test]
fn where_members_claim_a_member_is_given_what_others_than_the_lead_reserved_for_it() {
    let mut team = board_team();
    team.person().ok(set("task_creation", "members"));
    team.person().ok(create("open to all"));
    team.lead().ok(create_for("by the lead", "ann"));
    assert_eq!(given(&team), [0; 0]);
    team.person().ok(create_for("by a person", "ann"));
    team.member("pat").ok(create_for("by a teammate", "ann"));
    team.person().ok(NewTask { priority: 9, ..create_for("urgent", "ann") });
    assert_eq!(given(&team), [5, 3, 4]);
    team.person().ok(reserve(2, Some("ann")));
    assert_eq!(given(&team), [5, 2, 3, 4], "a person confirmed it");
    team.lead().ok(reserve(5, Some("ann")));
    assert_eq!(given(&team), [2, 3, 4], "the lead decides about it now");
    team.person().ok(create_for("for an external member", "pat"));
    assert!(work_to_give(&team.state, &name("pat")).next().is_none(), "it claims");
}

#[test]
fn a_reserved_task_that_was_taken_or_given_back_is_not_given_again_by_itself() {
    let mut team = board_team();
    team.person().ok(create_for("work", "ann"));
    for by_member in [false, true] {
        team.person().ok(assign(1, "ann"));
        if by_member {
            team.member("ann").ok(release(1));
        } else {
            team.person().ok(release(1));
        }
        assert_eq!(given(&team), [0; 0], "{by_member}");
    }
    team.person().ok(assign(1, "ann"));
    let crash = Command::SetMemberState {
        member: name("ann"),
        state: MemberState::Crashed,
        reason: None,
        cause: None,
        pid: None,
    };
    team.system().ok(crash);
    assert_eq!(given(&team), [1], "a crash is no wish");
}

#[test]
fn an_idle_member_gets_what_a_person_reserved_for_it_where_members_claim() {
    let mut team = board_team();
    team.person().ok(create("open to all"));
    team.person().ok(create_for("work", "ann"));
    team.system().ok(ready("ann"));
    let events = team.system().ok(idle("ann", None));
    assert_eq!((kinds(&events), team.owner(2)), (vec!["task.assigned"], Some("ann")));
    team.member("ann").ok(complete(2));
    team.system().ok(idle("ann", None));
    assert_eq!(team.owner(1), None, "it waits for a claim");
    assert!(team.unread("ann").is_empty(), "the task itself comes: {:?}", team.unread("ann"));
}

#[test]
fn members_that_are_given_no_work_are_told_of_what_is_reserved_for_them() {
    let mut team = Bench::with(|settings| *settings = Settings::for_dialect(Dialect::Board));
    team.person().ok(create_for("nobody leads", "ann"));
    assert_eq!(team.unread("ann"), ["task-1 is for you: nobody leads"]);
    team.system().ok(take_lead(1, None));
    team.person().ok(create_for("for the lead", "lead"));
    assert_eq!(team.unread("lead"), ["task-2 is for you: for the lead"]);
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
