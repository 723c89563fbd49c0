//! The request of a member that a person means to answer.

use troop_model::{
    Hint, HintCommand, HintOption, HintPart, Member, MessageKind, Need, Party, Refusal, State,
};
use uuid::Uuid;

use super::TeamDesk;
use crate::{Error, Result};

/// The open requests of a member.
#[derive(Clone, Debug)]
struct MemberRequests {
    /// The requests that a person can answer.
    needs: Vec<Need>,
    /// Whom it asks to stop.
    stops: Vec<OpenStopRequest>,
}

/// A request to stop. Only the member that is asked can answer it.
#[derive(Clone, Debug)]
struct OpenStopRequest {
    id: Uuid,
    to: Party,
}

impl TeamDesk {
    /// The request of a member that waits for yes or no. `request` is the beginning of its id, if the member may ask several
    /// things.
    pub async fn open_question(&mut self, member: &str, request: Option<&str>) -> Result<Need> {
        let board = self.team(None).await?;
        let members = self.roster(&board).await?;
        let name = member.to_owned();
        let asked = board.look(move |state| requests_of(state, &members, &name)).await??;
        choose(asked, member, request)
    }
}

fn requests_of(state: &State, members: &[Member], name: &str) -> Result<MemberRequests, Refusal> {
    let asker = Party::member(&state.find_member(name)?.name);
    let needs = state.needs(members).into_iter();
    let own = state.requests().filter(|(_, request)| request.from == asker);
    let stops = own.filter(|(_, request)| request.kind == MessageKind::ShutdownRequest);
    Ok(MemberRequests {
        needs: needs.filter(|it| it.kind.is_request() && asker.as_str() == it.from).collect(),
        stops: stops
            .map(|(id, request)| OpenStopRequest { id: *id, to: request.to.clone() })
            .collect(),
    })
}

/// The one request that is meant.
fn choose(asked: MemberRequests, member: &str, request: Option<&str>) -> Result<Need> {
    let request = request.map(str::to_lowercase).unwrap_or_default();
    let is_meant = |id: Uuid| id.to_string().starts_with(&request);
    let is_any_open = !asked.needs.is_empty();
    let mut meant: Vec<_> = asked.needs.into_iter().filter(|it| is_meant(it.id)).collect();
    if meant.len() > 1 {
        return Err(Error::refused(format!("`{member}` is asking several things"), choice(&meant)));
    }
    if let Some(need) = meant.pop() {
        return Ok(need);
    }
    if let Some(stop) = asked.stops.iter().find(|it| is_meant(it.id)) {
        return Err(stop.refused(member));
    }
    let hint = Hint::to("see who is", HintCommand::troop("team status"));
    let what = if is_any_open { "nothing like that any more" } else { "nothing" };
    Err(Error::refused(format!("`{member}` is asking {what}"), hint))
}

/// How to say which of several requests is meant.
fn choice(needs: &[Need]) -> Hint {
    let options = needs.iter().map(|it| HintOption::new("request", it.id));
    let add = |hint: Hint, option: HintOption| match hint.parts() {
        [HintPart::Text(_)] => hint.and_option(option),
        _ => hint.and(", or ").and_option(option),
    };
    options.fold(Hint::from("choose one: "), add)
}

impl OpenStopRequest {
    /// Why nobody else answers it, and how the member that is asked does.
    fn refused(&self, from: &str) -> Error {
        let to = &self.to;
        let agree = HintCommand::troop("message send").by_member(to).word(from).words([
            "--kind",
            MessageKind::ShutdownResponse.as_str(),
            "--request",
        ]);
        let agree = agree.word(self.id).word("--approve").text("…");
        let message = format!("`{from}` asks `{to}` to stop, which only `{to}` can answer");
        Error::refused(message, Hint::to("it agrees by", agree))
    }
}

#[cfg(test)]
mod tests;
