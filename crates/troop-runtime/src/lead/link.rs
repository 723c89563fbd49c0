//! One member that runs: its wire, and what is known about it.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use tokio::{task::AbortHandle, time::Instant};
use troop_model::{Origin, TaskNumber, TaskRef, Version};
use troop_protocol::{FromLead, Notification, Peer, PeerError};
use uuid::Uuid;

use super::{Runner, delegations::AtWork, stop::StopOrder, supervisor::MemberExit};

/// How many lines of its standard error are kept to explain its end.
const LAST_WORDS: usize = 8;

/// How many characters of them.
const MAX_WORDS: usize = 400;

/// How often in a row a member is told that something it said had no effect, before it gets other mail or work.
const MAX_REFUSED: u32 = 8;

/// How far a member has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is not ready yet.
    Starting,
    /// It can be given work and mail.
    Ready,
}

/// What a member runs as.
#[derive(Debug)]
pub(super) enum MemberBody {
    /// A process of its own.
    Process(u32),
    /// A part of this one.
    Task(AbortHandle),
}

impl MemberBody {
    /// The process that it runs in.
    pub(super) fn process(&self) -> u32 {
        self.own_process().unwrap_or_else(std::process::id)
    }

    /// The process that is its own.
    pub(super) fn own_process(&self) -> Option<u32> {
        match self {
            Self::Process(pid) => Some(*pid),
            Self::Task(_) => None,
        }
    }
}

/// A member that runs.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and no two exclude each other"
)]
pub(super) struct LiveMember {
    pub(super) runner: Runner,
    pub(super) peer: Peer,
    pub(super) body: MemberBody,
    pub(super) phase: Phase,
    /// Whether the member joined only to be started now. If it does not start, it is not left behind.
    pub(super) is_new: bool,
    /// Whether it says what it has read.
    pub(super) acknowledges: bool,
    /// Whether it says when it has dealt with what it was told.
    pub(super) tells_end: bool,
    /// Whether it has.
    pub(super) is_at_rest: bool,
    /// What it was handed and has not read.
    pub(super) handed: BTreeSet<Uuid>,
    /// The conversation that this belongs to, or that it deals with. Only for who acts in conversations, which is the lead.
    conversation: Option<Origin>,
    /// The conversation of the mail that it read last and deals with: what it says meanwhile belongs there.
    pub(super) answers: Option<Origin>,
    /// The tasks that it was told to work on, and in which attempt.
    pub(super) told: BTreeMap<TaskNumber, u32>,
    /// What it is in the middle of.
    pub(super) at_work: Option<AtWork>,
    /// Whether it has begun to work on a task and not said yet that its turn is over, whatever became of the task meanwhile. Only
    /// of who says so.
    pub(super) is_in_turn: bool,
    /// What it was in the middle of when it was taken from it, until it has broken off.
    pub(super) breaks_off: Option<TaskNumber>,
    /// Whether it is being ended, and only its end is awaited.
    pub(super) is_killed: bool,
    /// Which TEAM.md it was told last.
    pub(super) told_team: u64,
    /// The version of the log at which nobody could begin anything that waits, if it is told so.
    pub(super) told_stuck: Option<Version>,
    pub(super) asked: PendingWork,
    pub(super) stop: Option<StopOrder>,
    /// How many of its deeds wait for hooks.
    pub(super) n_held: usize,
    /// It said that it is idle, and that has to wait.
    pub(super) idle_after: Option<IdleAfter>,
    /// Whether it has said once that it is idle.
    pub(super) has_said_idle: bool,
    /// Whether it was asked, since it last did, how the task stands that it holds.
    pub(super) is_asked_for_word: bool,
    /// Whether it asked for a task since it last said that it is idle.
    pub(super) has_claimed: bool,
    /// Whether it will be written to again, because it did not read.
    pub(super) is_retrying: bool,
    /// Whether it was removed from the team; its end is nobody's any more.
    pub(super) is_let_go: bool,
    /// Whether its wire has ended.
    pub(super) is_silent: bool,
    /// How it ended, once it has. What it said before that may still be on its way.
    pub(super) exit: Option<MemberExit>,
    pub(super) heard_at: Instant,
    /// When it was last given mail while it had nothing else to deal with.
    roused_at: Instant,
    pub(super) renewed_at: Instant,
    /// How often it was told in a row, and nothing else besides, that something it said had no effect.
    n_refused: u32,
    /// Why it is being ended, if it is.
    ended_because: Option<String>,
    last_words: VecDeque<String>,
}

/// What the idleness of a member waits for, besides its deeds.
#[derive(Debug)]
pub(super) struct IdleAfter {
    /// What it did last.
    pub(super) last_task: Option<TaskRef>,
    /// The log is to be followed up to there.
    pub(super) until: Version,
}

/// Whether a member is being given work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingWork {
    /// How many commands may give it some, and nobody knows yet what comes of them.
    pub(super) n_waiting: usize,
    /// What came of the others is in the log up to there.
    pub(super) until: Version,
}

impl LiveMember {
    pub(super) fn new(runner: Runner, peer: Peer, body: MemberBody, is_new: bool) -> Self {
        let now = Instant::now();
        Self {
            runner,
            peer,
            body,
            phase: Phase::Starting,
            is_new,
            acknowledges: false,
            tells_end: false,
            is_at_rest: true,
            handed: BTreeSet::new(),
            conversation: None,
            answers: None,
            told: BTreeMap::new(),
            at_work: None,
            is_in_turn: false,
            breaks_off: None,
            is_killed: false,
            told_team: 0,
            told_stuck: None,
            asked: PendingWork::default(),
            stop: None,
            n_held: 0,
            idle_after: None,
            has_said_idle: false,
            is_asked_for_word: false,
            has_claimed: false,
            is_retrying: false,
            is_let_go: false,
            is_silent: false,
            exit: None,
            heard_at: now,
            roused_at: now,
            renewed_at: now,
            n_refused: 0,
            ended_because: None,
            last_words: VecDeque::new(),
        }
    }

    /// Whether it takes work and mail now.
    pub(super) fn is_open(&self) -> bool {
        let is_alive = !self.is_silent && !self.is_killed && self.exit.is_none();
        self.phase == Phase::Ready && self.stop.is_none() && is_alive
    }

    /// Whether it may be given more work, as far as the log has been followed.
    pub(super) fn is_free(&self, followed: Version) -> bool {
        let is_settled = self.asked.n_waiting == 0 && self.asked.until <= followed;
        self.is_open() && is_settled && self.breaks_off.is_none() && !self.is_in_turn
    }

    /// Whether it may be handed something of a conversation now: one at a time, until it has dealt with it. What is of no
    /// conversation goes with any.
    pub(super) fn may_turn_to(&mut self, conversation: &Origin) -> bool {
        if conversation.is_internal() {
            return true;
        }
        if self.handed.is_empty() && self.is_at_rest {
            self.conversation = None;
        }
        self.conversation.get_or_insert_with(|| conversation.clone()) == conversation
    }

    /// Says something, unless too much waits for it already.
    pub(super) fn tell(&self, said: &FromLead) -> Result<(), PeerError> {
        self.peer.try_notify(Notification::from(said))
    }

    /// Notes that it is handed mail, which it is to deal with.
    pub(super) fn rouse(&mut self) {
        if self.is_at_rest && self.handed.is_empty() {
            self.roused_at = Instant::now();
        }
        self.n_refused = 0;
    }

    /// Whether it has mail to deal with or a turn to end, is one that gives signs of life meanwhile, and has given none for so
    /// long.
    pub(super) fn hangs_for(&self, time: Duration) -> bool {
        let is_at_it = !self.is_at_rest || !self.handed.is_empty() || self.is_in_turn;
        let is_silent = self.heard_at.max(self.roused_at).elapsed() >= time;
        self.tells_end && self.is_open() && is_at_it && is_silent
    }

    /// Whether it is told once more that something it said had no effect: who answers that with the same again would go on
    /// for ever.
    pub(super) fn may_be_refused(&mut self) -> bool {
        self.n_refused += 1;
        self.n_refused <= MAX_REFUSED
    }

    /// Notes that it is given work, so that it has something to say again.
    pub(super) fn is_given(&mut self, task: TaskNumber, attempt: u32) {
        self.told.insert(task, attempt);
        self.n_refused = 0;
    }

    pub(super) fn note_complaint(&mut self, line: &str) {
        if self.last_words.len() == LAST_WORDS {
            self.last_words.pop_front();
        }
        self.last_words.push_back(line.to_owned());
    }

    /// Notes why it is about to be ended.
    pub(super) fn ends_because(&mut self, why: &str) {
        self.ended_because.get_or_insert_with(|| why.to_owned());
    }

    /// Why it ended: what was done to it, else how it ended; and the end of what it wrote to standard error.
    pub(super) fn why_ended(&self, exit: &MemberExit) -> String {
        let why = self.ended_because.clone().unwrap_or_else(|| exit.to_string());
        let words: Vec<_> = self.last_words.iter().map(String::as_str).collect();
        let words = words.join("\n");
        let n_left_out = words.chars().count().saturating_sub(MAX_WORDS);
        let (cut, tail) = match words.char_indices().nth(n_left_out) {
            Some((at, _)) if n_left_out > 0 => ("…", words.get(at..).unwrap_or_default()),
            _ => ("", words.as_str()),
        };
        if tail.is_empty() { why } else { format!("{why}: {cut}{tail}") }
    }
}
