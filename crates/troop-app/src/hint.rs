//! Hints that several rooms give. A hint is a value: every surface renders it in its own way.

use std::{fmt, path::Path};

pub use troop_model::{Hint, HintCommand, HintOption, HintPart, HintStep, HintTarget, HintWord};

use troop_model::{Team, nearest};

/// How many names a person reads.
const READABLE: usize = 8;

/// For a team that does not exist.
#[must_use]
pub fn unknown_team(name: &str, known: &[String]) -> Hint {
    if known.is_empty() {
        return Hint::create_team();
    }
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => {
            Hint::from("did you mean ").and_option(HintOption::new("team", near)).and("?")
        }
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
mod tests;
