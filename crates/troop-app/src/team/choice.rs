//! Which team a command is about when nobody names one.

use troop_protocol::TeamStanding;

/// What somebody wants a team for.
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
mod tests {
    //! Guesses that people would make too.

    use super::{
        Purpose, TeamCandidate, TeamStanding,
        TeamStanding::{Active, Completed, Running, Stopped},
        choose,
    };

    const HERE: bool = true;
    const ELSEWHERE: bool = false;

    #[track_caller]
    fn check(teams: &[(TeamStanding, bool)], to_use: Option<usize>, to_resume: Option<usize>) {
        let teams: Vec<_> =
            teams.iter().map(|&(standing, is_here)| TeamCandidate { standing, is_here }).collect();
        let chosen = |purpose| choose(&teams, purpose).map(|(nth, _)| nth);
        assert_eq!(chosen(Purpose::Use), to_use, "to use");
        assert_eq!(chosen(Purpose::Resume), to_resume, "to resume");
        assert_eq!(chosen(Purpose::Delete), None, "nothing is deleted on a guess");
    }

    #[test]
    fn the_team_of_this_folder_is_meant_before_what_runs_elsewhere() {
        check(&[(Completed, ELSEWHERE), (Running, HERE)], Some(1), Some(1));
        check(&[(Completed, HERE), (Running, ELSEWHERE)], Some(0), Some(0));
        check(&[(Completed, ELSEWHERE), (Running, ELSEWHERE)], Some(1), Some(1));
        check(&[(Completed, HERE), (Running, ELSEWHERE), (Active, ELSEWHERE)], Some(2), Some(0));
        check(&[(Running, HERE), (Completed, HERE)], Some(0), Some(0));
        check(&[(Stopped, HERE), (Running, ELSEWHERE), (Running, ELSEWHERE)], Some(0), Some(0));
        check(&[(Running, ELSEWHERE), (Running, HERE)], Some(1), Some(1));
        check(&[(Running, HERE), (Running, HERE)], None, Some(1));
    }

    #[test]
    fn of_what_ran_in_this_folder_the_newest_is_meant() {
        check(&[(Stopped, ELSEWHERE), (Completed, HERE), (Completed, HERE)], Some(2), Some(2));
        check(&[(Stopped, HERE), (Completed, HERE)], Some(1), Some(0));
        check(&[(Active, ELSEWHERE), (Completed, HERE)], Some(1), Some(1));
        check(&[(Completed, HERE), (Active, ELSEWHERE)], Some(1), Some(0));
    }

    #[test]
    fn one_that_was_made_here_is_meant_before_what_runs_or_was_made_elsewhere() {
        check(&[(Running, ELSEWHERE), (Active, HERE)], Some(1), Some(1));
        check(&[(Active, HERE), (Active, ELSEWHERE), (Running, ELSEWHERE)], Some(0), Some(0));
        check(&[(Active, HERE), (Running, HERE)], Some(1), Some(1));
        check(&[(Active, HERE), (Active, HERE)], None, Some(1));
        check(&[(Active, HERE), (Completed, HERE)], Some(1), Some(0));
    }

    #[test]
    fn elsewhere_only_one_that_is_active_can_be_meant() {
        check(&[(Completed, ELSEWHERE), (Stopped, ELSEWHERE)], Some(1), Some(1));
        check(&[(Stopped, ELSEWHERE), (Stopped, ELSEWHERE)], None, None);
        check(&[(Active, ELSEWHERE), (Active, ELSEWHERE)], None, None);
        check(&[(Completed, ELSEWHERE), (Completed, ELSEWHERE)], None, None);
        check(&[(Active, ELSEWHERE), (Stopped, ELSEWHERE)], Some(0), Some(0));
    }
}
