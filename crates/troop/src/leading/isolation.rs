//! Folders of teammates, for whoever leads a team from here: opened before it begins, brought home at its end.

use anyhow::Result;
use serde_json::{Value, json};
use troop_app::team::TeamDesk;
use troop_model::{TeamName, quoted};
use troop_runtime::{
    Board, GitError, IgnoredFiles, IsolationOptions, IsolationStart, Landing, LandingReport,
    LeadEnd, StrayWork, Worktrees,
};

use crate::{output::Printer, render, report::Refused};

/// How many names are in one line.
const MAX_NAMED: usize = 3;

/// What became of what a team made.
#[derive(Debug)]
pub(crate) struct TeamHarvest(LandingReport);

/// Opens the folders and branches of a team, unless it is to work in the project itself.
pub(super) async fn open(desk: &TeamDesk, board: &Board, is_new: bool) -> Result<IsolationStart> {
    let without = IsolationStart { isolation: None, notices: Vec::new() };
    let look = |state: &troop_model::State| {
        state.team().map(|team| (team.name.clone(), team.settings.isolation))
    };
    let Some((team, wanted)) = board.look(look).await? else { return Ok(without) };
    if wanted == troop_model::Isolation::None {
        return Ok(without);
    }
    let options = IsolationOptions {
        project: desk.surroundings.project.clone(),
        folder: desk.folder(board.team()),
        aside: desk.surroundings.aside(),
        team: team.clone(),
        environment: desk.surroundings.environment.variables(),
    };
    Worktrees::open(options).await.map_err(|error| cannot(&error, &team, is_new))
}

fn cannot(error: &GitError, team: &TeamName, is_new: bool) -> anyhow::Error {
    let message = format!("teammates cannot have their own worktrees: {}", error.chain());
    let without = match is_new {
        true => "work without them: `troop run GOAL --set isolation=none`".to_owned(),
        false => format!("work without them: `troop team set {team} isolation=none`"),
    };
    let first = match error {
        GitError::InTheWay { branch } => {
            format!("rename it: `git branch -m {branch} old-{branch}`; or ")
        }
        GitError::Filter { filter, .. } if filter == "lfs" => "install `git-lfs`; or ".to_owned(),
        GitError::Filter { .. } => "repair it, and see: `git add --renormalize .`; or ".to_owned(),
        GitError::NotStarted { .. }
        | GitError::Hangs { .. }
        | GitError::Failed { .. }
        | GitError::Nonsense { .. }
        | GitError::Torn { .. }
        | GitError::File { .. }
        | _ => String::new(),
    };
    let hint = format!("{first}{without}");
    Refused::new(message, hint).into()
}

/// Brings what the team made into the project, if the team is over.
pub(super) async fn land(
    isolation: Option<Worktrees>,
    ended: &LeadEnd,
    printer: &Printer,
) -> Option<TeamHarvest> {
    let is_over = matches!(ended, LeadEnd::Quiet | LeadEnd::Stopped { .. });
    let isolation = isolation.filter(|_| is_over)?;
    match isolation.land().await {
        Ok(ending) => Some(TeamHarvest(ending)),
        Err(error) => {
            let branch = isolation.branch();
            printer.warn(format!(
                "the team's work is on the branch `{branch}` and could not be merged here: {}",
                error.chain()
            ));
            None
        }
    }
}

impl TeamHarvest {
    /// What people should know about it, a line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        match &self.0.landed {
            Landing::Nothing => {}
            Landing::Merged { branch, n_commits } => {
                let (commits, are) =
                    if *n_commits == 1 { ("commit", "is") } else { ("commits", "are") };
                lines.push(format!("{n_commits} {commits} of the team {are} on `{branch}` now"));
            }
            Landing::Waits { branch, why, first, hint } => {
                let why = render::one_line(why);
                let then = match first {
                    Some(first) => format!("{first}, then: `{hint}`"),
                    None => format!("merge it: `{hint}`"),
                };
                lines.push(format!("the team's work is on `{branch}`, not merged: {why}; {then}"));
            }
        }
        for kept in &self.0.kept {
            let what = if kept.is_dirty { "uncommitted changes are" } else { "unmerged work is" };
            let member = &kept.member;
            let folder = kept.folder.display();
            lines.push(format!(
                "{what} kept in {member}'s worktree, {folder}; to keep only the branch: `troop doctor --rescue`"
            ));
        }
        lines.extend(self.0.ignored.iter().flat_map(ignored_lines));
        lines.extend(self.0.elsewhere.iter().map(elsewhere_line));
        lines
    }

    /// The same for programs.
    pub(crate) fn json(&self) -> Value {
        let landed = match &self.0.landed {
            Landing::Nothing => json!({"how": "nothing"}),
            Landing::Merged { branch, n_commits } => {
                json!({"how": "merged", "branch": branch, "commits": n_commits})
            }
            Landing::Waits { branch, why, first, hint } => {
                json!({"how": "waits", "branch": branch, "why": why, "first": first, "hint": hint})
            }
        };
        let kept = self.0.kept.iter().map(|it| {
            json!({
                "member": it.member, "folder": it.folder, "branch": it.branch, "dirty": it.is_dirty,
            })
        });
        let ignored = self.0.ignored.iter().map(
            |it| json!({"member": it.member, "folder": it.place, "kept": it.kept, "gone": it.gone}),
        );
        let (kept, ignored): (Vec<_>, Vec<_>) = (kept.collect(), ignored.collect());
        let elsewhere = self.0.elsewhere.iter().map(|it| match it {
            StrayWork::Branch { member, branch } => json!({"member": member, "branch": branch}),
            StrayWork::Stash { member, name } => json!({"member": member, "stash": name}),
        });
        let elsewhere: Vec<_> = elsewhere.collect();
        json!({"landed": landed, "kept": kept, "ignored": ignored, "elsewhere": elsewhere})
    }
}

/// What people should know of that which a member put where it is merged nowhere.
fn elsewhere_line(elsewhere: &StrayWork) -> String {
    match elsewhere {
        StrayWork::Branch { member, branch } => {
            let shown = render::one_line(branch);
            let typed = quoted(branch);
            format!(
                "not merged, because {member} put it on another branch: `{shown}`; merge it: `git merge {typed}`"
            )
        }
        StrayWork::Stash { member, name } => format!(
            "not merged, because {member} left it in `git stash`: `{name}`; see it: `git stash show -p {}`",
            quoted(name)
        ),
    }
}

/// What people should know of that which git ignored in a folder that is gone.
pub(crate) fn ignored_lines(ignored: &IgnoredFiles) -> Vec<String> {
    let IgnoredFiles { member, place, kept, gone } = ignored;
    let named = |names: &[String]| {
        let more = names.len().saturating_sub(MAX_NAMED);
        let mut named: Vec<_> = names.iter().take(MAX_NAMED).map(|it| format!("`{it}`")).collect();
        named.extend((more > 0).then(|| format!("{more} more")));
        render::one_line(&named.join(", "))
    };
    let mut lines = Vec::new();
    if !kept.is_empty() {
        lines.push(format!(
            "not merged, because git ignores it: {} of {member}; kept in {}",
            named(kept),
            place.display()
        ));
    }
    if !gone.is_empty() {
        lines.push(format!(
            "not merged, because git ignores it, and too large to be kept: {} of {member}; to keep such files, add them to git (`git add -f FILE`) or the workspace (`troop workspace write NAME FILE`)",
            named(gone)
        ));
    }
    lines
}
