//! Questions between members that wait for an answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Event, Fact, JournaledMap, MessageKind, Party, Time};

/// A question between members that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub kind: MessageKind,
    /// The party that asked.
    pub from: Party,
    /// The party that must answer.
    pub to: Party,
    /// When it was asked.
    pub at: Time,
}

/// The open requests, by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Requests(JournaledMap<Uuid, Request>);

impl Requests {
    pub(crate) fn entries(&self) -> &BTreeMap<Uuid, Request> {
        self.0.entries()
    }

    /// Opens the request that a message makes, or closes the one that it answers.
    pub(crate) fn note(&mut self, event: &Event) {
        let Fact::MessageSent { from, to, message_kind, request_id: Some(id), .. } = &event.fact
        else {
            return;
        };
        match message_kind {
            MessageKind::ShutdownRequest
            | MessageKind::PlanApprovalRequest
            | MessageKind::PermissionRequest => {
                let kind = *message_kind;
                let request = Request { kind, from: from.clone(), to: to.clone(), at: event.at };
                self.0.insert(*id, request);
            }
            MessageKind::ShutdownResponse
            | MessageKind::PlanApprovalResponse
            | MessageKind::PermissionResponse => self.0.remove(id),
            MessageKind::Message
            | MessageKind::Broadcast
            | MessageKind::Idle
            | MessageKind::TaskAssignment
            | MessageKind::System => {}
        }
    }

    /// Withdraws the requests of a member that has ended: it waits for nothing, and would not understand the answer.
    pub(crate) fn withdraw_all(&mut self, party: &Party) {
        self.remove_if(|it| it.from == *party && it.kind != MessageKind::ShutdownRequest);
    }

    /// Withdraws the requests of one kind that a member made.
    pub(crate) fn withdraw(&mut self, party: &Party, kind: MessageKind) {
        self.remove_if(|it| it.from == *party && it.kind == kind);
    }

    /// Removes everything from and to a member that left.
    pub(crate) fn forget(&mut self, party: &Party) {
        self.remove_if(|it| it.from == *party || it.to == *party);
    }

    fn remove_if(&mut self, is_over: impl Fn(&Request) -> bool) {
        let over = self.entries().iter().filter(|(_, request)| is_over(request));
        let over: Vec<_> = over.map(|(id, _)| *id).collect();
        over.iter().for_each(|id| self.0.remove(id));
    }

    pub(super) fn begin(&mut self) {
        self.0.begin();
    }

    pub(super) fn rollback(&mut self) {
        self.0.rollback();
    }
}

impl From<BTreeMap<Uuid, Request>> for Requests {
    fn from(requests: BTreeMap<Uuid, Request>) -> Self {
        Self(requests.into())
    }
}
