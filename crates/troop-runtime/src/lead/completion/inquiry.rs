//! What a passage has to find out from a disk or the store, before it goes on. That may take long, so it happens beside the
//! lead's loop; later messages of the member wait.

use std::{io, sync::Arc};

use tokio::task::spawn_blocking;
use troop_model::{NewMember, Refusal};
use troop_protocol::{Answer, Failure, FailureKind};

use super::{
    Completions, Departure, Intent, Passage, PassageId, PassageStage, ReleasedRunner, Station,
    files::FileListing,
};
use crate::{
    hooks::Occasion,
    lead::{calls::refuse_caller, gate::HookSubject, input::LeadInput, office::Office},
    workspace::{WorkspaceError, WorkspaceFiles},
};

/// The answer to an inquiry of a passage.
#[derive(Debug)]
pub(in super::super) enum PassageFinding {
    /// Whether the agent of a new member can be started, as far as that is known.
    Agent(io::Result<()>),
    /// The files in the folder of a task.
    Files(Departure, FileListing),
    /// Whether a file that is to be attached is in the workspace.
    Attachment(Result<(), WorkspaceError>),
    /// The occasion on which hooks are asked; none if the rules refuse the command.
    Occasion(Option<Occasion>),
    /// Why the lead's agent may not delete its team, if it may not.
    Deletion(Option<Refusal>),
}

impl Completions {
    /// Finds something out for an intent. Later messages of its member wait.
    pub(super) fn find_out(
        &mut self,
        office: &mut Office,
        intent: Intent,
        over: Option<PassageStage>,
        inquiry: impl Future<Output = PassageFinding> + Send + 'static,
    ) {
        if let Some(live) = intent.runner.as_ref().and_then(|it| office.crew.in_run(it)) {
            live.postponed.begin();
        }
        let id = self.hold(office, intent, Station::Inquiry, over);
        office
            .post
            .background
            .spawn_input(async move { Some(LeadInput::Found(id, Box::new(inquiry.await))) });
    }

    /// Checks the agent of a new member: the caller hears at once if it cannot run, instead of through a member that fails to
    /// start.
    pub(super) fn check_agent(&mut self, office: &mut Office, intent: Intent, member: NewMember) {
        let launch = Arc::clone(&office.crew.launch);
        self.find_out(office, intent, None, async move {
            let check = move || launch.check(&member.agent, member.model.as_deref());
            let checked = spawn_blocking(check).await;
            PassageFinding::Agent(checked.unwrap_or_else(|panic| Err(panic.into())))
        });
    }

    /// Checks that a file which is to be attached to a task is in the workspace.
    pub(super) fn check_attachment(
        &mut self,
        office: &mut Office,
        intent: Intent,
        over: Option<PassageStage>,
    ) {
        let board = office.post.board.clone();
        let files = WorkspaceFiles::of(board, office.shared.workspace.clone());
        let command = intent.request.command.clone();
        self.find_out(office, intent, over, async move {
            PassageFinding::Attachment(files.check_attachment(&command).await)
        });
    }

    /// Asks the rules about a command, on all that the board has by now: of a command that they refuse, hooks hear nothing.
    pub(super) fn ask_rules(
        &mut self,
        office: &mut Office,
        intent: Intent,
        over: Option<PassageStage>,
    ) {
        let newest = office.post.newest();
        let request = intent.request.clone();
        self.find_out(office, intent, over, async move {
            PassageFinding::Occasion(newest.occasion_of(&request).await)
        });
    }

    /// Asks the rules whether the lead's agent may delete its team.
    pub(in super::super) fn ask_for_deletion(&mut self, office: &mut Office, intent: Intent) {
        let newest = office.post.newest();
        let request = intent.request.clone();
        self.find_out(office, intent, None, async move {
            PassageFinding::Deletion(newest.refusal_of(&request).await)
        });
    }

    /// The answer that a passage waited for has come.
    pub(in super::super) async fn found(
        &mut self,
        office: &mut Office,
        id: PassageId,
        finding: PassageFinding,
    ) -> ReleasedRunner {
        office.post.agenda.is_due = true;
        let Passage { intent, .. } = self.passages.remove(&id)?;
        match finding {
            PassageFinding::Agent(Ok(())) => self.go_on(office, intent, PassageStage::Agent).await,
            PassageFinding::Agent(Err(why)) => {
                refuse(office, intent, Failure::new(FailureKind::Invalid, &why.to_string()))
            }
            PassageFinding::Files(departure, listing) => {
                self.record_files(office, departure, listing).await;
                self.go_on(office, intent, PassageStage::Files).await
            }
            PassageFinding::Attachment(Ok(())) => {
                self.go_on(office, intent, PassageStage::Files).await
            }
            PassageFinding::Attachment(Err(error)) => refuse(office, intent, Failure::from(&error)),
            PassageFinding::Occasion(None) => self.go_on(office, intent, PassageStage::Hooks).await,
            PassageFinding::Occasion(Some(occasion)) => {
                office.gate.remember(intent.request.operation);
                let request = Box::new(intent.request.clone());
                let id = self.hold(office, intent, Station::Hooks, Some(PassageStage::Files));
                let subject = HookSubject::Passage(id, request);
                office.gate.fire(&office.post, &office.places, occasion, subject);
                None
            }
            PassageFinding::Deletion(None) => plan_deletion(office, intent),
            PassageFinding::Deletion(Some(refusal)) => {
                refuse(office, intent, Failure::from(&refusal))
            }
        }
    }
}

/// The lead's agent may delete its team: that happens at the end of its turn.
fn plan_deletion(office: &mut Office, intent: Intent) -> ReleasedRunner {
    let Intent { runner, request, responder } = intent;
    office.post.last_act = Some(request);
    let version = office.post.state.version();
    let answer = Answer { version, task: None, events: Vec::new() };
    // The caller may be gone.
    drop(responder.map(|it| it.answer(&answer)));
    runner
}

/// Tells the caller why its command is not given.
fn refuse(office: &mut Office, intent: Intent, failure: Failure) -> ReleasedRunner {
    let Intent { runner, responder, .. } = intent;
    match (responder, &runner) {
        (Some(responder), _) => refuse_caller(responder, failure),
        (None, Some(runner)) => office.refuse(runner, failure.message),
        (None, None) => {}
    }
    runner
}
