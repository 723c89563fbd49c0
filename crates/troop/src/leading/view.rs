//! What a person sees of a team at work: a screen that changes, or lines in a pipe.

use anyhow::Result;
use troop_app::story::{Story, StoryKind, StoryLine};
use troop_model::Time;

use crate::{
    output::Printer,
    render::{self, Recent, Screen},
    report::CallerOptions,
};

/// A screen must be so big to be worth one.
const MIN_HEIGHT: usize = 8;
const MIN_WIDTH: usize = 40;

#[derive(Debug)]
pub(super) struct View<'a> {
    printer: &'a Printer,
    options: CallerOptions,
    form: ViewForm,
    recent: Recent,
    /// How many lines of the screen are ours.
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

    /// Shows nothing more: nobody looks.
    pub(super) fn close(&mut self) {
        self.form = ViewForm::Nothing;
    }

    pub(super) fn tell(&mut self, line: &str) -> Result<()> {
        match self.form {
            ViewForm::Screen => line.lines().for_each(|line| self.recent.push(line.to_owned())),
            ViewForm::Lines => self.printer.line(line)?,
            ViewForm::Nothing => {}
        }
        Ok(())
    }

    /// Tells what went wrong, also to who waits for the end alone.
    pub(super) fn warn(&mut self, text: &str) -> Result<()> {
        if self.form == ViewForm::Nothing {
            self.printer.warn(text);
            return Ok(());
        }
        self.tell(&format!("warning: {text}"))
    }

    /// Shows a line of the story. What waits for a person's word is also shown to callers that wait for the end alone.
    pub(super) fn show(&mut self, line: &StoryLine) -> Result<()> {
        let text = render::story_line(line, &self.options);
        if line.kind == StoryKind::Need && self.form == ViewForm::Nothing && self.printer.json {
            self.printer.error_line(&text);
        }
        self.tell(&text)
    }

    /// Draws the screen anew, if there is one.
    pub(super) fn draw(&mut self, story: &Story, now: Time) -> Result<()> {
        let screen = self.printer.screen().filter(|screen| is_big(*screen));
        if let (ViewForm::Screen, Some(screen)) = (self.form, screen) {
            let text = render::live(story, &self.recent, now, screen, &self.options);
            self.printer.redraw(self.n_drawn, &text)?;
            self.n_drawn = text.lines().count();
        }
        Ok(())
    }

    /// Takes the screen away; what comes next stands where it was. Until then it may take a while.
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
