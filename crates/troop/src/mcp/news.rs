//! News of the team for a client that listens: what concerns the member, and which resources changed.
#![expect(deprecated, reason = "clients of today still show log messages")]

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use rmcp::{
    RoleServer,
    model::{
        LoggingLevel, LoggingMessageNotificationParam, ResourceUpdatedNotificationParam,
        SubscriptionFilter,
    },
    service::{Peer, SubscriptionSink},
};
use serde_json::json;
use tokio::sync::watch;
use troop_app::team::{MemberCaller, TeamHandle};
use troop_model::{Event, Fact, MemberName, Party, State, lock};
use troop_runtime::Subscription;

use super::resources;

/// What a client wants to hear.
#[derive(Debug)]
pub(super) struct NewsFilter {
    level: Mutex<LoggingLevel>,
    resources: Mutex<BTreeSet<String>>,
}

impl Default for NewsFilter {
    fn default() -> Self {
        Self { level: Mutex::new(LoggingLevel::Info), resources: Mutex::default() }
    }
}

impl NewsFilter {
    pub(super) fn set_level(&self, level: LoggingLevel) {
        *lock(&self.level) = level;
    }

    pub(super) fn subscribe(&self, uri: String) {
        lock(&self.resources).insert(uri);
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        lock(&self.resources).remove(uri);
    }

    fn wants(&self, uri: &str) -> bool {
        lock(&self.resources).contains(uri)
    }

    fn hears_info(&self) -> bool {
        let level = *lock(&self.level);
        matches!(level, LoggingLevel::Debug | LoggingLevel::Info)
    }
}

/// Tells a client of everything that happens from now on, until it goes.
pub(super) async fn tell(
    caller: Arc<MemberCaller>,
    wanted: Arc<NewsFilter>,
    peer: Peer<RoleServer>,
) {
    let mut news = TeamNews::new(&caller);
    while let Some(event) = news.next().await {
        // Who has gone is not told of what does not concern it either, and would be kept for ever.
        if peer.is_transport_closed() {
            return;
        }
        for uri in resources::changed_by(&event).into_iter().filter(|uri| wanted.wants(uri)) {
            let updated = ResourceUpdatedNotificationParam::new(uri);
            if peer.notify_resource_updated(updated).await.is_err() {
                return;
            }
        }
        let text = concerning(&event, caller.member()).filter(|_| wanted.hears_info());
        if let Some(text) = text {
            let data = json!({"text": text, "event": event.fact.kind(), "version": event.version});
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, data);
            if peer.notify_logging_message(message.with_logger("troop")).await.is_err() {
                return;
            }
        }
    }
}

/// The same for one who listens without a session.
pub(super) async fn tell_sink(
    caller: &MemberCaller,
    accepted: &SubscriptionFilter,
    sink: &SubscriptionSink,
) {
    let wanted = accepted.resource_subscriptions.clone().unwrap_or_default();
    let mut news = TeamNews::new(caller);
    while let Some(event) = news.next().await {
        for uri in resources::changed_by(&event).into_iter().filter(|uri| wanted.contains(uri)) {
            if sink.notify_resource_updated(uri).await.is_err() {
                return;
            }
        }
    }
}

/// Follows the team, and the one after it.
struct TeamNews {
    teams: watch::Receiver<Arc<TeamHandle>>,
    log: Option<Subscription>,
}

impl TeamNews {
    fn new(caller: &MemberCaller) -> Self {
        Self { teams: caller.teams(), log: None }
    }

    /// What happens next. None when there is nobody left to tell it.
    async fn next(&mut self) -> Option<Arc<Event>> {
        loop {
            let log = match &mut self.log {
                Some(log) => log,
                None => {
                    let team = Arc::clone(&self.teams.borrow_and_update());
                    let version = team.look(State::version).await.ok()?;
                    self.log.insert(team.subscribe(version))
                }
            };
            tokio::select! {
                event = log.next() => return event.ok()?,
                changed = self.teams.changed() => {
                    changed.ok()?;
                    self.log = None;
                }
            }
        }
    }
}

/// What an event means to a member, if it concerns it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not here concerns the board, not a member"
)]
fn concerning(event: &Event, member: &MemberName) -> Option<String> {
    let own = Party::member(member);
    if event.actor.name == member.as_str() {
        return None;
    }
    match &event.fact {
        Fact::MessageSent { from, readers, summary, .. } if readers.contains(&own) => {
            let about = summary.as_deref().map(|it| format!(": {it}")).unwrap_or_default();
            Some(format!("mail from {from}{about}"))
        }
        Fact::TaskAssigned { task, owner, .. } if owner == member => {
            Some(format!("{task} is yours"))
        }
        Fact::TaskReleased { task, owner, reason, .. } if owner == member => {
            Some(format!("{task} is no longer yours: {reason}"))
        }
        _ => None,
    }
}
