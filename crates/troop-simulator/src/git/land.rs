//! The end of a team. `troop_runtime::deciding::isolation` decides what comes next; how each step is taken follows
//! `troop-runtime/src/isolation/land.rs` and `put_back.rs`, and git's own steps are taken one by one. Change both together.

use std::rc::Rc;

use troop_runtime::deciding::isolation::{
    FolderHead, ForwardFacts, ForwardFailure, IndexSide, LandFacts, LandStep, LandingLockState,
    LandingUndo, OldValue, ProjectAfter, ProjectFacts, RefMove, TidyState, UndoResult, full,
    is_in_the_way, land_step,
};

use crate::{
    disk::SystemLock,
    process::ProcessSeat,
    repository::{MAIN, Tree},
    world::World,
};

/// What git says when another git command has the lock of the index.
const LOCKED: &str = "fatal: Unable to create '/p/.git/index.lock': File exists.";

/// The branch of a team that lands.
fn team_branch(nth: u16) -> String {
    format!("troop/team{nth}")
}

/// A project, and teams whose work waits on their branches. They may all have made the same file.
pub(crate) fn prepare_landing(world: &Rc<World>) {
    let mut repository = world.repository.borrow_mut();
    let tree = Tree::from([("README.md".to_owned(), "hello".to_owned())]);
    let first = repository.commit(&[], tree.clone());
    repository.update(&RefMove::new(MAIN, OldValue::Absent, &first));
    repository.index.clone_from(&tree);
    repository.files.clone_from(&tree);
    let is_same = world.choices.borrow_mut().one_of(2) == 1;
    for nth in 1..=world.plan.n_programs {
        let path = if is_same { "NOTES.md".to_owned() } else { format!("notes-{nth}.md") };
        let mut own = tree.clone();
        own.insert(path, format!("by team {nth}"));
        let commit = repository.commit(&[&first], own);
        repository.update(&RefMove::new(&full(&team_branch(nth)), OldValue::Absent, &commit));
    }
}

/// The end of one of several teams.
pub(crate) async fn land(seat: ProcessSeat, nth: u16) {
    land_team(&seat, &team_branch(nth)).await;
}

/// Brings a team's work into the project.
pub(super) async fn land_team(seat: &ProcessSeat, branch: &str) {
    let repository = &seat.world.repository;
    let mut facts = LandFacts::new(branch, Some("main"));
    let mut lock = None;
    loop {
        seat.boundary().await;
        match land_step(&facts) {
            LandStep::FindTeam => {
                facts.team = Some(repository.borrow().at(&full(branch)).unwrap_or_default());
            }
            LandStep::Release => facts.is_released = true,
            LandStep::TakeLock => {
                facts.lock = Some(match take_landing_lock(seat).await {
                    Some(taken) => {
                        lock = Some(taken);
                        LandingLockState::Ours
                    }
                    None => LandingLockState::Taken { why: "another team is landing".to_owned() },
                });
            }
            LandStep::LookAtProject { team } => {
                let commit = repository.borrow().at(MAIN).unwrap_or_default();
                let is_there = repository.borrow().is_ancestor(&team, &commit);
                let now = FolderHead { commit, branch: Some("main".to_owned()) };
                facts.project = Some(ProjectFacts { now, is_there });
            }
            LandStep::AskHeld { .. } => facts.is_held = Some(true),
            LandStep::LookAhead { now, team } => {
                facts.forward = Some(look_ahead(seat, &now, &team));
            }
            LandStep::Forward { team, n_commits, is_clear, .. } => {
                facts.forward = Some(forward(seat, &team, n_commits, is_clear).await);
            }
            LandStep::LookAfter { now, team, failure } => {
                let after = look_after(seat, &now.commit, &team);
                facts.forward = Some(ForwardFacts::Seen { failure, after });
            }
            LandStep::Undo { undo: what, now, team, failure, after } => {
                undo(seat, &what, &now.commit, &team).await;
                let result = UndoResult::Done;
                facts.forward = Some(ForwardFacts::Undone { failure, after, result });
            }
            LandStep::NoteStray => {
                drop(lock.take());
                facts.tidy = TidyState::StrayNoted;
            }
            LandStep::Tidy => facts.tidy = TidyState::Tidy,
            LandStep::AskInUse => facts.tidy = TidyState::BranchFree,
            LandStep::ForgetBranch(step) => {
                repository.borrow_mut().update(&step);
                facts.tidy = TidyState::BranchGone;
            }
            LandStep::End(landing) => {
                seat.count("a team landed, or was told to wait");
                seat.tell(|| format!("has landed: {landing:?}"));
                return;
            }
        }
    }
}

/// Looks whether the project's branch can move to the team's commit.
fn look_ahead(seat: &ProcessSeat, now: &str, team: &str) -> ForwardFacts {
    let repository = seat.world.repository.borrow();
    if !repository.is_ancestor(now, team) {
        return ForwardFacts::Behind;
    }
    let locked = repository.is_index_locked().then(|| LOCKED.to_owned());
    match locked.or_else(|| repository.objection(now, team)) {
        None => ForwardFacts::Ahead { n_commits: 1, is_clear: true },
        Some(says) if is_in_the_way(&says) => ForwardFacts::Ahead { n_commits: 1, is_clear: false },
        Some(says) => {
            seat.count("git could not tell whether files were in the way of a landing");
            let lock = Some("index.lock".to_owned());
            ForwardFacts::Unclear { says, lock, is_full: false }
        }
    }
}

/// Moves the project's branch and files: `git merge --ff-only`.
async fn forward(seat: &ProcessSeat, team: &str, n_commits: usize, is_clear: bool) -> ForwardFacts {
    match fast_forward(seat, team).await {
        Ok(()) => ForwardFacts::Moved { n_commits },
        Err(says) => {
            seat.count("git could not move the project");
            seat.tell(|| format!("git says: {says}"));
            let failure = ForwardFailure { says, lock: None, n_commits, is_clear, is_full: false };
            ForwardFacts::Failed(failure)
        }
    }
}

/// Git's own steps: it reads where the project is, locks the index, writes files and index, releases the lock, and only then moves
/// the branch, if that is still where it was.
async fn fast_forward(seat: &ProcessSeat, team: &str) -> Result<(), String> {
    let repository = &seat.world.repository;
    let head = repository.borrow().at(MAIN).unwrap_or_default();
    if !repository.borrow().is_ancestor(&head, team) {
        return Err("fatal: Not possible to fast-forward, aborting.".to_owned());
    }
    seat.boundary().await;
    if !repository.borrow_mut().lock_index(seat.id) {
        return Err(LOCKED.to_owned());
    }
    let objection = repository.borrow().objection(&head, team);
    if let Some(objection) = objection {
        repository.borrow_mut().unlock_index();
        return Err(objection);
    }
    seat.boundary().await;
    let tree = repository.borrow().tree(team);
    let (mut paths, added) = repository.borrow().differences(&head, team);
    paths.extend(added);
    let new = |path: &String| Some((path.clone(), tree.get(path)?.clone()));
    let written: Tree = paths.iter().filter_map(new).collect();
    repository.borrow_mut().files.extend(written.clone());
    seat.tell(|| format!("git writes {paths:?}"));
    seat.boundary().await;
    repository.borrow_mut().index.extend(written);
    repository.borrow_mut().unlock_index();
    seat.boundary().await;
    let step = RefMove::new(MAIN, OldValue::Is(head.clone()), team);
    if !repository.borrow_mut().update(&step) {
        return Err(format!("fatal: cannot lock ref 'HEAD': it is no longer at {head}"));
    }
    seat.tell(|| format!("git moves main to {team}"));
    Ok(())
}

/// The landing lock of the repository; none if another team holds it for ten seconds.
async fn take_landing_lock(seat: &ProcessSeat) -> Option<SystemLock> {
    for _ in 0..500 {
        let lock = SystemLock::take(&seat.world, "troop-landing");
        if lock.is_some() {
            return lock;
        }
        seat.count("a team waited for its turn to land");
        seat.sleep(20_000).await;
    }
    None
}

/// Looks where the project is after a landing has failed.
fn look_after(seat: &ProcessSeat, now: &str, team: &str) -> ProjectAfter {
    let repository = seat.world.repository.borrow();
    let commit = repository.at(MAIN).unwrap_or_default();
    let is_there = repository.is_ancestor(team, &commit);
    let (mut changed, added) = repository.differences(now, team);
    changed.extend(added);
    let agrees = |commit: &str| {
        let tree = repository.tree(commit);
        changed.iter().all(|path| repository.index.get(path) == tree.get(path))
    };
    let index = if agrees(now) {
        IndexSide::Before
    } else if agrees(team) {
        IndexSide::Team
    } else {
        IndexSide::Other
    };
    let head = FolderHead { commit, branch: Some("main".to_owned()) };
    ProjectAfter { head, is_there, index }
}

/// Puts back what a landing left.
async fn undo(seat: &ProcessSeat, undo: &LandingUndo, now: &str, team: &str) {
    match undo {
        LandingUndo::Landed | LandingUndo::Nothing => {}
        LandingUndo::Files => put_back(seat, now, team).await,
        LandingUndo::Index { to } => {
            seat.count("the index of the project was put back");
            seat.boundary().await;
            let mut repository = seat.world.repository.borrow_mut();
            let tree = repository.tree(to);
            let (mut changed, added) = repository.differences(now, team);
            changed.extend(added);
            for path in changed {
                match tree.get(&path) {
                    Some(content) => {
                        repository.index.insert(path.clone(), content.clone());
                        repository.files.insert(path, content.clone());
                    }
                    None => {
                        repository.index.remove(&path);
                        repository.files.remove(&path);
                    }
                }
            }
        }
    }
}

/// Puts files back as they are in one commit, where git began to make them those of another.
async fn put_back(seat: &ProcessSeat, now: &str, team: &str) {
    let repository = &seat.world.repository;
    seat.count("files of the project were put back");
    let (changed, added) = repository.borrow().differences(now, team);
    let tree = repository.borrow().tree(team);
    for path in added {
        seat.boundary().await;
        // Only what git wrote, and not what somebody put in its place.
        if repository.borrow().files.get(&path) != tree.get(&path) {
            continue;
        }
        repository.borrow_mut().files.remove(&path);
        seat.tell(|| format!("removes {path}"));
    }
    seat.boundary().await;
    let mut repository = repository.borrow_mut();
    let index = repository.index.clone();
    let torn =
        changed.into_iter().filter_map(|path| Some((path.clone(), index.get(&path)?.clone())));
    repository.files.extend(torn.collect::<Tree>());
}
