//! The options that the caller typed. The commands in hints need them too, so that they can be pasted as they are.

use troop_model::{Hint, HintCommand, HintTarget, HintWord};

/// The options that the caller typed with a value. Variables of the environment hold for the next command anyway.
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
    /// Those of this process.
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

    /// The same options about a team that was named in another way.
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
        // The command may have such an option of its own.
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
mod tests {
    //! Hints that can be pasted.

    use troop_model::{Hint, HintCommand};

    use super::CallerOptions;

    fn troop(path: &str) -> HintCommand {
        HintCommand::troop(path)
    }

    fn kept(typed: &str, hint: &Hint) -> String {
        let options = CallerOptions::of(typed.split(' ').map(str::to_owned));
        options.added_to(hint).to_string()
    }

    #[test]
    fn what_was_typed_is_in_the_commands_that_it_is_for() {
        let both =
            Hint::to("claim another", troop("task claim")).or_to("see", troop("member list"));
        assert_eq!(
            kept("--as bob --team=blue task claim 1", &both),
            "claim another: `troop --team blue --as bob task claim`, or see: `troop --team blue member list`"
        );
        assert_eq!(kept("task claim 1", &both), both.to_string());
        let another = Hint::to("make another", troop("run").text("GOAL"));
        assert_eq!(
            kept("--team x --store files:a$b stop", &another),
            "make another: `troop --store 'files:a$b' run \"GOAL\"`"
        );
        let log = Hint::to("see", troop("log").word("ann").in_team("x"));
        assert_eq!(kept("--team x events", &log), "see: `troop --team x log ann`");
        let resume = Hint::to("continue", troop("resume").team("x"));
        assert_eq!(kept("--team x run go", &resume), "continue: `troop resume x`");
        assert_eq!(kept("task comment 1 -- --team x", &both), both.to_string());
        let set = troop("team set").team("task").word("max_attempts=5");
        let board = Hint::to("see the board", troop("task list")).or_to("go on", set);
        let about_task = "see the board: `troop --team task task list`, or go on: `troop team set task max_attempts=5`";
        assert_eq!(kept("--team task task get 9", &board), about_task);
        let options =
            CallerOptions::of("--home /a --store files:b x".split(' ').map(str::to_owned));
        let once = options.added_to(&both);
        assert_eq!(options.added_to(&once), once, "not a second time");
        let person = Hint::to("a person answers", troop("message answer").word("ann").word("yes"));
        assert_eq!(kept("--as lead message answer ann yes", &person), person.to_string());
    }

    #[test]
    fn commands_of_other_programs_stay_as_they_are() {
        let merge = Hint::to("merge it", HintCommand::other("git").word("merge").word("troop/x"));
        assert_eq!(kept("--team x --home /a run go", &merge), "merge it: `git merge troop/x`");
    }
}
