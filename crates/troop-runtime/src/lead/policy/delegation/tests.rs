//! Whom a delegation starts, and what ends it.

use troop_model::{Command, MemberState, StateCause};

use super::{ends_with, must_start};
use crate::lead::{
    crew::facts::Engagement,
    policy::table::{SmallTeam, name, task, task_ref},
};

fn starts(scene: &SmallTeam, member: &str, is_coming: bool) -> bool {
    must_start(scene.state.member(&name(member)).unwrap(), is_coming)
}

#[test]
fn a_delegation_starts_a_member_that_does_not_run() {
    let mut scene = SmallTeam::new();
    assert!(!starts(&scene, "ann", false), "it runs");
    scene.sets("ann", MemberState::Stopped, Some(StateCause::Asked));
    assert!(starts(&scene, "ann", false), "it was asked to stop");
    assert!(!starts(&scene, "ann", true), "it comes anyway");
    scene.sets("bob", MemberState::Crashed, None);
    assert!(starts(&scene, "bob", false), "it crashed for good");
    scene.joins_from_elsewhere("eve");
    scene.sets("eve", MemberState::Stopped, None);
    assert!(!starts(&scene, "eve", false), "troop does not run it");
}

/// A task that the lead delegated to `ann`, and another that nobody delegated.
fn delegated() -> SmallTeam {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    scene.adds(|_| {});
    let command = Command::Delegate {
        to: name("ann"),
        task: Some(task_ref(1)),
        subject: None,
        trace_id: None,
    };
    scene.give(troop_model::Actor::agent(&name("lead")), command);
    scene
}

#[test]
fn a_member_that_falls_silent_in_a_delegation_ends_it() {
    let scene = delegated();
    let work = |number| Engagement { task: task(number), attempt: None, said: None };
    assert!(ends_with(&scene.state, &name("ann"), &work(1)));
    assert!(!ends_with(&scene.state, &name("bob"), &work(1)), "it is ann's");
    assert!(!ends_with(&scene.state, &name("ann"), &work(2)), "nobody delegated it");
    assert!(!ends_with(&scene.state, &name("ann"), &work(9)), "there is no such task");
}
