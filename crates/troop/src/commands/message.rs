//! `troop message …`

use anyhow::Result;
use troop_app::{
    story::shown_question,
    team::{TeamDesk, TeamHandle},
};
use troop_model::{Command, Fact, MessageKind, MessageView, Outgoing, Party, State};
use troop_protocol::{MessageList, Query};
use uuid::Uuid;

use super::given;
use crate::{cli::MessageCommand, output::Printer, render, report::CallerOptions};

pub(super) async fn run(
    command: MessageCommand,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    match command {
        MessageCommand::Send { to, content, summary, kind, request, approve, deny } => {
            let outgoing = Outgoing {
                summary,
                request_id: request,
                approve: (approve || deny).then_some(approve),
                ..Outgoing::new(to, kind, given(content)?)
            };
            send(Command::Send(outgoing), desk, printer).await
        }
        MessageCommand::Answer { member, answer, content, request } => {
            let said = content.map(given).transpose()?.unwrap_or_default();
            let need = desk.open_question(&member, request.as_deref()).await?;
            for command in need.commands(answer.into(), &said).unwrap_or_default() {
                if printer.json {
                    send(command, desk, printer).await?;
                } else {
                    desk.submit(command).await?;
                }
            }
            if printer.json {
                return Ok(());
            }
            let question = CallerOptions::typed().added_to(&shown_question(&need.text));
            printer.text(&format!("{} to {member}: {question}\n", answer.as_str()))
        }
        MessageCommand::Broadcast { content, summary } => {
            let outgoing = Outgoing {
                summary,
                ..Outgoing::new(troop_model::EVERYBODY, MessageKind::Broadcast, given(content)?)
            };
            send(Command::Send(outgoing), desk, printer).await
        }
        MessageCommand::Read { peek, all } => read(peek, all, desk, printer).await,
    }
}

/// Sends a message and shows it, or who has it.
async fn send(message: Command, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let done = desk.submit(message).await?;
    let sent = done.events.iter().find_map(|event| {
        let Fact::MessageSent { id, readers, .. } = &event.fact else { return None };
        Some((*id, readers.clone()))
    });
    let Some((id, readers)) = sent else { return printer.text("nothing changed\n") };
    if printer.json {
        let board = desk.team(None).await?;
        let value = board
            .look(move |state| {
                let message = state.mailbox().iter().rev().find(|message| message.id == id);
                serde_json::to_value(message.map(|message| MessageView::new(message, None)))
            })
            .await??;
        return printer.json(&value);
    }
    let names: Vec<_> = readers.iter().map(Party::as_str).collect();
    printer.text(&format!("stored for {}\n", names.join(", ")))
}

async fn read(peek: bool, all: bool, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let team = desk.handle().await?;
    let MessageList { messages } = team.query(Query::Messages { all }).await?;
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    // Messages are marked read after they are shown: one may be shown twice, but none is lost.
    if printer.json {
        printer.json(&MessageList { messages })?;
    } else {
        printer.text(&text(&team, ids.clone(), all).await?)?;
    }
    if !all && !peek && !ids.is_empty() {
        team.submit(Command::MarkRead { reader: None, messages: Some(ids) }).await?;
    }
    Ok(())
}

/// Messages for people, with the receipts of all readers if wanted.
async fn text(team: &TeamHandle, ids: Vec<Uuid>, with_receipts: bool) -> Result<String> {
    if ids.is_empty() {
        return Ok("no unread messages\n".to_owned());
    }
    let look = move |state: &State| {
        let meant = state.mailbox().iter().filter(|message| ids.contains(&message.id));
        meant.map(|message| render::message(message, with_receipts)).collect::<Vec<_>>()
    };
    Ok(team.look(look).await?.join("\n"))
}
