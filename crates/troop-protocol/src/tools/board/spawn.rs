//! `spawn`: the lead delegates a task to a member.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use troop_model::{Command, EXTERNAL, Fact, HintCommand, MemberName, TaskRef};
use uuid::Uuid;

use super::super::{Calls, Category, Seat, TeamTool, ToolAudience, desk::ToolDesk, input};
use crate::code::{Failure, FailureKind};

/// Input of `spawn`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SpawnMember {
    /// The member that should do it
    #[serde(alias = "member", alias = "to", alias = "name")]
    agent: String,
    /// The task, by its number or id, from `team_tasks`
    #[serde(default, alias = "task_id", alias = "teamTaskId")]
    #[schemars(with = "Option<String>")]
    team_task_id: Option<TaskRef>,
    /// What the member should know besides the task's description
    #[serde(
        default,
        alias = "prompt",
        alias = "message",
        alias = "instructions",
        deserialize_with = "input::said"
    )]
    task: Option<String>,
    /// The trace that this belongs to
    #[schemars(skip)]
    trace_id: Option<Uuid>,
}

impl TeamTool for SpawnMember {
    const NAME: &'static str = "spawn";
    const CATEGORY: Category = Category::Coordination;
    const FOR: ToolAudience = ToolAudience::Lead;
    const EXAMPLE: &'static str = r#"{"agent": "ann", "team_task_id": "7"}"#;

    fn about(_: &Seat) -> String {
        "Delegate a task to a member, which starts at once, in a new session. First create the task with team_tasks, then \
         delegate it by its number. Do not wait for it or poll it: the result comes to you as a message (one for everything that \
         you delegated together), and the task is completed automatically."
            .to_owned()
    }

    fn schema(seat: &Seat) -> Value {
        let schema = input::schema::<Self>();
        if seat.settings.delegation.require_task {
            input::requiring("team_task_id", schema)
        } else {
            schema
        }
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let to: MemberName =
            self.agent.parse().map_err(|error| Failure::new(FailureKind::Invalid, &error))?;
        let is_new = self.team_task_id.is_none();
        let subject = self.task.clone().filter(|_| is_new);
        let delegate = Command::Delegate {
            to: to.clone(),
            task: self.team_task_id,
            subject,
            note: self.task.filter(|_| !is_new),
            trace_id: self.trace_id,
        };
        let answer = desk.change(delegate).await.map_err(with_example)?;
        let started = answer.events.iter().find_map(|event| {
            if let Fact::DelegationStarted { delegation, task, .. } = &event.fact {
                Some((*delegation, *task))
            } else {
                None
            }
        });
        let (delegation, task) = started.unzip();
        let team = desk.team().await?;
        let (status, note) = if team.is_led() {
            ("started", None)
        } else {
            // The answer has no field for a hint, so the command is in the text.
            let resume = HintCommand::troop("resume").team(&team.name).words(["--agent", EXTERNAL]);
            let note = format!(
                "this team is not running, so `{to}` was not started: the task waits until `{to}` claims it; do not wait for its \
                 result; a person can start the team with `{resume}`, which keeps you as the lead"
            );
            ("waiting", Some(note))
        };
        let mut said = json!({
            "success": true, "agent": to, "status": status, "delegation_id": delegation, "task_number": task,
        });
        if let (Some(said), Some(note)) = (said.as_object_mut(), note) {
            said.insert("note".to_owned(), note.into());
        }
        Ok(said.to_string())
    }
}

fn with_example(failure: Failure) -> Failure {
    let of_tasks = ["delegation_needs_task", "unknown_task", "not_a_task_name"];
    let is_about_task = failure.refusal.as_deref().is_some_and(|name| of_tasks.contains(&name));
    let hint = is_about_task.then(|| format!("for example: spawn {}", SpawnMember::EXAMPLE).into());
    Failure { hint: failure.hint.or(hint), ..failure }
}
