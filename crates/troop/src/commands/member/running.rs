//! `troop member spawn|stop|interrupt`: asks whoever leads the team to start, stop or interrupt a member.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tokio::time::timeout;
use troop_app::{agents::Agents, team::TeamDesk};
use troop_model::{
    AgentKind, Command, Fact, Member, MemberName, MemberState, MessageKind, NewMember, Outgoing,
    Permissions, Refusal, Spawn,
};
use troop_protocol::TeamStanding;
use troop_runtime::{BoardResult, Subscription};

use super::find;
use crate::{
    commands::given,
    output::Printer,
    render,
    report::{CallerOptions, Hint, HintCommand, Refused},
};

/// How long a member that starts is waited for.
const PATIENCE: Duration = Duration::from_secs(15);

pub(super) async fn spawn(
    text: &str,
    prompt: Option<String>,
    plan: bool,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let prompt = prompt.map(given).transpose()?;
    let known = find(desk, text.split('=').next().unwrap_or_default()).await.ok();
    let mut member = match &known {
        Some(known) if !text.contains('=') => again(known),
        Some(_) | None => Agents::read(&desk.surroundings).member(text)?,
    };
    if AgentKind::External.is(&member.agent) {
        let message = format!("`{}` is run by another program, not by troop", member.name);
        let add = HintCommand::troop("member add").word(format!(
            "{}={}",
            member.name,
            AgentKind::External.key()
        ));
        let hint = Hint::to("add it", add);
        return Err(Refused::new(message, hint).into());
    }
    member.permissions = plan.then_some(Permissions::Plan);
    let board = desk.team(None).await?;
    let mut news = board.subscribe(board.look(troop_model::State::version).await?);
    let name = member.name.clone();
    if plan && known.is_some() {
        let member = name.clone();
        let permissions = Permissions::Plan;
        desk.submit(Command::SetMemberMode { member, permissions }).await?;
    }
    desk.submit(Command::SpawnMember(Spawn { member, prompt })).await?;
    let Ok(started) = timeout(PATIENCE, started(&mut news, &name)).await else {
        let message = format!("{name} is not ready yet");
        let log = HintCommand::troop("log").word(name).word("--follow");
        let hint = Hint::to("see what it is doing", log);
        return Err(Refused::new(message, hint).into());
    };
    if let Err(reason) = started? {
        let hint = Hint::to("see what it said", HintCommand::troop("log").word(name));
        return Err(Refused::new(render::one_line(&reason), hint).into());
    }
    let member = find(desk, name.as_str()).await?;
    if printer.json {
        return printer.json(&member);
    }
    let process = member.pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
    printer.line(&format!("{name} is {} ({}{process})", member.state, member.agent))
}

fn again(member: &Member) -> NewMember {
    NewMember {
        name: member.name.clone(),
        agent: member.agent.clone(),
        expertise: member.expertise.clone(),
        model: member.model.clone(),
        permissions: None,
    }
}

/// Waits until a member runs, or why it does not.
#[expect(clippy::wildcard_enum_match_arm, reason = "the rest is not waited for")]
async fn started(news: &mut Subscription, name: &MemberName) -> BoardResult<Result<(), String>> {
    while let Some(event) = news.next().await? {
        match &event.fact {
            Fact::MemberStateChanged { member, state, reason, .. } if member == name => {
                let reason = || reason.clone().unwrap_or_else(|| state.to_string());
                match state {
                    MemberState::Spawning => {}
                    MemberState::Crashed | MemberState::Stopped => {
                        return Ok(Err(format!("{name} did not start: {}", reason())));
                    }
                    MemberState::Working
                    | MemberState::Idle
                    | MemberState::Planning
                    | MemberState::Stopping => return Ok(Ok(())),
                }
            }
            Fact::MemberRemoved { member, reason } if member == name => {
                return Ok(Err(reason.clone().unwrap_or_else(|| format!("{name} was removed"))));
            }
            _ => {}
        }
    }
    Ok(Err("the team is gone".to_owned()))
}

pub(super) async fn stop(
    name: &str,
    reason: String,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let member = at_work(name, desk).await?;
    let request = Outgoing::new(member.name.to_string(), MessageKind::ShutdownRequest, reason);
    desk.submit(Command::Send(request)).await?;
    said(&member.name, "asked to stop", printer)
}

/// A member that can be asked to do something now: it runs, and somebody who leads the team hears it. Whoever is run by another
/// program hears it when it looks.
async fn at_work(name: &str, desk: &mut TeamDesk) -> Result<Member> {
    let member = find(desk, name).await?;
    if AgentKind::External.is(&member.agent) {
        return Ok(member);
    }
    let board = desk.team(None).await?;
    let now = desk.roster(&board).await?.into_iter().find(|it| it.name == member.name);
    let state = now.map_or(member.state, |it| it.state);
    if !member.is_running() || state == MemberState::Crashed {
        return Err(Refusal::NotRunning { member: member.name, state }.into());
    }
    if desk.standing(&board).await? != TeamStanding::Running {
        return Err(Refusal::NobodyLeads.into());
    }
    Ok(member)
}

pub(super) async fn interrupt(
    name: &str,
    reason: Option<String>,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let member = at_work(name, desk).await?.name;
    desk.submit(Command::InterruptMember { member: member.clone(), reason }).await?;
    // One that hangs does not hear it.
    said(&member, "interrupted", printer)?;
    if printer.json {
        return Ok(());
    }
    let send = HintCommand::troop("message send").word(member).text("…");
    let hint = Hint::to("it continues with the next message", send);
    printer.line(&CallerOptions::typed().written(&hint))
}

fn said(member: &MemberName, what: &str, printer: &Printer) -> Result<()> {
    if printer.json {
        return printer.json(&json!({"name": member, "done": what}));
    }
    printer.line(&format!("{member} was {what}"))
}
