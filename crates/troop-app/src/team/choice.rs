//! Which team a command is about when nobody names one.

use troop_protocol::TeamStanding;

/// The purpose of opening a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To look at it, or to change something in it.
    Use,
    /// To continue it.
    Resume,
    /// To delete it. Nobody should delete a team that was only guessed.
    Delete,
}

/// A team that a command could be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TeamCandidate {
    pub(super) standing: TeamStanding,
    /// Whether it was last led from this folder, or made here and never led.
    pub(super) is_here: bool,
}

/// Chooses one of several teams, the oldest first, and says why.
pub(super) fn choose(teams: &[TeamCandidate], purpose: Purpose) -> Option<(usize, &'static str)> {
    match purpose {
        Purpose::Use => to_use(teams),
        Purpose::Resume => {
            let is_open = |it: &TeamCandidate| it.is_here && it.standing != TeamStanding::Completed;
            let newest = newest(teams, is_open).or_else(|| newest(teams, |it| it.is_here));
            newest.map(|nth| (nth, NEWEST_HERE)).or_else(|| to_use(teams))
        }
        Purpose::Delete => None,
    }
}

const NEWEST_HERE: &str = "the newest of this folder";

fn to_use(teams: &[TeamCandidate]) -> Option<(usize, &'static str)> {
    let is_running = |it: &TeamCandidate| it.standing == TeamStanding::Running;
    if teams.iter().filter(|it| is_running(it) && it.is_here).count() > 1 {
        return None;
    }
    if let Some(nth) = newest(teams, |it| is_running(it) && it.is_here) {
        return Some((nth, "which runs in this folder"));
    }
    // A team that nobody has led yet may be for any folder.
    let is_new = |it: &TeamCandidate| it.standing == TeamStanding::Active;
    let only_new = || only(teams, is_new).map(|nth| (nth, "the only new one"));
    if teams.iter().any(|it| it.is_here) {
        // A command in the folder of one team must not reach a team that works elsewhere.
        let last = newest(teams, |it| it.is_here).and_then(|nth| teams.get(nth));
        if last.is_some_and(is_new) {
            return only(teams, |it| it.is_here && is_new(it))
                .map(|nth| (nth, "made in this folder"));
        }
        let newest = newest(teams, |it| it.is_here || is_new(it));
        let here = newest.filter(|&nth| teams.get(nth).is_some_and(|it| it.is_here));
        return here.map(|nth| (nth, NEWEST_HERE)).or_else(only_new);
    }
    let is_active = |it: &TeamCandidate| it.standing != TeamStanding::Completed;
    let running = only(teams, is_running).map(|nth| (nth, "the only running one"));
    let active = || only(teams, is_active).map(|nth| (nth, "the only active one"));
    running.or_else(only_new).or_else(active)
}

fn newest(teams: &[TeamCandidate], is_meant: impl Fn(&TeamCandidate) -> bool) -> Option<usize> {
    teams.iter().rposition(is_meant)
}

fn only(teams: &[TeamCandidate], is_meant: impl Fn(&TeamCandidate) -> bool) -> Option<usize> {
    let mut meant = teams.iter().enumerate().filter(|(_, it)| is_meant(it));
    let first = meant.next();
    first.filter(|_| meant.next().is_none()).map(|(nth, _)| nth)
}

#[cfg(test)]
mod tests;
