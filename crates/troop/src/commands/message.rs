//! `troop message …`

use anyhow::Result;
use serde_json::{Value, json};
use troop_app::{story::shown_question, team::TeamDesk};
use troop_model::{
    Actor, ActorKind, Command, Fact, Message, MessageKind, MessageView, Outgoing, Party, Refusal,
    Role, State,
};

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
            send(outgoing, desk, printer).await
        }
        MessageCommand::Answer { member, answer, content, request } => {
            let said = content.map(given).transpose()?.unwrap_or_default();
            let question = desk.open_question(&member, request.as_deref()).await?;
            let outgoing = question.answer(answer == "yes", said);
            if printer.json {
                return send(outgoing, desk, printer).await;
            }
            desk.submit(Command::Send(outgoing)).await?;
            let question =
                CallerOptions::typed().added_to(&shown_question(&question.text)).to_string();
            printer.text(&format!("{answer} to {member}: {question}\n"))
        }
        MessageCommand::Broadcast { content, summary } => {
            let outgoing = Outgoing {
                summary,
                ..Outgoing::new(troop_model::EVERYBODY, MessageKind::Broadcast, given(content)?)
            };
            send(outgoing, desk, printer).await
        }
        MessageCommand::Read { all: true, .. } => read_all(desk, printer).await,
        MessageCommand::Read { peek, .. } => read(peek, desk, printer).await,
    }
}

async fn send(outgoing: Outgoing, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let done = desk.submit(Command::Send(outgoing)).await?;
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

async fn read(peek: bool, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let actor = desk.actor()?;
    let board = desk.team(None).await?;
    let (reader, unread) = board
        .look(move |state| {
            let reader = reader(state, &actor)?;
            let unread: Vec<Message> = state.mailbox().unread_of(&reader).cloned().collect();
            Ok::<_, Refusal>((reader, unread))
        })
        .await??;
    // Messages are marked read after they are shown: one may be shown twice, but none is lost.
    show(&unread, Some(&reader), printer)?;
    if !peek && !unread.is_empty() {
        let messages = Some(unread.iter().map(|message| message.id).collect());
        desk.submit(Command::MarkRead { reader: None, messages }).await?;
    }
    Ok(())
}

async fn read_all(desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let actor = desk.actor()?;
    let board = desk.team(None).await?;
    let messages = board
        .look(move |state| {
            let is_member = actor.kind == ActorKind::Agent
                && state.find_member(&actor.name).is_ok_and(|member| member.role == Role::Member);
            if is_member {
                let what = "read the mail of others";
                let may = "the lead or a person";
                return Err(Refusal::Forbidden { who: actor.name, what, may });
            }
            Ok(state.mailbox().iter().cloned().collect::<Vec<Message>>())
        })
        .await??;
    show(&messages, None, printer)
}

fn show(messages: &[Message], reader: Option<&Party>, printer: &Printer) -> Result<()> {
    if printer.json {
        let views: Vec<Value> = messages
            .iter()
            .map(|message| serde_json::to_value(MessageView::new(message, reader)))
            .collect::<Result<_, _>>()?;
        return printer.json(&json!({ "messages": views }));
    }
    if messages.is_empty() {
        return printer.text("no unread messages\n");
    }
    let texts: Vec<_> =
        messages.iter().map(|message| render::message(message, reader.is_none())).collect();
    printer.text(&texts.join("\n"))
}

/// The mailbox that the actor reads.
fn reader(state: &State, actor: &Actor) -> Result<Party, Refusal> {
    match actor.kind {
        ActorKind::Agent => match state.find_member(&actor.name) {
            Ok(member) => Ok(Party::member(&member.name)),
            Err(_) => Err(Refusal::NotAMember { name: actor.name.to_string() }),
        },
        ActorKind::Human | ActorKind::System => Ok(Party::user()),
    }
}
