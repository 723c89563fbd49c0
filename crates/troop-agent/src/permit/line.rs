//! Takes a command line apart as a shell would: into the commands that it runs, and their words.

mod read;

/// How deeply shells may be nested in arguments. Nobody writes more.
const MAX_DEPTH: usize = 16;
/// How many words of a command are checked for another command that they start.
const MAX_STARTED: usize = 32;

/// Words that may stand before a command.
const KEYWORDS: [&str; 11] =
    ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "coproc"];
/// Programs that start the program in their arguments.
const STARTERS: [&str; 20] = [
    "env", "command", "builtin", "exec", "nohup", "sudo", "doas", "xargs", "nice", "ionice",
    "timeout", "stdbuf", "setsid", "busybox", "find", "watch", "strace", "parallel", "flock",
    "time",
];
/// Programs that run a command line from an argument.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "eval", "trap"];

/// A command line, parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellLine {
    /// All commands that run, including nested ones.
    pub(super) commands: Vec<ShellCommand>,
    /// Whether its words alone show what it does: there is no substitution and no redirection.
    pub(super) is_clear: bool,
    /// The files of its redirections.
    pub(super) files: Vec<String>,
}

/// The words of one command, without quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellCommand {
    pub(super) words: Vec<String>,
}

impl ShellLine {
    pub(super) fn read(text: &str) -> Self {
        read::read(text, 0)
    }

    /// All commands that may run, in every form that a rule could name: what other programs start, what shells run,
    /// and each command without its options, which may stand before the subcommand.
    pub(super) fn all_ways(&self) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        self.add_ways(&mut all, 0);
        all
    }

    fn add_ways(&self, all: &mut Vec<Vec<String>>, depth: usize) {
        for words in self.commands.iter().flat_map(ShellCommand::parts) {
            let starts = words.first().is_some_and(|it| STARTERS.contains(&name(it)));
            let n_starts = if starts { words.len().min(MAX_STARTED) } else { 1 };
            for from in 0..n_starts {
                let words = words.get(from..).unwrap_or_default();
                let is_shell = words.first().is_some_and(|it| SHELLS.contains(&name(it)));
                if is_shell && depth < MAX_DEPTH {
                    for said in words.iter().skip(1) {
                        Self::read(said).add_ways(all, depth + 1);
                    }
                }
                add_without_options(words, all);
            }
        }
    }
}

impl ShellCommand {
    /// Whether it begins with a variable assignment, which can make any program do anything.
    pub(super) fn assigns(&self) -> bool {
        self.words.first().is_some_and(|word| is_assignment(word))
    }

    /// Its words, and all parts that may be commands themselves because a keyword stands before them, as in `function
    /// f { git push`.
    fn parts(&self) -> Vec<&[String]> {
        let mut parts = vec![self.words.as_slice(), self.without_front()];
        for (n, word) in self.words.iter().enumerate().take(MAX_STARTED) {
            if KEYWORDS.contains(&word.as_str()) {
                parts.extend(self.words.get(n + 1..));
            }
        }
        parts
    }

    /// The words without leading assignments and keywords.
    fn without_front(&self) -> &[String] {
        let is_front = |word: &&String| is_assignment(word) || KEYWORDS.contains(&word.as_str());
        let n_front = self.words.iter().take_while(is_front).count();
        self.words.get(n_front..).unwrap_or_default()
    }
}

/// Adds a command with its program as written and by name alone, each with and without the options before the
/// subcommand.
fn add_without_options(words: &[String], all: &mut Vec<Vec<String>>) {
    let Some((program, rest)) = words.split_first() else { return };
    let mut froms = vec![0];
    for from in 0..rest.len().min(MAX_STARTED) {
        // An option may take the next word as its value.
        if froms.contains(&from) && rest.get(from).is_some_and(|word| word.starts_with('-')) {
            froms.extend([from + 1, from + 2]);
        }
    }
    for from in froms {
        let rest = rest.get(from..).unwrap_or_default();
        for program in [program, name(program)] {
            let said = std::iter::once(program).chain(rest.iter().map(String::as_str));
            all.push(said.map(str::to_owned).collect());
        }
    }
}

/// The name of a program without its folder.
fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
