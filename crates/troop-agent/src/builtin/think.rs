//! The loop: ask the model, do what it calls for, tell it what came of that, until it has nothing more to call for.

mod screen;

use troop_protocol::{MessageIn, UsageReport};

use super::{
    BuiltinOptions,
    chat::{ModelRequest, Reply, StopReason, TokenUsage, ToolCall, ToolResult, ToolSpec},
    compact::compact,
    hands::{Hands, PlanVerdict},
    history::History,
    key,
    limits::Meter,
    model::{Model, ModelError},
    prompt,
    tools::shortened,
};
use crate::TurnOutcome;
use screen::{Cost, ReplyScreen};

/// How often in a row a model may say nothing, or be cut off.
const MAX_STUMBLES: u32 = 3;
/// How often one request may be made shorter.
const MAX_CUTS: u32 = 3;

/// What a model remembers, and what it may do with it.
#[derive(Debug)]
pub(crate) struct Mind {
    pub(crate) model: Model,
    pub(crate) system: String,
    pub(crate) history: History,
    /// TEAM.md, as it was told last.
    team_md: Option<String>,
    /// All that it has cost so far, and how much of that the lead knows of.
    pub(crate) usage: TokenUsage,
    pub(crate) told: TokenUsage,
    /// What replies cost that came to nothing.
    cost: Cost,
    /// What the present work has cost. None begins anew.
    pub(crate) meter: Option<Meter>,
}

/// How a piece of work ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Thought {
    /// The model has said its last word about it.
    Said(String),
    /// The model ended it in another way.
    Over(TurnOutcome),
    Interrupted,
    /// The team can spend no more.
    Spent(String),
    Failed(String),
    /// Trying again would not help.
    Hopeless(String),
}

impl Mind {
    /// Somebody who remembers nothing.
    pub(crate) fn new(model: Model, system: String) -> Self {
        let (history, team_md, usage, told, cost, meter) = Default::default();
        Self { model, system, history, team_md, usage, told, cost, meter }
    }

    /// Tells what the team is now, if that is something else than was told last.
    pub(crate) fn hear_of_team(&mut self, team_md: Option<String>) {
        let Some(team_md) = team_md.filter(|it| self.team_md.as_ref() != Some(it)) else { return };
        self.history.tell_team(prompt::team(&team_md));
        self.team_md = Some(team_md);
    }

    /// Whether a limit was reached, so that only new work is thought about.
    pub(crate) fn is_at_limit(&self) -> bool {
        self.meter.as_ref().is_some_and(|meter| meter.check().is_err())
    }

    /// Thinks until there is nothing more to do. Whenever it ends, the model can go on from there.
    pub(crate) async fn think(&mut self, hands: &Hands<'_>, options: &BuiltinOptions) -> Thought {
        let new = || Meter::new(options.limits, options.price);
        let mut meter = self.meter.take().unwrap_or_else(new);
        let mut thought = loop {
            let thought = self.go_round(hands, options, &mut meter).await;
            let Thought::Said(plan) = &thought else { break thought };
            if !hands.ends_with_plan() {
                break thought;
            }
            if let Err(thought) = self.proposes(hands, plan).await {
                break thought;
            }
        };
        self.meter = Some(meter);
        // What it said to be done is done, whatever came after.
        let is_failure =
            matches!(thought, Thought::Spent(_) | Thought::Failed(_) | Thought::Hopeless(_));
        if let Some(team) = hands.team.as_ref().filter(|it| is_failure && it.ends_something())
            && team.end("").await.is_ok()
        {
            thought = Thought::Over(TurnOutcome::Done);
        }
        // What was taken while it waited for an answer counts as read, so it must not be lost.
        self.take_in(&hands.kept_mail());
        thought
    }

    /// Hands over as a plan what the model said last, and tells it what came of that; or how its work ended there.
    async fn proposes(&mut self, hands: &Hands<'_>, plan: &str) -> Result<(), Thought> {
        let judged = hands.judged(plan).await.map_err(|why| match hands.turn.spent() {
            _ if hands.turn.interrupted().is_cancelled() => Thought::Interrupted,
            Some(why) => Thought::Spent(why),
            None => Thought::Failed(why),
        })?;
        match judged {
            PlanVerdict::Good => {
                self.history.tell_plan(format!("Your plan, which was approved:\n{plan}"));
                self.history.tell(prompt::PLAN_IS_GOOD.to_owned());
            }
            PlanVerdict::Bad(why) => self.history.tell(format!("{}: {why}", prompt::TAKEN_AS_PLAN)),
        }
        Ok(())
    }

    async fn go_round(
        &mut self,
        hands: &Hands<'_>,
        options: &BuiltinOptions,
        meter: &mut Meter,
    ) -> Thought {
        let (mut n_stumbles, mut is_key_new) = (0, false);
        // What was said of an answer that is too long to be said at once.
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
            let reply = match self.ask_at_cost(hands, &specs, (options, &mut *meter)).await {
                None => return Thought::Interrupted,
                // Some keys hold for an hour.
                Some(Err(ModelError::Key { .. }))
                    if !is_key_new && self.renews_key(hands, options).await =>
                {
                    is_key_new = true;
                    continue;
                }
                Some(Err(error)) => return without_reply(&error, options),
                Some(Ok(reply)) => reply,
            };
            is_key_new = false;
            let text = hands.without_key(&reply.text());
            let (calls, ending) = self.note(reply);
            if !calls.is_empty() {
                begun.clear();
                let is_cut =
                    ending == StopReason::TooLong && calls.iter().any(|it| it.input.is_err());
                n_stumbles = if is_cut { n_stumbles + 1 } else { 0 };
                if let Some(outcome) = self.use_all(hands, &calls, (options, is_cut)).await {
                    return Thought::Over(outcome);
                }
                if n_stumbles >= MAX_STUMBLES {
                    return stumbled("was cut off", n_stumbles);
                }
                continue;
            }
            let stumble = match ending {
                StopReason::Refused => {
                    return Thought::Failed("the model does not want to answer".to_owned());
                }
                StopReason::TooLong => {
                    // The next piece goes on where this one ends, which may be in the middle of a word.
                    begun.push_str(&text);
                    prompt::CUT_OFF
                }
                // Who has been told something before the end has not said its last word.
                StopReason::Done | StopReason::Calls | StopReason::Other(_)
                    if !text.trim().is_empty() || hands.has_said_all() =>
                {
                    begun.push_str(&text);
                    if self.hear(hands) || self.is_refused(hands, begun.trim()).await {
                        begun.clear();
                        continue;
                    }
                    return Thought::Said(begun.trim().to_owned());
                }
                StopReason::Done | StopReason::Calls | StopReason::Other(_) => prompt::EMPTY,
            };
            n_stumbles += 1;
            if n_stumbles >= MAX_STUMBLES {
                let why = if stumble == prompt::EMPTY { "said nothing" } else { "was cut off" };
                return stumbled(why, n_stumbles);
            }
            self.history.tell(stumble.to_owned());
        }
    }

    /// Does what the model calls for, and tells it what came of that; gives what ended the work, if something did.
    async fn use_all(
        &mut self,
        hands: &Hands<'_>,
        calls: &[ToolCall],
        (options, is_cut): (&BuiltinOptions, bool),
    ) -> Option<TurnOutcome> {
        let mut done = hands.use_all(calls).await;
        for (call, result) in calls.iter().zip(&mut done.results) {
            if is_cut && call.input.is_err() {
                result.content = prompt::call_cut_off(options.max_tokens);
            }
        }
        self.tell_results(done.results, options);
        if let Some(plan) = done.plan {
            self.history.tell_plan(format!("Your plan, which was approved:\n{plan}"));
        }
        done.over
    }

    /// Looks at the team as it is now: the tools that the model has in the next request, after it was told what is new.
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

    /// Asks, unless it is interrupted. What that cost is told, whatever came of it.
    async fn ask_at_cost(
        &mut self,
        hands: &Hands<'_>,
        specs: &[ToolSpec],
        (options, meter): (&BuiltinOptions, &mut Meter),
    ) -> Option<Result<Reply, ModelError>> {
        let asked = self.ask(hands, specs, (options, &mut *meter));
        let asked = hands.turn.interrupted().run_until_cancelled(asked).await;
        let lost = self.cost.take_lost();
        meter.add(lost);
        self.usage += lost;
        self.tell_cost(hands, options).await;
        asked
    }

    /// Asks the command for the key again. False if there is none, or it has no other.
    async fn renews_key(&mut self, hands: &Hands<'_>, options: &BuiltinOptions) -> bool {
        let Some(command) = &options.key_command else { return false };
        let Ok(key) = key::printed_by(command, hands.turn).await else { return false };
        if self.model.endpoint().key.as_ref() == Some(&key) {
            return false;
        }
        hands.hide(key.clone());
        self.model.set_key(key);
        true
    }

    /// Tells the lead what was used since it was told last, also for what came to nothing.
    async fn tell_cost(&mut self, hands: &Hands<'_>, options: &BuiltinOptions) {
        let used = self.usage - std::mem::replace(&mut self.told, self.usage);
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

    /// Tells the model what came by mail, if something did.
    fn hear(&mut self, hands: &Hands<'_>) -> bool {
        let mut mail = hands.kept_mail();
        mail.extend(hands.turn.mail());
        self.take_in(&mail)
    }

    /// Ends with these words what the model said to be done; tells it why not, if that is refused.
    async fn is_refused(&mut self, hands: &Hands<'_>, words: &str) -> bool {
        let Some(team) = &hands.team else { return false };
        if !words.is_empty() && hands.ends_with_plan() {
            // These words are its plan. What it says to be done is done once it may do it.
            return false;
        }
        let refused = team.end(words).await.err();
        let is_refused = refused.is_some();
        refused.into_iter().for_each(|why| self.history.tell(prompt::not_done(&why)));
        is_refused
    }

    fn take_in(&mut self, mail: &[MessageIn]) -> bool {
        if !mail.is_empty() {
            self.history.tell_mail(prompt::mail(mail));
        }
        !mail.is_empty()
    }

    /// Asks, after making room where there is too little.
    async fn ask(
        &mut self,
        hands: &Hands<'_>,
        specs: &[ToolSpec],
        (options, meter): (&BuiltinOptions, &mut Meter),
    ) -> Result<Reply, ModelError> {
        let mut screen =
            ReplyScreen::new(hands.turn, self.model.endpoint().key.clone(), self.cost.clone());
        let mut room = options.room();
        let mut n_cuts = 0;
        loop {
            if self.history.n_tokens() > room {
                self.cut(room / 4, (&mut screen, &mut *meter)).await;
            }
            let asked = ModelRequest {
                system: &self.system,
                tools: specs,
                messages: self.history.messages(),
                max_tokens: options.max_tokens,
            };
            let error = match self.model.ask(&asked, &mut screen).await {
                Ok(reply) => {
                    screen.flush();
                    self.cost.is_whole();
                    meter.count(reply.usage);
                    self.usage += reply.usage;
                    return Ok(reply);
                }
                Err(error) => error,
            };
            if !matches!(error, ModelError::TooLong { .. }) || n_cuts >= MAX_CUTS {
                return Err(error);
            }
            // We thought it were shorter, or the model's window larger.
            room = self.history.n_tokens() / 2;
            n_cuts += 1;
        }
    }

    /// Tells what came of calls, as much of it as the model can take in beside everything else.
    fn tell_results(&mut self, mut results: Vec<ToolResult>, options: &BuiltinOptions) {
        let n_bytes = self.history.room_for_result(options.room(), results.len());
        for result in &mut results {
            result.content = shortened(std::mem::take(&mut result.content), n_bytes);
        }
        self.history.results(results);
    }

    /// Makes the conversation shorter.
    async fn cut(&mut self, n_kept: u64, (screen, meter): (&mut ReplyScreen<'_>, &mut Meter)) {
        // As many bytes as tokens are few, so what is kept is less than a quarter of the room.
        let n_kept = usize::try_from(n_kept).unwrap_or(usize::MAX);
        screen.is_shown = false;
        let with = (&self.model, self.system.as_str());
        let cut = compact(&mut self.history, n_kept, with, screen).await;
        screen.is_shown = true;
        if let Some(cut) = cut {
            if cut.is_answered {
                self.cost.is_whole();
            }
            meter.count(cut.usage);
            self.usage += cut.usage;
            screen.tell(&match cut.fault {
                None => "the conversation was cut to make room".to_owned(),
                Some(error) => format!("the conversation was cut without a summary: {error}"),
            });
        }
    }

    /// Remembers a reply; gives what it calls for, and why it ended.
    fn note(&mut self, reply: Reply) -> (Vec<ToolCall>, StopReason) {
        let calls = reply.calls().cloned().collect();
        let n_tokens = reply.usage.total();
        if !reply.parts.is_empty() {
            self.history.reply(reply.parts, n_tokens);
        }
        (calls, reply.ending)
    }
}

/// How work ends whose model does not get ahead.
fn stumbled(why: &str, n_stumbles: u32) -> Thought {
    Thought::Failed(format!("the model {why}, {n_stumbles} times in a row"))
}

/// How work ends that has no reply.
fn without_reply(error: &ModelError, options: &BuiltinOptions) -> Thought {
    let told = options.told(error);
    if error.is_passing() { Thought::Failed(told) } else { Thought::Hopeless(told) }
}
