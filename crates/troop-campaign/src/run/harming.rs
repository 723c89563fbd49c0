//! Killing and stopping the processes of a run at random.

use std::{fs, time::Duration};

use anyhow::Result;
use rustix::process::Signal;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use troop_process::Below;

use super::{
    RunTrial,
    course::STEP,
    plan::{Harm, RunPlan},
};
use crate::{check, program::send, tally::ViolationSeverity::High};

/// How long a lead may take that was told to stop.
const STOPS_WITHIN: Duration = Duration::from_secs(30);

impl RunTrial {
    /// Everything that goes wrong in this trial. A lead that ended is replaced, as long as something is still to come.
    pub(super) async fn harm(&mut self) -> Result<()> {
        for (pause, harm) in self.plan.harm.clone() {
            sleep(pause).await;
            let Some(lead) = self.leads.first_mut() else { continue };
            if let Some(code) = lead.process.end()? {
                lead.begin_again(&self.program, code)?;
                continue;
            }
            if let Some(name) = self.inflict(harm).await? {
                self.program.record.fault(name);
            }
        }
        Ok(())
    }

    /// Returns the name of what really happened.
    async fn inflict(&mut self, harm: Harm) -> Result<Option<&'static str>> {
        let Some(lead) = self.leads.first_mut() else { return Ok(None) };
        let Some(id) = lead.process.id() else { return Ok(None) };
        match harm {
            Harm::KillLead => {
                lead.process.kill().await;
                self.nothing_outlives_its_lead().await?;
                Ok(Some("lead killed"))
            }
            Harm::KillAll => {
                let below = Below::of(id);
                lead.process.signal(Signal::KILL);
                below.kill();
                lead.process.kill().await;
                Ok(Some("lead and everything below it killed at once"))
            }
            Harm::StopLead(pause) => {
                pause_process(id, pause).await;
                Ok(Some("lead stopped and continued"))
            }
            Harm::EndLead => {
                self.end_lead().await?;
                Ok(Some("lead told to stop"))
            }
            Harm::KillMember(nth) => {
                let member = self.member(nth).await?;
                member.into_iter().for_each(|it| send(it, Signal::KILL));
                Ok(member.map(|_| "teammate killed"))
            }
            Harm::StopMember(nth, pause) => {
                let Some(member) = self.member(nth).await? else { return Ok(None) };
                pause_process(member, pause).await;
                Ok(Some("teammate stopped and continued"))
            }
            Harm::KillWork => {
                let work = self.work();
                work.into_iter().for_each(|it| send(it, Signal::KILL));
                Ok(work.map(|_| "command of a task killed"))
            }
            Harm::CutGit(after) => {
                let armed = self.program.folder.join("cut-next");
                fs::write(armed, after.as_secs_f64().to_string())?;
                Ok(Some("git killed"))
            }
        }
    }

    async fn end_lead(&mut self) -> Result<()> {
        let Some(lead) = self.leads.first_mut() else { return Ok(()) };
        lead.process.signal(Signal::TERM);
        let deadline = Instant::now() + STOPS_WITHIN;
        while lead.process.end()?.is_none() {
            if Instant::now() > deadline {
                let said = lead.process.last_words();
                let what = format!("a lead that got SIGTERM does not stop in 30 s: {said}");
                self.program.record.find(High, what);
                lead.process.kill().await;
            }
            sleep(STEP).await;
        }
        Ok(())
    }

    async fn nothing_outlives_its_lead(&self) -> Result<()> {
        for team in &self.plan.teams {
            for outlived in check::orphans(&self.program.events(team.name).await?).await {
                self.program.record.find(High, outlived);
            }
        }
        Ok(())
    }

    /// The process of a member, as troop tells it.
    async fn member(&self, nth: usize) -> Result<Option<u32>> {
        let team = self.plan.teams.first().map_or("", |it| it.name);
        let list = self.program.call(&["--team", team, "team", "show", team]).await?;
        let shown: Value = serde_json::from_str(&list.out).unwrap_or_default();
        let members = shown.get("members").and_then(Value::as_array).cloned().unwrap_or_default();
        let name = RunPlan::member(nth);
        let found = members.iter().find(|it| it.get("name").and_then(Value::as_str) == Some(&name));
        let pid = found.and_then(|it| it.get("pid")?.as_u64());
        Ok(pid.and_then(|it| u32::try_from(it).ok()))
    }

    /// The process of the command that began last and has not exited yet.
    fn work(&self) -> Option<u32> {
        let told = fs::read_to_string(self.program.folder.join("errands")).unwrap_or_default();
        let mut running = Vec::new();
        for line in told.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let [what, _, _, id, _] = words[..] else { continue };
            match what {
                "begin" => running.push(id),
                _ => running.retain(|it| *it != id),
            }
        }
        running.last()?.parse().ok()
    }
}

async fn pause_process(id: u32, pause: Duration) {
    send(id, Signal::STOP);
    sleep(pause).await;
    send(id, Signal::CONT);
}
