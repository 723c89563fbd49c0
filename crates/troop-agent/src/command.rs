//! The agent `command`: runs the command of each task; its output is the result.

mod output;
mod run;
mod words;

use serde_json::Value;
use troop_model::{MessageKind, Permissions};
use troop_protocol::WireTask;

use crate::{Agent, Turn, TurnOutcome, Work, agent::BoxFuture};
pub(crate) use run::{CommandEnd, CommandRun, run};
pub(crate) use words::CommandLine;

#[derive(Clone, Copy, Debug, Default)]
pub struct CommandAgent;

impl Agent for CommandAgent {
    fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, TurnOutcome> {
        Box::pin(async move {
            match work {
                Work::Task(task) | Work::Resume { task, .. } => work_on(&task, turn).await,
                Work::Start | Work::Mail(_) | Work::Shutdown { .. } => TurnOutcome::Done,
            }
        })
    }

    fn fresh(&self) -> Box<dyn Agent> {
        Box::new(*self)
    }
}

async fn work_on(task: &WireTask, turn: &Turn) -> TurnOutcome {
    let line = match command_of(task) {
        Ok(line) => line,
        Err(reason) => return TurnOutcome::Failed { reason },
    };
    if turn.mode() == Permissions::Plan
        && let Err(outcome) = approved(&line, turn).await
    {
        return outcome;
    }
    let run = run(&line, CommandRun::shown(Some(task), turn)).await;
    match run {
        Err(error) => {
            TurnOutcome::Failed { reason: format!("`{line}` cannot be started: {error}") }
        }
        Ok((CommandEnd::Interrupted, _)) => TurnOutcome::Interrupted,
        Ok((CommandEnd::Exited(0), output)) if output.is_empty() => {
            TurnOutcome::Completed { result: "exit code 0".to_owned(), summary: None }
        }
        Ok((CommandEnd::Exited(0), output)) => {
            TurnOutcome::Completed { result: output, summary: None }
        }
        Ok((ended, output)) => {
            TurnOutcome::Failed { reason: format!("{ended}\n{output}").trim_end().to_owned() }
        }
    }
}

/// The command of a task: `command` in its metadata, or else its description.
fn command_of(task: &WireTask) -> Result<CommandLine, String> {
    let line = match task.metadata.get("command") {
        None => CommandLine::parse(&task.description),
        Some(Value::String(text)) => CommandLine::parse(text),
        Some(Value::Array(words)) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            words.collect::<Option<Vec<_>>>().and_then(CommandLine::from_words)
        }
        Some(_) => None,
    };
    line.ok_or_else(|| {
        format!(
            "`{}` has no command to run; give it a text or a list of words as `command` in its metadata, or a \
             description",
            task.id
        )
    })
}

/// Asks the lead to approve the command. The error is how the turn ends without approval.
async fn approved(line: &CommandLine, turn: &Turn) -> Result<(), TurnOutcome> {
    let answer = async {
        if turn.ask_approval(&format!("run `{line}`")).await.is_err() {
            return std::future::pending().await;
        }
        loop {
            let message = turn.next_mail().await;
            if message.kind == MessageKind::PlanApprovalResponse {
                return message;
            }
        }
    };
    match turn.interrupted().run_until_cancelled(answer).await {
        None => Err(TurnOutcome::Interrupted),
        Some(answer) if answer.approve == Some(true) => Ok(()),
        // There is no other plan. To run another command, change the task.
        Some(answer) => Err(TurnOutcome::Failed {
            reason: format!("the plan was rejected: {}", answer.content),
        }),
    }
}

#[cfg(test)]
mod tests;
