//! Where a command is carried out: a store, the team that the command is about, and who asks.

use std::{fmt, path::PathBuf, sync::Arc};

use smol_str::SmolStr;
use troop_model::{
    Actor, Command, Hint, HintCommand, HintOption, Member, MemberName, Origin, Refusal, State,
    TeamId, did_you_mean, nearest,
};
use troop_protocol::{Answer, TeamList, TeamStanding};
use troop_runtime::{
    Answers, Board, BoardError, Clock, CommandRequest, Following, LeadPresence, Signature,
    StoreSession, find_lead, list_teams,
};
use troop_store::{Missing, Store};

use super::{
    TeamHandle,
    choice::{self, Purpose, TeamCandidate},
    files::{self, FileSync},
    making::check_no_teammate,
};
use crate::{
    Error, Result,
    hint::some_of,
    surroundings::{
        OTHER_HOME, ReadableFiles, Starter, Surroundings, parse_store, readable_files,
        store_from_folder,
    },
};

/// How a desk is opened.
#[derive(Debug)]
pub struct DeskOptions {
    /// The surface that people use, as the log names it.
    pub channel: &'static str,
    pub following: Following,
    /// The handling of a missing store. The default store is made in any case.
    pub missing: Missing,
    pub when_off: WhenOff,
    /// Hears what the person should know.
    pub notices: NoticeSink,
}

/// The handling of teams that are switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenOff {
    Refuse,
    /// Open it anyway, for a surface that itself says that they are off.
    Open,
}

/// Warnings about how a team was found and its files were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeskNotice {
    /// Nobody named a team, and this one of several was chosen.
    TeamChosen { name: String, why: &'static str, n_teams: usize },
    /// The team's readable files could not be used.
    FilesUnchanged { reason: String },
    /// The board refused what somebody wrote into a file.
    FileRefused { path: String, reason: String },
}

/// Hears notices as they come.
#[derive(Clone)]
pub struct NoticeSink(Arc<dyn Fn(&DeskNotice) + Send + Sync>);

impl NoticeSink {
    pub fn new(tell: impl Fn(&DeskNotice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(super) fn tell(&self, notice: &DeskNotice) {
        (self.0)(notice);
    }
}

impl fmt::Debug for NoticeSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoticeSink")
    }
}

/// A store, the team that a command is about once it is found, and who asks.
#[derive(Debug)]
pub struct TeamDesk {
    pub surroundings: Surroundings,
    pub store: Arc<dyn Store>,
    pub session: StoreSession,
    pub clock: Clock,
    channel: &'static str,
    /// The team that was named, by a choice or a file.
    team: Option<String>,
    /// The member that acts, if not a person.
    member: Option<String>,
    /// The readable files of a `files:` store, until they are in step.
    readable: Option<ReadableFiles>,
    sync: Option<FileSync>,
    /// The handle on the team of this session, with its connection to the lead.
    handle: Option<Arc<TeamHandle>>,
    following: Following,
    notices: NoticeSink,
}

/// A lead whose process was stopped, by Ctrl-Z or a signal, and hears nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoppedLead {
    pub process: u32,
}

impl StoppedLead {
    /// The problem.
    #[must_use]
    pub fn says(self) -> String {
        format!("process {}, which leads it, was stopped (by Ctrl-Z, or a signal)", self.process)
    }

    /// Commands that help.
    #[must_use]
    pub fn ways_out(self) -> Hint {
        let kill = |signal: &str| HintCommand::other("kill").word(signal).word(self.process);
        Hint::to("let it continue", kill("-CONT"))
            .and(" (or `fg` in its terminal)")
            .or_to("end it", kill("-9"))
    }
}

impl TeamDesk {
    /// Opens the store. The embedded one is made if it is missing; another only if the options say so.
    pub async fn open(surroundings: Surroundings, options: DeskOptions) -> Result<Self> {
        let DeskOptions { channel, following, missing, when_off, notices } = options;
        if when_off == WhenOff::Refuse {
            surroundings.teams.check_on()?;
        }
        let starter = Starter::find(std::process::id())?;
        starter.iter().try_for_each(|starter| starter.check(&surroundings.choices))?;
        let (member, own_team) = starter.map(|it| (it.member, it.team)).unzip();
        let member = member.or(surroundings.choices.acting.clone());
        if missing == Missing::Make {
            // Not even the store is made for somebody who may not make a team.
            check_no_teammate(member.as_deref(), &surroundings.environment)?;
        }
        let url = surroundings.store_url();
        let is_default = surroundings.is_default_store();
        if is_default {
            std::fs::create_dir_all(&surroundings.home).map_err(|source| {
                let home = surroundings.home.display();
                let message = format!("troop cannot keep its files in `{home}`: {source}");
                Error::refused(message, OTHER_HOME)
            })?;
        }
        let readable = readable_files(&url)?;
        let url = parse_store(&url)?;
        let missing = if is_default { Missing::Make } else { missing };
        let store = troop_store::open(&url, missing).await?;
        let clock = Clock::system();
        let session = StoreSession::new(Arc::clone(&store), clock.clone(), following);
        let chosen = surroundings.choices.team.clone();
        let team = chosen.or(own_team).or(surroundings.configured.team.clone());
        Ok(Self {
            surroundings,
            store,
            session,
            clock,
            channel,
            team,
            member,
            readable,
            sync: None,
            handle: None,
            following,
            notices,
        })
    }

    /// The folder of what belongs to a team besides its log.
    #[must_use]
    pub fn folder(&self, team: TeamId) -> PathBuf {
        self.folders().join(team.to_string())
    }

    pub(super) fn folders(&self) -> PathBuf {
        self.surroundings.home.join("teams")
    }

    /// The handle on the team that the command is about.
    pub async fn handle(&mut self) -> Result<Arc<TeamHandle>> {
        let board = self.team(None).await?;
        if let Some(handle) = self.handle.as_ref().filter(|it| it.id() == board.team()) {
            return Ok(Arc::clone(handle));
        }
        let asker = self.signature()?.asker;
        let folder = self.folder(board.team());
        let handle = Arc::new(TeamHandle::new(board, &folder, self.clock.clone(), asker));
        self.handle = Some(Arc::clone(&handle));
        Ok(handle)
    }

    /// Closes the team of this session; the team itself goes on.
    pub(super) async fn close_team(&mut self) {
        self.handle = None;
        self.session.close().await;
    }

    /// Opens the team that the command is about: by name, or the most likely one here.
    pub async fn team(&mut self, name: Option<&str>) -> Result<Board> {
        self.team_for(Purpose::Use, name).await
    }

    /// Opens the team for a given purpose.
    pub async fn team_for(&mut self, purpose: Purpose, name: Option<&str>) -> Result<Board> {
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

    /// Takes in what others wrote into the team's readable files. A command that runs for long keeps them in step meanwhile.
    pub async fn catch_up(&mut self, board: &Board) -> Result<()> {
        if let Some(readable) = self.readable.take() {
            let folder = self.folder(board.team());
            let sync =
                Box::pin(files::catch_up(&readable, board, &self.clock, folder, &self.notices))
                    .await?;
            self.sync = sync.map(|sync| match self.following {
                Following::Always => sync.keep(),
                Following::WhenAsked => sync,
            });
        }
        Ok(())
    }

    /// Refuses to act as a member that the team does not have, even if the command changes nothing.
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
        Err(Error::forbidden(Refusal::NotAMember { name }.to_string(), hint))
    }

    pub(super) fn notices(&self) -> &NoticeSink {
        &self.notices
    }

    /// Answers queries about a team, as the lead's socket does.
    #[must_use]
    pub fn answers(&self, board: &Board) -> Answers {
        Answers::new(board.clone(), &self.folder(board.team()))
    }

    /// The teams of the store. Deleted ones only if all are wanted.
    pub async fn teams(&self, all: bool) -> Result<TeamList> {
        Ok(list_teams(&self.store, &self.clock, &self.folders(), all).await?)
    }

    /// The members of a team as they are now, even if its lead was killed.
    pub async fn roster(&self, board: &Board) -> Result<Vec<Member>> {
        Ok(self.answers(board).members().await?.members)
    }

    /// Whether a process on this machine leads a team.
    #[must_use]
    pub(crate) fn is_led(&self, team: TeamId) -> bool {
        find_lead(&self.folder(team)).is_some()
    }

    /// The process that leads a team from this machine, if it was stopped and hears nothing.
    #[must_use]
    pub fn stopped_lead(&self, team: TeamId) -> Option<StoppedLead> {
        self.presence(team).stopped_process().map(|process| StoppedLead { process })
    }

    /// The status of a team, in one word.
    pub async fn standing(&self, board: &Board) -> Result<TeamStanding> {
        Ok(self.answers(board).standing().await?)
    }

    fn presence(&self, team: TeamId) -> LeadPresence {
        LeadPresence::read(&self.folder(team))
    }

    /// The standing of a team that is not this session's.
    pub async fn standing_of(&self, team: TeamId) -> Result<TeamStanding> {
        let board = self.other(team).await?;
        let standing = self.standing(&board).await;
        board.close().await;
        standing
    }

    /// The lead of a team that is not this session's, or the last lead, if it never recorded that it stopped.
    pub async fn holder_of(&self, team: TeamId) -> Result<Option<String>> {
        let board = self.other(team).await?;
        let look = |state: &State| Some(state.team()?.lead_lease.as_ref()?.holder.clone());
        let holder = board.look(look).await;
        board.close().await;
        Ok(holder?)
    }

    async fn other(&self, team: TeamId) -> Result<Board> {
        let store = Arc::clone(&self.store);
        Ok(Board::open(store, self.clock.clone(), Following::WhenAsked, team).await?)
    }

    /// Where troop keeps its files, if that was chosen for this command.
    #[must_use]
    pub fn other_home(&self) -> Option<PathBuf> {
        let home = self.surroundings.choices.home.as_ref();
        home.map(|home| self.surroundings.environment.folder().join(home))
    }

    /// The URL of the store unless it is the default one. It means the same in every folder.
    #[must_use]
    pub fn other_store(&self) -> Option<String> {
        let folder = self.surroundings.environment.folder();
        let chosen = self.surroundings.choices.store.as_ref();
        let chosen = chosen.map(|store| store_from_folder(store, folder));
        chosen.or_else(|| self.surroundings.configured.store.clone())
    }

    /// The team, if it was named for this command.
    #[must_use]
    pub fn chosen_team(&self) -> Option<&str> {
        self.surroundings.choices.team.as_deref()
    }

    /// The member that acts, as it was named. None if a person acts.
    pub(super) fn acting(&self) -> Option<&str> {
        self.member.as_deref()
    }

    /// The actor.
    pub fn actor(&self) -> Result<Actor> {
        match &self.member {
            Some(member) => {
                let is_lead = troop_model::LEAD_ALIASES.contains(&member.as_str());
                let name = if is_lead { Ok(MemberName::lead()) } else { member.parse() };
                let name = name.map_err(Refusal::from)?;
                Ok(Actor::agent(&name))
            }
            None => Ok(Actor::human(&self.surroundings.user)),
        }
    }

    /// The actor and its origin. A member's commands have no origin; a person's come from this surface.
    pub fn signature(&self) -> Result<Signature> {
        let mut signature = Signature::new(self.actor()?);
        if self.member.is_none() {
            signature.asker.origin = Origin {
                user_id: Some(SmolStr::new(&self.surroundings.user)),
                channel: Some(SmolStr::new_static(self.channel)),
                ..Origin::default()
            };
        }
        Ok(signature)
    }

    /// A command, signed by the actor.
    pub fn request(&self, command: Command) -> Result<CommandRequest> {
        Ok(self.signature()?.on(command))
    }

    /// Gives a command to the team. The answer has the task as the command left it.
    pub async fn submit(&mut self, command: Command) -> Result<Answer> {
        self.handle().await?.submit(command).await
    }

    /// Brings the readable files up to date and closes the team.
    pub async fn close(mut self) {
        if let Ok(board) = self.session.team().cloned() {
            // A new team has no files yet. A fault in its log was reported already.
            drop(self.catch_up(&board).await);
        }
        if let Some(sync) = self.sync.take() {
            sync.finish().await;
        }
        self.close_team().await;
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
            let name = team.name.clone();
            self.notices.tell(&DeskNotice::TeamChosen { name, why, n_teams: teams.len() });
            return Ok(team.id);
        }
        let runs = |it: &TeamCandidate| it.standing == TeamStanding::Running;
        let all = teams.iter().zip(&candidates).rev();
        let (running, others): (Vec<_>, Vec<_>) = all.partition(|(_, it)| runs(it));
        let [running, others] = [running, others]
            .map(|all| all.into_iter().map(|(team, _)| team.name.as_str()).collect::<Vec<_>>());
        let Some(likely) = running.first().or(others.first()) else {
            return Err(BoardError::NoActiveTeam.into());
        };
        let these = match (running.is_empty(), others.is_empty()) {
            (true, _) => format!("the newest are: {}", some_of(&others)),
            (false, true) => format!("these run: {}", some_of(&running)),
            (false, false) => {
                format!("these run: {}; others are: {}", some_of(&running), some_of(&others))
            }
        };
        Err(Error::misuse(
            format!("more than one team fits; {these}"),
            Hint::from("for example: ").and_option(HintOption::new("team", likely)),
        ))
    }

    async fn candidate(&self, team: TeamId) -> Result<TeamCandidate> {
        let is_here = self.is_at_home(team);
        Ok(TeamCandidate { standing: self.standing_of(team).await?, is_here })
    }
}
