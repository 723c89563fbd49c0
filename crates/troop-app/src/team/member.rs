//! Board calls in the name of one member, for clients that act as it: the tools of an MCP server.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::{sync::watch, time::Instant};
use troop_model::{
    Actor, ActorKind, Asker, Command, Conversation, Dialect, EXTERNAL, Hint, HintCommand,
    HintOption, LEAD_ALIASES, MemberName, Message, NewMember, NewTeamCommand, Origin, Party,
    Permissions, Refusal, Role, Settings, State, TeamId, TeamName, TeamStatus, USER, lock,
};
use troop_protocol::{Call, Calls, Change, Failure, FailureKind, Gate, Query, Seat};
use troop_runtime::{Board, BoardError, Clock, Following, Signature, StoreSession};
use troop_store::Store;
use uuid::Uuid;

use super::{
    NoticeSink, TeamDesk, TeamHandle,
    files::{self, FileSync},
    hold,
    making::{TeamPlace, create_team},
};
use crate::{
    Error,
    surroundings::{ReadableFiles, TeamDefaults, readable_files},
};

/// How long the client of a lead may do nothing before it gets mail of another conversation, though it has told the user nothing.
const AT_IT: Duration = Duration::from_secs(60);

/// One member's way to its team.
#[derive(Debug)]
pub struct MemberCaller {
    options: MemberOptions,
    /// None before the member made the first one. Another one after the team was deleted and a new one made.
    team: watch::Sender<Option<Arc<TeamHandle>>>,
    /// Keeps the files of a team in step that this member made.
    made: Mutex<Option<FileSync>>,
    conversation: Mutex<ClientConversation>,
}

/// The conversation in which the lead's client acts: that of the mail that it was handed last.
#[derive(Debug, Default)]
struct ClientConversation {
    conversation: Conversation,
    /// When it last did something in it, until it has told the user something.
    acted_at: Option<Instant>,
}

/// The caller and its surroundings.
#[derive(Debug)]
struct MemberOptions {
    member: MemberName,
    dialect: Dialect,
    gate: Gate,
    asker: Asker,
    store: Arc<dyn Store>,
    clock: Clock,
    place: TeamPlace,
    defaults: TeamDefaults,
    /// Where a `files:` store has readable files.
    readable: Option<ReadableFiles>,
    notices: NoticeSink,
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
        dialect: Option<Dialect>,
    ) -> crate::Result<MemberCaller> {
        let board = self.team(None).await?;
        let own = board.look(|state| state.team()?.settings.dialect).await?;
        // A person may choose another for a client that knows only that one.
        let options = self.member_options(member, dialect.or(own).unwrap_or_default())?;
        let team = Some(Arc::new(options.handle(board)));
        Ok(MemberCaller::new(options, team))
    }

    /// Whether the lead acts and there is no team yet.
    pub async fn lacks_team(&mut self) -> crate::Result<bool> {
        let is_lead = self.acting().is_some_and(|member| LEAD_ALIASES.contains(&member));
        if !is_lead || self.chosen_team().is_some() {
            return Ok(false);
        }
        match self.team(None).await {
            Ok(_) => Ok(false),
            Err(Error::Board(BoardError::NoActiveTeam)) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The calls of a lead that has no team, and makes one with a tool.
    pub fn caller_without_team(&mut self, dialect: Option<Dialect>) -> crate::Result<MemberCaller> {
        self.check_may_lead()?;
        if dialect == Some(Dialect::Board) {
            let message = "there is no team, and the dialect `board` has no tool that creates one";
            let create = HintCommand::troop("team create").text("NAME");
            let claude = HintOption::new("dialect", "claude");
            let hint = Hint::to("create one", create).and(", or use ").and_option(claude);
            return Err(Error::misuse(message, hint));
        }
        let options = self.member_options(MemberName::lead(), Dialect::Claude)?;
        Ok(MemberCaller::new(options, None))
    }

    fn member_options(&self, member: MemberName, dialect: Dialect) -> crate::Result<MemberOptions> {
        let gate = match &self.surroundings.teams.off {
            Some(off) => Gate::Closed { by: off.by.clone() },
            None => Gate::Open,
        };
        let asker = Asker { actor: Actor::agent(&member), origin: self.signature()?.asker.origin };
        Ok(MemberOptions {
            member,
            dialect,
            gate,
            asker,
            store: Arc::clone(&self.store),
            clock: self.clock.clone(),
            place: self.place(),
            defaults: self.surroundings.teams.clone(),
            readable: readable_files(&self.surroundings.store_url())?,
            notices: self.notices().clone(),
        })
    }
}

impl MemberCaller {
    fn new(options: MemberOptions, team: Option<Arc<TeamHandle>>) -> Self {
        let team = watch::Sender::new(team);
        Self { options, team, made: Mutex::default(), conversation: Mutex::default() }
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
    pub(super) fn teams(&self) -> watch::Receiver<Option<Arc<TeamHandle>>> {
        self.team.subscribe()
    }

    /// Whether the member has made no team yet.
    #[must_use]
    pub fn is_without_team(&self) -> bool {
        self.team.borrow().is_none()
    }

    /// Asks a question and reads the answer.
    pub async fn query<T: DeserializeOwned>(&self, query: Query) -> Result<T, Failure> {
        self.team()?.query(query).await
    }

    pub(super) async fn change(&self, command: Command) -> Result<(), Failure> {
        self.call(Call::Change(Box::new(Change { command, operation: None }))).await.map(drop)
    }

    fn team(&self) -> Result<Arc<TeamHandle>, Failure> {
        let team = self.team.borrow().clone();
        team.ok_or_else(|| Failure::from(&Refusal::NoTeam))
    }

    /// The member's place in the team as it is now, with everything that was acknowledged to anybody. The member is alive, so
    /// this also renews what it holds.
    pub async fn seat(&self) -> Result<Seat, Failure> {
        let Ok(team) = self.team() else { return Ok(self.seat_without_team()) };
        team.board().catch_up().await?;
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
        let (member, settings, due) = team.look(look).await??;
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

impl MemberCaller {
    /// The place of a lead that can only make a team.
    fn seat_without_team(&self) -> Seat {
        let MemberOptions { member, dialect, gate, defaults, .. } = &self.options;
        Seat {
            member: member.clone(),
            role: Role::Lead,
            dialect: *dialect,
            status: TeamStatus::Deleted,
            settings: defaults.settings(Some(*dialect)),
            permissions: Permissions::Default,
            gate: gate.clone(),
        }
    }
}

/// The lead's conversation.
impl MemberCaller {
    /// If mail is handed to the lead's client, it acts in the conversation of that mail from now on.
    async fn turn_to(&self, team: &TeamHandle, command: &Command) -> Result<(), Failure> {
        let (Command::MarkDelivered { messages, .. }
        | Command::MarkRead { messages: Some(messages), .. }) = command
        else {
            return Ok(());
        };
        let member = self.options.member.clone();
        let meant = messages.clone();
        let look = move |state: &State| {
            let is_lead = state.lead().is_some_and(|lead| lead.name == member);
            let party = Party::member(&member);
            let unread = state.mailbox().unread_of(&party);
            let handed = unread.filter(|it| is_lead && meant.contains(&it.id));
            handed.cloned().collect::<Vec<_>>()
        };
        let handed = team.look(look).await?;
        let mut at = lock(&self.conversation);
        for mark in handed.iter().map(Message::mark) {
            if mark.has_conversation() && at.conversation.origin() != Some(mark.origin) {
                at.acted_at = Some(Instant::now());
            }
            at.conversation.turn_to(&mark);
        }
        Ok(())
    }

    /// The conversation that the client is still dealing with: mail of others would turn it away in the middle. It ends when the
    /// client tells the user something, or does nothing for a while.
    pub(super) fn conversation_at_hand(&self) -> Option<Origin> {
        let at = lock(&self.conversation);
        let is_at_it = at.acted_at.is_some_and(|acted| acted.elapsed() < AT_IT);
        at.conversation.origin().filter(|_| is_at_it).cloned()
    }

    /// Puts a change into the conversation that the client acts in.
    fn place(&self, team: &TeamHandle, command: &mut Command) {
        let mut asker = self.options.asker.clone();
        let mut at = lock(&self.conversation);
        at.conversation.place(&mut asker, command);
        team.act_in(&asker.origin);
        let tells_user = matches!(command, Command::Send(outgoing) if outgoing.to == USER);
        let is_receipt =
            matches!(command, Command::MarkRead { .. } | Command::MarkDelivered { .. });
        if tells_user {
            at.acted_at = None;
        } else if !is_receipt && at.acted_at.is_some() {
            at.acted_at = Some(Instant::now());
        }
    }
}

/// The files of a team that this member made.
impl MemberCaller {
    /// Writes the files of a new team, and keeps them in step from now on.
    async fn keep_files(&self, board: &Board) -> Result<(), Failure> {
        let MemberOptions { readable, clock, place, notices, .. } = &self.options;
        let Some(readable) = readable else { return Ok(()) };
        let folder = place.teams.join(board.team().to_string());
        let sync = Box::pin(files::catch_up(readable, board, clock, folder, notices)).await;
        let sync = sync.map_err(|error| Failure::new(FailureKind::Unavailable, &error))?;
        let before = std::mem::replace(&mut *lock(&self.made), sync.map(FileSync::keep));
        if let Some(before) = before {
            before.finish().await;
        }
        Ok(())
    }

    /// Brings the files of a team that this member made up to date.
    pub async fn close(&self) {
        let sync = lock(&self.made).take();
        if let Some(sync) = sync {
            sync.finish().await;
        }
    }
}

impl MemberOptions {
    fn handle(&self, board: Board) -> TeamHandle {
        let folder = self.place.teams.join(board.team().to_string());
        TeamHandle::new(board, &folder, self.clock.clone(), self.asker.clone())
    }
}

impl Calls for MemberCaller {
    async fn call(&self, mut call: Call) -> Result<Box<RawValue>, Failure> {
        if self.is_without_team() && matches!(call, Call::Query(Query::Team {})) {
            return Ok(RawValue::NULL.to_owned());
        }
        let team = self.team()?;
        if let Call::Change(change) = &mut call {
            self.turn_to(&team, &change.command).await?;
            self.place(&team, &mut change.command);
        }
        team.call(call).await
    }

    async fn make_team(&self, name: TeamName, description: String) -> Result<(), Failure> {
        let before = match self.team() {
            Ok(team) => team.look(|state| state.lead().map(|lead| lead.agent.clone())).await?,
            Err(_) => None,
        };
        let agent = before.unwrap_or_else(|| EXTERNAL.into());
        let MemberOptions { member, dialect, asker, store, clock, place, defaults, .. } =
            &self.options;
        let lead = NewMember::new(member.clone(), agent);
        let settings = defaults.settings(Some(*dialect));
        let team = TeamId(Uuid::now_v7());
        let goal = String::new();
        let members = Vec::new();
        let new = NewTeamCommand { team, name, description, goal, settings, lead, members };
        let signature = Signature::new(asker.actor.clone());
        let mut made = StoreSession::new(Arc::clone(store), clock.clone(), Following::Always);
        let board = create_team(&mut made, place, &signature, new).await?;
        self.keep_files(&board).await?;
        self.team.send_replace(Some(Arc::new(self.options.handle(board))));
        Ok(())
    }
}
