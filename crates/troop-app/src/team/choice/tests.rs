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
fn the_team_of_this_folder_comes_before_teams_that_run_elsewhere() {
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
fn the_newest_team_that_ran_in_this_folder_is_chosen() {
    check(&[(Stopped, ELSEWHERE), (Completed, HERE), (Completed, HERE)], Some(2), Some(2));
    check(&[(Stopped, HERE), (Completed, HERE)], Some(1), Some(0));
    check(&[(Active, ELSEWHERE), (Completed, HERE)], Some(1), Some(1));
    check(&[(Completed, HERE), (Active, ELSEWHERE)], Some(1), Some(0));
}

#[test]
fn a_team_that_was_made_here_comes_before_teams_from_elsewhere() {
    check(&[(Running, ELSEWHERE), (Active, HERE)], Some(1), Some(1));
    check(&[(Active, HERE), (Active, ELSEWHERE), (Running, ELSEWHERE)], Some(0), Some(0));
    check(&[(Active, HERE), (Running, HERE)], Some(1), Some(1));
    check(&[(Active, HERE), (Active, HERE)], None, Some(1));
    check(&[(Active, HERE), (Completed, HERE)], Some(1), Some(0));
}

#[test]
fn the_only_active_team_from_elsewhere_is_chosen() {
    check(&[(Completed, ELSEWHERE), (Stopped, ELSEWHERE)], Some(1), Some(1));
    check(&[(Stopped, ELSEWHERE), (Stopped, ELSEWHERE)], None, None);
    check(&[(Active, ELSEWHERE), (Active, ELSEWHERE)], None, None);
    check(&[(Completed, ELSEWHERE), (Completed, ELSEWHERE)], None, None);
    check(&[(Active, ELSEWHERE), (Stopped, ELSEWHERE)], Some(0), Some(0));
}
