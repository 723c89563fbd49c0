//! `troop task …`

mod delegate;

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use smol_str::SmolStr;
use troop_app::{
    task_graph::{GraphNode, graph_json},
    team::{DelegateOrder, TeamDesk},
};
use troop_model::{
    ActorKind, Asker, Condition, Fact, MAX_SHOWN_RESULT, MAX_TEXT, NewTask, Origin, RejectMode,
    State, TaskNumber, TaskRef, TaskUpdate, TaskView,
};
use troop_protocol::{Answer, Failure, FailureKind, Query, TaskList};
use troop_runtime::{Board, TaskPage};

use super::given;
use crate::{
    cli::{TaskFields, TaskSubcommand},
    output::Printer,
    render,
    report::{Error, Hint, HintCommand},
};

type Order = troop_model::TaskCommand;

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the rest changes the board, and has its own table"
)]
pub(super) async fn run(
    command: TaskSubcommand,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    match command {
        TaskSubcommand::List { status, page, scope } => {
            let viewer = viewer(scope.user, scope.channel, scope.chat);
            if printer.json {
                return print_list(Query::Tasks { status, page }, viewer, desk, printer).await;
            }
            let board = desk.team(None).await?;
            let page = board.list(status, viewer, page as usize).await?;
            show_page(&board, page, desk, printer).await
        }
        TaskSubcommand::Search { words, page, scope } => {
            let viewer = viewer(scope.user, scope.channel, scope.chat);
            let text = words.join(" ");
            if printer.json {
                return print_list(Query::Search { text, page }, viewer, desk, printer).await;
            }
            let board = desk.team(None).await?;
            let page = board.search(&text, viewer, page as usize).await?;
            show_page(&board, page, desk, printer).await
        }
        TaskSubcommand::Get { task, full } if printer.json => {
            let team = desk.handle().await?;
            let query = Query::Task { task: task.clone(), offset: 0 };
            let mut view: TaskView = team.query(query).await?;
            while let Some(offset) = view.result_next_offset.filter(|_| full) {
                let query = Query::Task { task: task.clone(), offset };
                let rest: TaskView = team.query(query).await?;
                view.result.get_or_insert_default().extend(rest.result);
                view.result_next_offset = rest.result_next_offset;
            }
            printer.json(&view)
        }
        TaskSubcommand::Get { task, full } => {
            let board = desk.team(None).await?;
            let task = board.task(task).await?;
            let n_chars = if full { MAX_TEXT } else { MAX_SHOWN_RESULT };
            let look = move |state: &State| render::task_detail(state, &task, n_chars);
            printer.text(&board.look(look).await?)
        }
        TaskSubcommand::Delegate { task, to, subject, note, wait } => {
            let wait = wait.map(Duration::from_secs);
            let note = note.map(given).transpose()?;
            let order = DelegateOrder { task, to, subject, note, wait };
            delegate::run(order, desk, printer).await
        }
        TaskSubcommand::Next => next(desk, printer).await,
        TaskSubcommand::Graph { dot, all } => graph(desk, dot, all, printer).await,
        TaskSubcommand::Claim { task: None, wait: Some(seconds) } => {
            let team = desk.handle().await?;
            let done = team.claim_next(Duration::from_secs(seconds)).await?;
            confirm(&done, "claimed", printer)
        }
        order => change(order, desk, printer).await,
    }
}

/// Changes a task, and confirms it.
async fn change(command: TaskSubcommand, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let without = without_checks(&command);
    let (verb, order) = order(command)?;
    let assigned = assigned(&order);
    let done = super::proof::change(desk, order, without.as_deref(), printer).await?;
    match assigned.filter(|_| printer.json && done.number().is_none()) {
        Some(task) => {
            let query = Query::Task { task, offset: 0 };
            let view: TaskView = desk.handle().await?.query(query).await?;
            printer.json(&view)
        }
        None => confirm(&done, verb, printer),
    }
}

/// The task that an assignment names. If it changes nothing, programs still get the task.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other change says what it changed")]
fn assigned(order: &Order) -> Option<TaskRef> {
    match order {
        Order::Assign { task, .. } => task.clone(),
        _ => None,
    }
}

/// The reason to skip the checks, if a person gave one.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other command is about them")]
fn without_checks(command: &TaskSubcommand) -> Option<String> {
    match command {
        TaskSubcommand::Complete { without_checks, .. }
        | TaskSubcommand::Approve { without_checks, .. } => without_checks.clone(),
        _ => None,
    }
}

/// Translates a command line into a command for the board, and the word for having done it.
#[expect(clippy::too_many_lines, reason = "a flat table: one arm for each command")]
fn order(command: TaskSubcommand) -> Result<(&'static str, Order)> {
    Ok(match command {
        TaskSubcommand::Create { subject, fields, id, approve_start } => {
            let new = NewTask {
                seen: None,
                id,
                subject: given(subject)?,
                description: fields.description.map(given).transpose()?.unwrap_or_default(),
                priority: fields.priority.unwrap_or(0),
                task_type: fields.task_type.map(SmolStr::new),
                assignee: fields.assignee,
                blocked_by: fields.blocked_by,
                until: fields.until.map(Condition::from),
                approve_start: approve_start.then_some(true),
                checks: fields.checks,
                metadata: fields.metadata.unwrap_or_default(),
            };
            ("created", Order::Create(new))
        }
        TaskSubcommand::Claim { task, .. } => ("claimed", Order::Claim { task }),
        TaskSubcommand::Complete { task, result, summary, attempt, .. } => {
            ("completed", Order::Complete { task, result: given(result)?, summary, attempt })
        }
        TaskSubcommand::Release { task, reason } => {
            ("gave back", Order::Release { task, reason: given(reason)? })
        }
        TaskSubcommand::Fail { task, reason, attempt } => {
            ("failed", Order::Fail { task, reason: given(reason)?, attempt, for_good: false })
        }
        TaskSubcommand::Cancel { task, reason } => ("cancelled", Order::Cancel { task, reason }),
        TaskSubcommand::Assign { task, member } => {
            ("assigned", Order::Assign { task: Some(task), to: member })
        }
        TaskSubcommand::Review { task, result } => {
            ("handed in", Order::Review { task, result: result.map(given).transpose()? })
        }
        TaskSubcommand::Approve { task, comment, .. } => {
            ("approved", Order::Approve { task, comment })
        }
        TaskSubcommand::Reject { task, reason, mode } => {
            ("rejected", Order::Reject { task, reason, mode: mode.into() })
        }
        TaskSubcommand::Retry { task } => ("to be retried:", Order::Retry { task }),
        TaskSubcommand::Comment { task, text } => {
            ("commented on", Order::Comment { task, text: given(text)? })
        }
        TaskSubcommand::Progress { task, percent, step } => {
            ("noted progress on", Order::Progress { task, percent, step })
        }
        TaskSubcommand::Attach { task, path } => {
            ("attached a file to", Order::Attach { task, path })
        }
        TaskSubcommand::AskUser { task, question } => {
            ("asking the user about", Order::AskUser { task, question: given(question)? })
        }
        TaskSubcommand::ClearAskUser { task } => {
            ("no longer asking about", Order::ClearAskUser { task })
        }
        TaskSubcommand::Delete { task } => ("deleted", Order::Delete { task }),
        TaskSubcommand::Update { task, subject, fields, unassign, add_blocked_by, unblock } => {
            let change =
                TaskUpdate { subject, add_blocked_by, ..update(fields, unassign, unblock)? };
            ("updated", Order::Update { task, change: Box::new(change) })
        }
        TaskSubcommand::List { .. }
        | TaskSubcommand::Search { .. }
        | TaskSubcommand::Get { .. }
        | TaskSubcommand::Next
        | TaskSubcommand::Delegate { .. }
        | TaskSubcommand::Graph { .. } => {
            let hint = Hint::from("see ").and_run(HintCommand::troop("task").word("--help"));
            return Err(Error::misuse("this command changes nothing", hint).into());
        }
    })
}

fn update(fields: TaskFields, unassign: bool, unblock: bool) -> Result<TaskUpdate> {
    let blocked_by = Some(fields.blocked_by).filter(|tasks| !tasks.is_empty());
    Ok(TaskUpdate {
        description: fields.description.map(given).transpose()?,
        priority: fields.priority,
        task_type: fields.task_type.map(SmolStr::new),
        assignee: if unassign { Some(None) } else { fields.assignee.map(Some) },
        blocked_by: if unblock { Some(Vec::new()) } else { blocked_by },
        until: fields.until.map(Condition::from),
        checks: (!fields.checks.is_empty()).then_some(fields.checks),
        metadata: fields.metadata,
        ..TaskUpdate::default()
    })
}

/// Confirms a change, and names the task.
fn confirm(done: &Answer, verb: &'static str, printer: &Printer) -> Result<()> {
    let Some(number) = done.number() else {
        return if printer.json {
            printer.json(&Value::Null)
        } else {
            printer.text("nothing changed\n")
        };
    };
    let deleted = done.events.iter().any(|event| matches!(event.fact, Fact::TaskDeleted { .. }));
    if deleted {
        let gone = json!({"number": number, "deleted": true});
        return if printer.json {
            printer.json(&gone)
        } else {
            printer.text(&format!("deleted {number}\n"))
        };
    }
    // The task as this change left it: by now others may have changed it again.
    let task: Option<TaskView> =
        done.task.as_ref().map(|task| serde_json::from_str(task.get())).transpose()?;
    if printer.json {
        return printer.json(&task);
    }
    let Some(task) = task else {
        return printer.text(&format!("{verb} {number}\n"));
    };
    let owner = task.owner.as_ref().map(|owner| format!(" ({owner})")).unwrap_or_default();
    let outcome = TaskOutcome::of(done, number);
    let verb = outcome.map_or(verb, TaskOutcome::as_str);
    let more = if outcome == Some(TaskOutcome::Cancelled) {
        "; to send it back for another try: `--mode revise`"
    } else {
        ""
    };
    printer.text(&format!("{verb} {number}: {}{owner}{more}\n", render::one_line(&task.subject)))
}

/// The real effect on a task, if that depends on the team's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskOutcome {
    Submitted,
    ToRetry,
    StartApproved,
    Cancelled,
    SentBack,
}

impl TaskOutcome {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "for the rest, what was asked for is what happened"
    )]
    fn of(done: &Answer, number: TaskNumber) -> Option<Self> {
        let about = done.events.iter().rev().filter(|event| event.fact.task() == Some(number));
        about.into_iter().find_map(|event| match &event.fact {
            Fact::TaskSubmitted { .. } => Some(Self::Submitted),
            Fact::TaskFailed { retry_at: Some(_), .. } => Some(Self::ToRetry),
            Fact::TaskStartApproved { .. } => Some(Self::StartApproved),
            Fact::TaskRejected { mode: RejectMode::Cancel, .. } => Some(Self::Cancelled),
            Fact::TaskRejected { mode: RejectMode::Revise, .. } => Some(Self::SentBack),
            _ => None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "handed in for review:",
            Self::ToRetry => "failed, to be retried:",
            Self::StartApproved => "approved the start of",
            Self::Cancelled => "rejected and cancelled",
            Self::SentBack => "rejected and sent back",
        }
    }
}

async fn show_page(
    board: &Board,
    page: TaskPage,
    desk: &TeamDesk,
    printer: &Printer,
) -> Result<()> {
    if page.tasks.is_empty() && page.page > page.pages {
        let hint = format!("the last page is `--page {}`", page.pages);
        return Err(Error::misuse(format!("there is no page {}", page.page), hint).into());
    }
    if page.tasks.is_empty() {
        return printer.text("no tasks\n");
    }
    let now = desk.clock.now();
    let width = printer.width();
    let text = board
        .look(move |state| {
            let rows: Vec<_> =
                page.tasks.iter().map(|task| render::Row::new(state, task, now)).collect();
            let mut text = render::board(&rows, width);
            if page.pages > 1 {
                text.push_str(&format!(
                    "\npage {} of {} · {} tasks\n",
                    page.page, page.pages, page.n_tasks
                ));
            }
            text
        })
        .await?;
    printer.text(&text)
}

/// Prints a page of tasks for programs.
async fn print_list(
    query: Query,
    viewer: Origin,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let asker = Asker { origin: viewer, ..desk.signature()?.asker };
    let list: TaskList = desk.handle().await?.query_as(asker, query).await?;
    printer.json(&list)
}

async fn next(desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let is_person = desk.actor()?.kind != ActorKind::Agent;
    let next: Result<TaskView, Failure> = desk.handle().await?.query(Query::Next {}).await;
    let next = next.map_err(|failure| {
        if failure.kind == FailureKind::NoWork && is_person {
            let hint = Hint::to("see why", HintCommand::troop("task list"));
            Error::no_work("no task can be started now", hint)
        } else {
            failure.into()
        }
    })?;
    if printer.json {
        return printer.json(&next);
    }
    let reserved = next.assignee.as_ref().map(|it| format!(" (for {it})")).unwrap_or_default();
    printer.text(&format!("{} {}{reserved}\n", next.number, render::one_line(&next.subject)))
}

async fn graph(desk: &mut TeamDesk, dot: bool, all: bool, printer: &Printer) -> Result<()> {
    let board = desk.team(None).await?;
    let nodes = board.look(move |state| GraphNode::all(state, all)).await?;
    if dot {
        printer.text(&render::dot(&nodes))
    } else if printer.json {
        printer.json(&graph_json(&nodes))
    } else if nodes.is_empty() {
        printer.text("no tasks\n")
    } else {
        printer.text(&render::graph(&nodes, printer.width()))
    }
}

/// The user whose view is wanted. Without one, everything is visible.
fn viewer(user: Option<String>, channel: Option<String>, chat: Option<String>) -> Origin {
    let Some(user) = user else { return Origin::default() };
    Origin {
        user_id: Some(SmolStr::new(user)),
        channel: Some(channel.map_or(SmolStr::new_static("cli"), SmolStr::new)),
        chat_id: chat.map(SmolStr::new),
        ..Origin::default()
    }
}

impl From<crate::cli::UntilArg> for Condition {
    fn from(until: crate::cli::UntilArg) -> Self {
        match until {
            crate::cli::UntilArg::OnSuccess => Self::OnSuccess,
            crate::cli::UntilArg::OnFinish => Self::OnFinish,
        }
    }
}

impl From<crate::cli::RejectModeArg> for RejectMode {
    fn from(mode: crate::cli::RejectModeArg) -> Self {
        match mode {
            crate::cli::RejectModeArg::Cancel => Self::Cancel,
            crate::cli::RejectModeArg::Revise => Self::Revise,
        }
    }
}
