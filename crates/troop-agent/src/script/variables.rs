//! The variables of a script: what `{name}` stands for.

use std::collections::HashMap;

use serde_json::Value;

#[derive(Clone, Debug, Default)]
pub(super) struct Variables(HashMap<String, Value>);

impl Variables {
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Fills in the variables of a text. Unknown names stay as they are, so that scripts can write code.
    pub(super) fn expand(&self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            expanded.push_str(before);
            let found =
                after.split_once('}').and_then(|(path, rest)| Some((self.get(path)?, rest)));
            match found {
                Some((value, after)) => {
                    expanded.push_str(&shown(value));
                    rest = after;
                }
                None => {
                    expanded.push('{');
                    rest = after;
                }
            }
        }
        expanded.push_str(rest);
        expanded
    }

    /// Fills in the variables of JSON. A string that is just one variable becomes its value.
    pub(super) fn expand_json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let path = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
                match path.and_then(|path| self.get(path)) {
                    Some(value) => value.clone(),
                    None => self.expand(text).into(),
                }
            }
            Value::Array(values) => values.iter().map(|value| self.expand_json(value)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields.map(|(name, value)| (name.clone(), self.expand_json(value))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// The value at a path such as `design.task.number`.
    fn get(&self, path: &str) -> Option<&Value> {
        let mut parts = path.split('.');
        let first = self.0.get(parts.next()?)?;
        parts.try_fold(first, |value, part| match value.as_array() {
            Some(values) => values.get(part.parse::<usize>().ok()?),
            None => value.get(part),
        })
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
