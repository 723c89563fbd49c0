//! The agent itself: each piece of work becomes words for a model, and what it says becomes an outcome.

use std::sync::Arc;

use troop_protocol::{MessageIn, WireTask};

use super::{
    Options,
    chat::Usage,
    hands::Hands,
    history::History,
    model::Model,
    prompt,
    think::{Mind, Thought},
    tools::Files,
};
use crate::{Agent, BoxFuture, Outcome, Turn, Work};

/// Thinks with a model.
#[derive(Debug)]
pub struct BuiltinAgent {
    options: Arc<Options>,
    /// Made with the first work: who only waits needs no memory.
    mind: Option<Mind>,
    /// TEAM.md, as the model was told last.
    team_md: Option<String>,
}

impl BuiltinAgent {
    /// An agent that remembers nothing.
    #[must_use]
    pub fn new(options: Arc<Options>) -> Self {
        Self { options, mind: None, team_md: None }
    }

    async fn work(&mut self, work: Work, turn: &Turn) -> Outcome {
        match work {
            Work::Start | Work::Shutdown { .. } => Outcome::Done,
            Work::Task(task) => self.work_on(&task, None, turn).await,
            Work::Resume { task, mail } => self.work_on(&task, Some(mail), turn).await,
            Work::Mail(mail) => match self.think(prompt::mail(&mail), None, turn).await {
                Thought::Said(_) => Outcome::Done,
                Thought::Over(outcome) => outcome,
                Thought::Interrupted => Outcome::Interrupted,
                Thought::Failed(reason) => Outcome::Failed { reason },
            },
        }
    }

    async fn work_on(
        &mut self,
        task: &WireTask,
        mail: Option<Vec<MessageIn>>,
        turn: &Turn,
    ) -> Outcome {
        let mut words = prompt::task(task);
        if let Some(mail) = mail {
            words = format!("{words}\n{}\n{}", prompt::mail(&mail), prompt::GO_ON);
        }
        match self.think(words, Some(task), turn).await {
            Thought::Said(result) => {
                let first = result.lines().next().unwrap_or_default();
                let summary =
                    (first.len() < result.len()).then(|| troop_model::preview(first, 120));
                Outcome::Completed { result, summary }
            }
            Thought::Over(outcome) => outcome,
            Thought::Interrupted => Outcome::Interrupted,
            Thought::Failed(reason) => Outcome::Failed { reason },
        }
    }

    async fn think(&mut self, words: String, task: Option<&WireTask>, turn: &Turn) -> Thought {
        let options = Arc::clone(&self.options);
        let files = match Files::open(turn.path()) {
            Ok(files) => files,
            Err(error) => {
                let path = turn.path().display();
                return Thought::Failed(format!(
                    "the working folder `{path}` cannot be opened: {error}"
                ));
            }
        };
        let news = turn.team_md().filter(|team_md| self.team_md.as_ref() != Some(team_md));
        let mind = match &mut self.mind {
            Some(mind) => mind,
            none => match options.mind(turn) {
                Ok(mind) => none.insert(mind),
                Err(reason) => return Thought::Failed(reason),
            },
        };
        if let Some(news) = &news {
            mind.history.tell(prompt::team(news));
            self.team_md.clone_from(&Some(news.clone()));
        }
        mind.history.begin(words);
        let key = (options.endpoint.key.as_ref(), options.hidden.as_slice());
        let hands = Hands::new((turn, &files), &options.rules, task, key);
        mind.think(&hands, &options).await
    }
}

impl Options {
    fn mind(&self, turn: &Turn) -> Result<Mind, String> {
        let model = Model::new(self.endpoint.clone(), self.retries, self.patience, self.seed);
        let model = model.map_err(|error| self.told(&error))?;
        let system = prompt::system(turn.place());
        Ok(Mind { model, system, history: History::default(), usage: Usage::default() })
    }
}

impl Agent for BuiltinAgent {
    fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, Outcome> {
        Box::pin(self.work(work, turn))
    }

    fn fresh(&self) -> Box<dyn Agent> {
        Box::new(Self::new(Arc::clone(&self.options)))
    }
}
