//! `troop member link`

use anyhow::Result;
use serde_json::json;
use smol_str::SmolStr;
use troop_app::team::TeamDesk;
use troop_model::{Command, Link, MemberName, Refusal};

use crate::{
    cli::LinkArgs,
    output::Printer,
    render,
    report::{Error, Hint, HintCommand},
};

/// Shows or changes the lead's link to a member.
pub(super) async fn run(args: LinkArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let to: MemberName = args.name.parse().map_err(Refusal::from)?;
    let board = desk.team(None).await?;
    let wanted = to.clone();
    let (lead, link, known) = board
        .look(move |state| {
            let lead = state.lead().map(|lead| lead.name.clone());
            let link = state.links().find(|it| it.to == wanted).cloned();
            (lead, link, state.find_member(wanted.as_str()).map(drop))
        })
        .await?;
    let from = lead.ok_or(Refusal::NoTeam)?;
    if link.is_none() {
        known?;
    }
    if from == to {
        let message = format!("`{to}` leads the team and cannot delegate to itself");
        let hint = Hint::to("see the members", HintCommand::troop("member list"));
        return Err(Error::refused(message, hint).into());
    }
    if args.purge {
        desk.submit(Command::PurgeLink { from, to: to.clone() }).await?;
        return if printer.json {
            printer.json(&json!({"to": to, "purged": true}))
        } else {
            printer.text(&format!("purged the link to {to}\n"))
        };
    }
    let is_change = args.is_change();
    let link = match link {
        Some(link) => link,
        None if is_change => Link {
            from,
            to: to.clone(),
            team: None,
            enabled: true,
            max_concurrent: 3,
            user_allow: Vec::new(),
            user_deny: Vec::new(),
        },
        None => return Err(Refusal::NoLink { from, to }.into()),
    };
    let link = if is_change { changed(link, args) } else { link };
    if is_change {
        desk.submit(Command::SetLink(link.clone())).await?;
    }
    if printer.json { printer.json(&link) } else { printer.text(&shown(&link)) }
}

fn changed(link: Link, args: LinkArgs) -> Link {
    let users = |given: Option<Vec<String>>, before: Vec<SmolStr>| match given {
        Some(users) => users.iter().filter(|it| !it.is_empty()).map(SmolStr::new).collect(),
        None => before,
    };
    Link {
        enabled: args.enable || (link.enabled && !args.disable),
        max_concurrent: args.max.unwrap_or(link.max_concurrent),
        user_allow: users(args.allow, link.user_allow),
        user_deny: users(args.deny, link.user_deny),
        ..link
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
