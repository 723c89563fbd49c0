//! The documentation of the protocol, generated from its types: JSON Schema for programs, tables for people.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use troop_model::{Command, TaskCommand, TaskView, TeamView};

use crate::{
    call::{
        Answer, ContextText, DelegationList, FileCall, FileChanged, FileContent, FileList,
        FollowCall, MemberList, MessageList, NOT_CALLED, NeedList, OPERATION, Query, SessionCall,
        SessionInfo, SubscriptionNews, SubscriptionTicket, TASK, TaskList, TeamList,
        TranscriptPage,
    },
    code::FailureKind,
    teammate::{FromLead, FromTeammate, PROTOCOL_VERSION},
};

#[cfg(test)]
mod tests;

struct Method {
    name: String,
    about: String,
    params: Value,
    /// The schema of the answer; none for notifications.
    result: Option<Value>,
}

/// All methods, by sender and receiver, and the types that they refer to.
struct Tables {
    tables: Vec<MethodTable>,
    types: Map<String, Value>,
}

struct MethodTable {
    /// Its name in the schema.
    key: &'static str,
    /// Its heading for people.
    title: &'static str,
    methods: Vec<Method>,
}

/// All methods with the schemas of their parameters and answers.
#[must_use]
pub fn schema() -> Value {
    let Tables { tables, types } = Tables::new();
    let errors: Vec<_> = FailureKind::ALL
        .into_iter()
        .map(|it| json!({"code": it.code(), "kind": it.as_str(), "meaning": it.meaning()}))
        .collect();
    let about = "Newline-delimited JSON-RPC 2.0. Each method has the schema of its params and, if it is a request, of its result.";
    let head = [
        ("$schema", json!("https://json-schema.org/draft/2020-12/schema")),
        ("title", json!("troop protocol")),
        ("description", json!(about)),
        ("version", json!(PROTOCOL_VERSION)),
    ];
    let tables = tables.iter().map(|table| (table.key, document(&table.methods)));
    let tail = [("errors", json!(errors)), ("$defs", Value::Object(types))];
    let fields = head.into_iter().chain(tables).chain(tail);
    Value::Object(fields.map(|(key, value)| (key.to_owned(), value)).collect())
}

/// All methods as tables in Markdown.
#[must_use]
pub fn tables() -> String {
    let Tables { tables, types } = Tables::new();
    let mut text = String::new();
    for MethodTable { title, methods, .. } in tables {
        text += &format!("### {title}\n\n| method | params | |\n|---|---|---|\n");
        for Method { name, about, params, .. } in methods {
            text += &format!("| `{name}` | `{}` | {about} |\n", fields(&params, &types));
        }
        text.push('\n');
    }
    text += "### Errors\n\n| code | `data.kind` | |\n|---|---|---|\n";
    for kind in FailureKind::ALL {
        text += &format!("| {} | `{}` | {} |\n", kind.code(), kind.as_str(), kind.meaning());
    }
    text
}

impl Tables {
    fn new() -> Self {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let from_teammate = methods::<FromTeammate>(&mut generator);
        let from_lead = methods::<FromLead>(&mut generator);
        let mut queries = methods::<SessionCall>(&mut generator);
        queries.extend(methods::<Query>(&mut generator));
        let mut files = methods::<FileCall>(&mut generator);
        for call in queries.iter_mut().chain(&mut files) {
            call.result = Some(answer(&call.name, &mut generator));
        }
        let mut subscriptions = methods::<FollowCall>(&mut generator);
        let ticket = generator.subschema_for::<SubscriptionTicket>().to_value();
        for call in &mut subscriptions {
            call.result = Some(ticket.clone());
        }
        let news = methods::<SubscriptionNews>(&mut generator);
        let mut changes = methods::<Command>(&mut generator);
        changes.retain(|command| !NOT_CALLED.contains(&command.name.as_str()));
        for mut command in methods::<TaskCommand>(&mut generator) {
            command.name.insert_str(0, TASK);
            changes.push(command);
        }
        let result = generator.subschema_for::<Answer>().to_value();
        let types = generator.take_definitions(true);
        for change in &mut changes {
            change.result = Some(result.clone());
            change.params = with_operation(&change.params, &types);
        }
        let table = |key, title, methods| MethodTable { key, title, methods };
        let tables = vec![
            table("from_teammate", "From a teammate to its lead", from_teammate),
            table("from_lead", "From a lead to its teammate", from_lead),
            table("queries", "Opening a session, and looking", queries),
            table("files", "Files of the workspace", files),
            table("subscriptions", "Subscriptions", subscriptions),
            table("news", "To a subscriber", news),
            table("changes", "Changes", changes),
        ];
        Self { tables, types }
    }
}

/// The variants of a table of methods.
fn methods<T: JsonSchema>(generator: &mut SchemaGenerator) -> Vec<Method> {
    let schema = T::json_schema(generator).to_value();
    let variants = schema.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    variants.iter().filter_map(method).collect()
}

/// An externally tagged variant: an object with one field, or a constant if it has no fields.
fn method(variant: &Value) -> Option<Method> {
    let about = variant.get("description").and_then(Value::as_str).unwrap_or_default();
    let about = about.lines().next().unwrap_or_default().to_owned();
    let (name, params) = match variant.get("const").and_then(Value::as_str) {
        Some(name) => {
            (name, json!({"type": "object", "properties": {}, "additionalProperties": false}))
        }
        None => {
            let (name, params) = variant.get("properties")?.as_object()?.iter().next()?;
            (name.as_str(), params.clone())
        }
    };
    Some(Method { name: name.to_owned(), about, params, result: None })
}

/// The schema of the answer to a query.
fn answer(name: &str, generator: &mut SchemaGenerator) -> Value {
    let schema = match name {
        "session/open" => generator.subschema_for::<SessionInfo>(),
        "task/list" | "task/search" => generator.subschema_for::<TaskList>(),
        "member/list" => generator.subschema_for::<MemberList>(),
        "message/list" => generator.subschema_for::<MessageList>(),
        "workspace/list" => generator.subschema_for::<FileList>(),
        "workspace/read" => generator.subschema_for::<FileContent>(),
        "workspace/write" | "workspace/delete" => generator.subschema_for::<FileChanged>(),
        "delegation/list" => generator.subschema_for::<DelegationList>(),
        "team/context" => generator.subschema_for::<ContextText>(),
        "team/show" => generator.subschema_for::<TeamView>(),
        "team/list" => generator.subschema_for::<TeamList>(),
        "need/list" => generator.subschema_for::<NeedList>(),
        "transcript/read" => generator.subschema_for::<TranscriptPage>(),
        _ => generator.subschema_for::<TaskView>(),
    };
    schema.to_value()
}

/// The parameters of a changing call: those of its command, and `operation`.
fn with_operation(params: &Value, types: &Map<String, Value>) -> Value {
    let mut params = resolved(params, types).clone();
    if let Some(properties) = params.get_mut("properties").and_then(Value::as_object_mut) {
        let operation = json!({
            "description": "Names the attempt, a UUID v7: the same one again has one effect.",
            "type": "string",
            "format": "uuid",
        });
        properties.insert(OPERATION.to_owned(), operation);
    }
    params
}

fn resolved<'a>(schema: &'a Value, types: &'a Map<String, Value>) -> &'a Value {
    let name = schema.get("$ref").and_then(Value::as_str);
    let name = name.and_then(|path| path.rsplit('/').next());
    name.and_then(|name| types.get(name)).unwrap_or(schema)
}

/// The names of parameters, as `{task, result, summary?}`.
fn fields(params: &Value, types: &Map<String, Value>) -> String {
    let params = resolved(params, types);
    let required = params.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let names = params.get("properties").and_then(Value::as_object).into_iter().flatten();
    let names = names.filter(|(name, _)| name.as_str() != OPERATION);
    let names: Vec<_> = names
        .map(|(name, _)| if is_required(name) { name.clone() } else { format!("{name}?") })
        .collect();
    format!("{{{}}}", names.join(", "))
}

fn document(methods: &[Method]) -> Value {
    let entry = |it: &Method| {
        let mut entry = json!({"description": it.about, "params": it.params});
        if let (Some(result), Some(entry)) = (&it.result, entry.as_object_mut()) {
            entry.insert("result".to_owned(), result.clone());
        }
        (it.name.clone(), entry)
    };
    Value::Object(methods.iter().map(entry).collect())
}
