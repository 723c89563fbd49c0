//! What came of a tool use, as tools really say it: a text for people, JSON in a text, or fields for programs.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    raw::{self, Raw, elements, filled, object, text, truth},
    recognise::ToolResult,
    team::{TaskId, TaskStatus},
};

/// What came of a tool use.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Nothing came of it.
    pub(crate) is_error: bool,
    said: String,
    fields: Fields,
}

/// What the fields of an answer say, wherever they stand.
#[derive(Debug, Default)]
struct Fields {
    task: Option<TaskId>,
    team: Option<String>,
    name: Option<String>,
    agent_id: Option<String>,
    agent_type: Option<String>,
    model: Option<String>,
    color: Option<String>,
    request_id: Option<String>,
    sender: Option<String>,
    status: Option<String>,
    updated: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Written<'a> {
    #[serde(borrow)]
    success: Raw<'a>,
    id: Raw<'a>,
    #[serde(rename = "taskId")]
    task_id: Raw<'a>,
    #[serde(rename = "task_id")]
    task_id_too: Raw<'a>,
    task: Raw<'a>,
    team_name: Raw<'a>,
    name: Raw<'a>,
    agent_id: Raw<'a>,
    agent_type: Raw<'a>,
    model: Raw<'a>,
    color: Raw<'a>,
    request_id: Raw<'a>,
    routing: Raw<'a>,
    sender: Raw<'a>,
    status: Raw<'a>,
    #[serde(rename = "updatedFields")]
    updated_fields: Raw<'a>,
}

impl Answer {
    pub(crate) fn new(result: &ToolResult<'_>) -> Self {
        let said = said(result.content);
        let mut fields = Fields::default();
        let mut has_failed = refuses(&said);
        // Most are a text for people, and to fail to read that takes its time.
        let may_be_json =
            said.trim_start().starts_with(|it: char| matches!(it, '{' | '"' | '0'..='9'));
        if may_be_json && let Ok(raw) = serde_json::from_str::<&RawValue>(said.trim()) {
            has_failed |= fields.add(Some(raw));
            // Some say nothing but the number.
            fields.task = fields.task.or_else(|| raw::task(Some(raw)));
        }
        has_failed |= fields.add(result.structured);
        fields.add_lines(&said);
        Self { is_error: result.is_error || has_failed, said, fields }
    }

    /// The task that was made.
    pub(crate) fn created(&self) -> Option<TaskId> {
        let number = self.said.trim_start().strip_prefix("Task #").and_then(|rest| {
            let (id, rest) = rest.split_once(' ')?;
            rest.starts_with("created").then_some(id)
        });
        number.and_then(TaskId::new).or_else(|| self.fields.task.clone())
    }

    /// Whether this field of a task is said to have changed.
    pub(crate) fn has_updated(&self, field: &str) -> bool {
        let updated = self.said.trim_start().strip_prefix("Updated task #");
        let mut listed = updated
            .and_then(|rest| rest.split_once(' '))
            .map_or("", |(_, fields)| fields)
            .split(',')
            .map(str::trim);
        listed.any(|it| it == field) || self.fields.updated.iter().any(|it| it == field)
    }

    /// Whether it says that a teammate was started.
    pub(crate) fn has_spawned(&self) -> bool {
        let says_so = self.said.trim_start().starts_with("Spawned successfully")
            || self.fields.status.as_deref() == Some("teammate_spawned");
        says_so && self.team().is_some()
    }

    /// The team that it is about.
    pub(crate) fn team(&self) -> Option<&str> {
        let of_agent = || self.agent_id()?.rsplit_once('@').map(|(_, team)| team);
        self.fields.team.as_deref().or_else(of_agent).filter(|it| !it.is_empty())
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.name.as_deref()
    }

    pub(crate) fn agent_id(&self) -> Option<&str> {
        self.fields.agent_id.as_deref()
    }

    pub(crate) fn agent_type(&self) -> Option<&str> {
        self.fields.agent_type.as_deref()
    }

    pub(crate) fn model(&self) -> Option<&str> {
        self.fields.model.as_deref()
    }

    pub(crate) fn color(&self) -> Option<&str> {
        self.fields.color.as_deref()
    }

    pub(crate) fn request_id(&self) -> Option<&str> {
        self.fields.request_id.as_deref()
    }

    /// Who is said to have sent a message.
    pub(crate) fn sender(&self) -> Option<&str> {
        self.fields.sender.as_deref()
    }

    /// The tasks that it lists: `#2 [pending] Task B (alice) [blocked by #1]`.
    pub(crate) fn listed(&self) -> impl Iterator<Item = Listed<'_>> {
        self.said.lines().filter_map(Listed::read)
    }
}

impl Fields {
    /// Takes what an object says and was not said before. Tells whether it says that nothing came of it.
    fn add(&mut self, raw: Raw<'_>) -> bool {
        let Some(it) = object::<Written<'_>>(raw) else { return false };
        let inner = object::<Written<'_>>(it.task).unwrap_or_default();
        let routing = object::<Written<'_>>(it.routing).unwrap_or_default();
        let task = [it.id, it.task_id, it.task_id_too, inner.id].into_iter().find_map(raw::task);
        fn keep<T>(field: &mut Option<T>, found: Option<T>) {
            *field = field.take().or(found);
        }
        keep(&mut self.task, task);
        keep(&mut self.team, filled(it.team_name));
        keep(&mut self.name, filled(it.name));
        keep(&mut self.agent_id, filled(it.agent_id));
        keep(&mut self.agent_type, filled(it.agent_type));
        keep(&mut self.model, filled(it.model));
        keep(&mut self.color, filled(it.color));
        keep(&mut self.request_id, raw::id(it.request_id));
        keep(&mut self.sender, filled(routing.sender));
        keep(&mut self.status, filled(it.status));
        self.updated
            .extend(elements(it.updated_fields).into_iter().filter_map(|it| text(Some(it))));
        truth(it.success) == Some(false)
    }

    /// Takes what lines like `agent_id: alice@my-team` say and was not said before.
    fn add_lines(&mut self, said: &str) {
        for (key, value) in said.lines().filter_map(|line| line.split_once(": ")) {
            let field = match key {
                "agent_id" => &mut self.agent_id,
                "name" => &mut self.name,
                "team_name" => &mut self.team,
                _ => continue,
            };
            let value = value.trim();
            if field.is_none() && !value.is_empty() {
                *field = Some(value.to_owned());
            }
        }
    }
}

/// What a result says, whether in one text or in blocks.
fn said(content: Raw<'_>) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Block<'a> {
        #[serde(borrow)]
        text: Raw<'a>,
    }
    if let Some(text) = text(content) {
        return text;
    }
    if let Some(number) = raw::id(content) {
        return number;
    }
    let texts = elements(content).into_iter().filter_map(|it| object::<Block<'_>>(Some(it)));
    let texts: Vec<_> = texts.filter_map(|it| text(it.text)).collect();
    if texts.is_empty() && content.is_some_and(|it| it.get().starts_with('{')) {
        // Somebody forgot that a result is a text.
        return content.map(|it| it.get().to_owned()).unwrap_or_default();
    }
    texts.join("\n")
}

/// Refusals that are not marked as errors.
fn refuses(said: &str) -> bool {
    let said = said.trim_start();
    said.starts_with("Task not found") || said.starts_with("<tool_use_error>")
}

/// A task, as a list shows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed<'a> {
    pub(crate) task: TaskId,
    pub(crate) status: TaskStatus,
    pub(crate) subject: &'a str,
    pub(crate) owner: Option<&'a str>,
    pub(crate) blocked_by: Vec<TaskId>,
}

impl<'a> Listed<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (task, rest) = line.trim().strip_prefix('#')?.split_once(" [")?;
        let (status, rest) = rest.split_once("] ")?;
        let (rest, blocked_by) = match rest.rsplit_once(" [blocked by ") {
            Some((rest, ids)) if ids.ends_with(']') => {
                (rest, ids.trim_end_matches(']').split(',').filter_map(TaskId::new).collect())
            }
            _ => (rest, Vec::new()),
        };
        // A subject may end in brackets, too, but a name is one word.
        let named = rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
        let is_part_of_a_name = |it: char| !it.is_whitespace() && !matches!(it, '(' | ')');
        let named =
            named.filter(|(_, name)| !name.is_empty() && name.chars().all(is_part_of_a_name));
        let (subject, owner) = named.map_or((rest, None), |(rest, name)| (rest, Some(name)));
        let (task, status) = (TaskId::new(task)?, TaskStatus::parse(status)?);
        Some(Self { task, status, subject, owner, blocked_by })
    }
}

#[cfg(test)]
mod tests;
