//! Shows a stream in the form that was asked for.

use std::time::Duration;

use anyhow::Result;
use serde::{Serialize, de::IgnoredAny};
use tokio::time::Instant;
use troop_app::observing::ObservedStory;
use troop_model::Time;
use troop_observe::{
    LineSplitter, ObservedSession, Observer, ObserverCounts, ObserverOutput, TeamEvent,
};

use crate::{
    cli::ObserveArgs,
    output::Printer,
    render::{self, Recent, Screen, ScreenContent},
    report::Error,
};

/// The least time between two drawings of the screen while there is more to read.
const PAUSE: Duration = Duration::from_millis(100);

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObservedForm {
    /// Lines for people about what happens, and the team at the end.
    Story,
    /// Events as JSON lines.
    Events,
    /// The final state as JSON.
    State,
    /// The stream itself, with our messages added.
    PassThrough,
    /// The team on a screen.
    Screen,
}

impl ObservedForm {
    pub(super) fn of(args: &ObserveArgs, printer: &Printer) -> Self {
        match args {
            ObserveArgs { state_json: true, .. } => Self::State,
            ObserveArgs { pass_through: true, .. } => Self::PassThrough,
            ObserveArgs { watch: true, .. } if printer.screen().is_some() => Self::Screen,
            _ if printer.json => Self::Events,
            _ => Self::Story,
        }
    }
}

/// An observer, and the output of what it says.
#[derive(Debug)]
pub(super) struct Showing<'a> {
    observer: Observer,
    lines: LineSplitter,
    n_lines: u64,
    /// Whether any line can be a JSON object.
    has_objects: bool,
    page: ObservedPage,
    printer: &'a Printer,
    drawn: Option<LastDrawing>,
}

/// The last drawing.
#[derive(Clone, Copy, Debug)]
struct LastDrawing {
    n_lines: usize,
    screen: Screen,
    at: Instant,
}

/// The final state, for programs.
#[derive(Serialize)]
struct ObservedState<'a> {
    #[serde(flatten)]
    session: &'a ObservedSession,
    counts: &'a ObserverCounts,
}

/// Output that is not printed yet.
#[derive(Debug)]
struct ObservedPage {
    form: ObservedForm,
    width: usize,
    out: Vec<u8>,
    recent: Recent,
    story: ObservedStory,
}

impl<'a> Showing<'a> {
    pub(super) fn new(observer: Observer, form: ObservedForm, printer: &'a Printer) -> Self {
        let page = ObservedPage {
            form,
            width: printer.width(),
            out: Vec::new(),
            recent: Recent::default(),
            story: ObservedStory::new(observer.team()),
        };
        Self {
            observer,
            lines: LineSplitter::default(),
            n_lines: 0,
            has_objects: false,
            page,
            printer,
            drawn: None,
        }
    }

    pub(super) fn observer(&self) -> &Observer {
        &self.observer
    }

    /// Returns whether anything worth saving has changed since the last call.
    pub(super) fn take_changed(&mut self) -> bool {
        self.observer.take_changed()
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8], now: Time) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (n_taken, line) = self.lines.next(rest);
            let (taken, after) = rest.split_at(n_taken);
            rest = after;
            self.page.pass(taken);
            if let Some(line) = line {
                self.n_lines += 1;
                self.has_objects |= is_object(line);
                self.page.add(self.observer.line(line, now))?;
            }
        }
        self.page.print(self.printer)
    }

    /// Notes that the next bytes are the beginning of another file.
    pub(super) fn restart(&mut self) {
        self.lines.clear();
    }

    /// Goes on with another session, of which nothing is known.
    pub(super) fn switch(&mut self, name: &str, now: Time) -> Result<()> {
        self.page.add(self.observer.end(now))?;
        self.page.print(self.printer)?;
        if self.page.form == ObservedForm::Story {
            let session = self.observer.session();
            self.printer.text(&render::observed(&session, self.printer.width()))?;
        }
        self.observer = Observer::default();
        self.lines.clear();
        self.page.story = ObservedStory::new(None);
        let news = format!("a newer session has begun: reading {name}");
        if self.page.form == ObservedForm::Screen {
            self.page.recent.push(news);
        } else {
            self.printer.error_line(&news);
        }
        Ok(())
    }

    /// Draws the screen, if there is one. While there is more to read, not too often.
    pub(super) fn draw(&mut self, is_quiet: bool) -> Result<()> {
        let is_due = self.drawn.is_none_or(|it| it.at.elapsed() >= PAUSE);
        let screen = self.printer.screen().filter(|_| self.page.form == ObservedForm::Screen);
        if let (Some(screen), true) = (screen, is_quiet || is_due) {
            self.page.width = screen.width;
            let session = self.observer.session();
            let seen = match (&session.team, self.observer.over()) {
                (Some(team), _) => ScreenContent::Team(team),
                (None, Some(team)) => ScreenContent::Over(team),
                (None, None) => ScreenContent::Nothing,
            };
            let text = render::observed_screen(&seen, &self.page.recent, screen);
            match self.drawn {
                // The size changed: the terminal has wrapped lines differently or lost some, so ours have moved.
                Some(drawn) if drawn.screen != screen => self.printer.redraw_all(&text)?,
                drawn => self.printer.redraw(drawn.map_or(0, |it| it.n_lines), &text)?,
            }
            self.drawn =
                Some(LastDrawing { n_lines: text.lines().count(), screen, at: Instant::now() });
        }
        Ok(())
    }

    /// Takes the last line, which has no line break, if it is complete or will not come again. Returns whether it is complete.
    pub(super) fn take_last(&mut self, now: Time, comes_again: bool) -> Result<bool> {
        let Some(line) = self.lines.end() else { return Ok(false) };
        self.n_lines += 1;
        self.has_objects |= is_object(line);
        // A truncated object does not parse.
        let is_complete = serde_json::from_slice::<IgnoredAny>(line).is_ok();
        if is_complete || !comes_again {
            let said = self.observer.line(line, now);
            if said.len() > 0 {
                self.page.pass(b"\n");
            }
            self.page.add(said)?;
        }
        Ok(is_complete)
    }

    /// Shows the rest: the final state, and warnings.
    pub(super) fn end(&mut self, now: Time) -> Result<()> {
        self.page.add(self.observer.end(now))?;
        self.page.print(self.printer)?;
        self.draw(true)?;
        match self.page.form {
            ObservedForm::State => {
                let session = &self.observer.session();
                let counts = self.observer.counts();
                self.printer.json(&ObservedState { session, counts })?;
            }
            ObservedForm::Story => {
                let session = self.observer.session();
                self.printer.text(&render::observed(&session, self.printer.width()))?;
            }
            ObservedForm::Screen | ObservedForm::Events | ObservedForm::PassThrough => {}
        }
        self.warn();
        // A stream that is only passed on may be anything.
        if self.n_lines == 0 || self.has_objects || self.page.form == ObservedForm::PassThrough {
            return Ok(());
        }
        let message = "no line was recognised: none is a JSON object";
        let hint = "make the agent print JSON: `claude -p --verbose --output-format stream-json \"…\" | troop observe`";
        Err(Error::refused(message, hint).into())
    }

    /// Warns about what was not understood.
    fn warn(&self) {
        let counts = self.observer.counts();
        if !counts.unknown_tools.is_empty() {
            let named = |(name, n): (&String, &u64)| format!("`{}` ({n})", render::one_line(name));
            let names: Vec<_> = counts.unknown_tools.iter().map(named).collect();
            let names = names.join(", ");
            self.printer.warn(format!("tools unknown to this version: {names}"));
        }
        for (n, what) in [
            (counts.unreadable, ("could not be read", "could not be read")),
            (self.lines.n_too_long(), ("was too long to read", "were too long to read")),
        ] {
            if n > 0 {
                let (lines, what) = if n == 1 { ("line", what.0) } else { ("lines", what.1) };
                self.printer.warn(format!("{n} {lines} {what}"));
            }
        }
    }
}

/// Whether a line can be a JSON object, which every line of a session is.
fn is_object(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{")
}

impl ObservedPage {
    /// Passes bytes on unchanged, if that is the form.
    fn pass(&mut self, bytes: &[u8]) {
        if self.form == ObservedForm::PassThrough {
            self.out.extend_from_slice(bytes);
        }
    }

    fn add(&mut self, said: impl Iterator<Item = ObserverOutput>) -> Result<()> {
        for output in said {
            match (output, self.form) {
                (ObserverOutput::Supplement(added), ObservedForm::PassThrough) => {
                    serde_json::to_writer(&mut self.out, &added)?;
                    self.out.push(b'\n');
                }
                (ObserverOutput::Event(event), ObservedForm::Events) => {
                    serde_json::to_writer(&mut self.out, &event)?;
                    self.out.push(b'\n');
                }
                (ObserverOutput::Event(event), ObservedForm::Story) => {
                    let line = self.line(&event);
                    self.out.extend_from_slice(line.as_bytes());
                    self.out.push(b'\n');
                }
                (ObserverOutput::Event(event), ObservedForm::Screen) => {
                    let line = self.line(&event);
                    self.recent.push(line);
                }
                (ObserverOutput::Supplement(_) | ObserverOutput::Event(_), _) => {}
            }
        }
        Ok(())
    }

    fn line(&mut self, event: &TeamEvent) -> String {
        render::observed_line(event.at, &self.story.tell(event), self.width)
    }

    fn print(&mut self, printer: &Printer) -> Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        if self.form == ObservedForm::Story {
            return printer.text(&String::from_utf8_lossy(&out));
        }
        printer.pass_on(&out)
    }
}
