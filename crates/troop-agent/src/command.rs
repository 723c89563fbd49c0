//! The agent `command`: runs what a task says, and its output is the result.

mod output;
mod run;
mod words;

use serde_json::Value;
use troop_model::{MessageKind, Permissions};
use troop_protocol::WireTask;

use crate::{Agent, Outcome, Turn, Work, agent::BoxFuture};
pub(crate) use run::{Ended, Run, run};
pub(crate) use words::Line;

/// Runs the command of each task.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandAgent;

impl Agent for CommandAgent {
    fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match work {
                Work::Task(task) | Work::Resume { task, .. } => work_on(&task, turn).await,
                Work::Start | Work::Mail(_) | Work::Shutdown { .. } => Outcome::Done,
            }
        })
    }

    fn fresh(&self) -> Box<dyn Agent> {
        Box::new(*self)
    }
}

async fn work_on(task: &WireTask, turn: &Turn) -> Outcome {
    let line = match command_of(task) {
        Ok(line) => line,
        Err(reason) => return Outcome::Failed { reason },
    };
    if turn.mode() == Permissions::Plan
        && let Err(outcome) = approved(&line, turn).await
    {
        return outcome;
    }
    let run = run(&line, Run::shown(Some(task), turn)).await;
    match run {
        Err(error) => Outcome::Failed { reason: format!("`{line}` cannot be started: {error}") },
        Ok((Ended::Interrupted, _)) => Outcome::Interrupted,
        Ok((Ended::Exited(0), output)) if output.is_empty() => {
            Outcome::Completed { result: "exit code 0".to_owned(), summary: None }
        }
        Ok((Ended::Exited(0), output)) => Outcome::Completed { result: output, summary: None },
        Ok((ended, output)) => {
            Outcome::Failed { reason: format!("{ended}\n{output}").trim_end().to_owned() }
        }
    }
}

/// What a task says is to be run: `command` of its metadata, else its description.
fn command_of(task: &WireTask) -> Result<Line, String> {
    let line = match task.metadata.get("command") {
        None => Line::parse(&task.description),
        Some(Value::String(text)) => Line::parse(text),
        Some(Value::Array(words)) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            words.collect::<Option<Vec<_>>>().and_then(Line::from_words)
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

/// Asks the lead for leave. How the turn ends without it.
async fn approved(line: &Line, turn: &Turn) -> Result<(), Outcome> {
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
        None => Err(Outcome::Interrupted),
        Some(answer) if answer.approve == Some(true) => Ok(()),
        // It has no other plan. Whoever wants another command writes one into the task.
        Some(answer) => {
            Err(Outcome::Failed { reason: format!("the plan was rejected: {}", answer.content) })
        }
    }
}

#[cfg(test)]
mod tests;
