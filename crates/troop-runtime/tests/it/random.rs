//! Random requests over several boards of one store: all boards end up with the state of the log.

use std::{collections::BTreeMap, sync::Arc};

use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed},
};
use troop_model::{Actor, Command, Event, OperationId, TaskCommand};
use troop_runtime::{Board, BoardError, CommandEffect, CommandRequest, Following};
use troop_store::{MemoryStore, Store};

use crate::support::{
    LEAD, MEMBERS, claim, claim_next, comment, complete, create, crew, delete, events, name,
    numbered, open, replayed, say, state_of, submit_all,
};

const N_BOARDS: usize = 3;

/// One thing that happens.
#[derive(Clone, Debug)]
enum Step {
    /// Gives these to their boards at the same time.
    Submit(Vec<(usize, CommandRequest)>),
    /// Repeats the request from that many steps ago.
    Repeat(usize, usize),
    CatchUp(usize),
    /// Closes the board and opens it again.
    Reopen(usize),
}

fn commands() -> impl Strategy<Value = Command> {
    let task = || 1..12_u32;
    let release =
        |number| TaskCommand::Release { task: numbered(number), reason: "stuck".to_owned() };
    prop_oneof![
        4 => Just(create("work")),
        2 => Just(claim_next()),
        3 => task().prop_map(claim),
        3 => task().prop_map(complete),
        1 => task().prop_map(move |number| Command::Task(release(number))),
        1 => task().prop_map(|number| comment(number, "so so")),
        1 => task().prop_map(delete),
        1 => prop::sample::select(&["*", "bob", "user", "nobody"]).prop_map(|to| say(to, "hello")),
        1 => Just(Command::Tick),
    ]
}

fn requests() -> impl Strategy<Value = (usize, CommandRequest)> {
    let who = prop::sample::select([LEAD].iter().chain(&MEMBERS).copied().collect::<Vec<_>>());
    (0..N_BOARDS, who, commands(), any::<u128>()).prop_map(|(board, who, command, id)| {
        let request = CommandRequest::new(Actor::agent(&name(who)), command);
        (board, CommandRequest { operation: OperationId(uuid::Uuid::from_u128(id)), ..request })
    })
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop::collection::vec(requests(), 1..6).prop_map(Step::Submit),
        2 => (0..N_BOARDS, 0..20_usize).prop_map(|(board, ago)| Step::Repeat(board, ago)),
        1 => (0..N_BOARDS).prop_map(Step::CatchUp),
        1 => (0..N_BOARDS).prop_map(Step::Reopen),
    ]
}

/// Boards on one store, and what they accepted.
struct Run {
    store: Arc<dyn Store>,
    boards: Vec<Board>,
    given: Vec<CommandRequest>,
    accepted: BTreeMap<OperationId, CommandEffect>,
}

impl Run {
    async fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let mut boards = vec![crew(Arc::clone(&store)).await];
        for _ in 1..N_BOARDS {
            boards.push(open(Arc::clone(&store), boards[0].team(), Following::WhenAsked).await);
        }
        Self { store, boards, given: Vec::new(), accepted: BTreeMap::new() }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Submit(requests) => {
                let mut by_board = vec![Vec::new(); N_BOARDS];
                requests.into_iter().for_each(|(board, request)| by_board[board].push(request));
                let [a, b, c] =
                    [0, 1, 2].map(|nth| submit_all(&self.boards[nth], by_board[nth].clone()));
                let (a, b, c) = tokio::join!(a, b, c);
                let answers = [a, b, c].into_iter().flatten();
                for (request, answer) in by_board.into_iter().flatten().zip(answers) {
                    self.note(request, answer);
                }
            }
            Step::Repeat(board, ago) => {
                let Some(nth) = self.given.len().checked_sub(ago + 1) else { return };
                let request = self.given[nth].clone();
                let answer = self.boards[board].submit(request.clone()).await;
                self.note(request, answer);
            }
            Step::CatchUp(board) => drop(self.boards[board].catch_up().await.unwrap()),
            Step::Reopen(nth) => {
                let team = self.boards[nth].team();
                let board = open(Arc::clone(&self.store), team, Following::WhenAsked).await;
                std::mem::replace(&mut self.boards[nth], board).close().await;
            }
        }
    }

    fn note(&mut self, request: CommandRequest, answer: Result<CommandEffect, BoardError>) {
        match answer {
            Ok(done) if done.events.is_empty() => {}
            Ok(done) => match self.accepted.get(&request.operation) {
                Some(first) => assert_eq!(first.events, done.events, "repeated with one effect"),
                None => drop(self.accepted.insert(request.operation, done)),
            },
            Err(BoardError::Refused(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
        self.given.push(request);
    }

    async fn check(self) {
        let team = self.boards[0].team();
        let log = replayed(&*self.store, team).await;
        for board in &self.boards {
            board.catch_up().await.unwrap();
            assert!(state_of(board).await == log, "every board agrees with the log");
        }
        let mut stored: BTreeMap<OperationId, Vec<Event>> = BTreeMap::new();
        for event in events(&*self.store, team).await.into_iter().skip_while(is_beginning) {
            stored.entry(event.operation).or_default().push(event);
        }
        assert!(stored.keys().eq(self.accepted.keys()), "accepted commands, and nothing else");
        for (operation, done) in &self.accepted {
            assert_eq!(stored[operation], done.events[..]);
        }
    }
}

/// Whether an event belongs to the creation of the team.
fn is_beginning(event: &Event) -> bool {
    event.fact.task().is_none() && event.actor == Actor::human("zoe")
}

proptest! {
    #![proptest_config(Config {
        cases: 60,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn every_board_ends_up_with_the_log(
        steps in prop::collection::vec(steps(), 1..40)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut run = Run::new().await;
            for step in steps {
                run.take(step).await;
            }
            run.check().await;
        });
    }
}
