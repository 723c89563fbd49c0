//! Where a command is carried out: a store, a team, and who asks.

mod choice;
mod files;
mod place;
mod relay;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use smol_str::SmolStr;
use troop_model::{
    Actor, Command, Member, MemberName, Origin, Refusal, State, TeamId, did_you_mean, nearest,
};
pub(crate) use troop_protocol::TeamStanding;
use troop_runtime::{
    Board, Clock, CommandEffect, CommandRequest, Following, LeadPresence, Session, Signature,
    TeamSummary,
};
use troop_store::{Missing, Store};

use crate::{
    cli::Global,
    config::{self, Starter, Surroundings},
    output::Printer,
    render,
    report::{Refused, Usage, some_of},
};
use choice::Candidate;
pub(crate) use choice::Purpose;
use files::Kept;
pub(crate) use files::Shared;

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
    /// Whether programs read the answer, which must not be told which team was chosen.
    is_for_programs: bool,
    /// What was said about this one command, and not in a file.
    said: Said,
    /// Where a `files:` store has its readable files, until they were caught up with.
    shared: Option<Shared>,
    kept: Option<Kept>,
    following: Following,
}

/// A lead whose process was stopped, by Ctrl-Z or a signal, and hears nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoppedLead {
    pub(crate) process: u32,
}

impl StoppedLead {
    /// What is wrong.
    pub(crate) fn says(self) -> String {
        format!("process {}, which leads it, was stopped (by Ctrl-Z, or a signal)", self.process)
    }

    /// What to type.
    pub(crate) fn ways_out(self) -> String {
        let Self { process } = self;
        format!(
            "let it continue: `kill -CONT {process}` (or `fg` in its terminal), or end it: `kill -9 {process}`"
        )
    }
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
        let starter = Starter::find()?;
        starter.iter().try_for_each(|starter| starter.check(global))?;
        let url = surroundings.store_url(global);
        let is_default = surroundings.is_default_store(global);
        if is_default {
            std::fs::create_dir_all(&surroundings.home)
                .with_context(|| format!("`{}` cannot be made", surroundings.home.display()))?;
        }
        let shared = config::shared_files(&url)?;
        let url = config::parse_store(&url)?;
        let missing = if is_default { Missing::Make } else { missing };
        let store = troop_store::open(&url, missing).await?;
        let clock = Clock::system();
        let session = Session::new(Arc::clone(&store), clock.clone(), following);
        // An empty variable says nothing.
        let said = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        let (member, own_team) = starter.map(|it| (it.member, it.team)).unzip();
        let team = said(&global.team).or(own_team).or_else(|| surroundings.config.team.clone());
        let member = member.or_else(|| said(&global.acting));
        let folder = std::env::current_dir().unwrap_or_default();
        let store_said = said(&global.store).map(|store| config::from_folder(&store, &folder));
        let home_said = global.home.as_ref().filter(|home| !home.as_os_str().is_empty());
        let home_said = home_said.map(|home| folder.join(home));
        let said = Said { home: home_said, store: store_said, team: said(&global.team) };
        let (is_for_programs, kept) = (global.json, None);
        Ok(Self {
            surroundings,
            store,
            session,
            clock,
            team,
            member,
            is_for_programs,
            said,
            shared,
            kept,
            following,
        })
    }

    /// Opens the team that is meant: by name, or the one that is most likely meant here.
    pub(crate) async fn team(&mut self, name: Option<&str>) -> Result<Board> {
        self.team_for(Purpose::Use, name).await
    }

    /// The same, where it matters what it is wanted for.
    pub(crate) async fn team_for(&mut self, purpose: Purpose, name: Option<&str>) -> Result<Board> {
        if let Ok(board) = self.session.team() {
            return Ok(board.clone());
        }
        let board = match name.or(self.team.as_deref()) {
            Some(name) => self.session.open(name).await?,
            None => {
                let team = self.likely_team(purpose).await?;
                self.session.open_known(team).await?
            }
        };
        let board = board.clone();
        self.catch_up(&board).await?;
        self.check_member(&board).await?;
        Ok(board)
    }

    /// Takes in what others wrote into the readable files of a team. What runs for long keeps them in step meanwhile.
    pub(crate) async fn catch_up(&mut self, board: &Board) -> Result<()> {
        if let Some(shared) = self.shared.take() {
            let kept = shared.catch_up(board, &self.clock, self.folder(board.team())).await?;
            self.kept = kept.map(|kept| match self.following {
                Following::Always => kept.keep(),
                Following::WhenAsked => kept,
            });
        }
        Ok(())
    }

    /// Refuses whoever acts as somebody that the team does not know, also where nothing would change.
    async fn check_member(&self, board: &Board) -> Result<()> {
        if self.member.is_none() {
            return Ok(());
        }
        let name = self.actor()?.name.to_string();
        let asked = name.clone();
        let look = move |state: &State| match state.find_member(&asked) {
            Ok(_) => None,
            Err(_) => Some(state.members().map(|it| it.name.to_string()).collect::<Vec<_>>()),
        };
        let Some(members) = board.look(look).await? else { return Ok(()) };
        let hint = match nearest(&name, members.iter().map(String::as_str)) {
            Some(near) => format!("{} The members are: {}", did_you_mean(near), members.join(", ")),
            None => format!("the members are: {}", members.join(", ")),
        };
        Err(Refused::forbidden(Refusal::NotAMember { name }.to_string(), hint).into())
    }

    /// The members of a team as they are now, also if its lead was killed.
    pub(crate) async fn roster(&self, board: &Board) -> Result<Vec<Member>> {
        let presence = self.presence(board.team());
        Ok(board.look(move |state| presence.members(state)).await?)
    }

    /// The same, with what those wait for that wait for a person's word.
    pub(crate) async fn waiting_roster(&self, board: &Board) -> Result<Vec<Member>> {
        let presence = self.presence(board.team());
        Ok(board.look(move |state| presence.waiting_members(state)).await?)
    }

    /// The process that leads a team from this machine, if it was stopped and hears nothing.
    pub(crate) fn stopped_lead(&self, team: TeamId) -> Option<StoppedLead> {
        self.presence(team).stopped_process().map(|process| StoppedLead { process })
    }

    /// What a team is, in one word.
    pub(crate) async fn standing(&self, board: &Board) -> Result<TeamStanding> {
        let presence = self.presence(board.team());
        let now = self.clock.now();
        Ok(board.look(move |state| presence.standing(state, now)).await?)
    }

    fn presence(&self, team: TeamId) -> LeadPresence {
        LeadPresence::read(&self.folder(team))
    }

    /// The same of a team that is not this session's.
    pub(crate) async fn standing_of(&self, team: TeamId) -> Result<TeamStanding> {
        let board = self.other(team).await?;
        let standing = self.standing(&board).await;
        board.close().await;
        standing
    }

    /// Who leads a team that is not this session's, or led it without having said that it does not any more.
    pub(crate) async fn holder_of(&self, team: TeamId) -> Result<Option<String>> {
        let board = self.other(team).await?;
        let look = |state: &State| Some(state.team()?.lead_lease.as_ref()?.holder.clone());
        let holder = board.look(look).await;
        board.close().await;
        Ok(holder?)
    }

    async fn other(&self, team: TeamId) -> Result<Board> {
        let (store, clock) = (Arc::clone(&self.store), self.clock.clone());
        Ok(Board::open(store, clock, Following::WhenAsked, team).await?)
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
    pub(crate) fn request(&self, command: Command) -> Result<CommandRequest> {
        Ok(self.signature()?.on(command))
    }

    /// Gives a command to the team that is meant.
    pub(crate) async fn submit(&mut self, command: Command) -> Result<CommandEffect> {
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
        board.submit(CommandRequest::new(Actor::system(), Command::Tick)).await?;
        Ok(())
    }

    /// Puts everything away.
    pub(crate) async fn close(mut self) {
        if let Ok(board) = self.session.team().cloned() {
            // A team that was made just now has no files yet. What is wrong with its log was said already.
            drop(self.catch_up(&board).await);
        }
        if let Some(kept) = self.kept.take() {
            kept.finish().await;
        }
        self.session.close().await;
    }

    async fn likely_team(&self, purpose: Purpose) -> Result<TeamId> {
        let mut teams = self.session.teams().await?;
        teams.retain(|team| !team.is_retired);
        if let [team] = teams.as_slice() {
            return Ok(team.id);
        }
        let mut candidates = Vec::new();
        for team in &teams {
            candidates.push(self.candidate(team.id).await?);
        }
        let chosen = choice::choose(&candidates, purpose);
        if let Some((team, why)) = chosen.and_then(|(nth, why)| Some((teams.get(nth)?, why))) {
            self.tell_of(team, why, teams.len());
            return Ok(team.id);
        }
        let runs = |it: &Candidate| it.standing == TeamStanding::Running;
        let all = teams.iter().zip(&candidates).rev();
        let (running, others): (Vec<_>, Vec<_>) = all.partition(|(_, it)| runs(it));
        let [running, others] = [running, others]
            .map(|all| all.into_iter().map(|(team, _)| team.name.as_str()).collect::<Vec<_>>());
        let Some(likely) = running.first().or(others.first()) else {
            return Err(troop_runtime::BoardError::NoActiveTeam.into());
        };
        let these = match (running.is_empty(), others.is_empty()) {
            (true, _) => format!("the newest are: {}", some_of(&others)),
            (false, true) => format!("these run: {}", some_of(&running)),
            (false, false) => {
                format!("these run: {}; others are: {}", some_of(&running), some_of(&others))
            }
        };
        Err(Usage::new(
            format!("more than one team fits; {these}"),
            format!("for example: `--team {likely}`"),
        )
        .into())
    }

    async fn candidate(&self, team: TeamId) -> Result<Candidate> {
        let is_here = self.is_at_home(team);
        Ok(Candidate { standing: self.standing_of(team).await?, is_here })
    }

    /// Tells a person which of several teams is meant, since nobody named it.
    fn tell_of(&self, team: &TeamSummary, why: &str, n_teams: usize) {
        if !self.is_for_programs {
            let name = render::clean(&team.name);
            let line = format!("team {name}, {why} (of {n_teams})");
            Printer::plain(false).error_line(&render::paint(render::DIM, &line));
        }
    }
}
