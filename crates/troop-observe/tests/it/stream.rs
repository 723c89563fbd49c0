//! Makes lines as agents write them, and collects an observer's output.

use serde_json::{Value, json};
use troop_model::Time;
use troop_observe::{
    ObservedSession, ObservedTask, ObservedTeam, Observer, ObserverOutput, Supplement, TeamEvent,
};

pub(crate) const V47: &str = include_str!("fixtures/stream-2.1.47.ndjson");
pub(crate) const V177: &str = include_str!("fixtures/stream-2.1.177.ndjson");
/// A lead's transcript, cut to the lines that matter.
pub(crate) const V325: &str = include_str!("fixtures/transcript-2.1.325.ndjson");

/// A headless session with two tasks and a named background agent, which is resumed by a message.
pub(crate) const HEADLESS: &str = include_str!("fixtures/headless-2.1.327.ndjson");
/// A headless session that starts two agents with the same name and one without, and stops one.
pub(crate) const HEADLESS_NAMES: &str = include_str!("fixtures/headless-names-2.1.327.ndjson");

pub(crate) fn at(seconds: i64) -> Time {
    Time::from_micros(seconds * 1_000_000)
}

/// A message in which an agent uses tools: id, tool, input.
pub(crate) fn uses(uses: &[(&str, &str, Value)]) -> String {
    let block = |(id, name, input): &(&str, &str, Value)| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let content: Vec<_> = uses.iter().map(block).collect();
    let id = format!("message of {}", uses.first().map_or("nothing", |it| it.0));
    json!({"type": "assistant", "message": {"id": id, "role": "assistant", "content": content},
        "session_id": "s"})
    .to_string()
}

pub(crate) fn used(id: &str, tool: &str, input: Value) -> String {
    uses(&[(id, tool, input)])
}

/// The result of a use.
pub(crate) fn result(id: &str, content: impl Into<Value>) -> String {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": content.into()});
    json!({"type": "user", "message": {"role": "user", "content": [block]}, "session_id": "s"})
        .to_string()
}

pub(crate) fn failed(id: &str) -> String {
    let block =
        json!({"type": "tool_result", "tool_use_id": id, "content": "no", "is_error": true});
    json!({"type": "user", "message": {"role": "user", "content": [block]}, "session_id": "s"})
        .to_string()
}

/// An agent's message without a tool use.
pub(crate) fn text(id: &str) -> String {
    let content = json!([{"type": "text", "text": "I see"}]);
    json!({"type": "assistant", "message": {"id": id, "role": "assistant", "content": content}})
        .to_string()
}

/// A message from a teammate.
pub(crate) fn mail(from: &str, body: &str) -> String {
    let text = format!(
        "<teammate-message teammate_id=\"{from}\" color=\"blue\">\n{body}\n</teammate-message>"
    );
    json!({"type": "user", "message": {"role": "user", "content": text}, "session_id": "s",
        "uuid": format!("{from} {body}")})
    .to_string()
}

pub(crate) fn spawned(name: &str, team: &str) -> String {
    format!(
        "Spawned successfully.\nagent_id: {name}@{team}\nname: {name}\nteam_name: {team}\nIt runs."
    )
}

/// The result of a spawn since 2.1.178: only its structured part names the team.
pub(crate) fn joined(id: &str, name: &str, team: &str) -> String {
    let text = format!("Spawned successfully.\nagent_id: a{name}-0123\nname: {name}\nIt runs.");
    let mut line: Value = serde_json::from_str(&result(id, text)).unwrap();
    line["toolUseResult"] = json!({"status": "teammate_spawned", "agent_id": format!("a{name}-0123"),
        "name": name, "team_name": team});
    line.to_string()
}

/// An observer with all its output.
#[derive(Default)]
pub(crate) struct Observation {
    pub(crate) observer: Observer,
    pub(crate) events: Vec<TeamEvent>,
    pub(crate) supplements: Vec<Supplement>,
}

impl Observation {
    pub(crate) fn of<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> Self {
        let mut seen = Self::default();
        lines.into_iter().for_each(|line| seen.line(line.as_ref()));
        seen
    }

    /// An observer of a team `blue` with the members `ann` and `bob`.
    pub(crate) fn team() -> Self {
        let mut seen = Self::of(team_lines());
        seen.events.clear();
        seen.supplements.clear();
        seen
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.line_at(line, at(0));
    }

    pub(crate) fn line_at(&mut self, line: &str, now: Time) {
        let said: Vec<_> = self.observer.line(line.as_bytes(), now).collect();
        self.keep(said);
    }

    pub(crate) fn end(&mut self) {
        let said: Vec<_> = self.observer.end(at(0)).collect();
        self.keep(said);
    }

    fn keep(&mut self, said: Vec<ObserverOutput>) {
        for output in said {
            match output {
                ObserverOutput::Event(event) => self.events.push(*event),
                ObserverOutput::Supplement(supplement) => self.supplements.push(*supplement),
            }
        }
    }

    /// Uses a tool, and gets a result.
    pub(crate) fn pair(&mut self, id: &str, tool: &str, input: Value, content: impl Into<Value>) {
        self.line(&used(id, tool, input));
        self.line(&result(id, content));
    }

    pub(crate) fn add_task(&mut self, number: u32) {
        let id = format!("create {number}");
        let said = format!("Task #{number} created successfully: task {number}");
        self.pair(&id, "TaskCreate", json!({"subject": format!("task {number}")}), said);
    }

    /// Spawns a teammate as versions since 2.1.178 do.
    pub(crate) fn spawn(&mut self, id: &str, name: &str, becomes: &str) {
        // `team_name` is ignored by this generation.
        let input =
            json!({"name": name, "team_name": "mine", "subagent_type": "tester", "prompt": "p"});
        self.line(&used(id, "Agent", input));
        self.line(&joined(id, becomes, "session-0123abcd"));
    }

    /// Updates a task, with a new tool use id each time.
    pub(crate) fn update(&mut self, task: &str, mut input: Value) {
        let id = format!("update {} {}", self.observer.counts().lines, task);
        input["taskId"] = task.into();
        self.pair(&id, "TaskUpdate", input, format!("Updated task #{task} status"));
    }

    pub(crate) fn session(&self) -> ObservedSession {
        self.observer.session()
    }

    pub(crate) fn team_now(&self) -> ObservedTeam {
        self.session().team.unwrap()
    }

    pub(crate) fn task(&self, id: &str) -> ObservedTask {
        self.team_now().task(id).unwrap().clone()
    }

    /// The names of the events, each with its subject.
    pub(crate) fn story(&self) -> Vec<String> {
        self.events.iter().map(told).collect()
    }
}

/// An event in a few words.
pub(crate) fn told(event: &TeamEvent) -> String {
    let it = serde_json::to_value(event).unwrap();
    let about = ["/task/id", "/member/name", "/from", "/team"];
    let about = about.iter().find_map(|path| it.pointer(path)).unwrap();
    format!("{} {}", it["kind"].as_str().unwrap(), about.as_str().unwrap())
}

pub(crate) fn team_lines() -> Vec<String> {
    let mut lines = vec![
        used("team", "TeamCreate", json!({"team_name": "blue"})),
        result("team", "{\"team_name\":\"blue\",\"lead_agent_id\":\"team-lead@blue\"}"),
    ];
    for name in ["ann", "bob"] {
        lines.push(used(name, "Task", json!({"team_name": "blue", "name": name, "prompt": "p"})));
        lines.push(result(name, spawned(name, "blue")));
    }
    lines
}
