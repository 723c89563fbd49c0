//! The promises that must hold after every trial, whatever its faults.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use anyhow::Result;
use tokio::time::{Instant, sleep};
use troop_model::{
    Event, Fact, MemberName, MemberState, Party, State, Status, TaskNumber, Version, decode,
};
use troop_process::Mark;
use troop_runtime::{Board, Clock, Following};
use troop_store::Missing;
use uuid::Uuid;

use crate::{
    plan::{MateMind, Plan},
    tally::{TrialFinding, ViolationSeverity},
    trial::{Trial, open_store},
};

/// How long the processes of a killed lead may live on.
const PATIENCE: Duration = Duration::from_secs(10);

/// All violations.
pub(crate) async fn all(trial: &Trial) -> Result<Vec<TrialFinding>> {
    let mut broken = Vec::new();
    let store = open_store(&trial.url, Missing::Refuse).await?;
    let entries = store.read(trial.board.team(), Version::ZERO, usize::MAX).await?;
    let events: Vec<Event> =
        entries.iter().map(|entry| decode(&entry.body)).collect::<Result<_, _>>()?;
    let (state, holders) = replay(&events, &mut broken);
    agree(trial, &state, &mut broken).await?;
    tasks(trial, &state, &holders, &mut broken);
    mail(trial, &events, &mut broken);
    let broken = broken.into_iter().map(|it| TrialFinding::new(ViolationSeverity::Critical, it));
    let outlived = orphans(&events).await.into_iter();
    Ok(broken.chain(outlived.map(|it| TrialFinding::new(ViolationSeverity::High, it))).collect())
}

/// The processes that held a task, one after another.
type Holders = BTreeMap<TaskNumber, Vec<u32>>;

/// Replays the log. Checks on the way that no task is given to a member while another holds it, and that each task is completed
/// once, by the process that holds it.
fn replay(events: &[Event], broken: &mut Vec<String>) -> (State, Holders) {
    let mut state = State::default();
    let mut completed = BTreeSet::new();
    let mut holders = Holders::new();
    for (before, event) in events.iter().zip(events.iter().skip(1)) {
        if event.at < before.at {
            broken.push(format!("event {} is older than the one before", event.version));
        }
    }
    for event in events {
        if event.version != state.version().next() {
            broken.push(format!("event {} follows event {}", event.version, state.version()));
        }
        if let Fact::TaskAssigned { task, owner, .. } | Fact::TaskClaimed { task, owner, .. } =
            &event.fact
        {
            let pid = state.member(owner).and_then(|it| it.pid);
            holders.entry(*task).or_default().extend(pid);
            let held_by = state.tasks().get(*task).and_then(|it| it.owner.as_ref());
            broken.extend(held_by.map(|by| {
                format!("event {}: {task} is held by {by} and goes to {owner}", event.version)
            }));
        }
        if let Fact::TaskCompleted { task, result, .. } = &event.fact {
            if !completed.insert(*task) {
                broken.push(format!("{task} was completed twice"));
            }
            let told = completed_by_its_holder(&state, event, *task, result);
            broken.extend(told.map(|it| format!("event {}: {task} {it}", event.version)));
        }
        state.apply(event);
    }
    (state, holders)
}

fn completed_by_its_holder(
    state: &State,
    event: &Event,
    task: TaskNumber,
    result: &str,
) -> Option<String> {
    let Some(found) = state.tasks().get(task) else {
        return Some("was completed and is not there".to_owned());
    };
    let owner = found.owner.as_ref().map(MemberName::as_str).unwrap_or_default();
    if owner != event.actor.name.as_str() {
        return Some(format!("is held by `{owner}` and was completed by `{}`", event.actor.name));
    }
    let pid = found.owner.as_ref().and_then(|owner| state.member(owner)).and_then(|it| it.pid);
    let by = result.trim().strip_prefix("by ").and_then(|it| it.parse().ok());
    (pid != by).then(|| format!("is held by process {pid:?} and was completed by {by:?}"))
}

/// This process's board and a newly opened one agree with the log.
async fn agree(trial: &Trial, replayed: &State, broken: &mut Vec<String>) -> Result<()> {
    trial.board.catch_up().await?;
    let own = trial.board.look(State::clone).await?;
    let store = open_store(&trial.url, Missing::Refuse).await?;
    let anew =
        Board::open(store, Clock::system(), Following::WhenAsked, trial.board.team()).await?;
    let opened = anew.look(State::clone).await?;
    anew.close().await;
    for (what, state) in [("the board", own), ("the board, opened anew,", opened)] {
        if state != *replayed {
            broken.push(format!("{what} differs from the log"));
        }
    }
    Ok(())
}

/// No task is lost; all end completed, and only their holders did them.
fn tasks(trial: &Trial, state: &State, holders: &Holders, broken: &mut Vec<String>) {
    let mates: BTreeSet<_> = holders.values().flatten().map(u32::to_string).collect();
    let is_mate = |pid: &str| mates.contains(pid);
    for nth in 0..trial.plan.chores.len() {
        let number = TaskNumber(nth as u32 + 1);
        let Some(task) = state.tasks().get(number) else {
            broken.push(format!("{number} is lost"));
            continue;
        };
        let done_by = lines(&trial.project().join(format!("done-{number}")));
        if task.status != Status::Completed {
            broken.push(format!("{number} ended as {}: {:?}", task.status, task.result));
        } else if done_by.is_empty() {
            broken.push(format!("{number} is completed and was not done"));
        }
        // It may have been done once for each time it was given out.
        let mut held = holders.get(&number).cloned().unwrap_or_default();
        for pid in done_by {
            match held.iter().position(|it| it.to_string() == pid) {
                Some(at) => drop(held.swap_remove(at)),
                // A shell whose teammate was killed before it started has another parent.
                None if !is_mate(&pid) => {}
                None => broken.push(format!("{number} was done by {pid}, who did not hold it")),
            }
        }
    }
}

/// No message is lost, or shown twice to one reader.
#[expect(clippy::wildcard_enum_match_arm, reason = "most facts are not about mail")]
fn mail(trial: &Trial, events: &[Event], broken: &mut Vec<String>) {
    let mut n_sent = BTreeMap::<&str, u32>::new();
    let mut read = BTreeMap::<(Uuid, &Party), Version>::new();
    let mut ready = BTreeMap::<(&str, u32), Version>::new();
    for event in events {
        match &event.fact {
            Fact::MessageSent { content, .. } => *n_sent.entry(content).or_default() += 1,
            Fact::MessageRead { reader, messages } => {
                for id in messages {
                    if read.insert((*id, reader), event.version).is_some() {
                        broken.push(format!("message {id} was read twice by {reader}"));
                    }
                }
            }
            Fact::MemberStateChanged {
                member, state: MemberState::Idle, pid: Some(pid), ..
            } => {
                ready.entry((member.as_str(), *pid)).or_insert(event.version);
            }
            _ => {}
        }
    }
    let acknowledged = lines(&trial.project().join("sent"));
    for content in trial.letters.iter().chain(&acknowledged) {
        match n_sent.get(content.as_str()) {
            Some(1) => {}
            n => broken.push(format!("`{content}` was sent once and is there {n:?} times")),
        }
    }
    for (nth, _) in trial.plan.mates.iter().enumerate().filter(|(_, it)| **it == MateMind::Foreign)
    {
        seen(trial, &Plan::mate(nth), &read, &ready, broken);
    }
}

/// A teammate with a record got all messages that it has read, and none twice.
fn seen(
    trial: &Trial,
    name: &str,
    read: &BTreeMap<(Uuid, &Party), Version>,
    ready: &BTreeMap<(&str, u32), Version>,
    broken: &mut Vec<String>,
) {
    let mut shown = BTreeSet::new();
    let mut by_run = BTreeSet::new();
    for line in lines(&trial.project().join(format!("seen-{name}"))) {
        let Some((pid, id)) = line.split_once(' ') else { continue };
        // A record that a kill cut off does not count.
        let (Ok(pid), Ok(id)) = (pid.parse::<u32>(), id.parse::<Uuid>()) else { continue };
        shown.insert(id);
        if !by_run.insert((pid, id)) {
            broken.push(format!("message {id} was shown twice to {name} in process {pid}"));
        }
        let was_read = read.iter().find(|((it, by), _)| *it == id && by.as_str() == name);
        if let (Some((_, read)), Some(ready)) = (was_read, ready.get(&(name, pid)))
            && read < ready
        {
            broken.push(format!("message {id} was read by {name} and shown again to {pid}"));
        }
    }
    for ((id, _), version) in read.iter().filter(|((_, by), _)| by.as_str() == name) {
        if !shown.contains(id) {
            broken.push(format!("event {version}: {name} read message {id}, which it never saw"));
        }
    }
}

fn lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// No process outlives the lead that started it.
pub(crate) async fn orphans(events: &[Event]) -> Vec<String> {
    let sessions = events.iter().filter_map(|event| {
        let Fact::LeadTaken { session, .. } = &event.fact else { return None };
        Some(*session)
    });
    let mut outlived = Vec::new();
    for session in sessions {
        outlived.extend(orphans_of(session).await);
    }
    outlived
}

/// A process that outlives its ended lead, if there is one.
pub(crate) async fn orphans_of(session: Uuid) -> Option<String> {
    let mark = Mark { session, run: None };
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = mark.processes();
        if left.is_empty() {
            return None;
        }
        if Instant::now() > deadline {
            mark.kill_all();
            return Some(format!("processes outlived their lead: {left:?}"));
        }
        sleep(Duration::from_millis(20)).await;
    }
}
