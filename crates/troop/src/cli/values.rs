//! Parsers for arguments that the rules have a type for. Errors are worded as the rules word them.

use std::{ffi::OsStr, str::FromStr as _};

use clap::{
    Arg,
    builder::{PossibleValue, TypedValueParser},
};
use serde_json::Value;
use troop_model::{
    Dollars, LEAD_ALIASES, MemberName, MessageKind, Metadata, Permissions, Refusal, Status,
    TaskFilter, Time, UnknownWord,
};
use uuid::Uuid;

use crate::report::{Error, Hint, HintCommand};

/// One of a few words, which the help shows and shells complete.
#[derive(Clone, Debug)]
pub(super) struct WordParser<T> {
    shown: Vec<&'static str>,
    parse: fn(&str) -> Result<T, UnknownWord>,
}

impl WordParser<Permissions> {
    pub(super) fn modes() -> Self {
        let shown = Permissions::ALL.iter().map(|it| it.as_str()).collect();
        Self { shown, parse: Permissions::from_str }
    }
}

impl WordParser<MessageKind> {
    /// The kinds that people send; troop itself sends the others.
    pub(super) fn kinds() -> Self {
        let kinds = [
            MessageKind::Message,
            MessageKind::ShutdownRequest,
            MessageKind::ShutdownResponse,
            MessageKind::PlanApprovalRequest,
            MessageKind::PlanApprovalResponse,
            MessageKind::PermissionRequest,
            MessageKind::PermissionResponse,
        ];
        Self { shown: kinds.map(MessageKind::as_str).to_vec(), parse: MessageKind::parse }
    }
}

impl WordParser<TaskFilter> {
    pub(super) fn filters() -> Self {
        let statuses = Status::ALL.iter().map(|it| it.as_str());
        Self {
            shown: ["active", "all"].into_iter().chain(statuses).collect(),
            parse: TaskFilter::parse,
        }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for WordParser<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let parse = self.parse;
        let refusing = move |text: &str| parse(text).map_err(Refusal::from);
        refusing.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.shown.iter().map(PossibleValue::new)))
    }
}

/// A member; the lead has other names too.
pub(super) fn member(text: &str) -> Result<MemberName, Refusal> {
    if LEAD_ALIASES.contains(&text) {
        return Ok(MemberName::lead());
    }
    Ok(text.parse()?)
}

pub(super) fn metadata(text: &str) -> Result<Metadata, Error> {
    let hint = "for example: --metadata '{\"ticket\": 12}'";
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(Metadata(fields)),
        Ok(_) => Err(Error::misuse("the metadata is not a JSON object", hint)),
        Err(error) => Err(Error::misuse(format!("the metadata is not JSON: {error}"), hint)),
    }
}

pub(super) fn time(text: &str) -> Result<Time, Error> {
    text.parse().map_err(|_| {
        let hint = Hint::from("write it as in ")
            .and_run(HintCommand::troop("events"))
            .and(": `--at 2026-01-31T10:00:00Z`");
        Error::misuse(format!("`{text}` is not a time"), hint)
    })
}

pub(super) fn request(text: &str) -> Result<Uuid, Error> {
    text.parse().map_err(|_| {
        let read = HintCommand::troop("message read").word("--peek");
        let hint = Hint::to("copy it from the request", read);
        Error::misuse(format!("`{text}` is not the id of a request"), hint)
    })
}

pub(super) fn dollars(text: &str) -> Result<Dollars, Error> {
    let hint = "for example five dollars: `--budget 5`";
    let dollars = text.parse().ok().and_then(Dollars::new);
    dollars.ok_or_else(|| Error::misuse(format!("the budget cannot be `{text}`"), hint))
}
