//! Subscriptions: calls after which notifications come, until the subscription is cancelled or the conversation ends.
//!
//! A slow subscriber slows down only its own subscription: unread news wait in the store and on the disk, not in memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troop_model::{Event, Version};

use super::{answer::EventLine, transcript::TranscriptPage};
use crate::method;

/// Calls about subscriptions, on a lead's socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum FollowCall {
    /// Follow the log: `events/appended` comes for every event after a version, once and in order.
    #[serde(rename = "events/subscribe")]
    Events {
        /// The version that the subscriber has seen; 0 for all events. To resume, give the version of the last event that came.
        #[serde(default)]
        since: Version,
    },
    /// Follow a member's transcript: `transcript/appended` comes when entries are written to it.
    #[serde(rename = "transcript/follow")]
    Transcript {
        member: String,
        /// The `end` of a page, or of the last notification that came. Without it, the oldest entry comes first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    },
    /// End a subscription. Nothing more comes for it after the answer.
    #[serde(rename = "subscription/cancel")]
    Cancel { subscription: u64 },
}

/// The answer to the calls about subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionTicket {
    /// Names the subscription in its notifications, on this conversation.
    pub subscription: u64,
}

/// A notification of a subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum SubscriptionNews {
    /// The log has grown by an event.
    #[serde(rename = "events/appended")]
    Event(Box<EventNews>),
    /// A transcript has grown.
    #[serde(rename = "transcript/appended")]
    Transcript(TranscriptNews),
    /// Nothing more comes for a subscription.
    #[serde(rename = "subscription/ended")]
    Ended(SubscriptionEnd),
}

/// `events/appended`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventNews {
    pub subscription: u64,
    /// The event, as it is in the log.
    #[serde(with = "super::answer::in_log_form")]
    #[schemars(with = "EventLine")]
    pub event: Event,
}

/// `transcript/appended`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptNews {
    pub subscription: u64,
    #[serde(flatten)]
    pub page: TranscriptPage,
}

/// `subscription/ended`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionEnd {
    pub subscription: u64,
    /// Why, for people.
    pub reason: String,
    /// Where to resume a subscription to events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Version>,
}

method::methods_both_ways!(SubscriptionNews);
