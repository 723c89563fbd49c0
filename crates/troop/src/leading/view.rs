//! Shows a team at work: on a screen that changes, or as lines.

use anyhow::Result;
use troop_app::{
    leading::RunEvent,
    story::{Story, StoryKind, StoryLine},
};
use troop_model::Time;

use crate::{
    output::Printer,
    render::{self, Recent, Screen},
    report::CallerOptions,
};

/// The smallest screen that is worth drawing on.
const MIN_HEIGHT: usize = 8;
const MIN_WIDTH: usize = 40;

#[derive(Debug)]
pub(super) struct View<'a> {
    printer: &'a Printer,
    options: CallerOptions,
    form: ViewForm,
    recent: Recent,
    /// How many lines the last drawing has.
    n_drawn: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ViewForm {
    /// A screen that changes.
    Screen,
    /// One line after the other.
    Lines,
    /// Nothing: a program waits for the end.
    Nothing,
}

impl<'a> View<'a> {
    pub(super) fn new(printer: &'a Printer, options: CallerOptions) -> Self {
        let form = match printer.screen() {
            _ if printer.json => ViewForm::Nothing,
            Some(screen) if is_big(screen) => ViewForm::Screen,
            Some(_) | None => ViewForm::Lines,
        };
        Self { printer, options, form, recent: Recent::default(), n_drawn: 0 }
    }

    pub(super) fn is_screen(&self) -> bool {
        self.form == ViewForm::Screen
    }

    /// Shows nothing more: the output was closed.
    pub(super) fn close(&mut self) {
        self.form = ViewForm::Nothing;
    }

    /// Shows what happened.
    pub(super) fn show(&mut self, event: &RunEvent) -> Result<()> {
        match event {
            RunEvent::Happened { line: Some(line), .. } => self.story_line(line),
            // A screen shows questions as long as they wait.
            RunEvent::Reminder(_) if self.is_screen() => Ok(()),
            RunEvent::Reminder(line) => self.story_line(line),
            RunEvent::Warning(text) => self.warn(text),
            RunEvent::Happened { line: None, .. } => Ok(()),
        }
    }

    fn text(&mut self, line: &str) -> Result<()> {
        match self.form {
            ViewForm::Screen => line.lines().for_each(|line| self.recent.push(line.to_owned())),
            ViewForm::Lines => self.printer.line(line)?,
            ViewForm::Nothing => {}
        }
        Ok(())
    }

    /// Shows a warning. With `--json`, it goes to standard error.
    fn warn(&mut self, text: &str) -> Result<()> {
        if self.form == ViewForm::Nothing {
            self.printer.warn(text);
            return Ok(());
        }
        self.text(&format!("warning: {text}"))
    }

    /// Shows a line of the story. With `--json`, questions for a person go to standard error.
    fn story_line(&mut self, line: &StoryLine) -> Result<()> {
        let text = render::story_line(line, &self.options);
        if line.kind == StoryKind::Need && self.form == ViewForm::Nothing && self.printer.json {
            self.printer.error_line(&text);
        }
        self.text(&text)
    }

    /// Draws the screen, if there is one.
    pub(super) fn draw(&mut self, story: &Story, now: Time) -> Result<()> {
        let screen = self.printer.screen().filter(|screen| is_big(*screen));
        if let (ViewForm::Screen, Some(screen)) = (self.form, screen) {
            let text = render::live(story, &self.recent, now, screen, &self.options);
            self.printer.redraw(self.n_drawn, &text)?;
            self.n_drawn = text.lines().count();
        }
        Ok(())
    }

    /// Takes the screen away. What is printed next comes in its place, which may take a while.
    pub(super) fn clear(&mut self) -> Result<()> {
        if self.form == ViewForm::Screen {
            let line = render::paint(render::DIM, "the team has ended; its work is being merged");
            self.printer.redraw(std::mem::take(&mut self.n_drawn), &line)?;
        }
        Ok(())
    }
}

fn is_big(screen: Screen) -> bool {
    screen.height >= MIN_HEIGHT && screen.width >= MIN_WIDTH
}
