//! How a folder that a team left behind is brought to safety.

use crate::isolation::leftovers::LeftoverState;

/// How a folder that a team left behind is brought to safety.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RescueCase {
    /// Its project is not there, so that nobody knows what is in it.
    Refused,
    /// No repository knows it, so that it is moved as it is.
    Move,
    /// Its contents are committed. If it has become a separate repository, that repository is moved out of the way first.
    Commit { is_replaced: bool },
}

/// `is_strange`: its repository does not know the folder.
pub fn rescue_case(state: &LeftoverState, is_strange: bool) -> RescueCase {
    if *state == LeftoverState::Away {
        RescueCase::Refused
    } else if is_strange {
        RescueCase::Move
    } else {
        RescueCase::Commit { is_replaced: *state == LeftoverState::Replaced }
    }
}

/// The branch for what is in a folder that is brought to safety.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RescueBranch {
    /// None is needed: all of it is merged.
    None,
    Own(String),
    New,
}

/// The team's branch is no place for it.
pub fn rescue_branch(on: Option<String>, team_branch: &str, state: &LeftoverState) -> RescueBranch {
    match on.filter(|it| it != team_branch) {
        Some(branch) => RescueBranch::Own(branch),
        None if *state == LeftoverState::Merged => RescueBranch::None,
        None => RescueBranch::New,
    }
}
