//! Teams for the tests of the rooms: a state, or a desk in a folder.

use std::{
    fs::{self, File},
    path::Path,
};

use troop_model::{
    Actor, Command, Context, MemberName, NewMember, NewTask, NewTeamCommand, OperationId, Settings,
    State, TaskCommand, TaskNumber, TaskRef, TeamId, Time, decide,
};
use troop_runtime::Following;
use troop_store::Missing;
use uuid::Uuid;

use crate::{
    surroundings::{Environment, Surroundings},
    team::{DeskOptions, NoticeSink, TeamDesk, WhenOff},
};

/// A desk for pat in a folder, with the default store in it. Nobody but the test sets up anything there.
pub(crate) async fn desk_in(folder: &Path) -> TeamDesk {
    let path = ("PATH".into(), std::env::var_os("PATH").unwrap());
    let environment = Environment::new(vec![path], folder.to_owned());
    let home = folder.join("home");
    let surroundings = Surroundings::bare(environment, home, folder.to_owned(), "pat".to_owned());
    let options = DeskOptions {
        channel: "test",
        following: Following::Always,
        missing: Missing::Make,
        when_off: WhenOff::Refuse,
        notices: NoticeSink::new(|_| {}),
    };
    TeamDesk::open(surroundings, options).await.unwrap()
}

/// The team `crew` with a lead and these members.
pub(crate) fn new_team(members: &[&str]) -> NewTeamCommand {
    NewTeamCommand {
        goal: String::new(),
        team: TeamId(Uuid::now_v7()),
        name: "crew".parse().unwrap(),
        description: "Ship it".to_owned(),
        settings: Settings::default(),
        lead: member("lead", "script"),
        members: members.iter().map(|name| member(name, "command")).collect(),
    }
}

/// A lock file of a lead, locked by somebody.
pub(crate) fn lead_lock(team: &Path, pid: u32) -> File {
    let text = format!(r#"{{"session":"{}","pid":{pid},"socket":null}}"#, Uuid::nil());
    fs::write(team.join("lead.lock"), text).unwrap();
    let file = File::open(team.join("lead.lock")).unwrap();
    file.lock().unwrap();
    file
}

pub(crate) fn task(number: u32) -> TaskRef {
    TaskRef::Number(TaskNumber(number))
}

/// A team `crew` that was made by pat and has a lead.
pub(crate) struct TestTeam {
    pub(crate) state: State,
}

pub(crate) fn member(name: &str, agent: &str) -> NewMember {
    NewMember {
        name: name.parse().unwrap(),
        agent: agent.into(),
        expertise: String::new(),
        model: None,
        permissions: None,
    }
}

impl TestTeam {
    pub(crate) fn new(members: &[&str]) -> Self {
        let mut team = Self { state: State::default() };
        let create =
            Command::CreateTeam(NewTeamCommand { team: TeamId(Uuid::nil()), ..new_team(members) });
        team.by_person(&create);
        team
    }

    pub(crate) fn by_person(&mut self, command: &Command) {
        self.give(Actor::human("pat"), command);
    }

    pub(crate) fn by_lead(&mut self, command: &Command) {
        self.give(Actor::agent(&MemberName::lead()), command);
    }

    pub(crate) fn by_troop(&mut self, command: &Command) {
        self.give(Actor::system(), command);
    }

    pub(crate) fn create(&mut self, subject: &str) {
        let new = NewTask { subject: subject.to_owned(), ..NewTask::default() };
        self.by_lead(&Command::Task(TaskCommand::Create(new)));
    }

    fn give(&mut self, actor: Actor, command: &Command) {
        let micros = 1_700_000_000_000_000 + i64::try_from(self.state.version().0).unwrap();
        let context = Context {
            now: Time::from_micros(micros),
            asker: actor.into(),
            operation: OperationId(Uuid::now_v7()),
            fence: None,
        };
        let events = decide(&self.state, command, &context).unwrap();
        events.iter().for_each(|event| self.state.apply(event));
    }
}
