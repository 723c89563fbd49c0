//! Hooks at the gate: some things wait for them, and some they are only told of.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::{select, time::sleep};
use tokio_util::sync::CancellationToken;
use troop_model::{
    Actor, ActorKind, Command, DelegationOutcome, Event, MemberName, OperationId, Status,
    TaskCommand, TaskNumber, TaskRef,
};

use super::{
    Runner, completion::PassageId, input::LeadInput, places::Workplaces, post::Post,
    transcript::TranscriptLine,
};
use crate::{
    CommandRequest, Hooks,
    hooks::{HookContext, HookEvent, HookReport, HookTask, Occasion},
};

/// How long hooks may still take once somebody is in a hurry.
const HURRY: Duration = Duration::from_secs(1);

/// How many operations we remember that hooks have judged and the log does not show yet.
const MAX_JUDGED: usize = 1_024;

/// The hooks of a team, and what waits for them.
#[derive(Debug)]
pub(super) struct HookGate {
    hooks: Arc<Hooks>,
    /// What hooks have judged already, by its operation.
    judged: BTreeSet<OperationId>,
    /// How many occasions wait for the reply of hooks.
    n_waiting: usize,
}

/// What hooks said.
#[derive(Debug)]
pub(super) struct HookReply {
    pub(super) fired: HookReport,
    pub(super) subject: HookSubject,
}

/// What hooks were asked about.
#[derive(Debug)]
pub(super) enum HookSubject {
    /// A member says that a task is done, or wants to put one on the board.
    Passage(PassageId),
    /// A member is about to be idle.
    Idle(Runner, Option<TaskRef>),
    /// Somebody else put a task on the board.
    Created(TaskNumber),
    /// It has happened already; hooks are only told of it.
    Nothing,
}

impl HookGate {
    pub(super) fn new(hooks: Hooks) -> Self {
        Self { hooks: Arc::new(hooks), judged: BTreeSet::new(), n_waiting: 0 }
    }

    pub(super) fn n_waiting(&self) -> usize {
        self.n_waiting
    }

    /// Whether hooks are asked before a member is idle.
    pub(super) fn judges_idle(&self, post: &Post, member: &MemberName) -> bool {
        self.hooks.has(HookEvent::TeammateIdle) && !post.is_lead(member)
    }

    /// Runs hooks; what waits for them goes on when they have spoken.
    pub(super) fn fire(&mut self, post: &Post, occasion: Occasion, subject: HookSubject) {
        let session = post.mandate.session.to_string();
        let context = HookContext { team: post.team_name(), session, occasion };
        if !self.hooks.has(context.event()) {
            return;
        }
        self.n_waiting += 1;
        let hooks = Arc::clone(&self.hooks);
        let hurried = post.background.hurried.clone();
        post.background.spawn_input(async move {
            // What hooks have not judged does not happen.
            let fired = unless_hurried(&hurried, hooks.fire(&context)).await?;
            Some(LeadInput::Judged(Box::new(HookReply { fired, subject })))
        });
    }

    /// Hooks have spoken: what they complain about is noted.
    pub(super) fn hear(&mut self, post: &mut Post, fired: &HookReport) {
        self.n_waiting -= 1;
        post.agenda.is_due = true;
        self.note_complaints(post, fired);
    }

    fn note_complaints(&self, post: &mut Post, fired: &HookReport) {
        let Some(lead) = post.state.lead().map(|lead| lead.name.clone()) else { return };
        for complaint in &fired.complaints {
            post.note(&lead, TranscriptLine::trouble(&complaint.to_string()));
            self.hooks.complain(complaint);
        }
    }

    /// Remembers that hooks judge an operation, so that they are not asked again when the log shows it.
    pub(super) fn remember(&mut self, operation: OperationId) {
        self.judged.insert(operation);
        // What the board refused afterwards is never seen again. Operations are in order of time.
        while self.judged.len() > MAX_JUDGED {
            self.judged.pop_first();
        }
    }

    pub(super) fn forget(&mut self, operation: OperationId) {
        self.judged.remove(&operation);
    }

    /// What hooks are asked about a command before it is given, if any are.
    #[expect(clippy::wildcard_enum_match_arm, reason = "hooks are asked about two things only")]
    pub(super) fn occasion_of(
        &self,
        post: &Post,
        places: &Workplaces,
        request: &CommandRequest,
    ) -> Option<Occasion> {
        match &request.command {
            Command::Task(TaskCommand::Complete { task, result, .. })
                if self.hooks.has(HookEvent::TaskCompleted) =>
            {
                let task = hook_task(post, places, post.state.resolve(task).ok()?)?;
                Some(Occasion::TaskCompleted { task, result: result.clone() })
            }
            Command::FinishDelegation {
                delegation,
                outcome: DelegationOutcome::Completed(result),
            } if self.hooks.has(HookEvent::TaskCompleted) => {
                let mut all = post.state.delegations();
                let task = hook_task(post, places, all.find(|it| it.id == *delegation)?.task)?;
                Some(Occasion::TaskCompleted { task, result: result.clone() })
            }
            Command::Task(TaskCommand::Create(new)) if self.hooks.has(HookEvent::TaskCreated) => {
                let task = HookTask {
                    // The number that it gets, unless somebody else is faster.
                    number: TaskNumber(post.state.tasks().last().0 + 1),
                    subject: new.subject.clone(),
                    description: new.description.clone(),
                    owner: new.assignee.clone(),
                    folder: None,
                };
                Some(Occasion::TaskCreated { task, teammate: creator(&request.asker.actor) })
            }
            _ => None,
        }
    }
}

/// What hooks are told.
impl HookGate {
    /// The team has been created, if this is its first lead.
    pub(super) fn team_created(&mut self, post: &Post) {
        if post.mandate.fence == 1 {
            self.fire(post, Occasion::TeamCreated, HookSubject::Nothing);
        }
    }

    /// A member runs in a process of its own.
    pub(super) fn member_spawned(&mut self, post: &Post, member: &MemberName, pid: u32) {
        let agent = post.state.member(member).map(|it| it.agent.to_string()).unwrap_or_default();
        let teammate = member.clone();
        self.fire(post, Occasion::TeammateSpawned { teammate, agent, pid }, HookSubject::Nothing);
    }

    pub(super) fn task_assigned(&mut self, post: &Post, places: &Workplaces, task: TaskNumber) {
        if let Some(task) = hook_task(post, places, task) {
            self.fire(post, Occasion::TaskAssigned { task }, HookSubject::Nothing);
        }
    }

    /// A task is on the board. If it came by way of this lead, hooks have judged it before.
    pub(super) fn task_created(
        &mut self,
        post: &Post,
        places: &Workplaces,
        event: &Event,
        task: TaskNumber,
    ) {
        if !self.judged.remove(&event.operation)
            && let Some(found) = hook_task(post, places, task)
        {
            let occasion = Occasion::TaskCreated { task: found, teammate: creator(&event.actor) };
            self.fire(post, occasion, HookSubject::Created(task));
        }
    }

    /// A task is done. If that came by way of this lead, hooks have judged it before.
    pub(super) fn task_completed(
        &mut self,
        post: &Post,
        places: &Workplaces,
        event: &Event,
        task: TaskNumber,
    ) {
        if !self.judged.remove(&event.operation)
            && let Some(found) = hook_task(post, places, task)
        {
            let result = post.state.tasks().get(task).and_then(|task| task.result.clone());
            let result = result.unwrap_or_default();
            let occasion = Occasion::TaskCompleted { task: found, result };
            self.fire(post, occasion, HookSubject::Nothing);
        }
    }

    /// The team has ended. The lead waits for these hooks: nobody hears of them later.
    pub(super) async fn team_shut_down(&self, post: &mut Post) {
        let tasks = post.state.tasks();
        let n_completed = tasks.numbers().filter(|it| tasks.status(*it) == Some(Status::Completed));
        let occasion = Occasion::TeamShutdown {
            n_members: post.state.members().count(),
            n_completed: n_completed.count(),
            n_tasks: tasks.len(),
        };
        let session = post.mandate.session.to_string();
        let context = HookContext { team: post.team_name(), session, occasion };
        let fired = unless_hurried(&post.background.hurried, self.hooks.fire(&context)).await;
        self.note_complaints(post, &fired.unwrap_or_default());
    }
}

fn hook_task(post: &Post, places: &Workplaces, number: TaskNumber) -> Option<HookTask> {
    let task = post.state.tasks().get(number)?;
    let owner = task.owner.as_ref();
    Some(HookTask {
        number,
        subject: task.subject.clone(),
        description: task.description.clone(),
        owner: task.owner.clone().or_else(|| task.assignee.clone()),
        folder: owner.and_then(|owner| places.place_of(&post.state, owner)),
    })
}

/// Waits for hooks, but not for long once somebody is in a hurry: those that still run then are killed.
async fn unless_hurried(
    hurried: &CancellationToken,
    hooks: impl Future<Output = HookReport>,
) -> Option<HookReport> {
    let patience = async {
        hurried.cancelled().await;
        sleep(HURRY).await;
    };
    select! {
        fired = hooks => Some(fired),
        () = patience => None,
    }
}

fn creator(actor: &Actor) -> Option<MemberName> {
    (actor.kind == ActorKind::Agent).then(|| actor.name.parse().ok()).flatten()
}
