//! `TaskUpdate`: one tool for all that can become of a task.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use troop_model::{
    MemberName, Metadata, Status, TaskCommand, TaskNumber, TaskRef, TaskUpdate as Change, TaskView,
};

use super::super::{Calls, Category, Seat, TeamTool, desk::Desk, input};
use super::{TaskId, hash, member_name, not_found, tasks::ACTIVE_FORM};
use crate::code::{Failure, FailureKind};

/// The result of a task that was called completed without one.
pub const NO_RESULT: &str = "completed; no result was given";

/// What a member can do that may not change what is said about a task.
const INSTEAD: &str = "Say how your own task stands by `status` alone, what came of it by `result`, and tell the lead by SendMessage what else is to be known";

/// Input of `TaskUpdate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskUpdate {
    /// The task's number
    #[serde(rename = "taskId", alias = "task_id", alias = "id")]
    task: TaskId,
    /// `in_progress` takes the task, `completed` says that it is done, `pending` gives it back, `deleted` takes it off the
    /// board
    #[serde(default, deserialize_with = "input::said")]
    #[schemars(extend("enum" = ["pending", "in_progress", "completed", "deleted"]))]
    status: Option<String>,
    /// Who is to have it: your own name takes it, the lead gives it to another; empty for nobody
    #[serde(
        default,
        alias = "assignedTo",
        alias = "assigned_to",
        alias = "claimedBy",
        deserialize_with = "given"
    )]
    #[schemars(with = "Option<String>")]
    owner: Option<Option<String>>,
    /// What came of it, for `completed`: what was done, where, and what others should know
    #[serde(default, deserialize_with = "input::said")]
    result: Option<String>,
    /// A new subject
    #[serde(default, deserialize_with = "input::said")]
    subject: Option<String>,
    /// A new description
    description: Option<String>,
    /// The subject while it is being done
    #[serde(default, rename = "activeForm", deserialize_with = "input::said")]
    active_form: Option<String>,
    /// Tasks that must wait for this one
    #[serde(
        default,
        rename = "addBlocks",
        alias = "add_blocks",
        deserialize_with = "input::several"
    )]
    add_blocks: Vec<TaskId>,
    /// Tasks that this one must wait for
    #[serde(
        default,
        rename = "addBlockedBy",
        alias = "add_blocked_by",
        alias = "dependsOn",
        deserialize_with = "input::several"
    )]
    add_blocked_by: Vec<TaskId>,
    /// Free data to merge in; null takes a key away
    metadata: Option<Map<String, Value>>,
}

/// Null and an empty text mean nobody; only what is left out means no change.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    input::said(deserializer).map(Some)
}

impl TeamTool for TaskUpdate {
    const NAME: &'static str = "TaskUpdate";
    const CATEGORY: Category = Category::Coordination;
    const EXAMPLE: &'static str =
        r#"{"taskId": "1", "status": "completed", "result": "API in src/api.rs, tests pass"}"#;

    fn about(_: &Seat) -> String {
        "Change a task: take it before you work on it (status in_progress), complete it with its result when it is fully \
         done, give it to a teammate (owner), make it wait for others (addBlockedBy). Taking is safe: of several who try, one \
         gets it, and the others are told who has it."
            .to_owned()
    }

    async fn run<C: Calls>(self, desk: &Desk<'_, C>) -> Result<String, Failure> {
        let task = desk.task(self.task.0.clone()).await.map_err(not_found)?;
        let mut update = Update { desk, task, changed: Vec::new(), notes: Vec::new() };
        let status = self.status.clone();
        let owner = self.owner.clone();
        let result = self.result.clone();
        let says_more = status.is_some() || owner.is_some();
        update.describe(self, says_more).await?;
        // Who takes a task says so in either field, and often in both.
        if let Some(owner) = owner {
            update.own(owner.as_deref(), status.as_deref()).await?;
        }
        if let Some(status) = status {
            update.stand(&status, result).await?;
        }
        update.told()
    }
}

impl TaskUpdate {
    /// What is said about the task itself, by the names that are shown.
    fn named(&self) -> Vec<&'static str> {
        let named = [
            ("subject", self.subject.is_some()),
            ("description", self.description.is_some()),
            ("activeForm", self.active_form.is_some()),
            ("metadata", self.metadata.as_ref().is_some_and(|it| !it.is_empty())),
            ("blockedBy", !self.add_blocked_by.is_empty()),
            ("blocks", !self.add_blocks.is_empty()),
        ];
        named.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
    }
}

/// An update under way: what it did so far is said even if it is refused half-way.
struct Update<'a, 'b, C> {
    desk: &'a Desk<'b, C>,
    task: TaskView,
    changed: Vec<&'static str>,
    notes: Vec<String>,
}

impl<C: Calls> Update<'_, '_, C> {
    fn task(&self) -> TaskRef {
        self.task.number.into()
    }

    fn is_own(&self, name: Option<&MemberName>) -> bool {
        name == Some(&self.desk.seat.member)
    }

    async fn change(&mut self, what: &'static str, command: TaskCommand) -> Result<(), Failure> {
        match self.desk.change_task(command).await {
            Ok(_) => {
                if !self.changed.contains(&what) {
                    self.changed.push(what);
                }
                Ok(())
            }
            Err(failure) if self.changed.is_empty() => Err(failure),
            Err(failure) => {
                let message = format!("{}; but {}", self.line(), failure.message);
                Err(Failure { message, ..failure })
            }
        }
    }

    /// What is known about the task, and what waits for what. Who may not say that may still say how it stands.
    async fn describe(&mut self, input: TaskUpdate, says_more: bool) -> Result<(), Failure> {
        let named = input.named();
        match self.describe_all(input).await {
            Err(failure) if failure.kind == FailureKind::Forbidden && self.changed.is_empty() => {
                let named = named.join("`, `");
                if !says_more {
                    let message = format!("{}: `{named}`", failure.message);
                    return Err(Failure { message, hint: Some(INSTEAD.to_owned()), ..failure });
                }
                // It is only shown while it lasts, and nobody misses it.
                if named != "activeForm" {
                    self.notes.push(format!("Not changed: `{named}` ({failure}). {INSTEAD}."));
                }
                Ok(())
            }
            done => done,
        }
    }

    async fn describe_all(&mut self, input: TaskUpdate) -> Result<(), Failure> {
        let named = input.named();
        let mut metadata = input.metadata;
        if let Some(form) = &input.active_form {
            let metadata = metadata.get_or_insert_default();
            metadata.insert(ACTIVE_FORM.to_owned(), form.clone().into());
        }
        if let Some(first) = named.first().filter(|it| **it != "blocks") {
            let change = Change {
                subject: input.subject,
                description: input.description,
                add_blocked_by: input.add_blocked_by.into_iter().map(|TaskId(it)| it).collect(),
                metadata: metadata.map(Metadata),
                ..Change::default()
            };
            let task = self.task();
            self.change(first, TaskCommand::Update { task, change: Box::new(change) }).await?;
            self.changed = named.into_iter().filter(|it| *it != "blocks").collect();
        }
        for TaskId(task) in input.add_blocks {
            let change = Change { add_blocked_by: vec![self.task()], ..Change::default() };
            self.change("blocks", TaskCommand::Update { task, change: Box::new(change) }).await?;
        }
        Ok(())
    }

    async fn own(&mut self, owner: Option<&str>, status: Option<&str>) -> Result<(), Failure> {
        let holder = self.task.owner.clone();
        match owner {
            // Said again with the status, which says what becomes of it.
            Some(_) if matches!(status, Some("completed" | "deleted")) => Ok(()),
            None if holder.is_some() => self.release("owner").await,
            None => self.reserve(None).await,
            Some(owner) => {
                let to = member_name(owner)?;
                if holder.as_ref() == Some(&to) && self.task.status == Status::InProgress {
                    return Ok(());
                }
                if self.is_own(Some(&to)) {
                    self.claim("owner").await
                } else if status == Some("pending") {
                    self.reserve(Some(to)).await
                } else if self.task.status == Status::Blocked {
                    self.notes.push(format!("It is reserved for {to} until it can start."));
                    self.reserve(Some(to)).await
                } else {
                    let task = Some(self.task());
                    self.change("owner", TaskCommand::Assign { task, to }).await
                }
            }
        }
    }

    async fn reserve(&mut self, to: Option<MemberName>) -> Result<(), Failure> {
        let change = Box::new(Change { assignee: Some(to), ..Change::default() });
        let task = self.task();
        self.change("owner", TaskCommand::Update { task, change }).await
    }

    async fn claim(&mut self, what: &'static str) -> Result<(), Failure> {
        let task = Some(self.task());
        self.change(what, TaskCommand::Claim { task }).await
    }

    async fn release(&mut self, what: &'static str) -> Result<(), Failure> {
        let reason = format!("given back by {}", self.desk.seat.member);
        let task = self.task();
        self.change(what, TaskCommand::Release { task, reason }).await
    }

    async fn stand(&mut self, status: &str, result: Option<String>) -> Result<(), Failure> {
        let is_taken = self.changed.contains(&"owner");
        match status {
            "in_progress" | "claimed" => {
                let is_held = self.task.status == Status::InProgress;
                if is_taken || is_held && self.is_own(self.task.owner.as_ref()) {
                    self.changed.push("status");
                    return Ok(());
                }
                self.claim("status").await
            }
            "completed" | "done" => {
                let (task, result) = (self.task(), result.unwrap_or_else(|| NO_RESULT.to_owned()));
                let complete = TaskCommand::Complete { task, result, summary: None, attempt: None };
                self.change("status", complete).await?;
                self.notes.push("Call TaskList for your next task.".to_owned());
                Ok(())
            }
            "pending" if is_taken || self.task.owner.is_none() => {
                self.changed.push("status");
                Ok(())
            }
            "pending" => self.release("status").await,
            "failed" => {
                let (task, reason) =
                    (self.task(), result.unwrap_or_else(|| "it failed".to_owned()));
                self.change(
                    "status",
                    TaskCommand::Fail { task, reason, attempt: None, for_good: false },
                )
                .await
            }
            "deleted" => self.delete().await,
            other => {
                let message = format!(
                    "`TaskUpdate`, `status`: `{}` is none of: pending, in_progress, completed, failed, deleted",
                    troop_model::preview(other, 40).escape_debug()
                );
                Err(Failure::new(FailureKind::BadParams, &message))
            }
        }
    }

    /// What is not over is called off first. What others wait for stays on the board, so that they say what for.
    async fn delete(&mut self) -> Result<(), Failure> {
        let task = self.task();
        if !self.task.status.is_terminal() {
            let reason = format!("deleted by {}", self.desk.seat.member);
            self.change("status", TaskCommand::Cancel { task: task.clone(), reason }).await?;
        }
        match self.desk.change_task(TaskCommand::Delete { task }).await {
            Ok(_) => {
                self.changed = vec!["deleted"];
                Ok(())
            }
            Err(failure) if self.changed.is_empty() => Err(failure),
            Err(failure) => {
                self.notes.push(format!("It is cancelled, and stays on the board: {failure}."));
                Ok(())
            }
        }
    }

    fn line(&self) -> String {
        let number: TaskNumber = self.task.number;
        format!("Updated task {} {}", hash(number), self.changed.join(", "))
    }

    fn told(self) -> Result<String, Failure> {
        if self.changed.is_empty() {
            let message =
                format!("there is nothing to change about task {}", hash(self.task.number));
            let hint =
                "give `status`, `owner`, `subject`, `description`, `addBlockedBy` or `metadata`";
            let failure = Failure::new(FailureKind::Invalid, &message);
            return Err(Failure { hint: Some(hint.to_owned()), ..failure });
        }
        let notes = self.notes.iter().map(|note| format!("\n{note}")).collect::<String>();
        Ok(format!("{}{notes}", self.line()))
    }
}
