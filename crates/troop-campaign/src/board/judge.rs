//! Holds what clients were answered, and what programs did, against the log.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::Result;
use serde_json::Value;
use troop_model::{Event, Fact, State, Status, TaskNumber};
use uuid::Uuid;

use super::{
    TEAM,
    client::{ClientAct, ClientOutcome, Deal},
    outside::Belief,
};
use crate::{
    program::Program,
    tally::ViolationSeverity::{Critical, High},
};

/// Where in the log each deal is, as far as that is known.
type Places<'a> = Vec<(&'a Deal, u64)>;

/// A task as a look shows it: status, owner, attempts.
type TaskLook = (String, Option<String>, u64);

/// All violations.
pub(super) async fn all(
    program: &Program,
    deals: &[Deal],
    beliefs: &[Belief],
    events: &[Event],
) -> Result<()> {
    let judge = BoardJudge { program, deals, events };
    let looks = judge.replay();
    let mut places = judge.tokens();
    places.extend(judge.claims());
    judge.real_time(&places);
    judge.looks(&places, &looks);
    judge.reads();
    judge.programs(beliefs);
    judge.copies().await
}

struct BoardJudge<'a> {
    program: &'a Program,
    deals: &'a [Deal],
    events: &'a [Event],
}

impl<'a> BoardJudge<'a> {
    fn critical(&self, what: String) {
        self.program.record.find(Critical, what);
    }

    /// The log obeys the rules. Returns how each task looked, from which version on.
    fn replay(&self) -> BTreeMap<u64, Vec<(u64, TaskLook)>> {
        let mut state = State::default();
        let mut looks = BTreeMap::<u64, Vec<(u64, TaskLook)>>::new();
        let mut completed = BTreeSet::new();
        for event in self.events {
            if event.version != state.version().next() {
                self.critical(format!("event {} follows {}", event.version, state.version()));
            }
            if let Fact::TaskClaimed { task, owner, .. } = &event.fact
                && let Some(by) = state.tasks().get(*task).and_then(|it| it.owner.as_ref())
            {
                let version = event.version;
                self.critical(format!("event {version}: {task} is held by {by}, goes to {owner}"));
            }
            if let Fact::TaskCompleted { task, .. } = &event.fact
                && !completed.insert(*task)
            {
                self.critical(format!("{task} was completed twice"));
            }
            state.apply(event);
            for number in state.tasks().numbers() {
                let look = look(&state, number);
                let known = looks.entry(number.0.into()).or_default();
                if known.last().is_none_or(|(_, it)| *it != look) {
                    known.push((event.version.0, look));
                }
            }
        }
        looks
    }

    /// Acknowledged commands are in the log once, and refused ones are not.
    fn tokens(&self) -> Places<'a> {
        let mut places = Vec::new();
        for deal in self.deals {
            let Some(token) = &deal.token else { continue };
            let found: Vec<_> = self.events.iter().filter(|it| has_effect(it, token)).collect();
            let operations: BTreeSet<_> = found.iter().map(|it| it.operation).collect();
            let said = said(deal);
            if operations.len() > 1 {
                self.critical(format!("one operation has {} effects: {said}", operations.len()));
            }
            match (deal.outcome, found.first()) {
                (ClientOutcome::Done, None) => {
                    self.critical(format!("an acknowledged write is not in the log: {said}"));
                }
                (ClientOutcome::Refused, Some(event)) => {
                    self.critical(format!("a refused operation had an effect: {said}: {event:?}"));
                }
                (_, Some(event)) => {
                    if event.actor.name.as_str() != deal.actor {
                        let by = &event.actor.name;
                        self.critical(format!(
                            "an effect is in the log in the name of {by}: {said}"
                        ));
                    }
                    places.push((deal, event.version.0));
                }
                (ClientOutcome::Refused | ClientOutcome::Unknown, None) => {}
            }
        }
        places
    }

    /// A client that heard that it has a task has it; no other heard so; and every claim in the log was requested.
    fn claims(&self) -> Places<'a> {
        let mut places: Places<'a> = Vec::new();
        let mut attributed = BTreeMap::<u64, &Deal>::new();
        for deal in self.deals.iter().filter(|it| it.act == ClientAct::Claim) {
            // It holds the task already.
            if deal.outcome != ClientOutcome::Done || deal.answer.is_null() {
                continue;
            }
            let number = |name: &str| deal.answer.get(name).and_then(Value::as_u64);
            let told = (number("number"), number("attempts"));
            let owner = deal.answer.get("owner").and_then(Value::as_str);
            if owner != Some(&deal.actor) {
                let what = format!("the answer to a claim tells of another owner: {}", said(deal));
                self.program.record.find(High, format!("{what}: {owner:?}"));
            }
            let found = self.events.iter().find(|it| {
                matches!(&it.fact, Fact::TaskClaimed { task, attempt, .. }
                    if (Some(task.0.into()), Some((*attempt).into())) == told)
                    && it.actor.name.as_str() == deal.actor
            });
            let Some(event) = found else {
                let what = format!("an acknowledged claim is not in the log: {}", said(deal));
                self.critical(format!("{what}, told {told:?}"));
                continue;
            };
            if let Some(other) = attributed.insert(event.version.0, deal) {
                // A claim without a task, by a member that already holds one, returns that one.
                if other.actor != deal.actor {
                    let what =
                        format!("two claims have one effect: {}, {}", said(deal), said(other));
                    self.critical(what);
                }
            } else {
                places.push((deal, event.version.0));
            }
        }
        self.unasked_claims(&attributed);
        places
    }

    fn unasked_claims(&self, attributed: &BTreeMap<u64, &Deal>) {
        let actors: BTreeSet<_> = self.deals.iter().map(|it| &it.actor).collect();
        for actor in actors {
            let asked =
                self.deals.iter().filter(|it| it.actor == *actor && it.act == ClientAct::Claim);
            let n_lost = asked.filter(|it| it.outcome == ClientOutcome::Unknown).count();
            // Completing a free task also claims it.
            let is_more = |event: &Event| {
                let others = self.events.iter().filter(|it| it.operation == event.operation);
                others.count() > 1
            };
            let unasked = self.events.iter().filter(|it| {
                !is_more(it) && matches!(&it.fact, Fact::TaskClaimed { owner, .. } if owner.as_str() == actor)
                    && !attributed.contains_key(&it.version.0)
            });
            let unasked: Vec<_> = unasked.map(|it| it.version.0).collect();
            if unasked.len() > n_lost {
                self.critical(format!("claims that nobody asked for, by {actor}: {unasked:?}"));
            }
        }
    }

    /// If one command was answered before another began, it is before it in the log.
    fn real_time(&self, places: &Places<'_>) {
        for (later, version) in places {
            let before = places
                .iter()
                .filter(|(it, _)| it.outcome == ClientOutcome::Done && it.ended < later.began);
            if let Some((earlier, at)) = before.max_by_key(|(_, at)| *at)
                && at >= version
            {
                let what = format!("{} at {version}, {} at {at}", said(later), said(earlier));
                self.critical(format!("the log's order contradicts real time: {what}"));
            }
        }
    }

    /// A look shows the board as it was at one moment between question and answer.
    fn looks(&self, places: &Places<'_>, looks: &BTreeMap<u64, Vec<(u64, TaskLook)>>) {
        let last = self.events.last().map_or(0, |it| it.version.0);
        for deal in self.deals.iter().filter(|it| it.act == ClientAct::Look) {
            let (Some(task), ClientOutcome::Done) = (deal.task, deal.outcome) else { continue };
            let done = places
                .iter()
                .filter(|(it, _)| it.outcome == ClientOutcome::Done && it.ended < deal.began);
            let from = done.map(|(_, at)| *at).max().unwrap_or(1);
            let after = places.iter().filter(|(it, _)| it.began > deal.ended);
            let until = after.map(|(_, at)| at - 1).min().unwrap_or(last);
            let text =
                |name: &str| deal.answer.get(name).and_then(Value::as_str).map(str::to_owned);
            let attempts = deal.answer.get("attempts").and_then(Value::as_u64).unwrap_or_default();
            let saw = (text("status").unwrap_or_default(), text("owner"), attempts);
            let known = looks.get(&task).map(Vec::as_slice).unwrap_or_default();
            let is_from = known.iter().rposition(|(at, _)| *at <= from).unwrap_or_default();
            let mut window = known.iter().skip(is_from).take_while(|(at, _)| *at <= until);
            if !window.any(|(_, it)| *it == saw) {
                let what = format!("{} saw {saw:?}, versions {from} to {until}", said(deal));
                self.critical(format!("a look shows what never was meanwhile: {what}"));
            }
        }
    }

    /// Messages that were shown count as read, no others do, and none is shown again.
    fn reads(&self) {
        let mut read = BTreeMap::<(String, Uuid), u64>::new();
        for event in self.events {
            let Fact::MessageRead { reader, messages } = &event.fact else { continue };
            let reader = reader.as_str().to_owned();
            for id in messages {
                if read.insert((reader.clone(), *id), event.version.0).is_some() {
                    self.critical(format!("message {id} was read twice by {reader}"));
                }
            }
            let may_read = self.deals.iter().any(|it| {
                it.act == ClientAct::Read
                    && it.actor == reader
                    && it.outcome != ClientOutcome::Refused
            });
            if !may_read && reader != "lead" {
                let version = event.version;
                self.critical(format!("event {version}: mail counts as read, {reader} never read"));
            }
        }
        let mut shown = BTreeMap::<(String, Uuid), &Deal>::new();
        let reads = self.deals.iter().filter(|it| it.act == ClientAct::Read);
        for deal in reads.filter(|it| it.outcome == ClientOutcome::Done) {
            let messages = deal.answer.get("messages").and_then(Value::as_array);
            let ids = messages.into_iter().flatten().filter_map(|it| it.get("id")?.as_str());
            for id in ids.filter_map(|it| it.parse::<Uuid>().ok()) {
                let key = (deal.actor.clone(), id);
                if !read.contains_key(&key) {
                    self.critical(format!(
                        "{id} was shown and does not count as read: {}",
                        said(deal)
                    ));
                }
                if shown.get(&key).is_some_and(|it| it.ended < deal.began) {
                    self.critical(format!(
                        "{id} was shown again after it was read: {}",
                        said(deal)
                    ));
                }
                shown.entry(key).or_insert(deal);
            }
        }
        self.unshown(&read, &shown);
    }

    /// A message counts as read that no answer showed, and no read was cut short.
    fn unshown(
        &self,
        read: &BTreeMap<(String, Uuid), u64>,
        shown: &BTreeMap<(String, Uuid), &Deal>,
    ) {
        for ((reader, id), version) in read {
            let may_be_lost = self.deals.iter().any(|it| {
                it.act == ClientAct::Read
                    && it.actor == *reader
                    && it.outcome == ClientOutcome::Unknown
            });
            if reader != "lead" && !may_be_lost && !shown.contains_key(&(reader.clone(), *id)) {
                self.critical(format!("event {version}: {reader} was never shown message {id}"));
            }
        }
    }

    /// Of many programs and commands one has each task, as they themselves know it.
    fn programs(&self, beliefs: &[Belief]) {
        let mut claimed = BTreeMap::<u64, Vec<&str>>::new();
        let mut completed = BTreeMap::<u64, Vec<&str>>::new();
        for belief in beliefs {
            for task in &belief.claimed {
                claimed.entry(*task).or_default().push(&belief.name);
            }
            for task in &belief.completed {
                completed.entry(*task).or_default().push(&belief.name);
            }
            if !belief.lost.is_empty() {
                let what = format!("{:?} were taken from their holder", belief.lost);
                self.critical(format!("{}: {what}", belief.name));
            }
        }
        for deal in self.deals.iter().filter(|it| it.outcome == ClientOutcome::Done) {
            let Some(task) = deal.task else { continue };
            if deal.act == ClientAct::Complete {
                completed.entry(task).or_default().push(&deal.actor);
            }
        }
        for (task, by) in &claimed {
            // Programs give nothing back, so that two of them never claim the same.
            if by.len() > 1 {
                self.critical(format!("task {task} was claimed under its lock by {by:?}"));
            }
        }
        for (task, by) in &completed {
            if by.len() > 1 {
                self.critical(format!("task {task} was done by {by:?}"));
            }
        }
        for belief in beliefs {
            for task in &belief.completed {
                let is_told = self.events.iter().any(|it| {
                    matches!(&it.fact, Fact::TaskCompleted { task: done, .. } if u64::from(done.0) == *task)
                        && it.actor.name.as_str() == belief.name
                });
                if !is_told {
                    let name = &belief.name;
                    self.critical(format!("{name} did task {task}, and the log does not say so"));
                }
            }
        }
    }

    /// An export is the log, and an import of it is a team with the same tasks.
    async fn copies(&self) -> Result<()> {
        let file = self.program.folder.join("export.jsonl");
        let path = file.to_string_lossy();
        self.program.must(&["team", "export", TEAM, "--output", &path]).await?;
        let text = fs::read_to_string(&file)?;
        let lines: Vec<_> = text.lines().skip(1).collect();
        // Requests that a killed command sent to a server may have arrived after the look at the log.
        let is_log = lines.len() >= self.events.len()
            && lines
                .iter()
                .zip(self.events)
                .all(|(line, event)| troop_model::decode(line).is_ok_and(|it| it == *event));
        if !is_log {
            self.critical(format!("an export is not the log: {} lines", lines.len()));
        }
        let store = format!("sqlite:{}", self.program.folder.join("import.db").display());
        let other = Program { store, ..self.program.clone() };
        other.must(&["team", "import", &path, "--yes"]).await?;
        let count = |list: &str| {
            let list: Value = serde_json::from_str(list).unwrap_or_default();
            list.get("total").cloned().or_else(|| list.get("tasks").cloned())
        };
        let words = ["--team", TEAM, "task", "list", "--status", "completed"];
        let here = count(&self.program.must(&words).await?);
        let there = count(&other.must(&words).await?);
        let n = |it: &Option<Value>| it.as_ref().and_then(Value::as_array).map_or(0, Vec::len);
        if n(&here) != n(&there) {
            let what = format!("an imported team has another board: {here:?}, {there:?}");
            self.program.record.find(High, what);
        }
        Ok(())
    }
}

fn look(state: &State, number: TaskNumber) -> TaskLook {
    let status = state.tasks().status(number).map(|it: Status| it.to_string());
    let task = state.tasks().get(number);
    let owner = task.and_then(|it| it.owner.as_ref()).map(ToString::to_string);
    let attempts = task.map_or(0, |it| u64::from(it.attempts));
    (status.unwrap_or_default(), owner, attempts)
}

fn said(deal: &Deal) -> String {
    let token = deal.token.as_deref().unwrap_or_default();
    format!("{:?} of {:?} {token} by {} ({:?})", deal.act, deal.task, deal.actor, deal.outcome)
}

/// Whether an event is the effect of the command with this text. Notices only repeat it.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other facts carry no text of a client")]
fn has_effect(event: &Event, token: &str) -> bool {
    match &event.fact {
        Fact::TaskCreated { subject, .. } => subject == token,
        Fact::TaskCompleted { result, .. } => result == token,
        Fact::TaskFailed { reason, .. } | Fact::TaskReleased { reason, .. } => reason == token,
        Fact::TaskCommented { text, .. } => text == token,
        Fact::MessageSent { content, notice, .. } => content == token && notice.is_none(),
        _ => false,
    }
}
