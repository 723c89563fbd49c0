//! For whom this process runs: what members start carries who they are in its environment, and cannot lay that down.

use std::fs;

use anyhow::Result;
use troop_model::LEAD_ALIASES;

use crate::{cli::Global, report::Refused};

/// How many processes stand above one another. More than anybody has.
const MAX_ABOVE: usize = 64;

/// The member that started this process, or something above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Starter {
    pub(crate) member: String,
    pub(crate) team: String,
}

impl Starter {
    /// Looks at this process and at those above it. The uppermost counts: what a member starts can change the environment of
    /// what it starts in turn, but not the one that it was itself given.
    pub(crate) fn find() -> Option<Self> {
        let (mut found, mut id) = (None, std::process::id());
        for _ in 0..MAX_ABOVE {
            // Other people's processes are not ours to read, and started nobody for us.
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            found = Self::read(&environment).or(found);
            match above(id) {
                Some(above @ 1..) => id = above,
                _ => break,
            }
        }
        found
    }

    fn read(environment: &[u8]) -> Option<Self> {
        let variable = |name: &str| {
            let mut all = environment.split(|byte| *byte == 0);
            let value = all.find_map(|it| it.strip_prefix(format!("{name}=").as_bytes()))?;
            let value = String::from_utf8_lossy(value).into_owned();
            Some(value).filter(|value| !value.is_empty())
        };
        variable("TROOP_LEAD_SESSION")?;
        Some(Self { member: variable("TROOP_AS")?, team: variable("TROOP_TEAM")? })
    }

    /// Refuses whoever would act as somebody else, or in another team.
    pub(crate) fn check(&self, global: &Global) -> Result<()> {
        let Self { member, team } = self;
        let said = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        let hint = "leave `--as` and `--team` out";
        if let Some(other) = said(&global.acting).filter(|it| canonical(it) != canonical(member)) {
            let message = format!("`{member}` runs this, and cannot act as `{other}`");
            return Err(Refused::forbidden(message, hint).into());
        }
        if let Some(other) = said(&global.team).filter(|it| it != team) {
            let message = format!("`{member}` is in the team `{team}`, and not in `{other}`");
            return Err(Refused::forbidden(message, hint).into());
        }
        Ok(())
    }
}

/// The lead has several names.
fn canonical(member: &str) -> &str {
    if LEAD_ALIASES.contains(&member) { "lead" } else { member }
}

/// The process that started another.
fn above(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of a program can hold anything, but ends with the last bracket.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    //! Who is found in an environment.

    use super::{Starter, above};

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
        assert_eq!(above(std::process::id()), Some(std::os::unix::process::parent_id()));
    }
}
