//! Board calls: what can be asked of a team over a wire, and the answers.
//!
//! A changing call is a command of the model. Its method and its parameters are the JSON form of the command, so there is no
//! second list of calls.

mod answer;
mod file;
mod follow;
mod query;
mod transcript;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::to_raw_value};
use troop_model::{Asker, Command, OperationId, TaskCommand};

use crate::{
    envelope::Notification,
    method::{self, MethodError},
};
pub use answer::{
    Answer, ContextText, DelegationList, EventLine, MemberList, MessageList, NeedList, SessionInfo,
    TaskList, TeamList, TeamListing, TeamStanding,
};
pub use file::{
    ContentError, FileCall, FileChanged, FileContent, FileList, FileView, content_bytes,
};
pub use follow::{
    EventNews, FollowCall, SubscriptionEnd, SubscriptionNews, SubscriptionTicket, TranscriptNews,
};
pub use query::Query;
pub use transcript::{
    TranscriptEdge, TranscriptEntry, TranscriptLine, TranscriptPage, TranscriptSource,
};

#[cfg(test)]
mod tests;

/// The prefix of methods about tasks.
pub(crate) const TASK: &str = "task/";
/// Commands that are not methods: a team is created in a store, before there is a board, and every command about a task
/// has its own method.
pub(crate) const NOT_CALLED: [&str; 2] = ["team/create", "task"];
/// The field that every changing call accepts besides those of its command.
pub(crate) const OPERATION: &str = "operation";

/// A call to a board.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Identifies the caller on a socket.
    Open(Asker),
    /// Changes something.
    Change(Box<Change>),
    /// Looks at something.
    Query(Query),
    /// Lists, reads, writes or deletes files of the workspace.
    File(FileCall),
    /// Begins or ends a subscription.
    Follow(FollowCall),
}

/// A command, and which attempt it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub command: Command,
    /// Names the attempt: the same one again has one effect. The receiver of the call chooses one if it is missing.
    pub operation: Option<OperationId>,
}

/// Calls about the conversation itself.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) enum SessionCall {
    /// Identify the caller. The first call on a socket.
    #[serde(rename = "session/open")]
    Open(Asker),
}

impl TryFrom<&Notification> for Call {
    type Error = MethodError;

    fn try_from(asked: &Notification) -> Result<Self, MethodError> {
        if let Some(query) = listed(asked) {
            query.map(Self::Query)
        } else if let Some(call) = listed(asked) {
            call.map(Self::File)
        } else if let Some(call) = listed(asked) {
            call.map(Self::Follow)
        } else if let Some(call) = listed(asked) {
            call.map(|SessionCall::Open(session)| Self::Open(session))
        } else {
            change(asked).map(|change| Self::Change(Box::new(change)))
        }
    }
}

/// Reads a call from one table of methods. None if the table does not list the method.
fn listed<'de, T: Deserialize<'de>>(asked: &'de Notification) -> Option<Result<T, MethodError>> {
    match method::decode(&asked.method, asked.params.as_ref()) {
        Err(MethodError::Unknown { .. }) => None,
        read => Some(read),
    }
}

fn change(asked: &Notification) -> Result<Change, MethodError> {
    let method = asked.method.as_str();
    let bad_params = |path: &str, error: serde_json::Error| MethodError::BadParams {
        method: method.to_owned(),
        path: path.to_owned(),
        reason: method::without_position(&error.to_string()),
    };
    let mut params: Map<String, Value> =
        serde_json::from_str(asked.params.get()).map_err(|error| bad_params("", error))?;
    let operation = params.remove(OPERATION).unwrap_or_default();
    let operation =
        serde_json::from_value(operation).map_err(|error| bad_params(OPERATION, error))?;
    let params = Value::Object(params);
    let unknown = || MethodError::Unknown { method: method.to_owned() };
    let command = match method.strip_prefix(TASK) {
        _ if NOT_CALLED.contains(&method) => return Err(unknown()),
        Some(verb) => method::decode(verb, params).map(Command::Task),
        None => method::decode(method, params),
    };
    let command = command.map_err(|error| match error {
        MethodError::Unknown { .. } => unknown(),
        MethodError::BadParams { path, reason, .. } => {
            MethodError::BadParams { method: method.to_owned(), path, reason }
        }
    })?;
    Ok(Change { command, operation })
}

impl From<&TaskCommand> for Notification {
    fn from(command: &TaskCommand) -> Self {
        let Self { method, params } = method::encode(command);
        Self { method: format!("{TASK}{method}"), params }
    }
}

impl From<&Change> for Notification {
    fn from(change: &Change) -> Self {
        let asked = if let Command::Task(command) = &change.command {
            command.into()
        } else {
            method::encode(&change.command)
        };
        let Some(operation) = change.operation else { return asked };
        let mut params: Map<String, Value> = serde_json::from_str(asked.params.get())
            .expect("the parameters of a command are an object");
        params.insert(OPERATION.to_owned(), operation.to_string().into());
        let params = to_raw_value(&params).expect("an object is JSON");
        Self { method: asked.method, params }
    }
}

method::encoded_as_methods!(Query, FileCall, FollowCall);

impl From<&Asker> for Notification {
    fn from(asker: &Asker) -> Self {
        method::encode(&SessionCall::Open(asker.clone()))
    }
}

impl From<&Call> for Notification {
    fn from(call: &Call) -> Self {
        match call {
            Call::Open(asker) => asker.into(),
            Call::Change(change) => change.as_ref().into(),
            Call::Query(query) => query.into(),
            Call::File(call) => call.into(),
            Call::Follow(call) => call.into(),
        }
    }
}
