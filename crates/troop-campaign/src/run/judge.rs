//! The promises at the end of a run: about the log, the tasks and the notes of their workers, and the team's result in git.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::Result;
use troop_model::{Event, Fact, State, Status, TaskNumber};

use super::{
    PersonRecord, PersonView, RunTrial,
    plan::{ErrandWork, RunTeam},
    remains,
    repository::{ask, damaged_files, git, view},
};
use crate::{
    program::TrialRecord,
    tally::ViolationSeverity::{Critical, High, Medium},
};

/// The record of a task in the log.
#[derive(Debug, Default)]
struct TaskStory {
    /// How often somebody was to begin it.
    n_given: usize,
    n_completed: usize,
    /// The holder when it was completed.
    done_by: String,
}

/// The workers' notes about a task: who began it, and who finished it.
#[derive(Debug, Default)]
struct Execution {
    begun: Vec<String>,
    ended: Vec<String>,
}

impl RunTrial {
    pub(super) async fn judge(&mut self, before: &PersonView, person: &PersonRecord) -> Result<()> {
        let teams = self.plan.teams.clone();
        for team in &teams {
            let events = self.program.events(team.name).await?;
            self.n_events += events.len() as u64;
            let record = &self.program.record;
            let (state, stories) = replay(record, team.name, &events);
            self.tasks(team, &state, &stories);
            let undone = undone(team, &state);
            self.result(team, &undone).await?;
            if !person.has_rebased {
                self.merged_commits(team, &events).await?;
            }
        }
        self.whole_repository().await?;
        self.person(before, person).await?;
        remains::judge(&self.program).await
    }

    /// Every task is there, and done by who held it, no more often than it was given.
    fn tasks(&self, team: &RunTeam, state: &State, stories: &BTreeMap<TaskNumber, TaskStory>) {
        let record = &self.program.record;
        let executions = self.executions(team);
        let none = Execution::default();
        for number in numbers(team) {
            let Some(task) = state.tasks().get(number) else {
                record.find(Critical, format!("{}: {number} is lost", team.name));
                continue;
            };
            let find = |severity, what: String| {
                record.find(severity, format!("{}: {number} {what}", team.name));
            };
            if task.status != Status::Completed {
                find(High, format!("is not done in the end: {}, {:?}", task.status, task.result));
            }
            let execution = executions.get(&number).unwrap_or(&none);
            let Some(story) = stories.get(&number) else { continue };
            let n_begun = execution.begun.len();
            if n_begun > story.n_given {
                find(Critical, format!("was given {} times and begun {n_begun}", story.n_given));
            }
            if story.n_completed > 1 {
                find(Critical, "was completed twice".to_owned());
            }
            if story.n_completed > 0 && !execution.ended.contains(&story.done_by) {
                let ended = &execution.ended;
                let by = &story.done_by;
                find(Critical, format!("counts as done by {by}, and was done by {ended:?}"));
            }
        }
    }

    /// The notes of a team's workers.
    fn executions(&self, team: &RunTeam) -> BTreeMap<TaskNumber, Execution> {
        let told = fs::read_to_string(self.program.folder.join("errands")).unwrap_or_default();
        let mut executions = BTreeMap::<TaskNumber, Execution>::new();
        for line in told.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let [what, of, number, _, who] = words[..] else { continue };
            let Ok(number) = number.parse() else { continue };
            if of != team.name {
                continue;
            }
            let execution = executions.entry(TaskNumber(number)).or_default();
            match what {
                "begin" => execution.begun.push(who.to_owned()),
                _ => execution.ended.push(who.to_owned()),
            }
        }
        executions
    }

    /// The team's branch, if it still has work that the project has not; else the project's.
    async fn tip(&self, team: &str) -> Result<String> {
        let branch = format!("troop/{team}");
        let found = git(&self.program, &["rev-parse", "--verify", "--quiet", &branch]).await?;
        if !found.is_good() {
            return Ok("main".to_owned());
        }
        let ahead =
            ask(&self.program, &["rev-list", "--count", &format!("main..{branch}")]).await?;
        Ok(if ahead.trim() == "0" { "main".to_owned() } else { branch })
    }

    /// The result has the work of every done task exactly once.
    async fn result(&self, team: &RunTeam, undone: &BTreeSet<TaskNumber>) -> Result<()> {
        let tip = self.tip(team.name).await?;
        let is_alone = self.plan.teams.len() == 1 && self.plan.deeds.is_empty();
        if tip != "main" && is_alone {
            self.land(team, &tip).await?;
        }
        let mut wanted = BTreeSet::new();
        for (errand, number) in team.errands.iter().zip(numbers(team)) {
            if undone.contains(&number) {
                continue;
            }
            let file = format!("{tip}:out/{}-{}", team.name, number.0);
            let has = git(&self.program, &["show", &file]).await?.out;
            let line = format!("line {}", number.0);
            if has.trim_end() != line {
                let what = format!("{file} is not the work of its task exactly once: `{has}`");
                self.program.record.find(Critical, what);
            }
            if errand.work == ErrandWork::Shared {
                wanted.insert(line);
            }
        }
        let shared = format!("{tip}:shared-{}", team.name);
        let has = ask(&self.program, &["show", &shared]).await?;
        let mut lines: Vec<_> = has.lines().skip(1).map(str::to_owned).collect();
        lines.sort();
        let is_right = lines.iter().zip(&wanted).all(|(a, b)| a == b);
        if !is_right || lines.len() != wanted.len() && undone.is_empty() {
            let what = format!("{shared} has not every line once: {lines:?}, wanted {wanted:?}");
            self.program.record.find(Critical, what);
        }
        Ok(())
    }

    /// A result that waits although nobody changed the project. If git was killed or the disk was full, it may wait, and then
    /// the command that troop names brings it there.
    async fn land(&self, team: &RunTeam, branch: &str) -> Result<()> {
        let merged = git(&self.program, &["merge", "--ff-only", "--quiet", branch]).await?;
        if !merged.is_good() || !self.plan.may_wait() {
            let lead = self.leads.iter().find(|it| it.team == team.name);
            let said = lead.map(|it| it.process.last_words()).unwrap_or_default();
            let why = merged.err;
            let what = format!("nothing is in the way of the result, and it waits: {why} {said}");
            self.program.record.find(Medium, what);
        }
        Ok(())
    }

    /// The result contains every commit that the log calls merged.
    async fn merged_commits(&self, team: &RunTeam, events: &[Event]) -> Result<()> {
        let tip = self.tip(team.name).await?;
        for event in events {
            let Fact::TaskMerged { task, commit, .. } = &event.fact else { continue };
            let inside = ["merge-base", "--is-ancestor", commit, &tip];
            if !git(&self.program, &inside).await?.is_good() {
                let what = format!(
                    "{}: the log calls {commit} of {task} merged, and {tip} lacks it",
                    team.name
                );
                self.program.record.find(Critical, what);
            }
        }
        Ok(())
    }

    async fn whole_repository(&self) -> Result<()> {
        let fsck = git(&self.program, &["fsck", "--no-dangling"]).await?;
        if !fsck.is_good() {
            let what = format!("git fsck finds damage: {} {}", fsck.out, fsck.err);
            self.program.record.find(Critical, what);
        }
        Ok(())
    }

    /// Nothing of the person is lost, changed, staged or taken back.
    async fn person(&self, before: &PersonView, person: &PersonRecord) -> Result<()> {
        let record = &self.program.record;
        let now = view(&self.program).await?;
        if now != *before {
            let what =
                format!("the person's uncommitted work was touched: {before:?}, now {now:?}");
            record.find(Critical, what);
        }
        let damaged = damaged_files(&self.program.place);
        if !damaged.is_empty() {
            record.find(Critical, format!("the person's files were changed: {damaged:?}"));
        }
        let log = ask(&self.program, &["log", "--format=%s", "HEAD"]).await?;
        for subject in &person.commits {
            let n_there = log.lines().filter(|it| it == subject).count();
            if n_there != 1 {
                let what = format!("the commit `{subject}` of the person is there {n_there} times");
                record.find(Critical, what);
            }
        }
        let same = self.program.place.join("same");
        let head = git(&self.program, &["show", "HEAD:same"]).await?;
        let on_disk = fs::read_to_string(same).unwrap_or_default();
        if on_disk != head.out {
            let what = format!("`same` is `{on_disk}` on disk and `{}` in HEAD", head.out);
            record.find(Critical, what);
        }
        Ok(())
    }
}

fn numbers(team: &RunTeam) -> impl Iterator<Item = TaskNumber> + use<> {
    (1..=team.errands.len() as u32).map(TaskNumber)
}

fn undone(team: &RunTeam, state: &State) -> BTreeSet<TaskNumber> {
    let is_undone = |it: &TaskNumber| state.tasks().status(*it) != Some(Status::Completed);
    numbers(team).filter(is_undone).collect()
}

/// Replays a log, and holds it against what no log may say.
#[expect(clippy::wildcard_enum_match_arm, reason = "most facts are not about holders")]
fn replay(
    record: &TrialRecord,
    team: &str,
    events: &[Event],
) -> (State, BTreeMap<TaskNumber, TaskStory>) {
    let mut state = State::default();
    let mut stories = BTreeMap::<TaskNumber, TaskStory>::new();
    for event in events {
        let find = |what: String| {
            record.find(Critical, format!("{team}, event {}: {what}", event.version));
        };
        if event.version != state.version().next() {
            find(format!("it follows event {}", state.version()));
        }
        let holder = |task| state.tasks().get(task).and_then(|it| it.owner.as_ref());
        match &event.fact {
            Fact::TaskAssigned { task, owner, .. } | Fact::TaskClaimed { task, owner, .. } => {
                stories.entry(*task).or_default().n_given += 1;
                if let Some(by) = holder(*task) {
                    find(format!("{task} is held by {by} and goes to {owner}"));
                }
            }
            // Its holder keeps it and begins again.
            Fact::TaskRefused { task: Some(task), .. } => {
                stories.entry(*task).or_default().n_given += 1;
            }
            Fact::TaskCompleted { task, .. } => {
                let story = stories.entry(*task).or_default();
                story.n_completed += 1;
                story.done_by = holder(*task).map(ToString::to_string).unwrap_or_default();
                if story.done_by != event.actor.name.as_str() {
                    let by = &event.actor.name;
                    find(format!(
                        "{task} is held by `{}` and was completed by `{by}`",
                        story.done_by
                    ));
                }
            }
            _ => {}
        }
        state.apply(event);
    }
    (state, stories)
}
