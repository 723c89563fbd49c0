//! Parses a script as a shell does. Where shells differ, it also guesses, so that nothing that may run is missed.

mod guess;
mod here;

use std::{iter::Peekable, str::Chars};

use super::{ShellCommand, ShellLine};
use guess::guess;
use here::HereDocument;

/// How deeply commands may be nested. Nobody writes more.
const MAX_DEPTH: usize = 16;

/// Parses a script.
pub(super) fn read(text: &str, depth: usize) -> ShellLine {
    ShellReader::read(text, depth, |reader| {
        // A closing bracket without an opening one ends nothing.
        while reader.rest.peek().is_some() {
            reader.commands(None);
        }
    })
}

struct ShellReader<'a> {
    rest: Peekable<Chars<'a>>,
    line: ShellLine,
    depth: usize,
    /// Here-documents whose text begins after this line.
    awaited: Vec<HereDocument>,
    /// Whether some shell may read it differently. Then text may turn out to be commands.
    is_unsure: bool,
}

/// A command while it is read.
#[derive(Default)]
struct CommandDraft {
    words: Vec<String>,
    /// The word that is being read. An empty one in quotes counts.
    word: Option<String>,
    /// Whether a word has begun, even if it has no visible characters yet.
    is_begun: bool,
    has_brace: bool,
    next: NextWord,
}

#[derive(Default)]
enum NextWord {
    #[default]
    Word,
    File,
    /// The standard input of a program, which may be a shell.
    Input,
}

impl CommandDraft {
    fn push(&mut self, c: char) {
        self.begin().push(c);
    }

    fn begin(&mut self) -> &mut String {
        self.is_begun = true;
        self.word.get_or_insert_default()
    }
}

impl<'a> ShellReader<'a> {
    fn read(text: &'a str, depth: usize, how: impl FnOnce(&mut Self)) -> ShellLine {
        let line = ShellLine { is_clear: true, ..ShellLine::default() };
        let rest = text.chars().peekable();
        let mut reader = Self { rest, line, depth, awaited: Vec::new(), is_unsure: false };
        how(&mut reader);
        if reader.is_unsure || !reader.awaited.is_empty() {
            guess(text, &mut reader.line);
        }
        reader.line
    }

    /// Reads commands up to the end, or up to the closing character.
    fn commands(&mut self, close: Option<char>) {
        let mut draft = CommandDraft::default();
        let mut is_open = close.is_some();
        while let Some(c) = self.rest.next() {
            if Some(c) == close {
                is_open = false;
                break;
            }
            match c {
                ' ' | '\t' => self.end_word(&mut draft),
                // Shells differ about these as white space.
                '\r' | '\x0b' | '\x0c' => {
                    self.line.is_clear = false;
                    self.end_word(&mut draft);
                }
                '\n' => {
                    self.end(&mut draft);
                    self.here_documents();
                }
                ';' | '&' | '|' => self.end(&mut draft),
                '#' if !draft.is_begun => while self.rest.next_if(|c| *c != '\n').is_some() {},
                '\'' => self.quoted(&mut draft),
                '"' => self.double_quoted(&mut draft),
                '\\' => self.escaped(&mut draft),
                '$' => self.dollar(&mut draft),
                '`' => self.put_in(c, &mut draft),
                '<' | '>' => self.redirected(c, &mut draft),
                '(' => self.bracket(&mut draft),
                ')' => {
                    self.line.is_clear = false;
                    self.end(&mut draft);
                }
                c => self.plain(c, &mut draft),
            }
        }
        self.end(&mut draft);
        self.is_unsure |= is_open;
    }

    fn end_word(&mut self, draft: &mut CommandDraft) {
        draft.is_begun = false;
        draft.has_brace = false;
        let Some(word) = draft.word.take() else { return };
        match std::mem::take(&mut draft.next) {
            NextWord::Word => draft.words.push(word),
            NextWord::File => self.line.files.push(word),
            NextWord::Input => self.also(&word, read),
        }
    }

    fn end(&mut self, draft: &mut CommandDraft) {
        self.end_word(draft);
        let CommandDraft { words, .. } = std::mem::take(draft);
        if !words.is_empty() {
            self.line.commands.push(ShellCommand { words });
        }
    }

    fn plain(&mut self, c: char, draft: &mut CommandDraft) {
        draft.has_brace |= c == '{';
        // `{git,push}` is two words for some shells and one for others.
        self.is_unsure |= c == ',' && draft.has_brace;
        draft.push(c);
    }

    fn bracket(&mut self, draft: &mut CommandDraft) {
        // In `!(a)`, `a=(b)` and after `=~` they are part of a word, and so may be what follows.
        let is_function = self.rest.peek() == Some(&')');
        self.is_unsure |= draft.is_begun && !is_function || draft.words.iter().any(|it| it == "=~");
        self.end(draft);
        self.nested();
    }

    /// Commands in brackets, in the middle of others.
    fn nested(&mut self) {
        self.line.is_clear = false;
        if self.depth >= MAX_DEPTH {
            self.is_unsure = true;
            return;
        }
        let n_before = self.line.commands.len();
        self.depth += 1;
        self.commands(Some(')'));
        self.depth -= 1;
        // The brackets of its patterns close nothing.
        let is_case = |command: &ShellCommand| command.words.iter().any(|word| word == "case");
        self.is_unsure |= self.line.commands.iter().skip(n_before).any(is_case);
        self.is_unsure |= !self.awaited.is_empty();
    }

    /// Adds what else may run: a text that is parsed by itself.
    fn also(&mut self, text: &str, read: fn(&str, usize) -> ShellLine) {
        self.line.is_clear = false;
        if self.depth >= MAX_DEPTH {
            self.is_unsure = true;
            return;
        }
        let ShellLine { commands, files, .. } = read(text, self.depth + 1);
        self.line.commands.extend(commands);
        self.line.files.extend(files);
    }

    fn quoted(&mut self, draft: &mut CommandDraft) {
        let word = draft.begin();
        for c in self.rest.by_ref() {
            if c == '\'' {
                return;
            }
            word.push(c);
        }
        self.is_unsure = true;
    }

    fn double_quoted(&mut self, draft: &mut CommandDraft) {
        draft.begin();
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
        self.is_unsure = true;
    }

    fn escaped(&mut self, draft: &mut CommandDraft) {
        match self.rest.next() {
            Some('\n') => {}
            Some(c) => draft.push(c),
            None => self.line.is_clear = false,
        }
    }

    /// Skips escaped line breaks.
    fn join(&mut self) {
        loop {
            let mut ahead = self.rest.clone();
            if (ahead.next(), ahead.next()) != (Some('\\'), Some('\n')) {
                return;
            }
            self.rest = ahead;
        }
    }

    /// A dollar outside of quotes, where quotes may follow it.
    fn dollar(&mut self, draft: &mut CommandDraft) {
        self.join();
        match self.rest.peek() {
            Some('"') => self.line.is_clear = false,
            Some('\'') => {
                self.line.is_clear = false;
                self.rest.next();
                self.quoted_with_escapes(draft);
            }
            _ => self.put_in('$', draft),
        }
    }

    /// `$'…'`, in which some shells know escapes.
    fn quoted_with_escapes(&mut self, draft: &mut CommandDraft) {
        draft.begin();
        while let Some(c) = self.rest.next() {
            match c {
                '\'' => return,
                '\\' => {
                    self.is_unsure = true;
                    self.escaped(draft);
                }
                c => draft.push(c),
            }
        }
        self.is_unsure = true;
    }

    /// A substitution: its value is unknown, but the command that prints it runs.
    fn put_in(&mut self, mark: char, draft: &mut CommandDraft) {
        draft.is_begun = true;
        if mark == '`' {
            return self.backticks();
        }
        self.join();
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                self.nested();
            }
            Some('{') => self.variable(draft),
            Some('[') => {
                self.is_unsure = true;
                draft.push(mark);
            }
            _ => draft.push(mark),
        }
    }

    /// Shells first look for the end of these, and then at their content.
    fn backticks(&mut self) {
        let mut text = String::new();
        while let Some(c) = self.rest.next() {
            match c {
                '`' => return self.also(&text, read),
                '\\' => match self.rest.next() {
                    Some(c @ ('`' | '\\' | '$')) => text.push(c),
                    next => {
                        // Whether the backslash stays depends on the quotes around the whole.
                        self.is_unsure |= next == Some('"');
                        text.push('\\');
                        text.extend(next);
                    }
                },
                c => text.push(c),
            }
        }
        self.is_unsure = true;
    }

    /// `${NAME}`, or a longer form with its own rules for quotes.
    fn variable(&mut self, draft: &mut CommandDraft) {
        draft.push('$');
        let is_end = |c: &char| *c == '}';
        let inside: String = self.rest.clone().skip(1).take_while(|c| !is_end(c)).collect();
        if inside.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            while let Some(c) = self.rest.next_if(|c| !is_end(c)) {
                draft.push(c);
            }
        } else {
            self.is_unsure = true;
        }
    }

    fn redirected(&mut self, mark: char, draft: &mut CommandDraft) {
        self.line.is_clear = false;
        // `2>` is not a word.
        draft.word.take_if(|word| word.chars().all(|c| c.is_ascii_digit()));
        self.end_word(draft);
        self.join();
        if mark == '<' && self.rest.next_if_eq(&'<').is_some() {
            self.join();
            match self.rest.next_if_eq(&'<') {
                Some(_) => draft.next = NextWord::Input,
                None => self.begin_here_document(),
            }
            return;
        }
        while self.rest.next_if(|c| "<>&|-".contains(*c)).is_some() {
            self.join();
        }
        if self.rest.next_if_eq(&'(').is_some() {
            self.nested();
            draft.is_begun = true;
        } else {
            draft.next = NextWord::File;
        }
    }
}
