//! The built-in agent, with a scripted model on loopback.

mod cost;
mod model;
mod permission;
mod room;
mod servers;
mod think;

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use troop_agent::builtin::{
    Api, BuiltinAgent, BuiltinOptions, Endpoint, RequestPolicy, Retries, Secret,
};
use troop_protocol::Gate;
use troop_testkit::mock::MockModel;

use crate::lead::Lead;

/// A key that no result and no log may show.
const KEY: &str = "sk-very-secret";

fn options(api: Api, mock: &MockModel) -> BuiltinOptions {
    let endpoint = Endpoint {
        api,
        base_url: mock.url(),
        model: "test-model".to_owned(),
        key: Some(Secret::new(KEY)),
        thinking: None,
    };
    let first = Duration::from_millis(1);
    let retries = Retries { most: 2, first, longest: first, longest_asked: first };
    // The lead of these tests has no board.
    let gate = Gate::Closed { by: "the test".to_owned() };
    let requests = RequestPolicy { retries, ..RequestPolicy::default() };
    BuiltinOptions { requests, gate, ..BuiltinOptions::new(endpoint) }
}

/// An idle teammate `ann` in this folder that asks nobody for permission.
async fn ann(options: BuiltinOptions, folder: &Path) -> Lead {
    let mut lead = Lead::of(BuiltinAgent::new(Arc::new(options)), folder).await;
    set_mode(&mut lead, "bypass").await;
    lead
}

async fn set_mode(lead: &mut Lead, mode: &str) {
    lead.say("team.updateContext", json!({"tasks": [], "mode": mode})).await;
}

/// Assigns a task. Returns its status, and its result or the reason.
async fn does(lead: &mut Lead, description: &str) -> (String, String) {
    lead.assign("task-1", description).await;
    assert_eq!(lead.waits_for("team.taskUpdate").await["status"], "in_progress");
    ended(lead).await
}

async fn ended(lead: &mut Lead) -> (String, String) {
    let report = lead.waits_for("team.taskUpdate").await;
    lead.waits_for("team.idle").await;
    let text = report.get("result").or_else(|| report.get("reason"));
    let text = text.and_then(Value::as_str).unwrap_or_default();
    (report["status"].as_str().unwrap_or_default().to_owned(), text.to_owned())
}

fn completed(result: &str) -> (String, String) {
    ("completed".to_owned(), result.to_owned())
}
