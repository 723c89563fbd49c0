//! The agent itself: each piece of work becomes words for a model, and what it says becomes an outcome.

use std::{collections::BTreeSet, sync::Arc};

use troop_model::{LEAD_ALIASES, MessageKind, Role, USER};
use troop_protocol::{Level, MessageIn, WireTask};

use super::{
    BuiltinOptions,
    chat::TokenUsage,
    context::ContextSources,
    hands::Hands,
    history::Begin,
    key, long,
    model::Model,
    prompt,
    servers::{McpHost, McpServers},
    team::TeamTools,
    think::{Mind, Thought},
    tools::OwnTool,
};
use crate::{Agent, BoxFuture, Definition, Thinking, Turn, TurnOutcome, Work, files::WorkFolder};

/// Thinks with a model.
#[derive(Debug)]
pub struct BuiltinAgent {
    options: Arc<BuiltinOptions>,
    /// Made with the first work: who only waits needs no memory.
    mind: Option<Mind>,
    /// The MCP servers of the project, once they are needed.
    servers: Option<McpServers>,
    is_lead: bool,
    /// Whether its lead does not say who is in the team.
    is_alone: bool,
    /// Who has said that it is idle.
    started: BTreeSet<String>,
    /// Whether a limit is reached, which was told, so that mail waits for new work.
    lets_mail_wait: bool,
}

impl BuiltinAgent {
    /// An agent that remembers nothing.
    #[must_use]
    pub fn new(options: Arc<BuiltinOptions>) -> Self {
        let (mind, servers, started) = Default::default();
        let (is_lead, is_alone, lets_mail_wait) = (false, false, false);
        Self { options, mind, servers, is_lead, is_alone, started, lets_mail_wait }
    }

    async fn work(&mut self, work: Work, turn: &Turn) -> TurnOutcome {
        match work {
            Work::Start | Work::Shutdown { .. } => TurnOutcome::Done,
            Work::Task(task) => self.work_on(&task, None, turn).await,
            Work::Resume { task, mail } => self.work_on(&task, Some(mail), turn).await,
            Work::Mail(mail) => match self.read(mail, turn).await {
                Thought::Said(text) => self.answer(&text, turn).await,
                Thought::Over(outcome) => outcome,
                Thought::Interrupted => TurnOutcome::Interrupted,
                // What it was told is remembered, and it is told when there is more to spend.
                Thought::Spent(reason) => TurnOutcome::GaveBack { reason },
                Thought::Failed(reason) => TurnOutcome::Failed { reason },
                Thought::Hopeless(reason) => TurnOutcome::Hopeless { reason },
            },
        }
    }

    /// Thinks about mail.
    async fn read(&mut self, mut mail: Vec<MessageIn>, turn: &Turn) -> Thought {
        // Who asks for leave waits for the answer. This one is to somebody who remembered more.
        mail.retain(|message| message.kind != MessageKind::PermissionResponse);
        // Everybody says first of all that it is idle. Who has only been started is not worth a question to a model.
        let is_start = |it: &MessageIn| it.kind == MessageKind::Idle && it.task_id.is_none();
        mail.retain(|it| !is_start(it) || !self.started.insert(it.from.clone()));
        if mail.is_empty() {
            return Thought::Over(TurnOutcome::Done);
        }
        let (words, how) = (prompt::mail(&mail), Begin::Anew);
        let of_people: Vec<_> = mail.iter().filter(|it| it.from == USER).cloned().collect();
        let of_people = (!of_people.is_empty()).then(|| prompt::mail(&of_people));
        let thought = self.think(WorkPrompt { words, how, of_people, mail }, None, turn).await;
        // A lead that reaches a limit ends the run, which says how to go on.
        if let Thought::Hopeless(limit) = &thought
            && !self.is_lead
            && self.mind.as_ref().is_some_and(Mind::is_at_limit)
        {
            self.lets_mail_wait = true;
            return Thought::Hopeless(format!("{limit}; {}", prompt::MAIL_WAITS));
        }
        thought
    }

    /// What the lead says at the end of a turn is for the person.
    async fn answer(&self, text: &str, turn: &Turn) -> TurnOutcome {
        if self.is_lead {
            let text = long::kept(text, None, turn).await;
            // A wire that is gone ends the turn anyway.
            drop(turn.say("user", &text).await);
        }
        TurnOutcome::Done
    }

    async fn work_on(
        &mut self,
        task: &WireTask,
        mail: Option<Vec<MessageIn>>,
        turn: &Turn,
    ) -> TurnOutcome {
        let mut words = prompt::task(task);
        let how = if mail.is_some() { Begin::Again } else { Begin::Anew };
        if let Some(mail) = mail {
            words = format!("{words}\n{}\n{}", prompt::mail(&mail), prompt::GO_ON);
        }
        let told = WorkPrompt { words, how, of_people: None, mail: Vec::new() };
        let thought = self.think(told, Some(task), turn).await;
        // What a task cost does not count for the mail after it.
        self.mind.iter_mut().for_each(|mind| mind.meter = None);
        match thought {
            Thought::Said(_) if !self.is_open(task, turn).await => TurnOutcome::Done,
            Thought::Said(result) => {
                let result = long::kept(&result, Some(task), turn).await;
                let first = result.lines().next().unwrap_or_default();
                let summary =
                    (first.len() < result.len()).then(|| troop_model::preview(first, 120));
                TurnOutcome::Completed { result, summary }
            }
            Thought::Over(outcome) => outcome,
            Thought::Interrupted => TurnOutcome::Interrupted,
            Thought::Spent(reason) => TurnOutcome::GaveBack { reason },
            Thought::Failed(reason) => TurnOutcome::Failed { reason },
            Thought::Hopeless(reason) => TurnOutcome::Hopeless { reason },
        }
    }

    /// Whether a task is still to be reported on.
    async fn is_open(&self, task: &WireTask, turn: &Turn) -> bool {
        match self.team(turn).await {
            Ok(Some(team)) => team.is_open(task).await,
            Ok(None) | Err(_) => true,
        }
    }

    /// The member's team, if there is one. What is wrong is no answer, and asked again with the next work.
    async fn team<'a>(&self, turn: &'a Turn) -> Result<Option<TeamTools<'a>>, String> {
        if self.is_alone { Ok(None) } else { TeamTools::find(turn, &self.options.gate).await }
    }

    async fn think(&mut self, told: WorkPrompt, task: Option<&WireTask>, turn: &Turn) -> Thought {
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
        // A lead that was asked once and did not know is not asked again.
        self.is_alone = team.is_none();
        let servers: &McpServers = match &mut self.servers {
            Some(servers) => servers,
            none => {
                let host = McpHost::of(turn, &options.hidden);
                none.insert(McpServers::start(&options.servers, host, options.waits, turn).await)
            }
        };
        self.is_lead = team.as_ref().is_some_and(|team| team.role() == Role::Lead);
        let mind = match &mut self.mind {
            Some(mind) => mind,
            none => match options.mind(turn, team.as_ref().map(TeamTools::role)).await {
                Ok(mind) => none.insert(mind),
                Err(reason) => return Thought::Failed(reason),
            },
        };
        mind.hear_of_team(turn.team_md());
        let WorkPrompt { words, how, of_people, mail } = told;
        let is_new = mail.is_empty() || gives_work(&mail, team.as_ref());
        if is_new {
            (mind.meter, self.lets_mail_wait) = (None, false);
        }
        of_people.filter(|_| self.is_lead).into_iter().for_each(|it| mind.history.keep_goal(it));
        mind.history.begin(words, how);
        if self.lets_mail_wait {
            // What is said now is read with the next work.
            return Thought::Over(TurnOutcome::Done);
        }
        let key = mind.model.endpoint().key.clone();
        let key = (key, options.hidden.as_slice());
        let mut hands = Hands::new((turn, &files), &options.rules, task, key);
        (hands.team, hands.servers, hands.only) = (team, Some(servers), options.tools.as_deref());
        hands.gate = Some(&options.gate);
        let ContextSources { project, home } = &options.sources;
        let project = project.as_deref().unwrap_or(files.root());
        hands.described = Definition::folders(project, home.as_deref());
        let before = mind.usage;
        let thought = Box::pin(mind.think(&hands, &options)).await;
        turn.log(Level::Info, &options.cost(&before, &mind.usage)).await;
        thought
    }
}

/// A piece of work, in words.
struct WorkPrompt {
    words: String,
    how: Begin,
    /// What of it people said, if they did.
    of_people: Option<String>,
    /// The messages that it is, if it is mail.
    mail: Vec<MessageIn>,
}

/// Whether mail is new work, for which limits begin anew: a person or the lead writes, or the lead hears what came of a task.
/// What teammates say to each other could go on for ever.
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
    /// What a piece of work cost, and all of them together.
    fn cost(&self, before: &TokenUsage, now: &TokenUsage) -> String {
        let tokens = now.total().saturating_sub(before.total());
        let dollars = self.price.map(|price| price.of(now) - price.of(before));
        let dollars = dollars.map(|dollars| format!(", ${dollars:.4}")).unwrap_or_default();
        format!("used {tokens} tokens{dollars}; {} in all", now.total())
    }

    async fn mind(&self, turn: &Turn, role: Option<Role>) -> Result<Mind, String> {
        let mut endpoint = self.endpoint.clone();
        if let (None, Some(command)) = (&endpoint.key, &self.key_command) {
            endpoint.key = Some(key::printed_by(command, turn).await?);
        }
        let model = Model::new(endpoint, self.retries, self.patience, self.seed);
        let model = model.map_err(|error| self.told(&error))?;
        let mut system = prompt::system(turn.place(), role);
        if !self.about.is_empty() {
            system.push_str(&format!("\n# What you are\n\n{}\n", self.about));
        }
        if role == Some(Role::Lead) && !self.profile.is_empty() {
            let profile = prompt::of_others(&self.profile);
            system.push_str(&format!("\n# What this project is made of\n\n{profile}"));
        }
        let veil = self.rules.veil_over_denied(OwnTool::Read.name());
        system.push_str(&self.sources.read(turn.path(), &veil));
        Ok(Mind::new(model, system))
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
