//! The agent itself: turns each piece of work into words for a model, and the model's words into an outcome.

use std::sync::Arc;

use troop_model::{Dialect, LEAD_ALIASES, MessageKind, Role, USER};
use troop_protocol::{Gate, Level, MessageIn, WireTask};

use super::{
    BuiltinOptions,
    chat::TokenUsage,
    hands::{Hands, Keys},
    history::Begin,
    key, long,
    model::Model,
    prompt as words,
    servers::{McpHost, McpServers},
    team::TeamTools,
    think::{Mind, ResultText, Thought, result_text},
    tools::OwnTool,
};
use crate::{
    Agent, BoxFuture, Thinking, Turn, TurnOutcome, Work,
    files::WorkFolder,
    prompt::{self, Instructions},
};

/// Thinks with a model.
#[derive(Debug)]
pub struct BuiltinAgent {
    options: Arc<BuiltinOptions>,
    /// Made with the first work, because an idle member needs no memory.
    mind: Option<Mind>,
    /// Started with the first work.
    servers: Option<McpServers>,
    is_lead: bool,
    /// Whether its lead does not tell who is in the team.
    is_alone: bool,
    /// Whether a limit was reached and reported, so that mail waits for new work.
    lets_mail_wait: bool,
}

/// A piece of work in words.
struct WorkPrompt {
    text: String,
    begin: Begin,
    /// The part of it that people wrote.
    of_people: Option<String>,
    /// The messages, if the work is mail.
    mail: Vec<MessageIn>,
}

impl BuiltinAgent {
    /// An agent that remembers nothing.
    #[must_use]
    pub fn new(options: Arc<BuiltinOptions>) -> Self {
        Self {
            options,
            mind: None,
            servers: None,
            is_lead: false,
            is_alone: false,
            lets_mail_wait: false,
        }
    }

    async fn work(&mut self, work: Work, turn: &Turn) -> TurnOutcome {
        match work {
            Work::Start | Work::Shutdown { .. } => TurnOutcome::Done,
            Work::Task(task) => self.work_on(task, None, turn).await,
            Work::Resume { task, mail } => self.work_on(task, Some(mail), turn).await,
            Work::Mail(mail) => match self.read(mail, turn).await.last_words() {
                Ok(text) => self.answer(&text, turn).await,
                Err(outcome) => outcome,
            },
        }
    }

    /// Thinks about mail.
    async fn read(&mut self, mut mail: Vec<MessageIn>, turn: &Turn) -> Thought {
        // An agent waits for the answer to its question, so this one is for a predecessor of it.
        mail.retain(|message| message.kind != MessageKind::PermissionResponse);
        if mail.is_empty() {
            return Thought::Over(TurnOutcome::Done);
        }
        let text = prompt::mail(&mail);
        let of_people: Vec<_> = mail.iter().filter(|it| it.from == USER).cloned().collect();
        let of_people = (!of_people.is_empty()).then(|| prompt::mail(&of_people));
        let work = WorkPrompt { text, begin: Begin::Anew, of_people, mail };
        let thought = self.think(work, None, turn).await;
        // A lead that reaches a limit ends the run, which tells people how to go on.
        if let Thought::Hopeless(limit) = &thought
            && !self.is_lead
            && self.mind.as_ref().is_some_and(Mind::is_at_limit)
        {
            self.lets_mail_wait = true;
            return Thought::Hopeless(format!("{limit}; {}", words::MAIL_WAITS));
        }
        thought
    }

    /// Sends the last words of a lead to the user.
    async fn answer(&self, text: &str, turn: &Turn) -> TurnOutcome {
        if self.is_lead {
            let text = long::kept(text, None, turn).await;
            // If the wire is gone, the turn ends anyway.
            drop(turn.say("user", &text).await);
        }
        TurnOutcome::Done
    }

    async fn work_on(
        &mut self,
        task: WireTask,
        mail: Option<Vec<MessageIn>>,
        turn: &Turn,
    ) -> TurnOutcome {
        let (begin, work) = match mail {
            Some(mail) => (Begin::Again, Work::Resume { task: task.clone(), mail }),
            None => (Begin::Anew, Work::Task(task.clone())),
        };
        let mut text = work.prompt().unwrap_or_default();
        if let Some(folder) = task.run.as_ref().and_then(|run| run.workspace.as_deref()) {
            text.push_str(&words::workspace(folder));
        }
        let work = WorkPrompt { text, begin, of_people: None, mail: Vec::new() };
        let thought = self.think(work, Some(&task), turn).await;
        // The cost of a task does not count for the mail after it.
        self.mind.iter_mut().for_each(|mind| mind.meter = None);
        let result = match thought.last_words() {
            Ok(_) if !self.is_open(&task, turn).await => return TurnOutcome::Done,
            Ok(result) => result,
            Err(outcome) => return outcome,
        };
        let ResultText { result, summary } = result_text(&result, &task, turn).await;
        TurnOutcome::Completed { result, summary }
    }

    /// Whether the end of a task is still to be reported.
    async fn is_open(&self, task: &WireTask, turn: &Turn) -> bool {
        match self.team(turn).await {
            Ok(Some(team)) => team.is_open(task).await,
            Ok(None) | Err(_) => true,
        }
    }

    /// The member's team, if there is one. After an error we ask again with the next work.
    async fn team<'a>(&self, turn: &'a Turn) -> Result<Option<TeamTools<'a>>, String> {
        if self.is_alone { Ok(None) } else { TeamTools::find(turn, &self.options.gate).await }
    }

    async fn think(&mut self, work: WorkPrompt, task: Option<&WireTask>, turn: &Turn) -> Thought {
        let options = Arc::clone(&self.options);
        let files = match WorkFolder::open(turn.path()) {
            Ok(files) => files,
            Err(error) => {
                let path = turn.path().display();
                return Thought::Failed(format!(
                    "the working folder `{path}` cannot be opened: {error}"
                ));
            }
        };
        let team = match self.team(turn).await {
            Ok(team) => team,
            Err(why) => return Thought::Failed(why),
        };
        let is_on_table = team.is_none() && options.gate == Gate::Open && !turn.has_board();
        // A lead that did not know its team once is not asked again.
        self.is_alone = team.is_none() && !is_on_table;
        self.is_lead = team.as_ref().is_some_and(|team| team.role() == Role::Lead);
        // An agent with a lead is in a team.
        let role = team.as_ref().map(TeamTools::role).or(is_on_table.then_some(Role::Member));
        let dialect = team.as_ref().map_or(Dialect::Claude, TeamTools::dialect);
        let servers: &McpServers = match &mut self.servers {
            Some(servers) => servers,
            none => none.insert(options.start_servers(turn).await),
        };
        let mind = match &mut self.mind {
            Some(mind) => mind,
            none => match options.mind(turn, role, dialect).await {
                Ok(mind) => none.insert(mind),
                Err(reason) => return Thought::Failed(reason),
            },
        };
        match is_on_table {
            true => mind.hear_of_team(Some(prompt::team_on_table(turn.place(), &turn.context()))),
            false => tell_of_team(mind, team.as_ref(), turn).await,
        }
        if work.mail.is_empty() || gives_work(&work.mail, team.as_ref()) {
            mind.meter = None;
            self.lets_mail_wait = false;
        }
        if let Some(goal) = work.of_people.filter(|_| self.is_lead) {
            mind.history.keep_goal(goal);
        }
        mind.history.begin(work.text, work.begin);
        if self.lets_mail_wait {
            // The model reads it with the next work.
            return Thought::Over(TurnOutcome::Done);
        }
        let hands = Hands {
            turn,
            files: &files,
            task,
            rights: &options.rights,
            keys: Keys::new(mind.model.endpoint().key.clone(), &options.key.hidden),
            team,
            gate: &options.gate,
            servers,
            described: options.sources.definitions(files.root()),
        };
        let before = mind.usage;
        let thought = Box::pin(mind.think(&hands, &options)).await;
        turn.log(Level::Info, &options.cost(&before, &mind.usage)).await;
        thought
    }
}

/// Tells the model about its team as it is for its own tools, if the lead has sent another TEAM.md.
async fn tell_of_team(mind: &mut Mind, team: Option<&TeamTools<'_>>, turn: &Turn) {
    match team {
        Some(team) if mind.take_team_news(turn.team_md()) => {
            mind.hear_of_team(team.description().await.or_else(|| turn.team_md()));
        }
        Some(_) => {}
        None => mind.hear_of_team(turn.team_md()),
    }
}

/// Whether mail is new work, for which limits start again: the user or the lead writes, or the lead hears how a task ended.
/// Teammates could write to each other for ever.
fn gives_work(mail: &[MessageIn], team: Option<&TeamTools<'_>>) -> bool {
    let is_of_lead = |name: &str| match team {
        Some(team) => team.is_led_by(name),
        None => LEAD_ALIASES.contains(&name),
    };
    let is_lead = team.is_some_and(|team| team.role() == Role::Lead);
    let is_report = |it: &MessageIn| {
        it.task_id.is_some() && matches!(it.kind, MessageKind::Idle | MessageKind::System)
    };
    mail.iter().any(|it| it.from == USER || is_of_lead(&it.from) || is_lead && is_report(it))
}

impl BuiltinOptions {
    /// The cost of a piece of work, and of all work so far.
    fn cost(&self, before: &TokenUsage, now: &TokenUsage) -> String {
        let tokens = now.total().saturating_sub(before.total());
        let dollars = self.price.map(|price| price.of(now) - price.of(before));
        let dollars = dollars.map(|dollars| format!(", ${dollars:.4}")).unwrap_or_default();
        format!("used {tokens} tokens{dollars}; {} in all", now.total())
    }

    async fn start_servers(&self, turn: &Turn) -> McpServers {
        let host = McpHost::of(turn, &self.key.hidden);
        McpServers::start(&self.servers, host, self.server_timeouts, turn).await
    }

    async fn mind(
        &self,
        turn: &Turn,
        role: Option<Role>,
        dialect: Dialect,
    ) -> Result<Mind, String> {
        let mut endpoint = self.endpoint.clone();
        if let (None, Some(command)) = (&endpoint.key, &self.key.command) {
            endpoint.key = Some(key::printed_by(command, turn).await?);
        }
        let model = Model::new(endpoint, self.requests).map_err(|error| self.told(&error))?;
        let instructions = Instructions {
            role,
            dialect,
            ending: words::ending(role),
            about: &self.about,
            profile: &self.profile,
            sources: &self.sources,
            veil: &self.rights.rules.veil_over_denied(OwnTool::Read.name()),
        };
        Ok(Mind::new(model, instructions.text(turn.place())))
    }
}

impl Agent for BuiltinAgent {
    fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, TurnOutcome> {
        Box::pin(self.work(work, turn))
    }

    fn fresh(&self) -> Box<dyn Agent> {
        Box::new(Self::new(Arc::clone(&self.options)))
    }

    fn thinks(&self) -> Option<Thinking> {
        let BuiltinOptions { endpoint, price, .. } = &*self.options;
        Some(Thinking { unpriced: price.is_none().then(|| endpoint.model.clone()) })
    }
}
