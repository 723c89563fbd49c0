//! What teams left behind in folders and branches of their own.

use std::path::PathBuf;

use troop_model::{MemberName, TaskNumber};
use troop_runtime::{Clock, Leftover, LeftoverState, find_lead, leftovers, rescue};

use super::{Check, State};
use crate::{
    config::{self, Surroundings},
    render,
};

/// Whether what is left is only looked at, or brought to safety.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Care {
    Look,
    Rescue,
}

/// The folders and branches that teams left behind, each a thing to look at.
pub(super) async fn check(surroundings: &Surroundings, care: Care) -> Vec<Check> {
    let (mut checks, environment) = (Vec::new(), config::environment());
    for folder in teams(surroundings) {
        // What is in use is not left behind.
        if find_lead(&folder).is_some() {
            continue;
        }
        match leftovers(&folder, &environment).await {
            Ok(found) => {
                for leftover in found {
                    checks.push(one(&leftover, care).await);
                }
            }
            Err(error) => checks.push(Check {
                name: "leftovers".to_owned(),
                state: State::Bad,
                says: error.chain(),
                fix: Some(format!(
                    "look at `{}`, and at the project of that team",
                    folder.display()
                )),
            }),
        }
    }
    checks
}

fn teams(surroundings: &Surroundings) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(surroundings.home.join("teams"));
    let mut folders: Vec<_> =
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

async fn one(leftover: &Leftover, care: Care) -> Check {
    let name = "left behind".to_owned();
    let says = describe(leftover);
    let is_lost = matches!(leftover.state, LeftoverState::Lost { .. });
    if care == Care::Rescue && leftover.folder.is_some() && !is_lost {
        return match rescue(leftover, &config::environment()).await {
            Ok(Some(branch)) => Check::good(&name, format!("rescued: {says}; it is on `{branch}`")),
            Ok(None) => Check::good(&name, format!("removed: {says}")),
            Err(error) => {
                let place = leftover.folder.as_ref().unwrap_or(&leftover.project).display();
                let fix = format!("see what is there: `git -C {place} status`; then try again");
                Check { name, state: State::Bad, says: error.chain(), fix: Some(fix) }
            }
        };
    }
    Check { name, state: State::Missing, says, fix: Some(fix(leftover)) }
}

fn fix(leftover: &Leftover) -> String {
    let project = leftover.project.display();
    match (&leftover.state, &leftover.folder, &leftover.branch) {
        (LeftoverState::Lost { .. }, Some(folder), _) => {
            format!("look at it; if you do not need it: `rm -r {}`", folder.display())
        }
        (_, Some(_), _) => "commit it and keep only its branch: `troop doctor --rescue`".to_owned(),
        (_, None, Some(branch)) => format!(
            "take it: `git -C {project} merge {branch}`; or drop it: `git -C {project} branch -D {branch}`"
        ),
        (_, None, None) => format!("look at `{project}`"),
    }
}

fn describe(leftover: &Leftover) -> String {
    let what = match &leftover.state {
        LeftoverState::Dirty => "changes that are not committed".to_owned(),
        LeftoverState::Unmerged => "unmerged work".to_owned(),
        LeftoverState::Merged => "a folder whose work is merged".to_owned(),
        LeftoverState::Waiting => "results that are not in the project".to_owned(),
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
