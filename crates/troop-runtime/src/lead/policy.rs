//! The policy of a lead: pure functions from the team's state and the facts about its crew to decisions. They read no clock,
//! touch no disk and wait for nothing; the other modules of the lead carry out the decisions.

pub(super) mod aftermath;
pub(crate) mod asking;
pub(super) mod attempt_end;
pub(crate) mod completion;
pub(super) mod delegation;
pub(super) mod ending;
pub(super) mod files;
pub(super) mod idle;
pub(super) mod lead_state;
pub(super) mod loss;
pub(super) mod mail;
pub(super) mod report;
pub(super) mod restart;
pub(super) mod silence;
pub(super) mod tenure;
pub(crate) mod unheard;
pub(crate) mod work;

#[cfg(test)]
mod table;
