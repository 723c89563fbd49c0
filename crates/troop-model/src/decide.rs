//! All rules: the effects of each command, or the reason for its refusal.

mod delegation;
mod external;
mod lead;
mod mail;
mod message;
mod proof;
mod reserved;
mod results;
mod review;
mod supervision;
mod task;
mod team;
mod tick;
mod usage;
mod work;
mod workspace;

pub use delegation::NO_RESULT;
pub use proof::checks as named_checks;
pub use reserved::work_to_give;
pub use supervision::check_start;

use smol_str::SmolStr;

use message::MessageDraft;
use work::RetryRule;

use crate::{
    Actor, ActorKind, Command, Context, Event, Fact, MemberName, MessageKind, Origin, Party,
    Refusal, Role, State, Task, TaskCommand, TaskNumber, TaskRef, Team, access,
};

/// Decides a command: the events that it causes, or why it is refused. No events means that nothing had to change.
pub fn decide(state: &State, command: &Command, ctx: &Context) -> Result<Vec<Event>, Refusal> {
    let mut draft = Draft::new(state, ctx);
    if let Command::CreateTeam(new) = command {
        team::create(&mut draft, new)?;
        return Ok(draft.into_events());
    }
    state.existing_team()?;
    draft.who = draft.standing()?;
    lead::check_fence(&draft)?;
    if triggers_work(command) {
        access::check_team(&draft.team()?.settings, &ctx.asker.origin)?;
    }
    carry_out(&mut draft, command)?;
    delegation::settle(&mut draft);
    external::tell(&mut draft);
    reserved::tell(&mut draft);
    results::tell(&mut draft);
    Ok(draft.into_events())
}

/// One arm for each command; each is one call.
fn carry_out(draft: &mut Draft<'_>, command: &Command) -> Result<(), Refusal> {
    match command {
        Command::CreateTeam(new) => team::create(draft, new),
        Command::UpdateTeam { description, settings } => {
            team::update(draft, description.as_deref(), settings)
        }
        Command::CompleteTeam => team::complete(draft),
        Command::DeleteTeam => team::delete(draft),
        Command::AddMember(new) => team::add_member(draft, new),
        Command::RemoveMember { member, reason } => {
            team::remove_member(draft, member, reason.as_deref())
        }
        Command::SetMemberState { member, state, reason, cause, pid } => {
            supervision::set_state(draft, member, *state, reason.as_deref(), *cause, *pid)
        }
        Command::SpawnMember(spawn) => supervision::spawn(draft, spawn),
        Command::InterruptMember { member, reason } => {
            supervision::interrupt(draft, member, reason.as_deref())
        }
        Command::ReportIdle { member, last_task } => {
            supervision::report_idle(draft, member, last_task.as_ref())
        }
        Command::ReportSilence { member, task, attempt } => {
            supervision::report_silence(draft, member, task, *attempt)
        }
        Command::ReportUsage { member, task, model, usage } => {
            usage::report(draft, member, task.as_ref(), model.as_deref(), *usage)
        }
        Command::SetMemberMode { member, permissions } => {
            team::set_mode(draft, member, *permissions)
        }
        Command::SetLink(link) => team::set_link(draft, link),
        Command::PurgeLink { from, to } => team::purge_link(draft, from, to),
        Command::Task(command) => decide_task(draft, command),
        Command::RecordRefusal(record) => proof::refused(draft, record),
        Command::Send(outgoing) => mail::send(draft, outgoing),
        Command::MarkDelivered { reader, messages } => {
            mail::deliver(draft, reader.as_ref(), messages)
        }
        Command::MarkRead { reader, messages } => {
            mail::read(draft, reader.as_ref(), messages.as_deref())
        }
        Command::Delegate { to, task, subject, note, trace_id } => {
            let order = delegation::DelegationOrder {
                task: task.as_ref(),
                subject: subject.as_deref(),
                note: note.as_deref(),
                trace_id: *trace_id,
            };
            delegation::start(draft, to, &order)
        }
        Command::FinishDelegation { delegation, outcome } => {
            delegation::finish(draft, *delegation, outcome)
        }
        Command::TakeLead { session, holder, over, checks } => {
            lead::take(draft, *session, holder, *over, checks)
        }
        Command::RenewLead => lead::renew(draft),
        Command::ReleaseLead => lead::release(draft),
        Command::StopTeam { reason } => lead::stop(draft, reason.as_deref()),
        Command::Tick => tick::tick(draft),
        Command::RecordFile { folder, path, size, task } => {
            workspace::record(draft, folder, path, *size, task.as_ref())
        }
        Command::ForgetFile { folder, path } => workspace::forget(draft, folder, path),
    }
}

fn decide_task(draft: &mut Draft<'_>, command: &TaskCommand) -> Result<(), Refusal> {
    let action = command.action();
    if action.first_version() > draft.team()?.settings.version {
        return Err(Refusal::NeedsVersion2 { action });
    }
    match command {
        TaskCommand::Create(new) => task::create(draft, new).map(drop),
        TaskCommand::Claim { task: Some(task) } => work::claim(draft, task),
        TaskCommand::Claim { task: None } => work::claim_next(draft),
        TaskCommand::Assign { task: Some(task), to } => work::assign(draft, task, to),
        TaskCommand::Assign { task: None, to } => work::assign_next(draft, to),
        TaskCommand::Renew { task, attempt } => work::renew(draft, task, *attempt),
        TaskCommand::Release { task, reason } => work::release(draft, task, reason),
        TaskCommand::Complete { task, result, summary, attempt } => {
            work::complete(draft, task, result, summary.as_deref(), *attempt)
        }
        TaskCommand::Fail { task, reason, attempt, for_good } => {
            let retry = if *for_good { RetryRule::Never } else { RetryRule::AsConfigured };
            work::fail(draft, task, reason, retry, *attempt)
        }
        TaskCommand::Progress { task, percent, step } => {
            work::progress(draft, task, *percent, step)
        }
        TaskCommand::Review { task, result } => review::submit(draft, task, result.as_deref()),
        TaskCommand::Approve { task, comment } => review::approve(draft, task, comment.as_deref()),
        TaskCommand::Reject { task, reason, mode } => review::reject(draft, task, reason, *mode),
        TaskCommand::Cancel { task, reason } => review::cancel(draft, task, reason),
        TaskCommand::Retry { task } => review::retry(draft, task),
        TaskCommand::Comment { task, text } => task::comment(draft, task, text),
        TaskCommand::Attach { task, path } => task::attach(draft, task, path),
        TaskCommand::Prove(proof) => proof::prove(draft, proof),
        TaskCommand::AskUser { task, question } => task::ask_user(draft, task, question),
        TaskCommand::ClearAskUser { task } => task::clear_ask_user(draft, task),
        TaskCommand::Update { task, change } => task::update(draft, task, change),
        TaskCommand::Delete { task } => task::delete(draft, task),
    }
}

/// Whether a command gives the team work, so that access lists apply.
fn triggers_work(command: &Command) -> bool {
    matches!(
        command,
        Command::Task(TaskCommand::Create(_)) | Command::Send(_) | Command::Delegate { .. }
    )
}

/// The actor's place in the team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A person: may do everything but hold tasks.
    Person,
    /// troop itself.
    System,
    /// The lead.
    Lead(MemberName),
    /// Another member.
    Member(MemberName),
}

/// A decision under construction: the events so far.
pub(crate) struct Draft<'a> {
    pub(crate) state: &'a State,
    pub(crate) ctx: &'a Context,
    pub(crate) who: Standing,
    facts: Vec<Fact>,
    n_ids: u32,
}

impl<'a> Draft<'a> {
    fn new(state: &'a State, ctx: &'a Context) -> Self {
        Self { state, ctx, who: Standing::System, facts: Vec::new(), n_ids: 0 }
    }

    fn into_events(mut self) -> Vec<Event> {
        let facts = std::mem::take(&mut self.facts);
        self.stamped(facts)
    }

    /// The team after the events so far.
    pub(crate) fn after(&self) -> State {
        let mut state = self.state.clone();
        self.stamped(self.facts.clone()).iter().for_each(|event| state.apply(event));
        state
    }

    fn stamped(&self, facts: Vec<Fact>) -> Vec<Event> {
        let after = self.state.version();
        let actor = self.actor();
        let stamp = |(nth, fact)| Event {
            version: after.plus(nth + 1),
            at: self.ctx.now,
            actor: actor.clone(),
            operation: self.ctx.operation,
            fact,
        };
        facts.into_iter().enumerate().map(stamp).collect()
    }

    fn standing(&self) -> Result<Standing, Refusal> {
        let name = &self.ctx.asker.actor.name;
        match self.ctx.asker.actor.kind {
            ActorKind::Human => Ok(Standing::Person),
            ActorKind::System => Ok(Standing::System),
            ActorKind::Agent => match self.state.find_member(name) {
                Ok(member) if member.role == Role::Lead => Ok(Standing::Lead(member.name.clone())),
                Ok(member) => Ok(Standing::Member(member.name.clone())),
                Err(_) => Err(Refusal::NotAMember { name: name.to_string() }),
            },
        }
    }

    pub(crate) fn team(&self) -> Result<&'a Team, Refusal> {
        self.state.existing_team()
    }

    pub(crate) fn push(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    pub(crate) fn new_id(&mut self) -> uuid::Uuid {
        self.n_ids += 1;
        self.ctx.new_id(self.n_ids)
    }

    /// The actor under its own name, even if the caller used an alias such as `lead`.
    pub(crate) fn actor(&self) -> Actor {
        self.member().map_or_else(|| self.ctx.asker.actor.clone(), Actor::agent)
    }

    /// The member that acts; none if the actor is a person or troop itself.
    pub(crate) fn member(&self) -> Option<&MemberName> {
        match &self.who {
            Standing::Lead(name) | Standing::Member(name) => Some(name),
            Standing::Person | Standing::System => None,
        }
    }

    /// Refuses ordinary members.
    pub(crate) fn only_lead(&self, what: &'static str) -> Result<(), Refusal> {
        match &self.who {
            Standing::Member(name) => Err(Refusal::Forbidden {
                who: SmolStr::new(name.as_str()),
                what,
                may: "the lead or a person",
            }),
            Standing::Person | Standing::System | Standing::Lead(_) => Ok(()),
        }
    }

    /// The live task with this name.
    pub(crate) fn live(&self, task: &TaskRef) -> Result<&'a Task, Refusal> {
        let number = self.state.resolve(task)?;
        self.state.tasks.get(number).ok_or(Refusal::TaskArchived { task: number })
    }

    /// The conversation that the actor works for: its own, or that of the task it holds. Answers go there; it gives no rights.
    pub(crate) fn conversation(&self) -> Origin {
        let own = &self.ctx.asker.origin;
        let tasks = &self.state.tasks;
        let held = self.member().filter(|_| own.is_internal()).and_then(|member| {
            let mut held = tasks.held_by(member).filter_map(|number| tasks.get(number));
            held.find(|task| !task.provenance.origin.is_internal())
        });
        held.map_or_else(|| own.clone(), |task| task.provenance.origin.clone())
    }

    /// The task's status, including `Blocked`.
    pub(crate) fn status(&self, task: &Task) -> crate::Status {
        self.state.tasks.status(task.number).unwrap_or(task.status)
    }

    /// Whether a mailbox has room for one more message from troop. Without room, the events are only in the log, so that a
    /// member that never reads cannot fill the state.
    pub(crate) fn has_room(&self, reader: &Party) -> bool {
        self.state.mailbox().n_unread(reader) < self.state.limits.unread
    }

    /// Sends a message from troop itself.
    pub(crate) fn tell(
        &mut self,
        to: Party,
        kind: MessageKind,
        content: String,
        task: Option<TaskNumber>,
    ) {
        if !self.has_room(&to) {
            return;
        }
        let about = task.and_then(|number| self.state.tasks.get(number));
        let origin = about.map(|task| task.provenance.origin.clone()).unwrap_or_default();
        self.send(MessageDraft {
            task,
            origin,
            ..MessageDraft::new(Party::system(), to, kind, content)
        });
    }

    /// Tells the lead, unless the lead is the actor.
    pub(crate) fn tell_lead(&mut self, content: String, task: TaskNumber) {
        let lead = self.state.lead().map(|lead| lead.name.clone());
        if let Some(lead) = lead
            && self.member() != Some(&lead)
        {
            self.tell(Party::member(&lead), MessageKind::System, content, Some(task));
        }
    }
}
