//! Members that are started for a delegation.

use troop_model::{MemberState, StateCause};

use super::must_start;
use crate::lead::policy::table::{SmallTeam, name};

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
