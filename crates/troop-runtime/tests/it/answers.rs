//! One function answers the calls of every surface.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use troop_model::{Actor, Asker, Command, MemberState, MessageKind, Outgoing, StateCause};
use troop_protocol::{Call, Query};
use troop_runtime::{Answers, Board, CommandRequest, LeadEntry, LeadPresence};
use troop_testkit::memory_store;
use uuid::Uuid;

use crate::support::{LEAD, crew, name};

/// A team with a lead and a working member.
struct Led {
    board: Board,
    folder: TempDir,
    session: Uuid,
}

impl Led {
    async fn new() -> Self {
        let board = crew(memory_store().await.store()).await;
        let session = Uuid::now_v7();
        let take = Command::TakeLead {
            session,
            holder: "test".to_owned(),
            over: None,
            checks: Vec::new(),
        };
        let fence = Some(1);
        board.submit(CommandRequest::new(Actor::system(), take)).await.unwrap();
        let works = Command::SetMemberState {
            member: name("bob"),
            state: MemberState::Working,
            reason: None,
            cause: None,
            pid: Some(7),
        };
        let works = CommandRequest::new(Actor::system(), works);
        board.submit(CommandRequest { fence, ..works }).await.unwrap();
        Self { board, folder: tempfile::tempdir().unwrap(), session }
    }

    async fn ask(&self, query: Query) -> Value {
        let answers = Answers::new(self.board.clone(), self.folder.path());
        let session = Asker::from(Actor::human("zoe"));
        let answer = answers.answer(session, Call::Query(query)).await.unwrap();
        serde_json::from_str(answer.get()).unwrap()
    }

    async fn state_of(&self, member: &str, list: Query) -> Value {
        let answer = self.ask(list).await;
        let members = answer["members"].as_array().unwrap().clone();
        members.into_iter().find(|it| it["name"] == member).unwrap()
    }
}

/// Leaves an unlocked lead entry behind, as a killed lead does.
fn leave_entry(folder: &Path, session: Uuid) {
    let entry = LeadEntry { session, pid: 1, socket: None, project: None, former: Vec::new() };
    let line = serde_json::to_string(&entry).unwrap() + "\n";
    std::fs::write(folder.join("lead.lock"), line).unwrap();
}

#[tokio::test]
async fn after_a_lead_is_killed_every_surface_shows_its_members_as_crashed() {
    let led = Led::new().await;
    for list in [Query::Members {}, Query::Team {}] {
        assert_eq!(led.state_of("bob", list).await["state"], "working");
    }
    assert_eq!(led.ask(Query::Team {}).await["lead_lease"]["holder"], "test");
    leave_entry(led.folder.path(), led.session);
    for list in [Query::Members {}, Query::Team {}] {
        let bob = led.state_of("bob", list).await;
        assert_eq!((&bob["state"], &bob["pid"]), (&json!("crashed"), &Value::Null));
        assert_eq!(bob["state_reason"], StateCause::LeadEnded.in_words());
    }
    assert_eq!(led.ask(Query::Team {}).await["lead_lease"], Value::Null);
    let presence = LeadPresence::read(led.folder.path());
    let members = led.board.look(move |state| presence.members(state)).await.unwrap();
    let bob = members.iter().find(|it| it.name == name("bob")).unwrap();
    assert_eq!((bob.state, bob.state_cause), (MemberState::Crashed, Some(StateCause::LeadEnded)));
}

#[tokio::test]
async fn all_mail_is_for_people_and_the_lead_and_others_are_refused() {
    let led = Led::new().await;
    let answers = Answers::new(led.board.clone(), led.folder.path());
    let ask = async |actor: Actor, all: bool| {
        let call = Call::Query(Query::Messages { all });
        answers.answer(Asker::from(actor), call).await.map_err(|failure| failure.message)
    };
    for reader in [Actor::human("zoe"), Actor::agent(&name(LEAD)), Actor::agent(&name("bob"))] {
        ask(reader, false).await.unwrap();
    }
    ask(Actor::human("zoe"), true).await.unwrap();
    ask(Actor::agent(&name(LEAD)), true).await.unwrap();
    let refused = ask(Actor::agent(&name("bob")), true).await.unwrap_err();
    assert_eq!(refused, "`bob` may not read the mail of others; the lead or a person may");
    let refused = ask(Actor::agent(&name("zed")), false).await.unwrap_err();
    assert_eq!(
        refused, "`zed` is not a member of this team, so it cannot act in it",
        "not the person's mail"
    );
}

#[tokio::test]
async fn the_entry_of_an_earlier_lead_does_not_matter() {
    let led = Led::new().await;
    leave_entry(led.folder.path(), Uuid::now_v7());
    assert_eq!(led.state_of("bob", Query::Members {}).await["state"], "working");
}

#[tokio::test]
async fn the_lead_comes_first_in_a_list_of_members() {
    let led = Led::new().await;
    let answer = led.ask(Query::Members {}).await;
    assert_eq!(answer["members"][0]["name"], LEAD);
}

#[tokio::test]
async fn a_list_of_members_and_a_team_show_the_same_members() {
    let led = Led::new().await;
    let question =
        Outgoing { kind: MessageKind::PermissionRequest, ..Outgoing::message("user", "may I?") };
    let asks = CommandRequest::new(Actor::agent(&name("bob")), Command::Send(question));
    led.board.submit(asks).await.unwrap();
    let bob = led.state_of("bob", Query::Members {}).await;
    assert_eq!(bob["state_reason"], "waits for an answer");
    let list = led.ask(Query::Members {}).await;
    assert_eq!(list["members"], led.ask(Query::Team {}).await["members"]);
}
