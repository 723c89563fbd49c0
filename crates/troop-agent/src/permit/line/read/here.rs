//! Here-documents: text for a program, which may be a shell, with substitutions in it.

use super::{CommandDraft, ShellReader, read};

pub(super) struct HereDocument {
    /// The line that ends it.
    delimiter: String,
    /// Whether it has no substitutions.
    is_literal: bool,
    strips_tabs: bool,
}

impl ShellReader<'_> {
    pub(super) fn begin_here_document(&mut self) {
        let strips_tabs = self.rest.next_if_eq(&'-').is_some();
        self.join();
        while self.rest.next_if(|c| " \t".contains(*c)).is_some() {
            self.join();
        }
        let mut word = CommandDraft::default();
        let mut is_literal = false;
        while let Some(c) = self.next_of_delimiter() {
            is_literal |= "'\"\\".contains(c);
            match c {
                '\'' => self.quoted(&mut word),
                '"' => self.double_quoted(&mut word),
                '\\' => self.escaped(&mut word),
                c => {
                    self.is_unsure |= "$`".contains(c);
                    word.push(c);
                }
            }
        }
        let delimiter = word.word.unwrap_or_default();
        self.awaited.push(HereDocument { delimiter, is_literal, strips_tabs });
    }

    fn next_of_delimiter(&mut self) -> Option<char> {
        self.join();
        self.rest.next_if(|c| !" \t\n;&|<>()".contains(*c))
    }

    pub(super) fn here_documents(&mut self) {
        for here in std::mem::take(&mut self.awaited) {
            let text = self.here_document(&here);
            // A shell may read it.
            self.also(&text, read);
            if !here.is_literal {
                self.also(&text, |text, depth| {
                    ShellReader::read(text, depth, ShellReader::put_ins)
                });
            }
        }
    }

    fn here_document(&mut self, here: &HereDocument) -> String {
        let mut text = String::new();
        while self.rest.peek().is_some() {
            let mut line = self.rest_of_line();
            let mut is_joined = false;
            while !here.is_literal && goes_on(&line) && self.rest.peek().is_some() {
                line.pop();
                line.push_str(&self.rest_of_line());
                is_joined = true;
            }
            let bare = if here.strips_tabs { line.trim_start_matches('\t') } else { &line };
            if bare == here.delimiter {
                // Some shells look for the end in the lines as written, others in the joined lines.
                self.is_unsure |= is_joined;
                return text;
            }
            text.push_str(&line);
            text.push('\n');
        }
        self.is_unsure = true;
        text
    }

    fn rest_of_line(&mut self) -> String {
        self.rest.by_ref().take_while(|c| *c != '\n').collect()
    }

    /// Reads text in which only substitutions run.
    fn put_ins(&mut self) {
        let mut draft = CommandDraft::default();
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => drop(self.rest.next()),
                '$' | '`' => self.put_in(c, &mut draft),
                _ => {}
            }
        }
    }
}

/// Whether the next line belongs to this one: it ends with a backslash that is not escaped.
fn goes_on(line: &str) -> bool {
    line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1
}
