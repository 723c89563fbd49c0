//! What teams left behind in folders and branches of their own.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use troop_app::surroundings::Surroundings;
use troop_model::{MemberName, TaskNumber, TeamId};
use troop_runtime::{
    Clock, GitError, Leftover, LeftoverState, Rescue, StrayWork, elsewhere, find_lead, leftovers,
    orphans, rescue,
};

use super::{Check, CheckState};
use crate::{
    leading::{Folders, ignored_lines},
    render,
    report::{Hint, HintCommand, quoted_path},
};

/// Who did the tasks of a team that are done and merged.
pub(super) type DoneTasks = BTreeMap<TaskNumber, MemberName>;

/// Whether what is left is only looked at, or brought to safety.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Care {
    Look,
    Rescue,
}

/// The folders and branches that teams left behind, each a thing to look at.
pub(super) async fn check(
    surroundings: &Surroundings,
    care: Care,
    done: &BTreeMap<TeamId, DoneTasks>,
) -> Vec<Check> {
    let mut checks = Vec::new();
    let environment = surroundings.environment.variables();
    let teams = entries(&surroundings.home.join("teams"));
    if surroundings.environment.find_program("git").is_none() {
        let has_any = teams.iter().any(|folder| !entries(&folder.join("worktrees")).is_empty());
        checks.extend(has_any.then(|| without_git(care)));
        checks.extend(aside(surroundings));
        return checks;
    }
    for folder in &teams {
        let id = folder.file_name().and_then(|name| name.to_str()?.parse().ok()).map(TeamId);
        let done = id.and_then(|id| done.get(&id));
        // What is in use is not left behind.
        if find_lead(folder).is_some() || Folders::are_taken(folder) {
            continue;
        }
        match found_in(folder, &environment).await {
            Ok((found, elsewhere)) => {
                for leftover in found {
                    let done_by = leftover.task.and_then(|task| done?.get(&task));
                    checks.push(one(&leftover, done_by, care, surroundings).await);
                }
                checks.extend(elsewhere);
            }
            Err(error) => checks.push(Check {
                name: "leftovers".to_owned(),
                state: CheckState::Bad,
                says: error.chain(),
                fix: Some(
                    format!("look at `{}`, and at the project of that team", folder.display())
                        .into(),
                ),
            }),
        }
    }
    // A project that cannot be looked at has nothing to show; what is wrong with git is said elsewhere.
    let orphans = orphans(&surroundings.project, &teams, &environment).await.unwrap_or_default();
    for orphan in &orphans {
        checks.push(one(orphan, None, care, surroundings).await);
    }
    checks.extend(aside(surroundings));
    checks
}

/// What the team of a folder left behind, and what its members put elsewhere.
async fn found_in(
    folder: &Path,
    environment: &[(OsString, OsString)],
) -> Result<(Vec<Leftover>, Vec<Check>), GitError> {
    let found = leftovers(folder, environment).await?;
    let (project, elsewhere) = elsewhere(folder, environment).await?;
    // A folder that is on such a branch is told of already.
    let is_new = |it: &&StrayWork| match it {
        StrayWork::Branch { branch, .. } => {
            !found.iter().any(|it| it.branch.as_ref() == Some(branch))
        }
        StrayWork::Stash { .. } => true,
    };
    let checks = elsewhere.iter().filter(is_new).map(|it| put_elsewhere(it, &project)).collect();
    Ok((found, checks))
}

/// What a member put where nobody merges it, and what to type.
fn put_elsewhere(elsewhere: &StrayWork, project: &Path) -> Check {
    let git = || HintCommand::other("git").word("-C").word(project.display());
    let (says, fix) = match elsewhere {
        StrayWork::Branch { member, branch } => {
            let shown = render::one_line(branch);
            (
                format!("work that {member} put on another branch: {shown}"),
                Hint::to("merge it", git().word("merge").word(branch)).and_to(
                    "; or ",
                    "drop it",
                    git().words(["branch", "-D", branch]),
                ),
            )
        }
        StrayWork::Stash { member, name } => (
            format!("work that {member} left in `git stash`: {name}"),
            Hint::to("see it", git().words(["stash", "show", "-p", name]))
                .and_to("; ", "apply it", git().words(["stash", "pop", name]))
                .and_to("; or ", "drop it", git().words(["stash", "drop", name])),
        ),
    };
    Check { name: "left behind".to_owned(), state: CheckState::Missing, says, fix: Some(fix) }
}

/// Nobody can tell what is in the folders.
fn without_git(care: Care) -> Check {
    Check {
        name: "left behind".to_owned(),
        state: if care == Care::Rescue { CheckState::Bad } else { CheckState::Missing },
        says: "the worktrees of teams cannot be checked, because `git` is not found".to_owned(),
        fix: Some(
            Hint::from("install it or add it to `PATH`")
                .then_to("check again", HintCommand::troop("doctor")),
        ),
    }
}

/// What was moved out of the way, and belongs to nobody any more.
fn aside(surroundings: &Surroundings) -> Vec<Check> {
    let check = |path: PathBuf| Check {
        name: "set aside".to_owned(),
        state: CheckState::Missing,
        says: format!("files that git could not keep, in {}", path.display()),
        fix: Some(Hint::from("move it where you want it").and_to(
            "; or ",
            "drop it",
            HintCommand::other("rm").word("-rf").word(path.display()),
        )),
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
) -> Check {
    let name = "left behind".to_owned();
    let mut says = describe(leftover);
    let is_merged = leftover.state == LeftoverState::Merged;
    if let (Some(task), Some(member), false) = (leftover.task, done_by, is_merged) {
        says.push_str(&format!("; {member} completed {task} without it"));
    }
    let Some(folder) = leftover.folder.as_ref().filter(|_| care == Care::Rescue) else {
        let fix = fix(leftover, done_by.is_some());
        return Check { name, state: CheckState::Missing, says, fix: Some(fix) };
    };
    match rescue(leftover, &surroundings.aside(), &surroundings.environment.variables()).await {
        Ok(Rescue { branch, aside, ignored }) => {
            let is_merged = branch.is_none() && aside.is_empty();
            let how = if is_merged { "removed" } else { "rescued" };
            let branch = branch.map(|branch| format!("; it is on `{branch}`")).unwrap_or_default();
            let aside = aside
                .iter()
                .map(|it| format!("; files that git cannot keep are in {}", it.display()));
            let ignored = ignored.iter().flat_map(ignored_lines).map(|line| format!("; {line}"));
            let besides: String = aside.chain(ignored).collect();
            Check::good(&name, format!("{how}: {says}{branch}{besides}"))
        }
        Err(error) => {
            let is_lost =
                matches!(leftover.state, LeftoverState::Lost { .. } | LeftoverState::Away);
            let fix = if is_lost {
                fix(leftover, false)
            } else {
                let git = |at: &Path| HintCommand::other("git").word("-C").word(at.display());
                let remove = git(&leftover.project).words(["worktree", "remove", "--force"]);
                Hint::to("see what is there", git(folder).word("status")).and_to(
                    "; ",
                    "if you need none of it",
                    remove.word(folder.display()),
                )
            };
            Check { name, state: CheckState::Bad, says: error.chain(), fix: Some(fix) }
        }
    }
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
        (_, None, None) => format!("look at `{}`", quoted_path(&leftover.project)).into(),
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
    let age = leftover.since.map(|since| format!(", {} old", render::span(now.since(since))));
    format!("{what} of {who}{task} in {place}{}", age.unwrap_or_default())
}
