//! The resources that a client can read without a tool call: the board, a task, the mailbox, TEAM.md.

use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use serde_json::json;
use troop_app::team::MemberCaller;
use troop_model::{Event, Fact, TaskFilter, TaskNumber, no_team_md};
use troop_protocol::{Call, Calls as _, ContextText, Failure, FailureKind, Query};

pub(super) const BOARD: &str = "troop://board";
pub(super) const MAILBOX: &str = "troop://mailbox";
pub(super) const TEAM_MD: &str = "troop://TEAM.md";
const PAGE: &str = "troop://board/";
const TASK: &str = "troop://task/";
const JSON: &str = "application/json";

/// The resources with a fixed address.
pub(super) fn all() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, about: &str, mime: &str| {
        Resource::new(uri, name).with_description(about).with_mime_type(mime)
    };
    vec![
        resource(
            BOARD,
            "board",
            "The team's open tasks: the first page, and how many there are",
            JSON,
        ),
        resource(MAILBOX, "mailbox", "Your unread messages; this does not mark them as read", JSON),
        resource(TEAM_MD, "TEAM.md", "Your team, and how to work in it", "text/markdown"),
    ]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, about: &str| {
        ResourceTemplate::new(uri, name).with_description(about).with_mime_type(JSON)
    };
    vec![
        template(&format!("{PAGE}{{page}}"), "page", "A page of the team's open tasks, from 1"),
        template(&format!("{TASK}{{number}}"), "task", "Everything about one task"),
    ]
}

pub(super) async fn read(
    caller: &MemberCaller,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let open = |page| Query::Tasks { status: TaskFilter::Active, page };
    let page = uri.strip_prefix(PAGE).and_then(|page| page.parse().ok()).filter(|page| *page > 0);
    let contents = match uri {
        BOARD => as_json(caller, open(1), uri).await,
        _ if page.is_some() => as_json(caller, open(page.unwrap_or(1)), uri).await,
        MAILBOX => as_json(caller, Query::Messages { all: false }, uri).await,
        TEAM_MD => team_md(caller)
            .await
            .map(|text| ResourceContents::text(text, uri).with_mime_type("text/markdown")),
        other => match other.strip_prefix(TASK).map(str::parse) {
            Some(Ok(task)) => as_json(caller, Query::Task { task, offset: 0 }, uri).await,
            Some(Err(refusal)) => Err(Failure::from(&refusal)),
            None => Err(Failure::new(FailureKind::NotFound, &format!("there is no `{uri}`"))),
        },
    };
    contents.map(|contents| ReadResourceResult::new(vec![contents])).map_err(|failure| {
        let mut error = refused(&failure);
        error.data = Some(json!({"uri": uri}));
        error
    })
}

async fn as_json(
    caller: &MemberCaller,
    query: Query,
    uri: &str,
) -> Result<ResourceContents, Failure> {
    let answer = caller.call(Call::Query(query)).await?;
    Ok(ResourceContents::text(answer.get(), uri).with_mime_type(JSON))
}

/// TEAM.md, which tells an agent about its team.
pub(super) async fn team_md(caller: &MemberCaller) -> Result<String, Failure> {
    if caller.gate().check().is_err() || caller.is_without_team() {
        // If it has no tools for a team, it hears of none.
        return Ok(no_team_md());
    }
    let dialect = Some(caller.dialect());
    let context: ContextText = caller.query(Query::Context { dialect, is_client: true }).await?;
    Ok(context.team_md)
}

pub(super) fn refused(failure: &Failure) -> ErrorData {
    let text = failure.for_model();
    if matches!(failure.kind, FailureKind::NotFound | FailureKind::Invalid) {
        ErrorData::resource_not_found(text, None)
    } else {
        ErrorData::internal_error(text, None)
    }
}

/// The resources that an event changes.
pub(super) fn changed_by(event: &Event) -> Vec<String> {
    let is_mail = matches!(
        event.fact,
        Fact::MessageSent { .. } | Fact::MessageDelivered { .. } | Fact::MessageRead { .. }
    );
    let is_about_team = matches!(
        event.fact,
        Fact::TeamCreated { .. }
            | Fact::TeamUpdated { .. }
            | Fact::TeamCompleted {}
            | Fact::TeamDeleted {}
            | Fact::MemberAdded { .. }
            | Fact::MemberRemoved { .. }
            | Fact::LinkSet { .. }
            | Fact::LinkPurged { .. }
    );
    match event.fact.task() {
        _ if is_mail => vec![MAILBOX.to_owned()],
        Some(TaskNumber(number)) => vec![BOARD.to_owned(), format!("{TASK}{number}")],
        None if is_about_team => vec![TEAM_MD.to_owned()],
        None => Vec::new(),
    }
}
