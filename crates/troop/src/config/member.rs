//! For whom this process runs: what members start carries who they are in its environment, and cannot lay that down.

use std::fs;

use anyhow::Result;
use troop_model::LEAD_ALIASES;
use troop_process::children;

use crate::{cli::Global, report::Refused};

/// How many processes stand above one another. More than anybody has.
const MAX_ABOVE: usize = 64;

/// What carries the mark of a lead's session.
const SESSION: &str = "TROOP_LEAD_SESSION";

/// The member that started this process, or something above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Starter {
    pub(crate) member: String,
    pub(crate) team: String,
}

impl Starter {
    /// Looks at this process and at those above it. The uppermost counts: what a member starts can change the environment of
    /// what it starts in turn, but not the one that it was itself given. What was left behind is adopted by the member that
    /// started it, or by its lead; of the latter nobody can tell who started it, so that it acts for nobody.
    pub(crate) fn find() -> Result<Option<Self>> {
        let (mut found, mut id) = (None, std::process::id());
        for _ in 0..MAX_ABOVE {
            // Other people's processes are not ours to read, and started nobody for us.
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            found = Self::read(&environment).or(found);
            let Some(above) = Stat::read(id).map(|stat| stat.above).filter(|above| *above > 0)
            else {
                break;
            };
            if leads(above) && !is_started_by(above, id, &environment) {
                let message = "a member of a team left this running, and it is unknown which";
                let hint = "make the command that starts it wait for it";
                return Err(Refused::forbidden(message, hint).into());
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

    /// Refuses whoever would act as somebody else, or in another team.
    pub(crate) fn check(&self, global: &Global) -> Result<()> {
        let Self { member, team } = self;
        let said = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        let hint = "leave `--as` and `--team` out";
        if let Some(other) = said(&global.acting).filter(|it| canonical(it) != canonical(member)) {
            let message = format!("`{member}` runs this and cannot act as `{other}`");
            return Err(Refused::forbidden(message, hint).into());
        }
        if let Some(other) = said(&global.team).filter(|it| it != team) {
            let message = format!("`{member}` is in the team `{team}`, not in `{other}`");
            return Err(Refused::forbidden(message, hint).into());
        }
        Ok(())
    }
}

/// The lead has several names.
fn canonical(member: &str) -> &str {
    if LEAD_ALIASES.contains(&member) { "lead" } else { member }
}

/// A variable of an environment, if it says something.
fn variable(environment: &[u8], name: &str) -> Option<String> {
    let mut all = environment.split(|byte| *byte == 0);
    let value = all.find_map(|it| it.strip_prefix(format!("{name}=").as_bytes()))?;
    Some(String::from_utf8_lossy(value).into_owned()).filter(|value| !value.is_empty())
}

/// Whether a process leads a team: its own program guards it. Which program asks does not matter, for that can be a copy.
fn leads(id: u32) -> bool {
    let program = |id: u32| fs::read_link(format!("/proc/{id}/exe")).ok();
    let Some(own) = program(id) else { return false };
    let is_guard = |child: &u32| {
        let words = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let is_called_so = words.split(|byte| *byte == 0).nth(1) == Some(b"--guard");
        is_called_so && program(*child).as_ref() == Some(&own)
    };
    children(id).iter().any(is_guard)
}

/// Whether a lead itself started a process that is right below it: such a one carries its mark, and leads a group in the
/// lead's own session. What it adopted was left behind by somebody.
fn is_started_by(lead: u32, id: u32, environment: &[u8]) -> bool {
    let (Some(above), Some(own)) = (Stat::read(lead), Stat::read(id)) else { return false };
    let is_marked = variable(environment, SESSION).is_some();
    is_marked && own.group == id && own.session == above.session
}

/// What the system says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Whether it is over, and nobody has asked how it ended.
    pub(crate) is_dead: bool,
    /// The process that started it, or adopted it.
    above: u32,
    group: u32,
    session: u32,
}

impl Stat {
    pub(crate) fn read(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name of a program can hold anything, but ends with the last bracket.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_whitespace();
        let is_dead = words.next()? == "Z";
        let mut number = || words.next()?.parse().ok();
        Some(Self { is_dead, above: number()?, group: number()?, session: number()? })
    }
}

#[cfg(test)]
mod tests {
    //! Who is found in an environment.

    use super::{Starter, Stat, children};

    #[test]
    fn who_started_something_is_told_by_all_its_marks_or_not_at_all() {
        let whole = b"A=b\0TROOP_AS=ann\0TROOP_TEAM=blue\0TROOP_LEAD_SESSION=1\0";
        let ann = Starter { member: "ann".to_owned(), team: "blue".to_owned() };
        assert_eq!(Starter::read(whole), Some(ann));
        for part in [
            &b"TROOP_AS=ann\0TROOP_TEAM=blue\0"[..],
            b"TROOP_AS=\0TROOP_TEAM=blue\0TROOP_LEAD_SESSION=1\0",
            b"XTROOP_AS=ann\0TROOP_TEAM=blue\0TROOP_LEAD_SESSION=1\0",
            b"",
        ] {
            assert_eq!(Starter::read(part), None, "a person may set them by hand");
        }
        let (own, above) = (std::process::id(), std::os::unix::process::parent_id());
        assert_eq!(Stat::read(own).map(|it| (it.is_dead, it.above)), Some((false, above)));
        assert!(children(above).contains(&own), "{:?}", children(above));
    }
}
