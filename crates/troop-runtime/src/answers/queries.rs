//! Queries: what can be looked at without changing anything.

use serde_json::value::{RawValue, to_raw_value};
use troop_model::{
    ActorKind, Asker, DelegationView, LEAD_ALIASES, MessageView, Party, Role, State, TaskRef,
    TaskView, TeamView, team_md,
};
use troop_protocol::{
    ContextText, DelegationList, Failure, FailureKind, MemberList, MessageList, Query, Session,
    TaskList,
};

use super::{Answers, LeadPresence, failure};
use crate::TaskPage;

impl Answers {
    pub(super) async fn query(
        &self,
        session: Session,
        query: Query,
    ) -> Result<Box<RawValue>, Failure> {
        match query {
            Query::Task { task } => self.task(task).await,
            Query::Tasks { status, page } => {
                let page = self.board.list(status, session.origin, page as usize).await;
                self.tasks(page.map_err(|error| failure(&error))?).await
            }
            Query::Search { text, page } => {
                let page = self.board.search(&text, session.origin, page as usize).await;
                self.tasks(page.map_err(|error| failure(&error))?).await
            }
            Query::Next {} => {
                let next =
                    self.board.next(Asker { actor: session.actor, origin: session.origin }).await;
                let next = next.map_err(|error| failure(&error))?;
                self.look(move |state| to_raw_value(&TaskView::brief(state, &next))).await
            }
            Query::Members {} => self.members().await,
            Query::Delegations {} => self.look(delegations).await,
            Query::Context {} => self.context(session).await,
            Query::Messages { all } => self.messages(session, all).await,
            Query::Team {} => self.team().await,
        }
    }

    async fn task(&self, task: TaskRef) -> Result<Box<RawValue>, Failure> {
        let task = self.board.task(task).await.map_err(|error| failure(&error))?;
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
            let mut members = presence.members(state);
            members.sort_by_key(|member| member.role != Role::Lead);
            to_raw_value(&MemberList { members })
        })
        .await
    }

    async fn context(&self, session: Session) -> Result<Box<RawValue>, Failure> {
        let is_member = session.actor.kind == ActorKind::Agent;
        // People see what their lead knows.
        let reader = if is_member { session.actor.name } else { LEAD_ALIASES[0].into() };
        self.look(move |state| to_raw_value(&ContextText { team_md: team_md(state, &reader) }))
            .await
    }

    async fn messages(&self, session: Session, all: bool) -> Result<Box<RawValue>, Failure> {
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
                // A lead that was killed left its lease behind, and does nothing for anybody.
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
        let looked = self.board.look(look).await.map_err(|error| failure(&error))?;
        looked.map_err(|error| Failure::new(FailureKind::Bug, &error))
    }
}

fn delegations(state: &State) -> serde_json::Result<Box<RawValue>> {
    let mut delegations: Vec<_> =
        state.delegations().map(|it| DelegationView::new(state, it)).collect();
    delegations.sort_by_key(|it| (it.started_at, it.id));
    to_raw_value(&DelegationList { delegations })
}
