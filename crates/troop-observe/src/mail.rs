//! Messages of teammates as a session receives them: tags in the text of a user message, or an attachment.

use memchr::{memchr, memmem};
use serde::Deserialize;

use crate::{
    raw::{Raw, id, object, text, truth},
    team::ObservedTaskId,
};

const OPEN: &str = "<teammate-message";
const CLOSE: &str = "</teammate-message>";

/// How far we look for the end of a tag, so that a line full of tags is not read over and over.
const MAX_HEAD: usize = 4096;

/// A message from a teammate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TeammateMail {
    pub(crate) from: String,
    pub(crate) color: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) content: Content,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text(String),
    Idle { completed: Option<ObservedTaskId> },
    ShutdownRequest { request_id: Option<String>, reason: Option<String> },
    ShutdownResponse { request_id: Option<String>, approved: bool, reason: Option<String> },
    PlanRequest { request_id: Option<String>, plan: String },
    PlanResponse { request_id: Option<String>, approved: bool, feedback: Option<String> },
}

impl TeammateMail {
    /// A message without a tag around it.
    pub(crate) fn new(from: String, body: &str) -> Self {
        Self { from, color: None, summary: None, content: content(body.trim()) }
    }
}

/// All messages in a text. A tag without an end or without a sender is not a message.
pub(crate) fn find(text: &str) -> Vec<TeammateMail> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(OPEN) {
        let Some((head, after_head)) = split_head(after) else { break };
        let Some((body, after_body)) = after_head.split_once(CLOSE) else { break };
        rest = after_body;
        let Some(from) = attribute(head, "teammate_id").filter(|it| !it.is_empty()) else {
            continue;
        };
        let color = attribute(head, "color");
        let summary = attribute(head, "summary");
        found.push(TeammateMail { color, summary, ..TeammateMail::new(from, body) });
    }
    found
}

/// Splits a text at the end of its tag. A `>` in quotes belongs to an attribute, as in `a -> b`.
fn split_head(text: &str) -> Option<(&str, &str)> {
    let near = text.as_bytes().get(..MAX_HEAD).unwrap_or(text.as_bytes());
    let line = near.get(..memchr(b'\n', near).unwrap_or(near.len())).unwrap_or_default();
    let mut is_quoted = false;
    let end = line.iter().position(|byte| {
        is_quoted ^= *byte == b'"';
        *byte == b'>' && !is_quoted
    });
    // A quote that is never closed belongs to an attribute, too.
    let end = end.or_else(|| memmem::find(line, b"\">").map(|at| at + 1));
    let end = end.or_else(|| memchr(b'>', text.as_bytes()))?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

fn attribute(head: &str, name: &str) -> Option<String> {
    let mut rest = head;
    loop {
        let (before, after) = rest.split_once(name)?;
        let is_whole = before.ends_with(char::is_whitespace);
        if let (true, Some(value)) = (is_whole, after.strip_prefix("=\"")) {
            return value.split_once('"').map(|(value, _)| value.to_owned());
        }
        rest = after;
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StructuredMail<'a> {
    #[serde(borrow)]
    r#type: Raw<'a>,
    request_id: Raw<'a>,
    #[serde(rename = "request_id")]
    request_id_too: Raw<'a>,
    reason: Raw<'a>,
    feedback: Raw<'a>,
    approve: Raw<'a>,
    approved: Raw<'a>,
    plan_content: Raw<'a>,
    completed_task_id: Raw<'a>,
}

fn content(body: &str) -> Content {
    let plain = || Content::Text(body.to_owned());
    let Ok(raw) = serde_json::from_str(body) else { return plain() };
    let Some(it) = object::<StructuredMail<'_>>(Some(raw)) else { return plain() };
    let request_id = id(it.request_id).or_else(|| id(it.request_id_too));
    let reason = text(it.reason);
    let feedback = text(it.feedback);
    let approved = truth(it.approved).or_else(|| truth(it.approve)).unwrap_or(false);
    match text(it.r#type).as_deref() {
        Some("idle_notification") => {
            Content::Idle { completed: crate::raw::task(it.completed_task_id) }
        }
        Some("shutdown_request") => Content::ShutdownRequest { request_id, reason },
        Some("shutdown_approved") => {
            Content::ShutdownResponse { request_id, approved: true, reason }
        }
        Some("shutdown_rejected") => {
            Content::ShutdownResponse { request_id, approved: false, reason }
        }
        Some("shutdown_response") => Content::ShutdownResponse { request_id, approved, reason },
        Some("plan_approval_request") => {
            Content::PlanRequest { request_id, plan: text(it.plan_content).unwrap_or_default() }
        }
        Some("plan_approval_response") => Content::PlanResponse { request_id, approved, feedback },
        _ => plain(),
    }
}

#[cfg(test)]
mod tests;
