//! How facts change a state. No rule is checked here: what is in the log has happened.

mod delegation;
mod task;

use std::sync::Arc;

use crate::{
    Event, Fact, LeadLease, Member, MemberName, MemberState, Message, MessageKind, Party, Receipt,
    Role, State, Team, TeamStatus, Time, Usage, WorkspaceFile, state::Request,
};

impl State {
    /// Takes one fact into account. Facts must come in the order of their versions.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the rest is about tasks, and has its own table"
    )]
    pub fn apply(&mut self, event: &Event) {
        self.head.version = event.version;
        self.head.latest = self.head.latest.max(event.at);
        self.operations.get_mut().note(event.operation, event.version, event.at, &self.limits);
        match &event.fact {
            Fact::TeamCreated { .. } => self.apply_team_created(event),
            Fact::TeamUpdated { description, settings } => self.update_team(|team| {
                description.clone_into(&mut team.description);
                team.settings = settings.as_ref().clone();
            }),
            Fact::TeamCompleted {} => self.update_team(|team| team.status = TeamStatus::Completed),
            Fact::TeamDeleted {} => self.apply_team_deleted(),
            Fact::LeadTaken { .. } | Fact::LeadRenewed { .. } | Fact::LeadReleased {} => {
                self.apply_lead(event);
            }
            Fact::MemberAdded { .. } => self.apply_member_added(event),
            Fact::MemberRemoved { member, .. } => self.apply_member_removed(member),
            Fact::MemberStateChanged { .. } => self.apply_member_state(event),
            // It waits for nothing any more; if it still wants something, it asks again.
            Fact::MemberInterrupted { member, .. } => self.withdraw_requests(member),
            Fact::MemberModeChanged { member, permissions } => {
                self.roster.update(member, |member| member.permissions = *permissions);
                // It may not need leave any more; if it does, it asks again.
                self.withdraw(member, |kind| kind == MessageKind::PermissionRequest);
            }
            Fact::UsageReported { member, task, usage, .. } => {
                self.update_team(|team| team.usage += *usage);
                self.roster.update(member, |member| member.usage += *usage);
                if let Some(task) = task {
                    let n_finished = self.limits.finished;
                    self.tasks.update(*task, event.version, n_finished, |it| it.usage += *usage);
                }
            }
            Fact::LinkSet { link } => {
                self.links.insert((link.from.clone(), link.to.clone()), link.clone());
            }
            Fact::LinkPurged { from, to } => self.links.remove(&(from.clone(), to.clone())),
            Fact::MessageSent { .. } => self.apply_message_sent(event),
            Fact::MessageDelivered { reader, messages } => {
                self.mailbox.get_mut().mark_delivered(reader, messages, event.at);
            }
            Fact::MessageRead { reader, messages } => {
                self.mailbox.get_mut().mark_read(reader, messages, event.at);
                self.forget_settled();
            }
            Fact::DelegationStarted { .. }
            | Fact::DelegationCompleted { .. }
            | Fact::DelegationFailed { .. }
            | Fact::DelegationCancelled { .. }
            | Fact::DelegationsAnnounced { .. } => self.apply_delegation(event),
            Fact::FileWritten { folder, path, size, task } => {
                let file = WorkspaceFile {
                    by: event.actor.clone(),
                    at: event.at,
                    size: *size,
                    task: *task,
                };
                self.files.get_mut().note(folder, path, file);
                task.iter().for_each(|task| self.apply_task(*task, event));
            }
            Fact::FileDeleted { folder, path } => self.files.get_mut().forget(folder, path),
            fact => {
                if let Some(task) = fact.task() {
                    self.apply_task(task, event);
                }
            }
        }
    }

    fn update_team(&mut self, change: impl FnOnce(&mut Team)) {
        if let Some(team) = &mut self.head.team {
            change(Arc::make_mut(team));
        }
    }

    fn apply_team_created(&mut self, event: &Event) {
        let Fact::TeamCreated { team, name, description, settings } = &event.fact else { return };
        self.head.team = Some(Arc::new(Team {
            id: *team,
            name: name.clone(),
            description: description.clone(),
            status: TeamStatus::Active,
            lead: None,
            settings: settings.as_ref().clone(),
            created_by: event.actor.clone(),
            created_at: event.at,
            lead_lease: None,
            n_leads: 0,
            usage: Usage::default(),
        }));
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the caller sends only these here")]
    fn apply_lead(&mut self, event: &Event) {
        self.update_team(|team| match &event.fact {
            Fact::LeadTaken { session, holder, fence, until, checks } => {
                team.status = TeamStatus::Active;
                team.n_leads = *fence;
                team.lead_lease = Some(LeadLease {
                    session: *session,
                    holder: holder.clone(),
                    fence: *fence,
                    since: event.at,
                    until: *until,
                    checks: checks.clone(),
                });
            }
            Fact::LeadRenewed { until } => {
                if let Some(lease) = &mut team.lead_lease {
                    lease.until = *until;
                }
            }
            _ => team.lead_lease = None,
        });
        if matches!(event.fact, Fact::LeadTaken { .. }) {
            let lead = self.lead().map(|lead| lead.name.clone());
            lead.iter().for_each(|lead| self.withdraw_requests(lead));
        }
    }

    fn apply_team_deleted(&mut self) {
        self.update_team(|team| team.status = TeamStatus::Deleted);
        let keys: Vec<_> = self.links.entries().keys().cloned().collect();
        keys.iter().for_each(|key| self.links.update(key, |link| link.team = None));
    }

    fn apply_member_added(&mut self, event: &Event) {
        let Fact::MemberAdded { member, id, role, agent, expertise, model, permissions } =
            &event.fact
        else {
            return;
        };
        if *role == Role::Lead {
            self.update_team(|team| team.lead = Some(member.clone()));
        }
        let member = Member {
            name: member.clone(),
            id: *id,
            role: *role,
            agent: agent.clone(),
            expertise: expertise.clone(),
            model: model.clone(),
            permissions: *permissions,
            state: MemberState::Stopped,
            state_since: event.at,
            state_reason: None,
            state_cause: None,
            pid: None,
            joined_at: event.at,
            usage: Usage::default(),
        };
        self.roster.insert(member.name.clone(), member);
    }

    fn apply_member_state(&mut self, event: &Event) {
        let Fact::MemberStateChanged { member, state, reason, cause, pid } = &event.fact else {
            return;
        };
        self.roster.update(member, |member| {
            member.state = *state;
            member.state_since = event.at;
            member.state_reason.clone_from(reason);
            member.state_cause = *cause;
            member.pid = *pid;
        });
        if matches!(state, MemberState::Stopped | MemberState::Crashed) {
            self.withdraw_requests(member);
        }
    }

    fn apply_member_removed(&mut self, member: &MemberName) {
        self.roster.remove(member);
        self.mailbox.get_mut().drop_reader(&Party::member(member));
        self.forget_settled();
        let keys: Vec<_> = self
            .links
            .entries()
            .keys()
            .filter(|(from, to)| from == member || to == member)
            .cloned()
            .collect();
        keys.iter().for_each(|key| self.links.update(key, |link| link.enabled = false));
        let party = Party::member(member);
        let open: Vec<_> = self
            .requests()
            .filter(|(_, request)| request.from == party || request.to == party)
            .map(|(id, _)| *id)
            .collect();
        open.iter().for_each(|id| self.requests.remove(id));
    }

    /// Who has ended waits for nothing any more, and would not know what an answer is about.
    fn withdraw_requests(&mut self, member: &MemberName) {
        self.withdraw(member, |kind| kind != MessageKind::ShutdownRequest);
    }

    fn withdraw(&mut self, member: &MemberName, is_meant: impl Fn(MessageKind) -> bool) {
        let party = Party::member(member);
        let is_its = |request: &Request| request.from == party && is_meant(request.kind);
        let open: Vec<_> =
            self.requests().filter(|(_, request)| is_its(request)).map(|(id, _)| *id).collect();
        open.iter().for_each(|id| self.requests.remove(id));
    }

    fn apply_message_sent(&mut self, event: &Event) {
        let Fact::MessageSent {
            id,
            from,
            to,
            message_kind,
            content,
            summary,
            request_id,
            approve,
            task,
            readers,
            supersedes,
            origin,
            notice: _,
        } = &event.fact
        else {
            return;
        };
        let receipts = readers
            .iter()
            .map(|reader| Receipt { reader: reader.clone(), delivered_at: None, read_at: None })
            .collect();
        let message = Message {
            id: *id,
            from: from.clone(),
            to: to.clone(),
            kind: *message_kind,
            content: content.clone(),
            summary: summary.clone(),
            sent_at: event.at,
            request_id: *request_id,
            approve: *approve,
            task: *task,
            origin: origin.clone(),
            receipts,
        };
        if let Some(older) = supersedes {
            readers.iter().for_each(|reader| self.mailbox.get_mut().drop_message(reader, *older));
        }
        self.mailbox.get_mut().insert(event.version, message);
        self.forget_settled();
        if let Some(request_id) = request_id {
            match message_kind {
                MessageKind::ShutdownRequest
                | MessageKind::PlanApprovalRequest
                | MessageKind::PermissionRequest => {
                    let request = Request {
                        kind: *message_kind,
                        from: from.clone(),
                        to: to.clone(),
                        at: event.at,
                    };
                    self.requests.insert(*request_id, request);
                }
                MessageKind::ShutdownResponse
                | MessageKind::PlanApprovalResponse
                | MessageKind::PermissionResponse => {
                    self.requests.remove(request_id);
                }
                MessageKind::Message
                | MessageKind::Broadcast
                | MessageKind::Idle
                | MessageKind::TaskAssignment
                | MessageKind::System => {}
            }
        }
    }

    fn forget_settled(&mut self) {
        self.mailbox.get_mut().forget_settled(self.limits.settled);
    }

    /// A member that takes a task works. The supervisor may know better and says so in its own events.
    fn note_taken(&mut self, member: &MemberName, at: Time) {
        use MemberState::{Crashed, Idle, Stopped};
        self.move_state(member, MemberState::Working, at, |it| {
            matches!(it, Idle | Stopped | Crashed)
        });
    }

    /// A member that works and has given back its last task is idle.
    fn note_given_back(&mut self, member: &MemberName, at: Time) {
        if self.tasks.held_by(member).next().is_none() {
            self.move_state(member, MemberState::Idle, at, |it| it == MemberState::Working);
        }
    }

    fn move_state(
        &mut self,
        member: &MemberName,
        to: MemberState,
        at: Time,
        from: impl FnOnce(MemberState) -> bool,
    ) {
        if self.member(member).is_some_and(|member| from(member.state)) {
            self.roster.update(member, |member| {
                member.state = to;
                member.state_since = at;
                member.state_reason = None;
                member.state_cause = None;
            });
        }
    }
}
