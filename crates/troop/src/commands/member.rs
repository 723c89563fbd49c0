//! `troop member …`

use anyhow::Result;
use serde_json::json;
use smol_str::SmolStr;
use troop_model::{Command, Fact, MemberName, Refusal};

use crate::{agents::Agents, cli::MemberCommand, desk::Desk, output::Printer, render};

pub(super) async fn run(command: MemberCommand, desk: &mut Desk, printer: &Printer) -> Result<()> {
    match command {
        MemberCommand::Add { member, expertise, model, mode } => {
            let mut new = Agents::read(&desk.surroundings).member(&member)?;
            if !expertise.is_empty() {
                new.expertise = expertise;
            }
            new.model = model.map(SmolStr::new).or(new.model);
            new.permissions = mode.map(|mode| mode.parse()).transpose().map_err(Refusal::from)?;
            let name = new.name.clone();
            desk.submit(Command::AddMember(new)).await?;
            confirm(desk, "added", &name, printer).await
        }
        MemberCommand::Remove { name, reason } => {
            let member: MemberName = name.parse().map_err(Refusal::from)?;
            let done =
                desk.submit(Command::RemoveMember { member: member.clone(), reason }).await?;
            let released = done
                .events
                .iter()
                .filter(|event| matches!(event.fact, Fact::TaskReleased { .. }))
                .count();
            if printer.json {
                return printer
                    .json(&json!({"name": member, "removed": true, "released_tasks": released}));
            }
            printer.text(&match released {
                0 => format!("removed {member}\n"),
                1 => format!("removed {member}; its task is back on the board\n"),
                n => format!("removed {member}; its {n} tasks are back on the board\n"),
            })
        }
        MemberCommand::Mode { name, mode } => {
            let member: MemberName = name.parse().map_err(Refusal::from)?;
            let permissions = mode.parse().map_err(Refusal::from)?;
            desk.submit(Command::SetMemberMode { member: member.clone(), permissions }).await?;
            confirm(desk, "changed", &member, printer).await
        }
        MemberCommand::List => list(desk, printer).await,
    }
}

async fn confirm(desk: &mut Desk, verb: &str, name: &MemberName, printer: &Printer) -> Result<()> {
    let board = desk.team(None).await?;
    let text = name.clone();
    let member = board.look(move |state| state.find_member(text.as_str()).cloned()).await??;
    if printer.json {
        return printer.json(&member);
    }
    printer.text(&format!("{verb} {} ({}, {})\n", member.name, member.agent, member.permissions))
}

async fn list(desk: &mut Desk, printer: &Printer) -> Result<()> {
    let board = desk.team(None).await?;
    let members = board.look(|state| state.members().cloned().collect::<Vec<_>>()).await?;
    if printer.json {
        return printer.json(&json!({ "members": members }));
    }
    let row = |member: &troop_model::Member| {
        vec![
            format!("{} {}", render::member_icon(member.state), member.name),
            member.role.to_string(),
            member.agent.to_string(),
            member.state.to_string(),
            member.permissions.to_string(),
            render::one_line(&member.expertise),
        ]
    };
    let rows: Vec<_> = members.iter().map(row).collect();
    let header = ["  NAME", "ROLE", "AGENT", "STATE", "MODE", "EXPERTISE"];
    printer.text(&render::table(&header, &rows, printer.width()))
}
