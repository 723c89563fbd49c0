//! How far one run of a member has come, from its start to its exit.

use std::{fmt, io, os::unix::process::ExitStatusExt as _, process::ExitStatus};

use troop_model::{Party, StateCause};
use uuid::Uuid;

/// How far one run of a member has come.
#[derive(Debug)]
pub(in super::super) enum Lifecycle {
    /// It runs, but has not said yet that it is ready.
    Starting {
        /// Whether the member joined only to be started now. If it does not start, it leaves the team again.
        is_new: bool,
    },
    /// It takes work and mail.
    Ready,
    /// It was ready, and is to stop.
    Stopping(StopOrder),
    /// It was killed; only its exit is awaited.
    Ending(Account),
    /// It has exited. What it said before that may still be on its way, or wait for hooks and proof.
    Exited { exit: MemberExit, is_killed: bool, account: Account },
}

/// What the end of a run is to be taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Account {
    pub(in super::super) boot: Boot,
    /// Why it was to stop, if it was.
    pub(in super::super) stop: Option<StopOrder>,
    /// Whether the member was removed from the team; its end concerns nobody any more.
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
    /// Whether it stops with its team, so that it cannot decline.
    pub(in super::super) is_forced: bool,
}

/// A message that asks a member to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct StopRequest {
    pub(in super::super) id: Uuid,
    pub(in super::super) from: Party,
}

impl StopOrder {
    /// Why, as the log says it to people.
    pub(in super::super) fn recorded(&self) -> String {
        if self.is_forced {
            format!("{}: {}", StateCause::TeamStopped.in_words(), self.reason)
        } else {
            self.reason.clone()
        }
    }

    /// Why, as the log says it to programs.
    pub(in super::super) fn cause(&self) -> StateCause {
        if self.is_forced { StateCause::TeamStopped } else { StateCause::Asked }
    }

    /// This order after an earlier one. A member that has to stop with its team has to, whoever asks for the same meanwhile.
    fn after(self, earlier: Option<Self>) -> Self {
        match earlier {
            Some(forced) if forced.is_forced => Self { request: self.request, ..forced },
            _ => self,
        }
    }
}

/// What a member's answer to a stop order changes.
#[derive(Debug)]
pub(in super::super) struct StopAnswer {
    /// The request that it answers, if somebody made one.
    pub(in super::super) request: Option<StopRequest>,
    /// Whether the member goes on.
    pub(in super::super) goes_on: bool,
}

/// What is to be done for a member that got a stop order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum StopStep {
    /// It is not ready, so nobody can ask it: it is killed.
    Kill,
    /// It is asked for the first time and gets its time.
    Grace,
    /// Its time runs already.
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

    /// What ran has ended.
    pub(in super::super) fn exit(&mut self, exit: MemberExit) {
        let is_killed = self.is_killed();
        *self = Self::Exited { exit, is_killed, account: self.account() };
    }

    /// What the end of this run is to be taken for, as far as it is known now.
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

/// How something that ran ended.
#[derive(Debug)]
pub(in super::super) enum MemberExit {
    /// A process ended.
    Process(ExitStatus),
    /// A part of this process ended.
    Task,
    /// It did not even start.
    NotStarted(io::Error),
    /// It ended, but how could not be learnt.
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
