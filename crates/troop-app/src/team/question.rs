//! Members' questions, and answers to them.

use troop_model::{
    Hint, HintCommand, Member, MemberState, MessageKind, Outgoing, Party, Refusal, State,
};
use uuid::Uuid;

use super::TeamDesk;
use crate::{Error, Result};

/// Something that a member asks and nobody has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    id: Uuid,
    kind: MessageKind,
    member: String,
    /// What it asks.
    pub text: String,
}

impl OpenQuestion {
    /// The answer to it.
    #[must_use]
    pub fn answer(&self, is_yes: bool, content: String) -> Outgoing {
        let kind = self.kind.answered_by().unwrap_or_default();
        Outgoing::new(&self.member, kind, content).answering(self.id, is_yes)
    }
}

impl TeamDesk {
    /// What a member asks. `request` is the beginning of its id, if the member may ask several things.
    pub async fn open_question(
        &mut self,
        member: &str,
        request: Option<&str>,
    ) -> Result<OpenQuestion> {
        let board = self.team(None).await?;
        let name = member.to_owned();
        let mut open = board.look(move |state| open_questions(state, &name)).await??;
        // A member that ended with its lead waits for nothing, and would not know what an answer is about.
        let is_gone = |it: &Member| it.name.as_str() == member && it.state == MemberState::Crashed;
        if self.roster(&board).await?.iter().any(is_gone) {
            open.clear();
        }
        choose(open, member, request)
    }
}

fn open_questions(state: &State, name: &str) -> Result<Vec<OpenQuestion>, Refusal> {
    let asker = Party::member(&state.find_member(name)?.name);
    let open = state.requests().filter(|(_, it)| it.from == asker);
    let text = |id: &Uuid| {
        let message = state.mailbox().iter().find(|it| it.id == *id);
        message.map(|it| it.content.clone()).unwrap_or_default()
    };
    let question = |(id, it): (&Uuid, &troop_model::Request)| OpenQuestion {
        id: *id,
        kind: it.kind,
        member: name.to_owned(),
        text: text(id),
    };
    Ok(open.map(question).collect())
}

/// The one question that is meant.
fn choose(open: Vec<OpenQuestion>, member: &str, request: Option<&str>) -> Result<OpenQuestion> {
    let request = request.map(str::to_lowercase).unwrap_or_default();
    let is_any_open = !open.is_empty();
    let meant = open.into_iter().filter(|it| it.id.to_string().starts_with(&request));
    match meant.collect::<Vec<_>>().as_slice() {
        [question] => Ok(question.clone()),
        [] => {
            let hint = Hint::to("see who is", HintCommand::troop("team status"));
            let what = if is_any_open { "nothing like that any more" } else { "nothing" };
            Err(Error::refused(format!("`{member}` is asking {what}"), hint))
        }
        several => {
            let ids: Vec<_> = several.iter().map(|it| it.id.to_string()).collect();
            let hint = format!("choose one: `--request {}`", ids.join("`, or `--request "));
            Err(Error::refused(format!("`{member}` is asking several things"), hint))
        }
    }
}

#[cfg(test)]
mod tests;
