//! Queries: calls that change nothing.

use std::io;

use serde_json::value::{RawValue, to_raw_value};
use troop_model::{
    ActorKind, Asker, DelegationView, LEAD_ALIASES, MessageView, Party, Role, State, TaskRef,
    TaskView, TeamView, team_md,
};
use troop_protocol::{
    ContextText, DelegationList, Failure, FailureKind, MemberList, MessageList, NeedList, Query,
    TaskList,
};

use super::{Answers, LeadPresence, TranscriptReader, to_json};
use crate::TaskPage;

impl Answers {
    pub(super) async fn query(
        &self,
        session: Asker,
        query: Query,
    ) -> Result<Box<RawValue>, Failure> {
        match query {
            Query::Task { task } => self.task(task).await,
            Query::Tasks { status, page } => {
                self.tasks(self.board.list(status, session.origin, page as usize).await?).await
            }
            Query::Search { text, page } => {
                self.tasks(self.board.search(&text, session.origin, page as usize).await?).await
            }
            Query::Next {} => {
                let next = self.board.next(session).await?;
                self.look(move |state| to_raw_value(&TaskView::brief(state, &next))).await
            }
            Query::Members {} => self.members().await,
            Query::Delegations {} => self.look(delegations).await,
            Query::Context {} => self.context(session).await,
            Query::Messages { all } => self.messages(session, all).await,
            Query::Team {} => self.team().await,
            Query::Teams { all } => to_json(&self.teams(all).await?),
            Query::Needs {} => self.needs().await,
            Query::Transcript { member, from, cursor, limit } => {
                let reader = self.transcript(member).await?;
                let read = move || reader.page(from, cursor.as_deref(), limit as usize);
                let page = tokio::task::spawn_blocking(read).await;
                let page = page.map_err(|error| Failure::new(FailureKind::Bug, &error))?;
                to_json(&page.map_err(|error| unreadable(&error))?)
            }
        }
    }

    async fn task(&self, task: TaskRef) -> Result<Box<RawValue>, Failure> {
        let task = self.board.task(task).await?;
        self.look(move |state| to_raw_value(&TaskView::full(state, &task))).await
    }

    async fn tasks(&self, page: TaskPage) -> Result<Box<RawValue>, Failure> {
        self.look(move |state| {
            let TaskPage { tasks, page, pages, version, .. } = page;
            let tasks = tasks.iter().map(|task| TaskView::brief(state, task)).collect();
            to_raw_value(&TaskList { tasks, page, pages, version })
        })
        .await
    }

    async fn members(&self) -> Result<Box<RawValue>, Failure> {
        let presence = LeadPresence::read(&self.folder);
        self.look(move |state| {
            let mut members = presence.waiting_members(state);
            members.sort_by_key(|member| member.role != Role::Lead);
            to_raw_value(&MemberList { members })
        })
        .await
    }

    async fn needs(&self) -> Result<Box<RawValue>, Failure> {
        let presence = LeadPresence::read(&self.folder);
        self.look(move |state| {
            let needs = state.needs(&presence.members(state));
            to_raw_value(&NeedList { needs, version: state.version() })
        })
        .await
    }

    /// The transcript of a member, or of a former member that left one.
    pub(super) async fn transcript(&self, member: String) -> Result<TranscriptReader, Failure> {
        let text = member.clone();
        let find = move |state: &State| state.find_member(&text).map(|it| it.name.clone());
        let found = self.board.look(find).await?;
        match (found, member.parse()) {
            (Ok(name), _) => Ok(TranscriptReader::new(&self.folder, &name)),
            (Err(refusal), Ok(name)) => {
                let reader = TranscriptReader::new(&self.folder, &name);
                if reader.exists() { Ok(reader) } else { Err(Failure::from(&refusal)) }
            }
            (Err(refusal), Err(_)) => Err(Failure::from(&refusal)),
        }
    }

    async fn context(&self, session: Asker) -> Result<Box<RawValue>, Failure> {
        let is_member = session.actor.kind == ActorKind::Agent;
        // People see the lead's context.
        let reader = if is_member { session.actor.name } else { LEAD_ALIASES[0].into() };
        self.look(move |state| to_raw_value(&ContextText { team_md: team_md(state, &reader) }))
            .await
    }

    async fn messages(&self, session: Asker, all: bool) -> Result<Box<RawValue>, Failure> {
        let is_member = session.actor.kind == ActorKind::Agent;
        self.look(move |state| {
            let own = state.find_member(&session.actor.name).ok().filter(|_| is_member);
            let is_ordinary = own.is_some_and(|member| member.role == Role::Member);
            let reader = own.map_or_else(Party::user, |member| Party::member(&member.name));
            let mailbox = state.mailbox();
            let messages: Vec<_> = if all && !is_ordinary {
                mailbox.iter().map(|it| MessageView::new(it, None)).collect()
            } else {
                mailbox.unread_of(&reader).map(|it| MessageView::new(it, Some(&reader))).collect()
            };
            to_raw_value(&MessageList { messages })
        })
        .await
    }

    async fn team(&self) -> Result<Box<RawValue>, Failure> {
        let presence = LeadPresence::read(&self.folder);
        let now = self.board.now();
        self.look(move |state| {
            let team = state.team().map(|team| TeamView {
                // A killed lead leaves its lease behind.
                lead_lease: presence.lease(team, now).cloned(),
                members: presence.members(state),
                ..TeamView::new(state, team)
            });
            to_raw_value(&team)
        })
        .await
    }

    async fn look(
        &self,
        look: impl FnOnce(&State) -> serde_json::Result<Box<RawValue>> + Send + 'static,
    ) -> Result<Box<RawValue>, Failure> {
        let looked = self.board.look(look).await?;
        looked.map_err(|error| Failure::new(FailureKind::Bug, &error))
    }
}

fn delegations(state: &State) -> serde_json::Result<Box<RawValue>> {
    let mut delegations: Vec<_> =
        state.delegations().map(|it| DelegationView::new(state, it)).collect();
    delegations.sort_by_key(|it| (it.started_at, it.id));
    to_raw_value(&DelegationList { delegations })
}

/// A transcript that cannot be read, or an invalid cursor.
pub(super) fn unreadable(error: &io::Error) -> Failure {
    let is_invalid = error.kind() == io::ErrorKind::InvalidInput;
    let kind = if is_invalid { FailureKind::Invalid } else { FailureKind::Unavailable };
    Failure::new(kind, error)
}
