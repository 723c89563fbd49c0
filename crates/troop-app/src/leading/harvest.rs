//! The members' worktrees: opened before a team begins; at its end, its work lands in the project.

use std::path::Path;

use serde_json::{Value, json};
use troop_model::{Hint, HintCommand, Isolation, State, TeamName, with_causes};
use troop_runtime::{
    Board, GitError, IgnoredFiles, IsolationOptions, IsolationStart, KeptFolder, Landing,
    LandingReport, LeadEnd, StrayWork, Worktrees,
};

use crate::{Error, Result, team::TeamDesk, text::one_line};

/// How many names are in one line.
const MAX_NAMED: usize = 3;

/// The outcome for a team's work at its end.
#[derive(Debug)]
pub enum TeamHarvest {
    /// The members worked in the project itself, or the team is not over.
    Nothing,
    Landed(LandingReport),
    /// Git refused to bring it home.
    Failed {
        branch: String,
        reason: String,
    },
}

/// Opens the worktrees of a team, unless it works in the project itself.
pub(super) async fn open_worktrees(
    desk: &TeamDesk,
    board: &Board,
    is_new: bool,
) -> Result<IsolationStart> {
    let look = |state: &State| {
        let team = state.team().filter(|it| it.settings.isolation.place != Isolation::None)?;
        Some(team.name.clone())
    };
    let Some(team) = board.look(look).await? else {
        return Ok(IsolationStart { isolation: None, notices: Vec::new() });
    };
    let options = IsolationOptions {
        project: desk.surroundings.project.clone(),
        folder: desk.folder(board.team()),
        aside: desk.surroundings.aside(),
        team: team.clone(),
        environment: desk.surroundings.environment.variables(),
    };
    Worktrees::open(options).await.map_err(|error| no_worktrees(&error, &team, is_new))
}

fn no_worktrees(error: &GitError, team: &TeamName, is_new: bool) -> Error {
    let message = format!("teammates cannot have their own worktrees: {}", with_causes(error));
    let without = match is_new {
        true => HintCommand::troop("run").blank("GOAL").word("--set"),
        false => HintCommand::troop("team set").team(team),
    };
    let first = match error {
        GitError::InTheWay { branch } => {
            let rename = HintCommand::other("git").words(["branch", "-m", branch]);
            Hint::to("rename it", rename.word(format!("old-{branch}"))).and("; or ")
        }
        GitError::Filter { filter, .. } if filter == "lfs" => "install `git-lfs`; or ".into(),
        GitError::Filter { .. } => {
            let add = HintCommand::other("git").words(["add", "--renormalize", "."]);
            Hint::from("repair it, and ").and_to("", "see", add).and("; or ")
        }
        GitError::Locked { .. } => error.hint().map(|it| it.and("; or ")).unwrap_or_default(),
        GitError::NotStarted { .. }
        | GitError::Hangs { .. }
        | GitError::Failed { .. }
        | GitError::Killed { .. }
        | GitError::Nonsense { .. }
        | GitError::Torn { .. }
        | GitError::File { .. }
        | _ => Hint::default(),
    };
    let hint = first.and_to("", "work without them", without.word("isolation=none"));
    Error::refused(message, hint)
}

/// Brings the team's work into the project, if the team is over.
pub(super) async fn land(isolation: Option<Worktrees>, ended: &LeadEnd) -> TeamHarvest {
    let is_over = matches!(ended, LeadEnd::Quiet | LeadEnd::Stopped { .. });
    let Some(isolation) = isolation.filter(|_| is_over) else { return TeamHarvest::Nothing };
    match isolation.land().await {
        Ok(report) => TeamHarvest::Landed(report),
        Err(error) => {
            TeamHarvest::Failed { branch: isolation.branch().to_owned(), reason: error.chain() }
        }
    }
}

impl TeamHarvest {
    /// The warning, if the work could not be merged into the project.
    #[must_use]
    pub fn warning(&self) -> Option<Hint> {
        let Self::Failed { branch, reason } = self else { return None };
        let text = format!(
            "the team's work is on the branch `{branch}` and could not be merged here: {reason}"
        );
        Some(text.into())
    }

    /// Notes for people, a line each, with hints.
    #[must_use]
    pub fn notes(&self) -> Vec<Hint> {
        let Self::Landed(report) = self else { return Vec::new() };
        let landed = match &report.landed {
            Landing::Nothing => None,
            Landing::Merged { branch, n_commits: 1 } => {
                Some(format!("1 commit of the team is on `{branch}` now").into())
            }
            Landing::Merged { branch, n_commits } => {
                Some(format!("{n_commits} commits of the team are on `{branch}` now").into())
            }
            Landing::Waits { branch, why, first, .. } => {
                let why = one_line(why);
                let note =
                    Hint::from(format!("the team's work is on `{branch}`, not merged: {why}; "));
                Some(match first {
                    Some(first) => {
                        note.and_hint(first.clone()).and(", then: ").and_run(merge(branch))
                    }
                    None => note.and_to("", "merge it", merge(branch)),
                })
            }
        };
        let kept = report.kept.iter().map(kept_note);
        let ignored = report.ignored.iter().flat_map(ignored_notes);
        let elsewhere = report.elsewhere.iter().map(elsewhere_note);
        let locked = report.locked.as_deref().map(locked_note);
        landed.into_iter().chain(kept).chain(ignored).chain(elsewhere).chain(locked).collect()
    }

    /// The outcome as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let Self::Landed(report) = self else { return Value::Null };
        let landed = match &report.landed {
            Landing::Nothing => json!({"how": "nothing"}),
            Landing::Merged { branch, n_commits } => {
                json!({"how": "merged", "branch": branch, "commits": n_commits})
            }
            Landing::Waits { branch, why, first, hint } => {
                let first = first.as_ref().map(ToString::to_string);
                json!({"how": "waits", "branch": branch, "why": why, "first": first, "hint": hint})
            }
        };
        let kept = report.kept.iter().map(|it| {
            json!({
                "member": it.member, "folder": it.folder, "branch": it.branch, "dirty": it.is_dirty,
            })
        });
        let ignored = report.ignored.iter().map(
            |it| json!({"member": it.member, "folder": it.place, "kept": it.kept, "gone": it.gone}),
        );
        let elsewhere = report.elsewhere.iter().map(|it| match it {
            StrayWork::Branch { member, branch } => json!({"member": member, "branch": branch}),
            StrayWork::Stash { member, name } => json!({"member": member, "stash": name}),
        });
        json!({
            "landed": landed,
            "kept": kept.collect::<Vec<_>>(),
            "ignored": ignored.collect::<Vec<_>>(),
            "elsewhere": elsewhere.collect::<Vec<_>>(),
            "locked": report.locked,
        })
    }
}

fn merge(branch: &str) -> HintCommand {
    HintCommand::other("git").word("merge").word(branch)
}

fn kept_note(kept: &KeptFolder) -> Hint {
    let KeptFolder { member, folder, is_dirty, .. } = kept;
    let what = if *is_dirty { "uncommitted changes are" } else { "unmerged work is" };
    let text = format!("{what} kept in {member}'s worktree, {}", folder.display());
    let rescue = HintCommand::troop("doctor").word("--rescue");
    Hint::from(text).and_to("; ", "to keep only the branch", rescue)
}

/// A lock because of which merged branches stay.
fn locked_note(lock: &Path) -> Hint {
    let shown = lock.display();
    let text = format!(
        "merged branches stay, because another git command has `{shown}`, or left it when it was killed"
    );
    let remove = HintCommand::other("rm").word(lock.to_string_lossy());
    Hint::from(text).and_to("; ", "if no git runs there", remove)
}

/// Work that a member put where nothing merges it.
fn elsewhere_note(elsewhere: &StrayWork) -> Hint {
    match elsewhere {
        StrayWork::Branch { member, branch } => {
            let shown = one_line(branch);
            let text = format!("not merged, because {member} put it on another branch: `{shown}`");
            Hint::from(text).and_to("; ", "merge it", merge(branch))
        }
        StrayWork::Stash { member, name } => {
            let text = format!("not merged, because {member} left it in `git stash`: `{name}`");
            let show = HintCommand::other("git").words(["stash", "show", "-p", name]);
            Hint::from(text).and_to("; ", "see it", show)
        }
    }
}

/// The note about files that git ignored in a worktree that was removed.
#[must_use]
pub fn ignored_notes(ignored: &IgnoredFiles) -> Vec<Hint> {
    let IgnoredFiles { member, place, kept, gone } = ignored;
    let named = |names: &[String]| {
        let more = names.len().saturating_sub(MAX_NAMED);
        let mut named: Vec<_> = names.iter().take(MAX_NAMED).map(|it| format!("`{it}`")).collect();
        named.extend((more > 0).then(|| format!("{more} more")));
        one_line(&named.join(", "))
    };
    let mut notes = Vec::new();
    if !kept.is_empty() {
        let files = named(kept);
        let place = place.display();
        notes.push(Hint::from(format!(
            "not merged, because git ignores it: {files} of {member}; kept in {place}"
        )));
    }
    if !gone.is_empty() {
        let files = named(gone);
        let text = format!(
            "not merged, because git ignores it, and too large to be kept: {files} of {member}; to keep such files, add them to git ("
        );
        let add = HintCommand::other("git").words(["add", "-f"]).blank("FILE");
        let write = HintCommand::troop("workspace write").blank("NAME").blank("FILE");
        let hint = Hint::from(text).and_run(add).and(") or the workspace (").and_run(write);
        notes.push(hint.and(")"));
    }
    notes
}

#[cfg(test)]
mod tests;
