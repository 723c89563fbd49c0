//! Reads hooks from a configuration, in both styles at once: `{"TaskCompleted": [{"hooks": […]}]}` as in Claude
//! Code, and the flat `{"enabled": true, "hooks": [{"event": "task-completed", …}]}`.

use std::{fmt, time::Duration};

use serde_json::{Map, Value};

use super::{HookContext, HookEvent, filter::HookFilter};

/// How long a hook may take by default.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest timeout, in seconds: a day.
const MAX_TIMEOUT: f64 = 86_400.0;

const GROUP_KEYS: [&str; 2] = ["matcher", "hooks"];
const HOOK_KEYS: [&str; 5] = ["type", "command", "timeout", "async", "description"];
const FLAT_KEYS: [&str; 7] =
    ["event", "filter", "type", "command", "timeout", "async", "description"];

/// The hooks of a configuration.
#[derive(Clone, Debug)]
pub struct HooksConfig {
    /// Whether they run.
    pub is_enabled: bool,
    pub hooks: Vec<Hook>,
}

/// A command that runs when something happens.
#[derive(Clone, Debug)]
pub struct Hook {
    pub event: HookEvent,
    /// The command for the shell.
    pub command: String,
    pub description: Option<String>,
    pub timeout: Duration,
    /// Whether troop does not wait for it.
    pub is_async: bool,
    pub(super) filter: HookFilter,
}

/// A mistake in a configuration. The entry that has it is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where: `hooks.TaskCompleted[0].hooks[1].command`.
    pub place: String,
    pub kind: MistakeKind,
}

/// The kind of a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MistakeKind {
    /// There is no event of this name.
    UnknownEvent(String),
    /// There is no key of this name. It is ignored; the rest of the entry counts.
    UnknownKey {
        key: String,
        /// The valid keys.
        known: &'static [&'static str],
    },
    /// It has the wrong form.
    Wrong(String),
}

impl HooksConfig {
    /// No hooks.
    #[must_use]
    pub const fn none() -> Self {
        Self { is_enabled: true, hooks: Vec::new() }
    }

    /// Reads the value of the key `hooks`; returns its hooks and its mistakes.
    #[must_use]
    pub fn read(value: &Value) -> (Self, Vec<Mistake>) {
        let mut reader = HookReader { config: Self::none(), mistakes: Vec::new() };
        reader.all(value, "hooks");
        (reader.config, reader.mistakes)
    }
}

impl Hook {
    /// When it runs, in words: `task-completed (teammateName review*)`.
    #[must_use]
    pub fn when(&self) -> String {
        match self.filter.to_string() {
            filter if filter.is_empty() => self.event.to_string(),
            filter => format!("{} ({filter})", self.event),
        }
    }

    pub(super) fn is_meant(&self, context: &HookContext) -> bool {
        self.event == context.event() && self.filter.accepts(context)
    }
}

struct HookReader {
    config: HooksConfig,
    mistakes: Vec<Mistake>,
}

/// An object, and its place in the configuration.
struct HookFields<'a> {
    place: String,
    fields: &'a Map<String, Value>,
}

impl HookReader {
    fn all(&mut self, value: &Value, place: &str) {
        let Some(HookFields { fields, .. }) = self.object(value, place) else { return };
        for (key, value) in fields {
            let place = format!("{place}.{key}");
            match (key.as_str(), HookEvent::named(key)) {
                ("enabled", _) => match value.as_bool() {
                    Some(is_enabled) => self.config.is_enabled = is_enabled,
                    None => self.wrong(&place, expected("true or false", value)),
                },
                ("hooks", _) => self.each(value, &place, Self::flat),
                (_, Some(event)) => {
                    self.each(value, &place, |reader, value, place| {
                        reader.group(event, value, place);
                    });
                }
                (_, None) => self.unknown_event(&place, key),
            }
        }
    }

    /// `{"event": "task-completed", "command": …}`
    fn flat(&mut self, value: &Value, place: &str) {
        let Some(entry) = self.object(value, place) else { return };
        self.check_keys(&entry, &FLAT_KEYS);
        let Some(name) = self.text(&entry, "event") else { return };
        let Some(event) = HookEvent::named(name) else {
            self.unknown_event(&entry.at("event"), name);
            return;
        };
        if let Some(filter) = self.filter(event, &entry) {
            self.hook(event, filter, &entry);
        }
    }

    /// `{"matcher": …, "hooks": [{"type": "command", "command": …}]}`
    fn group(&mut self, event: HookEvent, value: &Value, place: &str) {
        let Some(group) = self.object(value, place) else { return };
        self.check_keys(&group, &GROUP_KEYS);
        let mut filter = HookFilter::default();
        if let Some(matcher) = group.get("matcher")
            && !self.condition(&mut filter, None, matcher, &group.at("matcher"))
        {
            return;
        }
        let Some(hooks) = group.get("hooks") else {
            self.wrong(&group.at("hooks"), "is missing");
            return;
        };
        self.each(hooks, &group.at("hooks"), |reader, value, place| {
            if let Some(entry) = reader.object(value, place) {
                reader.check_keys(&entry, &HOOK_KEYS);
                reader.hook(event, filter.clone(), &entry);
            }
        });
    }

    /// The fields that both styles share.
    fn hook(&mut self, event: HookEvent, filter: HookFilter, entry: &HookFields<'_>) {
        let n_mistakes = self.mistakes.len();
        if entry.get("type").is_some_and(|kind| kind != "command") {
            self.wrong(&entry.at("type"), "the only type is `command`");
        }
        let description = entry.get("description");
        if let Some(other) = description.filter(|description| !description.is_string()) {
            self.wrong(&entry.at("description"), expected("a string", other));
        }
        let description = description.and_then(Value::as_str).map(str::to_owned);
        let timeout = self.timeout(entry);
        let is_async = match entry.get("async") {
            None => false,
            Some(Value::Bool(is_async)) => *is_async,
            Some(other) => {
                self.wrong(&entry.at("async"), expected("true or false", other));
                false
            }
        };
        let Some(command) = self.text(entry, "command").map(str::to_owned) else { return };
        if self.mistakes.len() == n_mistakes {
            let hook = Hook { event, command, description, timeout, is_async, filter };
            self.config.hooks.push(hook);
        }
    }

    fn timeout(&mut self, entry: &HookFields<'_>) -> Duration {
        let Some(value) = entry.get("timeout") else { return DEFAULT_TIMEOUT };
        match value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= MAX_TIMEOUT) {
            Some(seconds) => Duration::from_secs_f64(seconds),
            None => {
                let range = format!("seconds, more than 0 and at most {MAX_TIMEOUT}");
                self.wrong(&entry.at("timeout"), expected(&range, value));
                DEFAULT_TIMEOUT
            }
        }
    }

    /// One glob, or an object of names to globs. None if it has a mistake.
    fn filter(&mut self, event: HookEvent, entry: &HookFields<'_>) -> Option<HookFilter> {
        let mut filter = HookFilter::default();
        let place = entry.at("filter");
        match entry.get("filter") {
            None => Some(filter),
            Some(Value::Object(conditions)) => {
                for (name, pattern) in conditions {
                    let place = format!("{place}.{name}");
                    let known = event.carries();
                    let Some(name) = known.iter().find(|known| *known == name).copied() else {
                        self.wrong(&place, format!("{event} carries only {}", known.join(", ")));
                        return None;
                    };
                    if !self.condition(&mut filter, Some(name), pattern, &place) {
                        return None;
                    }
                }
                Some(filter)
            }
            Some(pattern) => self.condition(&mut filter, None, pattern, &place).then_some(filter),
        }
    }

    fn condition(
        &mut self,
        filter: &mut HookFilter,
        name: Option<&'static str>,
        value: &Value,
        place: &str,
    ) -> bool {
        let pattern = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                self.wrong(place, expected("a glob", value));
                return false;
            }
        };
        let added = filter.add(name, &pattern);
        added.map_err(|what| self.wrong(place, what)).is_ok()
    }

    fn each(&mut self, value: &Value, place: &str, mut read: impl FnMut(&mut Self, &Value, &str)) {
        let Some(values) = value.as_array() else {
            self.wrong(place, expected("a list", value));
            return;
        };
        for (nth, value) in values.iter().enumerate() {
            read(self, value, &format!("{place}[{nth}]"));
        }
    }

    fn object<'a>(&mut self, value: &'a Value, place: &str) -> Option<HookFields<'a>> {
        let Some(fields) = value.as_object() else {
            self.wrong(place, expected("an object", value));
            return None;
        };
        Some(HookFields { place: place.to_owned(), fields })
    }

    /// A required text.
    fn text<'a>(&mut self, entry: &HookFields<'a>, key: &str) -> Option<&'a str> {
        match entry.get(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => return Some(text),
            Some(Value::String(_)) => self.wrong(&entry.at(key), "is empty"),
            Some(other) => self.wrong(&entry.at(key), expected("a string", other)),
            None => self.wrong(&entry.at(key), "is missing"),
        }
        None
    }

    fn check_keys(&mut self, entry: &HookFields<'_>, known: &'static [&'static str]) {
        for key in entry.fields.keys().filter(|key| !known.contains(&key.as_str())) {
            let kind = MistakeKind::UnknownKey { key: key.clone(), known };
            self.mistakes.push(Mistake { place: entry.at(key), kind });
        }
    }

    fn unknown_event(&mut self, place: &str, name: &str) {
        let kind = MistakeKind::UnknownEvent(name.to_owned());
        self.mistakes.push(Mistake { place: place.to_owned(), kind });
    }

    fn wrong(&mut self, place: &str, what: impl Into<String>) {
        let kind = MistakeKind::Wrong(what.into());
        self.mistakes.push(Mistake { place: place.to_owned(), kind });
    }
}

impl<'a> HookFields<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.fields.get(key)
    }

    fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.place)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: ", self.place)?;
        match &self.kind {
            MistakeKind::UnknownEvent(name) => write!(f, "there is no event `{name}`"),
            MistakeKind::UnknownKey { key, .. } => write!(f, "unknown key `{key}`"),
            MistakeKind::Wrong(what) => f.write_str(what),
        }
    }
}

fn expected(what: &str, found: &Value) -> String {
    format!("expected {what}, found {found}")
}
