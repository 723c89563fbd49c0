//! The state that the loop and a running turn share: the wire, the waiting mail, the latest context.

mod mail;

use std::{
    fmt,
    path::PathBuf,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};
use troop_model::{Command, MessageKind, Permissions, lock};
use troop_protocol::{Change, FromTeammate, MessageIn, Peer, PeerError, TeamContext};
use uuid::Uuid;

use mail::MailQueue;

/// A member's identity, and its working place.
#[derive(Clone, Debug)]
pub struct Workplace {
    pub name: String,
    pub team: String,
    /// The working folder.
    pub path: PathBuf,
    /// Environment variables that the programs of the member get in addition to ours.
    pub environment: Vec<(String, String)>,
}

pub(crate) struct MemberWire {
    pub(crate) peer: Peer,
    pub(crate) place: Workplace,
    state: Mutex<WireState>,
    /// Notified when mail or a new context has come. Only the running turn waits for it.
    news: Notify,
}

struct WireState {
    mail: MailQueue,
    context: TeamContext,
    /// TEAM.md as the lead sent it last.
    team_md: Option<String>,
    mode: Permissions,
    last_sent: Instant,
    has_asked: bool,
    /// Whether the lead has sent something that only a lead with a board sends.
    knows_board: bool,
}

impl MemberWire {
    pub(crate) fn new(peer: Peer, place: Workplace) -> Self {
        let state = WireState {
            mail: MailQueue::default(),
            context: TeamContext::default(),
            team_md: None,
            mode: Permissions::Default,
            last_sent: Instant::now(),
            has_asked: false,
            knows_board: false,
        };
        Self { peer, place, state: Mutex::new(state), news: Notify::new() }
    }

    /// Sends something to the lead, after acknowledging mail that was read.
    pub(crate) async fn say(&self, said: &FromTeammate) -> Result<(), PeerError> {
        self.acknowledge();
        self.lock().last_sent = Instant::now();
        self.peer.notify(said).await
    }

    /// Sends something if the lead reads fast enough.
    pub(crate) fn try_say(&self, said: &FromTeammate) -> Result<(), PeerError> {
        self.lock().last_sent = Instant::now();
        self.peer.try_notify(said)
    }

    /// How long the member may be silent before the lead doubts that it lives: a third of its lease, but at most the
    /// usual time.
    pub(crate) fn patience(&self, usual: Duration) -> Duration {
        let lease = self.lock().context.lease_seconds;
        lease.map_or(usual, |seconds| usual.min(Duration::from_secs(seconds.into()) / 3))
    }

    /// Waits until nothing was sent for this long.
    pub(crate) async fn quiet_for(&self, duration: Duration) {
        loop {
            let last_sent = self.lock().last_sent;
            if last_sent.elapsed() >= duration {
                return;
            }
            tokio::time::sleep_until(last_sent + duration).await;
        }
    }

    /// Keeps a message until the agent takes it. A message that arrives twice is kept once.
    pub(crate) fn receive(&self, message: MessageIn) {
        let mut state = self.lock();
        let is_approval = message.kind == MessageKind::PlanApprovalResponse;
        if is_approval && message.approve == Some(true) && state.mode == Permissions::Plan {
            // The board does the same; the answer may arrive before the new mode.
            state.mode = Permissions::Default;
        }
        state.mail.receive(message);
        drop(state);
        self.news.notify_one();
    }

    /// Acknowledges a message that no agent gets.
    pub(crate) fn note_read(&self, id: Option<Uuid>) {
        self.lock().mail.owed.extend(id);
        self.acknowledge();
    }

    pub(crate) fn has_mail(&self) -> bool {
        self.lock().mail.has_some()
    }

    /// Takes all waiting mail, which acknowledges it.
    pub(crate) fn take_mail(&self) -> Vec<MessageIn> {
        let mail = self.lock().mail.take_all();
        self.acknowledge();
        mail
    }

    pub(crate) fn take_one(&self) -> Option<MessageIn> {
        let message = self.lock().mail.take_one();
        self.acknowledge();
        message
    }

    /// Waits for mail or a new context. May return without either.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }

    pub(crate) fn update(&self, mut context: TeamContext) {
        let mut state = self.lock();
        state.knows_board |= context.goes_beyond_table();
        if let Some(text) = context.team_md.take() {
            state.team_md = Some(text);
        }
        state.mode = context.mode.unwrap_or(state.mode);
        state.context = context;
        drop(state);
        self.news.notify_one();
    }

    pub(crate) fn context(&self) -> TeamContext {
        self.lock().context.clone()
    }

    pub(crate) fn team_md(&self) -> Option<String> {
        self.lock().team_md.clone()
    }

    /// Whether the lead answers board calls. A lead that knows only the table of notifications never would.
    pub(crate) fn knows_board(&self) -> bool {
        self.lock().knows_board
    }

    pub(crate) fn spent(&self) -> Option<String> {
        self.lock().context.spent.clone()
    }

    pub(crate) fn mode(&self) -> Permissions {
        self.lock().mode
    }

    /// Notes that the agent asked the board something.
    pub(crate) fn note_question(&self) {
        let mut state = self.lock();
        state.has_asked = true;
        state.last_sent = Instant::now();
    }

    /// Whether the agent asked the board something since the last call of this.
    pub(crate) fn take_asked(&self) -> bool {
        std::mem::take(&mut self.lock().has_asked)
    }

    /// Acknowledges the mail that was read. If the lead reads too slowly now, it hears of it with the next line.
    fn acknowledge(&self) {
        let mut state = self.lock();
        if state.mail.owed.is_empty() {
            return;
        }
        let command = Command::MarkRead { reader: None, messages: Some(state.mail.owed.clone()) };
        if self.peer.try_notify(&Change { command, operation: None }).is_ok() {
            state.mail.owed.clear();
            state.last_sent = Instant::now();
        }
    }

    fn lock(&self) -> MutexGuard<'_, WireState> {
        lock(&self.state)
    }
}

impl fmt::Debug for MemberWire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberWire").field("place", &self.place).finish_non_exhaustive()
    }
}
