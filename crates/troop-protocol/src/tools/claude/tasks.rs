//! Creating and reading tasks.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use troop_model::{
    Metadata, NewTask, Role, Status, TaskCommand, TaskCreation, TaskFilter, TaskNumber, TaskView,
};

use super::super::{
    Calls, Category, Seat, TeamTool,
    desk::{ToolDesk, read},
    input,
    proof::{CheckReport, in_short, merged_in_words},
    seen::{TaskLine, TaskPageLines},
};
use super::{TaskText, hash, hashes, member_name, not_found};
use crate::{
    call::Query,
    code::{Failure, FailureKind},
};

/// The metadata key for the subject in the present continuous, as in Claude Code.
pub(super) const ACTIVE_FORM: &str = "activeForm";

/// Input of `TaskCreate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskCreate {
    /// What the task is about, in one line
    #[serde(alias = "title")]
    subject: String,
    /// What to do, and when it counts as done
    #[serde(default)]
    description: String,
    /// The subject while it is being done, as in "Writing the API"
    #[serde(default, rename = "activeForm", deserialize_with = "input::said")]
    active_form: Option<String>,
    /// The teammate that the task is reserved for; any free teammate if not given
    #[serde(
        default,
        alias = "assignee",
        alias = "assignedTo",
        alias = "assigned_to",
        deserialize_with = "input::said"
    )]
    owner: Option<String>,
    /// Tasks that must be completed first
    #[serde(
        default,
        rename = "blockedBy",
        alias = "blocked_by",
        alias = "addBlockedBy",
        alias = "dependsOn",
        alias = "depends_on",
        deserialize_with = "input::several"
    )]
    blocked_by: Vec<TaskText>,
    /// Higher goes first; 0 if not given
    #[serde(default, deserialize_with = "input::number")]
    priority: Option<i32>,
    /// Arbitrary data
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl TeamTool for TaskCreate {
    const NAME: &'static str = "TaskCreate";
    const CATEGORY: Category = Category::Coordination;
    const EXAMPLE: &'static str =
        r#"{"subject": "Write the API", "description": "REST, with tests", "blockedBy": ["1"]}"#;

    fn is_offered(seat: &Seat) -> bool {
        seat.role == Role::Lead || seat.settings.task_creation == TaskCreation::Members
    }

    fn about(_: &Seat) -> String {
        "Put a task on the team's board: one piece of work that one teammate can finish alone. The description must say \
         everything that is needed to do it. Look at the board with TaskList first, to avoid duplicates."
            .to_owned()
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let mut metadata = self.metadata;
        if let Some(form) = self.active_form {
            metadata.insert(ACTIVE_FORM.to_owned(), form.into());
        }
        let new = NewTask {
            subject: self.subject,
            description: self.description,
            priority: self.priority.unwrap_or_default(),
            assignee: self.owner.as_deref().map(member_name).transpose()?,
            blocked_by: self.blocked_by.into_iter().map(|TaskText(task)| task).collect(),
            metadata: Metadata(metadata),
            ..NewTask::default()
        };
        let answer = desk.change_task(TaskCommand::Create(new)).await?;
        let task = answer.task.and_then(|task| serde_json::from_str::<TaskView>(task.get()).ok());
        let task =
            task.ok_or_else(|| Failure::new(FailureKind::Bug, "the answer shows no task"))?;
        Ok(format!("Task {} created successfully: {}", hash(task.number), task.subject))
    }
}

/// Input of `TaskList`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskListTool {
    /// `active`, `completed`, `all`, or a status; if not given, the whole board, or only active tasks if it is too long
    #[serde(default, deserialize_with = "input::said")]
    status: Option<String>,
    /// The page, from 1; each has 30 tasks
    #[serde(default, deserialize_with = "input::number")]
    page: Option<u32>,
}

impl TeamTool for TaskListTool {
    const NAME: &'static str = "TaskList";
    const CATEGORY: Category = Category::Coordination;
    const EXAMPLE: &'static str = r#"{"status": "active", "page": 1}"#;

    fn about(_: &Seat) -> String {
        "List the tasks of the team's board: number, status, subject, owner, and what blocks them. A task that is pending, has \
         no owner and is not blocked can be claimed with TaskUpdate; take lower numbers first."
            .to_owned()
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let filter = match self.status.as_deref().map(TaskFilter::parse) {
            Some(Err(unknown)) => {
                let message = format!("`TaskList`, `status`: {unknown}");
                return Err(Failure::new(FailureKind::BadParams, &message));
            }
            Some(Ok(filter)) => Some(filter),
            None => None,
        };
        let number = self.page.unwrap_or(1);
        let status = filter.unwrap_or(TaskFilter::All);
        let answer = desk.answer(Query::Tasks { status, page: number }).await?;
        let page: TaskPageLines<'_> = read(&answer)?;
        if filter.is_none() && page.pages > 1 {
            // Finished tasks must not hide the next open ones.
            let status = TaskFilter::Active;
            let answer = desk.answer(Query::Tasks { status, page: number }).await?;
            return Ok(listed(read(&answer)?));
        }
        Ok(listed(page))
    }
}

fn listed(mut page: TaskPageLines<'_>) -> String {
    if page.tasks.is_empty() {
        return "No tasks found".to_owned();
    }
    page.tasks.sort_by_key(|task| task.number);
    let is_over = |number: &TaskNumber| {
        page.tasks.iter().any(|task| task.number == *number && task.status == Status::Completed)
    };
    let mut lines: Vec<_> = page.tasks.iter().map(|task| line(task, is_over)).collect();
    if page.pages > 1 {
        lines.push(format!("(page {} of {})", page.page, page.pages));
    }
    lines.join("\n")
}

/// A task in one line, as Claude Code writes it: a blocked task is pending, with what blocks it.
fn line(task: &TaskLine<'_>, is_over: impl Fn(&TaskNumber) -> bool) -> String {
    let mut line = format!("{} [{}] {}", hash(task.number), status(task.status), task.subject);
    if let Some(owner) = task.owner.as_ref().or(task.assignee.as_ref()) {
        line.push_str(&format!(" ({owner})"));
    }
    if task.status == Status::Blocked {
        let mut open = task.blocked_by.clone();
        open.retain(|number| !is_over(number));
        line.push_str(&format!(" [blocked by {}]", hashes(&open)));
    }
    if let Some(checks) = in_short(task.evidence.iter().map(|it| it.exit_code)) {
        line.push_str(&format!(" [checks: {checks}]"));
    }
    line
}

fn status(status: Status) -> &'static str {
    if status == Status::Blocked { Status::Pending.as_str() } else { status.as_str() }
}

/// Input of `TaskGet`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskGet {
    /// The task's number
    #[serde(rename = "taskId", alias = "task_id", alias = "id")]
    task: TaskText,
    /// Where to continue with a long result
    #[serde(default, deserialize_with = "input::number")]
    offset: Option<usize>,
}

impl TeamTool for TaskGet {
    const NAME: &'static str = "TaskGet";
    const CATEGORY: Category = Category::Coordination;
    const EXAMPLE: &'static str = r#"{"taskId": "1"}"#;

    fn about(_: &Seat) -> String {
        "Show everything about one task: description, owner, what blocks it, result, results of its checks, and comments."
            .to_owned()
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let query = Query::Task { task: self.task.0, offset: self.offset.unwrap_or(0) };
        Ok(shown(&desk.query(query).await.map_err(not_found)?))
    }
}

fn shown(task: &TaskView) -> String {
    let mut lines = vec![
        format!("Task {}: {}", hash(task.number), task.subject),
        format!("Status: {}", task.status),
    ];
    let mut add = |name: &str, text: Option<String>| {
        lines.extend(text.filter(|text| !text.is_empty()).map(|text| format!("{name}: {text}")));
    };
    add("Owner", task.owner.as_ref().map(ToString::to_string));
    add(
        "Reserved for",
        task.assignee.as_ref().filter(|_| task.owner.is_none()).map(ToString::to_string),
    );
    add("Description", Some(task.description.clone()));
    add("Blocked by", Some(hashes(&task.blocked_by)));
    add("Blocks", Some(hashes(&task.blocks)));
    add("Progress", task.progress.as_ref().map(|it| format!("{}% {}", it.percent, it.step)));
    add("Result", task.result.clone());
    let rest =
        |offset| format!("TaskGet {{\"taskId\": \"{}\", \"offset\": {offset}}}", task.number.0);
    add("The result goes on", task.result_next_offset.map(rest));
    add("Merged", task.merged.as_ref().map(merged_in_words));
    if let Some(detail) = &task.detail {
        for evidence in &detail.evidence {
            add("Check", Some(CheckReport::from(evidence).in_words()));
        }
        add("Not checked", detail.checks_waived.clone());
    }
    for comment in task.detail.iter().flat_map(|detail| &detail.comments) {
        add(&format!("Comment of {}", comment.author), Some(comment.text.clone()));
    }
    for attachment in task.detail.iter().flat_map(|detail| &detail.attachments) {
        add("File", Some(attachment.path.clone()));
    }
    lines.join("\n")
}
