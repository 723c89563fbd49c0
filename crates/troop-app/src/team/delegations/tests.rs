//! How far a delegation is.

use troop_model::{Command, Member};
use troop_protocol::TeamStanding;

use super::{DelegationStage, oldest_first, stage};
use crate::tests::TestTeam;

#[test]
fn a_member_works_on_one_delegation_after_the_other_unless_it_gets_all_at_once() {
    let mut team = TestTeam::new(&["ann"]);
    for subject in ["first", "second"] {
        team.create(subject);
    }
    for task in ["1", "2"] {
        let to = "ann".parse().unwrap();
        let task = Some(task.parse().unwrap());
        team.by_lead(&Command::Delegate { to, task, subject: None, note: None, trace_id: None });
    }
    let stages = |standing, is_parallel: fn(&Member) -> bool| {
        let all = oldest_first(&team.state).into_iter();
        all.map(|it| stage(&team.state, it, standing, is_parallel)).collect::<Vec<_>>()
    };
    use DelegationStage::{Running, Waiting};
    assert_eq!(stages(TeamStanding::Running, |_| false), [Running, Waiting]);
    assert_eq!(stages(TeamStanding::Running, |_| true), [Running, Running]);
    assert_eq!(stages(TeamStanding::Stopped, |_| false), [Waiting, Waiting]);
}
