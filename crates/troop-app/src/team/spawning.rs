//! Asks the lead to start, stop or interrupt a member.

use std::time::Duration;

use tokio::time::timeout;
use troop_model::{
    AgentKind, Command, Fact, Hint, HintCommand, Member, MemberName, MemberState, MessageKind,
    NewMember, Outgoing, Permissions, Refusal, Role, Spawn, State,
};
use troop_protocol::TeamStanding;
use troop_runtime::{BoardResult, Subscription};

use super::TeamDesk;
use crate::{Error, Result, agents::Agents, text::one_line};

/// How long we wait for a member that starts.
const PATIENCE: Duration = Duration::from_secs(15);

/// A member to start.
#[derive(Clone, Debug)]
pub struct SpawnOrder {
    /// `NAME=AGENT`, or the name of a member that has run before.
    pub member: String,
    pub prompt: Option<String>,
    /// The member's permissions, if they were chosen.
    pub permissions: Option<Permissions>,
}

impl TeamDesk {
    /// A member of the team, by its name.
    pub async fn member(&mut self, name: &str) -> Result<Member> {
        let board = self.team(None).await?;
        let name = name.to_owned();
        Ok(board.look(move |state| state.find_member(&name).cloned()).await??)
    }

    /// Starts a member, and waits until it is ready.
    pub async fn spawn(&mut self, order: SpawnOrder) -> Result<Member> {
        let SpawnOrder { member: text, prompt, permissions } = order;
        let known = self.member(text.split('=').next().unwrap_or_default()).await.ok();
        let member = match &known {
            Some(known) if !text.contains('=') => NewMember::again(known),
            Some(_) | None => Agents::read(&self.surroundings).member(&text)?,
        };
        let name = member.name.clone();
        if AgentKind::External.is(&member.agent) {
            let message = format!("`{name}` is run by another program, not by troop");
            let external = format!("{name}={}", AgentKind::External.key());
            let add = HintCommand::troop("member add").word(external);
            return Err(Error::refused(message, Hint::to("add it", add)));
        }
        let board = self.team(None).await?;
        let mut news = board.subscribe(board.look(State::version).await?);
        if let Some(permissions) = permissions.filter(|_| known.is_some()) {
            let member = name.clone();
            self.submit(Command::SetMemberMode { member, permissions }).await?;
        }
        let member = NewMember { permissions, ..member };
        self.submit(Command::SpawnMember(Spawn { member, prompt })).await?;
        let log = HintCommand::troop("log").word(&name);
        let Ok(started) = timeout(PATIENCE, started(&mut news, &name)).await else {
            let hint = Hint::to("see what it is doing", log.word("--follow"));
            return Err(Error::refused(format!("{name} is not ready yet"), hint));
        };
        if let Err(reason) = started? {
            return Err(Error::refused(one_line(&reason), Hint::to("see what it said", log)));
        }
        self.member(name.as_str()).await
    }

    /// Asks a member to stop.
    pub async fn ask_to_stop(&mut self, name: &str, reason: String) -> Result<MemberName> {
        let member = self.member_at_work(name).await?;
        let request = Outgoing::new(member.to_string(), MessageKind::ShutdownRequest, reason);
        self.submit(Command::Send(request)).await?;
        Ok(member)
    }

    /// Interrupts what a member does.
    pub async fn interrupt(&mut self, name: &str, reason: Option<String>) -> Result<MemberName> {
        let member = self.member_at_work(name).await?;
        self.submit(Command::InterruptMember { member: member.clone(), reason }).await?;
        Ok(member)
    }

    /// A member that can be asked to do something now: it runs, and a lead passes the request on. A member that another
    /// program runs reads it the next time it looks.
    async fn member_at_work(&mut self, name: &str) -> Result<MemberName> {
        let member = self.member(name).await?;
        if AgentKind::External.is(&member.agent) {
            return Ok(member.name);
        }
        let board = self.team(None).await?;
        let now = self.roster(&board).await?.into_iter().find(|it| it.name == member.name);
        let state = now.map_or(member.state, |it| it.state);
        let is_led = self.standing(&board).await? == TeamStanding::Running;
        if !member.is_running() || state == MemberState::Crashed {
            let refusal = Refusal::NotRunning { member: member.name.clone(), state };
            if member.role == Role::Member {
                return Err(refusal.into());
            }
            // A lead is started with its team, and not by itself.
            if is_led {
                let again = Hint::to("stop the team", HintCommand::troop("stop"));
                let again = again.then_to("start it again", HintCommand::troop("resume"));
                return Err(Error::refused(refusal.to_string(), again));
            }
        }
        if !is_led {
            return Err(Refusal::NobodyLeads.into());
        }
        Ok(member.name)
    }
}

/// Waits until a member runs; the error is why it does not.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is about a member's start")]
async fn started(news: &mut Subscription, name: &MemberName) -> BoardResult<Result<(), String>> {
    while let Some(event) = news.next().await? {
        match &event.fact {
            Fact::MemberStateChanged { member, state, reason, .. } if member == name => match state
            {
                MemberState::Spawning => {}
                MemberState::Crashed | MemberState::Stopped => {
                    let reason = reason.clone().unwrap_or_else(|| state.to_string());
                    return Ok(Err(format!("{name} did not start: {reason}")));
                }
                MemberState::Working
                | MemberState::Idle
                | MemberState::Planning
                | MemberState::Stopping => return Ok(Ok(())),
            },
            Fact::MemberRemoved { member, reason } if member == name => {
                return Ok(Err(reason.clone().unwrap_or_else(|| format!("{name} was removed"))));
            }
            _ => {}
        }
    }
    Ok(Err("the team is gone".to_owned()))
}
