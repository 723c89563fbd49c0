//! The context of a hook: what happened, as environment variables and as JSON.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use troop_model::{MemberName, TaskNumber, TeamName};

use super::HookEvent;

/// The longest value of a variable; the JSON has the whole value. Systems limit a variable to
/// 128 KiB, and all of them together.
const MAX_VARIABLE: usize = 32 * 1024;

/// An event of a team, for hooks.
#[derive(Clone, Debug)]
pub struct HookContext {
    pub team: TeamName,
    /// The lead's session.
    pub session: String,
    pub occasion: Occasion,
}

/// The event, with its details.
#[derive(Clone, Debug)]
pub enum Occasion {
    /// A team was created.
    TeamCreated,
    /// A teammate's process started.
    TeammateSpawned {
        teammate: MemberName,
        /// The name of its agent definition.
        agent: String,
        pid: u32,
    },
    /// A teammate has nothing to do.
    TeammateIdle { teammate: MemberName },
    /// A task was put on the board.
    TaskCreated {
        task: HookTask,
        /// The member that did it, if a member did.
        teammate: Option<MemberName>,
    },
    /// A task was given to its owner.
    TaskAssigned { task: HookTask },
    /// A task is about to be completed by its owner.
    TaskCompleted { task: HookTask, result: String },
    /// A team has ended.
    TeamShutdown { n_members: usize, n_completed: usize, n_tasks: usize },
}

impl Occasion {
    /// The task on which a member works, if it is about one.
    pub(crate) fn worked_on(&mut self) -> Option<&mut HookTask> {
        match self {
            Self::TaskAssigned { task } | Self::TaskCompleted { task, .. } => Some(task),
            Self::TeamCreated
            | Self::TeammateSpawned { .. }
            | Self::TeammateIdle { .. }
            | Self::TaskCreated { .. }
            | Self::TeamShutdown { .. } => None,
        }
    }
}

/// A task, as hooks see it.
#[derive(Clone, Debug)]
pub struct HookTask {
    pub number: TaskNumber,
    pub subject: String,
    pub description: String,
    /// The member that holds it, or that it is reserved for.
    pub owner: Option<MemberName>,
    /// The folder in which it is worked on, if that is not the project's.
    pub folder: Option<PathBuf>,
}

/// One value, as text and as JSON.
#[derive(Debug)]
struct HookValue {
    name: &'static str,
    text: String,
    json: Value,
}

impl HookContext {
    /// The event of the occasion.
    #[must_use]
    pub fn event(&self) -> HookEvent {
        match &self.occasion {
            Occasion::TeamCreated => HookEvent::TeamCreated,
            Occasion::TeammateSpawned { .. } => HookEvent::TeammateSpawned,
            Occasion::TeammateIdle { .. } => HookEvent::TeammateIdle,
            Occasion::TaskCreated { .. } => HookEvent::TaskCreated,
            Occasion::TaskAssigned { .. } => HookEvent::TaskAssigned,
            Occasion::TaskCompleted { .. } => HookEvent::TaskCompleted,
            Occasion::TeamShutdown { .. } => HookEvent::TeamShutdown,
        }
    }

    /// The value with this name, if there is one.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        self.values().into_iter().find(|value| value.name == name).map(|value| value.text)
    }

    /// The values as variables, each in both spellings: `HOOK_teamTaskId` and `HOOK_TEAM_TASK_ID`.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let event = HookValue::text("event", self.event().kebab());
        let mut variables = Vec::new();
        for HookValue { name, text, .. } in self.values().into_iter().chain([event]) {
            let text = as_variable(text);
            variables.push((format!("HOOK_{}", snake(name).to_uppercase()), text.clone()));
            variables.push((format!("HOOK_{name}"), text));
        }
        variables
    }

    /// The values as JSON in Claude Code's form: a task's id is its bare number.
    pub(super) fn json(&self, folder: &Path) -> Value {
        let mut fields = Map::new();
        fields.insert("session_id".to_owned(), json!(self.session));
        fields.insert("cwd".to_owned(), json!(folder.to_string_lossy()));
        fields.insert("hook_event_name".to_owned(), json!(self.event().name()));
        for HookValue { name, json, .. } in self.values() {
            let mut name = snake(name);
            if name.starts_with("team_task") {
                name = name.replacen("team_", "", 1);
            }
            fields.insert(name, json);
        }
        Value::Object(fields)
    }

    fn values(&self) -> Vec<HookValue> {
        let mut values = vec![HookValue::text("teamName", self.team.as_str())];
        match &self.occasion {
            Occasion::TeamCreated => {}
            Occasion::TeammateSpawned { teammate, agent, pid } => {
                values.push(HookValue::text("teammateName", teammate.as_str()));
                values.push(HookValue::text("teammateAgentName", agent));
                values.push(HookValue::number("teammatePid", *pid as usize));
            }
            Occasion::TeammateIdle { teammate } => {
                values.push(HookValue::text("teammateName", teammate.as_str()));
            }
            Occasion::TaskCreated { task, teammate } => {
                values.extend(task.values(teammate.as_ref()));
            }
            Occasion::TaskAssigned { task } => values.extend(task.values(task.owner.as_ref())),
            Occasion::TaskCompleted { task, result } => {
                values.extend(task.values(task.owner.as_ref()));
                values.push(HookValue::text("teamTaskResult", result));
            }
            Occasion::TeamShutdown { n_members, n_completed, n_tasks } => {
                values.push(HookValue::number("teamMemberCount", *n_members));
                values.push(HookValue::number("teamTasksCompleted", *n_completed));
                values.push(HookValue::number("teamTasksTotal", *n_tasks));
            }
        }
        values
    }
}

impl HookTask {
    fn values(&self, teammate: Option<&MemberName>) -> Vec<HookValue> {
        let mut values = Vec::new();
        values.extend(teammate.map(|name| HookValue::text("teammateName", name.as_str())));
        values.push(HookValue {
            name: "teamTaskId",
            text: self.number.to_string(),
            json: json!(self.number.0.to_string()),
        });
        values.push(HookValue::text("teamTaskSubject", &self.subject));
        values.push(HookValue::text("teamTaskDescription", &self.description));
        values.extend(
            self.owner.as_ref().map(|name| HookValue::text("teamTaskOwner", name.as_str())),
        );
        let folder = self.folder.as_ref().map(|folder| folder.to_string_lossy());
        values.extend(folder.map(|folder| HookValue::text("teamTaskFolder", &folder)));
        values
    }
}

impl HookValue {
    fn text(name: &'static str, text: &str) -> Self {
        Self { name, text: text.to_owned(), json: json!(text) }
    }

    fn number(name: &'static str, number: usize) -> Self {
        Self { name, text: number.to_string(), json: json!(number) }
    }
}

/// `teamTaskId` as `team_task_id`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// A text that fits into a variable: not too long, and without NUL.
fn as_variable(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_VARIABLE));
    text.retain(|c| c != '\0');
    text
}
