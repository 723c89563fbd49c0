//! `troop resume`: goes on with a team whose lead ended.

use std::sync::Arc;

use anyhow::Result;
use troop_app::{
    Error,
    agents::{AgentFault, Agents, RunnableAgents, Thinker, Thinkers, UnfinishedLead},
    team::{Purpose, StoppedLead, TeamDesk},
};
use troop_model::{
    AgentKind, MAX_TEXT, MemberName, MemberState, NewMember, Party, Refusal, Spawn, Spending,
    State, StateCause, Status, Task, TeamStatus, preview,
};
use troop_runtime::{
    Board, BoardError, LeadThinks, LeadWork, is_to_start_again, last_project, was_cut_short,
};

use super::run::{conclude, lead, runnable, trust};
use crate::{
    cli::{LeadArgs, ResumeArgs},
    leading::{Beginning, Leading},
    output::Printer,
    report::{Hint, HintCommand, Refused, quoted_path},
};

/// What is to be said of a lead that was in the middle of a script.
const CUT_SHORT: &str = "it was cut short in the middle of its script";
/// What is to be said of a script that was left, however that was.
const NOT_BY_ITSELF: &str = "and does not go on with that by itself";

/// How many tasks a lead is told of.
const MAX_TASKS: usize = 50;

pub(super) async fn run(args: ResumeArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team_for(Purpose::Resume, args.name.as_deref()).await?;
    check_folder(desk, &board).await?;
    let trust = trust(desk, printer)?;
    let agents = Arc::new(runnable(desk, &trust)?);
    let before = |state: &State| state.lead().map(|lead| (lead.agent.clone(), lead.model.clone()));
    let (before, before_model) = board.look(before).await?.unwrap_or_default();
    let instead = instead(args.agent, desk, &agents)?;
    let (agent, model) = match &instead {
        Some(instead) => (instead.agent.clone(), instead.model.clone()),
        None => (before, before_model),
    };
    let name = board.look(|state| state.team().map(|team| team.name.to_string())).await?;
    let name = name.unwrap_or_default();
    let thinks = match AgentKind::External.is(&agent) {
        true => LeadThinks::Elsewhere,
        false => LeadThinks::Here,
    };
    if thinks == LeadThinks::Here {
        check_lead(&agents, &agent, model.as_deref(), &name)?;
    }
    if let Some(refused) = board.look(spent).await? {
        return Err(refused.into());
    }
    let mut thinkers = board.look(Thinkers::teammates_of).await?;
    thinkers.members.push(Thinker { agent: agent.clone(), model: model.clone() });
    agents.check_price(&thinkers)?;
    let goal = match agents.thinks(&agent, model.as_deref()) {
        true => board.look(open_goal).await?,
        false => None,
    };
    let left = match agents.follows(&agent, model.as_deref()) {
        true => board.look(left).await?,
        false => None,
    };
    let leading = Leading {
        desk,
        board: board.clone(),
        is_new: false,
        printer,
        trust: &trust,
        agents: Arc::clone(&agents),
        instead,
        thinks,
        // Nobody but the client that leads knows when it is done.
        args: LeadArgs { keep: args.lead.keep || thinks == LeadThinks::Elsewhere, ..args.lead },
        left: left.clone(),
    };
    let stopped = desk.stopped_lead(board.team());
    let begun = leading.begin().await.map_err(|error| held(error, &name, stopped))?;
    let has_goal = goal.is_some();
    let left = left.map(|left| left.why);
    let found = board.look(move |state| Resumption::new(state, has_goal, left)).await?;
    let can_run =
        |it: &NewMember| found.is_open && agents.check(&it.agent, it.model.as_deref()).is_ok();
    let (members, left): (Vec<_>, Vec<_>) = found.down.iter().cloned().partition(can_run);
    if !printer.json {
        printer.line(&found.says(&members, &left))?;
    }
    let members = members.into_iter().map(|member| Spawn { member, prompt: None }).collect();
    let finished = begun.run(Beginning { members, goal }).await?;
    conclude(&finished, printer)
}

/// Why nobody can go on, if nothing more may be spent.
fn spent(state: &State) -> Option<Refused> {
    let team = state.team().filter(|_| state.spending() == Spending::Spent)?;
    let budget = &team.settings.budget;
    let used = &team.usage;
    let name = &team.name;
    let told = budget.told(used).unwrap_or_default();
    let hint = format!(
        "raise it: `troop team set {name} {}`, then continue: `troop resume {name}`",
        budget.more(used)
    );
    Some(Refused::new(format!("the team's budget is spent: {told}"), hint))
}

/// Who leads this time, if not who did before.
fn instead(
    said: Option<String>,
    desk: &TeamDesk,
    runnable: &RunnableAgents,
) -> Result<Option<Thinker>> {
    let Some(said) = said else { return Ok(None) };
    let known = Agents::read(&desk.surroundings);
    let NewMember { agent, model, .. } = lead(Some(said), &desk.surroundings, runnable, &known)?;
    Ok(Some(Thinker { agent, model }))
}

/// Checks whether an agent can lead, and says who could instead.
fn check_lead(agents: &RunnableAgents, agent: &str, model: Option<&str>, name: &str) -> Result<()> {
    let resume = HintCommand::troop("resume").team(name).word("--agent").blank("AGENT");
    let other = Hint::to("choose another agent to lead", resume);
    agents.check(agent, model).map_err(|fault| match fault {
        AgentFault::NotAvailable { .. } => {
            let hint = other.and("; ").and_hint(agents.how_to_lead().clone());
            Refused::new(fault.to_string(), hint).into()
        }
        AgentFault::Unfit { message, hint }
        | AgentFault::Untrusted(Error::Refused { message, hint, .. }) => {
            Refused::new(message, hint.and("; or ").and_hint(other)).into()
        }
        AgentFault::Untrusted(error) => error.into(),
        fault => fault.into(),
    })
}

/// Somebody leads it already: what can be done about this team.
fn held(error: anyhow::Error, name: &str, stopped: Option<StoppedLead>) -> anyhow::Error {
    let refused = error.downcast_ref::<BoardError>();
    let Some(BoardError::Refused(refusal @ Refusal::LeadHeld { .. })) = refused else {
        return error;
    };
    if let Some(stopped) = stopped {
        let message = format!("team `{name}` does not respond: {}", stopped.says());
        let hint = format!("{}, then: `troop resume {name}`", stopped.ways_out());
        return Refused::conflict(message, hint).into();
    }
    let hint = format!(
        "see what it is doing: `troop --team {name} events --follow`; stop it: `troop stop {name}`"
    );
    Refused::conflict(refusal.to_string(), hint).into()
}

/// A team goes on where it worked before, as long as that folder is there.
async fn check_folder(desk: &TeamDesk, board: &Board) -> Result<()> {
    let here = desk.surroundings.project.canonicalize()?;
    let there = last_project(&desk.folder(board.team())).and_then(|it| it.canonicalize().ok());
    let Some(there) = there.filter(|there| *there != here) else { return Ok(()) };
    let name = board.look(|state| state.team().map(|team| team.name.to_string())).await?;
    let name = name.unwrap_or_default();
    let message = format!("team `{name}` works in another folder: `{}`", there.display());
    let hint = format!("continue there: `cd {}`, then `troop resume {name}`", quoted_path(&there));
    Err(Refused::new(message, hint).into())
}

/// How the lead stands with what it was told, and why, if it has not done it.
fn left(state: &State) -> Option<UnfinishedLead> {
    let lead = state.lead()?;
    let (work, why) = match (lead.state, lead.state_cause) {
        (_, Some(cause @ StateCause::CouldNot)) => (LeadWork::Failed, cause.in_words()),
        (MemberState::Crashed, _) | (_, Some(StateCause::LeftOpen)) => (LeadWork::Open, CUT_SHORT),
        _ => return None,
    };
    Some(UnfinishedLead { work, why: format!("{why}, {NOT_BY_ITSELF}") })
}

/// Whether a person has told the lead something that it has not read yet.
fn is_told(state: &State) -> bool {
    let lead = state.lead().map(|lead| Party::member(&lead.name));
    lead.is_some_and(|lead| state.mailbox().unread_of(&lead).any(|it| it.from == Party::user()))
}

/// What a lead is told that remembers nothing of what it was at: its goal, if that is not reached, and what there is of it.
fn open_goal(state: &State) -> Option<String> {
    let team = state.team()?;
    let goal = team.description.trim();
    if team.status != TeamStatus::Active || team.n_leads == 0 || goal.is_empty() {
        return None;
    }
    let lead = Party::member(&state.lead()?.name);
    let mut unread = state.mailbox().unread_of(&lead);
    if unread.any(|it| it.from == Party::user() && it.content.contains(goal)) {
        // It will hear of it anyway.
        return None;
    }
    let tasks = state.tasks().iter().take(MAX_TASKS).map(|task| {
        let status = state.tasks().status(task.number).unwrap_or(task.status);
        format!("\n- {}, {status}: {}", task.number, task.subject)
    });
    let tasks: String = tasks.collect();
    let board = if tasks.is_empty() { "\nNo task is on the board.".to_owned() } else { tasks };
    let words = "You were cut short while you led this team, and what you said and did then is not in this conversation. Look \
                 at what is there before you begin: what is done need not be done again. Go on until the goal is reached.";
    let room = MAX_TEXT.saturating_sub(goal.chars().count() + 2);
    Some(format!("{goal}\n\n{}", preview(&format!("{words}\n\nOn the board:{board}"), room)))
}

/// What is left of a team whose lead ended.
struct Resumption {
    /// How many ended with it, or crashed.
    n_cut_short: usize,
    /// The members that do not run although nobody wanted them alone to stop.
    down: Vec<NewMember>,
    /// Whether there is something to do.
    is_open: bool,
    /// Whether the lead goes on with what it was told.
    has_goal: bool,
    /// Why it has not done what it was told, with which it does not go on.
    left: Option<String>,
}

impl Resumption {
    fn new(state: &State, has_goal: bool, left: Option<String>) -> Self {
        let again = |member: &troop_model::Member| NewMember {
            name: member.name.clone(),
            agent: member.agent.clone(),
            expertise: member.expertise.clone(),
            model: member.model.clone(),
            permissions: None,
        };
        let n_cut_short = state.members().filter(|it| was_cut_short(it)).count();
        let limit = state.team().map_or(0, |team| team.settings.max_teammates as usize);
        let mut down: Vec<_> = state.members().filter(|it| is_to_start_again(it)).collect();
        // Who has never run comes after those who have.
        down.sort_by_key(|it| it.state_since == it.joined_at);
        let down = down.into_iter().take(limit).map(again).collect();
        let is_open = |task: &Task| match task.status {
            Status::Completed | Status::Cancelled => false,
            Status::Failed => task.start.not_before.is_some(),
            Status::Pending
            | Status::InProgress
            | Status::InReview
            | Status::Blocked
            | Status::Stale => true,
        };
        let is_open = has_goal || is_told(state) || state.tasks().iter().any(is_open);
        Self { n_cut_short, down, is_open, has_goal, left }
    }

    fn says(&self, again: &[NewMember], left: &[NewMember]) -> String {
        let names = |members: &[NewMember]| {
            let names: Vec<_> = members.iter().map(|it| MemberName::as_str(&it.name)).collect();
            names.join(", ")
        };
        let mut parts = Vec::new();
        match self.n_cut_short {
            0 => {}
            1 => parts.push("1 teammate was cut short".to_owned()),
            n => parts.push(format!("{n} teammates were cut short")),
        }
        if let Some(why) = &self.left {
            parts.push(format!("the lead {}", why.trim_start_matches("it ")));
        }
        if !self.is_open {
            parts.push("no task is open, so nobody is started".to_owned());
            return parts.join("; ");
        }
        if self.has_goal {
            parts.push("the lead continues with its goal".to_owned());
        }
        if !again.is_empty() {
            parts.push(format!("started: {}", names(again)));
        }
        if !left.is_empty() {
            parts.push(format!("their agents are not available: {}", names(left)));
        }
        if self.down.is_empty() && !self.has_goal {
            parts.push("there is nobody to start".to_owned());
        }
        parts.join("; ")
    }
}
