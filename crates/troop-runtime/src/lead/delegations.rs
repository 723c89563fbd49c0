//! Runs of members: what they are told, when they have ended, and the conversation in which the lead's agent acts.
//!
//! That a delegation ends with the hold on its task, and what the lead is told then, is decided by the rules. Here is only
//! what they cannot know: whether a member runs at all, and whether it is still in the middle of something.

use std::collections::BTreeMap;

use troop_model::{
    Actor, Command, Delegation, DelegationOutcome, DelegationStatus, MemberName, NewMember, Origin,
    Party, Refusal, SessionKey, Spawn, State, Task, TaskCommand, TaskNumber, TaskRef, team_md,
};
use troop_protocol::{Level, ReportedStatus, TaskReport, WireRun};
use uuid::Uuid;

use super::{Runner, dispatcher::Dispatcher, input::LeadInput};
use crate::{BoardError, CommandRequest};

/// What a member is in the middle of.
#[derive(Debug)]
pub(super) struct AtWork {
    pub(super) task: TaskNumber,
    attempt: Option<u32>,
    /// What it told people last. Where it says nothing else in the end, that is its result.
    said: Option<String>,
}

/// In which conversation the lead's agent acts: that of the mail which it read last.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    current: Option<Origin>,
    /// What each conversation asked for last: the trace that what is done about it belongs to.
    requests: BTreeMap<Origin, Uuid>,
}

impl Conversation {
    /// Where a command of the lead's agent comes from.
    pub(super) fn origin(&self) -> Option<&Origin> {
        self.current.as_ref()
    }

    /// What the lead's agent is dealing with.
    fn request(&self) -> Option<Uuid> {
        self.requests.get(self.current.as_ref()?).copied()
    }

    fn turn_to(&mut self, message: &troop_model::Message) {
        // Troop's own traffic is of no conversation, and must not free the agent from the one that it is in.
        if message.origin.is_internal() {
            return;
        }
        if message.from == Party::user() {
            self.requests.insert(message.origin.clone(), message.id);
        }
        self.current = Some(message.origin.clone());
    }
}

impl Dispatcher {
    /// Somebody is to work on something. Who does not run is started for it.
    pub(super) async fn delegated(&mut self, delegation: Uuid, to: &MemberName) {
        let Some(member) = self.post.state.member(to) else { return };
        let is_there = member.is_running() || self.links.contains_key(to) || member.is_external();
        if is_there || self.post.is_ending() || self.restarts.is_waiting(to) {
            return;
        }
        let member = NewMember {
            name: member.name.clone(),
            agent: member.agent.clone(),
            expertise: member.expertise.clone(),
            model: member.model.clone(),
            permissions: None,
        };
        let request = self.post.own(Command::SpawnMember(Spawn { member, prompt: None }));
        self.post
            .give_or(request, move |error| {
                // Somebody else, or another delegation, was faster.
                let is_done = matches!(error, BoardError::Refused(Refusal::AlreadyRunning { .. }));
                (!is_done).then_some(LeadInput::NotDelegated(delegation, error))
            })
            .await;
    }

    /// The board is against starting whoever was to do it, for example because too many run already.
    pub(super) async fn not_delegated(&mut self, delegation: Uuid, why: &BoardError) {
        let outcome = DelegationOutcome::Failed(format!("it cannot be started: {why}"));
        self.post.give(Command::FinishDelegation { delegation, outcome }).await;
    }

    /// Starts those to whom something was delegated before this lead began.
    pub(super) async fn begin_delegations(&mut self) {
        let running =
            self.post.state.delegations().filter(|it| it.status == DelegationStatus::Running);
        let running: Vec<_> = running.map(|it| (it.id, it.to.clone())).collect();
        for (delegation, to) in running {
            self.delegated(delegation, &to).await;
        }
    }

    /// A member begins to work on a task.
    pub(super) fn begins_work(&mut self, runner: &Runner, task: &TaskRef, attempt: Option<u32>) {
        let Ok(task) = self.post.state.resolve(task) else { return };
        if let Some(link) = self.link(runner) {
            link.at_work = Some(AtWork { task, attempt, said: None });
            link.is_in_turn = link.tells_end;
            self.post.engage(&runner.member, Some(task));
        }
    }

    /// A member tells people something.
    pub(super) fn says_at_work(&mut self, runner: &Runner, level: Level, text: &str) {
        if let Some(work) = self.link(runner).and_then(|link| link.at_work.as_mut())
            && level == Level::Info
        {
            work.said = Some(text.to_owned());
        }
    }

    /// A member itself says how a task ended.
    pub(super) fn says_end(&mut self, runner: &Runner, command: &Command) {
        let Command::Task(
            TaskCommand::Complete { task, .. }
            | TaskCommand::Fail { task, .. }
            | TaskCommand::Release { task, .. }
            | TaskCommand::Review { task, .. },
        ) = command
        else {
            return;
        };
        let Ok(task) = self.post.state.resolve(task) else { return };
        if let Some(link) = self.link(runner)
            && link.at_work.take_if(|work| work.task == task).is_some()
        {
            self.post.engage(&runner.member, None);
        }
    }

    /// A member has nothing to do any more. If it was in the middle of a delegation and has said nothing about its end, that
    /// is the end of it, with what it said last.
    pub(super) async fn run_ends(&mut self, runner: &Runner) {
        let Some(work) = self.link(runner).and_then(|link| link.at_work.take()) else { return };
        self.post.engage(&runner.member, None);
        let AtWork { task, attempt, said } = work;
        if self.post.state.delegation_of(task).is_none_or(|it| it.to != runner.member) {
            return;
        }
        let report = TaskReport {
            task_id: task.into(),
            status: ReportedStatus::Completed,
            result: said,
            summary: None,
            reason: None,
            attempt,
            for_good: false,
        };
        self.reported(runner, report).await;
    }

    /// A member has read something, and deals with it from now on.
    pub(super) fn reads(&mut self, member: &MemberName, messages: Option<&[Uuid]>) {
        let is_lead = self.post.is_lead(member);
        for message in self.post.state.mailbox().unread_of(&Party::member(member)) {
            if messages.is_some_and(|ids| !ids.contains(&message.id)) {
                continue;
            }
            if is_lead {
                self.conversation.turn_to(message);
            } else if let Some(link) = self.links.get_mut(member)
                && !message.origin.is_internal()
            {
                link.answers = Some(message.origin.clone());
            }
        }
    }

    /// Whether the lead reads what a person told it, and has not done it yet.
    pub(super) fn reads_of_person(&self, member: &MemberName, messages: Option<&[Uuid]>) -> bool {
        let reader = Party::member(member);
        let mut unread = self.post.state.mailbox().unread_of(&reader);
        self.post.is_lead(member)
            && self.post.left_open().is_some()
            && unread.any(|it| {
                it.from == Party::user() && messages.is_none_or(|ids| ids.contains(&it.id))
            })
    }

    /// Where a member that does not lead says something from: what answers mail belongs to the conversation of that mail. In
    /// all else it acts in its own name alone, whoever asked for what it does.
    pub(super) fn origin_of(&self, actor: &Actor, command: &Command) -> Origin {
        let own = || Origin { channel: Some("teammate".into()), ..Origin::default() };
        let is_word = matches!(command, Command::Send(_));
        let link = self.links.get(actor.name.as_str()).filter(|_| is_word);
        link.and_then(|link| link.answers.clone()).unwrap_or_else(own)
    }

    /// A command of the lead's agent, in the conversation that it is about.
    pub(super) fn in_conversation(&self, mut request: CommandRequest) -> CommandRequest {
        if let Some(origin) = self.conversation.origin() {
            request.origin = origin.clone();
        }
        if let Command::Delegate { trace_id: trace_id @ None, .. } = &mut request.command {
            *trace_id = self.conversation.request();
        }
        request
    }

    /// TEAM.md for a member, if it has changed since the member was told.
    pub(super) fn new_team_md(&self, member: &MemberName) -> Option<String> {
        let told = self.links.get(member).map_or(0, |link| link.told_team);
        (told != self.post.agenda.n_teams).then(|| team_md(&self.post.state, member.as_str()))
    }
}

/// What whoever works on a task is told about the run.
pub(super) fn run_of(state: &State, task: &Task, member: &MemberName) -> WireRun {
    let delegation = state.delegation_of(task.number).filter(|it| it.to == *member);
    let session =
        delegation.map_or_else(|| SessionKey::Teammate(member.clone()), Delegation::session);
    let origin = delegation.map_or(&task.provenance.origin, |it| &it.origin);
    let text = |text: &Option<smol_str::SmolStr>| text.as_ref().map(ToString::to_string);
    WireRun {
        team_id: state.team().map(|team| team.id.0),
        task_id: Some(task.id),
        session: Some(session.to_string()),
        lane: Some(SessionKey::LANE.to_owned()),
        delegation_id: delegation.map(|it| it.id),
        trace_id: delegation.map(|it| it.trace_id),
        parent_trace_id: delegation.and_then(|it| it.parent_trace_id),
        channel: text(&origin.channel),
        chat_id: text(&origin.chat_id),
        workspace: None,
        peer_kind: text(&origin.peer_kind),
        local_key: text(&origin.local_key),
    }
}
