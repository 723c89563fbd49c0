//! Tool results as tools really write them: prose, JSON in a string, or structured fields.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    event::MailDelivery,
    raw::{self, Part, Raw, elements, filled, object, text, truth},
    recognise::ObservedResult,
    team::{ObservedTaskId, TaskStatus},
};

/// The result of a tool use.
#[derive(Debug, Default)]
pub(crate) struct ToolAnswer {
    /// Whether the tool failed.
    pub(crate) is_error: bool,
    said: String,
    pub(crate) fields: AnswerFields,
}

/// The fields of a result, wherever they stand in it.
#[derive(Debug, Default)]
pub(crate) struct AnswerFields {
    task: Option<ObservedTaskId>,
    team: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) agent_id: Option<String>,
    pub(crate) agent_type: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) color: Option<String>,
    pub(crate) request_id: Option<String>,
    /// The sender of a message, according to the result.
    pub(crate) sender: Option<String>,
    status: Option<String>,
    updated: Vec<String>,
    /// The id of the background agent that got a message.
    pub(crate) receiver: Option<String>,
    pub(crate) delivery: Option<MailDelivery>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AnswerJson<'a> {
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

/// Fields of results about background agents.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BackgroundAnswer<'a> {
    #[serde(borrow)]
    agent_id: Raw<'a>,
    resolved_model: Raw<'a>,
    resumed_agent_id: Raw<'a>,
    message: Raw<'a>,
    pin: Part<ReceiverPin<'a>>,
}

/// Which agent a message went to.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ReceiverPin<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
}

impl ToolAnswer {
    pub(crate) fn new(result: &ObservedResult<'_>) -> Self {
        let said = said(result.content);
        let mut fields = AnswerFields::default();
        let mut has_failed = refuses(&said);
        // Most results are prose, and failing to parse prose as JSON takes time.
        let may_be_json =
            said.trim_start().starts_with(|it: char| matches!(it, '{' | '"' | '0'..='9'));
        if may_be_json && let Ok(raw) = serde_json::from_str::<&RawValue>(said.trim()) {
            has_failed |= fields.add(Some(raw));
            // Some results are nothing but the number.
            fields.task = fields.task.or_else(|| raw::task(Some(raw)));
        }
        has_failed |= fields.add(result.structured);
        fields.add_lines(&said);
        Self { is_error: result.is_error || has_failed, said, fields }
    }

    /// The task that the tool created.
    pub(crate) fn created(&self) -> Option<ObservedTaskId> {
        let number = self.said.trim_start().strip_prefix("Task #").and_then(|rest| {
            let (id, rest) = rest.split_once(' ')?;
            rest.starts_with("created").then_some(id)
        });
        number.and_then(ObservedTaskId::new).or_else(|| self.fields.task.clone())
    }

    /// Whether the result says that this field of a task changed.
    pub(crate) fn has_updated(&self, field: &str) -> bool {
        let updated = self.said.trim_start().strip_prefix("Updated task #");
        let mut listed = updated
            .and_then(|rest| rest.split_once(' '))
            .map_or("", |(_, fields)| fields)
            .split(',')
            .map(str::trim);
        listed.any(|it| it == field) || self.fields.updated.iter().any(|it| it == field)
    }

    /// Whether the result says that a teammate was started.
    pub(crate) fn has_spawned(&self) -> bool {
        let says_so = self.said.trim_start().starts_with("Spawned successfully")
            || self.fields.status.as_deref() == Some("teammate_spawned");
        says_so && self.team().is_some()
    }

    /// Whether the result says that an agent was started in the background.
    pub(crate) fn has_launched(&self) -> bool {
        let says_so = self.said.trim_start().starts_with("Async agent launched")
            || self.fields.status.as_deref() == Some("async_launched");
        says_so && self.fields.agent_id.is_some()
    }

    pub(crate) fn team(&self) -> Option<&str> {
        let agent_id = self.fields.agent_id.as_deref();
        let of_agent = || agent_id?.rsplit_once('@').map(|(_, team)| team);
        self.fields.team.as_deref().or_else(of_agent).filter(|it| !it.is_empty())
    }

    /// The tasks that it lists: `#2 [pending] Task B (alice) [blocked by #1]`.
    pub(crate) fn listed(&self) -> impl Iterator<Item = ListedTask<'_>> {
        self.said.lines().filter_map(ListedTask::read)
    }
}

impl AnswerFields {
    /// Fills fields that are still empty from an object. Returns whether the object says that the tool failed.
    fn add(&mut self, raw: Raw<'_>) -> bool {
        let Some(it) = object::<AnswerJson<'_>>(raw) else { return false };
        let inner = object::<AnswerJson<'_>>(it.task).unwrap_or_default();
        let routing = object::<AnswerJson<'_>>(it.routing).unwrap_or_default();
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
        self.add_background(&object(raw).unwrap_or_default());
        truth(it.success) == Some(false)
    }

    fn add_background(&mut self, it: &BackgroundAnswer<'_>) {
        let resumed = filled(it.resumed_agent_id);
        let is_queued = text(it.message).is_some_and(|it| it.starts_with("Message queued"));
        let delivery = match resumed {
            Some(_) => Some(MailDelivery::Delivered),
            None => is_queued.then_some(MailDelivery::Queued),
        };
        self.delivery = self.delivery.or(delivery);
        let pinned = it.pin.0.as_ref().and_then(|it| filled(it.id));
        self.receiver = self.receiver.take().or(pinned).or(resumed);
        self.agent_id = self.agent_id.take().or_else(|| filled(it.agent_id));
        self.model = self.model.take().or_else(|| filled(it.resolved_model));
    }

    /// Fills fields that are still empty from lines like `agent_id: alice@my-team`.
    fn add_lines(&mut self, said: &str) {
        for (key, value) in said.lines().filter_map(|line| line.split_once(": ")) {
            let field = match key {
                "agent_id" => &mut self.agent_id,
                "name" => &mut self.name,
                "team_name" => &mut self.team,
                // A remark follows the id: `agentId: a8c04d9a (internal ID - …)`.
                "agentId" => {
                    let id = value.split_whitespace().next();
                    self.agent_id = self.agent_id.take().or_else(|| id.map(str::to_owned));
                    continue;
                }
                _ => continue,
            };
            let value = value.trim();
            if field.is_none() && !value.is_empty() {
                *field = Some(value.to_owned());
            }
        }
    }
}

/// The text of a result, which may be a string or blocks.
fn said(content: Raw<'_>) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct TextBlock<'a> {
        #[serde(borrow)]
        text: Raw<'a>,
    }
    if let Some(text) = text(content) {
        return text;
    }
    if let Some(number) = raw::id(content) {
        return number;
    }
    let texts = elements(content).into_iter().filter_map(|it| object::<TextBlock<'_>>(Some(it)));
    let texts: Vec<_> = texts.filter_map(|it| text(it.text)).collect();
    if texts.is_empty() && content.is_some_and(|it| it.get().starts_with('{')) {
        // Some tools return an object where the API wants a string.
        return content.map(|it| it.get().to_owned()).unwrap_or_default();
    }
    texts.join("\n")
}

/// Refusals that are not marked as errors.
fn refuses(said: &str) -> bool {
    let said = said.trim_start();
    said.starts_with("Task not found") || said.starts_with("<tool_use_error>")
}

/// A row of a task list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListedTask<'a> {
    pub(crate) task: ObservedTaskId,
    pub(crate) status: TaskStatus,
    pub(crate) subject: &'a str,
    pub(crate) owner: Option<&'a str>,
    pub(crate) blocked_by: Vec<ObservedTaskId>,
}

impl<'a> ListedTask<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (task, rest) = line.trim().strip_prefix('#')?.split_once(" [")?;
        let (status, rest) = rest.split_once("] ")?;
        let (rest, blocked_by) = match rest.rsplit_once(" [blocked by ") {
            Some((rest, ids)) if ids.ends_with(']') => (
                rest,
                ids.trim_end_matches(']').split(',').filter_map(ObservedTaskId::new).collect(),
            ),
            _ => (rest, Vec::new()),
        };
        // A subject may end in parentheses, too, but a name is one word.
        let named = rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
        let is_part_of_a_name = |it: char| !it.is_whitespace() && !matches!(it, '(' | ')');
        let named =
            named.filter(|(_, name)| !name.is_empty() && name.chars().all(is_part_of_a_name));
        let (subject, owner) = named.map_or((rest, None), |(rest, name)| (rest, Some(name)));
        let task = ObservedTaskId::new(task)?;
        let status = TaskStatus::parse(status)?;
        Some(Self { task, status, subject, owner, blocked_by })
    }
}

#[cfg(test)]
mod tests;
