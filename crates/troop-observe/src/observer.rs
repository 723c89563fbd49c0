//! The pipeline: a line in, what it adds and what happened out.

use std::{collections::BTreeMap, vec::Drain};

use serde::{Deserialize, Serialize};
use troop_model::Time;

use crate::{
    answer::Answer,
    correlate::{Correlator, MAX_AGE, Pending, hash},
    diff::{Change, diff},
    event::{TeamEvent, What},
    filter::{Filter, Look},
    follower::{Feed, Follower},
    lines::bare,
    recognise::{Ended, Recognised, Signal, Speaker, ToolResult, ToolUse, recognise},
    reduce::{Shelf, find_team, imagine, reduce, reduce_mail, set_status},
    source::Source,
    supplement::Supplement,
    team::{MemberStatus, Session, TaskId, TaskStatus, Team, TeamRole},
    vocabulary::{Meaning, Operation, Update},
};

/// How many names of unknown tools are remembered, and how much of each.
const MAX_UNKNOWN: usize = 64;
const MAX_UNKNOWN_NAME: usize = 64;

/// Watches one stream.
#[derive(Debug)]
pub struct Observer {
    pub(crate) memory: Memory,
    filter: Filter,
    feed: Feed,
    out: Vec<Output>,
    has_changed: bool,
    /// The last team, if it is over.
    over: Option<Box<Team>>,
}

/// What an observer knows.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Memory {
    session: Session,
    /// What there is to do, while there is no team.
    #[serde(default)]
    shelf: Shelf,
    correlator: Correlator,
    /// Who completed which task and has not begun another since.
    completed: BTreeMap<String, TaskId>,
    /// The message whose lines come just now.
    batch: Option<String>,
    sequence: u64,
    counts: Counts,
    /// When something was last said, by the clock of who said it. A line without a time is of then: two clocks in one story
    /// would let it run backwards.
    #[serde(default)]
    said_at: Option<Time>,
}

/// What an observer says about a line.
#[derive(Debug)]
pub enum Output {
    /// To be passed on behind the line.
    Supplement(Box<Supplement>),
    /// Something happened.
    Event(Box<TeamEvent>),
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Lines.
    pub lines: u64,
    /// Lines that were no JSON objects, as far as that was seen: what cannot be about a team is not read.
    pub unreadable: u64,
    /// Uses of team tools that lacked something.
    pub incomplete: u64,
    /// Tools that are named like those of teams and that nobody knows: signs of a newer vocabulary.
    pub unknown_tools: BTreeMap<String, u64>,
}

/// Where and when something was seen.
struct Scene {
    at: Time,
    session_id: Option<String>,
    /// Who speaks, if it is not the session itself.
    actor: Option<String>,
}

impl Default for Observer {
    fn default() -> Self {
        Self::with(Memory::default())
    }
}

impl Observer {
    pub(crate) fn with(memory: Memory) -> Self {
        Self {
            memory,
            filter: Filter::new(),
            feed: Feed::default(),
            out: Vec::new(),
            has_changed: false,
            over: None,
        }
    }

    /// Takes the next line, without its end; gives what there is to say about it.
    pub fn line(&mut self, line: &[u8], now: Time) -> Drain<'_, Output> {
        let line = bare(line);
        self.memory.counts.lines += 1;
        let look = if self.memory.completed.is_empty() {
            self.filter.look(line, &self.memory.correlator)
        } else {
            // Whoever completed something is idle if the next message does not say otherwise, whatever it is about.
            Look::Read
        };
        match look {
            Look::Read => self.read(line, now),
            // What is no object, or was cut off, is seen without reading it.
            _ if !is_whole(line) => self.memory.counts.unreadable += 1,
            Look::Early(ids) => self.memory.correlator.keep_early(ids, line),
            Look::LetGo => {}
        }
        self.has_changed |= self.memory.correlator.flush(now, MAX_AGE) > 0;
        self.out.drain(..)
    }

    /// The stream is over.
    pub fn end(&mut self, now: Time) -> Drain<'_, Output> {
        let session_id = self.memory.session.session_id.clone();
        let at = self.memory.said_at.unwrap_or(now);
        self.find_idle(&[], &Scene { at, session_id, actor: None });
        self.out.drain(..)
    }

    /// What is known now, with what was asked but has not been seen to happen.
    #[must_use]
    pub fn session(&self) -> Session {
        let mut session = self.memory.session.clone();
        for asked in self.memory.correlator.waiting() {
            imagine(&mut session.team, asked);
        }
        if let Some(team) = &mut session.team {
            team.mark_cycles();
            session.agents = team.members.iter().map(|it| it.name.clone()).collect();
        }
        session
    }

    /// The team, as far as it was seen to be so.
    #[must_use]
    pub fn team(&self) -> Option<&Team> {
        self.memory.session.team.as_ref()
    }

    /// The last team as it was when it ended, if no other has begun since.
    #[must_use]
    pub fn over(&self) -> Option<&Team> {
        self.over.as_deref().filter(|_| self.memory.session.team.is_none())
    }

    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.memory.counts
    }

    /// How many tool uses wait for their results.
    #[must_use]
    pub fn n_waiting(&self) -> usize {
        self.memory.correlator.n_waiting()
    }

    /// Whether anything that is worth saving changed since this was asked last.
    pub fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Lets somebody follow what happens from now on.
    pub fn follow(&mut self, source: Source) -> Follower {
        self.feed.follow(source, self.memory.session.team.as_ref())
    }

    fn read(&mut self, line: &[u8], now: Time) {
        let recognised = match recognise(line) {
            Ok(Some(recognised)) => recognised,
            Ok(None) => return,
            Err(_) => {
                self.memory.counts.unreadable += 1;
                return;
            }
        };
        self.keep_early(&recognised, line);
        let scene = self.scene(&recognised, now);
        let Recognised { speaker, message_id, uuid, team, agent, signals, .. } = recognised;
        if matches!(speaker, Speaker::Assistant | Speaker::Result) {
            self.begin_batch(message_id, &signals, &scene);
        }
        let has_mail = signals.iter().any(|it| matches!(it, Signal::Mail(_)));
        // A copy of a line says nothing new. Tool uses have ids of their own.
        let is_new = !has_mail
            || self.memory.session.team.is_none()
            || uuid.is_none_or(|uuid| self.memory.correlator.settle(&uuid));
        for signal in signals {
            match signal {
                Signal::Use(it) => self.ask(it, &scene, now),
                Signal::Result(it) => self.answer(&it, &scene),
                Signal::Mail(it) if is_new => {
                    let team = &mut self.memory.session.team;
                    let changes = team.as_mut().map(|team| reduce_mail(team, it));
                    self.tell(changes.unwrap_or_default(), None, &scene);
                }
                Signal::Mail(_) => {}
                Signal::Init(it) => self.begin_session(*it),
                Signal::Ended(it) => self.member_ended(&it, &scene),
            }
        }
        if let Some(team) = team {
            self.note_team(&team, agent, &scene);
        }
    }

    /// Keeps results whose uses were not seen: they may still come.
    fn keep_early(&mut self, recognised: &Recognised<'_>, line: &[u8]) {
        let correlator = &mut self.memory.correlator;
        let early: Vec<_> = recognised
            .signals
            .iter()
            .filter_map(|it| if let Signal::Result(it) = it { Some(&it.id) } else { None })
            .filter(|id| !correlator.is_awaited(id))
            .map(|id| hash(id))
            .collect();
        if !early.is_empty() {
            correlator.keep_early(early, line);
        }
    }

    fn scene(&mut self, line: &Recognised<'_>, now: Time) -> Scene {
        if self.memory.session.session_id.is_none() {
            self.memory.session.session_id.clone_from(&line.session_id);
        }
        let session_id = line.session_id.clone().or_else(|| self.memory.session.session_id.clone());
        let spawned = line.parent.as_deref().and_then(|parent| {
            let members = self.memory.session.team.as_ref()?.members.iter();
            members.clone().find(|it| it.tool_use_id.as_deref() == Some(parent))
        });
        let actor = spawned.map(|it| it.name.clone());
        self.memory.said_at = line.at.or(self.memory.said_at);
        Scene { at: self.memory.said_at.unwrap_or(now), session_id, actor }
    }

    fn begin_session(&mut self, begun: Session) {
        let session = &mut self.memory.session;
        let team = session.team.take();
        *session = Session { team, ..begun };
        self.has_changed = true;
    }

    /// A transcript notes on its lines to which team its session belongs, and as whom.
    fn note_team(&mut self, name: &str, agent: Option<String>, scene: &Scene) {
        let is_teammate = agent.as_ref().is_some_and(|it| it != crate::team::LEAD);
        // A lead that deleted its team says so by a tool; its transcript may go on to name it.
        if !is_teammate {
            return;
        }
        let found = find_team(&mut self.memory.session.team, name, TeamRole::Teammate);
        let is_found = found.is_some();
        self.tell(found.into_iter().collect(), None, scene);
        if let (true, Some(team)) = (is_found, &mut self.memory.session.team) {
            team.own_name = agent;
        }
    }

    fn ask(&mut self, asked: ToolUse<'_>, scene: &Scene, now: Time) {
        let operation = match asked.meaning {
            Meaning::Team(operation) => operation,
            Meaning::Incomplete => {
                self.memory.counts.incomplete += 1;
                return;
            }
            Meaning::Unknown => return self.count_unknown(&asked.name),
            Meaning::Other => return,
        };
        let correlator = &mut self.memory.correlator;
        if correlator.is_settled(&asked.id) {
            return;
        }
        let is_repeated = correlator.is_awaited(&asked.id);
        let is_about_a_team = operation.is_about_a_team_for_sure()
            || self.memory.session.team.is_some()
            || correlator.waiting().any(|it| matches!(it.operation, Operation::CreateTeam { .. }));
        // Whether a spawn without a team is one is known when something came of it.
        let is_doubtful = matches!(&operation, Operation::Spawn(it) if it.team.is_none());
        let is_announced = is_about_a_team && !is_doubtful;
        if is_announced && !is_repeated {
            let category = operation.category();
            let added = Supplement::asked(category, &asked.name, &asked.id, asked.input);
            self.out.push(Output::Supplement(Box::new(added)));
        }
        let (id, actor) = (asked.id.clone(), scene.actor.clone());
        let (tool, received_at) = (asked.name, now);
        correlator.add(Pending { id, tool, operation, actor, received_at, is_announced });
        self.has_changed = true;
        while let Some(line) = self.memory.correlator.take_early(&asked.id) {
            self.answer_early(&line, &asked.id, scene);
        }
    }

    /// The result came before its use.
    fn answer_early(&mut self, line: &[u8], id: &str, scene: &Scene) {
        let Ok(Some(recognised)) = recognise(line) else { return };
        for signal in recognised.signals {
            if let Signal::Result(result) = signal
                && result.id == id
            {
                self.answer(&result, scene);
            }
        }
    }

    fn answer(&mut self, result: &ToolResult<'_>, scene: &Scene) {
        let Some(asked) = self.memory.correlator.take(&result.id) else { return };
        self.has_changed = true;
        let answer = Answer::new(result);
        let had_team = self.memory.session.team.is_some();
        let Memory { session, shelf, .. } = &mut self.memory;
        let changes = reduce(&mut session.team, shelf, &asked, &answer);
        if let (false, Session { version: Some(_), team: Some(team), .. }) =
            (had_team, &mut self.memory.session)
        {
            team.is_seen_from_beginning();
        }
        if asked.is_announced || !changes.is_empty() {
            let category = asked.operation.category();
            let added = Supplement::asked(category, &asked.tool, &asked.id, None)
                .answered(result.content, answer.is_error);
            self.out.push(Output::Supplement(Box::new(added)));
        }
        if let (Operation::UpdateTask(update), false) = (&asked.operation, answer.is_error) {
            self.note_work(update);
        }
        self.tell(changes, Some(&asked.id), scene);
    }

    /// Remembers who completed something, until it begins something else.
    fn note_work(&mut self, update: &Update) {
        let Some(team) = &self.memory.session.team else { return };
        let Some(task) = team.tasks.get(&update.task) else { return };
        let Some(owner) = task.owner.as_ref().filter(|it| team.member(it).is_some()) else {
            return;
        };
        match update.status {
            Some(TaskStatus::Completed) => {
                self.memory.completed.insert(owner.clone(), task.id.clone());
            }
            Some(TaskStatus::InProgress) => drop(self.memory.completed.remove(owner)),
            Some(TaskStatus::Pending | TaskStatus::Deleted) | None => {}
        }
    }

    fn begin_batch(&mut self, id: Option<String>, signals: &[Signal<'_>], scene: &Scene) {
        if id.is_some() && id == self.memory.batch {
            return;
        }
        self.memory.batch = id;
        self.find_idle(signals, scene);
    }

    /// Whoever completed a task before this message, and does not begin another in it, is idle.
    fn find_idle(&mut self, signals: &[Signal<'_>], scene: &Scene) {
        if self.memory.completed.is_empty() {
            return;
        }
        let Some(team) = &mut self.memory.session.team else {
            self.memory.completed.clear();
            return;
        };
        let busy: Vec<_> = signals.iter().filter_map(|it| begins_task(it, team)).collect();
        let completed = std::mem::take(&mut self.memory.completed);
        let mut changes = Vec::new();
        for (from, task) in completed.into_iter().filter(|(name, _)| !busy.contains(name)) {
            let is_active = team.member(&from).is_some_and(|it| it.status == MemberStatus::Active);
            if is_active {
                let completed_task_id = Some(task);
                changes.push(Change::Said(What::Idle { from: from.clone(), completed_task_id }));
                changes.extend(set_status(team, &from, MemberStatus::Idle));
            }
        }
        self.tell(changes, None, scene);
    }

    fn member_ended(&mut self, ended: &Ended, scene: &Scene) {
        let Some(team) = &mut self.memory.session.team else { return };
        let is_meant = |tool_use_id: Option<&str>, agent_id: &str| {
            (ended.tool_use_id.is_some() && ended.tool_use_id.as_deref() == tool_use_id)
                || ended.agent_id.as_deref() == Some(agent_id)
        };
        let mut members = team.members.iter();
        let found = members.find(|it| is_meant(it.tool_use_id.as_deref(), &it.agent_id));
        let Some(name) = found.map(|it| it.name.clone()) else { return };
        let change = set_status(team, &name, MemberStatus::Shutdown);
        self.tell(change.into_iter().collect(), None, scene);
    }

    fn count_unknown(&mut self, tool: &str) {
        let name: String = tool.chars().take(MAX_UNKNOWN_NAME).collect();
        let unknown = &mut self.memory.counts.unknown_tools;
        if unknown.len() < MAX_UNKNOWN || unknown.contains_key(&name) {
            *unknown.entry(name).or_default() += 1;
            self.has_changed = true;
        }
    }

    /// Says what changed.
    fn tell(&mut self, changes: Vec<Change>, tool_use_id: Option<&str>, scene: &Scene) {
        for change in changes {
            let mut gone = None;
            if let Change::TeamGone(team) = &change {
                gone = Some(team.name.clone());
                self.over = Some(team.clone());
            }
            let Some(what) = diff(change) else { continue };
            let known = || self.memory.session.team.as_ref().map(|it| it.name.clone());
            let team = gone.or_else(known).unwrap_or_default();
            // What was saved may say anything.
            self.memory.sequence = self.memory.sequence.saturating_add(1);
            self.has_changed = true;
            let event = TeamEvent {
                sequence: self.memory.sequence,
                at: scene.at,
                session_id: scene.session_id.clone(),
                team,
                tool_use_id: tool_use_id.map(str::to_owned),
                what,
            };
            self.feed.publish(&event);
            self.out.push(Output::Event(Box::new(event)));
        }
        if self.memory.session.team.is_none() {
            self.memory.completed.clear();
        }
    }
}

/// Whether a line begins and ends as an object does. An empty one says nothing.
fn is_whole(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || (line.starts_with(b"{") && line.ends_with(b"}"))
}

/// Who begins a task by this, if anybody does.
fn begins_task(signal: &Signal<'_>, team: &Team) -> Option<String> {
    let Signal::Use(ToolUse { meaning: Meaning::Team(Operation::UpdateTask(update)), .. }) = signal
    else {
        return None;
    };
    if update.status != Some(TaskStatus::InProgress) {
        return None;
    }
    update.owner.clone().or_else(|| team.tasks.get(&update.task)?.owner.clone())
}

#[cfg(test)]
mod tests;
