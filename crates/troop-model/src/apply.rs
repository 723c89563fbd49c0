//! How facts change a state. There are no rules here: an event in the log has happened.

mod delegation;
mod task;

use std::sync::Arc;

use crate::{
    Event, Fact, LeadLease, MemberName, MemberState, Message, MessageKind, Notice, Party, Receipt,
    Role, State, Team, TeamStatus, Usage, WorkspaceFile,
};

impl State {
    /// Applies one event. Events must come in the order of their versions.
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
            Fact::MemberAdded { member, role, .. } => {
                if *role == Role::Lead {
                    self.update_team(|team| team.lead = Some(member.clone()));
                }
                self.roster.add(event);
            }
            Fact::MemberRemoved { member, .. } => self.apply_member_removed(member),
            Fact::MemberStateChanged { .. } => self.apply_member_state(event),
            // An interrupted member waits for nothing; if it still needs an answer, it asks again.
            Fact::MemberInterrupted { member, .. } => {
                self.requests.withdraw_all(&Party::member(member));
            }
            Fact::MemberModeChanged { member, permissions } => {
                self.roster.update(member, |member| member.permissions = *permissions);
                // It may not need permission any more; if it does, it asks again.
                self.requests.withdraw(&Party::member(member), MessageKind::PermissionRequest);
            }
            Fact::UsageReported { .. } => self.apply_usage(event),
            Fact::LinkSet { link } => self.links.set(link),
            Fact::LinkPurged { from, to } => self.links.purge(from, to),
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
        let Fact::TeamCreated { team, name, description, goal, settings } = &event.fact else {
            return;
        };
        self.head.team = Some(Arc::new(Team {
            id: *team,
            name: name.clone(),
            description: description.clone(),
            goal: goal.clone(),
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
            let lead = self.lead().map(|lead| Party::member(&lead.name));
            lead.iter().for_each(|lead| self.requests.withdraw_all(lead));
        }
    }

    fn apply_team_deleted(&mut self) {
        self.update_team(|team| team.status = TeamStatus::Deleted);
        self.links.leave_team();
    }

    fn apply_member_state(&mut self, event: &Event) {
        let Fact::MemberStateChanged { member, state, .. } = &event.fact else { return };
        self.roster.note_state(event);
        if matches!(state, MemberState::Stopped | MemberState::Crashed) {
            self.requests.withdraw_all(&Party::member(member));
            self.untold.forget_all_of(member);
        }
    }

    fn apply_usage(&mut self, event: &Event) {
        let Fact::UsageReported { member, task, usage, .. } = &event.fact else { return };
        self.update_team(|team| team.usage += *usage);
        self.roster.update(member, |member| member.usage += *usage);
        if let Some(task) = task {
            let n_finished = self.limits.finished;
            self.tasks.update(*task, event.version, n_finished, |it| it.usage += *usage);
        }
    }

    fn apply_member_removed(&mut self, member: &MemberName) {
        let party = Party::member(member);
        self.roster.remove(member);
        self.untold.forget_all_of(member);
        self.mailbox.get_mut().drop_reader(&party);
        self.forget_settled();
        self.links.disable(member);
        self.requests.forget(&party);
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
            notice,
        } = &event.fact
        else {
            return;
        };
        let tells_result = *notice == Some(Notice::Result) || *message_kind == MessageKind::Idle;
        if let Some(task) = task.filter(|_| tells_result) {
            self.untold.forget(task);
        }
        if let (Some(Notice::ReportDue), Some(task)) = (notice, task) {
            self.tasks.update(*task, event.version, self.limits.finished, |task| {
                task.hold.n_report_requests += 1;
            });
        }
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
            notice: *notice,
            task: *task,
            origin: origin.clone(),
            receipts,
        };
        if let Some(older) = supersedes {
            readers.iter().for_each(|reader| self.mailbox.get_mut().drop_message(reader, *older));
        }
        self.mailbox.get_mut().insert(event.version, message);
        self.forget_settled();
        self.requests.note(event);
    }

    fn forget_settled(&mut self) {
        self.mailbox.get_mut().forget_settled(self.limits.settled);
    }
}
