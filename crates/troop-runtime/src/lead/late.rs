//! Work on tasks that were done while nobody could merge it: merged as soon as somebody leads, before anything else begins.

use troop_model::{Role, Status, Task, TaskNumber, TrailKind};

use super::{dispatcher::Dispatcher, input::LeadInput, transcript::TranscriptLine};
use crate::{
    CheckDemand, GitError, LateCompletion, MergeOutcome, TaskAttempt, WorkReport, checks::complaint,
};

/// Work that came late, and what became of it.
#[derive(Debug)]
pub(super) struct Late {
    work: TaskAttempt,
    /// None if there was nothing to merge.
    finished: Result<Option<WorkReport>, GitError>,
}

impl Dispatcher {
    /// Merges what is done and was not merged when this lead began, in the order in which it was done: what waited for
    /// something was done after it.
    pub(super) fn merge_all_late(&mut self) {
        let is_late =
            |task: &&Task| task.status == Status::Completed && task.proof.merged.is_none();
        let mut late: Vec<_> = self.post.state.tasks().iter().filter(is_late).collect();
        late.sort_by_key(|task| (task.provenance.completed_at, task.number));
        let late: Vec<_> = late.into_iter().map(|task| (task.number, how(task))).collect();
        for (task, done) in late {
            self.merge_late(task, done);
        }
    }

    /// A task is done. If that came by way of this lead, it is merged already.
    pub(super) fn merge_if_late(&mut self, done: LateCompletion, task: TaskNumber) {
        let is_merged =
            self.post.state.tasks().get(task).is_none_or(|it| it.proof.merged.is_some());
        // Of what somebody still changes, no part is merged: it is, when that is over.
        let is_changing = self.links.values().any(|link| link.breaks_off == Some(task));
        if !is_merged && !is_changing {
            self.merge_late(task, done);
        }
    }

    /// Merges the work on a task that is done, if there is some. No folder is made ready for anybody before that.
    fn merge_late(&mut self, task: TaskNumber, done: LateCompletion) {
        let Some(isolation) = self.places.isolation.clone() else { return };
        let (Some(team), Some(found)) = (self.post.state.team(), self.post.state.tasks().get(task))
        else {
            return;
        };
        let Some(member) = found.owner.clone() else { return };
        if self.post.state.member(&member).is_some_and(|it| it.role == Role::Lead) {
            return;
        }
        let required = found.required_checks(team).into_iter().map(str::to_owned).collect();
        let (attempt, subject) = (found.attempts, found.subject.clone());
        let work = TaskAttempt { member: member.clone(), task, attempt, subject };
        let checks = self.checks(required, Some(member), CheckDemand::default());
        let mut patience = self.patience(&work, &checks);
        self.n_gated += 1;
        let (inputs, over) =
            (self.post.background.inputs.clone(), self.post.background.over.clone());
        self.places.add_job(async move {
            let finish = async {
                loop {
                    match isolation.finish_late(&work, done, &checks).await {
                        Err(error) if patience.waits_out(&error).await => {}
                        finished => break finished,
                    }
                }
            };
            // Who leads next does it.
            let Some(finished) = over.run_until_cancelled(finish).await else { return };
            drop(inputs.send(LeadInput::Late(Box::new(Late { work, finished }))).await);
        });
    }

    /// It is known what became of work that came late.
    pub(super) async fn merged_late(&mut self, late: Late) {
        self.n_gated -= 1;
        self.post.agenda.is_due = true;
        let Late { work, finished } = late;
        match finished {
            Ok(None) => {}
            Ok(Some(WorkReport { outcome: MergeOutcome::Merged(merge), evidence })) => {
                self.keep_proof(work.task, evidence, Some(merge)).await;
            }
            Ok(Some(WorkReport { outcome: MergeOutcome::Ready, evidence })) => {
                self.keep_proof(work.task, evidence, None).await;
            }
            Ok(Some(WorkReport { outcome: MergeOutcome::Not(why), evidence })) => {
                let why = complaint(&evidence).unwrap_or_else(|| why.reason());
                self.keep_proof(work.task, evidence, None).await;
                self.not_merged(&work, &why).await;
            }
            Err(error) => self.not_merged(&work, &error.chain()).await,
        }
    }

    async fn not_merged(&mut self, TaskAttempt { member, task, .. }: &TaskAttempt, why: &str) {
        let what = format!(
            "{task} is done, but {member}'s work on it could not be merged and is kept on its branch: {why}"
        );
        self.post.note(member, TranscriptLine::trouble(&what));
        self.post.tell_lead(member, what).await;
    }
}

/// How a task came to be done.
fn how(task: &Task) -> LateCompletion {
    let mut newest_first = task.trail.iter().rev();
    let end = newest_first.find(|it| matches!(it.what, TrailKind::Approved | TrailKind::Completed));
    match end {
        Some(it) if it.what == TrailKind::Approved => LateCompletion::Approved,
        _ => LateCompletion::Completed,
    }
}
