//! The consequences of the end of a member's run.

use crate::lead::crew::lifecycle::{Account, Boot, Lifecycle, StopOrder};

/// The consequence of the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Aftermath {
    /// The member was removed from the team: nothing.
    Nothing,
    /// It stopped as ordered.
    Stopped(StopOrder),
    /// It never became ready.
    NotReady {
        /// Whether it joined with this start, so that it leaves the team again.
        is_new: bool,
        /// Whether the cause is a fault of the machine, which may be temporary.
        may_retry: bool,
    },
    /// It ended unexpectedly.
    Crashed,
}

/// The consequence of the end of a run.
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

/// Whether a run is completely over. Reports made before the exit still count and are waited for, unless the member was killed.
pub(in super::super) fn is_over(life: &Lifecycle, n_held: usize) -> bool {
    matches!(life, Lifecycle::Exited { is_killed, .. } if n_held == 0 || *is_killed)
}

#[cfg(test)]
mod tests;
