//! Parses a line: tool uses, tool results, and messages of teammates.

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use troop_model::Time;

use crate::{
    mail::{self, TeammateMail},
    raw::{Part, Raw, elements, filled, id, is, object, said, text},
    team::ObservedSession,
    vocabulary::{Meaning, understand},
};

/// The longest id of a tool use; anything longer is not an id.
const MAX_ID: usize = 256;

/// The parts of a line that may be about a team.
#[derive(Debug)]
pub(crate) struct RecognisedLine<'a> {
    pub(crate) speaker: Speaker,
    /// Shared by all lines of one message.
    pub(crate) message_id: Option<String>,
    /// Shared by all copies of one line.
    pub(crate) uuid: Option<String>,
    pub(crate) session_id: Option<String>,
    /// The line's own time, if it has one.
    pub(crate) at: Option<Time>,
    /// The tool use that started the speaking agent, if it is a subagent.
    pub(crate) parent: Option<String>,
    /// The team and the member's name, which transcripts have on every line.
    pub(crate) team: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) signals: Vec<LineSignal<'a>>,
}

/// The speaker of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    Assistant,
    User,
    System,
    Result,
}

/// One thing in a line that may be about a team.
#[derive(Debug)]
pub(crate) enum LineSignal<'a> {
    Use(ToolUse<'a>),
    Result(ObservedResult<'a>),
    Mail(TeammateMail),
    /// The session starts or continues.
    Init(Box<ObservedSession>),
    /// Background work began, goes on, or ended.
    Background(BackgroundNews),
}

#[derive(Debug)]
pub(crate) struct ToolUse<'a> {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Option<&'a RawValue>,
    pub(crate) meaning: Meaning,
}

/// The result of a tool use.
#[derive(Debug)]
pub(crate) struct ObservedResult<'a> {
    pub(crate) id: String,
    pub(crate) content: Raw<'a>,
    /// The structured result, if the line has one.
    pub(crate) structured: Raw<'a>,
    pub(crate) is_error: bool,
}

/// The client's news about background work, which may be that of a member.
#[derive(Debug)]
pub(crate) struct BackgroundNews {
    /// The id of the work. A background agent has the same one each time it works.
    pub(crate) task_id: Option<String>,
    pub(crate) tool_use_id: Option<String>,
    /// A teammate's id, in the versions that end teammates this way.
    pub(crate) agent_id: Option<String>,
    /// `None` if it goes on.
    pub(crate) state: Option<BackgroundState>,
    pub(crate) tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackgroundState {
    /// It begins to work.
    Works,
    /// It has done what it was asked for.
    Finished,
    /// It failed or was stopped.
    Ended,
}

impl BackgroundState {
    fn parse(status: &str) -> Option<Self> {
        Some(match status {
            "completed" => Self::Finished,
            "failed" | "killed" | "stopped" => Self::Ended,
            _ => return None,
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamLine<'a> {
    #[serde(borrow)]
    r#type: Raw<'a>,
    role: Raw<'a>,
    message: Part<StreamMessage<'a>>,
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
}

/// Fields that only lines of the speaker `system` have. Such lines are rare, so parsing them twice costs little.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SystemLine<'a> {
    #[serde(borrow)]
    subtype: Raw<'a>,
    session_id: Raw<'a>,
    task_id: Raw<'a>,
    task_type: Raw<'a>,
    tool_use_id: Raw<'a>,
    status: Raw<'a>,
    patch: Part<TaskPatch<'a>>,
    usage: Part<TaskUsage<'a>>,
    summary: Raw<'a>,
    model: Raw<'a>,
    cwd: Raw<'a>,
    claude_code_version: Raw<'a>,
}

/// A change of background work.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TaskPatch<'a> {
    #[serde(borrow)]
    status: Raw<'a>,
}

/// The usage of background work.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TaskUsage<'a> {
    #[serde(borrow)]
    total_tokens: Raw<'a>,
}

/// The time of a line.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LineStamp<'a> {
    #[serde(borrow)]
    timestamp: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamMessage<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    role: Raw<'a>,
    content: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamBlock<'a> {
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
struct StreamAttachment<'a> {
    #[serde(borrow)]
    r#type: Raw<'a>,
    origin: Part<PeerOrigin<'a>>,
}

/// The sender of an attachment.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PeerOrigin<'a> {
    #[serde(borrow)]
    kind: Raw<'a>,
    from: Raw<'a>,
    body: Raw<'a>,
}

/// Parses a line; an error if it is not a JSON object.
pub(crate) fn recognise(line: &[u8]) -> Result<Option<RecognisedLine<'_>>, NotAnObject> {
    let written = std::str::from_utf8(line.trim_ascii()).map_err(|_| NotAnObject)?;
    if !written.starts_with('{') {
        return if written.is_empty() { Ok(None) } else { Err(NotAnObject) };
    }
    let mut line: StreamLine<'_> = serde_json::from_str(written).map_err(|_| NotAnObject)?;
    // The Agent SDK emits bare messages, without the envelope.
    let message = line.message.0.take().unwrap_or_default();
    let content = message.content.or(line.content);
    let kind = said(line.r#type).or_else(|| said(line.role)).or_else(|| said(message.role));
    let (speaker, signals) = match kind.as_deref() {
        Some("assistant") => (Speaker::Assistant, uses(content)),
        Some("user") => (Speaker::User, answers(content, &line)),
        Some("system") => (Speaker::System, news(written)?),
        Some("result") => (Speaker::Result, Vec::new()),
        Some("attachment") => (Speaker::User, queued(line.attachment)),
        None => untyped(content, &line),
        Some(_) => return Ok(None),
    };
    Ok(Some(RecognisedLine {
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

/// The line's own time, if it has one.
pub(crate) fn stamp(line: &[u8]) -> Option<Time> {
    memmem::find(line, b"\"timestamp\"")?;
    let line: LineStamp<'_> = serde_json::from_slice(line).ok()?;
    said(line.timestamp)?.parse().ok()
}

/// The line is not JSON, or not an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAnObject;

/// Without a type, the content tells who speaks.
fn untyped<'a>(content: Raw<'a>, line: &StreamLine<'a>) -> (Speaker, Vec<LineSignal<'a>>) {
    let uses = uses(content);
    if uses.is_empty() {
        (Speaker::User, answers(content, line))
    } else {
        (Speaker::Assistant, uses)
    }
}

fn blocks(content: Raw<'_>) -> impl Iterator<Item = StreamBlock<'_>> {
    let all = content.filter(|it| it.get().starts_with('['));
    let all: Option<Vec<Part<StreamBlock<'_>>>> =
        all.and_then(|it| serde_json::from_str(it.get()).ok());
    // One malformed block does not hide the others.
    let one_by_one = || elements(content).into_iter().map(|it| Part(object(Some(it)))).collect();
    all.unwrap_or_else(one_by_one).into_iter().filter_map(|it| it.0)
}

/// Whether a block has this type. A block without a type is recognised by a field that only this type has.
fn is_type(block: &StreamBlock<'_>, kind: &str, sign: Raw<'_>) -> bool {
    match block.r#type {
        Some(_) => is(block.r#type, kind),
        None => sign.is_some(),
    }
}

fn tool_use_id(raw: Raw<'_>) -> Option<String> {
    id(raw).filter(|id| !id.is_empty() && id.len() <= MAX_ID)
}

fn uses(content: Raw<'_>) -> Vec<LineSignal<'_>> {
    blocks(content)
        .filter(|block| is_type(block, "tool_use", block.name.and(block.input)))
        .filter_map(|block| {
            let id = tool_use_id(block.id)?;
            let name = text(block.name)?;
            let meaning = understand(&name, block.input);
            Some(LineSignal::Use(ToolUse { id, name, input: block.input, meaning }))
        })
        .collect()
}

fn answers<'a>(content: Raw<'a>, line: &StreamLine<'a>) -> Vec<LineSignal<'a>> {
    if let Some(text) = text(content) {
        return mail::find(&text).into_iter().map(LineSignal::Mail).collect();
    }
    let mut signals = Vec::new();
    for block in blocks(content) {
        if is_type(&block, "tool_result", block.tool_use_id) {
            let structured = line.tool_use_result.or(line.tool_use_result_of_transcript);
            signals.extend(tool_use_id(block.tool_use_id).map(|id| {
                let is_error = block.is_error.is_some_and(|it| it.get() == "true");
                LineSignal::Result(ObservedResult {
                    id,
                    content: block.content,
                    structured,
                    is_error,
                })
            }));
        } else if is_type(&block, "text", block.text) {
            let mails = text(block.text).map(|it| mail::find(&it)).unwrap_or_default();
            signals.extend(mails.into_iter().map(LineSignal::Mail));
        }
    }
    // A line has one structured result at most, so we can assign it only if the line has one tool result.
    if signals.iter().filter(|it| matches!(it, LineSignal::Result(_))).count() > 1 {
        for signal in &mut signals {
            if let LineSignal::Result(result) = signal {
                result.structured = None;
            }
        }
    }
    signals
}

/// A teammate's message to a busy session: transcripts since 2.1.178 have it as an attachment.
fn queued(attachment: Raw<'_>) -> Vec<LineSignal<'_>> {
    let peer = object::<StreamAttachment<'_>>(attachment)
        .filter(|it| is(it.r#type, "queued_command"))
        .and_then(|it| it.origin.0)
        .filter(|it| is(it.kind, "peer"));
    let mail = peer.and_then(|it| Some(TeammateMail::new(filled(it.from)?, &text(it.body)?)));
    mail.map(LineSignal::Mail).into_iter().collect()
}

fn news(written: &str) -> Result<Vec<LineSignal<'_>>, NotAnObject> {
    let line: SystemLine<'_> = serde_json::from_str(written).map_err(|_| NotAnObject)?;
    Ok(match said(line.subtype).as_deref() {
        Some("init") => {
            let session = ObservedSession {
                session_id: text(line.session_id),
                model: text(line.model),
                cwd: text(line.cwd),
                version: text(line.claude_code_version),
                ..ObservedSession::default()
            };
            vec![LineSignal::Init(Box::new(session))]
        }
        Some("task_started") if is(line.task_type, "local_agent") => {
            vec![LineSignal::Background(background(&line, Some(BackgroundState::Works)))]
        }
        Some("task_progress") => vec![LineSignal::Background(background(&line, None))],
        Some("task_updated" | "task_notification") => {
            let status = line.patch.0.as_ref().and_then(|it| it.status).or(line.status);
            let state = said(status).and_then(|it| BackgroundState::parse(&it));
            state
                .map(|it| LineSignal::Background(background(&line, Some(it))))
                .into_iter()
                .collect()
        }
        // `background_tasks_changed` repeats what the others say.
        _ => Vec::new(),
    })
}

fn background(line: &SystemLine<'_>, state: Option<BackgroundState>) -> BackgroundNews {
    let tokens = line.usage.0.as_ref().and_then(|it| id(it.total_tokens));
    BackgroundNews {
        task_id: id(line.task_id),
        tool_use_id: id(line.tool_use_id),
        agent_id: text(line.summary),
        state,
        tokens: tokens.and_then(|it| it.parse().ok()),
    }
}
