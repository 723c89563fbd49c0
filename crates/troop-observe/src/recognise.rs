//! What a line says that may be about a team: what an agent asks for, what came of it, what teammates write.

use serde::Deserialize;
use serde_json::value::RawValue;
use troop_model::Time;

use crate::{
    mail::{self, Mail},
    raw::{Part, Raw, elements, filled, id, is, object, said, text},
    team::Session,
    vocabulary::{Meaning, understand},
};

/// Nothing that is longer is the id of a tool use.
const MAX_ID: usize = 256;

/// A line, as far as it is about anything.
#[derive(Debug)]
pub(crate) struct Recognised<'a> {
    pub(crate) speaker: Speaker,
    /// What lines of one message have in common.
    pub(crate) message_id: Option<String>,
    /// What copies of one line have in common.
    pub(crate) uuid: Option<String>,
    pub(crate) session_id: Option<String>,
    /// When it was said, if it says so.
    pub(crate) at: Option<Time>,
    /// The tool use of the agent that says this, if it is not the session's own.
    pub(crate) parent: Option<String>,
    /// The team and the name that a transcript notes on every line.
    pub(crate) team: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) signals: Vec<Signal<'a>>,
}

/// Who says a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    Assistant,
    User,
    System,
    /// The end of a turn.
    Result,
}

/// One thing that a line says.
#[derive(Debug)]
pub(crate) enum Signal<'a> {
    Use(ToolUse<'a>),
    Result(ToolResult<'a>),
    Mail(Mail),
    /// The session begins, or goes on.
    Init(Box<Session>),
    /// What a tool use has started in the background is over.
    Ended(Ended),
}

/// An agent uses a tool.
#[derive(Debug)]
pub(crate) struct ToolUse<'a> {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Option<&'a RawValue>,
    pub(crate) meaning: Meaning,
}

/// What came of a tool use.
#[derive(Debug)]
pub(crate) struct ToolResult<'a> {
    pub(crate) id: String,
    pub(crate) content: Raw<'a>,
    /// The same for programs, where there is such a thing.
    pub(crate) structured: Raw<'a>,
    pub(crate) is_error: bool,
}

/// A teammate that ended by itself.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) tool_use_id: Option<String>,
    pub(crate) agent_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Raw<'a>,
    subtype: Raw<'a>,
    role: Raw<'a>,
    message: Part<Message<'a>>,
    content: Raw<'a>,
    attachment: Raw<'a>,
    uuid: Raw<'a>,
    timestamp: Raw<'a>,
    session_id: Raw<'a>,
    #[serde(rename = "sessionId")]
    session_id_of_transcript: Raw<'a>,
    parent_tool_use_id: Raw<'a>,
    tool_use_result: Raw<'a>,
    #[serde(rename = "toolUseResult")]
    tool_use_result_of_transcript: Raw<'a>,
    #[serde(rename = "teamName")]
    team_name: Raw<'a>,
    #[serde(rename = "agentName")]
    agent_name: Raw<'a>,
    tool_use_id: Raw<'a>,
    status: Raw<'a>,
    summary: Raw<'a>,
    model: Raw<'a>,
    cwd: Raw<'a>,
    claude_code_version: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    role: Raw<'a>,
    content: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    r#type: Raw<'a>,
    id: Raw<'a>,
    name: Raw<'a>,
    input: Raw<'a>,
    tool_use_id: Raw<'a>,
    content: Raw<'a>,
    is_error: Raw<'a>,
    text: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Attachment<'a> {
    #[serde(borrow)]
    r#type: Raw<'a>,
    origin: Part<Origin<'a>>,
}

/// Whose words an attachment holds.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Origin<'a> {
    #[serde(borrow)]
    kind: Raw<'a>,
    from: Raw<'a>,
    body: Raw<'a>,
}

/// What a line says; an error if it is no JSON object.
pub(crate) fn recognise(line: &[u8]) -> Result<Option<Recognised<'_>>, NotAnObject> {
    let line = std::str::from_utf8(line.trim_ascii()).map_err(|_| NotAnObject)?;
    if !line.starts_with('{') {
        return if line.is_empty() { Ok(None) } else { Err(NotAnObject) };
    }
    let mut line: Line<'_> = serde_json::from_str(line).map_err(|_| NotAnObject)?;
    // The Agent SDK hands messages out without what is around them.
    let message = line.message.0.take().unwrap_or_default();
    let content = message.content.or(line.content);
    let kind = said(line.r#type).or_else(|| said(line.role)).or_else(|| said(message.role));
    let (speaker, signals) = match kind.as_deref() {
        Some("assistant") => (Speaker::Assistant, uses(content)),
        Some("user") => (Speaker::User, answers(content, &line)),
        Some("system") => (Speaker::System, news(&line)),
        Some("result") => (Speaker::Result, Vec::new()),
        Some("attachment") => (Speaker::User, queued(line.attachment)),
        None => untyped(content, &line),
        Some(_) => return Ok(None),
    };
    Ok(Some(Recognised {
        speaker,
        message_id: id(message.id),
        uuid: id(line.uuid),
        session_id: text(line.session_id).or_else(|| text(line.session_id_of_transcript)),
        at: said(line.timestamp).and_then(|it| it.parse().ok()),
        parent: id(line.parent_tool_use_id),
        team: text(line.team_name).filter(|it| !it.is_empty()),
        agent: text(line.agent_name).filter(|it| !it.is_empty()),
        signals,
    }))
}

/// The line is not JSON, or not an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAnObject;

/// Without a type, what a message holds says whose it is.
fn untyped<'a>(content: Raw<'a>, line: &Line<'a>) -> (Speaker, Vec<Signal<'a>>) {
    let uses = uses(content);
    if uses.is_empty() {
        (Speaker::User, answers(content, line))
    } else {
        (Speaker::Assistant, uses)
    }
}

fn blocks(content: Raw<'_>) -> impl Iterator<Item = Block<'_>> {
    let all = content.filter(|it| it.get().starts_with('['));
    let all: Option<Vec<Part<Block<'_>>>> = all.and_then(|it| serde_json::from_str(it.get()).ok());
    // If one of them cannot be read, the others can.
    let one_by_one = || elements(content).into_iter().map(|it| Part(object(Some(it)))).collect();
    all.unwrap_or_else(one_by_one).into_iter().filter_map(|it| it.0)
}

/// Whether a block is of this type; some do not say, and are known by what they have.
fn is_type(block: &Block<'_>, kind: &str, sign: Raw<'_>) -> bool {
    match block.r#type {
        Some(_) => is(block.r#type, kind),
        None => sign.is_some(),
    }
}

fn tool_use_id(raw: Raw<'_>) -> Option<String> {
    id(raw).filter(|id| !id.is_empty() && id.len() <= MAX_ID)
}

fn uses(content: Raw<'_>) -> Vec<Signal<'_>> {
    let used = |block: Block<'_>| {
        let (id, name) = (tool_use_id(block.id)?, text(block.name)?);
        let meaning = understand(&name, block.input);
        Some((id, name, meaning))
    };
    blocks(content)
        .filter(|block| is_type(block, "tool_use", block.name.and(block.input)))
        .filter_map(|block| {
            let input = block.input;
            let (id, name, meaning) = used(block)?;
            Some(Signal::Use(ToolUse { id, name, input, meaning }))
        })
        .collect()
}

fn answers<'a>(content: Raw<'a>, line: &Line<'a>) -> Vec<Signal<'a>> {
    if let Some(text) = text(content) {
        return mail::find(&text).into_iter().map(Signal::Mail).collect();
    }
    let mut signals = Vec::new();
    for block in blocks(content) {
        if is_type(&block, "tool_result", block.tool_use_id) {
            let structured = line.tool_use_result.or(line.tool_use_result_of_transcript);
            signals.extend(tool_use_id(block.tool_use_id).map(|id| {
                let is_error = block.is_error.is_some_and(|it| it.get() == "true");
                Signal::Result(ToolResult { id, content: block.content, structured, is_error })
            }));
        } else if is_type(&block, "text", block.text) {
            let mails = text(block.text).map(|it| mail::find(&it)).unwrap_or_default();
            signals.extend(mails.into_iter().map(Signal::Mail));
        }
    }
    // What is for programs is said once for a line, so it is clear whose it is only where there is one result.
    if signals.iter().filter(|it| matches!(it, Signal::Result(_))).count() > 1 {
        for signal in &mut signals {
            if let Signal::Result(result) = signal {
                result.structured = None;
            }
        }
    }
    signals
}

/// What a teammate says while the session works: since 2.1.178 a transcript has that as an attachment.
fn queued(attachment: Raw<'_>) -> Vec<Signal<'_>> {
    let peer = object::<Attachment<'_>>(attachment)
        .filter(|it| is(it.r#type, "queued_command"))
        .and_then(|it| it.origin.0)
        .filter(|it| is(it.kind, "peer"));
    let mail = peer.and_then(|it| Some(Mail::new(filled(it.from)?, &text(it.body)?)));
    mail.map(Signal::Mail).into_iter().collect()
}

fn news<'a>(line: &Line<'a>) -> Vec<Signal<'a>> {
    match text(line.subtype).as_deref() {
        Some("init") => {
            let session = Session {
                session_id: text(line.session_id),
                model: text(line.model),
                cwd: text(line.cwd),
                version: text(line.claude_code_version),
                ..Session::default()
            };
            vec![Signal::Init(Box::new(session))]
        }
        Some("task_notification") => {
            let is_over = matches!(
                text(line.status).as_deref(),
                Some("completed" | "failed" | "killed" | "stopped")
            );
            let ended = Ended { tool_use_id: id(line.tool_use_id), agent_id: text(line.summary) };
            if is_over { vec![Signal::Ended(ended)] } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}
