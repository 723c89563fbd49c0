//! Merges the work on tasks that were completed without a lead, before other work begins.

use troop_model::{
    Actor, Command, Proof, RefusalRecord, RefusedBy, Role, Status, Task, TaskCommand, TaskNumber,
    TrailKind,
};

use super::{Completions, proof};
use crate::{
    CheckDemand, GitError, LateCompletion, MergeOutcome, TaskAttempt, WorkReport,
    checks::complaint,
    lead::{input::LeadInput, office::Office, transcript::TranscriptLine},
};

/// The outcome of a late merge.
#[derive(Debug)]
pub(in super::super) struct LateMerge {
    work: TaskAttempt,
    /// None if there was nothing to merge.
    finished: Result<Option<WorkReport>, GitError>,
}

impl Completions {
    /// Merges completed work that was not merged when this lead began, in order of completion, so that blockers come before
    /// their dependents.
    pub(in super::super) fn merge_all_late(&mut self, office: &mut Office) {
        let is_late =
            |task: &&Task| task.status == Status::Completed && task.proof.merged.is_none();
        let mut late: Vec<_> = office.post.state.tasks().iter().filter(is_late).collect();
        late.sort_by_key(|task| (task.provenance.completed_at, task.number));
        let late: Vec<_> = late.into_iter().map(|task| (task.number, how(task))).collect();
        for (task, done) in late {
            self.merge_late(office, task, done);
        }
    }

    /// A task is done: merges its work, unless it came through this lead and is merged already.
    pub(in super::super) fn merge_if_late(
        &mut self,
        office: &mut Office,
        done: LateCompletion,
        task: TaskNumber,
    ) {
        let is_merged =
            office.post.state.tasks().get(task).is_none_or(|it| it.proof.merged.is_some());
        // Work that a member still changes is merged when that member has broken off.
        let mut crew = office.crew.facts().into_iter();
        let is_changing = crew.any(|(_, facts)| facts.work.breaks_off == Some(task));
        if !is_merged && !is_changing {
            self.merge_late(office, task, done);
        }
    }

    /// Merges the work on a completed task, if there is any. Folders that are prepared later wait for that.
    fn merge_late(&mut self, office: &mut Office, task: TaskNumber, done: LateCompletion) {
        let Some(isolation) = office.places.isolation().cloned() else { return };
        let state = &office.post.state;
        let Some(team) = state.team() else { return };
        let Some(found) = state.tasks().get(task) else { return };
        let Some(member) = found.owner.clone() else { return };
        if state.member(&member).is_some_and(|it| it.role == Role::Lead) {
            return;
        }
        let required = found.required_checks(team).into_iter().map(str::to_owned).collect();
        let work = TaskAttempt::newest(member.clone(), found);
        let checks = self.checks(&office.post, required, Some(member), CheckDemand::default());
        let mut perseverance = proof::perseverance(&office.post, &work, &checks);
        self.n_late += 1;
        let inputs = office.post.background.inputs.clone();
        let over = office.post.background.over.clone();
        office.places.add_job(async move {
            let finish = async {
                loop {
                    match isolation.finish_late(&work, done, &checks).await {
                        Err(error) if perseverance.wait_out(&error).await => {}
                        finished => break finished,
                    }
                }
            };
            // The next lead does it.
            let Some(finished) = over.run_until_cancelled(finish).await else { return };
            let late = LateMerge { work, finished };
            drop(inputs.send(LeadInput::MergedLate(Box::new(late))).await);
        });
    }

    /// A late merge has finished.
    pub(in super::super) async fn merged_late(&mut self, office: &mut Office, late: LateMerge) {
        self.n_late -= 1;
        office.post.agenda.is_due = true;
        let LateMerge { work, finished } = late;
        match finished {
            Ok(None) => {
                let task = office.post.state.tasks().get(work.task);
                if task.is_some_and(|it| it.proof.conflict.is_some()) {
                    // A person dropped its branch.
                    let nothing = Proof::new(work.task, Vec::new(), None);
                    office.post.give(Command::Task(TaskCommand::Prove(nothing))).await;
                }
            }
            Ok(Some(WorkReport { outcome: MergeOutcome::Merged(merge), evidence })) => {
                proof::keep_proof(&mut office.post, work.task, evidence, Some(merge)).await;
            }
            Ok(Some(WorkReport { outcome: MergeOutcome::Ready, evidence })) => {
                proof::keep_proof(&mut office.post, work.task, evidence, None).await;
            }
            Ok(Some(WorkReport { outcome: MergeOutcome::Not(why), evidence })) => {
                let why = complaint(&evidence).unwrap_or_else(|| why.reason());
                proof::keep_proof(&mut office.post, work.task, evidence, None).await;
                not_merged(office, &work, &why).await;
            }
            Err(error) => not_merged(office, &work, &error.chain()).await,
        }
    }
}

async fn not_merged(office: &mut Office, work: &TaskAttempt, why: &str) {
    let TaskAttempt { member, task, .. } = work;
    let what = format!(
        "{task} is done, but {member}'s work on it could not be merged and is kept on its branch: {why}"
    );
    office.post.note(member, TranscriptLine::trouble(&what));
    office.post.tell_lead(member, what).await;
    let record = RefusalRecord {
        task: Some((*task).into()),
        subject: None,
        who: Actor::agent(member),
        by: RefusedBy::Merge,
        reason: why.to_owned(),
        details: None,
        attempt: None,
    };
    office.post.give(Command::RecordRefusal(record)).await;
}

/// How a task was completed.
fn how(task: &Task) -> LateCompletion {
    let mut newest_first = task.trail.iter().rev();
    let end = newest_first.find(|it| matches!(it.what, TrailKind::Approved | TrailKind::Completed));
    match end {
        Some(it) if it.what == TrailKind::Approved => LateCompletion::Approved,
        _ => LateCompletion::Completed,
    }
}
