//! The course of a trial: leads that begin at once and are resumed until everything is done, while things go wrong.

use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{PersonRecord, PersonView, RunTrial, person, plan::Spring, trap};
use crate::{
    program::{CallEnd, LongRunning, Program},
    tally::ViolationSeverity::High,
};

/// How long a team may take to come to its end when nothing disturbs it.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
pub(super) const STEP: Duration = Duration::from_millis(20);
/// How often a team is resumed after the last fault.
const MAX_RESUMED: u32 = 6;

/// The lead of a team.
#[derive(Debug)]
pub(super) struct TeamLead {
    pub(super) team: &'static str,
    pub(super) process: LongRunning,
    /// How often it was resumed while nothing disturbed it.
    n_resumed: u32,
    deadline: Instant,
}

impl TeamLead {
    pub(super) fn new(program: &Program, team: &'static str) -> Result<Self> {
        let process = start(program, team)?;
        Ok(Self { team, process, n_resumed: 0, deadline: Instant::now() + PATIENCE })
    }

    /// Begins again as a person does, when it has ended with this code.
    pub(super) fn begin_again(&mut self, program: &Program, code: Option<i32>) -> Result<()> {
        let end = CallEnd { code, out: String::new(), err: self.process.last_words() };
        program.judge(&format!("resume {}", self.team), &end);
        self.process = start(program, self.team)?;
        self.deadline = Instant::now() + PATIENCE;
        Ok(())
    }
}

fn start(program: &Program, team: &str) -> Result<LongRunning> {
    program.start(&format!("lead-{team}"), &["resume", team])
}

impl RunTrial {
    /// Lets all teams run to their ends.
    pub(super) async fn play(&mut self, before: &PersonView) -> Result<PersonRecord> {
        for team in &self.plan.teams {
            self.leads.push(TeamLead::new(&self.program, team.name)?);
        }
        if self.plan.teams.len() > 1 {
            self.program.record.fault("several teams begin and end at once");
        }
        let deeds = person::act(self.program.clone(), self.plan.deeds.clone());
        let mut person = JoinSet::new();
        person.spawn(deeds);
        self.spring(before).await?;
        self.harm().await?;
        while !self.are_over().await? {
            sleep(STEP).await;
        }
        person.join_next().await.context("there is one person")??
    }

    /// Whether all teams have ended well, or will not. Resumes those that have ended otherwise.
    async fn are_over(&mut self) -> Result<bool> {
        let mut is_over = true;
        for lead in &mut self.leads {
            match lead.process.end()? {
                Some(Some(0)) => {}
                None if Instant::now() < lead.deadline => is_over = false,
                None => {
                    let said = lead.process.last_words();
                    let what = format!("{} does not come to an end: {said}", lead.team);
                    self.program.record.find(High, what);
                    lead.process.kill().await;
                }
                Some(_) if lead.n_resumed == MAX_RESUMED => {}
                Some(code) => {
                    lead.n_resumed += 1;
                    lead.begin_again(&self.program, code)?;
                    is_over = false;
                }
            }
        }
        Ok(is_over)
    }

    /// Waits for what the trap of the trial does, if it has one.
    async fn spring(&mut self, before: &PersonView) -> Result<()> {
        let Some(trap) = self.plan.trap else { return Ok(()) };
        if let Spring::Gather { .. } = trap.spring {
            self.program.record.fault(trap.name());
            return Ok(());
        }
        let deadline = Instant::now() + PATIENCE;
        let Some(lead) = self.leads.first_mut() else { return Ok(()) };
        let team = lead.team;
        if !trap::wait(&self.program, lead, trap, deadline).await? {
            let what = format!("{trap:?} was never met: {}", lead.process.last_words());
            self.program.record.find(High, what);
            return Ok(());
        }
        self.program.record.fault(trap.name());
        if self.plan.is_stopped {
            trap::stop(&self.program, team).await?;
        }
        trap::follow(&self.program, team, trap, self.disk.as_ref(), before).await
    }
}
