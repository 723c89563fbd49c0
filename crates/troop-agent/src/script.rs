//! The agent `script`: follows a file, always in the same way. For tests, demonstrations and rehearsals.
//!
//! `docs/script.md` describes the language.

mod lines;
mod parse;
mod perform;
mod share;
mod syntax;
mod variables;

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use thiserror::Error;
use troop_model::Party;
use troop_protocol::{Level, MessageIn, WireTask};

use crate::{Agent, Turn, TurnOutcome, Work, agent::BoxFuture};
use perform::{Performance, ScriptStop};
use syntax::{Script, Trigger};
use variables::Variables;

#[cfg(test)]
mod tests;

/// How much of an unhandled message an error shows.
const MAX_SHOWN: usize = 80;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScriptError {
    #[error("the script `{}` cannot be read", file.display())]
    Unreadable {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}`, line {line}: {problem}", file.display())]
    Senseless {
        file: PathBuf,
        line: usize,
        /// The mistake in the line, and the right form.
        problem: String,
    },
}

#[derive(Debug)]
pub struct ScriptAgent {
    script: Arc<Script>,
    memory: ScriptMemory,
}

/// The memory of a script from turn to turn.
#[derive(Debug, Default)]
struct ScriptMemory {
    variables: Variables,
    /// The lines of the `only once` blocks that have run.
    done_once: HashSet<usize>,
    /// Mail that no handler took: a step may wait for it later.
    aside: Vec<MessageIn>,
    /// Whether the script has waited once for the lead's first context.
    has_awaited_context: bool,
    /// Whether a handler ran for something that a person said.
    has_heard_person: bool,
}

impl ScriptAgent {
    /// Reads a script.
    pub fn read(file: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(file)
            .map_err(|source| ScriptError::Unreadable { file: file.to_owned(), source })?;
        Self::parse(file, &text)
    }

    fn parse(file: &Path, text: &str) -> Result<Self, ScriptError> {
        let script = Script::parse(text).map_err(|problem| ScriptError::Senseless {
            file: file.to_owned(),
            line: problem.line,
            problem: problem.what,
        })?;
        Ok(Self { script: Arc::new(script), memory: ScriptMemory::default() })
    }

    async fn work(&mut self, work: Work, turn: &Turn) -> TurnOutcome {
        let script = Arc::clone(&self.script);
        let mut performance = Performance::new(&script, &mut self.memory, turn);
        let ended = match work {
            Work::Start => performance.react(|when| *when == Trigger::Started).await,
            Work::Shutdown { .. } => performance.react(|when| *when == Trigger::Shutdown).await,
            Work::Mail(mail) => match performance.read(mail).await {
                Ok(None) => Ok(()),
                Ok(Some(reason)) => Err(ScriptStop::Failed(reason)),
                Err(stop) => Err(stop),
            },
            Work::Task(task) => performance.work_on(&task).await,
            Work::Resume { task, mail } => match performance.read(mail).await {
                Ok(fault) => {
                    if let Some(reason) = fault {
                        turn.log(Level::Error, &reason).await;
                    }
                    performance.work_on(&task).await
                }
                Err(stop) => Err(stop),
            },
        };
        ended.map_or_else(TurnOutcome::from, |()| TurnOutcome::Done)
    }
}

impl Agent for ScriptAgent {
    fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, TurnOutcome> {
        Box::pin(self.work(work, turn))
    }

    fn fresh(&self) -> Box<dyn Agent> {
        Box::new(Self { script: Arc::clone(&self.script), memory: ScriptMemory::default() })
    }
}

impl Performance<'_> {
    async fn work_on(&mut self, task: &WireTask) -> Result<(), ScriptStop> {
        self.begin_task(task);
        let subject = task.subject.clone();
        let is_meant =
            |when: &Trigger| matches!(when, Trigger::Task(glob) if glob.is_match(&subject));
        if !self.has(is_meant) {
            let reason = format!("the script has no `when task` for `{subject}`");
            return Err(ScriptStop::Failed(reason));
        }
        self.react(is_meant).await?;
        let result = format!("did all steps for `{subject}`");
        Err(ScriptStop::End(TurnOutcome::Completed { result, summary: None }))
    }

    /// An error if no handler took what a person said first: such a script has not even begun.
    fn unheard(&self, message: &MessageIn) -> Option<String> {
        let is_first = message.from == Party::user().as_str() && !self.memory.has_heard_person;
        let begins = |when: &Trigger| *when == Trigger::Started || when.is_for(message);
        let said = troop_model::preview(&message.content, MAX_SHOWN);
        (is_first && !self.has(begins))
            .then(|| format!("the script has no `when mail` for `{said}`"))
    }

    /// Handles each message. Returns the first failure; the other messages are handled anyway.
    async fn read(&mut self, mail: Vec<MessageIn>) -> Result<Option<String>, ScriptStop> {
        let mut fault = None;
        for message in mail {
            let unheard = self.unheard(&message);
            let Err(stop) = self.receive(message).await else {
                fault = fault.or(unheard);
                continue;
            };
            match TurnOutcome::from(stop) {
                TurnOutcome::Interrupted => return Err(ScriptStop::End(TurnOutcome::Interrupted)),
                TurnOutcome::Failed { reason } | TurnOutcome::Hopeless { reason } => {
                    fault = fault.or(Some(reason));
                }
                // There is no task to end.
                TurnOutcome::Completed { .. }
                | TurnOutcome::GaveBack { .. }
                | TurnOutcome::Refused { .. }
                | TurnOutcome::Done => {}
            }
        }
        Ok(fault)
    }
}
