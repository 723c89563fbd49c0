//! What is known of a member that runs, as plain values: the policy decides on these alone.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;
use troop_model::{Origin, TaskNumber, TaskRef, Version};
use uuid::Uuid;

use super::lifecycle::Lifecycle;

/// How often in a row a member is told that something it said had no effect, before it gets other mail or work.
const MAX_REFUSED: u32 = 8;

/// What is known of a member that runs.
#[derive(Debug)]
pub(in super::super) struct MemberFacts {
    pub(in super::super) life: Lifecycle,
    pub(in super::super) wire: WireFacts,
    pub(in super::super) mail: MailFacts,
    pub(in super::super) work: WorkFacts,
    pub(in super::super) idle: IdleFacts,
    pub(in super::super) briefing: Briefing,
    pub(in super::super) signs: SignsOfLife,
}

/// How a member speaks on its wire.
#[derive(Debug, Default)]
pub(in super::super) struct WireFacts {
    /// Whether it says what it has read.
    pub(in super::super) acknowledges: bool,
    /// Whether it says when it has dealt with what it was told.
    pub(in super::super) tells_end: bool,
    /// Whether its wire has ended.
    pub(in super::super) is_silent: bool,
    /// How often it was told in a row, and nothing else besides, that something it said had no effect.
    n_refused: u32,
}

/// The mail of a member between the board and its agent.
#[derive(Debug, Default)]
pub(in super::super) struct MailFacts {
    /// What it was handed and has not read.
    pub(in super::super) handed: BTreeSet<Uuid>,
    /// The conversation that this belongs to, or that it deals with. Only the lead acts in conversations.
    conversation: Option<Origin>,
    /// The conversation of the mail that it read last and deals with: what it says meanwhile belongs there.
    pub(in super::super) answers: Option<Origin>,
    /// Whether we will write to it again soon, because it did not read.
    pub(in super::super) is_retrying: bool,
}

/// What a member works on.
#[derive(Debug)]
pub(in super::super) struct WorkFacts {
    /// The tasks that it was told to work on, and in which attempt.
    pub(in super::super) told: BTreeMap<TaskNumber, u32>,
    /// What it is in the middle of.
    pub(in super::super) engagement: Option<Engagement>,
    /// Whether it has begun to work on a task and has not said yet that its turn is over, whatever became of the task
    /// meanwhile. Only of members that say so.
    pub(in super::super) is_in_turn: bool,
    /// The task that it was in the middle of when it lost it, until it has broken off.
    pub(in super::super) breaks_off: Option<TaskNumber>,
    /// Whether it has dealt with all that it was told. Always, if it does not say so.
    pub(in super::super) is_at_rest: bool,
    /// Whether it is being given work.
    pub(in super::super) offers: Offers,
    /// How many of its reports and calls wait for files, hooks or proof.
    pub(in super::super) n_held: usize,
}

/// What a member is in the middle of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Engagement {
    pub(in super::super) task: TaskNumber,
    pub(in super::super) attempt: Option<u32>,
    /// What it told people last. If it says nothing else in the end, that is its result.
    pub(in super::super) said: Option<String>,
}

/// Commands that may give a member work.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Offers {
    /// How many were given to the board, and nobody knows yet what comes of them.
    n_waiting: usize,
    /// What came of the others is in the log up to there.
    until: Version,
}

/// What a member said about being idle.
#[derive(Debug, Default)]
pub(in super::super) struct IdleFacts {
    /// It said that it is idle, and that has to wait.
    pub(in super::super) after: Option<IdleAfter>,
    /// Whether it has said once that it is idle.
    pub(in super::super) has_said_so: bool,
    /// Whether it asked for a task since it last said so.
    pub(in super::super) has_claimed: bool,
}

/// What the idleness of a member waits for, besides its reports and calls.
#[derive(Debug)]
pub(in super::super) struct IdleAfter {
    /// What it did last.
    pub(in super::super) last_task: Option<TaskRef>,
    /// The log is to be followed up to there.
    pub(in super::super) until: Version,
}

/// What a member was told about its team.
#[derive(Debug, Default)]
pub(in super::super) struct Briefing {
    /// Which TEAM.md it was told last.
    pub(in super::super) team: u64,
    /// The version of the log at which nobody could begin anything that waits, if it was told so.
    pub(in super::super) stuck_at: Option<Version>,
}

/// When a member last gave a sign of life, and when somebody last counted on one.
#[derive(Debug)]
pub(in super::super) struct SignsOfLife {
    pub(in super::super) heard_at: Instant,
    /// When it was last given mail while it had nothing else to deal with.
    pub(in super::super) roused_at: Instant,
    /// When its leases were last renewed.
    pub(in super::super) renewed_at: Instant,
}

impl MemberFacts {
    pub(in super::super) fn new(is_new: bool, now: Instant) -> Self {
        Self {
            life: Lifecycle::Starting { is_new },
            wire: WireFacts::default(),
            mail: MailFacts::default(),
            work: WorkFacts {
                told: BTreeMap::new(),
                engagement: None,
                is_in_turn: false,
                breaks_off: None,
                is_at_rest: true,
                offers: Offers::default(),
                n_held: 0,
            },
            idle: IdleFacts::default(),
            briefing: Briefing::default(),
            signs: SignsOfLife { heard_at: now, roused_at: now, renewed_at: now },
        }
    }

    /// Whether it takes work and mail now.
    pub(in super::super) fn is_open(&self) -> bool {
        self.life.is_ready() && !self.wire.is_silent
    }

    /// Whether it may be given more work, as far as the log has been followed.
    pub(in super::super) fn is_free(&self, followed: Version) -> bool {
        let is_settled = self.work.offers.are_settled(followed);
        let is_busy = self.work.breaks_off.is_some() || self.work.is_in_turn;
        self.is_open() && is_settled && !is_busy
    }

    /// Whether it has neither unread mail in its hands nor anything to deal with.
    pub(in super::super) fn has_no_conversation(&self) -> bool {
        self.mail.handed.is_empty() && self.work.is_at_rest
    }

    /// Turns to a conversation, if it may be handed something of it now: one at a time, until it has dealt with it. What is
    /// of no conversation goes with any.
    pub(in super::super) fn turn_to(&mut self, conversation: &Origin) -> bool {
        if conversation.is_internal() {
            return true;
        }
        if self.has_no_conversation() {
            self.mail.conversation = None;
        }
        self.mail.conversation.get_or_insert_with(|| conversation.clone()) == conversation
    }

    /// Notes that it is handed a message, which it is to deal with.
    pub(in super::super) fn hand(&mut self, message: Uuid, now: Instant) {
        if self.has_no_conversation() {
            self.signs.roused_at = now;
        }
        self.wire.n_refused = 0;
        self.mail.handed.insert(message);
    }

    /// Notes that it is given work, so that it has something to say again.
    pub(in super::super) fn give(&mut self, task: TaskNumber, attempt: u32) {
        self.work.told.insert(task, attempt);
        self.wire.n_refused = 0;
    }

    /// Notes that it begins to work on a task.
    pub(in super::super) fn engage(&mut self, task: TaskNumber, attempt: Option<u32>) {
        self.work.engagement = Some(Engagement { task, attempt, said: None });
        self.work.is_in_turn = self.wire.tells_end;
    }

    /// Notes that it has something to deal with. Only members that say when they have are waited for.
    pub(in super::super) fn stir(&mut self) {
        self.work.is_at_rest = !self.wire.tells_end;
    }

    /// Notes that it has dealt with all that it was told.
    pub(in super::super) fn rest(&mut self) {
        self.work.is_at_rest = true;
        self.work.is_in_turn = false;
        self.mail.answers = None;
    }

    /// Its idleness, if that has waited and nothing is left to wait for.
    pub(in super::super) fn take_settled_idle(&mut self, followed: Version) -> Option<IdleAfter> {
        let is_settled = self.work.n_held == 0;
        self.idle.after.take_if(|it| is_settled && it.until <= followed)
    }
}

impl WireFacts {
    /// Counts that it is told once more that something it said had no effect. Returns whether it is told: a member that
    /// answers with the same again would go on for ever.
    pub(in super::super) fn count_refusal(&mut self) -> bool {
        self.n_refused += 1;
        self.n_refused <= MAX_REFUSED
    }
}

impl WorkFacts {
    /// Whether it is in the middle of a task.
    pub(in super::super) fn is_engaged_in(&self, task: TaskNumber) -> bool {
        self.engagement.as_ref().is_some_and(|it| it.task == task)
    }
}

impl Offers {
    /// A command that may give work was given to the board.
    pub(in super::super) fn begin(&mut self) {
        self.n_waiting += 1;
    }

    /// It is known what came of one; it is in the log up to there.
    pub(in super::super) fn settle(&mut self, version: Option<Version>) {
        self.n_waiting -= 1;
        self.until = self.until.max(version.unwrap_or(Version::ZERO));
    }

    fn are_settled(self, followed: Version) -> bool {
        self.n_waiting == 0 && self.until <= followed
    }
}

#[cfg(test)]
mod tests;
