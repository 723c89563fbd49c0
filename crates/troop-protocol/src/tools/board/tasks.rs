//! `team_tasks`: every action on the board.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use troop_model::{
    MemberName, Metadata, NewTask, RejectMode, Role, Status, TaskAction, TaskCommand, TaskFilter,
    TaskRef, TaskUpdate,
};

use super::super::{
    Calls, Category, Seat, TeamTool,
    desk::{ToolDesk, read},
    input,
    seen::{TaskLine, TaskPageLines},
};
use super::view::{BriefTask, FullTask, SearchHit, TaskPageText};
use crate::{
    call::{Answer, Query},
    code::{Failure, FailureKind},
};

const ASSIGNEE_REQUIRED: &str =
    "assignee is required — specify which team member should handle this task";
const LIST_FIRST: &str = "You must check existing tasks first. Call team_tasks(action='list') to review the current task \
                          board before creating new tasks — this prevents duplicates in concurrent sessions.";

/// Input of `team_tasks`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamTasks {
    /// What to do
    action: String,
    /// The task's number or id. For claim, leave it out to take the next task that you can
    #[serde(default, alias = "id", alias = "task", alias = "task_number")]
    #[schemars(with = "Option<String>")]
    task_id: Option<TaskRef>,
    /// create, update: the subject, in one line
    #[serde(default, alias = "title", deserialize_with = "input::said")]
    subject: Option<String>,
    /// create, update: everything that is needed to do it, and when it counts as done
    description: Option<String>,
    /// create, update: higher goes first
    #[serde(default, deserialize_with = "input::number")]
    priority: Option<i32>,
    /// create (required), assign, update: the member that should do it
    #[serde(default, alias = "agent", alias = "to", deserialize_with = "input::said")]
    assignee: Option<String>,
    /// create, update: tasks that must be finished first
    #[serde(default, deserialize_with = "input::several_if_given")]
    #[schemars(with = "Option<Vec<String>>")]
    blocked_by: Option<Vec<TaskRef>>,
    /// create, update: a label; `general` if not given
    #[serde(default, alias = "type", deserialize_with = "input::said")]
    task_type: Option<String>,
    /// create, update: arbitrary data
    metadata: Option<Map<String, Value>>,
    /// create: whether its start needs approval
    approve_start: Option<bool>,
    /// complete (required), review: the result
    #[serde(default, deserialize_with = "input::said")]
    result: Option<String>,
    /// complete: the result in a few words
    #[serde(default, deserialize_with = "input::said")]
    summary: Option<String>,
    /// reject, cancel, fail, release (required): why
    #[serde(default, deserialize_with = "input::said")]
    reason: Option<String>,
    /// reject: `cancel` ends the task, `revise` sends it back to its owner; `cancel` if not given
    mode: Option<RejectMode>,
    /// comment, `ask_user` (required), approve: the text
    #[serde(
        default,
        alias = "comment",
        alias = "question",
        alias = "content",
        deserialize_with = "input::said"
    )]
    text: Option<String>,
    /// progress: 0 to 100
    #[serde(default, alias = "progress_percent", deserialize_with = "input::number")]
    percent: Option<i64>,
    /// progress: the current step
    #[serde(default, alias = "progress_step")]
    step: String,
    /// attach: a file's path in the workspace
    #[serde(default, alias = "file_id", alias = "file", deserialize_with = "input::said")]
    path: Option<String>,
    /// list: `active`, `in_review`, `completed`, `all`, or any status; `active` if not given
    #[serde(default, alias = "filter", deserialize_with = "input::said")]
    status: Option<String>,
    /// search: words to find in the subject or the description
    #[serde(default, deserialize_with = "input::said")]
    query: Option<String>,
    /// list, search: the page, from 1; each has 30 tasks
    #[serde(default, deserialize_with = "input::number")]
    page: Option<u32>,
    /// get: where to continue with a long result
    #[serde(default, deserialize_with = "input::number")]
    offset: Option<usize>,
}

impl TeamTool for TeamTasks {
    const NAME: &'static str = "team_tasks";
    const CATEGORY: Category = Category::Coordination;
    const EXAMPLE: &'static str = r#"{"action": "list"}"#;

    fn example(input: &Value) -> String {
        let action = input.get("action").and_then(Value::as_str).and_then(|word| word.parse().ok());
        action.map_or_else(|| Self::EXAMPLE.to_owned(), example)
    }

    fn about(seat: &Seat) -> String {
        let actions = actions(seat);
        let mut text = "The team's task board.".to_owned();
        if actions.contains(&TaskAction::Create) {
            text.push_str(
                " List the tasks before you create one, to avoid duplicates; every task needs an assignee. Then delegate the \
                 task with `spawn`.",
            );
        }
        if seat.role == Role::Member {
            text.push_str(
                " Work on the task that you were given, report your progress, and complete the task with its result.",
            );
        }
        text.push_str(
            " Completing a task that nobody holds claims it first. If several members claim a task, one gets it.\nActions: ",
        );
        let lines: Vec<_> = actions.iter().map(|action| about(*action)).collect();
        text + &lines.join("; ") + "."
    }

    fn schema(seat: &Seat) -> Value {
        let mut schema = input::schema::<Self>();
        let words: Vec<_> = actions(seat).into_iter().map(TaskAction::as_str).collect();
        if let Some(action) = schema.pointer_mut("/properties/action") {
            action["enum"] = json!(words);
        }
        schema
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let action = self.read_action(desk.seat)?;
        match action {
            TaskAction::List => self.list(desk).await,
            TaskAction::Search => self.search(desk).await,
            TaskAction::Get => {
                let query =
                    Query::Task { task: self.task(action)?, offset: self.offset.unwrap_or(0) };
                let answer = desk.answer(query).await?;
                let line = read(&answer)?;
                let task = read(&answer)?;
                Ok(json!(FullTask::new(&line, &task)).to_string())
            }
            TaskAction::Create => self.create(desk).await,
            TaskAction::Claim => self.claim(desk).await,
            TaskAction::Complete
            | TaskAction::Cancel
            | TaskAction::Assign
            | TaskAction::Approve
            | TaskAction::Reject
            | TaskAction::Review
            | TaskAction::Comment
            | TaskAction::Progress
            | TaskAction::Attach
            | TaskAction::Prove
            | TaskAction::Update
            | TaskAction::AskUser
            | TaskAction::ClearAskUser
            | TaskAction::Retry
            | TaskAction::Fail
            | TaskAction::Delete
            | TaskAction::Release => {
                let command = self.command(action)?;
                let changed = desk.change_task(command).await;
                let is_missing = |it: &Failure| {
                    // What the board itself does not find has a name.
                    action == TaskAction::Attach
                        && it.kind == FailureKind::NotFound
                        && it.refusal.is_none()
                };
                let answer = changed.map_err(|failure| match is_missing(&failure) {
                    true => failure.with_hint(PUT_IT_THERE),
                    false => failure,
                })?;
                Ok(told(action, &answer))
            }
        }
    }
}

fn actions(seat: &Seat) -> Vec<TaskAction> {
    TaskAction::offered(seat.role, &seat.settings)
}

fn about(action: TaskAction) -> &'static str {
    match action {
        TaskAction::Create => "create (subject, assignee; description, priority, blocked_by)",
        TaskAction::Claim => "claim (task_id) makes a pending task yours",
        TaskAction::Complete => "complete (task_id, result)",
        TaskAction::Cancel => "cancel (task_id, reason)",
        TaskAction::Assign => {
            "assign (task_id, assignee) gives a pending task to a member, which starts it"
        }
        TaskAction::List => "list (status, page)",
        TaskAction::Get => "get (task_id) shows everything about a task",
        TaskAction::Search => "search (query, page)",
        TaskAction::Approve => "approve (task_id) accepts a result that is in review",
        TaskAction::Reject => "reject (task_id, reason, mode)",
        TaskAction::Review => "review (task_id, result) submits a result for approval",
        TaskAction::Comment => "comment (task_id, text)",
        TaskAction::Progress => "progress (task_id, percent, step)",
        TaskAction::Attach => "attach (task_id, path)",
        TaskAction::Prove => "prove (task_id) is for troop, which runs the checks",
        TaskAction::Update => "update (task_id, and what changes)",
        TaskAction::AskUser => {
            "ask_user (task_id, text) asks the person; the question stays open until it is cleared"
        }
        TaskAction::ClearAskUser => "clear_ask_user (task_id)",
        TaskAction::Retry => "retry (task_id) tries a failed or stale task again",
        TaskAction::Fail => "fail (task_id, reason) reports that it cannot be done",
        TaskAction::Delete => "delete (task_id) removes a finished task from the board",
        TaskAction::Release => {
            "release (task_id, reason) gives your task back; the lead takes a task back from whoever holds it"
        }
    }
}

impl TeamTasks {
    fn read_action(&self, seat: &Seat) -> Result<TaskAction, Failure> {
        let word = self.action.trim();
        // Members cannot prove their own results.
        let action = word.parse().ok().filter(|action| *action != TaskAction::Prove);
        action.ok_or_else(|| {
            let known: Vec<_> = actions(seat).into_iter().map(TaskAction::as_str).collect();
            input::unknown_action(word, &known)
        })
    }

    fn task(&self, action: TaskAction) -> Result<TaskRef, Failure> {
        self.task_id.clone().ok_or_else(|| needs(action, "task_id"))
    }

    fn member(&self, action: TaskAction) -> Result<MemberName, Failure> {
        let name = self.assignee.as_deref().ok_or_else(|| needs(action, "assignee"))?;
        name.parse().map_err(|error| Failure::new(FailureKind::Invalid, &error))
    }

    async fn list<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let status = match self.status.as_deref().map(TaskFilter::parse) {
            None => TaskFilter::Active,
            Some(Ok(filter)) => filter,
            Some(Err(unknown)) => {
                let message = format!("`team_tasks`, `status`: {unknown}");
                return Err(Failure::new(FailureKind::BadParams, &message));
            }
        };
        let query = Query::Tasks { status, page: self.page.unwrap_or(1) };
        let answer = desk.answer(query).await?;
        let TaskPageLines { tasks, page, pages, version } = read(&answer)?;
        desk.note_listing(version);
        TaskPageText { tasks: tasks.iter().map(BriefTask::from).collect(), page, pages }.told()
    }

    async fn search<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let Some(text) = self.query.or(self.text) else {
            return Err(needs(TaskAction::Search, "query"));
        };
        let query = Query::Search { text, page: self.page.unwrap_or(1) };
        let answer = desk.answer(query).await?;
        let TaskPageLines { tasks, page, pages, version } = read(&answer)?;
        desk.note_listing(version);
        TaskPageText { tasks: tasks.iter().map(SearchHit::from).collect(), page, pages }.told()
    }

    /// Takes a task. A member that asks for any task and holds one already gets that one: it may not know of it.
    async fn claim<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let action = TaskAction::Claim;
        let is_any = self.task_id.is_none();
        match desk.change_task(TaskCommand::Claim { task: self.task_id }).await {
            Err(failure) if is_any && failure.kind == FailureKind::NoWork => {
                own_task(desk).await?.ok_or(failure)
            }
            answer => Ok(told(action, &answer?)),
        }
    }

    async fn create<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let action = TaskAction::Create;
        if self.assignee.is_none() {
            let hint = format!("for example: team_tasks {}", example(action));
            let failure = Failure::new(FailureKind::BadParams, ASSIGNEE_REQUIRED);
            return Err(failure.with_hint(hint));
        }
        let assignee = Some(self.member(action)?);
        let new = NewTask {
            subject: self.subject.ok_or_else(|| needs(action, "subject"))?,
            description: self.description.unwrap_or_default(),
            priority: self.priority.unwrap_or_default(),
            task_type: self.task_type.map(Into::into),
            assignee,
            blocked_by: self.blocked_by.unwrap_or_default(),
            approve_start: self.approve_start,
            metadata: Metadata(self.metadata.unwrap_or_default()),
            ..NewTask::default()
        };
        if !actions(desk.seat).contains(&action) {
            // The board says who may.
            return Ok(told(action, &desk.change_task(TaskCommand::Create(new)).await?));
        }
        match desk.create_seen(new).await {
            Some(answer) => Ok(told(action, &answer?)),
            None => Err(Failure::new(FailureKind::Conflict, LIST_FIRST)),
        }
    }

    /// The command of an action that changes a task.
    fn command(self, action: TaskAction) -> Result<TaskCommand, Failure> {
        let task = self.task(action)?;
        let words = |text: Option<String>, field| text.ok_or_else(|| needs(action, field));
        Ok(match action {
            TaskAction::Assign => {
                TaskCommand::Assign { task: Some(task), to: self.member(action)? }
            }
            TaskAction::Complete => {
                let result = words(self.result, "result")?;
                TaskCommand::Complete { task, result, summary: self.summary, attempt: None }
            }
            TaskAction::Fail => TaskCommand::Fail {
                task,
                reason: words(self.reason, "reason")?,
                attempt: None,
                for_good: false,
            },
            TaskAction::Release => {
                TaskCommand::Release { task, reason: words(self.reason, "reason")? }
            }
            TaskAction::Cancel => {
                TaskCommand::Cancel { task, reason: words(self.reason, "reason")? }
            }
            TaskAction::Reject => {
                let reason = words(self.reason, "reason")?;
                TaskCommand::Reject { task, reason, mode: self.mode.unwrap_or_default() }
            }
            TaskAction::Review => TaskCommand::Review { task, result: self.result },
            TaskAction::Approve => TaskCommand::Approve { task, comment: self.text },
            TaskAction::Comment => TaskCommand::Comment { task, text: words(self.text, "text")? },
            TaskAction::Progress => {
                let percent = self.percent.ok_or_else(|| needs(action, "percent"))?;
                TaskCommand::Progress { task, percent, step: self.step }
            }
            TaskAction::Attach => TaskCommand::Attach { task, path: words(self.path, "path")? },
            TaskAction::AskUser => {
                TaskCommand::AskUser { task, question: words(self.text, "text")? }
            }
            TaskAction::ClearAskUser => TaskCommand::ClearAskUser { task },
            TaskAction::Retry => TaskCommand::Retry { task },
            TaskAction::Delete => TaskCommand::Delete { task },
            TaskAction::Update => TaskCommand::Update { task, change: self.changes()? },
            TaskAction::Create
            | TaskAction::Claim
            | TaskAction::List
            | TaskAction::Get
            | TaskAction::Search
            | TaskAction::Prove => {
                let message = format!("`{action}` does not change a single task");
                return Err(Failure::new(FailureKind::Bug, &message));
            }
        })
    }

    fn changes(self) -> Result<Box<TaskUpdate>, Failure> {
        let assignee = match &self.assignee {
            Some(_) => Some(Some(self.member(TaskAction::Update)?)),
            None => None,
        };
        Ok(Box::new(TaskUpdate {
            subject: self.subject,
            description: self.description,
            priority: self.priority,
            task_type: self.task_type.map(Into::into),
            assignee,
            blocked_by: self.blocked_by,
            metadata: self.metadata.map(Metadata),
            ..TaskUpdate::default()
        }))
    }
}

/// What to do if a file that is to be attached is not in the workspace.
const PUT_IT_THERE: &str =
    r#"put it there first: team_workspace {"action": "write", "path": "…", "content": "…"}"#;

fn needs(action: TaskAction, field: &str) -> Failure {
    input::missing(&format!("`team_tasks` with action `{action}`"), field, &example(action))
}

/// A valid input for an action.
fn example(action: TaskAction) -> String {
    let rest = match action {
        TaskAction::Create => {
            r#""subject": "Write the API", "description": "REST, with tests", "assignee": "ann""#
        }
        TaskAction::Assign => r#""task_id": "7", "assignee": "ann""#,
        TaskAction::Complete => r#""task_id": "7", "result": "API in src/api.rs, tests pass""#,
        TaskAction::Cancel | TaskAction::Reject | TaskAction::Fail | TaskAction::Release => {
            r#""task_id": "7", "reason": "no longer needed""#
        }
        TaskAction::List => r#""status": "active", "page": 1"#,
        TaskAction::Search => r#""query": "write api""#,
        TaskAction::Comment => r#""task_id": "7", "text": "see src/api.rs""#,
        TaskAction::AskUser => r#""task_id": "7", "text": "Which port?""#,
        TaskAction::Progress => r#""task_id": "7", "percent": 50, "step": "tests""#,
        TaskAction::Attach => r#""task_id": "7", "path": "report.md""#,
        TaskAction::Update => r#""task_id": "7", "priority": 5"#,
        TaskAction::Claim
        | TaskAction::Get
        | TaskAction::Approve
        | TaskAction::Review
        | TaskAction::ClearAskUser
        | TaskAction::Prove
        | TaskAction::Retry
        | TaskAction::Delete => r#""task_id": "7""#,
    };
    format!(r#"{{"action": "{action}", {rest}}}"#)
}

/// The answer to a change.
#[derive(Debug, Serialize)]
struct ChangeReport<'a> {
    action: TaskAction,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<BriefTask<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// The task that the member works on, if it has one.
async fn own_task<C: Calls>(desk: &ToolDesk<'_, C>) -> Result<Option<String>, Failure> {
    for page in 1.. {
        let status = TaskFilter::Only(Status::InProgress);
        let answer = desk.answer(Query::Tasks { status, page }).await?;
        let TaskPageLines { tasks, pages, .. } = read(&answer)?;
        let own = tasks.iter().find(|task| task.owner.as_ref() == Some(&desk.seat.member));
        if let Some(task) = own.map(BriefTask::from) {
            let note = Some("you already hold it, and nothing else is available to you now");
            let told = ChangeReport {
                action: TaskAction::Claim,
                success: true,
                task: Some(task),
                next: None,
                note,
            };
            return Ok(Some(json!(told).to_string()));
        }
        if page as usize >= pages {
            break;
        }
    }
    Ok(None)
}

/// The answer to a change, with the next step.
fn told(action: TaskAction, answer: &Answer) -> String {
    let task: Option<TaskLine<'_>> = answer.task.as_ref().and_then(|task| read(task).ok());
    let created = task.as_ref().filter(|_| action == TaskAction::Create);
    let next = created.map(|task| {
        let agent = task.assignee.as_ref().map(MemberName::as_str).unwrap_or_default();
        let id = task.number.0;
        let spawn = format!("spawn(agent='{agent}', team_task_id='{id}')");
        let waits: Vec<_> = task.blocked_by.iter().map(ToString::to_string).collect();
        if task.status == Status::Blocked {
            format!("when {} is finished: {spawn}", waits.join(" and "))
        } else {
            spawn
        }
    });
    let note = answer.events.is_empty().then_some("nothing had to change");
    let task = task.as_ref().map(BriefTask::from);
    json!(ChangeReport { action, success: true, task, next, note }).to_string()
}
