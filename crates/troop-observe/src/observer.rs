//! The pipeline: lines in, supplements and events out.

use std::{collections::BTreeMap, vec::Drain};

use serde::{Deserialize, Serialize};
use troop_model::Time;

use crate::{
    answer::ToolAnswer,
    correlate::{Correlator, MAX_AGE, PendingUse, hash},
    diff::{ObservedChange, diff},
    event::{ObservedFact, TeamEvent},
    filter::{LineFilter, LineVerdict},
    follower::{FollowerQueues, TeamFollower},
    held::HeldUpdates,
    lines::bare,
    raw::Raw,
    recognise::{
        BackgroundNews, BackgroundState, LineSignal, ObservedResult, RecognisedLine, Speaker,
        ToolUse, recognise, stamp,
    },
    reduce::{
        Shelf, find_background, find_team, follow_background, imagine, infer_status, reduce,
        reduce_mail,
    },
    source::StreamSource,
    supplement::Supplement,
    team::{
        LEAD, MemberStatus, ObservedSession, ObservedTaskId, ObservedTeam, TaskStatus, TeamRole,
    },
    vocabulary::{Meaning, ObservedUpdate, Operation},
};

/// How many names of unknown tools we remember, and how many bytes of each.
const MAX_UNKNOWN: usize = 64;
const MAX_UNKNOWN_NAME: usize = 64;

/// Observes one stream.
#[derive(Debug)]
pub struct Observer {
    pub(crate) memory: ObserverMemory,
    filter: LineFilter,
    feed: FollowerQueues,
    out: Vec<ObserverOutput>,
    has_changed: bool,
    /// The last team, if it has ended.
    over: Option<Box<ObservedTeam>>,
}

/// Everything that an observer knows.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ObserverMemory {
    session: ObservedSession,
    /// The session's tasks while it has no team.
    #[serde(default)]
    shelf: Shelf,
    correlator: Correlator,
    #[serde(default)]
    held: HeldUpdates,
    /// Members that completed a task and have not started another since.
    completed: BTreeMap<String, ObservedTaskId>,
    /// The message whose lines are arriving now.
    batch: Option<String>,
    sequence: u64,
    counts: ObserverCounts,
    /// The newest time in the stream, by the speaker's clock. A line without a time gets this one: with two clocks, time
    /// could run backwards.
    #[serde(default)]
    said_at: Option<Time>,
}

/// One output of an observer for a line.
#[derive(Debug)]
pub enum ObserverOutput {
    /// Goes into the stream after the line.
    Supplement(Box<Supplement>),
    Event(Box<TeamEvent>),
}

/// Counters of what an observer has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObserverCounts {
    pub lines: u64,
    /// Lines that were not JSON objects, among those that were parsed.
    pub unreadable: u64,
    /// Uses of team tools with a required field missing.
    pub incomplete: u64,
    /// Unknown tools with names like team tools: signs of a newer version.
    pub unknown_tools: BTreeMap<String, u64>,
}

/// The context of a line: session, time, speaker.
struct Scene {
    at: Time,
    session_id: Option<String>,
    /// The speaker, if it is not the session itself.
    actor: Option<String>,
}

impl Default for Observer {
    fn default() -> Self {
        Self::with(ObserverMemory::default())
    }
}

impl Observer {
    pub(crate) fn with(memory: ObserverMemory) -> Self {
        Self {
            memory,
            filter: LineFilter::new(),
            feed: FollowerQueues::default(),
            out: Vec::new(),
            has_changed: false,
            over: None,
        }
    }

    /// Takes the next line, without its line end; returns its supplements and events.
    pub fn line(&mut self, line: &[u8], now: Time) -> Drain<'_, ObserverOutput> {
        let line = bare(line);
        self.memory.counts.lines += 1;
        let look = if self.memory.completed.is_empty() {
            self.filter.look(line, &self.memory.correlator)
        } else {
            // A member that completed a task is idle unless the next message says otherwise.
            LineVerdict::Read
        };
        match look {
            LineVerdict::Read => self.read(line, now),
            // A line that is cut off or not an object is recognised without parsing it.
            _ if !is_whole(line) => self.memory.counts.unreadable += 1,
            LineVerdict::Early(ids) => self.memory.correlator.keep_early(ids, line),
            LineVerdict::Skip => {}
        }
        let correlator = &mut self.memory.correlator;
        if correlator.n_waiting() > 0 {
            self.has_changed |= correlator.flush(now, stamp(line), MAX_AGE) > 0;
        }
        self.out.drain(..)
    }

    /// The stream has ended.
    pub fn end(&mut self, now: Time) -> Drain<'_, ObserverOutput> {
        let session_id = self.memory.session.session_id.clone();
        let at = self.memory.said_at.unwrap_or(now);
        self.find_idle(&[], &Scene { at, session_id, actor: None });
        self.out.drain(..)
    }

    /// The session as it is known, including tool uses without a result yet.
    #[must_use]
    pub fn session(&self) -> ObservedSession {
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

    /// The team, without tool uses that have no result yet.
    #[must_use]
    pub fn team(&self) -> Option<&ObservedTeam> {
        self.memory.session.team.as_ref()
    }

    /// The last team as it was when it ended, if no other has started since.
    #[must_use]
    pub fn over(&self) -> Option<&ObservedTeam> {
        self.over.as_deref().filter(|_| self.memory.session.team.is_none())
    }

    /// Counters of what an observer has seen.
    #[must_use]
    pub fn counts(&self) -> &ObserverCounts {
        &self.memory.counts
    }

    #[must_use]
    pub fn n_waiting(&self) -> usize {
        self.memory.correlator.n_waiting()
    }

    /// Whether anything worth saving has changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Starts a follower that gets every event from now on.
    pub fn follow(&mut self, source: StreamSource) -> TeamFollower {
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
        let RecognisedLine { speaker, message_id, uuid, team, agent, signals, .. } = recognised;
        if matches!(speaker, Speaker::Assistant | Speaker::Result) {
            self.begin_batch(message_id, &signals, &scene);
        }
        let has_mail = signals.iter().any(|it| matches!(it, LineSignal::Mail(_)));
        // A copy of a line says nothing new; tool uses are compared by their own ids.
        let is_new =
            !has_mail || self.memory.session.team.is_none() || self.settle(uuid.as_deref());
        for signal in signals {
            match signal {
                LineSignal::Use(it) => self.ask(it, &scene, now),
                LineSignal::Result(it) => self.answer(&it, &scene),
                LineSignal::Mail(it) if is_new => {
                    let team = &mut self.memory.session.team;
                    let changes = team.as_mut().map(|team| reduce_mail(team, it));
                    self.tell(changes.unwrap_or_default(), None, &scene);
                }
                LineSignal::Mail(_) => {}
                LineSignal::Init(it) => self.begin_session(*it),
                LineSignal::Background(it) => {
                    self.follow_background(&it, uuid.as_deref(), &scene);
                }
            }
        }
        if let Some(team) = team {
            self.note_team(&team, agent, &scene);
        }
    }

    /// Keeps results whose uses have not arrived yet.
    fn keep_early(&mut self, recognised: &RecognisedLine<'_>, line: &[u8]) {
        let correlator = &mut self.memory.correlator;
        let early: Vec<_> = recognised
            .signals
            .iter()
            .filter_map(|it| if let LineSignal::Result(it) = it { Some(&it.id) } else { None })
            .filter(|id| !correlator.is_awaited(id))
            .map(|id| hash(id))
            .collect();
        if !early.is_empty() {
            correlator.keep_early(early, line);
        }
    }

    fn scene(&mut self, line: &RecognisedLine<'_>, now: Time) -> Scene {
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

    fn begin_session(&mut self, begun: ObservedSession) {
        let session = &mut self.memory.session;
        let team = session.team.take();
        *session = ObservedSession { team, ..begun };
        self.has_changed = true;
    }

    /// Every line of a transcript names the session's team and its name in that team.
    fn note_team(&mut self, name: &str, agent: Option<String>, scene: &Scene) {
        let is_teammate = agent.as_ref().is_some_and(|it| it != LEAD);
        // A lead deletes its team with a tool; its transcript may still name the team afterwards.
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
        // Only the result tells whether a spawn without a team made a teammate.
        let is_doubtful = matches!(&operation, Operation::Spawn(it) if it.team.is_none());
        let is_announced = is_about_a_team && !is_doubtful;
        if is_announced && !is_repeated {
            let category = operation.category();
            let added = Supplement::asked(category, &asked.name, &asked.id, asked.input);
            self.out.push(ObserverOutput::Supplement(Box::new(added)));
        }
        correlator.add(PendingUse {
            id: asked.id.clone(),
            tool: asked.name,
            operation,
            actor: scene.actor.clone(),
            received_at: now,
            stamped_at: None,
            is_announced,
        });
        self.has_changed = true;
        while let Some(line) = self.memory.correlator.take_early(&asked.id) {
            self.answer_early(&line, &asked.id, scene);
        }
    }

    /// Handles a result that arrived before its use.
    fn answer_early(&mut self, line: &[u8], id: &str, scene: &Scene) {
        let Ok(Some(recognised)) = recognise(line) else { return };
        for signal in recognised.signals {
            if let LineSignal::Result(result) = signal
                && result.id == id
            {
                self.answer(&result, scene);
            }
        }
    }

    fn answer(&mut self, result: &ObservedResult<'_>, scene: &Scene) {
        let Some(asked) = self.memory.correlator.take(&result.id) else { return };
        self.has_changed = true;
        let answer = ToolAnswer::new(result);
        if self.is_too_early(&asked, &answer) {
            if asked.is_announced {
                self.supplement_answer(&asked, result.content, answer.is_error);
            }
            return self.hold(asked, &answer);
        }
        let had_team = self.memory.session.team.is_some();
        let session_id = scene.session_id.as_deref();
        let ObserverMemory { session, shelf, .. } = &mut self.memory;
        let changes = reduce(&mut session.team, shelf, &asked, &answer, session_id);
        if let (false, ObservedSession { version: Some(_), team: Some(team), .. }) =
            (had_team, &mut self.memory.session)
        {
            team.note_seen_from_beginning();
        }
        if asked.is_announced || !changes.is_empty() {
            self.supplement_answer(&asked, result.content, answer.is_error);
        }
        if let (Operation::UpdateTask(update), false) = (&asked.operation, answer.is_error) {
            self.note_work(update);
        }
        self.tell(changes, Some(&asked.id), scene);
        if !answer.is_error {
            self.release_held(&asked.operation, &answer, scene);
        }
    }

    fn supplement_answer(&mut self, asked: &PendingUse, content: Raw<'_>, is_error: bool) {
        let category = asked.operation.category();
        let added = Supplement::asked(category, &asked.tool, &asked.id, None);
        let added = added.answered(content, is_error);
        self.out.push(ObserverOutput::Supplement(Box::new(added)));
    }

    /// Whether this updates a task whose creation may still be confirmed.
    fn is_too_early(&self, asked: &PendingUse, answer: &ToolAnswer) -> bool {
        let Operation::UpdateTask(update) = &asked.operation else { return false };
        let ObserverMemory { session, shelf, correlator, .. } = &self.memory;
        let knows_task = match &session.team {
            Some(team) => team.knows(&update.task),
            None => shelf.knows(&update.task),
        };
        !answer.is_error && !knows_task && correlator.awaits_a_task()
    }

    /// Keeps an update until its task is known.
    fn hold(&mut self, mut asked: PendingUse, answer: &ToolAnswer) {
        if let Operation::UpdateTask(update) = &mut asked.operation
            && update.owner.is_none()
            && answer.has_updated("owner")
        {
            let own_name = self.memory.session.team.as_ref().map_or(LEAD, ObservedTeam::own_name);
            update.owner = Some(asked.actor.as_deref().unwrap_or(own_name).to_owned());
        }
        self.memory.held.keep(asked);
    }

    /// Applies the updates that came before the creation of their task.
    fn release_held(&mut self, operation: &Operation, answer: &ToolAnswer, scene: &Scene) {
        if matches!(operation, Operation::CreateTeam { .. } | Operation::DeleteTeam) {
            return self.memory.held.clear();
        }
        let created = matches!(operation, Operation::CreateTask { .. });
        let Some(task) = answer.created().filter(|_| created) else { return };
        for held in self.memory.held.take(&task) {
            let ObserverMemory { session, shelf, .. } = &mut self.memory;
            let changes = reduce(&mut session.team, shelf, &held, &ToolAnswer::default(), None);
            if let Operation::UpdateTask(update) = &held.operation {
                self.note_work(update);
            }
            self.tell(changes, Some(&held.id), scene);
        }
    }

    /// Remembers members that completed a task until they start another.
    fn note_work(&mut self, update: &ObservedUpdate) {
        let Some(team) = &self.memory.session.team else { return };
        let Some(task) = team.tasks.get(&update.task) else { return };
        let is_followed = |name: &str| team.member(name).is_some_and(|it| !it.background);
        let Some(owner) = task.owner.as_ref().filter(|it| is_followed(it)) else { return };
        match update.status {
            Some(TaskStatus::Completed) => {
                self.memory.completed.insert(owner.clone(), task.id.clone());
            }
            Some(TaskStatus::InProgress) => drop(self.memory.completed.remove(owner)),
            Some(TaskStatus::Pending | TaskStatus::Deleted) | None => {}
        }
    }

    fn begin_batch(&mut self, id: Option<String>, signals: &[LineSignal<'_>], scene: &Scene) {
        if id.is_some() && id == self.memory.batch {
            return;
        }
        self.memory.batch = id;
        self.find_idle(signals, scene);
    }

    /// A member is idle if it completed a task before this message and starts no other in it.
    fn find_idle(&mut self, signals: &[LineSignal<'_>], scene: &Scene) {
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
                changes.push(ObservedChange::Said(ObservedFact::Idle {
                    from: from.clone(),
                    completed_task_id,
                }));
                changes.extend(infer_status(team, &from, MemberStatus::Idle));
            }
        }
        self.tell(changes, None, scene);
    }

    fn follow_background(&mut self, news: &BackgroundNews, uuid: Option<&str>, scene: &Scene) {
        let team = self.memory.session.team.as_ref();
        let name = team.and_then(|it| find_background(it, news)).map(|it| it.name.clone());
        // The beginning is remembered of every agent: it comes before the result that makes the agent a member.
        let is_worth_it = name.is_some() || news.state == Some(BackgroundState::Works);
        let is_new = news.state.is_none() || !is_worth_it || self.settle(uuid);
        let Some(name) = name else { return };
        let Some(team) = &mut self.memory.session.team else { return };
        if let Some(member) = team.member_mut(&name)
            && news.tokens > member.tokens
        {
            member.tokens = news.tokens;
            self.has_changed = true;
        }
        let state = news.state.filter(|_| is_new);
        let change = state.and_then(|it| follow_background(team, &name, it));
        self.tell(change.into_iter().collect(), None, scene);
    }

    /// Remembers a line by its id; returns whether it is new. A line without an id always is.
    fn settle(&mut self, uuid: Option<&str>) -> bool {
        uuid.is_none_or(|uuid| self.memory.correlator.settle(uuid))
    }

    fn count_unknown(&mut self, tool: &str) {
        let name: String = tool.chars().take(MAX_UNKNOWN_NAME).collect();
        let unknown = &mut self.memory.counts.unknown_tools;
        if unknown.len() < MAX_UNKNOWN || unknown.contains_key(&name) {
            *unknown.entry(name).or_default() += 1;
            self.has_changed = true;
        }
    }

    /// Publishes what changed.
    fn tell(&mut self, changes: Vec<ObservedChange>, tool_use_id: Option<&str>, scene: &Scene) {
        for change in changes {
            let mut gone = None;
            if let ObservedChange::TeamGone(team) = &change {
                gone = Some(team.name.clone());
                self.over = Some(team.clone());
            }
            let Some(fact) = diff(change) else { continue };
            let known = || self.memory.session.team.as_ref().map(|it| it.name.clone());
            let team = gone.or_else(known).unwrap_or_default();
            // A saved state may contain anything.
            self.memory.sequence = self.memory.sequence.saturating_add(1);
            self.has_changed = true;
            let event = TeamEvent {
                sequence: self.memory.sequence,
                at: scene.at,
                session_id: scene.session_id.clone(),
                team,
                tool_use_id: tool_use_id.map(str::to_owned),
                fact,
            };
            self.feed.publish(&event);
            self.out.push(ObserverOutput::Event(Box::new(event)));
        }
        if self.memory.session.team.is_none() {
            self.memory.completed.clear();
        }
    }
}

/// Whether a line begins and ends like a JSON object. An empty line is fine.
fn is_whole(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || (line.starts_with(b"{") && line.ends_with(b"}"))
}

/// The member that this update makes start a task, if any.
fn begins_task(signal: &LineSignal<'_>, team: &ObservedTeam) -> Option<String> {
    let LineSignal::Use(ToolUse { meaning: Meaning::Team(Operation::UpdateTask(update)), .. }) =
        signal
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
