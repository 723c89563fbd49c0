//! Whether there is anything to stop.

use troop_model::Command;
use uuid::Uuid;

use super::{TeamBefore, check_lead};
use crate::{Diagnosis, Error, team::StoppedLead, tests::TestTeam};

fn before(team: &TestTeam) -> TeamBefore {
    TeamBefore::new(&team.state).unwrap()
}

fn told(error: &Error) -> [String; 2] {
    let hint = Diagnosis::of(error).unwrap().hint.unwrap();
    [error.to_string(), hint.to_string()]
}

fn take_lead(team: &mut TestTeam) {
    let holder = "pat on a machine".to_owned();
    let session = Uuid::now_v7();
    team.by_troop(&Command::TakeLead { session, holder, over: None, checks: Vec::new() });
}

#[test]
fn a_team_that_nobody_leads_cannot_be_stopped() {
    let mut team = TestTeam::new(&[]);
    assert_eq!(
        told(&before(&team).lease().unwrap_err()),
        [
            "this team has never run: there is nothing to stop",
            "see its state: `troop team status crew`"
        ]
    );
    take_lead(&mut team);
    assert_eq!(before(&team).lease().unwrap().holder, "pat on a machine");
    team.by_troop(&Command::ReleaseLead);
    assert_eq!(
        told(&before(&team).lease().unwrap_err()),
        ["nobody is running this team", "continue it: `troop resume crew`"]
    );
    team.by_person(&Command::CompleteTeam);
    assert_eq!(
        told(&before(&team).lease().unwrap_err()),
        [
            "nobody is running this team",
            "its work is over; see the outcome: `troop team status crew`"
        ]
    );
}

#[test]
fn a_lead_that_does_not_respond_must_be_woken_first() {
    let mut team = TestTeam::new(&[]);
    take_lead(&mut team);
    let before = before(&team);
    let lease = before.lease().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let check = |stopped| check_lead(stopped, folder.path(), &lease, &before.name);
    assert_eq!(
        told(&check(Some(StoppedLead { process: 7 })).unwrap_err()),
        [
            "team `crew` does not respond: process 7, which leads it, was stopped (by Ctrl-Z, or a signal)",
            "let it continue: `kill -CONT 7` (or `fg` in its terminal), or end it: `kill -9 7`, then: `troop stop crew`"
        ]
    );
    check(None).unwrap();
}
