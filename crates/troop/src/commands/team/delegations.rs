//! `troop team delegations`, and TEAM.md

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::Result;
use serde_json::{Value, json};
use troop_agent::Definition;
use troop_app::{surroundings::Surroundings, team::TeamDesk};
use troop_model::{
    ActorKind, Delegation, DelegationStatus, DelegationView, Member, State, Time, team_md,
};
use troop_protocol::TeamStanding;
use troop_runtime::Board;

use crate::{output::Printer, render};

/// How many characters of an id are shown at least.
const SHORT: usize = 8;

/// The delegations at hand, oldest first.
pub(super) async fn list(name: Option<&str>, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team(name).await?;
    if printer.json {
        let all: Vec<Value> = board.look(all_json).await??;
        return printer.json(&json!({ "delegations": all }));
    }
    let now = desk.clock.now();
    let standing = desk.standing(&board).await?;
    let several = DelegationsView::new(desk, &board);
    let rows: Vec<_> = board
        .look(move |state| {
            let all = oldest_first(state);
            let ids: Vec<_> = all.iter().map(|it| it.id.to_string()).collect();
            let n_chars = short(&ids);
            all.into_iter().map(|it| row(state, it, n_chars, (standing, now, &several))).collect()
        })
        .await?;
    if rows.is_empty() {
        return printer.text("no delegations\n");
    }
    let header = ["BEGAN", "TASK", "TO", "STATUS", "TOOK", "DELEGATION", "RESULT"];
    printer.text(&render::table(&header, &rows, printer.width()))
}

/// Who may be at several delegations at once.
struct DelegationsView {
    /// The agents that are programs of others.
    programs: BTreeSet<String>,
    /// Where members have folders of their own, which are for one task at a time.
    folders: PathBuf,
}

impl DelegationsView {
    fn new(desk: &TeamDesk, board: &Board) -> Self {
        let Surroundings { project, home, .. } = &desk.surroundings;
        let described = Definition::read_all(&Definition::folders(project, Some(home)));
        let programs = described.into_iter().filter(|it| !it.program.is_empty());
        let programs = programs.map(|it| it.key).collect();
        Self { programs, folders: desk.folder(board.team()).join("worktrees") }
    }

    fn are_given_to(&self, member: &Member) -> bool {
        let has_folder = || self.folders.join(member.name.as_str()).is_dir();
        member.is_external() || self.programs.contains(member.agent.as_str()) && !has_folder()
    }
}

fn oldest_first(state: &State) -> Vec<&Delegation> {
    let mut all: Vec<_> = state.delegations().collect();
    all.sort_by_key(|it| (it.started_at, it.id));
    all
}

fn all_json(state: &State) -> serde_json::Result<Vec<Value>> {
    let views = oldest_first(state).into_iter().map(|it| DelegationView::new(state, it));
    views.map(serde_json::to_value).collect()
}

/// How many characters of each id tell it from the others; `troop log --delegation` takes as few.
fn short(ids: &[String]) -> usize {
    let beginnings = |n_chars: usize| {
        ids.iter().map(|id| id.chars().take(n_chars).collect::<String>()).collect::<BTreeSet<_>>()
    };
    let all = ids.iter().collect::<BTreeSet<_>>().len();
    (SHORT..).find(|n_chars| beginnings(*n_chars).len() == all).unwrap_or(SHORT)
}

fn row(
    state: &State,
    delegation: &Delegation,
    n_chars: usize,
    look: (TeamStanding, Time, &DelegationsView),
) -> Vec<String> {
    let (standing, now, several) = look;
    let is_running = delegation.status == DelegationStatus::Running;
    // Without a lead no process runs; who was said to run when it died had begun.
    let had_begun = state.member(&delegation.to).is_some_and(Member::is_running);
    // A member works on one after the other, unless it is a program of others that is given all of them.
    let is_before = |it: &&Delegation| {
        let is_open = it.status == DelegationStatus::Running && it.to == delegation.to;
        is_open && (it.started_at, it.id) < (delegation.started_at, delegation.id)
    };
    let takes_several = state.member(&delegation.to).is_some_and(|it| several.are_given_to(it));
    let is_queued = is_running && !takes_several && state.delegations().any(|it| is_before(&it));
    let (status, took) = match (is_running, standing) {
        (true, TeamStanding::Running) if is_queued => ("waiting".to_owned(), None),
        (true, TeamStanding::Running) => {
            ("running".to_owned(), Some(render::took(now.since(delegation.started_at))))
        }
        (true, _) if had_begun => ("cut short".to_owned(), None),
        (true, _) => ("waiting".to_owned(), None),
        (false, _) => (delegation.status.to_string(), render::delegation_took(delegation)),
    };
    vec![
        render::moment(delegation.started_at),
        delegation.task.to_string(),
        delegation.to.to_string(),
        status,
        took.unwrap_or_default(),
        delegation.id.to_string().chars().take(n_chars).collect(),
        render::one_line(delegation.result.as_deref().unwrap_or_default()),
    ]
}

/// TEAM.md as the acting member's agent has it; a person is shown the lead's.
pub(super) async fn show_team_md(
    name: Option<&str>,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let actor = desk.actor()?;
    let reader = if actor.kind == ActorKind::Agent { actor.name } else { "lead".into() };
    let board = desk.team(name).await?;
    let text = board
        .look(move |state| state.find_member(&reader).map(|it| team_md(state, it.name.as_str())))
        .await??;
    if printer.json {
        return printer.json(&json!({ "team_md": text }));
    }
    printer.text(&render::clean(&text))
}

#[cfg(test)]
mod tests {
    //! Short ids.

    use super::short;

    #[test]
    fn ids_are_as_short_as_they_can_be_told_apart() {
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(short(&ids(&[])), 8);
        assert_eq!(short(&ids(&["01a1e35d-441c", "12345678-441c"])), 8);
        assert_eq!(short(&ids(&["01a1e35d-441c", "01a1e35d-4420"])), 12);
    }
}
