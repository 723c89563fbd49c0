//! TEAM.md: the description of a team for its agents. Generated from the current state on demand, never stored.

use crate::{
    AgentKind, Assignment, Dialect, Member, MemberName, Role, State, TaskAction, TaskCreation,
    Team, TeamStatus, text,
};

/// How many characters of a teammate's expertise are shown.
const EXPERTISE: usize = 500;

/// The text for an agent without a team, so that it does not try to delegate.
pub const NO_TEAM: &str =
    "You are NOT part of any team. Do not use team_tasks or team_message tools.
You have NO delegation targets. Do not use spawn with agent parameter.
";

/// TEAM.md for this reader, marked as context from troop: everything about leading for the lead, little for a member, and for
/// any other reader only that it has no team. It speaks of the tools that the reader has: those of this dialect, or else of the
/// team's. For an agent that troop runs, unless it is external.
#[must_use]
pub fn team_md(state: &State, reader: &str, dialect: Option<Dialect>) -> String {
    let is_external = state.find_member(reader).is_ok_and(Member::is_external);
    written(state, reader, dialect, if is_external { RunBy::Client } else { RunBy::Troop })
}

/// The same for a program that troop does not run, whatever the member's agent is: nobody sees when it ends its work.
#[must_use]
pub fn team_md_for_client(state: &State, reader: &str, dialect: Option<Dialect>) -> String {
    written(state, reader, dialect, RunBy::Client)
}

/// What runs the agent that reads TEAM.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunBy {
    Troop,
    Client,
}

fn written(state: &State, reader: &str, dialect: Option<Dialect>, run_by: RunBy) -> String {
    let team = state.team().filter(|team| team.status != TeamStatus::Deleted);
    let text = match (team, state.find_member(reader)) {
        (Some(team), Ok(member)) => {
            let own = match AgentKind::Builtin.is(&member.agent) {
                true => Dialect::Claude,
                false => Dialect::Board,
            };
            let tools = dialect.or(team.settings.dialect).unwrap_or(own);
            match member.role {
                Role::Lead => for_lead(state, team, member, tools),
                Role::Member => for_member(state, team, member, tools, run_by),
            }
        }
        _ => NO_TEAM.to_owned(),
    };
    in_context(&text)
}

/// TEAM.md for an agent that is in no team.
#[must_use]
pub fn no_team_md() -> String {
    in_context(NO_TEAM)
}

fn in_context(text: &str) -> String {
    format!("<system_context name=\"TEAM.md\">\n{text}</system_context>\n")
}

fn for_lead(state: &State, team: &Team, lead: &Member, tools: Dialect) -> String {
    let mut text = heading(team);
    let goal = harmless(team.goal.trim());
    if !goal.is_empty() {
        text.push_str(&format!("{goal}\n\n"));
    }
    text.push_str(&format!("You are `{}`, and you lead this team: you decide what is done and by whom, your teammates do it.\n", lead.name));
    text.push_str("\n## Teammates\n\n");
    let teammates: Vec<_> = state.members().filter(|it| it.role == Role::Member).collect();
    if teammates.is_empty() {
        text.push_str("None yet.\n");
    }
    for member in &teammates {
        let is_open = state.link(&lead.name, &member.name).is_some_and(|link| link.enabled);
        let closed = if is_open { "" } else { " Nothing can be delegated to it now." };
        let introduced = introduced(member);
        let stop = if is_open || introduced.ends_with(['.', '!', '?']) { "" } else { "." };
        text.push_str(&format!("- {introduced}{stop}{closed}\n"));
    }
    // How to order the work of others is of no use to a lead that is alone.
    let is_alone = teammates.is_empty();
    if !is_alone {
        text.push_str(&workflow(team, tools));
    }
    if team.settings.delegation.delegate_mode == Some(true) {
        text.push_str("You are in delegate mode: you hold no task yourself.\n");
    }
    if !is_alone {
        text.push_str(PATTERNS);
        text.push_str(COMMUNICATION);
    }
    text.push_str(&checks(team));
    text.push_str(&budget(team));
    if tools == Dialect::Board {
        text.push_str(&actions_section(&TaskAction::offered(Role::Lead, &team.settings)));
    }
    text
}

/// How a lead gives out work with its tools.
fn workflow(team: &Team, tools: Dialect) -> String {
    match tools {
        Dialect::Claude if team.settings.assignment == Assignment::Claim => {
            format!("{BY_OWNER}{RESULTS_ONE_BY_ONE}")
        }
        Dialect::Claude => format!("{BY_OWNER}{TAKEN_BY_ITSELF}{RESULTS_ONE_BY_ONE}"),
        Dialect::Board => {
            let without = match team.settings.delegation.require_task {
                true => "is refused",
                false => "makes a task of its own",
            };
            format!("{WORKFLOW}A delegation without the id of a task {without}.\n")
        }
    }
}

fn for_member(state: &State, team: &Team, own: &Member, tools: Dialect, run_by: RunBy) -> String {
    let mut text = heading(team);
    text.push_str(&format!("You are `{}`, a member of this team.\n\n## Teammates\n\n", own.name));
    for member in state.members().filter(|it| it.name != own.name) {
        text.push_str(&format!("- {}\n", introduced(member)));
    }
    let end = match (run_by, tools) {
        // Nobody sees when it ends.
        (RunBy::Client, Dialect::Board) => ENDS_BY_BOARD,
        (RunBy::Client, Dialect::Claude) => ENDS_BY_UPDATE,
        (RunBy::Troop, _) => ENDS_BY_ITSELF,
    };
    text.push_str(&format!("{DUTIES}{end}"));
    text.push_str(&PROGRESS.replace("{lead}", state.lead().map_or("lead", lead_name)));
    text.push_str(&checks(team));
    let may_create = team.settings.task_creation == TaskCreation::Members;
    if tools == Dialect::Board {
        let mut actions = vec![TaskAction::List, TaskAction::Get, TaskAction::Search];
        actions.extend(may_create.then_some(TaskAction::Create));
        if run_by == RunBy::Client {
            actions = TaskAction::offered(Role::Member, &team.settings);
        }
        text.push_str(&actions_section(&actions));
    }
    if !may_create {
        text.push_str("Creating tasks and delegating them is for the lead.\n");
    }
    text
}

/// The checks that every task must pass.
fn checks(team: &Team) -> String {
    let of_lead = team.lead_lease.iter().flat_map(|lease| &lease.checks);
    let all = team.settings.checks.iter().chain(of_lead);
    let lines: String = all.map(|check| format!("- `{}`\n", harmless(check))).collect();
    if lines.is_empty() {
        return lines;
    }
    format!("\n## Before a task is done\n\ntroop runs these, and all must pass:\n\n{lines}")
}

/// The budget, for the lead, which decides what to do.
fn budget(team: &Team) -> String {
    let Some(told) = team.settings.budget.told(&team.usage) else { return String::new() };
    let percent = team.settings.budget.warn_percent;
    format!(
        "\n## The budget\n\nSpent so far: {told}. You are told when {percent}% of it is spent. When all is, nobody is started and no task \
         is begun until a person raises it, so do what matters most first.\n"
    )
}

fn lead_name(lead: &Member) -> &str {
    MemberName::as_str(&lead.name)
}

fn heading(team: &Team) -> String {
    let description = harmless(team.description.trim());
    let gap = if description.is_empty() { "" } else { "\n\n" };
    format!("# Team {}\n\n{description}{gap}", team.name)
}

fn introduced(member: &Member) -> String {
    let words: Vec<_> = member.expertise.split_whitespace().collect();
    let expertise = harmless(&text::preview(&words.join(" "), EXPERTISE));
    let about = if expertise.is_empty() { String::new() } else { format!(": {expertise}") };
    format!("`{}` ({}){about}", member.name, member.role)
}

fn actions_section(actions: &[TaskAction]) -> String {
    let names: Vec<_> = actions.iter().map(|action| action.as_str()).collect();
    format!("\n## What you can do with the board\n\n{}\n", names.join(", "))
}

/// Escapes text that people wrote, so that it can neither end troop's text nor imitate it.
fn harmless(text: &str) -> String {
    let mut pieces = text.split('<');
    let mut harmless = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let word = piece.trim_start().trim_start_matches('/').trim_start().to_ascii_lowercase();
        harmless.push(if word.starts_with("system_context") { '‹' } else { '<' });
        harmless.push_str(piece);
    }
    harmless
}

const WORKFLOW: &str = "
## How work is given out

Always in this order:

1. Look at the board, so that nothing is on it twice.
2. Create a task: what is to be done, and how one sees that it is.
3. Delegate the task to a teammate, with the task's id.

Whoever works on it holds the task from then on, and its result completes the task; you need not do either. When the last of
several that you delegated has ended, you get all results in one message.
";

const PATTERNS: &str = "
## Ways to order work

- Sequential: one finishes, you look at the result, and delegate what follows to another with that result.
- Iterative: one drafts, another reviews, and the draft goes back with the feedback, until it is good.
- Parallel: several work at once on tasks that do not need each other; then you look at all of it together.
- Mixed: some work in parallel, you look at what they made together, and delegate the rest to another.
";

const COMMUNICATION: &str = "
## The user

- When you give out work, tell the user who does what.
- In later rounds, tell the user what has come of it so far before you go on.
- At the end, answer in your own words from what your teammates found; the user reads your answer, not theirs.
";

/// How a lead gives out work by the owner of a task.
const BY_OWNER: &str = "
## How work is given out

Always in this order:

1. Look at the board, so that nothing is on it twice.
2. Create a task: what is to be done, and how one sees that it is.
3. Set the task's `owner` to a teammate, which assigns the task to it.

";
const TAKEN_BY_ITSELF: &str = "An idle teammate takes a task without an owner by itself.
";
const RESULTS_ONE_BY_ONE: &str =
    "Whoever works on it holds the task from then on, and its result completes the task; you need not do either. You get a message
when a task is done or has failed.
";

const DUTIES: &str = "
## Your work

Do the task that you are given, and only that. ";
const ENDS_BY_ITSELF: &str =
    "Your result is passed to the lead when you end; nothing else is needed to
complete the task. Say in it what you did, what came of it, and which files belong to it.
";
const ENDS_BY_BOARD: &str = "When it is done, complete it with its result: `team_tasks` with the action
`complete`; until then it counts as yours. If it cannot be done, use the action `fail`. Say in the result what you did, what came
of it, and which files belong to it.
";
const ENDS_BY_UPDATE: &str = "When it is done, complete it with its result: `TaskUpdate` with the status
`completed`; until then it counts as yours. Say in the result what you did, what came of it, and which files belong to it.
";
const PROGRESS: &str = "
If it takes long, or you need to know something, send `{lead}` a message: what is done, what is next, what is in the way. Then go
on with what you can do.
";
