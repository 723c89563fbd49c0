//! Keys, which nobody else may see: not in results, not in logs, not on the board.

use std::sync::Mutex;

use serde_json::{Map, Value};
use troop_model::lock;

use crate::builtin::secret::Secret;

/// The keys of one agent.
#[derive(Debug)]
pub(crate) struct Keys<'a> {
    secrets: Mutex<Vec<Secret>>,
    /// Environment variables that hold keys. Commands do not get them.
    pub(super) variables: &'a [String],
}

impl<'a> Keys<'a> {
    pub(crate) fn new(key: Option<Secret>, variables: &'a [String]) -> Self {
        Self { secrets: Mutex::new(key.into_iter().collect()), variables }
    }

    pub(crate) fn add(&self, key: Secret) {
        lock(&self.secrets).push(key);
    }

    /// A text without any key in it.
    pub(crate) fn hidden_in(&self, text: &str) -> String {
        let secrets = lock(&self.secrets);
        secrets.iter().fold(text.to_owned(), |text, key| key.hidden_in(&text))
    }

    /// JSON without any key in it.
    pub(super) fn hidden_in_json(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        let hidden =
            |(name, value): (&String, &Value)| (self.hidden_in(name), self.hidden_in_value(value));
        fields.iter().map(hidden).collect()
    }

    fn hidden_in_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.hidden_in(text).into(),
            Value::Array(all) => all.iter().map(|it| self.hidden_in_value(it)).collect(),
            Value::Object(fields) => Value::Object(self.hidden_in_json(fields)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}
