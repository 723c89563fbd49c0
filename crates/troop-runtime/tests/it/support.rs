//! Helpers of the cases: a team, its commands, and the state of its log.

use std::sync::Arc;

use troop_model::{
    Actor, Command, Event, Fact, MemberName, NewMember, NewTask, NewTeamCommand, Outgoing, Refusal,
    Settings, State, TaskCommand, TaskNumber, TaskRef, TeamId, Version, decode,
};
use troop_runtime::{
    Board, BoardError, BoardResult, Clock, CommandEffect, CommandRequest, Following, Signature,
};
use troop_store::{Batch, Store};
use uuid::Uuid;

/// The lead of every test's team.
pub(crate) const LEAD: &str = "ann";
/// Its members.
pub(crate) const MEMBERS: [&str; 4] = ["bob", "cyd", "dan", "eve"];

pub(crate) fn name(text: &str) -> MemberName {
    text.parse().unwrap()
}

pub(crate) fn by(member: &str, command: Command) -> CommandRequest {
    CommandRequest::new(Actor::agent(&name(member)), command)
}

pub(crate) fn new_member(member: &str) -> NewMember {
    NewMember::new(name(member), "script")
}

pub(crate) fn new_team(team: &str) -> NewTeamCommand {
    NewTeamCommand {
        goal: String::new(),
        team: TeamId(Uuid::now_v7()),
        name: team.parse().unwrap(),
        description: "tests the board".to_owned(),
        settings: Settings::default(),
        lead: new_member(LEAD),
        members: MEMBERS.map(new_member).into(),
    }
}

/// Creates a team and opens it.
pub(crate) async fn crew(store: Arc<dyn Store>) -> Board {
    let signature = Signature::new(Actor::human("zoe"));
    let (clock, following) = (Clock::system(), Following::WhenAsked);
    Board::create(store, clock, following, &signature, new_team("crew")).await.unwrap()
}

pub(crate) async fn open(store: Arc<dyn Store>, team: TeamId, following: Following) -> Board {
    Board::open(store, Clock::system(), following, team).await.unwrap()
}

pub(crate) fn numbered(number: u32) -> TaskRef {
    TaskRef::Number(TaskNumber(number))
}

pub(crate) fn create(subject: &str) -> Command {
    let new = NewTask { subject: subject.to_owned(), ..NewTask::default() };
    Command::Task(TaskCommand::Create(new))
}

pub(crate) fn claim(number: u32) -> Command {
    Command::Task(TaskCommand::Claim { task: Some(numbered(number)) })
}

pub(crate) fn claim_next() -> Command {
    Command::Task(TaskCommand::Claim { task: None })
}

pub(crate) fn complete(number: u32) -> Command {
    Command::Task(TaskCommand::Complete {
        task: numbered(number),
        result: "done".to_owned(),
        summary: None,
        attempt: None,
    })
}

pub(crate) fn renew(number: u32) -> Command {
    Command::Task(TaskCommand::Renew { task: numbered(number), attempt: None })
}

pub(crate) fn comment(number: u32, text: &str) -> Command {
    Command::Task(TaskCommand::Comment { task: numbered(number), text: text.to_owned() })
}

pub(crate) fn cancel(number: u32) -> Command {
    let reason = "not needed".to_owned();
    Command::Task(TaskCommand::Cancel { task: numbered(number), reason })
}

pub(crate) fn delete(number: u32) -> Command {
    Command::Task(TaskCommand::Delete { task: numbered(number) })
}

pub(crate) fn say(to: &str, content: &str) -> Command {
    Command::Send(Outgoing::message(to, content))
}

/// Gives commands in order without waiting in between, so that they need few appends, and then waits for all of them.
pub(crate) async fn submit_all(
    board: &Board,
    requests: impl IntoIterator<Item = CommandRequest>,
) -> Vec<BoardResult<CommandEffect>> {
    let mut given = Vec::new();
    for request in requests {
        given.push(board.give(request).await);
    }
    let mut answers = Vec::with_capacity(given.len());
    for given in given {
        answers.push(match given {
            Ok(given) => given.done().await,
            Err(error) => Err(error),
        });
    }
    answers
}

/// Puts tasks on the board and returns their numbers.
pub(crate) async fn add_tasks(board: &Board, n_tasks: usize) -> Vec<u32> {
    let requests = (0..n_tasks).map(|nth| by(LEAD, create(&format!("subject {nth}"))));
    let made = submit_all(board, requests).await;
    made.into_iter().map(|done| done.unwrap().task().unwrap().0).collect()
}

/// Puts tasks on the board and completes them.
pub(crate) async fn finish_tasks(board: &Board, n_tasks: usize) -> Vec<u32> {
    let numbers = add_tasks(board, n_tasks).await;
    let completes = numbers.iter().map(|number| by(LEAD, complete(*number)));
    submit_all(board, completes).await.into_iter().for_each(|done| drop(done.unwrap()));
    numbers
}

/// All events of a log, after a check that it has no gap.
pub(crate) async fn events(store: &dyn Store, team: TeamId) -> Vec<Event> {
    let entries = store.read(team, Version::ZERO, usize::MAX).await.unwrap();
    let events: Vec<Event> = entries.iter().map(|entry| decode(&entry.body).unwrap()).collect();
    for (nth, event) in events.iter().enumerate() {
        assert_eq!(event.version, Version(nth as u64 + 1), "a log has no gap");
    }
    events
}

/// The state of a log, without any snapshot.
pub(crate) async fn replayed(store: &dyn Store, team: TeamId) -> State {
    let mut state = State::default();
    events(store, team).await.iter().for_each(|event| state.apply(event));
    state
}

pub(crate) async fn state_of(board: &Board) -> State {
    board.look(State::clone).await.unwrap()
}

/// Checks that a board agrees with its log.
pub(crate) async fn assert_is_the_log(board: &Board, store: &dyn Store) {
    board.catch_up().await.unwrap();
    assert!(
        state_of(board).await == replayed(store, board.team()).await,
        "the state agrees with the log"
    );
}

/// The claims in the log, in order.
pub(crate) fn claims(events: &[Event]) -> Vec<(u32, String)> {
    let claim = |event: &Event| {
        let Fact::TaskClaimed { task, owner, .. } = &event.fact else { return None };
        Some((task.0, owner.to_string()))
    };
    events.iter().filter_map(claim).collect()
}

/// The rule that a command broke.
pub(crate) fn refusal<T>(answer: BoardResult<T>) -> Refusal {
    match answer {
        Err(BoardError::Refused(refusal)) => refusal,
        Err(error) => panic!("not a refusal: {error:?}"),
        Ok(_) => panic!("it was not refused"),
    }
}

/// Appends behind a board's back, like a program of another version.
pub(crate) async fn append_raw(store: &dyn Store, team: TeamId, body: String) -> Version {
    let after = store.read(team, Version::ZERO, usize::MAX).await.unwrap().last().unwrap().version;
    let operation = troop_model::OperationId(Uuid::now_v7());
    store.append(team, Batch { operation, after, bodies: vec![body] }).await.unwrap();
    after.next()
}
