//! Hints that several rooms give. A hint is a value: every surface renders it in its own way.

use std::{fmt, path::Path};

pub use troop_model::{Hint, HintCommand, HintPart, HintStep, HintTarget, HintWord};

use troop_model::{Team, did_you_mean, nearest};

/// How many names a person reads.
const READABLE: usize = 8;

/// For a team that does not exist.
#[must_use]
pub fn unknown_team(name: &str, known: &[String]) -> Hint {
    if known.is_empty() {
        return Hint::create_team();
    }
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => did_you_mean(&format!("--team {near}")).into(),
        None => Hint::from("the teams are: ").and_hint(some_of(known)),
    }
}

/// As many names of teams as a person reads, and where to see the others.
#[must_use]
pub fn some_of(teams: &[impl AsRef<str>]) -> Hint {
    let named: Vec<_> = teams.iter().take(READABLE).map(AsRef::as_ref).collect();
    let hint = Hint::from(named.join(", "));
    match teams.len().saturating_sub(READABLE) {
        0 => hint,
        more => hint
            .and(format!(" and {more} more ("))
            .and_run(HintCommand::troop("team list"))
            .and(")"),
    }
}

/// The command that continues a team.
#[must_use]
pub fn resume(name: impl fmt::Display) -> HintCommand {
    HintCommand::troop("resume").team(name)
}

/// The command that shows what a team is doing.
#[must_use]
pub fn follow_events(name: impl fmt::Display) -> HintCommand {
    HintCommand::troop("events").word("--follow").in_team(name)
}

/// How to continue a team whose budget is spent.
#[must_use]
pub fn raise_budget(team: &Team) -> Hint {
    let more = team.settings.budget.more(&team.usage);
    let set = HintCommand::troop("team set").team(&team.name).words(more.split(' '));
    Hint::to("raise it", set).then_to("continue", resume(&team.name))
}

/// How to see and allow what a project would run.
#[must_use]
pub fn review_trust() -> Hint {
    Hint::to("review it", HintCommand::troop("trust"))
}

/// How to move a file out of the way.
#[must_use]
pub fn move_away(path: &Path) -> Hint {
    let mut old = path.as_os_str().to_owned();
    old.push(".old");
    let old = Path::new(&old);
    Hint::to("move it away", HintCommand::other("mv").word(path.display()).word(old.display()))
}

#[cfg(test)]
mod tests {
    //! Hints about teams and files.

    use std::path::Path;

    use super::{move_away, unknown_team};

    #[test]
    fn an_unknown_team_is_answered_by_its_neighbour_or_by_all_there_are() {
        let known: Vec<_> = ('a'..='k').map(|letter| format!("crew-{letter}")).collect();
        assert_eq!(unknown_team("crew_a", &known).to_string(), "did you mean `--team crew-a`?");
        let all = unknown_team("zzz", &known).to_string();
        assert!(all.starts_with("the teams are: crew-a, crew-b, "), "{all}");
        assert!(all.ends_with("crew-h and 3 more (`troop team list`)"), "{all}");
        assert!(unknown_team("zzz", &[]).to_string().starts_with("make one: `troop team create"));
    }

    #[test]
    fn a_path_in_a_hint_can_be_pasted() {
        let hint = move_away(Path::new("/a b/config.json")).to_string();
        assert_eq!(hint, "move it away: `mv '/a b/config.json' '/a b/config.json.old'`");
    }
}
