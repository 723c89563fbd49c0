//! A member or a person at the command line. It gives one command after the other, and keeps what it was answered.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Result;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    program::{ClientHarm, PERSON, Program},
    random::Random,
    tally::ViolationSeverity::High,
};

/// The purpose of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClientAct {
    Create,
    Claim,
    Complete,
    Fail,
    Release,
    Comment,
    Send,
    Read,
    Look,
}

/// The effect that its answer reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientOutcome {
    Done,
    Refused,
    /// It may have happened.
    Unknown,
}

/// A command and its answer.
#[derive(Clone, Debug)]
pub(super) struct Deal {
    pub(super) actor: String,
    pub(super) act: ClientAct,
    pub(super) task: Option<u64>,
    /// A text that is nowhere else.
    pub(super) token: Option<String>,
    pub(super) outcome: ClientOutcome,
    pub(super) began: Instant,
    pub(super) ended: Instant,
    pub(super) answer: Value,
}

/// The errors that say for sure that nothing happened.
const REFUSALS: [&str; 8] =
    ["not_found", "conflict", "forbidden", "invalid", "limit", "no_work", "usage", "refused"];

/// A client that gives commands, with its own random choices.
pub(super) struct BoardClient {
    pub(super) program: Program,
    /// The member; none is the person.
    pub(super) member: Option<String>,
    pub(super) others: Vec<String>,
    pub(super) n_tasks: u64,
    pub(super) harm: Option<u64>,
    random: Random,
    /// Tasks that it believes to hold.
    held: BTreeSet<u64>,
    deals: Vec<Deal>,
}

impl BoardClient {
    pub(super) fn new(program: Program, member: Option<String>, seed: u64) -> Self {
        let random = Random::of_trial(seed, 0);
        let others = Vec::new();
        let held = BTreeSet::new();
        Self { program, member, others, n_tasks: 1, harm: None, random, held, deals: Vec::new() }
    }

    pub(super) async fn act(mut self, n_steps: u64) -> Result<Vec<Deal>> {
        for _ in 0..n_steps {
            match self.member {
                Some(_) => self.step_of_member().await?,
                None => self.step_of_person().await?,
            }
        }
        Ok(self.deals)
    }

    async fn step_of_member(&mut self) -> Result<()> {
        match self.random.within(0..20) {
            0..=6 => self.claim().await,
            7..=12 => self.end_task().await,
            13 | 14 => self.comment().await,
            15 | 16 => self.send().await,
            17 | 18 => self.give(ClientAct::Read, None, None, &["message", "read"]).await.map(drop),
            _ => self.look().await,
        }
    }

    async fn step_of_person(&mut self) -> Result<()> {
        match self.random.within(0..10) {
            0..=3 => {
                let token = self.token();
                let words = ["task", "create", &token];
                self.give(ClientAct::Create, None, Some(&token), &words).await.map(drop)
            }
            4 | 5 => self.comment().await,
            6 | 7 => self.send().await,
            8 => self.give(ClientAct::Read, None, None, &["message", "read"]).await.map(drop),
            _ => self.look().await,
        }
    }

    async fn claim(&mut self) -> Result<()> {
        let wanted = self.random.one_in(2).then(|| self.some_task());
        let number = wanted.map(|it| it.to_string());
        let mut words = vec!["task", "claim"];
        words.extend(number.as_deref());
        let answer = self.give(ClientAct::Claim, wanted, None, &words).await?;
        self.held.extend(answer.get("number").and_then(Value::as_u64));
        Ok(())
    }

    /// Mostly a task that it holds. Else anything, which has to be refused.
    async fn end_task(&mut self) -> Result<()> {
        let nth = self.random.within(0..self.held.len().max(1) as u64) as usize;
        let own = self.held.iter().nth(nth).copied().filter(|_| !self.random.one_in(5));
        let task = own.unwrap_or_else(|| self.some_task());
        let token = self.token();
        let number = task.to_string();
        let (act, word, option) = match self.random.within(0..4) {
            0 | 1 => (ClientAct::Complete, "complete", "--result"),
            2 => (ClientAct::Fail, "fail", "--reason"),
            _ => (ClientAct::Release, "release", "--reason"),
        };
        self.held.remove(&task);
        let words = ["task", word, &number, option, &token];
        self.give(act, Some(task), Some(&token), &words).await.map(drop)
    }

    async fn comment(&mut self) -> Result<()> {
        let task = self.some_task();
        let token = self.token();
        let words = ["task", "comment", &task.to_string(), &token];
        self.give(ClientAct::Comment, Some(task), Some(&token), &words).await.map(drop)
    }

    async fn send(&mut self) -> Result<()> {
        let nth = self.random.within(0..self.others.len().max(1) as u64) as usize;
        let Some(to) = self.others.get(nth).cloned() else { return Ok(()) };
        let token = self.token();
        let words = ["message", "send", &to, &token];
        self.give(ClientAct::Send, None, Some(&token), &words).await.map(drop)
    }

    async fn look(&mut self) -> Result<()> {
        let task = self.some_task();
        let words = ["task", "get", &task.to_string()];
        self.give(ClientAct::Look, Some(task), None, &words).await.map(drop)
    }

    fn some_task(&mut self) -> u64 {
        self.random.within(1..self.n_tasks + 1)
    }

    fn token(&mut self) -> String {
        format!("token-{:016x}", self.random.within(0..u64::MAX))
    }

    fn next_harm(&mut self) -> ClientHarm {
        let Some(n) = self.harm else { return ClientHarm::None };
        let after = Duration::from_millis(self.random.within(0..40));
        match self.random.within(0..2 * n) {
            0 | 1 => ClientHarm::Kill(after),
            2 => {
                let pause = Duration::from_millis(self.random.within(100..800));
                ClientHarm::Stop { after, pause }
            }
            _ => ClientHarm::None,
        }
    }

    /// Gives a command and keeps how it ended. Returns its answer, if it was done.
    async fn give(
        &mut self,
        act: ClientAct,
        task: Option<u64>,
        token: Option<&str>,
        words: &[&str],
    ) -> Result<Value> {
        let harm = self.next_harm();
        let mut all = vec!["--team", super::TEAM];
        all.extend(self.member.iter().flat_map(|it| ["--as", it.as_str()]));
        all.extend(words);
        let began = Instant::now();
        let end = self.program.call_under(&all, harm).await?;
        let ended = Instant::now();
        let kind = end.kind();
        let outcome = match end.code {
            Some(0) => ClientOutcome::Done,
            Some(_) if REFUSALS.contains(&kind.as_str()) => ClientOutcome::Refused,
            _ => ClientOutcome::Unknown,
        };
        if outcome == ClientOutcome::Unknown && end.code.is_some() && kind != "unavailable" {
            let what = format!("an answer is neither yes nor no: {words:?}: {end:?}");
            self.program.record.find(High, what);
        }
        let mut answer = Value::Null;
        if outcome == ClientOutcome::Done {
            match serde_json::from_str(&end.out) {
                Ok(found) => answer = found,
                Err(_) => {
                    let what = format!("exit code 0 without JSON: {words:?}: {end:?}");
                    self.program.record.find(High, what);
                }
            }
        }
        self.deals.push(Deal {
            actor: self.member.clone().unwrap_or_else(|| PERSON.to_owned()),
            act,
            task,
            token: token.map(str::to_owned),
            outcome,
            began,
            ended,
            answer: answer.clone(),
        });
        Ok(answer)
    }
}
