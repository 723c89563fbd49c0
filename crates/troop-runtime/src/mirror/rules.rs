//! The deciding half of the mirror: from what the board says, what was written last and what the files say, to what is to be
//! done about it. Nothing here touches a file, a clock or a board, so that every case is a table, and a simulator can run
//! any number of mirrors against each other.

mod config;
mod inbox;
mod letter;
mod task;
mod touched;

pub(super) use config::{ConfigNewcomer, Leaver, leavers, newcomers};
pub(super) use inbox::{
    ClaimedId, EntryCase, FolderInbox, KnownInbox, LetterCase, MissingLetter, SortedInbox,
    WaitingMail, claimed_id, entry_case, is_read, letter_case, waiting_mail,
};
pub(super) use letter::{actor, outgoing, refusal, sent, stopping};
pub(super) use task::{
    BlockCase, BoardTask, ChangeFacts, FilePut, GoneCase, GoneFacts, KnownFile, LiveTask, TaskCase,
    block_case, blocks, change, gone, in_leads_name, is_at_rest, is_higher, is_unchanged, new_task,
    put, read_file, task_case, too_large, whole_task,
};
pub(super) use touched::{inbox_of, touched};

#[cfg(test)]
mod tests;
