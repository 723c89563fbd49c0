//! The gate of hooks: some commands wait for their verdict; of other events they are only notified.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::{select, time::sleep};
use tokio_util::sync::CancellationToken;
use troop_model::{Command, Event, MemberName, OperationId, Refusal, Status, TaskNumber, TaskRef};

use super::{
    Runner, completion::PassageId, input::LeadInput, places::Workplaces, policy::asking,
    post::Post, transcript::TranscriptLine,
};
use crate::{
    CommandRequest, Hooks,
    hooks::{HookContext, HookEvent, HookReport, Occasion, Verdict},
};

/// How long hooks may still run once the end is hurried.
const HURRY: Duration = Duration::from_secs(1);

/// How many judged operations we remember until the log shows them.
const MAX_JUDGED: usize = 1_024;

/// The hooks of a team, and how many occasions wait for them.
#[derive(Debug)]
pub(super) struct HookGate {
    hooks: Arc<Hooks>,
    /// The operations that hooks have judged already.
    judged: BTreeSet<OperationId>,
    /// How many occasions wait for the reply of hooks.
    n_waiting: usize,
}

/// The report of hooks on an occasion.
#[derive(Debug)]
pub(super) struct HookReply {
    pub(super) fired: HookReport,
    pub(super) subject: HookSubject,
    /// Why the rules refuse the command of a passage by now, if hooks said no and the rules do, too.
    pub(super) refusal: Option<Refusal>,
}

/// The subject of a verdict.
#[derive(Debug)]
pub(super) enum HookSubject {
    /// A claim that a task is done, or a new task.
    Passage(PassageId, Box<CommandRequest>),
    /// A member is about to be idle.
    Idle(Runner, Option<TaskRef>),
    /// A task that was created without this lead.
    Created(TaskNumber),
    /// It has happened already; hooks are only notified.
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

    /// Runs hooks; their report comes back as an input.
    pub(super) fn fire(
        &mut self,
        post: &Post,
        places: &Workplaces,
        occasion: Occasion,
        subject: HookSubject,
    ) {
        let session = post.mandate.session.to_string();
        let mut context = HookContext { team: post.team_name(), session, occasion };
        if !self.hooks.has(context.event()) {
            return;
        }
        self.n_waiting += 1;
        let hooks = Arc::clone(&self.hooks);
        let hurried = post.background.hurried.clone();
        let newest = post.newest();
        let task = context.occasion.worked_on().map(|task| task.number);
        let home = task.and_then(|task| places.home_of(&post.state, task));
        post.background.spawn_input(async move {
            if let Some(task) = context.occasion.worked_on()
                && let Some((isolation, holder)) = home
            {
                task.folder = isolation.place_of(&holder).await;
            }
            // A command that hooks have not judged is not carried out.
            let fired = unless_hurried(&hurried, hooks.fire(&context)).await?;
            let refusal = match (&fired.verdict, &subject) {
                (Verdict::Veto { .. }, HookSubject::Passage(_, request)) => {
                    newest.refusal_of(request).await
                }
                _ => None,
            };
            Some(LeadInput::Judged(Box::new(HookReply { fired, subject, refusal })))
        });
    }

    /// Hooks have reported: their complaints are noted.
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

    /// Remembers that hooks judged an operation, so that they are not asked again when the log shows it.
    pub(super) fn remember(&mut self, operation: OperationId) {
        self.judged.insert(operation);
        // Operations that the board refused never show up, so the oldest are dropped. Ids are ordered by time.
        while self.judged.len() > MAX_JUDGED {
            self.judged.pop_first();
        }
    }

    pub(super) fn forget(&mut self, operation: OperationId) {
        self.judged.remove(&operation);
    }

    /// Whether hooks are asked before a command is given, if the rules accept it.
    pub(super) fn judges(&self, command: &Command) -> bool {
        asking::event_of(command).is_some_and(|event| self.hooks.has(event))
    }
}

/// Notifications.
impl HookGate {
    /// The team has been created, if this is its first lead.
    pub(super) fn team_created(&mut self, post: &Post, places: &Workplaces) {
        if post.mandate.fence == 1 {
            self.fire(post, places, Occasion::TeamCreated, HookSubject::Nothing);
        }
    }

    /// A member runs in its own process.
    pub(super) fn member_spawned(
        &mut self,
        post: &Post,
        places: &Workplaces,
        member: &MemberName,
        pid: u32,
    ) {
        let agent = post.state.member(member).map(|it| it.agent.to_string()).unwrap_or_default();
        let teammate = member.clone();
        let occasion = Occasion::TeammateSpawned { teammate, agent, pid };
        self.fire(post, places, occasion, HookSubject::Nothing);
    }

    pub(super) fn task_assigned(&mut self, post: &Post, places: &Workplaces, task: TaskNumber) {
        if let Some(task) = asking::hook_task(&post.state, task, None) {
            self.fire(post, places, Occasion::TaskAssigned { task }, HookSubject::Nothing);
        }
    }

    /// A task was created. If it came through this lead, hooks have judged it before.
    pub(super) fn task_created(
        &mut self,
        post: &Post,
        places: &Workplaces,
        event: &Event,
        task: TaskNumber,
    ) {
        if !self.judged.remove(&event.operation)
            && let Some(found) = asking::hook_task(&post.state, task, None)
        {
            let occasion =
                Occasion::TaskCreated { task: found, teammate: asking::member(&event.actor) };
            self.fire(post, places, occasion, HookSubject::Created(task));
        }
    }

    /// A task is done. If that came through this lead, hooks have judged it before.
    pub(super) fn task_completed(
        &mut self,
        post: &Post,
        places: &Workplaces,
        event: &Event,
        task: TaskNumber,
    ) {
        if !self.judged.remove(&event.operation)
            && let Some(found) = asking::hook_task(&post.state, task, None)
        {
            let result = post.state.tasks().get(task).and_then(|task| task.result.clone());
            let result = result.unwrap_or_default();
            let occasion = Occasion::TaskCompleted { task: found, result };
            self.fire(post, places, occasion, HookSubject::Nothing);
        }
    }

    /// The team has ended. The lead waits for these hooks, since it ends next.
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

/// Waits for hooks, but only briefly once the end is hurried: those that still run then are killed.
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
