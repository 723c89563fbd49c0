//! Where a command is carried out: a store, a team, and who asks.

mod relay;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use smol_str::SmolStr;
use troop_model::{
    Actor, Command, LEAD_ENDED, Member, MemberName, MemberState, Origin, Refusal, State, TeamId,
    TeamStatus,
};
use troop_runtime::{Board, Clock, Done, Following, Request, Session, Signature, lead_has_died};
use troop_store::{Missing, Store};

use crate::{
    cli::Global,
    config::{self, Surroundings},
    report::Usage,
};

/// Commands that people type come from here.
const CHANNEL: &str = "cli";

/// Everything that a command needs to be carried out.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) surroundings: Surroundings,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) session: Session,
    pub(crate) clock: Clock,
    team: Option<String>,
    member: Option<String>,
    /// What was said about this one command, and not in a file.
    said: Said,
}

/// What was said about one command.
#[derive(Debug)]
struct Said {
    home: Option<PathBuf>,
    store: Option<String>,
    team: Option<String>,
}

impl Desk {
    /// Opens the store that is meant. The embedded one is made if it is missing; another only if `missing` says so.
    pub(crate) async fn open(
        global: &Global,
        surroundings: Surroundings,
        following: Following,
        missing: Missing,
    ) -> Result<Self> {
        let url = surroundings.store_url(global);
        let is_default = surroundings.is_default_store(global);
        if is_default {
            std::fs::create_dir_all(&surroundings.home)
                .with_context(|| format!("`{}` cannot be made", surroundings.home.display()))?;
        }
        let url = config::parse_store(&url)?;
        let missing = if is_default { Missing::Make } else { missing };
        let store = troop_store::open(&url, missing).await?;
        let clock = Clock::system();
        let session = Session::new(Arc::clone(&store), clock.clone(), following);
        // An empty variable says nothing.
        let said = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        let team = said(&global.team).or_else(|| surroundings.config.team.clone());
        let member = said(&global.acting);
        let folder = std::env::current_dir().unwrap_or_default();
        let store_said = said(&global.store).map(|store| config::from_folder(&store, &folder));
        let home_said = global.home.as_ref().filter(|home| !home.as_os_str().is_empty());
        let home_said = home_said.map(|home| folder.join(home));
        let said = Said { home: home_said, store: store_said, team: said(&global.team) };
        Ok(Self { surroundings, store, session, clock, team, member, said })
    }

    /// Opens the team that is meant: by name, the only one, or the only active one.
    pub(crate) async fn team(&mut self, name: Option<&str>) -> Result<Board> {
        if let Ok(board) = self.session.team() {
            return Ok(board.clone());
        }
        let board = match name.or(self.team.as_deref()) {
            Some(name) => self.session.open(name).await?,
            None => {
                let team = self.only_team().await?;
                self.session.open_known(team).await?
            }
        };
        Ok(board.clone())
    }

    /// The members of a team as they are now. When a lead is killed nobody is left to write down what became of its
    /// teammates, before another lead does.
    pub(crate) async fn roster(&self, board: &Board) -> Result<Vec<Member>> {
        let look = |state: &State| {
            let lease = state.team().and_then(|team| team.lead_lease.clone());
            (state.members().cloned().collect::<Vec<_>>(), lease)
        };
        let (mut members, lease) = board.look(look).await?;
        let folder = self.folder(board.team());
        if lease.is_some_and(|lease| lead_has_died(&folder, lease.session)) {
            for member in members.iter_mut().filter(|it| it.is_running()) {
                member.state = MemberState::Crashed;
                member.state_reason = Some(LEAD_ENDED.to_owned());
                member.pid = None;
            }
        }
        Ok(members)
    }

    /// Where troop keeps its files, if not where it does by default.
    pub(crate) fn other_home(&self) -> Option<&Path> {
        self.said.home.as_deref()
    }

    /// Where teams are kept, if not where they are by default. It means the same in every folder.
    pub(crate) fn other_store(&self) -> Option<&str> {
        self.said.store.as_deref().or(self.surroundings.config.store.as_deref())
    }

    /// The team, if it was named for this command.
    pub(crate) fn said_team(&self) -> Option<&str> {
        self.said.team.as_deref()
    }

    /// Who acts.
    pub(crate) fn actor(&self) -> Result<Actor> {
        match &self.member {
            Some(member) => {
                let is_lead = troop_model::LEAD_ALIASES.contains(&member.as_str());
                let name = if is_lead { Ok(MemberName::lead()) } else { member.parse() };
                Ok(Actor::agent(&name.map_err(Refusal::from)?))
            }
            None => Ok(Actor::human(&self.surroundings.user)),
        }
    }

    /// Who acts, and from where. What a member does is troop's own traffic; what a person does comes from `cli`.
    pub(crate) fn signature(&self) -> Result<Signature> {
        let mut signature = Signature::new(self.actor()?);
        if self.member.is_none() {
            signature.origin = Origin {
                user_id: Some(SmolStr::new(&self.surroundings.user)),
                channel: Some(SmolStr::new_static(CHANNEL)),
                ..Origin::default()
            };
        }
        Ok(signature)
    }

    /// A command, signed by who acts.
    pub(crate) fn request(&self, command: Command) -> Result<Request> {
        Ok(self.signature()?.on(command))
    }

    /// Gives a command to the team that is meant.
    pub(crate) async fn submit(&mut self, command: Command) -> Result<Done> {
        let request = self.request(command)?;
        let board = self.team(None).await?;
        match self.relay(&board, &request).await? {
            Some(done) => Ok(done),
            None => Ok(board.submit(request).await?),
        }
    }

    /// Lets the time that passed have its effect: leases that ran out, retries that are due. Where no runtime supervises
    /// the team, whoever looks for work does this.
    pub(crate) async fn tick(&mut self) -> Result<()> {
        let board = self.team(None).await?;
        board.submit(Request::new(Actor::system(), Command::Tick)).await?;
        Ok(())
    }

    /// Puts everything away.
    pub(crate) async fn close(mut self) {
        self.session.close().await;
    }

    async fn only_team(&self) -> Result<TeamId> {
        let mut teams = self.session.teams().await?;
        teams.retain(|team| !team.is_retired);
        if let [team] = teams.as_slice() {
            return Ok(team.id);
        }
        let mut active = Vec::new();
        for team in &teams {
            let board = Board::open(
                Arc::clone(&self.store),
                self.clock.clone(),
                Following::WhenAsked,
                team.id,
            )
            .await?;
            let status = board.look(|state| state.team().map(|team| team.status)).await?;
            board.close().await;
            if status == Some(TeamStatus::Active) {
                active.push(team.id);
            }
        }
        let names: Vec<_> = teams.iter().map(|team| team.name.as_str()).collect();
        match (active.as_slice(), names.as_slice()) {
            ([team], _) => Ok(*team),
            (_, []) => Err(troop_runtime::BoardError::NoActiveTeam.into()),
            (_, [first, ..]) => {
                let message = format!("which team? There are: {}", names.join(", "));
                Err(Usage::new(message, format!("say it: `--team {first}`")).into())
            }
        }
    }
}
