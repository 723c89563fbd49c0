//! What this machine knows about a team's lead and the log does not: a lead that is killed or stopped cannot record what
//! became of it and its teammates. The next lead does.

use std::path::Path;

use troop_model::{LeadLease, Member, MemberState, Need, Role, State, StateCause, Team, Time};
use troop_process::is_stopped;
use troop_protocol::TeamStanding;
use uuid::Uuid;

use crate::lead::{dead_sessions, find_lead};

/// The processes that lead a team from this machine, or led it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeadPresence {
    /// The sessions that led it and died without recording it.
    dead: Vec<Uuid>,
    running: Option<RunningLead>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RunningLead {
    process: u32,
    is_stopped: bool,
}

impl LeadPresence {
    /// Reads it from the team's own folder.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        let running = find_lead(folder)
            .map(|lead| RunningLead { process: lead.pid, is_stopped: is_stopped(lead.pid) });
        let dead = if running.is_some() { Vec::new() } else { dead_sessions(folder) };
        Self { dead, running }
    }

    /// The process that leads the team, if it was suspended, by Ctrl-Z or a signal.
    #[must_use]
    pub fn stopped_process(&self) -> Option<u32> {
        self.running.filter(|lead| lead.is_stopped).map(|lead| lead.process)
    }

    /// The members of the team as they are now, the lead first. The reason of a member that waits for a person says what it
    /// waits for.
    #[must_use]
    pub fn members(&self, state: &State) -> Vec<Member> {
        let mut members = self.present(state);
        let needs = state.needs(&members);
        for member in members.iter_mut().filter(|it| it.is_running()) {
            let mut own = needs.iter().filter(|need| need.from == member.name.as_str());
            if let Some(words) = own.find_map(|need| need.kind.wait_in_words()) {
                member.state_reason = Some(words.to_owned());
            }
        }
        members.sort_by_key(|member| member.role != Role::Lead);
        members
    }

    /// What members of the team need from a person.
    #[must_use]
    pub fn needs(&self, state: &State) -> Vec<Need> {
        state.needs(&self.present(state))
    }

    /// The members with the states of now.
    fn present(&self, state: &State) -> Vec<Member> {
        let lease = state.team().and_then(|team| team.lead_lease.as_ref());
        let has_died = lease.is_some_and(|lease| self.dead.contains(&lease.session));
        let stopped = self.stopped_process();
        let as_it_is = |member: &Member| {
            let mut member = member.clone();
            if lease.is_none() && is_delegated(state, &member) {
                member.state = MemberState::Stopped;
                member.state_reason = Some("nobody leads the team".to_owned());
                member.state_cause = None;
            }
            if has_died && member.is_running() {
                member.state = MemberState::Crashed;
                member.state_reason = Some(StateCause::LeadEnded.in_words().to_owned());
                member.state_cause = Some(StateCause::LeadEnded);
                member.pid = None;
            } else if let Some(process) = stopped.filter(|_| member.role == Role::Lead) {
                // The state in the log is from before it was suspended.
                member.state_reason = Some(format!("stopped: `kill -CONT {process}`"));
                member.state_cause = None;
            }
            member
        };
        state.members().map(as_it_is).collect()
    }

    /// The lead lease, if a lead uses it.
    #[must_use]
    pub fn lease<'a>(&self, team: &'a Team, now: Time) -> Option<&'a LeadLease> {
        // A suspended lead does not renew its lease, but still leads.
        let is_held = |lease: &&LeadLease| lease.is_held(now) || self.running.is_some();
        let lease = team.lead_lease.as_ref().filter(is_held);
        lease.filter(|lease| !self.dead.contains(&lease.session))
    }

    /// The state of the team, in one word.
    #[must_use]
    pub fn standing(&self, state: &State, now: Time) -> TeamStanding {
        match state.team() {
            Some(team) => TeamStanding::of(team, self.lease(team, now).is_some()),
            None => TeamStanding::Deleted,
        }
    }
}

/// Whether a member was delegated a task and has not begun.
fn is_delegated(state: &State, member: &Member) -> bool {
    let mut held = state.tasks().held_by(&member.name);
    member.state == MemberState::Working
        && member.pid.is_none()
        && held.any(|task| state.delegation_of(task).is_some())
}
