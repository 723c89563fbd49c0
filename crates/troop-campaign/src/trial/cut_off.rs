//! A lead on a machine that is cut off from the database, and another that takes over on a second machine.

use std::{ffi::OsString, time::Duration};

use anyhow::{Result, bail};
use tokio::time::Instant;
use troop_testkit::postgres::OwnServer;
use uuid::Uuid;

use super::{Trial, lead_process::LeadProcess};
use crate::{
    check,
    lead::Orders,
    network::MachineLink,
    tally::{TrialFinding, ViolationSeverity},
};

/// How long it may take until another leads: the lease of the lead, and what a busy machine needs.
const SUCCESSION: Duration = Duration::from_secs(100);
/// How long a former lead may run on once it can be told.
const FAREWELL: Duration = Duration::from_secs(15);
/// Between two tries to lead: who was cut off holds its lease for a minute.
const PAUSE: Duration = Duration::from_millis(500);

/// The machines of the leads.
pub(super) struct Machines {
    links: [MachineLink; 2],
    stage: CutOffStage,
    /// What a lead that takes over was left running.
    findings: Vec<TrialFinding>,
}

/// How far the course of a trial is.
enum CutOffStage {
    /// All can reach the database. The second machine's lead waits.
    Connected(Box<LeadProcess>),
    /// The lead of this session cannot.
    CutOff { former: Box<LeadProcess>, session: Uuid, since: Instant },
    /// It can again, and another leads.
    Restored { former: Box<LeadProcess>, since: Instant },
    /// The former lead has ended.
    Succeeded,
}

impl Machines {
    pub(super) async fn make() -> Result<[MachineLink; 2]> {
        let first = MachineLink::make().await?;
        match MachineLink::make().await {
            Ok(second) => Ok([first, second]),
            Err(error) => {
                first.remove().await;
                Err(error)
            }
        }
    }

    /// Puts a lead on each machine. The second one has a folder of its own and waits; it is returned with the first.
    pub(super) fn lead_from(
        links: [MachineLink; 2],
        command: &[OsString],
        orders: &Orders,
    ) -> (Self, LeadProcess) {
        let [one, other] = &links;
        let [first, second] = [("lead-1", one), ("lead-2", other)].map(|(name, link)| {
            let prefix = link.prefix().map(OsString::from);
            let command = prefix.into_iter().chain(command.iter().cloned()).collect();
            let folder = orders.folder.with_file_name(name);
            let log = folder.with_extension("log");
            let orders = Orders { url: OwnServer::url_at(link.address), folder, ..orders.clone() };
            LeadProcess::new(command, Vec::new(), orders, log)
        });
        let stage = CutOffStage::Connected(Box::new(second.with_pause(PAUSE)));
        (Self { links, stage, findings: Vec::new() }, first)
    }

    pub(super) async fn remove(self) -> Vec<TrialFinding> {
        match self.stage {
            CutOffStage::Connected(mut it)
            | CutOffStage::CutOff { former: mut it, .. }
            | CutOffStage::Restored { former: mut it, .. } => it.end().await,
            CutOffStage::Succeeded => {}
        }
        for link in self.links {
            link.remove().await;
        }
        self.findings
    }
}

impl Trial {
    /// Cuts the lead off, once.
    pub(super) async fn cut_off(&mut self) -> Result<bool> {
        let Some(session) = self.session().await? else { return Ok(false) };
        let Some(machines) = &mut self.machines else { return Ok(false) };
        let stage = std::mem::replace(&mut machines.stage, CutOffStage::Succeeded);
        let CutOffStage::Connected(second) = stage else {
            machines.stage = stage;
            return Ok(false);
        };
        let [link, _] = &machines.links;
        link.cut().await?;
        let former = Box::new(std::mem::replace(&mut self.lead, *second));
        machines.stage = CutOffStage::CutOff { former, session, since: Instant::now() };
        Ok(true)
    }

    /// Whether a lead is cut off, or was and has not ended yet.
    pub(super) fn is_cut_off(&self) -> bool {
        let stage = self.machines.as_ref().map(|it| &it.stage);
        matches!(stage, Some(CutOffStage::CutOff { .. } | CutOffStage::Restored { .. }))
    }

    /// Connects the lead again as soon as another leads, and waits for its end.
    pub(super) async fn see_to_cut_off(&mut self) -> Result<()> {
        let current = self.session().await?;
        let Some(machines) = &mut self.machines else { return Ok(()) };
        let [link, _] = &machines.links;
        let stage = std::mem::replace(&mut machines.stage, CutOffStage::Succeeded);
        machines.stage = match stage {
            CutOffStage::CutOff { former, session, .. } if current != Some(session) => {
                // Nobody could tell it that another leads: it must have seen that it may no longer lead.
                let outlived = check::orphans_of(session).await;
                let finding = |it| TrialFinding::new(ViolationSeverity::Critical, it);
                machines
                    .findings
                    .extend(outlived.map(|it| finding(format!("while cut off: {it}"))));
                link.restore().await?;
                CutOffStage::Restored { former, since: Instant::now() }
            }
            CutOffStage::CutOff { since, .. } if since.elapsed() > SUCCESSION => {
                bail!("nobody took over from the lead that was cut off")
            }
            CutOffStage::Restored { mut former, since } => match former.check_running()? {
                true if since.elapsed() > FAREWELL => {
                    former.end().await;
                    bail!("the lead that was cut off did not end")
                }
                true => CutOffStage::Restored { former, since },
                false => CutOffStage::Succeeded,
            },
            same @ (CutOffStage::Connected(_)
            | CutOffStage::CutOff { .. }
            | CutOffStage::Succeeded) => same,
        };
        Ok(())
    }
}
