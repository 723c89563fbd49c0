//! Idle reports of members: what they wait for, whether hooks agree, and which tasks still need a report.

use std::collections::BTreeSet;

use tokio::time::Instant;
use troop_model::{Command, MemberState, TaskNumber, TaskRef};

use super::{
    Runner,
    crew::{facts::IdleAfter, member::LiveMember},
    gate::HookSubject,
    input::Due,
    office::Office,
    places::{IsNews, LooseFiles},
    policy::{
        completion::attempt_at,
        idle,
        report::{self, OwedReport},
        work::{at_work, has_or_gets_work, is_working},
    },
    post::MemberMove,
};
use crate::hooks::Occasion;

/// How many files a message names.
const MAX_NAMED: usize = 5;

/// Lets a member be idle. That waits for its reports and calls and, if hooks are asked, until the log shows their effects: its
/// next task may be blocked by the one it has just done.
pub(super) async fn begin(office: &mut Office, runner: &Runner, last_task: Option<TaskRef>) {
    if goes_on_untold(office, runner, last_task.as_ref()) {
        return;
    }
    let Some(facts) = office.crew.facts_of(runner) else { return };
    if !idle::is_news(&office.post.state, &runner.member, facts, last_task.as_ref()) {
        // Nothing is announced, so there is nothing to wait for. Its next work is announced when that ends.
        return rest_without_news(office, runner).await;
    }
    let has_hook = office.gate.judges_idle(&office.post, &runner.member);
    let until = if has_hook { office.post.progress.n_given() } else { 0 };
    if let Some(facts) = office.crew.facts_of(runner) {
        facts.idle.after = Some(IdleAfter { last_task, until });
    }
    settle(office, runner).await;
}

/// Settles a pending idle report, if nothing is left to wait for. Hooks are asked, unless the member has work or gets some at
/// once. A member that was started and has done nothing yet is not reported: neither hooks nor the lead learn anything from it.
async fn settle(office: &mut Office, runner: &Runner) {
    let n_followed = office.post.n_followed();
    let Some(facts) = office.crew.facts_of(runner) else { return };
    let Some(report) = facts.take_settled_idle(n_followed) else {
        if facts.idle.after.as_ref().is_some_and(|it| it.until > n_followed) {
            office.post.ask_progress();
        }
        return;
    };
    if goes_on_untold(office, runner, report.last_task.as_ref()) {
        return;
    }
    let member = &runner.member;
    let Some(facts) = office.crew.facts_of(runner) else { return };
    if !idle::is_news(&office.post.state, member, facts, report.last_task.as_ref()) {
        return rest_without_news(office, runner).await;
    }
    let is_judged = office.gate.judges_idle(&office.post, member);
    if is_judged && !has_or_gets_work(&office.post.state, member) {
        let occasion = Occasion::TeammateIdle { teammate: member.clone() };
        let subject = HookSubject::Idle(runner.clone(), report.last_task);
        office.gate.fire(&office.post, &office.places, occasion, subject);
    } else {
        self::report(office, runner, report.last_task).await;
    }
}

/// Whether a teammate went on since it said that it is idle, so that others hear of it only at the end of its turn. What
/// became of its last task they hear at once.
fn goes_on_untold(office: &mut Office, runner: &Runner, last_task: Option<&TaskRef>) -> bool {
    let is_lead = office.post.is_lead(&runner.member);
    let Some(facts) = office.crew.facts_of(runner) else { return false };
    let is_untold = facts.has_gone_on() && last_task.is_none() && !is_lead;
    if is_untold {
        facts.owe_idle_report();
    }
    is_untold
}

/// Settles all idle reports that waited for the log.
pub(super) async fn settle_all(office: &mut Office) {
    for runner in office.crew.runners_with(|facts| facts.idle.after.is_some()) {
        settle(office, &runner).await;
    }
}

/// A member that did nothing is idle. That is not announced, unless it changed files anyway.
async fn rest_without_news(office: &mut Office, runner: &Runner) {
    if !looks_for_loose(office, runner, IsNews::No) {
        rest_quietly(office, runner).await;
    }
}

/// A member has nothing to do, which is not announced.
async fn rest_quietly(office: &mut Office, runner: &Runner) {
    office.rest(runner);
    if let Some(facts) = office.crew.facts_of(runner) {
        // Others hear of it at the end of its next turn.
        facts.idle.was_told = false;
    }
    let member = &runner.member;
    let is_working =
        office.post.state.member(member).map(|it| it.state) == Some(MemberState::Working);
    // A member that holds a task is not idle.
    if is_working && at_work(&office.post.state, member).next().is_none() {
        let pid = office.crew.get(member).and_then(LiveMember::process);
        let to = MemberMove::to(MemberState::Idle).in_process(pid);
        office.post.set_state(member, to).await;
    }
}

/// Reports that a member is idle. If it worked without a task, we look for its changes first: nobody would merge them.
pub(super) async fn report(office: &mut Office, runner: &Runner, last_task: Option<TaskRef>) {
    if goes_on_untold(office, runner, last_task.as_ref()) {
        return;
    }
    if last_task.is_some() || !looks_for_loose(office, runner, IsNews::Yes) {
        report_now(office, runner, last_task).await;
    }
}

/// Looks for what a member changed outside of any task, if it was handed mail before. Returns whether that is under way.
fn looks_for_loose(office: &mut Office, runner: &Runner, is_news: IsNews) -> bool {
    let Some(facts) = office.crew.facts_of(runner) else { return false };
    facts.idle.was_handed = false;
    let is_suspect = facts.idle.n_suspect > 0;
    facts.idle.n_suspect = facts.idle.n_suspect.saturating_sub(1);
    let n_begun = facts.idle.n_begun_until_said;
    is_suspect && office.places.look_for_loose(&office.post, runner, is_news, n_begun)
}

/// The files that a member changed outside of any task are known. The lead hears of them once.
pub(super) async fn found_loose(office: &mut Office, found: LooseFiles) {
    let LooseFiles { runner, files, is_news, n_begun } = found;
    let runner = &runner;
    let member = &runner.member;
    office.places.end_look();
    office.post.agenda.is_due = true;
    let Some(facts) = office.crew.facts_of(runner) else { return };
    if facts.idle.n_begun != n_begun {
        return facts.owe_idle_report();
    }
    if facts.idle.was_handed || is_working(&office.post.state, member) {
        // It goes on, and says again when it is idle.
        return;
    }
    if is_news == IsNews::No && files.is_empty() {
        return rest_quietly(office, runner).await;
    }
    if office.places.note_loose(member, &files) {
        let named = some_of(&files);
        let what = format!(
            "{member} changed files outside of any task, so nobody merges them: {named}. Create a task for what should be kept"
        );
        office.post.tell_lead(member, what).await;
    }
    report_now(office, runner, None).await;
}

/// The names of some files, and how many more there are.
fn some_of(files: &BTreeSet<String>) -> String {
    let named: Vec<_> = files.iter().take(MAX_NAMED).map(|it| format!("`{it}`")).collect();
    let named = named.join(", ");
    match files.len().saturating_sub(MAX_NAMED) {
        0 => named,
        n_more => format!("{named} and {n_more} more"),
    }
}

async fn report_now(office: &mut Office, runner: &Runner, last_task: Option<TaskRef>) {
    let Some(facts) = office.crew.facts_of(runner) else { return };
    facts.note_idle_told();
    if !facts.has_gone_on() {
        office.rest(runner);
    }
    let member = runner.member.clone();
    let request = office.post.own(Command::ReportIdle { member, last_task });
    office.offer(runner, request).await;
}

/// Expects a report on each task that an idle member holds and was given.
pub(super) fn expect_word(office: &mut Office, runner: &Runner) {
    let Some(live) = office.crew.in_run(runner) else { return };
    let expected = report::expected(&office.post.state, &runner.member, &live.facts);
    live.facts.idle.has_said_so = true;
    let has_claimed = std::mem::take(&mut live.facts.idle.has_claimed);
    let wait = office.post.timing.grace;
    // By then the log shows whether its claim succeeded.
    if has_claimed && !office.post.is_lead(&runner.member) {
        office.post.timers.set(wait, Due::Claimed(runner.clone()));
    }
    for task in expected {
        office.post.timers.set(wait, Due::Report(runner.clone(), task));
    }
}

/// An idle member should have reported on its task by now. The board asks it to, or fails the attempt.
pub(super) async fn report_is_due(office: &mut Office, runner: &Runner, task: TaskNumber) {
    let post = &mut office.post;
    let Some(facts) = office.crew.facts_of(runner) else { return };
    let grace = post.timing.grace;
    let owed = report::about(&post.state, &runner.member, facts, task, grace, Instant::now());
    if owed == OwedReport::Owed {
        let member = runner.member.clone();
        let attempt = attempt_at(&post.state, task);
        let task = task.into();
        post.give(Command::ReportSilence { member, task, attempt }).await;
    }
    if owed != OwedReport::Given {
        post.timers.set(grace, Due::Report(runner.clone(), task));
    }
}
