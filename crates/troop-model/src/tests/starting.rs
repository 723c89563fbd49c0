//! Members that do not run and are given work: a lead starts them, and their states are the truth.

use super::{
    bench::{Bench, kinds, name, newcomer},
    commands::*,
};
use crate::{
    Command, Dialect, EXTERNAL, MemberState, NewMember, NewTask, Refusal, Settings, StateCause,
    Status,
};

/// A team that somebody leads, in which nobody else runs.
fn led(dialect: Dialect) -> Bench {
    let mut team = Bench::with(|settings| *settings = Settings::for_dialect(dialect));
    team.system().ok(take_lead(1, None));
    let member = NewMember { agent: EXTERNAL.into(), ..newcomer("pat") };
    team.lead().ok(Command::AddMember(member));
    team
}

fn state_of(team: &Bench, member: &str) -> MemberState {
    team.state.member(&name(member)).unwrap().state
}

#[test]
fn a_member_that_is_given_a_task_is_started_and_shown_working_once_it_runs() {
    type Deed = fn(&mut Bench);
    let ways: [(&str, Deed); 4] = [
        ("assigned", |it| drop(it.person().ok(assign(1, "ann")))),
        ("assigned by the lead", |it| drop(it.lead().ok(assign(1, "ann")))),
        ("delegated", |it| drop(it.lead().ok(delegate(1, "ann")))),
        ("given the next", |it| {
            let next = crate::TaskCommand::Assign { task: None, to: name("ann") };
            it.person().ok(next);
        }),
    ];
    for dialect in [Dialect::Board, Dialect::Claude] {
        for (how, deed) in ways {
            let mut team = led(dialect);
            team.lead().ok(create("work"));
            deed(&mut team);
            assert_eq!(team.status(1), Status::InProgress, "{how}");
            assert_eq!(
                state_of(&team, "ann"),
                MemberState::Spawning,
                "{how}: it does not work yet"
            );
            assert!(team.unread("ann").is_empty(), "{how}: the start hands it nothing else");
            team.system().ok(ready("ann"));
            assert_eq!(state_of(&team, "ann"), MemberState::Working, "{how}");
            team.member("ann").ok(complete(1));
            assert_eq!(state_of(&team, "ann"), MemberState::Idle, "{how}");
        }
    }
}

#[test]
fn without_a_lead_a_member_with_a_task_is_not_shown_working() {
    let mut team = Bench::new();
    team.person().ok(create("work"));
    team.person().ok(assign(1, "ann"));
    assert_eq!((team.owner(1), state_of(&team, "ann")), (Some("ann"), MemberState::Stopped));
    team.person().ok(create("more"));
    team.member("bob").ok(claim(2));
    assert_eq!(state_of(&team, "bob"), MemberState::Working, "it took the task itself");
    team.member("bob").ok(complete(2));
    assert_eq!(state_of(&team, "bob"), MemberState::Idle);
}

#[test]
fn an_external_member_that_holds_a_task_works_and_is_told_by_mail() {
    let mut team = led(Dialect::Board);
    team.lead().ok(create("work"));
    let note = "see the design";
    let command = Command::Delegate {
        to: name("pat"),
        task: Some(task(1)),
        subject: None,
        note: Some(note.to_owned()),
        trace_id: None,
    };
    team.lead().ok(command);
    assert_eq!(state_of(&team, "pat"), MemberState::Working);
    assert_eq!(team.unread("pat"), ["task-1 is yours: work\nsee the design"]);
}

#[test]
fn a_member_is_started_when_a_task_that_is_reserved_for_it_can_begin() {
    for dialect in [Dialect::Board, Dialect::Claude] {
        let mut team = led(dialect);
        let events = team.person().ok(create_for("one", "ann"));
        assert!(kinds(&events).contains(&"member.state_changed"), "{events:?}");
        assert_eq!(state_of(&team, "ann"), MemberState::Spawning);
        team.lead().ok(NewTask { assignee: Some(name("bob")), ..create_after("two", &[1]) });
        assert_eq!(state_of(&team, "bob"), MemberState::Stopped, "its task is blocked");
        team.system().ok(ready("ann"));
        team.member("ann").ok(complete(1));
        assert_eq!(state_of(&team, "bob"), MemberState::Spawning);
    }
}

#[test]
fn only_a_person_or_the_lead_starts_a_member_that_was_stopped() {
    let mut team = led(Dialect::Claude);
    team.lead().ok(create("one"));
    team.lead().ok(NewTask { assignee: Some(name("bob")), ..create_after("two", &[1]) });
    let stopped = Command::SetMemberState {
        member: name("bob"),
        state: MemberState::Stopped,
        reason: None,
        cause: Some(StateCause::Asked),
        pid: None,
    };
    team.system().ok(stopped);
    team.member("ann").ok(complete(1));
    assert_eq!(state_of(&team, "bob"), MemberState::Stopped);
    team.person().ok(create_for("three", "bob"));
    assert_eq!(state_of(&team, "bob"), MemberState::Spawning);
}

#[test]
fn a_task_is_not_given_to_a_member_if_there_is_no_room_to_start_it() {
    let mut team = Bench::with(|settings| settings.max_teammates = 1);
    team.system().ok(take_lead(1, None));
    for subject in ["one", "two"] {
        team.lead().ok(create(subject));
    }
    team.lead().ok(assign(1, "ann"));
    for command in [Command::Task(assign(2, "bob")), delegate(2, "bob")] {
        let refused = team.lead().refusal(command);
        assert!(matches!(refused, Refusal::TooManyTeammates { running: 1, .. }), "{refused}");
    }
    team.person().ok(create_for("three", "bob"));
    let told = team.unread("lead");
    assert!(told[0].starts_with("bob cannot be started for task-3: "), "{told:?}");
}
