//! Hooks: people's commands that run when something happens in a team. They may veto a few things; they never stop a team.

mod config;
mod context;
mod event;
mod filter;
mod run;
mod verdict;

pub use config::{Hook, HooksConfig, Mistake, MistakeKind};
pub use context::{HookContext, HookTask, Occasion};
pub use event::HookEvent;
pub use verdict::{Complaint, HookReport, Verdict};

use std::{ffi::OsString, fmt, path::PathBuf, sync::Arc};

use tokio::sync::mpsc;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::Agreement;

use self::{
    run::{HookCall, HookOutcome},
    verdict::{HookJudgement, judge, judge_late},
};

/// The environment of hooks.
pub struct HookOptions {
    /// The project's folder: hooks run in it.
    pub folder: PathBuf,
    /// The environment variables of every hook; the values of the occasion are added.
    pub environment: Vec<(OsString, OsString)>,
    /// The person's agreement to the hooks.
    pub agreement: Agreement,
    /// Runs the hooks. Close it and wait for it before the end, so that asynchronous hooks can finish.
    pub tracker: TaskTracker,
    /// Shows people what is wrong with hooks; a full queue drops it.
    pub warnings: mpsc::Sender<String>,
}

/// The hooks of a team.
#[derive(Debug)]
pub struct Hooks {
    hooks: Vec<Arc<Hook>>,
    options: HookOptions,
}

impl Hooks {
    /// The hooks of a configuration; none if it is switched off.
    #[must_use]
    pub fn new(config: HooksConfig, options: HookOptions) -> Self {
        let hooks = if config.is_enabled { config.hooks } else { Vec::new() };
        Self { hooks: hooks.into_iter().map(Arc::new).collect(), options }
    }

    /// No hooks at all.
    #[must_use]
    pub fn none() -> Self {
        let options = HookOptions {
            folder: PathBuf::new(),
            environment: Vec::new(),
            agreement: Agreement::default(),
            tracker: TaskTracker::new(),
            warnings: mpsc::channel(1).0,
        };
        Self { hooks: Vec::new(), options }
    }

    /// Whether any hook runs on this event. If not, no context is needed.
    #[must_use]
    pub fn has(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// Runs all hooks for an occasion in parallel, and waits for those that are not asynchronous.
    ///
    /// Whatever a hook does, this ends, with a veto or without. If it is dropped, the hooks that it waits for are killed.
    pub async fn fire(&self, context: &HookContext) -> HookReport {
        let event = context.event();
        let hooks = self.matching(context);
        let mut fired = HookReport::default();
        if hooks.is_empty() {
            return fired;
        }
        let call = Arc::new(HookCall::new(context, &self.options));
        let mut running = Vec::new();
        for hook in hooks {
            let outcome = self.start(Arc::clone(&hook), Arc::clone(&call));
            if hook.is_async {
                self.listen_later(event, hook, outcome);
            } else {
                running.push((hook, outcome));
            }
        }
        for (hook, outcome) in running {
            fired.add(judge(event, &hook, HookOutcome::of(outcome.await)));
        }
        fired
    }

    /// Shows people what is wrong with a hook; a full queue drops it.
    pub(crate) fn complain(&self, complaint: &Complaint) {
        drop(self.options.warnings.try_send(complaint.to_string()));
    }

    /// The hooks for an occasion, in the order of the configuration; duplicates run once.
    fn matching(&self, context: &HookContext) -> Vec<Arc<Hook>> {
        let mut found: Vec<Arc<Hook>> = Vec::new();
        for hook in self.hooks.iter().filter(|hook| hook.is_meant(context)) {
            let is_same = |other: &Arc<Hook>| {
                other.command == hook.command && other.is_async == hook.is_async
            };
            if !found.iter().any(is_same) {
                found.push(Arc::clone(hook));
            }
        }
        found
    }

    fn start(&self, hook: Arc<Hook>, call: Arc<HookCall>) -> AbortOnDropHandle<HookOutcome> {
        let run = async move { run::run(&hook, &call).await };
        AbortOnDropHandle::new(self.options.tracker.spawn(run))
    }

    fn listen_later(
        &self,
        event: HookEvent,
        hook: Arc<Hook>,
        outcome: AbortOnDropHandle<HookOutcome>,
    ) {
        let warnings = self.options.warnings.clone();
        self.options.tracker.spawn(async move {
            let HookJudgement { complaint, .. } =
                judge_late(event, &hook, HookOutcome::of(outcome.await));
            if let Some(complaint) = complaint {
                // A full queue drops it.
                drop(warnings.try_send(complaint.to_string()));
            }
        });
    }
}

impl fmt::Debug for HookOptions {
    /// Leaves the environment out: people keep secrets there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookOptions").field("folder", &self.folder).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
