//! `troop member …`

mod link;
mod running;

use anyhow::Result;
use serde_json::json;
use smol_str::SmolStr;
use troop_app::{agents::Agents, team::TeamDesk};
use troop_model::{Command, Fact, Member, MemberName, Refusal, Time};

use crate::{cli::MemberCommand, output::Printer, render};

pub(super) async fn run(
    command: MemberCommand,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    match command {
        MemberCommand::Add { member, expertise, model, mode } => {
            let mut new = Agents::read(&desk.surroundings).member(&member)?;
            if !expertise.is_empty() {
                new.expertise = expertise;
            }
            new.model = model.map(SmolStr::new).or(new.model);
            new.permissions = mode;
            let name = new.name.clone();
            desk.submit(Command::AddMember(new)).await?;
            confirm(desk, "added", &name, printer).await
        }
        MemberCommand::Remove { name, reason } => remove(&name, reason, desk, printer).await,
        MemberCommand::Mode { name, mode } => {
            let member: MemberName = name.parse().map_err(Refusal::from)?;
            desk.submit(Command::SetMemberMode { member: member.clone(), permissions: mode })
                .await?;
            confirm(desk, "changed", &member, printer).await
        }
        MemberCommand::Link(args) => link::run(args, desk, printer).await,
        MemberCommand::List => list(desk, printer).await,
        MemberCommand::Spawn { member, prompt, plan } => {
            running::spawn(member, prompt, plan, desk, printer).await
        }
        MemberCommand::Stop { name, reason } => running::stop(&name, reason, desk, printer).await,
        MemberCommand::Interrupt { name, reason } => {
            running::interrupt(&name, reason, desk, printer).await
        }
    }
}

async fn remove(
    name: &str,
    reason: Option<String>,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let member: MemberName = name.parse().map_err(Refusal::from)?;
    let done = desk.submit(Command::RemoveMember { member: member.clone(), reason }).await?;
    let is_release = |fact: &Fact| matches!(fact, Fact::TaskReleased { .. });
    let released = done.events.iter().filter(|event| is_release(&event.fact)).count();
    if printer.json {
        return printer.json(&json!({"name": member, "removed": true, "released_tasks": released}));
    }
    printer.text(&match released {
        0 => format!("removed {member}\n"),
        1 => format!("removed {member}; its task is back on the board\n"),
        n => format!("removed {member}; its {n} tasks are back on the board\n"),
    })
}

async fn confirm(
    desk: &mut TeamDesk,
    verb: &str,
    name: &MemberName,
    printer: &Printer,
) -> Result<()> {
    let member = desk.member(name.as_str()).await?;
    if printer.json {
        return printer.json(&member);
    }
    printer.text(&format!("{verb} {} ({}, {})\n", member.name, member.agent, member.permissions))
}

async fn list(desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team(None).await?;
    let members = desk.roster(&board).await?;
    if printer.json {
        return printer.json(&json!({ "members": members }));
    }
    let now = desk.clock.now();
    let agents = Agents::read(&desk.surroundings);
    let rows: Vec<_> = members.iter().map(|member| row(member, &agents, now)).collect();
    let header = ["  NAME", "ROLE", "AGENT", "STATE", "SINCE", "PROCESS", "MODE", "USED", "ABOUT"];
    printer.text(&render::table(&header, &rows, printer.width()))
}

fn row(member: &Member, agents: &Agents, now: Time) -> Vec<String> {
    let reason = member.state_reason.as_deref().map(render::one_line);
    let expertise = match member.expertise.as_str() {
        "" => agents.description(&member.agent),
        said => said,
    };
    let expertise = render::one_line(expertise);
    let about: Vec<_> =
        reason.into_iter().chain(Some(expertise)).filter(|it| !it.is_empty()).collect();
    vec![
        format!("{} {}", render::member_icon(member.state), member.name),
        member.role.to_string(),
        member.agent.to_string(),
        member.state.to_string(),
        render::span(now.since(member.state_since)),
        member.pid.map(|pid| pid.to_string()).unwrap_or_default(),
        member.permissions.to_string(),
        render::used(&member.usage),
        about.join("; "),
    ]
}
