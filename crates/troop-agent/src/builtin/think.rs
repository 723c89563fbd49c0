//! The loop: ask the model, run its tool calls, return the results, until it makes no more calls.

mod screen;

use troop_protocol::{MessageIn, UsageReport, WireTask};

use super::{
    BuiltinOptions,
    chat::{ModelRequest, Reply, StopReason, TokenUsage, ToolCall, ToolResult, ToolSpec},
    compact::compact,
    hands::Hands,
    history::History,
    key,
    limits::Meter,
    long,
    model::{Model, ModelError},
    prompt as words,
    team::NotEnded,
    tools::shortened,
};
use crate::{NoAnswer, PlanDecision, Turn, TurnOutcome, prompt};
use screen::{Cost, ReplyScreen};

/// How often in a row a reply may be empty or cut off.
const MAX_STUMBLES: u32 = 3;
/// How often one request may be shortened.
const MAX_CUTS: u32 = 3;

/// The model with its memory.
#[derive(Debug)]
pub(crate) struct Mind {
    pub(crate) model: Model,
    pub(crate) system: String,
    pub(crate) history: History,
    /// TEAM.md as the model saw it last.
    team_md: Option<String>,
    /// TEAM.md as the lead sent it last. The model sees it as it is for the model's own tools.
    sent_md: Option<String>,
    /// All tokens so far, and how many of them the lead knows of.
    pub(crate) usage: TokenUsage,
    reported: TokenUsage,
    /// The cost of replies that failed.
    cost: Cost,
    /// The cost of the present work. None starts a new count.
    pub(crate) meter: Option<Meter>,
}

/// How a piece of work ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Thought {
    /// The last words of the model.
    Said(String),
    /// A tool call ended it.
    Over(TurnOutcome),
    Interrupted,
    /// The team can spend no more.
    Spent(String),
    Failed(String),
    Hopeless(String),
}

/// The result of a task, as the board takes it.
pub(crate) struct ResultText {
    pub(crate) result: String,
    /// Its first line, if that is not all of it.
    pub(crate) summary: Option<String>,
}

/// Last words as the result of a task.
pub(crate) async fn result_text(words: &str, task: &WireTask, turn: &Turn) -> ResultText {
    let result = long::kept(words, Some(task), turn).await;
    let first = result.lines().next().unwrap_or_default();
    let summary = (first.len() < result.len()).then(|| troop_model::preview(first, 120));
    ResultText { result, summary }
}

impl Thought {
    /// The last words of the model, or how the turn ends without them.
    pub(crate) fn last_words(self) -> Result<String, TurnOutcome> {
        Err(match self {
            Self::Said(text) => return Ok(text),
            Self::Over(outcome) => outcome,
            Self::Interrupted => TurnOutcome::Interrupted,
            Self::Spent(reason) => TurnOutcome::GaveBack { reason },
            Self::Failed(reason) => TurnOutcome::Failed { reason },
            Self::Hopeless(reason) => TurnOutcome::Hopeless { reason },
        })
    }
}

impl Mind {
    /// A mind that remembers nothing.
    pub(crate) fn new(model: Model, system: String) -> Self {
        Self {
            model,
            system,
            history: History::default(),
            team_md: None,
            sent_md: None,
            usage: TokenUsage::default(),
            reported: TokenUsage::default(),
            cost: Cost::default(),
            meter: None,
        }
    }

    /// Takes note of the TEAM.md that the lead sent last. Returns whether it is another one than before.
    pub(crate) fn take_team_news(&mut self, sent_md: Option<String>) -> bool {
        let is_new = sent_md.is_some() && self.sent_md != sent_md;
        self.sent_md = sent_md.or_else(|| self.sent_md.take());
        is_new
    }

    /// Tells the model about its team, if TEAM.md has changed since the last time.
    pub(crate) fn hear_of_team(&mut self, team_md: Option<String>) {
        let Some(team_md) = team_md.filter(|it| self.team_md.as_ref() != Some(it)) else { return };
        self.history.tell_team(prompt::team(&team_md));
        self.team_md = Some(team_md);
    }

    /// Whether a limit was reached, so that only new work is thought about.
    pub(crate) fn is_at_limit(&self) -> bool {
        self.meter.as_ref().is_some_and(|meter| meter.check().is_err())
    }

    /// Thinks until there is nothing more to do. Whenever it ends, the conversation can be continued.
    pub(crate) async fn think(&mut self, hands: &Hands<'_>, options: &BuiltinOptions) -> Thought {
        let new = || Meter::new(options.limits, options.price);
        let mut meter = self.meter.take().unwrap_or_else(new);
        let mut thought = loop {
            let thought = self.go_round(hands, options, &mut meter).await;
            let Thought::Said(plan) = &thought else { break thought };
            if !hands.ends_with_plan() {
                break thought;
            }
            if let Err(thought) = self.propose(hands, plan).await {
                break thought;
            }
        };
        self.meter = Some(meter);
        // A task that the model reported done is done, whatever failed after that.
        let is_failure =
            matches!(thought, Thought::Spent(_) | Thought::Failed(_) | Thought::Hopeless(_));
        if let Some(team) = hands.team.as_ref().filter(|it| is_failure && it.ends_something())
            && team.end("").await.is_ok()
        {
            thought = Thought::Over(TurnOutcome::Done);
        }
        // Mail that came while it waited for an answer counts as read, so it must not be lost.
        self.take_in(&hands.turn.mail_set_aside());
        thought
    }

    /// Proposes the last words of the model as its plan, and tells it the answer. An error is how its work ends.
    async fn propose(&mut self, hands: &Hands<'_>, plan: &str) -> Result<(), Thought> {
        let answer = hands.propose(plan).await.map_err(|unanswered| match unanswered {
            NoAnswer::Interrupted => Thought::Interrupted,
            NoAnswer::Spent { why } => Thought::Spent(why),
            NoAnswer::NotAsked { .. } => Thought::Failed(unanswered.to_string()),
        })?;
        match answer {
            PlanDecision::Approved => {
                self.history.tell_plan(words::approved_plan(plan));
                self.history.tell(words::plan_approved());
            }
            PlanDecision::Rejected { reason } => {
                self.history.tell(words::plan_rejected(&reason));
            }
        }
        Ok(())
    }

    async fn go_round(
        &mut self,
        hands: &Hands<'_>,
        options: &BuiltinOptions,
        meter: &mut Meter,
    ) -> Thought {
        let mut n_stumbles = 0;
        let mut is_key_new = false;
        // The first part of an answer that is too long for one reply.
        let mut begun = String::new();
        loop {
            let specs = match self.prepare(hands, options).await {
                Ok(specs) => specs,
                Err(why) => return Thought::Hopeless(why),
            };
            self.hear(hands);
            if let Err(limit) = meter.check() {
                return Thought::Hopeless(limit);
            }
            if let Some(why) = hands.turn.spent() {
                return Thought::Spent(why);
            }
            let reply = match self.ask_at_cost(hands, &specs, options, meter).await {
                None => return Thought::Interrupted,
                // Some keys expire after an hour.
                Some(Err(ModelError::Key { .. }))
                    if !is_key_new && self.renew_key(hands, options).await =>
                {
                    is_key_new = true;
                    continue;
                }
                Some(Err(error)) => return without_reply(&error, options),
                Some(Ok(reply)) => reply,
            };
            is_key_new = false;
            let text = hands.keys.hidden_in(&reply.text());
            let (calls, ending) = self.note(reply);
            if !calls.is_empty() {
                begun.clear();
                let is_cut =
                    ending == StopReason::TooLong && calls.iter().any(|it| it.input.is_err());
                n_stumbles = if is_cut { n_stumbles + 1 } else { 0 };
                if let Some(outcome) = self.use_all(hands, &calls, options, is_cut).await {
                    return Thought::Over(outcome);
                }
                if n_stumbles >= MAX_STUMBLES {
                    return Stumble::CutOff.end(n_stumbles);
                }
                continue;
            }
            let stumble = match ending {
                StopReason::Refused => {
                    return Thought::Failed("the model refuses to answer".to_owned());
                }
                StopReason::TooLong => {
                    // The next part continues where this one ends, which may be within a word.
                    begun.push_str(&text);
                    Stumble::CutOff
                }
                // If mail came before the end, these are not its last words.
                StopReason::Done | StopReason::Calls | StopReason::Other(_)
                    if !text.trim().is_empty() || hands.has_said_all() =>
                {
                    begun.push_str(&text);
                    if let Some(thought) = self.settle(hands, begun.trim()).await {
                        return thought;
                    }
                    begun.clear();
                    continue;
                }
                StopReason::Done | StopReason::Calls | StopReason::Other(_) => Stumble::Empty,
            };
            n_stumbles += 1;
            if n_stumbles >= MAX_STUMBLES {
                return stumble.end(n_stumbles);
            }
            self.history.tell(stumble.prompt().to_owned());
        }
    }

    /// Runs the model's calls and tells it the results. Returns the outcome if a call ended the work.
    async fn use_all(
        &mut self,
        hands: &Hands<'_>,
        calls: &[ToolCall],
        options: &BuiltinOptions,
        is_cut: bool,
    ) -> Option<TurnOutcome> {
        let mut done = hands.use_all(calls).await;
        for (call, result) in calls.iter().zip(&mut done.results) {
            if is_cut && call.input.is_err() {
                result.content = words::call_cut_off(options.size.max_tokens);
            }
        }
        self.tell_results(done.results, options);
        if let Some(plan) = done.plan {
            self.history.tell_plan(words::approved_plan(&plan));
        }
        done.over
    }

    /// Reads the team again, and returns the tools for the next request.
    async fn prepare(
        &mut self,
        hands: &Hands<'_>,
        options: &BuiltinOptions,
    ) -> Result<Vec<ToolSpec>, String> {
        if let Some(team) = &hands.team {
            team.look().await;
            self.hear_of_team(team.news().await);
        }
        let specs = hands.specs();
        let n_before = self.system.len() + specs.iter().map(ToolSpec::length).sum::<usize>();
        self.history.comes_after(n_before);
        options.too_small_for(n_before).map_or(Ok(specs), Err)
    }

    /// Asks, unless interrupted. The cost is reported in any case.
    async fn ask_at_cost(
        &mut self,
        hands: &Hands<'_>,
        specs: &[ToolSpec],
        options: &BuiltinOptions,
        meter: &mut Meter,
    ) -> Option<Result<Reply, ModelError>> {
        let asked = self.ask(hands, specs, options, meter);
        let asked = hands.turn.interrupted().run_until_cancelled(asked).await;
        let lost = self.cost.take_lost();
        meter.add(lost);
        self.usage += lost;
        self.tell_cost(hands, options).await;
        asked
    }

    /// Asks the command for the key again. False if there is none, or the key is the same.
    async fn renew_key(&mut self, hands: &Hands<'_>, options: &BuiltinOptions) -> bool {
        let Some(command) = &options.key.command else { return false };
        let Ok(key) = key::printed_by(command, hands.turn).await else { return false };
        if self.model.endpoint().key.as_ref() == Some(&key) {
            return false;
        }
        hands.keys.add(key.clone());
        self.model.set_key(key);
        true
    }

    /// Reports to the lead the tokens since the last report, also of replies that failed.
    async fn tell_cost(&mut self, hands: &Hands<'_>, options: &BuiltinOptions) {
        let used = self.usage - std::mem::replace(&mut self.reported, self.usage);
        if used == TokenUsage::default() {
            return;
        }
        let TokenUsage { input, cache_read, cache_write, output } = used;
        let report = UsageReport {
            model: Some(options.endpoint.model.clone()),
            task_id: hands.task.map(|task| task.id.clone()),
            input,
            cache_read,
            cache_write,
            output,
            dollars: options.price.map(|price| price.of(&used)),
        };
        hands.turn.used(report).await;
    }

    /// Tells the model about new mail. True if there was some.
    fn hear(&mut self, hands: &Hands<'_>) -> bool {
        self.take_in(&hands.turn.mail())
    }

    /// Ends the task of this turn with the model's last words, or the one that the model reported done. If that is refused, the
    /// model learns why and goes on: its answer to the refusal is then the result, and all of it is one piece of work.
    /// None if they were not its end.
    async fn settle(&mut self, hands: &Hands<'_>, last_words: &str) -> Option<Thought> {
        if self.hear(hands) {
            return None;
        }
        let untold = || Some(Thought::Said(last_words.to_owned()));
        let Some(team) = &hands.team else { return untold() };
        if !last_words.is_empty() && hands.ends_with_plan() {
            // These words are its plan. The task ends once it may do the work.
            return untold();
        }
        let ended = match hands.task {
            _ if team.ends_something() => team.end(last_words).await,
            Some(task) => {
                let ResultText { result, summary } =
                    result_text(last_words, task, hands.turn).await;
                team.complete(task, result, summary).await
            }
            None => return untold(),
        };
        match (ended, hands.task) {
            (Ok(()), None) | (Err(NotEnded::Unheard), _) => untold(),
            (Ok(()), Some(_)) | (Err(NotEnded::Gone), _) => Some(Thought::Over(TurnOutcome::Done)),
            (Err(NotEnded::Refused(why)), _) => {
                self.history.tell(words::not_done(&why));
                None
            }
        }
    }

    fn take_in(&mut self, mail: &[MessageIn]) -> bool {
        if !mail.is_empty() {
            self.history.tell_mail(prompt::mail(mail));
        }
        !mail.is_empty()
    }

    /// Asks, after shortening the conversation if it is too long.
    async fn ask(
        &mut self,
        hands: &Hands<'_>,
        specs: &[ToolSpec],
        options: &BuiltinOptions,
        meter: &mut Meter,
    ) -> Result<Reply, ModelError> {
        let mut screen =
            ReplyScreen::new(hands.turn, self.model.endpoint().key.clone(), self.cost.clone());
        let mut room = options.room();
        let mut n_cuts = 0;
        loop {
            if self.history.n_tokens() > room {
                self.cut(room / 4, &mut screen, meter).await;
            }
            let asked = ModelRequest {
                system: &self.system,
                tools: specs,
                messages: self.history.messages(),
                max_tokens: options.size.max_tokens,
            };
            let error = match self.model.ask(&asked, &mut screen).await {
                Ok(reply) => {
                    screen.flush();
                    hands.turn.setback().clear();
                    self.cost.forget_reply();
                    meter.count(reply.usage);
                    self.usage += reply.usage;
                    return Ok(reply);
                }
                Err(error) => error,
            };
            if !matches!(error, ModelError::TooLong { .. }) || n_cuts >= MAX_CUTS {
                return Err(error);
            }
            // The conversation is longer than we estimated, or the model's window smaller.
            room = self.history.n_tokens() / 2;
            n_cuts += 1;
        }
    }

    /// Tells the results of calls, shortened to what fits beside everything else.
    fn tell_results(&mut self, mut results: Vec<ToolResult>, options: &BuiltinOptions) {
        let n_bytes = self.history.room_for_result(options.room(), results.len());
        for result in &mut results {
            result.content = shortened(std::mem::take(&mut result.content), n_bytes);
        }
        self.history.results(results);
    }

    /// Shortens the conversation.
    async fn cut(&mut self, n_kept: u64, screen: &mut ReplyScreen<'_>, meter: &mut Meter) {
        // This takes tokens as bytes, so less than a quarter of the room is kept.
        let n_kept = usize::try_from(n_kept).unwrap_or(usize::MAX);
        screen.is_shown = false;
        let cut = compact(&mut self.history, n_kept, &self.model, &self.system, screen).await;
        screen.is_shown = true;
        if let Some(cut) = cut {
            if cut.is_answered {
                self.cost.forget_reply();
            }
            meter.count(cut.usage);
            self.usage += cut.usage;
            screen.tell(&match cut.fault {
                None => "the conversation was cut to make room".to_owned(),
                Some(error) => format!("the conversation was cut without a summary: {error}"),
            });
        }
    }

    /// Remembers a reply. Returns its calls, and why it ended.
    fn note(&mut self, reply: Reply) -> (Vec<ToolCall>, StopReason) {
        let calls = reply.calls().cloned().collect();
        let n_tokens = reply.usage.total();
        if !reply.parts.is_empty() {
            self.history.reply(reply.parts, n_tokens);
        }
        (calls, reply.ending)
    }
}

/// A reply that does not get the work ahead.
#[derive(Clone, Copy, Debug)]
enum Stumble {
    Empty,
    CutOff,
}

impl Stumble {
    fn prompt(self) -> &'static str {
        match self {
            Self::Empty => words::EMPTY,
            Self::CutOff => words::CUT_OFF,
        }
    }

    /// How the work ends after too many of these.
    fn end(self, n_stumbles: u32) -> Thought {
        let what = match self {
            Self::Empty => "said nothing",
            Self::CutOff => "was cut off",
        };
        Thought::Failed(format!("the model {what}, {n_stumbles} times in a row"))
    }
}

/// How the work ends without a reply.
fn without_reply(error: &ModelError, options: &BuiltinOptions) -> Thought {
    let told = options.told(error);
    if error.is_passing() { Thought::Failed(told) } else { Thought::Hopeless(told) }
}
