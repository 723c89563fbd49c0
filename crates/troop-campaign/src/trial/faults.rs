//! Injecting faults, and undoing them.

use std::{os::fd::OwnedFd, sync::Arc, time::Duration};

use anyhow::Result;
use rustix::process::pidfd_send_signal;
use tokio::time::{Instant, sleep};
use troop_model::{MemberName, State};
use troop_process::{Mark, Signal};
use uuid::Uuid;

use super::{Trial, letter};
use crate::{
    check,
    memory::MemoryLimit,
    plan::{Fault, Plan},
    servers::ServerHarm,
};

/// Something that happens to a trial at a given time.
#[derive(Clone, Debug)]
pub(super) enum Disturbance {
    Fault(Fault),
    Letter(usize),
}

impl Trial {
    /// Everything that will happen, in reverse order.
    pub(super) fn disturbances(&self, start: Instant) -> Vec<(Instant, Disturbance)> {
        let faults = self.plan.faults.iter().map(|(at, it)| (start + *at, Disturbance::Fault(*it)));
        let letters = self.plan.letters.iter();
        let letters = letters.map(|(at, to)| (start + *at, Disturbance::Letter(*to)));
        let mut all: Vec<_> = faults.chain(letters).collect();
        all.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        all
    }

    pub(super) async fn disturb(&mut self, disturbance: Disturbance) -> Result<()> {
        match disturbance {
            Disturbance::Fault(fault) => self.harm(fault).await,
            Disturbance::Letter(to) => self.write_to(to).await,
        }
    }

    async fn harm(&mut self, fault: Fault) -> Result<()> {
        let happened = match fault {
            Fault::KillMate(nth) => {
                let found = self.process(nth).await?;
                found.is_some_and(|(mark, pid)| mark.signal(pid, Signal::KILL).is_ok())
            }
            Fault::KillLead => {
                let session = self.session().await?;
                self.lead.kill();
                // The team continues meanwhile with another lead.
                session.map(|session| self.vigils.spawn(check::orphans_of(session)));
                true
            }
            Fault::StopMate(nth, pause) => {
                let found = self.process(nth).await?;
                let stopped = found.filter(|(mark, pid)| mark.signal(*pid, Signal::STOP).is_ok());
                // A process that has ended meanwhile needs nothing; the same below.
                let go_on = |(mark, pid): (Mark, u32)| drop(mark.signal(pid, Signal::CONT));
                stopped.map(|found| self.heal(pause, move || go_on(found))).is_some()
            }
            Fault::StopLead(pause) => {
                let stopped = self.lead.process();
                let stopped = stopped.filter(|it| pidfd_send_signal(it, Signal::STOP).is_ok());
                let go_on = |it: OwnedFd| pidfd_send_signal(it, Signal::CONT).unwrap_or_default();
                stopped.map(|it| self.heal(pause, move || go_on(it))).is_some()
            }
            Fault::FullDisk(pause) => {
                let Some(disk) = &self.disk else { return Ok(()) };
                let ballast = disk.fill()?;
                self.heal(pause, move || drop(std::fs::remove_file(ballast)));
                true
            }
            Fault::HangUp | Fault::Restart(..) | Fault::FailOver(_) => {
                self.harm_server(fault).await
            }
            Fault::CutOff => self.cut_off().await?,
            Fault::LimitMemory(nth, pause) => {
                let found = self.process(nth).await?;
                // It may have ended just now.
                let limit = found.and_then(|(_, pid)| MemoryLimit::of(pid).ok()).map(Arc::new);
                let limited = limit.inspect(|it| self.memory.push(Arc::clone(it)));
                limited.map(|it| self.heal(pause, move || it.lift())).is_some()
            }
            Fault::ClockJump(hours, pause) => {
                let Some(clock) = self.clock.clone() else { return Ok(()) };
                clock.shift(hours)?;
                // A clock that cannot be set back goes on wrong, which is a fault as well.
                self.heal(pause, move || drop(clock.shift(0)));
                true
            }
        };
        self.faults.extend(happened.then_some(fault));
        Ok(())
    }

    /// Hurts the database server. Returns whether it could.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other faults are not a server's")]
    async fn harm_server(&mut self, fault: Fault) -> bool {
        let Some(servers) = &self.servers else { return false };
        match fault {
            Fault::Restart(how, pause) => {
                self.healing.spawn(servers.harm(ServerHarm::Restart(how, pause)));
                true
            }
            // There is one standby.
            Fault::FailOver(_) if self.faults.iter().any(|it| it.name() == fault.name()) => false,
            Fault::FailOver(pause) => {
                self.healing.spawn(servers.harm(ServerHarm::FailOver(pause)));
                true
            }
            _ => {
                let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                              WHERE datname = current_database() AND pid <> pg_backend_pid()";
                troop_testkit::postgres::execute(&self.url, others).await;
                true
            }
        }
    }

    /// Undoes a fault, whatever the trial waits for then.
    fn heal(&mut self, after: Duration, heal: impl FnOnce() + Send + 'static) {
        self.healing.spawn(async move {
            sleep(after).await;
            heal();
        });
    }

    /// The current lead.
    pub(super) async fn session(&self) -> Result<Option<Uuid>> {
        let look = |state: &State| Some(state.team()?.lead_lease.as_ref()?.session);
        Ok(self.board.look(look).await?)
    }

    /// The process of a teammate, if the log knows one, and its mark.
    async fn process(&self, nth: usize) -> Result<Option<(Mark, u32)>> {
        let name: MemberName = Plan::mate(nth).parse()?;
        let Some(session) = self.session().await? else { return Ok(None) };
        let pid = self.board.look(move |state| state.member(&name)?.pid).await?;
        Ok(pid.map(|pid| (Mark { session, run: None }, pid)))
    }

    async fn write_to(&mut self, to: usize) -> Result<()> {
        let name: MemberName = Plan::mate(to).parse()?;
        if self.board.look(move |state| state.member(&name).is_none()).await? {
            // Persons do not write to an absent member.
            return Ok(());
        }
        let content = format!("letter {}", self.letters.len());
        match self.submit(letter(to, &content)).await {
            Ok(()) => self.letters.push(content),
            // It may have ended just now.
            Err(error) if error.downcast_ref().is_some_and(is_refused) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn is_refused(error: &troop_runtime::BoardError) -> bool {
    matches!(error, troop_runtime::BoardError::Refused(_))
}
