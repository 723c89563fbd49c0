//! Board calls in the name of one member, for clients that act as it: the tools of an MCP server.

use std::{path::PathBuf, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::watch;
use troop_model::{
    Actor, ActorKind, Asker, Command, Dialect, Hint, HintCommand, MemberName, NewMember,
    NewTeamCommand, OperationId, Settings, State, TeamId, TeamName, TeamStatus,
};
use troop_protocol::{Call, Calls, Change, Failure, FailureKind, Gate, Query, Seat};
use troop_runtime::{Board, BoardError, Clock, Following, Signature};
use troop_store::Store;
use uuid::Uuid;

use super::{TeamDesk, TeamHandle, board_failure, hold};
use crate::Error;

/// One member's way to its team.
#[derive(Debug)]
pub struct MemberCaller {
    options: MemberOptions,
    /// Another one after the team was deleted and a new one made.
    team: watch::Sender<Arc<TeamHandle>>,
}

/// Who calls, and where.
#[derive(Debug)]
struct MemberOptions {
    member: MemberName,
    dialect: Dialect,
    gate: Gate,
    session: Asker,
    store: Arc<dyn Store>,
    clock: Clock,
    /// The folder of what belongs to teams besides their logs.
    teams: PathBuf,
    /// How many teammates a new team may run.
    max_teammates: u32,
}

impl TeamDesk {
    /// The member that acts. If a person does, the error shows how to name one in a command.
    pub async fn acting_member(&mut self, command: HintCommand) -> crate::Result<MemberName> {
        let board = self.team(None).await?;
        let actor = self.signature()?.asker.actor;
        if actor.kind == ActorKind::Agent {
            let find = move |state: &State| Ok(state.find_member(&actor.name)?.name.clone());
            return Ok(board.look(find).await?.map_err(BoardError::Refused)?);
        }
        let names = |state: &State| state.members().map(|it| it.name.to_string()).collect();
        let names: Vec<_> = board.look(names).await?;
        let message = format!("name the member to act as; the members are: {}", names.join(", "));
        let first = names.first().map_or("NAME", String::as_str);
        let hint = Hint::to("for example", command.word("--as").word(first));
        Err(Error::misuse(message, hint))
    }

    /// The calls of a member of this team.
    pub async fn member_caller(
        &mut self,
        member: MemberName,
        dialect: Dialect,
    ) -> crate::Result<MemberCaller> {
        let board = self.team(None).await?;
        let gate = match &self.surroundings.teams.off {
            Some(off) => Gate::Closed { by: off.by.clone() },
            None => Gate::Open,
        };
        let session =
            Asker { actor: Actor::agent(&member), origin: self.signature()?.asker.origin };
        let options = MemberOptions {
            member,
            dialect,
            gate,
            session,
            store: Arc::clone(&self.store),
            clock: self.clock.clone(),
            teams: self.surroundings.home.join("teams"),
            max_teammates: self.surroundings.teams.max_teammates,
        };
        let team = watch::Sender::new(Arc::new(options.handle(board)));
        Ok(MemberCaller { options, team })
    }
}

impl MemberCaller {
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

    /// Asks a question and reads the answer.
    pub async fn query<T: DeserializeOwned>(&self, query: Query) -> Result<T, Failure> {
        let answer = self.call(Call::Query(query)).await?;
        serde_json::from_str(answer.get()).map_err(|error| Failure::new(FailureKind::Bug, &error))
    }

    pub(super) async fn change(&self, command: Command) -> Result<(), Failure> {
        self.call(Call::Change(Box::new(Change { command, operation: None }))).await.map(drop)
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
        let lead = NewMember::new(member.clone(), agent);
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
