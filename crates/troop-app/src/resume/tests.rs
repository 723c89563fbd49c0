//! The beginning of resumed teams.

use serde_json::json;
use troop_model::{Command, Dollars, MemberName, MemberState, Outgoing, StateCause, Usage};
use uuid::Uuid;

use super::{LeftTeam, ResumeReport, left, open_goal, spent};
use crate::{agents::UnfinishedLead, tests::TestTeam};

/// A team that was led before.
fn led(members: &[&str]) -> TestTeam {
    let mut team = TestTeam::new(members);
    let session = Uuid::now_v7();
    let holder = "pat".to_owned();
    team.by_troop(&Command::TakeLead { session, holder, over: None, checks: Vec::new() });
    team.by_troop(&Command::ReleaseLead);
    team
}

fn change(team: &mut TestTeam, member: &str, state: MemberState, cause: Option<StateCause>) {
    let member = member.parse().unwrap();
    team.by_troop(&Command::SetMemberState { member, state, reason: None, cause, pid: None });
}

#[test]
fn a_script_that_was_left_is_not_continued() {
    let mut team = led(&[]);
    assert_eq!(left(&team.state), None);
    for (state, cause, expected) in [
        (MemberState::Idle, Some(StateCause::CouldNot), Some(UnfinishedLead::Failed)),
        (MemberState::Idle, Some(StateCause::LeftOpen), Some(UnfinishedLead::CutShort)),
        (MemberState::Stopped, Some(StateCause::TeamStopped), None),
    ] {
        change(&mut team, "lead", state, cause);
        assert_eq!(left(&team.state), expected, "{state} {cause:?}");
    }
}

#[test]
fn a_goal_is_repeated_with_the_state_of_the_board() {
    assert_eq!(open_goal(&TestTeam::new(&[]).state), None, "nobody has led it yet");
    let mut team = led(&[]);
    let empty = open_goal(&team.state).unwrap();
    assert!(empty.starts_with("Ship it\n\n"), "{empty}");
    assert!(empty.ends_with("\nNo task is on the board."), "{empty}");
    team.create("write it");
    let goal = open_goal(&team.state).unwrap();
    assert!(goal.ends_with("On the board:\n- task-1, pending: write it"), "{goal}");
    team.by_person(&Command::Send(Outgoing::message("lead", "Ship it, but not to me")));
    assert!(open_goal(&team.state).is_some(), "that message is not the goal");
    team.by_person(&Command::Send(Outgoing::goal("Ship it")));
    assert_eq!(open_goal(&team.state), None, "it is in the lead's mail already");
}

#[test]
fn a_team_whose_budget_is_spent_needs_a_larger_one() {
    let mut team = led(&[]);
    assert!(spent(&team.state).is_none());
    let settings = vec![("budget.dollars".to_owned(), json!(1.0))];
    team.by_person(&Command::UpdateTeam { description: None, settings });
    let usage = Usage { dollars: Dollars::new(1.5).unwrap(), ..Usage::default() };
    let lead = MemberName::lead();
    team.by_troop(&Command::ReportUsage { member: lead, task: None, model: None, usage });
    let error = spent(&team.state).unwrap();
    assert!(error.to_string().starts_with("the team's budget is spent: $1.50"), "{error}");
}

#[test]
fn members_that_ran_start_again_before_those_that_never_did() {
    let mut team = led(&["ann", "bob"]);
    assert!(!LeftTeam::new(&team.state, false).is_open, "nothing is to be done");
    assert!(LeftTeam::new(&team.state, true).is_open, "there is a goal");
    change(&mut team, "bob", MemberState::Spawning, None);
    change(&mut team, "bob", MemberState::Crashed, Some(StateCause::LeadEnded));
    team.create("write it");
    let left = LeftTeam::new(&team.state, false);
    let down: Vec<_> = left.down.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((down.as_slice(), left.is_open, left.n_cut_short), (&["bob", "ann"][..], true, 1));
}

#[test]
fn people_read_who_starts_and_who_does_not() {
    let nothing = ResumeReport {
        n_cut_short: 0,
        started: Vec::new(),
        unavailable: Vec::new(),
        is_open: true,
        has_goal: false,
        left: None,
    };
    let names = |names: &[&str]| names.iter().map(|it| it.parse().unwrap()).collect::<Vec<_>>();
    for (report, expected) in [
        (nothing.clone(), "there is nobody to start"),
        (
            ResumeReport { is_open: false, n_cut_short: 1, ..nothing.clone() },
            "1 teammate was cut short; no task is open, so nobody is started",
        ),
        (
            ResumeReport {
                n_cut_short: 2,
                has_goal: true,
                started: names(&["ann", "bob"]),
                unavailable: vec![("cyd".parse().unwrap(), "set `A_KEY`".to_owned())],
                ..nothing.clone()
            },
            "2 teammates were cut short; the lead continues with its goal; started: ann, bob; not started: cyd (set `A_KEY`)",
        ),
        (
            ResumeReport {
                left: Some(UnfinishedLead::Failed),
                started: names(&["ann"]),
                ..nothing
            },
            "the lead could not do what it was told, and does not go on with that by itself; started: ann",
        ),
    ] {
        assert_eq!(report.to_string(), expected);
    }
}
