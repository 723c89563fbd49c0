//! The options that the caller typed. The commands in hints need them too, so that they can be pasted as they are.

use troop_model::{Hint, HintCommand, HintTarget, HintWord};

/// The options that the caller typed with a value. Environment variables apply to the next command anyway.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallerOptions {
    /// `--store` and `--home`, in the order in which they were typed.
    place: Vec<CallerOption>,
    team: Option<String>,
    member: Option<String>,
}

#[derive(Clone, Debug)]
struct CallerOption {
    name: String,
    value: String,
}

impl CallerOptions {
    /// The options of this process.
    pub(crate) fn typed() -> Self {
        Self::of(std::env::args_os().skip(1).filter_map(|word| word.into_string().ok()))
    }

    fn of(mut words: impl Iterator<Item = String>) -> Self {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            if name == "--" {
                break;
            }
            if !["--store", "--home", "--team", "--as"].contains(&name.as_str()) {
                continue;
            }
            let Some(value) = value.or_else(|| words.next()) else { break };
            match name.as_str() {
                "--team" => options.team = Some(value),
                "--as" => options.member = Some(value),
                _ => options.place.push(CallerOption { name, value }),
            }
        }
        options
    }

    /// These options for a team that was chosen in another way.
    pub(crate) fn about(mut self, team: Option<&str>) -> Self {
        if let Some(team) = team {
            self.team = Some(team.to_owned());
        }
        self
    }

    /// The hint with these options in each command that needs them.
    pub(crate) fn added_to(&self, hint: &Hint) -> Hint {
        hint.clone().map_commands(|command| self.added_to_command(command))
    }

    fn added_to_command(&self, mut command: HintCommand) -> HintCommand {
        let is_about_team = matches!(command.target, HintTarget::Team | HintTarget::Member);
        let place = match command.target {
            HintTarget::Machine => [].iter(),
            HintTarget::Store | HintTarget::Team | HintTarget::NamedTeam | HintTarget::Member => {
                self.place.iter()
            }
        };
        let place = place.map(|it| (it.name.as_str(), &it.value));
        let team = self.team.iter().filter(|_| is_about_team).map(|team| ("--team", team));
        let is_by_member = command.target == HintTarget::Member;
        let member = self.member.iter().filter(|_| is_by_member).map(|name| ("--as", name));
        // The command may have that option already.
        let missing = place.chain(team).chain(member).filter(|(name, _)| {
            !command.words.iter().any(|word| matches!(word, HintWord::Exact(it) if it == name))
        });
        let words = missing.flat_map(|(name, value)| [name.to_owned(), value.clone()]);
        let words: Vec<_> = words.map(HintWord::Exact).collect();
        command.words.splice(0..0, words);
        command
    }
}

#[cfg(test)]
mod tests;
