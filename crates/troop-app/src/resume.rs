//! Prepares a team whose lead ended to be led again.

use std::{fmt, path::PathBuf, sync::Arc};

use troop_model::{
    AgentKind, Hint, HintCommand, MAX_TEXT, MemberName, MemberState, NewMember, Notice, Party,
    Refusal, Spawn, Spending, State, StateCause, Status, Task, TeamStatus, preview,
};
use troop_runtime::{
    Board, BoardError, LeadThinks, is_to_start_again, last_project, was_cut_short,
};

use crate::{
    Error, FileAct, Result,
    agents::{AgentFault, Agents, RunnableAgents, Thinker, Thinkers, UnfinishedLead, check_leads},
    hint::{follow_events, raise_budget, resume as resume_command},
    leading::{Beginning, LeadTerms, Leading, WhenQuiet},
    start,
    team::{Purpose, TeamDesk, name_of},
    trust::ProjectTrust,
};

/// How many tasks that message lists.
const MAX_TASKS: usize = 50;

/// The message for a lead that has lost its memory.
const CUT_SHORT: &str = "You were cut short while you led this team, and what you said and did then is not in this conversation. Look \
                         at what is there before you begin: what is done need not be done again. Go on until the goal is reached.";

/// A person's choices for this run.
#[derive(Debug)]
pub struct ResumeOptions {
    /// The agent that leads this time, if not the one that led before.
    pub agent: Option<String>,
    pub terms: LeadTerms,
}

/// A team that can be led again.
#[derive(Debug)]
pub struct TeamResumption {
    pub leading: Leading,
    pub resumption: Resumption,
}

/// The facts about a team that is to continue.
#[derive(Debug)]
pub struct Resumption {
    name: String,
    board: Board,
    agents: Arc<RunnableAgents>,
    /// The message for a lead that has a goal and cannot remember it.
    goal: Option<String>,
    left: Option<UnfinishedLead>,
}

/// The beginning of a resumed team, once its lead is taken.
#[derive(Debug)]
pub struct ResumePlan {
    pub beginning: Beginning,
    pub report: ResumeReport,
}

/// The summary for people of how a team continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeReport {
    /// How many members ended with the lead, or crashed.
    pub n_cut_short: usize,
    /// The members that start again.
    pub started: Vec<MemberName>,
    /// The members that cannot run, with the reason.
    pub unavailable: Vec<(MemberName, String)>,
    /// Whether there is something to do.
    pub is_open: bool,
    /// Whether the lead continues with its goal.
    pub has_goal: bool,
    pub left: Option<UnfinishedLead>,
}

/// Opens the team to be resumed. Refused in another folder than where the team worked before, as long as that one exists.
pub async fn open(desk: &mut TeamDesk, name: Option<&str>) -> Result<Board> {
    desk.check_may_lead()?;
    let board = desk.team_for(Purpose::Resume, name).await?;
    let project = &desk.surroundings.project;
    let unusable = |source| Error::File { path: project.clone(), act: FileAct::Used, source };
    let here = project.canonicalize().map_err(unusable)?;
    let there = last_project(&desk.folder(board.team())).and_then(|it| it.canonicalize().ok());
    let Some(there) = there.filter(|there| *there != here) else { return Ok(board) };
    let name = name_of(&board).await?;
    let there = there.display();
    let message = format!("team `{name}` works in another folder: `{there}`");
    let hint = Hint::to("continue there", HintCommand::other("cd").word(&there))
        .then_to("", resume_command(name));
    Err(Error::refused(message, hint))
}

/// Checks that everything is here that an opened team needs to be led again. `troop` is the program to start for teammates.
pub async fn resume(
    desk: &TeamDesk,
    board: Board,
    trust: &ProjectTrust,
    troop: PathBuf,
    options: ResumeOptions,
) -> Result<TeamResumption> {
    let agents = Arc::new(RunnableAgents::of_desk(desk, trust, troop)?);
    let substitute = substitute(options.agent, desk, &agents)?;
    let thinker = match &substitute {
        Some(substitute) => substitute.clone(),
        None => board.look(Thinker::lead_of).await?,
    };
    let Thinker { agent, model } = &thinker;
    let name = name_of(&board).await?;
    let thinks = match AgentKind::External.is(agent) {
        true => LeadThinks::Elsewhere,
        false => LeadThinks::Here,
    };
    if thinks == LeadThinks::Here {
        check_lead(&agents, &thinker, &name)?;
    }
    if let Some(refused) = board.look(spent).await? {
        return Err(refused);
    }
    let mut thinkers = board.look(Thinkers::teammates_of).await?;
    thinkers.members.push(thinker.clone());
    agents.check_price(&thinkers)?;
    let goal = match agents.thinks(agent, model.as_deref()) {
        true => board.look(open_goal).await?,
        false => None,
    };
    let left = match agents.follows(agent, model.as_deref()) {
        true => board.look(left).await?,
        false => None,
    };
    let terms = match thinks {
        // Only the client that leads knows when it is done.
        LeadThinks::Elsewhere => LeadTerms { when_quiet: WhenQuiet::Stay, ..options.terms },
        LeadThinks::Here => options.terms,
    };
    let leading = Leading {
        board: board.clone(),
        is_new: false,
        agents: Arc::clone(&agents),
        substitute,
        thinks,
        terms,
        left,
    };
    let resumption = Resumption { name, board, agents, goal, left };
    Ok(TeamResumption { leading, resumption })
}

impl Resumption {
    /// Why the lead could not be taken: if somebody has it, what can be done about that.
    #[must_use]
    pub fn explain(&self, error: Error, desk: &TeamDesk) -> Error {
        let Error::Board(BoardError::Refused(refusal @ Refusal::LeadHeld { .. })) = &error else {
            return error;
        };
        let name = &self.name;
        if let Some(stopped) = desk.stopped_lead(self.board.team()) {
            let message = format!("team `{name}` does not respond: {}", stopped.says());
            let hint = stopped.ways_out().and(", then: ").and_run(resume_command(name));
            return Error::conflict(message, hint);
        }
        let hint = Hint::to("see what it is doing", follow_events(name)).and_to(
            "; ",
            "stop it",
            HintCommand::troop("stop").team(name),
        );
        Error::conflict(refusal.to_string(), hint)
    }

    /// The beginning of the resumed team, now that its lead is taken.
    pub async fn plan(self) -> Result<ResumePlan> {
        let Self { board, agents, goal, left, .. } = self;
        let has_goal = goal.is_some();
        let found = board.look(move |state| LeftTeam::new(state, has_goal)).await?;
        let LeftTeam { n_cut_short, is_open, down } = &found;
        let mut members = Vec::new();
        let mut unavailable = Vec::new();
        for member in down.iter().filter(|_| *is_open) {
            match agents.check(&member.agent, member.model.as_deref()) {
                Ok(()) => members.push(member.clone()),
                Err(why) => unavailable.push((member.name.clone(), why.to_string())),
            }
        }
        let report = ResumeReport {
            n_cut_short: *n_cut_short,
            started: members.iter().map(|it| it.name.clone()).collect(),
            unavailable,
            is_open: *is_open,
            has_goal,
            left,
        };
        let members = members.into_iter().map(|member| Spawn { member, prompt: None }).collect();
        Ok(ResumePlan { beginning: Beginning { members, goal }, report })
    }
}

/// Refuses to continue if nothing more may be spent.
fn spent(state: &State) -> Option<Error> {
    let team = state.team().filter(|_| state.spending() == Spending::Spent)?;
    let told = team.settings.budget.told(&team.usage).unwrap_or_default();
    let message = format!("the team's budget is spent: {told}");
    Some(Error::refused(message, raise_budget(team)))
}

/// The agent that leads this time, if one was chosen.
fn substitute(
    chosen: Option<String>,
    desk: &TeamDesk,
    runnable: &RunnableAgents,
) -> Result<Option<Thinker>> {
    let Some(chosen) = chosen else { return Ok(None) };
    let known = Agents::read(&desk.surroundings);
    let lead = start::lead(Some(chosen), &desk.surroundings, runnable, &known)?;
    Ok(Some(Thinker::from(&lead)))
}

/// Checks whether an agent can lead, and says which could instead.
fn check_lead(agents: &RunnableAgents, thinker: &Thinker, name: &str) -> Result<()> {
    let resume = resume_command(name).word("--agent").blank("AGENT");
    let other = Hint::to("choose another agent to lead", resume);
    check_leads(&thinker.agent, &other)?;
    agents.check(&thinker.agent, thinker.model.as_deref()).map_err(|fault| match fault {
        AgentFault::NotAvailable { .. } => {
            let hint = other.and("; ").and_hint(agents.how_to_lead().clone());
            Error::refused(fault.to_string(), hint)
        }
        AgentFault::Unfit { message, hint }
        | AgentFault::Untrusted(Error::Refused { message, hint, .. }) => {
            Error::refused(message, hint.and("; or ").and_hint(other))
        }
        AgentFault::Untrusted(error) => error,
    })
}

/// The unfinished work of a lead that follows a script.
fn left(state: &State) -> Option<UnfinishedLead> {
    let lead = state.lead()?;
    match (lead.state, lead.state_cause) {
        (_, Some(StateCause::CouldNot)) => Some(UnfinishedLead::Failed),
        (MemberState::Crashed, _) | (_, Some(StateCause::LeftOpen)) => {
            Some(UnfinishedLead::CutShort)
        }
        _ => None,
    }
}

/// The message for a lead that has lost its memory: its goal, if that is not reached, and the board.
fn open_goal(state: &State) -> Option<String> {
    let team = state.team()?;
    // Older logs have the goal as the description.
    let goal = if team.goal.trim().is_empty() { &team.description } else { &team.goal };
    let goal = goal.trim();
    if team.status != TeamStatus::Active || team.n_leads == 0 || goal.is_empty() {
        return None;
    }
    let lead = Party::member(&state.lead()?.name);
    let mut unread = state.mailbox().unread_of(&lead);
    if unread.any(|it| it.notice == Some(Notice::Goal)) {
        // It will read that anyway. In older logs the goal is not marked, and the lead reads it twice.
        return None;
    }
    let tasks = state.tasks().iter().take(MAX_TASKS).map(|task| {
        let status = state.tasks().status(task.number).unwrap_or(task.status);
        format!("\n- {}, {status}: {}", task.number, task.subject)
    });
    let tasks: String = tasks.collect();
    let board = if tasks.is_empty() { "\nNo task is on the board.".to_owned() } else { tasks };
    let room = MAX_TEXT.saturating_sub(goal.chars().count() + 2);
    Some(format!("{goal}\n\n{}", preview(&format!("{CUT_SHORT}\n\nOn the board:{board}"), room)))
}

/// The remains of a team whose lead ended.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeftTeam {
    n_cut_short: usize,
    /// The members that do not run although nobody stopped them alone.
    down: Vec<NewMember>,
    is_open: bool,
}

impl LeftTeam {
    fn new(state: &State, has_goal: bool) -> Self {
        let n_cut_short = state.members().filter(|it| was_cut_short(it)).count();
        let limit = state.team().map_or(0, |team| team.settings.max_teammates as usize);
        let mut down: Vec<_> = state.members().filter(|it| is_to_start_again(it)).collect();
        // Members that have never run come last.
        down.sort_by_key(|it| it.state_since == it.joined_at);
        let down = down.into_iter().take(limit).map(NewMember::again).collect();
        let is_open = |task: &Task| match task.status {
            Status::Completed | Status::Cancelled => false,
            Status::Failed => task.start.not_before.is_some(),
            Status::Pending
            | Status::InProgress
            | Status::InReview
            | Status::Blocked
            | Status::Stale => true,
        };
        let is_open = has_goal || state.lead_has_request() || state.tasks().iter().any(is_open);
        Self { n_cut_short, down, is_open }
    }
}

impl fmt::Display for ResumeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |members: &[MemberName]| {
            members.iter().map(MemberName::as_str).collect::<Vec<_>>().join(", ")
        };
        let mut parts = Vec::new();
        match self.n_cut_short {
            0 => {}
            1 => parts.push("1 teammate was cut short".to_owned()),
            n => parts.push(format!("{n} teammates were cut short")),
        }
        if let Some(left) = self.left {
            parts.push(format!("the lead {}", left.says()));
        }
        if !self.is_open {
            parts.push("no task is open, so nobody is started".to_owned());
            return f.write_str(&parts.join("; "));
        }
        if self.has_goal {
            parts.push("the lead continues with its goal".to_owned());
        }
        if !self.started.is_empty() {
            parts.push(format!("started: {}", names(&self.started)));
        }
        if !self.unavailable.is_empty() {
            let named = self.unavailable.iter().map(|(name, why)| format!("{name} ({why})"));
            let named: Vec<_> = named.collect();
            parts.push(format!("not started: {}", named.join(", ")));
        }
        if self.started.is_empty() && self.unavailable.is_empty() && !self.has_goal {
            parts.push("there is nobody to start".to_owned());
        }
        f.write_str(&parts.join("; "))
    }
}

#[cfg(test)]
mod tests;
