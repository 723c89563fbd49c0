//! What follows from the end of a member's run.

use crate::lead::crew::lifecycle::{Account, Boot, Lifecycle, StopOrder};

/// What follows from the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Aftermath {
    /// The member was removed from the team: nothing.
    Nothing,
    /// It stopped, as it was told.
    Stopped(StopOrder),
    /// It never became ready.
    NotReady {
        /// Whether it joined only to be started now, so that it leaves the team again.
        is_new: bool,
        /// Whether a fault of the machine is to blame, which may pass.
        may_retry: bool,
    },
    /// It ended although nobody wanted it to.
    Crashed,
}

/// What follows from the end of a run.
pub(in super::super) fn of(account: Account, is_fault_of_machine: bool) -> Aftermath {
    match account {
        Account { is_let_go: true, .. } => Aftermath::Nothing,
        Account { stop: Some(order), .. } => Aftermath::Stopped(order),
        Account { boot: Boot::Pending { is_new }, .. } => {
            Aftermath::NotReady { is_new, may_retry: is_fault_of_machine }
        }
        Account { boot: Boot::Complete, .. } => Aftermath::Crashed,
    }
}

/// Whether a run is over, so that its consequences can be drawn. What the member said to be done before its exit still counts
/// and is waited for, unless it was killed.
pub(in super::super) fn is_over(life: &Lifecycle, n_held: usize) -> bool {
    matches!(life, Lifecycle::Exited { is_killed, .. } if n_held == 0 || *is_killed)
}

#[cfg(test)]
mod tests;
