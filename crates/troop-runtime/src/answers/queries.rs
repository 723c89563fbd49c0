//! Queries: calls that change nothing.

use std::io;

use serde_json::value::{RawValue, to_raw_value};
use troop_model::{
    ActorKind, Asker, DelegationView, LEAD_ALIASES, MemberName, MessageView, Party, Refusal, Role,
    State, TaskRef, TaskView, TeamView, team_md, team_md_for_client,
};
use troop_protocol::{
    ContextText, DelegationList, Failure, FailureKind, MemberList, MessageList, NeedList, Query,
    TaskList,
};

use super::{Answers, LeadPresence, TranscriptReader, to_json};
use crate::{BoardResult, TaskPage};

impl Answers {
    pub(super) async fn query(&self, asker: Asker, query: Query) -> Result<Box<RawValue>, Failure> {
        match query {
            Query::Task { task, offset } => self.task(task, offset).await,
            Query::Tasks { status, page } => {
                self.tasks(self.board.list(status, asker.origin, page as usize).await?).await
            }
            Query::Search { text, page } => {
                self.tasks(self.board.search(&text, asker.origin, page as usize).await?).await
            }
            Query::Next {} => {
                let next = self.board.next(asker).await?;
                self.look(move |state| to_raw_value(&TaskView::brief(state, &next))).await
            }
            Query::Members {} => to_json(&self.members().await?),
            Query::Delegations {} => to_json(&self.delegations().await?),
            Query::Context { dialect, is_client: false } => {
                self.context(asker, move |state, reader| team_md(state, reader, dialect)).await
            }
            Query::Context { dialect, is_client: true } => {
                let text = move |state: &_, reader: &_| team_md_for_client(state, reader, dialect);
                self.context(asker, text).await
            }
            Query::Messages { all } => self.messages(asker, all).await,
            Query::Team {} => to_json(&self.team_for(&asker).await?),
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

    async fn task(&self, task: TaskRef, offset: usize) -> Result<Box<RawValue>, Failure> {
        let task = self.board.task(task).await?;
        self.look(move |state| to_raw_value(&TaskView::full(state, &task, offset))).await
    }

    async fn tasks(&self, page: TaskPage) -> Result<Box<RawValue>, Failure> {
        self.look(move |state| {
            let TaskPage { tasks, page, pages, version, .. } = page;
            let tasks = tasks.iter().map(|task| TaskView::brief(state, task)).collect();
            to_raw_value(&TaskList { tasks, page, pages, version })
        })
        .await
    }

    /// The members as they are now, even if the lead was killed.
    pub async fn members(&self) -> BoardResult<MemberList> {
        let presence = LeadPresence::read(&self.folder);
        self.board.look(move |state| MemberList { members: presence.members(state) }).await
    }

    /// The delegations, oldest first.
    pub async fn delegations(&self) -> BoardResult<DelegationList> {
        let look = |state: &State| {
            let all = state.delegations().map(|it| DelegationView::new(state, it));
            let mut delegations: Vec<_> = all.collect();
            delegations.sort_by_key(|it| (it.started_at, it.id));
            DelegationList { delegations }
        };
        self.board.look(look).await
    }

    async fn needs(&self) -> Result<Box<RawValue>, Failure> {
        let presence = LeadPresence::read(&self.folder);
        self.look(move |state| {
            let needs = presence.needs(state);
            to_raw_value(&NeedList { needs, version: state.version() })
        })
        .await
    }

    /// The transcript of a member, or of a former member that left one.
    pub async fn transcript(&self, member: String) -> BoardResult<TranscriptReader> {
        let text = member.clone();
        let find = move |state: &State| state.find_member(&text).map(|it| it.name.clone());
        let found = self.board.look(find).await?;
        let reader = |name: MemberName| TranscriptReader::new(&self.folder, &name);
        match found {
            Ok(name) => Ok(reader(name)),
            Err(refusal) => {
                let former = reader(member.parse().map_err(Refusal::from)?);
                if former.exists() { Ok(former) } else { Err(refusal.into()) }
            }
        }
    }

    /// The team as the caller may see it: what a person told the lead is not for its teammates.
    async fn team_for(&self, asker: &Asker) -> BoardResult<Option<TeamView>> {
        let mut team = self.team().await?;
        if let Some(team) = team.as_mut().filter(|_| asker.actor.kind == ActorKind::Agent) {
            let is_lead = team.lead.as_ref().is_some_and(|lead| lead.as_str() == asker.actor.name);
            team.goal = team.goal.take().filter(|_| is_lead);
        }
        Ok(team)
    }

    async fn context(
        &self,
        asker: Asker,
        text: impl FnOnce(&State, &str) -> String + Send + 'static,
    ) -> Result<Box<RawValue>, Failure> {
        let is_member = asker.actor.kind == ActorKind::Agent;
        // People see the lead's context.
        let reader = if is_member { asker.actor.name } else { LEAD_ALIASES[0].into() };
        let look =
            move |state: &State| to_raw_value(&ContextText { team_md: text(state, &reader) });
        self.look(look).await
    }

    async fn messages(&self, asker: Asker, all: bool) -> Result<Box<RawValue>, Failure> {
        let looked = self.board.look(move |state| message_list(state, asker, all));
        to_json(&looked.await?.map_err(|refusal| Failure::from(&refusal))?)
    }

    /// The team as it is now, even if its lead was killed. None before it is made.
    pub async fn team(&self) -> BoardResult<Option<TeamView>> {
        let presence = LeadPresence::read(&self.folder);
        let now = self.board.now();
        let look = move |state: &State| {
            state.team().map(|team| TeamView {
                // A killed lead leaves its lease behind.
                lead_lease: presence.lease(team, now).cloned(),
                members: presence.members(state),
                ..TeamView::new(state, team)
            })
        };
        self.board.look(look).await
    }

    async fn look(
        &self,
        look: impl FnOnce(&State) -> serde_json::Result<Box<RawValue>> + Send + 'static,
    ) -> Result<Box<RawValue>, Failure> {
        let looked = self.board.look(look).await?;
        looked.map_err(|error| Failure::new(FailureKind::Bug, &error))
    }
}

/// The unread mail of the asker, or all mail of the team.
fn message_list(state: &State, asker: Asker, all: bool) -> Result<MessageList, Refusal> {
    let Asker { actor, origin } = asker;
    let is_member = actor.kind == ActorKind::Agent;
    let reader = match actor.kind {
        ActorKind::Human | ActorKind::System => Party::user(),
        ActorKind::Agent => match state.find_member(&actor.name) {
            Ok(member) if all && member.role == Role::Member => {
                let what = "read the mail of others";
                return Err(Refusal::Forbidden {
                    who: actor.name,
                    what,
                    may: "the lead or a person",
                });
            }
            Ok(member) => Party::member(&member.name),
            Err(_) => return Err(Refusal::NotAMember { name: actor.name.to_string() }),
        },
    };
    let mailbox = state.mailbox();
    let messages = match all {
        true => mailbox.iter().map(|it| MessageView::new(it, None)).collect(),
        false => {
            let unread = mailbox.unread_of(&reader);
            // All people share one mailbox; each sees its own inbox in it.
            let own = unread.filter(|it| is_member || it.is_in_inbox_of(&origin));
            own.map(|it| MessageView::new(it, Some(&reader))).collect()
        }
    };
    Ok(MessageList { messages })
}

/// A transcript that cannot be read, or an invalid cursor.
pub(super) fn unreadable(error: &io::Error) -> Failure {
    let is_invalid = error.kind() == io::ErrorKind::InvalidInput;
    let kind = if is_invalid { FailureKind::Invalid } else { FailureKind::Unavailable };
    Failure::new(kind, error)
}
