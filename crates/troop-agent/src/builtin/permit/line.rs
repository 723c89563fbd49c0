//! The one place where a command line is taken apart as a shell would: into the commands that it runs, and their words.

use std::{iter::Peekable, str::Chars};

/// How deep commands are looked for in commands. Nobody writes more.
const MAX_DEPTH: usize = 16;
/// How many words of a command are looked at for another command that they start.
const MAX_STARTED: usize = 32;

/// What stands before a command and is none.
const KEYWORDS: [&str; 10] =
    ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "coproc"];
/// Programs that start what their arguments name.
const STARTERS: [&str; 20] = [
    "env", "command", "builtin", "exec", "nohup", "sudo", "doas", "xargs", "nice", "ionice",
    "timeout", "stdbuf", "setsid", "busybox", "find", "watch", "strace", "parallel", "flock",
    "time",
];
/// Programs that read a whole line from an argument.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "eval"];

/// A line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// All commands that run, also those in the middle of others.
    pub(super) commands: Vec<Command>,
    /// Whether one sees by its words alone what it does: nothing is put in from elsewhere, no file is written or read.
    pub(super) is_clear: bool,
    /// The files that it is told to read from or to write to.
    pub(super) files: Vec<String>,
}

/// One command: its words, without quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
}

impl Line {
    pub(super) fn read(text: &str) -> Self {
        Self::read_at(text, 0)
    }

    fn read_at(text: &str, depth: usize) -> Self {
        let line = Self { is_clear: true, ..Self::default() };
        let mut reader = Reader { rest: text.chars().peekable(), line, depth };
        // What closes something that was not opened ends nothing.
        while reader.rest.peek().is_some() {
            reader.commands(None);
        }
        reader.line
    }

    /// All commands that run as far as one can see, in every way that they can be said: also what programs start, what
    /// shells are told, and without options, which can stand before what a program is to do.
    pub(super) fn all_ways(&self) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        self.add_ways(&mut all, 0);
        all
    }

    fn add_ways(&self, all: &mut Vec<Vec<String>>, depth: usize) {
        let whole = self.commands.iter().map(|it| it.words.as_slice());
        for words in whole.chain(self.commands.iter().map(Command::without_front)) {
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

impl Command {
    /// Whether it begins by setting a variable, which can make any program do anything.
    pub(super) fn assigns(&self) -> bool {
        self.words.first().is_some_and(|word| is_assignment(word))
    }

    /// The words of what runs, without what assigns variables and what stands before commands.
    fn without_front(&self) -> &[String] {
        let is_front = |word: &&String| is_assignment(word) || KEYWORDS.contains(&word.as_str());
        let n_front = self.words.iter().take_while(is_front).count();
        self.words.get(n_front..).unwrap_or_default()
    }
}

/// A command, with its program as it is written and by its name alone, and the same without the options before what it is to
/// do.
fn add_without_options(words: &[String], all: &mut Vec<Vec<String>>) {
    let Some((program, rest)) = words.split_first() else { return };
    let mut froms = vec![0];
    for from in 0..rest.len().min(MAX_STARTED) {
        // An option may have a value, which is the next word.
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

/// What a program is called, wherever it is.
fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    line: Line,
    depth: usize,
}

/// A command that is being read.
#[derive(Default)]
struct Draft {
    words: Vec<String>,
    /// The word that is being read; an empty one in quotes is one, too.
    word: Option<String>,
    /// Whether the next word is the name of a file.
    is_file: bool,
}

impl Draft {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self, line: &mut Line) {
        let Some(word) = self.word.take() else { return };
        let is_file = std::mem::take(&mut self.is_file);
        if is_file { line.files.push(word) } else { self.words.push(word) }
    }

    fn end(&mut self, line: &mut Line) {
        self.end_word(line);
        let Self { words, .. } = std::mem::take(self);
        if !words.is_empty() {
            line.commands.push(Command { words });
        }
    }
}

impl Reader<'_> {
    /// Reads commands to the end, or to what closes them.
    fn commands(&mut self, close: Option<char>) {
        let mut draft = Draft::default();
        while let Some(c) = self.rest.next() {
            if Some(c) == close {
                break;
            }
            match c {
                ' ' | '\t' => draft.end_word(&mut self.line),
                // Some take these for space and some do not.
                '\r' | '\x0b' | '\x0c' => {
                    self.line.is_clear = false;
                    draft.end_word(&mut self.line);
                }
                '\n' | ';' | '&' | '|' => draft.end(&mut self.line),
                '\'' => self.quoted(&mut draft),
                '"' => self.double_quoted(&mut draft),
                '\\' => self.escaped(&mut draft),
                '$' | '`' => self.put_in(c, &mut draft),
                '<' | '>' => self.redirected(&mut draft),
                '(' => {
                    draft.end(&mut self.line);
                    self.nested(')');
                }
                ')' => {
                    self.line.is_clear = false;
                    draft.end(&mut self.line);
                }
                c => draft.push(c),
            }
        }
        draft.end(&mut self.line);
    }

    /// Commands in the middle of others.
    fn nested(&mut self, close: char) {
        self.line.is_clear = false;
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            self.commands(Some(close));
            self.depth -= 1;
        }
    }

    fn quoted(&mut self, draft: &mut Draft) {
        let word = draft.word.get_or_insert_default();
        for c in self.rest.by_ref() {
            if c == '\'' {
                return;
            }
            word.push(c);
        }
        self.line.is_clear = false;
    }

    fn double_quoted(&mut self, draft: &mut Draft) {
        draft.word.get_or_insert_default();
        while let Some(c) = self.rest.next() {
            match c {
                '"' => return,
                '\\' if self.rest.peek().is_some_and(|next| "$`\"\\\n".contains(*next)) => {
                    self.escaped(draft);
                }
                '$' | '`' => self.put_in(c, draft),
                c => draft.push(c),
            }
        }
        self.line.is_clear = false;
    }

    fn escaped(&mut self, draft: &mut Draft) {
        match self.rest.next() {
            Some('\n') => {}
            Some(c) => draft.push(c),
            None => self.line.is_clear = false,
        }
    }

    /// What is put in from elsewhere: it is nothing as far as one can see, but what prints it is a command.
    fn put_in(&mut self, mark: char, draft: &mut Draft) {
        match (mark, self.rest.peek()) {
            ('`', _) => self.nested('`'),
            (_, Some('(')) => {
                self.rest.next();
                self.nested(')');
            }
            // `$'…'` is a quote, too.
            (_, Some('\'')) => self.line.is_clear = false,
            _ => draft.push(mark),
        }
    }

    fn redirected(&mut self, draft: &mut Draft) {
        self.line.is_clear = false;
        // `2>` is no word.
        draft.word.take_if(|word| word.chars().all(|c| c.is_ascii_digit()));
        draft.end_word(&mut self.line);
        while self.rest.next_if(|c| "<>&|-".contains(*c)).is_some() {}
        if self.rest.next_if_eq(&'(').is_some() {
            self.nested(')');
        } else {
            draft.is_file = true;
        }
    }
}
