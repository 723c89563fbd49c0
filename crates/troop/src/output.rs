//! The one place that prints.

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use serde::Serialize;

use crate::{
    cli::{Colour, Global},
    render::{self, Screen},
    report::{CallerOptions, Error, Hint},
};

/// The width of a page if the terminal does not tell.
const DEFAULT_WIDTH: usize = 100;

/// Where output goes, and in which form.
#[derive(Clone, Debug)]
pub(crate) struct Printer {
    /// Whether programs read it.
    pub(crate) json: bool,
    width: usize,
}

impl Printer {
    pub(crate) fn new(global: &Global) -> Self {
        let choice = match global.color {
            Colour::Auto => anstream::ColorChoice::Auto,
            Colour::Always => anstream::ColorChoice::Always,
            Colour::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        let width =
            terminal_size::terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| width.0.into());
        Self { json: global.json, width }
    }

    /// For errors that come before anything is known about the output.
    pub(crate) fn plain(json: bool) -> Self {
        Self { json, width: DEFAULT_WIDTH }
    }

    /// How many columns a line may have.
    pub(crate) fn width(&self) -> usize {
        self.width.max(40)
    }

    /// Whether a person watches the screen.
    pub(crate) fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// How big the screen is that a person watches, if one does.
    pub(crate) fn screen(&self) -> Option<Screen> {
        let (width, height) = self.is_terminal().then(terminal_size::terminal_size).flatten()?;
        Some(Screen { width: width.0.into(), height: height.0.into() })
    }

    /// Writes a text over the last lines of the screen.
    pub(crate) fn redraw(&self, n_lines: usize, text: &str) -> Result<()> {
        let mut out = io::stdout();
        let text = coloured(&out, text);
        write_all(&mut out, over_lines(n_lines, &text))
    }

    /// Writes a text over the whole screen, because its old text has moved to an unknown place.
    pub(crate) fn redraw_all(&self, text: &str) -> Result<()> {
        let mut out = io::stdout();
        let text = coloured(&out, text);
        write_all(&mut out, over_screen(&text))
    }

    /// Prints text for people. Colours are removed if the output is not a terminal.
    pub(crate) fn text(&self, text: &str) -> Result<()> {
        write_all(&mut anstream::stdout(), text)
    }

    /// Prints the contents of a file: as they are to a program, and cleaned to a terminal.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<()> {
        if !self.is_terminal() {
            return write_all(&mut io::stdout(), bytes);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text(&render::clean(text)),
            Err(_) => {
                let hint = "write it to a file: `--output FILE`";
                Err(Error::misuse("the file is not text, so it is not printed to a terminal", hint)
                    .into())
            }
        }
    }

    /// Prints one JSON document: indented to a terminal, on one line to a pipe.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<()> {
        let mut text = if self.is_terminal() {
            serde_json::to_string_pretty(value)?
        } else {
            serde_json::to_string(value)?
        };
        text.push('\n');
        write_all(&mut io::stdout(), &text)
    }

    /// Passes on bytes as they are.
    pub(crate) fn pass_on(&self, bytes: &[u8]) -> Result<()> {
        write_all(&mut io::stdout(), bytes)
    }

    /// Prints one line of a stream.
    pub(crate) fn line(&self, line: &str) -> Result<()> {
        write_all(&mut anstream::stdout(), format!("{line}\n"))
    }

    /// Asks a person. Anything but a clear yes is a no.
    pub(crate) fn confirm(&self, question: &str) -> Result<bool> {
        write_all(&mut anstream::stderr(), format!("{question} [y/N] "))?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    pub(crate) fn warn(&self, warning: impl Into<Hint>) {
        warn(warning);
    }

    pub(crate) fn error_line(&self, text: &str) {
        error_line(text);
    }
}

/// A text without its colours, if the output is not a terminal.
fn coloured(out: &io::Stdout, text: &str) -> String {
    if anstream::AutoStream::choice(out) == anstream::ColorChoice::Never {
        return anstream::adapter::strip_str(text).to_string();
    }
    text.to_owned()
}

/// Draws a text over the last lines of a screen. Lines are cleared one by one, because some terminals keep text that is
/// cleared all at once.
fn over_lines(n_lines: usize, text: &str) -> String {
    let up = |n_lines: usize| match n_lines {
        0 => String::new(),
        n_lines => format!("\r\u{1b}[{n_lines}A"),
    };
    let n_left = n_lines.saturating_sub(text.lines().count());
    up(n_lines) + &cleared(text) + &"\u{1b}[K\n".repeat(n_left) + &up(n_left)
}

/// Draws a text at the top of a screen and clears the rest.
fn over_screen(text: &str) -> String {
    format!("\u{1b}[H{}\u{1b}[J", cleared(text))
}

/// The lines of a text, each of which clears the rest of its row.
fn cleared(text: &str) -> String {
    text.lines().map(|line| format!("{line}\u{1b}[K\n")).collect()
}

/// Warns a person. The command continues.
pub(crate) fn warn(warning: impl Into<Hint>) {
    error_line(&format!("warning: {}", CallerOptions::typed().added_to(&warning.into())));
}

fn error_line(text: &str) {
    // If even this cannot be written, nobody is left to tell.
    drop(writeln!(anstream::stderr(), "{text}"));
}

/// Writes and flushes. A reader that has seen enough, as `head` does, is not an error.
fn write_all(out: &mut impl Write, text: impl AsRef<[u8]>) -> Result<()> {
    match out.write_all(text.as_ref()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ClosedOutput.into()),
        other => Ok(other?),
    }
}

/// The reader of our output went away. The program ends quietly.
#[derive(Debug)]
pub(crate) struct ClosedOutput;

impl std::fmt::Display for ClosedOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the output was closed")
    }
}

impl std::error::Error for ClosedOutput {}
