//! A team's log as a file, from every store into every store, and teams at earlier moments.

use troop_model::{Actor, Command, MemberState, State, StateCause, Time, Version, decode, encode};
use troop_runtime::{
    Board, BoardError, Clock, CommandRequest, ExportError, ExportHeader, Following, Moment,
    StoreSession, export, read_export, replay,
};
use troop_store::Store;
use troop_testkit::TestStore;
use uuid::Uuid;

use crate::support::{LEAD, add_tasks, by, claim, complete, crew, events, name, state_of};

on_every_store! {
    an_exported_team_is_imported_unchanged,
    a_copy_of_a_running_team_has_no_lead_and_no_running_members,
    a_team_can_be_shown_at_an_earlier_moment,
    a_long_log_is_exported_page_by_page,
}

async fn exported(board: &Board, store: &dyn Store) -> (ExportHeader, String) {
    let mut file = String::new();
    let header = export(store, board.team(), "crew", |lines| {
        file.push_str(lines);
        Ok::<_, BoardError>(())
    })
    .await
    .unwrap();
    (header, file)
}

async fn an_exported_team_is_imported_unchanged(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 3).await;
    board.submit(by(LEAD, complete(1))).await.unwrap();
    let (header, file) = exported(&board, &*store).await;
    let log = events(&*store, board.team()).await;
    assert_eq!((header.events as usize, file.lines().count()), (log.len(), log.len() + 1));
    assert_eq!(decode(file.lines().nth(1).unwrap()).unwrap(), log[0], "events are as stored");
    let (read, copied) = read_export(file.as_bytes()).unwrap();
    assert_eq!((&read, &copied), (&header, &log));
    for other in [troop_testkit::sqlite_store().await, troop_testkit::files_store().await] {
        let mut session = StoreSession::new(other.store(), Clock::system(), Following::WhenAsked);
        let copy = session.import(copied.clone(), None).await.unwrap();
        let here = state_of(&board).await;
        let there = state_of(copy).await;
        assert_eq!(tasks(&here), tasks(&there));
        assert_eq!(here.version(), there.version());
        assert_eq!(add_tasks(copy, 1).await, [4], "the copy is independent");
    }
    assert_eq!(events(&*store, board.team()).await, log, "the original is unchanged");
}

async fn a_copy_of_a_running_team_has_no_lead_and_no_running_members(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 1).await;
    let system = |command| CommandRequest::new(Actor::system(), command);
    let session = Uuid::now_v7();
    let holder = "pat on here, process 7".to_owned();
    let take = Command::TakeLead { session, holder, over: None, checks: Vec::new() };
    board.submit(system(take)).await.unwrap();
    for (member, state) in [(LEAD, MemberState::Working), ("bob", MemberState::Idle)] {
        let member = name(member);
        let pid = Some(7);
        let state = Command::SetMemberState { member, state, reason: None, cause: None, pid };
        board.submit(system(state)).await.unwrap();
    }
    board.submit(by("bob", claim(1))).await.unwrap();
    let (_, file) = exported(&board, &*store).await;
    let (_, copied) = read_export(file.as_bytes()).unwrap();
    let other = troop_testkit::sqlite_store().await;
    let mut session = StoreSession::new(other.store(), Clock::system(), Following::WhenAsked);
    let copy = state_of(session.import(copied, None).await.unwrap()).await;
    assert_eq!(copy.team().unwrap().lead_lease, None);
    assert!(copy.members().all(|it| !it.is_running() && it.pid.is_none()));
    assert_eq!(tasks(&copy)[0].2, "pending");
    let lead = copy.lead().unwrap();
    assert_eq!(lead.state_cause, Some(StateCause::LeftOpen), "its work is not done");
    assert!(state_of(&board).await.member(&name("bob")).unwrap().is_running());
}

fn tasks(state: &State) -> Vec<(u32, String, String)> {
    let row =
        |task: &troop_model::Task| (task.number.0, task.subject.clone(), task.status.to_string());
    state.tasks().iter().map(row).collect()
}

async fn a_team_can_be_shown_at_an_earlier_moment(store: TestStore) {
    let board = crew(store.store()).await;
    let made = board.look(State::version).await.unwrap();
    add_tasks(&board, 2).await;
    board.submit(by(LEAD, complete(1))).await.unwrap();
    let log = events(&*store, board.team()).await;
    let shown = async |until| replay(&*store, board.team(), until).await.unwrap();
    for version in 0..=log.len() as u64 {
        let mut expected = State::default();
        expected.begin();
        log.iter().take(version as usize).for_each(|event| expected.apply(event));
        assert_eq!(shown(Moment::Version(Version(version))).await, expected, "version {version}");
    }
    assert_eq!(shown(Moment::Version(made)).await.tasks().len(), 0);
    assert_eq!(shown(Moment::Version(Version(u64::MAX))).await, state_of(&board).await);
    let middle = log[log.len() - 2].at;
    let then = shown(Moment::Time(middle)).await;
    assert!(then.latest() <= middle && then.version().0 >= log.len() as u64 - 1);
    assert_eq!(shown(Moment::Time(Time::from_micros(0))).await, State::default());
    assert_eq!(events(&*store, board.team()).await, log, "looking changes nothing");
}

async fn a_long_log_is_exported_page_by_page(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 2_100).await;
    let (header, file) = exported(&board, &*store).await;
    assert!(header.events > 2_100);
    let (_, copied) = read_export(file.as_bytes()).unwrap();
    assert_eq!(copied.len() as u64, header.events);
    let then = replay(&*store, board.team(), Moment::Version(Version(1_500))).await.unwrap();
    assert_eq!(then.version(), Version(1_500));
}

#[tokio::test]
async fn an_incomplete_export_is_refused() {
    let store = troop_testkit::memory_store().await;
    let board = crew(store.store()).await;
    add_tasks(&board, 2).await;
    let (header, file) = exported(&board, &*store).await;
    let refused = |file: &str| read_export(file.as_bytes()).unwrap_err();
    let lines: Vec<_> = file.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    for n_lines in 1..lines.len() {
        let error = refused(&joined(&lines[..n_lines]));
        assert!(matches!(error, ExportError::Incomplete { .. }), "{error}");
    }
    // Cut it anywhere, also within a line.
    for cut in (joined(&lines[..1]).len()..file.len() - 1).step_by(97) {
        let error = refused(file.get(..cut).unwrap());
        assert!(matches!(error, ExportError::Incomplete { .. }), "{cut}: {error}");
    }
    let longer = format!("{file}{}\n", lines[1]);
    assert!(matches!(refused(&longer), ExportError::Incomplete { .. }));
    let changed = file.replace("subject 1", "subject 9");
    assert_ne!(changed, file);
    assert!(matches!(refused(&changed), ExportError::Changed));
    let broken = file.replacen(&format!("{}\n", lines[2]), "{}\n", 1);
    assert!(matches!(refused(&broken), ExportError::NoEvent { line: 3, .. }));
    let newer = file.replacen("\"troop_export\":1", "\"troop_export\":2", 1);
    let error = refused(&newer);
    assert_eq!(error.to_string(), "it has format 2; this troop knows formats up to 1");
    assert!(error.hint().to_string().contains("upgrade"));
    for nonsense in ["", "\n", "hello\n", lines[1], "\u{0}", "{\"troop_export\":1}\n"] {
        assert!(matches!(refused(nonsense), ExportError::NotAnExport), "{nonsense}");
    }
    assert_eq!(header.team, "crew");
}

#[test]
fn fuzz_export() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let file = runtime.block_on(async {
        let store = troop_testkit::memory_store().await;
        let board = crew(store.store()).await;
        add_tasks(&board, 2).await;
        board.submit(by(LEAD, complete(1))).await.unwrap();
        exported(&board, &*store).await.1
    });
    let (_, log) = read_export(file.as_bytes()).unwrap();
    let lines: Vec<_> = file.lines().map(|line| line.as_bytes().to_vec()).collect();
    troop_testkit::fuzz(&["\"version\":", "\"kind\":\"task.created\""], &lines, 300, |bytes| {
        // A team that can be read can be written, and is the same then.
        if let Ok(event) = decode(&String::from_utf8_lossy(bytes)) {
            assert_eq!(decode(&encode(&event)).unwrap(), event);
        }
    });
    troop_testkit::fuzz(&[], &[file.into_bytes()], 300, |bytes| {
        // It is complete and unchanged, or refused.
        if let Ok((_, events)) = read_export(bytes) {
            assert_eq!(events, log);
        }
    });
}
