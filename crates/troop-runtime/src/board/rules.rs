//! The deciding half of the board: from waiting commands to rulings. The writer appends what they made and answers.

use troop_model::{Command, Context, Event, Refusal, Span, State, Time, decide};

use super::{CommandEffect, CommandRequest};

/// A command that has been decided but not answered.
#[derive(Clone, Debug)]
pub enum Ruling {
    /// It makes these facts, or none if nothing had to change.
    Made(CommandEffect),
    Refused(Refusal),
    /// It happened before: these are its events' positions.
    Repeated(Span),
}

impl Ruling {
    /// The facts that it makes.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        match self {
            Self::Made(done) => &done.events,
            Self::Refused(_) | Self::Repeated(_) => &[],
        }
    }

    /// Whether the team is deleted after this command. A process that deleted it before may have died before it freed the name.
    #[must_use]
    pub fn deletes_team(&self, request: &CommandRequest) -> bool {
        let is_over = match self {
            Self::Made(_) | Self::Repeated(_) => true,
            Self::Refused(refusal) => matches!(refusal, Refusal::TeamDeleted),
        };
        is_over && request.command == Command::DeleteTeam
    }
}

/// A command that waits for its decision.
pub trait CommandInLine {
    fn request(&self) -> &CommandRequest;

    /// Looks at the state right after the command, before any other is decided. If the command is decided again, so is this.
    fn look(&mut self, state: &State, done: &CommandEffect);
}

/// Whoever only wants the ruling.
impl CommandInLine for &CommandRequest {
    fn request(&self) -> &CommandRequest {
        self
    }

    fn look(&mut self, _: &State, _: &CommandEffect) {}
}

/// Decides commands one after another, each on the effects of those before it. The state has these effects afterwards; until
/// they are in the log, it can be rolled back. `clock` is that of this process.
pub fn decide_all(
    state: &mut State,
    waiting: &mut [impl CommandInLine],
    clock: Time,
) -> Vec<Ruling> {
    state.begin();
    let rulings = waiting.iter_mut().map(|waiting| {
        let ruling = decide_one(state, waiting.request(), clock);
        if let Ruling::Made(done) = &ruling {
            waiting.look(state, done);
        }
        ruling
    });
    rulings.collect()
}

/// Shows the state as it would be after a command, and takes the command back. None if the command would change nothing.
pub fn foresee<T>(
    state: &mut State,
    request: &CommandRequest,
    clock: Time,
    look: impl FnOnce(&State) -> T,
) -> Option<T> {
    state.begin();
    let ruling = decide_one(state, request, clock);
    let foreseen =
        matches!(&ruling, Ruling::Made(done) if !done.events.is_empty()).then(|| look(state));
    state.rollback();
    foreseen
}

impl CommandRequest {
    /// The verdict of the rules by the clock of this process: its facts, or why they refuse it. Every caller of the rules asks
    /// here, so that all judge a lease by the same time.
    pub fn judged(&self, state: &State, clock: Time) -> Result<Vec<Event>, Refusal> {
        let ctx = Context {
            // Time in a log never runs backwards, so a slow clock ends no lease early. A fast one may; its holder is refused
            // then, so that nothing is done twice.
            now: clock.max(state.latest()),
            asker: self.asker.clone(),
            operation: self.operation,
            fence: self.fence,
        };
        decide(state, &self.command, &ctx)
    }
}

/// Decides one command of a batch.
fn decide_one(state: &mut State, request: &CommandRequest, clock: Time) -> Ruling {
    if let Some(span) = state.operation(request.operation) {
        return Ruling::Repeated(span);
    }
    if let Err(refusal) = state.check_age(request.operation, clock) {
        return Ruling::Refused(refusal);
    }
    match request.judged(state, clock) {
        Ok(events) => {
            events.iter().for_each(|event| state.apply(event));
            Ruling::Made(CommandEffect { version: state.version(), events: events.into() })
        }
        Err(refusal) => Ruling::Refused(refusal),
    }
}
