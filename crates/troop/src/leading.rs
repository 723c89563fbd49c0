//! Leads a team for a person at the command line: its story goes to the screen, and signals stop it.

mod view;

use std::time::Duration;

use anyhow::Result;
use troop_app::{
    leading::{Beginning, Leading, RunReport, TeamRun},
    team::TeamDesk,
    trust::ProjectTrust,
};

use crate::{output::Printer, report::CallerOptions, signals::Signals};
use view::View;

/// How often the screen is drawn.
const FRAME: Duration = Duration::from_millis(100);
/// Why a team stops whose output was closed.
const UNSEEN: &str = "nobody sees any more what it does";

/// A team that this process leads.
pub(crate) struct ShownRun {
    run: TeamRun,
    signals: Signals,
    is_stopping: bool,
}

/// Takes the lead of a team. From then on signals stop the team instead of this process.
pub(crate) async fn begin(
    leading: Leading,
    desk: &mut TeamDesk,
    trust: &ProjectTrust,
) -> Result<ShownRun> {
    let prepared = leading.prepare(desk, trust).await?;
    let signals = Signals::listen()?;
    Ok(ShownRun { run: prepared.begin(desk).await?, signals, is_stopping: false })
}

impl ShownRun {
    /// Sets the team to work and shows what it does until it is over.
    pub(crate) async fn run(
        mut self,
        beginning: Beginning,
        printer: &Printer,
    ) -> Result<RunReport> {
        let mut notices = self.run.notices().iter().filter(|_| !printer.json);
        let begun = match notices.try_for_each(|notice| printer.line(notice)) {
            Ok(()) => self.run.set_to_work(beginning).await.map_err(Into::into),
            Err(error) => {
                self.stop(UNSEEN).await;
                Err(error)
            }
        };
        let shown = self.follow(printer).await;
        let finished = self.run.finish().await;
        if let Some(warning) = finished.landing.warning() {
            printer.warn(warning);
        }
        begun.and(shown).map(|()| finished)
    }

    /// Shows the team until it is over. If it can no longer be shown, it is stopped.
    async fn follow(&mut self, printer: &Printer) -> Result<()> {
        // Hints may be pasted in another folder, where another team is meant, so they name this one.
        let team = self.run.story().state().team().map(|team| team.name.as_str());
        let mut view = View::new(printer, CallerOptions::typed().about(team));
        let mut shown = Ok(());
        let mut frames = tokio::time::interval(FRAME);
        loop {
            let show = tokio::select! {
                biased;
                signal = self.signals.next() => {
                    self.stop(&format!("it got {}", signal.name)).await;
                    Ok(())
                }
                event = self.run.next_event() => match event {
                    Some(event) => view.show(&event),
                    None => return shown.and(view.clear()),
                },
                // At the end, a frame must not interrupt the reading of a slow log.
                _ = frames.tick(), if view.is_screen() && !self.run.has_ended() => {
                    view.draw(self.run.story(), self.run.now())
                }
            };
            if let Err(error) = show {
                view.close();
                shown = Err(error);
                if !self.run.has_ended() {
                    self.stop(UNSEEN).await;
                }
            }
        }
    }

    /// Stops the team: first in good order, then at once.
    async fn stop(&mut self, reason: &str) {
        if std::mem::replace(&mut self.is_stopping, true) || self.run.has_ended() {
            self.run.hurry().await;
        } else {
            self.run.stop(reason).await;
        }
    }
}
