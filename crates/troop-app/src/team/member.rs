//! Board calls in the name of one member, for clients that act as it: the tools of an MCP server.

use std::{path::PathBuf, sync::Arc};

use serde_json::value::RawValue;
use tokio::sync::watch;
use troop_model::{
    Asker, Command, Dialect, MemberName, NewMember, NewTeamCommand, OperationId, Settings, State,
    TeamId, TeamName, TeamStatus,
};
use troop_protocol::{Call, Calls, Failure, FailureKind, Gate, Seat};
use troop_runtime::{Board, Clock, Following, Signature};
use troop_store::Store;
use uuid::Uuid;

use super::{TeamHandle, board_failure, hold};

/// One member's way to its team.
#[derive(Debug)]
pub struct MemberCaller {
    options: MemberOptions,
    /// Another one after the team was deleted and a new one made.
    team: watch::Sender<Arc<TeamHandle>>,
}

/// Who calls, and where.
#[derive(Debug)]
pub struct MemberOptions {
    pub member: MemberName,
    pub dialect: Dialect,
    pub gate: Gate,
    pub session: Asker,
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    /// The folder of what belongs to teams besides their logs.
    pub teams: PathBuf,
    /// How many teammates a new team may run.
    pub max_teammates: u32,
}

impl MemberCaller {
    #[must_use]
    pub fn new(board: Board, options: MemberOptions) -> Self {
        let team = watch::Sender::new(Arc::new(options.handle(board)));
        Self { options, team }
    }

    #[must_use]
    pub fn member(&self) -> &MemberName {
        &self.options.member
    }

    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.options.dialect
    }

    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.options.gate
    }

    /// The team as it is now, and each one that takes its place.
    #[must_use]
    pub fn teams(&self) -> watch::Receiver<Arc<TeamHandle>> {
        self.team.subscribe()
    }

    fn team(&self) -> Arc<TeamHandle> {
        Arc::clone(&self.team.borrow())
    }

    /// The member's place in the team as it is now, with everything that was acknowledged to anybody. The member is alive, so
    /// this also renews what it holds.
    pub async fn seat(&self) -> Result<Seat, Failure> {
        let team = self.team();
        team.board().catch_up().await.map_err(|error| board_failure(&error))?;
        let MemberOptions { member, dialect, gate, clock, .. } = &self.options;
        let member = member.clone();
        let now = clock.now();
        let look = move |state: &State| {
            let found = state.find_member(member.as_str());
            let found = found.map_err(|refusal| Failure::from(&refusal))?;
            let due = hold::due(state, &found.name, now);
            let team = state.team().map(|team| (team.status, team.settings.clone()));
            Ok::<_, Failure>((found.clone(), team, due))
        };
        let (member, settings, due) =
            team.look(look).await.map_err(|error| board_failure(&error))??;
        self.renew(due).await;
        let (status, settings) = settings.unwrap_or((TeamStatus::Deleted, Settings::default()));
        Ok(Seat {
            member: member.name,
            role: member.role,
            dialect: *dialect,
            status,
            settings,
            permissions: member.permissions,
            gate: gate.clone(),
        })
    }
}

impl MemberOptions {
    fn handle(&self, board: Board) -> TeamHandle {
        let folder = self.teams.join(board.team().to_string());
        TeamHandle::new(board, &folder, self.clock.clone(), self.session.clone())
    }
}

impl Calls for MemberCaller {
    async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        let team = self.team();
        let Call::Change(mut change) = call else { return team.call(call).await };
        // If the lead goes away in the middle, the board gets the same operation.
        change.operation.get_or_insert_with(|| OperationId(Uuid::now_v7()));
        let is_deleted = change.command == Command::DeleteTeam;
        let answer = team.call(Call::Change(change)).await?;
        if is_deleted {
            // The name is free for another team.
            let retired = self.options.store.retire(team.id()).await;
            retired.map_err(|error| Failure::new(FailureKind::Unavailable, &error))?;
            team.disconnect();
        }
        Ok(answer)
    }

    async fn make_team(&self, name: TeamName, description: String) -> Result<(), Failure> {
        let agent = self.team().look(|state| state.lead().map(|lead| lead.agent.clone())).await;
        let agent = agent.map_err(|error| board_failure(&error))?.unwrap_or_default();
        let MemberOptions { member, dialect, session, store, clock, max_teammates, .. } =
            &self.options;
        let lead = NewMember {
            name: member.clone(),
            agent,
            expertise: String::new(),
            model: None,
            permissions: None,
        };
        let settings =
            Settings { max_teammates: *max_teammates, ..Settings::for_dialect(*dialect) };
        let team = TeamId(Uuid::now_v7());
        let new = NewTeamCommand { team, name, description, settings, lead, members: Vec::new() };
        let signature = Signature::new(session.actor.clone());
        let store = Arc::clone(store);
        let board = Board::create(store, clock.clone(), Following::Always, &signature, new).await;
        let board = board.map_err(|error| board_failure(&error))?;
        self.team.send_replace(Arc::new(self.options.handle(board)));
        Ok(())
    }
}
