//! What was typed for every command, so that a hint can be pasted as it is.

use troop_model::quoted;

/// The options that were typed with a value.
#[derive(Debug, Default)]
pub(crate) struct Typed {
    /// Which store and which home, for any command.
    place: Vec<String>,
    /// Which team, for what is about a team that exists.
    team: Vec<String>,
    /// As whom, for what a member does itself.
    acting: Vec<String>,
}

/// What makes a team, or is about none.
const ABOUT_NO_TEAM: [&str; 6] = ["run", "demo", "doctor", "trust", "team create", "team list"];
/// What a member does itself. The rest of what hints name is for people, also `message answer`.
const OF_MEMBERS: [&str; 5] =
    ["task claim", "task next", "task release", "message send", "message read"];

impl Typed {
    /// What was typed for this process. What the environment says holds for the next command too.
    pub(crate) fn now() -> Self {
        Self::of(std::env::args_os().skip(1).filter_map(|word| word.into_string().ok()))
    }

    fn of(words: impl Iterator<Item = String>) -> Self {
        let (mut typed, mut words) = (Self::default(), words);
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            let kept = match name.as_str() {
                "--" => break,
                "--store" | "--home" => &mut typed.place,
                "--team" => &mut typed.team,
                "--as" => &mut typed.acting,
                _ => continue,
            };
            if let Some(value) = value.or_else(|| words.next()) {
                kept.extend([name, quoted(&value)]);
            }
        }
        typed
    }

    /// The same about a team that was named in another way.
    pub(crate) fn about(mut self, team: Option<&str>) -> Self {
        if let Some(team) = team {
            self.team = vec!["--team".to_owned(), quoted(team)];
        }
        self
    }

    /// Whether a command says by a word of its own which team it is about.
    fn is_named_by(&self, command: &str) -> bool {
        let mut words = command.split(' ');
        let takes_name = match words.next() {
            Some("resume" | "stop") => true,
            Some("team") => words.next().is_some(),
            _ => false,
        };
        takes_name && words.next().is_some_and(|word| self.team.get(1).is_some_and(|it| it == word))
    }

    /// The hint with these options in each command that they are for.
    pub(crate) fn kept_in(&self, hint: &str) -> String {
        let mut pieces = hint.split("`troop ");
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let is = |commands: &[&str]| {
                commands.iter().any(|it| {
                    let rest = piece.strip_prefix(it);
                    rest.is_some_and(|rest| rest.starts_with([' ', '`']))
                })
            };
            let command = piece.split('`').next().unwrap_or_default();
            let says = |option: &str| command.split(' ').any(|word| word == option);
            // What it says already is not said again.
            let place = self.place.chunks(2).filter(|it| !it.first().is_some_and(|it| says(it)));
            let mut options: Vec<String> = place.flatten().cloned().collect();
            let is_named = says("--team") || self.is_named_by(command);
            if !is(&ABOUT_NO_TEAM) && !is_named {
                options.extend(self.team.iter().cloned());
            }
            if is(&OF_MEMBERS) && !says("--as") {
                options.extend(self.acting.iter().cloned());
            }
            text.push_str("`troop ");
            options.iter().for_each(|word| text.push_str(&format!("{word} ")));
            text.push_str(piece);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    //! Hints that can be pasted.

    use super::Typed;

    fn kept(typed: &str, hint: &str) -> String {
        Typed::of(typed.split(' ').map(str::to_owned)).kept_in(hint)
    }

    #[test]
    fn what_was_typed_is_in_the_commands_that_it_is_for() {
        let both = "claim another: `troop task claim`, or see: `troop member list`";
        assert_eq!(
            kept("--as bob --team=blue task claim 1", both),
            "claim another: `troop --team blue --as bob task claim`, or see: `troop --team blue member list`"
        );
        assert_eq!(kept("task claim 1", both), both);
        assert_eq!(
            kept("--team x --store files:a$b stop", "make another: `troop run \"GOAL\"`"),
            "make another: `troop --store 'files:a$b' run \"GOAL\"`"
        );
        assert_eq!(
            kept("--team x events", "see: `troop --team x log ann`"),
            "see: `troop --team x log ann`"
        );
        assert_eq!(
            kept("--team x run go", "continue: `troop resume x`"),
            "continue: `troop resume x`"
        );
        assert_eq!(kept("task comment 1 -- --team x", both), both);
        let board =
            "see the board: `troop task list`, or go on: `troop team set task max_attempts=5`";
        let about_task = "see the board: `troop --team task task list`, or go on: `troop team set task max_attempts=5`";
        assert_eq!(kept("--team task task get 9", board), about_task);
        let once = kept("--home /a --store files:b x", both);
        assert_eq!(kept("--home /a --store files:b x", &once), once, "not a second time");
        let person = "a person answers: `troop message answer ann yes`";
        assert_eq!(kept("--as lead message answer ann yes", person), person);
    }
}
