//! `TaskUpdate`: the one tool that changes a task.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};
use troop_model::{
    MemberName, Metadata, Status, TaskCommand, TaskNumber, TaskRef, TaskUpdate as Change, TaskView,
};

use super::super::{Calls, Category, Seat, TeamTool, desk::ToolDesk, input};
use super::{TaskText, hash, member_name, not_found, tasks::ACTIVE_FORM};
use crate::code::{Failure, FailureKind};

/// The result of a task that was completed without one.
pub const NO_RESULT: &str = "completed; no result was given";

/// The hint for a member that may not change the description of a task.
const INSTEAD: &str = "Report on your own task with `status` and `result` alone, and tell the lead everything else with SendMessage";

/// Input of `TaskUpdate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskUpdateTool {
    /// The task's number
    #[serde(rename = "taskId", alias = "task_id", alias = "id")]
    task: TaskText,
    /// `in_progress` claims the task, `completed` finishes it, `pending` gives it back, `deleted` removes it from the board
    #[serde(default, deserialize_with = "wanted")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("enum" = ["pending", "in_progress", "completed", "deleted"]))]
    status: Option<WantedStatus>,
    /// The new owner: your own name claims it; the lead may name another member; empty for nobody
    #[serde(
        default,
        alias = "assignedTo",
        alias = "assigned_to",
        alias = "claimedBy",
        deserialize_with = "given"
    )]
    #[schemars(with = "Option<String>")]
    owner: Option<Option<String>>,
    /// The result, for `completed`: what you did, where, and what others should know
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
    add_blocks: Vec<TaskText>,
    /// Tasks that this one must wait for
    #[serde(
        default,
        rename = "addBlockedBy",
        alias = "add_blocked_by",
        alias = "dependsOn",
        deserialize_with = "input::several"
    )]
    add_blocked_by: Vec<TaskText>,
    /// Data to merge in; null removes a key
    metadata: Option<Map<String, Value>>,
}

/// The status that the caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WantedStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
    Deleted,
}

/// A field that an update changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UpdatedField {
    Subject,
    Description,
    ActiveForm,
    Metadata,
    BlockedBy,
    Blocks,
    Owner,
    Status,
    Deleted,
}

impl UpdatedField {
    fn as_str(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Description => "description",
            Self::ActiveForm => "activeForm",
            Self::Metadata => "metadata",
            Self::BlockedBy => "blockedBy",
            Self::Blocks => "blocks",
            Self::Owner => "owner",
            Self::Status => "status",
            Self::Deleted => "deleted",
        }
    }
}

fn joined(fields: &[UpdatedField], between: &str) -> String {
    fields.iter().map(|field| field.as_str()).collect::<Vec<_>>().join(between)
}

/// A status by any name that models use.
fn wanted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<WantedStatus>, D::Error> {
    let Some(word) = input::said(deserializer)? else { return Ok(None) };
    Ok(Some(match word.as_str() {
        "pending" => WantedStatus::Pending,
        "in_progress" | "claimed" => WantedStatus::InProgress,
        "completed" | "done" => WantedStatus::Completed,
        "failed" => WantedStatus::Failed,
        "deleted" => WantedStatus::Deleted,
        other => {
            let other = troop_model::preview(other, 40);
            return Err(D::Error::custom(format!(
                "`{}` is none of: pending, in_progress, completed, failed, deleted",
                other.escape_debug()
            )));
        }
    }))
}

/// Null and an empty text mean nobody; a missing field means no change.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    input::said(deserializer).map(Some)
}

impl TeamTool for TaskUpdateTool {
    const NAME: &'static str = "TaskUpdate";
    const CATEGORY: Category = Category::Coordination;
    const EXAMPLE: &'static str =
        r#"{"taskId": "1", "status": "completed", "result": "API in src/api.rs, tests pass"}"#;

    fn about(_: &Seat) -> String {
        "Change a task: claim it before you work on it (status in_progress), complete it with its result when it is fully \
         done, give it to a teammate (owner), make it wait for others (addBlockedBy). Claiming is safe: if several members try, \
         one gets the task, and the others learn who has it."
            .to_owned()
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let task = desk.task(self.task.0.clone()).await.map_err(not_found)?;
        let mut update = UpdateRun { desk, task, changed: Vec::new(), notes: Vec::new() };
        let status = self.status;
        let owner = self.owner.clone();
        let result = self.result.clone();
        let says_more = status.is_some() || owner.is_some();
        update.describe(self, says_more).await?;
        // Models take a task with either field, and often with both.
        if let Some(owner) = owner {
            update.own(owner.as_deref(), status).await?;
        }
        if let Some(status) = status {
            update.stand(status, result).await?;
        }
        update.told()
    }
}

impl TaskUpdateTool {
    /// The fields of the description that are given.
    fn named(&self) -> Vec<UpdatedField> {
        let named = [
            (UpdatedField::Subject, self.subject.is_some()),
            (UpdatedField::Description, self.description.is_some()),
            (UpdatedField::ActiveForm, self.active_form.is_some()),
            (UpdatedField::Metadata, self.metadata.as_ref().is_some_and(|it| !it.is_empty())),
            (UpdatedField::BlockedBy, !self.add_blocked_by.is_empty()),
            (UpdatedField::Blocks, !self.add_blocks.is_empty()),
        ];
        named.into_iter().filter(|(_, is)| *is).map(|(field, _)| field).collect()
    }
}

/// An update in progress: if a later step is refused, the answer names the earlier ones.
struct UpdateRun<'a, 'b, C> {
    desk: &'a ToolDesk<'b, C>,
    task: TaskView,
    changed: Vec<UpdatedField>,
    notes: Vec<String>,
}

impl<C: Calls> UpdateRun<'_, '_, C> {
    fn task(&self) -> TaskRef {
        self.task.number.into()
    }

    fn is_own(&self, name: Option<&MemberName>) -> bool {
        name == Some(&self.desk.seat.member)
    }

    async fn change(&mut self, what: UpdatedField, command: TaskCommand) -> Result<(), Failure> {
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

    /// Changes the description and the dependencies. A member that may not do so may still set the status.
    async fn describe(&mut self, input: TaskUpdateTool, says_more: bool) -> Result<(), Failure> {
        let named = input.named();
        match self.describe_all(input).await {
            Err(failure) if failure.kind == FailureKind::Forbidden && self.changed.is_empty() => {
                let shown = joined(&named, "`, `");
                if !says_more {
                    let message = format!("{}: `{shown}`", failure.message);
                    return Err(Failure { message, ..failure }.with_hint(INSTEAD));
                }
                // It is only shown while the task is in progress, so it does not matter.
                if named != [UpdatedField::ActiveForm] {
                    self.notes.push(format!("Not changed: `{shown}` ({failure}). {INSTEAD}."));
                }
                Ok(())
            }
            done => done,
        }
    }

    async fn describe_all(&mut self, input: TaskUpdateTool) -> Result<(), Failure> {
        let named = input.named();
        let mut metadata = input.metadata;
        if let Some(form) = &input.active_form {
            let metadata = metadata.get_or_insert_default();
            metadata.insert(ACTIVE_FORM.to_owned(), form.clone().into());
        }
        if let Some(first) = named.first().copied().filter(|it| *it != UpdatedField::Blocks) {
            let change = Change {
                subject: input.subject,
                description: input.description,
                add_blocked_by: input.add_blocked_by.into_iter().map(|TaskText(it)| it).collect(),
                metadata: metadata.map(Metadata),
                ..Change::default()
            };
            let task = self.task();
            self.change(first, TaskCommand::Update { task, change: Box::new(change) }).await?;
            self.changed = named.into_iter().filter(|it| *it != UpdatedField::Blocks).collect();
        }
        for TaskText(task) in input.add_blocks {
            let change = Change { add_blocked_by: vec![self.task()], ..Change::default() };
            let update = TaskCommand::Update { task, change: Box::new(change) };
            self.change(UpdatedField::Blocks, update).await?;
        }
        Ok(())
    }

    async fn own(
        &mut self,
        owner: Option<&str>,
        status: Option<WantedStatus>,
    ) -> Result<(), Failure> {
        let holder = self.task.owner.clone();
        match owner {
            // The status decides what becomes of the task.
            Some(_) if matches!(status, Some(WantedStatus::Completed | WantedStatus::Deleted)) => {
                Ok(())
            }
            None if holder.is_some() => self.release(UpdatedField::Owner).await,
            None => self.reserve(None).await,
            Some(owner) => {
                let to = member_name(owner)?;
                if holder.as_ref() == Some(&to) && self.task.status == Status::InProgress {
                    // So it is already: nothing changes, and nothing is wrong.
                    self.changed.push(UpdatedField::Owner);
                    if !self.is_own(Some(&to)) {
                        self.notes.push(format!("{to} is already working on it."));
                    }
                    return Ok(());
                }
                if self.is_own(Some(&to)) {
                    self.claim(UpdatedField::Owner).await
                } else if status == Some(WantedStatus::Pending) {
                    self.reserve(Some(to)).await
                } else if self.task.status == Status::Blocked {
                    self.notes.push(format!("It is reserved for {to} until it can start."));
                    self.reserve(Some(to)).await
                } else {
                    let task = Some(self.task());
                    self.change(UpdatedField::Owner, TaskCommand::Assign { task, to }).await
                }
            }
        }
    }

    async fn reserve(&mut self, to: Option<MemberName>) -> Result<(), Failure> {
        let change = Box::new(Change { assignee: Some(to), ..Change::default() });
        let task = self.task();
        self.change(UpdatedField::Owner, TaskCommand::Update { task, change }).await
    }

    async fn claim(&mut self, what: UpdatedField) -> Result<(), Failure> {
        let task = Some(self.task());
        self.change(what, TaskCommand::Claim { task }).await
    }

    async fn release(&mut self, what: UpdatedField) -> Result<(), Failure> {
        let reason = format!("given back by {}", self.desk.seat.member);
        let task = self.task();
        self.change(what, TaskCommand::Release { task, reason }).await
    }

    async fn stand(&mut self, status: WantedStatus, result: Option<String>) -> Result<(), Failure> {
        let is_taken = self.changed.contains(&UpdatedField::Owner);
        let task = self.task();
        match status {
            WantedStatus::InProgress => {
                let is_held = self.task.status == Status::InProgress;
                if is_taken || is_held && self.is_own(self.task.owner.as_ref()) {
                    self.changed.push(UpdatedField::Status);
                    return Ok(());
                }
                self.claim(UpdatedField::Status).await
            }
            WantedStatus::Completed => {
                let result = result.unwrap_or_else(|| NO_RESULT.to_owned());
                let complete = TaskCommand::Complete { task, result, summary: None, attempt: None };
                self.change(UpdatedField::Status, complete).await?;
                self.notes.push("Call TaskList for your next task.".to_owned());
                Ok(())
            }
            WantedStatus::Pending if is_taken || self.task.owner.is_none() => {
                self.changed.push(UpdatedField::Status);
                Ok(())
            }
            WantedStatus::Pending => self.release(UpdatedField::Status).await,
            WantedStatus::Failed => {
                let reason = result.unwrap_or_else(|| "it failed".to_owned());
                let fail = TaskCommand::Fail { task, reason, attempt: None, for_good: false };
                self.change(UpdatedField::Status, fail).await
            }
            WantedStatus::Deleted => self.delete().await,
        }
    }

    /// Cancels an open task first. A task that others depend on stays on the board, so that they can name it.
    async fn delete(&mut self) -> Result<(), Failure> {
        let task = self.task();
        if !self.task.status.is_terminal() {
            let reason = format!("deleted by {}", self.desk.seat.member);
            let cancel = TaskCommand::Cancel { task: task.clone(), reason };
            self.change(UpdatedField::Status, cancel).await?;
        }
        match self.desk.change_task(TaskCommand::Delete { task }).await {
            Ok(_) => {
                self.changed = vec![UpdatedField::Deleted];
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
        format!("Updated task {} {}", hash(number), joined(&self.changed, ", "))
    }

    fn told(self) -> Result<String, Failure> {
        if self.changed.is_empty() {
            let message =
                format!("there is nothing to change about task {}", hash(self.task.number));
            let hint =
                "give `status`, `owner`, `subject`, `description`, `addBlockedBy` or `metadata`";
            let failure = Failure::new(FailureKind::Invalid, &message);
            return Err(failure.with_hint(hint));
        }
        let notes = self.notes.iter().map(|note| format!("\n{note}")).collect::<String>();
        Ok(format!("{}{notes}", self.line()))
    }
}
