//! Which member started this process: what members start carries their name in its environment and cannot drop it.

use troop_model::{Hint, HintOption, LEAD_ALIASES};
use troop_process::{ProcessStat, arguments_of, children, environment_of, program_of};

use super::Choices;
use crate::{Error, Result};

/// How many parents we follow. More than any real process has.
const MAX_ABOVE: usize = 64;

/// The variable that marks what a lead started in a session.
const SESSION: &str = "TROOP_LEAD_SESSION";

/// The member that started this process, or something above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    pub member: String,
    pub team: String,
}

impl Starter {
    /// Looks at a process and its parents. The uppermost one counts: a process that a member started can change the environment
    /// of its own children, but not the one that it got itself. An orphan is adopted by the member that started it, or by the
    /// lead; in the latter case nobody can tell who started it, so it acts for nobody.
    pub fn find(process: u32) -> Result<Option<Self>> {
        let mut found = None;
        let mut id = process;
        for _ in 0..MAX_ABOVE {
            // We cannot read processes of other users; they did not start this one for a member.
            let environment = environment_of(id).unwrap_or_default();
            found = Self::read(&environment).or(found);
            let Some(above) =
                ProcessStat::read(id).map(|stat| stat.above).filter(|above| *above > 0)
            else {
                break;
            };
            if leads(above) && !is_started_by(above, id, &environment) {
                let message = "a member of a team left this running, and it is unknown which";
                let hint = "make the command that starts it wait for it";
                return Err(Error::forbidden(message, hint));
            }
            id = above;
        }
        Ok(found)
    }

    fn read(environment: &[u8]) -> Option<Self> {
        let variable = |name: &str| variable(environment, name);
        variable(SESSION)?;
        Some(Self { member: variable("TROOP_AS")?, team: variable("TROOP_TEAM")? })
    }

    /// Refuses to act as another member, or in another team.
    pub fn check(&self, choices: &Choices) -> Result<()> {
        let Self { member, team } = self;
        let hint = || {
            let member = Hint::from("leave ").and_option(HintOption::flag("as"));
            member.and(" and ").and_option(HintOption::flag("team")).and(" out")
        };
        let acting = choices.acting.as_ref();
        if let Some(other) = acting.filter(|it| canonical(it) != canonical(member)) {
            let message = format!("`{member}` runs this and cannot act as `{other}`");
            return Err(Error::forbidden(message, hint()));
        }
        if let Some(other) = choices.team.as_ref().filter(|it| *it != team) {
            let message = format!("`{member}` is in the team `{team}`, not in `{other}`");
            return Err(Error::forbidden(message, hint()));
        }
        Ok(())
    }
}

/// The lead is known under several names.
fn canonical(member: &str) -> &str {
    if LEAD_ALIASES.contains(&member) { "lead" } else { member }
}

/// A variable of an environment, unless it is empty.
fn variable(environment: &[u8], name: &str) -> Option<String> {
    let mut all = environment.split(|byte| *byte == 0);
    let value = all.find_map(|it| it.strip_prefix(format!("{name}=").as_bytes()))?;
    Some(String::from_utf8_lossy(value).into_owned()).filter(|value| !value.is_empty())
}

/// Whether a process leads a team: it has a guard that runs the same program. The program that asks may be a copy.
fn leads(id: u32) -> bool {
    let Some(own) = program_of(id) else { return false };
    let is_guard = |child: &u32| {
        let is_called_so = arguments_of(*child).get(1).is_some_and(|word| word == "--guard");
        is_called_so && program_of(*child).as_ref() == Some(&own)
    };
    children(id).iter().any(is_guard)
}

/// Whether a lead itself started its child: such a child carries the mark and leads a process group in the lead's session. An
/// adopted orphan does not.
fn is_started_by(lead: u32, id: u32, environment: &[u8]) -> bool {
    let (Some(above), Some(own)) = (ProcessStat::read(lead), ProcessStat::read(id)) else {
        return false;
    };
    let is_marked = variable(environment, SESSION).is_some();
    is_marked && own.group == id && own.session == above.session
}

#[cfg(test)]
mod tests;
