//! Team tools on a real board: what a model reads, and the effect on the board.

mod board;
mod claude;
mod proof;
mod wrong;

use std::sync::Arc;

use serde_json::{Value, json, value::RawValue};
use tempfile::TempDir;
use troop_model::{
    Actor, Asker, Command, Dialect, MemberName, NewMember, NewTeamCommand, Origin, Permissions,
    Role, Settings, TeamId, TeamStatus,
};
use troop_protocol::{Call, Calls, Failure, Gate, Seat, Toolbox};
use troop_runtime::{Answers, Board, Clock, CommandRequest, Following, Signature};
use troop_testkit::memory_store;
use uuid::Uuid;

/// A board that is open here, asked as one member.
#[derive(Clone, Debug)]
struct Direct {
    board: Board,
    asker: Asker,
    folder: Arc<TempDir>,
}

impl Calls for Direct {
    async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        let answers = Answers::new(self.board.clone(), self.folder.path());
        answers.answer(self.asker.clone(), call).await
    }
}

/// A team whose members have tools.
struct Stage {
    board: Board,
    /// Where its files are.
    folder: Arc<TempDir>,
    dialect: Dialect,
}

/// One member with its tools.
struct Hand {
    seat: Seat,
    tools: Toolbox<Direct>,
}

fn newcomer(name: &str) -> NewMember {
    NewMember::new(name.parse().unwrap(), "script")
}

impl Stage {
    async fn new(dialect: Dialect) -> Self {
        Self::with(Settings::for_dialect(dialect), dialect).await
    }

    async fn with(settings: Settings, dialect: Dialect) -> Self {
        let store = memory_store().await.store();
        let new = NewTeamCommand {
            goal: String::new(),
            team: TeamId(Uuid::now_v7()),
            name: "crew".parse().unwrap(),
            description: String::new(),
            settings,
            lead: newcomer("lead"),
            members: vec![newcomer("ann"), newcomer("bob")],
        };
        let signature = Signature::new(Actor::human("user"));
        let store: Arc<_> = store;
        let board = Board::create(store, Clock::system(), Following::WhenAsked, &signature, new)
            .await
            .unwrap();
        Self { board, folder: Arc::new(tempfile::tempdir().unwrap()), dialect }
    }

    /// A session of a member: two of one member are two conversations at once.
    fn hand(&self, name: &str) -> Hand {
        let member: MemberName = name.parse().unwrap();
        let actor = Actor::agent(&member);
        let asker = Asker { actor, origin: Origin::default() };
        let role = if name == "lead" { Role::Lead } else { Role::Member };
        let seat = Seat {
            member,
            role,
            dialect: self.dialect,
            status: TeamStatus::Active,
            settings: Settings::for_dialect(self.dialect),
            permissions: Permissions::Default,
            gate: Gate::Open,
        };
        let (board, folder) = (self.board.clone(), Arc::clone(&self.folder));
        Hand { seat, tools: Toolbox::new(Direct { board, asker, folder }) }
    }

    /// Takes the lead lease, so that teammates can be started.
    async fn led(self) -> Self {
        let take = Command::TakeLead {
            session: Uuid::now_v7(),
            holder: "test".to_owned(),
            over: None,
            checks: Vec::new(),
        };
        self.board.submit(CommandRequest::new(Actor::system(), take)).await.unwrap();
        self
    }
}

impl Hand {
    async fn run(&self, tool: &str, input: Value) -> Result<String, Failure> {
        self.tools.run(&self.seat, tool, input).await
    }

    async fn ok(&self, tool: &str, input: Value) -> String {
        let shown = input.to_string();
        self.run(tool, input).await.unwrap_or_else(|failure| panic!("{shown}: {failure:?}"))
    }

    async fn json(&self, tool: &str, input: Value) -> Value {
        serde_json::from_str(&self.ok(tool, input).await).unwrap()
    }

    /// The text that a model reads when the call fails.
    async fn told(&self, tool: &str, input: Value) -> String {
        let shown = input.to_string();
        match self.run(tool, input).await {
            Ok(text) => panic!("{shown} worked: {text}"),
            Err(failure) => failure.for_model(),
        }
    }
}

#[tokio::test]
async fn a_call_names_the_setting_that_disabled_teams() {
    let stage = Stage::new(Dialect::Claude).await;
    let mut lead = stage.hand("lead");
    lead.seat.gate = Gate::Closed { by: "`teams.enabled` in `config.json`".to_owned() };
    assert_eq!(
        lead.told("TeamCreate", json!({"team_name": "x"})).await,
        "agent teams are not enabled: switched off by `teams.enabled` in `config.json`"
    );
}
