//! Tests of what is repeated while the store fails.

use troop_model::{Command, MemberName, MemberState};

use super::outdated;

fn is_repeated(state: MemberState, pid: Option<u32>) -> bool {
    let member: MemberName = "ann".parse().unwrap();
    let told = Command::SetMemberState { member, state, reason: None, cause: None, pid };
    outdated(&told).is_none()
}

#[test]
fn that_a_process_runs_is_not_recorded_after_its_end() {
    let alive = Some(std::process::id());
    // No process can have this id.
    let ended = Some(u32::MAX);
    for state in [MemberState::Idle, MemberState::Working, MemberState::Planning] {
        assert!(is_repeated(state, alive) && is_repeated(state, None), "{state}");
        assert!(!is_repeated(state, ended), "{state}");
    }
    for state in [MemberState::Stopping, MemberState::Stopped, MemberState::Crashed] {
        assert!(is_repeated(state, ended), "its end must not be lost: {state}");
    }
}
