//! News for a client that listens: events that concern its member, and resources that changed.
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
use troop_app::team::{MemberCaller, TeamNews, concerning};
use troop_model::lock;

use super::resources;

/// The news that a client wants.
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

/// Tells a client of everything that happens from now on, until it disconnects.
pub(super) async fn tell(
    caller: Arc<MemberCaller>,
    wanted: Arc<NewsFilter>,
    peer: Peer<RoleServer>,
) {
    let mut news = TeamNews::new(&caller);
    while let Some(event) = news.next().await {
        // If no news concerns a client that has gone, no notification fails, and this would never end.
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

/// Sends news to a client that listens without a session.
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
