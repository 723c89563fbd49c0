//! The names of branches and folders.
//!
//! A team's branch is `troop/TEAM`, and members work on `troop-work/TEAM/MEMBER/task-N`: git keeps branches like files, so that
//! no branch may be the folder of another, whatever teams are called.

use std::path::{Path, PathBuf};

use troop_model::{MemberName, TaskNumber, TeamName};

/// Where the branches of teams begin.
const TEAMS: &str = "troop";
/// Where the branches of members begin.
const WORK: &str = "troop-work";

/// Names that no branch may have, because all branches of troop are below them.
pub(super) const ROOTS: [&str; 2] = [TEAMS, WORK];

/// The branch of a team; the `nth` try, if others have that name.
pub fn team_branch(team: &TeamName, nth: u32) -> String {
    let team = written(team.as_str());
    if nth > 1 { format!("{TEAMS}/{team}+{nth}") } else { format!("{TEAMS}/{team}") }
}

/// The prefix of the branches of a team's members, named after the team's branch, which no other team has.
pub(super) fn work_branches(team_branch: &str) -> String {
    let team = team_branch.split_once('/').map_or(team_branch, |(_, team)| team);
    format!("{WORK}/{team}")
}

/// The branch on which a member works on a task.
pub fn task_branch(
    team_branch: &str,
    member: &MemberName,
    task: TaskNumber,
    attempt: u32,
) -> String {
    let begin = work_branches(team_branch);
    let member = written(member.as_str());
    let nth = if attempt > 1 { format!("-{attempt}") } else { String::new() };
    format!("{begin}/{member}/{task}{nth}")
}

/// The prefix of the branches of one member.
pub(super) fn branches_of(team_branch: &str, member: &MemberName) -> String {
    format!("{}/{}", work_branches(team_branch), written(member.as_str()))
}

/// The branch for what a member did without a task.
pub(super) fn loose_branch(team_branch: &str, member: &MemberName) -> String {
    format!("{}/{}/without-task", work_branches(team_branch), written(member.as_str()))
}

/// The branch for work that was found in a member's folder on no branch.
pub(super) fn rescued(team_branch: &str, member: Option<&MemberName>) -> String {
    let member = member.map_or("somebody", MemberName::as_str);
    format!("{}/{}/rescued", work_branches(team_branch), written(member))
}

/// The name of something of a member that is moved out of the way.
pub(super) fn aside(team_branch: &str, member: &MemberName, what: &str) -> String {
    let team = team_branch.split_once('/').map_or(team_branch, |(_, team)| team);
    let what = what.replace('/', "-");
    format!("{}-{}{what}", written(team), written(member.as_str()))
}

/// The reference for what was handed in for a task. It is no branch, so that nobody works on it.
pub fn handed_in(team_branch: &str, task: TaskNumber) -> String {
    format!("refs/{}/{task}", work_branches(team_branch))
}

/// The task that a branch is for.
pub(super) fn task_of(branch: &str) -> Option<TaskNumber> {
    let last = branch.rsplit('/').next()?.strip_prefix("task-")?;
    let digits = last.split(['-', '+']).next()?;
    digits.parse().ok().map(TaskNumber)
}

/// The attempt that a branch is for.
pub(super) fn attempt_of(branch: &str) -> u32 {
    let last = branch.rsplit('/').next().and_then(|it| it.strip_prefix("task-"));
    let name = last.and_then(|it| it.split('+').next());
    let nth = name.and_then(|it| it.split_once('-')?.1.parse().ok());
    nth.unwrap_or(1)
}

/// The branch of the team that a branch belongs to.
pub(super) fn team_of(branch: &str) -> Option<String> {
    let mut parts = branch.split('/');
    let is_ours = matches!(parts.next(), Some(TEAMS | WORK));
    parts.next().filter(|_| is_ours).map(|team| format!("{TEAMS}/{team}"))
}

/// The member whose branch it is.
pub(super) fn member_of(branch: &str) -> Option<MemberName> {
    let rest = branch.strip_prefix(WORK)?.strip_prefix('/')?;
    rest.split('/').nth(1)?.replace('=', ".").parse().ok()
}

/// The full name of a branch.
pub fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// Whether a branch has the wanted name, or one that was chosen because that was taken.
pub(super) fn is_named(branch: &str, wanted: &str) -> bool {
    branch.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
}

/// Whether a branch belongs to a member of a team.
pub(super) fn is_work_of(branch: &str, team_branch: &str) -> bool {
    branch.starts_with(&format!("{}/", work_branches(team_branch)))
}

/// The folder of a member.
pub(super) fn folder(worktrees: &Path, member: &MemberName) -> PathBuf {
    worktrees.join(member.as_str())
}

/// A name as a part of a branch: git has rules about dots, and no name in troop has an equals sign.
fn written(name: &str) -> String {
    name.replace('.', "=")
}
