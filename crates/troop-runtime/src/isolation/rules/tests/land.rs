//! The end of a team, from facts to the next step.

use std::collections::BTreeMap;

use crate::isolation::{
    effect::{OldValue, RefMove},
    land::Landing,
    rules::{
        FolderHead, ForwardFacts, ForwardFailure, IndexSide, LandFacts, LandStep, LandingLockState,
        LandingUndo, ProjectAfter, ProjectFacts, TidyState, UndoResult, forget_merged,
        is_in_the_way, land_step,
    },
};

const TEAM: &str = "troop/crew";

fn facts() -> LandFacts {
    LandFacts::new(TEAM, Some("main"))
}

/// A team whose branch is released, in a project on a branch.
fn in_project(branch: Option<&str>, is_there: bool) -> LandFacts {
    let now = FolderHead { commit: "p".to_owned(), branch: branch.map(str::to_owned) };
    let project = Some(ProjectFacts { now, is_there });
    let lock = Some(LandingLockState::Ours);
    LandFacts { team: Some("t".to_owned()), is_released: true, lock, project, ..facts() }
}

fn team() -> String {
    "t".to_owned()
}

fn now() -> String {
    "p".to_owned()
}

fn on_main(commit: &str) -> FolderHead {
    FolderHead { commit: commit.to_owned(), branch: Some("main".to_owned()) }
}

fn failure(says: &str) -> ForwardFailure {
    let says = says.to_owned();
    ForwardFailure { says, lock: None, n_commits: 3, is_clear: true, is_full: false }
}

/// The outcome for the work, once everything else is done.
fn landing(facts: LandFacts) -> Landing {
    let step = land_step(&LandFacts { tidy: TidyState::BranchGone, ..facts });
    let LandStep::End(landing) = step else { panic!("{step:?}") };
    landing
}

fn why(landing: Landing) -> String {
    match landing {
        Landing::Waits { why, .. } => why,
        Landing::Nothing | Landing::Merged { .. } => panic!("{landing:?}"),
    }
}

#[test]
fn the_teams_branch_is_released_before_the_project_is_inspected() {
    let mut facts = facts();
    assert_eq!(land_step(&facts), LandStep::FindTeam);
    facts.team = Some(team());
    assert_eq!(land_step(&facts), LandStep::Release);
    facts.is_released = true;
    assert_eq!(land_step(&facts), LandStep::TakeLock);
    facts.lock = Some(LandingLockState::Ours);
    assert_eq!(land_step(&facts), LandStep::LookAtProject { team: team() });
}

#[test]
fn a_team_that_does_not_get_the_landing_lock_leaves_the_project_alone() {
    let why_not = "another team has been landing here".to_owned();
    let lock = Some(LandingLockState::Taken { why: why_not.clone() });
    let facts = LandFacts { lock, project: None, ..in_project(Some("main"), false) };
    assert_eq!(land_step(&facts), LandStep::NoteStray);
    assert_eq!(why(landing(facts)), why_not);
}

#[test]
fn the_projects_branch_moves_only_forward() {
    let mut facts = in_project(Some("main"), false);
    assert_eq!(land_step(&facts), LandStep::LookAhead { now: now(), team: team() });
    facts.forward = Some(ForwardFacts::Ahead { n_commits: 3, is_clear: true });
    let forward =
        LandStep::Forward { now: on_main("p"), team: team(), n_commits: 3, is_clear: true };
    assert_eq!(land_step(&facts), forward);
    facts.forward = Some(ForwardFacts::Moved { n_commits: 3 });
    assert_eq!(landing(facts), Landing::Merged { branch: "main".to_owned(), n_commits: 3 });
    let mut facts = in_project(Some("main"), false);
    facts.forward = Some(ForwardFacts::Behind);
    assert_eq!(why(landing(facts)), "`main` has moved in the meantime");
}

#[test]
fn files_of_a_killed_landing_are_restored_first() {
    let failure = failure("odd");
    let mut facts = in_project(Some("main"), false);
    facts.forward = Some(ForwardFacts::Failed(failure.clone()));
    let look = LandStep::LookAfter { now: on_main("p"), team: team(), failure: failure.clone() };
    assert_eq!(land_step(&facts), look);
    let seen = |failure: &ForwardFailure, commit: &str, is_there| {
        let index = IndexSide::Before;
        let after = ProjectAfter { head: on_main(commit), is_there, index };
        let forward = Some(ForwardFacts::Seen { failure: failure.clone(), after });
        LandFacts { forward, ..in_project(Some("main"), false) }
    };
    let step = land_step(&seen(&failure, "p", false));
    let LandStep::Undo { undo: LandingUndo::Files, after, .. } = step else { panic!("{step:?}") };
    let result = UndoResult::Done;
    facts.forward = Some(ForwardFacts::Undone { failure: failure.clone(), after, result });
    assert_eq!(land_step(&facts), LandStep::NoteStray);
    assert!(why(landing(facts)).ends_with("the project is as it was: odd"));
    let in_the_way = ForwardFailure { is_clear: false, ..failure.clone() };
    assert_eq!(why(landing(seen(&in_the_way, "p", false))), "odd", "files of a person are there");
    assert_eq!(why(landing(seen(&failure, "q", false))), "`main` has moved in the meantime");
    let landed = Landing::Merged { branch: "main".to_owned(), n_commits: 3 };
    assert_eq!(landing(seen(&failure, "t", true)), landed, "git was killed when it had moved it");
}

#[test]
fn work_that_only_the_teams_branch_holds_waits() {
    let mut facts = in_project(None, true);
    assert_eq!(land_step(&facts), LandStep::AskHeld { team: team() });
    facts.is_held = Some(true);
    assert_eq!(landing(facts), Landing::Nothing);
    let mut facts = in_project(None, true);
    facts.is_held = Some(false);
    assert_eq!(why(landing(facts)), "the project is not on a branch");
}

#[test]
fn the_teams_branch_goes_last_and_only_if_its_work_is_in_the_project() {
    let steps = |tidy| {
        let there = land_step(&LandFacts { tidy, ..in_project(Some("main"), true) });
        let not = land_step(&LandFacts { tidy, ..in_project(Some("other"), false) });
        (there, matches!(not, LandStep::End(_)))
    };
    let end = || LandStep::End(Landing::Nothing);
    let name = "refs/heads/troop/crew";
    let forget = LandStep::ForgetBranch(RefMove::delete(name, OldValue::Is(team())));
    assert_eq!(steps(TidyState::Begins), (LandStep::NoteStray, false));
    assert_eq!(steps(TidyState::StrayNoted), (LandStep::Tidy, false));
    assert_eq!(steps(TidyState::Tidy), (LandStep::AskInUse, true));
    assert_eq!(steps(TidyState::BranchFree).0, forget);
    assert_eq!(steps(TidyState::BranchInUse).0, end());
    assert_eq!(steps(TidyState::BranchGone).0, end());
}

#[test]
fn branches_that_a_folder_is_on_are_kept() {
    let in_use = ["b".to_owned()];
    let gone = forget_merged([("a", "c1"), ("b", "c2")].into_iter(), &in_use);
    let was_c1 = OldValue::Is("c1".to_owned());
    assert_eq!(gone, [RefMove::delete("refs/heads/a", was_c1)], "unless it has moved");
}

/// A project in which two teams land at the same time. Both began at the commit `p`.
struct ModelProject {
    /// Commits with their parents.
    parents: BTreeMap<&'static str, &'static str>,
    main: &'static str,
    /// The commit whose files are in the index.
    index: &'static str,
    /// Whether git is between writing the index and moving the branch.
    is_written: bool,
    /// Whether a person's git has the lock of the index.
    is_locked: bool,
    branches: BTreeMap<&'static str, &'static str>,
    /// The team that holds the landing lock.
    lock: Option<String>,
    /// How often somebody put files back.
    n_undone: u32,
}

impl ModelProject {
    fn new() -> Self {
        Self {
            parents: BTreeMap::from([("red", "p"), ("blue", "p")]),
            main: "p",
            index: "p",
            is_written: false,
            is_locked: false,
            branches: BTreeMap::from([("troop/red", "red"), ("troop/blue", "blue")]),
            lock: None,
            n_undone: 0,
        }
    }

    fn is_ancestor(&self, one: &str, other: &str) -> bool {
        one == other || self.parents.get(other).is_some_and(|it| self.is_ancestor(one, it))
    }

    /// The commit that has the same files; a person commits none.
    fn files_of(&self, commit: &'static str) -> &'static str {
        if commit == "person" { self.files_of(self.parents[commit]) } else { commit }
    }

    fn look_ahead(&self, now: &str, team: &str) -> ForwardFacts {
        if !self.is_ancestor(now, team) {
            return ForwardFacts::Behind;
        }
        let says = "fatal: Unable to create '.git/index.lock': File exists.".to_owned();
        match self.is_locked {
            false => ForwardFacts::Ahead { n_commits: 1, is_clear: true },
            true if is_in_the_way(&says) => ForwardFacts::Ahead { n_commits: 1, is_clear: false },
            true => ForwardFacts::Unclear { says, lock: None, is_full: false },
        }
    }

    /// Git's own two steps: the index, and then the branch. None between them.
    fn forward(
        &mut self,
        now: &str,
        team: &str,
        own: &'static str,
    ) -> Option<Result<(), &'static str>> {
        if std::mem::take(&mut self.is_written) {
            if self.main != now {
                return Some(Err("fatal: cannot lock ref 'HEAD'"));
            }
            self.main = own;
            return Some(Ok(()));
        }
        if !self.is_ancestor(self.main, team) {
            return Some(Err("fatal: Not possible to fast-forward, aborting."));
        }
        (self.index, self.is_written) = (own, true);
        None
    }

    /// Takes the next step of one team. Returns what became of its work, at the end.
    fn step(&mut self, facts: &mut LandFacts) -> Option<Landing> {
        match land_step(facts) {
            LandStep::FindTeam => {
                facts.team = Some(self.branches[facts.team_branch.as_str()].to_owned());
            }
            LandStep::Release => facts.is_released = true,
            LandStep::TakeLock => {
                let holder = self.lock.get_or_insert_with(|| facts.team_branch.clone());
                facts.lock = Some(match *holder == facts.team_branch {
                    true => LandingLockState::Ours,
                    false => LandingLockState::Taken { why: holder.clone() },
                });
            }
            LandStep::LookAtProject { team } => {
                let branch = Some("main".to_owned());
                let now = FolderHead { commit: self.main.to_owned(), branch };
                let is_there = self.is_ancestor(&team, self.main);
                facts.project = Some(ProjectFacts { now, is_there });
            }
            LandStep::AskHeld { .. } => facts.is_held = Some(false),
            LandStep::LookAhead { now, team } => {
                facts.forward = Some(self.look_ahead(&now, &team));
            }
            LandStep::Forward { now, team, n_commits, is_clear } => {
                let own = self.branches[facts.team_branch.as_str()];
                let fails =
                    |says| Some(ForwardFacts::Failed(ForwardFailure { is_clear, ..failure(says) }));
                facts.forward = match self.forward(&now.commit, &team, own) {
                    None => facts.forward.take(),
                    Some(Ok(())) => Some(ForwardFacts::Moved { n_commits }),
                    Some(Err(says)) => fails(says),
                };
            }
            LandStep::LookAfter { now, team, failure } => {
                let is_there = self.is_ancestor(&team, self.main);
                let index = match self.index {
                    it if it == now.commit => IndexSide::Before,
                    it if it == team => IndexSide::Team,
                    _ => IndexSide::Other,
                };
                let after = ProjectAfter { head: on_main(self.main), is_there, index };
                facts.forward = Some(ForwardFacts::Seen { failure, after });
            }
            LandStep::Undo { undo, failure, after, .. } => {
                assert!(matches!(undo, LandingUndo::Index { .. }), "{undo:?}");
                self.n_undone += 1;
                self.index = self.files_of(self.main);
                let result = UndoResult::Done;
                facts.forward = Some(ForwardFacts::Undone { failure, after, result });
            }
            LandStep::NoteStray => {
                self.lock.take_if(|it| *it == facts.team_branch);
                facts.tidy = TidyState::StrayNoted;
            }
            LandStep::Tidy => facts.tidy = TidyState::Tidy,
            LandStep::AskInUse => facts.tidy = TidyState::BranchFree,
            LandStep::ForgetBranch(_) => {
                self.branches.remove(facts.team_branch.as_str());
                facts.tidy = TidyState::BranchGone;
            }
            LandStep::End(landing) => return Some(landing),
        }
        None
    }
}

#[test]
fn a_person_who_commits_between_two_steps_of_a_landing_loses_nothing() {
    let mut n_undone = 0;
    for (n_steps, is_locked) in (0..14).flat_map(|it| [(it, false), (it, true)]) {
        let mut project = ModelProject { is_locked, ..ModelProject::new() };
        let mut red = LandFacts::new("troop/red", Some("main"));
        let early = (0..n_steps).find_map(|_| project.step(&mut red));
        // It does not see the landing lock, and git lets it commit.
        project.parents.insert("person", project.main);
        (project.main, project.is_locked) = ("person", false);
        let landed = early.or_else(|| (0..20).find_map(|_| project.step(&mut red))).unwrap();
        let when = format!("after {n_steps} steps, {is_locked}");
        let is_in = project.is_ancestor("red", project.main);
        assert_eq!(is_in, matches!(landed, Landing::Merged { .. } | Landing::Nothing), "{when}");
        assert!(is_in || project.branches.contains_key("troop/red"), "{when}");
        assert_eq!(project.main, "person", "{when}");
        assert_eq!(project.index, project.files_of("person"), "nothing is staged, {when}");
        n_undone += project.n_undone;
    }
    assert_eq!(n_undone, 1, "once the person came after the index was written");
}

#[test]
fn one_of_two_teams_that_land_at_once_waits_and_no_commit_is_lost() {
    // Red takes `n_red` steps, then blue lands, then red goes on.
    for n_red in 0..12 {
        let mut project = ModelProject::new();
        let mut red = LandFacts::new("troop/red", Some("main"));
        let mut blue = LandFacts::new("troop/blue", Some("main"));
        let mut landed = Vec::new();
        landed.extend((0..n_red).find_map(|_| project.step(&mut red)));
        landed.extend((0..20).find_map(|_| project.step(&mut blue)));
        if landed.len() < 2 {
            landed.extend((0..20).find_map(|_| project.step(&mut red)));
        }
        let n_merged = landed.iter().filter(|it| matches!(it, Landing::Merged { .. })).count();
        let n_waiting = landed.iter().filter(|it| matches!(it, Landing::Waits { .. })).count();
        assert_eq!((n_merged, n_waiting), (1, 1), "after {n_red}: {landed:?}");
        assert_eq!(project.n_undone, 0, "nothing of another is put back");
        for (branch, commit) in [("troop/red", "red"), ("troop/blue", "blue")] {
            let is_held = project.branches.contains_key(branch);
            assert!(is_held || project.is_ancestor(commit, project.main), "{n_red}: {commit}");
        }
    }
}
