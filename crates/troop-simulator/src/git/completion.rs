//! A completion on its way through the lead: its stages, the end of the work, the merge, the proof, and the board. The rules decide
//! every next step; how each is taken follows `troop-runtime/src/lead/completion/proof.rs` and `isolation/merge.rs`. Change both
//! together.

use troop_model::{
    Actor, Command, MemberName, MergeRecord, Proof, RefusalRecord, RefusedBy, TaskCommand,
    TaskNumber,
};
use troop_runtime::{
    Aim, CommandRequest, Conflict, MergeOutcome, MergeRefusal, TaskAttempt, UnheardMerge,
    WorkReport,
    deciding::{
        isolation::{
            CheckedWork, FinishFacts, FinishStep, FinishTrial, FolderLook, FolderStatus, FolderTie,
            ForkPoint, ForkSearch, JoinCase, MergeFacts, MergeStep, MergeTrial, OldValue, RefMove,
            SubmoduleState, advance, finish_step, full, handed_in, join_case, merge_message,
            merge_step,
        },
        lead::{
            DoneClaim, DoneWay, Objection, PassageStage, Sentence, after_objection, done_claim,
            stages_after, unheard_completion, would_take,
        },
    },
};

use super::lead::{SimulatedLead, TEAM};
use crate::{promise::Promise, repository::MemberPlace};

/// How often a merge is made again because somebody else moved the team's branch meanwhile.
const MAX_ROUNDS: usize = 10;

/// Takes what a member said through the stages of a completion.
pub(super) async fn complete(
    lead: &mut SimulatedLead,
    member: &MemberName,
    task: TaskNumber,
    attempt: u32,
) {
    let said = TaskCommand::Complete {
        task: task.into(),
        result: "done".to_owned(),
        summary: None,
        attempt: Some(attempt),
    };
    let request = CommandRequest {
        operation: lead.seat.operation(),
        asker: Actor::agent(member).into(),
        command: Command::Task(said),
        fence: Some(lead.fence),
    };
    for stage in stages_after(None) {
        lead.seat.boundary().await;
        let goes_on = match stage {
            // Nobody shares a workspace here, and there are no hooks.
            PassageStage::Agent | PassageStage::Files | PassageStage::Hooks => true,
            PassageStage::Proof => prove(lead, &request, member, task, attempt).await,
            PassageStage::Board => {
                let done = lead.board.request(request.clone()).await;
                lead.seat.tell(|| format!("the board answers {member}: {}", done.is_ok()));
                true
            }
        };
        if !goes_on {
            return;
        }
    }
}

/// Merges the work. Returns whether the command goes on to the board.
async fn prove(
    lead: &mut SimulatedLead,
    request: &CommandRequest,
    member: &MemberName,
    task: TaskNumber,
    attempt: u32,
) -> bool {
    let Some(claim) = done_claim(lead.board.state(), request) else { return true };
    if !would_take(lead.board.state(), request, lead.seat.now()) {
        return true;
    }
    let DoneWay::Finish(aim) = claim.way else { return true };
    let work = SimulatedWorkEnd { lead: &*lead, request, member, task, attempt };
    match work.finish(aim).await.outcome {
        MergeOutcome::Merged(merge) => {
            let merge = Some(MergeRecord { into: merge.into, commit: merge.commit });
            let proof = Proof::new(task, Vec::new(), merge);
            lead.give(Actor::system(), Command::Task(TaskCommand::Prove(proof))).await;
            if let Some(order) = unheard_completion(lead.board.state(), request, &claim) {
                lead.seat.count("a lead ended a merged task that its holder had lost");
                lead.give(Actor::system(), order).await;
            }
            true
        }
        MergeOutcome::Ready => true,
        MergeOutcome::Not(why) => {
            lead.seat.count("work was not merged");
            lead.seat.tell(|| format!("{task} of {member} is not merged: {why}"));
            let is_taken = would_take(lead.board.state(), request, lead.seat.now());
            let is_unwanted = why == MergeRefusal::Unwanted;
            let objection = if is_unwanted { Objection::Unwanted } else { Objection::Work };
            let sentence = after_objection(claim.way, objection, is_taken);
            if sentence == Sentence::Refuse {
                record_refusal(lead, &claim, why.to_string()).await;
                give_back(lead, member, task).await;
            }
            sentence == Sentence::LetTheBoardSay
        }
    }
}

/// The board counts a refusal against the attempt, and decides whether the attempt goes on.
async fn record_refusal(lead: &mut SimulatedLead, claim: &DoneClaim, reason: String) {
    lead.seat.count("a refused completion was recorded");
    let record = RefusalRecord {
        task: Some(claim.task.into()),
        subject: None,
        who: Actor::agent(&claim.member),
        by: RefusedBy::Merge,
        reason,
        details: None,
        attempt: claim.attempt,
    };
    lead.give(Actor::system(), Command::RecordRefusal(record)).await;
}

/// A member that cannot mend its work gives the task back.
async fn give_back(lead: &mut SimulatedLead, member: &MemberName, task: TaskNumber) {
    let reason = "it cannot be merged".to_owned();
    let release = TaskCommand::Release { task: task.into(), reason };
    lead.give(Actor::agent(member), Command::Task(release)).await;
}

/// The end of one piece of work.
struct SimulatedWorkEnd<'a> {
    lead: &'a SimulatedLead,
    request: &'a CommandRequest,
    member: &'a MemberName,
    task: TaskNumber,
    attempt: u32,
}

impl SimulatedWorkEnd<'_> {
    fn is_wanted(&self) -> bool {
        would_take(self.lead.board.state(), self.request, self.lead.seat.now())
    }

    async fn finish(&self, aim: Aim) -> WorkReport {
        let team = &self.lead.team_branch;
        let mut facts = FinishFacts::new(aim, team, handed_in(team, self.task));
        loop {
            self.lead.seat.boundary().await;
            match finish_step(&facts) {
                FinishStep::AskWanted => facts.is_wanted = Some(self.is_wanted()),
                FinishStep::Tie | FinishStep::Restore => facts.tie = Some(FolderTie::Whole),
                FinishStep::Look => facts.look = Some(self.look()),
                FinishStep::FindTaskBranch => facts.task_commit = Some(None),
                // No folder is on the team's branch here.
                FinishStep::StepOff(_) => return MergeRefusal::Replaced.into(),
                FinishStep::LookIntoSubmodules => facts.submodules = Some(SubmoduleState::Clean),
                FinishStep::KeepSubmodules => facts.submodules = Some(SubmoduleState::Kept),
                FinishStep::Commit => facts.committed = Some(self.commit()),
                FinishStep::FindFork(own) | FinishStep::Root(own) => facts.fork = self.fork(&own),
                FinishStep::Try { own, fork, .. } => {
                    let merged = (aim == Aim::Merge).then(|| self.merged(&fork, &own));
                    facts.trial = Some(FinishTrial { merged });
                }
                FinishStep::Check(_) => {
                    let is_wanted = self.is_wanted();
                    let evidence = Vec::new();
                    facts.checked = Some(CheckedWork { evidence, is_wanted, is_handed_in: false });
                }
                FinishStep::HandIn(step) => {
                    self.lead.seat.world.repository.borrow_mut().update(&step);
                    let checked = facts.checked.take();
                    facts.checked = checked.map(|it| CheckedWork { is_handed_in: true, ..it });
                }
                FinishStep::Merge(trial) => return self.merge(trial).await,
                FinishStep::End(report) => return report,
            }
        }
    }

    fn look(&self) -> FolderLook {
        let MemberPlace { branch, commit, files } = self.lead.place(self.member);
        let is_dirty = files != self.lead.seat.world.repository.borrow().tree(&commit);
        let status = FolderStatus { commit, branch, is_dirty, unmerged: Vec::new() };
        FolderLook { status, unfinished: None, has_references: false }
    }

    /// Commits everything in the member's folder.
    fn commit(&self) -> String {
        let place = self.lead.place(self.member);
        let mut repository = self.lead.seat.world.repository.borrow_mut();
        let commit = repository.commit(&[&place.commit], place.files.clone());
        if let Some(branch) = &place.branch {
            repository.update(&RefMove::new(&full(branch), OldValue::Any, &commit));
        }
        let place = MemberPlace { commit: commit.clone(), ..place };
        repository.places.insert(self.member.to_string(), place);
        commit
    }

    fn fork(&self, own: &str) -> ForkSearch {
        let team = self.lead.team_commit();
        let base = self.lead.seat.world.repository.borrow().merge_base(&team, own);
        base.map_or(ForkSearch::UnrelatedForGood, |base| ForkSearch::At(ForkPoint { team, base }))
    }

    /// The commit that has both; the conflict, if they do not fit.
    fn merged(&self, fork: &ForkPoint, own: &str) -> Result<String, Conflict> {
        match join_case(fork, own) {
            JoinCase::Own => {
                let mut repository = self.lead.seat.world.repository.borrow_mut();
                let tree = repository.tree(own);
                return Ok(repository.commit_with(&[&fork.team, own], tree, self.message()));
            }
            JoinCase::Team => return Ok(fork.team.clone()),
            JoinCase::Merge => {}
        }
        self.lead.seat.count("work of two members was merged");
        let mut repository = self.lead.seat.world.repository.borrow_mut();
        match repository.fit(&fork.team, own, &fork.base) {
            Ok(tree) => Ok(repository.commit_with(&[&fork.team, own], tree, self.message())),
            Err(files) => {
                let with = self.lead.team_branch.clone();
                Err(Conflict { with, files, tasks: Vec::new() })
            }
        }
    }

    /// Merges a commit into the team's branch, again and again if somebody moves the branch meanwhile.
    async fn merge(&self, mut trial: MergeTrial) -> WorkReport {
        for _ in 0..MAX_ROUNDS {
            let mut facts = MergeFacts::new(&self.lead.team_branch, trial, false);
            let own = loop {
                self.lead.seat.boundary().await;
                match merge_step(&facts) {
                    MergeStep::Forward(_) => facts.is_forwarded = true,
                    MergeStep::Check(_) => facts.evidence = Some(Vec::new()),
                    MergeStep::AskWanted => facts.is_wanted = Some(self.is_wanted()),
                    MergeStep::Advance { from, to } => {
                        self.keep_report(&to).await;
                        facts.is_moved = Some(self.advance(&from, &to));
                    }
                    MergeStep::Again(own) => break own,
                    MergeStep::End(report) => return report,
                }
            };
            let ForkSearch::At(fork) = self.fork(&own) else { break };
            let merged = self.merged(&fork, &own);
            trial = MergeTrial { own, fork, merged };
        }
        MergeRefusal::Unwanted.into()
    }

    fn message(&self) -> String {
        let work = TaskAttempt {
            member: self.member.clone(),
            task: self.task,
            attempt: self.attempt,
            subject: String::new(),
            report: None,
        };
        merge_message(&work, TEAM)
    }

    /// Keeps what the board has to hear once the team's branch has moved.
    async fn keep_report(&self, commit: &str) {
        let unheard = UnheardMerge {
            task: self.task,
            attempt: self.attempt,
            into: self.lead.team_branch.clone(),
            commit: commit.to_owned(),
            evidence: Vec::new(),
            report: Some(self.request.clone()),
        };
        self.lead.seat.world.repository.borrow_mut().merges.insert(self.task, unheard);
        self.lead.seat.boundary().await;
    }

    /// Moves the team's branch. From here on the work is merged, whatever becomes of this process.
    fn advance(&self, from: &str, to: &str) -> bool {
        let seat = &self.lead.seat;
        let name = full(&self.lead.team_branch);
        let step = advance(&name, from, to, &format!("troop: {}", self.task));
        let moved = seat.world.repository.borrow_mut().update(&step);
        seat.tell(|| format!("moves {} from {from} to {to}: {moved}", self.lead.team_branch));
        let tree = seat.world.repository.borrow().tree(to);
        let doubled = tree.iter().find(|(_, content)| content.lines().count() > 1);
        if let Some((path, content)) = doubled {
            let lines: Vec<_> = content.lines().collect();
            seat.object(Promise::MergedOnce, format!("{path} has {lines:?}"));
        }
        moved
    }
}
