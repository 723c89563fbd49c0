//! Leftovers of teams in worktrees and branches.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use troop_model::{Hint, HintCommand, MemberName, TaskNumber, TeamId};
use troop_runtime::{
    Clock, GitError, Leftover, LeftoverState, Rescue, StrayWork, elsewhere, find_lead, git_locks,
    leftovers, orphans, rescue,
};

use super::{Care, Checkup, DoneTasks, Health};
use crate::{
    leading::{Folders, ignored_notes},
    surroundings::Surroundings,
    text::{one_line, span},
};

const LEFT_BEHIND: &str = "left behind";

/// The worktrees and branches that teams left behind. With [`Care::Rescue`], worktrees become branches.
pub(super) async fn check(
    surroundings: &Surroundings,
    care: Care,
    done: &BTreeMap<TeamId, DoneTasks>,
) -> Vec<Checkup> {
    let mut found = Vec::new();
    let environment = surroundings.environment.variables();
    let teams = entries(&surroundings.home.join("teams"));
    if surroundings.environment.find_program("git").is_none() {
        let has_any = teams.iter().any(|folder| !entries(&folder.join("worktrees")).is_empty());
        found.extend(has_any.then(|| without_git(care)));
        found.extend(aside(surroundings));
        return found;
    }
    for folder in &teams {
        let id = folder.file_name().and_then(|name| name.to_str()?.parse().ok()).map(TeamId);
        let done = id.and_then(|id| done.get(&id));
        // A folder that is in use is not left behind.
        if find_lead(folder).is_some() || Folders::are_taken(folder) {
            continue;
        }
        match TeamLeftovers::find(folder, &environment).await {
            Ok(TeamLeftovers { worktrees, stray }) => {
                for leftover in worktrees {
                    let done_by = leftover.task.and_then(|task| done?.get(&task));
                    found.push(one(&leftover, done_by, care, surroundings).await);
                }
                found.extend(stray);
            }
            Err(error) => {
                let folder = folder.display();
                let fix = format!("look at `{folder}`, and at the project of that team");
                found.push(Checkup::bad("leftovers", error.chain()).with_fix(fix));
            }
        }
    }
    // If the project cannot be checked, the check of git says why.
    let orphans = orphans(&surroundings.project, &teams, &environment).await.unwrap_or_default();
    for orphan in &orphans {
        found.push(one(orphan, None, care, surroundings).await);
    }
    let locks = git_locks(&surroundings.project, &teams, &environment).await.unwrap_or_default();
    found.extend(locks.iter().map(|lock| left_lock(lock)));
    found.extend(aside(surroundings));
    found
}

/// A lock blocks all git commands that need it, of troop and of people.
fn left_lock(lock: &Path) -> Checkup {
    let path = lock.display();
    let says = format!("the lock `{path}`, which a git command has, or left when it was killed");
    let remove = HintCommand::other("rm").word(&path);
    Checkup::bad(LEFT_BEHIND, says).with_fix(Hint::to("if no git runs there, remove it", remove))
}

/// The leftovers of one team.
struct TeamLeftovers {
    worktrees: Vec<Leftover>,
    /// Work that members put where nothing merges it.
    stray: Vec<Checkup>,
}

impl TeamLeftovers {
    async fn find(folder: &Path, environment: &[(OsString, OsString)]) -> Result<Self, GitError> {
        let worktrees = leftovers(folder, environment).await?;
        let (project, elsewhere) = elsewhere(folder, environment).await?;
        // A worktree on such a branch is in the list already.
        let is_new = |it: &&StrayWork| match it {
            StrayWork::Branch { branch, .. } => {
                !worktrees.iter().any(|it| it.branch.as_ref() == Some(branch))
            }
            StrayWork::Stash { .. } => true,
        };
        let stray = elsewhere.iter().filter(is_new).map(|it| stray(it, &project)).collect();
        Ok(Self { worktrees, stray })
    }
}

/// Work that a member put where nothing merges it.
fn stray(work: &StrayWork, project: &Path) -> Checkup {
    let git = || HintCommand::other("git").word("-C").word(project.display());
    match work {
        StrayWork::Branch { member, branch } => {
            let says = format!("work that {member} put on another branch: {}", one_line(branch));
            let drop = git().words(["branch", "-D", branch]);
            let fix = Hint::to("merge it", git().word("merge").word(branch));
            Checkup::missing(LEFT_BEHIND, says).with_fix(fix.and_to("; or ", "drop it", drop))
        }
        StrayWork::Stash { member, name } => {
            let says = format!("work that {member} left in `git stash`: {name}");
            let fix = Hint::to("see it", git().words(["stash", "show", "-p", name]))
                .and_to("; ", "apply it", git().words(["stash", "pop", name]))
                .and_to("; or ", "drop it", git().words(["stash", "drop", name]));
            Checkup::missing(LEFT_BEHIND, says).with_fix(fix)
        }
    }
}

/// Without git, nobody can tell what is in the worktrees.
fn without_git(care: Care) -> Checkup {
    let health = if care == Care::Rescue { Health::Bad } else { Health::Missing };
    let says = "the worktrees of teams cannot be checked, because `git` is not found";
    let fix = Hint::from("install it or add it to `PATH`")
        .then_to("check again", HintCommand::troop("doctor"));
    Checkup::new(LEFT_BEHIND, health, says).with_fix(fix)
}

/// Files that were moved out of the way and no longer belong to a team.
fn aside(surroundings: &Surroundings) -> Vec<Checkup> {
    let check = |path: PathBuf| {
        let path = path.display();
        let remove = HintCommand::other("rm").word("-rf").word(&path);
        let fix = Hint::from("move it where you want it").and_to("; or ", "drop it", remove);
        let says = format!("files that git could not keep, in {path}");
        Checkup::missing("set aside", says).with_fix(fix)
    };
    entries(&surroundings.aside()).into_iter().map(check).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder);
    let mut paths: Vec<_> =
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

async fn one(
    leftover: &Leftover,
    done_by: Option<&MemberName>,
    care: Care,
    surroundings: &Surroundings,
) -> Checkup {
    let mut says = describe(leftover);
    let is_merged = leftover.state == LeftoverState::Merged;
    if let (Some(task), Some(member), false) = (leftover.task, done_by, is_merged) {
        says.push_str(&format!("; {member} completed {task} without it"));
    }
    let Some(folder) = leftover.folder.as_ref().filter(|_| care == Care::Rescue) else {
        let fix = fix(leftover, done_by.is_some());
        return Checkup::missing(LEFT_BEHIND, says).with_fix(fix);
    };
    match rescue(leftover, &surroundings.aside(), &surroundings.environment.variables()).await {
        Ok(rescued) => Checkup::good(LEFT_BEHIND, describe_rescue(&rescued, &says)),
        Err(error) => {
            let is_lost =
                matches!(leftover.state, LeftoverState::Lost { .. } | LeftoverState::Away);
            let fix = if is_lost { fix(leftover, false) } else { by_hand(leftover, folder) };
            Checkup::bad(LEFT_BEHIND, error.chain()).with_fix(fix)
        }
    }
}

fn describe_rescue(rescued: &Rescue, says: &str) -> String {
    let Rescue { branch, aside, ignored } = rescued;
    let is_merged = branch.is_none() && aside.is_empty();
    let how = if is_merged { "removed" } else { "rescued" };
    let branch = branch.iter().map(|branch| format!("; it is on `{branch}`"));
    let aside =
        aside.iter().map(|it| format!("; files that git cannot keep are in {}", it.display()));
    let ignored = ignored.iter().flat_map(ignored_notes).map(|note| format!("; {note}"));
    let besides: String = branch.chain(aside).chain(ignored).collect();
    format!("{how}: {says}{besides}")
}

/// The hint for a worktree that cannot be rescued.
fn by_hand(leftover: &Leftover, folder: &Path) -> Hint {
    let git = |at: &Path| HintCommand::other("git").word("-C").word(at.display());
    let remove = git(&leftover.project).words(["worktree", "remove", "--force"]);
    Hint::to("see what is there", git(folder).word("status")).and_to(
        "; ",
        "if you need none of it",
        remove.word(folder.display()),
    )
}

fn fix(leftover: &Leftover, is_done_without: bool) -> Hint {
    let project = leftover.project.display();
    let git = || HintCommand::other("git").word("-C").word(&project);
    let rescue = || HintCommand::troop("doctor").word("--rescue");
    let remove = |folder: &Path| HintCommand::other("rm").word("-r").word(folder.display());
    match (&leftover.state, &leftover.folder, &leftover.branch) {
        (LeftoverState::Away, Some(folder), _) => Hint::from("move the project back, or run ")
            .and_run(HintCommand::troop("resume").blank("TEAM"))
            .and(" where it is now; if it is gone for good, take what you need, then: ")
            .and_run(remove(folder)),
        (LeftoverState::Lost { .. }, Some(folder), _) => {
            Hint::from("look at it").and_to("; ", "if you do not need it", remove(folder))
        }
        (LeftoverState::Unmerged, Some(folder), Some(branch)) if is_done_without => {
            let folder = folder.display().to_string();
            let drop = git().words(["worktree", "remove", &folder]).blank("&&");
            let drop = drop.words(["git", "-C"]).word(&project).words(["branch", "-D", branch]);
            Hint::to("drop it", drop).and_to("; or ", "keep only its branch", rescue())
        }
        (_, Some(_), _) => Hint::to("commit it and keep only its branch", rescue()),
        (_, None, Some(branch)) => {
            let take = git().word("merge").word(branch);
            let drop = git().words(["branch", "-D", branch]);
            match is_done_without {
                true => Hint::to("drop it", drop).and_to("; or ", "merge it anyway", take),
                false => Hint::to("merge it", take).and_to("; or ", "drop it", drop),
            }
        }
        (_, None, None) => format!("look at `{project}`").into(),
    }
}

fn describe(leftover: &Leftover) -> String {
    let what = match &leftover.state {
        LeftoverState::Dirty => "uncommitted changes".to_owned(),
        LeftoverState::Unmerged => "unmerged work".to_owned(),
        LeftoverState::Merged => "a folder whose work is merged".to_owned(),
        LeftoverState::Waiting => "results not merged into the project".to_owned(),
        LeftoverState::Orphaned => "unmerged work, in a team that no longer exists,".to_owned(),
        LeftoverState::Away => {
            format!("a folder whose project, {}, is missing:", leftover.project.display())
        }
        LeftoverState::Replaced => "a folder turned into its own repository,".to_owned(),
        LeftoverState::Lost { says } => format!("a folder that git does not know: {says}"),
    };
    let nobody = if leftover.state == LeftoverState::Waiting { "the team" } else { "somebody" };
    let who = leftover.member.as_ref().map_or(nobody, MemberName::as_str);
    let task = leftover.task.map(|TaskNumber(task)| format!(" on task-{task}")).unwrap_or_default();
    let place = match (&leftover.folder, &leftover.branch) {
        (Some(folder), Some(branch)) => format!("{} (branch {branch})", folder.display()),
        (Some(folder), None) => folder.display().to_string(),
        (None, branch) => format!("branch {}", branch.as_deref().unwrap_or("unknown")),
    };
    let now = Clock::system().now();
    let age = leftover.since.map(|since| format!(", {} old", span(now.since(since))));
    format!("{what} of {who}{task} in {place}{}", age.unwrap_or_default())
}
