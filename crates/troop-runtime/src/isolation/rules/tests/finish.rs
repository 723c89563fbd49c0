//! The end of a piece of work: from facts to the next step, and the fate of work if a lead dies between any two steps.

use std::collections::{BTreeMap, BTreeSet};

use super::merge::evidence;
use crate::isolation::{
    effect::{FolderEffect, OldValue, RefMove},
    merge::{Aim, MergeOutcome, WorkReport},
    refusal::MergeRefusal,
    rules::{
        CheckedWork, FinishFacts, FinishStep, FinishTrial, FolderLook, FolderStatus, FolderTie,
        ForkPoint, ForkSearch, JoinCase, MergeFacts, MergeStep, MergeTrial, SubmoduleState,
        finish_step, join_case, merge_step,
    },
};

const TEAM: &str = "troop/crew";
const WORK: &str = "troop-work/crew/ann/task-1";
const HANDED_IN: &str = "refs/troop-work/crew/task-1";

fn new(aim: Aim) -> FinishFacts {
    FinishFacts::new(aim, TEAM, HANDED_IN.to_owned())
}

fn look(branch: &str, is_dirty: bool) -> FolderLook {
    let change = if is_dirty { "? new\0" } else { "" };
    let said = format!("# branch.oid o\0# branch.head {branch}\0{change}");
    let status = FolderStatus::read(&said, false).unwrap();
    FolderLook { status, unfinished: None, has_references: false }
}

/// A folder that can be looked at.
fn tied(aim: Aim) -> FinishFacts {
    FinishFacts { is_wanted: Some(true), tie: Some(FolderTie::Whole), ..new(aim) }
}

/// Work that is committed, and forked from the team's branch.
fn committed(aim: Aim) -> FinishFacts {
    FinishFacts {
        look: Some(look(WORK, false)),
        submodules: Some(SubmoduleState::Kept),
        fork: ForkSearch::At(fork()),
        ..tied(aim)
    }
}

fn fork() -> ForkPoint {
    ForkPoint { team: "t".to_owned(), base: "b".to_owned() }
}

fn own() -> String {
    "o".to_owned()
}

fn refused(why: MergeRefusal) -> FinishStep {
    FinishStep::End(why.into())
}

#[test]
fn nothing_is_read_for_unwanted_work_or_a_lost_folder() {
    assert_eq!(finish_step(&new(Aim::Merge)), FinishStep::AskWanted);
    let unwanted = FinishFacts { is_wanted: Some(false), ..new(Aim::Merge) };
    assert_eq!(finish_step(&unwanted), refused(MergeRefusal::Unwanted));
    for (tie, expect) in [
        (None, FinishStep::Tie),
        (Some(FolderTie::Replaced), refused(MergeRefusal::Replaced)),
        (Some(FolderTie::Gone), FinishStep::Restore),
        (Some(FolderTie::Restored), refused(MergeRefusal::Gone)),
        (Some(FolderTie::Whole), FinishStep::Look),
    ] {
        assert_eq!(finish_step(&FinishFacts { tie, ..tied(Aim::Merge) }), expect, "{tie:?}");
    }
}

#[test]
fn a_folder_is_committed_only_when_nothing_in_it_is_unfinished() {
    let mut facts = FinishFacts { look: Some(look(WORK, true)), ..tied(Aim::Merge) };
    assert_eq!(finish_step(&facts), FinishStep::LookIntoSubmodules);
    facts.submodules = Some(SubmoduleState::Clean);
    assert_eq!(finish_step(&facts), FinishStep::KeepSubmodules);
    facts.submodules = Some(SubmoduleState::Kept);
    assert_eq!(finish_step(&facts), FinishStep::Commit);
    facts.committed = Some("o2".to_owned());
    assert_eq!(finish_step(&facts), FinishStep::FindFork("o2".to_owned()));
    facts.submodules = Some(SubmoduleState::Dirty(vec!["sub".to_owned()]));
    assert_eq!(finish_step(&facts), refused(MergeRefusal::Submodules(vec!["sub".to_owned()])));
    let unfinished = Some(MergeRefusal::Unfinished("rebase"));
    facts.look = Some(FolderLook { unfinished, ..look(WORK, true) });
    assert_eq!(finish_step(&facts), refused(MergeRefusal::Unfinished("rebase")));
}

#[test]
fn a_folder_leaves_the_teams_branch_before_it_is_committed() {
    let mut facts = FinishFacts { look: Some(look(TEAM, true)), ..tied(Aim::Merge) };
    assert_eq!(finish_step(&facts), FinishStep::FindTaskBranch);
    facts.task_commit = Some(None);
    assert_eq!(finish_step(&facts), refused(MergeRefusal::unrelated(TEAM, "o")));
    facts.task_commit = Some(Some("c".to_owned()));
    let why = "troop: stepped off".to_owned();
    let step_off = FolderEffect::DetachHead { at: "c".to_owned(), why };
    assert_eq!(finish_step(&facts), FinishStep::StepOff(step_off));
    facts.look = Some(look("(detached)", true));
    assert_eq!(finish_step(&facts), FinishStep::LookIntoSubmodules);
}

#[test]
fn unrelated_work_is_joined_to_where_its_branch_began() {
    let step = |fork| finish_step(&FinishFacts { fork, ..committed(Aim::Merge) });
    assert_eq!(step(ForkSearch::Unknown), FinishStep::FindFork(own()));
    assert_eq!(step(ForkSearch::Unrelated), FinishStep::Root(own()));
    let refusal = refused(MergeRefusal::unrelated(TEAM, "o"));
    assert_eq!(step(ForkSearch::UnrelatedForGood), refusal);
    let aim = Aim::Merge;
    let try_out = FinishStep::Try { own: own(), fork: fork(), has_references: false, aim };
    assert_eq!(step(ForkSearch::At(fork())), try_out);
}

#[test]
fn work_with_repositories_is_refused_and_other_work_goes_to_the_merge() {
    let merged = Ok("m".to_owned());
    let trial = Some(FinishTrial { merged: Some(merged.clone()) });
    let mut facts = FinishFacts { trial, ..committed(Aim::Merge) };
    let trial = MergeTrial { own: own(), fork: fork(), merged };
    assert_eq!(finish_step(&facts), FinishStep::Merge(trial));
    facts.repositories = vec!["r".to_owned()];
    assert_eq!(finish_step(&facts), refused(MergeRefusal::Repositories(vec!["r".to_owned()])));
}

#[test]
fn work_is_handed_in_after_its_checks_even_if_they_failed() {
    let trial = Some(FinishTrial { merged: None });
    let mut facts = FinishFacts { trial, ..committed(Aim::HandIn) };
    assert_eq!(finish_step(&facts), FinishStep::Check(own()));
    let checked = |is_wanted, is_handed_in| {
        Some(CheckedWork { evidence: vec![evidence(1)], is_wanted, is_handed_in })
    };
    facts.checked = checked(false, false);
    assert_eq!(finish_step(&facts), refused(MergeRefusal::Unwanted));
    facts.checked = checked(true, false);
    let hand_in = RefMove::new(HANDED_IN, OldValue::Any, "o");
    assert_eq!(finish_step(&facts), FinishStep::HandIn(hand_in));
    facts.checked = checked(true, true);
    let outcome = MergeOutcome::Not(MergeRefusal::Unproved);
    let report = WorkReport { outcome, evidence: vec![evidence(1)] };
    assert_eq!(finish_step(&facts), FinishStep::End(report));
}

/// A repository in memory: commits with their parents and the files that they hold, and one folder. A member does a task there, and
/// leads come one after the other.
struct ModelRepository {
    commits: BTreeMap<String, ModelCommit>,
    team: String,
    head: String,
    is_dirty: bool,
    /// The attempt that the member is at.
    attempt: u32,
    /// Whether the board knows that the task is done.
    is_done: bool,
    /// How many steps a process may do before it dies.
    n_left: usize,
}

struct ModelCommit {
    parents: Vec<String>,
    files: BTreeSet<String>,
    /// The attempt that a merge commit names.
    attempt: Option<u32>,
}

impl ModelRepository {
    /// The member changed a file since it began at `base`; another member's work is merged meanwhile, or not.
    fn new(n_left: usize, has_other: bool) -> Self {
        let commit = |parent: &str, files: &[&str]| ModelCommit {
            parents: vec![parent.to_owned()],
            files: files.iter().map(ToString::to_string).collect(),
            attempt: None,
        };
        let commits = [("base", commit("", &[])), ("other", commit("base", &["theirs"]))];
        let commits = commits.into_iter().map(|(name, it)| (name.to_owned(), it)).collect();
        let team = if has_other { "other" } else { "base" };
        Self {
            commits,
            team: team.to_owned(),
            head: "base".to_owned(),
            is_dirty: true,
            attempt: 1,
            is_done: false,
            n_left,
        }
    }

    /// Commits with the parents' files, and perhaps one more. The same commit has the same name.
    fn commit(&mut self, parents: &[&str], more: Option<String>, attempt: Option<u32>) -> String {
        let of_parents = parents.iter().filter_map(|it| self.commits.get(*it));
        let files = of_parents.flat_map(|it| it.files.clone()).chain(more).collect();
        let name = format!("({})", parents.join("+"));
        let parents = parents.iter().map(ToString::to_string).collect();
        self.commits.insert(name.clone(), ModelCommit { parents, files, attempt });
        name
    }

    fn is_ancestor(&self, one: &str, other: &str) -> bool {
        let parents = self.commits.get(other).map(|it| &it.parents);
        one == other || parents.into_iter().flatten().any(|it| self.is_ancestor(one, it))
    }

    fn fork(&self, own: &str) -> ForkPoint {
        let both = [own, self.team.as_str(), "other", "base"];
        let is_common = |it: &&&str| self.is_ancestor(it, own) && self.is_ancestor(it, &self.team);
        let base = both.iter().find(is_common).unwrap().to_string();
        ForkPoint { team: self.team.clone(), base }
    }

    fn trial(&mut self, own: &str) -> MergeTrial {
        let fork = self.fork(own);
        let merged = match join_case(&fork, own) {
            JoinCase::Team => fork.team.clone(),
            JoinCase::Own | JoinCase::Merge => {
                self.commit(&[&fork.team, own], None, Some(self.attempt))
            }
        };
        MergeTrial { own: own.to_owned(), fork, merged: Ok(merged) }
    }

    /// None if the process dies before the next step.
    fn step(&mut self) -> Option<()> {
        self.n_left = self.n_left.checked_sub(1)?;
        Some(())
    }

    /// Whether the team's branch has a merge that names the attempt.
    fn is_merged(&self) -> bool {
        let mut at = self.commits.get(&self.team);
        while let Some(commit) = at {
            if commit.attempt == Some(self.attempt) {
                return true;
            }
            at = commit.parents.first().and_then(|it| self.commits.get(it));
        }
        false
    }

    /// One lead: it records earlier merges, or else has the task done. None if it died.
    fn lead(&mut self) -> Option<()> {
        self.step()?;
        if !self.is_done && self.is_merged() {
            self.is_done = true;
        }
        if self.is_done {
            return Some(());
        }
        let report = self.finish()?;
        assert!(matches!(report.outcome, MergeOutcome::Merged(_)), "{report:?}");
        self.step()?;
        self.is_done = true;
        Some(())
    }

    /// The lead died, and its member with it. If the task is still open, the member begins again.
    fn begin_again(&mut self) {
        if !self.is_done && !self.is_merged() {
            self.attempt += 1;
            self.head = self.team.clone();
            self.is_dirty = true;
        }
    }

    fn finish(&mut self) -> Option<WorkReport> {
        let mut facts = tied(Aim::Merge);
        loop {
            self.step()?;
            match finish_step(&facts) {
                FinishStep::Look => facts.look = Some(look(WORK, self.is_dirty)),
                FinishStep::LookIntoSubmodules => facts.submodules = Some(SubmoduleState::Clean),
                FinishStep::KeepSubmodules => facts.submodules = Some(SubmoduleState::Kept),
                FinishStep::Commit => {
                    let work = format!("ours, attempt {}", self.attempt);
                    self.head = self.commit(&[&self.head.clone()], Some(work), None);
                    self.is_dirty = false;
                    facts.committed = Some(self.head.clone());
                }
                FinishStep::FindFork(_) => {
                    // The model's folder names no commit in its status.
                    facts.committed = Some(self.head.clone());
                    facts.fork = ForkSearch::At(self.fork(&self.head.clone()));
                }
                FinishStep::Try { own, .. } => {
                    let merged = Some(self.trial(&own).merged);
                    facts.trial = Some(FinishTrial { merged });
                }
                FinishStep::Merge(trial) => return self.merge(trial),
                FinishStep::End(report) => return Some(report),
                step @ (FinishStep::AskWanted
                | FinishStep::Tie
                | FinishStep::Restore
                | FinishStep::FindTaskBranch
                | FinishStep::StepOff(_)
                | FinishStep::Root(_)
                | FinishStep::Check(_)
                | FinishStep::HandIn(_)) => panic!("{step:?}"),
            }
        }
    }

    fn merge(&mut self, trial: MergeTrial) -> Option<WorkReport> {
        let mut facts = MergeFacts::new(TEAM, trial, true);
        loop {
            self.step()?;
            match merge_step(&facts) {
                MergeStep::Forward(commit) => {
                    self.head = commit;
                    facts.is_forwarded = true;
                }
                MergeStep::Check(_) => facts.evidence = Some(vec![evidence(0)]),
                MergeStep::AskWanted => facts.is_wanted = Some(true),
                MergeStep::Advance { from, to } => {
                    let is_first = self.team == from;
                    self.team = if is_first { to } else { self.team.clone() };
                    facts.is_moved = Some(is_first);
                }
                MergeStep::Again(own) => {
                    let trial = self.trial(&own);
                    facts = MergeFacts::new(TEAM, trial, true);
                }
                MergeStep::End(report) => return Some(report),
            }
        }
    }
}

#[test]
fn work_is_merged_once_wherever_leads_die_one_after_the_other() {
    for has_other in [true, false] {
        let mut n_died = 0;
        for n_first in 0..20 {
            for n_second in 0..20 {
                let mut repository = ModelRepository::new(n_first, has_other);
                for n_left in [n_second, usize::MAX] {
                    n_died += usize::from(repository.lead().is_none());
                    repository.begin_again();
                    repository.n_left = n_left;
                }
                repository.lead().unwrap();
                let files = &repository.commits[&repository.team].files;
                let ours: Vec<_> = files.iter().filter(|it| it.starts_with("ours")).collect();
                let where_from = format!("{n_first}, {n_second}");
                assert_eq!(ours.len(), 1, "{where_from}: {ours:?}");
                assert_eq!(files.contains("theirs"), has_other, "{where_from}");
            }
        }
        assert!(n_died > 300, "{n_died}");
    }
}
