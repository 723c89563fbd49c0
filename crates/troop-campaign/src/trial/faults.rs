//! Doing harm, and making it good again.

use anyhow::Result;
use tokio::time::Instant;
use troop_model::MemberName;
use troop_runtime::process::{Mark, Signal};

use super::{Trial, letter};
use crate::plan::{Fault, Plan};

/// Something that is done to a trial at some moment.
#[derive(Clone, Debug)]
pub(super) enum Disturbance {
    Fault(Fault),
    Letter(usize),
    /// A process goes on that stood still.
    ContinueMate(Mark, u32),
    ContinueLead,
    ClearDisk,
}

impl Trial {
    /// All that is to happen, the first last.
    pub(super) fn disturbances(&self, start: Instant) -> Vec<(Instant, Disturbance)> {
        let faults = self.plan.faults.iter().map(|(at, it)| (start + *at, Disturbance::Fault(*it)));
        let letters = self.plan.letters.iter();
        let letters = letters.map(|(at, to)| (start + *at, Disturbance::Letter(*to)));
        let mut all: Vec<_> = faults.chain(letters).collect();
        all.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        all
    }

    /// Does it, and says how and when it is to be made good.
    pub(super) async fn disturb(
        &mut self,
        disturbance: Disturbance,
    ) -> Result<Option<(Instant, Disturbance)>> {
        match disturbance {
            Disturbance::Fault(fault) => return self.harm(fault).await,
            Disturbance::Letter(to) => self.write_to(to).await?,
            // Who has gone meanwhile needs nothing.
            Disturbance::ContinueMate(mark, pid) => drop(mark.signal(pid, Signal::CONT)),
            Disturbance::ContinueLead => self.lead.signal(Signal::CONT),
            Disturbance::ClearDisk => self.disk.as_ref().map_or(Ok(()), |disk| disk.clear())?,
        }
        Ok(None)
    }

    async fn harm(&mut self, fault: Fault) -> Result<Option<(Instant, Disturbance)>> {
        let (mut happened, mut after) = (true, None);
        match fault {
            Fault::KillMate(nth) => {
                let found = self.process(nth).await?;
                happened = found.is_some_and(|(mark, pid)| mark.signal(pid, Signal::KILL).is_ok());
            }
            Fault::KillLead => self.lead.kill(),
            Fault::StopMate(nth, pause) => {
                let found = self.process(nth).await?;
                let stopped = found.filter(|(mark, pid)| mark.signal(*pid, Signal::STOP).is_ok());
                happened = stopped.is_some();
                after = stopped.map(|(mark, pid)| (pause, Disturbance::ContinueMate(mark, pid)));
            }
            Fault::StopLead(pause) => {
                self.lead.signal(Signal::STOP);
                after = Some((pause, Disturbance::ContinueLead));
            }
            Fault::FullDisk(pause) => {
                self.disk.as_ref().map_or(Ok(()), |disk| disk.fill())?;
                after = Some((pause, Disturbance::ClearDisk));
            }
            Fault::HangUp => {
                let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                              WHERE datname = current_database() AND pid <> pg_backend_pid()";
                troop_testkit::postgres::execute(&self.url, others).await;
            }
        }
        if happened {
            self.faults.push(fault);
        }
        Ok(after.map(|(pause, what)| (Instant::now() + pause, what)))
    }

    /// The process of a teammate, if the log knows one, and the mark by which it is told from all others.
    async fn process(&self, nth: usize) -> Result<Option<(Mark, u32)>> {
        let name: MemberName = Plan::mate(nth).parse()?;
        let look = self.board.look(move |state| {
            let session = state.team()?.lead_lease.as_ref()?.session;
            Some((Mark { session, run: None }, state.member(&name)?.pid?))
        });
        Ok(look.await?)
    }

    async fn write_to(&mut self, to: usize) -> Result<()> {
        let name: MemberName = Plan::mate(to).parse()?;
        if self.board.look(move |state| state.member(&name).is_none()).await? {
            // Nobody writes to who is not there.
            return Ok(());
        }
        let content = format!("letter {}", self.letters.len());
        match self.submit(letter(to, &content)).await {
            Ok(()) => self.letters.push(content),
            // It may have gone just now.
            Err(error) if error.downcast_ref().is_some_and(is_refused) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn is_refused(error: &troop_runtime::BoardError) -> bool {
    matches!(error, troop_runtime::BoardError::Refused(_))
}
