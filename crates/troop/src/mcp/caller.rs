//! Board calls of one member: by way of the lead where one runs, else on the board itself.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use troop_model::{
    Command, Dialect, MemberName, NewMember, NewTeamCommand, OperationId, Settings, State, TeamId,
    TeamName, TeamStatus,
};
use troop_protocol::{Call, Calls, ClientError, Failure, FailureKind, Gate, Seat, Session};
use troop_runtime::{Answers, Board, BoardError, Clock, Following, LeadClient, Signature};
use troop_store::Store;
use uuid::Uuid;

use super::hold;

/// One member's way to its team.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) member: MemberName,
    pub(crate) dialect: Dialect,
    pub(crate) gate: Gate,
    pub(crate) session: Session,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    /// Where what belongs to teams besides their logs is kept.
    pub(crate) teams: PathBuf,
    /// How many teammates a new team may run.
    pub(crate) max_teammates: u32,
    /// Another one after a team was taken away and another made.
    board: watch::Sender<Board>,
    /// The conversation with the lead, while there is one.
    lead: Mutex<Option<LeadClient>>,
    tracker: TaskTracker,
}

/// What a caller is made of besides its team.
#[derive(Debug)]
pub(crate) struct Surrounded {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) teams: PathBuf,
    pub(crate) max_teammates: u32,
}

impl Caller {
    pub(crate) fn new(
        board: Board,
        who: (MemberName, Session),
        (dialect, gate): (Dialect, Gate),
        around: Surrounded,
    ) -> Self {
        let Surrounded { store, clock, teams, max_teammates } = around;
        let (member, session) = who;
        let (board, lead) = (watch::Sender::new(board), Mutex::new(None));
        let tracker = TaskTracker::new();
        Self {
            member,
            dialect,
            gate,
            session,
            store,
            clock,
            teams,
            max_teammates,
            board,
            lead,
            tracker,
        }
    }

    /// The team's board.
    pub(crate) fn board(&self) -> Board {
        self.board.borrow().clone()
    }

    /// Hears of it when there is another team.
    pub(crate) fn boards(&self) -> watch::Receiver<Board> {
        self.board.subscribe()
    }

    /// The member's place in the team as it is now, with all that was acknowledged to anybody. Who asks for it is there, so
    /// it keeps what it holds.
    pub(crate) async fn seat(&self) -> Result<Seat, Failure> {
        let board = self.board();
        board.catch_up().await.map_err(|error| broken(&error))?;
        let (member, now) = (self.member.clone(), self.clock.now());
        let look = move |state: &State| {
            let found =
                state.find_member(member.as_str()).map_err(|refusal| Failure::from(&refusal));
            let found = found.map(|it| (it.name.clone(), it.role, it.permissions))?;
            let team = state.team().map(|team| (team.status, team.settings.clone()));
            let due = hold::due(state, &found.0, now);
            Ok::<_, Failure>((found, team, due))
        };
        let ((member, role, permissions), team, due) =
            board.look(look).await.map_err(|error| broken(&error))??;
        self.renew(due).await;
        let (status, settings) = team.unwrap_or((TeamStatus::Deleted, Settings::default()));
        Ok(Seat {
            member,
            role,
            dialect: self.dialect,
            status,
            settings,
            permissions,
            gate: self.gate.clone(),
        })
    }

    /// The lead that runs the team on this machine, if one does.
    async fn lead(&self, team: TeamId) -> Option<LeadClient> {
        let known = self.lead.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if known.is_some() {
            return known;
        }
        let folder = self.teams.join(team.to_string());
        let lead = LeadClient::connect(&folder, &self.session, &self.tracker).await?;
        self.keep(Some(lead.clone()));
        Some(lead)
    }

    fn keep(&self, lead: Option<LeadClient>) {
        *self.lead.lock().unwrap_or_else(PoisonError::into_inner) = lead;
    }

    async fn change(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        let board = self.board();
        if let Some(lead) = self.lead(board.team()).await {
            match lead.ask(async |client| client.ask_any(&call).await).await {
                Ok(answer) => {
                    // What is looked at next must show it.
                    board.catch_up().await.map_err(|error| broken(&error))?;
                    return Ok(answer);
                }
                // If it did it after all, the same operation has one effect.
                Err(ClientError::NoLead { .. } | ClientError::Gone) => self.keep(None),
                Err(error) => return Err(error.into()),
            }
        }
        self.answer(&board, call).await
    }

    /// Answers from the board itself.
    async fn answer(&self, board: &Board, call: Call) -> Result<Box<RawValue>, Failure> {
        let folder = self.teams.join(board.team().to_string());
        Answers::new(board.clone(), &folder).answer(self.session.clone(), call).await
    }
}

impl Calls for Caller {
    async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        match call {
            Call::Change(mut change) => {
                change.operation.get_or_insert_with(|| OperationId(Uuid::now_v7()));
                let takes_away = change.command == Command::DeleteTeam;
                let answer = self.change(Call::Change(change)).await?;
                if takes_away {
                    // The name is free for another team.
                    let retired = self.store.retire(self.board().team()).await;
                    retired.map_err(|error| Failure::new(FailureKind::Unavailable, &error))?;
                    self.keep(None);
                }
                Ok(answer)
            }
            Call::File(call) => self.change(Call::File(call)).await,
            look @ (Call::Query(_) | Call::Open(_) | Call::Follow(_)) => {
                self.answer(&self.board(), look).await
            }
        }
    }

    async fn make_team(&self, name: TeamName, description: String) -> Result<(), Failure> {
        let former = self.board();
        let agent = former.look(|state| state.lead().map(|lead| lead.agent.clone())).await;
        let agent = agent.map_err(|error| broken(&error))?.unwrap_or_default();
        let lead = NewMember {
            name: self.member.clone(),
            agent,
            expertise: String::new(),
            model: None,
            permissions: None,
        };
        let settings =
            Settings { max_teammates: self.max_teammates, ..Settings::for_dialect(self.dialect) };
        let team = TeamId(Uuid::now_v7());
        let new = NewTeamCommand { team, name, description, settings, lead, members: Vec::new() };
        let signature = Signature::new(self.session.actor.clone());
        let (store, clock) = (Arc::clone(&self.store), self.clock.clone());
        let board = Board::create(store, clock, Following::Always, &signature, new).await;
        self.board.send_replace(board.map_err(|error| broken(&error))?);
        Ok(())
    }
}

/// What is wrong with the board itself.
fn broken(error: &BoardError) -> Failure {
    if let BoardError::Refused(refusal) = error {
        refusal.into()
    } else {
        Failure::new(FailureKind::Unavailable, error)
    }
}
