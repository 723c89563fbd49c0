//! The deciding half of the mirror: from what the board says, what was written last and what the files say, to the next step or
//! a list of effects. Nothing here touches a file, a clock or a board, so that every case is a table, and a simulator can run
//! any number of mirrors against each other and stop them between any two steps.

mod config;
mod door;
mod inbox;
mod letter;
mod task;
mod touched;
mod visit;

pub(super) use config::{ConfigNewcomer, Leaver, leavers, newcomers};
pub use door::{DoorTarget, about, candidates, door_target, goes_without_lock};
pub use inbox::{
    ClaimedId, EntryCase, FolderInbox, InboxEffect, KnownInbox, LetterCase, MissingLetter,
    OwnerMail, SortedInbox, claimed_id, entry_case, is_read, letter_case, owner_mail,
    recognised_folder,
};
pub use letter::{actor, outgoing, refusal, sent};
pub use task::{
    BlockCase, ChangeFacts, GoneCase, GoneFacts, KnownFile, LiveTask, TaskCase, TaskOnBoard,
    announcement, block_case, blocks, change, gone, in_leads_name, is_at_rest, is_higher,
    is_unchanged, new_task, put, read_file, task_case, too_large, whole_task,
};
pub use touched::{inbox_of, touched};
pub use visit::{
    BoardCatchUp, ConfigFacts, ConfigProgress, ConfigStep, FileReading, FileWish, Intake, Leavers,
    PutEffect, VisitErrand, VisitFacts, VisitStep, change_wishes, config_step, new_wishes, steps,
    visit_step,
};

#[cfg(test)]
mod tests;
