//! `troop member link`

use anyhow::Result;
use serde_json::json;
use smol_str::SmolStr;
use troop_app::team::TeamDesk;
use troop_model::{Command, Link, MemberName, Refusal, State};

use crate::{cli::LinkArgs, output::Printer, render};

/// Shows or changes the lead's link to a member.
pub(super) async fn run(args: LinkArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let to: MemberName = args.name.parse().map_err(Refusal::from)?;
    let board = desk.team(None).await?;
    let lead = board.look(|state| state.lead().map(|lead| lead.name.clone())).await?;
    let from = lead.ok_or(Refusal::NoTeam)?;
    if args.purge {
        desk.submit(Command::PurgeLink { from, to: to.clone() }).await?;
        return if printer.json {
            printer.json(&json!({"to": to, "purged": true}))
        } else {
            printer.text(&format!("purged the link to {to}\n"))
        };
    }
    let change = args.change(from.clone(), to.clone());
    if !change.is_empty() {
        desk.submit(Command::SetLink(change)).await?;
    }
    let link = board.look(move |state| link(state, from, to)).await??;
    if printer.json { printer.json(&link) } else { printer.text(&shown(&link)) }
}

fn link(state: &State, from: MemberName, to: MemberName) -> Result<Link, Refusal> {
    match state.links().find(|it| it.from == from && it.to == to) {
        Some(link) => Ok(link.clone()),
        // A link outlives its member.
        None => match state.find_member(to.as_str()) {
            Ok(_) if from == to => Err(Refusal::SelfLink { member: to }),
            Ok(_) => Err(Refusal::NoLink { from, to }),
            Err(unknown) => Err(unknown),
        },
    }
}

fn shown(link: &Link) -> String {
    let state = if link.enabled { "enabled" } else { "disabled" };
    let users = |what: &str, users: &[SmolStr]| match users {
        [] => String::new(),
        users => format!(", {what} {}", render::one_line(&users.join(", "))),
    };
    format!(
        "{} → {}: {state}, at most {} at once{}{}\n",
        link.from,
        link.to,
        link.max_concurrent,
        users("only for", &link.user_allow),
        users("not for", &link.user_deny)
    )
}
