//! The report of a team's work: who did what, when, how long it took, and what went wrong.

use troop_app::story::{MemberTally, Story};
use troop_model::{Status, Task, Time};
use unicode_width::UnicodeWidthStr;

use super::{
    BOLD, DIM, clean, detail::evidence_line, fit, one_line, pad, paint, second, status_icon,
    status_style, took, used,
};

pub(crate) fn summary(story: &Story, width: usize) -> String {
    let mut text = format!("{}\n", paint(BOLD, &headline(story)));
    push(&mut text, tasks(story, width));
    push(&mut text, workers(story, width));
    push(&mut text, cost(story));
    push(&mut text, incidents(story, width));
    push(&mut text, answer(story));
    text
}

fn push(text: &mut String, lines: Vec<String>) {
    if !lines.is_empty() {
        text.push('\n');
    }
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// The lead's last message to the user.
fn answer(story: &Story) -> Vec<String> {
    let answer = story.tally().answer.as_deref().unwrap_or_default();
    clean(answer.trim()).lines().map(str::to_owned).collect()
}

fn headline(story: &Story) -> String {
    let state = story.state();
    let tally = story.tally();
    let name = state.team().map(|team| team.name.to_string()).unwrap_or_default();
    let tasks = state.tasks();
    let n_done = tasks.iter().filter(|task| task.status == Status::Completed).count();
    let n_tasks = tasks.len() - tasks.n_with(Status::Cancelled);
    let took = took(tally.until.since(tally.since));
    let n_messages = tally.n_messages;
    let messages = if n_messages == 1 { "message" } else { "messages" };
    match n_tasks {
        0 => format!("{name}: no tasks, {n_messages} {messages}, {took}"),
        _ => format!("{name}: {n_done} of {n_tasks} tasks done in {took}, {n_messages} {messages}"),
    }
}

fn tasks(story: &Story, width: usize) -> Vec<String> {
    let state = story.state();
    let tally = story.tally();
    let subject_width = state.tasks().iter().map(|it| one_line(&it.subject).width()).max();
    let subject_width = subject_width.unwrap_or(0).min(width * 2 / 5);
    let owners = state.tasks().iter().filter_map(|task| task.owner.as_ref());
    let who_width = owners.map(|owner| owner.as_str().width()).max().unwrap_or(0).min(16);
    let mut lines = Vec::new();
    for task in state.tasks().iter() {
        let status = state.tasks().status(task.number).unwrap_or(task.status);
        let owner = task.owner.as_ref().map(ToString::to_string).unwrap_or_default();
        let when = tally.completion(task.number).map_or_else(String::new, |work| {
            let began = took(work.began_at.since(tally.since));
            format!("at {began:>5} for {:>5}", took(work.ended_at.since(work.began_at)))
        });
        let head = format!(
            "  {} {:<7}  {}  {}  {when:<18}",
            paint(status_style(status), status_icon(status)),
            task.number.to_string(),
            pad(&one_line(&task.subject), subject_width),
            pad(&owner, who_width),
        );
        let what = match status {
            Status::Completed => one_line(task.result.as_deref().unwrap_or_default()),
            Status::Failed | Status::Cancelled => {
                format!("{status}: {}", one_line(task.result.as_deref().unwrap_or_default()))
            }
            Status::Pending
            | Status::InProgress
            | Status::InReview
            | Status::Blocked
            | Status::Stale => status.to_string(),
        };
        let room = width.saturating_sub(4 + 7 + 2 + subject_width + 2 + who_width + 2 + 18 + 2);
        let what = if room < 12 && status == Status::Completed { String::new() } else { what };
        lines.push(format!("{head}  {}", paint(DIM, &fit(&what, room.max(12)))));
        lines.extend(proof(task, width));
    }
    lines
}

/// The evidence of a task, or why there is none.
fn proof(task: &Task, width: usize) -> Vec<String> {
    let mut lines: Vec<_> = task
        .proof
        .evidence
        .iter()
        .map(|it| {
            let (mark, how) = evidence_line(it);
            let room = width.saturating_sub(14 + how.width() + 2);
            format!(
                "            {mark} {}  {}",
                fit(&one_line(&it.command), room.max(12)),
                paint(DIM, &how)
            )
        })
        .collect();
    if let Some(reason) = &task.proof.waived {
        let what = format!("not checked: {}", one_line(reason));
        lines.push(format!("            {}", paint(DIM, &fit(&what, width.saturating_sub(12)))));
    }
    lines
}

fn workers(story: &Story, width: usize) -> Vec<String> {
    let state = story.state();
    let workers = story.tally().workers(state);
    let name_width = workers.iter().map(|(name, _)| name.as_str().width()).max().unwrap_or(0);
    let line = |(name, work): &(&troop_model::MemberName, MemberTally)| {
        let n_done = work.completed.len();
        let mut parts = vec![
            format!("{n_done} {}", if n_done == 1 { "task" } else { "tasks" }),
            format!("worked {}", took(work.worked)),
            format!("{} sent", work.n_messages),
        ];
        let used = state.member(name).map(|it| used(&it.usage)).filter(|it| !it.is_empty());
        parts.extend(used);
        match work.n_crashes {
            0 => {}
            1 => parts.push("crashed once".to_owned()),
            n => parts.push(format!("crashed {n} times")),
        }
        let agent = state.member(name).map(|member| format!("({}) ", member.agent));
        let text = format!("{}{}", agent.unwrap_or_default(), parts.join(", "));
        format!(
            "  {}  {}",
            pad(name.as_str(), name_width),
            fit(&text, width.saturating_sub(4 + name_width))
        )
    };
    workers.iter().map(line).collect()
}

/// The usage of the team, and its budget.
fn cost(story: &Story) -> Vec<String> {
    let Some(team) = story.state().team() else { return Vec::new() };
    let budget = team.settings.budget.told(&team.usage);
    let used = (!team.usage.is_nothing()).then(|| format!("  used {}", team.usage));
    used.into_iter().chain(budget.map(|told| format!("  budget {told}"))).collect()
}

/// The troubles of a run, and how it continued.
fn incidents(story: &Story, width: usize) -> Vec<String> {
    let tally = story.tally();
    let mut all: Vec<(Time, &str, String)> = Vec::new();
    for it in &tally.recoveries {
        let then = match &it.to {
            Some((to, at)) => format!("given to {to} {} later", took(at.since(it.at))),
            None => "nobody has claimed it".to_owned(),
        };
        all.push((it.at, "recovered", format!("{}: {}; {then}", it.task, one_line(&it.reason))));
    }
    for it in &tally.vetoes {
        let about = it.about.iter().map(|about| format!(", {}", one_line(about)));
        let about = about.collect::<String>();
        all.push((it.at, "vetoed", format!("{}{about}: {}", it.member, one_line(&it.feedback))));
    }
    all.extend(tally.troubles.iter().map(|it| (it.at, it.what, it.about.clone())));
    for it in tally.answers.iter().filter(|it| !it.is_yes) {
        let later = tally
            .answers
            .iter()
            .find(|then| then.is_yes && then.member == it.member && then.at > it.at);
        let then = later.map_or_else(String::new, |then| {
            format!("; approved {} later", took(then.at.since(it.at)))
        });
        let feedback = one_line(&it.feedback);
        all.push((it.at, "rejected", format!("the plan of {}: {feedback}{then}", it.member)));
    }
    all.sort();
    let line = |(at, what, text): (Time, &str, String)| {
        let room = width.saturating_sub(2 + 8 + 2 + 9 + 2);
        format!("  {}  {what:<9}  {}", paint(DIM, &second(at)), fit(&text, room))
    };
    all.into_iter().map(line).collect()
}
