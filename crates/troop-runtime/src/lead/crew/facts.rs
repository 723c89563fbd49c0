//! The facts about a running member, as plain values: the policy decides on these alone.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;
use troop_model::{Origin, TaskNumber, TaskRef, Version};
use uuid::Uuid;

use super::lifecycle::Lifecycle;

/// How many refusals in a row a member is sent, before it gets other mail or work.
const MAX_REFUSED: u32 = 8;

/// The facts about a running member.
#[derive(Debug)]
pub struct MemberFacts {
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
    /// Whether it acknowledges the mail that it has read.
    pub(in super::super) acknowledges: bool,
    /// Whether it announces the end of its turns.
    pub(in super::super) tells_end: bool,
    /// Whether its wire has ended.
    pub(in super::super) is_silent: bool,
    /// How many refusals in a row it was sent.
    n_refused: u32,
}

/// The mail of a member between the board and its agent.
#[derive(Debug, Default)]
pub(in super::super) struct MailFacts {
    /// The messages that it was handed and has not read.
    pub(in super::super) handed: BTreeSet<Uuid>,
    /// The conversation of these messages, or the one that it is handling. Only the lead acts in conversations.
    pub(in super::super) conversation: Option<Origin>,
    /// The conversation of the mail that it is handling: its messages belong there.
    pub(in super::super) answers: Option<Origin>,
    /// Whether a retry is scheduled, because it did not read.
    pub(in super::super) is_retrying: bool,
}

/// The work of a member.
#[derive(Debug)]
pub(in super::super) struct WorkFacts {
    /// The tasks that it was sent, with the attempt.
    pub(in super::super) told: BTreeMap<TaskNumber, u32>,
    /// The task that it is working on.
    pub(in super::super) engagement: Option<Engagement>,
    /// Whether it has begun to work on a task and not yet ended its turn, whatever became of the task. Only for members that
    /// announce the end of their turns.
    pub(in super::super) is_in_turn: bool,
    /// The task that it lost while it was working on it, until it has broken off.
    pub(in super::super) breaks_off: Option<TaskNumber>,
    /// Whether it has handled all its mail and work. Always true for members that do not announce the end of their turns.
    pub(in super::super) is_at_rest: bool,
    /// Pending offers of work.
    pub(in super::super) offers: Offers,
    /// How many of its reports and calls wait for files, hooks or proof.
    pub(in super::super) n_held: usize,
}

/// The task that a member is working on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Engagement {
    pub(in super::super) task: TaskNumber,
    pub(in super::super) attempt: Option<u32>,
    /// Its last log line. If it reports nothing else, that is its result.
    pub(in super::super) said: Option<String>,
}

/// Commands that may give a member work.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Offers {
    /// How many the board has not decided yet.
    n_waiting: usize,
    /// The effects of the others are in the log up to this version.
    until: Version,
}

/// The idle reports of a member.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; they combine freely")]
pub(in super::super) struct IdleFacts {
    /// An idle report that has to wait.
    pub(in super::super) after: Option<IdleAfter>,
    /// Whether it has ever said that it is idle.
    pub(in super::super) has_said_so: bool,
    /// Whether it has claimed a task since.
    pub(in super::super) has_claimed: bool,
    /// Whether it has had something to do since the last time that others were told that it is idle.
    pub(in super::super) has_worked: bool,
    /// Whether it was handed mail since its changes outside of tasks were last looked for.
    pub(in super::super) was_handed: bool,
    /// How many of its next idle reports may follow changes outside of tasks.
    pub(in super::super) n_suspect: u8,
    /// How often it has begun something. Only for members that announce the end of their turns: they say again that it is over.
    pub(in super::super) n_begun: u64,
    /// How often it had begun something when it last said that it has nothing to do.
    pub(in super::super) n_begun_until_said: u64,
    /// Whether others were told of its last idle report.
    pub(in super::super) was_told: bool,
}

/// An idle report that waits for pending reports, calls and the log.
#[derive(Debug)]
pub(in super::super) struct IdleAfter {
    /// The last task of the member.
    pub(in super::super) last_task: Option<TaskRef>,
    /// How many commands of the lead must be decided and followed.
    pub(in super::super) until: u64,
}

/// The context that a member has.
#[derive(Debug, Default)]
pub(in super::super) struct Briefing {
    /// The number of its TEAM.md.
    pub(in super::super) team: u64,
    /// The version of the log at which the team was stuck, if it was told so.
    pub(in super::super) stuck_at: Option<Version>,
}

/// When a member last gave a sign of life, and since when one is expected.
#[derive(Debug)]
pub(in super::super) struct SignsOfLife {
    pub(in super::super) heard_at: Instant,
    /// When it last got mail while it was at rest.
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

    /// The facts about a member that is ready for its first task.
    #[must_use]
    pub fn ready() -> Self {
        let mut facts = Self::new(true, Instant::now());
        facts.life.become_ready();
        facts
    }

    /// Whether it can get work and mail.
    pub(in super::super) fn is_open(&self) -> bool {
        self.life.is_ready() && !self.wire.is_silent
    }

    /// Whether it may get more work, as far as the log has been followed.
    pub(in super::super) fn is_free(&self, followed: Version) -> bool {
        let is_settled = self.work.offers.are_settled(followed);
        let is_busy = self.work.breaks_off.is_some() || self.work.is_in_turn;
        self.is_open() && is_settled && !is_busy
    }

    /// Whether it has neither unread mail nor anything else to handle.
    pub(in super::super) fn has_no_conversation(&self) -> bool {
        self.mail.handed.is_empty() && self.work.is_at_rest
    }

    /// Notes that it is handed mail of a conversation.
    pub(in super::super) fn turn_to(&mut self, conversation: &Origin) {
        self.mail.conversation = Some(conversation.clone());
    }

    /// Notes that it was handed a message.
    pub(in super::super) fn hand(&mut self, message: Uuid, now: Instant) {
        if self.has_no_conversation() {
            self.signs.roused_at = now;
        }
        // The first idle report of a member may be older than the mail that it was started with.
        self.idle.has_worked |= self.idle.has_said_so;
        self.idle.was_handed = true;
        self.idle.n_suspect = if self.idle.has_said_so { 1 } else { 2 };
        self.wire.n_refused = 0;
        self.mail.handed.insert(message);
    }

    /// Notes that it was sent a task. Its refusals are counted from zero again.
    pub(in super::super) fn give(&mut self, task: TaskNumber, attempt: u32) {
        self.work.told.insert(task, attempt);
        self.wire.n_refused = 0;
    }

    /// Notes that it works on a task.
    pub(in super::super) fn engage(&mut self, task: TaskNumber, attempt: Option<u32>) {
        self.idle.has_worked = true;
        self.work.engagement = Some(Engagement { task, attempt, said: None });
        self.work.is_in_turn = self.wire.tells_end;
        self.note_begun();
    }

    /// Notes that it has something to handle. We wait only for members that announce the end of their turns.
    pub(in super::super) fn stir(&mut self) {
        self.work.is_at_rest = !self.wire.tells_end;
        self.note_begun();
    }

    fn note_begun(&mut self) {
        self.idle.n_begun += u64::from(self.wire.tells_end);
    }

    /// Notes that it says that it has nothing to do.
    pub(in super::super) fn say_idle(&mut self) {
        self.idle.n_begun_until_said = self.idle.n_begun;
    }

    /// Whether it has begun something since it last said that it has nothing to do. What it said then is no longer so.
    pub(in super::super) fn has_gone_on(&self) -> bool {
        self.idle.n_begun_until_said != self.idle.n_begun
    }

    /// Notes that its turn is over.
    pub(in super::super) fn rest(&mut self) {
        self.work.is_at_rest = true;
        self.work.is_in_turn = false;
        self.mail.answers = None;
    }

    /// Whether others should hear of the end of its turn: it had something to do, and they did not hear of its last idle report,
    /// because it had done nothing yet.
    pub(in super::super) fn owes_idle_report(&self) -> bool {
        self.idle.has_worked && !self.idle.was_told && self.idle.after.is_none()
    }

    /// Notes that its idleness is not announced, because it has gone on. The end of its turn is.
    pub(in super::super) fn owe_idle_report(&mut self) {
        self.idle.has_worked = true;
        self.idle.was_told = false;
    }

    /// Notes that its idleness was announced.
    pub(in super::super) fn note_idle_told(&mut self) {
        self.idle.has_worked = false;
        self.idle.was_told = true;
    }

    /// Takes a pending idle report, if nothing is left to wait for.
    pub(in super::super) fn take_settled_idle(&mut self, n_followed: u64) -> Option<IdleAfter> {
        let is_settled = self.work.n_held == 0;
        self.idle.after.take_if(|it| is_settled && it.until <= n_followed)
    }
}

/// Whether a member may get mail of a conversation, unless it is still handling another. `is_over` says that it has handled all.
pub(in super::super) fn may_turn(handled: Option<&Origin>, is_over: bool, next: &Origin) -> bool {
    is_over || handled.is_none_or(|it| it == next)
}

impl WireFacts {
    /// Counts a refusal. Returns whether it is sent: a member that answers each refusal with the same message would never stop.
    pub(in super::super) fn count_refusal(&mut self) -> bool {
        self.n_refused += 1;
        self.n_refused <= MAX_REFUSED
    }
}

impl WorkFacts {
    /// Whether it is working on a task.
    pub(in super::super) fn is_engaged_in(&self, task: TaskNumber) -> bool {
        self.engagement.as_ref().is_some_and(|it| it.task == task)
    }
}

impl Offers {
    /// An offer was given to the board.
    pub(in super::super) fn begin(&mut self) {
        self.n_waiting += 1;
    }

    /// The board has decided an offer; its effect is in the log up to this version.
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
