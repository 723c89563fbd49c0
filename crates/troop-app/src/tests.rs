//! A team in memory for the tests of the rooms.

use troop_model::{
    Actor, Command, Context, MemberName, NewMember, NewTask, NewTeamCommand, OperationId, Settings,
    State, TaskCommand, TeamId, Time, decide,
};
use uuid::Uuid;

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
        let create = Command::CreateTeam(NewTeamCommand {
            goal: String::new(),
            team: TeamId(Uuid::nil()),
            name: "crew".parse().unwrap(),
            description: "Ship it".to_owned(),
            settings: Settings::default(),
            lead: member("lead", "script"),
            members: members.iter().map(|name| member(name, "command")).collect(),
        });
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
