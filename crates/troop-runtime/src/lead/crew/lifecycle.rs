//! The lifecycle of one run of a member, from its start to its exit.

use std::{fmt, io, os::unix::process::ExitStatusExt as _, process::ExitStatus};

use troop_model::{Party, StateCause};
use uuid::Uuid;

/// The lifecycle of one run of a member.
#[derive(Debug)]
pub(in super::super) enum Lifecycle {
    /// It is being launched, or runs and is not ready yet.
    Starting {
        /// Whether the member joined with this start. If it does not start, it leaves the team again.
        is_new: bool,
    },
    /// It takes work and mail.
    Ready,
    /// It was ready, and was told to stop.
    Stopping(StopOrder),
    /// It was killed, and has not exited yet.
    Ending(Account),
    /// It has exited. Its last messages may still be on their way, or wait for hooks and proof.
    Exited { exit: MemberExit, is_killed: bool, account: Account },
}

/// The facts that determine the aftermath of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Account {
    pub(in super::super) boot: Boot,
    /// The order to stop, if it got one.
    pub(in super::super) stop: Option<StopOrder>,
    /// Whether the member was removed from the team, so that its end has no consequences.
    pub(in super::super) is_let_go: bool,
}

/// Whether a run ever became ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Boot {
    Pending { is_new: bool },
    Complete,
}

/// Why a member is to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct StopOrder {
    pub(in super::super) reason: String,
    /// The request that the member's answer belongs to.
    pub(in super::super) request: Option<StopRequest>,
    /// Whether it stops with its team, so that it cannot refuse.
    pub(in super::super) is_forced: bool,
}

/// A message that asks a member to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct StopRequest {
    pub(in super::super) id: Uuid,
    pub(in super::super) from: Party,
}

impl StopOrder {
    /// The reason in the log, for people.
    pub(in super::super) fn recorded(&self) -> String {
        if self.is_forced {
            format!("{}: {}", StateCause::TeamStopped.in_words(), self.reason)
        } else {
            self.reason.clone()
        }
    }

    /// The cause in the log, for programs.
    pub(in super::super) fn cause(&self) -> StateCause {
        if self.is_forced { StateCause::TeamStopped } else { StateCause::Asked }
    }

    /// This order after an earlier one. A forced order stays forced, whatever is asked meanwhile.
    fn after(self, earlier: Option<Self>) -> Self {
        match earlier {
            Some(forced) if forced.is_forced => Self { request: self.request, ..forced },
            _ => self,
        }
    }
}

/// The effect of a member's answer to a stop order.
#[derive(Debug)]
pub(in super::super) struct StopAnswer {
    /// The request that it answers, if there is one.
    pub(in super::super) request: Option<StopRequest>,
    /// Whether the member continues.
    pub(in super::super) goes_on: bool,
}

/// The next step after a stop order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum StopStep {
    /// It is not ready and cannot be asked: it is killed.
    Kill,
    /// It is asked for the first time: its grace period begins.
    Grace,
    /// Its grace period runs already.
    Nothing,
}

impl Lifecycle {
    pub(in super::super) fn is_starting(&self) -> bool {
        matches!(self, Self::Starting { .. })
    }

    pub(in super::super) fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    pub(in super::super) fn is_killed(&self) -> bool {
        matches!(self, Self::Ending(_) | Self::Exited { is_killed: true, .. })
    }

    pub(in super::super) fn has_exited(&self) -> bool {
        matches!(self, Self::Exited { .. })
    }

    /// The order to stop, if there is one.
    pub(in super::super) fn stop(&self) -> Option<&StopOrder> {
        match self {
            Self::Starting { .. } | Self::Ready => None,
            Self::Stopping(stop) => Some(stop),
            Self::Ending(account) | Self::Exited { account, .. } => account.stop.as_ref(),
        }
    }

    /// The member says that it is ready. Returns whether that is new. Its exit may have been seen before.
    pub(in super::super) fn become_ready(&mut self) -> bool {
        match self {
            Self::Starting { .. } => {
                *self = Self::Ready;
                true
            }
            Self::Ready | Self::Stopping(_) => false,
            Self::Ending(account) | Self::Exited { account, .. } => {
                std::mem::replace(&mut account.boot, Boot::Complete) != Boot::Complete
            }
        }
    }

    /// Takes an order to stop.
    pub(in super::super) fn take_stop(&mut self, order: StopOrder) -> StopStep {
        match self {
            Self::Starting { .. } => {
                let mut account = self.account();
                account.stop = Some(order);
                *self = Self::Ending(account);
                StopStep::Kill
            }
            Self::Ready => {
                *self = Self::Stopping(order);
                StopStep::Grace
            }
            Self::Stopping(earlier) => {
                *earlier = order.after(Some(earlier.clone()));
                StopStep::Nothing
            }
            Self::Ending(account) | Self::Exited { account, .. } => {
                let earlier = account.stop.take();
                let step = match (account.boot, &earlier) {
                    (Boot::Pending { .. }, _) => StopStep::Kill,
                    (Boot::Complete, None) => StopStep::Grace,
                    (Boot::Complete, Some(_)) => StopStep::Nothing,
                };
                account.stop = Some(order.after(earlier));
                step
            }
        }
    }

    /// Takes the member's answer to the order to stop; none if there is no such order.
    pub(in super::super) fn answer_stop(&mut self, is_approved: bool) -> Option<StopAnswer> {
        let order = match self {
            Self::Starting { .. } | Self::Ready => return None,
            Self::Stopping(order) => order,
            Self::Ending(account) | Self::Exited { account, .. } => account.stop.as_mut()?,
        };
        let request = order.request.take();
        let goes_on = !is_approved && !order.is_forced;
        if goes_on {
            match self {
                Self::Ending(account) | Self::Exited { account, .. } => account.stop = None,
                Self::Starting { .. } | Self::Ready | Self::Stopping(_) => *self = Self::Ready,
            }
        }
        Some(StopAnswer { request, goes_on })
    }

    /// The member is killed.
    pub(in super::super) fn kill(&mut self) {
        match self {
            Self::Exited { is_killed, .. } => *is_killed = true,
            Self::Starting { .. } | Self::Ready | Self::Stopping(_) | Self::Ending(_) => {
                *self = Self::Ending(self.account());
            }
        }
    }

    /// The member was removed from its team, and is killed for that.
    pub(in super::super) fn let_go(&mut self) {
        self.kill();
        if let Self::Ending(account) | Self::Exited { account, .. } = self {
            account.is_let_go = true;
        }
    }

    /// The process or task has exited.
    pub(in super::super) fn exit(&mut self, exit: MemberExit) {
        let is_killed = self.is_killed();
        *self = Self::Exited { exit, is_killed, account: self.account() };
    }

    /// The account of this run so far.
    pub(in super::super) fn account(&self) -> Account {
        let account = |boot, stop| Account { boot, stop, is_let_go: false };
        match self {
            Self::Starting { is_new } => account(Boot::Pending { is_new: *is_new }, None),
            Self::Ready => account(Boot::Complete, None),
            Self::Stopping(stop) => account(Boot::Complete, Some(stop.clone())),
            Self::Ending(account) | Self::Exited { account, .. } => account.clone(),
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub(in super::super) enum MemberExit {
    /// A process ended.
    Process(ExitStatus),
    /// A task of this process ended.
    Task,
    /// It did not even start.
    NotStarted(io::Error),
    /// It ended, but its status is unknown.
    Unknown(io::Error),
}

impl fmt::Display for MemberExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(status) => match (status.code(), status.signal()) {
                (Some(code), _) => write!(f, "exit code {code}"),
                (None, Some(signal)) => write!(f, "killed by signal {signal}"),
                (None, None) => f.write_str("ended"),
            },
            Self::Task => f.write_str("ended"),
            Self::NotStarted(error) => write!(f, "it cannot be started: {error}"),
            Self::Unknown(error) => write!(f, "ended: {error}"),
        }
    }
}

#[cfg(test)]
mod tests;
