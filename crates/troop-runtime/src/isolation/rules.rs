//! The deciding half of isolation: from facts about branches, folders and what git says, to the next step, or to a list of
//! effects. No git runs here and no file is touched, so that every case is a table, and a simulator can run any number of teams
//! against one repository and stop them between any two effects.
//!
//! A case that ends in `If…` needs one more fact, which costs a git command that the other cases do not need. Operations of
//! several steps (`finish`, `merge`, `land`) are functions from what is known so far to the next step; so the order of their
//! effects stands in one place each.

mod branch;
mod finish;
mod folder;
mod land;
mod leftover;
mod merge;
mod status;

pub use branch::{
    BranchOwner, BranchPosition, PositionCase, PutBackFacts, StartCase, advance, hold, put_back,
    start_case,
};
pub use finish::{
    CheckedWork, FinishFacts, FinishStep, FinishTrial, FolderLook, FolderTie, ForkSearch,
    SubmoduleState, finish_step,
};
pub use folder::AttemptName;
pub use folder::{
    BeginFacts, CommitFacts, FolderRemains, FolderState, KeepBranch, begin, commit_all, go_back,
    make_folder, merge_message, merged_attempt, save_message, stage_all, stay_on, trailer_begin,
    work_message,
};
pub use land::{
    ForwardFacts, ForwardFailure, IndexSide, LandFacts, LandStep, LandingLockState, LandingUndo,
    ProjectAfter, ProjectFacts, TidyState, UndoResult, forget_merged, in_place_of_new,
    is_in_the_way, land_step, landing_undo,
};
pub use leftover::{RescueBranch, RescueCase, rescue_branch, rescue_case};
pub use merge::{MergeFacts, MergeStep, MergeTrial, merge_step};
pub use status::{
    FolderHead, FolderStatus, ForkLines, ForkPoint, JoinCase, UnmergedFile, join_case,
};

#[cfg(test)]
mod tests;
